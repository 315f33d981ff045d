"""Write the pages that follow from the program: configuration, policy and command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from engram.config import Key, keys
from engram.core.policy import Policy, rows
from engram.serve.reference import cli_reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DOCS = Path(__file__).parent
WRITTEN = "This page is written from the program itself by `make docs`."

FILES = {
    "vault": (
        "In the vault: `engram.toml`",
        "It travels with the vault, so it may hold only what is harmless on another machine.",
    ),
    "user": (
        "Your own: `~/.config/engram/config.toml`",
        "Everything that names a place, a port, a server or a key. It is refused in a vault.",
    ),
}

ENVIRONMENT = (
    (
        "ENGRAM_HOME",
        "one folder for configuration (`config.toml`), state, cache and socket, instead of the next four",
    ),
    ("XDG_CONFIG_HOME", "where `engram/config.toml` stands; else `~/.config`"),
    ("XDG_STATE_HOME", "where the journal and the lock stand; else `~/.local/state`"),
    ("XDG_CACHE_HOME", "where the index stands; else `~/.cache`"),
    ("XDG_RUNTIME_DIR", "where the socket stands; else below the state folder"),
    (
        "ENGRAM_API_KEY",
        "the model's key, when no `model.api_key_file` and no systemd credential gives it",
    ),
    ("OPENAI_API_KEY", "the same, after `ENGRAM_API_KEY`; alone it starts no model"),
    ("CREDENTIALS_DIRECTORY", "set by systemd: the folder of the credential `api_key`"),
    ("TZ", "the time zone where `zone` is empty"),
)


def config_page() -> str:
    """`docs/config.md`: every key by the file that may hold it, and every variable."""
    parts = [
        "# Configuration\n",
        f"{WRITTEN} No file is needed: every key has a default.\n",
        "A key whose name has a dot stands in the section before the dot (`[buffer]`, then `turns = 5`). A variable of",
        "the environment goes before your own file. Every problem is reported at once, with a suggestion, and nothing",
        "starts until all are mended. `engram config show` prints what holds, `engram config explain KEY` one key.",
        "[Every other number](policy.md) has its place in the code.\n",
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
        (f"`{key.env}`", f"goes before `{key.name}`") for key in keys() if key.env
    ]
    variables += [(f"`{name}`", meaning) for name, meaning in ENVIRONMENT]
    return "\n".join(
        [*parts, "## Environment\n", *_table(("Variable", "Meaning"), variables), ""]
    )


def policy_page() -> str:
    """`docs/policy.md`: every number of the program."""
    parts = [
        "# Numbers\n",
        f"{WRITTEN}\n",
        "A number with a key may be [set](config.md); the others change in `engram/core/policies/` only. The source is",
        "a [capability row](rows.md), or the part of the design that the number comes from.",
    ]
    concern = ""
    for row in rows(Policy()):
        if row.concern != concern:
            concern = row.concern
            parts += [
                f"\n## {concern}\n",
                "| Number | Default | Unit | Range | Source | Meaning | Key |",
            ]
            parts.append("|---|---|---|---|---|---|---|")
        span = f"{_number(row.low)} to {_number(row.high)}"
        key = f"`{row.key}`" if row.key else ""
        cells = (
            f"`{row.name}`",
            _number(row.value),
            row.unit,
            span,
            row.source,
            row.meaning,
            key,
        )
        parts.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join([*parts, ""])


def rows_page() -> str:
    """`docs/rows.md`: as it stands, with the tests that name each row."""
    named = named_tests()
    lines = (DOCS / "rows.md").read_text("utf-8").splitlines()
    return "".join(f"{_with_tests(line, named)}\n" for line in lines)


def named_tests() -> dict[str, list[str]]:
    """Row → node ids of the tests below a comment `# row: …`."""
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


PAGES = {
    "config.md": config_page,
    "policy.md": policy_page,
    "cli.md": cli_reference,
    "rows.md": rows_page,
}


def main() -> None:
    """Write every page anew."""
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
    """Without exponent, and without a fraction that says nothing."""
    return str(int(value)) if value == int(value) else str(value)


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return [f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *cells]]


if __name__ == "__main__":
    main()
