"""Plain turns: JSON objects, one a line, in a list, or alone in a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engram.core.records import Problem, Turn
from engram.ingest.importers import files, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo
    from pathlib import Path


TEXT_KEYS = ("text", "content")
_SESSION_KEYS = ("session", "session_id", "conversation", "conversation_id")
_TIME_KEYS = (
    *("occurred_at", "timestamp", "time", "created_at", "create_time", "sent_at"),
    *("at", "ts", "datetime", "date"),
)
_SPEAKER_KEYS = ("speaker", "name")
_ID_KEYS = ("id", "message_id", "uuid")
_SNIPPET = 60


def read(path: Path, zone: tzinfo) -> Iterator[Turn | Problem]:
    """Yield one turn a line, or the turns of a file that is one JSON list or object."""
    whole = _is_whole(path)
    return _turns(path, zone, _rows(path) if whole else _lines(path))


def _is_whole(path: Path) -> bool:
    """Return whether a file begins with a list, or with an object of several lines."""
    with path.open("rb") as lines:
        line = next((line for line in lines if line.strip()), b"").lstrip(
            b"\xef\xbb\xbf"
        )
    return line.lstrip().startswith(b"[") or line.strip() == b"{"


def _turns(
    path: Path, zone: tzinfo, rows: Iterator[tuple[int, Any]]
) -> Iterator[Turn | Problem]:
    """Yield one turn a row.

    A row without a time has that of the preceding row, the first one the file's.
    """
    latest = values.modified(path, zone)
    for number, row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        turn = turn_of(row, path.stem, zone, latest)
        if isinstance(turn, Turn):
            latest = turn.occurred_at
            yield turn
        else:
            yield Problem(*turn, str(path), number)


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the number of each line with its value, or with a Problem."""
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, start=1):
            if not raw.strip():
                continue
            try:
                yield number, json.loads(raw.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                yield (
                    number,
                    Problem(
                        "not-json", f"not a line of JSON: {error}", str(path), number
                    ),
                )


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the elements of the file's list, or its one object, with line number 0."""
    with path.open(encoding="utf-8-sig", errors="replace") as text:
        yield from ((0, element) for element in files.elements(text, str(path)))


def turn_of(
    row: Any, stem: str, zone: tzinfo, latest: datetime
) -> Turn | tuple[str, str]:
    """Return the turn, or the code and message of the fault."""
    if not isinstance(row, dict):
        return "not-an-object", f"a JSON object is wanted, this is {type(row).__name__}"
    text = values.text_of(values.first(row, TEXT_KEYS))
    if not text:
        return "no-text", f"no text under {' or '.join(TEXT_KEYS)}"
    given = values.first(row, _TIME_KEYS)
    when = latest if given is None else values.time_of(given, zone)
    if when is None:
        return "bad-time", f"not a time: {str(given)[:_SNIPPET]!r}"
    role, speaker = (
        values.role_of(row.get("role")),
        values.string(values.first(row, _SPEAKER_KEYS)),
    )
    session = values.string(values.first(row, _SESSION_KEYS)) or stem
    name = values.string(values.first(row, _ID_KEYS)) or values.made_id(
        session, role, speaker, str(given or ""), text
    )
    persona = values.string(row.get("persona")) or None
    users = set(map(values.string, values.as_list(row.get("participants"))))
    group = role == "user" and (row.get("group") is True or len(users) > 1)
    private = row.get("private") is True
    return Turn(
        name, session, role, text, when, speaker, persona, "import", group, private
    )
