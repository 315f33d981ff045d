"""Recording of model calls with their replies, and replay (X2).

`ENGRAM_RECORD` names a folder to write to, `ENGRAM_REPLAY` one to answer from instead
of a server. Secrets are redacted. A row is found by its task and question, so the
system text may have changed since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.core import jsonl
from engram.core.language.secrets import redact
from engram.errors import ModelError, NotFoundError
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from engram.llm.budget import Budget, DailySpend

FILE = "calls.jsonl"


class Recording:
    """The file of calls in a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def write(
        self, task: str, system: str, user: str, reply: str, **more: object
    ) -> None:
        """Append a call. Raises StorageError."""
        disk.make_folders(self.path.parent)
        row = {"task": task, "system": system, "user": user, "reply": reply}
        redacted = {name: redact(text).text for name, text in row.items()}
        disk.append(self.path, jsonl.encode([{**redacted, **more}]))

    def replies(self) -> dict[tuple[str, str], list[str]]:
        """Return the replies by task and question, in order."""
        try:
            raw = disk.read(self.path)
        except NotFoundError:
            return {}
        found: dict[tuple[str, str], list[str]] = {}
        for row in jsonl.rows(raw):
            key = (str(row.get("task")), str(row.get("user")))
            found.setdefault(key, []).append(str(row.get("reply")))
        return found


class ReplayedModel:
    """A model that answers from a recording."""

    host = "replay"

    def __init__(self, folder: Path, spend: Budget, now: Any) -> None:
        self._folder = folder
        self._spend = spend
        self._now = now
        self._replies = Recording(folder).replies()

    @property
    def spent(self) -> DailySpend:
        """Calls, tokens and failures of today; a replay costs none."""
        return self._spend.today(self._now())

    def complete(
        self,
        task: str,
        system: str,  # noqa: ARG002
        user: str,
        schema: Mapping[str, Any],  # noqa: ARG002
        temperature: float,  # noqa: ARG002
    ) -> str:
        """Return the recorded reply to a question; repetitions get the last one.

        Raises ModelError for a question that was not recorded.
        """
        replies = self._replies.get((task, redact(user).text))
        if not replies:
            raise ModelError(
                f"No reply to this question is recorded ({task})",
                retryable=False,
                where=str(self._folder),
                fix="Record the conversation again: another prompt asks for another reply.",
            )
        return replies.pop(0) if len(replies) > 1 else replies[0]
