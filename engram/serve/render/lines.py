"""Parts of lines that several results have in common."""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing would slow each call of the command line
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

HIT_CHARACTERS = 400
"""Maximum number of characters of a hit that are printed; JSON contains all."""

UNDATED_ID = "00000000"
"""The beginning of the id of a hand-written note without an id or a date."""


def tree_lines(value: Any, margin: str = "") -> Iterator[str]:
    """Yield a JSON value as indented lines `key: value`, without empty values."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict | list) and item:
                yield f"{margin}{key}:"
                yield from tree_lines(item, margin + "  ")
            elif item not in (None, "", [], {}):
                yield from block_lines(f"{margin}{key}: ", margin, item)
    elif isinstance(value, list):
        for item in value:
            first, *rest = list(tree_lines(item, "")) or [""]
            yield f"{margin}- {first}"
            yield from (f"{margin}  {line}" for line in rest)
    else:
        yield from block_lines(margin, margin, value)


def block_lines(head: str, margin: str, value: Any) -> Iterator[str]:
    """Yield a value after `head`; its further lines are indented by `margin`."""
    if isinstance(value, bool):
        value = "yes" if value else "no"
    first, *rest = str(value).splitlines() or [""]
    yield head + first
    yield from (f"{margin}  {line}" for line in rest)


def joined(marks: Sequence[Any]) -> str:
    """Return the non-empty marks, separated by dots."""
    return " · ".join(str(mark) for mark in marks if mark)


def one_line(text: str) -> str:
    """Return the beginning of a text on one line."""
    return " ".join(text.split())[:HIT_CHARACTERS]


def name_of(name: str, row: Mapping[str, Any]) -> str:
    """Return the argument for commands that names a memory: its id, else its path."""
    return str(row.get("path") or name) if name.startswith(UNDATED_ID) else name


def next_page(result: Mapping[str, Any]) -> str:
    """Return the number of rows, and the option for the next page."""
    return f"{result['total']} in all; the next page: --after '{result['next']}'"
