"""The doctor: what is wrong with a vault and with what is kept about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.backlog import Backlog
    from engram.config import Settings
    from engram.core.records import Problem

RETRY = "`engram flush` tries again and says why it fails"
LAX = "other users of this machine may read the vault; `chmod 700` closes it"


def findings(
    settings: Settings, problems: Iterable[Problem], backlog: Backlog, faults: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Each problem with its level and code, where it is, and what to do about it; nothing when all is well.

    `problems` are those of the notes; `faults` are what is degraded now, by name.
    """
    found: list[dict[str, Any]] = [
        {
            "level": "warning",
            "code": problem.code,
            "where": problem.path,
            "line": problem.line,
            "what": problem.message,
        }
        for problem in problems
    ]
    found += [{"level": "error", "code": code, "what": what} for code, what in faults.items()]
    if settings.vault.stat().st_mode & 0o077:
        found.append({"level": "warning", "code": "mode", "where": str(settings.vault), "what": LAX})
    if parked := backlog.counts()["parked_turns"]:
        found.append(
            {"level": "warning", "code": "parked", "what": f"turns that wait to be distilled: {parked}", "fix": RETRY}
        )
    found += [
        {"level": "warning", "code": "dead-letter", "what": f"{len(batch.waiting)} turns: {why}", "fix": RETRY}
        for batch, why in backlog.dead
    ]
    return found
