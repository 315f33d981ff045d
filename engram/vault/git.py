"""Commits in a vault that is a git repository, through the `git` binary.

Engram adds and commits only its own paths: it never amends, rebases, resets, stashes or
pushes, and runs no program that the repository's configuration names.
During a merge or a rebase of the user, or while the index is locked, nothing is
committed, and staged changes of the user never are; the paths wait for a later commit.
Changes that git itself makes, as in a checkout, are distinguished from the user's edits
(`checked_out`).

Hooks, the file-system monitor, signing, editors, pagers, credential helpers, transports
and diff programs are disabled by fixed settings; content filters and hooks of the
configuration by one setting for each that `git config --list` names. All settings are
passed as `GIT_CONFIG_KEY_<n>` (git 2.31), which, unlike `-c`, can name every filter.
Reading the configuration executes nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engram.core import jsonl
from engram.core.policy import FilePolicy
from engram.errors import EngramError, NotFoundError, StorageError
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    Settings = Sequence[tuple[str, str]]

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
"""Files in the git folder that show a git operation of the user in progress."""

INDEX_LOCK = "index.lock"
AWAY = (
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-",
    "BISECT_LOG",
    "detached HEAD",
)
"""Operations during which the vault may have the files of another commit."""
SEEN = "git-seen"
"""The file with the last known stamp of the repository, and its commit."""

DETACHED = re.compile(rb"[0-9a-f]{40,64}\s*")

_ARGUMENTS = 65536
"""Characters of paths that fit on a command line."""

DUE, ADDED = "due", "added"
"""The kinds of pending paths: to be committed; new and added to the index by engram."""


class Git:
    """The repository of one vault.

    `waiting` is a file outside the vault with the paths to commit later. `filtered` is
    a message about notes that are not committed, or ''.
    """

    def __init__(self, root: Path, waiting: Path, policy: FilePolicy) -> None:
        self.root = root
        self.waiting = waiting
        self.policy = policy
        self.seconds = policy.git_seconds
        self.filtered = ""
        self._seen_file = waiting.with_name(SEEN)
        self._folder = Path()
        self._until = 0.0
        self._settings: Settings = ()
        self._configured: list[tuple[str, str]] = []

    @classmethod
    def open(
        cls, root: Path, waiting: Path, policy: FilePolicy | None = None
    ) -> Git | None:
        """Return the repository whose root is the vault, or None.

        None means that the vault is no repository or that git is missing.
        """
        git = cls(root, waiting, policy or FilePolicy())
        if not (root / ".git").exists():
            return None
        try:
            git._folder = git._git_folder()
        except EngramError:
            return None
        return git

    def _git_folder(self) -> Path:
        self._begin()
        return Path(os.fsdecode(self._run("rev-parse", "--absolute-git-dir")).strip())

    def busy(self) -> str | None:
        """Return the git operation of the user that is in progress, or None."""
        if mark := next(
            (mark for mark in BUSY if os.path.lexists(self._folder / mark)), None
        ):
            if mark == INDEX_LOCK:
                lock = self._folder / mark
                return f"{mark}; if no git works in the vault, remove {lock}"
            return mark
        with suppress(EngramError):
            if DETACHED.fullmatch(disk.read(self._folder / "HEAD")):
                # a later checkout would discard commits made here
                return "detached HEAD"
        return None

    def other_checkout(self) -> str:
        """Return why the files may be those of another commit, or ''.

        Missing and changed files are then no user changes.
        """
        why = self.busy() or ""
        return why if why.startswith(AWAY) else ""

    def _branch(self) -> str:
        """Return the reference that HEAD points to, else HEAD."""
        with suppress(EngramError):
            if disk.read(self._folder / "HEAD").startswith(b"ref: "):
                return os.fsdecode(disk.read(self._folder / "HEAD")[5:].strip())
        return "HEAD"

    def history(self) -> tuple[list[str], str]:
        """Return each commit with its message and its changes, and the branch.

        Raises StorageError if git fails or takes too long.
        """
        self._begin()
        options = ("--all", "-p", "--text", "--no-color", "--no-textconv")
        output = self._run("log", *options, "--no-ext-diff", "--format=%x00%B")
        commits = output.decode("utf-8", "replace").split("\0")[1:]
        return commits, self._branch().removeprefix("refs/heads/")

    # -- changes by git itself ---------------------------------------------------------

    def stamp(self) -> str:
        """Return a value that changes with every checkout, stash, reset or merge.

        '' if the repository cannot be read.
        """
        try:
            head = disk.read(self._folder / "HEAD").decode(errors="replace").strip()
            index = (self._folder / "index").lstat()
        except (OSError, EngramError):
            return ""
        return f"{head} {index.st_ino} {index.st_size} {index.st_mtime_ns}"

    @property
    def is_locked(self) -> bool:
        """Whether a git process, running or killed, has locked the index."""
        return os.path.lexists(self._folder / INDEX_LOCK)

    def changed_stamp(self) -> str:
        """Return the stamp if git was active since `mark_known`, or is now; else ''."""
        # the lock first: once it is removed, the index is the new one
        locked = self.is_locked
        stamp = self.stamp()
        return stamp if stamp and (locked or stamp != self._known_stamp_file()) else ""

    def mark_known(self, stamp: str, commit: str = "") -> None:
        """Record that the files of this stamp are known, unless git is active again.

        `commit` is that of HEAD; '' means to read it.
        """
        if not self.is_locked and stamp == self.stamp():
            with suppress(EngramError):
                commit = commit or self._head()
            disk.make_folders(self._seen_file.parent)
            disk.write_derived(self._seen_file, f"{stamp}\n{commit}".encode())

    def _known_stamp_file(self) -> str:
        return self._last_seen()[0]

    def _last_seen(self) -> tuple[str, str]:
        """Return the last known stamp and its commit, '' if unknown."""
        with suppress(EngramError):
            stamp, _, commit = (
                disk.read(self._seen_file).decode(errors="replace").partition("\n")
            )
            return stamp, commit
        return "", ""

    def _head(self) -> str:
        """Return the hash of HEAD's commit; StorageError if there is none."""
        self._begin()
        return self._run("rev-parse", "--verify", "HEAD").decode().strip()

    def checked_out(self, paths: Collection[str]) -> set[str]:
        """Return the paths whose files git wrote or removed, not the user.

        All `paths` while git is active or does not answer.
        """
        if self.is_locked:
            return set(paths)
        try:
            self._begin()
            states = self._changed(paths)
        except EngramError:
            return set(paths)
        return {path for path in paths if states.get(path, "  ")[1] == " "}

    def deleted(self, paths: Collection[str]) -> set[str]:
        """Return the missing `paths` that the user deleted through git.

        Such a deletion is by `git rm`, or in a commit since `mark_known`, provided that
        HEAD is on the same branch and did not move back. A file that a checkout, a
        reset, a rebase or a commit of engram removed does not count, and none does
        while git does not answer.
        """
        stamp, last = self._last_seen()
        if not paths or not last or not self._is_same_branch(stamp):
            return set()
        try:
            head = self._head()
            if self._run("rev-list", "-1", f"{head}..{last}"):
                return set()
            states = self._changed(paths)
            listing = b"" if head == last else self._deletions(last, head)
        except EngramError:
            return set()
        staged = {path for path, state in states.items() if state[0] == "D"}
        committed = {os.fsdecode(name.strip(b"\n")) for name in listing.split(b"\0")}
        return staged | committed.intersection(paths)

    def _is_same_branch(self, stamp: str) -> bool:
        if self.is_locked or self.other_checkout() or not stamp.startswith("ref: "):
            return False
        return self.stamp().rsplit(" ", 3)[0] == stamp.rsplit(" ", 3)[0]

    def _deletions(self, last: str, head: str) -> bytes:
        """Return the paths that commits of the user deleted, each followed by NUL."""
        how = ("--format=", "--name-only", "-z", "--no-renames", "--diff-filter=D")
        of_user = ("--invert-grep", "--grep=^Engram-Op: ")
        return self._run("log", *how, *of_user, f"{last}..{head}")

    # -- commits -----------------------------------------------------------------------

    def has_pending(self) -> bool:
        """Return whether paths wait to be committed."""
        return self.waiting.exists()

    def add_pending(self, paths: Iterable[str], kind: str = DUE) -> None:
        """Record that these paths are to be committed. Raises StorageError."""
        disk.make_folders(self.waiting.parent)
        disk.append(self.waiting, _notes(kind, paths), set())

    def commit(self, paths: Iterable[str], subject: str, op: str, run: str = "") -> str:
        """Commit these paths and the pending ones, and return the commit's hash or ''.

        '' means that nothing changed, or that an operation of the user is in progress
        and the paths stay pending. Raises StorageError.
        """
        added = self._pending_paths(ADDED)
        due = self._pending_paths(DUE).union(paths)
        self._set_pending(due, added)
        if not due or self.busy():
            return ""
        before = self.stamp()
        try:
            self._begin()
            if self._run("ls-files", "--unmerged", "-z"):
                return ""
            found, left = self._commit(
                self._unfiltered(due), added, _message(subject, op, run)
            )
        except EngramError:
            if self.busy():
                return ""
            raise
        if found and before == self._known_stamp_file():
            self.mark_known(self.stamp(), found)
        # paths that were added meanwhile stay
        noted, added = self._pending_paths(DUE), self._pending_paths(ADDED)
        self._set_pending((noted - due).union(left), added - due)
        return found

    def _commit(
        self, due: Collection[str], added: Collection[str], message: Sequence[str]
    ) -> tuple[str, list[str]]:
        """Return the commit's hash, and the paths that the user has staged, which wait.

        Only new files are added to the index, and recorded first: if the process ends
        in between, the additions are known to be engram's.
        """
        states = self._changed(due)
        left = [
            path
            for path, state in states.items()
            if state[0] not in " ?" and path not in added
        ]
        changed = sorted(states.keys() - left)
        if not changed:
            return "", left
        from_list = ("--pathspec-from-file=-", "--pathspec-file-nul")
        if new := [path for path in changed if states[path] == "??"]:
            self.add_pending(new, ADDED)
            self._run("add", *from_list, given=_listed(new))
        self._run(
            "commit",
            "--quiet",
            "--no-verify",
            "--allow-empty",
            "--only",
            *message,
            *from_list,
            given=_listed(changed),
        )
        return self._run("rev-parse", "HEAD").decode().strip(), left

    def _unfiltered(self, paths: Collection[str]) -> set[str]:
        """Return the paths to which no required content filter applies.

        Engram runs no filter, so a file of git-crypt or LFS would be committed as plain
        text, or whole.
        """
        self.filtered = ""
        required = {
            name for name, required in filters(self._configured).items() if required
        }
        if not required:
            return set(paths)
        fields = self._run(
            "check-attr", "-z", "--stdin", "filter", given=_listed(sorted(paths))
        ).split(b"\0")
        left = {
            os.fsdecode(path): os.fsdecode(value)
            for path, value in zip(fields[::3], fields[2::3], strict=False)
            if os.fsdecode(value) in required
        }
        if left:
            names = ", ".join(sorted(set(left.values())))
            self.filtered = (
                f"notes that go through the filter {names}, which engram does not run, are yours to commit, as "
                f'{min(left)}; or set `git = "off"` in engram.toml'
            )
        return set(paths) - left.keys()

    def _changed(self, paths: Collection[str]) -> dict[str, str]:
        """Return the two status letters of the paths that git would commit."""
        few = sum(map(len, paths)) < _ARGUMENTS
        within = ["--", *sorted(paths)] if few else []
        how = (
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=all",
        )
        listing = self._run("status", *how, *within)
        entries = {
            os.fsdecode(entry[3:]): entry[:2].decode()
            for entry in listing.split(b"\0")
            if entry
        }
        return {path: entries[path] for path in sorted(entries.keys() & set(paths))}

    def _pending_paths(self, kind: str) -> set[str]:
        try:
            raw = disk.read(self.waiting)
        except NotFoundError:
            return set()
        found = set()
        for line in jsonl.lines(raw):
            with suppress(ValueError, TypeError):
                kind_of_row, path = line.value
                if kind_of_row == kind and isinstance(path, str):
                    found.add(path)
        return found

    def _set_pending(self, due: Collection[str], added: Collection[str] = ()) -> None:
        if due:
            disk.make_folders(self.waiting.parent)
            disk.write_derived(
                self.waiting, _notes(DUE, sorted(due)) + _notes(ADDED, sorted(added))
            )
        elif self.waiting.exists():
            disk.remove(self.waiting)

    def _begin(self) -> None:
        """Start the time limit of git, and disable configured programs."""
        self._until = time.monotonic() + self.seconds
        self._settings = fixed(version())
        self._configured = parsed(self._run("config", "--list", "-z"))
        self._settings = (*self._settings, *switched_off(self._configured))

    def _run(self, *words: str, given: bytes = b"") -> bytes:
        """Return the output of git, which runs no program of its configuration.

        `given` is its standard input. Raises StorageError if git fails.
        """
        return run(self.root, words, self._settings, given, self._until, self.seconds)


def _message(subject: str, op: str, run: str) -> list[str]:
    trailers = "\n".join(
        f"Engram-{name}: {value}" for name, value in (("Op", op), ("Run", run)) if value
    )
    return ["-m", f"engram: {' '.join(subject.split())}", "-m", trailers]


def _notes(kind: str, paths: Iterable[str]) -> bytes:
    return jsonl.encode([kind, path] for path in paths)


def _listed(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


QUIET: Settings = (
    ("user.name", "engram"),
    ("user.email", "engram@localhost"),
    ("core.quotePath", "false"),
    ("core.safecrlf", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    # settings that would run a program of the configuration
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("commit.gpgsign", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("core.editor", "false"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("core.askPass", ""),
    ("core.alternateRefsCommand", ":"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("protocol.allow", "never"),
    # a submodule has a configuration of its own
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("status.submoduleSummary", "false"),
)

ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}

FSYNC, FSYNC_OLD = ("core.fsync", "all"), ("core.fsyncObjectFiles", "true")
"""The setting that makes objects, index and references durable since git 2.36.

Earlier versions can only make loose objects durable.
"""
FSYNC_SINCE, OLDEST = (2, 36), (2, 31)

_TRUE = frozenset(("true", "yes", "on", "1", ""))


@cache
def version() -> tuple[int, int]:
    """Return major and minor version of the installed git, (0, 0) if unknown."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            ["git", "version"],  # noqa: S607
            capture_output=True,
            check=False,
            timeout=10,
        )
        if match := re.search(rb"(\d+)\.(\d+)", done.stdout):
            return int(match[1]), int(match[2])
    return 0, 0


def fixed(known: tuple[int, int]) -> Settings:
    """Return the settings of each call for this version of git."""
    return (*QUIET, FSYNC if known >= FSYNC_SINCE else FSYNC_OLD)


def parsed(listing: bytes) -> list[tuple[str, str]]:
    """Return the names and values of `git config --list -z`; a missing value is ''."""
    pairs = (entry.partition(b"\n") for entry in listing.split(b"\0") if entry)
    return [(os.fsdecode(name), os.fsdecode(value)) for name, _, value in pairs]


def filters(configured: Iterable[tuple[str, str]]) -> dict[str, bool]:
    """Return the content filters, and whether each is required (git-crypt, LFS)."""
    found: dict[str, bool] = {}
    for name, value in configured:
        section, _, rest = name.partition(".")
        driver, dot, key = rest.rpartition(".")
        if section == "filter" and dot:
            required = (
                value.lower() in _TRUE
                if key == "required"
                else found.get(driver, False)
            )
            found[driver] = required
    return found


def switched_off(configured: Iterable[tuple[str, str]]) -> Settings:
    """Return settings that disable the filters and hooks of the configuration."""
    configured = list(configured)
    off: list[tuple[str, str]] = []
    for driver in filters(configured):
        off += [
            (f"filter.{driver}.{key}", "") for key in ("clean", "smudge", "process")
        ]
        off.append((f"filter.{driver}.required", "false"))
    hooks = {
        name.rpartition(".")[0]
        for name, _ in configured
        if name.startswith("hook.") and name.count(".") > 1
    }
    return [*off, *((f"{hook}.enabled", "false") for hook in sorted(hooks))]


def environment(root: Path, settings: Settings) -> dict[str, str]:
    """Return the environment of a call with these settings.

    Variables that point git to another repository are left out.
    """
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_")
    } | ENVIRONMENT
    # never use a larger repository that contains the vault
    env["GIT_CEILING_DIRECTORIES"] = str(root.parent)
    env["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env


def run(
    root: Path,
    words: Sequence[str],
    settings: Settings,
    given: bytes,
    until: float,
    seconds: float,
) -> bytes:
    """Return the output of `git <words>` in `root`; `given` is its standard input.

    It may run until `until` (monotonic seconds); then it is terminated, and killed
    `seconds` later. Raises StorageError if git fails, takes too long, or is too old.
    """
    command = ["git", "--no-pager", *words]
    if (0, 0) < version() < OLDEST:  # it would ignore the variables
        raise StorageError(
            "git is too old", where=str(root), fix="Install git 2.31 or newer."
        )
    pipe = subprocess.PIPE
    env: Mapping[str, str] = environment(root, settings)
    try:
        with subprocess.Popen(  # noqa: S603
            command, cwd=root, env=env, stdin=pipe, stdout=pipe, stderr=pipe
        ) as process:
            output, errors = _communicate(process, root, given, until, seconds)
    except OSError as fault:
        raise StorageError(
            "git cannot be run",
            where=str(root),
            fix="Install git, or check that this user may run it.",
        ) from fault
    if process.returncode:
        lines = errors.decode(errors="replace").strip().splitlines()
        raise StorageError(
            "git refused",
            where=lines[0] if lines else words[0],
            fix="Run `git status` in the vault.",
        )
    return output


def _communicate(
    process: subprocess.Popen[bytes],
    root: Path,
    given: bytes,
    until: float,
    seconds: float,
) -> tuple[bytes, bytes]:
    """Return standard output and error of git; StorageError if it takes too long.

    A terminated git removes its locks.
    """
    try:
        return process.communicate(given, max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        raise StorageError(
            "git takes too long", where=str(root), fix="Run `git status` in the vault."
        ) from None
