"""What a user asks to remember, in whatever words, becomes a memory (law 1)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.language.keep_requests import words_to_keep
from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract
from tests.fakes.sentences import rows

ASKED = rows("keep_requests", "asked")
NOT_ASKED = rows("keep_requests", "not_asked")


def candidates(text):
    turn = Turn(
        id="t1",
        session="s",
        role="user",
        text=text,
        occurred_at=datetime(2027, 2, 8, 9, tzinfo=UTC),
    )
    return extract([turn], ExtractionPolicy()).candidates


def statements(text):
    return [one.text for one in candidates(text)]


# row: C3
@pytest.mark.parametrize("text", ASKED)
def test_what_the_user_asks_to_keep_becomes_a_statement(text):
    found = statements(text)
    assert len(found) == 1
    assert ASKED[text] in found[0]


def test_what_the_user_asks_to_be_reminded_of_is_a_promise():
    (promise,) = candidates("My lease ends on Friday, remind me please.")
    assert promise.category == "commitment"


@pytest.mark.parametrize("text", NOT_ASKED)
def test_a_question_a_duty_or_a_recollection_asks_to_keep_nothing(text):
    assert words_to_keep(text) == []
    assert statements(text) == []


def test_each_line_of_a_list_to_keep_is_a_statement():
    text = "Remember the following:\nThe alarm code is in the blue folder.\nThe plumber is called Ray Holt."
    assert len(statements(text)) == 2


def test_a_request_is_one_statement_where_a_rule_reads_it_too():
    assert statements("Please remember that I'm allergic to nuts.") == [
        "The user is allergic to nuts."
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "Remember that the vet of our cat Pixel isn't Mira, it's Dr. Horvat.",
            "The vet of their cat Pixel isn't Mira, it's Dr. Horvat.",
        ),
        (
            "Remember that my friend Tom still has my drill.",
            "The user's friend Tom still has their drill.",
        ),
    ],
)
def test_what_is_said_of_a_relative_is_kept_beside_the_relation(text, kept):
    relation, said = statements(text)
    assert "is the user's" in relation
    assert said == kept


def test_a_mention_alone_is_one_statement():
    assert statements("Remember my sister Anna.") == ["Anna is the user's sister."]


# row: C3
@pytest.mark.parametrize(
    ("text", "expected"),
    rows("keep_requests", "each_of_several_things_to_keep_is_a_statement"),
)
def test_each_of_several_things_to_keep_is_a_statement(text, expected):
    found = statements(text)
    assert len(found) == len(expected)
    assert all(
        one.startswith(begin) for one, begin in zip(found, expected, strict=True)
    )
