"""The command `engram`: a short way for what chatbots call often, the whole tree for
everything else.

The short way understands the plain forms of `recall`, `remember` and `observe` and
sends them to a running daemon without loading the command library, the table of
operations or the configuration; together they cost several times more than starting
Python. Whatever it is not sure of goes to `commands`.
"""

from __future__ import annotations

import io
import os
import sys

from engram.errors import EngramError
from engram.serve import socket_client
from engram.serve.output import INTERRUPTED, fault_shown, put, shown, surprise

TYPE_CHECKING = False  # loading typing would slow each call of the command line
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

WORDS: dict[str, dict[str, tuple[str, type]]] = {
    "recall": {
        "-k": ("k", int),
        "--budget": ("budget", int),
        "--milliseconds": ("milliseconds", int),
        "--preset": ("preset", str),
        "--session": ("session", str),
        "--persona": ("persona", str),
        "--as-of": ("as_of", str),
        "--now": ("now", str),
        "--archive": ("archive", bool),
        "--explain": ("explain", bool),
    },
    "remember": {
        "--persona": ("persona", str),
        "--category": ("category", str),
        "--pinned": ("pinned", bool),
    },
    "observe": {},
}
"""The plain forms of the three verbs; a test holds them equal to the tree."""


LONGEST_NUMBER = 9
"""Digits of the largest number that any option takes."""


class FastCommand:
    """A command line that the short way understood."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.params: dict[str, Any] = {}
        self.vault: str | None = None
        self.as_json = False


def main() -> None:
    """Run the command line; the process ends with the fault's exit code."""
    _mend_streams()
    try:
        sys.exit(_run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _mend_streams() -> None:
    """What is closed leads nowhere, and letters that the output does not have become
    `?`.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _run(argv: Sequence[str]) -> int:
    asked = plain(argv)
    path = (
        socket_client.socket_of(asked.vault, os.environ)
        if asked and "_ENGRAM_COMPLETE" not in os.environ
        else None
    )
    if asked is None or path is None or not socket_client.answers(path):
        from engram.serve.commands import run

        return run(argv)
    sys.excepthook = surprise
    try:
        return _through(path, socket_client.folder_of(asked.vault, os.environ), asked)
    except EngramError as fault:
        sys.stderr.write(fault_shown(fault, as_json=asked.as_json) + "\n")
        return fault.exit_code


def plain(argv: Sequence[str]) -> FastCommand | None:
    """What a plain command line asks for; None for every form that is left to the whole
    tree.
    """
    if not argv or argv[0] not in WORDS:
        return None
    asked = FastCommand(argv[0])
    statements: list[str] = []
    rest = iter(argv[1:])
    for word in rest:
        if not word.startswith("-"):
            statements.append(word)
        elif not _option(asked, word, rest):
            return None
    if len(statements) != (0 if asked.name == "observe" else 1):
        return None
    for statement in statements:
        asked.params["query" if asked.name == "recall" else "text"] = statement
    return asked


def _option(asked: FastCommand, word: str, rest: Iterator[str]) -> bool:
    """Take in an option and its value; False if this is no plain form."""
    if word == "--json":
        asked.as_json = True
        return True
    name, kind = (WORDS[asked.name] | {"--vault": ("vault", str)}).get(word, ("", str))
    if kind is bool:
        asked.params[name] = True
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
        asked.vault = value
    else:
        asked.params[name] = kind(value)
    return True


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= LONGEST_NUMBER


def _through(path: str, folder: str | None, asked: FastCommand) -> int:
    def call(name: str, params: dict[str, Any]) -> dict[str, Any]:
        return socket_client.call(path, name, params, owner=True, folder=folder)

    if asked.name == "observe":
        from engram.serve.observe import exit_code, observe

        result = observe(sys.stdin, call)
    else:
        result = call(asked.name, asked.params)
    put(
        shown(
            asked.name,
            result,
            as_json=asked.as_json,
            explain=bool(asked.params.get("explain")),
        )
    )
    return exit_code(result) if asked.name == "observe" else 0
