"""History read again: every recorded turn, at its own time, into a vault of its own,
and what came out otherwise.

The vault at hand is only read. The same turns and the same replies of a model give the
same vault, byte for byte (row X25): nothing in it depends on the clock of the machine,
on chance, or on the order of folders.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from engram.core.records import REMEMBERED
from engram.core.text import content_hash, ulid
from engram.errors import ConflictError
from engram.memory import Memory
from engram.vault import disk, facts, frontmatter, sessions, template
from engram.vault.store import Vault
from engram.vault.usage import DEVICE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from engram.config import Settings
    from engram.core.records import Fact, Turn


def reprocess(
    settings: Settings, into: Path, tell: Callable[[int, int], object]
) -> dict[str, Any]:
    """Distil all that was said anew into the new vault `into`; how many turns, and the
    statements that differ.

    `new` are active statements that the vault does not have, `gone` those of its own
    that did not come again, also because a person wrote them. What somebody asked to
    keep is asked for again. `tell` hears of progress: (turns done, of how many). Raises
    NotFoundError (no vault at hand), BadRequestError where `into` is a file,
    ConflictError where it holds something.
    """
    template.check_vault(settings.vault)
    template.check_creatable(into)
    if into.exists() and any(into.iterdir()):
        raise ConflictError(
            "the folder is not empty",
            where=str(into),
            fix="Name one that is not there yet.",
        )
    said = sorted(
        recorded(settings), key=lambda turn: (turn.occurred_at, turn.session, turn.id)
    )
    name = ulid(
        said[0].occurred_at if said else datetime.now(UTC),
        f"reprocess\n{settings.vault_id}",
    )
    disk.make_folders(into)
    own = template.with_id(disk.read(settings.vault / template.SETTINGS), name)
    disk.write_new(into / template.SETTINGS, own)
    template.create_vault(into, name, template.template_folder())
    with TemporaryDirectory() as home:
        waiting = _told(_beside(settings, into, name, Path(home)), said, tell)
    return {
        "vault": str(into),
        "turns": len(said),
        **_compared(settings.vault, into, settings),
        **waiting,
    }


def _told(
    fresh: Settings, said: Sequence[Turn], tell: Callable[[int, int], object]
) -> dict[str, Any]:
    """Tell the new vault everything, at its time; how many turns no model has read yet,
    if there are any.
    """
    clock = _Clock(said[0].occurred_at if said else datetime.now(UTC))
    memory, done = Memory(fresh, clock=clock), 0
    memory.start()
    try:
        memory.warm()
        for turns in _requests(said, fresh.policy.buffer.turns):
            clock.now = turns[-1].occurred_at
            _say(memory, turns)
            done += len(turns)
            tell(done, len(said))
        left = memory.call("flush", {})
    finally:
        memory.close()
    return {name: left[name] for name in ("parked_turns", "dead_turns") if left[name]}


def recorded(settings: Settings) -> Iterator[Turn]:
    """Every turn in the session files of a vault."""
    vault = Vault(settings.vault)
    for path in vault.notes("sessions"):
        read = frontmatter.read(vault.read(path), settings.policy.files)
        talk, _problems = sessions.conversation_from(read, path, settings.zone)
        yield from (filed.turn for filed in talk.turns) if talk else ()


class _Clock:
    """Stands at the time of what is being said."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def _beside(settings: Settings, into: Path, name: str, home: Path) -> Settings:
    """The settings for the new vault: the same rules and model, and folders of its own
    for everything else.
    """
    state = home / "state"
    disk.make_folders(state)
    disk.write_new(state / DEVICE, f"{content_hash(name)[:16]}\n".encode())
    fresh = replace(settings, vault=into, vault_id=name, tcp_port=None)
    return replace(fresh, state=state, cache=home / "cache", runtime=home / "run")


def _requests(said: Sequence[Turn], most: int) -> Iterator[list[Turn]]:
    """The turns as they are handed in: neighbours of one conversation together, so many
    at most.
    """
    for _, talk in groupby(said, key=lambda turn: (turn.session, turn.persona)):
        turns = list(talk)
        yield from (turns[start : start + most] for start in range(0, len(turns), most))


def _say(memory: Memory, turns: Iterable[Turn]) -> None:
    """Hand turns in; what a person asked to keep they ask for again."""
    plain = []
    for turn in turns:
        if turn.session == REMEMBERED:
            memory.call("remember", {"text": turn.text, "persona": turn.persona})
        else:
            row: dict[str, Any] = {
                "id": turn.id,
                "session": turn.session,
                "role": turn.role,
                "text": turn.text,
            }
            row |= {
                "speaker": turn.speaker,
                "persona": turn.persona,
                "origin": turn.origin,
            }
            plain.append(row | {"occurred_at": turn.occurred_at.isoformat()})
    if plain:
        memory.call("observe", {"turns": plain})


def _compared(old: Path, new: Path, settings: Settings) -> dict[str, Any]:
    before, after = _active(old, settings), _active(new, settings)
    return {
        "same": len(before.keys() & after.keys()),
        "new": sorted(after[digest] for digest in after.keys() - before.keys()),
        "gone": sorted(before[digest] for digest in before.keys() - after.keys()),
    }


def _active(root: Path, settings: Settings) -> dict[str, str]:
    """The active statements of a vault, by hash."""
    vault = Vault(root)
    found: list[Fact | None] = []
    for path in vault.notes("facts"):
        read = frontmatter.read(vault.read(path), settings.policy.files)
        found.append(facts.fact_from(read, path, "", settings.zone)[0])
    return {
        content_hash(fact.text): fact.text
        for fact in found
        if fact and fact.status == "active"
    }
