"""Executors: who does the work of a memory, its caller or the threads of a daemon."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

T = TypeVar("T")


class Executor(Protocol):
    """Does the work of a memory that is not part of an answer."""

    @property
    def attended(self) -> bool:
        """Whether batches, runs and changed files are handled without the caller."""

    def turns_arrived(self) -> None:
        """Look for batches that are due. May be called from any thread."""

    def run_as_writer(self, job: Callable[[], T]) -> T:
        """Do `job` in the thread that writes notes, and return its result."""

    def model_place(self) -> AbstractContextManager[None]:
        """Return a context in which background work may ask a model; it may wait."""


class Inline:
    """The executor without a daemon: the caller does everything, at once."""

    def __init__(self, *, attended: bool = False) -> None:
        self.attended = attended

    def turns_arrived(self) -> None:
        """Do nothing: the caller distils the turns before the call returns."""

    def run_as_writer(self, job: Callable[[], T]) -> T:
        """Do `job` in the calling thread."""
        return job()

    def model_place(self) -> AbstractContextManager[None]:
        """Return a context that waits for nothing."""
        return nullcontext()
