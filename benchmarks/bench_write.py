"""Write quality: what becomes of an adversarial conversation, and how much of it is
right (row X21).

    python benchmarks/bench_write.py            the offline rules, then a fallible model
    python benchmarks/bench_write.py --rules    the offline rules alone
    python benchmarks/bench_write.py --model    the model alone: its replies are written by hand, not recorded
    python benchmarks/bench_write.py --dates    the table of dates alone
    python benchmarks/bench_write.py --facts    also every fact, with the golden facts it meets

The conversation in `write/` goes turn by turn through a memory with a clock of its own,
as a daemon would take it. What stands in the vault at the end is held against the
golden facts; the exit code is 1 if a bar is missed.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

# the script's own folder stands there, not the project
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import write_dates
from benchmarks.write_judge import Filed, dated, near_duplicates, says, worded
from engram import config
from engram.core import todos
from engram.core.records import FiledTurn
from engram.core.text import content_hash
from engram.memory import VaultMemory
from engram.vault import facts, frontmatter
from tests.fakes.openai_server import Body, FakeServer, prompt_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from benchmarks.write_judge import Golden

WRITE = Path(__file__).resolve().parent / "write"
PRECISION = {"rules": 0.90, "model": 0.95}
RECALL = {"rules": None, "model": 0.85}
NEAR = 0.02
REVIEW = "review"


@dataclass(frozen=True, slots=True)
class Row:
    """A figure with its bar, '' where it is only reported, and what speaks against it."""

    what: str
    figure: float
    bar: str = ""
    met: bool = True
    items: tuple[str, ...] = ()

    def __str__(self) -> str:
        figure = (
            f"{self.figure:.3f}" if isinstance(self.figure, float) else str(self.figure)
        )
        verdict = ("met" if self.met else "MISSED") if self.bar else ""
        return f"{self.what:44} {figure:>7} {self.bar:>8}  {verdict}".rstrip()


@dataclass(frozen=True, slots=True)
class Played:
    """What stands in the vault after the conversation: facts, facts that wait for a
    person, leaked secrets.
    """

    filed: tuple[Filed, ...]
    waiting: tuple[Filed, ...]
    leaked: tuple[str, ...]
    model_faults: int


def rows_of(name: str) -> list[dict[str, Any]]:
    """One of the files beside the conversation."""
    return [
        json.loads(line)
        for line in (WRITE / f"{name}.jsonl").read_text("utf-8").splitlines()
    ]


# Playing.


def played(folder: Path, model: str | None = None) -> Played:
    """The conversation through a memory in `folder`; `model` is the address of a
    server.
    """
    clock = _Clock()
    memory = VaultMemory(_settings(folder, model), clock=clock, steady=clock.steady)
    memory.start()
    memory.catch_up()
    memory.executor.attended = True
    unit_of: dict[str, str] = {}
    recalled: dict[str, dict[str, Any]] = {}
    for _, session in groupby(
        rows_of("conversation"), key=lambda turn: turn["session"]
    ):
        for turn in session:
            clock.now = datetime.fromisoformat(turn["occurred_at"]).replace(
                tzinfo=memory.settings.zone
            )
            (key,) = memory.call("observe", {"turns": [_said(turn, memory, recalled)]})[
                "keys"
            ]
            unit_of[key] = turn["id"]
            _distil(memory)
        memory.pipeline.flush(background=True)
        _distil(memory)
        memory.call("consolidate", {"cadence": "nightly", "only": "end_states"})
    assert not memory.health.problems(), memory.health.problems()
    counts = memory.call("stats", {})
    assert not counts["waiting_turns"] + counts["parked_turns"], counts
    facts = tuple(_filed(memory, unit_of))
    faults = memory.call("status", {})["model_faults"]
    memory.close()
    return Played(
        tuple(fact for fact in facts if fact.status != REVIEW),
        tuple(fact for fact in facts if fact.status == REVIEW),
        tuple(leaks(folder)),
        faults,
    )


class _Clock:
    now: datetime

    def __init__(self) -> None:
        self.now = datetime.fromisoformat("2026-11-09T08:00:00+01:00")

    def __call__(self) -> datetime:
        return self.now

    def steady(self) -> float:
        return self.now.timestamp()


def _settings(folder: Path, model: str | None) -> config.Settings:
    vault = folder / "vault"
    vault.mkdir(mode=0o700)
    (vault / "engram.toml").write_text('id = "write"\nzone = "Europe/Berlin"\n')
    env = {"ENGRAM_HOME": str(folder / "home"), "HOME": str(folder)}
    if model:
        env |= {
            "ENGRAM_MODEL": "by-hand",
            "ENGRAM_BASE_URL": model,
            "ENGRAM_API_KEY": "none",
        }
    loaded = config.load(vault, env)
    quiet = replace(loaded.policy, files=replace(loaded.policy.files, quiet_seconds=0))
    return replace(loaded, policy=quiet)


def _said(
    turn: Mapping[str, Any], memory: VaultMemory, recalled: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """The turn as a chatbot hands it in; where the text asks for it, with what a
    session recalled once.
    """
    raw = {name: value for name, value in turn.items() if name != "recall"}
    if "recall" in turn:
        session = turn["session"]
        if session not in recalled:
            recalled[session] = memory.call(
                "recall", {"query": turn["recall"], "session": session}
            )
        answer = recalled[session]
        lines = " ".join(
            line for line in answer["text"].splitlines() if line.startswith("- ")
        )
        words = "\n".join(hit["text"] for hit in answer["hits"])
        for name, said in (
            ("recalled", answer["text"]),
            ("lines", lines),
            ("words", words),
        ):
            raw["text"] = raw["text"].replace("{{" + name + "}}", said)
    return raw


def _distil(memory: VaultMemory) -> None:
    for batch in memory.pipeline.due(memory.clock()):
        memory.pipeline.file(batch, memory.pipeline.distil(batch))


def _filed(memory: VaultMemory, unit_of: Mapping[str, str]) -> Iterator[Filed]:
    """Every fact in the vault that an extractor made, whatever its status, read from
    its file.
    """
    root, zone = memory.settings.vault, memory.settings.zone
    for path in sorted(
        path
        for name in ("facts", "archive", REVIEW)
        for path in (root / name).rglob("*.md")
    ):
        held = frontmatter.read(path.read_bytes(), memory.settings.policy.files)
        fact, _ = facts.fact_from(held, str(path.relative_to(root)), "", zone)
        if fact is None or fact.origin not in {"rules", "model"}:
            continue
        decisions = memory.call("why", {"id": fact.id})["decisions"]
        source = memory.index.unit(fact.source) if fact.source else None
        turn = source.turn if isinstance(source, FiledTurn) else None
        yield Filed(
            id=fact.id,
            text=fact.text,
            category=fact.category,
            status=fact.status,
            turns=tuple(
                unit_of.get(key, f"unknown {key}")
                for key in (fact.source, *fact.also)
                if key
            ),
            said=turn.text if turn else "",
            quote=next((row["quote"] for row in decisions if row.get("quote")), ""),
            spoken=turn.occurred_at.date() if turn else None,
            begins=fact.valid_from.astimezone(zone).date() if fact.valid_from else None,
            settled=todos.stage_at(fact, memory.clock(), zone) in _SETTLED,
        )


def leaks(folder: Path) -> Iterator[str]:
    """Each secret that stands in a file below `folder`: as it is, in UTF-16, in base64."""
    secrets = [
        (turn["turn"], secret)
        for turn in rows_of("never")
        for secret in turn.get("secrets", ())
    ]
    for path in sorted(
        path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
    ):
        held = path.read_bytes()
        for turn, secret in secrets:
            if any(form in held for form in _forms(secret)):
                yield f"{turn}: {secret} in {path.relative_to(folder)}"


def _forms(secret: str) -> Iterator[bytes]:
    raw = secret.encode()
    yield raw
    yield secret.encode("utf-16-le")
    # base64 of a longer text shows the secret in one of three shifts
    for lead in range(3):
        yield base64.b64encode(b" " * lead + raw)[lead + (lead > 0) : -4]


# The model.


@contextmanager
def by_hand() -> Iterator[FakeServer]:
    """A server that answers each batch with the replies written for its turns."""
    with FakeServer() as fake:
        fake.script(_replier())
        yield fake


_SETTLED = {todos.FULFILLED, todos.EXPIRED}
_KNOWN = re.compile(r'^(\d+)\. (\d{4}-\d\d-\d\d) (".*")$', re.MULTILINE)
_SHOWN_TURN = re.compile(
    r"^\[(t\d+)\] \w{3} (\d{4}-\d\d-\d\d) (\d\d:\d\d) ", re.MULTILINE
)


def _replier() -> Callable[[Body], Body]:
    moments = {turn["occurred_at"][:16]: turn["id"] for turn in rows_of("conversation")}
    replies: dict[str, list[dict[str, Any]]] = {}
    for reply in rows_of("replies"):
        told = {name: reply[name] for name in reply if name not in {"turn", "fault"}}
        replies.setdefault(reply["turn"], []).append(told)

    def answer(body: Body) -> Body:
        asked = prompt_text(body)
        if "<conversation " not in asked:
            return _modest(_schema(body))
        before, _, turns = asked.rpartition("<conversation ")
        known = [
            (int(number), day, json.loads(text))
            for number, day, text in _KNOWN.findall(before)
        ]
        return {
            "facts": [
                {"turn": label} | _with_numbers(reply, known)
                for label, day, minute in _SHOWN_TURN.findall(turns)
                for reply in replies.get(moments.get(f"{day}T{minute}", ""), ())
            ]
        }

    return answer


def _with_numbers(
    reply: Mapping[str, Any], known: Sequence[tuple[int, str, str]]
) -> dict[str, Any]:
    """The reply with the numbers of the facts shown that it replaces.

    In the file they are named by the ids of golden facts.
    """
    told = {name: value for name, value in reply.items() if name != "over"}
    over = [row for row in rows_of("golden") if row["id"] in reply.get("over", ())]
    days = {turn["id"]: turn["occurred_at"][:10] for turn in rows_of("conversation")}
    numbers = [
        number
        for number, day, text in known
        for row in over
        if day in {days[turn] for turn in row["turn"]}
        and any(says(text, alternative) for alternative in row["any"])
    ]
    return told | ({"replaces": numbers} if over else {})


def _schema(body: Body) -> Mapping[str, Any]:
    form = body.get("response_format") or body.get("text", {}).get("format", {})
    schema: Mapping[str, Any] = form.get("json_schema", form).get("schema", {})
    return schema


def _modest(schema: Mapping[str, Any]) -> Any:
    """The least that fits a schema: what another task is answered; of choices, that two
    things are unrelated.
    """
    if "enum" in schema:
        return "independent" if "independent" in schema["enum"] else schema["enum"][-1]
    parts = {"array": [], "string": "", "number": 0.5, "integer": 0, "boolean": False}
    kind = schema.get("type", "object")
    if kind != "object":
        return parts.get(kind)
    return {name: _modest(part) for name, part in schema.get("properties", {}).items()}


# Judging.


def measured(done: Played, name: str) -> list[Row]:
    """The table for a run of `name`, rules or model."""
    golden, never = rows_of("golden"), rows_of("never")
    meets = {fact.id: met(fact, golden) for fact in done.filed}
    right = [fact for fact in done.filed if meets[fact.id]]
    wrong = [fact for fact in done.filed if not meets[fact.id]]
    active = [fact for fact in done.filed if fact.status == "active"]
    found = {one for met in meets.values() for one in met}
    kinds = {turn["turn"]: turn["kind"] for turn in never}
    whys = {turn["turn"]: f" ({turn['kind']}: {turn['why']})" for turn in never}
    mistakes = tuple(
        line + whys.get(fact.turns[0] if fact.turns else "", "")
        for line, fact in zip(shown(wrong), wrong, strict=True)
    )
    precision = len(right) / len(done.filed) if done.filed else 0.0
    recall = len(found) / len(golden)
    missed = tuple(
        f"{row['turn'][0]}: {row['id']}" for row in golden if row["id"] not in found
    )
    least = RECALL[name]
    pairs = near_duplicates([fact.text for fact in active])
    near = len(pairs) / len(active) if active else 0.0
    return [
        Row("turns", len(rows_of("conversation"))),
        Row("golden facts", len(golden)),
        Row("facts filed", len(done.filed)),
        Row("facts that wait for a person", len(done.waiting)),
        Row("model calls that failed", done.model_faults, "0", not done.model_faults),
        Row(
            "precision",
            precision,
            f">={PRECISION[name]:.2f}",
            precision >= PRECISION[name],
            mistakes,
        ),
        Row(
            "recall",
            recall,
            f">={least:.2f}" if least else "",
            recall >= (least or 0),
            missed,
        ),
        none("exact duplicates", exact_duplicates(active)),
        Row(
            "near duplicates",
            near,
            f"<={NEAR:.2f}",
            near <= NEAR,
            tuple(f"{one} / {two}" for one, two in pairs),
        ),
        none(
            "facts without evidence",
            shown(fact for fact in done.filed if not grounded(fact)),
        ),
        none(
            "facts from recalled text",
            shown(fact for fact in wrong if is_from(fact, kinds, "echo")),
        ),
        none(
            "wrong dates",
            shown(fact for fact in wrong if any(worded(fact, row) for row in golden)),
        ),
        none(
            "planted instructions",
            shown(f for f in wrong if f in active and is_from(f, kinds, "instruction")),
        ),
        none("secrets on disk", done.leaked),
        *reported(done, golden, meets),
    ]


def reported(
    done: Played, golden: Sequence[Golden], meets: Mapping[str, Sequence[str]]
) -> Iterator[Row]:
    """Figures without a bar: the same fact more than once, wrong categories, what no
    longer holds and is active.
    """
    by_id = {row["id"]: row for row in golden}
    times = Counter(
        one
        for fact in done.filed
        if fact.status == "active"
        for one in meets[fact.id][:1]
    )
    again = [f"{one}: {count}" for one, count in times.items() if count > 1]
    yield Row("golden facts active more than once", len(again), items=tuple(again))
    odd = [
        fact
        for fact in done.filed
        if meets[fact.id]
        and not any(fact.category in by_id[one]["category"] for one in meets[fact.id])
    ]
    yield Row("facts of another category", len(odd), items=shown(odd))
    stale = [
        fact
        for fact in done.filed
        if fact.status == "active"
        and not fact.settled
        and meets[fact.id]
        and all("until" in by_id[one] for one in meets[fact.id])
    ]
    yield Row("outdated facts still active", len(stale), items=shown(stale))


def met(fact: Filed, golden: Sequence[Golden]) -> tuple[str, ...]:
    """The golden facts that a filed fact meets: one statement may say two things."""
    return tuple(row["id"] for row in golden if worded(fact, row) and dated(fact, row))


def none(what: str, items: tuple[str, ...]) -> Row:
    """A row whose bar is that there is nothing."""
    return Row(what, len(items), "0", not items, items)


def exact_duplicates(active: Sequence[Filed]) -> tuple[str, ...]:
    """Statements that stand in more than one active fact."""
    times = Counter(content_hash(fact.text) for fact in active)
    return tuple(fact.text for fact in active if times[content_hash(fact.text)] > 1)


def grounded(fact: Filed) -> bool:
    """Whether the words that prove the fact stand in its turn."""
    return bool(fact.quote) and fact.quote in fact.said


def is_from(fact: Filed, kinds: Mapping[str, str], kind: str) -> bool:
    """Whether any of its evidence is a turn of that kind, which teaches nothing but its
    golden facts.
    """
    return any(kinds.get(turn) == kind for turn in fact.turns)


def shown(facts: Iterable[Filed]) -> tuple[str, ...]:
    """A line for each fact."""
    return tuple(
        f"{', '.join(fact.turns)}: {fact.text} [{fact.category}, {fact.status}, {fact.begins}]"
        for fact in facts
    )


# Printing.


def run(name: str) -> tuple[Played, list[Row]]:
    """Play and judge in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        if name == "rules":
            done = played(Path(folder))
        else:
            with by_hand() as server:
                done = played(Path(folder), server.url)
    return done, measured(done, name)


def report(rows: Sequence[Row], *, everything: bool) -> None:
    """The table, then what speaks against each figure that misses its bar, or against
    any.
    """
    for row in rows:
        print(row)
    for row in rows:
        if row.items and (everything or not row.met):
            print(f"\n{row.what}:")
            print("".join(f"  {item}\n" for item in row.items), end="")


def date_rows() -> list[Row]:
    """The table of dates: what is wrong and how much is resolved (`X14`)."""
    table = list(write_dates.rows())
    share, least = write_dates.resolved_share(table), write_dates.RESOLVED
    lost = tuple(str(row) for row in table if row.is_lost)
    return [
        Row("sentences", len(table)),
        Row("sentences without a date", sum(not row.date for row in table)),
        none("wrong dates", tuple(str(row) for row in table if row.is_wrong)),
        Row("resolved", share, f">={least:.2f}", share >= least, lost),
    ]


def main(flags: Sequence[str]) -> int:
    """All tables, or the one asked for; 1 where a bar is missed."""
    tables = (*PRECISION, "dates")
    names = [name for name in tables if f"--{name}" in flags] or list(tables)
    fine = True
    if "dates" in names:
        names.remove("dates")
        rows = date_rows()
        print(f"{'dates in ten languages':44}  figure      bar")
        report(rows, everything="--facts" in flags)
        fine = all(row.met for row in rows)
    for name in names:
        done, rows = run(name)
        print(
            f"\n{'the offline rules' if name == 'rules' else 'a fallible model, by hand':44}  figure      bar"
        )
        report(rows, everything="--facts" in flags)
        if "--facts" in flags:
            golden = rows_of("golden")
            print("\nfacts:")
            for fact in done.filed:
                print(f"  {', '.join(met(fact, golden)) or '-':24} {shown([fact])[0]}")
            print("\nwaiting:", *shown(done.waiting), sep="\n  ")
        fine = fine and all(row.met for row in rows)
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
