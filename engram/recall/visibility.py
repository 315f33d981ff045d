"""Visibility of units for a question: status, persona, session (rows A29, X8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core import lifecycle, personas, ranking
from engram.core.records import (
    UNKNOWN_PERSONA,
    Fact,
    FiledTurn,
)
from engram.core.sessions import EPISODES, word_coverage
from engram.core.text import content_hash
from engram.index.database import OwnNote

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import (
        Collection,
        Sequence,
    )

    from engram.core.policy import SessionPolicy
    from engram.index.database import Unit
    from engram.index.search import Index
    from engram.recall.request import RecallRequest


def recallable(
    index: Index, keys: Sequence[str], request: RecallRequest, filtered: Counter[str]
) -> dict[str, Unit]:
    """Return the units with these keys that may be recalled; count the others."""
    units = index.units(keys)
    return {
        key: unit
        for key, unit in units.items()
        if not is_hidden(unit, request, index.tombstones.keys, filtered)
    }


def is_hidden(
    unit: Unit, request: RecallRequest, buried: Collection[str], filtered: Counter[str]
) -> bool:
    """Return whether a unit may not be recalled, and count the reason.

    A turn is hidden with the fact that a user removed (`X8`).
    """
    why = None
    if isinstance(unit, Fact):
        if request.as_of:
            why = lifecycle.hidden_reason_as_of(unit, request.as_of)
        else:
            why = lifecycle.hidden_reason(unit, request.now, archive=request.archive)
    elif _is_forgotten(unit, buried):
        why = "forgotten"
    if why is None and _is_of(unit, request.running):
        why = "said in this conversation"
    private_to = unit.turn.private_to if isinstance(unit, FiledTurn) else unit.persona
    if why is None and not personas.sees(request.persona, private_to):
        why = "of another persona"
    if why is not None:
        filtered[why] += 1
    return why is not None


def _is_of(unit: Unit, running: Collection[str]) -> bool:
    """Return whether all sources of a unit are in the `running` session."""
    if not running or isinstance(unit, OwnNote):
        return False
    keys = [unit.key] if isinstance(unit, FiledTurn) else [unit.source, *unit.also]
    return all(key.partition("#")[0] in running for key in keys)


def _is_forgotten(unit: FiledTurn | OwnNote, buried: Collection[str]) -> bool:
    """Return whether a user removed the turn, or the statement of a broken note.

    The front matter of a broken note cannot be read, so its status is unknown.
    """
    if isinstance(unit, FiledTurn):
        return unit.key in buried
    return unit.persona == UNKNOWN_PERSONA and content_hash(unit.text) in buried


def is_too_far(
    unit: Unit,
    question: ranking.Question,
    close: Collection[str] | None,
    policy: SessionPolicy,
    filtered: Counter[str],
) -> bool:
    """Return whether an episode is too far from the question (`A29`).

    Vectors decide if `close` is given, else words.
    """
    if isinstance(unit, Fact | FiledTurn) or not unit.path.startswith(EPISODES):
        return False
    near = (
        word_coverage(question.words, unit.text) > policy.episode_cover
        if close is None
        else unit.path in close
    )
    if not near:
        filtered["episodes too far away"] += 1
    return not near
