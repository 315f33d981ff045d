"""The nouns. Everything here is frozen; times are aware datetimes.

A *unit* is what recall returns: a fact, a turn or a note of the user's own. Its key is
the fact's ULID, `<session-file-stem>#^t12` for a turn, and the vault-relative path for
a user's note.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

STATUSES = (
    "active",
    "archived",
    "superseded",
    "invalidated",
    "pruned",
    "forgotten",
    "review",
)
"""Does it exist (rows A30, C23); what each means is in the design of the lifecycle."""

ROLES = ("user", "assistant", "system", "tool")
"""Who may have said a turn."""

STANDINGS = ("chat", "import", "tool")
"""Who hands turns in, told by the caller's token and never by text: a chatbot, an
importer, a tool.
"""

ENTITY_TYPES = ("person", "org", "place", "project", "tool", "concept")
"""What an entity may be (rows B1, E2, C14)."""

EDGE_TYPES = ("similar", "entity", "time", "causal", "relation", "bridge")
"""Why two memories or two entities belong together (rows A13, C34, B1, D9)."""

REMEMBERED = "remembered"
"""The session of what people ask to keep; its turns are no conversation and lend each
other nothing.
"""

UNKNOWN_PERSONA = "\0"
"""The persona of a note whose front matter is broken and was never read: no caller can
have this name, for names are kept without NUL, so the note is shown to nobody but the
owner's command line.
"""

UnitKind = Literal["fact", "turn", "note"]
Level = Literal["none", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in a person's text, as a value with a position; never an exception."""

    code: str
    message: str
    path: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance. `(session, id)` identifies it; the same id twice is one turn.

    `session` is the caller's name of the conversation; `role` is user, assistant,
    system or tool; `origin` is chat, import or tool and comes from the caller's
    standing, never from text.
    """

    id: str
    session: str
    role: str
    text: str
    occurred_at: datetime
    speaker: str = ""
    persona: str | None = None
    origin: str = "chat"


@dataclass(frozen=True, slots=True)
class FiledTurn:
    """A turn with its place in the vault: `note` is the session file's stem, `block`
    e.g. `t12`.
    """

    turn: Turn
    note: str
    block: str

    @property
    def key(self) -> str:
        """The unit key, `<note>#^<block>`, which is also its wikilink target."""
        return f"{self.note}#^{self.block}"


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of time that words stand for: `start <= t < end`, with the words kept
    (row X14).
    """

    start: datetime
    end: datetime
    granularity: Literal["minute", "hour", "day", "week", "month", "season", "year"]
    words: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """What an extractor proposes: a statement with its evidence (rows C3, X17).

    `about` holds display names of entities, subject first; `quote` is a span of the
    text of the turn `turn_id`; `confidence` and `importance` are 0–1; `importance` None
    leaves it to the local rule; `lifetime` is week, month, year, forever or '' (row
    B19).
    """

    text: str
    category: str
    confidence: float
    turn_id: str
    quote: str
    importance: float | None = None
    about: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    when: Interval | None = None
    lifetime: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """What an extractor says two entities are to each other (row B1): Anna –sister→
    Ben, on the evidence of a turn.

    `subject` and `object` are display names, `type` is one word, `label` a sentence of
    its own or ''; `attitude` and `proximity` are 1–5; `confidence` is 0–1. `ended` says
    that it holds no longer.
    """

    subject: str
    type: str
    object: str
    turn_id: str
    quote: str
    confidence: float = 0.8
    label: str = ""
    attitude: int | None = None
    proximity: int | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Extraction:
    """One batch distilled. `dropped` counts what was refused, by reason; empty is a
    valid answer.

    `types` gives the type of an entity by its display name, as far as it is known
    (`ENTITY_TYPES`); `opinions` what a model said of a statement beside a known fact:
    its text → (same, contradicts; the fact's id), and `apart` the ids of those that it
    found to say something else.
    """

    candidates: tuple[Candidate, ...]
    extractor: str
    dropped: Mapping[str, int] = field(default_factory=dict)
    relations: tuple[Relation, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    opinions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    apart: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fact:
    """One memory: a Markdown note with a statement (the key table of the vault format).

    `confidence` and `importance` are 0–1; `source` is the key of the turn it came from
    (`<session-file-stem>#^t12`) or '', `also` the keys of further turns that say the
    same (row A8); `derived_from` are the memories that a conclusion rests on (row A23);
    what happens has from `valid_from` to `event_end` for it, which says nothing of how
    long the memory holds (row X14); `done` is when a promise was kept or given up (row
    E16); `path` is vault-relative, `sha` the SHA-256 of the file's bytes.
    """

    id: str
    text: str
    category: str = "fact"
    kind: str = "note"
    created: datetime | None = None
    status: str = "active"
    confidence: float = 1.0
    importance: float = 0.5
    about: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    source: str = ""
    also: tuple[str, ...] = ()
    origin: str = ""
    pinned: bool = False
    expires: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    end_reason: str = ""
    persona: str | None = None
    layer: str = ""
    verification: str = ""
    done: datetime | None = None
    path: str = ""
    sha: str = ""
    derived_from: tuple[str, ...] = ()
    event_end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """Plan a new file. `keys` in the order they are to be written."""

    path: str
    keys: Mapping[str, object]
    body: str
    why: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Plan to patch a note that still has the bytes with SHA-256 `sha`; None deletes a
    key.
    """

    path: str
    sha: str
    keys: Mapping[str, object]
    why: str
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """Plan to move a note that still has the bytes with SHA-256 `sha` to the free path
    `to`, patched on the way.
    """

    path: str
    sha: str
    to: str
    keys: Mapping[str, object]
    why: str
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What was seen of a memory in use; kept in `state/usage/`, never in its note
    (design of the model §2).

    `access` counts recalls, `confirmations` exact repetitions; `salience` (0–1) holds
    as of `salience_at`, `stability` is 1–5; `gap_days` is the last interval between two
    recalls and `gradient` (0.1–3) what spacing made of it (row B7). `evidence_at` is
    when it was last reinforced, confirmed or edited. `met` is when engram first met the
    note, None where nothing says so; a memory fades from the later of `met` and its own
    date.
    """

    access: int = 0
    last_access: datetime | None = None
    confirmations: int = 0
    evidence_at: datetime | None = None
    stability: float = 1.0
    salience: float = 0.5
    salience_at: datetime | None = None
    gap_days: float = 0.0
    gradient: float = 1.0
    met: datetime | None = None


@dataclass(frozen=True, slots=True)
class VectorStorage:
    """How exactly the vector of a memory is kept: bits a number, and its tier, hot or
    cold (rows C29, D12).
    """

    bits: int = 32
    tier: str = "hot"


@dataclass(frozen=True, slots=True)
class Vitals:
    """What a memory is worth at one moment, each 0–1 (design of the model §2)."""

    confidence: float
    salience: float
    retention: float
    decay: float
    heat: float


Change = Create | Edit | Move


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, place or thing that facts are about (rows B1, C14, E2). Its ref is
    `<type>:<slug>`.

    `aliases` are other names it goes by; `relations` are lines `(type, name)` to other
    entities. `blocks` are the names of what engram tells in its note; `theirs`: a
    person wrote in it too; `superseded`: it is told elsewhere.
    """

    name: str
    type: str = "concept"
    aliases: tuple[str, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    id: str = ""
    created: datetime | None = None
    path: str = ""
    sha: str = ""
    blocks: tuple[str, ...] = ()
    theirs: bool = False
    superseded: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line that was made from memories (row B11): its words, and the names of the
    notes it rests on.
    """

    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A note that is no memory: its keys, the lines that engram tells in it by block,
    and all else, which is theirs.
    """

    keys: Mapping[str, object]
    blocks: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    own: str = ""


@dataclass(frozen=True, slots=True)
class BlockEdit:
    """Plan what engram tells in a note that is no memory; all else in it stays. Made
    under `title` if not there.

    `blocks` are whole, empty ones go; `add` and `drop` are relations; None deletes a
    key. `unlink` names a note that goes: in keys and blocks its name stays, without the
    link.
    """

    path: str
    why: str
    keys: Mapping[str, object] = field(default_factory=dict)
    blocks: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    add: tuple[tuple[str, str], ...] = ()
    drop: tuple[tuple[str, str], ...] = ()
    title: str = ""
    unlink: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A link with a confidence (0–1) that was anchored when it was last `reinforced`
    (rows A13, B1, C34).

    The ends are fact ids, or entity refs for `relation` and `bridge`. `similar` and
    `bridge` have no direction and their ends are sorted.
    """

    source: str
    target: str
    type: str
    label: str = ""
    confidence: float = 1.0
    reinforced: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    attitude: int | None = None
    proximity: int | None = None


@dataclass(frozen=True, slots=True)
class Box:
    """What one stretch of a conversation taught (row C31): memory ids under at most 16
    topics, oldest first.

    `sealed` and `why` (topic_shift, time_gap, max_memories, flush) are set once it is
    closed.
    """

    id: str
    session: str
    persona: str | None
    opened: datetime
    last: datetime
    topics: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    sealed: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """A thread of one persona's boxes on one subject (row C32): their names and topics,
    oldest first.
    """

    id: str
    topic: str
    seen: datetime
    boxes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    persona: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled unit with its evidence and the parts of its score, which sum to
    `score` (row X4).

    `about` are the names of whom a fact is about; `standing` says how long it has been
    of use (row A29). `reworded`: the quote is older than the words of the statement.
    `fault` says what is wrong with the note, and whose keys are taken: `front matter
    broken (line 4): shown with its last good keys`. `said_by` is the source class,
    `provenance` names it in words and `trust` (0–1) says how far it is believed (rows
    D6, X27); `role` and `speaker` are what the caller claimed.
    """

    key: str
    kind: UnitKind
    text: str
    path: str
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    when: datetime | None = None
    speaker: str = ""
    role: str = ""
    category: str = ""
    status: str = "active"
    confidence: float = 1.0
    source: str = ""
    session: str = ""
    quote: str = ""
    tokens: int = 0
    about: tuple[str, ...] = ()
    standing: str = ""
    reworded: bool = False
    fault: str = ""
    said_by: str = ""
    provenance: str = ""
    trust: float = 1.0


@dataclass(frozen=True, slots=True)
class RecallResult:
    """An answer: the hits, the text to hand to a model, and what was left out and why.

    `filtered` counts units by reason; `complete` is False while start-up has not
    finished (row X18).
    """

    query: str
    hits: tuple[Hit, ...]
    text: str
    tokens: int
    filtered: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    complete: bool = True
