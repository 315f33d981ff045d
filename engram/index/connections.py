"""The connections of one process to a database, shared by all its vaults (`X15`).

Their number is small, however many vaults are open: a connection is in use only for the
time of a transaction.
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
"""Limits after which a vanished host, or a stopped process, holds no row lock."""
_OPTIONS: dict[str, str | int] = {
    "application_name": "engram",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""Keepalive settings that detect a vanished server after about fifteen seconds."""
WAIT_SECONDS = 30.0
"""The seconds that a transaction waits for a free connection."""
FIX = "The vault is complete without it; check that the server runs, then try again."


class Connections:
    """At most `most` connections to the database `dsn`, and one more of its owner.

    A connection is opened if none is idle, and closed when it failed. Methods are
    thread-safe, and raise psycopg.Error.
    """

    def __init__(self, dsn: str, most: int) -> None:
        self.dsn = dsn
        self._places = threading.Semaphore(most)
        self._most = most
        self._idle: list[psycopg.Connection[Any]] = []
        self._own: psycopg.Connection[Any] | None = None

    @contextmanager
    def use(self) -> Iterator[psycopg.Connection[Any]]:
        """Use a connection exclusively, outside a transaction."""
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
        """Use a separate connection that never waits; for one thread at a time.

        It executes the statements `settings` first.
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
        """Close the connections; `use` opens new ones."""
        self.close_idle()
        if self._own is not None:
            self._own.close()

    def _next(self) -> psycopg.Connection[Any]:
        """Return an idle connection that the server has not closed, or a new one."""
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
        parsed = psycopg.conninfo.conninfo_to_dict(self.dsn)
        # values in the connection string take precedence
        options = {
            name: value for name, value in _OPTIONS.items() if name not in parsed
        }
        dsn = psycopg.conninfo.make_conninfo(self.dsn, **options)
        connection = psycopg.connect(dsn, autocommit=True)
        connection.adapters.register_loader("json", TextLoader)
        connection.execute(f"{SEARCH_PATH}; {_LIMITS}".encode())
        return connection


def _is_readable(connection: psycopg.Connection[Any]) -> bool:
    """Return whether unrequested data arrived, most often the end of the session."""
    watched = select.poll()
    watched.register(connection.fileno(), select.POLLIN)
    return bool(watched.poll(0))


@contextmanager
def database_faults(dsn: str) -> Iterator[None]:
    """Raise an error of the database as StorageError, without the password."""
    try:
        yield
    except psycopg.Error as fault:
        message = str(fault).strip().partition("\n")[0]
        raise StorageError(
            f"the index in PostgreSQL cannot be used: {message}",
            where=without_password(dsn),
            fix=FIX,
        ) from fault
