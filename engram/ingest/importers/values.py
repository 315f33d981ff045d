"""Convert the values of foreign exports to text, roles, ids and times.

Every function takes a value of any type and never raises for an unexpected one.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "developer": "system",
}
_KNOWN_ROLES = frozenset({"user", "assistant", "system", "tool"})
# Seconds since 1970 have ten digits for the next centuries; more digits are
# milliseconds or microseconds.
_MILLISECONDS_FROM = 1e11
_MICROSECONDS_FROM = 1e14
_EPOCH = re.compile(r"\s*-?\d{9,16}(?:\.\d+)?\s*")


def as_object(value: Any) -> dict[str, Any]:
    """Return the value if it is a JSON object, else {}."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, else []."""
    return value if isinstance(value, list) else []


def string(value: Any) -> str:
    """Return a string or a whole number as text, else ''."""
    return (
        str(value)
        if isinstance(value, (str, int)) and not isinstance(value, bool)
        else ""
    )


def first(row: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """Return the value of the first of `keys` that has one, else None."""
    return next((row[key] for key in keys if row.get(key) is not None), None)


def role_of(value: Any) -> str:
    """Return one of the four roles; user for any other value."""
    role = string(value).lower()
    role = _ROLES.get(role, role)
    return role if role in _KNOWN_ROLES else "user"


def text_of(content: Any) -> str:
    """Return the text of a string, of a list of strings or of blocks with a text."""
    parts = content if isinstance(content, list) else [content]
    texts = (
        part if isinstance(part, str) else as_object(part).get("text") for part in parts
    )
    return "\n\n".join(
        text.strip() for text in texts if isinstance(text, str) and text.strip()
    )


def made_id(*parts: str) -> str:
    """Return an id for a turn without one: a hash of its text, speaker and position."""
    return (
        "import-"
        + sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    )


def modified(path: Path, zone: tzinfo) -> datetime:
    """Return the time of the file's last change, in whole seconds."""
    return datetime.fromtimestamp(int(path.stat().st_mtime), zone)


def time_of(value: Any, zone: tzinfo) -> datetime | None:
    """Return an aware time, or None if the value is not a time.

    The value is ISO 8601, or seconds, milliseconds or microseconds since 1970.
    """
    if isinstance(value, str) and not _EPOCH.fullmatch(value):
        try:
            when = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        return when if when.tzinfo else when.replace(tzinfo=zone)

    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return None
    try:
        seconds = _seconds(float(value))
        return datetime.fromtimestamp(seconds, UTC).astimezone(zone)
    except (ValueError, OverflowError, OSError):
        return None


def _seconds(number: float) -> float:
    """Return seconds since 1970 from seconds, milliseconds or microseconds."""
    if abs(number) >= _MICROSECONDS_FROM:
        return number / 1e6
    if abs(number) >= _MILLISECONDS_FROM:
        return number / 1e3
    return number
