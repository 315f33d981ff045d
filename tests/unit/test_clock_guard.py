"""The watch on the clock: while it is in doubt nothing is believed to have aged."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.policy import Policy
from engram.daemon.threads import WriterThread
from engram.errors import Health
from engram.maintenance.clock import READINGS, ClockGuard
from tests.fakes.keeping import Keeping

LIMITS = Policy().lifecycle
AGREED = LIMITS.clock_agree_minutes


@pytest.fixture
def watch(settings, clock):
    """A function that begins to watch, as after a restart of the process."""
    settings.state.mkdir(parents=True)

    def begin(steady=clock.steady, policy=settings.policy):
        return ClockGuard(replace(settings, policy=policy), Health(), clock, steady)

    return begin


def minutes(watch, clock, count):
    """So many minutes in which the daemon looks at the clock."""
    for _ in range(count):
        clock.advance(minutes=1)
        watch.look()


def test_while_the_clock_is_in_doubt_nothing_is_believed_aged(memory, clock):
    """Set ahead by 400 days in a running memory, it puts nothing away; after ten
    minutes in step it is believed.
    """
    keeping = Keeping(memory)
    keeping.order.freeze = memory.maintenance_loop.maintenance.freeze
    keeping.fact("Anna saw a red car.", importance=0.2, confidence=0.9)
    clock.advance(minutes=1)
    memory.between_operations()
    before = keeping.everything()
    clock.jump(days=400)
    report = keeping.run()
    assert report.actions == ()
    assert report.frozen.startswith(
        "the clock jumped by +9600.0 hours; memories do not fade"
    )
    assert keeping.everything() == before
    assert memory.call("status", {})["faults"]["clock"] == report.frozen
    findings = memory.call("doctor", {})["findings"]
    assert ("error", "clock", report.frozen) in [
        (row["level"], row["code"], row["what"]) for row in findings
    ]
    minutes(memory.clock_guard, clock, int(AGREED))
    assert keeping.run().frozen
    clock.advance(minutes=1)
    memory.between_operations()
    assert "clock" not in memory.call("status", {})["faults"]
    report = keeping.run()
    assert report.frozen == ""
    assert "archive" in {deed.name for deed in report.actions}


def test_time_that_really_passes_raises_no_doubt(watch, clock):
    """Nor does a machine that sleeps: the steady clock goes on."""
    one = watch()
    for hours in (0, 1, 30, 24 * 400):
        clock.advance(hours=hours)
        one.look()
        assert one.doubt() is None


def test_a_look_is_taken_once_a_minute_and_those_of_a_day_are_kept(
    watch, clock, settings
):
    """Also in the file, which does not grow for ever."""
    few = replace(settings.policy, lifecycle=replace(LIMITS, clock_readings=10))
    one = watch(policy=few)
    for _ in range(10):
        one.look()
    path = settings.state / READINGS
    assert len(path.read_text().splitlines()) == 1
    sizes = []
    for _ in range(50):
        minutes(one, clock, 1)
        sizes.append(len(path.read_text().splitlines()))
    assert max(sizes) == 20
    assert json.loads(path.read_text().splitlines()[-1]) == [
        clock().isoformat(),
        clock.steady(),
    ]
    clock.jump(hours=2)
    assert watch(policy=few).doubt()


def test_a_damaged_file_is_no_doubt(watch, clock, settings):
    """What is no reading is passed over, and the next line does not stick to a torn
    one.
    """
    whole = json.dumps([(clock() - timedelta(days=2)).isoformat(), clock.steady() - 60])
    lines = [
        "[",
        "{}",
        '["2026-11-20T20:00:00", 1]',
        '["x", 1]',
        '["2026-11-20T20:00:00+00:00", NaN]',
        "[1, 1]",
        "\0",
    ]
    path = settings.state / READINGS
    path.write_text("\n".join(lines) + "\n" + '["2026-')
    assert watch().doubt() is None
    path.write_text("\n".join([*lines, whole]) + "\n" + '["2026-')
    one = watch()
    assert one.doubt()
    one.look()
    assert watch().doubt()


def test_a_disk_that_refuses_is_told_and_the_doubt_is_known(watch, clock, settings):
    one = watch()
    one.look()
    (settings.state / READINGS).unlink()
    (settings.state / READINGS).mkdir()
    clock.jump(days=1)
    clock.advance(minutes=1)
    one.look()
    assert READINGS in one.health.problems()["clock"]
    assert one.doubt()


def test_the_writer_looks_between_its_jobs_and_while_it_has_none(settings):
    """Its beat is that of a clock nobody sets, so a jump holds no look back."""
    looks = []
    writer = WriterThread(replace(settings.policy.serve, beat_seconds=0.01))
    writer.start(between=lambda: looks.append(datetime.now(UTC)))
    last = time.monotonic() + 20
    while len(looks) < 5 and time.monotonic() < last:
        time.sleep(0.01)
    writer.stop()
    assert len(looks) >= 5
