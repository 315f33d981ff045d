"""Model tasks of an evaluation: an answer from notes, and its grade (row X16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from engram.errors import ModelError
from engram.llm.answers import AGAIN, sections
from engram.llm.replies import ReplyModel, Text, parsed, quoted, read, schema

if TYPE_CHECKING:
    from engram.llm.client import AnyModel

    Form = TypeVar("Form", bound=ReplyModel)


class AnswerReply(ReplyModel):
    """An answer to a question."""

    answer: Text


class GradeReply(ReplyModel):
    """Whether an answer is right."""

    right: bool


NOT_KNOWN = "This is not known."
"""The right answer to an unanswerable question."""


def answer(
    model: AnyModel, notes: str, question: str, when: str, temperature: float
) -> str:
    """Return the model's answer to a question, asked on a date, from `notes`.

    Raises ModelError.
    """
    values = {"notes": quoted(notes), "when": when, "question": quoted(question)}
    return _reply_to(model, "answer", values, AnswerReply, temperature).answer


def is_right(
    model: AnyModel, question: str, expected: str, given: str, temperature: float
) -> bool:
    """Return whether the model considers an answer equivalent to the expected one.

    Raises ModelError.
    """
    values = {
        "question": quoted(question),
        "expected": quoted(expected or NOT_KNOWN),
        "answer": quoted(given),
    }
    return _reply_to(model, "grade", values, GradeReply, temperature).right


def _reply_to(
    model: AnyModel,
    task: str,
    values: dict[str, str],
    form: type[Form],
    temperature: float,
) -> Form:
    """Send a task, and send it again if the reply cannot be parsed."""
    parts = sections(task)
    pieces = parts["user"].split("{{")
    first = pieces[0]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        first += values[name] + rest
    question = first
    while True:
        reply = model.complete(
            task, parts["system"], question, schema(form), temperature
        )
        try:
            return read(form, parsed(reply))[0]
        except ModelError as error:
            if question != first:
                raise
            question = f"{first}\n\n{AGAIN.replace('{{error}}', error.what)}"
