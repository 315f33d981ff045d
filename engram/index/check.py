"""Compare the index of a vault with the files themselves."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from engram.errors import EngramError
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from engram.index.catalog import Catalog


def differences(
    catalog: Catalog, root: Path, files: Collection[str]
) -> dict[str, list[str]]:
    """Read the `files` of the vault `root`, and return the paths that differ.

    They are grouped by the difference, in words. A file that is indexed with its last
    good version has no hash in the catalogue, and does not differ; neither does an
    unreadable file.
    """
    known = catalog.hashes()
    files = set(files)
    different: list[str] = []
    for path in sorted(files & known.keys()):
        with suppress(EngramError):
            if known[path] and disk.sha256(disk.read(root / path)) != known[path]:
                different.append(path)
    found = {
        "not in the index": sorted(files - known.keys()),
        "only in the index": sorted(known.keys() - files),
        "in the index as it was before": different,
        "in the index without its file": catalog.units_without_file(),
    }
    return {words: paths for words, paths in found.items() if paths}
