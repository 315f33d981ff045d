"""Result types of operations on conversations: turns, recall, promises."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003  # `typed` reads the annotations
from typing import Any


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A turn with a request to remember something that is not remembered, and why."""

    turn: str
    why: str
    fix: str


@dataclass(frozen=True, slots=True)
class Observed:
    """The turns are on disk. `keys` are their ids, in order.

    `duplicates` are turns that were stored before, `replaced` are edited messages.
    `without_words` and `off_record` were not stored. `not_remembered` are requests to
    remember a secret; their turns are stored without the secret.
    """

    keys: list[str]
    stored: int
    duplicates: int
    replaced: int = 0
    without_words: int = 0
    off_record: int = 0
    not_remembered: list[RefusedRequest] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class BegunImport:
    """The id of an import: the argument `run` for its turns and statements."""

    run: str


@dataclass(frozen=True, slots=True)
class Flushed:
    """The numbers of handled turns, and of waiting turns by their state."""

    flushed: int
    waiting_turns: int
    distilling_turns: int
    parked_turns: int
    dead_turns: int


@dataclass(frozen=True, slots=True)
class WithdrawnTurns:
    """The hidden turns, and the memories that only they supported."""

    id: str
    turns: list[str]
    memories: list[str]


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled memory, turn or note, with its evidence and its source.

    `kind` is fact, turn or note. `ended` is the day on which its statement ceased to be
    true, '' if it is true. `dates` are pairs of words for a time and the date.
    `said_by` is the source class, `provenance` names the source, and `trust` (0–1) is
    the trust in it. `parts` are the summands of the score, for `explain`.
    """

    id: str
    kind: str
    text: str
    path: str
    score: float
    when: datetime | None = None
    category: str = ""
    status: str = "active"
    confidence: float = 1.0
    about: list[str] = field(default_factory=list)
    role: str = ""
    speaker: str = ""
    session: str = ""
    source: str = ""
    quote: str = ""
    said: str = ""
    reworded: bool = False
    said_by: str = ""
    provenance: str = ""
    trust: float = 1.0
    ended: str = ""
    certain: bool = True
    due: str = ""
    dates: list[list[str]] = field(default_factory=list)
    standing: str = ""
    fault: str = ""
    tokens: int = 0
    parts: dict[str, float] = field(default_factory=dict)
    meaning: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recalled:
    """The best hits first, and `text` for a prompt, fenced and marked as notes.

    `filtered` counts the units left out, by reason; `note` is the reason why there are
    no hits. If `complete` is false, the vault was still being read.
    """

    query: str
    hits: list[Hit]
    text: str
    tokens: int
    filtered: dict[str, int] = field(default_factory=dict)
    note: str = ""
    complete: bool = True
    now: datetime | None = None
    milliseconds: dict[str, float] = field(default_factory=dict)
    time: str = ""

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.hits)


@dataclass(frozen=True, slots=True)
class Context:
    """The fenced `text` that a chatbot reads before it answers.

    `parts` are its lines by part, such as user, promises and relevant.
    """

    text: str
    tokens: int
    parts: dict[str, list[str]] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


@dataclass(frozen=True, slots=True)
class Todo:
    """A promise, habit, open thread or friction."""

    id: str
    text: str
    stage: str
    when: str = ""
    path: str = ""
    persona: str | None = None
    key: str = ""
    due: datetime | None = None
    due_until: datetime | None = None
    done: datetime | None = None
    said_by: str = ""
    provenance: str = ""
    trust: float = 1.0


@dataclass(frozen=True, slots=True)
class Todos:
    """The promises of a stage, those due first."""

    todos: list[Todo]


@dataclass(frozen=True, slots=True)
class Settled:
    """The new stage of a promise."""

    id: str
    path: str
    stage: str
