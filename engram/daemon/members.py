"""The table of running daemons in a fleet, and the check of their folders.

All daemons must share the folder of the vaults and the folder of the states. A daemon
with other states would not see the turns that the others acknowledged, so it refuses to
start.
"""

from __future__ import annotations

import hashlib
import os
import socket
from typing import TYPE_CHECKING, NamedTuple

from engram.errors import ConfigError
from engram.vault import location

if TYPE_CHECKING:
    from pathlib import Path

    from engram.index.lease import LeaseKeeper

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
