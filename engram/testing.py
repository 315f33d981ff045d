"""Simulate a vault and its daemon on a clock that a test moves: months in seconds.

    from datetime import UTC, datetime, timedelta

    from engram.testing import Simulation

    with Simulation(vault, at=datetime(2026, 1, 1, 9, tzinfo=UTC), home=home) as sim:
        sim.call("observe", turns=[{"text": "I live in Berlin."}])
        sim.advance(sim.now + timedelta(days=400))
        assert "Berlin" in sim.call("recall", query="Where do I live?")["hits"][0]["text"]

No thread is started and nothing sleeps, so the same script makes the same vault. The
decisions are those of the daemon (`engram.daemon.background`); only the threads, the
sockets and the watcher are missing. See `docs/testing.md`.
"""

from __future__ import annotations

from collections import deque
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from engram.errors import EngramError, Health

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from engram.daemon.background import Background, Job
    from engram.ingest.queue import Batch

T = TypeVar("T")

NEVER = datetime.max.replace(tzinfo=UTC)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=1)
"""First and longest pause before a failed maintenance run is tried again. The
daemon tries each minute.
"""


class Simulation:
    """A vault with the background work of its daemon, on a simulated clock.

    `vault` is a folder with an `engram.toml` (a line `id = "…"` is enough; without
    `zone` it is in UTC), `at` the time at which the daemon starts, `home` a folder for
    journal, index and state. A second simulation of the same vault and home is a
    restart. `env` has further environment variables, such as `ENGRAM_MODEL`; the
    environment of the process is not read. Recall compares words alone, unless `env`
    has `ENGRAM_EMBEDDINGS_MODEL`, which is empty for the model of `engram[semantic]`.
    Use it as a context manager, or `close` it.

    Raises ValueError for a time without a zone, NotFoundError if `vault` is not a
    vault, ConfigError, and LockedError if another process has the vault open.
    """

    def __init__(
        self,
        vault: Path | str,
        *,
        at: datetime,
        home: Path | str,
        env: Mapping[str, str] | None = None,
    ) -> None:
        from engram import config
        from engram.daemon.background import Background
        from engram.memory import VaultMemory

        settings = config.load(
            Path(vault),
            {
                "ENGRAM_HOME": str(home),
                "HOME": str(home),
                "TZ": "UTC",
                "ENGRAM_EMBEDDINGS_MODEL": config.OFF,
                **(env or {}),
            },
        )
        # there are no workers for a flush to wait for
        policy = replace(
            settings.policy, serve=replace(settings.policy.serve, flush_seconds=0.0)
        )
        self._runner = _Runner(_instant(at), log_content=settings.log_content)
        self._memory = VaultMemory(
            replace(settings, policy=policy),
            clock=lambda: self.now,
            steady=self._seconds,
            monotonic=self._seconds,
            executor=self._runner,
        )
        self._background = Background(self._memory, self._runner, self._runner.health)
        self._touched = False
        self._pause = timedelta()
        self._maintained_at = self.now - FIRST_PAUSE
        self._closed = False
        self._memory.start()
        self._runner.start(self._background)
        self._background.start()
        self._settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def now(self) -> datetime:
        """The time of the simulation, in UTC."""
        return self._runner.time

    def call(
        self, name: str, /, standing: str = "chat", **params: Any
    ) -> dict[str, Any]:
        """Carry out an operation and the background work that is due at once.

        Returns the result of the operation in the form for clients of the daemon.
        `standing` is the kind of token: "chat", "import" or "tool". On return a turn
        with a high signal is distilled and filed, and so is every fifth turn; other
        turns are distilled when their time comes. The `faults` of `status` include
        those of the background work. Raises EngramError like the operation.
        """
        if not self._memory.ready:
            self._background.check_batches()
            self._settle()
        self._touched, self._pause = True, timedelta()
        try:
            answer = self._memory.call(name, params, standing)
        finally:
            self._settle()
        if name == "status":
            answer["faults"] = {**answer["faults"], **self._runner.health.problems()}
        return answer

    def advance(self, until: datetime) -> None:
        """Move the clock to `until`, and do the background work in between at its time.

        This includes batches that are due by age, boxes, summaries, maintenance runs
        and the hourly scan. A time in the past changes nothing. Raises ValueError for a
        time without a zone.
        """
        until = _instant(until)
        while (
            moment := min(self._runner.next_timer(), *(ticks := self._ticks()).values())
        ) <= until:
            self._runner.time = max(moment, self.now)
            self._runner.ring([name for name, when in ticks.items() if when <= moment])
            self._touched &= ticks["rescan"] > moment
            if ticks["tend"] <= moment:
                self._maintained_at = self.now
            self._settle()
        self._runner.time = max(until, self.now)
        self._settle()

    def files_changed(self) -> None:
        """Scan the files after the test wrote, moved or removed some.

        Then the clock moves by `quiet_seconds`, because engram does not change notes
        that were edited within that time. The modification time of a file is that of
        the machine; if it matters, set it with `os.utime` before.
        """
        self._touched, self._pause = True, timedelta()
        self._background.files_changed(None)
        self._settle()
        self.advance(
            self.now
            + timedelta(seconds=self._memory.settings.policy.files.quiet_seconds)
        )

    def close(self) -> None:
        """Distil the waiting turns, as a daemon does when it stops, and close the vault.

        Closing twice is allowed.
        """
        if self._closed:
            return
        self._closed = True
        try:
            with suppress(
                EngramError
            ):  # turns that cannot be filed stay in the journal
                self._memory.pipeline.flush_waiting()
        finally:
            self._memory.close()

    # -- time --------------------------------------------------------------------------

    def _seconds(self) -> float:
        """Return the simulated time in seconds, as the steady and the monotonic clock."""
        return self.now.timestamp()

    def _settle(self) -> None:
        self._runner.settle()

    def _ticks(self) -> dict[str, datetime]:
        """Return the next regular time of maintenance and of the scan.

        Times without any work are skipped.
        """
        due = (
            self._memory.maintenance_loop.next_due() if self._memory.ready else self.now
        )
        if due > self.now:
            self._pause = timedelta()
        elif self._maintained_at == self.now:  # the due run was tried now and failed
            self._pause = min(2 * self._pause or FIRST_PAUSE, LONGEST_PAUSE)
        return {
            "tend": self._runner.tick(
                "tend", max(due, self._maintained_at + self._pause)
            ),
            "rescan": self._runner.tick("rescan", self.now) if self._touched else NEVER,
        }


class _Runner:
    """A `background.Runner` that runs one job after another in the thread of the test."""

    def __init__(self, began: datetime, *, log_content: bool) -> None:
        self.time = began
        self.health = Health()
        self._began = began
        self._log_content = log_content
        self._jobs: deque[tuple[str, Job]] = deque()
        self._batches: deque[Batch] = deque()
        self._timers: dict[str, tuple[datetime, Job]] = {}
        self._number = 0
        self._regular: dict[str, tuple[timedelta, Job]] = {}
        self._maintenance_due = self._embedding_due = self._settling = False
        self._background: Background | None = None

    # -- the executor of the memory ----------------------------------------------------

    attended = True

    def turns_arrived(self) -> None:
        """Check for batches that are due, and do that work at once."""
        if self._background:
            self._background.turns_arrived()
            self.settle()

    def run_as_writer(self, job: Callable[[], T]) -> T:
        """Run `job` at once: there is one thread."""
        return job()

    def waiting_work(self, *, gives_way: bool) -> str:  # noqa: ARG002
        """Return '': no other work waits, because there is one thread."""
        return ""

    def model_place(self) -> AbstractContextManager[None]:
        """Return a context that never waits: there is one thread."""
        return nullcontext()

    # -- the runner of `Background` ----------------------------------------------------

    def now(self) -> datetime:
        """Return the time of the simulation."""
        return self.time

    def post(self, name: str, job: Job) -> None:
        """Queue a job for the writer; these jobs come before all other work."""
        self._jobs.append((name, job))

    def call_later(self, seconds: float, job: Job) -> None:
        """Call `job` after `seconds`."""
        self._number += 1
        self._timers[f"later {self._number}"] = (
            self.time + timedelta(seconds=seconds),
            job,
        )

    def call_at(self, when: datetime, name: str, job: Job) -> None:
        """Call `job` at `when`; this replaces an earlier timer of the same `name`."""
        self._timers[name] = when, job

    def call_every(self, seconds: float, name: str, job: Job) -> None:
        """Call `job` at each `tick` of this name."""
        self._regular[name] = timedelta(seconds=seconds), job

    def distil(self, batch: Batch) -> None:
        """Distil the batch when no job is queued."""
        self._batches.append(batch)

    def maintain(self) -> None:
        """Make the due maintenance runs when no other work is left."""
        self._maintenance_due = True

    def embed(self) -> None:
        """Make vectors when no batch waits."""
        self._embedding_due = True

    def read(self, name: str, job: Job) -> None:
        """Skip the job: in a simulation no request waits for its result."""

    # -- the clock and the jobs of the simulation --------------------------------------

    def next_timer(self) -> datetime:
        """Return the time of the next timer."""
        return min((when for when, _job in self._timers.values()), default=NEVER)

    def tick(self, name: str, earliest: datetime) -> datetime:
        """Return when the regular work of this name is called next.

        That is after now and not before `earliest`.
        """
        step = self._regular[name][0]
        passed = max(
            (self.time - self._began) // step + 1, -((self._began - earliest) // step)
        )
        return self._began + passed * step

    def ring(self, ticks: list[str]) -> None:
        """Call the regular work of these names, then the timers that are due, in order."""
        for name in ticks:
            self._regular[name][1]()
        due = sorted(
            (when, name)
            for name, (when, _job) in self._timers.items()
            if when <= self.time
        )
        for _when, name in due:
            self._timers.pop(name)[1]()

    def start(self, background: Background) -> None:
        """Work for `background` from now on."""
        self._background = background

    def settle(self) -> None:
        """Run jobs until none is due now; within a job this does nothing."""
        background = self._background
        if self._settling or background is None:
            return
        self._settling = True
        try:
            while self._step(background):
                pass
        finally:
            self._settling = False

    def _step(self, background: Background) -> bool:
        """Do the next piece of work; return False if there is none."""
        self._attempt("between", background.memory.between_operations)
        if self._jobs:
            self._attempt(*self._jobs.popleft())
        elif self._batches:
            background.distil(self._batches.popleft())
        elif self._embedding_due:
            self._embedding_due = False
            background.embed()
        elif self._maintenance_due:
            self._maintenance_due = False
            background.maintain()
        else:
            return False
        return True

    def _attempt(self, name: str, job: Job) -> None:
        from engram.daemon.background import attempt

        attempt(name, job, self.health, log_content=self._log_content)


def _instant(time: datetime) -> datetime:
    """Return the time in UTC. Raises ValueError if it has no zone."""
    if time.tzinfo is None:
        raise ValueError(
            f"{time} has no zone; give one, for example datetime(2026, 1, 1, tzinfo=UTC)"
        )
    return time.astimezone(UTC)
