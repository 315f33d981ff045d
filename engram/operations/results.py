"""The results of operations as types: for the Python client and for OpenAPI.

`typed` makes a value from the JSON of a result, `schema` describes its type. Times are
aware. Keys of the JSON without a field in the type are left out; `Memory.call` returns
all keys.
"""

from __future__ import annotations

import types
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

if TYPE_CHECKING:
    from engram.operations.table import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Sourced:
    """Something with its source: its class, its name, and the trust in it (0–1)."""

    said_by: str = ""
    provenance: str = ""
    trust: float = 1.0


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """Numbers of memories, turns, notes, conversations, files and problems."""

    facts: int
    turns: int
    notes: int
    sessions: int
    files: int
    problems: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Counts(UnitCounts):
    """The same, with the numbers of waiting turns by their state."""

    waiting_turns: int
    distilling_turns: int
    parked_turns: int
    dead_turns: int


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
class Hit(Sourced):
    """A recalled memory, turn or note, with its evidence and its source.

    `kind` is fact, turn or note. `ended` is the day on which its statement ceased to be
    true, '' if it is true. `dates` are pairs of words for a time and the date.
    `parts` are the summands of the score, for `explain`.
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
    no hits. If `complete` is false, the vault was still being read. `mode` is `words`, or
    `meaning` if vectors ranked the hits too.
    """

    query: str
    hits: list[Hit]
    text: str
    tokens: int
    filtered: dict[str, int] = field(default_factory=dict)
    note: str = ""
    complete: bool = True
    mode: str = ""
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
class Todo(Sourced):
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
    run: str = ""


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
    run: str = ""


@dataclass(frozen=True, slots=True)
class RememberedAll:
    """The memories of statements, in their order."""

    memories: list[Remembered]
    run: str = ""


@dataclass(frozen=True, slots=True)
class CorrectedMemory:
    """The new memory, and the id of the one that it corrects."""

    id: str
    corrects: str
    text: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The sensitivity of a memory now, and who may see it."""

    id: str
    path: str
    sensitivity: str
    known_to: str
    run: str = ""


@dataclass(frozen=True, slots=True)
class Verified:
    """The verification of a memory now: user_confirmed or disputed."""

    id: str
    path: str
    verification: str
    run: str = ""


@dataclass(frozen=True, slots=True)
class Updated:
    """The keys of the front matter that changed."""

    id: str
    path: str
    changed: list[str]
    run: str = ""


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
    run: str = ""


@dataclass(frozen=True, slots=True)
class ListedMemory(Sourced):
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


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Memories, the newest first; `next` is the argument `after` of the next page."""

    memories: list[ListedMemory]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Shown(Sourced):
    """A memory with its note, use and weight; or an entity, a storyline or a macro."""

    memory: dict[str, Any] = field(default_factory=dict)
    entity: dict[str, Any] = field(default_factory=dict)
    storyline: dict[str, Any] = field(default_factory=dict)
    macro: dict[str, Any] = field(default_factory=dict)
    markdown: str = ""
    problems: list[dict[str, Any]] = field(default_factory=list)
    forgotten: str = ""
    protected: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    worth: dict[str, Any] = field(default_factory=dict)
    related: list[dict[str, Any]] = field(default_factory=list)
    memories: int = 0


@dataclass(frozen=True, slots=True)
class SaidTurn(Sourced):
    """A turn of a conversation; `key` is its id in the vault.

    `memories` rest on it; they are listed with a conversation alone.
    """

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
    memories: list[StatedText] = field(default_factory=list)


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
class Explained(Sourced):
    """The turns behind a memory, its stage, and each decision on it."""

    memory: dict[str, Any]
    turns: list[SaidTurn]
    decisions: list[LoggedDecision]
    stage: str = ""
    stage_why: str = ""
    protected: str | None = None
    reworded: str = ""
    forgotten: str = ""


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
class CaseStatement(Sourced):
    """A statement of a review case, with its evidence."""

    id: str
    text: str
    path: str = ""
    status: str = ""
    when: str | None = None
    evidence: str = ""


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
    ticked: str | None = None
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


@dataclass(frozen=True, slots=True)
class RunAction:
    """An action of a run on a memory or a file, with its reason.

    `name` is the pass, `memory` an id ('' for other files), `path` the file before it
    ('' for a new one) and `to` the file after it.
    """

    name: str
    memory: str
    path: str
    to: str
    why: str


@dataclass(frozen=True, slots=True)
class RunReport:
    """The result of a run, or with `dry_run` of its plan; its changes are `actions`.

    `run` is its id for `undo`, '' if it wrote nothing. `deferred`, `failures`, `held`
    and `frozen` have the reasons for changes that were not made. `left_alone` counts
    memories that belong to a user, and `unanswered` questions without an answer;
    `model` is the reason why no model answered. `kept` and `merged` are the statements
    or names of `merge`.
    """

    run: str
    cadence: str
    started: datetime
    ended: datetime
    actions: list[RunAction]
    deferred: dict[str, str] = field(default_factory=dict)
    left_alone: dict[str, int] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    unanswered: dict[str, int] = field(default_factory=dict)
    findings: list[RunAction] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    held_actions: list[RunAction] = field(default_factory=list)
    frozen: str = ""
    dry_run: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    model: str = ""
    kept: str = ""
    merged: str = ""


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """A run that was made; `file` is that of an import.

    `memories` are those that a decision, or the filing of a turn, made or changed.
    """

    id: str
    at: str
    cadence: str
    counts: dict[str, int]
    can_be_undone: bool
    ended: str = ""
    file: str = ""
    failures: dict[str, str] = field(default_factory=dict)
    memories: list[StatedText] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LoggedRuns:
    """The latest runs, newest first."""

    runs: list[LoggedRun]


@dataclass(frozen=True, slots=True)
class ComingChange:
    """A coming change of a memory without use: its time, kind and reason.

    `curve` are the values of the memory until then, 0–1.
    """

    id: str
    path: str
    text: str
    at: datetime
    what: str
    why: str
    heat: float
    feedback: float
    curve: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ComingChanges:
    """The changes of the next `days`, the soonest first."""

    days: int
    coming: list[ComingChange]


@dataclass(frozen=True, slots=True)
class Reindexed(UnitCounts):
    """The seconds that a rebuild took, and the content of the index."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """A problem; `level` is error, warning or notice."""

    level: str
    code: str
    what: str
    where: str = ""
    line: int | None = None
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The problems of a vault; notices do not make it unhealthy."""

    healthy: bool
    findings: list[Diagnosed]
    scale: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BlockedTurns:
    """Turns of a file from which no memory can be extracted now."""

    where: str
    state: str
    turns: int
    reason: str


@dataclass(frozen=True, slots=True)
class VaultCounts(Counts):
    """Numbers of memories, turns, notes and files, and of waiting turns by state."""

    vault: str
    blocked: list[BlockedTurns]


@dataclass(frozen=True, slots=True)
class VaultStatus(Counts):
    """The state of the process that has the vault open, and its faults.

    `learned_by` says what the rules read and what a model would add, '' with a model.
    """

    vault: str
    place: str
    pid: int
    ready: bool
    uptime_seconds: float
    extractor: str
    learned_by: str
    faults: dict[str, str]
    model_faults: int
    budget: dict[str, Any]
    held: dict[str, Any]
    next_consolidation: datetime
    said_again: str = ""
    meaning: str = ""
    run: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PurgedText:
    """A deleted or remaining memory with its words; `left` is the rest of a turn."""

    id: str
    text: str = ""
    left: str = ""


@dataclass(frozen=True, slots=True)
class LeftWords:
    """A file that still contains purged words, and the reason."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class SearchedStore:
    """The amount of a store that was searched; a database has `rows`."""

    files: int
    bytes: int
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Purged:
    """The purged content or, with `dry_run`, the plan; `stay` loses evidence.

    `similar` are statements that resemble a purged one and stay.

    `clean` is true if a search found no purged word, else `left` has the places.
    `traces` is the number of sentences, names and words that were searched for. If the
    trash was emptied, there are `removed` and `failures` instead.
    """

    dry_run: bool
    memories: list[PurgedText] = field(default_factory=list)
    turns: list[PurgedText] = field(default_factory=list)
    stay: list[PurgedText] = field(default_factory=list)
    similar: list[SimilarText] = field(default_factory=list)
    memory_count: int = 0
    turn_count: int = 0
    clean: bool = True
    left: list[LeftWords] = field(default_factory=list)
    searched: dict[str, SearchedStore] = field(default_factory=dict)
    traces: int = 0
    history: dict[str, Any] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


T = TypeVar("T")

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


# -- JSON and types --------------------------------------------------------------------


def of(operation: Operation) -> type:
    """Return the type of the result of an operation."""
    kind: type = globals()[operation.result]
    return kind


def typed(kind: type[T], value: Any) -> T:
    """Return the JSON of a result as a value of its type."""
    made: T = _value(kind, value)
    return made


def _value(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, type) and is_dataclass(kind):
        known = {
            name: _value(hint, value[name])
            for name, hint in _hints(kind).items()
            if name in value
        }
        return kind(**known)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return _value(arguments[0], value)
    if origin is list:
        return [_value(arguments[0], item) for item in value]
    if origin is dict:
        return {key: _value(arguments[1], item) for key, item in value.items()}
    if kind is datetime:
        return datetime.fromisoformat(value)
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def schema(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type; dataclasses inside are references."""
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return {"$ref": f"#/components/schemas/{kind.__name__}"}
    if origin in {Union, types.UnionType}:
        return {"anyOf": [schema(arguments[0]), {"type": "null"}]}
    if origin is list:
        return {"type": "array", "items": schema(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema(arguments[1])}
    if kind is datetime:
        return {"type": "string", "format": "date-time"}
    return {"type": _PLAIN[kind]} if kind in _PLAIN else {}


def schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of every type here, by name."""
    found: dict[str, dict[str, Any]] = {}
    kinds = [one for one in globals().values() if isinstance(one, type)]
    for kind in filter(is_dataclass, kinds):
        hints = _hints(kind)
        found[kind.__name__] = {
            "type": "object",
            "description": " ".join((kind.__doc__ or "").split()),
            "properties": {name: schema(hint) for name, hint in hints.items()},
            "required": [
                one.name
                for one in fields(kind)
                if one.default is MISSING and one.default_factory is MISSING
            ],
        }
    return dict(sorted(found.items()))
