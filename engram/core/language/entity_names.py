"""Names of animals in a statement, by closed word tables (row B1).

`our dog Rex`, `unser Hund heißt Rex`.
"""

from __future__ import annotations

import re
from functools import cache

from engram.core.language import languages

_NAME = r"(?-i:[^\W\d_a-z][\w'-]*[^\W\d_])"
"""A capitalised word that is not an initial."""


def animals(text: str) -> list[str]:
    """Return the names of animals in a statement.

    >>> animals("The user has a cat named Oskar."), animals("The dog is old.")
    (['Oskar'], [])
    """
    return list(
        dict.fromkeys(
            name
            for match in _animal().finditer(text)
            for name in filter(None, match.groups())
        )
    )


@cache
def _animal() -> re.Pattern[str]:
    pets = languages.any_pattern("rules.groups", "PET")
    called = languages.any_pattern("entity_names", "animal_called")
    is_ = languages.any_pattern("entity_names", "animal_is")
    own = languages.any_pattern("entity_names", "animal_own")
    return re.compile(
        rf"\b(?:{own}) (?:[\w-]+ )?(?:{pets}),? ({_NAME})(?!\w)"
        rf"|\b(?:{pets}) ?(?:{called}) ({_NAME})(?!\w| {_NAME})"
        rf"|\b({_NAME}) (?:{is_}) (?:{own}) (?:[\w-]+ )?(?:{pets})\b",
        re.IGNORECASE,
    )
