"""Changes of single notes, for operations requested by a user (row X8).

`NoteChanges` builds the changes that activate, supersede or trash a note.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engram.core.records import Change, Fact, Move
from engram.pipeline.forgetting import USER_DECIDED
from engram.vault import facts, frontmatter, reviews
from engram.vault.formats import unused_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.pipeline.write import NoteWriter


Keys = dict[str, object]

ACTIVE: Keys = {"status": "active", "end_reason": None}
"""The front-matter keys of a memory that becomes active again."""


class NoteChanges:
    """Builds changes of a memory's note. For the writer thread."""

    def __init__(self, note_writer: NoteWriter) -> None:
        self.vault = note_writer.vault
        self.settings = note_writer.settings

    def activate(self, fact: Fact, new: Fact, now: datetime) -> Change:
        """Return the change that makes a memory active and confirmed, in `facts/`.

        `new` is the memory with its other changes.
        """
        until = None if fact.status == "superseded" else fact.valid_until
        new = replace(new, status="active", end_reason="", valid_until=until)
        path = self._active_path(fact, now)
        new = replace(new, verification="user_confirmed", path=path)
        return self._change(fact, new, USER_DECIDED)

    def supersede(
        self, fact: Fact, winner: Fact, why: str, now: datetime, *, ended: bool = False
    ) -> Change:
        """Return the change that makes `winner` the successor of a memory.

        With `ended` the memory was true until `winner` became true.
        """
        until: datetime | None = winner.valid_from or winner.created or now
        if not ended or (until and fact.valid_until and fact.valid_until <= until):
            until = fact.valid_until
        in_review = fact.path.startswith(f"{reviews.FOLDER}/")
        new = replace(
            fact,
            status="superseded",
            superseded_by=(*_without(fact.superseded_by, winner), winner.id),
            supersedes=_without(fact.supersedes, winner),
            end_reason=why,
            valid_until=until,
            path=self._active_path(fact, now) if in_review else fact.path,
        )
        return self._change(fact, new, why)

    def trash(self, path: str, sha: str, now: datetime, why: str) -> Move:
        """Return the move of a note, unchanged, to the folder of today in `.trash/`."""
        day = f"{now.astimezone(self.settings.zone):%Y-%m-%d}"
        return Move(path, sha, self._free_path(f".trash/{day}", path), {}, why)

    def _change(self, fact: Fact, new: Fact, why: str) -> Change:
        """Return the change of a note, which removes a review question."""
        raw = self.vault.read(fact.path)
        body = frontmatter.read(raw, self.settings.policy.files).body
        settled = reviews.without_question(body) if reviews.has_question(body) else None
        return facts.change(fact, new, self.settings.zone, why, settled)

    def _active_path(self, fact: Fact, now: datetime) -> str:
        """Return the path of a note in `facts/`: its own, or in the folder of its day."""
        if fact.path.startswith("facts/"):
            return fact.path
        day = (fact.created or now).astimezone(self.settings.zone)
        return self._free_path(f"facts/{day:%Y-%m-%d}", fact.path)

    def _free_path(self, folder: str, path: str) -> str:
        """Return an unused path in `folder` with the name of `path`."""
        stem = f"{folder}/{PurePosixPath(path).stem}"
        return unused_name(stem, lambda name: self.vault.exists(f"{name}.md")) + ".md"


def superseding(winner: Fact, loser: Fact) -> Fact:
    """Return `winner` as the successor of `loser`."""
    return replace(
        winner,
        supersedes=(*_without(winner.supersedes, loser), loser.id),
        superseded_by=_without(winner.superseded_by, loser),
    )


def _without(names: Sequence[str], fact: Fact) -> tuple[str, ...]:
    """Return the ids and links in `names` that do not refer to `fact`."""
    own = {fact.id, PurePosixPath(fact.path).stem}
    return tuple(name for name in names if name not in own)
