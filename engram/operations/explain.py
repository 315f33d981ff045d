"""The operations `show` and `why`: one memory, its evidence and its history.

`why` explains why a memory is archived, superseded or in review, by the action log,
which records each decision (rows C22, C24, X4, X17).
"""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

from engram.core import actions, decay, graph, lifecycle, trust
from engram.core import importance as core_importance
from engram.core.forgetting import Utterance
from engram.core.personas import sees
from engram.core.records import ALL_PERSONAS, Fact, FiledTurn, Usage, Vitals
from engram.errors import NotFoundError
from engram.maintenance.forecast import CURVE_POINTS, SOUND
from engram.operations.signature import ANY_CALLER, Between, Id, operation
from engram.recall import formatting
from engram.vault import facts, frontmatter
from engram.vault.store import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from engram.operations.listing import FactTable
    from engram.pipeline.entities import EntityWriter
    from engram.pipeline.usage import UsageTracker
    from engram.pipeline.write import NoteWriter

FORGOTTEN = "this memory was forgotten; `engram restore {}` restores it"
REWORDED = "the statement was reworded after the first turn"
_STORY = re.compile(r"(?:traces|macros)/[^/]+\.md")
WITHOUT_TEXT = ("id", "category", "kind", "status", "created", "path", "end_reason")
"""The keys of a forgotten memory that are shown."""


class Explainer:
    """The operations `show` and `why`. May be called from any thread."""

    def __init__(
        self,
        note_writer: NoteWriter,
        usage_tracker: UsageTracker,
        entity_writer: EntityWriter,
        clock: Callable[[], datetime],
        fact_table: FactTable,
    ) -> None:
        self.fact_table = fact_table
        self.note_writer = note_writer
        self.vault = note_writer.vault
        self.index = note_writer.index
        self.settings = note_writer.settings
        self.usage_tracker = usage_tracker
        self.entity_writer = entity_writer
        self.clock = clock

    @operation("Shown", "GET /v1/memories/{id}", callers=ANY_CALLER)
    def show(
        self,
        id: Id,
        *,
        forecast: Annotated[
            int | None,
            "number of days for which to forecast its changes without use",
            Between(1, 3650),
        ] = None,
        owner: bool = False,
    ) -> dict[str, Any]:
        """Show one memory, entity, storyline or macro. Prints its fields and the text of
        its note.

        `forecast` is a number of days: the result then has the values of the memory
        until then, and its changes without use.

        `id` may be the name of an entity, or the path of the note of an entity, a
        storyline or a macro: the result is that note with the use of its memories.
        """
        try:
            fact = self.index.catalog.find_fact(id)
        except NotFoundError:
            if found := self._group(id) or self._said_alone(id, owner=owner):
                return found
            raise
        if fact.status == "forgotten":
            return {
                "memory": without_text(fact),
                "forgotten": FORGOTTEN.format(fact.id),
                "problems": [],
            }
        raw = self.vault.read(fact.path)
        source = self._source(fact)
        course = {}
        if forecast is not None and fact.status == "active":
            course = {"forecast": self._forecast(fact, source["said_by"], forecast)}
        return {
            "memory": formatting.plain(fact),
            "markdown": raw.decode(errors="replace"),
            "problems": [
                asdict(problem) for problem in self.index.catalog.problems(fact.path)
            ],
            **source,
            "protected": self._protection(fact),
            **self._weight(fact, source["said_by"]),
            "related": self._related(fact.id),
            **course,
        }

    def _forecast(self, fact: Fact, said_by: str, days: int) -> dict[str, Any]:
        """Return the values of a memory (0–1) at equal steps, and its changes (`X10`).

        A note that engram did not write changes only on its own end date.
        """
        policy, now = self.settings.policy, self.clock()
        usage = self.usage_tracker.usage_of(fact.id)
        source_trust = trust.trust(said_by, policy.trust)
        protection = self._protection(fact)

        def vitals_at(moment: datetime) -> Vitals:
            if protection:
                return SOUND
            return decay.vitals(fact, usage, moment, source_trust, policy)

        changes = lifecycle.forecast(
            fact,
            usage,
            vitals_at,
            now,
            days,
            policy,
            said_by=said_by,
            user_action=protection,
        )
        step = timedelta(days=days) / (CURVE_POINTS - 1)
        points = [now + number * step for number in range(CURVE_POINTS)]
        values = [1 - vitals_at(moment).decay for moment in points]
        return {
            "days": days,
            "curve": [round(value, 3) for value in values],
            "changes": [
                {"at": _plain(one.at), "what": one.what, "why": one.why}
                for one in changes
            ],
        }

    def _group(self, name: str) -> dict[str, Any] | None:
        """Return an entity note, a storyline or a macro; None for another name.

        Its stage and salience are computed from the use of its memories (rows B1, B4).
        """
        keys: Mapping[str, object] = {}
        path, names = name, self.entity_writer.names
        if _STORY.fullmatch(name) and self.vault.exists(name):
            keys = frontmatter.read(self.vault.read(name)).keys
            name = str(keys.get("anchor") or "").removeprefix("[[").partition("]]")[0]
        elif name.startswith("entities/"):
            name = PurePosixPath(name).stem
        entity = names.one(name)
        if entity is None:
            return None
        kind = str(keys.get("kind") or "entity")
        rows = (
            row
            for row in self.fact_table
            if row.status == "active" and row.persona is None
        )
        ids = [
            row.id for row in self.fact_table.about(names, rows).get(entity.path, ())
        ]
        facts = self.index.catalog.units(ids).values()
        about = [
            fact
            for fact in facts
            if isinstance(fact, Fact) and self._is_within(fact, keys, kind)
        ]
        path = path if keys else entity.path
        return {
            kind: {"name": entity.name, "type": entity.type, "path": path},
            "markdown": self.vault.read(path).decode(errors="replace"),
            "memories": len(about),
            "worth": self._group_worth(about, kind),
        }

    def _is_within(self, fact: Fact, keys: Mapping[str, object], kind: str) -> bool:
        """Return whether a storyline, if it is one, covers the day of a memory."""
        if kind != "storyline" or fact.created is None:
            return True
        day = f"{fact.created.astimezone(self.settings.zone):%Y-%m-%d}"
        return str(keys.get("opened"))[:10] <= day <= str(keys.get("seen"))[:10]

    def _group_worth(self, memories: Sequence[Fact], kind: str) -> dict[str, Any]:
        """Return the salience and stage of a note on several memories (`B1`).

        A macro does not decay.
        """
        policy, now = self.settings.policy, self.clock()
        uses = []
        for fact in memories:
            usage = self.usage_tracker.usage_of(fact.id)
            uses.append((usage, decay.salience(fact, usage, now, policy)))
        stage, salience, recalls, why = lifecycle.group_stage(uses, policy)
        if kind == "macro":
            stage, salience, why = "core", 1.0, "a macro does not decay"
        last = max(
            (one.last_access for one, _ in uses if one.last_access), default=None
        )
        return {
            "stage": stage,
            "why": why,
            "salience": round(salience, 3),
            "recalls": recalls,
            "last_access": _plain(last),
        }

    @operation("Explained", callers=ANY_CALLER)
    def why(
        self,
        id: Id,
        *,
        owner: bool = False,
    ) -> dict[str, Any]:
        """Explain where a memory comes from. Shows the turns behind it, its stage with
        the reason, and each change made to it.

        The decisions include refused ones. `stage_why` is the rule that gave `stage`; a
        memory that is neither active nor archived has none.
        """
        try:
            fact = self.index.catalog.find_fact(id)
        except NotFoundError:
            if found := self._said_alone(id, owner=owner):
                return found | {"turns": self._turns([id]), "decisions": []}
            raise
        if fact.status == "forgotten":
            return {
                "memory": without_text(fact),
                "forgotten": FORGOTTEN.format(fact.id),
                "turns": [],
                "decisions": self.decisions(fact),
            }

        source = self._source(fact)
        result: dict[str, Any] = {"memory": formatting.plain(fact)}
        worth = self._weight(fact, source["said_by"])["worth"]
        if worth["stage"]:
            result |= {"stage": worth["stage"], "stage_why": worth["why"]}
        result |= {"protected": self._protection(fact), **source}
        if fact.source and facts.was_reworded(fact):
            result["reworded"] = REWORDED
        return result | {
            "turns": self._turns(fact.turns),
            "decisions": self.decisions(fact),
        }

    def _said_alone(self, key: str, *, owner: bool) -> dict[str, Any] | None:
        """Return a turn that recall found as if it were a memory, or None.

        The id of a turn can be guessed, so only the owner's command line sees one that
        is private to a persona or highly sensitive (`E14`).
        """
        asks = ALL_PERSONAS if owner else None
        seen = [
            one.key
            for one in self.index.turns([key])
            if sees(asks, one.turn.private_to)
        ]
        for turn in self._turns(seen):
            as_memory = {
                "id": key,
                "category": "turn",
                "status": "active",
                "text": turn["text"],
                "created": turn["occurred_at"],
            }
            source = {name: turn[name] for name in ("said_by", "provenance", "trust")}
            return {"memory": as_memory, "usage": {}, "worth": {}, **source}
        return None

    def decisions(self, fact: Fact) -> list[dict[str, Any]]:
        """Return the rows of the action log on a memory, without forgotten words."""
        is_forgotten = fact.status == "forgotten"
        censored = _without_quote if is_forgotten else self._without_forgotten_quote
        rows = map(censored, self.vault.actions_of(fact.id))
        return [actions.checked_row(row) for row in rows]

    def _turns(self, keys: Iterable[str]) -> list[dict[str, Any]]:
        """Return the turns with these keys as JSON, without forgotten words."""
        policy = self.settings.policy.trust
        visible_units = map(self.index.visible, self.index.turns(keys))
        return [
            formatting.plain_turn(unit, policy)
            for unit in visible_units
            if isinstance(unit, FiledTurn)
        ]

    def _without_forgotten_quote(self, row: Mapping[str, object]) -> dict[str, object]:
        """Return a row of the action log, without its quotation if that was forgotten."""
        quote = str(row.get("quote") or "")
        if quote and self.index.tombstones.forgotten.hides(quote, Utterance()):
            return _without_quote(row)
        return dict(row)

    def _source(self, fact: Fact) -> dict[str, Any]:
        """Return the source of a memory, from its turns (rows D6, X27)."""
        policy = self.settings.policy.trust
        sources = formatting.provenance(self.index, [fact], policy)
        return formatting.attributed(sources[fact.id])

    def _protection(self, fact: Fact) -> str | None:
        """Return why no maintenance run ends or archives a memory, or None."""
        return lifecycle.protection(fact, self.note_writer.user_claim(fact))

    def _weight(self, fact: Fact, said_by: str) -> dict[str, Any]:
        """Return `usage`, the use of a memory, and `worth`, its weights and stage now.

        All values are computed; none is in the note (rows B4, C24, C30, D2).
        """
        policy, now = self.settings.policy, self.clock()
        feedback = self._feedback(now).get(fact.category, 0.0)
        usage, vitals, stage, why = self._stage(fact, said_by, now, feedback)
        source_trust = trust.trust(said_by, policy.trust)
        use = core_importance.importance_inputs(
            fact, usage, source_trust, decay.layer_of(fact), now
        )
        weights = asdict(vitals) | {
            "feedback": feedback,
            "importance": core_importance.composite_importance(use, policy.dedup),
        }
        worth = {name: round(value, 3) for name, value in weights.items()}
        return {
            "usage": {
                name: _plain(value)
                for name, value in asdict(usage).items()
                if value is not None
            },
            "worth": worth | {"stage": stage, "why": why},
        }

    def _feedback(self, now: datetime) -> dict[str, float]:
        """Return how recent actions rate the memories of each category (`C30`)."""
        if not self.vault.exists(ACTIONS):
            return {}
        return self.usage_tracker.feedback(self.vault.read(ACTIONS), now)

    def stages(self, facts: Sequence[Fact]) -> dict[str, str]:
        """Return the stages of memories by id, '' for those without one (`C24`)."""
        now = self.clock()
        feedback = self._feedback(now)
        sources = formatting.provenance(self.index, facts, self.settings.policy.trust)
        return {
            fact.id: self._stage(
                fact, sources[fact.id].said_by, now, feedback.get(fact.category, 0.0)
            )[2]
            for fact in facts
        }

    def _stage(
        self, fact: Fact, said_by: str, now: datetime, feedback: float
    ) -> tuple[Usage, Vitals, str, str]:
        """Return the use, the vitals and the stage of a memory, and why it has it."""
        policy, usage = self.settings.policy, self.usage_tracker.usage_of(fact.id)
        source_trust = trust.trust(said_by, policy.trust)
        vitals = decay.vitals(fact, usage, now, source_trust, policy, feedback)
        barred = trust.restriction("core", said_by)
        return usage, vitals, *lifecycle.stage(fact, usage, vitals, policy, barred)

    def _related(self, fact_id: str) -> list[dict[str, Any]]:
        """Return the edges of a memory with their present confidence (`C34`)."""
        now, policy = self.clock(), self.settings.policy.links
        edges = self.entity_writer.edges.at([fact_id])
        ends = [
            edge.target if edge.source == fact_id else edge.source for edge in edges
        ]
        units = self.index.units(ends)
        return [
            {
                "type": edge.type,
                "id": end,
                "text": unit.text,
                "confidence": round(graph.edge_confidence(edge, now, policy), 2),
            }
            for edge, end in zip(edges, ends, strict=True)
            if isinstance(unit := units.get(end), Fact) and unit.status != "forgotten"
        ]


def without_text(fact: Fact) -> dict[str, Any]:
    """Return a forgotten memory, without its statement."""
    plain = formatting.plain(fact)
    return {name: plain[name] for name in WITHOUT_TEXT if name in plain}


def _without_quote(row: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name != "quote"}


def _plain(value: object) -> object:
    """Return a time as ISO 8601 to the second; any other value unchanged."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return value
