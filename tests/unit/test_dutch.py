"""Dutch: states, questions, facts, requests for privacy, and what is taken back (X13)."""

from __future__ import annotations

import pytest

from engram.core.language.privacy import reference
from tests.fakes.sentences import rows
from tests.unit.language_tables import facts


@pytest.mark.parametrize(
    ("text", "expected"),
    rows("dutch", "a_request_for_privacy_in_dutch"),
)
def test_a_request_for_privacy_in_dutch(text: str, expected: str) -> None:
    assert reference(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Tom en ik zijn uit elkaar, maar we zijn weer samen.",
        "Ik ben naar Leiden verhuisd, maar ik ben teruggekomen.",
    ],
)
def test_what_did_not_last_in_dutch_gives_no_fact(text: str) -> None:
    assert facts(text) == []
