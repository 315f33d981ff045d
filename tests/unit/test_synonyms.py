"""The table of words that tell of the same thing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.language.words import fold
from engram.core.ranking import parse_question


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Was darf ich nicht essen?", "Nüsse"),
        ("Habe ich ein Haustier?", "Dackel"),
        ("Haustiere?", "Katze"),
    ],
)
# row: X13
def test_a_question_in_other_words_looks_for_the_answer(question, told):
    """A lone word is of any language."""
    akin = parse_question(question, datetime(2027, 1, 1, tzinfo=UTC)).akin
    assert fold(told) in set().union(*akin.values())
