"""The passes of each cadence, and the search for one by its name.

A pass is named by its function; the name is also the action in the log, the key in the
counts of a run, and the argument of `engram consolidate --pass`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.errors import BadRequestError
from engram.maintenance.passes import (
    bridges,
    entities,
    entity_text,
    insight,
    lifecycle,
    merge,
    profiles,
    sessions,
    states,
    stories,
    subjects,
    todos,
    vectors,
)
from engram.maintenance.schedule import CADENCES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.maintenance.passes import Pass
    from engram.maintenance.schedule import Cadence

NIGHTLY: tuple[Pass, ...] = (
    lifecycle.promote,
    lifecycle.archive,
    lifecycle.revive,
    vectors.tier,
    vectors.precision,
    states.redate,
    states.end_states,
    merge.merge,
    merge.compare,
    merge.contradict,
    insight.cluster,
    insight.fold,
    insight.principles,
    insight.integrate,
    entities.unite,
    entities.retire,
    subjects.subjects,
    entity_text.describe,
    entity_text.relate,
    lifecycle.expire,
    entity_text.cards,
    bridges.bridges,
    insight.probe,
    insight.drift,
    stories.storylines,
    sessions.spine,
    profiles.profile,
    profiles.identity,
    entity_text.cleanup,
    lifecycle.topics,
    lifecycle.logs,
)
WEEKLY: tuple[Pass, ...] = (
    stories.macros,
    entity_text.cleanup,
    insight.guidelines,
    lifecycle.edges,
)
TALK: tuple[Pass, ...] = (
    todos.ticked,
    todos.promises,
    sessions.rolling,
    sessions.episodes,
    sessions.summary,
)
"""Passes after turns: they read only the conversations that changed, and promises."""
ASKED: tuple[Pass, ...] = (merge.reflect,)
"""Passes that run only if a caller names them."""
PASSES: Mapping[Cadence, tuple[Pass, ...]] = {
    "talk": TALK,
    "nightly": (*TALK, *NIGHTLY),
    "weekly": WEEKLY,
}
"""The passes of each cadence, in the order in which they run (rows C34, D9)."""


def passes_of(cadence: Cadence, only: str | None) -> tuple[Pass, ...]:
    """Return the passes of a cadence, or the one named `only`.

    Raises BadRequestError for an unknown name.
    """
    if only is None:
        return PASSES[cadence]
    every = (*PASSES.values(), ASKED)
    known = {one.__name__: one for passes in every for one in passes}
    if only not in known:
        names = ", ".join(known)
        raise BadRequestError(f"there is no pass {only!r}", fix=f"Use one of: {names}.")
    return (known[only],)


def cadence_of(name: str) -> Cadence | None:
    """Return the first cadence that has a pass of this name, or None."""
    for cadence in CADENCES:
        if any(one.__name__ == name for one in PASSES[cadence]):
            return cadence
    return None
