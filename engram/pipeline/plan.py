"""The changes of a batch, collected before any of them is written.

(Rows A8, A10, A11, A12, C9, X8, X9.) The plan contains each fact as it will be, so a
later statement of the batch is compared with the result of an earlier one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core import decide, todos
from engram.core.language.keep_requests import REMEMBER_TAG
from engram.core.records import Create, Edit, Fact
from engram.core.text import content_hash
from engram.pipeline.forgetting import tombstone
from engram.vault import facts, reviews
from engram.vault.formats import time_text
from engram.vault.frontmatter import NOT_UTF_8, UNREADABLE_KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.decide import Effect, Known
    from engram.core.importance import Surprise
    from engram.core.records import Change
    from engram.pipeline.write import NoteWriter

Case = tuple[str, str]
"""Id and path of a note in `review/`."""

UNEDITABLE = UNREADABLE_KEYS | {NOT_UTF_8}
"""Problems of a note that prevent an edit."""


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
        self._new: dict[str, tuple[Fact, str, str]] = {}
        self._changed: dict[str, Fact] = {}
        self._keys: dict[str, dict[str, object]] = {}
        self._bodies: dict[str, str] = {}
        self._reasons: dict[str, str] = {}
        self._cases: dict[str, Create] = {}

    # -- facts as the plan changes them ------------------------------------------------

    def latest(self, fact: Fact) -> Fact:
        """Return `fact` as changed by this plan."""
        if fact.id in self._new:
            return self._new[fact.id][0]
        return self._changed.get(fact.id, fact)

    def fact(self, fact_id: str) -> Fact | None:
        """Return the new or known fact with this id, as changed by this plan."""
        if fact_id in self._new:
            return self._new[fact_id][0]
        known = self.note_writer.index.catalog.fact(fact_id)
        return known and self.latest(known)

    @property
    def new(self) -> tuple[Fact, ...]:
        """The facts that get a note."""
        return tuple(fact for fact, *_ in self._new.values())

    def is_new(self, fact: Fact) -> bool:
        """Return whether the plan creates the note of this fact."""
        return fact.id in self._new

    def is_foreign(self, fact: Fact) -> bool:
        """Return whether the note of this fact was not created by engram."""
        return (
            not self.is_new(fact) and fact.id not in self.note_writer.creation_times()
        )

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
            (fact.id, fact.path) for fact, _, section in self._new.values() if section
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
        self._new[fact.id] = (fact, why, reviews.section(why, quote) if asking else "")

    def confirm(self, fact: Fact, new: Fact | None = None) -> None:
        """Remove the speculative expiry of a fact that was stated again (`C17`).

        If the user now asked to keep it, in the words of `new`, it gets the tag for
        that (law 1). Otherwise the file does not change.
        """
        before = self.latest(fact)
        keys = self.note_writer.confirmation_keys(before)
        after = replace(before, expires=None) if keys else before

        tags = _tags_with_request(before, new) if new else before.tags
        if tags != before.tags:
            keys |= {"tags": list(tags)}
            after = replace(after, tags=tags)
        if keys:
            self._patch(after, keys, "confirmed by a later extraction")

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
            self.settle(effect, new.created or self.now)
        else:
            new = self._contradict(effect, old, new)
        return new

    def add_predecessor(self, successor: Fact, fact: Fact) -> None:
        """Make a known fact the successor of a new fact that was true before it."""
        ids = tuple(dict.fromkeys((*successor.supersedes, fact.id)))
        self._patch(
            replace(successor, supersedes=ids),
            {"supersedes": list(ids)},
            "an older state became known",
        )

    def _reinforce(self, effect: Effect, old: Fact, new: Fact) -> None:
        """Add confidence and evidence to a known fact (`A8`, `C17`).

        A rewrite also replaces its text with the newer text.
        """
        merged = decide.merge(old, new)
        if effect.confidence is not None:
            merged = replace(merged, confidence=effect.confidence)

        rewrite = effect.action == "rewrite"
        body = self._rewritten_body(old, new) if rewrite else None
        if body is None and not (rewrite and old.id in self._new):
            merged = replace(
                merged,
                text=old.text,
                about=old.about,
                tags=_tags_with_request(old, new),
                importance=old.importance,
            )

        before = facts.fact_keys(old, self.settings.zone)
        after = facts.fact_keys(merged, self.settings.zone)
        changed: dict[str, object] = {
            key: after[key]
            for key in ("confidence", "importance", "about", "tags", "source")
            if key in after and after[key] != before.get(key)
        }
        if confirmation := self.note_writer.confirmation_keys(old):
            changed |= confirmation
            merged = replace(merged, expires=None)
        self._patch(merged, changed, effect.why, body)

    def _rewritten_body(self, old: Fact, new: Fact) -> str | None:
        """Return the body of a known fact with the text of the new one.

        Returns None if a user changed the statement in the body, or if the fact has no
        note yet.
        """
        if old.id in self._new:
            return None
        body = self._bodies.get(old.id) or self.note_writer.body(old.path)
        day = (new.created or self.now).astimezone(self.settings.zone)
        return facts.with_statement(body, old.text, new.text, f"{day:%Y-%m-%d}")

    def _contradict(self, effect: Effect, old: Fact, new: Fact) -> Fact:
        """Weaken a known fact, or end it when the new one begins (`A10`, `A11`, `X8`).

        The notes of both facts link to each other; returns `new` with its link.
        """
        zone = self.settings.zone
        successors = tuple(dict.fromkeys((*old.superseded_by, new.id)))
        keys: dict[str, object] = {"superseded_by": list(successors)}
        changed = replace(old, superseded_by=successors)
        if effect.action == "weaken":
            confidence = (
                old.confidence if effect.confidence is None else effect.confidence
            )
            keys["confidence"] = float(confidence)
            changed = replace(changed, confidence=confidence)
        elif effect.until:
            keys["valid_until"] = time_text(effect.until, zone)
            changed = replace(changed, valid_until=effect.until)
        else:
            moved = self._lift_scheduled(old, new)
            new = replace(new, supersedes=(*new.supersedes, *moved))
            until = new.valid_from or new.created or self.now
            status = "superseded"
            keys |= {
                "status": status,
                "end_reason": effect.why,
                "valid_until": time_text(until, zone),
            }
            changed = replace(
                changed, status=status, end_reason=effect.why, valid_until=until
            )
            self.ended += 1

        done = {"weaken": "weakened", "schedule": "ends later"}
        self._note_contradiction(old, done.get(effect.action, "ended"), effect.why)
        digest = content_hash(old.text)
        if effect.add_tombstone and not self.has_tombstone(digest):
            self.tombstones.append(tombstone(old, self.now, effect.why))
        self._patch(changed, keys, effect.why)
        return replace(new, supersedes=tuple(dict.fromkeys((*new.supersedes, old.id))))

    def settle(self, effect: Effect, at: datetime) -> None:
        """Settle an open promise. It can still be found, as kept or cancelled (`E16`)."""
        done = time_text(at, self.settings.zone)
        old = self.latest(effect.fact)
        if effect.settled == todos.EXPIRED:
            self._lift_scheduled(old)
        keys = todos.settled_keys(old, effect.settled, done, effect.why)
        tags = tuple(keys["tags"]) if isinstance(keys["tags"], list) else old.tags
        changed = replace(old, tags=tags, done=at, end_reason=effect.why)
        self._patch(changed, keys, effect.why)

    def end(self, effect: Effect, said_at: datetime) -> None:
        """End a known fact that has no successor, now or on a later day (`A10`)."""
        old = self.latest(effect.fact)
        until = effect.until or said_at
        keys: dict[str, object] = {"valid_until": time_text(until, self.settings.zone)}
        changed = replace(old, valid_until=until)
        if not effect.until:
            self._lift_scheduled(old)
            keys |= {"status": "invalidated", "end_reason": effect.why}
            changed = replace(changed, status="invalidated", end_reason=effect.why)
        self.ended += 1
        self._note_contradiction(old, "ended", effect.why)
        self._patch(changed, keys, effect.why)

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
            until = changed.valid_until
            keys: dict[str, object] = {
                "superseded_by": list(changed.superseded_by) or None,
                "valid_until": time_text(until, self.settings.zone) if until else None,
            }
            self._patch(changed, keys, "the plan that would end it changed")
            lifted.append(old.id)
        return tuple(lifted)

    def _note_contradiction(self, old: Fact, done: str, why: str) -> None:
        """Record that a known fact is ended or weakened, for the run (`X6`)."""
        if done == "ended" or old.id not in self._new:
            self.contradicted[old.path] = old.id
            by_rule = why == "corrected" or "(rule of " in why
            by = "rule" if by_rule else "a model"
            self.contradictions.append(f"{done} by {by}")

    def _ask(self, old: Fact, new: Fact, why: str, quotes: Mapping[str, str]) -> None:
        """Create a note that asks the user about two facts, once for each pair (`X9`)."""
        if self.note_writer.is_logged("decide", reviews.case_id(new.id, old.id)):
            return
        case = reviews.conflict_note(
            new, old, why, self.now, self.settings.zone, quotes
        )
        # An interrupted attempt may have written it.
        if not self.note_writer.index.scanner.exists(case.path):
            self._cases.setdefault(case.path, case)

    def _patch(
        self, fact: Fact, keys: Mapping[str, object], why: str, body: str | None = None
    ) -> None:
        if fact.id in self._new:
            self._new[fact.id] = (fact, *self._new[fact.id][1:])
            return
        self._changed[fact.id] = fact
        self._keys.setdefault(fact.id, {}).update(keys)
        self._reasons[fact.id] = why
        if body is not None:
            self._bodies[fact.id] = body

    def leave_out_broken(self) -> None:
        """Leave out the changes of notes that the user has to repair first (`C11`).

        Otherwise the batch would wait as long as a note is broken.
        """
        paths = [fact.path for fact in self._changed.values()]
        problems = self.note_writer.index.catalog.problems_by_path(paths)
        for fact in list(self._changed.values()):
            codes = {problem.code for problem in problems.get(fact.path, ())}
            if codes & UNEDITABLE:
                self._leave_out(fact)

    def _leave_out(self, fact: Fact) -> None:
        del self._changed[fact.id]
        self._keys.pop(fact.id, None)
        self._bodies.pop(fact.id, None)
        self.contradicted.pop(fact.path, None)
        self.rows = [row for row in self.rows if row["memory"] != fact.id]
        self.refused["its note is broken"] += 1

    @property
    def confidence_changes(self) -> list[str]:
        """The ids of known facts whose confidence changes."""
        return [fact_id for fact_id, keys in self._keys.items() if "confidence" in keys]

    # -- the result --------------------------------------------------------------------

    @property
    def updates(self) -> list[Change]:
        """The edits of known facts, and the notes with questions to the user."""
        edits = [
            Edit(
                fact.path,
                fact.sha,
                self._keys[fact.id],
                self._reasons[fact.id],
                self._bodies.get(fact.id),
            )
            for fact in self._changed.values()
            if self._keys[fact.id] or fact.id in self._bodies
        ]
        return [*edits, *self._cases.values()]

    @property
    def notes(self) -> list[Change]:
        """The notes of the new facts."""
        zone = self.settings.zone
        return [
            Create(
                fact.path,
                facts.fact_keys(fact, zone),
                facts.fact_body(fact.text, fact.source, section),
                why,
            )
            for fact, why, section in self._new.values()
        ]


def _tags_with_request(old: Fact, new: Fact) -> tuple[str, ...]:
    """Return the tags of `old`, with `REMEMBER_TAG` if `new` has it."""
    if REMEMBER_TAG in new.tags and REMEMBER_TAG not in old.tags:
        return (*old.tags, REMEMBER_TAG)
    return old.tags
