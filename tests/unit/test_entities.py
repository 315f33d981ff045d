"""Names: when two writings mean one entity, and when they must not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.entities import (
    LIFETIMES,
    EntityNames,
    entity_ref,
    entity_type_of,
    is_owner,
    lifetime_end,
    name_key,
    names_subject,
)
from engram.core.language.words import words
from engram.core.policy import ExtractionPolicy
from engram.core.records import ENTITY_TYPES, Entity
from tests.size import examples

ANNA = Entity("Anna", "person")
MULLER = Entity("Anna Müller", "person", ("Änni", "A. M."))
SCHMIDT = Entity("Anna Schmidt", "person", ("Frau Schmidt",))


# row: E2
@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("John Doe", "john_doe"),
        ("  John   DOE ", "john_doe"),
        ("Jean-Luc O'Neill, Jr.", "jean_luc_o_neill_jr"),
        ("St. Mary's", "st_mary_s"),
        ("安娜", "安娜"),
        ("Анна К.", "анна_к"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("🎉", "🎉"),
    ],
)
def test_a_ref_is_the_type_and_a_slug_of_any_script(name, slug):
    """Punctuation becomes a blank first, blanks and hyphens become underscores."""
    assert entity_ref("person", name) == f"person:{slug}"


# row: C13
def test_writings_of_one_name_are_equal_and_other_names_are_not():
    """Case, blanks, width and hyphens do not count; accents and word order do."""
    assert (
        name_key("Anna Müller")
        == name_key("anna  MÜLLER")
        == name_key("Anna-Müller")
        == name_key("Ａｎｎａ Müller")
    )
    apart = ["Anna Müller", "Anna Muller", "Müller, Anna", "Anna", "C", "C++", "C#"]
    assert len({name_key(name) for name in apart}) == len(apart)


@examples(200)
@given(name=st.text(min_size=1, max_size=30))
def test_a_key_is_never_empty_and_is_its_own_key(name):
    """Whatever the name; a key made of a key is the key."""
    assert name_key(name)
    assert any(map(str.isalnum, name)) <= (name_key(name_key(name)) == name_key(name))


def find_entity(name, entities):
    names = EntityNames()
    for place, entity in enumerate(entities):
        names.put(str(place), entity)
    return names.one(name)


# row: C13
def test_a_first_name_is_never_taken_for_a_full_name():
    """Two people may share it; only an alias unites."""
    assert find_entity("Anna", [MULLER]) is None
    assert find_entity("Anna", [MULLER, SCHMIDT]) is None
    assert find_entity("anna müller", [MULLER, SCHMIDT]) == MULLER
    assert find_entity("ÄNNI", [MULLER, SCHMIDT]) == MULLER


# row: C13
def test_an_ambiguous_alias_means_nobody_and_a_name_beats_an_alias():
    """Nothing is guessed."""
    one, two = (
        Entity("Anna Müller", aliases=("Anna",)),
        Entity("Anna Schmidt", aliases=("anna",)),
    )
    assert find_entity("Anna", [one]) == one
    assert find_entity("Anna", [one, two]) is None
    assert find_entity("Anna", [one, two, ANNA]) == ANNA
    assert find_entity("Anna", [ANNA, Entity("ANNA", "place")]) is None


# row: B1
@pytest.mark.parametrize(
    ("name", "hint", "kind"),
    [
        ("Anna", "", "concept"),
        ("Anna", "person", "person"),
        ("Anna", "animal", "animal"),
        ("Anna", "dragon", "concept"),
        ("Acme Inc.", "", "org"),
        ("Siemens AG", "", "org"),
        ("Universität Wien", "", "concept"),
        ("University of Porto", "", "org"),
        ("Deutsche Bank", "", "org"),
        ("Deutsche Bank", "place", "place"),
        ("Magic", "", "concept"),
    ],
)
def test_a_type_is_the_hint_or_seen_in_the_name_or_concept(name, hint, kind):
    """A wrong guess would be worse than none."""
    assert entity_type_of(name, hint) == kind
    assert kind in ENTITY_TYPES


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


# row: B19
def test_a_lifetime_ends_a_memory_after_a_week_a_month_a_year_or_never():
    """7, 30, 365 days."""
    said = datetime(2026, 1, 1, tzinfo=UTC)
    days = [7, 30, 365, None]
    ends = [said + timedelta(days=each) if each else None for each in days]
    assert [lifetime_end(word, said, ExtractionPolicy()) for word in LIFETIMES] == ends
    assert lifetime_end("", said, ExtractionPolicy()) is None
