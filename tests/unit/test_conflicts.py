"""Files that would have become a second memory: what a person is shown, and that one of
them holds nothing up.
"""

from __future__ import annotations

import pytest

from engram.index.diff import Conflict
from tests.fakes.batches import held_back


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
