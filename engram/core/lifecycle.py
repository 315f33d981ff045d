"""Status, stage, layer and tier: does a memory exist, how far is it trusted, what
becomes of it.

Each rule returns its reason in words, or None where it does not apply; the reason is
what the note, the log, a dry run and the forecast show. A rule sees one memory at one
moment and changes nothing. A memory leaves by itself only where `fading_reason` names what it
is and `protection` names nothing that keeps it; an end that its words or a person gave
it comes before both, a pin before that.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.language.dates import has_time_expression, resolve
from engram.core.language.permanent_attributes import REMEMBER_TAG, permanent_attribute
from engram.core.trust import DERIVED_ORIGINS, EXTERNAL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.core.policy import Policy
    from engram.core.records import Fact, Usage, Vitals

STAGES = ("candidate", "validated", "active", "core", "stale", "archived")
"""How far a memory is trusted (rows B3, C24); computed whenever it is asked for, never
written to a note.
"""

LAYERS = ("working", "episodic", "semantic", "procedural", "codebase")
"""What kind of memory it is (row D1); only working and episodic ones pass."""

_ASKED_FOR = frozenset({"user", "edited"})
_SAID_BY_OTHERS = frozenset({"assistant", "interaction", *EXTERNAL})
_LASTING = frozenset({"semantic", "procedural", "codebase"})
_SHORT = frozenset({"minute", "hour", "day", "week"})
_VOUCHED = frozenset({"user_confirmed", "system_inferred"})
_RESOLVED = frozenset({"fulfilled", "expired"})
_STEP = re.compile(r"^\s*(?:\d+[.)]|[-*+])\s", re.MULTILINE)
_DAY = timedelta(days=1)
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)


# -- may it be recalled ----------------------------------------------------------------


def hidden_reason(fact: Fact, now: datetime, *, archive: bool = False) -> str | None:
    """Why `fact` is not recalled at `now`, or None if it is (rows A30, C23, B16: pinned
    before expired).

    With `archive` archived ones are recalled too: where the active ones are too few, or
    on request.
    """
    if fact.status != "active" and not (archive and fact.status == "archived"):
        return fact.status
    return _over(fact, now)


def hidden_reason_as_of(fact: Fact, then: datetime) -> str | None:
    """Why `fact` is no answer as of the earlier day `then`, or None if it is (`X5`).

    What had been created by then and was valid then counts, also when it was superseded
    or invalidated later; what a person removed never returns.
    """
    if fact.status not in {"active", "archived", "superseded", "invalidated"}:
        return fact.status
    if fact.created and fact.created > then:
        return "not yet known"
    if fact.valid_from and fact.valid_from > then:
        return "not yet valid"
    return _over(fact, then)


def _over(fact: Fact, now: datetime) -> str | None:
    if (end := effective_expiry(fact)) and end <= now:
        return "expired"
    return "no longer valid" if fact.valid_until and fact.valid_until <= now else None


def effective_expiry(fact: Fact) -> datetime | None:
    """When a memory ends by its `expires`, or None: a pin goes before it, and
    protection before a guess (`B16`).

    A guess is what an extractor made of a lifetime or of its doubt (rows B19, C17):
    whole days after the statement.
    """
    if not fact.expires or fact.pinned:
        return None
    return None if is_guessed_expiry(fact) and protection(fact) else fact.expires


def is_guessed_expiry(fact: Fact) -> bool:
    """Whether a memory that was extracted ends whole days after it was said; on two
    sides of a clock change too.
    """
    if fact.expires is None or fact.created is None or fact.origin in {"", *_ASKED_FOR}:
        return False
    return not all(
        apart % _DAY
        for apart in (fact.expires - fact.created, _between(fact.created, fact.expires))
    )


# -- how far it is trusted -------------------------------------------------------------


def stage(
    fact: Fact, usage: Usage, vitals: Vitals, policy: Policy, barred: str | None = None
) -> tuple[str, str]:
    """The stage and why, first match (rows B3, C24, C27).

    archived; stale: disputed, decay ≥ .65 or confidence < .10, unless pinned; core: 10
    recalls; active: one, or heat ≥ .55 where it is vouched for; validated: confirmed,
    or heat ≥ .55; else candidate. `barred` is why it may not be core (`X27`). '' for a
    memory that is neither active nor archived.
    """
    limits = policy.lifecycle
    if fact.status != "active":
        return (
            "archived" if fact.status == "archived" else ""
        ), fact.end_reason or fact.status
    if why := _doubtful(fact, vitals, policy):
        return "stale", why
    recalls, hot = _recalls(usage), f"heat {limits.heat:g} or more"
    if usage.access >= limits.core_access and not barred:
        return "core", recalls
    if usage.access >= limits.active_access:
        return (
            "active",
            f"{recalls}; {barred}" if usage.access >= limits.core_access else recalls,
        )
    if vitals.heat >= limits.heat:
        return (
            ("active", f"{hot}, {fact.verification}")
            if fact.verification in _VOUCHED
            else ("validated", hot)
        )
    if fact.verification == "user_confirmed":
        return "validated", "confirmed by the user"
    if usage.confirmations >= limits.validated:
        return "validated", f"said {usage.confirmations + 1} times"
    return "candidate", "new"


def nudge(stage: str, verification: str, policy: Policy) -> float:
    """What recall adds to the score for trust (`C28`): `stage's nudge + (−.12 if
    disputed)`; 0 without a stage.

    candidate −.01, validated +.03, active +.05, core +.08, stale −.06, archived −.08.
    """
    limits = policy.lifecycle
    by_stage = {
        "candidate": limits.nudge_candidate,
        "validated": limits.nudge_validated,
        "active": limits.nudge_active,
        "core": limits.nudge_core,
        "stale": limits.nudge_stale,
        "archived": limits.nudge_archived,
    }
    return by_stage.get(stage, 0.0) + (
        limits.nudge_disputed if verification == "disputed" else 0.0
    )


def _doubtful(fact: Fact, vitals: Vitals, policy: Policy) -> str | None:
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


# -- what becomes of it ----------------------------------------------------------------


def protection(fact: Fact, kept: str | None = None) -> str | None:
    """Why a memory never leaves by itself, or None (model §0.1): asked by every pass
    that puts anything away.

    What a person asked to keep, confirmed, edited or wrote by hand; categories that
    last; permanent attributes of people, whoever said them. It leaves only
    by its own end, by being replaced, or by a person's word. `kept` is what a person
    did to it, as the action log tells. A settled commitment has reached its own end.
    """
    if fact.pinned:
        return "pinned"
    if settlement(fact):
        return None
    if kept:
        return kept
    if fact.verification == "user_confirmed":
        return "a person confirmed it"
    if fact.origin in _ASKED_FOR or REMEMBER_TAG in fact.tags:
        return "the user asked to keep it"
    if not fact.source and fact.origin not in DERIVED_ORIGINS:
        return "written by hand"
    category = category_of(fact.category)
    if category.protected and not _of_the_day(fact):
        return f"an open {category.name}" if category.promise else f"a {category.name}"
    told = permanent_attribute(fact.text)
    return f"tells of {told}" if told else None


def fading_reason(
    fact: Fact, now: datetime, policy: Policy, said_by: str = "user"
) -> str | None:
    """What a memory is that may fade out, or None (model §0.2): the list is exhaustive,
    everything else stays active.

    Moments and small events, unless promoted; plans whose day has passed; speculation
    (confidence < .40); preferences of the day; what assistants, tools and imports said.
    `said_by` is the source class (`trust.fact_class`).
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
    if _of_the_day(fact):
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


def _of_the_day(fact: Fact) -> bool:
    """Whether a preference names a time of the day or the week: "today", "this week",
    "on 3 May 2026".
    """
    if not category_of(fact.category).taste or not has_time_expression(fact.text):
        return False
    near = resolve(fact.text, fact.created or _SOME_DAY)
    return any(one.granularity in _SHORT for one in near)


def settlement(fact: Fact) -> str:
    """`fulfilled` or `expiry_reason` for a commitment that is over by its tags, else '' (rows
    C16, E16).
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
    kept: str | None = None,
) -> tuple[str, str] | None:
    """What becomes of an active memory at `now`, trash or archive, and why; None: it
    stays (B16, C16–C18).

    What a rule lets go comes first; then the archive, from which a recall brings back.
    Nothing is pruned by itself.
    """
    if why := trash_reason(fact, usage, now, policy, kept=kept):
        return "trash", why
    why = archive_reason(fact, usage, vitals, now, policy, said_by=said_by, kept=kept)
    return ("archive", why) if why else None


def trash_reason(
    fact: Fact, usage: Usage, now: datetime, policy: Policy, *, kept: str | None = None
) -> str | None:
    """Why a memory goes to `.trash/` by rule, or None (rows C16, C17).

    A commitment with the tag `fulfilled` or `expiry_reason`, 90 days after it was settled:
    its own end. A speculation, confidence < .40, that has ended and 30 days long was
    neither confirmed nor said again.
    """
    if fact.status != "active" or fact.pinned:
        return None
    if over := settlement(fact):
        since = _between(fact.done, now) if fact.done else _rest(fact, usage, now)
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
        and not protection(fact, kept)
    )
    if (
        doubted
        and expiry_reason(fact, now)
        and _age(fact, usage, now) >= timedelta(days=limits.speculative_days)
    ):
        return f"a speculation, unconfirmed for {limits.speculative_days:g} days"
    return None


def expiry_reason(fact: Fact, now: datetime) -> str | None:
    """Why an active memory ends by the date it was given, or None: pinned goes before
    it (`B16`).
    """
    return (
        "expired" if fact.status == "active" and _over(fact, now) == "expired" else None
    )


def archive_reason(
    fact: Fact,
    usage: Usage,
    vitals: Vitals,
    now: datetime,
    policy: Policy,
    *,
    said_by: str = "user",
    kept: str | None = None,
) -> str | None:
    """Why an active memory is put away, or None (rows B8, B16, C18, D11; model §0.1–2).

    Expired; or it is something that `fading_reason`, is not `protection`, and all of: age > 90
    days, importance < .3, at most 2 recalls, retention < .15 (a limit of 1 leaves
    retention out); or salience < .01.
    """
    if why := expiry_reason(fact, now):
        return why
    worth = _worn(fact, usage, vitals, now, policy) if fact.status == "active" else None
    passing = fading_reason(fact, now, policy, said_by) if worth else None
    return f"{passing}, {worth}" if passing and not protection(fact, kept) else None


def _worn(
    fact: Fact, usage: Usage, vitals: Vitals, now: datetime, policy: Policy
) -> str | None:
    """What the numbers say of a memory that may be put away (rows B8, C18, D11)."""
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
    fact: Fact, vitals: Vitals, threshold: float, *, kept: str | None = None
) -> str | None:
    """Why an active memory is given up when a person prunes, or None (`A24`): effective
    confidence below `threshold`.

    `threshold` is 0–1. What is protected never is.
    """
    if (
        fact.status != "active"
        or vitals.confidence >= threshold
        or protection(fact, kept)
    ):
        return None
    return f"confidence below {threshold:g}"


def revival_reason(
    fact: Fact, usage: Usage, vitals: Vitals, now: datetime, policy: Policy
) -> str | None:
    """Why an archived memory that was just recalled is active again, or None (`B3`).

    `usage` and `vitals` are those it would begin anew with: salience gained, confidence
    fading from now on. Not what a person put away (the note then gives no reason), what
    another memory absorbed, what is over, or what would have to go at once, whoever
    said it.
    """
    away = fact.status == "archived" and fact.end_reason and not fact.superseded_by
    if not away or not usage.last_access or _over(fact, now):
        return None
    return (
        None
        if departure(replace(fact, status="active"), usage, vitals, now, policy)
        else "recalled again"
    )


def fading_start(fact: Fact, usage: Usage) -> datetime | None:
    """When the clocks of fading begin: the memory's own date, or when engram first met
    its note if that is later.

    None where neither is known.
    """
    return max(filter(None, (fact.created, usage.met)), default=None)


def _age(fact: Fact, usage: Usage, now: datetime) -> timedelta:
    """For how long the clocks of fading have run; 0 where nothing says so."""
    return _between(fading_start(fact, usage) or now, now)


def _rest(fact: Fact, usage: Usage, now: datetime) -> timedelta:
    """The same since the memory was last said or edited."""
    return _between(
        max(filter(None, (fading_start(fact, usage), usage.evidence_at)), default=now),
        now,
    )


def _between(start: datetime, end: datetime) -> timedelta:
    """The time gone by; in UTC, as two times of one zone differ by the wall clock."""
    return end.astimezone(UTC) - start.astimezone(UTC)


# -- layers and tiers ------------------------------------------------------------------


def layer_of(fact: Fact) -> str:
    """The layer (`D1`): what the note says, else a skill or a principle with steps is
    procedural, an episode episodic.

    All other notes are semantic.
    """
    if fact.layer in LAYERS:
        return fact.layer
    category = category_of(fact.category)
    if category.layer and (
        not category.needs_steps or len(_STEP.findall(fact.text)) > 1
    ):
        return category.layer
    return "episodic" if fact.kind == "episode" else "semantic"


def layer_promotion(
    fact: Fact, usage: Usage, now: datetime, policy: Policy
) -> tuple[str, str] | None:
    """What the note is to say of its layer, '' for nothing, and why; None: it keeps its
    layer (`D7`).

    working ends after 30 minutes or 2 recalls; episodic becomes semantic at importance
    ≥ .7 and 5 recalls, unless the note itself says episodic: a person demoted it.
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
    """What the note is to say of its layer when a person promotes it, or None: it lasts
    already (`D7`).
    """
    return {"working": "", "episodic": "semantic"}.get(layer_of(fact))


def demoted_layer(fact: Fact) -> str | None:
    """What the note is to say of its layer when a person demotes it, or None: it passes
    already (`D7`).

    No rule demotes.
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
    """The tier, hot or cold, that a memory of `tier` moves to, and why; None: it stays
    (`C29`).

    hot → cold from 14 days at value ≤ .35; cold → hot at value ≥ .70; between them it
    stays where it is. A pinned one is hot. `inputs` as in `tier_value`.
    """
    limits = policy.lifecycle
    worth = tier_value(fact, inputs, policy)
    if tier == "cold":
        if fact.pinned:
            return "hot", "pinned"
        return (
            ("hot", f"value {limits.tier_hot:g} or more")
            if worth >= limits.tier_hot
            else None
        )
    rested = _rest(fact, usage, now) >= timedelta(days=limits.tier_days)
    if fact.pinned or not rested or worth > limits.tier_cold:
        return None
    return "cold", f"value {limits.tier_cold:g} or less"


def tier_value(fact: Fact, inputs: Sequence[float], policy: Policy) -> float:
    """The value that decides the tier, 0–1 (`C29`): `.24c + .26a + .20r + .20i + .10f`,
    with three corrections.

    `inputs` are confidence, access, recency, importance and feedback, each 0–1, as heat
    has them (`C25`). +.08 for a correction, +.05 confirmed by the user, −.10 disputed.
    """
    limits = policy.lifecycle
    weights = (
        limits.tier_confidence,
        limits.tier_access,
        limits.tier_recency,
        limits.tier_importance,
        limits.tier_feedback,
    )
    worth = sum(weight * part for weight, part in zip(weights, inputs, strict=True))
    worth += limits.tier_correction if category_of(fact.category).corrects else 0.0
    worth += {
        "user_confirmed": limits.tier_confirmed,
        "disputed": -limits.tier_disputed,
    }.get(fact.verification, 0.0)
    return round(min(1.0, max(0.0, worth)), 6)


def vector_bits(retention: float, tier: str, policy: Policy) -> int:
    """Bits a number for the vector of a memory of this retention (`D12`): 32 above .8,
    8 above .5, 4 above .2, else 2.

    A cold one has 8 at most (`C29`).
    """
    limits = policy.lifecycle
    cuts = (
        (limits.float_retention, 32),
        (limits.byte_retention, 8),
        (limits.nibble_retention, 4),
    )
    open_to = cuts[1:] if tier == "cold" else cuts
    return next((bits for cut, bits in open_to if retention > cut), 2)


# -- time ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Forecast:
    """What lies ahead of a memory: the first moment at which `what` happens (stale,
    trash, archive), and why.
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
    kept: str | None = None,
) -> tuple[Forecast, ...]:
    """What will happen to a memory within `days` days if nobody touches it, the
    earliest first (`X10`).

    `at` gives its vitals at a moment. It is looked at now and at this hour of some of
    the days to come: what is left alone fades and does not recover, so the first day is
    found by halving.
    """

    def ending(day: int) -> tuple[str, str] | None:
        then = now + day * _DAY
        return departure(
            fact, usage, at(then), then, policy, said_by=said_by, kept=kept
        )

    def tiring(day: int) -> tuple[str, str] | None:
        why = (
            _doubtful(fact, at(now + day * _DAY), policy)
            if fact.status == "active"
            else None
        )
        return ("stale", why) if why else None

    end = _first(days, ending)
    turn = _first(days if end is None else end[0] - 1, tiring)
    if turn and not turn[0]:
        turn = None  # it is stale already
    return tuple(
        Forecast(now + day * _DAY, *found) for day, found in filter(None, (turn, end))
    )


def _first(
    last: int, happens: Callable[[int], tuple[str, str] | None]
) -> tuple[int, tuple[str, str]] | None:
    """The first day up to `last` on which something happens that then goes on, and
    what.
    """
    if last < 0 or not happens(last):
        return None
    day = bisect_left(range(last), True, key=lambda day: happens(day) is not None)
    found = happens(day)
    assert found  # the halving ends on a day that was looked at
    return day, found
