"""Numbers for search: words, vectors and the answer."""

from __future__ import annotations

from dataclasses import dataclass

from engram.core.policy.number import number


@dataclass(frozen=True, slots=True)
class LexicalPolicy:
    """Lexical scoring of turns, facts and notes (design of recall).

    Shares are relative to a unit's own score.
    """

    k1: float = number(0.9, "1", 0, 5, "recall", "term frequency saturation")
    b: float = number(0.75, "1", 0, 1, "recall", "length normalisation")
    epsilon: float = number(
        0.25, "1", 0, 1, "recall", "share of the average idf for the most common words"
    )
    least_idf: float = number(0.25, "1", -100, 10, "recall", "least idf of a word")
    short_words: int = number(
        20,
        "words",
        0,
        1000,
        "recall",
        "length below which a shorter unit gains nothing",
    )
    date: float = number(
        0.5, "words", 0, 10, "recall", "weight of a word of the unit's date"
    )
    back: float = number(
        0.5, "share", 0, 10, "recall", "weight of the words of the preceding turn"
    )
    forward: float = number(
        0.35, "share", 0, 10, "recall", "weight of the words of the following turn"
    )
    radius: int = number(
        3,
        "turns",
        0,
        10,
        "recall",
        "turns on either side in the window; weights fall with distance",
    )
    neighbour_words: int = number(
        9,
        "words",
        1,
        1000,
        "recall",
        "length from which a neighbour does not gain by its length",
    )
    answer: float = number(
        1.0, "share", 0, 10, "recall", "gain of the preceding turn if it is a question"
    )
    session: float = number(
        0.3, "share", 0, 10, "recall", "weight of the evidence in the session"
    )
    speaker: float = number(
        0.4,
        "share",
        0,
        10,
        "recall",
        "gain of a turn of a speaker whom the question names",
    )
    role: float = number(
        0.4,
        "share",
        0,
        10,
        "recall",
        "gain of a turn of the role that the question is about",
    )
    when: float = number(
        0.3,
        "share",
        0,
        10,
        "recall",
        "gain of words for time if the question asks for a time",
    )
    counted: float = number(
        0.2,
        "share",
        0,
        10,
        "recall",
        "gain of numbers if the question asks for a number",
    )
    telling: float = number(
        0.2,
        "share",
        0,
        10,
        "recall",
        "gain of users' statements about themselves if the question is about them",
    )
    span: float = number(
        0.6,
        "share",
        0,
        10,
        "recall",
        "gain inside the time that the question names, as a share of the best score",
    )
    question: float = number(
        0.15, "share", 0, 1, "recall", "loss of a turn that is a question"
    )
    faint: float = number(
        0.3,
        "share",
        0,
        1,
        "recall",
        "weight of words that belong to the form of the question",
    )
    akin: float = number(0.25, "share", 0, 1, "recall", "weight of a synonym")
    postings: int = number(
        10000,
        "postings",
        100,
        10000000,
        "recall",
        "postings that are candidates, rare words first",
    )


@dataclass(frozen=True, slots=True)
class VectorPolicy:
    """Embeddings, and their weight in recall.

    (Rows A6, A14, A17; design of recall.)
    """

    texts: int = number(
        64, "texts", 1, 2048, "interfaces", "texts that one call embeds"
    )
    chars: int = number(
        2000, "characters", 50, 100000, "recall", "part of a text that is embedded"
    )
    sentences: int = number(
        8, "sentences", 0, 100, "recall", "first sentences with a vector of their own"
    )
    tokens: int = number(
        96, "tokens", 8, 512, "A14", "part of a text that a model in process reads"
    )
    least_chars: int = number(
        250,
        "characters",
        10,
        100000,
        "recall",
        "length to which a text that is too long is shortened",
    )
    most_dimension: int = number(
        8192, "numbers", 1, 100000, "recall", "greatest dimension that is accepted"
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
        "time without vectors after a question could not be embedded",
    )
    budget_share: float = number(
        0.5,
        "share",
        0,
        1,
        "X24",
        "share of the day's calls and tokens for embeddings",
    )
    enough: float = number(
        0.5,
        "share",
        0,
        1,
        "recall",
        "share of the units with a vector from which vectors count",
    )
    weight: float = number(
        0.35,
        "share",
        0,
        0.99,
        "recall",
        "weight of vectors against words",
    )
    back: float = number(
        0.5, "share", 0, 10, "recall", "weight of the cosine of the preceding turn"
    )
    forward: float = number(
        0.35, "share", 0, 10, "recall", "weight of the cosine of the following turn"
    )
    session: float = number(
        0.3, "share", 0, 10, "recall", "weight of the best cosine of the session"
    )


@dataclass(frozen=True, slots=True)
class RecallPolicy:
    """The size and the content of an answer (rows X4, X24)."""

    k: int = number(50, "hits", 1, 1000, "E7", "most hits in an answer", "recall.k")
    budget: int = number(
        2000,
        "tokens",
        50,
        100000,
        "E18",
        "most tokens of an answer, including its fence",
        "recall.budget",
    )
    question_characters: int = number(
        16000, "characters", 1000, 1000000, "quality", "part of a question that is used"
    )
    few: int = number(
        10, "hits", 1, 1000, "C23", "hits below which archived memories are added"
    )
    weak: float = number(
        0.3,
        "share",
        0,
        1,
        "recall",
        "share of the best score below which a unit is left out",
    )
    hit_tokens: int = number(
        300,
        "tokens",
        20,
        100000,
        "recall",
        "tokens of a long hit as long as further hits need theirs",
    )
    assistant_tokens: int = number(
        30,
        "tokens",
        20,
        100000,
        "recall",
        "the same for an assistant's words, unless the question asks for them",
    )
    several_share: float = number(
        0.7,
        "share",
        0,
        1,
        "recall",
        "share of the least score that is enough for such a question",
    )
    milliseconds: int = number(
        3000,
        "milliseconds",
        1,
        60000,
        "X24",
        "time after which an answer consists of the hits so far",
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
        4.0, "characters", 1, 10, "X24", "estimated length of a token"
    )
    user_tokens: int = number(
        200, "tokens", 0, 10000, "E18", "most tokens about the user in a context"
    )
    user_read: int = number(
        3000,
        "facts",
        10,
        1000000,
        "E18",
        "facts about the user that are considered, best first",
    )
    user_each: int = number(
        8, "facts", 1, 1000, "E18", "facts on one attribute that are considered"
    )
    foundation: int = number(
        20, "memories", 0, 1000, "E4", "latest pinned memories in a context"
    )
    cards: int = number(
        3, "entities", 0, 100, "E18", "named people and things that a context describes"
    )
    card_lines: int = number(
        4, "lines", 1, 100, "E18", "lines on each of them in a context"
    )
    hit_cards: int = number(
        5, "entities", 0, 100, "E8", "entities of the hits with their own line"
    )
    hit_card_facts: int = number(
        3, "facts", 1, 100, "E8", "facts in such a line in a context"
    )
    card_importance: float = number(
        0.7, "1", 0, 1, "E8", "importance from which a fact is in such a line"
    )
    card_share: float = number(
        0.1, "share", 0, 1, "E8", "share of the remaining tokens for such lines"
    )
    least_tokens: int = number(
        30,
        "tokens",
        1,
        1000,
        "recall",
        "tokens below which a shortened unit is left out",
    )
    insight: float = number(
        0.5, "share", 0, 1, "A16", "share of its score for an insight of another system"
    )
    floor: float = number(
        0.0,
        "share",
        0,
        1,
        "recall",
        "share of a question that a hit exceeds by its own words or meaning",
    )
    fits: float = number(
        0.35,
        "share",
        0,
        1,
        "recall",
        "the same for the best hit of an answer, else the answer says that nothing fits well",
    )
    answers: float = number(
        1.0,
        "share",
        0,
        10,
        "recall",
        "gain of a fact with the value that the question asks for, such as a home",
    )
    leading: int = number(
        10, "hits", 1, 100, "recall", "first hits of which the newest is shown first"
    )
    topic: float = number(
        0.8,
        "share",
        0,
        1,
        "recall",
        "share of the best score from which a hit is on the topic of the best one",
    )
    context_facts: int = number(
        8, "facts", 0, 1000, "A29", "facts about the question in a context"
    )
    context_episodes: int = number(
        5,
        "units",
        0,
        1000,
        "A29",
        "turns and notes on conversations about the question in a context",
    )
    quota_rival: float = number(
        0.5,
        "share",
        0,
        1,
        "A29",
        "share of the score of a unit over quota from which another replaces it",
    )
    source_share: float = number(
        0.3,
        "share",
        0,
        1,
        "X27",
        "share of the slots for one external source, and for the assistant",
    )
    rival: float = number(
        0.9,
        "share",
        0,
        1,
        "X27",
        "share of the score of an import over quota from which another replaces it",
    )
