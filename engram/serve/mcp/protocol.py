"""The messages of the protocol: JSON-RPC requests in, answers out.

Two generations of the protocol are supported. Up to 2025-11-25 a client begins with
`initialize`. Since 2026-07-28 each request contains its version, and `server/discover`
returns the capabilities of the server. No state is kept between messages, so that one
server can use any transport.
"""

from __future__ import annotations

from engram import __version__
from engram.errors import EngramError, NotFoundError, unexpected
from engram.serve.mcp.tools import INSTRUCTIONS, RESOURCES, TOOLS

TYPE_CHECKING = False  # loading typing would slow the start of `engram mcp`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from engram.serve.mcp.tools import Toolbox

HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions that begin with `initialize`, newest first."""
STATELESS_VERSIONS = ("2026-07-28",)
"""Versions that are named in each request."""
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
SERVER = {"name": "engram", "title": "engram", "version": __version__}
CAPABILITIES: dict[str, dict[str, bool]] = {"tools": {}, "resources": {}}
LIST_TTL = 3_600_000
"""Milliseconds for which a client may cache the lists of tools and resources."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
STATUS = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
    INTERNAL_ERROR: 500,
}
"""HTTP statuses of errors for clients of the newer versions; older ones get 200."""
NAMED_METHODS = {"tools/call": "name", "resources/read": "uri"}
"""Methods for which the header `Mcp-Name` repeats a parameter."""


class RpcError(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class McpServer:
    """Answers messages with the tools and resources of a vault."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    def answer(
        self, message: object, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any] | None:
        """Return the answer to a message, or None for a notification.

        `headers` are those of an HTTP request, with lower-case names.
        """
        if not _is_request(message):
            if _is_silent(message):
                return None
            return failure(None, INVALID_REQUEST, "this is not a JSON-RPC 2.0 request")
        assert isinstance(message, dict)
        number = message["id"]
        try:
            result = self._result(message, headers)
        except RpcError as fault:
            return failure(number, fault.code, str(fault), fault.data)
        except EngramError as fault:
            kind = INVALID_PARAMS if fault.status < 500 else INTERNAL_ERROR
            return failure(number, kind, str(fault))
        except Exception as fault:  # noqa: BLE001  # the connection outlives a fault
            surprise = unexpected(str(message["method"]), fault)
            return failure(number, INTERNAL_ERROR, str(surprise))
        return {"jsonrpc": "2.0", "id": number, "result": result}

    def _result(
        self, message: Mapping[str, Any], headers: Mapping[str, str] | None
    ) -> dict[str, Any]:
        method = message["method"]
        params = message.get("params") or {}
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "params must be an object")
        stateless = is_stateless(message)
        if stateless:
            _check_envelope(method, params, headers)
        result = self._call(method, params, stateless=stateless)
        return {"resultType": "complete", **result} if stateless else result

    def _call(
        self, method: str, params: Mapping[str, Any], *, stateless: bool
    ) -> dict[str, Any]:
        cached = {"ttlMs": LIST_TTL, "cacheScope": "public"} if stateless else {}
        if method == "tools/list":
            return {"tools": list(TOOLS), **cached}
        if method == "tools/call":
            return self._run(params)
        if method == "resources/list":
            return {"resources": list(RESOURCES), **cached}
        if method == "resources/templates/list":
            return {"resourceTemplates": [], **cached}
        if method == "resources/read":
            return self._read(params, stateless=stateless)
        if method == "server/discover" and stateless:
            return {
                "supportedVersions": [*STATELESS_VERSIONS, *HANDSHAKE_VERSIONS],
                "capabilities": CAPABILITIES,
                "instructions": INSTRUCTIONS,
                "_meta": {SERVER_KEY: SERVER},
                **cached,
            }
        if method == "initialize" and not stateless:
            return _initialised(params)
        if method == "ping" and not stateless:
            return {}
        raise RpcError(METHOD_NOT_FOUND, f"there is no method {method!r}")

    def _run(self, params: Mapping[str, Any]) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments") or {}
        if name not in {tool["name"] for tool in TOOLS}:
            raise RpcError(INVALID_PARAMS, f"there is no tool {name!r}")
        if not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "arguments must be an object")
        return self._toolbox.run(str(name), arguments)

    def _read(self, params: Mapping[str, Any], *, stateless: bool) -> dict[str, Any]:
        try:
            content = self._toolbox.read(str(params.get("uri")))
        except NotFoundError as fault:
            raise RpcError(INVALID_PARAMS, str(fault)) from fault
        fresh = {"ttlMs": 0, "cacheScope": "private"} if stateless else {}
        return {**content, **fresh}


def is_stateless(message: object) -> bool:
    """Return whether a request names its version, as clients since 2026-07-28 do."""
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and VERSION_KEY in meta


def client_of(message: object) -> str:
    """Return the name that a client gives itself, as a word of a header, or ''."""
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict):
        return ""
    meta = params.get("_meta")
    info = params.get("clientInfo") or (
        meta.get(CLIENT_KEY) if isinstance(meta, dict) else None
    )
    name = str(info.get("name") or "") if isinstance(info, dict) else ""
    return "".join(one if one.isalnum() else "-" for one in name if one.isascii())[:60]


def failure(
    number: object, code: int, message: str, data: object = None
) -> dict[str, Any]:
    """Return an error as the answer to the request `number`."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": number, "error": error}


def status_of(answer: Mapping[str, Any], *, stateless: bool) -> int:
    """Return the HTTP status of an answer."""
    code = answer.get("error", {}).get("code")
    if code in {PARSE_ERROR, INVALID_REQUEST}:
        return 400
    return STATUS.get(code, 200) if stateless else 200


def _is_request(message: object) -> bool:
    return (
        isinstance(message, dict)
        and message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and isinstance(message.get("id"), str | int)
        and not isinstance(message.get("id"), bool)
    )


def _is_silent(message: object) -> bool:
    """Return whether a message gets no answer: a notification, or an answer."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    if isinstance(message.get("method"), str):
        return "id" not in message
    return "result" in message or "error" in message


def _check_envelope(
    method: str, params: Mapping[str, Any], headers: Mapping[str, str] | None
) -> None:
    """Check the required fields of a stateless request; raise RpcError."""
    meta = params["_meta"]
    if CAPABILITIES_KEY not in meta:
        raise RpcError(INVALID_PARAMS, f"params._meta has no {CAPABILITIES_KEY!r}")
    version = meta[VERSION_KEY]
    if headers is not None:
        _check_headers(method, params, version, headers)
    if not isinstance(version, str):
        raise RpcError(INVALID_PARAMS, "the protocol version must be a text")
    if version not in STATELESS_VERSIONS:
        raise RpcError(
            UNSUPPORTED_VERSION,
            "Unsupported protocol version",
            {"supported": list(STATELESS_VERSIONS), "requested": version},
        )


def _check_headers(
    method: str,
    params: Mapping[str, Any],
    version: object,
    headers: Mapping[str, str],
) -> None:
    expected = {"mcp-protocol-version": version, "mcp-method": method}
    if (key := NAMED_METHODS.get(method)) and params.get(key) is not None:
        expected["mcp-name"] = params[key]
    for name, value in expected.items():
        if _header_value(headers.get(name)) != value:
            raise RpcError(
                HEADER_MISMATCH, f"the header {name} does not match the body"
            )


def _header_value(value: str | None) -> str | None:
    """Return a header, decoded from `=?base64?…?=` if it is not plain ASCII."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    import base64

    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except ValueError:
        return None


def _initialised(params: Mapping[str, Any]) -> dict[str, Any]:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked
        if asked in HANDSHAKE_VERSIONS
        else HANDSHAKE_VERSIONS[0],
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER,
        "instructions": INSTRUCTIONS,
    }
