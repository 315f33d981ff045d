"""The plan of a run: all changes of its passes (rows X6, X22, X23).

They are collected before any of them is written. Each pass sees the changes of those
before it, and the passes are called again until none has a new change. The plan refuses
changes of notes that belong to a user, so that no pass needs to check this.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.records import (
    BlockEdit,
    Change,
    Create,
    Edge,
    Edit,
    Fact,
    Move,
    Usage,
    VectorStorage,
)
from engram.errors import EngramError, unexpected
from engram.maintenance.overlay import Overlay
from engram.maintenance.passes.view import (
    FOREIGN,
    TRASH,
    ChangeGroup,
    EdgeUpdate,
    FallenGround,
    FileWrite,
    Finding,
    MemoryState,
    ModelQuestion,
    NewCase,
    NewEdge,
    NewMemory,
    Pass,
    PassView,
    Step,
    VectorPrecision,
    ViewUpdate,
)
from engram.maintenance.report import Action, RunInterruptedError
from engram.maintenance.schedule import PORTIONED_PASSES
from engram.vault import blocks, disk, facts, frontmatter, reviews
from engram.vault.edges import EDGES, EdgeStore, edge_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import datetime

    from engram.core.actions import Proposal
    from engram.pipeline.write import NoteWriter
    from engram.vault.changes import Write


ROUNDS = 8
"""Maximum number of rounds of all passes; two are enough for the present passes."""

NEXT_NIGHTS = "it will be archived in one of the next nights"
DECLINED = "a user is asked about it, or has declined"

OBEDIENT = frozenset({"expire", "redate", "ticked", "unite", "join"})
"""Passes that follow words or keys written by a user, or a command: only they may change
a note that a user edited or confirmed.
"""

REQUESTED = frozenset({"ticked", "join"})
"""Passes requested by a user in the note itself, or by a command that names it: only
they may change a note that engram did not write.
"""


class RunPlan:
    """The changes of one run, on a view of the vault. Nothing is written.

    The passes of `skip` are not called. At most `portion` memories are archived; the
    others are `later`, by pass. `quiet` returns why the note at a path must not be
    changed now, or None.

    `ended` and `rewritten` have, by memory, the pass that ends or rewrites it.
    `proposed` has, by pass, the ends that are refused until a user approves them: those
    of notes that engram did not write, and of the `protected` memories of groups that
    ask.
    """

    def __init__(
        self,
        view: PassView,
        now: datetime,
        quiet: Callable[[str], str | None],
        note_writer: NoteWriter,
        *,
        skip: Collection[str] = (),
        portion: int | None = None,
    ) -> None:
        self.view = view
        self.now = now
        self.quiet = quiet
        self.note_writer = note_writer
        self.vault = note_writer.vault
        self.skip = skip
        self.portion = portion
        self.active_count = len(view.active())
        self.note_count = len(view.memories) + len(view.entities)

        self.actions: list[Action] = []
        self.findings: dict[tuple[str, str, str], Action] = {}
        self.questions: dict[str, ModelQuestion] = {}
        self.rejections: dict[tuple[str, str], Proposal] = {}
        self.failures: dict[str, str] = {}
        self.deferred: dict[str, str] = {}
        self.left_alone: Counter[str] = Counter()

        self.first_usage: dict[str, Usage] = {}
        self.reweighed: dict[str, Fact] = {}
        self.stored: dict[str, VectorStorage] = {}
        self.ended: dict[str, str] = {}
        self.rewritten: dict[str, str] = {}
        self.later: dict[str, set[str]] = {}
        self.proposed: dict[str, dict[str, Action]] = {}
        self.protected: set[str] = set()

        self._initial_view = view
        self._overlay = Overlay(self.vault, view.policy.files, view.zone)
        self._edges: dict[str, Edge] = {}
        self._groups: dict[str, set[str]] = {}
        self._targets: set[str] = set()
        self._checked: dict[str, str | None] = {}
        self._counted: set[tuple[str, str]] = set()

    def restarted(self, skip: Collection[str], portion: int | None) -> RunPlan:
        """Return an empty plan on the initial view of this one."""
        return RunPlan(
            self._initial_view,
            self.now,
            self.quiet,
            self.note_writer,
            skip=skip,
            portion=portion,
        )

    # -- collect -----------------------------------------------------------------------

    def plan(self, passes: Sequence[Pass]) -> None:
        """Call the passes in order until none has a new change.

        A pass that fails stops no other and is named in `failures`. A pass is called
        again only if the view has changed.
        """
        asked = [one for one in passes if one.__name__ not in self.skip]
        seen: dict[str, PassView] = {}
        for _ in range(ROUNDS):
            before = len(self.actions)
            for one in tuple(asked):
                name = one.__name__
                if seen.get(name) is self.view:
                    continue
                self.view.reader.begin(name)
                try:
                    steps = one(self.view, self.now)
                except RunInterruptedError:
                    raise
                except Exception as fault:  # noqa: BLE001
                    self.failures[name] = _error_text(name, fault)
                    asked.remove(one)
                else:
                    seen[name] = self.view
                    self._take(name, steps)
            if len(self.actions) == before:
                return

    def add(self, name: str, step: Create | Edit | FileWrite) -> None:
        """Plan a change that no pass made, unless a user is editing the note."""
        if isinstance(step, FileWrite):
            update = ViewUpdate()
            self._take_file(name, step, update)
            self.view = self.view.after(update)
        elif note := self._permitted(name, step.path, step):
            self._keep(name, step.path, step, note, ViewUpdate())

    def _take(self, name: str, steps: Iterable[Step]) -> None:
        """Plan the steps of a pass, except those on notes that belong to a user."""
        update = ViewUpdate()
        for step in steps:
            match step:
                case ModelQuestion() | Finding() | NewCase() | FallenGround():
                    self._take_message(name, step)
                case ChangeGroup():
                    self._take_changes(name, step, update)
                case NewMemory():
                    self._take_group(name, (step,), update)
                case FileWrite():
                    self._take_file(name, step, update)
                case EdgeUpdate() | NewEdge():
                    self._edges[edge_id(step.edge)] = step.edge
                    update.edges.append(step.edge)
                    self.actions.append(Action(name, "", EDGES, EDGES, step.why))
                case VectorPrecision():
                    self.stored |= step.stored
                    update.stored.update(step.stored)
                    self.actions.append(Action(name, "", "", "", step.why))
                case BlockEdit():
                    self._take_blocks(name, step, update)
                case _:
                    key = self.view.at.get(step.path, step.path)
                    if note := self._permitted(name, key, step):
                        self._keep(name, key, step, note, update)
        self.view = self.view.after(update)

    def _take_message(
        self, name: str, step: ModelQuestion | Finding | NewCase | FallenGround
    ) -> None:
        if isinstance(step, ModelQuestion):
            if step.key not in self.view.answers:
                self.questions[step.key] = step
        elif isinstance(step, Finding):
            found = Action(name, step.memory, step.path, "", step.why)
            self.findings[name, step.memory, step.why] = found
            if step.refused:
                self.rejections[step.memory, step.refused.action] = step.refused
        elif isinstance(step, FallenGround):
            given = step.turn, step.premise, step.resting, step.day
            self._take_question(name, reviews.fallen_note(*given, self.view.zone))
        else:
            zone = self.view.zone
            case = reviews.conflict_note(step.new, step.old, step.why, self.now, zone)
            self._take_question(name, case)

    def _take_question(self, name: str, case: Create) -> None:
        """Plan a note that asks the user, unless it did so before."""
        if not self.note_writer.is_new_question(case):
            return
        if note := self._permitted(name, case.path, case):
            self._keep(name, case.path, case, note, ViewUpdate())

    def _take_file(self, name: str, step: FileWrite, update: ViewUpdate) -> None:
        update.files[step.path] = step.content
        target = "" if step.content is None else step.path
        self.actions.append(Action(name, "", step.path, target, step.why))

    def _take_blocks(self, name: str, step: BlockEdit, update: ViewUpdate) -> None:
        """Plan an edit of generated blocks, unless the note belongs to a user."""
        path = step.path
        if self._is_busy(path) or self._is_foreign_page(path):
            return
        try:
            self._overlay.amend(step)
        except EngramError as fault:
            self.deferred[path] = fault.what
            return
        update.pages[path] = blocks.page_from(self._overlay.page(path))
        known = update.entities.get(path) or self.view.entities.get(path)
        if known:
            entity = self._overlay.entity(path, known.sha)
            if entity != known:
                update.entities[path] = None if entity.superseded else entity
        self.actions.append(Action(name, path, path, path, step.why))

    def _take_changes(self, name: str, group: ChangeGroup, update: ViewUpdate) -> None:
        if group.ask and not self._is_approved(group):
            self._ask_about(name, group)
        else:
            self._take_group(name, group.steps, update)

    def _take_group(
        self, name: str, steps: Iterable[Edit | Move | NewMemory], update: ViewUpdate
    ) -> None:
        """Plan all steps of a group, or none of them if one is refused."""
        planned: list[tuple[str, Change, Edit | Move | NewMemory]] = []
        for step in steps:
            if not isinstance(step, NewMemory):
                planned.append((self.view.at.get(step.path, step.path), step, step))
            elif step.fact.id in self._overlay.notes:  # planned in the round before
                return
            else:
                path = self.note_writer.path_of(step.fact, self._targets)
                fact = replace(step.fact, path=path)
                keys = facts.fact_keys(fact, self.view.zone)
                body = facts.fact_body(fact.text, fact.source)
                draft = Create(path, keys, body, step.why)
                planned.append((fact.id, draft, replace(step, fact=fact)))

        # check all steps, so that each refusal is recorded
        notes = [self._permitted(name, key, change) for key, change, _ in planned]
        if None in notes:
            return
        together = {key for key, *_ in planned}
        for (key, change, step), note in zip(planned, notes, strict=True):
            assert note is not None
            self._keep(name, key, change, note, update)
            self._groups.setdefault(key, set()).update(together)
            if isinstance(step, NewMemory):
                self.first_usage[key] = step.usage
                self._add_memory(key, step, update)

    def _keep(
        self,
        name: str,
        key: str,
        step: Change,
        note: Write,
        update: ViewUpdate,
    ) -> None:
        """Keep a permitted change of the note `key`."""
        known = self.view.memories.get(key)
        target = step.to if isinstance(step, Move) else step.path
        self.actions.append(Action(name, key, step.path, target, step.why))
        self._overlay.keep(note)
        if isinstance(step, Create):
            self._targets.add(target)
            return
        self._targets |= {target} - {step.path}
        if known is None:
            self._change_page(key, step, update)
            return
        if "confidence" in step.keys:
            self.reweighed.setdefault(key, known.fact)
        (self.ended if _ends(step) else self.rewritten).setdefault(key, name)
        self._change_memory(key, known, update)

    # -- read back ---------------------------------------------------------------------

    def _change_memory(self, key: str, known: MemoryState, update: ViewUpdate) -> None:
        fact = self._overlay.fact(key)
        if fact is None or fact.path.startswith(f"{TRASH}/"):
            update.memories[key] = None
            return
        before = (update.memories.get(key) or known).fact
        if before.status == "active" and fact.superseded_by != before.superseded_by:
            update.ended_by_status[fact.status] += 1
        update.memories[key] = replace(known, fact=fact)

    def _add_memory(self, key: str, step: NewMemory, update: ViewUpdate) -> None:
        fact = self._overlay.fact(key)
        if fact:
            trust = self.view.policy.trust.dream
            update.memories[key] = MemoryState(fact, step.usage, trust, said_by="dream")
            update.created_by_pass[step.by] += 1

    def _change_page(self, path: str, step: Edit | Move, update: ViewUpdate) -> None:
        """Read a changed session file or entity note from its planned bytes."""
        if isinstance(step, Move):
            update.entities[path] = None
        else:
            note = self._overlay.note(path)
            update.sessions[path] = note.keys, note.body

    # -- permission --------------------------------------------------------------------

    def _permitted(self, name: str, key: str, step: Change) -> Write | None:
        """Return the note `key` after `step`, or None if the change is refused (`X23`).

        The reason is recorded: in `deferred` by path, or as a number in `left_alone`.
        """
        if self._is_refused(name, key, step):
            return None
        why = self._impossible(key, step)
        if not why:
            try:
                return self._overlay.patched(key, step)
            except EngramError as fault:
                why = fault.what
        self.deferred[step.path] = why
        return None

    def _is_refused(self, name: str, key: str, step: Change) -> bool:
        """Return whether a pass may not make this change, and record the reason."""
        planned = self._overlay.notes.get(key)
        if planned and not planned.before:
            new = isinstance(step, Create) and frontmatter.emit(step.keys, step.body)
            if planned.new != new:  # equal if a pass repeats it in a new round
                self.deferred[step.path] = "it is made in this run"
            return True
        known = self.view.memories.get(key)
        if known is None or isinstance(step, Create):
            return False
        if known.kept and not self._may_touch(name, known):
            self._count(name, key, known.kept)
            if known.proposable and name not in PORTIONED_PASSES and _ends(step):
                self._propose(name, key, step)
            return True
        return not self._is_in_scope(name, key, step)

    def _may_touch(self, name: str, known: MemoryState) -> bool:
        """Return whether a pass may change a memory that belongs to a user."""
        if known.proposable and known.fact.id in (self.view.approved or ()):
            return True
        return name in (REQUESTED if known.foreign else OBEDIENT)

    def _is_in_scope(self, name: str, key: str, step: Edit | Move) -> bool:
        """Return whether this run may change a memory and its portion is not full."""
        if self.view.approved is not None and key not in self.view.approved:
            return False
        if key in self.view.closed.get(name, ()):
            self._count(name, key, DECLINED)
            return False
        if self.portion is None or name not in PORTIONED_PASSES or not _ends(step):
            return True
        put_away = sum(by in PORTIONED_PASSES for by in self.ended.values())
        if key not in self.ended and put_away >= self.portion:
            self.later.setdefault(name, set()).add(key)
            self.deferred[step.path] = NEXT_NIGHTS
            return False
        return True

    def _ends_of(self, group: ChangeGroup) -> dict[str, Edit | Move]:
        """Return the steps of a group that end a memory, by memory id."""
        return {
            self.view.at.get(step.path, step.path): step
            for step in group.steps
            if not isinstance(step, NewMemory) and _ends(step)
        }

    def _is_approved(self, group: ChangeGroup) -> bool:
        approved = self.view.approved
        return approved is not None and self._ends_of(group).keys() <= set(approved)

    def _ask_about(self, name: str, group: ChangeGroup) -> None:
        """Propose the ends of a group, all of them or none (law 12).

        Nothing is proposed if a question about one of them, from any pass, is open.
        """
        ends, known = self._ends_of(group), self.proposed.get(name, {})
        others = {**self.view.closed, **self.proposed, name: ()}
        asked = {key for keys in others.values() for key in keys}
        asked.update(self.view.closed.get(name, ()))
        if closed := asked & ends.keys():
            for key in closed:
                self._count(name, key, DECLINED)
            return
        full = len(known.keys() | ends.keys()) > self.view.policy.consolidation.proposed
        busy = any(self._impossible(key, step) for key, step in ends.items())
        if full or busy or self.view.approved is not None:
            return
        into = "".join(
            f": “{step.fact.text}”"
            for step in group.steps
            if isinstance(step, NewMemory)
        )
        for key, step in ends.items():
            self._propose(name, key, replace(step, why=f"{step.why}{into}"))
        self.protected |= ends.keys()

    def _propose(self, name: str, key: str, step: Edit | Move) -> None:
        """Record an end of a memory that a user has to approve.

        At most `policy.consolidation.proposed` memories for each pass.
        """
        proposed = self.proposed.setdefault(name, {})
        limit = self.view.policy.consolidation.proposed
        if key in self.view.closed.get(name, ()) or len(proposed) >= limit:
            return
        if key not in proposed and not self._impossible(key, step):
            target = step.to if isinstance(step, Move) else step.path
            proposed[key] = Action(name, key, step.path, target, step.why)

    def _impossible(self, key: str, step: Change) -> str | None:
        """Return why a change cannot be made now, by the disk and the plan, or None."""
        if not isinstance(step, Create) and key not in self._overlay.notes:
            if key not in self._checked:
                self._checked[key] = self._check(key, step)
            if why := self._checked[key]:
                return why
        return self._name_conflict(step)

    def _check(self, key: str, step: Edit | Move) -> str | None:
        """Return why the note on disk must not be changed now, or None."""
        try:
            raw = self.vault.read(step.path)
        except EngramError as fault:
            return fault.what
        if disk.sha256(raw) != step.sha:
            return "it changed since it was last read"
        if key in self.view.memories:
            note = frontmatter.read(raw, self.view.policy.files)
            if note.problems:
                return f"{note.problems[0].message}: a user has to repair it"
            if note.keys.get("id") != key:
                return "engram does not change a note without an id of its own"
        return self.quiet(step.path)

    def _name_conflict(self, step: Change) -> str | None:
        """Return why a note cannot have its new path, or None."""
        if isinstance(step, Edit):
            return None
        target = step.to if isinstance(step, Move) else step.path
        try:
            taken = target in self._targets or self.vault.exists(target)
        except EngramError as fault:
            return fault.what
        folder = target.rpartition("/")[0]
        return f"another note has its name in {folder}" if taken else None

    def _is_foreign_page(self, path: str) -> bool:
        """Return whether a note that is no memory belongs to a user, without any block."""
        # only engram writes the other notes with generated blocks
        if not path.startswith("entities/") and path != "profile.md":
            return False
        page = self.view.page(path)
        if page is None or not blocks.is_user_page(page):
            return False
        self._count("", path, FOREIGN)
        return True

    def _is_busy(self, path: str) -> bool:
        """Return whether a note was edited just now, and record the reason."""
        if path not in self._checked:
            self._checked[path] = self.quiet(path)
        if why := self._checked[path]:
            self.deferred[path] = why
        return bool(why)

    def _count(self, name: str, key: str, why: str) -> None:
        """Count a memory or note that a pass leaves to a user, once."""
        if (name, key) not in self._counted:
            self._counted.add((name, key))
            self.left_alone[why] += 1

    # -- the writes --------------------------------------------------------------------

    def writes(self, edges: EdgeStore) -> list[Write]:
        """Return the files to write, state before notes; keep only their `actions`."""
        found: list[Write] = []
        try:
            files = dict(self.view.written)
            if self._edges:
                files[EDGES] = edges.with_edges(self._edges.values())
            found += self._overlay.file_writes(files)
        except EngramError as fault:
            self.failures["state"] = str(fault)
        found += self._overlay.page_writes()
        found += self._overlay.note_writes(self._groups)
        found = [write for write in found if write.is_change]

        # '': the precision of vectors is in no file
        done = {"", *(write.key for write in found)}
        self.actions = [
            action for action in self.actions if (action.memory or action.path) in done
        ]
        return found


def _error_text(name: str, fault: Exception) -> str:
    known = fault if isinstance(fault, EngramError) else unexpected(name, fault)
    return str(known)


def _ends(step: Edit | Move) -> bool:
    """Return whether a memory is no longer active after this step."""
    if isinstance(step, Move) and step.to.startswith(f"{TRASH}/"):
        return True
    return step.keys.get("status", "active") != "active"
