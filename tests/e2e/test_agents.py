"""`engram hook` and `engram connect`."""

from __future__ import annotations

import json
import subprocess
import time

import pytest

from engram.config import load
from engram.errors import ConflictError
from engram.serve.agents.connect import CLIENTS, connect
from tests.fakes.world import ID, World, knowing_carla, until


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("agents"))
    with knowing_carla(world):
        yield world


def hook(world, event, *arguments, warning=""):
    done = subprocess.run(
        world.command("hook", *arguments),
        env=world.env,
        input=event if isinstance(event, str) else json.dumps(event),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert warning in done.stderr if warning else done.stderr == ""
    return done.stdout


def stored(world, words):
    hits = world.call("recall", query=words, kinds=["turn"])["hits"]
    return [hit for hit in hits if words in hit["text"]]


def test_a_question_is_stored_and_answered_with_what_is_known(place):
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s1",
        "prompt": "We have lunch. Is Carla allergic to the satay of the canteen?",
    }
    answers = []
    # on a busy machine the first answers may come after the agent has gone on
    until(lambda: answers.append(hook(place, event)) or answers[-1])
    output = json.loads(answers[-1])["hookSpecificOutput"]
    assert output["hookEventName"] == "UserPromptSubmit"
    assert "peanuts" in output["additionalContext"]
    turns = stored(place, "satay of the canteen")
    assert {(turn["role"], turn["session"]) for turn in turns} == {("user", "s1")}


def test_an_answer_is_stored_from_the_event_or_the_transcript(place, tmp_path):
    event = {"hook_event_name": "Stop", "session_id": "s2"}
    hook(place, event | {"last_assistant_message": "The build of Faro is green."})
    (turn,) = stored(place, "build of Faro")
    assert turn["role"] == "assistant"

    transcript = tmp_path / "transcript.jsonl"
    rows = [
        {"type": "assistant", "message": {"content": "an older answer"}},
        {
            "type": "assistant",
            "message": {
                "content": [
                    {"type": "tool_use", "name": "ls"},
                    {"type": "text", "text": "The tests of Olhao pass."},
                ]
            },
        },
        {"type": "system"},
    ]
    lines = [*(json.dumps(row) for row in rows), "{broken"]
    transcript.write_text("\n".join(lines))
    hook(place, event | {"transcript_path": str(transcript)})
    assert stored(place, "tests of Olhao")
    assert not stored(place, "an older answer")


def test_gemini_gives_what_was_asked_and_answered(place):
    event = {"session_id": "g1", "timestamp": "2026-11-25T20:00:00Z"}
    asked = {
        "hook_event_name": "BeforeAgent",
        "prompt": "The ferry of Tavira was late.",
    }
    said = {"hook_event_name": "AfterAgent", "prompt_response": "The quay of Tavira."}
    for _ in range(2):
        hook(place, event | asked)
        hook(place, event | said)
    assert len(stored(place, "ferry of Tavira")) == 1
    assert stored(place, "quay of Tavira")[0]["role"] == "assistant"
    hook(place, event | {"hook_event_name": "SessionEnd"})
    heard = place.json("status")["daemon"]["clients"]
    assert heard["codex"]["late"] >= 0


def test_a_notification_of_codex_is_an_argument(place):
    event = {
        "type": "agent-turn-complete",
        "thread-id": "t1",
        "turn-id": "1",
        "input-messages": ["Rename the module of Tavira."],
        "last-assistant-message": "The module of Tavira is renamed.",
    }
    for _ in range(2):
        hook(place, "", json.dumps(event))
    assert len(stored(place, "module of Tavira")) == 2


@pytest.mark.parametrize(
    "event",
    [
        "",
        {"hook_event_name": "PreToolUse"},
        {"hook_event_name": "UserPromptSubmit", "prompt": " ", "session_id": 7},
    ],
)
def test_any_event_ends_with_zero_and_without_a_word_of_error(place, event):
    hook(place, event)


@pytest.mark.parametrize("event", ["{", "[]", "\0"])
def test_what_is_no_event_is_told(place, event):
    """The agent goes on."""
    assert hook(place, event, warning="not a JSON object") == ""


def test_a_transcript_that_is_missing_is_told(place):
    event = {"hook_event_name": "Stop", "transcript_path": "/does/not/exist"}
    assert hook(place, event, warning="/does/not/exist") == ""


def test_without_a_vault_the_hook_says_so(tmp_path):
    world = World(tmp_path)
    world.env["ENGRAM_VAULT"] = str(tmp_path / "elsewhere")
    event = {"hook_event_name": "Stop", "last_assistant_message": "Olhao is quiet."}
    assert hook(world, event, warning="elsewhere") == ""


# row: X1
def test_the_next_start_stores_what_was_said_without_a_daemon(tmp_path):
    """In its order and once, with its time, and without secrets on the disk."""
    world = World(tmp_path)
    event = {"session_id": "s", "prompt_id": "1"}
    asked = {"hook_event_name": "UserPromptSubmit", "prompt": "My PIN is 4821."}
    said = {"hook_event_name": "Stop", "last_assistant_message": "The quay is wet."}
    for one in (asked, said, asked):
        assert hook(world, event | one, warning="no daemon answers; 1 turn waits") == ""
    spool = world.home / "state" / ID / "spool"
    files = sorted(spool.iterdir())
    assert len(files) == 3
    assert spool.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert not any(b"4821" in file.read_bytes() for file in files)
    (spool / "0.json").write_text("{")
    world.start()
    try:
        until(lambda: stored(world, "The quay is wet"))
        turns = stored(world, "My PIN is") + stored(world, "The quay is wet")
        assert [turn["role"] for turn in turns] == ["user", "assistant"]
        assert [file.name for file in spool.iterdir()] == ["0.json"]
        assert "0.json" in world.json("status")["faults"]["spool"]
    finally:
        world.stop()


def test_a_daemon_that_hangs_costs_a_second_and_no_turn(tmp_path):
    """The time of an empty call is taken away; a machine under load may be late."""
    world = World(tmp_path)
    world.start()
    try:
        world.process.send_signal(19)
        event = {
            "hook_event_name": "UserPromptSubmit",
            "prompt": "The quay is wet.",
            "session_id": "s",
            "prompt_id": "1",
        }
        times = []
        for _ in range(2):
            began = time.monotonic()
            assert hook(world, event, warning="1 turn waits") == ""
            late = time.monotonic() - began
            began = time.monotonic()
            hook(world, {})
            times.append(late - (time.monotonic() - began))
        assert min(times) < 3
        world.process.send_signal(18)
        world.stop()
        world.start()
        until(lambda: stored(world, "The quay is wet"))
        assert len(stored(world, "The quay is wet")) == 1
    finally:
        world.process.kill()
        world.process.wait()


@pytest.fixture
def home(tmp_path):
    world = World(tmp_path)
    places = [place for one in CLIENTS.values() for place in one.files]
    world.files = {place: tmp_path / place for place in places}
    return world


def test_what_is_written_starts_the_server(home):
    home.engram("connect", "claude-desktop")
    entry = json.loads(
        home.files[".config/Claude/claude_desktop_config.json"].read_text()
    )["mcpServers"]["engram"]
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        env=home.env,
        input=json.dumps(message),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["result"] == {}


@pytest.mark.parametrize(
    ("client", "name", "raw"),
    [
        ("claude-code", ".claude.json", b"{"),
        ("claude-code", ".claude.json", b"[]"),
        ("claude-code", ".claude.json", b"\xff\xfe"),
        ("claude-code", ".claude.json", b"[" * 100_000),
        ("claude-code", ".claude.json", b'{"mcpServers": 5}'),
        ("claude-code", ".claude/settings.json", b'{"hooks": []}'),
        ("claude-code", ".claude/settings.json", b'{"hooks": {"Stop": 5}}'),
        ("codex", ".codex/config.toml", b"mcp_servers = 5"),
        ("codex", ".codex/config.toml", None),
    ],
)
def test_a_file_that_cannot_be_parsed_is_left_alone(home, client, name, raw):
    """Neither is any other file of the client written."""
    path = home.files[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    if raw is None:
        path.mkdir()
    else:
        path.write_bytes(raw)
    settings = load(home.vault, home.env)
    with pytest.raises(ConflictError) as fault:
        connect(client, settings, None, home.env, undo=False, dry_run=False)
    assert str(path) in fault.value.where
    assert raw is None or path.read_bytes() == raw
    assert sum(one.exists() for one in home.files.values()) == 1


OWN = {
    ".json": '{"mcpServers": {"other": {"command": "x"}}, "mcp": {"servers": {"b": {}}}, '
    '"hooks": {"Stop": [5, {"hooks": [{"command": "beep"}]}, {"hooks": 7}], "Odd": 1}}',
    ".toml": '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"\n',
}


# row: X35
@pytest.mark.parametrize("name", [key for key, one in CLIENTS.items() if one.files])
@pytest.mark.parametrize("is_new", [False, True])
def test_each_client_is_connected_and_left_as_it_was(home, tmp_path, name, is_new):
    """A file that there was not before is removed again."""
    assert CLIENTS[name].page.startswith("https://")
    paths = [tmp_path / one for one in CLIENTS[name].files]
    for path in paths if not is_new else ():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(OWN[path.suffix])
    before = tree(paths)
    home.engram("connect", name, "--dry-run")
    assert tree(paths) == before
    home.engram("connect", name)
    made = tree(paths)
    home.engram("connect", name)
    assert tree(paths) == made
    assert all("engram" in text and is_new != ("other" in text) for text in made)
    home.engram("connect", name, "--undo")
    for path in paths if not is_new else ():
        parse = json.loads if path.suffix == ".json" else str.strip
        assert parse(path.read_text()) == parse(OWN[path.suffix])
    assert not is_new or tree(paths) == before == [""] * len(paths)


def tree(paths):
    """The texts of the files, '' for one that is not there."""
    return [path.read_text() if path.exists() else "" for path in paths]


PROXY = ("/proxy/v1", "tcp_port", "engram down", "`[proxy]` with `base_url`")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("open-webui", PROXY),
        ("openai-sdk", PROXY),
        ("langgraph", ("EngramStore(memory", "compile(store=store)")),
    ],
)
def test_other_clients_get_lines_to_copy(home, name, words):
    """A program is below the steps, as it can be run."""
    shown = home.engram("connect", name)
    assert [one for one in words if one not in shown] == []
    compile(shown.partition("\n\n")[2], name, "exec")


def test_an_unknown_client_is_answered_with_the_known_ones(home):
    assert "claude-code" in home.engram("connect", "emacs", code=66)


def test_observe_reads_messages_of_openai_line_by_line(place):
    lines = [
        {"role": "user", "content": "The barge of Namur is red.", "session": "o1"},
        {
            "session": "o2",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "And of Huy?"}]},
                {"role": "assistant", "content": "The barge of Huy is blue."},
            ],
        },
        {"messages": [7]},
    ]
    fed = "\n".join(map(json.dumps, lines))
    done = place.run("observe", "--json", stdin=fed)
    told = json.loads(done.stdout)
    assert told["stored"] == 3
    assert told["refused"] == ["line 3, message 1: not a JSON object"]
    (turn,) = stored(place, "barge of Huy")
    assert (turn["role"], turn["session"]) == ("assistant", "o2")
