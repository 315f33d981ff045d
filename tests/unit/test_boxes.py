"""Boxes and traces as values: when a box ends, which trace it joins."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core import boxes
from engram.core.policy import BoxPolicy
from engram.core.records import Fact

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
        ([("Calm", ["work"]), ("", ["diet"]), ("", ["health"])], "Keys, flat"),
        ([("", ["promise"])], "Promise"),
    ],
)
def test_a_box_is_titled_by_what_is_in_it(memories, title):
    """A name and what is said of it, else tags, else shared words; never a statement."""
    text = "Ben has the keys to the flat"
    made = [
        replace(memory(f"m{n}", *filter(None, [name]), tags=tags), text=text)
        for n, (name, tags) in enumerate(memories)
    ]
    known = boxes.topics(made, (), POLICY)
    box = boxes.box_of_batch("s4", None, made, known, NOON)
    assert boxes.box_title(made, box, ["Ben"]) == title


# row: C31
@pytest.mark.parametrize(
    ("memories", "title"),
    [
        (
            [("Ben is called Ben", "name"), ("Ben lives in Leeds", "home"),
             ("Its wifi is called Blue", "wifi name"), ("Ben is a nurse", "job"),
             ("The boat is in Whitby", "")],
            "Name, home",
        ),
        ([("Ben likes figs", "like"), ("The boat sank", ""), ("Snow fell", "")],
         "Several subjects"),
    ],
)  # fmt: skip
def test_a_box_without_a_name_a_tag_or_common_words_is_titled_by_its_attributes(
    memories, title
):
    """A word that less than half of the statements share is not their subject."""
    made = [
        replace(memory(f"m{n}"), text=text, attribute=attribute)
        for n, (text, attribute) in enumerate(memories)
    ]
    box = boxes.box_of_batch("s4", None, made, (), NOON)
    assert boxes.box_title(made, box, ["Ben"]) == title
