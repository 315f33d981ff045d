"""Result types of operations on memories: lists, changes, the review queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003  # `typed` reads the annotations
from typing import Any


@dataclass(frozen=True, slots=True)
class CaseLink:
    """A note in `review/` with a question for the user."""

    id: str
    path: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """The memory of a statement; `case` is a question for the user.

    A memory that was known before has no `path` and no `category` here.
    """

    id: str
    verdict: str
    why: str
    path: str = ""
    category: str = ""
    case: CaseLink | None = None


@dataclass(frozen=True, slots=True)
class CorrectedMemory:
    """The new memory, and the id of the one that it corrects."""

    id: str
    corrects: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The sensitivity of a memory now, and who may see it."""

    id: str
    path: str
    sensitivity: str
    known_to: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The verification of a memory now: user_confirmed or disputed."""

    id: str
    path: str
    verification: str


@dataclass(frozen=True, slots=True)
class Updated:
    """The keys of the front matter that changed."""

    id: str
    path: str
    changed: list[str]


@dataclass(frozen=True, slots=True)
class HiddenUnits:
    """Other memories and turns that a request to forget hides."""

    memories: list[str] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StatedText:
    """The id and the text of a memory."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class SimilarText:
    """A statement that resembles a forgotten one and stays, with the reason."""

    id: str
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The unit that is no longer recalled; a dry run has only `turns` and `shared`."""

    id: str
    path: str
    status: str = ""
    hides: HiddenUnits | None = None
    similar: list[SimilarText] = field(default_factory=list)
    unchanged: dict[str, str] = field(default_factory=dict)
    dry_run: bool = False
    turns: list[str] = field(default_factory=list)
    shared: list[StatedText] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ListedMemory:
    """A memory in a list; the text of a forgotten one is ''."""

    id: str
    text: str
    category: str
    status: str
    about: list[str]
    tags: list[str]
    confidence: float
    importance: float
    pinned: bool
    path: str
    created: datetime | None
    persona: str | None = None
    sensitivity: str = "normal"
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    said_by: str = ""
    provenance: str = ""
    trust: float = 1.0


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Memories, the newest first; `next` is the argument `after` of the next page."""

    memories: list[ListedMemory]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory with its note, use and weight; or an entity, a storyline or a macro."""

    memory: dict[str, Any] = field(default_factory=dict)
    entity: dict[str, Any] = field(default_factory=dict)
    storyline: dict[str, Any] = field(default_factory=dict)
    macro: dict[str, Any] = field(default_factory=dict)
    markdown: str = ""
    problems: list[dict[str, Any]] = field(default_factory=list)
    forgotten: str = ""
    said_by: str = ""
    provenance: str = ""
    trust: float = 1.0
    protected: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    worth: dict[str, Any] = field(default_factory=dict)
    related: list[dict[str, Any]] = field(default_factory=list)
    memories: int = 0


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """A turn of a conversation; `key` is its id in the vault."""

    id: str
    key: str
    session: str
    role: str
    text: str
    occurred_at: datetime
    speaker: str = ""
    persona: str | None = None
    origin: str = "chat"
    group: bool = False
    private: bool = False
    sensitivity: str = "normal"
    said_by: str = ""
    provenance: str = ""
    trust: float = 1.0


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """A row of the action log: a decision about a memory, its time and its reason."""

    at: str
    action: str
    memory: str = ""
    outcome: str = ""
    reason: str = ""
    by: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True)
class Explained:
    """The turns behind a memory, its stage, and each decision on it."""

    memory: dict[str, Any]
    turns: list[SaidTurn]
    decisions: list[LoggedDecision]
    stage: str = ""
    stage_why: str = ""
    protected: str | None = None
    reworded: str = ""
    forgotten: str = ""
    said_by: str = ""
    provenance: str = ""
    trust: float = 1.0


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a memory; a forgotten one has no text."""

    id: str
    status: str
    text: str = ""
    category: str = ""
    kind: str = ""
    created: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    end_reason: str = ""
    supersedes: list[str] = field(default_factory=list)
    superseded_by: list[str] = field(default_factory=list)
    path: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """The versions of a memory and the decisions on them, the oldest first."""

    versions: list[Version]
    decisions: list[LoggedDecision]


@dataclass(frozen=True, slots=True)
class CaseStatement:
    """A statement of a review case, with its evidence."""

    id: str
    text: str
    path: str = ""
    status: str = ""
    when: str | None = None
    evidence: str = ""
    said_by: str = ""
    provenance: str = ""
    trust: float = 1.0


@dataclass(frozen=True, slots=True)
class Case:
    """A question for the user; `choices` are the answers of `decide`."""

    id: str
    path: str
    why: str
    choices: list[str]
    statements: list[CaseStatement]
    subject: str = ""
    text: str = ""
    ticked: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """The cases to decide; `waiting` is the number of cases that are shown later."""

    cases: list[Case]
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision, and the run by which it can be undone, if any."""

    id: str
    decision: str
    memories: list[str] = field(default_factory=list)
    run: str = ""


@dataclass(frozen=True, slots=True)
class RelatedName:
    """A relation of an entity to another one, with its days if known."""

    type: str
    name: str
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class ListedEntity:
    """A person, animal, place, organisation, project, tool, event or concept."""

    name: str
    type: str
    aliases: list[str]
    relations: list[RelatedName]
    memories: int
    path: str
    owner: bool = False
    last: datetime | None = None
    planned_relations: list[RelatedName] = field(default_factory=list)
    former_relations: list[RelatedName] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Entities:
    """People, places and things, those with the most memories first."""

    entities: list[ListedEntity]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a conversation without a long gap."""

    id: str
    session: str
    started: datetime
    ended: datetime
    turns: int
    path: str
    persona: str | None = None
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Sessions:
    """Conversations, the latest first; `next` begins the next page."""

    sessions: list[Stretch]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True)
class SessionTurns:
    """The turns of a stretch of a conversation."""

    id: str
    session: str
    started: datetime
    ended: datetime
    turns: list[SaidTurn]
    path: str
    persona: str | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The number of memories by local day."""

    days: dict[str, int]
    total: int


@dataclass(frozen=True, slots=True)
class DigestRow:
    """A memory of a digest; `was` is the statement that it replaced."""

    id: str
    text: str
    category: str
    when: datetime | None = None
    was: str = ""


@dataclass(frozen=True, slots=True)
class DigestOfSpan:
    """Memories learned, changed and ended in a span, and due promises, with a `text`.

    Each list has at most 25 rows; `counts` counts all.
    """

    since: datetime
    until: datetime
    counts: dict[str, int]
    learned: list[DigestRow]
    changed: list[DigestRow]
    ended: list[DigestRow]
    due: list[DigestRow]
    text: str


@dataclass(frozen=True, slots=True)
class ChangedUnit:
    """A memory, turn or note, and whether it was `changed` or `removed`."""

    id: str
    kind: str
    change: str
    text: str = ""
    role: str = ""
    path: str = ""
    status: str = ""
    category: str = ""
    current: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """The units that changed since a mark; `next` is the mark for the next call.

    With `reset` the client drops its copy; with `more` it calls again at once.
    """

    changes: list[ChangedUnit]
    next: str
    reset: bool = False
    more: bool = False


@dataclass(frozen=True, slots=True)
class NearNode:
    """A memory or an entity, with the number of steps to it."""

    id: str
    name: str
    kind: str
    type: str
    distance: int


@dataclass(frozen=True, slots=True)
class NearEdge:
    """A relation of two nodes."""

    source: str
    target: str
    type: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The nodes and edges near the `center`, a memory or an entity."""

    center: str
    nodes: list[NearNode]
    edges: list[NearEdge]
