"""What a purge removes: memories, turns or sentences of them, and their traces (X12)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engram.core import purge, ranking
from engram.core.entities import entity_ref
from engram.core.language.paraphrase import fingerprints, restates
from engram.core.language.sentences import sentences
from engram.core.records import Fact, FiledTurn
from engram.core.text import content_hash
from engram.errors import NotFoundError
from engram.index.filters import SearchFilter
from engram.pipeline.forgetting import POOL
from engram.vault import template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from engram.core.purge import Traces
    from engram.core.records import Entity
    from engram.index.database import Unit
    from engram.pipeline.reconcile import Reconciler

EVERY_STATUS = (
    "active",
    "archived",
    "superseded",
    "invalidated",
    "pruned",
    "forgotten",
    "review",
)

SAMPLE = 50
"""How many notes of each folder are read for words of the format."""


@dataclass(slots=True)
class PurgePlan:
    """What goes: `facts`, and by key the new text of `turns`, None for a whole one.

    `said` are the words that go, `kept` the memories that lose a turn as evidence,
    `entity_notes` the notes of people and things that go, `boxes` the names of boxes.
    """

    facts: list[Fact] = field(default_factory=list)
    turns: dict[str, str | None] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    kept: list[Fact] = field(default_factory=list)
    entity_notes: set[str] = field(default_factory=set)
    boxes: set[str] = field(default_factory=set)
    traces: Traces = field(default_factory=purge.Traces)

    def shown(self, most: int) -> dict[str, Any]:
        """Return the plan as JSON; at most `most` memories and turns by their words."""
        facts = [{"id": one.id, "text": one.text} for one in self.facts[:most]]
        turns = [
            {"id": key, "left": text or ""}
            for key, text in list(self.turns.items())[:most]
        ]
        return {
            "memories": facts,
            "turns": turns,
            "memory_count": len(self.facts),
            "turn_count": len(self.turns),
            "stay": [{"id": one.id, "text": one.text} for one in self.kept[:most]],
        }


class PurgePlanner:
    """Finds what a purge removes; changes nothing."""

    def __init__(self, reconciler: Reconciler, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.forgetting = reconciler.forgetting
        self.retraction = reconciler.turn_edits.retraction
        self.entity_writer = reconciler.entity_writer
        self.index = reconciler.index
        self.vault = reconciler.vault

    def plan(
        self, ids: Iterable[str], session: str | None, about: str | None
    ) -> PurgePlan:
        """Return what goes with these memories and turns, a session and a person.

        Raises NotFoundError where something that is named does not exist.
        """
        facts: dict[str, Fact] = {}
        whole: dict[str, FiledTurn] = {}
        for name in ids:
            unit = self.index.find(name)
            if isinstance(unit, Fact):
                facts[unit.id] = unit
            else:
                whole[unit.key] = unit
        if session:
            whole |= self._of_session(session)
        entity = self._entity(about) if about else None
        if entity:
            found_facts, found_turns = self._about(entity)
            facts |= found_facts
            whole |= found_turns
        return self._closed(facts, whole, entity)

    # -- what is named -----------------------------------------------------------------

    def _of_session(self, session: str) -> dict[str, FiledTurn]:
        turns = {one.key: one for one in self._turns() if one.turn.session == session}
        if not turns:
            raise NotFoundError(
                "there is no such conversation",
                where=session,
                fix="`engram sessions` lists them.",
            )
        return turns

    def _entity(self, name: str) -> Entity:
        entity = self.entity_writer.names.one(name)
        if entity is None or self.entity_writer.names.is_owner(name):
            raise NotFoundError(
                "no person, place or thing has this name",
                where=name,
                fix="`engram entities` lists them.",
            )
        return entity

    def _about(self, entity: Entity) -> tuple[dict[str, Fact], dict[str, FiledTurn]]:
        names = {purge.normal(one) for one in (entity.name, *entity.aliases)} - {""}

        def named(text: str) -> bool:
            said = f" {purge.normal(text)} "
            return any(f" {name} " in said for name in names)

        facts = {
            one.id: one
            for one in self._facts()
            if named(one.text) or any(purge.normal(link) in names for link in one.about)
        }
        turns = {one.key: one for one in self._turns() if named(one.turn.text)}
        return facts, turns

    # -- what goes along ---------------------------------------------------------------

    def _closed(
        self,
        facts: dict[str, Fact],
        whole: dict[str, FiledTurn],
        entity: Entity | None,
    ) -> PurgePlan:
        for fact in list(facts.values()):
            facts |= {one.id: one for one in self._restating(fact)}
        facts |= self._resting_on(whole)
        facts |= self.retraction.derived_from(facts)
        plan = PurgePlan(facts=list(facts.values()))
        cut = self._sentences(plan.facts)
        for key, turn in whole.items():
            plan.turns[key] = None
            plan.said.append(turn.turn.text)
        for key, (turn, texts) in cut.items():
            if key not in plan.turns:
                self._cut_turn(plan, turn, texts)
        self._cut_replies(plan)
        keys = set(plan.turns)
        plan.kept = [
            one
            for one in (self.index.catalog.facts(*keys) if keys else ())
            if one.id not in facts and {one.source, *one.also} & keys
        ]
        self._add_traces(plan, entity)
        return plan

    def _restating(self, fact: Fact) -> Iterator[Fact]:
        """Yield the other memories that say the same."""
        prints = fingerprints(fact.text)
        for unit in self._pool(fact.text):
            if isinstance(unit, Fact) and unit.id != fact.id:
                equal = content_hash(unit.text) == content_hash(fact.text)
                if equal or any(restates(one, unit.text) for one in prints):
                    yield unit

    def _pool(self, text: str) -> list[Unit]:
        """Return the memories and turns that share most words with `text`."""
        question = ranking.parse_question(text, self.clock())
        filters = (
            SearchFilter(("fact",), EVERY_STATUS, persona=None),
            SearchFilter(("turn",), persona=None),
        )
        keys = [
            hit.key
            for where in filters
            for hit in self.index.lexical.search(question, where, POOL).hits
        ]
        return list(self.index.units(keys).values())

    def _resting_on(self, turns: dict[str, FiledTurn]) -> dict[str, Fact]:
        """Return the memories whose only evidence are these turns."""
        found = self.index.catalog.facts(*turns) if turns else ()
        return {
            one.id: one
            for one in found
            if (sources := {one.source, *one.also} - {""}) and sources <= turns.keys()
        }

    def _sentences(self, facts: list[Fact]) -> dict[str, tuple[FiledTurn, set[str]]]:
        """Return by key the turns that say these facts, with the sentences that do."""
        found: dict[str, tuple[FiledTurn, set[str]]] = {}
        ids = {one.id for one in facts}
        for fact in facts:
            grounds = self.forgetting.evidence(fact)
            prints = fingerprints(fact.text)
            units = self.index.units(grounds.turns)
            units |= {
                one.key: one
                for one in self._pool(fact.text)
                if isinstance(one, FiledTurn)
            }
            for key, unit in units.items():
                if not isinstance(unit, FiledTurn):
                    continue
                own = key in grounds.turns
                said = {
                    text
                    for text in _sentences_of(unit.turn.text)
                    if any(restates(one, text) for one in prints)
                    or (own and any(q in text or text in q for q in grounds.quotes))
                }
                if own and (not said or not self._others(key, ids)):
                    said = set(_sentences_of(unit.turn.text))
                if said:
                    before = found.setdefault(key, (unit, set()))
                    before[1].update(said)
        return found

    def _others(self, key: str, without: set[str]) -> bool:
        """Whether a memory that stays rests on this turn."""
        return any(
            one.id not in without and key in {one.source, *one.also}
            for one in self.index.catalog.facts(key)
        )

    def _cut_turn(self, plan: PurgePlan, turn: FiledTurn, texts: set[str]) -> None:
        left = turn.turn.text
        for text in sorted(texts, key=len, reverse=True):
            left = left.replace(text, "")
        left = "\n".join(" ".join(line.split()) for line in left.splitlines()).strip()
        plan.turns[turn.key] = left or None
        plan.said += [turn.turn.text] if not left else sorted(texts)

    def _cut_replies(self, plan: PurgePlan) -> None:
        """Cut the sentences of assistants that repeat words which only went.

        They are looked for in the conversations of the turns that go.
        """
        talks = {key.partition("#")[0] for key in plan.turns}
        words = set().union(
            *(purge.words_of(one.text) for one in plan.facts),
            *(purge.words_of(text) for text in plan.said),
        )
        replies = []
        for unit in self._units():
            if not isinstance(unit, FiledTurn):
                stays = "" if _goes(unit, plan) else unit.text
            elif unit.turn.role != "user" and unit.note in talks:
                replies.append(unit)
                continue
            else:
                stays = "" if _goes(unit, plan) else unit.turn.text
            words -= set(purge.normal(stays).split())
        for reply in replies:
            said = {
                text
                for text in _sentences_of(reply.turn.text)
                if words & set(purge.normal(text).split())
            }
            if said and reply.key not in plan.turns:
                self._cut_turn(plan, reply, said)

    # -- traces ------------------------------------------------------------------------

    def _add_traces(self, plan: PurgePlan, entity: Entity | None) -> None:
        gone = {one.id for one in plan.facts}
        about = {link for one in plan.facts for link in one.about}
        kept: list[str] = []
        linked: set[str] = set()
        for unit in self._units():
            if isinstance(unit, FiledTurn):
                text = plan.turns.get(unit.key, unit.turn.text) or ""
                kept.append(text)
            elif isinstance(unit, Fact):
                if unit.id not in gone:
                    kept.append(unit.text)
                    linked |= set(unit.about)
            else:
                kept.append(unit.text)
        lonely = about - linked
        if entity:
            lonely |= {entity.name, *entity.aliases}
        entities = [
            one
            for name in lonely
            if (one := self.entity_writer.names.one(name))
            and not self._is_named(one, kept)
        ]
        entities += self._only_linked(entities, linked, kept)
        plan.entity_notes = {one.path for one in entities}
        names = {name for one in entities for name in (one.name, *one.aliases)}
        stems = {one.path.rpartition("/")[2].removesuffix(".md") for one in plan.facts}
        ids = gone | {key for key, text in plan.turns.items() if text is None}
        kept += self._vocabulary()
        texts = [one.text for one in plan.facts] + plan.said
        plan.traces = purge.traces(texts, stems, ids, names, kept)
        boxes = self._emptied_boxes(plan.traces)
        plan.boxes = set(boxes.values())
        plan.traces = replace(plan.traces, ids=frozenset({*plan.traces.ids, *boxes}))

    def _only_linked(
        self, gone: list[Entity], linked: set[str], kept: list[str]
    ) -> list[Entity]:
        """Return the places and things that only those who go are linked with."""
        names = self.entity_writer.names
        refs = {entity_ref(one.type, one.name) for one in gone}
        edges = self.entity_writer.edges.at(refs)
        ends = {end for edge in edges for end in (edge.source, edge.target)} - refs
        return [
            one
            for one in names.all()
            if entity_ref(one.type, one.name) in ends
            and not one.theirs
            and one != names.owner()
            and one.name not in linked
            and not self._is_named(one, kept)
        ]

    def _is_named(self, entity: Entity, kept: list[str]) -> bool:
        """Whether something that stays names the entity."""
        names = {purge.normal(one) for one in (entity.name, *entity.aliases)}
        return any(
            f" {name} " in f" {purge.normal(text)} " for text in kept for name in names
        )

    def _emptied_boxes(self, found: Traces) -> dict[str, str]:
        """Return id and name of the boxes that lose all memories, or have a trace."""
        boxes: dict[str, str] = {}
        for path in self.vault.notes("boxes"):
            stem = path.rpartition("/")[2].removesuffix(".md")
            text = self.vault.read(path).decode("utf-8", "replace")
            links = [one for one in text.split("\n") if one.startswith("- [[")]
            emptied = links and all(found.in_text(one) for one in links)
            if emptied or found.is_gone(stem) or found.in_text(stem):
                line = next((one for one in text.split("\n") if one[:4] == "id: "), "")
                boxes[line.removeprefix("id: ") or stem] = stem
        return boxes

    def _vocabulary(self) -> list[str]:
        """Return the words of the format and of the template, which are no traces."""
        template_files = sorted(template.template_folder().rglob("*"))
        logs = sorted((self.vault.root / "state").glob("*.jsonl"))
        found = [
            file.read_text("utf-8", "replace")
            for file in template_files
            if file.is_file()
        ]
        found += [purge.vocabulary(file.name, file.read_bytes()) for file in logs]
        notes = (
            path
            for folder in ("facts", "boxes", "entities", "sessions")
            for path in self.vault.notes(folder)[:SAMPLE]
        )
        found += [purge.vocabulary(path, self.vault.read(path)) for path in notes]
        return found

    def _units(self) -> Iterator[Unit]:
        yield from self.index.catalog.all_units()
        yield from self.index.waiting()

    def _facts(self) -> Iterator[Fact]:
        return (one for one in self._units() if isinstance(one, Fact))

    def _turns(self) -> Iterator[FiledTurn]:
        return (one for one in self._units() if isinstance(one, FiledTurn))


def _goes(unit: Unit, plan: PurgePlan) -> bool:
    if isinstance(unit, FiledTurn):
        return unit.key in plan.turns
    return isinstance(unit, Fact) and any(one.id == unit.id for one in plan.facts)


def _sentences_of(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]
