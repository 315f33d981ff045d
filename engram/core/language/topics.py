"""The words that name what a text is about, and whether it asks or denies (row A26).

`content` reduces a text to its names, numbers and other telling words. A *frame* is one
token for all the words that name an attribute ("weigh", "weight", "wiegt" are
`@weight`). Word lists are in section `[topics]` of the language files.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from engram.core.language import languages
from engram.core.language.languages import LazyPattern
from engram.core.language.words import STOP, fold, language, root

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_KEY = "topics"
_WEAK = languages.all_words(_KEY, "weak")
"""Words with little meaning."""
_USER = languages.all_words(_KEY, "user")
"""Words for the user, in the first, second or third person."""
_USER_NOUNS = languages.all_words(_KEY, "user_nouns")
"""The nouns that the offline extractor uses for a user without a name."""
_OTHER_PEOPLE = languages.all_words(_KEY, "others")
_NOT_NAMES = languages.all_words(_KEY, "not_names")
"""Capitalised words that are not names."""
_NEGATIONS = languages.all_words(_KEY, "negations") | languages.all_words(
    "similarity", "negations"
)
_KANJI = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUN = LazyPattern(
    rf"[{_KANJI}]+|[\u30a1-\u30fa\u30fc-\u30ff]+|[\u3041-\u309f]+|[\uac00-\ud7a3]+|[€$]?\d+(?:[.,:/]\d+)*"
    rf"|[^\W\d_{_KANJI}\u3041-\u30ff\uac00-\ud7a3]+(?:'[^\W\d_]+)*"
)
_HAN = LazyPattern(rf"[{_KANJI}]+")
_HANGUL = LazyPattern("[\uac00-\ud7a3]+")
_KANA = LazyPattern("[\u3041-\u309f]+")
_FUNCTION = LazyPattern(
    f"[{''.join(languages.texts('similarity', 'function_signs').values())}]+"
)
_NEGATION_SIGN = LazyPattern(languages.any_pattern("similarity", "negation_signs"))
_ELIDED = LazyPattern(r"\b([ldjnmtsc]|qu)'(?=\w)", re.IGNORECASE)
_POSSESSED = LazyPattern(r"'s?$")


def _tokens(section: str) -> dict[str, str]:
    """Return the token of each word in a section."""
    return {
        fold(word): f"@{name}"
        for values in languages.section(section).values()
        for name, listed in values.items()
        for word in listed.split()
    }


_NAME = "@name"
_FRAME = _tokens("topics.frames")
_FRAMED = frozenset(_FRAME.values()) - {_NAME}


class _TopicWord(NamedTuple):
    """A word or pair of signs: its folded form, and its token.

    `capital` is true for a capitalised word after the first one, `pair` for signs.
    """

    word: str
    token: str
    capital: bool = False
    pair: bool = False

    @property
    def forms(self) -> frozenset[str]:
        """The forms in which another text may have the word."""
        if self.pair:
            return frozenset({self.word, self.token})
        return frozenset({self.word, self.token, self.word.removesuffix("s")})


@lru_cache(2048)
def _pieces(text: str) -> tuple[_TopicWord, ...]:
    return tuple(_read(text))


def _read(text: str) -> Iterator[_TopicWord]:
    plain = text.replace("’", "'")
    first = True
    for match in _RUN.finditer(_ELIDED.sub(r"\1e ", plain) if "'" in plain else plain):
        written = match.group()
        if _HAN.match(written) or _HANGUL.match(written):
            yield from _signs(fold(written))
        elif not _KANA.match(written):
            piece = _word(written)
            capital = written[:1].isupper() and piece.word not in _NOT_NAMES
            yield piece._replace(capital=capital and not first)
        first = False


@lru_cache(32768)
def _word(written: str) -> _TopicWord:
    folded = fold(written)
    word = _POSSESSED.sub("", folded) or folded
    token = _FRAME.get(word) or (word if word[-1].isdigit() else root(word))
    return _TopicWord(word, token)


def _signs(run: str) -> Iterator[_TopicWord]:
    """Yield the pairs of a run without blanks."""
    for part in _FUNCTION.sub(" ", run).split():
        for at in range(max(len(part) - 1, 1)):
            yield _TopicWord(part[at : at + 2], part[at : at + 2], pair=True)


def _meaningful(text: str, code: str = "") -> list[_TopicWord]:
    """Return the pieces without function words, and without the user as a subject.

    `code` is the language of the text, if known.
    """
    pieces = _pieces(text)
    code = code or language([piece.word for piece in pieces]) or "en"
    stop = STOP.get(code, STOP["en"])
    return [
        piece
        for piece in pieces
        if piece.word not in _USER_NOUNS
        and (
            piece.capital
            or (
                piece.word not in _USER
                and (piece.token.startswith("@") or piece.word not in stop)
            )
        )
    ]


def is_about_user(sentence: str) -> bool:
    """Return whether a sentence is about the user and no other person."""
    small = (piece.word for piece in _pieces(sentence) if not piece.capital)
    return not _USER.isdisjoint(small) and _OTHER_PEOPLE.isdisjoint(
        piece.word for piece in _meaningful(sentence)
    )


def is_denied(sentence: str) -> bool:
    """Return whether a sentence is negated, for example by `no longer`."""
    return not _NEGATIONS.isdisjoint(piece.word for piece in _pieces(sentence)) or bool(
        _NEGATION_SIGN.search(sentence)
    )


QUESTION_MARKS = ("?", "？", "؟")


def is_question(sentence: str) -> bool:
    """Return whether a sentence ends as a question."""
    return sentence.rstrip("\"'”’») \n").endswith(QUESTION_MARKS)


@lru_cache(8192)
def content(text: str, code: str = "") -> frozenset[str]:
    """Return the tokens of the words that name the subject of a text.

    `code` is its language, if known.
    """
    return frozenset(
        piece.token
        for piece in _meaningful(text, code)
        if piece.word not in _WEAK and piece.token != _NAME
    )


def is_attribute(words: Collection[str]) -> bool:
    """Return whether tokens name only attributes, such as an address."""
    return bool(words) and _FRAMED.issuperset(words)


def frame_words(text: str) -> str:
    """Return all words for the attributes in a text, as `lives` for `address`."""
    frames = {piece.token for piece in _pieces(text)} & _FRAMED
    return " ".join(word for word, frame in _FRAME.items() if frame in frames)


@lru_cache(8192)
def tokens(text: str) -> frozenset[str]:
    """Return the words and tokens of a text that `content` may return."""
    return frozenset(chain.from_iterable(piece.forms for piece in _pieces(text)))
