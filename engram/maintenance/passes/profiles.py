"""The profile of the user, and the standing instructions for the assistant.

(Rows C15, C19, X31.) The profile is a table of slots: attribute, value, and since when;
a memory without a slot is a line below it. The instructions have a line for each
memory; when they become too long, a model shortens them, and without a model they stop
growing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.core import trust
from engram.core.attributes import attribute
from engram.core.categories import category_of
from engram.core.language.states import USER, of_owner
from engram.core.language.wishes import is_standing_wish
from engram.core.records import BlockEdit, Fact, Line
from engram.core.text import normalise, note_name
from engram.core.user_facts import SHARES, WISH, slots_of
from engram.maintenance.passes.generated_text import (
    GeneratedText,
    attributes,
    by_weight,
    is_about_owner,
    line_of,
    local_date,
    name_words,
    public_memories,
    sentences,
)
from engram.maintenance.passes.view import MemoryState, ModelQuestion, PassView, Step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

PROFILE, IDENTITY = "profile.md", "IDENTITY.md"

_LINK_CHARS = 8
_PATTERNS = f"{IDENTITY}#patterns"


def profile(view: PassView, now: datetime) -> list[Step]:
    """Write `profile.md`: lasting memories about the user, at most 60 lines (`C15`).

    The most important ones are kept. A row gives an attribute, its value and the day
    since when; what gives no value is a line. Of equal lines the first counts, of equal
    rows the latest, and of an attribute that a later value replaces the latest value.
    """
    page, texts = view.page(PROFILE), GeneratedText(view, now)
    if page is not None and page.keys.get("kind") != "profile":
        return []  # a user's own note of that name
    room = view.policy.profiles.profile_lines - len(
        page.own.split("\n") if page else ()
    )
    memories = _of_profile(view, now)
    shown = _profile_lines(view, memories, room, now)
    blocks = {
        name: tuple(line for (block, _), line in shown.items() if block == name)
        for name in ("slots", "profile")
    }
    change = BlockEdit(
        PROFILE,
        "lasting memories about the user",
        {"kind": "profile"},
        blocks,
        title="About the user",
    )
    if shown or page:
        texts.show(change, page)
    return texts.finish()


def _profile_lines(
    view: PassView, memories: Sequence[MemoryState], room: int, now: datetime
) -> dict[tuple[str, str], Line]:
    """Return up to `room` lines of memories, by their block and what they state."""
    rows = {one.fact.id: _rows(view, one.fact) for one in memories}
    by_date = sorted(memories, key=lambda one: _since(one.fact) or now)
    latest = {key: one.fact.id for one in by_date for key in rows[one.fact.id]}
    shown: dict[tuple[str, str], Line] = {}
    for one in memories:
        sentence = "profile", normalise(one.fact.text)
        given = rows[one.fact.id] or {sentence: line_of(view, one.fact)}
        for key, line in given.items():
            if len(shown) < room and latest.get(key, one.fact.id) == one.fact.id:
                shown.setdefault(key, line)
    return shown


def _rows(view: PassView, fact: Fact) -> dict[tuple[str, str], Line]:
    """Return the rows of a memory in the table of slots (`X31`), by what they state.

    The attribute of a relative, pet or thing of the user is preceded by its word.
    """
    since = local_date(view, _since(fact))
    rows: dict[tuple[str, str], Line] = {}
    for slot in slots_of(fact) if view.reader.slots(fact) else ():
        subject = of_owner(slot.subject, name_words(view))
        if slot.over or not slot.written or subject[:1] != (USER,):
            continue
        name = " ".join((*subject[1:], slot.attribute))
        value = trust.with_source_label(slot.written, view.reader.said_by(fact))
        text = " | ".join(cell.replace("|", "/") for cell in (name, value, since))
        stated = name if attribute(slot.attribute).replaced else f"{name} {value}"
        rows["slots", normalise(stated)] = Line(text, (note_name(fact.path),))
    return rows


def _since(fact: Fact) -> datetime | None:
    return fact.valid_from or fact.created


def identity(view: PassView, now: datetime) -> list[Step]:
    """Write the standing instructions of the user to `IDENTITY.md` (`C19`).

    They are below the text of a user. From 8,000 characters on a model shortens them to
    a dated list of patterns; beyond 15,000 bytes nothing is added. A pattern is valid
    while all its sources are active.
    """
    policy = view.policy.profiles
    page, texts = view.page(IDENTITY), GeneratedText(view, now)
    wishes = {note_name(one.fact.path): one.fact for one in _wishes(view, now)}
    had = page.blocks.get("patterns", ()) if page else ()
    short = [one for one in had if one.sources and wishes.keys() >= set(one.sources)]
    lines = _dated_lines(view, wishes, short)
    own = page.own if page else ""
    is_long = len(own) + sum(map(_chars, [*short, *lines])) >= policy.identity_chars
    if lines and is_long:
        short = _shortened(texts, wishes, short) or short
        lines = _dated_lines(view, wishes, short)
    if short:
        last = max(
            local_date(view, wishes[n].created) for one in short for n in one.sources
        )
        short.insert(0, Line(f"Learned up to {last}"))
    room = policy.identity_bytes - len(own.encode()) - sum(map(_bytes, short))
    blocks = {"patterns": tuple(short), "reflections": _lines_within(lines, room)}
    if any(blocks.values()) or (page and page.blocks):
        why, title = "standing wishes of the user", "Standing instructions"
        change = BlockEdit(IDENTITY, why, blocks=blocks, title=title)
        texts.show(change, page)
    return texts.finish()


def _fresh(wishes: Mapping[str, Fact], short: Sequence[Line]) -> list[Fact]:
    """Return the wishes on which no pattern rests."""
    carried = {name for one in short for name in one.sources}
    return [fact for name, fact in wishes.items() if name not in carried]


def _dated_lines(
    view: PassView, wishes: Mapping[str, Fact], short: Sequence[Line]
) -> list[Line]:
    """Return a line with its date for each wish on which no pattern rests."""
    return [
        Line(
            f"{local_date(view, fact.created)}: {line_of(view, fact).text}",
            (note_name(fact.path),),
        )
        for fact in _fresh(wishes, short)
    ]


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

    What gives an attribute of the user counts whatever it links to, such as the name of
    a sister. Standing wishes to the assistant are left out.
    """
    attribute_of = attributes(view)
    ranks = {name: rank for rank, name in enumerate(SHARES)}
    ordered = []
    for one in _lasting(view, now):
        category, name = category_of(one.fact.category), attribute_of(one.fact)
        if name == WISH or not category.profile:
            continue
        if not name and (category.corrects or not is_about_owner(view, one.fact)):
            continue
        rank = ranks.get(name, len(ranks))
        ordered.append(((not one.fact.pinned, rank, *by_weight(one)), one))
    return [one for _, one in sorted(ordered, key=lambda pair: pair[0])]


def _wishes(view: PassView, now: datetime) -> list[MemoryState]:
    """Return the standing wishes to the assistant that hold now, oldest first (`C19`).

    Only those of the user count (`X27`).
    """
    return [
        one
        for one in _lasting(view, now)
        if is_about_owner(view, one.fact)
        and is_standing_wish(one.fact.text)
        and view.reader.said_by(one.fact) == "user"
    ]


def _lasting(view: PassView, now: datetime) -> list[MemoryState]:
    return [
        one
        for one in public_memories(view, now)
        if one.fact.kind == "note" and not category_of(one.fact.category).promise
    ]


def _shortened(
    texts: GeneratedText, wishes: Mapping[str, Fact], short: Sequence[Line]
) -> list[Line]:
    """Return the patterns and the other wishes as shortened by a model.

    The result is empty if there is no answer. A model is asked once in a run, and again
    only with new material, which is recorded.
    """
    view, row = texts.view, texts.known.get(_PATTERNS, {})
    known = short and wishes.keys() <= set(row.get("sources", ()))
    if known or row.get("at") == texts.now.isoformat():
        return []
    lines = [*short, *(line_of(view, fact) for fact in _fresh(wishes, short))]
    facts: list[dict[str, Any]] = [
        {
            "n": n,
            "date": max(local_date(view, wishes[name].created) for name in one.sources),
            "text": one.text,
        }
        for n, one in enumerate(lines, 1)
    ]
    ask = ModelQuestion.about("patterns", {"facts": facts}, f"{IDENTITY} is too long")
    answer = view.answers.get(ask.key)
    if answer is None:
        texts.steps.append(ask)
        return []
    found = sentences(answer, [one.sources for one in lines])
    if found:
        at = texts.now.isoformat()
        texts.known[_PATTERNS] = {"at": at, "sources": sorted(wishes)}
    return list(found)


def _chars(one: Line) -> int:
    return len(one.text) + sum(len(name) + _LINK_CHARS for name in one.sources) + 3


def _bytes(one: Line) -> int:
    links = sum(len(name.encode()) + _LINK_CHARS for name in one.sources)
    return len(one.text.encode()) + links + 3
