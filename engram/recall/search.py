"""Question → candidates → ranking → verified hits → an answer that fits its budget
(rows X1, X4, X5, X19, X24).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from engram.core import decay, lifecycle, ranking, trust
from engram.core.entities import EntityNames, subject_match
from engram.core.importance import mentioned
from engram.core.language.words import words
from engram.core.records import WHOSE_IS_UNKNOWN, Fact, FiledTurn, Recalled, Usage
from engram.core.sessions import EPISODES, cover
from engram.core.text import content_hash
from engram.errors import BadRequestError, ConfigError, ModelError
from engram.index.filters import SearchFilter
from engram.recall import as_of as recall_as_of
from engram.recall import formatting

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from datetime import datetime

    from engram.config import Settings
    from engram.core.policy import RecallPolicy, TalkPolicy, TrustPolicy
    from engram.core.records import Edge, Hit
    from engram.index.database import OwnNote, Unit
    from engram.index.search import CurrentFile, Index

KINDS = ("fact", "turn", "note")
REMEMBERED_STATUSES = ("active", "archived", "superseded", "invalidated")


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """What a caller wants to know, and how much of it; what was said in `session`
    itself is marked as such.
    """

    query: str
    k: int
    budget: int
    session: str | None = None
    persona: str | None = None
    kinds: Sequence[str] = KINDS
    preset: str = "balanced"
    now: datetime = field(kw_only=True)
    as_of: datetime | None = field(default=None, kw_only=True)
    archive: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class RecallSources:
    """What is known besides notes and turns: who goes by which names, and the ties that
    no note tells (`C34`).

    `usage` is how a memory was used, `left` how many seconds there still are for the
    answer (`X24`).
    """

    names: EntityNames = field(default_factory=EntityNames)
    ties: Callable[[Collection[str]], Iterable[Edge]] = field(default=lambda _ends: ())
    usage: Callable[[str], Usage] = field(default=lambda _name: Usage())
    left: Callable[[], float] = field(default=lambda: math.inf)


def asked(
    settings: Settings, now: datetime, query: str, **wishes: Any
) -> RecallRequest:
    """The request with the policy's defaults filled in; BadRequestError for what cannot
    be answered.
    """
    policy = settings.policy.recall
    if not query.strip():
        raise BadRequestError("the query is empty", fix="Say what to look for.")
    unknown = set(wishes.get("kinds") or ()) - set(KINDS)
    if unknown:
        raise BadRequestError(
            f"there is no kind {min(unknown)!r}", fix=f"Use: {', '.join(KINDS)}."
        )
    if (preset := wishes.get("preset")) and preset not in ranking.PRESETS:
        raise BadRequestError(
            f"there is no preset {preset!r}", fix=f"Use: {', '.join(ranking.PRESETS)}."
        )
    defaults: dict[str, Any] = {"k": policy.k, "budget": policy.budget, "kinds": KINDS}
    given = {name: value for name, value in wishes.items() if value is not None}
    return RecallRequest(query, now=now, **(defaults | given))


def seconds(settings: Settings, milliseconds: int | None) -> float:
    """How long an answer may take (`X24`)."""
    return (milliseconds or settings.policy.recall.milliseconds) / 1000


def recall(
    index: Index,
    settings: Settings,
    ask: RecallRequest,
    *,
    mark: str,
    complete: bool,
    embed: Callable[[str, float], bytes] | None = None,
    known: RecallSources | None = None,
) -> Recalled:
    """Answer a question from facts, turns and notes; what waits in the journal counts
    too (`X1`, `X18`).

    `mark` is an unguessable word that fences the text handed to a model. `complete`
    says whether the vault has been read since the start. `embed` makes the vector of a
    question; without it, or where it raises ModelError or ConfigError, words alone
    decide (`A14`). Archived facts answer where the rest does not fill the places, or on
    request (`C23`). Where no time is left, what would come next is left out, and the
    note says so.
    """
    policy, known = settings.policy.recall, known or RecallSources()
    question = ranking.ask(
        ask.query, ask.now.astimezone(settings.zone), known.names.one
    )
    hurry = _TimeLimit(known.left)
    meant = cache(lambda text: embed(text, known.left())) if embed else None
    found = _found(index, settings, ask, question, known, meant, hurry)
    scarce = not ask.archive and len(found.slots) < ask.k and found.filtered["status"]
    if scarce and not hurry.skips("the archive"):
        found = _found(
            index, settings, replace(ask, archive=True), question, known, meant, hurry
        )
    filtered, slots = found.filtered, _contained(index, found, settings)
    firm = cache(lambda name: _standing_of(known.usage(name).stability, policy))
    hits = _verified(index, found, slots, firm, hurry, settings.policy.trust)
    chosen = ranking.fill(hits, question, policy, ask.k, ask.budget)
    if len(chosen) < min(len(hits), ask.k):
        filtered["over the token budget"] += min(len(hits), ask.k) - len(chosen)
    why = "" if chosen else _why_empty(index, filtered, complete=complete)
    return Recalled(
        query=ask.query,
        hits=chosen,
        text=formatting.fenced(chosen, mark, ask.session),
        tokens=sum(hit.tokens for hit in chosen),
        filtered=dict(filtered),
        note="; ".join(filter(None, [why, found.lack, hurry.told])),
        complete=complete,
    )


class _TimeLimit:
    """Whether there is time left, and what was left out for want of it (`X24`)."""

    def __init__(self, left: Callable[[], float]) -> None:
        self._left = left
        self._skipped: list[str] = []

    def skips(self, what: str) -> bool:
        """Whether `what` is left out."""
        late = self._left() <= 0
        self._skipped += [what] if late and what not in self._skipped else []
        return late

    @property
    def told(self) -> str:
        """What was left out, in words, or ''."""
        return (
            f"time was up, left out: {', '.join(self._skipped)}"
            if self._skipped
            else ""
        )


@dataclass(frozen=True, slots=True)
class _Candidates:
    """What one search gave: units by key and slots, best first; what was left out; why
    meaning did not help.

    A turn or a note may be missing among the units: its record is read if it comes to
    be shown.
    """

    ask: RecallRequest
    units: dict[str, Unit]
    slots: Sequence[ranking.RankedSlot]
    filtered: Counter[str]
    lack: str


def _found(
    index: Index,
    settings: Settings,
    ask: RecallRequest,
    question: ranking.Question,
    known: RecallSources,
    embed: Callable[[str], bytes] | None,
    hurry: _TimeLimit,
) -> _Candidates:
    """The candidates in their order: by words and meaning, with what the best of them
    lead to.
    """
    statuses = (
        REMEMBERED_STATUSES
        if ask.as_of
        else ("active", "archived")
        if ask.archive
        else ("active",)
    )
    where = SearchFilter(
        ask.kinds,
        statuses,
        ask.persona or "",
        ask.as_of.timestamp() if ask.as_of else None,
    )
    found = index.lexical.search(
        question, where, max(settings.policy.recall.pool, ask.k)
    )
    alone = (found.hits, "", None)
    by_meaning = embed if embed and not hurry.skips("meaning") else None
    best, lack, close = (
        _with_meaning(index, settings, question, where, found.hits, by_meaning)
        if by_meaning
        else alone
    )
    filtered, preset = Counter(found.filtered), ranking.PRESETS[ask.preset]
    keys = [one.key for one in best]
    # then what ranks a turn or a note is in its record too
    timely = preset.recency or ask.as_of
    unread = set() if timely else _unread(index, keys)
    units = _recallable(
        index, [key for key in keys if key not in unread], ask, filtered
    )
    talks = settings.policy.talks
    units = {
        key: unit
        for key, unit in units.items()
        if not _far(unit, question, close, talks, filtered)
    }
    scored = [one for one in best if one.key in units or one.key in unread]
    if ask.as_of and "fact" in ask.kinds:
        scored, units, gone = recall_as_of.stood(
            index, question, where, scored, units, ask.as_of
        )
        filtered.update(["replaced by then"] * gone)
    tied = not ask.as_of and not hurry.skips("ties")
    ties = _ties(index, settings, scored, units, known, where, ask) if tied else {}
    enough = settings.policy.links.enough
    further = [
        key
        for key, activation in ties.items()
        if activation >= enough and key not in units
    ]
    units |= _recallable(index, further, ask, Counter())
    scored += [ranking.Scored(key, 0.0, {}) for key in further if key in units]
    named = _naming(question, known.names)
    stages = _stages(index, units, known, settings, ask.now)
    ranked = {
        key: _ranked(unit, settings, named, ties.get(key, 0.0), stages.get(key, ""))
        for key, unit in units.items()
    }
    ranked |= {key: _unread_unit(key, settings) for key in unread}
    if preset.from_use or preset.frequency:
        ranked = _seen(ranked, units, known)
    return _Candidates(
        ask, units, ranking.merged(scored, ranked, ask.now, preset), filtered, lack
    )


def _seen(
    ranked: Mapping[str, ranking.UnitSignals],
    units: Mapping[str, Unit],
    known: RecallSources,
) -> dict[str, ranking.UnitSignals]:
    """The units with how they were used, and how many of the candidates are about the
    same (rows A15, E7).
    """
    about = {
        name: set(unit.about) for name, unit in units.items() if isinstance(unit, Fact)
    }
    counts = Counter(subject for subjects in about.values() for subject in subjects)
    most = max(counts.values(), default=1)

    def told(name: str, unit: ranking.UnitSignals) -> ranking.UnitSignals:
        usage, shares = (
            known.usage(name),
            [counts[subject] / most for subject in about[name]],
        )
        frequency = sum(shares) / len(shares) if shares else 0.0
        return unit._replace(
            used=usage.last_access, stability=usage.stability, frequency=frequency
        )

    return {
        name: told(name, unit) if name in about else unit
        for name, unit in ranked.items()
    }


def _unread(index: Index, keys: Sequence[str]) -> set[str]:
    """Those of `keys` that are ranked without their records: turns that nobody removed,
    notes that are no episodes.
    """
    facts = index.lexical.of_kind("fact", keys)
    return {
        key for key in keys if key not in facts and not key.startswith(EPISODES)
    } - index.tombstones.keys


def _recallable(
    index: Index, keys: Sequence[str], ask: RecallRequest, filtered: Counter[str]
) -> dict[str, Unit]:
    units = index.units(keys)
    return {
        key: unit
        for key, unit in units.items()
        if not _left_out(unit, ask, index.tombstones.keys, filtered)
    }


def _ties(
    index: Index,
    settings: Settings,
    scored: Sequence[ranking.Scored],
    units: Mapping[str, Unit],
    known: RecallSources,
    where: SearchFilter,
    ask: RecallRequest,
) -> dict[str, float]:
    """What the best facts lead to, and how strongly, 0–1 (rows A18, C34)."""
    policy = settings.policy.links
    best = scored[0].score if scored else 0.0
    near = (
        one
        for one in scored
        if one.score >= policy.enough * best and isinstance(units.get(one.key), Fact)
    )
    seeds = (
        {one.key: one.score / best for one in islice(near, policy.seeds)}
        if best > 0
        else {}
    )
    return index.related(seeds, known.ties, where, ask.now) if seeds else {}


def _with_meaning(
    index: Index,
    settings: Settings,
    question: ranking.Question,
    where: SearchFilter,
    found: Sequence[ranking.Scored],
    embed: Callable[[str], bytes],
) -> tuple[Sequence[ranking.Scored], str, Collection[str] | None]:
    """What words found, mixed with what is near by meaning (`A14`, `A17`); or as it
    was, and why.

    And which units are near enough for an episode (`A29`), None where words alone
    decide.
    """
    policy, pool = settings.policy, max(settings.policy.recall.pool, len(found))
    if lack := index.lacks_vectors():
        return found, f"vectors not used: {lack}", None
    try:
        vector = embed(ranking.nameless(question.text, index.lexical.naming(question)))
    except (ModelError, ConfigError) as fault:
        return found, f"vectors not used: {fault.what}", None
    near = index.near(vector, where, pool, [one.key for one in found])
    if not near:
        return found, "vectors not used: those of this model are not made yet", None
    close = {
        one.key for one in near if (one.similarity or 0.0) > policy.similarity.episode
    }
    return (
        ranking.mixed(found, near, policy.vectors.weight, policy.similarity.floor),
        "",
        close,
    )


def _far(
    unit: Unit,
    question: ranking.Question,
    close: Collection[str] | None,
    policy: TalkPolicy,
    filtered: Counter[str],
) -> bool:
    """Whether an episode is too far from the question to enter an answer (`A29`): by
    meaning, else by words.
    """
    if isinstance(unit, Fact | FiledTurn) or not unit.path.startswith(EPISODES):
        return False
    near = (
        cover(question.words, unit.text) > policy.episode_cover
        if close is None
        else unit.path in close
    )
    if not near:
        filtered["episodes too far away"] += 1
    return not near


def _left_out(
    unit: Unit, ask: RecallRequest, buried: Collection[str], filtered: Counter[str]
) -> bool:
    """Whether a unit may not be recalled; counted by reason. A turn goes with the fact
    a person removed (`X8`).
    """
    why = None
    if isinstance(unit, Fact):
        if ask.as_of:
            why = lifecycle.hidden_then(unit, ask.as_of)
        else:
            why = lifecycle.hidden(unit, ask.now, archive=ask.archive)
    elif _buried(unit, buried):
        why = "forgotten"
    persona = unit.turn.persona if isinstance(unit, FiledTurn) else unit.persona
    if why is None and persona and persona != ask.persona:
        why = "of another persona"
    if why is not None:
        filtered[why] += 1
    return why is not None


def _buried(unit: FiledTurn | OwnNote, buried: Collection[str]) -> bool:
    """Whether a person removed the turn, or the statement of a note whose keys, and so
    its status, are not known.
    """
    if isinstance(unit, FiledTurn):
        return unit.key in buried
    return unit.persona == WHOSE_IS_UNKNOWN and content_hash(unit.text) in buried


def _stages(
    index: Index,
    units: Mapping[str, Unit],
    known: RecallSources,
    settings: Settings,
    now: datetime,
) -> dict[str, str]:
    """How far each fact among the candidates is trusted at `now` (`C24`), as far as one
    answer can tell.

    What became of its like lately (`C30`) is left out, for it is in the action log.
    """
    facts = [unit for unit in units.values() if isinstance(unit, Fact)]
    voices = index.voices(
        [key for fact in facts for key in (fact.source, *fact.also) if key]
    )
    found: dict[str, str] = {}
    for fact in facts:
        heard = [
            voices[key].source_class
            for key in (fact.source, *fact.also)
            if key in voices
        ]
        said_by = trust.said_by(fact, heard)
        usage = known.usage(fact.id)
        vitals = decay.vitals(
            fact,
            usage,
            now,
            trust.trust(said_by, settings.policy.trust),
            settings.policy,
        )
        found[fact.id] = lifecycle.stage(
            fact, usage, vitals, settings.policy, trust.bars("core", said_by)
        )[0]
    return found


def _ranked(
    unit: Unit,
    settings: Settings,
    named: Callable[[str], bool],
    ties: float,
    stage: str,
) -> ranking.UnitSignals:
    """What ranking needs to know of a unit; `named` says whether the question names
    somebody.
    """
    if isinstance(unit, Fact):
        return ranking.UnitSignals(
            unit.id,
            unit.source,
            mentioned(unit.importance, len(unit.also), settings.policy.ladder),
            unit.created,
            any(map(named, unit.about)),
            ties,
            lifecycle.nudge(stage, unit.verification, settings.policy),
        )
    if isinstance(unit, FiledTurn):
        return ranking.UnitSignals(
            unit.key, when=unit.turn.occurred_at, nudge=_nudge_of_turns(settings)
        )
    return ranking.UnitSignals(unit.path, when=unit.changed)


def _unread_unit(key: str, settings: Settings) -> ranking.UnitSignals:
    """What ranking knows of a turn or a note whose record was not read."""
    return ranking.UnitSignals(
        key, nudge=_nudge_of_turns(settings) if "#^" in key else 0.0
    )


def _nudge_of_turns(settings: Settings) -> float:
    """A turn is trusted like a candidate: nothing has confirmed it, so it does not
    outrank a new fact (`C28`).
    """
    return lifecycle.nudge("candidate", "", settings.policy)


def _naming(question: ranking.Question, names: EntityNames) -> Callable[[str], bool]:
    """Whether the question names whom a memory is about, by that name or another one of
    theirs (`A20`).

    A name that is also a stop word (Will) counts where the question uses it as a name.
    """
    asked = words(question.text)

    def named(name: str) -> bool:
        entity = names.one(name)
        known_as = (name, entity.name, *entity.aliases) if entity else (name,)
        return subject_match(asked, known_as) or any(
            question.names.issuperset(words(one)) for one in known_as
        )

    return cache(named)


def _contained(
    index: Index, found: _Candidates, settings: Settings
) -> Sequence[ranking.RankedSlot]:
    """The slots, with each source from outside kept to its share of the places (`X27`)."""
    policy = settings.policy
    places = ranking.places(found.ask.k, found.ask.budget, policy.recall)
    if not _outside(index, found.slots[:places], found.units, policy.trust):
        # nobody from outside has a place, so it does not matter who stands behind
        return found.slots
    classes = _outside(index, found.slots, found.units, policy.trust)
    return ranking.contained(found.slots, classes, places, policy.recall)


def _outside(
    index: Index,
    slots: Sequence[ranking.RankedSlot],
    units: Mapping[str, Unit],
    policy: TrustPolicy,
) -> dict[str, str]:
    """The source class of what anybody may have said, by key (`X27`); a fact is never
    surer than its source's cap.
    """
    cap = max(policy.ingest, policy.tool)
    ranked = {slot.key: units.get(slot.key) for slot in slots}
    facts = [
        one
        for one in ranked.values()
        if isinstance(one, Fact) and one.source and one.confidence <= cap
    ]
    turns = [
        key
        for key, unit in ranked.items()
        if unit is None or isinstance(unit, FiledTurn)
    ]
    voices = index.voices(sorted({*turns, *formatting.evidence(facts)}))
    classes = {key: voices[key].source_class for key in turns if key in voices}
    for fact in facts:
        classes[fact.id] = trust.said_by(
            fact, (one.source_class for one in formatting.voices_of(fact, voices))
        )
    return {
        key: said_by for key, said_by in classes.items() if said_by in trust.OUTSIDE
    }


def _verified(
    index: Index,
    found: _Candidates,
    slots: Sequence[ranking.RankedSlot],
    firm: Callable[[str], str],
    hurry: _TimeLimit,
    policy: TrustPolicy,
) -> list[Hit]:
    """The best `k` slots as hits that say what their files say now (`X19`); at least
    one, no more once time is up.
    """
    standing, by_key = [], {slot.key: slot for slot in slots}
    seen: dict[str, CurrentFile] = {}
    for one in islice(
        _standing(index, found.units, list(by_key), found.ask, found.filtered, seen),
        found.ask.k,
    ):
        standing.append(one)
        if hurry.skips("further hits"):
            break
    sources = sorted({unit.source for _, unit, _ in standing if isinstance(unit, Fact)})
    said = {
        key: unit
        for key, unit, _ in _standing(index, {}, sources, found.ask, Counter(), seen)
    }
    came = formatting.provenance(index, (unit for _, unit, _ in standing), policy)
    faults = index.faults(((unit, path) for _, unit, path in standing), seen)
    return [
        formatting.as_hit(by_key[key], unit, path, said, firm(key), came[key], fault)
        for (key, unit, path), fault in zip(standing, faults, strict=True)
    ]


def _standing_of(stability: float, policy: RecallPolicy) -> str:
    """What a memory of this stability is called (`A29`)."""
    if stability >= policy.well_established:
        return "well-established"
    return "established" if stability >= policy.established else ""


def _standing(
    index: Index,
    units: Mapping[str, Unit],
    keys: Sequence[str],
    ask: RecallRequest,
    filtered: Counter[str],
    seen: dict[str, CurrentFile],
) -> Iterator[tuple[str, Unit, str]]:
    """Those of `keys` that may be recalled as their files have them now, each with that
    unit and the file's path.

    `units` are read already, `seen` is as `Index.current` takes it.
    """
    for start in range(0, len(keys), ask.k):
        page = keys[start : start + ask.k]
        places = index.catalog.places(page)
        read = index.units([key for key in page if key not in units])
        for key in page:
            known, place = units.get(key) or read.get(key), places.get(key, ("", ""))
            unit = index.current(known, place, seen) if known else None
            if unit is None:
                filtered["gone from its file"] += 1
            elif not _left_out(unit, ask, index.tombstones.keys, filtered):
                if shown_unit := index.visible(unit):
                    yield key, shown_unit, place[0]
                else:
                    filtered["forgotten"] += 1


def _why_empty(index: Index, filtered: Counter[str], *, complete: bool) -> str:
    if not complete:
        return "the vault is still being read"
    if not len(index.lexical):
        return "there are no memories yet"
    if filtered:
        return "filtered: " + ", ".join(
            f"{why} ({number})" for why, number in sorted(filtered.items())
        )
    return "nothing in memory shares a word with this"
