"""Rule on actions, and compute feedback and guidelines from the action log.

(Rows C21, C22, C30.)
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
ACTIONS: tuple[Action, ...] = get_args(Action)
Ruling = Literal["allow", "defer", "deny"]
Row = dict[str, Any]

GUIDELINES_FILE = "state/compression-guidelines.md"
"""The page of guidelines from the action log, for people and assistants (`C21`)."""

SOURCES = ("extraction", "consolidation", "replay", "manual", "unknown")
CREATION_ACTIONS = frozenset({"create", "store", "review"})
"""Actions that record the creation of a memory (`X17`).

Their rows stay in the log as long as the memory is in the vault.
"""
STAGES = ("candidate", "validated", "active", "core", "stale", "archived")
_BUILDING = frozenset({"update_note", "create_artifact", "link_graph"})


# -- rulings (C22) ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Eligibility:
    """The properties of a memory that decide whether an action on it is allowed.

    `confidence` and `importance` are 0–1.
    """

    confidence: float = 0.0
    stage: str = "candidate"
    importance: float = 0.0
    source: str = "unknown"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed action on a memory with its ruling; `why` is '' if it is allowed."""

    action: Action
    known: Eligibility
    ruling: Ruling
    why: str

    @property
    def row(self) -> Row:
        """Return the fields of the log row, without its time and memory.

        `checked_row` reads them.
        """
        return {"ruling": self.ruling, "eligibility": asdict(self.known)}


def propose(action: Action, known: Eligibility, policy: ActionPolicy) -> Proposal:
    """Return the proposal of an action on a memory, with its ruling (`C22`)."""
    return Proposal(action, known, *ruling(action, known, policy))


def checked_row(row: Row) -> Row:
    """Return a log row with the fields of its proposal validated (`C22`).

    The log is in the vault, where any program may write: an unknown action becomes
    `discard`, an unknown ruling `deny`, and an invalid eligibility that of an unknown
    memory. A row that reverses an earlier action has the outcome `reversed`.
    """
    if row.get("reversed"):
        row = {**row, "outcome": "reversed"}
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


def action_of(value: object) -> Action:
    """Return `value` if it is an action, else `discard` (`C22`)."""
    return next((known for known in get_args(Action) if known == value), "discard")


def eligibility_of(value: object) -> Eligibility:
    """Parse an eligibility; any invalid part gives the default (`C22`)."""
    keys = {"confidence", "stage", "importance", "source"}
    if not isinstance(value, dict) or value.keys() != keys:
        return Eligibility()

    confidence, importance = value["confidence"], value["importance"]
    valid = all(
        type(share) in {int, float} and 0 <= share <= 1
        for share in (confidence, importance)
    )
    if not valid or value["stage"] not in STAGES or value["source"] not in SOURCES:
        return Eligibility()
    return Eligibility(
        float(confidence), value["stage"], float(importance), value["source"]
    )


def ruling(
    action: Action,
    known: Eligibility,
    policy: ActionPolicy,
    *,
    tokens: int | None = None,
) -> tuple[Ruling, str]:
    """Return the ruling on an action and the reason; '' if it is allowed (`C22`).

    The first rule that applies counts: a disabled action is denied; a summary is
    deferred while no `tokens` are left; an important memory is not discarded; a stale
    or archived one is neither changed nor linked; nothing is derived from a memory of
    low confidence whose source is known.
    """
    if action in policy.disabled:
        return "deny", f"{action} is switched off in the configuration"
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


def parse_log(raw: bytes, limit: int) -> list[Row]:
    """Parse the latest `limit` rows of the action log, oldest first.

    Rows of maintenance runs are skipped: they would change the input of the next run.
    """
    latest: list[Row] = []
    for row in jsonl.rows(raw, newest_first=True):
        if len(latest) == limit:
            break
        if _is_event(row) and isinstance(row.get("action"), str) and row_time(row):
            latest.append(row)
    return latest[::-1]


def _is_event(row: Row) -> bool:
    """Return whether a row comes from outside of maintenance runs.

    The row of a new memory comes from outside if it names its evidence.
    """
    return "run" not in row or not {"met", "turn"}.isdisjoint(row)


_GOOD = frozenset({"confirm", "reinforce", "rewrite", "keep", "pin", "restore"})
_POOR = frozenset({"drop", "forget", "correct", "dispute", "invalidate"})


# -- feedback by category (C30) ----------------------------------------------


def feedback(
    rows: Sequence[Row],
    category_by_memory: Callable[[str], str | None],
    now: datetime,
    policy: ActionPolicy,
) -> dict[str, float]:
    """Return the success of the latest memories of each category, −1…1 (`C30`).

    `category_by_memory` maps the id of a memory to its category. The value is the mean
    of the values of the events, weighted by `1 − age/14 d` and divided by the largest
    possible value: a category with failures only has −1, one with stores only .27.
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
        prior = None if row.get("reversed") else priors.get(row["action"])
        at = row_time(row)
        category = category_by_memory(str(row.get("memory")))
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
    """The statistics of one action in the log, and the change they suggest.

    `good` and `poor` count the memories that later fared well or badly; `delta` is None
    below the least number of events.
    """

    action: str
    total: int
    good: int
    poor: int
    delta: float | None
    certainty: str


def advice(rows: Iterable[Row], policy: ActionPolicy) -> list[Advice]:
    """Return the advice for each action, computed from the latest events (`C21`).

    `delta = clamp(.12·(applied − failed)/total + .06·(good − poor)/(good + poor),
    ±.15)` from five events on. A memory is good if it was later confirmed, reinforced
    or retained, and poor if it was later dropped, forgotten, corrected, disputed or
    contradicted. An action that a person reversed counts as failed and not as applied;
    its row with `reversed` follows the row of the action.
    """
    later: dict[str, set[str]] = defaultdict(set)
    counts: Counter[str] = Counter()
    outcomes: Counter[tuple[str, str]] = Counter()
    qualities: Counter[tuple[str, bool]] = Counter()
    taken_back: set[tuple[str, str]] = set()
    for row in reversed(list(rows)[-policy.events :]):
        action, memory = row["action"], str(row.get("memory"))
        if row.get("reversed"):
            taken_back.add((action, memory))
            continue
        counts[action] += 1
        outcome = str(row.get("outcome", "applied"))
        if (action, memory) in taken_back:
            taken_back.discard((action, memory))
            outcome = "failed"
        outcomes[action, outcome] += 1
        if memory in later:
            good = bool(later[memory] & _GOOD) and not later[memory] & _POOR
            qualities[action, good] += 1
        if action in _GOOD | _POOR:
            later[memory].add(action)
    return [
        _advised(
            action,
            counts[action],
            outcomes,
            (qualities[action, True], qualities[action, False]),
            policy,
        )
        for action in sorted(counts)
    ]


def _advised(
    action: str,
    total: int,
    outcomes: Mapping[tuple[str, str], int],
    qualities: tuple[int, int],
    policy: ActionPolicy,
) -> Advice:
    """Return the advice for one action from its counts."""
    good, poor = qualities
    if total < policy.samples:
        return Advice(action, total, good, poor, None, "")
    applied = outcomes.get((action, "applied"), 0)
    failed = outcomes.get((action, "failed"), 0)
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
    """Return the guidelines as Markdown, or '' without events (`C21`).

    The line with the time of writing is not part of it.
    """
    latest = list(rows)[-policy.events :]
    if not latest:
        return ""
    outcomes = Counter(str(row.get("outcome", "applied")) for row in latest)
    advised = advice(latest, policy)
    by_weight = sorted(
        advised,
        key=lambda row_advice: (-abs(row_advice.delta or 0.0), row_advice.action),
    )
    parts = [
        f"Events: {len(latest)}",
        f"Window: {latest[0]['at']} to {latest[-1]['at']}",
        "Version: 1",
        "\n## Action distribution\n",
        *(f"- {row_advice.action}: {row_advice.total}" for row_advice in advised),
        "\n## Outcome distribution\n",
        *(f"- {outcome}: {number}" for outcome, number in sorted(outcomes.items())),
        "\n## Suggested guidelines\n",
        *map(_line, by_weight),
    ]
    return "\n".join(parts) + "\n"


def _line(advice_row: Advice) -> str:
    if advice_row.delta is None:
        return f"- {advice_row.action}: hold, only {advice_row.total} events"
    advised = (
        "do more"
        if advice_row.delta > 0
        else "do less"
        if advice_row.delta < 0
        else "hold"
    )
    quality = (
        f", {advice_row.good} proved good, {advice_row.poor} poor"
        if advice_row.good + advice_row.poor
        else ""
    )
    return (
        f"- {advice_row.action}: {advised} ({advice_row.delta:+.2f}, {advice_row.certainty} certainty, "
        f"{advice_row.total} events{quality})"
    )


_CLEAR_LINE = re.compile(
    r"^- [a-z_]{1,40}: do (?:more|less) \([+-]0\.\d\d, (?:high|medium) certainty, \d+ events"
    r"(?:, \d+ proved good, \d+ poor)?\)$"
)


def clear_guidelines(page: str, policy: ActionPolicy) -> list[str]:
    """Return the first 5 guidelines of at least medium certainty (`C21`).

    A line counts only in the exact form in which engram writes it: the page is in the
    vault, and other text in it must not reach an assistant.
    """
    return [line for line in page.splitlines() if _CLEAR_LINE.fullmatch(line)][
        : policy.guides
    ]


def row_time(row: Row) -> datetime | None:
    """Return the time of a row, None for a row that cannot be read."""
    try:
        at = datetime.fromisoformat(row["at"])
    except (KeyError, TypeError, ValueError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
