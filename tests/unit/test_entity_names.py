"""Animals by closed word tables (row B1)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract
from engram.extraction.rules.people import animals
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
