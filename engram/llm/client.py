"""A language model: one prompt, one answer, in an API form that its server supports.

The forms are tried in this order (`api_forms.py`): Responses API with a JSON schema, on
the default address only; chat completions with a strict schema, with "any JSON object",
without a schema. A `Model` remembers the form that worked.

`ENGRAM_RECORD` names a folder to which calls are written with their replies,
`ENGRAM_REPLAY` one to answer from instead of a server (X2). Secrets are redacted. A row
is found by its task and question, so the system text may have changed since.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from engram.core import jsonl
from engram.core.language.secrets import redact
from engram.errors import ModelError, NotFoundError
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
from engram.llm.endpoint import Endpoint, Limits, Reply, encodable
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from engram.config import ModelSettings
    from engram.core.policy import ModelPolicy
    from engram.llm.budget import Budget, DailySpend


FILE = "calls.jsonl"


class Recording:
    """The file of calls in a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def write(
        self, task: str, system: str, user: str, reply: str, **more: object
    ) -> None:
        """Append a call. Raises StorageError."""
        disk.make_folders(self.path.parent)
        row = {"task": task, "system": system, "user": user, "reply": reply}
        redacted = {name: redact(text).text for name, text in row.items()}
        disk.append(self.path, jsonl.encode([{**redacted, **more}]))

    def replies(self) -> dict[tuple[str, str], list[str]]:
        """Return the replies by task and question, in order."""
        try:
            raw = disk.read(self.path)
        except NotFoundError:
            return {}
        found: dict[tuple[str, str], list[str]] = {}
        for row in jsonl.rows(raw):
            key = (str(row.get("task")), str(row.get("user")))
            found.setdefault(key, []).append(str(row.get("reply")))
        return found


class ReplayedModel:
    """A model that answers from a recording."""

    host = "replay"

    def __init__(self, folder: Path, spend: Budget, now: Any) -> None:
        self._folder = folder
        self._spend = spend
        self._now = now
        self._replies = Recording(folder).replies()

    @property
    def spent(self) -> DailySpend:
        """Calls, tokens and failures of today; a replay costs none."""
        return self._spend.today(self._now())

    def complete(
        self,
        task: str,
        system: str,  # noqa: ARG002
        user: str,
        schema: Mapping[str, Any],  # noqa: ARG002
        temperature: float,  # noqa: ARG002
    ) -> str:
        """Return the recorded reply to a question; repetitions get the last one.

        Raises ModelError for a question that was not recorded.
        """
        replies = self._replies.get((task, redact(user).text))
        if not replies:
            raise ModelError(
                f"No reply to this question is recorded ({task})",
                retryable=False,
                where=str(self._folder),
                fix="Record the conversation again: another prompt asks for another reply.",
            )
        return replies.pop(0) if len(replies) > 1 else replies[0]


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
            fix="Use another model for this text; its turns stay as they are.",
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
            "The model's answer is too large",
            fix="The policy model.max_reply_chars limits it.",
        )
