"""Tables of sentences that tests read from `tests/sentences/`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "sentences"


@cache
def tables(name):
    """The tables of one file of sentences by name."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))


def rows(name, table):
    """The rows of a table: a list of sentences or of lists, or a dict."""
    return tables(name)[table]
