"""The lexical index: what is found, what is not, and why."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from rank_bm25 import BM25Okapi

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


# What a conversation adds.


def test_a_question_how_many_prefers_turns_that_hold_a_number():
    """In digits or in words; and only such a question."""
    docs = [
        turn(key, text, thread=key)
        for key, text in (("a", "a lamp"), ("b", "two lamps"), ("c", "12 lamps"))
    ]
    lexical = index(*docs)
    assert keys(search(lexical, "How many lamps?")) == ["b", "c", "a"]
    assert "counted" not in parts(lexical, "Which lamps?", "b")


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


# The snapshot.


def filled():
    return index(
        turn(
            "s#^t1",
            "You did buy the lamp then.",
            1,
            speaker="Bob",
            when=at(2026, 5, 1),
        ),
        turn(
            "s#^t2",
            "In Oslo. 绿茶",
            2,
            speaker="Anna",
            role="assistant",
            when=at(2026, 5, 1),
        ),
        fact(
            "F",
            "Anna bought a lamp in Oslo",
            persona="ada",
            status="archived",
            valid_from=at(2026, 1, 1),
        ),
        IndexedText("notes/lämp.md", "note", "lamp repair"),
    )


def test_a_snapshot_that_cannot_be_used_gives_an_empty_index(tmp_path):
    """Absent, empty, cut anywhere, one bit flipped, not ours, another version, another
    zone: never a crash.
    """
    lexical = Bm25Index()
    assert not lexical.load(tmp_path)
    filled().save(tmp_path)
    file = tmp_path / "lexical.bin"
    whole = file.read_bytes()
    damaged = [
        b"",
        b"\n",
        b"not a snapshot\n" * 9,
        whole.replace(b"engram-lexical 1", b"engram-lexical 0", 1),
    ]
    damaged += [whole[:size] for size in range(0, len(whole), max(1, len(whole) // 40))]
    for place in range(0, len(whole), max(1, len(whole) // 40)):
        damaged.append(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
    for raw in damaged:
        file.write_bytes(raw)
        lexical.load(tmp_path)
        assert len(lexical) in {0, 4}
        search(lexical, "lamp")
    file.write_bytes(whole)
    assert not Bm25Index(zone=ZoneInfo("Asia/Tokyo")).load(tmp_path)
    assert lexical.load(tmp_path)
    assert keys(search(lexical, "lamp"))


def test_the_average_idf_is_that_of_the_living():
    """A word in more than half of the units is worth the parent's share of the average."""
    texts = ["tea cup", "tea pot", "tea leaf", "milk jug"]
    lexical = index(
        *[fact(str(n), text) for n, text in enumerate(texts)],
        fact("gone", "tea rare words"),
    )
    lexical.remove(["gone"])
    parent = BM25Okapi([sorted(lexical.terms(text)) for text in texts], k1=0.9, b=0.75)
    assert math.isfinite(parent.average_idf)
    assert (
        lexical.get_scores(["tea", "cup"]).tolist()
        == parent.get_scores(["tea", "cup"]).tolist()
    )


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
