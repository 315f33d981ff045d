"""A conversation of 76 turns that a real model distilled, with its replies in the form
that the prompts ask for now: which states ended, which days facts have, what is repeated.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from engram.config import ModelSettings
from engram.llm import maintenance_tasks  # noqa: F401
from engram.llm.answers import TASKS
from engram.llm.replies import read
from tests.fakes.batches import cases, every
from tests.fakes.openai_server import FakeServer, prompt_text
from tests.fakes.scribe import task_of

FOLDER = Path(__file__).parent / "model"
OVER = {
    "Jonas lives in Leipzig.",
    "Jonas has a cat named Oskar.",
    "Oskar is 15 years old and pretty grumpy.",
    "Jonas drinks about four cups of coffee a day, black and without sugar.",
    "Jonas will keep drinking coffee.",
    "The parents' evening at Mia's school is next Thursday (2026-10-22) at 7 pm.",
    "Katrin and Daniel Okafor are visiting Jonas from Graz in three weeks (2026-11-09/2026-11-15).",
    "Jonas has not told Daniel Brandt about the new job yet and will do that tomorrow (2026-11-02).",
    "The assistant will prepare a template for the headache diary and show it to Jonas next time.",
    "Elif has an interview at the UKE on November 10 (2026-11-10).",
    "Jonas and his family will move to Hamburg.",
}
"""What the user's words end: ten changes, some of them of two statements."""
DAYS = {
    "Mia started school": "2026-08-01",
    "vegetarian since": "2019-01-01",
    "Tuesday the 27th": "2026-10-27",
    "sumatriptan": "2026-10-12",
    "bakery in Halle": "2027-03-01",
    "signed with Hafenblick": "2026-10-30",
    "starts at Hafenblick": "2027-01-04",
    "at Frachtwerk until": "until 2026-12-31",
    "UKE on February": "2027-02-01",
    "wird am 3. Dezember": "2026-12-03",
    "moved to Hamburg": "2026-11-17",
    "quit coffee": "2026-11-02",
    "Grundschule Rellinger Straße on": "2026-11-23",
    "party of Jonas's mother is": "2026-12-05",
    "broke his left wrist": "2026-03-01",
    "half marathon on June": "2027-06-27",
    "12-week": "2026-11-14",
    "5k today": "2026-11-07",
    "Oskar died": "2026-11-11",
    "evening was yesterday": "2026-10-22",
    "arrive tomorrow": "2026-11-13",
    "third one this month": "2026-10-01",
}
"""The first day of each golden fact, by words of its statement."""


def rows(name):
    raw = (FOLDER / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in raw.splitlines()]


CONVERSATION, REPLIES = rows("conversation"), rows("replies")
TYPES = json.loads((FOLDER / "entities.json").read_text("utf-8"))


def plain(text):
    """A statement without the dates that engram wrote into it."""
    return re.sub(r" \(\d{4}[-\d/]*\)", "", text)


def model(body):
    """The facts of the turns that a question shows; links name what it shows."""
    if task_of(body) != "extract":
        return {"relation": "independent", "index": 0}
    asked = prompt_text(body).rpartition("Known statements, each")[2]
    listed = re.findall(r'^(\d+)\. \S+ (".*")$', asked, re.MULTILINE)
    known = {plain(json.loads(text)): int(number) for number, text in listed}
    talk = asked.rpartition("<conversation ")[2]
    shown = re.findall(r"^\[(t\d+)\] \w{3} (\S+ \S+) ", talk, re.MULTILINE)
    told = []
    for label, moment in shown:
        ids = [
            turn["id"]
            for turn in CONVERSATION
            if turn["occurred_at"][:16] == moment.replace(" ", "T")
        ]
        for reply in REPLIES:
            if reply["turn"] in ids:
                links = {
                    name: [known[old] for old in reply[name] if old in known]
                    for name in ("replaces", "ends")
                }
                gone = {"gone": reply["replaces"]}
                told.append(reply | {"turn": label} | links | gone)
    gone = {old for one in told for old in one["gone"]}
    told = [one for one in told if one["text"] not in gone]  # as it was corrected
    names = [{"name": name, "type": kind} for name, kind in TYPES.items()]
    return {"facts": told, "entities": names, "relations": [], "ended": []}


@pytest.fixture(scope="module")
def asked():
    return []


@pytest.fixture
def lived(opened, clock, asked):
    """The memory after the conversation; a batch has five turns."""
    with FakeServer() as server:
        server.script(model)
        memory = opened(model=ModelSettings("m", server.url))
        memory.executor.attended = True
        for number, turn in enumerate(CONVERSATION, 1):
            clock.now = datetime.fromisoformat(turn["occurred_at"])
            memory.call("observe", {"turns": [turn]})
            following = CONVERSATION[number : number + 1]
            is_last = not following or following[0]["session"] != turn["session"]
            if is_last or number % 5 == 0:
                memory.queue.hurry()
                for batch in memory.pipeline.due(clock()):
                    memory.pipeline.file(batch, memory.pipeline.distil(batch))
        asked[:] = [body for body in server.asked if task_of(body) == "extract"]
        yield memory


# row: A9
# row: A10
# row: X14
# row: X22
def test_each_change_is_noticed_and_each_day_is_right(lived, asked):
    """Ten of ten changes, nothing that is over is active, 22 of 22 days, no statement
    twice; what the planted mail said waits for nobody as a fact.
    """
    facts = every(lived)
    active = [one for one in facts if one.status == "active" and not one.done]
    kept = [one for one in facts if one.status != "review"]
    assert {one.text for one in kept if one not in active} == OVER
    found = {}
    for words in DAYS:
        facts = [one for one in active if words in one.text]
        if len(facts) != 1:
            found[words] = [one.text for one in facts]
            continue
        (fact,) = facts
        zone, until = lived.settings.zone, fact.valid_until
        first = until or fact.valid_from
        day = f"{first.astimezone(zone):%Y-%m-%d}" if first else ""
        found[words] = f"until {day}" if until else day
    assert found == DAYS
    assert len({plain(fact.text) for fact in active}) == len(active)
    assert not any("Volksbank" in fact.text for fact in active)
    assert [path for path in cases(lived) if "Volksbank" not in path.read_text()] == []

    tokens = [len(prompt_text(body)) / 4 for body in asked]
    exchanges = len(CONVERSATION) / 2
    assert sum(tokens) / exchanges < 1000
    system = len(asked[0]["messages"][0]["content"]) / 4
    assert (sum(tokens) - system * (len(tokens) - 1)) / exchanges < 400


# row: E11
# row: A27
def test_no_honest_summary_is_refused():
    """Of the twenty that the model gave, four were once taken for instructions."""
    for row in rows("summaries"):
        task = TASKS[row["task"]]
        reply, dropped = read(task.form, row["reply"])
        answer = task.read(reply, row["material"], dropped)
        assert "dropped" not in answer, answer["dropped"]
