"""Creating a vault from the template; existing files are never overwritten."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from engram.errors import BadRequestError, NotFoundError, StorageError
from engram.vault import disk

SETTINGS = "engram.toml"
FOLDERS = ("facts", "sessions", "notes", "state")
"""Folders of every vault; git does not store those that are empty."""

PACKAGE = Path(__file__).parents[1]
_A_FILE = "this is a file, and a vault is a folder"
_NAME_ANOTHER = (
    "Name a folder, or a name that is free: `engram init FOLDER` makes it a vault."
)
_ID_LINE = re.compile(rb"^#? *id *=.*\n", re.MULTILINE)


def template_folder() -> Path:
    """Where the template is: in the installed package, or beside it in a source tree."""
    for folder in (PACKAGE / "vault_template", PACKAGE.parent / "vault_template"):
        if folder.is_dir():
            return folder
    raise StorageError(
        "the vault template is missing", where=str(PACKAGE), fix="Install engram again."
    )


def check_vault(vault: Path) -> None:
    """Raise NotFoundError where `vault` is not a vault, with how to make one."""
    make = f"`engram init {shlex.quote(str(vault))}`"
    if file := _in_the_way(vault):
        raise NotFoundError(_A_FILE, where=str(file), fix=_NAME_ANOTHER)
    if not vault.is_dir():
        raise NotFoundError(
            "there is no vault", where=str(vault), fix=f"Make one with {make}."
        )
    if not (vault / SETTINGS).is_file():
        fix = f"Make it one with {make}; what is in it stays as it is."
        raise NotFoundError("this folder is no vault", where=str(vault), fix=fix)


def check_creatable(vault: Path) -> None:
    """Raise BadRequestError where a file is at the path of the vault or above it."""
    if file := _in_the_way(vault):
        raise BadRequestError(_A_FILE, where=str(file), fix=_NAME_ANOTHER)


def missing_files(vault: Path, vault_id: str, template: Path) -> dict[str, bytes]:
    """The template's files that `vault` lacks, by relative path; `vault_id` goes into a
    new engram.toml.

    Raises BadRequestError where a file stands in the way of the folder.
    """
    check_creatable(vault)
    lacking = {}
    for source in sorted(template.rglob("*")):
        path = source.relative_to(template).as_posix()
        if source.is_file() and not _stands(vault, path):
            lacking[path] = source.read_bytes()
    if SETTINGS in lacking or not _stands(vault, SETTINGS):
        lacking[SETTINGS] = with_id(lacking.get(SETTINGS, b""), vault_id)
    return lacking


def with_id(settings: bytes, vault_id: str) -> bytes:
    """The text of an engram.toml with this id instead of its own."""
    return f'id = "{vault_id}"\n'.encode() + _ID_LINE.sub(b"", settings, count=1)


def create_vault(vault: Path, vault_id: str, template: Path) -> tuple[str, ...]:
    """Make `vault` a vault; the paths of the new files. Existing files stay.

    New folders are 0700 and new files 0600. Raises ForbiddenError where a link leads
    out of the folder, BadRequestError where a file stands in its way.
    """
    lacking = missing_files(vault, vault_id, template)
    disk.make_folders(vault)
    with disk.DeferredSyncs() as pending:
        for folder in FOLDERS:
            disk.make_folders(disk.safe_join(vault, folder), pending)
        for path, content in lacking.items():
            place = disk.safe_join(vault, path)
            disk.make_folders(place.parent, pending)
            disk.write_new(place, content, pending)
    return tuple(lacking)


def _in_the_way(vault: Path) -> Path | None:
    """The file at the path of the vault or of a folder above it, or None."""
    nearest = next(path for path in (vault, *vault.parents) if path.exists())
    return None if nearest.is_dir() else nearest


def _stands(vault: Path, path: str) -> bool:
    """Whether `path` exists, be it a broken link."""
    place = vault / path
    return place.exists() or place.is_symlink()
