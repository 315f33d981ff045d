"""What a pass may plan: a change of a note or of what stands beside the notes, a
question, a word on a memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engram.core.records import BlockEdit, Change, Edge, Edit, Fact, Move, Stored, Usage

if TYPE_CHECKING:
    from engram.core.actions import Proposal

TRASH = ".trash"
"""Where a note lies that is no memory any more."""


@dataclass(frozen=True, slots=True)
class FileWrite:
    """Plan what a file that is no note is to hold from now on; None: it goes."""

    path: str
    content: bytes | None
    why: str


@dataclass(frozen=True, slots=True)
class EdgeUpdate:
    """Plan to write down what a tie is worth by now."""

    edge: Edge
    why: str


@dataclass(frozen=True, slots=True)
class NewEdge:
    """Plan a tie that is not there yet."""

    edge: Edge
    why: str


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """Plan to ask a model: the prompt file `task`, what it is about as JSON, and why.

    A pass that finds no answer in its view asks; the runner has the question answered
    and plans again. The same question has one answer, so that a second run asks nothing
    and changes nothing.
    """

    task: str
    material: str
    why: str

    @property
    def key(self) -> str:
        """What the answer is kept under: equal for equal questions."""
        return hashlib.sha256(f"{self.task}\n{self.material}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class NewMemory:
    """Plan a note for a memory that was concluded from others; `fact` without path.
    `by` is the pass, for its limit.

    `usage` is what its use starts with.
    """

    fact: Fact
    why: str
    by: str
    usage: Usage = Usage()  # noqa: RUF009


@dataclass(frozen=True, slots=True)
class NewCase:
    """Plan a note that asks a person which of two memories is true (`X9`); a pair is
    asked about once.
    """

    new: Fact
    old: Fact
    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Plan to say something of a memory, and to change nothing; `refused` is what was
    proposed and is not to be.
    """

    memory: str
    path: str
    why: str
    refused: Proposal | None = None


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """Plan steps that are done together or not at all, what is kept first: no memory
    goes before its words stand.
    """

    steps: tuple[Edit | Move | NewMemory, ...]


Answer = Mapping[str, Any]
"""What a model said to an `ModelQuestion`, read and checked; empty where it said
nothing of use.
"""


@dataclass(frozen=True, slots=True)
class VectorPrecision:
    """Plan how exactly the vectors of these memories are kept, by id."""

    stored: Mapping[str, Stored]
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
