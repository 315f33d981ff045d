"""Several daemons serve one folder of vaults; each vault is open in one of them."""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
import urllib.error
import urllib.request
from dataclasses import replace
from functools import partial

import pytest

from engram import config
from engram.core.policy import ServePolicy
from engram.daemon.pool import VaultPool
from engram.errors import LockedError, MisdirectedError
from engram.index.owner import due
from engram.serve import socket_client
from engram.serve.pool_server import PoolServer
from engram.serve.tokens import IssuedTokens
from tests.fakes.answers import free_port
from tests.fakes.world import PATIENCE
from tests.postgres import cut_off

QUICK = replace(ServePolicy(), linger_seconds=0.0, broken_seconds=0.0)
MARK = {"anna": "Zirbelnuss", "bob": "Quittenbrot"}
"""A word that only one vault has."""


class Host:
    """One daemon in this process: sockets and cache of its own, the rest shared."""

    def __init__(self, fleet, number):
        self.fleet = fleet
        self.env = fleet.env_of(number)
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        shared = partial(due, fleet.dsn)
        self.pool = VaultPool(fleet.folder, self.load, QUICK, shared)
        self.server = PoolServer(self.pool, self.port)
        self.server.start()
        self.server.follow()

    def load(self, folder):
        return replace(config.load(folder, self.env), address=self.address)

    def ask(self, name, path, body=None, *, role="chatbot", **headers):
        token = self.fleet.tokens.get((name, role), name)
        head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        raw = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}{path}", raw, head | headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as fault:
            self.owner = fault.headers["Engram-Owner"]
            return fault.code, fault.read().decode()

    def vault(self, name):
        return next(one for one in self.pool.vaults() if one.folder.name == name)

    def has(self, name):
        return self.vault(name).daemon is not None

    def give_up(self, name):
        self.pool._close(self.vault(name))

    def closes_idle(self, name):
        """Close a vault as the pool does: when none of its work is due."""
        self.pool._close_if_idle(self.vault(name))
        return not self.has(name)

    def close(self):
        self.server.stop()
        self.pool.stop()


class Fleet:
    """The shared folders, and the daemons that were started."""

    def __init__(self, root, dsn, **env):
        self.root, self.dsn, self.more = root, dsn, env
        self.folder = root / "vaults"
        self.tokens = {}
        self.hosts = []
        for name in MARK:
            vault = self.folder / name
            vault.mkdir(parents=True)
            own = f"{name}-{secrets.token_hex(6)}"
            (vault / "engram.toml").write_text(f'id = "{own}"\n')
            issued = IssuedTokens(config.load(vault, self.env_of(0)).state)
            for role in ("chatbot", "owner"):
                self.tokens[name, role] = issued.create(role, role)[1]

    def env_of(self, number):
        own = self.root / f"host{number}"
        (own / "run").mkdir(parents=True, exist_ok=True, mode=0o700)
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(own),
            "TZ": "UTC",
            "XDG_STATE_HOME": str(self.root / "state"),
            "XDG_RUNTIME_DIR": str(own / "run"),
            "XDG_CACHE_HOME": str(own / "cache"),
            "ENGRAM_POSTGRES": self.dsn,
            **self.more,
        }

    def start(self, number):
        self.hosts.append(Host(self, number))
        return self.hosts[-1]


@pytest.fixture
def fleet(tmp_path, postgres):
    """Make a fleet of two daemons with these environment variables."""
    made = []

    def make(**env):
        made.append(Fleet(tmp_path, postgres, **env))
        return [made[-1].start(number) for number in range(2)]

    yield make
    for host in (host for one in made for host in one.hosts):
        host.close()


# row: X15
def test_a_daemon_without_the_vault_names_the_one_that_has_it(fleet):
    """By status 421, a header and the body, over the port and over the socket."""
    first, second = fleet()
    text = f"The safe word is {MARK['anna']}."
    assert first.ask("anna", "/v1/memories", {"text": text})[0] == 200
    for path, body in (
        ("/v1/recall", {"query": "safe"}),
        ("/mcp", {}),
        ("/v1/x", None),
    ):
        status, answer = second.ask("anna", path, body)
        assert (status, second.owner) == (421, first.address)
        assert json.loads(answer)["error"]["where"] == first.address
        assert MARK["anna"] not in answer
    settings = second.vault("anna").settings
    door, folder = str(settings.socket), str(settings.vault)
    with pytest.raises(MisdirectedError) as fault:
        socket_client.call(door, "recall", {"query": "safe"}, folder=folder)
    assert fault.value.where == first.address
    assert second.ask("0" * 64, "/v1/stats")[0] == 401
    assert (first.has("anna"), second.has("anna")) == (True, False)
    first.give_up("anna")
    assert MARK["anna"] in second.ask("anna", "/v1/memories")[1]
    assert first.ask("anna", "/v1/memories")[0] == 421
    assert first.owner == second.address


# row: X15
# row: X17
def test_no_daemon_tells_a_tenant_of_another(fleet, caplog):
    """No answer, error or log line has a word of the other's vault."""
    caplog.set_level(logging.INFO)
    hosts = fleet()
    for number, name in enumerate(MARK):
        text = f"The safe word is {MARK[name]}."
        assert hosts[number].ask(name, "/v1/memories", {"text": text})[0] == 200
    for host in hosts:
        for name, other in (("anna", "bob"), ("bob", "anna")):
            for path in ("/v1/memories", "/v1/changes", f"/vaults/{other}/", "/"):
                answer = host.ask(name, path, role="owner")[1]
                assert MARK[other] not in answer
                if path == "/v1/memories" and host.has(name):
                    assert MARK[name] in answer
    lines = [one.getMessage() for one in caplog.records if "engram" in one.name]
    assert "opened vault anna" in lines
    assert not [word for word in MARK.values() if word in str(lines)]


# row: X15
@pytest.mark.parametrize("closes", [True, False])
def test_work_that_is_due_is_done_by_the_next_owner(fleet, closes):
    """Of a daemon that died, at once; of one that closed the vault, when it is due."""
    first, second = fleet()
    second.pool.look()
    wait_until(lambda: second.has("anna"))
    turn = {"text": "I live in Zwolle.", "session": "s", "id": "1"}

    def is_taken():
        second.give_up("anna")  # while work is due, any daemon may open the vault again
        return first.ask("anna", "/v1/turns", {"turns": [turn]})[0] == 202

    wait_until(is_taken)
    second.pool.look()
    assert not second.has("anna")
    if closes:
        assert first.ask("anna", "/v1/flush", {})[0] == 200
        wait_until(lambda: first.closes_idle("anna"))
        for _ in range(5):
            second.pool.look()
            time.sleep(0.05)
        assert not second.has("anna")
        return
    die(first, "anna")
    wait_until(lambda: second.pool.look() or second.has("anna"))
    status, answer = second.ask("anna", "/v1/turns", {"turns": [turn]})
    assert (status, json.loads(answer)["duplicates"]) == (202, 1)
    assert "Zwolle" in second.ask("anna", "/v1/recall", {"query": "Zwolle"})[1]


def die(host, name):
    """Let a daemon end as a killed process does: what it holds is gone, unsaved."""
    vault = host.vault(name)
    store = vault.daemon.memory.store
    store._fault = LockedError("it died")  # its threads live on, and write nothing
    vault.daemon.memory._lock.release()
    vault.daemon.threads.stop_timers()
    cut_off(store)
    vault.daemon = None


# row: X15
def test_a_daemon_whose_vault_another_took_sends_its_clients_there(fleet):
    first, second = fleet()
    assert first.ask("anna", "/v1/stats")[0] == 200
    first.vault("anna").daemon.threads.stop_timers()
    memory = first.vault("anna").daemon.memory
    memory._lock.release()
    cut_off(memory.store)
    assert second.ask("anna", "/v1/stats")[0] == 200
    turn = {"text": "I live in Zwolle.", "session": "s", "id": "1"}
    wait_until(lambda: first.ask("anna", "/v1/turns", {"turns": [turn]})[0] == 421)
    assert first.owner == second.address
    assert first.ask("anna", "/v1/stats")[0] == 421
    assert not first.has("anna")


def wait_until(is_so):
    last = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < last
        time.sleep(0.02)
