"""Versions of a turn: the same id of the caller's with another text.

A chat interface lets users edit a message and ask for another answer. The new text is a
turn of its own, whose id names the first version and the hash of its text. Words that
come back after others took their place are one more version, which has a number.
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
    """Return the id of the version of a turn that says `text` the `number`-th time.

    >>> version_id("m7", "I drink tea.")
    'm7 edit-5c669a424c49'
    >>> version_id("m7", "I drink tea.", 2)
    'm7 edit-5c669a424c49-2'
    """
    again = f"-{number}" if number > 1 else ""
    return f"{turn_id} edit-{text_digest(text)}{again}"


def base_id(turn_id: str) -> str:
    """Return the id without the mark of a version, if it has one."""
    found = _VERSION.fullmatch(turn_id)
    return found[1] if found else turn_id


def first_id(turn: Turn) -> str | None:
    """Return the id under which the first version of a turn came.

    None for a turn that is no edited one.
    """
    found = _VERSION.fullmatch(turn.id)
    return found[1] if found and found[2] == text_digest(turn.text) else None


def is_version_of(turn: Turn, other: Turn) -> bool:
    """Whether a turn may take the place of another one.

    An edit keeps session, role, origin and persona.
    """
    return (turn.session, turn.role, turn.origin, turn.persona) == (
        other.session,
        other.role,
        other.origin,
        other.persona,
    )


def replaces(turn: Turn, other: Turn, policy: BufferPolicy) -> bool:
    """Whether a turn with the id of another one takes its place.

    A client that counts its messages from 1 in each run uses old ids for new messages.
    So words that have nothing in common with the other turn replace it only within
    `session_gap_minutes`, and after `edit_hours` nothing does.
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
    """Whether one text may be the other one after an edit.

    They share a word that carries meaning, and most words of one or a third of all.

    >>> overlaps("I am allergic to nuts.", "I am allergic to milk, too.")
    True
    >>> overlaps("What is the weather like?", "What is the capital of France?")
    False
    """
    mine, theirs = words(text), words(other)
    code = language([*mine, *theirs])
    if not {*content(mine, code)} & {*content(theirs, code)}:
        return text.strip() == other.strip()
    return _share_enough({*mine}, {*theirs})


def _share_enough(mine: Collection[str], theirs: Collection[str]) -> bool:
    shared = len({*mine} & {*theirs})
    return shared >= _MOST_OF_ONE * min(
        len(mine), len(theirs)
    ) or shared >= _PART_OF_BOTH * len({*mine} | {*theirs})


def turn_digest(turn: Turn) -> str:
    """Return a hash of a turn as a client sends it: session, id and words."""
    raw = f"{turn.session}\n{turn.id}\n{turn.text}"
    return hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()


def text_digest(text: str) -> str:
    """Return a hash of the very words of a turn."""
    raw = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:_DIGITS]
