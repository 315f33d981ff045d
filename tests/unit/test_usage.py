"""The usage log: anchors of each device, read in whatever state they are found."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.policy import UsagePolicy
from engram.core.records import Usage
from engram.errors import EngramError
from engram.vault import syscalls
from engram.vault.store import Vault
from engram.vault.syscalls import Syscalls
from engram.vault.usage import USAGE, UsageLog, device_of

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
ANNA, BEN = "01KBH2Q0M6T4W2Y0B7C5D9E1FX", "01KBH2Q0M6T4W2Y0B7C5D9E1FY"
LAPTOP, DESKTOP = "0123456789abcdef", "fedcba9876543210"
POLICY = UsagePolicy()


@pytest.fixture
def vault(settings):
    return Vault(settings.vault)


def fresh(vault, device=LAPTOP, now=NOW):
    usage_log = UsageLog(vault, device, POLICY)
    usage_log.refresh(now)
    return usage_log


def seen(usage, now, times=1):
    """`usage` after so many recalls at `now`."""
    for _ in range(times):
        usage = replace(
            usage,
            access=usage.access + 1,
            last_access=now,
            stability=min(5.0, usage.stability + 0.1),
            salience=min(1.0, usage.salience + 0.05),
            salience_at=now,
            gap_days=1.5,
            gradient=1.1,
        )
    return usage


def recall(usage_log, memory, now, times=1):
    usage_log.record({memory: seen(usage_log.usage_of(memory), now, times)})


def text(vault, device=LAPTOP):
    return (vault.root / USAGE / f"{device}.jsonl").read_text()


def written(vault, content, device=LAPTOP):
    (vault.root / USAGE).mkdir(parents=True, exist_ok=True)
    (vault.root / USAGE / f"{device}.jsonl").write_text(content)


# row: B4
def test_every_field_is_read_back_as_it_was_noted(vault):
    """A file and its folder appear with the first line, which has its own id and time."""
    usage_log = fresh(vault)
    whole = Usage(3, NOW, 2, NOW + HOUR, 1.3, 0.61, NOW, 2.25, 0.95)
    usage_log.record({ANNA: whole, BEN: Usage(confirmations=1, evidence_at=NOW)})
    assert usage_log.flush() == 2
    assert fresh(vault).usage_of(ANNA) == usage_log.usage_of(ANNA) == whole
    assert json.loads(text(vault).splitlines()[1]) == {
        "id": BEN,
        "at": "2026-11-20T20:00:00+00:00",
        "confirmations": 1,
        "evidence_at": "2026-11-20T20:00:00+00:00",
    }


def test_what_could_not_be_written_is_written_by_the_next_flush(vault):
    """A refusal of the disk loses no use."""
    usage_log = fresh(vault)
    recall(usage_log, ANNA, NOW)
    (vault.root / "state").write_text("in the way")
    with pytest.raises(EngramError):
        usage_log.flush()
    (vault.root / "state").unlink()
    assert usage_log.flush() == 1
    assert fresh(vault).usage_of(ANNA).access == 1


def test_torn_and_foreign_lines_are_passed_over(vault):
    """Whatever a merge, a crash or a person leaves there; a key of a later version is
    no fault.
    """
    good = {
        "id": ANNA,
        "at": NOW.isoformat(),
        "access": 2,
        "stability": 1.2,
        "later": True,
    }
    foreign = [
        "",
        "<<<<<<< HEAD",
        "[" * 5000,
        "7",
        "null",
        json.dumps(good | {"access": 99})[:-4],
        json.dumps(good | {"access": 99}) + "}",
        json.dumps({key: good[key] for key in ("id", "access")}),
        json.dumps({key: good[key] for key in ("at", "access")}),
    ]
    bad = [
        *({"id": wrong} for wrong in (7, None, [])),
        *({"at": wrong} for wrong in (7, None)),
        *(
            {"access": wrong}
            for wrong in (-1, True, 2.5, "2", None, "2026-11-20T20:00:00+00:00")
        ),
        *({"confirmations": wrong} for wrong in (-1, "x")),
        *(
            {"stability": wrong}
            for wrong in (0.5, float("nan"), float("inf"), True, [])
        ),
        *({"salience": wrong} for wrong in (-0.1, 1.1, float("nan"), None)),
        *({"gap_days": -1}, {"gradient": 0}, {"gradient": "2026-11-20"}),
        *({"last_access": wrong} for wrong in (7, "soon", "2026-11-20T20:00:00", [])),
    ]
    lines = [*foreign, *(json.dumps(good | {"access": 99} | wrong) for wrong in bad)]
    written(
        vault,
        "\n".join([*lines, json.dumps(good), json.dumps(good | {"access": 77})[:-1]]),
    )
    assert fresh(vault).usage_of(ANNA) == Usage(access=2, stability=1.2)


def test_only_files_of_devices_are_read(vault):
    """A copy that a sync tool laid aside, a folder, a link or a stray file counts
    nothing twice.
    """
    usage_log = fresh(vault)
    recall(usage_log, ANNA, NOW)
    usage_log.flush()
    folder, line = vault.root / USAGE, text(vault)
    for name in (
        f"{DESKTOP}.sync-conflict-20261120-200000-ABC.jsonl",
        "notes.jsonl",
        f"{DESKTOP}.txt",
        DESKTOP,
    ):
        (folder / name).write_text(line)
    (folder / f"{'a' * 16}.jsonl").mkdir()
    (folder / f"{'b' * 16}.jsonl").symlink_to(folder / f"{LAPTOP}.jsonl")
    assert fresh(vault).usage_of(ANNA).access == 1


def test_a_line_of_a_wrong_clock_is_passed_over_until_its_time_comes(vault):
    """A machine that once believed it was 2090 would else keep every memory fresh until
    then; no line is dropped.
    """
    usage_log = fresh(vault)
    recall(usage_log, ANNA, NOW)
    usage_log.flush()
    recall(usage_log, ANNA, NOW + timedelta(days=20000), 9)
    usage_log.flush()
    again = fresh(vault)
    assert again.usage_of(ANNA) == seen(Usage(), NOW)
    for hours in (1, 2, 3):
        recall(again, ANNA, NOW + hours * HOUR)
        again.flush()
    assert again.compact(NOW + 9 * HOUR) > 0
    assert fresh(vault).usage_of(ANNA).last_access == NOW + 3 * HOUR
    assert fresh(vault, now=NOW + timedelta(days=20000)).usage_of(ANNA).access == 10


class Killed(BaseException):
    """The process ends here."""


class Dying(Syscalls):
    """The calls that change the disk, of which only the first `left` are carried out."""

    def __init__(self, left):
        self.left = left

    def step(self, carry_out, *args):
        self.left -= 1
        if self.left < 0:
            raise Killed
        return carry_out(*args)

    def write(self, *args):
        return self.step(super().write, *args)

    def rename(self, *args):
        return self.step(super().rename, *args)

    def unlink(self, *args):
        return self.step(super().unlink, *args)

    def fsync(self, *args):
        return self.step(super().fsync, *args)


def test_a_crash_at_any_step_of_writing_and_compaction_costs_no_older_use(
    vault, monkeypatch
):
    """A flush is there or not, a compaction changes nothing, and the next process goes
    on from there.
    """
    usage_log = fresh(vault)
    for hour in range(5):
        recall(usage_log, ANNA, NOW + hour * HOUR)
        usage_log.flush()
    before, safe = text(vault), usage_log.usage_of(ANNA)
    died = 0
    for left in range(20):
        written(vault, before)
        usage_log = fresh(Vault(vault.root))
        recall(usage_log, BEN, NOW)
        with monkeypatch.context() as patch:
            patch.setattr(syscalls, "SYS", Dying(left))
            try:
                usage_log.flush()
                usage_log.compact(NOW)
            except Killed:
                died += 1
        again = fresh(Vault(vault.root))
        again.vault.settle_leftovers(NOW + timedelta(days=9000), 0)
        assert again.usage_of(ANNA) == safe
        assert again.usage_of(BEN).access in {0, 1}
        recall(again, BEN, NOW + HOUR)
        again.flush()
        again.compact(NOW)
        assert fresh(vault).usage_of(ANNA) == safe
        assert fresh(vault).usage_of(BEN) == again.usage_of(BEN)
    assert 5 < died < 20
    assert sorted(path.name for path in vault.root.rglob("*") if path.is_file()) == [
        f"{LAPTOP}.jsonl",
        "engram.toml",
    ]


def test_the_name_of_a_device_is_random_and_stays_with_the_machine(settings):
    """Sixteen digits in the state home, never in the vault; a lost or damaged one
    begins anew.
    """
    name = device_of(settings.state)
    assert device_of(settings.state) == name
    assert len(name) == 16
    assert not list(settings.vault.rglob(f"*{name}*"))
    (settings.state / "device").write_bytes(b"\xff\x00")
    fresh_name = device_of(settings.state)
    assert fresh_name != name
    assert device_of(settings.state) == fresh_name
