"""What a turn takes back, or wishes to be forgotten (rows A26, X8; law 11).

A closed table by language, in section `[retraction]` of the language files. A part of a
sentence has to consist of nothing but such words, so "I'm joking with Tom", "don't
forget the milk" and "are you kidding?" take nothing back. What somebody else wrote, and
questions that wish nothing, say nothing here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from engram.core.language import languages
from engram.core.language.paraphrase import (
    content,
    fingerprint,
    is_attribute,
    is_denied,
    is_question,
    tokens,
)
from engram.core.language.sentences import MASK, plain, sentences
from engram.core.language.signals import compiled

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
    """A part of a turn that takes something back.

    `start` and `end` are its sentence in the turn, `cut` the place in it from which on
    the part stands: what is before it in the sentence is taken back too, what is from
    `after` on is true: "Just kidding, I love it". `named` are the
    words for what is meant; '' means what was said just before. `old` says that only
    what is over is meant, `whole` that the rest of the turn is meant as well, `bare` that
    the sentence says nothing else.
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


def withdrawals(text: str) -> tuple[Withdrawal, ...]:
    """Return what a turn takes back, in order.

    >>> [one.kind for one in withdrawals("I own a tiger. Just kidding!")]
    ['untrue']
    >>> withdrawals("Forget what I told you about my trip to Rome.")[0].named
    'my trip to Rome'
    >>> withdrawals("Forget it. Are you kidding?")
    ()
    """
    if len(text) > _MOST_CHARS or not _spoken(text):
        return ()
    masked = plain(text)
    found = (_of_sentence(masked, *place) for place in sentences(masked))
    return tuple(one for one in found if one)


def _spoken(text: str) -> list[_Table]:
    """Return the tables of the languages of which a cue is there, in linear time."""
    found = compiled(_cues()).Match(text.encode("utf-8", "replace")) or ()
    return [_tables()[place] for place in sorted(found)]


def _of_sentence(text: str, start: int, end: int) -> Withdrawal | None:
    sentence = text[start:end]
    if MASK in sentence:
        return None
    asks = is_question(sentence)
    for table in _spoken(sentence):
        if found := table.wish(sentence, asks=asks):
            named, old, whole = found
            return Withdrawal(
                "forget", start, end, start, named, old, whole, table.code, after=end
            )
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
    """The patterns of one language; each has to match a part from end to end."""

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
        """Return the kind of the part that takes back, if there is one, and its place.

        Then comes where the next part begins, and whether the sentence says nothing
        else. Beside other statements only a part counts that can mean nothing else.
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
                one == words or is_denied(one) for one in others
            )
            if kind := self._kind(words, alone=alone):
                return kind, place, end, others == [words]
        return None

    def _kind(self, words: str, *, alone: bool) -> Kind | None:
        if self.ending.fullmatch(words) or (alone and self.untrue.fullmatch(words)):
            return "untrue"
        return "unsaid" if self.unsaid.fullmatch(words) else None

    def wish(self, sentence: str, *, asks: bool) -> tuple[str, bool, bool] | None:
        """Return what a sentence wishes to be forgotten: words, old, the whole turn."""
        for words in _runs([words for _, words in _parts(sentence)]):
            polite = self.polite.match(words)
            bare = words[polite.end() :] if polite else words
            if asks and not polite:
                continue
            if found := self.just_said.fullmatch(bare):
                return "", False, "this" in found.groupdict() and bool(found["this"])
            found = self.forget.fullmatch(bare)
            named = found and next(
                (
                    said
                    for key, said in found.groupdict().items()
                    if said and (polite or not key.startswith("polite"))
                ),
                None,
            )
            if named:
                return self._object(named)
        return None

    def _object(self, named: str) -> tuple[str, bool, bool] | None:
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
        return bare, is_old, False


def _parts(sentence: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of a sentence: their place, and their words without signs."""
    start = 0
    for found in _SPLIT.finditer(sentence):
        if words := _normal(sentence[start : found.start()]):
            yield start, words
        start = found.end()
    if words := _normal(sentence[start:]):
        yield start, words


def _runs(parts: Sequence[str]) -> Iterator[str]:
    """Yield neighbouring parts as one, the shortest first: "vergiss, was ich …"."""
    for length in range(1, len(parts) + 1):
        for first in range(len(parts) - length + 1):
            yield " ".join(parts[first : first + length])


def _normal(words: str) -> str:
    return _BLANKS.sub(" ", _NOISE.sub(" ", words)).strip()


_NEVER = re.compile(r"(?!)")


@cache
def _cues() -> tuple[str, ...]:
    """One pattern for each language; without it nothing else is looked at."""
    return tuple(map(languages.pattern, languages.texts(_KEY, "cue").values()))


@cache
def _tables() -> tuple[_Table, ...]:
    """The tables of all languages, in the order of their cues."""
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


# -- how far it reaches ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of a user's turn; `turn` is the key of the turn."""

    turn: str
    text: str


def reach(said: Sequence[Said]) -> tuple[Said, ...]:
    """Return the sentences that a retraction after them takes back, the last first.

    It is the last statement, and those before it that it goes on about: they share a
    word, or the later one begins with a pronoun. A turn of another subject ends it, and
    so does a question about something else.
    """
    found: list[Said] = []
    for one in reversed(said):
        if withdrawals(one.text) or not content(one.text) or _is_filler(one.text):
            continue
        if is_question(one.text):
            if not found and len(content(one.text)) > 1:
                break
            continue
        if found and not _goes_on(found[-1].text, one.text):
            break
        found.append(one)
    return tuple(found)


def is_statement(text: str) -> bool:
    """Return whether a sentence says something that may be taken back."""
    says_nothing = withdrawals(text) or not content(text) or _is_filler(text)
    return not says_nothing and not is_question(text)


def _is_filler(text: str) -> bool:
    """Whether a sentence says nothing, like "haha, sorry"."""
    words = _normal(text)
    return any(table.filler.fullmatch(words) for table in _tables())


def _goes_on(later: str, earlier: str) -> bool:
    """Whether a sentence is about what the one before it is about."""
    if _pronoun().match(later.strip().casefold()):
        return True
    shared = content(later) & content(earlier)
    known = fingerprint(later)
    return bool(shared) and known is not None and bool(shared - _liking())


@cache
def _pronoun() -> re.Pattern[str]:
    return re.compile(f"(?:{languages.any_pattern(_KEY, 'goes_on')})")


@cache
def _liking() -> frozenset[str]:
    """Words by which two statements are about one person's tastes, not one subject."""
    return content(" ".join(languages.all_words("similarity", "liking")))


def names(wish: Withdrawal, text: str) -> bool:
    """Return whether a statement has the words by which a wish names what it means.

    All of them; two thirds of the pairs of signs in scripts without blanks.
    """
    wanted = content(wish.named, wish.language)
    shared = wanted & tokens(text)
    if wish.language in languages.unspaced():
        return bool(wanted) and len(shared) * 3 >= len(wanted) * 2
    if is_attribute(wanted):  # "my address" is not that of a sister
        known = fingerprint(text)
        return known is not None and known.own and shared == wanted
    return bool(wanted) and shared == wanted


def is_past(wish: Withdrawal, text: str) -> bool:
    """Return whether a statement says itself that it is over: "my old address was …"."""
    table = next(table for table in _tables() if table.code == wish.language)
    return table.old.search(text) is not None
