"""Animals and events by closed word tables, both ways (row B1)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.entities import entity_type_of
from engram.core.language.entity_names import animals
from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract
from tests.fakes.sentences import rows

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


# row: B1
@pytest.mark.parametrize(
    ("text", "names"),
    rows("entity_names", "an_animal_is_named_with_its_kind"),
)
def test_an_animal_is_named_with_its_kind(text, names):
    """A name beside the word alone says nothing."""
    assert animals(text) == names


# row: B1
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Mia's recital", "event"),
        ("Berlin Marathon", "event"),
        ("Annas Hochzeit", "event"),
        ("Recital", "concept"),
        ("Labour Party", "concept"),
        ("University of Porto", "org"),
        ("Mia", "concept"),
    ],
)
def test_an_event_is_known_by_the_form_of_its_name(name, kind):
    """Somebody's, or one with a name of its own."""
    assert entity_type_of(name) == kind
    assert entity_type_of(name, "project") == "project"


# row: B1
@pytest.mark.parametrize(
    "text",
    [
        "Our dog is called Rex.",
        "We have a dog named Rex.",
        "My dog Rex lives in Hamburg.",
        "Unser Hund heißt Rex.",
    ],
)
def test_the_rules_type_an_animal_and_link_to_it(text):
    """Also where it lives somewhere, as persons do."""
    found = extract([Turn("t", "s", "user", text, NOON)], ExtractionPolicy())
    assert found.types["Rex"] == "animal"
    assert any(one.about == ("Rex",) for one in found.candidates)
