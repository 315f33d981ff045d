"""The plan of a purge: memories, turns, parts of turns, and their traces (X12)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engram.core import purge
from engram.core.entities import entity_ref
from engram.core.language.equal_statements import are_equal
from engram.core.language.sentences import sentences
from engram.core.records import Fact, FiledTurn
from engram.errors import NotFoundError
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
"""Number of notes of each folder that are read for words of the format."""


@dataclass(slots=True)
class PurgePlan:
    """The content to delete: `facts`, and the new text of `turns` by key or None.

    None stands for a turn that is deleted as a whole. `words` are the deleted texts,
    `kept` the memories that lose a turn as evidence, `entity_notes` the deleted notes
    of people and things, `boxes` the names of boxes. `similar` are statements that stay
    although they resemble a deleted one.
    """

    facts: list[Fact] = field(default_factory=list)
    turns: dict[str, str | None] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    kept: list[Fact] = field(default_factory=list)
    entity_notes: set[str] = field(default_factory=set)
    boxes: set[str] = field(default_factory=set)
    similar: list[dict[str, str]] = field(default_factory=list)
    traces: Traces = field(default_factory=purge.Traces)

    def shown(self, most: int) -> dict[str, Any]:
        """Return the plan as JSON; at most `most` memories and turns with their words."""
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
            "similar": self.similar,
        }


class PurgePlanner:
    """Plans a purge; changes nothing."""

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
        """Return the plan for these memories and turns, a session and an entity.

        Raises NotFoundError if one of them does not exist.
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

    # -- named content -----------------------------------------------------------------

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
            normalized = f" {purge.normal(text)} "
            return any(f" {name} " in normalized for name in names)

        facts = {
            one.id: one
            for one in self._facts()
            if named(one.text) or any(purge.normal(link) in names for link in one.about)
        }
        turns = {one.key: one for one in self._turns() if named(one.turn.text)}
        return facts, turns

    # -- dependent content -------------------------------------------------------------

    def _closed(
        self,
        facts: dict[str, Fact],
        whole: dict[str, FiledTurn],
        entity: Entity | None,
    ) -> PurgePlan:
        for fact in list(facts.values()):
            facts |= {one.id: one for one in self._restating(fact)}
        facts |= self._supported_only_by(whole)
        facts |= self.retraction.derived_from(facts)
        plan = PurgePlan(facts=list(facts.values()))
        cut = self._sentences(plan.facts)
        for key, turn in whole.items():
            plan.turns[key] = None
            plan.words.append(turn.turn.text)
        for key, (turn, texts) in cut.items():
            if key not in plan.turns:
                self._cut_turn(plan, turn, texts)
        keys = set(plan.turns)
        plan.kept = [
            one
            for one in (self.index.catalog.facts(*keys) if keys else ())
            if one.id not in facts and {one.source, *one.also} & keys
        ]
        plan.similar = self.forgetting.similar(
            [one.text for one in plan.facts],
            self.clock(),
            frozenset(one.id for one in plan.facts) | keys,
        )
        self._add_traces(plan, entity)
        return plan

    def _restating(self, fact: Fact) -> list[Fact]:
        """Return the other memories with the same statement."""
        return [
            unit
            for unit in self._near(fact.text)
            if isinstance(unit, Fact)
            and unit.id != fact.id
            and are_equal(unit.text, fact.text)
        ]

    def _near(self, text: str) -> list[Fact | FiledTurn]:
        return self.forgetting.near(text, self.clock(), EVERY_STATUS)

    def _supported_only_by(self, turns: dict[str, FiledTurn]) -> dict[str, Fact]:
        """Return the memories whose only evidence are these turns."""
        found = self.index.catalog.facts(*turns) if turns else ()
        return {
            one.id: one
            for one in found
            if (sources := {one.source, *one.also} - {""}) and sources <= turns.keys()
        }

    def _sentences(self, facts: list[Fact]) -> dict[str, tuple[FiledTurn, set[str]]]:
        """Return the turns that state these facts, by key, with the stating sentences."""
        found: dict[str, tuple[FiledTurn, set[str]]] = {}
        for fact in facts:
            evidence = self.forgetting.evidence(fact)
            wordings = [fact.text, *self.forgetting.wordings(fact)]
            near = (*self.index.units(evidence.turns).values(), *self._near(fact.text))
            for turn in (unit for unit in near if isinstance(unit, FiledTurn)):
                stating = [
                    one
                    for one in _sentences_of(turn.turn.text)
                    if any(are_equal(text, one) for text in wordings)
                ]
                if turn.key in evidence.turns:
                    stating = self.forgetting.stating(fact, turn, evidence.quotes)
                if stating:
                    found.setdefault(turn.key, (turn, set()))[1].update(stating)
        return found

    def _cut_turn(self, plan: PurgePlan, turn: FiledTurn, texts: set[str]) -> None:
        remaining = turn.turn.text
        for text in sorted(texts, key=len, reverse=True):
            remaining = remaining.replace(text, "")
        remaining = "\n".join(
            " ".join(line.split()) for line in remaining.splitlines()
        ).strip()
        plan.turns[turn.key] = remaining or None
        plan.words += [turn.turn.text] if not remaining else sorted(texts)

    # -- traces ------------------------------------------------------------------------

    def _add_traces(self, plan: PurgePlan, entity: Entity | None) -> None:
        remaining, linked = self._remaining_texts(plan)
        entities = self._unnamed_entities(plan, entity, remaining, linked)
        plan.entity_notes = {one.path for one in entities}
        names = {name for one in entities for name in (one.name, *one.aliases)}
        stems = {one.path.rpartition("/")[2].removesuffix(".md") for one in plan.facts}
        ids = {one.id for one in plan.facts}
        ids |= {key for key, text in plan.turns.items() if text is None}
        texts = [one.text for one in plan.facts] + plan.words
        remaining += self._vocabulary()
        plan.traces = purge.traces(texts, stems, ids, names, remaining)
        boxes = self._emptied_boxes(plan.traces)
        plan.boxes = set(boxes.values())
        plan.traces = replace(plan.traces, ids=frozenset({*plan.traces.ids, *boxes}))

    def _remaining_texts(self, plan: PurgePlan) -> tuple[list[str], set[str]]:
        """Return the remaining texts, and the names that remaining memories are about."""
        deleted = {one.id for one in plan.facts}
        texts: list[str] = []
        linked: set[str] = set()
        for unit in self._units():
            if isinstance(unit, FiledTurn):
                texts.append(plan.turns.get(unit.key, unit.turn.text) or "")
            elif not isinstance(unit, Fact):
                texts.append(unit.text)
            elif unit.id not in deleted:
                texts.append(unit.text)
                linked |= set(unit.about)
        return texts, linked

    def _unnamed_entities(
        self,
        plan: PurgePlan,
        entity: Entity | None,
        remaining: list[str],
        linked: set[str],
    ) -> list[Entity]:
        """Return the entities that no remaining text names."""
        names = {link for one in plan.facts for link in one.about} - linked
        if entity:
            names |= {entity.name, *entity.aliases}
        known = (self.entity_writer.names.one(name) for name in names)
        found = [one for one in known if one and not self._is_named(one, remaining)]
        return found + self._only_linked(found, linked, remaining)

    def _only_linked(
        self, deleted: list[Entity], linked: set[str], kept: list[str]
    ) -> list[Entity]:
        """Return the places and things that are linked only with deleted entities."""
        names = self.entity_writer.names
        refs = {entity_ref(one.type, one.name) for one in deleted}
        edges = self.entity_writer.edges.at(refs)
        ends = {end for edge in edges for end in (edge.source, edge.target)} - refs
        return [
            one
            for one in names.all()
            if entity_ref(one.type, one.name) in ends
            and not one.has_user_text
            and one != names.owner()
            and one.name not in linked
            and not self._is_named(one, kept)
        ]

    def _is_named(self, entity: Entity, kept: list[str]) -> bool:
        """Return whether one of the remaining texts names the entity."""
        names = {purge.normal(one) for one in (entity.name, *entity.aliases)}
        return any(
            f" {name} " in f" {purge.normal(text)} " for text in kept for name in names
        )

    def _emptied_boxes(self, found: Traces) -> dict[str, str]:
        """Return the id and name of boxes that lose all memories, or have a trace."""
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
        """Return the words of the format and of the template, which are not traces."""
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


def _sentences_of(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]
