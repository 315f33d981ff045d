"""The pages say what the program is."""

from __future__ import annotations

import ast
import importlib.util
import json
import pydoc
import re
import string
import tomllib
from collections import defaultdict
from pathlib import Path

import click

from engram import Memory, __version__
from engram.serve.commands import tree
from engram.serve.http import openapi
from engram.serve.mcp.tools import TOOLS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
_spec = importlib.util.spec_from_file_location(
    "generate", ROOT / "docs" / "generate.py"
)
generate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generate)
ABOUT_ROWS = {"contributing", "rows"}
COMMENTS = {
    path: re.findall(r"^# row: (\w+)$", path.read_text(), re.MULTILINE)
    for path in (ROOT / "tests").rglob("test_*.py")
}
ROWS = re.findall(
    r"^- ([A-Z]\d+): ", (ROOT / "docs" / "rows.md").read_text(), re.MULTILINE
)


def test_generated_pages_are_up_to_date():
    """`make docs` writes them anew."""
    assert not [
        name
        for name, written in generate.PAGES.items()
        if (ROOT / "docs" / name).read_text() != written()
    ]


def test_no_line_of_the_help_is_cut():
    assert "..." not in generate.help_page().partition("\n")[2]


def test_every_key_is_on_the_page_of_its_file():
    from engram.config import keys

    vault, _, user = generate.config_page().partition("## Your own")
    for key in keys():
        assert f"- `{key.name}` (" in (vault if key.place == "vault" else user)
        assert not key.env or f"`{key.env}`" in user


def test_the_page_has_each_row_that_a_test_names_once_in_order():
    """A row without a test is a claim."""
    named = {row for rows in COMMENTS.values() for row in rows}
    assert sorted(named, key=lambda row: (row[0], int(row[1:]))) == ROWS


def test_every_comment_stands_above_a_test():
    """A row that is named where nothing follows would count for nothing."""
    above = r"^# row: \w+\n(?=(?:(?:#|@| |\)|\]).*\n|\n)*def test_)"
    for path, rows in COMMENTS.items():
        text = path.read_text()
        assert len(re.findall(above, text, re.MULTILINE)) == len(rows), path
        odd = re.search(r"#\s*row\b(?!: \w+$)", text, re.MULTILINE)
        assert not odd or path == Path(__file__)


def test_a_row_is_named_on_its_page_and_to_readers_of_the_code_alone():
    """Not in what is printed: help, OpenAPI, the tools of MCP, the other pages."""
    shown = {
        page.name: page.read_text() for page in PAGES if page.stem not in ABOUT_ROWS
    }
    shown |= {name: written() for name, written in generate.PAGES.items()}
    shown |= {"Memory": pydoc.plain(pydoc.render_doc(Memory))}
    shown |= {"OpenAPI": json.dumps(openapi()), "MCP": json.dumps(TOOLS)}
    shown |= {
        path: command.get_help(click.Context(command))
        for path, command in every_command()
    }
    named = re.compile(rf"\b(?:{'|'.join(ROWS)})\b")
    assert {
        name: found for name, text in shown.items() if (found := named.findall(text))
    } == {}


def every_command(group=tree, path="engram"):
    """Each command with its path, those of groups too."""
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from every_command(command, f"{path} {name}")


def test_each_test_that_a_page_names_exists():
    """As a file, or as a function in it."""
    offenders = []
    for page in PAGES:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text())
        offenders += [
            f"{page.name}: {path}::{name}"
            for path, name in named
            if not _is_test(ROOT / path, name)
        ]
    assert not offenders


def test_each_variable_that_an_example_reads_is_set_on_its_page():
    """Unless it is one of the configuration."""
    from engram.config import keys

    known = {key.env for key in keys()}
    read = re.compile(r"""(?:environ\["|\$)(ENGRAM_\w+)""")
    texts = {page.name: page.read_text() for page in PAGES}
    assert {
        (page, name)
        for page, text in texts.items()
        for name in {*read.findall(text)} - known
        if f"export {name}=" not in text
    } == set()


def test_each_command_on_a_page_exists_with_its_options():
    """`engram consolidate --nightly`, in running text and in blocks."""
    from engram.serve import commands

    offenders = []
    for page in PAGES:
        code = "\n".join(
            re.findall(r"(?ms)^ *```.*?^ *```|`[^`\n]+`", page.read_text())
        )
        for line in re.findall(r"(?m)^[ $`]*engram ([a-z][^`#\n]*)", code):
            group, words = commands.tree, line.split()
            while words and words[0] in getattr(group, "commands", ()):
                group = group.commands[words.pop(0)]
            kinds = {param.param_type_name for param in group.params}
            options = {word for word in words if re.match(r"--?[a-z]", word)}
            options -= {opt for param in group.params for opt in param.opts}
            extra = words and words[0][0] not in "-…" and "argument" not in kinds
            if group is commands.tree or options or extra:
                offenders.append(f"{page.name}: engram {line}")
    assert not offenders


def _is_test(path: Path, name: str) -> bool:
    if not path.is_file():
        return False
    definition = re.compile(rf"^def {name}\(", re.MULTILINE)
    return not name or definition.search(path.read_text()) is not None


def test_each_link_of_a_page_leads_somewhere():
    """To a file, and to a heading in it."""
    offenders = [
        f"{page.name}: {link}"
        for page in PAGES
        for link in _links(page.read_text())
        if "://" not in link and not _leads_somewhere(page, link)
    ]
    assert not offenders


def _links(page: str) -> list[str]:
    text = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"(?<!!)\[[^\]\[]+\]\(([^)]+)\)", text)


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return False
    headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
    return not heading or heading in map(_anchor, headings)


def _anchor(heading: str) -> str:
    kept = heading.casefold().translate(
        str.maketrans("", "", string.punctuation.replace("-", ""))
    )
    return kept.replace(" ", "-")


def test_the_words_for_faults_are_those_of_the_program():
    """The table of the design has each code with its status and exit code."""
    from engram import errors

    text = (ROOT / "docs" / "design.md").read_text()
    rows = [
        [part.split(", ") for part in line.strip("| ").split(" | ")[:3]]
        for line in text.splitlines()
        if re.match(r"\| [a-z-]+(?:, [a-z-]+)? \| \d{3}", line)
    ]
    told = {
        code: (int(statuses[min(n, len(statuses) - 1)]), int(exits[0]))
        for codes, statuses, exits in rows
        for n, code in enumerate(codes)
    }
    known = {
        kind.code: (kind.status, kind.exit_code)
        for kind in vars(errors).values()
        if isinstance(kind, type)
        and issubclass(kind, errors.EngramError)
        and kind.code != "internal"
    }
    assert told == known


def test_each_function_and_method_on_the_design_pages_exists():
    """`lifecycle.protection` in a module of that name, `Decider.screen` in a class."""
    known = _definitions()
    named = {
        (page, *match.groups())
        for page in ("contributing.md", "design.md")
        for match in re.finditer(
            r"`(\w+)\.(\w+)(?:\([^`]*)?`", (ROOT / "docs" / page).read_text()
        )
        if match[2] not in {"md", "py", "toml"} | {"method"}
    }
    assert not sorted(
        name for name in named if name[2] not in known.get(name[1], set())
    )
    assert len(named) > 20


def _definitions() -> dict[str, set[str]]:
    """The names in each module and in each class of the program."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "engram").rglob("*.py"):
        tree = ast.parse(path.read_text())
        found[path.stem] |= _names_in(tree)
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name] |= _names_in(node)
    return found


def _names_in(scope: ast.Module | ast.ClassDef) -> set[str]:
    names = {node.name for node in scope.body if hasattr(node, "name")}
    return names | {
        target.id
        for node in scope.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in getattr(node, "targets", [getattr(node, "target", None)])
        if isinstance(target, ast.Name)
    }


def test_each_change_of_the_contributors_page_needs_three_files_that_exist():
    page = (ROOT / "docs" / "contributing.md").read_text()
    named = [
        re.findall(r"`(engram/[\w/.]+)`", line)
        for line in page.splitlines()
        if line.startswith("Files:")
    ]
    offenders = [
        files
        for files in named
        if not 1 <= len(files) <= 3 or not all((ROOT / name).exists() for name in files)
    ]
    assert len(named) == 8
    assert not offenders


# row: X37
def test_what_is_published_agrees_on_name_version_and_addresses():
    """Of the package, of the entry in the registry of MCP servers, and of the pages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entry = json.loads((ROOT / "server.json").read_text())
    (package,) = entry["packages"]
    assert (package["identifier"], package["version"]) == (project["name"], __version__)
    assert entry["version"] == __version__
    assert f"mcp-name: {entry['name']}" in (ROOT / "README.md").read_text()
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()
    home = project["urls"]["Homepage"]
    assert entry["repository"]["url"] == home
    assert all(address.startswith(home) for address in project["urls"].values())


# row: X37
def test_the_container_starts_commands_that_there_are():
    """The unit mounts what the image declares, and adds no right."""
    image = (ROOT / "Containerfile").read_text()
    unit = (ROOT / "systemd" / "engram.container").read_text()
    (volumes,) = re.findall(r"^VOLUME (\[.*\])$", image, re.MULTILINE)
    mounted = re.findall(r"^Volume=[^:]+:([^:\n]+)", unit, re.MULTILINE)
    assert sorted(json.loads(volumes)) == sorted(mounted)
    (command,) = re.findall(r"^CMD (\[.*\])$", image, re.MULTILINE)
    assert {"daemon", "init"} <= tree.commands.keys()
    assert json.loads(command)[0] == "daemon"
    assert "DropCapability=all" in unit
    assert "USER 1000" in image
