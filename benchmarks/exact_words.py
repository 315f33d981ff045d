"""Questions of one rare word, or of two words, on short notes: is the right one among
the first five?

`rows()` asks a memory with a vault of notes, and SQLite's FTS5 beside it on the same
texts.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import material

from engram.core.language.words import content, words
from engram.memory import VaultMemory

if TYPE_CHECKING:
    from collections.abc import Iterator

ABOUT = ((), (), ("Anna",), ("Anna", "Berlin"), ("Doctor",), ("Garden",))
NOTES, QUESTIONS, FIRST = 10_000, 240, 5


def rows(notes: int = NOTES) -> Iterator[tuple[str, float, float]]:
    """Yield kind of question, share found by engram, share found by FTS5."""
    with tempfile.TemporaryDirectory() as folder:
        texts = written(Path(folder, "vault"), notes)
        table = sqlite3.connect(":memory:")
        table.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize='porter')")
        table.executemany("INSERT INTO t (text) VALUES (?)", [(t,) for t in texts])
        memory = VaultMemory(
            material.settings(Path(folder, "vault"), Path(folder, "home"))
        )
        memory.start()
        memory.catch_up()
        for kind, asked in questions(texts).items():
            ours = [text in recalled(memory, query) for query, text in asked]
            theirs = [text in by_fts5(table, query) for query, text in asked]
            yield kind, sum(ours) / len(asked), sum(theirs) / len(asked)
        memory.close()
        table.close()


def written(root: Path, notes: int) -> list[str]:
    """Write a vault of short notes; return their texts."""
    writer, chance = material.Writer(7), random.Random(3)
    texts = [f"{writer.statement()} {writer.sentence()}" for _ in range(notes)]
    for number, text in enumerate(texts):
        when = material.BEGIN + timedelta(minutes=37 * number)
        path, raw = material.fact(
            text,
            when,
            f"{when:%Y-%m-%d}",
            "",
            importance=chance.choice((0.2, 0.5, 0.7, 1.0)),
            confidence=chance.choice((0.4, 0.6, 0.9, 1.0)),
            pinned=chance.random() < 0.02,
            tags=("remember",) if chance.random() < 0.1 else (),
            about=chance.choice(ABOUT),
        )
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw)
    (root / "engram.toml").write_text('id = "bench-exact"\nzone = "UTC"\n')
    return texts


def questions(texts: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Questions with the text that each was made of.

    The words of a question are together in few texts, though each alone may be common.
    """
    chance = random.Random(5)
    carried = [frozenset(content(words(text), "en")) for text in texts]
    known = Counter(word for some in carried for word in some)
    found: dict[str, list[tuple[str, str]]] = {"one rare word": [], "two words": []}
    for text, some in chance.sample(list(zip(texts, carried, strict=True)), QUESTIONS):
        rarest = min(some, key=lambda word: (known[word], word))
        if known[rarest] <= FIRST:
            found["one rare word"].append((rarest, text))
        pair = frozenset(chance.sample(sorted(some), 2))
        if sum(pair <= other for other in carried) <= FIRST:
            found["two words"].append((" ".join(sorted(pair)), text))
    return found


def recalled(memory: VaultMemory, query: str) -> list[str]:
    hits = memory.call("recall", {"query": query, "k": FIRST})["hits"]
    return [hit["text"] for hit in hits]


def by_fts5(table: sqlite3.Connection, query: str) -> list[str]:
    found = table.execute(
        "SELECT text FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?",
        (" OR ".join(f'"{word}"' for word in words(query)), FIRST),
    )
    return [text for (text,) in found]
