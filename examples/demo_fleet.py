"""Kill daemons that share vaults, and look for lost turns, doubled turns and two owners.

    python examples/demo_fleet.py [--turns 300] [--vaults 3] [--daemons 3] [--seed 1]

Each daemon is a process without file locks, as a host of its own; they share a folder of
vaults and a PostgreSQL of the development wheel. Clients send turns to any daemon,
follow its status 421 to the owner of the vault, and try again after any other refusal.
Meanwhile daemons are killed, suspended, and cut off from the database at random.
Everything is temporary.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from demo_vault import ENGRAM, heading

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.postgres import UnavailableServerError, server

PLACES = ("attic", "cellar", "garage", "hallway", "kitchen", "shed", "wardrobe")
PATIENCE = 60.0
HOST = """
import os, sys, time
from engram.index.owner import VaultOwner
from engram.serve.commands import run
from engram.vault import syscalls

def note(kind, what):
    with open(os.environ["DEMO_LOG"], "a") as log:
        log.write(f"{time.monotonic_ns()} {kind} {os.getpid()} {what}\\n")

class Host(syscalls.Syscalls):
    def lock(self, descriptor):
        pass
    def rename(self, old, new, folder, to, flags=0):
        note("write", os.readlink(f"/proc/self/fd/{to}"))
        super().rename(old, new, folder, to, flags)

take = VaultOwner.take
def taken(owner, connection):
    take(owner, connection)
    note("take", owner.vault)

syscalls.SYS, VaultOwner.take = Host(), taken
sys.exit(run(sys.argv[1:]))
"""
"""A daemon whose file locks reach no other, and which logs takes and renames."""


class Plan(NamedTuple):
    """The size of a run; `pause` is the longest time in seconds between two faults."""

    turns: int = 600
    vaults: int = 3
    daemons: int = 3
    clients: int = 4
    seed: int = 1
    pause: float = 2.0


class Host:
    """A daemon with a port, sockets and a cache of its own."""

    def __init__(self, number: int, root: Path, dsn: str) -> None:
        self.root = root
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        own = root / f"host-{number}"
        (own / "run").mkdir(parents=True, mode=0o700)
        self.env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "HOME": str(own),
            "XDG_RUNTIME_DIR": str(own / "run"),
            "XDG_STATE_HOME": str(root / "state"),
            "ENGRAM_POSTGRES": dsn,
            "DEMO_LOG": str(root / "log"),
        }

    def start(self) -> None:
        """Start the process, and wait until it listens."""
        with (self.root / "stderr").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603
                [
                    *(sys.executable, "-P", "-c", HOST, "daemon"),
                    *("--tcp", str(self.port), "--vaults", str(self.root / "vaults")),
                ],
                env=self.env,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        last = time.monotonic() + PATIENCE
        while time.monotonic() < last:
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", self.port)):
                    return
            time.sleep(0.05)
        raise SystemExit((self.root / "stderr").read_text()[-2000:])

    def end(self, number: int = signal.SIGTERM) -> None:
        """Send a signal to the process, and wait for its end."""
        self.process.send_signal(number)
        self.process.wait(PATIENCE)

    def command(self, *words: str) -> str:
        """Return the output of one `engram` command on this host."""
        given: dict[str, Any] = {"env": self.env, "capture_output": True, "text": True}
        done = subprocess.run([*ENGRAM, *words], check=False, **given)  # noqa: S603
        if done.returncode:
            raise SystemExit(done.stderr)
        return str(done.stdout)


class Proof:
    """One run: what was acknowledged, what was done to the daemons, what became of it."""

    def __init__(self, plan: Plan, root: Path, dsn: str) -> None:
        self.plan = plan
        self.root = root
        self.dsn = dsn
        self.hosts = [Host(number, root, dsn) for number in range(plan.daemons)]
        self.tokens: dict[str, str] = {}
        self.acknowledged: list[tuple[str, int]] = []
        self.counts: Counter[str] = Counter()
        self.longest = 0.0
        self._done = threading.Event()

    def run(self) -> dict[str, int]:
        """Play the plan, and return the number of faults by law; all should be 0."""
        first = self.hosts[0]
        for number in range(self.plan.vaults):
            name = f"v{number}"
            vault = str(self.root / "vaults" / name)
            first.command("init", vault)
            made = first.command("token", "create", "bot", "--vault", vault, "--json")
            self.tokens[name] = json.loads(made)["token"]
        for host in self.hosts:
            host.start()
        try:
            with ThreadPoolExecutor(self.plan.clients + 1) as threads:
                chaos = threads.submit(self._disturb)
                sent = [
                    threads.submit(self._send, client)
                    for client in range(self.plan.clients)
                ]
                try:
                    for client in sent:
                        client.result()
                finally:
                    self._done.set()
                chaos.result()
            return self._verdict()
        finally:
            for host in self.hosts:
                if host.process.poll() is None:
                    host.end(signal.SIGKILL)

    # -- clients -----------------------------------------------------------------------

    def _send(self, client: int) -> None:
        chance = random.Random(f"{self.plan.seed} {client}")  # noqa: S311
        for number in range(client, self.plan.turns, self.plan.clients):
            name = f"v{number % self.plan.vaults}"
            turn = {"text": said(number), "session": f"c{client}", "id": f"t{number}"}
            began = time.monotonic()
            self._ask(name, "/v1/turns", {"turns": [turn]}, chance)
            self.longest = max(self.longest, time.monotonic() - began)
            self.acknowledged.append((name, number))

    def _ask(
        self, name: str, path: str, body: dict[str, Any], chance: random.Random
    ) -> dict[str, Any]:
        """Ask any daemon, follow it to the owner, and try again until it answers."""
        last, address = time.monotonic() + PATIENCE, ""
        while time.monotonic() < last:
            request = urllib.request.Request(  # noqa: S310
                (address or chance.choice(self.hosts).address) + path,
                json.dumps(body).encode(),
                {
                    "Authorization": f"Bearer {self.tokens[name]}",
                    "Content-Type": "application/json",
                },
            )
            address = ""
            try:
                with urllib.request.urlopen(request, timeout=10) as reply:  # noqa: S310
                    answer: dict[str, Any] = json.load(reply)
                    return answer
            except urllib.error.HTTPError as refused:
                address = refused.headers["Engram-Owner"] or ""
                self.counts[f"status {refused.code}"] += 1
                if refused.code not in {421, 503}:
                    raise
            except (OSError, http.client.HTTPException):
                self.counts["no answer"] += 1
            time.sleep(0.0 if address else 0.05)
        raise SystemExit(f"no daemon answered for {name}")

    # -- faults ------------------------------------------------------------------------

    def _disturb(self) -> None:
        chance = random.Random(self.plan.seed)  # noqa: S311
        faults = [self._kill, self._suspend, self._cut_off]
        while not self._done.wait(chance.uniform(0.3, 1) * self.plan.pause):
            fault = faults[self.counts["faults"] % len(faults)]
            self.counts["faults"] += 1
            fault(chance.choice(self.hosts))

    def _kill(self, host: Host) -> None:
        host.end(signal.SIGKILL)
        self.counts["killed"] += 1
        self._done.wait(0.5)
        host.start()

    def _suspend(self, host: Host) -> None:
        host.process.send_signal(signal.SIGSTOP)
        self.counts["suspended"] += 1
        self._done.wait(1.0)
        host.process.send_signal(signal.SIGCONT)

    def _cut_off(self, _host: Host) -> None:
        """End every connection that holds the lock of a vault."""
        import psycopg

        with closing(psycopg.connect(self.dsn, autocommit=True)) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks "
                "WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
            )
        self.counts["cut off"] += 1

    # -- laws --------------------------------------------------------------------------

    def _verdict(self) -> dict[str, int]:
        chance = random.Random(self.plan.seed)  # noqa: S311
        stored, notes, found = Counter[int](), Counter[int](), Counter[int]()
        for name in self.tokens:
            self._ask(name, "/v1/flush", {}, chance)
        for name, number in chance.sample(self.acknowledged, min(30, self.plan.turns)):
            answer = self._ask(name, "/v1/recall", {"query": said(number)}, chance)
            found[number] = any(said(number) in hit["text"] for hit in answer["hits"])
        for host in self.hosts:
            host.end()
        damaged = 0
        for name in self.tokens:
            vault = self.root / "vaults" / name
            text = "\n".join(one.read_text() for one in vault.glob("sessions/**/*.md"))
            facts = [one.read_text() for one in vault.glob("facts/**/*.md")]
            for number in (one for where, one in self.acknowledged if where == name):
                stored[number] = text.count(f" %%t{number}%%")
                notes[number] = sum(said(number) in fact for fact in facts)
            said_by = self.hosts[0].command("doctor", "--vault", str(vault), "--json")
            damaged += sum(
                row["level"] != "notice" for row in json.loads(said_by)["findings"]
            )
        self.counts["late renames"] = self._late()
        return {
            "acknowledged turns that were lost": sum(not n for n in stored.values()),
            "turns stored twice": sum(n > 1 for n in stored.values()),
            "memories stored twice": sum(n > 1 for n in notes.values()),
            "questions without the answer": sum(not n for n in found.values()),
            "findings of doctor": damaged,
        }

    def _late(self) -> int:
        """Count the renames in a vault by a process that was not the last to take it."""
        names = {}
        for vault in (self.root / "vaults").iterdir():
            line = (vault / "engram.toml").read_text().partition('id = "')[2]
            names[line.partition('"')[0]] = vault.name
        owners: dict[str, str] = {}
        late = 0
        lines = [
            one.split(" ", 3) for one in (self.root / "log").read_text().split("\n")
        ]
        for _, kind, pid, what in sorted(
            (int(line[0]), *line[1:]) for line in lines if len(line) == 4
        ):
            if kind == "take":
                owners[names.get(what, what)] = pid
                self.counts["vaults taken"] += 1
            elif "/vaults/" in what:
                name = what.partition("/vaults/")[2].partition("/")[0]
                self.counts["renames"] += 1
                late += owners.get(name, pid) != pid
        return late


def said(number: int) -> str:
    """Return the text of a turn."""
    return f"Parcel number {number:04} is in the {PLACES[number % len(PLACES)]}."


def main() -> int:
    """Run the demonstration; return 0 if no law was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in Plan()._asdict().items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    plan = Plan(**vars(parser.parse_args()))
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fleet-"))
        try:
            dsn = stack.enter_context(server())
        except UnavailableServerError as reason:
            print(f"This demonstration needs a PostgreSQL: {reason}")
            return 1
        heading(
            f"{plan.vaults} vaults, {plan.daemons} daemons, {plan.turns} turns; one daemon "
            "after another is killed, suspended or cut off from the database"
        )
        proof, began = Proof(plan, Path(folder), dsn), time.monotonic()
        broken = proof.run()
        print(f"   {len(proof.acknowledged)} turns acknowledged, ", end="")
        print(
            f"each after at most {proof.longest:.1f} s; {time.monotonic() - began:.0f} s"
        )
        for name, count in sorted(proof.counts.items()):
            print(f"   {name}: {count}")
        heading("What must be 0")
        for law, count in broken.items():
            print(f"   {law}: {count}")
        return int(any(broken.values()))


if __name__ == "__main__":
    sys.exit(main())
