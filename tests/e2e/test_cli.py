"""The command line: the short way and the tree mean the same, faults in words, codes,
the vault's choice.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engram import __version__
from engram.errors import (
    BadRequestError,
    BusyError,
    ConfigError,
    NotFoundError,
    UnavailableError,
)
from engram.operations.table import OPERATIONS, checked
from engram.serve import cli, commands, observe
from engram.serve.command_group import OTHER_NAMES, tree
from engram.serve.output import fault_shown, shown
from engram.vault.reviews import LABELS
from tests.fakes import warm
from tests.fakes.answers import (
    COUNTS,
    RECALLED,
    FakeAnswers,
    serving,
    settings_in,
    value_of,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    return home, settings_in(home, home / "vault")


@pytest.fixture(scope="module")
def running(place):
    """A server behind the vault's socket."""
    answers = FakeAnswers()
    with serving(answers, place[1]):
        yield answers


@pytest.fixture
def answers(running, place, monkeypatch):
    home, its = place
    running.calls.clear()
    running.results = FakeAnswers().results
    monkeypatch.setenv("ENGRAM_HOME", str(home))
    monkeypatch.setenv("ENGRAM_VAULT", str(its.vault))
    return running


def engram(*argv, env=None, stdin=b""):
    """The command in a process of its own."""
    whole = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    return warm.run([*map(str, argv)], whole, Path.cwd(), stdin)


# -- the short way ---------------------------------------------------------------------


def through_tree(argv, answers):
    """What the whole tree sends for a command line, None where it refuses."""
    answers.calls.clear()
    commands.run(argv)
    return answers.calls[0] if answers.calls else None


OPTIONS = (
    "--budget --session --persona --all-personas --as-of --now --explain --json"
    " --category --private --pinned -k"
)
OTHERS = [
    "recall",
    "remember",
    "0",
    "3",
    "007",
    "²",
    "-1",
    "",
    "what?",
    "-",
    "--",
    "-k3",
    "--budget=5",
    "--help",
    "oat milk",
]
WORDS = st.sampled_from(OPTIONS.split() + OTHERS)


@given(st.sampled_from(["recall", "remember"]), st.lists(WORDS, max_size=6))
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(
    "recall", ["q", "-k", "3", "--explain", "--session", "s1", "--as-of", "2026-01-01"]
)
@example("remember", ["--pinned", "x", "--category", "fact", "--persona", "p"])
@example(
    "recall",
    [
        "-k",
        "3",
        "q",
        "--budget",
        "5",
        "--now",
        "2026-01-01",
        "--json",
        "--persona",
        "p",
    ],
)
@example("recall", ["q", "-k", "1", "-k", "2"])
@example("recall", ["", "-k", "0"])
def test_the_short_way_sends_what_the_tree_sends(answers, capsys, verb, rest):
    """Whatever the short way takes on, the tree would have understood in exactly the
    same way.
    """
    asked = cli.plain([verb, *rest])
    if asked is None:
        return
    assert through_tree([verb, *rest], answers) == (asked.name, asked.params)
    assert ("--json" in rest) is asked.as_json


def test_the_short_way_takes_on_the_plain_forms():
    """Otherwise the test above would hold for a way that nothing ever goes."""
    asked = cli.plain(
        ["recall", "q", "-k", "3", "--explain", "--json", "--vault", "/v"]
    )
    assert (asked.name, asked.params, asked.vault, asked.as_json) == (
        "recall",
        {"query": "q", "k": 3, "explain": True},
        "/v",
        True,
    )
    assert cli.plain(["observe"]).params == {}
    words = ["recall", "where", "do", "I", "--as-of", "today", "live"]
    assert cli.plain(words).params == {"query": "where do I live", "as_of": "today"}
    for argv in (
        [],
        ["--help"],
        ["recall"],
        ["recall", "q", "-h"],
        ["stats"],
        ["observe", "x"],
        ["recall", "q", "-k"],
    ):
        assert cli.plain(argv) is None


def test_an_event_of_an_agent_goes_the_short_way():
    assert cli.agent_call("hook") == cli.agent_call("mcp") == (None, [])
    assert cli.agent_call("hook", "--vault", "/v", "{}") == ("/v", ["{}"])
    assert cli.agent_call("hook", "{}", "--vault", "/v") == ("/v", ["{}"])
    for argv in (("mcp", "{}"), ("hook", "-h"), ("hook", "{}", "{}"), ("hook", "")):
        assert cli.agent_call(*argv) is None
    for last in ("--vault", "--vault=/v"):
        assert cli.agent_call("hook", "{}", last) is None


def test_both_ways_print_the_same(answers, capsys):
    answers.results["recall"] = RECALLED | {"hits": [HIT], "tokens": 7}
    for extra in ([], ["--explain"], ["--json"]):
        short = engram("recall", "q", *extra)
        commands.run(["recall", "q", *extra])
        assert short.stdout.decode() == capsys.readouterr().out
        assert short.returncode == 0


HIT = {
    "key": "01K", "kind": "fact", "text": "Anna drinks oat milk.\nSince October.", "path": "facts/a.md", "score": 0.5, "rank": 0.75,
    "parts": {"lexical": 0.5, "window": 0.25}, "when": "2026-11-20T21:14:05+01:00", "speaker": "Anna",
    "category": "preference", "source": "s#^t12", "quote": "I switched to oat milk", "tokens": 7,
}  # fmt: skip


# -- what is printed -------------------------------------------------------------------


def test_recall_shows_the_evidence_and_explain_the_score(capsys):
    result = RECALLED | {"hits": [HIT], "tokens": 7, "filtered": {"persona": 2}}
    plain = shown("recall", result)
    assert "Anna drinks oat milk.\n    Since October." in plain
    assert plain.endswith("“I switched to oat milk” (s#^t12)\nFound by words.")
    edited = shown("recall", result | {"hits": [HIT | {"reworded": True}]})
    assert edited.endswith(
        "“I switched to oat milk” (s#^t12), before it was reworded\nFound by words."
    )
    assert "lexical" not in plain
    explained = shown("recall", result, explain=True)
    for words in (
        "score 0.500, rank 0.750 = lexical +0.500 window +0.250",
        "7 tokens, facts/a.md",
        "filtered: persona (2)",
    ):
        assert words in explained


def test_a_long_hit_is_cut_for_a_person_and_whole_for_a_program():
    result = RECALLED | {"hits": [HIT | {"text": "drift wood " * 100}]}
    lines = shown("recall", result).splitlines()
    assert len(lines[0]) < 420
    assert lines[0].endswith(" …")
    assert "full text: facts/a.md" in lines[1]
    assert json.loads(shown("recall", result, as_json=True)) == result


def test_no_words_steer_a_terminal():
    """Whoever said them; a program gets them as they are."""
    result = RECALLED | {
        "hits": [
            HIT | {"text": "a\x1b]52;c;aGk=\x07b\rc\x9bd\te\x7f", "quote": "\x1b[2J"}
        ]
    }
    assert not set(shown("recall", result)) & set("\x1b\x07\r\x9b\x7f")
    assert json.loads(shown("recall", result, as_json=True)) == result
    assert "\x1b" not in fault_shown(
        NotFoundError("there is no such memory", where="\x1b[2J")
    )


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "forecast",
            {
                "days": 9,
                "coming": [
                    {"at": "2026-11-20", "what": "stale", "why": "old", "path": "p"}
                ],
            },
        ),
        ("todos", {"todos": [{"id": "1", "stage": "open", "due": None, "when": ""}]}),
    ],
)
def test_a_statement_in_a_list_has_one_line(name, rows):
    """However many it has in its note."""
    for row in (*rows.get("coming", ()), *rows.get("todos", ())):
        row["text"] = "one\ntwo\n\nthree"
    assert "one two three" in shown(name, rows)


# row: X4
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({}, "there are no memories about this"),
        (
            {"filtered": {"forgotten": 1, "persona": 3}},
            "filtered by forgotten or corrected (1), persona (3)",
        ),
        ({"complete": False}, "the index is not ready yet"),
        ({"note": "the vault is empty"}, "the vault is empty"),
    ],
)
def test_an_empty_recall_says_why(answer, words):
    assert words in shown("recall", RECALLED | answer)


def test_any_result_is_shown_as_words_or_as_json():
    result = {
        "id": "x",
        "ready": True,
        "none": None,
        "deep": {"a_b": 1.5, "empty": []},
        "list": [{"a": 1, "b": "two\nlines"}, "c"],
    }
    assert shown("stats", result).splitlines() == [
        "id: x", "ready: yes", "deep:", "  a_b: 1.5", "list:", "  - a: 1", "    b: two", "      lines", "  - c",
    ]  # fmt: skip
    assert json.loads(shown("stats", result, as_json=True)) == result


def test_a_fault_says_what_where_what_to_do_and_a_code():
    fault = NotFoundError("there is no memory 'x'", where="vault v", fix="Try recall.")
    assert fault_shown(fault).splitlines() == [
        "engram: there is no memory 'x'", "  where: vault v", "  to do: Try recall.", "  code:  not-found",
    ]  # fmt: skip
    assert json.loads(fault_shown(fault, as_json=True))["error"]["code"] == "not-found"


@pytest.mark.parametrize("verb", ["recall", "show"])
def test_a_fault_ends_with_its_exit_code_and_nothing_on_standard_output(answers, verb):
    """Through the short way and through the tree."""
    answers.results[verb] = NotFoundError("there is no memory 'x'", fix="Try recall.")
    done = engram(verb, "x")
    assert (done.returncode, done.stdout) == (66, b"")
    assert b"to do: Try recall." in done.stderr
    assert b"Traceback" not in done.stderr
    assert (
        json.loads(engram(verb, "x", "--json").stderr)["error"]["code"] == "not-found"
    )


@pytest.mark.parametrize(
    "argv",
    [
        ["recal"],
        ["recall"],
        ["recall", "q", "--bad"],
        ["recall", "q", "-k", "many"],
        ["show"],
    ],
)
def test_a_wrong_command_line_is_a_bad_request(answers, capsys, argv):
    assert commands.run(argv) == BadRequestError.exit_code
    said = capsys.readouterr().err
    assert "code:  bad-request" in said
    assert f"`engram {argv[0]} --help`" in said or argv == ["recal"]


def test_a_broken_configuration_has_its_own_code(place, tmp_path):
    (tmp_path / "engram.toml").write_text("zone = 5\n")
    done = engram(
        "stats", "--vault", tmp_path, env={"ENGRAM_HOME": str(tmp_path / "home")}
    )
    assert done.returncode == 78
    assert b"zone" in done.stderr


def test_a_fault_of_the_program_shows_its_trace_only_with_debug():
    script = (
        "import sys; from engram.serve.commands import run\nfrom engram.serve.command_group import Command, tree\n"
        "tree.add_command(Command('boom', callback=lambda: 1 / 0))\n"
        "sys.exit(run(sys.argv[1:]))"
    )
    for extra, traced in (([], False), (["--debug"], True)):
        command = [sys.executable, "-c", script, "boom", *extra]
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert ("Traceback" in done.stderr) is traced
        assert "ZeroDivisionError" in done.stderr


def test_a_search_in_a_thread_does_not_abort_the_end_of_the_program():
    """The interpreter unwinds the thread within a library that does not bear it."""
    script = (
        "import sys, threading, time, re2; from engram.serve.cli import main\n"
        "def search():\n"
        "    while True: pattern.search('a' * 5_000_000)\n"
        "pattern = re2.compile('(a|b)*c')\n"
        "for _ in range(3): threading.Thread(target=search, daemon=True).start()\n"
        "sys.argv[1:] = ['--help']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\n")


def test_output_has_no_colour(answers):
    """So NO_COLOR, and a dumb terminal, have nothing to turn off."""
    answers.results["recall"] = RECALLED | {"hits": [HIT]}
    for argv in (["recall", "q"], ["--help"], ["policy"], ["show", "x"]):
        done = engram(*argv, env={"FORCE_COLOR": "1"})
        assert b"\x1b" not in done.stdout + done.stderr


# -- the tree --------------------------------------------------------------------------


def leaves(group=commands.tree, path=()):
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name), command


@pytest.mark.parametrize(
    ("path", "command"),
    list(leaves()),
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_every_command_takes_the_common_options_and_says_what_it_does(path, command):
    names = {name for param in command.params for name in param.opts}
    assert {"--vault", "--json", "--debug"} <= names
    assert command.help.strip().endswith(".")


def argv_of(operation, params):
    """A command line with these arguments of an operation, and what it sends."""
    words, sent = [operation.name], {}
    for param in params:
        value = not param.default if param.kind == "bool" else value_of(param)
        no = "--no-" if value is False else "--"
        items = value if isinstance(value, list) else [value]
        for item in items:
            if param.positional:
                words.append(str(item))
            elif param.kind == "bool":
                words.append(param.flag.replace("--", no, 1))
            else:
                words += [param.flag, str(item)]
        sent[param.name] = value
    return words, sent


@pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if not one.own_command],
    ids=lambda one: one.name,
)
def test_each_operation_has_a_command_that_sends_its_arguments(
    answers, capsys, operation
):
    """All of them, and only those that it needs."""
    needed = [param for param in operation.params if param.required]
    for params in (operation.params, needed):
        answers.calls.clear()
        words, sent = argv_of(operation, params)
        commands.run([*words, "--json"])
        assert checked(*answers.calls[0]) == checked(operation.name, sent)


@pytest.mark.parametrize(
    ("argv", "sent"),
    [
        ("status", ("status", {})),
        ("pin 01K", ("update", {"id": "01K", "pinned": True})),
        ("unpin 01K", ("update", {"id": "01K", "pinned": False})),
        ("restore 01K", ("update", {"id": "01K", "status": "active"})),
        ("promote 01K", ("update", {"id": "01K", "layer": "up"})),
        ("review", ("review", {"all": False})),
        ("review --all", ("review", {"all": True})),
        ("review diff 01K", ("review", {"id": "01K"})),
        *(
            (f"review {answer} 01K", ("decide", {"id": "01K", "decision": answer}))
            for answer in ("approve", "reject", *LABELS)
        ),
    ],
)
def test_a_command_of_its_own_sends_its_operation(answers, capsys, argv, sent):
    assert commands.run(argv.split()) == 0
    assert answers.calls == [sent]


CASE = {
    "id": "01CASE",
    "path": "review/conflict-x.md",
    "why": "one may be over",
    "choices": ["newer", "both", "older"],
    "ticked": None,
    "problem": "",
    "text": "",
    "statements": [
        {
            "id": "01NEW",
            "text": "Mira lives in Porto.",
            "status": "active",
            "when": "2026-11-23T20:00:00",
            "path": "facts/n.md",
            "evidence": "I moved.",
        },
        {
            "id": "01OLD",
            "text": "Mira lives in Lisbon.",
            "status": "active",
            "when": None,
            "path": "facts/o.md",
            "evidence": "",
        },
    ],
}


# row: X9
def test_review_lists_what_waits_and_the_answers(answers, capsys):
    """Both sides with date and place; a diff also with the words they came from."""
    doubt = CASE | {
        "statements": CASE["statements"][1:],
        "choices": ["keep", "drop"],
        "problem": "two ticks",
    }
    file = CASE | {"statements": [], "choices": [], "text": "- a\n+ b"}
    answers.results |= {"review": {"cases": [CASE, doubt, file]}}
    assert commands.run(["review"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        " 1. one may be over",
        "    newer: Mira lives in Porto.",
        "      2026-11-23 · active · facts/n.md",
        "    older: Mira lives in Lisbon.",
        "      active · facts/o.md",
        "    `engram review newer 01CASE`: The newer one is true now",
        "    `engram review both 01CASE`: Both are true",
        "    `engram review older 01CASE`: The older one is true",
        " 2. one may be over",
        "    Mira lives in Lisbon.",
        "      active · facts/o.md",
        "    `engram review keep 01CASE`: Keep it",
        "    `engram review drop 01CASE`: Drop it",
        "    two ticks",
        " 3. one may be over",
        "    `engram review diff 01CASE` shows what it is about",
        "    to decide in an editor: review/conflict-x.md",
    ]
    answers.results |= {"review": {"cases": [CASE, file]}}
    assert commands.run(["review", "diff", "01CASE"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "      “I moved.”" in lines
    assert [line for line in lines if line.strip() in {"- a", "+ b"}]


def test_an_empty_queue_says_so(answers, capsys):
    answers.results |= {"review": {"cases": []}}
    assert commands.run(["review"]) == 0
    assert capsys.readouterr().out == "There are no cases to decide.\n"
    assert commands.run(["review", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"cases": []}


def test_a_doctor_says_what_it_looked_at(answers, capsys):
    answers.results |= {"doctor": {"healthy": True, "findings": []}}
    assert commands.run(["doctor"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "healthy: yes",
        "checked:",
        *(f"  {name}: {count}" for name, count in COUNTS.items()),
    ]


def test_flush_says_why_turns_stay_parked(answers, capsys):
    answers.results |= {
        "flush": {"flushed": 2, "parked_turns": 2},
        "status": {"faults": {"model": "no answer."}},
    }
    assert commands.run(["flush"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "flushed: 2",
        "parked_turns: 2",
        "why_parked: no answer.",
    ]


def test_a_daemon_is_asked_and_ended_under_a_broken_configuration(
    answers, place, monkeypatch, capsys
):
    """Its socket follows from the vault and the environment alone."""
    home = place[0]
    (home / "config.toml").write_text("[model\n")
    monkeypatch.setenv("PATH", str(home))  # no systemd here
    ended = []
    answers.results["status"] = {"pid": os.getpid()}
    monkeypatch.setattr(os, "kill", lambda pid, _: ended.append(pid))
    monkeypatch.setattr("engram.serve.units.STOP_SECONDS", 0)
    try:
        assert commands.run(["status"]) == 0
        # the fake one stays
        assert commands.run(["down"]) == UnavailableError.exit_code
        assert commands.run(["stats"]) == ConfigError.exit_code
    finally:
        (home / "config.toml").unlink()
    assert ended == [os.getpid()]
    assert "not valid TOML" in capsys.readouterr().err


def test_options_may_stand_before_the_command_too(answers, place, capsys, monkeypatch):
    monkeypatch.delenv("ENGRAM_VAULT")
    assert commands.run(["--json", "--vault", str(place[1].vault), "stats"]) == 0
    assert json.loads(capsys.readouterr().out) == answers.results["stats"]


def test_every_number_is_listed_with_unit_range_and_source(answers, capsys):
    from engram.core.policy import Policy, rows

    assert commands.run(["policy", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["policy"]
    assert [row["name"] for row in listed] == [row.name for row in rows(Policy())]
    assert all(
        row["unit"]
        and row["source"]
        and row["meaning"]
        and row["low"] <= row["value"] <= row["high"]
        for row in listed
    )
    assert commands.run(["policy"]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "buffer.turns (key buffer.turns) = 5 turns"
    assert second.endswith("that make a batch [1 to 200]")


def test_a_setting_is_explained(answers, capsys):
    from engram.config import keys

    for key in keys():
        assert commands.run(["config", "explain", key.name, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["meaning"], told["default"]) == (key.meaning, key.default)
    assert commands.run(["config", "explain", "colour"]) == NotFoundError.exit_code
    assert "model.name" in capsys.readouterr().err
    assert commands.run(["config", "show", "--json"]) == 0
    assert '"recall.k": 50' in capsys.readouterr().out


def test_a_setting_is_explained_while_the_configuration_is_broken(tmp_path):
    """Just then somebody asks, and the fault has sent them there."""
    (tmp_path / "engram.toml").write_text("zone = 5\n")
    env = {"ENGRAM_HOME": str(tmp_path / "home"), "ENGRAM_VAULT": str(tmp_path)}
    assert b"`engram config explain KEY`" in engram("stats", env=env).stderr
    told = json.loads(engram("config", "explain", "zone", "--json", env=env).stdout)
    assert told["meaning"].startswith("time zone")
    assert "zone must be of type str" in told["value"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_is_printed(capsys, shell):
    assert commands.run(["completion", shell]) == 0
    assert "_ENGRAM_COMPLETE" in capsys.readouterr().out


def test_completion_answers_the_shell(answers):
    env = {
        "_ENGRAM_COMPLETE": "zsh_complete",
        "COMP_WORDS": "engram rec",
        "COMP_CWORD": "1",
    }
    assert b"recall" in engram("recall", "x", env=env).stdout


def test_the_version_is_that_of_the_package(answers):
    assert engram("--version").stdout == f"engram {__version__}\n".encode()


# -- turns on their way in -------------------------------------------------------------


def test_observe_streams_lines_and_tells_which_were_refused(answers):
    deep = b"[" * 100_000
    stdin = (
        b'{"text": "one"}\n\n{"text": "two", "id": "2"}\nnot json\n[1]\n'
        + deep
        + b'\n{"text": "three"}'
    )
    done = engram("observe", "--json", stdin=stdin)
    sent = [turn["text"] for _, params in answers.calls for turn in params["turns"]]
    assert sent == ["one", "two", "three"]
    result = json.loads(done.stdout)
    assert result["stored"] == len(answers.calls)
    assert [line.partition(":")[0] for line in result["refused"]] == [
        "line 4",
        "line 5",
        "line 6",
    ]
    assert done.returncode == 65  # EX_DATAERR: the command line was right


def test_a_refused_turn_is_told_with_its_line(tmp_path):
    """By the vault itself: who has to mend it has a file of lines before them."""
    env = {
        "ENGRAM_HOME": str(tmp_path / "home"),
        "ENGRAM_VAULT": str(tmp_path / "vault"),
    }
    engram("init", env=env)
    stdin = b'{"text": "one"}\n\n{"text": " "}\n{"text": "two", "role": "boss"}\n{"text": "three"}\n'
    done = engram("observe", "--json", env=env, stdin=stdin)
    result = json.loads(done.stdout)
    assert (done.returncode, result["stored"]) == (65, 2)
    assert [told.partition(".")[0] for told in result["refused"]] == [
        "line 3: the turn has no text",
        "line 4: there is no role 'boss'",
    ]


def test_turns_are_sent_while_the_stream_is_open(answers):
    """A conversation piped in is stored as it goes on, not when it ends."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-m", "engram", "observe"]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdin.write(b'{"text": "one"}\n')
        process.stdin.flush()
        for _ in range(500):
            if answers.calls:
                break
            time.sleep(0.01)
        assert answers.calls == [("observe", {"turns": [{"text": "one"}]})]
        process.stdin.close()
        assert b"stored: 1" in process.stdout.read()


@pytest.fixture
def interruptible():
    """What runs in the background of a shell ignores this signal, and so would every
    process it starts.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("more", [[], ["--debug"]])
def test_breaking_off_tells_what_is_stored(answers, more):
    """Through the short way and through the tree."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-m", "engram", "observe", *more]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=env, stdin=pipe, stdout=pipe, stderr=pipe
    ) as process:
        process.stdin.write(b'{"text": "one"}\n')
        process.stdin.flush()
        for _ in range(500):
            if answers.calls:
                break
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stdout.read() == b""
        said = process.stderr.read().decode()
    assert "turns stored already: 1." in said
    assert "Traceback" not in said


def test_breaking_off_tells_of_the_turns_that_were_on_their_way(capsys):
    """Nobody knows of them; those before are stored."""

    def broken_off(_name, params):
        if params["turns"][0]["id"] == "3":
            raise KeyboardInterrupt
        return {"stored": len(params["turns"]), "duplicates": 0}

    sink = observe.TurnSender(broken_off)
    sink.send([{"id": "1"}, {"id": "2"}])
    with pytest.raises(KeyboardInterrupt), sink.interruptible():
        sink.send([{"id": "3"}, {"id": "4"}])
    assert (
        "turns stored already: 2, and perhaps the 2 that were being sent."
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("before", ["", "--json"])
def test_what_is_closed_or_full_is_no_fault_of_the_program(answers, before):
    """Through the short way and through the tree: no trace, and a word where something
    can be done.
    """

    def shell(words):
        line = f"{sys.executable} -P -m engram {before} {words}"
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
        return subprocess.run(
            ["sh", "-c", line], env=env, capture_output=True, text=True, check=False
        )

    answers.results["recall"] = RECALLED | {
        "hits": [HIT | {"text": "Zoë " * 100}] * 1000
    }
    assert (shell("recall q >&-").returncode, shell("recall q >&-").stderr) == (0, "")
    assert "Zo? Zo?" in shell("recall q").stdout
    cut = shell("recall q --json 2>&1 | head -1; :")
    assert (cut.stdout, cut.stderr) == ("{\n", "")
    full = shell("recall q >/dev/full")
    assert (full.returncode, "Traceback" in full.stderr) == (74, False)
    assert "No space left on device" in full.stderr
    closed = shell("observe <&-")
    assert (closed.returncode, "standard input is closed" in closed.stderr) == (
        64,
        True,
    )
    assert shell("recall q -k 0 2>&-").returncode == 64


def test_a_fault_of_the_short_way_is_told_in_words(answers):
    """As one of the tree is."""
    answers.results["recall"] = {"hits": 5}
    done = engram("recall", "q")
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)
    assert b"Run it again with --debug" in done.stderr
    assert b"Traceback" in engram("recall", "q", "--debug").stderr


def test_an_id_of_foreign_bytes_is_not_found(answers):
    """It arrives, with a sign in place of what is no letter."""
    answers.results["show"] = NotFoundError("there is no memory")
    assert (
        engram("show", b"caf\xe9".decode("utf-8", "surrogateescape")).returncode == 66
    )
    assert answers.calls == [("show", {"id": "caf?"})]


def test_turns_that_wait_for_the_model_are_told_with_the_reason(tmp_path):
    """Without a daemon: the turns are kept, the exit code is 0."""
    home, vault = tmp_path / "home", tmp_path / "vault"
    env = {"ENGRAM_HOME": str(home), "ENGRAM_VAULT": str(vault)}
    engram("init", vault, env=env)
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        '[model]\nname = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    done = engram(
        "observe",
        "--json",
        env=env,
        stdin=json.dumps({"text": "I moved to Lisbon in May. " * 20}).encode(),
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["stored"], result["parked"]) == (1, 1)
    assert "model" in result["why"]
    findings = json.loads(engram("doctor", "--json", env=env).stdout)["findings"]
    found = {one["code"]: one["what"] for one in findings}
    assert found.keys() == {"model", "parked"}
    assert found["parked"] == "1 turn: Cannot connect to the model"
    assert found["model"].startswith("Cannot connect to the model")


class Store:
    """Takes turns: refuses bad ones with their whole batch, and is busy now and then."""

    def __init__(self, busy=0):
        self.busy = busy
        self.texts = []

    def __call__(self, name, params):
        assert name == "observe"
        if self.busy:
            self.busy -= 1
            raise BusyError("full", retry_after=0)
        if any(turn["text"] == "bad" for turn in params["turns"]):
            raise BadRequestError("a bad turn")
        self.texts += [turn["text"] for turn in params["turns"]]
        return {"stored": len(params["turns"]), "duplicates": 0}


@given(
    st.lists(st.sampled_from(["good", "bad", "fine"]), max_size=40), st.integers(0, 3)
)
@settings(max_examples=50, deadline=None)
def test_a_bad_turn_stays_behind_alone(texts, busy):
    """Whatever the batch, the good turns arrive once and in order, the bad ones are
    told.
    """
    store = Store(busy)
    sink = observe.TurnSender(store)
    sink.send([{"text": text} for text in texts])
    assert store.texts == [text for text in texts if text != "bad"]
    assert sink.close() == {
        "stored": len(store.texts),
        "duplicates": 0,
        "refused": ["a bad turn."] * texts.count("bad"),
    }


@pytest.mark.parametrize(
    ("name", "meant"), [("people", "entities"), ("delete", "forget"), ("ui", "web")]
)
def test_another_name_of_a_command_is_answered_with_its_name(name, meant, capsys):
    assert commands.run([name]) == BadRequestError.exit_code
    assert f"Did you mean {meant!r}?" in capsys.readouterr().err


def test_every_command_that_another_name_stands_for_is_there():
    assert {*OTHER_NAMES.values()} <= tree.commands.keys()
    assert not OTHER_NAMES.keys() & tree.commands.keys()


# row: X28
def test_import_tells_how_many_turns_name_no_time(answers, tmp_path, capsys):
    file = tmp_path / "turns.jsonl"
    rows = [{"text": "a"}, {"text": "b", "at": "2026-03-04T10:00"}, {"text": "c"}]
    file.write_text("\n".join(map(json.dumps, rows)))
    os.utime(file, (1.6e9, 1.6e9))
    assert commands.run(["import", str(file), "--dry-run"]) == 0
    assert "1 of the turns name no time and count as said on 2020-09-13" in (
        capsys.readouterr().out
    )
    assert answers.calls == []


def test_import_sends_what_the_reader_found_marked_as_imported(
    answers, tmp_path, capsys
):
    file = tmp_path / "turns.jsonl"
    lines = [
        {
            "id": str(n),
            "session": "s",
            "role": "user",
            "text": f"turn {n}",
            "occurred_at": "2026-03-04T10:00",
        }
        for n in range(3)
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    assert commands.run(["import", str(file), "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "turns": 3,
        "sessions": 1,
        "refused": [],
    }
    assert answers.calls == []
    assert commands.run(["import", str(file)]) == 0
    turns = [
        turn
        for name, params in answers.calls
        if name == "observe"
        for turn in params["turns"]
    ]
    assert [turn["text"] for turn in turns] == ["turn 0", "turn 1", "turn 2"]
    assert {turn["origin"] for turn in turns} == {"import"}
    assert commands.run(["import", str(tmp_path / "none")]) == NotFoundError.exit_code


def test_an_import_that_finds_nothing_says_so(answers, tmp_path, capsys):
    """As where the kind that was named is another."""
    (tmp_path / "a.md").write_text("Notes about Anna.")
    for more in ([], ["--dry-run"]):
        assert (
            commands.run(["import", "--kind", "chatgpt", str(tmp_path), *more])
            == NotFoundError.exit_code
        )
        assert "the file contains no turns" in capsys.readouterr().err


# -- init ------------------------------------------------------------------------------


def test_init_makes_a_vault_and_changes_nothing_the_second_time(tmp_path):
    """Folders are 0700 and files 0600; a second run writes nothing."""
    vault, env = (
        tmp_path / "new" / "vault",
        {"ENGRAM_HOME": str(tmp_path / "home"), "ENGRAM_VAULT": ""},
    )
    planned = json.loads(engram("init", vault, "--dry-run", "--json", env=env).stdout)[
        "would_write"
    ]
    assert not vault.exists()
    written = json.loads(engram("init", vault, "--json", env=env).stdout)["written"]
    assert written == planned
    assert re.fullmatch(
        r'id = "[0-9A-HJKMNP-TV-Z]{26}"',
        (vault / "engram.toml").read_text().splitlines()[0],
    )
    for path in [vault, *vault.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)
    before = {path: path.read_bytes() for path in vault.rglob("*") if path.is_file()}
    assert json.loads(engram("init", vault, "--json", env=env).stdout)["written"] == []
    assert {
        path: path.read_bytes() for path in vault.rglob("*") if path.is_file()
    } == before


def test_init_leaves_what_a_person_has(tmp_path):
    """An existing folder of notes keeps every byte, its own engram.toml too."""
    vault = tmp_path / "notes"
    (vault / "facts").mkdir(parents=True)
    mine = {
        vault / "engram.toml": 'zone = "UTC"\n',
        vault / "mine.md": "words",
        vault / "Home.md": "my own home",
    }
    for path, text in mine.items():
        path.write_text(text)
    done = engram(
        "init", vault, env={"ENGRAM_HOME": str(tmp_path / "home"), "ENGRAM_VAULT": ""}
    )
    assert done.returncode == 0, done.stderr
    assert {path: path.read_text() for path in mine} == mine


def test_init_follows_no_link_out_of_the_vault(tmp_path):
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    vault.mkdir()
    outside.mkdir()
    (vault / "facts").symlink_to(outside)
    done = engram(
        "init", vault, env={"ENGRAM_HOME": str(tmp_path / "home"), "ENGRAM_VAULT": ""}
    )
    assert done.returncode == 77
    assert list(outside.iterdir()) == []


def test_a_file_in_place_of_a_vault_is_named_with_what_to_do(tmp_path):
    """By whatever is asked of it, and nothing is written."""
    file, env = (
        tmp_path / "notes.py",
        {"ENGRAM_HOME": str(tmp_path / "home"), "ENGRAM_VAULT": ""},
    )
    file.write_text("x")
    for argv, code in (
        (("init", file), 64),
        (("init", file / "below", "--dry-run"), 64),
        (("--vault", file, "status"), 66),
        (("--vault", file / "below", "recall", "q"), 66),
        (("--vault", file, "up"), 66),
    ):
        done = engram(*argv, env=env)
        said = done.stderr.decode()
        assert (
            done.returncode,
            "this is a file" in said,
            "engram init FOLDER" in said,
        ) == (code, True, True)
        assert f"where: {file}\n" in said
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("command", ["status", "stats", "up", "daemon"])
def test_without_a_vault_every_command_says_how_to_begin(tmp_path, command):
    """In words that can be typed."""
    env = {"ENGRAM_HOME": str(tmp_path / "home"), "ENGRAM_VAULT": ""}
    done = engram("--vault", tmp_path / "my notes", command, env=env)
    assert (
        done.returncode,
        f"`engram init '{tmp_path / 'my notes'}'`" in done.stderr.decode(),
    ) == (66, True)


def test_a_folder_that_is_gone_is_a_place_to_stand_in(tmp_path):
    """The vault is elsewhere; only a relative name leads nowhere."""
    gone = tmp_path / "gone"
    line = f"mkdir {gone}; cd {gone}; rmdir {gone}; {sys.executable} -P -m engram"
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    for more, code in (("stats", 66), ("stats --vault here", 78)):
        done = subprocess.run(
            ["sh", "-c", f"{line} {more}"],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, "unexpected" in done.stderr) == (code, False)


def test_a_path_meets_the_same_fault_wherever_it_is_named():
    """What may not be read is told by who reads it, not by the command library."""
    paths = [
        param.type
        for _, command in leaves()
        for param in command.params
        if isinstance(param.type, click.Path)
    ]
    assert paths
    assert not any(path.readable for path in paths)


def test_init_makes_a_repository_only_when_told(tmp_path):
    env = {
        "ENGRAM_HOME": str(tmp_path / "home"),
        "ENGRAM_VAULT": "",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    engram("init", tmp_path / "a", env=env)
    assert not (tmp_path / "a" / ".git").exists()
    assert engram("init", tmp_path / "b", "--git", env=env).returncode == 0
    assert (tmp_path / "b" / ".git").is_dir()


def test_what_init_writes_into_a_repository_is_a_commit(tmp_path):
    """Nothing of it is left for the person to commit; a second time there is nothing to
    do.
    """
    env = {
        "ENGRAM_HOME": str(tmp_path / "home"),
        "ENGRAM_VAULT": "",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    vault = tmp_path / "vault"
    for _ in range(2):
        assert engram("init", vault, "--git", env=env).returncode == 0
    git = ["git", "-C", str(vault)]
    log = subprocess.run(
        [*git, "log", "--format=%an %s"], capture_output=True, text=True, check=True
    )
    assert log.stdout == "engram engram: create a vault\n"
    assert (
        subprocess.run(
            [*git, "status", "--porcelain"], capture_output=True, check=True
        ).stdout
        == b""
    )


# -- what it costs ---------------------------------------------------------------------


def cpu_seconds(command, env, runs=9):
    """The median processor time of a command."""
    spent = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        )
    return sorted(spent)[runs // 2]


def test_help_is_cheap():
    """It takes less than the library of the command line alone."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    ours = cpu_seconds([sys.executable, "-P", "-m", "engram", "--help"], env, runs=5)
    theirs = cpu_seconds([sys.executable, "-c", "import click"], env, runs=5)
    assert ours < theirs
