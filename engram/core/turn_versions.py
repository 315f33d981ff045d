"""Versions of a turn: the same id of the caller's with another text.

A chat interface lets users edit a message and ask for another answer. The new text is a
turn of its own, whose id names the first version and the hash of its text.
"""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.core.records import Turn

_DIGITS = 12
_VERSION = re.compile(rf"(.+) edit-([0-9a-f]{{{_DIGITS}}})", re.DOTALL)


def version_id(turn_id: str, text: str) -> str:
    """Return the id of the version of a turn that says `text`.

    >>> version_id("m7", "I drink tea.")
    'm7 edit-5c669a424c49'
    """
    return f"{turn_id} edit-{_digest(text)}"


def first_id(turn: Turn) -> str | None:
    """Return the id under which the first version of a turn came.

    None for a turn that is no edited one.
    """
    found = _VERSION.fullmatch(turn.id)
    return found[1] if found and found[2] == _digest(turn.text) else None


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


def replaces(turn: Turn, other: Turn, hours: float) -> bool:
    """Whether a turn with the id of another one takes its place.

    After more than `hours` both are kept: a client that counts its messages from 1 in
    each run uses old ids for new messages.
    """
    between = turn.occurred_at - other.occurred_at
    return is_version_of(turn, other) and between <= timedelta(hours=hours)


def _digest(text: str) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:_DIGITS]
