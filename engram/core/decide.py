"""Decide what a new statement does to the known facts (A7-A11, C5, C33, E16, X8, X9).

`decide` is a pure function of values: the statement, with what its turn and its source
allow; the known facts that are near or in the same slot, with what a model or the user
says about them; and the policy. The caller carries out the effects.

The known facts that the statement may end are collected by the kind of claim, the
surest first (`_claims`); one function decides each claim (`_outcome`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engram.core import changes, todos
from engram.core.attributes import attribute
from engram.core.categories import category_of
from engram.core.language.states import states
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
SAME_WORDS = "same statement"
SAME = "says the same (read by a model)"
ALREADY_FILED = "already filed"
TRIVIAL = "trivial"
UNGROUNDED = "no words of the message support it"
REMOVED_BEFORE = "a person removed this before"
NEWER_KNOWN = "something younger is known"
SAYS_MORE = "says more than a protected memory"
OUTDATED = "the user said that it is over"
REPLACED = "something else holds now (read by a model)"
OVER = "it is over (read by a model)"
GOES_ON = "what it rests on goes on"
SUPPORTED = "more likely by another statement (read by a model)"
SAID_AGAIN = "the statement that it had replaced was made again (rule)"
STANDS = "a person stands by the old one"

SAYS_THE_SAME = "says the same as another"
JUDGED_THE_SAME = "judged the same as another"
"""The reason of maintenance for superseding a memory with another one (`A22`)."""

RelationKind = Literal["same", "contradicts", "independent"]
Relation = Literal["", "repeats", "supports", "replaces", "ends"]
EffectAction = Literal[
    "confirm",
    "reinforce",
    "rewrite",
    "weaken",
    "schedule",
    "supersede",
    "settle",
    "ask",
]
Destination = Literal["active", "review", "superseded", ""]


@dataclass(frozen=True, slots=True)
class Known:
    """A known fact beside a new statement.

    By words: `similarity`, nominal, 0–1; `equal` for the same words; `distinct`, why
    they are two facts at any similarity; `states`.
    By others: `relation`, what a model or the user says of it. By evidence: `newer` if
    it has later evidence; `barred`, why the source may not replace it; `guarded`, why
    only a person may end it; `protected`; `exceeded` if it says less. `cap` is the
    highest confidence after another statement, None if its source adds nothing.
    `visible` is false for a fact that recall would not return, `undone` true for one
    that replaced the same statement before.
    """

    fact: Fact
    similarity: float = 0.0
    equal: bool = False
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
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """A new statement: the record that it would get, its source, and the cheap checks.

    `words` are the words of its turn, `states` what they state. `source` is the class
    of its source (`trust.source_class`); `by_user` is true if the user made it,
    `doubtful` if the words only imply it, `ends` if it only reports an end, `plans` if
    it only plans something. `remaining` is the number of facts that the batch may still
    end. The rest: `filed` before (with the fact that it met), `trivial`, without a
    quotation, `refused`, `contained` for review.
    """

    fact: Fact
    said_at: datetime
    words: str = ""
    states: tuple[State, ...] = ()
    source: str = "user"
    by_user: bool = True
    doubtful: bool = False
    ends: bool = False
    plans: bool = False
    remaining: int = 5
    filed: bool = False
    met: str = ""
    trivial: bool = False
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
        return self.corrects or self.ends or self._changes

    @property
    def finds_wrong(self) -> bool:
        """Whether it corrects what never held, and reports no change."""
        return self.corrects and not self._changes

    @property
    def _changes(self) -> bool:
        return any(one.over or one.change for one in self.states)


@dataclass(frozen=True, slots=True)
class Effect:
    """A change of a known fact.

    confirm: logged, no file changes. reinforce: new `confidence`, evidence added.
    rewrite: the text in the newer words (`merge`), the old ones under History. weaken:
    new `confidence`, linked both ways. schedule: it holds until `until`, linked both
    ways. supersede: that status and `valid_until`, linked both ways; with
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
    def action(self) -> Literal["create", "confirm", "review", "skip"]:
        """What becomes of the statement, as the batch counts it."""
        if self.destination:
            return "review" if self.destination == "review" else "create"
        return "confirm" if self.effects else "skip"


def decide(new: Statement, known: Sequence[Known], policy: Policy) -> Decision:
    """Return what becomes of a statement and of the known facts.

    A statement that is refused, or that waits for a person, changes nothing. One that
    says the same as a known fact confirms it; one that a later statement ended is filed
    as superseded; any other is new. It ends, weakens or questions what it contradicts,
    and reinforces what it makes more likely.
    """
    if refused := _screened(new, known):
        return refused
    visible = [one for one in known if one.visible]
    same, why = _repeated(visible, policy.similarity)
    more = same is not None and same.exceeded and same.protected
    if same and not more:
        decision = _as_repetition(new, same, why, policy.dedup)
        known = [one for one in visible if one is not same]
        links = (claim for claim in _claims(new, known) if claim.by == "link")
        ended = _with_ends(new, links, policy.dedup)
        return replace(decision, effects=(*decision.effects, *ended.effects))
    if later := _successor(new, visible):
        return Decision("superseded", NEWER_KNOWN, met=later.fact.id)

    claims = _claims(new, visible)
    decision = _with_ends(new, claims, policy.dedup)
    if more and decision.why == NEW:
        decision = replace(decision, why=SAYS_MORE)
    if new.ends:
        asks = any(effect.action == "ask" for effect in decision.effects)
        return replace(decision, destination="review" if asks else "")
    made = decision.effects
    supported = _supported(new, visible, {one.fact.id for one in made}, policy.dedup)
    return replace(decision, effects=(*made, *supported))


def _screened(new: Statement, known: Sequence[Known]) -> Decision | None:
    """Return the decision on a statement that is not compared, by the first reason."""
    if new.filed:
        return Decision("", ALREADY_FILED, met=new.met)
    if new.trivial:
        return Decision("", TRIVIAL)
    if finished := [one.fact for one in known if new.fact.id in one.fact.superseded_by]:
        why = next((one.end_reason for one in finished if one.end_reason), NEW)
        return Decision("active", why, finished=tuple(finished))
    if any(one.equal and one.visible for one in known):
        return None
    if not new.grounded:
        return Decision("review", UNGROUNDED)
    if why := new.refused or (OUTDATED if _is_outdated(new, known) else ""):
        return Decision("", why)
    return Decision("review", new.contained) if new.contained else None


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
            remaining -= effect.action in {"supersede", "settle"}
        whys.append(outcome.why)
    why = whys[0] if whys else NEW
    return Decision(destination, why, tuple(effects.values()), refused=tuple(refused))


def _is_outdated(new: Statement, known: Sequence[Known]) -> bool:
    """Return whether another source repeats a state that the user has ended (`X7`)."""
    ended = {"superseded", "invalidated"}
    is_ended = new.source != "user" and any(
        one.fact.status in ended and changes.share_state(new.states, one.states)
        for one in known
    )
    return is_ended and any(
        one.fact.status == "active" and one.barred
        for one in known
        if changes.is_replaced(new.states, one.states)
    )


# -- the same statement ----------------------------------------------------------------


def is_repetition(one: Known, cuts: SimilarityPolicy) -> bool:
    """Return whether words alone show that a fact makes the same statement."""
    return one.equal or (one.similarity > cuts.same and not one.distinct)


def _repeated(
    known: Sequence[Known], cuts: SimilarityPolicy
) -> tuple[Known | None, str]:
    """Return the known fact with the same meaning, and how that is known."""
    for one in sorted(known, key=lambda one: not one.equal):
        if is_repetition(one, cuts) and one.relation not in {"replaces", "ends"}:
            why = f"says the same ({one.similarity:.2f})"
            return one, SAME_WORDS if one.equal else why
    for one in known:
        if one.relation == "repeats" and not one.distinct:
            return one, SAME
    return None, ""


def _as_repetition(
    new: Statement, one: Known, why: str, policy: DedupPolicy
) -> Decision:
    """Confirm, reinforce or rewrite the fact that a statement repeats (`A8`, `X23`).

    Newer words of the user that say more replace the words of a fact, but never those
    of a protected one.
    """
    fact = one.fact
    effect = _reinforced(new, one, why, policy)
    may_rewrite = why == SAME and one.exceeded and new.by_user and not is_event(fact)
    if may_rewrite and not (one.newer or one.barred or effect.action == "confirm"):
        effect = replace(effect, action="rewrite")
    return Decision("", why, (effect,), fact.id)


def _reinforced(new: Statement, one: Known, why: str, policy: DedupPolicy) -> Effect:
    """Return the effect of further evidence for a known fact (`A8`, `D6`).

    It is only logged if a person vouches for the fact, the turn is already a source,
    the source is not independent, or the note lists as many sources as it may.
    """
    fact = one.fact
    is_counted = new.fact.source in fact.turns or len(fact.turns) >= policy.sources
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


@dataclass(frozen=True, slots=True)
class _Claim:
    """The claim that a statement ends a known fact, the reason, and how it is known.

    By the states in the words, by the latest words of the user, which may change again,
    or by a link of a model.
    `unclear` is true if another fact may be meant; `begins` is the later time at which
    the change happens.
    """

    known: Known
    why: str
    by: Literal["states", "rival", "link"]
    unclear: bool = False
    begins: datetime | None = None


def _claims(new: Statement, known: Sequence[Known]) -> Iterator[_Claim]:
    """Yield the claims of a statement, the surest first."""
    linked = [one for one in known if one.relation in {"replaces", "ends"}]
    yield from _by_states(new, known)
    yield from (_Claim(one, SAID_AGAIN, "rival") for one in known if one.undone)
    for one in linked:
        yield _Claim(one, REPLACED if one.relation == "replaces" else OVER, "link")


def _by_states(new: Statement, known: Sequence[Known]) -> Iterator[_Claim]:
    """Yield the facts whose state a statement ends, now or on a later day (`A7`).

    Another value from a source that may not replace a fact contradicts it, whenever
    both were told.
    """
    begins = {one: _begins(new, one) for one in new.states}
    for day in sorted({one for one in begins.values() if one}):
        states = [one for one in new.states if begins[one] == day]
        later = day if day > new.said_at else None
        found = _changed_by(states, new, known)
        for one, made in found:
            unclear = changes.is_unclear(made, [every for _, every in found])
            why = f"{made.why} ({changes.RULE})"
            row = attribute(made.new.attribute)
            by: Literal["states", "rival"] = (
                "states" if row.single or row.fixed or row.named else "rival"
            )
            yield _Claim(one, why, by, unclear, later)


def _changed_by(
    states: Sequence[State], new: Statement, known: Sequence[Known]
) -> list[tuple[Known, changes.Change]]:
    """Return the active facts that these states of a statement change, and how."""
    found = []
    for one in known:
        told_at, wrong = one.fact.created, new.corrects or bool(one.barred)
        made = changes.change(states, new.said_at, one.states, told_at, corrects=wrong)
        if made and one.fact.status == "active" and not _is_before(made, new, one.fact):
            found.append((one, made))
    return found


def _is_before(made: changes.Change, new: Statement, old: Fact) -> bool:
    """Return whether a value holds now and the other is announced for a later day.

    "I'm at Acme until the new job starts" does not call off the new job.
    """
    is_value = not (made.new.planned or made.new.over or new.corrects)
    is_slot = made.new.attribute == made.old.attribute
    if not (is_value and is_slot and made.old.planned):
        return False
    is_thing = attribute(made.new.attribute).thing
    return not is_thing and bool(old.valid_from and old.valid_from > new.said_at)


def _begins(new: Statement, state: State) -> datetime | None:
    """Return when a state begins: now, or on the later day that the words give.

    The day of an appointment is a value, not a beginning. A plan without a day never
    begins.
    """
    day = new.fact.valid_from
    if state.planned:
        day = day or changes.state_time(state, new.said_at)
        return day and max(day, new.said_at)
    if day is None or attribute(state.attribute).thing:
        return new.said_at
    return max(day, new.said_at)


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

    An event stays, because it did happen (`C33`). Later evidence stays. A statement of
    a source of lower trust waits for a person, as does any but the user's about a note
    that only a person may change (`X27`). What is in doubt or planned without a day
    changes nothing yet. A person is asked about such a note, about an unclear end, and
    beyond the limit of the batch (`X9`, `X23`). A promise is settled by the user's
    words (`E16`). A fact from three sessions is weakened if no words report a change
    (`A10`), and about a pinned one a person is asked. Any other fact ends, on the day
    that the words give.
    """
    one, fact = claim.known, claim.known.fact
    happened = is_event(fact) and not category_of(fact.category).promise
    if happened and not new.corrects:
        return _Outcome(None, "what happened stays")
    if one.newer:
        is_older = one.relation == "replaces"
        return _Outcome(None, NEWER_KNOWN, "superseded" if is_older else "active")
    ask = Effect("ask", fact, claim.why.partition(" (")[0])  # not how it is known
    if why := _objection(new, claim):
        return _Outcome(ask, why, "review")
    begins = claim.begins or _begins_later(new, claim)
    if why := _hesitation(new, claim, begins):
        return _Outcome(None, why)
    if one.guarded:
        return _Outcome(ask, one.guarded)

    is_change = new.tells_change or claim.by != "link"
    if session_count(fact) >= policy.episodes and not is_change:
        if fact.pinned:
            return _Outcome(ask, claim.why)
        least = weakened_confidence(fact.confidence, policy)
        return _Outcome(Effect("weaken", fact, claim.why, least), claim.why)
    if claim.unclear or remaining <= 0:
        return _Outcome(ask, claim.why if claim.unclear else "too many changes at once")
    effect = _end(new, claim, begins)
    return _Outcome(effect, effect.why)


def _objection(new: Statement, claim: _Claim) -> str:
    """Return why a statement may not end a fact unless a person agrees, or ''."""
    if claim.known.barred or new.by_user:
        return claim.known.barred
    return claim.known.guarded or ("" if claim.by == "link" else claim.why)


def _hesitation(new: Statement, claim: _Claim, begins: datetime | None) -> str:
    """Return why a link of a model changes nothing yet, or ''.

    A name or a birthday ends only with another one.
    """
    if claim.by != "link":
        return ""
    row = attribute(claim.known.fact.attribute)
    told = {new.fact.attribute, *(one.attribute for one in new.states)}
    if not (row.mortal or new.corrects or row.name in told):
        return "no event ends it"
    is_plan = new.plans or category_of(new.fact.category).promise
    is_of_promise = category_of(claim.known.fact.category).promise
    if is_plan and begins is None and not is_of_promise:
        return "a planned change without a day ends nothing yet"
    return "in doubt" if new.doubtful else ""


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
    wrong = new.finds_wrong and claim.by != "rival"
    return Effect("supersede", fact, why, add_tombstone=wrong)


def _begins_later(new: Statement, claim: _Claim) -> datetime | None:
    """Return the day from which a statement holds, if the known fact holds until then.

    A plan for another day, a correction, and another date or figure count at once.
    """
    known_from, begins = claim.known.fact.valid_from, new.fact.valid_from
    is_value = attribute(new.fact.attribute).thing and not new.plans
    if claim.by != "link" or new.corrects or is_value or begins is None:
        return None
    if begins <= new.said_at or (known_from and known_from > new.said_at):
        return None
    return None if category_of(claim.known.fact.category).promise else begins


def changed_by(effect: Effect, old: Fact, by: Fact | None, at: datetime) -> Fact:
    """Return a known fact as an end, a weakening or a settlement leaves it.

    `by` is the statement that does it at `at`, None for words that state nothing new.
    """
    if effect.action == "settle":
        tags = todos.settled_tags(old, effect.settled)
        return replace(old, tags=tags, done=at, end_reason=effect.why)
    if by:
        old = replace(
            old, superseded_by=tuple(dict.fromkeys((*old.superseded_by, by.id)))
        )
    if effect.action == "weaken":
        return replace(old, confidence=effect.confidence or old.confidence)
    if effect.until:
        return replace(old, valid_until=effect.until)
    status = "superseded" if by else "invalidated"
    until = min(by.valid_from, at) if by and by.valid_from else at
    return replace(old, status=status, end_reason=effect.why, valid_until=until)


# -- announced ends --------------------------------------------------------------------


def is_scheduled(fact: Fact) -> bool:
    """Return whether an announced change ends an active fact on a later day."""
    is_active = fact.status == "active" and fact.valid_until is not None
    return is_active and bool(fact.superseded_by)


def is_over(fact: Fact) -> bool:
    """Return whether what a fact says ended; one that was merged lives on (`X29`)."""
    if fact.status == "active":
        return todos.EXPIRED in fact.tags
    return fact.end_reason not in {SAYS_THE_SAME, JUDGED_THE_SAME}


def lives_on(old: Fact, new: Fact) -> bool:
    """Return whether what replaced a fact gives a value of it again (`X29`).

    A medicine goes on in another dose, a job under another title.
    """
    told = states(new.text)
    if old.end_reason == OVER or any(one.over for one in told):
        return False
    before = (*states(old.text), changes.state_in_slot(old, frozenset()))
    after = (*told, changes.state_in_slot(new, frozenset()))
    return changes.share_state(filter(None, before), filter(None, after))


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
    return len({key.partition("#")[0] for key in fact.turns})


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
    evidence = _added(before.turns, after.turns)
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
