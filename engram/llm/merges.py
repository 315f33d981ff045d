"""Model tasks about memories: compare, merge, generalise, check (A23, A28, B15, C12, D9).

No reply can delete or write a note: it names memories by the numbers in the prompt, and
contains at most a sentence. Unknown numbers, quotes that are in no memory, and names or
figures that no source contains are dropped, and counted by reason.
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
    """Return the list under `name`; raise ModelError if there is none."""
    items = reply.get(name)
    if not isinstance(items, list):
        raise ModelError(f"{name!r} is no list")
    return items


def _is_number(value: object, most: int) -> bool:
    return type(value) is int and 1 <= value <= most


def _verdicts(reply: Mapping[str, Any], material: Mapping[str, Any]) -> dict[str, Any]:
    """Read verdicts on pairs: relation and certainty, 0–1, by the number of the pair.

    The first verdict on a pair counts.
    """
    dropped: Counter[str] = Counter()
    verdicts: dict[str, tuple[str, float]] = {}
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
        elif str(item["pair"]) in verdicts:
            dropped["judged twice"] += 1
        else:
            verdicts[str(item["pair"])] = (item["relation"], float(item["confidence"]))
    return {"verdicts": verdicts, "dropped": dict(dropped)}


def _concluded(reply: Mapping[str, Any], material: Mapping[str, Any]) -> dict[str, Any]:
    """Read one sentence and the numbers of its memories; only `dropped` if refused."""
    if not isinstance(reply.get("text"), str) or not isinstance(
        reply.get("from"), list
    ):
        raise ModelError("'text' is no text, or 'from' no list")
    dropped: Counter[str] = Counter()
    conclusion = _conclusion(reply, material["memories"], dropped)
    return (conclusion or {}) | {"dropped": dict(dropped)}


def _insights(reply: Mapping[str, Any], material: Mapping[str, Any]) -> dict[str, Any]:
    """Read a list of sentences, each with the numbers of its memories."""
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
    item: Mapping[str, Any],
    memories: Sequence[Mapping[str, Any]],
    dropped: Counter[str],
) -> dict[str, Any] | None:
    """Read a sentence and the numbers of its memories; count what is refused."""
    text = " ".join(redact(item["text"]).text.split())
    numbers = dict.fromkeys(
        number for number in item["from"] if _is_number(number, len(memories))
    )
    if unknown := len(item["from"]) - len(numbers):
        dropped["no memory that was shown"] += unknown
    if not text:
        return None

    sources = [str(memories[number - 1]["text"]) for number in numbers]
    if why := _refusal(text, sources):
        dropped[why] += 1
        return None
    return {"text": text, "from": sorted(numbers)} if numbers else None


def _refusal(text: str, sources: Sequence[str]) -> str:
    """Return why a sentence is not accepted, or ''."""
    if len(text) > _LONGEST:
        return "too long"
    if instruction(text):
        return "an instruction"
    return _invented(text, sources)


def _invented(text: str, sources: Iterable[str]) -> str:
    """Return the reason if a sentence has a figure or name that no source has, or ''.

    In German every noun is capitalised like a name, so only the first word is checked.
    """
    parsed = statement(text, _unstemmed)
    known = [statement(source, _unstemmed) for source in sources]
    if set(parsed.numbers) - {number for one in known for number in one.numbers}:
        return "a figure that no source has"

    names = parsed.names
    if parsed.language == _NOUNS_LIKE_NAMES:
        names &= set(parsed.plain[:1])
    words = {word for one in known for word in one.plain}
    return "a name that no source has" if names - words else ""


def _unstemmed(words: list[str], _language: str) -> list[str]:
    return words


def _outdated(reply: Mapping[str, Any], material: Mapping[str, Any]) -> dict[str, Any]:
    """Read the numbers of memories that are no longer true.

    Each needs a quote from the memory or from a text that was shown with it.
    """
    memories, dropped = material["memories"], Counter[str]()
    outdated: list[int] = []
    for item in _items(reply, "invalid"):
        if not isinstance(item, dict) or not isinstance(item.get("quote"), str):
            dropped["no verdict"] += 1
        elif not _is_number(item.get("memory"), len(memories)):
            dropped["no memory that was shown"] += 1
        else:
            memory = memories[item["memory"] - 1]
            quote = normalise(item["quote"])
            texts = (memory["text"], *memory.get("beside", ()))
            if quote.strip() and any(quote in normalise(text) for text in texts):
                outdated.append(item["memory"])
            else:
                dropped["a quote that no text has"] += 1
    return {"invalid": sorted(set(outdated)), "dropped": dict(dropped)}


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
