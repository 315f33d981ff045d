"""Months of use in seconds, for tests: a vault and what its daemon does, on a clock
that the test moves.

    from datetime import UTC, datetime, timedelta

    from engram.testing import Simulation

    with Simulation(vault, at=datetime(2026, 1, 1, 9, tzinfo=UTC), home=home) as sim:
        sim.call("observe", turns=[{"text": "I live in Berlin."}])
        sim.advance(sim.now + timedelta(days=400))
        assert "Berlin" in sim.call("recall", query="Where do I live?")["hits"][0]["text"]

No thread is started and nothing sleeps, so the same script makes the same vault. The
decisions are those of the daemon (`engram.daemon.background`); only the threads, the
sockets and the watcher are missing. `docs/testing.md` tells more.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from engram.errors import EngramError, Health

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from engram.daemon.background import Background, Job
    from engram.ingest.queue import Batch

T = TypeVar("T")

NEVER = datetime.max.replace(tzinfo=UTC)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=1)
"""How long a run that is due and cannot be made rests at first and at last; the daemon
tries each minute.
"""


class Simulation:
    """A vault with everything the daemon does by itself, on a clock of its own.

    `vault` is a folder with an `engram.toml` (a line `id = "…"` is enough; without
    `zone` it is in UTC), `at` the time at which the daemon starts, `home` a folder for
    journal, index and state. A second simulation of the same vault and home is a
    restart. `env` is what else the configuration is read from, as `ENGRAM_MODEL`; the
    environment of the process is not looked at. Use it as a context manager, or `close`
    it.

    Raises ValueError for a time without a zone, NotFoundError where `vault` is no
    vault, ConfigError, and LockedError where another process has the vault open.
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
        from engram.memory import Memory

        settings = config.load(
            Path(vault),
            {"ENGRAM_HOME": str(home), "HOME": str(home), "TZ": "UTC", **(env or {})},
        )
        # nobody else works
        policy = replace(
            settings.policy, serve=replace(settings.policy.serve, flush_seconds=0.0)
        )
        self._runner = _Runner(_instant(at), log_content=settings.log_content)
        self._memory = Memory(
            replace(settings, policy=policy),
            clock=lambda: self.now,
            steady=self._seconds,
            monotonic=self._seconds,
            executor=self._runner,
        )
        self._background = Background(self._memory, self._runner, self._runner.health)
        self._touched = False
        self._pause = timedelta()
        self._tended = self.now - FIRST_PAUSE
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
        """Carry out an operation as a client of the daemon would, and what follows from
        it at once; its answer.

        `standing` is who calls, as tokens say: "chat", "import" or "tool". A turn with
        a high signal is distilled and filed when this returns, as are five turns;
        others when their time comes. `status` also tells in its `faults` what the
        daemon's own work met. Raises EngramError as the operation does.
        """
        if not self._memory.ready:
            self._background.look()
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
        """Let the time pass until then, and do what the daemon would do by itself
        meanwhile, each thing at its time.

        Batches by age, boxes, summaries, the runs of the nights and weeks, the hourly
        look at the files. A time that has passed already changes nothing. Raises
        ValueError for a time without a zone.
        """
        until = _instant(until)
        while (
            moment := min(self._runner.next_timer(), *(ticks := self._ticks()).values())
        ) <= until:
            self._runner.time = max(moment, self.now)
            self._runner.ring([name for name, when in ticks.items() if when <= moment])
            self._touched &= ticks["rescan"] > moment
            self._tended = self.now if ticks["tend"] <= moment else self._tended
            self._settle()
        self._runner.time = max(until, self.now)
        self._settle()

    def files_changed(self) -> None:
        """Have a look at the files: somebody wrote, moved or removed some, and then
        left them alone for a minute.

        The clock moves on by this minute (`quiet_seconds`), for engram does not write
        into a note before. The time of a file is the machine's; where it matters when a
        note was written, set it with `os.utime` before.
        """
        self._touched, self._pause = True, timedelta()
        self._background.changed(None)
        self._settle()
        self.advance(
            self.now
            + timedelta(seconds=self._memory.settings.policy.files.quiet_seconds)
        )

    def close(self) -> None:
        """Distil what waits, as a daemon does that is stopped, and let go of the vault.
        Closing twice is allowed.
        """
        if self._closed:
            return
        self._closed = True
        try:
            with suppress(EngramError):  # what cannot be filed stays in the journal
                self._memory.pipeline.flush_waiting()
        finally:
            self._memory.close()

    # -- time --------------------------------------------------------------------------

    def _seconds(self) -> float:
        """The steady clock and the monotonic one: they go with the time."""
        return self.now.timestamp()

    def _settle(self) -> None:
        self._runner.settle()

    def _ticks(self) -> dict[str, datetime]:
        """The next regular moment of each work at which it may find something to do;
        those in between are skipped.
        """
        due = (
            self._memory.maintenance_loop.next_due() if self._memory.ready else self.now
        )
        if due > self.now:
            self._pause = timedelta()
        elif self._tended == self.now:  # what is due was tried just now, in vain
            self._pause = min(2 * self._pause or FIRST_PAUSE, LONGEST_PAUSE)
        return {
            "tend": self._runner.tick("tend", max(due, self._tended + self._pause)),
            "rescan": self._runner.tick("rescan", self.now) if self._touched else NEVER,
        }


class _Runner:
    """A `background.Runner` that does one job after another in the thread of the test,
    at the time it is told.
    """

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
        self._tending = self._embedding = self._settling = False
        self._background: Background | None = None

    # -- the executor of the memory ----------------------------------------------------

    attended = True

    def turns_arrived(self) -> None:
        """Look for batches that are due, and do what follows from it at once."""
        if self._background:
            self._background.heard()
            self.settle()

    def run_as_writer(self, job: Callable[[], T]) -> T:
        """Do `job` at once: there is one thread."""
        return job()

    # -- what `Background` asks --------------------------------------------------------

    def now(self) -> datetime:
        """The time of the simulation."""
        return self.time

    def post(self, name: str, job: Job) -> None:
        """Do the job before anything else, after those that were posted before."""
        self._jobs.append((name, job))

    def later(self, seconds: float, job: Job) -> None:
        """Call `job` in so many seconds."""
        self._number += 1
        self._timers[f"later {self._number}"] = (
            self.time + timedelta(seconds=seconds),
            job,
        )

    def at(self, when: datetime, name: str, job: Job) -> None:
        """Call `job` at `when` instead of at the time that was set under this name
        before.
        """
        self._timers[name] = when, job

    def every(self, seconds: float, name: str, job: Job) -> None:
        """Call `job` at each `tick` of this name that is rung."""
        self._regular[name] = timedelta(seconds=seconds), job

    def distil(self, batch: Batch) -> None:
        """Distil the batch once no job is left."""
        self._batches.append(batch)

    def tend(self) -> None:
        """Put the vault in order once nothing else is left."""
        self._tending = True

    def embed(self) -> None:
        """Make vectors once nothing waits to be distilled."""
        self._embedding = True

    # -- what the simulation asks ------------------------------------------------------

    def next_timer(self) -> datetime:
        """When the first timer rings."""
        return min((when for when, _job in self._timers.values()), default=NEVER)

    def tick(self, name: str, earliest: datetime) -> datetime:
        """The first moment after now, not before `earliest`, at which the regular work
        of this name is called.
        """
        step = self._regular[name][0]
        passed = max(
            (self.time - self._began) // step + 1, -((self._began - earliest) // step)
        )
        return self._began + passed * step

    def ring(self, ticks: list[str]) -> None:
        """Call the regular work of these names, and every timer whose time has come,
        the earliest first.
        """
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
        """Begin to work for `background`."""
        self._background = background

    def settle(self) -> None:
        """Go on until nothing is left to be done now; called from within a job, leave
        it to whoever does the job.
        """
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
        """Do the next thing; whether there was one."""
        self._attempt("between", background.memory.between)
        if self._jobs:
            self._attempt(*self._jobs.popleft())
        elif self._batches:
            background.distil(self._batches.popleft())
        elif self._embedding:
            self._embedding = False
            background.embed()
        elif self._tending:
            self._tending = False
            background.tend()
        else:
            return False
        return True

    def _attempt(self, name: str, job: Job) -> None:
        from engram.daemon.background import attempt

        attempt(name, job, self.health, log_content=self._log_content)


def _instant(time: datetime) -> datetime:
    """The time in UTC. Raises ValueError where it has no zone."""
    if time.tzinfo is None:
        raise ValueError(
            f"{time} has no zone; give one, for example datetime(2026, 1, 1, tzinfo=UTC)"
        )
    return time.astimezone(UTC)
