"""The values on which a statement is decided: its source, and the facts it may change.

Reads the index, the action log and the plan so far, and changes none of them. The
decision on these values is `core/decide.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core import actions, changes, decide, lifecycle, trust
from engram.core.actions import Action, Eligibility
from engram.core.attributes import attribute
from engram.core.classify import is_trivial
from engram.core.decide import REMOVED_BEFORE, Known, Relation, Statement
from engram.core.entities import name_key
from engram.core.language.keep_requests import REMEMBER_TAG
from engram.core.language.quotations import parts
from engram.core.language.secrets import is_redacted
from engram.core.language.states import State, in_context
from engram.core.lifecycle import hidden_reason
from engram.core.text import content_hash
from engram.core.trust import containment_reason
from engram.ingest.requests import NOT_KEPT
from engram.pipeline.compare import STATUSES, Comparison

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.core.records import Fact, FiledTurn, Turn
    from engram.pipeline.candidates import Said
    from engram.pipeline.plan import WritePlan
    from engram.pipeline.write import NoteWriter

QUOTE_CHARS = 280
"""Characters of a quote in a note for review (as in row C9)."""

OTHER_PERSONAS = "other personas know the old fact too"
OTHER_SPEAKER = "another speaker told it"


@dataclass(frozen=True, slots=True)
class Gatherer:
    """Gathers the known facts for the statements of one plan."""

    note_writer: NoteWriter
    comparison: Comparison
    plan: WritePlan

    # -- the statement -----------------------------------------------------------------

    def statement(self, fact: Fact, said: Said) -> Statement:
        """Return a fact as the statement of its source, before any check."""
        settings, source = (
            self.note_writer.settings,
            trust.source_class(said.attributed),
        )
        policy = settings.policy
        by_user = said.attributed.role == "user"
        return Statement(
            fact,
            said.turn.occurred_at,
            said.quote,
            self._states(fact, said),
            source=source,
            by_user=by_user and source != "tool",
            doubtful=by_user and fact.confidence < policy.extraction.implied,
            plans=said.sort == "plan",
            remaining=policy.dedup.supersessions - self.plan.ended,
        )

    def checked(
        self, fact: Fact, said: Said, earlier: Sequence[Mapping[str, object]]
    ) -> Statement:
        """Return a fact as a statement with the results of the cheap checks.

        `earlier` are the rows that an earlier attempt at the batch wrote to the action
        log.
        """
        filed = self.note_writer.index.unit(fact.id) is not None
        # An earlier attempt confirmed a fact, or a user has removed the note since.
        own = [row for row in earlier if row.get("memory") == fact.id]
        met = [str(row["met"]) for row in own if row.get("met")]
        is_secret = REMEMBER_TAG in fact.tags and is_redacted(fact.text)
        return replace(
            self.statement(fact, said),
            filed=filed or bool(earlier),
            met=met[0] if met and not filed else "",
            trivial=is_trivial(fact.text, self.note_writer.settings.policy.importance),
            grounded=bool(said.quote),
            refused=NOT_KEPT if is_secret else self._denied(fact),
            contained=self.containment(fact, said),
        )

    def _denied(self, fact: Fact) -> str:
        """Return the reason why a fact may not be stored, or '' (`C22`).

        The rules would defer a statement of low trust. It may be stored as a
        speculation, which expires unless it is confirmed (`C17`).
        """
        known = Eligibility(fact.confidence, "candidate", fact.importance, "extraction")
        action: Action = "store_episode" if fact.kind == "episode" else "store_note"
        policy = self.note_writer.settings.policy.actions
        ruling, why = actions.ruling(action, known, policy)
        return why if ruling == "deny" else ""

    def containment(self, fact: Fact, said: Said) -> str:
        """Return why a statement has to wait in review, or '' (`X8`, `X27`).

        Its source may not make it, or the user has removed it before.
        """
        if self.plan.has_tombstone(content_hash(fact.text)):
            return REMOVED_BEFORE
        policy = self.note_writer.settings.policy.trust
        owner = self.comparison.states.owner_names()
        return containment_reason(fact, said.turn, said.quote, policy, owner) or ""

    def _states(self, fact: Fact, said: Said) -> tuple[State, ...]:
        """Return the states that a statement expresses, in its own or quoted words.

        Its own slot counts if it plans the value for a later day: a model names the
        slot of what is past too.
        """
        search = self.comparison.states
        stated = search.states_of(fact.text)
        if search.is_of_owner(said.attributed):
            stated = search.states_of(fact.text, said.quote)
            stated = in_context(stated, said.turn.text, said.quote)
        own = changes.state_in_slot(fact, search.name_words())
        return (*stated, own) if own and own.planned and not stated else stated

    # -- the known facts ---------------------------------------------------------------

    def one(self, fact: Fact, new: Statement, said: Said) -> Known:
        """Return a single known fact with its evidence."""
        return self._with_evidence(self._known(fact, new), new, said)

    def known(
        self, new: Statement, said: Said, near: Sequence[Known]
    ) -> tuple[Known, ...]:
        """Return the facts that a statement may repeat, end or support.

        They are among those `near` it, those in its slots, those that a model or the
        user named, and the fact in the same words.
        """
        relations = _relations(said)
        found = {one.fact.id: one for one in near}
        digest, persona = content_hash(new.fact.text), new.fact.persona
        twin = self.plan.duplicate_id(digest, persona, new.said_at)
        named = filter(None, map(self.plan.fact, [*relations, *filter(None, [twin])]))
        slots = self._stating(new, said.turn.private_to, near)
        for fact in (*slots.values(), *named):
            found.setdefault(fact.id, self._known(fact, new))
        given = {*slots, *relations, twin}
        mattering = [
            one
            for one in (
                replace(
                    one,
                    states=self._stated(one.fact) if key in slots else (),
                    equal=key == twin,
                    relation=relations.get(key, ""),
                    undone=self._replaced(one.fact, new.fact),
                )
                if key in given or one.fact.supersedes
                else one
                for key, one in found.items()
            )
            if self._matters(one, new)
        ]
        # one look-up reads the turns of all, which are then in the cache
        self.note_writer.index.turns(
            [key for one in mattering for key in one.fact.turns]
        )
        return tuple(self._with_evidence(one, new, said) for one in mattering)

    def _stating(
        self, new: Statement, persona: str | None, near: Sequence[Known]
    ) -> dict[str, Fact]:
        """Return the facts that may state the same attributes, by id (`A7`, `E5`).

        They are those in the slots, those planned in the place of one of them, those of
        the batch, and those of the nearest that state more than their own slot. With a
        persona those that it sees (`E14`).
        """
        if not new.states:
            return {}
        plan, most = self.plan, self.note_writer.settings.policy.dedup.neighbours
        found = self.comparison.states.near(
            new.states, STATUSES, persona, every=new.corrects
        )
        told = {changes.slot_of(state) for state in new.states}
        single = {
            changes.slot_of(state)
            for state in new.states
            if new.corrects or attribute(state.attribute).single
        }
        batch = [
            one for one in plan.new if changes.DEATH in told or self._gives(one, told)
        ]
        slots = [*map(plan.latest, found), *batch]
        scheduled = filter(decide.is_scheduled, slots)
        planned = (plan.fact(name) for one in scheduled for name in one.superseded_by)
        nearest = (
            one.fact
            for one in near[:most]
            if one.fact.attribute and self._gives(one.fact, single)
        )
        every = [*slots, *filter(None, planned), *nearest]
        return {one.id: one for one in every if one.id != new.fact.id}

    def _gives(self, fact: Fact, slots: set[str]) -> bool:
        """Return whether a fact states one of these attributes."""
        return not slots.isdisjoint(map(changes.slot_of, self._stated(fact)))

    def _stated(self, fact: Fact) -> tuple[State, ...]:
        """Return what a fact states by its words, else its own slot (X31)."""
        search = self.comparison.states
        own = changes.state_in_slot(fact, search.name_words())
        return search.states_of(fact.text) or ((own,) if own else ())

    def _known(self, fact: Fact, new: Statement) -> Known:
        return Known(fact, visible=hidden_reason(fact, new.said_at) is None)

    def _matters(self, one: Known, new: Statement) -> bool:
        """Return whether a fact may play a part in the decision."""
        cuts = self.note_writer.settings.policy.similarity
        return bool(
            one.relation
            or one.equal
            or one.states
            or one.undone
            or new.fact.id in one.fact.superseded_by
            or decide.is_repetition(one, cuts)
        )

    def _replaced(self, known: Fact, fact: Fact) -> bool:
        """Return whether a fact replaced the statement of `fact`, maybe indirectly."""
        if known.status != "active" or not known.supersedes:
            return False
        digest, seen = content_hash(fact.text), {known.id}
        later = [known]
        for one in later:
            older = sorted({*one.supersedes} - seen)
            for old in self.comparison.index.facts(older):
                seen.add(old.id)
                if decide.is_merged(old, one):
                    continue
                is_over = old.status in {"invalidated", "superseded"}
                if is_over and content_hash(old.text) == digest:
                    return True
                later.append(old)
        return False

    # -- the evidence of a known fact --------------------------------------------------

    def _with_evidence(self, one: Known, new: Statement, said: Said) -> Known:
        """Compare the evidence of a known fact with that of a statement (X8, X23, X27)."""
        policy, turn = self.note_writer.settings.policy, said.attributed
        fact, turns = one.fact, self.turns(one.fact)
        classes = trust.fact_class(fact, turns), new.source
        best = min(classes, key=trust.SOURCE_CLASSES.index)
        sources = trust.independent_sources
        adds = sources([*turns, turn]) > sources(turns)
        claim = self.note_writer.user_claim(fact)
        protected = lifecycle.protection(fact, claim) is not None
        says_more = self.comparison.says_more
        if one.relation in {"replaces", "ends"}:
            fact = self._with_confirmations(fact)
        return replace(
            one,
            fact=fact,
            newer=any(other.occurred_at > turn.occurred_at for other in turns),
            barred=trust.supersede_refusal(new.source, classes[0], policy.trust) or "",
            guarded=self._guard(fact, said.turn, turns),
            protected=protected,
            exceeded=says_more(new.fact.text, fact.text),
            cap=trust.cap_confidence(1.0, best, policy.trust) if adds else None,
        )

    def _guard(self, old: Fact, turn: Turn, told: Sequence[Turn]) -> str:
        """Return why only a person may end a fact, or ''.

        It is that of a pinned, edited or hand-written note, or one that other personas
        know if `turn` is private, or in a group the statement of another speaker.
        """
        if self.plan.is_new(old):
            return ""
        if turn.private_to not in {None, old.persona}:
            return OTHER_PERSONAS
        if self.note_writer.is_users(old):
            return decide.STANDS
        if turn.role != "user" or self.comparison.states.is_of_owner(turn):
            return ""
        key = name_key(turn.speaker)
        same = any(name_key(one.speaker) == key for one in told)
        return "" if same else OTHER_SPEAKER

    def _with_confirmations(self, fact: Fact) -> Fact:
        """Return a fact with the turns that confirmed it literally (`A10`).

        Only the action log names these turns.
        """
        keys = [*fact.also]
        for row in self.note_writer.vault.actions_of(fact.id):
            key = str(row.get("turn") or "")
            if row.get("action") == "confirm" and key and key != fact.source:
                keys.append(key)
        return replace(fact, also=tuple(dict.fromkeys(keys)))

    def turns(self, fact: Fact) -> list[Turn]:
        """Return the attributed turns that support a fact (`trust.turn_as_evidence`)."""
        filed = self.note_writer.index.turns(fact.turns)
        # In a turn without a quotation all words are the speaker's.
        if not any(parts(one.turn.text) for one in filed):
            return [one.turn for one in filed]
        planned = (
            row for row in self.plan.rows if fact.id in {row["memory"], row.get("met")}
        )
        rows = [*self.note_writer.vault.actions_of(fact.id), *planned]
        return [_attributed(one, rows) for one in filed]

    def quote(self, fact: Fact) -> str:
        """Return the beginning of the first turn that supports a fact, or ''."""
        turns = self.turns(fact)
        return turns[0].text[:QUOTE_CHARS] if turns else ""

    def keeps_bytes(self, known: Fact, turn: Turn) -> bool:
        """Return whether no statement of a turn changes the note of a known fact."""
        return decide.is_user_backed(known) or bool(
            self._guard(known, turn, self.turns(known))
        )

    def ended_at(self, successor: Fact, said_at: datetime) -> datetime | None:
        """Return when a known successor of a statement was first stated after it."""
        turns = self.turns(successor)
        later = [turn.occurred_at for turn in turns if turn.occurred_at > said_at]
        return min(later, default=None)


def _relations(said: Said) -> dict[str, Relation]:
    """Return what the user or a model says of known facts, by id."""
    found: dict[str, Relation] = {}
    if said.links:
        found |= dict.fromkeys(said.links.supports, "supports")
        found |= {said.links.same: "repeats"} if said.links.same else {}
        found |= dict.fromkeys(said.links.ends, "ends")
        found |= dict.fromkeys(said.links.replaces, "replaces")
    return found


def _attributed(filed: FiledTurn, rows: Iterable[Mapping[str, object]]) -> Turn:
    """Return the turn attributed by its quotes in the log rows.

    It counts as the user's own if one of the quotes does, or if there is none.
    """
    quotes = [
        str(row["quote"])
        for row in rows
        if row.get("turn") == filed.key and row.get("quote")
    ]
    turns = [trust.turn_as_evidence(filed.turn, quote) for quote in quotes]
    if not turns or filed.turn in turns:
        return filed.turn
    return turns[0]
