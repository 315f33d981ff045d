"""Passes: what keeps a vault in order, one small function after another (design of the model §5).

A pass is pure: it looks at a `View` at one moment and says what it would change, and why; the runner decides
whether, and does it. What one pass plans the next one sees, although nothing is written yet.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from engram.core import decay
from engram.core.records import Amend, Change, Edge, Edit, Entity, Fact, Move, Page, Stored, Usage
from engram.passes.tally import Tally, Terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import tzinfo

    from engram.core.actions import Proposal
    from engram.core.dedup import Neighbour
    from engram.core.policy import Policy
    from engram.core.records import Vitals
    from engram.core.talks import Talk


T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class Made:
    """Plan a note for a memory that was concluded from others; `fact` without path. `by` is the pass, for its limit.

    `usage` is what its use starts with.
    """

    fact: Fact
    why: str
    by: str
    usage: Usage = Usage()  # noqa: RUF009  frozen


@dataclass(frozen=True, slots=True)
class Case:
    """Plan a note that asks a person which of two memories is true (`X9`); a pair is asked about once."""

    new: Fact
    old: Fact
    why: str


@dataclass(frozen=True, slots=True)
class Told:
    """Plan to say something of a memory, and to change nothing; `refused` is what was proposed and is not to be."""

    memory: str
    path: str
    why: str
    refused: Proposal | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """Plan steps that are done together or not at all, what is kept first: no memory goes before its words stand."""

    steps: tuple[Edit | Move | Made, ...]


Answer = Mapping[str, Any]
"""What a model said to an `Ask`, read and checked; empty where it said nothing of use."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Plan how exactly the vectors of these memories are kept, by id."""

    stored: Mapping[str, Stored]
    why: str


Step = Change | Amend | Mark | Faded | Tie | Kept | Ask | Made | Case | Told | Bundle


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


class Looking:
    """How a pass looks into the vault beyond the memories it is shown; as it stands here, into an empty one.

    `tally` counts the terms of memories and `terms` gives those of each; kept from one view to the next, they tell what
    they would tell anew.
    """

    def __init__(self) -> None:
        self.tally = Tally()
        self.terms = Terms()

    def read(self, path: str) -> bytes:  # noqa: ARG002  the form
        """What stands in a file of the vault, b'' where there is none."""
        return b""

    def page(self, path: str) -> Page | None:  # noqa: ARG002  the form
        """The note at `path` that is no memory; None where there is none, or one that cannot be read."""
        return None

    def pages(self, folder: str) -> Sequence[str]:  # noqa: ARG002  the form
        """The paths of the notes in a folder of the vault."""
        return ()

    def linking(self, name: str) -> Sequence[str]:  # noqa: ARG002  the form
        """The paths of the notes that a person wrote with a link to the note of this name."""
        return ()

    def near(self, fact: Fact) -> Sequence[Neighbour]:  # noqa: ARG002  the form
        """The active memories near one, the nearest first, on the nominal scale."""
        return ()

    def statements(self) -> Mapping[str, str]:
        """The content hashes of memories by id, as far as they are known without working them out."""
        return {}

    def believed(self, fact: Fact) -> float:  # noqa: ARG002  the form
        """How far the source of a memory is believed, 0–1 (`D6`)."""
        return 1.0

    def outside(self, fact: Fact) -> bool:  # noqa: ARG002  the form
        """Whether a memory rests on nothing but what came from outside (`X27`)."""
        return False

    def disk(self, path: str) -> bytes | None:  # noqa: ARG002  the form
        """What stands at a path below one of the roots that the user named; None where nothing does (`D10`)."""
        return b""


@dataclass(frozen=True)
class View:
    """What passes see: the memories, the ties, and by `look` whatever else is in the vault.

    `trash` are the paths below `.trash/`, `logs` those of the logs that are pruned by age; `answers` are a model's, by
    the key of the question, where there is a `model`, and `failed` says which it could not answer, and why; `stored`
    says how the vectors of memories are kept that have one of their own. `buried` are the hashes of statements that
    must not come back, `feedback` what became of the memories of a category lately, −1…1 (`C30`); `roots` are the
    folders outside that a user named (`D10`). Where it is not `whole`, nothing dear is to be done. `made` counts by
    pass the notes that were made in this run so far, `ended` by status the memories that gave way to others. `talks`
    are the conversations of which something is to be told, `messages` counts the turns by persona, and `summaries`
    are those of the latest conversations that are nobody's in particular. `entities` are the notes of these by path.
    `written` and `amended` are the files and the notes that are to be otherwise than `look` finds them, `reads` the
    files that were asked for.
    """

    policy: Policy
    zone: tzinfo
    memories: Mapping[str, Living]
    look: Looking = field(default_factory=Looking)
    edges: Sequence[Edge] = ()
    trash: Sequence[str] = ()
    logs: Sequence[str] = ()
    answers: Mapping[str, Answer] = field(default_factory=dict)
    stored: Mapping[str, Stored] = field(default_factory=dict)
    buried: Collection[str] = ()
    feedback: Mapping[str, float] = field(default_factory=dict)
    roots: Sequence[str] = ()
    whole: bool = True
    made: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, int] = field(default_factory=dict)
    talks: Sequence[Talk] = ()
    messages: Mapping[str, int] = field(default_factory=dict)
    summaries: Sequence[Mapping[str, object]] = ()
    model: bool = False
    failed: Mapping[str, str] = field(default_factory=dict)
    entities: Mapping[str, Entity] = field(default_factory=dict)
    written: Mapping[str, bytes | None] = field(default_factory=dict)
    amended: Mapping[str, Page] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set, repr=False, compare=False)
    _vitals: dict[str, Vitals] = field(default_factory=dict, repr=False, compare=False)
    _worked_out: dict[object, tuple[tuple[object, ...], Any]] = field(default_factory=dict, repr=False, compare=False)

    def read(self, path: str) -> bytes:
        """What stands in a file of the vault, b'' where there is none."""
        self.reads.add(path)
        return (self.written[path] or b"") if path in self.written else self.look.read(path)

    def page(self, path: str) -> Page | None:
        """The note at `path` that is no memory; None where there is none, or one that cannot be read."""
        self.reads.add(path)
        return self.amended.get(path) or self.look.page(path)

    def pages(self, folder: str) -> list[str]:
        """The paths of the notes in a folder of the vault."""
        self.reads.add(f"{folder}/")
        return sorted({*self.look.pages(folder), *self._added(folder)})

    def _added(self, folder: str) -> set[str]:
        return {path for path in self.amended if _folder(path) == folder}

    def active(self) -> Sequence[Living]:
        """The memories that may be recalled."""
        return self.once(
            "active", lambda: [one for one in self.memories.values() if one.fact.status == "active"], self.memories
        )

    def vitals(self, one: Living, now: datetime) -> Vitals:
        """What a memory is worth at `now`; all passes of one run look at the same moment."""
        known = self._vitals.get(one.fact.id)
        if known is None:
            feedback = self.feedback.get(one.fact.category, 0.0)
            known = decay.vitals(one.fact, one.usage, now, one.trust, self.policy, feedback)
            self._vitals[one.fact.id] = known
        return known

    def once(self, what: object, work: Callable[[], T], *rests_on: object) -> T:
        """What `work` gives, worked out once for all passes that ask for it under the name `what`.

        It is worked out anew in a later view of the run where anything that it `rests_on` is another there.
        """
        known = self._worked_out.get(what)
        if known is None or known[0] != rests_on:
            self._worked_out[what] = known = rests_on, work()
        found: T = known[1]
        return found

    @cached_property
    def at(self) -> dict[str, str]:
        """The memory's id by the path of its note."""
        return {one.fact.path: name for name, one in self.memories.items()}

    def is_like(self, other: View, reads: Iterable[str]) -> bool:
        """Whether a pass that reads these files, notes and folders sees here what it saw in the `other` view."""
        fixed = (item.name for item in fields(self) if item.compare and item.name not in {"written", "amended"})
        return all(getattr(self, name) is getattr(other, name) for name in fixed) and all(
            self.written.get(path, path) == other.written.get(path, path)
            and self.amended.get(path) == other.amended.get(path)
            and self._added(path.removesuffix("/")) == other._added(path.removesuffix("/"))
            for path in reads
        )

    def after(self, steps: Iterable[Step]) -> View:
        """The view once these steps are done; the hash of a note stays that of the bytes on the disk."""
        steps = list(steps)
        told = self._notes_after([step for step in steps if isinstance(step, Amend | Move)])
        told |= self._memories_after([step for step in steps if isinstance(step, Made | Edit | Move)])
        for step in steps:
            if isinstance(step, Kept):
                told["stored"] = {**told.get("stored", self.stored), **step.stored}
            elif isinstance(step, Faded | Tie):
                told["edges"] = _tied(told.get("edges", self.edges), step)
            elif isinstance(step, Mark):
                told["written"] = {**told.get("written", self.written), step.path: step.content}
                if step.content is None:
                    told["trash"] = [path for path in told.get("trash", self.trash) if path != step.path]
        return replace(self, **told)

    def _memories_after(self, steps: Sequence[Made | Edit | Move]) -> dict[str, Any]:
        """What becomes of the fields about memories and talks."""
        memories, at, vitals, talks = dict(self.memories), self.at, dict(self._vitals), list(self.talks)
        made, ended = Counter(self.made), Counter(self.ended)
        for step in steps:
            if isinstance(step, Made):
                memories[step.fact.id] = Living(step.fact, step.usage, self.policy.trust.dream)
                made[step.by] += 1
            elif (name := at.get(step.path)) is None:
                talks = [
                    _retold(talk, step) if isinstance(step, Edit) and talk.path == step.path else talk for talk in talks
                ]
            elif isinstance(step, Move) and step.to.startswith(f"{TRASH}/"):
                del memories[name]
            else:
                if memories[name].fact.status == "active" and "superseded_by" in step.keys:
                    ended[str(step.keys.get("status", ""))] += 1
                memories[name] = replace(memories[name], fact=_changed(memories[name].fact, step, self.zone))
                vitals.pop(name, None)
        told = {"memories": memories, "talks": talks, "made": made, "ended": ended, "_vitals": vitals}
        return told if steps else {}

    def _notes_after(self, steps: Sequence[Amend | Move]) -> dict[str, Any]:
        """What becomes of the fields about notes that are no memories."""
        entities, amended = dict(self.entities), dict(self.amended)
        for step in steps:
            if isinstance(step, Amend):
                amended[step.path] = _amended(amended.get(step.path) or self.look.page(step.path), step)
                if step.path in entities:
                    entities[step.path] = _reentered(entities[step.path], step)
            else:
                entities.pop(step.path, None)
        here = {path: one for path, one in entities.items() if not one.superseded}
        return ({"amended": amended} if steps else {}) | ({"entities": here} if here != self.entities else {})


Pass = Callable[[View, "datetime"], list[Step]]

_PLAIN = frozenset(
    {"category", "status", "stage", "layer", "end_reason", "verification", "pinned", "confidence", "importance"}
)
_LISTS = frozenset({"supersedes", "superseded_by", "tags"})
_LINK = re.compile(r"\[\[([^\]|]*)(?:\|[^\]]*)?\]\]")
_DEFAULTS: dict[str, Any] = {item.name: item.default for item in fields(Fact) if item.name in _PLAIN}


def _changed(fact: Fact, change: Change, zone: tzinfo) -> Fact:
    """The fact as its note will tell it, as far as the passes ask."""
    told: dict[str, Any] = {
        key: _DEFAULTS[key] if value is None else value for key, value in change.keys.items() if key in _PLAIN
    }
    told |= {key: _names(change.keys[key]) for key in _LISTS & change.keys.keys()}
    if change.keys.get("done"):
        told["done"] = datetime.fromisoformat(str(change.keys["done"])).replace(tzinfo=zone).astimezone(UTC)
    if isinstance(about := change.keys.get("about"), list):
        told["about"] = tuple(_LINK.sub(r"\1", name) for name in about)
    if "source" in change.keys:
        told |= _sources(change.keys["source"])
    return replace(fact, path=change.to if isinstance(change, Move) else fact.path, **told)


def _names(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _sources(value: object) -> dict[str, Any]:
    """The turns of a note's `source`, a link or a list of links."""
    links = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    source, *also = [link.removeprefix("[[").removesuffix("]]") for link in links] or [""]
    return {"source": source, "also": tuple(also)}


def _retold(talk: Talk, edit: Edit) -> Talk:
    return replace(talk, keys={**talk.keys, **edit.keys}, body=talk.body if edit.body is None else edit.body)


def _tied(edges: Sequence[Edge], step: Faded | Tie) -> list[Edge]:
    if isinstance(step, Tie):
        return [*edges, step.edge]
    return [step.edge if _same(edge, step.edge) else edge for edge in edges]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _amended(page: Page | None, step: Amend) -> Page:
    page = page or Page({})
    keys = {key: value for key, value in {**page.keys, **step.keys}.items() if value is not None}
    return replace(
        page, keys=keys, blocks={name: lines for name, lines in {**page.blocks, **step.blocks}.items() if lines}
    )


def _reentered(entity: Entity, step: Amend) -> Entity:
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
