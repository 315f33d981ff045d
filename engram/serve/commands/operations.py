"""Commands that are made from the rows of the table of operations."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from engram.operations.table import BY_NAME, OPERATIONS
from engram.serve.command_group import CliContext, Command, tree
from engram.serve.render import BRIEF

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from engram.operations.table import Operation, Param
    from engram.serve import connection

UNHEALTHY = 1
"""The exit code of `doctor` with a problem, and of `purge` with remaining words."""
LONG = ("consolidate", "doctor", "flush", "prune", "reindex")
"""Operations that may take minutes."""
TYPES: dict[str, Any] = {"int": int, "float": float}


def _parameter(param: Param, *, last: bool) -> click.Parameter:
    """Return the parameter of an argument; the `last` text may be several words."""
    kind = click.Choice(param.choices) if param.choices else TYPES.get(param.kind, str)
    if param.positional:
        several = last and not param.choices
        return click.Argument(
            [param.name],
            type=kind,
            required=param.required,
            nargs=-1 if several or param.kind == "list" else 1,
        )
    flag, meaning = param.flag, _sentence(_meaning(param))
    if param.kind == "bool":
        if param.default:
            flag = f"{flag}/--no-{flag.removeprefix('--')}"
            return click.Option([flag], default=True, help=meaning)
        return click.Option([flag], is_flag=True, default=False, help=meaning)
    return click.Option(
        [flag, param.name],
        type=kind,
        multiple=param.kind == "list",
        help=meaning,
    )


def _operation(operation: Operation) -> Command:
    """Return the command of an operation, made from its row of the table."""

    @click.pass_obj
    def callback(cli: CliContext, /, **params: Any) -> int:
        sent = {}
        for param in operation.params:
            value = params[param.name]
            if value is None or value in ((), param.default):
                continue
            if isinstance(value, tuple):
                value = list(value) if param.kind == "list" else " ".join(value)
            sent[param.name] = value
        verbose = bool(sent.pop("verbose", False))
        with cli.connect() as vault, long_work(operation.name):
            result = vault.call(operation.name, sent)
            result |= details(operation.name, result, vault)
        explain = bool(params.get("explain"))
        cli.show(operation.name, result, explain=explain, verbose=verbose)
        fine = result.get("healthy", True) and result.get("clean", True)
        return 0 if fine else UNHEALTHY

    words = [param for param in operation.params if param.positional][-1:]
    return Command(
        operation.name,
        callback=callback,
        help="\n\n".join([operation.help, *_arguments(operation)]),
        params=[
            *(_parameter(param, last=param in words) for param in operation.params),
            *([_verbose()] if operation.name in BRIEF else []),
        ],
    )


def _verbose() -> click.Option:
    return click.Option(["-v", "--verbose"], is_flag=True, help="Print every field.")


def long_work(name: str) -> AbstractContextManager[object]:
    """Return a context that shows on a terminal how long an operation takes."""
    if name not in LONG:
        return nullcontext()
    from engram.serve.terminal import Bar

    return Bar(name)


def details(
    name: str, result: dict[str, Any], vault: connection.VaultConnection
) -> dict[str, Any]:
    """Return further output: counts for `doctor`, reasons of parked turns."""
    from engram.serve.observe import why_parked

    if name == "doctor":
        return {"checked": vault.call("stats", {})}
    return {"why_parked": why_parked(vault.call)} if result.get("parked_turns") else {}


def _arguments(operation: Operation) -> Iterator[str]:
    """Yield a sentence for each positional argument, as `ID is the id of a run.`"""
    for param in operation.params:
        if param.positional:
            yield f"{param.name.upper()} is {param.help}."


def _meaning(param: Param) -> str:
    """Return the help text, with the range of a number."""
    span = f", {param.least} to {param.most}" if param.is_number else ""
    return param.help + span


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."


for _each in OPERATIONS:
    if not _each.own_command:
        tree.add_command(_operation(_each))


def _update(name: str, words: str, **change: Any) -> None:
    """Add a command for one change that `update` makes."""
    takes_turns = "status" in change  # a turn can only be restored
    like = BY_NAME["update" if takes_turns else "show"]
    words = "\n\n".join(
        [f"{words} Shows the front-matter keys that changed.", *_arguments(like)]
    )

    @click.pass_obj
    def callback(cli: CliContext, id: str) -> None:
        with cli.connect() as vault:
            cli.show(name, vault.call("update", {"id": id, **change}))

    tree.add_command(
        Command(name, callback=callback, help=words, params=[click.Argument(["id"])])
    )


_update("pin", "Pin a memory, so that it never fades.", pinned=True)
_update("unpin", "Unpin a memory, so that it fades like others.", pinned=False)
_update(
    "restore",
    "Restore a forgotten or archived memory, or a forgotten turn.",
    status="active",
)
_update("promote", "Make a memory lasting, so that it fades slowly.", layer="up")
_update("demote", "Let a memory fade as fast as an episode.", layer="down")
