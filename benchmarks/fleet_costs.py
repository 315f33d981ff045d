"""What a vault, a turn and a question cost, by the size of the vault.

    python benchmarks/fleet_costs.py [NOTES ...]      default: 10 100 1000 10000
    python benchmarks/fleet_costs.py --keep           and write these sizes to fleet/costs.json

Each size is measured twice: in a process of its own (`inside`), where each part can be
told apart, and through the daemon of many vaults over HTTP (`daemon`). CPU time, not
elapsed time, of engram and of the processes of PostgreSQL (`tests/postgres.py`, with
the settings of `fleet_machine.HONEST`). Bytes and rows are of the database's tables
with their indexes, before and after.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
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
    status_of,
)
from benchmarks.fleet_tables import costs
from engram.daemon.fleet import KINDS
from engram.memory import VaultMemory
from engram.vault import syscalls
from tests.fakes.answers import free_port
from tests.postgres import server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

KEPT = Path(__file__).with_name("fleet") / "costs.json"
SIZES = (10, 100, 1_000, 10_000)
QUESTIONS, BATCHES, BATCH = 200, 40, 5
VECTORS, DIMENSION = 1_000, 256
MANY = {10: 16, 100: 16, 1_000: 8}
"""Vaults that one daemon has open; 3 of other sizes."""
IDLE_SECONDS = 10.0
CADENCES = ("nightly", "weekly")
ASKED, SAID = 40, 20
"""Requests to each vault through the daemon."""


# The database.


def sizes(dsn: str) -> dict[str, dict[str, int]]:
    """The rows, bytes and bytes of indexes of each table, and of the log so far."""
    with closing(psycopg.connect(dsn, autocommit=True)) as admin:
        names = admin.execute(
            "SELECT relname, pg_total_relation_size(oid), pg_indexes_size(oid) "
            "FROM pg_class WHERE relnamespace = 'engram'::regnamespace AND relkind = 'r'"
        ).fetchall()
        found = {
            name: {"rows": _rows(admin, name), "bytes": size, "indexes": indexes}
            for name, size, indexes in names
        }
        row = admin.execute(
            "SELECT pg_current_wal_lsn() - '0/0', xact_commit FROM pg_stat_database "
            "WHERE datname = current_database()"
        ).fetchone()
    assert row
    log, commits = map(int, row)
    return found | {"log": {"rows": commits, "bytes": log, "indexes": 0}}


def _rows(admin: psycopg.Connection[Any], name: str) -> int:
    row = admin.execute(f"SELECT count(*) FROM engram.{name}".encode()).fetchone()
    assert row
    return int(row[0])


def grown(
    before: Mapping[str, Mapping[str, int]],
    after: Mapping[str, Mapping[str, int]],
    only: Sequence[str] = (),
) -> dict[str, int]:
    """How much the tables grew: rows, bytes, of which indexes; and the log."""
    none = {"rows": 0, "bytes": 0, "indexes": 0}
    names = only or [one for one in after if one not in {"log", "embedding"}]
    grew = {
        key: sum(after[one][key] - before.get(one, none)[key] for one in names)
        for key in none
    }
    log = {key: after["log"][key] - before["log"][key] for key in none}
    return grew | {"log": log["bytes"], "commits": log["rows"]}


class Watch:
    """The CPU seconds of engram and of the database since it was made."""

    def __init__(self, database: DatabaseProcesses, own: Callable[[], float]) -> None:
        self._database, self._own = database, own
        self._began = self._now()

    def _now(self) -> tuple[float, float]:
        return self._own(), self._database.cpu()

    def read(self, among: int = 1) -> dict[str, float]:
        """Milliseconds of each, for one of so many."""
        now = self._now()
        engram, database = (
            1e3 * (b - a) / among for a, b in zip(self._began, now, strict=True)
        )
        return {"engram_ms": round(engram, 3), "database_ms": round(database, 3)}


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """The middle, the 99th of 100 and the mean, in milliseconds."""
    return {
        "p50_ms": round(1e3 * statistics.median(seconds), 3),
        "p99_ms": round(1e3 * quantile(seconds, 0.99), 3),
        "mean_ms": round(1e3 * statistics.fmean(seconds), 3),
    }


def tree(folder: Path) -> dict[str, int]:
    """The files below a folder, their bytes, and their bytes in blocks of the disk."""
    files = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return {
        "files": len(files),
        "bytes": sum(one.st_size for one in files),
        "blocks": sum(-(-one.st_size // 4096) * 4096 for one in files),
    }


# In one process.


class Counting(syscalls.Syscalls):
    """The real calls, with a count of syncs and written bytes."""

    def __init__(self) -> None:
        self.syncs = self.written = 0

    def fsync(self, descriptor: int) -> None:
        """Count and sync."""
        self.syncs += 1
        super().fsync(descriptor)

    def fdatasync(self, descriptor: int) -> None:
        """Count and sync."""
        self.syncs += 1
        super().fdatasync(descriptor)

    def write(self, descriptor: int, content: bytes) -> int:
        """Count and write."""
        self.written += len(content)
        return super().write(descriptor, content)


def inside(dsn: str, notes: int, folder: Path) -> dict[str, Any]:
    """The parts of one vault, measured in this process."""
    root, database = folder / "vault", DatabaseProcesses.of(dsn)
    material.vault(root, notes)
    (root / "engram.toml").write_text(f'id = "{secrets.token_hex(8)}"\nzone = "UTC"\n')
    settings = replace(
        material.settings(root, folder / "home"), postgres=dsn, place=None
    )
    found: dict[str, Any] = {"notes": notes, "vault": tree(root)}

    def opened() -> VaultMemory:
        memory = VaultMemory(settings)
        memory.start()
        memory.catch_up()
        return memory

    opened_once(dsn, folder)  # the schema, and all modules
    before = sizes(dsn)
    watch = Watch(database, time.process_time)
    memory = opened()
    found["fill"] = watch.read(notes)
    found["rows"] = grown(before, sizes(dsn))
    watch = Watch(database, time.process_time)
    found["vectors"] = vectors(memory, min(notes, VECTORS), dsn)
    found["vectors"] |= watch.read(min(notes, VECTORS))
    found["recall"] = questions(memory, database, dsn)
    loop = memory.maintenance_loop
    watch = Watch(database, time.process_time)
    for cadence in CADENCES:
        loop.consolidate(cadence, dry_run=False, only=None)
    found["first_night"] = watch.read()
    found["turn"] = turns(memory, database, dsn)
    for cadence in CADENCES:
        watch = Watch(database, time.process_time)
        loop.consolidate(cadence, dry_run=False, only=None)
        found[cadence] = watch.read()
    watch = Watch(database, time.process_time)
    memory.close()
    found["close"] = watch.read()
    found["state"] = tree(settings.state)
    found["cache"] = tree(settings.cache)
    watch = Watch(database, time.process_time)
    memory = opened()
    found["open"] = watch.read()
    memory.close()
    return found


def opened_once(dsn: str, folder: Path) -> None:
    """Open and close an empty vault."""
    root = folder / "first"
    material.vault(root, 20)
    (root / "engram.toml").write_text(f'id = "{secrets.token_hex(8)}"\n')
    settings = replace(
        material.settings(root, folder / "first-home"), postgres=dsn, place=None
    )
    memory = VaultMemory(settings)
    memory.start()
    memory.catch_up()
    memory.call("recall", {"query": "Anna", "record": False})
    memory.call("observe", {"turns": [{"text": "I live in Berlin."}]})
    memory.call("flush", {})
    memory.close()


def vectors(memory: VaultMemory, count: int, dsn: str) -> dict[str, Any]:
    """The bytes of `count` vectors, with their index."""
    chance = np.random.default_rng(3)
    rows = chance.normal(size=(count, DIMENSION)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    before = sizes(dsn)
    store = memory.index.catalog.database.vectors(Path("none"), secrets.token_hex(4))
    store.put({int(key): row.tobytes() for key, row in enumerate(rows, 1)})
    grew = grown(before, sizes(dsn), ("embedding",))
    return {
        "dimension": DIMENSION,
        "bytes_each": round(grew["bytes"] / count),
        "log_each": round(grew["log"] / count),
    }


def questions(
    memory: VaultMemory, database: DatabaseProcesses, dsn: str
) -> dict[str, Any]:
    """The CPU of a question, in the thread that asks; each is asked twice."""
    writer = material.Writer(23)
    asked = [writer.question() for _ in range(QUESTIONS)]
    spent: list[list[float]] = []
    before = sizes(dsn)
    for _ in range(2):
        watch = Watch(database, time.process_time)
        spent.append([])
        for one in asked:
            began = time.thread_time()
            memory.call("recall", {"query": one, "record": False})
            spent[-1].append(time.thread_time() - began)
        all_threads = watch.read(QUESTIONS)
    grew = grown(before, sizes(dsn))
    return {
        "commits": round(grew["commits"] / QUESTIONS / 2, 2),
        "first": spread(spent[0]),
        **spread(spent[1]),
        **all_threads,
    }


def turns(memory: VaultMemory, database: DatabaseProcesses, dsn: str) -> dict[str, Any]:
    """The CPU of a turn by its parts, with bytes, rows and syncs."""
    memory.executor.attended = True
    counting, real = Counting(), syscalls.SYS
    syscalls.SYS = counting
    made = list(material.turns(BATCHES * BATCH, seed=41))
    count = len(made)
    vault, before = tree(memory.settings.vault), sizes(dsn)
    taken: list[float] = []
    parts = {"extract": 0.0, "file": 0.0}
    watch = Watch(database, time.process_time)
    acknowledged = 0
    for start in range(0, count, BATCH):
        for turn in made[start : start + BATCH]:
            sent = {
                "id": turn.id,
                "session": turn.session,
                "role": turn.role,
                "text": turn.text,
            }
            syncs = counting.syncs
            began = time.thread_time()
            memory.call("observe", {"turns": [sent]})
            taken.append(time.thread_time() - began)
            acknowledged += counting.syncs - syncs
        memory.queue.hurry()
        for batch in memory.pipeline.due(datetime.now(UTC) + timedelta(days=1)):
            began = time.process_time()
            found = memory.pipeline.distil(batch)
            parts["extract"] += time.process_time() - began
            began = time.process_time()
            memory.pipeline.file(batch, found)
            parts["file"] += time.process_time() - began
    all_of_it = watch.read(count)
    syscalls.SYS = real
    after, stands = sizes(dsn), tree(memory.settings.vault)
    grew = grown(before, after)
    return {
        "acknowledge": spread(taken),
        "extract_ms": round(1e3 * parts["extract"] / count, 3),
        "file_ms": round(1e3 * parts["file"] / count, 3),
        **all_of_it,
        "syncs": round(counting.syncs / count, 2),
        "syncs_acknowledged": round(acknowledged / count, 2),
        "written_bytes": round(counting.written / count),
        "vault_bytes": round((stands["bytes"] - vault["bytes"]) / count),
        "vault_files": round((stands["files"] - vault["files"]) / count, 3),
        "rows": round(grew["rows"] / count, 2),
        "database_bytes": round(grew["bytes"] / count),
        "log_bytes": round(grew["log"] / count),
        "commits": round(grew["commits"] / count, 2),
    }


# Through the daemon.


def through_daemon(dsn: str, notes: int, folder: Path) -> dict[str, Any]:
    """Memory, threads and connections of open and closed vaults; CPU of requests."""
    first = folder / "made"
    material.vault(first, notes)
    fleet = Fleet(folder / "fleet", dsn)
    fleet.vaults.mkdir(parents=True)
    names = [f"v{number}" for number in range(MANY.get(notes, 3))]
    for name in names:
        fleet.add(name, first)
    port, database = free_port(), DatabaseProcesses.of(dsn)
    question = ("/v1/recall", {"query": "Anna"})
    opened_once(dsn, folder)  # the schema
    postpone_work(fleet, names)
    with daemons(fleet, [port]) as (daemon,):
        served = Served(fleet, names, port, daemon, database)
        served.ask_each(names[:1], *question)  # which brings in every module
        watch = served.watch()
        served.ask_each(names[1:], *question)
        found: dict[str, Any] = {"cold_open": watch.read(len(names) - 1)}
        for cadence in CADENCES:  # else they would be due meanwhile
            served.ask_each(names, "/v1/consolidate", {"cadence": cadence})
        found |= served.load()
        watch = served.watch()
        daemon.send(signal.SIGHUP)  # closes every vault
        time.sleep(1)
        served.settle()
        found["close_each"] = watch.read(len(names))
    postpone_work(fleet, names)
    with daemons(fleet, [port]) as (daemon,):
        served = Served(fleet, names, port, daemon, database)
        served.settle()
        found["closed"] = served.state()
        served.ask_each(names[:1], *question)
        few, watch, waits = served.state(), served.watch(), []
        for name in names[1:]:
            began = time.perf_counter()
            served.ask_each([name], *question, rest=False)
            waits.append(time.perf_counter() - began)
        served.settle()
        opened = len(names) - 1
        found["warm_open"] = watch.read(opened) | {
            "elapsed_ms": round(1e3 * statistics.median(waits), 1)
        }
        served.requests(ASKED // 4, lambda: question)
        many = served.state()
        found["open_each"] = {
            key: round((many[key] - few[key]) / opened, 2) for key in many
        }
        found["idle_each"] = served.idle()
        backends = [private_memory(one) for one in database.children()]
        found["backend_bytes"] = round(statistics.median(backends))
    return found


def postpone_work(fleet: Fleet, names: Sequence[str]) -> None:
    """Make no background work due, so that a daemon opens a vault on request only."""
    vaults = [fleet.settings(name).rows_name for name in names]
    with closing(psycopg.connect(fleet.dsn, autocommit=True)) as admin:
        admin.execute(
            "INSERT INTO engram.job (vault_id, kind, due) "
            "SELECT vault_id, kind, 'infinity' "
            "FROM unnest(%s::text[]) AS vault_id, unnest(%s::text[]) AS kind "
            "ON CONFLICT (vault_id, kind) DO UPDATE SET due = 'infinity'",
            (vaults, KINDS),
        )


class Served:
    """A daemon with its vaults, and what it costs."""

    def __init__(
        self,
        fleet: Fleet,
        names: Sequence[str],
        port: int,
        daemon: Daemon,
        database: DatabaseProcesses,
    ) -> None:
        self.fleet, self.names, self.port = fleet, names, port
        self.pid, self.database = daemon.pid, database

    def watch(self) -> Watch:
        """The CPU from now on."""
        return Watch(self.database, lambda: cpu_of(self.pid))

    def ask_each(
        self, names: Sequence[str], path: str, body: Any, *, rest: bool = True
    ) -> None:
        """Send one request to each vault, and wait until the daemon rests."""
        for name in names:
            done = ask(self.port, self.fleet.tokens[name], path, body, timeout=300)
            assert done.status == 200, done
        if rest:
            self.settle()

    def load(self) -> dict[str, Any]:
        """The CPU of questions and turns."""
        writer = material.Writer(29)
        found: dict[str, Any] = {
            "recall": self.requests(
                ASKED, lambda: ("/v1/recall", {"query": writer.question()})
            )
        }
        said = iter(list(material.turns(len(self.names) * SAID, seed=43)))

        def turn() -> tuple[str, Any]:
            one = next(said)
            sent = {
                "id": secrets.token_hex(6),
                "session": "now",
                "role": one.role,
                "text": one.text,
            }
            return "/v1/turns", {"turns": [sent]}

        watch = self.watch()
        found["acknowledge"] = self.requests(SAID, turn)
        self.ask_each(self.names, "/v1/flush", {})
        found["turn"] = watch.read(len(self.names) * SAID)
        return found

    def requests(
        self, times: int, make: Callable[[], tuple[str, Any]]
    ) -> dict[str, float]:
        """CPU of a request over HTTP, and how long it took on this machine."""
        watch, waits = self.watch(), []
        for _ in range(times):
            for name in self.names:
                path, body = make()
                began = time.perf_counter()
                done = ask(self.port, self.fleet.tokens[name], path, body)
                waits.append(time.perf_counter() - began)
                assert done.status in {200, 202}, done
        elapsed = {f"elapsed_{name}": value for name, value in spread(waits).items()}
        return watch.read(len(waits)) | elapsed

    def idle(self) -> dict[str, float]:
        """The CPU of a vault that is open and not asked, for a second."""
        watch, began = self.watch(), time.monotonic()
        time.sleep(IDLE_SECONDS)
        spent = watch.read(len(self.names))
        took = time.monotonic() - began
        return {key: round(one / took, 4) for key, one in spent.items()}

    def state(self) -> dict[str, float]:
        """Memory, threads and open files of the daemon; processes of the database."""
        status = status_of(self.pid)
        return {
            "resident_bytes": 1024 * status["VmRSS"],
            "private_bytes": private_memory(self.pid),
            "threads": status["Threads"],
            "files": len(list(Path(f"/proc/{self.pid}/fd").iterdir())),
            "connections": len(self.database.children()),
        }

    def settle(self, seconds: float = 60.0) -> None:
        """Wait until the daemon has nothing to do."""
        until, last = time.monotonic() + seconds, -1.0
        while time.monotonic() < until:
            now = cpu_of(self.pid)
            if now - last <= 0.03:
                return
            last = now
            time.sleep(1.0)


# All of it.


def measured(notes: int) -> dict[str, Any]:
    """All figures of one size, each half in a database of its own."""
    with server(*HONEST) as dsn, tempfile.TemporaryDirectory() as name:
        found = inside(dsn, notes, Path(name))
    with server(*HONEST) as dsn, tempfile.TemporaryDirectory() as name:
        found["daemon"] = through_daemon(dsn, notes, Path(name))
    return found


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    text = Path("/proc/cpuinfo").read_text()
    model = next(
        (line.split(": ")[1] for line in text.splitlines() if "model name" in line), ""
    )
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "day": f"{datetime.now(UTC):%Y-%m-%d}",
        "load": round(os.getloadavg()[0], 1),
    }


def main(words: list[str]) -> int:
    if "--child" in words:
        print(json.dumps(measured(int(words[-1]))))
        return 0
    own = [int(word) for word in words if word.isdecimal()] or list(SIZES)
    found = []
    for notes in own:
        began = time.monotonic()
        child = subprocess.run(
            [sys.executable, __file__, "--child", str(notes)],
            stdout=subprocess.PIPE,
            check=True,
        )
        found.append(json.loads(child.stdout.splitlines()[-1]))
        took = time.monotonic() - began
        print(f"{notes:,} notes: measured in {took:.0f} s", file=sys.stderr)
    print("\n".join(costs(found)))
    if "--keep" in words:
        KEPT.parent.mkdir(exist_ok=True)
        others = json.loads(KEPT.read_text())["sizes"] if KEPT.exists() else []
        all_of_them = {one["notes"]: one for one in [*others, *found]}
        kept = {
            "machine": machine(),
            "sizes": [all_of_them[n] for n in sorted(all_of_them)],
        }
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
