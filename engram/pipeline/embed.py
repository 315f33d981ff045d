"""Vectors of memories and questions: the embedding model and the index (row A14).

Recall waits for the vector of a question for a limited time, and works without it.
"""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from engram.errors import BadRequestError, ConfigError, EngramError, ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.config import EmbeddingSettings, Settings
    from engram.index.embedder import Embedder
    from engram.index.search import Index
    from engram.llm.budget import Budget


class EmbeddingWorker:
    """The embedding model of the settings; safe from any thread.

    The model and its library are loaded when they are first needed.
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
        self._paused_until = float("-inf")
        self._fault = ""

    def vectors(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text. Raises ModelError, ConfigError."""
        return self._load().embed(texts)

    def question(self, text: str, seconds: float = math.inf) -> Callable[[], bytes]:
        """Start to embed a question; return a function that waits for the vector.

        The function raises ModelError or ConfigError, also when `seconds` or the
        policy's limit have passed since the call of `question`. After an error the
        model is not called for `rest_seconds`, so that a server without a response
        delays one answer only. An error within a limit shorter than the policy's does
        not count.
        """
        longest = min(self._settings.policy.vectors.question_seconds, seconds)
        if self._seconds() < self._paused_until:
            rest = ModelError(self._fault, fix="It is tried again soon.")
            return partial(_raise, rest)
        work = partial(self._question, text)
        # A model in this process answers in time.
        waiting = work if self._model.in_process else _in_thread(work, longest)
        return partial(self._answer, waiting, longest)

    def _question(self, text: str) -> bytes:
        return self._load().question(text)

    def _answer(self, waiting: Callable[[], bytes], longest: float) -> bytes:
        """Wait for a vector; after an error, stop calling the model for a while."""
        policy = self._settings.policy.vectors
        try:
            return waiting()
        except (ModelError, ConfigError) as fault:
            if longest >= policy.question_seconds:
                self._fault = fault.what
                self._paused_until = self._seconds() + policy.rest_seconds
            raise

    def _load(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = self._open()
            return self._embedder

    def _open(self) -> Embedder:
        policy = self._settings.policy
        if self._model.in_process:
            from engram.index.embedder import LanguageModels, SentenceModel

            return (
                SentenceModel(self._model.folder, policy.vectors)
                if self._model.folder
                else LanguageModels(policy.vectors)
            )
        from engram.llm.embeddings import ServerEmbedder

        return ServerEmbedder(self._model, policy, self._spend, self._clock)


def embed_some(index: Index, embedding: EmbeddingWorker, limit: int) -> int:
    """Embed up to `limit` units without a vector; return the number of new vectors.

    If the model refuses a batch, each half is tried; if it refuses a single text, the
    first half of that text is tried. A short text that is refused is skipped until the
    next start, provided that the model accepts others. Raises ModelError or ConfigError
    if it accepts none.
    """
    semantic = index.semantic
    if semantic is None:
        return 0
    policy = semantic.policy
    found: dict[int, bytes] = {}
    refused: dict[int, ModelError] = {}
    texts = [semantic.parts(text) for _, text in index.unembedded(limit)]
    waiting = [[pair for parts in texts for pair in parts.items()]]
    while waiting and (pairs := waiting.pop()):
        try:
            vectors = embedding.vectors([sent for _, sent in pairs])
        except ModelError as fault:
            if fault.retryable:
                semantic.add(found)
                raise
            (key, sent), half = pairs[0], len(pairs) // 2
            if half:
                waiting += [pairs[half:], pairs[:half]]
            elif len(sent) > policy.least_chars:
                waiting.append([(key, sent[: len(sent) // 2])])
            else:
                refused[key] = fault
        else:
            found.update(zip((key for key, _ in pairs), vectors, strict=True))
    semantic.add(found)
    if found:
        semantic.refuse(refused)
    elif refused:
        raise next(iter(refused.values()))
    return sum(next(reversed(parts)) in found for parts in texts)


def calibrate(index: Index) -> dict[str, Any]:
    """Calibrate the similarities of this model on the user's facts.

    See `Semantic.calibrate`. Raises BadRequestError without an embedding model.
    """
    if index.semantic is None:
        raise BadRequestError(
            "no embedding model is set",
            fix="Set embeddings.name in your configuration file.",
        )
    return index.semantic.calibrate(index.lexical)


def calibrate_when_due(index: Index) -> dict[str, Any] | None:
    """Calibrate when there are enough pairs of facts, and when the facts have doubled.

    Returns the report, or None if there was no calibration.
    """
    semantic = index.semantic
    if semantic is None or not semantic.is_calibration_due(index.lexical):
        return None
    report = semantic.calibrate(index.lexical)
    return report if report["calibrated"] else None


def _in_thread(work: Callable[[], bytes], seconds: float) -> Callable[[], bytes]:
    """Start `work` in a thread; return a function that waits for its result.

    The function raises ModelError `seconds` after this call. The thread goes on,
    because a name lookup cannot be interrupted.
    """
    future: Future[bytes] = Future()
    until = time.monotonic() + seconds

    def run() -> None:
        try:
            future.set_result(work())
        except EngramError as fault:
            future.set_exception(fault)

    def wait() -> bytes:
        try:
            return future.result(max(0.0, until - time.monotonic()))
        except TimeoutError:
            raise ModelError(
                f"The model gave no vector within {seconds:g} seconds"
            ) from None

    threading.Thread(target=run, name="embed question", daemon=True).start()
    return wait


def _raise(fault: EngramError) -> bytes:
    raise fault
