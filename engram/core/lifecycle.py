"""Status, stage, layer and tier: does a memory exist, how far is it trusted, what becomes of it.

Each rule returns its reason in words, or None where it does not apply; the reason is what the note, the log,
a dry run and the forecast show. A rule sees one memory at one moment and changes nothing. What a pin keeps
no rule takes; an end that somebody set comes next; only then fading has a say.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.core.policy import Policy
    from engram.core.records import Fact, Usage, Vitals

STAGES = ("candidate", "validated", "active", "core", "stale", "archived")
"""How far a memory is trusted (rows B3, C24); computed whenever it is asked for, never written to a note."""

LAYERS = ("working", "episodic", "semantic", "procedural", "codebase")
"""What kind of memory it is (row D1); only working and episodic ones pass."""

PROTECTED = frozenset({"decision", "principle", "commitment", "preference", "correction"})
"""Categories that may go stale, but that fading never archives or prunes (rows C18, C27)."""

_LASTING = frozenset({"semantic", "procedural"})
_VOUCHED = frozenset({"user_confirmed", "system_inferred"})
_RESOLVED = frozenset({"fulfilled", "expired"})
_STEP = re.compile(r"^\s*(?:\d+[.)]|[-*+])\s", re.MULTILINE)
_DAY = timedelta(days=1)


# -- may it be recalled ---------------------------------------------------------------------------


def hidden(fact: Fact, now: datetime, *, archive: bool = False) -> str | None:
    """Why `fact` is not recalled at `now`, or None if it is (rows A30, C23, B16: pinned before expired).

    With `archive` archived ones are recalled too: where the active ones are too few, or on request.
    """
    if fact.status != "active" and not (archive and fact.status == "archived"):
        return fact.status
    return _over(fact, now)


def hidden_then(fact: Fact, then: datetime) -> str | None:
    """Why `fact` is no answer as of the earlier day `then`, or None if it is (`X5`).

    What had been created by then and was valid then counts, also when it was superseded or invalidated
    later; what a person removed never returns.
    """
    if fact.status not in {"active", "archived", "superseded", "invalidated"}:
        return fact.status
    if fact.created and fact.created > then:
        return "not yet known"
    if fact.valid_from and fact.valid_from > then:
        return "not yet valid"
    return _over(fact, then)


def _over(fact: Fact, now: datetime) -> str | None:
    if fact.expires and fact.expires <= now and not fact.pinned:
        return "expired"
    return "no longer valid" if fact.valid_until and fact.valid_until <= now else None


# -- how far it is trusted ------------------------------------------------------------------------


def stage(fact: Fact, usage: Usage, vitals: Vitals, policy: Policy, barred: str | None = None) -> tuple[str, str]:
    """The stage and why, first match (rows B3, C24, C27).

    archived; stale: disputed, decay ≥ .65 or confidence < .10, unless pinned; core: 10 recalls; active: one,
    or heat ≥ .55 where it is vouched for; validated: confirmed, or heat ≥ .55; else candidate. `barred` is why
    it may not be core (`X27`). '' for a memory that is neither active nor archived.
    """
    limits = policy.lifecycle
    if fact.status != "active":
        return ("archived" if fact.status == "archived" else ""), fact.end_reason or fact.status
    if why := _doubtful(fact, vitals, policy):
        return "stale", why
    recalls, hot = _recalls(usage), f"heat {limits.heat:g} or more"
    if usage.access >= limits.core_access and not barred:
        return "core", recalls
    if usage.access >= limits.active_access:
        return "active", f"{recalls}; {barred}" if usage.access >= limits.core_access else recalls
    if vitals.heat >= limits.heat:
        return ("active", f"{hot}, {fact.verification}") if fact.verification in _VOUCHED else ("validated", hot)
    if fact.verification == "user_confirmed":
        return "validated", "confirmed by the user"
    if usage.confirmations >= limits.validated:
        return "validated", f"said {usage.confirmations + 1} times"
    return "candidate", "new"


def nudge(stage: str, verification: str, policy: Policy) -> float:
    """What recall adds to the score for trust (`C28`): `stage's nudge + (−.12 if disputed)`; 0 without a stage.

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
    return by_stage.get(stage, 0.0) + (limits.nudge_disputed if verification == "disputed" else 0.0)


def _doubtful(fact: Fact, vitals: Vitals, policy: Policy) -> str | None:
    limits = policy.lifecycle
    if fact.pinned:
        return None
    if fact.verification == "disputed":
        return "disputed"
    if vitals.decay >= limits.stale_decay:
        return f"decay {limits.stale_decay:g} or more"
    return f"confidence below {limits.stale_confidence:g}" if vitals.confidence < limits.stale_confidence else None


def _recalls(usage: Usage) -> str:
    return "recalled once" if usage.access == 1 else f"recalled {usage.access} times"


# -- what becomes of it ---------------------------------------------------------------------------


def fate(fact: Fact, usage: Usage, vitals: Vitals, now: datetime, policy: Policy) -> tuple[str, str] | None:
    """What becomes of an active memory at `now`, trash, archive or prune, and why; None: it stays (B16, C16–C18, A24).

    What a rule lets go comes first; then the archive, from which a recall brings back; then pruning.
    """
    if why := trashed(fact, usage, now, policy):
        return "trash", why
    if why := archived(fact, usage, vitals, now, policy):
        return "archive", why
    why = pruned(fact, vitals, policy)
    return ("prune", why) if why else None


def trashed(fact: Fact, usage: Usage, now: datetime, policy: Policy) -> str | None:
    """Why a memory goes to `.trash/` by rule, or None (rows C16, C17).

    A commitment with the tag `fulfilled` or `expired`, above 90 days since it was last said or edited. A
    speculation, confidence < .40, that has ended and 30 days long was neither confirmed nor said again.
    """
    if fact.status != "active" or fact.pinned:
        return None
    if fact.category == "commitment" and _rest(fact, usage, now) > timedelta(days=policy.lifecycle.resolved_days):
        marks = {part for tag in fact.tags for part in tag.casefold().split("/")}
        if resolved := sorted(marks & _RESOLVED):
            return f"a commitment, {resolved[0]} more than {policy.lifecycle.resolved_days:g} days ago"
    limits = policy.extraction
    doubted = fact.confidence < limits.inferred and fact.verification != "user_confirmed" and not usage.confirmations
    if doubted and expired(fact, now) and _age(fact, usage, now) >= timedelta(days=limits.speculative_days):
        return f"a speculation, unconfirmed for {limits.speculative_days:g} days"
    return None


def expired(fact: Fact, now: datetime) -> str | None:
    """Why an active memory ends by the date it was given, or None: pinned goes before it (`B16`)."""
    return "expired" if fact.status == "active" and _over(fact, now) == "expired" else None


def archived(fact: Fact, usage: Usage, vitals: Vitals, now: datetime, policy: Policy) -> str | None:
    """Why an active memory is put away, or None (rows B8, B16, C18, D11).

    Expired; or, unless pinned or protected, all of: age > 90 days, importance < .3, at most 2 recalls, retention
    < .15 (a limit of 1 leaves retention out); or salience < .01.
    """
    limits = policy.lifecycle
    if why := expired(fact, now):
        return why
    if fact.status != "active" or fact.pinned or protected(fact):
        return None
    unneeded = usage.access <= limits.archive_access and fact.importance < limits.archive_importance
    if unneeded and _age(fact, usage, now) > timedelta(days=limits.archive_days):
        if limits.archive_retention >= 1:
            return "old, unimportant, unused"
        if vitals.retention < limits.archive_retention:
            return "old, unimportant, unused, faded"
    return f"salience below {limits.archive_salience:g}" if vitals.salience < limits.archive_salience else None


def pruned(fact: Fact, vitals: Vitals, policy: Policy) -> str | None:
    """Why an active memory is given up, or None (`A24`): effective confidence < .05, neither pinned nor protected."""
    least = policy.lifecycle.prune_confidence
    if fact.status != "active" or fact.pinned or protected(fact) or vitals.confidence >= least:
        return None
    return f"confidence below {least:g}"


def revived(fact: Fact, usage: Usage, vitals: Vitals, now: datetime, policy: Policy) -> str | None:
    """Why an archived memory that was just recalled is active again, or None (`B3`).

    `usage` and `vitals` are those it would begin anew with: salience gained, confidence fading from now on. Not
    what a person put away (the note then gives no reason), what another memory absorbed, what is over, or what
    would have to go at once.
    """
    away = fact.status == "archived" and fact.end_reason and not fact.superseded_by
    if not away or not usage.last_access or _over(fact, now):
        return None
    return None if fate(replace(fact, status="active"), usage, vitals, now, policy) else "recalled again"


def protected(fact: Fact) -> str | None:
    """Why fading may make a memory stale but not take it away, or None (rows C18, C27, D11): category or layer."""
    if fact.category in PROTECTED:
        return f"a {fact.category}"
    layer = layer_of(fact)
    return layer if layer in _LASTING else None


def begun(fact: Fact, usage: Usage) -> datetime | None:
    """When the clocks of fading begin: the memory's own date, or when engram first met its note if that is later.

    None where neither is known.
    """
    return max(filter(None, (fact.created, usage.met)), default=None)


def _age(fact: Fact, usage: Usage, now: datetime) -> timedelta:
    """For how long the clocks of fading have run; 0 where nothing says so."""
    return _between(begun(fact, usage) or now, now)


def _rest(fact: Fact, usage: Usage, now: datetime) -> timedelta:
    """The same since the memory was last said or edited."""
    return _between(max(filter(None, (begun(fact, usage), usage.evidence_at)), default=now), now)


def _between(start: datetime, end: datetime) -> timedelta:
    """The time gone by; in UTC, as two times of one zone differ by the wall clock."""
    return end.astimezone(UTC) - start.astimezone(UTC)


# -- layers and tiers -----------------------------------------------------------------------------


def layer_of(fact: Fact) -> str:
    """The layer (`D1`): what the note says, else a skill or a principle with steps is procedural, an episode episodic.

    All other notes are semantic.
    """
    if fact.layer in LAYERS:
        return fact.layer
    if fact.category == "skill" or (fact.category == "principle" and len(_STEP.findall(fact.text)) > 1):
        return "procedural"
    return "episodic" if fact.kind == "episode" else "semantic"


def promoted(fact: Fact, usage: Usage, now: datetime, policy: Policy) -> tuple[str, str] | None:
    """What the note is to say of its layer, '' for nothing, and why; None: it keeps its layer (`D7`).

    working ends after 30 minutes or 2 recalls; episodic becomes semantic at importance ≥ .7 and 5 recalls,
    unless the note itself says episodic: a person demoted it.
    """
    limits = policy.lifecycle
    if fact.status != "active" or fact.layer not in {"", "working"}:
        return None
    known = usage.access >= limits.semantic_access and fact.importance >= limits.semantic_importance
    if known and layer_of(replace(fact, layer="")) == "episodic":
        return "semantic", f"important, {_recalls(usage)}"
    if fact.layer and usage.access >= limits.working_access:
        return "", _recalls(usage)
    if fact.layer and _age(fact, usage, now) >= timedelta(minutes=limits.working_minutes):
        return "", f"{limits.working_minutes:g} minutes old"
    return None


def raised(fact: Fact) -> str | None:
    """What the note is to say of its layer when a person promotes it, or None: it lasts already (`D7`)."""
    return {"working": "", "episodic": "semantic"}.get(layer_of(fact))


def lowered(fact: Fact) -> str | None:
    """What the note is to say of its layer when a person demotes it, or None: it passes already (`D7`).

    No rule demotes.
    """
    return None if layer_of(fact) in {"working", "episodic"} else "episodic"


def tiered(
    fact: Fact, usage: Usage, tier: str, inputs: Sequence[float], now: datetime, policy: Policy
) -> tuple[str, str] | None:
    """The tier, hot or cold, that a memory of `tier` moves to, and why; None: it stays (`C29`).

    hot → cold from 14 days at value ≤ .35; cold → hot at value ≥ .70; between them it stays where it is. A
    pinned one is hot. `inputs` as in `value`.
    """
    limits = policy.lifecycle
    worth = value(fact, inputs, policy)
    if tier == "cold":
        if fact.pinned:
            return "hot", "pinned"
        return ("hot", f"value {limits.tier_hot:g} or more") if worth >= limits.tier_hot else None
    rested = _rest(fact, usage, now) >= timedelta(days=limits.tier_days)
    if fact.pinned or not rested or worth > limits.tier_cold:
        return None
    return "cold", f"value {limits.tier_cold:g} or less"


def value(fact: Fact, inputs: Sequence[float], policy: Policy) -> float:
    """The value that decides the tier, 0–1 (`C29`): `.24c + .26a + .20r + .20i + .10f`, with three corrections.

    `inputs` are confidence, access, recency, importance and feedback, each 0–1, as heat has them (`C25`).
    +.08 for a correction, +.05 confirmed by the user, −.10 disputed.
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
    worth += limits.tier_correction if fact.category == "correction" else 0.0
    worth += {"user_confirmed": limits.tier_confirmed, "disputed": -limits.tier_disputed}.get(fact.verification, 0.0)
    return round(min(1.0, max(0.0, worth)), 6)


def precision(retention: float, tier: str, policy: Policy) -> int:
    """Bits a number for the vector of a memory of this retention (`D12`): 32 above .8, 8 above .5, 4 above .2, else 2.

    A cold one has 8 at most (`C29`).
    """
    limits = policy.lifecycle
    cuts = ((limits.float_retention, 32), (limits.byte_retention, 8), (limits.nibble_retention, 4))
    open_to = cuts[1:] if tier == "cold" else cuts
    return next((bits for cut, bits in open_to if retention > cut), 2)


# -- time -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Coming:
    """What lies ahead of a memory: the first moment at which `what` happens (stale, trash, archive, prune), and why."""

    at: datetime
    what: str
    why: str


def when(
    fact: Fact, usage: Usage, at: Callable[[datetime], Vitals], now: datetime, days: int, policy: Policy
) -> tuple[Coming, ...]:
    """What will happen to a memory within `days` days if nobody touches it, the earliest first (`X10`).

    `at` gives its vitals at a moment. It is looked at now and at this hour of some of the days to come: what is
    left alone fades and does not recover, so the first day is found by halving.
    """

    def ending(day: int) -> tuple[str, str] | None:
        return fate(fact, usage, at(now + day * _DAY), now + day * _DAY, policy)

    def tiring(day: int) -> tuple[str, str] | None:
        why = _doubtful(fact, at(now + day * _DAY), policy) if fact.status == "active" else None
        return ("stale", why) if why else None

    end = _first(days, ending)
    turn = _first(days if end is None else end[0] - 1, tiring)
    if turn and not turn[0]:
        turn = None  # it is stale already
    return tuple(Coming(now + day * _DAY, *found) for day, found in filter(None, (turn, end)))


def _first(last: int, happens: Callable[[int], tuple[str, str] | None]) -> tuple[int, tuple[str, str]] | None:
    """The first day up to `last` on which something happens that then goes on, and what."""
    if last < 0 or not happens(last):
        return None
    day = bisect_left(range(last), True, key=lambda day: happens(day) is not None)
    found = happens(day)
    assert found  # the halving ends on a day that was looked at
    return day, found


@dataclass(frozen=True, slots=True)
class Reading:
    """A look at two clocks: the one on the wall, and one that only runs (seconds, also while the machine sleeps)."""

    wall: datetime
    steady: float


def clock_doubt(readings: Sequence[Reading], policy: Policy) -> str | None:
    """Why the clock cannot be trusted to fade, expire or archive anything, or None (design of the vault).

    `readings` oldest first. A jump: wall and steady clock part by more than 1 h; after a restart of the machine,
    where the steady clock begins again, the wall clock alone does. It is trusted again once two readings
    ≥ 10 min apart agree.
    """
    limits, since, jump = policy.lifecycle, 0, timedelta()
    for number, (before, after) in enumerate(pairwise(readings), 1):
        restarted = after.steady < before.steady
        parted = _parted(before if restarted else readings[since], after)
        if abs(parted) > timedelta(hours=limits.clock_jump_hours):
            since, jump = number, parted
        elif restarted:
            since = number
    if not jump or readings[-1].steady - readings[since].steady >= limits.clock_agree_minutes * 60:
        return None
    return f"the clock jumped by {jump / timedelta(hours=1):+.1f} hours"


def _parted(before: Reading, after: Reading) -> timedelta:
    return _between(before.wall, after.wall) - timedelta(seconds=max(0.0, after.steady - before.steady))
