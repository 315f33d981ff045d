"""Dutch, Italian, Portuguese and Russian: requests for privacy, and what is taken back
(X13).
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.language.privacy import reference
from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract
from tests.fakes.sentences import rows


@pytest.mark.parametrize(
    ("text", "expected"), rows("more_languages", "a_request_for_privacy")
)
def test_a_request_for_privacy(text: str, expected: str) -> None:
    assert reference(text) == expected


@pytest.mark.parametrize("text", rows("more_languages", "what_did_not_last"))
def test_what_did_not_last_gives_no_fact(text: str) -> None:
    turn = Turn("t1", "s1", "user", text, datetime(2026, 11, 21, 20, tzinfo=UTC))
    assert extract([turn], ExtractionPolicy()).candidates == ()
