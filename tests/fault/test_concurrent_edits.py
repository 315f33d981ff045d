"""A person edits the very notes that the daemon writes into: neither side loses a line.

The editors keep a note open from reading it to saving it. One that saves an old copy over newer words
removes them itself, as a person may.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress

import pytest
from harness import FULL
from ledger import turns_filed

from engram.errors import EngramError
from engram.vault import files
from tests.fakes.world import World, until

SECONDS = 12 if FULL else 2
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
def world(tmp_path):
    made = World(tmp_path)
    made.start()
    yield made
    if made.process:
        made.process.kill()
        made.process.wait()


def editor(path, kind, mark):
    command = [sys.executable, "-c", PROGRAM, str(path), kind, str(SECONDS), mark]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def all_words(vault):
    """Every line in every note, and in hidden files that wait to be handed over as a person's."""
    lefts = [files.settle(hidden, time.time() + 61, 60) for hidden in list(files.leftovers(vault))]
    raw = [path.read_bytes() for path in vault.rglob("*.md")] + [left.content for left in lefts]
    return set(b"\n".join(raw).decode().splitlines())


# row: X3
# row: B18
def test_a_person_and_the_daemon_write_into_the_same_notes_and_lose_nothing(world):
    """Editors that save in place and by renaming, in conversations that go on and in memories that change."""
    kinds = ("in-place", "renaming")
    taken = {kind: [f"{kind}-first"] for kind in kinds}
    memories = {}
    for kind in kinds:
        world.call("observe", turns=[{"id": f"{kind}-first", "session": kind, "text": "Good morning."}])
        memories[kind] = world.call("remember", text=f"The {kind} clock hangs in the hall.")
    world.call("flush")
    notes = {}
    for kind in kinds:
        (notes[kind, "talk"],) = world.vault.glob(f"sessions/*/*-{kind}.md")
        notes[kind, "fact"] = world.vault / memories[kind]["path"]
    editors = {(kind, what): editor(path, kind, f"hand-{kind}-{what}") for (kind, what), path in notes.items()}
    changes = Counter()

    def talk(kind):
        for number in itertools.count():
            if editors[kind, "talk"].poll() is not None:
                return
            name = f"{kind}-{number}"
            world.call("observe", turns=[{"id": name, "session": kind, "text": f"Turn {number} goes on."}])
            taken[kind].append(name)
            world.call("flush", background=True, session=kind)
            time.sleep(0.02)

    def pin(kind):
        for number in itertools.count():
            if editors[kind, "fact"].poll() is not None:
                return
            try:
                world.call("update", id=memories[kind]["id"], pinned=number % 2 == 0)
                changes["made"] += 1
            except EngramError:
                changes["refused"] += 1
            time.sleep(0.02)

    callers = [threading.Thread(target=what, args=(kind,)) for kind in kinds for what in (talk, pin)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    saved = {key: int(one.communicate()[0]) for key, one in editors.items()}

    def filed():
        with suppress(EngramError):
            world.call("flush", background=True)
        return world.call("stats")["waiting"] == 0

    until(filed, 60)
    assert world.stop() == 0
    words = all_words(world.vault)
    lost = [
        line
        for (kind, what), count in saved.items()
        for number in range(count)
        if (line := f"hand-{kind}-{what}-{number}.") not in words
    ]
    assert lost == []
    sent = [name for names in taken.values() for name in names]
    found = turns_filed(world.vault)
    assert {name: found[name] for name in sent} == dict.fromkeys(sent, 1)
    assert all(saved.values())
    assert changes["made"]
    print(
        f"\nediting beside the daemon: {sum(saved.values())} saves by hand, {len(sent)} turns, {changes['made']} "
        f"changes of memories ({changes['refused']} refused), no line lost"
    )
