"""The vault as one file: `engram export` packs every byte, `init --from` unpacks them.

The archive is a tar file, sorted and without owners or times of packing, so that the
same vault gives the same bytes. Only regular files are packed; `.git` is left out.

A folder becomes a vault with its last file, `engram.toml`: until then an interrupted
restore is not a vault, and the same command continues it.
"""

from __future__ import annotations

import io
import os
import tarfile
from typing import TYPE_CHECKING, Any

from engram.errors import BadRequestError, ConflictError, NotFoundError
from engram.vault import disk, template
from engram.vault.paths import parent_folders

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

LEFT_OUT = frozenset({".git"})
MARK = "engram.toml"
"""The file that makes a folder a vault; it is the first of an archive."""


def pack(vault: Path, target: Path) -> dict[str, Any]:
    """Write the files of a vault into the new file `target`; return their counts.

    Raises NotFoundError if there is no vault, ConflictError if `target` exists.
    """
    template.check_vault(vault)
    names, left_out = files(vault)
    if target.exists():
        raise ConflictError(
            "the file exists already", where=str(target), fix="Name another one."
        )
    buffer = io.BytesIO()
    count = size = 0
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            try:
                content = disk.read(vault / name)
            except NotFoundError:
                continue  # it was moved
            row = tarfile.TarInfo(name)
            row.size, row.mode = len(content), 0o600
            row.mtime = int((vault / name).stat().st_mtime)
            tar.addfile(row, io.BytesIO(content))
            count, size = count + 1, size + len(content)
    disk.write_new(target, buffer.getvalue())
    return {"file": str(target), "files": count, "bytes": size, "left_out": left_out}


def files(vault: Path) -> tuple[list[str], list[str]]:
    """Return the regular files of a vault, and the links and devices left out.

    Both are sorted; the file that marks the vault comes first.
    """
    found: list[str] = []
    others: list[str] = []
    for folder, folders, names in os.walk(vault):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        for name in (*names, *folders):
            path = os.path.join(folder, name)  # noqa: PTH118
            relative = os.path.relpath(path, vault)
            if os.path.islink(path):  # noqa: PTH114
                others.append(relative)
            elif os.path.isfile(path):  # noqa: PTH113
                found.append(relative)
            elif not os.path.isdir(path):  # noqa: PTH112
                others.append(relative)
    return sorted(found, key=lambda name: (name != MARK, name)), sorted(others)


def unpack(source: Path, vault: Path, *, dry_run: bool) -> dict[str, Any]:
    """Write the files of an archive into the empty folder `vault`.

    The folder may contain files of this archive from an interrupted restore. Raises
    ConflictError if it contains others, BadRequestError for a file that is not an
    archive of a vault, ForbiddenError for a name that leads outside the folder.
    """
    content = disk.read(source)
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            rows = [row for row in tar if row.isfile()]
            unpacked = {row.name: (row, tar.extractfile(row)) for row in rows}
            read = {
                name: (row.mtime, file.read() if file else b"")
                for name, (row, file) in unpacked.items()
            }
    except (tarfile.TarError, EOFError, ValueError) as fault:
        raise BadRequestError(
            "this file is no archive of a vault", where=f"{source}: {fault}"
        ) from fault
    if MARK not in read:
        raise BadRequestError("this file is no archive of a vault", where=str(source))
    _check_names(read, vault)
    _check_empty(vault, {name: raw for name, (_, raw) in read.items()})
    if not dry_run:
        disk.make_folders(vault)
        paths = {name: disk.safe_join(vault, name) for name in read}
        for name in sorted(read, key=lambda name: name == MARK):
            mtime, raw = read[name]
            path = paths[name]
            disk.make_folders(path.parent)
            disk.write_new(path, raw)
            os.utime(path, (mtime, mtime))
    return {"vault": str(vault), "files": len(read)}


def _check_names(names: Collection[str], vault: Path) -> None:
    """Raise an error unless all these files can be in one folder."""
    above = next(one for one in (vault, *vault.parents) if one.is_dir())
    for name in names:
        disk.safe_join(above if above != vault else vault, name)
    folders = {folder for name in names for folder in parent_folders(name)}
    if clash := sorted(folders.intersection(names)):
        raise BadRequestError(
            "this file is no archive of a vault",
            where=f"{clash[0]!r} is both a file and a folder",
        )


def _check_empty(vault: Path, content: Mapping[str, bytes]) -> None:
    """Raise ConflictError if a folder has files besides some of `content`.

    The file that marks a vault is written last, so a folder with it is complete.
    """
    here, others = files(vault)
    own = {path.relative_to(vault).as_posix() for path in disk.leftovers(vault)}
    rest = [name for name in here if name not in own]
    if others or any(
        name == MARK or disk.read(vault / name) != content.get(name) for name in rest
    ):
        raise ConflictError(
            "the folder has files already",
            where=str(vault),
            fix="Name an empty folder, or one that does not exist.",
        )
