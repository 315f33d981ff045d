"""What a chatbot has to know of the user before any answer (rows C15, C21, E18).

A fact belongs to one attribute, such as home or health. Facts are chosen in rounds, the
best of each attribute first, so that ten facts on health never crowd out the name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.language import languages
from engram.core.language.permanent_attributes import names_pet, permanent_attribute
from engram.core.language.state_subjects import USER
from engram.core.language.states import states
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
"""The attributes in the order in which they are shown, and how many facts of each are
chosen in one round.
"""

_FIRST = ("name", "health", "diet", WISH, "home", "work", "family", "pet", "birthday")
"""The attributes in the order in which they are chosen."""

_OF_OTHERS = frozenset({"family", "pet", "health", "diet"})
"""Attributes of people close to the user that count, too."""

_ATTRIBUTES = {"study": "work"}
_USER_NOUNS = languages.all_words("similarity", "user_nouns")
_LEAST_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of the vault, as facts name them.

    `is_owner` says whether a name is theirs; `names` are the folded words of the names.
    """

    is_owner: Callable[[str], bool]
    names: Collection[str] = ()


def attribute_of(fact: Fact, owner: Owner) -> str:
    """Return the attribute of the user that a fact gives, or ''.

    One of `SHARES`. Moments count where they change a state ("moved to Augsburg"); an
    end ("no longer works at Acme") gives no attribute.
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
    """Whether a fact tells only that states are over."""
    return bool(stated) and all(one.over for one in stated)


def _is_of_others(stated: Sequence[State]) -> bool:
    """Whether all states are of others: "the user's sister lives in Lecce"."""
    return bool(stated) and all(one.subject != (USER,) for one in stated)


def _attribute(fact: Fact) -> str:
    """The attribute that the words of a fact give; '' for none."""
    name = permanent_attribute(fact.text)
    if name in {None, "possession", "name", "family"} and names_pet(fact.text):
        return "pet"
    if name is None and category_of(fact.category).relates_people:
        return "family"
    return _ATTRIBUTES.get(name or "", name or "")


def _is_close(fact: Fact, owner: Owner) -> bool:
    """Whether a fact about others names the user as well."""
    if any(map(owner.is_owner, fact.about)):
        return True
    spoken = {word.removesuffix("'s") for word in words(fact.text)}
    return not spoken.isdisjoint({*_USER_NOUNS, *owner.names})


def by_worth(fact: Fact) -> tuple[object, ...]:
    """Return the sort key of facts: pinned first, then important, then new."""
    told = fact.valid_from or fact.created
    at = told.timestamp() if told else 0.0
    return (not fact.pinned, -fact.importance, -at, fact.id)


def is_doubted(fact: Fact) -> bool:
    """Whether a fact is too uncertain to be shown without being asked for."""
    return fact.confidence < _LEAST_CONFIDENCE


def candidates(
    facts: Iterable[Fact], owner: Owner, most: int, each: int
) -> dict[str, list[Fact]]:
    """Return the facts of each attribute, best first, at most `each`.

    At most `most` facts are read, the best first. Health and diet of people whose
    relation to the user is known come after the user's own: who plans a dinner for the
    family has to know them.
    """
    best = sorted((one for one in facts if not is_doubted(one)), key=by_worth)[:most]
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
    """Whether a fact tells what holds: no promise and nothing that happened."""
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
            taken, waiting[name] = (
                waiting[name][: SHARES[name]],
                waiting[name][SHARES[name] :],
            )
            for fact in taken:
                price = cost(fact)
                if price > budget or fact.text.casefold() in seen:
                    continue
                seen.add(fact.text.casefold())
                budget -= price
                chosen[name].append(fact)
    return [fact for some in chosen.values() for fact in some]
