"""The connections of one process to a database, shared by all its vaults (`X15`).

There are never more than a few, however many vaults are open: a connection is in use for
one transaction alone.
"""

from __future__ import annotations

import select
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from engram.config import without_password
from engram.errors import ConfigError, StorageError

try:
    import psycopg
    from psycopg.pq import TransactionStatus
    from psycopg.types.string import TextLoader
except ImportError as fault:  # pragma: no cover - the extra is missing
    raise ConfigError(
        "the index is in PostgreSQL, but its driver is not installed",
        where="postgres",
        fix="`pip install engram[postgres]` installs it.",
    ) from fault

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SEARCH_PATH", "Connections", "database_faults", "psycopg"]

SCHEMA = "engram"
SEARCH_PATH = f"SET search_path TO {SCHEMA}, public"
_LIMITS = (
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; "
    "SET tcp_keepalives_count = 3; SET idle_in_transaction_session_timeout = '30s'"
)
"""A host that vanished, or a process that stands still, keeps no row for long."""
_OPTIONS: dict[str, str | int] = {
    "application_name": "engram",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""A server that vanished is given up after about fifteen seconds."""
WAIT_SECONDS = 30.0
"""How long a transaction waits until a connection is free."""
FIX = "The vault is complete without it; check that the server runs, then try again."


class Connections:
    """At most `most` connections to the database `dsn`, and one more of its owner.

    A connection is made when none is idle, and closed when it failed. Methods may be
    called from any thread, and raise psycopg.Error.
    """

    def __init__(self, dsn: str, most: int) -> None:
        self.dsn = dsn
        self._places = threading.Semaphore(most)
        self._most = most
        self._idle: list[psycopg.Connection[Any]] = []
        self._own: psycopg.Connection[Any] | None = None

    @contextmanager
    def use(self) -> Iterator[psycopg.Connection[Any]]:
        """Use a connection that no other thread uses, outside a transaction."""
        if not self._places.acquire(timeout=WAIT_SECONDS):
            raise psycopg.OperationalError(f"all {self._most} connections are in use")
        try:
            connection = self._next()
            try:
                yield connection
            finally:
                self._put_back(connection)
        finally:
            self._places.release()

    @contextmanager
    def use_own(self, settings: str) -> Iterator[psycopg.Connection[Any]]:
        """Use a connection that waits for no other; for one thread at a time.

        `settings` are statements that it begins with.
        """
        if self._own is None or self._own.closed:
            self._own = self._connect()
            self._own.execute(settings.encode())
        try:
            yield self._own
        except psycopg.OperationalError:
            self._own.close()
            raise

    def close_idle(self) -> None:
        """Close the connections that are not in use."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def close(self) -> None:
        """Close the connections; `use` makes new ones."""
        self.close_idle()
        if self._own is not None:
            self._own.close()

    def _next(self) -> psycopg.Connection[Any]:
        """Return an idle connection that the server has not ended, or a new one."""
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if not _is_readable(connection):
                    return connection
                connection.close()
        return self._connect()

    def _put_back(self, connection: psycopg.Connection[Any]) -> None:
        if connection.closed:
            return
        if connection.info.transaction_status == TransactionStatus.IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def _connect(self) -> psycopg.Connection[Any]:
        given = psycopg.conninfo.conninfo_to_dict(self.dsn)
        # what the connection string says itself counts
        options = {name: value for name, value in _OPTIONS.items() if name not in given}
        dsn = psycopg.conninfo.make_conninfo(self.dsn, **options)
        connection = psycopg.connect(dsn, autocommit=True)
        connection.adapters.register_loader("json", TextLoader)
        connection.execute(f"{SEARCH_PATH}; {_LIMITS}".encode())
        return connection


def _is_readable(connection: psycopg.Connection[Any]) -> bool:
    """Return whether the server said something unasked: most often that it ends."""
    watched = select.poll()
    watched.register(connection.fileno(), select.POLLIN)
    return bool(watched.poll(0))


@contextmanager
def database_faults(dsn: str) -> Iterator[None]:
    """Raise a fault of the database as StorageError, without the password."""
    try:
        yield
    except psycopg.Error as fault:
        what = str(fault).strip().partition("\n")[0]
        raise StorageError(
            f"the index in PostgreSQL cannot be used: {what}",
            where=without_password(dsn),
            fix=FIX,
        ) from fault
