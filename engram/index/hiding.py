"""The tombstones of a vault, and units without forgotten sentences (rows A26, X8; law 11)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from engram.core import jsonl
from engram.core.forgetting import (
    ELSEWHERE,
    OMISSION,
    TombstoneSet,
    Utterance,
    read_restored,
    read_tombstones,
    removed_keys,
)
from engram.core.records import HIGH, NO_PERSONA, UNKNOWN_PERSONA, Fact, FiledTurn
from engram.core.trust import TurnSource, source_class
from engram.errors import NotFoundError
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from engram.index.database import Unit
    from engram.vault.store import Vault


def utterance_of(turn: FiledTurn) -> Utterance:
    """Return the time, the key and the source class of a turn."""
    return Utterance(turn.turn.occurred_at, turn.key, source_class(turn.turn))


def is_sensitive(unit: Unit) -> bool:
    """Return whether a unit is too sensitive for any model (row B17)."""
    if isinstance(unit, FiledTurn):
        return unit.turn.sensitive_to is not None
    if isinstance(unit, Fact):
        return unit.sensitivity == HIGH
    return unit.persona == UNKNOWN_PERSONA


def without_forgotten(
    unit: Unit,
    forgotten: TombstoneSet,
    voices: Callable[[Sequence[str]], Mapping[str, TurnSource]],
) -> Unit | None:
    """Return the unit without forgotten sentences, None if nothing is left.

    `voices` returns role and origin of turns by key; it is only called if a fact would
    be hidden.
    """
    if not forgotten:
        return unit
    if isinstance(unit, FiledTurn):
        text = forgotten.visible(unit.turn.text, utterance_of(unit))
        return _with_text(unit, text) if text else None
    if isinstance(unit, Fact):
        text = _fact_text(unit, forgotten, voices)
        if not text:
            return None
        return unit if text == unit.text else replace(unit, text=text)
    text = forgotten.visible(unit.text, Utterance(fact=True))
    if text == unit.text:
        return unit
    return replace(unit, text=text) if text.strip() else None


def _fact_text(
    fact: Fact,
    forgotten: TombstoneSet,
    voices: Callable[[Sequence[str]], Mapping[str, TurnSource]],
) -> str:
    """Return the text of a fact that may be shown.

    It may be shown as long as any of its source turns may.
    """
    keys = fact.turns
    said = partial(Utterance, fact.created, fact=True, memory=fact.id)
    text = forgotten.visible(fact.text, said(fact.source, "" if keys else "user"))
    if text == fact.text or not keys:
        return text
    texts = (
        forgotten.visible(fact.text, said(key, voice.source_class))
        for key, voice in voices(keys).items()
    )
    return next(
        (visible_text for visible_text in texts if visible_text == fact.text), text
    )


def with_marks(
    turn: FiledTurn, forgotten: TombstoneSet, tombstones: Collection[str]
) -> FiledTurn:
    """Return a turn with a mark in place of hidden text.

    Summaries of a conversation use it, because turns keep their positions. Every
    persona sees the summary of a conversation without a persona, so private turns are
    hidden there; highly sensitive turns are hidden in every summary.
    """
    hidden = turn.turn.private_to == NO_PERSONA or is_sensitive(turn)
    if hidden or turn.key in tombstones:
        return _with_text(turn, OMISSION)
    text = forgotten.visible(turn.turn.text, utterance_of(turn))
    return _with_text(turn, text or OMISSION)


def _with_text(turn: FiledTurn, text: str) -> FiledTurn:
    return (
        turn
        if text == turn.turn.text
        else replace(turn, turn=replace(turn.turn, text=text), reading=None)
    )


DELETED = "a person deleted the note"


class Tombstones:
    """The tombstones in effect, as of the last `add` or `reload`.

    `keys` are content hashes of statements and keys of turns; `forgotten` hides the
    sentences with a forgotten statement; `withdrawn` are the keys of turns that were
    edited or deleted in the chat; `deleted` are the digests
    (`turn_versions.turn_digest`) of turns that a person removed from a session file.
    `restored` is the time at which a person last restored a memory, by its id. `rows`
    are those of the file in the vault and of `copy`, a file outside of it: git may have
    checked out a commit in which nothing was forgotten, and nothing is written for that.
    Outside of git the rows that the file lacks are written to it, for a sync tool keeps
    one of two versions. Only the writer's thread adds and keeps.
    """

    def __init__(self, vault: Vault, copy: Path, *, in_git: bool) -> None:
        self._vault = vault
        self._copy = copy
        self._in_git = in_git
        self.rows: list[dict[str, object]] = []
        self._read()

    def add(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Append rows durably; a row with `restored` or `lifted` revokes one."""
        if rows:
            self._vault.add_tombstones(rows)
        self.keep()

    def keep(self) -> None:
        """Read the file, which git and sync tools may have changed; complete the copy."""
        new, absent = self._read()
        if new:
            disk.make_folders(self._copy.parent)
            disk.append(self._copy, jsonl.encode(new))
        if absent and not self._in_git:
            self._vault.add_tombstones(absent)
            self._read()

    def keep_anew(self) -> None:
        """Read the file, from which a purge cut rows, and make the copy equal to it."""
        disk.remove(self._copy)
        self.keep()

    def deletion(self, start: str) -> str:
        """Return when a person deleted a note, by its id or the start of it, or ''."""
        for row in reversed(self.rows):
            memory = str(row.get("memory", ""))
            if row.get("reason") == DELETED and memory.startswith(start):
                return (
                    f"A person deleted it by hand before {row.get('at')}. Put the file"
                    f" back, from .trash or git, then `engram restore {memory}`."
                )
        return ""

    def _read(self) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        """Read both files; return the rows that the copy and that the file lack."""
        ours, copied = self._vault.tombstone_rows(), self._copied()
        rows, new, absent = ours, ours[len(copied) :], list[dict[str, object]]()
        if ours[: len(copied)] != copied:
            known, kept = (
                {jsonl.encode([row]): row for row in rows} for rows in (ours, copied)
            )
            rows = [
                row if key in known else row | {ELSEWHERE: True}
                for key, row in (kept | known).items()
            ]
            new = [row for key, row in known.items() if key not in kept]
            absent = [row for key, row in kept.items() if key not in known]
        self.rows = rows
        self.keys = removed_keys(rows)
        self.forgotten = TombstoneSet(read_tombstones(rows))
        self.restored = read_restored(rows)
        self.deleted = {
            str(row["sent"]): str(row.get("was")) for row in rows if row.get("sent")
        }
        self.withdrawn = self.keys & {
            str(row["turn"])
            for row in rows
            if row.get("turn")
            and row["turn"] == row.get("memory")
            and "hash" not in row
        }
        return new, absent

    def _copied(self) -> list[dict[str, object]]:
        try:
            return list(jsonl.rows(disk.read(self._copy)))
        except NotFoundError:
            return []
