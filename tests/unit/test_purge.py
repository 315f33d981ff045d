"""A purge removes words from every store, and proves it (rows X12, X26)."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import jsonschema
import pytest

from engram.core import purge
from engram.core.purge import Traces
from engram.errors import BadRequestError, ForbiddenError, NotFoundError
from engram.llm.client import Recording
from engram.operations.results import Purged, schema, schemas
from engram.testing import Simulation
from tests.fakes.repository import Repository

TOLD = (
    "My therapist is Dr. Quetzalbyte and I see her every Tuesday.",
    "My sister Anna lives in Berlin. I am allergic to walnuts.",
    "I work at Halvorsen as a welder.",
)


@pytest.fixture
def tell(simulation):
    """Say something in the chat, and have it filed."""

    def tell(*texts, session="main", role="user"):
        turns = [{"text": text, "role": role, "session": session} for text in texts]
        keys = simulation.call("observe", turns=turns)["keys"]
        simulation.advance(simulation.now + timedelta(minutes=40))
        simulation.call("flush")
        return keys

    return tell


@pytest.fixture
def named(simulation):
    """The id of the only memory with this word."""

    def named(word):
        rows = simulation.call("list", status="all", limit=100)["memories"]
        (found,) = [row["id"] for row in rows if word in row["text"]]
        return found

    return named


def purged(simulation, **params):
    return simulation._memory.call("purge", {"yes": True, **params}, "owner")


def residue(folder, word):
    """The files below `folder` with the word in their bytes or name, in any encoding."""
    forms = [word, word.lower(), word.upper()]
    needles = [form.encode(code) for form in forms for code in ("utf-8", "utf-16-le")]
    for form in forms if len(word) > 8 else ():
        for shift in range(3):
            coded = base64.b64encode(b" " * shift + form.encode())
            needles.append(coded[4 if shift else 0 : -4])
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file()
        and (
            any(needle in path.read_bytes() for needle in needles)
            or word.lower() in path.name.lower()
        )
    )


# row: X12
# row: X26
def test_a_purged_memory_is_in_no_file_of_any_store(simulation, tell, named, tmp_path):
    tell(*TOLD)
    reply = TOLD[0].replace("My", "Your").replace("I see", "you see")
    tell(f"I see. {reply} Anything else?", role="assistant")
    simulation.advance(simulation.now + timedelta(days=8))
    identity = named("Quetzalbyte")
    simulation._memory.call("forget", {"id": identity})
    simulation._memory.save()
    assert len(residue(tmp_path, "Quetzalbyte")) > 5

    result = purged(simulation, ids=[identity])
    document = {"components": {"schemas": schemas()}, **schema(Purged)}
    jsonschema.validate(result, document)
    assert result["clean"]
    assert (result["left"], result["memory_count"]) == ([], 1)
    assert {"vault", "state", "cache", "runtime"} == set(result["searched"])
    simulation._memory.save()
    assert residue(tmp_path, "Quetzalbyte") == []
    assert residue(tmp_path, "every Tuesday") == []


# row: X12
def test_a_dry_run_lists_what_goes_and_changes_no_byte(
    simulation, tell, named, tmp_path
):
    tell(*TOLD)
    simulation._memory.save()
    before = {
        path: path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file() and "db" not in path.suffix
    }
    for params in ({}, {"dry_run": True, "yes": True}):
        result = simulation._memory.call(
            "purge", {"ids": [named("Quetzalbyte")], **params}, "owner"
        )
        assert result["dry_run"]
        assert result["memory_count"] == 1
        assert "Quetzalbyte" in result["memories"][0]["text"]
    after = {path: path.read_bytes() for path in before}
    assert after == before


# row: X12
def test_a_person_a_session_and_a_turn_can_be_purged(simulation, tell, tmp_path):
    tell(*TOLD)
    tell("Rolf Zirbelkiefer repairs my boat.", "The boat is green.", session="harbour")
    first, _ = tell("My locker has the number 4711-QX.", "I like tea.", session="gym")
    assert purged(simulation, about="Anna")["clean"]
    assert "walnuts" in str(simulation.call("recall", query="My allergy to walnuts"))
    assert residue(tmp_path, "My sister Anna") == []
    assert not [one for one in residue(tmp_path, "Anna") if "entities" in one]
    assert purged(simulation, session="harbour")["clean"]
    assert residue(tmp_path, "Zirbelkiefer") == []
    assert purged(simulation, ids=[first])["clean"]
    simulation._memory.save()
    assert residue(tmp_path, "4711-QX") == []
    assert "tea" in str(simulation.call("recall", query="Do I like tea?"))
    assert "Halvorsen" in str(simulation.call("recall", query="Where do I work?"))


# row: X26
def test_words_are_found_in_recorded_calls_logs_and_answers(
    simulation, tell, named, tmp_path
):
    tell(*TOLD)
    settings = simulation._memory.settings
    (settings.state / "daemon.log").write_text("ok\nread Dr. Quetzalbyte\nready\n")
    answers = simulation._memory.maintenance_loop.maintenance.snapshot.answers
    answers.store("a", {"text": "Dr. Quetzalbyte is the therapist."})
    answers.store("b", {"text": "Anna is the sister."})
    assert purged(simulation, ids=[named("Quetzalbyte")])["clean"]
    assert residue(tmp_path, "Quetzalbyte") == []
    assert (settings.state / "daemon.log").read_text() == "ok\nready\n"
    assert list(answers) == ["b"]


# row: X12
# row: X26
@pytest.mark.parametrize("what", ["memory", "turn", "session", "entity"])
def test_no_store_keeps_what_is_purged_and_git_is_counted(tmp_path, what):
    """Recorded calls, archive, trash, undo history and boxes; an export that the user
    keeps in the vault is named.
    """
    vault = tmp_path / "vault"
    vault.mkdir()
    repository = Repository(vault)
    (vault / "engram.toml").write_text('id = "01TESTTESTTEST"\nzone = "UTC"\n')
    at = datetime(2026, 11, 20, 20, tzinfo=UTC)
    places = {"home": tmp_path / "home"}
    told = [
        {"text": text, "session": "kin", "id": str(number)}
        for number, text in enumerate(
            ["My sister is called Xanthippora.", "Xanthippora lives in Oslo."]
        )
    ]
    with Simulation(vault, at=at, **places) as simulation:
        keys = simulation.call("observe", turns=told)["keys"]
        simulation.call("observe", turns=[{"text": "I like tea.", "session": "other"}])
        simulation.call("flush")
        simulation.call("context", query="What about Xanthippora?", session="other")
        simulation.advance(at + timedelta(days=8))
        rows = simulation.call("list", limit=100)["memories"]
        ids = [row["id"] for row in rows if "Xanthippora" in row["text"]]
        now = simulation.now
    note = next(vault.glob("facts/*/*oslo*.md"))
    archived = vault / "archive" / note.parent.name / note.name
    archived.parent.mkdir(parents=True)
    archived.write_text(
        note.read_text().replace("origin:", "status: archived\norigin:")
    )
    note.unlink()
    trash = vault / ".trash" / "2026-11-21"
    trash.mkdir(parents=True)
    (trash / "old.md").write_text(
        "---\ncategory: fact\n---\nXanthippora lives in Rome.\n"
    )
    export = vault / "export.jsonl"
    export.write_text('{"text": "Xanthippora lives in Oslo."}\n{"text": "tea"}\n')
    calls = tmp_path / "calls"
    Recording(calls).write("extract", "s", str(told), '{"facts": ["Xanthippora"]}')
    chosen = {
        "memory": {"ids": ids},
        "turn": {"ids": list(keys)},
        "session": {"session": "kin"},
        "entity": {"about": "Xanthippora"},
    }[what]
    env = {"ENGRAM_MODEL": "m", "ENGRAM_BASE_URL": "http://127.0.0.1:1/v1"}
    env["ENGRAM_RECORD"] = str(calls)
    with Simulation(vault, at=now, env=env, **places) as simulation:
        before = residue(tmp_path, "Xanthippora")
        for place in ("calls/", "home/state/", "home/cache/", "vault/archive/"):
            assert any(path.startswith(place) for path in before), before
        result = purged(simulation, **chosen)
        simulation._memory.save()
        assert "tea" in str(simulation.call("recall", query="Do I like tea?"))
    left = residue(tmp_path, "Xanthippora")
    # the objects of git are compressed; its log of commits is not
    assert [one for one in left if "/.git/" not in one] == ["vault/export.jsonl"]
    assert [one["path"] for one in result["left"]] == ["export.jsonl"]
    assert not (vault / "entities" / "places" / "Oslo.md").exists()
    log = repository("log", "--all", "-p", "--format=commit %H%n%B").split("commit ")
    names = ("xanthippora", "oslo")
    holding = [one for one in log if any(name in one.lower() for name in names)]
    assert result["history"]["commits"] == len(holding) > 0
    assert "git-filter-repo" in result["history"]["fix"]


# row: X26
def test_a_note_of_the_user_is_left_and_named(simulation, tell, named, tmp_path):
    tell(*TOLD)
    note = tmp_path / "vault" / "notes" / "doctors.md"
    note.parent.mkdir(exist_ok=True)
    words = "Ask them: My therapist is Dr. Quetzalbyte and I see her every Tuesday.\n"
    note.write_text(words)
    result = purged(simulation, ids=[named("Quetzalbyte")])
    assert not result["clean"]
    paths = [one["path"] for one in result["left"]]
    assert paths[0] == "notes/doctors.md"
    assert all("/cache/" in path for path in paths[1:])  # the index of that note
    assert note.read_text() == words


# row: X12
def test_a_turn_that_waits_is_purged_too_and_learned_by_nobody(
    simulation, tell, tmp_path
):
    tell(*TOLD)
    turn = {"text": "My code word is xylophagous.", "session": "late", "id": "w1"}
    (key,) = simulation.call("observe", turns=[turn])["keys"]
    assert purged(simulation, ids=[key])["turn_count"] == 1
    simulation.call("flush")
    simulation._memory.save()
    assert residue(tmp_path, "xylophagous") == []
    assert simulation.call("recall", query="code word")["hits"] == []


# row: X12
def test_after_a_purge_the_vault_starts_again_and_learns_again(
    simulation, tell, named, tmp_path
):
    tell(*TOLD)
    purged(simulation, ids=[named("Halvorsen")])
    tell("I work at Halvorsen.", session="anew")
    assert "Halvorsen" in str(simulation.call("recall", query="Where do I work?"))
    purged(simulation, ids=[named("Halvorsen")])
    now = simulation.now
    simulation.close()
    with Simulation(tmp_path / "vault", at=now, home=tmp_path / "home") as again:
        assert "Halvorsen" not in str(again.call("recall", query="Where do I work?"))
        assert "Berlin" in str(again.call("recall", query="Where does Anna live?"))


# row: X27
def test_only_the_owner_purges_and_only_what_is_named(simulation, tell, named):
    tell(*TOLD)
    identity = named("Halvorsen")
    with pytest.raises(ForbiddenError):
        simulation.call("purge", ids=[identity], yes=True)
    with pytest.raises(BadRequestError):
        purged(simulation)
    with pytest.raises(NotFoundError):
        purged(simulation, ids=["01AAAAAAAAAAAAAAAAAAAAAAAA"])
    with pytest.raises(NotFoundError):
        purged(simulation, about="Nobody Known")
    with pytest.raises(NotFoundError):
        purged(simulation, session="nothing")
    assert named("Halvorsen") == identity


# -- rules -----------------------------------------------------------------------------

FOUND = purge.traces(
    ["My therapist is Dr. Quetzalbyte."],
    ["fact-my-therapist-is-dr-quetzalbyte-1234"],
    ["01M83Q0M7RV7S616DP197KAXE2", "2026-11-23-main#^t1"],
    [],
    ["I like the therapist's garden."],
)


@pytest.mark.parametrize(
    "raw",
    [
        b"xx DR.QUETZALBYTE xx",
        json.dumps("Dr. \u0051uetzalbyte").encode(),
        b'{"t": "\\u0051\\u0075etzalbyte"}',
        b"GET /?q=%51uetzalbyte",
        b"a/fact-my-therapist-is-dr-quetzalbyte-1234.md",
    ],
)
def test_words_are_found_as_they_are_and_escaped(raw):
    assert FOUND.in_bytes(raw)


@pytest.mark.parametrize(
    "raw", [b"", b"the therapist", b"Dr. Who", b"2026-11-23-main#^t12", b"\0\1\2" * 99]
)
def test_other_words_are_no_trace(raw):
    assert not FOUND.in_bytes(raw)
    assert not FOUND.names_id(raw.decode())


def test_a_row_goes_with_its_memory_and_other_rows_lose_only_the_words():
    rows = [
        {"memory": "01M83Q0M7RV7S616DP197KAXE2", "action": "store"},
        {"memory": "B", "action": "store", "quote": "Dr. Quetzalbyte"},
        {"id": "box", "memories": ["01M83Q0M7RV7S616DP197KAXE2", "B"]},
        {"id": "e", "from": "person:dr_quetzalbyte", "to": "x y"},
        {"memory": "C", "turn": "2026-11-23-main#^t12", "topics": ["quetzalbyte", "x"]},
    ]
    raw = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    left = [json.loads(line) for line in purge.cut_rows(raw, FOUND).splitlines()]
    assert left == [
        {"memory": "B", "action": "store"},
        {"id": "box", "memories": ["B"]},
        {"memory": "C", "turn": "2026-11-23-main#^t12", "topics": ["x"]},
    ]


def test_nothing_is_cut_without_traces():
    raw = b'{"memory": "A", "quote": "x"}\n not json\n'
    assert purge.cut_rows(raw, Traces()) == raw


# row: C31
# row: X12
def test_a_box_of_purged_memories_goes_with_its_title(
    simulation, tell, named, tmp_path
):
    """Words that its memories share title it, and would outlive them."""
    tell(
        "I am taking lithium. My lithium doctor is called Dr. Vos. I live in Ghent.",
    )
    (box,) = tmp_path.glob("vault/boxes/*/*.md")
    assert "# Lithium" in box.read_text()
    purged(simulation, ids=[named("taking lithium"), named("lithium doctor")])
    assert not box.exists()
    assert residue(tmp_path, "lithium") == []
