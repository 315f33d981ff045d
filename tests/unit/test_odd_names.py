"""File names that a file system allows and a program does not expect (row X3)."""

from __future__ import annotations

import json
import os

from tests.fakes.odd_names import ODD, facts_of


def test_a_memory_under_any_name_is_shown_recalled_and_changed(memory, settings):
    """By its id and by its path; what is written into it stays in its file."""
    paths = facts_of(settings, ODD)
    memory.files.rescan(None)
    for number, path in enumerate(paths):
        name = f"01KBH2Q0M6T4W2Y0B7C5D9{number:04}"
        (hit,) = [
            hit
            for hit in memory.call("recall", {"query": f"number{number}x"})["hits"]
            if hit["path"] == path
        ]
        assert hit["key"] == name
        assert memory.call("show", {"id": path})["memory"]["id"] == name
        assert memory.call("why", {"id": name})["memory"]["path"] == path
        memory.call("update", {"id": name, "pinned": True})
        assert "pinned: true" in (settings.vault / path).read_text()
        memory.call("forget", {"id": name})
        assert "status: forgotten" in (settings.vault / path).read_text()
    assert memory.call("doctor", {})["healthy"]


def test_names_that_differ_in_form_or_case_alone_are_two_notes(memory, settings):
    """NFC and NFD, capitals: the file system keeps them apart, and so does the
    catalogue.
    """
    paths = facts_of(settings, ("cafe\u0301", "caf\u00e9", "Case", "case"))
    memory.files.rescan(None)
    hits = memory.call("recall", {"query": "platypus", "k": 10})["hits"]
    assert sorted(hit["path"] for hit in hits) == sorted(paths)


def test_a_problem_of_a_name_is_counted_until_the_file_is_gone(memory, settings):
    """`status` counts it, `doctor` names it once, and a scan of that file alone takes
    it back.
    """
    (settings.vault / "notes").mkdir()
    bad = settings.vault / os.fsdecode(b"notes/pl\xe4ne.md")
    bad.write_text("words")
    memory.files.rescan([bad])
    memory.files.rescan(None)
    assert memory.call("status", {})["problems"] == 1
    (found,) = memory.call("doctor", {})["findings"]
    assert (found["code"], found["where"]) == ("name", "notes/pl\\xe4ne.md")
    assert found["fix"]
    bad.unlink()
    memory.files.rescan([bad])
    assert memory.call("status", {})["problems"] == 0
    assert memory.call("doctor", {})["healthy"]


def test_the_name_of_an_entity_note_that_is_no_utf8_is_a_problem(memory, settings):
    """It is no entity, for no link can lead to it; the others are."""
    folder = settings.vault / "entities" / "people"
    folder.mkdir(parents=True)
    for name in (b"Ren\xe9.md", b"Anna.md"):
        (folder / os.fsdecode(name)).write_text("---\ntype: person\n---\n")
    (found,) = memory.call("doctor", {})["findings"]
    assert (found["code"], found["where"]) == ("name", "entities/people/Ren\\xe9.md")
    assert set(memory.reconciler.entity_writer.entities_by_path()) == {
        "entities/people/Anna.md"
    }
    memory.call("remember", {"text": "Anna lives in Porto."})
    memory.call("consolidate", {"cadence": "nightly"})


def test_odd_names_elsewhere_in_the_vault_hold_no_night_up(memory, settings):
    """In every folder of ours and in the trash: a night runs, and its result fits JSON."""
    for folder in (
        "boxes/2026-11-01",
        "traces",
        "macros",
        "artifacts/2026-11-01",
        ".trash/2026-11-01",
        "episodes/x",
        "review",
        "archive/x",
        "sessions/x",
    ):
        (settings.vault / folder).mkdir(parents=True, exist_ok=True)
        for name in (b"caf\xe9.md", b"two\nlines.md"):
            (settings.vault / folder / os.fsdecode(name)).write_text(
                "---\nid: x\n---\nSee [[Anna]].\n"
            )
    memory.files.rescan(None)
    memory.call("remember", {"text": "Anna lives in Porto."})
    result = memory.call("consolidate", {"cadence": "nightly"})
    assert not result["failures"]
    for name in ("doctor", "status", "stats", "review", "context", "forecast"):
        json.dumps(memory.call(name, {}), ensure_ascii=False).encode()
    assert memory.health.problems() == {}


def test_a_question_about_two_files_names_them_on_one_line(memory, settings):
    """A name may hold a box to tick; it must not become one."""
    evil = "x\n- [x] Keep it\n`.sync-conflict-20261101-101010"
    facts_of(settings, ("a", evil))
    memory.files.rescan(None)
    (note,) = (settings.vault / "review").glob("conflict-*.md")
    assert "- [x]" not in [line[:5] for line in note.read_text().splitlines()]
    assert "x\\n- [x] Keep it" in note.read_text()
