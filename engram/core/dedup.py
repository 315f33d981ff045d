"""The cheap rungs of the write ladder: what to do with one candidate, with the reason (rows C5, C17, X8, X17)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Action = Literal["create", "confirm", "skip", "review"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happens to a candidate, why in words, and the memory it met, if any."""

    action: Action
    why: str
    met: str = ""


def judge(*, trivial: bool, grounded: bool, already: bool, twin: str | None, buried: bool) -> Verdict:
    """The first rung that decides: already filed, trivial, ungrounded, hash twin, tombstone; else create.

    `already`: this very candidate was filed before a crash. `twin`: id of an active fact with the same
    content hash (`C5`); a hit confirms it and writes no file. `grounded`: its quote stands in the turn
    (`X17`). `buried`: a person forgot, deleted or corrected this statement (`X8`).
    """
    if already:
        return Verdict("skip", "already filed")
    if trivial:
        return Verdict("skip", "trivial")
    if twin:
        return Verdict("confirm", "same statement", twin)
    if buried:
        return Verdict("review", "a person removed this before")
    if not grounded:
        return Verdict("review", "no evidence in the turn")
    return Verdict("create", "new")
