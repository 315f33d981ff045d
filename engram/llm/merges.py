"""Model tasks about memories: compare, merge, generalise, check.

(Rows A23, A28, B15, C12, D9.) No reply can delete or write a note: it refers to
memories by the numbers in the prompt, and contains at most a sentence. Unknown numbers,
quotes that are in no memory, and names or figures that no source contains are dropped,
and counted by reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.core.language.injection import instruction
from engram.core.language.secrets import redact
from engram.core.language.similarity import statement
from engram.core.policy import InsightPolicy
from engram.core.text import normalise
from engram.llm.answers import TASKS, Task
from engram.llm.replies.maintenance import (
    RELATIONS,
    ConclusionReply,
    InsightsReply,
    ProbeReply,
    VerdictsReply,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Mapping, Sequence

_LONGEST = InsightPolicy().characters
_NOUNS_LIKE_NAMES = "de"


def _is_number(value: object, most: int) -> bool:
    return type(value) is int and 1 <= value <= most


def _verdicts(
    reply: VerdictsReply, material: Mapping[str, Any], dropped: Counter[str]
) -> dict[str, Any]:
    """Return the verdicts on pairs by number: relation and certainty, 0–1.

    The first verdict on a pair counts.
    """
    verdicts: dict[str, tuple[str, float]] = {}
    for item in reply.verdicts:
        sure = item.confidence
        if sure is None or not 0 <= sure <= 1:
            dropped["no `confidence` from 0 to 1"] += 1
        elif not _is_number(item.pair, len(material["pairs"])):
            dropped["no pair that was shown"] += 1
        elif item.relation not in RELATIONS:
            dropped["no `relation` of the three"] += 1
        elif str(item.pair) in verdicts:
            dropped["judged twice"] += 1
        else:
            verdicts[str(item.pair)] = (item.relation, sure)
    return {"verdicts": verdicts, "dropped": dict(dropped)}


def _unjudged(answer: Mapping[str, Any], material: Mapping[str, Any]) -> str:
    """Return a message with the number of pairs without a verdict, or ''."""
    missing = len(material["pairs"]) - len(answer["verdicts"])
    why = "; ".join(answer["dropped"])
    return f"{missing} pairs have no verdict{f': {why}' if why else ''}" * bool(missing)


def _concluded(
    reply: ConclusionReply, material: Mapping[str, Any], dropped: Counter[str]
) -> dict[str, Any]:
    """Return one sentence and the numbers of its memories.

    Only `dropped` is returned if the sentence is refused.
    """
    conclusion = _conclusion(reply, material["memories"], dropped)
    return {**(conclusion or {}), "dropped": dict(dropped)}


def _insights(
    reply: InsightsReply, material: Mapping[str, Any], dropped: Counter[str]
) -> dict[str, Any]:
    """Return a list of sentences, each with the numbers of its memories."""
    found = [
        _conclusion(item, material["memories"], dropped) for item in reply.insights
    ]
    return {"insights": [item for item in found if item], "dropped": dict(dropped)}


def _conclusion(
    item: ConclusionReply,
    memories: Sequence[Mapping[str, Any]],
    dropped: Counter[str],
) -> dict[str, Any] | None:
    """Return a sentence and the numbers of its memories; count refused parts."""
    text = " ".join(redact(item.text).text.split())
    numbers = dict.fromkeys(
        number for number in item.sources if _is_number(number, len(memories))
    )
    if unknown := len(item.sources) - len(numbers):
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
    if set(parsed.numbers) - {
        number for known_statement in known for number in known_statement.numbers
    }:
        return "a figure that no source has"

    names = parsed.names
    if parsed.language == _NOUNS_LIKE_NAMES:
        names &= set(parsed.plain[:1])
    words = {word for known_statement in known for word in known_statement.plain}
    return "a name that no source has" if names - words else ""


def _unstemmed(words: list[str], _language: str) -> list[str]:
    return words


def _outdated(
    reply: ProbeReply, material: Mapping[str, Any], dropped: Counter[str]
) -> dict[str, Any]:
    """Return the numbers of memories that are no longer true.

    Each needs a quote from the memory or from a text of the prompt.
    """
    memories = material["memories"]
    outdated: set[int] = set()
    for item in reply.invalid:
        number = item.memory
        if number is None or not _is_number(number, len(memories)):
            dropped["no memory that was shown"] += 1
            continue
        memory, quote = memories[number - 1], normalise(item.quote)
        texts = (memory["text"], *memory.get("beside", ()))
        if quote.strip() and any(quote in normalise(text) for text in texts):
            outdated.add(number)
        else:
            dropped["a quote that no text has"] += 1
    return {"invalid": sorted(outdated), "dropped": dict(dropped)}


TASKS |= {
    "compare": Task(
        VerdictsReply, _verdicts, small="never", lacks=_unjudged, listed="pairs"
    ),
    "fold": Task(ConclusionReply, _concluded, small="never"),
    "principle": Task(ConclusionReply, _concluded, small="never"),
    "insights": Task(InsightsReply, _insights, small="never"),
    "probe": Task(ProbeReply, _outdated, small="never", listed="memories", enough=5),
}
