"""Normalise, hash and name texts, and create ids that contain a time."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256

HASH_VERSION = 1
"""Version of the normal form.

It is part of the hash, so a later form never matches an older hash.
"""

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_ULID_MILLISECONDS = 48
_ULID_SEED = 80
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LAST_MILLISECOND = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND

INVISIBLE = re.compile(r"[\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")
"""Soft hyphen, zero-width space, word joiner, BOM and direction marks, to delete."""
_APOSTROPHE = re.compile("[’‘‛ʼ＇]")
_HYPHEN = re.compile("[‐‑‒–−]")
# NFKC writes 10² as 102 and 1½ as 11⁄2; a blank separates the two numbers.
_RAISED = re.compile(r"(?<=\d)(?=[²³¹¼½¾⁰-₟⅐-⅟①-⓿])")
# Most signs end a word or a sentence; such a sign does not distinguish two facts.
_ENDING = re.compile(r"[.,;:?\"()]+(?=\s|\Z)")
_SIGN = re.compile(r"[^\w\s]")
_INSIDE_WORD = frozenset("'-/.&@#*\\·")
_BEFORE_WORD = frozenset("-./#@")
_AFTER_NUMBER = frozenset("%‰′")

# File names that Windows reserves for devices.
_DEVICES = frozenset(
    {
        "con",
        "prn",
        "aux",
        "nul",
        *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)),
    }
)


def normalise(text: str) -> str:
    """Return the normal form of a statement, the same for all spellings (`C5`, `X13`).

    NFKC, casefold, blanks collapsed, sentence punctuation and quotes dropped. A sign
    stays where it distinguishes facts: between digits (1.2, 12:30), inside a word
    (don't, and/or, node.js), as a sign or a currency before a number (-5, $1.50), `+`
    and `#` after a letter (C++, C#), `%` after a number, and every symbol, emoji
    included. A text of punctuation alone is returned unchanged.

    >>> normalise("“Anna   prefers C++,” he said!")
    'anna prefers c++ he said'
    """
    if text.isascii():
        folded = text.lower()
    else:
        folded = _folded(_RAISED.sub(" ", INVISIBLE.sub("", text)))
    folded = _ENDING.sub(" ", folded)
    return " ".join(_SIGN.sub(_sign_or_blank, folded).split()) or text


@lru_cache(maxsize=1 << 12)
def content_hash(text: str) -> str:
    """Return the SHA-256 of the versioned normal form, as 64 hex digits (`C5`)."""
    form = f"{HASH_VERSION}\n{normalise(text)}"
    return sha256(form.encode("utf-8", "surrogatepass")).hexdigest()


def slug(text: str, max_bytes: int = 80) -> str:
    """Return a file name part for `text`: letters, marks and digits joined by `-`.

    Casefolded letters of any script in NFC, at most `max_bytes` bytes of UTF-8, cut
    between words if possible; never empty (`note`), never a device name of Windows
    (vault format).

    >>> slug("Anna's coffee: oat-milk, no sugar!")
    'annas-coffee-oat-milk-no-sugar'
    """
    words = _slug_words(_folded(INVISIBLE.sub("", text)).replace("'", ""))
    name = _cut("-".join(words), max_bytes) or "note"
    return f"note-{name}" if name in _DEVICES else name


def note_name(path: str) -> str:
    """Return the name by which links lead to a note: `notes/Anna.md` is Anna."""
    return path.rpartition("/")[2].removesuffix(".md")


def ulid(when: datetime, seed: str) -> str:
    """Return the id of `seed` at `when`: 48 bits of milliseconds, 80 bits of SHA-256.

    The same arguments give the same id, so a replay computes the same ids again. `when`
    must be aware (TypeError); times before 1970 count as 1970. The id has 26 characters
    of Crockford's base 32 and sorts by time.
    """
    milliseconds = max(0, (when - _EPOCH) // _MILLISECOND)
    digest = sha256(seed.encode("utf-8", "surrogatepass")).digest()
    seed_bits = int.from_bytes(digest[: _ULID_SEED // 8], "big")
    number = milliseconds << _ULID_SEED | seed_bits
    shifts = range(_ULID_MILLISECONDS + _ULID_SEED - 3, -1, -5)
    return "".join(_CROCKFORD[number >> shift & 31] for shift in shifts)


def ulid_time(ulid: str) -> datetime:
    """Return the UTC time of an id, to the millisecond; ValueError if it is not one."""
    if not is_ulid(ulid):
        message = f"not a ULID: {ulid!r}"
        raise ValueError(message)
    milliseconds = 0
    for sign in ulid[:10]:
        milliseconds = milliseconds << 5 | _CROCKFORD.index(sign)
    return _EPOCH + min(milliseconds, _LAST_MILLISECOND) * _MILLISECOND


def is_ulid(text: str) -> bool:
    """Return whether `text` has the form of an id.

    That is 26 upper-case characters of Crockford's base 32.
    """
    return _ULID.fullmatch(text) is not None


def _folded(text: str) -> str:
    """Return the compatibility caseless form (Unicode, definition D146).

    All apostrophes become `'` and all hyphens `-`.
    """
    # NFKC turns the acute that people type as an apostrophe into an accent on a blank.
    text = unicodedata.normalize("NFD", text.replace("´", "'"))
    once = unicodedata.normalize("NFKC", text.casefold())
    folded = _APOSTROPHE.sub("'", unicodedata.normalize("NFKC", once.casefold()))
    return _HYPHEN.sub("-", folded)


def _sign_or_blank(match: re.Match[str]) -> str:
    """Return the sign itself if it distinguishes two facts, else a blank."""
    sign, at, text = match[0], match.start(), match.string
    if not sign.isascii() and unicodedata.category(sign)[0] not in "PZ":
        return sign
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if before.isalnum() and after.isalnum():
        keep = sign in _INSIDE_WORD or (before.isdigit() and after.isdigit())
    elif after.isalnum():
        keep = sign in _BEFORE_WORD and before != sign
    elif before.isdigit():
        keep = sign in _AFTER_NUMBER
    else:
        keep = _distinguishes(sign, before, text[at + 1 : at + 3])
    return sign if keep or sign in "+$<>=~^|" else " "


def _distinguishes(sign: str, before: str, after: str) -> bool:
    """Return whether `sign` is that of C#, of != or a minus.

    A minus precedes a currency or a bare decimal point.
    """
    if sign == "#":
        return before.isalpha()
    if sign == "!":
        return after.startswith("=")
    if sign != "-" or not after:
        return False
    return unicodedata.category(after[0]) == "Sc" or (
        after[0] == "." and after[1:].isdigit()
    )


def _slug_words(text: str) -> list[str]:
    words = [""]
    for sign in text:
        if sign.isalnum() or (words[-1] and unicodedata.category(sign)[0] == "M"):
            words[-1] += sign
        elif words[-1]:
            words.append("")
    return [word for word in words if word]


def _cut(name: str, max_bytes: int) -> str:
    """Return `name` within `max_bytes`, cut at the last `-` if there is one."""
    raw = name.encode("utf-8", "ignore")
    if len(raw) <= max_bytes:
        return name
    short = raw[:max_bytes].decode("utf-8", "ignore")
    if raw[max_bytes : max_bytes + 1] == b"-":
        return short
    return short.rpartition("-")[0] or short


def reading_order(
    when: str | None, source: str, kind: str, key: str
) -> tuple[str, str, int, bool, str]:
    """Return what puts the hits of a recall into the order in which a model reads them.

    By day (`when` is ISO 8601; hits without one are last), then by session and turn of
    `source`, which is such as `2026-11-20-talk#^t2`.
    """
    session, _, block = source.partition("#")
    turn = _TURN.fullmatch(block)
    return (when or "~")[:10], session, int(turn[1]) if turn else 0, kind != "turn", key


_TURN = re.compile(r"\^\D*(\d+)")
"""The block of a turn in its session file."""
