"""The table of operations: one row for each public operation on a vault.

A row has the arguments, the handler, the HTTP form and the rules of an operation.
`VaultMemory`, the HTTP routes, the command line and the daemon read it; operations are
listed nowhere else. Its rows are of conversations, of memories and of the whole vault.
The module imports little, because the command line reads it first.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal

from engram.errors import BadRequestError, ForbiddenError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


Kind = Literal["text", "int", "float", "bool", "time", "list", "turns"]
CallFact = Literal["standing", "owner", "ready"]

CHATBOT = frozenset(("chat",))
"""Callers of an operation that changes the content of the vault."""

ANY_CALLER = frozenset(("chat", "import", "tool"))
"""Callers of an operation that reads or adds, and changes no existing content."""

READER = "read"
"""A caller that may only read; its questions are not recorded."""

_ADD_TURNS = frozenset(("observe", "begin_import"))
"""Operations that write to the journal and the state, and need no writer thread."""

_CALLERS = {"import": "an import", "tool": "a tool", READER: "a read-only token"}


@dataclass(frozen=True, slots=True)
class Param:
    """One argument of an operation.

    `positional` arguments come first on the command line. Times are ISO 8601 or words
    such as `yesterday`. A number is between `least` and `most`, both included.
    """

    name: str
    kind: Kind
    help: str
    required: bool = False
    positional: bool = False
    default: Any = None
    least: float = 0
    most: float = 0

    @property
    def is_number(self) -> bool:
        """Whether the argument is a number, which has a range."""
        return self.kind in {"int", "float"}

    @property
    def meaning(self) -> str:
        """The help text, with the range of a number."""
        if self.is_number:
            return f"{self.help}, {self.least} to {self.most}"
        return self.help


@dataclass(frozen=True, slots=True)
class Operation:
    """One public operation.

    `handler` is `part.method`: a method of one of the parts that `VaultMemory` builds.
    It takes the arguments of `params` by name, and those of `call_facts`: `standing`
    (the kind of token: chat, import or tool), `owner` (whether the owner's command line
    calls), `ready` (whether the index covers the whole vault).

    `help` is a short imperative sentence for the effect of the operation, followed by
    one or more about its output. `{id}` in `path` is an argument; `status` is the HTTP
    status of an answer. `callers` are the kinds of tokens that may call it. `writes`
    runs it in the writer thread; `waits` gives it a thread of its own, because it waits
    for the writer or for a model. The changes of an operation that `decides` are one
    run, whose id is in the result. After an operation that `retracts`, generated text
    that repeats a retracted statement is rewritten at once. `own_command` means that
    the command, if there is one, is a function in `serve/commands/`.
    """

    name: str
    handler: str
    method: str
    path: str
    help: str
    params: tuple[Param, ...] = ()
    _: KW_ONLY
    status: int = 200
    callers: frozenset[str] = CHATBOT
    call_facts: tuple[CallFact, ...] = ()
    writes: bool = False
    waits: bool = False
    decides: bool = False
    retracts: bool = False
    own_command: bool = False

    @property
    def summary(self) -> str:
        """The first sentence of the help text, without its full stop."""
        return self.help.partition(". ")[0].rstrip(".")

    @property
    def reads(self) -> bool:
        """Whether the operation changes nothing."""
        return not (self.writes or self.waits or self.name in _ADD_TURNS)

    def authorise(self, caller: str) -> None:
        """Raise ForbiddenError unless `caller` may call this operation (`X27`).

        `caller` is a kind of token, or `owner` for the owner's command line.
        """
        if caller == "owner" or caller in self.callers:
            return
        if caller == READER and self.reads:
            return
        may = "read" if caller == READER else "add and read"
        raise ForbiddenError(
            f"{_CALLERS[caller]} may {may}, not {self.name}",
            fix="Use the token of the chatbot.",
        )


ID = Param(
    "id",
    "text",
    "the id of a memory, an unambiguous prefix of it, or its path",
    required=True,
    positional=True,
)
ALL_PERSONAS = Param(
    "all_personas",
    "bool",
    "private memories of every persona too; only for the owner's command line",
    default=False,
)
ANY_ID = Param(
    "id",
    "text",
    "the id of a memory or of a turn, an unambiguous prefix of it, or the path of a memory",
    required=True,
    positional=True,
)

RUN = Param("run", "text", "the run of the import that it belongs to")
PERSONA = Param("persona", "text", "persona whose private memories count too")
SINCE = Param("since", "time", "only what is from this time on")
UNTIL = Param("until", "time", "only what is up to this time")
AFTER = Param("after", "text", "`next` of the page before")


DRY_RUN = Param(
    "dry_run", "bool", "show what would be done and change nothing", default=False
)

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "observe",
        "turns.observe",
        "POST",
        "/v1/turns",
        "Store turns of a conversation. The answer comes when they are on disk; memories are extracted later.",
        (
            Param(
                "turns",
                "turns",
                "objects with text, and optionally id, session, title (of the conversation), role, speaker, persona, private, record and occurred_at; or messages in OpenAI's form, with role and content",
            ),
            Param("messages", "turns", "the same as turns, under OpenAI's name"),
            Param("session", "text", "conversation of turns without one"),
            Param("persona", "text", "persona of turns without one"),
            Param("participants", "list", "names of the users, if there are several"),
            Param(
                "record",
                "bool",
                "whether the turns are stored; false: they are off the record",
                default=True,
            ),
            RUN,
        ),
        status=202,
        callers=ANY_CALLER,
        call_facts=("standing",),
        own_command=True,
    ),
    Operation(
        "begin_import",
        "turns.begin_import",
        "POST",
        "/v1/imports",
        "Begin an import, or continue the one of the same source. Shows the id of its run, an argument of `observe`, `remember` and `engram undo`.",
        (
            Param("file", "text", "the name of the file", required=True),
            Param("source", "text", "a hash of its content", required=True),
        ),
        callers=ANY_CALLER,
        own_command=True,
    ),
    Operation(
        "withdraw",
        "turn_operations.withdraw",
        "DELETE",
        "/v1/turns/{id}",
        "Withdraw a turn that was deleted in the chat. Hides it and the memories that only it supports, and shows which; the same words elsewhere stay. `engram restore` reverses this.",
        (
            Param(
                "id",
                "text",
                "the id under which the turn was sent, or the id of a hit",
                required=True,
                positional=True,
            ),
            Param("session", "text", "the conversation of the turn; main if absent"),
        ),
        writes=True,
        retracts=True,
    ),
    Operation(
        "flush",
        "turns.flush",
        "POST",
        "/v1/flush",
        "Extract memories from every waiting turn now. Returns when this is done, and shows how many turns were handled and how many are still waiting.",
        (
            Param("session", "text", "only the turns of this conversation"),
            Param(
                "background",
                "bool",
                "answer at once and extract in the background",
                default=False,
            ),
        ),
        callers=ANY_CALLER,
        waits=True,
    ),
    Operation(
        "recall",
        "retriever.recall",
        "POST",
        "/v1/recall",
        "Find the memories that answer a question. Lists the best hits first, each with its category, its source, its time, its id and its evidence.",
        (
            Param(
                "query",
                "text",
                "the question, or the words to search for",
                required=True,
                positional=True,
            ),
            Param("k", "int", "maximum number of hits", least=1, most=1000),
            Param(
                "budget",
                "int",
                "maximum number of tokens of the hits",
                least=1,
                most=100000,
            ),
            Param(
                "milliseconds",
                "int",
                "time limit; the answer has the hits found by then",
                least=1,
                most=60000,
            ),
            Param(
                "preset",
                "text",
                "how hits are ranked: balanced, belief (adds importance and use) or entity (adds recency and frequency)",
            ),
            Param("session", "text", "the conversation in which the question is asked"),
            Param("persona", "text", "persona whose private memories count too"),
            Param("as_of", "time", "answer from the memories of this time"),
            Param(
                "now",
                "time",
                "time of the question, from which words like 'last week' are counted; now if absent",
            ),
            Param(
                "kinds",
                "list",
                "return only this kind: fact, turn or note; may be repeated",
            ),
            Param(
                "archive",
                "bool",
                "always search archived memories too, not only if there are too few others",
                default=False,
            ),
            Param(
                "without_stale",
                "bool",
                "leave out memories that are stale or archived, unless they are protected",
                default=False,
            ),
            Param(
                "record",
                "bool",
                "whether the question counts as a use; false: it is off the record",
                default=True,
            ),
            ALL_PERSONAS,
            Param(
                "explain",
                "bool",
                "show how each hit was scored, and how many were filtered out and why",
                default=False,
            ),
        ),
        callers=ANY_CALLER,
        call_facts=("owner", "ready"),
    ),
    Operation(
        "context",
        "context.context",
        "POST",
        "/v1/context",
        "Show what a chatbot should know before its next answer. Prints who the user is, pinned memories, what is known of those whom QUERY names, the last conversation, open promises (overdue ones first), and the memories that match QUERY, in one text of limited length.",
        (
            Param("query", "text", "the user's latest message", positional=True),
            Param("session", "text", "the conversation in which the question is asked"),
            Param("persona", "text", "persona whose private memories count too"),
            Param(
                "budget",
                "int",
                "maximum number of tokens of the text",
                least=50,
                most=100000,
            ),
            Param(
                "with_question",
                "bool",
                "add one review question for the user, at most once a day",
            ),
            Param(
                "record",
                "bool",
                "whether the question counts as a use; false: it is off the record",
                default=True,
            ),
        ),
        callers=ANY_CALLER,
    ),
    Operation(
        "todos",
        "context.todos",
        "GET",
        "/v1/todos",
        "List promises, habits, open threads and frictions. Shows one line for each, with its stage, its date and its id.",
        (
            Param(
                "stage",
                "text",
                "which to list: open, fulfilled, expired, habit, thread, friction or all; open if absent",
                default="open",
            ),
            Param("persona", "text", "persona whose private promises count too"),
            ALL_PERSONAS,
        ),
        callers=ANY_CALLER,
        call_facts=("owner",),
    ),
    Operation(
        "settle",
        "memories.settle",
        "POST",
        "/v1/todos/{id}",
        "Mark a promise as fulfilled, expired or open. Shows its id, its note and its new stage.",
        (
            ID,
            Param(
                "stage",
                "text",
                "fulfilled or done (the default), expired or cancelled, or open",
                positional=True,
                default="fulfilled",
            ),
        ),
        writes=True,
        decides=True,
    ),
    Operation(
        "remember",
        "statements.remember",
        "POST",
        "/v1/memories",
        "Store a statement as a memory. Shows its id, its note, its category, and whether it was new or already known.",
        (
            Param(
                "text",
                "text",
                "the statement, in one sentence",
                required=True,
                positional=True,
            ),
            Param(
                "category",
                "text",
                "one of the categories; guessed from the text if absent",
            ),
            Param(
                "about",
                "list",
                "name of a person, place or thing that it is about; may be repeated",
            ),
            Param("tags", "list", "tag of the note; may be repeated"),
            Param(
                "importance",
                "float",
                "importance; estimated if absent",
                least=0,
                most=1,
            ),
            Param(
                "confidence",
                "float",
                "confidence; limited by the source",
                least=0,
                most=1,
            ),
            Param("persona", "text", "persona to which the memory is private"),
            Param(
                "private",
                "bool",
                "without a persona: recall it only for questions without a persona",
                default=False,
            ),
            Param("pinned", "bool", "never let the memory fade", default=False),
            Param("expires", "time", "time from which it is no longer true"),
            Param(
                "source_id",
                "text",
                "its id in the program from which it is imported; stored once for each id, with the trust of an import",
            ),
            Param("occurred_at", "time", "time at which it was said"),
            Param(
                "agent",
                "bool",
                "an agent says it, and the user did not ask for it: stored with the trust of an assistant",
                default=False,
            ),
            RUN,
        ),
        writes=True,
        decides=True,
        callers=ANY_CALLER,
        call_facts=("standing",),
    ),
    Operation(
        "list",
        "memory_list.page",
        "GET",
        "/v1/memories",
        "List memories, newest first. Shows one line for each, and how to get the next page.",
        (
            Param(
                "status",
                "text",
                "which to list: active, archived, superseded, invalidated, pruned, forgotten, review or all; active if absent",
                default="active",
            ),
            Param("category", "text", "only this category"),
            Param("about", "text", "only memories about this person, place or thing"),
            Param(
                "stage",
                "text",
                "only memories of this stage: candidate, validated, active, core, stale or archived",
            ),
            Param("since", "time", "only memories learned from this time on"),
            Param("until", "time", "only memories learned up to this time"),
            Param("persona", "text", "persona whose private memories count too"),
            ALL_PERSONAS,
            Param(
                "limit",
                "int",
                "number of memories on a page",
                default=20,
                least=1,
                most=1000,
            ),
            Param("after", "text", "`next` of the page before"),
        ),
        callers=ANY_CALLER,
        call_facts=("owner",),
    ),
    Operation(
        "timeline",
        "overview.timeline",
        "GET",
        "/v1/timeline",
        "Count the memories of each day. Shows one line for each day on which something was learned.",
        (
            Param("since", "time", "only days from this one on"),
            Param("until", "time", "only days up to this one"),
            Param("persona", "text", "persona whose private memories count too"),
            ALL_PERSONAS,
        ),
        callers=ANY_CALLER,
        call_facts=("owner",),
    ),
    Operation(
        "entities",
        "overview.entities",
        "GET",
        "/v1/entities",
        "List people, places and things, those with the most memories first. Shows the type, the other names, the relations and the number of memories of each.",
        (
            Param(
                "name", "text", "only the one of this name or alias", positional=True
            ),
            Param(
                "type",
                "text",
                "only this type: person, animal, org, place, project, tool, event or concept",
            ),
            Param("persona", "text", "persona whose private memories count too"),
            ALL_PERSONAS,
        ),
        callers=ANY_CALLER,
        call_facts=("owner",),
    ),
    Operation(
        "neighbours",
        "overview.neighbours",
        "GET",
        "/v1/memories/{id}/neighbours",
        "Show the neighbourhood of a memory or an entity. Shows the memories, people, places and things within two steps, and the relations between them.",
        (
            Param(
                "id",
                "text",
                "the id of a memory, an unambiguous prefix of it, or the name of an entity",
                required=True,
                positional=True,
            ),
            Param(
                "limit", "int", "maximum number of nodes", default=60, least=1, most=300
            ),
            Param("persona", "text", "persona whose private memories count too"),
            ALL_PERSONAS,
        ),
        callers=ANY_CALLER,
        call_facts=("owner",),
    ),
    Operation(
        "show",
        "explainer.show",
        "GET",
        "/v1/memories/{id}",
        "Show one memory, or an entity, a storyline or a macro by its name or path. Prints its fields and the text of its note.",
        (
            ID,
            Param(
                "forecast",
                "int",
                "number of days for which to forecast its changes without use",
                least=1,
                most=3650,
            ),
        ),
        callers=ANY_CALLER,
    ),
    Operation(
        "why",
        "explainer.why",
        "GET",
        "/v1/memories/{id}/why",
        "Explain where a memory comes from. Shows the turns behind it, its stage with the reason, and each change made to it.",
        (ID,),
        callers=ANY_CALLER,
    ),
    Operation(
        "history",
        "views.history",
        "GET",
        "/v1/memories/{id}/history",
        "Show what a memory replaced and what replaced it. Prints every version, the oldest first, and each decision on them.",
        (ID,),
        callers=ANY_CALLER,
    ),
    Operation(
        "sessions",
        "views.sessions",
        "GET",
        "/v1/sessions",
        "List conversations, the latest first. Shows the time, the number of turns and the summary of each stretch without a long silence.",
        (
            Param("session", "text", "only this conversation"),
            SINCE,
            UNTIL,
            Param("persona", "text", "persona whose conversations are listed"),
            ALL_PERSONAS,
            Param(
                "limit",
                "int",
                "number of stretches on a page",
                default=20,
                least=1,
                most=1000,
            ),
            AFTER,
        ),
        callers=ANY_CALLER,
        call_facts=("owner",),
    ),
    Operation(
        "session",
        "views.session",
        "GET",
        "/v1/sessions/{id}",
        "Show what was said in one stretch of a conversation. Prints its turns, without forgotten sentences.",
        (
            Param(
                "id",
                "text",
                "the id of a stretch, as `engram sessions` lists it, or its path",
                required=True,
                positional=True,
            ),
            PERSONA,
            ALL_PERSONAS,
        ),
        callers=ANY_CALLER,
        call_facts=("owner",),
    ),
    Operation(
        "changes",
        "turn_operations.changes",
        "GET",
        "/v1/changes",
        "List what changed since a mark, for clients that keep a copy. Shows changed and removed memories, turns and notes, and the mark for the next call.",
        (
            Param(
                "since", "text", "`next` of the call before; without it only the mark"
            ),
            PERSONA,
            ALL_PERSONAS,
            Param("limit", "int", "most changes", default=100, least=1, most=1000),
        ),
        callers=ANY_CALLER,
        call_facts=("owner",),
    ),
    Operation(
        "digest",
        "digest.digest",
        "GET",
        "/v1/digest",
        "Show what was learned, changed and ended in a span, and what is due. Lists at most 25 memories of each kind, those of a week if no time is named.",
        (SINCE, PERSONA, ALL_PERSONAS),
        callers=ANY_CALLER,
        call_facts=("owner",),
    ),
    Operation(
        "merge",
        "requested.merge",
        "POST",
        "/v1/merge",
        "Merge two memories that say the same, or two names of one person, place or thing. The first one stays and gets the evidence or the names of the second; `engram undo` reverses this.",
        (
            Param(
                "id",
                "text",
                "the id of a memory, or the name of a person, place or thing",
                required=True,
                positional=True,
            ),
            Param(
                "other",
                "text",
                "the id or the name of the one that is the same",
                required=True,
                positional=True,
            ),
            DRY_RUN,
        ),
        writes=True,
    ),
    Operation(
        "synthesize",
        "requested.synthesize",
        "POST",
        "/v1/synthesize",
        "Conclude one note from the memories about a person, place, thing or subject. It names its sources, which do not change; with a model it is a text, otherwise a list. `engram undo` reverses this.",
        (
            Param(
                "about",
                "text",
                "a name, or words for the subject of the note",
                required=True,
                positional=True,
            ),
            DRY_RUN,
        ),
        waits=True,
    ),
    Operation(
        "update",
        "memories.update",
        "PATCH",
        "/v1/memories/{id}",
        "Pin, unpin, restore, promote or demote a memory. Shows the front-matter keys that changed.",
        (
            ANY_ID,
            Param("pinned", "bool", "whether the memory never fades"),
            Param(
                "status",
                "text",
                "active, to bring an archived or forgotten memory back",
            ),
            Param(
                "layer",
                "text",
                "up: keep it for long; down: let it fade like an episode",
            ),
        ),
        writes=True,
        decides=True,
        own_command=True,
    ),
    Operation(
        "sensitivity",
        "memories.sensitivity",
        "POST",
        "/v1/memories/{id}/sensitivity",
        "Set how sensitive a memory is. A memory of level high is given to no model; only the owner's command line and the persona that its note names may see it. Shows who may see it from now on.",
        (
            ID,
            Param(
                "level", "text", "low, normal or high", required=True, positional=True
            ),
        ),
        call_facts=("owner",),
        writes=True,
        decides=True,
        retracts=True,
    ),
    Operation(
        "forget",
        "memories.forget",
        "DELETE",
        "/v1/memories/{id}",
        "Stop recalling a memory or a turn. Hides every sentence that says the same, and shows the hidden memories and turns. No file is deleted; `engram restore` reverses this.",
        (
            ANY_ID,
            Param("reason", "text", "reason, kept in the note and in the action log"),
            Param(
                "dry_run",
                "bool",
                "show the turns that support the memory and the other memories from them, and change nothing",
                default=False,
            ),
        ),
        writes=True,
        decides=True,
        retracts=True,
    ),
    Operation(
        "correct",
        "statements.correct",
        "POST",
        "/v1/memories/{id}/correct",
        "Replace the statement of a memory. The old one is superseded and does not come back; shows the id and the note of the new one.",
        (
            ID,
            Param(
                "text",
                "text",
                "the statement that is true instead",
                required=True,
                positional=True,
            ),
        ),
        writes=True,
        decides=True,
        retracts=True,
    ),
    Operation(
        "confirm",
        "memories.confirm",
        "POST",
        "/v1/memories/{id}/confirm",
        "Record that a memory is true. Shows its id, its note and how it is verified.",
        (ID,),
        writes=True,
        decides=True,
    ),
    Operation(
        "dispute",
        "memories.dispute",
        "POST",
        "/v1/memories/{id}/dispute",
        "Record that a memory is doubtful. It stays and ranks lower; shows its id, its note and how it is verified.",
        (ID,),
        writes=True,
        decides=True,
    ),
    Operation(
        "review",
        "questions.listed",
        "GET",
        "/v1/review",
        "List the cases that wait for a decision. Shows doubtful memories and conflicts by subject, each with its evidence and the possible answers; at most three new ones a week, the rest waits.",
        (
            Param("all", "bool", "list every case, not only three new ones a week"),
            Param(
                "id",
                "text",
                "id, unambiguous prefix of the id, or path of the only case to list",
            ),
        ),
        own_command=True,
    ),
    Operation(
        "decide",
        "review.answer",
        "POST",
        "/v1/review/{id}",
        "Decide a case of the review queue. Shows the case and what was changed.",
        (
            Param(
                "id",
                "text",
                "the id of a case, an unambiguous prefix of it, or its path",
                required=True,
                positional=True,
            ),
            Param(
                "decision",
                "text",
                "keep or drop; newer, both or older; approve or reject",
                required=True,
                positional=True,
            ),
        ),
        writes=True,
        retracts=True,
        own_command=True,
    ),
    Operation(
        "consolidate",
        "maintenance.consolidate",
        "POST",
        "/v1/consolidate",
        "Run maintenance now. Archives, merges and ends memories that are due, and shows each change with its reason.",
        (
            Param(
                "cadence",
                "text",
                "which passes to run: talk, nightly or weekly",
                default="nightly",
            ),
            Param("only", "text", "the only pass to run"),
            Param(
                "dry_run",
                "bool",
                "show what would be done and change nothing",
                default=False,
            ),
        ),
        waits=True,
        own_command=True,
    ),
    Operation(
        "runs",
        "maintenance.runs",
        "GET",
        "/v1/runs",
        "List the latest runs: maintenance, imports, and statements that ended known facts as they were filed. Shows the id, the time and the changes of each, and whether it can still be undone.",
        (
            Param(
                "last", "int", "maximum number of runs", default=20, least=1, most=1000
            ),
        ),
    ),
    Operation(
        "undo",
        "maintenance.undo",
        "POST",
        "/v1/runs/{id}/undo",
        "Undo a run, by default the latest change that is no scheduled run. Restores its files byte for byte, except those edited since; of an import, hides what it stored. Shows each change.",
        (
            Param(
                "id",
                "text",
                "the id of a run, or an unambiguous prefix of it; `last` for the latest change",
                default="last",
                positional=True,
            ),
            Param(
                "dry_run",
                "bool",
                "show what would be done and change nothing",
                default=False,
            ),
        ),
        writes=True,
    ),
    Operation(
        "prune",
        "maintenance.prune",
        "POST",
        "/v1/prune",
        "Archive unprotected memories of very low confidence. Shows each change; `engram undo` reverses the run.",
        (
            Param(
                "threshold",
                "float",
                "confidence, reduced by age, below which a memory is archived; 0.05 if absent",
                least=0,
                most=1,
            ),
            Param(
                "dry_run",
                "bool",
                "show what would be done and change nothing",
                default=False,
            ),
        ),
        writes=True,
    ),
    Operation(
        "purge",
        "purging.purge",
        "POST",
        "/v1/purge",
        "Delete memories and turns for good, from every store. Shows what would be deleted; with --yes deletes it and searches all files for remaining words. It cannot be undone, and older git commits still contain it.",
        (
            Param(
                "ids",
                "list",
                "ids of memories and of turns, or unambiguous prefixes",
                positional=True,
            ),
            Param("session", "text", "every turn of this conversation"),
            Param(
                "about",
                "text",
                "everything about the person, place or thing with this name",
            ),
            Param("trash", "bool", "only empty `.trash/`", default=False),
            Param("yes", "bool", "delete; without it nothing changes", default=False),
            Param(
                "dry_run",
                "bool",
                "list what would be deleted and change nothing",
                default=False,
            ),
        ),
        call_facts=("owner",),
        writes=True,
    ),
    Operation(
        "forecast",
        "maintenance.forecast",
        "GET",
        "/v1/forecast",
        "Forecast the changes of unused memories. Shows the day on which each becomes stale, ends or is archived, and why.",
        (
            Param("days", "int", "how many days ahead", default=30, least=1, most=3650),
            Param(
                "curve",
                "bool",
                "add the values of each memory over time",
                default=False,
            ),
        ),
        writes=True,
        own_command=True,
    ),
    Operation(
        "reindex",
        "files.reindex",
        "POST",
        "/v1/reindex",
        "Rebuild the index from the files of the vault. Shows the seconds it took, and counts of memories, turns and files.",
        writes=True,
        own_command=True,
    ),
    Operation(
        "doctor",
        "health.doctor",
        "POST",
        "/v1/doctor",
        "Check vault, journal, index and models for problems. Shows each problem with its place and its fix.",
        (
            Param(
                "accept_deletions",
                "bool",
                "accept that many notes were deleted at once",
                default=False,
            ),
            Param(
                "calibrate",
                "bool",
                "add the calibration of the embedding model's similarities in this vault",
                default=False,
            ),
        ),
        waits=True,
    ),
    Operation(
        "stats",
        "health.stats",
        "GET",
        "/v1/stats",
        "Count memories, turns and files. Shows one line for each count, and how many turns wait.",
        callers=ANY_CALLER,
        own_command=True,
    ),
    Operation(
        "status",
        "health.status",
        "GET",
        "/v1/status",
        "Show the state of the daemon, and the parts that do not work.",
        callers=ANY_CALLER,
        call_facts=("ready",),
        own_command=True,
    ),
)


if TYPE_CHECKING:
    Handler = Callable[..., dict[str, Any]]

BY_NAME = {operation.name: operation for operation in OPERATIONS}


def handlers(parts: Mapping[str, object]) -> dict[str, Handler]:
    """Return the method that carries out each operation, by the name of the operation.

    `parts` are the objects that the handlers name, as `{"memories": …}`.
    """
    methods: dict[str, Handler] = {}
    for operation in OPERATIONS:
        part, _, method = operation.handler.partition(".")
        methods[operation.name] = getattr(parts[part], method)
    return methods


def named(name: str) -> Operation:
    """Return the operation of this name; raise BadRequestError if there is none."""
    operation = BY_NAME.get(name)
    if operation is None:
        raise BadRequestError(
            f"there is no operation {name!r}", fix=f"Use one of: {', '.join(BY_NAME)}."
        )
    return operation


def checked(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with defaults filled in.

    Lone surrogates, which JSON can contain and UTF-8 cannot, become U+FFFD. Raises
    BadRequestError for arguments that are missing, unknown or of the wrong type.
    """
    operation = named(name)
    known = {param.name: param for param in operation.params}
    faults = [
        f"unknown argument {extra!r}" for extra in arguments if extra not in known
    ]
    result: dict[str, Any] = {}
    for param in operation.params:
        value = arguments.get(param.name)
        if value is None:
            if param.required:
                faults.append(f"missing argument {param.name!r}")
            result[param.name] = param.default
        elif not _fits(param, value):
            faults.append(_misfit(param))
        else:
            result[param.name] = _clean(value)
    if (persona := result.get("persona")) is not None and (
        fault := _persona_fault(persona)
    ):
        faults.append(fault)
    if faults:
        raise BadRequestError(
            "; ".join(faults),
            where=name,
            fix=f"It takes: {', '.join(known) or 'nothing'}.",
        )
    return result


def _persona_fault(persona: str) -> str:
    """Return why no persona can have this name, or ''; imports late, for `--help`."""
    from engram.core.personas import name_fault

    return name_fault(persona)


def _clean(value: Any) -> Any:
    """Return the value with lone surrogates replaced by U+FFFD."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return value


def _misfit(param: Param) -> str:
    if not param.is_number:
        return f"argument {param.name!r} is not of kind {param.kind}"
    number = "a whole number" if param.kind == "int" else "a number"
    return (
        f"argument {param.name!r} must be {number} from {param.least} to {param.most}"
    )


def _fits(param: Param, value: Any) -> bool:
    kind = param.kind
    if param.is_number:
        types = int if kind == "int" else (int, float)
        is_number = isinstance(value, types) and not isinstance(value, bool)
        return is_number and bool(param.least <= value <= param.most)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "list":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind == "turns":
        return isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return isinstance(value, str)
