"""German, French and Spanish forms of the offline extractor: what is ahead, and whose
people are named.
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract
from tests.fakes.sentences import rows

NOW = datetime(2026, 11, 21, 21, 14, tzinfo=ZoneInfo("Europe/Berlin"))  # a Saturday


def facts(text):
    return extract([Turn("t1", "s1", "user", text, NOW)], ExtractionPolicy()).candidates


# row: X13
@pytest.mark.parametrize(
    ("text", "statements"),
    rows("rule_languages", "what_newcomers_say_of_themselves"),
)
def test_what_newcomers_say_of_themselves(text, statements):
    found = facts(text)
    assert [one.text for one in found] == statements
    assert all(one.when is None for one in found)


# row: X2
@pytest.mark.parametrize(
    "text",
    rows("rule_languages", "what_is_open_others_or_of_nobody_named_is_no_promise"),
)
def test_what_is_open_others_or_of_nobody_named_is_no_promise(text):
    """Doubt, denial, questions, quotations, pronouns that nobody can follow."""
    assert facts(text) == ()


def test_between_two_people_nobody_is_asked_to_remind():
    text = "Erinner mich morgen an den Zahnarzttermin."
    people = [
        Turn("a", "s1", "assistant", "Hallo!", NOW, "Ben"),
        Turn("b", "s1", "user", text, NOW, "Eva"),
    ]
    assert extract(people, ExtractionPolicy()).candidates == ()
