"""The commands of maintenance: run it, forecast it, extract all memories again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from engram.errors import LockedError
from engram.serve.command_group import CliContext, tree
from engram.serve.commands.operations import long_work


@tree.command()
@click.option(
    "--talk",
    "cadence",
    flag_value="talk",
    help="Summarise conversations and find promises.",
)
@click.option(
    "--nightly",
    "cadence",
    flag_value="nightly",
    default=True,
    help="Run the passes that run every night; the default.",
)
@click.option(
    "--weekly",
    "cadence",
    flag_value="weekly",
    help="Run the passes that run every week.",
)
@click.option("--pass", "only", help="Run only this pass.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would be done and change nothing."
)
@click.pass_obj
def consolidate(
    cli: CliContext, cadence: str, only: str | None, *, dry_run: bool
) -> int:
    """Run maintenance now.

    Archives, merges and ends memories that are due, and prints each change with its
    reason and the id for `engram undo`. Exits with 75 if maintenance may not run
    now, for example while the clock is in doubt: try again later.
    """
    with cli.connect() as vault:
        arguments: dict[str, Any] = {"cadence": cadence, "dry_run": dry_run}
        if only:
            arguments["only"] = only
        with long_work("consolidate"):
            result = vault.call("consolidate", arguments)
    cli.show("consolidate", result)
    return LockedError.exit_code if result["frozen"] else 0


@tree.command()
@click.argument("folder", type=click.Path(path_type=Path, readable=False))
@click.pass_obj
def reprocess(cli: CliContext, folder: Path) -> None:
    """Extract all memories again, into a new vault.

    FOLDER is the new vault. The present model or rules are used, and the present vault
    is only read. Prints the differences between the two.
    """
    from engram.serve.replay import reprocess as replay_history
    from engram.serve.terminal import Bar

    with Bar("reprocess") as bar:

        def show_progress(done: int, of: int) -> None:
            bar.total = of
            bar.reach(done)

        to = folder.expanduser().resolve()
        result = replay_history(cli.settings(), to, show_progress)
    cli.show("reprocess", result)
