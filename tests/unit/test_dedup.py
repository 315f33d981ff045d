"""The cheap rungs of the ladder, in their order."""

from __future__ import annotations

from itertools import product

import pytest

from engram.core.dedup import Verdict, judge

NOTHING = {"already": False, "trivial": False, "twin": None, "buried": False, "grounded": True}
RUNGS = [
    ({"already": True}, Verdict("skip", "already filed")),
    ({"trivial": True}, Verdict("skip", "trivial")),
    ({"twin": "F1"}, Verdict("confirm", "same statement", "F1")),
    ({"buried": True}, Verdict("review", "a person removed this before")),
    ({"grounded": False}, Verdict("review", "no evidence in the turn")),
]


# row: C5
# row: X8
# row: X17
@pytest.mark.parametrize(("rung", "verdict"), RUNGS)
def test_each_rung_decides_alone(rung, verdict):
    """One reason is enough."""
    assert judge(**NOTHING | rung) == verdict


def test_the_first_rung_that_holds_decides():
    """Whatever else is true: all 32 cases."""
    for chosen in product([False, True], repeat=len(RUNGS)):
        held = [rung for rung, holds in zip(RUNGS, chosen, strict=True) if holds]
        given = dict(NOTHING)
        for rung, _ in held:
            given |= rung
        assert judge(**given) == (held[0][1] if held else Verdict("create", "new"))
