"""Files as people and programs leave them, through the running daemon: names of any
bytes, broken front matter.
"""

from __future__ import annotations

import json
import os
import random

import pytest

from engram.serve import socket_client
from engram.vault.paths import is_text
from tests.fakes.answers import free_port
from tests.fakes.world import World, until

NAMES = 300

ODD = (
    b"caf\xe9.md",
    b"\xff\xfe\xfd.md",
    b"\xed\xa0\x80.md",  # a surrogate, spelled out
    b"two\nlines.md",
    b"tab\tand \x1b[31mred.md",
    b"quote\"'`.md",
    b"#heading^block|alias.md",
    b"[[link]].md",
    b"-rf.md",
    b"--all.md",
    b" .md",
    "cafe\u0301.md".encode(),
    "caf\u00e9.md".encode(),
    b"Case.md",
    b"case.md",
    "\u202egnp.md".encode(),
    "zero\u200bwidth.md".encode(),
    b"CON.md",
    b"nul.md",
    b"%41.md",
    b"back\\slash.md",
    b"x" * 252 + b".md",
    "\u00e9".encode() * 126 + b".md",
    b"\xe9" * 252 + b".md",
)


@pytest.fixture
def world(world):
    world.env["ENGRAM_PORT"] = str(free_port())
    return world


def hits(world, query, **wishes):
    return world.call("recall", query=query, **wishes)["hits"]


def texts(world, query, **wishes):
    return [hit["text"].strip() for hit in hits(world, query, **wishes)]


def chance_name(chance):
    """1 to 255 bytes that a file system takes, most of them ending like a note."""
    length = chance.choice((1, 3, 8, 20, 120, 251))
    sign = bytes(byte for byte in range(1, 256) if byte != ord("/"))
    stem = bytes(chance.choice(sign) for _ in range(length)).lstrip(b".~")
    return (stem or b"a") + chance.choice((b".md", b".md", b".MD", b""))


def healthy_watcher(world, number):
    """A good note is found soon after, and nothing is stuck."""
    (world.vault / "notes" / f"good-{number}.md").write_text(
        f"The marker word is quokka{number}.\n"
    )
    until(lambda: texts(world, f"quokka{number}"))
    status = world.call("status")
    assert status["faults"] == {}
    assert status["daemon"]["degraded"] == {}


# row: X3
def test_no_file_name_stops_the_watcher(world):
    """A few hundred names of chance bytes and the known pitfalls: each is indexed or
    named, and all else goes on.
    """
    chance = random.Random(12)
    notes = world.vault / "notes"
    notes.mkdir(exist_ok=True)
    world.start()
    names = dict.fromkeys([*ODD, *(chance_name(chance) for _ in range(NAMES))])
    made = {}
    for number, name in enumerate(names):
        folder = notes
        if number % 7 == 0:  # a folder of such a name, with a note in it
            folder = notes / os.fsdecode(b"folder-" + name[:100])
            folder.mkdir(exist_ok=True)
        path = folder / os.fsdecode(name)
        path.write_text(f"Odd file number{number}x.\n")
        made[path] = number
        if number % 100 == 50:
            healthy_watcher(world, number)
    healthy_watcher(world, 1000)
    every = {
        path.relative_to(world.vault).as_posix(): number
        for path, number in made.items()
    }
    told = {finding["where"]: finding for finding in world.call("doctor")["findings"]}
    assert all(map(is_text, told))
    bad = [path for path in every if path.lower().endswith(".md") and not is_text(path)]
    assert len(bad) > NAMES / 2
    named = [finding for finding in told.values() if finding["code"] == "name"]
    assert len(named) == len(bad)
    assert all(finding["fix"] for finding in named)
    assert world.call("status")["problems"] >= len(bad)
    for path, number in every.items():
        ignored = not path.lower().endswith(".md") or any(
            part[:1] in {".", "#"} for part in path.split("/")
        )
        if is_text(path) and not ignored:
            found = hits(world, f"number{number}x", k=50)
            assert path in {hit["path"] for hit in found}
    shown = world.run("doctor").stdout
    assert "\x1b" not in shown
    assert json.loads(world.run("doctor", "--json").stdout)["findings"]


def test_the_caller_says_what_it_is_only_over_the_socket(world):
    """`engram` and the Python interface use one socket; only the command line calls
    itself the owner's.
    """
    world.start()
    note = world.vault / "facts" / "fact-secret.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("---\npersona: [\n---\nThe axolotl is called Mira.\n")
    until(
        lambda: socket_client.call(
            world.socket, "recall", {"query": "axolotl"}, owner=True
        )["hits"]
    )
    assert (
        socket_client.call(world.socket, "recall", {"query": "axolotl"})["hits"] == []
    )


def test_a_vault_may_stand_in_a_folder_of_any_name(tmp_path):
    """Its path is told as bytes can be told in JSON, and serves as a path again."""
    home = tmp_path / os.fsdecode(b"caf\xe9\nx")
    home.mkdir()
    world = World(home)
    world.start()
    try:
        assert world.call("status")["vault"] == str(world.vault)
        kept = world.call("remember", text="Anna drinks black tea.")
        assert (world.vault / kept["path"]).exists()
        assert "Anna drinks black tea." in world.engram(
            "recall", "what does Anna drink?"
        )
        assert world.call("doctor")["healthy"]
        assert "ready: yes" in world.engram("status")
    finally:
        world.end()
