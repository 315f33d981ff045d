"""Whose a state is: the subjects of states, and when two of them are one.

A subject is a few folded words; `USER` as its first word stands for the user. For the
modules that read states, compare them and search by them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

USER = "user"
"""The first word of a subject that is the user, or something of theirs."""

_KIN_AND_NAME = 3
"""Words of `my sister Eva`, at least."""


def names_same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two subjects are surely one: `my sister Eva`, `my sister` and `Eva`."""
    short, long = sorted((tuple(one), tuple(other)), key=len)
    if short == long:
        return True
    if len(long) < _KIN_AND_NAME or long[0] != USER:
        return False
    return short in (long[:2], long[2:])


def of_owner(subject: tuple[str, ...], names: Collection[str]) -> tuple[str, ...]:
    """The subject with the user's own names at its beginning as the user."""
    rest = subject
    while rest and rest[0] in names:
        rest = rest[1:]
    return subject if rest == subject else (USER, *rest)


def bare(subject: tuple[str, ...]) -> tuple[str, ...]:
    """The subject without the user to whom it belongs: `my dog` is `dog`."""
    return subject[1:] if len(subject) > 1 and subject[0] == USER else subject
