"""Recognise a sentence that makes the same statement as a known one (rows A26, X8).

Two statements are equal if they have the same words in the same order. Only case,
punctuation, a lead-in such as "remember that", and the person of the user differ: "I
take it", "you take it" and "The user takes it" are equal. Every name, number, code and
other word counts, so a similar statement is another one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from engram.core.language import languages
from engram.core.language.languages import LazyPattern
from engram.core.language.sentences import conjugated
from engram.core.language.words import language, words
from engram.core.text import content_hash, normalise

_KEY = "equal_statements"
_USER = "user"
_FIRST, _SECOND, _THIRD = (
    {
        code: frozenset(listed.split())
        for code, listed in languages.texts(_KEY, person).items()
    }
    for person in ("first", "second", "third")
)
_SUBJECTS = languages.all_words(_KEY, "subjects")
"""The pronouns that are followed by a verb of the first or second person."""
_LEAD = LazyPattern(
    rf"(?:(?:{languages.any_pattern(_KEY, 'leads')})\b[\s,:;–—-]+)+",
    re.IGNORECASE,
)
"""Words before a statement, such as "by the way" and "please remember that"."""
_ANSWER = LazyPattern(
    r"(?:[^\s:,–—：，、]{1,24}\s+){0,2}[^\s:,–—：，、]{1,24}\s*[:,–—：，、]\s*"
)
"""One to three words of an answer before a statement that it repeats."""
_CONTRACTED = LazyPattern(r"\b(i|you)'(m|re|ve|ll|d)\b")


def are_equal(one: str, other: str) -> bool:
    """Return whether two sentences make the same statement.

    >>> are_equal("I take 20 mg of citalopram.", "The user takes 20 mg of citalopram")
    True
    >>> are_equal("I take 20 mg of citalopram.", "I take 20 mg of omeprazole.")
    False
    """
    return not statement_hashes(one).isdisjoint(statement_hashes(other))


@lru_cache(16384)
def statement_hashes(text: str) -> frozenset[str]:
    """Return the hashes of a statement; equal statements share one of them."""
    lead = _LEAD.match(text)
    rest = text[lead.end() :] if lead else text
    forms = {text, *_about_user(rest)} | ({rest} if rest else set())
    return frozenset(map(content_hash, forms))


def without_answer(text: str) -> str:
    """Return a statement without a lead-in of at most three words.

    >>> without_answer("Got it, you live in Oslo.")
    'you live in Oslo.'
    """
    lead = _ANSWER.match(text)
    return text[lead.end() :] if lead else text


def _about_user(text: str) -> list[str]:
    """Return a statement about the user in the third person.

    There are none if two persons occur: "I lent you 5 euros" is not "You lent me 5
    euros". The verb of the first or second person is given as it is and conjugated,
    because the past tense has no ending for the person.
    """
    code = language(words(text)) or "en"
    persons = [person.get(code, frozenset()) for person in (_FIRST, _SECOND, _THIRD)]
    parts = _CONTRACTED.sub(r"\1 '\2", normalise(text)).split()
    if sum(not person.isdisjoint(parts) for person in persons) != 1:
        return []
    everyone = frozenset().union(*persons)
    plain, conjugating = list[str](), list[str]()
    for place, word in enumerate(parts):
        if word in everyone:
            if plain[-1:] == ["the"] and word in persons[2]:
                plain.pop()
                conjugating.pop()
            plain.append(_USER)
            conjugating.append(_USER)
            continue
        is_verb = place > 0 and parts[place - 1] in _SUBJECTS
        plain.append(word)
        conjugating.append(conjugated(word) if is_verb else word)
    return [" ".join(plain), " ".join(conjugating)]
