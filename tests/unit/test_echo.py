"""Recalled text is known again, by its fence and by its words."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from engram.core.language.echo import HandedOut, masked, own_words, shingles, unfenced
from engram.core.policy import EchoPolicy, ExtractionPolicy
from engram.core.records import SearchHit, Turn
from engram.extraction.rules import engine
from engram.recall.formatting import fenced
from tests.fakes.sentences import rows

POLICY = EchoPolicy()
WHEN = datetime(2026, 3, 2, tzinfo=UTC)
STATEMENTS = (
    "Anna switched to oat milk in March",
    "Mira is vegan",
    "Bens Schwester Judith wohnt seit zwei Jahren in Porto",
    "米拉住在里斯本的一座老房子里，每天早上喝绿茶",
)
HITS = [
    SearchHit(
        f"k{n}", "fact", text, "f.md", 1.0, when=WHEN, speaker="Mira", category="fact"
    )
    for n, text in enumerate(STATEMENTS)
]
BLOCK = fenced(HITS, "0a1b2c3d")
HANDED = shingles(BLOCK, POLICY)


def left(text):
    """What is still to be read, without blanks."""
    return " ".join(text.split())


FORMS = {
    "as it was": lambda text: text,
    "quoted": lambda text: "> " + text.replace("\n", "\n> "),
    "indented": lambda text: "    " + text.replace("\n", "\n    "),
    "escaped for HTML": lambda text: text.replace("<", "&lt;").replace(">", "&gt;"),
    "escaped twice": lambda text: text.replace("<", "&amp;lt;").replace(
        ">", "&amp;gt;"
    ),
    "escaped by number": lambda text: text.replace("<", "&#60;").replace(">", "&#x3E;"),
    "as JSON": lambda text: json.dumps(text)[1:-1],
    "as careful JSON": lambda text: (
        json.dumps(text)[1:-1].replace("<", "\\u003c").replace(">", "\\u003e")
    ),
    "escaped for Markdown": lambda text: text.replace("<", "\\<").replace(">", "\\>"),
    "in capitals": str.upper,
}


# row: X7
@pytest.mark.parametrize("form", FORMS)
def test_a_fenced_block_is_masked_in_any_form(form):
    """Only what stood around it is left, where it stood."""
    text = f"Before it.\n{FORMS[form](BLOCK)}\nAfter it."
    result = unfenced(text)
    assert len(result) == len(text)
    assert left(result).replace("> ", "") == "Before it. After it."
    assert result.index("After") == text.index("After")


# row: X7
@pytest.mark.parametrize(
    ("text", "rest"),
    rows("echo", "a_block_ends_where_it_must"),
)
def test_a_block_ends_where_it_must(text, rest):
    """At its own end, which text inside cannot forge; else at any end; else with the
    text.
    """
    assert left(unfenced(text)) == rest


# row: X7
@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("own", [False, True])
def test_a_statement_that_was_handed_out_is_masked(statement, own):
    """Without its fence too, in another dress, and also where a person pastes it."""
    for text in (
        f"{statement}.",
        f"- **{statement}**",
        f"Hello!\n{statement.upper()}\nBye.",
        f'It says: "{statement}".',
    ):
        result = masked(text, HANDED, POLICY, own=own)
        assert len(result) == len(text)
        assert not set(
            left(result)
            .replace("Hello!", "")
            .replace("Bye.", "")
            .replace("It says:", "")
        ) - set(' -*".')


# row: X7
def test_a_pasted_block_without_its_fence_leaves_no_statement():
    """Line by line; at most the label before it is left."""
    lines = "\n".join(BLOCK.split("\n")[1:-1])
    for own in (False, True):
        assert not [
            word
            for word in left(masked(lines, HANDED, POLICY, own=own)).split()
            if word not in {"-", "[fact]"} and len(word) > 2
        ]


# row: X7
@pytest.mark.parametrize(
    "text",
    [
        "Yes, oat milk it is, since spring I think.",
        "She said that oat milk tastes best.",
        "You wrote switched to oat; that is odd.",
        "Mira eats no meat.",
        "我很喜欢喝绿茶。",
        "Judith wohnt seit langem woanders.",
    ],
)
def test_words_of_ones_own_and_a_quotation_of_three_words_are_kept(text):
    """Whoever says it again in other words confirms it."""
    assert masked(text, HANDED, POLICY) == text
    assert masked(text, HANDED, POLICY, own=True) == text


# row: X7
def test_a_person_who_corrects_what_was_recalled_is_heard():
    """One word of their own keeps the statement whole; a model's echo of it is masked."""
    text = "No, Anna switched to oat milk in April."
    assert masked(text, HANDED, POLICY, own=True) == text
    assert left(masked(text, HANDED, POLICY)) == "No, April."


# row: X7
def test_a_model_that_weaves_a_memory_into_its_answer_adds_only_the_rest():
    text = "Since Anna switched to oat milk in March, an oat latte would please her."
    assert (
        left(masked(text, HANDED, POLICY)) == "Since , an oat latte would please her."
    )


def test_what_stood_on_both_sides_of_a_mask_is_not_one_sentence():
    text = "I live with Anna switched to oat milk in March in Berlin."
    before, after = masked(text, HANDED, POLICY).split("\n")
    assert (before.strip(), after.strip()) == ("I live with", "in Berlin.")


def extracted(texts):
    """How many statements the offline rules find in a user's turns."""
    turns = [
        Turn(f"t{number}", "s", "user", text, WHEN) for number, text in enumerate(texts)
    ]
    return len(engine.extract(turns, ExtractionPolicy()).candidates)


# row: X7
def test_fifty_sessions_of_injected_memory_teach_nothing():
    """Each hands the block to a person who sends it back, fenced, bare or by line; what
    is new still counts.
    """
    told = [
        "I live in Lisbon with my sister Anna.",
        "I am allergic to peanuts.",
        "I work as a marine biologist in Porto.",
    ]
    hits = [
        SearchHit(f"k{n}", "turn", text, "s.md", 1.0, when=WHEN, speaker="Mira")
        for n, text in enumerate(told)
    ]
    assert extracted(told) >= 3
    known, learned = HandedOut(POLICY), 0
    for number in range(50):
        session, block = f"s{number}", fenced(hits, f"{number:08x}")
        known.note(session, block)
        said = [f"{block}\nThanks!", "\n".join(told), *told, f"You said: {told[0]}"]
        learned += extracted(
            masked(unfenced(text), known.of(session), POLICY, own=True)
            for text in [*said, "I love rowing on the lake."]
        )
    assert learned == 50


# row: X7
def test_each_session_knows_what_was_handed_out_in_it():
    known = HandedOut(POLICY)
    known.note("one", BLOCK)
    known.note("one", "Ben keeps bees on the roof of his house")
    known.note("two", "")
    assert known.of("one") == HANDED | shingles(
        "Ben keeps bees on the roof of his house", POLICY
    )
    assert known.of("two") == frozenset()


# row: X7
def test_what_was_handed_out_survives_a_restart():
    """As JSON in which no word can be read; what is damaged is left out."""
    known, again = HandedOut(POLICY), HandedOut(POLICY)
    known.note("one", BLOCK)
    saved = json.dumps(known.dump())
    assert "vegan" not in saved
    again.load(json.loads(saved) | {"two": "no base64!", "three": "AAA=", "four": 7})
    assert again.of("one") == HANDED
    assert set(again.dump()) == {"one"}


def test_memory_of_what_was_handed_out_is_bounded():
    """The latest sessions, of each the latest texts and shingles."""
    known = HandedOut(EchoPolicy(texts=2, sessions=3, shingles=10))
    for session in "abcd":
        for number in range(5):
            known.note(
                session, f"this is text number {number} of the session {session}"
            )
    assert known.of("a") == frozenset()
    assert known.of("d") == {
        shingle
        for number in (3, 4)
        for shingle in shingles(
            f"this is text number {number} of the session d", POLICY
        )
    }
    known.note("d", " ".join(f"w{number}" for number in range(100)))
    assert len(known.of("d")) == 10
    assert len(known.dump()) <= 3


# row: X7
def test_own_words_are_what_stands_beside_the_fence():
    """A text without one is itself, to the byte."""
    block = (
        "<memory-notes 0a1b2c3d>\n- [fact] Anna drinks tea.\n</memory-notes 0a1b2c3d>"
    )
    assert own_words(f"{block}\nAnd now?") == "And now?"
    assert own_words("  Two  words \n") == "  Two  words \n"
