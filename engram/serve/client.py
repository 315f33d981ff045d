"""The Python interface: `from engram import Memory`.

Only the standard library is loaded as long as a daemon answers.
"""

from __future__ import annotations

import os

from engram.errors import UnavailableError
from engram.operations.results import Observed, typed
from engram.serve.connection import connect
from engram.serve.methods import Methods

TYPE_CHECKING = False  # loading typing would slow each program that imports this
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any, Self

    from engram.serve.connection import VaultConnection


class Memory(Methods):
    """A vault: through its daemon, else opened in this process until `close`.

    While another process has it open, it can be read and not changed. Each operation of
    the table is a method too, with a typed result; `call` returns the JSON.

    >>> with Memory("~/Engram") as memory:  # doctest: +SKIP
    ...     context = memory.context("what should I bring Anna?", session="s1")
    ...     reply = llm(context.text)
    ...     memory.observe(user="what should I bring Anna?", assistant=reply)
    """

    def __init__(self, vault: str | os.PathLike[str] | None = None) -> None:
        from pathlib import Path

        self._connection: VaultConnection | None = connect(
            None if vault is None else Path(vault)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the vault."""
        if self._connection:
            self._connection.close()
        self._connection = None

    def call(self, operation: str, /, **params: Any) -> dict[str, Any]:
        """Call any operation by name; return the same JSON with and without a daemon.

        >>> memory.call("stats")["turns"]
        0
        """
        arguments = {
            key: _plain(value) for key, value in params.items() if value is not None
        }
        if self._connection is None:
            raise UnavailableError(
                "this memory was closed",
                where=operation,
                fix="Open another: `Memory(folder)`.",
            )
        return self._connection.call(operation, arguments)

    # -- conversations -----------------------------------------------------------------

    def observe(
        self,
        *,
        user: str | None = None,
        assistant: str | None = None,
        session: str | None = None,
        persona: str | None = None,
        private: bool | None = None,
        speaker: str | None = None,
        occurred_at: datetime | str | None = None,
        turns: Sequence[dict[str, Any]] = (),
        participants: Sequence[str] | None = None,
        record: bool = True,
    ) -> Observed:
        """Store one exchange, or `turns` as they are; on return they are on disk.

        `turns` may be messages in OpenAI's form. `participants` are the users, where
        several talk in the conversation: then each `speaker` is a person of their own.
        With `private` only `persona` sees the exchange. With `record` false the
        exchange is not stored.

        >>> memory.observe(user="My sister Anna lives in Porto.", session="s1").stored
        1
        """
        common = {
            "session": session,
            "persona": persona,
            "private": private,
            "occurred_at": _plain(occurred_at),
        }
        exchange = [("user", user, speaker), ("assistant", assistant, None)]
        rows = [
            {
                **common,
                "id": os.urandom(16).hex(),
                "role": role,
                "text": text,
                "speaker": name,
            }
            for role, text, name in exchange
            if text
        ]
        rows += [{key: _plain(value) for key, value in turn.items()} for turn in turns]
        several = {"participants": list(participants)} if participants else {}
        answer = self.call(
            "observe",
            turns=[{k: v for k, v in row.items() if v is not None} for row in rows],
            record=record,
            **several,
        )
        return typed(Observed, answer)


def _plain(value: Any) -> Any:
    """Return a time as ISO 8601 text, a tuple as a list, other values unchanged."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
