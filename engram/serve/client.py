"""The Python interface: `from engram import Memory`.

Only the standard library is loaded as long as a daemon answers.
"""

from __future__ import annotations

import os

from engram.operations.results import (
    Changes,
    Context,
    CorrectedMemory,
    Decided,
    DigestOfSpan,
    Entities,
    Explained,
    Flushed,
    Forgotten,
    History,
    MemoryPage,
    Observed,
    Recalled,
    Remembered,
    Review,
    RunReport,
    Sensitivity,
    Sessions,
    Shown,
    Todos,
    Verified,
    WithdrawnTurns,
    typed,
)
from engram.serve.connection import ClosedVault, connect

TYPE_CHECKING = False  # loading typing would slow each program that imports this
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any, Self

    from engram.serve.connection import VaultConnection


class Memory:
    """A vault: through its daemon, else opened in this process until `close`.

    While another process has it open, that process answers. Each method is an
    operation of the table; `call` carries out any of them and returns its JSON.

    >>> with Memory("~/Engram") as memory:  # doctest: +SKIP
    ...     context = memory.context("what should I bring Anna?", session="s1")
    ...     reply = llm(context.text)
    ...     memory.observe(user="what should I bring Anna?", assistant=reply)
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

    def call(self, operation: str, /, **params: Any) -> dict[str, Any]:
        """Call any operation by name; return the same JSON with and without a daemon.

        >>> memory.call("stats")["turns"]
        0
        """
        arguments = {
            key: _plain(value) for key, value in params.items() if value is not None
        }
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
        """Store one exchange, or `turns` as they are; on return they are on disk (X18).

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

    def withdraw(self, id: str, *, session: str | None = None) -> WithdrawnTurns:  # noqa: A002
        """Hide a turn that was deleted in the chat, and memories that only it supports.

        >>> memory.observe(turns=[{"id": "m7", "text": "I love jazz."}]).stored
        1
        >>> len(memory.withdraw("m7").memories)
        1
        """
        return typed(WithdrawnTurns, self.call("withdraw", id=id, session=session))

    def flush(self, session: str | None = None) -> Flushed:
        """Extract memories from every waiting turn now; return when this is done.

        >>> memory.flush().waiting_turns
        0
        """
        return typed(Flushed, self.call("flush", session=session))

    # -- questions ---------------------------------------------------------------------

    def context(
        self,
        query: str | None = None,
        *,
        session: str | None = None,
        persona: str | None = None,
        budget: int | None = None,
        with_question: bool | None = None,
        record: bool = True,
    ) -> Context:
        """Return the context for a chatbot that answers `query`.

        It begins with facts about the user; its `text` is '' if nothing is known.

        >>> "Anna" in memory.context("Who lives in Porto?").text
        True
        """
        answer = self.call(
            "context",
            query=query,
            session=session,
            persona=persona,
            budget=budget,
            with_question=with_question,
            record=record,
        )
        return typed(Context, answer)

    def recall(
        self,
        query: str,
        *,
        k: int | None = None,
        budget: int | None = None,
        milliseconds: int | None = None,
        preset: str | None = None,
        session: str | None = None,
        persona: str | None = None,
        as_of: datetime | str | None = None,
        now: datetime | str | None = None,
        kinds: Sequence[str] | None = None,
        archive: bool = False,
        without_stale: bool = False,
        record: bool = True,
        explain: bool = False,
    ) -> Recalled:
        """Return the memories that match `query` best.

        >>> memory.recall("Where does Anna live?").hits[0].text
        'Anna lives in Porto.'
        """
        answer = self.call(
            "recall",
            query=query,
            k=k,
            budget=budget,
            milliseconds=milliseconds,
            preset=preset,
            session=session,
            persona=persona,
            as_of=as_of,
            now=now,
            kinds=list(kinds) if kinds is not None else None,
            archive=archive,
            without_stale=without_stale,
            record=record,
            explain=explain,
        )
        return typed(Recalled, answer)

    def todos(self, stage: str = "open", *, persona: str | None = None) -> Todos:
        """Return promises, habits, open threads and frictions, those due first.

        >>> memory.todos().todos
        []
        """
        return typed(Todos, self.call("todos", stage=stage, persona=persona))

    def list(
        self,
        *,
        status: str = "active",
        category: str | None = None,
        about: str | None = None,
        stage: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        persona: str | None = None,
        limit: int = 20,
        after: str | None = None,
    ) -> MemoryPage:
        """Return memories, the newest first, and where the next page begins.

        >>> page = memory.list(about="Anna", category="relationship")
        >>> [one.text for one in page.memories]
        ["Anna is the user's sister."]
        """
        answer = self.call(
            "list",
            status=status,
            category=category,
            about=about,
            stage=stage,
            since=since,
            until=until,
            persona=persona,
            limit=limit,
            after=after,
        )
        return typed(MemoryPage, answer)

    def entities(
        self,
        name: str | None = None,
        *,
        type: str | None = None,  # noqa: A002
        persona: str | None = None,
    ) -> Entities:
        """Return people, places and things, those with the most memories first.

        >>> memory.entities("Anna").entities[0].type
        'person'
        """
        answer = self.call("entities", name=name, type=type, persona=persona)
        return typed(Entities, answer)

    def sessions(
        self,
        *,
        session: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        persona: str | None = None,
        limit: int = 20,
        after: str | None = None,
    ) -> Sessions:
        """Return conversations, the latest first.

        >>> memory.sessions(session="s1").sessions[0].turns
        1
        """
        answer = self.call(
            "sessions",
            session=session,
            since=since,
            until=until,
            persona=persona,
            limit=limit,
            after=after,
        )
        return typed(Sessions, answer)

    def changes(self, since: str | None = None, *, limit: int = 100) -> Changes:
        """Return the changes since the mark `since`; without it only the mark.

        >>> mark = memory.changes().next
        >>> memory.changes(mark).changes
        []
        """
        return typed(Changes, self.call("changes", since=since, limit=limit))

    def digest(
        self, since: datetime | str | None = None, *, persona: str | None = None
    ) -> DigestOfSpan:
        """Return the memories learned, changed and ended since then, and those due.

        >>> memory.digest().counts["changed"]
        0
        """
        return typed(DigestOfSpan, self.call("digest", since=since, persona=persona))

    # -- one memory --------------------------------------------------------------------

    def remember(
        self,
        text: str,
        *,
        category: str | None = None,
        about: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
        confidence: float | None = None,
        persona: str | None = None,
        private: bool = False,
        pinned: bool = False,
        expires: datetime | str | None = None,
        source_id: str | None = None,
        occurred_at: datetime | str | None = None,
        agent: bool = False,
        run: str | None = None,
    ) -> Remembered:
        """Store a statement; a conflict that waits for the user is named in `case`.

        >>> memory.remember("Ben drinks tea.").verdict
        'created'
        """
        answer = self.call(
            "remember",
            text=text,
            category=category,
            about=list(about) if about is not None else None,
            tags=list(tags) if tags is not None else None,
            importance=importance,
            confidence=confidence,
            persona=persona,
            private=private,
            pinned=pinned,
            expires=expires,
            source_id=source_id,
            occurred_at=occurred_at,
            agent=agent,
            run=run,
        )
        return typed(Remembered, answer)

    def correct(self, id: str, text: str) -> CorrectedMemory:  # noqa: A002
        """Replace the statement of a memory.

        >>> (hit,) = memory.recall("What does Ben drink?", k=1).hits
        >>> memory.correct(hit.id, "Ben drinks cocoa.").text
        'Ben drinks cocoa.'
        """
        return typed(CorrectedMemory, self.call("correct", id=id, text=text))

    def forget(self, id: str, reason: str | None = None) -> Forgotten:  # noqa: A002
        """Stop recalling a memory or a turn; its note stays, marked forgotten.

        >>> made = memory.remember("The gate is green.")
        >>> memory.forget(made.id).status
        'forgotten'
        """
        return typed(Forgotten, self.call("forget", id=id, reason=reason))

    def confirm(self, id: str) -> Verified:  # noqa: A002
        """Record that a memory is true.

        >>> memory.confirm(memory.remember("The barn is red.").id).verification
        'user_confirmed'
        """
        return typed(Verified, self.call("confirm", id=id))

    def sensitivity(self, id: str, level: str) -> Sensitivity:  # noqa: A002
        """Set how sensitive a memory is: low, normal or high.

        >>> made = memory.remember("The cellar is damp.")
        >>> memory.sensitivity(made.id, "low").known_to
        'everybody'
        """
        return typed(Sensitivity, self.call("sensitivity", id=id, level=level))

    def show(self, id: str) -> Shown:  # noqa: A002
        """Return one memory with its note, source, use and relations.

        >>> memory.show("Anna").entity["type"]
        'person'
        """
        return typed(Shown, self.call("show", id=id))

    def why(self, id: str) -> Explained:  # noqa: A002
        """Return the turns behind a memory and each decision on it.

        >>> memory.why(memory.recall("Where does Anna live?").hits[0].id).turns[0].text
        'My sister Anna lives in Porto.'
        """
        return typed(Explained, self.call("why", id=id))

    def history(self, id: str) -> History:  # noqa: A002
        """Return the versions of a memory, the oldest first.

        >>> made = memory.correct(memory.remember("Ada rows.").id, "Ada sails.")
        >>> [one.status for one in memory.history(made.id).versions]
        ['superseded', 'active']
        """
        return typed(History, self.call("history", id=id))

    # -- runs --------------------------------------------------------------------------

    def merge(self, id: str, other: str, *, dry_run: bool = False) -> RunReport:  # noqa: A002
        """Merge two memories, or two names of an entity; the first one stays.

        >>> tea = memory.remember("Zoe drinks green tea.").id
        >>> made = memory.merge(tea, memory.remember("Green tea is what Zoe drinks.").id)
        >>> made.counts
        {'join': 2}
        """
        answer = self.call("merge", id=id, other=other, dry_run=dry_run)
        return typed(RunReport, answer)

    def synthesize(self, about: str, *, dry_run: bool = False) -> RunReport:
        """Conclude one note from the memories about an entity or a subject.

        >>> made = memory.remember("Anna plays the cello.", about=["Anna"])
        >>> memory.synthesize("Anna", dry_run=True).dry_run
        True
        """
        answer = self.call("synthesize", about=about, dry_run=dry_run)
        return typed(RunReport, answer)

    def undo(self, id: str = "last", *, dry_run: bool = False) -> RunReport:  # noqa: A002
        """Undo a run, by default the latest change, byte for byte.

        >>> oak = memory.remember("The oak table is in the hall.").id
        >>> made = memory.merge(oak, memory.remember("In the hall is an oak table.").id)
        >>> memory.undo(made.run).failures
        {}
        """
        return typed(RunReport, self.call("undo", id=id, dry_run=dry_run))

    # -- the review queue --------------------------------------------------------------

    def review(self, *, all: bool = False) -> Review:  # noqa: A002
        """Return the cases that wait for a decision of the user.

        >>> memory.review().cases
        []
        """
        return typed(Review, self.call("review", all=all))

    def decide(self, id: str, decision: str) -> Decided:  # noqa: A002
        """Decide a case with one of its `choices`.

        >>> for case in memory.review(all=True).cases:
        ...     decided = memory.decide(case.id, case.choices[0])
        """
        return typed(Decided, self.call("decide", id=id, decision=decision))


def _plain(value: Any) -> Any:
    """Return a time as ISO 8601 text, a tuple as a list, other values unchanged."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
