"""Search by meaning: the vectors of the units of a lexical index.

A text has a vector, and so has each of its first sentences; the nearest of them counts
for the similarity to a question. A row of the index finds them by the digest of its
text. A unit that a question must not find does not contribute to the score of others
either.
"""

from __future__ import annotations

import json
import weakref
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from engram.core import calibration
from engram.core.language.sentences import sentences
from engram.core.ranking import VectorMatch
from engram.core.records import VectorStorage
from engram.errors import NotFoundError
from engram.index import scoring
from engram.index.filters import SearchFilter
from engram.index.vectors import best, digest, part
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from engram.config import EmbeddingSettings, Settings
    from engram.core.calibration import Scale
    from engram.index.bm25 import Bm25Index, IndexView
    from engram.index.columns import Bools, ColumnStore, Floats, Ints, Places
    from engram.index.protocol import VectorComparison, VectorStore

CALIBRATION = "calibration.json"
COLD = "cold.txt"
"""The file with the ids of cold memories, in the folder of the vectors (row C29)."""

EMBEDDED = SearchFilter(
    statuses=("active", "archived", "superseded", "invalidated"), persona=None
)
"""The filter for units to embed: all but forgotten ones and those in review."""


class SemanticIndex:
    """The vectors of one embedding model.

    Methods with an argument `lexical` use its rows. Every public method is thread-safe.
    """

    def __init__(
        self, settings: Settings, model: EmbeddingSettings, vectors: VectorStore
    ) -> None:
        policy = settings.policy
        self.policy, self._similarity = policy.vectors, policy.similarity
        self._window = replace(
            policy.lexical, back=policy.vectors.back, forward=policy.vectors.forward
        )
        self._model = model.name
        self.only_ranks = model.in_process
        self._calibration = settings.state / CALIBRATION
        self._calibration_data = self._load_calibration()
        self._tried = 0  # number of facts at the last attempt to calibrate
        self.vectors = vectors
        self._tiers = settings.cache / "vectors" / COLD
        self._cold = self._load_cold_ids()
        # digests of texts that the model does not accept
        self.refused: set[int] = set()
        self._rows: weakref.ref[ColumnStore] | None = None
        self._stamp = (0, 0)
        self._places: Ints = np.zeros((0, 1 + self.policy.sentences), np.int32)
        self._looked_up = 0  # number of rows whose places are known

    # -- vectors of units --------------------------------------------------------------

    def coverage(self, lexical: Bm25Index) -> tuple[int, int]:
        """Return the number of units with a vector, and of all units."""
        view = lexical.view(EMBEDDED)
        have = (self._places_of_rows(view)[:, 0] >= 0) & view.allowed
        return int(np.count_nonzero(have)), int(np.count_nonzero(view.allowed))

    def keys_to_embed(self, lexical: Bm25Index) -> Iterator[str]:
        """Return the keys of units without a vector or with a worn one.

        Facts come first, then the latest units.
        """
        view = lexical.view(EMBEDDED)
        with self.vectors.lock:
            worn = np.isin(
                view.columns["digest"], np.array(list(self.vectors.worn), np.uint64)
            )
            lacking = self._places_of_rows(view)[:, 0] < 0
        rows = np.flatnonzero(view.allowed & (worn | lacking))[::-1]
        rows = rows[
            ~np.isin(
                view.columns["digest"][rows], np.array(sorted(self.refused), np.uint64)
            )
        ]
        turns = view.columns["thread"][rows] > 0
        return (
            view.rows.keys[row]
            for row in np.concatenate([rows[~turns], rows[turns]]).tolist()
        )

    def parts(self, text: str) -> dict[int, str]:
        """Return what is embedded of a text, by the key of its vector.

        These are its first sentences, if it has several, and last the text, whose
        vector marks the text as embedded.
        """
        policy = self.policy
        cut = text[: policy.chars]
        spans = list(islice(sentences(cut), policy.sentences))
        if len(spans) == 1:
            spans = []
        key = digest(text)
        parts = {part(key, n): cut[slice(*span)] for n, span in enumerate(spans, 1)}
        return {**parts, key: cut}

    def add(self, vectors: Mapping[int, bytes]) -> None:
        """Store the vectors of parts of texts; see `parts`."""
        self.vectors.put(vectors)

    def refuse(self, keys: Iterable[int]) -> None:
        """Do not try to embed these texts again until the next start."""
        self.refused.update(keys)

    def tidy(self, lexical: Bm25Index) -> None:
        """Remove vectors of texts that are in no unit any more.

        Once all units have a vector, vectors of other models are removed too.
        """
        view = lexical.view(EMBEDDED)
        columns = view.columns
        living = self._with_parts(columns["digest"][columns["alive"]].tolist())
        if len(self.vectors) > (self.vectors.places(living) >= 0).sum():
            self.vectors.keep(living)
        have, wanted = self.coverage(lexical)
        if have == wanted > 0:
            self.vectors.drop_others()

    def storage(self, lexical: Bm25Index) -> dict[str, VectorStorage]:
        """Return the precision and tier of the vectors of facts, by id (rows C29, D12).

        Facts that share their text with another unit are left out; so are all facts if
        vectors have all their bits.
        """
        if not self.vectors.packs:
            return {}
        view = lexical.view(replace(EMBEDDED, kinds=("fact",)))
        columns = view.columns.part(slice(view.size))
        with self.vectors.lock:
            places = self._places_of_rows(view)[:, 0]
            bits = self.vectors.bits()
        known = places >= 0
        digests, counts = np.unique(
            columns["digest"][columns["alive"]], return_counts=True
        )
        shared = np.isin(columns["digest"], digests[counts > 1])
        rows = np.flatnonzero(view.allowed[: view.size] & known[: view.size] & ~shared)
        keys = [view.rows.keys[row] for row in rows.tolist()]
        return {
            key: VectorStorage(many, "cold" if key in self._cold else "hot")
            for key, many in zip(keys, bits[places[rows]].tolist(), strict=True)
        }

    def store(
        self, lexical: Bm25Index, storage_by_id: Mapping[str, VectorStorage]
    ) -> None:
        """Store the vectors of these facts with this precision and tier.

        A vector that needs more bits than it has is embedded again.
        """
        view = lexical.view(EMBEDDED)
        rows = [
            (row, key)
            for key in storage_by_id
            if 0 < (row := view.rows.by_key.get(key, 0)) < view.size
        ]
        digests = view.columns["digest"][[row for row, _ in rows]].tolist()
        self.vectors.store(
            {
                number: storage_by_id[key].bits
                for one, (_, key) in zip(digests, rows, strict=True)
                for number in self._with_parts([one])
            }
        )
        cold = {
            key for key in self._cold - storage_by_id.keys() if key in view.rows.by_key
        }
        cold |= {key for key, one in storage_by_id.items() if one.tier == "cold"}
        if cold != self._cold:
            self._cold = cold
            disk.write_derived(
                self._tiers, "".join(f"{key}\n" for key in sorted(cold)).encode()
            )

    def _with_parts(self, digests: Iterable[int]) -> set[int]:
        """Return the keys of the vectors that texts and their sentences may have."""
        numbers = range(1 + self.policy.sentences)
        return {part(one, number) for one in digests for number in numbers}

    def vector(self, text: str) -> bytes | None:
        """Return the vector of a text at length 1, or None."""
        found = self.vectors.matrix([digest(text)])
        return (
            (found[0] / max(np.linalg.norm(found[0]), 1.0)).tobytes()
            if len(found)
            else None
        )

    # -- nearest units -----------------------------------------------------------------

    def near(
        self,
        lexical: Bm25Index,
        vector: bytes,
        where: SearchFilter,
        k: int,
        also: Collection[str],
    ) -> tuple[VectorMatch, ...]:
        """Return the `k` units nearest to a question, and those of `also`.

        score = (c + Σ wᵢ·cᵢ) / (1 + Σ wᵢ); c is the similarity of the unit, the mean of
        those of its text and of its nearest part, cᵢ that of a neighbour in the window
        of the lexical index. A vector of another dimension finds nothing, and the store
        is opened for its dimension.
        """
        view = lexical.view(where)
        found = self._compared(view, vector)
        if found is None:
            return ()
        places, likeness = found
        known = places[:, 0] >= 0
        nearest = _nearest(likeness, places, np.flatnonzero(known & view.allowed), k)
        requested = [
            row for key in also if 0 < (row := view.rows.by_key.get(key, 0)) < view.size
        ]
        rows = self._with_neighbours(
            view, np.union1d(nearest, np.array(requested, np.intp))
        )
        similarity = np.zeros(view.columns.room)
        compared = self._with_neighbours(view, rows)
        compared = compared[known[compared]]
        similarity[compared] = self._similarities(likeness, places[compared])
        worth = self._scores(view, rows, similarity, known)
        chosen = np.zeros(view.columns.room, np.bool_)
        chosen[rows[best(worth, np.flatnonzero(known[rows]), k)]] = True
        chosen[requested] = True
        returned = chosen[rows]
        rows, worth = rows[returned], worth[returned]
        return tuple(
            VectorMatch(key, near, value)
            if has_vector
            else VectorMatch(key, None, None)
            for key, near, value, has_vector in zip(
                map(view.rows.keys.__getitem__, rows.tolist()),
                similarity[rows].tolist(),
                worth.tolist(),
                known[rows].tolist(),
                strict=True,
            )
        )

    def similar(
        self, lexical: Bm25Index, vector: bytes, where: SearchFilter, k: int
    ) -> list[tuple[str, float]]:
        """Return the `k` units with the nearest texts and their raw cosines.

        Best first, ties by key.
        """
        view = lexical.view(where)
        found = self._compared(view, vector)
        if found is None:
            return []
        places, likeness = found[0][:, :1], found[1]
        allowed = np.flatnonzero((places[:, 0] >= 0) & view.allowed)
        rows = _nearest(likeness, places, allowed, k)
        names = map(view.rows.keys.__getitem__, rows.tolist())
        near = _best_cosines(likeness, places[rows]).tolist()
        pairs = list(zip(names, near, strict=True))
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]

    def _with_neighbours(self, view: IndexView, rows: Places) -> Places:
        found = [rows]
        for direction in ("before", "after"):
            step = rows
            for _ in range(self._window.radius):
                step = view.columns[direction][step].astype(np.intp)
                found.append(step)
        near = np.unique(np.concatenate(found))
        near = near[view.allowed[near]]
        return np.union1d(near, rows)

    def _similarities(self, likeness: VectorComparison, places: Ints) -> Floats:
        """Return the similarity of each row on the nominal scale."""
        cosines = (_best_cosines(likeness, places) + likeness.at(places[:, 0])) / 2
        raw, nominal = np.array(self.scale.points).T
        nominal_ones: Floats = np.interp(cosines, raw, nominal)
        return nominal_ones

    def _scores(
        self, view: IndexView, rows: Places, similarity: Floats, known: Bools
    ) -> Floats:
        links = scoring.links(view.columns, rows, self._window, view.allowed & known)
        total, weights = similarity[rows], np.ones(len(rows))
        np.add.at(total, links.places, links.weights * similarity[links.rows])
        np.add.at(weights, links.places, links.weights)
        worth: Floats = total / weights
        return worth

    def _compared(
        self, view: IndexView, vector: bytes
    ) -> tuple[Ints, VectorComparison] | None:
        """Return the places of `_places_of_rows`, and the comparison.

        None if `vector` has another dimension.
        """
        with self.vectors.lock:
            if not self.vectors.fits(vector):
                self.vectors.set_dimension(len(vector) // 4)
                return None
            return self._places_of_rows(view), self.vectors.compare(vector)

    def _places_of_rows(self, view: IndexView) -> Ints:
        """Return the place of the vector of each row and of its sentences, -1 for none.

        A row is looked up once; rows without a vector are looked up again.
        """
        parts, room = 1 + self.policy.sentences, view.columns.room
        with self.vectors.lock:
            stamp = (self.vectors.generation, len(self.vectors))
            same_rows = self._rows is not None and self._rows() is view.rows
            looked_up = (
                self._looked_up if same_rows and stamp[0] == self._stamp[0] else 0
            )
            first = looked_up if stamp == self._stamp else 0
            if 0 < view.size <= first and len(self._places) == room:
                return self._places
            places = np.full((room, parts), -1, np.int32)
            places[:looked_up] = self._places[:looked_up]
            gaps = np.flatnonzero(places[: view.size, 0] < 0)
            gaps = gaps[gaps >= first]
            digests = view.columns["digest"][gaps]
            for number in range(parts if len(gaps) else 0):
                places[gaps, number] = self.vectors.places(
                    (digests + np.uint64(number)).tolist()
                )
            if view.size >= looked_up:
                self._rows, self._looked_up = weakref.ref(view.rows), view.size
                self._places, self._stamp = places, stamp
        return places

    # -- the scale ---------------------------------------------------------------------

    @property
    def scale(self) -> Scale:
        """The calibration of this model's cosines; uncalibrated if there is none."""
        own = (
            self._calibration_data.get("model") == self._model
            and self._calibration_data.get("dimension") == self.vectors.dimension
        )
        return (
            calibration.Scale(tuple(self._calibration_data["points"]), calibrated=True)
            if own
            else calibration.Scale()
        )

    @property
    def may_decide(self) -> bool:
        """Whether similarities may decide about writes.

        Those of a model in process may not: the same is filed with and without it.
        """
        return self.scale.calibrated and not self.only_ranks

    def is_calibration_due(self, lexical: Bm25Index) -> bool:
        """Return whether there are enough facts, twice those of the last attempt."""
        if self.only_ranks:
            return False
        facts = len(self._fact_digests(lexical))
        known = (
            int(self._calibration_data.get("known", 0)) if self.scale.calibrated else 0
        )
        is_enough = facts * (facts - 1) // 2 >= self._similarity.least_pairs
        if not is_enough or facts < 2 * max(known, self._tried):
            return False
        self._tried = facts
        return True

    def _fact_digests(self, lexical: Bm25Index) -> list[int]:
        """Return the digests of active facts with a vector, in order of their ids."""
        view = lexical.view(SearchFilter(kinds=("fact",), persona=None))
        rows = sorted(
            np.flatnonzero(
                view.allowed & (self._places_of_rows(view)[:, 0] >= 0)
            ).tolist(),
            key=view.rows.keys.__getitem__,
        )
        digests: list[int] = view.columns["digest"][rows].tolist()
        return digests

    def calibrate(self, lexical: Bm25Index) -> dict[str, Any]:
        """Compare the user's active facts and store the resulting scale.

        Returns the report: the number of compared `facts`, `pairs`, whether it is
        `calibrated`, and `points`.
        """
        digests = self._fact_digests(lexical)
        step = max(1, -(-len(digests) // self._similarity.most_facts))
        matrix = self.vectors.matrix(dict.fromkeys(digests[::step]))
        pairs = (matrix @ matrix.T)[np.triu_indices(len(matrix), 1)]
        found = calibration.calibrate(pairs.tolist(), self._similarity)
        report = {
            "model": self._model,
            "dimension": self.vectors.dimension,
            "known": len(digests),
            "facts": len(matrix),
            "pairs": len(pairs),
            "calibrated": found.calibrated,
            "points": list(found.points),
        }
        if found.calibrated:
            disk.write_derived(self._calibration, json.dumps(report).encode())
            self._calibration_data = report
        return report

    def _load_cold_ids(self) -> set[str]:
        try:
            return set(disk.read(self._tiers).decode("utf-8", "replace").split())
        except NotFoundError:
            return set()

    def _load_calibration(self) -> dict[str, Any]:
        """Return the stored calibration, {} if there is no usable one."""
        try:
            saved = json.loads(disk.read(self._calibration))
            points = [(float(raw), float(nominal)) for raw, nominal in saved["points"]]
        except (NotFoundError, ValueError, TypeError, KeyError):
            return {}
        rising = all(
            before[0] < after[0] and before[1] <= after[1]
            for before, after in pairwise(points)
        )
        return {**saved, "points": points} if rising and len(points) > 1 else {}


def _nearest(likeness: VectorComparison, places: Ints, rows: Places, k: int) -> Places:
    """Return the rows of the `k` nearest vectors, and of ties with the last."""
    owners, parts = np.nonzero(places[rows] >= 0)
    near = likeness.nearest(places[rows[owners], parts], k)
    found: Places = np.unique(rows[owners[near]])
    return found


def _best_cosines(likeness: VectorComparison, places: Ints) -> Floats:
    """Return the cosine of the nearest part of each row."""
    cosines = np.full(places.shape, -1.0)
    known = places >= 0
    cosines[known] = likeness.at(places[known])
    best_ones: Floats = cosines.max(axis=1)
    return best_ones
