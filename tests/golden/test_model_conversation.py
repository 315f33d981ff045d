"""Two months of a life with a model: which states have ended, from turn to answer.

The replies are written by hand, as a model gives them that sees what is known. The model
is a server on a real socket, and it may name only what the question shows.
"""

from __future__ import annotations

import json
import re
from datetime import datetime

import pytest

from engram.config import ModelSettings
from tests.fakes.batches import cases, texts
from tests.fakes.openai_server import FakeServer, fact
from tests.fakes.scribe import task_of
from tests.fakes.sentences import rows

TALK = rows("model_conversation", "talk")
TOLD = {
    0: [
        ("Lena teaches maths at the Goethe school.", {}),
        ("Lena lives in Kassel.", {}),
    ],
    1: [("Lena has a tortoise called Paula.", {}), ("Lena's husband is Tom.", {})],
    2: [
        ("Lena goes swimming each Monday.", {}),
        ("Lena drinks three espressos a day.", {}),
    ],
    3: [("The roofer comes on Thursday the 10th.", {"category": "commitment"})],
    4: [("Lena nimmt Tabletten gegen Heuschnupfen.", {})],
    5: [("Lena wants to go to Norway in summer.", {"category": "commitment"})],
    6: [
        (
            "The roofer comes on Friday the 11th.",
            {
                "category": "correction",
                "replaces": ["The roofer comes on Thursday the 10th (2026-09-10)."],
            },
        )
    ],
    7: [
        (
            "Lena would open a cheese shop if she had money.",
            {"confidence": 0.5, "ends": ["Lena teaches maths at the Goethe school."]},
        )
    ],
    8: [
        (
            "Lena's tortoise Paula died.",
            {"category": "moment", "ends": ["Lena has a tortoise called Paula."]},
        )
    ],
    10: [
        (
            "Lena is the head of the Goethe school.",
            {"replaces": ["Lena teaches maths at the Goethe school."]},
        )
    ],
    11: [
        (
            "Lena drinks mint tea.",
            {
                "category": "correction",
                "replaces": ["Lena drinks three espressos a day."],
            },
        )
    ],
    12: [("Lena lives in Marburg.", {"replaces": ["Lena lives in Kassel."]})],
    13: [
        (
            "Lena and Tom have rented a house in Norway for July.",
            {
                "category": "commitment",
                "replaces": ["Lena wants to go to Norway in summer."],
            },
        )
    ],
}
ENDED = {
    9: ("Lena nimmt Tabletten gegen Heuschnupfen.", "brauche ich nicht mehr"),
    14: ("Lena goes swimming each Monday.", "the end of my Monday routine"),
}
OVER = {
    "The roofer comes on Thursday the 10th (2026-09-10).",
    "Lena has a tortoise called Paula.",
    "Lena teaches maths at the Goethe school.",
    "Lena drinks three espressos a day.",
    "Lena lives in Kassel.",
    "Lena wants to go to Norway in summer.",
    "Lena nimmt Tabletten gegen Heuschnupfen.",
    "Lena goes swimming each Monday.",
}


def model(body):
    """The replies to the turns that a question shows, with numbers that it shows."""
    if task_of(body) != "extract":
        return {"relation": "independent", "index": 0}
    asked = body["messages"][-1]["content"]
    listed = re.findall(r'^(\d+)\. \S+ (".*")$', asked, re.MULTILINE)
    known = {json.loads(text): int(number) for number, text in listed}
    told, over = [], []
    for name, text in re.findall(
        r"^\[(t\d+)\] .*? \(user\): (.*)$", asked, re.MULTILINE
    ):
        place = next(n for n, (_, words) in enumerate(TALK) if words == text)
        for statement, more in TOLD.get(place, ()):
            links = {
                field: [known[one] for one in more.get(field, ()) if one in known]
                for field in ("replaces", "ends", "supports")
            }
            told.append(fact(name, text, statement) | {"same": None} | more | links)
        if place in ENDED and ENDED[place][0] in known:
            over.append({"n": known[ENDED[place][0]], "quote": ENDED[place][1]})
    return {"facts": told, "entities": [], "relations": [], "ended": over}


@pytest.fixture
def lived(opened, clock):
    """The memory after the conversation, one session a day."""
    with FakeServer() as server:
        server.script(model)
        memory = opened(model=ModelSettings("m", server.url))
        memory.executor.attended = True
        for number, (at, text) in enumerate(TALK):
            clock.now = datetime.fromisoformat(f"{at}+02:00")
            turn = {"id": f"l{number}", "session": at[:10], "text": text}
            memory.call("observe", {"turns": [turn]})
            memory.queue.hurry()
            for batch in memory.pipeline.due(clock()):
                memory.pipeline.file(batch, memory.pipeline.distil(batch))
        yield memory


# row: A9
# row: A10
# row: C12
def test_each_state_that_ended_is_over_and_nothing_else(lived):
    """Eight of eight, in words that resemble the old ones or do not, in two languages;
    a dream of a cheese shop ends no work; no question is left.
    """
    ended = {*texts(lived, "superseded"), *texts(lived, "invalidated")}
    assert ended == OVER
    assert "Lena's husband is Tom." in texts(lived)
    assert cases(lived) == []


# row: X5
def test_what_is_over_is_not_handed_out_as_current(lived):
    """Recall gives the new home and work first."""
    for question, answer in (
        ("Where does Lena live?", "Lena lives in Marburg."),
        ("What does Lena drink?", "Lena drinks mint tea."),
    ):
        hits = lived.call("recall", {"query": question, "kinds": ["fact"]})["hits"]
        assert hits[0]["text"] == answer
        assert OVER.isdisjoint(hit["text"] for hit in hits if hit["status"] == "active")
