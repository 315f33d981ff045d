"""What a language model is asked: calls and tokens by task for each 100 turns (row
X24).

    python benchmarks/bench_costs.py

The conversation in `write/`, 731 turns of one month, goes through a memory whose clock
goes with it, as a daemon would take it, with every run of consolidation when it is due.
The model is a server that answers extraction by hand and tells from memories what it is
shown; tokens are characters of the prompts and answers divided by four. A pass costs
what its tasks cost: without it the table lacks that line.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

# the script's own folder stands there, not the project
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.bench_write import _replier, _settings, rows_of
from engram.memory import VaultMemory
from tests.fakes.openai_server import FakeServer, prompt_text
from tests.fakes.scribe import material_of, scribe, task_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fakes.openai_server import Body

SIGNS = 4
ZONE = ZoneInfo("Europe/Berlin")
TOLD = frozenset(("describe", "story", "macro", "patterns", "subjects", "bridge"))
SUMMARIES = frozenset(("rolling", "session", "episode"))
WORDS = "They talked of their days, their work and of the people they know."


class Ledger:
    """Calls and characters by task, as the server saw them."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()

    def answering(self) -> Callable[[Body], Body]:
        """The model: what is asked and answered is entered."""
        by_hand = _replier()

        def answer(body: Body) -> Body:
            task = task_of(body) or "extract"
            said = scribe(body) if task in TOLD else by_hand(body)
            if task == "compare":
                pairs = material_of(body)["pairs"]
                verdict = {"relation": "independent", "confidence": 0.9}
                said = {"verdicts": [{"pair": one["pair"]} | verdict for one in pairs]}
            if task in SUMMARIES:
                said = {
                    name: value or ([WORDS] if isinstance(value, list) else WORDS)
                    for name, value in said.items()
                }
            self.calls[task] += 1
            self.asked[task] += len(prompt_text(body))
            self.answered[task] += len(json.dumps(said, ensure_ascii=False))
            return said

        return answer


def played(turns: list[dict[str, Any]], ledger: Ledger) -> None:
    """Every turn at its time; after each session, and each night between two, what is
    due.
    """
    with FakeServer() as fake, tempfile.TemporaryDirectory() as folder:
        fake.script(ledger.answering())
        now = [_moment(turns[0])]
        memory = VaultMemory(
            _settings(Path(folder), fake.url),
            clock=lambda: now[0],
            steady=partial(_seconds, now),
        )
        memory.executor.attended = True
        memory.start()
        memory.catch_up()
        for _, session in groupby(turns, key=lambda turn: turn["session"]):
            for turn in session:
                moment = _moment(turn)
                while moment - now[0] > timedelta(days=1):
                    now[0] += timedelta(days=1)
                    _work(memory)
                now[0] = moment
                memory.call(
                    "observe",
                    {"turns": [{key: turn[key] for key in turn if key != "recall"}]},
                )
                _work(memory)
            now[0] += timedelta(minutes=31)
            _work(memory)
        memory.close()


def _seconds(now: list[datetime]) -> float:
    return now[0].timestamp()


def _moment(turn: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(turn["occurred_at"]).replace(tzinfo=ZONE)


def _work(memory: VaultMemory) -> None:
    memory.between_operations()
    for batch in memory.pipeline.due(memory.clock()):
        memory.pipeline.file(batch, memory.pipeline.distil(batch))
    memory.maintenance_loop.tend()


def main() -> None:
    """Print the table."""
    turns = rows_of("conversation")
    ledger = Ledger()
    played(turns, ledger)
    share = 100 / len(turns)
    print(f"{len(turns)} turns; for each 100 of them:")
    print(f"{'task':<12}{'calls':>8}{'tokens in':>12}{'tokens out':>12}")
    for task in sorted(ledger.calls, key=lambda name: -ledger.asked[name]):
        tokens = (
            ledger.asked[task] / SIGNS * share,
            ledger.answered[task] / SIGNS * share,
        )
        print(
            f"{task:<12}{ledger.calls[task] * share:>8.1f}{tokens[0]:>12,.0f}{tokens[1]:>12,.0f}"
        )
    whole = (
        sum(ledger.asked.values()) / SIGNS * share,
        sum(ledger.answered.values()) / SIGNS * share,
    )
    print(
        f"{'all':<12}{sum(ledger.calls.values()) * share:>8.1f}{whole[0]:>12,.0f}{whole[1]:>12,.0f}"
    )


if __name__ == "__main__":
    main()
