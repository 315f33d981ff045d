"""The choice of a vault's state folder, by the vault's id and its path on the disk.

A copied vault has the id of its original. The state folder of the first vault with an
id is named by the id, that of each copy `<id>.<hash of its path>`. `place.json` in a
state folder records its vault: the path, and an identity of the folder that survives a
rename and a reboot but not a copy.

`choose` only reads. `VaultMemory.start` writes the record once it has the locks. The
command line calls `choose` before each command, so this module imports only light parts
of the standard library. Pipes, devices and sockets, which may never end or never begin,
are refused here too.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import stat

from engram.errors import ForbiddenError

TYPE_CHECKING = False  # importing typing would double the time of this import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

RECORD = "place.json"
MARK_LENGTH = 8
_GET_GENERATION = 0x80087601 if os.sysconf("SC_LONG_BIT") == 64 else 0x80047601
"""FS_IOC_GETVERSION: a number that distinguishes two files that reused one inode."""

SESSIONS = "/run/user"
"""The parent of systemd's folders for user sessions, which are named by user id."""


def socket_home(env: Mapping[str, str], state: str) -> str:
    """Return the folder of the sockets; `state` is the folder of the states.

    It is `$XDG_RUNTIME_DIR/engram`. A client of MCP or cron may start a command without
    that variable; the command then uses the folder of the user's session, unless `HOME`
    differs from the user's home.
    """
    session = env.get("XDG_RUNTIME_DIR", "")
    if not session and env.get("HOME") == _home_of_user():
        session = f"{SESSIONS}/{os.getuid()}"
        if not _is_own(session):
            session = ""
    return f"{session}/engram" if session else f"{state}/run"


def _home_of_user() -> str | None:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a container may have no such user
        return None


def _is_own(folder: str) -> bool:
    try:
        return os.stat(folder).st_uid == os.getuid()  # noqa: PTH116
    except OSError:
        return False


class Record:
    """A state folder, `leaf`, and the vault folder it belongs to."""

    def __init__(self, leaf: str, path: str = "", folder: str = "") -> None:
        self.leaf = leaf
        self.path = path
        self.folder = folder


class Place:
    """The state folder of a vault, and the reason for the choice.

    `leaf` is its name below the state, cache and runtime homes; `path` and `folder` are
    the values to record. `moved_from` is the former path of this vault, `copy_of` the
    path of the vault that it is a copy of, and `kept` the state folder of another vault
    that was formerly at this path; each is '' if it does not apply.
    """

    def __init__(
        self,
        home: str,
        leaf: str,
        path: str,
        folder: str,
        id_at: Callable[[str], str | None],
        *,
        moved_from: str = "",
        copy_of: str = "",
        kept: str = "",
    ) -> None:
        self.home = home
        self.id_at = id_at
        self.leaf = leaf
        self.path = path
        self.folder = folder
        self.moved_from = moved_from
        self.copy_of = copy_of
        self.kept = kept

    @property
    def state(self) -> str:
        """The state folder."""
        return f"{self.home}/{self.leaf}"

    def notice(self) -> str:
        """Return a message to the user about a copy or a move, or ''."""
        parts = []
        if self.copy_of:
            parts.append(
                f"this folder is a copy of {_display_path(self.copy_of)}; it has its own state"
            )
        if self.moved_from:
            parts.append(
                f"this vault was last at {_display_path(self.moved_from)}; it was moved here and keeps its state"
            )
        if self.kept:
            parts.append(
                f"another folder with this id stood here before; its state, with turns that may not be filed yet, is "
                f"kept in {self.kept} until engram opens that folder again"
            )
        return "; ".join(parts)

    def record(self) -> bytes:
        """Return the content of `place.json`."""
        return json.dumps({"path": self.path, "folder": self.folder}).encode() + b"\n"


def choose(
    vault: str, vault_id: str, home: str, id_at: Callable[[str], str | None]
) -> Place:
    """Return the state folder of the vault in `vault` below `home`.

    `vault` is absolute and resolved. `id_at` returns the id in the engram.toml of a
    folder, None or '' if there is none. The first match decides: the record of this
    very folder, at any path; the record of this path, as for a restored backup; a
    record whose vault is gone, which was moved here. If all recorded vaults still
    exist, this one is a copy.
    """
    own_identity = identity(vault)
    known, unrecorded = _records(home, vault_id)
    at_path = [record for record in known if _same(record.path, vault)]

    def is_vault(record: Record) -> bool:
        return id_at(record.path) == vault_id

    leaf, path, moved_from = _matching(known, at_path, own_identity, is_vault)
    if not leaf and known and not unrecorded:
        leaf, moved_from = _moved_or_copied(vault, vault_id, known, is_vault)
    leaf = leaf or vault_id

    others = [one for one in known if one.leaf != leaf and one not in at_path]
    return Place(
        home,
        leaf,
        path or vault,
        own_identity,
        id_at,
        moved_from=moved_from,
        copy_of="" if leaf == vault_id else _first_path(others, is_vault),
        kept=f"{home}/{at_path[0].leaf}" if moved_from and at_path else "",
    )


def _matching(
    known: list[Record],
    at_path: list[Record],
    own_identity: str,
    is_vault: Callable[[Record], bool],
) -> tuple[str, str, str]:
    """Return the leaf of the vault's record, and two paths.

    They are the path to retain in the record, and the one to replace. All three are ''
    if neither the identity `own_identity` nor the path is recorded.
    """
    itself = [
        record for record in known if own_identity and record.folder == own_identity
    ]
    if own_record := _first(itself, at_path.__contains__):
        return own_record.leaf, own_record.path, ""
    for record in itself:
        if not is_vault(record) or identity(record.path) != own_identity:
            return record.leaf, "", record.path
    if at_path:
        return at_path[0].leaf, at_path[0].path, ""
    return "", "", ""


def _moved_or_copied(
    vault: str,
    vault_id: str,
    known: list[Record],
    is_vault: Callable[[Record], bool],
) -> tuple[str, str]:
    """Return the leaf and path of a record whose vault is gone, or a leaf for a copy.

    The path is '' for a copy.
    """
    for record in known:
        if not is_vault(record):
            return record.leaf, record.path
    return _fresh(vault, vault_id, known), ""


def _first_path(records: list[Record], holds: Callable[[Record], bool]) -> str:
    record = _first(records, holds)
    return record.path if record else ""


def _first(records: list[Record], holds: Callable[[Record], bool]) -> Record | None:
    return next(filter(holds, records), None)


def choose_again(place: Place, vault: str, vault_id: str) -> Place:
    """Choose again, with the records that were written since."""
    return choose(vault, vault_id, place.home, place.id_at)


def identity(folder: str) -> str:
    """Return the identity of a folder: file system, inode, and generation of the inode.

    '' if the folder cannot be opened. A rename preserves it; a copy and a restored
    backup have another.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        where, inode = os.fstatvfs(descriptor).f_fsid, os.fstat(descriptor).st_ino
        try:
            generation = int.from_bytes(
                fcntl.ioctl(descriptor, _GET_GENERATION, bytes(8))[:4], "little"
            )
        except OSError:
            generation = 0
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return f"{where:x}-{inode:x}-{generation:x}"


def _records(home: str, vault_id: str) -> tuple[list[Record], bool]:
    """Return the records of the vaults with this id, and whether the first has none."""
    found: list[Record] = []
    unrecorded = False
    try:
        leaves = sorted(
            name
            for name in os.listdir(home)  # noqa: PTH208
            if name == vault_id or name.startswith(f"{vault_id}.")
        )
    except OSError:
        return [], False
    for leaf in leaves:
        try:
            with open(f"{home}/{leaf}/{RECORD}", encoding="utf-8") as file:  # noqa: PTH123
                row = json.load(file)
            found.append(Record(leaf, str(row["path"]), str(row["folder"])))
        except (OSError, ValueError, KeyError, TypeError):  # none yet, or damaged
            unrecorded = unrecorded or leaf == vault_id
    return found, unrecorded


def _fresh(vault: str, vault_id: str, known: list[Record]) -> str:
    """Return the name of a state folder for a copy; the same until it is recorded."""
    import hashlib  # importing it would slow each call of the command line

    leaves = {record.leaf for record in known}
    for number in range(len(leaves) + 1):
        mark = hashlib.sha256(os.fsencode(vault) + b"\0" * number).hexdigest()[
            :MARK_LENGTH
        ]
        if (leaf := f"{vault_id}.{mark}") not in leaves:
            break
    return leaf


def _same(first: str, second: str) -> bool:
    """Return whether two paths lead to the same folder, as with a bind mount."""
    try:
        return first == second or os.path.samefile(first, second)  # noqa: PTH121
    except (OSError, ValueError):
        return False


def _display_path(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def is_special(path: PathLike[str] | str) -> bool:
    """Return whether there is a pipe, a device or a socket, or a link to one."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def refuse_special(path: PathLike[str] | str) -> None:
    """Raise ForbiddenError for a pipe, a device or a socket, or a link to one."""
    if is_special(path):
        raise ForbiddenError(
            "this is a pipe, a device or a socket, not a file",
            where=str(path),
            fix="Save its content as a file, and give the path of that file.",
        )
