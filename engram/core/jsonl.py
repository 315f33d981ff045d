"""JSON lines: the format of every append-only file, one JSON value a line, in UTF-8.

This module reads and writes the lines of the journal, the action log, tombstones,
usage, edges and the smaller logs. Reading is tolerant: a crash tears the last line, git
and sync tools merge lines of other devices, and people edit. An unreadable line never
hides another.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_encode = json.JSONEncoder(ensure_ascii=False).encode
_decode = json.JSONDecoder().decode


class JsonLine(NamedTuple):
    """One line of a file: its number from 1, its bytes with the line end, its value.

    `fault` is the reason why the value cannot be read; the value is then None.
    """

    number: int
    raw: bytes
    value: Any
    fault: str = ""


def lines(raw: bytes) -> Iterator[JsonLine]:
    """Yield every line of `raw` that is not blank, in order.

    Lines end at a newline only, because U+2028 and U+0085 are allowed in a JSON string.
    Bytes that are not UTF-8 become U+FFFD.
    """
    for number, line in enumerate(raw.splitlines(keepends=True), start=1):
        if not line.isspace():
            value, fault = _value(line)
            yield JsonLine(number, line, value, fault)


def rows(
    raw: bytes, containing: str = "", *, newest_first: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of `raw`, one a line; all other lines are skipped.

    Only lines whose text contains `containing` are parsed, which makes the search for
    one id in a long log cheap.
    """
    needle = containing.encode("utf-8", "replace")
    found = raw.splitlines()
    for line in reversed(found) if newest_first else found:
        if needle in line:
            value, _ = _value(line)
            if isinstance(value, dict):
                yield value


def encode(values: Iterable[Mapping[str, Any] | Sequence[Any]]) -> bytes:
    """Return `values` as lines; file names that are not UTF-8 have escapes."""
    return b"".join(map(_line, values))


def _line(value: object) -> bytes:
    try:
        return _encode(value).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(value).encode() + b"\n"


def _value(line: bytes) -> tuple[Any, str]:
    """Return the value of a line and '', or None and the fault."""
    try:
        return _decode(line.decode("utf-8", "replace")), ""
    except (ValueError, RecursionError) as error:
        return None, str(error)
