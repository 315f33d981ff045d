"""Commands that are made from the rows of the table of operations."""

from __future__ import annotations

import os
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
    from engram.serve import completion, connection

UNHEALTHY = 1
"""The exit code of `doctor` with a problem, and of `purge` with remaining words."""
LONG = ("consolidate", "doctor", "flush", "prune")
"""Operations that may take minutes."""
TYPES: dict[str, Any] = {"int": int, "float": float}


def _parameter(operation: Operation, param: Param) -> click.Parameter:
    complete = _completion(operation.name, param.name)
    if param.positional:
        return click.Argument(
            [param.name],
            required=param.required,
            nargs=-1 if param.kind == "list" else 1,
            shell_complete=complete,
        )
    flag = "-" * (1 if len(param.name) == 1 else 2) + param.name.replace("_", "-")
    kind, meaning = TYPES.get(param.kind, str), _sentence(param.meaning)
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
        shell_complete=complete,
    )


def _completion(operation: str, name: str) -> completion.Complete | None:
    """Return the completion of an argument; only if a shell asks are modules loaded."""
    if "_ENGRAM_COMPLETE" not in os.environ:
        return None
    from engram.serve import completion

    return completion.of(operation, name)


def _operation(operation: Operation) -> Command:
    """Return the command of an operation, made from its row of the table."""

    @click.pass_obj
    def callback(cli: CliContext, /, **params: Any) -> int:
        sent = {}
        for param in operation.params:
            value = params[param.name]
            if value is not None and value != () and value is not param.default:
                sent[param.name] = list(value) if isinstance(value, tuple) else value
        verbose = bool(sent.pop("verbose", False))
        with cli.connect() as vault, long_work(operation.name):
            result = vault.call(operation.name, sent)
            result |= details(operation.name, result, vault)
        explain = bool(params.get("explain"))
        cli.show(operation.name, result, explain=explain, verbose=verbose)
        fine = result.get("healthy", True) and result.get("clean", True)
        return 0 if fine else UNHEALTHY

    return Command(
        operation.name,
        callback=callback,
        help="\n\n".join([operation.help, *_arguments(operation)]),
        params=[
            *(_parameter(operation, param) for param in operation.params),
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
    def callback(cli: CliContext, id: str) -> None:  # noqa: A002
        with cli.connect() as vault:
            cli.show(name, vault.call("update", {"id": id, **change}))

    tree.add_command(
        Command(name, callback=callback, help=words, params=[id_argument("update")])
    )


def id_argument(operation: str) -> click.Argument:
    """Return the argument ID, completed as in the command of `operation`."""
    return click.Argument(["id"], shell_complete=_completion(operation, "id"))


_update("pin", "Pin a memory, so that it never fades.", pinned=True)
_update("unpin", "Unpin a memory, so that it fades like others.", pinned=False)
_update(
    "restore",
    "Restore a forgotten or archived memory, or a forgotten turn.",
    status="active",
)
_update("promote", "Make a memory lasting, so that it fades slowly.", layer="up")
_update("demote", "Let a memory fade as fast as an episode.", layer="down")
