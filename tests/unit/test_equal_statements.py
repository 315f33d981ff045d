"""Two statements are equal if only case, signs, a lead-in or the user's person differ."""

from __future__ import annotations

import pytest

from engram.core.language.equal_statements import are_equal
from tests.fakes.sentences import rows

EQUAL = (
    ("I take 20 mg of citalopram.", "The user takes 20 mg of citalopram"),
    ("I take 20 mg of citalopram.", "you take 20 mg of Citalopram!"),
    ("I'm allergic to walnuts.", "The user is allergic to walnuts."),
    ("I moved to Berlin.", "You moved to Berlin."),
    ("I don't eat meat.", "The user doesn't eat meat."),
    ("The user's therapist is Dr. Vos.", "By the way, my therapist is Dr. Vos."),
    ("The key is under the pot.", "Please remember that the key is under the pot!"),
    ("Mein Therapeut ist Dr. Vos.", "Dein Therapeut ist Dr. Vos."),
)
DIFFERENT = rows("equal_statements", "different")


# row: A26
@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_person_case_signs_and_lead_in_make_no_other_statement(one, other):
    assert are_equal(one, other)
    assert are_equal(other, one)


# row: A26
@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_name_number_code_word_or_order_makes_another_statement(one, other):
    assert not are_equal(one, other)
    assert not are_equal(other, one)
