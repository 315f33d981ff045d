"""Index speed against yardsticks of the same run: cold index, start on an unchanged vault, one file changed.

    python benchmarks/bench_index.py [NOTES ...]        (default: 1000 10000)

Every figure is a ratio; the bars are those of the design of quality, section 1.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import statistics
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import yaml

from engram.config import Settings
from engram.core.policy import FilePolicy, Policy
from engram.core.records import Fact, FiledTurn, Turn
from engram.core.text import content_hash, slug, ulid
from engram.index.catalog import Catalog
from engram.index.index import Index, _doc
from engram.index.lexical import Lexical
from engram.vault import facts, note, sessions
from engram.vault.watch import Watch

ZONE = ZoneInfo("Europe/Berlin")
WORDS = re.findall(
    r"\w+",
    "coffee tea oat milk Anna Berlin project deadline garden bicycle train morning prefers likes works moved "
    "October November plan note meeting doctor sister piano holiday allergy birthday budget kitchen river",
)
OLD = 1_700_000_000


def vault(root: Path, notes: int) -> None:
    """Nine facts in ten; the rest own notes and conversations of ten turns."""
    chance = random.Random(7)
    begin = datetime(2024, 1, 1, 9, tzinfo=UTC)
    for n in range(notes):
        when = begin + timedelta(minutes=37 * n)
        text = " ".join(chance.choices(WORDS, k=14)).capitalize() + f" {n}."
        day = f"{when.astimezone(ZONE):%Y-%m-%d}"
        if n % 20 == 18:
            path, raw = f"notes/{n // 100}/note {n}.md", f"# Note {n}\n\n{text}\n\n{text}\n".encode()
        elif n % 20 == 19:
            stem = f"{day}-talk-{n}"
            turns = [
                FiledTurn(Turn(f"{n}-{t}", f"s{n}", "user", text, when + timedelta(minutes=t)), stem, f"t{t + 1}")
                for t in range(10)
            ]
            path, raw = f"sessions/{day}/{stem}.md", sessions.new_session(turns, ZONE)
        else:
            fact = Fact(
                ulid(when, str(n)),
                text,
                category="preference",
                created=when,
                about=("Anna Müller", "Berlin"),
                tags=("preference/drink",),
                confidence=0.92,
                importance=0.7,
                source=f"2026-01-01-s{n}#^t12",
            )
            path = f"facts/{day}/preference-{slug(text)}-{content_hash(text)[:8]}.md"
            raw = note.emit(facts.fact_keys(fact, ZONE), facts.fact_body(text, fact.source))
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw)
        os.utime(target, (OLD, OLD))


def timed(work, repeat=3):
    """Seconds of the fastest of some runs, the garbage of the others swept between them."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def paths_of(root: Path) -> list[str]:
    return [f"{folder}/{name}" for folder, _, names in os.walk(root) for name in names]


def parse_all(paths: list[str]) -> None:
    """The yardstick of a cold index: read, hash, parse the front matter with libyaml."""
    for path in paths:
        raw = Path(path).read_bytes()
        hashlib.sha256(raw).hexdigest()
        if raw.startswith(b"---\n"):
            yaml.load(raw[4 : raw.index(b"\n---", 4)], Loader=yaml.CSafeLoader)


def stat_all(folder: str) -> None:
    """The yardstick of a start: scandir and stat of every file."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                stat_all(entry.path)
            else:
                entry.stat(follow_symlinks=False)


def line(what: str, ours: float, yardstick: float, bar: float, files: int) -> None:
    ratio = ours / yardstick
    verdict = "ok" if ratio <= bar else "OVER"
    print(
        f"{what:32} {ours * 1e3:10.2f} ms {yardstick * 1e3:10.2f} ms {ratio:6.2f}x  bar {bar:.1f}x  {verdict:4} {files}"
    )


def measure(root: Path, cache: Path, notes: int) -> None:
    paths = paths_of(root)

    def cold() -> None:
        catalog = Catalog(root, cache / str(time.monotonic_ns()), ZONE)
        catalog.scan()
        catalog.close()

    line("cold index (catalogue)", timed(cold), timed(lambda: parse_all(paths)), 2.0, len(paths))
    catalog = Catalog(root, cache / "warm", ZONE)
    catalog.scan()
    catalog.close()

    def warm() -> None:
        catalog = Catalog(root, cache / "warm", ZONE)
        assert not catalog.scan().changed
        catalog.close()

    line("start on an unchanged vault", timed(warm, 5), timed(lambda: stat_all(str(root)), 5), 3.0, len(paths))
    one_changed(root, cache, notes)


def one_changed(root: Path, cache: Path, notes: int) -> None:
    """From the path to the lexical index, against read, parse and add of that file."""
    index = Index(Settings(root, "bench", ZONE, Policy(), cache, cache / "warm", cache))
    index.refresh(None)
    bare = Lexical(Policy().lexical, ZONE)
    bare.add(map(_doc, index.catalog.since("").added))
    files = sorted(root.glob("facts/*/*.md"))[: min(100, notes)]
    ours, yardsticks = [], []
    for n, path in enumerate(files):
        path.write_bytes(path.read_bytes() + f"\nOne more line {n}.\n".encode())
        os.utime(path, (OLD + 10, OLD + 10))
        begin = time.perf_counter()
        diff = index.refresh([path])
        ours.append(time.perf_counter() - begin)
        assert len(diff.changed) == 1, diff
        begin = time.perf_counter()
        raw = path.read_bytes()
        parsed, _ = facts.fact_from(note.read(raw), str(path), hashlib.sha256(raw).hexdigest(), ZONE)
        bare.add([_doc(parsed)])
        yardsticks.append(time.perf_counter() - begin)
    index.catalog.close()
    line("one file changed", statistics.median(ours), statistics.median(yardsticks), 3.0, len(files))


def edit_to_callback(root: Path) -> None:
    """From a save to the call, settling included, with the numbers of the policy."""
    told, waits = threading.Event(), []
    watch = Watch(root, lambda _: told.set(), FilePolicy())
    watch.start()
    path = next(iter(root.glob("facts/*/*.md")))
    raw = path.read_bytes()
    for n in range(20):
        told.clear()
        begin = time.perf_counter()
        draft = path.with_name(".draft.tmp")
        draft.write_bytes(raw + str(n).encode())
        draft.replace(path)
        assert told.wait(10)
        waits.append(time.perf_counter() - begin)
    watch.stop()
    waits.sort()
    print(
        f"{'edit → told, p50 / p95':32} {waits[10] * 1e3:10.0f} ms {waits[18] * 1e3:10.0f} ms          bar p95 1000 ms"
    )


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or [1000, 10000]
    print(f"{'':32} {'ours':>13} {'yardstick':>13}  ratio")
    for notes in sizes:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "vault")
            vault(root, notes)
            measure(root, Path(folder, "cache"), notes)
            edit_to_callback(root)


if __name__ == "__main__":
    main()
