"""Who said it, and what follows."""

from __future__ import annotations

from itertools import product

import pytest

from engram.core import trust
from engram.core.policy import TrustPolicy
from engram.core.records import STANDINGS

POLICY = TrustPolicy()


# row: X17
def test_a_chat_may_claim_less_and_nobody_more():
    table = {
        (caller, claim): trust.caller_standing(caller, claim)
        for caller, claim in product(STANDINGS, (*STANDINGS, "", "x"))
    }
    assert {pair: got for pair, got in table.items() if got != pair[0]} == {
        ("chat", "import"): "import",
        ("chat", "tool"): "tool",
    }


# row: D6
def test_trust_falls_with_the_order_of_the_classes():
    values = [trust.trust(source, POLICY) for source in trust.SOURCE_CLASSES]
    assert values == [1.0, 0.7, 0.6, 0.5, 0.5, 0.4]


# row: X27
@pytest.mark.parametrize("deed", trust.RESTRICTED)
def test_only_what_the_user_says_becomes_a_fixture(deed):
    """Pinned, core, a principle or a promise."""
    barred = {
        source for source in trust.SOURCE_CLASSES if trust.restriction(deed, source)
    }
    assert barred == {"assistant", "import", "tool"}
    assert trust.restriction("pin", "import") == "what an import says cannot be pinned"
