"""What may be done to a memory by itself, and what the log of what was done teaches
(rows C21, C22, C30).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, get_args

from engram.core import jsonl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from engram.core.policy import ActionPolicy

Action = Literal[
    "store_episode",
    "store_note",
    "update_note",
    "create_artifact",
    "summarize_node",
    "discard",
    "link_graph",
]
Ruling = Literal["allow", "defer", "deny"]
Row = dict[str, Any]

GUIDELINES_FILE = "state/compression-guidelines.md"
"""What the log of actions suggests, for people and for assistants (`C21`)."""

SOURCES = ("extraction", "consolidation", "replay", "manual", "unknown")
CREATION_ACTIONS = frozenset({"create", "store", "review"})
"""Actions whose rows say that engram wrote a memory; they stay as long as it is in the
vault (`X17`).
"""
STAGES = ("candidate", "validated", "active", "core", "stale", "archived")
_BUILDING = frozenset({"update_note", "create_artifact", "link_graph"})


# -- what may be done (C22) ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Eligibility:
    """What a memory brings with it: confidence and importance 0–1, its stage, and where
    it comes from.
    """

    confidence: float = 0.0
    stage: str = "candidate"
    importance: float = 0.0
    source: str = "unknown"


@dataclass(frozen=True, slots=True)
class Proposal:
    """An action on a memory as it was proposed, how it was ruled, and why not; '' where
    it is allowed.
    """

    action: Action
    known: Eligibility
    ruling: Ruling
    why: str

    @property
    def row(self) -> Row:
        """What the log says of it, beside when and of which memory; `checked_row` reads it."""
        return {"ruling": self.ruling, "eligibility": asdict(self.known)}


def propose(action: Action, known: Eligibility, policy: ActionPolicy) -> Proposal:
    """The action, ruled on (`C22`)."""
    return Proposal(action, known, *ruling(action, known, policy))


def checked_row(row: Row) -> Row:
    """A row of the log as it is shown; what it says of a proposal counts only in its
    strict form (`C22`).

    The log lies in the vault, where anybody may write: a word that is no action is
    `discard`, and an eligibility without the form is that of a memory of which nothing
    is known.
    """
    if "ruling" not in row:
        return row
    strict = {
        "action": action_of(row.get("action")),
        "eligibility": asdict(eligibility_of(row.get("eligibility"))),
    }
    return {
        **row,
        **strict,
        "ruling": row["ruling"] if row["ruling"] in get_args(Ruling) else "deny",
    }


def action_of(said: object) -> Action:
    """The action that somebody named; what is none is `discard` (`C22`)."""
    return next((known for known in get_args(Action) if known == said), "discard")


def eligibility_of(said: object) -> Eligibility:
    """What somebody says of a memory; nothing of it counts unless all of it has the
    form (`C22`).
    """
    if not isinstance(said, dict) or said.keys() != {
        "confidence",
        "stage",
        "importance",
        "source",
    }:
        return Eligibility()
    shares = [said["confidence"], said["importance"]]
    sound = all(type(share) in {int, float} and 0 <= share <= 1 for share in shares)
    if not sound or said["stage"] not in STAGES or said["source"] not in SOURCES:
        return Eligibility()
    return Eligibility(
        float(shares[0]), said["stage"], float(shares[1]), said["source"]
    )


def ruling(
    action: Action,
    known: Eligibility,
    policy: ActionPolicy,
    *,
    tokens: int | None = None,
) -> tuple[Ruling, str]:
    """Whether an action is allowed, and why not: the first rule that fits (`C22`).

    A summary without tokens left; nothing important is discarded; nothing stale or
    archived is changed or tied; nothing is built on what is hardly believed, where its
    source is known.
    """
    if action == "summarize_node" and tokens == 0:
        return "defer", "no tokens are left"
    if action == "discard" and known.importance >= policy.keep_importance:
        return "deny", f"importance {policy.keep_importance:g} or more"
    if action in _BUILDING and known.stage in {"stale", "archived"}:
        return "deny", f"it is {known.stage}"
    if (
        action != "discard"
        and known.source != "unknown"
        and known.confidence < policy.least_confidence
    ):
        return "defer", f"confidence below {policy.least_confidence:g}"
    return "allow", ""


# -- the log ---------------------------------------------------------------------------


def parse_log(raw: bytes, most: int) -> list[Row]:
    """The latest rows of the action log without those of runs, which else would change
    what the next run reads.
    """
    found: list[Row] = []
    for row in jsonl.rows(raw, newest_first=True):
        if len(found) == most:
            break
        if "run" not in row and isinstance(row.get("action"), str) and _time(row):
            found.append(row)
    return found[::-1]


_GOOD = frozenset({"confirm", "reinforce", "rewrite", "keep", "pin", "restore"})
_POOR = frozenset({"drop", "forget", "correct", "dispute", "invalidate"})


# -- what became of a memory's like (C30) ----------------------------------------------


def feedback(
    rows: Sequence[Row],
    category_of: Callable[[str], str | None],
    now: datetime,
    policy: ActionPolicy,
) -> dict[str, float]:
    """What became lately of the memories of each category, −1…1 (`C30`).

    The mean of what the events say, weighted by `1 − age/14 d`, over the greatest that
    one of them can say: only failures are −1, nothing but stores is .27.
    """
    priors = {
        "store": policy.stored,
        "confirm": policy.used,
        "reinforce": policy.used,
        "rewrite": policy.used,
        "keep": policy.used,
        "pin": policy.used,
        "restore": policy.used,
        "discard": policy.discarded,
        "weaken": policy.skipped,
        "review": policy.deferred,
        "dispute": policy.denied,
        "invalidate": policy.failed,
        "drop": policy.failed,
        "forget": policy.failed,
        "correct": policy.failed,
    }
    worst = max(map(abs, priors.values())) or 1.0
    span = timedelta(days=policy.prior_days)
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in rows[-policy.prior_events :]:
        prior, at, category = (
            priors.get(row["action"]),
            _time(row),
            category_of(str(row.get("memory"))),
        )
        if prior is None or at is None or category is None:
            continue
        weight = 1 - (now - at) / span
        if 0 < weight <= 1:
            sums[category][0] += weight * prior
            sums[category][1] += weight
    return {
        name: round(max(-1.0, min(1.0, total / weight / worst)), 4)
        for name, (total, weight) in sums.items()
    }


# -- guidelines (C21) ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Advice:
    """What the log says of one action: how often, how it ended, what became of it, and
    the change it suggests.
    """

    action: str
    total: int
    good: int
    poor: int
    delta: float | None
    certainty: str


def advice(rows: Iterable[Row], policy: ActionPolicy) -> list[Advice]:
    """What the latest events suggest, by action (`C21`).

    `delta = clamp(.12·(applied − failed)/total + .06·(good − poor)/(good + poor),
    ±.15)` from five events on; good is a memory that was later confirmed, reinforced or
    kept, poor one that was later dropped, forgotten, corrected, disputed or
    contradicted.
    """
    some = list(rows)[-policy.events :]
    later: dict[str, set[str]] = defaultdict(set)
    counts: Counter[str] = Counter()
    ended: Counter[tuple[str, str]] = Counter()
    fates: Counter[tuple[str, bool]] = Counter()
    for row in reversed(some):
        action, memory = row["action"], str(row.get("memory"))
        counts[action] += 1
        ended[action, str(row.get("outcome", "applied"))] += 1
        if memory in later:
            fates[
                action, bool(later[memory] & _GOOD) and not later[memory] & _POOR
            ] += 1
        if action in _GOOD | _POOR:
            later[memory].add(action)
    return [
        _advised(
            action,
            counts[action],
            ended,
            (fates[action, True], fates[action, False]),
            policy,
        )
        for action in sorted(counts)
    ]


def _advised(
    action: str,
    total: int,
    ended: Mapping[tuple[str, str], int],
    fates: tuple[int, int],
    policy: ActionPolicy,
) -> Advice:
    good, poor = fates
    if total < policy.samples:
        return Advice(action, total, good, poor, None, "")
    applied, failed = (
        ended.get((action, "applied"), 0),
        ended.get((action, "failed"), 0),
    )
    delta = policy.by_outcome * (applied - failed) / total
    delta += policy.by_quality * (good - poor) / (good + poor) if good + poor else 0.0
    delta = round(max(-policy.most_delta, min(policy.most_delta, delta)), 4)
    certainty = (
        "high"
        if abs(delta) >= policy.high
        else "medium"
        if abs(delta) >= policy.medium
        else "low"
    )
    return Advice(action, total, good, poor, delta, certainty)


def guidelines(rows: Sequence[Row], policy: ActionPolicy) -> str:
    """The guidelines as Markdown, without the line that says when they were written
    (`C21`); '' without events.
    """
    some = list(rows)[-policy.events :]
    if not some:
        return ""
    outcomes = Counter(str(row.get("outcome", "applied")) for row in some)
    found = advice(some, policy)
    parts = [
        f"Events: {len(some)}",
        f"Window: {some[0]['at']} to {some[-1]['at']}",
        "Version: 1",
        "\n## Action distribution\n",
        *(f"- {one.action}: {one.total}" for one in found),
        "\n## Outcome distribution\n",
        *(f"- {outcome}: {number}" for outcome, number in sorted(outcomes.items())),
        "\n## Suggested guidelines\n",
        *map(
            _line, sorted(found, key=lambda one: (-abs(one.delta or 0.0), one.action))
        ),
    ]
    return "\n".join(parts) + "\n"


def _line(one: Advice) -> str:
    if one.delta is None:
        return f"- {one.action}: hold, only {one.total} events"
    way = "do more" if one.delta > 0 else "do less" if one.delta < 0 else "hold"
    fate = f", {one.good} proved good, {one.poor} poor" if one.good + one.poor else ""
    return f"- {one.action}: {way} ({one.delta:+.2f}, {one.certainty} certainty, {one.total} events{fate})"


_GUIDE = re.compile(
    r"^- [a-z_]{1,40}: do (?:more|less) \([+-]0\.\d\d, (?:high|medium) certainty, \d+ events"
    r"(?:, \d+ proved good, \d+ poor)?\)$"
)


def clear_guidelines(page: str, policy: ActionPolicy) -> list[str]:
    """The first 5 lines of the guidelines that suggest something with some certainty
    (`C21`).

    Only in the very form in which they are written: the page lies in the vault, and
    nobody speaks to an assistant through it.
    """
    return [line for line in page.splitlines() if _GUIDE.fullmatch(line)][
        : policy.guides
    ]


def _time(row: Row) -> datetime | None:
    try:
        at = datetime.fromisoformat(row["at"])
    except (KeyError, TypeError, ValueError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
