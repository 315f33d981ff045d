"""`engram web`: a link from the daemon, or a daemon of its own until it is ended."""

from __future__ import annotations

import signal
import subprocess
import urllib.request

from engram.serve import socket_client
from tests.fakes.world import World


def opened(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.status, answer.headers["Set-Cookie"]


def test_the_daemon_gives_a_link_that_begins_a_session(tmp_path):
    world = World(tmp_path)
    world.start()
    try:
        url = world.json("web", "--no-browser")["url"]
        status, cookie = opened(url)
        assert status == 200
        assert "SameSite=strict" in cookie
        assert "HttpOnly" in cookie
        again = socket_client.page_link(world.socket)["url"]
        assert again.partition("?")[0] == url.partition("?")[0]
        assert again != url
    finally:
        assert world.stop() == 0


def test_without_a_daemon_one_runs_until_the_command_is_ended(tmp_path):
    world = World(tmp_path)
    process = subprocess.Popen(
        world.command("web", "--no-browser"),
        env=world.env,
        stdout=subprocess.PIPE,
        text=True,
        # a shell starts what runs in its background with this signal ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    try:
        line = process.stdout.readline()
        assert opened(line.removeprefix("url: ").strip())[0] == 200
        assert "Ctrl-C" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        # the next command has the vault to itself
        assert not socket_client.answers(world.socket)
        assert "created" in world.engram("remember", "Carla has a parrot.")
    finally:
        process.terminate()
        process.stdout.close()
        process.wait(30)


def test_a_command_beside_a_daemon_that_stops_is_carried_out(tmp_path):
    """Whether it ends in order or is killed."""
    world = World(tmp_path)
    for number, end in enumerate((signal.SIGTERM, signal.SIGKILL)):
        world.start()
        world.process.send_signal(end)
        assert "created" in world.engram("remember", f"I have parrot {number}.")
        assert f"parrot {number}" in world.engram("recall", f"parrot {number}")
        world.process.wait(30)
