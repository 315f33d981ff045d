"""The kernel's event queue, read through watchdog's internals in this module alone.

The public API of watchdog hides two faults from the watcher: an overflow of the queue,
and the limit on watches. It also watches every folder below a root, so it cannot
exclude `.git` or `node_modules`. `tests/unit/test_inotify.py` checks the internals
against the installed version.
"""

from __future__ import annotations

import errno
import os
import warnings
from typing import TYPE_CHECKING

from watchdog.observers.api import BaseObserver
from watchdog.observers.inotify import InotifyEmitter
from watchdog.observers.inotify_c import InotifyEvent, InotifyFD

if TYPE_CHECKING:
    from collections.abc import Callable

    from watchdog.observers.inotify_c import (
        CallbackId,
        Mask,
        WatchCallback,
        WatchDescriptor,
    )

# watchdog may register a folder twice if it is created inside a new folder; this is
# harmless, and its warning is a page long.
warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)


class EventQueue(InotifyFD):
    """An inotify instance that reports its faults and excludes folders.

    `is_skipped` is called with the absolute path of each folder before it is watched.
    `on_overflow` and `on_watch_limit` are called in the thread of the queue.
    """

    def __init__(
        self,
        is_skipped: Callable[[str], bool],
        on_overflow: Callable[[], None],
        on_watch_limit: Callable[[], None],
    ) -> None:
        super().__init__()
        self._is_skipped = is_skipped
        self._on_overflow = on_overflow
        self._on_watch_limit = on_watch_limit

    def handle_event(self, event: InotifyEvent) -> None:
        """Pass the event on, and report an overflow, which watchdog only logs."""
        super().handle_event(event)
        if event.is_queue_overflow:
            self._on_overflow()

    def add_callback(
        self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId
    ) -> WatchDescriptor:
        """Watch one folder. After an OSError watchdog continues without it."""
        name = os.fsdecode(path)
        if self._is_skipped(name):
            raise OSError(errno.ENOENT, "not watched", name)
        try:
            return super().add_callback(path, mask, callback, id_)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                self._on_watch_limit()
            raise


def observer(queue: EventQueue) -> BaseObserver:
    """Return a watchdog observer that reads its events from `queue`."""
    return BaseObserver(InotifyEmitter, inotify_fd=queue)
