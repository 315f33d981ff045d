"""The Python interface: `from engram import Memory`.

Only the standard library is loaded as long as a daemon answers.
"""

from __future__ import annotations

import json
import os
import time

from engram.errors import LockedError, UnavailableError
from engram.serve import socket_client

TYPE_CHECKING = False  # loading typing would slow each program that imports this
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Any, Protocol, Self

    from engram import memory
    from engram.config import Settings

    class VaultConnection(Protocol):
        """A connection to a vault: to its daemon, or to a memory in this process."""

        def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
            """Carry out one operation."""

        def close(self) -> None:
            """Release the vault."""


LOCK_SECONDS, LOCK_LOOK_SECONDS = 10.0, 0.1
"""How long to wait for a locked vault, and the pause between two tries."""


class RemoteVault:
    """The daemon behind a socket; it refuses if it does not serve `folder`."""

    def __init__(
        self, path: str, folder: str | None = None, *, owner: bool = False
    ) -> None:
        self.path = path
        self.folder = folder
        self.owner = owner

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the daemon; raise the EngramError that it answers with."""
        return socket_client.call(
            self.path, name, params, owner=self.owner, folder=self.folder
        )

    def close(self) -> None:
        """Do nothing: there is no connection between two calls."""


class LocalVault:
    """A memory in this process for the owner's command line."""

    def __init__(self, opened: memory.Memory) -> None:
        self.memory = opened

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation."""
        from engram.core.trust import OWNER

        return self.memory.call(name, params, OWNER)

    def close(self) -> None:
        """Release the vault."""
        self.memory.close()


def connect(vault: Path | None, *, owner: bool = False) -> VaultConnection:
    """Connect to a vault: to its daemon, else lock it and open it in this process.

    `owner` says that the caller is the owner's command line, not a chatbot. Raises
    ConfigError, NotFoundError where there is no vault, or LockedError where another
    process does not release it.
    """
    from engram import config

    last = time.monotonic() + LOCK_SECONDS
    while True:
        # read again each time: another vault may take a state folder that was free
        settings = config.load(vault, os.environ)
        if socket_client.answers(path := str(settings.socket)):
            return RemoteVault(path, str(settings.vault), owner=owner)
        try:
            opened = embedded(settings)
        except LockedError:
            if time.monotonic() > last:
                raise
            time.sleep(LOCK_LOOK_SECONDS)
        else:
            return LocalVault(opened) if owner else opened


def embedded(settings: Settings) -> memory.Memory:
    """Return a memory in this process, ready for use; the caller closes it."""
    from engram.memory import Memory as Embedded

    opened = Embedded(settings)
    opened.start()
    try:
        opened.catch_up()
    except BaseException:
        opened.close()
        raise
    return opened


class ClosedVault:
    """A vault that was released."""

    def call(self, name: str, _params: dict[str, Any]) -> dict[str, Any]:
        """Raise UnavailableError."""
        raise UnavailableError(
            "this memory was closed", where=name, fix="Open another: `Memory(folder)`."
        )

    def close(self) -> None:
        """Do nothing."""


class Recall:
    """The answer of `recall`: `hits` are dicts, `text` is ready for a prompt.

    The text is fenced and marked as notes.
    """

    def __init__(self, result: dict[str, Any]) -> None:
        self.raw = result
        self.text: str = result["text"]
        self.hits: list[dict[str, Any]] = result["hits"]
        self.tokens: int = result["tokens"]
        self.filtered: dict[str, int] = result["filtered"]
        self.complete: bool = result["complete"]

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.hits)


class Memory:
    """A vault: through its daemon, else opened in this process until `close`.

    >>> with Memory("~/Engram") as mem:
    ...     context = mem.context("what should I bring Anna?", session="s1")
    ...     mem.observe(user="what should I bring Anna?", assistant="Oat milk.", session="s1")
    """

    def __init__(self, vault: str | os.PathLike[str] | None = None) -> None:
        from pathlib import Path

        self._connection: VaultConnection = connect(
            None if vault is None else Path(vault)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the vault."""
        self._connection.close()
        self._connection = ClosedVault()

    def call(self, name: str, **params: Any) -> dict[str, Any]:
        """Call any operation by name; return the same JSON with and without a daemon."""
        arguments = {
            key: _plain(value) for key, value in params.items() if value is not None
        }
        answer = self._connection.call(name, arguments)
        if isinstance(self._connection, RemoteVault):
            return answer
        return dict(json.loads(json.dumps(answer)))

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
    ) -> dict[str, Any]:
        """Store one exchange, or `turns` as they are; on return they are on disk (X18).

        `participants` are the users, where several talk in the conversation: then each
        `speaker` is a person of their own. With `private` only `persona`
        is told of the exchange.
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
        return self.call(
            "observe",
            turns=[{k: v for k, v in row.items() if v is not None} for row in rows],
            **several,
        )

    def context(self, query: str | None = None, **options: Any) -> str:
        """Return what a chatbot should know before it answers `query`, as fenced text.

        It begins with who the user is, and is '' where nothing is known. The options
        are those of the table: session, persona, budget, with_question.
        """
        text: str = self.call("context", query=query, **options)["text"]
        return text

    def recall(self, query: str, **options: Any) -> Recall:
        """Return the memories that match `query` best.

        The options are those of the table: k, budget, session, persona, …
        """
        return Recall(self.call("recall", query=query, **options))

    def remember(self, text: str, **options: Any) -> dict[str, Any]:
        """Store a statement; the options are those of the table.

        A conflict that waits for the user is named in `case`.
        """
        return self.call("remember", text=text, **options)

    def forget(self, id: str, reason: str | None = None) -> dict[str, Any]:  # noqa: A002
        """Stop recalling a memory; its note stays, marked forgotten."""
        return self.call("forget", id=id, reason=reason)

    def show(self, id: str) -> dict[str, Any]:  # noqa: A002
        """Return one memory with its note, source, use and relations."""
        return self.call("show", id=id)

    def why(self, id: str) -> dict[str, Any]:  # noqa: A002
        """Return the turns behind a memory and each decision on it."""
        return self.call("why", id=id)

    def flush(self, session: str | None = None) -> dict[str, Any]:
        """Extract memories from every waiting turn now, and wait for it."""
        return self.call("flush", session=session)


def _plain(value: Any) -> Any:
    """Return a time as ISO 8601 text, a tuple as a list, other values unchanged."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
