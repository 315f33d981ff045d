"""A pool that shares its vaults with the daemons of other processes and hosts (`X15`).

Each vault is open in one daemon, whose lease is a row in PostgreSQL. A daemon opens a
vault that has no owner for a request, or for work that is due; one that another has open
is left to it. The rows of work (`engram.daemon.jobs`) tell which vaults wait, so that the
work of a daemon that died is done by another.
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
"""How many vaults are taken for their work in one look."""
ADD_SECONDS = 600.0
ASK_AGAIN_SECONDS = 5


class FleetPool(VaultPool):
    """The vaults below `root`, of which other daemons may have some open.

    `keeper` has the leases of this process. Where another process has a vault, opening
    it raises LockedError with the holder. `key` is in the folder of the states. Raises
    ConfigError where the daemons that run have other folders, StorageError where the
    database cannot be asked. `others` are the daemons that ran at the start.
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

    # -- who has a vault ---------------------------------------------------------------

    def owner_of(self, vault: PooledVault) -> Holder | None:
        """Return the other process that has a vault, or None.

        Raises UnavailableError where the database cannot be asked, also where a newer
        program changed it: its daemons answer.
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
        """Return the server of a vault that is open and not lost, else None."""
        return None if self._is_lost(vault) else super().acquire_open(vault)

    def acquire(self, vault: PooledVault) -> Any:
        """Open a vault if it is closed, and return its server; `release` must follow.

        Raises LockedError with the holder where another process has it.
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

        Raises LockedError with the holder while its lease lasts. A holder on this host
        that has ended keeps nothing: the lock on the vault tells.
        """
        self._reasons[vault.folder] = "the daemon that had it does not answer"
        return super().acquire(vault)

    def _is_lost(self, vault: PooledVault) -> bool:
        lease = self.keeper.lease_of(vault.settings.rows_name)
        return lease is not None and lease.lost

    # -- open and close ----------------------------------------------------------------

    def _memory(self, settings: Settings, threads: DaemonThreads) -> VaultMemory:
        return VaultMemory(settings, executor=threads, keeper=self.keeper)

    def _start(self, vault: PooledVault) -> None:
        try:
            # first: what is acknowledged from now on is due, whatever happens here
            self.jobs.opened(vault.settings.rows_name)
            super()._start(vault)
        except ConfigError as fault:
            if fault.where == "postgres":
                raise _unavailable(fault) from fault
            raise
        reason = self._reasons.pop(vault.folder, "its work is due")
        log.info("took vault %s: %s", vault.folder.name, reason)

    def _cannot_open(self, vault: PooledVault, fault: EngramError) -> None:
        """Keep the fault, unless another process was quicker: that is no fault."""
        self._reasons.pop(vault.folder, None)
        if not (isinstance(fault, LockedError) and fault.holder):
            super()._cannot_open(vault, fault)

    def _stop(self, vault: PooledVault, daemon: Daemon) -> None:
        extract, consolidate = daemon.due_times()
        lease = self.keeper.lease_of(vault.settings.rows_name)
        daemon.stop()
        if lease is None or lease.lost:
            log.warning("vault %s was taken by another daemon", vault.folder.name)
            return
        due = {EXTRACT: extract, CONSOLIDATE: consolidate}
        self.jobs.closed(lease.vault, lease.fence, due)
        log.info(
            "gave up vault %s: %s",
            vault.folder.name,
            "this daemon stops" if self._stopping else "it was not in use",
        )

    # -- regular work ------------------------------------------------------------------

    def _due(self) -> list[PooledVault]:
        """Take the closed vaults with work that is due and no owner."""
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
            taken = self.jobs.take([*closed], places)
        except EngramError as fault:
            if str(fault) != self._fault:
                self._fault = str(fault)
                log.warning("no work is taken from the database: %s", fault)
            return []
        self._fault = ""
        for name in taken:
            reason = "its work is due, and no daemon has it"
            self._reasons[closed[name].folder] = reason
        return [closed[name] for name in taken]

    def _add(self, closed: Mapping[str, PooledVault]) -> None:
        """Add rows for new vaults, and now and then for all: a database may be lost."""
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
    """Return the answer where the database does not serve this daemon, but may others."""
    return UnavailableError(
        f"this daemon cannot take the vault now: {fault.what}",
        where=fault.where,
        fix=fault.fix,
        retry_after=ASK_AGAIN_SECONDS,
    )
