"""Passes: what keeps a vault in order, one small function after another (design of the model §5).

A pass is pure: it looks at a `View` at one moment and says what it would change, and why; the runner decides
whether, and does it. What one pass plans the next one sees, although nothing is written yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from engram.core import decay
from engram.core.records import Change, Create, Edge, Edit, Fact, Move, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import tzinfo

    from engram.core.policy import Policy
    from engram.core.records import Vitals
    from engram.core.talks import Talk


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

Step = Change | Mark | Faded | Ask


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


@dataclass(frozen=True)
class View:
    """What passes see: the memories, the ties, and files that are no notes. `read` gives b'' for what is not there.

    `trash` are the paths below `.trash/`, `logs` those of the logs that are pruned by age; `answers` are a model's, by
    the key of the question; `model` says whether there is one, `failed` which questions it could not answer, and why.
    `talks` are the conversations of which something is to be told, `messages` counts the turns by persona, and
    `summaries` are those of the latest conversations that are nobody's in particular.
    """

    policy: Policy
    zone: tzinfo
    memories: Mapping[str, Living]
    edges: Sequence[Edge] = ()
    trash: Sequence[str] = ()
    logs: Sequence[str] = ()
    answers: Mapping[str, Answer] = field(default_factory=dict)
    read: Callable[[str], bytes] = nothing
    talks: Sequence[Talk] = ()
    messages: Mapping[str, int] = field(default_factory=dict)
    summaries: Sequence[Mapping[str, object]] = ()
    model: bool = False
    failed: Mapping[str, str] = field(default_factory=dict)
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
        memories, at, vitals = dict(self.memories), self.at, dict(self._vitals)
        edges, talks = list(self.edges), list(self.talks)
        written: dict[str, bytes | None] = {}
        for step in steps:
            if isinstance(step, Mark):
                written[step.path] = step.content
            elif isinstance(step, Faded):
                edges = [step.edge if _same(edge, step.edge) else edge for edge in edges]
            elif isinstance(step, Edit) and step.path not in at:
                talks = [_retold(talk, step) if talk.path == step.path else talk for talk in talks]
            elif isinstance(step, Ask | Create) or not (name := at.get(step.path)):
                continue
            elif isinstance(step, Move) and step.to.startswith(f"{TRASH}/"):
                del memories[name]
            else:
                memories[name] = replace(memories[name], fact=_changed(memories[name].fact, step, self.zone))
                vitals.pop(name, None)
        held = self.read
        return replace(
            self,
            memories=memories,
            edges=edges,
            talks=talks,
            trash=[path for path in self.trash if written.get(path, b"") is not None],
            read=lambda path: (written[path] or b"") if path in written else held(path),
            _vitals=vitals,
        )


Pass = Callable[[View, "datetime"], list[Step]]

_PLAIN = frozenset({"category", "status", "stage", "layer", "end_reason", "verification", "pinned"})
_DEFAULTS: dict[str, Any] = {item.name: item.default for item in fields(Fact) if item.name in _PLAIN}


def _changed(fact: Fact, change: Change, zone: tzinfo) -> Fact:
    """The fact as its note will tell it, as far as the rules of a life ask."""
    told: dict[str, Any] = {
        key: _DEFAULTS[key] if value is None else value for key, value in change.keys.items() if key in _PLAIN
    }
    if change.keys.get("done"):
        told["done"] = datetime.fromisoformat(str(change.keys["done"])).replace(tzinfo=zone).astimezone(UTC)
    if "tags" in change.keys:
        named = change.keys["tags"]
        told["tags"] = tuple(named) if isinstance(named, list) else ()
    return replace(fact, path=change.to if isinstance(change, Move) else fact.path, **told)


def _retold(talk: Talk, edit: Edit) -> Talk:
    return replace(talk, keys={**talk.keys, **edit.keys}, body=talk.body if edit.body is None else edit.body)


def _same(one: Edge, other: Edge) -> bool:
    return replace(one, confidence=other.confidence, reinforced=other.reinforced) == other
