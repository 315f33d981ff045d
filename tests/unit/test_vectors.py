"""The store of vectors: what is kept, found, lost and made anew."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

from engram.config import EmbeddingSettings
from engram.index import quantize
from engram.index.quantize import dequantise, spread
from engram.index.semantic import SemanticIndex
from engram.index.vectors import Vectors

CHANCE = np.random.default_rng(7)


def unit(*numbers):
    vector = np.array(numbers, np.float64)
    return array("f", vector / np.linalg.norm(vector)).tobytes()


def units(count, dimension=8):
    return {key: unit(*CHANCE.normal(size=dimension)) for key in range(1, count + 1)}


def search(store, vector, k, allowed=None):
    """The k nearest of these keys, or of all, with their cosines, best first."""
    if not store.fits(vector):
        return []
    with store.lock:
        known = store._places.keys()
        keys = sorted(known if allowed is None else known & allowed)
        near, places = store.compare(vector), store.places(keys)
    found = [
        (keys[row], float(near.values[places[row]])) for row in near.nearest(places, k)
    ]
    return sorted(found, key=lambda one: (-one[1], one[0]))[:k]


@pytest.fixture
def store(tmp_path):
    return Vectors(tmp_path / "vectors", "m")


def test_what_is_missing_is_told_once_and_in_order(store):
    """Until it is put."""
    store.put({2: unit(1, 0)})
    assert store.missing([3, 2, 1, 3]) == [3, 1]
    assert (len(store), 2 in store, 3 in store) == (1, True, False)


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
        broken = {
            "cut": raw[:middle],
            "flipped": raw[:middle] + b"\xff\x00\xff" + raw[middle + 3 :],
            "empty": b"",
        }
        first.write_bytes(broken.get(damage, b"something else\n"))
    again = Vectors(tmp_path / "vectors", "m")
    assert len(again) == 476
    lost = again.missing(pairs)
    again.put({key: pairs[key] for key in lost})
    whole = Vectors(tmp_path / "vectors", "m")
    query = unit(*range(1, 9))
    assert search(whole, query, 1500) == search(store, query, 1500)


def test_another_model_has_a_store_of_its_own(store, tmp_path):
    """The same text means another thing to it."""
    store.put({1: unit(1, 0)})
    other = Vectors(tmp_path / "vectors", "other")
    assert (len(other), other.dimension) == (0, 0)
    other.put({1: unit(0, 1)})
    assert search(Vectors(tmp_path / "vectors", "m"), unit(1, 0), 1) == [(1, 1.0)]
    other.drop_others()
    assert len(Vectors(tmp_path / "vectors", "m")) == 0
    assert len(Vectors(tmp_path / "vectors", "other")) == 1


# -- fewer bits ------------------------------------------------------------------------


def packed(pairs, bits):
    """The vectors as they are in so many bits, by key."""
    rows = np.frombuffer(b"".join(pairs.values()), np.float32).reshape(len(pairs), -1)
    return dict(
        zip(
            pairs,
            dequantise(quantize.packed(rows, bits), bits, rows.shape[1]),
            strict=True,
        )
    )


def held(store, keys):
    return dict(zip(keys, store.bits()[store.places(keys)].tolist(), strict=True))


# row: D12
def test_what_is_worn_is_replaced_when_the_model_made_it_again(store, tmp_path):
    """Until then it is as it is, and nothing else is replaced; to want fewer bits again
    is to want none anew.
    """
    pairs = units(20)
    store.put(pairs)
    store.store(dict.fromkeys(pairs, 2))
    query = unit(*range(1, 9))
    before = search(store, query, 20)
    store.store({1: 32, 2: 8, 3: 2, 4: 32})
    store.store({4: 2})
    assert (store.worn, search(store, query, 20)) == ({1: 32, 2: 8}, before)
    assert held(store, (1, 2, 3, 4)) == {1: 32, 2: 8, 3: 2, 4: 2}
    store.put(pairs)
    for one in (store, Vectors(tmp_path / "vectors", "m")):
        assert one.worn == {}
        assert held(one, pairs) == {key: 32 if key in {1, 2} else 2 for key in pairs}
        assert np.array_equal(one.matrix([1])[0], np.frombuffer(pairs[1], np.float32))


# row: D12
def test_a_crash_amid_packing_leaves_every_vector_once(store, tmp_path):
    """The packed file was written, the other not yet: the next start counts none twice,
    and nothing is lost.
    """
    pairs = units(1500)
    store.put(pairs)
    whole = {path.name: path.read_bytes() for path in (tmp_path / "vectors").iterdir()}
    store.store(dict.fromkeys(list(pairs)[:1200], 8))
    for name, raw in whole.items():
        (tmp_path / "vectors" / name).write_bytes(raw)
    again = Vectors(tmp_path / "vectors", "m")
    assert sorted(key for key, _ in search(again, unit(*range(1, 9)), 9999)) == sorted(
        pairs
    )
    assert sum(len(rows) for _, rows in again.parts()) == 1500
    again.keep(set(list(pairs)[:1100]))
    assert len(Vectors(tmp_path / "vectors", "m")) == 1100


# row: D12
def test_a_broken_packed_file_is_dropped(store, tmp_path):
    """Its vectors are missing, so they are embedded again; the whole ones stay."""
    pairs = units(100)
    store.put(pairs)
    store.store(dict.fromkeys(list(pairs)[:40], 2))
    (path,) = (tmp_path / "vectors").glob("*-2.vec")
    path.write_bytes(path.read_bytes()[:-3])
    again = Vectors(tmp_path / "vectors", "m")
    assert again.missing(pairs) == list(pairs)[:40]
    assert not path.exists()


# row: D13
@pytest.mark.parametrize("bits", quantize.PRECISIONS)
def test_likeness_is_the_dot_product_less_what_rounding_makes_of_the_distance(bits):
    """Of Fisher and Rao; so no packed vector is as near to its whole one as itself, and
    equal bits rank as dots do.
    """
    rows = np.frombuffer(b"".join(units(500, 384).values()), np.float32).reshape(
        500, 384
    )
    held = quantize.packed(rows, bits)
    found = quantize.similarity(rows[0], held, bits)
    plain = dequantise(held, bits, 384) @ rows[0]
    step = (spread(bits) - 1) ** 2
    assert plain[0] - found[0] == pytest.approx(
        step * 2 * np.log(385), rel=0.02, abs=1e-6
    )
    assert (found[0] < 1) or bits == 8
    assert np.abs(found - plain).max() < 0.015
    # of two that differ by less, rounding tells the order
    assert np.diff(found[np.argsort(plain)]).min() > -1e-6
    flat = quantize.packed(np.ones((1, 1), np.float32), bits)
    assert quantize.similarity(np.ones(1, np.float32), flat, bits) == pytest.approx(
        1.0, abs=1e-3
    )


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
    """Damaged, of another model, or of another dimension: nothing may merge on its
    word.
    """
    settings.state.mkdir(parents=True)
    (settings.state / "calibration.json").write_bytes(saved)
    vectors = Vectors(settings.cache / "vectors", "e")
    meaning = SemanticIndex(settings, EmbeddingSettings("e"), vectors)
    assert not meaning.scale.calibrated
