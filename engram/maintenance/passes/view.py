"""The view of the vault for a pass, with the planned steps of earlier passes.

Also the steps that a pass may return: changes of files, questions and findings.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from engram.core import decay, decide, lifecycle
from engram.core.forgetting import TombstoneSet
from engram.core.records import (
    BlockEdit,
    Change,
    Edge,
    Edit,
    Entity,
    Fact,
    Move,
    Page,
    Usage,
    VectorStorage,
    Vitals,
)
from engram.core.user_facts import Slot, slots_of

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from engram.core.actions import Proposal
    from engram.core.decide import Known
    from engram.core.policy import Policy
    from engram.core.sessions import SessionView


TRASH = ".trash"
"""The folder of removed notes, which only `engram purge --trash` empties."""


@dataclass(frozen=True, slots=True)
class FileWrite:
    """Replace the content of a file that is not a note; None deletes it."""

    path: str
    content: bytes | None
    why: str


@dataclass(frozen=True, slots=True)
class EdgeUpdate:
    """Replace an edge of the graph, with its confidence as of now."""

    edge: Edge
    why: str


@dataclass(frozen=True, slots=True)
class NewEdge:
    """Add an edge to the graph."""

    edge: Edge
    why: str


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """Ask a model: the prompt file `task`, its material as JSON, and the reason.

    A pass asks if its view has no answer. The question is answered and the run is
    planned again. Equal questions share one answer, so that a second run asks nothing
    and changes nothing.
    """

    task: str
    material: str
    why: str

    @property
    def key(self) -> str:
        """The key of the answer, equal for equal questions."""
        return hashlib.sha256(f"{self.task}\n{self.material}".encode()).hexdigest()

    @classmethod
    def about(cls, task: str, material: object, why: str) -> ModelQuestion:
        """Return the question about `material`; equal material makes equal questions."""
        text = json.dumps(material, ensure_ascii=False, sort_keys=True)
        return cls(task, text.translate(_BREAKS), why)


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """The reply to a question: an answer, or in `fault` why it could not be read."""

    question: ModelQuestion
    answer: Answer | None = None
    fault: str = ""

    @property
    def waits(self) -> bool:
        """Whether the model has still to be asked."""
        return self.answer is None and not self.fault

    @property
    def steps(self) -> list[Step]:
        """The question if it waits, else a finding for each reason of dropped items."""
        if self.waits:
            return [self.question]
        return [
            Finding("", self.question.task, f"{number} dropped from an answer: {why}")
            for why, number in (self.answer or {}).get("dropped", {}).items()
        ]


@dataclass(frozen=True, slots=True)
class NewMemory:
    """Create a memory concluded from others; `fact` has no path yet.

    `by` is the pass, for its limit; `usage` is the first usage of the memory.
    """

    fact: Fact
    why: str
    by: str
    usage: Usage = Usage()  # noqa: RUF009


@dataclass(frozen=True, slots=True)
class NewCase:
    """Ask a user which of two memories is true (`X9`), once for each pair."""

    new: Fact
    old: Fact
    why: str


@dataclass(frozen=True, slots=True)
class FallenGround:
    """Ask a user, once, what ends with a memory that ended on a day (`X29`).

    `turn` announced the end; `resting` are the texts of what rests on it, by id.
    """

    turn: str
    premise: str
    resting: Mapping[str, str]
    day: datetime


@dataclass(frozen=True, slots=True)
class Finding:
    """Report something about a memory without a change.

    `refused` is the proposal that the rules of actions rejected, if any.
    """

    memory: str
    path: str
    why: str
    refused: Proposal | None = None


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """Make changes together or not at all, new notes first.

    So no memory is archived before its replacement is written. A group that would end a
    protected memory has to `ask`: it is made only after approval (law 12).
    """

    steps: tuple[Edit | Move | NewMemory, ...]
    ask: bool = False


Answer = Mapping[str, Any]
"""The validated answer to a `ModelQuestion`; empty if it contains nothing useful."""


@dataclass(frozen=True, slots=True)
class VectorPrecision:
    """Change the precision and tier of vectors, by the id of the memory."""

    stored: Mapping[str, VectorStorage]
    why: str


Step = (
    Change
    | BlockEdit
    | FileWrite
    | EdgeUpdate
    | NewEdge
    | VectorPrecision
    | ModelQuestion
    | NewMemory
    | NewCase
    | FallenGround
    | Finding
    | ChangeGroup
)


T = TypeVar("T")
_BREAKS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}
"""Line breaks of Unicode, which JSON does not escape."""

FOREIGN = "engram did not write it"
"""Why no run changes a note without a creation in the action log.

It was written by hand, synced, or made by another tool.
"""


@dataclass(frozen=True, slots=True)
class MemoryState:
    """A memory, with its usage, the trust in its source, and its protection.

    `trust` is 0–1. `barred` is the reason why it may not become core, `kept` the reason
    why it belongs to a user, so that no rule changes it; each is None if there is none.
    `said_by` is the source class (`trust.fact_class`). `foreign` is true for a note
    that engram did not write: no run changes, moves or ends it, and `kept` is set
    too. Its keys do not matter.
    """

    fact: Fact
    usage: Usage = Usage()  # noqa: RUF009
    trust: float = 1.0
    barred: str | None = None
    kept: str | None = None
    said_by: str = "user"
    foreign: bool = False

    @property
    def protected(self) -> str | None:
        """The reason why the memory never ends by itself, or None (law 1)."""
        return lifecycle.protection(self.fact, self.kept)

    @property
    def proposable(self) -> bool:
        """Whether a run may propose the end of this memory to a user.

        True for notes that engram did not write, except those that a user edited,
        confirmed, restored, pinned or wrote with engram (laws 1 and 6).
        """
        return self.kept == FOREIGN and not decide.is_user_backed(self.fact)


class VaultReader:
    """Read access of a pass to the vault; this base class is an empty vault."""

    def begin(self, pass_name: str) -> None:
        """Record that a pass begins; raise an error if the run must be given up."""

    def check(self) -> None:
        """Raise an error if the run must be given up; a pass calls it in long loops."""

    def read(self, path: str) -> bytes:  # noqa: ARG002
        """Return the bytes of a file of the vault, or b'' if there is none."""
        return b""

    def page(self, path: str) -> Page | None:  # noqa: ARG002
        """Return the note at `path`, which is not a memory; None if unreadable."""
        return None

    def pages(self, folder: str) -> Sequence[str]:  # noqa: ARG002
        """Return the paths of the notes in a folder of the vault."""
        return ()

    def linking(self, name: str) -> Sequence[str]:  # noqa: ARG002
        """Return the paths of other notes that link to the note of this name."""
        return ()

    def slots(self, fact: Fact) -> Sequence[Slot]:
        """Return what a memory gives (`X31`), of an unchanged one as the index read it."""
        return slots_of(fact)

    def near(self, fact: Fact) -> Sequence[Known]:  # noqa: ARG002
        """Return the active neighbours of a memory, nearest first, on the nominal scale."""
        return ()

    def statements(self) -> Mapping[str, str]:
        """Return the stored content hashes of memories, by id."""
        return {}

    def trust_of(self, fact: Fact) -> float:  # noqa: ARG002
        """Return the trust in the source of a memory, 0–1 (`D6`)."""
        return 1.0

    def said_by(self, fact: Fact) -> str:  # noqa: ARG002
        """Return the source class of a memory (`D6`)."""
        return "user"

    def edited(self) -> Mapping[str, Mapping[str, str]]:
        """Return the edited memories, with the keys of the time that a user gave them.

        `slot` is among the keys if the words no longer have the value of the slot.
        """
        return {}

    def disk(self, path: str) -> bytes | None:  # noqa: ARG002
        """Return the content of a file below a configured root; None if missing (`D10`)."""
        return b""


@dataclass(frozen=True, slots=True)
class ViewUpdate:
    """The records in the planned bytes of a pass, by id or path; None for removed ones.

    `sessions` has the keys and the body of session files. `created_by_pass` counts new
    memories by pass, `ended_by_status` superseded and invalidated ones by status.
    """

    memories: dict[str, MemoryState | None] = field(default_factory=dict)
    sessions: dict[str, tuple[Mapping[str, object], str]] = field(default_factory=dict)
    pages: dict[str, Page] = field(default_factory=dict)
    entities: dict[str, Entity | None] = field(default_factory=dict)
    files: dict[str, bytes | None] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    stored: dict[str, VectorStorage] = field(default_factory=dict)
    created_by_pass: Counter[str] = field(default_factory=Counter)
    ended_by_status: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class PassView:
    """The input of the passes: the vault, with the planned changes of earlier passes.

    Memories: `memories` by id, `edges` of the graph, `entities` by the path of their
    note, `owner` the configured names of the owner, and `stored`, the precision and
    tier of vectors by memory. `tombstones` are the hashes of removed statements,
    `forgotten` decides the same for any text, and `restored` has the time at which a
    user restored a memory, by id. `feedback` is the recent feedback on each category,
    −1…1 (`C30`).

    Conversations: `sessions` are those with turns to summarise, `messages` counts the
    turns by persona.

    Files: `reader` reads the vault. `written` has the planned content of files, and
    `amended` the planned notes with generated blocks. `logs` are the paths of the logs
    that lose old rows, `roots` the configured folders outside the vault (`D10`).

    Model: `model` is true if one is configured. `answers` has its answers and
    `answer_failures` the reasons why an answer could not be read, by question key.

    Limits: `closed` has, by pass, the memories that it must not change, because a user
    is asked about them or rejected the change. `approved` are the memories of a held
    run that a user approved, the only ones that it may change; None in other runs.
    `created_by_pass` and `ended_by_status` count the changes of this run so far.
    """

    policy: Policy
    zone: tzinfo
    memories: Mapping[str, MemoryState]
    reader: VaultReader = field(default_factory=VaultReader)
    edges: Sequence[Edge] = ()
    logs: Sequence[str] = ()
    answers: Mapping[str, Answer] = field(default_factory=dict)
    stored: Mapping[str, VectorStorage] = field(default_factory=dict)
    tombstones: Collection[str] = ()
    forgotten: TombstoneSet = field(default_factory=TombstoneSet)
    restored: Mapping[str, datetime] = field(default_factory=dict)
    closed: Mapping[str, Collection[str]] = field(default_factory=dict)
    approved: Collection[str] | None = None
    feedback: Mapping[str, float] = field(default_factory=dict)
    roots: Sequence[str] = ()
    created_by_pass: Mapping[str, int] = field(default_factory=dict)
    ended_by_status: Mapping[str, int] = field(default_factory=dict)
    sessions: Sequence[SessionView] = ()
    messages: Mapping[str, int] = field(default_factory=dict)
    model: bool = False
    answer_failures: Mapping[str, str] = field(default_factory=dict)
    entities: Mapping[str, Entity] = field(default_factory=dict)
    owner: Sequence[str] = ()
    written: Mapping[str, bytes | None] = field(default_factory=dict)
    amended: Mapping[str, Page] = field(default_factory=dict)
    _vitals: dict[str, Vitals] = field(default_factory=dict, repr=False, compare=False)
    _cache: dict[object, tuple[tuple[object, ...], Any]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def ask(
        self, task: str, material: object, why: str, *, fallback: bool = False
    ) -> QuestionReply:
        """Return the reply to a question, which waits until a model has answered.

        With a `fallback` by rules it does not wait after an answer that is unreadable.
        """
        question = ModelQuestion.about(task, material, why)
        answer = self.answers.get(question.key)
        use_rules = fallback and answer is None
        fault = self.answer_failures.get(question.key, "") if use_rules else ""
        return QuestionReply(question, answer, fault)

    def read(self, path: str) -> bytes:
        """Return the bytes of a file of the vault, or b'' if there is none."""
        if path in self.written:
            return self.written[path] or b""
        return self.reader.read(path)

    def page(self, path: str) -> Page | None:
        """Return the note at `path`, which is not a memory; None if unreadable."""
        return self.amended.get(path) or self.reader.page(path)

    def pages(self, folder: str) -> list[str]:
        """Return the paths of the notes in a folder of the vault."""
        added = {path for path in self.amended if path.rpartition("/")[0] == folder}
        return sorted({*self.reader.pages(folder), *added})

    def active(self) -> Sequence[MemoryState]:
        """Return the active memories."""

        def active() -> list[MemoryState]:
            every = self.memories.values()
            return [one for one in every if one.fact.status == "active"]

        return self.once("active", active, self.memories)

    def vitals(self, one: MemoryState, now: datetime) -> Vitals:
        """Return the decayed values of a memory; `now` is the same in the whole run."""
        known = self._vitals.get(one.fact.id)
        if known is None:
            feedback = self.feedback.get(one.fact.category, 0.0)
            known = decay.vitals(
                one.fact, one.usage, now, one.trust, self.policy, feedback
            )
            self._vitals[one.fact.id] = known
        return known

    def stage(self, one: MemoryState, now: datetime) -> str:
        """Return the stage of trust of a memory at `now` (`C24`)."""
        vitals = self.vitals(one, now)
        return lifecycle.stage(one.fact, one.usage, vitals, self.policy, one.barred)[0]

    def once(self, key: object, compute: Callable[[], T], *inputs: object) -> T:
        """Return the value of `compute`, cached under `key` for all passes of a run.

        It is computed again if one of the `inputs` is no longer equal.
        """
        cached = self._cache.get(key)
        if cached is None or cached[0] != inputs:
            self._cache[key] = cached = inputs, compute()
        value: T = cached[1]
        return value

    @cached_property
    def at(self) -> dict[str, str]:
        """The id of the memory at each path."""
        return {one.fact.path: name for name, one in self.memories.items()}

    def after(self, update: ViewUpdate) -> PassView:
        """Return the view with the planned changes of a pass, itself if there are none."""
        changed: dict[str, Any] = {}
        if update.memories:
            changed["memories"] = _overlaid(self.memories, update.memories)
            changed["created_by_pass"] = (
                Counter(self.created_by_pass) + update.created_by_pass
            )
            changed["ended_by_status"] = (
                Counter(self.ended_by_status) + update.ended_by_status
            )
            changed["_vitals"] = {
                name: vitals
                for name, vitals in self._vitals.items()
                if name not in update.memories
            }
        if update.sessions:
            changed["sessions"] = [
                _reread(one, update.sessions) for one in self.sessions
            ]
        if update.pages:
            changed["amended"] = {**self.amended, **update.pages}
        if update.entities:
            changed["entities"] = _overlaid(self.entities, update.entities)
        if update.files:
            changed["written"] = {**self.written, **update.files}
        if update.edges:
            edges = {_edge_key(edge): edge for edge in (*self.edges, *update.edges)}
            changed["edges"] = list(edges.values())
        if update.stored:
            changed["stored"] = {**self.stored, **update.stored}
        return replace(self, **changed) if changed else self


def _overlaid(known: Mapping[str, T], changes: Mapping[str, T | None]) -> dict[str, T]:
    """Return a copy of `known` with the changes; None removes an entry."""
    return {
        name: value for name, value in {**known, **changes}.items() if value is not None
    }


def _reread(
    talk: SessionView, sessions: Mapping[str, tuple[Mapping[str, object], str]]
) -> SessionView:
    keys, body = sessions.get(talk.path, (talk.keys, talk.body))
    return replace(talk, keys=keys, body=body)


def _edge_key(edge: Edge) -> tuple[object, ...]:
    return edge.type, edge.source, edge.target, edge.label, edge.valid_from


Pass = Callable[[PassView, "datetime"], list[Step]]
