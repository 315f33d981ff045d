"""git: each operation a commit of its own files, in a vault that is a repository; through the `git` binary.

It adds and commits paths of ours and nothing else: nothing is ever amended, rebased, reset, stashed or pushed,
and no hook or filter of the repository is run on our account but those that git applies to contents. While the
user merges, rebases or holds the index nothing is touched; what is due then is committed later.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

from engram.errors import EngramError, NotFoundError, StorageError
from engram.vault import files
from engram.vault.history import Kept, Step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

BUSY = (
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
    "BISECT_LOG",
    "index.lock",
)
"""What stands in the git folder while the user is in the middle of something."""

_QUIET = (
    "-c", "user.name=engram", "-c", "user.email=engram@localhost", "-c", "commit.gpgsign=false",
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false",
    "-c", "gc.auto=0", "-c", "maintenance.auto=false",
)  # fmt: skip
_SECONDS = 120
_ARGUMENTS = 65536
"""Letters that a command line takes without doubt."""


class Git:
    """The repository of one vault; `waiting` remembers, beside the vault, what is to be committed later."""

    def __init__(self, root: Path, waiting: Path) -> None:
        self.root = root
        self.waiting = waiting
        self._folder = ""

    @classmethod
    def of(cls, root: Path, waiting: Path) -> Git | None:
        """The vault's own repository; None where the vault is none, as inside a larger one, or there is no git."""
        git = cls(root, waiting)
        if not (root / ".git").exists():
            return None
        try:
            git._folder = git._run("rev-parse", "--absolute-git-dir").decode(errors="surrogateescape").strip()
        except EngramError:
            return None
        return git

    def busy(self) -> str | None:
        """What the user is in the middle of, or None."""
        return next((mark for mark in BUSY if os.path.lexists(f"{self._folder}/{mark}")), None)

    def commit(self, paths: Iterable[str], subject: str, op: str, run: str = "") -> str:
        """Commit these paths, and those that waited; the commit's hash, '' where there is nothing to commit.

        Also '' while the user is in the middle of something: then they wait. Raises StorageError.
        """
        due = {*paths, *self._due()}
        if not due or self.busy():
            self._remember(due)
            return ""
        try:
            found = self._commit(due, subject, op, run)
        except EngramError:
            self._remember(due)
            if self.busy():
                return ""
            raise
        self._remember(())
        return found

    def _commit(self, due: Collection[str], subject: str, op: str, run: str) -> str:
        changed = self._changed(due)
        if not changed:
            return ""
        given = _listed(changed)
        from_list = ("--pathspec-from-file=-", "--pathspec-file-nul")
        self._run("add", "--all", *from_list, given=given)
        trailers = "\n".join(f"Engram-{name}: {value}" for name, value in (("Op", op), ("Run", run)) if value)
        words = ("-m", f"engram: {' '.join(subject.split())}", "-m", trailers)
        self._run("commit", "--quiet", "--no-verify", "--only", *words, *from_list, given=given)
        return self._run("rev-parse", "HEAD").decode().strip()

    def _changed(self, paths: Collection[str]) -> list[str]:
        """Those of the paths that git would commit: changed, new or gone, and not ignored."""
        few = sum(map(len, paths)) < _ARGUMENTS
        within = ["--", *sorted(paths)] if few else []
        listing = self._run("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", *within)
        entries = (entry[3:].decode(errors="surrogateescape") for entry in listing.split(b"\0") if entry)
        return sorted(set(entries).intersection(paths))

    def run_kept(self, run: str) -> Kept:
        """What a run did, from its commit: for undoing what the history does not hold any more (`X6`).

        NotFoundError where no commit carries this run.
        """
        grep = (f"--grep=^Engram-Run: {run}$", "-1", "--format=%H")
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

    def _due(self) -> list[str]:
        try:
            known = json.loads(files.read(self.waiting))
        except (NotFoundError, ValueError):
            return []
        return [path for path in known if isinstance(path, str)] if isinstance(known, list) else []

    def _remember(self, paths: Collection[str]) -> None:
        if paths:
            files.make_folders(self.waiting.parent)
            files.write_derived(self.waiting, json.dumps(sorted(paths)).encode())
        elif self.waiting.exists():
            files.remove(self.waiting)

    def _run(self, *words: str, given: bytes = b"") -> bytes:
        """What git answers; StorageError where it refuses. Nothing of our surroundings leads it elsewhere."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C"}
        env["GIT_CEILING_DIRECTORIES"] = str(self.root.parent)  # a larger repository around the vault is none of ours
        command = ["git", *_QUIET, *words]
        try:
            done = subprocess.run(  # noqa: S603  words of ours; paths come as a list on stdin
                command, cwd=self.root, env=env, input=given, capture_output=True, check=False, timeout=_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as fault:
            raise StorageError(
                "git cannot be run", where=str(self.root), fix="Look whether it is installed."
            ) from fault
        if done.returncode:
            told = done.stderr.decode(errors="replace").strip().splitlines()
            raise StorageError("git refused", where=told[0] if told else words[0], fix="Run `git status` in the vault.")
        return done.stdout


def _listed(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
