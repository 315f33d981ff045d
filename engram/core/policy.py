"""Every number, with its default, unit, range, source row and meaning.

`policy.toml` has a row for each number, and one frozen dataclass for each group of them
is here. `rows()` lists them for `engram policy`; a number with a `key` may be set in
the vault's `engram.toml` under that name.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import Field

TABLE: Mapping[str, Mapping[str, list[Any]]] = tomllib.loads(
    resources.files(__package__).joinpath("policy.toml").read_text("utf-8")
)
"""The rows by group and name; the value comes first, then the fields of PolicyRow."""


class Numbers:
    """A group of numbers as a frozen dataclass, whose defaults are in the table."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

        def __init__(self, **numbers: float) -> None: ...

    def __init_subclass__(cls, group: str) -> None:
        for name, row in TABLE[group].items():
            setattr(cls, name, row[0])
        dataclass(frozen=True)(cls)


class BufferPolicy(Numbers, group="buffer"):
    """The extraction of buffered turns (row C2)."""

    turns: int
    minutes: float
    reply_seconds: float
    batch_turns: int
    rules_turns: int
    session_gap_minutes: float
    edit_hours: float
    session_turns: int
    session_bytes: int
    retry_seconds: float
    conversations: int


class SignalPolicy(Numbers, group="signals"):
    """The signal scan (row C1)."""

    scan_chars: int
    medium_hits: int


class ExtractionPolicy(Numbers, group="extraction"):
    """The limits of an extractor (rows C3, C4, X17)."""

    max_facts: int
    max_entities: int
    max_relations: int
    turn_chars: int
    known: int
    known_chars: int
    known_names: int
    before: int
    before_chars: int
    min_chars: int
    fact_chars: int
    default_confidence: float
    explicit: float
    implied: float
    inferred: float
    rules_confidence: float
    rules_probable: float
    rules_weak: float
    rules_other: float
    rules_turn: int
    rules_sentence: int
    rules_before: int
    speculative_days: float
    week_days: float
    month_days: float
    year_days: float


class ImportancePolicy(Numbers, group="importance"):
    """Local importance (row C10)."""

    base: float
    trivial: float
    trivial_chars: int
    critical_marker: float
    high_marker: float
    hedge: float
    long_chars: int
    long_gain: float
    long_step: float
    first_person: float
    specifics: float
    tag: float
    correction: float
    principle: float
    preference: float
    commitment: float
    decision: float
    relationship: float
    skill: float
    moment: float
    entity: float
    fact: float
    sign_width: float


class DedupPolicy(Numbers, group="ladder"):
    """The effect of a new statement on known facts, and its importance.

    (Rows A7–A11, C9, D2, D3.)
    """

    neighbours: int
    pool: int
    gain: float
    sources: int
    loss: float
    least: float
    episodes: int
    supersessions: int
    judge_temperature: float
    surprise_midpoint: float
    surprise_steepness: float
    surprise_span: float
    surprise_empty: float
    least_importance: float
    mention_gain: float
    weigh_base: float
    weigh_access: float
    weigh_recency: float
    weigh_emotion: float
    weigh_stability: float
    weigh_layer: float
    weigh_trust: float
    weigh_confirmation: float
    weigh_activation: float
    access_step: float
    recency_days: float
    emotion_share: float
    confirmation_step: float
    confirmation_most: float
    layer_episodic: float
    layer_semantic: float
    layer_procedural: float
    least_use_days: float


class RetractionPolicy(Numbers, group="retraction"):
    """The reach of a retraction or of a wish to forget (rows A26, X8)."""

    turns: int
    minutes: float
    most: int


class ModelPolicy(Numbers, group="model"):
    """Requests to a model (rows X24, A2; interfaces)."""

    temperature: float
    timeout_seconds: float
    re_asks: int
    max_reply_chars: int
    calls_per_day: int
    small_statements: int
    tokens_per_day: int
    together: int
    chars_per_token: float
    max_tags: int
    name_chars: int
    attempts: int
    retry_seconds: float
    retry_most_seconds: float


class LinkPolicy(Numbers, group="links"):
    """Links between memories and entities, their fading, and spreading activation.

    (Rows A13, C34.)
    """

    similar: float
    duplicate: float
    most: int
    reinforce: float
    window_days: float
    step: float
    floor: float
    prune: float
    siblings: int
    similar_weight: float
    entity_weight: float
    time_weight: float
    causal_weight: float
    relation_weight: float
    hop: float
    hops: int
    seeds: int
    enough: float
    wave: int
    damping: float
    rounds: int
    inhibition: float
    rivals: int


class LexicalPolicy(Numbers, group="lexical"):
    """Lexical scoring of turns, facts and notes (design of recall).

    Shares are relative to a unit's own score.
    """

    k1: float
    b: float
    epsilon: float
    least_idf: float
    short_words: int
    date: float
    back: float
    forward: float
    radius: int
    neighbour_words: int
    answer: float
    session: float
    speaker: float
    role: float
    when: float
    counted: float
    telling: float
    span: float
    question: float
    faint: float
    akin: float
    postings: int


class VectorPolicy(Numbers, group="vectors"):
    """Embeddings, and their weight in recall.

    (Rows A6, A14, A17; design of recall.)
    """

    texts: int
    chars: int
    sentences: int
    tokens: int
    least_chars: int
    most_dimension: int
    timeout_seconds: float
    question_seconds: float
    rest_seconds: float
    budget_share: float
    enough: float
    weight: float
    back: float
    forward: float
    session: float


class SimilarityPolicy(Numbers, group="similarity"):
    """The seeds' cut points on the nominal scale, and the calibration of a model."""

    floor: float
    episode: float
    link: float
    related: float
    grey: float
    close: float
    same: float
    duplicate: float
    floor_quantile: float
    episode_quantile: float
    link_quantile: float
    related_quantile: float
    least_pairs: int
    most_facts: int
    most_related: float


class RecallPolicy(Numbers, group="recall"):
    """The size and the content of an answer (rows X4, X24)."""

    k: int
    budget: int
    question_characters: int
    few: int
    weak: float
    hit_tokens: int
    assistant_tokens: int
    several_share: float
    milliseconds: int
    established: float
    well_established: float
    pool: int
    chars_per_token: float
    user_tokens: int
    user_read: int
    user_each: int
    foundation: int
    cards: int
    card_lines: int
    hit_cards: int
    hit_card_facts: int
    card_importance: float
    card_share: float
    least_tokens: int
    insight: float
    floor: float
    fits: float
    answers: float
    leading: int
    topic: float
    context_facts: int
    context_episodes: int
    quota_rival: float
    source_share: float
    rival: float


class ReviewPolicy(Numbers, group="review"):
    """The weight of a correction, and the number of review questions (rows X8, X9)."""

    corrected: float
    questions: int
    days: float


class FilePolicy(Numbers, group="files"):
    """Behaviour towards files and editors."""

    front_matter_bytes: int
    nesting: int
    nodes: int
    note_bytes: int
    quiet_seconds: float
    settle_seconds: float
    settle_most_seconds: float
    vanished_share: float
    vanished_notes: int
    vanished_least: int
    racy_seconds: float
    units: int
    scan_batch: int
    rescan_minutes: float
    look_seconds: float
    look_share: float
    watch_paths: int
    watch_check_seconds: float
    poll_seconds: float
    git_seconds: float
    git_rest_seconds: float
    git_rest_refused_seconds: float


class JournalPolicy(Numbers, group="journal"):
    """The durable turn journal (design of quality)."""

    segment_bytes: int
    turn_bytes: int
    queue_turns: int
    gather_seconds: float


class ServePolicy(Numbers, group="serve"):
    """The daemon and its interfaces (design of interfaces)."""

    body_bytes: int
    proxy_bytes: int
    proxy_milliseconds: int
    proxy_characters: int
    proxy_threads: int
    queue_jobs: int
    workers: int
    stop_seconds: float
    stall_seconds: float
    beat_seconds: float
    silent_seconds: float
    flush_seconds: float
    read_seconds: float
    lock_seconds: float
    lock_look_seconds: float
    head_seconds: float
    body_seconds: float
    linger_seconds: float
    connections: int
    open_vaults: int
    idle_seconds: float
    pool_look_seconds: float
    vault_places: int
    vault_queue: int
    broken_seconds: float
    model_places: int
    places: int


class BoxPolicy(Numbers, group="boxes"):
    """Memory boxes and the traces that link them (rows C31, C32)."""

    overlap: float
    gap_minutes: float
    memories: int
    topics: int
    trace_overlap: float
    trace_days: float
    trace_boxes: int
    kept: int


class EchoPolicy(Numbers, group="echo"):
    """The recognition of recalled text (row X7).

    Two signs of a script without blanks count as one word.
    """

    window: int
    least: int
    shingles: int
    texts: int
    sessions: int


class TrustPolicy(Numbers, group="trust"):
    """The trust in each class of source (row D6)."""

    user: float
    assistant: float
    interaction: float
    ingest: float
    tool: float
    dream: float
    around: int


class LifecyclePolicy(Numbers, group="lifecycle"):
    """The stages of a memory, its archiving, its removal and its tiers."""

    stale_decay: float
    stale_confidence: float
    active_access: int
    core_access: int
    heat: float
    validated: int
    nudge_candidate: float
    nudge_validated: float
    nudge_active: float
    nudge_core: float
    nudge_stale: float
    nudge_archived: float
    nudge_disputed: float
    archive_days: float
    archive_importance: float
    archive_access: int
    archive_retention: float
    archive_salience: float
    prune_confidence: float
    resolved_days: float
    working_minutes: float
    working_access: int
    semantic_importance: float
    semantic_access: int
    tier_confidence: float
    tier_access: float
    tier_recency: float
    tier_importance: float
    tier_feedback: float
    tier_correction: float
    tier_confirmed: float
    tier_disputed: float
    tier_days: float
    tier_cold: float
    tier_hot: float
    float_retention: float
    byte_retention: float
    nibble_retention: float
    clock_jump_hours: float
    clock_agree_minutes: float
    clock_look_seconds: float
    clock_readings: int


class UsagePolicy(Numbers, group="usage"):
    """The log of the use of memories (rows A19, B4)."""

    most_stability: float
    hits: int
    least_relevance: float
    ahead_hours: float
    superseded_share: float
    waiting: int


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


class DecayPolicy(Numbers, group="decay"):
    """The worth of a memory by time and use (rows A25, B6, C25, D4)."""

    confidence_days: float
    salience_days: float
    retention_days: float
    bend: float
    linear_share: float
    doubt: float
    no_fading_confidence: float
    late_filing_days: float
    gain_per_recall: float
    most_use: float
    gain: float
    gain_relevance: float
    revival: float
    stability: float
    gradient_gain: float
    gradient_loss: float
    least_gradient: float
    most_gradient: float
    explicit: float
    implied: float
    inferred: float
    speculative: float
    often: int
    recency_days: float
    heat_confidence: float
    heat_access: float
    heat_recency: float
    heat_importance: float
    heat_feedback: float
    heat_disputed: float

    @property
    def curve(self) -> Curve:
        """The curve of retention."""
        return Curve(self.bend, self.linear_share)


class ConsolidationPolicy(Numbers, group="consolidation"):
    """Maintenance runs, their logs and their undo history."""

    gives_way: int
    nightly_hour: int
    weekly_day: int
    weekly_hour: int
    log_days: float
    log_share: float
    topics: int
    topic_chars: int
    look_seconds: float
    rounds: int
    questions: int
    patience_days: float
    patience: int
    answers: int
    together: int
    hold_ended: int
    hold_ended_share: float
    hold_rewritten: int
    hold_rewritten_share: float
    proposed: int
    history_bytes: int


class InsightPolicy(Numbers, group="insight"):
    """Merging, comparing, folding, generalising and checking of memories.

    (Rows A21–A23, A28, B15, C12, D9, E17.)
    """

    reflected: int
    merges: int
    contradictions: int
    newest: int
    least_memories: int
    compared: int
    verdicts: int
    sure: float
    scanned: int
    cluster: int
    fold: int
    fold_hours: float
    fold_new: int
    fold_seconds: float
    fold_days: float
    fold_importance: float
    folded_importance: float
    runs: int
    shown: int
    characters: int
    principle_sources: int
    principle_confidence: float
    principle_stability: float
    ripe_days: float
    ripe_salience: float
    ripe_access: int
    overlapping: int
    group_gap_days: float
    insights: int
    probes: int
    probe_days: float
    probe_loss: float
    probe_least: float
    beside: int
    drift_warning_days: float
    drift_error_days: float
    drift_bytes: int


class ActionPolicy(Numbers, group="actions"):
    """The rulings on actions, and the guidelines from the action log.

    (Rows C21, C22, C30.)
    """

    disabled: tuple[str, ...] = ()
    keep_importance: float
    least_confidence: float
    events: int
    samples: int
    guides: int
    by_outcome: float
    by_quality: float
    most_delta: float
    high: float
    medium: float
    prior_events: int
    prior_days: float
    failed: float
    denied: float
    deferred: float
    skipped: float
    stored: float
    used: float
    discarded: float


class SessionPolicy(Numbers, group="talks"):
    """Summaries of conversations (rows A27, E9–E12)."""

    rolling_turns: int
    rolling_model_turns: int
    rolling_each: int
    rolling_chars: int
    turn_chars: int
    session_each: int
    line_chars: int
    items: int
    item_chars: int
    tone_chars: int
    episode_users: int
    episodes_each: int
    session_model_turns: int
    episode_least: int
    episode_turns: int
    episode_chars: int
    episode_cover: float
    last_chars: int
    spine_turns: int
    spine_items: int
    spine_chars: int
    spine_talks: int
    together: int
    kept: int


class TodoPolicy(Numbers, group="todos"):
    """The settlement and the display of promises (row E16)."""

    overlap: float
    recurring_hours: float
    win_hours: float
    past_days: float
    commitments: int
    habits: int
    frictions: int
    threads: int


class ProfilePolicy(Numbers, group="portraits"):
    """Descriptions of people, things and the user.

    (Rows B11, B14, C14, C15, C19, D9.)
    """

    entities: int
    recent_days: float
    lazy: int
    together: int
    beside: int
    described: int
    card_memories: int
    card_words: int
    profile_lines: int
    identity_chars: int
    identity_bytes: int
    bridge_memories: int
    bridge_words: int
    bridge_spread: int
    bridges: int
    bridge_confidence: float
    story_sources: int
    story_days: int
    story_span_days: float
    story_gap_days: float
    stories: int
    macro_stories: int
    macro_days: float


@dataclass(frozen=True, slots=True)
class Policy:
    """All groups of numbers together, passed through the program as one value."""

    buffer: BufferPolicy = field(default_factory=BufferPolicy)
    signals: SignalPolicy = field(default_factory=SignalPolicy)
    extraction: ExtractionPolicy = field(default_factory=ExtractionPolicy)
    importance: ImportancePolicy = field(default_factory=ImportancePolicy)
    ladder: DedupPolicy = field(default_factory=DedupPolicy)
    retraction: RetractionPolicy = field(default_factory=RetractionPolicy)
    model: ModelPolicy = field(default_factory=ModelPolicy)
    links: LinkPolicy = field(default_factory=LinkPolicy)
    lexical: LexicalPolicy = field(default_factory=LexicalPolicy)
    vectors: VectorPolicy = field(default_factory=VectorPolicy)
    similarity: SimilarityPolicy = field(default_factory=SimilarityPolicy)
    recall: RecallPolicy = field(default_factory=RecallPolicy)
    review: ReviewPolicy = field(default_factory=ReviewPolicy)
    files: FilePolicy = field(default_factory=FilePolicy)
    journal: JournalPolicy = field(default_factory=JournalPolicy)
    serve: ServePolicy = field(default_factory=ServePolicy)
    boxes: BoxPolicy = field(default_factory=BoxPolicy)
    echo: EchoPolicy = field(default_factory=EchoPolicy)
    trust: TrustPolicy = field(default_factory=TrustPolicy)
    lifecycle: LifecyclePolicy = field(default_factory=LifecyclePolicy)
    usage: UsagePolicy = field(default_factory=UsagePolicy)
    decay: DecayPolicy = field(default_factory=DecayPolicy)
    consolidation: ConsolidationPolicy = field(default_factory=ConsolidationPolicy)
    insight: InsightPolicy = field(default_factory=InsightPolicy)
    actions: ActionPolicy = field(default_factory=ActionPolicy)
    talks: SessionPolicy = field(default_factory=SessionPolicy)
    todos: TodoPolicy = field(default_factory=TodoPolicy)
    portraits: ProfilePolicy = field(default_factory=ProfilePolicy)


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One line of the table: the place of the number, its meaning and its source."""

    concern: str
    name: str
    value: float
    unit: str
    low: float
    high: float
    source: str
    meaning: str
    key: str = ""


def rows(policy: Policy) -> list[PolicyRow]:
    """Return every number of `policy`, in the order of the table."""
    return [
        PolicyRow(concern, name, getattr(getattr(policy, concern), name), *row[1:])
        for concern, numbers in TABLE.items()
        for name, row in numbers.items()
    ]


def with_settings(policy: Policy, settings: dict[str, float]) -> Policy:
    """Return `policy` with the numbers whose `key` is in `settings`.

    Values get the types of the defaults.
    """
    for row in rows(policy):
        if row.key in settings:
            value = type(row.value)(settings[row.key])
            concern = replace(getattr(policy, row.concern), **{row.name: value})
            policy = replace(policy, **{row.concern: concern})
    return policy
