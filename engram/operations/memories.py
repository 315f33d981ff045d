"""Deeds: what people do with single memories, by a call or by hand in their notes (rows
A1, A26, C5, D8, X8).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any

from engram.core import actions, classify, decay, dedup, graph, lifecycle, todos, trust
from engram.core import importance as core_importance
from engram.core.categories import CATEGORIES, PLAIN, category_of
from engram.core.forgetting import Spoken
from engram.core.language.permanent_attributes import REMEMBER_TAG
from engram.core.language.secrets import redact
from engram.core.records import REMEMBERED, Edit, Fact, FiledTurn, Move
from engram.core.text import ulid
from engram.errors import (
    BadRequestError,
    ConflictError,
    EngramError,
    ForbiddenError,
    NotFoundError,
)
from engram.extraction.rules import engine
from engram.ingest import intake as ingest_intake
from engram.pipeline.forgetting import FORGOTTEN
from engram.pipeline.write import KNOWN, deed
from engram.recall import formatting
from engram.vault import facts
from engram.vault.formats import time_text
from engram.vault.store import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from engram.core.records import Candidate, Change, Turn
    from engram.index.update import EditedFact
    from engram.operations.review import ReviewQueue
    from engram.pipeline.reconcile import Reconciler
    from engram.pipeline.usage import UsageTracker


YOU_ASKED = "the user asked"
UNDO = "this was forgotten; `engram restore {}` brings it back"
_ACTIVE: dict[str, object] = {"status": "active", "end_reason": None}
REWORDED = "the first turn was said before the statement was put in these words"


class MemoryOperations:
    """The operations on single memories. `show` and `why` may be called from any
    thread, the rest by the writer.

    `look` takes in what changed at some paths.
    """

    def __init__(
        self,
        reconciler: Reconciler,
        review_queue: ReviewQueue,
        usage_tracker: UsageTracker,
        intake: ingest_intake.Intake,
        clock: Callable[[], datetime],
        look: Callable[[Collection[Path]], object],
    ) -> None:
        self.reconciler = reconciler
        self.review_queue = review_queue
        self.usage_tracker = usage_tracker
        self.intake = intake
        self.forgetting = reconciler.forgetting
        self.note_writer, self.vault, self.index, self.settings = (
            reconciler.note_writer,
            reconciler.vault,
            reconciler.index,
            reconciler.settings,
        )
        self.clock = clock
        self.look = look

    # -- by a call ---------------------------------------------------------------------

    def remember(
        self,
        text: str,
        category: str | None,
        about: list[str] | None,
        tags: list[str] | None,
        importance: float | None,
        persona: str | None,
        *,
        pinned: bool,
        expires: str | None,
        standing: str = "chat",
    ) -> dict[str, Any]:
        """Keep a statement of the user's: the words as a turn, the statement as a fact
        (rows A1, A12, C5).
        """
        now = self.clock()
        if category is not None and category not in CATEGORIES:
            raise BadRequestError(
                f"there is no category {category!r}",
                fix=f"Use one of: {', '.join(CATEGORIES)}.",
            )
        raw = {"text": text, "session": REMEMBERED, "persona": persona}
        turn = ingest_intake.turn_from(
            raw, now, self.settings, self._turn_id(text, now), standing
        )
        _allowed(turn, category, pinned=pinned)
        if trust.source_class(turn) != "user" and self.index.tombstones.forgotten.hides(
            turn.text, Spoken(now)
        ):
            raise ForbiddenError(FORGOTTEN, fix="Let the user say it.")
        until = (
            None
            if expires is None
            else ingest_intake.moment(expires, self.settings.zone, end=True)
        )
        if known := self.note_writer.twin(turn.text, turn.persona, now):
            keys = self.note_writer.confirmed(known)
            changes = [Edit(known.path, known.sha, keys, "confirmed")] if keys else []
            self.note_writer.write(
                changes, [deed(now, "confirm", known.id, "same statement")]
            )
            return self._again(known.id, KNOWN, turn, pinned=pinned)
        guess = self._guess(turn)
        category = category or (guess.category if guess else PLAIN)
        named = _written(about) or (guess.about if guess else ())
        tags = _written(tags)
        policy = self.settings.policy.importance
        with self.intake.place(turn) as place:
            (evidence,) = self.note_writer.file_turns([place])
        fact = Fact(
            id=ulid(now, evidence.key),
            text=turn.text,
            category=category,
            kind=classify.kind_of(turn.text, category, tags)[0],
            created=turn.occurred_at,
            importance=classify.importance_of(turn.text, category, tags, policy)[0]
            if importance is None
            else importance,
            about=self.reconciler.entity_writer.linked(
                redact(name, self.settings.redact).text for name in named
            ),
            tags=tuple(redact(tag, self.settings.redact).text for tag in tags),
            source=evidence.key,
            origin="user",
            pinned=pinned,
            expires=until,
            persona=turn.persona,
        )
        self.forgetting.lift([evidence], now, asked=True)
        verdict, asked = self.reconciler.keep(
            fact, turn, deed(now, "store", fact.id, "asked to remember")
        )
        if verdict.met:
            return self._again(verdict.met, verdict.why, turn, pinned=pinned)
        path = self.index.catalog.find_fact(fact.id).path
        became = "waits in review" if verdict.action == "review" else "created"
        told = {
            "id": fact.id,
            "path": path,
            "verdict": became,
            "why": verdict.why,
            "category": category,
        }
        return told | (
            {"case": dict(zip(("id", "path"), asked[0], strict=True))} if asked else {}
        )

    def _again(
        self, known: str, why: str, turn: Turn, *, pinned: bool
    ) -> dict[str, Any]:
        """The answer where a statement is known already; from now on its note says that
        the user asked to keep it.

        Where the note cannot be changed `why` tells so.
        """
        fact = self._found(known)
        heard = (
            trust.source_class(turn) == "user" and fact.source and fact.origin != "user"
        )
        if heard and REMEMBER_TAG not in fact.tags:
            refused = self._refused(
                fact, {"tags": [*fact.tags, REMEMBER_TAG]}, "keep", YOU_ASKED
            )
            why = f"{why}; {fact.path} was not changed: {refused}" if refused else why
        if pinned:
            self.update(known, pinned=True)
        return {"id": known, "verdict": "confirmed", "why": why}

    def correct(self, id: str, text: str) -> dict[str, Any]:  # noqa: A002
        """Replace what a memory says; the old statement does not come back (X8)."""
        fact, now = self._found(id), self.clock()
        raw = {"text": text, "session": REMEMBERED, "persona": fact.persona}
        turn = ingest_intake.turn_from(
            raw, now, self.settings, self._turn_id(text, now)
        )
        with self.intake.place(turn) as place:
            (evidence,) = self.note_writer.file_turns([place])
        return self.review_queue.correct(fact, turn.text, now, evidence.key)

    def confirm(self, id: str) -> dict[str, Any]:  # noqa: A002
        """Say that it is so (A8, C24)."""
        return self.review_queue.confirm(self._found(id), self.clock())

    def dispute(self, id: str) -> dict[str, Any]:  # noqa: A002
        """Say that it is doubtful (C24)."""
        return self.review_queue.dispute(self._found(id), self.clock())

    def review(self, id: str | None) -> dict[str, Any]:  # noqa: A002
        """What waits for a person (X9)."""
        return self.review_queue.listed(id)

    def decide(self, id: str, decision: str) -> dict[str, Any]:  # noqa: A002
        """Answer a case (X9)."""
        return self.review_queue.answer(id, decision, self.clock())

    def show(self, id: str) -> dict[str, Any]:  # noqa: A002
        """One memory with everything known of it."""
        fact = self.index.catalog.find_fact(id)
        if fact.status == "forgotten":
            return {
                "memory": _wordless(fact),
                "forgotten": UNDO.format(fact.id),
                "problems": [],
            }
        raw = self.vault.read(fact.path)
        problems = [
            asdict(problem) for problem in self.index.catalog.problems(fact.path)
        ]
        known = {
            "memory": formatting.plain(fact),
            "markdown": raw.decode(errors="replace"),
            "problems": problems,
        }
        came = self._provenance(fact)
        kept = {"protected": lifecycle.protected(fact, self.note_writer.kept(fact))}
        standing = self._standing(fact, came["said_by"])
        return known | {**came, **kept, **standing, "related": self._related(fact.id)}

    def why(self, id: str) -> dict[str, Any]:  # noqa: A002
        """The turns a memory came from, its stage now, and each decision on it, also
        what was refused.

        `stage` is computed now and `stage_why` is the rule that gave it; a memory that
        is neither active nor archived has none (rows C22, C24, X4, X17).
        """
        fact = self.index.catalog.find_fact(id)
        if fact.status == "forgotten":
            decisions = [
                actions.told(_unquoted(row)) for row in self.vault.actions_of(fact.id)
            ]
            return {
                "memory": _wordless(fact),
                "forgotten": UNDO.format(fact.id),
                "turns": [],
                "decisions": decisions,
            }
        since = {"reworded": REWORDED} if fact.source and facts.reworded(fact) else {}
        came = self._provenance(fact)
        worth = self._standing(fact, came["said_by"])["worth"]
        staged = (
            {"stage": worth["stage"], "stage_why": worth["why"]}
            if worth["stage"]
            else {}
        )
        return {
            "memory": formatting.plain(fact),
            **staged,
            "protected": lifecycle.protected(fact, self.note_writer.kept(fact)),
            **came,
            **since,
            "turns": [
                formatting.plain_turn(turn, self.settings.policy.trust)
                for turn in self._said(fact)
            ],
            "decisions": [
                actions.told(self._known_row(row))
                for row in self.vault.actions_of(fact.id)
            ],
        }

    def forget(self, id: str, reason: str | None) -> dict[str, Any]:  # noqa: A002
        """Stop recalling a memory or a turn, and whatever else says the same (rows A26,
        X8).

        A memory's note stays, marked forgotten, and so do the notes of the other
        memories that say it or rest on nothing but a forgotten turn. Session files stay
        as they are: their sentences are hidden when they are handed out. `hides` names
        what is hidden along; `unchanged` tells by path why a note could not be marked.
        """
        now = self.clock()
        unit = self._any(id)
        if isinstance(unit, Fact) and unit.status == "forgotten":
            return {"id": unit.id, "path": unit.path, "status": "forgotten"}
        why = redact(reason or YOU_ASKED).text
        ended: dict[str, object] = {"status": "forgotten", "end_reason": why}
        named, text = (
            (unit.key, unit.turn.text)
            if isinstance(unit, FiledTurn)
            else (unit.id, unit.text)
        )
        self.forgetting.entomb([unit], now, why)
        hidden = self.forgetting.hidden(text, named, now)
        if isinstance(unit, Fact):
            try:
                self._change(unit, ended, "forget", why)
            except EngramError:  # what the note does not say has not happened
                with suppress(EngramError):
                    if self._found(unit.id).status != "forgotten":
                        self.forgetting.restore(named, now, why)
                raise
        along = {fact.id: fact for fact in (*hidden.facts, *self._resting(named))}
        self.forgetting.entomb(along.values(), now, why, whole=named)
        same = f"{why}: it says the same"
        refused = {
            fact.path: words
            for fact in along.values()
            if (words := self._refused(fact, ended, "forget", same))
        }
        hides = {"memories": sorted(along), "turns": list(hidden.turns)}
        self.note_writer.explain([deed(now, "hide", named, why) | hides])
        self.forgetting.retell([named, *self._sources(unit), *hidden.turns])
        self.note_writer.seed()
        path = (
            unit.path
            if isinstance(unit, Fact)
            else (self.index.catalog.places([named]).get(named) or ("",))[0]
        )
        told: dict[str, Any] = {
            "id": named,
            "path": path,
            "status": "forgotten",
            "hides": hides,
        }
        return told | ({"unchanged": refused} if refused else {})

    def _any(self, name: str) -> Fact | FiledTurn:
        """The memory or turn of this name; a change of a memory's note is taken in
        first.
        """
        unit = self.index.find(name)
        return unit if isinstance(unit, FiledTurn) else self._found(unit.id)

    @staticmethod
    def _sources(unit: Fact | FiledTurn) -> tuple[str, ...]:
        return (
            tuple(filter(None, (unit.source, *unit.also)))
            if isinstance(unit, Fact)
            else ()
        )

    def _resting(self, turn: str) -> list[Fact]:
        """The memories that rest on this turn alone."""
        some = self.index.catalog.facts(turn) if "#" in turn else []
        return [
            fact
            for fact in some
            if {fact.source, *fact.also} - {""} == {turn} and fact.status != "forgotten"
        ]

    def _lifted(self, fact: Fact, now: datetime) -> Fact | None:
        """Take back what hides a memory, and what was forgotten along; the memory that
        says the same by now, if any.
        """
        for name in self.forgetting.restore(fact.id, now, YOU_ASKED):
            self._revive(name)
        return self.review_queue.joined(fact, now)

    def _restore_turn(self, turn: str, *, only: bool) -> dict[str, Any]:
        """Show a forgotten turn again, and bring back what was forgotten along with it."""
        if not only:
            raise BadRequestError(
                "a turn can only be restored", where=turn, fix="Name a memory."
            )
        now = self.clock()
        for name in self.forgetting.restore(turn, now, YOU_ASKED):
            self._revive(name)
        self.note_writer.explain([deed(now, "restore", turn, YOU_ASKED)])
        self.note_writer.seed()
        return {
            "id": turn,
            "path": (self.index.catalog.places([turn]).get(turn) or ("",))[0],
            "changed": ["status"],
        }

    def _revive(self, name: str) -> None:
        """Bring a memory back that was forgotten along with another one."""
        fact = self.index.catalog.fact(name)
        if fact and fact.status == "forgotten":
            self._refused(fact, _ACTIVE, "restore", YOU_ASKED, home=True)

    def update(
        self,
        id: str,  # noqa: A002
        pinned: bool | None = None,  # noqa: FBT001
        status: str | None = None,
        layer: str | None = None,
    ) -> dict[str, Any]:
        """Pin, unpin, restore, promote or demote a memory (rows D7, D8, E4, C23)."""
        _changeable(pinned, status, layer)
        unit, now = self._any(id), self.clock()
        if isinstance(unit, FiledTurn):
            return self._restore_turn(
                unit.key, only=bool(status) and pinned is None and layer is None
            )
        fact = unit
        if status and fact.status != "active" and (known := self._lifted(fact, now)):
            self.usage_tracker.attested(known.id, now)
            return {
                **self.update(known.id, pinned, status, layer),
                "verdict": "confirmed",
                "why": KNOWN,
            }
        keys: dict[str, object] = {}
        if pinned is not None and pinned != fact.pinned:
            keys["pinned"] = pinned or None
            self.usage_tracker.anchored(fact, now)
        turned = (
            {"up": lifecycle.raised, "down": lifecycle.lowered}[layer](fact)
            if layer
            else None
        )
        if turned is not None:
            keys["layer"] = turned or None
        if status and fact.status != "active":
            keys |= _ACTIVE
        if keys:
            memory_operations = {
                "restore": status,
                "pin": pinned,
                "unpin": pinned is False,
                "promote": layer == "up",
            }
            action = next(
                (name for name, done in memory_operations.items() if done), "demote"
            )
            self._change(fact, keys, action, YOU_ASKED, home=bool(status))
            if status:
                self.usage_tracker.attested(fact.id, now)
                self.note_writer.seed()
        return {
            "id": fact.id,
            "path": self.index.catalog.find_fact(fact.id).path,
            "changed": sorted(keys),
        }

    def settle(self, id: str, stage: str) -> dict[str, Any]:  # noqa: A002
        """Say that a promise was kept, has run out, or is open again (`E16`)."""
        fact, known = self._found(id), (todos.FULFILLED, todos.EXPIRED)
        if stage not in {*known, "open"}:
            raise BadRequestError(
                f"there is no stage {stage!r}", fix=f"Use: {', '.join(known)}, open."
            )
        if todos.stage(fact) in {"", todos.HABIT} or fact.status != "active":
            fix = "`engram todos --stage all` lists promises."
            raise BadRequestError(
                "this is no promise that counts", where=fact.path, fix=fix
            )
        if (todos.is_open(fact) and stage != "open") or (
            not todos.is_open(fact) and todos.stage(fact) != stage
        ):
            tags = [tag for tag in fact.tags if tag not in known]
            settled = {
                "done": time_text(self.clock(), self.settings.zone),
                "end_reason": YOU_ASKED,
            }
            ended = dict.fromkeys(settled) if stage == "open" else settled
            tags += [stage] if stage in known else []
            self._change(fact, {"tags": tags or None, **ended}, "edit", YOU_ASKED)
        return {"id": fact.id, "path": fact.path, "stage": stage}

    # -- by hand -----------------------------------------------------------------------

    def edited(self, edits: Sequence[EditedFact]) -> None:
        """A person edited these notes: told, like a deletion, before the catalogue
        believes it.

        What the process had written when it ended, and the catalogue had not heard of,
        is no word of theirs.
        """
        now = self.clock()
        for edit in edits:
            was, is_now = (
                edit.before.status == "forgotten",
                edit.after.status == "forgotten",
            )
            if is_now and not was:
                self.forgetting.entomb([edit.after], now, "a person set the status")
            elif was and not is_now:
                self.forgetting.restore(edit.after.id, now, "a person set the status")
            at = self.vault.edited_at(edit.after.path)
            self.usage_tracker.attested(
                edit.after.id, now, datetime.fromtimestamp(at, UTC) if at else None
            )
        theirs = [
            edit.after.id
            for edit in edits
            if not dedup.is_own_change(edit.before, edit.after)
        ]
        self.note_writer.explain(
            [deed(now, "edit", name, "a person edited the note") for name in theirs]
        )

    def gone(self, gone: Collection[Fact]) -> None:
        """Record a deletion by a person before the catalogue forgets the notes."""
        self.forgetting.entomb_deleted(gone, self.clock())

    def _said(self, fact: Fact) -> list[FiledTurn]:
        """The turns that a fact rests on, as far as they are in the vault, without what
        was forgotten.
        """
        units = self.index.units([key for key in (fact.source, *fact.also) if key])
        return [
            unit
            for unit in map(self.index.visible, units.values())
            if isinstance(unit, FiledTurn)
        ]

    def _known_row(self, row: dict[str, object]) -> dict[str, object]:
        """A row of the action log without a quotation that was forgotten."""
        quote = str(row.get("quote") or "")
        return (
            _unquoted(row)
            if quote and self.index.tombstones.forgotten.hides(quote, Spoken())
            else row
        )

    def _provenance(self, fact: Fact) -> dict[str, Any]:
        """Who said a fact, as its turns tell (rows D6, X27)."""
        return formatting.attributed(
            formatting.provenance(self.index, [fact], self.settings.policy.trust)[
                fact.id
            ]
        )

    def _standing(self, fact: Fact, said_by: str) -> dict[str, Any]:
        """How a memory was used and what it is worth now; none of it stands in the note
        (rows B4, C24, C30, D2).
        """
        policy, usage, now = (
            self.settings.policy,
            self.usage_tracker.of(fact.id),
            self.clock(),
        )
        believed = trust.trust(said_by, policy.trust)
        feedback = (
            self.usage_tracker.feedback(self.vault.read(ACTIONS), now)
            if self.vault.exists(ACTIONS)
            else {}
        )
        felt = feedback.get(fact.category, 0.0)
        worth = decay.vitals(fact, usage, now, believed, policy, felt)
        use = core_importance.use_of(
            fact, usage, believed, lifecycle.layer_of(fact), now
        )
        stage, why = lifecycle.stage(
            fact, usage, worth, policy, trust.bars("core", said_by)
        )
        used = {
            name: value.isoformat(timespec="seconds")
            if isinstance(value, datetime)
            else value
            for name, value in asdict(usage).items()
            if value is not None
        }
        weighed = asdict(worth) | {
            "feedback": felt,
            "importance": core_importance.composite(use, policy.ladder),
        }
        rounded = {name: round(value, 3) for name, value in weighed.items()}
        return {"usage": used, "worth": rounded | {"stage": stage, "why": why}}

    def _related(self, fact_id: str) -> list[dict[str, Any]]:
        """The ties of a memory with their confidence now (`C34`)."""
        now, policy = self.clock(), self.settings.policy.links
        return [
            {
                "type": edge.type,
                "id": edge.target if edge.source == fact_id else edge.source,
                "confidence": round(graph.effective(edge, now, policy), 2),
            }
            for edge in self.reconciler.entity_writer.edges.all()
            if fact_id in {edge.source, edge.target}
        ]

    # -- common to them ----------------------------------------------------------------

    def _turn_id(self, text: str, now: datetime) -> str:
        """An id for what somebody asks for now: the same in the same history, and of no
        turn that is there (`X25`).
        """
        names = (ulid(now, f"{number}\n{text}") for number in count())
        return next(
            name for name in names if self.index.catalog.turn(REMEMBERED, name) is None
        )

    def _found(self, name: str) -> Fact:
        """The fact as its note says now; a change that nobody has looked at yet is
        taken in first.
        """
        fact = self.index.catalog.find_fact(name)
        if self.index.current(fact, (fact.path, fact.sha), {}) is not fact:
            self.look([self.settings.vault / fact.path])
        return self.index.catalog.find_fact(name)

    def _change(
        self,
        fact: Fact,
        keys: dict[str, object],
        action: str,
        why: str,
        *,
        home: bool = False,
    ) -> None:
        """Patch the note, with `home` one in the archive also back to its day; where a
        person was faster, theirs.
        """
        row = deed(self.clock(), action, fact.id, why)

        def change(fact: Fact) -> Change:
            if home and fact.path.startswith("archive/"):
                to = self.note_writer.path_of(replace(fact, status="active"), ())
                return Move(fact.path, fact.sha, to, keys, why)
            return Edit(fact.path, fact.sha, keys, why)

        try:
            self.note_writer.write([change(fact)], [row])
        except ConflictError:
            self.note_writer.write([change(self._found(fact.id))], [row])

    def _refused(
        self,
        fact: Fact,
        keys: dict[str, object],
        action: str,
        why: str,
        *,
        home: bool = False,
    ) -> str:
        """Change the note of a memory that nobody named; why that failed, '' where it
        did not.

        A note that a person broke or deleted does not hold up what was asked of another
        one.
        """
        try:
            self._change(fact, keys, action, why, home=home)
        except (ConflictError, NotFoundError) as fault:
            return str(fault)
        return ""

    def _guess(self, turn: Turn) -> Candidate | None:
        """What the offline rules would make of the statement."""
        found = engine.extract([turn], self.settings.policy.extraction).candidates
        return found[0] if found else None


def _changeable(pinned: bool | None, status: str | None, layer: str | None) -> None:  # noqa: FBT001
    """BadRequestError where this is no change that can be asked for."""
    if status not in {None, "active"}:
        raise BadRequestError(
            f"a memory cannot be set to {status!r} here",
            fix="Use status active, or forget.",
        )
    if layer not in {None, "up", "down"}:
        raise BadRequestError(f"a layer is no {layer!r}", fix="Use up or down.")
    if pinned is None and status is None and layer is None:
        raise BadRequestError("nothing to change", fix="Give pinned, status or layer.")


def _wordless(fact: Fact) -> dict[str, Any]:
    """A forgotten memory without its words."""
    told = formatting.plain(fact)
    return {
        name: told[name]
        for name in (
            "id",
            "category",
            "kind",
            "status",
            "created",
            "path",
            "end_reason",
        )
        if name in told
    }


def _unquoted(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name != "quote"}


def _written(names: list[str] | None) -> list[str]:
    """Those that are no blanks."""
    return [name for name in names or () if name.strip()]


def _allowed(turn: Turn, category: str | None, *, pinned: bool) -> None:
    """ForbiddenError where the source of a statement may not make it what was asked for
    (`X27`).
    """
    said_by = trust.source_class(turn)
    why = trust.bars("pin", said_by) if pinned else None
    if why is None and category and category_of(category).not_from_outside:
        why = trust.bars(category, said_by)
    if why:
        raise ForbiddenError(why, fix="Let the user say it.")
