"""The edge file: append-only, merged by union, and read whatever stands in it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engram.core.records import Edge
from engram.vault.edges import EDGES, EdgeRow, EdgeStore, edge_id
from engram.vault.store import Vault

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
SISTER = Edge(
    "person:anna",
    "person:ben",
    "relation",
    "sister",
    0.8,
    NOW,
    NOW,
    None,
    attitude=4,
    proximity=5,
)
SIMILAR = Edge("01A", "01B", "similar", reinforced=NOW)


@pytest.fixture
def vault(settings):
    return Vault(settings.vault)


def fresh(vault):
    held = EdgeStore(vault)
    held.refresh()
    return held


# row: C34
# row: B1
def test_what_is_appended_is_read_back(vault):
    """Every field; a file and its folder appear with the first line."""
    kept = fresh(vault)
    kept.append([EdgeRow(SISTER, unlisted=True), EdgeRow(SIMILAR)])
    assert (
        fresh(vault).lines
        == kept.lines
        == {
            edge_id(SISTER): EdgeRow(SISTER, unlisted=True),
            edge_id(SIMILAR): EdgeRow(SIMILAR),
        }
    )
    assert (kept.all(), list(kept.unlisted())) == ((SISTER, SIMILAR), [edge_id(SISTER)])
    row = json.loads((vault.root / EDGES).read_text().splitlines()[1])
    assert row == {
        "id": edge_id(SIMILAR),
        "at": "2026-11-20T20:00:00+00:00",
        "type": "similar",
        "from": "01A",
        "to": "01B",
        "confidence": 1.0,
    }


# row: C34
def test_the_last_line_of_an_id_holds_and_nothing_is_rewritten(vault):
    """The file only grows; the same line again is no line."""
    kept = fresh(vault)
    kept.append([EdgeRow(SISTER)])
    before = (vault.root / EDGES).read_bytes()
    later = replace(SISTER, confidence=0.85, reinforced=NOW + timedelta(days=1))
    kept.append([EdgeRow(later)])
    kept.append([EdgeRow(later)])
    raw = (vault.root / EDGES).read_bytes()
    assert raw.startswith(before)
    assert raw.count(b"\n") == 2
    assert fresh(vault).all() == (later,)


def test_torn_and_foreign_lines_are_passed_over(vault):
    """Whatever a merge, a crash or a person leaves there."""
    fresh(vault).append([EdgeRow(SISTER)])
    good = (vault.root / EDGES).read_text()
    other = {"id": "x", "type": "relation", "from": "a", "to": "b"}
    foreign = [
        "",
        "{",
        "7",
        "[]",
        "<<<<<<< HEAD",
        "[" * 100_000,
        json.dumps(other | {"type": "rope"}),
        json.dumps(other | {"type": ["relation"]}),
        json.dumps(other | {"id": 5}),
        json.dumps(other | {"to": ""}),
        json.dumps(other | {"confidence": 1.5}),
        json.dumps(other | {"confidence": True}),
        json.dumps(other | {"confidence": "0.5"}),
        '{"id": "x", "type": "relation", "from": "a", "to": "b", "confidence": NaN}',
    ]
    (vault.root / EDGES).write_text("\n".join(foreign) + "\n" + good + good[:40])
    kept = fresh(vault)
    assert kept.all() == (SISTER,)
    kept.append([EdgeRow(SIMILAR)])
    assert fresh(vault).all() == (SISTER, SIMILAR)


# row: C34
def test_a_missing_confidence_is_one_and_odd_values_count_as_absent(vault):
    """Other tools may write shorter lines."""
    odd = {
        "id": "x",
        "type": "time",
        "from": "a",
        "to": "b",
        "at": "soon",
        "valid_from": "2026-01-01",
        "attitude": 9,
    }
    vault.create(EDGES, json.dumps(odd).encode() + b"\n")
    assert fresh(vault).lines == {"x": EdgeRow(Edge("a", "b", "time"))}


def test_a_file_that_somebody_else_changed_is_read_anew(vault):
    """As after a merge; our own appends are not read again."""
    kept = fresh(vault)
    kept.append([EdgeRow(SISTER)])
    held = kept.lines
    kept.refresh()
    assert kept.lines is held
    fresh(vault).append([EdgeRow(SIMILAR)])
    kept.refresh()
    assert kept.all() == (SISTER, SIMILAR)
    (vault.root / EDGES).unlink()
    kept.refresh()
    assert kept.all() == ()


def test_compacting_leaves_one_line_for_each_edge(vault):
    """And says what it saved; without a file there is nothing to save."""
    kept = fresh(vault)
    assert kept.compact() == 0
    for n in range(5):
        kept.append([EdgeRow(replace(SISTER, confidence=n / 10)), EdgeRow(SIMILAR)])
    saved = kept.compact()
    assert saved > 0
    assert (vault.root / EDGES).read_text().count("\n") == 2
    assert fresh(vault).lines == kept.lines
