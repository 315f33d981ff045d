"""The command `completion`: the script that completes commands in a shell."""

from __future__ import annotations

import click

from engram.serve.command_group import CliContext, tree
from engram.serve.output import put


@tree.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_(shell: str) -> None:
    """Print the completion script for a shell.

    SHELL is bash, zsh or fish. For bash: `eval "$(engram completion bash)"`.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(tree, {}, "engram", "_ENGRAM_COMPLETE").source()
    cli = click.get_current_context().ensure_object(CliContext)
    if cli.as_json:
        cli.show("completion", {"shell": shell, "script": script})
    else:
        put(script)
