"""A new vault: the template's files, put only where nothing stands yet."""

from __future__ import annotations

import re
from pathlib import Path

from engram.errors import StorageError
from engram.vault import files

SETTINGS = "engram.toml"
FOLDERS = ("facts", "sessions", "notes", "state")
"""Folders every vault has, also where a version control system dropped them for being empty."""

PACKAGE = Path(__file__).parents[1]
_ID_LINE = re.compile(rb"^#? *id *=.*\n", re.MULTILINE)


def template_folder() -> Path:
    """Where the template is: in the installed package, or beside it in a source tree."""
    for folder in (PACKAGE / "vault_template", PACKAGE.parent / "vault_template"):
        if folder.is_dir():
            return folder
    raise StorageError("the vault template is missing", where=str(PACKAGE), fix="Install engram again.")


def missing(vault: Path, vault_id: str, template: Path) -> dict[str, bytes]:
    """The template's files that `vault` lacks, by relative path; `vault_id` goes into a new engram.toml."""
    lacking = {}
    for source in sorted(template.rglob("*")):
        path = source.relative_to(template).as_posix()
        if source.is_file() and not _stands(vault, path):
            lacking[path] = source.read_bytes()
    if SETTINGS in lacking or not _stands(vault, SETTINGS):
        lacking[SETTINGS] = named(lacking.get(SETTINGS, b""), vault_id)
    return lacking


def named(settings: bytes, vault_id: str) -> bytes:
    """The text of an engram.toml with this id instead of its own."""
    return f'id = "{vault_id}"\n'.encode() + _ID_LINE.sub(b"", settings, count=1)


def plant(vault: Path, vault_id: str, template: Path) -> tuple[str, ...]:
    """Make `vault` a vault and return the paths of the new files; what stands already stays as it is.

    New folders are 0700 and new files 0600. Raises ForbiddenError where a link leads out of the folder.
    """
    files.make_folders(vault)
    lacking = missing(vault, vault_id, template)
    with files.FolderSyncs() as pending:
        for folder in FOLDERS:
            files.make_folders(files.safe_join(vault, folder), pending)
        for path, content in lacking.items():
            place = files.safe_join(vault, path)
            files.make_folders(place.parent, pending)
            files.write_new(place, content, pending)
    return tuple(lacking)


def _stands(vault: Path, path: str) -> bool:
    """Whether something has this name already, be it a link that leads nowhere."""
    place = vault / path
    return place.exists() or place.is_symlink()
