"""Split texts into words, equally for stored texts and for questions (row X13).

NFKC, then casefold; letters and digits of any script; scripts without blanks become
overlapping pairs of characters. Stop words and irregular forms are in section `[words]`
of the language files; `index.stems` has the stemming, which needs a library.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import chain, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.languages import LazyPattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# For `re`, vowel signs and points are no letters, but they belong to the word around
# them.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963\u0980-\u09e3\u0a01-\u0df3"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ecd\u1000-\u1049\u1780-\u17d3\u3099\u309a"
)
# Han, kana, Hangul, Thai, Lao, Burmese, Khmer: no blank marks the end of a word.
_UNSPACED = (
    "\u3005\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u1049\u1780-\u17d3"
    "\U00020000-\U000323af"
)
_WORD = LazyPattern(
    rf"[{_UNSPACED}]+|(?:[^\W_{_UNSPACED}]+|[{_MARKS}]+)+(?:'(?:[^\W_]+|[{_MARKS}]+)+)*"
)
_ASCII_WORD = LazyPattern(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_ASCII_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum()}
_UNSPACED_RUN = LazyPattern(rf"[{_UNSPACED}]")
# In "for a living", living is a trade and not a place.
_TRADE = LazyPattern(
    r"\b(for|earn(?:s|ed|ing)?|mak(?:es?|ing)|made) a living\b(?! (?:being|creature|room|space|thing|wage|will)s?\b)"
)
_APOSTROPHES = str.maketrans("’‘ʼ＇`´", "''''''")
_CONTRACTED = languages.all_words("words", "contractions")


def fold(text: str) -> str:
    """Return `text` in NFKC and casefolded, with one kind of apostrophe.

    Both steps are repeated until the text is stable.
    """
    if text.isascii():
        return text.lower().replace("`", "'")
    folded = unicodedata.normalize(
        "NFKC", unicodedata.normalize("NFKC", text).casefold()
    )
    return folded.translate(_APOSTROPHES)


STOP: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        code: frozenset(fold(listed).split())
        for code, listed in languages.texts("words", "stop").items()
    }
)
"""Stop words by language code, in the form of `words`; contractions are whole."""

ANY_STOP = frozenset().union(*STOP.values())
"""The stop words of all languages.

Many of them are a name in another one (Will, Ben, Una, Sue, Den, Else).
"""

_AMBIGUOUS = languages.all_words("words", "ambiguous")

_LANGUAGES_OF = {
    word: tuple(code for code, stop in STOP.items() if word in stop)
    for word in ANY_STOP - _AMBIGUOUS
}
"""The languages that each stop word indicates."""

FIRST_PERSON = languages.all_words("words", "first_person")
"""The pronouns of the first person, in the form of `words`."""

POSSESSIVE = languages.all_words("words", "possessive")
"""Those of the pronouns that only mark a relative or friend of a person."""

_OWN_RELATIVE = LazyPattern(
    rf"\b(?:{'|'.join(sorted(POSSESSIVE))}) (?:\w+ )?"
    rf"(?:{languages.any_pattern('words', 'relatives')})(?:e?n|s)?\b"
)
_LETTERS = LazyPattern(r"\w+")
_ASCII_CAPITALISED = LazyPattern(r"\b[A-Z][A-Za-z]*")
_CAPITALISED = LazyPattern(r"\b[A-ZÀ-ÖØ-ÞΑ-ΫА-ЯЁЀ-Я][^\W\d_]*")

RELATING = languages.all_words("words", "relating")
"""Stop words that a question of stop words may be about: "Where am I from?"."""

PHRASE = 4
"""The least number of different stop words that are searched as a phrase.

For example "To be or not to be".
"""

_NO_NAMES = languages.all_words("words", "never_names")
_RAW_WORD = LazyPattern(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_BEFORE = 8
_STARTS = LazyPattern(r"(?:^|[.!?…:;\n])[\s\"'“”„«»(\[¿¡-]*$")
_FORMS = {
    code: {
        key: [line.split() for line in languages.entries(section[key])]
        for key in ("irregular", "other_forms")
        if key in section
    }
    for code, section in languages.section("words").items()
}
_BASES = {
    code: {
        form + ending: forms[0]
        for key, endings in (("other_forms", ("s", "")), ("irregular", ("",)))
        for forms in listed.get(key, ())
        for form in forms[1:]
        for ending in endings
    }
    for code, listed in _FORMS.items()
}
IRREGULAR: Mapping[str, str] = MappingProxyType(_BASES["en"])
"""Frequent irregular English forms and their base forms, which stemmers do not join.

Other words for a noun also have a form with `s`: "mums" is "mothers", or "mum's".
"""
PAST_FORMS = frozenset(forms[1] for forms in _FORMS["en"]["irregular"])
"""The past forms of irregular English verbs."""
VERB_FORMS = {
    code: frozenset(form for forms in listed.get("irregular", ()) for form in forms[1:])
    for code, listed in _FORMS.items()
}
"""All forms of irregular verbs by language, without the base forms."""

_ENDING = LazyPattern(r"(?<=\w{3})(?:ing|ed)$|(?<=\w{3})en$")
_ENDINGS = {
    code: sorted(listed.split(), key=len, reverse=True)
    for code, listed in languages.texts("words", "endings").items()
}
_PREFIXES = {
    code: re.compile(pattern)
    for code, pattern in languages.texts("words", "prefixes").items()
}
_ROOT, _LEAST_ROOT, _LEAST_STEM = 6, 4, 3


@lru_cache(1 << 15)
def root(word: str, code: str = "en") -> str:
    """Return the common part of the inflected forms of a folded word.

    It is short and meant for comparisons: `calls` and `called` give `cal`, as `call`
    does; in German `angerufen` and `anzurufen` give `anruf`.
    """
    bases = _BASES.get(code, IRREGULAR)
    base = bases.get(word, word)
    if code not in _ENDINGS:
        return _root(base)
    if found := _PREFIXES[code].match(base) if base == word else None:
        before, rest = found[1] or "", word[found.end() :]
        inner = word[len(before) :]
        base = before + bases.get(inner, bases.get(rest, rest))
    for ending in _ENDINGS[code]:
        if base.endswith(ending) and len(base) - len(ending) >= _LEAST_STEM:
            base = base[: -len(ending)]
            break
    is_double = len(base) > _LEAST_STEM and base[-1] == base[-2]
    return base[:-1] if is_double else base


def _root(word: str) -> str:
    """Return the root of a base form by the endings of European languages."""
    if len(word) >= _LEAST_ROOT and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    word = _ENDING.sub("", word)
    if len(word) >= _LEAST_ROOT and word.endswith("e"):
        word = word[:-1]
    if len(word) >= _LEAST_ROOT and word[-1] == word[-2]:
        word = word[:-1]
    return re.sub("y$", "i", word)[:_ROOT]


def words(text: str, *, singles: bool = False) -> list[str]:
    """Return the words of `text` in order, stop words included (row `X13`).

    They are folded, without punctuation and possessive 's. Scripts without blanks give
    overlapping pairs; a lone character gives itself. With `singles` they also give
    their characters: a stored text then matches a question of one character.
    `words("Anna's naïve café, 绿茶好") == ["anna", "naïve", "café", "绿茶", "茶好"]`. In "for
    a living" the word living becomes work.
    """
    folded = fold(text)
    if "a living" in folded:
        folded = _TRADE.sub(r"\1 work", folded)
    if folded.isascii() and "'" not in folded:
        return folded.translate(_ASCII_BLANKS).split()
    runs = (_ASCII_WORD if folded.isascii() else _WORD).findall(folded)
    found: list[str] = []
    for run in runs:
        if _UNSPACED_RUN.match(run):
            found += _pairs(run, singles=singles)
        elif "'" in run:
            found += _uncontracted(run)
        else:
            found.append(run)
    return found


def _pairs(run: str, *, singles: bool) -> list[str]:
    pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return pairs + list(run) if singles and len(run) > 1 else pairs


def _uncontracted(run: str) -> list[str]:
    """Return a run without its contraction: `anna's` → anna; `l'amour` → l, amour.

    `don't` is not split, because it is a stop word.
    """
    if run in STOP["en"]:
        return [run]
    parts = run.split("'")
    if parts[-1] in _CONTRACTED:
        parts.pop()
    elif parts[-1] == "t" and parts[-2].endswith("n"):
        parts[-2:] = [parts[-2][:-1]]
    return [part for part in parts if part]


def capitalised(text: str) -> set[str]:
    """Return the words of `text` that begin with a capital letter somewhere in it.

    They have the form of `words`: `capitalised("Will's art is for US") == {"will",
    "us"}`.
    """
    return set(
        map(str.lower, _ASCII_CAPITALISED.findall(text))
        if text.isascii()
        else map(fold, _CAPITALISED.findall(text))
    )


def language(text_words: Sequence[str]) -> str:
    """Return the language of these words by stop words: a code of `STOP`, or ''.

    It is the language with most of them, English first; words that are also English, or
    names, do not count.
    """
    counts = stop_words_by_language(text_words)
    most = max(counts.values(), default=0)
    return next((code for code in STOP if counts.get(code) == most), "")


def stop_words_by_language(text_words: Sequence[str]) -> Counter[str]:
    """Return the number of stop words by language that indicate it."""
    return Counter(
        chain.from_iterable(filter(None, map(_LANGUAGES_OF.get, text_words)))
    )


def of_oneself(folded: str) -> bool:
    """Return whether the speaker is a subject of the text, and not only a relative.

    `of_oneself("my car is old")`, not `of_oneself("my sister lives in porto")`
    """
    pronouns = FIRST_PERSON.intersection(_LETTERS.findall(folded))
    if pronouns and pronouns <= POSSESSIVE:
        pronouns = FIRST_PERSON.intersection(
            _LETTERS.findall(_OWN_RELATIVE.sub(" ", folded))
        )
    return bool(pronouns)


def named(
    text: str, found: Sequence[str], known: Callable[[str], object], *, alone: bool
) -> frozenset[str]:
    """Return the stop words of a question that are used as names in it.

    They are capitalised inside a sentence: "Who is Will?", "Was macht Else?". At its
    beginning the name must be `known`, and the next word must show that it is no verb
    ("Will Anna come?"). With `alone`, when a question has stop words only, known names
    count in lower case too.
    """
    candidates = ANY_STOP.intersection(found) - _NO_NAMES
    if not candidates:
        return frozenset()

    runs = list(_RAW_WORD.finditer(text))
    names = _capitalised_inside(text, runs) | _known_at_start(runs, known)
    if alone:
        names |= {word for word in candidates if known(word)}
    return frozenset(names & candidates)


def _without_suffix(run: re.Match[str]) -> str:
    """Return a word up to its apostrophe: `Will's` → `Will`."""
    return run[0].split("'")[0].split("’")[0]


def _capitalised_inside(text: str, runs: Sequence[re.Match[str]]) -> set[str]:
    """Return the capitalised words inside sentences; none for a title in capitals."""
    inside = [
        _without_suffix(run)
        for run in runs
        if not _STARTS.search(text[max(run.start() - _BEFORE, 0) : run.start()])
    ]
    capitalised_words = [word for word in inside if word[0].isupper()]
    is_title = len(inside) >= PHRASE and len(capitalised_words) == len(inside)
    if text.isupper() or is_title:
        return set()
    return {fold(word) for word in capitalised_words}


def _known_at_start(
    runs: Sequence[re.Match[str]], known: Callable[[str], object]
) -> set[str]:
    """Return the capitalised, known words that own something or precede a verb."""
    names = set()
    for run, after in pairwise(runs):
        word, following = _without_suffix(run), _without_suffix(after)
        owns = run[0] != word
        precedes_verb = following[0].islower() and fold(following) not in ANY_STOP
        if word[0].isupper() and (owns or precedes_verb) and known(word):
            names.add(fold(word))
    return names


def terms_of(text: str) -> list[str]:
    """Return the meaningful words of a text in its language."""
    parts = words(text)
    return content(parts, language(parts))


def content(text_words: Sequence[str], code: str) -> list[str]:
    """Return the meaningful words in the language `code` ('' is English).

    Irregular English forms become their base form.
    """
    stop = STOP.get(code, STOP["en"])
    if code not in {"", "en"}:
        return [word for word in text_words if word not in stop]
    return [IRREGULAR.get(word, word) for word in text_words if word not in stop]
