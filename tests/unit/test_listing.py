"""The operation `list`: filters, order, pages and who may see what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engram.errors import BadRequestError, ForbiddenError

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def vault(opened, clock):
    """A memory; `vault.at` sets its clock to a day."""
    clock.now = NOW
    memory = opened()

    def at(days):
        clock.now = NOW + timedelta(days=days)

    memory.at = at
    return memory


def texts(vault, caller="chat", **params):
    return [row["text"] for row in vault.call("list", params, caller)["memories"]]


def test_the_newest_come_first_in_pages_that_neither_repeat_nor_omit(vault):
    said = [f"The boat number {number} is blue." for number in range(7)]
    for day, text in enumerate(said):
        vault.at(day // 2)
        vault.call("remember", {"text": text})
    whole = vault.call("list", {})
    assert [row["created"] for row in whole["memories"]] == sorted(
        (row["created"] for row in whole["memories"]), reverse=True
    )
    pages, after = [], None
    while True:
        page = vault.call("list", {"limit": 2, **({"after": after} if after else {})})
        assert page["total"] == 7
        pages.append([row["text"] for row in page["memories"]])
        after = page["next"]
        if not after:
            break
    assert [len(page) for page in pages] == [2, 2, 2, 1]
    assert sorted(text for page in pages for text in page) == sorted(said)


def test_what_was_forgotten_is_listed_only_where_it_is_asked_for(vault):
    made = vault.call("remember", {"text": "The gate is green."})
    vault.call("forget", {"id": made["id"]})
    assert texts(vault) == []
    # that it was forgotten is shown, not what it said
    assert texts(vault, status="forgotten") == [""]
    assert texts(vault, status="all") == [""]


def test_private_memories_are_for_their_persona_and_the_owner(vault):
    vault.call("remember", {"text": "The surprise is a kite.", "persona": "Coach"})
    assert texts(vault) == []
    assert texts(vault, persona="Coach") == ["The surprise is a kite."]
    assert texts(vault, persona="Bard") == []
    assert texts(vault, "owner", all_personas=True) == ["The surprise is a kite."]
    with pytest.raises(ForbiddenError):
        texts(vault, all_personas=True)


@pytest.mark.parametrize(
    ("since", "until", "listed"),
    [
        ("yesterday", None, ["now", "yesterday"]),
        ("last week", "yesterday", ["yesterday"]),
        (None, "last summer", ["in May"]),
        ("3 days ago", "3 days ago", []),
        ("letzten Monat", "heute", ["now", "yesterday"]),
    ],
)
def test_times_may_be_words_in_any_language(vault, since, until, listed):
    for days, text in ((-190, "in May"), (-1, "yesterday"), (0, "now")):
        vault.at(days)
        vault.call("remember", {"text": f"The word is {text}."})
    asked = {"since": since, "until": until}
    found = texts(vault, **{key: value for key, value in asked.items() if value})
    assert found == [f"The word is {word}." for word in listed]
    hits = vault.call("recall", {"query": "word", "as_of": "last June"})["hits"]
    assert [hit["text"] for hit in hits if hit["kind"] == "fact"] == [
        "The word is in May."
    ]


@pytest.mark.parametrize("words", ["blue moon", "noon and yesterday", "the 45th", ""])
def test_words_that_name_no_time_are_refused_with_examples(vault, words):
    with pytest.raises(BadRequestError) as fault:
        vault.call("recall", {"query": "x", "as_of": words})
    assert "last March" in fault.value.fix


# row: C24
def test_a_stage_is_listed_as_it_is_now(vault):
    """It is computed for the list, and follows the use."""
    vault.call("remember", {"text": "The boat is blue."})
    assert texts(vault, stage="candidate") == []
    (stage,) = {
        vault.call("show", {"id": row["id"]})["worth"]["stage"]
        for row in vault.call("list", {})["memories"]
    }
    assert texts(vault, stage=stage) == ["The boat is blue."]
    for day in range(1, 12):
        vault.at(day)
        vault.call("recall", {"query": "Is the boat blue?"})
    assert texts(vault, stage="core") == ["The boat is blue."]
    with pytest.raises(BadRequestError, match="must be one of"):
        vault.call("list", {"stage": "old"})
