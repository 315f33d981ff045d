"""Passes: what keeps a vault in order, one small function after another (design of the model §5).

A pass is pure: it looks at a `View` at one moment and says what it would change, and why; the runner decides
whether, and does it. What one pass plans the next one sees, although nothing is written yet.
"""

from __future__ import annotations

from engram.maintenance.passes.steps import TRASH, Answer, Ask, Bundle, Case, Faded, Kept, Made, Mark, Step, Tie, Told
from engram.maintenance.passes.view import FOREIGN, Living, Looking, Pass, View

__all__ = [
    "FOREIGN",
    "TRASH",
    "Answer",
    "Ask",
    "Bundle",
    "Case",
    "Faded",
    "Kept",
    "Living",
    "Looking",
    "Made",
    "Mark",
    "Pass",
    "Step",
    "Tie",
    "Told",
    "View",
]
