"""Model tasks that summarise conversations (rows A27, E9–E12).

Users and other models read summaries. Each text is therefore cut to its length, put on
one line and escaped; a text that reads like an instruction is left out, and so is a
person whom the conversation does not name.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engram.core.language.injection import instruction
from engram.core.language.words import fold, words
from engram.core.markdown import escape, plain_text
from engram.core.planted import STRONG, others_words
from engram.core.policy import SessionPolicy
from engram.core.sessions import SUMMARY_LISTS, shorten
from engram.errors import ModelError
from engram.llm.answers import TASKS, Task
from engram.llm.replies.maintenance import SessionReply, SpineReply, SummaryReply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.llm.replies.base import ReplyModel

_LIMITS = SessionPolicy()
_SHORT = 3
"""The most letters of words without much meaning."""
SECTIONS = ("profile", "projects", "people", "open_loops")
"""The parts of the persona summary (row E12)."""


@dataclass(frozen=True, slots=True)
class ReplyShape:
    """The parts of a reply, with their limits.

    `form` has them as fields. `texts` are texts with their most characters, `lists` are
    lists with the most characters of an item, `items` is the most items. `wanted` must
    not be empty.
    """

    form: type[ReplyModel]
    texts: Mapping[str, int]
    lists: Mapping[str, int] = field(default_factory=dict)
    items: int = 0
    wanted: str = ""

    def read(self, reply: Any, material: Any, dropped: Counter[str]) -> Any:
        """Return the parts of a reply. Raises ModelError if the wanted one is empty.

        Repeated instructions of another author are left out, and counted in `dropped`.
        """
        parts: dict[str, Any] = {}
        others = _others_words(material)
        for name, chars in self.texts.items():
            parts[name] = _line(getattr(reply, name), chars, others, dropped)
        for name, chars in self.lists.items():
            lines = (
                _line(item, chars, others, dropped) for item in getattr(reply, name)
            )
            accepted = dict.fromkeys(
                line
                for line in lines
                if line and (name != "people" or _names_person(line, material))
            )
            parts[name] = list(accepted)[: self.items]
        if self.wanted and not parts[self.wanted]:
            why = f" ({', '.join(dropped)})" if dropped else ""
            raise ModelError(f"`{self.wanted}` says nothing{why}")
        return {**parts, "dropped": dict(dropped)} if dropped else parts


def _others_words(material: Any) -> frozenset[str]:
    """Return the words of other authors in a conversation, such as a pasted mail."""
    turns = material.get("turns", ()) if isinstance(material, dict) else ()
    found: set[str] = set()
    for turn in turns:
        text = str(turn["said"])
        _, _, cited = text.partition(" > ")  # lines of a cited mail, joined
        for part in (*others_words(text, by_tool=turn["role"] == "tool"), cited):
            found.update(words(part))
    return frozenset(found)


def _line(text: str, chars: int, others: frozenset[str], dropped: Counter[str]) -> str:
    """Return one escaped line of at most `chars` characters.

    '' for the text NONE, and for one that reads like an instruction in words of
    `others`. "Jonas wants the assistant to write mails" is only a report.
    """
    plain = " ".join(plain_text(text).split())
    if plain.strip(".").casefold() in {"none", "n/a", "null"}:
        return ""
    why = instruction(plain)
    telling = {word for word in words(plain) if len(word) > _SHORT}
    is_echo = len(telling & others) > len(telling) / 2
    if why in STRONG or (why and is_echo):
        dropped[f"reads like an instruction: {why}"] += 1
        return ""
    return escape(shorten(plain, chars))


def _names_person(line: str, material: Any) -> bool:
    """Return whether the material contains the first word of a line, a name."""
    first = fold(line).split()[0].strip(",:;().’'") if line.split() else ""
    return bool(first) and first in fold(str(material))


ROLLING = ReplyShape(SummaryReply, {"summary": _LIMITS.rolling_chars}, wanted="summary")
EPISODE = ReplyShape(SummaryReply, {"summary": _LIMITS.episode_chars})
SESSION = ReplyShape(
    SessionReply,
    {"one_liner": _LIMITS.line_chars, "tone": _LIMITS.tone_chars},
    dict.fromkeys(SUMMARY_LISTS, _LIMITS.item_chars),
    _LIMITS.items,
    wanted="one_liner",
)
SPINE = ReplyShape(
    SpineReply, {}, dict.fromkeys(SECTIONS, _LIMITS.spine_chars), _LIMITS.spine_items
)


def _session(reply: Any, material: Any, dropped: Counter[str]) -> Any:
    """Return the parts of a session summary, with one episode for each part."""
    found = SESSION.read(reply, material, Counter())
    omitted: Counter[str] = Counter(found.pop("dropped", {}))
    others, chars = _others_words(material), _LIMITS.episode_chars
    episodes = [_line(text, chars, others, omitted) for text in reply.episodes]
    dropped += omitted
    found["episodes"] = episodes[: _parts(material)]
    return {**found, "dropped": dict(dropped)} if dropped else found


def _lacks_episodes(answer: Any, material: Any) -> str:
    missing = _parts(material) - len(answer["episodes"])
    return f"`episodes` lacks {missing} of its texts" if missing else ""


def _parts(material: Any) -> int:
    return len({turn["part"] for turn in material["turns"] if "part" in turn})


TASKS |= {
    "rolling": Task(ROLLING.form, ROLLING.read, together=True, urgent=True),
    "session": Task(
        SESSION.form, _session, lacks=_lacks_episodes, together=True, urgent=True
    ),
    "episode": Task(EPISODE.form, EPISODE.read, together=True, urgent=True),
    "spine": Task(SPINE.form, SPINE.read, "never", urgent=True),
}
