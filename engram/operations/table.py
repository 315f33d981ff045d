"""The table of operations: one row for each public verb of a vault.

A row holds the arguments, the handler, the HTTP form and the rules of a verb. `Memory`,
the HTTP routes, the command line and the daemon read it; nothing else lists operations.
The module imports little, because the command line reads it before anything else.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal

from engram.errors import BadRequestError, ForbiddenError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Handler = Callable[..., dict[str, Any]]

Kind = Literal["text", "int", "float", "bool", "time", "list", "turns"]
CallFact = Literal["standing", "owner", "ready"]

CHATBOT = frozenset(("chat",))
"""Callers of an operation that changes what is in the vault."""

ANY_CALLER = frozenset(("chat", "import", "tool"))
"""Callers of an operation that reads or adds, and changes nothing that is there."""

_CALLERS = {"import": "an import", "tool": "a tool"}


@dataclass(frozen=True, slots=True)
class Param:
    """One argument of an operation.

    `positional` arguments come first on the command line. Times are ISO 8601. A number
    is between `least` and `most`, both included.
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
    """One public verb.

    `handler` is `part.method`: a method of one of the parts that `Memory` builds. It
    takes the arguments of `params` by name, and what `call_facts` lists: `standing` (the
    kind of token: chat, import or tool), `owner` (whether the owner's command line
    calls), `ready` (whether the index covers the whole vault).

    `{id}` in `path` is an argument; `status` is the HTTP status of an answer. `callers`
    are the kinds of tokens that may call it. `writes` sends it through the writer
    thread; `waits` gives it a thread of its own, because it waits for the writer or for
    a model. After an operation that `retracts`, generated text that repeats a retracted
    statement is rewritten at once. `own_command` means that `serve/commands.py` defines
    its command by hand, if it has one.
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
    retracts: bool = False
    own_command: bool = False

    def authorise(self, caller: str) -> None:
        """Raise ForbiddenError where `caller` may not call this operation (`X27`).

        `caller` is a kind of token, or `owner` for the owner's command line.
        """
        if caller == "owner" or caller in self.callers:
            return
        raise ForbiddenError(
            f"{_CALLERS[caller]} may add and read, not {self.name}",
            fix="Use the token of the chatbot.",
        )


_ID = Param(
    "id",
    "text",
    "a memory's id, an unambiguous prefix of it, or its path",
    required=True,
    positional=True,
)
_ANY_ID = Param(
    "id",
    "text",
    "a memory's id, a turn's as recall shows it, an unambiguous prefix of either, or a memory's path",
    required=True,
    positional=True,
)

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "observe",
        "turns.observe",
        "POST",
        "/v1/turns",
        "take turns of a conversation; acknowledged when they are on disk",
        (
            Param(
                "turns",
                "turns",
                "objects with text; id, session, role, speaker, persona, occurred_at",
                required=True,
            ),
        ),
        status=202,
        callers=ANY_CALLER,
        call_facts=("standing",),
        own_command=True,
    ),
    Operation(
        "flush",
        "turns.flush",
        "POST",
        "/v1/flush",
        "distil every waiting turn now and wait for it",
        (
            Param("session", "text", "only this conversation"),
            Param("background", "bool", "answer at once and go on", default=False),
        ),
        callers=ANY_CALLER,
        waits=True,
    ),
    Operation(
        "recall",
        "retriever.recall",
        "POST",
        "/v1/recall",
        "find the few memories that matter, with their evidence",
        (
            Param("query", "text", "what to look for", required=True, positional=True),
            Param("k", "int", "most hits", least=1, most=1000),
            Param("budget", "int", "most tokens", least=1, most=100000),
            Param(
                "milliseconds",
                "int",
                "milliseconds after which the answer is what is found by then",
                least=1,
                most=60000,
            ),
            Param(
                "preset",
                "text",
                "scorer: balanced, belief (importance, use) or entity (what is new and frequent)",
            ),
            Param("session", "text", "the conversation that asks"),
            Param("persona", "text", "whose memories besides everybody's"),
            Param("as_of", "time", "answer from what was believed then"),
            Param(
                "now", "time", "the time of the question, for words like 'last week'"
            ),
            Param("kinds", "list", "only these kinds: fact, turn, note"),
            Param(
                "archive",
                "bool",
                "archived memories too, not only where the others are too few",
                default=False,
            ),
            Param(
                "explain",
                "bool",
                "show the parts of each score and what was filtered",
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
        "what to know before the next answer: foundation, last conversation, promises, what is relevant",
        (
            Param("query", "text", "what the user just said", positional=True),
            Param("session", "text", "the conversation that asks"),
            Param("persona", "text", "whose memories besides everybody's"),
            Param("budget", "int", "most tokens", least=50, most=100000),
        ),
        callers=ANY_CALLER,
    ),
    Operation(
        "todos",
        "context.todos",
        "GET",
        "/v1/todos",
        "what was promised: open, fulfilled, expired; habits, what was left open, what goes wrong",
        (
            Param(
                "stage",
                "text",
                "open, fulfilled, expired, habit, thread, friction or all",
                default="open",
            ),
            Param("persona", "text", "whose promises besides everybody's"),
        ),
        callers=ANY_CALLER,
    ),
    Operation(
        "settle",
        "memories.settle",
        "POST",
        "/v1/todos/{id}",
        "say what became of a promise",
        (
            _ID,
            Param(
                "stage",
                "text",
                "fulfilled, expired, or open again",
                positional=True,
                default="fulfilled",
            ),
        ),
        writes=True,
    ),
    Operation(
        "remember",
        "statements.remember",
        "POST",
        "/v1/memories",
        "keep a statement",
        (
            Param("text", "text", "the statement", required=True, positional=True),
            Param("category", "text", "one of the ten categories; guessed when absent"),
            Param("about", "list", "names of people, places or things"),
            Param("tags", "list", "tags"),
            Param("importance", "float", "scored when absent", least=0, most=1),
            Param("persona", "text", "private to this persona"),
            Param("pinned", "bool", "never let it fade", default=False),
            Param("expires", "time", "when it stops being true"),
        ),
        writes=True,
        callers=ANY_CALLER,
        call_facts=("standing",),
    ),
    Operation(
        "show",
        "explainer.show",
        "GET",
        "/v1/memories/{id}",
        "one memory with everything known of it",
        (_ID,),
        callers=ANY_CALLER,
    ),
    Operation(
        "why",
        "explainer.why",
        "GET",
        "/v1/memories/{id}/why",
        "the turns a memory came from, its stage and each decision on it",
        (_ID,),
        callers=ANY_CALLER,
    ),
    Operation(
        "update",
        "memories.update",
        "PATCH",
        "/v1/memories/{id}",
        "pin, unpin, restore, promote or demote a memory",
        (
            _ANY_ID,
            Param("pinned", "bool", "pin or unpin"),
            Param("status", "text", "active: bring it back"),
            Param(
                "layer",
                "text",
                "up or down: let it last, or let it pass like an episode",
            ),
        ),
        writes=True,
        own_command=True,
    ),
    Operation(
        "forget",
        "memories.forget",
        "DELETE",
        "/v1/memories/{id}",
        "stop recalling a memory or a turn, and every sentence that says the same; files stay, notes marked forgotten",
        (_ANY_ID, Param("reason", "text", "why, for the record")),
        writes=True,
        retracts=True,
    ),
    Operation(
        "correct",
        "statements.correct",
        "POST",
        "/v1/memories/{id}/correct",
        "replace what a memory says; the old statement does not come back",
        (
            _ID,
            Param(
                "text", "text", "what is true instead", required=True, positional=True
            ),
        ),
        writes=True,
        retracts=True,
    ),
    Operation(
        "confirm",
        "memories.confirm",
        "POST",
        "/v1/memories/{id}/confirm",
        "say that a memory is true",
        (_ID,),
        writes=True,
    ),
    Operation(
        "dispute",
        "memories.dispute",
        "POST",
        "/v1/memories/{id}/dispute",
        "say that a memory is doubtful; it stays and ranks lower",
        (_ID,),
        writes=True,
    ),
    Operation(
        "review",
        "cases.listed",
        "GET",
        "/v1/review",
        "what waits for you: doubtful memories and conflicts, with their evidence and the answers they take",
        (
            Param(
                "id",
                "text",
                "only this case: its id, an unambiguous prefix of it, or its path",
            ),
        ),
        own_command=True,
    ),
    Operation(
        "decide",
        "review.answer",
        "POST",
        "/v1/review/{id}",
        "answer a case that waits for you",
        (
            Param(
                "id",
                "text",
                "the case: its id, an unambiguous prefix of it, or its path",
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
        "put the vault in order now: what has faded, ended or doubled",
        (
            Param(
                "cadence", "text", "talk, light, nightly or weekly", default="nightly"
            ),
            Param("only", "text", "only this pass"),
            Param(
                "dry_run", "bool", "say what it would do, change nothing", default=False
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
        "the latest runs of consolidation: what each did, and whether it can be taken back",
        (Param("last", "int", "how many", default=20, least=1, most=1000),),
    ),
    Operation(
        "undo",
        "maintenance.undo",
        "POST",
        "/v1/runs/{id}/undo",
        "take a run of consolidation back, byte for byte; what was edited since stays",
        (
            Param(
                "id",
                "text",
                "the run's id, or an unambiguous prefix of it",
                required=True,
                positional=True,
            ),
            Param(
                "dry_run", "bool", "say what it would do, change nothing", default=False
            ),
        ),
        writes=True,
    ),
    Operation(
        "prune",
        "maintenance.prune",
        "POST",
        "/v1/prune",
        "give up memories that nothing protects and hardly anybody could still believe; a run that can be undone",
        (
            Param(
                "threshold",
                "float",
                "effective confidence below which one is pruned; 0.05 if absent",
                least=0,
                most=1,
            ),
            Param(
                "dry_run", "bool", "say what it would do, change nothing", default=False
            ),
        ),
        writes=True,
    ),
    Operation(
        "purge",
        "maintenance.purge",
        "POST",
        "/v1/purge",
        "remove for good what was put aside in `.trash/`; no `undo` brings it back",
        (
            Param("trash", "bool", "empty the trash; has to be given", default=False),
            Param(
                "dry_run",
                "bool",
                "list what would be removed, change nothing",
                default=False,
            ),
        ),
        writes=True,
    ),
    Operation(
        "forecast",
        "maintenance.forecast",
        "GET",
        "/v1/forecast",
        "what will go stale, end or be archived if nobody touches it, and why",
        (
            Param("days", "int", "how far ahead", default=30, least=1, most=3650),
            Param(
                "curve",
                "bool",
                "with the curve of what each will be worth",
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
        "rebuild every derived store from the vault",
        writes=True,
    ),
    Operation(
        "doctor",
        "health.doctor",
        "POST",
        "/v1/doctor",
        "check vault, journal and index, and say what to do",
        (
            Param(
                "accept_deletions",
                "bool",
                "believe that many vanished notes were deleted",
                default=False,
            ),
            Param(
                "calibrate",
                "bool",
                "find out what the embedding model's numbers mean on this vault",
                default=False,
            ),
        ),
        writes=True,
    ),
    Operation(
        "stats",
        "health.stats",
        "GET",
        "/v1/stats",
        "counts and sizes",
        callers=ANY_CALLER,
    ),
    Operation(
        "status",
        "health.status",
        "GET",
        "/v1/status",
        "what the daemon is doing",
        callers=ANY_CALLER,
        call_facts=("ready",),
        own_command=True,
    ),
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}


def handlers(parts: Mapping[str, object]) -> dict[str, Handler]:
    """The method that carries out each operation, by the operation's name.

    `parts` are the objects that the handlers name, as `{"memories": …}`.
    """
    found: dict[str, Handler] = {}
    for operation in OPERATIONS:
        part, _, method = operation.handler.partition(".")
        found[operation.name] = getattr(parts[part], method)
    return found


def named(name: str) -> Operation:
    """The operation of this name; BadRequestError where there is none."""
    operation = BY_NAME.get(name)
    if operation is None:
        raise BadRequestError(
            f"there is no operation {name!r}", fix=f"Use one of: {', '.join(BY_NAME)}."
        )
    return operation


def checked(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """`given` with defaults filled in; BadRequestError names every missing, unknown or
    ill-typed argument.

    Lone surrogates, which JSON can write and UTF-8 cannot, become U+FFFD.
    """
    operation = named(name)
    known = {param.name: param for param in operation.params}
    faults = [f"unknown argument {extra!r}" for extra in given if extra not in known]
    result: dict[str, Any] = {}
    for param in operation.params:
        value = given.get(param.name)
        if value is None:
            if param.required:
                faults.append(f"missing argument {param.name!r}")
            result[param.name] = param.default
        elif not _fits(param, value):
            faults.append(_misfit(param))
        else:
            result[param.name] = _clean(value)
    if faults:
        raise BadRequestError(
            "; ".join(faults),
            where=name,
            fix=f"It takes: {', '.join(known) or 'nothing'}.",
        )
    return result


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return (
            value
            if value.isascii()
            else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
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
        number = isinstance(
            value, int if kind == "int" else (int, float)
        ) and not isinstance(value, bool)
        return number and bool(param.least <= value <= param.most)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "list":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind == "turns":
        return isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return isinstance(value, str)
