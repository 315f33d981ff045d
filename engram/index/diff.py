"""What a scan found, as plain values: the acts of people, and what an index must do to
follow.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.core.records import Fact, Problem
    from engram.index.rows import Unit


@dataclass(frozen=True, slots=True)
class Moved:
    """A person moved a file; `claim` is what it alone may hold: a fact's id, a note's
    path, a conversation.
    """

    claim: str
    path: str
    to: str


@dataclass(frozen=True, slots=True)
class Edited:
    """A person changed a fact: its body, its status or a key. The ids differ where they
    changed the id.
    """

    before: Fact
    after: Fact


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file that must not become a second memory: sync-conflict, merge-markers or
    duplicate-id.

    `other` is the path that holds the id, or '' where that is not known.
    """

    path: str
    why: str
    other: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """What a scan found and took in. Paths are relative to the vault.

    `edited`, `deleted` and `moved` are people's doing, never our own writes, nor what
    git did, as with a checkout: of that only `checked_out` tells. `pending` wants
    another scan after `settle_most_seconds`. `frozen`: so much is gone at once that
    nothing is believed gone.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()
    edited: tuple[Edited, ...] = ()
    deleted: tuple[Fact, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    problems: tuple[Problem, ...] = ()
    pending: frozenset[str] = frozenset()
    frozen: bool = False
    checked_out: bool = False


@dataclass(frozen=True, slots=True)
class Delta:
    """What an index must do to reach `mark`: forget everything if `fresh`, remove keys,
    add or replace units.
    """

    mark: str
    fresh: bool
    removed: tuple[str, ...]
    added: Iterator[Unit]


@dataclass(slots=True)
class DiffLog:
    """A diff in the making; `ours` for our own writes and for what git wrote, of which
    nothing is told.
    """

    ours: bool = False
    found: defaultdict[str, list[Any]] = field(
        default_factory=lambda: defaultdict(list)
    )
    pending: set[str] = field(default_factory=set)
    heirs: list[str] = field(default_factory=list)
    frozen: bool = False
    checked_out: bool = False

    def tell(self, what: str, item: object) -> None:
        """Note one finding under a field of `Diff`."""
        if not self.ours:
            self.found[what].append(item)

    def diff(self) -> Diff:
        """The finished value."""
        lists = {what: tuple(items) for what, items in self.found.items()}
        return Diff(
            **lists,
            pending=frozenset(self.pending),
            frozen=self.frozen,
            checked_out=self.checked_out,
        )
