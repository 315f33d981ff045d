"""Storylines and macros: what happened to an entity over days, and over months (row B1).

A storyline covers an entity, its anchor, from one long silence to the next. An anchor
may have several, and a macro lists them.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from engram.core.records import BlockEdit, Line
from engram.core.text import slug
from engram.maintenance.passes.generated_text import (
    GeneratedText,
    line_of,
    link_name,
    local_date,
    memories_by_entity,
    numbered,
    question_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from engram.core.policy import ProfilePolicy
    from engram.core.records import Entity
    from engram.maintenance.passes import MemoryState, PassView, Step

SUFFIX = "-story.md"
_SLUG_BYTES = 60


def storylines(view: PassView, now: datetime) -> list[Step]:
    """A note for each stretch in which an anchor that somebody asked about came up
    again and again (`B1`).

    5 conversations on 3 days, more than 3 days apart, no silence over 30 days; 100 of
    them at most. It lists the 10 latest memories and tells them in a model's two or
    three sentences. When too few of them are left, for they were put away, what was
    told stays: it is how it was.
    """
    policy, telling = view.policy.portraits, GeneratedText(view, now)
    there = _existing(view)
    room = policy.stories - sum(len(known) for known in there.values())
    asks = policy.entities - telling.made_now("story")
    for path, memories in memories_by_entity(view, now).items():
        if not any(one.usage.access for one in memories):
            continue
        entity = view.entities[path]
        told_before = dict(there.get(entity.name, {}))
        for some in _stretches(memories, policy):
            if not _is_story(view, some):
                continue
            known = _covering(view, told_before, some)
            span = told_before.pop(known) if known else None  # a note tells one stretch
            room -= known is None
            if known is None and room < 0:
                continue
            change, facts = _storyline(view, entity, some, known, span)
            latest = [one.fact for one in facts]
            telling.show(change, view.page(change.path))
            material = {"name": entity.name, "facts": numbered(view, latest)}
            if asks > 0:
                ask = question_of(
                    "story", material, f"{entity.name} came up again and again"
                )
                told = BlockEdit(change.path, f"told from {len(latest)} memories")
                asks -= telling.tell(
                    told, "story", ask, [(link_name(fact),) for fact in latest]
                )
    return telling.done()


def macros(view: PassView, now: datetime) -> list[Step]:
    """A note for each anchor with 2 storylines or more over 30 days or more, told in
    two to four sentences (`B1`).
    """
    policy, telling = view.policy.portraits, GeneratedText(view, now)
    asks = policy.entities - telling.made_now("story")
    for name, known in sorted(_existing(view).items()):
        spans = sorted((*span, path) for path, span in known.items())
        if (
            len(spans) < policy.macro_stories
            or _days(spans[0][0], spans[-1][1]) < policy.macro_days
        ):
            continue
        path = f"macros/{slug(name, _SLUG_BYTES)}-macro.md"
        lines = tuple(
            Line(f"{opened} to {seen}", (_stem(story),))
            for opened, seen, story in spans
        )
        keys = {
            "kind": "macro",
            "anchor": f"[[{name}]]",
            "opened": spans[0][0],
            "seen": spans[-1][1],
        }
        page = view.page(path)
        if page is not None and page.keys.get("kind") != "macro":
            continue
        telling.show(
            BlockEdit(
                path, f"{len(spans)} storylines", keys, {"stories": lines}, title=name
            ),
            page,
        )
        told = [
            (seen, _page_text(view, story), _stem(story)) for _, seen, story in spans
        ]
        facts = [
            {"n": n, "date": seen, "text": text}
            for n, (seen, text, _) in enumerate(told, 1)
        ]
        if asks > 0 and all(text for _, text, _ in told):
            ask = question_of(
                "macro",
                {"name": name, "facts": facts},
                f"{name} has {len(spans)} storylines",
            )
            change = BlockEdit(path, f"told from {len(spans)} storylines")
            asks -= telling.tell(change, "story", ask, [(name,) for _, _, name in told])
    return telling.done()


def _existing(view: PassView) -> dict[str, dict[str, tuple[str, str]]]:
    """The storylines that have a note: by anchor their paths, with the first and the
    last day.
    """
    found: defaultdict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for path in view.pages("traces"):
        page = view.page(path) if path.endswith(SUFFIX) else None
        if page and page.keys.get("kind") == "storyline":
            anchor, opened, seen = (
                str(page.keys.get(name) or "") for name in ("anchor", "opened", "seen")
            )
            found[anchor.removeprefix("[[").partition("]]")[0]][path] = (
                opened[:10],
                seen[:10],
            )
    return dict(found)


def _stretches(
    memories: Sequence[MemoryState], policy: ProfilePolicy
) -> list[list[MemoryState]]:
    """The memories from one long silence to the next."""
    dated = sorted(
        (one for one in memories if one.fact.created),
        key=lambda one: (one.fact.created, one.fact.id),
    )
    found: list[list[MemoryState]] = [dated[:1]] if dated else []
    for one, then in pairwise(dated):
        if (
            one.fact.created
            and then.fact.created
            and then.fact.created - one.fact.created
            > timedelta(days=policy.story_gap_days)
        ):
            found.append([])
        found[-1].append(then)
    return found


def _is_story(view: PassView, some: Sequence[MemoryState]) -> bool:
    """Whether there is enough to tell of."""
    policy = view.policy.portraits
    days = {local_date(view, one.fact.created) for one in some}
    sources = {one.fact.source.partition("#")[0] or one.fact.id for one in some}
    enough = len(sources) >= policy.story_sources and len(days) >= policy.story_days
    return enough and _days(min(days), max(days)) > policy.story_span_days


def _covering(
    view: PassView, there: Mapping[str, tuple[str, str]], some: Sequence[MemoryState]
) -> str | None:
    """The path of the storyline that covers these days."""
    first, last = (
        local_date(view, some[0].fact.created),
        local_date(view, some[-1].fact.created),
    )
    return next(
        (
            path
            for path, (opened, seen) in sorted(there.items())
            if opened <= last and first <= seen
        ),
        None,
    )


def _storyline(
    view: PassView,
    entity: Entity,
    some: Sequence[MemoryState],
    known: str | None,
    span: tuple[str, str] | None,
) -> tuple[BlockEdit, list[MemoryState]]:
    first, last = some[0].fact.created, some[-1].fact.created
    opened = min(local_date(view, first), span[0]) if span else local_date(view, first)
    path = (
        known
        or f"traces/{slug(entity.name, _SLUG_BYTES)}-{local_date(view, first)}{SUFFIX}"
    )
    latest = list(some[-view.policy.portraits.together :])
    moments = tuple(
        Line(
            f"{local_date(view, one.fact.created)}: {line_of(view, one.fact).text}",
            (link_name(one.fact),),
        )
        for one in latest
    )
    keys = {
        "kind": "storyline",
        "anchor": f"[[{entity.name}]]",
        "opened": opened,
        "seen": local_date(view, last),
    }
    title = (
        f"{entity.name}, {first.astimezone(view.zone):%B %Y}" if first else entity.name
    )
    return BlockEdit(
        path, f"{len(some)} memories", keys, {"moments": moments}, title=title
    ), latest


def _page_text(view: PassView, path: str) -> str:
    page = view.page(path)
    lines = (
        (page.blocks.get("story") or page.blocks.get("moments") or ()) if page else ()
    )
    return " ".join(one.text for one in lines)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


def _days(first: str, last: str) -> int:
    return (date.fromisoformat(last) - date.fromisoformat(first)).days
