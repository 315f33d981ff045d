"""What the event queue needs of watchdog's internals, in the installed version."""

from __future__ import annotations

import errno
import inspect
from dataclasses import fields

import pytest
from watchdog.observers.inotify import InotifyEmitter
from watchdog.observers.inotify_c import InotifyConstants, InotifyEvent, InotifyFD

from engram.vault.watcher import EventQueue


class Calls:
    """Counts the faults that a queue reports."""

    def __init__(self):
        self.overflows = self.limits = 0
        self.skipped = set()

    def queue(self):
        def overflow():
            self.overflows += 1

        def limit():
            self.limits += 1

        return EventQueue(self.skipped.__contains__, overflow, limit)


@pytest.fixture
def calls():
    return Calls()


def test_watchdog_has_the_methods_that_are_overridden():
    """A renamed method would be overridden no longer, and nothing else would fail."""
    known = list(inspect.signature(InotifyFD.add_callback).parameters)
    assert known == ["self", "path", "mask", "callback", "id_"]
    assert list(inspect.signature(InotifyFD.handle_event).parameters) == [
        "self",
        "event",
    ]
    assert "inotify_fd" in inspect.signature(InotifyEmitter.__init__).parameters
    assert [field.name for field in fields(InotifyEvent)][:2] == ["wd", "mask"]


def test_an_overflow_of_the_queue_is_reported(calls):
    queue = calls.queue()
    queue.handle_event(InotifyEvent(-1, InotifyConstants.IN_Q_OVERFLOW, 0, b""))
    assert calls.overflows == 1


def test_a_system_without_more_watches_is_reported(calls, monkeypatch, tmp_path):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "no watches left")

    monkeypatch.setattr(InotifyFD, "_add_callback", refuse)
    with pytest.raises(OSError, match="no watches left"):
        calls.queue().add_callback(bytes(tmp_path), InotifyConstants.IN_CREATE, None, 1)
    assert calls.limits == 1
