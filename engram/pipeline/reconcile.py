"""The write ladder, climbed: from what an extractor proposes to notes, and to what
belongs to them (model §3).

Each candidate passes the cheap rungs, is contained where its source is not the user,
and meets its neighbours; what follows is gathered in one plan and written at once.
Filing the same batch twice, as after a crash, changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engram.core import dedup, trust
from engram.core.categories import PLAIN, category_of
from engram.core.classify import event_end, importance_of, is_trivial, kind_of, tier_of
from engram.core.containment import contained
from engram.core.dedup import Decision, Evidence, Judgement
from engram.core.entities import expiry
from engram.core.language.permanent_attributes import REMEMBER_TAG, asked_to_keep
from engram.core.language.quotations import parts
from engram.core.lifecycle import protected
from engram.core.records import Extraction, Fact, FiledTurn
from engram.core.text import content_hash, ulid
from engram.pipeline.boxes import BoxWriter
from engram.pipeline.compare import Comparison, pair_of
from engram.pipeline.entities import EntityWriter
from engram.pipeline.forgetting import FORGOTTEN, Forgetting
from engram.pipeline.plan import WritePlan
from engram.pipeline.write import deed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.core.dedup import Effect, Neighbour, Verdict
    from engram.core.records import Candidate, Change, Turn
    from engram.ingest.queue import Batch
    from engram.pipeline.boxes import Stretch
    from engram.pipeline.plan import Case
    from engram.pipeline.usage import UsageTracker
    from engram.pipeline.write import NoteWriter

ALREADY = "already filed"
APART = "apart"
QUOTE = 280
"""Characters of the evidence that a person is shown (as in row C9)."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a batch became: ids of new facts, of confirmed ones, of those in review;
    skips by reason.
    """

    created: tuple[str, ...] = ()
    confirmed: tuple[str, ...] = ()
    review: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Statement:
    """What stands behind a candidate: its turn, the words in it, and that turn as it
    counts for them (`trust.heard`).

    With a model's opinion beside a known fact, if any.
    """

    turn: Turn
    quote: str
    heard: Turn
    opinion: tuple[str, str] | None = None


class Reconciler:
    """Files batches. Belongs to the one writer; `ladder` may be asked by any thread."""

    def __init__(self, note_writer: NoteWriter, usage_tracker: UsageTracker) -> None:
        self.note_writer, self.usage_tracker = note_writer, usage_tracker
        self.vault, self.index, self.settings = (
            note_writer.vault,
            note_writer.index,
            note_writer.settings,
        )
        self.entity_writer = EntityWriter(self.vault, self.settings)
        self.box_writer = BoxWriter(
            self.vault, self.index, self.settings, note_writer.health
        )
        self.ladder = Comparison(
            self.index,
            self.settings,
            self.entity_writer.ref_of,
            lambda: self.vault.logged_pairs(APART),
        )
        self.forgetting = Forgetting(note_writer)

    def file(self, batch: Batch, extraction: Extraction, now: datetime) -> BatchResult:
        """Write what was distilled from the batch, whose turns are filed already (rows
        A1, C5, C7, X8, X17).

        Each candidate climbs the ladder; the plan of all is written at once, then what
        belongs to it: entities, ties and the box of the conversation.
        """
        filed = {item.filed.turn.id: item.filed for item in batch.waiting}
        self.forgetting.lift(filed.values(), now)
        plan = WritePlan(self.settings, now, self.note_writer)
        became: list[tuple[str, str]] = []
        skipped: Counter[str] = Counter(extraction.dropped)
        ordinals: Counter[str] = Counter()
        for candidate in extraction.candidates:
            evidence = filed[candidate.turn_id]
            seed = "\n".join(
                (extraction.extractor, evidence.key, str(ordinals[candidate.turn_id]))
            )
            ordinals[candidate.turn_id] += 1
            heard = trust.heard(evidence.turn, candidate.quote)
            fact_id = ulid(heard.occurred_at, seed)
            fact = self._fact(
                candidate, replace(evidence, turn=heard), fact_id, extraction.extractor
            )
            said = Statement(
                evidence.turn,
                candidate.quote,
                heard,
                extraction.opinions.get(fact.text),
            )
            gone = self.forgetting.barred(fact, replace(evidence, turn=heard))
            judged = (
                dedup.Verdict("skip", FORGOTTEN)
                if gone
                else self._judge(fact, said, plan, batch.attempts)
            )
            verdict = self._climbed(fact, said, plan, judged)
            became.append((verdict.action, verdict.met or fact.id))
            if verdict.action == "skip":
                skipped[verdict.why] += 1
            if verdict.why != ALREADY and not (
                batch.attempts and self.vault.actions_of(fact.id)
            ):
                plan.rows.append(
                    _row(
                        now, fact.id, candidate, evidence, verdict, extraction.extractor
                    )
                )
                plan.rows += self._apart(now, fact, extraction)
            elif (
                self.index.catalog.fact(fact.id)
                and fact.id not in self.note_writer.births()
            ):  # cut short before the log told it
                plan.rows.append(
                    deed(now, "create", fact.id, ALREADY, extraction.extractor)
                )
        self._write(plan)
        self._beside(batch, extraction, [fact_id for _, fact_id in became], plan)
        created, confirmed, review = (
            tuple(fact_id for action, fact_id in became if action == wanted)
            for wanted in ("create", "confirm", "review")
        )
        self._late(created, now)
        return BatchResult(created, confirmed, review, skipped)

    def _late(self, created: Sequence[str], now: datetime) -> None:
        """What was said long before it was filed, as in an import, fades from now on:
        nobody could recall it (`B6`).
        """
        late = timedelta(days=self.settings.policy.decay.late_days)
        for fact in self._facts(created):
            if fact.created and now - fact.created > late:
                self.usage_tracker.attested(fact.id, now)
        self.usage_tracker.meet(
            self._facts(created),
            self.note_writer.births(),
            now,
            self.settings.zone,
            filed=True,
        )

    def _apart(
        self, now: datetime, fact: Fact, extraction: Extraction
    ) -> Iterator[dict[str, object]]:
        """A row for each known fact that the model found to say something else: it is
        not asked again (`A9`).
        """
        for known in self._facts(extraction.apart.get(fact.text, ())):
            row = deed(
                now,
                APART,
                fact.id,
                "a model found that they say different things",
                extraction.extractor,
            )
            yield row | {
                "met": known.id,
                "pair": sorted(pair_of(fact.text, known.text)),
            }
            self.ladder.judged(fact.text, known.text)

    def _write(self, plan: WritePlan) -> None:
        """Write what is filed again if the process ends here: the new notes go last.

        Tombstones, then what happens to known facts, the questions, the very words:
        whoever is named there and is not there yet is made when the batch is filed
        again. A fact that stands is not, so the rest is durable first.
        """
        self._bury(plan)
        self._apply(plan, [*plan.marks, *plan.artifacts], plan.notes)

    def _write_once(self, plan: WritePlan) -> None:
        """Write what nobody repeats if the process ends here: nothing ends before its
        successor stands.
        """
        self.note_writer.write(plan.notes, [])
        self._bury(plan)
        self._apply(plan, [], [*plan.artifacts, *plan.marks])

    def _bury(self, plan: WritePlan) -> None:
        if plan.stones:
            self.index.tombstones.add(plan.stones)

    def _apply(
        self, plan: WritePlan, first: Sequence[Change], then: Sequence[Change]
    ) -> None:
        """Write the changes in two steps, with the log rows in the second one.

        The salience of a fact decays by its confidence: it is anchored before the new
        confidence counts (`A10`, `B6`).
        """
        before = self._facts(plan.reweighed)
        self.note_writer.write(first, [])
        self.note_writer.write(then, plan.rows)
        for fact in before:
            self.usage_tracker.anchored(fact, plan.now)

    def _beside(
        self, batch: Batch, extraction: Extraction, ids: Sequence[str], plan: WritePlan
    ) -> None:
        """What belongs to a batch besides its facts: entity notes and relations, ties,
        the box of the conversation.

        What waits in review has its entities, so that its links lead somewhere, and
        nothing else. What was skipped is looked at too: where a batch is filed again it
        may have got its note and none of this.
        """
        filed = self._facts(ids)
        turns, own = batch.turns, {item.filed.key for item in batch.waiting}
        memories = {fact.id: fact for fact in filed if fact.status != "review"}
        ties = (
            edge
            for fact in memories.values()
            if fact.source in own
            for edge in self.ladder.ties(fact, plan)
        )
        self.entity_writer.take(filed, extraction, turns, plan.now, ties)
        became = [
            (candidate.turn_id, name)
            for candidate, name in zip(extraction.candidates, ids, strict=True)
        ]
        people = {turn.speaker for turn in turns}
        self.box_writer.add(
            turns[0].session,
            turns[0].persona,
            self._stretches(batch, became, memories),
            plan.now,
            people,
        )

    def _stretches(
        self,
        batch: Batch,
        became: Sequence[tuple[str, str]],
        memories: Mapping[str, Fact],
    ) -> Iterator[Stretch]:
        """What each few turns of a batch taught, for its box; `became` says from which
        turn each memory comes.
        """
        for turns in batch.stretches(self.settings.policy.buffer.batch_turns):
            said = {turn.id for turn in turns}
            names = dict.fromkeys(name for turn_id, name in became if turn_id in said)
            yield (
                [memories[name] for name in names if name in memories],
                turns[-1].occurred_at,
            )

    def _facts(self, ids: Sequence[str]) -> list[Fact]:
        """Those of the facts that are known, each once."""
        return [
            fact for fact in map(self.index.catalog.fact, dict.fromkeys(ids)) if fact
        ]

    def keep(
        self, fact: Fact, turn: Turn, row: Mapping[str, object]
    ) -> tuple[Verdict, list[Case]]:
        """A statement that somebody asks to keep, on the words of `turn`: what became
        of it, what waits (A1, A7, X9).

        A person's own weight of it stays. What does not come from the user is contained
        as in a batch (`X27`).
        """
        plan = WritePlan(
            self.settings, datetime.fromisoformat(str(row["at"])), self.note_writer
        )
        said, source = Statement(turn, turn.text, turn), trust.source_class(turn)
        if source == "user":
            verdict = self._compare(fact, said, plan, surprises=False)
        else:
            confidence = trust.cap(fact.confidence, source, self.settings.policy.trust)
            fact = replace(fact, confidence=confidence, origin=source)
            verdict = self._climbed(fact, said, plan, self._suspected(fact, said, plan))
        became = {
            "confirm": {"action": "confirm", "met": verdict.met},
            "review": {"action": "review", "reason": verdict.why},
        }
        plan.rows.append({**row, **became.get(verdict.action, {})})
        self._write_once(plan)
        kept = self._facts([fact.id])
        ties = (edge for one in kept for edge in self.ladder.ties(one, plan))
        self.entity_writer.take(kept, Extraction((), "user"), [turn], plan.now, ties)
        return verdict, plan.asked

    # -- the ladder --------------------------------------------------------------------

    def _judge(
        self, fact: Fact, said: Statement, plan: WritePlan, attempts: int
    ) -> Verdict:
        """The cheap rungs, and what is contained because of who said it (`C5`, `X8`,
        `X17`, `X27`).
        """
        digest = content_hash(fact.text)
        twin = plan.twin(digest, fact.persona, said.turn.occurred_at)
        already = self.index.unit(fact.id) is not None
        if attempts and not already and (rows := self.vault.actions_of(fact.id)):
            # The batch was filed before: the statement was confirmed, or a person has
            # removed it since.
            met = (
                str(row["met"])
                for row in rows
                if row.get("met") and row.get("memory") == fact.id
            )
            return dedup.Verdict("skip", ALREADY, next(met, ""))
        verdict = dedup.judge(
            trivial=is_trivial(fact.text, self.settings.policy.importance),
            grounded=bool(said.quote),
            already=already,
            twin=twin,
            buried=plan.is_buried(digest),
        )
        return (
            self._suspected(fact, said, plan) if verdict.action == "create" else verdict
        )

    def _suspected(self, fact: Fact, said: Statement, plan: WritePlan) -> Verdict:
        """Whether a statement waits because of who said it, or because a person removed
        it before (`X8`, `X27`).
        """
        if plan.is_buried(content_hash(fact.text)):
            return dedup.Verdict("review", "a person removed this before")
        why = contained(fact, said.turn, said.quote, self.settings.policy.trust)
        return dedup.Verdict("review", why) if why else dedup.Verdict("create", "new")

    def _climbed(
        self, fact: Fact, said: Statement, plan: WritePlan, verdict: Verdict
    ) -> Verdict:
        """Enter into the plan what follows from the verdict of the cheap rungs, or from
        those above where it passes.
        """
        if verdict.action == "create":
            return self._compare(fact, said, plan)
        if verdict.action == "confirm" and (known := plan.fact(verdict.met)):
            plan.confirm(known, fact)
        elif verdict.action == "review":
            doubtful = plan.placed(
                replace(fact, status="review", end_reason=verdict.why)
            )
            plan.add(doubtful, verdict.why, said.quote, asking=True)
        return verdict

    def _compare(
        self, fact: Fact, said: Statement, plan: WritePlan, *, surprises: bool = True
    ) -> Verdict:
        """The rungs that look at the neighbours: plans what follows, and says it in one
        verdict (rows A7–A13, D3).
        """
        model = self.settings.model is not None
        weighed = self.ladder.weigh(fact, said.turn.occurred_at, model=model, plan=plan)
        plan.met[fact.id] = weighed.neighbours
        if surprises:
            fact = replace(fact, importance=weighed.importance)
        if heired := [
            near.fact
            for near in weighed.neighbours
            if fact.id in near.fact.superseded_by
        ]:
            return self._healed(plan, fact, heired, said)
        grey = tuple(
            replace(near, fact=self._stood_by(near.fact, fact))
            for near in weighed.verdict.grey
        )
        opinion = _judgement(grey, said.opinion)
        if opinion and opinion.relation == "contradicts":
            grey = tuple(
                self._attested(near) if number == opinion.index else near
                for number, near in enumerate(grey, 1)
            )
        verdict = replace(weighed.verdict, grey=grey)
        # no model can have seen what is new in this batch
        if verdict.action == "judge" and opinion is None:
            unseen = [near for near in grey if plan.is_new(near.fact)]
            alone = dedup.relate(
                unseen, self.settings.policy.similarity, calibrated=True, model=False
            )
            verdict = alone if alone.action == "review" else verdict
        claim = self._claim(
            fact, said.heard, [near.fact for near in verdict.grey], plan
        )
        decision = dedup.decide(verdict, claim, self.settings.policy.ladder, opinion)
        if any(
            effect.deed == "ask" and effect.fact.persona != fact.persona
            for effect in decision.effects
        ):
            decision = replace(decision, why="others know the old one too")
        return self._planned(plan, fact, decision, said)

    def _healed(
        self, plan: WritePlan, fact: Fact, heired: Sequence[Fact], said: Statement
    ) -> Verdict:
        """The process ended when the old facts were marked and this one, which they
        name, was not made yet.
        """
        for old in heired:
            done = {"invalidated": "invalidate", "superseded": "supersede"}.get(
                old.status, "weaken"
            )
            plan.rows.append(
                deed(plan.now, done, old.id, old.end_reason, fact.origin)
                | {"met": fact.id}
            )
        why = next((old.end_reason for old in heired if old.end_reason), "new")
        fact = replace(fact, supersedes=tuple(old.id for old in heired))
        return self._planned(plan, fact, Decision("active", why), said)

    def _planned(
        self, plan: WritePlan, fact: Fact, decision: Decision, said: Statement
    ) -> Verdict:
        """Enter a decision into the plan."""
        effects = [self._heard(effect, said.heard, plan) for effect in decision.effects]
        if decision.place:
            fact = plan.placed(
                self._standing(fact, decision, plan, said.turn.occurred_at)
            )
        for effect in effects:
            words = {
                fact.id: said.quote,
                effect.fact.id: self._words(effect.fact, plan),
            }
            fact = plan.carry_out(effect, fact, words)
            if effect.deed != "confirm":
                row = deed(
                    plan.now, effect.deed, effect.fact.id, effect.why, fact.origin
                )
                plan.rows.append(row | {"met": fact.id})
        if not decision.place:
            return dedup.Verdict("confirm", decision.why, effects[0].fact.id)
        asked = any(effect.deed == "ask" for effect in effects)
        plan.add(
            fact,
            decision.why,
            said.quote,
            asking=decision.place == "review" and not asked,
        )
        return dedup.Verdict(
            "review" if decision.place == "review" else "create", decision.why
        )

    def _standing(
        self, fact: Fact, decision: Decision, plan: WritePlan, said: datetime
    ) -> Fact:
        """The new fact with its status; one that was over before it was heard of ends
        where its successor was said.
        """
        if decision.place == "active":
            return fact
        fact = replace(fact, status=decision.place, end_reason=decision.why)
        if by := plan.fact(decision.by):
            later = [
                turn.occurred_at
                for turn in self._evidence(by, plan)
                if turn.occurred_at > said
            ]
            fact = replace(
                fact, superseded_by=(by.id,), valid_until=min(later, default=None)
            )
            if not dedup.is_held(self._stood_by(by, fact)):
                plan.precede(by, fact)
        return fact

    def _heard(self, effect: Effect, turn: Turn, plan: WritePlan) -> Effect:
        """A reinforcement counts if its source is a further one, and lifts nobody above
        their trust (`D6`, `X27`).
        """
        if effect.deed not in {"reinforce", "rewrite"} or effect.confidence is None:
            return effect
        turns = self._evidence(effect.fact, plan)
        if trust.independent([*turns, turn]) <= trust.independent(turns):
            return replace(effect, deed="confirm")
        who = min(
            (trust.fact_class(effect.fact, turns), trust.source_class(turn)),
            key=trust.CLASSES.index,
        )
        most = max(
            effect.fact.confidence,
            trust.cap(effect.confidence, who, self.settings.policy.trust),
        )
        return replace(effect, confidence=most)

    def _claim(
        self, fact: Fact, turn: Turn, met: Sequence[Fact], plan: WritePlan
    ) -> Evidence:
        """What stands behind a statement beside the facts it met (`X8`, `X23`, `X27`)."""
        policy = self.settings.policy
        evidence = {old.id: self._evidence(old, plan) for old in met}
        own = trust.source_class(turn)
        classes = {old.id: trust.fact_class(old, evidence[old.id]) for old in met}
        bars = {
            old: trust.bars_superseding(own, theirs, policy.trust)
            for old, theirs in classes.items()
        }
        older = (
            old.id
            for old in met
            if any(said.occurred_at > turn.occurred_at for said in evidence[old.id])
        )
        return Evidence(
            source=fact.source,
            own=turn.role == "user" and own != "tool",
            correction=category_of(fact.category).corrects,
            barred={old: why for old, why in bars.items() if why},
            older=frozenset(older),
            left=policy.ladder.supersessions - plan.retired,
        )

    def _stood_by(self, fact: Fact, new: Fact) -> Fact:
        """The fact, as one a person stands by where they edited its note, or others
        know it too (`X23`, `E14`).
        """
        held = self.note_writer.told("edit", fact.id) or fact.persona != new.persona
        return replace(fact, verification="user_confirmed") if held else fact

    def _attested(self, near: Neighbour) -> Neighbour:
        """The neighbour with the turns that said it in the same words, of which its
        note does not tell (`A10`).
        """
        fact = near.fact
        rows = (
            row
            for row in self.vault.actions_of(fact.id)
            if row.get("action") == "confirm"
        )
        told = dict.fromkeys(
            key
            for row in rows
            if (key := str(row.get("turn") or "")) and key != fact.source
        )
        return replace(
            near, fact=replace(fact, also=tuple(dict.fromkeys((*fact.also, *told))))
        )

    def _evidence(self, fact: Fact, plan: WritePlan) -> list[Turn]:
        """The turns that a fact rests on, as far as they are in the vault, as they
        count for it (`trust.heard`).
        """
        units = self.index.units([key for key in (fact.source, *fact.also) if key])
        filed = [unit for unit in units.values() if isinstance(unit, FiledTurn)]
        if not any(parts(one.turn.text) for one in filed):
            return [one.turn for one in filed]
        logged = [
            *self.vault.actions_of(fact.id),
            *(row for row in plan.rows if fact.id in {row["memory"], row.get("met")}),
        ]
        return [_counted(one, logged) for one in filed]

    def _words(self, fact: Fact, plan: WritePlan) -> str:
        said = self._evidence(fact, plan)
        return said[0].text[:QUOTE] if said else ""

    # -- records -----------------------------------------------------------------------

    def _fact(
        self, candidate: Candidate, evidence: FiledTurn, fact_id: str, extractor: str
    ) -> Fact:
        """The record of a new fact (rows A12, B19, C4, C6, C10, C17, D6, X14)."""
        policy, turn = self.settings.policy, evidence.turn
        category = category_of(candidate.category).name
        if category_of(category).not_from_outside and trust.bars(
            category, trust.source_class(turn)
        ):
            category = PLAIN
        importance = candidate.importance
        if importance is None:
            importance, _ = importance_of(
                candidate.text, category, candidate.tags, policy.importance
            )
        confidence = round(
            trust.cap(candidate.confidence, trust.source_class(turn), policy.trust), 2
        )
        speculative = tier_of(confidence, policy.extraction) == "speculative"
        ends = expiry(candidate.lifetime, turn.occurred_at, policy.extraction)
        if speculative:
            unconfirmed = turn.occurred_at + timedelta(
                days=policy.extraction.speculative_days
            )
            ends = min(ends or unconfirmed, unconfirmed)
        kind = kind_of(candidate.text, category, candidate.tags, candidate.when)[0]
        tags = candidate.tags
        if (
            turn.role == "user"
            and turn.origin != "tool"
            and asked_to_keep(turn.text, candidate.quote)
        ):
            tags = (*tags, *{REMEMBER_TAG}.difference(tags))
        fact = Fact(
            id=fact_id,
            text=candidate.text,
            category=category,
            kind=kind,
            created=turn.occurred_at,
            confidence=confidence,
            importance=round(importance, 2),
            about=self.entity_writer.linked(candidate.about),
            tags=tags,
            source=evidence.key,
            origin=extractor.partition("/")[0],
            valid_from=candidate.when.start if candidate.when else None,
            event_end=event_end(
                f"{candidate.text} {candidate.quote}", category, kind, candidate.when
            ),
            persona=turn.persona,
        )
        # a guess ends nothing that is to stay
        return fact if protected(fact) else replace(fact, expires=ends)


def _counted(filed: FiledTurn, logged: Sequence[Mapping[str, object]]) -> Turn:
    """The turn as the user's own, unless each of the words in it that the action log
    names is only passed on.
    """
    words = [
        str(row["quote"])
        for row in logged
        if row.get("turn") == filed.key and row.get("quote")
    ]
    heard = [trust.heard(filed.turn, one) for one in words]
    return next(
        (turn for turn in heard if turn == filed.turn), (heard or [filed.turn])[0]
    )


def _judgement(
    grey: Sequence[Neighbour], opinion: tuple[str, str] | None
) -> Judgement | None:
    """A model's opinion about one of the facts that are to be judged now, as the number
    of that one.
    """
    relation, known = opinion or ("", "")
    numbers = [number for number, near in enumerate(grey, 1) if near.fact.id == known]
    if not numbers or relation not in {"same", "contradicts"}:
        return None
    return Judgement("same" if relation == "same" else "contradicts", numbers[0])


def _row(
    now: datetime,
    fact_id: str,
    candidate: Candidate,
    evidence: FiledTurn,
    verdict: Verdict,
    extractor: str,
) -> dict[str, object]:
    """A line of the action log (rows A32, C22): what was decided, why, on which
    evidence.
    """
    action = {
        "create": "store",
        "confirm": "confirm",
        "review": "review",
        "skip": "discard",
    }[verdict.action]
    row: dict[str, object] = {
        "at": now.isoformat(timespec="seconds"),
        "action": action,
        "outcome": "applied",
        "memory": fact_id,
    }
    if verdict.met:
        row["met"] = verdict.met
    if verdict.why == FORGOTTEN:  # not in these words either
        return row | {"reason": verdict.why, "turn": evidence.key, "by": extractor}
    return row | {
        "reason": verdict.why,
        "turn": evidence.key,
        "quote": candidate.quote,
        "by": extractor,
    }
