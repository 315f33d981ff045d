"""A conversation through a memory with the model of the environment, day by day.

    ENGRAM_MODEL=… ENGRAM_API_KEY=… python benchmarks/model_run.py conversation.jsonl folder

The turns go through a simulated daemon on the clock of the conversation, with every run
of maintenance between them. Printed at the end: memories by status with their dates,
calls and tokens by task. The calls are recorded in the folder. `docs/model-run.md` says
what to make of it.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

# the script's own folder stands there, not the project
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engram.testing import Simulation

KEYS = ("id", "session", "role", "speaker", "text", "occurred_at", "persona")
SHOWN = ("active", "superseded", "invalidated", "review", "archived")
ZONE = "Europe/London"


def main() -> None:
    """Play the conversation and print what came of it."""
    conversation, folder = map(Path, sys.argv[1:3])
    vault, record = folder / "vault", folder / "calls"
    vault.mkdir(parents=True, exist_ok=True)
    (vault / "engram.toml").touch()
    turns = [json.loads(line) for line in conversation.read_text("utf-8").splitlines()]
    env = {name: text for name, text in os.environ.items() if "ENGRAM" in name}
    env |= {"ENGRAM_RECORD": str(record), "TZ": os.environ.get("TZ", ZONE)}
    env |= {"OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "")}
    start = datetime.fromisoformat(turns[0]["occurred_at"])
    with Simulation(vault, at=start, home=folder / "home", env=env) as memory:
        for turn in turns:
            memory.advance(datetime.fromisoformat(turn["occurred_at"]))
            given = {name: turn[name] for name in KEYS if turn.get(name)}
            memory.call("observe", turns=[given])
        memory.advance(memory.now + timedelta(days=1))
        if waits := memory.call("stats")["blocked"]:
            print("blocked:", waits)
    _print_facts(vault)
    _print_calls(record / "calls.jsonl", len(turns))


def _print_facts(vault: Path) -> None:
    """Print the statements by status, with the front matter that dates them."""
    by_status: dict[str, list[str]] = {}
    for path in sorted(vault.rglob("*.md")):
        head, _, body = path.read_text("utf-8").partition("\n---\n")
        keys = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
        if "category" not in keys:
            continue
        names = ("valid_from", "event_end", "valid_until", "dated_by", "expires")
        dates = " ".join(f"{name}={keys[name]}" for name in names if name in keys)
        status = keys.get("status", "active")
        text = body.strip().splitlines()[0]
        by_status.setdefault(status, []).append(f"{text}  [{keys['category']}] {dates}")
    for status in SHOWN:
        print(f"\n{status}: {len(by_status.get(status, ()))}")
        print("\n".join(sorted(by_status.get(status, ()))))


def _print_calls(path: Path, turns: int) -> None:
    """Print calls and tokens by task, and what an exchange of two turns costs.

    The system text of a task is constant, so a provider caches it: it counts as cached
    from its second call on.
    """
    calls, total, cached = Counter[str](), Counter[str](), Counter[str]()
    seen: set[str] = set()
    for line in path.read_text("utf-8").splitlines():
        row: dict[str, Any] = json.loads(line)
        task = row["task"]
        calls[task] += 1
        total[task] += row["tokens"][0]
        system = len(row["system"]) // 4
        cached[task] += max(row["cached"], system if row["system"] in seen else 0)
        seen.add(row["system"])
    print(f"\n{'task':<10}{'calls':>6}{'tokens in':>11}{'cached':>9}")
    for task, number in calls.most_common():
        print(f"{task:<10}{number:>6}{total[task]:>11,}{cached[task]:>9,}")
    whole, held = sum(total.values()), sum(cached.values())
    print(f"calls a turn: {sum(calls.values()) / turns:.2f}")
    exchange = 2 / turns
    print(
        f"prompt tokens an exchange: {whole * exchange:.0f}, "
        f"uncached {(whole - held) * exchange:.0f}"
    )


if __name__ == "__main__":
    main()
