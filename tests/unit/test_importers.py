"""Importers: each format, its faults, its times and its stable ids."""

import json
import os
import socket
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile
from zoneinfo import ZoneInfo

import pytest

from engram.core.records import Problem, Turn
from engram.errors import BadRequestError, ForbiddenError, NotFoundError
from engram.ingest.importers import KINDS, read_export

BERLIN = ZoneInfo("Europe/Berlin")
LOCOMO = (
    Path(__file__).parents[2].parent / "shared" / "bench" / "data" / "locomo-dev.json"
)


def read(path, kind="auto"):
    return list(read_export(path, BERLIN, kind))


def lines(path, *rows):
    path.write_text(
        "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows),
        encoding="utf-8",
    )
    return path


def message(name, parent, role, text, **more):
    return {
        "id": name,
        "parent": parent,
        "children": [],
        "message": {
            "id": f"m-{name}",
            "author": {"role": role},
            "create_time": more.get("at", 1700000000.5),
            "content": more.get("content", {"content_type": "text", "parts": [text]}),
            "metadata": more.get("metadata", {}),
            "recipient": more.get("recipient", "all"),
        },
    }


def chatgpt():
    nodes = [
        {"id": "root", "parent": None, "children": ["s"], "message": None},
        message("s", "root", "system", ""),
        message("u1", "s", "user", "I moved to Bonn"),
        message("a0", "u1", "assistant", "an answer thrown away"),
        message("a1", "u1", "assistant", "How is Bonn?", at=None),
        message("t1", "a1", "assistant", "search()", recipient="browser"),
        message("t2", "t1", "tool", "a page"),
        message(
            "h1",
            "t2",
            "user",
            "about me",
            metadata={"is_visually_hidden_from_conversation": True},
        ),
        message(
            "u2",
            "h1",
            "user",
            "",
            at=1700000100,
            content={
                "content_type": "multimodal_text",
                "parts": [{"asset_pointer": "x"}, "Look at this"],
            },
        ),
    ]
    return {
        "title": "Bonn",
        "conversation_id": "c-1",
        "create_time": 1699999999,
        "mapping": {node["id"]: node for node in nodes},
        "current_node": "u2",
    }


def claude():
    return {
        "uuid": "c-2",
        "name": "Tea",
        "created_at": "2025-03-01T10:00:00.000000Z",
        "chat_messages": [
            {
                "uuid": "1",
                "sender": "human",
                "text": "old form",
                "created_at": "2025-03-01T10:00:01Z",
            },
            {
                "uuid": "2",
                "sender": "assistant",
                "text": "x",
                "content": [{"type": "text", "text": "new form"}],
            },
            {"uuid": "3", "sender": "human", "text": "", "content": []},
        ],
    }


# row: X28
def test_json_lines_take_many_names_for_the_same_things(tmp_path):
    """Text, role, session, id, speaker, persona and time under their usual names; and
    whether it is private.
    """
    path = lines(
        tmp_path / "talk.jsonl",
        {
            "id": 7,
            "session_id": "s1",
            "role": "human",
            "content": "hello",
            "name": "Anna",
            "persona": "kim",
            "private": True,
            "timestamp": 1700000000,
        },
        "",
        {"text": "hi", "role": "assistant", "occurred_at": "2023-11-15T08:00"},
        {
            "content": [
                {"type": "text", "text": "two"},
                {"type": "text", "text": "blocks"},
            ],
            "time": "1700000000123",
        },
    )
    first, second, third = read(path)
    assert first == Turn(
        "7",
        "s1",
        "user",
        "hello",
        datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        "Anna",
        "kim",
        "import",
        private=True,
    )
    assert (second.session, second.role, second.occurred_at) == (
        "talk",
        "assistant",
        datetime(2023, 11, 15, 8, tzinfo=BERLIN),
    )
    assert third.text == "two\n\nblocks"
    assert third.occurred_at.microsecond == 123000


# row: X28
def test_a_broken_line_is_a_problem_with_its_number(tmp_path):
    """The rest goes on."""
    path = lines(
        tmp_path / "talk.jsonl",
        {"text": "one", "time": "2024-01-01"},
        "{broken",
        "[1]",
        {"role": "user"},
        {"text": "x", "time": "soon"},
        {"text": "x", "time": 1e300},
        {"text": "x", "time": True},
        '{"text": "x", "time": NaN}',
        "[" * 100_000,
        {"text": "last"},
    )
    found = read(path)
    assert [turn.text for turn in found if isinstance(turn, Turn)] == ["one", "last"]
    assert [(p.code, p.line) for p in found if isinstance(p, Problem)] == [
        ("not-json", 2),
        ("not-an-object", 3),
        ("no-text", 4),
        ("bad-time", 5),
        ("bad-time", 6),
        ("bad-time", 7),
        ("bad-time", 8),
        ("not-json", 9),
    ]
    assert all(p.path == str(path) for p in found if isinstance(p, Problem))


# row: X28
def test_bytes_that_are_no_utf8_are_a_problem(tmp_path):
    """A mark at the start is fine, a broken letter is not."""
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "ok"}\r\n{"text": "\xff"}\r\n')
    turn, problem = read(path)
    assert turn.text == "ok"
    assert problem.line == 2


# row: X28
def test_a_line_without_time_has_the_time_before_it(tmp_path):
    """The first one has the file's."""
    path = lines(
        tmp_path / "talk.jsonl",
        {"text": "a"},
        {"text": "b", "time": "2024-05-01T10:00Z"},
        {"text": "c"},
    )
    os.utime(path, (1.6e9, 1.6e9))
    times = [turn.occurred_at for turn in read(path)]
    assert times[0] == datetime.fromtimestamp(1.6e9, UTC)
    assert times[1] == times[2] == datetime(2024, 5, 1, 10, tzinfo=UTC)


# row: X28
def test_ids_are_stable_and_distinct(tmp_path):
    """A second import, and one after lines were added in front, gives the same ids."""
    rows = [
        {"text": "ok", "time": "2024-05-01T10:00"},
        {"text": "ok", "time": "2024-05-01T10:05"},
        {"text": "tea", "role": "assistant"},
        {"text": "tea", "role": "user"},
    ]
    once = [turn.id for turn in read(lines(tmp_path / "talk.jsonl", *rows))]
    again = [
        turn.id for turn in read(lines(tmp_path / "talk.jsonl", {"text": "new"}, *rows))
    ]
    assert len(set(once)) == 4
    assert again[1:] == once


# row: X28
@pytest.mark.parametrize("form", ["file", "zip", "folder", "single"])
def test_chatgpt_follows_the_branch_that_was_kept(tmp_path, form):
    """Only what the person and the model said to each other, from the root to the
    current node.
    """
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(chatgpt() if form == "single" else [chatgpt()]))
    if form == "zip":
        with ZipFile(tmp_path / "export.zip", "w") as archive:
            archive.write(path, "export/conversations.json")
            archive.writestr("chat.html", "<html>")
        path = tmp_path / "export.zip"
    turns = read(tmp_path if form == "folder" else path)
    assert [(t.id, t.role, t.text) for t in turns] == [
        ("m-u1", "user", "I moved to Bonn"),
        ("m-a1", "assistant", "How is Bonn?"),
        ("m-u2", "user", "Look at this"),
    ]
    assert {(t.session, t.origin) for t in turns} == {("c-1", "import")}
    assert [t.occurred_at.timestamp() for t in turns] == [
        1700000000.5,
        1700000000.5,
        1700000100,
    ]


# row: X28
def test_chatgpt_without_a_current_node_takes_the_last_leaf(tmp_path):
    """And a circle of parents ends."""
    talk = chatgpt()
    del talk["current_node"]
    path = tmp_path / "c.json"
    path.write_text(json.dumps([talk]))
    assert [turn.id for turn in read(path)] == ["m-u1", "m-a1", "m-u2"]
    talk["mapping"]["root"]["parent"] = "u2"
    talk["current_node"] = "u2"
    path.write_text(json.dumps([talk]))
    assert [turn.id for turn in read(path)] == ["m-u1", "m-a1", "m-u2"]


def grok():
    said = [
        ("human", "I keep bees", {"$date": {"$numberLong": "1760000000000"}}),
        ("assistant", "How many hives?", "2025-10-09T09:00:00Z"),
        ("human", "", None),
    ]
    rows = [
        {"response": {"_id": f"r{number}", "sender": who, "message": text, "create_time": when}}
        for number, (who, text, when) in enumerate(said)
    ]  # fmt: skip
    head = {"id": "g-1", "title": "Bees", "create_time": "2025-10-09T08:50:00Z"}
    return {"conversations": [{"conversation": head, "responses": rows}]}


GEMINI = [
    {
        "header": "Gemini Apps",
        "title": "Prompted And when do I plant them?",
        "time": "2026-03-02T10:05:00.123Z",
        "products": ["Gemini Apps"],
        "safeHtmlItem": [{"html": "<p>In <b>April</b>.</p><p>After the frost.</p>"}],
    },
    {
        "header": "Gemini Apps",
        "title": "Prompted My beans died",
        "time": "2026-03-02T10:00:00Z",
        "safeHtmlItem": [{"html": "<p>Frost &amp; wind?</p>"}],
    },
    {"header": "Gemini Apps", "title": "Used Gemini", "time": "2026-03-01T10:00:00Z"},
    {"header": "Gemini Apps", "title": "Prompted x"},
]


# row: X36
@pytest.mark.parametrize("form", ["file", "folder", "zip"])
def test_grok_and_gemini_are_recognised_and_read_oldest_first(tmp_path, form):
    """An activity of Gemini without an answer is no turn."""
    for name, content, said in (
        ("prod-grok-backend.json", grok(), ["I keep bees", "How many hives?"]),
        (
            "My Activity/Gemini Apps/MyActivity.json",
            GEMINI,
            [
                "My beans died",
                "Frost & wind?",
                "And when do I plant them?",
                "In April.\nAfter the frost.",
            ],
        ),
    ):
        folder = tmp_path / name.partition(".")[0].replace("/", "-")
        file = folder / name
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(content))
        path = {"file": file, "folder": folder}.get(form, tmp_path / "export.zip")
        if form == "zip":
            with ZipFile(path, "w") as archive:
                archive.write(file, f"Takeout/{name}")
        turns = [item for item in read(path) if isinstance(item, Turn)]
        assert [turn.text for turn in turns] == said
        assert [turn.role for turn in turns] == ["user", "assistant"] * (len(said) // 2)
        assert turns[0].occurred_at <= turns[-1].occurred_at
    assert len({turn.session for turn in turns}) == 1


# row: X28
@pytest.mark.parametrize(
    "broken",
    [
        {"mapping": None, "conversation_id": "x", "create_time": 1},
        {
            "mapping": {"a": 5},
            "current_node": "a",
            "conversation_id": "x",
            "create_time": 1,
        },
        {
            "mapping": {"a": {"message": {"author": 3, "content": []}}},
            "id": "x",
            "create_time": 1,
        },
        {"mapping": {}, "create_time": []},
        {"chat_messages": {"a": 1}, "uuid": "x", "created_at": "2024-01-01"},
        {
            "chat_messages": [5, {"text": 4, "content": [None, 3]}],
            "uuid": "x",
            "created_at": "2024-01-01",
        },
        {"chat_messages": [], "uuid": None},
        {"conversations": [{"responses": 4}, {"responses": [{"response": 5}]}, 6]},
        {"header": 1, "title": [], "time": "2026-03-01", "safeHtmlItem": [{"html": 4}]},
        {
            "sample_id": "a",
            "conversation": {"session_1": [{"text": 1}], "session_1_date_time": "soon"},
        },
        {
            "sample_id": "a",
            "conversation": {
                "session_1": 4,
                "session_1_date_time": "99:99 pm on 31 Feb, 2023",
            },
        },
    ],
)
def test_wrong_types_never_break_the_import(tmp_path, broken):
    """A conversation of another shape gives nothing or a problem, and the next one is
    read.
    """
    good = {
        "mapping": chatgpt(),
        "chat_messages": claude(),
        "conversations": grok(),
        "header": GEMINI[0],
        "sample_id": {"sample_id": "b", "conversation": talk()},
    }[next(iter(broken))]
    path = tmp_path / "c.json"
    path.write_text(json.dumps([broken, 7, good]))
    found = read(path)
    assert any(
        isinstance(item, Problem) and item.code == "not-an-object" for item in found
    )
    assert isinstance(found[-1], Turn)


def talk():
    return {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {
                "speaker": "Ann",
                "dia_id": "D1:1",
                "text": " Look! ",
                "blip_caption": "a cat",
            },
            {"speaker": "Bo", "dia_id": "D1:2", "text": "Nice"},
        ],
        "session_2_date_time": "12:05 am on 1 January, 2024",
        "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Happy new year"}],
    }


# row: X28
def test_locomo_sessions_speakers_pictures_and_dates(tmp_path):
    """The first speaker is the user, the second another person; a caption is part of the
    text; noon and midnight are right.
    """
    path = tmp_path / "l.json"
    path.write_text(
        json.dumps([{"sample_id": "conv-1", "conversation": talk(), "qa": []}])
    )
    one, two, three = read(path)
    when = datetime(2023, 5, 8, 13, 56, tzinfo=BERLIN)
    text = "Look! [shares a picture: a cat]"
    assert one == Turn(
        "conv-1/D1:1", "conv-1-session_1", "user", text, when, "Ann", None, "import"
    )
    assert (two.role, two.speaker, two.group) == ("user", "Bo", True)
    assert (three.session, three.occurred_at) == (
        "conv-1-session_2",
        datetime(2024, 1, 1, 0, 5, tzinfo=BERLIN),
    )


# row: X28
def test_the_locomo_file_is_read_whole():
    """Four conversations, 2,080 turns, all of them distinct."""
    if not LOCOMO.exists():
        reason = f"{LOCOMO.name} is not beside this checkout"
        print(f"skipped: {reason}")  # noqa: T201
        pytest.skip(reason)
    turns = read(LOCOMO)
    assert len(turns) == len({(turn.session, turn.id) for turn in turns}) == 2080
    assert len({turn.id.partition("/")[0] for turn in turns}) == 4


# row: X28
def test_markdown_blocks_are_turns(tmp_path):
    """A file is a conversation, a block a turn; headings go with what follows, fences
    stay whole.
    """
    folder = tmp_path / "notes"
    (folder / "trips").mkdir(parents=True)
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "x.md").write_text("hidden")
    (folder / "trips" / "2024-05-01 Rome.md").write_text(
        "# Rome\n\nWe ate well.\n\n```\na\n\nb\n```\n\nWe ate well.\n\n## End\n"
    )
    (folder / "a.md").write_text(
        "---\ntitle: x\ncreated: '2023-02-03T04:05'\n---\n- one\n- two\n",
        encoding="utf-8-sig",
    )
    (folder / "b.md").write_text("plain")
    os.utime(folder / "b.md", (1.6e9, 1.6e9))
    turns = read(folder)
    assert [(t.session, t.text) for t in turns] == [
        ("a", "- one\n- two"),
        ("b", "plain"),
        ("trips/2024-05-01 Rome", "# Rome\n\nWe ate well."),
        ("trips/2024-05-01 Rome", "```\na\n\nb\n```"),
        ("trips/2024-05-01 Rome", "We ate well."),
        ("trips/2024-05-01 Rome", "## End"),
    ]
    assert [t.occurred_at for t in turns[:3]] == [
        datetime(2023, 2, 3, 4, 5, tzinfo=BERLIN),
        datetime.fromtimestamp(1.6e9, UTC),
        datetime(2024, 5, 1, tzinfo=BERLIN),
    ]
    assert {(t.role, t.origin) for t in turns} == {("user", "import")}
    assert [t.id for t in turns] == [t.id for t in read(folder)]
    assert len({(t.session, t.id) for t in turns}) == len(turns)


# row: X28
def test_a_vault_is_no_folder_of_notes(tmp_path):
    """What is in it is remembered already, and would be told again with all its marks."""
    (tmp_path / "Engram").mkdir()
    (tmp_path / "Engram" / "engram.toml").write_text('id = "x"\n')
    (tmp_path / "Engram" / "fact.md").write_text("known")
    (tmp_path / "a.md").write_text("plain")
    with pytest.raises(BadRequestError, match="a vault of engram"):
        read(tmp_path / "Engram")
    assert [turn.text for turn in read(tmp_path)] == ["plain"]


# row: X28
def test_one_markdown_file_can_be_read(tmp_path):
    """Its name is the conversation; a file that is no UTF-8 is a problem."""
    path = tmp_path / "diary.md"
    path.write_text("tea\n\ncake")
    assert [(t.session, t.text) for t in read(path)] == [
        ("diary", "tea"),
        ("diary", "cake"),
    ]
    path.write_bytes(b"\xff\xfe")
    (problem,) = read(path)
    assert problem.code == "unreadable"


# row: X28
@pytest.mark.parametrize(
    ("name", "text", "saw"),
    [
        ("a.json", '[{"colour": 1}]', "colour"),
        ("a.json", "[1, 2]", "list of int"),
        ("a.json", "[]", "nothing"),
        ("a.json", "", "nothing"),
        ("a.csv", "a,b\n1,2", "breaks off"),
        ("a.zip", "no zip", "zip"),
    ],
)
def test_an_unknown_format_is_refused_with_what_was_seen(tmp_path, name, text, saw):
    """The message says what is there and what is read."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(BadRequestError) as caught:
        read_export(path, BERLIN)
    assert saw in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_wrong_request_is_refused_at_once(tmp_path):
    """No file, an empty folder, a kind that does not exist."""
    with pytest.raises(NotFoundError):
        read_export(tmp_path / "none", BERLIN)
    with pytest.raises(BadRequestError, match="folder without"):
        read_export(tmp_path, BERLIN)
    with pytest.raises(BadRequestError) as caught:
        read_export(tmp_path, BERLIN, "spreadsheet")
    assert all(kind in str(caught.value) for kind in KINDS)


# row: X28
@pytest.mark.parametrize("kind", ["chatgpt", "claude", "locomo"])
def test_an_export_without_conversations_is_a_problem(tmp_path, kind):
    """In a folder and in a zip, where the format is named."""
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "chats.json").write_text(json.dumps([claude()]))
    packed = tmp_path / "export.zip"
    with ZipFile(packed, "w") as archive:
        archive.write(folder / "chats.json", "chats.json")
    for path in (folder, packed):
        (problem,) = read(path, kind)
        assert (problem.code, problem.path) == ("no-conversations", str(path))


# row: X28
def test_an_export_that_breaks_off_gives_what_is_whole(tmp_path):
    """And a problem that says where."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps([claude(), claude()], indent=1)[:-40])
    found = read(path)
    assert [turn.id for turn in found[:-1]] == ["1", "2"]
    assert found[-1].code == "not-json"
    assert found[-1].line > 10


# row: X28
def test_large_exports_are_read_one_conversation_at_a_time(tmp_path):
    """A conversation longer than the reading step is put together, and memory stays at
    a few of them.
    """
    path = tmp_path / "c.json"
    with path.open("w") as file:
        for n in range(60):
            one = claude() | {"uuid": f"c-{n}"}
            one["chat_messages"][0]["text"] = "x" * (
                400_000 if n % 20 == 0 else 100_000
            )
            file.write(("[" if n == 0 else ",\n") + json.dumps(one))
        file.write("]")
    tracemalloc.start()
    sessions = [found.session for found in read_export(path, BERLIN)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sessions == [f"c-{n}" for n in range(60) for _ in range(2)]
    assert peak < 4_000_000 < path.stat().st_size


@pytest.mark.parametrize("indent", [None, 1])
def test_turns_may_stand_as_whole_json(tmp_path, indent):
    """A list of objects, or one object over several lines, says what a line each says."""
    rows = [
        {
            "id": str(n),
            "role": "user",
            "text": f"turn {n}",
            "occurred_at": "2026-03-04T10:00",
        }
        for n in range(3)
    ]
    by_line = read(lines(tmp_path / "turns.json", *rows))
    (tmp_path / "turns.json").write_text(json.dumps([*rows, 7], indent=indent))
    *turns, problem = read(tmp_path / "turns.json")
    assert turns == by_line
    assert problem.code == "not-an-object"
    (tmp_path / "turns.json").write_text(json.dumps(rows[0], indent=indent))
    assert read(tmp_path / "turns.json") == by_line[:1]


@pytest.mark.parametrize("kind", ["auto", *KINDS])
def test_a_pipe_a_device_or_a_socket_is_refused_before_it_is_read(tmp_path, kind):
    """Named directly, behind a link, and among the files of a folder."""
    link, pipe = tmp_path / "export.json", tmp_path / "pipe.jsonl"
    link.symlink_to("/dev/zero")
    os.mkfifo(pipe)
    folder = tmp_path / "folder"
    folder.mkdir()
    os.mkfifo(folder / "note.md")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.md"))
        for path in (Path("/dev/zero"), link, pipe, tmp_path / "socket.md", folder):
            with pytest.raises(ForbiddenError, match="a pipe, a device or a socket"):
                read(path, kind)
