"""Passes: what keeps a vault in order, one small function after another (design of the
model §5).

A pass is pure: it looks at a `PassView` at one moment and says what it would change,
and why; the runner decides whether, and does it. What one pass plans the next one sees,
although nothing is written yet.
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
