"""What one run of consolidation will do, gathered before anything is written (rows X6,
X22, X23).

Each pass sees what those before it plan, and they begin again until none has anything
left to say. What a person is at or has decided on is left to them here, so that no pass
has to think of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engram.core.holds import PORTIONED
from engram.core.records import BlockEdit, Create, Edit, Move
from engram.errors import ConflictError, EngramError, unexpected
from engram.maintenance.passes import (
    FOREIGN,
    TRASH,
    ChangeGroup,
    EdgeUpdate,
    FileWrite,
    Finding,
    ModelQuestion,
    NewCase,
    NewEdge,
    NewMemory,
    PassView,
    VectorPrecision,
)
from engram.vault import blocks, disk, facts, frontmatter
from engram.vault.edges import EDGES, edge_id
from engram.vault.undo import FileStep, cost

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.core.actions import Proposal
    from engram.core.records import Change, Edge, Fact, Stored, Usage
    from engram.maintenance.births import NoteDrafts
    from engram.maintenance.passes import MemoryState, Pass
    from engram.maintenance.passes import Step as Planned
    from engram.vault.edges import EdgeStore
    from engram.vault.store import Vault

ROUNDS = 8
"""Times that all passes are asked; two are enough for the passes there are."""

TORN = "what belongs to it has to wait"

OBEDIENT = frozenset({"expire", "ticked", "unite"})
"""Passes that do what a person's own keys ask for; no other touches what a person
edited or confirmed.
"""

ASKED_FOR = frozenset({"ticked"})
"""Passes that do what a person just asked for in the note itself; no other touches what
engram did not write.
"""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a pass does, with which memory or file, and why; `to` is where a
    note goes.
    """

    name: str
    memory: str
    path: str
    to: str
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, or with `dry_run` would do.

    `put_off` says what waits for another run and why, by path; `left` counts what is a
    person's, by reason; `failures` are told by the pass or the path that met them;
    `unasked` counts by task the questions for which no model could be asked; `findings`
    are what was seen and left as it is. `held` says by pass what is too much to do
    without asking, and `holding` has it one by one. `frozen` is why nothing was done at
    all.
    """

    run: str
    cadence: str
    started: datetime
    ended: datetime
    deeds: tuple[Action, ...] = ()
    put_off: Mapping[str, str] = field(default_factory=dict)
    left: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    unasked: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Action, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    holding: tuple[Action, ...] = ()
    frozen: str = ""
    dry_run: bool = False

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        times = {"started": self.started.isoformat(), "ended": self.ended.isoformat()}
        return asdict(self) | times | {"counts": counts(self.deeds)}


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """One file as it is to be: the step, the bytes it replaces and those it puts there,
    and the change to a note.

    `together` are the keys of what is written with it or not at all.
    """

    key: str
    step: FileStep
    raw: bytes
    new: bytes
    change: Change | None = None
    together: frozenset[str] = frozenset()


class RunPlan:
    """A run's changes in the making, on a view of the vault. Nothing is written.

    `ended` and `rewritten` name by memory the pass that ends or rewrites it. The passes
    of `skip` are not asked; at most `portion` memories are put away, the rest is
    `later`. `held` says by pass why it was left out. `proposed` are by pass the ends of
    notes that engram did not write: refused here, for a person has to approve them.
    """

    def __init__(
        self,
        view: PassView,
        now: datetime,
        vault: Vault,
        quiet: Callable[[str], str | None],
        births: NoteDrafts,
    ) -> None:
        self.view = view
        self.now = now
        self.vault = vault
        self.quiet = quiet
        self.births = births
        self.deeds: list[Action] = []
        self.told: dict[tuple[str, str, str], Action] = {}
        self.refused: dict[tuple[str, str], Proposal] = {}
        self.anchors: dict[str, Usage] = {}
        self.reweighed: dict[str, Fact] = {}
        self.put_off: dict[str, str] = {}
        self.failures: dict[str, str] = {}
        self.left: Counter[str] = Counter()
        self.questions: dict[str, ModelQuestion] = {}
        self._changes: dict[str, Change] = {}
        self._bundles: dict[str, set[str]] = {}
        self._targets: set[str] = set()
        self._marks: dict[str, FileWrite] = {}
        self._amended: dict[str, list[BlockEdit]] = {}
        self._faded: dict[str, Edge] = {}
        self.stored: dict[str, Stored] = {}
        self.active = len(view.active())
        self.notes = len(view.memories) + len(view.entities)
        self.ended: dict[str, str] = {}
        self.rewritten: dict[str, str] = {}
        self.skip: Collection[str] = ()
        self.portion: int | None = None
        self.later: dict[str, set[str]] = {}
        self.proposed: dict[str, dict[str, Action]] = {}
        self.held: dict[str, str] = {}
        self.holding: list[Action] = []
        self._begun = view
        self._checked: dict[str, str | None] = {}
        self._passed: set[tuple[str, str]] = set()

    def anew(self) -> RunPlan:
        """An empty draft on what this one began with."""
        return RunPlan(self._begun, self.now, self.vault, self.quiet, self.births)

    def add(self, name: str, step: Change | FileWrite) -> None:
        """Plan something that is no pass's idea; a person who is at the note comes
        first.
        """
        if isinstance(step, FileWrite):
            self._beside_notes(name, step)
        elif not self._refused(name, step.path, step):
            self._put(name, step.path, step)

    def plan(self, passes: Sequence[Pass]) -> None:
        """Ask the passes in order; one that fails stops no other, and is named in
        `failures`.

        They are asked again until none has anything new to say, but none that would see
        what it saw before.
        """
        asked = [one for one in passes if one.__name__ not in self.skip]
        seen = dict[str, tuple[PassView, frozenset[str]]]()
        for _ in range(ROUNDS):
            before = len(self.deeds)
            for one in tuple(asked):
                if one.__name__ in seen and self.view.is_like(*seen[one.__name__]):
                    continue
                self.view.reads.clear()
                try:
                    found = one(self.view, self.now)
                except Exception as fault:  # noqa: BLE001
                    self.failures[one.__name__] = str(
                        fault
                        if isinstance(fault, EngramError)
                        else unexpected(one.__name__, fault)
                    )
                    asked.remove(one)
                else:
                    seen[one.__name__] = self.view, frozenset(self.view.reads)
                    self._take(one.__name__, found)
            if len(self.deeds) == before:
                return

    def _take(self, name: str, found: Iterable[Planned]) -> None:
        """Plan what a pass found, except what is a person's for now or for good."""
        taken: list[Planned] = []
        for step in found:
            if isinstance(step, ModelQuestion | Finding | NewCase):
                self._noted(name, step)
            elif isinstance(step, ChangeGroup | NewMemory):
                taken += self._bundled(
                    name, step.steps if isinstance(step, ChangeGroup) else (step,)
                )
            elif isinstance(step, EdgeUpdate | NewEdge | FileWrite | VectorPrecision):
                self._beside_notes(name, step)
                taken.append(step)
            elif isinstance(step, BlockEdit):
                if not self._held(step.path) and self._may_amend(step.path):
                    self._amended.setdefault(step.path, []).append(step)
                    self.deeds.append(
                        Action(name, step.path, step.path, step.path, step.why)
                    )
                    taken.append(step)
            elif not self._refused(
                name, key := self.view.at.get(step.path, step.path), step
            ):
                self._put(name, key, step)
                taken.append(step)
        if taken:
            self.view = self.view.after(taken)

    def _noted(self, name: str, step: ModelQuestion | Finding | NewCase) -> None:
        """What a pass asks, tells, or has a person asked."""
        if isinstance(step, NewCase):
            self._case(name, step)
        elif isinstance(step, Finding):
            self.told[name, step.memory, step.why] = Action(
                name, step.memory, step.path, "", step.why
            )
            if step.refused:
                self.refused[step.memory, step.refused.action] = step.refused
        elif step.key not in self.view.answers:
            self.questions[step.key] = step

    def _beside_notes(
        self, name: str, step: EdgeUpdate | NewEdge | FileWrite | VectorPrecision
    ) -> None:
        if isinstance(step, VectorPrecision):
            self.stored |= step.stored
            self.deeds.append(Action(name, "", "", "", step.why))
        elif isinstance(step, EdgeUpdate | NewEdge):
            self._faded[edge_id(step.edge)] = step.edge
            self.deeds.append(Action(name, "", EDGES, EDGES, step.why))
        else:
            self._marks[step.path] = step
            self.deeds.append(
                Action(
                    name,
                    "",
                    step.path,
                    "" if step.content is None else step.path,
                    step.why,
                )
            )

    def _put(self, name: str, key: str, step: Change) -> None:
        to = step.to if isinstance(step, Move) else step.path
        if "confidence" in step.keys and (one := self.view.memories.get(key)):
            self.reweighed.setdefault(key, one.fact)
        self.deeds.append(Action(name, key, step.path, to, step.why))
        if not isinstance(step, Create) and key in self.view.memories:
            (self.ended if _ends(step) else self.rewritten).setdefault(key, name)
        self._changes[key] = _joined(self._changes.get(key), step)
        self._targets |= {to} if isinstance(step, Create) else {to} - {step.path}

    def _bundled(
        self, name: str, steps: Iterable[Edit | Move | NewMemory]
    ) -> list[Planned]:
        """Plan all steps of a bundle, or none of them where one is refused; the steps
        as the view takes them.
        """
        planned: list[tuple[str, Change, Edit | Move | NewMemory]] = []
        for step in steps:
            if not isinstance(step, NewMemory):
                planned.append((self.view.at.get(step.path, step.path), step, step))
            elif step.fact.id in self._changes:  # planned in the round before
                return []
            else:
                fact = self.births.placed(step.fact, self._targets)
                planned.append(
                    (
                        fact.id,
                        self.births.note(fact, step.why),
                        replace(step, fact=fact),
                    )
                )
        # each of them is told
        refusals = [self._refused(name, key, change) for key, change, _ in planned]
        if any(refusals):
            return []
        together = [key for key, *_ in planned]
        for key, change, done in planned:
            self._put(name, key, change)
            self._bundles.setdefault(key, set()).update(together)
            if isinstance(done, NewMemory):
                self.anchors[key] = done.usage
        return [done for *_, done in planned]

    def _case(self, name: str, case: NewCase) -> None:
        """Plan the note that asks, unless the pair was asked about or decided."""
        note_of = self.births.case(case, self.now)
        if note_of and not self._refused(name, note_of.path, note_of):
            self._put(name, note_of.path, note_of)

    # -- what is left to a person ------------------------------------------------------

    def _refused(self, name: str, key: str, step: Change) -> bool:
        """Whether a change to a note is not to be, now or at all (`X23`)."""
        if isinstance(known := self._changes.get(key), Create):
            if known != step:  # else a pass says again what it said in the round before
                self.put_off[step.path] = "it is made in this run"
            return True
        one = self.view.memories.get(key)
        if one and one.kept and not self._may_touch(name, one):
            # counted once, though it is asked in every round
            if (name, key) not in self._passed:
                self._passed.add((name, key))
                self.left[one.kept] += 1
            if (
                isinstance(step, Edit | Move)
                and one.proposable
                and name not in PORTIONED
                and _ends(step)
            ):
                self._propose(name, key, step)
            return True
        if (
            not isinstance(step, Create)
            and key in self.view.memories
            and not self._wanted(name, key, step)
        ):
            return True
        why = self._impossible(key, step)
        if why:
            self.put_off[step.path] = why
        return bool(why)

    def _may_touch(self, name: str, one: MemoryState) -> bool:
        """Whether a pass may change a memory that is a person's or that engram did not
        write.
        """
        if one.proposable and one.fact.id in (self.view.approved or ()):
            return True
        return name in (ASKED_FOR if one.foreign else OBEDIENT)

    def _propose(self, name: str, key: str, step: Edit | Move) -> None:
        """Note that a pass would end a memory that engram did not write; a bounded
        number of them.
        """
        proposed = self.proposed.setdefault(name, {})
        if (
            key in self.view.closed.get(name, ())
            or len(proposed) >= self.view.policy.consolidation.proposed
        ):
            return
        if key not in proposed and not self._impossible(key, step):
            to = step.to if isinstance(step, Move) else step.path
            proposed[key] = Action(name, key, step.path, to, step.why)

    def _impossible(self, key: str, step: Change) -> str | None:
        """Why a change cannot be made now, by a look at the disk and at what else is
        planned.
        """
        why = None
        if key not in self._changes and not isinstance(step, Create):
            if key not in self._checked:
                self._checked[key] = self._check(key, step)
            why = self._checked[key]
        return why or self._taken(step)

    def _wanted(self, name: str, key: str, step: Edit | Move) -> bool:
        """Whether a memory is among those that this run may touch, and in the portion
        that it may put away.
        """
        if self.view.approved is not None and key not in self.view.approved:
            return False
        if key in self.view.closed.get(name, ()):
            if (name, key) not in self._passed:
                self._passed.add((name, key))
                self.left["a person is asked about it, or said no"] += 1
            return False
        if self.portion is None or name not in PORTIONED or not _ends(step):
            return True
        away = sum(by in PORTIONED for by in self.ended.values())
        if key not in self.ended and away >= self.portion:
            self.later.setdefault(name, set()).add(key)
            self.put_off[step.path] = "it is put away in one of the next nights"
            return False
        return True

    def _check(self, key: str, step: Edit | Move) -> str | None:
        """Why the note is not to be touched now, by a look at the disk."""
        try:
            raw = self.vault.read(step.path)
        except EngramError as fault:
            return fault.what
        if disk.sha256(raw) != step.sha:
            return "it changed since it was last looked at"
        if key in self.view.memories:
            held = frontmatter.read(raw, self.view.policy.files)
            if held.problems:
                return f"{held.problems[0].message}: it is for a person to mend"
            if held.keys.get("id") != key:
                return "a note without an id of ours is its writer's alone"
        return self.quiet(step.path)

    def _may_amend(self, path: str) -> bool:
        """Whether a note that is no memory may be told something in: not one that
        engram neither wrote nor told in.
        """
        # what else engram tells in has no other writer
        theirs = path.startswith("entities/") or path == "profile.md"
        page = self.view.page(path) if theirs else None
        if page is None or not blocks.is_foreign(page):
            return True
        if ("", path) not in self._passed:
            self._passed.add(("", path))
            self.left[FOREIGN] += 1
        return False

    def _held(self, path: str) -> bool:
        """Whether a note that is no memory is not to be touched now, and why is told."""
        if path not in self._checked:
            self._checked[path] = self.quiet(path)
        if why := self._checked[path]:
            self.put_off[path] = why
        return bool(why)

    def _taken(self, step: Change) -> str | None:
        """Why a note cannot go where it is to go; never is anything renamed to make
        room.
        """
        target = (
            step.to
            if isinstance(step, Move)
            else step.path
            if isinstance(step, Create)
            else ""
        )
        if not target:
            return None
        try:
            taken = target in self._targets or self.vault.exists(target)
        except EngramError as fault:
            return fault.what
        return (
            f"another note has its name in {target.rpartition('/')[0]}"
            if taken
            else None
        )

    # -- the result --------------------------------------------------------------------

    def writes(self, edges: EdgeStore, most: int) -> list[PlannedWrite]:
        """The files as they are to be, state before notes; what would change nothing is
        left out.

        What does not fit into `most` replaced bytes is put off: it could not be taken
        back.
        """
        found: list[PlannedWrite] = []
        try:
            if self._faded:
                self._marks[EDGES] = FileWrite(
                    EDGES, edges.anew(self._faded.values()), ""
                )
            found += [
                write for mark in self._marks.values() if (write := self._marked(mark))
            ]
        except EngramError as fault:
            self.failures["state"] = str(fault)
        lost: set[str] = set()
        for path, steps in self._amended.items():
            try:
                found += self._told(path, steps)
            except EngramError as fault:
                self.put_off[path] = fault.what
        for key, change in sorted(
            self._changes.items(), key=lambda item: not isinstance(item[1], Create)
        ):
            try:
                found += self._changed(key, change)
            except EngramError as fault:
                self.put_off[change.path] = fault.what
                lost.add(key)
        kept, over = _within(found, most)
        self.put_off |= {
            write.step.before or write.step.after: "too much for one run"
            for write in over
        }
        lost |= {write.key for write in over}
        while (
            more := {key for key, together in self._bundles.items() if together & lost}
            - lost
        ):
            lost |= more
        self.put_off |= {
            write.step.before or write.step.after: TORN
            for write in kept
            if write.key in lost
        }
        kept = [write for write in kept if write.key not in lost]
        # how vectors are kept is nothing that is written here
        done = {"", *(write.key for write in kept)}
        self.deeds = [deed for deed in self.deeds if (deed.memory or deed.path) in done]
        return kept

    def _marked(self, mark: FileWrite) -> PlannedWrite | None:
        there = self.vault.exists(mark.path)
        raw = self.vault.read(mark.path) if there else b""
        new = mark.content or b""
        before, after = (
            mark.path if there else "",
            "" if mark.content is None else mark.path,
        )
        if (before, raw) == (after, new) or not (before or after):
            return None
        return PlannedWrite(mark.path, _step(before, after, raw, new), raw, new)

    def _told(self, path: str, steps: Iterable[BlockEdit]) -> list[PlannedWrite]:
        there = self.vault.exists(path)
        raw = new = self.vault.read(path) if there else b""
        for step in steps:
            new = blocks.amended(new, step, self.view.policy.files)
        return (
            []
            if new == raw
            else [
                PlannedWrite(
                    path, _step(path if there else "", path, raw, new), raw, new
                )
            ]
        )

    def _changed(self, key: str, change: Change) -> list[PlannedWrite]:
        together = frozenset(self._bundles.get(key, ()))
        if isinstance(change, Create):
            new = frontmatter.emit(change.keys, change.body)
            return [
                PlannedWrite(
                    key, _step("", change.path, b"", new), b"", new, change, together
                )
            ]
        raw = self.vault.read(change.path)
        if disk.sha256(raw) != change.sha:
            raise ConflictError(
                "it changed since it was last looked at", where=change.path
            )
        new = frontmatter.edit(raw, facts.keys_to_write(change), change.body)
        after = change.to if isinstance(change, Move) else change.path
        if (after, new) == (change.path, raw):
            return []
        return [
            PlannedWrite(
                key, _step(change.path, after, raw, new), raw, new, change, together
            )
        ]


def _ends(step: Edit | Move) -> bool:
    """Whether a memory is no longer active by this step, or lies in the trash."""
    gone = isinstance(step, Move) and step.to.startswith(f"{TRASH}/")
    return gone or step.keys.get("status", "active") != "active"


def _step(before: str, after: str, raw: bytes, new: bytes) -> FileStep:
    was, now = disk.sha256(raw) if before else "", disk.sha256(new) if after else ""
    return FileStep(before, after, was, now, len(new))


def _within(
    found: Iterable[PlannedWrite], most: int
) -> tuple[list[PlannedWrite], list[PlannedWrite]]:
    """What fits into so many bytes, in order, and what would have gone beyond them."""
    kept: list[PlannedWrite] = []
    over: list[PlannedWrite] = []
    for write in found:
        size = cost(write.step, write.raw)
        (kept if size <= most else over).append(write)
        most -= size if size <= most else 0
    return kept, over


def _joined(first: Change | None, then: Change) -> Change:
    """Two changes to one note as one; a new note has no change before it."""
    if first is None or isinstance(first, Create) or isinstance(then, Create):
        return then
    keys = {**first.keys, **then.keys}
    body = first.body if then.body is None else then.body
    to = (
        then.to
        if isinstance(then, Move)
        else first.to
        if isinstance(first, Move)
        else first.path
    )
    if to == first.path:
        return Edit(first.path, first.sha, keys, then.why, body)
    return Move(first.path, first.sha, to, keys, then.why, body)


def counts(deeds: Iterable[Action]) -> dict[str, int]:
    """How many deeds of each pass."""
    return dict(Counter(one.name for one in deeds))
