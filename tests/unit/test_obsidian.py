"""A vault in Obsidian: alone, inside of another vault, and with notes moved by hand."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from engram.testing import Simulation
from engram.vault.template import create_vault, missing_files, shipped

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
VIEWS = sorted((shipped("vault_template") / "views").glob("*.base"))


def bytes_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


def moved(vault, found, to):
    (path,) = vault.glob(f"facts/*/*{found}*.md")
    target = vault / to
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    return target


# -- notes that a person moves ---------------------------------------------------------


def test_a_fact_that_is_moved_to_another_folder_stays_a_fact(opened):
    memory = opened()
    made = memory.call("remember", {"text": "Anna is allergic to peanuts."})["id"]
    path = moved(memory.settings.vault, "peanuts", "projects/kitchen/allergy.md")
    memory = opened()
    assert memory.call("show", {"id": made})["memory"]["path"] == (
        "projects/kitchen/allergy.md"
    )
    (hit, *_) = memory.call("recall", {"query": "peanuts"})["hits"]
    assert (hit["kind"], hit["id"]) == ("fact", made)
    again = memory.call("remember", {"text": "Anna is allergic to peanuts."})
    assert again["verdict"] == "confirmed"
    memory.call("update", {"id": made, "pinned": True})
    assert "pinned: true" in path.read_text()
    memory.call("forget", {"id": made})
    assert not memory.call("recall", {"query": "peanuts"})["hits"]
    assert memory.call("doctor", {})["healthy"]


def test_a_note_is_read_again_where_its_keys_make_it_a_fact(memory):
    """As where an editor saves the keys later than the move."""
    made = memory.call("remember", {"text": "Ben rows."})["id"]
    path = moved(memory.settings.vault, "rows", "mine.md")
    whole = path.read_text()
    path.write_text("Ben rows.\n")
    memory.call("reindex", {})
    path.write_text(whole)
    memory.call("reindex", {})
    assert memory.call("show", {"id": made})["memory"]["path"] == "mine.md"


def test_a_note_of_a_person_with_keys_of_the_same_name_is_theirs(memory):
    """Another tool may number its notes in the same way."""
    path = memory.settings.vault / "notes/rowing.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "---\nid: 01KBH2Q0M6T4W2Y0B7C5D9E1FX\ncategory: fact\ncreated: 2026-11-20\n"
        "origin: book\n---\nBen rows.\n"
    )
    memory.call("reindex", {})
    assert (memory.call("stats", {})["facts"], memory.call("stats", {})["notes"]) == (
        0,
        1,
    )


# -- views -----------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS, ids=lambda path: path.stem)
def test_each_table_shows_titles_instead_of_file_names(view):
    tree = yaml.safe_load(view.read_text())
    assert tree["formulas"]["title"].startswith("file.asLink(")
    for table in tree["views"]:
        assert table["order"][0] == "formula.title"
        assert "file.name" not in table["order"]


# -- inside of another vault -----------------------------------------------------------


@pytest.fixture
def outer(tmp_path):
    """A vault of Obsidian with names that engram uses too."""
    root = tmp_path / "Notes"
    for name, text in {
        ".obsidian/app.json": "{}",
        ".obsidian/types.json": '{"types": {"tags": "tags"}}',
        "Home.md": "# My own home\n",
        "facts.base": "views: []\n",
        "templates/Memory.md": "mine",
        "facts/own.md": "The barn is red.\n",
        "sessions/own.md": "A session of mine.\r\n",
        "People/Anna.md": "Anna, whom I know.\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return root


def test_engram_inside_of_a_vault_leaves_every_other_byte(outer, tmp_path):
    before = bytes_of(outer)
    vault = outer / 'Bots\' "memory"'
    create_vault(vault, "01KBH2Q0M6T4W2Y0B7C5D9E1FX", shipped("vault_template"))
    with Simulation(vault, at=BEGIN, home=tmp_path / "home") as sim:
        turns = ["My sister Anna is allergic to peanuts.", "I promise to call Anna."]
        sim.call("observe", turns=[{"text": one, "session": "s"} for one in turns])
        sim.call("flush")
        sim.advance(BEGIN + timedelta(days=2))
        assert sim.call("recall", query="peanuts")["hits"]
        assert not sim.call("recall", query="barn")["hits"]
        sim.call("consolidate", cadence="weekly")
        assert sim.call("doctor")["healthy"]
    after = bytes_of(outer)
    inside = {name for name in after if name.startswith(f"{vault.name}/")}
    assert {name: raw for name, raw in after.items() if name not in inside} == before
    names = {Path(name).name for name in inside}
    assert names.isdisjoint({"Home.md", "Memory.md", "types.json"})
    assert "Engram home.md" in names


def test_the_views_inside_of_a_vault_show_this_folder_alone(outer):
    vault = outer / 'Bots\' "memory"' / "one"
    create_vault(vault, "x", shipped("vault_template"))
    for view in vault.glob("views/*.base"):
        tree = yaml.safe_load(view.read_text())
        folders = re.findall(
            r'inFolder\("((?:[^"\\]|\\.)*)"\)',
            json.dumps(tree["filters"]).replace('\\"', '"').replace("\\\\", "\\"),
        )
        folders += re.findall(r'inFolder\("((?:[^"\\]|\\.)*)"\)', str(tree["views"]))
        assert folders
    text = (vault / "views/facts.base").read_text()
    (first,) = yaml.safe_load(text)["filters"]["and"][1]["or"][:1]
    assert first == 'file.inFolder("Bots\' \\"memory\\"/one/facts")'
    home = (vault / "views/Engram home.md").read_text()
    links = re.findall(r"\[\[([^\]|#\\]*\.base)", home)
    assert links
    assert all(link.startswith('Bots\' "memory"/one/views/') for link in links)
    assert all((outer / link).is_file() for link in links)


# -- types -----------------------------------------------------------------------------


def test_types_that_a_vault_has_stay_and_ours_are_added(tmp_path):
    vault = tmp_path / "vault"
    path = vault / ".obsidian/types.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"types": {"created": "text", "mine": "number"}, "more": [1]}')
    planned = missing_files(vault, "x", shipped("vault_template"))
    assert ".obsidian/types.json" in planned
    assert "mine" in path.read_text()
    assert "confidence" not in path.read_text()
    create_vault(vault, "x", shipped("vault_template"))
    found = json.loads(path.read_text())
    assert found["more"] == [1]
    assert (found["types"]["created"], found["types"]["mine"]) == ("text", "number")
    assert found["types"]["confidence"] == "number"
    assert create_vault(vault, "x", shipped("vault_template")) == ()


@pytest.mark.parametrize("raw", ["not json", "[]", '{"types": 3}'])
def test_types_that_cannot_be_read_are_left_alone(tmp_path, raw):
    vault = tmp_path / "vault"
    path = vault / ".obsidian/types.json"
    path.parent.mkdir(parents=True)
    path.write_text(raw)
    create_vault(vault, "x", shipped("vault_template"))
    assert path.read_text() == raw
