"""Decide whether a new statement waits for review because of its source (row X27).

A model that followed an injected instruction returns a plain statement. Therefore the
text around the evidence is checked too: the whole quoted or pasted part, and the
surroundings in a tool's output.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.categories import category_of
from engram.core.language import languages
from engram.core.language.injection import instruction
from engram.core.language.quotations import is_title, quoted
from engram.core.language.wishes import is_standing_wish
from engram.core.language.words import FIRST_PERSON, fold, of_oneself, words

if TYPE_CHECKING:
    from collections.abc import Collection

    from engram.core.policy import TrustPolicy
    from engram.core.records import Fact, Turn


def containment_reason(
    fact: Fact,
    turn: Turn,
    quote: str,
    policy: TrustPolicy,
    owner: Collection[str] = (),
) -> str:
    """Return why `fact`, based on the words `quote` of `turn`, waits in review, or ''.

    A fact from another source waits if it, or the text around its evidence, reads like
    an instruction, or if it is a standing wish to the assistant. A wish or a decision of the user waits if its evidence is text
    that the user only quotes or passes on (`X27`): "I'm opening a bakery!", written by
    Paul, is a plan of Paul's. A fact about the user also waits if its evidence is such
    text in the first person. `owner` are the names of the user.
    """
    said_by = trust.source_class(turn)
    part = quoted(turn.text, quote)
    if said_by == "user" and not part:
        return ""
    around = part or (
        _near(turn.text, quote, policy.around) if turn.role == "tool" else quote
    )
    shape = instruction(fact.text) or instruction(around)
    if shape:
        return f"reads like an instruction: {shape}"
    if said_by != "user" and is_standing_wish(fact.text):
        return "only the user can give the assistant a standing instruction"
    if said_by != "user" or is_title(part):
        return ""
    on_user = _is_about_user(fact, owner)
    if category_of(fact.category).only_user and (on_user or not fact.about):
        return "words of another author about what the user wants"
    if on_user and _in_first_person(quote):
        return "another author says it of themselves"
    return ""


_SUBJECT_WORDS = 3


@cache
def _unspaced_pronouns() -> tuple[str, ...]:
    """Return the pronouns of the first person in languages without blanks."""
    listed = languages.texts("words", "first_person")
    return tuple(
        word
        for code, text in listed.items()
        if code in languages.unspaced()
        for word in text.split()
    )


def _in_first_person(quote: str) -> bool:
    """Return whether the author of a quote speaks of themselves."""
    return of_oneself(fold(quote)) or any(
        word in quote for word in _unspaced_pronouns()
    )


def _is_about_user(fact: Fact, owner: Collection[str]) -> bool:
    """Return whether a statement begins with the user: "The user …", "Nora …"."""
    names = {word for name in owner for word in words(name)}
    nouns = languages.all_words("topics", "user_nouns") | FIRST_PERSON
    return not (names | nouns).isdisjoint(words(fact.text)[:_SUBJECT_WORDS])


def _near(text: str, quote: str, reach: int) -> str:
    """Return `quote` with up to `reach` characters of `text` on either side."""
    place = max(0, text.find(quote))
    return text[max(0, place - reach) : place + len(quote) + reach]
