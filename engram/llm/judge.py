"""The model's verdict on a new statement: same, contradicting or independent (row A9).

The reply can only name one of the given statements. A reply that cannot be parsed, or
that names another one, counts as independent, which changes nothing.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from engram.core.decide import Judgement
from engram.errors import ModelError
from engram.llm.answers import AGAIN
from engram.llm.replies import RELATIONS, JudgeReply, quoted, read, schema, sections

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.decide import RelationKind
    from engram.core.policy import DedupPolicy
    from engram.llm.client import AnyModel

SCHEMA = schema(JudgeReply)

_NUMBER = re.compile(r"[\s\"'(\[#*]*([0-9]{1,3})\s*(?:[.):,;-].*)?", re.DOTALL)
_NONE = re.compile(r"\W*(?:none|independent)\b.*", re.IGNORECASE | re.DOTALL)


def judge(
    model: AnyModel, text: str, candidates: Sequence[str], policy: DedupPolicy
) -> Judgement:
    """Return the relation of `text` to one of the known `candidates` (`A9`).

    Without candidates the model is not called. If the model refuses, or its reply
    cannot be parsed twice, the verdict is independent, with a warning. Raises
    ModelError for a failure that may be temporary: of the endpoint, or a spent budget.
    """
    if not candidates:
        return Judgement("independent")
    system, user = prompt(text, candidates)
    message = user
    for _ in range(2):
        try:
            reply = model.complete(
                "judge", system, message, SCHEMA, policy.judge_temperature
            )
        except ModelError as error:
            if error.retryable:
                raise
            return Judgement("independent", warning=error.what)
        found = read_judgement(reply, len(candidates))
        if not found.warning:
            break
        message = f"{user}\n\n{AGAIN.replace('{{error}}', found.warning)}"
    return found


def prompt(text: str, candidates: Sequence[str]) -> tuple[str, str]:
    """Return system text and question; each statement is a JSON string on its line."""
    parts = sections("judge")
    known = "\n".join(
        f"{number}. {quoted(candidate)}"
        for number, candidate in enumerate(candidates, 1)
    )
    before, _, after = parts["user"].partition("{{new}}")
    return parts["system"], before + quoted(text) + after.replace("{{known}}", known)


def read_judgement(reply: str, candidates: int) -> Judgement:
    """Return the verdict in a reply about this number of candidates (`A9`).

    The form is `{"relation": …, "index": …}`. A bare number, `2` or `2. because …`,
    means that the statement contradicts that candidate, `NONE` that it contradicts
    none. Any other reply is independent, with a warning that gives the reason.
    """
    relation, index = _read(reply)
    if relation == "independent":
        return Judgement("independent")
    if relation is None or index is None:
        return Judgement("independent", warning="the verdict cannot be read")
    if not 1 <= index <= candidates:
        return Judgement(
            "independent", warning="the verdict names no statement that was shown"
        )
    return Judgement(relation, index)


def _read(reply: str) -> tuple[RelationKind | None, int | None]:
    try:
        parsed = json.loads(reply)
    except (ValueError, RecursionError):
        parsed = reply
    if isinstance(parsed, dict):
        found, _ = read(JudgeReply, parsed)
        return _relation(found.relation), found.index
    if isinstance(parsed, str) and _NONE.fullmatch(parsed.strip()):
        return "independent", None
    index = _index(parsed)
    return (None if index is None else "contradicts"), index


def _relation(text: str) -> RelationKind | None:
    word = text.casefold()
    if word == "none":
        return "independent"
    return next((known for known in RELATIONS if known == word), None)


def _index(value: object) -> int | None:
    """Return a whole number; it may be a text, followed by a reason."""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        return int(match[1]) if match else None
    return value if type(value) is int else None
