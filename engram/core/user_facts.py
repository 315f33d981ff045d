"""The facts about the user that a chatbot needs before any answer (rows C15, C21, E18).

`slots_of` returns the slots of a fact: attribute, subject and value, from the keys of
its note, from its words by the rule table, or from words that name a standing
attribute. The index stores them. Facts are chosen in rounds, the best of each heading
first, so that ten facts about health never displace the name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from engram.core.attributes import attribute, standing_by_words
from engram.core.categories import category_of
from engram.core.language.states import USER, of_owner, states
from engram.core.language.wishes import is_standing_wish
from engram.core.language.words import fold, words
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from engram.core.records import Fact

WISH = "wish"
SHARES = {
    "name": 2,
    "home": 1,
    "work": 1,
    "family": 2,
    "pet": 1,
    "health": 3,
    "diet": 2,
    WISH: 3,
    "birthday": 1,
}
"""The headings in display order, with the number of facts of each in one round."""

_FIRST = ("name", "health", "diet", WISH, "home", "work", "family", "pet", "birthday")
"""The headings in the order in which facts are chosen."""

_OF_OTHERS = frozenset({"family", "pet", "health", "diet"})
"""Headings under which facts about people close to the user are shown too."""

_LEAST_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True)
class Slot:
    """What a fact gives: an attribute of a subject, with its value in folded words.

    `subject` is as in `State`; `over` is true if the fact ends the value; `written` is
    the value as it was written, which the index does not keep.
    """

    attribute: str
    subject: tuple[str, ...]
    value: tuple[str, ...] = ()
    over: bool = False
    written: str = field(default="", compare=False)


def slots_of(fact: Fact) -> tuple[Slot, ...]:
    """Return the slots of a fact; a promise or a plan has none yet (row X31).

    If no word of its `value` is in the statement, which a person may have edited, the
    value that the statement itself gives of that attribute counts.
    """
    category = category_of(fact.category)
    if category.promise:
        return ()
    named = normalise(fact.about[0]) if fact.about else USER
    if fact.attribute:
        return (_given_slot(fact, named),)
    if is_standing_wish(fact.text):
        return (Slot(WISH, (USER,)),)
    if found := [one for one in states(fact.text) if not one.planned]:
        slots = (
            Slot(one.attribute, one.subject, one.value, one.over, one.written)
            for one in found
        )
        return tuple(dict.fromkeys(slots))
    if fact.kind == "episode" or category.momentary:
        return ()
    name = standing_by_words(fact.text) or ("family" if category.relates_people else "")
    return (Slot(name, tuple(named.split())),) if name else ()


def slot_basis(fact: Fact) -> tuple[object, ...]:
    """Return what `slots_of` reads of a fact: equal bases give equal slots."""
    keys = fact.category, fact.kind, fact.about[:1], fact.attribute, fact.value
    return *keys, fact.text


def _given_slot(fact: Fact, named: str) -> Slot:
    """Return the slot that the keys of a fact give, with the subject of its words."""
    read = states(fact.text)
    said = next((one for one in read if one.attribute == fact.attribute), None)
    value, written = tuple(normalise(fact.value).split()), fact.value
    if said and said.value and _is_another(fact.value, fact.text):
        value, written = said.value, said.written
    own = USER if named in normalise(fact.value) else named
    subject = said.subject if said else tuple(own.split())
    return Slot(fact.attribute, subject, value, written=written)


def _is_another(value: str, text: str) -> bool:
    """Return whether no word of a value is in a text; a date or number always may be."""
    return any(map(str.isalpha, value)) and {*words(value)}.isdisjoint(words(text))


@lru_cache(maxsize=1 << 14)
def standing_attribute(text: str, name: str = "") -> str:
    """Return the standing attribute that a statement gives, or '' (law 1).

    The result is the `lasts` of `name`, the attribute of its note. Without one it
    follows from words that name a standing attribute, or from the rule table.
    """
    if lasts := attribute(name).lasts or standing_by_words(text):
        return lasts
    given = (attribute(state.attribute).lasts for state in states(text))
    return next(filter(None, given), "")


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of the vault, under the names that facts use.

    `is_owner` returns whether a name is the owner's; `names` are the folded words of
    the names.
    """

    is_owner: Callable[[str], bool]
    names: Collection[str] = ()


def attribute_of(fact: Fact, owner: Owner, slots: Sequence[Slot] | None = None) -> str:
    """Return the heading under which a fact about the user is shown, or ''.

    It is one of `SHARES`. The end of a state ("no longer works at Acme") has none.
    `slots` are those of the fact, if they are known.
    """
    for slot in slots_of(fact) if slots is None else slots:
        heading = heading_of(slot)
        subject = of_owner(slot.subject, owner.names)
        if heading and subject[:1] == (USER,):
            is_own = len(subject) == 1
            return heading if is_own or heading in _OF_OTHERS else ""
        if heading in _OF_OTHERS and any(map(owner.is_owner, fact.about)):
            return heading
    return ""


def heading_of(slot: Slot) -> str:
    """Return the heading of a slot in the profile, '' if it is over or has none."""
    return "" if slot.over else attribute(slot.attribute).about


def by_worth(fact: Fact) -> tuple[object, ...]:
    """Return the sort key of facts: pinned first, then important, then new."""
    since = fact.valid_from or fact.created
    at = since.timestamp() if since else 0.0
    return (not fact.pinned, -fact.importance, -at, fact.id)


def is_doubted(fact: Fact) -> bool:
    """Return whether a fact is too uncertain to be shown without a question."""
    return fact.confidence < _LEAST_CONFIDENCE


def candidates(
    facts: Iterable[Fact],
    owner: Owner,
    slots: Mapping[str, Sequence[Slot]],
    most: int,
    each: int,
) -> dict[str, list[Fact]]:
    """Return the facts under each heading, best first, at most `each`.

    `slots` are those of the facts by id. Only the `most` best facts are considered.
    Health and diet of the household come after the user's own: they matter for a family
    dinner.
    """
    best = sorted(
        (candidate for candidate in facts if not is_doubted(candidate)), key=by_worth
    )[:most]
    found: dict[str, list[Fact]] = {name: [] for name in SHARES}
    others: list[Fact] = []
    close: set[str] = set()
    for fact in best:
        own = slots.get(fact.id, ())
        name = attribute_of(fact, owner, own)
        if name in {"family", "pet"}:
            close.update(map(fold, fact.about))
            close.update(word for slot in own for word in slot.value)
        if not name:
            others.append(fact)
        elif len(found[name]) < each:
            found[name].append(fact)

    for fact in others:
        for slot in slots.get(fact.id, ()):
            name = heading_of(slot)
            named = {*slot.subject, *map(fold, fact.about)}
            if name in {"health", "diet"} and not close.isdisjoint(named):
                found[name] += [fact] if len(found[name]) < each else []
                break
    return found


def choose(
    candidates: Mapping[str, Sequence[Fact]], cost: Callable[[Fact], int], budget: int
) -> list[Fact]:
    """Return the facts that fit into `budget` tokens, in the order of `SHARES`.

    They are chosen in rounds; of equal texts the first one counts.
    """
    waiting = {name: list(some) for name, some in candidates.items()}
    chosen: dict[str, list[Fact]] = {name: [] for name in SHARES}
    seen: set[str] = set()
    while any(waiting.values()):
        for name in _FIRST:
            round_, waiting[name] = (
                waiting[name][: SHARES[name]],
                waiting[name][SHARES[name] :],
            )
            for fact in round_:
                price = cost(fact)
                if price > budget or fact.text.casefold() in seen:
                    continue
                seen.add(fact.text.casefold())
                budget -= price
                chosen[name].append(fact)
    return [fact for some in chosen.values() for fact in some]
