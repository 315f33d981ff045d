"""The watcher: "something changed here", in batches; what changed is for a scan to find
out (row X18).

Events only mark paths. Where events do not work (network and FUSE mounts, no watches
left) the tree is polled; where they got lost (the kernel's queue ran over) everything
is to be looked at.
"""

from __future__ import annotations

import errno
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
from watchdog.observers.inotify_c import InotifyEvent, InotifyFD
from watchdog.observers.polling import PollingObserver

from engram.vault.paths import kind_of, passed_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from watchdog.observers.inotify_c import (
        CallbackId,
        Mask,
        WatchCallback,
        WatchDescriptor,
    )
    from watchdog.utils import BaseThread

    from engram.core.policy import FilePolicy

CHANGES: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileClosedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
"""What the kernel is asked for. Opens and reads are many and say nothing."""

POLLED = [FileModifiedEvent if kind is FileClosedEvent else kind for kind in CHANGES]
"""What polling can tell: it never sees a file closed."""

REMOTE = frozenset((
    "9p", "afs", "ceph", "cifs", "davfs", "drvfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "prl_fs",
    "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
))  # fmt: skip
"""File systems that other machines may write to without this kernel knowing; all of
FUSE besides.
"""

_GIT = ".git"
_HEAD = f"{_GIT}/HEAD"
# A folder made inside a new folder may be met twice; that is harmless, and the message
# is a page long.
warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)

_OCTAL = re.compile(r"\\([0-7]{3})")


def needs_polling(root: Path, mounts: Path = Path("/proc/mounts")) -> bool:
    """Whether events do not tell all that happens below `root`, by the type of its file
    system.
    """
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return True
    best, kind = "", ""
    where = f"{os.path.realpath(root)}/"
    for line in lines:
        _, mount, found, *_ = [
            _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), part)
            for part in line.split(" ")
        ]
        if where.startswith(f"{mount.rstrip('/')}/") and len(mount) >= len(best):
            best, kind = mount, found
    return kind in REMOTE or kind.startswith("fuse")


class Watcher:
    """Watches the vault `root` and calls `on_change` from a thread of its own, never
    twice at once.

    `on_change` is given the paths that may differ: files, folders (with all below), or
    what is gone. None means everything. It is called when nothing happened for
    `settle_seconds`, and after `settle_most_seconds` at the latest. A root that
    vanishes and comes back is told as None.
    """

    def __init__(
        self,
        root: Path,
        on_change: Callable[[set[Path] | None], None],
        policy: FilePolicy,
    ) -> None:
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
        self._events: _Events | None = None
        self._thread = threading.Thread(
            target=self._run, name="engram-watch", daemon=True
        )

    def start(self) -> None:
        """Begin; what happens after this returned is told."""
        self._attach()
        self._thread.start()

    def stop(self) -> None:
        """End; `on_change` is not called any more once this returned."""
        with self._state:
            self._stopping = True
            self._state.notify()
        if (
            self._thread.ident is not None
            and self._thread is not threading.current_thread()
        ):
            self._thread.join()
        self._detach()

    # ---------------------------------------------------------------------------------------- events in

    def touched(self, *paths: str, folder: bool) -> None:
        """Mark the paths of one event."""
        places = [(text, text[len(str(self.root)) + 1 :]) for text in paths if text]
        if any(not inside or inside == _HEAD for _, inside in places):
            self._mark(None)
        elif dirty := [
            Path(text) for text, inside in places if _counts(inside, folder=folder)
        ]:
            self._mark(dirty)

    def lost(self) -> None:
        """Events were lost: everything may have changed."""
        self._mark(None)

    def out_of_watches(self) -> None:
        """The system grants no more watches: look by oneself from now on."""
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

    # --------------------------------------------------------------------------------------- batches out

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
        """When what is marked has settled."""
        return (
            min(self._quiet, self._first + self.policy.settle_most_seconds)
            if self._first
            else float("inf")
        )

    def _batch(self) -> set[Path] | None:
        batch = None if self._everything else self._dirty
        self._dirty, self._everything, self._first, self._quiet = set(), False, 0.0, 0.0
        return batch

    # ------------------------------------------------------------------------------------------ observer

    def _check_root(self) -> None:
        """Watch anew when the root went, came back or is another one, or when a thread
        of the observer died.
        """
        found = _identity(self.root)
        alive = all(thread.is_alive() for thread in self._threads())
        if found != self._identity or (found and not alive):
            self._detach()
            self._attach()
            self.lost()

    def _attach(self) -> None:
        self._identity = _identity(self.root)
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
            self._events = _Events(self)
            self._events.start()
            self._observer = BaseObserver(InotifyEmitter, inotify_fd=self._events)
        self._observer.schedule(
            _Marks(self),
            str(self.root),
            recursive=True,
            event_filter=POLLED if polling else CHANGES,
        )
        self._observer.start()

    def _threads(self) -> list[BaseThread]:
        emitters = self._observer.emitters if self._observer else ()
        return [
            thread
            for thread in (self._observer, *emitters, self._events)
            if thread is not None
        ]

    def _detach(self) -> None:
        for thread in (self._observer, self._events):
            if thread is not None and thread.ident is not None:
                thread.stop()
                thread.join()
        self._observer = self._events = None


class _Marks(FileSystemEventHandler):
    """Hands the paths of every event to the watch."""

    def __init__(self, watch: Watcher) -> None:
        self._watch = watch

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Both ends of a move count: an atomic save sends nothing else."""
        ends = (os.fsdecode(event.src_path), os.fsdecode(event.dest_path))
        self._watch.touched(*ends, folder=event.is_directory)


class _Events(InotifyFD):
    """The kernel's queue, which also tells when it ran over or when no more watches are
    to be had.
    """

    def __init__(self, watch: Watcher) -> None:
        super().__init__()
        self._told = watch

    def handle_event(self, event: InotifyEvent) -> None:
        """Pass the event on; watchdog renews its watches after an overflow but tells
        nobody.
        """
        super().handle_event(event)
        if event.is_queue_overflow:
            self._told.lost()

    def add_callback(
        self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId
    ) -> WatchDescriptor:
        """Watch one folder, unless it is of no interest; watchdog goes on without a
        folder it cannot watch.
        """
        inside = os.fsdecode(path)[len(str(self._told.root)) + 1 :]
        if inside and inside != _GIT and passed_over(inside):
            raise OSError(errno.ENOENT, "not watched", inside)
        try:
            return super().add_callback(path, mask, callback, id_)
        except OSError as fault:
            if fault.errno == errno.ENOSPC:
                self._told.out_of_watches()
            raise


def _counts(path: str, *, folder: bool) -> bool:
    return not passed_over(path) if folder else kind_of(path) is not None


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        found = root.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
