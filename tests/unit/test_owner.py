"""The user is one person under all their names (law 9)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import pytest

from engram.core.entities import EntityNames
from engram.core.language.similarity import compared, statement
from engram.core.records import Entity
from engram.testing import Simulation
from engram.vault.frontmatter import read

if TYPE_CHECKING:
    from pathlib import Path

AT = datetime(2027, 1, 11, 9, 0, tzinfo=UTC)


# -- who is the owner ------------------------------------------------------------------


def person(name: str, *aliases: str) -> Entity:
    return Entity(name, "person", aliases, path=f"entities/people/{name}.md")


def names(*entities: Entity, given: tuple[str, ...] = ()) -> EntityNames:
    known = EntityNames(given)
    for entity in entities:
        known.put(entity.path, entity)
    return known


def test_a_configured_name_marks_the_note_of_that_person():
    known = names(person("Jonas Keller", "Joki"), given=("Jonas Keller",))
    assert known.owner_names() == ("Jonas Keller", "Joki")


# -- one subject in comparisons --------------------------------------------------------


def parsed(text: str, *owner: str):
    return statement(text, lambda words, _language: words, owner)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Jonas lives in Munich.", "The user lives in Munich."),
        ("Jonas Keller lives in Munich.", "Jonas lives in Munich."),
        ("Jonas's sister lives in Porto.", "The user's sister lives in Porto."),
        ("Jonas wohnt in Erfurt.", "Die Person wohnt in Erfurt."),
        ("王梅住在上海。", "用户住在上海。"),
    ],
)
def test_two_names_of_the_user_say_the_same(one, other):
    owner = ("Jonas Keller", "Jonas", "王梅")
    assert compared(parsed(one, *owner), parsed(other, *owner)).similarity == 1
    assert compared(parsed(one), parsed(other)).similarity < 1


# -- in a vault ------------------------------------------------------------------------


class Life(NamedTuple):
    simulation: Simulation
    vault: Path

    def call(self, name: str, **params: object):
        return self.simulation.call(name, **params)


@pytest.fixture
def life(tmp_path):
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "engram.toml").write_text('id = "owner"\n[owner]\nname = "Jonas"\n')
    with Simulation(vault, at=AT, home=tmp_path / "home") as simulation:
        yield Life(simulation, vault)


def say(life: Life, text: str, **more: object) -> None:
    life.call("observe", turns=[{"text": text, "role": "user", **more}])
    life.call("flush")


def facts(life: Life) -> dict[str, list[str]]:
    """The statements of the facts, each with the names that it is about."""
    found = {}
    for note in sorted((life.vault / "facts").rglob("*.md")):
        keys = read(note.read_bytes())
        found[keys.body.strip().splitlines()[0]] = keys.keys.get("about") or []
    return found


def owner_notes(life: Life) -> list[str]:
    folder = life.vault / "entities" / "people"
    return sorted(
        note.stem for note in folder.glob("*.md") if "the user" in note.read_text()
    )


def test_one_home_under_two_names(life):
    say(life, "I live in Munich.", speaker="Dave")
    say(life, "I live in Munich.")
    assert list(facts(life)) == ["Dave lives in Munich."]


def test_in_a_group_each_speaker_is_a_person(life):
    for speaker, town in (("Jonas", "Munich"), ("Ana", "Porto")):
        say(
            life,
            f"I live in {town}.",
            speaker=speaker,
            participants=["Jonas", "Ana"],
        )
    about = facts(life)
    assert about == {"Jonas lives in Munich.": [], "Ana lives in Porto.": ["[[Ana]]"]}
    assert owner_notes(life) == []


def test_what_another_in_a_group_says_ends_nothing_of_the_owner(life):
    say(life, "I live in Munich.")
    say(life, "I've moved to Porto.", speaker="Ana", participants=["Jonas", "Ana"])
    hits = life.call("recall", query="where do I live?")["hits"]
    assert "Munich" in hits[0]["text"]
    assert not hits[0].get("ended")


def test_the_name_of_a_brother_is_not_the_owners(life):
    say(life, "My brother Ben lives in Porto.")
    say(life, "Hi, I'm Ben, I live in Munich.")
    assert owner_notes(life) == []


def test_a_person_of_whom_the_user_told_stays_another(life):
    say(life, "I live with my friend Kim. Kim likes tea.")
    say(life, "Hi, I'm Kim, I live in Munich.")
    assert owner_notes(life) == []


def test_a_label_with_the_name_of_a_friend_is_not_the_friend(life):
    say(life, "My friend Dave lives in Porto.")
    say(life, "I live in Munich.", speaker="Dave")
    assert "The user lives in Munich." in facts(life)
    assert owner_notes(life) == []


# row: B1
def test_a_word_for_a_relation_finds_the_person(life):
    say(life, "My boss Karin is from Sweden, and I am from Bremen originally.")
    say(life, "My friend Tom is from Norway.")
    hits = life.call("recall", query="where is my boss from?")["hits"]
    found = [hit["text"] for hit in hits]
    assert "Karin is from Sweden." in found
    assert "Tom is from Norway." not in found[: found.index("Karin is from Sweden.")]
