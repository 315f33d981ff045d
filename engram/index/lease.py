"""The owner of a vault: a row of the database with its process and expiry (`X15`).

A process that takes a vault gets a larger number, its fence. One thread of each process
renews all its leases in one statement. A lease that was not renewed in time may be
taken by another process; by the fence the former owner detects that it has lost the
vault.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from engram.config import without_password
from engram.core.policy import ServePolicy
from engram.errors import Holder, LockedError, StorageError
from engram.index.connections import Connections, database_faults, psycopg
from engram.index.schema import migrate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Holder", "Lease", "LeaseKeeper"]

log = logging.getLogger("engram.lease")

EVERY_VAULT = "*"
"""The value of `engram.vault` that makes the leases of all vaults visible."""

_now = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
"""The seconds since the start of the machine, including sleep."""

_LOCK_TIMEOUT = "SET LOCAL lock_timeout = '5s'"
_FOR_RENEWAL = f"SET engram.vault = '{EVERY_VAULT}'; SET lock_timeout = '5s'"
STOP_SECONDS = 5.0
"""The seconds that a stop waits for a database that does not answer."""

_OWNER = (
    "SELECT host, pid, address, until, "
    "extract(epoch FROM until - clock_timestamp())::float8 FROM lease "
    "WHERE vault = $1 AND until > clock_timestamp()"
)
_LAST = (
    "SELECT fence, host, pid, kernel, process, address, state, clean, until, "
    "extract(epoch FROM until - clock_timestamp())::float8 "
    "FROM lease WHERE vault = $1"
)
_FIRST = "INSERT INTO lease (vault, fence) VALUES ($1, 0) ON CONFLICT DO NOTHING"
_UNTIL = "clock_timestamp() + make_interval(secs => $2)"
_TAKE = (
    f"UPDATE lease SET fence = fence + 1, taken = now(), until = {_UNTIL}, "  # noqa: S608
    "host = $3, pid = $4, kernel = $5, process = $6, address = $7, state = $8, "
    "clean = false WHERE vault = $1 RETURNING fence"
)
_RESERVE = (
    "INSERT INTO lease AS held (vault, fence, until, host, pid, process, address) "  # noqa: S608
    f"SELECT vault, 0, {_UNTIL}, $3, $4, $5, $6 FROM unnest($1::text[]) AS vault "
    "ON CONFLICT (vault) DO UPDATE SET until = excluded.until, host = excluded.host, "
    "pid = excluded.pid, process = excluded.process, address = excluded.address, "
    "kernel = '' WHERE held.until <= clock_timestamp() RETURNING held.vault"
)
_RENEW = (
    f"UPDATE lease SET until = {_UNTIL} WHERE process = $3 "  # noqa: S608
    "AND (vault, fence) IN (SELECT * FROM unnest($1::text[], $4::bigint[])) "
    "RETURNING vault, fence"
)
_RELEASE = (
    "UPDATE lease SET until = 'epoch', process = '', clean = $4 "
    "WHERE vault = $1 AND fence = $2 AND process = $3"
)


class Lease:
    """The lease of one vault. `lost` is set once another process has taken the vault.

    `fence` is the number of this lease; those of one vault only grow. `was_clean` is
    true if the last holder closed in order and left no turn in its journal.
    """

    def __init__(
        self, vault: str, fence: int, process: str, *, was_clean: bool
    ) -> None:
        self.vault = vault
        self.fence = fence
        self.process = process
        self.was_clean = was_clean
        self.lost = False
        self.valid_until = 0.0

    def is_valid(self) -> bool:
        """Return whether no other process can have taken the vault, by the local clock.

        The database is not queried: the lease was renewed within its duration.
        """
        return self.seconds_left() > 0

    def seconds_left(self) -> float:
        """Return the remaining seconds of the lease without a renewal, at least 0."""
        return 0.0 if self.lost else max(0.0, self.valid_until - _now())


class _Last(NamedTuple):
    """A row of the table `lease`; `remaining` are its seconds without a renewal."""

    fence: int
    host: str
    pid: int
    kernel: str
    process: str
    address: str
    state: str
    clean: bool
    until: Any
    remaining: float

    def holder(self) -> Holder:
        """Return the process in the row."""
        return Holder(self.host, self.pid, self.address, self.until, self.remaining)


class LeaseKeeper:
    """The leases and the connections of one process in one database.

    `address` is the address of this daemon for others, '' for none. Methods are
    thread-safe, and raise StorageError if the database cannot be queried.
    """

    def __init__(
        self, dsn: str, address: str = "", policy: ServePolicy | None = None
    ) -> None:
        self.dsn = dsn
        self.address = address
        self.policy = policy or ServePolicy()
        self.connections = Connections(dsn, self.policy.database_connections)
        self._process = secrets.token_hex(8)
        self._leases: dict[str, Lease] = {}
        self._in_hand: set[str] = set()
        self._lock = threading.Lock()
        self._renewing = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._migrated = False

    # -- owners
    # --------------------------------------------------------------------------

    def owner_of(self, vault: str) -> Holder | None:
        """Return the process that owns a vault now, or None."""
        with self.transaction() as db:
            found = db.execute(_OWNER, (vault,)).fetchone()
        return Holder(*found) if found else None

    def lease_of(self, vault: str) -> Lease | None:
        """Return the lease of this process on a vault, or None."""
        with self._lock:
            return self._leases.get(vault)

    def take(self, vault: str, *, state: str = "", kernel: str = "") -> Lease:
        """Take a vault. Raises LockedError with the holder if another process has it.

        `state` names the state folder: after a holder that did not close in order, any
        other state folder than its own is refused. `kernel` names the machine and file
        system whose lock on the vault this process holds, '' for none: a last holder
        with the same name has ended, or it would hold that lock.
        """
        with self._taking(vault), self._faults():
            with self.connections.use() as connection:
                migrate(connection)  # fails if a newer program changed the schema
                began = _now()
                lease = self._new_lease(connection, vault, state, kernel)
            lease.valid_until = began + self.policy.lease_seconds
            with self._lock:
                self._leases[vault] = lease
                self._start()
            return lease

    @contextmanager
    def _taking(self, vault: str) -> Iterator[None]:
        """Take a vault in one thread of this process, if none has it."""
        with self._lock:
            lease = self._leases.get(vault)
            if vault in self._in_hand or (lease and not lease.lost):
                raise self._owned_error(
                    Holder(socket.gethostname(), os.getpid(), self.address)
                )
            self._in_hand.add(vault)
        try:
            yield
        finally:
            with self._lock:
                self._in_hand.discard(vault)

    def reserve(
        self, cursor: psycopg.RawCursor[Any], vaults: Sequence[str]
    ) -> list[str]:
        """Reserve vaults without an owner for a `take` of this process, for one lease.

        Returns the reserved vaults. `cursor` is one of `transaction`.
        """
        process = (socket.gethostname(), os.getpid(), self._process, self.address)
        values = (list(vaults), self.policy.lease_seconds, *process)
        return [vault for (vault,) in cursor.execute(_RESERVE, values).fetchall()]

    def release(self, lease: Lease, *, clean: bool = False) -> None:
        """Let other processes take the vault at once.

        `clean` is true if no turn waits in the journal. If the database is unreachable,
        the lease ends by its time.
        """
        with self._lock:
            if self._leases.get(lease.vault) is lease:
                del self._leases[lease.vault]
        lease.valid_until = 0.0
        values = (lease.vault, lease.fence, lease.process, clean)
        with suppress(StorageError), self.transaction() as db:
            db.execute(_RELEASE, values)

    @contextmanager
    def transaction(self) -> Iterator[psycopg.RawCursor[Any]]:
        """Open a transaction that sees the leases of all vaults, and no other rows."""
        with self._faults(), self.connections.use() as connection:
            self._migrate(connection)
            with every_vault(connection) as cursor:
                yield cursor

    def _migrate(self, connection: psycopg.Connection[Any]) -> None:
        """Bring the schema to the newest version, once for each database."""
        if not self._migrated:
            migrate(connection)
            self._migrated = True

    def check(
        self, lease: Lease, found: Sequence[tuple[Any, ...]], *, renew: bool = True
    ) -> None:
        """Raise LockedError if another process took the vault.

        `found` is the row of the vault: its fence, its process and whether it has not
        expired. With `renew` an expired lease is renewed.
        """
        if [row[:2] for row in found] != [(lease.fence, lease.process)]:
            self._lose(lease)
        elif renew and not found[0][2]:
            self.renew()
        if lease.lost:
            raise LockedError(
                "another process took this vault meanwhile",
                where=without_password(self.dsn),
                fix="This one writes nothing any more; what it has not filed is in its journal. Start it again.",
            )

    def close(self) -> None:
        """Stop renewing and close the connections; current leases end by time."""
        self._stop.set()
        if self._thread:
            self._thread.join(STOP_SECONDS)
        self.connections.close()

    # -- taking ------------------------------------------------------------------------

    def _new_lease(
        self, connection: psycopg.Connection[Any], vault: str, state: str, kernel: str
    ) -> Lease:
        with every_vault(connection) as db:
            db.execute(_FIRST, (vault,))
            self._check_free(_last(db, _LAST, vault), state, kernel)
        with every_vault(connection) as db:
            last = self._last_locked(db, vault)
            self._check_free(last, state, kernel)
            own = (socket.gethostname(), os.getpid(), kernel, self._process)
            values = (vault, self.policy.lease_seconds, *own, self.address, state)
            found = db.execute(_TAKE, values).fetchone()
            assert found
        clean = last.clean
        return Lease(vault, int(found[0]), self._process, was_clean=clean)

    def _last_locked(self, db: psycopg.RawCursor[Any], vault: str) -> _Last:
        """Return the row of a vault, locked against changes by other processes.

        It waits for a transaction in which the last holder writes rows.
        """
        seen = _last(db, _LAST, vault)
        db.execute(_LOCK_TIMEOUT)
        try:
            return _last(db, f"{_LAST} FOR UPDATE", vault)
        except psycopg.errors.LockNotAvailable:
            raise self._owned_error(seen.holder()) from None

    def _check_free(self, last: _Last, state: str, kernel: str) -> None:
        """Raise LockedError if the vault has an owner, or turns out of reach."""
        ended = last.kernel == kernel != "" or last.process == self._process
        if last.remaining > 0 and not ended:
            raise self._owned_error(last.holder())
        if not last.clean and state != last.state != "":
            raise LockedError(
                f"turns of this vault may wait in the state folder of {last.host}",
                where=without_password(self.dsn),
                fix=f"Start engram on {last.host} with that folder, or share the folder with this machine. If it is lost, docs/postgres.md tells how to go on without it.",
            )

    def _owned_error(self, holder: Holder) -> LockedError:
        return LockedError(
            f"another process has the index of this vault: {holder.pid} on {holder.host}",
            where=without_password(self.dsn),
            fix="Stop the daemon that owns the vault, on whichever machine it runs.",
            holder=holder,
        )

    # -- renewal -----------------------------------------------------------------------

    def renew(self) -> None:
        """Renew all leases. Raises StorageError if the database cannot be asked."""
        with self._renewing, self._faults():
            with self._lock:
                leases = list(self._leases.values())
            if not leases:
                return
            began = _now()
            vaults = [lease.vault for lease in leases]
            fences = [lease.fence for lease in leases]
            values = (vaults, self.policy.lease_seconds, self._process, fences)
            with (
                self.connections.use_own(_FOR_RENEWAL) as own,
                psycopg.RawCursor(own) as db,
            ):
                # a single statement: a process that is stopped within it locks no row
                renewed = set(db.execute(_RENEW, values).fetchall())
        for lease in leases:
            if (lease.vault, lease.fence) in renewed:
                lease.valid_until = began + self.policy.lease_seconds
            else:
                self._lose(lease)

    def _lose(self, lease: Lease, why: str = "another process took it") -> None:
        with self._lock:
            if self._leases.get(lease.vault) is not lease:
                return  # it was released meanwhile
        if not lease.lost:
            lease.lost = True
            log.warning("vault %s is lost: %s", lease.vault, why)

    def _start(self) -> None:
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(
                target=self._run, name="leases", daemon=True
            )
            self._thread.start()

    def _run(self) -> None:
        fault = ""
        while not self._stop.wait(self.policy.lease_seconds / 3):
            try:
                self.renew()
                fault = ""
            except StorageError as error:
                if not self._migrated:
                    self._lose_all()
                if str(error) != fault:
                    fault = str(error)
                    log.warning("the leases are not renewed: %s", fault)

    def _lose_all(self) -> None:
        """Give up every vault, because the rows of all are gone.

        Each must be opened again.
        """
        with self._lock:
            leases = list(self._leases.values())
        for lease in leases:
            self._lose(lease, "the tables in the database are gone")

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            with database_faults(self.dsn):
                yield
        except StorageError as fault:
            if isinstance(fault.__cause__, psycopg.errors.UndefinedTable):
                self._migrated = False
            raise


@contextmanager
def every_vault(
    connection: psycopg.Connection[Any],
) -> Iterator[psycopg.RawCursor[Any]]:
    """Open a transaction that sees the leases of all vaults."""
    with connection.transaction(), psycopg.RawCursor(connection) as cursor:
        cursor.execute(f"SET LOCAL engram.vault = '{EVERY_VAULT}'")
        yield cursor


def _last(cursor: psycopg.RawCursor[Any], statement: str, vault: str) -> _Last:
    found = cursor.execute(statement.encode(), (vault,)).fetchone()
    assert found
    return _Last(*found)
