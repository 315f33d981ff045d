"""The signal scan: every class in every language, levels, own patterns, cap and time."""

import pytest

from engram.core.language import languages
from engram.core.language.signals import scan, table
from engram.core.policy import SignalPolicy
from engram.errors import ConfigError
from tests.fakes.sentences import rows

POLICY = SignalPolicy()
TABLE = table()

# class → language → (a sentence that hits it, a near miss that does not)
CASES = rows("signals", "cases")
ROWS = [
    pytest.param(name, *sentences, id=f"{name}-{tongue}")
    for name, tongues in CASES.items()
    for tongue, sentences in tongues.items()
]


# row: C1
# row: X13
@pytest.mark.parametrize(("name", "hit", "miss"), ROWS)
def test_class_is_found_and_its_near_miss_is_not(name, hit, miss):
    """Each row of the table has a sentence that hits it and a similar one that does
    not.
    """
    assert name in scan(hit, TABLE, POLICY).classes
    assert name not in scan(miss, TABLE, POLICY).classes


# row: C1
def test_every_row_of_the_table_has_a_case():
    """No class or language is untested."""
    assert {
        (name, tongue) for name, tongues in CASES.items() for tongue in tongues
    } == {
        (name, tongue)
        for section in ("signals.high", "signals.medium")
        for name in languages.keys(section)
        for tongue in languages.texts(section, name)
    }


# row: C1
@pytest.mark.parametrize(
    "text",
    rows("signals", "one_high_class_makes_the_level_high"),
)
def test_one_high_class_makes_the_level_high(text):
    """Any phrase of the seed's high list is enough."""
    assert scan(text, TABLE, POLICY).level == "high"


# row: C1
def test_two_medium_classes_are_medium_and_one_is_low():
    """Classes count, not repetitions of one."""
    assert scan("I think so", TABLE, POLICY).level == "low"
    assert scan("I think so, I think, I believe", TABLE, POLICY).level == "low"
    assert scan("I think my team is late", TABLE, POLICY).level == "medium"
    assert (
        scan("I think my team usually meets", TABLE, SignalPolicy(medium_hits=4)).level
        == "low"
    )
    assert scan("Good morning!", TABLE, POLICY) == scan("", TABLE, POLICY)
    assert scan("", TABLE, POLICY).level == "none"


# row: C1
def test_own_patterns_are_high_and_named():
    """A person's pattern counts as high, whatever the case, and reports itself."""
    own = table([r"\bproject x\d+\b"])
    assert scan("About Project X12 then", own, POLICY).classes == (
        r"own:\bproject x\d+\b",
    )
    assert scan("About Project X12 then", own, POLICY).level == "high"
    assert scan("About project Y then", own, POLICY).level == "none"


# row: C1
def test_every_bad_own_pattern_is_named():
    """One error for all of them, before anything is scanned."""
    with pytest.raises(ConfigError) as caught:
        table(["fine", "(open", "a*", r"(?=look)"])
    assert all(part in str(caught.value) for part in ("'(open'", "'a*'", "'(?=look)'"))
    assert "'fine'" not in str(caught.value)


# row: C1
def test_head_and_tail_of_a_long_text_are_looked_at():
    """What a person says before or after a long paste counts, its middle does not."""
    paste = "lorem ipsum " * 5000
    assert scan(f"My name is Anna. {paste}", TABLE, POLICY).level == "high"
    assert scan(f"{paste} My name is Anna.", TABLE, POLICY).level == "high"
    assert scan(f"{paste} My name is Anna. {paste}", TABLE, POLICY).level == "none"


# row: C1
def test_spelling_variants_do_not_matter():
    """Case, curly apostrophes, decomposed letters, line breaks and broken text are read
    all the same.
    """
    assert "identity" in scan("MY\nNAME   IS Anna", TABLE, POLICY).classes
    assert (
        "strong-verb"
        in scan("je pre\u0301fe\u0300re le the\u0301", TABLE, POLICY).classes
    )
    assert "identity" in scan("\ud800 my name is Anna", TABLE, POLICY).classes
