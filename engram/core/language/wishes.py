"""Standing wishes to the assistant, recognised by words (row C19).

"The user wants short answers" and "Please answer in German" describe the assistant's
behaviour from now on. Section `[wishes]` of the language files has the patterns: a wish
needs a verb of wishing or an imperative, and an activity of the assistant as its
object, so "The user wants an answer from the bank" is none.
"""

from __future__ import annotations

from functools import cache, lru_cache

from engram.core.language import languages
from engram.core.language.languages import LazyPattern, Screen
from engram.core.text import normalise

_KEY = "wishes"
_MOST_CHARS = 300


@cache
def _patterns(key: str) -> Screen[str]:
    """Return the patterns of a key by language, for text in the form of `normalise`."""
    unspaced = languages.unspaced()
    found = []
    for code, text in languages.texts(_KEY, key).items():
        listed = languages.pattern(text).replace("ß", "ss")
        edge = "" if code in unspaced else r"\b"
        found.append((code, LazyPattern(rf"{edge}(?:{listed})")))
    return Screen(found)


@cache
def _prefixes() -> tuple[str, ...]:
    return tuple(map(normalise, languages.texts(_KEY, "prefix").values()))


@lru_cache(maxsize=1 << 13)
def is_standing_wish(statement: str) -> bool:
    """Return whether a statement describes the assistant's behaviour (`C19`).

    >>> is_standing_wish("The user prefers short answers.")
    True
    >>> is_standing_wish("The user prefers tea.")
    False
    """
    if len(statement) > _MOST_CHARS:
        return False
    words = normalise(statement)
    if any(_patterns("stated").found(words)):
        return True
    prefix = next(
        (candidate for candidate in _prefixes() if words.startswith(candidate)), ""
    )
    return bool(_language(words.removeprefix(prefix).strip()))


def wish_statement(sentence: str) -> str:
    """Return a request for a lasting behaviour as a statement, or '' (`C19`).

    "Bitte antworte kurz." gives "Die Person bittet den Assistenten: Bitte antworte
    kurz."; "Answer this letter in German", a task for now, and questions give ''.
    """
    text = sentence.strip()
    if len(text) > _MOST_CHARS or text.endswith(("?", "？")):
        return ""
    code = _language(normalise(text))
    if not code:
        return ""
    space = "" if code in languages.unspaced() else " "
    return f"{languages.texts(_KEY, 'prefix')[code]}{space}{text}"


def _language(words: str) -> str:
    """Return the language of folded words that ask for a lasting behaviour, or ''."""
    if any(_patterns("passing").found(words)):
        return ""
    asked = _patterns("asked").of(words)
    return next((code for code, pattern in asked if pattern.match(words)), "")
