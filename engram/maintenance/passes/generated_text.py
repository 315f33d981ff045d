"""Generated text: the memories it may use, the question, and the blocks it fills.

It uses public, first-hand memories: none of a single persona, and no conclusions of
maintenance. `state/generated.json` records the sources of each block, so that a block
is generated again only if they changed.
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
from engram.core.language.dates import named_dates
from engram.core.reading import with_named_dates
from engram.core.records import BlockEdit, Fact, Line, Page
from engram.core.text import note_name
from engram.core.user_facts import Owner, attribute_of
from engram.maintenance.passes.view import (
    FileWrite,
    MemoryState,
    ModelQuestion,
    PassView,
    Step,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

STATE = "state/generated.json"
_FORMER_STATE = "state/portraits.json"


def public_memories(view: PassView, now: datetime) -> list[MemoryState]:
    """Return the memories that generated text may use, oldest first.

    What imports and tools say is left out (`X27`).
    """

    def public() -> list[MemoryState]:
        usable = (
            one
            for one in view.active()
            if one.fact.persona is None  # neither private nor highly sensitive
            and one.fact.origin not in trust.DERIVED_ORIGINS
            and not lifecycle.hidden_reason(one.fact, now)
            and view.reader.said_by(one.fact) not in trust.EXTERNAL
        )
        return sorted(usable, key=lambda one: one.fact.id)

    return view.once(public_memories, public, view.memories)


def memories_by_entity(view: PassView, now: datetime) -> dict[str, list[MemoryState]]:
    """Return the public memories about each entity, oldest first.

    The keys are the paths of the entity notes.
    """
    return view.once(
        memories_by_entity,
        lambda: _group_by_entity(view, public_memories(view, now)),
        view.memories,
        {path: (one.name, one.aliases) for path, one in view.entities.items()},
    )


def entity_names(view: PassView) -> EntityNames:
    """Return the table from names to entities."""

    def table() -> EntityNames:
        names = EntityNames(view.owner)
        for path, entity in view.entities.items():
            names.put(path, entity)
        return names

    return view.once(entity_names, table, view.entities)


def name_words(view: PassView) -> frozenset[str]:
    """Return the folded words of the owner's names."""
    return entity_names(view).owner_words()


def attributes(view: PassView) -> Callable[[Fact], str]:
    """Return a function from a memory to its attribute of the user (`attribute_of`)."""
    owner = Owner(entity_names(view).is_owner, name_words(view))
    return lambda fact: attribute_of(fact, owner, view.reader.slots(fact))


def is_about_owner(view: PassView, fact: Fact) -> bool:
    """Return whether a memory is about the owner and no other entity."""
    return all(map(entity_names(view).is_owner, fact.about))


def _group_by_entity(
    view: PassView, memories: Iterable[MemoryState]
) -> dict[str, list[MemoryState]]:
    names = entity_names(view)
    entity_by_name, is_owner = cache(names.one), cache(names.is_owner)
    groups: defaultdict[str, list[MemoryState]] = defaultdict(list)
    for one in memories:
        # facts about the owner are in the profile
        named = (entity_by_name(name) for name in one.fact.about if not is_owner(name))
        for path in dict.fromkeys(entity.path for entity in named if entity):
            groups[path].append(one)
    return dict(groups)


def line_of(view: PassView, fact: Fact) -> Line:
    """Return the memory as one line, labelled unless its source is the user.

    Words for a time are followed by their dates.
    """
    text = dated(view, " ".join(fact.text.split()), fact.created)
    labelled = trust.with_source_label(text, view.reader.said_by(fact))
    return Line(labelled, (note_name(fact.path),))


def by_weight(one: MemoryState) -> tuple[Any, ...]:
    """Return the sort key by importance: pinned first, then important, then new."""
    created = one.fact.created.timestamp() if one.fact.created else 0.0
    return (not one.fact.pinned, -one.fact.importance, -created, one.fact.id)


def by_date(fact: Fact) -> tuple[float, str]:
    """Return the sort key by time, oldest first."""
    return (fact.created.timestamp() if fact.created else 0.0, fact.id)


def local_date(view: PassView, when: datetime | None) -> str:
    """Return the local date, or '' for None."""
    return f"{when.astimezone(view.zone):%Y-%m-%d}" if when else ""


def dated(view: PassView, text: str, said_at: datetime | None) -> str:
    """Return `text` with dates after words for a time, relative to `said_at`."""
    if said_at is None:
        return text
    return with_named_dates(text, named_dates(text, said_at.astimezone(view.zone)))


def numbered(
    view: PassView, facts: Sequence[Fact], first: int = 1
) -> list[dict[str, Any]]:
    """Return memories as rows for a question, numbered from `first`.

    Words for a time are followed by their dates. A row has the source class if the
    source is not the user.
    """
    rows = []
    for n, fact in enumerate(facts, first):
        said_by = view.reader.said_by(fact)
        others = {} if said_by == "user" else {"said_by": said_by}
        text = dated(view, fact.text, fact.created)
        date = local_date(view, fact.created)
        rows.append({"n": n, "date": date, "text": text} | others)
    return rows


def sentences(
    answer: Mapping[str, Any], sources: Sequence[Sequence[str]]
) -> tuple[Line, ...]:
    """Return the lines of an answer, each with its source notes.

    `sources` has the names of the notes behind each numbered statement.
    """
    lines: list[Line] = []
    for one in answer.get("sentences", ()):
        names = (name for number in one["facts"] for name in sources[number - 1])
        lines.append(Line(one["text"], tuple(dict.fromkeys(names))))
    return tuple(lines)


def dropped_note(answer: Mapping[str, Any]) -> str:
    """Return the number of dropped sentences of an answer, in words, or ''."""
    count = sum(answer.get("dropped", {}).values())
    return f", {count} unsupported sentences of the model dropped" if count else ""


@dataclass
class GeneratedText:
    """The blocks that one pass generates, and the record of their sources.

    `steps` are the questions and edits so far; `known` is the record by `path#block`.
    """

    view: PassView
    now: datetime
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        try:
            stored = json.loads(
                self.view.read(STATE) or self.view.read(_FORMER_STATE) or b"{}"
            )
        except ValueError:
            stored = {}
        rows = stored.items() if isinstance(stored, dict) else ()
        self.known: dict[str, dict[str, Any]] = {
            name: row for name, row in rows if isinstance(row, dict)
        }
        self._before = dict(self.known)

    def made_now(self, block: str) -> int:
        """Return the number of blocks of this name from earlier rounds of the run."""
        at = self.now.isoformat()
        return sum(
            name.endswith(f"#{block}") and row.get("at") == at
            for name, row in self.known.items()
        )

    def tell(
        self,
        path: str,
        block: str,
        task: str,
        facts: Sequence[Fact],
        about: Mapping[str, object],
        *,
        rewritten: bool = False,
    ) -> bool:
        """Fill a block with sentences on memories (`generate`); `about` names the rest."""
        material = {**about, "facts": numbered(self.view, facts)}
        why = f"{len(facts)} memories of {about['name']}"
        ask = ModelQuestion.about(task, material, why)
        change = BlockEdit(path, f"generated from {len(facts)} memories")
        sources = [(note_name(fact.path),) for fact in facts]
        return self.generate(change, block, ask, sources, rewritten=rewritten)

    def generate(
        self,
        change: BlockEdit,
        block: str,
        ask: ModelQuestion,
        sources: Sequence[Sequence[str]],
        *,
        rewritten: bool = False,
    ) -> bool:
        """Fill a block with the answer to `ask`, or ask; False if it is up to date.

        `change` names the page, and `sources` the notes behind each statement. Without
        sentences in the answer the block stays as it is. With `rewritten` the model is
        given the present sentences of the block (`B11`).
        """
        page = self.view.page(change.path)
        have = page.blocks.get(block, ()) if page else ()
        name = f"{change.path}#{block}"
        if self.known.get(name, {}).get("from") == _digest(ask, have):
            return False
        asked = self._with_text(ask, have) if rewritten else ask
        answers = self.view.answers
        answer = answers.get(ask.key, answers.get(asked.key))
        if answer is None:
            self.steps.append(asked)
            return True
        lines = self._labelled(sentences(answer, sources)) or have
        if lines != have:
            why = change.why + dropped_note(answer)
            self.steps.append(replace(change, why=why, blocks={block: lines}))
        self.known[name] = {"from": _digest(ask, lines), "at": self.now.isoformat()}
        return True

    def _with_text(self, ask: ModelQuestion, lines: Iterable[Line]) -> ModelQuestion:
        """Return the question with those sentences whose sources may still be used."""
        usable = {
            note_name(one.fact.path) for one in public_memories(self.view, self.now)
        }
        remaining = [
            one.text for one in lines if one.sources and usable.issuperset(one.sources)
        ]
        if not remaining:
            return ask
        material = json.loads(ask.material) | {"before": remaining}
        return ModelQuestion.about(ask.task, material, ask.why)

    def _labelled(self, lines: Iterable[Line]) -> tuple[Line, ...]:
        """Return the lines, each labelled with the least trusted class of its sources.

        A line has no label if all its sources are the user's. Words for a time are
        followed by their dates if all sources are of one day.
        """
        facts = {
            note_name(one.fact.path): one.fact for one in self.view.memories.values()
        }
        labelled: list[Line] = []
        for one in lines:
            behind = [facts[name] for name in one.sources if name in facts]
            classes = [self.view.reader.said_by(fact) for fact in behind]
            least = max(classes, key=trust.SOURCE_CLASSES.index, default="user")
            days = {local_date(self.view, fact.created) for fact in behind}
            said_at = behind[0].created if len(days) == 1 else None
            text = dated(self.view, one.text, said_at)
            text = trust.with_source_label(text, least)
            labelled.append(replace(one, text=text))
        return tuple(labelled)

    def show(self, change: BlockEdit, page: Page | None) -> None:
        """Set the blocks and keys of a page to those of `change` where they differ."""
        blocks_before = page.blocks if page else {}
        blocks = {
            name: lines
            for name, lines in change.blocks.items()
            if lines != blocks_before.get(name, ())
        }
        keys_before = page.keys if page else {}
        keys = {
            key: value
            for key, value in change.keys.items()
            if keys_before.get(key) != value
        }
        if blocks or (keys and page):
            keys = dict(change.keys) if page is None else keys
            self.steps.append(replace(change, keys=keys, blocks=blocks))

    def finish(self) -> list[Step]:
        """Return all steps, and the record of sources if it changed.

        Rows about deleted entity notes are dropped from the record.
        """
        rows = {
            name: row
            for name, row in sorted(self.known.items())
            if not name.startswith("entities/")
            or name.partition("#")[0] in self.view.entities
        }
        if rows != self._before:
            text = json.dumps(rows, ensure_ascii=False, indent=1)
            why = "the sources of generated text"
            self.steps.append(FileWrite(STATE, f"{text}\n".encode(), why))
        return self.steps


def _digest(ask: ModelQuestion, lines: Sequence[Line]) -> str:
    """Return a digest of a question and the lines of its block (16 hex digits)."""
    content = json.dumps([[one.text, list(one.sources)] for one in lines])
    return hashlib.sha256(f"{ask.key}\n{content}".encode()).hexdigest()[:16]
