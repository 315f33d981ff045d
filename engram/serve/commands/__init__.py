"""The commands of `engram`, one module for each topic.

In: a command line. Out: text or JSON on standard output, and an exit code. Importing
this package adds every command to the tree of `engram.serve.command_group`. Start with `operations.py`: most commands are made from
their row of the table of operations. Commands with other arguments or logic are
functions in the other modules.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from engram.errors import BadRequestError, EngramError
from engram.serve.command_group import CliContext, tree
from engram.serve.commands import (  # noqa: F401
    agents,
    daemon,
    evaluation,
    maintenance,
    operations,
    review,
    settings,
    tokens,
    turns,
    vault,
)
from engram.serve.output import INTERRUPTED, fault_shown, surprise

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["run", "tree"]


def run(argv: Sequence[str]) -> int:
    """Run a command line and return the exit code.

    Errors are printed as text, with a traceback only for --debug.
    """
    cli = CliContext()
    sys.excepthook = surprise if "--debug" not in argv else sys.__excepthook__
    try:
        code = tree.main(list(argv), prog_name="engram", standalone_mode=False, obj=cli)
    except EngramError as fault:
        if cli.debug:
            sys.__excepthook__(type(fault), fault, fault.__traceback__)
        click.echo(fault_shown(fault, as_json=cli.as_json, vault=cli.vault), err=True)
        return fault.exit_code
    except click.exceptions.NoArgsIsHelpError as fault:
        fault.show()
        return BadRequestError.exit_code
    except click.ClickException as fault:
        asked = getattr(fault, "ctx", None)
        command = asked.command_path if asked else "engram"
        fix = f"`{command} --help` lists its arguments{_where_ids_are(fault)}."
        words = BadRequestError(fault.format_message(), fix=fix)
        click.echo(fault_shown(words, as_json=cli.as_json, vault=cli.vault), err=True)
        return words.exit_code
    except click.Abort:
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _where_ids_are(fault: click.ClickException) -> str:
    """Return the commands that show the missing id, as part of a message, or ''."""
    param = getattr(fault, "param", None)
    if not isinstance(fault, click.MissingParameter) or not param or param.name != "id":
        return ""
    command = fault.ctx.info_name if fault.ctx else ""
    lists = (
        "`engram runs` shows" if command == "undo" else "`engram list` and recall show"
    )
    return f"; {lists} ids"
