"""git: each operation a commit of its own files, in a vault that is a repository; through the `git` binary.

It adds and commits paths of ours and nothing else: nothing is ever amended, rebased, reset, stashed or pushed,
and no hook or filter of the repository is run on our account but those that git applies to contents. While the
user merges, rebases or holds the index nothing is touched, nor ever what the user has staged; what is due then
is committed later.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engram.core.policies.house import FilePolicy
from engram.errors import EngramError, NotFoundError, StorageError
from engram.vault import files
from engram.vault.history import Kept, Step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

BUSY = (
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "BISECT_LOG",
    "MERGE_MSG",
    "SQUASH_MSG",
    "index.lock",
)
"""What stands in the git folder while the user is in the middle of something."""

DETACHED = re.compile(rb"[0-9a-f]{40,64}\s*")

_QUIET = (
    "-c", "user.name=engram", "-c", "user.email=engram@localhost", "-c", "commit.gpgsign=false",
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false",
    "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.safecrlf=false",
)  # fmt: skip
_ARGUMENTS = 65536
"""Letters that a command line takes without doubt."""

DUE, ADDED = "due", "added"
"""What is noted of a path: it is to be committed; it was new, and we put it into the index."""


class Git:
    """The repository of one vault; `waiting` remembers, beside the vault, what is to be committed later."""

    def __init__(self, root: Path, waiting: Path, seconds: float) -> None:
        self.root = root
        self.waiting = waiting
        self.seconds = seconds
        self._folder = Path()
        self._until = 0.0

    @classmethod
    def of(cls, root: Path, waiting: Path, policy: FilePolicy | None = None) -> Git | None:
        """The vault's own repository; None where the vault is none, as inside a larger one, or there is no git."""
        git = cls(root, waiting, (policy or FilePolicy()).git_seconds)
        if not (root / ".git").exists():
            return None
        try:
            git._folder = git._found()
        except EngramError:
            return None
        return git

    def _found(self) -> Path:
        self._begin()
        return Path(os.fsdecode(self._run("rev-parse", "--absolute-git-dir")).strip())

    def busy(self) -> str | None:
        """What the user is in the middle of, or None."""
        if mark := next((mark for mark in BUSY if os.path.lexists(self._folder / mark)), None):
            return mark
        with suppress(EngramError):
            if DETACHED.fullmatch(files.read(self._folder / "HEAD")):
                return "detached HEAD"  # what is committed there goes with the next checkout
        return None

    def waits(self) -> bool:
        """Whether something is still to be committed."""
        return self.waiting.exists()

    def note(self, paths: Iterable[str], kind: str = DUE) -> None:
        """Remember that these paths are to be committed. Raises StorageError."""
        files.make_folders(self.waiting.parent)
        files.append(self.waiting, _notes(kind, paths), set())

    def commit(self, paths: Iterable[str], subject: str, op: str, run: str = "") -> str:
        """Commit these paths, and those that waited; the commit's hash, '' where there is nothing to commit.

        A run's commit is by what it is taken back, so it holds its own paths alone. What cannot be committed now
        waits, so '' also while the user is in the middle of something. Raises StorageError.
        """
        own, noted, added = set(paths), self._noted(DUE), self._noted(ADDED)
        due = own if run else own | noted
        self._leave(own | noted, added)
        if not due or self.busy():
            return ""
        self._begin()
        try:
            if self._run("ls-files", "--unmerged", "-z"):
                return ""
            found, left = self._commit(due, added, _message(subject, op, run))
        except EngramError:
            if self.busy():
                return ""
            raise
        self._leave((noted - due).union(left), added - due)
        return found

    def _commit(self, due: Collection[str], added: Collection[str], message: Sequence[str]) -> tuple[str, list[str]]:
        """The commit's hash, and the paths that wait, since the user has staged them.

        Only what is new is added to the index, and noted before: if the process ends in between, it is ours.
        """
        states = self._changed(due)
        left = [path for path, state in states.items() if state[0] not in " ?" and path not in added]
        changed = sorted(states.keys() - left)
        if not changed:
            return "", left
        from_list = ("--pathspec-from-file=-", "--pathspec-file-nul")
        if new := [path for path in changed if states[path] == "??"]:
            self.note(new, ADDED)
            self._run("add", *from_list, given=_listed(new))
        self._run(
            "commit", "--quiet", "--no-verify", "--allow-empty", "--only", *message, *from_list, given=_listed(changed)
        )
        return self._run("rev-parse", "HEAD").decode().strip(), left

    def _changed(self, paths: Collection[str]) -> dict[str, str]:
        """Those of the paths that git would commit, changed, new or gone, and not ignored; with git's two letters."""
        few = sum(map(len, paths)) < _ARGUMENTS
        within = ["--", *sorted(paths)] if few else []
        listing = self._run("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", *within)
        entries = {os.fsdecode(entry[3:]): entry[:2].decode() for entry in listing.split(b"\0") if entry}
        return {path: entries[path] for path in sorted(entries.keys() & set(paths))}

    def run_kept(self, run: str) -> Kept:
        """What a run did, from its commit: for undoing what the history does not hold any more (`X6`).

        NotFoundError where no commit carries this run.
        """
        grep = (f"--grep=^Engram-Run: {run}$", "--basic-regexp", "-1", "--format=%H")
        self._begin()
        commit = self._run("log", *grep).decode().strip() if run.isalnum() else ""
        if not commit:
            raise NotFoundError("no commit carries this run", where=run, fix="`git log` shows what there is.")
        listing = self._run("diff-tree", "-r", "-z", "--root", "--no-commit-id", "--no-renames", commit)
        parts = listing.split(b"\0")
        steps: list[Step] = []
        contents: dict[str, bytes] = {}
        for head, path in zip(parts[::2], parts[1::2], strict=False):
            _, _, old, new, kind = head.decode().split(" ")
            name = path.decode(errors="surrogateescape")
            was, now = self._blob(old, kind != "A"), self._blob(new, kind != "D")
            contents[files.sha256(was)] = was
            before, after = ("" if kind == "A" else name), ("" if kind == "D" else name)
            sha_was, sha_now = files.sha256(was) if before else "", files.sha256(now) if after else ""
            steps.append(Step(before, after, sha_was, sha_now, len(now)))
        return Kept(run, tuple(steps), contents)

    def _blob(self, name: str, there: bool) -> bytes:  # noqa: FBT001  private, two callers
        return self._run("cat-file", "blob", name) if there else b""

    def _noted(self, kind: str) -> set[str]:
        """The paths that were noted so; what is no note is passed over."""
        try:
            raw = files.read(self.waiting)
        except NotFoundError:
            return set()
        found = set()
        for line in raw.decode(errors="replace").splitlines():
            with suppress(ValueError, TypeError):
                what, path = json.loads(line)
                if what == kind and isinstance(path, str):
                    found.add(path)
        return found

    def _leave(self, due: Collection[str], added: Collection[str] = ()) -> None:
        """Only these still wait."""
        if due:
            files.make_folders(self.waiting.parent)
            files.write_derived(self.waiting, _notes(DUE, sorted(due)) + _notes(ADDED, sorted(added)))
        elif self.waiting.exists():
            files.remove(self.waiting)

    def _begin(self) -> None:
        """From now on git has its time."""
        self._until = time.monotonic() + self.seconds

    def _run(self, *words: str, given: bytes = b"") -> bytes:
        """What git answers; StorageError where it refuses. Nothing of our surroundings leads it elsewhere."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C"}
        env["GIT_CEILING_DIRECTORIES"] = str(self.root.parent)  # a larger repository around the vault is none of ours
        command, pipe = ["git", *_QUIET, *words], subprocess.PIPE  # words of ours; paths come as a list on stdin
        try:
            with subprocess.Popen(command, cwd=self.root, env=env, stdin=pipe, stdout=pipe, stderr=pipe) as process:  # noqa: S603  see above
                said, told = self._heard(process, given)
        except OSError as fault:
            raise StorageError(
                "git cannot be run", where=str(self.root), fix="Look whether it is installed."
            ) from fault
        if process.returncode:
            lines = told.decode(errors="replace").strip().splitlines()
            raise StorageError(
                "git refused", where=lines[0] if lines else words[0], fix="Run `git status` in the vault."
            )
        return said

    def _heard(self, process: subprocess.Popen[bytes], given: bytes) -> tuple[bytes, bytes]:
        """What git says in the time it has; StorageError. One that is asked to end takes its locks away."""
        try:
            return process.communicate(given, max(0.0, self._until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                process.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired:
                process.kill()
            raise StorageError(
                "git takes too long", where=str(self.root), fix="Run `git status` in the vault."
            ) from None


def _message(subject: str, op: str, run: str) -> list[str]:
    trailers = "\n".join(f"Engram-{name}: {value}" for name, value in (("Op", op), ("Run", run)) if value)
    return ["-m", f"engram: {' '.join(subject.split())}", "-m", trailers]


def _notes(kind: str, paths: Iterable[str]) -> bytes:
    return b"".join(json.dumps([kind, path]).encode() + b"\n" for path in paths)


def _listed(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
