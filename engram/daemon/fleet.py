"""A pool that shares its vaults with the daemons of other processes and hosts (`X15`).

Each vault is open in at most one daemon, whose lease is a row in PostgreSQL. A daemon
opens a vault without an owner for a request or for due work, and leaves a vault that
another daemon has open to that daemon.

A row of work names a vault, a kind of work and the time at which it is due; it has no
content. While a vault is open, its rows are due since the time at which it was opened.
When it is closed in order, they get the times at which its work is next due. So the
work of a daemon that died is due, and another daemon does it as soon as the lease of
the vault ends.

All daemons must share the folder of the vaults and the folder of the states. A daemon
with other states would not see the turns that the others acknowledged, so it refuses to
start.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from engram.daemon.pool import OPENERS, VaultPool
from engram.errors import (
    ConfigError,
    EngramError,
    LockedError,
    StorageError,
    UnavailableError,
)
from engram.memory import VaultMemory
from engram.vault import location

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Any

    from engram.config import Settings
    from engram.core.policy import ServePolicy
    from engram.daemon.daemon import Daemon
    from engram.daemon.pool import PooledVault
    from engram.daemon.threads import DaemonThreads
    from engram.errors import Holder
    from engram.index.lease import LeaseKeeper


EXTRACT, CONSOLIDATE = "extract", "consolidate"
KINDS = [CONSOLIDATE, EXTRACT]
"""Kinds of work: extraction from waiting turns, and maintenance, which always has a row.

Rows are locked in this order, and before the lease of their vault, so that no two
transactions wait for each other.
"""

_ADD = (
    "INSERT INTO job (vault_id, kind) SELECT vault_id, kind "
    "FROM unnest($1::text[]) AS vault_id, unnest($2::text[]) AS kind "
    "WHERE NOT EXISTS (SELECT FROM job WHERE job.vault_id = vault_id.vault_id) "
    "ORDER BY 1, 2 ON CONFLICT DO NOTHING"
)
_FIND = (
    "SELECT vault_id FROM job WHERE kind = 'consolidate' AND vault_id = ANY($1) "
    "AND EXISTS (SELECT FROM job AS one WHERE one.vault_id = job.vault_id "
    "AND one.due <= now()) "
    "AND NOT EXISTS (SELECT FROM lease WHERE lease.vault = job.vault_id "
    "AND lease.until > clock_timestamp()) "
    "ORDER BY served, due LIMIT $2 FOR UPDATE OF job SKIP LOCKED"
)
_SERVED = "UPDATE job SET served = now() WHERE vault_id = ANY($1)"
_OPENED = (
    "INSERT INTO job (vault_id, kind, served) "
    "SELECT $1, kind, now() FROM unnest($2::text[]) AS kind "
    "ON CONFLICT (vault_id, kind) DO UPDATE SET due = now(), served = now()"
)
_LOCK = "SELECT FROM job WHERE vault_id = $1 ORDER BY kind FOR UPDATE"
_FENCE = "SELECT fence FROM lease WHERE vault = $1 FOR UPDATE"
_WAITS = "UPDATE job SET due = $3, served = now() WHERE vault_id = $1 AND kind = $2"
_DONE = "DELETE FROM job WHERE vault_id = $1 AND kind = $2"


class JobTable:
    """The rows of the vaults of one folder. Every method may raise StorageError."""

    def __init__(self, keeper: LeaseKeeper) -> None:
        self._keeper = keeper

    def add(self, vaults: Sequence[str]) -> None:
        """Add rows for vaults without any: new ones, or all if the database was lost."""
        with self._keeper.transaction() as db:
            db.execute(_ADD, (sorted(vaults), KINDS))

    def take(self, vaults: Sequence[str], most: int) -> list[str]:
        """Return vaults with due work and no owner, longest unserved first.

        Each is leased to this process, so that no other daemon gets it in the meantime.
        """
        if most < 1 or not vaults:
            return []
        with self._keeper.transaction() as db:
            rows = db.execute(_FIND, (list(vaults), most)).fetchall()
            found = [vault for (vault,) in rows]
            leased = set(self._keeper.reserve(db, sorted(found)))
            acquired = [vault for vault in found if vault in leased]
            db.execute(_SERVED, (acquired,))
        return acquired

    def opened(self, vault: str) -> None:
        """Record that a vault is being opened: its work is due until it is closed."""
        with self._keeper.transaction() as db:
            db.execute(_OPENED, (vault, KINDS))

    def closed(
        self, vault: str, fence: int, due: Mapping[str, datetime | None]
    ) -> None:
        """Record when each kind of work is next due, or None if there is none.

        Does nothing if another process has acquired the vault since `fence`.
        """
        with self._keeper.transaction() as db:
            db.execute(_LOCK, (vault,))
            if db.execute(_FENCE, (vault,)).fetchall() != [(fence,)]:
                return
            for kind, when in due.items():
                if when is None:
                    db.execute(_DONE, (vault, kind))
                else:
                    db.execute(_WAITS, (vault, kind, when))


LIVES = 3
"""A daemon counts as running for this number of lease times after its last update."""
_OTHERS = (
    "SELECT address, host, pid, folder, folder_mark, state_mark FROM daemon "
    "WHERE until > now() AND NOT (host = $1 AND (pid = $2 OR address = $3))"
)
_ALIVE = (
    "INSERT INTO daemon (address, host, pid, folder, folder_mark, state_mark, until) "
    "VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7)) "
    "ON CONFLICT (address) DO UPDATE SET host = excluded.host, pid = excluded.pid, "
    "folder = excluded.folder, folder_mark = excluded.folder_mark, "
    "state_mark = excluded.state_mark, until = excluded.until"
)
_GONE = "DELETE FROM daemon WHERE (address = $1 AND pid = $2) OR until < now()"


class Member(NamedTuple):
    """A running daemon: its address and process, and the identity of its folders.

    `folder_mark` identifies the folder of the vaults, `state_mark` that of the states.
    """

    address: str
    host: str
    pid: int
    folder: str
    folder_mark: str
    state_mark: str


def this_member(address: str, folder: Path, key: str) -> Member:
    """Return the row of this process, a daemon of the vaults in `folder`.

    `key` is a secret in the folder of the states; daemons with the same key share it.
    """
    state = hashlib.sha256(f"state {key}".encode()).hexdigest()[:16]
    mark = location.identity(str(folder))
    own = (socket.gethostname(), os.getpid())
    return Member(address, *own, str(folder), mark, state)


def check_member(own: Member, others: list[Member]) -> None:
    """Raise ConfigError if this daemon is incompatible with a running one."""
    for other in others:
        daemon = f"the daemon {other.pid} on {other.host}"
        if other.address == own.address:
            raise ConfigError(
                f"{daemon} has the same address",
                where=own.address,
                fix="Give each daemon its own address with `--address URL`.",
            )
        if other.folder_mark == own.folder_mark and other.state_mark != own.state_mark:
            raise ConfigError(
                f"{daemon} serves the same vaults with another folder of states: turns that it "
                "acknowledged are not visible here",
                where=own.folder,
                fix="Let XDG_STATE_HOME be the same shared folder on each host.",
            )
        if (own.folder, own.state_mark) != (other.folder, other.state_mark):
            continue
        if other.folder_mark != own.folder_mark:
            raise ConfigError(
                f"{daemon} has a different folder at this path",
                where=own.folder,
                fix="Mount the same shared folder there on each host.",
            )


class MemberTable:
    """The row of the daemon `own`. Every method may raise StorageError."""

    def __init__(self, keeper: LeaseKeeper, own: Member) -> None:
        self._keeper = keeper
        self._own = own

    def join(self) -> list[Member]:
        """Add this daemon and return the others. Raises ConfigError by `check_member`."""
        own = self._own
        with self._keeper.transaction() as db:
            found = db.execute(_OTHERS, (own.host, own.pid, own.address)).fetchall()
        others = [Member(*row) for row in found]
        check_member(own, others)
        self.stay()
        return others

    def stay(self) -> None:
        """Extend the time until which this daemon counts as running."""
        seconds = LIVES * self._keeper.policy.lease_seconds
        with self._keeper.transaction() as db:
            db.execute(_ALIVE, (*self._own, seconds))

    def leave(self) -> None:
        """Delete the row of this daemon, and those of daemons that crashed."""
        with self._keeper.transaction() as db:
            db.execute(_GONE, (self._own.address, self._own.pid))


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
