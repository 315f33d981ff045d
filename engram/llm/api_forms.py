"""The API forms: requests, replies, and the choice of the next form.

All functions are pure. A reply is not trusted: every part of it may be missing or of
another type, and its text is cut and cleaned before it is part of an error message.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from engram.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MESSAGE_CHARS = 200
_FORMAT_WORDS = re.compile(
    r"response_format|text\.format|json_schema|json_object|json schema|structured output|grammar",
    re.IGNORECASE,
)
_MODEL_WORDS = re.compile(
    r"\bmodel\b[^.]{0,200}\b(?:not found|not exist|not available|unknown)|model_not_found|unknown model",
    re.IGNORECASE,
)
_LENGTH_WORDS = re.compile(
    r"context.{0,9}length|context window|maximum context|too many tokens", re.IGNORECASE
)


_STATUS_FAULTS: tuple[tuple[Callable[[int, str], object], str, str, bool], ...] = (
    (
        lambda status, message: status == 413 or _LENGTH_WORDS.search(message),
        "The prompt is too long for this model",
        "Use a model with a longer context.",
        False,
    ),
    (
        lambda status, _: status in {401, 402, 403},
        "The endpoint refused the key",
        "Check the model's API key and its account.",
        True,
    ),
    (
        lambda _, message: _MODEL_WORDS.search(message),
        "The endpoint does not have the model",
        "Check {section}.name.",
        True,
    ),
    (
        lambda status, _: status in {404, 405},
        "The endpoint has no such route",
        "Check {section}.base_url; it usually ends in /v1.",
        True,
    ),
    (
        lambda status, _: status < 400,
        "The endpoint sends us elsewhere",
        "Redirects are not followed; set {section}.base_url to the final address.",
        True,
    ),
    (
        lambda status, _: status >= 500 or status in {408, 409, 425},
        "The endpoint failed",
        "It is tried again later.",
        True,
    ),
    (
        lambda *_: True,
        "The endpoint refused the request",
        "Check that the server speaks the API that is set.",
        False,
    ),
)
"""For each kind of error: test of status and message, error, fix, `retryable`."""


@dataclass(frozen=True, slots=True)
class ApiForm:
    """An API form: the route, and the request for the schema of the answer."""

    route: Literal["responses", "chat"]
    shape: Literal["schema", "object", "plain"]

    def __str__(self) -> str:
        return f"{self.route}/{self.shape}"


FORMS = (
    ApiForm("responses", "schema"),
    ApiForm("chat", "schema"),
    ApiForm("chat", "object"),
    ApiForm("chat", "plain"),
)
"""The forms in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request of a task.

    `task` is a word for the server and for errors; `schema` is a closed JSON schema.
    """

    task: str
    system: str
    user: str
    schema: Mapping[str, Any]
    temperature: float


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """The text of a reply, the reason of its end, a refusal, and the token counts.

    `tokens` are those of prompt and answer, None if the server does not report them;
    `cached` are those of the prompt that the server had in its cache.
    """

    text: str
    finish: str
    refusal: str
    tokens: tuple[int, int] | None
    cached: int = 0


def request(
    form: ApiForm, question: ModelRequest, model: str, *, with_temperature: bool
) -> dict[str, Any]:
    """Return the arguments of the call.

    Without `with_temperature` they have none, for models that do not accept it.
    """
    body: dict[str, Any] = {"model": model}
    if with_temperature:
        body["temperature"] = question.temperature
    described = {"name": question.task, "schema": question.schema, "strict": True}
    if form.route == "responses":
        return body | {
            "instructions": question.system,
            "input": question.user,
            "text": {"format": {"type": "json_schema"} | described},
            "store": False,
        }
    system = question.system
    if form.shape == "schema":
        body["response_format"] = {"type": "json_schema", "json_schema": described}
    else:
        system += (
            "\n\nAnswer with one JSON object that fits this JSON schema:\n"
            f"{json.dumps(question.schema)}"
        )
        if form.shape == "object":
            body["response_format"] = {"type": "json_object"}
    return body | {
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": question.user},
        ]
    }


def next_form(form: ApiForm, status: int, message: str) -> ApiForm | None:
    """Return the form to try after `form` was refused, None if no other form helps.

    `message` is the text of the server's error.
    """
    later = FORMS[FORMS.index(form) + 1 :]
    no_route = (
        form.route == "responses"
        and status in {404, 405}
        and not _MODEL_WORDS.search(message)
    )
    no_format = (
        form.shape != "plain"
        and status in {400, 404, 422}
        and bool(_FORMAT_WORDS.search(message))
    )
    return later[0] if later and (no_route or no_format) else None


def refuses_temperature(status: int, message: str) -> bool:
    """Return whether the server refused the request because of its temperature."""
    return status in {400, 422} and "temperature" in message.casefold()


def json_body(raw: bytes) -> Any:
    """Return the JSON of a reply. Raises ModelError."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise ModelError(
            "The endpoint's answer is not JSON",
            fix="Check that the base URL is that of a model server.",
        ) from None


def read(form: ApiForm, raw: bytes) -> ModelResponse:
    """Return the parts of a reply. Raises ModelError if it is no reply of this form."""
    body = json_body(raw)
    answer = _response(body) if form.route == "responses" else _completion(body)
    if answer is None:
        raise ModelError(
            "The endpoint's answer has not the form of its API",
            fix="Check that the server speaks the API that is set.",
        )
    return answer


def extract_json(text: str) -> str:
    """Return the JSON in a model's answer, without reasoning and Markdown fence (A2).

    By default it begins at the first `{`.
    """
    text = text.strip()
    if not text.startswith("{"):
        text = text.rpartition("</think>")[2]
        fence = text.find("```")
        if fence >= 0:
            inside = text[fence + 3 :]
            text = inside.rpartition("```")[0] or inside
    return text[max(text.find("{"), 0) : text.rfind("}") + 1 or len(text)].strip()


def error_message(raw: bytes, secret: str | None) -> str:
    """Return the server's error message: one clean line, cut, without the API key."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        body = raw.decode("utf-8", "replace")
    error = _part(body, "error") or body
    parts = (
        (_part(error, "message"), _part(error, "code"))
        if isinstance(error, dict)
        else (error,)
    )
    words = " ".join(part for part in parts if isinstance(part, str))
    if secret:
        words = words.replace(secret, "[key]")
    printable = "".join(char if char.isprintable() else " " for char in words)
    return " ".join(printable.split())[:_MESSAGE_CHARS]


def status_fault(status: int, words: str, section: str) -> ModelError:
    """Return the error for a status and the server's message.

    The first matching row decides.
    """
    what, fix, retryable = next(
        row[1:] for row in _STATUS_FAULTS if row[0](status, words)
    )
    return ModelError(
        f"{what} ({status}{': ' + words if words else ''})",
        retryable=retryable,
        fix=fix.format(section=section),
    )


def _completion(body: object) -> ModelResponse | None:
    choices = _part(body, "choices")
    message = (
        _part(choices[0], "message") if isinstance(choices, list) and choices else None
    )
    if not isinstance(message, dict):
        return None
    return ModelResponse(
        _text(message.get("content")),
        _text(_part(choices[0], "finish_reason")),
        _text(message.get("refusal")),
        _tokens(_part(body, "usage"), "prompt_tokens", "completion_tokens"),
        _cached(_part(body, "usage"), "prompt_tokens_details"),
    )


def _response(body: object) -> ModelResponse | None:
    output = _part(body, "output")
    if not isinstance(output, list):
        return None
    contents = [
        _part(item, "content") for item in output if _part(item, "type") == "message"
    ]
    parts = [
        part for content in contents if isinstance(content, list) for part in content
    ]
    reason = _text(_part(_part(body, "incomplete_details"), "reason"))
    return ModelResponse(
        "".join(_text(_part(part, "text")) for part in parts),
        "length" if reason == "max_output_tokens" else reason,
        " ".join(_text(_part(part, "refusal")) for part in parts).strip(),
        _tokens(_part(body, "usage"), "input_tokens", "output_tokens"),
        _cached(_part(body, "usage"), "input_tokens_details"),
    )


def _part(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _cached(usage: object, details: str) -> int:
    count = _part(_part(usage, details), "cached_tokens")
    return count if type(count) is int and count >= 0 else 0


def _tokens(usage: object, *names: str) -> tuple[int, int] | None:
    counts = [_part(usage, name) for name in names]
    sound = all(type(count) is int and count >= 0 for count in counts)
    return (counts[0], counts[1]) if sound else None
