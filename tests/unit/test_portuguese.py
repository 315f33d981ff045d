"""Portuguese: states, questions, facts, requests for privacy, and what is taken back (X13)."""

from __future__ import annotations

import pytest

from engram.core.language.privacy import reference
from tests.fakes.sentences import rows
from tests.unit.language_tables import facts


@pytest.mark.parametrize(
    ("text", "expected"),
    rows("portuguese", "a_request_for_privacy_in_portuguese"),
)
def test_a_request_for_privacy_in_portuguese(text: str, expected: str) -> None:
    assert reference(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "O Pedro e eu terminámos, mas fizemos as pazes.",
        "Mudei-me para Faro, mas voltei.",
    ],
)
def test_what_did_not_last_in_portuguese_gives_no_fact(text: str) -> None:
    assert facts(text) == []
