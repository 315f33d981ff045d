"""Front matter as values and back: what the parts of a note are, and how a patch is
made.
"""

from __future__ import annotations

import pytest
import yaml

from engram.core.policy import FilePolicy
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


def test_only_the_first_line_opens_front_matter():
    """Prose between later lines of dashes is prose."""
    text = "Title\n---\na: b\n---\nprose\n"
    found = vault_frontmatter.read(text.encode())
    assert (found.keys, found.body, found.front, found.body_line) == ({}, text, None, 1)


def test_limits_come_from_the_policy():
    """A tighter policy refuses what the default takes."""
    raw = b"---\na:\n  - b\n  - c\n---\n"
    assert not vault_frontmatter.read(raw).problems
    assert (
        vault_frontmatter.read(raw, FilePolicy(nodes=4)).problems[0].code == "too-deep"
    )
    assert (
        vault_frontmatter.read(raw, FilePolicy(nesting=1)).problems[0].code
        == "too-deep"
    )


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


def test_a_note_without_front_matter_gets_one():
    """Also an empty one; a BOM stays in front."""
    assert (
        vault_frontmatter.edit(b"Tea.\r\n", {"id": "x"})
        == b"---\r\nid: x\r\n---\r\nTea.\r\n"
    )
    assert vault_frontmatter.edit(b"", {"id": "x"}) == b"---\nid: x\n---\n"
    assert (
        vault_frontmatter.edit(b"\xef\xbb\xbfTea", {"id": "x"})
        == b"\xef\xbb\xbf---\nid: x\n---\nTea"
    )


def test_a_new_body_takes_the_line_ends_of_the_file():
    """The front matter is not touched by it."""
    raw = b"---\r\na: 1\r\n---"
    assert (
        vault_frontmatter.edit(raw, {}, "x\ny\n") == b"---\r\na: 1\r\n---\r\nx\r\ny\r\n"
    )
    assert vault_frontmatter.edit(b"old\n", {}, "new\n") == b"new\n"
    assert vault_frontmatter.edit(b"old\n", {}, "old\n") == b"old\n"


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


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("oat milk", "oat milk"),
        ("don't (ever) #1", '"don\'t (ever) #1"'),
        ("C#", "C#"),
        ("a:b", "a:b"),
        ("a: b", '"a: b"'),
        ("a:", '"a:"'),
        ("", '""'),
        (" a", '" a"'),
        ("NO", '"NO"'),
        ("true", '"true"'),
        ("7", '"7"'),
        ("12:30", '"12:30"'),
        ("2026-11-20T21:14:05", "2026-11-20T21:14:05"),
        ("[[Anna Müller]]", '"[[Anna Müller]]"'),
        ('say "no" \\', 'say "no" \\'),
        ('"no" \\', '"\\"no\\" \\\\"'),
        ("a\nb\tc\u00a0\u2028\U000e0001", '"a\\nb\\tc\\xa0\\u2028\\U000e0001"'),
        ("\ud800", '"?"'),
        (0.70, "0.7"),
        (1.0, "1"),
        (0.123, "0.12"),
        (True, "true"),
        (12, "12"),
    ],
)
def test_a_value_is_quoted_where_a_yaml_reader_could_mistake_it(value, written):
    """And only there."""
    assert vault_frontmatter.format_scalar(value) == written


def test_a_nested_value_is_not_written():
    """Obsidian shows no nested maps; keys are flat."""
    with pytest.raises(TypeError):
        vault_frontmatter.emit({"a": {"b": 1}}, "")
    with pytest.raises(TypeError):
        vault_frontmatter.edit(b"---\na: {b: 1}\n---\n", {"a": {"b": 2}})


# row: X3
@pytest.mark.parametrize("key", ["2026-11-20", "12:30", "2026", "yes", "a key"])
def test_every_yaml_reader_takes_a_written_key_for_its_text(key):
    """A date as a key is a day to readers of YAML 1.1."""
    front = vault_frontmatter.read(vault_frontmatter.emit({key: "x"}, "Text.")).front
    assert yaml.safe_load(front) == {key: "x"}
    added = vault_frontmatter.read(vault_frontmatter.edit(b"Text.\n", {key: "x"})).front
    assert yaml.safe_load(added) == {key: "x"}
