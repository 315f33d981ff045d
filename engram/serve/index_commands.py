"""The command `reindex`: read the vault again, or move the index to a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engram.errors import ConfigError
from engram.serve.command_group import CliContext, tree

if TYPE_CHECKING:
    from engram.config import Settings
    from engram.serve.terminal import Bar

NO_DATABASE = (
    'Write `postgres = "postgresql://…"` into your configuration file; '
    "`engram config explain postgres` names it."
)


@tree.command()
@click.option(
    "--to",
    type=click.Choice(["postgres"]),
    help="Move the index of this machine to the PostgreSQL database that is set, and read only the files that differ.",
)
@click.pass_obj
def reindex(cli: CliContext, to: str | None) -> None:
    """Rebuild the index from the files of the vault.

    Shows the seconds it took, and counts of memories, turns and files.
    """
    from engram.serve.terminal import Bar

    if to:
        with Bar("reindex") as bar:
            _move(cli.settings(), bar)
    with cli.connect() as vault, Bar("reindex"):
        result = vault.call("stats" if to else "reindex", {})
    cli.show("reindex", result)


def _move(settings: Settings, bar: Bar) -> None:
    """Move the rows of the index to PostgreSQL.

    One that was cut off goes on where it was. Raises ConfigError without a database, and
    LockedError while a process has the vault.
    """
    from engram.index.database import open_store
    from engram.vault import disk, locks, template

    def show_progress(done: int, total: int) -> None:
        bar.total = total
        bar.reach(done)

    if not settings.postgres:
        raise ConfigError("no database is set", where="postgres", fix=NO_DATABASE)
    template.check_vault(settings.vault)
    disk.make_folders(settings.state)
    lock = locks.lock(settings.state / "lock", settings.vault)
    try:
        open_store(settings, show_progress).close()
    finally:
        lock.release()
