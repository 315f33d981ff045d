"""Russian: states, questions, facts, requests for privacy, and what is taken back (X13)."""

from __future__ import annotations

import pytest

from engram.core.language.privacy import reference
from engram.core.language.promises import agenda
from tests.fakes.sentences import rows
from tests.unit.language_tables import facts


@pytest.mark.parametrize(
    ("text", "expected"),
    rows("russian", "a_request_for_privacy_in_russian"),
)
def test_a_request_for_privacy_in_russian(text: str, expected: str) -> None:
    assert reference(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Мы с Катей расстались, но снова вместе.",
        "Я переехала в Тулу, но вернулась.",
    ],
)
def test_what_did_not_last_in_russian_gives_no_fact(text: str) -> None:
    assert facts(text) == []


# row: E16
def test_a_question_asks_for_what_is_to_be_done():
    assert agenda("Что мне нужно сделать сегодня?") == "today"
    assert agenda("Какие у меня планы на завтра?") == "tomorrow"
    assert agenda("Что ты делаешь сегодня?") is None
