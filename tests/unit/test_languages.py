"""The language files: all are read, every pattern compiles, a fault is named."""

from __future__ import annotations

import pytest

from engram.core.language import languages
from engram.core.language.signals import spelled
from engram.extraction.rules.table import pattern_of


# row: X13
def test_english_comes_first_and_every_language_has_a_rank_of_its_own():
    about = languages.section("")
    assert next(iter(about)) == "en"
    ranks = [one["rank"] for one in about.values()]
    assert ranks == sorted(set(ranks))


# row: X13
def test_a_value_is_read_as_words_phrases_entries_or_one_pattern():
    assert "sonnabend" in languages.texts("dates", "weekdays")["de"]
    assert languages.phrases("next to,\nlast but not least") == [
        "next to",
        "last but not least",
    ]
    assert languages.entries("\na b\nc\n") == ["a b", "c"]
    assert languages.pattern("\n(?:a\n|b)\n") == "(?:a|b)"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[words]\nstop = 'a'", "needs a rank"),
        ("rank = 1\n[dates]\nweekday = 'x'", "unknown key 'weekday' in [dates]"),
        ("rank = 1\n[date]\nweekdays = 'x'", "unknown section [date]"),
        ("rank = 1\n[words]\nstop = ['a']", "[words] stop is neither text nor true"),
        ("rank = 1\n[words]\nstop = ''", "[words] stop is neither text nor true"),
        ("rank = ", "Invalid value"),
    ],
)
def test_a_fault_names_its_file(text, fault, tmp_path):
    file = tmp_path / "xx.toml"
    file.write_text(text)
    with pytest.raises(languages.LanguageDataError) as raised:
        languages.read_file(file)
    assert str(raised.value).startswith("xx.toml: ")
    assert fault in str(raised.value)


# row: X13
def test_every_pattern_compiles():
    for section in ("signals.high", "signals.medium", "injection"):
        for key in languages.keys(section):
            for code, text in languages.texts(section, key).items():
                languages.compiled((spelled(languages.pattern(text), code),))

    for key in languages.keys("rules.patterns"):
        for code in languages.texts("rules.patterns", key):
            pattern_of(key, code).search("")
