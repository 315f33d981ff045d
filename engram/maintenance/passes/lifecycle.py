"""Passes without a model: promotion, expiry, archive, ends, vectors, topics, edges, logs.

(Rows C16–C20, C29, D7, D9, D12.) `core/lifecycle` decides; a pass turns the decision
into a change of a note, with its reason. The tier and the precision of a vector are in
no note and hide no memory: a vector with fewer bits is compared like any other.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from heapq import nsmallest
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from engram.core import decay, graph, jsonl, lifecycle, todos
from engram.core.actions import CREATION_ACTIONS, row_time
from engram.core.categories import PLAIN, category_of
from engram.core.classify import edited_slot
from engram.core.decide import GOES_ON, is_called_off, is_scheduled, lives_on
from engram.core.language.words import terms_of
from engram.core.records import BlockEdit, Edge, Edit, Fact, Move, VectorStorage
from engram.maintenance.passes.view import (
    TRASH,
    ChangeGroup,
    EdgeUpdate,
    FallenGround,
    FileWrite,
    MemoryState,
    Pass,
    PassView,
    Step,
    VectorPrecision,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from engram.core.policy import LinkPolicy


TOPICS = "state/topics.json"
_GENERATED = frozenset(
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
"""Actions of a user. Their rows never leave the log, because later decisions depend on
them (rows X8, X9, X23).
"""


# -- the lifecycle of memories ---------------------------------------------------------


def promote(view: PassView, now: datetime) -> list[Step]:
    """Promote memories from working to episodic, and to semantic (`D7`)."""
    steps: list[Step] = []
    for one in view.active():
        fact = one.fact
        if move := lifecycle.layer_promotion(fact, one.usage, now, view.policy):
            layer, why = move
            steps.append(Edit(fact.path, fact.sha, {"layer": layer or None}, why))
    return steps


def expire(view: PassView, now: datetime) -> list[Step]:
    """Remove or archive the memories that expired (rows C16, C17, B16).

    Settled commitments and unconfirmed speculations are moved to `.trash/`, others to
    the archive. A guessed end is removed from a memory that belongs to a user.
    """
    steps: list[Step] = []
    for one in view.active():
        fact = one.fact
        if why := lifecycle.trash_reason(
            fact, one.usage, now, view.policy, user_action=one.kept
        ):
            steps += _trash_steps(view, fact, why, now)
        elif one.kept and lifecycle.is_guessed_expiry(fact):
            why = f"{one.kept}: its guessed end no longer applies"
            steps.append(Edit(fact.path, fact.sha, {"expires": None}, why))
        elif why := lifecycle.expiry_reason(fact, now):
            steps.append(archive_move(fact, why, now, view.zone))
    return steps


def _trash_steps(view: PassView, fact: Fact, why: str, now: datetime) -> list[Step]:
    """Return the move of a note to the trash, and the removal of links to it.

    The note is archived instead if a note of a user links to it.
    """
    name = PurePosixPath(fact.path).stem
    linking = view.reader.linking(name)
    if not all(map(_is_generated, linking)):
        return [archive_move(fact, why, now, view.zone)]
    reason = f"{name} moves to the trash"
    unlinked = [BlockEdit(path, reason, unlink=name) for path in linking]
    return [move_to_dated_folder(fact, TRASH, {}, why, now, view.zone), *unlinked]


def _is_generated(path: str) -> bool:
    """Return whether only engram writes links in the note at `path`."""
    return path.partition("/")[0] in _GENERATED


def archive(view: PassView, now: datetime) -> list[Step]:
    """Archive old, unimportant, unused and faded memories (rows B8, C18, D11; law 2).

    Expired memories are left to `expire`, after the descriptions are written (`B13`).
    """
    return [
        archive_move(one.fact, why, now, view.zone)
        for one in view.active()
        if (why := _archive_reason(view, one, now))
    ]


def _archive_reason(view: PassView, one: MemoryState, now: datetime) -> str | None:
    if lifecycle.expiry_reason(one.fact, now):
        return None
    vitals, policy = view.vitals(one, now), view.policy
    return lifecycle.archive_reason(
        one.fact,
        one.usage,
        vitals,
        now,
        policy,
        said_by=one.said_by,
        user_action=one.kept,
    )


def pruning(threshold: float) -> Pass:
    """Return the pass `prune`, which a user requests (`A24`).

    It moves unprotected memories with an effective confidence below `threshold` (0–1)
    to the archive.
    """

    def prune(view: PassView, now: datetime) -> list[Step]:
        steps: list[Step] = []
        for one in view.active():
            vitals = view.vitals(one, now)
            if why := lifecycle.prune_reason(
                one.fact, vitals, threshold, user_action=one.kept
            ):
                keys = {"status": "pruned", "end_reason": why}
                steps.append(
                    move_to_dated_folder(one.fact, "archive", keys, why, now, view.zone)
                )
        return steps

    return prune


def revive(view: PassView, now: datetime) -> list[Step]:
    """Move archived memories that were recalled since then back to `facts/` (`B3`)."""
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


def archive_move(
    fact: Fact,
    why: str,
    now: datetime,
    zone: tzinfo,
    keys: Mapping[str, object] | None = None,
) -> Move:
    """Return the move of a note to the archive, with further `keys`."""
    changed = {"status": "archived", "end_reason": why, **(keys or {})}
    return move_to_dated_folder(fact, "archive", changed, why, now, zone)


def move_to_dated_folder(
    fact: Fact,
    folder: str,
    keys: Mapping[str, object],
    why: str,
    now: datetime,
    zone: tzinfo,
) -> Move:
    """Return the move of a note to the subfolder of today in `folder`."""
    to = f"{folder}/{now.astimezone(zone):%Y-%m-%d}/{PurePosixPath(fact.path).name}"
    return Move(fact.path, fact.sha, to, keys, why)


def _used_since(one: MemoryState, zone: tzinfo) -> bool:
    """Return whether a memory was recalled since the day of its archive folder."""
    day, last = _day_of(one.fact.path), one.usage.last_access
    return last is not None and (day is None or last.astimezone(zone).date() >= day)


def _day_of(path: str) -> date | None:
    """Return the day in `archive/2026-11-20/…`, or None."""
    parts = path.split("/")
    try:
        return date.fromisoformat(parts[1]) if len(parts) > 2 else None
    except ValueError:
        return None


# -- topics ----------------------------------------------------------------------------


def topics(view: PassView, now: datetime) -> list[Step]:
    """Write the 50 most characteristic terms to `state/topics.json` (`C20`).

    The score of a term is `count · ln(N / memories with the term)` over the active
    memories. Terms are not stop words and have at least 3 letters, or 2 in a script
    without blanks. The file is written only if the terms change.
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
        {
            "topics": listed,
            "updatedAt": now.astimezone(UTC).isoformat(timespec="seconds"),
        },
        ensure_ascii=False,
        indent=1,
    )
    return [FileWrite(TOPICS, f"{text}\n".encode(), f"{len(listed)} terms")]


def _top_terms(view: PassView) -> list[dict[str, object]]:
    policy, memories = view.policy.consolidation, view.active()
    counts, spread = Counter[str](), Counter[str]()
    for one in memories:
        view.reader.check()
        terms = terms_of(one.fact.text)
        counts.update(terms)
        spread.update(set(terms))
    scores = {
        term: count * math.log(len(memories) / spread[term])
        for term, count in counts.items()
        if len(term) >= policy.topic_chars or _is_ideographic_pair(term)
    }
    best = nsmallest(
        policy.topics,
        (term for term in scores if scores[term] > 0),
        lambda term: (-scores[term], term),
    )
    return [
        {"term": term, "score": round(scores[term], 4), "count": counts[term]}
        for term in best
    ]


def _is_ideographic_pair(term: str) -> bool:
    """Return whether a term is two letters of a script without upper and lower case."""
    return len(term) == 2 and all(unicodedata.category(sign) == "Lo" for sign in term)


# -- edges and logs --------------------------------------------------------------------


def edges(view: PassView, now: datetime) -> list[Step]:
    """Write the decayed confidence of edges; later values stay the same (`C34`)."""
    charged = ((edge, written_out(edge, now, view.policy.links)) for edge in view.edges)
    return [
        EdgeUpdate(new, f"unseen since {edge.reinforced:%Y-%m-%d}")
        for edge, new in charged
        if new is not None
    ]


def written_out(edge: Edge, now: datetime, policy: LinkPolicy) -> Edge | None:
    """Return the edge with its confidence as of `now` (`C34`); None if it is unchanged.

    Its anchor advances by the elapsed windows: 1.0 last seen 200 days ago becomes 0.8
    last seen 20 days ago.
    """
    confidence = graph.edge_confidence(edge, now, policy)
    if edge.reinforced is None or confidence == edge.confidence:
        return None
    window = timedelta(days=policy.window_days)
    windows = math.ceil((now - edge.reinforced - window) / window)
    anchor = edge.reinforced + windows * window
    return replace(edge, confidence=round(confidence, 4), reinforced=anchor)


def logs(view: PassView, now: datetime) -> list[Step]:
    """Remove rows older than 90 days from the logs (`D9`).

    Rows of `USER_ACTIONS` and `CREATION_ACTIONS` stay. A log is rewritten only if a
    tenth of its rows can be removed; otherwise every run would remove the rows of the
    run 90 days before, and the vault would change each night. The creation of a memory
    that this run archives stays too, because the process may end before the note is
    moved.
    """
    limit = now - timedelta(days=view.policy.consolidation.log_days)
    found: list[Step] = []
    for path in view.logs:
        lines = list(jsonl.lines(view.read(path)))
        rows = [(line, row_time(line.value)) for line in lines]
        lately = {
            line.value.get("memory")
            for line, at in rows
            if at is not None and at >= limit
        }
        known = {*view.memories, *view.reader.statements(), *lately}
        remaining = [
            line.raw
            for line, at in rows
            if at is None or at >= limit or _stays_in_log(line.value, known)
        ]
        removed = len(lines) - len(remaining)
        if removed and removed >= view.policy.consolidation.log_share * len(lines):
            why = (
                f"{removed} rows older than {view.policy.consolidation.log_days:g} days"
            )
            found.append(FileWrite(path, b"".join(remaining), why))
    return found


def _stays_in_log(row: Mapping[str, Any], known: Collection[str]) -> bool:
    """Return whether a row stays at any age, because of its user or memory."""
    by_user = row.get("by") == "user" or row.get("action") in USER_ACTIONS
    return by_user or (
        row.get("action") in CREATION_ACTIONS and str(row.get("memory")) in known
    )


def tier(view: PassView, now: datetime) -> list[Step]:
    """Move vectors of rarely used memories to the cold tier, and back (`C29`)."""
    changed: dict[str, VectorStorage] = {}
    for one, stored in _with_vectors(view):
        inputs = decay.heat_inputs(one.fact, one.usage, now, view.policy)
        if move := lifecycle.tier_move(
            one.fact, one.usage, stored.tier, inputs, now, view.policy
        ):
            changed[one.fact.id] = replace(stored, tier=move[0])
    return _step(changed, Counter(f"turn {one.tier}" for one in changed.values()))


def precision(view: PassView, now: datetime) -> list[Step]:
    """Set the bits of each vector by the retention of its memory (rows C29, D12).

    A cold vector has 8 bits at most.
    """
    changed: dict[str, VectorStorage] = {}
    for one, stored in _with_vectors(view):
        retention = view.vitals(one, now).retention
        bits = lifecycle.vector_bits(retention, stored.tier, view.policy)
        if bits != stored.bits:
            changed[one.fact.id] = replace(stored, bits=bits)
    return _step(changed, Counter(f"in {one.bits} bits" for one in changed.values()))


def _with_vectors(view: PassView) -> Iterator[tuple[MemoryState, VectorStorage]]:
    for name, stored in view.stored.items():
        if name in view.memories:
            yield view.memories[name], stored


def _step(
    changed: Mapping[str, VectorStorage], counts: Mapping[str, int]
) -> list[Step]:
    """Return the step that changes vectors, with the counts as its reason."""
    if not changed:
        return []
    why = ", ".join(f"{counts[what]} {what}" for what in sorted(counts))
    return [VectorPrecision(changed, why)]


# -- the announced ends of memories, which filing a statement schedules ----------------

CALLED_OFF = "the plan that would end it was called off"
ANNOUNCED = "the day came on which it was announced to end"


def redate(view: PassView, now: datetime) -> list[Step]:  # noqa: ARG001
    """Give memories the time and the slot that a user's edited words name (X14, X31)."""
    why = "a person edited its words"
    steps: list[Step] = []
    for memory, edited in view.reader.edited().items():
        one = view.memories.get(memory)
        if one is None or one.fact.status != "active":
            continue
        times = {name: text for name, text in edited.items() if name != "slot"}
        keys = edited_slot(one.fact) if "slot" in edited else {}
        if not all(
            _is_at(getattr(one.fact, name), text, view.zone)
            for name, text in times.items()
        ):
            keys |= times
        if keys:
            steps.append(Edit(one.fact.path, one.fact.sha, keys, why))
    return steps


def _is_at(time: datetime | None, text: str, zone: tzinfo) -> bool:
    """Whether a time is the local one that a key gives."""
    return (
        time is not None and f"{time.astimezone(zone):%Y-%m-%dT%H:%M:%S}" == text[:19]
    )


def end_states(view: PassView, now: datetime) -> list[Step]:
    """End memories on their announced day, unless the plan was called off (`A7`)."""
    return list(_announced(view, now))


def _announced(view: PassView, now: datetime) -> Iterator[Step]:
    for one in view.memories.values():
        fact, day = one.fact, one.fact.valid_until
        if day is None or one.kept or not is_scheduled(fact):
            continue
        plans = [view.memories.get(name) for name in fact.superseded_by]
        if all(is_called_off(plan.fact if plan else None, day) for plan in plans):
            keys: dict[str, object] = {"superseded_by": None, "valid_until": None}
            yield Edit(fact.path, fact.sha, keys, CALLED_OFF)
        elif day <= now:
            keys = {"status": "superseded", "end_reason": ANNOUNCED}
            begun = (_begun(plan.fact) for plan in plans if plan and not plan.kept)
            edits = [edit for edit in begun if edit]
            yield ChangeGroup((*edits, Edit(fact.path, fact.sha, keys, ANNOUNCED)))


def ask_fallen(view: PassView, now: datetime) -> list[Step]:  # noqa: ARG001
    """Ask about the memories that rest on one whose announced end has come (`X29`).

    Those that rest on what goes on in the announced state rest on that one then.
    """
    ended: dict[str, Fact] = {}
    resting: dict[str, list[MemoryState]] = {}
    for one in view.memories.values():
        if one.fact.status == "superseded" and one.fact.end_reason == ANNOUNCED:
            ended[one.fact.id] = one.fact
        for ground in one.fact.because if todos.still_holds(one.fact) else ():
            resting.setdefault(ground, []).append(one)
    steps: list[Step] = []
    for old in (ended[ground] for ground in resting if ground in ended):
        plan = view.memories.get(next(iter(old.superseded_by), ""))
        turn, day = plan.fact.source if plan else old.source, old.valid_until
        texts = {one.fact.id: one.fact.text for one in resting[old.id]}
        if plan and lives_on(old, plan.fact):
            for one in (one for one in resting[old.id] if not one.kept):
                grounds = [*one.fact.because, plan.fact.id]
                grounds.remove(old.id)
                keys: dict[str, object] = {"because": list(dict.fromkeys(grounds))}
                steps.append(Edit(one.fact.path, one.fact.sha, keys, GOES_ON))
                del texts[one.fact.id]
        if turn and day and texts:
            steps.append(FallenGround(turn, old.text, texts, day))
    return steps


def _begun(plan: Fact) -> Edit | None:
    """Return the change by which a plan becomes the state that it planned."""
    if not (plan.attribute and category_of(plan.category).promise):
        return None
    keys = {**todos.reopened_keys(plan), "category": PLAIN, "event_end": None}
    return Edit(plan.path, plan.sha, keys, ANNOUNCED)
