"""Catalogue and lexical index as one: what is saved, what is lost, what heals."""

from __future__ import annotations

import shutil

import pytest

from engram.core import ranking
from engram.index.filters import SearchFilter
from engram.index.search import Index
from engram.vault import sessions
from engram.vault.paths import FilePlace

WORDS = (
    "The tide is high in Porto.",
    "Anna owns a lighthouse.",
    "Porto has a new lighthouse keeper.",
)
QUESTIONS = ("tide", "Porto", "lighthouse keeper", "Who is Anna?")


@pytest.fixture
def told(memory):
    """A memory with facts, turns that stand in a file, and turns that wait."""
    for words in WORDS:
        memory.call("remember", {"text": words})
    memory.executor.attended = True
    memory.call(
        "observe", {"turns": [{"id": "w", "text": "The waiting tide of Porto."}]}
    )
    return memory


def answers(memory):
    return [
        memory.call("recall", {"query": question})["hits"] for question in QUESTIONS
    ]


def settled(memory):
    """The answers once their first use is counted, which moves memories up (`C28`)."""
    answers(memory)
    memory.usage_tracker.flush()
    return answers(memory)


def scores(index, clock):
    """Keys and scores of every unit, straight from the index."""
    where = SearchFilter(("fact", "turn", "note"), ("active",), "", None)
    found = (
        index.lexical.search(ranking.parse_question(question, clock()), where, 50)
        for question in QUESTIONS
    )
    return [[(one.key, round(one.score, 9)) for one in each.hits] for each in found]


# row: X20
def test_a_crash_between_catalogue_and_snapshot_heals(told, settings, clock):
    """The catalogue is ahead of the saved index: what came since is taken in."""
    told.index.save()
    told.call("remember", {"text": "The ferry leaves Porto at noon."})
    kept = told.call("remember", {"text": "A statement that goes."})
    told.call("forget", {"id": kept["id"]})
    expected = scores(told.index, clock)
    crashed = Index(settings, told.vault)
    waiting = told.index.unit(
        next(key for each in expected for key, _ in each if key in told.index._waiting)
    )
    crashed.add_turns([waiting])
    assert scores(crashed, clock) == expected
    crashed.catalog.close()


# row: X15
# row: X20
def test_a_turn_that_was_written_before_a_crash_stays_in_the_snapshot(told, settings):
    """The next process has it from the journal, and saves. Another settles it, so the
    journal does not bring it back when this cache is used again.
    """
    (waiting,) = told.index._waiting.values()
    path = sessions.path(waiting.note)
    raw = sessions.new_session([waiting], settings.zone)
    told.vault.create(path, raw)
    told.index.wrote({path: raw})

    after_crash = Index(settings, told.vault)
    after_crash.add_turns([waiting])
    after_crash.close()
    later = Index(settings, told.vault)
    where = SearchFilter(("turn",), ("active",), "", None)
    question = ranking.parse_question("waiting tide", told.clock())
    found = later.lexical.search(question, where, 50).hits
    later.catalog.close()
    assert waiting.key in [one.key for one in found]


# row: X20
@pytest.mark.parametrize("damage", ["snapshot", "catalogue", "all"])
def test_a_lost_part_of_the_cache_is_made_again(told, opened, settings, damage):
    """Each part alone, and all of it."""
    before = settled(told)
    told.close()
    told.close = lambda: None
    for path in sorted(settings.cache.rglob("*"), reverse=True):
        part = "catalogue" if "catalogue" in path.name else "snapshot"
        if damage in {part, "all"}:
            path.unlink() if path.is_file() else path.rmdir()
    later = opened()
    assert answers(later) == before


# row: X20
def test_a_snapshot_of_another_catalogue_is_not_believed(
    told, opened, settings, tmp_path
):
    """A mark from elsewhere names another generation."""
    told.index.save()
    shutil.copytree(settings.cache, tmp_path / "older")
    told.call("reindex", {})
    before = settled(told)
    told.close()
    told.close = lambda: None
    for path in (tmp_path / "older").iterdir():
        if "catalogue" not in path.name:
            target = settings.cache / path.name
            shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
            shutil.copytree(path, target) if path.is_dir() else shutil.copy(
                path, target
            )
    assert answers(opened()) == before


# row: X18
def test_a_turn_counts_once_while_it_waits_and_when_it_is_filed(told):
    """It moves from the journal to its file without being lost or doubled."""
    before = told.index.counts()
    (hit,) = [
        hit
        for hit in told.call("recall", {"query": "waiting tide"})["hits"]
        if "waiting" in hit["text"]
    ]
    told.queue.hurry()
    told.pipeline.due(told.clock())
    after = told.index.counts()
    assert (before["waiting"], after["waiting"]) == (1, 0)
    assert after["turns"] == before["turns"] + 1
    found = [
        one
        for one in told.call("recall", {"query": "waiting tide"})["hits"]
        if "waiting" in one["text"]
    ]
    assert [(one["key"], one["score"]) for one in found] == [(hit["key"], hit["score"])]


# row: C5
def test_a_twin_is_active_and_may_be_recalled(told, clock):
    """Forgotten and expired facts do not keep a statement from being learned again."""
    from engram.core.text import content_hash

    digest = content_hash(WORDS[0])
    twin = told.index.catalog.duplicate(digest, None, clock())
    assert twin.text == WORDS[0]
    kept = told.call("remember", {"text": "Gone tomorrow.", "expires": "2026-11-21"})
    expiring = content_hash("Gone tomorrow.")
    assert told.index.catalog.duplicate(expiring, None, clock()).id == kept["id"]
    clock.advance(days=2)
    assert told.index.catalog.duplicate(expiring, None, clock()) is None
    told.call("forget", {"id": twin.id})
    assert told.index.catalog.duplicate(digest, None, clock()) is None


# row: X5
def test_a_pinned_fact_outlives_its_expiry_in_every_question(told, clock):
    """Now and as of a day."""
    told.call(
        "remember",
        {"text": "The pinned heron stays.", "expires": "2026-11-22", "pinned": True},
    )
    told.call("remember", {"text": "The other heron leaves.", "expires": "2026-11-22"})
    clock.advance(days=10)
    for wish in ({}, {"as_of": "2026-11-25"}):
        hits = told.call("recall", {"query": "heron", "kinds": ["fact"], **wish})[
            "hits"
        ]
        assert [hit["text"] for hit in hits] == ["The pinned heron stays."]
    both = told.call(
        "recall", {"query": "heron", "kinds": ["fact"], "as_of": "2026-11-21"}
    )["hits"]
    assert len(both) == 2


def test_a_unit_that_changed_is_read_from_its_file(told, settings):
    """Unchanged: itself; edited: as it says now; gone: nothing (row X19)."""
    kept = told.call("remember", {"text": "Anna rows a boat."})
    fact = told.index.catalog.fact(kept["id"])
    note = settings.vault / kept["path"]
    place = told.index.placed([fact.id])[fact.id][1]
    assert told.index.current(fact, place, {}) is fact
    note.write_text(note.read_text().replace("boat", "canoe"))
    assert told.index.current(fact, place, {}).text == "Anna rows a canoe."
    note.unlink()
    assert told.index.current(fact, place, {}) is None
    waiting = told.index.unit(next(iter(told.index._waiting)))
    assert told.index.current(waiting, FilePlace(), {}) is waiting


def test_a_turn_that_is_filed_while_a_question_is_answered_is_found(memory):
    memory.executor.attended = True
    memory.call("observe", {"turns": [{"session": "s", "id": "1", "text": "A heron."}]})
    [filed] = memory.index.waiting()
    unit, place = memory.index.placed([filed.key])[filed.key]
    memory.queue.hurry()
    memory.pipeline.due(memory.clock())
    assert not memory.index.waiting()
    assert memory.index.current(unit, place, {}) == unit


# row: X18
def test_a_waiting_turn_is_found_while_and_after_the_snapshot_is_written(memory):
    """The snapshot leaves it out; the running index does not."""
    memory.executor.attended = True
    memory.call(
        "observe",
        {"turns": [{"id": "1", "session": "s", "text": "The lighthouse is violet."}]},
    )
    memory.save()
    assert memory.call("recall", {"query": "violet lighthouse"})["hits"]


@pytest.mark.parametrize("seen", [False, True])
def test_a_waiting_turn_whose_block_a_person_took_is_found_all_the_same(
    told, settings, seen
):
    """While it waits and when it is filed, and then theirs is found too."""
    told.executor.attended = True
    told.call(
        "observe", {"turns": [{"id": "a", "session": "walk", "text": "A grey gull."}]}
    )
    told.queue.hurry()
    told.pipeline.due(told.clock())
    (note,) = (settings.vault / "sessions").rglob("*walk*.md")
    words = "\n> [!user] 21:00 %%theirs%%\n> A zebra finch.\n\n^t2\n"
    if seen:
        note.write_text(note.read_text() + words)
        told.files.rescan([note])
    told.call(
        "observe",
        {"turns": [{"id": "b", "session": "walk", "text": "A purple heron."}]},
    )
    if not seen:
        note.write_text(note.read_text() + words)
        told.files.rescan([note])

    def found(query):
        return [
            hit["text"]
            for hit in told.call("recall", {"query": query, "kinds": ["turn"]})["hits"]
        ]

    assert "A purple heron." in found("purple heron")
    told.queue.hurry()
    (batch,) = told.pipeline.due(told.clock())
    assert (batch.waiting[0].filed.block, told.index.counts()["waiting"]) == ("t3", 0)
    assert found("purple heron")[0] == "A purple heron."
    assert found("zebra finch")[0] == "A zebra finch."
