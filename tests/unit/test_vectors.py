"""The store of vectors: what is kept, found, lost and made anew."""

from __future__ import annotations

import threading
from array import array

import numpy as np
import pytest

from engram.index.meaning import Meaning
from engram.index.vectors import Vectors, cosines, digest

CHANCE = np.random.default_rng(7)


def unit(*numbers):
    vector = np.array(numbers, np.float64)
    return array("f", vector / np.linalg.norm(vector)).tobytes()


def units(count, dimension=8):
    return {key: unit(*CHANCE.normal(size=dimension)) for key in range(1, count + 1)}


@pytest.fixture
def store(tmp_path):
    return Vectors(tmp_path / "vectors", "m")


def test_a_text_has_one_key():
    """Also one with a broken character; other texts have others."""
    assert digest("tea") == digest("tea") != digest("Tea")
    assert 0 <= digest("half \ud83d") < 2**64


def test_what_is_missing_is_told_once_and_in_order(store):
    """Until it is put."""
    store.put({2: unit(1, 0)})
    assert store.missing([3, 2, 1, 3]) == [3, 1]
    assert (len(store), 2 in store, 3 in store) == (1, True, False)


def test_the_nearest_come_first_and_ties_by_key(store):
    """As a dot product says."""
    store.put({5: unit(1, 0), 3: unit(1, 0), 4: unit(1, 1), 9: unit(-1, 0)})
    assert store.search(unit(1, 0), 3) == [(3, 1.0), (5, 1.0), (4, pytest.approx(0.7071, abs=1e-4))]
    assert store.search(unit(1, 0), 9, allowed={9, 4, 77}) == [(4, pytest.approx(0.7071, abs=1e-4)), (9, -1.0)]
    assert store.search(unit(1, 0, 0), 3) == []
    assert store.search(unit(1, 0), 0) == []


def test_an_empty_store_finds_nothing(store):
    """No dimension is known yet."""
    assert store.search(unit(1, 0), 3) == []
    assert store.dimension == 0


# row: X20
def test_vectors_are_there_after_a_restart(store, tmp_path):
    """More than one file of them, to the last bit; full ones are mapped."""
    pairs = units(2500)
    for first in range(0, 2500, 700):
        store.put(dict(list(pairs.items())[first : first + 700]))
    query = unit(*range(1, 9))
    again = Vectors(tmp_path / "vectors", "m")
    assert again.search(query, 2500) == store.search(query, 2500)
    assert sorted(path.stat().st_size > 30_000 for path in (tmp_path / "vectors").iterdir()) == [False, True, True]
    assert not any(block.flags.owndata for block in again.matrices())
    wanted = np.concatenate([np.frombuffer(pairs[key], np.float32).reshape(1, -1) for key in (2499, 7)])
    assert np.array_equal(again.matrix([2499, 9999, 7]), wanted)


def test_a_known_vector_stays_as_it_is(store):
    """The same text gets no second one."""
    store.put({1: unit(1, 0)})
    store.put({1: unit(0, 1), 2: unit(0, 1)})
    assert store.search(unit(1, 0), 2) == [(1, 1.0), (2, 0.0)]


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "gone", "other"])
def test_a_broken_file_is_dropped_and_its_vectors_are_missing(store, tmp_path, damage):
    """The other files stay; what is lost can be put again."""
    pairs = units(1500)
    store.put(pairs)
    first, _ = sorted((tmp_path / "vectors").iterdir())
    raw = first.read_bytes()
    first.unlink()
    if damage != "gone":
        middle = len(raw) // 2
        broken = {"cut": raw[:middle], "flipped": raw[:middle] + b"\xff\x00\xff" + raw[middle + 3 :], "empty": b""}
        first.write_bytes(broken.get(damage, b"something else\n"))
    again = Vectors(tmp_path / "vectors", "m")
    assert len(again) == 476
    lost = again.missing(pairs)
    again.put({key: pairs[key] for key in lost})
    whole = Vectors(tmp_path / "vectors", "m")
    query = unit(*range(1, 9))
    assert whole.search(query, 1500) == store.search(query, 1500)


def test_another_model_has_a_store_of_its_own(store, tmp_path):
    """The same text means another thing to it."""
    store.put({1: unit(1, 0)})
    other = Vectors(tmp_path / "vectors", "other")
    assert (len(other), other.dimension) == (0, 0)
    other.put({1: unit(0, 1)})
    assert Vectors(tmp_path / "vectors", "m").search(unit(1, 0), 1) == [(1, 1.0)]
    other.drop_others()
    assert len(Vectors(tmp_path / "vectors", "m")) == 0
    assert len(Vectors(tmp_path / "vectors", "other")) == 1


def test_a_new_dimension_turns_the_store_and_the_old_one_is_not_lost(store, tmp_path):
    """A server that goes back and forth costs nothing twice."""
    store.put({1: unit(1, 0)})
    before = store.generation
    store.put({1: unit(1, 0, 0)})
    assert (store.dimension, len(store)) == (3, 1)
    assert store.generation != before
    store.turn_to(2)
    assert store.search(unit(1, 0), 1) == [(1, 1.0)]
    store.put({2: unit(0, 1)})
    assert Vectors(tmp_path / "vectors", "m").dimension == 2


def test_only_the_living_are_kept(store, tmp_path):
    """In memory and on disk; files without any go."""
    pairs = units(2100)
    store.put(pairs)
    living = {3, 1500, 1501}
    store.keep(living)
    again = Vectors(tmp_path / "vectors", "m")
    for one in (store, again):
        assert sorted(key for key, _ in one.search(unit(*range(1, 9)), 99)) == sorted(living)
    assert len(list((tmp_path / "vectors").iterdir())) == 2
    store.put({7: pairs[7]})
    assert len(Vectors(tmp_path / "vectors", "m")) == 4
    store.keep(set())
    assert (len(store), list((tmp_path / "vectors").iterdir())) == (0, [])


def test_strange_files_in_the_folder_are_let_be(store, tmp_path):
    """Only what bears our names is ours."""
    stranger = tmp_path / "vectors" / "notes.txt"
    stranger.write_text("mine")
    store.put({1: unit(1, 0)})
    store.drop_others()
    assert len(Vectors(tmp_path / "vectors", "m")) == 1
    assert stranger.exists()


def test_places_hold_while_others_are_put(store):
    """Searches from many threads see whole vectors only."""
    pairs = units(3000)
    faults = []

    def search():
        for _ in range(60):
            with store.lock:
                places, parts = store.places([1]), store.matrices()
            found = cosines(parts, pairs[1])
            if places[0] >= 0 and found[places[0]] < 0.999:
                faults.append(found[places[0]])

    store.put({1: pairs[1]})
    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for first in range(0, 3000, 150):
        store.put({key: pairs[key] for key in range(first + 1, first + 151)})
    for thread in threads:
        thread.join()
    assert (faults, len(store)) == ([], 3000)


@pytest.mark.parametrize(
    "saved",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b'{"points": 5}',
        b'{"points": [[1, 1]]}',
        b'{"points": [[0, 0], [0, 1]]}',
        b'{"points": [[0, 1], [1, 0]]}',
        b'{"points": [["a", "b"], [1, 1]]}',
        b'{"points": [[0, 0], [1, 1]], "model": "other", "dimension": 0}',
        b'{"points": [[0, 0], [1, 1]], "model": "e", "dimension": 7}',
        b'{"points": [[0, 0], [NaN, 1]], "model": "e", "dimension": 0}',
    ],
)
def test_a_calibration_that_cannot_be_used_counts_as_none(settings, saved):
    """Damaged, of another model, or of another dimension: nothing may merge on its word."""
    from engram.config import EmbeddingSettings

    settings.state.mkdir(parents=True)
    (settings.state / "calibration.json").write_bytes(saved)
    meaning = Meaning(settings, EmbeddingSettings("e"))
    assert not meaning.scale.calibrated
