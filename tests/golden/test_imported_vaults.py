"""Whole conversations, imported twice: the second time changes no byte, and in Obsidian
nothing leads nowhere.
"""

from __future__ import annotations

import gzip
import json
from datetime import datetime
from itertools import islice
from pathlib import Path

import pytest

from engram.ingest.importers import read_export
from engram.serve import observe
from engram.vault.template import create_vault, shipped
from tests.fakes.obsidian import broken_links, orphan_boxes
from tests.size import FULL

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "bench" / "data"
LOCOMO = DATA / "locomo-dev.json"
LONGMEMEVAL = DATA / "longmemeval-s-dev.jsonl.gz"
QUESTIONS = 2 if FULL else 1
"""How many of the 56 haystacks of LongMemEval; each holds some 500 turns."""
TALKS = 4 if FULL else 1
"""How many of the four conversations of LoCoMo; each holds some 500 turns."""


@pytest.fixture
def vault(settings):
    """As `engram init` makes it."""
    create_vault(settings.vault, settings.vault_id, shipped("vault_template"))
    return settings.vault


def beside(path):
    """The file, where the conversations are at hand."""
    if not path.is_file():
        reason = f"{path.name} is not beside this checkout"
        print(f"skipped: {reason}")  # noqa: T201
        pytest.skip(reason)
    return path


def tree(vault):
    return {
        path.relative_to(vault).as_posix(): path.read_bytes()
        for path in vault.rglob("*")
        if path.is_file()
    }


def imported(memory, path):
    """What `engram import` does; how many turns were new."""
    result = observe.feed(read_export(path, memory.settings.zone), memory.call)
    assert not result["refused"]
    return result["stored"]


def imported_twice(path, vault, opened, clock):
    """The second time a day later, in another process."""
    memory = opened()
    assert imported(memory, path) > 0
    # how memories were used is written with this, at the latest when the process ends
    memory.save()
    before = tree(vault)
    assert memory.call("doctor", {}) == {"healthy": True, "findings": []}
    clock.advance(days=1)
    memory = opened()
    assert imported(memory, path) == 0
    assert tree(vault) == before
    assert memory.call("doctor", {})["healthy"]
    assert memory.call("stats", {})["facts"] > 0
    assert list(vault.glob("boxes/*/*.md"))
    assert list(vault.glob("entities/*/*.md"))


def haystacks(path, count):
    """Sessions of LongMemEval as JSON lines; a turn without words is none."""
    with (
        gzip.open(beside(LONGMEMEVAL), "rt", encoding="utf-8") as lines,
        path.open("w", encoding="utf-8") as out,
    ):
        for question in map(json.loads, islice(lines, count)):
            names, days = question["haystack_session_ids"], question["haystack_dates"]
            for name, day, turns in zip(
                names, days, question["haystack_sessions"], strict=True
            ):
                told = {
                    "session": f"{question['question_id']} {name}",
                    "occurred_at": datetime.strptime(  # noqa: DTZ007
                        day, "%Y/%m/%d (%a) %H:%M"
                    ).isoformat(),
                }
                for number, turn in enumerate(turns):
                    said = told | {
                        "id": str(number),
                        "role": turn["role"],
                        "text": turn["content"],
                    }
                    out.write(
                        json.dumps(said) + "\n" if turn["content"].strip() else ""
                    )
    return path


# row: X28
# row: B1
# row: C31
# row: C32
@pytest.mark.parametrize(
    "path", ["examples/three-weeks.jsonl", "benchmarks/write/conversation.jsonl"]
)
def test_an_import_is_whole_and_done_again_changes_no_byte(path, vault, opened, clock):
    """Every link leads to one place, every box has memories and a trace."""
    imported_twice(ROOT / path, vault, opened, clock)
    assert broken_links(vault) == []
    assert orphan_boxes(vault) == []


# row: X28
def test_long_conversations_are_whole_and_imported_again_change_no_byte(
    vault, opened, clock, tmp_path
):
    """LoCoMo: two people over months."""
    path = tmp_path / "talks.json"
    path.write_text(json.dumps(json.loads(beside(LOCOMO).read_text())[:TALKS]))
    imported_twice(path, vault, opened, clock)
    assert broken_links(vault) == []
    assert orphan_boxes(vault) == []


# row: X28
def test_haystacks_of_a_chatbot_are_whole_and_imported_again_change_no_byte(
    vault, opened, clock, tmp_path
):
    """LongMemEval: tables, code and lists from an assistant, in dozens of sessions."""
    imported_twice(haystacks(tmp_path / "turns.jsonl", QUESTIONS), vault, opened, clock)
    assert broken_links(vault) == []
    assert orphan_boxes(vault) == []


NOTE = (
    "# Plans\n\n## For *May*: all\n\nWords.\n\n^t1\n\ntext ^t2\n\n```\n^t3\n# no\n```\n"
)


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("[[note]] ![[Note]] [[Folder/note|that]] [[folder/note.md]]", 0),
        (
            "[[note#^t1]] ![[note#^t2]] [[note#Plans]] [[note#Plans#For *May* all|May]]",
            0,
        ),
        ("# Here\n\n[[#Here]] and\n\n^b\n\n[[#^b]]", 0),
        ("![[list.base]] [[list.base#Open]] [[list.base\\|List]]", 0),
        ("`[[no]]` \\[[no]]\n\n```\n[[no]]\n```\n\n%% [[no]] %%", 0),
        ("> ```\n> [[no]]\nlazy\n\n[[note]]", 0),
        ('---\nabout:\n  - "[[note]]"\nsource: "[[note#^t1]]"\n---\n', 0),
        ('---\nabout: ["[[gone]]"]\n---\n', 1),
        ("---\nabout: [[note]]\nsource:\n  - [[note]]\n---\n", 2),
        ("[[gone]] ![[gone.base]] [[gone/note]]", 3),
        ("[[note#^t3]] [[note#^t9]] [[note#no]] [[list.base#Closed]]", 4),
        ("[[twice]]", 1),
        ("> ```\n> [[no]]\n\n[[gone]]", 1),
        ("```\n~~~\n```\n[[gone]]", 1),
        ("[[.trash/old]] [[old]]", 2),
    ],
)
def test_the_link_checker_sees_what_obsidian_sees(tmp_path, text, broken):
    """A checker that finds nothing must be able to find something."""
    files = {
        "folder/note.md": NOTE,
        "a/twice.md": "",
        "b/Twice.md": "",
        ".trash/old.md": "",
        "list.base": "views:\n  - name: Open\n",
        "asks.md": text,
    }
    for name, words in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(words)
    assert len(broken_links(tmp_path)) == broken


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, 0),
        ({"facts/one.md": None, "facts/two.md": None}, 1),
        ({"traces/t.md": "- [[other]]\n"}, 2),
        ({"traces/t.md": ""}, 2),
        ({"traces/t.md": None}, 1),
        ({"boxes/b.md": None}, 1),
        ({"boxes/b.md": '---\ntrace: "[[t]]"\n---\n- [[t]]\n'}, 1),
    ],
)
def test_the_box_checker_sees_what_is_missing(tmp_path, change, found):
    """A box without memories, a trace without its box, and neither."""
    files = {
        "facts/one.md": "One.",
        "facts/two.md": "Two.",
        "boxes/b.md": '---\ntrace: "[[t]]"\n---\n- [[one]]\n- [[two]]\n',
        "traces/t.md": "- [[b]]\n",
    }
    for name, words in (files | change).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        if words is not None:
            (tmp_path / name).write_text(words)
    assert len(orphan_boxes(tmp_path)) == found
