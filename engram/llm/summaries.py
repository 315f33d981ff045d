"""Model tasks that summarise conversations (rows A27, E9–E12).

Summaries are shown to users and to other models. Each text is therefore cut to its
length, put on one line and escaped; a text that reads like an instruction is left out,
and so is a person whom the conversation does not name.
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
"""The parts of the persona summary (row E12)."""


@dataclass(frozen=True, slots=True)
class ReplyShape:
    """The parts of a reply, with their limits.

    `texts` are texts with their most characters, `lists` are lists with the most
    characters of an item, `items` is the most items. `wanted` must not be empty.
    """

    texts: Mapping[str, int]
    lists: Mapping[str, int] = field(default_factory=dict)
    items: int = 0
    wanted: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the reply."""
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

    def read(self, reply: Any, material: Any) -> Mapping[str, Any]:
        """Return the parts of a reply. Raises ModelError for a wrong form.

        A missing part is empty; an item that is no text is left out.
        """
        parts: dict[str, Any] = {}
        for name, chars in self.texts.items():
            value = reply.get(name, "")
            if not isinstance(value, str):
                raise ModelError(f"{name} is no text")
            parts[name] = _line(value, chars)
        for name, chars in self.lists.items():
            value = reply.get(name, [])
            if not isinstance(value, list):
                raise ModelError(f"{name} is no list")
            lines = (_line(item, chars) for item in value if isinstance(item, str))
            accepted = dict.fromkeys(
                line
                for line in lines
                if line and (name != "people" or _names_person(line, material))
            )
            parts[name] = list(accepted)[: self.items]
        if self.wanted and not parts[self.wanted]:
            raise ModelError(f"{self.wanted} says nothing")
        return parts


def _line(text: str, chars: int) -> str:
    """Return one escaped line of at most `chars` characters.

    '' for a text that reads like an instruction, or that says NONE.
    """
    plain = " ".join(plain_text(text).split())
    if plain.strip(".").casefold() in {"none", "n/a", "null"} or instruction(plain):
        return ""
    return escape(shorten(plain, chars))


def _names_person(line: str, material: Any) -> bool:
    """Whether the first word of a line, the name of a person, is in the material."""
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
