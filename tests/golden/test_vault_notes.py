"""The bar of the notes that a conversation leaves (`benchmarks/bench_vault.py`)."""

from __future__ import annotations

import pytest

from benchmarks.bench_vault import BARS, TALK, a_turn, played, recorded
from tests.fakes.obsidian import broken_links, orphan_boxes
from tests.size import FULL

pytestmark = pytest.mark.skipif(
    not TALK.exists(), reason=f"the recorded conversation is absent: {TALK}"
)


# row: C31
# row: C32
@pytest.mark.parametrize("name", ["rules", "model"] if FULL else ["rules"])
def test_a_conversation_leaves_few_notes_and_no_broken_link(tmp_path, name):
    """What a person has to leaf through, with the offline rules and with a model."""
    with recorded() as url:
        notes = played(tmp_path, url if name == "model" else None)
    assert a_turn(notes) <= BARS[name], notes
    assert notes["facts"] > 10
    vault = tmp_path / "vault"
    assert (broken_links(vault), orphan_boxes(vault)) == ([], [])
