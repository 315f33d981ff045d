"""What one stretch of a conversation taught, and the thread of such stretches (rows
C31, C32).

A box collects the memories of a conversation while its subject lasts; a trace strings
the boxes of one subject together. A batch travels as a box of its own that nobody has
opened yet.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from engram.core.categories import CATEGORIES
from engram.core.language.permanent_attributes import REMEMBER_TAG
from engram.core.records import Box, Trace
from engram.core.text import normalise, ulid

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.core.policy import BoxPolicy
    from engram.core.records import Fact

TRACE_PREFIX = "trace-"


def topics(
    memories: Sequence[Fact], people: Collection[str], policy: BoxPolicy
) -> tuple[str, ...]:
    """What these memories are about: their tags and the names in `about`, the commonest
    first (`C31`).

    The category is none of them: two unrelated statements of kind `fact` have no
    subject in common; nor is the tag of what the user asked to keep. Nor are `people`,
    the owner and the speakers: they are in everything that is said.
    """
    those_present = {*map(normalise, people), *CATEGORIES, REMEMBER_TAG}
    named = [
        normalise(name) for memory in memories for name in (*memory.about, *memory.tags)
    ]
    counted = Counter(
        name for name in named if name.strip() and name not in those_present
    )
    return tuple(name for name, _ in counted.most_common(policy.topics))


def topic_overlap(one: Collection[str], other: Collection[str]) -> float:
    """Jaccard: what two sets of topics have in common, as a share of what either has; 0
    for two empty ones.

    >>> topic_overlap(["anna", "porto"], ["anna", "coffee"])
    0.3333333333333333
    """
    either = {*one, *other}
    return len({*one} & {*other}) / len(either) if either else 0.0


def box_of_batch(
    session: str,
    persona: str | None,
    memories: Sequence[Fact],
    about: tuple[str, ...],
    said: datetime,
) -> Box:
    """The box that the memories of one batch, with the topics `about`, would open;
    `said` is its last turn's time.

    It begins with the earliest of the memories, to the second. The id follows from
    that, the session and the first memory, so the same batch opens the same box again.
    """
    ids = tuple(dict.fromkeys(memory.id for memory in memories))
    last = said.astimezone(UTC).replace(microsecond=0)
    begun = min([said, *(memory.created for memory in memories if memory.created)])
    opened = begun.astimezone(UTC).replace(microsecond=0)
    seed = "\n".join(("box", session, persona or "", *ids[:1]))
    return Box(ulid(opened, seed), session, persona, opened, last, about, ids)


def add_batch(
    box: Box | None, new: Box, policy: BoxPolicy
) -> tuple[Box | None, Box | None]:
    """The box that is open after the batch `new`, and the one that it closed (`C31`).

    Asked in this order: too many memories (the batch joins, then the box closes),
    another subject, a silence. A batch without memories can end a box, or show that the
    conversation goes on, but opens none.
    """
    fresh = tuple(
        memory for memory in new.memories if box is None or memory not in box.memories
    )
    joined = new if box is None else _joined(box, new, fresh, policy)
    if len(joined.memories) > policy.memories:
        return None, seal(joined, "max_memories", new.last, policy)
    why = _ended(box, new, policy) if box and (fresh or not new.memories) else ""
    if box and why:
        return (new if new.memories else None), seal(box, why, new.last, policy)
    return (joined if joined.memories else None), None


def seal(box: Box, why: str, at: datetime, policy: BoxPolicy) -> Box:
    """`box` closed at `at`, but never before its last words nor after the silence that
    would have closed it.

    So a box of an old conversation that is imported today was closed on the old day.
    """
    if box.sealed:
        return box
    latest = box.last + timedelta(minutes=policy.gap_minutes)
    return replace(
        box,
        sealed=min(max(at.astimezone(UTC).replace(microsecond=0), box.last), latest),
        why=why,
    )


def box_subjects(box: Box) -> tuple[str, ...]:
    """The topics of `box`; where it has none, the name of its conversation is what it
    is about.
    """
    return box.topics or (normalise(box.session),)


def find_trace(box: Box, traces: Mapping[str, Trace], policy: BoxPolicy) -> str:
    """The id of the trace of its persona that a sealed `box` joins; that of a new one
    where none fits (`C32`, `E14`).

    Compared is the best of a trace's latest `trace_boxes` boxes, never all topics it
    ever had: those only grow, and a long trace would stop matching. Only traces within
    `trace_days` of the box count. A new id is `trace-` and 8 hex digits of SHA-256 of
    the sorted topics and the persona, so the same subject comes back to it.
    """
    window = timedelta(days=policy.trace_days)
    own = box_subjects(box)
    best = (policy.trace_overlap, datetime.min.replace(tzinfo=UTC), "")
    for trace in traces.values():
        if (
            trace.persona != box.persona
            or box.opened - trace.seen > window
            or trace.seen - box.last > window
        ):
            continue
        likeness = max(
            (
                topic_overlap(own, known)
                for _, known in trace.boxes[-policy.trace_boxes :]
            ),
            default=0.0,
        )
        best = max(best, (likeness, trace.seen, trace.id))
    seed = [*sorted(own), *filter(None, [box.persona])]
    digest = sha256("\n".join(seed).encode("utf-8", "surrogatepass")).hexdigest()
    return best[2] or f"{TRACE_PREFIX}{digest[:8]}"


def add_to_trace(trace: Trace | None, trace_id: str, name: str, box: Box) -> Trace:
    """`trace`, or a new one, with the sealed `box` in it under `name`, which begins
    with its date; oldest first.
    """
    own = box_subjects(box)
    seen = box.sealed or box.last
    trace = trace or Trace(trace_id, own[0], seen, persona=box.persona)
    if any(known == name for known, _ in trace.boxes):
        return trace
    held = sorted([*trace.boxes, (name, own)], key=lambda item: item[0][:10])
    return replace(trace, seen=max(trace.seen, seen), boxes=tuple(held))


def _joined(box: Box, new: Box, fresh: tuple[str, ...], policy: BoxPolicy) -> Box:
    known = tuple(dict.fromkeys((*box.topics, *(new.topics if fresh else ()))))[
        : policy.topics
    ]
    last = max(box.last, new.last)
    return replace(box, last=last, topics=known, memories=(*box.memories, *fresh))


def _ended(box: Box, new: Box, policy: BoxPolicy) -> str:
    """Why `box` ends before the batch `new`, or ''. The batch's topics decide only
    where they bring a new one.
    """
    if (
        box.topics
        and {*new.topics} - {*box.topics}
        and topic_overlap(box.topics, new.topics) < policy.overlap
    ):
        return "topic_shift"
    return (
        "time_gap"
        if new.opened - box.last >= timedelta(minutes=policy.gap_minutes)
        else ""
    )
