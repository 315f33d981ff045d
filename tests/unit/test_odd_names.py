"""File names that a file system allows and a program does not expect (row X3)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from engram.vault.paths import is_text, kind_of, printable

ODD = (
    "two\nlines",
    "tab\tred\x1b[31m",
    "quote\"'`",
    "#heading^block",
    "alias|name",
    "[[link]]",
    "-rf",
    " blank ",
    "cafe\u0301",
    "caf\u00e9",
    "Case",
    "case",
    "\u202egnp",
    "zero\u200bwidth",
    "CON",
    "100%41",
    "back\\slash",
    "x" * 252,
)


def facts_of(settings, names, more=""):
    folder = settings.vault / "facts" / "2026-11-01"
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        keys = f"id: 01KBH2Q0M6T4W2Y0B7C5D9{number:04}\ncategory: fact\ncreated: 2026-11-01T10:00:00\n{more}"
        (folder / f"{name}.md").write_text(
            f"---\n{keys}---\nThe platypus number{number}x swims.\n"
        )
    return [f"facts/2026-11-01/{name}.md" for name in names]


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("facts/2026-11-01/Grüße, 東京.md", "facts/2026-11-01/Grüße, 東京.md"),
        (os.fsdecode(b"a/caf\xe9\xff.md"), "a/caf\\xe9\\xff.md"),
        ("a\nb\tc\x1b[31m.md", "a\\nb\\tc\\x1b[31m.md"),
        ("a\u202eb.md", "a\\u202eb.md"),
        ("a\ud800b.md", "a\\ud800b.md"),
        ("", ""),
    ],
)
def test_every_name_has_a_form_that_can_be_printed(path, form):
    """On one line, UTF-8, and the same again when it is written twice."""
    assert printable(path) == form
    assert printable(form) == form
    assert json.loads(json.dumps(printable(path), ensure_ascii=False).encode()) == form
    assert is_text(form)


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
    assert set(memory.reconciler.entity_writer.known()) == {"entities/people/Anna.md"}
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


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_changes_under_odd_names_are_committed(opened, settings):
    """Each with the file that was changed, and nothing is left over."""

    def git(*words):
        done = subprocess.run(
            ["git", "-C", str(settings.vault), *words], check=True, capture_output=True
        )
        return done.stdout

    git("init", "-q")
    paths = facts_of(settings, ODD)
    git(
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@example.org",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "one",
    )
    git("add", ".")
    git(
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@example.org",
        "commit",
        "-q",
        "-m",
        "two",
    )
    memory = opened(git="commit")
    for number, path in enumerate(paths):
        memory.call(
            "update", {"id": f"01KBH2Q0M6T4W2Y0B7C5D9{number:04}", "pinned": True}
        )
        memory.between()
        memory.commits.passing()
        names = git("log", "-20", "--name-only", "-z", "--format=").split(b"\0")
        assert path.encode() in [
            name.strip(b"\n") if name.startswith(b"\n") else name for name in names
        ]
    assert git("status", "--porcelain", "-z", "--", "facts") == b""


def test_what_is_no_utf8_is_never_a_kind_of_its_own():
    """Whatever its bytes, a name ends like a note or does not."""
    assert kind_of(os.fsdecode(b"facts/caf\xe9.md")) == "fact"
    assert kind_of(os.fsdecode(b"facts/caf\xe9.txt")) is None
