"""Standing wishes to the assistant, recognised by words (row C19).

"The user wants short answers" and "Please answer in German" say how the assistant is to
behave from now on. Section `[wishes]` of the language files has the patterns: a wish
needs a verb of wishing or an imperative, and what an assistant does as its object, so
"The user wants an answer from the bank" is none.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from engram.core.language import languages
from engram.core.text import normalise

_KEY = "wishes"
_MOST_CHARS = 300


@cache
def _patterns(key: str) -> re.Pattern[str]:
    """The pattern of a key in all languages, in the form that `normalise` gives."""
    unspaced = languages.unspaced()
    found = [
        listed if code in unspaced else rf"\b(?:{listed})"
        for code, text in languages.texts(_KEY, key).items()
        for listed in [languages.pattern(text).replace("ß", "ss")]
    ]
    return re.compile("|".join(found), re.IGNORECASE)


@lru_cache(maxsize=1 << 13)
def is_standing_wish(statement: str) -> bool:
    """Whether a statement says how the assistant is to behave (`C19`).

    >>> is_standing_wish("The user prefers short answers."), is_standing_wish("The user prefers tea.")
    (True, False)
    """
    if len(statement) > _MOST_CHARS:
        return False
    words = normalise(statement)
    return bool(_patterns("stated").search(words)) or _is_request(words)


def asks_for_behaviour(sentence: str) -> bool:
    """Whether a sentence to the assistant asks how it is to behave from now on (`C19`).

    "Bitte antworte kurz" does; "Answer this letter in German", a task for now, and
    questions do not.
    """
    if len(sentence) > _MOST_CHARS or sentence.rstrip().endswith(("?", "？")):
        return False
    return _is_request(normalise(sentence))


def _is_request(words: str) -> bool:
    return bool(_patterns("asked").match(words)) and not _patterns("passing").search(
        words
    )
