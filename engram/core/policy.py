"""Every number, with its default, unit, range, source row and meaning.

One frozen dataclass per concern. `rows()` lists them for `engram policy`; a number marked `key` may be
set in the vault's `engram.toml` under that name. A source row names a capability row (`C2`) or a section
of the design (`vault`, `quality`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: where the number stands, what it is and where it comes from."""

    concern: str
    name: str
    value: float
    unit: str
    low: float
    high: float
    source: str
    meaning: str
    key: str


def number(default: float, unit: str, low: float, high: float, source: str, meaning: str, key: str = "") -> Any:
    """A dataclass field that carries its own row."""
    return field(
        default=default,
        metadata={"unit": unit, "low": low, "high": high, "source": source, "meaning": meaning, "key": key},
    )


@dataclass(frozen=True, slots=True)
class BufferPolicy:
    """When buffered turns are distilled (row C2)."""

    turns: int = number(5, "turns", 1, 200, "C2", "waiting turns of one session that make a batch", "buffer.turns")
    minutes: float = number(
        15.0, "minutes", 0.01, 1440, "C2", "age of the oldest waiting turn that makes a batch", "buffer.minutes"
    )
    batch_turns: int = number(20, "turns", 1, 200, "C2", "most turns distilled at once")
    session_gap_minutes: float = number(
        30.0, "minutes", 1, 1440, "E10", "silence after which the next turn opens a new session file"
    )
    session_turns: int = number(500, "turns", 10, 10000, "vault", "turns after which a session file is continued")
    session_bytes: int = number(
        1048576, "bytes", 4096, 1073741824, "vault", "text after which a session file is continued"
    )


@dataclass(frozen=True, slots=True)
class SignalPolicy:
    """The signal scan (row C1)."""

    scan_chars: int = number(32768, "characters", 1024, 1048576, "quality", "input a scan looks at")
    medium_hits: int = number(2, "classes", 1, 10, "C1", "medium classes that make the level medium")


@dataclass(frozen=True, slots=True)
class ExtractionPolicy:
    """What an extractor may propose (rows C3, C4, X17)."""

    max_facts: int = number(12, "facts", 1, 100, "C3", "facts accepted from one batch")
    max_entities: int = number(6, "entities", 1, 50, "C3", "entities accepted for one fact")
    turn_chars: int = number(4000, "characters", 200, 100000, "C3", "part of a turn a model is shown")
    min_chars: int = number(40, "characters", 0, 1000, "C3", "user text below which a model is not asked")
    fact_chars: int = number(1000, "characters", 50, 10000, "C3", "longest statement")
    default_confidence: float = number(0.8, "share", 0, 1, "C4", "confidence where the model gives none")
    explicit: float = number(0.95, "share", 0, 1, "C4", "confidence from which a fact is explicit")
    implied: float = number(0.70, "share", 0, 1, "C4", "confidence from which a fact is implied")
    inferred: float = number(0.40, "share", 0, 1, "C4", "confidence from which it is inferred; speculative below")
    rules_confidence: float = number(0.6, "share", 0, 1, "A12", "most the offline rules may claim")
    rules_probable: float = number(0.85, "share", 0, 1, "A12", "share of it for a pattern with known exceptions")
    rules_weak: float = number(0.7, "share", 0, 1, "A12", "share of it for a pattern that reads open text")
    rules_other: float = number(0.85, "share", 0, 1, "A12", "share of it for what a second speaker says of itself")
    rules_turn: int = number(1500, "characters", 100, 100000, "A12", "longer turns count as pasted text")
    rules_sentence: int = number(400, "characters", 40, 4000, "A12", "longest sentence the offline rules read")
    speculative_days: float = number(30.0, "days", 1, 3650, "C17", "life of an unconfirmed speculative fact")


@dataclass(frozen=True, slots=True)
class ImportancePolicy:
    """Local importance (row C10)."""

    base: float = number(0.5, "share", 0, 1, "C10", "where the score starts")
    trivial: float = number(0.1, "share", 0, 1, "C10", "score of greetings, thanks and laughter")
    trivial_chars: int = number(10, "characters", 0, 100, "C10", "length up to which text is trivial")
    critical_marker: float = number(0.20, "share", 0, 1, "C10", "gain for a critical marker")
    high_marker: float = number(0.12, "share", 0, 1, "C10", "gain for a high marker")
    hedge: float = number(-0.15, "share", -1, 0, "C10", "loss for a hedge")
    long_chars: int = number(200, "characters", 1, 10000, "C10", "length from which detail counts")
    long_gain: float = number(0.1, "share", 0, 1, "C10", "most that length gives")
    long_step: float = number(1000.0, "characters", 1, 100000, "C10", "further characters worth a whole point")
    first_person: float = number(0.05, "share", 0, 1, "C10", "gain for the first person")
    specifics: float = number(0.03, "share", 0, 1, "C10", "gain for digits and specifics")
    tag: float = number(0.05, "share", 0, 1, "C10", "gain for each important tag")
    correction: float = number(0.15, "share", 0, 1, "C10", "gain of a correction")
    principle: float = number(0.12, "share", 0, 1, "C10", "gain of a principle")
    preference: float = number(0.10, "share", 0, 1, "C10", "gain of a preference")
    commitment: float = number(0.10, "share", 0, 1, "C10", "gain of a commitment")
    decision: float = number(0.08, "share", 0, 1, "C10", "gain of a decision")
    relationship: float = number(0.05, "share", 0, 1, "C10", "gain of a relationship")
    skill: float = number(0.05, "share", 0, 1, "C10", "gain of a skill")
    moment: float = number(0.03, "share", 0, 1, "C10", "gain of a moment")
    entity: float = number(0.02, "share", 0, 1, "C10", "gain of an entity")
    fact: float = number(0.0, "share", 0, 1, "C10", "gain of a plain fact")
    critical_level: float = number(0.9, "share", 0, 1, "C10", "importance from which a memory is critical")
    high_level: float = number(0.7, "share", 0, 1, "C10", "importance from which it is high")
    normal_level: float = number(0.4, "share", 0, 1, "C10", "importance from which it is normal")
    low_level: float = number(0.2, "share", 0, 1, "C10", "importance from which it is low; trivial below")
    sign_width: float = number(4.0, "characters", 1, 10, "X13", "letters that one CJK sign counts for in the gate")


@dataclass(frozen=True, slots=True)
class ModelPolicy:
    """How a model is asked (rows X24, A2; interfaces)."""

    temperature: float = number(0.3, "temperature", 0, 2, "A2", "extraction temperature")
    timeout_seconds: float = number(
        90.0, "seconds", 0.1, 3600, "interfaces", "longest wait for one reply", "model.timeout"
    )
    re_asks: int = number(1, "times", 0, 5, "interfaces", "repeats after an invalid reply, quoting the error")
    max_reply_chars: int = number(200000, "characters", 1000, 10000000, "quality", "longest reply that is read")
    calls_per_day: int = number(2000, "calls", 0, 1000000, "X24", "model calls in one day", "model.calls_per_day")
    tokens_per_day: int = number(
        2000000, "tokens", 0, 1000000000, "X24", "model tokens in one day", "model.tokens_per_day"
    )
    chars_per_token: float = number(
        4.0, "characters", 1, 10, "X24", "estimate of a token's length where a server reports no usage"
    )
    max_tags: int = number(6, "tags", 0, 50, "C3", "tags accepted for one fact")
    name_chars: int = number(80, "characters", 10, 1000, "C3", "longest name of an entity, tag or speaker")
    attempts: int = number(6, "times", 1, 100, "interfaces", "tries of one batch before it is a dead letter")
    retry_seconds: float = number(30.0, "seconds", 0.01, 86400, "interfaces", "first wait; doubles with each try")
    retry_most_seconds: float = number(3600.0, "seconds", 1, 86400, "interfaces", "longest wait between tries")


@dataclass(frozen=True, slots=True)
class LexicalPolicy:
    """Lexical scoring of turns, facts and notes (design of recall). Shares are of a unit's own worth."""

    k1: float = number(0.9, "1", 0, 5, "recall", "term frequency saturation")
    b: float = number(0.75, "1", 0, 1, "recall", "length normalisation")
    epsilon: float = number(0.25, "1", 0, 1, "recall", "share of the average idf for the commonest words")
    least_idf: float = number(0.25, "1", -100, 10, "recall", "idf of a word below which it does not fall")
    short_words: int = number(
        20, "words", 0, 1000, "recall", "length up to which a unit gains nothing by being shorter"
    )
    date: float = number(0.5, "words", 0, 10, "recall", "weight of a word of the unit's date")
    back: float = number(0.5, "share", 0, 10, "recall", "weight of the words of the turn before")
    forward: float = number(0.35, "share", 0, 10, "recall", "weight of the words of the turn after")
    radius: int = number(3, "turns", 0, 10, "recall", "how far the window reaches; weights fall with distance")
    neighbour_words: int = number(
        9, "words", 1, 1000, "recall", "a longer neighbour weighs as one of this length would"
    )
    answer: float = number(1.0, "share", 0, 10, "recall", "gain of the turn before when it asks")
    session: float = number(0.3, "share", 0, 10, "recall", "weight of what the session has of the question")
    speaker: float = number(0.4, "share", 0, 10, "recall", "gain of a turn of a speaker that is named")
    role: float = number(0.4, "share", 0, 10, "recall", "gain of a turn of the role that is asked about")
    when: float = number(0.3, "share", 0, 10, "recall", "gain of words for time where the question asks when")
    counted: float = number(0.2, "share", 0, 10, "recall", "gain of numbers where the question asks how many")
    telling: float = number(
        0.2, "share", 0, 10, "recall", "gain of what users say of themselves where the question is about that"
    )
    span: float = number(
        0.6, "share", 0, 10, "recall", "gain inside the time the question names, of the best unit's worth"
    )
    question: float = number(0.15, "share", 0, 1, "recall", "loss of a turn that is a question")
    faint: float = number(0.3, "share", 0, 1, "recall", "weight of words that say how, not what, one asks")
    postings: int = number(
        10000, "postings", 100, 10000000, "recall", "postings that make candidates, rare words first"
    )


@dataclass(frozen=True, slots=True)
class RecallPolicy:
    """What an answer may hold (rows X4, X24)."""

    k: int = number(10, "hits", 1, 1000, "E7", "hits in an answer", "recall.k")
    budget: int = number(1200, "tokens", 50, 100000, "E18", "tokens an answer may cost", "recall.budget")
    pool: int = number(200, "units", 10, 10000, "recall", "candidates that are ranked")
    chars_per_token: float = number(4.0, "characters", 1, 10, "X24", "estimate of a token's length")
    least_tokens: int = number(40, "tokens", 1, 1000, "recall", "cost below which a cut unit says too little")
    facts_share: float = number(0.3, "share", 0, 1, "recall", "part of the places that is kept for facts")
    line_tokens: int = number(12, "tokens", 0, 200, "recall", "cost of a unit's date, speaker and link")


@dataclass(frozen=True, slots=True)
class FilePolicy:
    """Manners towards files and editors (design of the vault)."""

    front_matter_bytes: int = number(65536, "bytes", 1024, 1048576, "vault", "longest front matter that is parsed")
    nesting: int = number(16, "levels", 1, 100, "vault", "deepest front matter that is parsed")
    nodes: int = number(5000, "nodes", 10, 100000, "vault", "most YAML nodes that are parsed")
    note_bytes: int = number(5242880, "bytes", 1024, 1073741824, "vault", "largest note that is read")
    quiet_seconds: float = number(
        60.0, "seconds", 0, 3600, "vault", "rest after a person's edit before we write a note"
    )
    settle_seconds: float = number(0.3, "seconds", 0, 10, "vault", "rest after an event before the file is read")
    settle_most_seconds: float = number(2.0, "seconds", 0, 60, "vault", "longest a busy file is waited for")
    vanished_share: float = number(0.2, "share", 0, 1, "vault", "share of notes gone at once that freezes deletions")
    vanished_notes: int = number(50, "notes", 1, 1000000, "vault", "notes gone at once that freeze deletions")
    vanished_least: int = number(5, "notes", 1, 1000, "vault", "notes gone at once below which a share freezes nothing")
    racy_seconds: float = number(2.0, "seconds", 0, 60, "vault", "age below which a file's times cannot be trusted")
    scan_batch: int = number(500, "files", 1, 100000, "X20", "files a scan reads between two commits")
    rescan_minutes: float = number(60.0, "minutes", 1, 1440, "vault", "time between full rescans")
    watch_paths: int = number(1000, "paths", 1, 1000000, "vault", "changed paths from which all is rescanned")
    watch_check_seconds: float = number(
        2.0, "seconds", 0.05, 3600, "vault", "time between looks for a root gone or back"
    )
    poll_seconds: float = number(5.0, "seconds", 0.05, 3600, "vault", "time between looks where events do not work")


@dataclass(frozen=True, slots=True)
class JournalPolicy:
    """The durable turn journal (design of quality)."""

    segment_bytes: int = number(4194304, "bytes", 4096, 1073741824, "quality", "size at which a segment is closed")
    turn_bytes: int = number(262144, "bytes", 1024, 16777216, "quality", "largest turn that is accepted")
    queue_turns: int = number(20000, "turns", 10, 1000000, "interfaces", "unfiled turns before 429", "buffer.queue")
    gather_seconds: float = number(0.005, "seconds", 0, 1, "quality", "longest a sync waits for a crowd of callers")


@dataclass(frozen=True, slots=True)
class ServePolicy:
    """The daemon and its doors (design of interfaces)."""

    body_bytes: int = number(16777216, "bytes", 1024, 1073741824, "quality", "largest request that is read")
    queue_jobs: int = number(1000, "jobs", 1, 1000000, "interfaces", "jobs waiting for the writer before 429")
    workers: int = number(2, "threads", 1, 64, "interfaces", "batches distilled at once")
    stop_seconds: float = number(20.0, "seconds", 0, 3600, "interfaces", "longest a stop waits for work in hand")
    stall_seconds: float = number(600.0, "seconds", 1, 86400, "interfaces", "job length from which the writer is stuck")


@dataclass(frozen=True, slots=True)
class Policy:
    """All concerns together; the value that travels through the program."""

    buffer: BufferPolicy = BufferPolicy()
    signals: SignalPolicy = SignalPolicy()
    extraction: ExtractionPolicy = ExtractionPolicy()
    importance: ImportancePolicy = ImportancePolicy()
    model: ModelPolicy = ModelPolicy()
    lexical: LexicalPolicy = LexicalPolicy()
    recall: RecallPolicy = RecallPolicy()
    files: FilePolicy = FilePolicy()
    journal: JournalPolicy = JournalPolicy()
    serve: ServePolicy = ServePolicy()


def rows(policy: Policy) -> list[Row]:
    """Every number of `policy`, in the order of the table."""
    return [
        Row(
            concern.name,
            item.name,
            getattr(getattr(policy, concern.name), item.name),
            item.metadata["unit"],
            item.metadata["low"],
            item.metadata["high"],
            item.metadata["source"],
            item.metadata["meaning"],
            item.metadata["key"],
        )
        for concern in fields(policy)
        for item in fields(getattr(policy, concern.name))
    ]


def with_settings(policy: Policy, settings: dict[str, float]) -> Policy:
    """`policy` with the numbers whose `key` is in `settings`; types follow the defaults."""
    for row in rows(policy):
        if row.key in settings:
            value = type(row.value)(settings[row.key])
            concern = replace(getattr(policy, row.concern), **{row.name: value})
            policy = replace(policy, **{row.concern: concern})
    return policy
