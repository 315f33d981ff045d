"""How many daemons, how much memory, storage and database N vaults need: simulated.

    python benchmarks/fleet_simulation.py [VAULTS ...]     default: 200 1000 100000
    python benchmarks/fleet_simulation.py --check          against the measured run of 200

A day of requests of N vaults is played on H daemons with one database, event by event,
with a seed. What a request costs comes from `fleet/costs.json`, which `fleet_costs.py`
measured; how people behave comes from `Activity`, and what a machine can do from
`Hardware`: these are assumptions. A daemon has one core: it is one Python process.
"""

from __future__ import annotations

import heapq
import json
import math
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from engram.core.policy import ServePolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FOLDER = Path(__file__).with_name("fleet")
MEASURED = FOLDER / "measured-200.json"
SCALES = (200, 1_000, 100_000)
DAY, BUCKET = 86_400, 300
TURN, QUESTION, NIGHT = 0, 1, 2
ROOM = 1.1
"""The first number of daemons has so many places for an open vault."""
GROWTH = 1.1
"""By how much the number of daemons grows until the limits hold."""


@dataclass(frozen=True)
class Activity:
    """Assumptions on people, all of one time zone.

    Of all vaults the share `active` is used on a day, with a number of turns that is
    log-normal (`turns` is its median), in conversations of `conversation` turns,
    `pause` seconds apart. `hours` weighs the hours of the day. `notes` is the median
    size of a vault, also log-normal, `grows` the notes that a turn leaves.
    """

    active: float = 0.6
    turns: float = 12.0
    turns_sigma: float = 1.2
    conversation: int = 10
    pause: float = 60.0
    questions: float = 0.5
    notes: float = 1_000.0
    notes_sigma: float = 1.0
    least_notes: float = 100.0
    most_notes: float = 10_000.0
    grows: float = 0.3
    hours: tuple[float, ...] = (
        *(0.3, 0.15, 0.1, 0.1, 0.1, 0.2, 0.5, 0.9, 1.1, 1.2, 1.2, 1.2),
        *(1.3, 1.2, 1.1, 1.1, 1.2, 1.3, 1.5, 1.8, 2.0, 1.9, 1.4, 0.8),
    )
    night: tuple[float, float] = (3 * 3600, 6 * 3600)


@dataclass(frozen=True)
class Hardware:
    """Assumptions on machines: a node has several daemons, a database server one copy."""

    node_cores: int = 8
    node_gb: float = 32.0
    database_cores: int = 32
    database_tb: float = 10.0
    database_commits: float = 10_000.0
    database_connections: int = 1_000
    log_mb: float = 200.0
    storage_syncs: float = 20_000.0
    busy: float = 0.6
    wait_ms: float = 250.0
    dimension: int = 0


class Costs:
    """Measured costs, as functions of the notes of a vault."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.sizes = found["sizes"]
        self._logs = [math.log(one["notes"]) for one in self.sizes]

    @classmethod
    def read(cls) -> Costs:
        """Those that are kept."""
        return cls(json.loads((FOLDER / "costs.json").read_text()))

    def at(self, path: str, notes: Floats | float) -> Floats:
        """A figure by its names with dots, between the measured sizes."""
        values = []
        for size in self.sizes:
            value: Any = size
            for name in path.split("."):
                value = value[name]
            values.append(float(value))
        return np.interp(np.log(notes), self._logs, values)

    def pair(self, path: str, notes: Floats | float) -> tuple[Floats, Floats]:
        """Seconds of engram and of the database."""
        return (
            self.at(f"{path}.engram_ms", notes) / 1e3,
            self.at(f"{path}.database_ms", notes) / 1e3,
        )


# -- what people do --------------------------------------------------------------------


@dataclass(frozen=True)
class Events:
    """Requests and nightly runs in the order of their times."""

    at: Floats
    vault: NDArray[np.int64]
    kind: NDArray[np.int64]


def day(vaults: int, activity: Activity, chance: np.random.Generator) -> Events:
    """A day of all vaults."""
    active = np.flatnonzero(chance.random(vaults) < activity.active)
    turns = np.ceil(
        chance.lognormal(math.log(activity.turns), activity.turns_sigma, len(active))
    ).astype(int)
    talks = np.maximum(turns // activity.conversation, 1)
    owner = np.repeat(active, talks)
    length = np.repeat(-(-turns // talks), talks)
    weights = np.array(activity.hours) / sum(activity.hours)
    begins = 3600 * (
        chance.choice(24, len(owner), p=weights) + chance.random(len(owner))
    )
    pauses = chance.exponential(activity.pause, int(length.sum()))
    ends = np.cumsum(pauses)
    first = np.concatenate(([0.0], ends))[np.cumsum(length) - length]
    at = np.repeat(begins - first, length) + ends
    said = np.repeat(owner, length)
    asks = chance.random(len(at)) < activity.questions
    nights = chance.uniform(*activity.night, vaults)
    return _sorted(
        (at % DAY, said, TURN),
        ((at[asks] - 1) % DAY, said[asks], QUESTION),
        (nights, np.arange(vaults), NIGHT),
    )


def _sorted(*parts: tuple[Floats, NDArray[np.int64], int]) -> Events:
    at = np.concatenate([one[0] for one in parts])
    vault = np.concatenate([one[1] for one in parts])
    kind = np.concatenate([np.full(len(one[0]), one[2]) for one in parts])
    order = np.argsort(at, kind="stable")
    return Events(at[order], vault[order], kind[order])


# -- what machines do ------------------------------------------------------------------


@dataclass
class Prices:
    """The CPU seconds of each vault's requests, of engram and of the database.

    `idle` are those of a vault that is open, for a second.
    """

    answer: tuple[list[float], ...]
    answer_database: tuple[list[float], ...]
    later: tuple[list[float], ...]
    later_database: tuple[list[float], ...]
    opening: list[float]
    opening_database: list[float]
    closing: list[float]
    idle: list[float]
    idle_database: list[float]
    forward: float

    @classmethod
    def of(cls, costs: Costs, notes: Floats) -> Prices:
        """The prices of vaults of these sizes."""
        zero = np.zeros(len(notes))
        ack, ack_db = costs.pair("daemon.acknowledge", notes)
        turn, turn_db = costs.pair("daemon.turn", notes)
        ask, ask_db = costs.pair("daemon.recall", notes)
        night, night_db = costs.pair("nightly", notes)
        opening, opening_db = costs.pair("daemon.warm_open", notes)
        closing, closing_db = costs.pair("daemon.close_each", notes)
        idle, idle_db = costs.pair("daemon.idle_each", notes)
        inside, _ = costs.pair("recall", notes)
        return cls(
            tuple(one.tolist() for one in (ack, ask, zero)),
            tuple(one.tolist() for one in (ack_db, ask_db, zero)),
            tuple(one.tolist() for one in (np.maximum(turn - ack, 0), zero, night)),
            tuple(
                one.tolist()
                for one in (np.maximum(turn_db - ack_db, 0), zero, night_db)
            ),
            opening.tolist(),
            (opening_db + closing_db).tolist(),
            closing.tolist(),
            idle.tolist(),
            idle_db.tolist(),
            float(np.median(np.maximum(ask - inside, 0))),
        )


@dataclass
class Played:
    """What happened on a day: busy seconds by daemon and five minutes, and waits."""

    daemons: int
    busy: Floats
    database: Floats
    open_most: int = 0
    open_on_one: int = 0
    openings: int = 0
    squeezed: int = 0
    waits: dict[int, list[float]] = field(
        default_factory=lambda: {TURN: [], QUESTION: []}
    )

    def wait(self, share: float, kind: int = QUESTION) -> float:
        """The milliseconds below which a share of the waits is."""
        waits = self.waits[kind]
        return 1e3 * float(np.quantile(waits, share)) if waits else 0.0


class Simulation:
    """Daemons with the vaults that they have open, and the cores of one database.

    A request is carried out by the daemon that has its vault; one that arrives at
    another is forwarded. Requests wait for each other. Background work (filing,
    nightly runs) halves their speed while it runs, as threads of one process do.
    """

    def __init__(
        self,
        daemons: int,
        cores: int,
        prices: Prices,
        policy: ServePolicy,
        seconds: float = DAY,
    ) -> None:
        self.daemons, self.prices, self.policy = daemons, prices, policy
        buckets = math.ceil(seconds / BUCKET)
        self.played = Played(daemons, np.zeros((daemons, buckets)), np.zeros(buckets))
        self._busy = [[0.0] * buckets for _ in range(daemons)]
        self._database = [0.0] * buckets
        self._free = [0.0] * daemons
        self._later = [0.0] * daemons
        self._cores = [0.0] * cores
        self._used: list[OrderedDict[int, float]] = [
            OrderedDict() for _ in range(daemons)
        ]
        self._owner: dict[int, int] = {}
        self._opened_at: dict[int, float] = {}
        self._end = seconds

    def open_all(self, vaults: int) -> None:
        """Start with every vault open, in turn on each daemon; costs nothing."""
        for vault in range(vaults):
            self._take(vault % self.daemons, vault, 0.0, 0)
        self.played.openings = 0

    def run(self, events: Events, chance: np.random.Generator) -> Played:
        """Play the events."""
        doors = chance.integers(0, self.daemons, len(events.at)).tolist()
        for at, vault, kind, door in zip(
            events.at.tolist(),
            events.vault.tolist(),
            events.kind.tolist(),
            doors,
            strict=True,
        ):
            self._event(at, vault, kind, door)
        for daemon, used in enumerate(self._used):
            for vault, at in used.items():
                until = min(at + self.policy.idle_seconds, self._end)
                self._stay_open(daemon, vault, until)
        self.played.busy = np.array(self._busy)
        self.played.database = np.array(self._database)
        return self.played

    def _event(self, at: float, vault: int, kind: int, door: int) -> None:
        prices = self.prices
        bucket = min(int(at // BUCKET), len(self._database) - 1)
        owner = self._owner.get(vault)
        self._expire(door if owner is None else owner, at, bucket)
        owner = self._owner.get(vault)
        work = database = 0.0
        if owner is None:
            owner = door
            self._take(owner, vault, at, bucket)
            work, database = prices.opening[vault], prices.opening_database[vault]
        elif owner != door:
            self._busy[door][bucket] += prices.forward
            self._free[door] = max(self._free[door], at) + prices.forward
            at = self._free[door]
        used = self._used[owner]
        used[vault] = at
        used.move_to_end(vault)
        work += prices.answer[kind][vault]
        database += prices.answer_database[kind][vault]
        slow = 2.0 if self._later[owner] > at else 1.0
        self._free[owner] = max(self._free[owner], at) + work * slow
        ends = self._query(self._free[owner], database)
        if kind != NIGHT:
            self.played.waits[kind].append(ends - at)
        later = prices.later[kind][vault]
        self._later[owner] = max(self._later[owner], self._free[owner]) + later
        self._busy[owner][bucket] += work + later
        self._database[bucket] += database + prices.later_database[kind][vault]

    def _query(self, at: float, seconds: float) -> float:
        ends = max(at, self._cores[0]) + seconds
        heapq.heapreplace(self._cores, ends)
        return ends

    def _take(self, daemon: int, vault: int, at: float, bucket: int) -> None:
        used, played = self._used[daemon], self.played
        if len(used) >= self.policy.open_vaults:
            self._close(daemon, at, bucket)
            played.squeezed += 1
        self._owner[vault] = daemon
        self._opened_at[vault] = used[vault] = at
        played.openings += 1
        played.open_most = max(played.open_most, len(self._owner))
        played.open_on_one = max(played.open_on_one, len(used))

    def _expire(self, daemon: int, at: float, bucket: int) -> None:
        used = self._used[daemon]
        idle = self.policy.idle_seconds
        while used and at - (last := next(iter(used.values()))) > idle:
            self._close(daemon, last + idle, bucket)

    def _close(self, daemon: int, at: float, bucket: int) -> None:
        vault, _ = self._used[daemon].popitem(last=False)
        del self._owner[vault]
        self._stay_open(daemon, vault, at)
        self._busy[daemon][bucket] += self.prices.closing[vault]

    def _stay_open(self, daemon: int, vault: int, until: float) -> None:
        """Add what a vault cost while it was open, until the second `until`."""
        begin = self._opened_at.pop(vault)
        last = len(self._database) - 1
        for bucket in range(int(begin // BUCKET), min(int(until // BUCKET), last) + 1):
            start, end = bucket * BUCKET, (bucket + 1) * BUCKET
            seconds = max(min(until, end) - max(begin, start), 0.0)
            self._busy[daemon][bucket] += seconds * self.prices.idle[vault]
            self._database[bucket] += seconds * self.prices.idle_database[vault]


# -- what is needed --------------------------------------------------------------------


def needed(
    vaults: int,
    costs: Costs,
    activity: Activity | None = None,
    hardware: Hardware | None = None,
    seed: int = 20,
) -> dict[str, Any]:
    """The least daemons that keep the limits, and what they and the database need."""
    activity, hardware = activity or Activity(), hardware or Hardware()
    policy, chance = ServePolicy(), np.random.default_rng(seed)
    notes = np.clip(
        chance.lognormal(math.log(activity.notes), activity.notes_sigma, vaults),
        activity.least_notes,
        activity.most_notes,
    )
    prices = Prices.of(costs, notes)
    events = day(vaults, activity, chance)
    opened = most_open(events, policy.idle_seconds)
    daemons = max(2, math.ceil(ROOM * opened / policy.open_vaults))
    while True:
        played = Simulation(daemons, hardware.database_cores, prices, policy).run(
            events, np.random.default_rng(seed + 1)
        )
        squeezed = played.squeezed / max(played.openings, 1)
        peak = played.busy.sum(axis=0).max() / BUCKET / daemons
        if (
            peak <= hardware.busy
            and squeezed <= 0.01
            and played.wait(0.99) <= hardware.wait_ms + _alone(prices, notes)
        ):
            break
        enough = max(daemons * GROWTH, peak / hardware.busy * daemons)
        daemons = max(math.ceil(enough), daemons + 1)
    return shown(vaults, costs, notes, events, played, hardware)


def most_open(events: Events, idle: float) -> int:
    """The most vaults that are open at once, if each is closed when it is idle."""
    order = np.lexsort((events.at, events.vault))
    at, vault = events.at[order], events.vault[order]
    begins = np.r_[True, (np.diff(vault) != 0) | (np.diff(at) > idle)]
    ends = np.r_[begins[1:], True]
    steps = np.concatenate((at[begins], at[ends] + idle))
    change = np.concatenate((np.ones(begins.sum()), -np.ones(ends.sum())))
    return int(np.cumsum(change[np.argsort(steps, kind="stable")]).max())


def _alone(prices: Prices, notes: Floats) -> float:
    """The milliseconds of a question to a closed vault of the 99th size, alone."""
    vault = int(np.argsort(notes)[int(len(notes) * 0.99) - 1])
    return 1e3 * (prices.opening[vault] + prices.answer[QUESTION][vault])


def shown(
    vaults: int,
    costs: Costs,
    notes: Floats,
    events: Events,
    played: Played,
    hardware: Hardware,
) -> dict[str, Any]:
    """Everything that a page says of one scale, and what is full first."""
    policy, daemons = ServePolicy(), played.daemons
    turns = events.kind == TURN
    total = played.busy.sum(axis=0)
    counts, _ = np.histogram(events.at[turns], np.arange(0, DAY + 1, BUCKET))
    turns_a_second = counts.max() / BUCKET
    asked, _ = np.histogram(
        events.at[events.kind == QUESTION], np.arange(0, DAY + 1, BUCKET)
    )
    open_each = float(np.mean(costs.at("daemon.open_each.private_bytes", notes)))
    base = float(costs.at("daemon.closed.private_bytes", 100.0))
    memory = base + played.open_on_one * open_each
    rows = costs.at("rows.bytes", notes).sum()
    vectors = notes.sum() * costs.at("vectors.bytes_each", 1000.0)
    commits = turns_a_second * costs.at("turn.commits", 1000.0)
    commits += asked.max() / BUCKET * costs.at("recall.commits", 1000.0)
    renewals = 3 * daemons / policy.lease_seconds
    connections = daemons * (policy.database_connections + 1)
    found = {
        "vaults": vaults,
        "turns_a_day": int(turns.sum()),
        "turns_a_second": float(turns_a_second),
        "daemons": daemons,
        "daemons_by_cpu": math.ceil(total.max() / BUCKET / hardware.busy),
        "nodes": max(2, math.ceil(daemons / hardware.node_cores)),
        "cores": float(total.max() / BUCKET),
        "cores_mean": float(total.sum() / DAY),
        "hour_of_peak": int(total.argmax() * BUCKET // 3600),
        "open_most": played.open_most,
        "openings_a_day": played.openings,
        "memory_of_a_daemon": memory,
        "question_p50": played.wait(0.5),
        "question_p99": played.wait(0.99),
        "turn_p99": played.wait(0.99, TURN),
        "database_cores": float(played.database.max() / BUCKET),
        "database_bytes": float(rows),
        "vector_bytes": float(vectors),
        "commits": float(commits + renewals),
        "log_bytes": float(turns_a_second * costs.at("turn.log_bytes", 1000.0)),
        "connections": connections,
        "file_bytes": float(costs.at("vault.blocks", notes).sum()),
        "files": float(costs.at("vault.files", notes).sum()),
        "syncs": float(turns_a_second * costs.at("turn.syncs", 1000.0)),
        "grows_bytes_a_year": float(
            365 * turns.sum() * costs.at("turn.database_bytes", 1000.0)
        ),
    }
    stored = rows + vectors
    found["shares"] = {
        "CPU of the database": found["database_cores"] / hardware.database_cores,
        "connections": connections / hardware.database_connections,
        "transactions": found["commits"] / hardware.database_commits,
        "write-ahead log": found["log_bytes"] / 1e6 / hardware.log_mb,
        "storage of the database": stored / 1e12 / hardware.database_tb,
        "syncs of the shared files": found["syncs"] / hardware.storage_syncs,
    }
    found["bottleneck"] = max(found["shares"], key=found["shares"].__getitem__)
    return found


# -- held against what was measured ----------------------------------------------------


SMALL = 10.0
"""The notes of a vault that was empty before the measured run."""


def predicted(measured: dict[str, Any], costs: Costs) -> dict[str, float]:
    """What a run of `bench_fleet.py --calm` should take, from the costs of small vaults."""
    plan, counts = measured["plan"], measured["counts"]
    seconds = float(measured["figures"]["seconds of load"])
    turns = counts["acknowledged"]
    questions = counts.get("answers 200 to /v1/recall", 0) - plan["questions"]
    chance = np.random.default_rng(plan["seed"])
    vaults = plan["vaults"]
    notes = np.full(vaults, SMALL)
    weights = chance.lognormal(0, 1, vaults)
    share = weights / weights.sum()
    said = chance.choice(vaults, turns, p=share)
    asked = chance.choice(vaults, max(questions, 0), p=share)
    events = _sorted(
        (chance.uniform(0, seconds, turns), said, TURN),
        (chance.uniform(0, seconds, len(asked)), asked, QUESTION),
    )
    prices = Prices.of(costs, notes)
    simulation = Simulation(plan["daemons"], 2, prices, ServePolicy(), seconds)
    simulation.open_all(vaults)  # `bench_fleet.py` lets each make its first runs
    played = simulation.run(events, chance)
    base = float(costs.at("daemon.closed.private_bytes", SMALL))
    each = float(costs.at("daemon.open_each.private_bytes", SMALL))
    memory = plan["daemons"] * base + played.open_most * each
    return {
        "CPU of the daemons, s": float(played.busy.sum()),
        "CPU of the database, s": float(played.database.sum()),
        "memory of the daemons, MB": memory / 1e6,
        "connections": plan["daemons"] * (ServePolicy().database_connections + 1),
    }


def checked(costs: Costs) -> list[tuple[str, float, float]]:
    """Each figure that was measured with 200 vaults, predicted and measured."""
    measured = json.loads(MEASURED.read_text())
    expected = predicted(measured, costs)
    figures = dict(measured["figures"])
    figures["memory of the daemons, MB"] = sum(figures["memory of the daemons, MB"])
    return [(name, value, float(figures[name])) for name, value in expected.items()]


def main(words: Sequence[str]) -> int:
    costs = Costs.read()
    if "--check" in words:
        for name, expected, found in checked(costs):
            off = expected / found - 1
            print(
                f"{name:28} predicted {expected:8.1f}  measured {found:8.1f}  {off:+.0%}"
            )
        return 0
    for vaults in [int(word) for word in words if word.isdecimal()] or SCALES:
        found = needed(vaults, costs)
        print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
