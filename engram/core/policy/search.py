"""How memories are found: words, vectors, the answer."""

from __future__ import annotations

from dataclasses import dataclass

from engram.core.policy.number import number


@dataclass(frozen=True, slots=True)
class LexicalPolicy:
    """Lexical scoring of turns, facts and notes (design of recall). Shares are of a
    unit's own worth.
    """

    k1: float = number(0.9, "1", 0, 5, "recall", "term frequency saturation")
    b: float = number(0.75, "1", 0, 1, "recall", "length normalisation")
    epsilon: float = number(
        0.25, "1", 0, 1, "recall", "share of the average idf for the commonest words"
    )
    least_idf: float = number(
        0.25, "1", -100, 10, "recall", "idf of a word below which it does not fall"
    )
    short_words: int = number(
        20,
        "words",
        0,
        1000,
        "recall",
        "length up to which a unit gains nothing by being shorter",
    )
    date: float = number(
        0.5, "words", 0, 10, "recall", "weight of a word of the unit's date"
    )
    back: float = number(
        0.5, "share", 0, 10, "recall", "weight of the words of the turn before"
    )
    forward: float = number(
        0.35, "share", 0, 10, "recall", "weight of the words of the turn after"
    )
    radius: int = number(
        3,
        "turns",
        0,
        10,
        "recall",
        "how far the window reaches; weights fall with distance",
    )
    neighbour_words: int = number(
        9,
        "words",
        1,
        1000,
        "recall",
        "a longer neighbour weighs as one of this length would",
    )
    answer: float = number(
        1.0, "share", 0, 10, "recall", "gain of the turn before when it asks"
    )
    session: float = number(
        0.3, "share", 0, 10, "recall", "weight of what the session has of the question"
    )
    speaker: float = number(
        0.4, "share", 0, 10, "recall", "gain of a turn of a speaker that is named"
    )
    role: float = number(
        0.4, "share", 0, 10, "recall", "gain of a turn of the role that is asked about"
    )
    when: float = number(
        0.3,
        "share",
        0,
        10,
        "recall",
        "gain of words for time where the question asks when",
    )
    counted: float = number(
        0.2,
        "share",
        0,
        10,
        "recall",
        "gain of numbers where the question asks how many",
    )
    telling: float = number(
        0.2,
        "share",
        0,
        10,
        "recall",
        "gain of what users say of themselves where the question is about that",
    )
    span: float = number(
        0.6,
        "share",
        0,
        10,
        "recall",
        "gain inside the time the question names, of the best unit's worth",
    )
    question: float = number(
        0.15, "share", 0, 1, "recall", "loss of a turn that is a question"
    )
    faint: float = number(
        0.3, "share", 0, 1, "recall", "weight of words that say how, not what, one asks"
    )
    akin: float = number(
        0.25, "share", 0, 1, "recall", "weight of a word akin to one that is asked for"
    )
    postings: int = number(
        10000,
        "postings",
        100,
        10000000,
        "recall",
        "postings that make candidates, rare words first",
    )


@dataclass(frozen=True, slots=True)
class VectorPolicy:
    """How text becomes vectors, and what they weigh in recall (rows A6, A14, A17;
    design of recall).
    """

    texts: int = number(
        64, "texts", 1, 2048, "interfaces", "texts embedded by one call"
    )
    chars: int = number(
        2000, "characters", 50, 100000, "recall", "part of a text that is embedded"
    )
    least_chars: int = number(
        250, "characters", 10, 100000, "recall", "to where a text too long is shortened"
    )
    most_dimension: int = number(
        8192, "numbers", 1, 100000, "recall", "longest vector that is accepted"
    )
    timeout_seconds: float = number(
        60.0, "seconds", 0.1, 3600, "interfaces", "longest wait for a batch"
    )
    question_seconds: float = number(
        2.0, "seconds", 0.05, 60, "A14", "longest wait for the vector of a question"
    )
    rest_seconds: float = number(
        30.0,
        "seconds",
        0,
        3600,
        "A14",
        "rest after a question could not be embedded; meanwhile words alone",
    )
    budget_share: float = number(
        0.5,
        "share",
        0,
        1,
        "X24",
        "part of the day's calls and tokens embeddings may use up",
    )
    enough: float = number(
        0.5,
        "share",
        0,
        1,
        "recall",
        "part of the units with a vector from which vectors count",
    )
    weight: float = number(
        0.35,
        "share",
        0,
        0.99,
        "recall",
        "what meaning weighs against words in the mix of scores",
    )
    static_dimension: int = number(
        128, "numbers", 8, 256, "A14", "columns of the table of word vectors in use"
    )
    static_weight: float = number(
        0.2,
        "share",
        0,
        0.99,
        "recall",
        "what the meaning of a table of word vectors weighs against words",
    )
    back: float = number(
        0.5, "share", 0, 10, "recall", "weight of the cosine of the turn before"
    )
    forward: float = number(
        0.35, "share", 0, 10, "recall", "weight of the cosine of the turn after"
    )
    session: float = number(
        0.3, "share", 0, 10, "recall", "weight of the best cosine of the session"
    )


@dataclass(frozen=True, slots=True)
class RecallPolicy:
    """What an answer may hold (rows X4, X24)."""

    k: int = number(50, "hits", 1, 1000, "E7", "most hits in an answer", "recall.k")
    budget: int = number(
        2000,
        "tokens",
        50,
        100000,
        "E18",
        "tokens an answer may cost, with its fence",
        "recall.budget",
    )
    question_characters: int = number(
        16000, "characters", 1000, 1000000, "quality", "part of a question that is read"
    )
    few: int = number(
        10, "hits", 1, 1000, "C23", "hits below which archived memories answer too"
    )
    weak: float = number(
        0.3,
        "share",
        0,
        1,
        "recall",
        "worth beside the best hit below which a unit is left out",
    )
    hit_tokens: int = number(
        300,
        "tokens",
        20,
        100000,
        "recall",
        "tokens of a long hit while others wait for theirs",
    )
    assistant_tokens: int = number(
        60,
        "tokens",
        20,
        100000,
        "recall",
        "the same for the words of an assistant, unless the question asks for them",
    )
    several_tokens: int = number(
        30,
        "tokens",
        20,
        100000,
        "recall",
        "the same where the question lists, counts, orders or compares",
    )
    several_share: float = number(
        0.7,
        "share",
        0,
        1,
        "recall",
        "part of the least worth of a hit that is enough for such a question",
    )
    milliseconds: int = number(
        3000,
        "milliseconds",
        1,
        60000,
        "X24",
        "time after which an answer is what is found",
        "recall.milliseconds",
    )
    established: float = number(
        2.0, "times", 1, 5, "A29", "stability from which a memory is called established"
    )
    well_established: float = number(
        3.0, "times", 1, 5, "A29", "stability from which it is called well-established"
    )
    pool: int = number(200, "units", 10, 10000, "recall", "candidates that are ranked")
    chars_per_token: float = number(
        4.0, "characters", 1, 10, "X24", "estimate of a token's length"
    )
    user_tokens: int = number(
        200, "tokens", 0, 10000, "E18", "most that a context tells about the user"
    )
    user_read: int = number(
        3000, "facts", 10, 1000000, "E18", "facts that this is chosen from, best first"
    )
    user_each: int = number(
        8, "facts", 1, 1000, "E18", "facts on one attribute that it is chosen from"
    )
    foundation: int = number(
        20, "memories", 0, 1000, "E4", "pinned memories in a context, the latest"
    )
    cards: int = number(
        3, "entities", 0, 100, "E18", "named people and things that a context tells of"
    )
    card_lines: int = number(
        4, "lines", 1, 100, "E18", "lines on each of them in a context"
    )
    hit_cards: int = number(
        5, "entities", 0, 100, "E8", "entities of the hits with a line of their own"
    )
    hit_card_facts: int = number(
        3, "facts", 1, 100, "E8", "facts in such a line in a context"
    )
    card_importance: float = number(
        0.7, "1", 0, 1, "E8", "importance from which a fact enters such a line"
    )
    card_share: float = number(
        0.1, "share", 0, 1, "E8", "part of the tokens left that such lines may take"
    )
    least_tokens: int = number(
        30, "tokens", 1, 1000, "recall", "cost below which a cut unit says too little"
    )
    insight: float = number(
        0.5, "share", 0, 1, "A16", "share of its score that a mere insight keeps"
    )
    kept: float = number(
        0.25,
        "share",
        0,
        10,
        "recall",
        "gain of what the user asked to keep or corrected",
    )
    answers: float = number(
        1.0,
        "share",
        0,
        10,
        "recall",
        "gain of what tells the state, as a home, that the question asks for",
    )
    facts_share: float = number(
        0.3, "share", 0, 1, "recall", "part of the places that is kept for facts"
    )
    context_facts: int = number(
        8, "facts", 0, 1000, "A29", "facts that a context tells on the question"
    )
    context_episodes: int = number(
        5,
        "units",
        0,
        1000,
        "A29",
        "turns and notes on conversations that a context tells on the question",
    )
    quota_rival: float = number(
        0.5,
        "share",
        0,
        1,
        "A29",
        "worth beside a unit over its quota from which another kind takes its place",
    )
    source_share: float = number(
        0.3,
        "share",
        0,
        1,
        "X27",
        "part of the places that one source from outside may fill",
    )
    rival: float = number(
        0.9,
        "share",
        0,
        1,
        "X27",
        "worth beside an import over that share from which another takes its place",
    )
