"""Which facts may be recalled, now and as of a day."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.lifecycle import hidden, hidden_then
from engram.core.records import STATUSES, Fact

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
DAY = timedelta(days=1)
FACT = Fact("F", "Anna drinks tea.", created=NOW - 10 * DAY)


# row: A30
# row: C23
@pytest.mark.parametrize("status", [status for status in STATUSES if status != "active"])
def test_only_active_facts_are_recalled(status):
    """The status is the reason; a pin does not change that."""
    assert hidden(FACT, NOW) is None
    assert hidden(replace(FACT, status=status, pinned=True), NOW) == status


# row: B16
def test_a_pin_goes_before_an_expiry():
    """Expired is the moment itself; a pinned fact does not expire."""
    ending = replace(FACT, expires=NOW)
    assert hidden(ending, NOW - timedelta(seconds=1)) is None
    assert hidden(ending, NOW) == "expired"
    assert hidden(replace(ending, pinned=True), NOW) is None


def test_what_no_longer_holds_is_not_recalled():
    """Not even pinned: a pin keeps a memory, it does not make it true."""
    assert hidden(replace(FACT, valid_until=NOW, pinned=True), NOW) == "no longer valid"
    assert hidden(replace(FACT, valid_until=NOW + DAY), NOW) is None


# row: X5
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, None),
        ({"created": None}, None),
        ({"created": NOW}, None),
        ({"created": NOW + DAY}, "not yet known"),
        ({"valid_from": NOW + DAY}, "not yet valid"),
        ({"valid_from": NOW}, None),
        ({"valid_until": NOW}, "no longer valid"),
        ({"valid_until": NOW + DAY}, None),
        ({"expires": NOW}, "expired"),
        ({"expires": NOW, "pinned": True}, None),
        ({"expires": NOW + DAY}, None),
        ({"status": "superseded"}, None),
        ({"status": "invalidated"}, None),
        ({"status": "archived"}, None),
        ({"status": "forgotten"}, "forgotten"),
        ({"status": "pruned"}, "pruned"),
        ({"status": "review"}, "review"),
    ],
)
def test_as_of_a_day_counts_what_was_known_and_valid_then(changes, why):
    """Later ends do not matter; what a person removed never returns."""
    assert hidden_then(replace(FACT, **changes), NOW) == why
