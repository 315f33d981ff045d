"""Decide the status, stage, layer and tier of a memory.

Each rule returns its reason in words, or None if it does not apply; the note, the log,
a dry run and the forecast show that reason. A rule takes one memory at one moment and
changes nothing.

A rule archives or removes a memory only if `fading_reason` returns a reason and
`protection` returns none. An end set by the text or the user takes precedence over
both, and a pin takes precedence over that end.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.decay import StageVitals, fading_start, layer_of
from engram.core.language.dates import has_time_expression, resolve
from engram.core.language.keep_requests import REMEMBER_TAG
from engram.core.trust import DERIVED_ORIGINS, EXTERNAL
from engram.core.user_facts import standing_attribute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.core.policy import Policy
    from engram.core.records import Fact, Usage, Vitals

STAGES = ("candidate", "validated", "active", "core", "stale", "archived")
"""The degrees of trust in a memory (rows B3, C24).

The stage is computed on demand and never written to a note.
"""

_ASKED_FOR = frozenset({"user", "edited"})
_SAID_BY_OTHERS = frozenset({"assistant", "interaction", *EXTERNAL})
_LASTING = frozenset({"semantic", "procedural", "codebase"})
_SHORT = frozenset({"minute", "hour", "day", "weekend", "week"})
_VOUCHED = frozenset({"user_confirmed", "system_inferred"})
_RESOLVED = frozenset({"fulfilled", "expired"})
_DAY = timedelta(days=1)
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)


# -- visibility in recall --------------------------------------------------------------


def hidden_reason(fact: Fact, now: datetime, *, archive: bool = False) -> str | None:
    """Return why `fact` is not recalled at `now`, or None (`A30`, `C23`, `B16`).

    A pinned fact does not expire. With `archive`, archived facts are recalled too: on
    request, or if there are too few active ones.
    """
    if fact.status != "active" and not (archive and fact.status == "archived"):
        return fact.status
    return _end_reason(fact, now)


def hidden_reason_as_of(fact: Fact, then: datetime) -> str | None:
    """Return why `fact` is not recalled as of the past day `then`, or None (`X5`).

    A fact counts if it existed and was valid then, even if it was superseded or
    invalidated later. A fact that the user removed never counts.
    """
    if fact.status not in {"active", "archived", "superseded", "invalidated"}:
        return fact.status
    if fact.created and fact.created > then:
        return "not yet known"
    if fact.valid_from and fact.valid_from > then:
        return "not yet valid"
    return _end_reason(fact, then)


def _end_reason(fact: Fact, now: datetime) -> str | None:
    """Return "expired" or "no longer valid" for a fact that has ended, else None."""
    if (end := effective_expiry(fact)) and end <= now:
        return "expired"
    return "no longer valid" if fact.valid_until and fact.valid_until <= now else None


def effective_expiry(fact: Fact) -> datetime | None:
    """Return the time at which a memory expires, or None (`B16`).

    A pin overrides `expires`, and protection overrides a guessed one, which an
    extractor derived from a lifetime or from low confidence (rows B19, C17).
    """
    if not fact.expires or fact.pinned:
        return None
    return None if is_guessed_expiry(fact) and protection(fact) else fact.expires


def is_guessed_expiry(fact: Fact) -> bool:
    """Return whether the extractor guessed the expiry of a memory.

    A guessed expiry is a whole number of days after the statement, also across a clock
    change.
    """
    if fact.expires is None or fact.created is None or fact.origin in {"", *_ASKED_FOR}:
        return False
    return not all(
        apart % _DAY
        for apart in (fact.expires - fact.created, _between(fact.created, fact.expires))
    )


# -- stage -------------------------------------------------------------


def stage(
    fact: Fact,
    usage: Usage,
    vitals: Vitals | StageVitals,
    policy: Policy,
    barred: str | None = None,
) -> tuple[str, str]:
    """Return the stage of a memory and the reason; the first match counts.

    (Rows B3, C24, C27.) archived; stale: disputed, decay ≥ .65 or confidence < .10,
    unless pinned; core: 10 recalls; active: one recall, or heat ≥ .55 if the fact is
    vouched for; validated: confirmed, or heat ≥ .55; else candidate. `barred` is the
    reason why the memory may not be core (`X27`). The stage is '' for a memory that is
    neither active nor archived.
    """
    limits = policy.lifecycle
    if fact.status != "active":
        ended = "archived" if fact.status == "archived" else ""
        return ended, fact.end_reason or fact.status
    if why := _doubtful(fact, vitals, policy):
        return "stale", why

    recalls = _recalls(usage)
    core = usage.access >= limits.core_access
    if core and not barred:
        return "core", recalls
    if usage.access >= limits.active_access:
        return "active", f"{recalls}; {barred}" if core else recalls

    if vitals.heat >= limits.heat:
        hot = f"heat {limits.heat:g} or more"
        if fact.verification in _VOUCHED:
            return "active", f"{hot}, {fact.verification}"
        return "validated", hot
    if fact.verification == "user_confirmed":
        return "validated", "confirmed by the user"
    if usage.confirmations >= limits.validated:
        return "validated", f"said {usage.confirmations + 1} times"
    return "candidate", "new"


def group_stage(
    uses: Sequence[tuple[Usage, float]], policy: Policy
) -> tuple[str, float, int, str]:
    """Return stage, salience and recalls of a note on several memories, and why (`B4`).

    `uses` are the usage and the salience of each of its active memories; a use of any
    of them is a use of the note. archived: no memory is left, or all are below .01;
    core: 10 recalls; active: one; else candidate.
    """
    limits = policy.lifecycle
    recalls = sum(usage.access for usage, _ in uses)
    worth = max((salience for _, salience in uses), default=0.0)
    if worth < limits.archive_salience:
        why = f"salience below {limits.archive_salience:g}"
        return "archived", worth, recalls, why if uses else "no memory is left"
    why = f"its memories were recalled {recalls} times"
    if recalls >= limits.core_access:
        return "core", worth, recalls, why
    if recalls >= limits.active_access:
        return "active", worth, recalls, why
    return "candidate", worth, recalls, "none of its memories was recalled"


def nudge(stage: str, verification: str, policy: Policy) -> float:
    """Return the addition to the recall score for the stage (`C28`).

    candidate −.01, validated +.03, active +.05, core +.08, stale −.06, archived −.08; a
    disputed fact gets −.12 more. 0 without a stage.
    """
    limits = policy.lifecycle
    by_stage: float = getattr(limits, f"nudge_{stage}", 0.0)
    return by_stage + (limits.nudge_disputed if verification == "disputed" else 0.0)


def _doubtful(fact: Fact, vitals: Vitals | StageVitals, policy: Policy) -> str | None:
    limits = policy.lifecycle
    if fact.pinned:
        return None
    if fact.verification == "disputed":
        return "disputed"
    if vitals.decay >= limits.stale_decay:
        return f"decay {limits.stale_decay:g} or more"
    return (
        f"confidence below {limits.stale_confidence:g}"
        if vitals.confidence < limits.stale_confidence
        else None
    )


def _recalls(usage: Usage) -> str:
    return "recalled once" if usage.access == 1 else f"recalled {usage.access} times"


# -- protection, archive and trash -----------------------------------------------------


def protection(fact: Fact, user_action: str | None = None) -> str | None:
    """Return why no rule may archive or remove a memory, or None (law 1).

    Every pass that archives or removes memories calls this. Protected are memories that
    the user asked to keep, confirmed, edited or wrote by hand, the lasting categories,
    and standing attributes of people, from any source. Such a memory leaves only at
    its own end, by a replacement, or at the user's request. `user_action` is an action
    of the user in the action log that protects the memory, or None. A settled
    commitment has reached its own end.
    """
    if fact.pinned:
        return "pinned"
    if settlement(fact):
        return None
    if user_action:
        return user_action
    if fact.verification == "user_confirmed":
        return "a person confirmed it"
    if fact.origin in _ASKED_FOR or REMEMBER_TAG in fact.tags:
        return "the user asked to keep it"
    if not fact.source and fact.origin not in DERIVED_ORIGINS:
        return "written by hand"
    category = category_of(fact.category)
    if category.protected and not _is_of_the_day(fact):
        return f"an open {category.name}" if category.promise else f"a {category.name}"
    attribute = standing_attribute(fact.text, fact.attribute)
    return f"tells of {attribute}" if attribute else None


def fading_reason(
    fact: Fact, now: datetime, policy: Policy, said_by: str = "user"
) -> str | None:
    """Return the kind of fading memory that `fact` is, or None (law 2).

    The list is complete: moments and small events, unless promoted; plans whose day has
    passed; speculation (confidence < .40); preferences of the day; statements of
    assistants, tools and imports. `said_by` is the source class (`trust.fact_class`).
    """
    if fact.layer not in _LASTING:
        if fact.event_end and fact.event_end < now:
            ahead = fact.created is None or fact.created < fact.event_end
            return "a plan whose day has passed" if ahead else "a moment"
        if category_of(fact.category).momentary or fact.kind == "episode":
            return "a moment"
        if fact.layer:
            return (
                "let pass like an episode"
                if fact.layer == "episodic"
                else "not distilled yet"
            )
    if _is_of_the_day(fact):
        return "a preference of the day"
    if (
        fact.confidence < policy.extraction.inferred
        and fact.verification != "user_confirmed"
    ):
        return "a speculation"
    if said_by not in _SAID_BY_OTHERS:
        return None
    return (
        "said by a program"
        if said_by == "interaction"
        else f"said by an {said_by}".replace("an tool", "a tool")
    )


def _is_of_the_day(fact: Fact) -> bool:
    """Return whether a preference names a time of at most a week.

    Examples are "today", "this week" and "on 3 May 2026".
    """
    if not category_of(fact.category).taste or not has_time_expression(fact.text):
        return False
    near = resolve(fact.text, fact.created or _SOME_DAY)
    return any(interval.granularity in _SHORT for interval in near)


def settlement(fact: Fact) -> str:
    """Return `fulfilled` or `expired` for a commitment that its tags settle, else ''.

    (Rows C16, E16.)
    """
    marks = (
        {part for tag in fact.tags for part in tag.casefold().split("/")}
        if category_of(fact.category).promise
        else set()
    )
    return min(marks & _RESOLVED, default="")


def departure(
    fact: Fact,
    usage: Usage,
    vitals: Vitals,
    now: datetime,
    policy: Policy,
    *,
    said_by: str = "user",
    user_action: str | None = None,
) -> tuple[str, str] | None:
    """Return the destination of an active memory at `now` and why, or None if it stays.

    The destination is "trash" or "archive" (rows B16, C16–C18). `trash_reason` takes
    precedence. A recall restores a memory from the archive. No rule prunes.
    """
    if why := trash_reason(fact, usage, now, policy, user_action=user_action):
        return "trash", why
    why = archive_reason(
        fact, usage, vitals, now, policy, said_by=said_by, user_action=user_action
    )
    return ("archive", why) if why else None


def trash_reason(
    fact: Fact,
    usage: Usage,
    now: datetime,
    policy: Policy,
    *,
    user_action: str | None = None,
) -> str | None:
    """Return why a rule moves a memory to `.trash/`, or None (rows C16, C17).

    A commitment tagged `fulfilled` or `expired` is moved 90 days after it was settled.
    A speculation (confidence < .40) is moved after its end if it was neither confirmed
    nor repeated for 30 days.
    """
    if fact.status != "active" or fact.pinned:
        return None
    if over := settlement(fact):
        since = (
            _between(fact.done, now) if fact.done else _time_at_rest(fact, usage, now)
        )
        days = policy.lifecycle.resolved_days
        return (
            f"a commitment, {over} more than {days:g} days ago"
            if since > timedelta(days=days)
            else None
        )
    limits = policy.extraction
    doubted = (
        fact.confidence < limits.inferred
        and not usage.confirmations
        and not protection(fact, user_action)
    )
    unconfirmed = timedelta(days=limits.speculative_days)
    if doubted and expiry_reason(fact, now) and _age(fact, usage, now) >= unconfirmed:
        return f"a speculation, unconfirmed for {limits.speculative_days:g} days"
    return None


def expiry_reason(fact: Fact, now: datetime) -> str | None:
    """Return "expired" for an active memory after its `expires`, or None (`B16`).

    A pinned memory does not expire.
    """
    return (
        "expired"
        if fact.status == "active" and _end_reason(fact, now) == "expired"
        else None
    )


def archive_reason(
    fact: Fact,
    usage: Usage,
    vitals: Vitals,
    now: datetime,
    policy: Policy,
    *,
    said_by: str = "user",
    user_action: str | None = None,
) -> str | None:
    """Return why an active memory is archived, or None (rows B8, B16, C18, D11).

    It has expired; or `fading_reason` applies, `protection` does not, and either its
    salience is < .01 or all of these hold: its age is > 90 days, its importance < .3,
    its recalls ≤ 2 and its retention < .15 (a limit of 1 ignores retention; laws 1 and
    2).
    """
    if why := expiry_reason(fact, now):
        return why
    if fact.status != "active":
        return None
    worn = _disuse_reason(fact, usage, vitals, now, policy)
    fading = fading_reason(fact, now, policy, said_by) if worn else None
    return f"{fading}, {worn}" if fading and not protection(fact, user_action) else None


def _disuse_reason(
    fact: Fact, usage: Usage, vitals: Vitals, now: datetime, policy: Policy
) -> str | None:
    """Return why a memory is no longer used or salient, or None (B8, C18, D11)."""
    limits = policy.lifecycle
    unneeded = (
        usage.access <= limits.archive_access
        and fact.importance < limits.archive_importance
    )
    if unneeded and _age(fact, usage, now) > timedelta(days=limits.archive_days):
        if limits.archive_retention >= 1:
            return "old, unimportant, unused"
        if vitals.retention < limits.archive_retention:
            return "old, unimportant, unused, faded"
    return (
        f"salience below {limits.archive_salience:g}"
        if vitals.salience < limits.archive_salience
        else None
    )


def prune_reason(
    fact: Fact, vitals: Vitals, threshold: float, *, user_action: str | None = None
) -> str | None:
    """Return why a prune by the user ends an active memory, or None (`A24`).

    It ends if its effective confidence is below `threshold`, 0–1. A protected memory is
    never pruned.
    """
    if fact.status != "active" or vitals.confidence >= threshold:
        return None
    return None if protection(fact, user_action) else f"confidence below {threshold:g}"


def revival_reason(
    fact: Fact, usage: Usage, vitals: Vitals, now: datetime, policy: Policy
) -> str | None:
    """Return why a recalled archived memory becomes active, or None (`B3`).

    `usage` and `vitals` are those that it would have as an active memory. A memory
    stays archived if the user archived it (the note then gives no reason), if another
    memory superseded it, if it is over, or if a rule would archive it again at once.
    """
    by_rule = fact.status == "archived" and fact.end_reason and not fact.superseded_by
    if not by_rule or not usage.last_access or _end_reason(fact, now):
        return None
    active = replace(fact, status="active")
    leaves = departure(active, usage, vitals, now, policy)
    return None if leaves else "recalled again"


def _age(fact: Fact, usage: Usage, now: datetime) -> timedelta:
    """Return the time since fading began, or 0 if its start is unknown."""
    return _between(fading_start(fact, usage) or now, now)


def _time_at_rest(fact: Fact, usage: Usage, now: datetime) -> timedelta:
    """Return the time since the last statement or edit, or since fading began."""
    known = filter(None, (fading_start(fact, usage), usage.evidence_at))
    return _between(max(known, default=now), now)


def _between(start: datetime, end: datetime) -> timedelta:
    """Return the elapsed time.

    It is computed in UTC, because the difference of two times of one zone ignores clock
    changes.
    """
    return end.astimezone(UTC) - start.astimezone(UTC)


# -- layers and tiers ------------------------------------------------------------------


def layer_promotion(
    fact: Fact, usage: Usage, now: datetime, policy: Policy
) -> tuple[str, str] | None:
    """Return the layer to write to the note and why, or None for no change (`D7`).

    A layer of '' removes the key. working ends after 30 minutes or 2 recalls; episodic
    becomes semantic at importance ≥ .7 and 5 recalls, unless the note itself has the
    layer episodic, because then the user demoted it.
    """
    limits = policy.lifecycle
    if fact.status != "active" or fact.layer not in {"", "working"}:
        return None
    known = (
        usage.access >= limits.semantic_access
        and fact.importance >= limits.semantic_importance
    )
    if known and layer_of(replace(fact, layer="")) == "episodic":
        return "semantic", f"important, {_recalls(usage)}"
    if fact.layer and usage.access >= limits.working_access:
        return "", _recalls(usage)
    if fact.layer and _age(fact, usage, now) >= timedelta(
        minutes=limits.working_minutes
    ):
        return "", f"{limits.working_minutes:g} minutes old"
    return None


def promoted_layer(fact: Fact) -> str | None:
    """Return the layer to write when the user promotes a memory, or None (`D7`).

    None means that the memory already lasts.
    """
    return {"working": "", "episodic": "semantic"}.get(layer_of(fact))


def demoted_layer(fact: Fact) -> str | None:
    """Return the layer to write when the user demotes a memory, or None (`D7`).

    None means that the memory already fades. No rule demotes.
    """
    return None if layer_of(fact) in {"working", "episodic"} else "episodic"


def tier_move(
    fact: Fact,
    usage: Usage,
    tier: str,
    inputs: Sequence[float],
    now: datetime,
    policy: Policy,
) -> tuple[str, str] | None:
    """Return the tier, hot or cold, that a memory moves to and why, or None (`C29`).

    hot → cold after 14 days at value ≤ .35; cold → hot at value ≥ .70; between them the
    tier does not change. A pinned memory is hot. `inputs` are those of `tier_value`.
    """
    limits = policy.lifecycle
    value = tier_value(fact, inputs, policy)
    if tier == "cold":
        if fact.pinned:
            return "hot", "pinned"
        if value >= limits.tier_hot:
            return "hot", f"value {limits.tier_hot:g} or more"
        return None

    rested = _time_at_rest(fact, usage, now) >= timedelta(days=limits.tier_days)
    if fact.pinned or not rested or value > limits.tier_cold:
        return None
    return "cold", f"value {limits.tier_cold:g} or less"


def tier_value(fact: Fact, inputs: Sequence[float], policy: Policy) -> float:
    """Return the value, 0–1, that decides the tier (`C29`).

    It is `.24c + .26a + .20r + .20i + .10f`, where `inputs` are confidence, access,
    recency, importance and feedback, each 0–1, as for heat (`C25`). Corrections: +.08
    for a memory that corrects, +.05 if the user confirmed it, −.10 if it is disputed.
    """
    limits = policy.lifecycle
    weights = (
        limits.tier_confidence,
        limits.tier_access,
        limits.tier_recency,
        limits.tier_importance,
        limits.tier_feedback,
    )
    value = sum(weight * part for weight, part in zip(weights, inputs, strict=True))
    if category_of(fact.category).corrects:
        value += limits.tier_correction
    if fact.verification == "user_confirmed":
        value += limits.tier_confirmed
    if fact.verification == "disputed":
        value -= limits.tier_disputed
    return round(min(1.0, max(0.0, value)), 6)


def vector_bits(retention: float, tier: str, policy: Policy) -> int:
    """Return the bits per number of the vector of a memory of this retention (`D12`).

    32 above .8, 8 above .5, 4 above .2, else 2; at most 8 for a cold memory (`C29`).
    """
    limits = policy.lifecycle
    cuts = (
        (limits.float_retention, 32),
        (limits.byte_retention, 8),
        (limits.nibble_retention, 4),
    )
    allowed = cuts[1:] if tier == "cold" else cuts
    return next((bits for cut, bits in allowed if retention > cut), 2)


# -- time ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Forecast:
    """A future event of a memory, with its time and reason.

    `what` is stale, trash or archive, or expired for a note that no run moves.
    """

    at: datetime
    what: str
    why: str


def forecast(
    fact: Fact,
    usage: Usage,
    at: Callable[[datetime], Vitals],
    now: datetime,
    days: int,
    policy: Policy,
    *,
    said_by: str = "user",
    user_action: str | None = None,
) -> tuple[Forecast, ...]:
    """Return the events of a memory within `days` days without use (`X10`).

    The earliest event comes first. `at` returns its vitals at a moment. The rules are
    evaluated now and at this hour of some of the coming days. An unused memory fades
    and does not recover, so bisection finds the first day.
    """

    def leaves(day: int) -> tuple[str, str] | None:
        then = now + day * _DAY
        return departure(
            fact,
            usage,
            at(then),
            then,
            policy,
            said_by=said_by,
            user_action=user_action,
        )

    def turns_stale(day: int) -> tuple[str, str] | None:
        if fact.status != "active":
            return None
        why = _doubtful(fact, at(now + day * _DAY), policy)
        return ("stale", why) if why else None

    end = _first(days, leaves)
    stale = _first(days if end is None else end[0] - 1, turns_stale)
    if stale and not stale[0]:
        stale = None  # already stale
    return tuple(
        Forecast(now + day * _DAY, *event) for day, event in filter(None, (stale, end))
    )


def _first(
    last: int, happens: Callable[[int], tuple[str, str] | None]
) -> tuple[int, tuple[str, str]] | None:
    """Return the first day up to `last` with an event, and the event, or None.

    `happens` returns the event of a day; it must then return one for all later days.
    """
    if last < 0 or not happens(last):
        return None
    day = bisect_left(range(last), True, key=lambda day: happens(day) is not None)
    event = happens(day)
    assert event  # the bisection ends on a day with an event
    return day, event
