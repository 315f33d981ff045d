"""Versions of a turn: the same caller's id with another text.

A chat interface lets users edit a message and ask for another answer. The new text is a
separate turn, whose id contains the first version's id and the hash of the text. A text
that returns after another one replaced it is one more version, with a number.
"""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core.language.words import content, language, words

if TYPE_CHECKING:
    from collections.abc import Collection

    from engram.core.policy import BufferPolicy
    from engram.core.records import Turn

_DIGITS = 12
_VERSION = re.compile(rf"(.+) edit-([0-9a-f]{{{_DIGITS}}})(?:-[0-9]+)?", re.DOTALL)
_MOST_OF_ONE = 2 / 3
_PART_OF_BOTH = 1 / 3


def version_id(turn_id: str, text: str, number: int = 1) -> str:
    """Return the id of the `number`-th version of a turn with the text `text`.

    >>> version_id("m7", "I drink tea.")
    'm7 edit-5c669a424c49'
    >>> version_id("m7", "I drink tea.", 2)
    'm7 edit-5c669a424c49-2'
    """
    again = f"-{number}" if number > 1 else ""
    return f"{turn_id} edit-{text_digest(text)}{again}"


def base_id(turn_id: str) -> str:
    """Return the id without the suffix of a version, if it has one."""
    match = _VERSION.fullmatch(turn_id)
    return match[1] if match else turn_id


def first_id(turn: Turn) -> str | None:
    """Return the id of the first version of a turn, or None if it is not an edit."""
    match = _VERSION.fullmatch(turn.id)
    return match[1] if match and match[2] == text_digest(turn.text) else None


def is_version_of(turn: Turn, other: Turn) -> bool:
    """Return whether a turn may replace another one.

    An edit has the same session, role, origin and persona.
    """
    return (turn.session, turn.role, turn.origin, turn.persona) == (
        other.session,
        other.role,
        other.origin,
        other.persona,
    )


def replaces(turn: Turn, other: Turn, policy: BufferPolicy) -> bool:
    """Return whether a turn with the id of another one replaces it.

    A client that counts its messages from 1 in each run reuses old ids for new
    messages. Therefore words that have nothing in common with the other turn replace it
    only within `session_gap_minutes`, and after `edit_hours` no turn is replaced.
    """
    between = abs(turn.occurred_at - other.occurred_at)
    return (
        is_version_of(turn, other)
        and between <= timedelta(hours=policy.edit_hours)
        and (
            between <= timedelta(minutes=policy.session_gap_minutes)
            or overlaps(turn.text, other.text)
        )
    )


def overlaps(text: str, other: str) -> bool:
    """Return whether one text may be an edit of the other.

    They share a meaningful word, and most words of one or a third of all.

    >>> overlaps("I am allergic to nuts.", "I am allergic to milk, too.")
    True
    >>> overlaps("What is the weather like?", "What is the capital of France?")
    False
    """
    new, old = words(text), words(other)
    code = language([*new, *old])
    if not {*content(new, code)} & {*content(old, code)}:
        return text.strip() == other.strip()
    return _share_enough({*new}, {*old})


def _share_enough(new: Collection[str], old: Collection[str]) -> bool:
    shared = len({*new} & {*old})
    return shared >= _MOST_OF_ONE * min(
        len(new), len(old)
    ) or shared >= _PART_OF_BOTH * len({*new} | {*old})


def turn_digest(turn: Turn) -> str:
    """Return a hash of a turn as a client sends it: session, id and words."""
    raw = f"{turn.session}\n{turn.id}\n{turn.text}"
    return hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()


def text_digest(text: str) -> str:
    """Return a hash of the exact words of a turn."""
    raw = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:_DIGITS]
