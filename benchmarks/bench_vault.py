"""How many notes a conversation leaves: the bar of a vault that a person reads.

    python benchmarks/bench_vault.py            the offline rules, then recorded replies
    python benchmarks/bench_vault.py --keep DIR    the vaults stay in DIR/rules, DIR/model

The conversation and the replies of a model to it were recorded once and stand in
../shared/bench/model beside the project; without them the script says so. The turns go
through `engram.testing.Simulation`, and the days up to a week later are lived as well.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

# the script's own folder stands there, not the project
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engram.testing import Simulation
from engram.vault.template import create_vault, shipped
from tests.fakes.openai_server import Body, FakeServer
from tests.fakes.scribe import scribe, task_of

if TYPE_CHECKING:
    from collections.abc import Iterator

TALK = Path(__file__).resolve().parents[2] / "shared" / "bench" / "model"
BARS = {"rules": 0.6, "model": 1.9}
"""Notes outside `sessions/` that a turn may leave. The model finds a fact a turn, and
each has a note.
"""
NOT_COUNTED = ("sessions", ".trash", "state")
ZONE = "Europe/Berlin"

_TURN = re.compile(
    r"^\[(t\d+)\] (?:\w{3} )?\d\S+ \S+ .*?\((?:user|assistant)\): (.*)$", re.MULTILINE
)
_WORD = re.compile(r"\w+")


def rows_of(name: str) -> list[dict[str, Any]]:
    """One of the recorded files."""
    return [json.loads(line) for line in (TALK / name).read_text("utf-8").splitlines()]


def played(folder: Path, model: str | None = None) -> Counter[str]:
    """The notes after the conversation, by folder; `model` is the address of a server."""
    vault = folder / "vault"
    create_vault(vault, "talk", shipped("vault_template"))
    (vault / "engram.toml").write_text(f'id = "talk"\nzone = "{ZONE}"\n')
    brought = notes_in(vault)
    env = {"ENGRAM_MODEL": "recorded", "ENGRAM_BASE_URL": model} if model else {}
    turns = rows_of("conv.jsonl")
    start = datetime.fromisoformat(turns[0]["occurred_at"]) - timedelta(hours=1)
    with Simulation(vault, at=start, home=folder / "home", env=env) as sim:
        for turn in turns:
            sim.advance(datetime.fromisoformat(turn["occurred_at"]))
            sim.call("observe", turns=[turn])
        sim.advance(sim.now + timedelta(days=7))
        counts = sim.call("stats")
        assert not counts["waiting_turns"] + counts["parked_turns"], counts
    return notes_in(vault) - brought


def notes_in(vault: Path) -> Counter[str]:
    """The notes of a vault by their top folder, without those that are not counted."""
    places = (path.relative_to(vault) for path in vault.rglob("*.md"))
    tops = (one.parts[0] if len(one.parts) > 1 else "." for one in places)
    return Counter(top for top in tops if top not in NOT_COUNTED)


def a_turn(notes: Counter[str]) -> float:
    """The notes for each turn."""
    return notes.total() / len(rows_of("conv.jsonl"))


# The recorded model.


@contextmanager
def recorded() -> Iterator[str]:
    """A server that answers as the recorded model did; its address."""
    with FakeServer() as server:
        server.script(_reply)
        yield server.url


def _reply(body: Body) -> Body:
    """The recorded reply to the nearest question; with no likeness that of a scribe.

    Prompts change, so facts are found by their turns, all else by its words.
    """
    task = task_of(body)
    asked = str(body["messages"][-1]["content"])
    if task == "extract":
        return _extracted(asked)
    if task == "compare":
        return {"relation": "independent", "index": 0}
    if task in {"session", "episode", "spine"}:
        best = max(_calls(task), key=lambda row: _likeness(row["user"], asked))
        return dict(json.loads(best["reply"]))
    return scribe(body)


def _extracted(asked: str) -> Body:
    """What the recorded replies say of the turns that are shown, with their new labels."""
    reply: Body = {"facts": [], "entities": [], "relations": [], "ended": []}
    for label, words in _TURN.findall(asked):
        for field, items in _of_turn().get(words, {}).items():
            reply[field] += [{**item, "turn": label} for item in items]
    names = {json.dumps(item, sort_keys=True): item for item in _entities()}
    reply["entities"] = [one for one in names.values() if one["name"] in asked]
    return reply


@cache
def _calls(task: str) -> list[dict[str, Any]]:
    return [row for row in rows_of("calls.jsonl") if row["task"] == task]


@cache
def _of_turn() -> dict[str, dict[str, list[Body]]]:
    """Facts and relations by the words of their turn, as they were first answered.

    The recording ran through the conversation more than once.
    """
    found: dict[str, dict[str, list[Body]]] = {}
    for row in _calls("extract"):
        turns, reply = dict(_TURN.findall(row["user"])), json.loads(row["reply"])
        turns = {label: words for label, words in turns.items() if words not in found}
        for field in ("facts", "relations"):
            for item in reply[field]:
                if words := turns.get(item["turn"]):
                    more = {"same": None, "replaces": [], "ends": [], "supports": []}
                    kept = found.setdefault(words, {}).setdefault(field, [])
                    kept.append((more if field == "facts" else {}) | item)
    return found


@cache
def _entities() -> list[Body]:
    replies = (json.loads(row["reply"]) for row in _calls("extract"))
    return [item for reply in replies for item in reply["entities"]]


def _likeness(one: str, other: str) -> float:
    first, second = ({*_WORD.findall(text)} for text in (one, other))
    return len(first & second) / (len(first | second) or 1)


def main() -> int:
    if not TALK.exists():
        print(f"skipped: {TALK} is absent")
        return 0
    keep = (
        Path(sys.argv[sys.argv.index("--keep") + 1]) if "--keep" in sys.argv else None
    )
    missed = 0
    with tempfile.TemporaryDirectory() as folder, recorded() as url:
        for name, model in (("rules", None), ("model", url)):
            notes = played((keep or Path(folder)) / name, model)
            figure = a_turn(notes)
            verdict = "met" if figure <= BARS[name] else "MISSED"
            missed += figure > BARS[name]
            parts = ", ".join(f"{top} {count}" for top, count in notes.most_common())
            print(
                f"{name:6} {figure:5.2f} notes a turn  ≤{BARS[name]}  {verdict}  ({parts})"
            )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
