"""A year of conversation through the daemon on a clock that is handed in: what it
leaves is known, byte for byte.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest

from benchmarks import bench_year, year_page
from tests.size import FULL

HERE = Path(__file__).parent
GOLDEN = HERE / "year"
PASSED_OVER = (".obsidian/", "templates/", "views/", "Home.md", ".git", "engram.toml")
"""What comes with every vault and is no work of a year."""
FOUR_MONTHS = timedelta(days=122)


@pytest.fixture
def room(tmp_path):
    """A RAM disk where there is one: a year syncs ten thousand times, and no power
    fails in it.
    """
    disk = Path("/dev/shm")
    if not os.access(disk, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="engram-year-", dir=disk) as folder:
        yield Path(folder)


def tree(root: Path) -> dict[str, bytes]:
    """Every file that the year left. Git would keep no `.trash/`, so what lies there is
    compared as `trash/`.
    """
    held = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }
    return {
        name.removeprefix("."): raw
        for name, raw in held.items()
        if not name.startswith(PASSED_OVER)
    }


# row: X1
# row: X25
# row: D9
def test_four_months_of_miras_year_leave_this_tree(room, request):
    """Three weeks of talk and then some, every night and week, and a person's hands;
    all is well with the vault.
    """
    done = bench_year.year(room, ours=True, length=FOUR_MONTHS)
    assert bench_year.problems(done) == []
    assert [month.name for month in done.months] == [
        "2026-03",
        "2026-04",
        "2026-05",
        "2026-06",
    ]
    assert all(month.calls.total() > 0 for month in done.months)
    found = tree(done.vault)
    if request.config.getoption("--update-golden"):
        shutil.rmtree(GOLDEN, ignore_errors=True)
        for name, raw in found.items():
            (GOLDEN / name).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / name).write_bytes(raw)
    assert found == tree(GOLDEN)


# row: X25
@pytest.mark.skipif(
    not FULL, reason="minutes; ENGRAM_FAULT=full plays it, and so does `make year`"
)
@pytest.mark.parametrize("ours", [True, False], ids=["own", "real"])
def test_a_year_leaves_the_listed_tree(room, ours):
    """Of the tree only counts and hashes are kept: of real conversations none of the
    words are ours.
    """
    if not ours and not (bench_year.BENCH / "data" / "locomo-dev.json").is_file():
        print("skipped: the conversations are not beside this checkout")  # noqa: T201
        pytest.skip("the conversations are not beside this checkout")
    done = bench_year.year(room, ours=ours)
    assert bench_year.problems(done) == []
    assert [*year_page.listing(done.vault), ""] == bench_year.GOLDEN[ours].read_text(
        "utf-8"
    ).split("\n")
