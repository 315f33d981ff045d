"""Numbers for intake: buffer, signals, extraction, models and the journal."""

from __future__ import annotations

from dataclasses import dataclass

from engram.core.policy.number import number


@dataclass(frozen=True, slots=True)
class BufferPolicy:
    """The extraction of buffered turns (row C2)."""

    turns: int = number(
        5,
        "turns",
        1,
        200,
        "C2",
        "waiting turns of one session that make a batch",
        "buffer.turns",
    )
    minutes: float = number(
        15.0,
        "minutes",
        0.01,
        1440,
        "C2",
        "age of the oldest waiting turn from which a batch is due",
        "buffer.minutes",
    )
    reply_seconds: float = number(
        20.0,
        "seconds",
        0,
        600,
        "C2",
        "longest wait of an urgent turn for its reply, with a model",
    )
    batch_turns: int = number(
        20,
        "turns",
        1,
        200,
        "C2",
        "most turns extracted at once, and added to a box at once",
    )
    rules_turns: int = number(
        100,
        "turns",
        1,
        500,
        "quality",
        "most turns extracted at once without a model",
    )
    session_gap_minutes: float = number(
        30.0,
        "minutes",
        1,
        1440,
        "E10",
        "silence after which the next turn opens a new session file",
    )
    edit_hours: float = number(
        24.0,
        "hours",
        0,
        100000,
        "X2",
        "longest time after which another text with the same id replaces a turn",
    )
    session_turns: int = number(
        500,
        "turns",
        10,
        10000,
        "vault",
        "turns after which a conversation continues in a new session file",
    )
    session_bytes: int = number(
        1048576,
        "bytes",
        4096,
        1073741824,
        "vault",
        "size after which a conversation continues in a new session file",
    )
    retry_seconds: float = number(
        10.0,
        "seconds",
        0,
        600,
        "A8",
        "age of the last turns of a session that a request without ids may repeat",
    )
    conversations: int = number(
        1000,
        "conversations",
        1,
        1000000,
        "quality",
        "conversations whose files are cached",
    )


@dataclass(frozen=True, slots=True)
class SignalPolicy:
    """The signal scan (row C1)."""

    scan_chars: int = number(
        32768, "characters", 1024, 1048576, "quality", "part of a text that is scanned"
    )
    medium_hits: int = number(
        2, "classes", 1, 10, "C1", "medium classes that give the level medium"
    )


@dataclass(frozen=True, slots=True)
class ExtractionPolicy:
    """The limits of an extractor (rows C3, C4, X17)."""

    max_facts: int = number(12, "facts", 1, 100, "C3", "facts accepted from one batch")
    max_entities: int = number(
        6, "entities", 1, 50, "C3", "entities accepted for one fact"
    )
    max_relations: int = number(
        5,
        "relations",
        0,
        50,
        "B1",
        "relations between entities accepted from one batch",
    )
    turn_chars: int = number(
        4000, "characters", 200, 100000, "C3", "part of a turn in the prompt"
    )
    known: int = number(
        20, "facts", 0, 100, "A9", "known facts in the prompt of an extraction"
    )
    known_chars: int = number(
        240, "characters", 50, 2000, "A9", "part of a known fact in the prompt"
    )
    known_names: int = number(
        30, "names", 0, 200, "A9", "known names in the prompt of an extraction"
    )
    before: int = number(
        6, "turns", 0, 50, "A9", "preceding turns in the prompt of an extraction"
    )
    before_chars: int = number(
        400, "characters", 50, 4000, "A9", "part of a preceding turn in the prompt"
    )
    min_chars: int = number(
        40, "characters", 0, 1000, "C3", "user text below which no model is called"
    )
    fact_chars: int = number(1000, "characters", 50, 10000, "C3", "longest statement")
    default_confidence: float = number(
        0.8, "share", 0, 1, "C4", "confidence if the model gives none"
    )
    explicit: float = number(
        0.95, "share", 0, 1, "C4", "confidence from which a fact is explicit"
    )
    implied: float = number(
        0.70, "share", 0, 1, "C4", "confidence from which a fact is implied"
    )
    inferred: float = number(
        0.40,
        "share",
        0,
        1,
        "C4",
        "confidence from which a fact is inferred; speculative below",
    )
    rules_confidence: float = number(
        0.6, "share", 0, 1, "A12", "greatest confidence of the offline rules"
    )
    rules_probable: float = number(
        0.85, "share", 0, 1, "A12", "share of it for a pattern with known exceptions"
    )
    rules_weak: float = number(
        0.7, "share", 0, 1, "A12", "share of it for a pattern with open text"
    )
    rules_other: float = number(
        0.85,
        "share",
        0,
        1,
        "A12",
        "share of it for statements of a second speaker about themselves",
    )
    rules_turn: int = number(
        1500,
        "characters",
        100,
        100000,
        "A12",
        "length above which a turn counts as pasted text",
    )
    rules_sentence: int = number(
        400,
        "characters",
        40,
        4000,
        "A12",
        "longest sentence that the offline rules parse",
    )
    rules_before: int = number(
        20,
        "turns",
        0,
        500,
        "X2",
        "turns before a batch that the offline rules use as context",
    )
    speculative_days: float = number(
        30.0, "days", 1, 3650, "C17", "lifetime of an unconfirmed speculative fact"
    )
    week_days: float = number(
        7.0, "days", 1, 3650, "B19", "lifetime of a fact that holds for a week"
    )
    month_days: float = number(
        30.0, "days", 1, 3650, "B19", "lifetime of a fact that holds for a month"
    )
    year_days: float = number(
        365.0, "days", 1, 3650, "B19", "lifetime of a fact that holds for a year"
    )


@dataclass(frozen=True, slots=True)
class ImportancePolicy:
    """Local importance (row C10)."""

    base: float = number(0.5, "share", 0, 1, "C10", "initial score")
    trivial: float = number(
        0.1, "share", 0, 1, "C10", "score of greetings, thanks and laughter"
    )
    trivial_chars: int = number(
        10, "characters", 0, 100, "C10", "length up to which text is trivial"
    )
    critical_marker: float = number(
        0.20, "share", 0, 1, "C10", "gain for a critical marker"
    )
    high_marker: float = number(0.12, "share", 0, 1, "C10", "gain for a high marker")
    hedge: float = number(-0.15, "share", -1, 0, "C10", "loss for a hedge")
    long_chars: int = number(
        200, "characters", 1, 10000, "C10", "length from which it adds to the score"
    )
    long_gain: float = number(0.1, "share", 0, 1, "C10", "greatest gain by length")
    long_step: float = number(
        1000.0, "characters", 1, 100000, "C10", "further characters for a gain of 1"
    )
    first_person: float = number(
        0.05, "share", 0, 1, "C10", "gain for the first person"
    )
    specifics: float = number(
        0.03, "share", 0, 1, "C10", "gain for digits and specifics"
    )
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
    sign_width: float = number(
        4.0,
        "characters",
        1,
        10,
        "X13",
        "characters that one CJK sign counts as",
    )


@dataclass(frozen=True, slots=True)
class ModelPolicy:
    """Requests to a model (rows X24, A2; interfaces)."""

    temperature: float = number(
        0.3, "temperature", 0, 2, "A2", "temperature of extractions"
    )
    timeout_seconds: float = number(
        90.0,
        "seconds",
        0.1,
        3600,
        "interfaces",
        "longest wait for one reply",
        "model.timeout",
    )
    re_asks: int = number(
        1,
        "times",
        0,
        5,
        "interfaces",
        "repetitions of a question after an invalid reply, with the error",
    )
    max_reply_chars: int = number(
        200000,
        "characters",
        1000,
        10000000,
        "quality",
        "longest reply that is accepted",
    )
    calls_per_day: int = number(
        2000,
        "calls",
        0,
        1000000,
        "X24",
        "model calls in one day",
        "model.calls_per_day",
    )
    small_statements: int = number(
        3,
        "statements",
        1,
        1000,
        "B14",
        "statements from which a description needs the large model",
    )
    tokens_per_day: int = number(
        2000000,
        "tokens",
        0,
        1000000000,
        "X24",
        "model tokens in one day",
        "model.tokens_per_day",
    )
    together: int = number(
        10, "questions", 1, 50, "B14", "questions of one task sent in one call"
    )
    chars_per_token: float = number(
        4.0,
        "characters",
        1,
        10,
        "X24",
        "estimated length of a token if a server reports no usage",
    )
    max_tags: int = number(6, "tags", 0, 50, "C3", "tags accepted for one fact")
    name_chars: int = number(
        80, "characters", 10, 1000, "C3", "longest name of an entity, tag or speaker"
    )
    attempts: int = number(
        6,
        "times",
        1,
        100,
        "interfaces",
        "attempts of one batch before it is a dead letter",
    )
    retry_seconds: float = number(
        30.0,
        "seconds",
        0.01,
        86400,
        "interfaces",
        "first wait, which doubles with each attempt",
    )
    retry_most_seconds: float = number(
        3600.0, "seconds", 1, 86400, "interfaces", "longest wait between attempts"
    )


@dataclass(frozen=True, slots=True)
class JournalPolicy:
    """The durable turn journal (design of quality)."""

    segment_bytes: int = number(
        4194304,
        "bytes",
        4096,
        1073741824,
        "quality",
        "size at which a segment is closed",
    )
    turn_bytes: int = number(
        262144, "bytes", 1024, 16777216, "quality", "largest turn that is accepted"
    )
    queue_turns: int = number(
        20000,
        "turns",
        10,
        1000000,
        "interfaces",
        "unfiled turns before 429",
        "buffer.queue",
    )
    gather_seconds: float = number(
        0.02, "seconds", 0, 1, "quality", "longest wait of a sync for further callers"
    )
