"""The owner of a vault: the process that holds PostgreSQL's lock of its name (`X15`).

The lock lasts as long as the connection that took it. The server ends the connection of
a process that was killed at once, and that of a host that vanished after half a minute.
A process that is suspended keeps its connection, and so its vaults.
"""

from __future__ import annotations

import os
import socket
from contextlib import closing
from typing import TYPE_CHECKING, Any

from engram.config import without_password
from engram.errors import LockedError, MisdirectedError, UnavailableError
from engram.index.connections import (
    RETRY_SECONDS,
    connect,
    database_faults,
    migrate,
    psycopg,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

_LOCK = "SELECT pg_try_advisory_lock(owner_lock($1))"
_OWNER = "SELECT number, host, pid, address, journal FROM owner WHERE vault_id = $1"
_TAKE = (
    "INSERT INTO owner AS last (vault_id, host, pid, address, journal) "
    "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (vault_id) DO UPDATE SET "
    "number = last.number + 1, host = excluded.host, pid = excluded.pid, "
    "address = excluded.address, journal = excluded.journal, due = now() "
    "RETURNING number"
)
_RELEASE = (
    "UPDATE owner SET journal = CASE WHEN $2 THEN '' ELSE journal END, "
    "due = coalesce($3, due) WHERE vault_id = $1"
)
_DUE = (
    "SELECT name FROM unnest($1::text[]) AS name LEFT JOIN owner ON vault_id = name "
    "WHERE coalesce(due, now()) <= now() AND NOT EXISTS (SELECT FROM pg_locks "
    "WHERE locktype = 'advisory' AND objsubid = 1 "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND classid::bigint << 32 | objid::bigint = owner_lock(name)) "
    "ORDER BY due NULLS FIRST LIMIT $2"
)


class VaultOwner:
    """The ownership of one vault by this process, tied to one connection.

    `number` is the number of this owner; those of one vault only grow. `address` is the
    address of this daemon for clients, '' for none; `journal` names the state folder.
    """

    def __init__(
        self, dsn: str, vault: str, *, address: str = "", journal: str = ""
    ) -> None:
        self.where = without_password(dsn)
        self.vault = vault
        self.number = 0
        self._values = (socket.gethostname(), os.getpid(), address, journal)

    def take(self, connection: psycopg.Connection[Any]) -> None:
        """Lock the vault, and record this process as its owner.

        Raises LockedError if another process has it, or if turns of its last owner wait
        in another state folder.
        """
        with psycopg.RawCursor(connection) as db:
            self.lock(db)
            last = self._last(db)
            if last and last[4] not in {"", self._values[3]}:
                raise LockedError(
                    f"turns of this vault may wait in the state folder of {last[1]}",
                    where=self.where,
                    fix=f"Start engram on {last[1]} with that folder, or share the folder with this machine. If it is lost, docs/postgres.md tells how to go on without it.",
                )
            taken = db.execute(_TAKE, (self.vault, *self._values)).fetchone()
            assert taken
            self.number = int(taken[0])

    def resume(self, connection: psycopg.Connection[Any]) -> None:
        """Lock the vault again after its connection was lost.

        Raises LockedError if another process has had it meanwhile, UnavailableError
        while the server keeps the lost connection.
        """
        with psycopg.RawCursor(connection) as db:
            is_locked = self._try(db)
            last = self._last(db)
            if not last or last[0] != self.number:
                raise self._owned(last)
            if not is_locked:
                raise UnavailableError(
                    "the database still has the lost connection of this process",
                    where=self.where,
                    fix="Try again in a moment.",
                    retry_after=RETRY_SECONDS,
                )

    def release(
        self,
        connection: psycopg.Connection[Any],
        due: datetime | None,
        *,
        clean: bool,
    ) -> None:
        """Unlock the vault; record when work is due, and if the journal is `clean`."""
        with psycopg.RawCursor(connection) as db:
            db.execute(_RELEASE, (self.vault, clean, due))
            db.execute("SELECT pg_advisory_unlock_all()")

    def lock(self, db: psycopg.RawCursor[Any]) -> None:
        """Lock the vault; raise LockedError with its owner if it is locked."""
        if not self._try(db):
            raise self._owned(self._last(db))

    def _try(self, db: psycopg.RawCursor[Any]) -> bool:
        return db.execute(_LOCK, (self.vault,)).fetchone() == (True,)

    def _last(self, db: psycopg.RawCursor[Any]) -> tuple[Any, ...] | None:
        return db.execute(_OWNER, (self.vault,)).fetchone()

    def _owned(self, row: tuple[Any, ...] | None) -> LockedError:
        _, host, pid, address, _ = row or (0, "another host", "unknown", "", "")
        what = f"process {pid} on {host} has this vault"
        if address:
            return MisdirectedError(
                what, where=address, fix="Send the request to this address."
            )
        fix = "Stop that process, or ask it instead."
        return LockedError(what, where=self.where, fix=fix)


def raise_for_owner(dsn: str, vault: str) -> None:
    """Raise LockedError with the owner of a vault, if a process has it locked."""
    with (
        database_faults(dsn),
        closing(connect(dsn)) as connection,
        psycopg.RawCursor(connection) as db,
    ):
        migrate(connection)
        VaultOwner(dsn, vault).lock(db)


def due(dsn: str, vaults: Sequence[str], most: int) -> list[str]:
    """Return vaults with due work and no owner, the longest due first.

    A vault without a row is due. Raises UnavailableError.
    """
    with (
        database_faults(dsn),
        closing(connect(dsn)) as connection,
        psycopg.RawCursor(connection) as db,
    ):
        migrate(connection)
        rows = db.execute(_DUE, (list(vaults), most)).fetchall()
        return [vault for (vault,) in rows]
