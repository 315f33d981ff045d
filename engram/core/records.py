"""The records of engram, all frozen; times are aware datetimes.

A *unit* is what recall returns: a fact, a turn or a note of the user. Its key is the
fact's ULID, `<session-file-stem>#^t12` for a turn, and the vault-relative path for a
user's note.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

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
"""The statuses of a fact (rows A30, C23)."""

ROLES = ("user", "assistant", "system", "tool")
"""The roles of a turn."""

STANDINGS = ("chat", "import", "tool")
"""The standings of callers: a chatbot, an importer, a tool.

A standing follows from the caller's token, never from text.
"""

ENTITY_TYPES = (
    "person",
    "animal",
    "org",
    "place",
    "project",
    "tool",
    "event",
    "concept",
)
"""The types of entities (rows B1, E2, C14)."""

EDGE_TYPES = ("similar", "entity", "time", "causal", "relation", "bridge")
"""The types of edges between memories or entities (rows A13, C34, B1, D9)."""

SENSITIVITIES = ("low", "normal", "high")
"""The sensitivities of a memory or a conversation (row B17); only a person sets them.
"""

HIGH = "high"
"""The sensitivity of memories that no model and no other persona receives."""

REMEMBERED = "remembered"
"""The session of memories that the user asked to keep.

Its turns are not a conversation, so they are no context for each other.
"""

UNKNOWN_PERSONA = "\0"
"""The persona of memories that only the owner's command line sees.

No caller can have this name, because names contain no NUL. It is used for a note whose
broken front matter was never readable, and for highly sensitive memories without a
persona that may see them.
"""

NO_PERSONA = "-"
"""The persona of private memories that were stated without a persona.

Only questions without a persona see them; `personas.name_fault` refuses it as a name.
"""

ALL_PERSONAS = "\0*"
"""The persona of a question that sees the private memories of all personas.

Like `UNKNOWN_PERSONA` it is a name that no caller can have.
"""

UnitKind = Literal["fact", "turn", "note"]
Level = Literal["none", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in the user's text, as a value with a position; never an exception."""

    code: str
    message: str
    path: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory exported by another program; `id` is the same on every import.

    `about` lists the people or things that it is about; () means the user. `path` and
    `line` are its place in the export. `until` is the time at which it ended, None
    while it holds; `confidence` is that of the other program, None if it gives none.
    """

    id: str
    text: str
    when: datetime | None = None
    about: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    category: str = ""
    path: str = ""
    line: int | None = None
    until: datetime | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance. `(session, id)` identifies it; the same id twice is one turn.

    `session` is the caller's name of the conversation; `role` is user, assistant,
    system or tool; `origin` is chat, import or tool and comes from the caller's
    standing, never from text. `persona` is the persona of the conversation. `group` is
    true if the caller named several users; the speaker is then a separate person. With
    `private` only the persona sees the turn; if it is `confided`, its own words ask for
    that, and facts from its other sentences are not private. `sensitive_to` is the only persona that
    sees a highly sensitive turn, None for any other turn (row B17). `title` is that of
    the conversation, for the name of a new session file.
    """

    id: str
    session: str
    role: str
    text: str
    occurred_at: datetime
    speaker: str = ""
    persona: str | None = None
    origin: str = "chat"
    group: bool = False
    private: bool = False
    confided: bool = False
    sensitive_to: str | None = None
    title: str = ""

    @property
    def private_to(self) -> str | None:
        """The only persona that sees the turn; None if every persona does (`E14`).

        Every persona sees the turns of the user unless they are private; other turns
        are private to the persona of the conversation.
        """
        if self.sensitive_to is not None:
            return self.sensitive_to
        if self.private:
            return self.persona or NO_PERSONA
        return None if self.role == "user" else self.persona


class Reading(NamedTuple):
    """What recall needs of the words of a turn; see `engram.core.reading`.

    `shown` is the text without recalled and planted words (rows X7, X27), `dates` are
    its words for a time with their dates (`X14`), `stems` the beginnings of its words
    that carry meaning.
    """

    shown: str
    dates: tuple[tuple[str, str], ...]
    stems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FiledTurn:
    """A turn with its place in the vault: the session file's stem and the block.

    `reading` is None for a turn that the index has not read.
    """

    turn: Turn
    note: str
    block: str
    reading: Reading | None = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> str:
        """The unit key, `<note>#^<block>`, which is also its wikilink target."""
        return f"{self.note}#^{self.block}"

    @property
    def order(self) -> tuple[datetime, str, int]:
        """The sort key of turns in the order of their conversation."""
        digits = self.block[1:]
        number = int(digits) if digits.isdecimal() else 0
        return self.turn.occurred_at, self.note, number


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of time named in a text (row X14): `start <= t < end`.

    `words` is the text that names it. `role` is `since` if the statement begins to hold
    then, `until` if it holds until then, and '' if it is about that time.
    """

    start: datetime
    end: datetime
    granularity: Literal[
        "minute", "hour", "day", "weekend", "week", "month", "season", "year"
    ]
    words: str
    role: Literal["", "since", "until"] = ""


SORTS = ("lasting", "state", "event", "plan")
"""The sort of a statement: a lasting fact, a present state, an event, or a plan."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that an extractor proposes, with its evidence (rows C3, X17).

    `about` holds display names of entities, subject first; `quote` is a span of the
    text of the turn `turn_id`; `confidence` and `importance` are 0–1; with an
    `importance` of None the local rule decides; `lifetime` is week, month, year,
    forever or '' (row B19); `sort` is one of `SORTS` or ''. `dated_by` is `model` if
    the date was found by a model alone, `until` is the last day of the date by the
    words. `attribute` and `value` are the slot that the statement fills (row X31).
    `links` are its relations to the known facts that a model received, None if
    the model gave no answer about them.
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
    sort: str = ""
    dated_by: str = ""
    until: Interval | None = None
    links: FactLinks | None = None
    attribute: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class FactLinks:
    """The effects of a new statement on known facts, by a model's answer.

    The statement replaces the facts in `replaces`; it ends those in `ends` although it
    says something else; `same` already contains all of it, or is ''; the statement
    makes those in `supports` more likely (rows A7-A11), and holds only while those in
    `because` do (row X29). All are ids of facts; `because` may also have `=` and the
    text of a statement of the same answer.
    """

    replaces: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    same: str = ""
    supports: tuple[str, ...] = ()
    because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactEnd:
    """A known fact that words of the user end, without a new fact (row A10).

    `quote` is a span of the text of the turn `turn_id`.
    """

    fact_id: str
    turn_id: str
    quote: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between two entities: Anna –sister→ Ben, with its evidence (row B1).

    `subject` and `object` are display names, `type` is one word, `label` a sentence or
    ''; `attitude` and `proximity` are 1–5; `confidence` is 0–1. `ended` is true if the
    relation is over. `begins` and `ends` are the times in the words; with `beside` an
    older relation of this type continues, as with a second job.
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
    begins: Interval | None = None
    ends: Interval | None = None
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Extraction:
    """The candidates and relations extracted from one batch; it may be empty.

    `dropped` counts the refused candidates by reason. `types` maps display names of
    entities to types (`ENTITY_TYPES`). `warnings` are the parts of a model's answer
    about known facts that could not be used, by the text of the statement. `ended` are
    known facts that are over without a new one.
    """

    candidates: tuple[Candidate, ...]
    extractor: str
    dropped: Mapping[str, int] = field(default_factory=dict)
    relations: tuple[Relation, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, str] = field(default_factory=dict)
    ended: tuple[FactEnd, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """One memory: a Markdown note with a statement (the key table of the vault format).

    `confidence` and `importance` are 0–1; `source` is the key of the turn it came from
    (`<session-file-stem>#^t12`) or '', `also` the keys of further turns with the same
    statement (row A8); `because` are the memories without which it may not hold
    (row X29); `derived_from` are the memories that a conclusion rests on (row
    A23); an event takes place from `valid_from` to `event_end`, which does not limit
    how long the memory holds (row X14); `dated_by` is `model` if the date was found by
    a model alone; `attribute` and `value` are its slot (row X31); `done` is the time at which a promise was fulfilled or given up (row
    E16); `sensitivity` is one of `SENSITIVITIES` (row B17); `path` is vault-relative,
    `sha` the SHA-256 of the file's bytes.
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
    dated_by: str = ""
    done: datetime | None = None
    path: str = ""
    sha: str = ""
    derived_from: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    event_end: datetime | None = None
    sensitivity: str = "normal"
    attribute: str = ""
    value: str = ""

    @property
    def turns(self) -> tuple[str, ...]:
        """The keys of the turns that support it, the first one first."""
        return tuple(key for key in (self.source, *self.also) if key)


@dataclass(frozen=True, slots=True)
class Create:
    """Plan a new file; `keys` are in the order in which they are written."""

    path: str
    keys: Mapping[str, object]
    body: str
    why: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Plan a change of a note whose bytes still have the SHA-256 `sha`.

    A value of None deletes a key.
    """

    path: str
    sha: str
    keys: Mapping[str, object]
    why: str
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """Plan a move to the free path `to`, together with changes of the note.

    The note's bytes must still have the SHA-256 `sha`.
    """

    path: str
    sha: str
    to: str
    keys: Mapping[str, object]
    why: str
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """The use of a memory; stored in `state/usage/`, never in its note.

    `access` counts recalls, `confirmations` exact repetitions; `salience` (0–1) is that
    of `salience_at`, `stability` is 1–5; `gap_days` is the last interval between two
    recalls and `gradient` (0.1–3) follows from the spacing (row B7). `evidence_at` is
    the time of the last reinforcement, confirmation or edit. `met` is the time at which
    engram first read the note, None if unknown; a memory fades from the later of `met`
    and its own date.
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
    """The bits per number of a memory's vector, and its tier (rows C29, D12)."""

    bits: int = 32
    tier: str = "hot"


@dataclass(frozen=True, slots=True)
class Vitals:
    """The worth of a memory at one moment, each 0–1."""

    confidence: float
    salience: float
    retention: float
    decay: float
    heat: float


Change = Create | Edit | Move


@dataclass(frozen=True, slots=True)
class RelationLine:
    """A relation in the form in which the note of an entity lists it (row B1).

    `since` and `until` are the first and the last day, as precisely as they are known:
    2027, 2027-01 or 2027-01-04.
    """

    type: str
    name: str
    since: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, place or thing that facts are about (rows B1, C14, E2).

    Its ref is `<type>:<slug>`. `aliases` are other names; `relations` are those to
    other entities, including former and planned ones. `blocks` are the names of the
    generated blocks of its note; `has_user_text` is true if the user wrote in the note
    too, `superseded` if another note replaces it.
    """

    name: str
    type: str = "concept"
    aliases: tuple[str, ...] = ()
    relations: tuple[RelationLine, ...] = ()
    id: str = ""
    created: datetime | None = None
    path: str = ""
    sha: str = ""
    blocks: tuple[str, ...] = ()
    has_user_text: bool = False
    superseded: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A generated line: its text, and the notes that it cites (row B11)."""

    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A note that is not a memory: its keys, its generated lines by block, other text.

    `own` is the user's text.
    """

    keys: Mapping[str, object]
    blocks: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    own: str = ""


@dataclass(frozen=True, slots=True)
class BlockEdit:
    """Plan a change of generated blocks in a note that is not a memory.

    The rest of the note does not change; a missing note is created with `title`.
    `blocks` are complete, and empty ones are removed; `add` and `drop` are relations; a
    value of None deletes a key. `unlink` names a note that is removed: keys and blocks
    keep its name without the link.
    """

    path: str
    why: str
    keys: Mapping[str, object] = field(default_factory=dict)
    blocks: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    add: tuple[RelationLine, ...] = ()
    drop: tuple[RelationLine, ...] = ()
    title: str = ""
    unlink: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A link with a confidence, 0–1, anchored at its last observation, `reinforced`.

    (Rows A13, B1, C34.) The ends are fact ids, or entity refs for `relation` and
    `bridge`. `similar` and `bridge` are undirected, with sorted ends. The edge holds
    from `valid_from` until `valid_until`; `since` and `until` are these days as
    precisely as the words give them: 2027, 2027-01 or 2027-01-04.
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
    since: str = ""
    until: str = ""

    def holds(self, when: datetime) -> bool:
        """Return whether the edge holds at `when`, its end excluded."""
        has_begun = self.valid_from is None or self.valid_from <= when
        return has_begun and (self.valid_until is None or when < self.valid_until)


@dataclass(frozen=True, slots=True)
class Box:
    """The memories of a session stretch with at most 16 topics (row C31).

    Memories are ids, oldest first. `sealed`, `why` (topic_shift, time_gap,
    max_memories, flush) and `title` are set when it closes.
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
    title: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """The boxes of one persona about one subject, oldest first (row C32).

    Each has its name and its topics. `topic` is the title of the first box.
    """

    id: str
    topic: str
    seen: datetime
    boxes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    persona: str | None = None


@dataclass(slots=True)  # not frozen: that would triple the time to create the hits
class SearchHit:
    """A recalled unit with its evidence and the parts of its rank (row X4).

    `score`, 0–1, is the share of the question that the unit covers by its own words and
    meaning. `rank`, the value that decides the order, is the sum of `parts`. `about` are the names of the entities of a fact;
    `standing` states in words how long it has been of use (row A29), `due` when a
    promise is due or that it was fulfilled. `reworded` is true if the quote is older
    than the wording of the statement. `fault` describes a fault of the note and the
    keys in use: `front matter broken (line 4): shown with its last good keys`.
    `said_by` is the source class, `provenance` names it in words and `trust` (0–1) is
    the trust in it (rows D6, X27); `role` and `speaker` are the caller's claims.
    `ended` is the local day (ISO 8601) on which the stated state ended, or '';
    `certain` is false if only a later statement implies the end and a person wrote the
    note. `when` is local: the time of an episode, else that of the statement or of the
    note; `dates` are the words for a time with their dates (row X14).
    """

    key: str
    kind: UnitKind
    text: str
    path: str
    score: float
    rank: float = 0.0
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
    due: str = ""
    fault: str = ""
    said_by: str = ""
    provenance: str = ""
    trust: float = 1.0
    ended: str = ""
    certain: bool = True
    dates: tuple[tuple[str, str], ...] = ()
    said: str = ""


@dataclass(frozen=True, slots=True)
class RecallResult:
    """A recall answer: the hits, the text for a model, and the omitted units.

    `filtered` counts omitted units by reason; `complete` is False until start-up has
    finished (row X18). `mode` is `words`, or `meaning` if vectors ranked the hits too
    (row A14). `steps` has the milliseconds of each step.
    """

    query: str
    hits: tuple[SearchHit, ...]
    text: str
    tokens: int
    filtered: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    complete: bool = True
    mode: str = "words"
    steps: Mapping[str, float] = field(default_factory=dict)
