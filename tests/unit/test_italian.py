"""Italian: states, questions, facts, requests for privacy, and what is taken back (X13)."""

from __future__ import annotations

import pytest

from engram.core.language.privacy import reference
from tests.fakes.sentences import rows
from tests.unit.language_tables import facts


@pytest.mark.parametrize(
    ("text", "expected"),
    rows("italian", "a_request_for_privacy_in_italian"),
)
def test_a_request_for_privacy_in_italian(text: str, expected: str) -> None:
    assert reference(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Io e Paolo ci siamo lasciati, ma siamo tornati insieme.",
        "Mi sono trasferita a Torino, poi ho cambiato idea.",
    ],
)
def test_what_did_not_last_in_italian_gives_no_fact(text: str) -> None:
    assert facts(text) == []
