"""Decide what a new statement does to the known facts (A7-A11, C5, C33, E16, X8, X9).

`decide` is a pure function: the caller finds the known facts that are near or in the
same slot, with what a model or the user says about them, and carries out the effects.

    decision = screen(statement)
    if decision is None:
        decision = decide(statement, known, policy)

The known facts that the statement may end are collected by the kind of claim, the
surest first (`_claims`); one function decides each claim (`_outcome`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engram.core import changes, todos
from engram.core.attributes import attribute
from engram.core.categories import category_of
from engram.core.text import content_hash, is_ulid

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from engram.core.language.states import State
    from engram.core.policy import DedupPolicy, Policy, SimilarityPolicy
    from engram.core.records import Fact

JUDGEMENTS_FILE = "state/compared.json"
"""The file of a model's judgements on pairs of statements.

They stay true, so undoing a run does not remove them.
"""

NEW = "new"
BESIDE = "independent of what is near"
SAME_WORDS = "same statement"
SAME = "says the same (read by a model)"
JUDGED_SAME = "judged the same"
ALREADY_FILED = "already filed"
REMOVED_BEFORE = "a person removed this before"
NEWER_KNOWN = "something younger is known"
SAYS_MORE = "says more than a protected memory"
OUTDATED = "the user said that it is over"
CONTRADICTION = "judged a contradiction"
REPLACED = "something else holds now (read by a model)"
OVER = "it is over (read by a model)"
SUPPORTED = "more likely by another statement (read by a model)"
CORRECTED = "corrected"
SAID_AGAIN = "the statement that it had replaced was made again (rule)"
STANDS = "a person stands by the old one"

SAYS_THE_SAME = "says the same as another"
JUDGED_THE_SAME = "judged the same as another"
"""The reason of maintenance for superseding a memory with another one (`A22`)."""

RelationKind = Literal["same", "contradicts", "independent"]
Relation = Literal[
    "", "same", "contradicts", "repeats", "replaces", "ends", "supports", "corrects"
]
EffectAction = Literal[
    "confirm",
    "reinforce",
    "rewrite",
    "weaken",
    "schedule",
    "invalidate",
    "supersede",
    "settle",
    "ask",
]
Destination = Literal["active", "review", "superseded", ""]
ENDINGS = frozenset({"invalidate", "supersede", "settle"})


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer of a model about a statement and numbered known facts.

    `index` is 1 for the first of them, 0 for none. `warning` is the reason why an
    answer with another relation is treated as independent.
    """

    relation: RelationKind
    index: int = 0
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """A known fact beside a new statement.

    By words: `similarity`, nominal, 0–1; `same_slot`; `conflict`, why both cannot be
    true; `distinct`, why they are two facts at any similarity; `states`. By others:
    `relation`, what a model or the user says of it. By evidence: `newer` if it has
    later evidence; `barred`, why the source may not replace it; `guarded`, why only a
    person may end it; `protected`; `exceeded` if it is protected and says less. `cap`
    is the highest confidence after another statement, None if its source adds nothing.
    `visible` is false for a fact that recall would not return, `fresh` true for one of
    the same batch, `undone` for one that replaced the same statement before.
    """

    fact: Fact
    similarity: float = 0.0
    same_slot: bool = False
    conflict: str = ""
    distinct: str = ""
    states: tuple[State, ...] = ()
    relation: Relation = ""
    newer: bool = False
    barred: str = ""
    guarded: str = ""
    protected: bool = False
    exceeded: bool = False
    cap: float | None = 1.0
    visible: bool = True
    fresh: bool = False
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """A new statement: the record that it would get, and its source.

    `words` are the words of its turn, `states` what they state. `source` is the class
    of its source (`trust.source_class`); `by_user` is true if the user made it,
    `judged` if a model may compare it with known facts, `doubtful` if the words only
    imply it, `ends` if it only reports an end, `plans` if it only plans something; with
    a `correction`, the reason, the user corrects a value. `remaining` is the number of
    facts that the batch may still end. The rest are the results of cheap checks, in
    their order: filed before (with the fact that it met), trivial, `repeated` in the
    same words, without a quotation, `refused`, `contained` for review.
    """

    fact: Fact
    said_at: datetime
    words: str = ""
    states: tuple[State, ...] = ()
    source: str = "user"
    by_user: bool = True
    correction: str = ""
    judged: bool = False
    doubtful: bool = False
    ends: bool = False
    plans: bool = False
    remaining: int = 5
    filed: bool = False
    met: str = ""
    trivial: bool = False
    repeated: Known | None = None
    grounded: bool = True
    refused: str = ""
    contained: str = ""

    @property
    def corrects(self) -> bool:
        """Whether its category corrects what was said before."""
        return category_of(self.fact.category).corrects

    @property
    def tells_change(self) -> bool:
        """Whether it reports a change, not only another value (law 7)."""
        told = any(one.over or one.change for one in self.states)
        return self.corrects or self.ends or told


@dataclass(frozen=True, slots=True)
class Effect:
    """A change of a known fact.

    confirm: logged, no file changes. reinforce: new `confidence`, evidence added.
    rewrite: the text in the newer words (`merge`), the old ones under History. weaken:
    new `confidence`, linked both ways. schedule: it holds until `until`, linked both
    ways. invalidate, supersede: that status and `valid_until`, linked both ways; with
    `add_tombstone` the old statement gets a tombstone. settle: a promise gets the tag
    `settled`. ask: a review case.
    """

    action: EffectAction
    fact: Fact
    why: str
    confidence: float | None = None
    add_tombstone: bool = False
    settled: str = ""
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The destination of a statement, the reason, and the changes of known facts.

    `destination` is active, review or superseded; '' means that it gets no note.
    `met` is the id of the fact that it repeats, or that supersedes it; `refused` are
    the reasons of changes that were not made. `finished` are the facts that an
    interrupted attempt has changed already.
    """

    destination: Destination
    why: str
    effects: tuple[Effect, ...] = ()
    met: str = ""
    refused: tuple[str, ...] = ()
    finished: tuple[Fact, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether it changes known facts, or depends on one."""
        return bool(self.effects or self.met or self.finished)

    @property
    def action(self) -> Literal["create", "confirm", "review", "skip"]:
        """What becomes of the statement, as the batch counts it."""
        if self.destination:
            return "review" if self.destination == "review" else "create"
        return "confirm" if self.effects else "skip"


def screen(new: Statement, policy: DedupPolicy) -> Decision | None:
    """Return the decision on a statement that needs no comparison, else None (`C5`)."""
    if new.filed:
        return Decision("", ALREADY_FILED, met=new.met)
    if new.trivial:
        return Decision("", "trivial")
    if new.repeated:
        return _as_repetition(new, new.repeated, SAME_WORDS, policy)
    if not new.grounded:
        return Decision("review", "no evidence in the turn")
    return Decision("", new.refused) if new.refused else None


def decide(new: Statement, known: Sequence[Known], policy: Policy) -> Decision:
    """Return what becomes of a statement and of the known facts.

    In this order: an interrupted attempt is finished; another source that repeats an
    ended state is skipped; a contained statement waits in review; one that says the
    same as a known fact confirms it; one that a later statement ended is filed as
    superseded. Any other is new, and ends, weakens or questions what it contradicts.
    """
    if finished := [one.fact for one in known if new.fact.id in one.fact.superseded_by]:
        why = next((one.end_reason for one in finished if one.end_reason), NEW)
        return Decision("active", why, finished=tuple(finished))
    if _is_outdated(new, known):
        return Decision("", OUTDATED)
    if new.contained:
        return Decision("review", new.contained)

    visible = [one for one in known if one.visible]
    same, why = _repeated(visible, policy.similarity)
    if same and not same.exceeded:
        return _as_repetition(new, same, why, policy.dedup)
    if later := _successor(new, visible):
        return Decision("superseded", NEWER_KNOWN, met=later.fact.id)

    claims = _claims(new, visible, policy.similarity)
    decision = _with_ends(new, claims, policy.dedup)
    if decision.why == NEW and any(is_near(one, policy.similarity) for one in visible):
        decision = replace(decision, why=SAYS_MORE if same else BESIDE)
    made = decision.effects
    supported = _supported(new, visible, {one.fact.id for one in made}, policy.dedup)
    return replace(decision, effects=(*made, *supported))


def _with_ends(
    new: Statement, claims: Iterable[_Claim], policy: DedupPolicy
) -> Decision:
    """Return the decision by claims: one effect for each fact, at most one question."""
    effects: dict[str, Effect] = {}
    refused: list[str] = []
    whys: list[str] = []
    destination: Destination = "active"
    remaining = new.remaining
    for claim in claims:
        name = claim.known.fact.id
        if name in effects and effects[name].action != "ask":
            continue
        outcome = _outcome(new, claim, policy, remaining)
        if outcome.destination == "superseded":
            return Decision("superseded", outcome.why, met=name)
        if outcome.destination == "review":
            destination = "review"
        effect = outcome.effect
        if effect is None:
            refused.append(f"known: {outcome.why}")
        elif effect.action != "ask" or all(
            one.action != "ask" for one in effects.values()
        ):
            effects[name] = effect
            remaining -= effect.action in ENDINGS
        whys.append(outcome.why)
    why = whys[0] if whys else NEW
    return Decision(destination, why, tuple(effects.values()), refused=tuple(refused))


def _is_outdated(new: Statement, known: Sequence[Known]) -> bool:
    """Return whether another source repeats a state that the user has ended (`X7`)."""
    if new.source == "user" or not new.states:
        return False
    stated = [(one.fact, one.states) for one in known]
    return changes.is_ended(new.states, stated) and any(
        one.fact.status == "active" and one.barred
        for one in known
        if changes.is_replaced(new.states, one.states)
    )


# -- the same statement ----------------------------------------------------------------


def is_near(one: Known, cuts: SimilarityPolicy) -> bool:
    """Return whether a fact is similar enough to be compared by a model (`A7`, `E5`).

    Facts of the same slot need less similarity.
    """
    return one.similarity >= (cuts.link if one.same_slot else cuts.grey)


def is_repetition(one: Known, cuts: SimilarityPolicy) -> bool:
    """Return whether similarity alone shows that a fact makes the same statement."""
    return one.similarity > cuts.same and not one.distinct


def to_judge(
    new: Statement, known: Sequence[Known], policy: Policy
) -> tuple[Known, ...]:
    """Return the visible facts, nearest first, of which a model has to judge (`A9`).

    A correction that is near none is compared with the nearest at any similarity.
    """
    cuts = policy.similarity
    nearest = [one for one in known if one.visible][: policy.dedup.neighbours]
    if any(is_repetition(one, cuts) for one in nearest):
        return ()
    near = tuple(one for one in nearest if is_near(one, cuts))
    if near or not new.corrects:
        return near
    return tuple(one for one in nearest if one.similarity >= cuts.floor)


def _repeated(
    known: Sequence[Known], cuts: SimilarityPolicy
) -> tuple[Known | None, str]:
    """Return the known fact with the same meaning, and how that is known."""
    for one in known:
        if is_repetition(one, cuts) and one.relation not in {"replaces", "ends"}:
            return one, f"says the same ({one.similarity:.2f})"
    for one in known:
        if one.relation == "repeats" and not (one.conflict or one.distinct):
            return one, SAME
    for one in known:
        if one.relation == "same":
            return one, JUDGED_SAME
    return None, ""


def _as_repetition(
    new: Statement, one: Known, why: str, policy: DedupPolicy
) -> Decision:
    """Confirm, reinforce or rewrite the fact that a statement repeats (`A8`, `X23`).

    Only newer words of the user replace the words of a fact, and none those of a
    protected one.
    """
    fact = one.fact
    effect = _reinforced(new, one, why, policy)
    may_rewrite = why == JUDGED_SAME and new.by_user and not is_event(fact)
    if may_rewrite and not (one.protected or one.newer or one.barred):
        action: EffectAction = "confirm" if effect.action == "confirm" else "rewrite"
        effect = replace(effect, action=action)
    return Decision("", why, (effect,), fact.id)


def _reinforced(new: Statement, one: Known, why: str, policy: DedupPolicy) -> Effect:
    """Return the effect of further evidence for a known fact (`A8`, `D6`).

    It is only logged if a person vouches for the fact, the turn is already a source,
    the source is not independent, or the note lists as many sources as it may.
    """
    fact = one.fact
    sources = tuple(key for key in (fact.source, *fact.also) if key)
    is_counted = new.fact.source in sources or len(sources) >= policy.sources
    if is_counted or one.cap is None or one.guarded or is_user_backed(fact):
        return Effect("confirm", fact, why)
    raised = min(reinforced_confidence(fact.confidence, policy), one.cap)
    return Effect("reinforce", fact, why, max(fact.confidence, raised))


def _supported(
    new: Statement,
    known: Iterable[Known],
    decided: Collection[str],
    policy: DedupPolicy,
) -> list[Effect]:
    """Return the reinforcements of facts that the user's words make more likely."""
    effects = [
        _reinforced(new, one, SUPPORTED, policy)
        for one in known
        if one.relation == "supports" and new.by_user and one.fact.id not in decided
    ]
    return [effect for effect in effects if effect.action != "confirm"]


# -- what a statement ends -------------------------------------------------------------

By = Literal["user", "judge", "words", "states", "link"]


@dataclass(frozen=True, slots=True)
class _Claim:
    """The claim that a statement ends a known fact, the reason, and how it is known.

    By the user's correction, by a judgement of a model, by a conflict of the words, by
    the states in them, or by a link of the model. `unclear` is true if another fact may
    be meant; `begins` is the later time at which the change happens.
    """

    known: Known
    why: str
    by: By
    unclear: bool = False
    begins: datetime | None = None


def _claims(
    new: Statement, known: Sequence[Known], cuts: SimilarityPolicy
) -> Iterator[_Claim]:
    """Yield the claims of a statement, the surest first."""
    if new.correction:
        corrected = (one for one in known if one.relation == "corrects")
        yield from (_Claim(one, new.correction, "user") for one in corrected)
        return
    judged = [one for one in known if one.relation == "contradicts"]
    for one in judged:
        yield _Claim(one, one.conflict or CONTRADICTION, "judge")
    # No model can have compared the facts of the same batch.
    unseen = [one for one in known if one.fresh or not new.judged]
    near = [one for one in unseen if one.conflict and is_near(one, cuts)]
    if near and not judged:
        yield _Claim(near[0], near[0].conflict, "words")
    yield from _by_states(new, known)
    yield from _by_rivals(new, known)
    for one in known:
        if one.relation in {"replaces", "ends"}:
            why = REPLACED if one.relation == "replaces" else OVER
            yield _Claim(one, why, "link")


def _by_states(new: Statement, known: Sequence[Known]) -> Iterator[_Claim]:
    """Yield the facts whose state a statement ends, now or on a later day (`A7`)."""
    by_id = {one.fact.id: one for one in known}
    stated = [(one.fact, one.states) for one in known if one.states]
    begins = {one: _begins(new, one) for one in new.states}
    for day in sorted({*begins.values()}):
        states = [one for one in new.states if begins[one] == day]
        later = day if day > new.said_at else None
        if day != changes.NEVER:
            for end in changes.ended_facts(states, new.said_at, stated):
                one = by_id[end.fact.id]
                yield _Claim(one, end.why, "states", end.is_unclear, later)


def _begins(new: Statement, state: State) -> datetime:
    """Return when a state begins: now, or on the later day that the words give.

    The day of an appointment is a value, not a beginning. A plan without a day never
    begins.
    """
    day = new.fact.valid_from or new.said_at
    if state.planned:
        day = new.fact.valid_from or changes.state_time(state, new.said_at)
    elif attribute(state.attribute).thing:
        day = new.said_at
    return max(day, new.said_at)


def _by_rivals(new: Statement, known: Sequence[Known]) -> Iterator[_Claim]:
    """Yield the facts that contradict the latest words of the user.

    These are facts that once replaced the same statement, and a fact with another name
    that the statement corrects. With several such facts it is unclear which one is
    meant.
    """
    undone = [one for one in known if one.undone]
    for one in undone:
        yield _Claim(one, SAID_AGAIN, "states")
    if undone or not new.corrects:
        return
    others = [
        one for one in known if changes.names_differ(new.fact.text, one.fact.text)
    ]
    for one in others:
        yield _Claim(one, f"{CORRECTED} (rule)", "states", len(others) > 1)


def _successor(new: Statement, known: Sequence[Known]) -> Known | None:
    """Return a known fact that a later statement put in the place of a new one.

    An old turn that is imported now does not restore a state that is over.
    """
    states = [one for one in new.states if not one.planned]
    for one in known:
        if one.newer and changes.is_replaced(states, one.states):
            return one
    return None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of a claim: an effect or the reason why there is none."""

    effect: Effect | None
    why: str
    destination: Destination = "active"


def _outcome(
    new: Statement, claim: _Claim, policy: DedupPolicy, remaining: int
) -> _Outcome:
    """Decide on one claim; the first rule that applies counts.

    An event stays, because it did happen (`C33`). Later evidence stays. What is in
    doubt or planned without a day changes nothing yet. A source of lower trust, and any
    but the user for a note that only a person may change, ends nothing (`X27`). A
    person is asked about such a note, about an unclear end, about a conflict that only
    the words show, and beyond the limit of the batch (`X9`, `X23`). A promise is
    settled by the user's words (`E16`). A fact from three sessions is weakened if no
    words report a change (`A10`). Any other fact ends, on the day that the words give.
    """
    one, fact, compared = claim.known, claim.known.fact, claim.by in {"judge", "words"}
    begins = claim.begins or _begins_later(new, claim)
    if why := _refusal(new, claim, begins):
        is_older = compared and why == NEWER_KNOWN
        return _Outcome(None, why, "superseded" if is_older else "active")
    ask = Effect("ask", fact, claim.why)
    if why := _objection(new, claim):
        return _Outcome(ask, why, "review" if compared else "active")
    if claim.by == "words" and not new.corrects:
        return _Outcome(ask, claim.why)
    if one.guarded or (compared and is_user_backed(fact)):
        return _Outcome(ask, one.guarded or STANDS)

    is_change = new.tells_change or claim.by in {"states", "user"}
    if session_count(fact) >= policy.episodes and not is_change:
        least = weakened_confidence(fact.confidence, policy)
        return _Outcome(Effect("weaken", fact, claim.why, least), claim.why)
    if claim.unclear or remaining <= 0:
        return _Outcome(ask, claim.why if claim.unclear else "too many changes at once")
    effect = _end(new, claim, begins)
    return _Outcome(effect, effect.why)


def _refusal(new: Statement, claim: _Claim, begins: datetime | None) -> str:
    """Return why a claim changes nothing, or ''."""
    fact, promise = claim.known.fact, category_of(claim.known.fact.category).promise
    happened = is_event(fact) and not promise
    if happened and not new.corrects and claim.by != "user":
        return "what happened stays"
    if claim.known.newer:
        return NEWER_KNOWN
    if claim.by != "link":
        return ""
    plans = new.plans or category_of(new.fact.category).promise
    if plans and begins is None and not promise:
        return "a planned change without a day ends nothing yet"
    if new.doubtful:
        return "in doubt"
    foreign = claim.known.guarded and not new.by_user
    return "not for this source to end" if claim.known.barred or foreign else ""


def _objection(new: Statement, claim: _Claim) -> str:
    """Return why a statement may not end a fact unless a person agrees, or ''."""
    if claim.known.barred or new.by_user:
        return claim.known.barred
    needs_user = claim.known.guarded or claim.by in {"states", "words"}
    return claim.known.guarded or claim.why if needs_user else ""


def _end(new: Statement, claim: _Claim, begins: datetime | None) -> Effect:
    """Return the end of a fact, or of a promise, now or at a later time."""
    fact, why = claim.known.fact, claim.why
    is_promise = category_of(new.fact.category).promise
    if claim.by == "link" and todos.is_open(fact) and not is_promise:
        tag, outcome = todos.outcome(new.words, why)
        if outcome != REPLACED:
            return Effect("settle", fact, outcome, settled=tag)
    if begins:
        return Effect("schedule", fact, why, until=begins)
    if claim.by in {"judge", "words"}:
        if new.corrects:
            return Effect("supersede", fact, CORRECTED, add_tombstone=True)
        return Effect("invalidate", fact, why)
    return Effect("supersede", fact, why, add_tombstone=claim.by == "user")


def _begins_later(new: Statement, claim: _Claim) -> datetime | None:
    """Return the day from which a statement holds, if the known fact holds until then.

    A plan for another day, a correction, and another date or figure count at once.
    """
    known_from, begins = claim.known.fact.valid_from, new.fact.valid_from
    is_value = attribute(new.fact.attribute).thing and not new.plans
    if claim.by in {"states", "user"} or new.corrects or is_value or begins is None:
        return None
    if begins <= new.said_at or (known_from and known_from > new.said_at):
        return None
    return None if category_of(claim.known.fact.category).promise else begins


# -- announced ends --------------------------------------------------------------------


def is_scheduled(fact: Fact) -> bool:
    """Return whether an announced change ends an active fact on a later day."""
    is_active = fact.status == "active" and fact.valid_until is not None
    return is_active and bool(fact.superseded_by)


def is_called_off(plan: Fact | None, day: datetime) -> bool:
    """Return whether the plan for a day was given up before that day."""
    if plan is None or plan.status in {"invalidated", "forgotten", "pruned"}:
        return True
    if todos.EXPIRED not in plan.tags:
        return False
    return plan.end_reason != todos.TIME_OVER and bool(plan.done and plan.done < day)


def rescheduled(old: Fact, plan: Fact, later: Fact | None) -> Fact:
    """Return a fact whose announced end does not happen by `plan`.

    It ends on the day of `later`, a plan in its place, or by another plan, else never.
    """
    plans = tuple(name for name in old.superseded_by if name != plan.id)
    day = old.valid_until if plans else None
    begins = later and later.created and later.valid_from
    if later and begins and later.created and begins > later.created:
        plans, day = (*plans, later.id), begins
    return replace(old, superseded_by=plans, valid_until=day)


# -- facts -----------------------------------------------------------------------------


def is_user_backed(fact: Fact) -> bool:
    """Return whether the user wrote, confirmed or pinned a fact (`X23`).

    No statement changes such a fact.
    """
    return (
        fact.verification == "user_confirmed"
        or fact.origin in {"user", "edited"}
        or fact.pinned
    )


def is_merged(loser: Fact, winner: Fact) -> bool:
    """Return whether a memory was superseded because `winner` says the same (`A22`)."""
    merged = loser.end_reason in {SAYS_THE_SAME, JUDGED_THE_SAME}
    equal = content_hash(loser.text) == content_hash(winner.text)
    return loser.status == "superseded" and (merged or equal)


def is_event(fact: Fact) -> bool:
    """Return whether a fact is an event, which no later fact invalidates (`C33`).

    An event is an episode with a time, or a fact of a momentary category.
    """
    return fact.kind == "episode" and (
        fact.valid_from is not None or category_of(fact.category).momentary
    )


def session_count(fact: Fact) -> int:
    """Return the number of conversations with evidence of a fact (`A10`)."""
    return len({key.partition("#")[0] for key in (fact.source, *fact.also) if key})


def reinforced_confidence(confidence: float, policy: DedupPolicy) -> float:
    """Return the confidence after one more statement: `min(1, c + .1)` (`A8`)."""
    return min(1.0, round(confidence + policy.gain, 4))


def weakened_confidence(confidence: float, policy: DedupPolicy) -> float:
    """Return the confidence after a contradiction (`A10`).

    It is `max(.1, c − .2)`, at most c.
    """
    return min(confidence, max(policy.least, round(confidence - policy.loss, 4)))


def is_own_change(before: Fact, after: Fact) -> bool:
    """Return whether a change of a note can only be engram's own (`X23`).

    Such a change adds the key of a turn to the evidence, or the id of a memory that it
    supersedes or that supersedes it; a user would write a link there. All other changed
    fields must be ones that engram writes together with these.
    """
    evidence = _added(_evidence_keys(before), _evidence_keys(after))
    supersedes = _added(before.supersedes, after.supersedes)
    superseded_by = _added(before.superseded_by, after.superseded_by)
    if evidence is None or supersedes is None or superseded_by is None:
        return False
    if not (evidence or supersedes or superseded_by):
        return False
    if not all(map(is_ulid, (*supersedes, *superseded_by))):
        return False

    unchanged = {name: getattr(before, name) for name in _WRITTEN_ALONG}
    return replace(after, **unchanged) == before


_WRITTEN_ALONG = (
    *("source", "also", "supersedes", "superseded_by"),
    *("status", "confidence", "expires", "valid_until", "end_reason", "path", "sha"),
)


def _evidence_keys(fact: Fact) -> tuple[str, ...]:
    return tuple(filter(None, (fact.source, *fact.also)))


def _added(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...] | None:
    """Return the items of `after` that `before` lacks; None if `after` lacks one."""
    if not {*before} <= {*after}:
        return None
    return tuple(item for item in after if item not in before)


def merge(old: Fact, new: Fact) -> Fact:
    """Return `old` in the words of `new`.

    The result has the evidence, names and tags of both and the higher importance.
    """
    evidence = dict.fromkeys(
        key for key in (*old.also, new.source, *new.also) if key and key != old.source
    )
    return replace(
        old,
        text=new.text,
        importance=max(old.importance, new.importance),
        about=tuple(dict.fromkeys((*old.about, *new.about))),
        tags=tuple(dict.fromkeys((*old.tags, *new.tags))),
        also=tuple(evidence),
    )
