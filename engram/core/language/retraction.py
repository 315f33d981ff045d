"""Requests in a turn to take a statement back or to forget it (rows A26, X8; law 11).

Section `[retraction]` of the language files lists a few request forms. A form has to
match a whole part of a sentence without the words around it, so "I'm joking with Tom",
"don't forget the milk" and "are you kidding?" are none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.keep_requests import words_to_keep
from engram.core.language.languages import compiled
from engram.core.language.sentences import MASK, plain, sentences
from engram.core.language.topics import (
    content,
    is_about_user,
    is_attribute,
    is_question,
    tokens,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY = "retraction"
_SPLIT = re.compile(r"[,;:()—–。、，；：！!?？…\n]+|\.{2,}|\.(?=\s*$)|\s-+\s")
_NOISE = re.compile(r"[^\w\s'&/]+|_+|\s+")
_CODE = re.compile(r"[\w.+@-]*[\d@][\w.+@-]*\w|\d")
_MOST_CHARS = 2000
_MOST_OBJECT_WORDS = 16


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A request in the sentence `start` to `end` of a turn.

    `named` are the words for the statement; '' refers to the preceding one. The request
    begins at `cut`; the words before it in the sentence are withdrawn too, and those
    from `after` on are asserted ("Just kidding, I love it"). `untrue` marks a joke or a
    lie. If `unsure`, the words are a request only if they name something known ("forget
    Ralph", but not "forget the gym").
    """

    start: int
    end: int
    cut: int
    after: int
    language: str
    named: str = ""
    untrue: bool = False
    unsure: bool = False


def withdrawals(text: str) -> tuple[Withdrawal, ...]:
    """Return the requests in a turn, in order.

    >>> [one.untrue for one in withdrawals("I own a tiger. Just kidding!")]
    [True]
    >>> withdrawals("Forget what I told you about my trip to Rome.")[0].named
    'my trip to Rome'
    >>> withdrawals("Forget it. Are you kidding?")
    ()
    """
    if len(text) > _MOST_CHARS or not _forms_for(text):
        return ()
    masked = plain(text)
    found = (_of_sentence(masked, *place) for place in sentences(masked))
    return tuple(withdrawal for withdrawal in found if withdrawal)


def names(wish: Withdrawal, text: str) -> bool:
    """Return whether a statement contains the words that a request names.

    It must contain all of them; two thirds of the pairs of signs in scripts without
    blanks.
    """
    named_words = content(wish.named, wish.language)
    shared = named_words & tokens(text)
    if wish.language in languages.unspaced():
        return bool(named_words) and len(shared) * 3 >= len(named_words) * 2
    if is_attribute(named_words):  # "my address" is not that of a sister
        return is_about_user(text) and shared == named_words
    return bool(named_words) and shared == named_words


def codes(text: str) -> frozenset[str]:
    """Return the numbers, codes and addresses in a text, which count as a whole."""
    return frozenset(_CODE.findall(text.casefold()))


def named_codes(wish: Withdrawal, sentence: str) -> frozenset[str]:
    """Return the codes in the sentence of a request that are part of its object."""
    named = set(wish.named.casefold().split())
    return frozenset(
        code for code in codes(sentence) if named.issuperset(_normal(code).split())
    )


def _of_sentence(text: str, start: int, end: int) -> Withdrawal | None:
    sentence = text[start:end]
    if MASK in sentence or words_to_keep(sentence):
        return None
    asks = is_question(sentence)
    parts = [*_parts(sentence), (0, len(sentence), _normal(sentence))]
    for forms in _forms_for(sentence):
        for number, (first, last, words) in enumerate(parts, 1):
            bare, is_polite = forms.bare(words)
            if not bare or (asks and not is_polite):
                continue
            is_whole = number == len(parts)
            cut, after = start + first, start + last
            if untrue := forms.is_untrue(bare, alone=is_whole):
                return Withdrawal(start, end, cut, after, forms.code, untrue=untrue)
            if forms.that.fullmatch(bare):
                return Withdrawal(start, end, cut, after, forms.code)
            if sentence[first:last].rstrip().endswith((":", "：")):
                continue  # "Forget that my code: 7781" names the code
            if found := forms.object(bare, is_polite=is_polite):
                named, unsure = found
                after = start if unsure else end
                return Withdrawal(
                    start, end, start, after, forms.code, named, unsure=unsure
                )
    return None


@dataclass(frozen=True, slots=True)
class _Forms:
    """The request forms of one language.

    `forget` has a hole for the object; its group is `sure`, `polite` (a request only
    with "please" or "can you") or `known` (without them only if the object is known).
    """

    code: str
    around: re.Pattern[str]
    please: re.Pattern[str]
    joke: re.Pattern[str]
    untrue: re.Pattern[str]
    that: re.Pattern[str]
    forget: tuple[re.Pattern[str], ...]

    def bare(self, words: str) -> tuple[str, bool]:
        """Return words without those around a request, and whether these are polite."""
        bare, number = self.please.subn(" ", self.around.sub("", _normal(words)))
        return self.around.sub("", _normal(bare)), bool(number)

    def is_untrue(self, words: str, *, alone: bool) -> bool:
        """Return whether words say that a statement was a joke or a lie."""
        said = self.joke.fullmatch(words) or (alone and self.untrue.fullmatch(words))
        return bool(said)

    def object(self, words: str, *, is_polite: bool) -> tuple[str, bool] | None:
        """Return the object of a request to forget, and whether it must be known."""
        for form in self.forget:
            match = form.fullmatch(words)
            if not match or (match.lastgroup == "polite" and not is_polite):
                continue
            named = match[match.lastgroup or 0]
            if content(named, self.code) and len(named.split()) <= _MOST_OBJECT_WORDS:
                return named, match.lastgroup == "known" and not is_polite
        return None


def _parts(sentence: str) -> Iterator[tuple[int, int, str]]:
    """Yield the parts of a sentence: start, start of the next one, words."""
    start = 0
    for match in _SPLIT.finditer(sentence):
        yield start, match.end(), _normal(sentence[start : match.start()])
        start = match.end()
    yield start, len(sentence), _normal(sentence[start:])


def _normal(words: str) -> str:
    return _NOISE.sub(" ", words).strip()


def _forms_for(text: str) -> list[_Forms]:
    """Return the forms of the languages with a cue in the text, in linear time."""
    found = compiled(_cues()).Match(text.encode("utf-8", "replace")) or ()
    return [_forms()[place] for place in sorted(found)]


@cache
def _cues() -> tuple[str, ...]:
    """Return one pattern of cues for each language; a text without cues is skipped."""
    return tuple(languages.texts(_KEY, "cue").values())


@cache
def _forms() -> tuple[_Forms, ...]:
    """Return the forms of all languages, in the order of their cues."""
    return tuple(map(_of_language, languages.section(_KEY)))


_HOLES = {"<X>": "(?P<sure>.+?)", "<P>": "(?P<polite>.+?)", "<N>": "(?P<known>.+?)"}


def _of_language(code: str) -> _Forms:
    listed = languages.section(_KEY)[code]
    space = "" if code in languages.unspaced() else " "
    edge = "" if code in languages.unspaced() else r"\b"

    def any_of(key: str) -> str:
        return "|".join(languages.entries(listed[key])) if key in listed else "(?!)"

    def form(text: str) -> re.Pattern[str]:
        for hole, group in _HOLES.items():
            text = text.replace(hole, group)
        return re.compile(text, re.IGNORECASE)

    around = f"(?:{any_of('around')})"
    return _Forms(
        code,
        around=form(f"^(?:{around}(?:{space}|$))+|(?:(?:{space}|^){around})+$"),
        please=form(f"{edge}(?:{any_of('please')}){edge}|^(?:{any_of('ask')}){edge}"),
        joke=form(any_of("joke")),
        untrue=form(any_of("untrue")),
        that=form(any_of("that")),
        forget=tuple(map(form, languages.entries(listed["forget"]))),
    )
