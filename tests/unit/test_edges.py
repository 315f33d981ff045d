"""The edge file: append-only, merged by union, and read whatever stands in it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from engram.core.records import Edge
from engram.vault.edges import EDGES, EdgeRow, EdgeStore
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
