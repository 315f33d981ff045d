"""What is told of people and things: one note for one name, descriptions, cards,
bridges, subjects.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from engram.config import ModelSettings
from engram.core.policy import Policy, with_settings
from engram.core.records import RelationLine, Usage
from engram.llm.maintenance_tasks import TASKS
from engram.llm.replies import SentencesReply
from engram.vault import entities, frontmatter
from tests.fakes.keeping import Keeping
from tests.fakes.obsidian import broken_links
from tests.fakes.openai_server import garbage, refusal
from tests.fakes.scribe import material_of, scribe, task_of, together

ANNA = [
    "Anna is a nurse.",
    "Anna lives in Porto.",
    "Anna plays the violin.",
    "Anna has a red boat.",
    "Anna sails often.",
]


@pytest.fixture
def fake(running):
    running.requests.clear()
    running.script(scribe)
    return running


@pytest.fixture
def told(opened, fake):
    """A vault whose consolidation has a model."""
    return Keeping(opened(model=ModelSettings("m", fake.url, api="chat")))


def plant(keeping, *texts, about=("Anna",), **changes):
    """Memories about these entities, which have their notes; their ids."""
    for name in about:
        entity(keeping, name)
    return keeping.plant(
        *(
            keeping.made(text, about=about, **{"kind": "note"} | changes)
            for text in texts
        )
    )


def entity(keeping, name, kind="person", *, path="", more="", **changes):
    """An entity's note as engram writes it, with `more` from a person at its end; its
    path.
    """
    made = replace(entities.new_entity(name, kind, keeping.clock()), **changes)
    place = keeping.root / (path or made.path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        raw = frontmatter.emit(
            entities.entity_keys(made, keeping.memory.settings.zone),
            entities.entity_body(made),
        )
        place.write_bytes(raw + more.encode())
    for view in ("about", "facts"):
        (keeping.root / "views").mkdir(exist_ok=True)
        (keeping.root / f"views/{view}.base").write_text(
            "views:\n  - type: table\n    name: All\n"
        )
    return place.relative_to(keeping.root).as_posix()


def consolidate(keeping, **more):
    return keeping.memory.call("consolidate", {"cadence": "nightly"} | more)


def text(keeping, path):
    return (keeping.root / path).read_text()


def used(keeping, *names):
    """These memories were recalled now."""
    for name in names:
        usage = Usage(access=1, last_access=keeping.clock())
        keeping.memory.usage_tracker.usage_log.record({name: usage})


def whole(keeping, **more):
    """No link is broken, and a second run changes no byte and asks nothing."""
    assert broken_links(keeping.root) == []
    before = keeping.everything()
    again = consolidate(keeping, **more)
    assert again["actions"] == ()
    assert keeping.everything() == before


BAD = {
    "garbage": garbage(),
    "refusal": refusal(),
    "no json": "Anna is a spy.",
    "wrong types": {
        "sentences": [
            {"facts": "1", "text": 7},
            3,
            None,
            {"facts": [True, 1.5, "2"], "text": "So."},
        ]
    },
    "no list": {"sentences": "Anna is a spy."},
    "no source": {
        "sentences": [
            {"facts": [], "text": "Anna is a spy."},
            {"facts": [99], "text": "Anna is a spy."},
        ]
    },
    "invented": {
        "sentences": [
            {"facts": [1], "text": "Anna loves Boris."},
            {"facts": [1], "text": "Anna is 47."},
        ]
    },
    "many": {"sentences": [{"facts": [99], "text": "Anna is a spy."}] * 10_000},
    "deep": "[" * 100_000,
}


# -- one note for one name -------------------------------------------------------------


# row: C13
def test_notes_of_one_name_become_one_and_every_link_still_leads_somewhere(keeping):
    """Aliases, relations and the memories' links move; the old note goes to the trash
    with every byte.
    """
    entity(keeping, "Ben", relations=(RelationLine("sister", "Anna-Müller"),))
    kept = entity(keeping, "Anna Müller", "concept", aliases=("Änni",))
    gone = entity(
        keeping,
        "Anna-Müller",
        aliases=("Annchen",),
        relations=(RelationLine("brother", "Ben"),),
    )
    (name,) = keeping.plant(
        keeping.made(
            "Anna sails.", about=("Anna-Müller", "Ben"), verification="user_confirmed"
        )
    )
    before = keeping.tree()
    report = consolidate(keeping)
    assert not (keeping.root / gone).exists()
    assert (keeping.root / ".trash/2026-11-20/Anna-Müller.md").exists()
    held = text(keeping, kept)
    assert "type: person" in held
    assert "  - Änni\n  - Annchen\n" in held
    assert "- brother: [[Ben]]" in held
    assert keeping.seen(name).about == ("Anna Müller", "Ben")
    assert "- sister: [[Anna Müller]]" in text(keeping, "entities/people/Ben.md")
    assert keeping.memory.reconciler.entity_writer.link_names(
        ["ANNA müller", "Annchen"]
    ) == ("Anna Müller",)
    whole(keeping)
    keeping.memory.call("undo", {"id": report["run"]})
    assert keeping.tree() == before


# row: C13
def test_an_alias_unites_a_near_name_does_not(keeping):
    """Nor do two types, nor an alias that two share."""
    entity(keeping, "Anna Müller", aliases=("Anni",))
    entity(keeping, "Anni")
    alone = [
        entity(keeping, "Anna Muller"),
        entity(keeping, "Paris", "place"),
        entity(keeping, "PARIS", "person"),
        entity(keeping, "Jo"),
        entity(keeping, "Joanna", aliases=("Jo",)),
        entity(keeping, "Joseph", aliases=("Jo",)),
    ]
    plant(keeping, "Anni sails.", about=("Anni",))
    consolidate(keeping)
    assert not (keeping.root / "entities/people/Anni.md").exists()
    assert all((keeping.root / path).exists() for path in alone)
    assert keeping.memory.reconciler.entity_writer.link_names(["Anni"]) == (
        "Anna Müller",
    )
    whole(keeping)


# row: C13
# row: X23
def test_a_persons_own_note_stays_and_two_of_them_are_theirs_to_unite(keeping):
    ours = entity(keeping, "Anna-Müller", relations=(RelationLine("brother", "Ben"),))
    theirs = entity(keeping, "anna müller", more="\nShe hates mornings.\n")
    both = [
        entity(keeping, "Ben", more="Mine.\n"),
        entity(keeping, "BEN", path="entities/people/b/ben.md", more="Also.\n"),
    ]
    consolidate(keeping)
    assert not (keeping.root / ours).exists()
    assert text(keeping, theirs).endswith("\nShe hates mornings.\n")
    assert "- brother: [[Ben]]" in text(keeping, theirs)
    assert all((keeping.root / path).exists() for path in both)


# row: C13
def test_a_note_that_a_person_links_to_stays_and_says_where_it_went(keeping):
    """And nothing new is filed under it."""
    entity(keeping, "Anna Müller", aliases=("Anni",))
    old = entity(keeping, "Anni")
    (keeping.root / "notes").mkdir(exist_ok=True)
    (keeping.root / "notes/diary.md").write_text("Saw [[anni|her]] today.\n")
    plant(keeping, "Anni sails.", about=("Anni",))
    consolidate(keeping)
    assert 'superseded_by: "[[Anna Müller]]"' in text(keeping, old)
    assert keeping.memory.reconciler.entity_writer.link_names(["Anni"]) == (
        "Anna Müller",
    )
    whole(keeping)


# -- descriptions ----------------------------------------------------------------------


# row: B11
# row: X24
def test_a_description_waits_for_others_unless_a_person_asks(told, fake, clock):
    """A run by the clock asks when six weeks have passed, or ten are there."""
    entity(told, "Anna")
    plant(told, *ANNA[:3])

    def described():
        told.memory.maintenance_loop.tend()
        return [task_of(body) for body in fake.asked].count("describe")

    assert described() == 0
    clock.advance(days=20)
    assert described() == 0
    plant(told, "Anna has a cat.")
    clock.advance(days=20)
    assert described() == 0
    clock.advance(days=2)
    assert described() == 1
    plant(told, "Anna has a green hat.")
    clock.advance(days=1)
    assert described() == 1
    consolidate(told)
    assert described() == 2
    for name in ("Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hal", "Ida", "Jo", "Kim"):
        plant(told, f"{name} is a baker.", f"{name} has a boat.", about=(name,))
    clock.advance(days=1)
    assert described() == 3


# row: B12
# row: B14
def test_only_what_changed_and_was_touched_within_a_week_is_described_again(
    told, fake, clock
):
    plant(told, "Anna is a nurse.", "Anna lives in Porto.")
    plant(told, "Ben is a baker.", about=("Ben",), days=8)
    consolidate(told)
    described = [
        material_of(body)["name"] for body in fake.asked if task_of(body) == "describe"
    ]
    assert described == ["Anna"]
    clock.advance(days=2)
    consolidate(told)
    assert len([body for body in fake.asked if task_of(body) == "describe"]) == 1
    plant(told, "Anna has a boat.")
    used(told, *plant(told, "Ben sings.", about=("Ben",), days=30))
    consolidate(told)
    shown = [json.loads(material) for _, material in together(fake.asked[-1])]
    assert sorted(one["name"] for one in shown) == ["Anna", "Ben"]
    assert "Anna has a boat." in text(told, "entities/people/Anna.md")


# row: B14
def test_a_lazy_vault_describes_after_the_next_recall(opened, fake, clock):
    """A mention alone costs no question; a recall of before the mention counts as
    little.
    """
    policy = with_settings(Policy(), {"describe.lazy": 1})
    lazy = Keeping(
        opened(model=ModelSettings("m", fake.url, api="chat"), policy=policy)
    )

    def described():
        consolidate(lazy)
        return [
            material_of(body)["name"]
            for body in fake.asked
            if task_of(body) in {"describe", "relate"}
        ]

    first, _ = plant(lazy, "Anna is a nurse.", "Anna lives in Porto.")
    assert described() == []
    used(lazy, first)
    assert described() == ["Anna"]
    clock.advance(days=1)
    plant(lazy, "Anna has a boat.")
    assert described() == ["Anna"]
    used(lazy, first)
    assert described() == ["Anna", "Anna"]


# row: B14
# row: C14
def test_one_run_describes_ten_and_a_question_holds_ten_memories(told, fake):
    names = "Anna Ben Carla Dora Emil Fritz Greta Hanna Ivan Jana Karl Lena"
    for name in names.split():
        plant(
            told, *(f"{name} owns boat number {n}." for n in range(12)), about=(name,)
        )
    assert (
        told.memory.call("consolidate", {"cadence": "nightly"})["counts"]["describe"]
        == 11
    )
    (body,) = [body for body in fake.asked if task_of(body) == "describe"]
    asked = [json.loads(material) for _, material in together(body)]
    assert (len(asked), {len(one["facts"]) for one in asked}) == (10, {10})
    assert all(set(one) == {"n", "date", "text"} for one in asked[0]["facts"])


# row: B11
# row: B13
def test_each_relation_that_memories_tell_of_has_one_sentence(told, fake):
    """With its sources; one of which nothing is told has none, and one that ended loses
    its own.
    """
    path = entity(
        told,
        "Anna",
        relations=(
            RelationLine("brother", "Ben"),
            RelationLine("boss", "Carla"),
            RelationLine("friend", "Dora"),
        ),
        more="\nMine.\n",
    )
    plant(told, "Ben is Anna's brother.", "Carla is Anna's boss.", about=("Anna",))
    for name in ("Ben", "Carla", "Dora"):
        entity(told, name)
    before = told.tree()
    done = consolidate(told)
    held = block(told, path, "relationships")
    words = [line.partition(" [[")[0] for line in held]
    assert words == ["- So: Ben is Anna's brother.", "- So: Carla is Anna's boss."]
    assert "[[fact-ben-is-" in held[0]
    assert "Mine.\n" in text(told, path)
    calls = len(fake.asked)
    whole(told)
    assert len(fake.asked) == calls
    (shown,) = [
        material_of(body) for body in fake.asked if task_of(body) == "relate" and body
    ]
    assert [one["to"] for one in shown["relations"]] == ["Ben", "Carla"]
    told.memory.call("undo", {"id": done["run"]})
    assert told.tree() == before


# row: B11
def test_a_sentence_on_a_relation_names_nobody_else(told, fake):
    path = entity(told, "Anna", relations=(RelationLine("brother", "Ben"),))
    entity(told, "Ben")
    plant(told, "Ben is Anna's brother.")
    bad = [
        {"relation": 2, "facts": [1], "text": "Ben is Anna's brother."},
        {"relation": 1, "facts": [], "text": "Ben is Anna's brother."},
        {"relation": 1, "facts": [1], "text": "Ben and Boris are brothers of Anna."},
        {"relation": 1, "facts": [1], "text": "Ben is the brother of Anna."},
        {"relation": 1, "facts": [1], "text": "Anna has a brother, Ben."},
    ]
    fake.script({"sentences": bad})
    report = consolidate(told, only="relate")
    (line,) = block(told, path, "relationships")
    assert line.startswith("- Ben is the brother of Anna. [[")
    assert "4 unsupported sentences" in report["actions"][0]["why"]


# row: B14
def test_small_jobs_go_to_the_small_model(opened, fake):
    """Fewer than three memories to describe from; what weighs goes to the other one."""
    keeping = Keeping(
        opened(model=ModelSettings("big", fake.url, api="chat", small="little"))
    )
    plant(keeping, "Ben bakes.", "Ben sings.", about=("Ben",))
    plant(keeping, *ANNA)
    consolidate(keeping)
    asked = {
        (task_of(body), material_of(body).get("name", "")): body["model"]
        for body in fake.asked
    }
    assert asked["describe", "Ben"] == "little"
    assert asked["describe", "Anna"] == "big"
    assert {
        model
        for (task, _), model in asked.items()
        if task in {"profile", "fold", "compare"}
    } <= {"big"}
    day = keeping.memory.extractor.spend.today(keeping.clock())
    assert day.calls == len(fake.asked)


def block(keeping, path, name):
    """The lines of a block, without its heading."""
    inside = text(keeping, path).partition(f"%% engram:begin {name} %%\n")[2]
    lines = inside.partition(f"%% engram:end {name} %%")[0].splitlines()
    return [line for line in lines if line and not line.startswith("## ")]


# row: B11
# row: X22
@pytest.mark.parametrize("how", BAD)
def test_a_bad_answer_loses_nothing_and_invents_nothing(told, fake, how):
    """What stood there stays; the memories too."""
    path = entity(told, "Anna")
    ids = plant(told, *ANNA[:2])
    consolidate(told)
    before = text(told, path)
    plant(told, ANNA[2])
    fake.script(BAD[how])
    consolidate(told)
    assert text(told, path) == before
    assert {told.seen(name).status for name in ids} == {"active"}
    assert "spy" not in "".join(path.read_text() for path in told.root.rglob("*.md"))


# row: B11
def test_what_a_model_says_is_inert_and_what_was_dropped_is_counted(told, fake):
    path = entity(told, "Anna")
    plant(told, "Anna is a nurse <b>now</b>.", "Anna lives in Porto.")
    words = "# Anna %% engram:end description %% ![[secret]] <script> is\na nurse"
    fake.script(
        {
            "sentences": [
                {"facts": [1, 1], "text": words},
                {"facts": [1], "text": "Anna met Boris."},
            ]
        }
    )
    report = consolidate(told)
    held = text(told, path)
    assert held.count("%% engram:end description %%") == 1
    assert "&lt;script>" in held
    assert "Boris" not in held
    assert any(
        "1 unsupported sentence" in one["why"] and "dropped" in one["why"]
        for one in report["actions"]
    )
    whole(told)


# row: B11
# row: X14
def test_a_description_has_two_memories_and_absolute_dates(told, fake, clock):
    """One memory says it better itself; "tomorrow" is another day when it is read."""
    path = entity(told, "Anna")
    plant(told, "Anna moves to Porto tomorrow.")
    consolidate(told)
    assert "engram:begin description" not in text(told, path)
    plant(told, "Anna is a nurse.")
    consolidate(told)
    day = (clock() + timedelta(days=1)).astimezone(told.memory.settings.zone)
    shown = f"Anna moves to Porto tomorrow ({day:%Y-%m-%d})."
    (asked,) = [material_of(body) for body in fake.asked if task_of(body) == "describe"]
    assert shown in {one["text"] for one in asked["facts"]}
    assert f"So it is said: {shown}" in text(told, path)
    fake.script(
        {"sentences": [{"facts": [1], "text": "Anna moves to Porto tomorrow."}]}
    )
    plant(told, "Anna sings.")
    consolidate(told)
    assert shown in text(told, path)


# -- cards -----------------------------------------------------------------------------


# row: D9
def test_a_card_has_four_hundred_words_at_most(keeping):
    plant(
        keeping,
        *(
            f"Anna owns boat number {n}, which is rather old and needs a lot of care."
            for n in range(60)
        ),
    )
    consolidate(keeping)
    held = (
        text(keeping, "entities/people/Anna.md")
        .partition("begin card %%\n")[2]
        .partition("%% engram")[0]
    )
    assert 26 <= len(held.splitlines()) <= 400 / 14


# -- subjects --------------------------------------------------------------------------


# row: A33
def test_a_memory_without_a_subject_gets_those_it_names(told, fake):
    """Only names that stand in it and have a note; not what a person touched; one
    question for a conversation.
    """
    for name in ("Anna", "Ben"):
        entity(told, name)
    made = [
        told.made(words, kind="note")
        for words in ("I saw Anna sail.", "I like tea.", "I owe Ben a boat.")
    ]
    named, plain, mine = told.plant(*made)
    told.memory.call("confirm", {"id": mine})
    fake.script(
        {
            "facts": [
                {"n": 1, "names": ["Anna", "Boris", "Ben", "I", 7]},
                {"n": 2, "names": ["Anna"]},
                {"n": 3, "names": ["Ben"]},
                {"n": 9, "names": ["Anna"]},
            ]
        }
    )
    consolidate(told, only="subjects")
    assert [told.seen(name).about for name in (named, plain, mine)] == [
        ("Anna",),
        (),
        (),
    ]
    assert len(fake.asked) == 1
    consolidate(told, only="subjects")
    assert len(fake.asked) == 1
    assert broken_links(told.root) == []


# -- bridges ---------------------------------------------------------------------------

LAMPS = ("collects antique lamps", "repaired antique lamps", "sold antique lamps")


def strangers(keeping, *names):
    for name in names:
        plant(keeping, *(f"{name} {words}." for words in LAMPS), about=(name,))


# row: D9
def test_two_with_much_in_common_are_tied_if_a_model_says_how(told, fake):
    """As an edge of its own type, and in both notes with the memories it rests on;
    once.
    """
    strangers(told, "Anna", "Ben")
    consolidate(told, only="bridges")
    told.order.edges.refresh()
    (edge,) = told.order.edges.all()
    assert (edge.type, edge.source, edge.target, edge.confidence) == (
        "bridge",
        "person:anna",
        "person:ben",
        0.6,
    )
    assert edge.label == "Anna and Ben have something in common."
    for name in ("Anna", "Ben"):
        held = text(told, f"entities/people/{name}.md")
        assert held.count("- Anna and Ben have something in common. [[fact-") == 1
    calls = len(fake.asked)
    assert consolidate(told, only="bridges")["actions"] == ()
    assert len(fake.asked) == calls


# row: D9
@pytest.mark.parametrize(
    "said",
    [
        {"connected": False, "facts": [], "how": ""},
        {"connected": True, "facts": [1], "how": "Anna and Ben collect lamps."},
        {"connected": True, "facts": [1, 4], "how": "Anna and Ben know Boris."},
        {"connected": "yes", "facts": [1, 4], "how": "Anna and Ben collect lamps."},
    ],
)
def test_a_bridge_needs_evidence_from_both_sides(told, fake, said):
    strangers(told, "Anna", "Ben")
    fake.script(said)
    consolidate(told, only="bridges")
    assert not (told.root / "state/edges.jsonl").exists()


# row: D9
def test_five_pairs_a_day_and_none_that_is_related(told, fake):
    entity(told, "Anna", relations=(RelationLine("boss", "Ben"),))
    strangers(told, "Anna", "Ben", "Carla", "Dora")
    none = {"connected": False, "facts": [], "how": ""}
    fake.script({"answers": [{"number": n} | none for n in range(1, 6)]})
    consolidate(told, only="bridges")
    (body,) = fake.asked
    shown = [json.loads(material) for _, material in together(body)]
    asked = [{one[side]["name"] for side in "ab"} for one in shown]
    assert len(asked) == 5
    assert {"Anna", "Ben"} not in asked


# row: X23
def test_a_note_that_a_person_wrote_in_a_moment_ago_is_told_in_later(
    opened, settings, fake, clock
):
    """As long as `files.quiet_seconds` after their last word; what engram itself wrote
    last need not rest.
    """
    policy = replace(
        settings.policy, files=replace(settings.policy.files, quiet_seconds=60)
    )
    keeping = Keeping(
        opened(model=ModelSettings("m", fake.url, api="chat"), policy=policy)
    )
    path = entity(keeping, "Anna", more="Mine.\n")
    clock.now = clock.now.fromtimestamp(
        (keeping.root / path).stat().st_mtime, clock.now.tzinfo
    )
    plant(keeping, ANNA[0], "Anna sings.")
    assert consolidate(keeping)["deferred"][path] == "it was edited just now"
    assert "engram:begin description" not in text(keeping, path)
    clock.advance(seconds=61)
    consolidate(keeping)
    assert "So it is said: Anna is a nurse." in text(keeping, path)
    clock.now = clock.now.fromtimestamp(
        (keeping.root / path).stat().st_mtime, clock.now.tzinfo
    )
    plant(keeping, ANNA[1])
    assert path not in consolidate(keeping)["deferred"]
    assert "So it is said: Anna lives in Porto." in text(keeping, path)


# row: B11
@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("Anna moves to Vaduz on 4 March 2031.", True),
        ("Anna moves to Vaduz on March 4, 2031, in March 2031.", True),
        ("Anna zieht am 4. März 2031 nach Vaduz.", True),
        ("Anna starts her job on 9 February 2031.", True),
        ("On 8 February 2031 Anna moves.", True),
        ("Anna moves to Vaduz on 5 March 2031.", False),
        ("Anna moved in March 2030.", False),
        ("Anna has 4 dogs.", False),
    ],
)
def test_a_day_of_a_description_is_compared_and_not_its_words(text, accepted):
    """The day of a statement, or one that it names, may be written in any form."""
    said = {"date": "2031-02-08", "text": "Anna moves to Vaduz on 2031-03-04."}
    soon = {"date": "2031-02-08", "text": "Anna starts her job tomorrow."}
    material = {"name": "Anna", "facts": [{"n": 1, **said}, {"n": 2, **soon}]}
    reply = SentencesReply(sentences=[{"facts": [1, 2], "text": text}])
    found = TASKS["describe"].read(reply, material, Counter())
    assert bool(found.get("sentences")) is accepted
