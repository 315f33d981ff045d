"""The commands for the tokens of a vault: create, list, rotate, revoke."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from engram.serve.command_group import CliContext, CommandGroup, common, tree
from engram.serve.output import put

if TYPE_CHECKING:
    from engram.serve.tokens import IssuedToken, IssuedTokens

ROLE_NAMES = ("chatbot", "read-only", "owner", "import", "tool")
_NAME = click.argument("name")


@tree.group(cls=CommandGroup, params=common())
def token() -> None:
    """Create, list, rotate and revoke the tokens of a vault.

    A token is for calls over TCP. A chatbot may read, add and change; read-only may
    read; import and tool may read and add; owner has the rights of the command line.
    """


@token.command("create")
@_NAME
@click.option(
    "--role",
    type=click.Choice(ROLE_NAMES),
    default="chatbot",
    show_default=True,
    help="What the token may do.",
)
@click.pass_obj
def create(cli: CliContext, name: str, role: str) -> None:
    """Create a token.

    Prints it once: only its hash is stored. NAME is your name for it, such as that of
    the bot that uses it.
    """
    row, secret = _tokens(cli).create(role, name)
    cli.show("token", _shown(row) | {"token": secret})


@token.command("list")
@click.pass_obj
def list_(cli: CliContext) -> None:
    """List the tokens of the vault, without their secrets."""
    rows = [_shown(row) for row in _tokens(cli).rows()]
    if not rows and not cli.as_json:
        put("There are no tokens. `engram token create NAME` creates one.")
        return
    cli.show("token", {"tokens": rows})


@token.command("rotate")
@_NAME
@click.pass_obj
def rotate(cli: CliContext, name: str) -> None:
    """Give a token a new secret, and print it; the old one ends at once.

    NAME is the name or the id of a token.
    """
    row, secret = _tokens(cli).rotate(name)
    cli.show("token", _shown(row) | {"token": secret})


@token.command("revoke")
@_NAME
@click.pass_obj
def revoke(cli: CliContext, name: str) -> None:
    """End a token at once.

    NAME is the name or the id of a token.
    """
    cli.show("token", {"revoked": _shown(_tokens(cli).revoke(name))})


def _tokens(cli: CliContext) -> IssuedTokens:
    from engram.serve.tokens import IssuedTokens
    from engram.vault.template import check_vault

    settings = cli.settings()
    check_vault(settings.vault)
    return IssuedTokens(settings.state)


def _shown(row: IssuedToken) -> dict[str, Any]:
    return {key: value for key, value in asdict(row).items() if key != "digest"}
