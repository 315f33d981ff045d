"""The real daemon is killed and rivalled while clients work; the disk alone says what
was kept.
"""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress

from harness import FULL
from ledger import facts_of, places_of

from engram.errors import LockedError, UnavailableError
from tests.fakes.world import until

KILLS = 50 if FULL else 4
RACES = 5 if FULL else 1
CLIENTS = 4
ROUND = 15
"""So many calls are answered on average before the daemon is killed, however slow the
machine is.
"""


class Client(threading.Thread):
    """Observes, remembers and recalls until the daemon is gone; keeps what it was
    promised.

    What was under way when the daemon died is asked for again in the next round, as a
    careful caller does.
    """

    def __init__(self, world, name):
        super().__init__()
        self.world, self.label = world, name
        self.turns, self.statements = {}, {}
        self.doubtful = []
        self.number = itertools.count()
        self.wrong = []

    def again(self):
        """The same client in a thread of its own once more."""
        other = Client(self.world, self.label)
        other.turns, other.statements, other.number = (
            self.turns,
            self.statements,
            self.number,
        )
        other.doubtful, other.wrong = self.doubtful, self.wrong
        return other

    def run(self):
        with suppress(UnavailableError):
            for what, word in list(self.doubtful):
                self.ask(what, word)
            for number in self.number:
                self.ask(
                    ("remember", "observe", "observe", "observe")[number % 4],
                    f"{self.label}zq{number}",
                )

    def ask(self, what, word):
        if (what, word) not in self.doubtful:
            self.doubtful.append((what, word))
        if what == "observe":
            text = (
                f"I decided to buy the boat {word}."
                if word.endswith("1")
                else f"There was talk of {word} today."
            )
            self.world.call(
                "observe",
                turns=[{"id": word, "session": f"talk {self.label}", "text": text}],
            )
            self.turns[word] = text
        else:
            text = f"The locker of {self.label} opens with {word}."
            self.world.call("remember", text=text)
            self.statements[word] = text
        self.doubtful.remove((what, word))
        hits = self.world.call("recall", query=word, k=3)["hits"]
        if word not in str(hits):
            self.wrong.append(
                f"{word} was acknowledged and not found by the next recall"
            )


def kept(clients):
    """How many promises the clients were given."""
    return sum(len(client.turns) + len(client.statements) for client in clients)


# row: X18
# row: X20
def test_nothing_acknowledged_is_lost_when_the_daemon_is_killed(world, covered):
    """Kill after kill in the midst of work, some while it starts; each turn and
    statement stands once.
    """
    chance = random.Random(KILLS)
    clients = [Client(world, f"c{number}") for number in range(CLIENTS)]
    for kill in range(KILLS):
        clients = [client.again() for client in clients]
        if kill % 10 == 9:
            world.process = world.launch()
            time.sleep(chance.uniform(0.1, 0.8))
        else:
            world.start()
            enough = kept(clients) + chance.randint(1, 2 * ROUND)
            for client in clients:
                client.start()
            until(lambda clients=clients, enough=enough: kept(clients) >= enough)
            time.sleep(chance.uniform(0, 0.02))
        assert world.stop(signal.SIGKILL) == -signal.SIGKILL
        for client in clients:
            if client.is_alive():
                client.join()
        assert [fault for client in clients for fault in client.wrong] == []
    world.start()
    turns = {word: text for client in clients for word, text in client.turns.items()}
    statements = {
        word: text for client in clients for word, text in client.statements.items()
    }
    for word, text in turns.items():
        hits = world.call("recall", query=word, k=5, kinds=["turn"])["hits"]
        assert [hit["text"] for hit in hits].count(text) == 1
    for word, text in statements.items():
        hits = world.call("recall", query=word, k=5, kinds=["fact"])["hits"]
        assert [hit["text"] for hit in hits].count(text) == 1
    assert all(
        count == 1 for count in places_of(world.vault, world.journal, turns).values()
    )
    world.call("flush")
    assert places_of(world.vault, world.journal, turns) == dict.fromkeys(turns, 1)
    texts = Counter(fact.text for fact in facts_of(world.vault))
    assert [text for text, count in texts.items() if count > 1] == []
    assert [
        finding
        for finding in world.call("doctor")["findings"]
        if finding["level"] == "error"
    ] == []
    assert len(facts_of(world.vault)) == world.call("stats")["facts"]
    assert world.stop() == 0
    assert turns
    assert statements
    covered("kill -9 of the daemon", "kills", KILLS)
    covered("kill -9 of the daemon", "turns kept once", len(turns))
    covered("kill -9 of the daemon", "statements kept once", len(statements))


def test_of_daemons_started_at_once_one_serves_and_the_others_name_it(world, covered):
    """Whoever takes the lock serves; the others end with the code for it and the
    process that holds it.
    """
    rivals = 3
    for _ in range(RACES):
        started = [
            subprocess.Popen(
                world.command("daemon", "--foreground"),
                env=world.env,
                cwd=world.vault.parent,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(rivals)
        ]
        until(
            lambda started=started: (
                sum(one.poll() is not None for one in started) == rivals - 1
            )
        )
        (winner,) = [one for one in started if one.poll() is None]
        world.process = winner
        until(world.ready)
        for loser in started:
            if loser is not winner:
                assert loser.returncode == LockedError.exit_code
                # in the instant the lock is taken it bears no name yet
                words = loser.communicate()[1]
                assert (
                    f"process {winner.pid} owns" in words
                    or "process unknown owns" in words
                )
        assert world.call("status")["pid"] == winner.pid
        assert world.stop() == 0
        winner.communicate()
    covered("daemons started at once", f"{rivals} rivals", RACES)


def test_no_write_of_the_command_line_is_lost_while_the_daemon_comes_and_goes(
    world, covered
):
    """Each command that said yes is kept, whether the daemon ran, started, stopped or
    was killed meanwhile.
    """
    said, refused, over = [], [], threading.Event()

    def command_line(label):
        for number in itertools.count():
            if over.is_set():
                return
            text = f"The lamp {label}kw{number} hangs in the hall."
            done = world.run("remember", text)
            (refused if done.returncode else said).append(
                (text, done.returncode, done.stderr)
            )

    lines = [
        threading.Thread(target=command_line, args=(f"l{number}",))
        for number in range(2)
    ]
    for one in lines:
        one.start()
    try:
        for number in [signal.SIGTERM, signal.SIGKILL] * (5 if FULL else 1):
            # a command line may hold the vault just then
            with suppress(AssertionError):
                world.start()
            time.sleep(0.5)
            world.process.send_signal(number)
            world.process.wait()
            time.sleep(0.3)
    finally:
        over.set()
        for one in lines:
            one.join()
    known = Counter(fact.text for fact in facts_of(world.vault))
    assert {text: known[text] for text, *_ in said} == {text: 1 for text, *_ in said}
    expected = {LockedError.exit_code, UnavailableError.exit_code}
    assert [row for row in refused if row[1] not in expected] == []
    assert said
    covered("command line beside the daemon", "kept", len(said))
    covered("command line beside the daemon", "refused in words", len(refused))
