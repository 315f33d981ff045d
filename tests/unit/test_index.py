"""Catalogue and lexical index as one: what is saved, what is lost, what heals."""

from __future__ import annotations

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
