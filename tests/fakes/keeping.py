"""A vault with memories of any age and use, and its consolidation, put together as the
program does.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from engram.core.records import REMEMBERED, Fact, Turn, Usage
from engram.core.text import ulid
from engram.maintenance.run import Maintenance
from engram.pipeline.usage import UsageTracker
from engram.pipeline.write import action_row
from engram.vault import facts, frontmatter
from engram.vault.usage import ALL, UsageLog

DEVICE = "0123456789abcdef"
WORDS = [
    "Anna",
    "Ben",
    "Porto",
    "oat",
    "milk",
    "coffee",
    "piano",
    "garden",
    "train",
    "violin",
    "harbour",
    "winter",
    "cycling",
    "bread",
    "Tuesday",
]


class Keeping:
    """A memory's vault, filled as a test wants it."""

    def __init__(self, memory, *, git=False):
        self.memory = memory
        self.root = memory.settings.vault
        self.clock = memory.clock
        self.frozen = ""
        self._turns = {}
        policy = memory.settings.policy
        begun = {ALL: datetime(2000, 1, 1, tzinfo=UTC)}
        usage_log = UsageLog(memory.vault, DEVICE, policy.usage)
        usage_log.refresh(self.clock())
        usage_log.record_met(begun)  # the log is as old as any memory here
        usage_log.flush()
        memory.usage_tracker.flush()
        self.usage_tracker = UsageTracker(
            UsageLog(memory.vault, DEVICE, policy.usage), memory.index, policy
        )
        self.usage_tracker.refresh(self.clock())
        self.order = Maintenance(
            memory.note_writer,
            self.usage_tracker,
            memory.reconciler.entity_writer,
            memory.reconciler.comparison,
            self.clock,
            SimpleNamespace(reason=lambda: self.frozen),
            memory.commits.git if git else None,
        )

    def fact(self, text, *, days=0.0, **changes):
        """A note for a memory that is so many days old; its id."""
        return self.plant(self.made(text, days=days, **changes))[0]

    def made(self, text, *, days=0.0, **changes):
        """A memory that the rules took from what the user said."""
        created = self.clock() - timedelta(days=days)
        given = {
            "kind": "episode",
            "created": created,
            "origin": "rules",
            "source": self.said(),
        } | changes
        return Fact(ulid(created, text), text, **given)

    def said(self, day=0):
        """The key of a turn of the user's, one a day from 2020-01-01 on, which is no
        conversation.
        """
        if day not in self._turns:
            at = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=day)
            turn = Turn(f"kept-{day}", REMEMBERED, "user", "What was said.", at)
            with self.memory.intake.places([turn]) as places:
                (evidence,) = self.memory.note_writer.file_turns(places)
            self._turns[day] = evidence.key
        return self._turns[day]

    def plant(self, *made, born=True):
        """Notes for these memories, as engram writes them, logged as its own if they
        are `born` here; their ids.
        """
        zone = self.memory.settings.zone
        taken = set()
        for fact in made:
            path = facts.fact_path(
                fact,
                zone,
                taken=lambda name: name in taken or (self.root / name).exists(),
            )
            if fact.status == "archived":
                path = path.replace("facts/", "archive/", 1)
            taken.add(path)
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(
                frontmatter.emit(
                    facts.fact_keys(fact, zone), facts.fact_body(fact.text)
                )
            )
        if born:
            rows = [
                action_row(
                    fact.created or self.clock(), "create", fact.id, "said", by="rules"
                )
                for fact in made
            ]
            self.memory.note_writer.log_actions(
                [row | {"run": "planted"} for row in rows]
            )  # what is of a run teaches nothing
        self.memory.files.rescan(None)
        return [fact.id for fact in made]

    def used(self, name, *, days=0.0, access=1, **changes):
        """The memory was last recalled so many days ago."""
        usage = Usage(access=access, last_access=self.clock() - timedelta(days=days))
        self.usage_tracker.usage_log.record({name: replace(usage, **changes)})

    def seen(self, name):
        """The memory as its note says now."""
        return self.memory.index.catalog.find_fact(name)

    def run(self, cadence="nightly", **more):
        return self.order.run(cadence, **more)

    def tree(self):
        """Every file of the vault and its bytes, without those that only explain or
        follow.
        """
        log = (
            "state/memory-actions.jsonl",
            "state/runs.jsonl",
            "state/fact-hashes.txt",
        )
        files = {
            path.relative_to(self.root).as_posix(): path
            for path in self.root.rglob("*")
            if path.is_file()
        }
        return {
            name: path.read_bytes()
            for name, path in files.items()
            if name not in log and not name.startswith((".git/", "state/usage/"))
        }

    def everything(self):
        """Every file of the vault and its bytes."""
        files = (
            path
            for path in self.root.rglob("*")
            if path.is_file() and ".git" not in path.parts
        )
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes() for path in files
        }
