"""Many vaults in one process: one never sees another, and none holds up the others."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import replace

import pytest

from engram import config
from engram.core.policy import ServePolicy
from engram.daemon.pool import VaultPool
from engram.serve.pool_server import PoolServer
from engram.serve.tokens import IssuedTokens
from examples.echo_server import EchoServer
from tests.fakes.answers import free_port
from tests.fakes.world import World

QUICK = replace(
    ServePolicy(),
    linger_seconds=0.0,
    broken_seconds=0.0,
    vault_places=4,
    vault_queue=20,
)
MARK = {"anna": "Zirbelnuss", "bob": "Quittenbrot"}
"""A word that only one vault has."""


class Place:
    """A pool with its server, and one token of each role for each vault."""

    def __init__(self, root, names=("anna", "bob"), policy=QUICK, **env):
        self.root, self.env = (
            root / "vaults",
            {"ENGRAM_HOME": str(root / "home"), **env},
        )
        self.root.mkdir()
        self.tokens = {}
        for name in names:
            self.make(name)
        self.pool = VaultPool(self.root, self.load, policy)
        self.server = PoolServer(self.pool, free_port())
        self.server.start()
        self.server.follow()

    def load(self, folder):
        return config.load(folder, self.env)

    def make(self, name):
        folder = self.root / name
        folder.mkdir()
        (folder / "engram.toml").write_text(f'id = "{name}-0123456789"\n')
        issued = IssuedTokens(self.load(folder).state)
        for role in ("chatbot", "owner", "read-only"):
            self.tokens[name, role] = issued.create(role, role)[1]

    def ask(self, name, path, body=None, *, role="chatbot", **headers):
        """Return status and answer of a request with the token of a vault."""
        token = self.tokens.get((name, role), name)
        head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        raw = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self.server.port}{path}"
        request = urllib.request.Request(url, raw, head | headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as fault:
            return fault.code, fault.read().decode()

    def tell(self, name, text):
        status, answer = self.ask(name, "/v1/memories", {"text": text})
        assert status == 200, answer

    def close(self):
        self.server.stop()
        self.pool.stop()


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    yield made
    made.close()


# row: X17
# row: X27
def test_no_request_reaches_another_vault(tmp_path):
    """Over HTTP, MCP, the proxy and the page, whatever it names."""
    with EchoServer() as echo:
        place = Place(tmp_path, ENGRAM_PROXY_BASE_URL=echo.url)
        try:
            ids = {}
            for name, word in MARK.items():
                place.tell(name, f"The safe word is {word}.")
                rows = json.loads(place.ask(name, "/v1/memories")[1])["memories"]
                ids[name] = rows[0]["id"]
            for name, other in (("anna", "bob"), ("bob", "anna")):
                seen = []
                for path in (
                    "/v1/memories",
                    "/v1/sessions",
                    "/v1/changes",
                    "/v1/entities",
                    f"/v1/memories/{ids[other]}",
                    f"/v1/memories/{ids[other]}/why",
                    f"/v1/memories/..%2f..%2f{other}/facts",
                    f"/v1/memories/{other}%00",
                    f"/vaults/{other}/v1/memories",
                    "/metrics",
                    "/",
                    "/web/search?q=safe",
                ):
                    seen.append(place.ask(name, path, role="owner"))
                    seen.append(
                        place.ask(
                            name, path, **{"X-Engram-Vault": other, "Cookie": "x=1"}
                        )
                    )
                for query in ("safe word", MARK[other]):
                    for route in ("/v1/recall", "/v1/context"):
                        status, answer = place.ask(name, route, {"query": query})
                        seen.append((status, answer.replace(f'"{query}"', "")))
                call = {"name": "recall", "arguments": {"query": "safe word"}}
                message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
                accept = {"Accept": "application/json, text/event-stream"}
                answer = place.ask(name, "/mcp", {**message, "params": call}, **accept)
                assert MARK[name] in answer[1]
                chat = {
                    "model": "m",
                    "messages": [{"role": "user", "content": "safe?"}],
                }
                place.ask(name, "/proxy/v1/chat/completions", chat)
                sent = str(echo.requests[-1])
                assert MARK[name] in sent
                seen += [answer, (0, sent)]
                assert not [one for one in seen if MARK[other] in one[1]]
                status = place.ask(name, f"/v1/memories/{ids[other]}", {}, role="owner")
                assert status[0] in {404, 405}
        finally:
            place.close()


# row: X17
def test_the_page_of_a_vault_takes_the_cookie_of_no_other(place):
    """Browsers send a cookie to every port of the machine."""
    pages = {}
    for name, word in MARK.items():
        place.tell(name, f"The safe word is {word}.")
        assert place.ask(name, "/web/link", {}, role="chatbot")[0] == 403
        url = json.loads(place.ask(name, "/web/link", {}, role="owner")[1])["url"]
        with urllib.request.urlopen(url, timeout=30) as reply:
            cookie = reply.headers["Set-Cookie"].partition(";")[0]
        pages[name] = (url.partition("/web/")[0], cookie)
    for name, other in (("anna", "bob"), ("bob", "anna")):
        address, own = pages[name]
        theirs = pages[other][1]
        disguised = f"{own.partition('=')[0]}={theirs.partition('=')[2]}"
        for cookie, status in ((own, 200), (theirs, 401), (disguised, 401)):
            asked = urllib.request.Request(f"{address}/?q=safe")
            asked.add_header("Cookie", cookie)
            try:
                with urllib.request.urlopen(asked, timeout=30) as reply:
                    found, text = reply.status, reply.read().decode()
            except urllib.error.HTTPError as fault:
                found, text = fault.code, ""
            assert found == status
            assert MARK[other] not in text


# row: X17
def test_a_role_bounds_what_a_token_may_do(place):
    place.tell("anna", "Anna likes tea.")
    read, chat = {"role": "read-only"}, {"role": "chatbot"}
    assert "tea" in place.ask("anna", "/v1/recall", {"query": "tea"}, **read)[1]
    for path, body in (
        ("/v1/memories", {"text": "x"}),
        ("/v1/turns", {"turns": [{"text": "I like jam."}]}),
        ("/v1/flush", {}),
        ("/v1/consolidate", {}),
        ("/v1/imports", {"file": "x.json", "source": "0" * 64}),
        ("/v1/purge", {"ids": ["x"], "yes": True}),
        ("/proxy/v1/chat/completions", {"messages": []}),
    ):
        assert place.ask("anna", path, body, **read)[0] == 403
    assert place.ask("anna", "/v1/purge", {"ids": ["x"], "yes": True}, **chat)[0] == 403
    assert place.ask("anna", "/v1/web/link", {}, **chat)[0] in {403, 404, 405}
    purge = {"ids": ["x"], "yes": True}
    assert place.ask("anna", "/v1/purge", purge, role="owner")[0] == 404


# row: X17
def test_a_token_is_rotated_and_revoked_at_once(place):
    issued = IssuedTokens(place.load(place.root / "anna").state)
    assert place.ask("anna", "/v1/stats")[0] == 200
    for _ in range(2):
        _, fresh = issued.rotate("chatbot")
        assert place.ask("anna", "/v1/stats")[0] == 401
        assert place.ask(fresh, "/v1/stats")[0] == 200
    issued.revoke("chatbot")
    assert place.ask(fresh, "/v1/stats")[0] == 401
    assert place.ask("", "/v1/stats")[0] == 401
    secrets = "".join(place.tokens.values())
    files = list((place.root.parent / "home").rglob("tokens.json"))
    assert files
    assert not [one for one in files if one.stat().st_mode & 0o077]
    assert not [one for one in files if secrets[:40] in one.read_text()]


# row: X17
def test_no_known_text_is_a_token_of_the_door(place):
    """The digests of empty and known words open no vault."""
    for text in (b"nobody", b"", b"chat"):
        digest = hashlib.sha256(text).hexdigest()
        assert place.ask(digest, "/v1/stats")[0] == 401


# row: X17
def test_tokens_that_cannot_be_read_let_nobody_in_and_harm_no_other_vault(place):
    assert place.ask("anna", "/v1/stats")[0] == 200
    state = place.load(place.root / "anna").state
    (state / "tokens.json").write_bytes(b"{broken")
    status, answer = place.ask("anna", "/v1/stats")
    assert status == 503
    assert "tokens" in json.loads(answer)["error"]["what"]
    assert str(state) not in answer
    assert place.ask("bob", "/v1/stats")[0] == 200


def test_whoever_sends_slowly_keeps_no_place(place):
    """A reader who begins more bodies than a vault has places holds up nobody."""
    assert place.ask("anna", "/v1/stats")[0] == 200
    token = place.tokens["anna", "read-only"]
    head = (
        f"POST /v1/recall HTTP/1.1\r\nHost: 127.0.0.1:{place.server.port}\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        'Content-Length: 50\r\n\r\n{"query'
    )
    with ExitStack() as slow:
        address = ("127.0.0.1", place.server.port)
        for _ in range(3 * QUICK.vault_places):
            line = slow.enter_context(socket.create_connection(address))
            line.sendall(head.encode())
        assert place.ask("anna", "/v1/stats")[0] == 200


def test_a_new_folder_is_taken_in_and_a_removed_one_is_gone(place):
    place.make("carla")
    place.tell("carla", "Carla has a parrot.")
    shutil.rmtree(place.root / "bob")
    place.pool.look()
    assert place.ask("bob", "/v1/stats")[0] in {401, 404}
    assert place.ask("carla", "/v1/stats")[0] == 200


def test_a_broken_vault_stops_no_other(place):
    place.tell("anna", "Anna likes tea.")
    (place.root / "bob" / "engram.toml").write_text("id = [broken\n")
    place.make("dora")
    (place.root / "dora" / "engram.toml").write_text("nonsense = 1\n")
    place.pool.scan()
    status, answer = place.ask("bob", "/v1/stats")
    assert status == 500
    assert "engram.toml" in answer
    assert place.ask("anna", "/v1/stats")[0] == 200
    (place.root / "bob" / "engram.toml").write_text('id = "bob-0123456789"\n')
    assert place.ask("bob", "/v1/stats")[0] == 200


def test_an_idle_vault_is_closed_and_opened_again(tmp_path):
    place = Place(tmp_path, policy=replace(QUICK, idle_seconds=0.0))
    try:
        place.tell("anna", "Anna likes tea.")
        place.pool.look()
        last = time.monotonic() + 60
        while any(one.daemon for one in place.pool.vaults()):
            assert time.monotonic() < last
            place.pool.look()
            time.sleep(0.05)
        assert "0 open" in place.pool.summary()
        before = threading.active_count()
        assert "tea" in place.ask("anna", "/v1/recall", {"query": "tea"})[1]
        assert threading.active_count() > before
    finally:
        place.close()


def test_at_most_so_many_vaults_are_open(tmp_path):
    names = [f"v{number}" for number in range(5)]
    place = Place(tmp_path, names, replace(QUICK, open_vaults=2))
    try:
        for name in names * 2:
            assert place.ask(name, "/v1/stats")[0] == 200
            assert sum(one.daemon is not None for one in place.pool.vaults()) <= 2
    finally:
        place.close()


def test_a_noisy_vault_does_not_starve_another(place):
    """Its own requests wait or are refused; the other's are answered as before."""
    place.tell("anna", "Anna likes tea.")
    place.tell("bob", "Bob likes jam.")
    done, refused = threading.Event(), []

    def shout():
        while not done.is_set():
            status, _ = place.ask("bob", "/v1/memories", {"text": "Bob likes jam."})
            refused.append(status)

    noisy = [threading.Thread(target=shout) for _ in range(30)]
    for one in noisy:
        one.start()
    for _ in range(15):
        assert place.ask("anna", "/v1/recall", {"query": "tea"})[0] == 200
    done.set()
    for one in noisy:
        one.join()
    assert 429 in refused


def test_turns_that_wait_survive_the_closing_of_their_vault(place):
    turn = {"text": "I live in Zwolle.", "session": "s"}
    assert place.ask("anna", "/v1/turns", {"turns": [turn]})[0] == 202
    (vault,) = [one for one in place.pool.vaults() if one.folder.name == "anna"]
    place.pool.reload()
    last = time.monotonic() + 60
    while vault.daemon:
        assert time.monotonic() < last
        time.sleep(0.02)
    place.ask("anna", "/v1/flush", {})
    assert "Zwolle" in place.ask("anna", "/v1/memories")[1]


def test_the_command_tells_its_address_and_a_second_one_is_refused(tmp_path):
    """It says how a token is made; `token list` says so too where there is none."""
    world = World(tmp_path)
    assert "engram token create NAME" in world.engram("token", "list")
    port = free_port()
    root = tmp_path / "many vaults"
    root.mkdir()
    command = world.command("daemon", "--vaults", str(root), "--tcp", str(port))
    with subprocess.Popen(
        command,
        env=world.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            said = ""
            while "curl" not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            assert f"address: http://127.0.0.1:{port}" in said
            folder = shlex.quote(f"{root}/NAME")
            assert f"engram init {folder}" in said
            assert f"engram token create NAME --vault {folder}" in said
            words = world.engram("daemon", "--vaults", str(root), code=75)
            assert f"process {process.pid} serves the vaults of this folder" in words
        finally:
            process.terminate()
            assert process.wait(60) == 0
