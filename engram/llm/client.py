"""A language model: one prompt, one answer, in an API form that its server supports.

The forms are tried in this order (`api_forms.py`): Responses API with a JSON schema, on
the default address only; chat completions with a strict schema, with "any JSON object",
without a schema. A `Model` remembers the form that worked.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from engram.errors import ModelError
from engram.llm.api_forms import (
    FORMS,
    ApiForm,
    ModelRequest,
    ModelResponse,
    extract_json,
    next_form,
    read,
    refuses_temperature,
    request,
)
from engram.llm.connection import Limits
from engram.llm.endpoint import Endpoint, encodable
from engram.llm.recording import Recording, ReplayedModel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime

    from engram.config import ModelSettings
    from engram.core.policy import ModelPolicy
    from engram.llm.budget import Budget, DailySpend
    from engram.llm.connection import Reply


AnyModel: TypeAlias = "Model | ReplayedModel"
"""A language model, or a recording in its place."""


class Model:
    """A language model behind an endpoint, with its budget. Thread-safe.

    The constructor raises ConfigError for settings that cannot work (`Endpoint`).
    """

    def __init__(
        self,
        settings: ModelSettings,
        policy: ModelPolicy,
        spend: Budget,
        clock: Callable[[], datetime],
    ) -> None:
        self._endpoint = Endpoint(settings, policy, spend, clock)
        self._settings = settings
        self._policy = policy
        responses = settings.api == "responses" or (
            settings.api == "auto" and self._endpoint.is_default
        )
        self._form = FORMS[0] if responses else FORMS[1]
        self._with_temperature = True
        self._recording = Recording(settings.record) if settings.record else None

    @property
    def host(self) -> str:
        """`host` or `host:port` of the endpoint."""
        return self._endpoint.host

    @property
    def form(self) -> ApiForm:
        """The form of the API in use."""
        return self._form

    @property
    def spent(self) -> DailySpend:
        """Calls, tokens and failures of today."""
        return self._endpoint.spent

    def complete(
        self,
        task: str,
        system: str,
        user: str,
        schema: Mapping[str, Any],
        temperature: float,
    ) -> str:
        """Return the model's answer to one prompt, without code fences and small talk.

        The answer is JSON if the model followed `schema`, a closed JSON schema. `task`
        names the call for the server and in errors. Raises ModelError for an error of
        the endpoint, BudgetSpentError if the budget of the day is spent.
        """
        question = ModelRequest(
            task, encodable(system), encodable(user), schema, temperature
        )
        while True:
            form, with_temperature = self._form, self._with_temperature
            body = request(
                form, question, self._settings.name, with_temperature=with_temperature
            )
            reserved = self._endpoint.estimate(json.dumps(body))
            with self._endpoint.counted(task, reserved):
                reply = self._endpoint.ask(
                    _creation(form, body), reserved, self._limits
                )
                if reply.status // 100 == 2:
                    return self._text(form, question, reply, reserved)
                message = self._endpoint.error_message(reply)
                later = next_form(form, reply.status, message)
                if later:
                    self._form = later
                elif with_temperature and refuses_temperature(reply.status, message):
                    self._with_temperature = False
                else:
                    raise self._endpoint.refusal(reply)

    @property
    def _limits(self) -> Limits:
        """The limits of a reply, with six bytes for each escaped character."""
        return Limits(
            self._policy.timeout_seconds,
            6 * self._policy.max_reply_chars + 65536,
            "model.timeout",
        )

    def _text(
        self, form: ApiForm, question: ModelRequest, reply: Reply, reserved: int
    ) -> str:
        answer = read(form, reply.raw)
        tokens = answer.tokens or (reserved, self._endpoint.estimate(answer.text))
        self._endpoint.used(reserved, *tokens, task=question.task, cached=answer.cached)
        _accept(answer, self._policy)
        text = extract_json(answer.text)
        if self._recording:
            self._recording.write(
                question.task,
                question.system,
                question.user,
                text,
                tokens=list(tokens),
                cached=answer.cached,
            )
        return text


def _creation(form: ApiForm, body: dict[str, Any]) -> Callable[[Any], Awaitable[Any]]:
    """Return the function that sends the request with a client of the library."""
    if form.route == "responses":
        return lambda client: client.responses.create(**body)
    return lambda client: client.chat.completions.create(**body)


def _accept(answer: ModelResponse, policy: ModelPolicy) -> None:
    """Raise ModelError if the answer is refused, cut off, empty or too large."""
    if answer.refusal or answer.finish == "content_filter":
        raise ModelError(
            "The model refused to answer",
            retryable=False,
            fix="Another model may take this text.",
        )
    if answer.finish == "length":
        raise ModelError(
            "The model's answer was cut off",
            fix="Give the server more room for answers.",
        )
    if not answer.text.strip():
        raise ModelError("The model's answer is empty", fix="It is tried again later.")
    if len(answer.text) > policy.max_reply_chars:
        raise ModelError(
            "The model's answer is too large", fix="The limit is max_reply_chars."
        )
