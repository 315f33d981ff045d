"""A person saves while we rewrite the same note: no line of theirs is lost."""

from __future__ import annotations

import pytest
from editors import (
    OLD,
    SAVES,
    Leaseless,
    Meddling,
    editor,
    nothing_lost,
    open_everywhere,
    saves_everywhere,
    slow_saves_everywhere,
)
from harness import FULL

from engram.vault import disk

SEAMS = [Meddling, Leaseless]


@pytest.mark.parametrize("seam", SEAMS)
@pytest.mark.parametrize("kind", SAVES)
def test_a_save_between_any_two_calls_of_a_rewrite_is_kept(arena, kind, seam, covered):
    """One save before each call, and two before each two calls."""
    covered(
        "save during a rewrite",
        f"{kind}, {seam.__name__.lower()}",
        saves_everywhere(arena / "note.md", kind, seam),
    )


@pytest.mark.parametrize("seam", SEAMS)
def test_a_writer_that_has_the_note_open_keeps_its_line(arena, seam, covered):
    """The note is opened before one call and written to before a later one."""
    covered(
        "note open during a rewrite",
        seam.__name__.lower(),
        open_everywhere(arena / "note.md", seam),
    )


@pytest.mark.parametrize("seam", SEAMS)
def test_a_save_made_of_what_stood_there_for_a_moment_ends_no_other(
    arena, seam, covered
):
    """An editor may read our text before it is taken back, and save it with a line of
    its own afterwards.
    """
    for quick in (1, 2):
        cases = slow_saves_everywhere(arena / "note.md", seam, quick)
        covered("slow save during a rewrite", seam.__name__.lower(), cases)


@pytest.mark.parametrize("turn", range(6))
def test_an_editor_and_we_write_one_note_and_no_line_is_lost(tmp_path, turn, covered):
    """A real editor process adds lines while we rewrite the note as fast as we can."""
    kind = ("renaming", "in-place", "appending")[turn % 3]
    note = tmp_path / "note.md"
    note.write_text(OLD)
    person = editor(note, kind, 5 if FULL else 1, f"line-{turn}")
    written, refused = 0, 0
    while person.poll() is None:
        raw = note.read_bytes()
        counted = raw.replace(
            b"counter: %d\n" % written, b"counter: %d\n" % (written + 1)
        )
        try:
            disk.replace(note, counted, disk.sha256(raw))
            written += b"counter: %d\n" % (written + 1) in note.read_bytes()
        except disk.ChangedError:
            refused += 1
    saved = int(person.stdout.read())
    person.stdout.close()
    nothing_lost(note, [f"line-{turn}-{number}\n" for number in range(saved)])
    assert saved
    assert written + refused
    covered("lost-update race (saves)", kind, saved)
    covered("lost-update race (our rewrites)", kind, written)
