"""From filed memories to box and trace notes in a real vault: when, in which order, and
doing it twice.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.records import Create, Fact
from engram.core.text import ulid
from engram.errors import Health, StorageError
from engram.index.search import Index
from engram.pipeline.boxes import BoxWriter
from engram.vault import boxes as forms
from engram.vault import changes, facts, frontmatter, syscalls
from engram.vault.store import Vault

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


class Bench:
    """A vault with memories in it, and the boxing on it; `again` is a restart.

    A box of one memory is stored as well unless `least` says otherwise.
    """

    def __init__(self, settings, least=1) -> None:
        numbers = replace(settings.policy.boxes, least=least)
        self.settings = settings = replace(
            settings, policy=replace(settings.policy, boxes=numbers)
        )
        self.vault = Vault(settings.vault)
        self.index = Index(settings, self.vault)
        self.again()

    def again(self) -> None:
        self.health = Health()
        self.box_writer = BoxWriter(
            Vault(self.settings.vault),
            self.index,
            self.settings,
            self.health,
            lambda: self.settings.owner,
        )

    def facts(self, names, about=(), minutes=0.0):
        """The facts with these names, in the vault; the same ones when asked for again."""
        said = NOON + timedelta(minutes=minutes)
        made = []
        for name in names:
            fact = Fact(
                ulid(said, name),
                f"Statement {name}.",
                created=said,
                about=tuple(about),
                status="active",
            )
            if self.index.catalog.fact(fact.id) is None:
                path = facts.fact_path(
                    fact, self.settings.zone, taken=self.vault.exists
                )
                change = Create(
                    path,
                    facts.fact_keys(fact, self.settings.zone),
                    facts.fact_body(fact.text),
                    "test",
                )
                self.index.wrote(changes.write(self.vault, [change]))
            made.append(fact)
        return made

    def add(
        self,
        names,
        about=(),
        minutes=0.0,
        session="plans",
        later=0.0,
        people=(),
        persona=None,
    ):
        """File a batch said so long after noon, by a clock that shows `later` minutes
        more.
        """
        said = NOON + timedelta(minutes=minutes)
        made = self.facts(names, about, minutes)
        return self.box_writer.add(
            session, persona, [(made, said)], said + timedelta(minutes=later), people
        )

    def notes(self, folder):
        return sorted((self.settings.vault / folder).rglob("*.md"))

    def read(self, folder="boxes"):
        return [frontmatter.read(path.read_bytes()) for path in self.notes(folder)]

    def held(self):
        """The boxes as `state/open-boxes.jsonl` has them."""
        return forms.open_boxes_from((self.settings.vault / forms.OPEN).read_bytes())[0]

    def traces(self):
        """The traces of `state/traces.json`."""
        return json.loads((self.settings.vault / forms.TRACES).read_text())["traces"]

    def tree(self):
        """All files of boxes and traces, state included, with their bytes."""
        paths = [
            path
            for path in self.settings.vault.rglob("*")
            if path.is_file() and "facts" not in path.parts
        ]
        return {
            path.relative_to(self.settings.vault).as_posix(): path.read_bytes()
            for path in paths
        }


@pytest.fixture
def bench(settings):
    made = Bench(settings)
    yield made
    made.index.close()


def links(body):
    return [
        line[4:].partition("]]")[0]
        for line in body.split("\n")
        if line.startswith("- [[")
    ]


# row: C32
@pytest.mark.parametrize(
    "spoil", [lambda path: path.unlink(), lambda path: path.write_text("<<<<<<< mine")]
)
def test_the_traces_are_made_again_from_the_box_notes(bench, spoil):
    """The file of state is derived."""
    for n, about in enumerate(["Porto", "tea", "Porto", "tea", "sea"]):
        bench.add([f"m{n}"], [about, "x"] if about == "Porto" else [about], n)
    bench.box_writer.flush(NOON + timedelta(minutes=5))
    bench.box_writer.save()
    path = bench.settings.vault / "state" / "traces.json"
    assert sorted(len(trace["boxes"]) for trace in bench.traces().values()) == [1, 2, 2]
    spoil(path)
    bench.again()
    bench.add(["m9"], ["tea"], 9)
    bench.box_writer.flush(NOON + timedelta(minutes=9))
    bench.box_writer.save()
    assert sorted(len(trace["boxes"]) for trace in bench.traces().values()) == [1, 2, 3]
    assert len(bench.notes("traces")) == 2
    (bench.settings.vault / "boxes" / "mine.md").write_text("A note of my own.")
    (bench.settings.vault / "boxes" / "link.md").symlink_to("/etc/hostname")
    assert (
        forms.traces_text(forms.traces_from_notes(bench.vault, bench.settings.zone))
        == path.read_bytes()
    )


# row: C31
def test_damaged_open_boxes_are_reported_and_begun_anew(bench):
    """The memories and their notes are not touched by that."""
    bench.add("a", ["Porto"])
    (bench.settings.vault / "state" / "open-boxes.jsonl").write_text("{")
    bench.again()
    assert "open-boxes.jsonl" in bench.health.problems()["boxes"]
    bench.add("b", ["Porto"], 1)
    assert [len(held.box.memories) for held in bench.held()] == [1]


# row: C32
@pytest.mark.parametrize(
    "spoil", [lambda path: path.unlink(), lambda path: path.write_text("{")]
)
def test_a_trace_keeps_its_latest_boxes_where_the_open_ones_are_lost(bench, spoil):
    """The list of traces is written seldom; its latest boxes stand beside the open
    ones, and in their notes.
    """
    bench.add("a", ["Porto"])
    bench.box_writer.flush(NOON)
    bench.box_writer.save()
    bench.add("b", ["Porto"], 1)
    bench.box_writer.flush(NOON + timedelta(minutes=1))
    spoil(bench.settings.vault / "state" / "open-boxes.jsonl")
    bench.again()
    bench.add("c", ["Porto"], 2)
    bench.box_writer.flush(NOON + timedelta(minutes=2))
    (trace,) = bench.read("traces")
    assert len(links(trace.body)) == len(bench.notes("boxes")) == 3


# row: X3
# row: C32
def test_a_note_that_a_person_is_editing_is_put_off(settings):
    """For a minute; then it is written around their words."""
    files = replace(settings.policy.files, quiet_seconds=60)
    bench = Bench(replace(settings, policy=replace(settings.policy, files=files)))
    now = NOON
    bench.add("a", ["Porto"])
    bench.box_writer.flush(now)
    bench.add("c", ["Porto"], 1)
    bench.box_writer.flush(now)
    (trace,) = bench.notes("traces")
    trace.write_text(trace.read_text() + "I loved that town.\n")
    os.utime(trace, (now.timestamp() + 60 * 9.5,) * 2)
    theirs = trace.read_bytes()
    bench.add("b", ["Porto"], 10)
    now += timedelta(minutes=10)
    bench.box_writer.flush(now)
    assert (trace.read_bytes(), len(bench.notes("boxes"))) == (theirs, 2)
    assert bench.box_writer.next_due() == now + timedelta(seconds=60)
    bench.again()
    bench.box_writer.seal_due(now + timedelta(seconds=60))
    assert len(bench.notes("boxes")) == 3
    assert trace.read_text().endswith("I loved that town.\n")
    assert len(links(trace.read_text())) == 3
    assert bench.box_writer.next_due() is None
    bench.index.close()


# row: C32
def test_a_trace_note_that_cannot_be_read_waits_and_holds_nothing_up(bench):
    """It is a person's to mend; the fault is told until then."""
    for name in "ad":
        bench.add(name, ["Porto"])
        bench.box_writer.flush(NOON)
    (trace,) = bench.notes("traces")
    sound = trace.read_text()
    trace.write_text(sound.replace("kind:", "kind: ["))
    bench.add("b", ["Porto"], 1)
    bench.add("c", ["tea"], 2)
    bench.box_writer.flush(NOON + timedelta(minutes=3))
    assert len(bench.notes("boxes")) == 4
    assert "boxes" in bench.health.problems()
    trace.write_text(sound)
    bench.box_writer.seal_due(NOON + timedelta(minutes=5))
    assert bench.health.problems() == {}
    assert len(links(trace.read_text())) == 3


class Killed(BaseException):
    """The process is gone."""


class Dying(syscalls.Syscalls):
    """A process that dies at its `left`-th write or change of a name, before or after
    it.
    """

    def __init__(self, left, *, after) -> None:
        self.left = left
        self.after = after

    def _count(self, change):
        self.left -= 1
        if self.left == 0 and not self.after:
            raise Killed
        done = change()
        if self.left <= 0:
            raise Killed
        return done

    def write(self, *what):
        return self._count(lambda: super(Dying, self).write(*what))

    def rename(self, *names, **flags):
        self._count(lambda: super(Dying, self).rename(*names, **flags))

    def link(self, *names):
        self._count(lambda: super(Dying, self).link(*names))

    def unlink(self, *names):
        self._count(lambda: super(Dying, self).unlink(*names))


class Refusing(Dying):
    """A disk that refuses the `left`-th write or change of a name, and no other."""

    def _count(self, change):
        self.left -= 1
        if self.left == 0:
            raise OSError(5, "Input/output error")
        return change()


# row: C31
def test_what_the_disk_refuses_is_done_later(bench, monkeypatch):
    """Before the decision the batch is refused; behind it the fault is told, and
    nothing is lost or done twice.
    """
    refused = told = 0
    for left in range(1, 100):
        disk = Refusing(left, after=False)
        bench.facts("ab", ["Porto", str(left)], left * 60)
        before = len(bench.notes("boxes"))
        with monkeypatch.context() as patched:
            patched.setattr(syscalls, "SYS", disk)
            try:
                bench.add("ab", ["Porto", str(left)], left * 60)
                bench.box_writer.flush(NOON + timedelta(minutes=left * 60))
            except StorageError:
                refused += 1
            else:
                told += bool(bench.health.problems())
                assert (
                    bench.health.problems()
                    or disk.left > 0
                    or len(bench.notes("boxes")) == before + 1
                )
        bench.add("ab", ["Porto", str(left)], left * 60)
        bench.box_writer.flush(NOON + timedelta(minutes=left * 60))
        assert bench.health.problems() == {}
        assert bench.box_writer.next_due() is None
        assert len(bench.notes("boxes")) == before + 1
        if disk.left > 0:
            break
    assert refused > 1 < told


# row: C31
# row: C32
@pytest.mark.parametrize("after", [False, True])
def test_a_crash_anywhere_heals_when_the_batch_is_filed_again(
    settings, monkeypatch, after
):
    """The tree is then what it would have been without the crash, byte for byte."""
    small = replace(settings.policy, boxes=replace(settings.policy.boxes, memories=3))
    bench = Bench(replace(settings, policy=small))
    bench.add("ab", ["Porto"])
    bench.facts("cd", ["Porto"], 1)
    bench.facts("e", ["tea"], 2)
    start = bench.settings.vault.with_name("start")
    shutil.copytree(bench.settings.vault, start)

    def work():
        bench.add("cd", ["Porto"], 1)  # joins and is one too many
        bench.add("e", ["tea"], 2)
        bench.add("", (), 50)  # nobody said anything to keep
        bench.box_writer.flush(NOON + timedelta(minutes=50))
        bench.box_writer.save()

    work()
    wanted = bench.tree()
    assert len(bench.notes("boxes")) == 2
    crashes = 0
    for left in range(1, 100):
        shutil.rmtree(bench.settings.vault)
        shutil.copytree(start, bench.settings.vault)
        bench.again()
        try:
            with monkeypatch.context() as disk:
                disk.setattr(syscalls, "SYS", Dying(left, after=after))
                work()
        except Killed:
            crashes += 1
            bench.again()
            bench.box_writer.vault.settle_leftovers(
                datetime.now(UTC) + timedelta(hours=1), 0
            )
            work()
            assert bench.tree() == wanted, left
        else:
            break
    assert crashes > 8
    bench.index.close()


# row: C31
def test_a_stretch_of_fewer_than_three_memories_gets_no_box(settings):
    """Two are found as well without one."""
    bench = Bench(settings, settings.policy.boxes.least)
    bench.add("ab", ["Porto"])
    bench.box_writer.flush(NOON + timedelta(minutes=5))
    assert not bench.notes("boxes")
    bench.add("cd", ["tea"], 60)
    assert [row.box.topics for row in bench.held()] == [("tea",)]
    bench.add("e", ["tea"], 61)
    bench.box_writer.flush(NOON + timedelta(minutes=65))
    assert [links(note.body) for note in bench.read()] == [
        [
            f"{path.stem}|Statement {name}."
            for name, path in zip(
                "cde",
                sorted((settings.vault / "facts").rglob("*statement-[cde]-*")),
                strict=True,
            )
        ]
    ]
    bench.index.close()
