"""What becomes of memories with time and use."""

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
    """The log of how memories were used (rows A19, B4)."""

    most_stability: float = number(
        5.0, "times", 1, 100, "A19", "stability above which recalls add nothing"
    )
    hits: int = number(
        5, "facts", 1, 1000, "law 4", "facts of an answer that count as used"
    )
    least_relevance: float = number(
        0.25, "share", 0, 1, "law 4", "share of the best score below which none counts"
    )
    ahead_hours: float = number(
        24.0,
        "hours",
        0,
        8760,
        "quality",
        "lead over the clock from which a line is passed over as of a wrong one",
    )
    superseded_share: float = number(
        0.5,
        "share",
        0,
        1,
        "vault",
        "part of the lines that may be superseded before a device's file is compacted",
    )
    waiting: int = number(
        1000,
        "answers",
        1,
        1000000,
        "A19",
        "answers of recall that wait until they are counted",
    )


@dataclass(frozen=True, slots=True)
class Curve:
    """How something fades: `linear_share` of it in a line, the rest by halving, after
    `bend` half-lives on its tangent.

    After 10,000 half-lives nothing is left to lose, so a `bend` there is none.
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
    """What a memory is worth with time and use (rows A25, B6, C25, D4)."""

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
        30.0, "days", 1, 3650, "D1", "half-life of what is retained of an episode"
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
        "part of retention that does so from the beginning",
    )
    doubt: float = number(
        2.0,
        "1",
        0,
        100,
        "D6",
        "how many times faster, besides once, an untrusted memory fades",
    )
    no_fading_confidence: float = number(
        0.8,
        "share",
        0,
        1,
        "B6",
        "confidence from which salience waits for the first recall",
    )
    late_filing_days: float = number(
        1.0,
        "days",
        0,
        3650,
        "model",
        "how late a memory is filed that fades from then on",
    )
    gain_per_recall: float = number(
        0.05, "share", 0, 1, "D5", "retention for each e-fold of recalls"
    )
    most_use: float = number(
        0.3, "share", 0, 1, "D5", "most that recalls add to retention"
    )
    gain: float = number(0.05, "share", 0, 1, "B2", "salience that any recall adds")
    gain_relevance: float = number(
        0.05,
        "share",
        0,
        1,
        "B2",
        "what it adds besides to the most relevant of an answer",
    )
    revival: float = number(
        0.5,
        "share",
        0,
        1,
        "B3",
        "salience that a recall from the archive starts from, at least",
    )
    stability: float = number(0.1, "1", 0, 10, "A19", "stability that a recall adds")
    gradient_gain: float = number(
        0.1, "1", 0, 1, "B7", "gain of the gradient where recalls move apart"
    )
    gradient_loss: float = number(
        0.05, "1", 0, 1, "B7", "its loss where they move together"
    )
    least_gradient: float = number(
        0.1, "1", 0.01, 1, "B7", "gradient below which it does not go"
    )
    most_gradient: float = number(
        3.0, "1", 1, 10, "B7", "gradient above which it does not go"
    )
    explicit: float = number(
        1.0, "share", 0, 1, "C25", "what heat makes of explicit confidence"
    )
    implied: float = number(0.8, "share", 0, 1, "C25", "the same of implied confidence")
    inferred: float = number(
        0.6, "share", 0, 1, "C25", "the same of inferred confidence"
    )
    speculative: float = number(
        0.35, "share", 0, 1, "C25", "the same of speculative confidence"
    )
    often: int = number(
        20, "recalls", 1, 10_000, "C25", "recalls that count as all one can want"
    )
    recency_days: float = number(
        90.0, "days", 1, 3650, "C25", "rest after which a memory is no longer recent"
    )
    heat_confidence: float = number(
        0.25, "share", 0, 1, "C26", "weight of confidence in heat"
    )
    heat_access: float = number(
        0.30, "share", 0, 1, "C26", "weight of how often it was recalled"
    )
    heat_recency: float = number(
        0.20, "share", 0, 1, "C26", "weight of how lately it was touched"
    )
    heat_importance: float = number(0.15, "share", 0, 1, "C26", "weight of importance")
    heat_feedback: float = number(
        0.10, "share", 0, 1, "C26", "weight of what became of its like"
    )
    heat_disputed: float = number(
        0.20, "share", 0, 1, "C25", "loss of what a person disputes"
    )

    @property
    def curve(self) -> Curve:
        """The curve of retention."""
        return Curve(self.bend, self.linear_share)


@dataclass(frozen=True, slots=True)
class LifecyclePolicy:
    """When a memory is trusted, put away, let go or moved."""

    stale_decay: float = number(
        0.65, "share", 0, 1, "C27", "decay from which a memory is stale"
    )
    stale_confidence: float = number(
        0.10, "share", 0, 1, "model", "effective confidence below which it is stale"
    )
    active_access: int = number(
        1, "recalls", 1, 1000, "B3", "recalls from which it is active"
    )
    core_access: int = number(
        10, "recalls", 1, 1000, "B3", "recalls from which it is core"
    )
    heat: float = number(
        0.55,
        "share",
        0,
        1,
        "C27",
        "heat that makes it validated, or active where it is vouched for",
    )
    validated: int = number(
        1, "times", 1, 1000, "model", "confirmations that make it validated"
    )
    nudge_candidate: float = number(
        -0.01, "points", -1, 1, "C28", "what recall adds to the score of a candidate"
    )
    nudge_validated: float = number(
        0.03, "points", -1, 1, "C28", "the same for a validated memory"
    )
    nudge_active: float = number(
        0.05, "points", -1, 1, "C28", "the same for an active one"
    )
    nudge_core: float = number(
        0.08, "points", -1, 1, "model", "the same for a core one"
    )
    nudge_stale: float = number(
        -0.06, "points", -1, 1, "C28", "the same for a stale one"
    )
    nudge_archived: float = number(
        -0.08, "points", -1, 1, "C28", "the same for an archived one"
    )
    nudge_disputed: float = number(
        -0.12, "points", -1, 1, "C28", "what it adds besides where a person disputes it"
    )
    archive_days: float = number(
        90.0,
        "days",
        1,
        36500,
        "C18",
        "age above which what may fade is archived",
        "archive.days",
    )
    archive_importance: float = number(
        0.3, "share", 0, 1, "C18", "importance below which it is"
    )
    archive_access: int = number(
        2, "recalls", 0, 1000, "C18", "recalls up to which it is"
    )
    archive_retention: float = number(
        0.15,
        "share",
        0,
        1,
        "D11",
        "retention below which it is; 1 leaves retention out of it",
        "archive.retention",
    )
    archive_salience: float = number(
        0.01, "share", 0, 1, "B8", "salience below which what may fade is archived"
    )
    prune_confidence: float = number(
        0.05,
        "share",
        0,
        1,
        "A24",
        "effective confidence below which `prune` takes a memory",
    )
    resolved_days: float = number(
        90.0,
        "days",
        1,
        36500,
        "C16",
        "age above which a settled promise goes to the trash",
    )
    working_minutes: float = number(
        30.0, "minutes", 0, 1440, "D7", "age from which a memory is no longer working"
    )
    working_access: int = number(
        2, "recalls", 1, 1000, "D7", "recalls from which it is not"
    )
    semantic_importance: float = number(
        0.7, "share", 0, 1, "D7", "importance from which an episode turns semantic"
    )
    semantic_access: int = number(
        5, "recalls", 1, 1000, "D7", "recalls from which it does"
    )
    tier_confidence: float = number(
        0.24,
        "share",
        0,
        1,
        "C29",
        "weight of confidence in the value that sets the tier",
    )
    tier_access: float = number(
        0.26, "share", 0, 1, "C29", "weight of how often it was recalled"
    )
    tier_recency: float = number(0.20, "share", 0, 1, "C29", "weight of how lately")
    tier_importance: float = number(0.20, "share", 0, 1, "C29", "weight of importance")
    tier_feedback: float = number(
        0.10, "share", 0, 1, "C29", "weight of what became of its like"
    )
    tier_correction: float = number(0.08, "share", 0, 1, "C29", "gain of a correction")
    tier_confirmed: float = number(
        0.05, "share", 0, 1, "C29", "gain of what a person confirmed"
    )
    tier_disputed: float = number(
        0.10, "share", 0, 1, "C29", "loss of what a person disputes"
    )
    tier_days: float = number(
        14.0, "days", 0, 36500, "C29", "age from which a memory may turn cold"
    )
    tier_cold: float = number(
        0.35, "share", 0, 1, "C29", "value up to which a hot one turns cold"
    )
    tier_hot: float = number(
        0.70, "share", 0, 1, "C29", "value from which a cold one turns hot"
    )
    float_retention: float = number(
        0.8, "share", 0, 1, "D12", "retention above which a vector keeps its 32 bits"
    )
    byte_retention: float = number(
        0.5, "share", 0, 1, "D12", "retention above which it has 8 bits a number"
    )
    nibble_retention: float = number(
        0.2, "share", 0, 1, "D12", "retention above which it has 4 bits, else 2"
    )
    clock_jump_hours: float = number(
        1.0, "hours", 0.01, 24, "vault", "jump of the clock that stops all fading"
    )
    clock_agree_minutes: float = number(
        10.0,
        "minutes",
        0.1,
        1440,
        "vault",
        "time in which the clock must keep step to be believed again",
    )
    clock_look_seconds: float = number(
        60.0, "seconds", 1, 600, "vault", "time between two looks at the clock"
    )
    clock_readings: int = number(
        1440,
        "readings",
        10,
        100000,
        "vault",
        "looks that are remembered: those of a day",
    )


@dataclass(frozen=True, slots=True)
class ConsolidationPolicy:
    """When the vault is put in order, and what is kept of what was done to it."""

    light_extractions: int = number(
        3, "batches", 1, 1000, "C12", "batches filed that make a light run"
    )
    light_minutes: float = number(
        10.0, "minutes", 0, 1440, "C12", "time between two light runs at least"
    )
    nightly_hour: int = number(
        3, "hour", 0, 23, "D9", "local hour of the nightly run", "consolidation.hour"
    )
    nightly_facts: int = number(
        25,
        "memories",
        1,
        100000,
        "D9",
        "new memories that make a nightly run before its hour",
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
        "age from which what engram did alone leaves the logs",
    )
    log_share: float = number(
        0.1,
        "share",
        0,
        1,
        "house",
        "part of a log that has to be that old before it is written",
    )
    topics: int = number(50, "terms", 1, 1000, "C20", "terms in the list of topics")
    topic_chars: int = number(
        3,
        "characters",
        1,
        50,
        "C20",
        "letters a term has at least, in a script with blanks",
    )
    look_seconds: float = number(
        60.0,
        "seconds",
        0.05,
        3600,
        "model",
        "time after which the daemon looks what is due",
    )
    rounds: int = number(
        4,
        "times",
        1,
        100,
        "X24",
        "times that the answers of a model may lead to further questions",
    )
    questions: int = number(
        40, "questions", 0, 10000, "X24", "most that a model is asked in each of them"
    )
    patience_days: float = number(
        14.0,
        "days",
        0,
        365,
        "X24",
        "longest wait of a question that a run by the clock asks with others",
    )
    patience: int = number(
        10,
        "questions",
        1,
        1000,
        "X24",
        "questions of a task that do not wait for more",
    )
    answers: int = number(
        5000,
        "answers",
        1,
        1000000,
        "X24",
        "answers that are kept, so that nothing is asked twice",
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
        "memories that a run may end, merge or put away without asking, at least",
    )
    hold_ended_share: float = number(
        0.02, "share", 0, 1, "model", "part of the active memories that it may"
    )
    hold_rewritten: int = number(
        50,
        "notes",
        0,
        1000000,
        "model",
        "notes that it may rewrite without asking, at least",
    )
    hold_rewritten_share: float = number(
        0.05, "share", 0, 1, "model", "part of all notes that it may"
    )
    proposed: int = number(
        20,
        "notes",
        0,
        10000,
        "model",
        "notes that engram did not write whose end one note in `review/` proposes",
    )
    history_bytes: int = number(
        67108864,
        "bytes",
        65536,
        17179869184,
        "X6",
        "what is kept outside the vault to take runs back",
    )


@dataclass(frozen=True, slots=True)
class ProfilePolicy:
    """What is told of people, things and the user from memories (rows B11, B14, C14,
    C15, C19, D9).
    """

    entities: int = number(
        10, "entities", 0, 1000, "C14", "descriptions that are made in one run"
    )
    recent_days: float = number(
        21.0,
        "days",
        0,
        3650,
        "B14",
        "time since a mention or recall within which one is made",
    )
    lazy: int = number(
        0,
        "switch",
        0,
        1,
        "B14",
        "1: one is made only after a recall that followed the last mention",
        "describe.lazy",
    )
    together: int = number(
        10, "memories", 1, 100, "B14", "memories that one question to a model holds"
    )
    beside: int = number(
        3,
        "memories",
        1,
        100,
        "B11",
        "memories that a sentence on one relation rests on, at most",
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
        "memories about an entity from which it has a card",
    )
    card_words: int = number(400, "words", 10, 10000, "D9", "longest card")
    profile_lines: int = number(60, "lines", 10, 100000, "C15", "longest `profile.md`")
    covered_chars: int = number(
        20,
        "characters",
        0,
        1000,
        "C15",
        "length from which a line may be part of another",
    )
    covered_share: float = number(
        0.6,
        "share",
        0,
        1,
        "C15",
        "part of a line from which the other says nothing more",
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
        15000, "bytes", 100, 1000000, "C19", "size at which nothing is added to it"
    )
    bridge_memories: int = number(
        3,
        "memories",
        1,
        100,
        "D9",
        "memories about an entity from which it may be bridged",
    )
    bridge_words: int = number(
        2,
        "words",
        1,
        100,
        "D9",
        "telling words that the memories about two have in common",
    )
    bridge_spread: int = number(
        5,
        "entities",
        2,
        1000,
        "D9",
        "entities with which a telling word stands, at most",
    )
    bridges: int = number(
        5, "pairs", 0, 1000, "D9", "pairs that are looked at in one day"
    )
    bridge_confidence: float = number(
        0.6, "share", 0, 1, "D9", "confidence of a bridge"
    )
    story_sources: int = number(
        5, "conversations", 1, 1000, "B1", "conversations that make a storyline"
    )
    story_days: int = number(
        3, "days", 1, 1000, "B1", "days on which they were, at least"
    )
    story_span_days: float = number(
        3.0, "days", 0, 3650, "B1", "stretch that is longer than this"
    )
    story_gap_days: float = number(
        30.0, "days", 1, 3650, "B1", "silence after which another storyline begins"
    )
    stories: int = number(100, "storylines", 0, 100000, "B1", "storylines of a vault")
    macro_stories: int = number(
        2, "storylines", 2, 1000, "B1", "storylines of one entity that make a macro"
    )
    macro_days: float = number(
        30.0, "days", 0, 36500, "B1", "stretch that they cover, at least"
    )
