"""Relations between entities, with the times in which they hold (row B1).

A relation may have several values at once, such as two jobs. This module decides which
relations a statement opens and which it ends; the lines of notes follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engram.core.graph import reinforce
from engram.core.records import Edge, RelationLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date, datetime, tzinfo

    from engram.core.policy import LinkPolicy

DAY = r"\d{4}(?:-\d\d(?:-\d\d)?)?"
"""The pattern of a day, a month or a year in a line of a note."""


def update_relations(
    edges: Sequence[Edge],
    observed: Edge,
    now: datetime,
    policy: LinkPolicy,
    *,
    single: bool,
) -> tuple[Edge, ...]:
    """Return the changed relations after `observed` was observed at `now` (`B1`).

    `edges` are relations of one type; with `single`, for a type with one target at a
    time, they are all of the same source. `observed` has the times that the words give.
    A relation that already holds is reinforced, once for the same evidence; otherwise a
    new one is opened. With `single` the new one ends its predecessor on the day on
    which it begins. It ends nothing if several already hold or were stated at one
    instant. An earlier observation that arrives late ends at the beginning of the next
    relation. One older than the latest observation of a relation that held then changes
    nothing. Closed relations stay.
    """
    same = [edge for edge in edges if _ends(edge) == _ends(observed)]
    for edge in same:
        if edge.valid_until == now:  # a statement of the same instant ended it
            return ()
        if edge.holds(now) or _is_planned_like(edge, observed, now):
            reinforced = _dated(reinforce(edge, now, policy), observed, now)
            return () if reinforced == edge else (reinforced,)

    changed = _plans_called_off(same, edges, now)
    rivals = [
        changed.get(_key(edge), edge)
        for edge in (edges if single else same)
        if edge.reinforced != now
    ]
    holding = [edge for edge in rivals if edge.holds(now)]
    if any(_seen_after(edge, now) for edge in holding):
        return tuple(changed.values())

    start = observed.valid_from or now
    if len(holding) == 1 and not (start > now and holding[0].valid_until):
        changed[_key(holding[0])] = _closed(holding[0], start, "", now)
    return (*changed.values(), _opened(observed, rivals, start, now))


def _is_planned_like(edge: Edge, observed: Edge, now: datetime) -> bool:
    """Return whether a relation is planned for the first day of `observed`."""
    return _is_planned(edge, now) and edge.valid_from == observed.valid_from


def _plans_called_off(
    same: Iterable[Edge], edges: Sequence[Edge], now: datetime
) -> dict[tuple[str, str, datetime | None], Edge]:
    """Return by key the relations that change because the planned ones never begin."""
    planned = (edge for edge in same if _is_planned(edge, now))
    return {
        _key(relation): relation
        for edge in planned
        for relation in _called_off(edge, edges, now)
    }


def _opened(
    observed: Edge, rivals: Iterable[Edge], start: datetime, now: datetime
) -> Edge:
    """Return the relation that `observed` opens at `start`, up to the next relation."""
    later = _next_start(rivals, start)
    end = min(filter(None, (later, observed.valid_until)), default=None)
    until = observed.until if end == observed.valid_until else ""
    return replace(
        observed, reinforced=now, valid_from=start, valid_until=end, until=until
    )


def ended_relations(
    known: Sequence[Edge], observed: Edge, now: datetime
) -> tuple[Edge, ...]:
    """Return the relations of `known` that end when `observed` is over (`B1`).

    They are the relations between the same ends that held at `now`, unless a later
    observation confirmed them, and planned ones, which never begin: the relations that
    they would have ended continue. The end is the day in the words, else `now`. No
    relation replaces them.
    """
    ended: list[Edge] = []
    for edge in known:
        if _ends(edge) != _ends(observed) or _seen_after(edge, now):
            continue
        if edge.holds(now):
            over = _closed(edge, observed.valid_until or now, observed.until, now)
            ended += [over] if over != edge else []
        elif _is_planned(edge, now):
            ended += _called_off(edge, known, now)
    return tuple(ended)


def relation_line(edge: Edge, name: str, zone: tzinfo) -> RelationLine | None:
    """Return the line of a note for a relation to `name`; None if it never held."""
    if edge.valid_until is None:
        return RelationLine(edge.label, name, edge.since, edge.until)
    if edge.valid_from and edge.valid_until <= edge.valid_from:
        return None
    day = f"{edge.valid_until.astimezone(zone):%Y-%m-%d}"
    return RelationLine(edge.label, name, edge.since, edge.until or day)


@dataclass(frozen=True, slots=True)
class RelationUpdate:
    """A change of one relation in a note: its line `before` and `after`.

    Either is None if there is no line. `is_new` says that the note never had one.
    """

    type: str
    name: str
    before: RelationLine | None
    after: RelationLine | None
    is_new: bool


def line_changes(
    lines: Sequence[RelationLine], updates: Iterable[RelationUpdate]
) -> tuple[list[RelationLine], list[RelationLine]]:
    """Return the lines to add to a note and those to drop.

    A line that a person removed is not added again.
    """
    add: list[RelationLine] = []
    drop: list[RelationLine] = []
    have = list(lines)
    for update in updates:
        plain = RelationLine(update.type, update.name)
        present = [
            present_line
            for present_line in have
            if present_line in (update.before, plain)
        ] or [
            present_line
            for present_line in have
            if update.before is not None and replace(present_line, since="") == plain
        ]
        old, new = (present[0] if present else None), update.after
        if old == new or new in have:
            continue
        if old is not None:
            have.remove(old)
            drop.append(old)
        if new is not None and (old is not None or update.is_new):
            have.append(new)
            add.append(new)
    return add, drop


def when_held(line: RelationLine, today: date) -> Literal["now", "later", "before"]:
    """Return whether a relation holds today, begins later or is over.

    >>> from datetime import date
    >>> when_held(RelationLine("works_at", "Bosch", since="2027-01"), date(2026, 11, 3))
    'later'
    """
    if line.until and _last_day(line.until) <= f"{today:%Y-%m-%d}":
        return "before"
    return "later" if line.since > f"{today:%Y-%m-%d}"[: len(line.since)] else "now"


def current_lines(lines: Iterable[RelationLine], today: date) -> list[RelationLine]:
    """Return the relations that hold today."""
    return [line for line in lines if when_held(line, today) == "now"]


def _last_day(day: str) -> str:
    """Return the last day of a day, a month or a year; every month counts 31 days."""
    return f"{day}-12-31" if "-" not in day else f"{day}-31"[: len("2027-01-31")]


def _called_off(planned: Edge, edges: Iterable[Edge], now: datetime) -> list[Edge]:
    """Return a planned relation that never held, and those that continue without it."""
    going_on = [
        replace(edge, valid_until=None, until="")
        for edge in edges
        if edge.holds(now) and edge.valid_until == planned.valid_from
    ]
    return [replace(planned, valid_until=planned.valid_from), *going_on]


def _key(edge: Edge) -> tuple[str, str, datetime | None]:
    return edge.source, edge.target, edge.valid_from


def _dated(edge: Edge, observed: Edge, now: datetime) -> Edge:
    """Return a relation with the days that a later statement gives it."""
    since = edge.since
    if observed.valid_from and observed.valid_from <= now:
        since = since or observed.since
    if observed.valid_until and observed.valid_until > now:
        return replace(
            edge, since=since, valid_until=observed.valid_until, until=observed.until
        )
    return replace(edge, since=since)


def _closed(edge: Edge, at: datetime, day: str, now: datetime) -> Edge:
    """Return a relation that ended at `at`, or at `now` if it began after `at`."""
    if edge.valid_from and at <= edge.valid_from:
        at = now
    return replace(edge, valid_until=at, until=day)


def _next_start(edges: Iterable[Edge], start: datetime) -> datetime | None:
    """Return the time at which the first of `edges` begins after `start`, or None.

    A planned relation that never held does not count.
    """
    starts = (
        edge.valid_from
        for edge in edges
        if edge.valid_from
        and not (edge.reinforced and edge.reinforced < edge.valid_from)
    )
    return min(
        (start_time for start_time in starts if start_time > start), default=None
    )


def _is_planned(edge: Edge, when: datetime) -> bool:
    """Return whether the edge was a plan at `when`: stated, with a later beginning."""
    was_stated = edge.reinforced is not None and edge.reinforced <= when
    return (
        was_stated
        and edge.valid_from is not None
        and edge.valid_from > when
        and edge.valid_until != edge.valid_from
    )


def _seen_after(edge: Edge, when: datetime) -> bool:
    """Return whether the latest observation of the edge is later than `when`."""
    return edge.reinforced is not None and edge.reinforced > when


def _ends(edge: Edge) -> tuple[str, str]:
    """Return the names of both ends without types, which a user may correct."""
    return edge.source.partition(":")[2], edge.target.partition(":")[2]
