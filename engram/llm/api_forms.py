"""The forms of the API: how a question is put in each, how an answer is read, when to
try the next one.

Pure: nothing here talks to anyone. A reply is a stranger's: every part of it may be
missing or of another type, and its words are cut and cleaned before they reach an error
message.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from engram.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SAID_CHARS = 200
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
        lambda status, said: status == 413 or _LENGTH_WORDS.search(said),
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
        lambda _, said: _MODEL_WORDS.search(said),
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
        "Is the server compatible?",
        False,
    ),
)
"""Test, what happened, what to do in which section of the settings, may the same batch
succeed later.
"""


@dataclass(frozen=True, slots=True)
class ApiForm:
    """One rung of the ladder: the route, and how the shape of the answer is asked for."""

    route: Literal["responses", "chat"]
    shape: Literal["schema", "object", "plain"]

    def __str__(self) -> str:
        return f"{self.route}/{self.shape}"


LADDER = (
    ApiForm("responses", "schema"),
    ApiForm("chat", "schema"),
    ApiForm("chat", "object"),
    ApiForm("chat", "plain"),
)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a task asks. `task` is one word for the server and for errors; `schema` is a
    closed JSON schema.
    """

    task: str
    system: str
    user: str
    schema: Mapping[str, Any]
    temperature: float


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """What came back: the text, why the model stopped, the words of a refusal, and the
    server's own count.
    """

    text: str
    finish: str
    refusal: str
    tokens: tuple[int, int] | None


def request(
    form: ApiForm, question: ModelRequest, model: str, *, warm: bool
) -> dict[str, Any]:
    """The arguments of the call; `warm` False leaves the temperature out for models
    that take none.
    """
    body: dict[str, Any] = {"model": model} | (
        {"temperature": question.temperature} if warm else {}
    )
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
        system += f"\n\nAnswer with one JSON object that fits this JSON schema:\n{json.dumps(question.schema)}"
        if form.shape == "object":
            body["response_format"] = {"type": "json_object"}
    return body | {
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": question.user},
        ]
    }


def next_form(form: ApiForm, status: int, said: str) -> ApiForm | None:
    """The form to try after `form` was refused, or None where another form would not
    help.
    """
    lower = LADDER[LADDER.index(form) + 1 :]
    no_route = (
        form.route == "responses"
        and status in {404, 405}
        and not _MODEL_WORDS.search(said)
    )
    no_format = (
        form.shape != "plain"
        and status in {400, 404, 422}
        and bool(_FORMAT_WORDS.search(said))
    )
    return lower[0] if lower and (no_route or no_format) else None


def refuses_temperature(status: int, said: str) -> bool:
    """Whether the model is one that takes no temperature."""
    return status in {400, 422} and "temperature" in said.casefold()


def read(form: ApiForm, raw: bytes) -> ModelResponse:
    """The parts of a reply that count. Raises ModelError where it is no reply of this
    form.
    """
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise ModelError(
            "The endpoint's answer is not JSON",
            fix="Is the base URL that of a model server?",
        ) from None
    answer = _response(body) if form.route == "responses" else _completion(body)
    if answer is None:
        raise ModelError(
            "The endpoint's answer has not the form of its API",
            fix="Is the server compatible?",
        )
    return answer


def bare(text: str) -> str:
    """The JSON in a model's talk: thoughts and a Markdown fence taken off, else from
    the first `{` (row A2).
    """
    text = text.strip()
    if not text.startswith("{"):
        text = text.rpartition("</think>")[2]
        fence = text.find("```")
        if fence >= 0:
            inside = text[fence + 3 :]
            text = inside.rpartition("```")[0] or inside
    return text[max(text.find("{"), 0) : text.rfind("}") + 1 or len(text)].strip()


def said(raw: bytes, secret: str | None) -> str:
    """The server's own words about a fault: one clean line, cut, without our key."""
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
    return " ".join(
        "".join(char if char.isprintable() else " " for char in words).split()
    )[:_SAID_CHARS]


def status_fault(status: int, words: str, section: str) -> ModelError:
    """The fault that a status and the server's own `words` stand for; the first row
    that fits.
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
    )


def _part(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _tokens(usage: object, *names: str) -> tuple[int, int] | None:
    counts = [_part(usage, name) for name in names]
    sound = all(type(count) is int and count >= 0 for count in counts)
    return (counts[0], counts[1]) if sound else None
