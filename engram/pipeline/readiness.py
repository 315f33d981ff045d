"""The state of the catalogue: whether it matches the vault, and a way to wait for that."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.index.search import Index


class Readiness:
    """The state of the catalogue. Safe to use from any thread.

    A process starts in the state `reading`, because it compares the vault first.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._changed = threading.Condition()
        self._reading = True
        self._compared = False

    @property
    def ready(self) -> bool:
        """Whether the vault was compared and the catalogue need not be rebuilt."""
        return self._compared and bool(self._index.scanner.generation)

    @property
    def compared(self) -> bool:
        """Whether the vault was compared with the catalogue since the start."""
        return self._compared

    def set_compared(self, *, compared: bool) -> None:
        """Record that the vault was compared with the catalogue, or that it is closing."""
        self._compared = compared

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Return a context during which `wait` waits for the catalogue."""
        self._reading = True
        try:
            yield
        finally:
            with self._changed:
                self._reading = False
                self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait until the catalogue is built or `reading` ends; return `ready`.

        Waits for `seconds` at most.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._index.scanner.generation or not self._reading, seconds
            )
        return bool(self._index.scanner.generation)
