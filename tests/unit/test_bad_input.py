"""The bad-input table of `docs/format.md`: what happens to a note that is not as it
should be.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from engram.core.policy import FilePolicy
from engram.core.records import FiledTurn, Turn
from engram.errors import ConflictError
from engram.vault import facts, frontmatter, sessions
from tests.cpu import cpu_below

ZONE = ZoneInfo("Europe/Berlin")
BODY = "Anna likes tea.\n"


def refused(raw: bytes, code: str, line: int | None = None) -> None:
    """The note has this problem, nothing in it is believed, and no write of ours
    touches it.
    """
    found = frontmatter.read(raw)
    assert [problem.code for problem in found.problems] == [code]
    assert not found.keys
    if line is not None:
        assert found.problems[0].line == line
    with pytest.raises(ConflictError):
        frontmatter.edit(raw, {"status": "archived"})
    fact, problems = facts.fact_from(found, "facts/a.md", "", ZONE)
    assert fact is None
    assert [(problem.code, problem.path) for problem in problems] == [
        (code, "facts/a.md")
    ]
    assert sessions.conversation_from(found, "sessions/a.md", ZONE)[0] is None


# row: X3
def test_broken_yaml_is_a_problem_with_its_line_and_is_left_alone():
    """The line is the file's, counted from 1."""
    refused(f"---\ncategory: fact\ntags: [a, b\n---\n{BODY}".encode(), "bad-yaml", 4)
    refused(f"---\nid: x\nnote: a: b\n---\n{BODY}".encode(), "bad-yaml", 3)


# row: X3
def test_a_byte_order_mark_is_read_over_and_kept():
    """Windows editors write one."""
    raw = b"\xef\xbb\xbf---\ncategory: skill\n---\n" + BODY.encode()
    assert frontmatter.read(raw).keys == {"category": "skill"}
    assert frontmatter.edit(raw, {"category": "fact"}) == raw.replace(b"skill", b"fact")


# row: X3
def test_carriage_returns_are_read_over_and_kept():
    """A line we add ends as the file's lines end."""
    raw = f"---\ncategory: skill\n---\n{BODY}".replace("\n", "\r\n").encode()
    assert frontmatter.read(raw).body == BODY
    assert frontmatter.edit(raw, {"pinned": True}) == raw.replace(
        b"skill\r\n", b"skill\r\npinned: true\r\n"
    )


def test_front_matter_without_end_is_a_problem():
    """No key is believed; what stands behind the lines that look like keys is the text."""
    raw = f"---\ncategory: fact\n\n{BODY}".encode()
    refused(raw, "no-fence-end", 1)
    assert frontmatter.read(raw).body == "\nAnna likes tea.\n"


def test_a_fence_with_blanks_behind_it_is_a_problem():
    """Else its keys would become the statement."""
    refused(f"--- \ncategory: fact\n---\n{BODY}".encode(), "fence", 1)


def test_a_duplicate_key_is_a_problem():
    """Neither value is believed."""
    refused(
        f"---\nstatus: active\nid: x\nstatus: archived\n---\n{BODY}".encode(),
        "duplicate-key",
        4,
    )
    refused(f"---\nmine:\n  a: 1\n  a: 2\n---\n{BODY}".encode(), "duplicate-key", 4)


def test_a_binary_file_is_a_problem():
    """An image with the wrong name, or the zeros a power cut leaves."""
    refused(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary", 3)
    refused(bytes(4096), "binary", 1)


def test_bytes_that_are_not_utf8_are_a_problem():
    """Nothing is guessed about another encoding."""
    refused(f"---\ncategory: fact\n---\nMüller\n".encode("latin-1"), "not-utf-8", 4)  # noqa: F541


def test_an_empty_file_is_no_memory():
    """It may be half saved; there is nothing to believe in it."""
    for raw in (
        b"",
        b"\n\n",
        b"\xef\xbb\xbf",
        b"---\n---\n",
        b"---\ncategory: fact\n---\n\n![[x#^t1]]\n",
    ):
        found = frontmatter.read(raw)
        assert not found.problems
        fact, problems = facts.fact_from(found, "facts/a.md", "", ZONE)
        assert fact is None
        assert [problem.code for problem in problems] == ["empty"]


def test_deep_nesting_never_reaches_the_parser():
    """50 KB of brackets would overflow libyaml's stack."""
    for opening in ("[", "{", "- ", "? ", "[{", "a: [", "!! ["):
        raw = f"---\nx: {opening * (50000 // len(opening))}\n---\n{BODY}".encode()
        with cpu_below(1, opening):
            found = frontmatter.read(raw)
        assert found.problems[0].code in {"too-deep", "bad-yaml", "tag"}
    refused(("---\nx: " + "[" * 17 + "]" * 17 + f"\n---\n{BODY}").encode(), "too-deep")
    refused(("---\n" + "- " * 25000 + f"\n---\n{BODY}").encode(), "too-deep")


def test_too_many_values_never_reach_the_parser():
    """5,000 nodes are enough for a note."""
    refused(("---\nx: [" + "a," * 6000 + f"]\n---\n{BODY}").encode(), "too-deep")


def test_long_front_matter_is_a_problem():
    """64 KiB are enough for a note; the limit is in bytes."""
    refused(("---\nx: " + "é" * 33000 + f"\n---\n{BODY}").encode(), "too-long")
    assert not frontmatter.read(
        ("---\nx: " + "é" * 32000 + f"\n---\n{BODY}").encode()
    ).problems


def test_aliases_and_anchors_are_refused():
    """A few lines of them can stand for gigabytes."""
    refused(f"---\na: &x [1, 2]\nb: *x\n---\n{BODY}".encode(), "alias", 2)
    refused(f"---\na: *x\n---\n{BODY}".encode(), "alias", 2)


def test_tags_are_refused():
    """A tag asks a YAML reader to build something."""
    refused(
        f"---\nok: 1\na: !!python/object/apply:os.system [id]\n---\n{BODY}".encode(),
        "tag",
        3,
    )
    refused(f"---\na: !x 1\n---\n{BODY}".encode(), "tag", 2)


def test_several_documents_are_refused():
    """Front matter is one document without marks."""
    refused(f"---\na: 1\n...\nb: 2\n---\n{BODY}".encode(), "document", 3)
    refused(f"---\n%YAML 1.1\n---\n{BODY}".encode(), "document", 2)


def test_front_matter_that_is_no_list_of_keys_is_refused():
    """A list, or a sentence between fences."""
    refused(f"---\n- a\n- b\n---\n{BODY}".encode(), "no-keys", 2)
    refused(f"---\njust prose\n---\n{BODY}".encode(), "no-keys", 2)
    refused(f"---\n? [a, b]\n: c\n---\n{BODY}".encode(), "bad-yaml", 2)


def test_unresolved_conflict_markers_are_a_problem():
    """Wherever they stand; seven equal signs under a title are none."""
    ours, theirs = "<<<<<<< HEAD", ">>>>>>> theirs"
    refused(
        f"---\nid: x\n---\nAnna\n{ours}\nlikes tea\n=======\nlikes coffee\n{theirs}\n".encode(),
        "conflict",
        5,
    )
    refused(
        f"---\n{ours}\nid: x\n=======\nid: y\n{theirs}\n---\n{BODY}".encode(),
        "conflict",
        2,
    )
    assert not frontmatter.read(f"Anna\n=======\n\n{BODY}".encode()).problems
    assert not frontmatter.read(
        f"> {ours}\n> a\n> =======\n> b\n> {theirs}\n".encode()
    ).problems


def test_a_note_beyond_the_limit_is_not_read():
    """The catalogue does not even open it; `read` refuses it as well."""
    small = FilePolicy(note_bytes=100)
    assert frontmatter.read(b"x" * 101, small).problems[0].code == "too-large"
    assert not frontmatter.read(b"x" * 100, small).problems


def test_a_session_file_with_a_problem_is_not_appended_to():
    """The turns wait; the file is left alone."""
    turn = Turn("1", "s", "user", "hello", datetime(2026, 11, 20, tzinfo=UTC))
    for raw in (
        b"---\nsession: [\n---\n",
        b"no front matter",
        b"---\nsession: s\n---\n",
        b"\xff",
    ):
        with pytest.raises(ConflictError):
            sessions.append_turns(raw, [FiledTurn(turn, "s", "t1")], ZONE)


@pytest.mark.parametrize(
    "unit",
    [
        " ",
        "\t",
        "`",
        "~",
        "> ",
        "![[",
        "[[",
        "<<<<<<< a\n",
        "=======\n",
        "> [!user] 12:00\n",
        "> [!user]  ",
        "^t1\n",
        "&lt;",
        "%%",
        "#",
    ],
)
def test_a_long_odd_body_takes_no_longer_than_a_long_plain_one(unit):
    """No pattern of ours goes over the text again and again."""
    head = b"---\nid: x\nsession: s\nstarted: 2026-11-20\n---\n"
    raw = head + (unit * (300_000 // len(unit))).encode() + b"."
    with cpu_below(2, unit):
        found = frontmatter.read(raw)
        facts.fact_from(found, "facts/a.md", "", ZONE)
        sessions.conversation_from(found, "sessions/a.md", ZONE)
        facts.fact_body(found.body)


# Fragments of front matter; each is tried with every line end, mark and frame below.
FRAGMENTS = [
    "", " ", "\t", "a", "a:", "a: ", ":", ": a", "::", "- a", "-", "--", "----", "...", "?", "? a", "? a\n: b", "#",
    "a: b: c", "a: 'b", 'a: "b', "a: 'b'c", 'a: "\\q"', 'a: "\\u12"', "a: [", "a: ]", "a: {", "a: }", "a: [}", "a: [b",
    "a: {b", "a: [b,,]", "a: {b: c, b: d}", "a: @b", "a: `b", "a: %b", "a: |", "a: |\n", "a: |x\n  b", "a: >-", "a: &",
    "a: *", "a: &b", "a: *b", "a: !", "a: !!", "a: !b", "a: !!str b", "a: !<x> b", "<<: *a", "<<: {a: 1}", "a: b\na: c",
    "a: b\n'a': c", "a: b\n b: c", " a: b\nb: c", "\ta: b", "a:\tb", "a: b\n\tc", "a:\n\t- b", "a:\n- b\n - c", "{}",
    "{a: b}", "[a]", "'a'", '"a": b', "'a: b", "a b: c", "1: a", "true: a", "null: a", "~: a", ".5: a", "[a]: b",
    "{a: b}: c", "? [a]\n: b", "a: b #c", "a: b#c", "a:#c", "#a: b",
    "a: \u0085b", "a: \u2028b", "a: \u2029b: c", "a: \x07",
    "a: \x1b[0m", "\x7f: a", "a: \ufeffb", "\ufeffa: b", "a: \ufffe", "a: \U0010ffff", "a: 😀", "é: ü", "a: \u202eb",
    "a: 1e999", "a: -1e999", "a: .nan", "a: .inf", "a: " + "9" * 5000, "a: 0" + "1" * 5000, "a: 1." + "0" * 5000,
    "a" * 2000 + ": b", '"' + "a" * 2000 + '": b', "a: " + "b" * 60000, "a:\n" * 3000, "- \n" * 3000, "a: [[[]]]",
    "%TAG ! x", "%YAML 9.9", "--- a", "---a", "a: b\n--- c: d", "a: b\n...", "a: b\n... \nc: d", "!!map {a: b}",
    "&x a: b", "&x", "*x", "a: b\n*x : c", "a: |\n  b\n c", "a: >\n\n\n", "a: 'b\n\n c'", "a: b\n  c: d",
    "a:\n  b\n  c: d",
    "key: {a: [b, {c: d}]}", "a: " + "[" * 16 + "]" * 16, "a: " + "{a: " * 20,
    "a:\n" + "".join(" " * n + "a:\n" for n in range(1, 40)),
    "a: ? b", "a: - b", "a: -", "a: [?]", "a: [? b : c]", "a: {? b}", "a: [b: c, d: e]", "a: [- b]", "a: b,c", "a: ,b",
]  # fmt: skip
FRAMES = [
    lambda text: f"---\n{text}\n---\n{BODY}".encode(),
    lambda text: f"---\n{text}\n---\n{BODY}".replace("\n", "\r\n").encode(),
    lambda text: f"\ufeff---\nid: x\n{text}\n---".encode(),
    lambda text: f"---\n{text}\nzz: 1".encode(),
]


# row: X3
@pytest.mark.parametrize("frame", FRAMES)
def test_no_malformed_note_stops_reading_or_is_damaged(frame):
    """Hundreds of odd notes: a value or a problem, quickly; an edit keeps every line or
    is refused.
    """
    assert len(FRAGMENTS) * len(FRAMES) >= 300
    for fragment in FRAGMENTS:
        raw = frame(fragment)
        new = None
        with cpu_below(1, fragment[:40]):
            found = frontmatter.read(raw)
            facts.fact_from(found, "facts/a.md", "", ZONE)
            sessions.conversation_from(found, "sessions/a.md", ZONE)
            with suppress(ConflictError):
                new = frontmatter.edit(raw, {"zzz": "new"})
        if new is None:
            continue
        newline = b"\r\n" if b"\r\n" in raw else b"\n"
        assert new.replace(b"zzz: new" + newline, b"") in {
            raw,
            b"---" + newline + b"---" + newline + raw,
        }
        assert frontmatter.read(new).keys == {**found.keys, "zzz": "new"}
