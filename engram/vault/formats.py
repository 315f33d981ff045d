"""The text forms of times, titles, free names and blocks in a note."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


_BLOCK = re.compile(
    r"^%% engram:begin (?P<name>[a-z_]+) %%[ \t]*\r?\n(?P<text>.*?)^%% engram:end (?P=name) %%[ \t]*\r?$\n?",
    re.MULTILINE | re.DOTALL,
)
_LONGEST_DATE = len("2026-11-22")
_TITLE_SIGN = re.compile(r"[\\<>\[\]&`]")
_TITLE_ESCAPE = re.compile(r"\\(.)|&#(\d{1,7});")


def time_text(when: datetime, zone: tzinfo) -> str:
    """Return `when` in `zone` to the second; an offset only in a repeated hour."""
    local = when.astimezone(zone).replace(microsecond=0)
    return (local if is_repeated(local) else local.replace(tzinfo=None)).isoformat()


def time_value(value: object, zone: tzinfo, *, end: bool = False) -> datetime | None:
    """Return the time in a text of the user or of `time_text`, in UTC, or None.

    A time without offset is local in `zone`. A date alone is its first instant, or with
    `end` the first instant of the next day, so that `expires: 2026-12-31` covers the
    whole day.
    """
    text = str(value).strip()
    try:
        when = (
            _day(text, end=end) if len(text) <= _LONGEST_DATE else None
        ) or datetime.fromisoformat(text)
    except ValueError:
        return None
    if not 1 < when.year < 9999:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=zone)).astimezone(UTC)


def _day(text: str, *, end: bool) -> datetime | None:
    """Return the start of the date in `text`, or with `end` of the next day."""
    try:
        return datetime.combine(date.fromisoformat(text), time()) + timedelta(days=end)
    except (ValueError, OverflowError):
        return None


def is_repeated(local: datetime) -> bool:
    """Return whether the wall clock shows this aware local time twice."""
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()


def unused_name(name: str, taken: Callable[[str], bool]) -> str:
    """Return `name`, or the first of `name-2`, `name-3` … that is not taken."""
    return next(
        free for n in count(1) if not taken(free := name if n == 1 else f"{name}-{n}")
    )


def title(text: str) -> str:
    """Return `text` as part of a callout's title: one line, no markup, `%` or `|`."""
    line = _TITLE_SIGN.sub(r"\\\g<0>", text)
    line = "".join(
        sign if sign.isprintable() and sign not in "%|" else f"&#{ord(sign)};"
        for sign in line
    )
    bare = line.lstrip(" ")
    inner = bare.rstrip(" ")
    return (
        "&#32;" * (len(line) - len(bare)) + inner + "&#32;" * (len(bare) - len(inner))
    )


def unescaped_title(escaped: str) -> str:
    """Return the inverse of `title`."""
    return (
        _TITLE_ESCAPE.sub(_sign, escaped)
        if "\\" in escaped or "&" in escaped
        else escaped
    )


def blocks(body: str) -> dict[str, str]:
    """Return the text of each block in `body`, by its name."""
    return {
        found["name"]: found["text"] for found in reversed([*_BLOCK.finditer(body)])
    }


def without_blocks(body: str, name: str = "") -> str:
    """Return `body` without its blocks and markers, or without those of one name."""
    return _BLOCK.sub(
        lambda found: "" if name in {"", found["name"]} else found[0], body
    )


def _sign(match: re.Match[str]) -> str:
    if match[1]:
        return match[1]
    code = int(match[2])
    return chr(code) if code < 0xD800 or 0xE000 <= code < 0x110000 else match[0]
