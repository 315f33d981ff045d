"""The profile of the user and the standing instructions for the assistant (rows C15,
C19).

Both have a line for each memory. When one gets too long a model shortens it; without a
model the profile leaves out the least important lines, and the other stops growing.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

from engram.core.categories import category_of
from engram.core.entities import is_owner
from engram.core.records import BlockEdit, Line
from engram.core.text import normalise
from engram.maintenance.passes.generated_text import (
    GeneratedText,
    by_weight,
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
    from engram.maintenance.passes import MemoryState, PassView, Step

PROFILE, IDENTITY = "profile.md", "IDENTITY.md"

_LINK_CHARS = 8


def profile(view: PassView, now: datetime) -> list[Step]:
    """`profile.md`: what lasts of the user, a line each, at most 300; beyond that about
    50 in a model's words (`C15`).

    What says nothing more than another line is left out, and whatever comes from
    outside (`X27`).
    """
    page, texts = view.page(PROFILE), GeneratedText(view, now)
    if page is not None and page.keys.get("kind") != "profile":
        return []  # a person's own note of that name
    limit = view.policy.portraits.profile_lines - len(
        page.own.split("\n") if page else ()
    )
    memories = _about_user(view, now, "profile")
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
            [*_statements(view, short, memories, lines)],
            memories,
        )
        if rewritten:
            short, lines = rewritten, []
        else:
            kept = {
                link_name(one.fact)
                for one in sorted(fresh, key=by_weight)[: max(0, limit - len(short))]
            }
            lines = [one for one in lines if kept.issuperset(one.sources)]
    change = BlockEdit(
        PROFILE,
        "what lasts of the user",
        {"kind": "profile"},
        {"portrait": short, "profile": tuple(lines)},
    )
    if short or lines or page:
        texts.show(change, page)
    return texts.finish()


def identity(view: PassView, now: datetime) -> list[Step]:
    """`IDENTITY.md`: how the user wants the assistant to be, below whatever a person
    wrote there (`C19`).

    From 8,000 characters on a model makes a dated list of patterns of it; at 15,000
    bytes nothing is added.
    """
    policy, page, texts = (
        view.policy.portraits,
        view.page(IDENTITY),
        GeneratedText(view, now),
    )
    memories = _about_user(view, now, "identity")
    short, fresh = _covered(texts, page, IDENTITY, "patterns", memories)
    lines = [
        Line(
            f"{local_date(view, one.fact.created)}: {line_of(view, one.fact).text}",
            (link_name(one.fact),),
        )
        for one in fresh
    ]
    own = page.own if page else ""
    if lines and len(own) + sum(map(_chars, [*short, *lines])) >= policy.identity_chars:
        statements = _statements(
            view, short, memories, [line_of(view, one.fact) for one in fresh]
        )
        rewritten = _shortened(
            texts, IDENTITY, "patterns", "patterns", statements, memories
        )
        if rewritten:
            short, lines = (
                (
                    Line(
                        f"Learned up to {local_date(view, memories[-1].fact.created)}"
                    ),
                    *rewritten,
                ),
                [],
            )
    room = policy.identity_bytes - len(own.encode()) - sum(map(_bytes, short))
    kept: list[Line] = []
    for one in lines:
        room -= _bytes(one)
        if room < 0:
            break
        kept.append(one)
    if short or kept or (page and page.blocks):
        texts.show(
            BlockEdit(
                IDENTITY,
                "what the user asked for",
                blocks={"patterns": short, "reflections": tuple(kept)},
            ),
            page,
        )
    return texts.finish()


def _about_user(view: PassView, now: datetime, page: str) -> list[MemoryState]:
    """What lasts about the user, said by themselves or in a conversation with them,
    oldest first; of the categories that `page` lists.
    """
    owner = cache(is_owner)
    return [
        one
        for one in public_memories(view, now)
        if one.fact.kind == "note"
        and category_of(one.fact.category).page == page
        and all(map(owner, one.fact.about))
        and not view.reader.outside(one.fact)
    ]


def _covered(
    texts: GeneratedText,
    page: Page | None,
    path: str,
    block: str,
    memories: Sequence[MemoryState],
) -> tuple[tuple[Line, ...], list[MemoryState]]:
    """The lines in a model's words that still rest on something, and the memories that
    they do not cover.
    """
    row = texts.known.get(f"{path}#{block}", {})
    held = [one for one in (page.blocks.get(block, ()) if page else ()) if one.sources]
    # it is not what was put down then
    if not held or not {_digest(one) for one in held} <= set(row.get("lines", ())):
        return (), list(memories)
    alive = {link_name(one.fact) for one in memories}
    short = (
        tuple(one for one in page.blocks[block] if alive.issuperset(one.sources))
        if page
        else ()
    )
    return short, [
        one for one in memories if link_name(one.fact) not in row.get("sources", ())
    ]


def _statements(
    view: PassView,
    short: Sequence[Line],
    memories: Sequence[MemoryState],
    lines: Sequence[Line],
) -> list[tuple[str, Line]]:
    """What is to be put into fewer words, each with its date."""
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
    """The statements in a model's words; () where there is no answer. What they cover
    is kept.

    Once in a run: a model that does not make it shorter is not asked to until the next.
    """
    if texts.known.get(f"{path}#{block}", {}).get("at") == texts.now.isoformat():
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
    """The lines without those that another one holds: equal, or most of it; the longer
    stays, of equals the first.
    """
    kept: set[Line] = set()
    by_word: defaultdict[str, list[str]] = defaultdict(list)
    plain = {one: normalise(one.text) for one in lines}
    for one in sorted(lines, key=lambda one: -len(plain[one])):
        text = plain[one]
        held = text.split()
        # whatever holds it holds its rarest word
        near = min((by_word[word] for word in held), key=len, default=[])
        if not any(_covers(known, text, policy) for known in near):
            kept.add(one)
            for word in set(held):
                by_word[word].append(text)
    return [one for one in lines if one in kept]


def _covers(known: str, text: str, policy: ProfilePolicy) -> bool:
    part = len(text) > policy.covered_chars and len(text) > policy.covered_share * len(
        known
    )
    return text == known or (part and f" {text} " in f" {known} ")


def _digest(one: Line) -> str:
    """What tells a line from others."""
    return hashlib.sha256("\n".join((one.text, *one.sources)).encode()).hexdigest()[:8]


def _chars(one: Line) -> int:
    return len(one.text) + sum(len(name) + _LINK_CHARS for name in one.sources) + 3


def _bytes(one: Line) -> int:
    return (
        len(one.text.encode())
        + sum(len(name.encode()) + _LINK_CHARS for name in one.sources)
        + 3
    )
