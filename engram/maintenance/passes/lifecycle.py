"""The passes without a model: promotion, expiry, archive, topics, edges and logs (rows
C16–C20, D7, D9).

`core/lifecycle` decides; here the decision becomes a change of a note, with its reason.
"""

from __future__ import annotations

import json
import math
import unicodedata
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from heapq import nsmallest
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from engram.core import graph, jsonl, lifecycle
from engram.core.actions import CREATION_ACTIONS
from engram.core.records import BlockEdit, Edit, Move
from engram.maintenance.passes import TRASH, EdgeUpdate, FileWrite

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from engram.core.policy import LinkPolicy
    from engram.core.records import Edge, Fact
    from engram.maintenance.passes import MemoryState, Pass, PassView, Step

TOPICS = "state/topics.json"
_OURS = frozenset(
    {"artifacts", "boxes", "macros", "traces", "spine.md", "profile.md", "IDENTITY.md"}
)

USER_ACTIONS = frozenset(
    {
        "edit",
        "decide",
        "forget",
        "keep",
        "drop",
        "confirm",
        "dispute",
        "correct",
        "restore",
        "pin",
    }
)
"""Actions whose rows never leave the log: a person's word, on which later decisions
rest (rows X8, X9, X23).
"""


# -- what becomes of memories ----------------------------------------------------------


def promote(view: PassView, now: datetime) -> list[Step]:
    """Working becomes episodic, and episodic semantic (`D7`)."""
    return [
        Edit(one.fact.path, one.fact.sha, {"layer": turn[0] or None}, turn[1])
        for one in view.active()
        if (turn := lifecycle.layer_promotion(one.fact, one.usage, now, view.policy))
    ]


def expire(view: PassView, now: datetime) -> list[Step]:
    """Settled commitments and unconfirmed speculations go to `.trash/`; what else is
    over is archived (C16, C17, B16).

    A guessed end is taken from what a person keeps. What we wrote about a memory that
    goes keeps its name without the link; where a person's own note leads to it, it is
    archived instead.
    """
    found: list[Step] = []
    for one in view.active():
        fact = one.fact
        if why := lifecycle.trash_reason(
            fact, one.usage, now, view.policy, kept=one.kept
        ):
            name = PurePosixPath(fact.path).stem
            linking = view.reader.linking(name)
            if not all(map(_is_ours, linking)):
                found.append(archived(fact, why, now, view.zone))
                continue
            found.append(put_away(fact, TRASH, {}, why, now, view.zone))
            found += [
                BlockEdit(path, f"{name} goes to the trash", unlink=name)
                for path in linking
            ]
        elif one.kept and lifecycle.is_guessed_expiry(fact):
            found.append(
                Edit(
                    fact.path,
                    fact.sha,
                    {"expires": None},
                    f"{one.kept}: its guessed end counts no more",
                )
            )
        elif why := lifecycle.expiry_reason(fact, now):
            found.append(archived(fact, why, now, view.zone))
    return found


def _is_ours(path: str) -> bool:
    """Whether nobody but us is meant to write links there."""
    return path.partition("/")[0] in _OURS


def archive(view: PassView, now: datetime) -> list[Step]:
    """What fades out, and is old, unimportant, unused and faded, is put away (rows B8,
    C18, D11; model §0.2).
    """
    return [
        archived(one.fact, why, now, view.zone)
        for one in view.active()
        if (why := _archived(view, one, now))
    ]


def _archived(view: PassView, one: MemoryState, now: datetime) -> str | None:
    vitals, policy = view.vitals(one, now), view.policy
    return lifecycle.archive_reason(
        one.fact, one.usage, vitals, now, policy, said_by=one.said_by, kept=one.kept
    )


def pruning(threshold: float) -> Pass:
    """The pass `prune`, which a person asks for: memories below this effective
    confidence are given up (`A24`).

    `threshold` is 0–1. Protected ones stay; the notes of the others lie in the archive.
    """

    def prune(view: PassView, now: datetime) -> list[Step]:
        return [
            put_away(
                one.fact,
                "archive",
                {"status": "pruned", "end_reason": why},
                why,
                now,
                view.zone,
            )
            for one in view.active()
            if (
                why := lifecycle.prune_reason(
                    one.fact, view.vitals(one, now), threshold, kept=one.kept
                )
            )
        ]

    return prune


def revive(view: PassView, now: datetime) -> list[Step]:
    """What was put away and has been recalled since is active again, in the folder of
    its day (`B3`).
    """
    found: list[Step] = []
    for one in view.memories.values():
        fact = one.fact
        if fact.status != "archived" or not _used_since(one, view.zone):
            continue
        if why := lifecycle.revival_reason(
            fact, one.usage, view.vitals(one, now), now, view.policy
        ):
            day = (fact.created or now).astimezone(view.zone)
            home = f"facts/{day:%Y-%m-%d}/{PurePosixPath(fact.path).name}"
            keys = {"status": "active", "end_reason": None}
            found.append(Move(fact.path, fact.sha, home, keys, why))
    return found


def archived(
    fact: Fact,
    why: str,
    now: datetime,
    zone: tzinfo,
    keys: Mapping[str, object] | None = None,
) -> Move:
    """The note put away, with further `keys`."""
    told = {"status": "archived", "end_reason": why, **(keys or {})}
    return put_away(fact, "archive", told, why, now, zone)


def put_away(
    fact: Fact,
    folder: str,
    keys: Mapping[str, object],
    why: str,
    now: datetime,
    zone: tzinfo,
) -> Move:
    """The note under its name in the folder of today below `folder`."""
    to = f"{folder}/{now.astimezone(zone):%Y-%m-%d}/{PurePosixPath(fact.path).name}"
    return Move(fact.path, fact.sha, to, keys, why)


def _used_since(one: MemoryState, zone: tzinfo) -> bool:
    """Whether a memory was recalled on or after the day on which it was put away, as
    far as its folder tells.
    """
    day, last = _day_of(one.fact.path), one.usage.last_access
    return last is not None and (day is None or last.astimezone(zone).date() >= day)


def _day_of(path: str) -> date | None:
    """The day in `archive/2026-11-20/…`."""
    parts = path.split("/")
    try:
        return date.fromisoformat(parts[1]) if len(parts) > 2 else None
    except ValueError:
        return None


# -- what the vault is about -----------------------------------------------------------


def topics(view: PassView, now: datetime) -> list[Step]:
    """`state/topics.json`: the 50 terms that tell most, `count · ln(N / memories with
    the term)` (`C20`).

    Over active memories; no stop words, at least 3 letters, or a pair of signs where no
    blank divides words. The file is written only when the terms change.
    """
    listed = view.once(topics, lambda: _top_terms(view), view.memories)
    before = view.read(TOPICS)
    try:
        known = json.loads(before)["topics"]
    except (ValueError, TypeError, KeyError):
        known = None
    if known == listed or (not listed and not before):
        return []
    text = json.dumps(
        {"topics": listed, "updatedAt": _stamp(now)}, ensure_ascii=False, indent=1
    )
    return [FileWrite(TOPICS, f"{text}\n".encode(), f"{len(listed)} terms")]


def _top_terms(view: PassView) -> list[dict[str, object]]:
    policy, tally = view.policy.consolidation, view.reader.tally
    tally.follow(one.fact for one in view.memories.values())
    scores = {
        term: count * math.log(tally.memories / tally.spread[term])
        for term, count in tally.counts.items()
        if len(term) >= policy.topic_chars or _pair(term)
    }
    best = nsmallest(
        policy.topics,
        (term for term in scores if scores[term] > 0),
        lambda term: (-scores[term], term),
    )
    return [
        {"term": term, "score": round(scores[term], 4), "count": tally.counts[term]}
        for term in best
    ]


def _pair(term: str) -> bool:
    """Two signs of a script in which that is a word."""
    return len(term) == 2 and all(unicodedata.category(sign) == "Lo" for sign in term)


# -- what is written down and thrown away ----------------------------------------------


def edges(view: PassView, now: datetime) -> list[Step]:
    """What ties are worth by now is written down; what they will be worth at any later
    time stays the same (`C34`).
    """
    charged = ((edge, written_out(edge, now, view.policy.links)) for edge in view.edges)
    return [
        EdgeUpdate(new, f"unseen since {edge.reinforced:%Y-%m-%d}")
        for edge, new in charged
        if new is not None
    ]


def written_out(edge: Edge, now: datetime, policy: LinkPolicy) -> Edge | None:
    """The edge with its confidence as of `now`, its anchor advanced by exactly the
    windows charged (`C34`), or None.

    1.0 last seen 200 days ago becomes 0.8 last seen 20 days ago.
    """
    worth = graph.edge_confidence(edge, now, policy)
    if edge.reinforced is None or worth == edge.confidence:
        return None
    window = timedelta(days=policy.window_days)
    windows = math.ceil((now - edge.reinforced - window) / window)
    return replace(
        edge, confidence=round(worth, 4), reinforced=edge.reinforced + windows * window
    )


def logs(view: PassView, now: datetime) -> list[Step]:
    """Rows older than 90 days leave the logs (`D9`), except those that carry a promise:
    `USER_ACTIONS`, `CREATION_ACTIONS`.

    A log is written anew when they are a tenth of it. Else each night would remove what
    the night 90 days before had written of itself, and no vault would ever be at rest.
    """
    limit = now - timedelta(days=view.policy.consolidation.log_days)
    found: list[Step] = []
    for path in view.logs:
        lines = list(jsonl.lines(view.read(path)))
        left = [
            line.raw for line in lines if not _may_go_from_log(line.value, limit, view)
        ]
        gone = len(lines) - len(left)
        if gone and gone >= view.policy.consolidation.log_share * len(lines):
            why = f"{gone} rows older than {view.policy.consolidation.log_days:g} days"
            found.append(FileWrite(path, b"".join(left), why))
    return found


def _may_go_from_log(row: Any, limit: datetime, view: PassView) -> bool:
    """Whether a row may go; one that cannot be read stays."""
    try:
        at = datetime.fromisoformat(row["at"])
        promise = row.get("by") == "user" or row.get("action") in USER_ACTIONS
        birth = (
            row.get("action") in CREATION_ACTIONS and row.get("memory") in view.memories
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
    return (
        (at if at.tzinfo else at.replace(tzinfo=UTC)) < limit
        and not promise
        and not birth
    )


def _stamp(now: datetime) -> str:
    return now.astimezone(UTC).isoformat(timespec="seconds")
