"""The table of operations: one row for each public operation on a vault.

`table.json` is written by `make docs` from the functions that
`engram.operations.signature.operation` marks. `VaultMemory`, the HTTP routes, the
command line, the Python client and the daemon read it. The module loads little, because
the command line reads it first.
"""

from __future__ import annotations

import json
import os

from engram.errors import BadRequestError, ForbiddenError

TYPE_CHECKING = False  # loading typing would slow each call of the command line
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

READER = "read"
"""A caller that may only read; its questions are not recorded."""

FILE = f"{os.path.dirname(__file__)}/table.json"  # noqa: PTH120

_CALLERS = {"import": "an import", "tool": "a tool", READER: "a read-only token"}


class Param:
    """One argument of an operation.

    `kind` is text, int, float, bool, time, list or objects. `positional` arguments come
    first on the command line. Times are ISO 8601 or words such as `yesterday`. A number
    is between `least` and `most`, both included. `choices` are the only values of a
    text, or the only items of a list, if it has some.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.name: str = row["name"]
        self.kind: str = row["kind"]
        self.help: str = row["help"]
        self.required: bool = row["required"]
        self.positional: bool = row["positional"]
        self.default: Any = row["default"]
        self.least: float = row.get("least", 0)
        self.most: float = row.get("most", 0)
        self.choices: list[str] = row.get("choices", [])

    @property
    def is_number(self) -> bool:
        """Whether the argument is a number, which has a range."""
        return self.kind in {"int", "float"}

    @property
    def flag(self) -> str:
        """The option of the command line, as `--as-of`."""
        dashes = "-" if len(self.name) == 1 else "--"
        return dashes + self.name.replace("_", "-")


class Operation:
    """One public operation.

    `{id}` in `path` is an argument; `status` is the HTTP status of an answer; `result`
    names a type of `results`. `callers` are the kinds of tokens that may call it.
    `writes` runs it in the writer thread; `waits` gives it a thread of its own, because
    it waits for the writer or for a model; one that `adds` writes to the journal
    without the writer thread. The changes of an operation that `decides` are one run,
    whose id is in the result. After an operation that `retracts`, generated text that
    repeats a retracted statement is rewritten at once. `own_command` means that the
    command, if there is one, is a function in `serve/commands/`.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.name: str = row["name"]
        self.help: str = row["help"]
        self.method: str = row["method"]
        self.path: str = row["path"]
        self.result: str = row["result"]
        self.status: int = row.get("status", 200)
        self.callers = frozenset(row.get("callers", ("chat",)))
        self.call_facts: list[str] = row["call_facts"]
        self.writes: bool = row.get("writes", False)
        self.waits: bool = row.get("waits", False)
        self.adds: bool = row.get("adds", False)
        self.decides: bool = row.get("decides", False)
        self.retracts: bool = row.get("retracts", False)
        self.own_command: bool = row.get("own_command", False)
        self.params = [Param(one) for one in row["params"]]

    @property
    def summary(self) -> str:
        """The first sentence of the help text, without its full stop."""
        return self.help.partition(". ")[0].rstrip(".")

    @property
    def reads(self) -> bool:
        """Whether the operation changes nothing."""
        return not (self.writes or self.waits or self.adds)

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


with open(FILE, encoding="utf-8") as _file:  # noqa: PTH123
    OPERATIONS = [Operation(_row) for _row in json.load(_file)]

BY_NAME = {operation.name: operation for operation in OPERATIONS}


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
    if param.choices:
        return f"argument {param.name!r} must be one of {', '.join(param.choices)}"
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
    if kind == "objects":
        return isinstance(value, list) and all(isinstance(item, dict) for item in value)
    if kind == "list" and not isinstance(value, list):
        return False
    return all(
        isinstance(item, str) and (not param.choices or item in param.choices)
        for item in (value if kind == "list" else [value])
    )
