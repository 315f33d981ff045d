"""A recall and a context parse their question and no text of the vault."""

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


@pytest.mark.parametrize(
    ("operation", "question"),
    [
        *((operation, one) for operation in ("recall", "context") for one in QUESTIONS),
        ("context", ""),
    ],
)
def test_a_recall_and_a_context_parse_only_their_question(memory, operation, question):
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
        found = memory.call(operation, {"query": question} if question else {})
    finally:
        sys.setprofile(None)
    assert "Anna" in found["text"]
    assert parsed == []
