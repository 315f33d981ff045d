"""The background work of vaults: rows that the daemons of a fleet share.

A row names a vault, a kind of work and the time at which it is due; it has no content.
While a vault is open, its rows are due since the time at which it was opened. When it
is closed in order, they get the times at which its work is next due. So the work of a
daemon that died is due, and another daemon does it as soon as the lease of the vault
ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

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
