"""`engram mcp`: the protocol over standard input and output.

Only the standard library is loaded while a daemon answers, so that a client connects at
once.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing

from engram.serve import socket_client
from engram.serve.mcp.protocol import PARSE_ERROR, McpServer, client_of, failure
from engram.serve.mcp.tools import Toolbox

TYPE_CHECKING = False  # loading typing would slow the start
if TYPE_CHECKING:
    from typing import Any, BinaryIO


def serve(call: VaultCalls, source: BinaryIO, target: BinaryIO) -> None:
    """Answer one message for each line until `source` ends."""
    server = McpServer(Toolbox(call))
    for line in source:
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            answer = failure(None, PARSE_ERROR, "this line is not JSON")
        else:
            call.client = client_of(message) or call.client
            found = server.answer(message)
            if found is None:
                continue
            answer = found
        try:
            target.write(json.dumps(answer).encode("ascii") + b"\n")
            target.flush()
        except BrokenPipeError:
            return


def main(vault: str | None) -> int:
    """Serve standard input and output for a vault; return the exit code."""
    serve(VaultCalls(vault), sys.stdin.buffer, sys.stdout.buffer)
    return 0


class VaultCalls:
    """Carries out operations: through the daemon, or in this process without one.

    Without a daemon the vault is opened for each call, so that it is not locked for the
    life of a client.
    """

    def __init__(self, vault: str | None) -> None:
        self._vault = vault
        self.client = "mcp"

    def __call__(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the result of the operation; raise EngramError."""
        path = socket_client.socket_of(self._vault, os.environ)
        folder = socket_client.folder_of(self._vault, os.environ)
        if path is not None:
            try:
                return socket_client.call(
                    path, name, params, folder=folder, client=self.client
                )
            except socket_client.AbsentError:
                pass
        return self._without_daemon(name, params)

    def _without_daemon(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        from pathlib import Path

        from engram.serve import connection

        vault = Path(self._vault) if self._vault else None
        with closing(connection.connect(vault)) as opened:
            return opened.call(name, params)
