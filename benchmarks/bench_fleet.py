"""The proof of a fleet: daemons that are killed and stopped at random lose no turn.

    python benchmarks/bench_fleet.py                      4 daemons, 200 vaults, 10,000 turns
    python benchmarks/bench_fleet.py --daemons 3 --vaults 20 --turns 500 --seed 7
    python benchmarks/bench_fleet.py --pause 20 40        a fault only every 20 to 40 seconds
    python benchmarks/bench_fleet.py --calm               the same load without faults
    python benchmarks/bench_fleet.py --out FILE           and write the figures as JSON

Each daemon is a host of its own (`fleet_host.py`): no file lock reaches another one, so
the lease in the database alone decides. Clients send turns with the token of a vault to
any daemon until they are acknowledged. What must hold afterwards is in `Verdict`.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psycopg

from benchmarks import material
from benchmarks.figures import quantile
from benchmarks.fleet_machine import (
    HONEST,
    Daemon,
    DatabaseProcesses,
    Fleet,
    ask,
    cpu_of,
    daemons,
    private_memory,
)
from benchmarks.fleet_verdict import (
    WORD,
    Verdict,
    compared,
    fences,
    first_hits,
    logs,
    published,
    stored,
)
from engram.memory import VaultMemory
from tests.fakes.answers import free_port
from tests.postgres import server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.fleet_machine import Answer

STATEMENTS = (
    "My cousin {0} lives in {1}.",
    "I prefer {0} over {1}.",
    "I work with {0} at {1}.",
    "My dentist {0} has moved to {1}.",
)
QUESTION_SHARE = 0.15
"""Questions for each turn."""
WAIT, RETRY, GIVE_UP = 12.0, 0.2, 180.0
UNFILED = ("waiting", "distilling", "parked", "dead")


@dataclass(frozen=True)
class Plan:
    """The size of a run, and how its faults are chosen.

    `stops` are the shares of the lease time that a stopped daemon stays stopped.
    """

    daemons: int = 4
    vaults: int = 200
    turns: int = 10_000
    clients: int = 24
    seed: int = 1
    lease: float = 15.0
    calm: bool = False
    pause: tuple[float, float] = (4.0, 10.0)
    stops: tuple[float, float] = (1.2, 2.0)
    healthy: int = 2
    rate: float = 0.0
    questions: int = 200


# -- load ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """A turn of a vault; `word` is in no other one."""

    vault: str
    word: str
    session: str
    role: str
    text: str

    def body(self) -> dict[str, Any]:
        """The turn as `observe` takes it."""
        turn = {
            "id": self.word,
            "session": self.session,
            "role": self.role,
            "text": self.text,
        }
        return {"turns": [turn]}


def conversation(plan: Plan, names: Sequence[str]) -> dict[str, list[Said]]:
    """The turns of each vault: few vaults say much, most say little."""
    chance, writer = random.Random(plan.seed), material.Writer(plan.seed)
    weights = [chance.lognormvariate(0, 1) for _ in names]
    owners = [
        *names,
        *chance.choices(names, weights, k=max(plan.turns - len(names), 0)),
    ]
    said: dict[str, list[Said]] = {name: [] for name in names}
    for name in owners[: plan.turns]:
        number = len(said[name])
        word = f"qz{names.index(name):03x}x{number:06d}"
        role = "assistant" if number % 2 else "user"
        text = writer.sentence()
        if role == "user":
            one, other = (w.capitalize() for w in writer.rare(2))
            text = chance.choice(STATEMENTS).format(f"{one} {word}", other) + f" {text}"
        else:
            text = f"{text} ({word})"
        said[name].append(Said(name, word, f"s{number // 20}", role, text))
    return said


class Load:
    """The clients: each sends the turns of its vaults to any of the daemons, in order."""

    def __init__(
        self, plan: Plan, fleet: Fleet, ports: Sequence[int], verdict: Verdict
    ) -> None:
        self.plan, self.fleet, self.ports, self.verdict = plan, fleet, ports, verdict
        self.acknowledged: dict[str, str] = {}
        self.waits: list[float] = []
        self.asked: list[float] = []
        self._lock = threading.Lock()
        self.names = sorted(fleet.tokens)
        self.said = conversation(plan, self.names)
        self.began = time.monotonic()

    def run(self) -> None:
        """Send everything."""
        self.began = time.monotonic()
        threads = [
            threading.Thread(target=self._client, args=(number,))
            for number in range(self.plan.clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, number: int) -> None:
        chance = random.Random(self.plan.seed * 1000 + number)
        own = self.names[number :: self.plan.clients]
        rest = [list(reversed(self.said[name])) for name in own]
        sent = 0
        while rest := [one for one in rest if one]:
            turn = chance.choice(rest).pop()
            self._pace(number, sent)
            sent += 1
            self._tell(turn, chance)
            if chance.random() < QUESTION_SHARE:
                self._question(turn.vault, chance)

    def _pace(self, number: int, sent: int) -> None:
        """Wait for the time of the next turn where there is a rate for all clients."""
        if self.plan.rate:
            due = (sent + number / self.plan.clients) * self.plan.clients
            time.sleep(max(self.began + due / self.plan.rate - time.monotonic(), 0))

    def _tell(self, turn: Said, chance: random.Random) -> None:
        began = time.monotonic()
        while time.monotonic() - began < GIVE_UP:
            port = chance.choice(self.ports)
            sent = time.perf_counter()
            answer = self._ask(port, turn.vault, "/v1/turns", turn.body())
            if answer.status == 202:
                with self._lock:
                    self.acknowledged[turn.word] = turn.vault
                    self.waits.append(time.perf_counter() - sent)
                return
            time.sleep(min(float(answer.headers.get("retry-after", RETRY)), 2.0))
        self._fault("every turn is acknowledged in the end", turn.word)

    def _question(self, vault: str, chance: random.Random) -> None:
        turn = chance.choice(self.said[vault])
        sent = time.perf_counter()
        answer = self._ask(
            chance.choice(self.ports), vault, "/v1/recall", {"query": turn.text[:60]}
        )
        if answer.status == 200:
            with self._lock:
                self.asked.append(time.perf_counter() - sent)

    def _ask(self, port: int, vault: str, path: str, body: Any) -> Answer:
        answer = ask(port, self.fleet.tokens[vault], path, body, timeout=WAIT)
        self.check(vault, path, answer)
        return answer

    def check(self, vault: str, path: str, answer: Answer) -> None:
        """Count an answer, and look at what no answer may be or say."""
        with self._lock:
            self.verdict.counts[f"answers {answer.status} to {path}"] += 1
        text = answer.body.decode("utf-8", "replace")
        busy = answer.status in {429, 503} and "retry-after" in answer.headers
        if answer.status >= 400 and not busy:
            self._fault(
                "no answer is a fault but 503 or 429 with Retry-After",
                f"{answer.status} to {path} of {vault}: {text[:300]}",
            )
        own = f"qz{self.names.index(vault):03x}x"
        if strangers := [one for one in WORD.findall(text) if not one.startswith(own)]:
            self._fault("no vault sees words of another", f"{vault}: {strangers[:3]}")

    def _fault(self, law: str, what: str) -> None:
        with self._lock:
            self.verdict.faults[law].append(what)


# -- faults ----------------------------------------------------------------------------


class Chaos:
    """Kills daemons and stops them for longer than a lease, at random, until `end`."""

    def __init__(self, plan: Plan, made: Sequence[Daemon], verdict: Verdict) -> None:
        self.plan, self.daemons, self.verdict = plan, made, verdict
        self._chance = random.Random(plan.seed + 77)
        self._stop = threading.Event()
        self._hurt: set[int] = set()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Begin."""
        if not self.plan.calm:
            self._thread.start()

    def end(self) -> None:
        """Stop, and let every daemon run again."""
        self._stop.set()
        if self._thread.ident:
            self._thread.join()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        kills = self._chance.random() < 0.5
        while not self._stop.wait(self._chance.uniform(*self.plan.pause)):
            with self._lock:
                well = [one for one in self.daemons if one.host not in self._hurt]
                if len(well) <= self.plan.healthy:
                    continue
                daemon = self._chance.choice(well)
                self._hurt.add(daemon.host)
            kills = not kills
            work = self._kill if kills else self._freeze
            share = self._chance.random()
            thread = threading.Thread(target=self._hurting, args=(work, daemon, share))
            self._threads.append(thread)
            thread.start()

    def _hurting(self, work: Any, daemon: Daemon, share: float) -> None:
        try:
            work(daemon, share)
        finally:
            with self._lock:
                self._hurt.discard(daemon.host)

    def _kill(self, daemon: Daemon, share: float) -> None:
        daemon.kill()
        self.verdict.counts["killed"] += 1
        self._stop.wait(3 * share)
        daemon.start()
        daemon.wait_ready(60)

    def _freeze(self, daemon: Daemon, share: float) -> None:
        least, most = self.plan.stops
        daemon.send(signal.SIGSTOP)
        self.verdict.counts["stopped"] += 1
        time.sleep(self.plan.lease * (least + share * (most - least)))
        daemon.send(signal.SIGCONT)


# -- the database ----------------------------------------------------------------------

AUDIT = """
CREATE SCHEMA audit;
CREATE TABLE audit.taken (
    vault text, fence bigint, pid text, at timestamptz DEFAULT clock_timestamp()
);
CREATE FUNCTION audit.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO audit.taken (vault, fence, pid)
        VALUES (NEW.vault, NEW.fence, to_jsonb(NEW) ->> 'pid');
    RETURN NEW;
END $$;
CREATE TRIGGER note AFTER UPDATE ON engram.lease FOR EACH ROW
    WHEN (OLD.fence IS DISTINCT FROM NEW.fence) EXECUTE FUNCTION audit.note();
"""
"""Every fence that is given, as the database saw it."""


def migrated(dsn: str, folder: Path) -> None:
    """Make the schema, by opening a vault of no fleet, and watch its leases."""
    root = folder / "first"
    material.vault(root, 0)
    settings = replace(
        material.settings(root, folder / "first-home"), postgres=dsn, place=None
    )
    memory = VaultMemory(settings)
    memory.start()
    memory.close()
    with closing(psycopg.connect(dsn, autocommit=True)) as admin:
        admin.execute(AUDIT.encode())


# -- the vaults ------------------------------------------------------------------------


def rested(load: Load, ports: Sequence[int]) -> None:
    """Make the first runs of each vault, which would be due meanwhile."""
    for number, name in enumerate(load.names):
        for cadence in ("nightly", "weekly"):
            port = ports[number % len(ports)]
            body = {"cadence": cadence}
            ask(port, load.fleet.tokens[name], "/v1/consolidate", body)


def settled(load: Load, ports: Sequence[int], seconds: float = 120.0) -> None:
    """Have every waiting turn filed, by whichever daemon has its vault."""
    for number, name in enumerate(load.names):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            port = ports[number % len(ports)]
            answer = ask(port, load.fleet.tokens[name], "/v1/flush", {}, timeout=60)
            load.check(name, "/v1/flush", answer)
            left = answer.json() if answer.status == 200 else {"waiting_turns": 1}
            if not any(left.get(f"{state}_turns") for state in UNFILED):
                break
            time.sleep(0.5)
        else:
            load.verdict.counts["vaults with turns that wait"] += 1


def questioned(load: Load, ports: Sequence[int]) -> dict[tuple[str, str], list[Any]]:
    """What recall answers through the daemons, by vault and question."""
    found = {}
    for number in range(load.plan.questions):
        name = load.names[number % len(load.names)]
        said = load.said[name]
        turn = said[number // len(load.names) % len(said)]
        query = " ".join(turn.text.split()[:9])
        body = {"query": query, "record": False}
        answer = ask(
            ports[number % len(ports)], load.fleet.tokens[name], "/v1/recall", body
        )
        load.check(name, "/v1/recall", answer)
        found[name, query] = first_hits(answer.json())
    return found


def doctored(load: Load, ports: Sequence[int], verdict: Verdict) -> None:
    """Have each vault compared with its rows."""
    for number, name in enumerate(load.names):
        port = ports[number % len(ports)]
        answer = ask(port, load.fleet.tokens[name], "/v1/doctor", {}, timeout=60)
        load.check(name, "/v1/doctor", answer)
        rows = answer.json().get("findings") or []
        wrong = [
            row["what"]
            for row in rows
            if row["code"] == "database" and row["level"] != "notice"
        ]
        if answer.status != 200 or wrong:
            verdict.faults["the database agrees with the vault"].append(
                f"{name}: {answer.status} {wrong[:2]}"
            )


# -- a run -----------------------------------------------------------------------------


def run(plan: Plan, dsn: str, folder: Path) -> Verdict:
    """Play a plan below `folder`; return what holds."""
    verdict = Verdict()
    database = DatabaseProcesses.of(dsn)
    migrated(dsn, folder)
    fleet = Fleet(folder / "fleet", dsn, lease=plan.lease)
    fleet.vaults.mkdir(parents=True)
    for number in range(plan.vaults):
        fleet.add(f"vault-{number:03d}")
    ports = [free_port() for _ in range(plan.daemons)]
    with daemons(fleet, ports) as made:
        load, chaos = Load(plan, fleet, ports, verdict), Chaos(plan, made, verdict)
        if plan.calm:
            rested(load, ports)
        before = database.cpu(), {one.pid: cpu_of(one.pid) for one in made}
        opened_before = opened(dsn)
        began = time.monotonic()
        chaos.start()
        try:
            load.run()
        finally:
            chaos.end()
        took = time.monotonic() - began
        settled(load, ports)
        after = database.cpu(), {one.pid: cpu_of(one.pid) for one in made}
        verdict.figures |= {
            "seconds of load": round(took, 1),
            "memory of the daemons, MB": [
                round(private_memory(one.pid) / 1e6) for one in made
            ],
            "connections": connections(dsn),
        }
        if plan.calm:
            spent = sum(after[1][pid] - before[1].get(pid, 0) for pid in after[1])
            verdict.figures |= {
                "CPU of the daemons, s": round(spent, 2),
                "CPU of the database, s": round(after[0] - before[0], 2),
                "vaults opened": opened(dsn) - opened_before,
            }
        verdict.figures |= {
            "acknowledged, ms (p50, p99)": _spread(load.waits),
            "questions, ms (p50, p99)": _spread(load.asked),
        }
        asked = questioned(load, ports)
        doctored(load, ports, verdict)
    stored(fleet, load.acknowledged, verdict)
    published(fleet, fences(fleet, verdict), verdict)
    logs(fleet, verdict)
    compared(fleet, asked, verdict)
    return verdict


def connections(dsn: str) -> int:
    """The connections that the daemons have to the database."""
    return counted(
        dsn,
        "SELECT count(*) - 1 FROM pg_stat_activity "
        "WHERE backend_type = 'client backend'",
    )


def opened(dsn: str) -> int:
    """How often a daemon has taken a vault so far."""
    return counted(dsn, "SELECT count(*) FROM audit.taken")


def counted(dsn: str, query: LiteralString) -> int:
    """Return the number that a query gives."""
    with closing(psycopg.connect(dsn, autocommit=True)) as admin:
        row = admin.execute(query).fetchone()
    assert row
    return int(row[0])


def _spread(seconds: Sequence[float]) -> list[float]:
    if not seconds:
        return []
    return [round(1e3 * quantile(seconds, share), 1) for share in (0.5, 0.99)]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in asdict(Plan()).items():
        if isinstance(default, bool):
            parser.add_argument(f"--{name}", action="store_true")
        elif isinstance(default, int | float):
            parser.add_argument(f"--{name}", type=type(default), default=default)
        else:  # seconds from and to
            parser.add_argument(f"--{name}", type=float, nargs=2, default=default)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path, help="an empty folder for all files")
    told = vars(parser.parse_args(words))
    out, keep = told.pop("out"), told.pop("keep")
    plan = Plan(**told)
    print(plan, datetime.now(UTC).isoformat(timespec="seconds"), flush=True)
    with server(*HONEST) as dsn, tempfile.TemporaryDirectory() as name:
        verdict = run(plan, dsn, (keep or Path(name)).resolve())
    print("\n".join(verdict.lines()))
    broken = {law: found for law, found in verdict.faults.items() if found}
    if out:
        out.write_text(
            json.dumps(
                {
                    "plan": asdict(plan),
                    "figures": verdict.figures,
                    "counts": verdict.counts,
                    "broken": broken,
                },
                indent=1,
            )
        )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
