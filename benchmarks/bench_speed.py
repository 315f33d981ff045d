"""The speeds that design and peers are held to, each as a figure beside its yardstick
of the same run.

    python benchmarks/bench_speed.py [--sizes 1000,10000] [--only recall,locomo]

What each row means is in README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path
from typing import TYPE_CHECKING, Any

import material
import speed_reading
import speed_recall
import speed_writing
from figures import Row, headline

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

PEERS = Path(__file__).resolve().parents[2] / "shared" / "bench" / "peers.json"
SHOWN = {
    "index_files_per_s": "files/s",
    "query_ms_p50": "query ms",
    "query_ms_p95": "p95 ms",
    "cli_ms_p50": "CLI ms",
    "edit_to_searchable_s_p95": "edit p95 s",
    "rss_mb": "MB",
}
SIZED = {
    "index": speed_reading.indexing,
    "change": speed_reading.changing,
    "recall": speed_recall.rows,
    "search": speed_reading.searching,
    "daemon": speed_reading.serving,
}
"""The parts that are measured at each size."""
PARTS = ("writing", *SIZED, "locomo", "install")


def main() -> None:
    parser = argparse.ArgumentParser(description="speeds beside their yardsticks")
    parser.add_argument("--sizes", default="1000,10000", help="numbers of notes")
    parser.add_argument("--only", default=",".join(PARTS), help="parts: %(default)s")
    wish = parser.parse_args()
    only = wish.only.split(",")
    if unknown := set(only) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; use {', '.join(PARTS)}")
    begin = time.perf_counter()
    rows: list[Row] = []
    print(headline())
    for row in every_row(list(map(int, wish.sizes.split(","))), only):
        rows.append(row)
        print(row, flush=True)
    missed = sum(not row.met for row in rows)
    print(f"\n{len(rows)} bars, {missed} missed; {time.perf_counter() - begin:.0f} s")
    if set(PARTS) <= set(only):
        peers(rows)


def every_row(sizes: list[int], only: Collection[str]) -> Iterator[Row]:
    """The rows of these parts."""
    sized = [rows for part, rows in SIZED.items() if part in only]
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        if "writing" in only:
            yield from speed_writing.rows(Path(folder))
        for notes in sizes if sized else ():
            root = Path(folder, str(notes))
            material.vault(root / "vault", notes)
            settings = material.settings(root / "vault", root / "home")
            speed_reading.build(settings)
            for rows in sized:
                yield from rows(settings, root / "home", notes)
        if "locomo" in only:
            yield from speed_recall.locomo(Path(folder))
    if "install" in only:
        yield from installation()


def installation() -> Iterator[Row]:
    """The bytes of the packages that an installation without extras brings, this one
    included.
    """
    seen: set[str] = set()
    wanted = [requirement.partition(";")[0] for requirement in project_requirements()]
    size = tree_size(Path(__file__).resolve().parents[1] / "engram")
    while wanted:
        name = re.split(r"[^\w.-]", wanted.pop().strip())[0].lower().replace("_", "-")
        if name in seen:
            continue
        seen.add(name)
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # for another system or version
        places = (Path(str(file.locate())) for file in package.files or ())
        size += sum(place.stat().st_size for place in places if place.exists())
        wanted += [
            one.partition(";")[0]
            for one in requires(name) or ()
            if "extra ==" not in one
        ]
    yield Row("install", "–", f"{len(seen)} packages", "–", size / 1e6, 110, " MB")


def project_requirements() -> list[str]:
    """The project's own requirements, from its file, for it need not be installed."""
    import tomllib

    told = tomllib.loads(
        (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text()
    )
    return list(told["project"]["dependencies"])


def tree_size(folder: Path) -> int:
    """The bytes of all files below `folder`."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def peers(rows: list[Row]) -> None:
    """What others were measured at on notes of the same number, below what this run has
    of it.
    """
    if not PEERS.is_file():
        print("\npeers: skipped, no figures in ../shared/bench")
        return
    told = json.loads(PEERS.read_text())
    print(f"\npeers, {told['note']}")
    print(f"{'':42}" + "".join(f"{title:>12}" for title in SHOWN.values()))
    for size in sorted({row.size for row in rows if row.size != "–"}):
        shown(
            "engram, this run",
            size,
            own({row.what: row for row in rows if row.size == size}),
        )
    for row in told["rows"]:
        shown(row["system"], f"{told['notes']:,}", row)
        if "at_10000" in row:
            shown(row["system"], "10,000", row["at_10000"])


def own(rows: dict[str, Row]) -> dict[str, Any]:
    """The rows of one size as figures of a peer; indexing, recall and the command line
    are CPU time.
    """
    cold = rows["cold index, with the words"]
    return {
        "index_files_per_s": round(int(cold.size.replace(",", "")) / cold.seconds),
        "query_ms_p50": round(rows["recall CPU, p50"].figure, 1),
        "query_ms_p95": round(rows["recall CPU, p95"].seconds * 1e3, 1),
        "cli_ms_p50": round(rows["CLI recall, CPU"].seconds * 1e3),
        "edit_to_searchable_s_p95": round(rows["edit → found, p95"].figure / 1e3, 3),
        "rss_mb": round(rows["memory at rest"].figure),
    }


def shown(system: str, notes: str, figures: dict[str, Any]) -> None:
    """One line of the comparison."""
    cells = "".join(f"{figures.get(name, '–'):>12}" for name in SHOWN)
    print(f"{system[:34]:34}{notes:>8}{cells}")


if __name__ == "__main__":
    main()
