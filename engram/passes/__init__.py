"""Passes: what keeps a vault in order, one small function after another (design of the model §5).

A pass is pure: it looks at a `View` at one moment and says what it would change, and why; the runner decides
whether, and does it. What one pass plans the next one sees, although nothing is written yet.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from engram.core import decay
from engram.core.records import Amend, Change, Edge, Edit, Entity, Fact, Move, Page, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, tzinfo

    from engram.core.policy import Policy
    from engram.core.records import Vitals


TRASH = ".trash"
"""Where a note lies that is no memory any more."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Plan what a file that is no note is to hold from now on; None: it goes."""

    path: str
    content: bytes | None
    why: str


@dataclass(frozen=True, slots=True)
class Faded:
    """Plan to write down what a tie is worth by now."""

    edge: Edge
    why: str


@dataclass(frozen=True, slots=True)
class Tie:
    """Plan a tie that is not there yet."""

    edge: Edge
    why: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Plan to ask a model: the prompt file `task`, what it is about as JSON, and why.

    A pass that finds no answer in its view asks; the runner has the question answered and plans again. The same
    question has one answer, so that a second run asks nothing and changes nothing.
    """

    task: str
    material: str
    why: str

    @property
    def key(self) -> str:
        """What the answer is kept under: equal for equal questions."""
        return hashlib.sha256(f"{self.task}\n{self.material}".encode()).hexdigest()


Answer = Mapping[str, Any]
"""What a model said to an `Ask`, read and checked; empty where it said nothing of use."""

Step = Change | Amend | Mark | Faded | Tie | Ask


@dataclass(frozen=True, slots=True)
class Living:
    """A memory and what is known of it: its use, how far its source is believed (0–1), what holds it.

    `barred` is why it may not be core, `kept` why it is a person's, whom no rule contradicts; or None.
    """

    fact: Fact
    usage: Usage = Usage()  # noqa: RUF009  frozen
    trust: float = 1.0
    barred: str | None = None
    kept: str | None = None


def nothing(_path: str) -> bytes:
    """What stands in a vault without files."""
    return b""


def no_page(_path: str) -> Page | None:
    """What stands in a vault without notes."""
    return None


def no_paths(_of: str) -> Sequence[str]:
    """What is found in a vault without notes."""
    return ()


def ours(_fact: Fact) -> bool:
    """Where nothing comes from outside."""
    return False


@dataclass(frozen=True)
class View:
    """What passes see: the memories, the ties, and files that are no notes. `read` gives b'' for what is not there.

    `trash` are the paths below `.trash/`, `logs` those of the logs that are pruned by age; `answers` are a model's, by
    the key of the question. Of the notes that are no memories `entities` are those of the entities by path, `page`
    reads one, `pages` lists those of a folder, `linking` those that a person wrote with a link to a name. `outside`
    says whether a memory rests on what somebody else handed in.
    """

    policy: Policy
    zone: tzinfo
    memories: Mapping[str, Living]
    edges: Sequence[Edge] = ()
    trash: Sequence[str] = ()
    logs: Sequence[str] = ()
    answers: Mapping[str, Answer] = field(default_factory=dict)
    read: Callable[[str], bytes] = nothing
    entities: Mapping[str, Entity] = field(default_factory=dict)
    page: Callable[[str], Page | None] = no_page
    pages: Callable[[str], Sequence[str]] = no_paths
    linking: Callable[[str], Sequence[str]] = no_paths
    outside: Callable[[Fact], bool] = ours
    _vitals: dict[str, Vitals] = field(default_factory=dict, repr=False, compare=False)

    def active(self) -> Iterable[Living]:
        """The memories that may be recalled."""
        return (one for one in self.memories.values() if one.fact.status == "active")

    def vitals(self, one: Living, now: datetime) -> Vitals:
        """What a memory is worth at `now`; all passes of one run look at the same moment."""
        known = self._vitals.get(one.fact.id)
        if known is None:
            known = decay.vitals(one.fact, one.usage, now, one.trust, self.policy)
            self._vitals[one.fact.id] = known
        return known

    @cached_property
    def at(self) -> dict[str, str]:
        """The memory's id by the path of its note."""
        return {one.fact.path: name for name, one in self.memories.items()}

    def after(self, steps: Iterable[Step]) -> View:
        """The view once these steps are done; the hash of a note stays that of the bytes on the disk."""
        steps = list(steps)
        memories, at, vitals = dict(self.memories), self.at, dict(self._vitals)
        for step in steps:
            if not isinstance(step, Edit | Move) or not (name := at.get(step.path)):
                continue
            if isinstance(step, Move) and step.to.startswith(f"{TRASH}/"):
                del memories[name]
            else:
                memories[name] = replace(memories[name], fact=_changed(memories[name].fact, step))
                vitals.pop(name, None)
        written = {step.path: step.content for step in steps if isinstance(step, Mark)}
        held = self.read
        return replace(
            self._told(steps),
            memories=memories,
            edges=_tied(self.edges, steps),
            trash=[path for path in self.trash if written.get(path, b"") is not None],
            read=lambda path: (written[path] or b"") if path in written else held(path),
            _vitals=vitals,
        )

    def _told(self, steps: Iterable[Step]) -> View:
        """The view once what these steps do to notes that are no memories is done."""
        entities, amended = dict(self.entities), dict[str, Page]()
        for step in steps:
            if isinstance(step, Amend):
                amended[step.path] = _amended(amended.get(step.path) or self.page(step.path), step)
            if isinstance(step, Amend) and step.path in entities:
                entities[step.path] = _retold(entities[step.path], step)
            elif isinstance(step, Move):
                entities.pop(step.path, None)
        here = {path: one for path, one in entities.items() if not one.superseded}
        page, pages = self.page, self.pages
        return replace(
            self,
            entities=here,
            page=lambda path: amended.get(path) or page(path),
            pages=lambda folder: sorted({*pages(folder), *(path for path in amended if _folder(path) == folder)}),
        )


Pass = Callable[[View, "datetime"], list[Step]]

_PLAIN = frozenset({"status", "stage", "layer", "end_reason", "verification", "pinned"})
_LINK = re.compile(r"\[\[([^\]|]*)(?:\|[^\]]*)?\]\]")
_DEFAULTS: dict[str, Any] = {item.name: item.default for item in fields(Fact) if item.name in _PLAIN}


def _changed(fact: Fact, change: Change) -> Fact:
    """The fact as its note will tell it, as far as the rules of a life ask."""
    told: dict[str, Any] = {
        key: _DEFAULTS[key] if value is None else value for key, value in change.keys.items() if key in _PLAIN
    }
    if isinstance(about := change.keys.get("about"), list):
        told["about"] = tuple(_LINK.sub(r"\1", name) for name in about)
    return replace(fact, path=change.to if isinstance(change, Move) else fact.path, **told)


def _tied(edges: Sequence[Edge], steps: Iterable[Step]) -> list[Edge]:
    found = list(edges)
    for step in steps:
        if isinstance(step, Faded):
            found = [step.edge if _same(edge, step.edge) else edge for edge in found]
        elif isinstance(step, Tie):
            found.append(step.edge)
    return found


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _amended(page: Page | None, step: Amend) -> Page:
    page = page or Page({})
    keys = {key: value for key, value in {**page.keys, **step.keys}.items() if value is not None}
    return replace(
        page, keys=keys, blocks={name: lines for name, lines in {**page.blocks, **step.blocks}.items() if lines}
    )


def _retold(entity: Entity, step: Amend) -> Entity:
    aliases, kind = step.keys.get("aliases"), step.keys.get("type")
    return replace(
        entity,
        type=kind if isinstance(kind, str) else entity.type,
        aliases=tuple(aliases) if isinstance(aliases, list) else entity.aliases,
        relations=(*(one for one in entity.relations if one not in step.drop), *step.add),
        blocks=tuple(dict.fromkeys([*entity.blocks, *step.blocks])),
        superseded="superseded_by" in step.keys or entity.superseded,
    )


def _same(one: Edge, other: Edge) -> bool:
    return replace(one, confidence=other.confidence, reinforced=other.reinforced) == other
