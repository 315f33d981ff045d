"""The table of numbers holds together."""

from __future__ import annotations

from collections import Counter

from engram.core.policy import Policy, rows, with_settings

ROWS = rows(Policy())


def test_every_default_is_within_its_range_and_has_unit_source_and_meaning():
    """A default outside its range could not be written into a file that is read back."""
    offenders = [
        f"{row.concern}.{row.name}"
        for row in ROWS
        if not row.low <= row.value <= row.high
        or not all((row.unit, row.source, row.meaning))
    ]
    assert offenders == []


def test_no_number_has_two_rows_and_no_key_two_numbers():
    """A row is found by its concern and name, a setting by its key."""
    assert max(Counter((row.concern, row.name) for row in ROWS).values()) == 1
    assert max(Counter(row.key for row in ROWS if row.key).values()) == 1


def test_tiers_are_in_order():
    """Cut points that cross would make a tier unreachable (row C4)."""
    policy = Policy()
    assert (
        0
        < policy.extraction.inferred
        < policy.extraction.implied
        < policy.extraction.explicit
        <= 1
    )


def test_a_setting_changes_its_number_and_nothing_else():
    """The kind of a number stays what its default is."""
    changed = with_settings(
        Policy(), {"buffer.turns": 7.0, "buffer.minutes": 2, "no.such": 1}
    )
    other = [
        (old.name, new.value)
        for old, new in zip(ROWS, rows(changed), strict=True)
        if repr(old.value) != repr(new.value)
    ]
    assert other == [("turns", 7), ("minutes", 2.0)]
    assert (type(changed.buffer.turns), type(changed.buffer.minutes)) == (int, float)
