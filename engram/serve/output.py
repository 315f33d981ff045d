"""Prints results and errors: on a terminal, in a pipe, or as JSON.

The text of each result comes from `engram.serve.render`. The module imports little: the
fast path of the command line loads it.
"""

from __future__ import annotations

import json
import os
import sys

from engram.errors import (
    BusyError,
    EngramError,
    MisdirectedError,
    StorageError,
    UnavailableError,
)
from engram.serve.render import lines_of

TYPE_CHECKING = False  # loading typing would slow each call of the command line
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

INTERRUPTED = 130
"""The exit code after Ctrl-C, as in shells."""

_CONTROL_CHARACTERS = dict.fromkeys(
    [*range(9), *range(11, 32), *range(127, 160)], "\N{REPLACEMENT CHARACTER}"
)
"""Characters of a stored text that could control the terminal."""


def shown(
    name: str,
    result: Mapping[str, Any],
    *,
    as_json: bool = False,
    explain: bool = False,
    verbose: bool = False,
) -> str:
    """Return the result of the command `name` as text, or as one JSON object.

    With `explain` the hits of `recall` include their scores; with `verbose` commands
    that leave fields out print all of them.
    """
    if as_json:
        return json.dumps(result, ensure_ascii=False, indent=2)
    lines = lines_of(name, result, explain=explain, verbose=verbose)
    text = "\n".join(lines).translate(_CONTROL_CHARACTERS)
    if "/" not in text:
        return text
    from engram.serve import spans

    return spans.in_words(text)


def naming(words: str, vault: object) -> str:
    """Return `words` with the vault that the call named in the commands that they give.

    Commands that name their own folder stay as they are.
    """
    if not vault or "`engram " not in words:
        return words
    import re
    import shlex

    named = f"`engram --vault {shlex.quote(str(vault))} "
    return re.sub(r"`engram (?!init|[^`]*--vault)", lambda _: named, words)


def display(
    name: str, result: Mapping[str, Any], vault: object = None, **form: bool
) -> None:
    """Print a result; the options are those of `shown`.

    Hints, which are lines that begin with a command, name the `vault` that the call
    named. On a terminal the text is wrapped, coloured and, if it is long, paged.
    """
    text = shown(name, result, **form)
    if vault and not form.get("as_json"):
        lines = text.split("\n")
        text = "\n".join(
            naming(line, vault) if line.startswith("`engram ") else line
            for line in lines
        )
    if sys.stdout.isatty() and not form.get("as_json"):
        from engram.serve import terminal

        if terminal.is_attended():
            text = terminal.dressed(text, terminal.width())
            if terminal.paged(text):
                return
    put(text)


def surprise(kind: type[BaseException], fault: BaseException, _trace: object) -> None:
    """Print an unexpected exception; for `sys.excepthook`."""
    words = EngramError(
        f"an unexpected {kind.__name__}: {fault}",
        fix="Run it again with --debug and report the output.",
    )
    sys.stderr.write(fault_shown(words) + "\n")


def put(text: str) -> None:
    """Print a result; stop silently if the reader closed the pipe.

    Raises StorageError if it cannot be written, as on a full disk.
    """
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError as fault:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())  # Python flushes again when it exits
        if not isinstance(fault, BrokenPipeError):
            fix = "The command was carried out; only its result was not printed."
            raise StorageError(
                "the output cannot be written", where=fault.strerror or "", fix=fix
            ) from fault


def fault_shown(
    fault: EngramError, *, as_json: bool = False, vault: object = None
) -> str:
    """Return an error as text: what happened, where, the fix, and its code.

    Commands of the fix name the `vault` that the call named.
    """
    if as_json:
        return json.dumps({"error": fault_fields(fault)}, ensure_ascii=False)
    lines = [f"engram: {fault.what}"]
    if fault.where:
        lines.append(f"  where: {fault.where}")
    if fault.fix:
        lines.append(f"  to do: {naming(fault.fix, vault)}")
    return "\n".join([*lines, f"  code:  {fault.code}"]).translate(_CONTROL_CHARACTERS)


def fault_fields(fault: EngramError) -> dict[str, str]:
    """Return an error as the fields for the command line and for HTTP."""
    return {
        "code": fault.code,
        "what": fault.what,
        "where": fault.where,
        "fix": fault.fix,
    }


PROBLEM_TYPE = "application/problem+json"
"""The media type of errors over HTTP (RFC 9457)."""


def problem(fault: EngramError, status: int | None = None) -> dict[str, Any]:
    """Return an error as a problem document, with its fields under `error` too."""
    detail = ". ".join(words for words in (fault.where, fault.fix) if words)
    return {
        "type": "about:blank",
        "title": fault.what,
        "status": status or fault.status,
        "detail": detail,
        "error": {**fault_fields(fault), "message": str(fault)},
    }


def fault_headers(fault: EngramError) -> dict[str, str]:
    """Return when to try again, or which daemon to ask, as headers of a response."""
    if isinstance(fault, BusyError | UnavailableError) and fault.retry_after:
        return {"retry-after": str(fault.retry_after)}
    if isinstance(fault, MisdirectedError):
        return {"engram-owner": fault.where}
    return {}
