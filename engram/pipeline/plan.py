"""The changes of a batch, collected before any of them is written.

(Rows A8, A10, A11, A12, C9, X8, X9.) The plan contains each fact as it will be, so a
later statement of the batch is compared with the result of an earlier one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core import decide, todos
from engram.core.language.keep_requests import REMEMBER_TAG
from engram.core.records import Change, Create, Fact
from engram.core.text import content_hash
from engram.errors import ConflictError
from engram.pipeline.forgetting import tombstone
from engram.pipeline.write import NoteWriter, action_row
from engram.vault import changes, facts, frontmatter, reviews
from engram.vault.frontmatter import NOT_UTF_8, UNREADABLE_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.decide import Effect, Known
    from engram.core.importance import Surprise

Case = tuple[str, str]
"""Id and path of a note in `review/`."""

UNEDITABLE = UNREADABLE_KEYS | {NOT_UTF_8}
"""Problems of a note that prevent an edit."""

END_KEYS = frozenset({"superseded_by", "end_reason", "valid_until"})


@dataclass(slots=True)
class _Planned:
    """A fact as the plan leaves it, and why; `known` is the one in its note, if any.

    `body` is the new body of that note, or the section of a new note that asks.
    """

    fact: Fact
    why: str
    known: Fact | None = None
    body: str | None = None


class WritePlan:
    """The planned changes of a batch.

    `rows` are rows of the action log and `tombstones` rows of the tombstone file.
    `ended` is the number of facts that the plan ends; `refused` counts refused changes
    by reason. `contradicted` has the ids of ended or weakened facts by path, and
    `contradictions` the reason for each of them. `surprises` are the novelties of the
    new statements, by id, for the log. `neighbours` are those of the new statements, by
    the id of the new fact, so that one search serves every rule.
    """

    def __init__(
        self, settings: Settings, now: datetime, note_writer: NoteWriter
    ) -> None:
        self.settings = settings
        self.now = now
        self.note_writer = note_writer
        self.rows: list[dict[str, object]] = []
        self.tombstones: list[dict[str, object]] = []
        self.ended = 0
        self.refused: Counter[str] = Counter()
        self.surprises: dict[str, Surprise] = {}
        self.contradicted: dict[str, str] = {}
        self.contradictions: list[str] = []
        self.neighbours: dict[str, Sequence[Known]] = {}
        # when the user told known facts again, by id
        self.told_again: dict[str, datetime] = {}
        self._facts: dict[str, _Planned] = {}
        self._cases: dict[str, Create] = {}
        # the facts that the plan ends, and the turn that ends each
        self._fallen: list[tuple[Fact, str]] = []

    # -- facts as the plan changes them ------------------------------------------------

    def latest(self, fact: Fact) -> Fact:
        """Return `fact` as changed by this plan."""
        planned = self._facts.get(fact.id)
        return planned.fact if planned else fact

    def fact(self, fact_id: str) -> Fact | None:
        """Return the new or known fact with this id, as changed by this plan."""
        if planned := self._facts.get(fact_id):
            return planned.fact
        return self.note_writer.index.catalog.fact(fact_id)

    @property
    def new(self) -> tuple[Fact, ...]:
        """The facts that get a note."""
        return tuple(one.fact for one in self._facts.values() if not one.known)

    def is_new(self, fact: Fact) -> bool:
        """Return whether the plan creates the note of this fact."""
        planned = self._facts.get(fact.id)
        return planned is not None and not planned.known

    def duplicate_id(
        self, digest: str, persona: str | None, when: datetime
    ) -> str | None:
        """Return the id of an active fact with the same text, or None (`C5`).

        `digest` is the content hash of the text, `when` the time of the statement.
        """
        known = self.note_writer.index.catalog.duplicate(digest, persona, when)
        latest = self.fact(known.id) if known else None
        for fact in [*self.new, *([latest] if latest else [])]:
            if fact.status == "active" and content_hash(fact.text) == digest:
                return fact.id
        return None

    def has_tombstone(self, digest: str) -> bool:
        """Return whether a text has a tombstone, in the vault or in this plan (`X8`).

        `digest` is the content hash of the text.
        """
        if digest in self.note_writer.index.tombstones.keys:
            return True
        return any(row["hash"] == digest for row in self.tombstones)

    @property
    def cases(self) -> list[Case]:
        """The questions of this plan, and its new facts that wait in review (`X9`)."""
        questions = [(str(note.keys["id"]), note.path) for note in self._cases.values()]
        in_review = [
            (one.fact.id, one.fact.path)
            for one in self._facts.values()
            if one.body and not one.known
        ]
        return [*questions, *in_review]

    # -- planning ----------------------------------------------------------------------

    def with_path(self, fact: Fact) -> Fact:
        """Return a new fact with the path for its note."""
        planned = [new.path for new in self.new]
        return replace(fact, path=self.note_writer.path_of(fact, planned))

    def add(self, fact: Fact, why: str, quote: str, *, asking: bool) -> None:
        """Create the note of a new fact; `with_path` has set its path.

        With `asking` the note has a section that asks the user whether to keep it. The
        exact words are those of its turn, which the note shows (`C9`).
        """
        section = reviews.section(why, quote) if asking else ""
        self._facts[fact.id] = _Planned(fact, why, body=section)

    def confirm(self, fact: Fact, new: Fact | None = None) -> None:
        """Remove the speculative expiry of a fact that was stated again (`C17`).

        If the user now asked to keep it, in the words of `new`, it gets the tag for
        that (law 1). Otherwise the file does not change.
        """
        before = self.latest(fact)
        after = self.note_writer.confirmed(before)
        if new:
            after = replace(after, tags=_tags_with_request(before, new))
        if after != before:
            self._patch(before, after, "confirmed by a later extraction")

    def apply(self, effect: Effect, new: Fact, quotes: Mapping[str, str]) -> Fact:
        """Apply the effect of the statement `new` on a known fact; return `new` changed.

        `quotes` are the words behind both facts, by id.
        """
        old = self.latest(effect.fact)
        if effect.action == "confirm":
            self.confirm(old, new)
        elif effect.action in {"reinforce", "rewrite"}:
            self._reinforce(effect, old, new)
        elif effect.action == "ask":
            self._ask(old, new, effect.why, quotes)
        elif effect.action == "settle":
            self.end(effect, new.created or self.now, turn=new.source)
        else:
            at = new.created or self.now
            ended = self.end(effect, at, new, turn=new.source)
            names = tuple(dict.fromkeys((*new.supersedes, *ended)))
            new = replace(new, supersedes=names)
        return new

    def add_predecessor(self, successor: Fact, fact: Fact) -> None:
        """Make a known fact the successor of a new fact that was true before it."""
        ids = tuple(dict.fromkeys((*successor.supersedes, fact.id)))
        changed = replace(successor, supersedes=ids)
        self._patch(successor, changed, "an older state became known")

    def _reinforce(self, effect: Effect, old: Fact, new: Fact) -> None:
        """Add confidence and evidence to a known fact (`A8`, `C17`).

        A rewrite also replaces its text with the newer text.
        """
        merged = decide.merge(old, new)
        if effect.confidence is not None:
            merged = replace(merged, confidence=effect.confidence)

        rewrite = effect.action == "rewrite"
        body = self._rewritten_body(old, new) if rewrite else None
        if body is None and not (rewrite and self.is_new(old)):
            merged = replace(
                merged,
                text=old.text,
                about=old.about,
                tags=_tags_with_request(old, new),
                importance=old.importance,
            )

        if self.note_writer.confirmed(old) != old:
            merged = replace(merged, expires=None)
        self._patch(old, merged, effect.why, body)

    def _rewritten_body(self, old: Fact, new: Fact) -> str | None:
        """Return the body of a known fact with the text of the new one.

        Returns None if a user changed the statement in the body, or if the fact has no
        note yet.
        """
        if self.is_new(old):
            return None
        planned = self._facts.get(old.id)
        body = (planned and planned.body) or self.note_writer.body(old.path)
        day = (new.created or self.now).astimezone(self.settings.zone)
        return facts.with_statement(body, old.text, new.text, f"{day:%Y-%m-%d}")

    def end(
        self, effect: Effect, at: datetime, by: Fact | None = None, *, turn: str
    ) -> tuple[str, ...]:
        """Weaken, end or settle a known fact at `at` (`A10`, `A11`, `E16`, `X8`).

        `by` is the new statement that does it, None for words without one; `turn` is the
        key of the turn with the words. Returns the ids of the facts that `by`
        supersedes.
        """
        old = self.latest(effect.fact)
        lifts = effect.action == "supersede" or effect.settled == todos.EXPIRED
        moved = self._lift_scheduled(old, by) if lifts else ()
        if lifts and not effect.until:
            self._fallen.append((old, turn))
        if effect.action != "settle":
            self.ended += effect.action == "supersede"
            self._note_contradiction(old, effect)
        digest = content_hash(old.text)
        if effect.add_tombstone and not self.has_tombstone(digest):
            self.tombstones.append(tombstone(old, self.now, effect.why))
        self._patch(old, decide.changed_by(effect, old, by, at), effect.why)
        return (*moved, old.id)

    def _lift_scheduled(self, plan: Fact, later: Fact | None = None) -> tuple[str, ...]:
        """Cancel the ends that a plan announced, which is over before its day.

        If `later` plans the same for another day, they happen then. Returns the ids of
        the facts.
        """
        lifted = []
        for old in filter(None, map(self.fact, plan.supersedes)):
            day = old.valid_until
            if not decide.is_scheduled(old) or not day or day <= self.now:
                continue
            changed = decide.rescheduled(old, plan, later)
            self._patch(old, changed, "the plan that would end it changed")
            lifted.append(old.id)
        return tuple(lifted)

    def _note_contradiction(self, old: Fact, effect: Effect) -> None:
        """Record that a known fact is ended or weakened, for the run (`X6`)."""
        done = {"weaken": "weakened", "schedule": "ends later"}
        if effect.action == "supersede" or not self.is_new(old):
            self.contradicted[old.path] = old.id
            by_rule = "(rule" in effect.why
            by = "rule" if by_rule else "a model"
            self.contradictions.append(f"{done.get(effect.action, 'ended')} by {by}")

    def _ask(self, old: Fact, new: Fact, why: str, quotes: Mapping[str, str]) -> None:
        """Create a note that asks the user about two facts, once for each pair (`X9`)."""
        zone = self.settings.zone
        self.ask(reviews.conflict_note(new, old, why, self.now, zone, quotes))

    def ask(self, note: Create, *rows: dict[str, object]) -> None:
        """Create a note that asks the user, once, with the `rows` of the log about it."""
        if self.note_writer.is_new_question(note) and note.path not in self._cases:
            self._cases[note.path] = note
            self.rows += rows

    def ask_what_rests_on_ended(self) -> None:
        """Ask, once for each fact that the plan ends, about those that rest on it (`X29`).

        What the user told again since a ground ended no longer rests on it. What rests
        on a fact that goes on in another, as in another dose, rests on that one then.
        """
        for fact in filter(None, map(self.fact, self.told_again)):
            at = self.told_again[fact.id]
            over = {
                one.id
                for one in filter(None, map(self.fact, fact.because))
                if decide.is_over(one) and (one.valid_until or at) <= at
            }
            if over:
                alone = [one for one in fact.because if one not in over]
                self._rest(fact, alone, "told again after what it rests on was over")
        catalog = self.note_writer.index.catalog
        resting = catalog.resting_on([old.id for old, _ in self._fallen])
        for old, turn in self._fallen:
            ended = self.latest(old)
            heirs = filter(None, map(self.fact, ended.superseded_by))
            heir = next((one for one in heirs if decide.lives_on(ended, one)), None)
            ids = [*resting.get(old.id, ()), *(new.id for new in self.new)]
            texts = {}
            for fact in filter(None, map(self.fact, dict.fromkeys(ids))):
                if old.id not in fact.because or not todos.still_holds(fact):
                    continue
                if heir and not decide.is_user_backed(fact):
                    grounds = [*fact.because, heir.id]
                    grounds.remove(old.id)
                    self._rest(fact, grounds, decide.GOES_ON)
                else:
                    texts[fact.id] = fact.text
            if texts:
                zone = self.settings.zone
                note = reviews.fallen_note(turn, old.text, texts, self.now, zone)
                row = action_row(self.now, "ask", turn, note.why, "rule")
                self.ask(note, row | {"turn": turn})
        self._fallen.clear()

    def _rest(self, fact: Fact, grounds: Iterable[str], why: str) -> None:
        """Plan that a fact rests on these alone, each once (`X29`)."""
        changed = replace(fact, because=tuple(dict.fromkeys(grounds)))
        self._patch(fact, changed, why)

    def _patch(self, old: Fact, fact: Fact, why: str, body: str | None = None) -> None:
        """Plan that `old`, a new or known fact as planned so far, becomes `fact`."""
        planned = self._facts.setdefault(fact.id, _Planned(old, why, old))
        planned.fact = fact
        if planned.known:
            planned.why = why
            planned.body = planned.body if body is None else body

    def leave_out_broken(self) -> None:
        """Leave out the changes of notes that the user has to repair first (`C11`).

        Otherwise the batch would wait as long as a note is broken.
        """
        known = [one.known for one in self._facts.values() if one.known]
        paths = [fact.path for fact in known]
        problems = self.note_writer.index.catalog.problems_by_path(paths)
        for fact in known:
            codes = {problem.code for problem in problems.get(fact.path, ())}
            if codes & UNEDITABLE:
                del self._facts[fact.id]
                self.contradicted.pop(fact.path, None)
                self.rows = [row for row in self.rows if row["memory"] != fact.id]
                self.refused["its note is broken"] += 1

    @property
    def confidence_changes(self) -> list[str]:
        """The ids of known facts whose confidence changes."""
        return [
            one.known.id
            for one in self._facts.values()
            if one.known and one.known.confidence != one.fact.confidence
        ]

    # -- the result --------------------------------------------------------------------

    @property
    def updates(self) -> list[Change]:
        """The edits of known facts, and the notes with questions to the user."""
        return [*self._edits(), *self._cases.values()]

    def _edits(self) -> list[Change]:
        zone = self.settings.zone
        edits = [
            facts.change(one.known, one.fact, zone, one.why, one.body)
            for one in self._facts.values()
            if one.known
        ]
        return [edit for edit in edits if edit.keys or edit.body is not None]

    def ends(self) -> list[changes.Write]:
        """Return the writes by which the undo of a filing gives back what ended.

        A new note stays, as if it had replaced no fact. The list is empty if no fact
        ends, or if a note has changed since it was planned, so that its write will be
        refused.
        """
        ended = [edit for edit in self._edits() if edit.path in self.contradicted]
        try:
            writes = changes.plan(self.note_writer.vault, ended)
        except ConflictError:
            return []
        for note in self.notes:
            if raw := _as_before(note, self.contradicted):
                new = frontmatter.emit(note.keys, note.body)
                writes.append(changes.Write(note.path, note.path, raw, new))
        return writes

    @property
    def notes(self) -> list[Create]:
        """The notes of the new facts."""
        zone = self.settings.zone
        notes = []
        for one in self._facts.values():
            if not one.known:
                fact = one.fact
                keys = facts.fact_keys(fact, zone)
                body = facts.fact_body(fact.text, fact.source, one.body or "")
                notes.append(Create(fact.path, keys, body, one.why))
        return notes


def _tags_with_request(old: Fact, new: Fact) -> tuple[str, ...]:
    """Return the tags of `old`, with `REMEMBER_TAG` if `new` has it."""
    if REMEMBER_TAG in new.tags and REMEMBER_TAG not in old.tags:
        return (*old.tags, REMEMBER_TAG)
    return old.tags


def _as_before(note: Create, contradicted: Mapping[str, str]) -> bytes:
    """Return the bytes that a new note would have if it replaced no fact.

    `contradicted` has the ids of the facts that the plan ends, by path. Returns b'' for
    a note without any relation to them.
    """
    keys = dict(note.keys)
    named = keys.pop("supersedes", None)
    if isinstance(named, list):
        remaining = [name for name in named if name not in contradicted.values()]
        keys |= {"supersedes": remaining} if remaining else {}
    if note.path in contradicted and keys.get("status") == "superseded":
        keys = {name: value for name, value in keys.items() if name not in END_KEYS}
        keys["status"] = "active"
    return frontmatter.emit(keys, note.body) if keys != note.keys else b""
