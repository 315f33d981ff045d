"""The contribution of a conversation to the score of a row, as array functions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from engram.index.stems import MONTH, WEEKDAY, YEAR, date_word

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from engram.core.policy import LexicalPolicy
    from engram.core.ranking import Question
    from engram.index.columns import Bools, Columns, Floats, Ints, Places

_EPOCH_DAY = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Term:
    """One word of the question with its postings in visible rows.

    `counts` are numbers of occurrences. `expanded_rows` and `expanded_counts` include
    those of synonyms, as shares of a count. `weight` is the value of an occurrence; a
    `faint` word belongs only to the form of the question.
    """

    word: str
    weight: float
    rows: Places
    counts: Floats
    expanded_rows: Places
    expanded_counts: Floats
    faint: bool = False


@dataclass(frozen=True, slots=True)
class Links:
    """Neighbours of candidates, the nearest first.

    `places` are the indices of the candidates, `rows` the neighbours, `weights` the
    value of a word in a neighbour.
    """

    places: Places
    rows: Places
    weights: Floats


@dataclass(frozen=True, slots=True)
class Match:
    """The counts of one term for each candidate, in growing order.

    `own` are those of the row, `akin` include synonyms, `dated` the words of its date,
    `full` the words of its neighbours.
    """

    weight: float
    own: Floats
    akin: Floats
    dated: Floats
    full: Floats


class Saturation:
    """The curve of Okapi BM25 over rows of these lengths.

    count·(k1 + 1) / (count + k1·(1 − b + b·length/average))
    """

    def __init__(self, k1: float, b: float, lengths: Ints, average: float) -> None:
        self._gain = k1 + 1
        norm = k1 * (1 - b + b * lengths / (average or 1.0))
        # an empty row would divide 0 by 0
        self._norm = np.maximum(norm, np.finfo(float).tiny)

    def __call__(self, counts: Floats) -> Floats:
        """Return the value of these counts, one for each row."""
        worth: Floats = counts * self._gain / (counts + self._norm)
        return worth

    def at(self, place: int | list[int]) -> Saturation:
        """Return the same curve for one or some of the rows."""
        curve = object.__new__(Saturation)
        curve._gain, curve._norm = self._gain, self._norm[place]
        return curve


def expand(
    rows: Places,
    counts: Floats,
    akin: Sequence[tuple[float, Places]],
    lengths: Ints,
    policy: LexicalPolicy,
) -> tuple[Places, Floats]:
    """Return the rows of a word or of its synonyms, with their counts.

    `akin` has for each synonym its share of a count, 0–1, and its rows; of several
    synonyms in a row the best counts. In a unit longer than `short_words` they count
    less.
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
    """Return the neighbours of `rows` that contribute to their scores.

    `helping` is true for each row of the index that may contribute: a row that must not
    be found must not contribute either. The weight of a neighbour is `back` or
    `forward` over its distance, less if it is long; a question before an answer has a
    higher one.
    """
    before, after = (
        _reached(columns[direction], rows, policy.radius, helping)
        for direction in ("before", "after")
    )
    places, neighbours = (
        np.concatenate(both) for both in zip(before, after, strict=True)
    )
    far = np.maximum(
        np.abs(columns["position"][rows[places]] - columns["position"][neighbours]), 1
    )
    weights = (
        np.repeat([policy.back, policy.forward], [len(before[0]), len(after[0])]) / far
    )
    weights *= np.minimum(
        1, policy.neighbour_words / np.maximum(columns["length"][neighbours], 1)
    )
    earlier = slice(len(before[0]))
    weights[earlier] *= 1 + policy.answer * (
        columns["asks"][neighbours[earlier]] & (far[earlier] == 1)
    )
    weights *= far <= policy.radius
    return Links(places, neighbours, weights)


def _reached(
    link: Ints, rows: Places, radius: int, helping: Bools
) -> tuple[Places, Places]:
    """Return places of `rows` and the helping rows within `radius` steps of them."""
    step, places = rows, np.arange(len(rows))
    found = [(places[:0], step[:0])]
    for _ in range(radius):
        step = link[step].astype(np.intp)
        exists = step > 0
        step, places = step[exists], places[exists]
        helps = helping[step]
        found.append((places[helps], step[helps]))
    return np.concatenate([some for some, _ in found]), np.concatenate(
        [some for _, some in found]
    )


def date_matches(word: str, days: Ints) -> Bools:
    """Return whether `word` names a part of these days, for each of them.

    A part is the month, the weekday, the year or the day of the month; days are
    ordinals, 0 for none.
    """
    part, value = date_word(word)
    if not part or not days.any():
        return np.zeros(len(days), np.bool_)
    first, last = int(days[days > 0].min()), int(days.max())
    if last - first < len(days):  # fewer dates than rows: each date is compared once
        dates = _names_part(part, value, np.arange(first, last + 1, dtype=np.int32))
        named: Bools = dates[np.maximum(days - first, 0)] & (days > 0)
        return named
    return _names_part(part, value, days) & (days > 0)


def _names_part(part: str, value: int, days: Ints) -> Bools:
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


def thread_evidence(threads: Ints, given: Sequence[Floats], permitted: Bools) -> Floats:
    """Return for each row the evidence of its whole thread.

    It is the sum over terms of the best row in the thread. A row without a thread (0)
    counts alone.
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
    speakers: Collection[int],
    role: int,
) -> dict[str, Floats]:
    """Return the gains and losses of rows by speaker and features, as shares.

    A share is relative to the row's score. `spoke` are the codes of the speakers that
    the question names, `role` the code of the role it is about (−1: none).
    """
    found: dict[str, Floats] = {"question": -policy.question * columns["asks"][rows]}
    if speakers:
        found["speaker"] = np.where(
            np.isin(columns["speaker"][rows], sorted(speakers)), policy.speaker, 0.0
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


def in_span(question: Question, when: Floats) -> Bools:
    """Return whether each time is in the span that the question names."""
    if question.span is None:
        return np.zeros(len(when), np.bool_)
    found: Bools = (when >= question.span.start.timestamp()) & (
        when < question.span.end.timestamp()
    )
    return found


def at_named_time(question: Question, columns: Columns, size: int) -> Bools:
    """Return which of the first `size` rows are in the time that the question names.

    It names a span, or months and weekdays.
    """
    found = in_span(question, columns["when"][:size])
    named = [word for word in question.words if date_word(word)[0] in {MONTH, WEEKDAY}]
    if named:
        found |= np.logical_and.reduce(
            [date_matches(word, columns["day"][:size]) for word in named]
        )
    return found


def layers(
    matches: Sequence[Match], saturated: Saturation, place: int
) -> dict[str, float]:
    """Return the score of the candidate at `place` in layers.

    The layers are the words of its row, synonyms, its date and its neighbours.
    """
    counts = np.array(
        [
            (match.own[place], match.akin[place], match.dated[place], match.full[place])
            for match in matches
        ]
    ).reshape(-1, 4)
    weights = np.array([match.weight for match in matches])
    gained = np.diff(saturated.at(place)(counts), axis=1, prepend=0)
    names = ("text", "akin", "date", "neighbours")
    return dict(zip(names, (weights @ gained).tolist(), strict=True))


def own_evidence(
    terms: Sequence[Term],
    matches: Sequence[Match],
    saturated: Saturation,
    places: list[int],
    named: Bools,
) -> tuple[list[float], list[float]]:
    """Return for the candidates at `places` what they score and cover by themselves.

    The first is the score by their own words, synonyms and date; the second the share,
    0–1, of the question's weight that these contain. `named` tells for each term, in
    rows, which of them have it as the name of their speaker. The share is 0 for a
    candidate that only was told at a time which the question names, if it has other
    words that are not faint.
    """
    if not terms:
        return [0.0] * len(places), [0.0] * len(places)
    dated = np.array([match.dated for match in matches])[:, places]
    akin = np.array([match.akin for match in matches])[:, places]
    # sums, for the last digit of a product of matrices depends on the other places
    weights = np.array([[match.weight] for match in matches])
    own = (weights * saturated.at(places)(dated)).sum(axis=0)
    weights = np.array([[term.weight] for term in terms])
    covered = (weights * np.maximum(np.minimum(dated, 1), named)).sum(axis=0)
    content = [not term.faint for term in terms]
    if any(not term.faint and not date_word(term.word)[0] for term in terms):
        covered *= ((akin > 0) | named)[content].any(axis=0)
    return own.tolist(), (covered / (weights.sum() or 1.0)).tolist()


def top(
    score: Floats, permitted: Bools, k: int, keys: Callable[[Places], Iterable[str]]
) -> list[int]:
    """Return the indices of the `k` best permitted scores above 0, ties by key."""
    places = np.flatnonzero(permitted & (score > 0))
    if len(places) > k:
        least = np.partition(score[places], -k)[-k]
        places = places[score[places] >= least]
    ordered = sorted(
        zip((-score[places]).tolist(), keys(places), places.tolist(), strict=True)
    )
    return [place for _, _, place in ordered[:k]]


def matched_bits(matches: Sequence[Match], places: Places | list[int]) -> list[int]:
    """Return the words that the rows at `places` contain, as two bits a word.

    The lower bit also counts synonyms. Only the first 31 words have bits.
    """
    first = matches[:31]
    if not first:
        return [0] * len(places)
    akin = np.array([match.akin for match in first])[:, places] > 0
    own = np.array([match.own for match in first])[:, places] > 0
    bits: list[int] = (4 ** np.arange(len(first)) @ (akin + 2 * own)).tolist()
    return bits
