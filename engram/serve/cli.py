"""The command `engram`: a fast path for frequent calls, `commands` for all others.

The fast path parses the plain forms of `recall`, `remember` and `observe` and sends
them to a running daemon. It loads neither click nor the configuration, which together
take several times longer than starting Python. Command lines that it does not
understand go to `commands`.
"""

from __future__ import annotations

import atexit
import io
import os
import sys

from engram.errors import EngramError
from engram.operations.table import BY_NAME
from engram.serve import socket_client
from engram.serve.output import INTERRUPTED, display, fault_shown, surprise

TYPE_CHECKING = False  # loading typing would slow each call of the command line
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

FAST = ("observe", "recall", "remember")
"""Operations of the fast path."""

HELP = f"{os.path.dirname(__file__)}/help.txt"  # noqa: PTH120
"""The help of `engram`, written by `make docs`."""

KINDS = {"int": int, "bool": bool, "text": str, "time": str}

LONGEST_NUMBER = 9
"""Maximum number of digits of an option's number."""


class FastCommand:
    """The arguments of a command line that the fast path parses."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.params: dict[str, Any] = {}
        self.vault: str | None = None
        self.as_json = False


def main() -> None:
    """Run the command line and exit with its exit code."""
    ended = [1]  # the exit code, for an error that nothing catches
    atexit.register(_leave_threads, ended)  # the first to register runs last
    _repair_streams()
    try:
        ended[0] = _run(sys.argv[1:])
    except KeyboardInterrupt:
        ended[0] = INTERRUPTED
    sys.exit(ended[0])


def _leave_threads(ended: list[int]) -> None:
    """End the process at once if daemon threads still run.

    When the interpreter ends, it unwinds the stack of such a thread. A thread that is
    within a library written in C++, as a search for a pattern is, then aborts the
    process.
    """
    threads = sys.modules.get("threading")
    if threads is None or threads.active_count() == 1:
        return
    for stream in (sys.stdout, sys.stderr):
        try:  # without contextlib, which loads slowly
            stream.flush()
        except (OSError, ValueError):  # the stream or its pipe is closed
            continue
    os._exit(ended[0])


def _repair_streams() -> None:
    """Open closed streams on /dev/null; print characters that have no encoding as `?`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _run(argv: Sequence[str]) -> int:
    """Run a command line, through the daemon if the fast path parses it."""
    if argv in (["--help"], ["-h"]):
        with open(HELP, encoding="utf-8") as page:  # noqa: PTH123
            sys.stdout.write(page.read())
        return 0
    if argv and argv[0] in {"mcp", "hook"} and "_ENGRAM_COMPLETE" not in os.environ:
        call = agent_call(*argv)
        if call is not None:
            return _for_agent(argv[0], *call)
    command, path = plain(argv), None
    if command and "_ENGRAM_COMPLETE" not in os.environ:
        path = socket_client.socket_of(command.vault, os.environ)
    if command is None or path is None or not socket_client.answers(path):
        from engram.serve.commands import run

        return run(argv)
    sys.excepthook = surprise
    try:
        return _through_daemon(
            path, socket_client.folder_of(command.vault, os.environ), command
        )
    except EngramError as fault:
        if isinstance(fault, socket_client.AbsentError) and command.name != "observe":
            from engram.serve.commands import run

            return run(argv)  # the daemon has stopped
        sys.stderr.write(
            fault_shown(fault, as_json=command.as_json, vault=command.vault) + "\n"
        )
        return fault.exit_code


def plain(argv: Sequence[str]) -> FastCommand | None:
    """Parse a plain command line; return None for all forms left to `commands`."""
    if not argv or argv[0] not in FAST:
        return None
    command = FastCommand(argv[0])
    statements: list[str] = []
    rest = iter(argv[1:])
    for word in rest:
        if not word.startswith("-"):
            statements.append(word)
        elif not _option(command, word, rest):
            return None
    if bool(statements) == (command.name == "observe"):
        return None
    if statements:
        name = "query" if command.name == "recall" else "text"
        command.params[name] = " ".join(statements)
    return command


def _for_agent(name: str, vault: str | None, event: Sequence[str]) -> int:
    """Serve `engram mcp`, or handle one event of `engram hook`."""
    if name == "hook":
        from engram.serve.agents.hook import main as handle_event

        return handle_event(event, vault)
    from engram.serve.mcp.stdio import main as serve_mcp

    return serve_mcp(vault)


def agent_call(name: str, *options: str) -> tuple[str | None, list[str]] | None:
    """Return the vault and the event, if given, of `engram mcp` or `hook`.

    None for all forms left to `commands`.
    """
    words, vault = list(options), None
    if "--vault" in words[:-1]:
        place = words.index("--vault")
        vault = words[place + 1]
        del words[place : place + 2]
    named = words if vault is None else [*words, vault]
    if len(words) > (name == "hook") or any(word[:1] in {"", "-"} for word in named):
        return None
    return vault, words


def fast_options(name: str) -> dict[str, tuple[str, type]]:
    """Return name and type of the plain options of an operation, by their flags."""
    return {"--vault": ("vault", str)} | {
        param.flag: (param.name, KINDS[param.kind])
        for param in BY_NAME[name].params
        if not param.positional and param.kind in KINDS and not param.default
    }


def _option(command: FastCommand, word: str, rest: Iterator[str]) -> bool:
    """Parse an option and its value; return False if the form is not plain."""
    if word == "--json":
        command.as_json = True
        return True
    name, kind = fast_options(command.name).get(word, ("", str))
    if kind is bool:
        command.params[name] = True
        return True
    value = next(rest, "")
    if (
        not name
        or not value
        or value.startswith("-")
        or (kind is int and not _is_number(value))
    ):
        return False
    if name == "vault":
        command.vault = value
    else:
        command.params[name] = kind(value)
    return True


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= LONGEST_NUMBER


def _through_daemon(path: str, folder: str | None, command: FastCommand) -> int:
    """Call the daemon at the socket `path`, print the answer, return the exit code."""

    def call(name: str, params: dict[str, Any]) -> dict[str, Any]:
        return socket_client.call(path, name, params, owner=True, folder=folder)

    if command.name == "observe":
        from engram.serve.observe import exit_code, observe

        result = observe(sys.stdin, call)
    else:
        result = call(command.name, command.params)
    display(
        command.name,
        result,
        command.vault,
        as_json=command.as_json,
        explain=bool(command.params.get("explain")),
    )
    return exit_code(result) if command.name == "observe" else 0
