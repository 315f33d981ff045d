"""Which sentences are promises of the user, and which only look like one (row E16)."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from engram.core.policy import Policy
from engram.core.records import Turn
from engram.extraction.rules import engine
from tests.fakes.sentences import rows

MONDAY = datetime(2027, 3, 1, 9, tzinfo=ZoneInfo("Europe/Berlin"))


def categories(text):
    turn = Turn("1", "s", "user", text, MONDAY, speaker="user")
    found = engine.extract([turn], Policy().extraction).candidates
    return [one.category for one in found]


PROMISES = rows("promise_rules", "promises")


# row: E16
@pytest.mark.parametrize("text", PROMISES)
def test_a_duty_a_promise_and_a_wish_to_be_reminded_are_promises(text):
    """With a day or without one."""
    assert categories(text) == ["commitment"]


NO_PROMISES = rows("promise_rules", "no_promises")


# row: E16
@pytest.mark.parametrize("text", NO_PROMISES)
def test_what_others_do_what_happens_and_what_is_not_asserted_is_no_promise(text):
    assert "commitment" not in categories(text)
