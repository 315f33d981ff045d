"""The table of operations: one row for each public operation on a vault.

A row has the arguments, the handler, the HTTP form and the rules of an operation.
`VaultMemory`, the HTTP routes, the command line and the daemon read it; operations are
listed nowhere else. The module imports little, because the command line reads it first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.errors import BadRequestError
from engram.operations.conversation_rows import CONVERSATION_ROWS
from engram.operations.memory_rows import MEMORY_ROWS
from engram.operations.vault_rows import VAULT_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from engram.operations.operation import Operation, Param

    Handler = Callable[..., dict[str, Any]]

OPERATIONS: tuple[Operation, ...] = (*CONVERSATION_ROWS, *MEMORY_ROWS, *VAULT_ROWS)

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
