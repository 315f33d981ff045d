"""Laws of the lexical index: its parent's scores to the last bit, and no memory of how
it came to be.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from engram.core.policy import LexicalPolicy
from engram.core.ranking import parse_question
from engram.index.bm25 import Bm25Index, IndexedText
from engram.index.filters import SearchFilter
from tests.size import examples

NOW = datetime(2026, 11, 21, 15, tzinfo=UTC)
WORDS = (
    "lamp",
    "tea",
    "oslo",
    "anna",
    "swordfish",
    "yesterday",
    "May",
    "Häuser",
    "绿茶",
    "the",
    "running?",
)
SPEAKERS = ("", "Anna", "Bob", "user")

texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
times = st.none() | st.integers(1_600_000_000, 1_795_000_000).map(float)


@st.composite
def documents(draw):
    """One unit of any kind; few keys and threads, so that they meet."""
    kind = draw(st.sampled_from(("turn", "turn", "fact", "note")))
    return IndexedText(
        key=f"{kind}{draw(st.integers(0, 9))}",
        kind=kind,
        text=draw(texts),
        thread=draw(st.sampled_from(("s", "t"))) if kind == "turn" else "",
        position=draw(st.integers(0, 8)),
        speaker=draw(st.sampled_from(SPEAKERS)),
        role=draw(st.sampled_from(("", "user", "assistant"))),
        when=draw(times),
        persona=draw(st.sampled_from(("", "ada"))),
        status=draw(st.sampled_from(("active", "active", "archived"))),
        valid_from=draw(times),
        created=draw(times),
    )


corpora = st.lists(documents(), max_size=14, unique_by=lambda doc: doc.key)
wheres = st.sampled_from(
    (
        SearchFilter(persona=None),
        SearchFilter(),
        SearchFilter(kinds=("turn",), persona="ada"),
        SearchFilter(statuses=("archived",), persona=None),
        SearchFilter(as_of=1_700_000_000.0, persona=None),
    )
)
questions = st.one_of(
    texts, texts.map(lambda text: f"When did Anna say {text} yesterday?")
)


def answer(lexical, text, where, k=5):
    return lexical.search(parse_question(text, NOW), where, k)


@examples(150, 15)
@given(
    st.lists(texts, min_size=1, max_size=12),
    st.lists(st.sampled_from((*WORDS, "absent")), max_size=6),
    st.sampled_from([(1.5, 0.75), (0.9, 0.4), (0.5, 1.0), (2.0, 0.0)]),
    st.sets(st.integers(0, 11)),
)
def test_plain_scores_equal_those_of_the_parent_to_the_last_bit(
    corpus, query, curve, gone
):
    """Whatever was removed before, for corpora of one document and words of most
    documents too.
    """
    k1, b = curve
    lexical = Bm25Index(LexicalPolicy(k1=k1, b=b))
    lexical.add(
        IndexedText(f"{place:03}", "note", text) for place, text in enumerate(corpus)
    )
    left = [text for place, text in enumerate(corpus) if place not in gone]
    lexical.remove(f"{place:03}" for place in gone)
    terms = [term for word in query for term in lexical.terms(word)]
    stems = [sorted(lexical.terms(text)) for text in left]
    if not any(stems):
        assert not lexical.get_scores(terms).any()
        return
    parent = BM25Okapi(stems, k1=k1, b=b)
    # the parent divides 0 by 0 for an empty document
    with np.errstate(invalid="ignore"):
        expected = parent.get_scores(terms)
    assert lexical.get_scores(terms).tolist() == np.nan_to_num(expected).tolist()


# row: X20
@examples(120, 15)
@given(st.data(), corpora, questions, wheres)
def test_an_answer_depends_on_the_units_alone(data, corpus, text, where):
    """Not on the order they came in, on what was there before them, or on what was
    saved between.
    """
    straight = Bm25Index()
    straight.add(corpus)
    expected = answer(straight, text, where)
    order = data.draw(st.permutations(corpus))
    cut = data.draw(st.integers(0, len(order)))
    before = data.draw(st.lists(documents(), max_size=4))
    winding = Bm25Index()
    winding.add(before)
    winding.add(order[:cut])
    with tempfile.TemporaryDirectory() as folder:
        winding.save(Path(folder))
        if data.draw(st.booleans()):
            winding = Bm25Index()
            assert winding.load(Path(folder))
    winding.remove({doc.key for doc in before} - {doc.key for doc in order[:cut]})
    winding.add(order[cut:])
    winding.add(
        doc for doc in order[:cut] if doc.key in {other.key for other in before}
    )
    assert answer(winding, text, where) == expected
    assert len(winding) == len(straight)


# row: X4
@examples(100, 10)
@given(corpora, questions, wheres)
def test_an_answer_is_sorted_explained_and_allowed(corpus, text, where):
    """Scores above 0, best first, ties by key; parts sum to them; nothing that must not
    be seen.
    """
    lexical = Bm25Index()
    lexical.add(corpus)
    found = answer(lexical, text, where, k=4).hits
    assert [(-hit.score, hit.key) for hit in found] == sorted(
        (-hit.score, hit.key) for hit in found
    )
    units = {doc.key: doc for doc in corpus}
    for hit in found:
        assert hit.score > 0
        assert hit.score == pytest.approx(sum(hit.parts.values()), abs=1e-9)
        unit = units[hit.key]
        assert unit.kind in where.kinds
        assert unit.status in where.statuses
        assert where.persona is None or unit.persona in {"", where.persona}


@examples(60)
@given(corpora, questions, wheres)
def test_fewer_places_give_the_same_beginning(corpus, text, where):
    """The first k of an answer are the answer of k."""
    lexical = Bm25Index()
    lexical.add(corpus)
    full = answer(lexical, text, where, k=50).hits
    for k in (0, 1, 3):
        assert answer(lexical, text, where, k=k).hits == full[:k]


# row: X13
@examples(100, 10)
@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_breaks_the_index(text, question):
    """Any characters of any script, on both sides."""
    lexical = Bm25Index()
    lexical.add(
        [
            IndexedText("a", "turn", text, "s", 1, speaker=question[:5]),
            IndexedText("b", "note", question),
        ]
    )
    assert len(answer(lexical, question, SearchFilter()).hits) <= 2
