"""Who reads a batch, how often, and when it is tried again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engram.config import ModelSettings
from engram.core.buffer import WaitingTurn
from engram.core.language.echo import HandedOut
from engram.core.records import FiledTurn, Turn
from engram.errors import BudgetSpentError, ModelError
from engram.extraction.extract import Extractor
from engram.ingest.queue import Batch
from tests.fakes.batches import batch_of, held_back
from tests.fakes.openai_server import FakeServer


@pytest.fixture
def batch(clock):
    said = Turn("m1", "s", "user", "My name is Mira.", clock())
    return Batch(
        (WaitingTurn(1, FiledTurn(said, "2026-11-20-s", "t1"), "none", clock()),),
        "asked for",
    )


@pytest.fixture
def extractor(settings, clock):
    return Extractor(
        replace(settings, model=ModelSettings("x")),
        clock,
        handed_out=HandedOut(settings.policy.echo),
    )


def test_a_batch_whose_tries_ended_with_the_process_fails_for_good(extractor, batch):
    """The model is not asked, and the failure is told."""
    tired = replace(batch, attempts=extractor.settings.policy.model.attempts)
    with pytest.raises(ModelError, match="process ended") as fault:
        extractor.extract(tired, [])
    assert extractor.again(tired, fault.value, extractor.clock()) is None


def test_a_spent_budget_is_no_try(extractor, batch, clock):
    """The batch waits for the next local day."""
    same, at = extractor.again(batch, BudgetSpentError("spent"), clock())
    assert (same, at.isoformat()) == (batch, "2026-11-21T00:01:00+01:00")


# -- what was said before --------------------------------------------------------------


def read(memory, *texts, session="talk"):
    """What the rules find in one batch of a conversation, once it is filed."""
    batch = batch_of(memory, *texts, session=session)
    found = memory.pipeline.distil(batch)
    memory.pipeline.file(batch, found)
    return [candidate.text for candidate in found.candidates]


# row: C3
def test_what_the_user_asked_to_keep_is_kept_if_the_model_makes_nothing_of_it(opened):
    """A statement of the model about the same words would count instead."""
    with FakeServer() as fake:
        fake.script(lambda _asked: {"facts": []})
        memory = held_back(opened(model=ModelSettings("fake", fake.url)))
        assert read(
            memory,
            "It rained all day long here, and the wind was strong as well. "
            "Don't forget: the key is with Mrs Gray.",
        ) == ["The key is with Mrs Gray."]
        assert fake.asked
