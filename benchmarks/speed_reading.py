"""Speeds of a vault of a given size: index, start, change, search, recall, socket,
command line, memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import material
import yaml
from figures import (
    Row,
    child_cpu,
    engram,
    milliseconds,
    quantile,
    ratio,
    seconds_of,
    side_by_side,
)

from engram.core import ranking
from engram.core.policy import Policy
from engram.index.bm25 import Bm25Index
from engram.index.catalog import Catalog
from engram.index.database import open_database
from engram.index.filters import SearchFilter
from engram.index.scan import Scanner
from engram.index.search import Index, _indexed_text
from engram.memory import VaultMemory
from engram.serve import socket_client
from engram.vault import facts, frontmatter
from engram.vault.store import Vault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.config import Settings

QUERIES, EDITS, CHANGES, CALLS = 100, 20, 60, 20
BURST = 200
BURST_WORDS = ("spinet", "virginal", "celesta", "dulcimer")
POOL = Policy().recall.pool
MEMORY_BARS = ((1_000, 60.0), (10_000, 100.0), (100_000, 250.0), (1_000_000, 1200.0))


# Index.


def indexing(settings: Settings, home: Path, notes: int) -> Iterator[Row]:
    """From nothing, and from what the last run left; CPU time, for all files are in the
    page cache.
    """
    size = f"{notes:,}"
    paths = [
        f"{folder}/{name}"
        for folder, _, names in os.walk(settings.vault)
        for name in names
    ]

    vault = Vault(settings.vault)

    def fresh() -> Settings:
        return material.settings(settings.vault, home / "cold" / secrets.token_hex(4))

    def catalogue() -> None:
        told = fresh()
        policy = told.policy.files
        database = open_database(told.vault, told.cache, told.zone, policy)
        catalog = Catalog(database, policy)
        Scanner(catalog, told.vault, told.zone, policy).scan()
        catalog.close()

    def whole() -> None:
        index = Index(fresh(), vault)
        index.scan(None)
        index.catalog.close()

    times = 3 if len(paths) <= 10_000 else 1
    for name, cold in {
        "cold index, the catalogue": catalogue,
        "cold index, with the words": whole,
    }.items():
        ours, yardstick = side_by_side(
            cold, lambda: parse_all(paths), times, time.process_time
        )
        yield ratio(name, size, ours, ("read+hash+parse", yardstick), 2.0)

    def start() -> None:
        again = Index(settings, vault)
        assert not again.scan(None).changed
        again.catalog.close()

    ours, yardstick = side_by_side(
        start, lambda: stat_all(str(settings.vault)), 5, time.process_time
    )
    yield ratio("start, vault unchanged", size, ours, ("scandir+stat", yardstick), 3.0)


def build(settings: Settings) -> None:
    """Index the vault and keep the index, as the last run of a daemon leaves it."""
    index = Index(settings, Vault(settings.vault))
    index.scan(None)
    index.close()


def parse_all(paths: Sequence[str]) -> None:
    """The yardstick of a cold index: read, hash, parse the front matter with libyaml."""
    for path in paths:
        raw = Path(path).read_bytes()
        hashlib.sha256(raw).hexdigest()
        if raw.startswith(b"---\n"):
            yaml.load(raw[4 : raw.index(b"\n---", 4)], Loader=yaml.CSafeLoader)


def stat_all(folder: str) -> None:
    """The yardstick of a start."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                stat_all(entry.path)
            else:
                entry.stat(follow_symlinks=False)


def changing(settings: Settings, _home: Path, notes: int) -> Iterator[Row]:
    """From the path of a changed file to the index that finds it, against read, parse
    and add.
    """
    index = Index(settings, Vault(settings.vault))
    bare = Bm25Index(Policy().lexical, material.ZONE)
    bare.add(map(_indexed_text, index.catalog.since("").added))

    def follow(path: Path) -> None:
        index.scanner.acknowledge(index.scan([path]))

    ours, yardsticks = [], []
    for number, path in enumerate(
        sorted(settings.vault.glob("facts/*/*.md"))[:CHANGES]
    ):
        path.write_bytes(path.read_bytes() + f"\nOne more line {number}.\n".encode())
        os.utime(path, (material.OLD + 10, material.OLD + 10))
        ours.append(seconds_of(lambda path=path: follow(path)))
        yardsticks.append(seconds_of(lambda path=path: read_and_add(path, bare)))
    index.close()
    yield ratio(
        "one file changed",
        f"{notes:,}",
        statistics.median(ours),
        ("parse+add", statistics.median(yardsticks)),
        3.0,
    )


def read_and_add(path: Path, bare: Bm25Index) -> None:
    """The yardstick of a change."""
    raw = path.read_bytes()
    fact, _ = facts.fact_from(
        frontmatter.read(raw), str(path), hashlib.sha256(raw).hexdigest(), material.ZONE
    )
    assert fact
    bare.add([_indexed_text(fact)])


# Search.


def searching(settings: Settings, _home: Path, notes: int) -> Iterator[Row]:
    """A lexical query against FTS5's OR query over the same texts."""
    writer = material.Writer(3)
    index = Index(settings, Vault(settings.vault))
    index.scan(None)
    full_text = fts5(settings, index)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    asked = [ranking.parse_question(writer.question(), now) for _ in range(QUERIES)]
    where = SearchFilter()
    index.lexical.search(asked[0], where, POOL)
    pairs = [
        (
            seconds_of(lambda one=one: index.lexical.search(one, where, POOL)),
            seconds_of(
                lambda one=one: full_text.execute(
                    FTS_QUERY, (any_of(one.text), POOL)
                ).fetchall()
            ),
        )
        for one in asked
    ]
    ours, yardstick = (statistics.median(values) for values in zip(*pairs, strict=True))
    yield ratio(
        "lexical query, p50",
        f"{notes:,}",
        ours,
        ("FTS5 OR", yardstick),
        1.0 if notes < 100_000 else 0.3,
    )
    full_text.close()
    index.close()


FTS_QUERY = "SELECT key FROM unit WHERE unit MATCH ? ORDER BY rank LIMIT ?"


def any_of(text: str) -> str:
    """The words of a question, joined by OR."""
    return " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text.lower()))


def fts5(settings: Settings, index: Index) -> sqlite3.Connection:
    """The texts of all units in a bare FTS5 table on disk, merged into one segment."""
    database = sqlite3.connect(settings.cache / "fts5.db")
    database.execute("CREATE VIRTUAL TABLE unit USING fts5(key UNINDEXED, text)")
    docs = map(_indexed_text, index.catalog.since("").added)
    database.executemany(
        "INSERT INTO unit VALUES (?, ?)", ((doc.key, doc.text) for doc in docs)
    )
    database.execute("INSERT INTO unit (unit) VALUES ('optimize')")
    database.commit()
    return database


# Through the daemon.


@contextmanager
def daemon(settings: Settings, home: Path) -> Iterator[tuple[str, int]]:
    """The real daemon of the vault: its socket and process id, ready."""
    command = engram("daemon", "--foreground", "--vault", str(settings.vault))
    child = subprocess.Popen(
        command, env=material.environment(home), stderr=subprocess.DEVNULL
    )
    path = str(settings.socket)
    try:
        while True:
            if child.poll() is not None:
                raise SystemExit("the daemon does not start")
            try:
                if socket_client.call(path, "status", {})["ready"]:
                    break
            except socket_client.AbsentError:
                pass
            time.sleep(0.05)
        yield path, child.pid
    finally:
        child.terminate()
        child.wait(60)


def serving(settings: Settings, home: Path, notes: int) -> Iterator[Row]:
    """What the way through the socket costs, and how soon writes and edits are found
    behind it.
    """
    writer, size = material.Writer(3), f"{notes:,}"
    questions = [writer.question() for _ in range(QUERIES)]
    # a second process is refused on the same folder, so it gets a copy of the vault
    twin, twin_vault = home.with_name("twin"), home.with_name("twin-vault")
    shutil.copytree(home, twin)
    shutil.copytree(settings.vault, twin_vault)
    with daemon(settings, home) as (path, process):
        with in_process(material.settings(twin_vault, twin)) as memory:
            pairs = [
                (
                    seconds_of(
                        lambda text=text: socket_client.call(
                            path, "recall", {"query": text}
                        )
                    ),
                    seconds_of(
                        lambda text=text: memory.call("recall", {"query": text})
                    ),
                )
                for text in questions
            ]
        ours, yardstick = (
            statistics.median(values) for values in zip(*pairs, strict=True)
        )
        beside = f"in process {milliseconds(yardstick)}"
        yield Row(
            "recall over the socket",
            size,
            milliseconds(ours),
            beside,
            (ours - yardstick) * 1e3,
            0.7,
            " ms",
        )
        resident = rss(process)
        yield Row(
            "memory at rest",
            size,
            f"{resident:.0f} MB",
            "–",
            resident,
            next(bar for most, bar in MEMORY_BARS if notes <= most),
            " MB",
        )
        yield from finding(path, settings, size)
        yield from bursting(path, settings, size)
        yield from command_line(settings, home, size)


@contextmanager
def in_process(settings: Settings) -> Iterator[VaultMemory]:
    """The memory of the vault in this process; it may stand beside a daemon that has
    another home.
    """
    memory = VaultMemory(settings)
    memory.start()
    memory.catch_up()
    try:
        yield memory
    finally:
        memory.close()


def rss(process: int) -> float:
    """Resident megabytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return (
        next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
    )


def finding(path: str, settings: Settings, size: str) -> Iterator[Row]:
    """A statement is found by the first recall after the call that stored it; an edit
    once the watcher saw it.
    """
    waits, missed = [], 0
    for number in range(EDITS):
        word = f"harpsichord{number}"
        waits.append(
            seconds_of(
                lambda word=word: socket_client.call(
                    path, "remember", {"text": f"I bought the {word}."}
                )
            )
        )
        missed += not found(path, word)
    yield Row(
        "API write, then recall",
        size,
        milliseconds(statistics.median(waits)),
        f"{EDITS} calls",
        missed,
        0,
        " missed",
    )
    waits = []
    for number, note_path in enumerate(
        sorted(settings.vault.glob("facts/*/*.md"))[-EDITS:]
    ):
        word = f"clavichord{number}"
        draft = note_path.with_name(".draft.tmp")
        draft.write_bytes(
            note_path.read_bytes() + f"\nIt mentions the {word}.\n".encode()
        )
        begin = time.perf_counter()
        draft.replace(note_path)
        while not found(path, word):
            time.sleep(0.005)
        waits.append(time.perf_counter() - begin)
    late = quantile(waits, 0.95)
    middle = f"p50 {milliseconds(statistics.median(waits))}"
    yield Row(
        "edit → found, p95", size, milliseconds(late), middle, late * 1e3, 500, " ms"
    )


def bursting(path: str, settings: Settings, size: str) -> Iterator[Row]:
    """Notes that are rewritten all at once, as by a checkout, are found."""
    paths = sorted(settings.vault.glob("facts/*/*.md"))[:BURST]
    begin = time.perf_counter()
    for number, note_path in enumerate(paths):
        word = BURST_WORDS[number * len(BURST_WORDS) // len(paths)]
        draft = note_path.with_name(".draft.tmp")
        draft.write_bytes(note_path.read_bytes() + f"\nOn the {word}.\n".encode())
        draft.replace(note_path)
    written = time.perf_counter() - begin
    while sum(hits_of(path, word) for word in BURST_WORDS) < len(paths):
        time.sleep(0.02)
    waited = time.perf_counter() - begin
    yield Row(
        f"{len(paths)} edits → all found",
        size,
        milliseconds(waited),
        f"written in {milliseconds(written)}",
        waited * 1e3,
        1500,
        " ms",
    )


def hits_of(path: str, word: str) -> int:
    """The number of facts that hold `word`, of at most fifty."""
    wish = {"query": word, "kinds": ["fact"], "k": 50, "budget": 8000}
    hits = socket_client.call(path, "recall", wish)["hits"]
    return sum(word in hit["text"] for hit in hits)


def found(path: str, word: str) -> bool:
    """Whether recall finds a fact that holds `word`."""
    hits = socket_client.call(path, "recall", {"query": word, "kinds": ["fact"]})[
        "hits"
    ]
    return bool(hits) and word in hits[0]["text"]


def command_line(settings: Settings, home: Path, size: str) -> Iterator[Row]:
    """CPU of the processes that a person starts; the daemon's own is not counted."""
    env = material.environment(home)
    bare = child_cpu([sys.executable, "-c", "pass"], env, CALLS)
    ours = child_cpu(
        engram("recall", "oat milk", "--vault", str(settings.vault)), env, CALLS
    )
    yield ratio("CLI recall, CPU", size, ours, ("python -c pass", bare), 3.0)
    asked = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Why?"}
    hook = engram("hook", json.dumps(asked), "--vault", str(settings.vault))
    ours = child_cpu(hook, env, CALLS)
    yield Row("engram hook, CPU", size, milliseconds(ours), "–", ours * 1e3, 80, " ms")
    ours = child_cpu(engram("--help"), env, CALLS // 2)
    yield Row(
        "engram --help, CPU", size, milliseconds(ours), "–", ours * 1e3, 60, " ms"
    )
