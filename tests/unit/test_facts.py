"""A memory's note as a record: our own keys, other formats' keys, and a person's slips."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from engram.core.records import Fact
from engram.core.text import is_ulid
from engram.vault import facts, frontmatter

ZONE = ZoneInfo("Europe/Berlin")
FACT = Fact(
    id="01KBH2Q0M6T4W2Y0B7C5D9E1FX",
    text="Anna prefers oat-milk flat whites and stopped drinking tea in October 2026.",
    category="preference",
    created=datetime(2026, 11, 20, 20, 14, 5, tzinfo=UTC),
    confidence=0.92,
    importance=0.7,
    about=("Anna Müller",),
    tags=("preference/drink",),
    source="2026-11-20-coffee-plans#^t12",
)


def read(front: str, body: str = "A statement.\n", path: str = "facts/2026-11-20/x.md"):
    return facts.fact_from(
        frontmatter.read(f"---\n{front}\n---\n{body}".encode()), path, "", ZONE
    )


def fact(
    front: str, body: str = "A statement.\n", path: str = "facts/2026-11-20/x.md"
) -> Fact:
    found, problems = read(front, body, path)
    assert not problems
    return found


# row: E4
@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ("memoryKey: k\nimportance: 0", 0.2),
        ("memoryKey: k\nimportance: 1", 0.5),
        ("type: PEOPLE\nimportance: 2", 0.75),
        ("type: PROFILE\nimportance: 3", 1.0),
        ("type: PROJECT", 0.5),
        ("type: PROJECT\nimportance: 1.6", 0.75),
        ("type: PROJECT\nimportance: 9", 1.0),
        ("type: project\nimportance: 2", 0.2),
        ("importance: 2", 0.2),
        ("pinned: true\nimportance: 0.3", 1.0),
        ("type: PEOPLE\nimportance: 1\npinned: true", 1.0),
    ],
)
def test_importance_has_seed_e_s_scale_in_its_notes_and_a_pin_makes_important(
    front, expected
):
    """0 to 3 are the levels; what is pinned is as important as can be while it is,
    whatever its own figure.
    """
    assert fact(front).importance == expected


# row: E6
@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ("source: seeded_profile\nstatus: ACTIVE", ("user", "active")),
        ("source: curated_fold\nstatus: ARCHIVED", ("dream", "archived")),
        ("source: shadow_extraction", ("shadow_extraction", "active")),
        ("source: curated_fold\norigin: user", ("user", "active")),
        ("source: extraction", ("", "active")),
    ],
)
def test_seed_e_s_sources_and_statuses_have_their_place(front, expected):
    """What a curator folded is consolidation's and never evidence; its confidence is
    read as any other.
    """
    found = fact(f"{front}\nconfidence: 0.4")
    assert (found.origin, found.status) == expected
    assert (found.source, found.confidence) == ("", 0.4)


# row: C8
@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ("pinned: true", {"pinned": True}),
        ("keep_forever: yes", {"pinned": True}),
        ("protected: true", {"pinned": True}),
        ("ttl_policy: keep_forever", {"pinned": True}),
        ("policyClass: protected", {"pinned": True}),
        ("policyClass: durable\npinned: false", {"pinned": False}),
        (
            "ttl_policy: ephemeral\nkind: episode\ncreated: 2026-11-20T00:00:00Z",
            {"kind": "episode", "expires": datetime(2026, 12, 20, tzinfo=UTC)},
        ),
        (
            "policyClass: ephemeral\ncreatedAt: 2026-11-01T00:00:00Z",
            {"expires": datetime(2027, 1, 30, tzinfo=UTC)},
        ),
        ("importance: 7", {"importance": 0.7}),
        ("importance: high", {"importance": 0.7}),
        ("importanceScore: 0.33", {"importance": 0.33}),
        ("importanceLevel: critical", {"importance": 0.95}),
        ("importance: 1", {"importance": 1.0}),
        ("confidenceTier: speculative", {"confidence": 0.35}),
        ("confidence: 0.4\nconfidenceTier: explicit", {"confidence": 0.4}),
        ("memoryKind: episode", {"kind": "episode"}),
        ("entityRef: person-anna", {"about": ("person-anna",)}),
        ("about: [[Anna]]", {"about": ("Anna",)}),
        (
            "about:\n  - '[[entities/people/Anna Müller|Anna]]'\n  - Bob\n  -",
            {"about": ("Anna Müller", "Bob")},
        ),
        ("tags: '#coffee, drinks/hot  x'", {"tags": ("coffee", "drinks/hot", "x")}),
        ("tags:\n  - coffee\n  - 2026", {"tags": ("coffee", "2026")}),
        ("supersededBy: fact-1", {"superseded_by": ("fact-1",)}),
        ("supersedes: [a, '[[b]]']", {"supersedes": ("a", "b")}),
        ("expiresAt: 2027-01-01", {"expires": datetime(2027, 1, 1, 23, tzinfo=UTC)}),
        (
            "validAt: 2026-01-01T00:00:00Z",
            {"valid_from": datetime(2026, 1, 1, tzinfo=UTC)},
        ),
        (
            "invalidAt: 2026-01-01T00:00:00Z",
            {"valid_until": datetime(2026, 1, 1, tzinfo=UTC)},
        ),
        (
            "lifecycleState: stale\nverificationState: disputed",
            {"verification": "disputed"},
        ),
        ("forgottenReason: asked", {"end_reason": "asked"}),
        ("status: pending_review", {"status": "review"}),
        ("status: Archived", {"status": "archived"}),
        ("category: procedural", {"category": "skill"}),
        ("category: insight", {"category": "fact", "tags": ("insight",)}),
        ("source: extraction", {"source": ""}),
        ("source: '[[x#^t1|there]]'", {"source": "x#^t1"}),
        ("source: x#^t1", {"source": "x#^t1"}),
        (
            "persona: work\nlayer: working\norigin: rules",
            {"persona": "work", "layer": "working", "origin": "rules"},
        ),
        ("id: fact-1763673245000-ab12", {"id": "fact-1763673245000-ab12"}),
        ("id: 12345", {"id": "12345"}),
    ],
)
def test_names_and_scales_of_other_formats_are_understood(front, expected):
    """The five seeds' own vaults can be read as they are."""
    found = fact(front)
    assert {key: getattr(found, key) for key in expected} == expected


# row: X3
@pytest.mark.parametrize(
    ("front", "key", "value"),
    [
        ("importance: lots", "importance", 0.5),
        ("importance: 70", "importance", 1.0),
        ("confidence: true", "confidence", 1.0),
        ("confidence: -1", "confidence", 0.0),
        ("status: achived", "status", "active"),
        ("kind: thing", "kind", "note"),
        ("expires: soon", "expires", None),
        ("persona: [a, b]", "persona", None),
        ("id: two words", "category", "fact"),
    ],
)
def test_a_slip_is_named_with_its_line_and_counts_as_absent(front, key, value):
    """A person's typing error never hides a memory."""
    found, problems = read(f"mine: 1\n{front}")
    assert getattr(found, key) == value
    assert [(problem.code, problem.line, problem.path) for problem in problems] == [
        ("bad-value", 3, "facts/2026-11-20/x.md")
    ]


# row: C3
def test_an_unknown_category_is_kept_as_a_tag_of_a_fact():
    """The person's word is not lost."""
    found, problems = read("tags: [a]\ncategory: Recipe book")
    assert (found.category, found.tags) == ("fact", ("a", "recipe-book"))
    assert [problem.code for problem in problems] == ["unknown-category"]


def test_a_file_with_nothing_but_a_sentence_is_a_persons_memory():
    """Certain, with an id and a date that follow from its place."""
    raw = frontmatter.read(b"Anna drinks tea.\n")
    found, problems = facts.fact_from(raw, "facts/2026-11-20/tea.md", "abc", ZONE)
    assert not problems
    assert (found.text, found.category, found.kind, found.confidence) == (
        "Anna drinks tea.",
        "fact",
        "note",
        1.0,
    )
    assert (found.origin, found.source, found.sha) == ("", "", "abc")
    assert found.created == datetime(2026, 11, 19, 23, tzinfo=UTC)
    assert is_ulid(found.id)
    assert facts.fact_from(raw, "facts/2026-11-20/tea.md", "abc", ZONE)[0] == found
    elsewhere, _ = facts.fact_from(raw, "facts/tea.md", "abc", ZONE)
    assert elsewhere.id != found.id
    assert elsewhere.created is None


def test_embeds_and_history_are_no_part_of_the_statement():
    """They show the original words and older versions; they are not what is believed."""
    body = "Anna drinks coffee.\n\n![[2026-11-20-x#^t1]]\n\nWith oat milk. ![[pic.png]]\n\n## History\n\n- tea\n"
    assert fact("id: x", body).text == "Anna drinks coffee.\n\nWith oat milk."


# row: C7
def test_a_taken_name_is_not_used_again():
    """Tea, coffee and tea again on one day are three files."""
    first = facts.fact_path(FACT, ZONE, taken=lambda _: False)
    assert facts.fact_path(FACT, ZONE, taken={first}.__contains__) == first.replace(
        ".md", "-2.md"
    )
    with pytest.raises(ValueError, match="time"):
        facts.fact_path(replace(FACT, created=None), ZONE, taken=lambda _: False)
