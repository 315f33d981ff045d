"""Role-play: the turns in which people do not speak for themselves (row X2).

A game is opened by words that give the speaker a role (`let's play: I am …`,
`interview me as …`) and lasts until it is ended (`back to real life`). Of a game that
was opened earlier only stage directions are a sign (`*draws a sword*`); then everything
up to its end is played. A game that goes on without such a sign is not recognised, so
callers hand in some of the turns before. Patterns are in section `[role_play]` of the
language files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.language import languages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.records import Turn

_OPENS = re.compile(
    languages.any_pattern("role_play", "opens").replace(
        "<ROLE>", languages.any_pattern("role_play", "role")
    ),
    re.IGNORECASE,
)
_CLOSES = re.compile(
    rf"\b(?:{languages.any_pattern('role_play', 'closes')})\b", re.IGNORECASE
)
_STAGED = re.compile(r"(?:^|[\n.!?] ?)\*[a-z]+s(?: [^\s*]+){1,15}\*(?!\*)")


def played(turns: Sequence[Turn]) -> list[bool]:
    """Whether a role is played, for each of the turns of one conversation (`X2`).

    It is from the turn that opens a game to the one that closes it, or to the last.
    Linear.
    """
    marks = [_mark(turn) for turn in turns]
    is_on = next((mark for mark in marks if mark), "") == "staged"
    found = []
    for mark in marks:
        is_on = is_on or mark in {"opens", "staged"}
        found.append(is_on)
        is_on = is_on and mark != "closes"
    return found


def _mark(turn: Turn) -> str:
    """Return the effect of a turn on a game: opens, staged, closes or ''.

    The role of an assistant does not mean that the user plays one.
    """
    text = turn.text.replace("’", "'")
    if _CLOSES.search(text):
        return "closes"
    if turn.role != "user":
        return ""
    return "opens" if _OPENS.search(text) else "staged" if _STAGED.search(text) else ""
