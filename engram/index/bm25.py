"""The lexical index: rank_bm25's Okapi over an inverted index, for conversations.

Plain scores (`get_scores`) equal those of the parent class to the last bit. `search`
adds evidence for turns: the words of their date, the turns around them, their session,
their speaker and their time. Equal units give equal answers in any order of adding and
saving (row X20).
"""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rank_bm25 import BM25Okapi

from engram.core.language.date_words import LEXICONS
from engram.core.language.dates import ANCHORS, has_time_expression
from engram.core.language.question_forms import states_nothing
from engram.core.language.topics import QUESTION_MARKS, is_question
from engram.core.language.words import FIRST_PERSON, POSSESSIVE, STOP, of_oneself, words
from engram.core.policy import LexicalPolicy
from engram.core.ranking import Parts, Question, Scored
from engram.core.trust import TurnSource
from engram.index import scoring
from engram.index.columns import (
    COLUMNS,
    Bools,
    Columns,
    ColumnStore,
    DamagedError,
    Floats,
    Ints,
    Places,
    Postings,
    StringTable,
    pack,
    unpack,
)
from engram.index.filters import REASONS, RowFilter, SearchFilter
from engram.index.stems import (
    CAPITALISED,
    LANGUAGES,
    STEMMER_VERSION,
    STOP_WORD,
    date_word,
    stem_of,
    stems_of,
    stop_word_terms,
    unit_stems,
)
from engram.index.vectors import digest
from engram.vault.disk import write_derived

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

VERSION = "15"
"""Version of the snapshot and of its text analysis; raise it when either changes."""

_FILE = "lexical.bin"
_CODED = ("kind", "status", "role", "voice", "persona", "speaker", "thread")
_TIMES = ("when", "created", "valid_from", "valid_until")
_NO_NAMES = frozenset(("user", "assistant", "system", "tool", "me", "i", "you"))
_DEAD_ROWS = 1000
_FEW_WORDS = 3


@dataclass(frozen=True, slots=True)
class IndexedText:
    """The text and the columns of a unit for the index.

    Times are in epoch seconds; `persona` '' is global. `thread` is the stem of the
    session file for turns, '' for other units; `position` orders its turns. `voice` is
    the caller's role and origin of a turn, `role` that which counts for a question.
    `tags` find the unit too, and do not count for its length.
    """

    key: str
    kind: str
    text: str
    thread: str = ""
    position: int = 0
    speaker: str = ""
    role: str = ""
    voice: str = ""
    when: float | None = None
    persona: str = ""
    status: str = "active"
    valid_from: float | None = None
    valid_until: float | None = None
    created: float | None = None
    tags: tuple[str, ...] = ()


class UnitOrigin(NamedTuple):
    """When a unit was told, in epoch seconds (0 if unknown), and by whom.

    Role and speaker are '' for a fact or a note.
    """

    when: float
    role: str
    speaker: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search, best first.

    `whole` is the weight of all words of the question. `filtered` counts the units that
    a filter removed from the hits, by reason.
    """

    hits: tuple[Scored, ...] = ()
    whole: float = 0.0
    filtered: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexView:
    """The units at one moment, for another kind of search.

    `allowed` is true for each row of `columns` that may be found; only the first `size`
    rows are in use. A link to a row added later leads to a row that is not allowed.
    """

    rows: ColumnStore
    columns: Columns
    size: int
    allowed: Bools


class Bm25Index(BM25Okapi):  # type: ignore[misc]  # rank_bm25 ships no types
    """An index of turns, facts and notes by their words.

    `zone` determines the date of a unit. Every public method is thread-safe.
    """

    def __init__(self, policy: LexicalPolicy | None = None, zone: tzinfo = UTC) -> None:
        self.policy = policy or LexicalPolicy()
        self.zone = zone
        self._lock = threading.RLock()
        super().__init__(
            [], k1=self.policy.k1, b=self.policy.b, epsilon=self.policy.epsilon
        )

    def _initialize(self, corpus: Sequence[Sequence[str]]) -> dict[str, int]:
        """Start without documents; overrides the lists of the parent class."""
        assert not corpus
        self._names = {name: StringTable() for name in _CODED}
        self.mark = ""
        self._generation = 0
        self._set_rows(ColumnStore(), Postings())
        self._recompute_totals()
        return {}

    def _calc_idf(self, nd: dict[str, int]) -> None:
        """Compute idf values as the parent class does; an empty corpus has none."""
        self.idf: dict[str, float] = {}
        self.average_idf = 0.0
        if nd:
            super()._calc_idf(nd)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: str) -> bool:
        return key in self._rows.by_key

    def terms(self, text: str) -> list[str]:
        """Return the stems that find `text`, in order, without stop words."""
        with self._lock:
            return unit_stems(words(text, singles=True))[0]

    # Additions and removals.

    def add(self, docs: Iterable[IndexedText]) -> None:
        """Add units; one with a known key replaces the old one (row X18)."""
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
        """Remove units; unknown keys are ignored."""
        with self._lock:
            for key in keys:
                if key in self:
                    self._drop(key)
            self._changed()

    def _insert(self, doc: IndexedText) -> None:
        found = words(doc.text, singles=True)
        stems, code = unit_stems(found)
        tags = stems_of(words(" ".join(doc.tags)), LANGUAGES[code])
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
            "day": self._day(doc.when),
            "digest": digest(doc.text),
            **text_features(doc.text, found),
            "idle": doc.kind == "turn" and states_nothing(doc.text),
        }
        self._postings.add(
            self._rows.add(doc.key, values),
            stems + tags + stop_word_terms(doc.text, found, code),
        )
        self._count(len(stems), code, 1)
        if new:
            self._add_speaker(doc.speaker)

    def _day(self, when: float | None) -> int:
        return (
            0 if when is None else datetime.fromtimestamp(when, self.zone).toordinal()
        )

    def _drop(self, key: str) -> None:
        row, columns = self._rows.remove(key), self._rows.columns
        self._count(int(columns["length"][row]), int(columns["language"][row]), -1)

    def _count(self, length: int, code: int, sign: int) -> None:
        self.corpus_size += sign
        self._words_total += sign * length
        self._padded_total += sign * max(length, self.policy.short_words)
        self._language_counts[code] += sign

    def _add_speaker(self, speaker: str) -> None:
        """Add the words of this name as a way to find the speaker's units."""
        for word in words(speaker):
            if word not in _NO_NAMES:
                self._speaker_codes.setdefault(word, set()).add(
                    self._names["speaker"].find(speaker)
                )

    def _changed(self) -> None:
        """Drop cached values; compact the rows when many are dead."""
        self.avgdl = self._words_total / max(self.corpus_size, 1)
        self._generation += 1
        self._filter = RowFilter(self._rows, self._names)
        self.idf = {}
        if self._rows.size > 2 * len(self._rows) + _DEAD_ROWS:
            self._set_rows(*_compacted(self._rows, self._postings))

    def _recompute_totals(self) -> None:
        """Compute totals and speakers from the columns."""
        columns = self._rows.columns
        alive = columns["alive"]
        lengths = columns["length"][alive]
        self.corpus_size = len(lengths)
        self._words_total = int(lengths.sum())
        self._padded_total = int(np.maximum(lengths, self.policy.short_words).sum())
        self._language_counts = Counter(columns["language"][alive].tolist())
        self._speaker_codes: dict[str, set[int]] = {}
        for speaker in self._names["speaker"].all:
            self._add_speaker(speaker)

    def _set_rows(self, rows: ColumnStore, postings: Postings) -> None:
        self._rows, self._postings = rows, postings
        self._buffer = np.zeros(0)
        self._filter = RowFilter(rows, self._names)

    # On disk.

    def save(self, folder: Path, mark: str = "", without: Collection[str] = ()) -> None:
        """Write a snapshot, `without` some units.

        `mark` is the state of the catalogue that it belongs to. Units added meanwhile
        are not in it, but can be found at any time.
        """
        with self._lock:
            generation = self._generation
            rows, postings = self._rows.copy(), self._postings.copy()
            names = {name: list(table.all) for name, table in self._names.items()}
        for key in rows.by_key.keys() & set(without):
            rows.remove(key)
        rows, postings = _compacted(rows, postings)
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
                self._set_rows(rows, postings)

    def load(self, folder: Path) -> bool:
        """Load the snapshot in `folder`.

        Returns False, and leaves the index empty, if there is no usable snapshot.
        """
        with self._lock:
            try:
                tables, arrays = unpack(folder / _FILE, self._version)
            except DamagedError:
                self._initialize(())
                self._changed()
                return False
            self._names = {name: StringTable(tables[name]) for name in _CODED}
            self.mark = tables["mark"][0]
            postings = Postings(
                *(arrays[name] for name in ("spelled", "starts", "rows", "counts"))
            )
            self._set_rows(
                ColumnStore.of(
                    tables["keys"], Columns({name: arrays[name] for name in COLUMNS})
                ),
                postings,
            )
            self._recompute_totals()
            self._changed()
            return True

    @property
    def _version(self) -> str:
        return f"{VERSION}/{STEMMER_VERSION}/{self.zone}".replace(" ", "_")

    # Plain scores, equal to the parent's.

    def get_scores(self, query: Sequence[str]) -> Floats:
        """Return Okapi scores of all units in the order of their keys.

        They equal those of the parent class to the last bit. Its average idf depends on
        the order of the corpus: here that of the keys, and within a unit the alphabet.
        """
        with self._lock:
            order = self._rows.rows_by_key()
            score = np.zeros(len(order))
            curve = scoring.Saturation(
                self.k1, self.b, self._rows.columns["length"][order], self.avgdl
            )
            for term in query:
                rows, counts = self._live_postings(term)
                score += self._idf(len(rows)) * curve(
                    self._counts_at(rows, counts, order)[0]
                )
            return score

    def _live_postings(self, term: str) -> tuple[Ints, Ints]:
        rows, counts = self._postings.of(term)
        if self._rows.size == len(self._rows) + 1:
            return rows, counts
        alive = self._rows.columns["alive"][rows]
        return rows[alive], counts[alive]

    def _counts_at(
        self, rows: Ints | Places, counts: Ints | Floats, *wanted: Ints | Places
    ) -> list[Floats]:
        """Return for each array of `wanted` rows their counts, 0 by default.

        `rows` and `counts` are postings; they are copied to a buffer as long as the
        index.
        """
        if len(self._buffer) < self._rows.size:
            self._buffer = np.zeros(self._rows.columns.room)
        self._buffer[rows] = counts
        found = [self._buffer[each] for each in wanted]
        self._buffer[rows] = 0
        return found

    def _idf(self, documents: int) -> float:
        """Return the idf of a term in this number of units, as the parent class does.

        A term in more than half of the units gets a share of the average.
        """
        value = math.log(self.corpus_size - documents + 0.5) - math.log(documents + 0.5)
        if value >= 0:
            return value
        if not self.idf:
            rank = np.zeros(self._rows.size, np.int32)
            order = self._rows.rows_by_key()
            rank[order] = np.arange(1, len(order) + 1)
            self._calc_idf(
                self._postings.document_counts(rank, without=(STOP_WORD, CAPITALISED))
            )
        return float(self.epsilon * self.average_idf)

    # Search.

    def search(self, question: Question, where: SearchFilter, k: int) -> SearchResult:
        """Return the `k` best units, ties by key.

        Each has the parts of its score, which sum to it (row X4).
        """
        with self._lock:
            visible = self._filter.visible(where)
            terms = self._terms(question, visible)
            rows = self._candidates(question, terms, visible)
            if not len(rows) or k <= 0:
                return SearchResult()
            return self._scored(question, where, terms, rows, k)

    def view(self, where: SearchFilter) -> IndexView:
        """Return the units that a question may find, for another kind of search."""
        with self._lock:
            found = self._filter.findable(where)
            return IndexView(self._rows, self._rows.columns, self._rows.size, found)

    def allowed(self, keys: Iterable[str], where: SearchFilter) -> set[str]:
        """Return those of `keys` that a question may find."""
        with self._lock:
            known, rows = self._known(keys)
            return set(compress(known, self._filter.allowed(where)[rows].tolist()))

    def _known(self, keys: Iterable[str]) -> tuple[list[str], Places]:
        """Return those of `keys` that are in the index, and their rows."""
        known = [key for key in keys if key in self]
        return known, np.array([self._rows.by_key[key] for key in known], np.intp)

    def of_kind(self, kind: str, keys: Sequence[str]) -> set[str]:
        """Return those of `keys` that are units of this kind."""
        with self._lock:
            rows = [self._rows.by_key.get(key, 0) for key in keys]
            some = self._rows.columns["kind"][rows] == self._names["kind"].find(kind)
            return set(compress(keys, some.tolist()))

    def origins(self, keys: Iterable[str]) -> dict[str, UnitOrigin]:
        """Return when and by whom each of `keys` was told; unknown keys are left out."""
        with self._lock:
            columns, names = self._rows.columns, self._names
            known, rows = self._known(keys)
            return {
                key: UnitOrigin(
                    float(np.nan_to_num(columns["when"][row])),
                    names["role"].all[columns["role"][row]],
                    names["speaker"].all[columns["speaker"][row]],
                )
                for key, row in zip(known, rows, strict=True)
            }

    def not_holding(self, keys: Iterable[str], now: datetime) -> set[str]:
        """Return those of `keys` that are not active memories, or over by `now`."""
        with self._lock:
            columns, (known, rows) = self._rows.columns, self._known(keys)
            over = columns["valid_until"][rows] <= now.timestamp()
            over |= columns["status"][rows] != self._names["status"].find("active")
            return set(compress(known, over.tolist()))

    def voices(self, keys: Iterable[str]) -> dict[str, TurnSource]:
        """Return role, origin and speaker of those of `keys` that are turns (`D6`)."""
        with self._lock:
            known, rows = self._known(keys)
            voice, speaker = (
                self._rows.columns[name][rows].tolist() for name in ("voice", "speaker")
            )
            codes = list(zip(voice, speaker, strict=True))
            sources = {code: self._source(*code) for code in set(codes)}
            found = zip(known, map(sources.get, codes), strict=True)
            return {key: source for key, source in found if source}

    def _source(self, voice: int, speaker: int) -> TurnSource | None:
        """Return the source with these codes, None for a unit that is no turn."""
        role, _, origin = self._names["voice"].all[voice].partition(" ")
        speaker_name = self._names["speaker"].all[speaker]
        return TurnSource(role, origin, speaker_name) if role else None

    def stems(self, found: list[str], code: str) -> list[str]:
        """Return the stems of words in a language. Thread-safe."""
        with self._lock:
            return stems_of(found, code)

    def naming(self, question: Question) -> frozenset[str]:
        """Return the words of the question that name a speaker."""
        with self._lock:
            return frozenset(
                word for word in question.words if word in self._speaker_codes
            )

    def _terms(self, question: Question, visible: Bools) -> list[scoring.Term]:
        """Return the question's words with their postings in visible rows."""
        terms, lengths = [], self._rows.columns["length"]
        for word, times in Counter(question.words).items():
            rows, counts = self._postings_of_word(word, question)
            # a word that no unit has is as rare as one of a single unit
            known = max(len(rows), min(1, self.corpus_size))
            rarity = max(self._idf(known), self.policy.least_idf)
            faint = word in question.faint and not date_word(word)[0]
            places = rows.astype(np.intp)
            seen = visible[places]
            own = expanded = places[seen], counts[seen].astype(np.float64)
            if akin := self._related_terms(question, word, rarity, visible):
                expanded = scoring.expand(*own, akin, lengths, self.policy)
            weight = rarity * times * (self.policy.faint if faint else 1)
            terms.append(scoring.Term(word, weight, *own, *expanded, faint=faint))
        return terms

    def _related_terms(
        self, question: Question, word: str, rarity: float, visible: Bools
    ) -> list[tuple[float, Places]]:
        """Return the synonyms of `word` that the question does not contain.

        Each has a share and its rows. The share, 0–1, is the value of a match relative
        to `word`; common synonyms have a lower one. A word that names a speaker has no
        synonyms.
        """
        synonyms = question.akin.get(word, ())
        if not synonyms or word in self._speaker_codes or not self.policy.akin:
            return []
        stems, own, found = set[str](), set[str](), []
        for code in {*self._languages(), question.language or "en"}:
            stems.update(stems_of(list(synonyms), code))
            own.update(stems_of(list(question.words), code))
        stems -= own
        for stem in sorted(stems & self._postings.terms.keys()):
            rows, _ = self._live_postings(stem)
            share = min(1.0, max(self._idf(len(rows)), self.policy.least_idf) / rarity)
            places = rows.astype(np.intp)
            found.append((self.policy.akin * share, places[visible[places]]))
        return found

    def _languages(self) -> set[str]:
        """Return the languages of the units; a short one counts as English."""
        return {LANGUAGES[at] for at, number in self._language_counts.items() if number}

    def _postings_of_word(self, word: str, question: Question) -> tuple[Ints, Ints]:
        """Return the postings of `word` under all its stems, with the counts summed.

        A name may be a capitalised stop word.
        """
        found = [
            self._in_languages(*self._live_postings(stem), codes)
            for stem, codes in self._question_stems(word, question).items()
            if stem in self._postings.terms
        ]
        stop_words = STOP.get(question.language, STOP["en"])
        if not found and (word in question.names or word not in stop_words):
            return self._live_postings(STOP_WORD + word)
        if len(found) < 2:
            return found[0] if found else self._live_postings("")
        rows, place = np.unique(
            np.concatenate([rows for rows, _ in found]), return_inverse=True
        )
        counts = np.bincount(place, np.concatenate([counts for _, counts in found]))
        return rows, counts.astype(np.int32)

    def _question_stems(self, word: str, question: Question) -> dict[str, set[int]]:
        """Return the terms to look up for `word`, with the languages of their units.

        A question of unknown language is stemmed in each language of the index. If it
        has only a few words, each stem finds units of its language alone: `boteta` is
        not the `botete` of another language. An empty set means all languages. The
        detected language may be wrong, so the stems of each other language of the index
        find units of that language.
        """
        code = question.language
        sure = {LANGUAGES.index(code or "en"), LANGUAGES.index("en")}
        others = {at for at, units in self._language_counts.items() if units} - sure
        stems: dict[str, set[int]] = {}
        for at in sorted(sure if code else sure | others):
            stems.setdefault(stem_of(word, LANGUAGES[at]), set()).add(at)
        if code or len(stems) == 1 or len(question.words) > _FEW_WORDS:
            stems = {stem: set() for stem in stems}
        for at in sorted(others) if code else ():
            stem = stem_of(word, LANGUAGES[at])
            if stem not in stems or stems[stem]:
                stems.setdefault(stem, set()).add(at)
        if word in question.names:
            stems[CAPITALISED + word] = set()
        elif word in question.stop_words:
            stems[STOP_WORD + word] = set()
        return stems

    def _in_languages(
        self, rows: Ints, counts: Ints, codes: Collection[int]
    ) -> tuple[Ints, Ints]:
        """Return the postings in units of these languages; of all without `codes`."""
        if not codes:
            return rows, counts
        some = np.isin(self._rows.columns["language"][rows], sorted(codes))
        return rows[some], counts[some]

    def _candidates(
        self, question: Question, terms: list[scoring.Term], visible: Bools
    ) -> Places:
        """Return the rows to score.

        They contain a word of the question, rare words first up to a budget of
        postings, then synonyms; or they are neighbours of such rows; or they are in the
        time that the question names, unless those are too many.
        """
        found = [np.zeros(0, np.intp)]
        spent = 0
        expanded = (
            term.expanded_rows for term in terms if term.expanded_rows is not term.rows
        )
        for rows in (
            *sorted((term.rows for term in terms), key=len),
            *sorted(expanded, key=len),
        ):
            if spent and spent + len(rows) > self.policy.postings:
                break
            found.append(rows)
            spent += len(rows)
        columns, holding = self._rows.columns, np.concatenate(found)
        selected = np.zeros(self._rows.size, np.bool_)
        for direction in ("before", "after"):
            step = holding
            for _ in range(self.policy.radius):
                step = columns[direction][step].astype(np.intp)
                step = step[step > 0]
                selected[step] = True
        named_time = scoring.at_named_time(question, columns, self._rows.size)
        if np.count_nonzero(named_time) <= self.policy.postings:
            selected |= named_time
        selected[holding] = True
        for term in terms if question.match_all else ():
            selected &= np.bincount(term.rows, minlength=len(selected)) > 0
        return np.flatnonzero(selected & visible)

    def _scored(
        self,
        question: Question,
        where: SearchFilter,
        terms: list[scoring.Term],
        rows: Places,
        k: int,
    ) -> SearchResult:
        """Score the candidates `rows` and return the `k` best of them."""
        columns, policy = self._rows.columns, self.policy
        reasons = self._filter.reasons(rows, where)
        permitted = (reasons == 0) & ~columns["idle"][rows]

        # words: of a row, its synonyms, its date, its neighbours; then of its thread
        matching = np.zeros(self._rows.size, np.bool_)
        for term in terms:
            matching[term.expanded_rows] = True
        near = scoring.links(
            columns, rows, policy, matching & self._filter.allowed(where)
        )
        lengths = np.maximum(columns["length"][rows], policy.short_words)
        average = self._padded_total / self.corpus_size
        curve = scoring.Saturation(self.k1, self.b, lengths, average)
        days = columns["day"][rows]
        nowhere = scoring.Match(0, *[np.zeros(len(rows))] * 4)
        matches = [
            self._match(term, rows, days, near)
            if len(term.expanded_rows) or date_word(term.word)[0]
            else nowhere
            for term in terms
        ]
        somewhere = [match for match in matches if match is not nowhere]
        values = [match.weight * curve(match.full) for match in somewhere]
        session = policy.session * scoring.thread_evidence(
            columns["thread"][rows], values, permitted
        )
        text = sum(values, np.zeros(len(rows))) + session

        # speaker, role, features and time
        boosts = self._boosts(question, rows)
        most = policy.span * max(float(text.max()), 1.0)
        in_span = scoring.in_span(question, columns["when"][rows])
        span: Floats = np.where(in_span, most, 0.0)
        score = text * sum(boosts.values(), np.ones(len(rows))) + span

        best = scoring.top(score, permitted, k, lambda places: self._keys(rows[places]))

        def parts(place: int) -> dict[str, float]:
            layers = scoring.layers(somewhere, curve, place)
            layers |= {"session": float(session[place]), "span": float(span[place])}
            for name, boost in boosts.items():
                layers[name] = float(text[place] * boost[place])
            return {name: value for name, value in layers.items() if value}

        content = [
            match for term, match in zip(terms, matches, strict=True) if not term.faint
        ]
        bits = scoring.matched_bits(content, best)
        named = np.array([self._speaks(term.word, rows[best]) for term in terms])
        own, fit = scoring.own_evidence(terms, matches, curve, best, named)
        columns_of_hits = score[best].tolist(), bits, own, fit
        found = zip(self._keys(rows[best]), *columns_of_hits, strict=True)
        hits = tuple(
            Scored(key, value, Parts(parts, place), matched, None, own, fit)
            for place, (key, value, matched, own, fit) in zip(best, found, strict=True)
        )
        least = score[best[-1]] if len(best) == k else 0.0
        whole = sum(term.weight for term in terms)
        return SearchResult(hits, whole, _counts(reasons[~permitted & (score > least)]))

    def _speaks(self, word: str, rows: Places) -> Bools:
        """Return whether `word` names the speaker of each of these rows."""
        codes = sorted(self._speaker_codes.get(word, ()))
        if not codes:
            return np.zeros(len(rows), np.bool_)
        named: Bools = np.isin(self._rows.columns["speaker"][rows], codes)
        return named

    def _boosts(self, question: Question, rows: Places) -> dict[str, Floats]:
        speakers = {
            code
            for word in question.words
            for code in self._speaker_codes.get(word, ())
        }
        role = -1
        if question.about_role:
            role = self._names["role"].find(question.about_role)
        return scoring.boosts(
            self._rows.columns, rows, question, self.policy, speakers, role
        )

    def _keys(self, rows: Places) -> Iterable[str]:
        return map(self._rows.keys.__getitem__, rows.tolist())

    def _match(
        self, term: scoring.Term, rows: Places, days: Ints, links: scoring.Links
    ) -> scoring.Match:
        """Return the counts of `term` in the rows, their dates and their neighbours."""
        own, *_ = self._counts_at(term.rows, term.counts, rows)
        akin, beside = self._counts_at(
            term.expanded_rows, term.expanded_counts, rows, links.rows
        )
        dated = akin
        if date_word(term.word)[0]:
            dated = akin + self.policy.date * scoring.date_matches(term.word, days)
        some = beside > 0
        near = np.bincount(
            links.places[some], links.weights[some] * beside[some], len(rows)
        )
        return scoring.Match(term.weight, own, akin, dated, dated + near)


def _counts(reasons: Ints) -> dict[str, int]:
    """Return the number of rows that a filter left out, by reason."""
    numbers = np.bincount(reasons, minlength=len(REASONS)).tolist()
    return {why: some for why, some in zip(REASONS, numbers, strict=True) if some}


def _compacted(rows: ColumnStore, postings: Postings) -> tuple[ColumnStore, Postings]:
    """Return only the live rows, in the order of their keys, as one frozen segment."""
    compacted, renumbered = rows.compacted(rows.rows_by_key())
    return compacted, postings.compacted(renumbered)


_NUMBER_WORDS = frozenset(
    phrase
    for lexicon in LEXICONS
    for phrase, (letter, value) in lexicon.phrases.items()
    # in most languages the word for one is also an article
    if letter == "w" and isinstance(value, int) and value > 1
)
_SIGNAL_WORDS = ANCHORS | _NUMBER_WORDS | FIRST_PERSON
_SENTENCE = re.compile(r"[^.!?。！？؟\n]+[.!?。！？؟\n]?")
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_FIRST_PERSON_CJK = re.compile(r"[我私僕]")
_SIMPLE = re.compile(r"[\0-&(-^a-\x7f]*")
"""ASCII without `'`, `_` and `` ` ``, for which `words` equals the matches of `_WORD`.
"""


def text_features(text: str, words: Sequence[str]) -> dict[str, bool]:
    """Return the features of `text`, whose `words` are known.

    `asks`: it ends as a question. `timed`: it may name a time. `counted`: it has digits
    or a number word from two on. `telling`: it is about its speaker.
    """
    alike, digits = _SIMPLE.fullmatch(text) is not None, _DIGIT.search(text) is not None
    signal_words = _SIGNAL_WORDS.intersection(
        words if alike else _WORD.findall(text.casefold())
    )
    bare = alike and not digits and "-" not in text
    unspaced = not alike and _FIRST_PERSON_CJK.search(text) is not None
    own = FIRST_PERSON.intersection(signal_words)
    return {
        "asks": is_question(text),
        "timed": not ANCHORS.isdisjoint(signal_words)
        if bare
        else has_time_expression(text),
        "counted": digits or not _NUMBER_WORDS.isdisjoint(signal_words),
        "telling": (unspaced or bool(own)) and _is_about_speaker(text, own),
    }


def _is_about_speaker(text: str, own: frozenset[str]) -> bool:
    """Return whether a sentence that is no question is about its speaker.

    `own` are the words of the first person in `text`. "I have three cats. Any advice?"
    has such a sentence; "What should I do?" and "My sister has three cats." do not.
    """
    statements = text
    if any(mark in text for mark in QUESTION_MARKS):
        statements = " ".join(
            found for found in _SENTENCE.findall(text) if not is_question(found)
        )
    elif not own or not own <= POSSESSIVE:
        return True
    return of_oneself(statements.casefold()) or bool(
        _FIRST_PERSON_CJK.search(statements)
    )
