"""Whether the catalogue knows what is in the vault, and waiting until it does."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.index.search import Index


class Readiness:
    """What is known of the state of the catalogue. Safe to use from any thread.

    A process begins with `reading` set: it compares the vault with the catalogue next.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._changed = threading.Condition()
        self._reading = True
        self._compared = False

    @property
    def ready(self) -> bool:
        """Whether the vault was compared, and the catalogue need not begin anew."""
        return self._compared and bool(self._index.scanner.generation)

    @property
    def compared(self) -> bool:
        """Whether the vault was compared with the catalogue since the start."""
        return self._compared

    def set_compared(self, *, compared: bool) -> None:
        """Record that the vault was compared with the catalogue, or that it closes."""
        self._compared = compared

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While this lasts, `wait` waits for a catalogue that is begun anew."""
        self._reading = True
        try:
            yield
        finally:
            with self._changed:
                self._reading = False
                self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait until the catalogue is known or nobody reads; return whether it is."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._index.scanner.generation or not self._reading, seconds
            )
        return bool(self._index.scanner.generation)
