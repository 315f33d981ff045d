"""Known facts in the extraction call: what a model is shown, what it may end with that,
and what is refused. The model is a server on a real socket.
"""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from engram.config import ModelSettings
from engram.core.policy import ExtractionPolicy, ModelPolicy
from engram.core.records import Fact, FactEnd, FactLinks, Turn
from engram.llm.tasks import read_facts
from tests.fakes.batches import batch_of, by_text, cases, held_back, rows, tell, texts
from tests.fakes.openai_server import fact
from tests.fakes.scribe import task_of

POLICY, MODEL = ExtractionPolicy(), ModelPolicy()
LEIPZIG, OSKAR = "Jonas lives in Leipzig.", "Jonas has a cat named Oskar."
HAMBURG = "Jonas and his family moved to Hamburg."
FENCE = "Jonas will paint the fence by 23 November."
DUE = {"category": "commitment", "sort": "plan", "when_words": "by 23 November"}
DUE |= {"when": "2026-11-23"}
MOVED = (
    "Guess where I'm writing from: Hamburg! We got the keys early and moved at last."
)


@pytest.fixture
def talking(opened, running):
    """A memory whose model gives scripted answers; `running` is its server."""
    running.script()
    running.script_embeddings()
    running.requests.clear()

    def start(**changes):
        return held_back(opened(model=ModelSettings("m", running.url), **changes))

    return start


def numbers(body):
    """The numbers of the known statements in a question."""
    asked = body["messages"][-1]["content"]
    listed = re.findall(r'^(\d+)\. (?:\d{4}-\d\d-\d\d )?(".*")$', asked, re.MULTILINE)
    return {json.loads(text): int(number) for number, text in listed}


def said(memory, server, words, *facts, ended=(), **more):
    """A model reads these words as `facts`, each (text, links, changes): the links name
    known statements by their texts, as the model sees them.
    """

    def answer(body):
        if task_of(body) != "extract":
            return {"relation": "independent", "index": 0}
        known = numbers(body)
        told = []
        for text, links, changes in facts:
            named = {
                field: [known.get(one, 99) for one in old]
                if field != "same"
                else known[old]
                for field, old in links.items()
            }
            empty = {"replaces": [], "ends": [], "same": None, "supports": []}
            quote = {"quote": words[:60]} | changes
            told.append(fact("t1", quote.pop("quote"), text) | empty | named | quote)
        over = [{"n": known.get(old, 99), "quote": quote} for old, quote in ended]
        return {"facts": told, "entities": [], "relations": [], "ended": over}

    batch = batch_of(memory, words, **more)
    server.script(answer)
    return memory.pipeline.file(batch, memory.pipeline.distil(batch))


# -- what a model is shown -------------------------------------------------------------


# row: A7
@pytest.mark.parametrize(
    ("known", "words"),
    [
        (OSKAR, "Oskar died yesterday. We all miss him so much already."),
        (
            "Jonas drinks four cups of coffee a day.",
            "I quit coffee two weeks ago, and I feel fine.",
        ),
        (
            "The user lives in Bonn.",
            "Rate mal, wo ich gerade sitze: in Köln, endlich!",
        ),
        (
            "The user works at Frachtwerk.",
            "Monday was my first day at Hafenblick, so nice.",
        ),
        ("The user's wife is Elif.", "The papers are signed, Elif and I are through."),
        (
            "Jonas has an interview on Friday.",
            "They called off the interview, what a pity.",
        ),
        (
            "The user lives in Lyon.",
            "Voilà, les cartons sont enfin tous arrivés à Nantes !",
        ),
    ],
)
def test_what_a_turn_may_change_is_shown(talking, running, known, words):
    """By subject or words, in the languages of the state table."""
    memory = talking()
    tell(memory, known, "Mia has a red bicycle.")
    said(memory, running, words)
    assert known in numbers(running.asked[0])


# row: A9
def test_a_booking_the_promises_and_the_health_are_shown_among_many(talking, running):
    """Whatever the words are about, and however many there are: no kind of memory is
    left out. The rest of the room has what is nearest.
    """
    memory = talking()
    foods = "cashews", "milk", "eggs", "wheat", "soy", "sesame", "celery", "mustard"
    health = [f"The user's son Theo is allergic to {food}." for food in foods]
    owed = [f"Jonas will pay Dale the sum number {number}." for number in range(25)]
    booked = "Jonas booked a room in Oaxaca."
    tell(memory, *(f"Jonas painted room {number} of Casa Luz." for number in range(90)))
    tell(memory, *health)
    tell(memory, *owed, category="commitment")
    tell(memory, booked, category="moment", turn="We booked a room in Oaxaca.")
    said(memory, running, "Casa Luz in Oaxaca cancelled our room, all of Casa Luz.")
    shown = numbers(running.asked[0])
    assert {*health, *owed, booked} <= set(shown)
    assert sum(map(len, shown)) < POLICY.known


# row: A9
# row: X24
@pytest.mark.parametrize(
    ("days", "words", "shown"),
    [(5, "Nice day.", True), (12, "Nice day.", False), (12, "The fence is up.", True)],
)
def test_a_promise_that_is_overdue_for_long_is_shown_only_near_its_words(
    talking, running, clock, days, words, shown
):
    memory = talking()
    said(
        memory, running, "I have to do it by 23 November, all of it.", (FENCE, {}, DUE)
    )
    clock.advance(days=days)
    said(memory, running, f"{words} I slept well and had a long breakfast.")
    assert any("fence" in one for one in numbers(running.asked[-1])) is shown


# row: A9
# row: X24
@pytest.mark.parametrize(
    ("day", "words", "shown"),
    [
        ("10 December", "Nice day.", True),
        ("10 March", "Nice day.", False),
        ("10 March", "The fence is up.", True),
    ],
)
def test_a_promise_that_is_due_much_later_is_shown_only_near_its_words(
    talking, running, day, words, shown
):
    memory = talking()
    promise, due = FENCE.replace("23 November", day), {"when_words": f"by {day}"}
    words_of_it = f"I will paint the fence by {day}, all of it."
    said(memory, running, words_of_it, (promise, {}, DUE | due | {"when": ""}))
    said(memory, running, f"{words} I slept well and had a long breakfast.")
    assert any("fence" in one for one in numbers(running.asked[-1])) is shown


# row: A9
# row: B1
def test_both_people_of_a_first_name_are_named_and_shown(talking, running):
    """The names of the user stand apart from those of others."""
    memory = talking(owner=("Jonas",))
    boss, husband = "Daniel Brandt is his boss.", "Daniel Okafor is married to Katrin."
    tell(memory, boss, about=("Daniel Brandt",))
    tell(memory, husband, about=("Daniel Okafor", "Katrin"))
    said(memory, running, "Daniel took the news about my leaving really well, puh.")
    asked = running.asked[0]["messages"][-1]["content"]
    assert 'Names of the user:\n"Jonas"' in asked
    others = asked.partition("Names known of others:\n")[2].splitlines()[0]
    assert {"Daniel Brandt", "Daniel Okafor"} <= set(json.loads(f"[{others}]"))
    assert {boss, husband} <= set(numbers(running.asked[0]))


# -- what a model may end --------------------------------------------------------------


# row: A10
def test_a_change_ends_what_was_told_in_many_conversations(talking, running, clock):
    """Law 7: a first-person change; where nothing tells a change the old is weakened."""
    memory = talking()
    for day in range(4):
        clock.advance(days=1)
        tell(memory, LEIPZIG, "Jonas loves chess.", session=f"s{day}")
    said(memory, running, MOVED, (HAMBURG, {"replaces": [LEIPZIG]}, {}))
    said(
        memory,
        running,
        "Well, chess is boring me to death, as far as I am concerned.",
        ("Chess bores Jonas.", {"replaces": ["Jonas loves chess."]}, {}),
    )
    assert texts(memory, "superseded") == [LEIPZIG]
    weakened = by_text(memory, "Jonas loves chess.")
    assert weakened.status == "active"
    assert weakened.superseded_by == (by_text(memory, "Chess bores Jonas.").id,)


# row: A10
def test_a_fact_ends_without_a_new_one(talking, running):
    """The words of the user are in the log; a restore takes it back."""
    memory = talking()
    (old,) = tell(memory, OSKAR).created
    words = "Nothing new from me today. We gave Oskar away to my aunt."
    quote = "We gave Oskar away"
    said(memory, running, words, ended=[(OSKAR, quote)])
    assert (texts(memory), texts(memory, "invalidated")) == ([], [OSKAR])
    (row,) = [row for row in rows(memory) if row["action"] == "invalidate"]
    assert (row["memory"], row["quote"], row["by"]) == (old, quote, "model")
    assert row["turn"]
    memory.call("update", {"id": old, "status": "active"})
    assert texts(memory) == [OSKAR]


# row: X27
@pytest.mark.parametrize("way", ["replaces", "ended"])
def test_an_assistant_ends_nothing_that_the_user_said(talking, running, way):
    """Its statement waits for a person; words without a statement are refused."""
    memory = talking()
    tell(memory, LEIPZIG)
    words = "As you told me, you have moved to Hamburg by now."
    batch = batch_of(
        memory, "I would like to talk to you about my new flat.", session="s"
    )
    memory.pipeline.file(batch, memory.pipeline.distil(batch))
    memory.call(
        "observe",
        {
            "turns": [
                {"id": "a", "session": "s", "role": "assistant", "text": words},
                {
                    "id": "b",
                    "session": "s",
                    "text": "Let us see about that, it is rather late today.",
                },
            ]
        },
    )
    memory.queue.hurry()
    (batch,) = memory.pipeline.due(memory.clock())

    def answer(body):
        number = numbers(body)[LEIPZIG]
        links = {"replaces": [number], "ends": [], "same": None, "supports": []}
        told = [fact("t1", words, HAMBURG) | links] if way == "replaces" else []
        over = [] if told else [{"n": number, "quote": words}]
        return {"facts": told, "entities": [], "relations": [], "ended": over}

    running.script(answer)
    result = memory.pipeline.file(batch, memory.pipeline.distil(batch))
    assert LEIPZIG in texts(memory)
    waits = 1 if way == "replaces" else 0
    assert (len(cases(memory)), len(result.review)) == (waits, waits)
    refused = result.skipped["ended: no evidence in a turn of the user"]
    assert refused == 1 - waits


# row: C12
@pytest.mark.parametrize(
    ("words", "is_kept"),
    [(MOVED, True), ("Hamburg is our home now, believe it or not.", False)],
)
def test_a_plan_ends_when_it_is_carried_out(talking, running, words, is_kept):
    """A move that was planned is done: kept if the words say so, else replaced."""
    memory = talking()
    plan = "Jonas and his family will move to Hamburg."
    (old,) = tell(memory, plan, category="commitment").created
    said(memory, running, words, (HAMBURG, {"replaces": [plan]}, {}))
    assert texts(memory, "superseded") == ([] if is_kept else [plan])
    tags = memory.call("show", {"id": old})["memory"].get("tags", [])
    assert tags == (["fulfilled"] if is_kept else [])


# row: A8
def test_what_the_model_calls_the_same_is_one_note_in_its_old_words(
    talking, running, clock
):
    """With one more source; numbers that differ are two facts, whatever the model says."""
    memory = talking()
    tell(memory, "Jonas is allergic to penicillin.", "The rent is 1250 euros.")
    clock.advance(days=1)
    before = by_text(memory, "Jonas is allergic to penicillin.")
    said(
        memory,
        running,
        "Do not forget: no penicillin for me, and the rent is 1310 euros.",
        ("Penicillin is what Jonas is allergic to.", {"same": before.text}, {}),
        ("The rent is 1310 euros.", {"same": "The rent is 1250 euros."}, {}),
    )
    assert before.text in texts(memory)
    assert "Penicillin is what Jonas is allergic to." not in texts(memory)
    assert "The rent is 1310 euros." in texts(memory)
    assert by_text(memory, before.text).confidence == pytest.approx(0.6)


# -- the reply -------------------------------------------------------------------------

KNOWN = (Fact("A", LEIPZIG), Fact("B", OSKAR))


def read(clock, known=KNOWN, text=MOVED, **reply):
    turns = (
        Turn("u", "s", "user", text, clock()),
        Turn("a", "s", "assistant", "Oskar is dead, then.", clock()),
    )
    body = {"facts": [], **reply}
    return read_facts(json.dumps(body), turns, POLICY, MODEL, known)


def links_of(clock, **links):
    found = read(clock, facts=[fact("t1", "moved at last", HAMBURG) | links])
    return found.candidates[0].links, Counter(found.dropped)


# row: A9
@pytest.mark.parametrize(
    ("links", "expected", "dropped"),
    [
        ({}, None, {}),
        ({"replaces": []}, FactLinks(), {}),
        ({"replaces": [1], "ends": [2]}, FactLinks(("A",), ("B",)), {}),
        ({"replaces": [1, 1], "ends": [1], "same": 1}, FactLinks(("A",)), {}),
        ({"replaces": 1, "same": "2"}, FactLinks(("A",), same="B"), {}),
        ({"replaces": ["[1]"], "same": 0}, FactLinks(("A",)), {}),
        ({"replaces": [7, -1]}, FactLinks(), {"known: no such statement": 2}),
        ({"ends": ["x", None, True, 1.5]}, FactLinks(), {"known: malformed": 4}),
        ({"supports": {"n": 1}}, FactLinks(), {"known: malformed": 1}),
        ({"same": 10**400}, FactLinks(), {"known: no such statement": 1}),
    ],
)
def test_links_name_only_what_was_shown(clock, links, expected, dropped):
    """What is refused is counted; a reply without the fields says nothing."""
    assert links_of(clock, **links) == (expected, dropped)


# row: X17
def test_a_fact_without_evidence_changes_nothing(clock):
    """It goes to review alone."""
    found = read(clock, facts=[fact("t1", "we left", HAMBURG) | {"replaces": [1]}])
    assert found.candidates[0].links == FactLinks()
    assert found.dropped == {"known: no evidence in the turn": 1}
    assert found.warnings == {HAMBURG: "known: no evidence in the turn"}


# row: X17
@pytest.mark.parametrize(
    ("text", "quote", "ends"),
    [
        (MOVED, "moved at last", True),
        ("Oskar is gone. We moved.", "Oskar is gone", True),
        ("Wir sind umgezogen.", "umgezogen", True),
        ("我们已经搬家了。", "已经搬家了", True),
        (MOVED, "Oskar is dead, then.", False),  # the assistant's words
        (MOVED, "we have left", False),
        (MOVED, "at", False),
        (MOVED, "", False),
        (MOVED, None, False),
        ("Have we moved at last?", "moved at last", False),
        ("Maybe we moved at last.", "moved at last", False),
        (
            'Paul wrote: "We have finally moved at last, hooray!"',
            "moved at last",
            False,
        ),
    ],
)
def test_an_end_needs_words_that_the_user_says(clock, text, quote, ends):
    """A question, a doubt, a quotation or the words of another are none."""
    found = read(clock, text=text, ended=[{"n": 1, "quote": quote}])
    assert found.ended == ((FactEnd("A", "u", quote),) if ends else ())
    expected = {} if ends else {"ended: no evidence in a turn of the user": 1}
    assert found.dropped == expected


def test_an_end_is_read_once_and_garbage_is_counted(clock):
    """Nothing raises."""
    end = {"n": 1, "quote": "moved at last"}
    over = [end, end, {"n": 9, "quote": "moved"}, 5, {}, {"n": [2], "quote": {}}]
    assert [one.fact_id for one in read(clock, ended=over).ended] == ["A"]
    assert read(clock, ended={"n": 1}).ended == ()
    assert read(clock).ended == ()


# -- again after a crash, and corrections ----------------------------------------------


# row: X2
@pytest.mark.parametrize("pinned", [False, True])
def test_a_batch_that_is_filed_again_changes_nothing_more(talking, running, pinned):
    """Neither ends nor questions nor rows of the log come twice."""
    memory = talking()
    for text in (LEIPZIG, OSKAR):
        (old,) = tell(memory, text).created
        memory.call("update", {"id": old, "pinned": pinned})
    words = f"{MOVED} We gave Oskar away."
    batch = batch_of(memory, words)

    def answer(body):
        known = numbers(body)
        links = {"replaces": [known[LEIPZIG]], "ends": [], "same": None, "supports": []}
        over = {"n": known[OSKAR], "quote": "We gave Oskar away"}
        told = fact("t1", "We got the keys early and moved", HAMBURG) | links
        return {"facts": [told], "entities": [], "relations": [], "ended": [over]}

    running.script(answer)
    extraction = memory.pipeline.distil(batch)
    memory.reconciler.file(batch, extraction, memory.clock())
    before, log = texts(memory), rows(memory)
    asked = len(cases(memory))
    assert (asked, len(texts(memory, "superseded"))) == ((2, 0) if pinned else (0, 1))
    memory.reconciler.file(batch.as_tried(), extraction, memory.clock())
    assert (texts(memory), rows(memory), len(cases(memory))) == (before, log, asked)


# row: E16
@pytest.mark.parametrize(
    ("promise", "words", "tag", "why"),
    [
        (
            "Jonas will call the insurance on Friday.",
            "Update: I finally called the insurance this morning.",
            "fulfilled",
            "kept",
        ),
        (
            "Jonas runs the half marathon in Leipzig in May.",
            "Sad news from the doctor: the half marathon is off.",
            "expired",
            "cancelled",
        ),
        (
            "Jonas will paint the fence.",
            "We are leaving the fence as it is, in its old brown.",
            "expired",
            "it is over",
        ),
    ],
)
@pytest.mark.parametrize("way", ["ends", "ended"])
def test_a_promise_that_a_model_calls_over_is_settled(
    talking, running, way, promise, words, tag, why
):
    """It keeps its status, as one that rules settle, and can be opened again."""
    memory = talking()
    (old,) = tell(memory, promise, category="commitment").created
    news = [("Jonas spoke of the fence today.", {"ends": [promise]}, {"quote": words})]
    facts = news if way == "ends" else []
    said(memory, running, words, *facts, ended=[] if facts else [(promise, words)])
    assert promise in texts(memory)
    note = memory.call("show", {"id": old})["memory"]
    assert (note["tags"], note["end_reason"].startswith(why)) == ([tag], True)
    (row,) = [row for row in rows(memory) if row["action"] == "settle"]
    assert row["memory"] == old
    assert row["turn"]
    memory.call("settle", {"id": old, "stage": "open"})
    assert "tags" not in memory.call("show", {"id": old})["memory"]


# -- what rests on something -----------------------------------------------------------

OFFER, LINZ = "Jakob has an offer from a firm in Linz.", "Jonas moves to Linz."
RENTED = "Jonas has rented a van for the move."
TOLD_OFFER = "Big news in the family, Jakob has an offer from a firm in Linz!"
TOLD_MOVE = "So it looks like I am moving to Linz quite soon, what a change."


def fallen(memory):
    """The notes that ask what ends with something that ended."""
    return sorted(memory.settings.vault.glob("review/settle-*.md"))


def hit_on(memory, query, text):
    hits = memory.call("recall", {"query": query, "kinds": ["fact"]})["hits"]
    return next((hit for hit in hits if hit["text"] == text), None)


# row: X29
@pytest.mark.parametrize("told", ["ground first", "ground last", "known ground"])
def test_what_rests_on_an_ended_fact_may_no_longer_hold_and_is_asked_once(
    talking, running, told
):
    """Nothing ends by itself; the ticked ones end, and what rests on these is asked."""
    memory = talking()
    words = "We are moving to Linz, because Jakob has an offer from a firm there."
    if told == "ground first":
        said(memory, running, words, (OFFER, {}, {}), (LINZ, {}, {"because": [-1]}))
    elif told == "ground last":
        said(memory, running, words, (LINZ, {}, {"because": [-2]}), (OFFER, {}, {}))
    else:
        said(memory, running, TOLD_OFFER, (OFFER, {}, {}))
        said(memory, running, words, (LINZ, {"because": [OFFER]}, {}))
    words = "I rented a van for the move, my friend drives it."
    said(memory, running, words, (RENTED, {"because": [LINZ]}, {}))
    assert by_text(memory, LINZ).because == (by_text(memory, OFFER).id,)
    assert hit_on(memory, "Linz move", LINZ)["standing"] == ""

    declined = "Jakob has declined the offer from the firm."
    said(memory, running, declined, ended=[(OFFER, declined)])
    assert OFFER in texts(memory, "invalidated")
    assert texts(memory) == sorted([LINZ, RENTED])
    hit = hit_on(memory, "Linz move", LINZ)
    assert hit["standing"] == "may no longer hold since 2026-11-20"
    assert "may no longer hold" in memory.call("recall", {"query": "Linz"})["text"]
    assert hit_on(memory, "rented van", RENTED)["standing"] == ""
    (note,) = fallen(memory)
    assert f"- [ ] Settle 1: {LINZ}" in note.read_text()
    assert RENTED not in note.read_text()

    (case,) = memory.call("review", {})["cases"]
    memory.call("decide", {"id": case["id"], "decision": "settle"})
    assert LINZ in texts(memory, "invalidated")
    (case,) = memory.call("review", {})["cases"]
    memory.call("decide", {"id": case["id"], "decision": "leave"})
    assert texts(memory) == [RENTED]
    assert not fallen(memory)


# row: X29
def test_what_rests_on_a_shown_statement_is_shown_beside_it(talking, running):
    """Though no word of the turns is near it."""
    memory = talking()
    said(memory, running, TOLD_OFFER, (OFFER, {}, {}))
    words = "I rented a van because of the offer that Jakob has."
    said(memory, running, words, (RENTED, {"because": [OFFER]}, {}))
    tell(memory, *(f"Jonas painted room {number} of Casa Luz." for number in range(90)))
    said(memory, running, "Jakob has declined the offer, and Casa Luz is painted.")
    shown = numbers(running.asked[-1])
    assert shown[RENTED] == shown[OFFER] + 1


CLINIC, FLAT = "Eva starts at the clinic in Ulm.", "Jonas looks for a flat in Ulm."
REX, FENCED = "Jonas gets the dog Rex.", "Jonas needs a fence around the garden."
EARLY = "Jonas gets up at six for Rex."
EGGS, CAKE = "Milo is allergic to eggs.", "Jonas bakes without eggs."
FINE, LIAM = "Milo is not allergic to eggs.", "Liam has an offer from a clinic in Ulm."
SIGNED = "Eva has signed with the clinic in Ulm and starts there."
OWN = "Jonas likes Ulm for its minster."
STORIES = {
    "a job that comes to nothing": (
        ("Eva starts at the clinic in Ulm, what do you say?", (CLINIC, {}, {})),
        (
            "So we are looking for a flat in Ulm, not too far from the clinic.",
            (FLAT, {"because": [CLINIC]}, {}),
        ),
        ("I like Ulm for its minster, by the way, I always have.", (OWN, {}, {})),
        ("The clinic in Ulm has withdrawn Eva's contract.", CLINIC),
        {FLAT},
    ),
    "a dog that goes back": (
        ("We are getting Rex, a dog from the shelter!", (REX, {}, {})),
        (
            "For Rex I need a fence around the whole of the garden.",
            (FENCED, {"because": [REX]}, {}),
        ),
        (
            "And for Rex I now get up at six every single morning.",
            (EARLY, {"because": [REX]}, {}),
        ),
        ("The shelter has kept Rex after all, so there is no dog.", REX),
        {FENCED, EARLY},
    ),
    "a test that shows the contrary": (
        ("Milo is allergic to eggs, says the doctor.", (EGGS, {}, {})),
        (
            "So for Milo I bake all our cakes without any eggs now.",
            (CAKE, {"because": [EGGS]}, {}),
        ),
        (
            "The new test says that Milo is not allergic to eggs.",
            (FINE, {"replaces": [EGGS]}, {}),
        ),
        {CAKE},
    ),
    "the job of somebody else": (
        ("Eva starts at the clinic in Ulm, what do you say?", (CLINIC, {}, {})),
        (
            "So we are looking for a flat in Ulm, not too far from the clinic.",
            (FLAT, {"because": [CLINIC]}, {}),
        ),
        (
            "And Liam has an offer from a clinic in Ulm as well, imagine.",
            (LIAM, {}, {}),
        ),
        ("The clinic in Ulm has withdrawn Liam's offer.", LIAM),
        set(),
    ),
    "a job that is signed": (
        ("Eva starts at the clinic in Ulm, what do you say?", (CLINIC, {}, {})),
        (
            "So we are looking for a flat in Ulm, not too far from the clinic.",
            (FLAT, {"because": [CLINIC]}, {}),
        ),
        (
            "Eva has signed with the clinic in Ulm and starts there.",
            (SIGNED, {"same": CLINIC}, {}),
        ),
        set(),
    ),
    "what follows is over before": (
        ("We are getting Rex, a dog from the shelter!", (REX, {}, {})),
        (
            "For Rex I need a fence around the whole of the garden.",
            (FENCED, {"because": [REX]}, {}),
        ),
        ("The fence around the garden is up, Rex is happy.", FENCED),
        ("The shelter took Rex back in the end, what a sad day.", REX),
        set(),
    ),
}


# row: X29
@pytest.mark.parametrize("name", STORIES)
def test_what_rests_on_a_ground_is_asked_when_it_falls_and_not_when_another_does(
    talking, running, clock, name
):
    *turns, asked = STORIES[name]
    memory = talking()
    for words, what in turns:
        clock.advance(hours=30)
        if isinstance(what, str):
            said(memory, running, words, ended=[(what, words)])
        else:
            said(memory, running, words, what)
    found = [note.read_text() for note in fallen(memory)]
    assert len(found) == bool(asked)
    told = {
        text
        for _, what in turns
        for text in (what if isinstance(what, tuple) else ())
        if isinstance(text, str)
    }
    assert {
        text for text in told if text in "".join(found).partition("- [ ]")[2]
    } == asked


# row: X29
def test_what_ends_with_its_ground_in_the_same_words_is_not_asked(talking, running):
    memory = talking()
    said(memory, running, TOLD_OFFER, (OFFER, {}, {}))
    said(memory, running, TOLD_MOVE, (LINZ, {"because": [OFFER]}, {}))
    off = "The offer is off, so we are not moving to Linz."
    said(memory, running, off, ended=[(OFFER, off), (LINZ, off)])
    assert not texts(memory)
    assert not fallen(memory)


BUS, GARAGE = "Jonas takes the bus to work.", "Jonas's car is in the garage."
BACK = "Jonas has the car back from the garage."
TOLD_BACK = "I have the car back from the garage, by the way, and for good."
STILL = "And even so I take the bus to work, I have grown fond of it."


# row: X29
@pytest.mark.parametrize("later", [True, False])
def test_what_the_user_tells_again_after_its_ground_ended_stands_alone(
    talking, running, clock, later
):
    """It is asked about only if the words that ended the ground do not say it again."""
    memory = talking()
    words = "I take the bus to work, you see, the car is in the garage again."
    said(memory, running, words, (GARAGE, {}, {}), (BUS, {}, {"because": [-1]}))
    clock.advance(hours=30)
    back = (BACK, {"ends": [GARAGE]}, {"quote": "the car back from the garage"})
    still = (BUS, {"same": BUS}, {"quote": "I take the bus to work"})
    if later:
        said(memory, running, TOLD_BACK, back)
        assert hit_on(memory, "bus to work", BUS)["standing"]
        clock.advance(hours=30)
        said(memory, running, STILL, still)
    else:
        said(memory, running, f"{TOLD_BACK} {STILL}", still, back)
    assert len(fallen(memory)) == later
    assert by_text(memory, GARAGE).status == "superseded"
    assert not by_text(memory, BUS).because
    assert hit_on(memory, "bus to work", BUS)["standing"] == ""


PILL, MORE = "Jonas takes 20 mg of simvastatin.", "Jonas takes 40 mg of simvastatin."
POST, HEAD = "Jonas works at Frachtwerk.", "Jonas is head of sales at Frachtwerk."
OFF_PILL = "The doctor has taken Jonas off simvastatin."
LEFT, FIRM = (
    "Jonas has left Frachtwerk.",
    {"attribute": "employer", "value": "Frachtwerk"},
)


# row: X29
@pytest.mark.parametrize(
    ("ground", "later", "end", "slot"),
    [(PILL, MORE, OFF_PILL, {}), (POST, HEAD, LEFT, FIRM)],
)
def test_what_rests_on_a_fact_rests_on_the_one_in_which_it_goes_on(
    talking, running, clock, ground, later, end, slot
):
    """Another dose of a medicine is no end of the medicine, though one of the dose."""
    memory = talking(owner=("Jonas",))
    rule = "Jonas keeps away from grapefruit."
    words = "So that is how it has been with me for years, and hence this, you know."
    said(memory, running, words, (rule, {}, {"because": [-2]}), (ground, {}, slot))
    clock.advance(days=3)
    words = "That has changed a little since we spoke about it, by the way."
    said(memory, running, words, (later, {"replaces": [ground]}, slot))
    assert by_text(memory, ground).status == "superseded"
    assert hit_on(memory, rule, rule)["standing"] == ""
    assert not fallen(memory)
    clock.advance(days=3)
    words = "Well, and now that story has come to its end, as you may have guessed."
    said(memory, running, words, (end, {"ends": [later]}, slot))
    assert hit_on(memory, rule, rule)["standing"].startswith("may no longer hold")
    assert len(fallen(memory)) == 1


# row: X29
def test_what_rests_on_a_fact_that_a_kept_statement_ends_is_asked(talking, running):
    memory = talking()
    tell(memory, "The user works at Frachtwerk.")
    words = "So for Frachtwerk I rent a room in Bremen, from Monday to Thursday."
    room = "The user rents a room in Bremen."
    said(
        memory,
        running,
        words,
        (room, {"because": ["The user works at Frachtwerk."]}, {}),
    )
    memory.call("remember", {"text": "I no longer work at Frachtwerk."})
    (note,) = fallen(memory)
    assert f"Settle 1: {room}" in note.read_text()


# row: X30
def test_what_words_without_a_fact_end_is_over_since_the_day_that_they_name(
    talking, running
):
    memory = talking()
    tell(memory, "The user works at Frachtwerk.")
    words = (
        "They showed me the door at Frachtwerk on Wednesday. Imagine, after nine years."
    )
    over = "They showed me the door at Frachtwerk on Wednesday"
    said(memory, running, words, ended=[("The user works at Frachtwerk.", over)])
    answer = memory.call("recall", {"query": "Where do I work?"})
    assert answer["note"] == "no employer since 2026-11-18"


# row: X30
def test_the_end_of_what_is_told_of_somebody_by_the_user_s_name_is_an_answer(
    talking, running
):
    memory = talking(owner=("Jonas",))
    baker, sold = "Jonas's sister Eva is a baker in Cork.", "Eva has sold the bakery."
    words = "You know my sister Eva? She bakes for half of Cork, imagine that."
    job = {"about": ["Eva"], "attribute": "job", "value": "baker"}
    said(memory, running, words, (baker, {}, job))
    words = "And now Eva has sold the bakery, she is so glad about it."
    said(memory, running, words, (sold, {"ends": [baker]}, {"about": ["Eva"]}))
    answer = memory.call("recall", {"query": "What does Eva do?"})
    assert answer["note"] == "no job since 2026-11-20"


# row: X29
@pytest.mark.parametrize("links", [{}, {"supports": [OFFER]}])
def test_what_only_stands_beside_an_ended_fact_holds(talking, running, links):
    """Nor does a statement fall whose ground is said again, or that never had one."""
    memory = talking()
    said(memory, running, TOLD_OFFER, (OFFER, {}, {}))
    said(memory, running, TOLD_MOVE, (LINZ, links, {}))
    declined = "Jakob has declined the offer from the firm."
    said(memory, running, declined, ended=[(OFFER, declined)])
    assert hit_on(memory, "Linz move", LINZ)["standing"] == ""
    assert not fallen(memory)


# row: X29
def test_a_person_may_write_what_a_memory_rests_on(talking, running):
    """By its id in the note; a ground that is no memory is none."""
    memory = talking()
    said(memory, running, TOLD_OFFER, (OFFER, {}, {}))
    said(memory, running, TOLD_MOVE, (LINZ, {}, {}))
    note = memory.settings.vault / by_text(memory, LINZ).path
    line = f'because: ["[[nothing]]", {by_text(memory, OFFER).id}]\n'
    note.write_text(note.read_text().replace("---\n", f"---\n{line}", 1))
    memory.files.rescan(None)
    declined = "Jakob has declined the offer from the firm."
    said(memory, running, declined, ended=[(OFFER, declined)])
    assert hit_on(memory, "Linz", LINZ)["standing"].startswith("may no longer hold")
