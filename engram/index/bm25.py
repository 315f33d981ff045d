"""The lexical index: rank_bm25's Okapi over an inverted index, and what conversations
add to it.

Plain scores (`get_scores`) equal the parent's to the last bit. `search` adds what helps
to find a turn: the words of its date, the turns around it, its session, who said it,
when and in what manner. The same units give the same answer whatever was added first
and whatever was saved between (row X20).
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
from rank_bm25 import BM25Okapi

from engram.core.language.words import STOP, words
from engram.core.policy import LexicalPolicy
from engram.core.ranking import Parts, Scored
from engram.index import scoring
from engram.index.columns import (
    COLUMNS,
    Columns,
    ColumnStore,
    DamagedError,
    Postings,
    StringTable,
    pack,
    unpack,
)
from engram.index.features import manner
from engram.index.filters import REASONS, RowFilter, SearchFilter
from engram.index.stems import (
    LANGUAGES,
    NAMED,
    SMALL,
    STEMMER_VERSION,
    analysed,
    date_word,
    small_terms,
    stemmed,
)
from engram.index.vectors import digest
from engram.vault.disk import write_derived

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from engram.core.ranking import Question
    from engram.index.columns import Bools, Floats, Ints, Places

VERSION = "9"
"""Of the snapshot and of the analysis in it: raise it when either changes."""

_FILE = "lexical.bin"
_NAMED = ("kind", "status", "role", "persona", "speaker", "thread")
_TIMES = ("when", "created", "valid_from", "valid_until")
_NOBODY = frozenset(("user", "assistant", "system", "tool", "me", "i", "you"))
_DEAD_ROWS = 1000


@dataclass(frozen=True, slots=True)
class IndexedText:
    """What the index is told of a unit; times in epoch seconds, `persona` '' is
    everybody.

    `thread` is the session file's stem for turns and '' for all else; `position` orders
    its turns.
    """

    key: str
    kind: str
    text: str
    thread: str = ""
    position: int = 0
    speaker: str = ""
    role: str = ""
    when: float | None = None
    persona: str = ""
    status: str = "active"
    valid_from: float | None = None
    valid_until: float | None = None
    created: float | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """An answer, best first, and how many units were left out that would have been in
    it, by reason.
    """

    hits: tuple[Scored, ...] = ()
    filtered: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexView:
    """The units as they stand: `rows`, the first `size` of their `columns`, and which a
    question may find.

    `allowed` is as long as the columns: a link to a row that came later leads to one
    that is not allowed.
    """

    rows: ColumnStore
    columns: Columns
    size: int
    allowed: Bools


class Bm25Index(BM25Okapi):  # type: ignore[misc]  # rank_bm25 ships no types
    """Turns, facts and notes by their words. Every public method is safe to call from
    any thread.

    `zone` decides on which date a unit falls. Scores of a search are those of `policy`.
    """

    def __init__(self, policy: LexicalPolicy | None = None, zone: tzinfo = UTC) -> None:
        self.policy = policy or LexicalPolicy()
        self.zone = zone
        self._lock = threading.RLock()
        super().__init__(
            [], k1=self.policy.k1, b=self.policy.b, epsilon=self.policy.epsilon
        )

    def _initialize(self, corpus: Sequence[Sequence[str]]) -> dict[str, int]:
        """In place of the parent's lists: no documents yet, for they come and go."""
        assert not corpus
        self._names = {name: StringTable() for name in _NAMED}
        self.mark = ""
        self._generation = 0
        self._adopt(ColumnStore(), Postings())
        self._recount()
        return {}

    def _calc_idf(self, nd: dict[str, int]) -> None:
        """As the parent; over an empty corpus there is nothing to average."""
        self.idf: dict[str, float] = {}
        self.average_idf = 0.0
        if nd:
            super()._calc_idf(nd)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: str) -> bool:
        return key in self._rows.by_key

    def terms(self, text: str) -> list[str]:
        """The stems that `text` is found by, in order, without stop words."""
        with self._lock:
            return analysed(words(text, singles=True))[0]

    # What comes and goes.

    def add(self, docs: Iterable[IndexedText]) -> None:
        """These units can be found from now on; one whose key was there replaces the
        old (row `X18`).
        """
        with self._lock:
            try:
                for doc in docs:
                    if doc.key in self:
                        self._drop(doc.key)
                    self._insert(doc)
            finally:
                self._postings.settle()
                self._changed()

    def remove(self, keys: Iterable[str]) -> None:
        """These units are not found any more; unknown keys are no fault."""
        with self._lock:
            for key in keys:
                if key in self:
                    self._drop(key)
            self._changed()

    def _insert(self, doc: IndexedText) -> None:
        found = words(doc.text, singles=True)
        stems, code = analysed(found)
        new = self._names["speaker"].find(doc.speaker) < 0
        values: dict[str, object] = {
            name: table.code(getattr(doc, name)) for name, table in self._names.items()
        }
        values |= {
            name: math.nan if (at := getattr(doc, name)) is None else at
            for name in _TIMES
        }
        values |= {
            "position": doc.position,
            "length": len(stems),
            "language": code,
            "day": 0
            if doc.when is None
            else datetime.fromtimestamp(doc.when, self.zone).toordinal(),
            "digest": digest(doc.text),
            **manner(doc.text, found),
        }
        self._postings.add(
            self._rows.add(doc.key, values), stems + small_terms(doc.text, found, code)
        )
        self._count(len(stems), code, 1)
        if new:
            self._introduce(doc.speaker)

    def _drop(self, key: str) -> None:
        row, columns = self._rows.remove(key), self._rows.columns
        self._count(int(columns["length"][row]), int(columns["language"][row]), -1)

    def _count(self, length: int, code: int, sign: int) -> None:
        self.corpus_size += sign
        self._words_total += sign * length
        self._padded_total += sign * max(length, self.policy.short_words)
        self._languages[code] += sign

    def _introduce(self, speaker: str) -> None:
        """From now on a question that holds a word of this name names the speaker."""
        for word in words(speaker):
            if word not in _NOBODY:
                self._speakers.setdefault(word, set()).add(
                    self._names["speaker"].find(speaker)
                )

    def _changed(self) -> None:
        """What was worked out of the old units no longer holds; many dead rows are
        swept out.
        """
        self.avgdl = self._words_total / max(self.corpus_size, 1)
        self._generation += 1
        self._sieve = RowFilter(self._rows, self._names)
        self.idf = {}
        if self._rows.size > 2 * len(self._rows) + _DEAD_ROWS:
            self._adopt(*_folded(self._rows, self._postings))

    def _recount(self) -> None:
        """Totals and speakers afresh, from the columns."""
        columns = self._rows.columns
        alive = columns["alive"]
        lengths = columns["length"][alive]
        self.corpus_size = len(lengths)
        self._words_total = int(lengths.sum())
        self._padded_total = int(np.maximum(lengths, self.policy.short_words).sum())
        self._languages = Counter(columns["language"][alive].tolist())
        self._speakers: dict[str, set[int]] = {}
        for speaker in self._names["speaker"].all:
            self._introduce(speaker)

    def _adopt(self, rows: ColumnStore, postings: Postings) -> None:
        self._rows, self._postings = rows, postings
        self._buffer = np.zeros(0)
        self._sieve = RowFilter(rows, self._names)

    # On disk.

    def save(self, folder: Path, mark: str = "", without: Collection[str] = ()) -> None:
        """Write the snapshot, `without` some units, and in it `mark`, where its source
        stood.

        What others add meanwhile stays in the delta, and every unit is found all the
        time.
        """
        with self._lock:
            generation = self._generation
            rows, postings = self._rows.copy(), self._postings.copy()
            names = {name: list(table.all) for name, table in self._names.items()}
        for key in rows.by_key.keys() & set(without):
            rows.remove(key)
        rows, postings = _folded(rows, postings)
        tables = {**names, "keys": rows.keys, "mark": [mark]}
        arrays = {
            **rows.columns.part(slice(rows.size)),
            "spelled": postings.spelled,
            "starts": postings.starts,
            "rows": postings.rows,
            "counts": postings.counts,
        }
        write_derived(folder / _FILE, pack(self._version, tables, arrays))
        with self._lock:
            if generation == self._generation and not without:
                self._adopt(rows, postings)

    def load(self, folder: Path) -> bool:
        """Take over the snapshot in `folder`; False, and empty, if there is none that
        can be used.
        """
        with self._lock:
            try:
                tables, arrays = unpack(folder / _FILE, self._version)
            except DamagedError:
                self._initialize(())
                self._changed()
                return False
            self._names = {name: StringTable(tables[name]) for name in _NAMED}
            self.mark = tables["mark"][0]
            postings = Postings(
                *(arrays[name] for name in ("spelled", "starts", "rows", "counts"))
            )
            self._adopt(
                ColumnStore.of(
                    tables["keys"], Columns({name: arrays[name] for name in COLUMNS})
                ),
                postings,
            )
            self._recount()
            self._changed()
            return True

    @property
    def _version(self) -> str:
        return f"{VERSION}/{STEMMER_VERSION}/{self.zone}".replace(" ", "_")

    # Plain scores, as the parent has them.

    def get_scores(self, query: Sequence[str]) -> Floats:
        """Okapi scores of all units in the order of their keys, equal to the parent's
        to the last bit.

        The parent's average idf depends on the order of its corpus: it is that of the
        keys here, and within a unit that of the alphabet.
        """
        with self._lock:
            order = self._rows.by_order_of_keys()
            score = np.zeros(len(order))
            curve = scoring.Saturation(
                self.k1, self.b, self._rows.columns["length"][order], self.avgdl
            )
            for term in query:
                rows, counts = self._living(term)
                score += self._idf(len(rows)) * curve(
                    self._pulled(rows, counts, order)[0]
                )
            return score

    def _living(self, term: str) -> tuple[Ints, Ints]:
        rows, counts = self._postings.of(term)
        if self._rows.size == len(self._rows) + 1:
            return rows, counts
        alive = self._rows.columns["alive"][rows]
        return rows[alive], counts[alive]

    def _pulled(
        self, rows: Ints | Places, counts: Ints | Floats, *wanted: Ints | Places
    ) -> list[Floats]:
        """The counts of each list of `wanted` rows, through a buffer as long as the
        index.
        """
        if len(self._buffer) < self._rows.size:
            self._buffer = np.zeros(self._rows.columns.room)
        self._buffer[rows] = counts
        found = [self._buffer[each] for each in wanted]
        self._buffer[rows] = 0
        return found

    def _idf(self, documents: int) -> float:
        """The parent's idf; where a term stands in more than half of the units, its
        share of the average.
        """
        value = math.log(self.corpus_size - documents + 0.5) - math.log(documents + 0.5)
        if value >= 0:
            return value
        if not self.idf:
            rank = np.zeros(self._rows.size, np.int32)
            order = self._rows.by_order_of_keys()
            rank[order] = np.arange(1, len(order) + 1)
            self._calc_idf(self._postings.document_counts(rank, without=(SMALL, NAMED)))
        return float(self.epsilon * self.average_idf)

    # Search.

    def search(self, question: Question, where: SearchFilter, k: int) -> SearchResult:
        """The `k` best units, ties by key; each with the parts of its score, which sum
        to it (row `X4`).
        """
        with self._lock:
            visible = self._sieve.visible(where)
            terms = self._asked(question, visible)
            rows = self._candidates(question, terms, visible)
            return (
                self._scored(question, where, terms, rows, k)
                if len(rows) and k > 0
                else SearchResult()
            )

    def view(self, where: SearchFilter) -> IndexView:
        """What another way of searching may find; rows that come later do not disturb
        it.
        """
        with self._lock:
            allowed = np.zeros(self._rows.columns.room, np.bool_)
            allowed[: self._rows.size] = self._sieve.allowed(where)
            return IndexView(self._rows, self._rows.columns, self._rows.size, allowed)

    def allowed(self, keys: Iterable[str], where: SearchFilter) -> set[str]:
        """Which of `keys` a question may find."""
        with self._lock:
            known = [key for key in keys if key in self._rows.by_key]
            may = self._sieve.allowed(where)[
                np.array([self._rows.by_key[key] for key in known], np.intp)
            ]
            return set(compress(known, may.tolist()))

    def of_kind(self, kind: str, keys: Sequence[str]) -> set[str]:
        """Those of `keys` that are units of this kind."""
        with self._lock:
            rows = [self._rows.by_key.get(key, 0) for key in keys]
            some = self._rows.columns["kind"][rows] == self._names["kind"].find(kind)
            return set(compress(keys, some.tolist()))

    def stems(self, found: list[str], code: str) -> list[str]:
        """The stems of words in a language; safe from any thread."""
        with self._lock:
            return stemmed(found, code)

    def naming(self, question: Question) -> frozenset[str]:
        """The words of the question that name a speaker."""
        with self._lock:
            return frozenset(word for word in question.words if word in self._speakers)

    def _asked(self, question: Question, visible: Bools) -> list[scoring.Term]:
        """The question's words as postings of visible rows, each word once."""
        terms, lengths = [], self._rows.columns["length"]
        for word, times in Counter(question.words).items():
            rows, counts = self._variants(word, question)
            rarity = max(self._idf(len(rows)), self.policy.least_idf)
            faint = word in question.faint and not date_word(word)[0]
            places = rows.astype(np.intp)
            seen = visible[places]
            own = meant = places[seen], counts[seen].astype(np.float64)
            if akin := self._akin(question, word, rarity, visible):
                meant = scoring.meant(*own, akin, lengths, self.policy)
            weight = rarity * times * (self.policy.faint if faint else 1)
            terms.append(scoring.Term(word, weight, *own, *meant, faint=faint))
        return terms

    def _akin(
        self, question: Question, word: str, rarity: float, visible: Bools
    ) -> list[tuple[float, Places]]:
        """Words akin to `word` and not asked for themselves: what each is worth as a
        share of it, and where it stands.

        One that is commoner is worth less. A word that names a speaker means nobody
        else.
        """
        if word in self._speakers or not self.policy.akin:
            return []
        stems, found = set(stemmed(list(question.akin.get(word, ())), "en")), []
        stems.difference_update(stemmed(list(question.words), "en"))
        for stem in sorted(stems & self._postings.terms.keys()):
            rows, _ = self._living(stem)
            share = min(1.0, max(self._idf(len(rows)), self.policy.least_idf) / rarity)
            places = rows.astype(np.intp)
            found.append((self.policy.akin * share, places[visible[places]]))
        return found

    def _variants(self, word: str, question: Question) -> tuple[Ints, Ints]:
        """Postings of `word` as any language in question would stem it: one term, its
        counts summed.

        A question whose language nothing tells is taken for each in the index. A name
        may be a capitalised stop word.
        """
        code = question.language
        codes = (
            {code}
            if code
            else {LANGUAGES[place] for place, units in self._languages.items() if units}
        )
        stems = sorted({stemmed([word], each)[0] for each in codes | {"en"}})
        stems += (
            [NAMED + word]
            if word in question.names
            else [SMALL + word]
            if word in question.small
            else []
        )
        found = [self._living(stem) for stem in stems if stem in self._postings.terms]
        if not found and (
            word in question.names or word not in STOP.get(code, STOP["en"])
        ):
            return self._living(SMALL + word)
        if len(found) < 2:
            return found[0] if found else self._living("")
        rows, place = np.unique(
            np.concatenate([rows for rows, _ in found]), return_inverse=True
        )
        counts = np.bincount(place, np.concatenate([counts for _, counts in found]))
        return rows, counts.astype(np.int32)

    def _candidates(
        self, question: Question, terms: list[scoring.Term], visible: Bools
    ) -> Places:
        """Rows that hold a word of the question, rare words first up to a budget, and
        those beside that say something.

        What is left of it goes to words akin. Rows of the time it names stand for
        themselves, unless too many do.
        """
        found = [np.zeros(0, np.intp)]
        spent = 0
        akin = (term.meant for term in terms if term.meant is not term.rows)
        for rows in (
            *sorted((term.rows for term in terms), key=len),
            *sorted(akin, key=len),
        ):
            if spent and spent + len(rows) > self.policy.postings:
                break
            found.append(rows)
            spent += len(rows)
        columns, holding = self._rows.columns, np.concatenate(found)
        wanted = np.zeros(self._rows.size, np.bool_)
        for direction in ("before", "after"):
            step = holding
            for _ in range(self.policy.radius):
                step = columns[direction][step].astype(np.intp)
                step = step[step > 0]
                wanted[step] = True
        then = scoring.then(question, columns, self._rows.size)
        if np.count_nonzero(then) <= self.policy.postings:
            wanted |= then
        wanted &= self._sieve.saying
        wanted[holding] = True
        for term in terms if question.whole else ():
            wanted &= np.bincount(term.rows, minlength=len(wanted)) > 0
        return np.flatnonzero(wanted & visible)

    def _scored(
        self,
        question: Question,
        where: SearchFilter,
        terms: list[scoring.Term],
        rows: Places,
        k: int,
    ) -> SearchResult:
        columns, policy, allowed = (
            self._rows.columns,
            self.policy,
            self._sieve.allowed(where),
        )
        reasons = self._sieve.reasons(rows, where)
        holding = np.zeros(self._rows.size, np.bool_)
        for term in terms:
            holding[term.meant] = True
        near = scoring.links(columns, rows, policy, holding & allowed)
        lengths = np.maximum(columns["length"][rows], policy.short_words)
        curve = scoring.Saturation(
            self.k1, self.b, lengths, self._padded_total / self.corpus_size
        )
        matches = [
            self._match(term, rows, columns["day"][rows], near) for term in terms
        ]
        given = [match.weight * curve(match.full) for match in matches]
        session = policy.session * scoring.evidence(
            columns["thread"][rows], given, reasons == 0
        )
        worth = sum(given, np.zeros(len(rows))) + session
        spoke = {
            code for word in question.words for code in self._speakers.get(word, ())
        }
        role = (
            self._names["role"].find(question.about_role) if question.about_role else -1
        )
        boosts = scoring.boosts(columns, rows, question, policy, spoke, role)
        most = policy.span * max(float(worth.max()), 1.0)
        span: Floats = np.where(
            scoring.inside(question, columns["when"][rows]), most, 0.0
        )
        score = worth * sum(boosts.values(), np.ones(len(rows))) + span
        best = scoring.first(
            score, reasons == 0, k, lambda places: self._keys(rows[places])
        )

        @cache
        def parts() -> dict[str, Floats]:
            layers: dict[str, Floats] = scoring.layers(matches, curve, best)
            layers |= {"session": session[best], "span": span[best]}
            return layers | {
                name: (worth * boost)[best] for name, boost in boosts.items()
            }

        held = scoring.held(
            [
                match
                for term, match in zip(terms, matches, strict=True)
                if not term.faint
            ],
            best,
        )
        found = zip(self._keys(rows[best]), score[best].tolist(), held, strict=True)
        hits = tuple(
            Scored(key, value, Parts(scoring.at_rank, parts, rank), holds)
            for rank, (key, value, holds) in enumerate(found)
        )
        least = score[best[-1]] if len(best) == k else 0.0
        missed = np.bincount(
            reasons[(reasons > 0) & (score > least)], minlength=len(REASONS)
        )
        return SearchResult(
            hits, {why: int(n) for why, n in zip(REASONS, missed, strict=True) if n}
        )

    def _keys(self, rows: Places) -> Iterable[str]:
        return map(self._rows.keys.__getitem__, rows.tolist())

    def _match(
        self, term: scoring.Term, rows: Places, days: Ints, links: scoring.Links
    ) -> scoring.Match:
        """What of `term` the rows hold themselves, what their dates add and what their
        neighbours.
        """
        own, *_ = self._pulled(term.rows, term.counts, rows)
        akin, beside = self._pulled(term.meant, term.worth, rows, links.rows)
        dated = (
            akin + self.policy.date * scoring.dated(term.word, days)
            if date_word(term.word)[0]
            else akin
        )
        some = beside > 0
        near = np.bincount(
            links.places[some], links.weights[some] * beside[some], len(rows)
        )
        return scoring.Match(term.weight, own, akin, dated, dated + near)


def _folded(rows: ColumnStore, postings: Postings) -> tuple[ColumnStore, Postings]:
    """The living alone, in the order of their keys, as one frozen segment."""
    folded, renumbered = rows.folded(rows.by_order_of_keys())
    return folded, postings.folded(renumbered)
