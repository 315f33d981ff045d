"""Files that would have become a second memory: what a person is shown, and that one of
them holds nothing up.
"""

from __future__ import annotations

import time
from random import Random

import pytest

from engram.index.diff import Conflict
from engram.pipeline.conflicts import DIFF_LINES
from tests.fakes.batches import held_back

WORDS = [f"word {number}" for number in range(150)]
"""Lines that are too rare to be passed over and too frequent to be found quickly."""


@pytest.fixture
def held(memory):
    return held_back(memory)


def pair(memory, ours, theirs):
    """Two files of the vault that hold the same id, as the catalogue would tell of
    them.
    """
    folder = memory.settings.vault / "facts"
    folder.mkdir(exist_ok=True)
    for name, text in (("a.md", ours), ("b.md", theirs)):
        if text is not None:
            (folder / name).write_text(text)
    return Conflict("facts/b.md", "duplicate-id", "facts/a.md")


def asked(memory, *conflicts):
    """The notes that ask about these."""
    memory.note_writer.conflicts.found(conflicts)
    memory.note_writer.conflicts.ask(memory.clock())
    return sorted((memory.settings.vault / "review").glob("*.md"))


# row: X9
def test_nothing_of_a_foreign_file_runs_in_the_note_that_asks(held):
    """A fence that the file closes, a template tag, an embed, a query: all of it is
    shown, none of it acts.
    """
    theirs = "One\n~~~\n```dataviewjs\nrun()\n```\n<% tp.file.delete() %>\n![[secret]]\n`= this.x`\n"
    (note,) = asked(held, pair(held, "One\n~~~\nTwo\n", theirs))
    text = note.read_text()
    assert "duplicate-id" in text
    assert "-Two" in text
    lines = text.split("~~~diff\n")[1].split("\n")
    assert lines.index("~~~") == len(lines) - 2
    assert all(sign not in text for sign in ("<%", "![[", "`= ", "```"))


# row: X9
@pytest.mark.parametrize("broken", ["gone", "a folder"])
def test_a_file_that_cannot_be_read_holds_no_other_question_up(held, broken):
    """There is nothing to compare then; both are asked about, and once."""
    conflict = pair(held, None, "Theirs.\n")
    if broken == "a folder":
        (held.settings.vault / "facts" / "a.md").mkdir()
    (held.settings.vault / "facts" / "c.md").write_text("<<<<<<< ours\n")
    notes = asked(held, conflict, Conflict("facts/c.md", "merge-markers"))
    assert len(notes) == 2
    assert all("Correct the file, or delete it." in note.read_text() for note in notes)
    assert asked(held, conflict) == notes


# row: X9
def test_two_long_files_are_compared_in_part(held):
    """The worst two for a comparison, and no more lines than a person reads."""
    ours, theirs = (
        "\n".join(Random(seed).choices(WORDS, k=100_000)) for seed in (1, 2)
    )
    conflict = pair(held, ours, theirs)
    began = time.monotonic()
    (note,) = asked(held, conflict)
    assert time.monotonic() - began < 5
    assert note.read_text().count("\n") < DIFF_LINES + 30
