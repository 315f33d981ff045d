"""Front matter as values and back: what the parts of a note are, and how a patch is
made.
"""

from __future__ import annotations

import pytest

from engram.errors import ConflictError
from engram.vault import frontmatter as vault_frontmatter

NOTE = """\
---
# mine
category: preference   # my view
importance: 0.70
about:  # who
  - '[[Anna]]'  # sister
  # and her friend
  - Bob
tags: [a, b]  # flow

custom:
    deep: {x: 1}
block: |
  # no comment
  text

last:
---
Body.
"""


def patched(**keys: object) -> str:
    return vault_frontmatter.edit(NOTE.encode(), keys).decode()


# row: X3
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("NO", "NO"),
        ("yes", "yes"),
        ("12:30", "12:30"),
        ("01234", "01234"),
        ("2026-11-20", "2026-11-20"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("+", "+"),
        ("9" * 30, "9" * 30),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("-17", -17),
        ("0", 0),
        ("+1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("'7'", "7"),
        ('"true"', "true"),
        ("[a, 1, [b]]", ["a", 1, ["b"]]),
        ("{b: 1}", {"b": 1}),
    ],
)
def test_a_plain_word_is_text_unless_it_is_a_truth_a_null_or_a_number(written, value):
    """YAML 1.2 core, with what people write left alone."""
    found = vault_frontmatter.read(f"---\na: {written}\n---\n".encode()).keys["a"]
    assert repr(found) == repr(value)


# row: X3
@pytest.mark.parametrize(
    ("patch", "old", "new"),
    [
        ({"category": "fact"}, "category: preference ", "category: fact "),
        ({"last": True}, "last:\n", "last: true\n"),
        (
            {"block": "one line"},
            "block: |\n  # no comment\n  text\n",
            "block: one line\n",
        ),
        ({"importance": 0.7, "tags": ["a", "b"], "about": ["[[Anna]]", "Bob"]}, "", ""),
        (
            {"about": ["[[Anna]]", "Bob", "[[Cleo]]"]},
            "  - Bob\n",
            '  - Bob\n  - "[[Cleo]]"\n',
        ),
        ({"about": ["Bob"]}, "  - '[[Anna]]'  # sister\n", ""),
        (
            {"about": []},
            "about:  # who\n  - '[[Anna]]'  # sister\n  # and her friend\n  - Bob\n",
            "about: []\n",
        ),
        (
            {"tags": ["a", "c"]},
            "tags: [a, b]  # flow\n",
            "tags:  # flow\n  - a\n  - c\n",
        ),
        ({"custom": None}, "custom:\n    deep: {x: 1}\n", ""),
        ({"last": None, "nowhere": None}, "last:\n", ""),
        (
            {"pinned": True, "due": "soon"},
            "last:\n",
            "last:\npinned: true\ndue: soon\n",
        ),
    ],
)
def test_an_edit_changes_only_the_lines_of_its_keys(patch, old, new):
    """Comments and what stands stay; lists are written as Obsidian writes them, and new
    keys come last.
    """
    assert patched(**patch) == NOTE.replace(old, new)


def test_a_list_with_empty_items_is_written_anew():
    """An item that says nothing cannot be kept."""
    raw = b"---\nzero:\n  - x\n  -\n# below\nlast: 1\n---\n"
    assert vault_frontmatter.edit(raw, {"zero": ["x", "z"]}) == raw.replace(
        b"  -\n", b"  - z\n"
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"---\n{a: 1}\n---\n",
        b"---\n  a: 1\n  b: 2\n---\n",
        b"---\n? a\n: 1\n---\n",
    ],
)
def test_front_matter_that_lines_cannot_patch_is_read_but_not_written(raw):
    """Flow maps, indented maps, long-form keys: the caller leaves the file alone."""
    assert vault_frontmatter.read(raw).keys["a"] == 1
    with pytest.raises(ConflictError):
        vault_frontmatter.edit(raw, {"a": 2})


def test_an_edit_that_would_not_read_back_is_refused():
    """A body that would open front matter, or a key too long for YAML."""
    with pytest.raises(ConflictError):
        vault_frontmatter.edit(b"text\n", {}, "---\na: 1\n---\n")
    with pytest.raises(ConflictError):
        vault_frontmatter.edit(b"---\na: 1\n---\n", {"k" * 2000: 1})


def test_a_nested_value_is_not_written():
    """Obsidian shows no nested maps; keys are flat."""
    with pytest.raises(TypeError):
        vault_frontmatter.emit({"a": {"b": 1}}, "")
    with pytest.raises(TypeError):
        vault_frontmatter.edit(b"---\na: {b: 1}\n---\n", {"a": {"b": 2}})
