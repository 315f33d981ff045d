"""Exact words are measured on the notes that others were measured on."""

from __future__ import annotations

import exact_words
import pytest


@pytest.mark.skipif(
    not exact_words.GENERATOR.is_file(), reason=f"no {exact_words.GENERATOR}"
)
def test_each_question_of_exact_words_has_one_right_note_that_fts5_finds_too():
    *kinds, (name, number, ours, theirs) = exact_words.rows(200)
    assert (name, number) == ("all", sum(row[1] for row in kinds))
    assert number > 100
    assert min(ours, theirs) > 0.8
