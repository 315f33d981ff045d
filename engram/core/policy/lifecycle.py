"""Numbers for the lifecycle of memories, and for maintenance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from engram.core.policy.number import number

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class UsagePolicy:
    """The log of the use of memories (rows A19, B4)."""

    most_stability: float = number(
        5.0, "times", 1, 100, "A19", "greatest stability that recalls give"
    )
    hits: int = number(
        5, "facts", 1, 1000, "law 4", "facts of an answer that count as used"
    )
    least_relevance: float = number(
        0.25,
        "share",
        0,
        1,
        "law 4",
        "share of the best score below which no fact counts",
    )
    ahead_hours: float = number(
        24.0,
        "hours",
        0,
        8760,
        "quality",
        "time ahead of the clock from which a line is skipped",
    )
    superseded_share: float = number(
        0.5,
        "share",
        0,
        1,
        "vault",
        "share of superseded lines from which a device's file is compacted",
    )
    waiting: int = number(
        1000,
        "answers",
        1,
        1000000,
        "A19",
        "answers of recall that wait to be counted",
    )


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve of fading.

    `linear_share` of the value fades in a straight line, the rest by halving, and after
    `bend` half-lives on its tangent. After 10,000 half-lives no value is left, so a
    `bend` there has no effect.
    """

    bend: float = 10_000.0
    linear_share: float = 0.0


CURVES: Mapping[str, Curve] = MappingProxyType(
    {"l2": Curve(), "huber": Curve(bend=0.5), "elastic": Curve(linear_share=0.3)}
)
"""The modes of retention by name (row D4), as a user chooses them; huber is the
default.
"""


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """The worth of a memory by time and use (rows A25, B6, C25, D4)."""

    confidence_days: float = number(
        30.0, "days", 1, 3650, "A25", "half-life of confidence, times stability"
    )
    salience_days: float = number(
        math.log(2) / 0.02,
        "days",
        1,
        3650,
        "B6",
        "half-life of salience: ln 2 over a rate of 0.02 a day",
    )
    retention_days: float = number(
        30.0, "days", 1, 3650, "D1", "half-life of the retention of an episode"
    )
    bend: float = number(
        CURVES["huber"].bend,
        "half-lives",
        0,
        10_000,
        "D4",
        "age from which retention falls in a straight line",
    )
    linear_share: float = number(
        CURVES["huber"].linear_share,
        "share",
        0,
        1,
        "D4",
        "share of retention that falls in a straight line from the beginning",
    )
    doubt: float = number(
        2.0,
        "1",
        0,
        100,
        "D6",
        "additional speed of fading of an untrusted memory",
    )
    no_fading_confidence: float = number(
        0.8,
        "share",
        0,
        1,
        "B6",
        "confidence from which salience does not fade before the first recall",
    )
    late_filing_days: float = number(
        1.0,
        "days",
        0,
        3650,
        "model",
        "delay of filing from which a memory fades from the filing on",
    )
    gain_per_recall: float = number(
        0.05, "share", 0, 1, "D5", "retention for each e-fold of recalls"
    )
    most_use: float = number(0.3, "share", 0, 1, "D5", "greatest retention by recalls")
    gain: float = number(0.05, "share", 0, 1, "B2", "salience added by any recall")
    gain_relevance: float = number(
        0.05,
        "share",
        0,
        1,
        "B2",
        "further salience for the most relevant memory of an answer",
    )
    revival: float = number(
        0.5,
        "share",
        0,
        1,
        "B3",
        "least salience after a recall from the archive",
    )
    stability: float = number(0.1, "1", 0, 10, "A19", "stability added by a recall")
    gradient_gain: float = number(
        0.1,
        "1",
        0,
        1,
        "B7",
        "gain of the gradient if the intervals between recalls grow",
    )
    gradient_loss: float = number(
        0.05, "1", 0, 1, "B7", "loss of the gradient if they shrink"
    )
    least_gradient: float = number(0.1, "1", 0.01, 1, "B7", "least gradient")
    most_gradient: float = number(3.0, "1", 1, 10, "B7", "greatest gradient")
    explicit: float = number(
        1.0, "share", 0, 1, "C25", "value of explicit confidence in heat"
    )
    implied: float = number(0.8, "share", 0, 1, "C25", "value of implied confidence")
    inferred: float = number(0.6, "share", 0, 1, "C25", "value of inferred confidence")
    speculative: float = number(
        0.35, "share", 0, 1, "C25", "value of speculative confidence"
    )
    often: int = number(
        20, "recalls", 1, 10_000, "C25", "recalls with the greatest value"
    )
    recency_days: float = number(
        90.0,
        "days",
        1,
        3650,
        "C25",
        "time since the last access after which a memory is not recent",
    )
    heat_confidence: float = number(
        0.25, "share", 0, 1, "C26", "weight of confidence in heat"
    )
    heat_access: float = number(
        0.30, "share", 0, 1, "C26", "weight of the number of recalls"
    )
    heat_recency: float = number(
        0.20, "share", 0, 1, "C26", "weight of the time since the last access"
    )
    heat_importance: float = number(0.15, "share", 0, 1, "C26", "weight of importance")
    heat_feedback: float = number(
        0.10, "share", 0, 1, "C26", "weight of the feedback on the category"
    )
    heat_disputed: float = number(
        0.20, "share", 0, 1, "C25", "loss of a memory that a person disputes"
    )

    @property
    def curve(self) -> Curve:
        """The curve of retention."""
        return Curve(self.bend, self.linear_share)


@dataclass(frozen=True, slots=True)
class LifecyclePolicy:
    """The stages of a memory, its archiving, its removal and its tiers."""

    stale_decay: float = number(
        0.65, "share", 0, 1, "C27", "decay from which a memory is stale"
    )
    stale_confidence: float = number(
        0.10,
        "share",
        0,
        1,
        "model",
        "effective confidence below which a memory is stale",
    )
    active_access: int = number(
        1, "recalls", 1, 1000, "B3", "recalls from which a memory is active"
    )
    core_access: int = number(
        10, "recalls", 1, 1000, "B3", "recalls from which a memory is core"
    )
    heat: float = number(
        0.55,
        "share",
        0,
        1,
        "C27",
        "heat from which a memory is validated, or active if it is vouched for",
    )
    validated: int = number(
        1, "times", 1, 1000, "model", "confirmations from which a memory is validated"
    )
    nudge_candidate: float = number(
        -0.01, "points", -1, 1, "C28", "addition to the recall score of a candidate"
    )
    nudge_validated: float = number(
        0.03,
        "points",
        -1,
        1,
        "C28",
        "addition to the recall score of a validated memory",
    )
    nudge_active: float = number(
        0.05, "points", -1, 1, "C28", "addition to the recall score of an active memory"
    )
    nudge_core: float = number(
        0.08, "points", -1, 1, "model", "addition to the recall score of a core memory"
    )
    nudge_stale: float = number(
        -0.06, "points", -1, 1, "C28", "addition to the recall score of a stale memory"
    )
    nudge_archived: float = number(
        -0.08,
        "points",
        -1,
        1,
        "C28",
        "addition to the recall score of an archived memory",
    )
    nudge_disputed: float = number(
        -0.12,
        "points",
        -1,
        1,
        "C28",
        "further addition for a memory that a person disputes",
    )
    archive_days: float = number(
        90.0,
        "days",
        1,
        36500,
        "C18",
        "age above which a fading memory is archived",
        "archive.days",
    )
    archive_importance: float = number(
        0.3, "share", 0, 1, "C18", "importance below which it is archived"
    )
    archive_access: int = number(
        2, "recalls", 0, 1000, "C18", "recalls up to which it is archived"
    )
    archive_retention: float = number(
        0.15,
        "share",
        0,
        1,
        "D11",
        "retention below which it is archived; 1 ignores retention",
        "archive.retention",
    )
    archive_salience: float = number(
        0.01, "share", 0, 1, "B8", "salience below which a fading memory is archived"
    )
    prune_confidence: float = number(
        0.05,
        "share",
        0,
        1,
        "A24",
        "effective confidence below which `prune` ends a memory",
    )
    resolved_days: float = number(
        90.0,
        "days",
        1,
        36500,
        "C16",
        "age above which a settled promise is moved to the trash",
    )
    working_minutes: float = number(
        30.0,
        "minutes",
        0,
        1440,
        "D7",
        "age from which a memory leaves the working layer",
    )
    working_access: int = number(
        2,
        "recalls",
        1,
        1000,
        "D7",
        "recalls from which a memory leaves the working layer",
    )
    semantic_importance: float = number(
        0.7, "share", 0, 1, "D7", "importance from which an episode becomes semantic"
    )
    semantic_access: int = number(
        5, "recalls", 1, 1000, "D7", "recalls from which an episode becomes semantic"
    )
    tier_confidence: float = number(
        0.24,
        "share",
        0,
        1,
        "C29",
        "weight of confidence in the value that decides the tier",
    )
    tier_access: float = number(
        0.26, "share", 0, 1, "C29", "weight of the number of recalls"
    )
    tier_recency: float = number(
        0.20, "share", 0, 1, "C29", "weight of the time since the last access"
    )
    tier_importance: float = number(0.20, "share", 0, 1, "C29", "weight of importance")
    tier_feedback: float = number(
        0.10, "share", 0, 1, "C29", "weight of the feedback on the category"
    )
    tier_correction: float = number(0.08, "share", 0, 1, "C29", "gain of a correction")
    tier_confirmed: float = number(
        0.05, "share", 0, 1, "C29", "gain of a memory that a person confirmed"
    )
    tier_disputed: float = number(
        0.10, "share", 0, 1, "C29", "loss of a memory that a person disputes"
    )
    tier_days: float = number(
        14.0, "days", 0, 36500, "C29", "age from which a memory may become cold"
    )
    tier_cold: float = number(
        0.35, "share", 0, 1, "C29", "value up to which a hot memory becomes cold"
    )
    tier_hot: float = number(
        0.70, "share", 0, 1, "C29", "value from which a cold memory becomes hot"
    )
    float_retention: float = number(
        0.8, "share", 0, 1, "D12", "retention above which a vector has 32 bits a number"
    )
    byte_retention: float = number(
        0.5, "share", 0, 1, "D12", "retention above which a vector has 8 bits a number"
    )
    nibble_retention: float = number(
        0.2,
        "share",
        0,
        1,
        "D12",
        "retention above which a vector has 4 bits a number, else 2",
    )
    clock_jump_hours: float = number(
        1.0, "hours", 0.01, 24, "vault", "jump of the clock that suspends all fading"
    )
    clock_agree_minutes: float = number(
        10.0,
        "minutes",
        0.1,
        1440,
        "vault",
        "time of agreement after which the clock is trusted again",
    )
    clock_look_seconds: float = number(
        60.0, "seconds", 1, 600, "vault", "time between two readings of the clock"
    )
    clock_readings: int = number(
        1440,
        "readings",
        10,
        100000,
        "vault",
        "stored readings of the clock: those of a day",
    )


@dataclass(frozen=True, slots=True)
class ConsolidationPolicy:
    """Maintenance runs, their logs and their undo history."""

    gives_way: int = number(
        5,
        "times",
        0,
        1000,
        "house",
        "times in a row that a run of the whole vault is given up for other work",
    )
    nightly_hour: int = number(
        3, "hour", 0, 23, "D9", "local hour of the nightly run", "consolidation.hour"
    )
    weekly_day: int = number(
        6, "day", 0, 6, "C34", "day of the weekly run; Monday is 0"
    )
    weekly_hour: int = number(2, "hour", 0, 23, "C34", "local hour of the weekly run")
    log_days: float = number(
        90.0,
        "days",
        1,
        3650,
        "D9",
        "age from which engram's own actions are removed from the logs",
    )
    log_share: float = number(
        0.1,
        "share",
        0,
        1,
        "house",
        "share of a log of that age from which the log is rewritten",
    )
    topics: int = number(50, "terms", 1, 1000, "C20", "terms in the list of topics")
    topic_chars: int = number(
        3,
        "characters",
        1,
        50,
        "C20",
        "least length of a term in a script with blanks",
    )
    look_seconds: float = number(
        60.0,
        "seconds",
        0.05,
        3600,
        "model",
        "time between checks of the daemon for due work",
    )
    rounds: int = number(
        4,
        "times",
        1,
        100,
        "X24",
        "rounds of further questions after the answers of a model",
    )
    questions: int = number(
        40, "questions", 0, 10000, "X24", "most questions to a model in each round"
    )
    patience_days: float = number(
        14.0,
        "days",
        0,
        365,
        "X24",
        "longest wait of a question for others to be sent with",
    )
    patience: int = number(
        10,
        "questions",
        1,
        1000,
        "X24",
        "questions of a task from which they do not wait for more",
    )
    answers: int = number(
        5000,
        "answers",
        1,
        1000000,
        "X24",
        "cached answers of a model",
    )
    together: int = number(
        64,
        "notes",
        1,
        10000,
        "quality",
        "notes that are written before their folders are synced",
    )
    hold_ended: int = number(
        20,
        "memories",
        0,
        1000000,
        "model",
        "memories that a run may always end, merge or archive without consent",
    )
    hold_ended_share: float = number(
        0.02,
        "share",
        0,
        1,
        "model",
        "share of the active memories that a run may end, merge or archive",
    )
    hold_rewritten: int = number(
        50,
        "notes",
        0,
        1000000,
        "model",
        "notes that a run may always rewrite without consent",
    )
    hold_rewritten_share: float = number(
        0.05, "share", 0, 1, "model", "share of all notes that a run may rewrite"
    )
    proposed: int = number(
        20,
        "notes",
        0,
        10000,
        "model",
        "notes of the user whose end one note in `review/` proposes",
    )
    history_bytes: int = number(
        67108864,
        "bytes",
        65536,
        17179869184,
        "X6",
        "size of the undo history outside the vault",
    )


@dataclass(frozen=True, slots=True)
class ProfilePolicy:
    """Descriptions of people, things and the user.

    (Rows B11, B14, C14, C15, C19, D9.)
    """

    entities: int = number(
        10, "entities", 0, 1000, "C14", "entities that one run describes"
    )
    recent_days: float = number(
        21.0,
        "days",
        0,
        3650,
        "B14",
        "time since a mention or recall within which an entity is described",
    )
    lazy: int = number(
        0,
        "switch",
        0,
        1,
        "B14",
        "1: describe an entity only after a recall since its last mention",
        "describe.lazy",
    )
    together: int = number(
        10, "memories", 1, 100, "B14", "memories in one question to a model"
    )
    beside: int = number(
        3,
        "memories",
        1,
        100,
        "B11",
        "most memories behind a sentence on one relation",
    )
    described: int = number(
        2,
        "memories",
        1,
        1000,
        "B11",
        "memories about an entity from which it is described",
    )
    card_memories: int = number(
        5,
        "memories",
        1,
        1000,
        "D9",
        "memories about an entity from which it gets a card",
    )
    card_words: int = number(400, "words", 10, 10000, "D9", "longest card")
    profile_lines: int = number(60, "lines", 10, 100000, "C15", "longest `profile.md`")
    covered_chars: int = number(
        20,
        "characters",
        0,
        1000,
        "C15",
        "least length of a line that may be part of another one",
    )
    covered_share: float = number(
        0.6,
        "share",
        0,
        1,
        "C15",
        "share of a line in another one from which it is left out",
    )
    identity_chars: int = number(
        8000,
        "characters",
        100,
        1000000,
        "C19",
        "length at which `IDENTITY.md` is rewritten",
    )
    identity_bytes: int = number(
        15000,
        "bytes",
        100,
        1000000,
        "C19",
        "size from which nothing is added to `IDENTITY.md`",
    )
    bridge_memories: int = number(
        3,
        "memories",
        1,
        100,
        "D9",
        "memories about an entity from which a bridge may connect it",
    )
    bridge_words: int = number(
        2,
        "words",
        1,
        100,
        "D9",
        "distinctive words that the memories about two entities share",
    )
    bridge_spread: int = number(
        5,
        "entities",
        2,
        1000,
        "D9",
        "most entities with a distinctive word",
    )
    bridges: int = number(
        5, "pairs", 0, 1000, "D9", "pairs of entities that are compared in one day"
    )
    bridge_confidence: float = number(
        0.6, "share", 0, 1, "D9", "confidence of a bridge"
    )
    story_sources: int = number(
        5,
        "conversations",
        1,
        1000,
        "B1",
        "conversations from which they form a storyline",
    )
    story_days: int = number(
        3, "days", 1, 1000, "B1", "least number of days with such a conversation"
    )
    story_span_days: float = number(
        3.0, "days", 0, 3650, "B1", "time that a storyline must exceed"
    )
    story_gap_days: float = number(
        30.0, "days", 1, 3650, "B1", "silence after which another storyline begins"
    )
    stories: int = number(
        100, "storylines", 0, 100000, "B1", "most storylines of a vault"
    )
    macro_stories: int = number(
        2,
        "storylines",
        2,
        1000,
        "B1",
        "storylines of one entity from which they form a macro story",
    )
    macro_days: float = number(
        30.0, "days", 0, 36500, "B1", "least time that a macro story covers"
    )
