"""What `recall --explain` tells: the edges that led to a hit, and what was left out by
which rule.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from engram.core.records import Edge
from engram.serve import output
from engram.vault.edges import EdgeRow
from tests.fakes.keeping import Keeping

OURS = {"origin": "rules", "kind": "note", "confidence": 0.6}


def explained(memory, query, standing="owner", **wishes):
    asked = {"query": query, "explain": True, **wishes}
    return memory.call("recall", asked, standing)


def say(memory, text, persona=None, **more):
    turn = {"text": text, "session": "s", "role": "user", **more}
    turn |= {"persona": persona} if persona else {}
    memory.call("observe", {"turns": [turn]})
    memory.call("flush", {})


# row: C34
def test_explain_shows_the_confidence_of_each_edge_that_led_to_a_hit(memory, clock):
    keeping = Keeping(memory)
    heron, beam, bees = keeping.plant(
        keeping.made(
            "The heron nests at the mill.",
            days=3,
            about=("Mill",),
            source=keeping.said(1),
            **OURS,
        ),
        keeping.made(
            "A beam of it was renewed.",
            days=2,
            about=("Mill",),
            source=keeping.said(2),
            **OURS,
        ),
        keeping.made(
            "The neighbour keeps bees.", days=1, source=keeping.said(3), **OURS
        ),
    )
    seen = clock() - timedelta(days=200)
    memory.reconciler.entity_writer.edges.append(
        [EdgeRow(Edge(heron, bees, "similar", reinforced=seen))]
    )
    answer = explained(memory, "heron nests", kinds=["fact"])
    hits = {hit["key"]: hit for hit in answer["hits"]}
    assert hits[beam]["edges"] == [{"with": heron, "type": "entity", "confidence": 1.0}]
    assert hits[bees]["edges"] == [
        {"with": heron, "type": "similar", "confidence": 0.8}
    ]
    assert "edges" not in hits[heron]
    assert "similar edge with" in output.shown("recall", answer, explain=True)
    plain = memory.call("recall", {"query": "heron nests", "kinds": ["fact"]})
    assert not any("edges" in hit for hit in plain["hits"])


# row: X4
def test_what_is_private_to_another_persona_is_counted_for_the_owner_alone(memory):
    """A persona must not learn that there is something about the swordfish."""
    say(memory, "Between us: I keep a swordfish in the cellar.", "Mona")
    say(memory, "I like swordfish soup.", "Ben", session="t")
    key = "private to another persona"
    assert explained(memory, "swordfish", persona="Ben")["filtered"][key] > 0
    assert key not in explained(memory, "swordfish", persona="Mona")["filtered"]
    asked = explained(memory, "swordfish", standing="chat", persona="Ben")
    assert key not in asked["filtered"]
    assert "cellar" not in str(asked)
    everyone = explained(memory, "swordfish", all_personas=True)
    assert key not in everyone["filtered"]
    assert "cellar" in str(everyone)


# row: C28
def test_stale_memories_are_left_out_on_request_but_never_a_protected_one(memory):
    """Disputed ones are stale; what was said of the user's health is protected."""
    keeping = Keeping(memory)
    plain, kept = keeping.plant(
        keeping.made(
            "The heron nests at the mill.", days=3, source=keeping.said(1), **OURS
        ),
        keeping.made(
            "The user is allergic to herons.", days=2, source=keeping.said(2), **OURS
        ),
    )
    for name in (plain, kept):
        memory.call("dispute", {"id": name})
    shown = explained(memory, "heron", kinds=["fact"])["hits"]
    assert {hit["key"] for hit in shown} == {plain, kept}
    left = explained(memory, "heron", kinds=["fact"], without_stale=True)
    assert [hit["key"] for hit in left["hits"]] == [kept]
    assert left["filtered"]["stale"] == 1


# row: X4
def test_explain_shows_the_milliseconds_of_each_step(memory):
    """And what they are together on the command line."""
    memory.call("remember", {"text": "The heron nests at the mill."})
    answer = explained(memory, "heron nests")
    assert list(answer["milliseconds"]) == [
        "question",
        "words",
        "vectors",
        "records",
        "related memories",
        "ranking",
        "order",
        "limits",
        "files and tokens",
    ]
    assert all(spent >= 0 for spent in answer["milliseconds"].values())
    assert answer["hits"][0]["id"] == answer["hits"][0]["key"]
    shown = output.shown("recall", answer, explain=True)
    assert "milliseconds: question " in shown
    plain = memory.call("recall", {"query": "heron nests"})
    assert "milliseconds" not in plain


# row: E7
def test_the_preset_of_entities_caps_each_type_of_fact(memory):
    """Two about the user, three about people, three about the rest; turns have no cap."""
    keeping = Keeping(memory)
    path = memory.settings.vault / "entities" / "people" / "Otto.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("---\ntype: person\n---\n")
    made = [
        keeping.made(f"The heron {word} at mill {n}.", days=n + 1, about=about, **OURS)
        for about, word in (((), "sits"), (("Otto",), "flies"), (("Mill",), "nests"))
        for n in range(5)
    ]
    keeping.plant(*made)
    answer = explained(memory, "heron mill", kinds=["fact"], preset="entity")
    kinds = Counter(tuple(hit["about"]) for hit in answer["hits"])
    assert kinds == {(): 2, ("Otto",): 3, ("Mill",): 3}
    assert answer["filtered"]["over the cap of profile facts"] == 3
