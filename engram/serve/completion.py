"""Shell completion: ids, names, and the values of arguments with few values.

A running daemon answers for ids and names. Without a daemon nothing is completed,
because opening the vault would take its lock.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from engram.errors import EngramError
from engram.serve import socket_client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

SECONDS = 1.0
"""Seconds to wait for the daemon."""
MOST = 200
TEXT = 60


def of(operation: str, name: str) -> Complete | None:
    """Return the completion of an argument of an operation, None if it has none."""
    if name == "id":
        match operation:
            case "undo":
                return runs
            case "decide":
                return cases
            case "session":
                return sessions
        return ids
    if name in {"about", "name"}:
        return entities
    values = _values(operation, name)
    if values is None:
        return None

    def chosen(
        _context: click.Context, _param: click.Parameter, begun: str
    ) -> list[CompletionItem]:
        return _chosen([(one, "") for one in values], begun)

    return chosen


def _values(operation: str, name: str) -> Iterable[str] | None:
    from engram.core.categories import CATEGORIES
    from engram.core.records import ENTITY_TYPES, STATUSES
    from engram.operations.context import STAGES

    if name == "stage":
        return ("fulfilled", "expired", "open") if operation == "settle" else STAGES
    return {
        "preset": ("balanced", "belief", "entity"),
        "status": (*STATUSES, "all"),
        "category": CATEGORIES,
        "kinds": ("fact", "turn", "note"),
        "type": ENTITY_TYPES,
    }.get(name)


def ids(
    context: click.Context, _param: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete the id of a memory; the statement is its help text."""
    rows = _asked(context, "list", {"limit": MOST, "status": "all"}).get("memories", [])
    return _chosen([(row["id"], row["text"]) for row in rows], begun)


def runs(
    context: click.Context, _param: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete the id of a run that can be undone."""
    rows = _asked(context, "runs", {"last": MOST}).get("runs", [])
    kept = [row for row in rows if row["can_be_undone"]]
    return _chosen(
        [(row["id"], f"{row['cadence']} {row['at'][:16]}") for row in kept], begun
    )


def cases(
    context: click.Context, _param: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete the id of an open review case."""
    rows = _asked(context, "review", {"all": True}).get("cases", [])
    return _chosen([(row["id"], row["why"]) for row in rows], begun)


def sessions(
    context: click.Context, _param: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete the id of a stretch of a conversation."""
    rows = _asked(context, "sessions", {"limit": MOST}).get("sessions", [])
    return _chosen([(row["id"], row["summary"] or "") for row in rows], begun)


def entities(
    context: click.Context, _param: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete the name of a person, place or thing."""
    rows = _asked(context, "entities", {}).get("entities", [])
    return _chosen([(row["name"], row["type"]) for row in rows], begun)


def keys(
    _context: click.Context, _param: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Complete the name of a setting."""
    from engram.config import keys as settings

    return _chosen([(key.name, key.meaning) for key in settings()], begun)


def _asked(
    context: click.Context, name: str, params: dict[str, object]
) -> dict[str, list[dict[str, str]]]:
    """Return the answer of the daemon, or {} if none runs."""
    root = context.find_root().params.get("vault") or context.params.get("vault")
    path = socket_client.socket_of(str(root) if root else None, os.environ)
    if path is None:
        return {}
    try:
        return socket_client.call(path, name, params, timeout=SECONDS, owner=True)
    except EngramError:
        return {}


def _chosen(values: Iterable[tuple[str, str]], begun: str) -> list[CompletionItem]:
    start = begun.casefold()
    return [
        CompletionItem(value, help=" ".join(words.split())[:TEXT] or None)
        for value, words in values
        if value.casefold().startswith(start)
    ]
