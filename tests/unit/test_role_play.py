"""Role-play across the turns of a conversation."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.language.role_play import played
from engram.core.records import Turn
from tests.fakes.sentences import rows

NOW = datetime(2026, 11, 21, 20, tzinfo=UTC)


def turns(*texts):
    """Turns of the user; one that begins with `A:` is the assistant's."""
    return [
        Turn(
            f"t{place}",
            "s",
            "assistant" if text.startswith("A:") else "user",
            text.removeprefix("A:"),
            NOW,
        )
        for place, text in enumerate(texts)
    ]


OPENS = rows("role_play", "opens")

EARNEST = [
    "I love role-playing games.",
    "Let's play chess tonight.",
    "You are the best, I'm a fan.",
    "I am the innkeeper here, and you are very kind.",
    "*really* good, thanks",
    "**draws attention** to this",
    "* buys milk\n* sells eggs",
    "I play the king in our school theatre.",
    "Act as a travel guide.",
]


@pytest.mark.parametrize("opening", OPENS)
def test_a_game_lasts_until_somebody_ends_it(opening):
    """The turn that opens it, those in between and the one that closes it are played."""
    said = turns(
        "Hello.",
        opening,
        "A:As you wish.",
        "I live in Bruges.",
        "OK, enough role-play.",
        "I live in Oslo.",
    )
    assert played(said)[-5:] == [True, True, True, True, False]


@pytest.mark.parametrize("text", EARNEST)
def test_not_every_you_and_i_is_a_game(text):
    """Hobbies, praise, emphasis, lists, and a role for the assistant alone."""
    assert played(turns(text, "I live in Oslo.")) == [False, False]


@pytest.mark.parametrize(
    "closing",
    [
        "OK enough, back to real life.",
        "A:The window is yours. End of interview!",
        "Game over.",
        "Zurück zur Realität!",
    ],
)
def test_either_side_ends_a_game(closing):
    """What comes afterwards is meant."""
    assert played(turns("Let's roleplay!", closing, "I live in Oslo.")) == [
        True,
        True,
        False,
    ]


def test_stage_directions_show_a_game_that_began_before():
    """Where no opening is seen everything up to the end is played; an assistant's own
    prove nothing.
    """
    assert played(
        turns(
            "I drink mead.",
            "A:Ale?",
            "*pays with a tooth* I stay.",
            "Out of character: bye.",
            "Hi",
        )
    ) == [
        *[True] * 4,
        False,
    ]
    assert played(turns("I drink tea.", "A:*pours a cup* Here.")) == [False, False]
