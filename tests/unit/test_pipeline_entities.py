"""From a filed batch to entity notes and relations, with people at work in the same
folder.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.entities import ALIAS
from engram.core.records import Extraction, Fact, Relation, Turn
from engram.pipeline.entities import EntityWriter
from engram.vault import syscalls
from engram.vault.edges import EDGES
from engram.vault.store import Vault

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)


@pytest.fixture
def entity_writer(settings):
    return EntityWriter(Vault(settings.vault), settings)


def again(entity_writer):
    """Another process on the same vault."""
    return EntityWriter(Vault(entity_writer.settings.vault), entity_writer.settings)


def turn(text="hm", days=0, name="t1", speaker=""):
    return Turn(name, "s", "user", text, NOW + timedelta(days=days), speaker)


def bond(subject, kind, other, name="t1", **more):
    return Relation(subject, kind, other, name, "quote", **more)


def take(entity_writer, *relations, about=(), types=None, days=0, speaker="", now=None):
    said = turn(days=days, speaker=speaker)
    facts = (
        [
            Fact(
                "01A",
                "x",
                about=entity_writer.link_names(about),
                created=said.occurred_at,
            )
        ]
        if about
        else []
    )
    found = Extraction((), "test/1", relations=relations, types=types or {})
    entity_writer.write(facts, found, [said], now or said.occurred_at)


def notes(entity_writer):
    root = entity_writer.settings.vault / "entities"
    return {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted(root.rglob("*.md"))
    }


def tree(entity_writer):
    root = entity_writer.settings.vault
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def lines(entity_writer, path):
    return [
        line
        for line in notes(entity_writer)[path].splitlines()
        if line.startswith("- ")
    ]


# row: C13
# row: B1
# row: E2
def test_every_name_a_fact_is_about_gets_a_note_once(entity_writer):
    """In the folder of its type: said by the extractor, seen in the name, or a
    speaker's.
    """
    take(
        entity_writer,
        about=["Anna", "Acme Inc.", "Porto", "Mira", "anna"],
        types={"Porto": "place"},
        speaker="Mira",
    )
    before = tree(entity_writer)
    assert list(notes(entity_writer)) == [
        "concepts/Anna.md",
        "orgs/Acme Inc.md",
        "people/Mira.md",
        "places/Porto.md",
    ]
    take(
        entity_writer,
        about=["ANNA", "porto"],
        types={"Anna": "concept", "Porto": "org"},
        days=3,
    )
    take(again(entity_writer), about=["Anna"], days=4)
    assert tree(entity_writer) == before


# row: B1
# row: E2
@pytest.mark.parametrize("kind", ["person", "org", "place", "project"])
def test_what_somebody_is_may_be_said_later(entity_writer, kind):
    """The note gets its type and moves to the folder of that: the link, its lines and
    its edges stay.
    """
    take(entity_writer, bond("Tomás", "likes", "Porto"), about=["Tomás"])
    path = entity_writer.settings.vault / "entities/concepts/Tomás.md"
    path.write_text(path.read_text() + "My words.\n")
    take(entity_writer, about=["Tomás"], types={"tomás": kind}, days=1)
    folder = {
        "person": "people",
        "org": "orgs",
        "place": "places",
        "project": "projects",
    }[kind]
    assert list(notes(entity_writer)) == sorted(
        ["concepts/Porto.md", f"{folder}/Tomás.md"]
    )
    text = notes(entity_writer)[f"{folder}/Tomás.md"]
    assert f"\ntype: {kind}\n" in text
    assert text.endswith("My words.\n")
    take(entity_writer, bond("Tomás", "likes", "Porto"), about=["Tomás"], days=2)
    assert entity_writer.ref_of("Tomás")[0] == kind
    assert entity_writer.link_names(["Tomás"]) == ("Tomás",)
    assert lines(entity_writer, f"{folder}/Tomás.md") == ["- likes: [[Porto]]"]
    assert len({edge.target for edge in entity_writer.edges.all()}) == 1
    before = tree(entity_writer)
    take(again(entity_writer), about=["Tomás"], types={"Tomás": "project"}, days=3)
    assert tree(entity_writer) == before


# row: B1
@pytest.mark.parametrize("deed", ["type", "type back", "folder", "by hand", "taken"])
def test_a_persons_own_type_stays(entity_writer, deed):
    """They set it, set it back where we had changed it, moved the note, made it, or
    made another of that name.
    """
    root = entity_writer.settings.vault / "entities"
    take(entity_writer, about=["Tomás"])
    path = root / "concepts/Tomás.md"
    if deed == "type":
        path.write_text(path.read_text().replace("type: concept", "type: tool"))
    elif deed == "type back":
        take(entity_writer, about=["Tomás"], types={"Tomás": "person"})
        path = root / "people/Tomás.md"
        path.write_text(path.read_text().replace("type: person", "type: concept"))
    elif deed == "folder":
        (root / "mine").mkdir()
        path = path.rename(root / "mine/Tomás.md")
    elif deed == "by hand":
        path.write_text("Tomás is a saint.\n")
    else:
        (root / "people").mkdir()
        (root / "people/Tomás.md").write_text("Another one.\n")
    os.utime(path, (0, 0))
    before = tree(entity_writer)
    take(again(entity_writer), about=["Tomás"], types={"Tomás": "person"}, days=1)
    assert tree(entity_writer) == before


# row: B1
@pytest.mark.parametrize(
    "told",
    [("Ben", "partner", "Anna"), ("Anna", "ex", "Ben"), ("Anna", "boyfriend", "Ben")],
)
def test_two_who_break_up_are_no_couple_whatever_they_were_called(entity_writer, told):
    """By each of the two; what else they are to each other stays."""
    take(
        entity_writer,
        bond("Ben", "girlfriend", "Anna"),
        bond("Anna", "boyfriend", "Ben"),
        bond("Ben", "boss", "Anna"),
    )
    take(entity_writer, bond(*told, ended=True), days=1)
    left = {
        (edge.label, edge.valid_until is None) for edge in entity_writer.edges.all()
    }
    over = told[1] != "ex"
    assert left == {("girlfriend", not over), ("boyfriend", not over), ("boss", True)}
    shown = lines(entity_writer, "concepts/Ben.md")
    assert "- boss: [[Anna]]" in shown
    assert ("- girlfriend: [[Anna]] (until 2026-11-21)" in shown) == over
    (line,) = lines(entity_writer, "concepts/Anna.md")
    assert line.endswith("(until 2026-11-21)") == over


def tell(entity_writer, *relations, days=0, text="hm", **who):
    said = replace(turn(text, days), **who)
    entity_writer.write(
        [], Extraction((), "test/1", relations=relations), [said], said.occurred_at
    )


TOOL, IMPORT, ASSISTANT = (
    {"origin": "tool"},
    {"origin": "import"},
    {"role": "assistant"},
)


# row: B1
# row: X27
@pytest.mark.parametrize("who", [TOOL, IMPORT, ASSISTANT])
def test_nobody_ends_a_relation_that_somebody_said_who_is_believed_more(
    entity_writer, who
):
    """Neither by another one nor by saying that it is over; in another process too."""
    tell(
        entity_writer,
        bond("Anna", "works at", "Acme Inc.", confidence=0.6),
        bond("Anna", "husband", "Ben"),
    )
    before = lines(entity_writer, "concepts/Anna.md")
    for one in (entity_writer, again(entity_writer)):
        one.refresh()
        tell(one, bond("Anna", "works at", "Siemens AG", confidence=0.9), days=1, **who)
        tell(one, bond("Anna", "husband", "Ben", ended=True), days=1, **who)
        assert [edge.valid_until for edge in one.edges.all()] == [None, None]
    assert lines(entity_writer, "concepts/Anna.md") == before
    tell(entity_writer, bond("Anna", "works at", "Siemens AG"), days=2)
    assert len([edge for edge in entity_writer.edges.all() if edge.valid_until]) == 1


# row: B1
def test_the_same_batch_twice_changes_no_byte(entity_writer):
    """Also after a crash between the notes and the edges."""
    batch = (
        bond("Anna", "works at", "Acme Inc."),
        bond("Anna", "works at", "Siemens AG"),
        bond("Anna", "alias", "Änni"),
    )
    take(entity_writer, *batch, about=["Anna"])
    before = tree(entity_writer)
    take(entity_writer, *batch, about=["Anna"])
    take(again(entity_writer), *batch, about=["Anna"])
    assert tree(entity_writer) == before
    (entity_writer.settings.vault / EDGES).unlink()
    take(again(entity_writer), *batch, about=["Anna"])
    assert tree(entity_writer) == before


def test_a_note_that_a_person_is_at_gets_its_lines_later(entity_writer):
    """Put off, not lost: another process does it with the next batch."""
    quiet = replace(
        entity_writer.settings.policy,
        files=replace(entity_writer.settings.policy.files, quiet_seconds=60),
    )
    entity_writer.settings = replace(entity_writer.settings, policy=quiet)
    take(entity_writer, about=["Anna"])
    path = entity_writer.settings.vault / "entities/concepts/Anna.md"
    path.write_text(path.read_text() + "\nMine.\n")
    os.utime(path, (NOW.timestamp() - 10, NOW.timestamp() - 10))
    entity_writer.refresh()
    busy = path.read_bytes()
    take(entity_writer, bond("Anna", "boss", "Ben"), bond("Anna", "alias", "Änni"))
    assert path.read_bytes() == busy
    take(entity_writer, now=NOW + timedelta(seconds=40))
    assert path.read_bytes() == busy
    other = again(entity_writer)
    take(other, now=NOW + timedelta(seconds=51))
    assert lines(entity_writer, "concepts/Anna.md") == ["- boss: [[Ben]]"]
    assert path.read_text().endswith("\nMine.\n")
    take(entity_writer, now=NOW + timedelta(seconds=200))
    assert "Änni" in path.read_text()
    assert not other.edges.unlisted()


def test_a_person_may_move_rename_and_retype_a_note(entity_writer):
    """The name is the file's, wherever it lies; its edges are found whatever its type."""
    take(entity_writer, bond("Anna", "boss", "Ben"))
    root = entity_writer.settings.vault / "entities"
    (root / "people").mkdir()
    (root / "concepts/Anna.md").rename(root / "people/Anna.md")
    (root / "concepts/Ben.md").rename(root / "people/Benedikt.md")
    entity_writer.refresh()
    take(entity_writer, bond("Anna", "boss", "Benedikt"), days=2)
    assert list(notes(entity_writer)) == ["people/Anna.md", "people/Benedikt.md"]
    assert lines(entity_writer, "people/Anna.md") == [
        "- boss: [[Ben]]",
        "- boss: [[Benedikt]]",
    ]


# row: C13
@pytest.mark.parametrize("again", [False, True])
def test_a_renamed_note_keeps_its_old_name_as_an_alias(entity_writer, again):
    """Whether engram runs or not: the heading tells the old name. A heading of a
    person's own is none.
    """
    take(entity_writer, bond("Anna", "boss", "Ben"), about=["Anna"])
    root = entity_writer.settings.vault / "entities"
    (root / "concepts/Ben.md").rename(root / "concepts/Ben Okafor.md")
    own = root / "concepts/Anna Meyer.md"
    (root / "concepts/Anna.md").rename(own)
    own.write_text(own.read_text().replace("# Anna\n", "# My friend\n"))
    if again:
        entity_writer = EntityWriter(entity_writer.vault, entity_writer.settings)
    entity_writer.refresh()
    assert entity_writer.link_names(["Ben"]) == ("Ben Okafor",)
    take(entity_writer, about=["Ben"], days=2)
    assert list(notes(entity_writer)) == [
        "concepts/Anna Meyer.md",
        "concepts/Ben Okafor.md",
    ]
    assert "aliases:\n  - Ben\n" in (root / "concepts/Ben Okafor.md").read_text()
    assert "aliases" not in own.read_text()


def test_a_note_with_a_fault_is_left_alone_and_told(entity_writer):
    """Its name still counts, so that no second one is made."""
    path = entity_writer.settings.vault / "entities/people/Anna.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\ntype: [\n---\nMine.\n")
    take(entity_writer, bond("Anna", "boss", "Ben"), about=["Anna"])
    assert path.read_text() == "---\ntype: [\n---\nMine.\n"
    assert [
        problem.code for problem in entity_writer.problems["entities/people/Anna.md"]
    ] == ["bad-yaml"]
    path.unlink()
    entity_writer.refresh()
    assert entity_writer.problems == {}
    take(entity_writer)
    assert list(notes(entity_writer)) == ["concepts/Ben.md"]


def test_a_note_that_cannot_be_read_holds_nothing_else_up(entity_writer, monkeypatch):
    """It keeps its name and aliases, is told, and gets its relation when it can be read
    again.
    """

    class Refusing(syscalls.Syscalls):
        def open(self, name, *more, **also):
            if name == "Anna.md":
                raise PermissionError(13, "Permission denied")
            return super().open(name, *more, **also)

    take(entity_writer, bond("Anna", ALIAS, "Annie"), about=["Anna"])
    for known in (entity_writer, again(entity_writer)):
        with monkeypatch.context() as disk:
            disk.setattr(syscalls, "SYS", Refusing())
            known.refresh()
            take(
                known,
                bond("Anna", "boss", "Ben"),
                about=["Anna"],
                types={"Anna": "person"},
            )
            assert [problem.code for problem in known.find_problems()] == ["unreadable"]
            assert sorted(notes(known)) == ["concepts/Anna.md", "concepts/Ben.md"]
        assert known.names.one("Anna").path == "entities/concepts/Anna.md"
    assert entity_writer.names.one("Annie").name == "Anna"
    take(entity_writer, bond("Anna", "colleague", "Ben"))
    assert entity_writer.find_problems() == []
    assert "boss" in notes(entity_writer)["concepts/Anna.md"]


def test_two_notes_of_one_name_are_nobodys_and_get_no_third(entity_writer):
    """A person sorts that out."""
    for folder in ("people", "places"):
        (entity_writer.settings.vault / "entities" / folder).mkdir(parents=True)
        (entity_writer.settings.vault / "entities" / folder / "Jordan.md").write_text(
            ""
        )
    take(entity_writer, bond("Jordan", "boss", "Ben"), about=["Jordan"])
    assert [path for path, text in notes(entity_writer).items() if text] == [
        "concepts/Ben.md"
    ]
    assert entity_writer.names.one("Jordan") is None


def test_a_note_made_between_two_looks_is_found(entity_writer):
    """The folder is looked at once a second only."""
    take(entity_writer, about=["Ben"])
    path = entity_writer.settings.vault / "entities/concepts/Anna.md"
    path.write_text("Mine.")
    take(entity_writer, about=["Anna"])
    assert path.read_text() == "Mine."


def test_relations_of_unknown_turns_and_to_oneself_are_nothing(entity_writer):
    """Also two words for the owner."""
    take(
        entity_writer,
        bond("Anna", "boss", "Ben", name="t9"),
        bond("Anna", "boss", "ANNA"),
        bond("me", "boss", "The user"),
    )
    take(entity_writer, bond("Anna", "!!", "Ben"))
    assert entity_writer.edges.all() == ()
