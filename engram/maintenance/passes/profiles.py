"""The profile of the user, and the standing instructions for the assistant.

(Rows C15, C19.) Both have a line for each memory. When one becomes too long, a model
shortens it; without a model the profile leaves out the least important lines, and the
instructions stop growing.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from engram.core.categories import category_of
from engram.core.language.wishes import is_standing_wish
from engram.core.records import BlockEdit, Line
from engram.core.text import normalise
from engram.core.user_facts import SHARES, WISH
from engram.maintenance.passes.generated_text import (
    GeneratedText,
    attributes,
    by_weight,
    is_about_owner,
    line_of,
    link_name,
    local_date,
    public_memories,
    question_of,
    sentences,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.core.policy import ProfilePolicy
    from engram.core.records import Page
    from engram.maintenance.passes.view import MemoryState, PassView, Step

PROFILE, IDENTITY = "profile.md", "IDENTITY.md"

_LINK_CHARS = 8
_READ = 5
"""How often the lines of the profile are given to a model to shorten them."""


def profile(view: PassView, now: datetime) -> list[Step]:
    """Write `profile.md`: lasting memories about the user, one for each line (`C15`).

    Most important first, at most 60 lines; beyond that a model shortens them. Repeated
    lines are left out of the profile; the memories remain.
    """
    page, texts = view.page(PROFILE), GeneratedText(view, now)
    if page is not None and page.keys.get("kind") != "profile":
        return []  # a user's own note of that name
    limit = view.policy.portraits.profile_lines - len(
        page.own.split("\n") if page else ()
    )
    memories = _of_profile(view, now)
    short, fresh = _covered(texts, page, PROFILE, "portrait", memories)
    lines = _without_repeats(
        [line_of(view, one.fact) for one in fresh], view.policy.portraits
    )
    if len(short) + len(lines) > limit:
        rewritten = _shortened(
            texts,
            PROFILE,
            "portrait",
            "profile",
            _statements(view, short, memories, lines[: _READ * limit]),
            memories,
        )
        if rewritten:
            short, fresh = rewritten, _not_carried(memories, rewritten)
        kept = {link_name(one.fact) for one in fresh[: max(0, limit - len(short))]}
        lines = [one for one in lines if kept.issuperset(one.sources)]
    change = BlockEdit(
        PROFILE,
        "lasting memories about the user",
        {"kind": "profile"},
        {"portrait": short, "profile": tuple(lines)},
        title="About the user",
    )
    if short or lines or page:
        texts.show(change, page)
    return texts.finish()


def identity(view: PassView, now: datetime) -> list[Step]:
    """Write the standing instructions of the user to `IDENTITY.md` (`C19`).

    They are below the text of a user. From 8,000 characters on a model shortens them to
    a dated list of patterns; beyond 15,000 bytes nothing is added.
    """
    policy = view.policy.portraits
    page, texts = view.page(IDENTITY), GeneratedText(view, now)
    memories = _wishes(view, now)
    short, fresh = _covered(texts, page, IDENTITY, "patterns", memories)
    lines = [_dated_line(view, one) for one in fresh]
    own = page.own if page else ""
    if lines and len(own) + sum(map(_chars, [*short, *lines])) >= policy.identity_chars:
        statements = _statements(
            view, short, memories, [line_of(view, one.fact) for one in fresh]
        )
        rewritten = _shortened(
            texts, IDENTITY, "patterns", "patterns", statements, memories
        )
        if rewritten:
            learned = f"Learned up to {local_date(view, memories[-1].fact.created)}"
            short = (Line(learned), *rewritten)
            fresh = _not_carried(memories, rewritten)
            lines = [_dated_line(view, one) for one in fresh]
    room = policy.identity_bytes - len(own.encode()) - sum(map(_bytes, short))
    blocks = {"patterns": short, "reflections": _lines_within(lines, room)}
    if any(blocks.values()) or (page and page.blocks):
        why, title = "standing wishes of the user", "Standing instructions"
        change = BlockEdit(IDENTITY, why, blocks=blocks, title=title)
        texts.show(change, page)
    return texts.finish()


def _dated_line(view: PassView, one: MemoryState) -> Line:
    text = f"{local_date(view, one.fact.created)}: {line_of(view, one.fact).text}"
    return Line(text, (link_name(one.fact),))


def _lines_within(lines: Sequence[Line], room: int) -> tuple[Line, ...]:
    """Return the first lines that take at most `room` bytes in a note."""
    kept: list[Line] = []
    for one in lines:
        room -= _bytes(one)
        if room < 0:
            break
        kept.append(one)
    return tuple(kept)


def _of_profile(view: PassView, now: datetime) -> list[MemoryState]:
    """Return the lasting memories about the user that hold now, best first (`C15`).

    Standing wishes to the assistant are left out.
    """
    attribute_of = attributes(view)
    ranks = {name: rank for rank, name in enumerate(SHARES)}
    ordered = []
    for one in _about_user(view, now):
        category = category_of(one.fact.category)
        if not category.profile:
            continue
        attribute = attribute_of(one.fact)
        if attribute == WISH or (category.corrects and not attribute):
            continue
        rank = ranks.get(attribute, len(ranks))
        ordered.append(((not one.fact.pinned, rank, *by_weight(one)), one))
    return [one for _, one in sorted(ordered, key=lambda pair: pair[0])]


def _wishes(view: PassView, now: datetime) -> list[MemoryState]:
    """Return the standing wishes to the assistant that hold now, oldest first (`C19`).

    Only those of the user count (`X27`).
    """
    return [
        one
        for one in _about_user(view, now)
        if is_standing_wish(one.fact.text) and view.reader.said_by(one.fact) == "user"
    ]


def _about_user(view: PassView, now: datetime) -> list[MemoryState]:
    return [
        one
        for one in public_memories(view, now)
        if one.fact.kind == "note"
        and not category_of(one.fact.category).promise
        and is_about_owner(view, one.fact)
    ]


def _covered(
    texts: GeneratedText,
    page: Page | None,
    path: str,
    block: str,
    memories: Sequence[MemoryState],
) -> tuple[tuple[Line, ...], list[MemoryState]]:
    """Return the valid lines of a model in a block, and the memories not in them.

    A line is valid while all its sources are active. A block that was edited has no
    valid lines.
    """
    row = texts.known.get(f"{path}#{block}", {})
    lines = page.blocks.get(block, ()) if page else ()
    digests = {_digest(one) for one in lines if one.sources}
    if not digests or not digests <= set(row.get("lines", ())):
        return (), list(memories)
    active = {link_name(one.fact) for one in memories}
    short = tuple(one for one in lines if active.issuperset(one.sources))
    return short, _not_carried(memories, short)


def _not_carried(
    memories: Sequence[MemoryState], lines: Sequence[Line]
) -> list[MemoryState]:
    carried = {name for one in lines for name in one.sources}
    return [one for one in memories if link_name(one.fact) not in carried]


def _statements(
    view: PassView,
    short: Sequence[Line],
    memories: Sequence[MemoryState],
    lines: Sequence[Line],
) -> list[tuple[str, Line]]:
    """Return the lines to shorten, each with the date of its latest source."""
    dates = {
        link_name(one.fact): local_date(view, one.fact.created) for one in memories
    }
    return [
        (max((dates.get(name, "") for name in one.sources), default=""), one)
        for one in (*short, *lines)
        if one.sources
    ]


def _shortened(
    texts: GeneratedText,
    path: str,
    block: str,
    task: str,
    statements: Sequence[tuple[str, Line]],
    memories: Sequence[MemoryState],
) -> tuple[Line, ...]:
    """Return the statements as shortened by a model; () if there is no answer.

    The material is recorded. A model is asked once in a run, and again only with new
    material.
    """
    row = texts.known.get(f"{path}#{block}", {})
    seen = set(row.get("sources", ()))
    rewritten = any(_digest(one) in row.get("lines", ()) for _, one in statements)
    if row.get("at") == texts.now.isoformat() or (
        rewritten and seen.issuperset(link_name(one.fact) for one in memories)
    ):
        return ()
    facts: list[dict[str, Any]] = [
        {"n": n, "date": date, "text": one.text}
        for n, (date, one) in enumerate(statements, 1)
    ]
    ask = question_of(task, {"facts": facts}, f"{path} is too long")
    answer = texts.view.answers.get(ask.key)
    if answer is None:
        texts.steps.append(ask)
        return ()
    lines = sentences(answer, [one.sources for _, one in statements])
    if lines:
        texts.known[f"{path}#{block}"] = {
            "at": texts.now.isoformat(),
            "lines": sorted(map(_digest, lines)),
            "sources": sorted(link_name(one.fact) for one in memories),
        }
    return lines


def _without_repeats(lines: Sequence[Line], policy: ProfilePolicy) -> list[Line]:
    """Return the lines that no other one contains; the first of equal lines remains."""
    kept: set[Line] = set()
    by_word: defaultdict[str, list[str]] = defaultdict(list)
    plain = {one: normalise(one.text) for one in lines}
    for one in sorted(lines, key=lambda one: -len(plain[one])):
        text = plain[one]
        parts = text.split()
        # a line that contains this one contains its rarest word
        candidates = min((by_word[word] for word in parts), key=len, default=[])
        if not any(_covers(known, text, policy) for known in candidates):
            kept.add(one)
            for word in set(parts):
                by_word[word].append(text)
    return [one for one in lines if one in kept]


def _covers(known: str, text: str, policy: ProfilePolicy) -> bool:
    """Return whether a line is equal to a text, or contains most of its words."""
    if text == known:
        return True
    least = max(policy.covered_chars, policy.covered_share * len(known))
    return len(text) > least and f" {text} " in f" {known} "


def _digest(one: Line) -> str:
    """Return a digest of a line and its sources (8 hex digits)."""
    return hashlib.sha256("\n".join((one.text, *one.sources)).encode()).hexdigest()[:8]


def _chars(one: Line) -> int:
    return len(one.text) + sum(len(name) + _LINK_CHARS for name in one.sources) + 3


def _bytes(one: Line) -> int:
    links = sum(len(name.encode()) + _LINK_CHARS for name in one.sources)
    return len(one.text.encode()) + links + 3
