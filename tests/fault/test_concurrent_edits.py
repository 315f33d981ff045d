"""A person edits the very notes that the daemon writes into: neither side loses a line.

The editors keep a note open from reading it to saving it. One that saves an old copy
over newer words removes them itself, as a person may.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time

import pytest
from harness import FULL
from ledger import turns_filed

from engram.errors import EngramError
from engram.vault import disk
from tests.fakes.world import until

SECONDS = 6 if FULL else 2
PROGRAM = """
import os, random, sys, time
path, kind, seconds, mark = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]
end, lines, chance = time.monotonic() + seconds, 0, random.Random(mark)
while time.monotonic() < end:
    with open(path, "r+") as note:
        text = note.read()
        if text.startswith("---") and text.count("\\n---\\n"):
            time.sleep(chance.random() / 100)
            text += f"{mark}-{lines}.\\n"
            if kind == "in-place":
                note.seek(0)
                note.write(text)
                note.truncate()
            else:
                with open(path + "~", "w") as beside:
                    beside.write(text)
                os.replace(path + "~", path)
            lines += 1
    time.sleep(chance.random() / 20)
print(lines)
"""


@pytest.fixture
def world(world):
    world.start()
    return world


def editor(path, kind, mark):
    command = [sys.executable, "-c", PROGRAM, str(path), kind, str(SECONDS), mark]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def all_words(vault):
    """Every line in every note, and in hidden files that wait to be handed over as a
    person's.
    """
    lefts = [
        disk.settle(hidden, time.time() + 61, 60)
        for hidden in list(disk.leftovers(vault))
    ]
    raw = [path.read_bytes() for path in vault.rglob("*.md")] + [
        left.content for left in lefts
    ]
    return set(b"\n".join(raw).decode().splitlines())


class Conversation(threading.Thread):
    """A caller whose turns are filed at once, until the editor is done."""

    def __init__(self, world, kind, edited):
        super().__init__()
        self.world, self.kind, self.edited = world, kind, edited
        self.taken = [f"{kind}-first"]

    def run(self):
        for number in itertools.count():
            if self.edited.poll() is not None:
                return
            name = f"{self.kind}-{number}"
            turn = {"id": name, "session": self.kind, "text": f"Turn {number} goes on."}
            self.world.call("observe", turns=[turn])
            self.taken.append(name)
            self.world.call("flush", background=True, session=self.kind)
            time.sleep(0.02)


class Pinning(threading.Thread):
    """A caller who pins and unpins a memory, until the editor is done."""

    def __init__(self, world, memory, edited):
        super().__init__()
        self.world, self.memory, self.edited = world, memory, edited
        self.made = self.refused = 0

    def run(self):
        for number in itertools.count():
            if self.edited.poll() is not None:
                return
            try:
                self.world.call("update", id=self.memory, pinned=number % 2 == 0)
                self.made += 1
            except EngramError:
                self.refused += 1
            time.sleep(0.02)


# row: X3
# row: B18
@pytest.mark.parametrize("kind", ["in-place", "renaming"])
def test_a_person_and_the_daemon_write_into_the_same_notes_and_lose_nothing(
    world, kind, covered
):
    """An editor at work in a conversation that goes on, and one in a memory that
    changes.
    """
    world.call(
        "observe",
        turns=[{"id": f"{kind}-first", "session": kind, "text": "Good morning."}],
    )
    memory = world.call("remember", text="The clock hangs in the hall.")
    world.call("flush")
    (talk,) = world.vault.glob(f"sessions/*/*-{kind}_*.md")
    editors = [
        editor(talk, kind, "hand-talk"),
        editor(world.vault / memory["path"], kind, "hand-fact"),
    ]
    talking, pinning = (
        Conversation(world, kind, editors[0]),
        Pinning(world, memory["id"], editors[1]),
    )
    for caller in (talking, pinning):
        caller.start()
    for caller in (talking, pinning):
        caller.join()
    saves = [int(one.communicate()[0]) for one in editors]

    def filed():
        world.call("flush", background=True)
        return world.call("stats")["waiting"] == 0

    until(filed, 60)
    assert world.stop() == 0
    saved = {
        f"{mark}-{n}."
        for mark, count in zip(("hand-talk", "hand-fact"), saves, strict=True)
        for n in range(count)
    }
    assert saved - all_words(world.vault) == set()
    found = turns_filed(world.vault)
    assert max(found.values()) == 1
    # one that renames saves what it read, without what was filed meanwhile
    if kind == "in-place":
        assert [name for name in talking.taken if not found[name]] == []
    assert all(saves)
    assert pinning.made
    covered(f"editing beside the daemon, {kind}", "saves by hand", sum(saves))
    covered(f"editing beside the daemon, {kind}", "turns", len(talking.taken))
    covered(f"editing beside the daemon, {kind}", "changes of a memory", pinning.made)
    covered(f"editing beside the daemon, {kind}", "changes refused", pinning.refused)
