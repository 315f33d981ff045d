"""A limit on concurrent model calls of many vaults, with fair turns."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class ModelPlaces:
    """A limited number of places for concurrent model calls; thread-safe.

    A free place goes to the waiting vault that was served longest ago. So a vault with
    many calls waits only for its own calls, and any other vault waits for at most one
    of them.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._turns = itertools.count(1)
        self._served: dict[str, int] = {}
        self._waiting: Counter[str] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def held(self, vault: str) -> Iterator[None]:
        """Wait for a place, and occupy it until the end of the block."""
        with self._changed:
            self._waiting[vault] += 1
            try:
                self._changed.wait_for(lambda: self._free and self._next() == vault)
                self._free -= 1
                self._served[vault] = next(self._turns)
            finally:
                self._waiting[vault] -= 1
                if not self._waiting[vault]:
                    del self._waiting[vault]
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()

    def waiting(self) -> int:
        """Return the number of waiting calls."""
        with self._changed:
            return self._waiting.total()

    def _next(self) -> str:
        """Return the vault that is next; of those never served the first to come."""
        return min(self._waiting, key=lambda vault: self._served.get(vault, 0))
