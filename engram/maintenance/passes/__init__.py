"""The passes: pure functions from a `PassView` and the time to a list of steps.

A step is a change with its reason. `plan.py` decides whether it is permitted, and gives
the next pass a view in which the step is done, although nothing is written yet.
`steps.py` has the steps, `view.py` the view, and the other modules the passes
themselves.
"""

from __future__ import annotations

from engram.maintenance.passes.steps import (
    TRASH,
    Answer,
    ChangeGroup,
    EdgeUpdate,
    FileWrite,
    Finding,
    ModelQuestion,
    NewCase,
    NewEdge,
    NewMemory,
    Step,
    VectorPrecision,
)
from engram.maintenance.passes.view import (
    FOREIGN,
    MemoryState,
    Pass,
    PassView,
    VaultReader,
    ViewUpdate,
)

__all__ = [
    "FOREIGN",
    "TRASH",
    "Answer",
    "ChangeGroup",
    "EdgeUpdate",
    "FileWrite",
    "Finding",
    "MemoryState",
    "ModelQuestion",
    "NewCase",
    "NewEdge",
    "NewMemory",
    "Pass",
    "PassView",
    "Step",
    "VaultReader",
    "VectorPrecision",
    "ViewUpdate",
]
