"""Embeddings of texts by any OpenAI-compatible server (rows A1, A6, A14, X24).

A vector is the bytes of 32-bit floats in native byte order, of length 1, so that a dot
product is a cosine. A reply is validated: as many vectors as texts, in their order, of
one dimension, with finite numbers. Otherwise a ModelError is raised.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engram.errors import ModelError
from engram.llm.api_forms import json_body
from engram.llm.endpoint import Endpoint, Limits, encodable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.config import EmbeddingSettings
    from engram.core.policy import Policy
    from engram.llm.budget import Budget

_NUMBER_BYTES = 32


class ServerEmbedder:
    """An embedding model behind an endpoint. Thread-safe.

    It gets a share of the daily budget, so that the rest remains for the language
    model. The constructor raises ConfigError for settings that cannot work
    (`Endpoint`).
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        policy: Policy,
        spend: Budget,
        clock: Callable[[], datetime],
    ) -> None:
        share = policy.vectors.budget_share
        model = policy.model
        budget = replace(
            model,
            calls_per_day=int(model.calls_per_day * share),
            tokens_per_day=int(model.tokens_per_day * share),
        )
        self._endpoint = Endpoint(settings, budget, spend, clock)
        self._name = settings.name
        self._policy = policy.vectors

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text; no text may be blank.

        Only the first `chars` characters of a long text are sent. Raises ModelError for
        an error of the endpoint, BudgetSpentError if the share is spent. `retryable` is
        False if a text is the cause, for example one that is too long for the model.
        """
        policy, vectors = self._policy, list[bytes]()
        for first in range(0, len(texts), policy.texts):
            batch = texts[first : first + policy.texts]
            vectors += self._batch(batch, policy.timeout_seconds)
        if len(set(map(len, vectors))) > 1:
            raise _misshapen("its vectors differ in length")
        return vectors

    def question(self, text: str) -> bytes:
        """Return the vector of a question, with a short timeout; see `embed`."""
        return self._batch([text], self._policy.question_seconds)[0]

    def _batch(self, texts: Sequence[str], seconds: float) -> list[bytes]:
        policy, endpoint = self._policy, self._endpoint
        sent = [encodable(text[: policy.chars]) for text in texts]
        limits = Limits(
            seconds, _NUMBER_BYTES * policy.most_dimension * len(sent) + 65536
        )
        reserved = endpoint.estimate("".join(sent))
        body = {"model": self._name, "input": sent, "encoding_format": "float"}
        with endpoint.counted("embed", reserved):
            reply = endpoint.ask(
                lambda client: client.embeddings.create(**body), reserved, limits
            )
            if reply.status // 100 != 2:
                raise endpoint.refusal(reply)
            vectors, tokens = read(reply.raw, len(sent), policy.most_dimension)
            if tokens is not None:
                endpoint.used(reserved, tokens, task="embed")
            return vectors


def read(raw: bytes, count: int, most: int) -> tuple[list[bytes], int | None]:
    """Return the `count` vectors of a reply in order, and its reported tokens.

    The tokens are None if they are not reported. Raises ModelError for another number
    of vectors, for vectors of different lengths or longer than `most`, for values that
    are not numbers, and for zero vectors.
    """
    body = json_body(raw)
    items = _in_order(body.get("data") if isinstance(body, dict) else None, count)
    vectors = [_unit(item.get("embedding"), most) for item in items]
    if len(set(map(len, vectors))) > 1:
        raise _misshapen("its vectors differ in length")

    usage = body.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return vectors, tokens if type(tokens) is int and tokens >= 0 else None


def _in_order(items: Any, count: int) -> list[dict[str, Any]]:
    """Return the `count` items of a reply by index. Raises ModelError for others."""
    if (
        not isinstance(items, list)
        or len(items) != count
        or not all(isinstance(item, dict) for item in items)
    ):
        raise _misshapen(f"it does not hold {count} vectors")

    numbers = [item.get("index", place) for place, item in enumerate(items)]
    if not all(type(number) is int for number in numbers):
        raise _misshapen("its vectors are not numbered")
    if sorted(numbers) != list(range(count)):
        raise _misshapen("its vectors are not numbered")
    by_number = dict(zip(numbers, items, strict=True))
    return [by_number[number] for number in range(count)]


def _unit(numbers: Any, most: int) -> bytes:
    """Return the vector of these numbers, scaled to length 1."""
    if not isinstance(numbers, list) or not 0 < len(numbers) <= most:
        raise _misshapen("a vector is no list of numbers, or too long a one")
    try:
        vector = array("d", numbers)
    except (TypeError, OverflowError):
        raise _misshapen("a vector holds what is no number") from None
    length = math.hypot(*vector)
    if not math.isfinite(length) or not length:
        raise _misshapen("a vector is nothing but zeros, or endless")
    return array("f", [number / length for number in vector]).tobytes()


def _misshapen(why: str) -> ModelError:
    return ModelError(
        f"The endpoint's answer is no embedding: {why}",
        fix="Check that this is an embedding model.",
    )
