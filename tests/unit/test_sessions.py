"""Session files: the grammar of a conversation, and what an append leaves alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from engram.core.policy import SessionPolicy
from engram.core.records import FiledTurn, Turn
from engram.core.sessions import rolling_mark
from engram.errors import BadRequestError, ConflictError
from engram.vault import frontmatter, sessions

ZONE = ZoneInfo("Europe/Berlin")
STEM = "2026-11-20-coffee-plans"
PATH = sessions.path(STEM)
START = datetime(2026, 11, 20, 20, 13, tzinfo=UTC)


def said(number: int, text: str = "hello", **changes: object) -> FiledTurn:
    turn = Turn(
        f"id{number}",
        "Coffee plans",
        "user",
        text,
        START + timedelta(minutes=number - 1),
    )
    return FiledTurn(replace(turn, **changes), STEM, f"t{number}")


def turns(raw: bytes, path: str = PATH) -> list[FiledTurn]:
    conversation, problems = sessions.conversation_from(
        frontmatter.read(raw), path, ZONE
    )
    assert not problems
    return list(conversation.turns)


# row: X3
def test_a_persons_words_around_the_conversation_stay():
    """Turns go behind the last turn, before what the person wrote below it."""
    raw = sessions.new_session([said(1)], ZONE)
    person = (
        raw.replace(b"## Conversation", b"## Summary\n\nNice.\n\n## Conversation")
        + b"My note.\n\n## After\n\n> [!user] no\n"
    )
    new = sessions.append_turns(person, [said(2)], ZONE)[0]
    assert turns(new) == [said(1), said(2)]
    assert new.decode().endswith(
        "^t1\n\n> [!user] 21:14 %%id2%%\n> hello\n\n^t2\n\nMy note.\n\n## After\n\n> [!user] no\n"
    )
    assert b"## Summary\n\nNice.\n" in new


def test_a_conversation_without_turns_or_heading_takes_turns():
    """Somebody emptied the file; it goes on."""
    raw = sessions.new_session([said(1)], ZONE)
    head, _, _ = raw.partition(b"\n> [!user]")
    assert sessions.append_turns(head, [said(1)], ZONE)[0] == raw
    bare = head.replace(b"## Conversation\n", b"")
    assert sessions.append_turns(bare, [said(1)], ZONE)[0] == raw.replace(
        b"## Conv", b"\n## Conv"
    )
    kept = sessions.append_turns(bare + b"Mine.", [said(1)], ZONE)[0]
    assert b"---\nMine.\n\n## Conversation\n\n> [!user]" in kept


def test_a_block_id_that_a_person_took_is_not_used_twice():
    """The new turn gets the next free one."""
    raw = sessions.new_session([said(1)], ZONE) + b"\nMy paragraph.\n\n^t2\n"
    assert [
        turn.block for turn in turns(sessions.append_turns(raw, [said(2)], ZONE)[0])
    ] == ["t1", "t3"]


def test_a_turn_written_by_hand_is_taken_as_far_as_it_goes():
    """Without id it has its block's name, without time that of the turn before."""
    raw = (
        sessions.new_session([said(1)], ZONE)
        + b"\n> [!assistant]- \n>sure\n\n\n^t7\n\n> [!note] not a turn\n\n^t8\n"
    )
    last = turns(raw)[-1]
    assert (last.block, last.turn.id, last.turn.text, last.turn.role) == (
        "t7",
        "t7",
        "sure",
        "assistant",
    )
    assert last.turn.occurred_at == START
    assert len(turns(raw)) == 2


def test_a_block_id_that_stands_twice_is_a_problem():
    """The first one keeps it."""
    raw = (
        sessions.new_session([said(1)], ZONE)
        + b"\n> [!user] 21:20 %%x%%\n> copy\n\n^t1\n"
    )
    conversation, problems = sessions.conversation_from(
        frontmatter.read(raw), PATH, ZONE
    )
    assert [filed.turn.text for filed in conversation.turns] == ["hello"]
    assert [
        (problem.code, raw.decode().split("\n")[problem.line - 1])
        for problem in problems
    ] == [("duplicate-block", "> [!user] 21:20 %%x%%")]


def test_a_role_that_does_not_exist_is_refused():
    """It could not be read back."""
    with pytest.raises(BadRequestError):
        sessions.new_session([said(1, role="robot")], ZONE)
    with pytest.raises(ConflictError):
        sessions.append_turns(b"---\nsession: x\n---\n", [said(1)], ZONE)[0]


# row: E9
@pytest.mark.parametrize(
    ("turns", "model", "mark"),
    [
        (3, True, 0),
        (4, True, 4),
        (23, True, 20),
        (24, True, 24),
        (47, True, 24),
        (48, True, 48),
        (47, False, 44),
    ],
)
def test_a_model_sums_up_a_running_conversation_every_24_turns(turns, model, mark):
    """It reads each turn once; sentences are chosen every four."""
    assert rolling_mark(turns, SessionPolicy(), model=model) == mark
