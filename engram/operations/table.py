"""The one table of operations; command line, HTTP and Python only translate it.

Light on purpose: the command line reads it before anything else is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from engram.errors import BadRequestError

Kind = Literal["text", "int", "float", "bool", "time", "list", "turns"]


@dataclass(frozen=True, slots=True)
class Param:
    """One argument. `positional` arguments come first on the command line; times are
    ISO 8601.

    A number is `least` to `most`.
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
        """Whether it has a range."""
        return self.kind in {"int", "float"}

    @property
    def meaning(self) -> str:
        """What it is for, with the range of a number."""
        return (
            f"{self.help}, {self.least} to {self.most}" if self.is_number else self.help
        )


@dataclass(frozen=True, slots=True)
class Operation:
    """A verb with its HTTP form. `writes` sends it through the one writer; `{id}` in
    the path is a param.
    """

    name: str
    method: str
    path: str
    help: str
    params: tuple[Param, ...] = ()
    writes: bool = False


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
    ),
    Operation(
        "flush",
        "POST",
        "/v1/flush",
        "distil every waiting turn now and wait for it",
        (
            Param("session", "text", "only this conversation"),
            Param("background", "bool", "answer at once and go on", default=False),
        ),
    ),
    Operation(
        "recall",
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
    ),
    Operation(
        "context",
        "POST",
        "/v1/context",
        "what to know before the next answer: foundation, last conversation, promises, what is relevant",
        (
            Param("query", "text", "what the user just said", positional=True),
            Param("session", "text", "the conversation that asks"),
            Param("persona", "text", "whose memories besides everybody's"),
            Param("budget", "int", "most tokens", least=50, most=100000),
        ),
    ),
    Operation(
        "todos",
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
    ),
    Operation(
        "settle",
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
    ),
    Operation(
        "show",
        "GET",
        "/v1/memories/{id}",
        "one memory with everything known of it",
        (_ID,),
    ),
    Operation(
        "why",
        "GET",
        "/v1/memories/{id}/why",
        "the turns a memory came from, its stage and each decision on it",
        (_ID,),
    ),
    Operation(
        "update",
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
    ),
    Operation(
        "forget",
        "DELETE",
        "/v1/memories/{id}",
        "stop recalling a memory or a turn, and every sentence that says the same; files stay, notes marked forgotten",
        (_ANY_ID, Param("reason", "text", "why, for the record")),
        writes=True,
    ),
    Operation(
        "correct",
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
    ),
    Operation(
        "confirm",
        "POST",
        "/v1/memories/{id}/confirm",
        "say that a memory is true",
        (_ID,),
        writes=True,
    ),
    Operation(
        "dispute",
        "POST",
        "/v1/memories/{id}/dispute",
        "say that a memory is doubtful; it stays and ranks lower",
        (_ID,),
        writes=True,
    ),
    Operation(
        "review",
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
    ),
    Operation(
        "decide",
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
    ),
    Operation(
        "consolidate",
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
    ),
    Operation(
        "runs",
        "GET",
        "/v1/runs",
        "the latest runs of consolidation: what each did, and whether it can be taken back",
        (Param("last", "int", "how many", default=20, least=1, most=1000),),
    ),
    Operation(
        "undo",
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
    ),
    Operation(
        "reindex",
        "POST",
        "/v1/reindex",
        "rebuild every derived store from the vault",
        writes=True,
    ),
    Operation(
        "doctor",
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
    Operation("stats", "GET", "/v1/stats", "counts and sizes"),
    Operation("status", "GET", "/v1/status", "what the daemon is doing"),
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}


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
