"""What lies near memories, kept from night to night."""

from __future__ import annotations

from engram.maintenance.snapshot import NeighbourCache
from engram.pipeline.compare import Comparison

TEXTS = (
    "Anna drinks oat milk.",
    "Anna drinks oat milk in the morning.",
    "Anna drinks goat milk.",
    "Ben plays chess.",
)


class Counting(Comparison):
    """Beside a vault, with the memories that were searched for."""

    searched = ()

    def near(self, fact, *more, **given):
        self.searched += (fact.text,)
        return super().near(fact, *more, **given)


def around(keeping):
    return NeighbourCache(
        Counting(keeping.memory.index, keeping.memory.settings, lambda: ())
    )


def follow(one, keeping):
    """Follow the vault as it is; what was searched for on the way."""
    before = len(one.comparison.searched)
    facts = keeping.memory.index.catalog.facts()
    one.follow(facts)
    return facts, one.comparison.searched[before:]


def told(one, facts):
    """What is near to each active memory, with the versions of the notes left aside."""
    return {
        fact.text: [
            (near.fact.text, near.similarity, near.distinct) for near in one.near(fact)
        ]
        for fact in facts
        if fact.status == "active"
    }


# row: A21
def test_what_is_near_is_searched_once_and_tells_what_a_new_search_tells(keeping):
    """Through a note of a person's, an edit, an end and a return; keys alone cost
    nothing.
    """
    names = [keeping.fact(text, days=number + 1) for number, text in enumerate(TEXTS)]
    kept = around(keeping)
    facts, _ = follow(kept, keeping)
    told(kept, facts)
    assert follow(kept, keeping)[1] == ()

    def checked(*searched):
        facts, found = follow(kept, keeping)
        assert found == searched
        fresh = around(keeping)
        assert told(kept, facts) == told(fresh, facts)

    keeping.fact("Anna really drinks oat milk.", days=9)
    checked("Anna really drinks oat milk.")
    keeping.memory.call("update", {"id": names[1], "pinned": True})
    checked()
    path = keeping.root / keeping.seen(names[2]).path
    path.write_text(path.read_text().replace("goat milk", "sheep milk"))
    keeping.memory.index.scan([path])
    checked("Anna drinks sheep milk.")
    chess = names[TEXTS.index("Ben plays chess.")]
    keeping.memory.call("forget", {"id": chess})
    checked()
    keeping.memory.call("update", {"id": chess, "status": "active"})
    checked("Ben plays chess.")
