"""Vectors of texts in other languages than English, computed with numpy (row A14).

The model is the multilingual Universal Sentence Encoder. It adds up the embeddings of
the tokens and the outputs of convolutions over two, three and five of them, and passes
the sum through four dense layers. Its files are those of a package of the extra
`semantic`, whose code is not executed.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from engram.core.language.words import language, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

DIMENSIONS = 512
_TABLES = 17
"""The number of tables of embeddings; token n is row n // 17 of table n % 17."""
_BRANCHES = ((2, 0), (3, 1), (5, 2))
"""The width of each convolution in tokens, and how many come before the one it is for."""
_UNKNOWN, _BEGIN, _END = 0, 1, 2
_TEXT = 10
"""The byte that begins the first field of a message, if it is a text or a message."""
_NORMALIZER, _CHARACTERS = 3, 2
"""The field with the rules for characters in a SentencePiece model."""


def is_foreign(text: str) -> bool:
    """Return whether a text is in another language than English, as far as it shows.

    A text without stop words is if it has no Latin letters.
    """
    code = language(words(text))
    if code:
        return code != "en"
    letters = [letter for letter in text if letter.isalpha()]
    return bool(letters) and min(letters) > "\u024f"


class UniversalEncoder:
    """The model, whose vectors have the length 1. Thread-safe.

    `weights` and `tokenizer` are its files; `chars` is the number of characters of a
    text that are read.
    """

    def __init__(self, weights: Path, tokenizer: Path, chars: int) -> None:
        from threadpoolctl import ThreadpoolController

        self._threads = ThreadpoolController()
        self._tokens = _tokenizer(tokenizer.read_bytes())
        self._chars = chars
        with np.load(weights, allow_pickle=False) as file:
            shape = _TABLES, len(file["q1"]), DIMENSIONS
            table = np.empty(shape, np.uint8)
            for number in range(_TABLES):
                table[number] = file[f"q{number + 1}"]
            self._table = table
            self._weights = {
                name: file[name] for name in file.files if not name.startswith("q")
            }

        self._joined = {
            name: np.concatenate(
                [self._weights[f"{name}{width}"] for width, _ in _BRANCHES], axis=-1
            )
            for name in ("proj", "proj_b", "ln_g", "ln_b")
        }

    def embed(self, texts: Sequence[str]) -> list[Floats]:
        """Return the vector of each text.

        One thread computes it; with more, they wait for each other most of the time.
        """
        with self._threads.limit(limits=1, user_api="blas"):
            return [self._vector(text[: self._chars]) for text in texts]

    def _vector(self, text: str) -> Floats:
        given = self._weights
        ids = np.array([_BEGIN, *self._tokens.encode(text).ids, _END])
        rows, tables = np.divmod(ids, _TABLES)
        scale, least = given["scale"][tables, None], given["lo"][tables, None]
        found = [self._table[tables, rows] * scale + least]
        inputs = self._layer_norm(
            found[0] @ self._joined["proj"] + self._joined["proj_b"],
            self._joined["ln_g"],
            self._joined["ln_b"],
        )
        branches = np.split(inputs, len(_BRANCHES), 1)
        for (width, before), tokens in zip(_BRANCHES, branches, strict=True):
            output = tokens
            for layer in (1, 2):
                hidden = _windows(output, width, before) @ given[f"w{layer}_{width}"]
                output = output + np.maximum(hidden + given[f"b{layer}_{width}"], 0)
            found.append(output)
        each = self._layer_norm(np.concatenate(found, 1), given["ln_g"], given["ln_b"])
        total = (each @ given["cnn_W"] + given["cnn_b"]).sum(0) / np.sqrt(len(ids))
        first = np.maximum(total @ given["d0"], 0)
        second = np.maximum(total @ given["p1"] + first @ given["d1"], 0)
        third = np.maximum(second @ given["d2"], 0)
        vector = np.tanh(second @ given["p3"] + third @ given["d3"])
        return np.asarray(vector / np.linalg.norm(vector), np.float32)

    def _layer_norm(self, rows: Floats, gain: Floats, bias: Floats) -> Floats:
        """Return rows of mean 0 and standard deviation 1, times `gain`, plus `bias`."""
        rows = rows - rows.mean(1, keepdims=True)
        deviation = np.sqrt((rows**2).mean(1, keepdims=True) + self._weights["eps"])
        normal: Floats = (rows / deviation * gain + bias).astype(np.float32)
        return normal


def _windows(rows: Floats, width: int, before: int) -> Floats:
    """Return for each row the `width` rows around it in one row; outside are zeros."""
    padded = np.pad(rows, ((before, width - 1 - before), (0, 0)))
    return np.concatenate([padded[n : n + len(rows)] for n in range(width)], 1)


def _tokenizer(model: bytes) -> Any:
    """Return the tokenizer of a SentencePiece model."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    pieces, rest = _pieces(model)
    characters = dict(_fields(dict(_fields(rest))[_NORMALIZER]))[_CHARACTERS]
    tokens = Tokenizer(models.Unigram(pieces, _UNKNOWN, byte_fallback=False))
    tokens.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(characters),
            normalizers.Replace(Regex(" {2,}"), " "),
            normalizers.Strip(),
        ]
    )
    tokens.pre_tokenizer = pre_tokenizers.Metaspace("▁", "always", split=False)
    return tokens


def _pieces(model: bytes) -> tuple[list[tuple[str, float]], bytes]:
    """Return the pieces of a SentencePiece model with their scores, and what follows.

    Each is a message of less than 128 bytes with two fields: a text and a float.
    """
    pieces, place = [], 0
    while model[place] == model[place + 2] == _TEXT:
        begin = place + 4
        end = begin + model[place + 3]
        (score,) = struct.unpack_from("<f", model, end + 1)
        pieces.append((model[begin:end].decode(), score))
        place += 2 + model[place + 1]
    return pieces, model[place:]


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each field of a protobuf message."""
    place = 0
    while place < len(message):
        key, place = _number(message, place)
        size = {1: 8, 5: 4}.get(key & 7)
        if size is None:
            size, place = _number(message, place)
        if key & 7:
            yield key >> 3, message[place : place + size]
            place += size
        else:
            yield key >> 3, size


def _number(message: bytes, place: int) -> tuple[int, int]:
    """Return the number of variable length at a place, and where it ends."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
