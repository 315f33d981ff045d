"""Questions of the maintenance runs to a model, and the cache of its answers.

The key of an answer is a hash of the question's exact text, so a repeated run costs
nothing and changes nothing. The cache file is derived and may be deleted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from engram.core import jsonl
from engram.errors import ModelError, NotFoundError
from engram.llm.prompt_files import sections
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from engram.core.policy import ModelPolicy
    from engram.llm.client import Model

    Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of question: the JSON schema of the reply, and the function that reads it.

    `read` takes the reply and the material, and validates the reply. It returns the
    answer, {} if the model reports nothing, and raises ModelError for a wrong form.
    `small` says when a small model may answer (`B14`): `few` for few statements.
    """

    schema: Mapping[str, Any]
    read: Callable[[Any, Any], Mapping[str, Any]]
    small: Literal["always", "few", "never"] = "always"


TASKS: dict[str, Task] = {}
"""The tasks, by the name of their prompt file."""


def is_small(task: str, material: str, policy: ModelPolicy) -> bool:
    """Whether a small model may answer a question (`B14`).

    `material` is the JSON text of the question; the limit is `small_statements`.
    """
    when = TASKS[task].small
    if when == "few":
        return len(json.loads(material)["facts"]) < policy.small_statements
    return when == "always"


def answer(model: Model, task: str, material: str, policy: ModelPolicy) -> Answer:
    """Return the model's answer to one question, at temperature 0. Raises ModelError.

    After a reply of a wrong form the model is asked again, with the reason.
    """
    parts, known = sections(task), TASKS[task]
    question, re_asks = parts["user"].replace("{{material}}", material), policy.re_asks
    while True:
        reply = model.complete(task, parts["system"], question, known.schema, 0.0)
        try:
            return known.read(_object(reply), json.loads(material))
        except ModelError as fault:
            if not re_asks:
                raise ModelError(fault.what, retryable=False) from fault
            re_asks -= 1
            question += (
                f"\n\nYour last answer could not be used: {fault.what}. "
                "Answer in the form that was asked for."
            )


def _object(reply: str) -> Mapping[str, Any]:
    try:
        parsed = json.loads(reply)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise ModelError("it is no JSON object")
    return parsed


class AnswerCache(dict[str, "Answer"]):
    """The latest `most` answers by key, stored in the file `path`.

    For one thread at a time.
    """

    def __init__(self, path: Path, most: int) -> None:
        super().__init__()
        self.path = path
        self.most = most
        try:
            raw = disk.read(path)
        except NotFoundError:
            return
        for row in jsonl.rows(raw):
            if isinstance(row.get("key"), str) and "answer" in row:
                self[row["key"]] = row["answer"]

    def store(self, key: str, answer: Answer) -> None:
        """Add an answer, and write it to the file. Raises StorageError."""
        self[key] = answer
        if len(self) > self.most:
            for old in list(self)[: len(self) - self.most // 2]:
                del self[old]
            rows = [{"key": one, "answer": self[one]} for one in self]
            disk.write_derived(self.path, jsonl.encode(rows))
        else:
            disk.append(self.path, jsonl.encode([{"key": key, "answer": answer}]))
