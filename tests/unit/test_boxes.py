"""Boxes and traces as values: when a box ends, which trace it joins."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core import boxes
from engram.core.policy import BoxPolicy
from engram.core.records import Fact
from tests.size import examples

POLICY = BoxPolicy()
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def at(minutes=0.0, days=0.0):
    return NOON + timedelta(minutes=minutes, days=days)


def memory(name, *about, tags=(), category="fact", created=None):
    return Fact(
        name,
        f"Statement {name}.",
        category=category,
        about=about,
        tags=tags,
        created=created,
    )


def batch(names, about=(), minutes=0.0, days=0.0, session="plans"):
    """A batch whose last turn, and whose memories, were said so long after noon."""
    said = at(minutes, days)
    return boxes.box_of_batch(
        session,
        None,
        [memory(name, created=said) for name in names],
        tuple(about),
        said,
    )


def sealed(*about, days=0.0, session="plans"):
    return boxes.seal(
        batch(["m"], about, days=days, session=session), "flush", at(days=days), POLICY
    )


def woven(held, traces, policy=POLICY):
    """The traces with the box in the one it joins, and that one's id."""
    name = f"{held.opened:%Y-%m-%d}/box-{len(traces)}-{held.opened.timestamp()}"
    trace_id = boxes.find_trace(held, traces, policy)
    return traces | {
        trace_id: boxes.add_to_trace(traces.get(trace_id), trace_id, name, held)
    }, trace_id


# row: C31
def test_topics_are_tags_and_names_and_never_the_category():
    """Two unrelated statements of kind `fact` have no subject in common; the commonest
    comes first.
    """
    one = memory("1", "Anna", "Müller's  Café", tags=("Travel/Porto",))
    two = memory("2", "ANNA", "Ben")
    assert boxes.topics([one, two], (), POLICY) == (
        "anna",
        "müller's café",
        "travel/porto",
        "ben",
    )
    assert (
        boxes.topic_overlap(
            boxes.topics([memory("1")], (), POLICY),
            boxes.topics([memory("2")], (), POLICY),
        )
        == 0
    )


# row: C31
@pytest.mark.parametrize(
    ("has", "brings", "ends"),
    [
        ("ab", "cd", True),
        ("abc", "cde", True),  # 1 of 5
        ("abc", "bcd", False),  # 2 of 4
        # nothing new: the subject is the same, however little of it is named
        ("abcdefgh", "a", False),
        ("ab", "", False),
        ("", "ab", False),
    ],
)
def test_another_subject_ends_the_box(has, brings, ends):
    """Below an overlap of 0.35, and only where new topics come up."""
    box, closed = boxes.add_batch(batch("m", has), batch("n", brings, 1), POLICY)
    assert bool(closed) is ends
    assert box.memories == (("n",) if ends else ("m", "n"))
    assert not closed or (closed.why, closed.sealed, closed.memories) == (
        "topic_shift",
        at(1),
        ("m",),
    )


# row: C31
@pytest.mark.parametrize(("minutes", "ends"), [(29.99, False), (30, True), (600, True)])
def test_a_silence_ends_the_box(minutes, ends):
    """Of 30 minutes or more; it is closed when the 30 minutes were over."""
    box, closed = boxes.add_batch(batch("m", "a"), batch("n", "a", minutes), POLICY)
    assert bool(closed) is ends
    assert not closed or (closed.why, closed.sealed, box.memories) == (
        "time_gap",
        at(30),
        ("n",),
    )


# row: C31
def test_too_many_memories_join_and_then_close_the_box():
    """Asked before anything else: neither the new subject nor the silence comes first."""
    box = batch([f"m{n}" for n in range(49)], "a")
    box, closed = boxes.add_batch(box, batch(["x"], "a", 1), POLICY)
    assert closed is None
    box, closed = boxes.add_batch(box, batch(["y"], "bcd", 60), POLICY)
    assert box is None
    assert (closed.why, len(closed.memories), closed.memories[-1]) == (
        "max_memories",
        51,
        "y",
    )


# row: C31
def test_the_same_batch_again_changes_nothing():
    """Nor does sealing again."""
    box, _ = boxes.add_batch(batch("m", "a"), batch("n", "ab", 1), POLICY)
    assert boxes.add_batch(box, batch("n", "ab", 1), POLICY) == (box, None)
    once = boxes.seal(box, "flush", at(2), POLICY)
    assert boxes.seal(once, "time_gap", at(9), POLICY) == once


# row: C32
def test_a_box_joins_the_trace_it_resembles_most():
    """From 0.4 on; the later one of two that are equally near."""
    traces, porto = woven(sealed("anna", "porto"), {})
    traces, coffee = woven(sealed("anna", "coffee", "milk", days=1), traces)
    assert porto != coffee
    assert (
        boxes.find_trace(sealed("anna", "porto", "sea", days=2), traces, POLICY)
        == porto
    )
    assert boxes.find_trace(sealed("coffee", "milk", days=2), traces, POLICY) == coffee
    assert (
        boxes.find_trace(
            sealed("anna", "milk", "porto", "coffee", days=2), traces, POLICY
        )
        == coffee
    )
    # 1 of 3
    assert boxes.find_trace(sealed("anna", "x", days=2), traces, POLICY) not in traces


# row: C32
@pytest.mark.parametrize(
    ("days", "joins"), [(7, True), (7.1, False), (-7, True), (-7.1, False)]
)
def test_a_trace_takes_boxes_for_a_week(days, joins):
    """In the conversation's own time, so that an old one imported late does not join
    what is said today.
    """
    traces, trace_id = woven(sealed("anna", "porto"), {})
    assert (
        boxes.find_trace(sealed("anna", "porto", "sea", days=days), traces, POLICY)
        == trace_id
    ) is joins


# row: C32
def test_a_long_trace_goes_on_matching():
    """Its subject drifts: each box has half of the last one. All topics together would
    overlap by a tenth.
    """
    traces = {}
    for n in range(30):
        traces, trace_id = woven(
            sealed(f"t{n}", f"t{n + 1}", f"t{n + 2}", days=n), traces
        )
    assert len(traces) == 1
    topics = {topic for _, known in traces[trace_id].boxes for topic in known}
    assert boxes.topic_overlap(["t29", "t30", "t31"], topics) < 0.1
    # as its first box was
    assert (
        boxes.find_trace(sealed("t0", "t1", "t2", days=31), traces, POLICY) == trace_id
    )
    # long out of the latest five
    assert (
        boxes.find_trace(sealed("t1", "t2", "t3", days=31), traces, POLICY) != trace_id
    )


# row: C31
@examples(150)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 30),
            st.integers(0, 4),
            st.lists(st.sampled_from("abcdef"), max_size=4),
        ),
        max_size=12,
    )
)
def test_every_memory_is_in_exactly_one_box(batches):
    """In the order it came, whatever the subjects and silences; boxes follow each other
    in time.
    """
    policy = BoxPolicy(memories=5)
    minutes, number, open_box, closed, told = 0, 0, None, [], []
    for gap, size, about in batches:
        minutes += gap
        names = [f"m{number + n}" for n in range(size)]
        number += size
        told += names
        open_box, done = boxes.add_batch(
            open_box, batch(names, dict.fromkeys(about), minutes), policy
        )
        closed += [done] if done else []
    every = [*closed, *([open_box] if open_box else [])]
    assert [name for box in every for name in box.memories] == told
    assert all(
        box.memories and (box.sealed or box.last) >= box.last >= box.opened
        for box in every
    )
    assert all(
        one.sealed <= other.opened + timedelta(minutes=30)
        for one, other in pairwise(every)
    )


# row: C31
@pytest.mark.parametrize(
    ("memories", "title"),
    [
        ([("Mia", ["school", "family"]), ("Mia", ["school"])], "Mia: school"),
        ([("Mia", []), ("Elif", []), ("Elif", [])], "Elif, Mia"),
        ([("Mia", ["mia"])], "Mia"),
        ([("Mia Weiss", ["weiss", "school"])], "Mia Weiss: school"),
        ([("Mia", ["food/soup"])], "Mia: soup"),
        ([("", ["health", "diet"]), ("", ["diet"])], "Diet, health"),
        (
            [("Calm", []), ("", ["diet"]), ("", ["diet", "health"]), ("", [])],
            "Diet, health",
        ),
        (
            [("Calm", ["work"]), ("", ["diet"]), ("", ["health"])],
            "They got the keys to the flat in the old town on the third …",
        ),
        (
            [("", ["promise"])],
            "They got the keys to the flat in the old town on the third …",
        ),
        (
            [("", []), ("", [])],
            "They got the keys to the flat in the old town on the third …",
        ),
    ],
)
def test_a_box_is_titled_by_what_is_in_it(memories, title):
    """A name and what is said of it, else tags, else a statement; never the session."""
    text = "They got the keys to the flat in the old town on the third floor."
    made = [
        replace(memory(f"m{n}", *filter(None, [name]), tags=tags), text=text)
        for n, (name, tags) in enumerate(memories)
    ]
    known = boxes.topics(made, (), POLICY)
    box = boxes.box_of_batch("s4", None, made, known, NOON)
    assert boxes.box_title(made, box) == title
