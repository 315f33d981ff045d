"""Connections to the database of an index (`X15`)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from engram.config import without_password
from engram.errors import ConfigError, UnavailableError

try:
    import psycopg
    from psycopg.types.string import TextLoader
except ImportError as fault:  # pragma: no cover - the extra is missing
    raise ConfigError(
        "the index is in PostgreSQL, but its driver is not installed",
        where="postgres",
        fix="`pip install 'engram-md[postgres]'` installs it.",
    ) from fault

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RETRY_SECONDS", "SEARCH_PATH", "connect", "database_faults", "psycopg"]

SEARCH_PATH = "SET search_path TO engram, public"
_LIMITS = (
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; "
    "SET tcp_keepalives_count = 3; SET idle_session_timeout = 0; "
    "SET idle_in_transaction_session_timeout = 0"
)
"""The server drops a client whose host vanished after 25 seconds, and no other."""
_OPTIONS: dict[str, str | int] = {
    "application_name": "engram",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""Keepalive settings that detect a vanished server after about fifteen seconds."""
RETRY_SECONDS = 2
FIX = "The vault is complete without it; check that the server runs, then try again."


def connect(dsn: str) -> psycopg.Connection[Any]:
    """Return a connection in autocommit mode. Raises psycopg.Error."""
    parsed = psycopg.conninfo.conninfo_to_dict(dsn)
    # values in the connection string take precedence
    options = {name: value for name, value in _OPTIONS.items() if name not in parsed}
    dsn = psycopg.conninfo.make_conninfo(dsn, **options)
    connection = psycopg.connect(dsn, autocommit=True)
    connection.adapters.register_loader("json", TextLoader)
    connection.execute(f"{SEARCH_PATH}; {_LIMITS}".encode())
    return connection


@contextmanager
def database_faults(dsn: str) -> Iterator[None]:
    """Raise an error of the database as UnavailableError, without the password."""
    try:
        yield
    except psycopg.Error as fault:
        message = str(fault).strip().partition("\n")[0]
        raise UnavailableError(
            f"the index in PostgreSQL cannot be used: {message}",
            where=without_password(dsn),
            fix=FIX,
            retry_after=RETRY_SECONDS,
        ) from fault
