"""Generate the pages on configuration and command line."""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engram.config import Key, keys
from engram.operations import signature
from engram.operations import table as operations
from engram.serve import commands  # noqa: F401
from engram.serve.command_group import COMMON, tree

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parent
WRITTEN = "This page is generated from the program by `make docs`."

FILES = {
    "vault": (
        "In the vault: `engram.toml`",
        "This file is part of the vault and may contain only keys that are harmless on another machine.",
    ),
    "user": (
        "Your own: `~/.config/engram/config.toml`",
        "All keys that name a folder, a port, a server or a secret. A vault may not contain them.",
    ),
}

ENVIRONMENT = (
    (
        "ENGRAM_HOME",
        "one folder for configuration (`config.toml`), state, cache and socket, instead of the next four",
    ),
    ("XDG_CONFIG_HOME", "folder of `engram/config.toml`; default `~/.config`"),
    ("XDG_STATE_HOME", "folder of the journal and the lock; default `~/.local/state`"),
    ("XDG_CACHE_HOME", "folder of the index; default `~/.cache`"),
    (
        "XDG_RUNTIME_DIR",
        "folder of the socket; default: `/run/user/<your number>` if that is there, else inside the state folder",
    ),
    (
        "ENGRAM_API_KEY",
        "the model's key, if neither `model.api_key_file` nor a systemd credential provides it",
    ),
    (
        "OPENAI_API_KEY",
        "the same, after `ENGRAM_API_KEY`; on its own it enables no model",
    ),
    ("CREDENTIALS_DIRECTORY", "set by systemd: folder of the credential `api_key`"),
    ("TZ", "the time zone if `zone` is empty"),
)


def config_page() -> str:
    """Return `docs/config.md`: each key, by file, and each environment variable."""
    parts = [
        "# Configuration\n",
        f"{WRITTEN} No file is needed: every key has a default.\n",
        "A key with a dot belongs to a section: `buffer.turns` is `turns` under `[buffer]`. Environment variables override",
        "the user's file. engram reports all problems at once and does not start with one. In brackets are the default and",
        "the environment variable.",
        "`engram config show` prints the settings in force, `engram config explain KEY` one key.",
        "All other numbers are rows of [policy.toml](../engram/core/policy.toml), with unit, range and meaning; `engram policy` prints them.\n",
    ]
    for place, (title, words) in FILES.items():
        own = (key for key in keys() if key.place == place)
        parts += [f"## {title}\n", f"{words}\n", *map(_line, own), ""]
    variables = [f"- `{name}`: {meaning}" for name, meaning in ENVIRONMENT]
    return "\n".join([*parts, "## Environment\n", *variables, ""])


def _line(key: Key) -> str:
    variable = f", also `{key.env}`" if key.env else ""
    return f"- `{key.name}` ({_shown(key)}{variable}): {_meaning(key)}"


HEAD = f"""# Command line

{WRITTEN} `engram COMMAND --help` explains the arguments and
options of a command. ID is the id of a memory, an unambiguous prefix of it, or its path. Each command takes `--vault`,
`--json` (print the result as JSON) and `--debug`.
"""
EXITS = """## Exit codes

- 0: done
- 1: an error in the program; or `doctor` found a problem
- 3: `status`: no daemon runs
- 64: the command line has the wrong form
- 65: a turn was refused and the others are stored; or an id is ambiguous; or a name is in use
- 66: there is no such memory, file or vault
- 69: the daemon is starting or stopping, or the model does not answer
- 74: the disk refused to read or write
- 75: another process has the vault open, or the queue is full: try again later
- 77: not allowed
- 78: the configuration cannot be used
- 130: interrupted

An error is printed on standard error: what happened, where, the fix, and a code; with `--json` as an object.
"""


def cli_page() -> str:
    """Return `docs/cli.md`: usage, effect and the names of the options of each command."""
    parts = [HEAD, cleandoc(tree.epilog or ""), ""]
    for name, command in sorted(tree.commands.items()):
        parts += _section(command, f"engram {name}")
    return "\n".join([*parts, EXITS])


def _section(command: click.Command, path: str) -> Iterator[str]:
    """Yield what a command does, then what its subcommands do."""
    context = click.Context(command, info_name=path)
    common = {names[0] for names, _ in COMMON}
    options = [
        f"`{param.opts[0]}`"
        for param in command.params
        if isinstance(param, click.Option) and param.opts[0] not in common
    ]
    pieces = command.collect_usage_pieces(context)
    usage = [piece for piece in pieces if piece != "[OPTIONS]"]
    yield f"## {' '.join([path, *usage])}\n"
    effect = " ".join(cleandoc(command.help or "").split())
    yield effect.partition(". ")[0].removesuffix(".") + ".\n"
    if options:
        yield " ".join(options) + "\n"
    for name, part in sorted(getattr(command, "commands", {}).items()):
        yield from _section(part, f"{path} {name}")


TYPES = {
    "text": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "time": "datetime | str",
    "list": "Sequence[str]",
    "objects": "Sequence[dict[str, Any]]",
}
METHODS = """# The types of `methods.py`, written by `make docs` from the table of operations.

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from engram.operations import results

class Methods:
    def call(self, operation: str, /, **params: Any) -> dict[str, Any]: ...
"""


def methods() -> str:
    """Return `engram/serve/methods.pyi`; `Memory` itself has `observe`."""
    made = [_method(one) for one in operations.OPERATIONS if one.name != "observe"]
    return METHODS + "".join(made)


def _method(operation: operations.Operation) -> str:
    """Return the lines of one method."""
    given = ["self"]
    for one in operation.params:
        if not one.positional and "*" not in given:
            given.append("*")
        kind = TYPES[one.kind] + (
            " | None" if not one.required and one.default is None else ""
        )
        given.append(
            f"{one.name}: {kind}" + ("" if one.required else f" = {one.default!r}")
        )
    words = ", ".join(given)
    return f"    def {operation.name}({words}) -> results.{operation.result}: ...\n"


def help_page() -> str:
    """Return `engram/serve/help.txt`, which `engram --help` prints without click."""
    context = click.Context(
        tree, info_name="engram", terminal_width=80, **tree.context_settings
    )
    return f"{tree.get_help(context)}\n"


PAGES = {
    "../engram/serve/help.txt": help_page,
    "../engram/serve/methods.pyi": methods,
    "../engram/operations/table.json": signature.table,
    "config.md": config_page,
    "cli.md": cli_page,
}


def main() -> None:
    """Write all generated pages."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")


def _shown(key: Key) -> str:
    if key.default in ("", []):
        return "empty"
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    return (
        f"`{key.default}`"
        if isinstance(key.default, str)
        else f"`{_number(key.default)}`"
    )


def _meaning(key: Key) -> str:
    choices = " or ".join(f"`{choice}`" for choice in key.choices if choice)
    return f"{key.meaning}: {choices}" if choices else key.meaning


def _number(value: float) -> str:
    """Return the number without exponent and without a zero fraction."""
    return str(int(value)) if value == int(value) else str(value)


if __name__ == "__main__":
    main()
