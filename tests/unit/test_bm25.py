"""The lexical index: what is found, what is not, and why."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.policy import LexicalPolicy
from engram.core.ranking import parse_question
from engram.index.bm25 import Bm25Index, IndexedText
from engram.index.filters import SearchFilter

NOW = datetime(2026, 11, 21, 15, tzinfo=UTC)
ALL = SearchFilter(persona=None)


def at(*date):
    return datetime(*date, 12, tzinfo=UTC).timestamp()


def turn(key, text, position=0, thread="s", **more):
    return IndexedText(key, "turn", text, thread, position, **more)


def fact(key, text, **more):
    return IndexedText(key, "fact", text, **more)


def index(*docs, **policy):
    made = Bm25Index(LexicalPolicy(**policy))
    made.add(docs)
    return made


def keys(found):
    return [hit.key for hit in found.hits]


def search(lexical, text, where=ALL, k=10, now=NOW):
    return lexical.search(parse_question(text, now), where, k)


def parts(lexical, text, key):
    return next(
        hit.parts for hit in search(lexical, text, k=100).hits if hit.key == key
    )


# Few documents.


# What comes and goes.


def test_many_dead_rows_are_swept_out():
    """Editing one note for years does not grow the index, and changes no answer."""
    lexical = index(turn("t1", "coffee in Oslo", 1), turn("t2", "yes", 2))
    before = search(lexical, "coffee Oslo")
    for n in range(3000):
        lexical.add([turn("t1", f"draft {n}", 1)])
    lexical.add([turn("t1", "coffee in Oslo", 1)])
    assert lexical._rows.size < 2000
    assert search(lexical, "coffee Oslo") == before


# What may be found.


def test_kinds_and_threads_are_kept_to():
    """What is not asked for is not there, and is not counted as left out."""
    lexical = index(
        fact("f", "tea"),
        turn("t", "tea"),
        turn("u", "tea", thread="other"),
        IndexedText("n", "note", "tea"),
    )
    assert keys(search(lexical, "tea", SearchFilter(kinds=("fact", "note")))) == [
        "f",
        "n",
    ]
    assert keys(
        search(lexical, "tea", SearchFilter(kinds=("turn",), threads=("s",)))
    ) == ["t"]
    assert search(lexical, "tea", SearchFilter(kinds=("fact",))).filtered == {}


# row: X4
def test_units_left_out_are_counted_by_reason_where_they_would_have_been_shown():
    """A weaker one behind the last place is nobody's loss."""
    lexical = index(
        fact("old", "swordfish tea", status="superseded"),
        fact("late", "swordfish tea", created=at(2026, 5, 1)),
        fact("over", "swordfish tea", valid_until=at(2026, 1, 1)),
        fact("weak", "tea and much else besides " * 9, status="archived"),
        fact("now", "swordfish tea"),
    )
    found = search(lexical, "swordfish tea", SearchFilter(as_of=at(2026, 2, 1)), k=1)
    assert keys(found) == ["now"]
    assert found.filtered == {}
    found = search(lexical, "swordfish tea", SearchFilter(as_of=at(2026, 2, 1)), k=5)
    assert found.filtered == {"status": 2, "not known then": 1, "not valid then": 1}


# What a conversation adds.


def test_a_question_about_oneself_is_not_answered_by_what_one_tells_of_ones_sister():
    """And one about her is."""
    lexical = index(
        turn("hers", "My sister lives in Porto.", thread="a", role="user"),
        turn("own", "I live in Berlin.", thread="b", role="user"),
    )
    assert keys(search(lexical, "Where do I live?")) == ["own", "hers"]
    assert keys(search(lexical, "Where does my sister live?")) == ["hers", "own"]
    assert "telling" not in parts(lexical, "Where does my sister live?", "own")


def test_common_words_do_not_make_candidates_beyond_the_budget():
    """Rare words choose the rows, common ones still count for their score."""
    docs = [fact(f"f{n:03}", "tea time") for n in range(300)] + [
        fact("z", "tea with swordfish")
    ]
    lexical = index(*docs, postings=100)
    found = search(lexical, "tea swordfish", k=500)
    assert keys(found) == ["z"]
    assert (
        found.hits[0].score == search(index(*docs), "tea swordfish", k=1).hits[0].score
    )
    assert len(keys(search(lexical, "tea", k=500))) == 301


# Languages.


def test_terms_are_stems_without_stop_words():
    """What a caller counts with is what the index counts."""
    assert Bm25Index().terms("The children's toys were lost") == [
        "child",
        "toy",
        "lose",
    ]


# row: X13
@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("et noel finalement c'est chez gwenn", "où est-ce qu'on fête noël ?"),
        ("le rendez-vous gynéco est reporté", "c'est quand le rdv gyneco ?"),
        ("it is York on the 23rd instead", "where do we play on 23 January?"),
    ],
)
def test_accents_and_the_endings_of_ordinal_numbers_make_no_other_word(told, asked):
    """People leave them out as they type."""
    lexical = index(turn("t1", told), turn("t2", "ok"), turn("t3", "d'accord"))
    hits = search(lexical, asked).hits
    assert [hit.key for hit in hits if hit.fit > 0] == ["t1"]


# The snapshot.


# row: X20
def test_many_at_once_are_found_like_one_after_another():
    """What makes a frozen segment of a cold start, and what joins the delta, give one
    answer.
    """
    docs = [
        fact(f"k{n:03}", " ".join(f"w{(n * step) % 700}" for step in range(1, 101)))
        for n in range(300)
    ]
    at_once, singly = index(*docs), Bm25Index()
    for doc in docs:
        singly.add([doc])
    for found in (at_once, singly):
        found.add([fact("k007", "w1 w1 changed")])
        found.remove(["k008"])
    for asked in ("w1", "w7 w90", "w350 w4 w4", "changed"):
        assert search(at_once, asked, k=400) == search(singly, asked, k=400)
        assert (
            at_once.get_scores(asked.split()).tolist()
            == singly.get_scores(asked.split()).tolist()
        )
