"""Notes that wait for a person: written, ticked in any editor, and read again."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from engram.vault import facts, frontmatter, reviews

ZONE = ZoneInfo("Europe/Berlin")
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
