"""The operations on turns: store, extract, withdraw, and list what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from engram.core import lifecycle
from engram.core.personas import sees
from engram.core.records import Fact, FiledTurn
from engram.errors import NotFoundError
from engram.ingest import requests
from engram.operations.signature import (
    ANY_CALLER,
    Between,
    Run,
    operation,
)
from engram.pipeline.turn_edits import DELETED

if TYPE_CHECKING:
    from engram.index.database import Unit
    from engram.operations.retrieval import Retriever
    from engram.pipeline.process import TurnPipeline
    from engram.pipeline.reconcile import Reconciler

GONE = frozenset({"forgotten", "pruned"})
"""The statuses of memories that a client must drop."""


class TurnOperations:
    """The operations on turns; `withdraw` is for the writer thread."""

    def __init__(
        self, retriever: Retriever, reconciler: Reconciler, pipeline: TurnPipeline
    ) -> None:
        self.pipeline = pipeline
        self.index = retriever.index
        self.settings = retriever.settings
        self.clock = retriever.clock
        self.turn_edits = reconciler.turn_edits
        self.imports = reconciler.imports

    @operation(
        "Observed",
        "POST /v1/turns",
        status=202,
        callers=ANY_CALLER,
        adds=True,
        own_command=True,
    )
    def observe(
        self,
        *,
        turns: Annotated[
            list[dict[str, Any]] | None,
            "objects with text, and optionally id, session, title (of the conversation), role, speaker, persona, private, record and occurred_at; or messages in OpenAI's form, with role and content",
        ] = None,
        messages: Annotated[
            list[dict[str, Any]] | None, "the same as turns, under OpenAI's name"
        ] = None,
        session: Annotated[str | None, "conversation of turns without one"] = None,
        persona: Annotated[str | None, "persona of turns without one"] = None,
        participants: Annotated[
            list[str] | None, "names of the users, if there are several"
        ] = None,
        record: Annotated[
            bool, "whether the turns are stored; false: they are off the record"
        ] = True,
        run: Run = None,
        standing: str = "chat",
    ) -> dict[str, Any]:
        """Store turns of a conversation. The answer comes when they are on disk;
        memories are extracted later.
        """
        return self.pipeline.observe(
            turns,
            standing,
            participants,
            messages,
            session,
            persona,
            run,
            record=record,
        )

    @operation(
        "BegunImport",
        "POST /v1/imports",
        callers=ANY_CALLER,
        adds=True,
        own_command=True,
    )
    def begin_import(
        self,
        *,
        file: Annotated[str, "the name of the file"],
        source: Annotated[str, "a hash of its content"],
    ) -> dict[str, Any]:
        """Begin an import, or continue the one of the same source. Shows the id of its
        run, an argument of `observe`, `remember` and `engram undo`.
        """
        name, digest = (
            requests.name_from(text, self.settings) for text in (file, source)
        )
        return {"run": self.imports.begin(name, digest, self.clock())}

    @operation("Flushed", callers=ANY_CALLER, waits=True)
    def flush(
        self,
        *,
        session: Annotated[str | None, "only the turns of this conversation"] = None,
        background: Annotated[
            bool, "answer at once and extract in the background"
        ] = False,
    ) -> dict[str, Any]:
        """Extract memories from every waiting turn now. Returns when this is done, and
        shows how many turns were handled and how many are still waiting.
        """
        return self.pipeline.flush(session, background=background)

    # -- withdraw ----------------------------------------------------------------------

    @operation("WithdrawnTurns", "DELETE /v1/turns/{id}", writes=True, retracts=True)
    def withdraw(
        self,
        id: Annotated[str, "the id under which the turn was sent, or the id of a hit"],
        *,
        session: Annotated[
            str | None, "the conversation of the turn; main if absent"
        ] = None,
    ) -> dict[str, Any]:
        """Withdraw a turn that was deleted in the chat. Hides it and the memories that
        only it supports, and shows which; the same words elsewhere stay. `engram
        restore` reverses this.

        `id` is the id under which the client sent it, in `session`, or the id of a hit.
        With the client's id every version of an edited message is hidden. Raises
        NotFoundError.
        """
        now = self.clock()
        memories: set[str] = set()
        turns = self._turns(id, session)
        for turn in turns:
            if not self.turn_edits.is_withdrawn(turn):
                memories |= set(self.turn_edits.withdraw([turn], now, DELETED))
        return {
            "id": id,
            "turns": [turn.key for turn in turns],
            "memories": sorted(memories),
        }

    def _turns(self, name: str, session: str | None) -> list[FiledTurn]:
        identifiers = {"id": name, "session": session or requests.SESSION}
        names = {
            key: requests.name_from(value, self.settings)
            for key, value in identifiers.items()
        }
        if found := self.index.versions(names["session"], names["id"]):
            return found
        unit = None if session else self.index.unit(name)
        if not isinstance(unit, FiledTurn):
            raise NotFoundError(
                "there is no such turn",
                where=f"{name!r} in session {names['session']!r}",
                fix="Give the id under which it was sent, and its session.",
            )
        return [unit]

    # -- changes -----------------------------------------------------------------------

    @operation("Changes", callers=ANY_CALLER)
    def changes(
        self,
        *,
        since: Annotated[
            str | None, "`next` of the call before; without it only the mark"
        ] = None,
        limit: Annotated[int, "most changes", Between(1, 1000)] = 100,
        asks: str | None = None,
    ) -> dict[str, Any]:
        """List what changed since a mark, for clients that keep a copy. Shows changed
        and removed memories, turns and notes, and the mark for the next call.

        Without `since` it returns only the present mark. `reset` means that the mark is
        no longer known: the client drops its copy and calls `list` for all memories.
        """
        catalog = self.index.catalog
        present = {"changes": [], "next": catalog.mark, "reset": False, "more": False}
        if since is None:
            return present
        delta = catalog.changes(since, limit)
        if delta is None:
            return present | {"reset": True}
        rows = [
            {"id": key, "kind": "", "change": "removed"}
            if unit is None
            else self._change(key, unit, asks)
            for key, unit in delta.units
        ]
        return present | {"changes": rows, "next": delta.mark, "more": delta.more}

    def _change(self, key: str, unit: Unit, asks: str | None) -> dict[str, Any]:
        """Return the row of a changed unit; `removed` if the persona may not see it."""
        turn = unit.turn if isinstance(unit, FiledTurn) else None
        private_to = turn.private_to if turn else unit.persona  # type: ignore[union-attr]
        kind = "fact" if isinstance(unit, Fact) else "turn" if turn else "note"
        visible_unit = self.index.visible(unit) if sees(asks, private_to) else None
        is_removed = isinstance(visible_unit, Fact) and visible_unit.status in GONE
        if visible_unit is None or is_removed:
            return {"id": key, "kind": kind, "change": "removed"}
        row = {"id": key, "kind": kind, "change": "changed"}
        if isinstance(visible_unit, FiledTurn):
            return row | {
                "text": visible_unit.turn.text,
                "role": visible_unit.turn.role,
            }
        row |= {"text": visible_unit.text, "path": visible_unit.path}
        if isinstance(visible_unit, Fact):
            current = lifecycle.hidden_reason(visible_unit, self.clock()) is None
            row |= {"status": visible_unit.status, "category": visible_unit.category}
            return row | {"current": current}
        return row
