"""Role-play: the turns in which people do not speak for themselves (row X2).

A game begins with words that give the speaker a role (`let's play: I am …`, `interview
me as …`) and lasts until it is ended (`back to real life`). The only signs of a game
that began before the given turns are stage directions (`*draws a sword*`); then all
turns up to its end belong to it. A game that continues without such a sign is not
recognised, so callers include some preceding turns. Patterns are in section
`[role_play]` of the language files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.language import languages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.records import Turn

_OPENS = languages.any_pattern("role_play", "opens").replace(
    "<ROLE>", languages.any_pattern("role_play", "role")
)
_CLOSES = rf"\b(?:{languages.any_pattern('role_play', 'closes')})\b"
_WORDS = languages.Screen(
    (effect, languages.LazyPattern(words, re.IGNORECASE))
    for effect, words in (("closes", _CLOSES), ("opens", _OPENS))
)
_STAGED = re.compile(r"(?:^|[\n.!?] ?)\*[a-z]+s(?: [^\s*]+){1,15}\*(?!\*)")


def played(turns: Sequence[Turn]) -> list[bool]:
    """Return for each turn of a conversation whether it is part of a role-play (`X2`).

    A role-play extends from the turn that opens it to the one that closes it, or to the
    last. The time is linear in the length.
    """
    marks = [_effect(turn) for turn in turns]
    is_on = next((mark for mark in marks if mark), "") == "staged"
    found = []
    for mark in marks:
        is_on = is_on or mark in {"opens", "staged"}
        found.append(is_on)
        is_on = is_on and mark != "closes"
    return found


def _effect(turn: Turn) -> str:
    """Return the effect of a turn on a game: opens, staged, closes or ''.

    A role that the assistant takes does not open a game of the user.
    """
    text = turn.text.replace("’", "'")
    effect = next(_WORDS.found(text), "")
    if turn.role != "user":
        return effect if effect == "closes" else ""
    return effect or ("staged" if _STAGED.search(text) else "")
