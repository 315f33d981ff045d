"""What is right among the facts that were filed: the rule by which a fact meets a
golden one.

A fact is right if all its evidence stands in turns that the golden fact accepts, if all
keywords of one of its alternatives stand in the statement, if no forbidden word does,
and if every day it names is a day that the golden fact allows. A statement with a
denial or a doubt meets only an alternative that speaks of one.

Keywords are whole words, or beginnings of words with a `*`. `@` is the owner under any
name, `!` a denial that must be there, `?` one that may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import combinations
from typing import Any

from engram.core.language.words import STOP

Golden = Mapping[str, Any]

OWNER = (
    "nora",
    "noras",
    "user",
    "owner",
    "die person",
    "la persona",
    "la personne",
    "诺拉",
    "用户",
)
_DENYING = """
    no not never nor nothing without cannot can't won't don't doesn't didn't isn't wasn't aren't neither
    nicht kein keine keinen keinem keiner keines nie niemals ne pas jamais aucun nunca ningún ninguna sin 不 没
"""
_DOUBTING = """
    might maybe perhaps possibly probably apparently would if vielleicht vermutlich angeblich wenn würde
    peut-être quizás quizá si 也许 可能
"""
DENIALS, DOUBTS = _DENYING.split(), _DOUBTING.split()
NEARLY = 0.8
"""Share of common words from which two statements are near duplicates."""

MONTHS = tuple(
    "January February March April May June July August September October November December".casefold().split()
)
_WORDS = re.compile(r"\d+(?:[.,:]\d+)*\w*|[^\W\d_](?:\w|['’-](?=\w))*[+#]*")
_AS_OF = re.compile(r"\(as of [^)]*\)")
_NAMED_DAY = re.compile(
    rf"\b(?:(\d{{1,2}}) )?({'|'.join(MONTHS)}) (\d{{4}})\b|\b(\d{{4}})-(\d\d)-(\d\d)\b",
    re.IGNORECASE,
)
_NAMED_YEAR = re.compile(
    r"\b(?:in|of|since|until|from|by|before|after) (\d{4})\b", re.IGNORECASE
)
_UNSPACED = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Filed:
    """A fact as it stands in the vault.

    `turns` are the ids of its evidence, `said` is the text of the first and `spoken`
    its day; `quote` should stand in it. `begins` is the day from which the fact holds;
    `settled` says that it is a promise that was kept or called off, or a past plan.
    """

    id: str
    text: str
    category: str
    status: str
    turns: tuple[str, ...]
    said: str
    quote: str
    spoken: date | None
    begins: date | None
    settled: bool = False


@cache
def _keyword(word: str) -> re.Pattern[str]:
    if _UNSPACED.search(word):
        return re.compile(re.escape(word))
    tail = "" if word.endswith("*") else r"(?!\w|[+#]|[.,:]\d)"
    return re.compile(rf"(?<!\w)(?<!\d[.,:]){re.escape(word.removesuffix('*'))}{tail}")


def holds(plain: str, words: Sequence[str]) -> bool:
    """Whether one of `words` stands in a text in small letters."""
    return any(_keyword(word).search(plain) for word in words)


def _plain(text: str) -> str:
    return text.casefold().replace("’", "'")


def says(text: str, alternative: Sequence[str]) -> bool:
    """Whether the statement has every keyword of `alternative`, and denies or doubts
    only where that does.
    """
    plain = _plain(text)
    denied = holds(plain, DENIALS) or "n't" in plain
    if "!" in alternative and not denied:
        return False
    marks = {"!", "?", *DENIALS, *DOUBTS}
    if (denied or holds(plain, DOUBTS)) and marks.isdisjoint(alternative):
        return False
    return all(
        holds(plain, OWNER if word == "@" else (word,))
        for word in alternative
        if word not in {"!", "?"}
    )


def worded(fact: Filed, golden: Golden) -> bool:
    """Whether the evidence and the words are right; dates apart."""
    if (
        not fact.turns
        or not set(fact.turns) <= set(golden["turn"])
        or holds(_plain(fact.text), golden["not"])
    ):
        return False
    return any(says(fact.text, alternative) for alternative in golden["any"])


def dated(fact: Filed, golden: Golden) -> bool:
    """Whether every day that the fact begins at or names is one of the golden fact's;
    to name none is right.

    Where the golden fact has no day, the fact may hold from the day it was said. What
    the turn itself spells out needs no reckoning, nor does `(as of …)`, which is that
    day.
    """
    days = {
        date.fromisoformat(day)
        for day in (golden["when"], *golden.get("also_when", ()))
        if day
    }
    also = set() if golden["when"] else {fact.spoken}
    if fact.begins and fact.begins not in days | also:
        return False
    years = {
        found[1]
        for found in _NAMED_YEAR.finditer(_reckoned(fact))
        if found[1] not in fact.said
    }
    return years <= {str(day.year) for day in days} and all(
        _allowed(*named, days) for named in _named(fact)
    )


def _reckoned(fact: Filed) -> str:
    return _AS_OF.sub("", fact.text)


def _named(fact: Filed) -> Iterator[tuple[date, bool]]:
    """The days that the statement reckons out; a month without a day gives its first,
    and True.
    """
    for found in _NAMED_DAY.finditer(_reckoned(fact)):
        if found.group() in fact.said:
            continue
        day, month, year, *iso = found.groups()
        if iso[0]:
            yield date(*map(int, iso)), False
        else:
            yield (
                date(int(year), MONTHS.index(month.casefold()) + 1, int(day or 1)),
                day is None,
            )


def _allowed(day: date, is_whole_month: bool, days: set[date]) -> bool:  # noqa: FBT001
    return day in days or (
        is_whole_month
        and any((day.year, day.month) == (one.year, one.month) for one in days)
    )


def near_duplicates(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of statements with the same words, or nearly, that differ in no number,
    name or denial.
    """
    told = [(text, *_content(text)) for text in texts]
    return [
        (one, other)
        for (one, words, names), (other, others, further) in combinations(told, 2)
        if _are_near(words, others, names | further)
    ]


def _content(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a statement that carry meaning, and those of them that are names,
    numbers or denials.
    """
    found = _WORDS.findall(_AS_OF.sub("", text))
    stop = frozenset().union(*(STOP[code] for code in ("en", "de", "fr", "es"))) - set(
        DENIALS
    )
    small = [word.casefold() for word in found]
    telling = {word for word in small if word not in stop}
    names = {
        word.casefold() for word in found[1:] if word[0].isupper() or word[0].isdigit()
    }
    return frozenset(telling), frozenset(names | (telling & set(DENIALS)))


def _are_near(
    words: frozenset[str], others: frozenset[str], telling: frozenset[str]
) -> bool:
    if not words or not others or (words ^ others) & telling:
        return False
    return len(words & others) >= NEARLY * len(words | others)
