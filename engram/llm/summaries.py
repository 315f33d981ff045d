"""A conversation in short, by a model: what is asked, and a reading that trusts nothing
(rows A27, E9–E12).

What a model says of a talk is shown to people and to other models: so it is cut to its
length, stands on one line, runs nowhere, and what reads like an instruction is left
out. Nobody is named whom the talk does not name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engram.core.language.injection import instruction
from engram.core.language.words import fold
from engram.core.markdown import escape, plain_text
from engram.core.policy.sessions import SessionPolicy
from engram.core.sessions import SUMMARY_LISTS, shorten
from engram.errors import ModelError
from engram.llm.answers import TASKS, Task

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIMITS = SessionPolicy()
SECTIONS = ("profile", "projects", "people", "open_loops")
"""The parts of the spine (row E12)."""


@dataclass(frozen=True, slots=True)
class ReplyShape:
    """The parts of an answer: texts with their greatest length, lists with that of an
    item.

    `wanted` is the part that must say something.
    """

    texts: Mapping[str, int]
    lists: Mapping[str, int] = field(default_factory=dict)
    items: int = 0
    wanted: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        """The closed JSON schema of it."""
        lists = {"type": "array", "items": {"type": "string"}}
        parts = {name: {"type": "string"} for name in self.texts} | dict.fromkeys(
            self.lists, lists
        )
        return {
            "type": "object",
            "properties": parts,
            "required": list(parts),
            "additionalProperties": False,
        }

    def read(self, said: Any, material: Any) -> Mapping[str, Any]:
        """The answer in `said` about `material`. Raises ModelError where it has not the
        form.

        A missing part, or one that says nothing, is empty; an item that is no text is
        left out.
        """
        found: dict[str, Any] = {}
        for name, chars in self.texts.items():
            value = said.get(name, "")
            if not isinstance(value, str):
                raise ModelError(f"{name} is no text")
            found[name] = _line(value, chars)
        for name, chars in self.lists.items():
            value = said.get(name, [])
            if not isinstance(value, list):
                raise ModelError(f"{name} is no list")
            lines = (_line(item, chars) for item in value if isinstance(item, str))
            kept = dict.fromkeys(
                line
                for line in lines
                if line and (name != "people" or _named(line, material))
            )
            found[name] = list(kept)[: self.items]
        if self.wanted and not found[self.wanted]:
            raise ModelError(f"{self.wanted} says nothing")
        return found


def _line(text: str, chars: int) -> str:
    """One inert line of at most so many characters; '' for what reads like an
    instruction, or says NONE.
    """
    plain = " ".join(plain_text(text).split())
    if plain.strip(".").casefold() in {"none", "n/a", "null"} or instruction(plain):
        return ""
    return escape(shorten(plain, chars))


def _named(line: str, material: Any) -> bool:
    """Whether the first word of a line about somebody stands in the material."""
    first = fold(line).split()[0].strip(",:;().’'") if line.split() else ""
    return bool(first) and first in fold(str(material))


ROLLING = ReplyShape({"summary": _LIMITS.rolling_chars}, wanted="summary")
EPISODE = ReplyShape({"summary": _LIMITS.episode_chars})
SESSION = ReplyShape(
    {"one_liner": _LIMITS.line_chars, "tone": _LIMITS.tone_chars},
    dict.fromkeys(SUMMARY_LISTS, _LIMITS.item_chars),
    _LIMITS.items,
    wanted="one_liner",
)
SPINE = ReplyShape(
    {}, dict.fromkeys(SECTIONS, _LIMITS.spine_chars), _LIMITS.spine_items
)

for _name, _form in (
    ("rolling", ROLLING),
    ("session", SESSION),
    ("episode", EPISODE),
    ("spine", SPINE),
):
    TASKS[_name] = Task(
        _form.schema, _form.read, small="never" if _name == "spine" else "always"
    )
