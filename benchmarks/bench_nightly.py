"""A nightly run beside a parse of the whole vault, where nothing is due and where one
memory in a hundred is; and a turn with the run after it, which must not depend on the
size of the vault.

    python benchmarks/bench_nightly.py [MEMORIES ...]  (default: 1000 10000 40000)

What each row means is in README.md beside this file.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import material
from figures import Row, headline, ratio, seconds_of
from speed_reading import in_process, parse_all

from engram.core.records import Fact, FiledTurn, Turn
from engram.core.text import content_hash, slug, ulid
from engram.maintenance.run import Maintenance
from engram.vault import entities, facts, frontmatter, sessions
from engram.vault.store import ACTIONS
from engram.vault.usage import ALL, USAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

NIGHT = datetime(2026, 11, 20, 2, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
DUE = 100
"""One memory in so many is due the night after; protected ones stay."""
TURN = "a turn and its run"
TOLD = 5
"""Memories that one conversation gave."""


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or [1000, 10000, 40000]
    spent: dict[str, list[tuple[int, float]]] = {}
    print(headline())
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
            root = Path(folder, "vault")
            vault(root, size)
            for row in nights(root, Path(folder, "home"), size):
                spent.setdefault(row.what, []).append((size, row.seconds))
                print(row, flush=True)
    for what, ((few, begin), *_, (many, end)) in (
        (what, pairs) for what, pairs in spent.items() if len(pairs) > 1
    ):
        if what == TURN:
            told = f"{end * 1e3:.0f} ms", f"of {few:,} {begin * 1e3:.0f} ms"
            print(Row(f"{what}, in all", f"{many:,}", *told, end / begin, 4.0))
            continue
        figure = end / many / (begin / few)
        each = f"{end / many * 1e6:.0f} µs", f"of {few:,} {begin / few * 1e6:.0f} µs"
        print(Row(f"{what}, for each", f"{many:,}", *each, figure, 1.5))


def vault(root: Path, size: int) -> None:
    """A vault of memories of yesterday, but for one in a hundred that fades away
    tomorrow.

    Five come from each conversation, which is told already; each is about one of many
    entities, few of which are named often, and half of them about a second one too. One
    in ten is about the user.
    """
    writer, chance = material.Writer(7), random.Random(7)
    names = [
        " ".join(word.capitalize() for word in writer.rare(2)) + f" {number}"
        for number in range(size // 20)
    ]
    often = list(accumulate(1 / (rank + 3) for rank in range(len(names))))
    begin = NIGHT - DAY
    births: list[str] = []
    for name in names:
        entity = entities.new_entity(name, "person", begin)
        keys, body = (
            entities.entity_keys(entity, material.ZONE),
            entities.entity_body(entity),
        )
        written(root / entities.path_of(name, "person"), frontmatter.emit(keys, body))
    for first in range(0, size, TOLD):
        old = first % (DUE * TOLD) == 0
        when = NIGHT - (89.5 * DAY if old else DAY) + timedelta(seconds=first / 10)
        stem = f"{when.astimezone(material.ZONE):%Y-%m-%d}-talk-{first}"
        turns = [
            Turn(
                f"t{n}",
                f"s{first}",
                ("user", "assistant")[n % 2],
                writer.turn_text("user"),
                when,
            )
            for n in range(2 * TOLD)
        ]
        filed = [FiledTurn(turn, stem, f"t{n}") for n, turn in enumerate(turns, 1)]
        raw = frontmatter.edit(
            sessions.new_session(filed, material.ZONE),
            {"summarised": len(turns), "episodes": 1},
        )
        written(root / sessions.path(stem), raw)
        for number in range(TOLD):
            about = (
                ()
                if chance.random() < 0.1
                else chance.choices(names, cum_weights=often, k=chance.randint(1, 2))
            )
            text = f"{writer.statement()} {writer.sentence()}"
            fact = Fact(
                ulid(when, f"{first + number} {text}"),
                text,
                kind="episode" if old else "note",
                created=when,
                about=tuple(dict.fromkeys(about)),
                tags=("preference/drink",),
                source=filed[2 * number].key,
                confidence=0.92,
                importance=0.2 if old else 0.5,
            )
            row = {
                "at": when.isoformat(),
                "action": "store",
                "outcome": "applied",
                "memory": fact.id,
                "reason": "new",
            }
            births.append(json.dumps(row) + "\n")
            day = f"{when.astimezone(material.ZONE):%Y-%m-%d}"
            path = root / f"facts/{day}/fact-{slug(text)}-{content_hash(text)[:8]}.md"
            written(
                path,
                frontmatter.emit(
                    facts.fact_keys(fact, material.ZONE),
                    facts.fact_body(text, fact.source),
                ),
            )
    met = {"met": [ALL], "at": (NIGHT - 365 * DAY).isoformat()}
    written(root / USAGE / f"{'a' * 16}.jsonl", f"{json.dumps(met)}\n".encode())
    written(root / ACTIONS, "".join(births).encode())
    (root / "engram.toml").write_text(
        f'id = "bench-nightly-{size}"\nzone = "{material.ZONE}"\n'
    )


def written(path: Path, raw: bytes) -> None:
    """The file, so old that its stat is trusted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    os.utime(path, (material.OLD, material.OLD))


def nights(root: Path, home: Path, size: int) -> Iterator[Row]:
    """The rows of the vault `root`: the CPU of a night that finds nothing, the time of
    one that archives, the CPU of a turn with the run after it.
    """
    paths = sorted(
        f"{folder}/{name}"
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(".md")
    )
    now = NIGHT
    with in_process(material.settings(root, home)) as memory:
        order = Maintenance(
            memory.note_writer,
            memory.usage_tracker,
            memory.reconciler.entity_writer,
            memory.reconciler.comparison,
            lambda: now,
            memory.maintenance_loop.maintenance.freeze,
        )
        settling = order.run("nightly")
        assert settling.as_json()["counts"].keys() <= {
            "topics",
            "spine",
            "cards",
            "profile",
        }, settling.as_json()
        parsed = min(
            seconds_of(lambda: parse_all(paths), time.process_time) for _ in range(3)
        )
        spent = []
        for _ in range(3):
            now += HOUR  # what depends on the time of day is looked at anew
            spent.append(seconds_of(lambda: order.run("nightly"), time.process_time))
        idle = min(spent)
        assert order.run("nightly").actions == ()
        yield ratio(
            "night, nothing due", f"{size:,}", idle, ("read+hash+parse", parsed), 1.0
        )
        now += DAY - 3 * HOUR
        parsed = seconds_of(lambda: parse_all(paths))
        begin = time.perf_counter()
        report = order.run("nightly")
        busy = time.perf_counter() - begin
        done = report.as_json()["counts"].get("archive", 0)
        # statements of the material that no run may archive are not counted
        assert 0 < done <= -(-size // DUE), (done, report.failures, report.deferred)
        yield ratio(
            "night, 1 % due", f"{size:,}", busy, ("read+hash+parse", parsed), 1.5
        )
        turns = []
        for number in range(6):  # the first one compiles patterns

            def say(number: int = number) -> None:
                turn = {"session": f"m{number}", "text": f"I live in Oslo {number}."}
                memory.call("observe", {"turns": [turn]})
                memory.call("flush", {})
                order.run("talk")

            turns.append(seconds_of(say, time.process_time))
        yield ratio(TURN, f"{size:,}", min(turns[1:]), ("read+hash+parse", parsed), 1.0)


if __name__ == "__main__":
    main()
