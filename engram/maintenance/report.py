"""The progress of a run, and its report: actions, and reasons for changes not made.

A plan reads the vault and writes nothing, so it may be given up at any point.

`Report.as_json` is the one place that maps the fields to the keys of the JSON that
`engram consolidate`, the HTTP interface and the log show.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engram.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    Interruption = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a pass on a memory or a file, with its reason.

    `name` is the pass, `memory` the id of the memory ('' for other files), `path` the
    file before the action, '' for a new one, and `to` the file after it.
    """

    name: str
    memory: str
    path: str
    to: str
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run, or with `dry_run` of its plan.

    `run` is the id of the run, '' if it wrote nothing; `name` is its cadence, or
    "prune" or "undo". `deferred` has, by path, the reason why a change is left to
    another run. `left_alone` counts memories that belong to a user, by reason.
    `failures` has the errors by pass or path. `unanswered` counts the questions without
    an answer by task. `findings` change nothing. `held` has, by pass, the reason why
    changes wait for approval, and `held_actions` are these changes. `frozen` is the
    reason why the run did nothing at all, or ''.
    """

    run: str
    name: str
    started: datetime
    ended: datetime
    actions: tuple[Action, ...] = ()
    deferred: Mapping[str, str] = field(default_factory=dict)
    left_alone: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    unanswered: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Action, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    held_actions: tuple[Action, ...] = ()
    frozen: str = ""
    dry_run: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the report for JSON, with the numbers of actions."""
        row = asdict(self)
        return row | {
            "cadence": row.pop("name"),
            "started": self.started.isoformat(),
            "ended": self.ended.isoformat(),
            "counts": counts(self.actions),
        }


def counts(actions: Iterable[Action]) -> dict[str, int]:
    """Return the number of actions by pass."""
    return dict(Counter(action.name for action in actions))


class RunInterruptedError(UnavailableError):
    """A run was given up while it was planned; nothing was changed, it is due again."""


@dataclass(frozen=True, slots=True)
class CurrentRun:
    """A run that is being planned: its name, its present pass, and its start."""

    name: str
    began: datetime
    present: str = ""


class Progress:
    """The progress of the run that the writer thread plans.

    `clock` tells the time. `current` may be read from any thread.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.current: CurrentRun | None = None
        self._interruption: Interruption | None = None

    @contextmanager
    def planning(self, name: str, interruption: Interruption | None) -> Iterator[None]:
        """Record that the run `name` is planned in this context.

        `interruption` returns why it must be given up, or ''; without it the plan is
        completed.
        """
        self.current, self._interruption = CurrentRun(name, self.clock()), interruption
        try:
            self.check()
            yield
        finally:
            self.current = self._interruption = None

    def enter(self, present: str) -> None:
        """Record that a pass begins. Raises RunInterruptedError."""
        self.check()
        if self.current:
            self.current = replace(self.current, present=present)

    def check(self) -> None:
        """Raise RunInterruptedError if the run must be given up."""
        if self._interruption and (why := self._interruption()):
            raise RunInterruptedError(
                f"the run was given up because {why}",
                fix="Nothing was changed, and it is due again.",
            )
