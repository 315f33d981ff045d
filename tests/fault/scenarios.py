"""Work on the disk for the batteries: files alone, the journal alone, and both as a
filing uses them.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engram.core.policy import JournalPolicy
from engram.core.records import FiledTurn, Move, Turn
from engram.errors import EngramError
from engram.vault import changes, disk, frontmatter
from engram.vault.journal import Journal
from engram.vault.store import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

WHEN = datetime(2026, 11, 20, 21, 14, tzinfo=UTC)
POLICY = JournalPolicy(segment_bytes=900)
"""Small segments, so that a short run closes, carries and removes some."""


def turn(number: int) -> FiledTurn:
    """The turn with that number, always the same."""
    said = Turn(
        f"id-{number}", "talk", "user", f"Sentence {number}.\nIt has “two” lines.", WHEN
    )
    return FiledTurn(said, "2026-11-20-talk", f"t{number}")


def sweep(root: Path) -> None:
    """What a start does with hidden files; none may hold a person's words here."""
    for hidden in list(disk.leftovers(root)):
        left = disk.settle(hidden, time.time(), 0)
        assert left.state == "gone", f"{hidden.name}: {left.state}"


def texts(root: Path) -> dict[str, bytes]:
    """The notes under `root` by their paths in it."""
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.md")
    }


class FilesWork:
    """Every function of `files`, over `rounds` notes."""

    name = "files"
    kept = "."

    def __init__(self, rounds: int = 3, names: str = "ab") -> None:
        self.rounds = rounds
        self.names = names

    def setup(self, root: Path) -> None:
        (root / "facts").mkdir()
        for number in range(self.rounds):
            (root / f"facts/old-{number}.md").write_bytes(self.old(number))
        (root / "log.jsonl").write_bytes(b'"torn')

    def old(self, number: int) -> bytes:
        return f"old {number}\n".encode() * 40

    def new(self, number: int) -> bytes:
        return f"new {number}\n".encode() * 60

    def run(self, root: Path, ack: Callable[[str], object]) -> None:
        for number in range(self.rounds):
            for step in (
                self.create,
                self.replace,
                self.move,
                self.append,
                self.derive,
            ):
                try:
                    step(root, number, ack)
                except EngramError:
                    continue

    def create(self, root: Path, number: int, ack: Callable[[str], object]) -> None:
        with disk.DeferredSyncs() as pending:
            folder = root / f"facts/day-{number}"
            disk.make_folders(folder, pending)
            for name in self.names:
                disk.write_new(folder / f"{name}.md", self.new(number), pending)
        ack(f"created {number}")

    def replace(self, root: Path, number: int, ack: Callable[[str], object]) -> None:
        disk.replace(
            root / f"facts/old-{number}.md",
            self.new(number),
            disk.sha256(self.old(number)),
        )
        ack(f"replaced {number}")

    def move(self, root: Path, number: int, ack: Callable[[str], object]) -> None:
        disk.make_folders(root / "archive")
        disk.move(root / f"facts/old-{number}.md", root / f"archive/old-{number}.md")
        ack(f"moved {number}")

    def append(self, root: Path, number: int, ack: Callable[[str], object]) -> None:
        disk.append(root / "log.jsonl", b"%d\n" % number)
        disk.append(root / f"log-{number}.jsonl", b"%d\n" % number)
        ack(f"logged {number}")

    def derive(self, root: Path, number: int, ack: Callable[[str], object]) -> None:
        disk.write_derived(root / "snapshot", self.new(number))
        disk.remove(root / "snapshot")
        ack("")

    def recover(self, root: Path) -> None:
        sweep(root)

    def check(self, root: Path, acked: Sequence[str]) -> None:
        notes = texts(root)
        for number in range(self.rounds):
            for name in self.names:
                path = f"facts/day-{number}/{name}.md"
                found = notes.pop(path, None)
                assert found in (self.new(number), None), f"{path} is not whole"
                assert found or f"created {number}" not in acked, f"{path} is lost"
            here, there = (
                notes.pop(f"facts/old-{number}.md", None),
                notes.pop(f"archive/old-{number}.md", None),
            )
            assert (here is None) is not (there is None), (
                f"note {number} is gone or double"
            )
            whole = (
                (self.new(number),)
                if f"replaced {number}" in acked
                else (self.new(number), self.old(number))
            )
            assert (here or there) in whole, f"note {number} is not whole"
            assert here is None or f"moved {number}" not in acked
            if f"logged {number}" in acked:
                assert (
                    b"%d" % number in (root / "log.jsonl").read_bytes().split(b"\n")[1:]
                )
                assert (root / f"log-{number}.jsonl").read_bytes() == b"%d\n" % number
        assert not notes


class MovesWork:
    """Notes move to another folder, one patched on the way and one as it is; a start
    makes the same plans again.
    """

    name = "moves"
    kept = "."

    def __init__(self, rounds: int = 2) -> None:
        self.rounds = rounds
        self.undone: set[str] = set()

    def setup(self, root: Path) -> None:
        (root / "facts").mkdir()
        (root / "engram.toml").touch()
        for number in range(self.rounds):
            for name in "pq":
                (root / f"facts/{name}{number}.md").write_bytes(self.old(number))

    def old(self, number: int) -> bytes:
        return f"---\nid: {number}\nstatus: review\n---\nA statement.\n\n## Review\n\n- [x] Keep it\n".encode()

    def plans(self, number: int) -> list[Move]:
        raw = self.old(number)
        keys = {"status": "archived", "end_reason": "value"}
        return [
            Move(
                f"facts/p{number}.md",
                disk.sha256(raw),
                f"archive/day/p{number}.md",
                keys,
                "w",
                "A statement.\n",
            ),
            Move(
                f"facts/q{number}.md",
                disk.sha256(raw),
                f".trash/day/q{number}.md",
                {},
                "w",
            ),
        ]

    def run(self, root: Path, ack: Callable[[str], object]) -> None:
        vault = Vault(root)
        for number in range(self.rounds):
            for plan in self.plans(number):
                try:
                    changes.write(vault, [plan])
                except EngramError:
                    continue
                ack(plan.to)

    def recover(self, root: Path) -> None:
        sweep(root)
        vault = Vault(root)
        self.undone = {
            plan.to
            for number in range(self.rounds)
            for plan in self.plans(number)
            if vault.exists(plan.path)
        }
        for number in range(self.rounds):
            for plan in self.plans(number):
                if (
                    vault.exists(plan.path)
                    or disk.sha256(vault.read(plan.to)) == plan.sha
                ):
                    changes.write(vault, [plan])

    def check(self, root: Path, acked: Sequence[str]) -> None:
        notes = texts(root)
        for number in range(self.rounds):
            for plan in self.plans(number):
                new = frontmatter.edit(self.old(number), plan.keys, plan.body)
                assert notes.pop(plan.to, None) == new, (
                    f"{plan.to} is not there or not whole"
                )
        assert self.undone.isdisjoint(acked), (
            f"moves were undone: {self.undone.intersection(acked)}"
        )
        assert not notes, f"a note stands twice: {sorted(notes)}"


class JournalWork:
    """The journal through its whole life: turns, settled out of order, parked, buried,
    carried on.
    """

    name = "journal"
    kept = "."

    def __init__(self, rounds: int = 8) -> None:
        self.rounds = rounds

    def setup(self, root: Path) -> None:
        journal = Journal(root / "journal", POLICY)
        journal.replay()
        journal.append([turn(0)])
        journal.close()

    def run(self, root: Path, ack: Callable[[str], object]) -> None:
        journal = Journal(root / "journal", POLICY)
        stored = {filed.turn.id: seq for seq, filed in journal.replay().turns}
        try:
            for first in range(1, 3 * self.rounds, 3):
                for step in self.steps(journal, first, stored, ack):
                    try:
                        step()
                    except EngramError:
                        continue
        finally:
            journal.close()

    def steps(
        self,
        journal: Journal,
        first: int,
        stored: dict[str, int],
        ack: Callable[[str], object],
    ) -> Iterator[Callable[[], None]]:
        """One round; a turn that was refused is sent once more."""

        def store(*numbers: int) -> None:
            wanted = [number for number in numbers if f"id-{number}" not in stored]
            seqs = journal.append([turn(number) for number in wanted])
            stored.update(
                {f"id-{number}": seq for number, seq in zip(wanted, seqs, strict=True)}
            )
            for number in wanted:
                ack(f"stored {number}")

        def settle(number: int) -> None:
            if seq := stored.get(f"id-{number}"):
                ack(f"settling {number}")
                journal.settle([seq], "filed")
                ack(f"settled {number}")

        def put_aside() -> None:
            if seq := stored.get(f"id-{first + 2}"):
                journal.park([seq], 2, WHEN, "model is away")
                if first == 1:
                    journal.give_up([seq], 3, "given up")
                    ack(f"buried {first + 2}")

        yield lambda: store(first)
        yield lambda: store(first)
        yield lambda: store(first + 1, first + 2)
        yield lambda: store(first + 1, first + 2)
        yield lambda: settle(first + 1)
        yield put_aside
        yield lambda: settle(first)
        if first > 1:
            yield lambda: settle(first + 2)

    def recover(self, root: Path) -> None:
        Journal(root / "journal", POLICY).replay()

    def check(self, root: Path, acked: Sequence[str]) -> None:
        queue = Journal(root / "journal", POLICY).replay()
        assert all(problem.code == "journal-torn" for problem in queue.problems), (
            queue.problems
        )
        dead = [filed for letter in queue.dead for _, filed in letter.turns]
        held = [filed for _, filed in queue.turns]
        names = [filed.turn.id for filed in (*held, *dead)]
        assert len(names) == len(set(names)), "a turn twice"
        for filed in (*held, *dead):
            assert filed == turn(int(filed.turn.id.removeprefix("id-")))
        for number in range(3 * self.rounds + 1):
            name = f"id-{number}"
            if f"settled {number}" in acked:
                assert name not in names, f"settled turn {number} came back"
            elif number == 0 or (
                f"stored {number}" in acked and f"settling {number}" not in acked
            ):
                assert name in names, f"turn {number} is lost"
            if f"buried {number}" in acked:
                assert name in {filed.turn.id for filed in dead}, (
                    f"dead letter {number} is lost"
                )


class FilingWork:
    """Turns are journalled and acknowledged, then each becomes a note, then the journal
    lets go of it.
    """

    name = "filing"
    kept = "."

    def __init__(self, rounds: int = 6) -> None:
        self.rounds = rounds

    def setup(self, root: Path) -> None:
        (root / "vault").mkdir()

    def note(self, filed: FiledTurn) -> bytes:
        return f"---\nsource: {filed.key}\n---\n{filed.turn.text}\n".encode()

    def run(self, root: Path, ack: Callable[[str], object]) -> None:
        journal = Journal(root / "journal", POLICY)
        journal.replay()
        try:
            for first in range(0, 2 * self.rounds, 2):
                try:
                    batch = [turn(first), turn(first + 1)]
                    seqs = journal.append(batch)
                    ack(f"stored {first}")
                    ack(f"stored {first + 1}")
                    self.file(root, journal, list(zip(seqs, batch, strict=True)))
                except EngramError:
                    continue
        finally:
            journal.close()

    def file(
        self, root: Path, journal: Journal, batch: Sequence[tuple[int, FiledTurn]]
    ) -> None:
        """Notes durable, then the checkpoint."""
        self.write(root, batch)
        journal.settle([seq for seq, _ in batch], "filed")

    def write(self, root: Path, batch: Sequence[tuple[int, FiledTurn]]) -> None:
        with disk.DeferredSyncs() as pending:
            for _, filed in batch:
                folder = root / "vault/facts" / filed.note
                disk.make_folders(folder, pending)
                disk.write_new(folder / f"{filed.block}.md", self.note(filed), pending)

    def recover(self, root: Path) -> None:
        sweep(root)
        journal = Journal(root / "journal", POLICY)
        if batch := journal.replay().turns:
            self.file(root, journal, batch)
        journal.close()

    def check(self, root: Path, acked: Sequence[str]) -> None:
        notes = texts(root / "vault")
        for number in range(2 * self.rounds):
            found = notes.pop(f"facts/{turn(number).note}/t{number}.md", None)
            assert found in (self.note(turn(number)), None), (
                f"note {number} is not whole"
            )
            assert found or f"stored {number}" not in acked, f"turn {number} is lost"
        assert not notes
