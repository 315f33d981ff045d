"""Speeds of the way in: acknowledgement, group commit, scan and redaction, filing, a
whole import.
"""

from __future__ import annotations

import json
import os
import statistics
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

import material
from figures import Row, milliseconds, quantile, ratio, seconds_of

from engram.core.language.secrets import redact
from engram.core.language.signals import scan, table
from engram.core.policy import Policy
from engram.ingest.importers import read_export
from engram.memory import VaultMemory
from engram.serve import observe
from engram.vault import syscalls

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from engram.core.records import Turn

ALONE, CLIENTS, EACH, BATCHES, SCANS, IMPORTED = 200, 64, 20, 60, 1000, 10_000
MEMORIES = 2000
SLOW = 0.002
"""Seconds that each sync takes longer in the rows that tell of a slower disk."""
BATCH = Policy().buffer.turns
LARGEST = Policy().journal.turn_bytes
SLOWLY = f", {SLOW * 1e3:g} ms a sync"


def rows(folder: Path) -> Iterator[Row]:
    """All rows of writing, each on a vault of its own below `folder`."""
    with begun(folder / "observe") as memory:
        yield from observing(memory, folder)
    with begun(folder / "filing") as memory:
        yield from note_writer(memory, folder)
    with begun(folder / "slow-filing") as memory, calls_through(SlowSyscalls()):
        yield from note_writer(memory, folder / "slow", SLOWLY)
    yield from scanning()
    with begun(folder / "import") as memory:
        yield from importing(memory, folder, IMPORTED)
    with begun(folder / "slow-import") as memory, calls_through(SlowSyscalls()):
        yield from importing(memory, folder / "slow", IMPORTED // 5, SLOWLY)
    with begun(folder / "memories") as memory:
        yield from importing_memories(memory, folder)


@contextmanager
def begun(root: Path) -> Iterator[VaultMemory]:
    """A memory of an empty vault."""
    material.vault(root / "vault", 0)
    memory = VaultMemory(material.settings(root / "vault", root / "home"))
    memory.start()
    memory.catch_up()
    try:
        yield memory
    finally:
        memory.close()


def said(turns: Sequence[Turn]) -> list[dict[str, str]]:
    """Turns as `observe` takes them."""
    return [
        {
            "id": turn.id,
            "session": turn.session,
            "role": turn.role,
            "text": turn.text,
            "speaker": turn.speaker,
        }
        | {"occurred_at": turn.occurred_at.isoformat()}
        for turn in turns
    ]


# Acknowledging.


def observing(memory: VaultMemory, folder: Path) -> Iterator[Row]:
    """From the call to the answer, as in the daemon, where batches are distilled by
    others.
    """
    memory.executor.attended = True
    turns = said(list(material.turns(ALONE + CLIENTS * EACH)))
    descriptor = os.open(folder / "appended", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    ours, bare = [], []
    for turn in turns[:ALONE]:
        ours.append(
            seconds_of(lambda turn=turn: memory.call("observe", {"turns": [turn]}))
        )
        bare.append(
            seconds_of(lambda turn=turn: append(descriptor, f"{turn}\n".encode()))
        )
    os.close(descriptor)
    yield ratio(
        "observe, acknowledged",
        "–",
        statistics.median(ours),
        ("append+sync", statistics.median(bare)),
        3.0,
    )
    counter = CountingSyscalls()
    with calls_through(counter):
        seconds = crowd(memory, turns[ALONE:])
    total = CLIENTS * EACH
    rate = f"{total / seconds:,.0f}/s"
    yield Row(
        f"observe, {CLIENTS} clients",
        "–",
        rate,
        f"{counter.syncs} syncs",
        total / counter.syncs,
        20,
        "/sync",
        True,
    )


def append(descriptor: int, content: bytes) -> None:
    """The yardstick of an acknowledgement."""
    os.write(descriptor, content)
    syscalls.SYS.fdatasync(descriptor)


class CountingSyscalls(syscalls.Syscalls):
    """The real calls, with a count of the syncs."""

    def __init__(self) -> None:
        self.syncs = 0

    def fsync(self, descriptor: int) -> None:
        """Count and sync."""
        self.syncs += 1
        super().fsync(descriptor)

    def fdatasync(self, descriptor: int) -> None:
        """Count and sync."""
        self.syncs += 1
        super().fdatasync(descriptor)


class SlowSyscalls(syscalls.Syscalls):
    """The real calls, with syncs that take `SLOW` longer."""

    def fsync(self, descriptor: int) -> None:
        """Wait and sync."""
        time.sleep(SLOW)
        super().fsync(descriptor)

    def fdatasync(self, descriptor: int) -> None:
        """Wait and sync."""
        time.sleep(SLOW)
        super().fdatasync(descriptor)


@contextmanager
def calls_through(seam: syscalls.Syscalls) -> Iterator[None]:
    """Everything goes to the disk through `seam`, the yardsticks too."""
    before, syscalls.SYS = syscalls.SYS, seam
    try:
        yield
    finally:
        syscalls.SYS = before


def crowd(memory: VaultMemory, turns: Sequence[dict[str, str]]) -> float:
    """Seconds until every client, each waiting for its answer before it goes on, has
    said its turns.
    """

    def client(number: int) -> None:
        for turn in turns[number::CLIENTS]:
            memory.call("observe", {"turns": [turn]})

    threads = [
        threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)
    ]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin


# Filing.


def note_writer(memory: VaultMemory, folder: Path, where: str = "") -> Iterator[Row]:
    """A batch from the buffer to the vault: session file, offline extraction, all
    rungs, facts, log, journal.

    The yardstick writes the very notes that were written, entities, boxes and traces
    too, each with a sync of its own.
    """
    memory.executor.attended = True
    bare = Bare(folder / "bare")
    ours, spent, yardsticks, written = [], [], [], 0
    counter = CountingSyscalls()
    stood = notes(memory.settings.vault)
    for start in range(0, BATCHES * BATCH, BATCH):
        turns = list(material.turns(BATCHES * BATCH))[start : start + BATCH]
        memory.call("observe", {"turns": said(turns)})
        memory.queue.hurry()
        with calls_through(syscalls.SYS if where else counter):
            begin, cpu = time.perf_counter(), time.process_time()
            for batch in memory.pipeline.due(datetime.now(UTC) + timedelta(days=1)):
                memory.pipeline.file(batch, memory.pipeline.distil(batch))
            ours.append(time.perf_counter() - begin)
            spent.append(time.process_time() - cpu)
        before, stood = stood, notes(memory.settings.vault)
        contents = [
            path.read_bytes()
            for path, state in stood.items()
            if before.get(path) != state
        ]
        written += len(contents)
        yardsticks.append(
            seconds_of(
                lambda contents=contents: [bare.write(content) for content in contents]
            )
        )
    beside = (f"{written / BATCHES:.1f} files", statistics.median(yardsticks))
    yield ratio(
        f"filing {BATCH} turns{where}", "–", statistics.median(ours), beside, 3.0
    )
    if not where:
        middle, syncs = statistics.median(spent), counter.syncs / BATCHES
        yield Row(
            f"filing {BATCH} turns, CPU",
            "–",
            milliseconds(middle),
            "–",
            middle * 1e3,
            6,
            " ms",
        )
        yield Row(
            f"filing {BATCH} turns, syncs", "–", f"{syncs:.1f}", "–", syncs, 5, ""
        )


def notes(vault: Path) -> dict[Path, tuple[int, int]]:
    """Every note with what tells two states of it apart."""
    return {
        path: ((stat := path.stat()).st_ino, stat.st_mtime_ns)
        for path in vault.rglob("*.md")
    }


class Bare:
    """The yardstick of filing: temporary file, sync, rename, sync of the folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = os.open(folder, os.O_RDONLY)
        self.count = 0

    def write(self, content: bytes) -> None:
        """Write one file."""
        self.count += 1
        descriptor = os.open(
            ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, dir_fd=self.folder
        )
        os.write(descriptor, content)
        syscalls.SYS.fsync(descriptor)
        os.close(descriptor)
        os.rename(
            ".tmp", f"{self.count}.md", src_dir_fd=self.folder, dst_dir_fd=self.folder
        )
        syscalls.SYS.fsync(self.folder)


# Scanning.


def scanning() -> Iterator[Row]:
    """Signal scan and redaction of every turn, the largest too."""
    patterns, policy = table(), Policy().signals
    writer = material.Writer(5)
    pool = " ".join(writer.turn_text("assistant") for _ in range(LARGEST // 150))
    for name, length, times, bar in (
        ("2 KB", 2048, SCANS, 1.0),
        (f"{LARGEST >> 10} KB", LARGEST, SCANS // 5, 10.0),
    ):
        texts = [
            pool[start * 997 % (len(pool) - length) :][:length]
            for start in range(times)
        ]
        waits = [
            seconds_of(lambda text=text: (scan(text, patterns, policy), redact(text)))
            for text in texts
        ]
        middle, late = statistics.median(waits), quantile(waits, 0.99)
        beside = f"p50 {milliseconds(middle)}"
        yield Row(
            f"scan and redact {name}, p99",
            "–",
            milliseconds(late),
            beside,
            late * 1e3,
            bar,
            " ms",
        )


# Importing.


def importing(
    memory: VaultMemory, folder: Path, count: int, where: str = ""
) -> Iterator[Row]:
    """Turns of conversations of a hundred, by the rules; against the bare writes of the
    same bytes.
    """
    turns = list(material.turns(count, session_turns=100))
    cpu = time.process_time()
    ours = seconds_of(lambda: observe.feed(iter(turns), memory.call))
    spent = (time.process_time() - cpu) / count
    vault = memory.settings.vault
    yardstick = seconds_of(lambda: bare_import(vault, turns, folder))
    name = ("bare writes", yardstick)
    yield ratio(f"import of {count:,} turns{where}", "–", ours, name, 1.5)
    if not where:
        took = milliseconds(spent)
        yield Row("import of a turn, CPU", "–", took, "–", spent * 1e3, 0.7, " ms")


def importing_memories(memory: VaultMemory, folder: Path) -> Iterator[Row]:
    """Memories of mem0, CPU, without their vectors, which a daemon makes later."""
    memory.executor.attended = True
    file = folder / "mem0.json"
    file.write_text(json.dumps(list(material.memories(MEMORIES))))
    items = list(read_export(file, material.ZONE))
    run = memory.call("begin_import", {"file": file.name, "source": "mem0"})["run"]
    seconds = seconds_of(
        lambda: observe.feed(items, memory.call, run=run), time.process_time
    )
    kept = f"{memory.call('stats', {})['facts']:,} facts"
    name = f"import of {MEMORIES:,} memories, CPU"
    yield Row(name, "–", milliseconds(seconds), kept, seconds, 3.0, " s")


def bare_import(vault: Path, turns: Sequence[Turn], folder: Path) -> None:
    """The yardsticks of observing and of filing: an append for each turn, a write for
    each note.

    A session file is written once for each batch, as far as it has come.
    """
    descriptor = os.open(folder / "imported", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for turn in said(turns):
        append(descriptor, f"{turn}\n".encode())
    os.close(descriptor)
    bare, step = Bare(folder / "bare-import"), Policy().buffer.rules_turns
    for _, group in groupby(turns, lambda turn: turn.session):
        texts = [turn.text for turn in group]
        for end in range(step, len(texts) + step, step):
            bare.write("\n".join(texts[:end]).encode())
    for path in vault.rglob("*.md"):
        if "sessions" not in path.parts:
            bare.write(path.read_bytes())
