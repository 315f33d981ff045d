"""The daemon in this process: what it does when its own work fails, when it is crowded
and when it stops.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.policy import ServePolicy
from engram.daemon import sockets
from engram.daemon.daemon import Daemon
from engram.daemon.threads import DaemonThreads, WriterThread
from engram.errors import ModelError, StorageError, UnavailableError
from engram.memory import VaultMemory
from engram.serve import socket_client
from engram.serve.server import SILENT_SECONDS, HttpServer
from tests.fakes.answers import ask, settings_in
from tests.fakes.world import until

SAID = [{"text": "Remember that I live in Berlin."}]
READY = "GET /readyz HTTP/1.1\nHost: engram"


@pytest.fixture
def begin(tmp_path):
    """Make and start a daemon with a short stop and quick retries; `prepare` may break
    its memory before.
    """
    with sockets.Listeners() as listeners:
        begun = []

        def start(prepare=lambda _memory: None, stop_seconds=5.0, workers=2, **serve):
            settings = settings_in(tmp_path / "home", tmp_path / "vault")
            policy = replace(
                settings.policy,
                model=replace(settings.policy.model, retry_seconds=0.1),
                serve=replace(
                    settings.policy.serve,
                    stop_seconds=stop_seconds,
                    workers=workers,
                    **serve,
                ),
                files=replace(settings.policy.files, quiet_seconds=0),
            )
            settings = replace(settings, policy=policy)
            threads = DaemonThreads(settings)
            memory = VaultMemory(settings, executor=threads)
            memory.start()
            prepare(memory)
            daemon = Daemon(
                memory, threads, HttpServer, listeners.open(memory.settings)
            )
            begun.append(daemon)
            daemon.start()
            until(lambda: memory.ready)
            return daemon

        yield start
        for daemon in begun:
            if not daemon.background.stopping:
                daemon.stop()


def failing_once(job, fault):
    """`job`, whose first call meets `fault`."""
    left = [fault]

    def broken(*given, **named):
        if left:
            raise left.pop()
        return job(*given, **named)

    return broken


def test_an_outcome_that_cannot_be_filed_is_kept_whatever_the_fault(begin):
    """A fault nobody foresaw leaves the batch with the daemon, which comes back for it."""

    def prepare(memory):
        memory.pipeline.file = failing_once(memory.pipeline.file, ValueError("x"))

    daemon = begin(prepare)
    daemon.memory.call("observe", {"turns": SAID})
    until(
        lambda: (
            daemon.memory.call("stats", {})["facts"] == 1
            and not daemon.writer.health.problems()
        )
    )


def test_a_rescan_that_failed_is_done_again(begin):
    """Its paths are not forgotten, and until then the daemon is not ready."""
    daemon = begin()
    path = str(daemon.settings.socket)
    daemon.memory.index.scan = failing_once(
        daemon.memory.index.scan, StorageError("the disk is full")
    )
    (daemon.settings.vault / "note.md").write_text("The wifi word is Xylophon.\n")
    until(lambda: ask(path, READY)[0] == 503)
    until(lambda: socket_client.call(path, "recall", {"query": "Xylophon"})["hits"])
    until(lambda: ask(path, READY)[0] == 200)


def test_a_warm_up_that_failed_is_done_again_soon(begin):
    def prepare(memory):
        memory.catch_up = failing_once(
            memory.catch_up, StorageError("the disk is full")
        )

    daemon = begin(prepare)
    until(lambda: not daemon.writer.health.problems())
    assert daemon.unready() == ""


def test_an_edit_just_after_the_vault_was_read_is_found(begin):
    """The watcher begins before the reading does."""

    def prepare(memory):
        warm = memory.catch_up

        def then_edited():
            warm()
            (memory.settings.vault / "late.md").write_text("Zanzibar is warm.\n")

        memory.catch_up = then_edited

    daemon = begin(prepare)
    until(lambda: daemon.memory.call("recall", {"query": "Zanzibar"})["hits"])


def test_a_vault_that_was_moved_away_is_told(begin):
    """Not ready, degraded, and recall does not claim to be complete; all is well once
    it is back.
    """
    daemon = begin()
    vault = daemon.settings.vault
    vault.rename(vault.with_name("moved"))
    until(daemon.unready)
    status, _, answer = ask(str(daemon.settings.socket), READY)
    assert (status, answer["error"]["code"]) == (503, "unavailable")
    assert "vault" in daemon.call("status", {})["daemon"]["degraded"]
    assert "vault" in daemon.summary().partition("degraded: ")[2]
    assert daemon.call("recall", {"query": "x"})["complete"] is False
    vault.with_name("moved").rename(vault)
    until(lambda: not daemon.unready())


def test_a_crowd_that_waits_for_its_flush_blocks_nobody(begin):
    """Alive, ready and recall answer while more flushes wait than there are threads; a
    stop ends in time.
    """
    done = threading.Event()

    def prepare(memory):
        def slow(_batch):
            done.wait(60)
            raise ModelError("late")

        memory.pipeline.distil = slow

    daemon = begin(prepare, stop_seconds=1.0)
    path = str(daemon.settings.socket)
    try:
        socket_client.call(path, "observe", {"turns": SAID})
        body = "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        crowd = [socket_client.connect(path) for _ in range(60)]
        for line in crowd:
            line.sendall(f"POST /v1/flush HTTP/1.1\r\nHost: engram\r\n{body}".encode())
        assert socket_client.call(path, "recall", {"query": "Berlin"})["hits"]
        assert ask(path, "GET /healthz HTTP/1.1\nHost: engram")[0] == 200
        assert ask(path, READY)[0] == 200
        began = time.monotonic()
        daemon.stop()
        assert time.monotonic() - began < 20
    finally:
        done.set()
    for line in crowd:
        line.close()


# row: E15
def test_distilling_holds_nobody_up(begin):
    """Turns are taken and recalled, and notes written, while a batch is read for as
    long as it likes.
    """
    done = threading.Event()

    def prepare(memory):
        def slow(_batch):
            done.wait(60)
            raise ModelError("late")

        memory.pipeline.distil = slow

    path = str(begin(prepare, stop_seconds=1.0, workers=1).settings.socket)
    try:
        socket_client.call(path, "observe", {"turns": SAID})
        socket_client.call(path, "flush", {"background": True})
        late = SAID[0] | {"id": "late", "text": "The heron nests."}
        socket_client.call(path, "observe", {"turns": [late]})
        assert socket_client.call(path, "recall", {"query": "heron"})["hits"]
        kettle = {"text": "The kettle is red."}
        assert socket_client.call(path, "remember", kettle)["verdict"] == "created"
        assert socket_client.call(path, "stats", {})["distilling_turns"]
    finally:
        done.set()


def test_no_batch_is_begun_after_a_stop(begin):
    """What waits for a worker when the time is up stays in the journal."""
    asked = []

    def prepare(memory):
        def slow(_batch):
            asked.append(1)
            time.sleep(0.4)
            raise ModelError("late")

        memory.pipeline.distil = slow

    daemon = begin(prepare, stop_seconds=0.2, workers=1)
    for number in range(8):
        daemon.memory.call("observe", {"turns": [SAID[0] | {"session": f"s{number}"}]})
    daemon.stop()
    before = len(asked)
    time.sleep(1)
    assert len(asked) == before < 8


def test_what_was_due_days_ago_is_looked_at(begin):
    """After a long sleep of the machine a date that passed counts as come."""
    daemon, come = begin(), threading.Event()
    daemon.threads._scheduler.add_job(
        come.set, "date", run_date=datetime.now(UTC) - timedelta(days=3)
    )
    assert come.wait(60)


def test_a_request_that_was_given_up_is_not_carried_out():
    writer, done = WriterThread(ServePolicy()), []
    given_up = writer.submit("x", lambda: done.append("given up"))
    given_up.cancel()
    kept = writer.submit("x", lambda: done.append("kept"))
    writer.start()
    kept.result(60)
    writer.stop()
    assert done == ["kept"]


@pytest.mark.parametrize(
    "pieces", [[b""], [b"GET /heal", b"thz HTTP/1.1\r\n", b"Host: engram\r\n"]]
)
def test_a_head_that_does_not_end_is_not_waited_for(begin, pieces):
    """Neither silence nor a drip of bytes holds a connection for longer than a head may
    take.
    """
    daemon = begin(head_seconds=0.3)
    with socket_client.connect(str(daemon.settings.socket), 5) as line:
        for piece in pieces:
            line.sendall(piece)
            time.sleep(0.05)
        with suppress(ConnectionResetError):
            assert line.recv(100) == b""


def test_connections_beyond_the_most_are_refused(begin):
    """Those that have not said anything make room; those with a request do not."""
    daemon = begin(connections=5)
    path = str(daemon.settings.socket)
    until(lambda: ask(path, READY)[0] == 200)
    silent = [socket_client.connect(path) for _ in range(20)]
    until(lambda: ask(path, READY)[0] == 200)
    for line in silent:
        line.close()
    until(lambda: ask(path, READY)[0] == 200)
    head = [
        "POST /v1/recall HTTP/1.1",
        "Host: engram",
        "Content-Type: application/json",
        "Content-Length: 9",
    ]
    busy = []

    def stays_full_with_one_more():
        busy.append(socket_client.connect(path))
        busy[-1].sendall("\r\n".join([*head, "", ""]).encode())
        time.sleep(0.05)  # a connection that was refused is closed now
        return ask(path, READY)[0] == 503

    until(stays_full_with_one_more)
    time.sleep(2 * SILENT_SECONDS)
    status, headers, answer = ask(path, READY)
    assert (status, headers["retry-after"]) == (503, "1")
    assert answer["error"]["what"] == "too many connections are open"
    for line in busy:
        line.close()
    until(lambda: ask(path, READY)[0] == 200)


# row: X20
def test_a_catalogue_found_damaged_is_read_again_without_anybody_asking(begin):
    """Until then the daemon is not ready, answers are incomplete and turns are refused."""
    daemon = begin(read_seconds=0.5)
    path = str(daemon.settings.socket)
    said = SAID[0] | {"id": "m1"}
    socket_client.call(path, "observe", {"turns": [said]})
    until(lambda: daemon.memory.call("stats", {})["facts"] == 1)
    daemon._watch.stop()
    scan, may = daemon.memory.index.scanner.scan, threading.Event()
    daemon.memory.index.scanner.scan = lambda *args, **more: (
        may.wait(20) and scan(*args, **more)
    )
    daemon.memory.index.catalog.database.start_over()
    assert ask(path, READY)[0] == 503
    assert socket_client.call(path, "recall", {"query": "Berlin"})["complete"] is False
    with pytest.raises(UnavailableError):
        daemon.memory.call("observe", {"turns": [said]})
    may.set()
    until(lambda: ask(path, READY)[0] == 200)
    assert socket_client.call(path, "observe", {"turns": [said]})["duplicates"] == 1
    assert socket_client.call(path, "recall", {"query": "Berlin"})["complete"]


# row: E9
# row: E13
def test_a_conversation_is_told_in_short_without_anybody_asking(begin):
    """At the fourth turn, before any of them is filed."""
    daemon = begin()
    for number in range(4):
        daemon.call(
            "observe",
            {
                "turns": [
                    {
                        "session": "porto",
                        "text": f"The tram in Porto was number {number}.",
                    }
                ]
            },
        )
    state = daemon.settings.vault / "state/sessions.json"
    until(state.exists)
    assert "The tram in Porto was number 0." in state.read_text()
    assert not list((daemon.settings.vault / "sessions").rglob("*.md"))


def test_a_caller_waits_for_a_daemon_that_works_long(begin, monkeypatch):
    """While the daemon answers a ping, however long the writer is busy."""
    monkeypatch.setattr(socket_client, "SILENT_SECONDS", 0.2)
    monkeypatch.setattr(socket_client, "PING_SECONDS", 1.0)
    daemon, release, answers = begin(), threading.Event(), []
    daemon.writer.post("long work", release.wait)

    def remember():
        params = {"text": "The spare key is under the blue pot."}
        path = str(daemon.settings.socket)
        answers.append(socket_client.call(path, "remember", params))

    caller = threading.Thread(target=remember)
    caller.start()
    caller.join(socket_client.SILENT_SECONDS + socket_client.PING_SECONDS + 1)
    assert answers == []
    release.set()
    caller.join()
    assert answers[0]["id"]
