"""Two processes on one vault without a daemon: the second one reads."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from engram import Memory
from engram.daemon import sockets
from engram.errors import LockedError
from engram.serve import connection
from tests.fakes.world import World

HOLDER = """
import sys, time
from engram import Memory
from engram.daemon import sockets
memory = Memory(sys.argv[1])
memory.remember("Carla is allergic to peanuts.")
print("held", flush=True)
for line in sys.stdin:
    if line.strip() == "close":
        memory.close()
        break
    memory.remember(line.strip())
    print("kept", flush=True)
print("closed", flush=True)
time.sleep(60)
"""


@pytest.fixture
def world(tmp_path, monkeypatch):
    made = World(tmp_path)
    for name in ("HOME", "ENGRAM_HOME", "ENGRAM_VAULT", "TZ"):
        monkeypatch.setenv(name, made.env[name])
    return made


@pytest.fixture
def holder(world):
    """Another process that holds the vault."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(world.vault)],
        env=world.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def say(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def test_a_change_waits_until_the_other_is_gone(world, holder):
    with Memory(world.vault) as mine:
        assert mine.recall("peanuts").hits
        assert say(holder, "The barge of Huy is blue.") == "kept"
        assert "barge of Huy" in mine.recall("which barge is blue?").text
        closing_soon = threading.Timer(0.5, say, (holder, "close"))
        closing_soon.start()
        mine.remember("The gate is green.")
        closing_soon.join()
        assert "green" in mine.recall("which colour is the gate?").text
    assert "green" in world.engram("recall", "gate")


def test_who_has_a_vault_open_keeps_nobody_from_reading(world, holder):
    """The index and the journal are read as they are on disk; nothing is written."""
    holder.send_signal(signal.SIGSTOP)
    try:
        before = sorted(one for one in world.vault.rglob("*") if one.is_file())
        bytes_before = [one.read_bytes() for one in before]
        assert "peanuts" in world.engram("recall", "what is Carla allergic to?")
        assert json.loads(world.engram("list", "--json"))["total"] == 1
        assert sorted(o for o in world.vault.rglob("*") if o.is_file()) == before
        assert [one.read_bytes() for one in before] == bytes_before
    finally:
        holder.send_signal(signal.SIGCONT)


def test_a_change_is_refused_while_another_has_the_vault_open(world, monkeypatch):
    monkeypatch.setattr(connection, "LOCK_SECONDS", 0.3)
    with Memory(world.vault) as first, Memory(world.vault) as second:
        first.remember("The gate is green.")
        assert "green" in second.recall("gate").text
        with pytest.raises(LockedError, match="owns this vault"):
            second.remember("The gate is red.")
        with pytest.raises(LockedError):
            second.observe(user="The gate is red.")
    assert "gate is red" not in world.engram("recall", "gate")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_client_works_on_while_the_daemon_is_stopped_and_started(world, number):
    """It holds the vault for each call alone, so that the daemon can start again."""
    world.start()
    try:
        with Memory(world.vault) as mine:
            mine.remember("The heron nests at the mill.")
            world.process.send_signal(number)
            world.process.wait()
            mine.remember("The barge of Huy is blue.")
            world.start()
            assert "barge" in mine.recall("which barge is blue?").text
            assert "mill" in world.engram("recall", "where does the heron nest?")
    finally:
        world.process.kill()
        world.process.wait()


def test_a_daemon_that_stops_while_it_is_asked_makes_no_write_fail(world):
    """It had not read the request, so the vault is opened without it."""
    with sockets.listen_unix(Path(world.socket)) as listener:

        def stop():
            # the look whether a daemon answers, then the request
            for _ in range(2):
                listener.accept()[0].close()
            listener.close()

        stopping = threading.Thread(target=stop)
        stopping.start()
        with closing(connection.connect(world.vault)) as opened:
            assert isinstance(opened, connection.DaemonVault)
            opened.call("remember", {"text": "The gate is green."})
        stopping.join()
    assert "green" in world.engram("recall", "gate")
