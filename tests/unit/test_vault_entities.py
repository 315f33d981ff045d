"""Entity notes: written so that links resolve, read whatever a person made of them."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from engram.core.records import ENTITY_TYPES, RelationLine
from engram.vault import frontmatter
from engram.vault.entities import (
    FOLDERS,
    entity_files,
    entity_from,
    relations_of,
    stem,
    with_relations,
)
from engram.vault.paths import kind_of

ZONE = ZoneInfo("Europe/Berlin")
PATH = "entities/people/Anna Müller.md"


def read(text, path=PATH):
    return entity_from(frontmatter.read(text.encode()), path, "", ZONE)


def test_a_fault_in_a_note_is_named_and_the_entity_stays():
    """A broken front matter, an unknown type."""
    found, (problem,) = read("---\ntype: dragon\n---\n")
    assert (found.type, problem.code, problem.line) == ("person", "bad-value", 2)
    found, (problem,) = read("---\ntype: [\n---\n", "entities/Anna.md")
    assert (found.name, found.type, problem.code, problem.path) == (
        "Anna",
        "concept",
        "bad-yaml",
        "entities/Anna.md",
    )


def test_relations_are_read_from_between_the_markers_only():
    """Tolerant of bullets, aliases of links and blanks."""
    body = (
        "- friend: [[Outside]]\n%% engram:begin relations %%\n* Works At:[[Siemens|the firm]]\n  - sister: [[Ben#x]]\n"
        "my own remark\n- no link: Ben\n%% engram:end relations %%\n- friend: [[Below]]\n"
    )
    assert relations_of(body) == (
        RelationLine("works_at", "Siemens"),
        RelationLine("sister", "Ben"),
    )


def test_only_the_lines_meant_are_added_and_taken_out():
    """A person's text around and between the markers keeps every character."""
    body = "Mine.\n\n%% engram:begin relations %%\n- boss: [[Ben]]\nremark\n%% engram:end relations %%\n\nMore [[Ben]].\n"
    eva, ben = RelationLine("boss", "Eva"), RelationLine("boss", "Ben")
    after = with_relations(body, [eva, eva], [ben])
    assert after == body.replace(
        "- boss: [[Ben]]\nremark\n", "remark\n- boss: [[Eva]]\n"
    )
    assert with_relations(after, [eva], [ben]) == after
    assert with_relations("Mine.", [eva]).startswith(
        "Mine.\n\n%% engram:begin relations %%\n- boss: [[Eva]]"
    )


# row: E2
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Anna Müller", "Anna Müller"),
        ('a/b\\c:d*e?f"g<h>i|j', "a b c d e f g h i j"),
        ("[[Anna]]#x^y%%", "Anna x y"),
        ("..hidden.", "hidden"),
        ("CON", "CON (name)"),
        ("nul.txt", "nul.txt (name)"),
        ("???", "unnamed"),
        ("\ud83d\x00\n", "unnamed"),
        ("安娜", "安娜"),
    ],
)
def test_a_stem_is_a_name_every_system_takes(name, expected):
    """And that a link can hold."""
    assert stem(name) == expected


def test_the_listing_sees_notes_and_nothing_else(tmp_path):
    """Subfolders too; no links, hidden files or conflict copies; entity notes are not
    the index's business.
    """
    assert entity_files(tmp_path) == {}
    for path in (
        "people/Anna.md",
        "people/deep/Ben.md",
        ".x.md",
        "people/~$Eva.md",
        "people/a.txt",
        "Top.md",
    ):
        (tmp_path / "entities" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "entities" / path).write_text("")
    (tmp_path / "entities/Anna.sync-conflict-20260101-120000-ABC.md").write_text("")
    (tmp_path / "entities/loop").symlink_to(tmp_path)
    found = entity_files(tmp_path)
    assert sorted(found) == [
        "entities/Top.md",
        "entities/people/Anna.md",
        "entities/people/deep/Ben.md",
    ]
    assert all(kind_of(path) is None for path in found)


def test_every_type_has_a_folder():
    """And no two the same."""
    assert tuple(FOLDERS) == ENTITY_TYPES
    assert len(set(FOLDERS.values())) == len(ENTITY_TYPES)
