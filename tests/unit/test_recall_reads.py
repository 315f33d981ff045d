"""A recall parses its question and no text of the vault."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engram.core import language

FOLDER = str(Path(language.__file__).parent)
TOLD = [
    "My sister Anna lives in Berlin since May.",
    "I have to call the dentist next Friday.",
    'Anna wrote: "Meet me on Monday at the harbour."',
    "My boss Karin moved to Graz on 3 March.",
]
ANSWER = "The harbour in Berlin opens on Monday."
QUESTIONS = (
    "Where does Anna live?",
    "What do I have to do on Friday?",
    "What did Anna write about Monday?",
    "Where did Karin live before?",
    "red boss in Berlin",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_recall_parses_only_its_question(memory, question):
    turns = [{"text": text, "session": "s"} for text in TOLD]
    turns.append({"text": ANSWER, "session": "s", "role": "assistant"})
    memory.call("observe", {"turns": turns})
    memory.call("flush", {})
    facts = map(memory.index.find, memory.index.catalog.fact_ids())
    texts = [*TOLD, ANSWER, *(fact.text for fact in facts)]
    parsed = []

    def note(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename.startswith(FOLDER):
            for one in frame.f_locals.values():
                is_text = isinstance(one, str) and len(one.split()) > 2
                if is_text and one.casefold() not in question.casefold():
                    parsed.extend((one, text) for text in texts if one in text)

    sys.setprofile(note)
    try:
        found = memory.call("recall", {"query": question})
    finally:
        sys.setprofile(None)
    assert found["hits"]
    assert parsed == []
