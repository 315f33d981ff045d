"""Several daemons serve one folder of vaults; each request finds its vault."""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import pytest

from engram import config
from engram.core.policy import ServePolicy
from engram.daemon.fleet import FleetPool
from engram.errors import ConfigError, NotFoundError
from engram.index.lease import LeaseKeeper
from engram.serve import socket_client
from engram.serve.fleet_server import FleetServer
from engram.serve.tokens import IssuedTokens
from examples.echo_server import EchoServer
from tests.fakes.answers import free_port
from tests.fakes.openai_server import FakeServer
from tests.fakes.world import PATIENCE, ROOT

QUICK = replace(ServePolicy(), linger_seconds=0.0, broken_seconds=0.0)
MARK = {"anna": "Zirbelnuss", "bob": "Quittenbrot"}
"""A word that only one vault has."""
KEY = "0123456789" * 7


class Host:
    """One daemon in this process: sockets and cache of its own, the rest shared."""

    def __init__(self, fleet, number, policy, key):
        self.fleet = fleet
        self.env = fleet.env_of(number)
        port = free_port()
        address = f"http://127.0.0.1:{port}"
        self.keeper = LeaseKeeper(fleet.dsn, address, policy)
        self.pool = FleetPool(fleet.folder, self.load, policy, self.keeper, key)
        self.server = FleetServer(self.pool, port, key, address)
        self.server.start()
        self.server.follow()

    def load(self, folder):
        return config.load(folder, self.env)

    def ask(self, name, path, body=None, *, role="chatbot", port=0, **headers):
        token = self.fleet.tokens.get((name, role), name)
        head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        raw = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{port or self.server.port}{path}"
        request = urllib.request.Request(url, raw, head | headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as fault:
            return fault.code, fault.read().decode()

    def vault(self, name):
        return next(one for one in self.pool.vaults() if one.folder.name == name)

    def has(self, name):
        return self.vault(name).daemon is not None

    def give_up(self, name):
        self.pool._close(self.vault(name))

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

    def start(self, number, policy=QUICK, key=KEY):
        self.hosts.append(Host(self, number, policy, key))
        return self.hosts[-1]


@pytest.fixture
def fleet(tmp_path, postgres):
    """Make a fleet of two daemons with these environment variables."""
    made = []

    def make(policy=QUICK, **env):
        made.append(Fleet(tmp_path, postgres, **env))
        return [made[-1].start(number, policy) for number in range(2)]

    yield make
    for host in (host for one in made for host in one.hosts):
        host.close()


# row: X15
def test_a_request_reaches_its_vault_through_any_daemon(fleet):
    """Over HTTP, MCP and the proxy; the vault is open in one of them alone."""
    with EchoServer() as echo:
        first, second = fleet(ENGRAM_PROXY_BASE_URL=echo.url)
        text = f"The safe word is {MARK['anna']}."
        assert first.ask("anna", "/v1/memories", {"text": text})[0] == 200
        for host in (first, second):
            answer = host.ask("anna", "/v1/recall", {"query": "safe word"})
            assert MARK["anna"] in answer[1]
            call = {"name": "recall", "arguments": {"query": "safe word"}}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
            accept = {"Accept": "application/json, text/event-stream"}
            answer = host.ask("anna", "/mcp", {**message, "params": call}, **accept)
            assert MARK["anna"] in answer[1]
            chat = {
                "model": "m",
                "stream": True,
                "messages": [{"role": "user", "content": "safe?"}],
            }
            status, events = host.ask("anna", "/proxy/v1/chat/completions", chat)
            assert status == 200
            assert events.count("data:") > 2
            big = {"turns": [{"text": "x" * 600_000, "id": f"{host.server.port}"}]}
            assert host.ask("anna", "/v1/turns", big)[0] in {202, 400}
            assert host.ask("anna", "/v1/nothing")[0] == 404
            assert host.ask("0" * 64, "/v1/stats")[0] == 401
        assert (first.has("anna"), second.has("anna")) == (True, False)
        first.give_up("anna")
        assert MARK["anna"] in second.ask("anna", "/v1/memories")[1]
        assert (first.has("anna"), second.has("anna")) == (False, True)


# row: X15
# row: X17
def test_no_daemon_tells_a_tenant_of_another(fleet, caplog):
    """No answer, error, log line or row has a word of the other's vault."""
    caplog.set_level(logging.INFO)
    hosts = fleet()
    for number, name in enumerate(MARK):
        text = f"The safe word is {MARK[name]}."
        assert hosts[number].ask(name, "/v1/memories", {"text": text})[0] == 200
    for host in hosts:
        for name, other in (("anna", "bob"), ("bob", "anna")):
            theirs = host.vault(other).settings.rows_name
            forged = {
                "X-Engram-Forwarded": "f" * len(KEY),
                "X-Engram-Forwarded-Vault": theirs,
                "Engram-Caller": "owner",
            }
            for headers in ({}, forged):
                for path in ("/v1/memories", "/v1/changes", f"/vaults/{other}/", "/"):
                    answer = host.ask(name, path, role="owner", **headers)[1]
                    assert MARK[other] not in answer
                    if path == "/v1/memories":
                        assert MARK[name] in answer
                answer = host.ask(name, "/v1/recall", {"query": "safe"}, **headers)[1]
                assert MARK[name] in answer
                assert MARK[other] not in answer
            assert host.ask("0" * 64, "/v1/memories", **forged)[0] == 401
    with hosts[0].keeper.transaction() as db:
        rows = [
            db.execute(f"SELECT * FROM {one}").fetchall() for one in ("job", "lease")
        ]
    lines = [one.getMessage() for one in caplog.records if "engram" in one.name]
    assert any("acquired vault anna" in line for line in lines)
    seen = f"{rows} {lines}"
    assert not [word for word in MARK.values() if word in seen]


# row: X24
def test_what_is_spent_or_revoked_through_one_daemon_is_so_for_all(fleet):
    with FakeServer() as model:
        model.script('{"facts": []}')
        first, second = fleet(
            ENGRAM_MODEL="m", ENGRAM_BASE_URL=model.url, ENGRAM_API_KEY="k"
        )
        for host in (first, second):
            own = host.fleet.root / f"{host.env['HOME']}/.config/engram/config.toml"
            own.parent.mkdir(parents=True)
            own.write_text("[model]\ncalls_per_day = 1\n")
        say(first, "Zwolle")
        assert (budget(first), len(model.requests)) == (1, 1)
        assert budget(second) == 1
        first.give_up("anna")
        say(second, "Kampen")
        assert second.has("anna")
        assert (budget(first), len(model.requests)) == (1, 1)
        IssuedTokens(first.vault("anna").settings.state).revoke("chatbot")
        for host in (first, second):
            assert host.ask("anna", "/v1/stats")[0] == 401


def say(host, place):
    """Tell of a place, in more words than the rules take for themselves."""
    text = f"We talked for hours about {place} and what my brother thinks of it now."
    turn = {"text": text, "session": "s"}
    assert host.ask("anna", "/v1/turns", {"turns": [turn]})[0] == 202
    assert host.ask("anna", "/v1/flush", {})[0] == 200


def budget(host):
    answer = host.ask("anna", "/v1/status", role="owner")[1]
    return json.loads(answer)["budget"]["calls"]


# row: X15
def test_the_command_line_reaches_a_vault_that_another_daemon_has(fleet):
    """Its socket asks as the owner; a token of the chatbot does not become one."""
    first, second = fleet()
    text = "The safe word is Zirbelnuss."
    assert first.ask("anna", "/v1/memories", {"text": text})[0] == 200
    settings = second.vault("anna").settings
    door, folder = str(settings.socket), str(settings.vault)
    told = socket_client.call(door, "recall", {"query": "safe word"}, folder=folder)
    assert "Zirbelnuss" in str(told)
    assert first.has("anna")
    lease = socket_client.call(door, "status", {}, folder=folder)["daemon"]["lease"]
    assert lease["address"] == first.keeper.address
    assert lease["host"] == socket.gethostname()
    assert lease["fence"] == 1
    assert 0 < lease["seconds_left"] <= QUICK.lease_seconds
    purge = {"ids": ["x"], "yes": True}
    with pytest.raises(NotFoundError):
        socket_client.call(door, "purge", purge, folder=folder, owner=True)
    headers = {"Engram-Caller": "owner"}
    assert second.ask("anna", "/v1/purge", purge, **headers)[0] == 403


# row: X15
def test_the_work_of_a_daemon_that_died_is_done_by_another(fleet):
    first, second = fleet()
    assert first.ask("anna", "/v1/turns", {"turns": [{"text": "I live in Zwolle."}]})
    second.pool.look()
    assert not second.has("anna")
    die(first, "anna")
    with second.keeper.transaction() as db:
        db.execute("UPDATE lease SET until = now()")
    last = time.monotonic() + PATIENCE
    while not second.has("anna"):
        assert time.monotonic() < last
        second.pool.look()
        time.sleep(0.02)
    assert "Zwolle" in second.ask("anna", "/v1/recall", {"query": "Zwolle"})[1]


def die(host, name):
    """Let a daemon end as a killed process does: what it holds is gone, unsaved."""
    vault = host.vault(name)
    vault.daemon.memory._lock.release()
    vault.daemon.threads.stop_timers()
    host.keeper.close()
    vault.daemon = None


# row: X15
def test_a_request_waits_for_the_vault_of_a_daemon_that_is_gone(fleet):
    first, second = fleet(replace(QUICK, lease_seconds=1.5))
    turn = {"text": "I live in Zwolle.", "session": "s", "id": "1"}
    assert first.ask("anna", "/v1/turns", {"turns": [turn]})[0] == 202
    first.server.stop()
    die(first, "anna")
    status, answer = second.ask("anna", "/v1/turns", {"turns": [turn]})
    assert (status, json.loads(answer)["duplicates"]) == (202, 1)
    assert "Zwolle" in second.ask("anna", "/v1/recall", {"query": "Zwolle"})[1]


# row: X15
def test_a_daemon_that_is_killed_is_followed_at_once(tmp_path, postgres):
    """By command: it names the others, and refuses what does not fit to them."""
    fleet = Fleet(tmp_path, postgres)
    port = free_port()
    command = [
        *(sys.executable, "-P", "-m", "engram", "daemon", "--tcp", str(port)),
        *("--vaults", str(fleet.folder)),
    ]
    env = {**fleet.env_of(1), "PYTHONPATH": str(ROOT)}
    with (
        subprocess.Popen(
            command,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
        killed(process),
    ):
        said = ""
        while "reached_at" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        assert f"reached_at: http://127.0.0.1:{port}" in said
        wait_until(lambda: listens(port))
        key = (fleet.root / "state" / "engram" / "fleet-key").read_text().strip()
        elsewhere = {**env, "XDG_STATE_HOME": str(tmp_path / "not shared")}
        other = [part if part != str(port) else str(free_port()) for part in command]
        refused = subprocess.run(
            other, env=elsewhere, capture_output=True, text=True, check=False
        )
        assert refused.returncode == ConfigError.exit_code
        assert "another folder of states" in refused.stderr
        assert "XDG_STATE_HOME" in refused.stderr

        host = fleet.start(0, key=key)
        try:
            turn = {"text": "I live in Zwolle.", "session": "s", "id": "1"}
            told = host.ask("anna", "/v1/turns", {"turns": [turn]}, port=port)
            assert told[0] == 202
            until = host.pool.owner_of(host.vault("anna")).until
            process.kill()
            process.wait()
            answer = host.ask("anna", "/v1/recall", {"query": "Zwolle"})[1]
            assert "I live in Zwolle" in answer
            assert datetime.now(UTC) < until  # nobody waited for that
        finally:
            host.close()


@contextmanager
def killed(process):
    """End the process after the block also where the block fails."""
    try:
        yield
    finally:
        process.kill()


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# row: X15
def test_a_daemon_older_than_the_database_leaves_vaults_to_newer_ones(fleet, postgres):
    """What it has open it goes on with; for others a client is told to come back."""
    host, _ = fleet()
    assert host.ask("anna", "/v1/stats")[0] == 200
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute("INSERT INTO engram.migration VALUES ('9999_newer.sql')")
        try:
            assert host.ask("anna", "/v1/stats")[0] == 200
            status, answer = host.ask("bob", "/v1/stats")
        finally:
            admin.execute("DELETE FROM engram.migration WHERE name > '9'")
    assert status == 503
    assert "a newer engram made this database" in answer


# row: X15
def test_a_noisy_vault_leaves_the_model_to_others(fleet):
    """With one place for calls of the model, a quiet vault waits for one of them."""
    with FakeServer() as model:
        began = []

        def answer(body):
            began.append("bob" if "jam" in json.dumps(body) else "anna")
            time.sleep(0.1)
            return '{"facts": []}'

        model.script(answer)
        host, _ = fleet(
            replace(QUICK, model_places=1),
            ENGRAM_MODEL="m",
            ENGRAM_BASE_URL=model.url,
            ENGRAM_API_KEY="k",
        )
        for number in range(40):
            turn = {"text": f"I like jam number {number}.", "session": f"s{number % 8}"}
            assert host.ask("bob", "/v1/turns", {"turns": [turn]})[0] == 202
        wait_until(lambda: len(began) > 1)
        before = len(began)
        say(host, "Zwolle")
        assert "anna" in began[before : before + 3]
        wait_until(lambda: began.count("bob") >= 8)


def wait_until(is_so):
    last = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < last
        time.sleep(0.01)
