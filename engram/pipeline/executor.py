"""Executors: run the work of a memory in its caller or in the threads of a daemon."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Executor(Protocol):
    """Runs the work of a memory that is not part of an answer."""

    @property
    def attended(self) -> bool:
        """Whether batches, runs and changed files are handled without the caller."""

    def turns_arrived(self) -> None:
        """Look for due batches and missing vectors. May be called from any thread."""

    def run_as_writer(self, job: Callable[[], T]) -> T:
        """Run `job` in the thread that writes notes; return its result."""

    def waiting_work(self, *, gives_way: bool) -> str:
        """Return why a long job of the writer thread must end now, or ''.

        That is so while the process stops; with `gives_way` also while jobs wait.
        """

    def model_place(self) -> AbstractContextManager[None]:
        """Return a context for calls of a model in the background; entering may wait."""


class Inline:
    """The executor without a daemon: all work is done by the caller, at once."""

    def __init__(self, *, attended: bool = False) -> None:
        self.attended = attended

    def turns_arrived(self) -> None:
        """Do nothing: the caller distils the turns before its call returns."""

    def run_as_writer(self, job: Callable[[], T]) -> T:
        """Run `job` in the calling thread; return its result."""
        return job()

    def waiting_work(self, *, gives_way: bool) -> str:  # noqa: ARG002
        """Return '': no other work waits."""
        return ""

    def model_place(self) -> AbstractContextManager[None]:
        """Return a context that never waits."""
        return nullcontext()
