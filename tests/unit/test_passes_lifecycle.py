"""The passes that need no model, each on a view of its own: what they change and what
they leave alone.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core import graph
from engram.core.policy import Policy
from engram.core.records import Edge, Edit, Fact, Usage
from engram.maintenance.passes import lifecycle
from engram.maintenance.passes.view import (
    EdgeUpdate,
    FileWrite,
    MemoryState,
    PassView,
    VaultReader,
)
from tests.fakes.pass_views import after

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
DAY = timedelta(days=1)
POLICY = Policy()
FADED = Fact(
    "F", "Anna saw a red car.", kind="episode", created=NOW - 200 * DAY, importance=0.2, confidence=0.9,
    path="facts/2026-05-04/fact-anna-saw.md", sha="0" * 64, source="2026-05-04-talk#^t1", origin="rules",
)  # fmt: skip


def view_of(*living, **more):
    memories = {
        one.fact.id: one
        for one in (
            MemoryState(one) if isinstance(one, Fact) else one for one in living
        )
    }
    return PassView(POLICY, UTC, memories, **more)


def files(**held):
    """A vault of files that are no notes, given by the last part of their name."""

    class Files(VaultReader):
        def read(self, path):
            return held.get(
                path.rpartition("/")[2].partition(".")[0].replace("-", "_"), b""
            )

    return Files()


# row: C17
# row: X23
def test_the_guessed_end_of_what_a_person_edited_is_taken_from_its_note():
    """An end that the person gave, as a date, stays one."""
    fact = replace(FADED, confidence=0.3, expires=NOW - 150 * DAY)
    (step,) = lifecycle.expire(
        view_of(MemoryState(fact, kept="a person edited it")), NOW
    )
    assert step == Edit(
        fact.path,
        fact.sha,
        {"expires": None},
        "a person edited it: its guessed end no longer applies",
    )
    theirs = replace(fact, expires=NOW - 150 * DAY - timedelta(hours=3))
    (move,) = lifecycle.expire(
        view_of(MemoryState(theirs, kept="a person edited it")), NOW
    )
    assert move.to == "archive/2026-11-20/fact-anna-saw.md"


# row: B3
def test_an_archived_memory_that_is_recalled_is_active_again():
    """In the folder of its own day, under its own name."""
    away = replace(
        FADED,
        status="archived",
        end_reason="old",
        path="archive/2026-11-18/fact-anna-saw.md",
    )
    since = Usage(
        access=1,
        last_access=NOW,
        evidence_at=NOW - 9 * DAY,
        salience=0.6,
        salience_at=NOW,
    )
    (step,) = lifecycle.revive(view_of(MemoryState(away, since)), NOW)
    assert (step.to, step.keys["status"]) == (
        "facts/2026-05-04/fact-anna-saw.md",
        "active",
    )
    before = replace(since, last_access=NOW - 5 * DAY)
    assert lifecycle.revive(view_of(MemoryState(away, before)), NOW) == []


# row: C20
# row: X13
def test_scripts_without_blanks_have_topics_too():
    """Where two signs are a word, three are not asked for; archived memories are not
    counted.
    """
    gone = replace(FADED, id="C", text="harbour", status="archived")
    view = view_of(
        replace(FADED, id="A", text="茶道"),
        replace(FADED, id="B", text="Ja, Porto"),
        gone,
    )
    (mark,) = lifecycle.topics(view, NOW)
    assert {row["term"] for row in json.loads(mark.content)["topics"]} == {
        "茶道",
        "porto",
    }


# row: C20
def test_there_are_at_most_fifty_topics():
    facts = [
        replace(FADED, id=str(n), text=f"word{n:03} other{n:03}") for n in range(40)
    ]
    (mark,) = lifecycle.topics(view_of(*facts), NOW)
    assert len(json.loads(mark.content)["topics"]) == 50


# row: C34
@pytest.mark.parametrize(
    ("days", "worth", "anchor"), [(91, 0.9, 1), (200, 0.8, 20), (1000, 0.1, 10)]
)
def test_a_tie_written_down_is_worth_the_same_at_any_later_time(days, worth, anchor):
    """The anchor advances by exactly the windows that were charged."""
    edge = Edge("A", "B", "similar", reinforced=NOW - days * DAY)
    view = view_of(edges=[edge, replace(edge, target="C", reinforced=NOW)])
    (faded,) = lifecycle.edges(view, NOW)
    assert isinstance(faded, EdgeUpdate)
    assert (faded.edge.confidence, faded.edge.reinforced) == (
        pytest.approx(worth),
        NOW - anchor * DAY,
    )
    for later in range(0, 2000, 7):
        then = NOW + later * DAY
        was, now = (
            graph.edge_confidence(one, then, POLICY.links) for one in (edge, faded.edge)
        )
        assert now == pytest.approx(was, abs=1e-9)
    assert lifecycle.edges(after(view, faded), NOW) == []


# row: D9
def test_logs_forget_after_ninety_days_what_carries_no_promise():
    """A person's word stays, and where a memory that is still there comes from; what
    cannot be read stays as it is.
    """
    old, new = (NOW - 91 * DAY).isoformat(), (NOW - 89 * DAY).isoformat()
    rows = [
        {"at": old, "action": "skip", "memory": "X"},
        {"at": old, "action": "create", "memory": "gone"},
        {"at": new, "action": "skip", "memory": "X"},
        {"at": old, "action": "edit", "memory": "F"},
        {"at": old, "action": "forget", "memory": "gone"},
        {"at": old, "action": "decide", "memory": "case"},
        {"at": old, "action": "supersede", "memory": "gone", "by": "user"},
        {"at": old, "action": "create", "memory": "F"},
        {"action": "skip"},
    ]
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    raw = b"".join([*lines, b"torn {\n", "a line\u2028break\n".encode()])
    view = view_of(
        FADED,
        logs=("state/memory-actions.jsonl", "state/runs.jsonl"),
        reader=files(memory_actions=raw),
    )
    (mark,) = lifecycle.logs(view, NOW)
    assert mark == FileWrite(
        "state/memory-actions.jsonl",
        raw[len(lines[0]) + len(lines[1]) :],
        "2 rows older than 90 days",
    )
    assert lifecycle.logs(after(view, mark), NOW) == []


def test_passes_see_what_those_before_them_plan():
    """A memory that is archived is not pruned as well; a file that is planned away is
    not there any more.
    """
    gone, prune = FileWrite("state/a.json", None, "old"), lifecycle.pruning(0.05)
    view = view_of(replace(FADED, confidence=0.1), reader=files(a=b"a", b=b"x"))
    (step,) = lifecycle.archive(view, NOW)
    later = after(view, step, gone)
    assert prune(view, NOW) != []
    assert prune(later, NOW) == []
    assert later.memories["F"].fact.path == step.to
    assert (view.read(gone.path), later.read(gone.path), later.read("b")) == (
        b"a",
        b"",
        b"x",
    )
