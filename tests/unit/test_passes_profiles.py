"""The profile, the assistant's identity, storylines and macros: what is told of a life."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from engram.config import ModelSettings
from engram.errors import NotFoundError
from tests.fakes.keeping import Keeping
from tests.fakes.obsidian import broken_links, orphan_boxes
from tests.fakes.openai_server import garbage
from tests.fakes.scribe import material_of, scribe, task_of
from tests.unit.test_passes_entities import (
    consolidate,
    entity,
    plant,
    text,
    used,
    whole,
)


@pytest.fixture
def fake(running):
    running.requests.clear()
    running.script(scribe)
    return running


@pytest.fixture
def told(opened, fake):
    return Keeping(opened(model=ModelSettings("m", fake.url, api="chat")))


def small(settings, **numbers):
    """Settings with smaller limits."""
    return {
        "policy": replace(
            settings.policy, profiles=replace(settings.policy.profiles, **numbers)
        )
    }


def of_the_user(keeping, *texts, **changes):
    made = (
        keeping.made(words, **{"kind": "note", "category": "preference"} | changes)
        for words in texts
    )
    return keeping.plant(*made)


def asks(fake, task):
    return [material_of(body) for body in fake.asked if task_of(body) == task]


# -- the profile -----------------------------------------------------------------------


def told_of_user(keeping):
    """The attributes and values in the table of the profile, then its sentences."""
    lines = text(keeping, "profile.md").splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| ")][2:]
    said = [line for line in lines if line.startswith("- ")]
    return [" ".join(row[:2]).removeprefix("| ") for row in rows] + [
        line.partition(" [[")[0].removeprefix("- ") for line in said
    ]


# row: C15
# row: X23
def test_a_persons_own_note_of_that_name_is_left_alone(keeping):
    path = keeping.root / "profile.md"
    path.write_text("# Me\n\nI am shy.\n")
    of_the_user(keeping, "The user likes tea.")
    consolidate(keeping)
    assert path.read_text() == "# Me\n\nI am shy.\n"


# row: X31
def test_the_profile_shows_attribute_and_value_as_the_notes_give_them(keeping):
    """From a model, from the rules, and after a hand changed them; equal rows once, and
    a table is written as it is read.
    """
    (home,) = of_the_user(keeping, "Vivo en Graz.", attribute="home", value="Graz")
    of_the_user(
        keeping, "The user's dog is 5.", "The user likes tea.", "The user loves tea."
    )
    of_the_user(keeping, "The user hates rain.")
    plant(keeping, "Eva is the user's sister.", kind="note", category="relationship")
    plant(keeping, "Eva lives in Porto.", kind="note")
    consolidate(keeping)
    assert sorted(told_of_user(keeping)) == [
        "The user hates rain.",
        "dog age 5",
        "home Graz",
        "kin sister Eva",
        "like tea",
    ]
    whole(keeping)
    path = keeping.root / keeping.seen(home).path
    path.write_text(path.read_text().replace("value: Graz", "value: Linz | Urfahr"))
    keeping.memory.files.rescan(None)
    consolidate(keeping)
    assert "home Linz / Urfahr" in told_of_user(keeping)


# -- the assistant ---------------------------------------------------------------------


# row: C19
def test_only_standing_wishes_are_instructions(keeping):
    """Of whatever category; a correction of a day and a rule for life are none."""
    of_the_user(keeping, "The user prefers short answers.")
    of_the_user(keeping, "The user never lends money.", category="principle")
    of_the_user(
        keeping, "The meeting is on Tuesday, not Wednesday.", category="correction"
    )
    consolidate(keeping)
    instructions, page = text(keeping, "IDENTITY.md"), text(keeping, "profile.md")
    assert "short answers" in instructions
    assert "lends" not in instructions
    assert "Tuesday" not in instructions
    assert "lends" in page
    assert "short answers" not in page
    assert "Tuesday" not in page
    whole(keeping)


# row: C19
def test_from_eight_thousand_characters_patterns_are_made_of_it(told, fake):
    """A dated list under the untouched header; then it grows again."""
    fake.script(
        lambda body: (
            {
                "sentences": [
                    {
                        "facts": [one["n"] for one in material_of(body)["facts"][n::9]],
                        "text": "So it is said: short answers are wanted.",
                    }
                    for n in range(9)
                ]
            }
            if task_of(body) == "patterns"
            else scribe(body)
        )
    )
    (told.root / "IDENTITY.md").write_text("You are a robot.\n")
    of_the_user(
        told,
        *(f"The user wants short answers in case {n}." for n in range(90)),
        category="principle",
    )
    consolidate(told)
    held = text(told, "IDENTITY.md")
    assert held.startswith(
        "You are a robot.\n\n%% engram:begin patterns %%\n- Learned up to 2026-11-20\n- So it is said"
    )
    assert len(held) < 8000
    whole(told)
    of_the_user(
        told, "The user wants the assistant to tell jokes.", category="principle"
    )
    consolidate(told)
    assert (
        text(told, "IDENTITY.md").count(
            "- 2026-11-20: The user wants the assistant to tell jokes."
        )
        == 1
    )
    assert len(asks(fake, "patterns")) == 1


# row: C19
# row: X2
def test_at_fifteen_thousand_bytes_nothing_is_added(told, fake):
    """Where no model shortens it, or it says nothing of use."""
    fake.script(garbage())
    of_the_user(
        told,
        *(f"The user wants short answers in case {n}." for n in range(200)),
        category="principle",
    )
    consolidate(told)
    held = (told.root / "IDENTITY.md").read_bytes()
    assert 14_800 < len(held) < 15_200
    assert b"short answers in case " in held


# -- storylines and macros -------------------------------------------------------------


def life(keeping, *days, name="Porto"):
    """A memory about `name` on each of these days before now."""
    entity(keeping, name, "place")
    made = [
        keeping.made(
            f"{name} had a storm {day} days before.",
            days=day,
            about=(name,),
            kind="note",
            source=keeping.said(day),
        )
        for day in days
    ]
    ids = keeping.plant(*made)
    used(keeping, *ids)
    return ids


# row: B1
@pytest.mark.parametrize(
    "days", [(9, 8, 7, 6), (9, 9, 9, 8, 8), (4, 3, 2, 2, 1.9), (90, 50, 9, 8, 7)]
)
def test_too_few_too_short_or_too_far_apart_is_no_story(keeping, days):
    life(keeping, *days)
    consolidate(keeping, only="storylines")
    assert not (keeping.root / "traces").exists()


def stories(keeping):
    """The notes of storylines and the days they span."""
    held = {
        path.name: path.read_text()
        for path in sorted((keeping.root / "traces").iterdir())
    }
    return {
        name: tuple(re.findall(r"^(?:opened|seen): (.*)$", text, re.MULTILINE))
        for name, text in held.items()
    }


# row: B1
def test_two_storylines_a_month_apart_have_a_macro(told, fake):
    """Once a week, in one note that is overwritten; without a model it lists them."""
    life(told, 109, 108, 107, 106, 102, 9, 8, 7, 6, 2)
    consolidate(told, only="storylines")
    done = told.memory.call("consolidate", {"cadence": "weekly"})
    held = text(told, "macros/porto-macro.md")
    assert 'anchor: "[[Porto]]"' in held
    assert held.count("- 2026-") == 2
    assert "So it is said:" in held
    assert (broken_links(told.root), orphan_boxes(told.root)) == ([], [])
    before = told.everything()
    assert told.memory.call("consolidate", {"cadence": "weekly"})["actions"] == ()
    assert told.everything() == before
    told.memory.call("undo", {"id": done["run"]})
    assert not (told.root / "macros/porto-macro.md").exists()


# row: B1
# row: B4
def test_entity_notes_storylines_and_macros_have_salience_and_a_stage(told, clock):
    """Those of their memories: a recall of one is a use of the note; months without one
    put it away, but for a macro.
    """
    early = life(told, 109, 108, 107, 106, 102)
    life(told, 9, 8, 7, 6, 2)
    consolidate(told, only="storylines")
    told.memory.call("consolidate", {"cadence": "weekly"})
    paths = {
        "entity": "entities/places/Porto.md",
        "storyline": "traces/porto-2026-08-03-story.md",
        "macro": "macros/porto-macro.md",
    }

    def worth(kind):
        shown = told.memory.call("show", {"id": paths[kind]})
        assert shown[kind]["name"] == "Porto"
        assert shown["markdown"] == text(told, paths[kind])
        return shown["worth"]

    assert (
        told.memory.call("show", {"id": "Porto"})["entity"]["path"] == paths["entity"]
    )
    assert {kind: (worth(kind)["stage"], worth(kind)["recalls"]) for kind in paths} == {
        "entity": ("core", 10),
        "storyline": ("active", 5),
        "macro": ("core", 10),
    }
    before = worth("storyline")["salience"]
    told.memory.call("recall", {"query": "Which storm had Porto 109 days before?"})
    assert worth("storyline")["recalls"] > 5
    assert worth("storyline")["salience"] > before
    clock.advance(days=900)
    assert {kind: worth(kind)["stage"] for kind in paths} == {
        "entity": "archived",
        "storyline": "archived",
        "macro": "core",
    }
    assert worth("macro")["salience"] == 1.0
    assert early
    with pytest.raises(NotFoundError):
        told.memory.call("show", {"id": "Nowhere"})


# row: B1
def test_stories_stop_at_the_most_that_a_vault_may_have(opened, settings):
    keeping = Keeping(opened(**small(settings, stories=1)))
    for name in ("Porto", "Rome"):
        life(keeping, 9, 8, 7, 6, 2, name=name)
    consolidate(keeping, only="storylines")
    assert len(list((keeping.root / "traces").iterdir())) == 1
    assert consolidate(keeping, only="storylines")["actions"] == ()
