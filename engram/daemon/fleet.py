"""A pool that shares its vaults with the daemons of other processes and hosts (`X15`).

Each vault is open in at most one daemon, whose lease is a row in PostgreSQL. A daemon
opens a vault without an owner for a request or for due work, and leaves a vault that
another daemon has open to that daemon. The rows of work (`engram.daemon.jobs`) list
vaults with due work, so that the work of a daemon that died is done by another.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from engram.daemon.jobs import CONSOLIDATE, EXTRACT, JobTable
from engram.daemon.members import MemberTable, this_member
from engram.daemon.pool import OPENERS, VaultPool
from engram.errors import (
    ConfigError,
    EngramError,
    LockedError,
    StorageError,
    UnavailableError,
)
from engram.memory import VaultMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from engram.config import Settings
    from engram.core.policy import ServePolicy
    from engram.daemon.daemon import Daemon
    from engram.daemon.pool import PooledVault
    from engram.daemon.threads import DaemonThreads
    from engram.errors import Holder
    from engram.index.lease import LeaseKeeper

log = logging.getLogger("engram.fleet")
AT_ONCE = 4 * OPENERS
"""Maximum number of vaults that are opened for due work at once."""
ADD_SECONDS = 600.0
ASK_AGAIN_SECONDS = 5


class FleetPool(VaultPool):
    """The vaults below `root`, some of which other daemons may have open.

    `keeper` has the leases of this process. Opening a vault that another process has
    open raises LockedError with the holder. `key` is a secret stored in the folder of
    the states. `others` are the daemons that ran at the start. Raises ConfigError if
    running daemons use other folders, StorageError if the database does not answer.
    """

    def __init__(
        self,
        root: Path,
        load: Callable[[Path], Settings],
        policy: ServePolicy,
        keeper: LeaseKeeper,
        key: str,
    ) -> None:
        self.keeper = keeper
        self.jobs = JobTable(keeper)
        self.members = MemberTable(keeper, this_member(keeper.address, root, key))
        self._reasons: dict[Path, str] = {}
        self._fault = ""
        self._added: set[str] = set()
        self._add_all_at = 0.0
        self.others = self.members.join()
        super().__init__(root, load, policy)

    # -- owners ------------------------------------------------------------------------

    def owner_of(self, vault: PooledVault) -> Holder | None:
        """Return the other process that has a vault open, or None.

        Raises UnavailableError if the database does not answer, or if a newer version
        of engram has changed it: then the daemons of that version answer.
        """
        try:
            holder = self.keeper.owner_of(vault.settings.rows_name)
        except (ConfigError, StorageError) as fault:
            raise _unavailable(fault) from fault
        own = (socket.gethostname(), os.getpid(), self.keeper.address)
        if holder is None or (holder.host, holder.pid, holder.address) == own:
            return None
        return holder

    def acquire_open(self, vault: PooledVault) -> Any:
        """Return the server of a vault that is open with a valid lease, else None."""
        return None if self._is_lost(vault) else super().acquire_open(vault)

    def acquire(self, vault: PooledVault) -> Any:
        """Open a vault if it is closed, and return its server; `release` must follow.

        Raises LockedError with the holder if another process has it open.
        """
        closed = vault.daemon is None or self._is_lost(vault)
        if closed and (holder := self.owner_of(vault)):
            raise LockedError(
                f"process {holder.pid} on {holder.host} has this vault open",
                where=str(vault.folder),
                fix="Ask there.",
                holder=holder,
            )
        self._reasons.setdefault(vault.folder, "a request asked for it")
        return super().acquire(vault)

    def take_over(self, vault: PooledVault) -> Any:
        """Acquire a vault whose holder does not answer.

        Raises LockedError with the holder while its lease lasts. The lease of a process
        on this host that has ended is ignored: its lock on the vault is free.
        """
        self._reasons[vault.folder] = "its former daemon does not answer"
        return super().acquire(vault)

    def _is_lost(self, vault: PooledVault) -> bool:
        lease = self.keeper.lease_of(vault.settings.rows_name)
        return lease is not None and lease.lost

    # -- open and close ----------------------------------------------------------------

    def _memory(self, settings: Settings, threads: DaemonThreads) -> VaultMemory:
        return VaultMemory(settings, executor=threads, keeper=self.keeper)

    def _start(self, vault: PooledVault) -> None:
        try:
            # First, so that turns acknowledged from now on are due even after a crash.
            self.jobs.opened(vault.settings.rows_name)
            super()._start(vault)
        except ConfigError as fault:
            if fault.where == "postgres":
                raise _unavailable(fault) from fault
            raise
        reason = self._reasons.pop(vault.folder, "its work is due")
        log.info("acquired vault %s: %s", vault.folder.name, reason)

    def _cannot_open(self, vault: PooledVault, fault: EngramError) -> None:
        """Record the fault, unless another process has acquired the vault."""
        self._reasons.pop(vault.folder, None)
        if not (isinstance(fault, LockedError) and fault.holder):
            super()._cannot_open(vault, fault)

    def _stop(self, vault: PooledVault, daemon: Daemon) -> None:
        extract, consolidate = daemon.due_times()
        lease = self.keeper.lease_of(vault.settings.rows_name)
        daemon.stop()
        if lease is None or lease.lost:
            log.warning("vault %s was acquired by another daemon", vault.folder.name)
            return
        due = {EXTRACT: extract, CONSOLIDATE: consolidate}
        self.jobs.closed(lease.vault, lease.fence, due)
        log.info(
            "released vault %s: %s",
            vault.folder.name,
            "this daemon stops" if self._stopping else "it was not in use",
        )

    # -- regular work ------------------------------------------------------------------

    def _due(self) -> list[PooledVault]:
        """Acquire the closed vaults with due work and no owner."""
        now, vaults = time.monotonic(), self.vaults()
        closed = {
            vault.settings.rows_name: vault
            for vault in vaults
            if vault.daemon is None and now >= vault.retry_at
        }
        in_use = sum(vault.users > 0 for vault in vaults) + len(self._waking)
        places = min(AT_ONCE, self.policy.open_vaults - in_use)
        try:
            self.members.stay()
            self._add(closed)
            acquired = self.jobs.take([*closed], places)
        except EngramError as fault:
            if str(fault) != self._fault:
                self._fault = str(fault)
                log.warning("due work cannot be read from the database: %s", fault)
            return []
        self._fault = ""
        for name in acquired:
            reason = "its work is due, and no daemon has it"
            self._reasons[closed[name].folder] = reason
        return [closed[name] for name in acquired]

    def _add(self, closed: Mapping[str, PooledVault]) -> None:
        """Add rows for new vaults; now and then for all, if the database was lost."""
        now = time.monotonic()
        if now > self._add_all_at:
            self._added.clear()
            self._add_all_at = now + ADD_SECONDS
        if fresh := closed.keys() - self._added:
            self.jobs.add([*fresh])
            self._added |= fresh

    def stop(self) -> None:
        """Close every vault, so that other daemons can take them at once."""
        super().stop()
        with suppress(EngramError):
            self.members.leave()
        self.keeper.close()


def _unavailable(fault: EngramError) -> UnavailableError:
    """Return the answer if the database is not available to this daemon."""
    return UnavailableError(
        f"this daemon cannot take the vault now: {fault.what}",
        where=fault.where,
        fix=fault.fix,
        retry_after=ASK_AGAIN_SECONDS,
    )
