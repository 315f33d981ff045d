"""The run that is being planned: which it is, since when, and whether it must end.

A plan reads the vault and writes nothing, so it may be given up at any point.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    Interruption = Callable[[], str]


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
