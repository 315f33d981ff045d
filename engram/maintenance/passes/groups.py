"""Groups of similar memories, and the questions about them (rows A21, A22, A28, D9,
X23).
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

from engram.core import dedup, trust
from engram.maintenance.passes import Finding, ModelQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from engram.core.dedup import Neighbour
    from engram.maintenance.passes import Answer, MemoryState, PassView

_UNLINKABLE = re.compile(r"[\[\]|#^/\\]")
_BREAKS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}
Pair = tuple["MemoryState", "MemoryState"]


def seeds(view: PassView) -> list[MemoryState]:
    """The active memories that conclusions may rest on, the latest first: none that was
    itself concluded (`D9`).
    """

    def found() -> list[MemoryState]:
        free = (
            one for one in view.active() if one.fact.origin not in trust.DERIVED_ORIGINS
        )
        return sorted(free, key=lambda one: (-last_evidence(one), one.fact.id))

    return view.once(seeds, found, view.memories)


def link_list(names: Iterable[str]) -> list[str]:
    """The names as a note's `about` has them: links, as far as a link can hold them."""
    return [
        name if _UNLINKABLE.search(name) else f"[[{name}]]"
        for name in dict.fromkeys(names)
    ]


def last_evidence(one: MemoryState) -> float:
    """When there was last evidence for a memory, in epoch seconds; 0 where nobody
    knows.
    """
    latest = max(filter(None, (one.fact.created, one.usage.evidence_at)), default=None)
    return latest.timestamp() if latest else 0.0


def idle_days(one: MemoryState, now: datetime) -> float:
    """For how many days nobody said, edited or recalled a memory."""
    known = (
        one.fact.created,
        one.usage.met,
        one.usage.evidence_at,
        one.usage.last_access,
    )
    latest = max(filter(None, known), default=now)
    return (now.timestamp() - latest.timestamp()) / 86400


def belongs_to_user(one: MemoryState) -> bool:
    """Whether a person stands by a memory, so that it gives way to none (`X23`)."""
    return bool(one.kept) or dedup.is_user_backed(one.fact)


def neighbours_of(
    view: PassView, one: MemoryState, low: float
) -> Iterator[tuple[MemoryState, Neighbour]]:
    """What is near a memory from `low` on, as the view has it by now: active, of its
    persona, not concluded.
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
        ):
            yield other, near


def clusters(
    view: PassView,
    some: Sequence[MemoryState],
    low: float,
    fits: Callable[[MemoryState], bool],
    *,
    above: bool = False,
) -> Iterator[list[MemoryState]]:
    """Groups around each of `some` that is in none yet: what is near it from `low`, or
    `above` it, and fits (`A21`).

    What words tell apart from the first of a group is not in it.
    """
    used: set[str] = set()
    for one in some:
        if one.fact.id in used or not fits(one):
            continue
        group = [one] + [
            other
            for other, near in neighbours_of(view, one, low)
            if other.fact.id not in used
            and fits(other)
            and not (near.distinct or near.conflict)
            and (not above or near.similarity > low)
        ]
        if len(group) > 1:
            used |= {member.fact.id for member in group}
            yield group


def pairs(
    view: PassView, some: Iterable[MemoryState], low: float, high: float, most: int
) -> list[Pair]:
    """The most alike pairs of one of `some` and another memory, from `low` to `high`
    (`A28`); newer first in each.
    """
    found: dict[tuple[str, str], tuple[float, Pair]] = {}
    for one in some:
        for other, near in neighbours_of(view, one, low):
            older, newer = sorted((one, other), key=_said)
            if near.similarity <= high:
                found[newer.fact.id, older.fact.id] = (near.similarity, (newer, older))
    ranked = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    return [pair for _, (_, pair) in ranked[:most]]


def _said(one: MemoryState) -> tuple[float, str]:
    at = one.fact.valid_from or one.fact.created
    return (at.timestamp() if at else 0.0, one.fact.id)


# -- questions -------------------------------------------------------------------------


def model_question(
    view: PassView, task: str, material: object, why: str
) -> tuple[ModelQuestion, Answer | None]:
    """A question about `material`, and its answer where there is one. Equal material is
    an equal question.
    """
    text = json.dumps(material, ensure_ascii=False, sort_keys=True).translate(_BREAKS)
    question = ModelQuestion(task, text, why)
    return question, view.answers.get(question.key)


def numbered(view: PassView, some: Sequence[MemoryState]) -> list[dict[str, object]]:
    """Memories as a question shows them, numbered from 1."""
    return [
        {"n": number, "text": one.fact.text}
        | (
            {"said": f"{one.fact.created.astimezone(view.zone):%Y-%m-%d}"}
            if one.fact.created
            else {}
        )
        for number, one in enumerate(some, 1)
    ]


def digest_of(*texts: str) -> str:
    """Eight digits that tell what was shown from what stands there later."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]


def dropped(task: str, said: Answer) -> list[Finding]:
    """What of an answer was dropped, by reason."""
    return [
        Finding("", task, f"{number} dropped of an answer: {why}")
        for why, number in said.get("dropped", {}).items()
    ]
