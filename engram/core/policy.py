"""Every number, with its default, unit, range, source row and meaning.

`policy.toml` has a row for each number. The frozen dataclass of a group gets its fields
from there, also for mypy (`tools/policy_types.py`): an integer is an `int`, any other
number a `float`. `rows()` lists all for `engram policy`; a number with a `key` may be
set in the vault's `engram.toml` under that name.
"""

from __future__ import annotations

import tomllib
from dataclasses import Field, FrozenInstanceError, dataclass, field, replace
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE: Mapping[str, Mapping[str, list[Any]]] = tomllib.loads(
    resources.files(__package__).joinpath("policy.toml").read_text("utf-8")
)
"""The rows by group and name; the value comes first, then the fields of PolicyRow."""


class Numbers:
    """An immutable group of numbers, with its defaults from the table.

    Each group is a dataclass that inherits its methods: to generate them for every
    group would take half of the time of importing the module.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init__(self, **numbers: float) -> None:
        if unknown := numbers.keys() - self.__dataclass_fields__:
            raise TypeError(
                f"{type(self).__name__} has no {', '.join(sorted(unknown))}"
            )
        vars(self).update(numbers)

    def __init_subclass__(cls, group: str) -> None:
        for name, row in TABLE[group].items():
            setattr(cls, name, row[0])
            cls.__annotations__[name] = type(row[0])
        dataclass(init=False, repr=False, eq=False, match_args=False)(cls)

    def __eq__(self, other: object) -> bool:
        names = self.__dataclass_fields__
        return type(self) is type(other) and all(
            getattr(self, name) == getattr(other, name) for name in names
        )

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        numbers = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return f"{type(self).__name__}({numbers})"

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to {name}")


class BufferPolicy(Numbers, group="buffer"):
    """The extraction of buffered turns (row C2)."""


class SignalPolicy(Numbers, group="signals"):
    """The signal scan (row C1)."""


class ExtractionPolicy(Numbers, group="extraction"):
    """The limits of an extractor (rows C3, C4, X17)."""


class ImportancePolicy(Numbers, group="importance"):
    """Local importance (row C10)."""


class DedupPolicy(Numbers, group="dedup"):
    """The effect of a new statement on known facts, and its importance.

    (Rows A7–A11, C9, D2, D3.)
    """


class RetractionPolicy(Numbers, group="retraction"):
    """The reach of a retraction or of a wish to forget (rows A26, X8)."""


class ModelPolicy(Numbers, group="model"):
    """Requests to a model (rows X24, A2; interfaces)."""


class LinkPolicy(Numbers, group="links"):
    """Links between memories and entities, their fading, and spreading activation.

    (Rows A13, C34.)
    """


class LexicalPolicy(Numbers, group="lexical"):
    """Lexical scoring of turns, facts and notes (design of recall).

    Shares are relative to a unit's own score.
    """


class VectorPolicy(Numbers, group="vectors"):
    """Embeddings, and their weight in recall.

    (Rows A6, A14, A17; design of recall.)
    """


class SimilarityPolicy(Numbers, group="similarity"):
    """The seeds' cut points on the nominal scale, and the calibration of a model."""


class RecallPolicy(Numbers, group="recall"):
    """The size and the content of an answer (rows X4, X24)."""


class ReviewPolicy(Numbers, group="review"):
    """The weight of a correction, and the number of review questions (rows X8, X9)."""


class FilePolicy(Numbers, group="files"):
    """Behaviour towards files and editors."""


class JournalPolicy(Numbers, group="journal"):
    """The durable turn journal (design of quality)."""


class ServePolicy(Numbers, group="serve"):
    """The daemon and its interfaces (design of interfaces)."""


class BoxPolicy(Numbers, group="boxes"):
    """Memory boxes and the traces that link them (rows C31, C32)."""


class EchoPolicy(Numbers, group="echo"):
    """The recognition of recalled text (row X7).

    Two signs of a script without blanks count as one word.
    """


class TrustPolicy(Numbers, group="trust"):
    """The trust in each class of source (row D6)."""


class LifecyclePolicy(Numbers, group="lifecycle"):
    """The stages of a memory, its archiving, its removal and its tiers."""


class UsagePolicy(Numbers, group="usage"):
    """The log of the use of memories (rows A19, B4)."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve of fading.

    `linear_share` of the value fades in a straight line, the rest by halving, and after
    `bend` half-lives on its tangent. After 10,000 half-lives no value is left, so a
    `bend` there has no effect.
    """

    bend: float = 10_000.0
    linear_share: float = 0.0


CURVES: Mapping[str, Curve] = MappingProxyType(
    {"l2": Curve(), "huber": Curve(bend=0.5), "elastic": Curve(linear_share=0.3)}
)
"""The modes of retention by name (row D4), as a user chooses them; huber is the
default.
"""


class DecayPolicy(Numbers, group="decay"):
    """The worth of a memory by time and use (rows A25, B6, C25, D4)."""

    @property
    def curve(self) -> Curve:
        """The curve of retention."""
        return Curve(self.bend, self.linear_share)


class ConsolidationPolicy(Numbers, group="consolidation"):
    """Maintenance runs, their logs and their undo history."""


class InsightPolicy(Numbers, group="insight"):
    """Merging, comparing, folding, generalising and checking of memories.

    (Rows A21–A23, A28, B15, C12, D9, E17.)
    """


class ActionPolicy(Numbers, group="actions"):
    """The rulings on actions, and the guidelines from the action log.

    (Rows C21, C22, C30.)
    """

    disabled: tuple[str, ...] = ()


class SessionPolicy(Numbers, group="sessions"):
    """Summaries of conversations (rows A27, E9–E12)."""


class TodoPolicy(Numbers, group="todos"):
    """The settlement and the display of promises (row E16)."""


class ProfilePolicy(Numbers, group="profiles"):
    """Descriptions of people, things and the user.

    (Rows B11, B14, C14, C15, C19, D9.)
    """


@dataclass(frozen=True, slots=True)
class Policy:
    """All groups of numbers together, passed through the program as one value."""

    buffer: BufferPolicy = field(default_factory=BufferPolicy)
    signals: SignalPolicy = field(default_factory=SignalPolicy)
    extraction: ExtractionPolicy = field(default_factory=ExtractionPolicy)
    importance: ImportancePolicy = field(default_factory=ImportancePolicy)
    dedup: DedupPolicy = field(default_factory=DedupPolicy)
    retraction: RetractionPolicy = field(default_factory=RetractionPolicy)
    model: ModelPolicy = field(default_factory=ModelPolicy)
    links: LinkPolicy = field(default_factory=LinkPolicy)
    lexical: LexicalPolicy = field(default_factory=LexicalPolicy)
    vectors: VectorPolicy = field(default_factory=VectorPolicy)
    similarity: SimilarityPolicy = field(default_factory=SimilarityPolicy)
    recall: RecallPolicy = field(default_factory=RecallPolicy)
    review: ReviewPolicy = field(default_factory=ReviewPolicy)
    files: FilePolicy = field(default_factory=FilePolicy)
    journal: JournalPolicy = field(default_factory=JournalPolicy)
    serve: ServePolicy = field(default_factory=ServePolicy)
    boxes: BoxPolicy = field(default_factory=BoxPolicy)
    echo: EchoPolicy = field(default_factory=EchoPolicy)
    trust: TrustPolicy = field(default_factory=TrustPolicy)
    lifecycle: LifecyclePolicy = field(default_factory=LifecyclePolicy)
    usage: UsagePolicy = field(default_factory=UsagePolicy)
    decay: DecayPolicy = field(default_factory=DecayPolicy)
    consolidation: ConsolidationPolicy = field(default_factory=ConsolidationPolicy)
    insight: InsightPolicy = field(default_factory=InsightPolicy)
    actions: ActionPolicy = field(default_factory=ActionPolicy)
    sessions: SessionPolicy = field(default_factory=SessionPolicy)
    todos: TodoPolicy = field(default_factory=TodoPolicy)
    profiles: ProfilePolicy = field(default_factory=ProfilePolicy)


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One line of the table: the place of the number, its meaning and its source."""

    concern: str
    name: str
    value: float
    unit: str
    low: float
    high: float
    source: str
    meaning: str
    key: str = ""


def rows(policy: Policy) -> list[PolicyRow]:
    """Return every number of `policy`, in the order of the table."""
    return [
        PolicyRow(concern, name, getattr(getattr(policy, concern), name), *row[1:])
        for concern, numbers in TABLE.items()
        for name, row in numbers.items()
    ]


def with_settings(policy: Policy, settings: dict[str, float]) -> Policy:
    """Return `policy` with the numbers whose `key` is in `settings`.

    Values get the types of the defaults.
    """
    for row in rows(policy):
        if row.key in settings:
            value = type(row.value)(settings[row.key])
            concern = replace(getattr(policy, row.concern), **{row.name: value})
            policy = replace(policy, **{row.concern: concern})
    return policy
