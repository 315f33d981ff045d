"""What consolidation asks a model about memories, and how the answers are read (rows
A23, A28, B15, C12, D9).

No answer can delete or write anything: it names numbers of what was shown, and says a
sentence. A number that was not shown, a quote that nobody said, a name or a figure that
no source has are dropped, and counted by reason.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, get_args

from engram.core.dedup import RelationKind
from engram.core.language.injection import instruction
from engram.core.language.secrets import redact
from engram.core.language.similarity import statement
from engram.core.policy import InsightPolicy
from engram.core.text import normalise
from engram.errors import ModelError
from engram.llm.answers import TASKS, Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_LONGEST = InsightPolicy().characters
_NOUNS_LIKE_NAMES = "de"

_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_NUMBERS = {"type": "array", "items": {"type": "integer"}}


def _closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_of(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _closed(**properties)}


_CONCLUSION = {"text": {"type": "string"}, "from": _NUMBERS}
_RELATION = {"type": "string", "enum": list(get_args(RelationKind))}


def _items(reply: Mapping[str, Any], name: str) -> list[Any]:
    """The list under `name`; without one the answer has not the form."""
    found = reply.get(name)
    if not isinstance(found, list):
        raise ModelError(f"{name!r} is no list")
    return found


def _is_number(value: object, most: int) -> bool:
    return type(value) is int and 1 <= value <= most


def _verdicts(reply: Mapping[str, Any], material: Mapping[str, Any]) -> dict[str, Any]:
    """What a model says of pairs: their number → (relation, certainty); of a pair that
    is judged twice the first.
    """
    dropped: Counter[str] = Counter()
    found: dict[str, tuple[str, float]] = {}
    for item in _items(reply, "verdicts"):
        if not isinstance(item, dict) or type(item.get("confidence")) not in {
            int,
            float,
        }:
            dropped["no verdict"] += 1
        elif not _is_number(item.get("pair"), len(material["pairs"])):
            dropped["no pair that was shown"] += 1
        elif (
            item.get("relation") not in get_args(RelationKind)
            or not 0 <= item["confidence"] <= 1
        ):
            dropped["no verdict"] += 1
        elif str(item["pair"]) in found:
            dropped["judged twice"] += 1
        else:
            found[str(item["pair"])] = (item["relation"], float(item["confidence"]))
    return {"verdicts": found, "dropped": dict(dropped)}


def _concluded(reply: Mapping[str, Any], material: Mapping[str, Any]) -> dict[str, Any]:
    """One sentence and the memories it rests on; {} apart from `dropped` where it
    cannot be believed.
    """
    if not isinstance(reply.get("text"), str) or not isinstance(
        reply.get("from"), list
    ):
        raise ModelError("'text' is no text, or 'from' no list")
    dropped: Counter[str] = Counter()
    found = _conclusion(reply, material["memories"], dropped)
    return (found or {}) | {"dropped": dict(dropped)}


def _insights(reply: Mapping[str, Any], material: Mapping[str, Any]) -> dict[str, Any]:
    """Several of them."""
    dropped: Counter[str] = Counter()
    found = []
    for item in _items(reply, "insights"):
        if (
            isinstance(item, dict)
            and isinstance(item.get("text"), str)
            and isinstance(item.get("from"), list)
        ):
            found.append(_conclusion(item, material["memories"], dropped))
        else:
            dropped["no insight"] += 1
    return {"insights": [one for one in found if one], "dropped": dict(dropped)}


def _conclusion(
    said: Mapping[str, Any],
    memories: Sequence[Mapping[str, Any]],
    dropped: Counter[str],
) -> dict[str, Any] | None:
    text = " ".join(redact(said["text"]).text.split())
    named = list(
        dict.fromkeys(
            number for number in said["from"] if _is_number(number, len(memories))
        )
    )
    if strange := len(said["from"]) - len(named):
        dropped["no memory that was shown"] += strange
    if not text:
        return None
    shown = [str(memories[number - 1]["text"]) for number in named]
    why = (
        "too long"
        if len(text) > _LONGEST
        else "an instruction"
        if instruction(text)
        else _invented(text, shown)
    )
    if why:
        dropped[why] += 1
    return None if why or not named else {"text": text, "from": sorted(named)}


def _invented(text: str, shown: Iterable[str]) -> str:
    """Why a sentence says more than its sources, as far as figures and names tell, or
    ''.

    In German, where every noun looks like a name, only the first word is held to be
    one.
    """
    said = statement(text, _as_they_are)
    known = [statement(source, _as_they_are) for source in shown]
    words = {word for one in known for word in one.plain}
    names = (
        said.names & set(said.plain[:1])
        if said.language == _NOUNS_LIKE_NAMES
        else said.names
    )
    if set(said.numbers) - {number for one in known for number in one.numbers}:
        return "a figure that no source has"
    return "a name that no source has" if names - words else ""


def _as_they_are(words: list[str], _language: str) -> list[str]:
    return words


def _outdated(reply: Mapping[str, Any], material: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of memories that no longer hold, each with words that were shown and
    say so.
    """
    memories, dropped = material["memories"], Counter[str]()
    found: list[int] = []
    for item in _items(reply, "invalid"):
        if not isinstance(item, dict) or not isinstance(item.get("quote"), str):
            dropped["no verdict"] += 1
        elif not _is_number(item.get("memory"), len(memories)):
            dropped["no memory that was shown"] += 1
        else:
            one = memories[item["memory"] - 1]
            quote = normalise(item["quote"])
            said = any(
                quote in normalise(words)
                for words in (one["text"], *one.get("beside", ()))
            )
            if quote.strip() and said:
                found.append(item["memory"])
            else:
                dropped["a quote that nobody said"] += 1
    return {"invalid": sorted(set(found)), "dropped": dict(dropped)}


TASKS |= {
    "compare": Task(
        _closed(
            verdicts=_list_of(
                pair={"type": "integer"}, relation=_RELATION, confidence=_SHARE
            )
        ),
        _verdicts,
        small="never",
    ),
    "fold": Task(_closed(**_CONCLUSION), _concluded, small="never"),
    "principle": Task(_closed(**_CONCLUSION), _concluded, small="never"),
    "insights": Task(
        _closed(insights=_list_of(**_CONCLUSION)), _insights, small="never"
    ),
    "probe": Task(
        _closed(invalid=_list_of(memory={"type": "integer"}, quote={"type": "string"})),
        _outdated,
        small="never",
    ),
}
