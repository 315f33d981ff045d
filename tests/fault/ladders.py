"""What happens in a life where one statement meets another: the scenarios of the write
ladder.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lives import SAYINGS, Life, MemoryWork, said, tried
from works import deed

from engram.config import ModelSettings
from engram.core.records import Candidate, Extraction, Fact, FactLinks, Relation
from engram.core.text import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from engram.core.records import Turn
    from engram.errors import ModelError
    from engram.ingest.queue import Batch

BICYCLE, TRICYCLE = "I decided to buy a bicycle.", "I decided to buy a tricycle."
HAMBURG = "The user lives in Hamburg."
RELATED = re.compile(r"(Anna) (works at|lives in) (\w+)")
KINDS = {"works at": "org", "lives in": "place"}


class Judged(Life):
    """One with a model that is sure of each sentence, and that judges what is near as
    words show it.
    """

    def __init__(self, root: Path, script: Sequence[ModelError] = ()) -> None:
        super().__init__(root, script)
        self.memory.settings = replace(
            self.memory.settings, model=ModelSettings("judge")
        )

    def outcome(self, batch: Batch) -> Extraction | ModelError:
        found = []
        for candidate in map(_candidate, batch.turns):
            fact = Fact("", candidate.text, candidate.category, about=candidate.about)
            near = self.memory.reconciler.comparison.near(fact, self.now)
            cuts = self.memory.settings.policy.similarity
            grey = [
                one
                for one in near
                if one.visible and cuts.grey <= one.similarity <= cuts.same
            ]
            links = FactLinks()
            if grey and grey[0].distinct:
                links = FactLinks(replaces=(grey[0].fact.id,))
            elif grey:
                links = FactLinks(same=grey[0].fact.id)
            found.append(replace(candidate, links=links))
        seen = [
            (turn, match) for turn in batch.turns if (match := RELATED.match(turn.text))
        ]
        bonds = [
            Relation(one[1], one[2].replace(" ", "_"), one[3], turn.id, one[0])
            for turn, one in seen
        ]
        types = {"Anna": "person"} | {one[3]: KINDS[one[2]] for _, one in seen}
        return Extraction(
            tuple(found),
            "model/1",
            relations=tuple(bonds),
            types=types,
        )


def _candidate(turn: Turn) -> Candidate:
    category = "decision" if "decided" in turn.text else "fact"
    return Candidate(turn.text, category, 0.9, turn.id, turn.text, about=("Anna",))


class LadderWork(MemoryWork):
    """Statements meet others: entities, a question and its answer, corrections,
    evidence, boxes by subject and time.
    """

    name = "ladder"
    texts = (
        *(text for name, text in SAYINGS.items() if name.startswith("l")),
        BICYCLE,
        TRICYCLE,
        HAMBURG,
    )

    def before(self, life: Life) -> None:
        life.observe(said("talk", "l0", "l1", "l2"), lambda _: None)
        life.look(hours=1)
        for fact in life.memory.index.catalog.facts():
            if "Siemens" in fact.text:
                life.memory.call("forget", {"id": fact.id})
                life.memory.call("update", {"id": fact.id, "status": "active"})

    def work(self, life: Life, ack: Callable[[str], object]) -> None:
        life.observe(said("talk", "l3"), ack)
        life.observe(said("walk", "l4"), ack)
        life.look(hours=1)
        if life.tick("Anna works at Bosch", "The newer one is true now"):
            ack("holds superseded Anna works at Siemens.")
            ack("holds active Anna works at Bosch.")
        tried(life.rescan)
        life.observe(said("talk", "l50"), ack)
        life.look(minutes=10)
        life.observe(said("walk", "l51"), ack)
        life.look(minutes=10)
        if life.tick("The user lives in Berlin", "Drop it"):
            ack("dropped The user lives in Berlin.")
        tried(life.rescan)
        deed(
            ack,
            "active",
            BICYCLE,
            lambda: life.memory.call("remember", {"text": BICYCLE}),
        )
        self.correct(life, ack, BICYCLE, TRICYCLE)
        moved = {"text": HAMBURG, "category": "correction"}
        deed(ack, "active", HAMBURG, lambda: life.memory.call("remember", moved))
        tried(lambda: life.memory.call("flush", {"background": True}))
        life.look(minutes=10)
        life.look(hours=1)

    def correct(
        self, life: Life, ack: Callable[[str], object], old: str, new: str
    ) -> None:
        """A person says that it is otherwise, if the one was kept at all."""
        known = life.memory.index.catalog.duplicate(content_hash(old), None, life.now)
        if known:
            ack(f"trying superseded {old}")
            ack(f"trying active {new}")
            if tried(
                lambda: life.memory.call("correct", {"id": known.id, "text": new})
            ):
                ack(f"holds superseded {old}")
                ack(f"holds active {new}")


class JudgeWork(MemoryWork):
    """A model judges: further evidence, newer words, an end, a fact with three
    conversations behind it that stays.
    """

    name = "judge"
    texts = tuple(text for name, text in SAYINGS.items() if name.startswith("m"))

    def life(self, root: Path, script: Sequence[ModelError] = ()) -> Life:
        return Judged(root, script)

    def statements(self, text: str) -> list[str]:
        return [text]

    def before(self, life: Life) -> None:
        life.observe(said("talk", "m1", "m2", "m3"), lambda _: None)
        life.look(hours=1)
        life.observe(said("walk", "m4"), lambda _: None)
        life.look(hours=1)

    def work(self, life: Life, ack: Callable[[str], object]) -> None:
        life.observe(said("ride", "m5", "m6"), ack)
        life.look(hours=1)
        life.observe(said("walk", "m7", "m8"), ack)
        life.look(minutes=10)
        life.observe(said("ride", "m9"), ack)
        life.look(minutes=10)
        life.observe(said("talk", "m52"), ack)
        life.look(hours=1)
