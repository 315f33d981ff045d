"""What a conversation adds to the score of a row: arrays in, arrays out, one value for
each candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from engram.index.stems import MONTH, WEEKDAY, YEAR, date_word

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from engram.core.policy import LexicalPolicy
    from engram.core.ranking import Question
    from engram.index.columns import Bools, Columns, Floats, Ints, Places

_EPOCH_DAY = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Term:
    """One word of the question: where it stands, and what it is worth there before
    saturation.

    `meant` are also the rows of words akin to it, with what stands there in `worth`; a
    `faint` word says only how one asks.
    """

    word: str
    weight: float
    rows: Places
    counts: Floats
    meant: Places
    worth: Floats
    faint: bool = False


@dataclass(frozen=True, slots=True)
class Links:
    """Steps to neighbours, the nearest first: from which places among the candidates,
    to which rows, and what the words there weigh.
    """

    places: Places
    rows: Places
    weights: Floats


@dataclass(frozen=True, slots=True)
class Match:
    """Counts of one term: a row's own, with words akin to it, with its date's, with its
    neighbours' too.
    """

    weight: float
    own: Floats
    akin: Floats
    dated: Floats
    full: Floats


class Saturation:
    """Okapi's curve over rows of these lengths: count·(k1 + 1) / (count + k1·(1 − b +
    b·length/average)).
    """

    def __init__(self, k1: float, b: float, lengths: Ints, average: float) -> None:
        self._gain = k1 + 1
        norm = k1 * (1 - b + b * lengths / (average or 1.0))
        # an empty row would divide 0 by 0
        self._norm = np.maximum(norm, np.finfo(float).tiny)

    def __call__(self, counts: Floats) -> Floats:
        """The worth of these counts, one for each row."""
        worth: Floats = counts * self._gain / (counts + self._norm)
        return worth

    def at(self, places: Sequence[int]) -> Saturation:
        """The same curve for some of the rows."""
        some = object.__new__(Saturation)
        some._gain, some._norm = self._gain, self._norm[places]
        return some


def meant(
    rows: Places,
    counts: Floats,
    akin: Sequence[tuple[float, Places]],
    lengths: Ints,
    policy: LexicalPolicy,
) -> tuple[Places, Floats]:
    """Where a word stands or one akin to it, and its count there: of those akin the
    best, as a share of a count.

    `akin` has that share, 0–1, and the rows of each. In a unit longer than
    `short_words` it counts less: a long text has a word of everything.
    """
    shares = np.repeat([share for share, _ in akin], [len(some) for _, some in akin])
    others = np.concatenate([some for _, some in akin])
    shares *= np.minimum(1, policy.short_words / np.maximum(lengths[others], 1))
    order = np.lexsort((-shares, others))
    others, shares = others[order], shares[order]
    best = np.diff(others, prepend=-1) > 0
    every, place = np.unique(np.concatenate([rows, others[best]]), return_inverse=True)
    return every, np.bincount(place, np.concatenate([counts, shares[best]])).astype(
        np.float64
    )


def links(
    columns: Columns, rows: Places, policy: LexicalPolicy, helping: Bools
) -> Links:
    """The neighbours of `rows` that may help to find them, a truth for each row of the
    index.

    What must not be found must not help to find either, and what holds nothing cannot.

    A neighbour weighs `back` or `forward` over its distance, less if it is long; before
    an answer it weighs more if it asks.
    """
    before, after = (
        _walked(columns[direction], rows, policy.radius, helping)
        for direction in ("before", "after")
    )
    places, beside = (np.concatenate(both) for both in zip(before, after, strict=True))
    far = np.maximum(
        np.abs(columns["position"][rows[places]] - columns["position"][beside]), 1
    )
    weights = (
        np.repeat([policy.back, policy.forward], [len(before[0]), len(after[0])]) / far
    )
    weights *= np.minimum(
        1, policy.neighbour_words / np.maximum(columns["length"][beside], 1)
    )
    earlier = slice(len(before[0]))
    weights[earlier] *= 1 + policy.answer * (
        columns["asks"][beside[earlier]] & (far[earlier] == 1)
    )
    weights *= far <= policy.radius
    return Links(places, beside, weights)


def _walked(
    link: Ints, rows: Places, radius: int, helping: Bools
) -> tuple[Places, Places]:
    """The places of `rows` from which a helping row is reached in up to `radius` steps,
    and that row, step by step.
    """
    step, places = rows, np.arange(len(rows))
    found = [(places[:0], step[:0])]
    for _ in range(radius):
        step = link[step].astype(np.intp)
        there = step > 0
        step, places = step[there], places[there]
        helps = helping[step]
        found.append((places[helps], step[helps]))
    return np.concatenate([some for some, _ in found]), np.concatenate(
        [some for _, some in found]
    )


def dated(word: str, days: Ints) -> Bools:
    """Whether `word` names the month, the weekday, the year or the day of the month of
    these days (0: none).
    """
    part, value = date_word(word)
    if not part or not days.any():
        return np.zeros(len(days), np.bool_)
    first, last = int(days[days > 0].min()), int(days.max())
    if last - first < len(days):  # fewer dates than rows: each is looked at once
        dates = _named(part, value, np.arange(first, last + 1, dtype=np.int32))
        named: Bools = dates[np.maximum(days - first, 0)] & (days > 0)
        return named
    return _named(part, value, days) & (days > 0)


def _named(part: str, value: int, days: Ints) -> Bools:
    dates = (days - _EPOCH_DAY).astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    if part == WEEKDAY:
        found = (days - 1) % 7
    elif part == MONTH:
        found = months.astype(int) % 12 + 1
    elif part == YEAR:
        found = months.astype("datetime64[Y]").astype(int) + 1970
    else:
        found = (dates - months).astype(int) + 1
    named: Bools = found == value
    return named


def evidence(threads: Ints, given: Sequence[Floats], permitted: Bools) -> Floats:
    """What each row's thread as a whole has of the question: the sum over terms of its
    best row.

    A row without a thread (0) speaks for itself.
    """
    group = threads.astype(np.intp)
    total = np.zeros(int(group.max(initial=0)) + 1)
    for contribution in given:
        best = np.zeros(len(total))
        np.maximum.at(best, group, np.where(permitted, contribution, 0))
        total += best
    alone: Floats = np.where(permitted, sum(given, np.zeros(len(group))), 0)
    return np.where(group > 0, total[group], alone)


def boosts(
    columns: Columns,
    rows: Places,
    question: Question,
    policy: LexicalPolicy,
    spoke: Collection[int],
    role: int,
) -> dict[str, Floats]:
    """Shares of its worth that a row gains or loses for who said it, and how.

    `spoke` are the speakers the question names, `role` the side it is about (−1:
    neither).
    """
    found: dict[str, Floats] = {"question": -policy.question * columns["asks"][rows]}
    if spoke:
        found["speaker"] = np.where(
            np.isin(columns["speaker"][rows], sorted(spoke)), policy.speaker, 0.0
        )
    if role >= 0:
        found["role"] = policy.role * (columns["role"][rows] == role)
    if question.wants_time:
        found["when"] = policy.when * columns["timed"][rows]
    if question.wants_number:
        found["counted"] = policy.counted * columns["counted"][rows]
    if role >= 0 and question.about_self:
        found["telling"] = policy.telling * (
            columns["telling"][rows] & (columns["role"][rows] == role)
        )
    return found


def inside(question: Question, when: Floats) -> Bools:
    """Which times fall into the time the question names."""
    if question.span is None:
        return np.zeros(len(when), np.bool_)
    found: Bools = (when >= question.span.start.timestamp()) & (
        when < question.span.end.timestamp()
    )
    return found


def then(question: Question, columns: Columns, size: int) -> Bools:
    """Which of the first `size` rows are of the time that the question names: a span,
    or months and weekdays.
    """
    found = inside(question, columns["when"][:size])
    named = [word for word in question.words if date_word(word)[0] in {MONTH, WEEKDAY}]
    if named:
        found |= np.logical_and.reduce(
            [dated(word, columns["day"][:size]) for word in named]
        )
    return found


def layers(
    matches: Sequence[Match], saturated: Saturation, best: Sequence[int]
) -> dict[str, Floats]:
    """The worth of some rows in layers: their own words, then those akin, then their
    dates', then their neighbours'.
    """
    curve, nothing = saturated.at(best), np.zeros(len(best))
    found, below = {}, nothing
    for name, counts in (
        ("text", "own"),
        ("akin", "akin"),
        ("date", "dated"),
        ("neighbours", "full"),
    ):
        upto: Floats = sum(
            (match.weight * curve(getattr(match, counts)[best]) for match in matches),
            nothing,
        )
        found[name], below = upto - below, upto
    return found


def first(
    score: Floats, shown: Bools, k: int, keys: Callable[[Places], Iterable[str]]
) -> list[int]:
    """Places of the `k` best scores above 0 that may be shown, ties by key."""
    places = np.flatnonzero(shown & (score > 0))
    if len(places) > k:
        least = np.partition(score[places], -k)[-k]
        places = places[score[places] >= least]
    ordered = sorted(
        zip((-score[places]).tolist(), keys(places), places.tolist(), strict=True)
    )
    return [place for _, _, place in ordered[:k]]


def held(matches: Sequence[Match], places: Places | list[int]) -> list[int]:
    """Which words the rows at these places hold themselves: two bits a word, the lower
    one also for words akin to it.

    Of a question of more than 31 words the first ones count.
    """
    bits = np.zeros(len(places), np.int64)
    for place, match in enumerate(matches[:31]):
        bits |= (match.akin[places] > 0).astype(np.int64) << 2 * place
        bits |= (match.own[places] > 0).astype(np.int64) << 2 * place + 1
    found: list[int] = bits.tolist()
    return found


def at_rank(parts: Callable[[], Mapping[str, Floats]], rank: int) -> dict[str, float]:
    """The parts of one score, by name, out of arrays that hold those of all; zeros are
    left out.
    """
    return {
        name: value
        for name, values in parts().items()
        if (value := float(values[rank]))
    }
