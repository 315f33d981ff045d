"""The model of the simulated year: it answers every question from its own words, so
each of its answers is repeatable.

It is no judge of quality. It finds what somebody says in the first person, calls alike
what shares most of its words, and tells memories again as they stand; so what is wrong
in the vault after a year is the program's doing.
"""

from __future__ import annotations

import calendar
import hashlib
import re
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from engram.core.language.words import content, language, words
from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract
from tests.fakes.openai_server import fact
from tests.fakes.scribe import asking_alone, material_of, scribe, task_of, together

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.fakes.openai_server import Body

SAME, NEAR = 0.8, 0.4
"""Shares of content words from which two statements say the same, or are near enough to
contradict each other.
"""

_TURN = re.compile(r"^\[(t\d+)\] \w{3} (\S+ \S+) (.+) \((user|assistant)\): (.*)$")
_FIRST = (
    (re.compile(r"^(?:I am|I'm) "), "{name} is "),
    (re.compile(r"^I (?:have|'ve) "), "{name} has "),
    (re.compile(r"^I've "), "{name} has "),
    (re.compile(r"^I'll "), "{name} will "),
    (
        re.compile(
            r"^I (like|love|live|work|prefer|want|need|play|run|own|collect|volunteer) "
        ),
        r"{name} \1s ",
    ),
    (
        re.compile(
            r"^I ((?:\w+ed|went|took|got|won|made|had|was|saw|met|lost|bought|found|began|can|will|do) )"
        ),
        r"{name} \1",
    ),
    (re.compile(r"^[Mm]y "), "{name}'s "),
)
_INNER = (
    (re.compile(r"\bI'm\b|\bI am\b"), "they are"),
    (re.compile(r"\bI've\b|\bI have\b"), "they have"),
    (re.compile(r"\bI'll\b"), "they will"),
    (re.compile(r"\bI was\b"), "they were"),
    (re.compile(r"\bI\b"), "they"),
    (re.compile(r"\bmy\b"), "their"),
    (re.compile(r"\bme\b"), "them"),
    (re.compile(r"\bmyself\b"), "themselves"),
)
_YOU = re.compile(r"\byou(?:r|'\w+)?\b", re.IGNORECASE)
_CATEGORIES = (
    ("preference", re.compile(r"\b(?:like|love|prefer|favou?rite|enjoy|hate)")),
    ("decision", re.compile(r"\bdecided\b")),
    ("commitment", re.compile(r"\b(?:will|going to|gonna|plan(?:s|ning)? to)\b")),
    (
        "relationship",
        re.compile(
            r"\b(?:sister|brother|mom|mother|dad|father|wife|husband|son|daughter) "
        ),
    ),
    (
        "moment",
        re.compile(
            r"\b(?:went|took|got|won|made|had|was|saw|met|lost|bought|yesterday|last \w+)\b"
        ),
    ),
)
_IMPORTANT = {
    "preference": 0.6,
    "decision": 0.7,
    "commitment": 0.6,
    "relationship": 0.8,
    "moment": 0.3,
    "fact": 0.5,
}
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-zà-ÿ]{2,}(?: [A-Z][a-zà-ÿ]+)*")
_PLACE = re.compile(r"\b(?:in|to|from|at) ([A-Z][a-zà-ÿ]{2,}(?: [A-Z][a-zà-ÿ]+)*)")
_DATE = re.compile(
    r"\b(?:yesterday|today|tomorrow|(?:last|next) (?:week|month|year|\w+day))\b",
    re.IGNORECASE,
)
_CALENDAR = frozenset(
    (*calendar.month_name, *calendar.day_name, "Thanks", "Hey", "Wow")
)
_NOT = re.compile(r"\b(?:no longer|not|never|n't|quit|stopped|gave up)\b|n't\b")
_MOST_WORDS, _LEAST_WORDS, _A_TURN = 40, 6, 2


class YearModel:
    """Answers, and counts what it was asked by task."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def __call__(self, body: Body) -> Body:
        """The answer to a request."""
        self.calls[task_of(body)] += 1
        listed = together(body)
        if not listed:
            return self._answer(body)
        answers = [
            {"number": number} | self._answer(asking_alone(body, material))
            for number, material in listed
        ]
        return {"answers": answers}

    def _answer(self, body: Body) -> Body:
        task = task_of(body)
        if task == "extract":
            return _extracted(body["messages"][-1]["content"])
        if task == "doctor":
            return {}
        said = _ANSWERS.get(task)
        return said(material_of(body)) if said else scribe(body)


# Conversations


def _extracted(asked: str) -> Body:
    """What the offline rules find, and what else a speaker says of themselves in the
    first person.
    """
    shown = [found.groups() for found in map(_TURN.match, asked.splitlines()) if found]
    turns = [
        Turn(
            label,
            "talk",
            role,
            said,
            datetime.fromisoformat(when).replace(tzinfo=UTC),
            "" if speaker == role else speaker,
        )
        for label, when, speaker, role, said in shown
    ]
    found = extract(turns, ExtractionPolicy())
    facts = [
        fact(
            one.turn_id,
            one.quote,
            one.text,
            category=one.category,
            confidence=0.95,
            importance=_importance(one.category, one.quote),
            about=list(one.about),
            tags=_tags(one.quote),
            when_words=_date(one.quote),
        )
        for one in found.candidates
    ]
    quoted = {
        label: [one["quote"] for one in facts if one["turn"] == label]
        for label, *_ in shown
    }
    types = dict(found.types)
    for label, _, speaker, role, said in shown:
        if speaker == "assistant":
            continue
        name = "The user" if speaker == role else speaker
        types |= {} if speaker == role else {name: "person"}
        own = [
            one
            for one in map(partial(_statement, label, name), _sentences(said))
            if one
        ]
        fresh = [
            one
            for one in own
            if not any(quote in one["quote"] for quote in quoted[label])
        ]
        facts += sorted(fresh, key=lambda one: -len(one["quote"]))[:_A_TURN]
    for one in facts:
        for other in one["about"][1:]:
            types.setdefault(
                other, "place" if other in _PLACE.findall(one["quote"]) else "concept"
            )
    relations = [
        {
            "turn": one.turn_id,
            "quote": one.quote,
            "subject": one.subject,
            "relation": one.type,
            "object": one.object,
        }
        | {"attitude": one.attitude, "proximity": one.proximity, "ended": one.ended}
        for one in found.relations
    ]
    entities = [{"name": name, "type": kind} for name, kind in types.items()]
    return {"facts": facts, "entities": entities, "relations": relations}


def _sentences(said: str) -> list[str]:
    return [
        one.strip()
        for one in re.findall(r"[^.!?]+[.!?]?", said.partition(" [shares a picture")[0])
    ]


def _statement(label: str, name: str, quote: str) -> Body | None:
    if (
        quote.endswith("?")
        or _YOU.search(quote)
        or not _LEAST_WORDS <= len(quote.split()) <= _MOST_WORDS
    ):
        return None
    for pattern, swap in _FIRST:
        if pattern.match(quote):
            text = (
                pattern.sub(
                    swap.replace("{name}", name.replace("\\", "")), quote, count=1
                ).rstrip("!.")
                + "."
            )
            for inner, other in _INNER:
                text = inner.sub(other, text)
            category = next(
                (kind for kind, words in _CATEGORIES if words.search(text)), "fact"
            )
            others = [
                one
                for one in _NAME.findall(quote)
                if not _CALENDAR.intersection(one.split())
            ]
            return fact(
                label,
                quote,
                text,
                category=category,
                importance=_importance(category, quote),
                about=list(dict.fromkeys([name, *others]))[:4],
                tags=_tags(quote),
                when_words=_date(quote),
            )
    return None


def _importance(category: str, quote: str) -> float:
    return round(_IMPORTANT.get(category, 0.5) + _chance(quote) * 0.2 - 0.1, 2)


def _tags(quote: str) -> list[str]:
    """The longest of the words that tell."""
    return sorted(_bag(quote), key=lambda word: (-len(word), word))[:1]


def _date(quote: str) -> str:
    found = _DATE.search(quote)
    return found[0] if found else ""


def _chance(text: str) -> float:
    """A number from 0 to 1 that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) / 2**32


def _told(shown: Mapping[str, Any], most: int) -> list[str]:
    """The longest sentences of a talk, by whom, in the order they were said."""
    said = [
        (turn.get("who", turn["role"]), sentence)
        for turn in shown["turns"]
        if turn["role"] in {"user", "assistant"}
        for sentence in _sentences(turn["said"])
        if _LEAST_WORDS <= len(sentence.split()) <= _MOST_WORDS
        and not sentence.endswith("?")
    ]
    best = sorted(said, key=lambda one: (-len(one[1]), one))[:most]
    return [f"{who}: {sentence}" for who, sentence in said if (who, sentence) in best]


def _session(shown: Mapping[str, Any]) -> Body:
    told = _told(shown, 4) or ["A short talk."]
    parts: dict[int, list[Any]] = {}
    for turn in shown["turns"]:
        if "part" in turn:
            parts.setdefault(turn["part"], []).append(turn)
    episodes = [" ".join(_told({"turns": some}, 2)) for some in parts.values()]
    mattered, open_loops = (
        told[1:],
        [one for one in told if "gonna" in one or "will" in one],
    )
    return {
        "one_liner": told[0],
        "what_mattered": mattered,
        "open_loops": open_loops,
        "commitments": [],
        "people": sorted(
            {
                turn.get("who", "user")
                for turn in shown["turns"]
                if turn["role"] == "user"
            }
            - {"user"}
        ),
        "tone": "friendly",
        "episodes": [text or "NONE" for text in episodes],
    }


def _spine(shown: Mapping[str, Any]) -> Body:
    return {
        name: list(shown["facts"].get(name, ()))[:8]
        for name in ("profile", "projects", "people", "open_loops")
    }


# Memories


def _bag(text: str) -> frozenset[str]:
    found = words(text)
    return frozenset(content(found, language(found)))


def _alike(one: str, other: str) -> float:
    a, b = _bag(one), _bag(other)
    return len(a & b) / len(a | b) if a and b else 0.0


def _relation(new: str, known: str) -> tuple[str, float]:
    share = _alike(new, known)
    if bool(_NOT.search(new)) != bool(_NOT.search(known)):
        return ("contradicts", 0.95) if share >= NEAR else ("independent", 0.9)
    return ("same", 0.95) if share >= SAME else ("independent", 0.9)


def _compared(shown: Mapping[str, Any]) -> Body:
    verdicts = []
    for pair in shown["pairs"]:
        older, newer = (str(pair[side]["text"]) for side in ("older", "newer"))
        relation, sure = _relation(newer, older)
        verdicts.append(
            {"pair": pair["pair"], "relation": relation, "confidence": sure}
        )
    return {"verdicts": verdicts}


def _shared(texts: Sequence[str]) -> str:
    """The word that most of the statements have in common and that names nobody; '' for
    less than three.
    """
    named = {_subject(text).casefold() for text in texts}
    times = Counter(word for text in texts for word in _bag(text) - named)
    word, count = max(
        times.items(),
        key=lambda item: (item[1], len(item[0]), item[0]),
        default=("", 0),
    )
    return word if count >= min(3, len(texts)) else ""


def _subject(text: str) -> str:
    return (
        " ".join(text.split()[:2])
        if text.startswith("The user")
        else text.partition(" ")[0].removesuffix("'s")
    )


def _folded(shown: Mapping[str, Any]) -> Body:
    held = [one for one in shown["memories"] if len(str(one["text"])) <= 150][:4]
    text = " ".join(str(one["text"]) for one in held)
    return (
        {"text": text, "from": [one["n"] for one in held]}
        if len(held) >= 3
        else {"text": "", "from": []}
    )


def _principle(shown: Mapping[str, Any]) -> Body:
    texts = [str(one["text"]) for one in shown["memories"]]
    word = _shared(texts)
    if not word:
        return {"text": "", "from": []}
    numbers = [one["n"] for one in shown["memories"] if word in _bag(str(one["text"]))]
    subject = Counter(_subject(text) for text in texts).most_common(1)[0][0]
    return {
        "text": f"{subject} often comes back to {word}.",
        "from": numbers if len(numbers) >= 3 else [],
    }


def _sentences_of(shown: Mapping[str, Any], most: int) -> Body:
    return {
        "sentences": [
            {"facts": [one["n"]], "text": one["text"]} for one in shown["facts"][:most]
        ]
    }


def _insights(shown: Mapping[str, Any]) -> Body:
    told = _principle(shown)
    return {"insights": [told] if told["from"] else []}


_ANSWERS: dict[str, Callable[[Mapping[str, Any]], Body]] = {
    "rolling": lambda shown: {"summary": " ".join(_told(shown, 3)) or "A short talk."},
    "episode": lambda shown: {"summary": " ".join(_told(shown, 2)) or "NONE"},
    "session": _session,
    "spine": _spine,
    "compare": _compared,
    "fold": _folded,
    "principle": _principle,
    "insights": _insights,
    "describe": lambda shown: _sentences_of(shown, 2),
    "story": lambda shown: _sentences_of(shown, 3),
    "macro": lambda shown: _sentences_of(shown, 4),
    "patterns": lambda shown: _sentences_of(shown, 40),
    "probe": lambda _shown: {"invalid": []},
    "bridge": lambda _shown: {"connected": False, "facts": [], "how": ""},
}
