"""A month of use in a minute, on a clock that is passed in: nothing grows that should
not.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness import FULL
from ledger import turns_filed

from engram import config
from engram.memory import VaultMemory

DAYS, TURNS = (30, 20_000) if FULL else (2, 400)
TALK = 20
WARM = 0.2
GROWTH_MB = 20
DISK_BYTES_A_TURN = 2_000
SEGMENTS = 4
NAMES = ("Ana", "Rui", "Eva", "Max", "Zoe")
THINGS = (
    "tea",
    "bread",
    "paper",
    "rope",
    "salt",
    "oil",
    "wool",
    "ink",
    "clay",
    "glass",
)


def resident():
    """Megabytes of memory this process holds; what it has freed goes back to the system
    first.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return (
        int(Path("/proc/self/statm").read_text().split()[1])
        * os.sysconf("SC_PAGE_SIZE")
        / 2**20
    )


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def disk(*folders):
    return sum(
        path.stat().st_size
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    )


class Month:
    """The memory of one vault and its clock."""

    def __init__(self, folder):
        vault = folder / "vault"
        vault.mkdir(mode=0o700)
        (vault / "engram.toml").write_text(
            'id = "01KBH2Q0M6T4W2Y0B7C5D9E1FX"\nzone = "UTC"\n'
        )
        loaded = config.load(
            vault, {"ENGRAM_HOME": str(folder / "home"), "HOME": str(folder)}
        )
        files = replace(loaded.policy.files, quiet_seconds=0, settle_most_seconds=0)
        small = replace(loaded.policy.journal, segment_bytes=65536)
        self.settings = replace(
            loaded, policy=replace(loaded.policy, files=files, journal=small)
        )
        self.now = datetime(2026, 11, 1, 8, 0, tzinfo=UTC)
        self.chance = random.Random(DAYS)
        self.open()

    def steady(self):
        return self.now.timestamp()

    def open(self):
        self.memory = VaultMemory(
            self.settings, clock=lambda: self.now, steady=self.steady
        )
        self.memory.executor.attended = True
        self.memory.start()
        self.memory.catch_up()

    def work(self):
        """What the daemon's writer does."""
        for batch in self.memory.pipeline.due(self.now):
            self.memory.pipeline.file(batch, self.memory.pipeline.distil(batch))

    def talk(self, number):
        """A conversation of `TALK` turns; now and then something in it is worth a fact,
        often one that is known.
        """
        for first in range(0, TALK, 2):
            turns = []
            for turn in range(first, first + 2):
                name, thing = self.chance.choice(NAMES), self.chance.choice(THINGS)
                worth = self.chance.random() < 0.1
                said = (
                    f"I love {thing} from {name}."
                    if worth
                    else f"We talked of {thing} with {name} for a while."
                )
                turns.append(
                    {
                        "id": f"{number}-{turn}",
                        "session": f"talk {number}",
                        "text": said,
                    }
                )
            self.memory.call("observe", {"turns": turns})
            self.work()
            self.now += timedelta(seconds=40)
        self.memory.call(
            "recall", {"query": f"who spoke of {self.chance.choice(THINGS)}?"}
        )

    def segments(self):
        return len(list((self.settings.state / "journal").iterdir()))


# row: X20
def test_a_month_of_use_leaves_nothing_behind_but_the_vault(arena, covered):
    """Memory, descriptors, journal segments and disk stay within their budgets; every
    turn is there once.
    """
    month = Month(arena)
    talks = TURNS // TALK
    began = month.now
    warm, open_then, most_segments = None, None, 0
    for number in range(talks):
        month.now = max(month.now, began + timedelta(days=DAYS * number / talks))
        month.talk(number)
        if open_then is not None:
            assert descriptors() <= open_then
        if number % 10 == 9:
            month.memory.files.rescan(None)
            month.memory.maintenance_loop.tend()
        if number % (talks // 10) == talks // 10 - 1:
            month.now += timedelta(minutes=16)
            month.work()
            month.memory.close()
            month.open()
            if warm is None and number >= WARM * talks - 1:
                month.talk(talks)
                warm, open_then = resident(), descriptors()
        most_segments = max(most_segments, month.segments())
    month.now += timedelta(minutes=16)
    month.work()
    growth, used = (
        resident() - warm,
        disk(month.settings.vault, month.settings.state, month.settings.cache),
    )
    counts = month.memory.call("stats", {})
    month.memory.close()
    filed = turns_filed(month.settings.vault)
    assert counts["turns"] == TURNS + TALK == len(filed)
    assert set(filed.values()) == {1}
    assert counts["waiting"] == 0
    assert most_segments <= SEGMENTS
    assert used <= DISK_BYTES_A_TURN * TURNS
    assert growth < GROWTH_MB
    covered("soak", "days", DAYS)
    covered("soak", "turns", TURNS)
    covered("soak", "MB grown", round(growth))
    covered("soak", "descriptors", open_then)
    covered("soak", "journal segments at most", most_segments)
    covered("soak", "bytes of disk a turn", used // TURNS)
