"""Tasks of the maintenance runs for a model, and the cache of its answers.

The key of an answer is a hash of the question's exact text, so a repeated run costs
nothing and changes nothing. The cache file is derived and may be deleted.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from engram.core import jsonl
from engram.errors import ModelError, NotFoundError
from engram.vault import disk

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from engram.core.policy import ModelPolicy
    from engram.llm.client import AnyModel
    from engram.llm.replies import ReplyModel

    Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of question: the form of the reply, and the function that parses it.

    `read` takes the reply in its form, the material, and the counter of dropped items.
    It returns the answer, with `dropped` if a part of the reply was, and raises
    ModelError for an unusable reply. `lacks` returns the missing parts of an answer, or
    ''. `small` states when a small model may answer (`B14`): `few` for few statements.
    `together` questions of the task may be sent in one call. `urgent` ones do not wait
    for others; `listed` is the list in the material whose items are separate questions,
    `enough` the number that does not wait, if it differs from most tasks.
    """

    form: type[ReplyModel]
    read: Callable[[Any, Any, Counter[str]], Answer]
    small: Literal["always", "few", "never"] = "always"
    lacks: Callable[[Answer, Any], str] | None = None
    together: bool = False
    urgent: bool = False
    listed: str = ""
    enough: int | None = None

    def items(self, material: str) -> int:
        """Return the number of items in a question."""
        return len(json.loads(material)[self.listed]) if self.listed else 1


TASKS: dict[str, Task] = {}
"""The tasks, by the name of their prompt file."""


@cache
def sections(name: str) -> Mapping[str, str]:
    """Return the texts of the prompt file `name`, by their headings `# heading`."""
    raw = (
        files("engram.llm")
        .joinpath("prompts", f"{name}.md")
        .read_text(encoding="utf-8")
    )
    parts = re.split(r"^# (\w+)\n", raw, flags=re.MULTILINE)
    return {
        heading: part.strip()
        for heading, part in zip(parts[1::2], parts[2::2], strict=True)
    }


def is_small(task: str, material: str, policy: ModelPolicy) -> bool:
    """Return whether a small model may answer a question (`B14`).

    `material` is the JSON text of the question; the limit is `small_statements`.
    """
    when = TASKS[task].small
    if when == "few":
        return len(json.loads(material)["facts"]) < policy.small_statements
    return when == "always"


def answer(model: AnyModel, task: str, material: str, policy: ModelPolicy) -> Answer:
    """Return the model's answer to one question, at temperature 0. Raises ModelError.

    After an unusable reply the question is sent again, with the reason.
    """
    from engram.llm.replies import parsed, schema

    parts, known = sections(task), TASKS[task]
    question, re_asks = parts["user"].replace("{{material}}", material), policy.re_asks
    prompt = question
    while True:
        reply = model.complete(task, parts["system"], prompt, schema(known.form), 0.0)
        try:
            found, why = _read(known, parsed(reply), json.loads(material))
        except ModelError as fault:
            found, why = None, fault.what
        if found is not None and (not why or not re_asks):
            return found
        if not re_asks:
            raise ModelError(why, retryable=False)
        re_asks -= 1
        prompt = f"{question}\n\n{AGAIN.replace('{{error}}', why)}"


def answer_together(
    model: AnyModel, task: str, materials: Sequence[str], policy: ModelPolicy
) -> Iterator[Answer | ModelError]:
    """Yield the answers to several questions of a task, sent in one call.

    A question without a usable answer is sent again alone. A fault of the endpoint is
    the result for every question.
    """
    from engram.llm.replies import parsed, schema, together

    if len(materials) == 1:
        yield _single(model, task, materials[0], None, policy)
        return
    parts, known = sections(task), TASKS[task]
    listed = "\n".join(f"{number}. {one}" for number, one in enumerate(materials, 1))
    question = parts["user"].replace("{{material}}", listed) + f"\n\n{TOGETHER}"
    form = together(schema(known.form))
    rows: dict[int, Any] = {}
    try:
        reply = model.complete(task, parts["system"], question, form, 0.0)
        for row in parsed(reply).get("answers") or ():
            rows.setdefault(row.get("number"), row)
    except ModelError as fault:
        if fault.retryable and not fault.what.startswith("The answer is"):
            yield from [fault] * len(materials)
            return
    except (AttributeError, TypeError):
        rows = {}
    for number, material in enumerate(materials, 1):
        yield _single(model, task, material, rows.get(number), policy)


def _single(
    model: AnyModel, task: str, material: str, row: object, policy: ModelPolicy
) -> Answer | ModelError:
    """Return the answer in a row of a reply, else that of a separate call."""
    try:
        found, why = _read(TASKS[task], row, json.loads(material))
        if found is not None and not why:
            return found
    except ModelError:
        pass
    try:
        return answer(model, task, material, policy)
    except ModelError as fault:
        return fault


TOGETHER = (
    "Several stand above, each on a line with its number. Answer all of them with one "
    "JSON object: `answers`, a list with one item for each, which has the number as "
    "`number`, and the keys of an answer."
)
AGAIN = (
    "Your last answer could not be used: {{error}}. "
    "Answer in the form that was asked for."
)


def _read(known: Task, body: object, material: Any) -> tuple[Answer | None, str]:
    """Return the answer in a reply, and why it cannot be used unchanged, or ''.

    The answer is None if no part of it can be used. Raises ModelError.
    """
    from engram.llm.replies import read

    reply, dropped = read(known.form, body)
    found = known.read(reply, material, dropped)
    if known.lacks and (why := known.lacks(found, material)):
        return found if _has_content(found) else None, why
    if found.get("dropped") and not _has_content(found):
        return found, f"nothing in it could be used ({', '.join(found['dropped'])})"
    return found, ""


def _has_content(found: Answer) -> bool:
    return any(value for name, value in found.items() if name != "dropped")


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
            self._write_all()
        else:
            disk.append(self.path, jsonl.encode([{"key": key, "answer": answer}]))

    def drop_where(self, selects: Callable[[str, Answer], bool]) -> None:
        """Remove the answers that `selects` accepts. Raises StorageError."""
        dropped = [key for key, answer in self.items() if selects(key, answer)]
        for key in dropped:
            del self[key]
        if dropped:
            self._write_all()

    def _write_all(self) -> None:
        rows = ({"key": key, "answer": answer} for key, answer in self.items())
        disk.write_derived(self.path, jsonl.encode(rows))
