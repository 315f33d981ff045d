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


def note(front):
    return f"---\n{front}\n---\n{BODY}".encode()


# row: X3
@pytest.mark.parametrize(
    ("raw", "code", "line"),
    [
        (note("category: fact\ntags: [a, b"), "bad-yaml", 4),
        (note("id: x\nnote: a: b"), "bad-yaml", 3),
        (note("? [a, b]\n: c"), "bad-yaml", 2),
        (note("a: 1").replace(b"---", b"--- ", 1), "fence", 1),
        (note("status: active\nid: x\nstatus: archived"), "duplicate-key", 4),
        (note("mine:\n  a: 1\n  a: 2"), "duplicate-key", 4),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary", 3),
        (bytes(4096), "binary", 1),
        ("---\na: 1\n---\nMüller\n".encode("latin-1"), "not-utf-8", 4),
        (note(f"x: [{'a,' * 6000}]"), "too-deep", None),
        (note(f"x: {'[' * 17}{']' * 17}"), "too-deep", None),
        (note("- " * 25000), "too-deep", None),
        (note(f"x: {'é' * 33000}"), "too-long", None),
        (note("a: &x [1, 2]\nb: *x"), "alias", 2),
        (note("a: *x"), "alias", 2),
        (note("a: 1\nb: !!python/object/apply:os.system [id]"), "tag", 3),
        (note("a: !x 1"), "tag", 2),
        (note("a: 1\n...\nb: 2"), "document", 3),
        (f"---\n%YAML 1.1\n---\n{BODY}".encode(), "document", 2),
        (note("- a\n- b"), "no-keys", 2),
        (note("just prose"), "no-keys", 2),
    ],
)
def test_a_problem_is_named_with_its_line_and_the_note_is_left_alone(raw, code, line):
    """The line is the file's, counted from 1."""
    refused(raw, code, line)


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
