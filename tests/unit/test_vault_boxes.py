"""The notes of boxes and traces: what they say, what they leave alone, and the state
beside them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from engram.core import boxes
from engram.core.policy import BoxPolicy
from engram.core.records import Box, Trace
from engram.errors import ConflictError, StorageError
from engram.vault import boxes as forms
from engram.vault import frontmatter

POLICY = BoxPolicy()
ZONE = ZoneInfo("Europe/Berlin")
START = datetime(2026, 11, 20, 20, 14, tzinfo=UTC)
BOX = Box(
    "01KBH2Q0M6T4W2Y0B7C5D9E1FX", "coffee plans", None, START, START + timedelta(minutes=26),
    ("porto", "anna müller"), ("a", "b"), START + timedelta(minutes=56), "time_gap",
    "Porto: Anna Müller",
)  # fmt: skip
NAME = "2026-11-20/box-porto-anna-müller-c5d9e1fx"
TRACE = Trace("trace-1a2b3c4d", "porto", BOX.sealed, ((NAME, BOX.topics),))
NO_TIMES = forms.open_boxes_text([forms.OpenBox(BOX, START)]).replace(
    b'"2026-11-20T20:14:00+00:00"', b"null"
)
STEMS = ["fact-anna-lives-in-porto-12345678", "plan-visit-anna-87654321"]


# row: C31
def test_a_box_note_is_read_back():
    """All but the ids of its memories, for which their files stand."""
    raw = forms.box_note(b"", BOX, STEMS, TRACE, ZONE)
    read = forms.box_from(frontmatter.read(raw), f"boxes/{NAME}.md", ZONE)
    assert read.box == replace(BOX, memories=(), last=BOX.sealed)
    assert (read.name, read.trace, read.links) == (
        NAME,
        forms.trace_name(TRACE),
        tuple(STEMS),
    )
    for other in (
        b"",
        b"---\nkind: box\nid: x\n---\n",
        raw.replace(b"kind: box", b"kind: note"),
    ):
        assert forms.box_from(frontmatter.read(other), "boxes/x.md", ZONE) is None


# row: X3
# row: C31
# row: C32
@pytest.mark.parametrize("sign", ["\n", "\r\n"])
def test_what_a_person_writes_around_the_lists_keeps_every_byte(sign):
    """Above, below, in the front matter, with line ends of both kinds; the list itself
    is ours.
    """
    raw = forms.box_note(b"", BOX, STEMS[:1], TRACE, ZONE).replace(b"\n", sign.encode())
    raw = (
        raw.replace(b"# Porto", b"mine\r\nmine\n\n# Porto").replace(
            b"kind:", b"mood: good # yes\nkind:"
        )
        + b"last\r"
    )
    other = replace(TRACE, id="trace-ffffffff")
    new = forms.box_note(raw, BOX, STEMS, other, ZONE)
    line = f"- [[{STEMS[0]}]]{sign}"
    assert new == raw.replace(
        line.encode(), f"{line}- [[{STEMS[1]}]]{sign}".encode()
    ).replace(b"1a2b3c4d", b"ffffffff")
    assert forms.box_note(new, BOX, STEMS, other, ZONE) == new
    raw = (
        forms.trace_note(b"", TRACE, ZONE, POLICY).replace(b"\n", sign.encode())
        + b"my words\n\r\n"
    )
    grown = boxes.add_to_trace(
        TRACE, TRACE.id, "2026-11-21/box-sea-1", replace(BOX, topics=("sea",))
    )
    new = forms.trace_note(raw, grown, ZONE, POLICY).decode()
    assert new.endswith(
        f"- [[box-sea-1]], 2026-11-21{sign}%% engram:end boxes %%{sign}my words\n\r\n"
    )
    assert "  - sea\n  - porto\n  - anna müller\n".replace("\n", sign) in new


# row: X3
def test_a_note_that_is_not_ours_is_not_written():
    """Another id, or front matter that cannot be read."""
    raw = forms.box_note(b"", BOX, STEMS, TRACE, ZONE)
    for other in (
        raw.replace(BOX.id.encode(), b"another"),
        raw.replace(b"kind:", b"kind: ["),
    ):
        with pytest.raises(ConflictError):
            forms.box_note(other, BOX, STEMS, TRACE, ZONE)


# row: C31
def test_words_of_a_conversation_are_shown_and_never_run():
    """A topic is whatever somebody called something, and so is a session."""
    bad = "]] <% x %>\n%% engram:end memories %% [[y"
    box = replace(BOX, topics=(bad, "2026", "yes"), session=bad)
    trace = Trace(
        "trace-1a2b3c4d", bad, START, ((forms.box_name(box, ZONE), box.topics),)
    )
    for raw in (
        forms.box_note(b"", box, STEMS, trace, ZONE),
        forms.trace_note(b"", trace, ZONE, POLICY),
    ):
        read = frontmatter.read(raw)
        assert not read.problems
        assert read.keys["topics"] == [bad, "2026", "yes"]
        assert read.body.count("\n%% engram:end") == 1
        assert "<%" not in read.body
        assert "[[y" not in read.body
    assert forms.box_from(
        frontmatter.read(forms.box_note(b"", box, STEMS, trace, ZONE)),
        "boxes/x.md",
        ZONE,
    ).links == tuple(STEMS)


# row: C31
# row: C32
def test_the_state_is_read_back():
    """Open and sealed boxes, and traces; a line for each."""
    held = (
        forms.OpenBox(
            replace(BOX, id="open", sealed=None, why="", persona="Kapitän"), START
        ),
        forms.OpenBox(BOX, START, TRACE.id, filed=True),
    )
    assert forms.open_boxes_from(forms.open_boxes_text(held)) == (held, True)
    assert forms.open_boxes_from(forms.open_boxes_text(())) == ((), True)
    assert forms.traces_from(forms.traces_text({TRACE.id: TRACE})) == {TRACE.id: TRACE}
    private = {TRACE.id: replace(TRACE, persona="Kapitän")}
    assert forms.traces_from(forms.traces_text(private)) == private
    assert forms.traces_from(forms.traces_text({})) == {}
    assert len(forms.open_boxes_text(held).splitlines()) == len(held)


# row: C31
@pytest.mark.parametrize(
    "raw", [b"[]", b"{}", b'{"boxes": [{}]}', b"\xff", b"<<<<<<< a", NO_TIMES.strip()]
)
def test_a_damaged_line_of_the_open_boxes_is_passed_over_and_said(raw):
    """The others hold."""
    kept = forms.OpenBox(BOX, START)
    assert forms.open_boxes_from(raw + b"\n" + forms.open_boxes_text([kept])) == (
        (kept,),
        False,
    )
    assert forms.open_boxes_from(raw) == ((), False)


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{}", b'{"traces": {"x": {}}}', b"\xff", b"<<<<<<< a"]
)
def test_a_damaged_list_of_traces_is_said_to_be_damaged(raw):
    """And never half believed."""
    with pytest.raises(StorageError):
        forms.traces_from(raw)
