"""The facts about the user that a chatbot needs before any answer (rows C15, C21, E18).

A fact belongs to one attribute, such as home or health. Facts are chosen in rounds, the
best of each attribute first, so that ten facts about health never displace the name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.language import languages
from engram.core.language.permanent_attributes import names_pet, permanent_attribute
from engram.core.language.states import USER, states
from engram.core.language.wishes import is_standing_wish
from engram.core.language.words import fold, words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from engram.core.language.states import State
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
    "birthday": 1,
    WISH: 3,
}
"""The attributes in display order, with the number of facts of each in one round."""

_FIRST = ("name", "health", "diet", WISH, "home", "work", "family", "pet", "birthday")
"""The attributes in the order in which they are chosen."""

_OF_OTHERS = frozenset({"family", "pet", "health", "diet"})
"""Attributes of people close to the user that are included too."""

_ATTRIBUTES = {"study": "work"}
_USER_NOUNS = languages.all_words("similarity", "user_nouns")
_LEAST_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of the vault, under the names that facts use.

    `is_owner` returns whether a name is the owner's; `names` are the folded words of
    the names.
    """

    is_owner: Callable[[str], bool]
    names: Collection[str] = ()


def attribute_of(fact: Fact, owner: Owner) -> str:
    """Return the attribute of the user that a fact gives, one of `SHARES`, or ''.

    Moments count if they change a state ("moved to Augsburg"); the end of a state ("no
    longer works at Acme") gives no attribute.
    """
    category = category_of(fact.category)
    if fact.kind == "episode" or category.promise:
        return ""
    own = all(map(owner.is_owner, fact.about))
    if own and is_standing_wish(fact.text):
        return WISH

    stated = states(fact.text, owner.names)
    if _is_ended(stated) or (category.momentary and not stated):
        return ""
    name = _attribute(fact)
    if own and not _is_of_others(stated):
        return name if name in SHARES else ""
    return name if name in _OF_OTHERS and _is_close(fact, owner) else ""


def _is_ended(stated: Sequence[State]) -> bool:
    """Return whether a fact has only states that are over."""
    return bool(stated) and all(state.over for state in stated)


def _is_of_others(stated: Sequence[State]) -> bool:
    """Return whether all states are of others: "the user's sister lives in Lecce"."""
    return bool(stated) and all(state.subject != (USER,) for state in stated)


def _attribute(fact: Fact) -> str:
    """Return the attribute that the words of a fact give; '' for none."""
    name = permanent_attribute(fact.text)
    if name in {None, "possession", "name", "family"} and names_pet(fact.text):
        return "pet"
    if name is None and category_of(fact.category).relates_people:
        return "family"
    return _ATTRIBUTES.get(name or "", name or "")


def _is_close(fact: Fact, owner: Owner) -> bool:
    """Return whether a fact about others names the user as well."""
    if any(map(owner.is_owner, fact.about)):
        return True
    fact_words = {word.removesuffix("'s") for word in words(fact.text)}
    return not fact_words.isdisjoint({*_USER_NOUNS, *owner.names})


def by_worth(fact: Fact) -> tuple[object, ...]:
    """Return the sort key of facts: pinned first, then important, then new."""
    since = fact.valid_from or fact.created
    at = since.timestamp() if since else 0.0
    return (not fact.pinned, -fact.importance, -at, fact.id)


def is_doubted(fact: Fact) -> bool:
    """Return whether a fact is too uncertain to be shown without a question."""
    return fact.confidence < _LEAST_CONFIDENCE


def candidates(
    facts: Iterable[Fact], owner: Owner, most: int, each: int
) -> dict[str, list[Fact]]:
    """Return the facts of each attribute, best first, at most `each`.

    Only the `most` best facts are considered. Health and diet of people whose relation
    to the user is known come after the user's own: they matter for a family dinner.
    """
    best = sorted(
        (candidate for candidate in facts if not is_doubted(candidate)), key=by_worth
    )[:most]
    found: dict[str, list[Fact]] = {name: [] for name in SHARES}
    others: list[Fact] = []
    close: set[str] = set()
    for fact in best:
        name = attribute_of(fact, owner)
        if name == "family":
            close.update(map(fold, fact.about))
        if not name:
            others.append(fact)
        elif len(found[name]) < each:
            found[name].append(fact)

    for fact in others:
        if close.isdisjoint(map(fold, fact.about)) or not _lasts(fact):
            continue
        name = _attribute(fact)
        if name in {"health", "diet"} and len(found[name]) < each:
            found[name].append(fact)
    return found


def _lasts(fact: Fact) -> bool:
    """Return whether a fact holds at present: it is neither a promise nor an event."""
    category = category_of(fact.category)
    return not (fact.kind == "episode" or category.promise or category.momentary)


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
