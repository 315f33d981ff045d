"""A vault and a home of their own, the command line, and the real daemon in a process
of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from engram.serve import socket_client
from tests.fakes import warm
from tests.fakes.answers import ID, free_port

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds to wait for what takes a fraction of one; others may use the machine."""


@cache
def new_vault():
    """A vault as `engram init` makes it, for copies; made once in a process."""
    folder = Path(tempfile.mkdtemp(prefix="engram-new-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    warm.run(["init", str(folder / "vault")], env, folder)
    return folder / "vault"


class World:
    """A vault and a home of its own, the command, and at most one daemon.

    With `source`, the folder of a world that is gone, it begins with a copy of that.
    """

    def __init__(self, tmp_path, source=None):
        self.vault = tmp_path / "vault"
        self.home = tmp_path / "home"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": str(ROOT),
            "ENGRAM_HOME": str(self.home),
            "ENGRAM_VAULT": str(self.vault),
            "ENGRAM_EMBEDDINGS_MODEL": "off",
            "TZ": "UTC",
        }
        if source is None:
            shutil.copytree(new_vault(), self.vault, dirs_exist_ok=True)
            self.configure("")
        else:
            for folder in (self.vault, self.home):
                shutil.copytree(source / folder.name, folder, symlinks=True)
        self.socket = str(self.home / "run" / ID / "engram.sock")
        self.cache = self.home / "cache" / ID
        self.journal = self.home / "state" / ID / "journal"
        self.process = None
        self.log = tmp_path / "daemon.log"

    def configure(self, more):
        (self.vault / "engram.toml").write_text(f'id = "{ID}"\nzone = "UTC"\n{more}')

    def take_port(self):
        """Let the daemon listen on a free port too."""
        self.port = free_port()
        self.env["ENGRAM_PORT"] = str(self.port)

    def command(self, *argv):
        """What starts a fresh interpreter with the command."""
        return [sys.executable, "-P", "-m", "engram", *argv]

    def run(self, *argv, stdin=""):
        done = warm.run(argv, self.env, self.vault.parent, stdin.encode())
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        return done

    def engram(self, *argv, code=0, stdin=""):
        done = self.run(*argv, stdin=stdin)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    def json(self, *argv):
        return json.loads(self.engram(*argv, "--json"))

    def launch(self):
        """Another daemon process, not waited for."""
        with self.log.open("ab") as log:
            argv = ("daemon", "--foreground")
            return warm.launch(argv, self.env, self.vault.parent, log)

    def start(self):
        self.process = self.launch()
        until(self.ready)

    def ready(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            return socket_client.call(self.socket, "status", {})["ready"]
        except socket_client.AbsentError:
            return False

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        self.process = None
        return code

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def call(self, name, **params):
        return socket_client.call(self.socket, name, params, timeout=PATIENCE)

    def facts(self):
        return [path.read_text() for path in sorted(self.vault.glob("facts/*/*.md"))]

    def runs(self):
        """The log of the maintenance runs that changed something, '' without any."""
        path = self.vault / "state" / "runs.jsonl"
        return path.read_text() if path.exists() else ""

    def said(self):
        return "".join(
            path.read_text() for path in sorted(self.vault.glob("sessions/*/*.md"))
        )


@contextmanager
def knowing_carla(world):
    """Run the daemon of a world, with what Carla cannot eat in its vault."""
    world.start()
    world.call("remember", text="Carla is allergic to peanuts.")
    world.call("context", query="Who is Carla?")  # the first one warms the daemon up
    yield world
    world.end()


def until(condition, seconds=PATIENCE):
    """Wait for something to become true; how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, "it did not happen"
        time.sleep(0.02)
    return time.monotonic() - began
