"""Compare two statements by their words alone, on a scale of its own (rows A7, X13).

The scale is calibrated by construction, so its cut points (.40, .70, .85) may decide.
Only statements that cannot be two facts reach the level at which memories merge: they
have the same words in the same order, apart from articles, emphasis and the position of
a leading phrase. Another number, name, negation or noun is another fact. Paraphrases
score lower, because words do not reveal them.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from engram.core.attributes import attribute
from engram.core.language import languages
from engram.core.language.languages import LazyPattern
from engram.core.language.states import KEY, State, grammar, states
from engram.core.language.words import content, language, words
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EQUAL = 1.0
"""The same words."""
EMPHASIS = 0.95
"""The same words apart from articles and emphasis: loves, really loves."""
MOVED = 0.90
"""The same words with a phrase moved to the start: every morning Anna runs."""
INFLECTED = 0.80
"""The same stems in the same order; tense or number may make it another fact.

It is also the upper limit of the overlap.
"""
OTHER_VALUE = 0.78
"""Fixed by definition: another value of one attribute."""
DISTINCT = 0.69
"""The upper limit of the overlap of two facts: another number, name or order."""

_SUBJECT_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """The words of a statement by their role; `statement` creates it.

    `plain` are its words in their normal form, `tokens` those without articles and
    emphasis, `carrying` the meaningful words, in order, without negations, and `stems`
    their stems in `language`. The first `subject` of them name the subject. `owners`
    are the names in the possessive. `negated` is also true for hates, stopped and used
    to; `state` is the value that it gives of an attribute with one value.
    """

    text: str
    plain: tuple[str, ...]
    tokens: tuple[str, ...]
    carrying: tuple[str, ...]
    stems: tuple[str, ...]
    language: str
    subject: int
    numbers: tuple[str, ...]
    names: frozenset[str]
    owners: frozenset[str]
    negated: bool
    state: State | None


_SPACELESS = LazyPattern("[\u3005-\u3007\u3041-\u30ff\u3400-\u9fff]+")
_KEY = "similarity"
_EMPHASIS = languages.all_words(_KEY, "emphasis")
_ARTICLES = {
    code: frozenset(listed.split())
    for code, listed in languages.texts(_KEY, "own_articles").items()
}
"""Articles that are a different word in another language."""
_NEGATIONS = languages.all_words(_KEY, "negations")
_NEGATION_PHRASE = LazyPattern(
    rf"\b(?:{languages.any_pattern(_KEY, 'negation_phrases')})\b"
    rf"|{languages.any_pattern(_KEY, 'negation_signs')}"
)
_NUMERALS = {
    word: figure
    for listed in languages.texts(_KEY, "numerals").values()
    for word, _, figure in (
        entry.partition(" = ") for entry in languages.phrases(listed)
    )
}
_FIGURE = LazyPattern(r"[\d+#$€£¥%@=<>]")
_ELISION = LazyPattern(r"\b([ldjnmtsc]|qu)'(?=\w)")
_HYPHEN = LazyPattern(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_CAPITALISED = LazyPattern(r"\b(?=[^\W\d_])(?-i:[A-ZÀ-ÖØ-ÞΑ-ΫА-ЯЁЀ-Я])[\w'’]*")
_USER_NOUNS = languages.all_words("topics", "user_nouns")
_FUNCTION_SIGNS = LazyPattern(
    "[\u3041-\u3096\u3099-\u309f"
    f"{''.join(languages.texts(_KEY, 'function_signs').values())}]+"
)


def statement(
    text: str,
    stem: Callable[[list[str], str], list[str]],
    owner: Sequence[str] = (),
) -> ParsedStatement:
    """Parse `text`; `stem` returns the stems of words in a language.

    The language is a code of `words.STOP`. The names in `owner` mean the user: `Jonas
    lives in Munich` is parsed as `the user lives in Munich`.
    """
    code = language(words(_CAPITALISED.sub(" ", text))) or "en"
    folded = normalise(text)
    if code in languages.section(KEY):
        folded = grammar(code).in_usual_form(folded)
    folded = _user_phrases(tuple(owner)).sub(
        lambda found: _UNSPACED_USER if found["unspaced"] else _USER,
        _HYPHEN.sub(" ", _ELISION.sub(r"\1 ", folded)),
    )
    spaced = _SPACELESS.sub(r" \g<0> ", folded).split()
    plain = tuple(
        _NUMERALS.get(word, word) for word in map(_without_possessive, spaced)
    )
    dropped = _EMPHASIS | _ARTICLES.get(code, frozenset())
    negated = not _NEGATIONS.isdisjoint(plain) or bool(
        _NEGATION_PHRASE.search(" ".join(plain))
    )
    carrying = _carrying(plain, code)
    names = frozenset(
        _without_possessive(normalise(word)) for word in _CAPITALISED.findall(text)
    ) & frozenset(carrying)
    return ParsedStatement(
        text=text,
        plain=plain,
        tokens=tuple(word for word in plain if word not in dropped),
        carrying=tuple(carrying),
        stems=tuple(stem(carrying, code)),
        language=code,
        subject=_subject_length(carrying, names),
        numbers=_numbers(plain),
        names=names,
        owners=frozenset(
            _without_possessive(word) for word in spaced if word.endswith("'s")
        )
        & names,
        negated=negated,
        state=_single_state(text, owner),
    )


_USER = "user"
_UNSPACED_USER = "用户"
_SUBJECTS = (
    "the user",
    *(words.split(" | ")[0] for words in languages.texts("rules", "speaker").values()),
)


@lru_cache(16)
def _user_phrases(owner: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of the words for the user, longest first."""
    phrases = {
        _HYPHEN.sub(" ", normalise(phrase))
        for phrase in (*_SUBJECTS, *owner)
        if phrase.strip()
    }
    listed = sorted(map(re.escape, phrases), key=len, reverse=True)
    unspaced = [one for one in listed if _SPACELESS.search(one)]
    spaced = "|".join(one for one in listed if one not in unspaced)
    return re.compile(
        rf"(?<!\w)(?:{spaced})(?!\w)|(?P<unspaced>{'|'.join(unspaced) or '(?!)'})"
    )


def _single_state(text: str, owner: Sequence[str]) -> State | None:
    """Return the present value that a statement gives of an attribute with one value."""
    names = {word for name in owner for word in normalise(name).split()}
    for state in states(text, names):
        row = attribute(state.attribute)
        is_present = bool(state.value) and not (state.over or state.planned)
        is_one = row.single or row.fixed or row.name == "name"
        if is_present and is_one and not row.several:
            return state
    return None


@dataclass(frozen=True, slots=True)
class TextComparison:
    """The similarity of two statements, 0–1, the reason, and the guards of `A7`.

    `distinct` is the reason why they are two facts at any similarity of vectors: other
    numbers, a name that only one has, another value of one attribute, a negation, or
    the same words in other roles. It is '' if no guard applies.
    """

    similarity: float
    why: str
    distinct: str = ""


def compared(a: ParsedStatement, b: ParsedStatement) -> TextComparison:
    """Compare two statements; symmetric, and 1 for the same words (`A7`, `X13`).

    Above .85 only articles, emphasis or the position of a phrase differ. Below that,
    the similarity is the weighted Dice overlap `2·|a∩b| / (|a| + |b|)` of the stems;
    words of the subject count half. `Anna likes tea`, `Anna likes coffee` → .60. Two
    values of one attribute have .78 by definition.
    """
    if same := _same_words(a, b):
        return TextComparison(*same)
    overlap = _overlap(a, b)
    if other := _other_slot(a.state, b.state):
        return TextComparison(OTHER_VALUE, other, other)
    if distinct := _distinct(a, b):
        limit = INFLECTED if distinct == _DENIED else DISTINCT
        return TextComparison(min(overlap, limit), distinct, distinct)
    first, second = _comparable(a, b)
    if first and (first == second or _rotated(first, second)):
        return TextComparison(INFLECTED, "the same but for inflection or small words")
    return TextComparison(min(overlap, INFLECTED), "shared words")


def says_more(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Return whether `new` adds information to `old`, which has the same meaning.

    The addition is a number, a name, or two words more than it omits: `works as a nurse
    at the Charité` adds to `works as a nurse`, `is employed as a nurse` does not.
    """
    if set(new.numbers).difference(old.numbers) or new.names.difference(old.carrying):
        return True
    first, second = map(set, _comparable(new, old))
    return len(first - second) >= len(second - first) + _ADDED


def _same_words(a: ParsedStatement, b: ParsedStatement) -> tuple[float, str] | None:
    if a.plain == b.plain:
        return EQUAL, "the same words"
    if a.tokens and a.tokens == b.tokens:
        return EMPHASIS, "the same but for emphasis"
    return (
        (MOVED, "the same in another order") if _rotated(a.tokens, b.tokens) else None
    )


_DENIED = "one is denied"


def _distinct(a: ParsedStatement, b: ParsedStatement) -> str:
    """Return why two statements are two facts, or ''."""
    if a.numbers != b.numbers:
        return "other numbers"
    if a.names.difference(b.carrying) or b.names.difference(a.carrying):
        return "other names"
    subjects = {one.state.subject for one in (a, b) if one.state}
    if a.owners != b.owners or len(subjects) > 1:
        return "another owner"
    if a.negated is not b.negated:
        return _DENIED
    first, second = _comparable(a, b)
    is_reordered = first != second and Counter(first) == Counter(second)
    return "another order" if is_reordered and not _rotated(first, second) else ""


def _other_slot(first: State | None, second: State | None) -> str:
    """Return `another home` if two statements give two values of one slot, else ''.

    A value that is more or less specific (Berlin, Berlin Kreuzberg) is no other one,
    nor is one in another language or beside another.
    """
    if first is None or second is None:
        return ""
    left, right = set(first.value), set(second.value)
    is_same = first.language != second.language or left <= right or right <= left
    slots = {(one.subject, one.attribute) for one in (first, second)}
    if is_same or len(slots) > 1:
        return ""
    return "" if first.addition or second.addition else f"another {first.attribute}"


def _overlap(a: ParsedStatement, b: ParsedStatement) -> float:
    """Return the weighted Dice overlap of the stems.

    Words that belong to the subject of both count half.
    """
    first, second = _comparable(a, b)
    subject = set(first[: a.subject]).intersection(second[: b.subject])
    stems_a, stems_b = set(first), set(second)

    def weight(stems: set[str]) -> float:
        return len(stems) - (1 - _SUBJECT_WEIGHT) * len(stems & subject)

    whole = weight(stems_a) + weight(stems_b)
    return 2 * weight(stems_a & stems_b) / whole if whole else 0.0


def _comparable(
    a: ParsedStatement, b: ParsedStatement
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the stems of both, or their words if they are in different languages."""
    return (a.stems, b.stems) if a.language == b.language else (a.carrying, b.carrying)


def _rotated(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Return whether `second` is `first` with a phrase moved from end to start."""
    if len(first) != len(second) or len(first) < _LEAST_MOVED:
        return False
    starts = (place for place in range(1, len(first)) if first[place] == second[0])
    return any(first[place:] + first[:place] == second for place in starts)


_LEAST_MOVED = 3

_ADDED = 2
"""The least number of words that a statement has more than one with less information.
"""


def _without_possessive(word: str) -> str:
    return word.removesuffix("'s").removesuffix("'")


def _carrying(plain: Sequence[str], code: str) -> list[str]:
    """Return the words that carry meaning, in order."""
    meaningful: list[str] = []
    for word in plain:
        if _SPACELESS.match(word):
            runs = " ".join(_FUNCTION_SIGNS.split(word)).split()
            meaningful += [pair for run in runs for pair in words(run)]
        elif word not in _EMPHASIS:
            meaningful += content(words(word), code)
    return meaningful


def _subject_length(carrying: Sequence[str], names: frozenset[str]) -> int:
    """Return the number of leading words that name the subject.

    They are names, "the user", or the first word in a script without case.
    """
    for place, word in enumerate(carrying):
        if word not in names and word not in _USER_NOUNS:
            return place or bool(_SPACELESS.match(word))
    return len(carrying)


def _numbers(plain: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(word for word in plain if _FIGURE.search(word)))
