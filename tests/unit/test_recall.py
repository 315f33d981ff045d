"""What recall weighs besides words: who is named, what is tied, how far it is trusted,
who said it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram.core.policy import LinkPolicy
from engram.core.records import Usage
from engram.errors import BadRequestError
from engram.recall import search
from engram.recall.request import RecallSources, request_for

BEGIN = datetime(2026, 10, 1, 12, tzinfo=UTC)


@pytest.fixture
def keep(memory, clock):
    """A function that writes a memory's note as a person would and has it read; the
    memory's id.
    """
    made: list[str] = []

    def write(text, **keys):
        name = f"01KBH2Q0M6T4W2Y0B7C5D9{len(made):04}"
        made.append(name)
        keys = {
            "id": name,
            "created": (BEGIN + timedelta(hours=len(made))).isoformat(),
        } | keys
        lines = "".join(f"{key}: {value}\n" for key, value in keys.items())
        path = memory.settings.vault / "facts" / "2026-10-01" / f"fact-{len(made)}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{lines}---\n{text}\n")
        memory.files.rescan(None)
        return name

    return write


def entity(memory, name, aliases):
    path = memory.settings.vault / "entities" / "people" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\ntype: person\naliases: {aliases}\n---\n")
    memory.files.rescan(None)


def told(memory, *texts, session="walk", **more):
    turns = [
        {"id": f"{session} {n}", "session": session, "role": "user", "text": t}
        for n, t in enumerate(texts)
    ]
    return memory.call("observe", {"turns": turns}, **more)["keys"]


def recalled(memory, query, **wishes):
    return memory.call("recall", {"query": query, "explain": True, **wishes})["hits"]


def order(memory, query, **wishes):
    return [hit["key"] for hit in recalled(memory, query, kinds=["fact"], **wishes)]


def parts(memory, query, key, **wishes):
    return next(
        hit["parts"] for hit in recalled(memory, query, **wishes) if hit["key"] == key
    )


def tied(memory, *seeds, persona="", **numbers):
    """The ties that follow from the notes, of these memories, as (from, to, type)."""
    found = memory.index.catalog.edges(seeds, persona, LinkPolicy(**numbers))
    return {way[:3] for way in found}


# Who is named.


# How it was used, and what the operation chooses.


def used(memory, key, **usage):
    memory.usage_tracker.usage_log.record({key: Usage(**usage)})


# row: A15
# row: A19
def test_the_preset_of_beliefs_weighs_use(memory, keep, clock):
    """Stability, and recency from the last recall on; the parts still sum to the score."""
    old, new = (
        keep("The heron nests by the mill."),
        keep("The heron nests by the lake."),
    )
    used(memory, old, access=20, stability=4.0, last_access=clock())
    clock.advance(days=60)
    told = {
        key: parts(memory, "heron nests", key, preset="belief") for key in (old, new)
    }
    assert (told[old]["stability"], told[new]["stability"]) == (0.04, 0.01)
    assert told[old]["recency"] == pytest.approx(0.1 * 2 ** (-60 / 30), abs=1e-4)
    assert told[new]["recency"] < told[old]["recency"]
    assert order(memory, "heron nests", preset="belief") == [old, new]
    assert "stability" not in parts(memory, "heron nests", old)
    hits = recalled(memory, "heron nests", preset="belief")
    assert all(
        hit["rank"] == pytest.approx(sum(hit["parts"].values()), abs=1e-3)
        for hit in hits
    )


# row: A16
@pytest.mark.parametrize("preset", ["balanced", "belief"])
def test_a_mere_insight_is_worth_half(memory, keep, preset):
    """One of another system; what a person pinned or confirmed is no mere insight."""
    insight = keep("The heron nests by the mill.", category="insight")
    pinned = keep("The heron nests by the lake.", category="insight", pinned="true")
    plain = keep("The heron nests by the weir.")
    found = {
        key: parts(memory, "heron nests", key, preset=preset)
        for key in (insight, pinned, plain)
    }
    assert found[insight]["text"] == pytest.approx(found[plain]["text"] / 2)
    assert found[pinned]["text"] == pytest.approx(found[plain]["text"])
    assert order(memory, "heron nests", preset=preset)[-1] == insight


# row: E7
def test_the_preset_of_entities_weighs_what_much_is_about(memory, keep):
    """The share of the most frequent subject, the mean over all; nothing without one."""
    both = keep("The heron nests by the mill.", about="[Anna, Ben]")
    anna = [
        keep(f"The heron nests at {place}.", about="[Anna]")
        for place in ("Porto", "Oslo")
    ]
    nobody = keep("The heron nests in the reeds.")
    told = {
        key: parts(memory, "heron nests", key, preset="entity")
        for key in (both, *anna, nobody)
    }
    assert [told[key]["frequency"] for key in anna] == [0.3, 0.3]
    assert told[both]["frequency"] == pytest.approx(0.3 * (1 + 1 / 3) / 2, abs=1e-4)
    assert "frequency" not in told[nobody]
    assert order(memory, "heron nests", preset="entity")[-1] == nobody


# row: A29
def test_what_use_has_proved_is_called_established(memory, keep):
    """From 2 and from 3 on, in the hit and in the text for a model."""
    names = [keep(f"The heron nests at mill {n}.") for n in range(3)]
    for name, stability in zip(names, (1.9, 2.0, 3.0), strict=True):
        used(memory, name, stability=stability)
    query = {"query": "where was the heron, which nests", "kinds": ["fact"]}
    answer = memory.call("recall", query)
    assert {hit["key"]: hit["standing"] for hit in answer["hits"]} == dict(
        zip(names, ("", "established", "well-established"), strict=True)
    )
    assert ", established] The heron nests at mill 1." in answer["text"]
    assert ", well-established] The heron nests at mill 2." in answer["text"]


# row: A29
def test_a_context_has_eight_facts_and_five_turns_and_others_where_places_are_left(
    memory, keep
):
    """Twenty turns on the question leave the facts their places; what hardly answers
    takes none.
    """
    for n in range(12):
        keep(f"The heron nests by mill number {n}.")
    told(memory, *(f"I saw the heron, it nests, day {n}." for n in range(20)))

    def lines(budget):
        found = memory.call(
            "context", {"query": "Where nests the heron?", "budget": budget}
        )
        some = found["parts"]["relevant"]
        facts = sum("by mill number" in line for line in some)
        return facts, len([line for line in some if line[0] == "-"]) - facts

    facts, turns = lines(420)
    assert 8 <= facts < 12
    assert 5 <= turns < 20
    assert lines(9000) == (12, 20)
    keep("Walnuts, almonds, hazelnuts, and so on; a heron.")
    for path in (memory.settings.vault / "facts").rglob("*.md"):
        if "by mill" in path.read_text():
            path.unlink()
    memory.files.rescan(None, accept_deletions=True)
    facts, turns = lines(9000)
    assert facts == 0
    assert turns >= 12


# row: X24
def test_an_answer_takes_no_longer_than_its_time(memory, keep):
    """What would come next is left out, and the note says what; one hit is always
    there.
    """
    for n in range(5):
        keep(f"The heron nests at mill {n}.", about="[Anna]")
    late = RecallSources(seconds_left=lambda: -1.0)
    ask = request_for(memory.settings, memory.clock(), "heron nests")
    answer = search.recall(
        memory.index,
        memory.settings,
        ask,
        mark="m",
        complete=True,
        embed=refused,
        sources=late,
    )
    assert answer.note == (
        "time was up; skipped: vectors, related memories, further hits"
    )
    assert len(answer.hits) == 1
    whole = search.recall(memory.index, memory.settings, ask, mark="m", complete=True)
    assert (len(whole.hits), whole.note) == (5, "")
    with pytest.raises(
        BadRequestError, match="milliseconds' must be a whole number from 1 to 60000"
    ):
        recalled(memory, "heron", milliseconds=0)


def refused(_text, _seconds):
    pytest.fail("no time is left to ask")


# What is tied.


# row: C34
def test_ties_that_follow_from_notes_are_read_from_them(memory, keep):
    """The same entity, the memory before in the conversation, and a cause that is said
    to be one.
    """
    a = keep("Anna bought it.", about="[Anna]", source='"[[2026-10-01-walk#^t1]]"')
    c = keep(
        "Therefore Anna sold it.",
        about="[Anna, Ben]",
        source='"[[2026-10-01-walk#^t12]]"',
    )
    b = keep("Ben was there.", about="[Ben]", source='"[[2026-10-01-walk#^t3]]"')
    d = keep("It rained.", source='"[[2026-10-01-ride#^t1]]"')
    assert tied(memory, a, b, c, d) == {
        (a, c, "entity"),
        (c, b, "entity"),
        (a, b, "time"),
        (b, c, "causal"),
    }
    assert tied(memory, b) == {(c, b, "entity"), (a, b, "time"), (b, c, "causal")}


# row: C34
# row: A18
def test_what_the_best_memory_leads_to_is_recalled_without_a_word_in_common(
    memory, keep
):
    """It is worth its activation, less than what the words found; nothing leads to what
    has no tie.
    """
    found = keep("Anna comes to dinner on Friday.", about="[Anna]")
    led_to = keep("Allergic to almonds.", about="[Anna]")
    keep("Likes almonds.", about="[Ben]")
    assert order(memory, "dinner on Friday") == [found, led_to]
    why = parts(memory, "dinner on Friday", led_to)
    assert why["ties"] == pytest.approx(0.05 * 0.7, abs=1e-3)
    assert set(why) == {"ties", "nudge"}


# row: X5
def test_the_past_is_answered_along_the_chain_of_what_took_its_place(memory, keep):
    """In today's words for what was then, and in the words of then for what came after."""
    first, second, third = (f"01KBH2Q0M6T4W2Y0B7C5D9{n:04}" for n in range(3))
    keep(
        "Anna drinks tea.",
        created="2026-03-01",
        valid_until="2026-05-31",
        status="superseded",
        superseded_by=f"[{second}]",
    )
    keep(
        "Anna drinks cocoa.",
        created="2026-06-01",
        valid_until="2026-08-31",
        status="superseded",
        supersedes=f"[{first}]",
        superseded_by=f"[{third}]",
    )
    keep("Only oat milk for her.", created="2026-09-01", supersedes=f"[{second}]")
    for asked in ("tea", "cocoa", "oat milk"):
        for day, stood in (
            ("2026-04-01", first),
            ("2026-07-01", second),
            ("2026-10-01", third),
        ):
            assert order(memory, asked, as_of=day) == [stood], (asked, day)
    assert "chain" in parts(memory, "oat milk", first, as_of="2026-04-01")
    assert order(memory, "tea") == []


# row: X5
def test_what_another_had_taken_the_place_of_by_then_is_no_answer(memory, keep):
    """Also where the note does not say until when: a double that was merged, a source
    that was absorbed.
    """
    first, second = (f"01KBH2Q0M6T4W2Y0B7C5D9{n:04}" for n in range(2))
    keep(
        "The heron nests by the mill.",
        created="2026-03-01",
        status="superseded",
        superseded_by=f"[{second}]",
    )
    keep(
        "A heron nests by the old mill.", created="2026-06-01", supersedes=f"[{first}]"
    )
    assert order(memory, "heron", as_of="2026-04-01") == [first]
    assert order(memory, "heron", as_of="2026-07-01") == [second]
    answer = memory.call(
        "recall", {"query": "heron", "as_of": "2026-07-01", "explain": True}
    )
    assert answer["filtered"]["replaced by then"] == 1


# row: X5
# row: E14
def test_a_chain_goes_round_no_circle_and_tells_no_persona_of_another(memory, keep):
    first, second = (f"01KBH2Q0M6T4W2Y0B7C5D9{n:04}" for n in range(2))
    end = {"status": "superseded", "valid_until": "2026-05-31"}
    keep(
        "The heron nests.",
        created="2026-03-01",
        superseded_by=f"[{second}]",
        supersedes=f"[{second}]",
        **end,
    )
    keep(
        "The stork nests.",
        created="2026-06-01",
        supersedes=f"[{first}]",
        superseded_by=f"[{first}]",
        persona="Muse",
    )
    assert order(memory, "heron", as_of="2026-07-01") == []
    assert order(memory, "heron", as_of="2026-07-01", persona="Muse") == [second]


# How far it is trusted.


# What is archived.


# row: C23
def test_archived_memories_answer_where_others_are_too_few_or_on_request(memory, keep):
    """They rank lower then, and nothing else that is hidden comes with them."""
    old = keep(
        "The old heron nests at the mill.", status="archived", end_reason="expired"
    )
    keep("The false heron nests at the mill.", status="superseded")
    new = [keep(f"A heron nests at pond {n}.") for n in range(3)]
    assert set(order(memory, "heron nests", k=3)) == set(new)
    assert order(memory, "heron nests", k=4)[3] == old
    assert old not in order(memory, "old heron", k=3)
    assert order(memory, "old heron", k=3, archive=True)[0] == old
    assert parts(memory, "heron nests", old)["nudge"] == -0.08


# Who said it.


# row: X27
def test_what_answers_better_than_all_else_keeps_its_place(memory):
    """An old conversation that was imported is not hidden behind chatter."""
    answers = told(
        memory,
        *(f"The heron of pond {n} nests at the mill." for n in range(5)),
        standing="import",
    )
    told(memory, *(f"What a mill, {n}." for n in range(20)), session="chatter")
    hits = recalled(memory, "Where does the heron of the pond nest?", k=5)
    assert {hit["key"] for hit in hits} == set(answers)
    (own,) = told(
        memory,
        "I saw that the heron of the pond nests at the mill: the pond, the heron.",
        session="own",
    )
    keys = {
        hit["key"]
        for hit in recalled(memory, "Where does the heron of the pond nest?", k=5)
    }
    assert own in keys
    assert len(keys & set(answers)) == 4


# row: X27
def test_a_vault_of_nothing_but_imports_is_recalled_as_any_other(memory):
    """Nobody else is there to fill the places."""
    keys = told(
        memory, *(f"My heron number {n} nests." for n in range(12)), standing="import"
    )
    assert {hit["source"] for hit in recalled(memory, "heron nests", k=10)} <= set(keys)
    assert len(recalled(memory, "heron nests", k=10)) == 10


# row: X8
def test_a_turn_that_a_person_removed_is_told_of_once(memory):
    """It is left out, and the answer counts it as one."""
    (key,) = told(memory, "The heron nests by the mill.")
    memory.index.tombstones.add([{"turn": key}])
    answer = memory.call(
        "recall", {"query": "Where does the heron nest?", "kinds": ["turn"]}
    )
    assert answer["hits"] == []
    assert answer["filtered"] == {"forgotten": 1}


# What must not be shown.


def edit(path, old, new):
    """A person's edit that nobody has noticed yet."""
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def heron(memory, **more):
    """A conversation from which a memory was made: its file and the memory's note."""
    turn = {
        "id": "1",
        "session": "walk",
        "role": "user",
        "text": "Remember that the heron nests by the mill.",
    }
    memory.call("observe", {"turns": [turn | more]})
    (session,), (note,) = (
        list(memory.settings.vault.glob(f"{folder}/**/*.md"))
        for folder in ("sessions", "facts")
    )
    return session, note


# row: X19
def test_a_quote_says_what_its_turn_says_now(memory):
    """The words behind a memory are those of the file; of what a person took out of it
    nothing is told.
    """
    session, _ = heron(memory)
    (hit,) = recalled(memory, "Where does the heron nest?")
    assert (hit["kind"], hit["quote"]) == (
        "fact",
        "Remember that the heron nests by the mill.",
    )
    edit(session, "by the mill", "by the weir")
    (hit,) = recalled(memory, "Where does the heron nest?")
    assert hit["quote"] == "Remember that the heron nests by the weir."
    session.unlink()
    (hit,) = recalled(memory, "Where does the heron nest?")
    assert (hit["kind"], hit["quote"], hit["session"]) == ("fact", "", "")


# Words that must be found.


NAMES = {
    "Will": (
        "My brother Will likes jazz.",
        "Who is Will?",
        "will this ever end, and will you be there for me?",
    ),
    "Una": ("Una likes oysters.", "what does Una like", "En una casa de la ciudad."),
    "Else": ("Else mag Rosen.", "Was macht Else?", "What else can be done about it?"),
    "Den": ("Den lives in Kiel.", "who is Den", "Ich habe den Hund gesehen."),
    "Sue": ("Sue plays chess.", "What about Sue?", "Le sue scarpe sono qui."),
    "Ben": ("Ben has a boat.", "Who is Ben?", "Ik ben er niet."),
    "US": ("I flew to the US with Tom.", "Who was in the US?", "Tell us about it."),
}


# row: X13
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_never_a_stop_word(memory, name):
    """The first hit is the text with the name, whatever else holds the word in lower
    case.
    """
    text, question, other = NAMES[name]
    (key,) = told(memory, text, session="name")
    told(memory, *(f"{other} Number {n}." for n in range(4)), session="other")
    memory.pipeline.flush()
    first = recalled(memory, question)[0]
    assert key in {first["key"], first["source"]}


# row: X13
def test_a_known_name_is_found_in_lower_case_where_no_other_word_is_left(memory):
    """With another word it stays the verb that it mostly is."""
    entity(memory, "Will", "[]")
    (key,) = told(memory, "My brother Will likes jazz.", session="name")
    told(memory, "Will it rain? It will.", "The tram will be late.", session="other")
    memory.pipeline.flush()
    first = recalled(memory, "who is will")[0]
    assert key in {first["key"], first["source"]}
    assert all(
        "tram" in hit["text"] for hit in recalled(memory, "will the tram be late?")[:1]
    )


# row: X13
def test_a_question_of_small_words_turns_on_those_that_relate(memory):
    """Chatter finds nothing, whatever was said in such words."""
    (key,) = told(memory, "I am from Bremen.", session="home")
    told(memory, "How are you?", "What is it?", session="chatter")
    memory.pipeline.flush()
    first = recalled(memory, "where am I from?")[0]
    assert key in {first["key"], first["source"]}
    assert not recalled(memory, "how are you?")
    (phrase,) = told(memory, "To be or not to be.", session="stage")
    assert [hit["key"] for hit in recalled(memory, "to be or not to be")] == [phrase]


EIGHT = {
    "What car do I drive?": "Skoda",
    "Which instrument do I play?": "violin",
    "What am I allergic to?": "nuts",
    "What is the name of my dog?": "Rex",
    "Where do I work?": "Bosch",
    "Where do I live?": "Munich",
    "What phone do I have?": "Fairphone",
    "Who is Eva?": "sister",
}


# row: X1
def test_each_of_eight_facts_of_one_turn_is_found_by_its_own_question(memory):
    """And a question about all of them finds several."""
    (key,) = told(
        memory,
        "I live in Munich, I work at Bosch, I drive a Skoda, I play the violin, I am allergic to nuts, "
        "my dog is called Rex, my phone is a Fairphone and Eva is my sister.",
        session="eight",
    )
    memory.pipeline.flush()
    assert (
        len([fact for fact in memory.index.catalog.facts() if fact.source == key]) >= 6
    )
    for question, word in EIGHT.items():
        assert word in recalled(memory, question)[0]["text"], question
    told(
        memory,
        "My sister Eva lives in Porto, she is a dentist and she has a boat.",
        session="eva",
    )
    memory.pipeline.flush()
    about = [hit["text"] for hit in recalled(memory, "Tell me about Eva")]
    assert sum("Eva" in text for text in about) >= 3


# row: E8
def test_a_context_has_a_line_on_each_entity_of_its_hits(memory, keep):
    """Pinned first, then important ones, three at most; none that is a hit itself, not
    important, or over.
    """
    entity(memory, "John", "[Johnny]")
    keep("The heron of John nests by the mill.", about="[John]")
    keep("John is allergic to nuts.", about="[John]", importance=0.9)
    keep("Johnny works as a diver.", about="[Johnny]", importance=0.75, pinned="true")
    keep("John plays the cello.", about="[John]", importance=0.8)
    keep("John has a brother in Rome.", about="[John]", importance=0.72)
    keep("John once lost a glove.", about="[John]", importance=0.3)
    found = memory.call("context", {"query": "Where does the heron nest?"})
    (card,) = found["parts"]["cards"]
    assert card == (
        "- [person:john]: Johnny works as a diver.; John is allergic to nuts.; "
        "John plays the cello."
    )
    assert not any("cello" in line for line in found["parts"]["relevant"])
    text = found["text"]
    assert text.index("[person:john]") < text.index("nests by the mill")
    assert found["tokens"] <= memory.settings.policy.recall.budget
    assert "cards" not in memory.call("context", {"query": "tram"})["parts"]


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_question_beside_a_long_pasted_text_is_answered(memory, keep, where):
    """Of the text only so much is read that no question holds up the others."""
    keep("Carla is allergic to peanuts.", about=["Carla"])
    pasted = "lorem ipsum dolor sit amet " * 4000
    question = "what is Carla allergic to?"
    parts = (question, pasted) if where == "before" else (pasted, question)
    text = "\n".join(parts)
    assert "peanuts" in recalled(memory, text)[0]["text"]
    request = request_for(memory.settings, memory.clock(), text)
    assert len(request.query) < 20_000
    assert "peanuts" in memory.call("context", {"query": text})["text"]
