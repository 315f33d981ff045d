"""Generated text: the memories it may use, the question, and the blocks it fills.

It uses public, first-hand memories: none of one persona alone, none that maintenance
concluded. `state/portraits.json` records the sources of each block, so that a block is
generated again only when they changed.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from engram.core import lifecycle, trust
from engram.core.entities import EntityNames
from engram.core.records import BlockEdit, Line
from engram.maintenance.passes import FileWrite, ModelQuestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.core.records import Fact, Page
    from engram.maintenance.passes import MemoryState, PassView, Step

STATE = "state/portraits.json"


def public_memories(view: PassView, now: datetime) -> list[MemoryState]:
    """The memories that something may be told from, oldest first."""

    def found() -> list[MemoryState]:
        told = (
            one
            for one in view.active()
            if one.fact.persona is None
            and one.fact.origin not in trust.DERIVED_ORIGINS
            and not lifecycle.hidden_reason(one.fact, now)
        )
        return sorted(told, key=lambda one: one.fact.id)

    return view.once(public_memories, found, view.memories)


def memories_by_entity(view: PassView, now: datetime) -> dict[str, list[MemoryState]]:
    """The memories about each entity that something may be told from, by the path of
    its note, oldest first.
    """
    return view.once(
        memories_by_entity,
        lambda: _group_by_entity(view, public_memories(view, now)),
        view.memories,
        _name_table(view),
    )


def _name_table(view: PassView) -> dict[str, tuple[object, ...]]:
    """By the paths of their notes, what entities are called."""
    return {path: (one.name, one.aliases) for path, one in view.entities.items()}


def entity_names(view: PassView) -> EntityNames:
    """Who goes by which name."""

    def found() -> EntityNames:
        known = EntityNames()
        for path, entity in view.entities.items():
            known.put(path, entity)
        return known

    return view.once(entity_names, found, view.entities)


def _group_by_entity(
    view: PassView, memories: Iterable[MemoryState]
) -> dict[str, list[MemoryState]]:
    called = cache(entity_names(view).one)
    found: defaultdict[str, list[MemoryState]] = defaultdict(list)
    for one in memories:
        named = (called(name) for name in one.fact.about)
        for path in dict.fromkeys(entity.path for entity in named if entity):
            found[path].append(one)
    return dict(found)


def link_name(fact: Fact) -> str:
    """The name by which a link leads to the memory."""
    return fact.path.rpartition("/")[2].removesuffix(".md")


def line_of(view: PassView, fact: Fact) -> Line:
    """The memory as a line of its own, with its source class where that is not the
    user.
    """
    return Line(
        trust.with_source_label(" ".join(fact.text.split()), view.reader.said_by(fact)),
        (link_name(fact),),
    )


def by_weight(one: MemoryState) -> tuple[Any, ...]:
    """What tells most comes first: pinned, important, new."""
    created = one.fact.created.timestamp() if one.fact.created else 0.0
    return (not one.fact.pinned, -one.fact.importance, -created, one.fact.id)


def local_date(view: PassView, when: datetime | None) -> str:
    """The local date, '' for none."""
    return f"{when.astimezone(view.zone):%Y-%m-%d}" if when else ""


def numbered(
    view: PassView, facts: Sequence[Fact], first: int = 1
) -> list[dict[str, Any]]:
    """Memories as a question shows them; who said one is told where it was not the
    user.
    """
    rows = []
    for n, fact in enumerate(facts, first):
        said_by = view.reader.said_by(fact)
        others = {} if said_by == "user" else {"said_by": said_by}
        rows.append(
            {"n": n, "date": local_date(view, fact.created), "text": fact.text} | others
        )
    return rows


def question_of(task: str, material: Mapping[str, Any], why: str) -> ModelQuestion:
    """A question whose material is the same text for the same memories."""
    return ModelQuestion(
        task, json.dumps(material, ensure_ascii=False, sort_keys=True), why
    )


def sentences(
    answer: Mapping[str, Any], sources: Sequence[Sequence[str]]
) -> tuple[Line, ...]:
    """The lines of an answer; `sources` are the names of the notes behind each numbered
    statement.
    """
    return tuple(
        Line(
            one["text"],
            tuple(dict.fromkeys(name for n in one["facts"] for name in sources[n - 1])),
        )
        for one in answer.get("sentences", ())
    )


def dropped_note(answer: Mapping[str, Any]) -> str:
    """What of an answer was not believed, in words."""
    count = sum(answer.get("dropped", {}).values())
    return f", {count} sentences of the model without ground dropped" if count else ""


@dataclass
class GeneratedText:
    """The blocks that one pass tells at one moment, and what is kept of how they were
    made.
    """

    view: PassView
    now: datetime
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        try:
            known = json.loads(self.view.read(STATE) or b"{}")
        except ValueError:
            known = {}
        self.known: dict[str, dict[str, Any]] = {
            name: row
            for name, row in (known.items() if isinstance(known, dict) else ())
            if isinstance(row, dict)
        }
        self._before = dict(self.known)

    def made_now(self, block: str) -> int:
        """How many blocks of this name were made at this very moment, by an earlier
        look of the same run.
        """
        at = self.now.isoformat()
        return sum(
            name.endswith(f"#{block}") and row.get("at") == at
            for name, row in self.known.items()
        )

    def tell(
        self,
        change: BlockEdit,
        block: str,
        ask: ModelQuestion,
        sources: Sequence[Sequence[str]],
    ) -> bool:
        """Have this block of a page say what the model answers to `ask`; whether there
        is anything to do.

        What cannot be had from a model leaves what stands there.
        """
        page = self.view.page(change.path)
        have = page.blocks.get(block, ()) if page else ()
        name = f"{change.path}#{block}"
        if self.known.get(name, {}).get("from") == _digest(ask, have):
            return False
        answer = self.view.answers.get(ask.key)
        if answer is None:
            self.steps.append(ask)
            return True
        lines = self._marked(sentences(answer, sources)) or have
        if lines != have:
            why = change.why + dropped_note(answer)
            self.steps.append(
                BlockEdit(
                    change.path, why, change.keys, {block: lines}, title=change.title
                )
            )
        self.known[name] = {"from": _digest(ask, lines), "at": self.now.isoformat()}
        return True

    def _marked(self, lines: Iterable[Line]) -> tuple[Line, ...]:
        """The lines, each with the least trusted source class it rests on where that is
        not the user.
        """
        facts = {link_name(one.fact): one.fact for one in self.view.memories.values()}
        found = []
        for one in lines:
            classes = [
                self.view.reader.said_by(facts[name])
                for name in one.sources
                if name in facts
            ]
            least = max(classes, key=trust.SOURCE_CLASSES.index, default="user")
            found.append(replace(one, text=trust.with_source_label(one.text, least)))
        return tuple(found)

    def show(self, change: BlockEdit, page: Page | None) -> None:
        """Have blocks and keys of a page be as in `change`, if they are not."""
        blocks = {
            name: lines
            for name, lines in change.blocks.items()
            if lines != (page.blocks if page else {}).get(name, ())
        }
        held = page.keys if page else {}
        keys = {
            key: value for key, value in change.keys.items() if held.get(key) != value
        }
        if blocks or (keys and page):
            keys = dict(change.keys) if page is None else keys
            self.steps.append(
                BlockEdit(change.path, change.why, keys, blocks, title=change.title)
            )

    def done(self) -> list[Step]:
        """All that is to be done."""
        gone = [
            name
            for name in self.known
            if name.startswith("entities/")
            and name.partition("#")[0] not in self.view.entities
        ]
        rows = {
            name: row for name, row in sorted(self.known.items()) if name not in gone
        }
        if rows != self._before:
            text = json.dumps(rows, ensure_ascii=False, indent=1)
            self.steps.append(
                FileWrite(STATE, f"{text}\n".encode(), "what was told from what")
            )
        return self.steps


def _digest(ask: ModelQuestion, lines: Sequence[Line]) -> str:
    """What tells a block and what it was made from apart from any other."""
    held = json.dumps([[one.text, list(one.sources)] for one in lines])
    return hashlib.sha256(f"{ask.key}\n{held}".encode()).hexdigest()[:16]
