"""From a question to an answer that fits: what is asked, which units win, what they may
cost.

The index scores units by their words (parts that sum to the score, row X4); here facts
and the turns they came from become one list, a preset adds importance and recency, and
the token budget is filled.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from engram.core.language.dates import resolve
from engram.core.language.synonyms import synonyms
from engram.core.language.words import (
    FIRST_PERSON,
    PHRASE,
    RELATING,
    STOP,
    content,
    fold,
    language,
    named,
    of_oneself,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from engram.core.policy import RecallPolicy
    from engram.core.records import Hit, Interval

_FAINT = frozenset(
    """
    able chat conversation curious current currently discuss discussed discussion earlier find idea ideas
    interested interesting know maybe mention mentioned might mind one ones possible possibly previous
    previously recall remember remind said say sure talk talked talking tell think thinking thought told way
    ways wonder wondering
    aktuell denken denkst erinnern erinnerst erzählt finden gesagt gespräch interessant sagen sagte vielleicht
    weiß weißt
    actuel actuellement dire dit discussion parlé penser peut-être rappelle rappeler sais souviens trouver
    actual actualmente contar conversación decir dije dijiste dijo encontrar hablamos pensar quizás recuerda
    recuerdas sabes
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)
_WHEN = frozenset(
    ("when", "wann", "quand", "cuándo", "quando", "wanneer", "когда", "何时", "いつ")
)
_ASKS_TIME = re.compile(
    r"\b(?:what|which) (?:date|day|week|month|year|time)\b|\bhow long\b|几点|什么时候|何日"
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|often|old|far|big|tall|long)\b|\b(?:what|which) (?:percentage|number|amount|price)\b|\btotal\b"
    r"|\bwie ?viele?\b|\bwie (?:oft|alt|weit|lange)\b|\bcombien\b|\bcuánt[oa]s?\b|\bquant[oaie]s?\b|\bhoeveel\b"
    r"|\bсколько\b|多少|几|いくつ|いくら"
)
_SAID = (
    "said|told|mentioned|suggested|recommended|provided|gave|wrote|listed|created|shared|described|explained|"
    "advised|showed|named|helped|proposed|came up with"
)
_ABOUT_ASSISTANT = re.compile(
    rf"\byou (?:\w+ ){{0,2}}(?:{_SAID})\b|\bdid you (?:\w+ )?(?:say|tell|mention|suggest|recommend|give|list)\b"
    r"|\b(?:previous|earlier|last|past) (?:conversation|chat|discussion)\b|\bremind me\b"
    r"|\b(?:hast du|du hast|haben sie) (?:\w+ )*(?:gesagt|empfohlen|vorgeschlagen|genannt|erklärt|erwähnt)\b"
    r"|\b(?:tu m'as|tu as|as-tu|vous avez) (?:\w+ )?(?:dit|recommandé|proposé|suggéré|conseillé|mentionné)\b"
    r"|\bme (?:dijiste|recomendaste|sugeriste|mencionaste)\b|\bmi hai (?:detto|consigliato|suggerito)\b"
)
_ABOUT_SELF = re.compile(
    rf"\bi (?:\w+ )?(?:{_SAID})\b|\bdid i (?:\w+ )?(?:say|tell|mention)\b"
)
_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？]+[\"'”’)\]]*\s*|\n+|$)")
_NAME = re.compile(r"(?<=[\w,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*\b")
_WIDE = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]"
)
_MARK = "…"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: `words` carry it, those in `faint` only say how; the rest steers
    the boosts.

    `about_role` is user or assistant where the question is about what that side said,
    `about_self` whether it is about who asks and not about somebody of theirs; `span`
    is the time it names, against its own date; `akin` has other words in which some of
    its words may have been told. `names` are those of the words that are stop words in
    some language and name somebody here; `small` are stop words that count because no
    other word is there, and with `whole` a unit must hold all of the words.
    """

    text: str
    words: tuple[str, ...]
    language: str = ""
    faint: frozenset[str] = frozenset()
    wants_time: bool = False
    wants_number: bool = False
    about_role: str = ""
    about_self: bool = False
    span: Interval | None = None
    akin: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    small: frozenset[str] = frozenset()
    whole: bool = False


class Parts(Mapping[str, float]):
    """The parts of a score, `make(*given)`, worked out when somebody looks: most
    candidates are never shown.
    """

    __slots__ = ("_given", "_made", "_make")

    def __init__(self, make: Callable[..., dict[str, float]], *given: object) -> None:
        self._make, self._given = make, given
        self._made: dict[str, float] | None = None

    def __getitem__(self, name: str) -> float:
        return self._known()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def _known(self) -> dict[str, float]:
        if self._made is None:
            self._made = self._make(*self._given)
        return self._made


# as `Unit` and `Slot`: hundreds are made for each question, and a tuple is made soonest
class Scored(NamedTuple):
    """A unit's key and score; `parts` sum to the score (row `X4`).

    `held` has two bits for each word of the question that the unit's own text holds,
    faint words left out: the lower one also for words akin to it.
    """

    key: str
    score: float
    parts: Mapping[str, float]
    held: int = 0


@dataclass(frozen=True, slots=True)
class VectorMatch:
    """What meaning says of a unit: `similarity` of its own text to the question, on the
    nominal scale, and its `worth`, with the turns around it and its session; None where
    it has no vector yet.
    """

    key: str
    similarity: float | None
    worth: float | None


class UnitSignals(NamedTuple):
    """What ranking needs to know of a unit: `source` is the key of the turn a fact came
    from.

    `used` is when it was last recalled, `stability` 1–5 what use made of it (`A19`),
    `frequency` how many of the candidates are about the same, 0–1 (`E7`). `subject`
    says whether the question names what it is about (`A20`), `ties` how strongly the
    best facts lead to it, 0–1 (`C34`), `nudge` what trust in it adds to the score
    (`C28`).
    """

    key: str
    source: str = ""
    importance: float = 0.5
    when: datetime | None = None
    subject: bool = False
    ties: float = 0.0
    nudge: float = 0.0
    used: datetime | None = None
    stability: float = 1.0
    frequency: float = 0.0


class RankedSlot(NamedTuple):
    """One place in the answer: the unit shown, and the others that say the same and
    stand behind it.
    """

    key: str
    score: float
    parts: Mapping[str, float]
    behind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preset:
    """Weights of a scorer: relevance·r + importance·i + recency·2^(−age/half_life) +
    stability·min(1, stability/5) + frequency·f + subject·s + ties·t + nudge.

    r is the index's score over the best one's, s whether the question names the
    subject, t the activation: all signals are 0–1. Age counts from the last recall
    where `from_use` says so, if there was one.
    """

    relevance: float
    importance: float
    recency: float
    half_life: float = field(metadata={"unit": "days"})
    subject: float = 0.0
    ties: float = 0.0
    stability: float = 0.0
    frequency: float = 0.0
    from_use: bool = False


MAX_STABILITY = 5.0

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "balanced": Preset(1.0, 0.02, 0.0, 30, subject=0.15, ties=0.05),
        "belief": Preset(
            0.50, 0.20, 0.10, 30, subject=0.15, ties=0.50, stability=0.05, from_use=True
        ),
        "entity": Preset(0.40, 0.0, 0.30, 14, frequency=0.30),
    }
)
"""Scorers by name (rows A15, A18, E7); balanced is measured, the others are those of
the seeds.
"""


def parse_question(
    text: str, when: datetime, known: Callable[[str], object] = lambda _name: None
) -> Question:
    """The question that `text` is when asked at `when`, an aware time (rows `X13`,
    `X14`).

    `ask("When did Anna move?", now)` has the words anna and move and wants a time. A
    name of somebody `known` has no words akin to it: who asks for Faith asks for
    nobody's religion.
    """
    found = words(text)
    code = language(found)
    folded = fold(text)
    spans = [span for span in resolve(text, when) if span.start < when]
    timed = {word for span in spans for word in words(span.words)}
    stop = STOP.get(code, STOP["en"])
    given = named(text, found, known, alone=stop.issuperset(found))
    carrying = content(found, code) + [
        word for word in dict.fromkeys(found) if word in given and word in stop
    ]
    small = frozenset() if carrying else RELATING.intersection(found)
    whole = not carrying and not small and len(set(found)) >= PHRASE
    names = _known_names(text, code, known) | given
    role = _about_role(folded, found)
    return Question(
        text=text,
        words=tuple(carrying or [word for word in found if word in small] or found),
        language=code,
        faint=frozenset(carrying).intersection(_FAINT | timed) - given,
        wants_time=not _WHEN.isdisjoint(found) or bool(_ASKS_TIME.search(folded)),
        wants_number=bool(_ASKS_NUMBER.search(folded)),
        about_role=role,
        about_self=role == "user" and of_oneself(folded),
        span=spans[0] if spans else None,
        akin=_akin(carrying, names, code),
        names=given,
        small=frozenset(found) if whole else small,
        whole=whole,
    )


def _known_names(
    text: str, language_code: str, known: Callable[[str], object]
) -> set[str]:
    """Return the words of the names in `text` that somebody `known` has."""
    return {
        word
        for name in _NAME.findall(text)
        if known(name)
        for word in content(words(name), language_code)
    }


def _akin(
    carrying: Iterable[str], names: Collection[str], language_code: str
) -> dict[str, tuple[str, ...]]:
    """Return the synonyms of each word that is no name; they are English."""
    if language_code not in {"", "en"}:
        return {}
    return {word: synonyms(word) for word in carrying if word not in names}


def _about_role(folded: str, found: Sequence[str]) -> str:
    if _ABOUT_ASSISTANT.search(folded) and not _ABOUT_SELF.search(folded):
        return "assistant"
    return "" if FIRST_PERSON.isdisjoint(found) else "user"


def without_names(text: str, names: frozenset[str]) -> str:
    """The question without the words that name a speaker, for a vector of what is
    asked; `names` are folded.

    `nameless("What did Anna's sister buy?", {"anna"})` is "What did sister buy?"; a
    mere name stays.
    """
    kept = [part for part in text.split() if not names.intersection(words(part))]
    return " ".join(kept) if content(words(" ".join(kept)), "en") else text


def fuse(
    found: Sequence[Scored], near: Sequence[VectorMatch], weight: float, floor: float
) -> tuple[Scored, ...]:
    """Words and meaning as one list, best first, ties by key (rows `A14`, `A17`).

    Each side is measured by its own spread σ over all that either side found, so the
    order is that of (1 − weight)·z(words) + weight·z(meaning); written as words +
    λ·meaning with λ = weight/(1 − weight)·σ(words)/σ(meaning), for parts that sum to a
    score above 0. What only meaning found is left out below the `floor` of similarity;
    what has no vector yet counts as the average does.
    """
    by_words = {one.key: one for one in found}
    kept = [
        one for one in near if one.key in by_words or (one.similarity or 0.0) >= floor
    ]
    worths = {one.key: max(one.worth, 0.0) for one in kept if one.worth is not None}
    if not worths:
        return tuple(found)
    keys = dict.fromkeys([*by_words, *worths])
    scores = {key: by_words[key].score if key in by_words else 0.0 for key in keys}
    unknown = fmean(worths.values())
    spread = _deviation(scores.values()) or max(scores.values()) or 1.0
    share = weight / (1 - weight) * spread / (_deviation(worths.values()) or 1.0)
    together = []
    for key in keys:
        gain = share * worths.get(key, unknown)
        parts = dict(by_words[key].parts) if key in by_words else {}
        held = by_words[key].held if key in by_words else 0
        together.append(Scored(key, scores[key] + gain, parts | {"vector": gain}, held))
    return tuple(sorted(together, key=lambda one: (-one.score, one.key)))


def _deviation(values: Collection[float]) -> float:
    mean = fmean(values)
    return math.sqrt(fmean((value - mean) ** 2 for value in values))


def rank(
    scored: Sequence[Scored],
    units: Mapping[str, UnitSignals],
    now: datetime,
    preset: Preset = PRESETS["balanced"],
) -> tuple[RankedSlot, ...]:
    """Facts and turns as one list, best first, ties by key.

    Each fact that the question itself finds has a slot of its own. A turn stands behind
    the best of its facts, which is worth what the better of the two is, so facts never
    push out turns; where none of them holds all the words of the question that the turn
    holds, it has its own slot. The nudge of a fact comes to its own slot, so the words
    of a disputed one do not hold it up, and lowers the turn too (`C28`).
    """
    best = max((one.score for one in scored), default=0.0) or 1.0
    families: dict[str, list[_Member]] = {}
    for one in scored:
        unit = units[one.key]
        extras = _extras(unit, now, preset)
        worth = preset.relevance * one.score / best + sum(extras.values())
        families.setdefault(unit.source or one.key, []).append(
            (worth, unit, one, extras)
        )
    slots = []
    for turn, family in families.items():
        for (worth, _, one, extras), shown, nudge, behind in _places(turn, family):
            parts = Parts(_parts, one.parts, best, preset.relevance, extras, nudge)
            slots.append(RankedSlot(shown, worth + nudge, parts, behind))
    return tuple(sorted(slots, key=_standing))


def _standing(slot: RankedSlot) -> tuple[float, str]:
    """What slots are sorted by: best first, ties by key."""
    return -slot.score, slot.key


def _parts(
    words: Mapping[str, float],
    best: float,
    relevance: float,
    extras: dict[str, float],
    nudge: float,
) -> dict[str, float]:
    parts = {name: relevance * value / best for name, value in words.items()} | extras
    return parts | {"nudge": nudge} if nudge else parts


def _extras(unit: UnitSignals, now: datetime, preset: Preset) -> dict[str, float]:
    """What a unit is worth besides its relevance."""
    parts = {}
    if preset.importance:
        parts["importance"] = preset.importance * unit.importance
    when = (unit.used if preset.from_use else None) or unit.when
    if preset.recency and when is not None:
        days = max((now - when).total_seconds() / 86400, 0)
        parts["recency"] = preset.recency * math.exp2(-days / preset.half_life)
    if preset.stability:
        parts["stability"] = preset.stability * min(1.0, unit.stability / MAX_STABILITY)
    if preset.frequency and unit.frequency:
        parts["frequency"] = preset.frequency * unit.frequency
    if preset.subject and unit.subject:
        parts["subject"] = preset.subject
    if preset.ties and unit.ties:
        parts["ties"] = preset.ties * unit.ties
    return parts


_Member = tuple[float, UnitSignals, Scored, dict[str, float]]
"""One of a family: its worth, the unit, how it scored, and what it is worth besides."""


def _places(
    turn: str, family: list[_Member]
) -> Iterator[tuple[_Member, str, float, tuple[str, ...]]]:
    """The slots of a family: whose worth counts, which key is shown, the nudge, and the
    keys that stand behind it.
    """
    order = sorted(
        family, key=lambda member: (-member[0] - member[1].nudge, member[1].key)
    )
    # ties alone lead to each fact of a turn
    found = [one for one in order if one[2].score > 0] or order[:1]
    facts = [one for one in found if one[1].key != turn]
    told = next((one for one in found if one[1].key == turn), None)
    behind = tuple(one[1].key for one in order if one not in found)
    if (
        told is None
        or not facts
        or all(told[2].held & ~one.held for _, _, one, _ in facts)
    ):
        for one in found:
            nudge = (
                min([0.0, *(unit.nudge for _, unit, *_ in facts)])
                if one is told and facts
                else one[1].nudge
            )
            yield one, one[1].key, nudge, behind if one is found[0] else ()
        return
    yield (
        max(told, facts[0], key=lambda one: one[0]),
        facts[0][1].key,
        facts[0][1].nudge,
        (turn, *behind),
    )
    yield from ((one, one[1].key, one[1].nudge, ()) for one in facts[1:])


def limit_sources(
    slots: Sequence[RankedSlot],
    classes: Mapping[str, str],
    count: int,
    policy: RecallPolicy,
) -> tuple[RankedSlot, ...]:
    """The slots with each class of `classes` (by key) kept to its share of the first
    `count` (`X27`).

    One over it is put behind as long as others can fill the places that are left;
    beside an import only others worth `policy.rival` of it count, for it is mostly the
    user's own past and may answer better than chatter.
    """
    most = max(1, math.floor(policy.source_share * count))
    taken: Counter[str] = Counter()
    first: list[RankedSlot] = []
    over: list[RankedSlot] = []
    for place, slot in enumerate(slots):
        said_by = classes.get(slot.key, "")
        if len(first) == count:
            return (*first, *sorted((*over, *slots[place:]), key=_standing))
        if said_by and taken[said_by] >= most:
            worth = policy.rival * slot.score if said_by == "import" else -math.inf
            rivals = sum(
                one.score >= worth and classes.get(one.key, "") != said_by
                for one in slots[place + 1 :]
            )
            if rivals >= count - len(first):
                over.append(slot)
                continue
        taken[said_by] += 1
        first.append(slot)
    return (*first, *over)


def count_tokens(text: str, policy: RecallPolicy) -> int:
    """What `text` costs, about: characters over `chars_per_token`, a character each
    where words have no blanks.
    """
    wide = len(_WIDE.findall(text))
    return math.ceil((len(text) - wide) / policy.chars_per_token) + wide


def max_hits(k: int, budget: int, policy: RecallPolicy) -> int:
    """How many units an answer can hold."""
    return min(k, budget // max(policy.least_tokens, policy.line_tokens + 1))


def fill_budget(
    hits: Sequence[Hit], question: Question, policy: RecallPolicy, k: int, budget: int
) -> tuple[Hit, ...]:
    """The best `k` of `hits` as `budget` tokens can hold them, in order, each with its
    cost (`X24`, `E18`).

    Each place may cost an equal share of what is left, so a long unit never pushes out
    a later one: it is cut to the sentences that speak most of the question. Where there
    are fewer places than `k`, the share `facts_share` of them is kept for the facts
    among the best `k`.
    """
    seats = min(len(hits), max_hits(k, budget, policy))
    chosen = _seated(hits[:k], seats, math.ceil(seats * policy.facts_share))
    filled: list[Hit] = []
    left = budget
    for hit in chosen:
        fitted = _fitted(hit, question, policy, left // (len(chosen) - len(filled)))
        left -= fitted.tokens
        filled.append(fitted)
    return tuple(filled)


def _seated(hits: Sequence[Hit], max_hits: int, kept: int) -> list[Hit]:
    """The first `max_hits` hits, the last ones giving way until `kept` of them are facts,
    as far as there are.
    """
    seats = list(range(max_hits))
    waiting = [
        place for place in range(max_hits, len(hits)) if hits[place].kind == "fact"
    ]
    wanting = kept - sum(hits[place].kind == "fact" for place in seats)
    for place in reversed([place for place in seats if hits[place].kind != "fact"]):
        if wanting <= 0 or not waiting:
            break
        seats.remove(place)
        seats.append(waiting.pop(0))
        wanting -= 1
    return [hits[place] for place in sorted(seats)]


def _fitted(hit: Hit, question: Question, policy: RecallPolicy, longest: int) -> Hit:
    text = hit.text
    if count_tokens(text, policy) + policy.line_tokens > longest:
        text = excerpt(text, question.words, longest - policy.line_tokens, policy)
    return replace(
        hit, text=text, tokens=count_tokens(text, policy) + policy.line_tokens
    )


def excerpt(
    text: str, wanted: Sequence[str], longest: int, policy: RecallPolicy
) -> str:
    """Consecutive sentences of `text` with most of the `wanted` words, at most
    `longest` tokens, cuts marked.

    The earliest such stretch wins; a single sentence that is too long is cut at a word.
    """
    sentences = [found for found in _SENTENCE.findall(text) if found.strip()]
    sought = set(wanted)
    shared = [
        sought.intersection(content(words(sentence), "en")) for sentence in sentences
    ]
    costs = [count_tokens(sentence, policy) for sentence in sentences]
    room = longest - 2 * count_tokens(_MARK, policy)
    best, most, first = (0, 1), -1, 0
    for last in range(len(sentences)):
        while first < last and sum(costs[first : last + 1]) > room:
            first += 1
        score = len(set().union(*shared[first : last + 1]))
        if score > most or (score == most and first == best[0]):
            best, most = (first, last + 1), score
    kept = "".join(sentences[best[0] : best[1]]).strip()
    if count_tokens(kept, policy) > room:
        kept = _shortened(kept, room, policy)
        best = (best[0], 0)
    before = f"{_MARK} " if best[0] else ""
    return f"{before}{kept}" + (f" {_MARK}" if best[1] < len(sentences) else "")


def _shortened(text: str, longest: int, policy: RecallPolicy) -> str:
    """The first words of `text` that cost at most `longest` tokens; of one endless
    word, its beginning.
    """
    kept = text[: int(longest * policy.chars_per_token)]
    while kept and count_tokens(kept, policy) > longest:
        kept = kept[: -max(1, len(kept) // 20)]
    at = kept.rfind(" ")
    return kept[:at] if at > 0 else kept


PART_MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "text": "its own words",
        "date": "words of its date",
        "akin": "words akin to those of the question",
        "neighbours": "the turns around it",
        "session": "the rest of its session",
        "speaker": "said by someone the question names",
        "role": "said by the side the question is about",
        "when": "holds words for time, and the question asks when",
        "counted": "holds a number, and the question asks how many",
        "telling": "tells of who said it, and the question is about that one",
        "span": "falls into the time the question names",
        "question": "is itself a question",
        "vector": "means what is asked",
        "importance": "importance",
        "recency": "recency",
        "stability": "of use again and again",
        "frequency": "about what much of the rest is about",
        "chain": "stood then in the place of what the words find",
        "subject": "about someone or something the question names",
        "ties": "tied to the best memories",
        "nudge": "how far it is trusted",
    }
)
"""What each part of a score stands for."""


def explanation(parts: Mapping[str, float]) -> tuple[tuple[str, float, str], ...]:
    """The parts of a score as rows (name, value, meaning), in the order of `PART_MEANINGS`
    (row `X4`).
    """
    return tuple(
        (name, parts[name], PART_MEANINGS[name])
        for name in PART_MEANINGS
        if name in parts
    )
