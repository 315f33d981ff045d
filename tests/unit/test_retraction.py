"""Which sentences ask to take back or to forget what was said, and what they name."""

from __future__ import annotations

import pytest

from engram.core.language.retraction import names, withdrawals
from tests.fakes.sentences import rows

OF_THE_LAST = rows("retraction", "of_the_last")
NONE = rows("retraction", "none")
OF_THE_NAMED = rows("retraction", "of_the_named")


# row: A26
def test_a_request_without_an_object_means_what_was_said_last():
    assert [
        text for text in OF_THE_LAST if [one.named for one in withdrawals(text)] != [""]
    ] == []


# row: A26
def test_a_turn_that_only_looks_like_a_request_is_none():
    assert [text for text in NONE if withdrawals(text)] == []


# row: A26
def test_a_request_names_its_object():
    for text, named in (line.split(" = ") for line in OF_THE_NAMED):
        assert [one.named for one in withdrawals(text)] == [named]


# row: A26
@pytest.mark.parametrize(
    ("wish", "statement", "meant"),
    [
        ("Forget what I told you about the trip to Rome.", "A trip to Rome", True),
        ("Forget what I told you about the trip to Rome.", "A trip to Oslo", False),
        ("Please forget my address.", "The user lives at 12 Oak Street", True),
        ("Please forget my address.", "My sister lives in Rome.", False),
        ("忘掉我说过的关于罗马旅行的事", "用户要去罗马的旅行", True),
        ("忘掉我说过的关于罗马的事", "用户住在北京", False),
    ],
)
def test_a_request_means_what_has_all_of_its_words(wish, statement, meant):
    (found,) = withdrawals(wish)
    assert names(found, statement) is meant
