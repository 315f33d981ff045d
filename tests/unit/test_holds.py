"""No run surprises anybody: when fading begins, whose notes are left alone, and what
waits for a person's word.
"""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest

from engram.core.policy import ConsolidationPolicy, UsagePolicy
from engram.maintenance import holds
from engram.maintenance.holds import STATE, path_of
from engram.vault.usage import USAGE, UsageLog
from tests.fakes.foreign import foreign
from tests.fakes.keeping import Keeping
from tests.size import FULL

MANY = 10_000 if FULL else 50
MANY_NIGHTS = 400 if FULL else 6
OURS = {"kind": "note", "origin": "rules"}


def bytes_of(paths):
    return {path: path.read_bytes() for path in paths}


def nights(memory, clock, number):
    for _ in range(number):
        clock.advance(days=1)
        for cadence in ("talk", "nightly", "weekly"):
            report = memory.call("consolidate", {"cadence": cadence})
            assert report["failures"] == {}


@pytest.fixture
def doubles(memory):
    """25 pairs of memories that say the same, in notes that engram wrote."""
    keeping = Keeping(memory)
    made = [
        keeping.made(f"Anna bought lamp number {n // 2}.", days=n % 2 + 1, **OURS)
        for n in range(50)
    ]
    keeping.plant(*made)
    return keeping


def statuses(memory):
    return sorted(
        fact.status for fact in memory.index.catalog.facts() if fact.kind != "review"
    )


def held(memory, name="merge"):
    return memory.settings.vault / path_of(name)


def tick(memory, words, name="merge"):
    path = held(memory, name)
    path.write_text(path.read_text().replace(f"- [ ] {words}", f"- [x] {words}"))
    memory.files.rescan(None)


# -- notes that engram did not write ---------------------------------------------------


# row: X23
@pytest.mark.parametrize(
    ("shape", "number"),
    [({}, MANY), ({"id": False}, 30), ({"front": False}, 30)],
    ids=["C", "no id", "bare"],
)
def test_nights_change_no_byte_of_what_another_tool_wrote(
    settings, opened, clock, shape, number
):
    """Three starts, each with its nights; afterwards recall finds all of it that has
    not run out.
    """
    told = dict(foreign(settings.vault, n, **shape) for n in range(number))
    before = bytes_of(told.values())
    for _ in range(3):
        memory = opened()
        nights(memory, clock, 2)
    assert bytes_of(told.values()) == before
    assert sorted((settings.vault / "facts").rglob("*.md")) == sorted(told.values())
    assert memory.call("status", {})["held"] == {}
    some = [text for n, text in enumerate(told) if n % 10 != 7 or "front" in shape][
        :: max(1, number // 50)
    ]
    for text in some:
        (hit, *_) = memory.call("recall", {"query": text, "kinds": ["fact"]})["hits"]
        assert hit["text"] == text


def test_a_foreign_note_of_a_person_or_profile_gets_no_block(keeping):
    """Engram's own note of a person does."""
    theirs = {
        "entities/people/Anna.md": "# Anna\n\nMy sister.\n",
        "profile.md": "# Me\n\nI like tea.\n",
    }
    for name, text in theirs.items():
        (keeping.root / name).parent.mkdir(parents=True, exist_ok=True)
        (keeping.root / name).write_text(text)
    for n in range(6):
        keeping.fact(f"Anna bought lamp number {n}.", kind="note", about=("Anna",))
        keeping.fact(
            f"The user bought lamp number {n}.",
            kind="note",
            category="preference",
            importance=0.8,
        )
    keeping.run()
    assert {name: (keeping.root / name).read_text() for name in theirs} == theirs


# -- when fading begins ----------------------------------------------------------------


# row: X28
def test_an_import_of_old_history_does_not_fade_by_its_own_dates(memory, clock):
    """Nothing of it is put away before it had its time here."""
    turns = [
        {
            "text": f"Yesterday I saw a red car number {n}.",
            "session": "old",
            "occurred_at": "2024-03-01T10:00:00Z",
        }
        for n in range(8)
    ]
    memory.call("observe", {"turns": turns}, "import")
    memory.call("flush", {})
    facts = memory.index.catalog.facts()
    assert facts
    assert {memory.usage_tracker.usage_of(fact.id).met for fact in facts} == {clock()}
    nights(memory, clock, 3)
    assert {fact.status for fact in memory.index.catalog.facts()} == {"active"}


def test_a_lost_usage_log_puts_nothing_away_the_next_night(keeping, opened, clock):
    """What was used until yesterday and what never was: first met begins anew."""
    for n in range(30):
        keeping.fact(
            f"Anna saw a red car number {n}.", days=300, importance=0.1, confidence=0.5
        )
    shutil.rmtree(keeping.root / USAGE)
    # nothing of it is left in the process either
    keeping.memory.usage_tracker.usage_log._usages.clear()
    keeping.memory.usage_tracker.usage_log._usages[
        keeping.memory.usage_tracker.usage_log.device
    ] = {}
    memory = opened()
    nights(memory, clock, 5)
    assert {fact.status for fact in memory.index.catalog.facts()} == {"active"}


def devices(vault):
    return [UsageLog(vault, device * 16, UsagePolicy()) for device in "ab"]


def test_a_note_that_a_wrong_clock_met_was_met_by_now_and_is_not_written_again(
    memory, clock
):
    usage_log = devices(memory.vault)[0]
    path = memory.settings.vault / usage_log.path
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        '{"met": ["A"], "at": "2099-01-01T00:00:00+00:00"}',
        '{"met": "A", "at": "x"}',
        '{"met": [["A"]]}',
    ]
    path.write_text("\n".join(lines) + "\n")
    usage_log.refresh(clock())
    assert usage_log.usage_of("A").met == clock()
    usage_log.record_met({"A": clock()})
    assert usage_log.flush() == 0


# -- held runs -------------------------------------------------------------------------


def test_the_bounds_of_a_run():
    policy = ConsolidationPolicy()
    assert holds.run_limits(0, 0, policy) == holds.RunLimits(20, 50)
    assert holds.run_limits(5000, 3000, policy) == holds.RunLimits(100, 150)
    limit = holds.RunLimits(20, 50)
    assert holds.hold_reasons({"archive": 500, "merge": 20}, {}, limit) == {}
    assert set(holds.hold_reasons({"merge": 15, "drift": 8}, {"unite": 51}, limit)) == {
        "merge",
        "unite",
    }
    assert (
        holds.archive_quota({"archive": 500, "merge": 5}, limit),
        holds.archive_quota({"archive": 20}, limit),
    ) == (15, None)


# row: C18
def test_what_is_to_be_put_away_goes_in_portions_night_after_night(keeping, clock):
    """Twenty a night; the status says what is to come."""
    for n in range(50):
        keeping.fact(
            f"Anna saw a red car number {n}.", days=100, importance=0.2, confidence=0.9
        )
    done = []
    for _ in range(4):
        report = keeping.run()
        done.append(report.as_json()["counts"].get("archive", 0))
        assert keeping.order.holds.status() == (
            {
                "archive": f"{50 - sum(done)} memories will be archived in the next nights"
            }
            if sum(done) < 50
            else {}
        )
        clock.advance(days=1)
    assert done == [20, 20, 10, 0]
    assert not list((keeping.root / "review").glob("*"))


# row: A22
def test_a_run_that_would_merge_much_is_held_and_asks_once(doubles, clock):
    """The dry run, the report and the status say so; nothing is merged, and other
    passes go on.
    """
    memory, own = (
        doubles.memory,
        doubles.fact("Ben saw a car.", days=100, importance=0.2, confidence=0.9),
    )
    dry = memory.call("consolidate", {"dry_run": True})
    assert dry["held"] == {
        "merge": "merge would end 25 memories, and a run may end 20 without asking"
    }
    assert len(dry["held_actions"]) == 50
    assert not held(memory).exists()
    report = memory.call("consolidate", {})
    assert report["held"] == dry["held"]
    assert doubles.seen(own).status == "archived"
    assert statuses(memory).count("superseded") == 0
    assert memory.call("status", {})["held"] == {
        "merge": f"a run about 50 memories waits for your decision in {path_of('merge')}"
    }
    text = held(memory).read_text()
    assert text.count("\n- [[") == 25 * 2
    assert text.count("- [ ] ") == 2
    before = held(memory).read_bytes()
    nights(memory, clock, 3)
    assert memory.call("consolidate", {"dry_run": True})["held"] == {
        "merge": f"merge waits for a decision in {path_of('merge')}"
    }
    assert held(memory).read_bytes() == before
    assert [path.name for path in held(memory).parent.iterdir()] == ["held-merge.md"]
    assert statuses(memory).count("superseded") == 0


def test_only_what_is_still_planned_is_done(doubles):
    """One pair was settled by hand meanwhile, another pair is new."""
    memory = doubles.memory
    memory.call("consolidate", {})
    one = next(
        fact for fact in memory.index.catalog.facts() if "number 7." in fact.text
    )
    memory.call("forget", {"id": one.id})
    new = [doubles.fact("Carl bought a boat.", days=days, **OURS) for days in (1, 2)]
    tick(memory, "Do it")
    assert statuses(memory).count("superseded") == 24
    assert {doubles.seen(name).status for name in new} == {"active"}


def test_a_rejected_hold_is_dropped_and_not_asked_again(doubles, clock):
    memory = doubles.memory
    memory.call("consolidate", {})
    tick(memory, "Leave all of it as it is")
    assert not held(memory).exists()
    nights(memory, clock, 2)
    assert not held(memory).exists()
    assert statuses(memory).count("superseded") == 0
    new = [doubles.fact("Carl bought a boat.", days=days, **OURS) for days in (1, 2)]
    memory.call("consolidate", {})
    assert sorted(doubles.seen(name).status for name in new) == [
        "active",
        "superseded",
    ], "small runs go on"


def test_what_waits_for_a_word_is_not_done_bit_by_bit(doubles, clock):
    """Also when what is left of it would be small; what else is held comes into the
    same note.
    """
    memory = doubles.memory
    memory.call("consolidate", {})
    for n in range(10):
        fact = next(
            fact for fact in memory.index.catalog.facts() if f"number {n}." in fact.text
        )
        memory.call("forget", {"id": fact.id})
    nights(memory, clock, 2)
    assert statuses(memory).count("superseded") == 0
    doubles.plant(
        *(
            doubles.made(f"Carl bought boat {n // 2}.", days=n % 2 + 1, **OURS)
            for n in range(44)
        )
    )
    memory.call("consolidate", {})
    assert held(memory).read_text().count("\n- [[") == 50 + 44
    assert [path.name for path in held(memory).parent.iterdir()] == ["held-merge.md"]
    tick(memory, "Do it")
    assert statuses(memory).count("superseded") == 15 + 22


def test_a_deleted_note_is_no_consent(doubles, clock):
    """Not to what a later note does not list, either; the status no longer names the
    note.
    """
    memory = doubles.memory
    memory.call("consolidate", {})
    held(memory).unlink()
    memory.files.rescan(None, accept_deletions=True)
    nights(memory, clock, 2)
    assert statuses(memory).count("superseded") == 0
    assert memory.call("status", {})["held"] == {}
    doubles.plant(
        *(
            doubles.made(f"Carl bought boat {n // 2}.", days=n % 2 + 1, **OURS)
            for n in range(44)
        )
    )
    memory.call("consolidate", {})
    assert held(memory).read_text().count("\n- [[") == 44
    tick(memory, "Do it")
    assert statuses(memory).count("superseded") == 22


def test_a_frozen_vault_carries_out_no_hold(doubles):
    """The tick stands, and is obeyed once the clock is believed again."""
    memory = doubles.memory
    memory.call("consolidate", {})
    real, memory.maintenance_loop.maintenance.freeze = (
        memory.maintenance_loop.maintenance.freeze,
        SimpleNamespace(reason=lambda: "many notes vanished"),
    )
    tick(memory, "Do it")
    assert held(memory).exists()
    assert "memories cannot be changed now" in memory.health.problems()["review"]
    memory.maintenance_loop.maintenance.freeze = real
    memory.files.rescan(None)
    assert not held(memory).exists()
    assert statuses(memory).count("superseded") == 25


# -- what a run would end of notes that engram did not write ---------------------------


def equal(root, pairs, copies=2, **shape):
    """Foreign notes of which so many say the same, by statement."""
    return {
        text: [
            foreign(root, copies * pair + copy, text=text, **shape)[1]
            for copy in range(copies)
        ]
        for pair in range(pairs)
        for text in [f"Anna bought lamp number {pair}."]
    }


@pytest.fixture
def twins(settings, opened):
    """A pair of foreign notes that say the same, after the first night."""
    settings.vault.joinpath("facts").mkdir(exist_ok=True)
    paths = equal(settings.vault, 1)["Anna bought lamp number 0."]
    memory = opened()
    return memory, paths, bytes_of(paths)


# row: X6
def test_a_proposed_merge_can_be_undone_and_is_not_proposed_again(twins, clock):
    memory, paths, before = twins
    memory.call("consolidate", {})
    (case,) = memory.call("review", {})["cases"]
    memory.call("decide", {"id": case["id"], "decision": "approve"})
    assert bytes_of(paths) != before
    memory.call("undo", {"id": memory.call("runs", {"last": 1})["runs"][0]["id"]})
    nights(memory, clock, 2)
    assert bytes_of(paths) == before
    assert not held(memory).exists()


def test_proposals_are_few_and_a_year_of_nights_without_an_answer_adds_none(
    settings, opened, clock
):
    """Twenty at once; the next ones come after an answer."""
    told = equal(settings.vault, 30)
    before = bytes_of(path for pair in told.values() for path in pair)
    memory = opened()
    memory.maintenance_loop.maintenance.run("nightly")
    asked, state = held(memory).read_bytes(), (settings.vault / STATE).read_bytes()
    assert asked.count(b"\n- [[") == 20
    actions = settings.vault / "state/memory-actions.jsonl"
    rows = actions.read_bytes().count(b"\n")
    for _ in range(MANY_NIGHTS):
        clock.advance(days=1)
        assert memory.maintenance_loop.maintenance.run("nightly").failures == {}
    assert held(memory).read_bytes() == asked
    assert (settings.vault / STATE).read_bytes() == state
    assert actions.read_bytes().count(b"\n") <= rows
    assert bytes_of(before) == before
    assert [path.name for path in held(memory).parent.iterdir()] == ["held-merge.md"]
    tick(memory, "Do it")
    assert statuses(memory).count("superseded") == 20
    memory.maintenance_loop.maintenance.run("nightly")
    assert held(memory).read_bytes().count(b"\n- [[") == 10


@pytest.mark.parametrize("how", ["pinned", "edited", "no id", "unanswered"])
def test_what_may_not_be_ended_is_not_proposed(settings, opened, clock, how):
    """What a person stands by, a note without an id, and on a machine without a person
    anything.
    """
    paths = equal(settings.vault, 1, id=how != "no id")["Anna bought lamp number 0."]
    memory = opened(**({"holds": "apply"} if how == "unanswered" else {}))
    memory.files.rescan(None)
    for path in paths if how in {"pinned", "edited"} else ():
        text = path.read_text()
        path.write_text(
            text.replace(
                *(
                    ("tags:", "pinned: true\ntags:")
                    if how == "pinned"
                    else ("lamp", "oil")
                )
            )
        )
    memory.files.rescan(None)
    before = bytes_of(paths)
    nights(memory, clock, 2)
    assert bytes_of(paths) == before
    assert not held(memory).exists()
    assert statuses(memory) == ["active", "active"]


def test_a_held_run_and_a_proposal_of_one_pass_are_asked_in_one_note(doubles):
    memory = doubles.memory
    for number in (8, 9):
        foreign(memory.settings.vault, number, text="Carl owns a red canoe.")
    memory.files.rescan(None)
    assert memory.call("consolidate", {})["held"]["merge"] == (
        "merge would end 25 memories, and a run may end 20 without asking; "
        "merge would end 1 note that engram did not write"
    )
    assert "[[preference-00009]]" in held(memory).read_text()
    tick(memory, "Do it")
    assert statuses(memory).count("superseded") == 25 + 1
