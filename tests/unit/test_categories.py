"""Categories: what must hold of every row of the table."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import engram
from engram.core.categories import CATEGORIES, category_named
from engram.core.policy import ImportancePolicy


def test_every_category_has_its_gain_of_importance_in_the_policy() -> None:
    assert {*CATEGORIES} <= {field.name for field in fields(ImportancePolicy)}


def test_an_alias_names_one_category_and_is_no_category_itself() -> None:
    aliases = [
        name for row in CATEGORIES.values() for name in (*row.aliases, *row.tagged)
    ]
    assert len(aliases) == len({*aliases})
    assert not {*aliases} & {*CATEGORIES}


# row: A31
def test_every_type_of_the_seeds_is_a_category() -> None:
    """Factual, preference, procedural, architectural, meta and the old insight."""
    found = {
        name: category_named(name)
        for name in (
            *("factual", "preference", "procedural", "architectural", "meta"),
            *("insight", " Meta ", "opinion", ""),
        )
    }
    assert found == {
        "factual": ("fact", ""),
        "preference": ("preference", ""),
        "procedural": ("skill", ""),
        "architectural": ("decision", ""),
        "meta": ("principle", ""),
        "insight": ("fact", "insight"),
        " Meta ": ("principle", ""),
        "opinion": None,
        "": None,
    }


def test_no_module_but_the_table_asks_for_a_category_by_name() -> None:
    asks = re.compile(r"\bcategory (?:==|!=|(?:not )?in [({]) ?[\"']")
    package = Path(engram.__file__).parent
    assert [
        path.relative_to(package).as_posix()
        for path in sorted(package.rglob("*.py"))
        if asks.search(path.read_text())
    ] == []
