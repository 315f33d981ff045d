"""The batteries: where a scenario is struck, and how often.

Where not every point is taken, sites come first: lines of the program from which a call
is made.
"""

from __future__ import annotations

import errno
import os
import random
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from harness import (
    STRIKES,
    BrokenPromiseError,
    Exiting,
    Failing,
    Leaving,
    Tearing,
    changing,
)

from engram.vault import syscalls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from harness import Bench, Counting, Left, Seam

T = TypeVar("T")

TOGETHER = 12
"""How many copies of a folder are kept at once."""


def spread(
    cases: Sequence[T], site: Callable[[T], object], most: int | None
) -> list[T]:
    """At most `most` of the cases (all without it), from as many sites as there are,
    and of each its own sort of case.

    Every site has its turn before one has a second; where not all sites have room,
    those taken are far apart.
    """
    if most is None or len(cases) <= most:
        return list(cases)
    groups: dict[object, list[T]] = {}
    for case in cases:
        groups.setdefault(site(case), []).append(case)
    chance = random.Random(len(cases))
    for group in groups.values():
        chance.shuffle(group)
    found: list[T] = []
    for turn in count():
        row = [group[turn] for group in groups.values() if turn < len(group)]
        room = most - len(found)
        if room <= len(row):
            return found + [row[number * len(row) // room] for number in range(room)]
        found += row
    raise AssertionError


def _points(seam: Counting, most: int | None) -> list[tuple[int, bool]]:
    """The kills before and after changing calls, by number and side, in the order of
    the run.
    """
    sites = [
        site
        for kind, site in zip(seam.kinds, seam.sites, strict=True)
        if changing(kind)
    ]
    points = [(point, after) for point in range(len(sites)) for after in (False, True)]
    return sorted(spread(points, lambda point: (sites[point[0]], point[1]), most))


def kill_everywhere(bench: Bench, most: int | None = None) -> int:
    """Kills before and after the changing calls, or at `most` of those points; their
    number.
    """
    points = _points(bench.counted(), most)
    for left, acked in _lefts(bench, points):
        left.put(bench.work)
        bench.judge(
            bench.work,
            acked,
            f"killed {'after' if left.after else 'before'} call {left.point}",
        )
    return len(points)


def _lefts(
    bench: Bench, points: Sequence[tuple[int, bool]]
) -> Iterator[tuple[Left, list[str]]]:
    """What a kill at each point leaves, and what had been promised.

    Few copies are kept at once. Each run takes points from all over the scenario, so
    that a defect is met early.
    """
    runs = -(-len(points) // TOGETHER)
    for first in range(runs):
        acked: list[str] = []
        root = bench.fresh()
        seam = bench.seam(Leaving, root, points[first::runs], acked)
        try:
            bench.attempt(seam, root, acked)
            for left in seam.taken:
                yield left, acked[: left.promised]
        finally:
            seam.clear()


def kill_forks(bench: Bench, most: int) -> int:
    """Real forks that end at `most` of the points; the number of them."""
    points = _points(bench.counted(), most)
    for point, after in points:
        root = bench.fresh()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _end_in_child(bench, bench.seam(Exiting, point, after=after), root, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            acked = pipe.read().decode().splitlines()
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 9
        bench.judge(root, acked, f"forked and ended at call {point}")
    return len(points)


def _end_in_child(bench: Bench, seam: Seam, root: Path, pipe: int) -> None:
    syscalls.SYS = seam
    try:
        bench.scenario.run(root, lambda item: os.write(pipe, f"{item}\n".encode()))
    finally:
        os._exit(3)


def failures(seam: Counting, most: int | None) -> list[tuple[int, int, bool]]:
    """Number of the call, errno, and whether it stays so, of the errors that the calls
    may meet.
    """
    cases = [
        (point, code, sticky)
        for code, struck in STRIKES.items()
        for point, kind in enumerate(seam.kinds)
        for sticky in (False, True)
        if kind in struck
    ]
    return spread(cases, lambda case: seam.sites[case[0]], most)


def fail_everywhere(bench: Bench, most: int | None = None) -> int:
    """Each errno, once and for good, at the calls it may come from, or `most` of these
    cases; their number.
    """
    seam = bench.counted()
    cases = failures(seam, most)
    for point, code, sticky in cases:
        acked: list[str] = []
        root = bench.fresh()
        where = f"{errno.errorcode[code]} {'from' if sticky else 'at'} call {point} ({seam.kinds[point]})"
        try:
            bench.attempt(bench.seam(Failing, point, code, sticky=sticky), root, acked)
        except Exception as error:
            raise BrokenPromiseError(
                f"{bench.scenario.name}, {where}: {type(error).__name__} came out: {error}"
            ) from error
        bench.judge(root, acked, where)
    return len(cases)


def tear_everywhere(bench: Bench, most: int | None = None) -> int:
    """Torn writes (part of the bytes, then the end) and short ones (the rest after), or
    `most` of these cases.
    """
    seam = bench.counted()
    sites = [
        site
        for kind, site in zip(seam.kinds, seam.sites, strict=True)
        if kind == "write"
    ]
    cases = [
        (point, share, fatal)
        for point in range(len(sites))
        for share in (0, 0.5, 0.99)
        for fatal in (True, False)
    ]
    cases = spread(cases, lambda case: sites[case[0]], most)
    for point, share, fatal in cases:
        acked: list[str] = []
        root = bench.fresh()
        ended = bench.attempt(
            bench.seam(Tearing, point, share, fatal=fatal), root, acked
        )
        assert ended is not fatal
        bench.judge(
            root, acked, f"{'torn' if fatal else 'short'} write {point} at {share:.0%}"
        )
    return len(cases)


def kill_twice(bench: Bench, most: int) -> int:
    """A kill, and another in the recovery from it: some `most` pairs, from all over
    both; their number.
    """
    calls = sum(map(changing, bench.counted().kinds))
    firsts = [(first, True) for first in range(0, calls, max(1, calls // most))]
    share = max(1, most // len(firsts))
    met: Counter[object] = Counter()
    for left, acked in _lefts(bench, firsts):
        left.put(bench.work)
        again = bench.seam(Leaving, bench.work, None)
        try:
            bench.restart(bench.work, again)
            for _ in range(min(share, len(again.taken))):
                second = min(again.taken, key=lambda one: met[one.site, one.after])
                again.taken.remove(second)
                met[second.site, second.after] += 1
                second.put(bench.work)
                where = f"killed after call {left.point} and in recovery {'after' if second.after else 'before'}"
                bench.judge(bench.work, acked, f"{where} call {second.point}")
        finally:
            again.clear()
    return met.total()
