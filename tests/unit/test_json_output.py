"""`--json` prints one JSON object for every command, and people read spans in words."""

from __future__ import annotations

import doctest
import json
import os

import pytest

from engram.serve import spans
from engram.serve.commands import run, tree
from engram.serve.output import shown
from tests.fakes.answers import settings_in

ID = "ID"
ARGUMENTS = {
    "config explain": ["zone"],
    "connect": ["claude-code", "--dry-run"],
    "context": ["Anna"],
    "correct": [ID, "Anna is allergic to cashews."],
    "eval": ["questions.jsonl"],
    "export": ["vault.tar"],
    "import": ["turns.jsonl"],
    "init": ["other"],
    "neighbours": ["Anna"],
    "merge": [ID, "PROMISE", "--dry-run"],
    "purge": ["--trash", "--dry-run"],
    "synthesize": ["Anna", "--dry-run"],
    "recall": ["peanuts", "--explain"],
    "remember": ["Ben drinks tea."],
    "reprocess": ["again"],
    "sensitivity": [ID, "low"],
    "session": ["STRETCH"],
    "settle": ["PROMISE"],
    "token create": ["a bot"],
    "token revoke": ["another"],
    "token rotate": ["a third"],
    "withdraw": ["m1", "--session", "turns"],
}
"""Arguments of commands that need some; those that are left out take an id or none."""
WITH_ID = ("confirm", "demote", "dispute", "forget", "history", "pin", "promote")
WITH_ID += ("restore", "show", "unpin", "why")
NOT_ALONE = {
    "completion": "prints a script for a shell",
    "daemon": "starts a process",
    "down": "needs systemd",
    "hook": "prints what its agent reads",
    "mcp": "speaks its own protocol",
    "observe": "reads standard input",
    "open": "starts an editor",
    "status": "needs the daemon",
    "demo": "is a text for people",
    "up": "needs systemd",
    "web": "starts a browser",
}
"""Commands that are left out, and why."""


def commands():
    """The names of all commands, with those of groups."""
    for name, command in sorted(tree.commands.items()):
        parts = getattr(command, "commands", {})
        yield from (f"{name} {part}" for part in sorted(parts))
        is_mere_group = parts and not command.invoke_without_command
        if name not in NOT_ALONE and not is_mere_group:
            yield name


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    """A vault with memories and a promise, filled once for all commands."""
    place = tmp_path_factory.mktemp("json")
    settings = settings_in(place / "home", place / "vault", ENGRAM_ZONE="UTC")
    lines = [
        {"id": "m1", "text": "My sister Anna is allergic to peanuts."},
        {"id": "m2", "text": "Anna plays the cello."},
        {"id": "m3", "text": "Anna lives in Porto and works as a nurse."},
    ]
    (place / "turns.jsonl").write_text("\n".join(map(json.dumps, lines)))
    asked = {"question": "What is Anna allergic to?", "evidence": ["m1"]}
    (place / "questions.jsonl").write_text("\n".join(map(json.dumps, [*lines, asked])))
    return settings.vault


@pytest.fixture
def asked(vault, monkeypatch, capsys):
    """A function that runs a command with --json in the vault; its JSON."""
    for name in [name for name in os.environ if name.startswith("ENGRAM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ENGRAM_HOME", str(vault.parent / "home"))
    monkeypatch.setenv("ENGRAM_VAULT", str(vault))
    monkeypatch.setenv("HOME", str(vault.parent))
    monkeypatch.chdir(vault.parent)

    def ask(*argv):
        capsys.readouterr()
        code = run([*argv, "--json"])
        out, err = capsys.readouterr()
        found = json.loads(out) if out else json.loads(err)["error"]
        assert isinstance(found, dict)
        assert out or code
        return found

    return ask


@pytest.mark.parametrize("name", list(commands()))
def test_each_command_answers_with_one_json_object(asked, vault, name):
    if not list(vault.glob("facts/*/*.md")):
        asked("import", "turns.jsonl")
        asked("remember", "I promise to call Anna on Friday.")

    def place(one):
        if one == "STRETCH":
            return asked("sessions")["sessions"][0]["id"]
        if one not in {ID, "PROMISE"}:
            return one
        rows = asked("list")["memories"]
        is_promise = one == "PROMISE"
        return next(
            row["id"] for row in rows if (row["category"] == "commitment") is is_promise
        )

    parts = name.split()
    given = ARGUMENTS.get(name, [ID] if name in WITH_ID else [])
    if parts[0] == "review" and len(parts) > 1:
        given = ["01AAAAAAAAAAAAAAAAAAAAAAAA"]
    if name == "undo":
        given = [asked("runs")["runs"][0]["id"], "--dry-run"]
    if name in {"token revoke", "token rotate"}:
        asked("token", "create", *given)
    found = asked(*parts, *map(place, given))
    missing = parts[0] == "review" and len(parts) > 1
    assert ("code" in found and "what" in found) == missing, found


def test_spans_of_days_are_words_for_people_and_figures_in_json():
    row = {"text": "Away (2026-11-09/2026-11-15)."}
    assert "9–15 November 2026" in shown("show", row, verbose=True)
    assert "2026-11-09/2026-11-15" in shown("show", row, as_json=True)
    path = {"path": "facts/2026-11-09/2026-11-15-note.md"}
    assert "facts/2026-11-09/2026-11-15-note.md" in shown("show", path, verbose=True)
    assert doctest.testmod(spans).failed == 0
