"""History read again: the same turns and the same replies give the same vault, byte for
byte.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engram.config import ModelSettings
from engram.errors import BadRequestError, ConflictError, NotFoundError
from engram.ingest.importers import read_export
from engram.serve import observe
from engram.serve.replay import reprocess
from tests.fakes.openai_server import FakeServer, facts_from

WEEKS = Path(__file__).parents[2] / "examples" / "three-weeks.jsonl"


@pytest.fixture
def lived(opened):
    """A vault in which three weeks of conversation were filed by the rules, and one
    thing was asked to be kept.
    """
    memory = opened()
    observe.feed(read_export(WEEKS, memory.settings.zone), memory.call)
    memory.call("remember", {"text": "Anna switched to oat milk"})
    memory.call("flush", {})
    return memory


def tree(vault):
    return {
        path.relative_to(vault).as_posix(): path.read_bytes()
        for path in vault.rglob("*")
        if path.is_file()
    }


def quiet(_done, _of):
    """Nobody watches."""


# row: X25
def test_the_rules_make_of_the_same_history_the_same_vault(lived, tmp_path):
    """Twice the same bytes, nothing that differs from the vault at hand, and that one
    untouched.
    """
    before, heard = tree(lived.settings.vault), []
    first = reprocess(
        lived.settings, tmp_path / "first", lambda done, of: heard.append((done, of))
    )
    again = reprocess(lived.settings, tmp_path / "again", quiet)
    assert tree(tmp_path / "first") == tree(tmp_path / "again")
    assert {**first, "vault": ""} == {**again, "vault": ""}
    assert first["same"] > 20
    assert first["gone"] == []
    assert heard[-1] == (first["turns"], first["turns"])
    assert tree(lived.settings.vault) == before


# row: X25
def test_a_models_recorded_replies_make_the_same_vault_and_the_difference_is_shown(
    lived, tmp_path
):
    """What the rules found and the model does not is gone, what only it finds is new;
    both are told.
    """
    made = []
    for name in ("first", "again"):
        with FakeServer() as server:
            server.script(*[facts_from] * 200)
            settings = replace(
                lived.settings,
                model=ModelSettings("fake", base_url=server.url, api_key="k"),
            )
            made.append(reprocess(settings, tmp_path / name, quiet))
            assert server.asked
    assert tree(tmp_path / "first") == tree(tmp_path / "again")
    first, again = made
    assert {**first, "vault": ""} == {**again, "vault": ""}
    assert first["new"]
    assert first["gone"]
    assert "Anna switched to oat milk" not in first["gone"]


# row: X20
def test_a_restart_and_a_rebuild_change_no_byte(lived, opened):
    """Looking is not touching."""
    lived.save()
    before = tree(lived.settings.vault)
    later = opened()
    later.call("reindex", {})
    assert tree(later.settings.vault) == before


# row: X25
def test_the_title_of_a_conversation_is_kept(opened, tmp_path):
    memory = opened()
    turn = {"id": "t1", "session": "c1", "text": "I like tea.", "title": "Hot drinks"}
    memory.call("observe", {"turns": [turn]})
    memory.call("flush", {})
    names = [
        sorted(path.stem.rpartition("_")[0] for path in vault.glob("sessions/*/*.md"))
        for vault in (memory.settings.vault, tmp_path / "new")
        if vault.exists() or reprocess(memory.settings, vault, quiet)
    ]
    assert names[0] == names[1]
    (note,) = (tmp_path / "new" / "sessions").rglob("*.md")
    assert "- Hot drinks" in note.read_text()


def test_a_file_is_no_place_for_a_new_vault(settings, tmp_path):
    """It is named; and so is a vault that is none."""
    (tmp_path / "a.py").write_text("x")
    with pytest.raises(BadRequestError, match="this is a file"):
        reprocess(settings, tmp_path / "a.py", quiet)
    with pytest.raises(NotFoundError, match="engram init"):
        reprocess(replace(settings, vault=tmp_path / "none"), tmp_path / "new", quiet)


def test_a_folder_that_holds_something_is_left_alone(settings, tmp_path):
    (tmp_path / "mine.md").write_text("mine")
    with pytest.raises(ConflictError, match="not empty"):
        reprocess(settings, tmp_path, quiet)
    assert (tmp_path / "mine.md").read_text() == "mine"
