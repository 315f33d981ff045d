"""Generate the pages on configuration, policy numbers, command line and rows."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from engram.config import Key, keys
from engram.core.policy import Policy, rows
from engram.operations import signature
from engram.operations import table as operations
from engram.serve.reference import cli_reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
        "A key with a dot belongs to the section before the dot (`[buffer]`, then `turns = 5`). Environment variables",
        "override the user's file. All problems are reported at once, with suggestions, and must be fixed before engram",
        "starts. `engram config show` prints the effective settings, `engram config explain KEY` one key.",
        "[All other numbers](policy.md) are set in the code.\n",
    ]
    for place, (title, words) in FILES.items():
        own = [key for key in keys() if key.place == place]
        table = [
            (f"`{key.name}`", _kind(key), _shown(key), _meaning(key)) for key in own
        ]
        parts += [
            f"## {title}\n",
            f"{words}\n",
            *_table(("Key", "Kind", "Default", "Meaning"), table),
            "",
        ]
    variables = [
        (f"`{key.env}`", f"overrides `{key.name}`") for key in keys() if key.env
    ]
    variables += [(f"`{name}`", meaning) for name, meaning in ENVIRONMENT]
    return "\n".join(
        [*parts, "## Environment\n", *_table(("Variable", "Meaning"), variables), ""]
    )


def policy_page() -> str:
    """Return `docs/policy.md`: every number of the program."""
    parts = [
        "# Numbers\n",
        f"{WRITTEN} The numbers are set in `engram/core/policy.toml`; one whose key",
        "is given in brackets can be [configured](config.md). *Row* is a [capability row](rows.md) or a part of the design.",
    ]
    for concern, numbers in groupby(rows(Policy()), key=lambda row: row.concern):
        parts += [
            f"\n## {concern}\n",
            "|Number|Default|Range|Row|Meaning|",
            "|---|---|---|---|---|",
        ]
        for row in numbers:
            key = f" (`{row.key}`)" if row.key else ""
            unit = "" if row.unit == "1" else f" {row.unit}"
            span = f"{_number(row.low)}–{_number(row.high)}"
            parts.append(
                f"|`{row.name}`{key}|{_number(row.value)}{unit}|{span}|{row.source}|{row.meaning}|"
            )
    return "\n".join([*parts, ""])


def rows_page() -> str:
    """Return the present `docs/rows.md` with the tests of each row filled in."""
    named = named_tests()
    lines = (DOCS / "rows.md").read_text("utf-8").splitlines()
    return "".join(f"{_with_tests(line, named)}\n" for line in lines)


def named_tests() -> dict[str, list[str]]:
    """Return the node ids of the tests below a comment `# row: …`, by row."""
    found: dict[str, list[str]] = {}
    for path in sorted((DOCS.parent / "tests").rglob("test_*.py")):
        wanted: list[str] = []
        for line in path.read_text("utf-8").splitlines():
            if comment := re.fullmatch(r"# row: (\w+)", line):
                wanted.append(comment[1])
            elif wanted and (test := re.match(r"def (test_\w+)", line)):
                for row in wanted:
                    found.setdefault(row, []).append(
                        f"{path.relative_to(DOCS.parent).as_posix()}::{test[1]}"
                    )
                wanted = []
    return found


def _with_tests(line: str, named: Mapping[str, list[str]]) -> str:
    cells = line.split(" | ")
    row = cells[0].removeprefix("| ")
    if len(cells) < 4 or not re.fullmatch(r"[A-Z]\d+", row):
        return line
    tests = "<br>".join(f"`{test}`" for test in named.get(row, []))
    return " | ".join([*cells[:3], f"{tests} |"])


TYPES = {
    "text": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "time": "datetime | str",
    "list": "Sequence[str]",
    "turns": "Sequence[dict[str, Any]]",
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


PAGES = {
    "../engram/serve/methods.pyi": methods,
    "../engram/operations/table.json": signature.table,
    "config.md": config_page,
    "policy.md": policy_page,
    "cli.md": cli_reference,
    "rows.md": rows_page,
}


def main() -> None:
    """Write all generated pages."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")


def _kind(key: Key) -> str:
    return {
        str: "text",
        int: "whole number",
        float: "number",
        bool: "true or false",
        list: "list of texts",
    }[key.kind]


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


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return [f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *cells]]


if __name__ == "__main__":
    main()
