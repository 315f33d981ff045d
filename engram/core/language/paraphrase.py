"""Recognise a sentence that restates a known statement in other words (rows A26, X8).

This is a closed comparison without a model. `fingerprint` reduces a statement to its
names and numbers, its other words, and frames: a frame is one token for all the words
that name an attribute ("weigh", "weight", "wiegt" are `@weight`). `restates` compares a
fingerprint with a sentence in any grammatical person. Words are stored only as hashes.
Word lists are in section `[paraphrase]` of the language files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.sentences import sentences
from engram.core.language.words import IRREGULAR, STOP, fold, language

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

DIGITS = 12
"""Hexadecimal digits of a hashed word."""
SHARE_OF_WORDS = 2 / 3
"""The share of a fingerprint's words, besides all names and numbers, that must occur.
"""
SHARE_OF_PART = 1 / 2
"""The share of a fingerprint that a sentence without other content must have."""
FEW = 2
"""Shorter fingerprints are not searched in longer sentences."""


_KEY = "paraphrase"
_WEAK = languages.all_words(_KEY, "weak")
"""Words with little meaning; a fingerprint with two other words omits them."""
_USER = languages.all_words(_KEY, "user")
"""Words for the user, in the first, second or third person."""
_USER_NOUNS = languages.all_words(_KEY, "user_nouns")
"""The nouns that the offline extractor uses for a user without a name."""
_SUBJECTS = languages.all_words(_KEY, "subjects")
_BEING = languages.all_words(_KEY, "being")
_OTHER_PEOPLE = languages.all_words(_KEY, "others")
_NOT_NAMES = languages.all_words(_KEY, "not_names")
"""Capitalised words that are not names."""
_NEGATIONS = languages.all_words(_KEY, "negations")
_QUESTION_ENDINGS = tuple(languages.all_words(_KEY, "question_endings"))
_IMPLIED = (
    (
        "@weight",
        re.compile(
            rf"\b(?:{languages.any_pattern(_KEY, 'weight_before')}) "
            r"(?:at |now )?\d[\d.,]* ?k"
        ),
    ),
    (
        "@year",
        re.compile(
            rf"\b(?:{languages.any_pattern(_KEY, 'age_before')}) "
            r"(?:now )?\d{1,3}\b(?! ?[a-z])"
        ),
    ),
)
"""Frames that a number implies, as in "I'm 34" and "you are 82 kg"."""
_KANJI = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUN = re.compile(
    rf"[{_KANJI}]+|[\u30a1-\u30fa\u30fc-\u30ff]+|[\u3041-\u309f]+|[\uac00-\ud7a3]+|[€$]?\d+(?:[.,:/]\d+)*"
    rf"|[^\W\d_{_KANJI}\u3041-\u30ff\uac00-\ud7a3]+(?:'[^\W\d_]+)*"
)
_HAN = re.compile(rf"[{_KANJI}]+")
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_KANA = re.compile("[\u3041-\u309f]+")
_FUNCTION = re.compile(
    rf"{languages.any_pattern(_KEY, 'function_words')}"
    rf"|[{''.join(languages.texts(_KEY, 'function_signs').values())}]+"
)
_FRAME_SIGNS = re.compile(f"({languages.any_pattern(_KEY, 'frame_signs')})")
_USER_SIGN = re.compile(languages.any_pattern(_KEY, "user_signs"))
_OTHER_SIGN = re.compile(languages.any_pattern(_KEY, "other_signs"))
_NEGATION_SIGN = re.compile(languages.any_pattern(_KEY, "negation_signs"))
_ELIDED = re.compile(r"\b([ldjnmtsc]|qu)'(?=\w)", re.IGNORECASE)
_POSSESSED = re.compile(r"'s?$")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed)$|(?<=\w{3})en$")
_SPLIT = re.compile(r"[:;]\s+|\s[–—-]\s|：|；")
_ROOT, _LEAST_ROOT = 6, 4
_DIGIT = re.compile(r"\d")


@lru_cache(32768)
def _root(word: str) -> str:
    """Return the common part of the inflected forms of a word, at most 6 letters.

    It is derived from the endings of European languages.
    """
    word = IRREGULAR.get(word, word)
    if len(word) >= _LEAST_ROOT and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    word = _ENDING.sub("", word)
    if len(word) >= _LEAST_ROOT and word.endswith("e"):
        word = word[:-1]
    if len(word) >= _LEAST_ROOT and word[-1] == word[-2]:
        word = word[:-1]
    return word[:_ROOT]


def _tokens(section: str) -> dict[str, str]:
    """Return the token of each word in a section."""
    return {
        fold(word): f"@{name}"
        for values in languages.section(section).values()
        for name, listed in values.items()
        for word in listed.split()
    }


_NAME = "@name"
_UNIT = _tokens("paraphrase.units")
_FRAME = _tokens("paraphrase.frames")
_STOPS = frozenset(chain.from_iterable(STOP.values()))


@lru_cache(65536)
def hashed(word: str) -> str:
    """Return the hash that replaces a word in the vault; it cannot be reversed."""
    return blake2b(
        f"engram 1 {word}".encode("utf-8", "surrogatepass"), digest_size=DIGITS // 2
    ).hexdigest()


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A statement reduced by `fingerprint`; all words are hashed (`hashed`).

    `names` are proper names and numbers; `words` the roots of the other words, frames
    and pairs of signs; `extra` are units, which are optional. `own` is true if the
    statement is about the user, `pairs` if its script has no blanks, `denied` if it is
    negated.
    """

    names: frozenset[str]
    words: frozenset[str]
    extra: frozenset[str] = frozenset()
    own: bool = False
    pairs: bool = False
    denied: bool = False

    def row(self) -> dict[str, object]:
        """Return the JSON form of a tombstone."""
        lists = {
            "names": sorted(self.names),
            "words": sorted(self.words),
            "extra": sorted(self.extra),
        }
        marks = {"own": self.own, "pairs": self.pairs, "denied": self.denied}
        return {name: value for name, value in (lists | marks).items() if value}


def from_row(row: object) -> Fingerprint | None:
    """Return the fingerprint in a tombstone's row, None if it is missing or empty."""
    if not isinstance(row, dict):
        return None
    lists = [row.get(name) for name in ("names", "words", "extra")]
    names, words, extra = (
        frozenset(map(str, item)) if isinstance(item, list) else frozenset()
        for item in lists
    )
    marks = (bool(row.get(name)) for name in ("own", "pairs", "denied"))
    return Fingerprint(names, words, extra, *marks) if names or words else None


@dataclass(frozen=True, slots=True)
class _SentencePart:
    """A word or pair of signs: its folded form, its token and its written form.

    `capital` is true for a capital of a name; `initial` for that of a first word, which
    need not be a name.
    """

    word: str
    token: str
    hashes: frozenset[str]
    capital: bool = False
    initial: bool = False
    pair: bool = False


@lru_cache(2048)
def _pieces(text: str) -> tuple[_SentencePart, ...]:
    return tuple(_read(text))


def _read(text: str) -> Iterator[_SentencePart]:
    plain = text.replace("’", "'")
    first = True
    for match in _RUN.finditer(_ELIDED.sub(r"\1e ", plain) if "'" in plain else plain):
        written = match.group()
        if _HAN.match(written) or _HANGUL.match(written):
            yield from _signs(fold(written))
        elif not _KANA.match(written):
            piece = _word(written)
            capital = written[:1].isupper() and piece.word not in _NOT_NAMES
            yield replace(piece, capital=not first, initial=first) if capital else piece
        first = False


@lru_cache(32768)
def _word(written: str) -> _SentencePart:
    folded = fold(written)
    word = _POSSESSED.sub("", folded) or folded
    token = (
        _UNIT.get(word)
        or _FRAME.get(word)
        or (word if word[-1].isdigit() else _root(word))
    )
    return _SentencePart(
        word, token, frozenset(map(hashed, {word, token, word.removesuffix("s")}))
    )


def _sign(pair: str) -> _SentencePart:
    token = _FRAME.get(pair) or _UNIT.get(pair) or pair
    return _SentencePart(
        pair, token, frozenset({hashed(pair), hashed(token)}), pair=True
    )


def _signs(run: str) -> Iterator[_SentencePart]:
    """Yield the pairs of a run without blanks; words of frames are not split."""
    parts = (
        part
        for some in _FUNCTION.sub(" ", run).split()
        for part in _FRAME_SIGNS.split(some)
        if part
    )
    for part in parts:
        if part in _FRAME or part in _UNIT or len(part) == 1:
            yield _sign(part)
        else:
            yield from (_sign(part[at : at + 2]) for at in range(len(part) - 1))


def _language(pieces: Collection[_SentencePart]) -> str:
    return language([piece.word for piece in pieces]) or "en"


def _meaningful(
    pieces: Collection[_SentencePart], text: str, code: str = ""
) -> list[_SentencePart]:
    """Return the pieces without function words, and without the user as a subject.

    `code` is the language of the longer text that contains the pieces, if known.
    """
    stop = STOP.get(code or _language(pieces), STOP["en"])
    found = [
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
    return found + [_sign(name) for name in _implied(text)]


def _implied(text: str) -> list[str]:
    """Return the frames that a number in `text` implies."""
    if not _DIGIT.search(text):
        return []
    folded = fold(text)
    return [name for name, said in _IMPLIED if said.search(folded)]


def tells_name(text: str) -> bool:
    """Return whether a text contains a word for a name or for being called."""
    return any(piece.token == _NAME for piece in _pieces(text))


def fingerprints(text: str) -> tuple[Fingerprint, ...]:
    """Return the fingerprints of the sentences of `text`; some have none."""
    found: list[Fingerprint] = []
    for start, end in sentences(text):
        sentence = text[start:end]
        code = _language(_pieces(sentence))
        parts = [
            fingerprint(part, code) for part in _SPLIT.split(sentence) if part.strip()
        ]
        apart = len(parts) > 1 and all(
            fingerprinted and len(fingerprinted.names | fingerprinted.words) >= FEW
            for fingerprinted in parts
        )
        found += filter(None, parts if apart else [fingerprint(sentence)])
    return tuple(dict.fromkeys(found))


def fingerprint(sentence: str, code: str = "") -> Fingerprint | None:
    """Return the fingerprint of one sentence, None if it has no specific word.

    `code` is its language, if known. `I weigh 82 kilos.`, `The user weighs 82 kg` and
    `weight: 82 kg` all give `@weight`, `82`.
    """
    pieces = _pieces(sentence)
    meaningful = _strong(_meaningful(pieces, sentence, code))
    units = _units(meaningful)
    has_names = not _is_german(pieces)
    names = {piece.word for piece in meaningful if _is_name(piece, has_names=has_names)}
    words = {piece.token for piece in meaningful if piece.word not in names} - units
    if not names and not words:
        return None

    return Fingerprint(
        frozenset(map(hashed, names)),
        frozenset(map(hashed, words)),
        frozenset(map(hashed, units)),
        _is_about_user(sentence, pieces, meaningful),
        sum(piece.pair for piece in meaningful) * 2 > len(meaningful),
        is_denied(sentence),
    )


def _strong(pieces: list[_SentencePart]) -> list[_SentencePart]:
    """Return the pieces without weak words, if enough of them are left."""
    strong = [
        piece for piece in pieces if piece.word not in _WEAK and piece.token != _NAME
    ]
    return strong if len({piece.token for piece in strong}) >= FEW else pieces


def _units(pieces: Collection[_SentencePart]) -> set[str]:
    """Return the units of a sentence whose frame implies them."""
    if not any(piece.token in _FRAMED for piece in pieces):
        return set()
    return {piece.token for piece in pieces if piece.token in _UNITED}


def _is_name(piece: _SentencePart, *, has_names: bool) -> bool:
    """Return whether a piece is a number, or a capitalised name."""
    if piece.word[-1].isdigit():
        return True
    return has_names and piece.capital and not piece.token.startswith("@")


def _is_about_user(
    sentence: str,
    pieces: Collection[_SentencePart],
    meaningful: Collection[_SentencePart],
) -> bool:
    """Return whether a sentence is about the user and no other person."""
    small = (piece.word for piece in pieces if not piece.capital)
    if not _USER_SIGN.search(sentence) and _USER.isdisjoint(small):
        return False
    if _OTHER_SIGN.search(sentence):
        return False
    return _OTHER_PEOPLE.isdisjoint(piece.word for piece in meaningful)


_FRAMED = frozenset(_FRAME.values()) - {_NAME}
_UNITED = frozenset(_UNIT.values())
_FRAME_HASHES = frozenset(map(hashed, _FRAMED))


def is_denied(sentence: str) -> bool:
    """Return whether a sentence is negated, for example by `no longer`."""
    return not _NEGATIONS.isdisjoint(piece.word for piece in _pieces(sentence)) or bool(
        _NEGATION_SIGN.search(sentence)
    )


def is_question(sentence: str) -> bool:
    """Return whether a sentence is a question."""
    bare = sentence.rstrip("\"'”’») \n")
    if bare.endswith(("?", "？", "؟")):
        return True
    return sentence.rstrip("。 \n").endswith(_QUESTION_ENDINGS)


@lru_cache(8192)
def content(text: str, code: str = "") -> frozenset[str]:
    """Return the hashed tokens of the words that name the subject of a text.

    `code` is its language, if known.
    """
    telling = _meaningful(_pieces(text), text, code)
    return frozenset(
        hashed(piece.token)
        for piece in telling
        if piece.word not in _WEAK and piece.token != _NAME
    )


def is_attribute(words: Collection[str]) -> bool:
    """Return whether hashed words name only attributes, such as an address."""
    return bool(words) and _FRAME_HASHES.issuperset(words)


def frame_words(text: str) -> str:
    """Return all words for the attributes in a text, as `lives` for `address`."""
    frames = {piece.token for piece in _pieces(text)} & _FRAMED
    return " ".join(word for word, frame in _FRAME.items() if frame in frames)


@lru_cache(8192)
def tokens(text: str) -> frozenset[str]:
    """Return the hashed words and tokens of a text that a fingerprint may contain."""
    plain = text.replace("’", "'")
    runs = set(_RUN.findall(_ELIDED.sub(r"\1e ", plain) if "'" in plain else plain))
    return frozenset(
        chain(chain.from_iterable(map(_hashes, runs)), map(hashed, _implied(text)))
    )


@lru_cache(32768)
def _hashes(written: str) -> frozenset[str]:
    if _HAN.match(written) or _HANGUL.match(written):
        return frozenset(
            chain.from_iterable(piece.hashes for piece in _signs(fold(written)))
        )
    return frozenset() if _KANA.match(written) else _word(written).hashes


def may_restate(known: Fingerprint, text_tokens: Collection[str]) -> bool:
    """Return whether a text with these tokens may restate the fingerprint."""
    whole = len(known.names) + len(known.words)
    shared = len(known.names.intersection(text_tokens)) + len(
        known.words.intersection(text_tokens)
    )
    shared += len(known.extra.intersection(text_tokens))
    return shared >= min(whole, max(FEW, ceil(whole * SHARE_OF_PART)))


def _holds(known: Fingerprint, text_tokens: Collection[str]) -> bool:
    shared = known.words.intersection(text_tokens)
    if not known.names.issubset(text_tokens):
        return False
    share = SHARE_OF_WORDS if known.names or known.pairs else 1.0
    return len(shared) >= ceil(len(known.words) * share)


def restates(known: Fingerprint, sentence: str) -> bool:
    """Return whether a sentence restates a fingerprint, or a part of it.

    It must contain all names and numbers and two thirds of the other words (without a
    name or number all of them, or another boat would match the forgotten one). It must
    not contain anything else or be about another person: `My sister lives in Berlin`
    does not restate `I live in Berlin`.
    """
    text_tokens = tokens(sentence)
    if not may_restate(known, text_tokens):
        return False
    pieces, single = _pieces(sentence), len(known.names) + len(known.words) < FEW
    if _holds(known, text_tokens) and not (single and not _stated(known, pieces)):
        return not (known.own and _of_another(known, sentence, pieces))
    return not single and _is_part(known, sentence, pieces)


def echoes(known: Fingerprint, reply: str) -> bool:
    """Return whether a sentence of a reply repeats words of a fingerprint.

    It must contain two of the words, or the only one: `Noted, no walnuts for Nora`
    repeats `Nora is allergic to walnuts`.
    """
    known_words = known.names | known.words
    return len(known_words & tokens(reply)) >= min(2, len(known_words))


def _stated(known: Fingerprint, pieces: tuple[_SentencePart, ...]) -> bool:
    """Return whether a sentence states the only word of a fingerprint about the user.

    `you are vegetarian` does; so does a sentence that consists of the word.
    """
    known_words = known.names | known.words
    telling = [
        one for one in pieces if one.word not in _USER and one.word not in _STOPS
    ]
    if all(one.hashes & known_words for one in telling):
        return True
    for place, one in enumerate(pieces):
        if not one.hashes & known_words:
            continue
        before = [piece.word for piece in pieces[:place]]
        while before and before[-1] in _BEING:
            before.pop()
        if known.own and before and before[-1] in _SUBJECTS:
            return True
    return False


def _is_german(pieces: tuple[_SentencePart, ...]) -> bool:
    """Return whether the pieces are German, where all nouns are capitalised."""
    return language([piece.word for piece in pieces]) == "de"


def _of_another(
    known: Fingerprint, sentence: str, pieces: tuple[_SentencePart, ...]
) -> bool:
    """Return whether the sentence is about another person and the fingerprint the user.

    Another person is a name, a relative, he or she.
    """
    if known.pairs:
        return bool(_OTHER_SIGN.search(sentence))
    frame = next(
        (
            n
            for n, piece in enumerate(pieces)
            if hashed(piece.token) in known.words & _FRAME_HASHES
        ),
        None,
    )
    german = _is_german(pieces)
    others = [
        _is_other(known, piece, pieces[n + 1 : n + 2], german=german)
        for n, piece in enumerate(pieces)
    ]
    if frame is not None:
        for place in range(frame - 1, -1, -1):
            if others[place]:
                return True
            if pieces[place].word in _SUBJECTS:
                return False
    return any(others) and _USER.isdisjoint(
        piece.word for piece in pieces if not piece.capital
    )


def _is_other(
    known: Fingerprint,
    piece: _SentencePart,
    behind: tuple[_SentencePart, ...],
    *,
    german: bool,
) -> bool:
    if piece.hashes & (known.names | known.words) or piece.token.startswith("@"):
        return False
    if piece.word in _OTHER_PEOPLE:
        return True
    if piece.word in _USER | _WEAK or not (
        piece.capital or (piece.initial and piece.word not in _STOPS)
    ):
        return False
    verb = behind and (
        behind[0].word in _BEING
        or behind[0].token in _FRAMED
        or behind[0].word.endswith("s")
    )
    return (piece.capital and not german) or bool(verb)


def _is_part(
    known: Fingerprint, sentence: str, pieces: tuple[_SentencePart, ...]
) -> bool:
    """Return whether the sentence has enough of the fingerprint and nothing else.

    It contains one of the names or numbers, if there are any.
    """
    telling = _meaningful(pieces, sentence)
    more = (
        piece for piece in telling if piece.word not in _WEAK and piece.token != _NAME
    )
    content_hashes = {
        hashed(piece.token) for piece in more if hashed(piece.word) not in known.names
    }
    named = {hashed(piece.word) for piece in telling} & known.names
    whole = known.names | known.words
    enough = len(content_hashes | named) >= max(FEW, ceil(len(whole) * SHARE_OF_PART))
    return (
        enough
        and content_hashes <= known.words | known.extra
        and bool(named or not known.names)
    )
