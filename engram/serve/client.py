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
"""How long a change waits for a locked vault, and the pause between two tries."""
COPY_SECONDS, ANSWER_SECONDS = 1.0, 3.0
"""How long a question waits for a socket, and for an answer, before it asks a copy."""


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
    """A memory in this process, which answers other processes too."""

    def __init__(self, opened: memory.Memory, *, owner: bool) -> None:
        from engram.serve.holder import SharedMemory

        self._shared = SharedMemory(opened)
        self._standing = "owner" if owner else "chat"

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation."""
        return self._shared.call(name, params, self._standing)

    def close(self) -> None:
        """Release the vault."""
        self._shared.close()


class HeldVault(RemoteVault):
    """A vault that another process holds, which is no daemon.

    It answers on its socket. While it does not, what only reads is answered from a
    copy, and other calls wait until it answers or releases the vault.
    """

    def __init__(self, settings: Settings, vault: Path | None, *, owner: bool) -> None:
        from engram.serve.holder import socket_path

        path = str(socket_path(settings))
        super().__init__(path, str(settings.vault), owner=owner)
        self._settings = settings
        self._vault = vault
        self._instead: VaultConnection | None = None

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation; raise LockedError where nobody does in time."""
        from engram.serve.holder import reads

        is_question = reads(name)
        last = time.monotonic() + (COPY_SECONDS if is_question else LOCK_SECONDS)
        while self._instead is None:
            try:
                return self._asked(
                    name, params, ANSWER_SECONDS if is_question else None
                )
            except socket_client.AbsentError:
                try:
                    self._instead = _opened(self._vault, owner=self.owner)
                except LockedError:
                    if time.monotonic() > last:
                        if is_question:
                            return self._from_copy(name, params)
                        raise
                    time.sleep(LOCK_LOOK_SECONDS)
            except UnavailableError:
                if not is_question:
                    raise
                return self._from_copy(name, params)
        return self._instead.call(name, params)

    def close(self) -> None:
        """Release the vault, where this process got it meanwhile."""
        if self._instead:
            self._instead.close()

    def _asked(
        self, name: str, params: dict[str, Any], timeout: float | None
    ) -> dict[str, Any]:
        """Ask the process that holds the vault."""
        return socket_client.call(
            self.path,
            name,
            params,
            timeout=timeout,
            owner=self.owner,
            folder=self.folder,
        )

    def _from_copy(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        from engram.serve.holder import VaultCopy

        copy = VaultCopy(self._settings)
        try:
            return copy.call(name, params, "owner" if self.owner else "chat")
        finally:
            copy.close()


def connect(vault: Path | None, *, owner: bool = False) -> VaultConnection:
    """Connect to a vault: to its daemon, to this process, or to the one that holds it.

    `owner` says that the caller is the owner's command line, not a chatbot. Raises
    ConfigError, or NotFoundError where there is no vault.
    """
    from engram import config

    try:
        return _opened(vault, owner=owner)
    except LockedError:
        return HeldVault(config.load(vault, os.environ), vault, owner=owner)


def _opened(vault: Path | None, *, owner: bool) -> VaultConnection:
    """Connect to the daemon of a vault, or open it; LockedError if it is held."""
    from engram import config

    settings = config.load(vault, os.environ)
    if socket_client.answers(path := str(settings.socket)):
        return RemoteVault(path, str(settings.vault), owner=owner)
    return LocalVault(embedded(settings), owner=owner)


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
        if type(self._connection) is RemoteVault:
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
