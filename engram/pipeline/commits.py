"""Commits: each operation one of its own, in a vault that is a git repository (design
of the vault).

What is about to be written is noted before it is, so that a process that ends in
between loses no commit: what is noted goes along with the next. git has its time and no
more; while it refuses, or a person is in the middle of something, everything else goes
on.
"""

from __future__ import annotations

import logging
import time
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from engram.errors import EngramError
from engram.vault.git import Git

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.config import Settings
    from engram.errors import Health
    from engram.pipeline.executor import Executor

log = logging.getLogger("engram.git")

WAITING = "git-waiting.jsonl"
LATE = ("late", "what had to wait")


class CommitLog:
    """What the operations of one process did. Belongs to the one writer; what is
    degraded is reported to `health`.

    Without a daemon an operation is committed when it ends, else when the daemon calls
    `settle`. Without a repository nothing is done; `repository` is there also where
    commits are switched off.
    """

    def __init__(
        self,
        settings: Settings,
        health: Health,
        executor: Executor,
    ) -> None:
        self.policy = settings.policy.files
        self.repository = Git.open(
            settings.vault, settings.state / WAITING, self.policy
        )
        self.git = self.repository if settings.git else None
        self.health = health
        self.executor = executor
        self._unnoted: set[str] = set()
        self._touched = False
        self._done: tuple[str, str] | None = None
        self._waits = False
        self._again = self._refused = 0.0

    def away(self) -> str:
        """Why the files may be those of another time, as in a rebase or at an older
        commit, or ''.
        """
        why = self.repository.other_checkout() if self.repository else ""
        return (
            f"the vault's repository is in the middle of something: {why}"
            if why
            else ""
        )

    def before_write(self, path: str) -> None:
        """Note that the file at `path` is about to change. Raises nothing."""
        if self.git is None:
            return
        self._touched = True
        try:
            self.git.add_pending([path])
        except EngramError as fault:
            self._unnoted.add(path)
            self.health.report("git", str(fault))

    def called(self, name: str, result: Mapping[str, Any]) -> None:
        """An operation was called and has ended."""
        met = PurePosixPath(str(result.get("path") or result.get("id", ""))).stem
        self.done(name, f"{name} {met}")

    def filed(self, new: int, session: str) -> None:
        """A batch was filed that brought so many new memories, or was put off; its
        turns stand in the session file.
        """
        became = (
            f"extract {new} {'memory' if new == 1 else 'memories'}"
            if new
            else "file turns"
        )
        self.done("extract", f"{became} ({PurePosixPath(session).stem})", always=True)

    def done(self, op: str, subject: str, *, always: bool = False) -> None:
        """An operation has ended; what it touched is the next commit. `always`: also
        what it touched in passing.
        """
        if self._touched or always:
            self._done, self._touched = (op, subject), False
        if not self.executor.attended:
            self.settle()

    def passing(self) -> None:
        """What was touched is no operation; it goes along with the next."""
        self._touched = False

    def settle(self) -> None:
        """Commit the operation that has ended, or what had to wait, if it is time;
        never raises EngramError.
        """
        done, self._done = self._done, None
        now = time.monotonic()
        if (
            self.git is None
            or not (done or self._waits)
            or now < (self._refused if done else self._again)
        ):
            return
        op, subject = done or LATE
        try:
            self.git.commit(self._unnoted, subject, op)
            self._unnoted.clear()
        except EngramError as fault:
            self.health.report("git", str(fault))
            self._again = self._refused = (
                time.monotonic() + self.policy.git_rest_refused_seconds
            )
            self._waits = True
            return
        while self.git.removed_locks:
            log.warning("a stale lock of git: %s", self.git.removed_locks.pop())
        self._again = now + self.policy.git_rest_seconds
        self._waits = self.git.has_pending()
        if self._waits and (why := self.git.busy()):
            self.health.report(
                "git",
                (
                    f"commits wait, for the repository is in the middle of something: {why}"
                ),
            )
        elif self.git.filtered:
            self.health.report("git", self.git.filtered)
        else:
            self.health.clear("git")
