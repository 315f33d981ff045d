"""Entity notes: written so that links resolve, read whatever a person made of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.records import ENTITY_TYPES, Entity, RelationLine
from engram.vault import frontmatter
from engram.vault.entities import (
    FOLDERS,
    entity_body,
    entity_files,
    entity_from,
    entity_keys,
    new_entity,
    path_of,
    relations_of,
    stem,
    with_relations,
)
from engram.vault.paths import kind_of
from tests.size import examples

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 20, 20, 14, 5, tzinfo=UTC)
PATH = "entities/people/Anna Müller.md"


def read(text, path=PATH):
    return entity_from(frontmatter.read(text.encode()), path, "", ZONE)


def test_a_note_reads_back_as_the_entity_it_was():
    """Aliases too: a name that no file can have is one."""
    entity = new_entity(
        "AC/DC", "org", NOW, [RelationLine("singer", "Brian", "1980", "2026-10")]
    )
    found, problems = read(
        frontmatter.emit(entity_keys(entity, ZONE), entity_body(entity)).decode(),
        entity.path,
    )
    assert found == entity
    assert (entity.name, entity.aliases, problems) == ("AC DC", ("AC/DC",), ())


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("", {}),
        ("Just a word of mine.", {"has_user_text": True}),
        ("---\ntype: Place\n---\n", {"type": "place"}),
        ("---\naliases: Änni\nalias: [A, 7]\n---\n", {"aliases": ("Änni", "A", "7")}),
        ("---\naliases:\n  - Änni\n  - \n  - {a: b}\n---\n", {"aliases": ("Änni",)}),
        (
            "---\nid: x\ncreated: 2026-11-20\n---\n",
            {"id": "x", "created": datetime(2026, 11, 19, 23, tzinfo=UTC)},
        ),
    ],
)
def test_whatever_a_person_writes_is_an_entity(text, changes):
    """Its name is the file's, its type the folder's unless the note says it."""
    found, problems = read(text)
    assert (found, problems) == (
        replace(Entity("Anna Müller", "person", path=PATH), **changes),
        (),
    )


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


# row: B1
@pytest.mark.parametrize(
    ("days", "since", "until"),
    [
        ("", "", ""),
        (" (from 2027-01)", "2027-01", ""),
        (" (until 2026-10-31)", "", "2026-10-31"),
        (" (from 2019 until 2026-10)", "2019", "2026-10"),
        (" (since 2019)", "2019", ""),
        (" (my best year)", "", ""),
        (" (since we met)", "", ""),
    ],
)
def test_the_days_of_a_relation_stand_behind_its_name(days, since, until):
    """A person's remark is no day, and stays."""
    line = f"- works at: [[Bosch]]{days}\n"
    body = f"%% engram:begin relations %%\n{line}%% engram:end relations %%\n"
    found = RelationLine("works_at", "Bosch", since, until)
    assert relations_of(body) == (found,)
    assert line in with_relations(body, [RelationLine("boss", "Eva")])
    assert relations_of(with_relations("", [found])) == (found,)


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


@examples(200)
@given(name=st.text(max_size=200), kind=st.sampled_from(ENTITY_TYPES))
def test_any_name_makes_a_path_within_the_vault(name, kind):
    """Short, encodable, stable, and read back under the same name."""
    made = stem(name)
    assert stem(made) == made
    assert 0 < len(made.encode()) <= 127
    path = path_of(name, kind)
    assert path.count("/") == 2
    assert read("", path)[0].name == made
    assert read("", path)[0].type == kind
    body = with_relations("", [RelationLine("boss", made)])
    assert relations_of(body) == (RelationLine("boss", made),)


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
