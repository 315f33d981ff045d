"""Storylines and macros: the events of an entity over days and over months (row B1).

A storyline covers an entity, its anchor, from one long gap to the next. An anchor may
have several storylines, and a macro lists them.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from engram.core.records import BlockEdit, Entity, Fact, Line
from engram.core.text import note_name, slug
from engram.maintenance.passes.generated_text import (
    GeneratedText,
    line_of,
    local_date,
    memories_by_entity,
)
from engram.maintenance.passes.view import MemoryState, ModelQuestion, PassView, Step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.core.policy import ProfilePolicy

SUFFIX = "-story.md"
_SLUG_BYTES = 60


def storylines(view: PassView, now: datetime) -> list[Step]:
    """Write a note for each period with many mentions of a recalled entity (`B1`).

    That is 5 conversations on 3 days over more than 3 days, without a gap of over 30
    days. There are at most 100 such notes. A note lists the 10 latest memories, and a
    model retells them in two or three sentences. A note does not change if too few of
    its memories are active.
    """
    policy, texts = view.policy.profiles, GeneratedText(view, now)
    existing = _existing(view)
    room = policy.stories - sum(len(spans) for spans in existing.values())
    asks = policy.entities - texts.made_now("story")
    for path, memories in memories_by_entity(view, now).items():
        if not any(one.usage.access for one in memories):
            continue
        entity = view.entities[path]
        free = dict(existing.get(entity.name, {}))
        for period in _periods(memories, policy):
            if not _is_story(view, period):
                continue
            known = _covering(view, free, period)
            span = free.pop(known) if known else None  # a note covers one period
            room -= known is None
            if known is None and room < 0:
                continue
            change, latest = _storyline(view, entity, period, known, span)
            texts.show(change, view.page(change.path))
            if asks > 0:
                about = {"name": entity.name}
                asks -= texts.tell(change.path, "story", "story", latest, about)
    return texts.finish()


def macros(view: PassView, now: datetime) -> list[Step]:
    """Write a note for each entity with 2 storylines or more over 30 days or more.

    It lists the storylines, and a model retells them in two to four sentences (`B1`).
    """
    policy, texts = view.policy.profiles, GeneratedText(view, now)
    asks = policy.entities - texts.made_now("story")
    for name, known in sorted(_existing(view).items()):
        spans = sorted((*span, path) for path, span in known.items())
        opened, seen = spans[0][0], spans[-1][1]
        if len(spans) < policy.macro_stories or _days(opened, seen) < policy.macro_days:
            continue
        path = f"macros/{slug(name, _SLUG_BYTES)}-macro.md"
        page = view.page(path)
        if page is not None and page.keys.get("kind") != "macro":
            continue
        lines = tuple(
            Line(f"{first} to {last}", (note_name(story),))
            for first, last, story in spans
        )
        keys = {
            "kind": "macro",
            "anchor": f"[[{name}]]",
            "opened": opened,
            "seen": seen,
        }
        blocks = {"stories": lines}
        why = f"{len(spans)} storylines"
        texts.show(BlockEdit(path, why, keys, blocks, title=name), page)
        if asks > 0:
            asks -= _tell_macro(texts, name, path, spans)
    return texts.finish()


def _tell_macro(
    texts: GeneratedText, name: str, path: str, spans: Sequence[tuple[str, str, str]]
) -> bool:
    """Generate the sentences of a macro; return False if nothing is to be done.

    A span is the first day, the last day, and the path of a storyline. A macro waits
    until each storyline has text.
    """
    rows = [
        {"n": n, "date": seen, "text": _page_text(texts.view, story)}
        for n, (_, seen, story) in enumerate(spans, 1)
    ]
    if not all(row["text"] for row in rows):
        return False
    material = {"name": name, "facts": rows}
    ask = ModelQuestion.about("macro", material, f"{name} has {len(spans)} storylines")
    change = BlockEdit(path, f"generated from {len(spans)} storylines")
    sources = [(note_name(story),) for _, _, story in spans]
    return texts.generate(change, "story", ask, sources)


def _existing(view: PassView) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the first and last day of each storyline, by its entity and path."""
    spans: defaultdict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for path in view.pages("traces"):
        page = view.page(path) if path.endswith(SUFFIX) else None
        if page and page.keys.get("kind") == "storyline":
            anchor, opened, seen = (
                str(page.keys.get(name) or "") for name in ("anchor", "opened", "seen")
            )
            name = anchor.removeprefix("[[").partition("]]")[0]
            spans[name][path] = (opened[:10], seen[:10])
    return dict(spans)


def _periods(
    memories: Sequence[MemoryState], policy: ProfilePolicy
) -> list[list[MemoryState]]:
    """Split memories in chronological order at each long gap."""
    dated = [(one.fact.created, one) for one in memories if one.fact.created]
    dated.sort(key=lambda item: (item[0], item[1].fact.id))
    silence = timedelta(days=policy.story_gap_days)
    periods: list[list[MemoryState]] = []
    before: datetime | None = None
    for when, one in dated:
        if before is None or when - before > silence:
            periods.append([])
        periods[-1].append(one)
        before = when
    return periods


def _is_story(view: PassView, period: Sequence[MemoryState]) -> bool:
    policy = view.policy.profiles
    days = {local_date(view, one.fact.created) for one in period}
    sources = {one.fact.source.partition("#")[0] or one.fact.id for one in period}
    enough = len(sources) >= policy.story_sources and len(days) >= policy.story_days
    return enough and _days(min(days), max(days)) > policy.story_span_days


def _covering(
    view: PassView,
    spans: Mapping[str, tuple[str, str]],
    period: Sequence[MemoryState],
) -> str | None:
    """Return the path of the first storyline that overlaps a period, or None."""
    first = local_date(view, period[0].fact.created)
    last = local_date(view, period[-1].fact.created)
    for path, (opened, seen) in sorted(spans.items()):
        if opened <= last and first <= seen:
            return path
    return None


def _storyline(
    view: PassView,
    entity: Entity,
    period: Sequence[MemoryState],
    known: str | None,
    span: tuple[str, str] | None,
) -> tuple[BlockEdit, list[Fact]]:
    """Return the edit of a storyline's note, and the latest memories that it lists.

    `known` is the path of the note and `span` its first and last day, if it exists.
    """
    first, last = period[0].fact.created, period[-1].fact.created
    begin = local_date(view, first)
    path = known or f"traces/{slug(entity.name, _SLUG_BYTES)}-{begin}{SUFFIX}"
    latest = [one.fact for one in period[-view.policy.profiles.together :]]
    moments = tuple(
        Line(
            f"{local_date(view, fact.created)}: {line_of(view, fact).text}",
            (note_name(fact.path),),
        )
        for fact in latest
    )
    keys = {
        "kind": "storyline",
        "anchor": f"[[{entity.name}]]",
        "opened": min(begin, span[0]) if span else begin,
        "seen": local_date(view, last),
    }
    title = entity.name
    if first:
        title += f", {first.astimezone(view.zone):%B %Y}"
    blocks = {"moments": moments}
    why = f"{len(period)} memories"
    return BlockEdit(path, why, keys, blocks, title=title), latest


def _page_text(view: PassView, path: str) -> str:
    """Return the sentences of a storyline, or else its memories; '' without a note."""
    page = view.page(path)
    if page is None:
        return ""
    lines = page.blocks.get("story") or page.blocks.get("moments") or ()
    return " ".join(one.text for one in lines)


def _days(first: str, last: str) -> int:
    return (date.fromisoformat(last) - date.fromisoformat(first)).days
