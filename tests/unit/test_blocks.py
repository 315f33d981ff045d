"""What engram tells in a note: lines that read back as they were written, and nothing
else touched.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.policy import FilePolicy
from engram.core.records import BlockEdit, Line
from engram.vault import frontmatter
from engram.vault.blocks import (
    apply_block_edit,
    block_lines,
    block_text,
    blocks,
    page_from,
)

LIMITS = FilePolicy()
WORDS = (
    st.text(min_size=1)
    .map(lambda text: " ".join(text.split()).lstrip("-*#> "))
    .filter(bool)
)
LINES = st.lists(
    st.builds(
        Line,
        WORDS,
        st.lists(st.sampled_from(("a-1", "b-2", "c")), unique=True).map(tuple),
    ),
    max_size=4,
)


# row: B11
@given(LINES, st.sampled_from(("description", "card", "slots")))
def test_lines_read_back_as_they_were_written(lines, name):
    """Whatever the words are; a second writing changes nothing."""
    change = BlockEdit("n.md", "", blocks={name: tuple(lines)}, title="Anna")
    raw = apply_block_edit(b"", change, LIMITS)
    held = page_from(frontmatter.read(raw)).blocks.get(name, ())
    assert [one.sources for one in held] == [one.sources for one in lines]
    assert (
        apply_block_edit(raw, BlockEdit("n.md", "", blocks={name: held}), LIMITS) == raw
    )


@pytest.mark.parametrize(
    "words",
    ["a [[x|1]]", "- a", "%% engram:end card %%", "![[x]] <b>", "`= x`", "a ^b"],
)
def test_no_words_are_markup(words):
    text = block_text([Line(words, ("n",))], "card")
    assert block_lines(text, "card") == (Line(words, ("n",)),)
    assert text.count("[[") == 1


# row: X3
@pytest.mark.parametrize("sign", ["\n", "\r\n"])
def test_what_a_person_wrote_keeps_every_byte(sign):
    """Also line ends, byte order mark, keys and a missing last newline; a block comes
    and goes.
    """
    own = f"\ufeff---{sign}type:  person # mine{sign}---{sign}# Anna{sign}{sign}\tMine.  {sign}{sign}last".encode()
    told = apply_block_edit(
        own,
        BlockEdit("n.md", "", {"seen": "x"}, {"description": (Line("So.", ("a",)),)}),
        LIMITS,
    )
    assert (
        f"# Anna{sign}{sign}%% engram:begin description %%{sign}So. [[a|1]]{sign}".encode()
        in told
    )
    assert told.startswith(own[: own.index(b"mine") + 4])
    assert told.endswith(f"\tMine.  {sign}{sign}last".encode())
    gone = apply_block_edit(
        told, BlockEdit("n.md", "", {"seen": None}, {"description": ()}), LIMITS
    )
    assert gone.replace(sign.encode(), b"") == own.replace(sign.encode(), b"")


# row: C14
def test_a_list_about_an_entity_has_a_heading_that_is_no_line_of_it():
    """It goes with its lines."""
    lines = (Line("Anna lives in Porto.", ("fact-a-12345678",)),)
    edit = BlockEdit("n.md", "", {"kind": "entity"}, {"card": lines}, title="Anna")
    raw = apply_block_edit(b"", edit, LIMITS)
    assert b"## In short\n\n- Anna lives in Porto." in raw
    assert block_lines(blocks(raw.decode())["card"], "card") == lines
    gone = apply_block_edit(raw, BlockEdit("n.md", "", blocks={"card": ()}), LIMITS)
    assert b"In short" not in gone


# row: X3
def test_a_line_about_a_memory_that_goes_names_no_file():
    """Its statement is enough; a line that only named the file says that it is gone."""
    name = "commitment-call-the-bank-63b24334"
    lines = (Line("- [ ] Call the bank.", (name,)), Line("", (name,)))
    edit = BlockEdit("n.md", "", {"kind": "spine"}, {"open_loops": lines})
    raw = apply_block_edit(b"", edit, LIMITS)
    assert raw.count(name.encode()) == 2
    done = apply_block_edit(raw, BlockEdit("n.md", "", unlink=name), LIMITS).decode()
    assert name not in done
    assert re.findall("^.*bank.*$", done, re.MULTILINE) == ["- - [ ] Call the bank."]


# row: X3
def test_a_link_to_what_goes_becomes_its_name_where_we_wrote_it():
    """In keys and between the markers, with and without words of its own; a person's
    words keep every byte.
    """
    raw = apply_block_edit(
        b"",
        BlockEdit(
            "n.md",
            "",
            {"memory": "[[a b]]"},
            {"list": (Line("So.", ("a b",)), Line("", ("a b",)), Line("", ("c",)))},
            title="T",
        ),
        LIMITS,
    )
    raw += b"Mine: [[a b]]\n"
    done = apply_block_edit(raw, BlockEdit("n.md", "", unlink="a b"), LIMITS).decode()
    assert done.count("[[") == 2
    assert "memory: a b\n" in done
    assert "\n- gone\n" in done
    assert "- So. a b\n" in done
    assert done.endswith("Mine: [[a b]]\n")
