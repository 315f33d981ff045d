"""The view of the vault that a pass gets, with the planned steps of earlier passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from engram.core import decay, dedup, lifecycle
from engram.core.forgetting import TombstoneSet
from engram.core.records import Edge, Entity, Fact, Page, Usage, VectorStorage
from engram.maintenance.passes.steps import Answer, Step
from engram.maintenance.passes.term_counts import TermCache, TermCounts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime, tzinfo

    from engram.core.dedup import Neighbour
    from engram.core.policy import Policy
    from engram.core.records import Vitals
    from engram.core.sessions import SessionView


T = TypeVar("T")

FOREIGN = "engram did not write it"
"""Why no run touches a note without a birth in the action log: written by hand, synced,
of another tool.
"""


@dataclass(frozen=True, slots=True)
class MemoryState:
    """A memory and what is known of it: its use, how far its source is believed (0–1),
    what holds it, who says it.

    `barred` is why it may not be core, `kept` why it is a person's, whom no rule
    contradicts; or None. `said_by` is its source class (`trust.fact_class`). `foreign`:
    engram did not write the note, so no run changes, moves or ends it whatever its keys
    say; such a one is `kept` too.
    """

    fact: Fact
    usage: Usage = Usage()  # noqa: RUF009
    trust: float = 1.0
    barred: str | None = None
    kept: str | None = None
    said_by: str = "user"
    foreign: bool = False

    @property
    def proposable(self) -> bool:
        """Whether a run may propose to a person that this memory ends: engram did not
        write it, and no person holds it.

        Notes that a person edited, confirmed, brought back, pinned or wrote with engram
        are not (laws 1 and 6).
        """
        return self.kept == FOREIGN and not dedup.is_user_backed(self.fact)


class VaultReader:
    """Read access of a pass to the vault; this class reads an empty one.

    `tally` counts the terms of all memories, `terms` caches those of each.
    """

    def __init__(self) -> None:
        self.tally = TermCounts()
        self.terms = TermCache()

    def read(self, path: str) -> bytes:  # noqa: ARG002
        """Return the bytes of a file of the vault, b'' for none."""
        return b""

    def page(self, path: str) -> Page | None:  # noqa: ARG002
        """Return the note at `path` that is no memory; None if missing or unreadable."""
        return None

    def pages(self, folder: str) -> Sequence[str]:  # noqa: ARG002
        """The paths of the notes in a folder of the vault."""
        return ()

    def linking(self, name: str) -> Sequence[str]:  # noqa: ARG002
        """Return the paths of other notes that link to the note of this name."""
        return ()

    def near(self, fact: Fact) -> Sequence[Neighbour]:  # noqa: ARG002
        """The active memories near one, the nearest first, on the nominal scale."""
        return ()

    def statements(self) -> Mapping[str, str]:
        """Return the content hashes of memories by id, as far as they are stored."""
        return {}

    def believed(self, fact: Fact) -> float:  # noqa: ARG002
        """How far the source of a memory is believed, 0–1 (`D6`)."""
        return 1.0

    def said_by(self, fact: Fact) -> str:  # noqa: ARG002
        """The source class of a memory (`D6`)."""
        return "user"

    def outside(self, fact: Fact) -> bool:  # noqa: ARG002
        """Whether a memory rests on nothing but what came from outside (`X27`)."""
        return False

    def disk(self, path: str) -> bytes | None:  # noqa: ARG002
        """What stands at a path below one of the roots that the user named; None where
        nothing does (`D10`).
        """
        return b""


@dataclass(frozen=True, slots=True)
class ViewUpdate:
    """The records in the planned bytes of a pass, by id or path; None: no longer there.

    `sessions` are the keys and the body of session files. `created_by_pass` counts by pass the
    memories that are new, `ended_by_status` by status those that were superseded or invalidated.
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
    """What passes see: the memories, the ties, and by `reader` whatever else is in the
    vault.

    `logs` are the paths of the logs that lose old rows; `answers` are a model's, by the
    key of the question, where there is a `model`, and `failed` says which it could not
    answer, and why; `stored` says how the vectors of memories are kept that have one of
    their own. `tombstones` are the hashes of statements that must not come back,
    `forgotten` knows what else says so, `feedback` what became of the memories of a
    category lately, −1…1 (`C30`); `roots` are the folders outside that a user named
    (`D10`). Where it is not `whole`, nothing dear is to be done. `created_by_pass` counts by pass
    the notes that were made in this run so far, `ended_by_status` by status the memories that
    gave way to others. `talks` are the conversations of which something is to be told,
    `messages` counts the turns by persona, and `summaries` are those of the latest
    conversations that are nobody's in particular. `entities` are the notes of these by
    path. `written` and `amended` are the files and the notes that are to be otherwise
    than `reader` finds them, `reads` the files that were asked for. `closed` are by the
    name of a pass the memories that it leaves alone: a person is asked about them, or
    said no. `approved` are the memories of a held run that a person approved: no other
    is touched in the run that carries it out; None in every other run.
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
    closed: Mapping[str, Collection[str]] = field(default_factory=dict)
    approved: Collection[str] | None = None
    feedback: Mapping[str, float] = field(default_factory=dict)
    roots: Sequence[str] = ()
    whole: bool = True
    created_by_pass: Mapping[str, int] = field(default_factory=dict)
    ended_by_status: Mapping[str, int] = field(default_factory=dict)
    talks: Sequence[SessionView] = ()
    messages: Mapping[str, int] = field(default_factory=dict)
    summaries: Sequence[Mapping[str, object]] = ()
    model: bool = False
    answer_failures: Mapping[str, str] = field(default_factory=dict)
    entities: Mapping[str, Entity] = field(default_factory=dict)
    written: Mapping[str, bytes | None] = field(default_factory=dict)
    amended: Mapping[str, Page] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set, repr=False, compare=False)
    _vitals: dict[str, Vitals] = field(default_factory=dict, repr=False, compare=False)
    _worked_out: dict[object, tuple[tuple[object, ...], Any]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def read(self, path: str) -> bytes:
        """What stands in a file of the vault, b'' where there is none."""
        self.reads.add(path)
        return (
            (self.written[path] or b"")
            if path in self.written
            else self.reader.read(path)
        )

    def page(self, path: str) -> Page | None:
        """The note at `path` that is no memory; None where there is none, or one that
        cannot be read.
        """
        self.reads.add(path)
        return self.amended.get(path) or self.reader.page(path)

    def pages(self, folder: str) -> list[str]:
        """The paths of the notes in a folder of the vault."""
        self.reads.add(f"{folder}/")
        return sorted({*self.reader.pages(folder), *self._added(folder)})

    def _added(self, folder: str) -> set[str]:
        return {path for path in self.amended if _folder(path) == folder}

    def active(self) -> Sequence[MemoryState]:
        """The memories that may be recalled."""
        return self.once(
            "active",
            lambda: [
                one for one in self.memories.values() if one.fact.status == "active"
            ],
            self.memories,
        )

    def vitals(self, one: MemoryState, now: datetime) -> Vitals:
        """What a memory is worth at `now`; all passes of one run look at the same
        moment.
        """
        known = self._vitals.get(one.fact.id)
        if known is None:
            feedback = self.feedback.get(one.fact.category, 0.0)
            known = decay.vitals(
                one.fact, one.usage, now, one.trust, self.policy, feedback
            )
            self._vitals[one.fact.id] = known
        return known

    def stage(self, one: MemoryState, now: datetime) -> str:
        """How far a memory is trusted at `now` (`C24`); where the view is not `whole`,
        its source is asked for.
        """
        if self.whole:
            vitals = self.vitals(one, now)
        else:
            vitals = decay.vitals(
                one.fact, one.usage, now, self.reader.believed(one.fact), self.policy
            )
        return lifecycle.stage(one.fact, one.usage, vitals, self.policy, one.barred)[0]

    def once(self, what: object, work: Callable[[], T], *rests_on: object) -> T:
        """What `work` gives, worked out once for all passes that ask for it under the
        name `what`.

        It is worked out anew in a later view of the run where anything that it
        `rests_on` is another there.
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

    def is_like(self, other: PassView, reads: Iterable[str]) -> bool:
        """Whether a pass that reads these files, notes and folders sees here what it
        saw in the `other` view.
        """
        fixed = (
            item.name
            for item in fields(self)
            if item.compare and item.name not in {"written", "amended"}
        )
        return all(
            getattr(self, name) is getattr(other, name) for name in fixed
        ) and all(
            self.written.get(path, path) == other.written.get(path, path)
            and self.amended.get(path) == other.amended.get(path)
            and self._added(path.removesuffix("/"))
            == other._added(path.removesuffix("/"))
            for path in reads
        )

    def after(self, update: ViewUpdate) -> PassView:
        """Return the view with the planned changes of a pass.

        A field that nothing changes stays the same object, so that a pass which reads
        only such fields need not be asked again.
        """
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
            changed["talks"] = [_reread(talk, update.sessions) for talk in self.talks]
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


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


Pass = Callable[[PassView, "datetime"], list[Step]]
