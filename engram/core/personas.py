"""Which persona sees what (row E14).

What the user says is known to every persona; a persona alone sees what is private to
it, what it said itself and the promises made to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.markdown import plain_text
from engram.core.records import ALL_PERSONAS, NO_PERSONA, UNKNOWN_PERSONA

if TYPE_CHECKING:
    from engram.core.records import Turn


def name_fault(name: str) -> str:
    """Return why no persona can have this name, or ''.

    An empty name would silently mean no persona, and so does `NO_PERSONA` in a note.
    """
    plain = plain_text(name).strip()
    if not plain:
        return "the name of the persona is empty"
    return f"no persona can have the name {name!r}" if plain == NO_PERSONA else ""


def own_name(asking: str | None) -> str:
    """The name under which private memories of the caller are kept.

    `asking` is the persona of a question; '' or None where it names none.
    """
    return NO_PERSONA if asking in {None, "", UNKNOWN_PERSONA} else str(asking)


def sees(asking: str | None, private_to: str | None) -> bool:
    """Whether a question by `asking` sees what is private to `private_to`.

    What is private to no persona, None, is seen by all.
    """
    return (
        private_to is None
        or asking == ALL_PERSONAS
        or private_to in {asking, own_name(asking)}
    )


def shown_name(persona: str | None) -> str | None:
    """The persona of a memory as it is shown, None for one of the owner alone."""
    return None if persona == UNKNOWN_PERSONA else persona


def fact_persona(category: str, turn: Turn) -> str | None:
    """The persona of a fact that rests on a turn; None where every persona knows it.

    A promise stays with the persona to which it was made, so that no other persona
    reminds the user of it.
    """
    if category_of(category).promise:
        return turn.private_to or turn.persona
    return turn.private_to
