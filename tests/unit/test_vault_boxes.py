"""The notes of boxes and traces: what they say, what they leave alone, and the state
beside them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from engram.core.records import Box, Trace
from engram.errors import ConflictError, StorageError
from engram.vault import boxes as forms
from engram.vault import frontmatter

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
MEMORIES = {
    "fact-anna-lives-in-porto-12345678": "Anna lives in Porto.",
    "plan-visit-anna-87654321": "Visit Anna [soon] | <b>soon</b>",
}


# row: C31
def test_a_box_note_is_read_back():
    """All but the ids of its memories, for which their files stand."""
    raw = forms.box_note(b"", BOX, MEMORIES, TRACE, ZONE)
    assert b"[[fact-anna-lives-in-porto-12345678|Anna lives in Porto.]]" in raw
    assert b"[[plan-visit-anna-87654321|Visit Anna soon &lt;b>soon&lt;/b>]]" in raw
    read = forms.box_from(frontmatter.read(raw), f"boxes/{NAME}.md", ZONE)
    assert read.box == replace(BOX, memories=(), last=BOX.sealed)
    assert (read.name, read.trace, read.links) == (
        NAME,
        forms.trace_name(TRACE),
        tuple(MEMORIES),
    )
    for other in (
        b"",
        b"---\nkind: box\nid: x\n---\n",
        raw.replace(b"kind: box", b"kind: note"),
    ):
        assert forms.box_from(frontmatter.read(other), "boxes/x.md", ZONE) is None


# row: X3
def test_a_note_that_is_not_ours_is_not_written():
    """Another id, or front matter that cannot be read."""
    raw = forms.box_note(b"", BOX, MEMORIES, TRACE, ZONE)
    for other in (
        raw.replace(BOX.id.encode(), b"another"),
        raw.replace(b"kind:", b"kind: ["),
    ):
        with pytest.raises(ConflictError):
            forms.box_note(other, BOX, MEMORIES, TRACE, ZONE)


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
