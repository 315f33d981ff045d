"""Promises: kept, run out, done again and again; listed, settled, ticked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

import pytest

from engram.core import todos
from engram.core.records import Candidate, Fact
from engram.errors import BadRequestError
from engram.serve.output import shown
from engram.vault import frontmatter
from engram.vault.template import create_vault, shipped
from tests.fakes.obsidian import broken_links, orphan_boxes
from tests.fakes.sentences import rows

AGENCY = Fact(
    "A",
    "The user will call the agency about the flat on Monday.",
    "commitment",
    about=("user",),
)
CAKE = Fact("B", "The user promised Anna a cake.", "commitment", about=("Anna",))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("I called the agency about the flat.", [AGENCY]),
        ("I've finally called that agency, they have a flat for us.", [AGENCY]),
        ("The cake for Anna is baked. All done!", [CAKE]),
        ("I baked the cake for Anna.", [CAKE]),
        ("I baked a cake for Paul.", []),
        ("Done!", []),
        ("Did I call the agency?", []),
        ("I haven't called the agency about the flat yet.", []),
        ("I will have called the agency about the flat.", []),
        ("If I called the agency about the flat, they would laugh.", []),
        ("I wanted to call the agency about the flat.", []),
        ("I saw a red car.", []),
    ],
)
# row: E16
def test_of_several_promises_the_one_whose_words_are_repeated_is_kept(text, kept):
    """Doubt keeps nothing: a question, a plan, a denial, a condition, or words that fit
    none.
    """
    found = todos.settlements(text, [AGENCY, CAKE])
    assert [fact for one in found for fact in one.promises] == kept


# row: E16
@pytest.mark.parametrize(
    "text", ["Done!", "It's done.", "I did it.", "Erledigt.", "C'est fait !", "完成了"]
)
def test_a_bare_word_for_done_keeps_only_what_was_named_just_before(text):
    """Not even a single open promise, since nothing says that it is meant."""
    assert todos.settlements(text, [AGENCY]) == []
    (found,) = todos.settlements(
        text, [AGENCY, CAKE], "Did you call the agency about the flat?"
    )
    assert found.promises == (AGENCY,)


# row: E15
@pytest.mark.parametrize(
    ("said", "category", "became"),
    rows("todos", "a_loop_is_known_by_the_words_that_prove_it"),
)
def test_a_loop_is_known_by_the_words_that_prove_it(said, category, became):
    one = todos.with_loop_tag(Candidate("It is so.", category, 0.8, "T", said))
    assert [one.category, list(one.tags)] == became


def promise(memory, text, **more):
    return memory.call("remember", {"text": text, "category": "commitment", **more})[
        "id"
    ]


def say(memory, *texts, session="porto", **more):
    for text in texts:
        memory.clock.advance(minutes=1)
        turn = {"session": session, "text": text, **more}
        memory.call("observe", {"turns": [turn]})


def run(memory):
    memory.call("consolidate", {"cadence": "talk"})


def over(memory):
    memory.clock.advance(minutes=31)
    run(memory)


def stages(memory, **more):
    return {
        row["id"]: row["stage"]
        for row in memory.call("todos", {"stage": "all", **more})["todos"]
    }


# row: E16
def test_what_recurs_within_a_day_becomes_a_habit(memory, clock):
    """A fact with a tag, no promise any more; said two days later it is none."""
    plants = promise(memory, "I will water the plants in the hall.")
    agency = promise(memory, "I will call the agency about the flat.")
    say(memory, "I water the plants in the hall every Sunday.")
    clock.advance(hours=24)
    say(memory, "I call the agency about the flat every week now.", session="later")
    over(memory)
    assert stages(memory) == {plants: "habit", agency: "open"}
    assert (
        memory.index.catalog.find_fact(plants).category,
        memory.index.catalog.find_fact(plants).tags,
    ) == (
        "fact",
        ("habit",),
    )


# row: E16
def test_a_promise_whose_time_is_over_is_given_up(memory, clock):
    name = promise(memory, "I will call the agency about the flat.")
    path = memory.settings.vault / memory.index.catalog.find_fact(name).path
    path.write_bytes(
        frontmatter.edit(path.read_bytes(), {"valid_until": "2026-11-21T10:00:00"})
    )
    memory.index.wrote({memory.index.catalog.find_fact(name).path: path.read_bytes()})
    clock.advance(days=1)
    run(memory)
    assert memory.index.catalog.find_fact(name).tags == ("expired",)


# row: E16
def test_a_promise_that_is_remembered_has_its_day(memory):
    """As one of a conversation; the day of telling a thing is no day of a duty."""
    memory.call("remember", {"text": "I promise to call the bank by 5 December 2026."})
    memory.call("remember", {"text": "I moved to Porto on 5 October 2026."})
    (row,) = memory.call("todos", {})["todos"]
    assert row["when"] == "due 2026-12-05"
    (told,) = memory.call("recall", {"query": "When did I move to Porto?"})["hits"][:1]
    assert memory.index.catalog.find_fact(told["id"]).valid_from is None


# row: E16
def test_promises_are_listed_and_settled_by_hand(memory):
    """And opened again; what a person settled no words change."""
    name = promise(memory, "I will call the agency about the flat.")
    assert [row["id"] for row in memory.call("todos", {})["todos"]] == [name]
    assert memory.call("settle", {"id": name})["stage"] == "fulfilled"
    assert memory.call("todos", {})["todos"] == []
    for word, stage in (
        ("open", "open"),
        ("done", "fulfilled"),
        ("cancelled", "expired"),
    ):
        assert memory.call("settle", {"id": name, "stage": word})["stage"] == stage
        found = memory.call("todos", {"stage": stage})["todos"]
        assert [row["id"] for row in found] == [name]
    memory.call("settle", {"id": name, "stage": "open"})
    fact = memory.index.catalog.find_fact(name)
    assert (fact.tags, fact.done, fact.end_reason) == ((), None, "")
    say(memory, "I called the agency about the flat.")
    over(memory)
    assert stages(memory) == {name: "open"}
    with pytest.raises(BadRequestError, match="not an active promise"):
        memory.call(
            "settle", {"id": memory.call("remember", {"text": "I like tea."})["id"]}
        )


# row: E16
# row: E12
def test_open_promises_are_tasks_in_the_spine_and_a_tick_keeps_one(memory):
    name = promise(memory, "I will call the agency about the flat.")
    say(memory, *(f"The tide was {number} metres." for number in range(20)))
    memory.call("consolidate", {"only": "spine"})
    spine = memory.settings.vault / "spine.md"
    (task,) = [
        line for line in spine.read_text().splitlines() if line.startswith("- [ ]")
    ]
    assert "call the agency" in task
    spine.write_text(spine.read_text().replace(task, task.replace("[ ]", "[x]")))
    run(memory)
    assert stages(memory) == {name: "fulfilled"}
    say(memory, *(f"The wind was {number} knots." for number in range(20)))
    memory.call("consolidate", {"only": "spine"})
    assert "call the agency" not in spine.read_text()


# row: E16
# row: X14
def test_a_promise_is_due_on_the_day_of_the_vaults_zone(memory):
    """In Berlin the day begins while it is still the day before in London."""
    say(memory, "I promise to call the agency on Wednesday.")
    memory.pipeline.flush()
    (row,) = memory.call("todos", {})["todos"]
    assert row["due"] == "2026-11-25T00:00:00+01:00"
    assert row["due_until"] == "2026-11-26T00:00:00+01:00"
    assert " · due 2026-11-25 · " in shown("todos", {"todos": [row]})
    assert "- [user, due 2026-11-25] " in memory.call("context", {})["text"]


# row: E16
# row: E18
def test_the_command_line_lists_settles_and_tells(memory):
    """A line for each promise; the context as an assistant gets it."""
    name = promise(memory, "I will call the agency about the flat.")
    listed = shown("todos", memory.call("todos", {}))
    assert listed == f"open      I will call the agency about the flat. · {name}"
    told = shown("context", memory.call("context", {}))
    assert told.startswith("<memory-notes ")
    assert (
        "Open promises:\n- [user (remembered), 2026-11-20] I will call the agency about the flat.\n"
        in told
    )
    memory.call("settle", {"id": name})
    assert (
        shown("todos", memory.call("todos", {}))
        == "There are no promises of that kind; `--stage all` lists every kind."
    )
    assert shown("context", {"text": ""}) == "Nothing is known yet."


# row: C16
# row: X6
@pytest.mark.parametrize("person", [False, True])
def test_a_kept_promise_that_goes_to_the_trash_leaves_no_link_that_leads_nowhere(
    memory, clock, person
):
    """The box goes on naming it; where a note of a person leads to it, it is put
    away instead.
    """
    vault = memory.settings.vault
    create_vault(vault, memory.settings.vault_id, shipped("vault_template"))
    say(memory, "I'll call the shelter on Monday.")
    promise(memory, "I will call the agency about the flat.")
    say(memory, "My sister Anna lives in Porto.")
    clock.advance(hours=1)
    memory.call("flush", {})
    names = [
        PurePosixPath(memory.index.catalog.find_fact(name).path).stem
        for name in stages(memory)
    ]
    for name in stages(memory):
        memory.call("settle", {"id": name})
    before = {
        path: path.read_bytes()
        for path in vault.rglob("*.md")
        if any(f"[[{n}" in path.read_text() for n in names)
    }
    assert {path.relative_to(vault).parts[0] for path in before} == {"boxes"}
    if person:
        (vault / "notes/mine.md").write_text(
            f"See [[{names[0]}]] and [[{names[1]}]].\n"
        )
        memory.files.rescan(None)
    clock.advance(days=92)
    run = memory.call("consolidate", {"cadence": "nightly"})["run"]
    assert (broken_links(vault), orphan_boxes(vault)) == ([], [])
    assert len(list(vault.glob(".trash/*/commitment-*.md"))) == (0 if person else 2)
    assert len(list(vault.glob("archive/*/commitment-*.md"))) == (2 if person else 0)
    marks = names if person else ["\n- gone\n"]
    assert all(any(mark in path.read_text() for mark in marks) for path in before)
    memory.call("undo", {"id": run})
    assert {path: path.read_bytes() for path in before} == before


# row: A35
# row: E16
def test_a_promise_for_a_month_is_due_at_its_end_everywhere(memory, clock):
    """In the digest as in the list."""
    say(memory, "I have to renew my passport in December.")
    clock.advance(hours=1)
    memory.call("flush", {})
    clock.advance(days=14)
    (row,) = memory.call("todos", {})["todos"]
    assert "2026-12-31" in row["when"]
    (due,) = memory.call("digest", {})["due"]
    assert due["when"].startswith("2026-12-31")
    assert due["text"] == row["text"]


# row: E15
# row: E16
def test_what_goes_wrong_and_what_is_left_open_is_told_until_it_is_over(memory):
    """From the conversation itself; three of each; done by the words for it, or by
    hand.
    """
    say(
        memory,
        "I have problems with my office printer.",
        "My sister Vera lives in Porto.",
    )
    memory.call("flush", {})
    (row,) = memory.call("todos", {"stage": "friction"})["todos"]
    assert row["key"] == todos.loop_key(row["text"])
    parts = memory.call("context", {})["parts"]
    assert len(parts["frictions"]) == 1
    assert "printer" in parts["frictions"][0]
    assert "Going wrong:" in memory.call("context", {})["text"]
    say(memory, "Done!", "The tide is high.", "I sail.")
    over(memory)
    assert stages(memory) == {row["id"]: "friction"}
    say(memory, "I fixed the problems with the office printer.", session="later")
    over(memory)
    assert stages(memory) == {row["id"]: "fulfilled"}
    memory.call("settle", {"id": row["id"], "stage": "open"})
    assert stages(memory) == {row["id"]: "friction"}
    memory.call("settle", {"id": row["id"], "stage": "expired"})
    assert stages(memory) == {row["id"]: "expired"}
    assert "frictions" not in memory.call("context", {})["parts"]


def promises_of(memory):
    return {
        row["text"]: row["stage"]
        for row in memory.call("todos", {"stage": "all"})["todos"]
    }


# row: E16
# row: X9
def test_a_report_that_may_mean_two_promises_asks_once_which(memory):
    """Nothing is closed until the user ticks one."""
    loan = promise(memory, "I will call the bank about the loan.")
    card = promise(memory, "I will call the bank about the card.")
    say(memory, "I called the bank.")
    assert set(stages(memory).values()) == {"open"}
    (case,) = memory.call("review", {})["cases"]
    assert "kept" in case["why"]
    memory.call("decide", {"id": case["id"], "decision": "2"})
    assert sorted(stages(memory).values()) == ["fulfilled", "open"]
    assert memory.call("review", {})["cases"] == []
    assert {loan, card} == set(stages(memory))


# row: E16
def test_a_promise_that_ran_out_is_kept_late_and_one_not_needed_is_given_up(
    memory, clock
):
    agency = promise(memory, "I will call the agency about the flat.")
    cake = promise(memory, "I promise to bake Anna a cake.")
    path = memory.settings.vault / memory.index.catalog.find_fact(agency).path
    path.write_bytes(
        frontmatter.edit(path.read_bytes(), {"valid_until": "2026-11-21T10:00:00"})
    )
    memory.index.wrote({memory.index.catalog.find_fact(agency).path: path.read_bytes()})
    clock.advance(days=2)
    run(memory)
    assert stages(memory) == {agency: "expired", cake: "open"}
    say(memory, "I finally called the agency about the flat.")
    say(memory, "I don't need to bake Anna a cake any more.")
    assert stages(memory) == {agency: "fulfilled", cake: "expired"}
    assert memory.index.catalog.find_fact(cake).end_reason.startswith("cancelled, as")


# row: E16
def test_a_promise_in_a_note_that_the_user_wrote_is_settled_only_by_a_tick(memory):
    (memory.settings.vault / "facts").mkdir(exist_ok=True)
    (memory.settings.vault / "facts/mine.md").write_text(
        "---\ncategory: commitment\n---\n\nI have to call the agency about the flat.\n"
    )
    memory.files.rescan(None)
    say(memory, "I called the agency about the flat.")
    assert set(promises_of(memory).values()) == {"open"}
    (case,) = memory.call("review", {})["cases"]
    memory.call("decide", {"id": case["id"], "decision": "settle"})
    assert set(promises_of(memory).values()) == {"fulfilled"}


# row: E16
def test_a_duty_of_an_old_conversation_is_not_open_when_it_is_read(memory, clock):
    said = [
        {
            "id": f"o{number}",
            "session": "old",
            "text": text,
            "occurred_at": "2025-03-02T19:00:00+01:00",
        }
        for number, text in enumerate(
            (
                "I need to renew my gym membership tomorrow.",
                "I have to call the notary some day.",
            )
        )
    ]
    memory.call("observe", {"turns": said})
    memory.call("flush", {})
    listed = memory.call("todos", {"stage": "open"})["todos"]
    assert [one["text"] for one in listed if "gym" in one["text"]] == []
    (lapsed,) = memory.call("todos", {"stage": "expired"})["todos"]
    assert "gym" in lapsed["text"]


# row: E16
@pytest.mark.parametrize(
    ("text", "is_event"),
    rows("todos", "an_event_passes_by_itself_and_a_duty_stays_open"),
)
def test_an_event_passes_by_itself_and_a_duty_stays_open(text, is_event):
    day = datetime(2027, 3, 1, tzinfo=UTC)
    fact = Fact("1", text, "commitment", created=day, valid_from=day)
    assert todos.is_past_plan(fact, day + timedelta(days=9), UTC) == is_event


# row: E16
@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I called the bank.", 3),
        ("I called the bank yesterday.", 2),
        ("Ich habe am Montag die Bank angerufen.", 1),
        ("I called the bank about the loan for next week.", 3),
    ],
)
def test_a_promise_is_settled_on_the_day_of_the_deed(text, day):
    said = datetime(2027, 3, 3, 15, tzinfo=UTC)
    assert todos.deed_at(text, said).day == day


# row: E16
@pytest.mark.parametrize(
    ("promise", "report", "kept"),
    rows("todos", "what_expires_is_settled_by_its_renewal"),
)
def test_what_expires_is_settled_by_its_renewal(promise, report, kept):
    day = datetime(2027, 6, 2, tzinfo=UTC)
    fact = Fact("1", promise, "commitment", created=day, valid_from=day)
    found = todos.settlements(report, [fact])
    assert [(one.tag, one.asks) for one in found] == [(todos.FULFILLED, False)] * kept
