"""The result of a scan: changed files, and user changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.records import Fact, FiledTurn, Problem


@dataclass(frozen=True, slots=True)
class MovedFile:
    """A file that a user moved from `path` to `to`.

    `claim` identifies it: a fact's id, a conversation, a note's path.
    """

    claim: str
    path: str
    to: str


@dataclass(frozen=True, slots=True)
class EditedFact:
    """A fact whose body, status or another key a user changed.

    The ids differ if the user changed the id.
    """

    before: Fact
    after: Fact


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file that must not become a second memory.

    `why` is sync-conflict, merge-markers or duplicate-id; `other` is the path of the
    file with the same id, '' if it is not known.
    """

    path: str
    why: str
    other: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes that a scan found; paths are relative to the vault.

    `edited` and `deleted` are the user changes that are not acknowledged yet, without
    the writes of engram and of git. So are `edited_turns` and `deleted_turns`, turns in
    their form before a user changed their words in a session file or deleted them.
    `last_change` is the number of the last one. `checked_out` is true if git changed
    files. The files of `pending` need another scan after `settle_most_seconds`.
    `frozen` is true if so many files are missing that none counts as deleted.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[MovedFile, ...] = ()
    edited: tuple[EditedFact, ...] = ()
    deleted: tuple[Fact, ...] = ()
    edited_turns: tuple[FiledTurn, ...] = ()
    deleted_turns: tuple[FiledTurn, ...] = ()
    last_change: int = 0
    conflicts: tuple[Conflict, ...] = ()
    problems: tuple[Problem, ...] = ()
    pending: frozenset[str] = frozenset()
    frozen: bool = False
    checked_out: bool = False


@dataclass(slots=True)
class DiffBuilder:
    """The changes that a scan has found so far.

    `by_user` is false for the writes of engram and of git, which are no user changes;
    `by_engram` is true for those of engram. Engram does not change the words of a turn,
    so if they differ, a user changed the file just before. `reread` has the files that
    get a claim which another file released.
    """

    by_user: bool = True
    by_engram: bool = False
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    moved: list[MovedFile] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    pending: set[str] = field(default_factory=set)
    reread: list[str] = field(default_factory=list)
    frozen: bool = False
    checked_out: bool = False

    def diff(
        self,
        edited: Sequence[EditedFact],
        deleted: Sequence[Fact],
        edited_turns: Sequence[FiledTurn],
        deleted_turns: Sequence[FiledTurn],
        last_change: int,
    ) -> Diff:
        """Return the finished value, with the user changes from the catalogue."""
        return Diff(
            added=tuple(self.added),
            changed=tuple(self.changed),
            removed=tuple(self.removed),
            moved=tuple(self.moved),
            edited=tuple(edited),
            deleted=tuple(deleted),
            edited_turns=tuple(edited_turns),
            deleted_turns=tuple(deleted_turns),
            last_change=last_change,
            conflicts=tuple(self.conflicts),
            problems=tuple(self.problems),
            pending=frozenset(self.pending),
            frozen=self.frozen,
            checked_out=self.checked_out,
        )
