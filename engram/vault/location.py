"""Which folder outside the vault holds the state of a vault: by the vault's id and by
its place on the disk.

A copied vault carries the id of its original. The state folder of the first place of an
id is named by the id, that of each copy `<id>.<hash of its path>`. `place.json` in a
state folder records which vault folder it belongs to: the path, and an identity of the
folder that survives a rename and a reboot but not a copy.

`choose` only reads. `Memory.start` writes the record, once it holds the locks. This
module loads nothing but the standard library's light parts, since the command line's
short way asks it before each call.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os

TYPE_CHECKING = False  # loading typing would cost as much again
if TYPE_CHECKING:
    from collections.abc import Callable

RECORD = "place.json"
MARK_LENGTH = 8
_GET_GENERATION = 0x80087601 if os.sysconf("SC_LONG_BIT") == 64 else 0x80047601
"""FS_IOC_GETVERSION: a number that differs between two files that had the same inode
one after the other.
"""


class Record:
    """One state folder and the vault folder it belongs to; `path` is '' where nothing
    is recorded.
    """

    def __init__(self, leaf: str, path: str = "", folder: str = "") -> None:
        self.leaf = leaf
        self.path = path
        self.folder = folder


class Place:
    """Where a vault's state is, and why there.

    `leaf` names its folder below the state, cache and runtime homes. `path` and
    `folder` are what the record has to say. `moved_from` is the path at which this
    vault was last; `copy_of` is the path of the vault that this one is a copy of, and
    `kept` names the state folder of another vault that stood at this path before; ''
    where it is none of that.
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

    def told(self) -> str:
        """What a person should know of this place, or ''."""
        told = []
        if self.copy_of:
            told.append(
                f"this folder is a copy of {_shown(self.copy_of)}; it has its own state"
            )
        if self.moved_from:
            told.append(
                f"this vault was last at {_shown(self.moved_from)}; it was moved here and keeps its state"
            )
        if self.kept:
            told.append(
                f"another folder with this id stood here before; its state, with turns that may not be filed yet, is "
                f"kept in {self.kept} until engram opens that folder again"
            )
        return "; ".join(told)

    def record(self) -> bytes:
        """The content of `place.json`."""
        return json.dumps({"path": self.path, "folder": self.folder}).encode() + b"\n"


def choose(
    vault: str, vault_id: str, home: str, id_at: Callable[[str], str | None]
) -> Place:
    """The place of the vault in the folder `vault` (absolute, resolved) among those
    recorded in the state home `home`.

    `id_at` gives the id in the engram.toml of a folder, None or '' where there is none.
    First counts the folder itself, wherever it stands now; then the path at which a
    state was last used, as for a restored backup; then a state whose recorded vault is
    gone, which was moved here. Where all recorded vaults still stand, this is a copy.
    """
    mine = identity(vault)
    known, unrecorded = _records(home, vault_id)

    def held(record: Record) -> bool:
        return id_at(record.path) == vault_id

    def place(
        leaf: str, path: str = vault, *, moved_from: str = "", kept: str = ""
    ) -> Place:
        others = [
            record
            for record in known
            if record.leaf != leaf and not _same(record.path, vault) and held(record)
        ]
        original = others[0].path if others and leaf != vault_id else ""
        return Place(
            home,
            leaf,
            path,
            mine,
            id_at,
            moved_from=moved_from,
            copy_of=original,
            kept=kept,
        )

    here = [record for record in known if _same(record.path, vault)]
    itself = [record for record in known if mine and record.folder == mine]
    if stays := next((record for record in itself if record in here), None):
        return place(stays.leaf, stays.path)
    if came := next(
        (
            record
            for record in itself
            if not held(record) or identity(record.path) != mine
        ),
        None,
    ):
        return place(
            came.leaf,
            moved_from=came.path,
            kept=f"{home}/{here[0].leaf}" if here else "",
        )
    if here:
        return place(here[0].leaf, here[0].path)
    if unrecorded or not known:
        return place(vault_id)
    if left := next((record for record in known if not held(record)), None):
        return place(left.leaf, moved_from=left.path)
    return place(_fresh(vault, vault_id, known))


def choose_again(place: Place, vault: str, vault_id: str) -> Place:
    """What `choose` says of the vault now, by whatever vaults are recorded since."""
    return choose(vault, vault_id, place.home, place.id_at)


def identity(folder: str) -> str:
    """What tells this folder from every other: file system, inode, and the inode's
    generation where there is one.

    '' where the folder cannot be opened. A rename keeps it; a copy, and a backup put
    back, have another.
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
    """What is recorded of the vaults with this id, that of the first place first;
    whether its folder has no record.
    """
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
    """The name of a state folder for a copy: the same one each time, until it is
    recorded.
    """
    taken = {record.leaf for record in known}
    for number in range(len(taken) + 1):
        mark = hashlib.sha256(os.fsencode(vault) + b"\0" * number).hexdigest()[
            :MARK_LENGTH
        ]
        if (leaf := f"{vault_id}.{mark}") not in taken:
            break
    return leaf


def _same(one: str, other: str) -> bool:
    """Whether two paths lead to one folder, as with a bind mount."""
    try:
        return one == other or os.path.samefile(one, other)  # noqa: PTH121
    except (OSError, ValueError):
        return False


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")
