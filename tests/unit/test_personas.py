"""What the user says to one persona, every persona knows, unless it is private (E14)."""

from __future__ import annotations

import pytest

from engram.core import trust
from engram.errors import BadRequestError, NotFoundError
from tests.fakes.batches import batch_of, held_back, said


def say(memory, text, persona, session="talk", **more):
    memory.call(
        "observe",
        {"turns": [{"text": text, "persona": persona, "session": session, **more}]},
    )
    memory.call("flush", {})


def found(memory, query, persona=None, **more):
    asked = {"query": query, "k": 5} | ({"persona": persona} if persona else {}) | more
    return [hit["text"] for hit in memory.call("recall", asked)["hits"]]


def notes(memory, folder):
    paths = memory.settings.vault.glob(f"{folder}/**/*.md")
    return "\n".join(path.read_text("utf-8") for path in sorted(paths))


# row: E14
def test_what_is_private_without_a_persona_is_told_to_none(memory):
    say(memory, "Just between us: I live in Dresden.", None)
    say(memory, "Dresden is lovely!", None, role="assistant")
    memory.call("remember", {"text": "The code of the safe is 4711.", "private": True})
    assert found(memory, "Dresden")
    assert found(memory, "code of the safe")
    assert not found(memory, "Dresden", "Chef")
    assert not found(memory, "code of the safe", "Chef")


# row: E14
@pytest.mark.parametrize("operation", ["show", "why"])
def test_the_id_of_a_turn_opens_no_turn_of_another_persona(memory, operation):
    """Such an id can be guessed; the owner's command line sees every turn."""
    say(memory, "Dresden is lovely!", "Mona", role="assistant")
    (hit,) = memory.call("recall", {"query": "Dresden", "persona": "Mona"})["hits"]
    with pytest.raises(NotFoundError):
        memory.call(operation, {"id": hit["key"]})
    shown = memory.call(operation, {"id": hit["key"]}, trust.OWNER)
    assert shown["memory"]["text"] == "Dresden is lovely!"


# row: E14
def test_a_later_request_makes_known_facts_private(memory):
    """The action log says why; what the user said openly besides stays everybody's."""
    say(memory, "I like tea.", "Mona")
    say(memory, "Nice.", "Mona", role="assistant")
    say(memory, "I live in Dresden.", "Mona")
    assert found(memory, "where do I live", "Chef")
    say(memory, "Please keep that between us, Mona.", "Mona")
    assert not found(memory, "where do I live Dresden", "Chef")
    (hit, *_) = memory.call("recall", {"query": "where do I live", "persona": "Mona"})[
        "hits"
    ]
    assert hit["text"] == "The user lives in Dresden."
    decisions = memory.call("why", {"id": hit["key"]})["decisions"]
    assert "the user asked to keep it private" in [row["reason"] for row in decisions]
    assert found(memory, "tea", "Chef")


# row: E14
def test_only_the_sentence_that_asks_for_it_is_private(memory):
    """Also when the turns are read again from their session file."""
    say(memory, "I have a dog. Just between us, I live in Dresden. I like tea.", "Mona")
    for _ in range(2):
        assert found(memory, "tea", "Chef") == ["The user likes tea."]
        assert not found(memory, "Dresden", "Chef")
        assert found(memory, "Dresden", "Mona")
        memory.call("reindex", {})
    assert "|confided%%" in notes(memory, "sessions")


# row: E14
@pytest.mark.parametrize("persona", [None, "Coach"])
def test_what_was_confided_is_ended_by_later_words_to_any_persona(memory, persona):
    say(memory, "I like tea. Just between us, I live in Dresden.", persona)
    say(memory, "I moved to Leipzig.", "Chef", "kitchen")
    (old,) = [one for one in memory.index.catalog.facts() if "Dresden" in one.text]
    assert old.status == "superseded"


# row: E14
def test_a_word_of_a_name_is_not_the_name(memory):
    """A private turn that has the word "the" does not name "The Mudroom"."""
    say(memory, "Just between us: I hate the rain.", "Mona")
    batch = batch_of(
        held_back(memory), "It opens at six.", persona="Mona", session="talk"
    )
    memory.pipeline.file(
        batch, said(batch, "The Mudroom opens at six.", about=("The Mudroom",))
    )
    assert "The Mudroom opens at six." in found(memory, "Mudroom", "Chef")


# row: E14
def test_what_a_file_from_before_says_stays_private(memory):
    """A session file of a persona without the key `private`, and a person's own note."""
    vault = memory.settings.vault
    for path, text in {
        "sessions/2026-11-20/2026-11-20-old.md": (
            "---\nsession: old\npersona: Mona\nstarted: 2026-11-20T10:00\n---\n"
            "## Conversation\n\n> [!user] 10:00 %%o1%%\n> I live in Dresden.\n\n^t1\n"
        ),
        "facts/nadja.md": "---\npersona: Mona\n---\nNadja likes tulips.\n",
    }.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, "utf-8")
    memory.files.rescan(None)
    for words in ("Dresden", "tulips"):
        assert found(memory, words, "Mona")
        assert not found(memory, words, "Chef")
        assert not found(memory, words)


# row: E14
def test_private_is_a_flag(memory):
    with pytest.raises(BadRequestError, match="private"):
        say(memory, "I live in Dresden.", "Mona", private="yes")


# row: E14
@pytest.mark.parametrize("name", ["-", " - "])
def test_the_sign_for_no_persona_is_refused_as_a_name(memory, name):
    memory.call("remember", {"text": "The code is 4711.", "private": True})
    with pytest.raises(BadRequestError, match="no persona can have the name"):
        say(memory, "I live in Dresden.", name)
    for command, text in (
        ("recall", "query"),
        ("context", "query"),
        ("remember", "text"),
    ):
        with pytest.raises(BadRequestError, match="no persona can have the name"):
            memory.call(command, {text: "code", "persona": name})


# row: E14
@pytest.mark.parametrize("name", ["", " ", "\t"])
def test_an_empty_name_of_a_persona_is_refused_and_stores_nothing(memory, name):
    """A bot whose name got lost must not see what is told to no persona."""
    fault = "the name of the persona is empty"
    memory.call("remember", {"text": "The code is 4711.", "private": True})
    with pytest.raises(BadRequestError, match=fault):
        say(memory, "I live in Dresden.", name)
    calls = {
        "recall": {"query": "code"},
        "context": {"query": "code"},
        "todos": {},
        "remember": {"text": "I live in Dresden."},
    }
    for command, arguments in calls.items():
        with pytest.raises(BadRequestError, match=fault):
            memory.call(command, {**arguments, "persona": name})
    assert not found(memory, "where do I live")


# row: E14
def test_a_move_told_to_one_persona_corrects_what_another_was_told(memory):
    say(memory, "I live in Dresden.", "Coach")
    say(memory, "Actually, I live in Leipzig, not in Dresden.", "Chef", "kitchen")
    (first, *_) = found(memory, "where do I live", "Coach")
    assert "Leipzig" in first


# row: E14
def test_private_words_end_nothing_that_others_know(memory):
    """Both stand, and the person is asked."""
    say(memory, "I live in Dresden.", "Chef", "kitchen")
    say(memory, "Just between us: I moved to Leipzig.", "Mona")
    assert "The user lives in Dresden." in found(memory, "where do I live", "Chef")
    assert not found(memory, "Leipzig", "Chef")
    assert "Leipzig" in "".join(found(memory, "where do I live", "Mona"))
    assert "Dresden" in notes(memory, "review")


# row: E14
def test_a_fact_that_needs_private_words_is_private(memory):
    """Its turn is everybody's, for it does not say who is meant."""
    say(memory, "Just between us: Tom is my boyfriend.", "Mona")
    batch = batch_of(
        held_back(memory), "He proposed to me.", persona="Mona", session="talk"
    )
    statements = ("Tom proposed to the user.",)
    memory.pipeline.file(batch, said(batch, *statements, about=("Tom",)))
    assert "Tom proposed to the user." in found(memory, "who proposed", "Mona")
    assert found(memory, "who proposed", "Chef") == ["He proposed to me."]
