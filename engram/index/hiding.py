"""Facts, turns and notes without the sentences that were forgotten (rows A26, X8; model
§0.11).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.forgetting import CUT, Spoken
from engram.core.records import Fact, FiledTurn
from engram.core.trust import source_class

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from engram.core.forgetting import Forgotten
    from engram.core.trust import Voice
    from engram.index.database import Unit


def said(turn: FiledTurn) -> Spoken:
    """How the words of a turn count: own are those of the user in the chat."""
    return Spoken(turn.turn.occurred_at, turn.key, source_class(turn.turn) == "user")


def seen(
    unit: Unit,
    forgotten: Forgotten,
    voices: Callable[[Sequence[str]], Mapping[str, Voice]],
) -> Unit | None:
    """The unit as it may be handed out: itself, with sentences cut out, or None where
    nothing is left.

    `voices` tells how turns came in, by their keys; it is asked only where a fact would
    be hidden.
    """
    if not forgotten:
        return unit
    if isinstance(unit, FiledTurn):
        text = forgotten.shown(unit.turn.text, said(unit))
        return _with(unit, text) if text else None
    if isinstance(unit, Fact):
        text = _stated(unit, forgotten, voices)
        return (
            None
            if not text
            else unit
            if text == unit.text
            else replace(unit, text=text)
        )
    text = forgotten.shown(unit.text, Spoken(fact=True))
    return (
        None
        if not text.strip() and unit.text.strip()
        else unit
        if text == unit.text
        else replace(unit, text=text)
    )


def _stated(
    fact: Fact,
    forgotten: Forgotten,
    voices: Callable[[Sequence[str]], Mapping[str, Voice]],
) -> str:
    """What may be handed out of a statement: as long as any of the turns behind it may
    be.
    """
    keys = [key for key in (fact.source, *fact.also) if key]
    text = forgotten.shown(
        fact.text,
        Spoken(fact.created, fact.source, own=not keys, fact=True, memory=fact.id),
    )
    if text == fact.text or not keys:
        return text
    users = {key for key, voice in voices(keys).items() if voice.source_class == "user"}
    told = (
        forgotten.shown(
            fact.text,
            Spoken(fact.created, key, key in users, fact=True, memory=fact.id),
        )
        for key in keys
    )
    return next((one for one in told if one == fact.text), text)


def retold(turn: FiledTurn, forgotten: Forgotten, buried: Collection[str]) -> FiledTurn:
    """A turn for whoever sums up a conversation: what may not be handed out is a mark,
    so that places stay.
    """
    if turn.key in buried:
        return _with(turn, CUT)
    text = forgotten.shown(turn.turn.text, said(turn))
    return _with(turn, text or CUT)


def _with(turn: FiledTurn, text: str) -> FiledTurn:
    return (
        turn
        if text == turn.turn.text
        else replace(turn, turn=replace(turn.turn, text=text))
    )
