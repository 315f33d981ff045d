"""Generates `docs/cli.md` from the tree of commands."""

from __future__ import annotations

from inspect import cleandoc
from typing import TYPE_CHECKING

import click

from engram.serve import commands  # noqa: F401
from engram.serve.command_group import COMMON, tree

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """# Command line

This page is generated from the program by `make docs`.

Every command also takes these options:
"""
EXITS = """## Exit codes

| Code | Meaning |
|---|---|
| 0 | done |
| 1 | an error in the program; or `doctor` found a problem |
| 3 | `status`: no daemon runs |
| 64 | the command line has the wrong form |
| 65 | a turn was refused and the others are stored; or an id is ambiguous; or a name is in use |
| 66 | there is no such memory, file or vault |
| 69 | the daemon is starting or stopping, or the model does not answer |
| 74 | the disk refused to read or write |
| 75 | another process has the vault open, or the queue is full: try again later |
| 77 | not allowed |
| 78 | the configuration cannot be used |
| 130 | interrupted |

An error is printed on standard error: what happened, where, the fix, and a code; with `--json` as an object.
"""


def cli_reference() -> str:
    """Return the text of `docs/cli.md`."""
    shared = [(f"`{names[0]}`", str(settings["help"])) for names, settings in COMMON]
    parts = [HEAD, *_table(shared), "", tree.epilog or "", ""]
    for name, command in sorted(tree.commands.items()):
        parts += _section(command, f"engram {name}")
    return "\n".join([*parts, EXITS])


def _section(command: click.Command, path: str) -> Iterator[str]:
    """Yield usage, help and options of a command, then those of its subcommands."""
    context = click.Context(command, info_name=path)
    yield f"## {path}\n"
    yield cleandoc(command.help or "").replace("\b\n", "") + "\n"
    yield f"    {' '.join([path, *command.collect_usage_pieces(context)])}\n"
    common = {names[0] for names, _ in COMMON}
    own = [
        param
        for param in command.params
        if isinstance(param, click.Option) and param.opts[0] not in common
    ]
    records = [param.get_help_record(context) for param in own]
    if rows := [(f"`{record[0]}`", record[1]) for record in records if record]:
        yield from [*_table(rows), ""]
    for name, part in sorted(getattr(command, "commands", {}).items()):
        yield from _section(part, f"{path} {name}")


def _table(rows: list[tuple[str, str]]) -> list[str]:
    cells = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    lines = (f"| {' | '.join(row)} |" for row in cells)
    return ["| Option | Meaning |", "|---|---|", *lines]
