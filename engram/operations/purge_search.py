"""Verification of a purge: a search for traces in files, database and git (X26)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.errors import EngramError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.config import Settings
    from engram.core.purge import Traces
    from engram.index.protocol import IndexStore
    from engram.vault.git import Git

ELSEWHERE = "it still contains purged words"
WHY = {
    "vault": "you wrote some of its words there; delete them yourself",
    "cache": "the index repeats words of the notes named above",
}
DATABASE = "database"
_TABLES = (
    "SELECT table_name FROM information_schema.columns WHERE table_schema = 'engram' "
    "AND column_name = 'vault' AND table_name <> 'embedding' ORDER BY table_name"
)
"""The tables with rows of vaults; vectors have no words."""
IN_HISTORY = (
    "Older commits cannot be changed by engram. To give up all history: `git -C {vault} "
    "checkout --orphan fresh && git -C {vault} commit -qm 'Start anew' && git -C {vault} "
    "branch -D {branch} && git -C {vault} branch -m {branch} && git -C {vault} reflog "
    "expire --expire=now --all && git -C {vault} gc --prune=now`. To keep it, remove the "
    "words with git-filter-repo (--replace-text). Copies on other machines and remotes "
    "keep theirs."
)


@dataclass(slots=True)
class Residue:
    """The result of a search: the places of hits with reasons, and the counts.

    `counts` has the files, or the rows, and bytes of each store; `traces` is the number
    of sentences, names and words that were searched for.
    """

    hits: dict[str, str] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    traces: int = 0


def search_stores(
    stores: Mapping[str, Path], found: Traces, settings: Settings
) -> Residue:
    """Search every file of the stores, and its name, for the traces of a purge.

    `search_history` searches the objects of git.
    """
    result = Residue(traces=len(found.phrases) + len(found.names))
    for store, folder in stores.items():
        files = size = 0
        for top, folders, names in os.walk(folder):
            folders[:] = [one for one in folders if one != ".git"]
            for name in names:
                path = Path(top, name)
                try:
                    raw = path.read_bytes() if path.is_file() else b""
                except OSError as fault:
                    result.hits[str(path)] = f"it cannot be read: {fault.strerror}"
                    continue
                files, size = files + 1, size + len(raw)
                if found.in_text(str(path.relative_to(folder))) or found.in_bytes(raw):
                    inside = store == "vault"
                    label = path.relative_to(settings.vault) if inside else path
                    result.hits[str(label)] = WHY.get(store, ELSEWHERE)
        result.counts[store] = {"files": files, "bytes": size}
    return result


def search_rows(store: IndexStore, found: Traces, result: Residue) -> None:
    """Search every row of the vault in the database, and add to `result`."""
    rows = size = 0
    for (table,) in store.query(_TABLES):
        hits = 0
        for (text,) in store.query(f"SELECT one::text FROM {table} AS one"):  # noqa: S608
            raw = str(text).encode()
            rows, size = rows + 1, size + len(raw)
            hits += found.in_bytes(raw)
        if hits:
            result.hits[f"engram.{table}"] = f"{WHY['cache']}: {hits} rows"
    result.counts[DATABASE] = {"files": 0, "rows": rows, "bytes": size}


def search_history(git: Git | None, found: Traces) -> dict[str, Any]:
    """Return the number of commits that still have a trace, and the fix.

    `complete` is false if the time limit ended the search.
    """
    if git is None:
        return {}
    try:
        commits, branch = git.history()
    except EngramError as fault:
        return {"commits": 0, "complete": False, "fix": str(fault)}
    hits = sum(found.in_text(one) for one in commits)
    fix = IN_HISTORY.format(vault=git.root, branch=branch) if hits else ""
    return {"commits": hits, "complete": True, "fix": fix}
