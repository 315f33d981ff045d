"""The tombstones of a vault: the statements that the user forgot (rows A26, X8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core.forgetting import (
    TombstoneSet,
    read_restored,
    read_tombstones,
    removed_keys,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.vault.store import Vault


class Tombstones:
    """The tombstones in effect, as of the last `add` or `reload`.

    `keys` are content hashes of statements and keys of turns; `forgotten` hides the
    sentences with a forgotten statement; `withdrawn` are the keys of turns that were
    edited or deleted in the chat; `deleted` are the digests
    (`turn_versions.turn_digest`) of turns that a person removed from a session file.
    `restored` is the time at which a person last restored a memory, by its id. Only the
    writer's thread adds and reloads.
    """

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self.reload()

    def add(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Append rows durably; a row with `restored` or `lifted` revokes one."""
        if rows:
            self._vault.add_tombstones(rows)
        self.reload()

    def reload(self) -> None:
        """Read the file again, which git and sync tools may have changed."""
        rows = self._vault.tombstone_rows()
        self.keys = removed_keys(rows)
        self.forgotten = TombstoneSet(read_tombstones(rows))
        self.restored = read_restored(rows)
        self.deleted = {
            str(row["sent"]): str(row.get("was")) for row in rows if row.get("sent")
        }
        self.withdrawn = self.keys & {
            str(row["turn"])
            for row in rows
            if row.get("turn")
            and row["turn"] == row.get("memory")
            and "hash" not in row
        }
