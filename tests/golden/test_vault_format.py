"""The format byte for byte: what a new fact and a new session file look like on disk."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from inspect import getsource
from pathlib import Path
from zoneinfo import ZoneInfo

from engram.core.records import Fact, FiledTurn, Turn
from engram.vault import facts, frontmatter, sessions

ZONE = ZoneInfo("Europe/Berlin")
GOLDEN = Path(__file__).parent / "format"
PAGE = (Path(__file__).parents[2] / "docs/format.md").read_text()
STEM = "2026-11-20-coffee-plans"
START = datetime(2026, 11, 20, 20, 13, tzinfo=UTC)

FACT = Fact(
    id="01KBH2Q0M6T4W2Y0B7C5D9E1FX",
    text="Anna prefers oat-milk flat whites and stopped drinking tea in October 2026.",
    category="preference",
    created=datetime(2026, 11, 20, 20, 14, 5, tzinfo=UTC),
    confidence=0.92,
    importance=0.7,
    about=("Anna Müller",),
    tags=("preference/drink",),
    source=f"{STEM}#^t3",
)
SAID = (
    ("user", "Anna", 0, "Shall we meet for coffee?\n\nFriday would suit me."),
    ("assistant", "", 20, "Gladly. The usual place?\n```python\nprint('<b>')\n```"),
    (
        "user",
        "Anna",
        65,
        "Yes. I stopped drinking tea in October, oat-milk flat white for me. <script>",
    ),
    ("tool", "", 10800, "calendar: Friday 10:00 %%ok%%"),
)
TURNS = [
    FiledTurn(
        Turn(
            f"msg-{n}",
            "Coffee plans",
            role,
            text,
            START + timedelta(seconds=after),
            speaker,
        ),
        STEM,
        f"t{n}",
    )
    for n, (role, speaker, after, text) in enumerate(SAID, 1)
]


# row: C7
# row: C8
def test_a_new_fact_is_written_as_the_format_says():
    """The example of the format, byte for byte; writing what was read changes nothing."""
    raw = frontmatter.emit(
        facts.fact_keys(FACT, ZONE), facts.fact_body(FACT.text, FACT.source)
    )
    assert raw == (GOLDEN / "fact.md").read_bytes()
    back, problems = facts.fact_from(frontmatter.read(raw), "facts/fact.md", "", ZONE)
    assert not problems
    assert (
        frontmatter.emit(
            facts.fact_keys(back, ZONE), facts.fact_body(back.text, back.source)
        )
        == raw
    )
    assert frontmatter.edit(raw, facts.fact_keys(back, ZONE)) == raw


# row: X1
def test_a_session_file_is_written_as_the_format_says():
    """In one piece or turn by turn, the same bytes."""
    raw = sessions.new_session(TURNS, ZONE)
    assert raw == (GOLDEN / "session.md").read_bytes()
    grown = sessions.new_session(TURNS[:1], ZONE)
    for filed in TURNS[1:]:
        grown = sessions.append_turns(grown, [filed], ZONE)[0]
    assert grown == raw
    conversation, problems = sessions.conversation_from(
        frontmatter.read(raw), sessions.path(STEM), ZONE
    )
    assert not problems
    assert list(conversation.turns) == TURNS


def test_the_formats_example_is_the_golden_fact():
    assert (GOLDEN / "fact.md").read_text() in PAGE


def test_the_keys_are_on_the_page_in_the_order_in_which_they_are_written():
    table = PAGE.partition("| Also read as |")[2].partition("\n\n")[0]
    named = re.findall(r"^\|((?: `\w+`)+) \|", table, re.MULTILINE)
    written = re.findall(r'^ {8}"(\w+)":', getsource(facts.fact_keys), re.MULTILINE)
    assert re.findall(r"\w+", " ".join(named)) == [*written, "holds"]
