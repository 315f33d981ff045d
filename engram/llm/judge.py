"""The one verdict of the write ladder: is a new statement the same as, against, or
beside what is known (row A9).

The answer can only name one of the statements that were shown. What cannot be read, or
names none of them, is independent, the answer that changes nothing.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, get_args

from engram.core.dedup import Judgement, RelationKind
from engram.errors import ModelError
from engram.llm.prompt_files import quoted, sections

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.policy import DedupPolicy
    from engram.llm.client import Model

RELATIONS: tuple[RelationKind, ...] = get_args(RelationKind)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "relation": {"type": "string", "enum": list(RELATIONS)},
        "index": {"type": "integer"},
    },
    "required": ["relation", "index"],
    "additionalProperties": False,
}

_NUMBER = re.compile(r"[\s\"'(\[#*]*([0-9]{1,3})\s*(?:[.):,;-].*)?", re.DOTALL)
_NONE = re.compile(r"\W*(?:none|independent)\b.*", re.IGNORECASE | re.DOTALL)


def judge(
    model: Model, text: str, candidates: Sequence[str], policy: DedupPolicy
) -> Judgement:
    """What `text` is to the numbered `candidates` (`A9`): one question at temperature
    0, none without candidates.

    An answer that a model refuses, or that cannot be read, is independent with a
    warning. Raises ModelError only for what may work later: the endpoint failed, hangs,
    or the day's budget is spent.
    """
    if not candidates:
        return Judgement("independent")
    system, user = prompt(text, candidates)
    try:
        reply = model.complete("judge", system, user, SCHEMA, policy.judge_temperature)
    except ModelError as error:
        if error.retryable:
            raise
        return Judgement("independent", warning=error.what)
    return read_judgement(reply, len(candidates))


def prompt(text: str, candidates: Sequence[str]) -> tuple[str, str]:
    """System text and question; every statement is a JSON string on a line of its own."""
    parts = sections("judge")
    known = "\n".join(
        f"{number}. {quoted(candidate)}"
        for number, candidate in enumerate(candidates, 1)
    )
    before, _, after = parts["user"].partition("{{new}}")
    return parts["system"], before + quoted(text) + after.replace("{{known}}", known)


def read_judgement(reply: str, candidates: int) -> Judgement:
    """The verdict in a reply about so many candidates; it trusts nothing (`A9`).

    `{"relation": …, "index": …}`; a bare number, `2` or `2. because …`, means that it
    contradicts that one; `NONE` means none. Everything else is independent, with a
    warning that says what was wrong.
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
        said = json.loads(reply)
    except (ValueError, RecursionError):
        said = reply
    if isinstance(said, dict):
        return _relation(said.get("relation")), _index(said.get("index"))
    if isinstance(said, str) and _NONE.fullmatch(said.strip()):
        return "independent", None
    index = _index(said)
    return (None if index is None else "contradicts"), index


def _relation(value: object) -> RelationKind | None:
    if not isinstance(value, str):
        return None
    word = value.strip().casefold()
    return (
        "independent"
        if word == "none"
        else next((known for known in RELATIONS if known == word), None)
    )


def _index(value: object) -> int | None:
    """A whole number, also as text and with its reason behind it."""
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value.strip())
        return int(found[1]) if found else None
    return value if type(value) is int else None
