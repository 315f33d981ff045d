"""Numbers for conclusions from several memories, and for the action log."""

from __future__ import annotations

from dataclasses import dataclass

from engram.core.policy.number import number


@dataclass(frozen=True, slots=True)
class InsightPolicy:
    """Merging, comparing, folding, generalising and checking of memories.

    (Rows A21–A23, A28, B15, C12, D9, E17.)
    """

    reflected: int = number(
        200,
        "memories",
        2,
        10000,
        "A21",
        "latest memories that are compared with similar ones",
    )
    merges: int = number(
        50,
        "memories",
        0,
        10000,
        "quality",
        "most memories that one run supersedes as repetitions",
    )
    contradictions: int = number(
        5,
        "memories",
        0,
        100,
        "quality",
        "most memories that one run ends by a model's verdict",
    )
    newest: int = number(
        20,
        "memories",
        1,
        1000,
        "C12",
        "newest memories that are compared with all others",
    )
    least_memories: int = number(
        5, "memories", 2, 1000, "C12", "memories from which any are compared"
    )
    compared: int = number(40, "pairs", 1, 1000, "C12", "most pairs in one question")
    verdicts: int = number(
        5000,
        "pairs",
        1,
        100000,
        "C12",
        "pairs with a stored verdict of a model",
    )
    sure: float = number(
        0.9,
        "share",
        0,
        1,
        "C12",
        "certainty of a model from which the user is not asked",
    )
    scanned: int = number(
        20,
        "pairs",
        1,
        1000,
        "A28",
        "pairs that a search for contradictions sends to a model",
    )
    cluster: int = number(
        5,
        "memories",
        2,
        100,
        "D9",
        "similar memories from which they become one",
    )
    fold: int = number(
        3,
        "memories",
        2,
        100,
        "E17",
        "memories about one entity from which they are folded",
    )
    fold_hours: float = number(
        23.0,
        "hours",
        0,
        1000,
        "E17",
        "time between folds; a night may be an hour shorter",
    )
    fold_new: int = number(
        25,
        "memories",
        1,
        10000,
        "E17",
        "new memories from which a fold does not wait for that time",
    )
    fold_seconds: float = number(
        60.0, "seconds", 0, 86400, "E17", "least time between folds in any case"
    )
    fold_days: float = number(
        30.0,
        "days",
        0,
        3650,
        "house",
        "time without a change after which a memory may be folded",
    )
    fold_importance: float = number(
        0.7, "share", 0, 1, "house", "importance from which a memory is never folded"
    )
    folded_importance: float = number(
        0.75, "share", 0, 1, "E17", "least importance of a folded memory: 2 of 3"
    )
    runs: int = number(
        5, "notes", 0, 100, "E17", "most notes that one pass creates in a run"
    )
    shown: int = number(
        12, "memories", 3, 100, "house", "most memories in one question"
    )
    characters: int = number(
        600,
        "characters",
        20,
        10000,
        "house",
        "length above which a conclusion is refused",
    )
    principle_sources: int = number(
        3, "memories", 2, 100, "A23", "least number of memories behind a principle"
    )
    principle_confidence: float = number(
        0.8, "share", 0, 1, "A23", "confidence of a principle"
    )
    principle_stability: float = number(
        3.0, "times", 1, 5, "A23", "initial stability of a principle"
    )
    ripe_days: float = number(
        7.0,
        "days",
        0,
        3650,
        "B15",
        "age from which an episode may be generalised",
    )
    ripe_salience: float = number(
        0.2, "share", 0, 1, "B15", "salience below which an episode is generalised"
    )
    ripe_access: int = number(
        5,
        "recalls",
        1,
        1000,
        "B15",
        "recalls from which low salience is enough at any age",
    )
    overlapping: int = number(
        5,
        "memories",
        2,
        100,
        "B15",
        "episodes in one group from which they are generalised, faded or not",
    )
    group_gap_days: float = number(
        30.0, "days", 1, 3650, "B15", "silence that divides a group of episodes"
    )
    insights: int = number(
        3, "notes", 1, 20, "B15", "most conclusions from one group of episodes"
    )
    probes: int = number(
        5,
        "memories",
        0,
        100,
        "D9",
        "lasting memories that one night checks",
    )
    probe_days: float = number(
        14.0, "days", 0, 3650, "D9", "time after which a memory is checked again"
    )
    probe_loss: float = number(
        0.7,
        "share",
        0,
        1,
        "D9",
        "share of its importance that an outdated memory retains",
    )
    probe_least: float = number(
        0.1, "share", 0, 1, "D9", "least importance of an outdated memory"
    )
    beside: int = number(
        3, "memories", 0, 20, "D9", "similar memories in the question about a memory"
    )
    drift_warning_days: float = number(
        60.0,
        "days",
        1,
        3650,
        "D10",
        "age and time without use from which a claim is doubted",
    )
    drift_error_days: float = number(
        180.0,
        "days",
        1,
        3650,
        "D10",
        "age and time without use from which a claim counts as stale",
    )
    drift_bytes: int = number(
        1048576,
        "bytes",
        1024,
        1073741824,
        "D10",
        "part of a file outside the vault that is read",
    )


@dataclass(frozen=True, slots=True)
class ActionPolicy:
    """The rulings on actions, and the guidelines from the action log.

    (Rows C21, C22, C30.)
    """

    disabled: tuple[str, ...] = ()
    keep_importance: float = number(
        0.8,
        "share",
        0,
        1,
        "C22",
        "importance from which no rule discards a memory",
    )
    least_confidence: float = number(
        0.35,
        "share",
        0,
        1,
        "C22",
        "confidence below which nothing is derived from a memory",
    )
    events: int = number(
        500, "events", 1, 100000, "C21", "latest events for guidelines"
    )
    samples: int = number(
        5,
        "events",
        1,
        1000,
        "C21",
        "events of an action from which a change is suggested",
    )
    guides: int = number(
        5,
        "lines",
        0,
        100,
        "C21",
        "lines of the guidelines in a context",
    )
    by_outcome: float = number(
        0.12, "share", 0, 1, "C21", "weight of applied minus failed"
    )
    by_quality: float = number(0.06, "share", 0, 1, "C21", "weight of good minus poor")
    most_delta: float = number(0.15, "share", 0, 1, "C21", "greatest suggested change")
    high: float = number(
        0.09, "share", 0, 1, "C21", "change from which a suggestion is highly certain"
    )
    medium: float = number(
        0.04, "share", 0, 1, "C21", "change from which a suggestion is fairly certain"
    )
    prior_events: int = number(
        1200, "events", 1, 100000, "C30", "latest events for feedback"
    )
    prior_days: float = number(
        14.0, "days", 0.1, 365, "C30", "age from which an event does not count"
    )
    failed: float = number(
        -0.30,
        "points",
        -1,
        1,
        "C30",
        "value of a wrong memory for its category",
    )
    denied: float = number(
        -0.22, "points", -1, 1, "C30", "value of a memory that a person doubted"
    )
    deferred: float = number(
        -0.14, "points", -1, 1, "C30", "value of a memory that had to wait"
    )
    skipped: float = number(
        -0.10,
        "points",
        -1,
        1,
        "C30",
        "value of a memory that was contradicted without being wrong",
    )
    stored: float = number(0.08, "points", -1, 1, "C30", "value of a stored memory")
    used: float = number(
        0.04, "points", -1, 1, "C30", "value of a memory that was repeated or confirmed"
    )
    discarded: float = number(
        -0.03, "points", -1, 1, "C30", "value of a memory that was not worth a note"
    )
