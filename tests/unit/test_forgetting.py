"""Forgotten is forgotten: what a wish to forget hides, what stays, what brings it back
(law 11).
"""

from __future__ import annotations

import json

import pytest

from engram.core.forgetting import (
    OMISSION,
    TombstoneSet,
    Utterance,
    read_tombstones,
)
from engram.core.text import content_hash
from engram.errors import ConflictError, ForbiddenError, NotFoundError
from engram.vault.store import TOMBSTONES

TOLD = "My therapist is Dr. Vos."


@pytest.fixture
def say(memory, clock):
    """Say something; every turn is a minute after the one before."""

    def said(text, role="user", standing="chat", **more):
        clock.advance(minutes=1)
        turn = {"text": text, "role": role, "session": "talk", **more}
        memory.call("observe", {"turns": [turn]}, standing)

    return said


def hits(memory, query, **wishes):
    return memory.call("recall", {"query": query, "k": 20, **wishes})["hits"]


def texts(memory, query, **wishes):
    return [hit["text"] for hit in hits(memory, query, **wishes)]


def forget(memory, clock, query, match, **wishes):
    """Forget the first hit whose text has `match`, by the id that is shown."""
    clock.advance(minutes=1)
    found = next(hit for hit in hits(memory, query, **wishes) if match in hit["text"])
    return memory.call("forget", {"id": found["id"]})


def actions(memory, name):
    lines = (
        (memory.settings.vault / "state" / "memory-actions.jsonl")
        .read_text()
        .splitlines()
    )
    return [one for one in map(json.loads, lines) if one["action"] == name]


def delete(memory, path):
    """A person deletes a note, and the vault is compared until that is believed."""
    (memory.settings.vault / path).unlink()
    memory.catch_up()


def doubt(memory, say):
    """The case of a memory that waits in review: its statement was corrected before."""
    for text in (
        "I live in Berlin.",
        "Actually, I live in Munich.",
        "I live in Berlin.",
    ):
        say(text)
        memory.call("flush", {})
    (case,) = memory.call("review", {})["cases"]
    return case


# -- what is hidden --------------------------------------------------------------------


# row: A26
@pytest.mark.parametrize("cut", [0, 1])
def test_a_turn_is_forgotten_by_its_id_or_an_unambiguous_beginning_of_it(
    memory, clock, say, cut
):
    say("The wifi password is hunter2.")
    (hit,) = hits(memory, "wifi password", kinds=["turn"])
    told = memory.call("forget", {"id": hit["id"][: len(hit["id"]) - cut]})
    assert (told["id"], told["status"]) == (hit["id"], "forgotten")
    assert hits(memory, "wifi password") == []


# row: A26
def test_an_id_that_is_ambiguous_or_unknown_says_what_to_do(memory, say):
    say("The roof is red.")
    say("The door is blue.")
    (one, *_) = hits(memory, "roof", kinds=["turn"])
    with pytest.raises(ConflictError, match="Give more of the id"):
        memory.call("forget", {"id": one["id"].rpartition("t")[0]})
    with pytest.raises(NotFoundError, match="use the id that is shown"):
        memory.call("forget", {"id": "2020-01-01-nothing#^t1"})


# row: A26
# row: X8
def test_forgetting_a_fact_hides_every_equal_sentence_whoever_said_it(
    memory, clock, say
):
    """Other sentences of the same turn stay, with a mark where something was cut. What
    says it in other words stays and is listed.
    """
    say(f"I had soup today. {TOLD} The soup was good.")
    say(
        "Noted! Your therapist is Dr. Vos. Enjoy the soup.",
        role="assistant",
    )
    for _ in range(2):
        say("Your therapist Dr. Vos is Dutch.", role="assistant")
    told = forget(memory, clock, "who is my therapist", "Vos", kinds=["fact"])
    assert len(told["hides"]["turns"]) == 2
    assert [one["text"] for one in told["similar"]] == [
        "Your therapist Dr. Vos is Dutch."
    ]
    left = [text for text in texts(memory, "therapist Vos soup") if "Vos" in text]
    assert set(left) == {"Your therapist Dr. Vos is Dutch."}
    found = texts(memory, "soup", kinds=["turn"])
    assert {
        f"I had soup today. {OMISSION} The soup was good.",
        f"Noted! {OMISSION} Enjoy the soup.",
    } <= set(found)


# row: X8
def test_forgetting_a_turn_takes_the_memories_that_rest_on_it_alone_along(
    memory, clock, say
):
    say(TOLD)
    assert hits(memory, "therapist", kinds=["fact"])
    told = forget(memory, clock, "who is my therapist", "Vos", kinds=["turn"])
    assert len(told["hides"]["memories"]) == 1
    assert hits(memory, "therapist Vos") == []
    assert (
        memory.index.catalog.find_fact(told["hides"]["memories"][0]).status
        == "forgotten"
    )


def broken(memory, name):
    """A person breaks the front matter of a memory's note; its path."""
    path = memory.index.catalog.find_fact(name).path
    note = memory.settings.vault / path
    note.write_bytes(
        note.read_bytes().replace(b"\n---\n", b"\nodd: [one, {two\n---\n", 1)
    )
    return path


# row: X8
def test_a_broken_note_beside_does_not_hold_up_what_is_forgotten(memory, clock, say):
    """It is left as it stands and named in the answer; what it says is hidden all the
    same.
    """
    say(TOLD)
    (known,) = hits(memory, "therapist", kinds=["fact"])
    path = broken(memory, known["id"])
    before = (memory.settings.vault / path).read_bytes()
    told = forget(memory, clock, "who is my therapist", "Vos", kinds=["turn"])
    assert told["hides"]["memories"] == [known["id"]]
    assert "did not change the note" in told["unchanged"][path]
    assert hits(memory, "therapist Vos") == []
    assert actions(memory, "hide")
    assert (memory.settings.vault / path).read_bytes() == before


# row: X8
def test_a_broken_note_beside_does_not_hold_up_what_is_restored(memory, clock, say):
    say(TOLD)
    told = forget(memory, clock, "who is my therapist", "Vos", kinds=["turn"])
    broken(memory, *told["hides"]["memories"])
    assert memory.call("update", {"id": told["id"], "status": "active"})["changed"] == [
        "status"
    ]
    assert TOLD in texts(memory, "therapist Vos", kinds=["turn"])


# row: X8
def test_what_one_persona_forgets_is_forgotten_for_all(memory, clock, say):
    say(TOLD, persona="Mona", session="mona")
    say(TOLD, persona="Coach", session="coach")
    forget(memory, clock, "who is my therapist", "Vos", persona="Mona")
    for persona in ("Mona", "Coach", None):
        assert not [
            text
            for text in texts(memory, "therapist Vos", persona=persona)
            if "Vos" in text
        ]


# -- what does not bring it back -------------------------------------------------------


# row: X8
@pytest.mark.parametrize(
    ("text", "role", "standing", "when"),
    [
        ("Your therapist is Dr. Vos.", "assistant", "chat", None),
        ("Noted: your therapist is Dr. Vos.", "assistant", "chat", None),
        (TOLD, "user", "import", None),
        (TOLD, "user", "tool", None),
        (TOLD, "user", "chat", "2020-06-01T10:00:00+02:00"),
        ("Remember that your therapist is Dr. Vos!", "assistant", "chat", None),
    ],
)
def test_assistants_tools_imports_and_older_turns_do_not_bring_it_back(
    memory, clock, say, text, role, standing, when
):
    say(TOLD)
    forget(memory, clock, "therapist", "Vos", kinds=["fact"])
    say(
        text,
        role=role,
        standing=standing,
        id="again",
        **({"occurred_at": when} if when else {}),
    )
    assert not [one for one in texts(memory, "therapist Vos") if "Vos" in one]
    folder = memory.settings.vault
    assert all("\nstatus: " in path.read_text() for path in folder.glob("facts/*/*.md"))
    assert not list(folder.glob("review/*.md"))
    assert not actions(memory, "lift")
    assert not any("quote" in row for row in actions(memory, "discard"))


# row: X8
# row: X27
def test_an_importer_is_refused_that_asks_to_keep_what_was_forgotten(
    memory, clock, say
):
    say(TOLD)
    forget(memory, clock, "therapist", "Vos", kinds=["fact"])
    with pytest.raises(ForbiddenError):
        memory.call("remember", {"text": "The user's therapist is Dr. Vos"}, "import")


# -- what brings it back ---------------------------------------------------------------


# row: X8
@pytest.mark.parametrize("how", ["chat", "remember"])
def test_what_the_user_says_anew_is_a_new_memory_and_logged(memory, clock, say, how):
    """Older sentences stay hidden; what is said from then on is shown, by whomever."""
    say(f"Sadly, {TOLD}")
    say(TOLD)
    told = forget(memory, clock, "therapist", "Vos", kinds=["fact"])
    if how == "chat":
        say("By the way, my therapist is Dr. Vos.")
    else:
        clock.advance(minutes=1)
        memory.call("remember", {"text": TOLD})
    (logged,) = actions(memory, "lift")
    assert (logged["memory"], logged["reason"]) == (
        told["id"],
        "the user said it again",
    )
    assert memory.call("status", {})["said_again"].startswith("1 forgotten")
    found = texts(memory, "therapist Vos")
    assert [text for text in found if "Vos" in text]
    assert not [text for text in found if "Sadly" in text]
    assert memory.index.catalog.find_fact(told["id"]).status == "forgotten"
    say("Your therapist is Dr. Vos.", role="assistant")
    assert "Your therapist is Dr. Vos." in texts(memory, "therapist Vos")


# row: X8
@pytest.mark.parametrize(
    "text",
    [
        "Is my therapist Dr. Vos?",
        "My therapist is not Dr. Vos any more.",
        'Tom wrote: "Your therapist is Dr. Vos."',
    ],
)
def test_a_question_a_denial_and_words_passed_on_lift_nothing(memory, clock, say, text):
    """The user's own new words are shown all the same."""
    say(TOLD)
    forget(memory, clock, "therapist", "Vos", kinds=["fact"])
    say(text)
    if not text.endswith("?"):  # a question is no hit
        own = {text, text.replace("My ", "The user's ")}  # the turn, or its fact
        assert own.intersection(texts(memory, "therapist Vos"))
    assert not actions(memory, "lift")
    say("Your therapist is Dr. Vos.", role="assistant")
    assert "Your therapist is Dr. Vos." not in texts(memory, "therapist Vos")


# row: X6
@pytest.mark.parametrize("kind", ["fact", "turn"])
def test_restore_lifts_everything_that_the_wish_to_forget_hid(memory, clock, say, kind):
    say(f"{TOLD} I had soup.")
    say("Your therapist Dr. Vos called.", role="assistant")
    before = sorted(texts(memory, "therapist Vos soup"))
    told = forget(memory, clock, "therapist", "Vos", kinds=[kind])
    assert sorted(texts(memory, "therapist Vos soup")) != before
    memory.call("update", {"id": told["id"], "status": "active"})
    assert sorted(texts(memory, "therapist Vos soup")) == before
    assert not memory.index.tombstones.forgotten
    assert memory.index.tombstones.keys == set()


# -- summaries, derived stores ---------------------------------------------------------


# row: X20
def test_deleting_every_derived_store_hides_the_same(memory, opened, clock, say):
    say(f"{TOLD} I had soup.")
    say("Your therapist Dr. Vos called.", role="assistant")
    forget(memory, clock, "therapist", "Vos", kinds=["fact"])
    say("Is my therapist Dr. Vos?")
    before = texts(memory, "therapist Vos soup")
    memory.close()
    memory.close = lambda: None
    for path in sorted(memory.settings.cache.rglob("*")):
        if path.is_file():
            path.unlink()
    assert texts(opened(), "therapist Vos soup") == before


# row: X18
# row: X20
def test_a_turn_that_waits_for_its_file_is_hidden_too_and_after_a_restart(
    memory, opened, clock, say
):
    """It is forgotten by its id before it is filed; after the restart it is filed, and
    no memory is made of it.
    """
    memory.executor.attended = True
    say(TOLD)
    (hit,) = hits(memory, "therapist")
    memory.call("forget", {"id": hit["id"]})
    assert hits(memory, "therapist Vos") == []
    say("Your therapist is Dr. Vos.", role="assistant")
    assert hits(memory, "therapist Vos") == []
    memory.close()
    memory.close = lambda: None
    later = opened()
    assert hits(later, "therapist Vos") == []
    later.call("flush", {})
    assert hits(later, "therapist Vos") == []
    assert not list(later.settings.vault.glob("facts/*/*.md"))


# row: X8
def test_a_status_set_by_hand_hides_and_shows_the_same(memory, clock, say):
    say(TOLD)
    (note,) = memory.settings.vault.glob("facts/*/*.md")
    text = note.read_text()
    note.write_text(text.replace("origin:", "status: forgotten\norigin:"))
    memory.files.rescan(None)
    assert hits(memory, "therapist Vos") == []
    note.write_text(text)
    memory.files.rescan(None)
    assert TOLD in texts(memory, "therapist Vos", kinds=["turn"])


# -- the rule by itself ----------------------------------------------------------------


# row: X8
def test_a_drop_in_review_that_a_crash_cut_short_hides_no_more_than_a_drop(
    memory, opened, clock, say
):
    """The process ends after the note went to the trash, before the log row and the
    catalogue say so: the next start takes it for no deletion by a person.
    """
    case = doubt(memory, say)
    state = memory.settings.vault / "state"
    catalogue = {
        path: path.read_bytes()
        for path in memory.settings.cache.iterdir()
        if path.is_file()
    }
    log = (state / "memory-actions.jsonl").read_bytes()
    memory.call("decide", {"id": case["id"], "decision": "drop"})
    read_tombstones = (memory.settings.vault / TOMBSTONES).read_bytes()
    memory.close()
    for path, raw in catalogue.items():
        path.write_bytes(raw)
    (state / "memory-actions.jsonl").write_bytes(log)

    memory = opened()

    assert memory.index.catalog.fact(case["id"]) is None
    assert (memory.settings.vault / TOMBSTONES).read_bytes() == read_tombstones
    assert [tombstone_row["memory"] for tombstone_row in actions(memory, "drop")] == [
        case["id"]
    ]
    assert actions(memory, "forget") == []
    assert "I live in Berlin." in texts(memory, "I live in Berlin.", kinds=["turn"])


# row: X9
def test_a_deleted_question_hides_nothing_of_what_it_asked_about(memory, say):
    """It states nothing itself; the turns it quotes are recalled as before."""
    say("My sister Anna works at Siemens.")
    memory.call("flush", {})
    (known,) = (fact for fact in memory.index.catalog.facts() if "Siemens" in fact.text)
    memory.call("update", {"id": known.id, "pinned": True})
    say("My sister Anna works at Bosch now.")
    memory.call("flush", {})
    (case,) = memory.call("review", {})["cases"]
    delete(memory, case["path"])
    assert memory.call("review", {})["cases"] == []
    assert not (memory.settings.vault / TOMBSTONES).exists()
    assert [tombstone_row["memory"] for tombstone_row in actions(memory, "forget")] == [
        case["id"]
    ]
    found = texts(memory, "Where does my sister Anna work?", kinds=["turn"])
    assert {
        "My sister Anna works at Siemens.",
        "My sister Anna works at Bosch now.",
    } <= {*found}


# row: X8
def test_deleting_a_doubtful_memory_is_a_wish_to_forget_it(memory, say):
    """Its note asks too, but it states what was said."""
    case = doubt(memory, say)
    delete(memory, case["path"])
    assert texts(memory, "I live in Berlin.", kinds=["turn"])[0] != "I live in Berlin."
    assert [tombstone_row["memory"] for tombstone_row in actions(memory, "forget")] == [
        case["id"]
    ]


def test_rows_of_another_form_and_torn_ones_are_passed_over():
    known = read_tombstones(
        [
            {"hash": "a"},
            {"says": 7, "hash": "b"},
            {"says": [3, {"words": 1}], "at": "soon"},
            {"lifted": "x"},
        ]
    )
    assert TombstoneSet(known).visible(TOLD, Utterance()) == TOLD


def test_a_row_of_an_older_version_hides_exactly_its_statement():
    """Such a row has fingerprints of the words in `says`, and the hash of the text."""
    old = {"says": [{"names": ["vos"], "words": ["therapist"]}], "memory": "m"}
    old |= {"at": "2026-01-01T00:00:00+00:00", "hash": content_hash(TOLD)}
    known = TombstoneSet(read_tombstones([old]))
    assert known.visible(f"Well. {TOLD}", Utterance()) == f"Well. {OMISSION}"
    assert known.visible("Vos is a therapist.", Utterance()) == "Vos is a therapist."


# row: A26
# row: X8
@pytest.mark.parametrize("name", ["forget", "correct"])
def test_a_full_disk_of_the_catalogue_takes_nothing_back(memory, clock, say, name):
    """The answer is the truth; what is hidden stays so, and the index catches up."""
    say(TOLD)
    (fact,) = memory.call("recall", {"query": "therapist", "kinds": ["fact"]})["hits"]
    more = {"text": "The user's therapist is Dr. Lind."} if name == "correct" else {}
    database = memory.index.catalog.database._db
    database.execute("PRAGMA query_only = ON")
    memory.call(name, {"id": fact["id"], **more})
    assert not [one for one in texts(memory, "therapist Vos") if "Vos" in one]
    assert "index" in memory.call("status", {})["faults"]
    database.execute("PRAGMA query_only = OFF")
    memory.files.rescan(None)
    assert not [one for one in texts(memory, "therapist Vos") if "Vos" in one]
    assert "index" not in memory.call("status", {})["faults"]
    assert not actions(memory, "edit")
    if name == "correct":
        assert "The user's therapist is Dr. Lind." in texts(memory, "therapist Lind")
