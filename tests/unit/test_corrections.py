"""Which sentences correct a value that was said before, and which do not (A10, X8)."""

from __future__ import annotations

import pytest

from engram.core.language.corrections import corrected, corrections
from tests.fakes.sentences import rows

SAID = rows("corrections", "said")

NOT_SAID = rows("corrections", "not_said")


# row: A10
@pytest.mark.parametrize("line", SAID)
def test_a_value_that_is_corrected_is_read(line):
    text, right, wrong = (part.strip() for part in line.split(" | "))
    (found,) = corrections(text)
    assert (found.right, found.wrong) == (right, wrong)


# row: A10
@pytest.mark.parametrize("text", NOT_SAID)
def test_no_taste_doubt_question_or_quotation_changes_a_sentence(text):
    """Some have the form, but no earlier sentence has a value of their kind."""
    earlier = (
        "The recital is on Wednesday.",
        "I like coffee.",
        "I live in Porto.",
        "Die Probe ist am Dienstag.",
    )
    for found in corrections(text):
        assert [corrected(one, found) for one in earlier] == [""] * len(earlier)


CHANGED = """
It's Tuesday, not Wednesday. | The recital is on Wednesday. | The recital is on Tuesday.
It's at 4, not 3. | My dentist appointment is at 3 pm. | My dentist appointment is at 4 pm.
I meant Lisbon, not Porto. | I'm flying to Porto in March. | I'm flying to Lisbon in March.
It's green, not blue. | The dress is blue. | The dress is green.
It's a joke, not a promise. | I made a promise to Ana. |
It's tea, not coffee. | I drink coffee in the morning. |
It's Tuesday, not Wednesday. | On Wednesday I swim and every Wednesday I run. |
It's Tuesday, not Wednesday. | Is the recital on Wednesday? |
Nicht Dienstag, sondern Mittwoch. | Die Probe ist am Dienstag. | Die Probe ist am Mittwoch.
"""


# row: A10
@pytest.mark.parametrize("line", CHANGED.strip().splitlines())
def test_an_earlier_sentence_gets_the_right_value_only_where_it_is_certain(line):
    text, earlier, after = (part.strip() for part in f"{line} ".split(" | "))
    (found,) = corrections(text)
    assert corrected(earlier, found) == after


# row: A10
@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (
            "We adopted a dog, she's called Pepper.",
            "No wait, she's called Pippa.",
            "We adopted a dog, she's called Pippa.",
        ),
        (
            "Unsere neue Chefin heißt Frau Lang.",
            "Nein, sorry, sie heißt Frau Lange.",
            "Unsere neue Chefin heißt Frau Lange.",
        ),
    ],
)
def test_a_name_told_again_after_a_no_takes_the_place_of_the_first(before, text, after):
    (one,) = corrections(text)
    assert corrected(before, one) == after


@pytest.mark.parametrize(
    "text", ["She's called Pippa.", "He says no, she's called away.", "No, it is late."]
)
def test_a_name_alone_corrects_nothing(text):
    assert corrections(text) == ()
