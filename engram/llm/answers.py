"""Questions of consolidation: how a model is asked, how its answer is read, and where
answers are kept.

An answer belongs to its question word for word: asked again, it is read from the file,
so that a run repeated costs nothing and changes nothing. The file is derived; lost, the
questions are asked anew.
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
    """What is asked: a closed JSON schema, and a reading of (reply, material) that
    trusts nothing.

    The reading gives the answer, {} where the model has nothing to say, and raises
    ModelError for what has not the form. `small` says when it is a job for a small
    model (`B14`): `few` where it shows few statements.
    """

    schema: Mapping[str, Any]
    read: Callable[[Any, Any], Mapping[str, Any]]
    small: Literal["always", "few", "never"] = "always"


TASKS: dict[str, Task] = {}
"""By the name of the prompt file."""


def is_small(task: str, material: str, policy: ModelPolicy) -> bool:
    """Whether a question is a job for a small model (`B14`): short, or about fewer than
    3 statements.
    """
    size = TASKS[task].small
    return size == "always" or (
        size == "few" and len(json.loads(material)["facts"]) < policy.small_statements
    )


def answer(model: Model, task: str, material: str, policy: ModelPolicy) -> Answer:
    """The model's answer to one question at temperature 0; one without the form is
    asked for again with the reason.

    Raises ModelError.
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
            question += f"\n\nYour last answer could not be used: {fault.what}. Answer in the form that was asked for."


def _object(reply: str) -> Mapping[str, Any]:
    try:
        said = json.loads(reply)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise ModelError("it is no JSON object")
    return said


class AnswerCache(dict[str, "Answer"]):
    """The answers of the past, kept in the file `path`: the latest `most`. Belongs to
    one thread at a time.
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

    def keep(self, key: str, said: Answer) -> None:
        """Add an answer, which is written down at once. Raises StorageError."""
        self[key] = said
        if len(self) > self.most:
            for old in list(self)[: len(self) - self.most // 2]:
                del self[old]
            rows = [{"key": one, "answer": self[one]} for one in self]
            disk.write_derived(self.path, jsonl.encode(rows))
        else:
            disk.append(self.path, jsonl.encode([{"key": key, "answer": said}]))
