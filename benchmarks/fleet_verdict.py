"""What must hold after daemons of a fleet were killed and stopped, and how it is seen."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from engram.memory import VaultMemory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.fleet_machine import Fleet
    from engram.config import Settings

WORD = re.compile(r"\bqz[0-9a-f]{3}x[0-9]{6}\b")
"""The word that one turn has and no other; it tells the vault and the number."""
FILED = re.compile(r"%%(qz[0-9a-f]{3}x[0-9]{6})%%")
"""Such a word as the id of a turn in a session file."""
TOP = 10


@dataclass
class Verdict:
    """What must hold after a run: every list of `faults` is empty.

    `counts` and `figures` say what happened and what it cost.
    """

    faults: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    counts: Counter[str] = field(default_factory=Counter)
    figures: dict[str, Any] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield the verdict in words."""
        for name, number in sorted(self.counts.items()):
            yield f"{name}: {number:,}"
        for name, value in self.figures.items():
            yield f"{name}: {value}"
        for one in self.late[:20]:
            yield f"late: {one}"
        for name in LAWS:
            found = self.faults.get(name, [])
            yield f"{'BROKEN' if found else 'holds'}: {name}"
            for one in found[:5]:
                yield f"    {one}"
            if len(found) > 5:
                yield f"    and {len(found) - 5} more"


LAWS = (
    "every acknowledged turn is stored",
    "no turn is stored twice",
    "no memory is stored twice",
    "no fence is given twice",
    "no answer is a fault but 503 or 429 with Retry-After",
    "every turn is acknowledged in the end",
    "no vault sees words of another",
    "the database agrees with the vault",
    "recall equals the embedded index",
    "no log has a traceback",
)


@dataclass(frozen=True)
class Taken:
    """A fence that was given: to which process, at which second."""

    fence: int
    pid: str
    at: float


def fences(fleet: Fleet, verdict: Verdict) -> dict[str, list[Taken]]:
    """Return every fence that was given, by vault; they grow, and none comes again."""
    leaves = {}
    for name in fleet.tokens:
        place = fleet.settings(name).place
        leaves[place.leaf if place else name] = name
    given: defaultdict[str, list[Taken]] = defaultdict(list)
    with closing(psycopg.connect(fleet.dsn, autocommit=True)) as admin:
        rows = admin.execute(
            "SELECT vault, fence, pid, extract(epoch FROM at)::float8 "
            "FROM audit.taken ORDER BY at"
        )
        for vault, fence, pid, at in rows:
            if vault in leaves:
                given[leaves[vault]].append(Taken(fence, str(pid), at))
    verdict.counts["leases taken"] = sum(map(len, given.values()))
    for name, takings in given.items():
        numbers = [one.fence for one in takings]
        if numbers != sorted(set(numbers)):
            verdict.faults["no fence is given twice"].append(f"{name}: {numbers}")
    return given


def stored(fleet: Fleet, acknowledged: Mapping[str, str], verdict: Verdict) -> None:
    """Compare the session files with what was acknowledged, and look for doubles.

    `acknowledged` has the vault of each word.
    """
    names = sorted(fleet.tokens)
    found: Counter[str] = Counter()
    for name in names:
        own = f"qz{names.index(name):03x}x"
        texts: Counter[str] = Counter()
        for path in sorted((fleet.vaults / name).rglob("*.md")):
            raw = path.read_text("utf-8", "replace")
            inside = path.relative_to(fleet.vaults / name).as_posix()
            words = WORD.findall(raw)
            if strange := [one for one in words if not one.startswith(own)]:
                verdict.faults["no vault sees words of another"].append(
                    f"{name}/{inside}: {strange[:3]}"
                )
            if inside.startswith("sessions/"):
                found.update(FILED.findall(raw))
            elif inside.startswith("facts/") and "status: active" in raw:
                texts[raw.split("---\n", 2)[-1].strip().split("\n\n")[0]] += 1
            if "conflict" in inside:
                verdict.counts["conflict notes"] += 1
        verdict.faults["no memory is stored twice"] += [
            f"{name}: {text[:80]}" for text, number in texts.items() if number > 1
        ]
        verdict.counts["memories"] += sum(texts.values())
    verdict.counts["acknowledged"] = len(acknowledged)
    verdict.counts["stored"] = len(found)
    verdict.faults["every acknowledged turn is stored"] += [
        f"{vault}: {word}, in {_traces(fleet, word) or 'no file'}"
        for word, vault in acknowledged.items()
        if not found[word]
    ]
    verdict.faults["no turn is stored twice"] += [
        f"{word}: {number} times" for word, number in found.items() if number > 1
    ]


def _traces(fleet: Fleet, word: str) -> str:
    """The files that have a word, also in the states."""
    return ", ".join(
        path.relative_to(fleet.root).as_posix()
        for top in (fleet.vaults, fleet.root / "state")
        for path in sorted(top.rglob("*"))
        if path.is_file() and word.encode() in path.read_bytes()
    )


def published(
    fleet: Fleet, given: Mapping[str, Sequence[Taken]], verdict: Verdict
) -> None:
    """Look at who published which file when: no process after another took the vault.

    Each host writes down the files that it publishes (`fleet_host.py`).
    """
    for path in sorted(fleet.root.glob("host-*/published")):
        for line in path.read_text("utf-8", "replace").splitlines():
            at, pid, file = line.split(" ", 2)
            if not file.startswith(f"{fleet.vaults}/"):
                continue
            verdict.counts["files published"] += 1
            name = Path(file).relative_to(fleet.vaults).parts[0]
            when = int(at) / 1e9
            owners = [one.pid for one in given.get(name, ()) if one.at <= when]
            if owners and owners[-1] not in {pid, "None"}:
                verdict.counts["files published too late"] += 1
                verdict.late.append(f"{file} by {pid}, of {owners[-3:]}")


def logs(fleet: Fleet, verdict: Verdict) -> None:
    """Look into the logs of the daemons."""
    for path in sorted(fleet.root.glob("host-*.log")):
        text = path.read_text("utf-8", "replace")
        if "Traceback" in text:
            place = text.index("Traceback")
            verdict.faults["no log has a traceback"].append(
                f"{path.name}: {text[place : place + 1500]}"
            )
        if words := WORD.findall(text):
            verdict.faults["no vault sees words of another"].append(
                f"{path.name}: {words[:3]}"
            )


def first_hits(answer: Mapping[str, Any]) -> list[Any]:
    """The first hits, as what is compared."""
    return [(hit["id"], hit["text"]) for hit in answer.get("hits", [])[:TOP]]


def compared(
    fleet: Fleet, asked: Mapping[tuple[str, str], list[Any]], verdict: Verdict
) -> None:
    """Ask an index in files, made anew from the same vaults, the same questions.

    The rows that the fleet left are asked as well: the vault may have changed since the
    daemons were asked.
    """
    by_vault: defaultdict[str, list[str]] = defaultdict(list)
    for name, query in asked:
        by_vault[name].append(query)
    for name, queries in by_vault.items():
        settings = fleet.settings(name)
        left = answers(settings, queries)
        own = fleet.root / "embedded" / name
        files = {key: own / key for key in ("cache", "state", "runtime")}
        embedded = answers(replace(settings, postgres="", **files), queries)
        again: dict[str, list[Any]] = {}
        for query in queries:
            verdict.counts["questions compared"] += 1
            given = asked[name, query]
            if given != left[query]:
                verdict.counts["answers of daemons that changed since"] += 1
            if left[query] == embedded[query]:
                continue
            # what was written when the vault was closed counts only for the later one
            again = again or answers(settings, queries)
            if again[query] == embedded[query]:
                verdict.counts["answers that closing the vault changed"] += 1
            else:
                verdict.faults["recall equals the embedded index"].append(
                    f"{name}: {query!r}: "
                    f"rows alone {_others(left[query], embedded[query])}, "
                    f"files alone {_others(embedded[query], left[query])}, "
                    f"daemons as rows: {given == left[query]}"
                )


def _others(some: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """The hits of one answer, with their places, that another has elsewhere or not."""
    return [
        (place, hit)
        for place, hit in enumerate(some)
        if others[place : place + 1] != [hit]
    ]


def answers(settings: Settings, queries: Sequence[str]) -> dict[str, list[Any]]:
    """The first hits of each question to a vault."""
    memory = VaultMemory(settings)
    memory.start()
    try:
        memory.catch_up()
        return {
            query: first_hits(
                memory.call("recall", {"query": query, "record": False}, "owner")
            )
            for query in queries
        }
    finally:
        memory.close()
