"""What a batch will do, and that doing it again after it was cut short anywhere changes
nothing but what is missing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from engram import config
from engram.core.records import FactLinks
from engram.core.text import content_hash
from engram.errors import EngramError
from engram.memory import VaultMemory
from engram.vault import facts, syscalls
from tests.conftest import name_device
from tests.fakes.batches import (
    batch_of,
    by_text,
    cases,
    held_back,
    rows,
    said,
    tell,
    texts,
    tick,
    tree,
)

STAGES = {
    "tombstone": b'"reason": "another home',
    "edit": b"status: superseded",
    "question": b"kind: review",
    "note": b"Anna lives in Munich.\n\n![[",
    "doubt": b"status: review\nconfidence",
    "hashes": content_hash("Anna lives in Munich.").encode(),
    "log": b'"action": "supersede"',
    "entity": b"# Dora\n",
    "ties": b'"type": "similar"',
    "box": b'"memories"',
}
"""What is written while a batch is filed, in this order, and by which bytes it is
known.
"""


class Killed(BaseException):
    """The process ends here."""


class Struck(syscalls.Syscalls):
    """A disk on which the first write of certain bytes meets `fault`."""

    def __init__(self, mark, fault):
        self.mark, self.fault, self.met = mark, fault, False

    def write(self, descriptor, content):
        is_history = content.startswith(b'{"run": ')
        if self.mark in content and not self.met and not is_history:
            self.met = True
            raise self.fault
        return super().write(descriptor, content)


@pytest.fixture
def held(memory):
    return held_back(memory)


def known(memory):
    """What the vault knows before: a fact to be corrected, one a person stands by, and
    some of which more is told.
    """
    tell(memory, "Anna lives in Berlin.")
    (stands,) = tell(memory, "Ben works at Acme.").created
    memory.call("update", {"id": stands, "pinned": True})
    tell(memory, "Cleo loves tea.", confidence=0.3)
    tell(memory, "Anna painted her wooden boat red in Porto.")
    tell(memory, "Emil plays chess.")


def news(memory):
    """A batch in which everything happens that can happen to a statement, and what a
    model found in it.
    """
    batch = batch_of(
        memory,
        "So much has changed, and Dora painted her wooden boat red in Rome.",
        session="news",
    )
    found = said(
        batch,
        "Anna lives in Munich.",
        category="correction",
        confidence=0.9,
        about=("Anna",),
    ).candidates
    initech = "Ben works at Initech."
    links = {initech: FactLinks(replaces=(by_text(memory, "Ben works at Acme.").id,))}
    found += said(batch, initech, links=links, confidence=0.9).candidates
    found += said(batch, "emil plays CHESS", "Cleo really loves tea.").candidates
    found += said(
        batch, "Anna painted her wooden boat red in Rome.", about=("Dora",)
    ).candidates
    found += said(batch, "Clara is rich.", quote="", about=("Clara",)).candidates
    return batch, replace(said(batch), candidates=found)


def content(memory):
    """The vault without what only explains, the order of the hashes, and the minute by
    which a second try was later.
    """
    held = {
        path: raw.replace(b"0:01:01", b"0:00:00").replace(b"1:01:01", b"1:00:00")
        for path, raw in tree(memory).items()
        # written when the process ends in good order, which one of them does
        if not path.startswith("state/usage/")
    }
    held.pop("state/memory-actions.jsonl", None)
    held["state/fact-hashes.txt"] = b"\n".join(
        sorted(held["state/fact-hashes.txt"].split(b"\n"))
    )
    return held


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The vault with the news when nothing went wrong."""
    root = tmp_path_factory.mktemp("whole")
    (root / "engram.toml").write_text(
        'id = "01KBH2Q0M6T4W2Y0B7C5D9E1FX"\nzone = "Europe/Berlin"\n'
    )
    settings = config.load(
        root, {"ENGRAM_HOME": str(root / ".home"), "HOME": str(root)}
    )
    name_device(settings.state)
    memory = held_back(
        VaultMemory(settings, clock=lambda: datetime(2026, 11, 20, 20, 0, tzinfo=UTC))
    )
    memory.start()
    memory.catch_up()
    known(memory)
    memory.pipeline.file(*news(memory))
    memory.close()
    return {
        path: raw
        for path, raw in content(memory).items()
        if not path.startswith(".home")
    }


# row: A1
# row: X1
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("end", ["refused", "killed"])
def test_a_batch_cut_short_anywhere_is_made_whole_by_filing_it_again(
    held, opened, clock, monkeypatch, whole, stage, end
):
    """The disk refuses once and the same process tries again, or the process ends and
    the next one does.

    What stands in the end is what would stand had nothing happened, although time has
    passed.
    """
    known(held)
    batch, outcome = news(held)
    struck = Struck(
        STAGES[stage],
        OSError(28, "No space left on device") if end == "refused" else Killed(),
    )
    with monkeypatch.context() as patch, suppress(EngramError, Killed):
        patch.setattr(syscalls, "SYS", struck)
        held.pipeline.file(batch, outcome)
    assert struck.met
    clock.advance(seconds=61)
    if end == "killed":
        held = held_back(opened())
        (batch,) = held.pipeline.due(clock())
    held.pipeline.file(batch.as_tried(), outcome)
    held.files.rescan(None)
    found = content(held)
    assert {
        path for path in {*found, *whole} if found.get(path) != whole.get(path)
    } <= {"state/runs.jsonl"}  # which tells of each try


# row: X23
@pytest.mark.parametrize("stage", ["question", "note", "doubt"])
@pytest.mark.parametrize("end", ["refused", "killed"])
def test_what_we_wrote_before_we_were_cut_short_is_no_word_of_a_persons(
    held, opened, clock, monkeypatch, stage, end
):
    """Else no later statement could change that memory, for ever."""
    known(held)
    batch, outcome = news(held)
    struck = Struck(
        STAGES[stage],
        OSError(28, "No space left on device") if end == "refused" else Killed(),
    )
    with monkeypatch.context() as patch, suppress(EngramError, Killed):
        patch.setattr(syscalls, "SYS", struck)
        held.pipeline.file(batch, outcome)
    assert struck.met
    assert texts(held, "superseded") == ["Anna lives in Berlin."]
    if end == "killed":
        held = held_back(opened())
    held.files.rescan(None)
    assert [row for row in rows(held) if row["action"] == "edit"] == []


# row: X9
def test_an_answer_that_came_before_the_memory_is_carried_out_when_it_stands(
    held, opened, clock, monkeypatch
):
    """The process ended before the new memory stood, and the person answered before it
    was made: nobody asks again.
    """
    known(held)
    batch, outcome = news(held)
    with monkeypatch.context() as patch, suppress(Killed):
        patch.setattr(syscalls, "SYS", Struck(STAGES["note"], Killed()))
        held.pipeline.file(batch, outcome)
    (asks,) = cases(held)
    tick(asks, "both")
    held = held_back(opened())
    assert cases(held) == [asks]
    (batch,) = held.pipeline.due(clock())
    held.pipeline.file(batch.as_tried(), outcome)
    held.between_operations()  # as the writer does after each job
    assert not cases(held)
    assert {"Ben works at Acme.", "Ben works at Initech."} <= set(texts(held))


# row: A8
def test_older_words_are_listed_under_history_and_nothing_else_moves():
    """Behind those of before, in front of what a person wrote below; a person's own
    wording is left alone.
    """
    first = facts.with_statement(
        "Anna likes tea.\n\n![[talk#^t1]]\n",
        "Anna likes tea.",
        "Anna loves tea.",
        "2026-11-20",
    )
    assert (
        first
        == "Anna loves tea.\n\n![[talk#^t1]]\n\n## History\n\n- until 2026-11-20: Anna likes tea.\n"
    )
    mine = f"{first}\n## My notes\n\nShe told me so.\n"
    second = facts.with_statement(
        mine, "Anna loves tea.", "Anna adores tea.", "2026-11-21"
    )
    older = "- until 2026-11-20: Anna likes tea.\n- until 2026-11-21: Anna loves tea.\n"
    assert second == (
        f"Anna adores tea.\n\n![[talk#^t1]]\n\n## History\n\n{older}\n## My notes\n\nShe told me so.\n"
    )
    assert facts.statement_of(second) == "Anna adores tea."
    assert (
        facts.with_statement(
            "Anna, I think, likes tea.\n",
            "Anna likes tea.",
            "Anna loves tea.",
            "2026-11-20",
        )
        is None
    )
