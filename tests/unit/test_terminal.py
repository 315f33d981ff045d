"""Results on a terminal: wrapped, coloured, plain without one; bars; details."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engram.serve import terminal
from engram.serve.commands import run
from engram.serve.commands.vault import stats
from engram.serve.output import shown
from engram.serve.render import details

ROOT = Path(__file__).parents[2]
COLOUR = re.compile(r"\033\[\d+m")
TEXT = """ 1. Anna lives in a house by the sea, which her grandmother built long ago
    fact · user (Mira) · 2026-03-18T18:21 · 01KM12XNC8Y4HBEJW76BM1EF4C
    “I live in the house that my grandmother built by the sea”
facts: 12"""


@pytest.mark.parametrize("width", [30, 40, 80, 400])
def test_a_result_is_wrapped_at_the_width_and_says_the_same(width):
    lines = terminal.dressed(TEXT, width).splitlines()
    plain = [COLOUR.sub("", line) for line in lines]
    assert " ".join(" ".join(plain).split()) == " ".join(TEXT.split())
    assert all(len(line) <= width or " " not in line.strip() for line in plain)
    assert all(line.startswith("    ") for line in plain[1:-1])


def test_a_path_is_never_broken_and_wide_letters_take_two_columns():
    path = "facts/2026-03-18/" + "x" * 90 + ".md"
    assert list(terminal.wrapped(f"    · {path}", 40))[-1].endswith(path)
    assert terminal.columns("安娜住在里斯本") == 14
    assert len(list(terminal.wrapped("安娜 住在 里斯 本的 海边 老屋 子里", 30))) == 2


def test_a_bar_tells_the_total_and_the_time_left():
    assert terminal.progress("import", 50, 200, 10).endswith(
        "50 of 200  25 %  30 s left"
    )
    assert terminal.progress("import", 0, 200, 10).endswith("0 of 200  0 %")
    assert terminal.progress("reindex", 0, 0, 75) == "reindex  1 min 15 s"
    assert terminal.duration(3700) == "1 h 1 min"


def test_many_refused_lines_do_not_flood_the_screen():
    refused = [f"line {number}: not JSON (Expecting value)" for number in range(40)]
    text = shown("observe", {"stored": 0, "duplicates": 0, "refused": refused})
    assert "line 4" in text
    assert "line 5" not in text
    assert "35 more" in text
    assert '{"text": "I like tea."}' in text
    assert "{" not in shown("import", {"stored": 3, "refused": refused[:2]})


def test_a_hand_written_note_is_listed_by_the_path_that_commands_take(memory, settings):
    path = settings.vault / "facts" / "own.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("I like the sea.\n")
    memory.catch_up()
    assert "· facts/own.md" in shown("list", memory.call("list", {}))
    found = memory.call("recall", {"query": "sea"})
    assert "· facts/own.md" in shown("recall", found)
    assert memory.call("show", {"id": "facts/own.md"})["memory"]["text"]


def test_a_merge_shows_both_statements_before_it_is_made(memory):
    kept, gone = (
        memory.call("remember", {"text": text})["id"]
        for text in ("Rex sleeps in the shed.", "In the shed sleeps Rex.")
    )
    asked = {"id": kept, "other": gone, "dry_run": True}
    text = shown("merge", memory.call("merge", asked))
    assert "stays:  Rex sleeps in the shed." in text
    assert "merged: In the shed sleeps Rex." in text


def in_terminal(command, columns, **more):
    """Run a command in a pseudo-terminal of this width; its output."""
    leader, follower = os.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    environment |= {"COLUMNS": str(columns), "LINES": "200", **more}
    environment = {key: value for key, value in environment.items() if value}
    with subprocess.Popen(
        [sys.executable, "-c", command],
        stdout=follower,
        stderr=follower,
        env=environment,
    ) as process:
        os.close(follower)
        read = b""
        while True:
            try:
                more_bytes = os.read(leader, 65536)
            except OSError:
                break
            if not more_bytes:
                break
            read += more_bytes
        os.close(leader)
    assert process.returncode == 0, read
    return read.decode().replace("\r\n", "\n")


SHOWS = (
    "from engram.serve.output import display;"
    "display('list', {'memories': [{'text': 'Anna lives ' + 'by the sea ' * 9,"
    " 'created': '2026-03-18', 'category': 'fact', 'provenance': 'user', 'id': '01K'}],"
    " 'next': None, 'total': 1}, as_json=%s)"
)


def test_colour_and_wrapping_are_for_a_terminal_without_no_color():
    coloured = in_terminal(SHOWS % "False", 40, NO_COLOR="")
    assert COLOUR.search(coloured)
    plain = COLOUR.sub("", coloured).splitlines()
    assert max(map(len, plain)) <= 40
    for command, more in ((SHOWS % "False", "1"), (SHOWS % "True", "")):
        read = in_terminal(command, 40, NO_COLOR=more)
        assert not COLOUR.search(read)
        assert max(map(len, read.splitlines())) > 40


@pytest.fixture
def told(memory):
    made = memory.call("remember", {"text": "Anna drinks oat milk", "about": ["Anna"]})
    return made["id"]


def test_show_and_why_print_no_internals_unless_asked(memory, told):
    for name in ("show", "why"):
        result = memory.call(name, {"id": told})
        brief, full = shown(name, result), shown(name, result, verbose=True)
        assert brief.splitlines()[0] == "Anna drinks oat milk"
        for word in ("sha:", "gradient", "origin:", "surprise", "\n---"):
            assert word not in brief
        assert "origin:" in full
    assert "said\n    “Anna drinks oat milk”" in shown(
        "why", memory.call("why", {"id": told})
    )
    assert "used    never" in shown("show", memory.call("show", {"id": told}))
    entity = shown("show", memory.call("show", {"id": "Anna"}))
    assert entity.startswith("Anna\n")
    assert "%%" not in entity


def test_a_forgotten_memory_is_shown_without_its_words(memory, told):
    memory.call("forget", {"id": told})
    for name in ("show", "why"):
        text = shown(name, memory.call(name, {"id": told}))
        assert "oat" not in text
        assert "engram restore" in text


def test_plots_fit_into_eighty_columns(memory, told):
    result = memory.call("stats", {}) | memory.call("timeline", {})
    result["timeline"] = {f"20{year:02}-11-02": 10**year for year in range(10)}
    lines = list(details.plot_lines(result))
    assert max(map(len, lines)) <= 80
    assert stats.params[0].name == "plot"
    for days in (30, 3650):
        forecast = memory.call("forecast", {"days": days, "curve": True})
        lines = terminal.dressed(shown("forecast", forecast), 80).splitlines()
        assert all(len(COLOUR.sub("", line)) <= 80 or ".md" in line for line in lines)


def test_a_mistyped_key_is_answered_with_the_keys_that_are_near(capsys, settings):
    vault = str(settings.vault)
    assert run(["config", "explain", "recal.k", "--vault", vault]) == 66
    assert "Did you mean recall.k" in capsys.readouterr().err
    assert run(["config", "explain", "recall", "--vault", vault]) == 66
    assert "recall.budget" in capsys.readouterr().err
    assert run(["recal", "x"]) == 64
    assert "recall" in capsys.readouterr().err


def test_a_name_that_is_not_used_ranks_lower_and_is_not_said_to_go(memory):
    memory.call("observe", {"turns": [{"text": "My name is Tom."}]})
    memory.call("flush", {})
    coming = memory.call("forecast", {"days": 3650})
    assert {row["what"] for row in coming["coming"]} == {"stale"}
    text = shown("forecast", coming)
    assert "ranks lower: The user's name is Tom." in text
    assert "stale" not in text


@pytest.mark.parametrize(("command", "hint"), [("show", "`engram list`")])
def test_a_missing_id_is_answered_with_where_ids_are(capsys, command, hint):
    assert run([command]) == 64
    assert hint in capsys.readouterr().err
