"""People at work on a note: programs that add lines to it, and a seam in which somebody
does so between calls.
"""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from harness import FULL, Call, Seam, installed

from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PROGRAM = """
import os, random, sys, time
path, kind, seconds, mark = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]
end, lines, chance = time.monotonic() + seconds, 0, random.Random(mark)
while time.monotonic() < end:
    if kind == "appending":
        with open(path, "a") as note:
            time.sleep(chance.random() / 500)
            note.write(f"{mark}-{lines}\\n")
    else:
        with open(path) as note:
            text = note.read()
        text += f"{mark}-{lines}\\n"
        target = path if kind == "in-place" else path + "~"
        with open(target, "w") as note:
            note.write(text)
        if kind == "renaming":
            os.replace(target, path)
    lines += 1
    time.sleep(chance.random() / 200)
print(lines)
"""


def editor(path: Path, kind: str, seconds: float, mark: str) -> subprocess.Popen[str]:
    """A process that keeps adding lines `<mark>-<n>` to a note and prints at last how
    many it saved.
    """
    command = [sys.executable, "-c", PROGRAM, str(path), kind, str(seconds), mark]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


class Meddling(Seam):
    """Lets a person act right before call number `point`."""

    def __init__(self, acts: dict[int, Callable[[], None]]) -> None:
        super().__init__()
        self.acts = acts
        self.count = 0

    def meet(self, call: Call) -> Any:
        act = self.acts.pop(self.count, None)
        self.count += 1
        if act is not None:
            act()
        return call.go()


class Leaseless(Meddling):
    """The same on a file system that cannot tell who has a file open."""

    def real(self, call: Call) -> Any:
        return None if call.name == "has_no_writer" else super().real(call)


def save_by_rename(path: Path, line: str) -> Callable[[], None]:
    """Read the note, add a line, write it beside, rename it over."""

    def act() -> None:
        beside = path.with_name("beside~")
        beside.write_text(path.read_text() + line)
        beside.replace(path)

    return act


def save_in_place(path: Path, line: str) -> Callable[[], None]:
    """Read the note, add a line, write it into the same file."""

    def act() -> None:
        path.write_text(path.read_text() + line)

    return act


OLD = "counter: 0\nfirst line\n"
SAVES = {"renaming": save_by_rename, "in-place": save_in_place}


def saves_everywhere(note: Path, kind: str, seam: type[Meddling] = Meddling) -> int:
    """One save before each call of a rewrite, and two before each two; the number of
    cases.

    No line may be lost, and the last one saved must stand in the note itself.
    """
    points = range(_calls(note))
    cases = [(point,) for point in points] + list(itertools.combinations(points, 2))
    for case in cases:
        lines = [f"saved before call {point}\n" for point in case]
        _rewrite(
            note,
            seam,
            {
                point: SAVES[kind](note, line)
                for point, line in zip(case, lines, strict=True)
            },
        )
        nothing_lost(note, lines)
        assert lines[-1] in note.read_text(), (
            f"{lines[-1]!r}, saved last, does not stand in the note"
        )
    return len(cases)


def slow_saves_everywhere(
    note: Path, seam: type[Meddling] = Meddling, quick: int = 1
) -> int:
    """`quick` saves, and a slow one that reads before a later call and saves still
    later; the number of cases.

    They are a sample; twice the calls of an undisturbed rewrite, since putting back
    takes as many again.
    """
    points = range(2 * _calls(note))
    cases = random.Random(quick).sample(
        list(itertools.combinations(points, quick + 2)), 6000 if FULL else 600
    )
    for *early, read, saved in cases:
        lines = [f"quick {point}\n" for point in early]
        seen: list[str] = []

        def look(seen: list[str] = seen) -> None:
            seen.append(note.read_text())

        def save(seen: list[str] = seen) -> None:
            note.with_name("beside~").write_text(seen[0] + "slow\n")
            note.with_name("beside~").replace(note)

        acts = {
            point: save_by_rename(note, line)
            for point, line in zip(early, lines, strict=True)
        }
        _rewrite(note, seam, {**acts, read: look, saved: save})
        nothing_lost(note, [*lines, "slow\n"])
    return len(cases)


def open_everywhere(note: Path, seam: type[Meddling] = Meddling) -> int:
    """The note is opened for appending before one call and written to before a later
    one; the number of cases.
    """
    cases = list(itertools.combinations(range(_calls(note) + 1), 2))
    for opened, written in cases:
        note.write_text(OLD)
        held: list[int] = []
        acts = {
            opened: lambda held=held: held.append(
                os.open(note, os.O_WRONLY | os.O_APPEND)
            ),
            written: lambda held=held: (
                os.close(held[0]) if os.write(held[0], b"slow\n") else None
            ),
        }
        _rewrite(note, seam, acts)
        nothing_lost(note, ["slow\n"])
    return len(cases)


def _rewrite(
    note: Path, seam: type[Meddling], acts: dict[int, Callable[[], None]]
) -> Meddling:
    """Our side: set the counter. What the person has not done by then follows after."""
    note.write_text(OLD)
    made = seam(acts)
    with installed(made), suppress(disk.ChangedError):
        disk.replace(note, OLD.replace("0", "1").encode(), disk.sha256(OLD.encode()))
    for point in sorted(acts):
        acts[point]()
    return made


def _calls(note: Path) -> int:
    return _rewrite(note, Meddling, {}).count


def nothing_lost(note: Path, lines: Sequence[str]) -> None:
    """Every line stands in the note or in a hidden file that is handed over as a
    person's.
    """
    lefts = [
        disk.settle(hidden, time.time() + 60, 0)
        for hidden in list(disk.leftovers(note.parent))
    ]
    assert all(left.state in {"gone", "theirs"} for left in lefts)
    there = {
        *note.read_text().splitlines(),
        *(b"".join(left.content for left in lefts).decode().splitlines()),
    }
    missing = [line for line in lines if line.strip() not in there]
    assert not missing, f"lost {missing}; there are {sorted(there)}"
    for hidden in list(disk.leftovers(note.parent)):
        disk.remove(hidden)
