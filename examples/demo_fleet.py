"""Show three memories on two daemons, one of which is killed.

    python examples/demo_fleet.py

Both daemons share a folder of vaults and a PostgreSQL of the development wheel, which is
started on a private socket. Everything is temporary.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from demo_vault import ENGRAM, heading

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.postgres import UnavailableServerError, server

NAMES = ("anna", "bob", "carla")
THINGS = (
    *("umbrella", "passport", "drill", "camera", "violin", "tent", "ladder"),
    *("blender", "globe", "kettle", "racket", "telescope", "typewriter", "compass"),
    *("wheelbarrow", "accordion", "hammock", "lantern", "magnet", "saxophone"),
)
PLACES = ("attic", "cellar", "garage", "hallway", "kitchen", "shed", "wardrobe")
PATIENCE = 60.0


class DaemonProcess:
    """A daemon with a port, sockets and a cache of its own, as on a host of its own."""

    def __init__(self, letter: str, root: Path, dsn: str) -> None:
        self.letter = letter
        self.root = root
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        own = root / f"host-{letter}"
        (own / "run").mkdir(parents=True, mode=0o700)
        self.log = own / "log"
        self.env = {
            **os.environ,
            "HOME": str(own),
            "XDG_RUNTIME_DIR": str(own / "run"),
            "XDG_CACHE_HOME": str(own / "cache"),
            "XDG_STATE_HOME": str(root / "state"),
            "ENGRAM_POSTGRES": dsn,
        }
        for name in ("ENGRAM_HOME", "ENGRAM_VAULT", "XDG_CONFIG_HOME"):
            self.env.pop(name, None)

    def start(self) -> None:
        """Start the process, and wait until it answers."""
        vaults, port = str(self.root / "vaults"), str(self.port)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603
                [*ENGRAM, "daemon", "--vaults", vaults, "--tcp", port],
                env=self.env,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        last = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < last:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise SystemExit(f"daemon {self.letter} did not start: {self.log.read_text()}")

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal to the process, and return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def command(self, *words: str) -> str:
        """Return the output of one `engram` command on this host."""
        done = subprocess.run(  # noqa: S603
            [*ENGRAM, *words],
            env=self.env,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise SystemExit(done.stderr.strip())
        return done.stdout

    def told(self) -> list[str]:
        """Return what the log says of vaults that changed hands."""
        lines = re.findall(r"engram\.fleet: (.*)", self.log.read_text())
        return [line for line in lines if "vault" in line]


class Client:
    """A chatbot behind a load balancer: it asks the daemons in turn, and tries again."""

    def __init__(self, daemons: list[DaemonProcess], tokens: dict[str, str]) -> None:
        self.daemons = daemons
        self.tokens = tokens
        self.turn = 0
        self.tried_again = 0

    def ask(self, name: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of whichever daemon answers, for the token of one vault."""
        last = time.monotonic() + PATIENCE
        while time.monotonic() < last:
            self.turn += 1
            daemon = self.daemons[self.turn % len(self.daemons)]
            try:
                return asked(daemon, self.tokens[name], path, body)
            except OSError:
                self.tried_again += 1
                time.sleep(0.05)
        raise SystemExit("no daemon answered")


def asked(
    daemon: DaemonProcess, token: str, path: str, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the answer of one daemon; raise OSError where it does not give one."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{daemon.port}{path}",
        None if body is None else json.dumps(body).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:  # noqa: S310
        answer: dict[str, Any] = json.load(reply)
        return answer


def main() -> int:
    """Run the demonstration; return 0 if every acknowledged turn was found."""
    with ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="engram-fleet-")
        )
        root = Path(folder)
        try:
            dsn = stack.enter_context(server())
        except UnavailableServerError as reason:
            print(f"This demonstration needs a PostgreSQL: {reason}")
            return 1
        daemons = [DaemonProcess(letter, root, dsn) for letter in "AB"]
        return shown(daemons, stack)


def shown(daemons: list[DaemonProcess], stack: ExitStack) -> int:
    """Show each step in turn."""
    heading("1. Three vaults in one folder, two daemons on one database")
    first, second = daemons
    tokens = {}
    for name in NAMES:
        vault = str(first.root / "vaults" / name)
        first.command("init", vault)
        made = first.command("token", "create", "bot", "--vault", vault, "--json")
        tokens[name] = json.loads(made)["token"]
    for daemon in daemons:
        daemon.start()
        stack.callback(stop, daemon)
        print(f"   daemon {daemon.letter}  http://127.0.0.1:{daemon.port}")

    heading("2. Each vault is told something, through both; one of them has it open")
    client = Client(daemons, tokens)
    kept: Counter[str] = Counter()
    for thing in THINGS[:10]:
        tell(client, thing, kept)
    where(daemons, tokens)

    victim = holder(daemons, tokens["anna"])
    other = second if victim is first else first
    heading(f"3. Ask daemon {other.letter} about Anna, whose vault {victim.letter} has")
    question = {"query": f"Where is the {THINGS[0]}?"}
    hits = asked(other, tokens["anna"], "/v1/recall", question)["hits"]
    print(f"   {other.letter} passes the question on: {hits[0]['text']}")

    heading(f"4. Daemon {victim.letter} is killed while turns arrive")
    for number, thing in enumerate(THINGS[10:]):
        if number == 3:
            victim.end(signal.SIGKILL)
            print(f"   kill -9: daemon {victim.letter} is gone")
        tell(client, thing, kept)
    print(
        f"   {client.tried_again} requests met it, and went to {other.letter} instead"
    )
    print(f"   acknowledged so far: {kept.total()} turns")
    for line in other.told():
        print(f"   log of {other.letter}: {line}")

    heading("5. Is every acknowledged turn there, once?")
    found, stored = check(other, tokens, kept)
    print(f"   found by recall: {found} of {kept.total()}; stored: {stored}")

    heading(f"6. Daemon {victim.letter} comes back, {other.letter} is stopped in order")
    victim.start()
    other.end()
    print(f"   log of {other.letter}: {other.told()[-1]}")
    again, _ = check(victim, tokens, kept)
    print(f"   found by recall through {victim.letter}: {again} of {kept.total()}")
    whole = found == stored == again == kept.total()
    heading("All of it is there." if whole else "Some of it is missing.")
    return 0 if whole else 1


def tell(client: Client, thing: str, kept: Counter[str]) -> None:
    """Tell each vault where a thing is; count what was acknowledged."""
    for number, name in enumerate(NAMES):
        place = PLACES[(THINGS.index(thing) + 2 * number) % len(PLACES)]
        text = f"The {thing} is in the {place}."
        turn = {"text": text, "session": "moving house", "id": thing}
        client.ask(name, "/v1/turns", {"turns": [turn]})
        kept[name] += 1


def check(
    daemon: DaemonProcess, tokens: dict[str, str], kept: Counter[str]
) -> tuple[int, int]:
    """Return how many turns a daemon finds by recall, and how many are stored."""
    found = stored = 0
    for number, name in enumerate(NAMES):
        for index, thing in enumerate(THINGS[: kept[name]]):
            place = PLACES[(index + 2 * number) % len(PLACES)]
            question = {"query": f"Where is the {thing}?"}
            hits = asked(daemon, tokens[name], "/v1/recall", question)["hits"]
            found += any(f"{thing} is in the {place}" in hit["text"] for hit in hits)
        asked(daemon, tokens[name], "/v1/flush", {})
        stored += asked(daemon, tokens[name], "/v1/stats")["turns"]
    return found, stored


def holder(daemons: list[DaemonProcess], token: str) -> DaemonProcess:
    """Return the daemon that has the vault of a token open."""
    address = asked(daemons[0], token, "/v1/status")["daemon"]["lease"]["address"]
    return next(one for one in daemons if address.endswith(f":{one.port}"))


def where(daemons: list[DaemonProcess], tokens: dict[str, str]) -> None:
    """Print which daemon has which vault."""
    for name in NAMES:
        print(f"   {name:<6} is open in daemon {holder(daemons, tokens[name]).letter}")


def stop(daemon: DaemonProcess) -> None:
    """End a daemon that still runs."""
    if daemon.process.poll() is None:
        daemon.end()


if __name__ == "__main__":
    sys.exit(main())
