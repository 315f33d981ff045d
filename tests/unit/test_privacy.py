"""Words that ask for privacy, and whom a turn, a fact or a promise is told to."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.language.privacy import (
    asks_privacy,
    private_parts,
    reference,
    with_privacy,
)
from engram.core.personas import fact_persona, sees
from engram.core.records import (
    ALL_PERSONAS,
    NO_PERSONA,
    REMEMBERED,
    UNKNOWN_PERSONA,
    Turn,
)
from tests.fakes.sentences import rows

ITSELF = rows("privacy", "itself")
BEFORE = rows("privacy", "before")
AFTER = """
Can I tell you a secret?
Can you keep a secret?
Kann ich dir was anvertrauen?
Kannst du ein Geheimnis für dich behalten?
Je vais te dire un secret.
¿Puedo contarte un secreto?
""".strip().splitlines()
NOTHING = rows("privacy", "nothing")


def said(*texts, persona="Mona", role="user", **more):
    """Turns of one conversation; `assistant: …` is an answer."""
    when = datetime(2026, 11, 22, 12, tzinfo=UTC)
    turns = []
    for number, text in enumerate(texts):
        who, answer = (
            ("assistant", text[11:]) if text.startswith("assistant: ") else (role, text)
        )
        private = who == "user" and asks_privacy(answer)
        turns.append(
            Turn(
                str(number),
                more.get("session", "s"),
                who,
                answer,
                when,
                persona=persona,
                private=private,
            )
        )
    return turns


def private(turns):
    return [turn.text for turn in with_privacy(turns) if turn.private]


# row: E14
@pytest.mark.parametrize("text", ITSELF)
def test_a_statement_with_a_request_for_privacy_is_private_itself(text):
    assert reference(text) == "itself"


# row: E14
@pytest.mark.parametrize("text", BEFORE)
def test_a_bare_request_refers_to_what_was_said_before(text):
    assert reference(text) == "before"


# row: E14
@pytest.mark.parametrize("text", AFTER)
def test_an_announcement_refers_to_what_is_said_next(text):
    assert reference(text) == "after"


# row: E14
@pytest.mark.parametrize("text", NOTHING)
def test_words_about_secrets_ask_for_nothing(text):
    assert not reference(text)


# row: E14
def test_a_persona_may_be_addressed_by_name_in_a_bare_request():
    assert reference("Please keep that between us, Mona.", "Mona") == "before"
    assert reference("Mona, das bleibt aber unter uns!", "Mona") == "before"


# row: E14
def test_a_bare_request_reaches_what_the_user_said_just_before():
    """Up to the answer before that, and no further."""
    turns = said(
        "I live in Bonn.",
        "assistant: Nice!",
        "I'm seeing a therapist.",
        "Because of panic attacks.",
        "assistant: I'm sorry.",
        "Please keep that between us.",
        "I love Thai food.",
    )
    assert private(turns) == [
        "I'm seeing a therapist.",
        "Because of panic attacks.",
        "Please keep that between us.",
    ]


# row: E14
@pytest.mark.parametrize(
    ("text", "covered"),
    rows("privacy", "a_request_covers_its_own_sentence"),
)
def test_a_request_covers_its_own_sentence(text, covered):
    assert [text[start:end] for start, end in private_parts(text)] == covered


# row: E14
def test_an_announcement_reaches_the_next_words_of_the_user():
    turns = said(
        "I live in Bonn.",
        "Can I tell you a secret?",
        "assistant: Of course.",
        "I'm in love with Nadja.",
        "What shall I cook?",
    )
    assert private(turns) == ["Can I tell you a secret?", "I'm in love with Nadja."]
    first = said("Keep this between us.", "I quit my job.")
    assert private(first) == ["Keep this between us.", "I quit my job."]


# row: E14
def test_an_answer_to_private_words_is_private_where_no_persona_keeps_it():
    texts = ("Just between us: I quit.", "assistant: Good luck!", "I like tea.")
    assert private(said(*texts, persona=None)) == [texts[0], "Good luck!"]
    assert private(said(*texts)) == [texts[0]]


# row: E14
def test_what_is_asked_to_be_kept_is_no_conversation():
    turns = said("I live in Bonn.", "Keep that between us.", session=REMEMBERED)
    assert private(turns) == ["Keep that between us."]


# row: E14
def test_a_promise_stays_with_its_persona_and_a_fact_does_not():
    (turn,) = said("I'll run on Sunday.", persona="Coach")
    assert fact_persona("commitment", turn) == "Coach"
    assert fact_persona("preference", turn) is None


# row: E14
@pytest.mark.parametrize(
    ("asking", "private_to", "seen"),
    [
        (None, None, True),
        ("Chef", None, True),
        ("Chef", "Chef", True),
        ("Chef", "Mona", False),
        (None, "Mona", False),
        (UNKNOWN_PERSONA, "Mona", False),
        ("Chef", NO_PERSONA, False),
        (None, NO_PERSONA, True),
        ("", NO_PERSONA, True),
        (UNKNOWN_PERSONA, NO_PERSONA, True),
        (UNKNOWN_PERSONA, UNKNOWN_PERSONA, True),
        (None, UNKNOWN_PERSONA, False),
        ("Chef", UNKNOWN_PERSONA, False),
        (ALL_PERSONAS, "Mona", True),
        (ALL_PERSONAS, NO_PERSONA, True),
    ],
)
def test_who_sees_what(asking, private_to, seen):
    assert sees(asking, private_to) is seen
