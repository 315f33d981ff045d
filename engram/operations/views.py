"""The operations on conversations and on the history of a memory.

All results are computed from the index; nothing is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from engram.core.personas import own_name, sees
from engram.core.records import ALL_PERSONAS, NO_PERSONA, Fact, FiledTurn
from engram.core.text import note_name
from engram.errors import NotFoundError
from engram.ingest import requests
from engram.operations.explain import Explainer, without_text
from engram.operations.signature import (
    ANY_CALLER,
    After,
    Between,
    Id,
    Since,
    Until,
    operation,
)
from engram.recall import formatting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.index.conversations import SessionReader
    from engram.index.database import SessionFile
    from engram.operations.retrieval import Retriever

    Row = dict[str, Any]


class Views:
    """The operations `sessions`, `session` and `history`. For any thread."""

    def __init__(
        self, retriever: Retriever, sessions: SessionReader, explainer: Explainer
    ) -> None:
        self.index = retriever.index
        self.settings = retriever.settings
        self.clock = retriever.clock
        self.reader = sessions
        self.explainer = explainer

    # -- sessions ----------------------------------------------------------------------

    @operation("Sessions", callers=ANY_CALLER)
    def sessions(
        self,
        *,
        session: Annotated[str | None, "only this conversation"] = None,
        since: Since = None,
        until: Until = None,
        limit: Annotated[int, "number of stretches on a page", Between(1, 1000)] = 20,
        after: After = None,
        asks: str | None = None,
        owner: bool = False,
    ) -> dict[str, Any]:
        """List conversations, the latest first. Shows the time, the number of turns
        and the summary of each stretch without a long silence.
        """
        span = requests.span(since, until, self.settings.zone, self.clock())
        name = session and requests.name_from(session, self.settings)
        chosen = {
            f"{int(one.started.timestamp()):012d} {note_name(one.path)}": one
            for one in self.reader.stretches()
            if name in {None, "", one.session}
            and (asks == ALL_PERSONAS or one.persona == _own(asks))
            and span.has(one.started)
        }
        rest = sorted(
            (mark for mark in chosen if after is None or mark < after), reverse=True
        )
        rows = [
            {
                **self._stretch(one),
                "turns": one.turns,
                "summary": self._summary(one.path, owner=owner),
            }
            for one in map(chosen.__getitem__, rest[:limit])
        ]
        return {
            "sessions": rows,
            "total": len(chosen),
            "next": rest[limit - 1] if len(rest) > limit else None,
        }

    def _summary(self, path: str, *, owner: bool) -> str:
        """Return the summary of a stretch; a highly sensitive one only for the owner."""
        sensitive = self.index.catalog.sessions_with_sensitive_turns
        if not owner and note_name(path) in sensitive:
            return ""
        return self.reader.one_liner(path)

    @operation("SessionTurns", "GET /v1/sessions/{id}", callers=ANY_CALLER)
    def session(
        self,
        id: Annotated[
            str, "the id of a stretch, as `engram sessions` lists it, or its path"
        ],
        *,
        asks: str | None = None,
    ) -> dict[str, Any]:
        """Show what was said in one stretch of a conversation. Prints its turns,
        without forgotten sentences, each with the memories that rest on it.

        Turns that the persona does not see, and forgotten sentences, are left out.
        Raises NotFoundError if there is no such stretch.
        """
        found = {note_name(one.path): one for one in self.reader.stretches()}
        stretch = found.get(note_name(id))
        turns = self._turns_at(stretch.path, asks) if stretch else []
        if stretch is None or not turns:
            raise NotFoundError(
                "there is no such conversation",
                where=id,
                fix="`engram sessions` lists them with their ids.",
            )
        policy = self.settings.policy.trust
        rests = self.index.catalog.resting_on([turn.key for turn in turns])
        return {
            **self._stretch(stretch),
            "turns": [
                formatting.plain_turn(turn, policy)
                | {"memories": self._stated(rests.get(turn.key, ()), asks)}
                for turn in turns
            ],
        }

    def _stretch(self, one: SessionFile) -> Row:
        return {
            "id": note_name(one.path),
            "session": one.session,
            "persona": one.persona,
            "started": self._local(one.started),
            "ended": self._local(one.ended),
            "path": one.path,
        }

    def _stated(self, ids: Sequence[str], asks: str | None) -> list[Row]:
        """Return the ids and texts of the memories that are neither forgotten nor
        private to others.
        """
        units = map(self.index.visible, self.index.catalog.units(ids).values())
        return [
            {"id": unit.id, "text": unit.text}
            for unit in units
            if isinstance(unit, Fact)
            and unit.status != "forgotten"
            and sees(asks, unit.persona)
        ]

    def _turns_at(self, path: str, asks: str | None) -> list[FiledTurn]:
        visible_units = map(self.index.visible, self.reader.turns_at(path))
        return [
            unit
            for unit in visible_units
            if isinstance(unit, FiledTurn) and sees(asks, unit.turn.private_to)
        ]

    # -- history -----------------------------------------------------------------------

    @operation("History", callers=ANY_CALLER)
    def history(
        self,
        id: Id,
    ) -> dict[str, Any]:
        """Show what a memory replaced and what replaced it. Prints every version, the
        oldest first, and each decision on them.

        A forgotten version has no text.
        """
        versions = self._versions(self.index.catalog.find_fact(id))
        ids = {fact.id for fact in versions}
        decisions = [
            {**row, "of": fact.id}
            for fact in versions
            for row in self.explainer.decisions(fact)
            if row.get("memory") == fact.id or row.get("memory") not in ids
        ]
        return {
            "versions": [self._version(fact) for fact in versions],
            "decisions": sorted(decisions, key=lambda row: str(row.get("at"))),
        }

    def _versions(self, fact: Fact) -> list[Fact]:
        found: dict[str, Fact] = {}
        waiting = [fact]
        while waiting:
            one = waiting.pop()
            if one.id not in found:
                found[one.id] = one
                linked = (*one.supersedes, *one.superseded_by)
                waiting += filter(None, map(self.index.catalog.fact, linked))
        return sorted(
            found.values(),
            key=lambda one: (one.created.timestamp() if one.created else 0.0, one.id),
        )

    def _version(self, fact: Fact) -> Row:
        if fact.status == "forgotten":
            # the path of its note contains words of the statement too
            return without_text(fact) | {"path": ""}
        visible = self._visible(fact)
        return {
            "id": fact.id,
            "text": visible.text if visible else "",
            "category": fact.category,
            "status": fact.status,
            "created": self._local(fact.created),
            "valid_from": self._local(fact.valid_from),
            "valid_until": self._local(fact.valid_until),
            "end_reason": fact.end_reason,
            "supersedes": list(fact.supersedes),
            "superseded_by": list(fact.superseded_by),
            "path": fact.path,
        }

    # -- helpers -----------------------------------------------------------------------

    def _visible(self, fact: Fact) -> Fact | None:
        """Return the memory without forgotten sentences, None if nothing remains."""
        unit = self.index.visible(fact)
        return unit if isinstance(unit, Fact) else None

    def _local(self, when: datetime | None) -> str | None:
        return when.astimezone(self.settings.zone).isoformat() if when else None


def _own(asks: str | None) -> str | None:
    """Return the persona whose conversations a question sees.

    A conversation belongs to its persona, even if the user's statements in it are
    visible to every persona.
    """
    return None if own_name(asks) == NO_PERSONA else asks
