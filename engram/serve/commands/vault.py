"""The commands of a vault as a whole: create, count, open, export, rebuild the index."""

from __future__ import annotations

import os
from pathlib import Path

import click

from engram.errors import NotFoundError
from engram.serve.command_group import CliContext, tree
from engram.serve.commands.operations import details


@tree.command()
@click.argument(
    "folder", type=click.Path(path_type=Path, readable=False), required=False
)
@click.option("--git", is_flag=True, help="Also make the folder a git repository.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="List the files that would be written and write none.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, readable=False),
    help="Fill the new folder with the vault in this file of `engram export`.",
)
@click.pass_obj
def init(
    cli: CliContext,
    folder: Path | None,
    *,
    git: bool,
    dry_run: bool,
    source: Path | None,
) -> None:
    """Make a folder a vault.

    FOLDER is created if it does not exist; existing files stay as they are, but types
    of engram's keys are added to those of Obsidian. Inside a vault of Obsidian
    nothing outside FOLDER changes. Prints the files that were written.
    """
    from engram.serve.setup import init_vault

    cli.vault, restored = folder or cli.vault, 0
    if source is not None:
        from engram.serve.archive import unpack

        target = cli.vault or cli.settings().vault
        unpacked = unpack(source, target.expanduser().resolve(), dry_run=dry_run)
        if dry_run:
            cli.show("init", unpacked)
            return
        restored = unpacked["files"]
    made = init_vault(cli.settings, git=git, dry_run=dry_run, restored=restored)
    cli.show("init", made)


@tree.command()
def demo() -> None:
    """Show the main functions in two minutes, in a temporary vault.

    Stores, asks, edits, explains, changes and undoes, on real files. Needs no model
    and no daemon, and deletes the vault afterwards.
    """
    from engram.serve.tour import tour

    tour()


@tree.command()
@click.option("--plot", is_flag=True, help="Draw the counts, and memories by month.")
@click.pass_obj
def stats(cli: CliContext, *, plot: bool) -> None:
    """Count memories, turns and files.

    Shows one line for each count, and the number of waiting turns.
    """
    with cli.connect() as vault:
        result = vault.call("stats", {})
        if plot:
            days = vault.call("timeline", {"all_personas": True})["days"]
            cli.show("plot", result | {"timeline": days})
            return
        result |= details("stats", result, vault)
    cli.show("stats", result)


@tree.command("open")
@click.argument("id")
@click.pass_obj
def open_(cli: CliContext, id: str) -> None:
    """Open the note of a memory or an entity in your editor.

    ID is the id of a memory, an unambiguous prefix of it, its path, or the name of an
    entity. The editor is VISUAL, EDITOR, or the desktop's program for Markdown. Exits
    with 66 if there is none; the message names the file.
    """
    from engram.serve.setup import is_graphical

    with cli.connect() as vault:
        found = vault.call("show", {"id": id})
    unit = next(one for one in found.values() if isinstance(one, dict))
    path = cli.settings().vault / unit["path"]
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if editor:
        click.edit(filename=str(path), editor=editor)
    elif not is_graphical() or click.launch(str(path)):
        raise NotFoundError(
            "no editor is set, and there is no desktop to open the note",
            where=str(path),
            fix="Set EDITOR, for example `export EDITOR=nano`, or open the file.",
        )
    cli.show("open", {"path": str(path)})


@tree.command()
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.pass_obj
def export(cli: CliContext, file: Path) -> None:
    """Write the whole vault into one file.

    FILE must not exist; it becomes a tar file with every file except `.git`.
    Waiting turns are filed first. Prints the number of files; `engram init FOLDER
    --from FILE` unpacks them.
    """
    from engram.serve.archive import pack

    with cli.connect() as vault:
        vault.call("flush", {})
    cli.show("export", pack(cli.settings().vault, file.expanduser().resolve()))
