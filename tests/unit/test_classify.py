"""Kind, tier and importance: the rules in their order, the numbers to the last digit."""

from __future__ import annotations

import pytest

from engram.core.classify import importance_of, is_trivial, kind_of, tier_of
from engram.core.policy import ExtractionPolicy, ImportancePolicy
from tests.fakes.sentences import rows

IMPORTANCE = ImportancePolicy()
EXTRACTION = ExtractionPolicy()


# row: C6
@pytest.mark.parametrize(
    ("text", "category", "tags", "kind", "reason"),
    rows("classify", "the_first_rule_that_speaks_decides_the_kind"),
)
def test_the_first_rule_that_speaks_decides_the_kind(
    text, category, tags, kind, reason
):
    """Time, category, tags, verbs, note words, in this order; else an episode."""
    assert kind_of(text, category, tags) == (kind, reason)


# row: C4
@pytest.mark.parametrize(
    ("confidence", "tier"),
    [
        (1.0, "explicit"),
        (0.95, "explicit"),
        (0.94, "implied"),
        (0.70, "implied"),
        (0.69, "inferred"),
        (0.40, "inferred"),
        (0.39, "speculative"),
        (0.0, "speculative"),
    ],
)
def test_a_tier_begins_at_its_cut(confidence, tier):
    """The lower bound belongs to the tier."""
    assert tier_of(confidence, EXTRACTION) == tier


# row: C10
@pytest.mark.parametrize(
    ("text", "category", "tags", "score"),
    [
        ("the shop opens late", "fact", (), 0.50),
        ("thanks a lot!", "preference", ("important",), 0.10),
        ("I always prefer tea", "preference", (), 0.77),
        ("maybe the shop opens late", "fact", (), 0.35),
        ("this is critical and urgent and vital", "fact", (), 0.70),
        ("always and never and must", "fact", (), 0.62),
        ("the shop opens at 9 every day", "fact", (), 0.53),
        ("he is called Paul by friends", "entity", (), 0.55),
        ("the shop opens late", "correction", (), 0.65),
        ("the shop opens late", "principle", (), 0.62),
        ("the shop opens late", "decision", (), 0.58),
        ("the shop opens late", "skill", ("important", "goal"), 0.65),
        ("the shop opens late", "unheard-of", (), 0.50),
        ("x" * 20 + " " + "y" * 229, "fact", (), 0.55),
        ("x" * 20 + " " + "y" * 2000, "fact", (), 0.60),
        (
            "my deadline is critical, I must never miss it on 3 May",
            "correction",
            ("urgent", "goal", "health"),
            1.0,
        ),
    ],
)
def test_importance_follows_the_formula(text, category, tags, score):
    """Every part counts once; the sum stays within 0 and 1."""
    assert importance_of(text, category, tags, IMPORTANCE)[0] == pytest.approx(score)


@pytest.mark.parametrize(
    "text",
    rows("classify", "small_talk_is_trivial"),
)
def test_small_talk_is_trivial(text):
    """Greetings, thanks, assent, laughter and up to ten characters, in several
    languages.
    """
    assert is_trivial(text, IMPORTANCE)


# row: X13
@pytest.mark.parametrize(
    "text",
    [
        "我对花生过敏",
        "私は東京に住んでいます",
        "12345678901",
        "I eat no meat",
        "I am vegan now",
    ],
)
def test_a_short_statement_is_not_trivial(text):
    """A CJK sign says as much as four letters."""
    assert not is_trivial(text, IMPORTANCE)
