"""Temporary vaults with the configuration of the user's vault, for replays and tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.text import content_hash
from engram.errors import NotFoundError
from engram.vault import disk, template
from engram.vault.usage import DEVICE

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from engram.config import Settings


class SetClock:
    """A clock that returns a fixed time."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return this time."""
        return self.now


def create_like(settings: Settings, into: Path, name: str) -> None:
    """Make the folder `into` a vault with the `engram.toml` of another, and this id."""
    disk.make_folders(into)
    try:
        own = disk.read(settings.vault / template.SETTINGS)
    except NotFoundError:  # without a vault of the user, the defaults
        own = b""
    disk.write_new(into / template.SETTINGS, template.with_id(own, name))
    template.create_vault(into, name, template.shipped("vault_template"))


def settings_for(settings: Settings, into: Path, name: str, home: Path) -> Settings:
    """Return the settings for such a vault: the same, but with folders of its own.

    Its index is in files, so that it leaves no rows in the database of the user.
    """
    state = home / "state"
    disk.make_folders(state)
    disk.write_new(state / DEVICE, f"{content_hash(name)[:16]}\n".encode())
    fresh = replace(settings, vault=into, vault_id=name, tcp_port=None, postgres="")
    return replace(fresh, state=state, cache=home / "cache", runtime=home / "run")
