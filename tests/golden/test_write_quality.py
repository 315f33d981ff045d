"""The bars of write quality on the adversarial conversation (`benchmarks/README.md`)."""

from __future__ import annotations

import pytest

from benchmarks.bench_write import run


# row: X21
# row: X7
# row: X17
@pytest.mark.parametrize("extractor", ["rules", "model"])
def test_write_quality_keeps_its_bars(extractor):
    """Precision, recall, duplicates, evidence, recalled text, dates, planted
    instructions, secrets.
    """
    _, rows = run(extractor)
    assert not [(str(row), *row.items) for row in rows if not row.met]
