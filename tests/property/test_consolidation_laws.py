"""Laws of consolidation on any vault: twice is once, dry is wet, nothing vanishes,
people and pins go first.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engram import config
from engram.config import ModelSettings
from engram.core.categories import CATEGORIES
from engram.core.decide import JUDGEMENTS_FILE
from engram.maintenance.passes import entities
from engram.memory import VaultMemory
from engram.vault import frontmatter
from tests.conftest import Clock, name_device
from tests.fakes.judging import all_of, judging
from tests.fakes.keeping import WORDS, Keeping
from tests.fakes.openai_server import FakeServer
from tests.size import examples

LIVES = st.lists(
    st.fixed_dictionaries(
        {
            "days": st.sampled_from((0, 1, 29, 31, 91, 100, 120, 400)),
            "kind": st.sampled_from(("episode", "note")),
            "category": st.sampled_from(sorted(CATEGORIES)),
            "confidence": st.sampled_from((0.1, 0.35, 0.6, 0.9, 1.0)),
            "importance": st.sampled_from((0.1, 0.29, 0.5, 0.7, 1.0)),
            "status": st.sampled_from(
                ("active", "active", "active", "archived", "superseded", "forgotten")
            ),
            "pinned": st.sampled_from((False, False, True)),
            "layer": st.sampled_from(("", "", "working", "semantic")),
            "tags": st.sampled_from(((), ("fulfilled",))),
            "verification": st.sampled_from(("", "", "user_confirmed", "disputed")),
            "ends": st.sampled_from((None, None, -40, -1, 5)),
            "access": st.sampled_from((0, 0, 1, 5, 12)),
            "since": st.sampled_from((0, 3, 95)),
        }
    ),
    min_size=1,
    max_size=7,
)
NIGHTS = examples(10, 3)


@contextmanager
def kept(lives):
    """A vault with these lives in it, and their ids."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        root.mkdir()
        (root / "engram.toml").write_text(
            'id = "01KBH2Q0M6T4W2Y0B7C5D9E1FX"\nzone = "Europe/Berlin"\n'
        )
        loaded = config.load(root, {"ENGRAM_HOME": f"{folder}/home", "HOME": folder})
        policy = replace(
            loaded.policy, files=replace(loaded.policy.files, quiet_seconds=0)
        )
        clock = Clock(datetime(2026, 11, 20, 20, 0, tzinfo=UTC))
        name_device(loaded.state)
        memory = VaultMemory(
            replace(loaded, policy=policy), clock=clock, steady=clock.steady
        )
        memory.start()
        memory.catch_up()
        keeping = Keeping(memory)
        made = []
        for number, life in enumerate(lives):
            asked = dict(life)
            ends, access, since = (
                asked.pop("ends"),
                asked.pop("access"),
                asked.pop("since"),
            )
            expires = None if ends is None else memory.clock() + timedelta(days=ends)
            reason = "old" if asked["status"] == "archived" else ""
            fact = keeping.made(
                f"{WORDS[number]} {number}", expires=expires, end_reason=reason, **asked
            )
            made.append(fact)
            if access:
                keeping.used(fact.id, days=since, access=access)
        keeping.plant(*made)
        try:
            yield keeping, {fact.id: keeping.seen(fact.id) for fact in made}
        finally:
            memory.close()


def ids(keeping):
    """Every id that some file of the vault holds."""
    held = (
        frontmatter.read(path.read_bytes()).keys.get("id")
        for path in keeping.root.rglob("*.md")
    )
    return sorted(str(name) for name in held if name)


def actives(keeping):
    return {
        one.id for one in keeping.memory.index.catalog.facts() if one.status == "active"
    }


# row: X22
@NIGHTS
@given(LIVES)
def test_a_second_run_at_one_instant_changes_no_byte(lives):
    """Of any cadence, in any order."""
    with kept(lives) as (keeping, _):
        for cadence in ("nightly", "weekly"):
            keeping.run(cadence)
        before = keeping.everything()
        for cadence in ("weekly", "nightly"):
            report = keeping.run(cadence)
            assert (report.actions, report.failures) == ((), {})
        assert keeping.everything() == before


# row: X10
@NIGHTS
@given(LIVES, st.sampled_from(("nightly", "weekly")))
def test_a_dry_run_tells_exactly_what_a_run_does(lives, cadence):
    with kept(lives) as (keeping, _):
        before = keeping.everything()
        told = keeping.run(cadence, dry_run=True)
        assert keeping.everything() == before
        done = keeping.run(cadence)
        assert (told.actions, told.deferred, told.left_alone) == (
            done.actions,
            done.deferred,
            done.left_alone,
        )
        after = keeping.tree()
        held = {
            path for path in after if path not in before or after[path] != before[path]
        }
        assert held == {one.to for one in told.actions if one.to in after}


# row: X22
@NIGHTS
@given(LIVES)
def test_nothing_vanishes_and_no_memory_is_made(lives):
    """Every id is somewhere; what is active was so before, or has been recalled since
    it was put away.
    """
    with kept(lives) as (keeping, was):
        before, active = ids(keeping), actives(keeping)
        report = keeping.run()
        assert ids(keeping) == before
        revived = {one.memory for one in report.actions if one.name == "revive"}
        assert actives(keeping) <= active | revived
        assert all(was[name].status == "archived" for name in revived)


# row: B16
# row: C18
# row: X23
@NIGHTS
@given(LIVES)
def test_pins_protection_and_people_survive_a_year_of_nights(lives):
    """A pinned memory stays active, a protected one unless its date is over; a person's
    note keeps every byte.
    """
    with kept(lives) as (keeping, was):
        before = {
            name: (keeping.root / fact.path).read_bytes() for name, fact in was.items()
        }
        for days in (0, 30, 335):
            keeping.clock.advance(days=days)
            keeping.run()
        for name, fact in was.items():
            if fact.status != "active":
                continue
            dated = fact.expires is not None or (
                fact.category == "commitment" and fact.tags
            )
            if fact.pinned or (
                not dated
                and fact.category
                in {"decision", "principle", "preference", "correction"}
            ):
                assert keeping.seen(name).status == "active"
            if fact.verification == "user_confirmed" and not dated:
                assert (keeping.root / fact.path).read_bytes() == before[name]


# row: X6
@NIGHTS
@given(LIVES)
def test_a_run_taken_back_leaves_the_bytes_of_before(lives):
    with kept(lives) as (keeping, _):
        before = keeping.tree()
        report = keeping.run()
        if report.run:
            assert keeping.order.undo(report.run).deferred == {}
        assert keeping.tree() == before


# row: X22
@examples(6, 2)
@given(LIVES)
def test_thirty_nights_leave_what_one_night_after_thirty_days_leaves(lives):
    """The same memories are active, and their notes are the same."""

    def notes(keeping):
        living = (
            one
            for one in keeping.memory.index.catalog.facts()
            if one.status == "active"
        )
        return {one.path: (keeping.root / one.path).read_bytes() for one in living}

    with kept(lives) as (every, _), kept(lives) as (once, _):
        for _ in range(30):
            every.clock.advance(days=1)
            every.run()
        once.clock.advance(days=30)
        once.run()
        assert notes(every) == notes(once)


LIKE = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.sampled_from(
                (
                    "Anna drinks oat milk.",
                    "Anna drinks  oat milk!",
                    "Anna went sailing in Porto.",
                    "Anna went cycling in Porto.",
                    "Anna went swimming in Porto.",
                    "Anna lives in Porto.",
                    "Anna lives in Lisbon.",
                    "Ben fixed the train.",
                    "Ben fixed the violin.",
                    "Ben fixed the piano.",
                )
            ),
            "days": st.sampled_from((1, 20, 40, 80, 200)),
            "kind": st.sampled_from(("episode", "note")),
            "category": st.sampled_from(("fact", "fact", "preference", "moment")),
            "confidence": st.sampled_from((0.3, 0.6, 0.9)),
            "importance": st.sampled_from((0.3, 0.5, 0.9)),
            "about": st.sampled_from((("Anna",), ("Ben",), ())),
            "source": st.sampled_from(
                ("", "2026-11-01-talk#^t1", "2026-11-02-talk#^t2")
            ),
            "origin": st.sampled_from(
                ("rules", "rules", "rules", "user", "synthesized")
            ),
            "verification": st.sampled_from(("", "", "", "user_confirmed")),
            "pinned": st.sampled_from((False, False, False, True)),
        }
    ),
    min_size=3,
    max_size=12,
)


def eager(fake):
    """A model that would merge, end and conclude whatever it is shown."""

    def verdicts(shown):
        relations = ("same", "contradicts", "independent")
        return {
            "verdicts": [
                {
                    "pair": pair["pair"],
                    "relation": relations[pair["pair"] % 3],
                    "confidence": 0.95,
                }
                for pair in shown["pairs"]
            ]
        }

    judging(
        fake,
        compare=verdicts,
        fold=all_of("Anna was in Porto, all in all."),
        principle=all_of("Anna likes Porto."),
        insights=lambda shown: {
            "insights": [
                {"text": f"Ben fixed it {'again ' * one['n']}.", "from": [one["n"]]}
                for one in shown["memories"]
            ]
        },
        probe=lambda shown: {
            "invalid": [
                {"memory": one["n"], "quote": one["text"]} for one in shown["memories"]
            ]
        },
    )


@contextmanager
def judged(lives):
    """A vault with these lives in it, and an eager model."""
    with FakeServer() as fake, kept(()) as (keeping, _):
        eager(fake)
        keeping.memory.settings = replace(
            keeping.memory.settings, model=ModelSettings("fake", fake.url)
        )
        keeping.memory.maintenance_loop.settings = keeping.memory.extractor.settings = (
            keeping.memory.settings
        )
        made = []
        for number, life in enumerate(lives):
            asked = dict(life)
            text, days = asked.pop("text"), asked.pop("days")
            made.append(keeping.made(text, days=days + number / 24, **asked))
        keeping.plant(*made)
        yield keeping, fake


# row: X22
# row: X23
# row: X6
@examples(8, 2)
@given(LIKE)
def test_consolidation_with_a_model_never_makes_more_of_memories(lives):
    """However eager it is: never more active, none without its link, no source lost, a
    person's bytes kept, undone.

    What it said of pairs stays true.
    """
    with judged(lives) as (keeping, _):
        facts = {one.id: one for one in keeping.memory.index.catalog.facts()}
        theirs = {
            one.id for one in facts.values() if one.verification == "user_confirmed"
        }
        raw = {name: (keeping.root / facts[name].path).read_bytes() for name in theirs}
        before, active, known = keeping.tree(), actives(keeping), set(ids(keeping))
        runs = []
        for cadence in ("nightly", "weekly"):
            count = len(actives(keeping))
            runs.append(keeping.memory.call("consolidate", {"cadence": cadence})["run"])
            assert len(actives(keeping)) <= count
        assert set(ids(keeping)) >= known
        now = {one.id: one for one in keeping.memory.index.catalog.facts()}
        for name in active - actives(keeping):
            gone = now[name]
            assert not facts[name].pinned
            if gone.end_reason.startswith(
                ("absorbed", "says the same", "judged the same")
            ):
                (last,) = gone.superseded_by[-1:]
                held = now[last]
                sources = {key for key in (gone.source, *gone.also) if key}
                assert held.verification == "user_confirmed" or sources <= {
                    held.source,
                    *held.also,
                }
                assert (
                    facts.get(last, held).origin != "synthesized" or last not in facts
                )
        for name in theirs:
            assert (keeping.root / now[name].path).read_bytes() == raw[name]
        for run in filter(None, reversed(runs)):
            assert keeping.memory.call("undo", {"id": run})["deferred"] == {}
        assert {
            name: raw for name, raw in keeping.tree().items() if name != JUDGEMENTS_FILE
        } == before


# row: X22
# row: X10
@examples(6, 2)
@given(LIKE, st.sampled_from(("nightly", "weekly")))
def test_with_a_model_twice_is_once_and_dry_is_wet(lives, cadence):
    with judged(lives) as (keeping, fake):
        call = keeping.memory.call
        told = call("consolidate", {"cadence": cadence, "dry_run": True})
        done = call("consolidate", {"cadence": cadence})
        assert (told["actions"], told["deferred"], told["findings"]) == (
            done["actions"],
            done["deferred"],
            done["findings"],
        )
        before, asked = keeping.everything(), len(fake.asked)
        assert call("consolidate", {"cadence": cadence})["actions"] == ()
        assert (keeping.everything(), len(fake.asked)) == (before, asked)


@given(st.lists(st.sets(st.sampled_from("abcdefghij"), min_size=1), max_size=12))
def test_notes_are_united_that_share_a_name_however_far_the_chain_goes(groups):
    """As if each was compared with each, again and again, until nothing more comes
    together.
    """
    slow = [set(group) for group in groups]
    while pair := next(
        (
            (one, other)
            for one in slow
            for other in slow
            if one is not other and one & other
        ),
        None,
    ):
        slow = [
            pair[0] | pair[1],
            *(one for one in slow if all(one is not old for old in pair)),
        ]
    assert entities._joined_groups(groups) == sorted(map(sorted, slow))
