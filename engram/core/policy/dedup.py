"""Numbers for new statements: dedup, links, boxes, trust, echoes and review."""

from __future__ import annotations

from dataclasses import dataclass

from engram.core.policy.number import number


@dataclass(frozen=True, slots=True)
class DedupPolicy:
    """The effect of a new statement on known facts, and its importance.

    (Rows A7–A11, C9, D2, D3.)
    """

    neighbours: int = number(
        5,
        "facts",
        1,
        50,
        "A7",
        "nearest active facts that a statement is compared with",
    )
    pool: int = number(
        20,
        "facts",
        1,
        1000,
        "A7",
        "facts with words of a statement, among which the nearest are searched",
    )
    gain: float = number(
        0.1, "share", 0, 1, "A8", "confidence added by a reinforcement"
    )
    sources: int = number(
        20, "turns", 1, 1000, "A8", "most turns that a note lists as its sources"
    )
    loss: float = number(
        0.2, "share", 0, 1, "A10", "confidence removed by a contradiction"
    )
    least: float = number(
        0.1, "share", 0, 1, "A10", "least confidence after a contradiction"
    )
    episodes: int = number(
        3,
        "sessions",
        1,
        100,
        "A10",
        "sessions with evidence from which a contradiction only weakens a fact",
    )
    supersessions: int = number(
        5,
        "facts",
        0,
        100,
        "quality",
        "facts that one batch may retire without a review question",
    )
    judge_temperature: float = number(
        0.0, "temperature", 0, 2, "A9", "temperature of the model for verdicts"
    )
    surprise_midpoint: float = number(
        0.35, "distance", 0, 1, "D3", "mean distance at which surprise is one half"
    )
    surprise_steepness: float = number(
        10.0, "1", 0.1, 100, "D3", "steepness of the surprise curve at its midpoint"
    )
    surprise_span: float = number(
        0.6,
        "share",
        0,
        2,
        "D3",
        "difference in importance between no surprise and full surprise",
    )
    surprise_empty: float = number(
        0.15, "share", 0, 1, "D3", "importance gained in an empty vault"
    )
    least_importance: float = number(
        0.05, "share", 0, 1, "D3", "least importance after a loss by surprise"
    )
    mention_gain: float = number(
        0.1,
        "share",
        0,
        1,
        "E14",
        "importance for each e-fold of repetitions",
    )
    weigh_base: float = number(
        0.25, "share", 0, 1, "D2", "weight of the base importance"
    )
    weigh_access: float = number(
        0.12, "share", 0, 1, "D2", "weight of the number of recalls"
    )
    weigh_recency: float = number(
        0.12, "share", 0, 1, "D2", "weight of the time since the last recall"
    )
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
        0.1, "share", 0, 1, "D2", "value of recalls for each e-fold of their number"
    )
    recency_days: float = number(30.0, "days", 1, 3650, "D2", "half-life of recency")
    emotion_share: float = number(0.3, "share", 0, 1, "D2", "greatest value of emotion")
    confirmation_step: float = number(
        0.05,
        "share",
        0,
        1,
        "D2",
        "value of confirmations for each e-fold of their number",
    )
    confirmation_most: float = number(
        0.2, "share", 0, 1, "D2", "greatest value of confirmations"
    )
    layer_episodic: float = number(
        0.1, "share", 0, 1, "D2", "value of the episodic layer"
    )
    layer_semantic: float = number(
        0.3, "share", 0, 1, "D2", "value of the semantic layer"
    )
    layer_procedural: float = number(
        0.2, "share", 0, 1, "D2", "value of the procedural layer"
    )
    least_use_days: float = number(
        0.001, "days", 0.000001, 1, "D2", "least age of a use in the activation"
    )


@dataclass(frozen=True, slots=True)
class RetractionPolicy:
    """The reach of a retraction or of a wish to forget (rows A26, X8)."""

    turns: int = number(
        4,
        "turns",
        1,
        50,
        "X8",
        "preceding turns of the user that a retraction may concern",
    )
    minutes: float = number(
        180.0,
        "minutes",
        1,
        1440,
        "X8",
        "greatest age of a statement that a retraction may concern",
    )
    most: int = number(
        5,
        "statements",
        0,
        100,
        "A26",
        "statements that a wish may forget without a question",
    )


@dataclass(frozen=True, slots=True)
class SimilarityPolicy:
    """The seeds' cut points on the nominal scale, and the calibration of a model."""

    floor: float = number(
        0.20,
        "cosine",
        0,
        1,
        "A17",
        "similarity below which two texts are unrelated",
    )
    episode: float = number(
        0.30,
        "cosine",
        0,
        1,
        "A29",
        "similarity from which two texts may belong to one episode",
    )
    link: float = number(
        0.40, "cosine", 0, 1, "A13", "similarity from which two memories are linked"
    )
    related: float = number(
        0.60, "cosine", 0, 1, "A23", "similarity from which two texts have one subject"
    )
    grey: float = number(
        0.70,
        "cosine",
        0,
        1,
        "A7",
        "similarity from which two statements may be equal or opposite",
    )
    close: float = number(
        0.80,
        "cosine",
        0,
        1,
        "D9",
        "similarity from which two memories may be folded into one",
    )
    same: float = number(
        0.85,
        "cosine",
        0,
        1,
        "A7",
        "similarity above which a statement repeats another one",
    )
    duplicate: float = number(
        0.92,
        "cosine",
        0,
        1,
        "D3",
        "similarity from which two statements have almost the same words",
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
        1000, "pairs", 1, 1000000, "model", "least number of pairs for a calibration"
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
        "highest related cut of a model that can be calibrated",
    )


@dataclass(frozen=True, slots=True)
class LinkPolicy:
    """Links between memories and entities, their fading, and spreading activation.

    (Rows A13, C34.)
    """

    similar: float = number(
        0.40, "similarity", 0, 1, "A13", "similarity from which two memories are linked"
    )
    duplicate: float = number(
        0.85,
        "similarity",
        0,
        1,
        "A13",
        "similarity from which two memories count as one",
    )
    most: int = number(3, "links", 0, 20, "A13", "links of a new memory")
    reinforce: float = number(
        0.05, "share", 0, 1, "C34", "confidence gained by another observation of a link"
    )
    window_days: float = number(
        90.0,
        "days",
        1,
        3650,
        "C34",
        "days before a link begins to fade, and the length of each step after",
    )
    step: float = number(0.1, "share", 0, 1, "C34", "confidence lost with each step")
    floor: float = number(0.1, "share", 0, 1, "C34", "confidence at which fading ends")
    prune: float = number(
        0.2,
        "share",
        0,
        1,
        "C34",
        "weight times confidence below which a link is not followed",
    )
    siblings: int = number(
        10,
        "links",
        0,
        100,
        "C34",
        "earlier memories about one entity that a memory is linked to",
    )
    similar_weight: float = number(
        0.8, "share", 0, 1, "A13", "weight of a link between similar memories"
    )
    entity_weight: float = number(
        1.0, "share", 0, 1, "C34", "weight of a link by a common entity"
    )
    time_weight: float = number(
        1.0,
        "share",
        0,
        1,
        "C34",
        "weight of a link to the preceding memory of the conversation",
    )
    causal_weight: float = number(
        1.0, "share", 0, 1, "C34", "weight of a link from cause to effect"
    )
    relation_weight: float = number(
        1.0, "share", 0, 1, "C34", "weight of a relation between entities"
    )
    hop: float = number(0.7, "share", 0, 1, "C34", "activation left after each hop")
    hops: int = number(3, "hops", 0, 10, "C34", "hops that activation spreads")
    seeds: int = number(
        3,
        "memories",
        0,
        100,
        "A18",
        "best facts of an answer, at which activation starts",
    )
    enough: float = number(
        0.2,
        "share",
        0,
        1,
        "A17",
        "activation from which links alone add a memory to an answer",
    )
    wave: int = number(
        2,
        "memories",
        1,
        1000,
        "quality",
        "strongest newly reached memories from which activation continues",
    )
    damping: float = number(
        0.85,
        "share",
        0,
        1,
        "C34",
        "share of the activation that each refinement passes on",
    )
    rounds: int = number(8, "times", 0, 100, "C34", "refinements of the activation")
    inhibition: float = number(
        0.15,
        "share",
        0,
        1,
        "C34",
        "strength of the inhibition by the strongest memories",
    )
    rivals: int = number(
        7, "memories", 0, 100, "C34", "strongest memories, which inhibit the others"
    )


@dataclass(frozen=True, slots=True)
class BoxPolicy:
    """Memory boxes and the traces that link them (rows C31, C32)."""

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
    topics: int = number(16, "topics", 1, 100, "C31", "topics of a box")
    trace_overlap: float = number(
        0.4, "share", 0, 1, "C32", "overlap from which a box joins a trace"
    )
    trace_days: float = number(
        7.0, "days", 0.01, 3650, "C32", "days after which no further box joins a trace"
    )
    trace_boxes: int = number(
        5,
        "boxes",
        1,
        100,
        "C32",
        "latest boxes of a trace that a new box is compared with",
    )
    kept: int = number(
        16,
        "boxes",
        1,
        1000,
        "quality",
        "recently closed boxes, stored to detect a batch that is filed twice",
    )


@dataclass(frozen=True, slots=True)
class EchoPolicy:
    """The recognition of recalled text (row X7).

    Two signs of a script without blanks count as one word.
    """

    window: int = number(
        5, "words", 2, 50, "X7", "consecutive words that identify recalled text"
    )
    least: int = number(
        3,
        "words",
        1,
        50,
        "X7",
        "words from which a shorter statement is identified as a whole",
    )
    shingles: int = number(
        8192,
        "shingles",
        256,
        1000000,
        "X7",
        "shingles of recalled text that are stored for one session",
    )
    texts: int = number(
        16,
        "texts",
        1,
        1000,
        "X7",
        "answers of recall that are stored for a session until its next batch",
    )
    sessions: int = number(
        256,
        "sessions",
        1,
        100000,
        "X7",
        "latest sessions for which recalled text is stored",
    )


@dataclass(frozen=True, slots=True)
class TrustPolicy:
    """The trust in each class of source (row D6)."""

    user: float = number(
        1.0, "share", 0, 1, "D6", "trust in statements and edits of the user"
    )
    assistant: float = number(
        0.7, "share", 0, 1, "D6", "trust in statements of a model in a chat"
    )
    interaction: float = number(
        0.6, "share", 0, 1, "D6", "trust in statements of a program in a conversation"
    )
    ingest: float = number(
        0.5, "share", 0, 0.5, "D6", "trust in statements of an import"
    )
    tool: float = number(0.5, "share", 0, 0.5, "D6", "trust in statements of a tool")
    dream: float = number(
        0.4, "share", 0, 0.5, "D6", "trust in conclusions of maintenance"
    )
    around: int = number(
        300,
        "characters",
        0,
        10000,
        "X27",
        "text on either side of a quote from a tool that is searched for instructions",
    )


@dataclass(frozen=True, slots=True)
class ReviewPolicy:
    """The weight of a correction, and the number of review questions (rows X8, X9)."""

    corrected: float = number(
        0.85,
        "share",
        0,
        1,
        "X8",
        "least confidence of a statement that corrects another one",
    )
    questions: int = number(
        3, "questions", 1, 1000, "X9", "new review questions shown within `days`"
    )
    days: float = number(
        7.0, "days", 0.01, 365, "X9", "period of the limit on review questions"
    )
