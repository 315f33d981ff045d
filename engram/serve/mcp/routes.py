"""The daemon's `/mcp`: the protocol over HTTP, one JSON answer for each POST.

The server sends no messages of its own, so there is no stream to open: GET and DELETE
are answered with 405, as the protocol allows.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from engram.operations.table import named
from engram.serve.http import result_of
from engram.serve.mcp.protocol import (
    PARSE_ERROR,
    McpServer,
    failure,
    is_stateless,
    status_of,
)
from engram.serve.mcp.tools import Toolbox

if TYPE_CHECKING:
    from starlette.requests import Request

    from engram.serve.http import Routes

PATH = "/mcp"


def mcp_route(answers: Routes, places: int) -> Route:
    """Return the route of the protocol; up to `places` requests run at a time."""
    free = asyncio.Semaphore(places)

    async def endpoint(request: Request) -> Response:
        began, raw = time.monotonic(), await request.body()
        async with free:
            answer = await run_in_threadpool(_answer, answers, request, raw)
        agent = request.headers.get("user-agent", "")
        request.app.state.clients.heard(agent, time.monotonic() - began)
        return answer

    return Route(PATH, endpoint, methods=["POST"])


def _answer(answers: Routes, request: Request, raw: bytes) -> Response:
    standing = request.state.standing

    def call(name: str, params: dict[str, Any]) -> dict[str, Any]:
        named(name).authorise(standing)
        return result_of(answers, name, params, standing)

    try:
        message = json.loads(raw)
    except (ValueError, RecursionError):
        return _json(failure(None, PARSE_ERROR, "the body is not JSON"), 400)

    answer = McpServer(Toolbox(call)).answer(message, request.headers)
    if answer is None:
        return Response(status_code=202)
    return _json(answer, status_of(answer, stateless=is_stateless(message)))


def _json(answer: dict[str, Any], status: int) -> Response:
    return Response(json.dumps(answer), status, media_type="application/json")
