"""Months of use as people expect it: `tests/golden/lives.txt` lists the checks that
hold, and only grows.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timedelta

import pytest

from benchmarks import lives
from tests.size import FULL

OWN, SHARED, _TALK = lives.files()
LONG = timedelta(days=200)
"""Each night of so long a life takes its time: `make test` plays one in three of them."""
ABSENT = f"no lives in {lives.SHARED}"


def times(path):
    """The times of the events of a life."""
    events = map(json.loads, path.read_text("utf-8").splitlines())
    return [datetime.fromisoformat(event["at"]) for event in events]


def played(paths):
    """The lives that are played here."""
    long = [path for path in paths if times(path)[-1] - times(path)[0] > LONG]
    return [one for one in paths if FULL or one not in long or long.index(one) % 3 == 1]


def failures(path):
    """The checks of a life that fail although the list says that they pass, and those
    it names that are gone.
    """
    known = {line for line in lives.golden() if line.startswith(f"{path.stem} ")}
    done = lives.play(path)
    lives.show(done, known)
    return sorted(known & done.failed), sorted(known - done.failed - done.passed)


@pytest.mark.parametrize("path", played(OWN), ids=lambda path: path.stem)
def test_a_life_of_ours_goes_as_well_as_it_ever_went(path):
    """What was not seen to pass yet may fail; a check that is listed may neither fail
    nor be taken out of the life.
    """
    assert failures(path) == ([], [])


@pytest.mark.parametrize("path", played(SHARED), ids=lambda path: path.stem)
def test_a_life_beside_the_project_goes_as_well_as_it_ever_went(path):
    """Such a life may be changed by others, so that a check is gone."""
    worse, _gone = failures(path)
    assert worse == []


def test_the_lives_beside_the_project_are_played_where_they_are():
    if not SHARED:
        print(f"skipped: {ABSENT}")  # noqa: T201
        pytest.skip(ABSENT)
    assert all(
        any(line.startswith(f"{path.stem} ") for line in lives.golden())
        for path in SHARED
    )


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_the_events_of_a_life_stand_in_order_and_each_expectation_says_why(path):
    events = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert times(path) == sorted(times(path))
    for event in events:
        assert (
            len(
                set(lives.ACTS)
                & set(event) - ({"label"} if "check" in event else set())
            )
            == 1
        ), event
        if {"ask", "todos", "context", "check"} & set(event):
            assert event["why"], event


def test_accepting_lists_what_passes_now_and_keeps_the_lives_not_played(
    tmp_path, monkeypatch
):
    kept = "b 2026-01-01T10:00 ask x: any /old/"
    monkeypatch.setattr(lives, "GOLDEN", tmp_path / "lives.txt")
    checks = [
        lives.Verdict("2026-01-01T10:00", "ask x", f"any /{word}/", word != "bad")
        for word in ("good", "bad")
    ]
    (tmp_path / "lives.txt").write_text(
        f"a 2026-01-01T10:00 ask x: any /bad/\n{kept}\n"
    )
    assert lives.accept([lives.Played("a", 1, 0.0, checks)]) == 1
    assert lives.golden() == {"a 2026-01-01T10:00 ask x: any /good/", kept}
    assert lives.accept([lives.Played("a", 1, 0.0, checks)]) == 0


def test_the_answers_of_all_lives_are_summed_by_kind(tmp_path):
    events = [
        {"at": "2026-01-01T10:00:00+00:00", "say": "I am allergic to peanuts."},
        {
            "at": "2026-01-02T10:00:00+00:00",
            "ask": "what am I allergic to?",
            "first": "peanuts",
            "any": ["peanuts", "a word that was never said"],
            "none": ["cats"],
            "why": "it was said",
        },
    ]
    life = tmp_path / "one.jsonl"
    life.write_text("\n".join(map(json.dumps, events)))
    run = subprocess.run(
        [sys.executable, lives.__file__, life],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "answers: any 1 of 2, first 1 of 1, none 1 of 1" in run.stdout.splitlines()


@pytest.mark.skipif(not lives.TALK.is_dir(), reason=f"no lives in {lives.TALK}")
def test_lives_of_ordinary_talk_are_played_where_they_are():
    assert lives.files()[2] == sorted(lives.TALK.glob("*.jsonl")) != []
