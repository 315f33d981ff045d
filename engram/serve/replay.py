"""Replay the history of a vault into a new one, and compare the statements.

Every recorded turn is observed again at its own time. The present vault is only read.
The same turns and the same replies of a model give the same vault, byte for byte (row
X25): it does not depend on the clock of the machine, on random numbers or on the order
of folders.
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
from engram.errors import ConflictError, NotFoundError
from engram.memory import VaultMemory
from engram.vault import disk, facts, frontmatter, sessions, template
from engram.vault.store import Vault
from engram.vault.usage import DEVICE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from engram.config import Settings
    from engram.core.records import Fact, Turn


def reprocess(
    settings: Settings, into: Path, report_progress: Callable[[int, int], object]
) -> dict[str, Any]:
    """Extract all memories again into the new vault `into`; count and compare them.

    `new` are active statements that the vault does not have; `gone` are those that were
    not extracted again, for example because the user wrote them. Statements that the
    user asked to remember are remembered again. `report_progress` is called with the
    number of processed turns and of all turns.

    Raises NotFoundError if there is no vault, BadRequestError if `into` is a file,
    ConflictError if it is not empty.
    """
    template.check_vault(settings.vault)
    template.check_creatable(into)
    if into.exists() and any(into.iterdir()):
        raise ConflictError(
            "the folder is not empty",
            where=str(into),
            fix="Name a folder that does not exist yet.",
        )
    history = sorted(
        recorded(settings), key=lambda turn: (turn.occurred_at, turn.session, turn.id)
    )
    name = ulid(
        history[0].occurred_at if history else datetime.now(UTC),
        f"reprocess\n{settings.vault_id}",
    )
    create_like(settings, into, name)
    with TemporaryDirectory() as home:
        waiting = _replayed(
            settings_for(settings, into, name, Path(home)), history, report_progress
        )
    return {
        "vault": str(into),
        "turns": len(history),
        **_compared(settings.vault, into, settings),
        **waiting,
    }


def _replayed(
    fresh: Settings,
    history: Sequence[Turn],
    report_progress: Callable[[int, int], object],
) -> dict[str, Any]:
    """Observe every turn at its time; return the counts of turns not yet extracted."""
    clock = SetClock(history[0].occurred_at if history else datetime.now(UTC))
    memory, done = VaultMemory(fresh, clock=clock), 0
    memory.start()
    try:
        memory.catch_up()
        for turns in _requests(history, fresh.policy.buffer.turns):
            clock.now = turns[-1].occurred_at
            _observe(memory, turns)
            done += len(turns)
            report_progress(done, len(history))
        waiting = memory.call("flush", {})
    finally:
        memory.close()
    return {
        name: waiting[name] for name in ("parked_turns", "dead_turns") if waiting[name]
    }


def recorded(settings: Settings) -> Iterator[Turn]:
    """Yield every turn in the session files of a vault."""
    vault = Vault(settings.vault)
    for path in vault.notes("sessions"):
        read = frontmatter.read(vault.read(path), settings.policy.files)
        talk, _problems = sessions.conversation_from(read, path, settings.zone)
        title = sessions.title_in(read.keys)
        for filed in talk.turns if talk else ():
            yield replace(filed.turn, title=title)


def _requests(history: Sequence[Turn], most: int) -> Iterator[list[Turn]]:
    """Yield batches of up to `most` successive turns of one conversation."""
    for _, talk in groupby(history, key=lambda turn: (turn.session, turn.persona)):
        turns = list(talk)
        yield from (turns[start : start + most] for start in range(0, len(turns), most))


def _observe(memory: VaultMemory, turns: Iterable[Turn]) -> None:
    """Observe turns; those of the session `remembered` are remembered again."""
    plain = []
    for turn in turns:
        if turn.session == REMEMBERED:
            params = {
                "text": turn.text,
                "persona": turn.persona,
                "private": turn.private and not turn.confided,
                "agent": turn.role == "assistant",
            }
            memory.call("remember", params, turn.origin)
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
                "group": turn.group,
                "title": turn.title,
                "private": turn.private and not turn.confided,
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
    """Return the active statements of a vault, by hash."""
    vault = Vault(root)
    read_facts: list[Fact | None] = []
    for path in vault.notes("facts"):
        read = frontmatter.read(vault.read(path), settings.policy.files)
        read_facts.append(facts.fact_from(read, path, "", settings.zone)[0])
    return {
        content_hash(fact.text): fact.text
        for fact in read_facts
        if fact and fact.status == "active"
    }


# -- temporary vaults with the configuration of the user's vault -----------------------


class SetClock:
    """A clock that returns a fixed time."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return this time."""
        return self.now


def create_like(settings: Settings, into: Path, name: str) -> None:
    """Make the folder `into` a vault with the `engram.toml` of another, and this id."""
    disk.make_folders(into)
    try:
        own = disk.read(settings.vault / template.SETTINGS)
    except NotFoundError:  # without a vault of the user, the defaults
        own = b""
    disk.write_new(into / template.SETTINGS, template.with_id(own, name))
    template.create_vault(into, name, template.shipped("vault_template"))


def settings_for(settings: Settings, into: Path, name: str, home: Path) -> Settings:
    """Return the settings for such a vault: the same, but with folders of its own.

    Its index is in files, so that it leaves no rows in the database of the user.
    """
    state = home / "state"
    disk.make_folders(state)
    disk.write_new(state / DEVICE, f"{content_hash(name)[:16]}\n".encode())
    fresh = replace(settings, vault=into, vault_id=name, tcp_port=None, postgres="")
    return replace(fresh, state=state, cache=home / "cache", runtime=home / "run")
