"""Questions of an evaluation to a model: an answer from notes, and its grade (row X16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.errors import ModelError
from engram.llm.answers import AGAIN
from engram.llm.prompt_files import quoted, sections
from engram.llm.replies.base import parsed, read, schema
from engram.llm.replies.evaluation import AnswerReply, GradeReply

if TYPE_CHECKING:
    from typing import TypeVar

    from engram.llm.client import AnyModel
    from engram.llm.replies.base import ReplyModel

    Form = TypeVar("Form", bound=ReplyModel)

NOT_KNOWN = "This is not known."
"""The right answer to a question without an answer."""


def answer(
    model: AnyModel, notes: str, question: str, when: str, temperature: float
) -> str:
    """Return the model's answer to a question, asked on a date, from `notes`.

    Raises ModelError.
    """
    values = {"notes": quoted(notes), "when": when, "question": quoted(question)}
    return _asked(model, "answer", values, AnswerReply, temperature).answer


def is_right(
    model: AnyModel, question: str, expected: str, given: str, temperature: float
) -> bool:
    """Whether the model finds that an answer says what the expected one says.

    Raises ModelError.
    """
    values = {
        "question": quoted(question),
        "expected": quoted(expected or NOT_KNOWN),
        "answer": quoted(given),
    }
    return _asked(model, "grade", values, GradeReply, temperature).right


def _asked(
    model: AnyModel,
    task: str,
    values: dict[str, str],
    form: type[Form],
    temperature: float,
) -> Form:
    """Ask, and ask once more where the reply cannot be read."""
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
