"""What a chatbot is told of the user before any answer, and standing wishes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.entities import is_owner
from engram.core.language.wishes import is_standing_wish, wish_statement
from engram.core.records import Fact
from engram.core.user_facts import (
    SHARES,
    WISH,
    Owner,
    attribute_of,
    candidates,
    choose,
    slot_basis,
    slots_of,
)
from engram.vault import frontmatter
from tests.fakes.sentences import rows

OWNER = Owner(is_owner, frozenset({"jonas"}))

WISHES = rows("user_facts", "wishes")

NO_WISHES = rows("user_facts", "no_wishes")


def told(text, **changes):
    """A fact of the user with this text."""
    return replace(
        Fact(text, text, created=datetime(2027, 1, 1, tzinfo=UTC)), **changes
    )


# row: C19
@pytest.mark.parametrize("text", WISHES)
def test_a_standing_wish_to_the_assistant_is_recognised(text):
    assert is_standing_wish(text)


# row: C19
@pytest.mark.parametrize("text", NO_WISHES)
def test_what_is_no_wish_to_the_assistant_is_none(text):
    assert not is_standing_wish(text)
    assert not wish_statement(text)


# row: C19
@pytest.mark.parametrize("text", WISHES)
def test_a_request_becomes_a_statement_that_is_a_wish(text):
    statement = wish_statement(text)
    assert not statement or (text in statement and is_standing_wish(statement))


# row: C19
def test_a_question_and_a_task_for_now_are_no_request():
    assert not wish_statement("Can you answer in German?")
    assert not wish_statement("Answer this letter in German.")
    assert wish_statement("Bitte antworte kurz.") == (
        "Die Person bittet den Assistenten: Bitte antworte kurz."
    )


# row: E18
@pytest.mark.parametrize(
    ("text", "about", "attribute"),
    [
        ("The user's name is Jonas.", (), "name"),
        ("The user lives in Munich.", (), "home"),
        ("Jonas lives in Munich.", ("owner",), "home"),
        ("Eva lives in Bremen.", ("Eva",), ""),
        ("Eva is the user's sister.", ("Eva",), "family"),
        ("Eva is Mira's sister.", ("Eva", "Mira"), ""),
        ("The user works as a carpenter.", (), "work"),
        ("The user's dog is called Bella.", (), "pet"),
        ("The user is allergic to penicillin.", (), "health"),
        ("Eva is allergic to nuts.", ("Eva",), ""),
        ("The user's son Tom is allergic to nuts.", ("Tom",), "health"),
        ("The user is vegetarian.", (), "diet"),
        ("The user has a laptop.", (), ""),
        ("The user wants short answers.", (), WISH),
        ("Die Person wohnt in Köln.", (), "home"),
        ("Die Person ist allergisch gegen Nüsse.", (), "health"),
        ("我对花生过敏。", (), "health"),
        ("我住在上海。", (), "home"),
        ("The user likes jazz.", (), ""),
    ],
)
def test_a_fact_belongs_to_an_attribute_of_the_user_or_to_none(text, about, attribute):
    relation = "sister" in text
    category = "relationship" if relation and attribute else "fact"
    assert attribute_of(told(text, about=about, category=category), OWNER) == attribute


def slots(facts):
    return {one.id: slots_of(one) for one in facts}


# row: E18
def test_ten_facts_on_health_do_not_crowd_out_the_name():
    facts = [told(f"The user is allergic to nut {n}.", importance=0.9) for n in "abcd"]
    facts += [told("The user's name is Jonas."), told("The user lives in Munich.")]
    found = candidates(facts, OWNER, slots(facts), most=100, each=8)
    chosen = choose(found, lambda _: 10, budget=45)
    assert chosen[0].text == "The user's name is Jonas."
    assert sum("nut" in one.text for one in chosen) == 3
    everything = choose(found, lambda _: 1, budget=100)
    assert list(dict.fromkeys(attribute_of(one, OWNER) for one in everything)) == [
        name for name in SHARES if name in {"name", "home", "health"}
    ]


# row: E18
def test_health_and_diet_of_the_family_come_after_those_of_the_user():
    """Who plans a dinner has to know them; a stranger's are of no matter."""
    facts = [
        told("Elena is the user's daughter.", about=["Elena"], category="relationship"),
        told("Elena is diabetic.", about=["Elena"], importance=0.9),
        told("Elena likes jazz.", about=["Elena"]),
        told("Karin is vegan.", about=["Karin"]),
        told("Elena ate no nuts.", about=["Elena"], kind="episode"),
        told("The user is allergic to latex.", importance=0.3),
    ]
    found = candidates(facts, OWNER, slots(facts), most=100, each=8)
    assert [one.text for one in (*found["health"], *found["diet"])] == [
        "The user is allergic to latex.",
        "Elena is diabetic.",
    ]


# -- the context -----------------------------------------------------------------------


def remember(memory, *texts, **more):
    return [memory.call("remember", {"text": text} | more)["id"] for text in texts]


# row: E18
def test_nothing_is_told_of_a_user_of_whom_nothing_is_known(memory):
    assert memory.call("context", {"query": "hello", "session": "new"})["text"] == ""


# row: E18
def test_the_lines_about_the_user_keep_their_budget_with_hundreds_of_facts(memory):
    vault = memory.settings.vault / "facts"
    vault.mkdir(exist_ok=True)
    for number in range(300):
        (vault / f"n{number}.md").write_text(
            f"---\ncategory: fact\n---\nThe user is allergic to the plant {number}.\n"
        )
    (vault / "name.md").write_text("---\ncategory: fact\n---\nIch heiße Jonas.\n")
    memory.files.rescan(None)
    found = memory.call("context", {"query": "hello", "session": "new"})
    assert "- [your note] Ich heiße Jonas." in found["parts"]["user"]
    assert sum(len(line) for line in found["parts"]["user"]) <= 200 * 4
    assert memory.call("context", {"budget": 60})["tokens"] <= 60


# row: E18
def test_who_is_named_has_a_card_of_what_holds(memory, clock):
    remember(memory, "Eva lives in Bremen.", "Eva is the user's sister.", about=["Eva"])
    clock.advance(days=1)
    remember(memory, "Eva lives in Rome now.", about=["Eva"])
    parts = memory.call("context", {"query": "what does eva like?"})["parts"]
    assert parts["named"][0] == "Eva:"
    assert "sister" in parts["named"][1]
    assert any("Rome" in line for line in parts["named"])
    assert not any("Bremen" in line for line in parts["named"])
    assert "named" not in memory.call("context", {"query": "hello"})["parts"]


# row: E16
def test_overdue_promises_come_first_and_say_so(memory, clock):
    """For 30 days; those due next are not crowded out by old ones."""
    clock.advance(hours=1)
    today = clock()
    for days in (-40, -9, -8, -7, -6, -5, 0, 2):
        name = memory.call(
            "remember",
            {"text": f"I will paint fence {days + 50}.", "category": "commitment"},
        )["id"]
        path = memory.settings.vault / memory.index.catalog.find_fact(name).path
        day = f"{today + timedelta(days=days):%Y-%m-%d}T00:00:00"
        path.write_bytes(frontmatter.edit(path.read_bytes(), {"valid_from": day}))
    memory.files.rescan(None)
    lines = memory.call("context", {})["parts"]["promises"]
    assert [line.partition("fence ")[2] for line in lines] == [
        "43.",
        "44.",
        "45.",
        "50.",
        "52.",
    ]
    assert [("overdue" in line, "due today" in line) for line in lines] == [
        (True, False),
        (True, False),
        (True, False),
        (False, True),
        (False, False),
    ]


# row: X31
@pytest.mark.parametrize(
    ("text", "attribute", "value", "written"),
    [
        ("The user lives in Porto.", "home", "Lisbon", "Porto"),
        ("The user lives in Porto.", "home", "Porto", "Porto"),
        ("The user lives in old Porto.", "home", "Porto", "Porto"),
        ("Jonas was born on 3 May 1987.", "birthday", "1987-05-03", "1987-05-03"),
        ("Der Mieter ist umgezogen.", "home", "Graz", "Graz"),
    ],
)
def test_an_edited_statement_gives_its_own_value(text, attribute, value, written):
    """Unless its value is a date, or its words are not read."""
    fact = Fact("1", text, attribute=attribute, value=value)
    (slot,) = slots_of(fact)
    assert slot.written == written


class Seen:
    """A fact that notes which of its keys are read."""

    def __init__(self, fact):
        self.fact, self.keys = fact, set()

    def __getattr__(self, key):
        self.keys.add(key)
        return getattr(self.fact, key)


# row: X31
@pytest.mark.parametrize(
    "fact",
    [
        told("Eva lives in Bremen.", about=("Eva",), attribute="home", value="Bremen"),
        told("The user wants short answers."),
        told("Eva is the user's sister.", category="relationship"),
        told("I climbed a wall.", kind="episode"),
        told("I will call Eva.", category="commitment"),
    ],
    ids=lambda fact: fact.text,
)
def test_slots_follow_from_their_basis_alone(fact):
    """So a rewritten note whose basis is the same is not read again."""
    read, basis = Seen(fact), Seen(fact)
    assert slots_of(read) == slots_of(fact)
    slot_basis(basis)
    assert read.keys <= basis.keys
