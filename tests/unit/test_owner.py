"""The user is one person under all their names (law 9)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import pytest

from engram.core.entities import EntityNames, is_of_owner, subjects
from engram.core.language.similarity import compared, statement
from engram.core.records import Entity, Turn
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


def test_a_configured_name_needs_no_note():
    known = names(given=("Jonas Keller", "Jo"))
    assert known.owner() is None
    assert known.is_owner("Jonas Keller")
    assert not known.is_owner("Jonas")


def test_a_configured_name_marks_the_note_of_that_person():
    known = names(person("Jonas Keller", "Joki"), given=("Jonas Keller",))
    assert known.owner_names() == ("Jonas Keller", "Joki")


@pytest.mark.parametrize(
    ("role", "speaker", "group", "is_owner"),
    [
        ("user", "", False, True),
        ("user", "Dave", False, True),
        ("user", "Dave", True, False),
        ("user", "Jonas", True, True),
        ("user", "", True, True),
        ("assistant", "Jonas", False, False),
    ],
)
def test_role_user_is_the_owner_except_in_a_group(role, speaker, group, is_owner):
    turn = Turn("t1", "s", role, "Hello.", AT, speaker, group=group)
    assert is_of_owner(turn, names(person("Jonas", "the user"))) is is_owner


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


def test_two_names_of_the_user_contradict():
    owner = ("Jonas",)
    found = compared(
        parsed("Jonas lives in Munich.", *owner),
        parsed("The user lives in Augsburg.", *owner),
    )
    assert found.distinct == "another home"


def test_the_name_of_somebody_else_stays_apart():
    found = compared(
        parsed("Eva lives in Munich.", "Jonas"),
        parsed("The user lives in Munich.", "Jonas"),
    )
    assert found.similarity < 0.85


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


def test_an_introduction_makes_the_owners_note_and_is_logged(life):
    say(life, "Hi, I'm Jo, I live in Munich.")
    say(life, "My sister Eva lives in Porto.")
    (note,) = owner_notes(life)
    text = (life.vault / "entities" / "people" / f"{note}.md").read_text()
    assert note == "Jo"
    assert "sister: [[Eva]]" in text
    log = (life.vault / "state" / "memory-actions.jsonl").read_text()
    assert '"action": "owner-name"' in log or '"action":"owner-name"' in log


def test_a_name_that_a_user_took_out_is_not_learned_again(life):
    say(life, "Hi, I'm Jo, I live in Munich.")
    path = life.vault / "entities" / "people" / "Jo.md"
    path.unlink()
    life.simulation.files_changed()
    say(life, "Hi, I'm Jo, I work as a carpenter.")
    assert owner_notes(life) == []


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


# row: X2
def test_a_known_person_is_read_about_without_the_word_for_the_relation(life):
    say(life, "My sister Eva called.")
    say(life, "Eva is a dentist and lives in Porto.", session="later")
    assert {"Eva is a dentist.", "Eva lives in Porto."} <= facts(life).keys()


def test_the_facts_of_an_earlier_vault_under_the_name_are_the_owners(life):
    note = life.vault / "facts" / "jonas.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text(
        "---\ncategory: fact\nabout:\n  - '[[Jonas]]'\n---\nJonas lives in Munich.\n"
    )
    life.simulation.files_changed()
    say(life, "I live in Munich.")
    assert list(facts(life)) == ["Jonas lives in Munich."]
    (hit, *_) = life.call("recall", query="where do I live?")["hits"]
    assert "Munich" in hit["text"]


# row: B1
def test_a_word_for_a_relation_finds_the_person(life):
    say(life, "My boss Karin is from Sweden, and I am from Bremen originally.")
    say(life, "My friend Tom is from Norway.")
    hits = life.call("recall", query="where is my boss from?")["hits"]
    found = [hit["text"] for hit in hits]
    assert "Karin is from Sweden." in found
    assert "Tom is from Norway." not in found[: found.index("Karin is from Sweden.")]


# row: A20
@pytest.mark.parametrize(
    ("text", "speaker", "group", "about", "found"),
    [
        ("Hello.", "Ana", True, [], ["Ana"]),
        ("Hello.", "Ana", True, ["Eva"], ["Eva"]),
        ("Hello.", "Jonas", True, [], []),
        ("Hello.", "Jonas", True, ["Jonas", "Eva"], ["Eva"]),
        ("Hello.", "Ana", False, ["Ana"], []),
        ("Hello.", "", True, [], []),
        ("Ida Lund's cat is ill.", "", False, [], ["Ida Lund"]),
        ("Ida Lund is ill.", "", False, ["Eva"], ["Eva"]),
        ("The user met Ida Lund.", "", False, [], []),
        ("Jonas is ill.", "", False, [], ["Jonas"]),
        ("ida lund is ill.", "", False, [], []),
        ("Will it rain?", "", False, [], []),
        ("Porto is warm.", "", False, [], []),
    ],
)
def test_whom_a_statement_of_a_turn_is_about(text, speaker, group, about, found):
    """Of a known person at its beginning too; the links leave the owner out."""
    turn = Turn("t1", "s", "user", text, AT, speaker, group=group)
    known = names(
        *map(person, ("Ida Lund", "Will")),
        person("Jonas", "the user"),
        Entity("Porto", "place"),
    )
    assert subjects(text, about, turn, known) == found


# row: A20
# row: B1
def test_remembered_words_are_about_those_whom_they_name(life):
    """As extracted ones; a place has the memories that name it, the owner their own."""
    say(life, "My daughter is called Magda.")
    say(life, "My brother Karl lives in Vienna.")
    life.call("remember", text="Magda hates peas.")
    life.call("remember", text="We met at the station in Vienna.")
    assert life.call("show", id="Magda")["entity"]["type"] == "person"

    def about(name):
        return {row["text"] for row in life.call("list", about=name)["memories"]}

    assert "Magda hates peas." in about("Magda")
    assert {"Karl lives in Vienna.", "We met at the station in Vienna."} <= about(
        "Vienna"
    )
    assert "We met at the station in Vienna." in about("the user")
    assert "Magda hates peas." not in about("the user")
    assert life.call("show", id="Vienna")["memories"] == len(about("Vienna"))
