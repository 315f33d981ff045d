"""The declaration of an operation: its signature, its docstring and one decorator.

The table of operations, from which all interfaces are made, is written by `make docs`
from the functions that `operation` marks; a test compares it.
"""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from pkgutil import iter_modules
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NamedTuple,
    TypeVar,
    get_args,
    get_type_hints,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Function = TypeVar("Function", bound="Callable[..., dict[str, Any]]")

ANY_CALLER = ("chat", "import", "tool")
"""Callers of an operation that reads or adds, and changes no existing content."""

CALL_FACTS = ("standing", "owner", "asks", "ready")
"""Parameters that are no arguments: the kind of the caller's token (chat, import or
tool), whether the owner's command line calls, who asks, whether the index covers the
vault. Who asks, a persona or `records.ALL_PERSONAS`, is computed from the arguments
`persona` and `all_personas`.
"""

KINDS: dict[Any, str] = {
    str: "text",
    int: "int",
    float: "float",
    bool: "bool",
    list[str]: "list",
    list[dict[str, Any]]: "objects",
}
TIME = "ISO 8601, or words such as `yesterday`"


class Between(NamedTuple):
    """The range of a number, both ends included."""

    least: float
    most: float


Id = Annotated[str, "the id of a memory, an unambiguous prefix of it, or its path"]
AnyId = Annotated[
    str,
    "the id of a memory or of a turn, an unambiguous prefix of it, or the path of a memory",
]
Run = Annotated[str | None, "the run of the import that it belongs to"]
Persona = Annotated[str | None, "persona whose private memories count too"]
Asking = Annotated[str | None, "the conversation in which the question is asked"]
Record = Annotated[
    bool, "whether the question counts as a use; false: it is off the record"
]
Since = Annotated[str | None, "only what is from this time on", TIME]
Until = Annotated[str | None, "only what is up to this time", TIME]
After = Annotated[str | None, "`next` of the page before"]
DryRun = Annotated[bool, "show what would be done and change nothing"]


ASKS: tuple[dict[str, Any], ...] = tuple(
    {
        "name": name,
        "kind": kind,
        "help": meaning,
        "required": False,
        "positional": False,
        "default": default,
    }
    for name, kind, meaning, default in (
        ("persona", "text", get_args(Persona)[1], None),
        (
            "all_personas",
            "bool",
            "private memories of every persona too; only for the owner's command line",
            False,
        ),
    )
)
"""The arguments that say who asks."""


def operation(
    result: str, route: str = "", name: str = "", **flags: Any
) -> Callable[[Function], Function]:
    """Mark a method as an operation; `result` names the type of its JSON in `results`.

    The first paragraph of its docstring is a short imperative sentence for the effect,
    followed by one or more about the output. A parameter `Annotated` with a help text
    is an argument, a positional one also on the command line; a range or a tuple of
    the only values may follow. The others are `CALL_FACTS`. `flags` are attributes of `table.Operation`. `route` is the method
    and the path of the HTTP request; without it they follow from name and arguments.
    """

    def mark(function: Function) -> Function:
        function.__dict__["operation"] = {
            "name": name or function.__name__,
            "result": result,
            "route": route,
            **flags,
        }
        return function

    return mark


def declared(part: object) -> Iterator[tuple[str, Callable[..., dict[str, Any]]]]:
    """Yield the operations of an object or a class, with their names."""
    for attribute in dir(part):
        method: Any = getattr(part, attribute, None)
        if isinstance(found := getattr(method, "operation", None), dict):
            yield found["name"], method


def table() -> str:
    """Return the text of `table.json`: a row for each operation of these modules."""
    package = import_module("engram.operations")
    modules = [
        import_module(f"engram.operations.{module.name}")
        for module in iter_modules(package.__path__)
        if module.name != "table"
    ]
    classes = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    }
    made = [_row(method) for one in classes for _, method in declared(one)]
    made.sort(key=lambda row: str(row["name"]))
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _row(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the row of an operation: what its name, signature and docstring say."""
    row: dict[str, Any] = dict(function.__dict__["operation"])
    hints = get_type_hints(function, include_extras=True)
    params: list[dict[str, Any]] = []
    for param in inspect.signature(function).parameters.values():
        if hasattr(hints.get(param.name), "__metadata__"):
            params.append(_param(param, hints[param.name]))
        elif param.name == "asks":
            params += ASKS
        elif param.name not in {"self", *CALL_FACTS}:
            raise TypeError(f"{row['name']}: {param.name} has no help text")
    method, _, path = row.pop("route").partition(" ")
    changes = row.keys() & {"writes", "waits", "adds"}
    has_id = any(param["name"] == "id" for param in params)
    return row | {
        "help": " ".join(str(function.__doc__).partition("\n\n")[0].split()),
        "method": method or ("POST" if changes else "GET"),
        "path": path or f"/v1/{'memories/{id}/' if has_id else ''}{row['name']}",
        "call_facts": [fact for fact in CALL_FACTS if fact in hints],
        "params": params,
    }


def _param(param: inspect.Parameter, hint: Any) -> dict[str, Any]:
    """Return the description of an argument."""
    kind, meaning, *more = get_args(hint)
    base = next(one for one in (kind, *get_args(kind)) if one in KINDS)
    required = param.default is param.empty
    row = {
        "name": param.name,
        "kind": "time" if TIME in more else KINDS[base],
        "help": meaning,
        "required": required,
        "positional": param.kind is not param.KEYWORD_ONLY,
        "default": None if required else param.default,
    }
    for limit in more:
        if isinstance(limit, Between):
            row |= limit._asdict()
        elif isinstance(limit, tuple):
            row["choices"] = list(limit)
    return row
