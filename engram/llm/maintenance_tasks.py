"""Model tasks of the maintenance runs, and the reading of their replies.

They summarise conversations (rows A27, E9–E12), compare, merge, generalise and check
memories (rows A23, A28, B15, C12, D9), and describe entities, relations and stories
(rows A33, B11, C15, D9).

Users and other models read summaries. Each text is therefore cut to its length, put on
one line and escaped; a text that reads like an instruction is left out, and so is a
person whom the conversation does not name. A reply about memories can delete or write
no note: it refers to memories by the numbers in the prompt, and contains at most a
sentence. Unknown numbers, quotes that are in no memory, and names or figures that no
source contains are dropped, and counted by reason.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from engram.core.entities import is_owner
from engram.core.entities import name_key as key_of
from engram.core.language.dates import resolve, spans
from engram.core.language.injection import instruction
from engram.core.language.secrets import redact
from engram.core.language.similarity import statement
from engram.core.language.words import fold, words
from engram.core.markdown import escape, plain_text
from engram.core.planted import STRONG, others_words
from engram.core.policy import InsightPolicy, SessionPolicy
from engram.core.sessions import SUMMARY_LISTS, shorten
from engram.core.text import normalise
from engram.errors import ModelError
from engram.llm.answers import TASKS, Task
from engram.llm.replies import (
    RELATIONS,
    BridgeReply,
    ConclusionReply,
    InsightsReply,
    ProbeReply,
    RelatedReply,
    ReplyModel,
    SentenceReply,
    SentencesReply,
    SessionReply,
    SubjectsReply,
    SummaryReply,
    VerdictsReply,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.llm.answers import Answer


_LIMITS = SessionPolicy()
_SHORT = 3
"""The most letters of words without much meaning."""


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


_CHARS = 300
_LONG = 200
_STEM = 4
_TOKEN = re.compile(r"[^\W_]+")


def read_sentences(
    most: int, reply: SentencesReply, material: Mapping[str, Any], dropped: Counter[str]
) -> Answer:
    """Return at most `most` sentences with the numbers of their statements.

    `dropped` counts the others by reason; it is the only key if none is accepted.
    """
    statements = {statement["n"]: statement for statement in material["facts"]}
    name = f"{material.get('name', '')} "  # needs no source
    accepted: list[dict[str, Any]] = []
    for item in reply.sentences[:_LONG]:
        found = _sentence(item, statements, name)
        if isinstance(found, str):
            dropped[found] += 1
        elif len(accepted) == most:
            dropped["too many"] += 1
        else:
            accepted.append(found)
    return _counted({"sentences": accepted} if accepted else {}, dropped)


def _sentence(
    item: SentenceReply, statements: Mapping[int, Mapping[str, str]], name: str
) -> dict[str, Any] | str:
    """Return a sentence with its statements, or why it is not accepted."""
    text = item.text.lstrip("-*#> ")
    numbers = _numbers(item.facts, statements)
    if not numbers:
        return "no source"
    sources = [statements[n] for n in numbers]
    grounds = name + " ".join(f"{one['date']} {one['text']}" for one in sources)
    flaw = _flaw(_without_days(text, sources), grounds)
    return flaw or {"text": text, "facts": numbers}


def _without_days(text: str, sources: Sequence[Mapping[str, str]]) -> str:
    """Return a sentence without the days that its statements name or were made on.

    Their form does not matter, and a month or year may stand for a day of theirs.
    """
    known: list[datetime] = []
    noon = datetime.min.replace(tzinfo=UTC)
    for one in filter(itemgetter("date"), sources):
        said = datetime.fromisoformat(f"{one['date'][:10]}T12:00Z")
        known += [said, *(named.start for named in resolve(one["text"], said))]
        noon = max(noon, said)
    kept, end = [], 0
    for span in spans(text, noon) if known else ():
        if any(span.interval.start <= day < span.interval.end for day in known):
            kept.append(text[end : span.start])
            end = span.end
    return "".join([*kept, text[end:]]) if kept else text


def _counted(found: Answer, dropped: Counter[str]) -> Answer:
    """Return an answer with the counts of dropped items; {} if both are empty."""
    counts = {"dropped": dict(sorted(dropped.items()))}
    return {**found, **counts} if found or dropped else {}


def read_related(
    reply: RelatedReply, material: Mapping[str, Any], dropped: Counter[str]
) -> Answer:
    """Return one sentence for each relation, as `read_sentences` does (`B11`)."""
    to = {row["r"]: row["to"] for row in material["relations"]}
    statements = {row["n"]: row for row in material["facts"]}
    accepted: dict[int, Mapping[str, Any]] = {}
    for item in reply.sentences[:_LONG]:
        number = item.relation
        if number is None or number not in to or number in accepted:
            dropped["no relation that was shown"] += 1
            continue
        found = _sentence(item, statements, f"{material['name']} {to[number]} ")
        if isinstance(found, str):
            dropped[found] += 1
        else:
            accepted[number] = found
    sentences = [accepted[number] for number in sorted(accepted)]
    return _counted({"sentences": sentences} if sentences else {}, dropped)


def read_subjects(
    reply: SubjectsReply, material: Mapping[str, Any], dropped: Counter[str]
) -> Answer:
    """Return names by the number of the statement that contains them (`A33`)."""
    statements = {statement["n"]: statement["text"] for statement in material["facts"]}
    found: dict[str, list[str]] = {}
    for item in reply.facts[:_LONG]:
        if item.n is None or item.n not in statements:
            continue
        for name in item.names[:_LONG]:
            if not is_owner(name) and _contains(name, statements[item.n]):
                found.setdefault(str(item.n), []).append(name)
            else:
                dropped["not named"] += 1
    return _counted({"names": found} if found else {}, dropped)


def read_bridge(
    reply: BridgeReply, material: Mapping[str, Any], _dropped: Counter[str]
) -> Answer:
    """Return the connection of two entities, {} if there is none (`D9`).

    The answer needs a statement about each of the two.
    """
    sides = [
        {statement["n"]: statement["text"] for statement in material[side]["facts"]}
        for side in ("a", "b")
    ]
    numbers = _numbers(reply.facts, sides[0] | sides[1])
    how = reply.how.lstrip("-*#> ")
    named = [material[side]["name"] for side in ("a", "b")]
    grounds = " ".join([*named, *((sides[0] | sides[1])[n] for n in numbers)])
    both = all(any(n in side for n in numbers) for side in sides)
    if reply.connected and both and not _flaw(how, grounds):
        return {"how": how, "facts": numbers}
    return {}


def _numbers(value: Sequence[int], known: Mapping[int, object]) -> list[int]:
    """Return the numbers that are keys of `known`, each once."""
    return list(dict.fromkeys(n for n in value[:_LONG] if n in known))


def _flaw(text: str, grounds: str) -> str:
    """Return why a sentence is not accepted, or ''.

    Its numbers, and the capitalised words after the first one, have to be in `grounds`,
    the text of its statements. For words the first letters are enough, because names
    are inflected.
    """
    if not text or len(text) > _CHARS:
        return "no sentence"
    known = set(words(grounds))
    stems = {word[:_STEM] for word in known}
    for place, token in enumerate(_TOKEN.findall(text)):
        numeral = any(map(str.isdigit, token))
        if not numeral and (place == 0 or not token[0].isupper() or len(token) == 1):
            continue
        is_known = any(
            word in known or (not numeral and word[:_STEM] in stems)
            for word in words(token)
        )
        if not is_known:
            return "an invented name or number"
    return ""


def _contains(name: str, text: str) -> bool:
    key = key_of(name)
    text_key = key_of(text.replace("'s", " "))
    return bool(key) and f"_{key}_" in f"_{text_key}_"


TASKS |= {
    "rolling": Task(ROLLING.form, ROLLING.read, together=True, urgent=True),
    "session": Task(
        SESSION.form, _session, lacks=_lacks_episodes, together=True, urgent=True
    ),
    "episode": Task(EPISODE.form, EPISODE.read, together=True, urgent=True),
    "compare": Task(VerdictsReply, _verdicts, "never", _unjudged, listed="pairs"),
    "fold": Task(ConclusionReply, _concluded, "never"),
    "principle": Task(ConclusionReply, _concluded, "never"),
    "insights": Task(InsightsReply, _insights, "never"),
    "probe": Task(ProbeReply, _outdated, "never", listed="memories", enough=5),
    "describe": Task(SentencesReply, partial(read_sentences, 4), "few", together=True),
    "relate": Task(RelatedReply, read_related, "few", together=True),
    "patterns": Task(SentencesReply, partial(read_sentences, 40), "never"),
    "story": Task(SentencesReply, partial(read_sentences, 3)),
    "macro": Task(SentencesReply, partial(read_sentences, 4), "never"),
    "subjects": Task(SubjectsReply, read_subjects, together=True),
    "bridge": Task(BridgeReply, read_bridge, "never", together=True),
}
