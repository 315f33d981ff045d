"""Laws of the usage log: whatever the order, the same use."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engram.core.policy import UsagePolicy
from engram.core.records import Usage
from engram.vault.store import Vault
from engram.vault.usage import USAGE, UsageLog, merged
from tests.size import examples

START = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
LATER = START + timedelta(days=400)
MEMORIES = ("01KBH2Q0M6T4W2Y0B7C5D9E1FA", "01KBH2Q0M6T4W2Y0B7C5D9E1FB")
DEVICES = ("0000000000000001", "0000000000000002", "0000000000000003")
RUNS = examples(30)

times = (
    st.integers(0, 400 * 24).map(lambda hours: START + timedelta(hours=hours))
    | st.none()
)
shares = st.floats(0, 1, allow_subnormal=False)
usages = st.builds(
    Usage,
    access=st.integers(0, 99),
    last_access=times,
    confirmations=st.integers(0, 9),
    evidence_at=times,
    stability=st.floats(1, 5),
    salience=shares,
    salience_at=times,
    gap_days=st.floats(0, 400),
    gradient=st.floats(0.1, 3),
)
steps = st.lists(
    st.tuples(
        st.sampled_from(("recall", "recall", "confirm", "flush", "refresh", "compact")),
        st.sampled_from(DEVICES),
        st.sampled_from(MEMORIES),
    ),
    min_size=9,
    max_size=40,
)


class World:
    """A vault with three devices that share it at once, as far as they look; `heard`
    counts what was seen.
    """

    def __init__(self, root, share=0.0):
        (root / "engram.toml").write_text("")
        self.vault = Vault(root)
        self.policy = UsagePolicy(superseded_share=share)
        self.usage_log = {device: self.fresh(device) for device in DEVICES}
        self.heard = dict.fromkeys(MEMORIES, 0)
        self.now = START

    def fresh(self, device=DEVICES[0]):
        usage_log = UsageLog(self.vault, device, self.policy)
        usage_log.refresh(LATER)
        return usage_log

    def step(self, what, device, memory):
        self.now += timedelta(hours=7)
        usage_log = self.usage_log[device]
        usage = usage_log.usage_of(memory)
        if what == "recall":
            days = (
                (self.now - usage.last_access).total_seconds() / 86400
                if usage.last_access
                else 0.0
            )
            bumped = replace(
                usage,
                access=usage.access + 1,
                last_access=self.now,
                stability=min(5.0, usage.stability + 0.1),
                salience=min(1.0, usage.salience * 0.9 + 0.07),
                salience_at=self.now,
                gap_days=days,
                gradient=usage.gradient + (0.1 if days > usage.gap_days else -0.05),
            )
            usage_log.record(
                {memory: replace(bumped, gradient=max(0.1, bumped.gradient))}
            )
            self.heard[memory] += 1
        elif what == "confirm":
            usage_log.record(
                {
                    memory: replace(
                        usage,
                        confirmations=usage.confirmations + 1,
                        evidence_at=self.now,
                    )
                }
            )
        elif what == "flush":
            usage_log.flush()
        elif what == "refresh":
            usage_log.refresh(LATER)
        else:
            usage_log.compact(LATER)

    def settled(self):
        """Every device wrote and read everything."""
        for usage_log in self.usage_log.values():
            usage_log.flush()
        for usage_log in self.usage_log.values():
            usage_log.refresh(LATER)

    def files(self):
        return sorted((self.vault.root / USAGE).glob("*.jsonl"))

    def answers(self, usage_log):
        return [usage_log.usage_of(memory) for memory in MEMORIES]


def world(share=0.0):
    return World(Path(tempfile.mkdtemp(prefix="usage-")).resolve(), share)


def lived(run):
    """A law about a world, whose folder goes with it."""
    there = world()
    try:
        run(there)
    finally:
        shutil.rmtree(there.vault.root)


@RUNS
@given(st.lists(usages, min_size=1, max_size=9), st.randoms())
def test_the_order_of_devices_does_not_matter(seen, random):
    """Down to the last digit, and nobody's count is lost."""
    other = seen.copy()
    random.shuffle(other)
    assert merged(seen, 99.0) == merged(other, 99.0)
    assert merged(seen, 99.0).access == sum(one.access for one in seen)


# row: A19
@RUNS
@given(steps)
def test_every_use_counts_once_on_every_device(done):
    """However writing, reading and compaction of three devices fall between the
    recalls.
    """

    def law(there):
        for step in done:
            there.step(*step)
        there.settled()
        for usage_log in (*there.usage_log.values(), there.fresh()):
            assert [usage_log.usage_of(memory).access for memory in MEMORIES] == list(
                there.heard.values()
            )
            assert there.answers(usage_log) == there.answers(
                there.usage_log[DEVICES[0]]
            )

    lived(law)


@RUNS
@given(steps, st.randoms())
def test_lines_may_come_in_any_order_and_twice(done, random):
    """What a union merge makes of the files of three devices folds into the same use."""

    def law(there):
        for step in done:
            there.step(*step)
        there.settled()
        before = there.answers(there.fresh())
        for path in there.files():
            lines = path.read_text().splitlines()
            lines += random.sample(lines, random.randint(0, len(lines)))
            random.shuffle(lines)
            path.write_text("".join(f"{line}\n" for line in lines))
        assert there.answers(there.fresh()) == before

    lived(law)


@RUNS
@given(steps, st.sampled_from(DEVICES))
def test_compaction_changes_no_answer(done, device):
    """Neither what the device that compacts answers, nor what is read anew; a second
    run changes no byte.
    """

    def law(there):
        for step in done:
            there.step(*step)
        there.settled()
        usage_log = there.usage_log[device]
        before = there.answers(usage_log)
        usage_log.compact(LATER)
        assert there.answers(usage_log) == there.answers(there.fresh()) == before
        held = {path: path.read_bytes() for path in there.files()}
        usage_log.compact(LATER)
        assert {path: path.read_bytes() for path in there.files()} == held

    lived(law)


@RUNS
@given(steps, st.integers(0, 2000))
def test_a_torn_tail_takes_back_the_last_of_it_and_no_more(done, cut):
    """Whatever the power left of a file answers as one of its states did, and writing
    goes on.
    """

    def law(there):
        states = [Usage()]
        for what, _, _ in done:
            there.step(what, DEVICES[0], MEMORIES[0])
            states.append(there.usage_log[DEVICES[0]].usage_of(MEMORIES[0]))
        there.usage_log[DEVICES[0]].flush()
        for path in there.files():
            path.write_bytes(path.read_bytes()[:cut])
        torn = there.fresh()
        assert torn.usage_of(MEMORIES[0]) in states
        there.usage_log = dict.fromkeys(DEVICES, torn)
        there.step("recall", DEVICES[0], MEMORIES[0])
        torn.flush()
        assert there.fresh().usage_of(MEMORIES[0]) == torn.usage_of(MEMORIES[0])

    lived(law)
