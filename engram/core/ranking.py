"""Parse a question and rank the units that match it.

The index scores facts and turns by their words; the parts of a score sum to it (row
X4). `fuse` adds the similarity of vectors, `rank` merges facts with the turns they came
from and adds importance, recency and the other signals of a preset, and `limit_sources`
limits imports and programs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from engram.core.language import languages
from engram.core.language.dates import resolve
from engram.core.language.languages import LazyPattern
from engram.core.language.question_forms import asks_about_past, asks_for_several
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
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Sequence,
    )
    from datetime import datetime

    from engram.core.policy import RecallPolicy
    from engram.core.records import Interval

_FAINT = frozenset(
    """
    able chat conversation curious current currently discuss discussed discussion earlier find idea ideas
    interested interesting know maybe mention mentioned might mind one ones possible possibly previous
    previously recall remember remind said say sure talk talked talking tell think thinking thought told way
    ways wonder wondering
    anymore nowadays still
    aktuell denken denkst erinnern erinnerst erzählt finden gesagt gespräch interessant sagen sagte vielleicht
    weiß weißt derzeit heutzutage immer momentan noch zurzeit
    actuel actuellement dire dit discussion parlé penser peut-être rappelle rappeler sais souviens trouver
    actual actualmente contar conversación decir dije dijiste dijo encontrar hablamos pensar quizás recuerda
    recuerdas sabes
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)
_WHEN = frozenset(
    ("when", "wann", "quand", "cuándo", "quando", "wanneer", "когда", "何时", "いつ")
)
_ASKS_TIME = LazyPattern(
    r"\b(?:what|which) (date|day|week|month|year|time)\b|\bwelche[mnrs]? (tag|datum|woche|monat|jahr|uhrzeit)\b"
    r"|\bhow long\b|几点|什么时候|何日"
)
_PRESENT = LazyPattern(r"\bthese (days)\b|\bat the (moment)\b")
_ASKS_NUMBER = LazyPattern(
    r"\bhow (?:many|much|often|old|far|big|tall|long)\b|\b(?:what|which) (?:percentage|number|amount|price)\b|\btotal\b"
    r"|\bwie ?viele?\b|\bwie (?:oft|alt|weit|lange)\b|\bcombien\b|\bcuánt[oa]s?\b|\bquant[oaie]s?\b|\bhoeveel\b"
    r"|\bсколько\b|多少|几|いくつ|いくら"
)
_SPEECH_VERBS = (
    "said|told|mentioned|suggested|recommended|provided|gave|wrote|listed|created|shared|described|explained|"
    "advised|showed|named|helped|proposed|came up with"
)
_ABOUT_ASSISTANT = LazyPattern(
    rf"\byou (?:\w+ ){{0,2}}(?:{_SPEECH_VERBS})\b|\bdid you (?:\w+ )?(?:say|tell|mention|suggest|recommend|give|list)\b"
    r"|\b(?:previous|earlier|last|past) (?:conversation|chat|discussion)\b|\bremind me\b"
    r"|\b(?:hast du|du hast|haben sie) (?:\w+ )*(?:gesagt|empfohlen|vorgeschlagen|genannt|erklärt|erwähnt)\b"
    r"|\b(?:tu m'as|tu as|as-tu|vous avez) (?:\w+ )?(?:dit|recommandé|proposé|suggéré|conseillé|mentionné)\b"
    r"|\bme (?:dijiste|recomendaste|sugeriste|mencionaste)\b|\bmi hai (?:detto|consigliato|suggerito)\b"
)
_ABOUT_SELF = LazyPattern(
    rf"\bi (?:\w+ )?(?:{_SPEECH_VERBS})\b|\bdid i (?:\w+ )?(?:say|tell|mention)\b"
)
_NAME = LazyPattern(r"(?<=[\w,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*\b")


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed question: the words to search for, and the signals that boost a unit.

    `words` are the search terms, in order; those in `faint` belong to the form of the
    question and have less weight. `wants_several` is true of questions that list,
    count, order or compare, `about_past` of those about an earlier time. `akin` maps a word to its synonyms. `about_role` is "user"
    or "assistant" if the question is about the statements of that side, else "".
    `about_self` is true if a question about the user is about the user in person and
    not about a relative or a friend. `span` is the time that the question names,
    resolved against the time of asking. `names` are words that are stop words in some
    language and a known name in this question. `stop_words` are the stop words that
    count because the question has no other words; with `match_all` a unit must contain
    all of `words`.
    """

    text: str
    words: tuple[str, ...]
    language: str = ""
    faint: frozenset[str] = frozenset()
    wants_time: bool = False
    wants_number: bool = False
    wants_several: bool = False
    about_past: bool = False
    about_role: str = ""
    about_self: bool = False
    span: Interval | None = None
    akin: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    stop_words: frozenset[str] = frozenset()
    match_all: bool = False


class Parts(Mapping[str, float]):
    """The parts of a score, computed by `compute(*arguments)` on first access.

    Most candidates are never returned, so their parts are never computed.
    """

    __slots__ = ("_arguments", "_compute", "_parts")

    def __init__(
        self, compute: Callable[..., dict[str, float]], *arguments: object
    ) -> None:
        self._compute = compute
        self._arguments = arguments
        self._parts: dict[str, float] | None = None

    def __getitem__(self, name: str) -> float:
        return self._computed()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._computed())

    def __len__(self) -> int:
        return len(self._computed())

    def _computed(self) -> dict[str, float]:
        if self._parts is None:
            self._parts = self._compute(*self._arguments)
        return self._parts


# Each question creates hundreds of `Scored`, `UnitSignals` and `RankedSlot`; a tuple is
# created faster than a frozen dataclass.
class Scored(NamedTuple):
    """A unit's key and its score by words; `parts` sum to the score (row `X4`).

    `matched` has two bits for each word of the question, faint words left out: the
    higher one is set if the unit's own text contains the word, the lower one also if it
    contains a synonym. `similarity`, 0–1, is that of its own vector to the question.
    `own` is the score without the turns around it, `fit`, 0–1, the share of the
    question that the unit covers by itself, in words or in meaning.
    """

    key: str
    score: float
    parts: Mapping[str, float]
    matched: int = 0
    similarity: float | None = None
    own: float = 0.0
    fit: float = 0.0


class VectorMatch(NamedTuple):
    """The similarity of a unit's vectors to the question; None without a vector.

    `similarity` is that of its own text, on the nominal scale; `score` also counts the
    turns around it and its session.
    """

    key: str
    similarity: float | None
    score: float | None


class UnitSignals(NamedTuple):
    """The signals of a unit that ranking adds to its relevance.

    `source` is the key of the turn that a fact was extracted from, `when` the unit's
    own time, `used` the time of its last recall. `stability`, 1–5, grows with recalls
    (`A19`); `frequency`, 0–1, is the share of candidates about the same entity (`E7`).
    `subject` is true if the question names the unit's subject (`A20`), `ties`, 0–1, is
    the activation that reaches it from the best facts (`C34`), and `nudge` is added to
    the score for trust (`C28`). `share`, 0–1, scales the sum of all other parts
    (`A16`).
    """

    key: str
    source: str = ""
    importance: float = 0.5
    when: datetime | None = None
    subject: bool = False
    ties: float = 0.0
    nudge: float = 0.0
    share: float = 1.0
    used: datetime | None = None
    stability: float = 1.0
    frequency: float = 0.0


class RankedSlot(NamedTuple):
    """One slot of the answer: the unit to show, its score and parts; see `Scored`.

    `nudge` is the part of the score for trust.
    """

    key: str
    score: float
    parts: Mapping[str, float]
    own: float = 0.0
    fit: float = 0.0
    nudge: float = 0.0


@dataclass(frozen=True, slots=True)
class Preset:
    """The weights of a scorer.

    The score is relevance·r + importance·i + recency·2^(−age/half_life) +
    stability·min(1, stability/5) + frequency·f + subject·s + ties·t + nudge. r is the
    unit's score in the index divided by the best one's, s is 1 if the question names
    the unit's subject, t is the activation; all signals are 0–1. With `from_use` the
    age counts from the last recall, if there was one, else from the unit's own time.
    With `cosine` r is the similarity of the unit's vector to the question, where there
    are vectors. `pool` is the number of candidates, if it is limited, and `caps` the
    number of facts of each type of seed E.
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
    cosine: bool = False
    pool: int = 0
    caps: Mapping[str, int] = field(default_factory=dict)


MAX_STABILITY = 5.0

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "balanced": Preset(1.0, 0, 0, 30, subject=0.15, ties=0.05),
        "belief": Preset(
            0.50,
            0.20,
            0.10,
            30,
            subject=0.15,
            ties=0.50,
            stability=0.05,
            from_use=True,
            cosine=True,
        ),
        "entity": Preset(
            0.40,
            0.0,
            0.30,
            14,
            frequency=0.30,
            pool=50,
            caps=MappingProxyType({"profile": 2, "people": 3, "project": 3}),
        ),
    }
)
"""Scorers by name (rows A15, A18, E7).

The weights of `balanced` were tuned on benchmarks; the others are those of the seeds.
"""


def parse_question(
    text: str, when: datetime, known: Callable[[str], object] = lambda _name: None
) -> Question:
    """Parse `text`, asked at the aware time `when` (rows `X13`, `X14`).

    `known` returns a true value for the name of a known entity. Such a name gets no
    synonyms: a question about a woman called Faith is not about religion.
    `parse_question("When did Anna move?", now)` has the words anna and move and asks
    for a time.
    """
    tokens = words(text)
    code = language(tokens)
    folded = fold(text)

    names = named(
        text, tokens, known, alone=STOP.get(code, STOP["en"]).issuperset(tokens)
    )
    carrying = _carrying_words(tokens, code, names)
    stop_words, match_all = _counted_stop_words(tokens, carrying)

    spans = [span for span in resolve(text, when) if span.start < when]
    timed = {word for span in spans for word in words(span.words)}
    role = _about_role(folded, tokens)

    return Question(
        text=text,
        words=tuple(carrying or [w for w in tokens if w in stop_words] or tokens),
        language=code,
        faint=frozenset(carrying).intersection(
            _FAINT.union(timed, _words_of_form(folded, code))
        )
        - names,
        wants_time=not _WHEN.isdisjoint(tokens) or bool(_ASKS_TIME.search(folded)),
        wants_number=bool(_ASKS_NUMBER.search(folded)),
        wants_several=asks_for_several(text),
        about_past=bool(spans) or asks_about_past(text),
        about_role=role,
        about_self=role == "user" and of_oneself(folded),
        span=spans[0] if spans else None,
        akin=_akin(carrying, _known_names(text, code, known) | names, code),
        names=names,
        stop_words=stop_words,
        match_all=match_all,
    )


def _words_of_form(folded: str, code: str) -> list[str]:
    """Return the words that ask for a time or for what holds now."""
    asking = [*_ASKS_TIME.finditer(folded), *_PRESENT.finditer(folded)]
    return content([part for match in asking for part in match.groups() if part], code)


def _carrying_words(
    tokens: Sequence[str], code: str, names: Collection[str]
) -> list[str]:
    """Return the words that carry meaning, with names that are also stop words."""
    named_stop_words = STOP.get(code, STOP["en"]).intersection(names)
    carrying = content(tokens, code) + [
        word for word in dict.fromkeys(tokens) if word in named_stop_words
    ]
    return carrying or [word for word in tokens if synonyms(word, code)]


def _counted_stop_words(
    tokens: Sequence[str], carrying: Collection[str]
) -> tuple[frozenset[str], bool]:
    """Return the stop words that count, and whether a unit must contain all of them.

    They count only if there are no `carrying` words: first the ones for relations, else
    all of a phrase of at least `PHRASE` different words.
    """
    if carrying:
        return frozenset(), False
    if relating := RELATING.intersection(tokens):
        return relating, False
    if len(set(tokens)) >= PHRASE:
        return frozenset(tokens), True
    return frozenset(), False


def _known_names(
    text: str, language_code: str, known: Callable[[str], object]
) -> set[str]:
    """Return the words of the names in `text` that belong to a known entity."""
    return {
        word
        for name in _NAME.findall(text)
        if known(name)
        for word in content(words(name), language_code)
    }


def _akin(
    carrying: Iterable[str], names: Collection[str], code: str
) -> dict[str, tuple[str, ...]]:
    """Return the synonyms of each word that is not a name.

    The language of a short question may be detected wrongly; a word of a language
    without synonyms is therefore looked up in the others.
    """
    codes = languages.section("synonyms")
    searched = [code] if code in codes else list(codes)
    return {
        word: tuple(near for one in searched for near in synonyms(word, one))
        for word in carrying
        if word not in names
    }


def _about_role(folded: str, tokens: Sequence[str]) -> str:
    if _ABOUT_ASSISTANT.search(folded) and not _ABOUT_SELF.search(folded):
        return "assistant"
    return "" if FIRST_PERSON.isdisjoint(tokens) else "user"


def without_names(text: str, names: frozenset[str]) -> str:
    """Return a question without the names of speakers, to embed it.

    `names` are folded. `without_names("What did Anna's sister buy?", {"anna"})` is
    "What did sister buy?". A text that consists of names is returned unchanged.
    """
    parts = [part for part in text.split() if not names.intersection(words(part))]
    return " ".join(parts) if content(words(" ".join(parts)), "en") else text


def fuse(
    word_matches: Sequence[Scored],
    whole: float,
    vector_matches: Sequence[VectorMatch],
    weight: float,
    floor: float,
) -> tuple[Scored, ...]:
    """Merge matches by words and by vectors, best first, ties by key (`A14`, `A17`).

    The score is (1 − weight)·(words/whole)² + weight·vector. `whole` is the weight of
    all words of the question: one word of four says little beside the meaning, all four
    say more than the meaning. A similarity below `floor` covers nothing of the
    question, and a unit that only vectors match needs a higher one. A unit without a
    vector gets the average vector score.
    """
    by_words = {match.key: match for match in word_matches}
    similarities = {match.key: match.similarity for match in vector_matches}
    by_vector = {
        match.key: max(match.score, 0.0)
        for match in vector_matches
        if match.score is not None
        and (match.key in by_words or (match.similarity or 0.0) >= floor)
    }
    if not by_vector:
        return tuple(word_matches)

    average = fmean(by_vector.values())
    fused = [
        _add_vector(
            by_words.get(key) or Scored(key, 0.0, {}),
            whole or 1.0,
            weight * by_vector.get(key, average),
            weight,
            similarities.get(key),
            floor,
        )
        for key in dict.fromkeys([*by_words, *by_vector])
    ]
    return tuple(sorted(fused, key=lambda match: (-match.score, match.key)))


def _add_vector(
    match: Scored,
    whole: float,
    gain: float,
    weight: float,
    similarity: float | None,
    floor: float,
) -> Scored:
    """Return a match with `gain` as its part "vector".

    The own score is the weighted sum of the own words and the own similarity. One of at
    least `floor` is also what the match covers of the question.
    """
    near = similarity if similarity is not None and similarity >= floor else 0.0
    own_share = (1 - weight) / whole
    share = own_share * match.score / whole
    return Scored(
        match.key,
        share * match.score + gain,
        Parts(_with_vector, match.parts, share, gain),
        match.matched,
        similarity,
        own_share * match.own + weight * max(similarity or 0.0, 0.0),
        max(match.fit, near),
    )


def _with_vector(
    parts: Mapping[str, float], share: float, gain: float
) -> dict[str, float]:
    return {**{name: share * part for name, part in parts.items()}, "vector": gain}


def rank(
    scored: Sequence[Scored],
    units: Mapping[str, UnitSignals],
    now: datetime,
    preset: Preset = PRESETS["balanced"],
) -> tuple[RankedSlot, ...]:
    """Rank facts and turns in one list, best first, ties by key.

    Each fact that the question itself matches has its own slot. A turn is merged into
    the best of its facts, which gets the better of the two scores and fits, so facts
    never push out turns. A turn that contains more words of the question than any of
    its facts has its own slot. The nudge of a fact is added to its own slot, so that
    the words of a disputed fact do not raise it, and a negative one lowers the turn too
    (`C28`).
    """
    best = max((match.score for match in scored), default=0.0) or 1.0
    if preset.cosine:
        scored, best = _by_cosine(scored, best)
    sources = {units[match.key].source for match in scored}
    found: list[_TurnSlot] = []
    by_turn: dict[str, list[_Candidate]] = {}
    last: UnitSignals | None = None
    for match in scored:
        unit = units[match.key]
        if unit is not last:  # all turns that were not read share one
            last, extras = unit, _extras(unit, now, preset)
            added, relevance = sum(extras.values()), unit.share * preset.relevance
        value = relevance * match.score / best + added
        candidate = _Candidate(value, unit, match, extras, relevance)
        turn_key = unit.source or match.key
        if turn_key in sources:
            by_turn.setdefault(turn_key, []).append(candidate)
        else:
            found.append((candidate, turn_key, unit.nudge))
    for turn_key, candidates in by_turn.items():
        found += _slots_of_turn(turn_key, candidates)

    slots = []
    for (value, _, match, extras, relevance), key, nudge in found:
        parts = Parts(_all_parts, match.parts, best, relevance, extras, nudge)
        slots.append(RankedSlot(key, value + nudge, parts, match.own, match.fit, nudge))
    return tuple(sorted(slots, key=_best_first))


def _by_cosine(scored: Sequence[Scored], best: float) -> tuple[Sequence[Scored], float]:
    """Return the units scored by the similarity of their vectors, and the maximum.

    (Row `A15`.) The maximum is 1, or `best` if no unit has a vector and the words still
    decide. If some units have vectors, the others are scored by their words, at most as
    high as the nearest one.
    """
    most = max((match.similarity or 0.0 for match in scored), default=0.0)
    if most <= 0:
        return scored, best
    by_cosine = []
    for match in scored:
        similarity = match.similarity
        if similarity is None:
            parts = {name: most * part / best for name, part in match.parts.items()}
            by_cosine.append(
                match._replace(score=most * match.score / best, parts=parts)
            )
        else:
            cosine = min(1.0, max(0.0, similarity))
            by_cosine.append(match._replace(score=cosine, parts={"vector": cosine}))
    return by_cosine, 1.0


def _best_first(slot: RankedSlot) -> tuple[float, str]:
    return -slot.score, slot.key


def _all_parts(
    words: Mapping[str, float],
    best: float,
    relevance: float,
    extras: dict[str, float],
    nudge: float,
) -> dict[str, float]:
    """Return the parts of a slot's score: relevance by words, `extras` and `nudge`."""
    parts = {name: relevance * value / best for name, value in words.items()} | extras
    return parts | {"nudge": nudge} if nudge else parts


def _extras(unit: UnitSignals, now: datetime, preset: Preset) -> dict[str, float]:
    """Return the parts of a unit's score that do not depend on its words."""
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
    if unit.share != 1.0:
        return {name: unit.share * value for name, value in parts.items()}
    return parts


class _Candidate(NamedTuple):
    """A unit with its scores; `value` is the score of its slot without the nudge.

    `relevance` is the weight of its score by words, `extras` are its other parts.
    """

    value: float
    unit: UnitSignals
    scored: Scored
    extras: dict[str, float]
    relevance: float


_TurnSlot = tuple[_Candidate, str, float]
"""The candidate whose value counts, the key of the unit that is shown, the nudge."""


def _slots_of_turn(turn_key: str, candidates: list[_Candidate]) -> list[_TurnSlot]:
    """Return the slots of a turn and the facts extracted from it; see `rank`."""
    ordered = sorted(
        candidates,
        key=lambda candidate: (
            -candidate.value - candidate.unit.nudge,
            candidate.scored.key,
        ),
    )
    # A fact that was reached by ties alone does not represent its turn: it has its own
    # slot.
    matched = [
        candidate for candidate in ordered if candidate.scored.score > 0
    ] or ordered[:1]
    turn = next(
        (candidate for candidate in matched if candidate.scored.key == turn_key), None
    )
    facts = [candidate for candidate in matched if candidate is not turn]

    own = [_own_slot(candidate) for candidate in facts]
    if turn is None:
        return own
    if not facts:
        return [_own_slot(turn)]
    if all(_matches_more(turn, fact) for fact in facts):
        lowered = min(0.0, *(fact.unit.nudge for fact in facts))
        return [(turn, turn_key, lowered), *own]

    best = facts[0]
    better = max(turn, best, key=lambda candidate: candidate.value)
    fit = max(turn.scored.fit, best.scored.fit)
    better = better._replace(scored=better.scored._replace(fit=fit))
    return [(better, best.scored.key, best.unit.nudge), *own[1:]]


def _own_slot(candidate: _Candidate) -> _TurnSlot:
    return candidate, candidate.scored.key, candidate.unit.nudge


def _matches_more(turn: _Candidate, fact: _Candidate) -> bool:
    """Return whether `turn` contains a word of the question that `fact` does not."""
    return turn.scored.matched & ~fact.scored.matched != 0


def limit_sources(
    slots: Sequence[RankedSlot],
    classes: Mapping[str, str],
    count: int,
    policy: RecallPolicy,
) -> tuple[RankedSlot, ...]:
    """Limit each source class to its share of the first `count` slots (`X27`).

    `classes` maps the key of a slot to its source class. A slot above the limit moves
    behind the first `count` as long as slots of other classes can take its place. For
    an import only those with at least `policy.rival` of its score count, because an
    import is mostly the user's own past and may answer better than small talk.
    """
    limit = max(1, math.floor(policy.source_share * count))
    limits = dict.fromkeys(filter(None, classes.values()), limit)
    return limit_classes(slots, classes, limits, count, {"import": policy.rival})


def limit_classes(
    slots: Sequence[RankedSlot],
    classes: Mapping[str, str],
    limits: Mapping[str, int],
    count: int,
    rivals: Mapping[str, float],
) -> tuple[RankedSlot, ...]:
    """Limit each class of slots to its number of the first `count` (rows A29, X27).

    `classes` maps the key of a slot to its class; a class without a limit has none. A
    slot above the limit moves behind the first `count` as long as slots of other
    classes, of at least the share in `rivals` of its score, can take its place.
    """
    counts: Counter[str] = Counter()
    first: list[RankedSlot] = []
    deferred: list[RankedSlot] = []
    for position, slot in enumerate(slots):
        its_class = classes.get(slot.key, "")
        if len(first) == count:
            return (*first, *sorted((*deferred, *slots[position:]), key=_best_first))

        if counts[its_class] >= limits.get(its_class, math.inf):
            share = rivals.get(its_class)
            least = -math.inf if share is None else share * slot.score
            waiting = sum(
                ranked.score >= least and classes.get(ranked.key, "") != its_class
                for ranked in slots[position + 1 :]
            )
            if waiting >= count - len(first):
                deferred.append(slot)
                continue

        counts[its_class] += 1
        first.append(slot)
    return (*first, *deferred)


PART_MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "text": "its own words",
        "date": "words of its date",
        "akin": "synonyms of words of the question",
        "neighbours": "the turns around it",
        "session": "the rest of its session",
        "speaker": "from a speaker whom the question names",
        "role": "from the role that the question is about",
        "when": "has words for time, and the question asks when",
        "counted": "has a number, and the question asks how many",
        "telling": "about its speaker, as the question is",
        "span": "within the time that the question names",
        "question": "a question itself",
        "vector": "similar in meaning to the question",
        "importance": "importance",
        "recency": "recency",
        "stability": "recalled repeatedly",
        "frequency": "about an entity of many other candidates",
        "chain": "valid then, before a memory that the words match",
        "subject": "about an entity that the question names",
        "ties": "linked to the best memories",
        "answers": "gives the value that the question asks for",
        "newest": "the order of leading hits, the newest first",
        "agenda": "an open promise, and the question asks for these",
        "replaces": "replaced an earlier state",
        "nudge": "trust in it",
    }
)
"""The meaning of each part of a score, in the order in which they are shown."""


def explanation(parts: Mapping[str, float]) -> tuple[tuple[str, float, str], ...]:
    """Return the parts of a score as rows (name, value, meaning) (row `X4`).

    The rows have the order of `PART_MEANINGS`.
    """
    return tuple(
        (name, parts[name], PART_MEANINGS[name])
        for name in PART_MEANINGS
        if name in parts
    )
