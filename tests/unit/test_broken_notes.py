"""A note whose front matter broke: its words as they stand, under its last good keys,
or for the owner alone.
"""

from __future__ import annotations

import json

import pytest

from engram.core import trust
from engram.errors import ConflictError

DAY = "2026-11-01"
ID = "01KBH2Q0M6T4W2Y0B7C5D9E1FX"
GOOD = (
    f"---\nid: {ID}\ncategory: preference\ncreated: {DAY}T10:00:00\nstatus: active\npersona: luna\n---\n"
    "Anna drinks tea.\n"
)
BREAKS = {
    "a tab": ("status: active", "\tstatus: active", "bad-yaml"),
    "an open bracket": ("status: active", "status: [active", "bad-yaml"),
    "a key twice": (
        "status: active",
        "status: active\nstatus: active",
        "duplicate-key",
    ),
    "no closing fence": ("luna\n---\n", "luna\n", "no-fence-end"),
    "no opening fence": ("---\nid:", "id:", "no-fence"),
    "no fence": None,
    "a blank line above": ("---\nid:", "\n---\nid:", "no-fence"),
    "a dash too few": ("---\nid:", "--\nid:", "no-fence"),
    "typographic dashes": ("---\nid:", "—\nid:", "no-fence"),
    "blanks behind the fence": ("---\nid:", "--- \nid:", "fence"),
    "too long": ("status: active", f"mine: {'x' * 70_000}\nstatus: active", "too-long"),
    "too deep": (
        "status: active",
        f"mine: {'[' * 20}{']' * 20}\nstatus: active",
        "too-deep",
    ),
    "a tag": ("status: active", "status: !!str active", "tag"),
    "an alias": ("status: active", "status: &a active", "alias"),
    "a merge": (
        "status: active",
        "<<<<<<< HEAD\nstatus: active\n=======\nstatus: archived\n>>>>>>> other",
        "conflict",
    ),
    "letters of another encoding": ("Anna", "Ren\udce9", "not-utf-8"),
}


def broken(name):
    """The good note with one of the faults, saying milk instead of tea."""
    if name == "no fence":
        return GOOD.replace("---\n", "").replace("tea", "milk").encode(), "no-fence"
    old, new, code = BREAKS[name]
    assert old in GOOD
    return GOOD.replace(old, new, 1).replace("tea", "milk").encode(
        "utf-8", "surrogateescape"
    ), code


@pytest.fixture
def note(settings):
    path = settings.vault / "facts" / DAY / "preference-anna-drinks-tea-00000000.md"
    path.parent.mkdir(parents=True)
    path.write_text(GOOD)
    return path


def told(memory, query="what does Anna drink, milk or tea?", standing="chat", **wishes):
    return memory.call("recall", {"query": query, **wishes}, standing)["hits"]


def log(memory):
    path = memory.settings.vault / "state" / "memory-actions.jsonl"
    return (
        [json.loads(line) for line in path.read_text().splitlines()]
        if path.exists()
        else []
    )


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_note_says_what_stands_in_it_under_its_last_good_keys(
    memory, settings, note, name
):
    """It keeps id, persona and category; it is mended without a trace but the change of
    its words.
    """
    memory.files.rescan(None)
    raw, code = broken(name)
    note.write_bytes(raw)
    for _ in range(2):  # before the watcher came, and after
        (hit,) = told(memory, persona="luna")
        assert hit["key"] == ID
        assert hit["text"].endswith("drinks milk.")
        assert hit["category"] == "preference"
        assert "shown with its last good keys" in hit["fault"]
        assert (
            hit["fault"]
            in memory.call("recall", {"query": "Anna drinks", "persona": "luna"})[
                "text"
            ]
        )
        assert told(memory) == []
        assert told(memory, standing=trust.OWNER) == []
        memory.files.rescan(None)
    assert [
        one["code"]
        for one in memory.call("doctor", {})["findings"]
        if one["code"] != "merge-markers"
    ] == [code]
    for cadence in ("nightly", "weekly"):
        assert memory.call("consolidate", {"cadence": cadence})["failures"] == {}
    assert note.read_bytes() == raw
    note.write_bytes(GOOD.replace("tea", "milk").encode())
    memory.files.rescan(None)
    (hit,) = told(memory, persona="luna")
    assert (hit["key"], hit["text"], hit["fault"]) == (ID, "Anna drinks milk.", "")
    assert memory.index.tombstones.keys == set()
    edits = [row["action"] for row in log(memory) if row["memory"] == ID]
    # there the name changed too
    assert edits == ["edit"] * (2 if name == "letters of another encoding" else 1)


@pytest.mark.parametrize("name", BREAKS)
def test_without_last_good_keys_a_broken_note_is_the_owners(
    opened, settings, note, name
):
    """A vault read for the first time: nobody knows whose the note is."""
    raw, _ = broken(name)
    note.write_bytes(raw)
    memory = opened()
    for standing in ("chat", "tool", "import"):
        assert told(memory, standing=standing) == []
        assert told(memory, standing=standing, persona="luna") == []
        assert told(memory, standing=standing, persona="\0") == []
    assert told(memory, standing=trust.OWNER, persona="luna") == []
    (hit,) = told(memory, standing=trust.OWNER)
    assert hit["text"].endswith("drinks milk.")
    assert "only the owner sees it" in hit["fault"]
    assert "milk" not in memory.call("context", {"query": "milk"})["text"]
    assert "milk" not in memory.call("context", {"query": "milk"}, trust.OWNER)["text"]
    memory.call("consolidate", {"cadence": "nightly"})
    assert note.read_bytes() == raw
    note.write_text(GOOD)
    memory.files.rescan(None)
    assert [hit["key"] for hit in told(memory, persona="luna")] == [ID]
    assert told(memory, standing=trust.OWNER) == []
    assert log(memory) == []


def test_a_rebuild_loses_the_last_good_keys_and_mending_brings_the_memory_back(
    memory, note
):
    """They stand in the catalogue, which is derived; usage goes by the id and is kept."""
    memory.files.rescan(None)
    told(memory, persona="luna")
    used = memory.call("show", {"id": ID})["usage"]["access"]
    note.write_bytes(broken("a tab")[0])
    memory.files.rescan(None)
    memory.call("reindex", {})
    assert told(memory, persona="luna") == []
    assert told(memory, standing=trust.OWNER)[0]["fault"]
    note.write_text(GOOD)
    memory.files.rescan(None)
    assert memory.call("show", {"id": ID})["usage"]["access"] == used
    assert memory.index.tombstones.keys == set()
    # of the time before the rebuild: tea became milk
    assert [row["action"] for row in log(memory)] == ["edit"]


@pytest.mark.parametrize(
    "raw", [b"", b"\0" * 300, GOOD.encode() + b"\0", b"---\nid: x\n---\n"]
)
def test_a_file_without_text_says_nothing_and_is_mended_whole(memory, note, raw):
    """Emptied, full of zeros, without a statement: the old sentence is not told, nor is
    the memory lost.
    """
    memory.files.rescan(None)
    note.write_bytes(raw)
    for _ in range(2):
        assert told(memory, persona="luna") == []
        assert told(memory, standing=trust.OWNER) == []
        memory.files.rescan(None)
    note.write_text(GOOD)
    memory.files.rescan(None)
    assert [hit["text"] for hit in told(memory, persona="luna")] == ["Anna drinks tea."]
    assert memory.index.tombstones.keys == set()
    assert log(memory) == []


def test_a_session_file_keeps_its_persona_and_says_its_turns_as_they_stand(
    memory, settings
):
    """A broken conversation stays its persona's; without last good keys it is the
    owner's.
    """
    memory.call(
        "observe",
        {
            "turns": [
                {
                    "text": "The lighthouse is red.",
                    "session": "s",
                    "persona": "luna",
                    "id": "a",
                }
            ]
        },
    )
    memory.call("flush", {})
    (path,) = settings.vault.glob("sessions/*/*.md")
    good = path.read_text()
    path.write_text(good.replace("session:", "\tsession:").replace("red", "blue"))
    for _ in range(2):
        (hit,) = told(memory, "lighthouse", persona="luna", kinds=["turn"])
        assert hit["text"] == "The lighthouse is blue."
        assert "shown with its last good keys" in hit["fault"]
        assert told(memory, "lighthouse", kinds=["turn"]) == []
        memory.files.rescan(None)
    path.write_text(good)
    memory.files.rescan(None)
    assert [
        hit["text"]
        for hit in told(memory, "lighthouse", persona="luna", kinds=["turn"])
    ] == ["The lighthouse is red."]
    path.write_text(good.replace("session:", "\tsession:"))
    memory.call("reindex", {})
    assert told(memory, "lighthouse", persona="luna", kinds=["turn", "note"]) == []
    (hit,) = told(memory, "lighthouse", trust.OWNER, kinds=["turn", "note"])
    assert "only the owner sees it" in hit["fault"]


def test_a_broken_session_file_is_not_written_and_what_is_said_meanwhile_waits(
    memory, settings, clock
):
    """No summary, no turn; once it is mended, the conversation goes on in it."""
    for number in range(6):
        turn = {
            "text": f"The lighthouse has {number} steps.",
            "session": "s",
            "persona": "luna",
            "id": f"a{number}",
        }
        memory.call("observe", {"turns": [turn]})
    memory.call("flush", {})
    (path,) = settings.vault.glob("sessions/*/*.md")
    good = path.read_text()
    path.write_text(good.replace("session:", "\tsession:"))
    memory.files.rescan(None)
    held = path.read_bytes()
    memory.call(
        "observe",
        {
            "turns": [
                {
                    "text": "The harbour is wide.",
                    "session": "s",
                    "persona": "luna",
                    "id": "b",
                }
            ]
        },
    )
    memory.call("flush", {})
    clock.advance(hours=2)
    for cadence in ("nightly", "weekly"):
        assert memory.call("consolidate", {"cadence": cadence})["failures"] == {}
    assert path.read_bytes() == held
    assert "The harbour is wide." in [
        hit["text"] for hit in told(memory, "harbour", persona="luna")
    ]
    path.write_text(good)
    memory.files.rescan(None)
    memory.call("flush", {})
    assert "The harbour is wide." in "".join(
        one.read_text() for one in settings.vault.glob("sessions/*/*.md")
    )
    assert memory.call("status", {})["parked_turns"] == 0


def test_what_is_said_again_of_a_broken_note_is_filed_all_the_same(memory, note):
    """The statement is known; that its note cannot be written holds no batch up."""
    note.write_text(
        GOOD.replace("persona: luna\n", "").replace(
            "Anna drinks tea.", "My sister Anna drinks green tea."
        )
    )
    memory.files.rescan(None)
    note.write_bytes(note.read_bytes().replace(b"category:", b"\tcategory:"))
    memory.files.rescan(None)
    memory.call("remember", {"text": "My sister Anna drinks green tea."})
    for number, text in enumerate(
        (
            "My sister Anna drinks green tea.",
            "My sister Anna drinks green tea now and then.",
            "Actually, my sister Anna does not drink green tea any more.",
        )
    ):
        memory.call("observe", {"turns": [{"text": text, "session": f"s{number}"}]})
        memory.call("flush", {})
    assert memory.call("status", {})["parked_turns"] == 0
    assert memory.health.problems() == {}
    assert all(
        one["code"] == "bad-yaml" for one in memory.call("doctor", {})["findings"]
    )


def test_what_somebody_asks_to_keep_is_kept_though_its_note_broke(memory):
    """The statement is known and the note stays as it is, which the answer tells; a pin
    is refused.
    """
    memory.call(
        "observe",
        {"turns": [{"text": "I decided to buy the boat Amastone.", "session": "s"}]},
    )
    memory.call("flush", {})
    ((known, path),) = {
        (hit["id"], hit["path"]) for hit in told(memory, "which boat?", kinds=["fact"])
    }
    note = memory.settings.vault / path
    raw = note.read_bytes().replace(b"category:", b"\tcategory:")
    note.write_bytes(raw)
    statement = memory.index.catalog.find_fact(known).text
    answer = memory.call("remember", {"text": statement})
    assert (answer["id"], answer["verdict"]) == (known, "confirmed")
    assert (
        f"{path} was not changed: the front matter is not valid YAML" in answer["why"]
    )
    assert note.read_bytes() == raw
    with pytest.raises(ConflictError, match="YAML"):
        memory.call("remember", {"text": statement, "pinned": True})


# row: X8
@pytest.mark.parametrize("looked", [False, True])
def test_a_broken_note_that_says_the_same_does_not_hold_up_what_is_restored(
    memory, clock, looked
):
    """The memory comes back itself beside the broken note, which is left as it stands."""
    first = memory.call("remember", {"text": "Anna drinks tea."})
    memory.call("forget", {"id": first["id"]})
    clock.advance(minutes=1)
    twin = memory.call("remember", {"text": "Anna drinks tea."})
    path = memory.settings.vault / twin["path"]
    raw = path.read_bytes().replace(b"\n---\n", b"\nodd: [one, {two\n---\n", 1)
    path.write_bytes(raw)
    if looked:
        memory.files.rescan(None)
    assert (
        memory.call("update", {"id": first["id"], "status": "active"})["id"]
        == first["id"]
    )
    assert memory.index.find(first["id"]).status == "active"
    assert len(told(memory, "what does Anna drink?", kinds=["fact"])) == 1
    assert memory.call("consolidate", {"cadence": "nightly"})["failures"] == {}
    assert path.read_bytes() == raw


def test_a_change_that_a_broken_note_refuses_names_the_note(memory):
    kept = memory.call("remember", {"text": "Anna drinks tea."})
    path = memory.settings.vault / kept["path"]
    path.write_bytes(path.read_bytes().replace(b"category:", b"\tcategory:"))
    with pytest.raises(ConflictError) as refused:
        memory.call("update", {"id": kept["id"], "pinned": True})
    assert refused.value.where.startswith(f"{kept['path']}, line ")
    assert "did not change the note" in refused.value.fix
