"""Names: when two writings mean one entity, and when they must not."""

from __future__ import annotations

import pytest

from engram.core.entities import (
    is_owner,
    names_subject,
)
from engram.core.language.words import words


# row: A20
@pytest.mark.parametrize(
    ("query", "names", "matches"),
    [
        ("What does Anna drink?", ["Anna"], True),
        ("what is anna's cat called", ["Anna"], True),
        ("what about Änni", ["Anna Müller", "Änni"], True),
        ("Did Anna meet Müller?", ["Anna Müller"], False),
        ("Did Anna Müller come?", ["Anna Müller"], True),
        ("Who is Annabel?", ["Anna"], False),
        ("What does the user drink? the owner?", ["the user", "owner", "I"], False),
        ("what will happen", ["Will"], False),
        ("安娜喜欢什么", ["安娜"], True),
        ("anything", [], False),
        ("anything", ["…"], False),
    ],
)
def test_a_subject_matches_where_its_name_stands_in_the_query(query, names, matches):
    """Whole words, in order, possessive or not; the owner and stop words never."""
    assert names_subject(words(query), names) is matches


def test_the_owner_goes_by_many_words():
    """None of them is a name."""
    assert all(map(is_owner, ("The user", "owner", "USER", "I", "me")))
    assert not any(map(is_owner, ("Anna", "User Group", "Mei")))
