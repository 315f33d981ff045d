"""The commands for chatbots and coding agents: connect them, serve them."""

from __future__ import annotations

import os

import click

from engram.serve.command_group import CliContext, tree
from engram.serve.output import put


@tree.command()
@click.argument("client")
@click.option("--undo", is_flag=True, help="Remove what this command wrote.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would be written and change nothing."
)
@click.pass_obj
def connect(cli: CliContext, client: str, *, undo: bool, dry_run: bool) -> None:
    """Connect a chatbot or an agent to the vault.

    CLIENT is claude-code, claude-desktop, cline, codex, cursor, gemini-cli, langgraph,
    open-webui, openai-sdk, openclaw, opencode, vscode, windsurf or zed.
    Writes into the client's own configuration if that is a file, and prints the
    remaining steps.
    """
    from engram.serve.agents import connect as agents

    done = agents.connect(
        client, cli.settings(), cli.named, os.environ, undo=undo, dry_run=dry_run
    )
    # as it is, so that it can be copied: the lines of a result may be wrapped
    code = "" if cli.as_json else done.pop("code", "")
    cli.show("connect", done)
    if code:
        put(f"\n{code}")


@tree.command()
@click.argument("event", required=False)
@click.pass_obj
def hook(cli: CliContext, event: str | None) -> int:
    """Handle an event of a coding agent.

    EVENT is JSON; without it, standard input is read. Stores questions and answers, and
    prints the context of a question. Ends within a second, and always with 0.
    """
    from engram.serve.agents.hook import main

    return main([event] if event else [], str(cli.vault) if cli.vault else None)


@tree.command()
@click.pass_obj
def mcp(cli: CliContext) -> int:
    """Serve the Model Context Protocol on standard input and output.

    For the configuration of an agent: the command is `engram`, its argument `mcp`.
    """
    from engram.serve.mcp.stdio import main

    return main(str(cli.vault) if cli.vault else None)
