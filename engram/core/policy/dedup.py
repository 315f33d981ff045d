"""What a statement does to what is known: the ladder, ties, boxes, trust, echoes,
review.
"""

from __future__ import annotations

from dataclasses import dataclass

from engram.core.policy.number import number


@dataclass(frozen=True, slots=True)
class DedupPolicy:
    """What a new statement does to what is known, and what it is worth (rows A7–A11,
    C9, D2, D3).
    """

    neighbours: int = number(
        5, "facts", 1, 50, "A7", "nearest active facts that are compared"
    )
    pool: int = number(
        20,
        "facts",
        1,
        1000,
        "A7",
        "facts that share words with a statement, from which these are taken",
    )
    gain: float = number(
        0.1, "share", 0, 1, "A8", "confidence that a reinforcement adds"
    )
    sources: int = number(
        20, "turns", 1, 1000, "A8", "turns that a note names as its sources"
    )
    loss: float = number(
        0.2, "share", 0, 1, "A10", "confidence that a contradiction takes"
    )
    least: float = number(
        0.1, "share", 0, 1, "A10", "confidence that a contradiction leaves"
    )
    episodes: int = number(
        3,
        "sessions",
        1,
        100,
        "A10",
        "sessions behind a fact that a contradiction only weakens",
    )
    supersessions: int = number(
        5, "facts", 0, 100, "quality", "facts that one batch may retire; beyond it asks"
    )
    judge_temperature: float = number(
        0.0, "temperature", 0, 2, "A9", "temperature of the verdict"
    )
    surprise_midpoint: float = number(
        0.35, "distance", 0, 1, "D3", "mean distance at which surprise is one half"
    )
    surprise_steepness: float = number(
        10.0, "1", 0.1, 100, "D3", "how sharply surprise rises there"
    )
    surprise_span: float = number(
        0.6, "share", 0, 2, "D3", "importance between no surprise and full surprise"
    )
    surprise_empty: float = number(
        0.15, "share", 0, 1, "D3", "importance gained in an empty store"
    )
    least_importance: float = number(
        0.05, "share", 0, 1, "D3", "importance that no surprise goes below"
    )
    mention_gain: float = number(
        0.1,
        "share",
        0,
        1,
        "E14",
        "importance for each e-fold of times it was heard again",
    )
    weigh_base: float = number(
        0.25, "share", 0, 1, "D2", "weight of the base importance"
    )
    weigh_access: float = number(
        0.12, "share", 0, 1, "D2", "weight of how often it was recalled"
    )
    weigh_recency: float = number(0.12, "share", 0, 1, "D2", "weight of how lately")
    weigh_emotion: float = number(0.08, "share", 0, 1, "D2", "weight of emotion")
    weigh_stability: float = number(0.08, "share", 0, 1, "D2", "weight of steady use")
    weigh_layer: float = number(0.15, "share", 0, 1, "D2", "weight of the layer")
    weigh_trust: float = number(
        0.10, "share", 0, 1, "D2", "weight of the source's trust"
    )
    weigh_confirmation: float = number(
        0.10, "share", 0, 1, "D2", "weight of confirmations"
    )
    weigh_activation: float = number(
        0.08, "share", 0, 1, "D2", "weight of the ACT-R activation"
    )
    access_step: float = number(
        0.1, "share", 0, 1, "D2", "access for each e-fold of recalls"
    )
    recency_days: float = number(30.0, "days", 1, 3650, "D2", "half-life of recency")
    emotion_share: float = number(0.3, "share", 0, 1, "D2", "most that emotion says")
    confirmation_step: float = number(
        0.05, "share", 0, 1, "D2", "confirmation for each e-fold of confirmations"
    )
    confirmation_most: float = number(
        0.2, "share", 0, 1, "D2", "most that confirmations say"
    )
    layer_episodic: float = number(
        0.1, "share", 0, 1, "D2", "what the episodic layer says"
    )
    layer_semantic: float = number(
        0.3, "share", 0, 1, "D2", "what the semantic layer says"
    )
    layer_procedural: float = number(
        0.2, "share", 0, 1, "D2", "what the procedural layer says"
    )
    least_use_days: float = number(
        0.001, "days", 0.000001, 1, "D2", "age below which a use is no fresher"
    )


@dataclass(frozen=True, slots=True)
class RetractionPolicy:
    """How far a retraction or a wish to forget reaches (rows A26, X8)."""

    turns: int = number(
        4, "turns", 1, 50, "X8", "turns of the user that a retraction may reach back"
    )
    minutes: float = number(
        180.0, "minutes", 1, 1440, "X8", "time that a retraction may reach back"
    )
    most: int = number(
        5, "statements", 0, 100, "A26", "statements that a wish may forget unasked"
    )


@dataclass(frozen=True, slots=True)
class SimilarityPolicy:
    """The seeds' cut points of similarity, on the nominal scale, and how a
    model is calibrated to it.
    """

    floor: float = number(
        0.20,
        "cosine",
        0,
        1,
        "A17",
        "below it two texts have nothing to do with each other",
    )
    episode: float = number(0.30, "cosine", 0, 1, "A29", "may belong to one episode")
    link: float = number(0.40, "cosine", 0, 1, "A13", "worth a link")
    related: float = number(0.60, "cosine", 0, 1, "A23", "about one subject")
    grey: float = number(0.70, "cosine", 0, 1, "A7", "may say the same or the opposite")
    close: float = number(0.80, "cosine", 0, 1, "D9", "may be folded into one")
    same: float = number(
        0.85, "cosine", 0, 1, "A7", "above it a statement is said again"
    )
    duplicate: float = number(
        0.92, "cosine", 0, 1, "D3", "says the same in almost the same words"
    )
    floor_quantile: float = number(
        0.75, "share", 0, 1, "model", "share of all pairs of facts below the floor"
    )
    episode_quantile: float = number(
        0.90, "share", 0, 1, "model", "share of all pairs below the episode cut"
    )
    link_quantile: float = number(
        0.97, "share", 0, 1, "model", "share of all pairs below the link cut"
    )
    related_quantile: float = number(
        0.997, "share", 0, 1, "model", "share of all pairs below the related cut"
    )
    least_pairs: int = number(
        1000, "pairs", 1, 1000000, "model", "pairs below which nothing can be said"
    )
    most_facts: int = number(
        400, "facts", 2, 10000, "model", "facts whose pairs are compared"
    )
    most_related: float = number(
        0.95,
        "cosine",
        0,
        1,
        "model",
        "a model that puts the related cut higher tells little",
    )


@dataclass(frozen=True, slots=True)
class LinkPolicy:
    """What ties memories and entities together, how such a tie fades, and how far a
    thought travels (A13, C34).
    """

    similar: float = number(
        0.40, "similarity", 0, 1, "A13", "similarity from which two memories are linked"
    )
    duplicate: float = number(
        0.85, "similarity", 0, 1, "A13", "similarity from which they are no longer two"
    )
    most: int = number(3, "links", 0, 20, "A13", "links that a new memory gets")
    reinforce: float = number(
        0.05, "share", 0, 1, "C34", "confidence gained when a tie is seen again"
    )
    window_days: float = number(
        90.0,
        "days",
        1,
        3650,
        "C34",
        "grace, and the length of each step of the fading after",
    )
    step: float = number(0.1, "share", 0, 1, "C34", "confidence lost with each step")
    floor: float = number(
        0.1, "share", 0, 1, "C34", "confidence below which fading does not go"
    )
    prune: float = number(
        0.2,
        "share",
        0,
        1,
        "C34",
        "weight times confidence below which a tie is not followed",
    )
    siblings: int = number(
        10,
        "links",
        0,
        100,
        "C34",
        "earlier memories of one entity that a memory is tied to",
    )
    similar_weight: float = number(
        0.8, "share", 0, 1, "A13", "weight of a tie between similar memories"
    )
    entity_weight: float = number(
        1.0, "share", 0, 1, "C34", "weight of a tie through a common entity"
    )
    time_weight: float = number(
        1.0,
        "share",
        0,
        1,
        "C34",
        "weight of a tie to the memory before in the conversation",
    )
    causal_weight: float = number(
        1.0, "share", 0, 1, "C34", "weight of a tie from cause to effect"
    )
    relation_weight: float = number(
        1.0, "share", 0, 1, "C34", "weight of a relation between entities"
    )
    hop: float = number(0.7, "share", 0, 1, "C34", "activation left after each hop")
    hops: int = number(3, "hops", 0, 10, "C34", "how far activation travels")
    seeds: int = number(
        3,
        "memories",
        0,
        100,
        "A18",
        "the best facts of an answer, from which it starts",
    )
    enough: float = number(
        0.2,
        "share",
        0,
        1,
        "A17",
        "activation from which ties alone bring a memory into an answer",
    )
    wave: int = number(
        2,
        "memories",
        1,
        1000,
        "quality",
        "the strongest of those just reached, from which it goes on",
    )
    damping: float = number(
        0.85,
        "share",
        0,
        1,
        "C34",
        "part of the activation that each refinement passes on",
    )
    rounds: int = number(8, "times", 0, 100, "C34", "refinements of the activation")
    inhibition: float = number(
        0.15, "share", 0, 1, "C34", "how strongly the strongest hold the others down"
    )
    rivals: int = number(
        7, "memories", 0, 100, "C34", "the strongest, which hold the others down"
    )


@dataclass(frozen=True, slots=True)
class BoxPolicy:
    """Memory boxes and the traces they are woven into (rows C31, C32)."""

    overlap: float = number(
        0.35,
        "share",
        0,
        1,
        "C31",
        "overlap of topics below which the subject has changed",
    )
    gap_minutes: float = number(
        30.0, "minutes", 1, 1440, "C31", "silence that closes a box"
    )
    memories: int = number(
        50, "memories", 1, 1000, "C31", "memories above which a box is closed"
    )
    topics: int = number(16, "topics", 1, 100, "C31", "topics a box keeps")
    trace_overlap: float = number(
        0.4, "share", 0, 1, "C32", "overlap from which a box joins a trace"
    )
    trace_days: float = number(
        7.0, "days", 0.01, 3650, "C32", "rest after which a trace takes no further box"
    )
    trace_boxes: int = number(
        5, "boxes", 1, 100, "C32", "latest boxes of a trace that a box is compared with"
    )
    kept: int = number(
        16,
        "boxes",
        1,
        1000,
        "quality",
        "closed boxes remembered against a batch filed twice",
    )


@dataclass(frozen=True, slots=True)
class EchoPolicy:
    """How recalled text is known again (row X7). Two signs of a script without blanks
    count as one word.
    """

    window: int = number(5, "words", 2, 50, "X7", "words in a row that are known again")
    least: int = number(
        3,
        "words",
        1,
        50,
        "X7",
        "length from which a shorter statement is known again as a whole",
    )
    shingles: int = number(
        8192,
        "shingles",
        256,
        1000000,
        "X7",
        "what one session remembers of what it was handed",
    )
    texts: int = number(
        16,
        "texts",
        1,
        1000,
        "X7",
        "answers of recall that a session keeps until its next batch",
    )
    sessions: int = number(
        256, "sessions", 1, 100000, "X7", "sessions that remember it, the latest ones"
    )


@dataclass(frozen=True, slots=True)
class TrustPolicy:
    """How far each kind of source is believed (row D6)."""

    user: float = number(
        1.0, "share", 0, 1, "D6", "trust in what the user says or edits"
    )
    assistant: float = number(
        0.7, "share", 0, 1, "D6", "trust in what a model says in a chat"
    )
    interaction: float = number(
        0.6, "share", 0, 1, "D6", "trust in what a program around the chat says"
    )
    ingest: float = number(0.5, "share", 0, 0.5, "D6", "trust in what an import brings")
    tool: float = number(0.5, "share", 0, 0.5, "D6", "trust in what a tool hands in")
    dream: float = number(
        0.4, "share", 0, 0.5, "D6", "trust in what consolidation concludes"
    )
    around: int = number(
        300,
        "characters",
        0,
        10000,
        "X27",
        "words of a tool on either side of a quote that are searched for instructions",
    )


@dataclass(frozen=True, slots=True)
class ReviewPolicy:
    """What a person's word weighs, and how often one is asked for (rows X8, X9)."""

    corrected: float = number(
        0.85,
        "share",
        0,
        1,
        "X8",
        "least confidence of a statement that corrects another",
    )
    questions: int = number(
        3, "questions", 1, 1000, "X9", "new review questions shown in these days"
    )
    days: float = number(7.0, "days", 0.01, 365, "X9", "days of the question budget")
