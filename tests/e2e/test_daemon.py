"""The real daemon in a process of its own: what callers, signals, editors and the clock
do to it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engram import Memory
from engram.core.policy import ServePolicy
from engram.daemon import sockets
from engram.daemon.threads import WriterThread
from engram.errors import (
    BadRequestError,
    BusyError,
    EngramError,
    LockedError,
    NotFoundError,
    UnavailableError,
)
from engram.vault import locks
from tests.fakes.answers import ID, free_port, settings_in
from tests.fakes.world import PATIENCE, World, until
from tests.semantic import needs_model

SAID = "We decided to move to Lisbon in May, and my sister Ana is coming along."


def turns(count, session="s", start=0):
    return [
        {
            "id": f"{session}-{n}",
            "session": session,
            "text": f"turn number {n} of {session}",
        }
        for n in range(start, count)
    ]


def test_a_flush_says_at_once_that_the_disk_refuses_and_nothing_is_lost(world):
    """The turns are stored, and filed when it allows."""
    world.start()
    facts = world.vault / "facts"
    shutil.rmtree(facts, ignore_errors=True)
    facts.write_text("in the way")
    world.call(
        "observe",
        turns=[{"id": "m1", "session": "s", "text": "Remember that the roof is red."}],
    )
    with pytest.raises(UnavailableError, match="cannot be filed now"):
        world.call("flush")
    assert world.call("status")["parked_turns"] == 1
    facts.unlink()


# row: X18
# row: A14
@needs_model
def test_what_is_filed_is_found_by_its_meaning_without_waiting_for_a_timer(world):
    """Also what was corrected. The timer of the daemon wakes it once a minute."""

    def nearest(query):
        (first, *_) = world.call("recall", query=query)["hits"] or [{"text": ""}]
        return first["text"]

    world.env["ENGRAM_EMBEDDINGS_MODEL"] = ""
    world.start()
    world.call("remember", text="Toby is a puppy that we got in May.")
    until(lambda: "puppy" in nearest("young dog"), 30)
    (found,) = world.call("recall", query="puppy")["hits"]
    world.call("correct", id=found["id"], text="Toby is a kitten that we got in May.")
    until(lambda: "kitten" in nearest("young feline"), 30)


def test_sigterm_files_what_waits_and_leaves_nothing_behind(world):
    """The exit code is 0, the conversation is in the vault, the socket is gone."""
    world.start()
    world.call("observe", turns=[{"text": "one thing before you go"}])
    assert world.stop() == 0
    assert "one thing before you go" in world.said()
    assert not Path(world.socket).exists()
    assert "Traceback" not in world.log.read_text()


# row: C2
def test_a_conversation_that_goes_quiet_is_distilled_by_the_clock(world):
    """Two turns and silence: nobody calls, yet after `buffer.minutes` there is a fact."""
    world.configure("[buffer]\nminutes = 0.02\nturns = 50\n")
    world.start()
    world.call(
        "observe",
        turns=[
            {"text": "Nice to see you."},
            {"text": "My favourite tea is jasmine tea.", "session": "q"},
        ],
    )
    until(lambda: "jasmine" in world.said())


# row: C1
def test_a_decision_is_distilled_at_once(world):
    world.start()
    world.call("observe", turns=[{"text": SAID, "session": "s"}])
    until(lambda: any("Lisbon" in fact for fact in world.facts()))


# row: X18
def test_a_hand_edit_is_found_without_anybody_asking(world):
    """A note written in an editor is recalled about a second later."""
    world.start()
    note = world.vault / "notes" / "garden.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("The quince tree blossoms in April.\n")
    until(lambda: world.call("recall", query="when does the quince blossom?")["hits"])
    note.write_text("The quince tree was felled in autumn.\n")
    until(
        lambda: (
            "felled" in json.dumps(world.call("recall", query="quince tree")["hits"])
        )
    )


def test_the_same_command_says_the_same_with_and_without_a_daemon(world):
    """A verb does not care where it runs."""
    world.engram("remember", "Anna switched to oat milk")
    world.engram(
        "observe",
        stdin=json.dumps(
            {"id": "1", "text": SAID, "occurred_at": "2026-03-04T10:00:00"}
        ),
    )
    asked = [
        ("recall", "what does Anna drink?"),
        ("recall", "who moves to Lisbon?", "-k", "2"),
        ("stats",),
        ("doctor",),
    ]
    now = ("--now", "2026-12-01T12:00:00")
    asked = [(*words, *now) if words[0] == "recall" else words for words in asked]
    for words in asked:
        world.json(*words)  # the first use moves a memory up
    alone = [world.json(*words) for words in asked]
    world.start()
    beside = [world.json(*words) for words in asked]
    for one, other in zip(alone, beside, strict=True):
        # each answer is fenced with a mark of its own
        one.pop("text", None), other.pop("text", None)
        assert one == other
    identity = alone[0]["hits"][0]["key"]
    assert world.json("show", identity)["memory"]["text"] == "Anna switched to oat milk"
    assert "no such memory" in world.engram(
        "show", "01AAAAAAAAAAAAAAAAAAAAAAAA", code=66
    )


def test_a_second_daemon_is_refused_by_name(world):
    """It says who holds the vault; the first one goes on."""
    world.start()
    words = world.engram("daemon", "--foreground", code=LockedError.exit_code)
    assert str(world.process.pid) in words
    assert world.call("status")["ready"]


@pytest.fixture
def at_home(world, monkeypatch):
    """This process sees the world as its commands do."""
    for name in ("HOME", "ENGRAM_HOME", "ENGRAM_VAULT", "TZ"):
        monkeypatch.setenv(name, world.env[name])
    return world


def test_a_daemon_waits_for_a_command_at_work(at_home):
    """A lock that is let go soon is no reason to refuse."""
    with Memory(at_home.vault) as mem:
        at_home.process = at_home.launch()
        time.sleep(1)
        assert at_home.process.poll() is None
        mem.remember("Anna switched to oat milk")
    until(at_home.ready)
    assert at_home.call("recall", query="oat milk")["hits"]


def test_a_command_waits_for_a_daemon_that_is_starting(at_home):
    """A vault that is locked before its socket is open is asked through the socket."""
    at_home.engram("stats")  # which makes the folders
    lock = locks.lock(at_home.home / "state" / ID / "lock")
    answers = []
    asking = threading.Thread(
        target=lambda: answers.append(at_home.engram("remember", "Anna likes figs"))
    )
    asking.start()
    time.sleep(0.5)
    lock.release()
    at_home.start()
    asking.join()
    assert "created" in answers[0]


def test_a_background_daemon_that_ends_at_once_tells_its_fault_as_its_own(world):
    """With the fault's own code and advice, each once."""
    (world.vault / "engram.toml").unlink()
    words = world.engram("daemon", code=NotFoundError.exit_code)
    assert (
        words.count("this folder is no vault")
        == words.count("to do:")
        == words.count("code:")
        == 1
    )


def test_sighup_takes_over_a_new_configuration_without_refusing_anybody(world):
    """Callers wait for a moment instead of being refused; a broken configuration
    changes nothing.
    """
    world.start()
    for number in range(4):
        world.call("remember", text=f"the colour of door number {number} is green")
    assert len(world.call("recall", query="door colour")["hits"]) >= 4
    world.configure("[recall]\nk = 2\n")
    faults = []

    def keep_asking():
        while world.process and not stop.is_set():
            try:
                world.call("recall", query="door colour")
            except EngramError as fault:
                faults.append(fault)

    stop = threading.Event()
    asking = threading.Thread(target=keep_asking)
    asking.start()
    try:
        world.process.send_signal(signal.SIGHUP)
        until(lambda: len(world.call("recall", query="door colour")["hits"]) == 2)
        world.configure("[recall]\nk = 'many'\n")
        world.process.send_signal(signal.SIGHUP)
        until(lambda: "stays as it was" in world.log.read_text())
        assert len(world.call("recall", query="door colour")["hits"]) == 2
    finally:
        stop.set()
        asking.join()
    assert faults == []
    assert world.stop() == 0


def test_the_log_holds_no_words_of_anybody(world):
    world.start()
    world.call(
        "observe",
        turns=[{"text": "the canary sings at midnight, and I decided to move"}],
    )
    world.call("remember", text="canary seed is in the cupboard")
    world.call("recall", query="canary")
    world.call("flush")
    world.stop()
    assert "canary" not in world.log.read_text()


def test_python_gets_the_same_answers_with_and_without_a_daemon(at_home):
    """To the very kinds of values; and a memory that was closed says so."""
    world, answers = at_home, []
    for turn in ("1", "2"):
        with Memory(world.vault) as mem:
            kept = mem.observe(
                turns=[
                    {"id": turn, "text": "Anna likes tea.", "occurred_at": "2026-03-04"}
                ]
            )
            (hit, *_) = mem.recall(
                "what does Anna like?", now="2026-12-01", kinds=["turn"]
            ).hits
            planned = mem.call("consolidate", dry_run=True)
            with pytest.raises(BadRequestError, match="no operation 'juggle'"):
                mem.call("juggle")
        with pytest.raises(UnavailableError, match="was closed"):
            mem.recall("tea")
        answers.append((type(kept.keys), hit.about, type(planned["actions"])))
        if turn == "1":
            world.start()
    assert answers == [(list, [], list)] * 2


def test_the_background_daemon_is_found_and_ended_by_name(world):
    """`daemon` returns when it answers, `status` shows it, `down` ends it."""
    started = world.json("daemon")
    try:
        assert world.json("status")["pid"] == started["pid"]
        assert world.json("daemon")["running"] == "it was running already"
        words = world.engram("daemon", "--tcp", str(free_port()), code=65)
        assert "without this port" in words
        assert "engram down" in words
    finally:
        stopped = world.json("down")["stopped"]
    log = world.home / "state" / ID / "daemon.log"
    assert log.read_text().endswith("stopped\n")  # it has ended
    assert stopped == [f"process {started['pid']}"]
    done = world.run("status")
    assert (done.returncode, "no daemon answers" in done.stderr) == (3, True)
    assert "learned_by: rules, from plain English" in done.stdout
    assert "pid:" not in done.stdout
    assert world.json("down")["stopped"] == "nothing was running"


def test_a_port_in_use_is_told_with_the_vault_of_the_daemon_that_uses_it(
    world, tmp_path
):
    other, port = World(tmp_path / "other"), str(free_port())
    started = world.json("daemon", "--tcp", port)
    try:
        words = other.engram("daemon", "--tcp", port, code=69)
    finally:
        world.json("down")
    assert f"by process {started['pid']}: " in words
    assert str(world.vault) in words
    assert "`engram daemon --vaults FOLDER --tcp PORT`" in words


def test_nobody_takes_a_daemon_as_started_that_lacks_its_port(tmp_path):
    """A caller asks the Unix socket whether the daemon runs."""
    settings = settings_in(tmp_path / "home", tmp_path / "v")
    with sockets.Listeners() as listeners, socket.socket() as theirs:
        theirs.bind((sockets.LOOPBACK, 0))
        theirs.listen()
        taken = replace(settings, tcp_port=theirs.getsockname()[1])
        with pytest.raises(UnavailableError):
            listeners.open(taken)
        assert not settings.socket.exists()
        for one in listeners.open(settings):
            one.close()
        assert settings.socket.exists()


# -- the writer ------------------------------------------------------------------------


def test_one_jobs_fault_does_not_end_the_writer(caplog):
    """A request's fault goes to whoever asked; the daemon's own stands in `faults`
    until the work succeeds.
    """
    writer = WriterThread(ServePolicy())
    writer.start()

    def breaks():
        raise ValueError("the secret of Anna")

    with pytest.raises(EngramError) as caught:
        writer.submit("update", breaks).result(60)
    assert "Anna" not in str(caught.value)
    assert writer.health.problems() == {}
    writer.post("rescan", breaks)
    assert writer.submit("x", lambda: 7).result(60) == 7
    assert list(writer.health.problems()) == ["rescan"]
    writer.post("rescan", lambda: None)
    writer.stop()
    assert writer.health.problems() == {}
    assert "Anna" not in caplog.text


def test_a_full_queue_refuses_requests_but_never_the_daemons_own_work():
    writer = WriterThread(ServePolicy(queue_jobs=2))
    begin, done = threading.Event(), []
    writer.start()
    writer.post("wait", lambda: begin.wait(60))
    until(lambda: writer.waiting() == 0)
    asked = [writer.submit("x", lambda: done.append("asked")) for _ in range(2)]
    with pytest.raises(BusyError) as caught:
        writer.submit("x", lambda: done.append("refused"))
    assert caught.value.retry_after >= 1
    writer.post("own", lambda: done.append("own"))
    begin.set()
    writer.stop()
    assert [one.done() for one in asked] == [True, True]
    assert done == ["asked", "asked", "own"]


def test_a_long_job_is_seen_as_silence():
    """What the watchdog looks at grows while a job runs and falls when it ends."""
    writer = WriterThread(ServePolicy())
    writer.start()
    writer.post("slow", lambda: time.sleep(0.3))
    until(lambda: writer.silence() > 0.2)
    until(lambda: writer.silence() < 0.1)
    writer.stop()


ID_OF_FADED = "01HR0000000000000000000000"
FADED = """---
id: {id}
created: 2024-03-02T10:00:00+01:00
status: active
kind: episode
category: fact
confidence: 0.9
importance: 0.2
source: "[[2024-03-02-harbour#^t1]]"
origin: rules
---
Anna saw a red car near the harbour.
"""


# row: X6
# row: X10
# row: C18
def test_the_daemon_puts_the_vault_in_order_and_takes_it_back_when_told(world):
    """Nobody asks for the run; the command line tells what it did, undoes it byte for
    byte, and foresees the next.
    """
    note = world.vault / "facts" / "2024-03-02" / "fact-anna-saw-a-red-car.md"
    note.parent.mkdir(parents=True)
    note.write_text(FADED.format(id=ID_OF_FADED))
    os.utime(note, (0, 0))  # nobody is at it
    before = note.read_bytes()
    state = world.vault / "state"  # engram wrote it, and met it, long ago
    (state / "usage").mkdir(parents=True)
    (state / "usage" / f"{'a' * 16}.jsonl").write_text(
        '{"met": ["all notes"], "at": "2024-03-02T10:00:00+00:00"}\n'
    )
    row = {
        "at": "2024-03-02T10:00:00+01:00",
        "action": "store",
        "outcome": "applied",
        "memory": ID_OF_FADED,
    }
    (state / "memory-actions.jsonl").write_text(f"{json.dumps(row)}\n")
    world.start()
    assert "would archive" in world.engram("consolidate", "--dry-run")
    assert "archive: Anna saw a red car" in world.engram("forecast", "--curve")
    assert note.read_bytes() == before
    world.call("observe", turns=[{"text": SAID, "session": "s"}])

    def nights():
        runs = world.call("runs")["runs"]
        return [run for run in runs if "archive" in run["counts"]]

    until(nights)
    (run,) = nights()
    assert run["counts"]["archive"] == 1
    assert (world.vault / "archive").is_dir()
    assert f"undid run {run['id']}" in world.engram("undo", run["id"])
    assert note.read_bytes() == before
    time.sleep(1.2)  # what the watcher makes of it
    assert note.read_bytes() == before
    assert world.call("doctor")["healthy"]


def test_a_run_that_is_planned_is_named_given_up_and_made_when_no_other_work_waits(
    world,
):
    """Over many notes about the user: SIGTERM ends it at once, and nothing of
    it is in the vault; what a person asks for comes first.
    """
    trades = ["brewing", "carving", "dyeing", "forging", "knitting", "milling"]
    folder = world.vault / "facts" / "2026-01-01"
    folder.mkdir(parents=True)
    for number in range(1500):
        trade = trades[number % len(trades)]
        (folder / f"n{number}.md").write_text(
            f"The user wrote guide {number} on {trade} for the guild of town {number * 7}.\n"
        )

    def begin(number):
        world.start()
        world.call("observe", turns=turns(number + 1, start=number))
        until(lambda: world.call("status").get("run", {}).get("pass"), seconds=120)

    begin(0)
    run = world.call("status")["run"]
    assert run["cadence"] == "nightly"
    assert datetime.fromisoformat(run["since"]) <= datetime.now(UTC)
    assert world.stop() == 0
    assert world.runs() == ""

    begin(1)
    world.call("remember", text="The spare key is under the blue pot.")
    assert "nightly" not in world.runs()
    assert world.call("consolidate")["frozen"] == ""
    assert "nightly" in world.runs()


def test_a_command_beside_a_suspended_daemon_says_so_soon(world):
    """Which process it is, of which vault, and what to do."""
    world.start()
    world.process.send_signal(signal.SIGSTOP)

    def said(command):
        begun = time.monotonic()
        words = world.engram(*command, code=UnavailableError.exit_code)
        assert time.monotonic() - begun < PATIENCE
        return words

    commands = ("recall", "tea"), ("remember", "I like tea.")
    with ThreadPoolExecutor(2) as callers:
        answers = list(callers.map(said, commands))
    for answer in answers:
        for words in (
            "the daemon runs but does not answer",
            f"process {world.process.pid}, {world.socket}",
            f"kill -CONT {world.process.pid}",
        ):
            assert words in answer
