"""Relations with several values and with times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.policy import LinkPolicy
from engram.core.records import Edge, RelationLine
from engram.core.relations import (
    RelationUpdate,
    current_lines,
    ended_relations,
    line_changes,
    relation_line,
    update_relations,
    when_held,
)
from tests.size import examples

POLICY = LinkPolicy()
NOW = datetime(2026, 3, 4, tzinfo=UTC)
NEXT_YEAR = datetime(2027, 1, 1, tzinfo=UTC)
PLANNED = Edge(
    "person:mira",
    "org:b",
    "relation",
    "works_at",
    valid_from=NEXT_YEAR,
    since="2027-01",
)


def ago(days):
    return NOW - timedelta(days=days)


def targets(edges, when):
    return sorted(edge.target for edge in edges if edge.holds(when))


def learned(*said, single=True):
    """The edges after statements of (edge, time), the last version of each."""
    held = {}
    for seen, when in said:
        changed = update_relations(
            list(held.values()), seen, when, POLICY, single=single
        )
        held |= {(edge.target, edge.valid_from): edge for edge in changed}
    return list(held.values())


def works(place, **more):
    return Edge("person:mira", f"org:{place}", "relation", "works_at", **more)


# row: B1
@examples(100)
@given(
    said=st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 50)),
        max_size=12,
        unique_by=itemgetter(1),
    )
)
def test_of_one_at_a_time_never_two_hold_in_any_order_of_learning(said):
    """And telling it all again changes nothing."""
    held = {}

    def learn():
        changed = 0
        for place, day in said:
            for edge in update_relations(
                list(held.values()), works(place), ago(day), POLICY, single=True
            ):
                held[edge.target, edge.valid_from] = edge
                changed += 1
        return changed

    learn()
    assert learn() == 0
    spans = sorted(
        (edge.valid_from, edge.valid_until)
        for edge in held.values()
        if edge.valid_until != edge.valid_from
    )
    for (_, end), (start, _) in pairwise(spans):
        assert end is not None
        assert end <= start


# row: B1
def test_a_job_from_january_begins_then_and_a_second_one_ends_none():
    """Said again it is the same; told as current before, it began before."""
    told = (works("a"), ago(50)), (PLANNED, ago(20)), (PLANNED, ago(10))
    beside = learned(*told, single=False)
    assert targets(beside, NOW) == ["org:a"]
    assert targets(beside, NEXT_YEAR) == ["org:a", "org:b"]
    assert [edge.since for edge in beside] == ["", "2027-01"]
    instead = learned(*told)
    assert targets(instead, NOW) == ["org:a"]
    assert targets(instead, NEXT_YEAR) == ["org:b"]
    assert [edge.until for edge in instead] == ["", ""]
    assert relation_line(instead[0], "A", UTC).until == "2027-01-01"
    early = learned((PLANNED, ago(20)), (works("b"), ago(10)))
    assert targets(early, NOW) == ["org:b"]
    assert targets(early, NEXT_YEAR) == ["org:b"]
    assert sum(edge.valid_from != edge.valid_until for edge in early) == 1


# row: B1
def test_a_plan_that_fell_through_never_held():
    """What it would have ended goes on."""
    edges = learned((works("a"), ago(50)), (PLANNED, ago(20)))
    over, going_on = ended_relations(edges, works("b"), NOW)
    assert targets([over, going_on], NEXT_YEAR) == ["org:a"]
    assert relation_line(over, "B", UTC) is None
    assert relation_line(going_on, "A", UTC) == RelationLine("works_at", "A")


# row: B1
def test_a_relation_ends_on_the_day_that_the_words_give():
    """Until then it holds; said again it changes nothing."""
    (edge,) = learned((works("a"), ago(50)))
    leaving = works("a", valid_until=NEXT_YEAR, until="2026-12-31")
    (over,) = ended_relations([edge], leaving, NOW)
    assert targets([over], NOW) == ["org:a"]
    assert targets([over], NEXT_YEAR) == []
    assert ended_relations([over], leaving, NOW) == ()
    assert relation_line(over, "A", UTC) == RelationLine(
        "works_at", "A", until="2026-12-31"
    )
    fixed_term = learned((works("a"), ago(50)), (leaving, ago(20)))
    assert [edge.until for edge in fixed_term] == ["2026-12-31"]


# row: B1
@pytest.mark.parametrize(
    ("since", "until", "held"),
    [
        ("", "", "now"),
        ("2024", "", "now"),
        ("2026", "", "now"),
        ("2026-03-04", "", "now"),
        ("2026-03-05", "", "later"),
        ("2026-04", "2027", "later"),
        ("2027", "", "later"),
        ("", "2026", "now"),
        ("", "2026-03", "now"),
        ("", "2026-03-04", "before"),
        ("2024", "2026-02", "before"),
        ("", "2025", "before"),
    ],
)
def test_a_line_says_by_its_days_when_it_holds(since, until, held):
    line = RelationLine("works_at", "A", since, until)
    assert when_held(line, NOW.date()) == held
    assert current_lines([line], NOW.date()) == ([line] if held == "now" else [])


# row: B1
@examples(150)
@given(
    said=st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.integers(0, 40),
            st.sampled_from([None, -30, 30]),
            st.booleans(),
        ),
        max_size=8,
        unique_by=itemgetter(1),
    ),
)
def test_whatever_is_told_of_times_the_note_and_the_edges_agree(said):
    """In order of time; telling it all again changes nothing."""
    held, lines = {}, []
    today = NOW.date()

    def tell():
        changes = 0
        for place, day, begins, ended in sorted(said, key=lambda one: -one[1]):
            start = ago(day) + timedelta(days=begins) if begins else None
            seen = works(
                place, valid_from=start, since=f"{start:%Y-%m-%d}" if start else ""
            )
            known = list(held.values())
            changed = (
                ended_relations(known, works(place), ago(day))
                if ended
                else update_relations(known, seen, ago(day), POLICY, single=True)
            )
            updates = []
            for edge in changed:
                before = held.get((edge.target, edge.valid_from))
                old = before and relation_line(before, edge.target, UTC)
                new = relation_line(edge, edge.target, UTC)
                updates.append(
                    RelationUpdate("works_at", edge.target, old, new, before is None)
                )
                held[edge.target, edge.valid_from] = edge
            add, drop = line_changes(lines, updates)
            for line in drop:
                lines.remove(line)
            lines.extend(add)
            changes += len(changed)
        return changes

    tell()
    current = {line.name for line in current_lines(lines, today)}
    assert current == set(targets(held.values(), NOW))
    assert len(lines) == len(set(lines))
