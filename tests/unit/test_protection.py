"""What a person asked to keep or told of themselves stays (laws 1 to 4): three
simulated years on shipped settings.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram import config
from engram.core import classify, lifecycle
from engram.core.attributes import ATTRIBUTES
from engram.core.language.keep_requests import asked_to_keep
from engram.core.policy import Policy
from engram.core.records import Fact
from engram.core.user_facts import standing_attribute
from engram.errors import BadRequestError, NotFoundError
from engram.memory import VaultMemory
from engram.serve import output
from tests.conftest import Clock
from tests.fakes.sentences import rows

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
DAY = timedelta(days=1)
POLICY = Policy()
SAID = Fact(
    "F",
    "Anna sang.",
    created=NOW,
    source="2026-12-01-talk#^t1",
    origin="rules",
    confidence=0.6,
)
THREE_YEARS = 1096


@pytest.fixture
def life(tmp_path):
    """A vault on shipped settings, with a clock that the test moves; its memory and the
    clock.
    """
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "engram.toml").write_text('id = "life"\nzone = "Europe/London"\n')
    clock = Clock(NOW)
    loaded = config.load(
        vault, {"ENGRAM_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    )
    memory = VaultMemory(loaded, clock=clock, steady=clock.steady)
    memory.start()
    memory.catch_up()
    yield memory, clock
    memory.close()


def say(memory, *texts, **more):
    memory.call(
        "observe", {"turns": [{"text": text, "session": "s", **more} for text in texts]}
    )
    memory.call("flush", {})


def nights(memory, clock, days, step=1):
    """So many days go by, with one nightly run each `step` days: as 30 nights would do
    .
    """
    for _ in range(0, days, step):
        clock.advance(days=step)
        memory.call("consolidate", {"cadence": "nightly"})


def active(memory):
    return [
        fact.text for fact in memory.index.catalog.facts() if fact.status == "active"
    ]


# -- three years -----------------------------------------------------------------------

TOLD = (
    "My name is Mira.",
    "I'm allergic to penicillin.",
    "My blood type is A negative.",
    "I work at Siemens.",
    "Our wifi is called Blueberry-5G.",
    "My birthday is on 14 March.",
    "I was diagnosed with asthma last year.",
    "I moved to Leeds in May.",
    "My sister is called Eva.",
    "Please remember that the spare key is under the blue flower pot.",
)


# row: A24
# row: B8
# row: C18
def test_what_a_person_told_of_themselves_is_still_there_after_three_years(life):
    """Name, allergy, blood type, employer, wifi, birthday, illness, home, family, and
    what they asked to remember.
    """
    memory, clock = life
    for text in TOLD:
        say(memory, text)
    before = active(memory)
    assert len(before) == len(TOLD)
    nights(memory, clock, THREE_YEARS, step=30)
    assert active(memory) == before


# row: C5
@pytest.mark.parametrize(
    "ask",
    [
        lambda memory: memory.call(
            "remember", {"text": "The user went to the cinema on 30 November 2026."}
        ),
        lambda memory: say(
            memory, "Please remember that I went to the cinema on 30 November 2026."
        ),
    ],
)
def test_what_is_known_already_is_protected_once_the_user_asks_to_keep_it(life, ask):
    """By the command or in the conversation; what was said without that request stays
    as it was.
    """
    memory, clock = life
    say(memory, "I went to the cinema yesterday.", "I went to the museum yesterday.")
    assert len(active(memory)) == 2
    ask(memory)
    kept, other = (
        next(one for one in memory.index.catalog.facts() if word in one.text)
        for word in ("cinema", "museum")
    )
    assert (lifecycle.protection(kept), lifecycle.protection(other)) == (
        "the user asked to keep it",
        None,
    )
    nights(memory, clock, 360, step=90)
    assert active(memory) == [kept.text]


# -- the predicate ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, None),
        ({"pinned": True}, "pinned"),
        ({"verification": "user_confirmed"}, "a person confirmed it"),
        ({"origin": "user"}, "the user asked to keep it"),
        ({"tags": ("remember",)}, "the user asked to keep it"),
        ({"source": "", "origin": ""}, "written by hand"),
        ({"source": "", "origin": "synthesized"}, None),
        ({"category": "decision"}, "a decision"),
        ({"category": "relationship"}, "a relationship"),
        ({"category": "commitment"}, "an open commitment"),
        ({"category": "commitment", "tags": ("fulfilled",)}, None),
        ({"category": "commitment", "tags": ("fulfilled",), "origin": "user"}, None),
        ({"category": "commitment", "tags": ("fulfilled",), "pinned": True}, "pinned"),
        ({"category": "preference"}, "a preference"),
        (
            {"text": "Anna has two kids.", "confidence": 0.1, "kind": "episode"},
            "tells of family",
        ),
    ],
)
def test_what_is_protected_says_why(changes, why):
    assert lifecycle.protection(replace(SAID, **changes)) == why


@pytest.mark.parametrize(
    "text",
    [
        "The user wants pizza today.",
        "The user wants to rest this week.",
        "Die Person möchte heute Suppe.",
        "Die Person mag diese Woche kein Brot.",
        "La personne veut du riz aujourd'hui.",
        "Cette semaine la personne veut du calme.",
        "La persona quiere sopa hoy.",
        "La persona quiere calma esta semana.",
        "今天想喝汤",
        "The user wants pizza on 22 November 2026.",
    ],
)
def test_a_preference_of_the_day_fades_and_one_without_a_day_stays(text):
    """In any of our languages; a part of each day is none."""
    fact = replace(SAID, text=text, category="preference")
    assert lifecycle.protection(fact) is None
    assert lifecycle.fading_reason(fact, NOW, POLICY)
    lasting = replace(fact, text="The user prefers tea in the morning.")
    assert lifecycle.protection(lasting) == "a preference"
    assert lifecycle.fading_reason(lasting, NOW, POLICY) is None


@pytest.mark.parametrize(
    ("changes", "said_by", "why"),
    [
        ({}, "user", None),
        ({}, "dream", None),
        ({"kind": "episode"}, "user", "a moment"),
        ({"kind": "episode", "layer": "semantic"}, "user", None),
        ({"category": "moment"}, "user", "a moment"),
        (
            {"created": NOW - 2 * DAY, "event_end": NOW - DAY},
            "user",
            "a plan whose day has passed",
        ),
        ({"event_end": NOW - DAY}, "user", "a moment"),
        ({"event_end": NOW + DAY}, "user", None),
        ({"confidence": 0.39}, "user", "a speculation"),
        ({"confidence": 0.39, "verification": "user_confirmed"}, "user", None),
        ({}, "assistant", "said by an assistant"),
        ({}, "tool", "said by a tool"),
        ({}, "import", "said by an import"),
        ({}, "interaction", "said by a program"),
    ],
)
def test_the_list_of_what_fades_is_exhaustive(changes, said_by, why):
    assert (
        lifecycle.fading_reason(replace(SAID, **changes), NOW, POLICY, said_by) == why
    )


# -- standing attributes ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    rows("protection", "a_standing_attribute_is_recognised_by_its_words"),
)
def test_a_standing_attribute_is_recognised_by_its_words(text, told):
    """In every language that somebody speaks to engram; its name may be another's where
    a statement tells two.
    """
    found = standing_attribute(text)
    assert found in {row.lasts for row in ATTRIBUTES.values()}
    assert found == told or {found, told} <= {
        "name",
        "account",
        "family",
        "health",
        "diet",
        "how-to",
        "work",
    }


@pytest.mark.parametrize(
    ("text", "quote", "asked"),
    rows("protection", "a_request_to_remember_is_heard_in_its_own_sentence"),
)
def test_a_request_to_remember_is_heard_in_its_own_sentence(text, quote, asked):
    assert asked_to_keep(text, quote) is asked


# row: C6
@pytest.mark.parametrize(
    ("text", "category", "kind"),
    rows("protection", "a_memory_is_a_note_unless_something_in_it_says_that_it_passes"),
)
def test_a_memory_is_a_note_unless_something_in_it_says_that_it_passes(
    text, category, kind
):
    assert classify.kind_of(text, category)[0] == kind


# -- prune and purge -------------------------------------------------------------------


# row: A24
def test_prune_is_a_command_that_spares_what_is_protected_and_can_be_undone(life):
    """It says what it would do; no night does it."""
    memory, clock = life
    say(memory, "My name is Mira.", "I went to the cinema yesterday.")
    clock.advance(days=60)
    memory.call("consolidate", {"cadence": "nightly"})
    assert len(active(memory)) == 2
    dry = memory.call("prune", {"threshold": 0.5, "dry_run": True})
    assert [deed["why"] for deed in dry["actions"]] == ["confidence below 0.5"]
    assert len(active(memory)) == 2
    assert not memory.call("prune", {})["actions"]
    done = memory.call("prune", {"threshold": 0.5})
    assert (done["cadence"], done["counts"]) == ("prune", {"prune": 1})
    assert active(memory) == ["The user's name is Mira."]
    memory.call("undo", {"id": done["run"]})
    assert len(active(memory)) == 2


# row: C16
def test_only_a_purge_empties_the_trash(life):
    """A year of nights leaves it alone; a dry run lists; what somebody else put into
    `.trash/` stays.
    """
    memory, clock = life
    trash = memory.settings.vault / ".trash"
    for name in (
        "2026-01-02/old.md",
        "2026-01-02/older.md",
        "2026-03-04/new.md",
        "Note of an editor.md",
    ):
        (trash / name).parent.mkdir(parents=True, exist_ok=True)
        (trash / name).write_text("---\nid: F\n---\nwords\n")
    nights(memory, clock, 365, step=73)
    with pytest.raises(BadRequestError):
        memory.call("purge", {})
    ours = [
        ".trash/2026-01-02/old.md",
        ".trash/2026-01-02/older.md",
        ".trash/2026-03-04/new.md",
    ]
    assert memory.call("purge", {"trash": True, "dry_run": True})["removed"] == ours
    assert memory.call("purge", {"trash": True}) == {
        "removed": ours,
        "failures": {},
        "dry_run": False,
    }
    assert [path.name for path in trash.rglob("*")] == ["Note of an editor.md"]
    assert memory.call("purge", {"trash": True})["removed"] == []


# row: C16
# row: X6
def test_no_undo_brings_back_what_a_person_purged(life):
    """Neither that of the run that put it into the trash, nor of the undoing of that
    run; the person is told.
    """
    memory, clock = life
    kept = memory.call(
        "remember", {"text": "I promise to call the bank.", "category": "commitment"}
    )
    memory.call("settle", {"id": kept["id"]})
    clock.advance(days=91)
    runs = [memory.call("consolidate", {"cadence": "nightly"})["run"]]
    for _ in range(2):  # back, and into the trash again
        runs.append(memory.call("undo", {"id": runs[-1]})["run"])
    done = memory.call("purge", {"trash": True})
    assert len(done["removed"]) == 1
    assert "`engram undo` cannot restore it" in output.shown("purge", done)
    for run in runs:
        undone = memory.call("undo", {"id": run})
        assert "it is gone" in undone["deferred"].values()
        assert not list(
            memory.settings.vault.glob(f"**/{kept['path'].rpartition('/')[2]}")
        )
    with pytest.raises(NotFoundError):
        memory.call("show", {"id": kept["id"]})
