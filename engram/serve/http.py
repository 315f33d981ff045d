"""The HTTP application: one route for each operation, health, metrics and OpenAPI.

Routes and the OpenAPI document are made from the table of operations.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from concurrent.futures import Future
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from engram import __version__
from engram.errors import (
    BadRequestError,
    EngramError,
    NotFoundError,
    UnavailableError,
    unexpected,
)
from engram.operations.table import BY_NAME, OPERATIONS
from engram.serve.output import PROBLEM_TYPE, fault_headers, problem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from starlette.datastructures import QueryParams
    from starlette.requests import Request

    from engram.operations.table import Operation, Param

    Endpoint = Callable[[Request], Awaitable[Response]]

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
LONGEST_NUMBER = 9
"""Maximum number of characters of a number in a query."""
SCHEMAS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    # ISO 8601, or words such as `yesterday`
    "time": {"type": "string"},
}


_TEXT = {"type": "string"}
TURN: dict[str, Any] = {
    "type": "object",
    "anyOf": [{"required": ["text"]}, {"required": ["content"]}],
    "properties": {
        **dict.fromkeys(
            ("id", "session", "persona", "role", "speaker", "text", "occurred_at"),
            _TEXT,
        ),
        "content": {
            "type": ["string", "array", "null"],
            "description": "instead of text: a text, or parts, as OpenAI has them",
        },
        "private": {"type": "boolean"},
        "record": {"type": "boolean"},
        "attachments": {"type": "array", "items": {}},
        "participants": {"type": "array", "items": _TEXT},
    },
}
"""The schema of a turn."""
OBJECTS = {"turns": "Turn", "messages": "Turn", "memories": "Statement"}
"""The schema of the objects in an argument."""
PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "error"],
    "properties": {
        "type": _TEXT,
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "error": {
            "type": "object",
            "required": ["code", "what", "where", "fix", "message"],
            "properties": dict.fromkeys(
                ("code", "what", "where", "fix", "message"), _TEXT
            ),
        },
    },
}
"""The schema of an error."""
PROBLEM_SCHEMA = "#/components/schemas/Problem"


class Routes(Protocol):
    """The methods of the daemon that the routes call."""

    def call(
        self, name: str, params: dict[str, Any], standing: str
    ) -> dict[str, Any] | Future[dict[str, Any]]:
        """Carry out an operation; return its result, or a future of it.

        Called from many threads.
        """

    def unready(self) -> str:
        """Return why an answer may be incomplete, or ''."""


def result_of(
    answers: Routes, name: str, params: dict[str, Any], standing: str
) -> dict[str, Any]:
    """Carry out an operation and wait for its result."""
    result = answers.call(name, params, standing)
    return result.result() if isinstance(result, Future) else result


LATE_SECONDS = 1.0
"""Seconds after which an answer came late for a program in which somebody waits."""
MOST_CLIENTS = 30


class Clients:
    """When each program was last heard, by its User-Agent, and its late answers."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}

    def heard(self, name: str, seconds: float) -> None:
        """Note a request of a program that was answered after so many seconds."""
        if not name:
            return
        late = self.rows.pop(name, {"late": 0})["late"] + (seconds > LATE_SECONDS)
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        self.rows[name] = {"heard": now, "late": late}
        for oldest in [*self.rows][:-MOST_CLIENTS]:
            self.rows.pop(oldest, None)


def application(
    answers: Routes, places: int, others: Sequence[Route] = ()
) -> Starlette:
    """Return the application with the routes of all operations; errors are JSON.

    `others` are the routes of MCP, of the proxy and of the page.

    Up to `places` requests for one operation run at a time. That is less than the
    number of threads, so that no operation occupies them all.
    """

    # Health and readiness use no thread, so that they answer under any load.
    async def health(_request: Request) -> Response:
        return _json({"alive": True})

    async def readiness(_request: Request) -> Response:
        if reason := answers.unready():
            raise UnavailableError(reason, fix="Wait a moment.")
        return _json({"ready": True})

    def metrics(_request: Request) -> Response:
        status = result_of(answers, "status", {}, "chat")
        text = "".join(f"{line}\n" for line in metric_lines(status))
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    def document(_request: Request) -> Response:
        return _json(openapi())

    plain = {
        "/healthz": health,
        "/readyz": readiness,
        "/metrics": metrics,
        "/openapi.json": document,
    }
    routes = [
        Route(path, endpoint, methods=["GET"]) for path, endpoint in plain.items()
    ]
    endpoints: dict[str, dict[str, Endpoint]] = {}
    for operation in sorted(OPERATIONS, key=lambda one: -len(one.path)):
        path = operation.path.replace("{id}", "{id:path}")
        endpoint = _endpoint(operation, answers, asyncio.Semaphore(places))
        endpoints.setdefault(path, {})[operation.method] = endpoint
    routes += [
        Route(path, _by_method(choices), methods=METHODS)
        for path, choices in endpoints.items()
    ]
    routes += others
    made = Starlette(
        routes=routes,
        exception_handlers={
            EngramError: _on_fault,
            HTTPException: _on_http,
            ClientDisconnect: _on_disconnect,
            Exception: _on_surprise,
        },
    )
    made.state.clients = Clients()
    return made


def _by_method(choices: Mapping[str, Endpoint]) -> Endpoint:
    """Return the function of a path, which refuses other methods than its own.

    A route of one method alone would let other methods match `{id:path}`.
    """

    async def endpoint(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        if method not in choices:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(choices))})
        return await choices[method](request)

    return endpoint


def _endpoint(
    operation: Operation, answers: Routes, places: asyncio.Semaphore
) -> Endpoint:
    """Return the function of an operation: it parses, calls and encodes in a thread.

    A future is awaited without a thread.
    """

    async def endpoint(request: Request) -> Response:
        began, clients = time.monotonic(), request.app.state.clients
        body = await request.body() if operation.method in {"POST", "PATCH"} else b""

        operation.authorise(request.state.standing)

        def answer() -> Response | Future[dict[str, Any]]:
            arguments = (
                _from_body(body)
                if body
                else _from_query(operation, request.query_params)
            )
            result = answers.call(
                operation.name,
                {**arguments, **request.path_params},
                request.state.standing,
            )
            if isinstance(result, Future):
                return result
            if "daemon" in result:
                result["daemon"]["clients"] = dict(clients.rows)
            return _json(result, operation.status)

        async with places:
            response = await run_in_threadpool(answer)
        if isinstance(response, Future):
            result: dict[str, Any] = await asyncio.wrap_future(response)
            response = _json(result, operation.status)
        clients.heard(request.headers.get("user-agent", ""), time.monotonic() - began)
        return response

    return endpoint


def _from_body(body: bytes) -> dict[str, Any]:
    try:
        arguments = json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise BadRequestError(
            "the body is not JSON",
            where=type(fault).__name__,
            fix="Send one JSON object.",
        ) from fault
    if not isinstance(arguments, dict):
        raise BadRequestError(
            "the body must be a JSON object", fix="Send the arguments by name."
        )
    return arguments


def _from_query(operation: Operation, query: QueryParams) -> dict[str, Any]:
    """Return the arguments in a query, converted to the types of the parameters.

    A text that cannot be converted remains a text, and is refused later.
    """
    kinds = {param.name: param.kind for param in operation.params}
    arguments: dict[str, Any] = dict(query)
    for name, word in query.items():
        if kinds.get(name) == "list":
            arguments[name] = query.getlist(name)
        elif kinds.get(name) == "bool" and word.casefold() in {"true", "false"}:
            arguments[name] = word.casefold() == "true"
        elif (
            kinds.get(name) == "int"
            and word.removeprefix("-").isdecimal()
            and len(word) <= LONGEST_NUMBER
        ):
            arguments[name] = int(word)
    return arguments


def _json(
    value: Mapping[str, Any],
    status: int = 200,
    headers: dict[str, str] | None = None,
    media_type: str = "application/json",
) -> Response:
    body = json.dumps(value, ensure_ascii=False)
    # a path may contain any bytes, which Python decodes to surrogates such as `\udce9`
    raw = body.encode("utf-8", "backslashreplace")
    return Response(raw, status, headers, media_type=media_type)


def _on_fault(_request: Request, fault: Exception) -> Response:
    assert isinstance(fault, EngramError)
    return _json(problem(fault), fault.status, fault_headers(fault), PROBLEM_TYPE)


def _on_http(request: Request, fault: Exception) -> Response:
    """Answer for an unknown path, or for a method that the path does not support."""
    assert isinstance(fault, HTTPException)
    kind = (
        NotFoundError if fault.status_code == NotFoundError.status else BadRequestError
    )
    words = kind(
        f"there is no route for {request.method} at this path",
        where=request.url.path,
        fix="/openapi.json lists the routes.",
    )
    status = fault.status_code
    return _json(
        problem(words, status), status, dict(fault.headers or {}), PROBLEM_TYPE
    )


def _on_disconnect(_request: Request, _fault: Exception) -> Response:
    """Answer a client that closed its connection, which is not a fault of the daemon."""
    return Response(status_code=BadRequestError.status)


def _on_surprise(request: Request, fault: Exception) -> Response:
    """Answer for an unexpected error, without its message.

    The message may contain stored text.
    """
    words = unexpected(request.method, fault)
    return _json(problem(words), words.status, None, PROBLEM_TYPE)


def metric_lines(status: Mapping[str, Any], prefix: str = "engram") -> Iterator[str]:
    """Yield the numbers of a status in the text format of Prometheus.

    A name that ends in `_total` is a counter, every other name a gauge.
    """
    for key, value in status.items():
        name = f"{prefix}_{re.sub(r'[^a-z0-9]+', '_', str(key).lower())}"
        if isinstance(value, dict):
            yield from metric_lines(value, name)
        elif isinstance(value, bool | int | float):
            yield f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}"
            yield (
                f"{name} {float(value):g}"
                if isinstance(value, float)
                else f"{name} {int(value)}"
            )


def openapi() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the routes."""
    from engram.operations import results

    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(
            operation, results.schema(results.of(operation))
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "engram",
            "version": __version__,
            "description": "Long-term memory for chatbots.",
        },
        "paths": paths,
        "components": {
            "schemas": {
                "Problem": PROBLEM,
                "Turn": TURN,
                "Statement": _object(BY_NAME["remember"].params),
                **results.schemas(),
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _described(operation: Operation, result: dict[str, Any]) -> dict[str, Any]:
    in_path = [
        param for param in operation.params if f"{{{param.name}}}" in operation.path
    ]
    others = [param for param in operation.params if param not in in_path]
    in_body = operation.method in {"POST", "PATCH"}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": operation.help,
        "parameters": [_parameter(param, "path") for param in in_path]
        + [_parameter(param, "query") for param in others if not in_body],
        "responses": {
            str(operation.status): _answered("the result", result),
            "default": {
                "description": "an error: what happened, where, and how to fix it",
                "content": {PROBLEM_TYPE: {"schema": {"$ref": PROBLEM_SCHEMA}}},
            },
        },
    }
    if in_body:
        body = _object(others)
        described["requestBody"] = {
            "required": bool(body["required"]),
            "content": {"application/json": {"schema": body}},
        }
    return described


def _object(params: Sequence[Param]) -> dict[str, Any]:
    """Return the schema of arguments in a body."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            param.name: {**_body_schema(param), "description": param.help}
            for param in params
        },
        "required": [param.name for param in params if param.required],
    }


def _parameter(param: Param, place: str) -> dict[str, Any]:
    return {
        "name": param.name,
        "in": place,
        "required": param.required,
        "description": param.help,
        "schema": _schema(param),
    }


def _schema(param: Param) -> dict[str, Any]:
    if param.kind == "objects":
        place = f"#/components/schemas/{OBJECTS[param.name]}"
        return {"type": "array", "items": {"$ref": place}}
    span = {"minimum": param.least, "maximum": param.most} if param.is_number else {}
    choices = {"enum": param.choices} if param.choices else {}
    if param.kind == "list":
        return {"type": "array", "items": {**_TEXT, **choices}}
    return {**SCHEMAS[param.kind], **span, **choices}


def _body_schema(param: Param) -> dict[str, Any]:
    """Return the schema of an argument in a body, where null means absent."""
    described = _schema(param)
    if param.required:
        return described
    if "enum" in described:
        described["enum"] = [*described["enum"], None]
    return {**described, "type": [described["type"], "null"]}


def _answered(words: str, result: dict[str, Any]) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": result}}}
