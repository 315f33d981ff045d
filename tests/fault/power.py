"""The power-cut model: what may be on the disk when the current goes, as far as syncs
do not forbid it.

A run is recorded once; the states are made from the record, not by running again.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batteries import spread
from harness import Call, Seam, clear, installed, site

from engram.vault.syscalls import EXCHANGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness import Bench

BYTES = ("write", "truncate")
WHOLE, MISSING = "whole 1", "missing 1"
"""What becomes of a write: its fate and the share of it that is not struck; `short` and
`zeroes` are others.
"""


@dataclass(frozen=True)
class Op:
    """One recorded call: what it touches by name, or which file's bytes, and where a
    sync reaches.
    """

    kind: str
    names: tuple[str, ...] = ()
    node: int = 0
    at: int = 0
    content: bytes = b""
    flags: int = 0


@dataclass
class Disk:
    """A tree of names over files: what a disk would hold."""

    folders: set[str] = field(default_factory=lambda: {"."})
    names: dict[str, int] = field(default_factory=dict)
    content: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Path) -> Disk:
        disk = cls()
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            if path.is_dir():
                disk.folders.add(name)
            else:
                disk.names[name] = -len(disk.names) - 1
                disk.content[disk.names[name]] = path.read_bytes()
        return disk

    def copy(self) -> Disk:
        return Disk(set(self.folders), dict(self.names), dict(self.content))

    def apply(self, op: Op) -> None:
        """Let the op have happened, as far as its names are there."""
        names = self.names
        match op.kind:
            case "write":
                old = self.content.get(op.node, b"").ljust(op.at, b"\0")
                self.content[op.node] = (
                    old[: op.at] + op.content + old[op.at + len(op.content) :]
                )
            case "truncate":
                self.content[op.node] = self.content.get(op.node, b"")[: op.at].ljust(
                    op.at, b"\0"
                )
            case "create":
                names[op.names[0]] = op.node
                self.content.setdefault(op.node, b"")
            case "mkdir":
                self.folders.add(op.names[0])
            case "unlink":
                names.pop(op.names[0], None)
            case "link":
                names[op.names[1]] = names[op.names[0]]
            case "rename" if op.flags == EXCHANGE:
                old, new = op.names
                names[old], names[new] = names[new], names[old]
            case "rename":
                names[op.names[1]] = names.pop(op.names[0])

    def write(self, root: Path) -> None:
        """Put it into a real folder."""
        clear(root, self.folders)
        for folder in sorted(self.folders):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for name, node in self.names.items():
            (root / name).write_bytes(self.content[node])

    def signature(self) -> int:
        return hash(
            (
                frozenset(self.folders),
                frozenset(
                    (name, self.content[node]) for name, node in self.names.items()
                ),
            )
        )


class Recording(Seam):
    """Writes down every changing call, with its bytes, and keeps the tree beside it."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self.disk = Disk.of(root)
        self.ops: list[Op] = []
        self.sites: list[object] = []
        self.places: dict[int, str] = {}
        self.nodes: dict[int, int] = {}
        self.appending: set[int] = set()
        self.fresh_node = 0

    def note(self, op: Op) -> None:
        self.add(op)
        self.disk.apply(op)

    def add(self, op: Op) -> None:
        self.ops.append(op)
        self.sites.append((op.kind, site()))

    def place(self, name: str, folder: int | None) -> str:
        full = Path(name) if folder is None else self.root / self.places[folder] / name
        return str(full.relative_to(self.root))

    def meet(self, call: Call) -> Any:
        args = call.args
        size = os.fstat(args[0]).st_size if call.name == "write" else 0
        result = call.go()
        match call.name:
            case "open":
                self.opened(result, self.place(args[0], args[3]), args[1])
            case "write":
                at = (
                    size
                    if args[0] in self.appending
                    else os.lseek(args[0], 0, os.SEEK_CUR) - result
                )
                self.note(
                    Op(
                        "write",
                        node=self.nodes[args[0]],
                        at=at,
                        content=bytes(args[1][:result]),
                    )
                )
            case "truncate":
                self.note(Op("truncate", node=self.nodes[args[0]], at=args[1]))
            case "fsync" | "fdatasync":
                self.add(Op("sync", (self.places[args[0]],), self.nodes[args[0]]))
            case "mkdir" | "unlink":
                self.note(Op(call.name, (self.place(args[0], args[-1]),)))
            case "link":
                self.note(
                    Op(
                        "link",
                        (self.place(args[0], args[2]), self.place(args[1], args[2])),
                    )
                )
            case "rename":
                self.note(
                    Op(
                        "rename",
                        (self.place(args[0], args[2]), self.place(args[1], args[3])),
                        flags=args[4],
                    )
                )
        return result

    def by_hand(self, path: Path) -> None:
        """The file was written beside its place, synced, and renamed over it."""
        place = str(path.relative_to(self.root))
        self.fresh_node += 1
        self.note(Op("write", node=self.fresh_node, content=path.read_bytes()))
        self.add(Op("sync", (place,), self.fresh_node))
        self.note(Op("create", (place,), self.fresh_node))
        self.add(Op("sync", (str(Path(place).parent),)))

    def opened(self, descriptor: int, place: str, flags: int) -> None:
        """Remember what a descriptor stands for."""
        if flags & os.O_CREAT and place not in self.disk.names:
            self.fresh_node += 1
            self.note(Op("create", (place,), self.fresh_node))
        self.places[descriptor] = place
        self.nodes[descriptor] = self.disk.names.get(place, 0)
        (self.appending.add if flags & os.O_APPEND else self.appending.discard)(
            descriptor
        )


@dataclass
class Record:
    """A recorded run: which earlier calls each call needs, since they deal with the
    same names.
    """

    ops: list[Op]

    def __post_init__(self) -> None:
        self.needs: list[list[int]] = []
        for index, op in enumerate(self.ops):
            mine = {above for name in op.names for above in (name, *_above(name))}
            named = op.kind not in BYTES and op.kind != "sync"
            earlier = range(index) if named else ()
            self.needs.append(
                [
                    at
                    for at in earlier
                    if self.ops[at].kind != "sync" and mine & set(self.ops[at].names)
                ]
            )

    def durable(self, cut: int) -> set[int]:
        """The calls before `cut` which a sync before `cut` made durable, with all they
        need.
        """
        files_synced: dict[int, int] = {}
        folders_synced: dict[str, int] = {}
        for index, op in enumerate(self.ops[:cut]):
            if op.kind == "sync" and op.node:
                files_synced[op.node] = index
            elif op.kind == "sync":
                folders_synced[op.names[0]] = index
        kept = set()
        for index in reversed(range(cut)):
            op = self.ops[index]
            if op.kind in BYTES:
                safe = files_synced.get(op.node, -1) > index
            else:
                safe = all(
                    folders_synced.get(str(Path(name).parent), -1) > index
                    for name in op.names
                )
            if op.kind != "sync" and (safe or index in kept):
                kept |= {index, *self.needs[index]}
        return kept

    def states(
        self, start: Disk, cut: int, per_cut: int, chance: random.Random
    ) -> Iterator[tuple[str, Disk]]:
        """What may be on the disk after `cut` calls, with a label."""
        safe = self.durable(cut)
        open_ops = [
            index
            for index in range(cut)
            if index not in safe and self.ops[index].kind != "sync"
        ]
        names = [index for index in open_ops if self.ops[index].kind not in BYTES]
        writes = [index for index in open_ops if self.ops[index].kind in BYTES]
        for most in range(len(names) + 1):
            for fate in (WHOLE, MISSING):
                yield (
                    f"ordered, {most} names, bytes {fate}",
                    self.disk(
                        start,
                        cut,
                        safe | set(names[:most]),
                        dict.fromkeys(writes, fate),
                    ),
                )
        for index in names:
            yield (
                f"weak, without name {index}",
                self.disk(start, cut, safe | set(names) - {index}, {}),
            )
            yield f"weak, only name {index}", self.disk(start, cut, safe | {index}, {})
        for index in writes:
            for fate in _fates(per_cut):
                yield (
                    f"weak, write {index} {fate}",
                    self.disk(start, cut, safe | set(names), {index: fate}),
                )
        for turn in range(per_cut if open_ops else 0):
            kept = {index for index in names if chance.random() < 0.5}
            fates = {
                index: chance.choice([WHOLE, *_fates(per_cut)]) for index in writes
            }
            yield f"weak, draw {turn}", self.disk(start, cut, safe | kept, fates)

    def disk(
        self, start: Disk, cut: int, kept: set[int], fates: dict[int, str]
    ) -> Disk:
        """The disk after the first `cut` calls, of which names not in `kept` are lost
        and writes have a fate.
        """
        disk = start.copy()
        lost: set[int] = set()
        for index, op in enumerate(self.ops[:cut]):
            if op.kind == "sync":
                continue
            if op.kind in BYTES:
                _write(disk, op, fates.get(index, WHOLE))
            elif index in kept and lost.isdisjoint(self.needs[index]):
                disk.apply(op)
            else:
                lost.add(index)
        return disk


def _write(disk: Disk, op: Op, fate: str) -> None:
    """Let a write have its fate."""
    what, share = fate.split()
    good = op.content[: int(len(op.content) * float(share))]
    if what == "zeroes":
        good = good.ljust(len(op.content), b"\0")
    if what != "missing":
        disk.apply(replace(op, content=good))


def _fates(shares: int) -> list[str]:
    """Missing, or cut or zeroed from so many places on."""
    return [
        MISSING,
        *(
            f"{what} {at / shares}"
            for at in range(shares)
            for what in ("short", "zeroes")
        ),
    ]


def _above(name: str) -> Iterator[str]:
    """The folders in which a name stands."""
    return map(str, Path(name).parents)


def cut_power(
    bench: Bench, per_cut: int, seed: int = 0, most: int | None = None
) -> int:
    """Every state the disk may be in after a cut at every call, as far as `per_cut`
    goes, or `most` of those.

    How many were judged, of states that differ.

    *Ordered*: names reach the disk in order, with all or none of the unsynced bytes.
    *Weak*: any unsynced name or write may be missing, and a write may also be cut short
    or zeroes; what needs a missing name is missing too. Only a sync of the folder makes
    a name durable, only one of the file its bytes.
    """
    chance = random.Random(seed)
    root = bench.fresh()
    seam = bench.seam(Recording, root)
    marks: list[tuple[int, str]] = []
    with installed(seam):
        bench.scenario.run(root, lambda item: marks.append((len(seam.ops), item)))
    seam.bury()
    record = Record(seam.ops)
    start = Disk.of(bench.base)
    found: dict[tuple[int, int], tuple[int, str, Disk]] = {}
    sites = ["", *seam.sites]
    cuts = range(len(record.ops) + 1)
    # a state takes longer the later it is: of few, few cuts are looked at
    for cut in spread(cuts, lambda cut: sites[cut], most and 10 * most):
        promised = sum(at <= cut for at, _ in marks)
        for label, disk in record.states(start, cut, per_cut, chance):
            found.setdefault((disk.signature(), promised), (cut, label, disk))
    cases = spread(
        list(found.items()),
        lambda case: (sites[case[1][0]], case[1][1].partition(" ")[0]),
        most,
    )
    for (_, promised), (cut, label, disk) in cases:
        disk.write(bench.work)
        acked = [item for _, item in marks[:promised]]
        bench.judge(
            bench.work,
            acked,
            f"power cut after call {cut} of {len(record.ops)}, {label}",
        )
    return len(cases)
