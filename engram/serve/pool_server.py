"""The server in front of a pool of vaults: one port for all, a Unix socket for each.

On the port the token determines the vault and the rights of the caller; the path and
the body cannot name another vault. Each vault has its own Unix socket for the command
line, and a port of its own for its page, which is opened with the first link to it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from engram.daemon import sockets
from engram.errors import BusyError, EngramError
from engram.serve.auth import (
    PROXY_PATH,
    TOKENS,
    AuthMiddleware,
    refuse,
    sent_token,
    tcp_access,
)
from engram.serve.server import PatientServer, VaultApp, start, uvicorn_config
from engram.serve.tokens import IssuedTokens, digest_of
from engram.vault import disk

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from starlette.types import Message, Receive, Scope, Send

    from engram.config import Settings
    from engram.daemon.daemon import Daemon
    from engram.daemon.pool import PooledVault, VaultPool

log = logging.getLogger("engram.pool")
THREADS = 128
"""Maximum number of concurrent requests of all vaults."""
OPENERS = 8
LOOKUP_SECONDS = 1.0
"""Minimum seconds between two reads of all tokens because of an unknown token."""


class VaultServer:
    """The application of an open vault of the pool."""

    def __init__(self, server: PoolServer, daemon: Daemon, settings: Settings) -> None:
        self._server = server
        self._app = VaultApp(daemon, settings)
        self.unix = self._app.through_unix()
        self.tcp = self._app.through_tcp(server.port, page=False)

    @property
    def beat(self) -> float:
        """The monotonic time at which the event loop last ran."""
        return self._server.beat

    def start(self) -> None:
        """Do nothing: the server of the pool has the sockets."""

    def stop(self) -> None:
        """Close the page, and pass on the turns that the proxy has queued."""
        self._app.stop_page()
        self._server.wait_for(self._app.close)


class _Queue:
    """The limits of concurrent and of waiting requests for one vault."""

    def __init__(self, places: int) -> None:
        self.places = asyncio.Semaphore(places)
        self.waiting = 0


class PoolServer:
    """Answers for all vaults of `pool`; `port` is 0 if there is no common port."""

    def __init__(self, pool: VaultPool, port: int) -> None:
        self.pool = pool
        self.port = port
        self.policy = pool.policy
        pool.serve = self._vault_server
        listener = sockets.listen_tcp(port) if port else None
        if listener is not None:
            self.port = int(listener.getsockname()[1])
        self._common_access = AuthMiddleware(
            _nothing,
            tcp_access(self.port, {"chat": secrets.token_hex()}),
            self.policy,
        )
        self._table: dict[str, PooledVault] = {}
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()
        self._queues: dict[Path, _Queue] = {}
        self._unix: dict[Path, tuple[Path, asyncio.Server]] = {}
        self._serving: asyncio.Task[None] | None = None
        self._openers = ThreadPoolExecutor(OPENERS, "request")
        self._loop = asyncio.new_event_loop()
        self._server = PatientServer(self._by_token, self.policy, listener)
        self._thread = threading.Thread(target=self._run, name="server", daemon=True)

    # -- life --------------------------------------------------------------------------

    @property
    def beat(self) -> float:
        """The monotonic time at which the event loop last ran."""
        return self._server.beat

    def start(self) -> None:
        """Start to answer and return; raise UnavailableError if that fails."""
        start(self._thread, [self._server])

    def stop(self) -> None:
        """Accept no more requests, finish those in progress, close the sockets."""
        self.wait_for(self._shut_down)
        # The loop runs until the vaults are closed, because their proxies end in it.

    def follow(self) -> None:
        """Listen on the sockets of the present vaults of the pool."""
        self.wait_for(self._follow)

    def wait_for(self, work: Callable[[], Any]) -> None:
        """Run a coroutine in the event loop, and wait for it; errors are logged."""
        if not self._thread.is_alive():
            return
        future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            future.result(self.policy.stop_seconds)
        except Exception as fault:  # noqa: BLE001  # one vault stops no other
            log.warning(
                "the server: %s",
                fault if isinstance(fault, EngramError) else type(fault).__name__,
            )

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.run_forever()

    async def _serve(self) -> None:
        limiter = anyio.to_thread.current_default_thread_limiter()
        limiter.total_tokens = THREADS
        self._serving = asyncio.create_task(self._server.run_until_stopped())

    # -- sockets of the vaults ---------------------------------------------------------

    async def _follow(self) -> None:
        vaults = {one.folder: one for one in self.pool.vaults()}
        for folder in [*self._unix]:
            vault = vaults.get(folder)
            if vault is None or vault.settings.socket != self._unix[folder][0]:
                self._drop_unix(folder)
        for folder, vault in vaults.items():
            if folder not in self._unix:
                with suppress(EngramError):
                    await self._listen(vault)

    async def _listen(self, vault: PooledVault) -> None:
        path = vault.settings.socket
        if sockets.is_listening(path):
            return  # another process has this vault open and listens on its socket

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await self._answer(vault, "unix", scope, receive, send)

        config = uvicorn_config(app, self.policy)
        config.load()
        state = self._server.server_state

        def protocol() -> asyncio.Protocol:
            kind: Any = config.http_protocol_class
            made: asyncio.Protocol = kind(
                config=config, server_state=state, app_state={}
            )
            return made

        listener = sockets.listen_unix(path)
        server = await self._loop.create_unix_server(protocol, sock=listener)
        self._unix[vault.folder] = (path, server)

    def _drop_unix(self, folder: Path) -> None:
        path, server = self._unix.pop(folder)
        server.close()
        with suppress(EngramError):
            disk.remove(path)

    async def _shut_down(self) -> None:
        for folder in [*self._unix]:
            self._drop_unix(folder)
        self._server.should_exit = True
        if self._serving is not None:
            await self._serving

    # -- requests ----------------------------------------------------------------------

    def _vault_server(
        self, daemon: Daemon, settings: Settings, _: Sequence[socket.socket]
    ) -> VaultServer:
        return VaultServer(self, daemon, settings)

    async def _by_token(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request on the common port, for the vault of its token."""
        if scope["type"] != "http":
            return
        vault = None
        # Host and Origin are checked before any token.
        if self._common_access.is_for_us(scope["headers"]):
            vault = await self._vault_of(sent_token(scope["headers"]))
        if vault is None:
            await self._common_access(scope, receive, send)
        else:
            await self._answer(vault, "tcp", scope, receive, send)

    async def _answer(
        self,
        vault: PooledVault,
        through: str,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answer a request for a vault in turn; a closed vault is opened.

        The answer is 421 with the address of its daemon if another one has it.
        """
        queue = self._queues.setdefault(vault.folder, _Queue(self.policy.vault_places))
        if queue.waiting >= self.policy.vault_queue:
            busy = BusyError(
                "too many requests for this vault wait", retry_after=1, fix="Try again."
            )
            await refuse(busy, send)
            return
        queue.waiting += 1
        streams = scope["path"].startswith(PROXY_PATH)

        async def received() -> Message:
            """Wait for the client; meanwhile other requests may use the place."""
            queue.places.release()
            try:
                return await receive()
            finally:
                await queue.places.acquire()

        try:
            if streams:
                await self._through(vault, through, scope, receive, send)
                return
            async with queue.places:
                await self._through(vault, through, scope, received, send)
        finally:
            queue.waiting -= 1

    async def _through(
        self,
        vault: PooledVault,
        through: str,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        server = self.pool.acquire_open(vault)
        if server is None:
            acquire = self.pool.acquire
            try:
                server = await self._loop.run_in_executor(self._openers, acquire, vault)
            except EngramError as fault:
                await refuse(fault, send)
                return
        try:
            await getattr(server, through)(scope, receive, send)
        finally:
            self.pool.release(vault)

    # -- tokens ------------------------------------------------------------------------

    async def _vault_of(self, token: bytes) -> PooledVault | None:
        """Return the vault of a token, or None; the validity is checked later."""
        if not token:
            return None
        digest = digest_of(token)
        if digest not in self._table:
            await self._read_again()
        vault = self._table.get(digest)
        return vault if vault in self.pool.vaults() else None

    async def _read_again(self) -> None:
        """Read all tokens, once for all waiting requests, because one may be new."""
        began = time.monotonic()
        async with self._reading:
            if self._read_at > began:
                return
            await asyncio.sleep(self._read_at + LOOKUP_SECONDS - began)
            self._read_at = time.monotonic()
            read = self._read_tokens
            self._table = await self._loop.run_in_executor(self._openers, read)

    def _read_tokens(self) -> dict[str, PooledVault]:
        self.pool.scan()
        table: dict[str, PooledVault] = {}
        for vault in self.pool.vaults():
            for digest in _digests(vault.settings.state):
                if digest in table and table[digest] is not vault:
                    log.warning("a token of two vaults is refused for both")
                    table.pop(digest)
                else:
                    table[digest] = vault
        return table


def _digests(state: Path) -> list[str]:
    """Return the digests of the tokens of a vault; unreadable files give none."""
    found: list[str] = []
    with suppress(EngramError):
        found += IssuedTokens(state).digests()
    for name in TOKENS.values():
        with suppress(EngramError):
            if (state / name).exists():
                raw = disk.read(state / name).strip()
                found.append(hashlib.sha256(raw).hexdigest())
    return found


async def _nothing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Answer nothing; no request reaches this, because no token grants it."""
