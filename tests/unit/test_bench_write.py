"""The rule by which the benchmark of write quality tells right facts from wrong ones,
and its corpus.
"""

from __future__ import annotations

import base64
from datetime import date

import pytest

from benchmarks.bench_write import leaks, met, rows_of
from benchmarks.write_judge import Filed, near_duplicates, says

TEA = {
    "id": "tea",
    "turn": ["s-1", "s-4"],
    "any": [["@", "tea"]],
    "not": ["anna"],
    "category": ["fact"],
    "when": None,
}
TRIP = TEA | {"id": "trip", "any": [["@", "porto"]], "when": "2026-12-04"}


def filed(text, **changes):
    """A fact with evidence in the turn s-1, which speaks of tea on 1 December 2026."""
    parts = {
        "id": "1",
        "text": text,
        "category": "fact",
        "status": "active",
        "turns": ("s-1",),
        "said": "I like tea.",
        "quote": "I like tea",
        "spoken": date(2026, 12, 1),
        "begins": None,
    }
    return Filed(**(parts | changes))


# row: X21
@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("Nora likes coffee.", {}),
        ("Anna and the user like tea.", {}),
        ("Nora does not like tea.", {}),
        ("Nora might like tea.", {}),
        ("Nora likes teak.", {}),
        ("Nora likes tea.", {"turns": ("s-2",)}),
        ("Nora likes tea.", {"turns": ("s-1", "s-2")}),
        ("Nora likes tea.", {"turns": ()}),
        ("Nora likes tea.", {"begins": date(2026, 11, 30)}),
        ("Nora has liked tea since 3 May 2026.", {}),
        ("Nora has liked tea since May 2026.", {}),
        ("Nora has liked tea since 2019.", {}),
    ],
)
def test_a_wrong_fact_meets_no_golden_one(text, changes):
    """Other words, another person, a denial, a doubt, other evidence, and days that
    nobody named.
    """
    assert met(filed(text, **changes), [TEA]) == ()


# row: X21
def test_a_right_fact_meets_the_golden_one_in_its_own_words():
    """Any accepted turn is evidence; the day it was said is no invention, nor is what
    the turn itself spells out.
    """
    assert met(
        filed("The user likes tea (as of 1 December 2026).", turns=("s-1", "s-4")),
        [TEA],
    ) == ("tea",)
    assert met(filed("Tea is what Nora likes.", begins=date(2026, 12, 1)), [TEA]) == (
        "tea",
    )
    assert met(
        filed("Nora has liked tea since 2019.", said="I like tea since 2019."), [TEA]
    ) == ("tea",)


# row: X21
def test_a_resolved_date_must_be_the_golden_one():
    """Saying no date is right, saying another is not, whether in the front matter or in
    the words.
    """
    assert met(
        filed("Nora travels to Porto on 4 December 2026.", begins=date(2026, 12, 4)),
        [TRIP],
    )
    assert met(filed("Nora travels to Porto in December 2026."), [TRIP])
    assert not met(
        filed("Nora travels to Porto on Friday.", begins=date(2026, 12, 1)), [TRIP]
    )
    assert not met(filed("Nora travels to Porto on 11 December 2026."), [TRIP])
    assert not met(filed("Nora travels to Porto on 2027-12-04."), [TRIP])


# row: X21
@pytest.mark.parametrize(
    ("text", "alternative", "expected"),
    [
        ("spanlog is written in C++.", ["spanlog", "c"], False),
        ("spanlog is written in C++.", ["spanlog", "c++"], True),
        ("spanlog is written in C.", ["spanlog", "c"], True),
        ("Nora ran 1.2 km.", ["@", "2 km"], False),
        ("Nora ran 12 km.", ["@", "2 km"], False),
        ("Nora quit coffee.", ["@", "!", "coffee"], False),
        ("Nora doesn’t drink coffee.", ["@", "!", "coffee"], True),
        ("The boss is Ingrid, no longer Samuel.", ["boss", "ingrid", "?"], True),
        ("Noras Zahnärztin bohrt.", ["@", "zahn*"], True),
        ("诺拉喜欢喝茶。", ["@", "茶"], True),
        ("诺拉不喜欢喝茶。", ["@", "茶"], False),
    ],
)
def test_a_keyword_is_a_whole_word(text, alternative, expected):
    """Signs that tell two things apart count; a denial counts unless the golden fact
    allows it.
    """
    assert says(text, alternative) is expected


# row: X21
def test_statements_with_the_same_words_are_near_duplicates_unless_a_number_a_name_or_a_denial_differs():
    """The day on which a statement was read does not make it another."""
    same = [
        "Nora likes old bridges (as of 1 May 2026).",
        "Nora likes old bridges (as of 2 May 2026).",
    ]
    assert near_duplicates(same) == [tuple(same)]
    assert near_duplicates(["Nora ran 12 km.", "Nora ran 1.2 km.", "Nora ran."]) == []
    assert near_duplicates(["The tool is in C.", "The tool is in C++."]) == []
    assert (
        near_duplicates(
            ["Nora met Anna on the old bridge.", "Nora met Theo on the old bridge."]
        )
        == []
    )
    assert near_duplicates(["Nora eats meat.", "Nora does not eat meat."]) == []


# row: X21
@pytest.mark.parametrize("lead", ["", "a", "ab", "abc"])
def test_a_secret_on_disk_is_seen_in_every_form(tmp_path, lead):
    """As it is, in UTF-16, and in base64 wherever it begins."""
    row = next(row for row in rows_of("never") if "secrets" in row)
    told = f"{lead}{row['secrets'][0]} and more"
    for place, raw in enumerate(
        (
            told.encode(),
            told.encode("utf-16"),
            base64.b64encode(told.encode()),
            b"nothing",
        )
    ):
        (tmp_path / str(place)).write_bytes(raw)
    assert len(list(leaks(tmp_path))) == 3
