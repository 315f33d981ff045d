"""A canary: words that a person had forgotten are in no answer to any question."""

from __future__ import annotations

import json
from itertools import count

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from engram.core.forgetting import (
    TombstoneSet,
    Utterance,
    read_tombstones,
    tombstone_row,
)
from tests.size import examples

AT = "2026-01-01T00:00:00+00:00"
SAID = [
    (
        "My ex-husband is called Zaphod.",
        "Your ex-husband is called Zaphod.",
        "ex-husband",
    ),
    ("My therapist is Dr. Quux.", "Your therapist is Dr. Quux.", "therapist"),
    ("The wifi is called xyzzy77.", "The wifi is called xyzzy77!", "wifi"),
]
SECRETS = ("Zaphod", "zaphod", "Quux", "quux", "xyzzy77")
WORDS = [
    "ex-husband",
    "Zaphod",
    "therapist",
    "Quux",
    "Dr.",
    "wifi",
    "password",
    "xyzzy77",
    "town",
    "soup",
    "who",
    "is",
    "my",
]
OTHERS = (
    "I had soup.",
    "I love hiking in the Alps.",
    "My brother Tom lives in Oslo.",
    "The town is loud.",
)


@pytest.fixture
def rid(memory, clock):
    """A vault in which each secret was told twice, with other sentences, summed up, and
    then forgotten.
    """
    numbers = count()
    for mine, theirs, _ in SAID:
        for role, text in (
            ("user", f"{OTHERS[0]} {mine}"),
            ("assistant", f"{theirs} {OTHERS[3]}"),
            ("user", mine),
        ):
            clock.advance(minutes=1)
            turn = {
                "text": text,
                "role": role,
                "session": "talk",
                "id": f"m{next(numbers)}",
            }
            memory.call("observe", {"turns": [turn]})
    for text in OTHERS:
        memory.call("remember", {"text": text})
    clock.advance(hours=3)
    for cadence in ("talk", "nightly"):
        memory.call("consolidate", {"cadence": cadence})
    for mine, _, query in SAID:
        clock.advance(minutes=1)
        hits = memory.call("recall", {"query": query, "k": 20})["hits"]
        secret = mine.split()[-1].rstrip(".")
        memory.call(
            "forget",
            {
                "id": next(
                    hit["id"]
                    for hit in hits
                    if secret in hit["text"] and hit["role"] == "user"
                )
            },
        )
    return memory


# row: X8
@examples(60, 20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), st.booleans())
def test_what_was_forgotten_is_in_no_answer(rid, asked, archive):
    """Recall, context, todos, review, show and why of each hit: none has a word of it,
    but for the question itself.
    """
    query = " ".join(asked)
    answer = rid.call("recall", {"query": query, "k": 50, "archive": archive})
    told = [
        answer["hits"],
        answer["text"],
        rid.call("context", {"query": query, "session": "talk"}),
    ]
    for hit in answer["hits"]:
        if hit["kind"] == "fact":
            told += [rid.call(name, {"id": hit["id"]}) for name in ("show", "why")]
    told += [rid.call("todos", {"stage": "all"}), rid.call("review", {})]
    words = json.dumps(told, ensure_ascii=False)
    assert not [secret for secret in SECRETS if secret in words]


# row: X8
@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=200))
def test_a_forgotten_text_is_hidden_and_restored_whatever_it_is(text):
    """Its own words are hidden, a text of none of its words is itself, and taking it
    back shows it again.
    """
    stone = {"at": AT, "memory": "m", "hash": "h", **tombstone_row(text)}
    known = TombstoneSet(read_tombstones([stone]))
    assert (
        not known.visible(text, Utterance()).strip(" \t\r\n.!?…,;:-–—*#>()[]\"'")
        or not text.strip()
    )
    assert known.visible("Qwertz.", Utterance()) in {"Qwertz.", ""}
    assert not TombstoneSet(read_tombstones([stone, stone | {"restored": True}]))
