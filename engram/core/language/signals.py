"""Signals: phrases that trigger the extraction of a conversation at once (row C1).

A signal decides only *when* a conversation is extracted, never *what* is true. The
phrases are in sections `[signals.high]` and `[signals.medium]` of the language files,
one pattern a class, and are matched in one linear pass (row X13).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import re2

from engram.core.language import languages
from engram.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.policy import SignalPolicy
    from engram.core.records import Level

OWN = "own:"
"""The prefix of the class of a configured pattern."""

_APOSTROPHES = str.maketrans("’ʼ＇", "'''")


@dataclass(frozen=True, slots=True)
class Signal:
    """The urgency of an extraction, and the matched classes, high ones first."""

    level: Level
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SignalTable:
    """The compiled table: `names[i]` and `high[i]` belong to the i-th of `patterns`."""

    patterns: Any
    names: tuple[str, ...]
    high: tuple[bool, ...]


def table(extra: Sequence[str] = ()) -> SignalTable:
    """Return the table of the language files and of configured patterns (`C1`).

    `extra` are configured patterns, of level high, in RE2's syntax; they ignore case
    and may match anywhere. Raises ConfigError with every pattern of it that is not
    valid or matches an empty text.
    """
    rows = [
        (name, level == "high", spelled(languages.pattern(text), code))
        for level in ("high", "medium")
        for name in languages.keys(f"signals.{level}")
        for code, text in languages.texts(f"signals.{level}", name).items()
    ]
    faults = [f"{pattern!r} {fault}" for pattern in extra if (fault := _fault(pattern))]
    if faults:
        raise ConfigError(
            f"these signal patterns cannot be used: {'; '.join(faults)}",
            where="signals.patterns",
            fix="Write them in RE2 syntax, without look-around or back-references.",
        )
    rows += [(OWN + pattern, True, pattern) for pattern in extra]
    patterns = languages.compiled(tuple(pattern for _, _, pattern in rows))
    return SignalTable(
        patterns, tuple(name for name, _, _ in rows), tuple(high for _, high, _ in rows)
    )


def scan(text: str, table: SignalTable, policy: SignalPolicy) -> Signal:
    """Return the signal of a text (`C1`).

    A hit of a high class gives high; `medium_hits` medium classes give medium; one
    gives low. If a text is longer than `scan_chars`, only its head and its tail are
    searched, half of that length each, because people write before or after pasted
    text. The time is linear in the length.
    """
    if len(text) > policy.scan_chars:
        half = policy.scan_chars // 2
        text = f"{text[:half]}\n{text[-half:]}"
    plain = unicodedata.normalize("NFC", text).translate(_APOSTROPHES)
    found = sorted(table.patterns.Match(plain.encode("utf-8", "replace")) or ())
    high = dict.fromkeys(table.names[i] for i in found if table.high[i])
    medium = dict.fromkeys(table.names[i] for i in found if not table.high[i])
    return Signal(_level(len(high), len(medium), policy), (*high, *medium))


def _level(high: int, medium: int, policy: SignalPolicy) -> Level:
    if high:
        return "high"
    if medium >= policy.medium_hits:
        return "medium"
    return "low" if medium else "none"


def spelled(pattern: str, code: str) -> str:
    """Return a pattern of the language file `code` in RE2's syntax.

    A blank becomes any blanks, `~` at most one word between; in scripts with blanks the
    pattern neither begins nor ends inside a word.
    """
    row = (
        pattern.replace(r"~", r"(?:\S+ )?")
        .replace(" ", r"\s+")
        .replace(r"\s+?", r"\s*")
    )
    return row if code in languages.unspaced() else rf"(?:^|\b|\W)(?:{row})(?:\b|\W|$)"


def _fault(pattern: str) -> str:
    """Return why a configured pattern cannot be used, or ''."""
    try:
        empty = re2.compile(pattern, languages.options()).search("")
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        return f"is no valid pattern ({reason.decode() if isinstance(reason, bytes) else reason})"
    return "matches an empty text, so it would match everything" if empty else ""
