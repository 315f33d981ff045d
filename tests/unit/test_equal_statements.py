"""Two statements are equal if only case, signs, a lead-in or the user's person differ."""

from __future__ import annotations

import pytest

from engram.core.language.equal_statements import are_equal
from tests.fakes.sentences import rows

DIFFERENT = rows("equal_statements", "different")


# row: A26
@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_name_number_code_word_or_order_makes_another_statement(one, other):
    assert not are_equal(one, other)
    assert not are_equal(other, one)
