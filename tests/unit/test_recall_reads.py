"""A recall parses its question and no text of the vault."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engram.core import language

FOLDER = str(Path(language.__file__).parent)
TOLD = (
    "My sister Anna lives in Berlin since May.",
    "I am allergic to peanuts.",
    "I have to call the dentist next Friday.",
    'Anna wrote: "Meet me on Monday at the harbour."',
    "Yesterday I bought a red bicycle at the market.",
    "My boss Karin moved to Graz on 3 March.",
)
QUESTIONS = (
    "Where does Anna live?",
    "What do I have to do on Friday?",
    "What did Anna write about Monday?",
    "What did you say about the harbour?",
    "Where did Karin live before?",
    "red bicycle market peanuts",
)


@pytest.fixture
def stocked(memory):
    """A vault with facts and turns, and the texts of all of them."""
    turns = [{"text": text, "session": "s"} for text in TOLD]
    answer = {"text": "The harbour in Berlin opens on Monday.", "role": "assistant"}
    memory.call("observe", {"turns": [*turns, answer | {"session": "s"}]})
    memory.call("flush", {})
    facts = memory.index.catalog.fact_ids()
    return memory, [
        *TOLD,
        answer["text"],
        *(memory.index.find(one).text for one in facts),
    ]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_recall_parses_only_its_question(stocked, question):
    memory, texts = stocked
    parsed: set[tuple[str, str]] = set()

    def note(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename.startswith(FOLDER):
            given = frame.f_locals.values()
            words = [one for one in given if isinstance(one, str) and " " in one]
            foreign = [
                one for one in words if one.casefold() not in question.casefold()
            ]
            of_vault = (one for one in foreign if any(one in text for text in texts))
            parsed.update((frame.f_code.co_name, one) for one in of_vault)

    sys.setprofile(note)
    try:
        found = memory.call("recall", {"query": question})
    finally:
        sys.setprofile(None)
    assert found["hits"]
    assert not parsed
