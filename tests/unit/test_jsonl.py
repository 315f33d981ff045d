"""JSON lines are read past any damage and written so that they can be read again."""

from __future__ import annotations

from engram.core import jsonl


def test_a_line_that_cannot_be_read_hides_no_other() -> None:
    raw = b'{"a": 1}\nno json\n[1]\n\n{"b": "\xff"}\n' + b"[" * 100_000 + b'\n{"torn": '
    assert list(jsonl.rows(raw)) == [{"a": 1}, {"b": "\ufffd"}]


def test_each_line_has_its_number_its_bytes_and_its_value_or_fault() -> None:
    good, blank, bad = (
        jsonl.lines(b"[1]\r\n"),
        jsonl.lines(b" \n\n"),
        jsonl.lines(b"\n{"),
    )
    assert list(good) == [jsonl.JsonLine(1, b"[1]\r\n", [1])]
    assert not list(blank)
    (line,) = bad
    assert (line.number, line.raw, line.value) == (2, b"{", None)
    assert line.fault


def test_signs_that_unicode_calls_line_ends_split_no_line() -> None:
    row = {"text": "one\u2028two\x85three\x1cfour"}
    assert list(jsonl.rows(jsonl.encode([row]))) == [row]


def test_a_file_name_that_is_not_utf8_comes_back() -> None:
    rows = [{"path": "notes/caf\udce9.md"}, {"path": "notes/caf\u00e9.md"}]
    raw = jsonl.encode(rows)
    assert "caf\u00e9".encode() in raw
    assert list(jsonl.rows(raw)) == rows


def test_a_search_finds_the_rows_that_contain_it_newest_first_on_demand() -> None:
    raw = jsonl.encode([{"id": "M1", "n": 1}, {"id": "M2"}, {"id": "M1", "n": 2}])
    assert [row["n"] for row in jsonl.rows(raw, "M1")] == [1, 2]
    assert [row["n"] for row in jsonl.rows(raw, "M1", newest_first=True)] == [2, 1]
