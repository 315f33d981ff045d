"""What happens in a life that is put in order: a night long after, taken back, and the
nights that follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lives import MemoryWork, said, statements, text_of, tried

from engram.core.text import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from lives import Life

NAMES = ("t0", "t1", "t2", "t3")


class NightWork(MemoryWork):
    """Everything has faded when the night comes; a person takes it back; what they did
    not see stays put away.
    """

    name = "night"
    texts = tuple(text_of(name) for name in NAMES)

    def before(self, life: Life) -> None:
        life.observe(said("talk", "t0", "t1"), lambda _: None)
        life.look(hours=1)

    def work(self, life: Life, ack: Callable[[str], object]) -> None:
        life.observe(said("talk", "t2", "t3"), ack)
        life.look(hours=1)
        known = [
            text
            for name in NAMES
            for text in statements(text_of(name))
            if self.fact(life, text)
        ]
        for text in known:
            ack(f"holds active {text}")
        life.look(days=200)
        run = self.night(life, ack, known)
        life.look(days=1)
        if run:
            for text in known:
                ack(f"trying active {text}")
            reports = []
            tried(lambda: reports.append(life.memory.call("undo", {"id": run})))
            if reports and not reports[0]["failures"] and not reports[0]["deferred"]:
                for text in known:
                    ack(f"holds active {text}")
        tried(lambda: life.memory.call("consolidate", {"cadence": "weekly"}))
        life.look(days=1)
        tried(lambda: life.memory.call("consolidate", {"cadence": "nightly"}))

    def night(self, life: Life, ack: Callable[[str], object], known: list[str]) -> str:
        """The night's run; what became of each memory is promised if nothing failed."""
        for text in known:
            ack(f"trying archived {text}")
            ack(f"trying pruned {text}")
        reports = []
        if not tried(lambda: reports.append(life.memory.call("consolidate", {}))):
            return ""
        (report,) = reports
        if not report["failures"] and not report["deferred"]:
            for text in known:
                ack(f"holds {self.fact(life, text)} {text}")
        return str(report["run"])

    def fact(self, life: Life, text: str) -> str:
        """The status of the memory with these words, '' where there is none."""
        digest = content_hash(text)
        found = [
            fact
            for fact in life.memory.index.catalog.facts()
            if content_hash(fact.text) == digest
        ]
        return found[0].status if found else ""
