"""Vectors without a server: the mean of word vectors from a table (row A14).

The table and its tokens are files of the package `wordllama`, which the extra
`semantic` installs. No code of that package is executed, and no file is downloaded.
"""

from __future__ import annotations

import json
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engram.config import STATIC_TABLE
from engram.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from engram.core.policy import VectorPolicy

_TABLE = "weights/l2_supercat_256.safetensors"
_TOKENS = "tokenizers/l2_supercat_tokenizer_config.json"
_DTYPES = {"F16": np.float16, "F32": np.float32}
_FIX = "Install it with: pip install 'engram[semantic]'."


class StaticEmbedder:
    """An embedder that uses the table. Thread-safe.

    The constructor raises ConfigError if the table is not installed.
    """

    def __init__(self, policy: VectorPolicy) -> None:
        folder = _table_folder()
        self._policy = policy
        self._lock = threading.Lock()
        self._tokens = _tokenizer(folder / _TOKENS)
        self._table = _mapped_table(folder / _TABLE)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector of length 1 for each text."""
        policy = self._policy
        cut = [text[: policy.chars] for text in texts]
        with self._lock:
            coded = self._tokens.encode_batch(cut, add_special_tokens=False)
        return [self._vector(tokens.ids) for tokens in coded]

    def question(self, text: str) -> bytes:
        """Return the vector of a question."""
        return self.embed([text])[0]

    def _vector(self, tokens: Sequence[int]) -> bytes:
        rows = self._table[list(tokens) or [0], : self._policy.static_dimension]
        mean = rows.mean(axis=0, dtype=np.float32)
        length = float(np.linalg.norm(mean))
        if not length:
            mean, length = np.ones_like(mean), float(len(mean)) ** 0.5
        return bytes((mean / length).astype(np.float32).tobytes())


def is_installed() -> bool:
    """Return whether the table, and the library for its tokens, are installed."""
    try:
        _table_folder()
    except ConfigError:
        return False
    return True


def _table_folder() -> Path:
    """Return the folder of the table's package, without importing it."""
    spec = find_spec(STATIC_TABLE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places or not find_spec("tokenizers"):
        raise ConfigError(f"The table of {STATIC_TABLE} is not installed", fix=_FIX)
    folder = Path(places[0])
    if not (folder / _TABLE).is_file() or not (folder / _TOKENS).is_file():
        raise ConfigError(
            f"This version of {STATIC_TABLE} has no table that engram can read",
            where=str(folder),
            fix=_FIX,
        )
    return folder


def _tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer

    tokens = Tokenizer.from_file(str(path))
    tokens.no_padding()
    tokens.no_truncation()
    return tokens


def _mapped_table(path: Path) -> NDArray[Any]:
    """Return the only table of a safetensors file, mapped into memory."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        tables = json.loads(file.read(size))
    (head,) = (one for name, one in tables.items() if name != "__metadata__")
    start = 8 + size + head["data_offsets"][0]
    return np.memmap(path, _DTYPES[head["dtype"]], "r", start, tuple(head["shape"]))
