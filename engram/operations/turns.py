"""The operations `withdraw` and `changes`: deleted turns, and changes since a mark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.core import lifecycle
from engram.core.personas import sees
from engram.core.records import Fact, FiledTurn
from engram.errors import NotFoundError
from engram.ingest import requests
from engram.operations.retrieval import asking
from engram.pipeline.turn_edits import DELETED

if TYPE_CHECKING:
    from engram.index.database import Unit
    from engram.operations.retrieval import Retriever
    from engram.pipeline.reconcile import Reconciler

GONE = frozenset({"forgotten", "pruned"})
"""The statuses of memories that a client must drop."""


class TurnOperations:
    """The operation `withdraw`, for the writer thread, and `changes`, for any."""

    def __init__(self, retriever: Retriever, reconciler: Reconciler) -> None:
        self.index = retriever.index
        self.settings = retriever.settings
        self.clock = retriever.clock
        self.turn_edits = reconciler.turn_edits

    # -- withdraw ----------------------------------------------------------------------

    def withdraw(
        self,
        id: str,  # noqa: A002  # the name of the argument
        session: str | None = None,
    ) -> dict[str, Any]:
        """Hide a turn that was deleted in the chat, and memories that only it supports.

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

    def changes(
        self,
        limit: int,
        *,
        since: str | None = None,
        persona: str | None = None,
        all_personas: bool = False,
        owner: bool = False,
    ) -> dict[str, Any]:
        """Return the units that changed since a mark, for clients with a copy.

        Without `since` it returns only the present mark. `reset` means that the mark is
        no longer known: the client drops its copy and calls `list` for all memories.
        """
        asks = asking(persona, self.settings, owner=owner, everyone=all_personas)
        catalog = self.index.catalog
        if since is None:
            return {"changes": [], "next": catalog.mark, "reset": False, "more": False}
        delta = catalog.changes(since, limit)
        if delta is None:
            return {"changes": [], "next": catalog.mark, "reset": True, "more": False}
        rows = [
            {"id": key, "kind": "", "change": "removed"}
            if unit is None
            else self._change(key, unit, asks)
            for key, unit in delta.units
        ]
        return {
            "changes": rows,
            "next": delta.mark,
            "reset": False,
            "more": delta.more,
        }

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
