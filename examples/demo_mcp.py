"""Connect an agent over the Model Context Protocol, once over each transport.

    python examples/demo_mcp.py

The client is that of the official SDK. The vault is temporary.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from demo_vault import ENGRAM, Served, heading, served
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

STATEMENT = "Carla is allergic to peanuts."
QUESTION = "What should I leave out when I cook for Carla?"


def main() -> int:
    """Run the demonstration; return 0 if the second agent knew what the first stored."""
    with served() as engram:
        return asyncio.run(play(engram))


async def play(engram: Served) -> int:
    """Remember over standard input and output, recall over HTTP."""
    heading("1. An agent starts `engram mcp`")
    began = time.monotonic()
    executable, *args = [*ENGRAM, "mcp", "--vault", str(engram.vault)]
    # a client hands on few variables by itself; these name the folders of this vault
    env = dict(os.environ)
    server = StdioServerParameters(command=executable, args=args, env=env)
    async with Client(stdio_client(server)) as agent:
        print(f"   connected after {time.monotonic() - began:.2f} s")
        print(f"   protocol {agent.protocol_version}")
        tools = (await agent.list_tools()).tools
        print(f"   tools: {', '.join(tool.name for tool in tools)}")
        print(f"   remember  {STATEMENT}")
        kept = await agent.call_tool("remember", {"text": STATEMENT})
        if kept.is_error:
            print(f"      {kept.content[0].text}")
            return 1

    heading("2. Another agent connects to the daemon over HTTP")
    async with over_http(engram) as agent:
        print(f"   recall    {QUESTION}")
        answer = await agent.call_tool("recall", {"query": QUESTION})
        text = answer.content[0].text
        for line in text.splitlines():
            print(f"      {line}")
    return 0 if "peanuts" in text else 1


@asynccontextmanager
async def over_http(engram: Served) -> AsyncIterator[Client]:
    """Yield a client of the daemon's `/mcp`."""
    headers = {"Authorization": f"Bearer {engram.token}"}
    url = f"http://127.0.0.1:{engram.port}/mcp"
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as agent,
    ):
        yield agent


if __name__ == "__main__":
    sys.exit(main())
