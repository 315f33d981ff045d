"""Group the memories of a conversation by subject, and link the groups (`C31`, `C32`).

A box collects the memories of a conversation while its subject lasts; a trace links the
boxes of one subject. A batch is passed as a box that is not open yet.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from engram.core.categories import CATEGORIES
from engram.core.language.keep_requests import REMEMBER_TAG
from engram.core.language.words import fold, terms_of, words
from engram.core.records import Box, Fact, Trace
from engram.core.text import normalise, ulid
from engram.core.todos import SETTLED

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.core.policy import BoxPolicy

TRACE_PREFIX = "trace-"
_TITLE_PARTS = 2
_MIXED = "Several subjects"


def topics(
    memories: Sequence[Fact], people: Collection[str], policy: BoxPolicy
) -> tuple[str, ...]:
    """Return the topics of memories, most frequent first (`C31`).

    Topics are the tags and the names in `about`. The category is not a topic, because
    two unrelated statements of the category `fact` have no subject in common; neither
    is the tag of memories that the user asked to keep. `people`, the owner and the
    speakers, are not topics because they occur everywhere.
    """
    excluded = {*map(normalise, people), *CATEGORIES, REMEMBER_TAG, *SETTLED}
    names = [
        normalise(name) for memory in memories for name in (*memory.about, *memory.tags)
    ]
    counts = Counter(name for name in names if name.strip() and name not in excluded)
    return tuple(name for name, _ in counts.most_common(policy.topics))


def topic_overlap(first: Collection[str], second: Collection[str]) -> float:
    """Return the Jaccard index of two sets of topics; 0 for two empty sets.

    >>> topic_overlap(["anna", "porto"], ["anna", "coffee"])
    0.3333333333333333
    """
    either = {*first, *second}
    return len({*first} & {*second}) / len(either) if either else 0.0


def box_of_batch(
    session: str,
    persona: str | None,
    memories: Sequence[Fact],
    about: tuple[str, ...],
    said_at: datetime,
) -> Box:
    """Return the box that a batch of memories with the topics `about` would open.

    `said_at` is the time of the batch's last turn. The box begins at the time of the
    earliest memory, rounded to a second. Its id is derived from that time, the session
    and the first memory, so the same batch always gives the same box.
    """
    ids = tuple(dict.fromkeys(memory.id for memory in memories))
    last = said_at.astimezone(UTC).replace(microsecond=0)
    begun = min([said_at, *(memory.created for memory in memories if memory.created)])
    opened = begun.astimezone(UTC).replace(microsecond=0)
    seed = "\n".join(("box", session, persona or "", *ids[:1]))
    return Box(ulid(opened, seed), session, persona, opened, last, about, ids)


def add_batch(
    box: Box | None, new: Box, policy: BoxPolicy
) -> tuple[Box | None, Box | None]:
    """Return the open box after the batch `new`, and the box that it closed (`C31`).

    A box closes for the first of these reasons: too many memories (after the batch is
    added), a new subject, a long silence. A batch without memories can close a box or
    extend it, but never opens one.
    """
    fresh = tuple(
        memory for memory in new.memories if box is None or memory not in box.memories
    )
    joined = new if box is None else _joined(box, new, fresh, policy)
    if len(joined.memories) > policy.memories:
        return None, seal(joined, "max_memories", new.last, policy)
    why = (
        _closing_reason(box, new, policy) if box and (fresh or not new.memories) else ""
    )
    if box and why:
        return (new if new.memories else None), seal(box, why, new.last, policy)
    return (joined if joined.memories else None), None


def seal(box: Box, why: str, at: datetime, policy: BoxPolicy) -> Box:
    """Return `box` closed at `at`, bounded by its last turn and the end of the gap.

    A box of an old conversation that is imported today thus closes on the old day.
    """
    if box.sealed:
        return box
    latest = box.last + timedelta(minutes=policy.gap_minutes)
    return replace(
        box,
        sealed=min(max(at.astimezone(UTC).replace(microsecond=0), box.last), latest),
        why=why,
    )


def box_title(memories: Sequence[Fact], box: Box, owner: Collection[str] = ()) -> str:
    """Return the title of a box: the subject that its memories share.

    The title is the name that most memories are about, with the tag that most of these
    memories have, or else a second name. A name that only one of several memories is
    about is not used. Without a name the title consists of the tags if half of the
    memories share one, otherwise of the words that half of the statements share, but not
    of the names of the `owner`, and otherwise of their first attributes or tags. Names and
    words keep their spelling.
    """
    names = _counted(memories, box, names=True)
    tags = _counted(memories, box, names=False)
    if names and len(memories) > _FEW:
        shared = sum(names[0] in memory.about for memory in memories)
        names = names if shared > 1 else []
    if names:
        title = _title_by_names(names, memories, box)
    elif _is_shared(tags, memories):
        title = ", ".join(map(_leaf, tags[:_TITLE_PARTS]))
    else:
        parts = _shared_words(memories, owner) or _attributes(memories)
        parts = parts or [*map(_leaf, tags[:_TITLE_PARTS])]
        title = ", ".join(parts) or _MIXED
    return title[:1].upper() + title[1:]


def _title_by_names(names: list[str], memories: Sequence[Fact], box: Box) -> str:
    """Return the first name with the tag of its memories, or else with the next name."""
    about_first = [memory for memory in memories if names[0] in memory.about]
    known = {normalise(part) for full in names for part in (full, *full.split())}
    for tag in _counted(about_first, box, names=False):
        if normalise(tag) not in known:
            return f"{names[0]}: {_leaf(tag)}"
    return ", ".join(names[:2])


def _is_shared(tags: Sequence[str], memories: Sequence[Fact]) -> bool:
    """Return whether at least half of several memories have the first of these tags."""
    tagged = sum(tags[0] in memory.tags for memory in memories) if tags else 0
    return tagged > 1 and 2 * tagged >= len(memories)


def _shared_words(memories: Sequence[Fact], owner: Collection[str]) -> list[str]:
    """Return the words that half of several statements contain."""
    excluded = {"user", *words(" ".join(owner))}
    counts: Counter[str] = Counter()
    for memory in memories:
        counts.update([*dict.fromkeys(terms_of(memory.text))])
    shared = [
        word
        for word, number in counts.most_common()
        if number > 1 and 2 * number >= len(memories) and word not in excluded
    ]
    spelled = {
        fold(word): word
        for memory in memories
        for word in re.findall(r"\w+", memory.text)
    }
    return [spelled.get(word, word) for word in shared[:_TITLE_PARTS]]


def _attributes(memories: Sequence[Fact]) -> list[str]:
    """Return the first attributes of memories that have several."""
    found = [
        *dict.fromkeys(memory.attribute for memory in memories if memory.attribute)
    ]
    return found[:_TITLE_PARTS] if len(found) > 1 else []


_FEW = 2
"""The largest number of memories of a box that the name of one of them may title."""


def _leaf(tag: str) -> str:
    return tag.rpartition("/")[2] or tag


def _counted(memories: Sequence[Fact], box: Box, *, names: bool) -> list[str]:
    """Return the names or the tags of memories that are topics, most frequent first."""
    found = Counter(
        topic
        for memory in memories
        for topic in (memory.about if names else memory.tags)
        if normalise(topic) in box.topics
    )
    return [topic for topic, _ in found.most_common()]


def box_subjects(box: Box) -> tuple[str, ...]:
    """Return the topics of `box`, or the name of its conversation if it has none."""
    return box.topics or (normalise(box.session),)


def find_trace(box: Box, traces: Mapping[str, Trace], policy: BoxPolicy) -> str:
    """Return the id of the trace that a closed `box` joins, or of a new trace.

    (Rows `C32`, `E14`.) Only traces of the same persona within `trace_days` of the box
    count. The overlap is the best one with the latest `trace_boxes` boxes of a trace.
    All topics of a trace would not serve: their number only grows, so a long trace
    would stop matching.
    """
    own = box_subjects(box)
    best = (policy.trace_overlap, datetime.min.replace(tzinfo=UTC), "")
    for trace in traces.values():
        if trace.persona != box.persona or not _is_recent(trace, box, policy):
            continue
        likeness = max(
            (
                topic_overlap(own, known)
                for _, known in trace.boxes[-policy.trace_boxes :]
            ),
            default=0.0,
        )
        best = max(best, (likeness, trace.seen, trace.id))
    if best[2]:
        return best[2]
    known = traces.get(trace_id := new_trace_id(box))
    if known is None or _is_recent(known, box, policy):
        return trace_id
    return new_trace_id(box, f"{box.opened.astimezone(UTC):%Y-%m-%d}")


def _is_recent(trace: Trace, box: Box, policy: BoxPolicy) -> bool:
    """Return whether the last box of a trace is within `trace_days` of `box`."""
    window = timedelta(days=policy.trace_days)
    return box.opened - trace.seen <= window and trace.seen - box.last <= window


def new_trace_id(box: Box, day: str = "") -> str:
    """Return the id of the trace that begins with `box`.

    It is `trace-` and 8 hex digits of the SHA-256 of the sorted topics and the persona.
    If an older trace already has that id, the `day` of the box is hashed too.
    """
    seed = [*sorted(box_subjects(box)), *filter(None, [box.persona, day])]
    digest = sha256("\n".join(seed).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{TRACE_PREFIX}{digest[:8]}"


def add_to_trace(trace: Trace | None, trace_id: str, name: str, box: Box) -> Trace:
    """Return `trace`, or a new one, with the sealed `box` added as `name`.

    `name` begins with the date of the box; the boxes are sorted by date.
    """
    own = box_subjects(box)
    seen = box.sealed or box.last
    topic = box.title or own[0]
    trace = trace or Trace(trace_id, topic, seen, persona=box.persona)
    if any(known == name for known, _ in trace.boxes):
        return trace
    boxes = sorted([*trace.boxes, (name, own)], key=lambda item: item[0][:10])
    return replace(trace, seen=max(trace.seen, seen), boxes=tuple(boxes))


def _joined(box: Box, new: Box, fresh: tuple[str, ...], policy: BoxPolicy) -> Box:
    topics = dict.fromkeys((*box.topics, *(new.topics if fresh else ())))
    return replace(
        box,
        last=max(box.last, new.last),
        topics=tuple(topics)[: policy.topics],
        memories=(*box.memories, *fresh),
    )


def _closing_reason(box: Box, new: Box, policy: BoxPolicy) -> str:
    """Return the reason why `box` closes before the batch `new`, or ''.

    The topics of the batch count only if at least one of them is new.
    """
    brings_topics = box.topics and {*new.topics} - {*box.topics}
    if brings_topics and topic_overlap(box.topics, new.topics) < policy.overlap:
        return "topic_shift"
    silence = new.opened - box.last
    return "time_gap" if silence >= timedelta(minutes=policy.gap_minutes) else ""
