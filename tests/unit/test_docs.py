"""The pages say what the program is."""

from __future__ import annotations

import importlib.util
import re
import string
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
_spec = importlib.util.spec_from_file_location(
    "generate", ROOT / "docs" / "generate.py"
)
generate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generate)
NAMED = generate.named_tests()
ROWS = {
    cells[0]: cells[1:]
    for line in (ROOT / "docs" / "rows.md").read_text().splitlines()
    if re.match(r"\| [A-Z]\d+ \|", line)
    for cells in [line.strip("| ").split(" | ")]
}


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_generated_page_is_what_the_program_would_write_now(name):
    """`make docs` brings it up to date."""
    assert (ROOT / "docs" / name).read_text() == generate.PAGES[name]()


def test_every_key_is_on_the_page_of_its_file():
    """And every variable that stands for one."""
    from engram.config import keys

    vault, _, user = generate.config_page().partition("## Your own")
    for key in keys():
        assert f"| `{key.name}` |" in (vault if key.place == "vault" else user)
        assert not key.env or f"| `{key.env}` |" in user


def test_every_row_that_a_test_names_is_in_the_table_and_the_other_way_round():
    """A row without a test is a claim."""
    assert set(NAMED) == set(ROWS)


def test_every_comment_stands_above_a_test():
    """A row that is named where nothing follows would count for nothing."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        comments = set(re.findall(r"^# row: (\w+)$", path.read_text(), re.MULTILINE))
        name = path.relative_to(ROOT).as_posix()
        assert comments == {
            row
            for row, tests in NAMED.items()
            if any(test.startswith(f"{name}::") for test in tests)
        }
        assert not re.search(
            r"#\s*row\b(?!: \w+$)", path.read_text(), re.MULTILINE
        ) or path == Path(__file__)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_names_modules_that_exist(row):
    """Where it is done."""
    _, modules, _ = ROWS[row]
    assert modules.split()
    assert all((ROOT / module).is_file() for module in modules.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page):
    """As a file, or as a function in it."""
    for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text()):
        assert (ROOT / path).is_file(), path
        assert not name or re.search(
            rf"^def {name}\(", (ROOT / path).read_text(), re.MULTILINE
        ), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page):
    """To a file, and to a heading in it."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"(?<!!)\[[^\]\[]+\]\(([^)]+)\)", text):
        path, _, heading = link.partition("#")
        if "://" not in link:
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not heading or heading in map(
                _anchor, re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            )


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
