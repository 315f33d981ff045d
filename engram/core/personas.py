"""The memories that each persona sees (row E14).

Every persona sees the user's statements. Private memories, a persona's own statements
and the promises made to it are seen by that persona alone.
"""

from __future__ import annotations

from engram.core.categories import category_of
from engram.core.markdown import plain_text
from engram.core.records import ALL_PERSONAS, NO_PERSONA, UNKNOWN_PERSONA, Turn


def name_fault(name: str) -> str:
    """Return why no persona can have this name, or ''.

    An empty name would silently mean no persona, as `NO_PERSONA` does in a note.
    """
    plain = plain_text(name).strip()
    if not plain:
        return "the name of the persona is empty"
    return f"no persona can have the name {name!r}" if plain == NO_PERSONA else ""


def own_name(asking: str | None) -> str:
    """Return the name under which private memories of the caller are stored.

    `asking` is the persona of a question; '' or None if it names none.
    """
    return NO_PERSONA if asking in {None, "", UNKNOWN_PERSONA} else str(asking)


def sees(asking: str | None, private_to: str | None) -> bool:
    """Return whether a question by `asking` sees a memory private to `private_to`.

    Every persona sees a memory that is not private, None.
    """
    return (
        private_to is None
        or asking == ALL_PERSONAS
        or private_to in {asking, own_name(asking)}
    )


def display_persona(persona: str | None) -> str | None:
    """Return the persona of a memory for display; None if only the owner sees it."""
    return None if persona == UNKNOWN_PERSONA else persona


def fact_persona(category: str, turn: Turn) -> str | None:
    """Return the persona of a fact that rests on a turn; None if all personas see it.

    A promise is private to the persona to which it was made, so that no other persona
    reminds the user of it.
    """
    if category_of(category).promise:
        return turn.private_to or turn.persona
    return turn.private_to
