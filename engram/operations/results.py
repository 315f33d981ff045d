"""The results of operations as types: for the Python client and for OpenAPI.

`typed` makes a value from the JSON of a result, `schema` describes its type. Times are
aware. Keys of the JSON without a field in the type are left out; `Memory.call` returns
all keys.
"""

from __future__ import annotations

import types
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from engram.operations.conversation_results import (
    BegunImport,
    Context,
    Flushed,
    Observed,
    Recalled,
    Settled,
    Todos,
    WithdrawnTurns,
)
from engram.operations.memory_results import (
    Changes,
    CorrectedMemory,
    Decided,
    DigestOfSpan,
    Entities,
    Explained,
    Forgotten,
    History,
    MemoryPage,
    Remembered,
    Review,
    Sensitivity,
    Sessions,
    SessionTurns,
    Shown,
    Surroundings,
    Timeline,
    Updated,
    Verified,
)
from engram.operations.vault_results import (
    ComingChanges,
    Diagnosis,
    LoggedRuns,
    Purged,
    Reindexed,
    RunReport,
    VaultCounts,
    VaultStatus,
)

T = TypeVar("T")

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


RESULTS: dict[str, type] = {
    "begin_import": BegunImport,
    "changes": Changes,
    "confirm": Verified,
    "consolidate": RunReport,
    "context": Context,
    "correct": CorrectedMemory,
    "decide": Decided,
    "digest": DigestOfSpan,
    "dispute": Verified,
    "doctor": Diagnosis,
    "entities": Entities,
    "flush": Flushed,
    "forecast": ComingChanges,
    "forget": Forgotten,
    "history": History,
    "list": MemoryPage,
    "merge": RunReport,
    "neighbours": Surroundings,
    "observe": Observed,
    "prune": RunReport,
    "purge": Purged,
    "recall": Recalled,
    "reindex": Reindexed,
    "remember": Remembered,
    "review": Review,
    "runs": LoggedRuns,
    "sensitivity": Sensitivity,
    "session": SessionTurns,
    "sessions": Sessions,
    "settle": Settled,
    "show": Shown,
    "stats": VaultCounts,
    "status": VaultStatus,
    "synthesize": RunReport,
    "timeline": Timeline,
    "todos": Todos,
    "undo": RunReport,
    "update": Updated,
    "why": Explained,
    "withdraw": WithdrawnTurns,
}
"""The type of the result of each operation."""


# -- JSON and types --------------------------------------------------------------------


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
    """Return the schema of every result type and of the types in it, by name."""
    found: dict[str, dict[str, Any]] = {}
    waiting: list[Any] = list(RESULTS.values())
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and is_dataclass(kind) and kind.__name__ not in found:
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
            waiting += hints.values()
        waiting += get_args(kind)
    return dict(sorted(found.items()))
