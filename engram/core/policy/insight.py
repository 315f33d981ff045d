"""What consolidation makes of several memories, and what the log of actions teaches."""

from __future__ import annotations

from dataclasses import dataclass

from engram.core.policy.number import number


@dataclass(frozen=True, slots=True)
class InsightPolicy:
    """When memories are merged, compared, folded, generalised and looked through
    (A21–A23, A28, B15, C12, D9, E17).
    """

    reflected: int = number(
        200,
        "memories",
        2,
        10000,
        "A21",
        "latest memories that are compared with what is near",
    )
    merges: int = number(
        50,
        "memories",
        0,
        10000,
        "quality",
        "most that one run puts behind others that say the same",
    )
    contradictions: int = number(
        5,
        "memories",
        0,
        100,
        "quality",
        "most that one run ends on the word of a model",
    )
    newest: int = number(
        20,
        "memories",
        1,
        1000,
        "C12",
        "newest memories that are compared with the rest",
    )
    least_memories: int = number(
        5, "memories", 2, 1000, "C12", "memories below which nothing is compared"
    )
    compared: int = number(40, "pairs", 1, 1000, "C12", "most pairs in one question")
    verdicts: int = number(
        5000,
        "pairs",
        1,
        100000,
        "C12",
        "pairs of which it is kept in mind what a model said",
    )
    sure: float = number(
        0.9, "share", 0, 1, "C12", "certainty of a model from which no person is asked"
    )
    scanned: int = number(
        20,
        "pairs",
        1,
        1000,
        "A28",
        "pairs that a search for contradictions shows a model",
    )
    cluster: int = number(
        5,
        "memories",
        2,
        100,
        "D9",
        "memories that are close from which they become one",
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
        "rest between folds; a night may come an hour early",
    )
    fold_new: int = number(
        25,
        "memories",
        1,
        10000,
        "E17",
        "new memories from which it is no longer waited for that",
    )
    fold_seconds: float = number(
        60.0, "seconds", 0, 86400, "E17", "rest between folds that holds in any case"
    )
    fold_days: float = number(
        30.0, "days", 0, 3650, "house", "rest after which a memory may be folded"
    )
    fold_importance: float = number(
        0.7, "share", 0, 1, "house", "importance from which a memory is never folded"
    )
    folded_importance: float = number(
        0.75, "share", 0, 1, "E17", "least importance of a fold: 2 of 3"
    )
    runs: int = number(
        5, "notes", 0, 100, "E17", "most notes that one pass makes in a run"
    )
    shown: int = number(
        12, "memories", 3, 100, "house", "most memories that one question shows"
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
        3, "memories", 2, 100, "A23", "memories that a principle rests on, at least"
    )
    principle_confidence: float = number(
        0.8, "share", 0, 1, "A23", "confidence of a principle"
    )
    principle_stability: float = number(
        3.0, "times", 1, 5, "A23", "stability that a principle starts with"
    )
    ripe_days: float = number(
        7.0,
        "days",
        0,
        3650,
        "B15",
        "age above which an episode may be turned into knowledge",
    )
    ripe_salience: float = number(
        0.2, "share", 0, 1, "B15", "salience below which it is"
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
        5, "memories", 2, 100, "B15", "episodes of one group that are, faded or not"
    )
    group_gap_days: float = number(
        30.0, "days", 1, 3650, "B15", "silence that divides a group of episodes"
    )
    insights: int = number(
        3, "notes", 1, 20, "B15", "most that is concluded from one group of episodes"
    )
    probes: int = number(
        5,
        "memories",
        0,
        100,
        "D9",
        "lasting memories that are looked through in a night",
    )
    probe_days: float = number(14.0, "days", 0, 3650, "D9", "rest after which one is")
    probe_loss: float = number(
        0.7, "share", 0, 1, "D9", "importance that is left of one that no longer holds"
    )
    probe_least: float = number(
        0.1, "share", 0, 1, "D9", "importance that is left at least"
    )
    beside: int = number(
        3, "memories", 0, 20, "D9", "near memories that are shown with it"
    )
    drift_warning_days: float = number(
        60.0, "days", 1, 3650, "D10", "age and rest from which a claim is doubted"
    )
    drift_error_days: float = number(
        180.0, "days", 1, 3650, "D10", "age and rest from which it counts as stale"
    )
    drift_bytes: int = number(
        1048576,
        "bytes",
        1024,
        1073741824,
        "D10",
        "most that is read of a file outside the vault",
    )


@dataclass(frozen=True, slots=True)
class ActionPolicy:
    """What may be done to a memory, and what is learned from what was done (rows C21,
    C22, C30).
    """

    disabled: tuple[str, ...] = ()
    keep_importance: float = number(
        0.8,
        "share",
        0,
        1,
        "C22",
        "importance from which nothing is discarded by itself",
    )
    least_confidence: float = number(
        0.35,
        "share",
        0,
        1,
        "C22",
        "confidence below which nothing is built on a memory",
    )
    events: int = number(
        500, "events", 1, 100000, "C21", "latest events that guidelines rest on"
    )
    samples: int = number(
        5,
        "events",
        1,
        1000,
        "C21",
        "events of an action below which nothing is said of it",
    )
    guides: int = number(
        5,
        "lines",
        0,
        100,
        "C21",
        "lines of the guidelines that are handed out beside a context",
    )
    by_outcome: float = number(
        0.12, "share", 0, 1, "C21", "weight of applied minus failed"
    )
    by_quality: float = number(0.06, "share", 0, 1, "C21", "weight of good minus poor")
    most_delta: float = number(0.15, "share", 0, 1, "C21", "most that is suggested")
    high: float = number(
        0.09, "share", 0, 1, "C21", "size from which a suggestion is highly certain"
    )
    medium: float = number(
        0.04, "share", 0, 1, "C21", "size from which it is fairly certain"
    )
    prior_events: int = number(
        1200, "events", 1, 100000, "C30", "latest events that feedback rests on"
    )
    prior_days: float = number(
        14.0, "days", 0.1, 365, "C30", "age above which an event teaches nothing"
    )
    failed: float = number(
        -0.30,
        "points",
        -1,
        1,
        "C30",
        "what it says of a memory's like that it was wrong",
    )
    denied: float = number(-0.22, "points", -1, 1, "C30", "that a person doubted it")
    deferred: float = number(-0.14, "points", -1, 1, "C30", "that it had to wait")
    skipped: float = number(
        -0.10, "points", -1, 1, "C30", "that it was contradicted without being wrong"
    )
    stored: float = number(0.08, "points", -1, 1, "C30", "that it was stored")
    used: float = number(
        0.04, "points", -1, 1, "C30", "that it was heard again or kept"
    )
    discarded: float = number(
        -0.03, "points", -1, 1, "C30", "that it was not worth a note"
    )
