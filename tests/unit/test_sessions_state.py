"""Sessions, personas and context from the first message on: the timeline of the seed
and the gaps it declares.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from engram.config import ModelSettings
from engram.core.markdown import read_block
from engram.errors import BadRequestError
from engram.vault import frontmatter
from tests.fakes.openai_server import FakeServer, facts_from, prompt_text

SUMMARY = {
    "one_liner": "Mira plans a trip to Porto.",
    "what_mattered": ["the tram", "the boat that …"],
    "open_loops": ["which hotel"],
    "commitments": [],
    "people": [],
    "tone": "calm",
}


def answers(body):
    asked = prompt_text(body)
    if "running summary" in asked:
        turns = asked.count('"said"')
        return {"summary": f"So far {turns} turns."}
    if "sum up a conversation" in asked:
        return SUMMARY
    if "one page on a person" in asked:
        return {"profile": ["Mira"], "projects": [], "people": [], "open_loops": []}
    if "as one would in a diary" in asked:
        return {"summary": "NONE"}
    return facts_from(body)


@pytest.fixture
def told(opened, settings):
    """A memory with a model whose turns are distilled when they are due, as in the
    daemon.
    """
    with FakeServer() as fake:
        fake.script(answers)
        talks = replace(
            settings.policy.sessions, rolling_model_turns=4, session_model_turns=4
        )
        policy = replace(settings.policy, sessions=talks)
        memory = opened(model=ModelSettings("fake", fake.url), policy=policy)
        memory.executor.attended = True
        yield memory


def work(memory):
    """What the daemon does whenever it looks."""
    for batch in memory.pipeline.due(memory.clock()):
        memory.pipeline.file(batch, memory.pipeline.distil(batch))
    memory.maintenance_loop.tend()


def say(memory, text, session="trip", role="user", **more):
    keys = memory.call(
        "observe", {"turns": [{"session": session, "role": role, "text": text, **more}]}
    )["keys"]
    work(memory)
    return keys[0].partition("#")[0]


def context(memory, **more):
    return memory.call("context", {"session": "trip", **more})


def file(memory, stem):
    (path,) = (memory.settings.vault / "sessions").rglob(f"{stem}.md")
    return path.read_text()


# row: E13
# row: E9
# row: E10
# row: E11
# row: E12
def test_the_timeline_of_the_seed(told, clock):
    """First message, fourth, silence, next session, and past twenty: everything happens
    when the seed says.
    """
    # t = 0: the first message makes the session, and it counts at once.
    first = say(told, "The tram in Porto was number 1.")
    assert context(told)["state"]["messageCount"] == 1
    # The fourth message: a rolling summary, although its turns still wait for their
    # file.
    for number in (2, 3, 4):
        clock.advance(minutes=1)
        assert say(told, f"The tram in Porto was number {number}.") == first
    assert not list((told.settings.vault / "sessions").rglob("*.md"))
    assert context(told)["state"]["rollingSummary"] == "So far 4 turns."
    assert "So far 4 turns." in context(told)["text"]
    # The fifth, a reply, makes a batch: the file comes, and with it the text.
    clock.advance(minutes=1)
    say(told, "The tram in Porto was number 5.", role="assistant")
    assert frontmatter.read(file(told, first).encode()).keys["rolled"] == 4
    # 30 minutes of silence: it goes on. 31: it has ended, and is summed up.
    clock.advance(minutes=30)
    work(told)
    assert "one_liner" not in file(told, first)
    clock.advance(minutes=1)
    work(told)
    assert (
        frontmatter.read(file(told, first).encode()).keys["one_liner"]
        == SUMMARY["one_liner"]
    )
    # 35 minutes: the next message begins another session, the count goes on, the last
    # summary is known.
    clock.advance(minutes=4)
    second = say(told, "Hello again.")
    assert second != first
    known = context(told)
    assert known["state"]["messageCount"] == 6
    assert SUMMARY["one_liner"] in known["text"]
    assert "the boat" not in known["text"]
    # The rolling text of a session that has ended stays in its file, whatever the next
    # one says.
    for number in range(7, 21):
        clock.advance(minutes=1)
        say(told, f"The boat in Porto was number {number}.")
    clock.advance(minutes=16)
    work(told)
    assert "So far 4 turns." in file(told, first)
    assert "So far 12 turns." in file(told, second)
    # The night past twenty messages there is a spine, past forty its second version.
    spine = told.settings.vault / "spine.md"
    told.call("consolidate", {"only": "spine"})
    assert frontmatter.read(spine.read_bytes()).keys["version"] == 1
    for number in range(21, 42):
        clock.advance(minutes=1)
        say(told, f"The bus in Porto was number {number}.")
    told.call("consolidate", {"only": "spine"})
    found = frontmatter.read(spine.read_bytes()).keys
    assert (found["version"], found["messages"]) == (2, 41)
    assert context(told)["state"]["messageCount"] == 41


# row: E13
def test_what_was_told_outlives_the_process(told, clock, opened):
    for number in range(5):
        say(told, f"The tram in Porto was number {number}.")
    clock.advance(minutes=31)
    work(told)
    before = context(told)
    again = opened()
    after = context(again)
    assert (after["parts"], after["state"]) == (before["parts"], before["state"])


# row: E14
def test_two_sessions_side_by_side_do_not_overwrite_each_other(told):
    """Each rolling text is in the file of its own talk, and in the context of its own
    session.
    """
    for number in range(6):
        say(told, f"The tram in Porto was number {number}.", "trip")
        say(told, f"The oven in the hall was at {number}.", "cake")
    for number in range(6, 10):
        say(told, f"The oven in the hall was at {number}.", "cake")
    assert context(told, session="trip")["parts"]["rolling"] == [
        "- [engram (summary), this conversation so far] So far 4 turns."
    ]
    assert context(told, session="cake")["parts"]["rolling"] == [
        "- [engram (summary), this conversation so far] So far 8 turns."
    ]


# row: E14
def test_the_same_said_in_two_sessions_at_once_is_one_memory(told):
    """Both batches are distilled before either is filed; the second confirms."""
    said = "I live in the harbour district of Porto with my old dog."
    for session in ("trip", "cake"):
        told.call("observe", {"turns": [{"session": session, "text": said}]})
    told.call("flush", {"background": True})
    batches = told.pipeline.due(told.clock())
    assert len(batches) == 2
    found = [told.pipeline.distil(batch) for batch in batches]
    filed = [
        told.pipeline.file(batch, outcome)
        for batch, outcome in zip(batches, found, strict=True)
    ]
    assert [len(one.created) for one in filed] == [1, 0]
    assert len(list((told.settings.vault / "facts").rglob("*.md"))) == 1


# row: E18
def test_a_context_keeps_its_budget_and_drops_what_matters_least_first(memory, clock):
    """What is relevant, then the last summary, then threads; foundation and promises
    stay.
    """
    memory.call("remember", {"text": "I am allergic to walnuts.", "pinned": True})
    memory.call(
        "remember",
        {"text": "I will call the agency about the flat.", "category": "commitment"},
    )
    for number in range(12):
        text = f"The harbour of Porto has {number} lovely old boats and many trams going uphill."
        memory.call("observe", {"turns": [{"session": "trip", "text": text}]})
    clock.advance(minutes=31)
    memory.call("consolidate", {"cadence": "talk"})
    seen = []
    for budget in (1200, 500, 260, 160, 120):
        found = memory.call("context", {"query": "harbour of Porto", "budget": budget})
        assert found["tokens"] <= budget
        seen.append(set(found["parts"]))
    assert seen == sorted(seen, key=len, reverse=True)
    assert {"foundation", "promises", "summary", "relevant"} <= seen[0]
    assert {"foundation", "promises"} <= seen[-1]
    gone = [name for name in ("relevant", "summary") if name not in seen[-2]]
    assert "relevant" in gone
    whole = memory.call("context", {"query": "harbour of Porto"})
    assert whole["tokens"] <= 1200
    with pytest.raises(BadRequestError):
        memory.call("context", {"budget": 5})


# row: E16
def test_a_promise_that_was_kept_is_shown_for_two_days(memory, clock):
    name = memory.call(
        "remember",
        {"text": "I will call the agency about the flat.", "category": "commitment"},
    )["id"]
    assert "wins" not in memory.call("context", {})["parts"]
    memory.call("settle", {"id": name})
    assert "agency" in memory.call("context", {})["parts"]["wins"][0]
    clock.advance(hours=49)
    assert "wins" not in memory.call("context", {})["parts"]


# row: E16
def test_a_promise_whose_day_is_long_over_crowds_out_no_other(memory, clock):
    """It stays open and is listed; what is told before an answer are the days to come,
    then the latest without one.
    """
    vault = memory.settings.vault
    days = {
        "old": "2026-10-01",
        "late": "2026-11-15",
        "next": "2026-12-01",
        "first": "",
        "second": "",
    }
    for name, day in days.items():
        clock.advance(minutes=1)
        said = memory.call(
            "remember",
            {"text": f"I will paint the {name} fence.", "category": "commitment"},
        )
        path = vault / memory.index.catalog.find_fact(said["id"]).path
        if day:
            path.write_bytes(
                frontmatter.edit(path.read_bytes(), {"valid_from": f"{day}T00:00:00"})
            )
    memory.files.rescan(None)
    shown = memory.call("context", {})["parts"]["promises"]
    assert [next(name for name in days if name in line) for line in shown] == [
        "late",
        "next",
        "second",
        "first",
    ]
    assert len(memory.call("todos", {})["todos"]) == 5
    for number in range(20):
        memory.call(
            "observe",
            {"turns": [{"session": "a", "text": f"The tide is {number} metres high."}]},
        )
    memory.call("consolidate", {"only": "spine"})
    page = read_block((vault / "spine.md").read_text(), "open_loops")
    assert ("late fence" in page, "old fence" in page) == (True, False)


# row: E4
def test_a_context_has_the_latest_twenty_pinned_memories(memory, clock):
    for number in range(24):
        clock.advance(minutes=1)
        memory.call(
            "remember", {"text": f"The code of door {number} is blue.", "pinned": True}
        )
    shown = memory.call("context", {"budget": 5000})["parts"]["foundation"]
    assert len(shown) == 20
    assert not any("door 3 " in line for line in shown)
    assert any("door 4 " in line for line in shown)
    assert any("door 23 " in line for line in shown)
