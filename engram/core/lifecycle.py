"""Status: does a memory exist, and may it be recalled."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from engram.core.records import Fact


def hidden(fact: Fact, now: datetime) -> str | None:
    """Why `fact` is not recalled at `now`, or None if it is (rows A30, C23, B16: pinned before expired)."""
    if fact.status != "active":
        return fact.status
    return _over(fact, now)


def hidden_then(fact: Fact, then: datetime) -> str | None:
    """Why `fact` is no answer as of the earlier day `then`, or None if it is (`X5`).

    What had been created by then and was valid then counts, also when it was superseded or invalidated
    later; what a person removed never returns.
    """
    if fact.status not in {"active", "archived", "superseded", "invalidated"}:
        return fact.status
    if fact.created and fact.created > then:
        return "not yet known"
    if fact.valid_from and fact.valid_from > then:
        return "not yet valid"
    return _over(fact, then)


def _over(fact: Fact, now: datetime) -> str | None:
    if fact.expires and fact.expires <= now and not fact.pinned:
        return "expired"
    return "no longer valid" if fact.valid_until and fact.valid_until <= now else None
