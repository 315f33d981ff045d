"""Vectors for what is remembered and for what is asked: the embedding model and the
index brought together.

Recall never waits for it longer than a question may take, and never fails with it (row
A14).
"""

from __future__ import annotations

import math
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from engram.errors import BadRequestError, ConfigError, EngramError, ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.config import EmbeddingSettings, Settings
    from engram.index.search import Index
    from engram.llm.budget import Budget
    from engram.llm.embeddings import Embedder


class EmbeddingWorker:
    """The embedding model of the settings, from any thread; it and its library are
    loaded when first needed.
    """

    def __init__(
        self,
        settings: Settings,
        model: EmbeddingSettings,
        spend: Budget,
        clock: Callable[[], datetime],
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._model = model
        self._spend = spend
        self._clock = clock
        self._seconds = seconds
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._rests_until = float("-inf")
        self._fault = ""

    def vectors(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text, for work that has time. Raises ModelError,
        ConfigError.
        """
        return self._asked().embed(texts)

    def question(self, text: str, seconds: float = math.inf) -> bytes:
        """The vector of a question. Raises ModelError or ConfigError, within the time a
        question may take.

        After a fault the model is left alone for a while, so that one that hangs delays
        one answer, not all; not where somebody had only these `seconds` for it.
        """
        policy = self._settings.policy.vectors
        longest = min(policy.question_seconds, seconds)
        if self._seconds() < self._rests_until:
            raise ModelError(self._fault, fix="It is tried again soon.")
        try:
            embedder = self._asked()
            return _within(longest, lambda: embedder.question(text))
        except (ModelError, ConfigError) as fault:
            if longest < policy.question_seconds:
                raise
            self._fault = fault.what
            self._rests_until = self._seconds() + policy.rest_seconds
            raise

    def _asked(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                from engram.llm.embeddings import Embedder

                self._embedder = Embedder(
                    self._model, self._settings.policy, self._spend, self._clock
                )
            return self._embedder


def embed_some(index: Index, embedding: EmbeddingWorker, limit: int) -> int:
    """Embed up to `limit` units that have no vector; how many texts got one, 0 when
    nothing is left to do.

    What the model refuses is parted until it is taken: a batch into halves, a text to
    half its length. A text refused even when it is short is let lie until the next
    start, if the model takes others. Raises ModelError or ConfigError when it took
    none.
    """
    semantic = index.semantic
    if semantic is None:
        return 0
    policy = semantic.policy
    found: list[tuple[str, bytes]] = []
    refused: dict[str, ModelError] = {}
    waiting = [[(text, text[: policy.chars]) for _, text in index.unembedded(limit)]]
    while waiting and (pairs := waiting.pop()):
        try:
            vectors = embedding.vectors([sent for _, sent in pairs])
        except ModelError as fault:
            if fault.retryable:
                semantic.add(found)
                raise
            (text, sent), half = pairs[0], len(pairs) // 2
            if half:
                waiting += [pairs[half:], pairs[:half]]
            elif len(sent) > policy.least_chars:
                waiting.append([(text, sent[: len(sent) // 2])])
            else:
                refused[text] = fault
        else:
            found += [
                (text, vector) for (text, _), vector in zip(pairs, vectors, strict=True)
            ]
    semantic.add(found)
    if found:
        semantic.refuse(refused)
    elif refused:
        raise next(iter(refused.values()))
    return len(found)


def calibrate(index: Index) -> dict[str, Any]:
    """Find out what this model's cosines mean on the user's own facts; see
    `Meaning.calibrate`.

    Raises BadRequestError where there is no embedding model.
    """
    if index.semantic is None:
        raise BadRequestError(
            "no embedding model is set",
            fix="Set embeddings.name in your configuration file.",
        )
    return index.semantic.calibrate(index.lexical)


def _within(seconds: float, work: Callable[[], bytes]) -> bytes:
    """What `work` gives, if it gives it in time; a name lookup that hangs is left to
    itself.
    """
    answers: SimpleQueue[bytes | EngramError] = SimpleQueue()

    def run() -> None:
        try:
            answers.put(work())
        except EngramError as fault:
            answers.put(fault)

    threading.Thread(target=run, name="embed question", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except Empty:
        raise ModelError(
            f"The model gave no vector within {seconds:g} seconds"
        ) from None
    if isinstance(answer, EngramError):
        raise answer
    return answer
