"""Statements whose state a later one replaces."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram.core.records import Fact
from engram.core.replaced import replaced


def facts(*texts):
    """Facts that were said one after the other."""
    at = datetime(2027, 1, 1, tzinfo=UTC)
    return [
        Fact(text, text, created=at + timedelta(days=n)) for n, text in enumerate(texts)
    ]


# row: A7
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user lives in Bremen.", "The user lives in Munich."),
        ("The user lives in Bremen.", "I've moved to Augsburg."),
        ("The user has a dog.", "Our dog died."),
        ("Jonas lives in Bremen.", "The user lives in Munich."),
    ],
)
def test_a_later_state_replaces_an_earlier_one(old, new):
    assert list(replaced(facts(old, new), {"jonas"})) == [old]


# row: A7
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user lives in Bremen.", "Eva lives in Munich."),
        ("The user lives in Bremen.", "I might move to Augsburg."),
        ("The user lives in Bremen.", "The user works in Munich."),
        ("The user likes tea.", "The user likes coffee."),
    ],
)
def test_what_is_another_state_replaces_nothing(old, new):
    assert not replaced(facts(old, new), {"jonas"})
