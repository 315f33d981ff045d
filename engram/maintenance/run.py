"""Consolidation: the passes in their cadences, and the one that runs them (rows X6,
X10, X22, X23; design §5).

A run is planned whole, checked against the disk and against a person's word; what it
will replace is kept, and only then is it applied. A dry run is the same up to that
point. A second run at the same instant changes no byte.
"""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from engram.core import jsonl
from engram.core.records import Create
from engram.core.text import ulid
from engram.errors import BadRequestError, ConflictError, EngramError, NotFoundError
from engram.maintenance import holds
from engram.maintenance.births import NoteDrafts
from engram.maintenance.forecast import forecast
from engram.maintenance.passes import (
    entities,
    insight,
    lifecycle,
    merge,
    profiles,
    sessions,
    stories,
    todos,
    vectors,
)
from engram.maintenance.plan import TORN, Action, PlannedWrite, Report, RunPlan, counts
from engram.maintenance.schedule import CADENCES
from engram.maintenance.snapshot import RUNS, Snapshot
from engram.pipeline.write import deed
from engram.vault import disk, frontmatter, reviews
from engram.vault import undo as vault_undo
from engram.vault.store import ACTIONS, HASHES

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from datetime import datetime

    from engram.core.actions import Proposal
    from engram.core.policy import ConsolidationPolicy
    from engram.core.records import Stored
    from engram.maintenance.clock import FreezeGuard
    from engram.maintenance.passes import ModelQuestion, Pass
    from engram.maintenance.schedule import Cadence
    from engram.pipeline.entities import EntityWriter
    from engram.pipeline.usage import UsageTracker
    from engram.pipeline.write import NoteWriter
    from engram.vault.git import Git


LIGHT: tuple[Pass, ...] = (
    merge.merge,
    merge.compare,
    entities.unite,
    entities.retire,
    entities.describe,
    entities.relate,
    profiles.profile,
    entities.cleanup,
    lifecycle.expire,
    lifecycle.topics,
    insight.guidelines,
)
NIGHTLY: tuple[Pass, ...] = (
    lifecycle.promote,
    lifecycle.expire,
    lifecycle.archive,
    lifecycle.revive,
    vectors.tier,
    vectors.precision,
    merge.merge,
    merge.contradict,
    insight.cluster,
    insight.fold,
    insight.principles,
    insight.integrate,
    entities.unite,
    entities.retire,
    entities.subjects,
    entities.describe,
    entities.relate,
    entities.cards,
    entities.bridges,
    insight.probe,
    insight.drift,
    stories.storylines,
    profiles.profile,
    profiles.identity,
    entities.cleanup,
    lifecycle.topics,
    lifecycle.logs,
)
WEEKLY: tuple[Pass, ...] = (
    stories.macros,
    entities.cleanup,
    insight.guidelines,
    lifecycle.edges,
)
TALK: tuple[Pass, ...] = (
    todos.ticked,
    todos.promises,
    sessions.rolling,
    sessions.episodes,
    sessions.summary,
    sessions.spine,
)
ASKED: tuple[Pass, ...] = (merge.reflect,)
"""What is done only where somebody asks for it by name."""
PASSES: Mapping[Cadence, tuple[Pass, ...]] = {
    "talk": TALK,
    "light": LIGHT,
    "nightly": (*TALK, *NIGHTLY),
    "weekly": WEEKLY,
}
"""What is done in which cadence, in this order (rows C34, D9; design of the model §5).
"""


@contextmanager
def _uncollected() -> Iterator[None]:
    """The collector of cycles rests: a view has none, and walking it again and again
    takes long.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Maintenance:
    """Puts one vault in order and takes that back. Belongs to the one writer.

    `freeze` says whether anything may be believed gone or aged; `git` is the vault's
    repository.
    """

    def __init__(
        self,
        note_writer: NoteWriter,
        usage_tracker: UsageTracker,
        entity_writer: EntityWriter,
        clock: Callable[[], datetime],
        freeze: FreezeGuard,
        git: Git | None = None,
    ) -> None:
        self.note_writer = note_writer
        self.vault, self.index, self.settings = (
            note_writer.vault,
            note_writer.index,
            note_writer.settings,
        )
        self.usage_tracker = usage_tracker
        self.entity_writer, self.edges = entity_writer, entity_writer.edges
        self.clock = clock
        self.frozen = freeze.reason
        self.git = git
        self.snapshot = Snapshot(note_writer, usage_tracker, entity_writer)
        self.holds = holds.Holds(
            self.vault, self.settings.zone, ask=self.settings.holds == "ask"
        )
        self.history = vault_undo.UndoHistory(
            self.settings.state / "history", self._limits.history_bytes
        )

    # -- a run -------------------------------------------------------------------------

    def run(
        self, cadence: Cadence, *, dry_run: bool = False, only: str | None = None
    ) -> Report:
        """Make a run of this cadence, or of its pass `only`; with `dry_run` say what it
        would do (rows X6, X10).
        """
        return self._run(cadence, cadence, _chosen(cadence, only), dry_run=dry_run)

    def prune(self, threshold: float, *, dry_run: bool = False) -> Report:
        """Give up what a person asks to: all that nothing protects below this effective
        confidence, 0–1 (`A24`).

        The command is the person's word, so nothing of it is held.
        """
        return self._run(
            "nightly",
            "prune",
            (lifecycle.pruning(threshold),),
            dry_run=dry_run,
            held=False,
        )

    @_uncollected()
    def _run(
        self,
        cadence: Cadence,
        name: str,
        passes: Sequence[Pass],
        *,
        dry_run: bool,
        held: bool = True,
    ) -> Report:
        """A run under `name`, which sees what a run of this cadence sees; `held` where
        it is beyond its bounds.
        """
        now = self.clock()
        if why := self.frozen() or (
            "" if self.index.known else "the vault is still being read"
        ):
            return Report("", name, now, now, frozen=why, dry_run=dry_run)
        failures = (
            {}
            if dry_run
            else self._flushed(now, compact=cadence in {"nightly", "weekly"})
        )
        if held:
            draft = self._planned(cadence, passes, now)
        else:
            draft = self._draft(cadence, now)
            draft.plan(passes)
        return self._done(draft, name, now, failures, dry_run=dry_run)

    def _done(
        self,
        draft: RunPlan,
        name: str,
        now: datetime,
        failures: dict[str, str],
        *,
        dry_run: bool = False,
    ) -> Report:
        """What is planned, carried out under `name` unless it is a `dry_run`."""
        writes = draft.writes(self.edges, self._limits.history_bytes)
        failures |= draft.failures
        run = self._id(now, name)
        if not dry_run:
            failures |= self._carried_out(run, name, now, writes, draft.deeds, failures)
            failures |= self._stored(draft.stored)
            failures |= self._begun(draft, now)
            self.note_writer.explain(list(self._refused(run, now, draft.refused)))
        unasked = dict(Counter(ask.task for ask in draft.questions.values()))
        done = (tuple(draft.deeds), draft.put_off, dict(draft.left), failures)
        seen = (unasked, tuple(draft.told.values()), draft.held, tuple(draft.holding))
        return Report(
            run if writes else "",
            name,
            now,
            self.clock(),
            *done,
            *seen,
            dry_run=dry_run,
        )

    @_uncollected()
    def questions(
        self, cadence: Cadence, only: str | None = None
    ) -> list[ModelQuestion]:
        """What a run would ask a model now; the answers belong into `snapshot.answers`,
        and may lead to more questions.
        """
        if self.frozen() or not self.index.known:
            return []
        return list(
            self._planned(
                cadence, _chosen(cadence, only), self.clock()
            ).questions.values()
        )

    def _planned(
        self, cadence: Cadence, passes: Sequence[Pass], now: datetime
    ) -> RunPlan:
        return self.holds.bounded(
            lambda draft: draft.plan(passes), self._draft(cadence, now), passes
        )

    def _draft(
        self, cadence: Cadence, now: datetime, approved: Collection[str] | None = None
    ) -> RunPlan:
        """An empty draft; with `approved` on nothing but these memories, of which a
        person was asked.
        """
        closed = self.holds.closed() if approved is None else {}
        view = replace(
            self.snapshot.view(now, cadence), closed=closed, approved=approved
        )
        return RunPlan(
            view,
            now,
            self.vault,
            self.snapshot.quiet(now),
            NoteDrafts(self.note_writer),
        )

    @_uncollected()
    def settle(self, held: str, *, apply: bool) -> None:
        """Carry out what a held pass was about, planned anew, or never do it (law 6 of
        the model).

        It is a run with an id of its own, which can be undone. Raises ConflictError
        where it cannot be made now; the note that asked stays then.
        """
        cadence = next(
            (
                one
                for one in CADENCES
                if any(each.__name__ == held for each in PASSES[one])
            ),
            None,
        )
        if apply and cadence and (waiting := self.holds.waiting().get(held)):
            now = self.clock()
            if why := self.frozen() or (
                "" if self.index.known else "the vault is still being read"
            ):
                raise ConflictError(
                    f"nothing is done to memories now: {why}", where=holds.path_of(held)
                )
            draft = self._draft(cadence, now, frozenset(waiting))
            draft.plan(_chosen(cadence, held))
            report = self._done(draft, cadence, now, self._flushed(now, compact=False))
            if report.failures:
                raise ConflictError(
                    "; ".join(report.failures.values()), where=holds.path_of(held)
                )
        self.holds.answered(held, rejected=not apply)

    def _begun(self, draft: RunPlan, now: datetime) -> dict[str, str]:
        """What the use of memories starts with that were made just now is written down;
        and what that of those is worth now whose confidence changed, by which salience
        fades (rows A10, B6).
        """
        try:
            self.usage_tracker.usage_log.note(
                {
                    name: usage
                    for name, usage in draft.anchors.items()
                    if self.index.fact(name)
                }
            )
            for fact in draft.reweighed.values():
                self.usage_tracker.anchored(fact, now)
            self.usage_tracker.flush()
        except EngramError as fault:
            return {"usage": str(fault)}
        return {}

    def _flushed(self, now: datetime, *, compact: bool) -> dict[str, str]:
        """What was seen of memories in use is written down first (`A19`)."""
        try:
            self.usage_tracker.flush()
            self.usage_tracker.refresh(now)
            if compact:
                self.usage_tracker.compact(now)
        except EngramError as fault:
            return {"usage": str(fault)}
        return {}

    def _id(self, now: datetime, cadence: str) -> str:
        """The run's id: of two at one instant each has its own."""
        kept = set(self.history.runs())
        number = 0
        while (run := ulid(now, f"{cadence}\n{number}")) in kept:
            number += 1
        return run

    def _refused(
        self, run: str, now: datetime, refused: Mapping[tuple[str, str], Proposal]
    ) -> Iterator[dict[str, object]]:
        """The rows about what was proposed and refused, those that the log does not
        have yet (`C22`).
        """
        for (memory, action), one in refused.items():
            said = {"action": action, "reason": one.why} | one.row
            if not any(
                said.items() <= row.items() for row in self.vault.actions_of(memory)
            ):
                yield (
                    deed(now, action, memory, one.why, by="engram")
                    | {"outcome": "skipped", "run": run}
                    | one.row
                )

    # -- carrying out ------------------------------------------------------------------

    def _carried_out(
        self,
        run: str,
        cadence: str,
        now: datetime,
        writes: Sequence[PlannedWrite],
        deeds: Sequence[Action],
        failures: Mapping[str, str],
    ) -> dict[str, str]:
        """Keep what will be replaced, write, and record the run; what failed, by path."""
        met: dict[str, str] = {}
        if writes:
            try:
                self.history.keep(
                    run,
                    [write.step for write in writes],
                    {write.step.was: write.raw for write in writes},
                )
            except EngramError as fault:
                return {"history": str(fault)}
            met = self._written(run, now, writes, deeds)
            lost = (one for one in deeds if one.memory and one.path in met)
            failed = (
                deed(now, one.name, one.memory, met[one.path], by="engram")
                for one in lost
            )
            self.note_writer.explain(
                [row | {"outcome": "failed", "run": run} for row in failed]
            )
            self.note_writer.seed()
            self.entity_writer.wrote(path for write in writes for path in _paths(write))
        if writes or failures:
            stands = [one for one in deeds if one.path not in met]
            met |= self._record(run, cadence, now, stands, {**failures, **met})
        if writes:
            self.history.finished(run)
            done = ", ".join(
                f"{name} {number}" for name, number in counts(deeds).items()
            )
            met |= self._committed(
                [path for write in writes for path in _paths(write)],
                f"{cadence}, {done}",
                run,
            )
        return met

    def _written(
        self,
        run: str,
        now: datetime,
        writes: Sequence[PlannedWrite],
        deeds: Iterable[Action],
    ) -> dict[str, str]:
        """State first, then the notes, some at a time; what failed, by path."""
        rows: dict[str, list[dict[str, object]]] = {}
        for write in writes:
            if (
                isinstance(write.change, Create)
                and write.change.keys.get("kind") != reviews.KIND
            ):
                why = f"made in a run: {write.change.why}"
                rows[write.key] = [
                    deed(now, "create", write.key, why, by="engram") | {"run": run}
                ]
        for one in deeds:
            row = deed(now, one.name, one.memory, one.why, by="engram") | {"run": run}
            rows.setdefault(one.memory, []).append(row)
        notes = [write for write in writes if write.change is not None]
        torn: set[str] = set()
        failures = self._put([write for write in writes if write.change is None])
        for some in self._together(notes):
            try:
                self._filed(some, rows)
            except (
                EngramError
            ):  # what stands is known again, the rest is tried one by one
                for write in some:
                    met = (
                        {_place(write): TORN}
                        if write.key in torn
                        else self._alone(write, rows)
                    )
                    torn |= write.together if met else set()
                    failures |= met
        return failures

    def _filed(
        self,
        some: Sequence[PlannedWrite],
        rows: Mapping[str, Sequence[Mapping[str, object]]],
    ) -> None:
        changes = [write.change for write in some if write.change is not None]
        told = [row for write in some for row in rows.get(write.key, ())]
        self.note_writer.write(
            changes, told, {_place(write): write.new for write in some}
        )

    def _alone(
        self, write: PlannedWrite, rows: Mapping[str, Sequence[Mapping[str, object]]]
    ) -> dict[str, str]:
        try:
            held = vault_undo.settled(self.vault, [write.step])
            if held:
                self.index.wrote(held)
                self.note_writer.explain(list(rows.get(write.key, ())))
            else:
                self._filed([write], rows)
        except EngramError as fault:
            return {_place(write): str(fault)}
        return {}

    def _put(self, writes: Sequence[PlannedWrite]) -> dict[str, str]:
        """Write files as they are to be, some at a time, durably; what failed, by path."""
        failures: dict[str, str] = {}
        for some in self._together(writes):
            held, pending, unsure = (
                dict[str, bytes](),
                disk.DeferredSyncs(),
                list[str](),
            )
            for write in some:
                try:
                    held |= vault_undo.put(self.vault, write.step, write.new, pending)
                except EngramError as fault:
                    failures[_place(write)] = str(fault)
                    # must be known all the same
                    held |= (stands := vault_undo.settled(self.vault, [write.step]))
                    # a person's edit is for a rescan to tell
                    if not isinstance(fault, ConflictError):
                        unsure += [path for path in _paths(write) if path not in stands]
            for finish in (
                partial(disk.sync, pending),
                partial(self.note_writer.took, held, unsure),
            ):
                try:
                    finish()
                except EngramError as fault:
                    failures = dict.fromkeys(map(_place, some), str(fault)) | failures
        return failures

    def _together(
        self, writes: Sequence[PlannedWrite]
    ) -> Iterator[Sequence[PlannedWrite]]:
        """So many at a time that their folders are made durable once, and the index
        told.
        """
        size = self._limits.together
        return (writes[start : start + size] for start in range(0, len(writes), size))

    def _stored(self, stored: Mapping[str, Stored]) -> dict[str, str]:
        """Vectors are derived: this is no part of what a run writes down and can be
        taken back.
        """
        try:
            self.index.store(stored)
        except EngramError as fault:
            return {"vectors": str(fault)}
        return {}

    def _record(
        self,
        run: str,
        cadence: str,
        now: datetime,
        deeds: Sequence[Action],
        failures: Mapping[str, str],
    ) -> dict[str, str]:
        """One line about the run; what this met, if anything."""
        at, ended = (when.isoformat(timespec="seconds") for when in (now, self.clock()))
        row: dict[str, object] = {
            "id": run,
            "at": at,
            "cadence": cadence,
            "ended": ended,
            "counts": counts(deeds),
        }
        if failures:
            row["failures"] = dict(failures)
        try:
            self.vault.append(RUNS, jsonl.encode([row]))
        except EngramError as fault:
            return {RUNS: str(fault)}
        return {}

    def _committed(
        self, paths: Iterable[str], subject: str, run: str
    ) -> dict[str, str]:
        if self.git is None:
            return {}
        try:
            self.git.commit(
                [*paths, ACTIONS, RUNS, HASHES, self.usage_tracker.usage_log.path],
                subject,
                "consolidate",
                run,
            )
        except EngramError as fault:
            return {"git": str(fault)}
        return {}

    def recover(self) -> None:
        """Finish with a run that was cut short; before the vault is compared with the
        catalogue.

        Else what the run did would pass for a person's doing.
        """
        if run := self.history.unfinished():
            try:
                self.index.wrote(
                    vault_undo.settled(self.vault, self.history.load(run).steps)
                )
            except EngramError as fault:
                self.note_writer.health.report("history", str(fault))
            self._record(run, "", self.clock(), (), {"run": "it was cut short"})
            self.history.finished(run)

    # -- taking back -------------------------------------------------------------------

    def undo(self, name: str, *, dry_run: bool = False) -> Report:
        """Take a run back, byte for byte; what a person changed since stays (`X6`).

        `name` is the run's id or an unambiguous beginning of it. That is a run itself,
        and can be taken back. Memories that it had put away are a person's from now on.
        Raises NotFoundError, ConflictError.
        """
        now, kept = self.clock(), self._kept_run(name)
        way = vault_undo.back(self.vault, kept)
        run = self._id(now, "undo")
        writes = [
            PlannedWrite(_id_in(new or raw), step, raw, new)
            for step, new in way.steps
            for raw in [way.replaced.get(step.was, b"")]
        ]
        deeds = [
            Action(
                "undo",
                write.key,
                write.step.before,
                write.step.after,
                f"a person took back run {kept.run}",
            )
            for write in writes
        ]
        failures: dict[str, str] = {}
        if writes and not dry_run:
            self.history.keep(run, [write.step for write in writes], way.replaced)
            failures |= self._put(writes)
            back = {write.key for write in writes if _returned(write)}
            stood = [one for one in deeds if one.memory and one.path not in failures]
            self.note_writer.explain([_told(now, one, run, back) for one in stood])
            self.note_writer.seed()
            failures |= self._record(run, "undo", now, deeds, failures)
            self.history.finished(run)
            failures |= self._committed(
                [path for write in writes for path in _paths(write)],
                f"undo {kept.run}",
                run,
            )
        ended = self.clock()
        return Report(
            run if writes else "",
            "undo",
            now,
            ended,
            tuple(deeds),
            way.stays,
            {},
            failures,
            dry_run=dry_run,
        )

    def _kept_run(self, name: str) -> vault_undo.RecordedRun:
        """The run from the history, or from git where it is no longer kept."""
        try:
            return self.history.load(self.history.find(name))
        except NotFoundError:
            if self.git is None:
                raise
            return self.git.run_kept(name.upper())

    # -- looking ahead -----------------------------------------------------------------

    def forecast(self, days: int, points: int = 0) -> list[dict[str, Any]]:
        """What will become of memories within `days` days if nobody touches them, the
        soonest first (`X10`).
        """
        now = self.clock()
        return forecast(self.snapshot.view(now), now, days, points)

    @property
    def _limits(self) -> ConsolidationPolicy:
        return self.settings.policy.consolidation


def _chosen(cadence: Cadence, only: str | None) -> tuple[Pass, ...]:
    """The passes of a cadence, or the one that is asked for."""
    if only is None:
        return PASSES[cadence]
    known = {
        one.__name__: one for passes in (*PASSES.values(), ASKED) for one in passes
    }
    if only not in known:
        raise BadRequestError(
            f"there is no pass {only!r}", fix=f"Use one of: {', '.join(known)}."
        )
    return (known[only],)


def _place(write: PlannedWrite) -> str:
    """Where a file stands before it is written, or else afterwards."""
    return write.step.before or write.step.after


def _paths(write: PlannedWrite) -> list[str]:
    return [
        path for path in dict.fromkeys((write.step.before, write.step.after)) if path
    ]


def _id_in(raw: bytes) -> str:
    """The id of the memory whose note this is, '' for anything else."""
    name = frontmatter.read(raw).keys.get("id")
    return name if isinstance(name, str) else ""


def _returned(write: PlannedWrite) -> bool:
    """Whether a memory comes back from where it was put, or out of the tie to what took
    its place.
    """
    if not write.step.after or write.step.before != write.step.after:
        return bool(write.step.after)
    was, now = frontmatter.read(write.raw).keys, frontmatter.read(write.new).keys
    return any(
        was.get(key) != now.get(key)
        for key in ("status", "supersedes", "superseded_by")
    )


def _told(
    now: datetime, one: Action, run: str, back: Collection[str]
) -> dict[str, object]:
    """The row of the action log; where a memory comes `back`, that is a person's word
    on it.
    """
    return deed(now, "edit" if one.memory in back else "undo", one.memory, one.why) | {
        "run": run
    }
