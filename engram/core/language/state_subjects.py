"""The subjects of states, and their equality.

A subject is a tuple of a few folded words; `USER` as its first word refers to the user.
The modules that parse, compare and search states use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

USER = "user"
"""The first word of a subject that is the user or belongs to the user."""

_KIN_AND_NAME = 3
"""The least number of words in a subject such as `my sister Eva`."""


def names_same(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether two subjects are certainly the same person.

    The subjects `my sister Eva`, `my sister` and `Eva` are.
    """
    short, long = sorted((tuple(first), tuple(second)), key=len)
    if short == long:
        return True
    if len(long) < _KIN_AND_NAME or long[0] != USER:
        return False
    return short in (long[:2], long[2:])


def of_owner(subject: tuple[str, ...], names: Collection[str]) -> tuple[str, ...]:
    """Return the subject with the user's own names at its beginning as `USER`."""
    rest = subject
    while rest and rest[0] in names:
        rest = rest[1:]
    return subject if rest == subject else (USER, *rest)


def bare(subject: tuple[str, ...]) -> tuple[str, ...]:
    """Return the subject without its owner, the user: `my dog` is `dog`."""
    return subject[1:] if len(subject) > 1 and subject[0] == USER else subject
