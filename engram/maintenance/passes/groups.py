"""Groups of similar memories (rows A21, A22, A28, D9, X23)."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from engram.core import actions, decide, trust
from engram.core.actions import Action, Eligibility, Proposal
from engram.core.records import HIGH, Fact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from engram.core.decide import Known
    from engram.maintenance.passes.view import MemoryState, PassView

_UNLINKABLE = re.compile(r"[\[\]|#^/\\]")
Pair = tuple["MemoryState", "MemoryState"]


def seeds(view: PassView) -> list[MemoryState]:
    """Return the active memories that are not conclusions, latest first (`D9`).

    Settled promises are left out. So are highly sensitive memories: groups are given to
    a model, and the results to all personas (`B17`).
    """

    def first_hand() -> list[MemoryState]:
        memories = (
            one
            for one in view.active()
            if one.fact.origin not in trust.DERIVED_ORIGINS
            and one.fact.sensitivity != HIGH
            and not one.fact.done
        )
        return sorted(memories, key=lambda one: (-last_evidence(one), one.fact.id))

    return view.once(seeds, first_hand, view.memories)


def link_list(names: Iterable[str]) -> list[str]:
    """Return names for the key `about`: as links, unless a link cannot contain them."""
    return [
        name if _UNLINKABLE.search(name) else f"[[{name}]]"
        for name in dict.fromkeys(names)
    ]


def last_evidence(one: MemoryState) -> float:
    """Return the time of the last evidence, in epoch seconds; 0 if unknown."""
    latest = max(filter(None, (one.fact.created, one.usage.evidence_at)), default=None)
    return latest.timestamp() if latest else 0.0


def idle_days(one: MemoryState, now: datetime) -> float:
    """Return the days since a memory was created, met, confirmed or recalled."""
    known = (
        one.fact.created,
        one.usage.met,
        one.usage.evidence_at,
        one.usage.last_access,
    )
    latest = max(filter(None, known), default=now)
    return (now.timestamp() - latest.timestamp()) / 86400


def belongs_to_user(one: MemoryState) -> bool:
    """Return whether a memory belongs to a user, so that no other ends it (`X23`)."""
    return bool(one.kept) or decide.is_user_backed(one.fact)


def neighbours_of(
    view: PassView, one: MemoryState, low: float
) -> Iterator[tuple[MemoryState, Known]]:
    """Yield the neighbours of a memory with a similarity of at least `low`.

    They are active in the view, of the same persona, not highly sensitive, and not
    conclusions.
    """
    for near in view.reader.near(one.fact):
        other = view.memories.get(near.fact.id)
        if other is None or near.similarity < low:
            continue
        known = other.fact
        if (
            known.status == "active"
            and known.persona == one.fact.persona
            and known.origin not in trust.DERIVED_ORIGINS
            and known.sensitivity != HIGH
        ):
            yield other, near


def clusters(
    view: PassView,
    memories: Sequence[MemoryState],
    low: float,
    fits: Callable[[MemoryState], bool],
    *,
    above: bool = False,
) -> Iterator[list[MemoryState]]:
    """Yield disjoint groups of similar memories that fit (`A21`).

    A group is one of `memories` and its neighbours with a similarity of at least `low`,
    or `above` it. Neighbours with different numbers, names or negation are left out.
    """
    used: set[str] = set()
    for one in memories:
        if one.fact.id in used or not fits(one):
            continue
        group = [one]
        for other, near in neighbours_of(view, one, low):
            if near.distinct or (above and near.similarity <= low):
                continue
            if other.fact.id not in used and fits(other):
                group.append(other)
        if len(group) > 1:
            used |= {member.fact.id for member in group}
            yield group


def pairs(
    view: PassView, memories: Iterable[MemoryState], low: float, high: float, most: int
) -> list[Pair]:
    """Return the most similar pairs of one of `memories` and any other (`A28`).

    At most `most` pairs with a similarity from `low` to `high`, each with the newer
    memory first. Settled promises are left out.
    """
    by_ids: dict[tuple[str, str], tuple[float, Pair]] = {}
    for one in memories:
        for other, near in neighbours_of(view, one, low):
            older, newer = sorted((one, other), key=_age_key)
            if near.similarity <= high and not other.fact.done:
                names = newer.fact.id, older.fact.id
                by_ids[names] = (near.similarity, (newer, older))
    ranked = sorted(by_ids.items(), key=lambda item: (-item[1][0], item[0]))
    return [pair for _, (_, pair) in ranked[:most]]


def _age_key(one: MemoryState) -> tuple[float, str]:
    at = one.fact.created or one.fact.valid_from
    return (at.timestamp() if at else 0.0, one.fact.id)


def proposal_on(
    view: PassView, action: Action, fact: Fact, stage: str = "candidate"
) -> Proposal:
    """Return whether the rules allow an action on a memory of this stage (`C22`)."""
    known = Eligibility(fact.confidence, stage, fact.importance, "consolidation")
    return actions.propose(action, known, view.policy.actions)


def digest_of(*texts: str) -> str:
    """Return a digest of texts (8 hex digits), to detect a later change."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]
