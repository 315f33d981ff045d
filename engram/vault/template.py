"""Create a vault from the template without overwriting existing files."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from engram.errors import BadRequestError, NotFoundError, StorageError
from engram.vault import disk
from engram.vault.store import Vault

SETTINGS = "engram.toml"
FOLDERS = ("facts", "sessions", "notes", "state")
"""Folders of every vault; git does not store empty ones."""

OBSIDIAN = ".obsidian"
TYPES = f"{OBSIDIAN}/types.json"
HOME, NESTED_HOME = "Home.md", "views/Engram home.md"
"""The overview of a vault, and of a vault inside a vault of Obsidian."""
_OF_THE_OUTER = (f"{OBSIDIAN}/", "templates/")
"""Files of the template that are useful only at the root of a vault of Obsidian."""

PACKAGE = Path(__file__).parents[1]
_A_FILE = "this is a file, and a vault is a folder"
_NAME_ANOTHER = (
    "Name a folder, or a name that is free: `engram init FOLDER` makes it a vault."
)
_ID_LINE = re.compile(rb"^#? *id *=.*\n", re.MULTILINE)


def shipped(name: str) -> Path:
    """Return a folder that is beside the package, and inside it when installed."""
    for folder in (PACKAGE / name, PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise StorageError(f"{PACKAGE / name} is missing", fix="Install engram again.")


def check_vault(vault: Path) -> None:
    """Raise NotFoundError if `vault` is not a vault, with the command to create one."""
    make = f"`engram init {shlex.quote(str(vault))}`"
    if file := _blocking_file(vault):
        raise NotFoundError(_A_FILE, where=str(file), fix=_NAME_ANOTHER)
    if not vault.is_dir():
        raise NotFoundError(
            "there is no vault", where=str(vault), fix=f"Make one with {make}."
        )
    if not (vault / SETTINGS).is_file():
        fix = f"Make it one with {make}; what is in it stays as it is."
        raise NotFoundError("this folder is no vault", where=str(vault), fix=fix)


def check_creatable(vault: Path) -> None:
    """Raise BadRequestError if a vault cannot be created at this path.

    The path or one of its parents is a file, or the folder is inside another vault.
    """
    if file := _blocking_file(vault):
        raise BadRequestError(_A_FILE, where=str(file), fix=_NAME_ANOTHER)
    outer = next(
        (parent for parent in vault.parents if (parent / SETTINGS).is_file()), None
    )
    if outer and not (vault / SETTINGS).is_file():
        raise BadRequestError(
            f"this folder is inside of the vault {outer}",
            where=str(vault),
            fix=f"Use that vault (--vault {shlex.quote(str(outer))}), or name a folder"
            " outside of it.",
        )


def missing_files(vault: Path, vault_id: str, template: Path) -> dict[str, bytes]:
    """Return the template's files that `vault` lacks, by relative path.

    `vault_id` is written to a new engram.toml. Inside another vault of Obsidian, the
    views show this folder alone, and files for a root are left out. An existing
    `types.json` gets the missing types of engram's keys.

    Raises BadRequestError if a file is at the path of a folder.
    """
    check_creatable(vault)
    lacking = {}
    inside = folder_in_vault(vault)
    for source in sorted(template.rglob("*")):
        path, raw = source.relative_to(template).as_posix(), b""
        if source.is_file():
            raw = source.read_bytes()
        if inside:
            if path.startswith(_OF_THE_OUTER):
                continue
            path = NESTED_HOME if path == HOME else path
            raw = _scoped(raw, inside) if path.startswith("views/") else raw
        if source.is_file() and not _exists(vault, path):
            lacking[path] = raw
        elif path == TYPES and (vault / TYPES).is_file():
            merged = _with_types((vault / TYPES).read_bytes(), raw)
            lacking |= {path: merged} if merged else {}
    if SETTINGS in lacking or not _exists(vault, SETTINGS):
        lacking[SETTINGS] = with_id(lacking.get(SETTINGS, b""), vault_id)
    return lacking


def folder_in_vault(vault: Path) -> str:
    """Return the path of a folder inside the surrounding vault of Obsidian, or ''.

    A folder with its own settings of Obsidian is itself a vault.
    """
    if (vault / OBSIDIAN).is_dir():
        return ""
    vaults_above = (folder for folder in vault.parents if (folder / OBSIDIAN).is_dir())
    outer = next(vaults_above, None)
    return vault.relative_to(outer).as_posix() if outer else ""


def _scoped(raw: bytes, folder: str) -> bytes:
    """Return a view, or a note with views, limited to the files in `folder`."""
    quoted = folder.replace("\\", "\\\\").replace('"', '\\"').replace("'", "''")
    text = raw.decode().replace('inFolder("', f'inFolder("{quoted}/')
    return re.sub(r"\[\[(?=\w+\.base)", f"[[{folder}/views/", text).encode()


def _with_types(now: bytes, raw: bytes) -> bytes:
    """Return a `types.json` with the missing types from `raw` added.

    The result is b'' if none is missing.
    """
    try:
        known = json.loads(now)
    except ValueError:
        return b""
    types = known.get("types") if isinstance(known, dict) else None
    if not isinstance(types, dict):
        return b""
    ours: dict[str, Any] = json.loads(raw)["types"]
    lacking = {key: kind for key, kind in ours.items() if key not in types}
    if not lacking:
        return b""
    merged = known | {"types": types | lacking}
    return json.dumps(merged, ensure_ascii=False, indent=2).encode()


def with_id(settings: bytes, vault_id: str) -> bytes:
    """Return the text of an engram.toml with this id instead of its own."""
    return f'id = "{vault_id}"\n'.encode() + _ID_LINE.sub(b"", settings, count=1)


def create_vault(vault: Path, vault_id: str, template: Path) -> tuple[str, ...]:
    """Make `vault` a vault, and return the paths of the new files. Existing files stay.

    New folders are 0700 and new files 0600. Raises ForbiddenError if a link leads out
    of the folder, BadRequestError if a file is at the path of a folder.
    """
    lacking = missing_files(vault, vault_id, template)
    disk.make_folders(vault)
    with disk.DeferredSyncs() as pending:
        for folder in FOLDERS:
            disk.make_folders(disk.safe_join(vault, folder), pending)
        for path, content in lacking.items():
            place = disk.safe_join(vault, path)
            disk.make_folders(place.parent, pending)
            if path != TYPES or not place.exists():
                disk.write_new(place, content, pending)
    if TYPES in lacking:
        raw = (template / TYPES).read_bytes()
        Vault(vault).rewrite(TYPES, lambda now: _with_types(now, raw) or now)
    return tuple(lacking)


def _blocking_file(vault: Path) -> Path | None:
    """Return the file at the path of the vault or of a folder above it, or None."""
    nearest = next(path for path in (vault, *vault.parents) if path.exists())
    return None if nearest.is_dir() else nearest


def _exists(vault: Path, path: str) -> bool:
    """Return whether `path` exists, including a broken link."""
    place = vault / path
    return place.exists() or place.is_symlink()
