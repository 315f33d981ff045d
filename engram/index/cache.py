"""A cache of look-ups in the catalogue, emptied with each change of it."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from engram.index.protocol import IndexStore

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LookupCache(Generic[Key, Value]):
    """A cache of values from the catalogue for up to `size` keys.

    The oldest entries are removed first. A key without a value is cached too.
    Thread-safe.
    """

    def __init__(self, database: IndexStore, size: int) -> None:
        self._database = database
        self._size = size
        self._found: dict[Key, Value | None] = {}
        self._read_at = -1

    def get(
        self,
        keys: Iterable[Key],
        load: Callable[[list[Key]], Mapping[Key, Value]],
    ) -> dict[Key, Value]:
        """Return the values of `keys`; `load` returns those that are not cached."""
        with self._database.lock:
            if self._read_at != self._database.changes:
                self._read_at = self._database.changes
                self._found.clear()
            requested = list(dict.fromkeys(keys))
            missing = [key for key in requested if key not in self._found]
            if missing:
                values = load(missing)
                self._found.update(dict.fromkeys(missing))
                self._found.update(values)
            found = {
                key: value
                for key in requested
                if (value := self._found[key]) is not None
            }
            for key in list(islice(self._found, max(len(self._found) - self._size, 0))):
                del self._found[key]
            return found
