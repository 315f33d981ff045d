"""The tables of what a fleet costs and needs, in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def costs(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The table in Markdown, a column for each size."""
    table = [
        "| | " + " | ".join(f"{one['notes']:,} notes" for one in found) + " |",
        "|---|" + "---:|" * len(found),
    ]
    for what, shown in COSTS:
        table.append(f"| {what} | " + " | ".join(shown(one) for one in found) + " |")
    return table


def kilo(value: float) -> str:
    """Bytes for a reader."""
    for unit in ("B", "KB", "MB", "GB"):
        if abs(value) < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def short(value: float) -> str:
    """Two digits that count, without an exponent."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def two(pair: Mapping[str, float]) -> str:
    """CPU of engram and of the database."""
    return f"{short(pair['engram_ms'])} + {short(pair['database_ms'])}"


COSTS: tuple[tuple[str, Callable[[Mapping[str, Any]], str]], ...] = (
    ("**a vault:** files", lambda one: kilo(one["vault"]["bytes"])),
    ("cache", lambda one: kilo(one["cache"]["bytes"])),
    ("rows in PostgreSQL", lambda one: f"{one['rows']['rows']:,}"),
    (
        "their bytes (of which indexes)",
        lambda one: f"{kilo(one['rows']['bytes'])} ({kilo(one['rows']['indexes'])})",
    ),
    (
        "a vector of 256 numbers, with HNSW",
        lambda one: kilo(one["vectors"]["bytes_each"]),
    ),
    (
        "**open:** memory",
        lambda one: kilo(one["daemon"]["open_each"]["private_bytes"]),
    ),
    ("threads", lambda one: f"{one['daemon']['open_each']['threads']:.1f}"),
    (
        "idle, for a second, CPU ms",
        lambda one: two(one["daemon"]["idle_each"]),
    ),
    (
        "to open it for the first time, CPU ms",
        lambda one: two(one["daemon"]["cold_open"]),
    ),
    ("to open it again, CPU ms", lambda one: two(one["daemon"]["warm_open"])),
    ("to close it, CPU ms", lambda one: two(one["daemon"]["close_each"])),
    (
        "**a turn:** acknowledgement, CPU ms (p50, p99)",
        lambda one: (
            f"{one['turn']['acknowledge']['p50_ms']:.2g}, "
            f"{one['turn']['acknowledge']['p99_ms']:.2g}"
        ),
    ),
    ("extraction with rules, CPU ms", lambda one: f"{one['turn']['extract_ms']:.2g}"),
    ("filing, CPU ms", lambda one: f"{one['turn']['file_ms']:.2g}"),
    ("all of it inside a process, CPU ms", lambda one: two(one["turn"])),
    ("all of it through the daemon, CPU ms", lambda one: two(one["daemon"]["turn"])),
    ("syncs of files", lambda one: f"{one['turn']['syncs']:.2g}"),
    ("bytes written to files", lambda one: kilo(one["turn"]["written_bytes"])),
    ("the vault grows by", lambda one: kilo(one["turn"]["vault_bytes"])),
    ("rows", lambda one: f"{one['turn']['rows']:.2g}"),
    ("the database grows by", lambda one: kilo(one["turn"]["database_bytes"])),
    ("transactions", lambda one: f"{one['turn']['commits']:.2g}"),
    ("write-ahead log", lambda one: kilo(one["turn"]["log_bytes"])),
    (
        "**a question:** CPU ms (p50, p99)",
        lambda one: f"{one['recall']['p50_ms']:.2g}, {one['recall']['p99_ms']:.2g}",
    ),
    ("inside a process, CPU ms", lambda one: two(one["recall"])),
    ("through the daemon, CPU ms", lambda one: two(one["daemon"]["recall"])),
    ("**a run** in the night after, CPU ms", lambda one: two(one["nightly"])),
    ("a weekly run, CPU ms", lambda one: two(one["weekly"])),
)
"""Pairs of CPU times are those of engram and of PostgreSQL."""


NEEDS: tuple[tuple[str, Callable[[Mapping[str, Any]], str]], ...] = (
    ("turns a day", lambda one: f"{one['turns_a_day']:,}"),
    ("turns a second, in the busiest five minutes", lambda one: f"{one['turns_a_second']:.3g}"),
    ("vaults open at once", lambda one: f"{one['open_most']:,}"),
    ("openings a day", lambda one: f"{one['openings_a_day']:,}"),
    ("cores busy, on average and in the busiest five minutes", lambda one: f"{one['cores_mean']:.2g}, {one['cores']:.2g}"),
    ("**daemons** (one core each)", lambda one: f"**{one['daemons']:,}**"),
    ("so many would have the CPU", lambda one: f"{one['daemons_by_cpu']:,}"),
    ("**nodes** of 8 cores, at least two", lambda one: f"**{one['nodes']:,}**"),
    ("memory of a daemon", lambda one: kilo(one["memory_of_a_daemon"])),
    ("a question, p50 and p99, ms", lambda one: f"{one['question_p50']:.0f}, {one['question_p99']:.0f}"),
    ("an acknowledgement, p99, ms", lambda one: f"{one['turn_p99']:.0f}"),
    ("**database:** cores in the busiest five minutes", lambda one: f"{one['database_cores']:.2g}"),
    ("rows and indexes", lambda one: kilo(one["database_bytes"])),
    ("vectors, with an embedding model", lambda one: kilo(one["vector_bytes"])),
    ("it grows in a year by", lambda one: kilo(one["grows_bytes_a_year"])),
    ("transactions a second", lambda one: f"{one['commits']:.3g}"),
    ("write-ahead log a second", lambda one: kilo(one["log_bytes"])),
    ("connections", lambda one: f"{one['connections']:,}"),
    ("**shared files:** bytes", lambda one: kilo(one["file_bytes"])),
    ("number of files", lambda one: f"{one['files']:.2g}"),
    ("syncs a second", lambda one: f"{one['syncs']:.3g}"),
    ("**full first**", lambda one: f"**{one['bottleneck']}** ({one['shares'][one['bottleneck']]:.0%})"),
)  # fmt: skip


def needs(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The table of what is needed, a column for each number of vaults."""
    table = [
        "| | " + " | ".join(f"{one['vaults']:,} vaults" for one in found) + " |",
        "|---|" + "---:|" * len(found),
    ]
    for what, cell in NEEDS:
        table.append(f"| {what} | " + " | ".join(cell(one) for one in found) + " |")
    return table
