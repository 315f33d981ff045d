"""The vault as one file: `engram export` packs every byte, `init --from` unpacks them.

The archive is a tar file, sorted and without owners or times of packing, so that the
same vault gives the same bytes. Only regular files are packed; `.git` is left out.
"""

from __future__ import annotations

import io
import os
import tarfile
from typing import TYPE_CHECKING, Any

from engram.errors import BadRequestError, ConflictError, NotFoundError
from engram.vault import disk, template

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEFT_OUT = frozenset({".git"})
MARK = "engram.toml"
"""The file that makes a folder a vault; it is the first of an archive."""


def pack(vault: Path, target: Path) -> dict[str, Any]:
    """Write the files of a vault into the new file `target`; return what was packed.

    Raises NotFoundError where there is no vault, ConflictError where `target` exists.
    """
    template.check_vault(vault)
    if target.exists():
        raise ConflictError(
            "the file exists already", where=str(target), fix="Name another one."
        )
    buffer = io.BytesIO()
    count = size = 0
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in files(vault):
            try:
                content = disk.read(vault / name)
            except NotFoundError:
                continue  # moved meanwhile
            row = tarfile.TarInfo(name)
            row.size, row.mode = len(content), 0o600
            row.mtime = int((vault / name).stat().st_mtime)
            tar.addfile(row, io.BytesIO(content))
            count, size = count + 1, size + len(content)
    disk.write_new(target, buffer.getvalue())
    return {"file": str(target), "files": count, "bytes": size}


def files(vault: Path) -> Iterator[str]:
    """Yield the regular files of a vault, sorted, the one that marks it first."""
    found: list[str] = []
    for folder, folders, names in os.walk(vault):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118
            if os.path.isfile(path) and not os.path.islink(path):  # noqa: PTH113, PTH114
                found.append(os.path.relpath(path, vault))
    yield from sorted(found, key=lambda name: (name != MARK, name))


def unpack(source: Path, vault: Path, *, dry_run: bool) -> dict[str, Any]:
    """Write the files of an archive into the empty folder `vault`.

    Raises ConflictError where the folder has files, BadRequestError for a file that is
    no archive of a vault, ForbiddenError for a name that leads out of the folder.
    """
    if vault.exists() and any(vault.iterdir()):
        raise ConflictError(
            "the folder has files already",
            where=str(vault),
            fix="Name an empty folder, or one that does not exist.",
        )
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
    if not dry_run:
        disk.make_folders(vault)
        paths = {name: disk.safe_join(vault, name) for name in read}
        for name, (mtime, raw) in read.items():
            path = paths[name]
            disk.make_folders(path.parent)
            disk.write_new(path, raw)
            os.utime(path, (mtime, mtime))
    return {"vault": str(vault), "files": len(read)}
