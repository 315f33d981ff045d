"""The nouns. Everything here is frozen; times are aware datetimes.

A *unit* is what recall returns: a fact, a turn or a note of the user's own. Its key is the fact's
ULID, `<session-file-stem>#^t12` for a turn, and the vault-relative path for a user's note.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

CATEGORIES = (
    "fact",
    "preference",
    "correction",
    "entity",
    "decision",
    "relationship",
    "principle",
    "commitment",
    "moment",
    "skill",
)
"""The ten categories (row C3)."""

STATUSES = ("active", "archived", "superseded", "invalidated", "pruned", "forgotten", "review")
"""Does it exist (rows A30, C23); what each means is in the design of the lifecycle."""

ROLES = ("user", "assistant", "system", "tool")
"""Who may have said a turn."""

REMEMBERED = "remembered"
"""The session of what people ask to keep; its turns are no conversation and lend each other nothing."""

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

    `session` is the caller's name of the conversation; `role` is user, assistant, system or tool;
    `origin` is chat, import or tool and comes from the caller's standing, never from text.
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
    """A turn with its place in the vault: `note` is the session file's stem, `block` e.g. `t12`."""

    turn: Turn
    note: str
    block: str

    @property
    def key(self) -> str:
        """The unit key, `<note>#^<block>`, which is also its wikilink target."""
        return f"{self.note}#^{self.block}"


@dataclass(frozen=True, slots=True)
class Interval:
    """A stretch of time that words stand for: `start <= t < end`, with the words kept (row X14)."""

    start: datetime
    end: datetime
    granularity: Literal["minute", "hour", "day", "week", "month", "season", "year"]
    words: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """What an extractor proposes: a statement with its evidence (rows C3, X17).

    `about` holds display names of entities, subject first; `quote` is a span of the text of the turn
    `turn_id`; `confidence` and `importance` are 0–1; `importance` None leaves it to the local rule.
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


@dataclass(frozen=True, slots=True)
class Extraction:
    """One batch distilled. `dropped` counts what was refused, by reason; empty is a valid answer."""

    candidates: tuple[Candidate, ...]
    extractor: str
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fact:
    """One memory: a Markdown note with a statement (the key table of the vault format).

    `confidence`, `importance` and `trust` are 0–1; `source` is the key of the turn it came from
    (`<session-file-stem>#^t12`) or ''; `path` is vault-relative, `sha` the SHA-256 of the file's bytes.
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
    stage: str = ""
    verification: str = ""
    path: str = ""
    sha: str = ""


@dataclass(frozen=True, slots=True)
class Create:
    """Plan a new file. `keys` in the order they are to be written."""

    path: str
    keys: Mapping[str, object]
    body: str
    why: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Plan to patch a note that still has the bytes with SHA-256 `sha`; None deletes a key."""

    path: str
    sha: str
    keys: Mapping[str, object]
    why: str
    body: str | None = None


Change = Create | Edit


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled unit with its evidence and the parts of its score, which sum to `score` (row X4)."""

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


@dataclass(frozen=True, slots=True)
class Recalled:
    """An answer: the hits, the text to hand to a model, and what was left out and why.

    `filtered` counts units by reason; `complete` is False while start-up has not finished (row X18).
    """

    query: str
    hits: tuple[Hit, ...]
    text: str
    tokens: int
    filtered: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    complete: bool = True
