"""Role-play: from which turn on nobody speaks for themselves, and when they do again
(row X2).

A game is opened in words that give the speaker a role (`let's play: I am …`, `interview
me as …`) and lasts until somebody ends it (`back to real life`, `end of interview`).
Where a game that was opened before is still going on, only its stage directions tell
(`*draws a sword*`); then everything up to its end is played. A game that was opened
before the turns at hand and goes on without any such sign is not recognised, so callers
hand in some of those before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.records import Turn

_ROLE = r"(?:the |a |an |my |your |sir |lord |lady |king |queen |captain |madam\w* |miss |mrs? |dr |professor )"
_OPENS = re.compile(
    r"\b(?:let'?s|can we|could we|shall we|we could|want to|start|begin|do|try) (?:an? |some |our |the )?"
    r"(?:(?:little|quick|short|new) )?role-?play(?!ing games?)"
    r"|\blet'?s (?:play|pretend|imagine)\b[^.!?\n]{0,60}\b(?:i(?:'m| am|'ll be| will be| play)|we(?:'re| are)|you(?:'re"
    rf"| are|'ll be| play) {_ROLE})"
    rf"|\byou (?:be|play|can be|will be)\b[^.!?\n]{{1,60}}\bi(?:'m|'ll be| am| will be| play| can be) (?:{_ROLE}|[A-Z])"
    rf"|\bi(?:'ll| will) (?:be|play) {_ROLE}[^.!?\n]{{1,60}}\byou(?:'re| are|'ll be| will be| be| play)\b"
    r"|\b(?:interview|examine|question|cast|treat|address) me as (?:if|though|an?|the)\b"
    r"|\bpretend (?:that )?(?:i|i'm|we|we're)\b|\b(?:act|speak|talk|behave) as (?:if|though) (?:i|we)\b"
    r"|\b(?:lass uns|wir (?:machen|spielen)|beginnen wir) [^.!?\n]{0,20}rollenspiel"
    r"|\bspielen wir\b[^.!?\n]{0,40}\bich bin\b|\b(?:lass uns so tun, als|tu so, als (?:wäre|sei) ich)\b"
    r"|\b(?:faisons|commençons) (?:un )?jeu de rôle|\b(?:on joue|jouons)\b[^.!?\n]{0,40}\bje suis\b"
    r"|\bfaisons comme si\b|\b(?:hagamos|juguemos)\b[^.!?\n]{0,30}(?:juego de rol|\bsoy\b|\bcomo si\b)",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"\b(?:back to (?:real life|reality)|out of character|ooc|game over|(?:joking|jokes) aside"
    r"|(?:end|ends|ended|stop|stopping|quit|leave|finish) (?:of )?(?:the |this |our )?(?:game|scene|role-?play\w*"
    r"|interview|story|play|act)|enough (?:of (?:the |this |that )?)?(?:role-?play\w*|playing|games?|pretending)"
    r"|no more (?:role-?play\w*|pretending)|(?:we(?:'re| are)|i(?:'m| am)) (?:done|finished) (?:playing|pretending)"
    r"|zurück (?:zur realität|ins (?:echte|wirkliche) leben)|(?:ende|schluss) (?:des|mit dem|vom) (?:rollen)?spiels?"
    r"|genug gespielt|retour à la réalité|fin du jeu|fin del juego|(?:volvamos|de vuelta) a la realidad)\b",
    re.IGNORECASE,
)
_STAGED = re.compile(r"(?:^|[\n.!?] ?)\*[a-z]+s(?: [^\s*]+){1,15}\*(?!\*)")


def played(turns: Sequence[Turn]) -> list[bool]:
    """For each of the turns, of one conversation in order, whether somebody plays a
    role in it (`X2`). Linear.

    That is so from the turn that opens a game to the one that closes it, or to the
    last.
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
    """What a turn does with a game; what an assistant plays is no sign that the user
    does.
    """
    text = turn.text.replace("’", "'")
    if _CLOSES.search(text):
        return "closes"
    if turn.role != "user":
        return ""
    return "opens" if _OPENS.search(text) else "staged" if _STAGED.search(text) else ""
