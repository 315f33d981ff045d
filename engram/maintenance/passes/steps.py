"""The steps that a pass may return: changes of files, questions and findings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engram.core.records import (
    BlockEdit,
    Change,
    Edge,
    Edit,
    Fact,
    Move,
    Usage,
    VectorStorage,
)

if TYPE_CHECKING:
    from engram.core.actions import Proposal

TRASH = ".trash"
"""The folder of removed notes, which only `engram purge --trash` empties."""


@dataclass(frozen=True, slots=True)
class FileWrite:
    """Replace the content of a file that is not a note; None deletes it."""

    path: str
    content: bytes | None
    why: str


@dataclass(frozen=True, slots=True)
class EdgeUpdate:
    """Replace an edge of the graph, with its confidence as of now."""

    edge: Edge
    why: str


@dataclass(frozen=True, slots=True)
class NewEdge:
    """Add an edge to the graph."""

    edge: Edge
    why: str


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """Ask a model: the prompt file `task`, its material as JSON, and the reason.

    A pass asks if its view has no answer. The question is answered and the run is
    planned again. Equal questions share one answer, so that a second run asks nothing
    and changes nothing.
    """

    task: str
    material: str
    why: str

    @property
    def key(self) -> str:
        """The key of the answer, equal for equal questions."""
        return hashlib.sha256(f"{self.task}\n{self.material}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class NewMemory:
    """Create a memory concluded from others; `fact` has no path yet.

    `by` is the pass, for its limit; `usage` is the first usage of the memory.
    """

    fact: Fact
    why: str
    by: str
    usage: Usage = Usage()  # noqa: RUF009


@dataclass(frozen=True, slots=True)
class NewCase:
    """Ask a user which of two memories is true (`X9`), once for each pair."""

    new: Fact
    old: Fact
    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Report something about a memory without a change.

    `refused` is the proposal that the rules of actions rejected, if any.
    """

    memory: str
    path: str
    why: str
    refused: Proposal | None = None


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """Make changes together or not at all, new notes first.

    So no memory is archived before its replacement is written. A group that would end a
    protected memory has to `ask`: it is made only after approval (law 12).
    """

    steps: tuple[Edit | Move | NewMemory, ...]
    ask: bool = False


Answer = Mapping[str, Any]
"""The validated answer to a `ModelQuestion`; empty if it contains nothing useful."""


@dataclass(frozen=True, slots=True)
class VectorPrecision:
    """Change the precision and tier of vectors, by the id of the memory."""

    stored: Mapping[str, VectorStorage]
    why: str


Step = (
    Change
    | BlockEdit
    | FileWrite
    | EdgeUpdate
    | NewEdge
    | VectorPrecision
    | ModelQuestion
    | NewMemory
    | NewCase
    | Finding
    | ChangeGroup
)
