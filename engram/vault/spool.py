"""The spool: turns that an agent's hook could not give to a daemon.

Each request is a file in the state folder, outside of the vault. The next process that
opens the vault stores its turns and removes it. Only light modules are imported here.
"""

from __future__ import annotations

import json
import time
import uuid

from engram.errors import NotFoundError
from engram.vault import disk

TYPE_CHECKING = False  # loading typing would slow the start of a hook
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

FOLDER = "spool"


def put(state: Path, turns: Sequence[dict[str, Any]]) -> Path:
    """Store a request durably, without the secrets in its texts; return its file.

    Each turn needs an `id`, by which it is recognised if it was stored nevertheless.
    The file is named by its time, so that files are read in order. Raises StorageError.
    """
    from engram.core.language.secrets import redact

    safe = [{**turn, "text": redact(turn["text"]).text} for turn in turns]
    path = state / FOLDER / f"{time.time_ns():020}-{uuid.uuid4().hex[:8]}.json"
    disk.make_folders(path.parent)
    disk.write_new(path, json.dumps(safe).encode())
    return path


def waiting(state: Path) -> list[Path]:
    """Return the files of the spool, the oldest first."""
    return sorted((state / FOLDER).glob("*.json"))


def turns_of(path: Path) -> list[dict[str, Any]]:
    """Return the turns of a file; [] if another process has taken it.

    Raises ValueError if it is damaged.
    """
    try:
        turns = json.loads(disk.read(path))
    except NotFoundError:
        return []
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise ValueError("a request is a list of turns")
    return turns
