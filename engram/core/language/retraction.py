"""Retractions in a turn, and wishes to forget something (rows A26, X8; law 11).

A closed table by language, in section `[retraction]` of the language files. A part of a
sentence has to consist entirely of such words, so "I'm joking with Tom", "don't forget
the milk" and "are you kidding?" retract nothing. Words of other authors, and questions
without a wish, are ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from engram.core.language import languages
from engram.core.language.sentences import MASK, plain, sentences
from engram.core.language.signals import compiled
from engram.core.language.topics import (
    content,
    is_about_user,
    is_attribute,
    is_denied,
    is_question,
    tokens,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_KEY = "retraction"
_SPLIT = re.compile(
    r"[,;:()—–。、，；：！!?？…\n]+|\.{2,}|\.(?=\s*$)|\s-+\s"
    rf"|\s(?:{languages.any_pattern(_KEY, 'but')})\s",
    re.IGNORECASE,
)
_NOISE = re.compile(r"[^\w\s'&/]+|_+")
_BLANKS = re.compile(r"\s+")
_MOST_CHARS = 2000
_MOST_OBJECT_WORDS = 16

Kind = Literal["untrue", "unsaid", "forget"]


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A part of a turn that retracts a statement.

    `start` and `end` are the span of its sentence in the turn. The retraction begins at
    `cut`; the words before it in the sentence are retracted too. The words from `after`
    on are asserted: "Just kidding, I love it". `named` are the words for the retracted
    statement; '' refers to the preceding one. `old` is true if only former states are
    meant, `known` if the words are a wish only if they name something known ("forget
    Ralph", but not "forget the gym"), `whole` if the rest of the turn is meant as well, `bare` if the sentence has
    no other words.
    """

    kind: Kind
    start: int
    end: int
    cut: int
    named: str = ""
    old: bool = False
    whole: bool = False
    language: str = "en"
    bare: bool = True
    after: int = 0
    known: bool = False


def withdrawals(text: str) -> tuple[Withdrawal, ...]:
    """Return the retractions in a turn, in order.

    >>> [one.kind for one in withdrawals("I own a tiger. Just kidding!")]
    ['untrue']
    >>> withdrawals("Forget what I told you about my trip to Rome.")[0].named
    'my trip to Rome'
    >>> withdrawals("Forget it. Are you kidding?")
    ()
    """
    if len(text) > _MOST_CHARS or not _tables_for(text):
        return ()
    masked = plain(text)
    found = (_of_sentence(masked, *place) for place in sentences(masked))
    return tuple(withdrawal for withdrawal in found if withdrawal)


def _tables_for(text: str) -> list[_Table]:
    """Return the tables of the languages with a cue in the text, in linear time."""
    found = compiled(_cues()).Match(text.encode("utf-8", "replace")) or ()
    return [_tables()[place] for place in sorted(found)]


def _of_sentence(text: str, start: int, end: int) -> Withdrawal | None:
    sentence = text[start:end]
    if MASK in sentence:
        return None
    asks = is_question(sentence)
    for table in _tables_for(sentence):
        if found := table.wish(sentence, asks=asks):
            return replace(found, start=start, end=end, cut=start, after=end)
        if not asks and (found_at := table.retraction(sentence)):
            kind, cut, after, bare = found_at
            return Withdrawal(
                kind,
                start,
                end,
                start + cut,
                language=table.code,
                bare=bare,
                after=start + after,
            )
    return None


@dataclass(frozen=True, slots=True)
class _Table:
    """The patterns of one language; each has to match a whole part of a sentence."""

    code: str
    untrue: re.Pattern[str]
    ending: re.Pattern[str]
    unsaid: re.Pattern[str]
    filler: re.Pattern[str]
    before: re.Pattern[str]
    forget: re.Pattern[str]
    just_said: re.Pattern[str]
    polite: re.Pattern[str]
    old: re.Pattern[str]
    object_end: re.Pattern[str]
    generic: re.Pattern[str]

    def retraction(self, sentence: str) -> tuple[Kind, int, int, bool] | None:
        """Return the retracting part of a sentence as kind, start, next start and flag.

        The flag is true if the sentence has no other words. Next to other statements a
        part counts only if it has no other meaning.
        """
        parts = list(_parts(sentence))
        whole = _normal(" ".join(words for _, words in parts))
        if kind := self._kind(whole, alone=True):
            return kind, 0, len(sentence), True
        others = [
            words
            for _, words in parts
            if not self.filler.fullmatch(words) and not self.before.fullmatch(words)
        ]
        ends = [place for place, _ in parts[1:]] + [len(sentence)]
        for (place, words), end in zip(parts, ends, strict=True):
            alone = others[:1] == [words] or all(
                statement == words or is_denied(statement) for statement in others
            )
            if kind := self._kind(words, alone=alone):
                return kind, place, end, others == [words]
        return None

    def _kind(self, words: str, *, alone: bool) -> Kind | None:
        if self.ending.fullmatch(words) or (alone and self.untrue.fullmatch(words)):
            return "untrue"
        return "unsaid" if self.unsaid.fullmatch(words) else None

    def wish(self, sentence: str, *, asks: bool) -> Withdrawal | None:
        """Return the wish to forget in a sentence, without its place."""
        for words in _runs([words for _, words in _parts(sentence)]):
            polite = self.polite.match(words)
            bare = words[polite.end() :] if polite else words
            if asks and not polite:
                continue
            if match := self.just_said.fullmatch(bare):
                whole = bool(match.groupdict().get("this"))
                return Withdrawal("forget", 0, 0, 0, whole=whole, language=self.code)
            match = self.forget.fullmatch(bare)
            if not match:
                continue
            for key, named in match.groupdict().items():
                if named and (polite or not key.startswith("polite")):
                    return self._object(named, known=key == "known")
        return None

    def _object(self, named: str, *, known: bool) -> Withdrawal | None:
        named = self.object_end.split(named)[0].strip()
        is_old = bool(self.old.search(named))
        if is_old:
            named = _BLANKS.sub(" ", self.old.sub(" ", named)).strip()
        bare = _BLANKS.sub(" ", self.generic.sub(" ", named)).strip()
        if (
            not bare
            or len(bare.split()) > _MOST_OBJECT_WORDS
            or not content(bare, self.code)
        ):
            return None
        return Withdrawal(
            "forget", 0, 0, 0, bare, is_old, language=self.code, known=known
        )


def _parts(sentence: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of a sentence: their position, and their words without signs."""
    start = 0
    for match in _SPLIT.finditer(sentence):
        if words := _normal(sentence[start : match.start()]):
            yield start, words
        start = match.end()
    if words := _normal(sentence[start:]):
        yield start, words


def _runs(parts: Sequence[str]) -> Iterator[str]:
    """Yield neighbouring parts joined, the shortest first: "vergiss, was ich …"."""
    for length in range(1, len(parts) + 1):
        for first in range(len(parts) - length + 1):
            yield " ".join(parts[first : first + length])


def _normal(words: str) -> str:
    return _BLANKS.sub(" ", _NOISE.sub(" ", words)).strip()


_NEVER = re.compile(r"(?!)")


@cache
def _cues() -> tuple[str, ...]:
    """Return one pattern of cues for each language; a text without cues is skipped."""
    return tuple(map(languages.pattern, languages.texts(_KEY, "cue").values()))


@cache
def _tables() -> tuple[_Table, ...]:
    """Return the tables of all languages, in the order of their cues."""
    return tuple(map(_table, languages.texts(_KEY, "cue")))


def _table(code: str) -> _Table:
    texts = {
        key: languages.pattern(languages.texts(_KEY, key)[code])
        for key in languages.keys(_KEY)
        if code in languages.texts(_KEY, key)
    }
    space = "" if code in languages.unspaced() else " "
    around = (
        f"(?:(?:{texts['before']}){space})*" if "before" in texts else "",
        f"(?:{space}(?:{texts['after']}))*" if "after" in texts else "",
    )

    def framed(key: str) -> re.Pattern[str]:
        if key not in texts:
            return _NEVER
        whole = f"{around[0]}(?:{texts[key]}){around[1]}"
        return re.compile(whole, re.IGNORECASE)

    def bare(key: str) -> re.Pattern[str]:
        return re.compile(texts[key], re.IGNORECASE) if key in texts else _NEVER

    return _Table(
        code,
        untrue=framed("untrue"),
        ending=framed("ending"),
        unsaid=framed("unsaid"),
        filler=bare("filler"),
        before=bare("before"),
        forget=bare("forget"),
        just_said=framed("just_said"),
        polite=bare("polite"),
        old=bare("old"),
        object_end=bare("object_end"),
        generic=bare("generic"),
    )


# -- reach -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    """A sentence of a user's turn; `turn` is the key of the turn."""

    turn: str
    text: str


def reach(sentences_before: Sequence[SpokenSentence]) -> tuple[SpokenSentence, ...]:
    """Return the sentences that a later retraction concerns, the last one first.

    They are the last statement and the preceding ones on the same subject: two
    sentences share a word, or the later one begins with a pronoun. A turn about another
    subject ends the sequence, and so does a question about something else.
    """
    found: list[SpokenSentence] = []
    for earlier in reversed(sentences_before):
        if (
            withdrawals(earlier.text)
            or not content(earlier.text)
            or _is_filler(earlier.text)
        ):
            continue
        if is_question(earlier.text):
            if not found and len(content(earlier.text)) > 1:
                break
            continue
        if found and not _continues_subject(found[-1].text, earlier.text):
            break
        found.append(earlier)
    return tuple(found)


def is_statement(text: str) -> bool:
    """Return whether a sentence is a statement that can be retracted."""
    says_nothing = withdrawals(text) or not content(text) or _is_filler(text)
    return not says_nothing and not is_question(text)


def _is_filler(text: str) -> bool:
    """Return whether a sentence has no content, like "haha, sorry"."""
    words = _normal(text)
    return any(table.filler.fullmatch(words) for table in _tables())


def _continues_subject(later: str, earlier: str) -> bool:
    """Return whether a sentence has the same subject as the preceding one."""
    if _pronoun().match(later.strip().casefold()):
        return True
    return bool((content(later) & content(earlier)) - _words_for_likes())


@cache
def _pronoun() -> re.Pattern[str]:
    return re.compile(f"(?:{languages.any_pattern(_KEY, 'goes_on')})")


@cache
def _words_for_likes() -> frozenset[str]:
    """Return words for likes; two statements with one may have different subjects."""
    return content(" ".join(languages.all_words("similarity", "liking")))


def names(wish: Withdrawal, text: str) -> bool:
    """Return whether a statement contains the words that a wish names.

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


_CODE = re.compile(r"[\w.+@-]*[\d@][\w.+@-]*\w|\d")


def codes(text: str) -> frozenset[str]:
    """Return the numbers, codes and addresses in a text, which count as a whole."""
    return frozenset(_CODE.findall(text.casefold()))


def named_codes(wish: Withdrawal, sentence: str) -> frozenset[str]:
    """Return the codes in the sentence of a wish that are part of its object."""
    named = set(wish.named.casefold().split())
    return frozenset(
        code for code in codes(sentence) if named.issuperset(_normal(code).split())
    )


def is_past(wish: Withdrawal, text: str) -> bool:
    """Return whether a statement is about the past itself: "my old address was …"."""
    table = next(table for table in _tables() if table.code == wish.language)
    return table.old.search(text) is not None
