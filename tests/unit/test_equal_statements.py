"""Two statements are equal if only case, signs, a lead-in or the user's person differ."""

from __future__ import annotations

import pytest

from engram.core.language.equal_statements import are_equal

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
DIFFERENT = (
    ("I take 20 mg of citalopram.", "I take 20 mg of omeprazole."),
    ("I take 20 mg of citalopram.", "Anna takes 20 mg of citalopram."),
    ("Rita lent Max 50 euros.", "Max lent Rita 50 euros."),
    ("I lent you 50 euros.", "You lent me 50 euros."),
    ("The printer is in room 5.", "The scanner is in room 5."),
    ("The invoice is INV-98765-A.", "The invoice is INV-98765-B."),
    ("The number is MRN-45678.", "The number is MRN-456789."),
    ("Liam's dentist is Dr. Wu.", "Noah's dentist is Dr. Wu."),
    ("Wifi: hunter2.", "Wifi: hunter3."),
    ("My therapist is Dr. Vos.", "Is my therapist Dr. Vos?"),
    ("I eat meat.", "I don't eat meat."),
    ("I moved to Berlin.", "I move to Berlin."),
)


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
