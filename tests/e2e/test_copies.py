"""A copied vault beside the real daemon of its original: no command reaches the wrong
folder.
"""

from __future__ import annotations

import shutil

import pytest

from engram.errors import ConflictError
from engram.serve import socket_client
from tests.fakes import warm
from tests.fakes.world import until

SAID = "Anna switched to oat milk."


@pytest.fixture
def copied(world):
    """The copy of a vault that holds one memory, and whose daemon runs."""
    known = world.json("remember", SAID)
    world.start()
    copy = world.vault.parent / "copy"
    shutil.copytree(world.vault, copy)
    return copy, known["id"]


def test_the_copy_is_named_by_status_doctor_and_the_daemons_log(world, copied):
    copy, _ = copied
    words = f"is a copy of {world.vault}; it has its own state"
    assert words in world.engram("status", "--vault", str(copy), code=3)
    assert words in world.engram("doctor", "--vault", str(copy))
    log = world.vault.parent / "copy.log"
    with log.open("wb") as file:
        argv = ("daemon", "--foreground", "--vault", str(copy))
        daemon = warm.launch(argv, world.env, world.vault.parent, file)
    try:
        until(lambda: world.run("status", "--vault", str(copy)).returncode == 0)
        assert words in world.engram("status", "--vault", str(copy))
        assert words in log.read_text()
        assert words not in world.engram("status")
    finally:
        daemon.terminate()
        assert daemon.wait(timeout=60) == 0


def test_a_daemon_refuses_a_request_that_means_another_folder(world, copied):
    """By name, and nothing is done."""
    copy, known = copied
    with pytest.raises(ConflictError, match="serves another folder") as caught:
        socket_client.call(world.socket, "forget", {"id": known}, folder=str(copy))
    assert str(world.vault) in str(caught.value)
    assert (
        socket_client.call(
            world.socket, "show", {"id": known}, folder=str(world.vault)
        )["memory"]["status"]
        == "active"
    )


def test_a_vault_moved_under_its_daemon_is_not_touched_through_it(world):
    """The command finds the daemon of this vault, which serves the path it was told."""
    known = world.json("remember", SAID)["id"]
    world.start()
    moved = world.vault.parent / "moved"
    world.vault.rename(moved)
    told = world.engram("forget", known, "--vault", str(moved), code=65)
    assert "serves another folder" in told
    assert f"kill {world.process.pid}" in told
    assert world.stop() == 0
    world.engram("forget", known, "--vault", str(moved))


def test_a_copy_put_in_place_of_the_vault_under_the_daemon_gets_no_tombstones(
    world, copied
):
    """The daemon begins again with what stands there now; what the copy lacks nobody
    deleted.
    """
    copy, _ = copied
    world.call("remember", text="Ben plays the violin.")
    world.call("remember", text="Carla grows dahlias.")
    world.vault.rename(world.vault.parent / "old")
    copy.rename(world.vault)
    until(lambda: world.log.read_text().count("serving vault") == 2)
    until(world.ready)
    assert world.call("recall", query="Ben violin")["hits"] == []
    assert world.call("recall", query="Anna oat milk")["hits"] != []
    assert not (world.vault / "state/tombstones.jsonl").exists()
    old = world.vault.parent / "old"
    assert "violin" in world.engram(
        "recall", "what does Ben play?", "--vault", str(old)
    )
    assert not (old / "state/tombstones.jsonl").exists()
