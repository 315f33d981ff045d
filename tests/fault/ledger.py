"""What stands on the disk of a vault, read without its index: where turns stand and
which facts there are.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC
from typing import TYPE_CHECKING

from engram.core.policy import JournalPolicy
from engram.vault import frontmatter, sessions
from engram.vault.disk import sha256
from engram.vault.facts import fact_from
from engram.vault.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from engram.core.records import Fact, Problem


def turns_filed(vault: Path) -> Counter[str]:
    """How often each turn id stands in a session file; every session file must be
    understood.
    """
    found: Counter[str] = Counter()
    for path in vault.glob("sessions/*/*.md"):
        read = sessions.conversation_from(
            frontmatter.read(path.read_bytes()), path.name, UTC
        )
        assert read[0] is not None, (path, read[1])
        found.update(filed.turn.id for filed in read[0].turns)
    return found


def turns_waiting(journal: Path) -> set[str]:
    """The ids of turns that only the journal vouches for."""
    reader = Journal(journal, JournalPolicy())
    queue = reader.replay()
    reader.close()
    return {filed.turn.id for _, filed in queue.turns} | {
        filed.turn.id for letter in queue.dead for _, filed in letter.turns
    }


def places_of(vault: Path, journal: Path, ids: Collection[str]) -> dict[str, int]:
    """In how many places each turn stands; in its file and still in the journal counts
    once.
    """
    filed, waiting = turns_filed(vault), turns_waiting(journal)
    return {turn: filed[turn] or int(turn in waiting) for turn in ids}


def facts_of(vault: Path) -> list[Fact]:
    """Every fact in `facts/`; each file must be understood."""
    found = []
    for path in sorted(vault.glob("facts/*/*.md")):
        fact, problems = _fact(vault, path)
        assert fact is not None, (path, problems)
        assert not problems, (path, problems)
        found.append(fact)
    return found


def facts_below(vault: Path, folder: str) -> list[Fact]:
    """The facts in a folder, of those files that can be understood."""
    return [
        fact
        for path in sorted((vault / folder).rglob("*.md"))
        if (fact := _fact(vault, path)[0])
    ]


def _fact(vault: Path, path: Path) -> tuple[Fact | None, tuple[Problem, ...]]:
    raw = path.read_bytes()
    return fact_from(
        frontmatter.read(raw), path.relative_to(vault).as_posix(), sha256(raw), UTC
    )
