"""The places for model calls of many vaults: how many at once, and whose turn it is."""

from __future__ import annotations

import threading
import time

import pytest

from engram.daemon.threads import ModelPlaces


class Callers:
    """Model calls in threads; each ends when it is told to."""

    def __init__(self, places):
        self.places = places
        self.began = []
        self.ends = threading.Semaphore(0)
        self.threads = []

    def call(self, vault):
        def run():
            with self.places.held(vault):
                self.began.append(vault)
                self.ends.acquire()

        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    def until(self, began, waiting):
        last = time.monotonic() + 5
        while (len(self.began), self.places.waiting()) != (began, waiting):
            assert time.monotonic() < last, (self.began, self.places.waiting())
            time.sleep(0.001)


# row: X15
def test_a_noisy_vault_holds_a_quiet_one_up_by_one_call_at_most():
    callers = Callers(ModelPlaces(1))
    for number in range(6):
        callers.call("noisy")
        callers.until(1, number)
    callers.call("quiet")
    callers.until(1, 6)
    for began in range(2, 8):
        callers.ends.release()
        callers.until(began, 7 - began)
    callers.ends.release()
    for thread in callers.threads:
        thread.join()
    assert callers.began == ["noisy", "quiet", *["noisy"] * 5]


# row: X15
def test_the_vault_that_was_served_longest_ago_is_next():
    callers = Callers(ModelPlaces(2))
    for vault in ("a", "b", "b", "a", "c"):
        callers.call(vault)
        callers.until(min(2, len(callers.threads)), max(0, len(callers.threads) - 2))
    for began in (3, 4, 5):
        callers.ends.release()
        callers.until(began, 5 - began)
    for _ in range(2):
        callers.ends.release()
    for thread in callers.threads:
        thread.join()
    assert callers.began == ["a", "b", "c", "a", "b"]


def test_a_call_that_fails_gives_its_place_back():
    places = ModelPlaces(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="no answer"), places.held("a"):
            raise ValueError("no answer")
    with places.held("b"):
        assert places.waiting() == 0
