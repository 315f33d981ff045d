"""Messages in OpenAI's form as turns: by operation, by command, by HTTP schema."""

from __future__ import annotations

import pytest

from engram.errors import BadRequestError
from engram.ingest.messages import as_turns
from engram.memory import VaultMemory
from tests.fakes.answers import settings_in


def turns(*rows, **common):
    return list(as_turns(rows, common))


@pytest.mark.parametrize(
    ("message", "turn"),
    [
        ({"role": "user", "content": "hi"}, {"role": "user", "text": "hi"}),
        (
            {"role": "developer", "content": "Be brief."},
            {"role": "system", "text": "Be brief."},
        ),
        (
            {"role": "user", "content": "hi", "name": "Mira", "id": "m1"},
            {"role": "user", "text": "hi", "speaker": "Mira", "id": "m1"},
        ),
        (
            {"role": "tool", "tool_call_id": "c", "content": "42"},
            {"role": "tool", "text": "42"},
        ),
        (
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "my bill"},
                    {"type": "file", "file": {"filename": "bill.pdf"}},
                    {"type": "image_url", "image_url": {"url": "x"}},
                ],
            },
            {"role": "user", "text": "my bill\n[file: bill.pdf]\n[image]"},
        ),
        ({"role": "user", "text": "own form"}, {"role": "user", "text": "own form"}),
    ],
)
def test_a_message_becomes_a_turn(message, turn):
    assert turns(message) == [turn]


@pytest.mark.parametrize("content", [None, "", "  ", []])
def test_a_message_without_words_is_no_turn(content):
    call = {"role": "assistant", "content": content, "tool_calls": [{"id": "c"}]}
    assert turns(call) == []


@pytest.mark.parametrize("content", [7, True, {"text": "x"}])
def test_a_content_of_another_kind_is_refused(content):
    with pytest.raises(BadRequestError, match="text or a list"):
        turns({"role": "user", "content": content})


@pytest.fixture
def memory(tmp_path):
    opened = VaultMemory(settings_in(tmp_path / "home", tmp_path / "vault"))
    opened.start()
    opened.catch_up()
    yield opened
    opened.close()


@pytest.mark.parametrize("odd", [{"a": 1}, ["user"], 5, True])
def test_a_role_or_a_part_of_another_kind_breaks_nothing(memory, odd):
    """It is refused where the turn has it, and left out of a content."""
    for row in ({"text": "I like tea.", "role": odd}, {"content": "x", "role": odd}):
        with pytest.raises(BadRequestError, match="role"):
            memory.call("observe", {"messages": [row]})
    parts = [{"type": odd, "text": "no"}, {"type": "text", "text": "I like tea."}]
    (turn,) = as_turns([{"role": "user", "content": parts}], {})
    assert turn["text"] == "I like tea."


def test_a_request_without_turns_is_refused(memory):
    with pytest.raises(BadRequestError, match="no turns"):
        memory.call("observe", {})
