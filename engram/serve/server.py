"""The HTTP server: uvicorn on open sockets, in a thread of its own.

The page of the vault needs a loopback port. If the configuration names none, one is
opened for the first link to the page.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING

import h11
import uvicorn
from starlette.responses import JSONResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from engram.core.trust import OWNER
from engram.daemon.sockets import LOOPBACK, listen_tcp
from engram.errors import ForbiddenError, UnavailableError
from engram.serve.auth import (
    AuthMiddleware,
    refuse,
    tcp_access,
    tokens_of,
    unix_access,
)
from engram.serve.http import application
from engram.serve.mcp.routes import mcp_route
from engram.serve.proxy.routes import Proxy
from engram.serve.socket_client import LINK_PATH
from engram.serve.tokens import IssuedTokens
from engram.serve.web.access import WebAccess
from engram.serve.web.routes import WebPages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from engram.config import Settings
    from engram.core.policy import ServePolicy
    from engram.serve.auth import SocketAccess
    from engram.serve.http import Routes

PEER = struct.Struct("3i")
"""The struct of SO_PEERCRED: process, user and group of the peer."""

SILENT_SECONDS = 0.5
"""Seconds for which a connection may be idle while others need its place."""


class OwnUserProtocol(H11Protocol):
    """HTTP for one user only.

    A connection of another user to the Unix socket is closed unread, and so is one
    whose request head takes too long. At the maximum number of connections, a new one
    closes those that have been idle for the longest time; if none was idle for a
    moment, requests are answered with 503.
    """

    head_seconds: float
    most_connections: int
    head_timer: asyncio.TimerHandle | None = None
    """Runs while the head of a request is due."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the parent's
        """Check the user of the peer before anything is read."""
        super().connection_made(transport)
        self._vault_app = self.app
        self._await_head()
        peer: socket.socket = transport.get_extra_info("socket")
        if peer.family == socket.AF_UNIX and peer_uid(peer) not in {0, os.getuid()}:
            logging.getLogger("engram.http").warning(
                "a connection of another user was closed"
            )
            transport.abort()
        else:
            self._make_room(1 + len(self.connections) - self.most_connections)

    def data_received(self, data: bytes) -> None:
        """Read data; stop the timer when the head of the request is complete."""
        busy = max(len(self.connections), len(self.tasks)) >= self.most_connections
        self.app = _too_many if busy else self._vault_app
        super().data_received(data)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        super().connection_lost(exc)
        self.stop_timer()

    def _make_room(self, places: int) -> None:
        """Close this many connections, those whose request head is due first.

        A connection that was opened just now is kept: its request may be arriving.
        """
        if places <= 0:
            return
        latest = self.loop.time() + self.head_seconds - SILENT_SECONDS
        due = {
            other: other.head_timer.when()
            for other in self.connections
            if isinstance(other, OwnUserProtocol) and other.head_timer
        }
        for other in sorted(due, key=due.__getitem__)[:places]:
            if due[other] < latest:
                other.stop_timer()  # so that the next connection closes another one
                other.transport.abort()

    def stop_timer(self) -> None:
        """Stop waiting for the head of a request."""
        if self.head_timer:
            self.head_timer.cancel()
            self.head_timer = None

    def _await_head(self) -> None:
        """Start the timer for a request head; further bytes do not extend it."""
        due = self.conn.their_state is h11.IDLE
        if due and self.head_timer is None:
            self.head_timer = self.loop.call_later(
                self.head_seconds, self.transport.abort
            )
        elif not due:
            self.stop_timer()


async def _too_many(_scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer with 503 while too many connections are open."""
    fault = UnavailableError(
        "too many connections are open",
        retry_after=1,
        fix="Close connections that are not used, or try again.",
    )
    await refuse(fault, send)


class PatientServer(uvicorn.Server):
    """Answers on a listener; before it stops, it reads requests on open connections.

    `uvicorn.Server` closes every connection from which nothing was read. `beat` is the
    monotonic time at which the event loop last ran.
    """

    def __init__(
        self, app: ASGIApp, policy: ServePolicy, listener: socket.socket | None = None
    ) -> None:
        config = uvicorn_config(app, policy)
        config.timeout_notify, config.callback_notify = 1, self._alive
        super().__init__(config)
        self.linger_seconds = policy.linger_seconds
        self.listener = listener
        self.beat = time.monotonic()

    async def run_until_stopped(self) -> None:
        """Answer until `should_exit` is true."""
        await self.serve(sockets=[self.listener] if self.listener else [])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, wait for requests on open ones, then stop."""
        for server in self.servers:
            server.close()
        await asyncio.sleep(self.linger_seconds)
        await super().shutdown(sockets)

    async def _alive(self) -> None:
        self.beat = time.monotonic()


def start(thread: threading.Thread, servers: Sequence[PatientServer]) -> None:
    """Start the thread of servers; raise UnavailableError if they do not start."""
    thread.start()
    while not all(server.started for server in servers):
        if not thread.is_alive():
            raise UnavailableError(
                "the server did not start", fix="See the log of the daemon."
            )
        time.sleep(0.005)


def peer_uid(connection: socket.socket) -> int:
    """Return the user id of the process at the other end of a Unix socket."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
    return int(PEER.unpack(raw)[1])


class VaultApp:
    """The ASGI application of one vault, with its tokens and its page.

    `port` is the loopback port of the page; if it is 0, the first link opens one.
    """

    def __init__(self, answers: Routes, settings: Settings, port: int = 0) -> None:
        self.settings = settings
        self.proxy = Proxy(answers, settings)
        self._tokens = tokens_of(settings.state)
        self._issued = IssuedTokens(settings.state)
        self._web = WebAccess(self._tokens["chat"])
        self._port = port
        self._page: PatientServer | None = None
        self._serving: asyncio.Task[None] | None = None
        places = settings.policy.serve.places
        others = [mcp_route(answers, places), *self.proxy.routes()]
        others.append(Route(LINK_PATH, self._link, methods=["POST"]))
        others += WebPages(answers, self._web).routes()
        self._app = application(answers, places, others)

    def stop_page(self) -> None:
        """Accept no more requests on the port that a link opened."""
        if self._page:
            self._page.should_exit = True

    async def close(self) -> None:
        """Finish the requests on that port, and pass on the turns of the proxy."""
        if self._serving:
            await self._serving
        await self.proxy.close()

    def through_unix(self) -> AuthMiddleware:
        """Return the application for a Unix socket."""
        return self._behind(unix_access())

    def through_tcp(self, port: int, *, page: bool = True) -> AuthMiddleware:
        """Return the application for a loopback port."""
        web = self._web if page else None
        return self._behind(tcp_access(port, self._tokens, web, self._issued))

    def _behind(self, access: SocketAccess) -> AuthMiddleware:
        policy, vault = self.settings.policy.serve, str(self.settings.vault)
        return AuthMiddleware(self._app, access, policy, vault)

    async def _link(self, request: Request) -> JSONResponse:
        """Answer with a link to the page that works once; for the owner only.

        Opens a loopback port if there is none.
        """
        if request.state.standing != OWNER:
            raise ForbiddenError(
                "only the owner's command line opens the page", fix="Run `engram web`."
            )
        if not self._port:
            listener = listen_tcp(0)
            self._port = int(listener.getsockname()[1])
            app, policy = self.through_tcp(self._port), self.settings.policy.serve
            self._page = PatientServer(app, policy, listener)
            self._serving = asyncio.create_task(self._page.run_until_stopped())
        path = self._web.new_link()
        return JSONResponse({"url": f"http://{LOOPBACK}:{self._port}{path}"})


def uvicorn_config(app: ASGIApp, policy: ServePolicy) -> uvicorn.Config:
    """Return the configuration of a server or of one of its sockets."""
    protocol = type(
        "Protocol",
        (OwnUserProtocol,),
        {"head_seconds": policy.head_seconds, "most_connections": policy.connections},
    )
    return uvicorn.Config(
        app,
        interface="asgi3",
        http=protocol,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        log_level=logging.CRITICAL,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=int(policy.stop_seconds),
    )


class HttpServer:
    """Answers on every socket in `listeners` from `start` to `stop`."""

    def __init__(
        self, answers: Routes, settings: Settings, listeners: Sequence[socket.socket]
    ) -> None:
        tcp = (one for one in listeners if one.family == socket.AF_INET)
        port = next((int(one.getsockname()[1]) for one in tcp), 0)
        self._app = app = VaultApp(answers, settings, port)
        self._servers = [
            PatientServer(
                app.through_unix()
                if one.family == socket.AF_UNIX
                else app.through_tcp(int(one.getsockname()[1])),
                settings.policy.serve,
                one,
            )
            for one in listeners
        ]
        self._thread = threading.Thread(target=self._run, name="server", daemon=True)

    @property
    def beat(self) -> float:
        """The monotonic time at which the event loop last ran."""
        return self._servers[0].beat

    def start(self) -> None:
        """Start to answer and return; raise UnavailableError if that fails."""
        start(self._thread, self._servers)

    def stop(self) -> None:
        """Accept no more requests, finish those in progress, close the sockets."""
        self._app.stop_page()
        for server in self._servers:
            server.should_exit = True
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        await asyncio.gather(*(one.run_until_stopped() for one in self._servers))
        await self._app.close()
