"""The Model Context Protocol with the client of the official SDK, over both transports."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from engram.serve import auth
from engram.serve.mcp.protocol import HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from engram.serve.mcp.tools import RESOURCES, TOOLS
from tests.fakes.answers import ID
from tests.fakes.world import World, knowing_carla

ERAS = {"auto": STATELESS_VERSIONS[0], "legacy": HANDSHAKE_VERSIONS[0]}
"""The modes of the client, and the version that it agrees on."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("mcp"))
    world.take_port()
    with knowing_carla(world):
        yield world


def token(world, kind="chat"):
    return (world.home / "state" / ID / auth.TOKENS[kind]).read_text().strip()


@asynccontextmanager
async def connected(world, transport, mode="auto", kind="chat"):
    """A client over one of the transports."""
    if transport == "stdio":
        executable, *args = world.command("mcp")
        server = StdioServerParameters(command=executable, args=args, env=world.env)
        async with Client(stdio_client(server), mode=mode) as client:
            yield client
        return
    headers = {"Authorization": f"Bearer {token(world, kind)}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(
            streamable_http_client(
                f"http://127.0.0.1:{world.port}/mcp", http_client=http
            ),
            mode=mode,
        ) as client,
    ):
        yield client


def play(world, transport, script, mode="auto", kind="chat"):
    """The result of an async function of a connected client."""

    async def run():
        async with connected(world, transport, mode, kind) as client:
            return await script(client)

    return asyncio.run(run())


def text(result):
    return result.content[0].text


BOTH = pytest.mark.parametrize("transport", ["http", "stdio"])
MODES = pytest.mark.parametrize("mode", ERAS)


@BOTH
@MODES
def test_a_client_connects_and_lists_tools_and_resources(place, transport, mode):
    async def script(client):
        assert client.protocol_version == ERAS[mode]
        assert client.server_info.name == "engram"
        assert client.server_capabilities.tools is not None
        return (await client.list_tools()).tools, (
            await client.list_resources()
        ).resources

    tools, resources = play(place, transport, script, mode)
    assert [tool.name for tool in tools] == [tool["name"] for tool in TOOLS]
    assert [one.uri for one in resources] == [one["uri"] for one in RESOURCES]
    assert {tool.name for tool in tools if not tool.annotations.read_only_hint} == {
        "remember",
        "correct",
        "forget",
    }
    assert all(tool.title for tool in tools)


@BOTH
@MODES
def test_what_one_client_remembers_another_recalls_gets_and_forgets(
    place, transport, mode
):
    bird = f"{transport} {mode} bittern"

    async def write(client):
        return json.loads(
            text(
                await client.call_tool(
                    "remember", {"text": f"The {bird} nests at the weir."}
                )
            )
        )

    async def read(client):
        memory = written["id"]
        recalled = text(await client.call_tool("recall", {"query": f"{bird} nest"}))
        assert "nests at the weir" in recalled
        assert "not instructions" in recalled
        assert memory in recalled
        shown = json.loads(text(await client.call_tool("get", {"id": memory})))
        assert shown["turns"]
        recent = text(await client.call_tool("recent", {}))
        assert bird in recent
        assert "not instructions" in recent
        assert recent.splitlines()[-1] == f"</{recent.partition('>')[0][1:]}>"
        found = json.loads(text(await client.call_tool("search", {"query": bird})))
        assert found["results"][0]["id"] == memory
        fetched = json.loads(text(await client.call_tool("fetch", {"id": memory})))
        assert bird in fetched["text"]
        assert fetched["metadata"]["source"] == "assistant (remembered)"
        known = await client.call_tool("context", {"query": bird})
        assert known.structured_content == {"text": text(known)}
        better = {"id": memory, "text": f"The {bird} nests at the mill."}
        fixed = await client.call_tool("correct", better)
        assert fixed.structured_content["corrects"] == memory
        memory = fixed.structured_content["id"]
        entity = await client.call_tool("fetch", {"id": "Carla"})
        assert entity.is_error
        assert "no such memory" in text(entity)
        await client.call_tool("forget", {"id": memory, "reason": "a test"})
        return text(await client.call_tool("recall", {"query": f"{bird} nest"}))

    written = play(place, transport, write, mode)
    assert f"{bird} nests" not in play(place, transport, read, mode)


@BOTH
def test_the_profile_and_the_promises_are_resources(place, transport):
    async def script(client):
        profile = await client.read_resource("engram://profile")
        todos = await client.read_resource("engram://todos")
        return profile.contents[0].text, json.loads(todos.contents[0].text)

    profile, todos = play(place, transport, script)
    assert isinstance(profile, str)
    assert "todos" in todos


@BOTH
@MODES
def test_a_refused_call_says_what_to_do_and_the_connection_stays(
    place, transport, mode
):
    async def script(client):
        unknown = await client.call_tool("get", {"id": "01ZZZZZZZZZZZZZZZZZZZZZZZZ"})
        missing = await client.call_tool("recall", {})
        hidden = await client.call_tool("recall", {"query": "x", "persona": "Coach"})
        assert "unknown argument 'persona'" in text(hidden)
        with pytest.raises(Exception, match="no tool"):
            await client.call_tool("destroy", {})
        with pytest.raises(Exception, match="no such resource"):
            await client.read_resource("engram://secrets")
        return unknown, missing, await client.call_tool("recall", {"query": "Carla"})

    unknown, missing, good = play(place, transport, script, mode)
    assert unknown.is_error
    assert missing.is_error
    assert "query" in text(missing)
    assert not good.is_error
    assert "peanuts" in text(good)


def test_a_tool_token_may_remember_and_not_forget(place):
    async def script(client):
        done = await client.call_tool("remember", {"text": "The kiosk opens at six."})
        memory = json.loads(text(done))["id"]
        return await client.call_tool("forget", {"id": memory})

    refused = play(place, "http", script, kind="tool")
    assert refused.is_error
    assert "may add and read" in text(refused)


def test_without_a_token_there_is_no_answer(place):
    reply = httpx2.post(
        f"http://127.0.0.1:{place.port}/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    )
    assert reply.status_code == 401


def exchange(world, *lines, vault=None):
    """The answers of `engram mcp` to raw lines."""
    done = subprocess.run(
        world.command("mcp"),
        env=world.env | ({"ENGRAM_VAULT": str(vault)} if vault else {}),
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_bad_lines_are_answered_with_an_error_and_the_next_line_counts(place):
    good = b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}'
    answers = exchange(
        place,
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"id": 1}',
        b'{"jsonrpc": "2.0", "id": true, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 2, "method": "nothing/here"}',
        b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": [1]}',
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b'{"jsonrpc": "2.0", "id": 9, "result": {}}',
        b"",
        b"[" * 100_000,
        good,
    )
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [
        -32700,
        -32700,
        -32600,
        -32600,
        -32600,
        -32601,
        -32602,
        -32700,
        None,
    ]
    assert answers[-1] == {"jsonrpc": "2.0", "id": 7, "result": {}}


def test_the_first_answer_comes_soon(place):
    """Within a few times what an import of the library of the command line takes."""
    times, yardsticks = [], []
    for _ in range(3):
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", "import click"], check=True)
        yardsticks.append(time.monotonic() - began)
        began = time.monotonic()
        with subprocess.Popen(
            place.command("mcp"),
            env=place.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
            message = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
            line = json.dumps({**message, "params": hello}).encode() + b"\n"
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline()
            times.append(time.monotonic() - began)
            process.stdin.close()
    assert min(times) < 5 * min(yardsticks)


def test_it_works_without_a_daemon_and_leaves_the_vault_free(tmp_path):
    world = World(tmp_path)
    call = {"name": "remember", "arguments": {"text": "The gate code of Ystad is new."}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    with subprocess.Popen(
        world.command("mcp"),
        env=world.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        assert "id" in process.stdout.readline().decode()
        # while the agent is still connected
        assert "Ystad" in world.engram("recall", "gate code of Ystad")
        process.stdin.close()


def test_a_vault_that_does_not_exist_is_an_answer_not_a_traceback(place, tmp_path):
    call = {"name": "recall", "arguments": {"query": "x"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    (answer,) = exchange(place, json.dumps(message).encode(), vault=tmp_path / "no")
    assert answer["result"]["isError"]
    assert os.fspath(tmp_path / "no") in answer["result"]["content"][0]["text"]


def test_the_schemas_are_short():
    """About four characters are one token; 1,300 tokens are the bar."""
    assert len(json.dumps([*TOOLS, *RESOURCES])) / 4 < 1300
