"""Tokens of a vault that were created by command: a role and a name for each.

The file `tokens.json` in the state folder has the SHA-256 of each token, never the
token. It is read again when it changes, so that a revoked token ends at once.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engram.core.trust import OWNER
from engram.errors import BadRequestError, NotFoundError, StorageError
from engram.operations.table import READER
from engram.vault import disk
from engram.vault.paths import stat_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from engram.vault.paths import Stat

FILE = "tokens.json"
ROLES = {
    "chatbot": "chat",
    "read-only": READER,
    "owner": OWNER,
    "import": "import",
    "tool": "tool",
}
"""The kind of caller of each role."""
PREFIX = "engram-"
RANDOM_BYTES = 32
TRIES = 5


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token without its secret: `digest` is its SHA-256 in hex."""

    id: str
    name: str
    role: str
    digest: str
    created: str


class IssuedTokens:
    """The created tokens of the vault whose state folder is `state`."""

    def __init__(self, state: Path) -> None:
        self.path = state / FILE
        self._stat: Stat | None = None
        self._rows: tuple[IssuedToken, ...] = ()
        self._by_digest: dict[str, IssuedToken] = {}

    def rows(self) -> tuple[IssuedToken, ...]:
        """Return every token, oldest first. Raises StorageError."""
        self._refresh()
        return self._rows

    def standing(self, token: bytes) -> str | None:
        """Return the kind of caller of a token, or None. Raises StorageError."""
        self._refresh()
        found = self._by_digest.get(digest_of(token))
        return ROLES[found.role] if found else None

    def digests(self) -> frozenset[str]:
        """Return the digest of every token. Raises StorageError."""
        self._refresh()
        return frozenset(self._by_digest)

    def create(self, role: str, name: str) -> tuple[IssuedToken, str]:
        """Add a token of a role; return it with its secret, which is not stored.

        Raises BadRequestError for an unknown role or a name that is in use.
        """
        if role not in ROLES:
            raise BadRequestError(
                f"there is no role {role!r}", fix=f"Use: {', '.join(ROLES)}."
            )
        secret = PREFIX + secrets.token_hex(RANDOM_BYTES)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        row = IssuedToken(
            secrets.token_hex(4), name, role, digest_of(secret.encode()), now
        )

        def added(rows: list[IssuedToken]) -> list[IssuedToken]:
            if any(one.name == name for one in rows):
                raise BadRequestError(
                    f"a token is called {name!r} already",
                    fix=f"Choose another name, or `engram token rotate {name}`.",
                )
            return [*rows, row]

        self._change(added)
        return row, secret

    def rotate(self, name: str) -> tuple[IssuedToken, str]:
        """Replace the secret of a token; the old one ends. Raises NotFoundError."""
        secret = PREFIX + secrets.token_hex(RANDOM_BYTES)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        found = self.find(name)
        row = replace(found, digest=digest_of(secret.encode()), created=now)
        self._change(lambda rows: [row if one.id == found.id else one for one in rows])
        return row, secret

    def revoke(self, name: str) -> IssuedToken:
        """Remove a token, which ends at once. Raises NotFoundError."""
        found = self.find(name)
        self._change(lambda rows: [one for one in rows if one.id != found.id])
        return found

    def find(self, name: str) -> IssuedToken:
        """Return the token with this name or id. Raises NotFoundError."""
        for row in self.rows():
            if name in {row.name, row.id}:
                return row
        raise NotFoundError(
            "there is no such token", where=name, fix="`engram token list` lists them."
        )

    # -- the file ----------------------------------------------------------------------

    def _refresh(self) -> None:
        try:
            now = stat_of(self.path.lstat())
        except FileNotFoundError:
            self._stat, self._rows, self._by_digest = None, (), {}
            return
        if now != self._stat:
            self._rows = _rows_of(disk.read(self.path), self.path)
            self._by_digest = {one.digest: one for one in self._rows}
            self._stat = now

    def _change(self, change: Callable[[list[IssuedToken]], list[IssuedToken]]) -> None:
        """Rewrite the file; another command may have changed it in the meantime."""
        disk.make_folders(self.path.parent)
        for _ in range(TRIES):
            old = disk.read(self.path) if self.path.exists() else None
            rows = list(_rows_of(old, self.path)) if old is not None else []
            values = [asdict(one) for one in change(rows)]
            new = json.dumps({"tokens": values}, indent=1).encode() + b"\n"
            try:
                if old is None:
                    disk.write_new(self.path, new)
                else:
                    disk.replace(self.path, new, disk.sha256(old))
            except disk.ChangedError:
                continue
            self._stat = None
            return
        raise StorageError(
            "another command is changing the tokens",
            where=str(self.path),
            fix="Try again.",
        )


def digest_of(token: bytes) -> str:
    """Return the SHA-256 of a token in hex."""
    return hashlib.sha256(token).hexdigest()


def _rows_of(raw: bytes, path: Path) -> tuple[IssuedToken, ...]:
    try:
        rows = tuple(IssuedToken(**row) for row in json.loads(raw)["tokens"])
    except (ValueError, TypeError, KeyError) as fault:
        raise StorageError(
            "the tokens cannot be read",
            where=str(path),
            fix="Delete the file, and create the tokens again.",
        ) from fault
    return tuple(one for one in rows if one.role in ROLES)
