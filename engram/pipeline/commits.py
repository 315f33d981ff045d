"""Git commits, one for each operation, in a vault that is a git repository.

The path of a file is recorded before the file is written, so after a crash the recorded
files are part of the next commit. Each call of git has a time limit. If git fails, or a
user is in the middle of a rebase or merge, the commit waits and all other work
continues.
"""

from __future__ import annotations

import time
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from engram.errors import EngramError, Health
from engram.vault.git import Git

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.config import Settings
    from engram.index.protocol import IndexStore
    from engram.pipeline.executor import Executor


WAITING = "git-waiting.jsonl"
LATE = ("late", "changes that had to wait")


class CommitLog:
    """Commits the files that the operations of a process write. For the writer thread.

    Without a daemon an operation is committed when it ends, with a daemon when it calls
    `settle`. Without a repository nothing is done. `repository` is set even if commits
    are switched off; `git` is then None. Failures are reported to `health`.
    """

    def __init__(
        self,
        settings: Settings,
        health: Health,
        executor: Executor,
        store: IndexStore,
    ) -> None:
        self.policy = settings.policy.files
        self.repository = Git.open(
            settings.vault, settings.state / WAITING, self.policy
        )
        self.git = self.repository if settings.git else None
        self.health = health
        self.executor = executor
        self._store = store
        self._unrecorded: set[str] = set()
        self._touched = False
        self._done: tuple[str, str] | None = None
        self._waits = False
        self._next_try = self._next_try_of_done = 0.0

    def away(self) -> str:
        """Return why the files may be those of another commit, as in a rebase, or ''."""
        why = self.repository.other_checkout() if self.repository else ""
        if not why:
            return ""
        return f"the vault's repository is not at rest: {why}"

    def before_write(self, path: str) -> None:
        """Record that the file at `path` is about to change. Raises nothing."""
        if self.git is None:
            return
        self._touched = True
        try:
            self.git.add_pending([path])
        except EngramError as fault:
            self._unrecorded.add(path)
            self.health.report("git", str(fault))

    def called(self, name: str, result: Mapping[str, Any]) -> None:
        """Commit a called operation; `result` names the note that it changed."""
        note = PurePosixPath(str(result.get("path") or result.get("id", ""))).stem
        self.done(name, f"{name} {note}")

    def filed(self, new: int, session: str) -> None:
        """Commit a batch: `new` memories, and the turns in the file of the session.

        `new` is 0 for a batch that is tried again later.
        """
        subject = "file turns"
        if new:
            subject = f"extract {new} {'memory' if new == 1 else 'memories'}"
        self.done("extract", f"{subject} ({PurePosixPath(session).stem})", always=True)

    def done(self, op: str, subject: str, *, always: bool = False) -> None:
        """End an operation; the files that it wrote make the next commit.

        With `always` a commit is made even if `defer_commit` was called after the
        writes.
        """
        if self._touched or always:
            self._done, self._touched = (op, subject), False
        if not self.executor.attended:
            self.commit_if_due()

    def defer_commit(self) -> None:
        """Leave the written files to the commit of the next operation."""
        self._touched = False

    def commit_if_due(self) -> None:
        """Commit the ended operation or the waiting files if their time has come.

        Never raises EngramError.
        """
        done, self._done = self._done, None
        now = time.monotonic()
        if (
            self.git is None
            or not (done or self._waits)
            or now < (self._next_try_of_done if done else self._next_try)
        ):
            return
        op, subject = done or LATE
        try:
            self._store.check_owner()
            self.git.commit(self._unrecorded, subject, op)
            self._unrecorded.clear()
        except EngramError as fault:
            self.health.report("git", str(fault))
            self._next_try = self._next_try_of_done = (
                time.monotonic() + self.policy.git_rest_refused_seconds
            )
            self._waits = True
            return
        self._next_try = now + self.policy.git_rest_seconds
        self._waits = self.git.has_pending()
        if self._waits and (why := self.git.busy()):
            self.health.report(
                "git",
                (f"commits wait until the repository is at rest: {why}"),
            )
        elif self.git.filtered:
            self.health.report("git", self.git.filtered)
        else:
            self.health.clear("git")
