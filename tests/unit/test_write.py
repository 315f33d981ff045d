"""From a distilled batch to files: names, ids, confirmations, review notes, and doing
it twice.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from engram.core import lifecycle
from engram.core.records import Candidate, Extraction, Interval
from engram.core.text import content_hash
from engram.errors import ConflictError, StorageError
from engram.vault import syscalls

WORDS = "Anna maybe moved to Porto, I really like the sea there, and we decided to visit her."


@pytest.fixture
def held(memory):
    memory.executor.attended = True
    return memory


def batch_of(memory, *texts, session="coffee plans", **more):
    """A batch as it is handed out: its turns stand in their session file. `more` goes
    into each turn.
    """
    number = memory.index.counts()["turns"]
    raw = [
        {"id": f"m{number + n}", "session": session, "text": text, **more}
        for n, text in enumerate(texts)
    ]
    memory.call("observe", {"turns": raw})
    memory.queue.hurry()
    (batch,) = memory.pipeline.due(memory.clock())
    return batch


def said(batch, *statements, extractor="test/1", **more):
    """An extraction with these statements, all with the batch's first turn as evidence."""
    first = batch.turns[0]
    given = {
        "category": "fact",
        "confidence": 0.8,
        "turn_id": first.id,
        "quote": first.text[:20],
    } | more
    return Extraction(
        tuple(Candidate(text=text, **given) for text in statements), extractor
    )


def facts(memory, folder="facts"):
    return sorted((memory.settings.vault / folder).rglob("*.md"))


def tree(memory):
    """Every file of the vault with its bytes, without what is seen of its use."""
    files = (path for path in memory.settings.vault.rglob("*") if path.is_file())
    return {
        str(path): path.read_bytes() for path in files if path.parent.name != "usage"
    }


def decisions(memory):
    lines = (
        (memory.settings.vault / "state" / "memory-actions.jsonl")
        .read_text()
        .splitlines()
    )
    return [json.loads(line) for line in lines]


# row: C7
@pytest.mark.parametrize("folder", ["facts", "archive"])
def test_file_names_are_unique_in_a_plan_and_on_the_disk(held, folder):
    """Two statements that one slug and hash would name alike, and one that a person put
    there or archived before.
    """
    pattern = replace(held.settings, file_name="{category}-{timestamp}-{hash}")
    held.note_writer.settings = pattern
    batch = batch_of(held, WORDS)
    new, taken = (
        held.settings.vault / place / "2026-11-20" for place in ("facts", folder)
    )
    taken.mkdir(parents=True)
    name = f"fact-20261120t200000z-{content_hash('Anna lives in Porto.')[:8]}"
    (taken / f"{name}.md").write_text("A person's own words.")
    held.pipeline.file(
        batch, said(batch, "Anna lives in Porto.", "Anna likes the sea.")
    )
    assert (taken / f"{name}.md").read_text() == "A person's own words."
    assert (new / f"{name}-2.md").exists()
    assert len(facts(held)) == 2 + (folder == "facts")


# row: C17
# row: C4
def test_an_unconfirmed_speculation_expires_and_a_confirmation_clears_that(held, clock):
    """30 days from the day it was learned; seen again it stays."""
    batch = batch_of(held, WORDS)
    held.pipeline.file(
        batch, said(batch, "Anna saw a fox.", "Anna is moody.", confidence=0.39)
    )
    held.pipeline.file(batch_of(held, "Hm."), Extraction((), "test/1"))
    assert all(
        "expires: 2026-12-20T21:00:00" in path.read_text() for path in facts(held)
    )
    again = batch_of(held, WORDS)
    held.pipeline.file(again, said(again, "Anna saw a fox.", extractor="test/2"))
    clock.advance(days=30)
    hits = held.call("recall", {"query": "Anna", "kinds": ["fact"]})
    assert [hit["text"] for hit in hits["hits"]] == ["Anna saw a fox."]
    assert hits["filtered"] == {"expired": 1}


# row: A1
@pytest.mark.parametrize("known", [False, True])
def test_filing_a_batch_again_after_a_crash_changes_no_byte(held, opened, known):
    """The process ended between the files and the checkpoint; creations, confirmations
    and doubts are as they were.
    """
    if known:
        held.call("remember", {"text": "Anna likes the sea."})
    batch = batch_of(held, WORDS)
    ungrounded = replace(said(batch, "Anna is rich.").candidates[0], quote="")
    good = said(
        batch,
        "Anna lives in Porto.",
        "Anna likes the sea.",
        "anna lives in porto",
        "ok",
    )
    outcome = replace(good, candidates=(*good.candidates, ungrounded))
    held.reconciler.file(batch, outcome, held.clock())
    before = tree(held)
    later = opened()
    later.executor.attended = True
    (again,) = later.pipeline.due(later.clock())
    assert again.turns == batch.turns
    filed = later.pipeline.file(again, outcome)
    assert (filed.created, filed.confirmed, filed.review) == ((), (), ())
    assert tree(later) == before
    assert later.queue.counts()["waiting_turns"] == 0


def test_a_disk_that_fills_up_half_way_makes_no_fact_twice(held, monkeypatch):
    """What was written before the fault is known to the next try."""
    batch = batch_of(held, WORDS)
    outcome = said(
        batch, "Anna lives in Porto.", "Anna likes the sea.", "Anna has a boat."
    )

    class Full(syscalls.Syscalls):
        left = 1

        def write(self, descriptor, content):
            if b"Anna likes" in content:
                raise OSError(28, "No space left on device")
            return super().write(descriptor, content)

    monkeypatch.setattr(syscalls, "SYS", Full())
    with pytest.raises(StorageError):
        held.pipeline.file(batch, outcome)
    monkeypatch.undo()
    held.pipeline.file(batch, outcome)
    assert len(facts(held)) == 3
    assert not held.index.catalog.problems()
    assert not facts(held, "review")


# row: X17
# row: A32
def test_what_rests_on_nothing_waits_in_review_and_the_log_says_why(held):
    """It is not recalled, and each decision has its reason, turn and quote."""
    batch = batch_of(held, WORDS)
    filed = held.pipeline.file(batch, said(batch, "Anna is rich.", quote=""))
    (note,) = facts(held, "review")
    assert "status: review" in note.read_text()
    assert "end_reason: no words of the message support it" in note.read_text()
    assert not held.call("recall", {"query": "rich", "kinds": ["fact"]})["hits"]
    (row,) = decisions(held)
    assert (row["action"], row["memory"], row["reason"]) == (
        "review",
        filed.review[0],
        "no words of the message support it",
    )
    assert row["turn"].endswith("#^t1")


# row: C6
# row: C10
# row: X14
def test_what_happens_has_an_end_and_is_recalled_after_it(held):
    """The note says from when to when; a state has no such end, and the memory none at
    all.
    """
    day = held.clock().replace(hour=0)
    yesterday = Interval(day - timedelta(days=1), day, "day", "yesterday")
    for text, category in (
        ("Anna was in Porto yesterday", "moment"),
        ("I will call Ben yesterday", "commitment"),
        ("Anna has lived in Oslo since yesterday", "fact"),
        ("Anna sailed home yesterday", "fact"),
    ):
        batch = batch_of(held, text)
        held.pipeline.file(batch, said(batch, text, category=category, when=yesterday))
    notes = {path.name.partition("-")[2][:9]: path.read_text() for path in facts(held)}
    ends = {
        name: "event_end: 2026-11-20T01:00:00\n" in text for name, text in notes.items()
    }
    assert ends == {
        "anna-was-": True,
        "i-will-ca": True,
        "anna-has-": False,
        "anna-sail": True,
    }
    assert all("valid_from: 2026-11-19T01:00:00\n" in text for text in notes.values())
    fact = next(fact for fact in held.index.catalog.facts() if "Porto" in fact.text)
    assert fact.event_end == day
    assert lifecycle.hidden_reason(fact, day + timedelta(days=400)) is None


# row: C11
def test_what_was_filed_is_found_by_the_next_question(held):
    """The index follows the write; nobody has to ask for it."""
    batch = batch_of(held, WORDS)
    held.pipeline.file(batch, said(batch, "Anna owns a lighthouse."))
    assert (
        held.call("recall", {"query": "lighthouse"})["hits"][0]["text"]
        == "Anna owns a lighthouse."
    )
    (note,) = facts(held)
    note.write_text(note.read_text().replace("lighthouse", "windmill"))
    held.files.rescan([note])
    assert held.call("recall", {"query": "windmill"})["hits"][0]["kind"] == "fact"
    assert not held.call("recall", {"query": "lighthouse"})["hits"]


# row: X4
@pytest.mark.parametrize("again", [False, True])
def test_a_fact_cites_its_own_turn_where_a_person_took_the_block(held, opened, again):
    """A note forgotten hides its own turn, not theirs; after a crash too, and the next
    turn comes behind.
    """
    batch_of(held, "Hello there my friend.", session="walk")
    (session,) = facts(held, "sessions")
    session.write_text(
        session.read_text() + "\n> [!user] 10:00 %%theirs%%\n> I hate liver.\n\n^t2\n"
    )
    batch = batch_of(held, "My dog is called Rex.", session="walk")
    if again:
        held = opened()
        held.executor.attended = True
        batch = next(
            each
            for each in held.pipeline.due(held.clock())
            if "Rex" in each.turns[-1].text
        )
    turn = batch.turns[-1]
    candidate = Candidate(
        text="Rex is a dog.",
        category="fact",
        confidence=0.8,
        turn_id=turn.id,
        quote=turn.text[:9],
    )
    (made,) = held.pipeline.file(batch, Extraction((candidate,), "test/1")).created
    (source,) = held.call("why", {"id": made})["turns"]
    assert (source["text"], source["key"]) == (
        "My dog is called Rex.",
        f"{session.stem}#^t3",
    )
    held.call("forget", {"id": made})
    shown = {
        hit["text"]
        for hit in held.call("recall", {"query": "Rex liver dog", "kinds": ["turn"]})[
            "hits"
        ]
    }
    assert ("I hate liver." in shown, "My dog is called Rex." in shown) == (True, False)
    answer = held.call(
        "observe", {"turns": [{"id": "z", "session": "walk", "text": "Bye."}]}
    )
    assert answer["keys"] == (f"{session.stem}#^t4",)


# row: X8
def test_a_status_set_by_hand_is_believed_only_with_its_tombstone(held, monkeypatch):
    """The disk is full in between: the next look tells the deed again."""
    kept = held.call("remember", {"text": "Anna drinks tea."})
    note = held.settings.vault / kept["path"]
    note.write_text(note.read_text().replace("origin:", "status: forgotten\norigin:"))

    def full(_):
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(held.vault, "add_tombstones", full)
        with pytest.raises(StorageError):
            held.files.rescan([note])
    held.files.rescan(None)
    assert content_hash("Anna drinks tea.") in held.index.tombstones.keys


# row: X20
def test_a_reindex_waits_until_a_person_speaks_of_vanished_notes(settings, opened):
    """Else they would be forgotten without being deleted."""
    files = replace(settings.policy.files, settle_most_seconds=0.05)
    memory = opened(policy=replace(settings.policy, files=files))
    memory.call("remember", {"text": "Anna drinks tea."})
    for note in settings.vault.rglob("*.md"):
        note.unlink()
    with pytest.raises(ConflictError, match="accept-deletions"):
        memory.call("reindex", {})
    memory.call("doctor", {"accept_deletions": True})
    memory.call("reindex", {})
    assert content_hash("Anna drinks tea.") in memory.index.tombstones.keys


# row: X11
def test_a_secret_in_any_argument_stays_off_the_disk(held, tmp_path):
    """Names, tags and reasons are redacted as turns are."""
    secret = "sk-" + "proj-" + "a1B2c3D4e5" * 4
    kept = held.call(
        "remember",
        {"text": "Anna drinks tea.", "about": [f"Anna {secret}"], "tags": [secret]},
    )
    held.call("forget", {"id": kept["id"], "reason": f"it held {secret}"})
    held.call("begin_import", {"file": f"chat {secret}.json", "source": secret})
    held.index.save()
    assert secret.encode() not in b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )
