"""Notes that wait for a person: written, ticked in any editor, and read again."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from engram.core.records import Fact
from engram.core.text import ulid
from engram.vault import facts, frontmatter, reviews

ZONE = ZoneInfo("Europe/Berlin")
WHEN = datetime(2026, 11, 20, 20, 14, tzinfo=UTC)
NEW = Fact(
    ulid(WHEN, "new"),
    "Mira lives in Porto.",
    created=WHEN,
    path="facts/2026-11-20/fact-porto-1.md",
)
OLD = Fact(
    ulid(datetime(2026, 3, 2, tzinfo=UTC), "old"),
    "Mira lives in Lisbon.",
    created=datetime(2026, 3, 2, tzinfo=UTC),
    path="facts/2026-03-02/fact-lisbon-1.md",
)
BODY = facts.fact_body(
    "Anna moved to Porto.",
    "talk#^t1",
    reviews.section("no evidence in the turn", "she moved"),
)


def tick(body: str, answer: str, box: str = "- [x]") -> str:
    return body.replace(
        f"- [ ] {reviews.LABELS[answer]}", f"{box} {reviews.LABELS[answer]}"
    )


# row: X9
@pytest.mark.parametrize(
    "box",
    [
        "- [x]",
        "- [X]",
        "* [x]",
        "+ [x]",
        "1. [x]",
        "   - [x]",
        "\t* [X]",
        "-  [x] ",
        "12) [X]",
    ],
)
@pytest.mark.parametrize("answer", ["keep", "drop"])
def test_a_tick_is_read_as_any_editor_writes_it(box, answer):
    """Bullets, indentation, capital letters and line ends are the editor's business."""
    for body in (
        tick(BODY, answer, box),
        tick(BODY, answer, box).replace("\n", "\r\n"),
        tick(BODY, answer, box).upper(),
    ):
        assert reviews.decision(body.replace("## REVIEW", "## Review")) == answer


# row: X9
def test_two_ticks_decide_nothing_and_are_a_problem():
    """With the line of the heading; the same box twice, as a merge may leave it, is one
    answer.
    """
    both = tick(tick(BODY, "keep"), "drop")
    assert reviews.decision(both) is None
    (fault,) = reviews.problems(both, "review/x.md", 7)
    assert (fault.code, fault.line, fault.path) == ("two-ticks", 11, "review/x.md")
    assert reviews.decision(tick(BODY, "keep") + "- [x] Keep it\n") == "keep"
    raw = frontmatter.read(f"---\nstatus: review\n---\n{both}".encode())
    assert [one.code for one in facts.fact_from(raw, "review/x.md", "", ZONE)[1]] == [
        "two-ticks"
    ]


# row: X9
@pytest.mark.parametrize(
    "words",
    [
        "## Review\n\n- [x] Keep it",
        "x\n\n## Review\n- [x] Drop it",
        "```python\n## Review\n- [x] Keep it\n```",
        "- [x] Both are true",
    ],
)
def test_no_memory_can_tick_its_own_box(words):
    """Neither the statement, nor the reason, nor the words in question are read as an
    answer.
    """
    body = facts.fact_body(words, "s#^t1", reviews.section(words, words))
    assert reviews.decision(body) is None
    assert facts.statement_of(body) == words.strip()
    assert reviews.quoted(body) == words.strip()
    made = reviews.conflict_note(
        *(Fact(side.id, words, created=WHEN, path=side.path) for side in (NEW, OLD)),
        words,
        WHEN,
        ZONE,
        {NEW.id: words},
    )
    read = frontmatter.read(frontmatter.emit(made.keys, made.body))
    assert not read.problems
    assert reviews.decision(read.body) is None
    assert reviews.decision(tick(read.body, "older")) == "older"


def test_what_asked_goes_and_a_persons_own_lines_stay():
    """Also words behind a box, and a history below."""
    assert (
        reviews.without_question(tick(BODY, "keep"))
        == "Anna moved to Porto.\n\n![[talk#^t1]]\n"
    )
    theirs = (
        tick(BODY, "keep").replace("Keep it", "Keep it. Anna told me")
        + "\nI met her there.\n\n## History\n\n- Faro\n"
    )
    assert reviews.without_question(theirs) == (
        "Anna moved to Porto.\n\n![[talk#^t1]]\n\n## Review\n\nAnna told me\n\nI met her there.\n\n"
        "## History\n\n- Faro\n"
    )
    assert (
        facts.statement_of(reviews.without_question(theirs)) == "Anna moved to Porto."
    )
    assert reviews.without_question("No question.\n") == "No question.\n"


# row: X9
def test_a_conflict_shows_both_statements_with_link_date_and_words():
    """Its front matter is read back without a problem, and is no memory."""
    made = reviews.conflict_note(
        NEW,
        OLD,
        "one of them may be over",
        WHEN,
        ZONE,
        {NEW.id: "I moved to <b>Porto</b>!"},
    )
    assert made.path.startswith("review/conflict-mira-lives-in-porto-")
    assert list(made.keys) == [
        "id",
        "kind",
        "status",
        "created",
        "new",
        "old",
        "pair",
        "end_reason",
    ]
    assert made.keys["new"] == "[[fact-porto-1]]"
    assert made.body.startswith(
        "**Newer** of 2026-11-20: [[fact-porto-1]]\n\n> Mira lives in Porto.\n\n"
        "in the words\n\n> I moved to &lt;b>Porto"
    )
    assert (
        "**Older** of 2026-03-02: [[fact-lisbon-1]]\n\n> Mira lives in Lisbon.\n\n## Review\n"
        in made.body
    )
    fact, problems = facts.fact_from(
        frontmatter.read(frontmatter.emit(made.keys, made.body)), made.path, "", ZONE
    )
    assert not problems
    assert (fact.kind, fact.status, fact.id) == (
        "review",
        "review",
        reviews.case_id(NEW.id, OLD.id),
    )
