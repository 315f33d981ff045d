"""Remove secrets from a text before it reaches the disk or a model (row X11).

Each row of the table (`secret_rows`) is a pattern and a check. One linear pass over the
whole table finds the rows that can match, and only those search for their spans, so a
text without secrets costs one pass. Letters and digits of other widths and writings
count as those of ASCII, and a text with invisible signs is searched without them too.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from engram.core.language.languages import LazyPattern
from engram.core.language.secret_rows import DOOR_CODE, ROWS, first_look, pattern
from engram.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["DOOR_CODE", "MODES", "Redaction", "is_redacted", "redact"]

MODES = ("off", "redact", "drop")
"""The treatment of secrets.

`off` retains a secret, `redact` replaces it by a placeholder, `drop` replaces the whole
text.
"""


@dataclass(frozen=True, slots=True)
class Redaction:
    """The redacted text, and the number of removed secrets of each class."""

    text: str
    found: Mapping[str, int] = field(default_factory=dict)


def redact(
    text: str, mode: str = "redact", *, allowed: Collection[str] = ()
) -> Redaction:
    """Replace each secret of `text` by a placeholder, `[redacted: card]` (`X11`).

    Secrets of the classes in `allowed` are retained. `drop` replaces the whole text if
    it contains a secret; `off` changes nothing; any other mode raises ConfigError.
    Redacting twice gives the same as redacting once. The time is linear in the length,
    so the text is never split or truncated, which could hide a secret.

    >>> redact("my PIN is 4821").text
    'my PIN is [redacted: pin]'
    """
    if mode not in MODES:
        raise ConfigError(
            f"unknown redaction mode {mode!r}",
            where="redact",
            fix=f"Use one of: {', '.join(MODES)}.",
        )
    found: Counter[str] = Counter()
    redacted = text
    # A placeholder can expose a secret that was adjacent to another, hence the loop. It
    # ends because each round removes text that is not a placeholder; more than one
    # round is rare.
    while mode != "off" and (spans := _secrets(redacted, allowed)):
        found.update(name for _, _, name in spans)
        redacted = _replaced(redacted, spans)
    if found and mode == "drop":
        redacted = _placeholder(f"message with {', '.join(sorted(found))}")
    return Redaction(redacted, dict(found))


def is_redacted(text: str) -> bool:
    """Return whether a text contains the placeholder of a secret."""
    return _PLACEHOLDER.search(text) is not None


def _placeholder(name: str) -> str:
    return f"[redacted: {name}]"


def _replaced(text: str, spans: list[tuple[int, int, str]]) -> str:
    pieces, end = [], 0
    for start, stop, name in spans:
        pieces += [text[end:start], _placeholder(name)]
        end = stop
    return "".join([*pieces, text[end:]])


def _secrets(text: str, allowed: Collection[str]) -> list[tuple[int, int, str]]:
    """Return the spans of secrets with their class, in order.

    Overlapping spans are merged and take the class of the earlier row. A span
    whose first row is of a class in `allowed` is left out, also if later rows match it.
    """
    spans = set(_found(text))
    if not text.isascii() and (hidden := _INVISIBLE.search(text)):
        places = [
            place
            for place, sign in enumerate(text)
            if place < hidden.start() or not _INVISIBLE.match(sign)
        ]
        visible = "".join(text[place] for place in places)
        spans |= {
            (places[start], places[stop - 1] + 1, row)
            for start, stop, row in _found(visible)
        }
    ordered = sorted(spans)
    if allowed:
        allowed_spans = {span[:2] for span in ordered if ROWS[span[2]].name in allowed}
        ordered = [span for span in ordered if span[:2] not in allowed_spans]
    merged: list[tuple[int, int, int]] = []
    for start, stop, row in ordered:
        if merged and start < merged[-1][1]:
            first, last, rank = merged.pop()
            merged.append((first, max(last, stop), min(rank, row)))
        else:
            merged.append((start, stop, row))
    return [
        (start, stop, ROWS[row].name)
        for start, stop, row in _outside_placeholders(merged, text)
    ]


def _found(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the spans that the rows find, with the number of the row."""
    other = not text.isascii() and _OTHER_WRITING.search(text)
    probe = text.translate(_plain_signs()) if other else text
    raw = probe.encode("utf-8", "replace")
    rows = sorted(first_look().Match(raw) or ())
    plain = raw.decode() if rows else ""
    for row in rows:
        for match in pattern(row).finditer(plain):
            for start, stop in ROWS[row].check(match):
                yield start, stop, row
                if row == _CARD:
                    yield from _companions(plain, start, stop)


def _companions(text: str, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Yield the expiry and the security code beside the card number `start:stop`."""
    for first, last in ((max(0, start - _BESIDE), start), (stop, stop + _BESIDE)):
        for match in _COMPANION.finditer(text, first, last):
            for group, row in ((1, _CARD), (2, _CARD_CODE), (3, _CARD_CODE)):
                if match[group]:
                    yield *match.span(group), row


_CARD, _CARD_CODE = (
    next(number for number, row in enumerate(ROWS) if row.name == name)
    for name in ("card", "card code")
)
_BESIDE = 160
"""The number of characters on each side of a card number that belong to the card."""
_COMPANION = LazyPattern(
    r"(?<![0-9/.-])((?:0?[1-9]|1[0-2]) ?[/-] ?(?:20)?[2-5][0-9])(?![0-9/-])"
    r"(?:[ ,;]{1,3}([0-9]{3,4})(?![0-9]))?"
    r"|(?:c[vsi][vcdn]2?|code|c[oó]d|crypto|код|ziffer|sicherheit|s[ei][cg]ur|beveilig|安全|コード|码)"
    r"[^0-9\n]{1,24}([0-9]{3,4})(?![0-9])",
    re.IGNORECASE,
)
"""An expiry, MM/YY, perhaps with a security code after it; or a labelled code."""

_OTHER_WRITING = LazyPattern("[^\\D0-9]|[\uff21-\uff3a\uff41-\uff5a]")
_INVISIBLE = LazyPattern(
    "[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f"
    "\ufeff\U000e0000-\U000e007f]"
)
"""Signs that are invisible to a reader."""


@cache
def _plain_signs() -> dict[int, str]:
    """Return the ASCII sign of each wide letter and of each digit of another script.

    The replacement has one sign for one, which preserves positions.
    """
    letters = {
        code: chr(code - 0xFEE0)
        for code in (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
    }
    digits = {
        code: str(unicodedata.decimal(chr(code)))
        for code in range(0x80, 0x1FC00)
        if chr(code).isdecimal()
    }
    return letters | digits


def _outside_placeholders(
    spans: list[tuple[int, int, int]], text: str
) -> Iterator[tuple[int, int, int]]:
    """Yield the spans that do not touch a placeholder."""
    shields = _PLACEHOLDER.finditer(text)
    shield = next(shields, None)
    for span in spans:
        while shield and shield.end() <= span[0]:
            shield = next(shields, None)
        if not shield or span[1] <= shield.start():
            yield span


_NAMES = "|".join(re.escape(row.name) for row in ROWS)
_PLACEHOLDER = LazyPattern(rf"\[redacted: (?:{_NAMES}|message with [a-z, ]+)\]")
