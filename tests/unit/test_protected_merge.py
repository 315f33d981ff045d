"""Protected memories are merged only when their statements are equal (law 12); what is
only alike becomes one question of a run.
"""

from __future__ import annotations

import pytest

from engram.config import ModelSettings
from engram.core import lifecycle
from engram.maintenance.holds import path_of
from tests.fakes.judging import all_of, every, judging, tasks
from tests.fakes.keeping import Keeping

OURS = {"origin": "rules", "kind": "note", "confidence": 0.6, "importance": 0.5}
ALLERGIES = [
    "Anna is allergic to walnuts.",
    "Anna is allergic to hazelnuts.",
    "Anna is allergic to cashew nuts.",
]
FOLD = "Anna is allergic to nuts."
FILLER = ["The garden has a pond.", "Trains leave at noon.", "Carla paints boats."]


@pytest.fixture
def fake(silent_model):
    return silent_model


@pytest.fixture
def keeping(asked_keeping):
    return asked_keeping


def told(keeping, *texts, days=40, **changes):
    changes = {"about": ("Anna",), **changes}
    return keeping.plant(
        *(
            keeping.made(
                text,
                days=days - number / 24,
                **{"source": f"2026-10-0{number}-talk#^t{number}"} | OURS | changes,
            )
            for number, text in enumerate(texts, 1)
        )
    )


def run(keeping, only):
    return keeping.memory.call("consolidate", {"only": only})


def statuses(keeping, names):
    return [keeping.seen(name).status for name in names]


def held(keeping, name):
    return keeping.root / path_of(name)


def tick(keeping, name, words="Do it"):
    path = held(keeping, name)
    path.write_text(path.read_text().replace(f"- [ ] {words}", f"- [x] {words}"))
    keeping.memory.files.rescan(None)


def all_protected(keeping, names):
    return all(lifecycle.protection(keeping.seen(name)) for name in names)


# row: E17
def test_a_fold_of_protected_memories_asks_once_and_is_made_after_a_tick(
    keeping, fake, clock
):
    names = told(keeping, *ALLERGIES)
    assert all_protected(keeping, names)
    judging(fake, fold=all_of(FOLD))
    report = run(keeping, "fold")
    assert statuses(keeping, names) == ["active"] * 3
    assert report["held"] == {"fold": "fold would end 3 protected memories"}
    asked = held(keeping, "fold").read_bytes()
    assert FOLD in asked.decode()
    for _ in range(3):
        clock.advance(days=1)
        assert run(keeping, "fold")["failures"] == {}
    assert held(keeping, "fold").read_bytes() == asked
    assert tasks(fake) == ["fold"]
    tick(keeping, "fold")
    assert statuses(keeping, names) == ["archived"] * 3
    (new,) = {keeping.seen(name).superseded_by for name in names}
    assert keeping.seen(new[0]).text == FOLD
    assert not held(keeping, "fold").exists()


# row: E17
def test_a_rejected_fold_of_protected_memories_is_not_asked_again(keeping, fake, clock):
    names = told(keeping, *ALLERGIES)
    judging(fake, fold=all_of(FOLD))
    run(keeping, "fold")
    tick(keeping, "fold", "Leave all of it as it is")
    clock.advance(days=2)
    run(keeping, "fold")
    assert statuses(keeping, names) == ["active"] * 3
    assert not held(keeping, "fold").exists()
    assert tasks(fake) == ["fold"]


# row: E17
def test_free_memories_are_folded_while_the_protected_ones_wait(keeping, fake):
    kept = told(keeping, *ALLERGIES)
    free = told(
        keeping,
        "Anna went hiking in Bergen.",
        "Anna went sailing near Bergen.",
        "Anna went skiing above Bergen.",
    )
    judging(fake, fold=all_of("Anna went around Bergen."))
    run(keeping, "fold")
    assert statuses(keeping, free) == ["archived"] * 3
    assert statuses(keeping, kept) == ["active"] * 3


# row: C12
def test_protected_memories_that_a_model_calls_the_same_are_asked_about(keeping, fake):
    told(keeping, *FILLER)
    names = told(
        keeping, "Anna is allergic to walnuts.", "Anna is allergic to all nuts."
    )
    judging(fake, compare=every("same", 0.99))
    report = keeping.memory.call(
        "consolidate", {"cadence": "nightly", "only": "compare"}
    )
    assert statuses(keeping, names) == ["active", "active"]
    assert report["held"] == {"compare": "compare would end 1 protected memory"}
    tick(keeping, "compare")
    assert sorted(statuses(keeping, names)) == ["active", "superseded"]


# row: D9
def test_a_machine_without_a_person_ends_no_protected_memory(opened, fake, settings):
    keeping = Keeping(opened(model=ModelSettings("fake", fake.url), holds="apply"))
    names = told(keeping, *ALLERGIES)
    judging(fake, fold=all_of(FOLD))
    for name in ("fold", "cluster", "merge"):
        run(keeping, name)
    assert statuses(keeping, names) == ["active"] * 3


# row: D9
def test_five_months_of_nights_with_an_eager_model_take_nothing_protected(
    keeping, fake, clock
):
    """It calls every pair the same and folds whatever it is shown."""
    names = told(keeping, *ALLERGIES, "Anna's birthday is on 3 May.", days=2)
    names += told(
        keeping, "Anna loves jazz.", "Anna loves free jazz.", category="preference"
    )
    told(keeping, *FILLER, about=(), days=3)
    judging(
        fake,
        compare=every("same", 1.0),
        fold=all_of(FOLD),
        principle=all_of("Anna is careful."),
        probe={"invalid": [1, 2, 3]},
    )
    before = {name: keeping.seen(name) for name in names}
    for _ in range(10):
        clock.advance(days=15)
        for cadence in ("nightly", "weekly"):
            assert (
                keeping.memory.call("consolidate", {"cadence": cadence})["failures"]
                == {}
            )
    for name, fact in before.items():
        now = keeping.seen(name)
        assert (now.status, now.text, now.path) == ("active", fact.text, fact.path)
    asked = {path.name for path in (keeping.root / "review").iterdir()}
    assert asked == {"held-compare.md"}
