"""The watcher reports in batches which paths may have changed (row X18).

Events only mark paths; a scan determines the changes. If events do not work (network
and FUSE mounts, no watches left) the tree is polled. If events were lost (the kernel's
queue overflowed) everything counts as changed.

The public API of watchdog hides two faults: an overflow of the queue, and the limit on
watches. It also watches every folder below a root, so it cannot exclude `.git` or
`node_modules`. So the kernel's event queue is read through watchdog's internals, in
this module alone; `tests/unit/test_inotify.py` checks them against the installed
version.
"""

from __future__ import annotations

import errno
import math
import os
import re
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers.api import BaseObserver
from watchdog.observers.inotify import InotifyEmitter
from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyEvent,
    InotifyFD,
    Mask,
    WatchCallback,
    WatchDescriptor,
)
from watchdog.observers.polling import PollingObserver

from engram.vault.paths import identity, is_below, is_ignored, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from watchdog.utils import BaseThread

    from engram.core.policy import FilePolicy


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


CHANGES: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileClosedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
"""The events requested from the kernel; opens and reads change nothing."""

POLLED = [FileModifiedEvent if kind is FileClosedEvent else kind for kind in CHANGES]
"""The events of polling, which cannot detect that a file was closed."""

REMOTE = frozenset((
    "9p", "afs", "ceph", "cifs", "davfs", "drvfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "prl_fs",
    "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
))  # fmt: skip
"""File systems that other machines may write to; every FUSE file system counts too."""

_GIT = ".git"
_HEAD = f"{_GIT}/HEAD"
_OCTAL = re.compile(r"\\([0-7]{3})")


def needs_polling(root: Path, mounts: Path = Path("/proc/mounts")) -> bool:
    """Return whether events miss changes below `root`, by the type of its file system.

    `mounts` is the table of mounts; the result is True without it.
    """
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return True

    folder = f"{os.path.realpath(root)}/"
    longest, file_system = "", ""
    for line in lines:
        _, mount, kind, *_ = map(_unescaped, line.split(" "))
        if folder.startswith(f"{mount.rstrip('/')}/") and len(mount) >= len(longest):
            longest, file_system = mount, kind
    return file_system in REMOTE or file_system.startswith("fuse")


def _unescaped(field: str) -> str:
    r"""Return a field of the table of mounts, where a blank is written as `\040`."""
    return _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), field)


class Watcher:
    """Watches the vault `root` and calls `on_change` from its own thread.

    The folders `left_out` are not watched.
    `on_change` receives the paths that may differ: files, folders (with their content),
    and removed paths. None means everything, also after the root vanished and returned.
    It is called after `settle_seconds` without an event, and after
    `settle_most_seconds` at the latest, and never concurrently.
    """

    def __init__(
        self,
        root: Path,
        on_change: Callable[[set[Path] | None], None],
        policy: FilePolicy,
        left_out: Collection[str] = (),
    ) -> None:
        self.left_out = left_out
        self.root = Path(os.path.realpath(root))
        self.policy = policy
        self.polling = needs_polling(self.root)
        self._on_change = on_change
        self._state = threading.Condition()
        self._dirty: set[Path] = set()
        self._everything = False
        self._stopping = False
        self._first = self._quiet = 0.0
        self._identity: tuple[int, int] | None = None
        self._observer: BaseObserver | None = None
        self._queue: EventQueue | None = None
        self._thread = threading.Thread(
            target=self._run, name="engram-watch", daemon=True
        )

    def start(self) -> None:
        """Begin. Every change after the return is reported."""
        self._attach()
        self._thread.start()

    def stop(self) -> None:
        """End. `on_change` is not called after the return."""
        with self._state:
            self._stopping = True
            self._state.notify()
        if (
            self._thread.ident is not None
            and self._thread is not threading.current_thread()
        ):
            self._thread.join()
        self._detach()

    def touched(self, *paths: str, folder: bool) -> None:
        """Mark the absolute paths of one event; '' is ignored.

        The root itself, and the HEAD of a repository, mark everything.
        """
        marked = []
        for path in filter(None, paths):
            relative = self._relative(path)
            if relative in {"", _HEAD}:
                self._mark(None)
                return
            if _is_watched(relative, folder=folder):
                marked.append(Path(path))
        if marked:
            self._mark(marked)

    def lost(self) -> None:
        """Mark everything, since events were lost."""
        self._mark(None)

    def out_of_watches(self) -> None:
        """Poll from now on, since the system grants no more watches."""
        with self._state:
            self.polling = True
            self._identity = None
            self._state.notify()

    def _mark(self, paths: list[Path] | None) -> None:
        with self._state:
            self._dirty.update(paths or ())
            self._everything = (
                self._everything
                or paths is None
                or len(self._dirty) >= self.policy.watch_paths
            )
            if self._everything:
                self._dirty.clear()
            now = time.monotonic()
            self._first = self._first or now
            self._quiet = now + self.policy.settle_seconds
            self._state.notify()

    def _run(self) -> None:
        check = time.monotonic() + self.policy.watch_check_seconds
        while True:
            with self._state:
                self._state.wait(max(0.0, min(check, self._due()) - time.monotonic()))
                if self._stopping:
                    return
                now = time.monotonic()
                batch = self._batch() if self._due() <= now else set[Path]()
            if batch is None or batch:
                self._on_change(batch)
            if check <= now or self._identity is None:
                self._check_root()
                check = now + self.policy.watch_check_seconds

    def _due(self) -> float:
        """Return the time of the next batch (monotonic seconds), or infinity."""
        if not self._first:
            return math.inf
        return min(self._quiet, self._first + self.policy.settle_most_seconds)

    def _batch(self) -> set[Path] | None:
        """Take the marked paths; None for everything."""
        batch = None if self._everything else self._dirty
        self._dirty, self._everything, self._first, self._quiet = set(), False, 0.0, 0.0
        return batch

    def _check_root(self) -> None:
        """Watch again after the root was exchanged or a thread of the observer died."""
        found = identity(self.root)
        alive = all(thread.is_alive() for thread in self._threads())
        if found != self._identity or (found and not alive):
            self._detach()
            self._attach()
            self.lost()

    def _attach(self) -> None:
        self._identity = identity(self.root)
        if self._identity is None:
            return
        try:
            self._observe(polling=self.polling)
        except OSError as fault:
            self._detach()
            self._identity = None
            self.polling = self.polling or fault.errno in {errno.EMFILE, errno.ENOSPC}

    def _observe(self, *, polling: bool) -> None:
        if polling:
            self._observer = PollingObserver(timeout=self.policy.poll_seconds)
        else:
            self._queue = EventQueue(self._is_skipped, self.lost, self.out_of_watches)
            self._queue.start()
            self._observer = observer(self._queue)
        self._observer.schedule(
            _Handler(self),
            str(self.root),
            recursive=True,
            event_filter=POLLED if polling else CHANGES,
        )
        self._observer.start()

    def _threads(self) -> list[BaseThread]:
        emitters = self._observer.emitters if self._observer else ()
        return [
            thread
            for thread in (self._observer, *emitters, self._queue)
            if thread is not None
        ]

    def _detach(self) -> None:
        for thread in (self._observer, self._queue):
            if thread is not None and thread.ident is not None:
                thread.stop()
                thread.join()
        self._observer = self._queue = None

    def _relative(self, path: str) -> str:
        """Return `path` relative to the root, '' for the root itself."""
        return path[len(str(self.root)) + 1 :]

    def _is_skipped(self, folder: str) -> bool:
        relative = self._relative(folder)
        return relative not in {"", _GIT} and (
            is_ignored(relative) or is_below(relative, self.left_out)
        )


class _Handler(FileSystemEventHandler):
    """Passes the paths of every event to the watcher."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Mark both ends of a move: an atomic save sends no other event."""
        ends = (os.fsdecode(event.src_path), os.fsdecode(event.dest_path))
        self._watcher.touched(*ends, folder=event.is_directory)


def _is_watched(path: str, *, folder: bool) -> bool:
    return not is_ignored(path) if folder else kind_of(path) is not None
