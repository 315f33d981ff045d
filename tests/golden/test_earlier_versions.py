"""Vaults that earlier versions wrote: each says the same now, and hides the same.

`versions/` holds one of 21 November 2026, one of two days later, where a tombstone had
fingerprints of words, and one of 25 November, where each note named its defaults.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

VERSIONS = sorted((Path(__file__).parent / "versions").iterdir())


@pytest.mark.parametrize("version", VERSIONS, ids=lambda one: one.name)
def test_a_vault_of_an_earlier_version_opens_as_it_was(opened, settings, version):
    """No byte of a note changes, what was forgotten stays hidden, and a second start
    records nothing.
    """
    shutil.copytree(version, settings.vault, dirs_exist_ok=True)
    notes = {path: path.read_bytes() for path in settings.vault.rglob("*.md")}
    memory = opened()

    def texts(query):
        return [one["text"] for one in memory.call("recall", {"query": query})["hits"]]

    assert any("Berlin" in one for one in texts("Where does Anna live?"))
    assert "Anna prefers oat milk." in texts("What milk does Anna prefer?")
    forgotten = memory.vault.tombstone_rows()
    assert any("Voss" in one for one in texts("therapist Voss")) == (not forgotten)
    assert {path: path.read_bytes() for path in notes} == notes
    memory.close()
    assert opened().vault.tombstone_rows() == forgotten
