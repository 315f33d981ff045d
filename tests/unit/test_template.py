"""The vault everybody starts with: valid for Obsidian, git and engram, and true to the
format.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from engram import config
from engram.config import _flat, keys
from engram.core.records import Fact
from engram.core.sessions import SUMMARY_KEYS
from engram.errors import BadRequestError
from engram.serve.setup import init_vault
from engram.vault.template import create_vault, shipped

TEMPLATE = Path(__file__).parents[2] / "vault_template"
BASES = sorted(TEMPLATE.glob("views/*.base"))
SESSION_KEYS = {
    "session",
    "started",
    "ended",
    "turns",
    *SUMMARY_KEYS,
    "rolled",
    "episodes",
    "summarised",
}
BOX_KEYS = {"session", "opened", "sealed", "seen", "end_reason", "topics", "trace"}
FACT_KEYS = {*Fact.__dataclass_fields__} - {"text", "also", "path", "sha"}


def test_the_settings_state_the_defaults():
    """Every key a vault may set stands in the file as a comment with its default; a
    fresh copy sets none.
    """
    text = (TEMPLATE / "engram.toml").read_text()
    assert not any(tomllib.loads(text).values())
    stated = tomllib.loads(re.sub(r"^# (?=[a-z_]+ = )", "", text, flags=re.MULTILINE))
    flat = dict(_flat(stated))
    assert flat == {
        key.name: key.default
        for key in keys()
        if key.place == "vault" and key.name != "id"
    }


@pytest.mark.parametrize("base", BASES, ids=lambda path: path.stem)
def test_a_base_is_valid_and_asks_only_for_keys_there_are(base):
    """Obsidian's own schema: filters, formulas, properties and named views."""
    tree = yaml.safe_load(base.read_text())
    assert set(tree) <= {"filters", "formulas", "properties", "views"}
    known = (
        FACT_KEYS
        | SESSION_KEYS
        | BOX_KEYS
        | {f"formula.{name}" for name in tree.get("formulas", {})}
    )
    for view in tree["views"]:
        assert view["type"] == "table"
        assert set(view) <= {
            "type",
            "name",
            "limit",
            "filters",
            "groupBy",
            "order",
            "sort",
        }
        sorts = [
            *view.get("sort", []),
            *([view["groupBy"]] if "groupBy" in view else []),
        ]
        assert all(sort["direction"] in {"ASC", "DESC"} for sort in sorts)
        for name in [
            *view["order"],
            *(sort["property"] for sort in sorts),
            *tree["properties"],
        ]:
            assert name in known or name.startswith("file.")
    asked = re.findall(r"(?<![\w.])([a-z_]+)(?: ==|\.isEmpty)", base.read_text())
    assert set(asked) <= FACT_KEYS


DOCUMENTED = {
    *("if", "list", "date", "asLink", "inFolder", "hasTag", "contains", "isEmpty"),
    *("matches", "replace", "join", "format"),
}
"""What the formulas use of https://help.obsidian.md/bases/functions."""
FILE_FIELDS = {"ext", "basename", "name", "ctime", "mtime"}
"""What they use of https://help.obsidian.md/bases/syntax#File+properties."""


@pytest.mark.parametrize("base", BASES, ids=lambda path: path.stem)
def test_a_formula_uses_only_functions_that_obsidian_documents(base):
    """Read on 2026-11-23; a formula with any other shows an error in its table."""
    tree = yaml.safe_load(base.read_text())
    raw = json.dumps([tree["filters"], tree["formulas"], tree["views"]])
    code = re.sub(r"/(?:\\\\.|[^/ ])+/(?=g?[,.])", "", raw)
    assert set(re.findall(r"([A-Za-z]+)\(", code)) <= DOCUMENTED
    fields = set(re.findall(r"file\.([A-Za-z]+)(?!\w*\()", code))
    assert fields <= FILE_FIELDS
    for one in ("asLink", "inFolder", "hasTag"):
        assert len(re.findall(rf"\b{one}\(", code)) == code.count(f"file.{one}(")
    assert set(re.findall(r"formula\.(\w+)", code)) <= set(tree["formulas"])


def test_no_vault_is_made_inside_of_a_vault(tmp_path):
    outer = tmp_path / "Engram"
    create_vault(outer, "01KBH2Q0M6T4W2Y0B7C5D9E1FX", shipped("vault_template"))
    before = sorted(outer.rglob("*"))
    with pytest.raises(BadRequestError, match="inside of the vault") as fault:
        create_vault(outer / "facts" / "new", "01KBH2Q0M6", shipped("vault_template"))
    assert "--vault" in fault.value.fix
    assert sorted(outer.rglob("*")) == before


def test_init_says_so_where_others_may_read_the_folder(tmp_path):
    """An empty folder is closed; one that a person uses is left as it is."""
    for name, taken, mode in (("new", False, 0o700), ("used", True, 0o755)):
        vault = tmp_path / name
        vault.mkdir(0o755)
        if taken:
            (vault / "mine.md").write_text("words")
        settings = config.load(vault, {"ENGRAM_HOME": str(tmp_path / "home")})
        made = init_vault(lambda settings=settings: settings, git=False, dry_run=False)
        assert vault.stat().st_mode & 0o777 == mode
        assert ("chmod 700" in made.get("readable", "")) is taken
        assert ("1 Markdown file; engram" in made.get("found", "")) is taken
    again = init_vault(lambda: settings, git=False, dry_run=False)
    assert "a vault already" in again["note"]
    assert "found" not in again
    filled = init_vault(lambda: settings, git=False, dry_run=False, restored=9)
    assert filled["note"] == "9 files of the archive were restored"


def test_the_home_note_fits_on_three_screens_and_its_links_lead_somewhere():
    """It is the first thing a person sees."""
    text = (TEMPLATE / "Home.md").read_text()
    assert len(text.splitlines()) <= 75
    for base, view in re.findall(r"!\[\[(\w+\.base)(?:#([^\]]+))?\]\]", text):
        views = yaml.safe_load((TEMPLATE / "views" / base).read_text())["views"]
        assert not view or view in {entry["name"] for entry in views}
    assert {path.name for path in BASES} == set(re.findall(r"(\w+\.base)", text))


@pytest.mark.parametrize(
    "path", sorted(TEMPLATE.glob(".obsidian/*.json")), ids=lambda path: path.stem
)
def test_obsidians_settings_are_valid_json(path):
    """Only those five: nothing that runs, no community plugin, no hotkey."""
    assert json.loads(path.read_text())
    assert path.name in {
        "app.json",
        "graph.json",
        "types.json",
        "core-plugins.json",
        "templates.json",
    }


def test_every_key_of_ours_has_a_type_in_obsidian():
    """So that a date is edited as a date and a link list as a list."""
    types = json.loads((TEMPLATE / ".obsidian/types.json").read_text())["types"]
    assert set(types) >= FACT_KEYS | SESSION_KEYS | BOX_KEYS


@pytest.mark.parametrize(
    "path", sorted(TEMPLATE.glob("templates/*.md")), ids=lambda path: path.stem
)
def test_a_template_is_valid_yaml_before_it_is_filled(path):
    """Obsidian shows the properties of the template file itself too."""
    keys = yaml.safe_load(path.read_text().split("---\n")[1])
    assert "{{date:YYYY-MM-DD}}" in keys["created"]
    assert isinstance(keys["category"], str)


def test_open_promises_are_listed_by_their_due_date():
    base = yaml.safe_load((TEMPLATE / "views/commitments.base").read_text())
    assert base["views"][0]["sort"] == [{"property": "valid_from", "direction": "ASC"}]
