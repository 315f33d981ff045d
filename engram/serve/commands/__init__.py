"""The commands of `engram`, one module for each topic.

In: a command line. Out: text or JSON on standard output, and an exit code. `run` in
`main.py` runs a command line; importing this package adds every command to the tree of
`engram.serve.command_group`. Start with `operations.py`: most commands are made from
their row of the table of operations. Commands with other arguments or logic are
functions in the other modules.
"""

from __future__ import annotations

from engram.serve.command_group import tree
from engram.serve.commands import (  # noqa: F401
    agents,
    daemon,
    evaluation,
    maintenance,
    operations,
    review,
    settings,
    tokens,
    turns,
    vault,
)
from engram.serve.commands.main import run

__all__ = ["run", "tree"]
