"""Questions that name exact words of one short note: is it among the first five?

`rows()` asks a memory with the notes of ../shared/bench/notes/gen.py, and SQLite's FTS5
beside it on the same texts.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import material

from engram.memory import VaultMemory

if TYPE_CHECKING:
    from collections.abc import Iterator

GENERATOR = (
    Path(__file__).resolve().parents[2] / "shared" / "bench" / "notes" / "gen.py"
)
NOTES, FIRST = 10_000, 5
LIKE = "SELECT id FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?"


def rows(notes: int = NOTES) -> Iterator[tuple[str, int, float, float]]:
    """Yield kind of question, their number, share found by engram, share found by FTS5;
    at last of all kinds together.
    """
    with tempfile.TemporaryDirectory() as folder:
        made = [sys.executable, GENERATOR, folder, "--n", str(notes)]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        vault = Path(folder, "vault")
        (vault / "engram.toml").write_text('id = "bench-exact"\nzone = "UTC"\n')
        table = full_text(vault)
        memory = VaultMemory(material.settings(vault, Path(folder, "home")))
        memory.start()
        memory.catch_up()
        found: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        for line in Path(folder, "queries.jsonl").read_text().splitlines():
            asked = json.loads(line)
            if asked["expect"]:
                sides = recalled(memory, asked["q"]), by_fts5(table, asked["q"])
                ours, theirs = (asked["expect"] in side for side in sides)
                found[asked["kind"]].append((ours, theirs))
        memory.close()
        table.close()
    found["all"] = [pair for some in found.values() for pair in some]
    for kind, pairs in found.items():
        ours, theirs = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
        yield kind, len(pairs), ours, theirs


def full_text(vault: Path) -> sqlite3.Connection:
    """The files of the notes in a bare FTS5 table."""
    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE t USING fts5(id UNINDEXED, text)")
    for path in sorted(vault.glob("facts/*/*.md")):
        text = path.read_text()
        name = text.partition("id: ")[2].partition("\n")[0]
        table.execute("INSERT INTO t VALUES (?, ?)", (name, text))
    return table


def recalled(memory: VaultMemory, query: str) -> list[str]:
    hits = memory.call("recall", {"query": query, "k": FIRST})["hits"]
    return [hit["id"] for hit in hits]


def by_fts5(table: sqlite3.Connection, query: str) -> list[str]:
    any_word = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
    return [name for (name,) in table.execute(LIKE, (any_word, FIRST))]
