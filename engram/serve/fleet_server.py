"""The server of a daemon in a fleet, which forwards requests to other daemons.

A request may reach any daemon. If another daemon has the vault open, the request is
forwarded to it; otherwise this daemon opens the vault and answers. A forwarded request
is not forwarded again.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from engram.errors import EngramError, LockedError, NotFoundError, UnavailableError
from engram.serve.auth import refuse
from engram.serve.forwarding import (
    FORWARDED,
    RETRY_SECONDS,
    VAULT,
    Forwarder,
    OwnerGoneError,
    is_forwarded,
    without,
)
from engram.serve.pool_server import PoolServer

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from engram.daemon.fleet import FleetPool
    from engram.daemon.pool import PooledVault
    from engram.errors import Holder


class FleetServer(PoolServer):
    """Answers for the vaults of a fleet. `key` is a secret of its daemons.

    `address` is the address of this daemon for the others.
    """

    pool: FleetPool

    def __init__(self, pool: FleetPool, port: int, key: str, address: str) -> None:
        super().__init__(pool, port, [urlsplit(address).netloc.lower()])
        self._key = key.encode()
        self._forwarder = Forwarder(self._key, self.policy)

    async def _by_token(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a client, or one that another daemon forwarded."""
        if scope["type"] != "http":
            return
        headers = scope["headers"]
        forwarded = is_forwarded(headers, self._key)
        socket_of = _socket_of(headers) if forwarded else ""
        if forwarded or self._common_access.is_for_us(headers):
            # the Host header was checked: use the name of this server
            host = b"engram" if socket_of else f"127.0.0.1:{self.port}".encode()
            headers = [(b"host", host), *without(headers, b"host")]
        state = {**scope.get("state", {}), "forwarded": forwarded}
        headers = without(headers, FORWARDED, VAULT)
        scope = {**scope, "headers": headers, "state": state}
        if not socket_of:
            await super()._by_token(scope, receive, send)
            return
        for vault in self.pool.vaults():
            if vault.settings.rows_name == socket_of:
                await self._answer(vault, "unix", scope, receive, send)
                return
        await refuse(NotFoundError("this host does not have the vault"), send)

    async def _answer(
        self,
        vault: PooledVault,
        through: str,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answer here, or forward to the daemon that has the vault open.

        Waits while the vault moves from one daemon to another.
        """
        acquire = self.pool.acquire
        last = time.monotonic() + self.policy.lease_seconds + self.policy.beat_seconds
        while True:
            fault = await self._try(acquire, vault, through, scope, receive, send)
            if fault is None:
                return
            holder = fault.holder if isinstance(fault, LockedError) else None
            if holder is None or scope["state"].get("forwarded"):
                await refuse(_elsewhere(fault) if holder else fault, send)
                return
            try:
                await self._ask(holder, vault, through, scope, receive, send)
            except OwnerGoneError as gone:
                if gone.sent or time.monotonic() > last:
                    await refuse(gone, send)
                    return
                if acquire != self.pool.take_over:
                    acquire = self.pool.take_over
                else:
                    acquire = self.pool.acquire
                    pause = max(self.policy.lock_look_seconds, holder.left)
                    await asyncio.sleep(min(self.policy.beat_seconds, pause))
            except EngramError as refused:
                await refuse(refused, send)
                return
            else:
                return

    async def _ask(
        self,
        holder: Holder,
        vault: PooledVault,
        through: str,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Forward a request to the daemon that has the vault open."""

        async def still_owner() -> bool:
            try:
                found = await self.in_thread(self.pool.owner_of, vault)
            except UnavailableError:
                return True  # without the database no other daemon can acquire it
            return found is not None and found.address == holder.address

        if not holder.address.startswith("http"):
            raise OwnerGoneError(f"process {holder.pid} on {holder.host}", sent=False)
        name = vault.settings.rows_name if through == "unix" else ""
        await self._forwarder.forward(
            holder.address, name, scope, receive, send, still_owner
        )

    async def _shut_down(self) -> None:
        await super()._shut_down()
        await self._forwarder.close()


def _socket_of(headers: list[tuple[bytes, bytes]]) -> str:
    """Return the id of the vault whose Unix socket a forwarded request used, or ''."""
    return next((value.decode() for name, value in headers if name == VAULT), "")


def _elsewhere(fault: EngramError) -> UnavailableError:
    """Return the answer to a daemon that forwarded a request to the wrong daemon."""
    return UnavailableError(
        "the vault has moved to another daemon in the meantime",
        where=fault.where,
        retry_after=RETRY_SECONDS,
        fix="Try again in a moment.",
    )
