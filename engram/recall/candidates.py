"""The candidates of a question, ranked: by words, vectors, relations and signals.

The signals of a unit are its stage, its subject and its use. Rows A14, A16, A18, A20,
C24, C34.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from engram.core import decay, lifecycle, ranking, trust
from engram.core.categories import INSIGHT, PLAIN, category_of
from engram.core.entities import EntityNames, names_subject
from engram.core.importance import after_mentions
from engram.core.language.keep_requests import REMEMBER_TAG
from engram.core.language.words import words
from engram.core.records import Fact, FiledTurn
from engram.core.sessions import EPISODES
from engram.errors import ConfigError, ModelError
from engram.recall import as_of as recall_as_of
from engram.recall import formatting
from engram.recall.hits import SAID_HERE, recallable
from engram.recall.request import (
    RankedCandidates,
    RecallSearch,
    RecallSources,
    search_filter,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.policy import Policy, RecallPolicy
    from engram.index.bm25 import SearchResult
    from engram.index.database import Unit
    from engram.index.filters import SearchFilter
    from engram.index.search import Index


@dataclass(slots=True)
class _Pool:
    """The units that match so far, best first; the records of `unread` are not read."""

    scored: list[ranking.Scored]
    units: dict[str, Unit]
    unread: set[str]
    filtered: Counter[str]
    unused_reason: str
    by_meaning: bool


def find_candidates(search: RecallSearch) -> RankedCandidates:
    """Return the candidates, best first: by words, by vectors and by relations."""
    where = search_filter(search.request)
    pool = _matching(search, where)
    activations = _add_related(search, where, pool)
    signals = _ranking_signals(search, pool, activations)
    preset = ranking.PRESETS[search.request.preset]
    slots = ranking.rank(pool.scored, signals, search.request.now, preset)
    search.limit.end("ranking")
    with_slot = {slot.key for slot in slots}
    hidden = (one.key for one in pool.scored if one.key not in with_slot)
    merged = Counter(signals[key].source or key for key in hidden)
    least = search.settings.policy.links.enough
    related = {key for key, activation in activations.items() if activation >= least}
    return RankedCandidates(
        search.request,
        pool.units,
        slots,
        pool.filtered,
        pool.unused_reason,
        pool.by_meaning,
        merged,
        related,
    )


def _matching(search: RecallSearch, where: SearchFilter) -> _Pool:
    """Return the units that match by words and by vectors, and may be recalled."""
    request, most = search.request, search.settings.policy.recall.pool
    waiting, unused_reason = _start_vector(search)
    words_only = search.index.lexical.search(
        search.question, where, max(most, request.k)
    )
    search.limit.end("words")
    filtered = Counter(words_only.filtered)
    best: Sequence[ranking.Scored] = words_only.hits
    close: Collection[str] | None = None
    if waiting:
        best, unused_reason, close = _with_vectors(search, where, words_only, waiting)
    search.limit.end("vectors")
    # before any share of the best score: a question that was observed matches itself
    own = {
        one.key
        for one in (best if request.running else ())
        if one.key.partition("#")[0] in request.running
    }
    filtered.update([SAID_HERE] * len(own))
    best = [one for one in best if one.key not in own]
    best = best[: ranking.PRESETS[request.preset].pool or None]

    units, unread = _read_units(search, best, close, filtered)
    scored = [one for one in best if one.key in units or one.key in unread]
    if request.as_of and "fact" in request.kinds:
        scored, units, replaced = recall_as_of.at(
            search.index, search.question, where, scored, units, request.as_of
        )
        filtered.update(["replaced by then"] * replaced)
    search.limit.end("records")
    by_meaning = close is not None
    return _Pool(scored, units, unread, filtered, unused_reason, by_meaning)


def _ranking_signals(
    search: RecallSearch, pool: _Pool, activations: Mapping[str, float]
) -> dict[str, ranking.UnitSignals]:
    """Return the signals of the pool; leave out stale memories if requested."""
    request, settings = search.request, search.settings
    units = pool.units
    stages = _stages_of(search.index, units, search.sources, settings, request.now)
    if request.without_stale:
        units = pool.units = _without_stale(search, units, stages, pool.filtered)
        pool.scored = [
            one for one in pool.scored if one.key in units or one.key in pool.unread
        ]
    signals = _signals_of_units(search, units, activations, stages)
    signals |= _signals_of_unread(pool.unread, settings)
    preset = ranking.PRESETS[request.preset]
    if preset.from_use or preset.frequency:
        return _with_usage(signals, units, search.sources)
    return signals


def _start_vector(search: RecallSearch) -> tuple[Callable[[], bytes] | None, str]:
    """Start to embed the question while words are searched.

    Returns a function that waits for the vector, and ''; or None and the reason why
    there is no vector.
    """
    if not search.embed or search.limit.out_of_time_for("vectors"):
        return None, ""
    if unused_reason := search.index.lacks_vectors():
        return None, f"vectors not used: {unused_reason}"
    naming = search.index.lexical.naming(search.question)
    return search.embed(ranking.without_names(search.question.text, naming)), ""


def _with_vectors(
    search: RecallSearch,
    where: SearchFilter,
    words_only: SearchResult,
    waiting: Callable[[], bytes],
) -> tuple[Sequence[ranking.Scored], str, Collection[str] | None]:
    """Return the hits merged with those near by vector (`A14`, `A17`).

    Also returns the reason if vectors were not used, or '', and the keys of the units
    that are near enough for an episode (`A29`), or None if words alone decide.
    """
    index, policy, by_words = search.index, search.settings.policy, words_only.hits
    try:
        vector = waiting()
    except (ModelError, ConfigError) as fault:
        return by_words, f"vectors not used: {fault.what}", None

    pool = max(policy.recall.pool, len(by_words))
    near = index.near(vector, where, pool, [one.key for one in by_words])
    if not near:
        unused_reason = "vectors not used: this model has not embedded the memories yet"
        return by_words, unused_reason, None

    floor = policy.similarity.episode
    close = {one.key for one in near if (one.similarity or 0.0) > floor}
    mixed = ranking.fuse(
        by_words,
        words_only.whole,
        near,
        policy.vectors.weight,
        policy.similarity.floor,
    )
    return mixed[:pool], "", close


def _read_units(
    search: RecallSearch,
    best: Sequence[ranking.Scored],
    close: Collection[str] | None,
    filtered: Counter[str],
) -> tuple[dict[str, Unit], set[str]]:
    """Return the records of the units that may be recalled, and the keys left unread.

    A record is read if ranking needs it: for every unit if the time of a turn or a note
    counts. An episode is left out if it is too far from the question (`A29`): vectors
    decide if `close`, the last value that `_with_vectors` returns, is given, else words.
    """
    request, keys = search.request, [one.key for one in best]
    needs_times = ranking.PRESETS[request.preset].recency or request.as_of
    unread = set() if needs_times else _keys_ranked_unread(search.index, keys)

    read = [key for key in keys if key not in unread]
    units = recallable(search.index, read, request, filtered)
    least = search.settings.policy.sessions.episode_cover
    near = {one.key for one in best if one.fit > least} if close is None else close
    for key in [key for key in units if key.startswith(EPISODES) and key not in near]:
        filtered["episodes too far away"] += 1
        del units[key]
    return units, unread


def _keys_ranked_unread(index: Index, keys: Sequence[str]) -> set[str]:
    """Return the keys that are ranked without their records.

    These are turns that no user removed, and notes that are not episodes.
    """
    facts = index.lexical.of_kind("fact", keys)
    return {
        key for key in keys if key not in facts and not key.startswith(EPISODES)
    } - index.tombstones.keys


def _add_related(
    search: RecallSearch, where: SearchFilter, pool: _Pool
) -> dict[str, float]:
    """Add the units reached from the best facts; return the activations (`C34`)."""
    if search.request.as_of or search.limit.out_of_time_for("related memories"):
        return {}

    activations = _activations(search, where, pool.scored, pool.units)
    least = search.settings.policy.links.enough
    further = [
        key
        for key, activation in activations.items()
        if activation >= least and key not in pool.units
    ]
    if further:
        found = recallable(search.index, further, search.request, Counter())
        pool.units = pool.units | found
        pool.scored += [ranking.Scored(key, 0.0, {}) for key in further if key in found]
    search.limit.end("related memories")
    return activations


def _activations(
    search: RecallSearch,
    where: SearchFilter,
    scored: Sequence[ranking.Scored],
    units: Mapping[str, Unit],
) -> dict[str, float]:
    """Return the activation of units by the best facts, 0–1 by key (`A18`, `C34`)."""
    policy = search.settings.policy.links
    best = scored[0].score if scored else 0.0
    if best <= 0:
        return {}

    near = (
        one
        for one in scored
        if one.score >= policy.enough * best and isinstance(units.get(one.key), Fact)
    )
    seeds = {one.key: one.score / best for one in islice(near, policy.seeds)}
    if not seeds:
        return {}
    return search.index.related(seeds, search.sources.edges, where, search.request.now)


def _stages_of(
    index: Index,
    units: Mapping[str, Unit],
    sources: RecallSources,
    settings: Settings,
    now: datetime,
) -> dict[str, str]:
    """Return the lifecycle stage of each fact among the candidates at `now` (`C24`).

    Outcomes of similar facts (`C30`) are not used, because they are in the action log.
    """
    facts = [unit for unit in units.values() if isinstance(unit, Fact)]
    voices = index.lexical.voices(formatting.evidence(facts))
    policy = settings.policy

    stages: dict[str, str] = {}
    for fact in facts:
        classes = [one.source_class for one in formatting.voices_of(fact, voices)]
        said_by = trust.best_source_class(fact, classes)
        level = trust.trust(said_by, policy.trust)
        usage = sources.usage(fact.id)
        vitals = decay.StageVitals(fact, usage, now, level, policy)
        bars = trust.restriction("core", said_by)
        stages[fact.id] = lifecycle.stage(fact, usage, vitals, policy, bars)[0]
    return stages


def _signals_of_units(
    search: RecallSearch,
    units: Mapping[str, Unit],
    activations: Mapping[str, float],
    stages: Mapping[str, str],
) -> dict[str, ranking.UnitSignals]:
    """Return the ranking signals of each unit that was read."""
    settings = search.settings
    named = _names_test(search.question, search.sources.names)
    names_owner = any(map(named, search.sources.names.owner_names()))

    def is_named(fact: Fact) -> bool:
        return any(map(named, fact.about)) or (names_owner and not fact.about)

    return {
        key: _signals_of(
            unit,
            settings,
            is_named,
            activations.get(key, 0.0),
            stages.get(key, ""),
        )
        for key, unit in units.items()
    }


def _signals_of(
    unit: Unit,
    settings: Settings,
    named: Callable[[Fact], bool],
    ties: float,
    stage: str,
) -> ranking.UnitSignals:
    """Return the signals of a unit; `named` is true if the question names its subject."""
    if isinstance(unit, Fact):
        return ranking.UnitSignals(
            unit.id,
            unit.source,
            after_mentions(unit.importance, len(unit.also), settings.policy.dedup),
            unit.created,
            named(unit),
            ties,
            _nudge_of(unit, stage, settings.policy),
            _share_of(unit, settings.policy.recall),
        )
    if isinstance(unit, FiledTurn):
        return ranking.UnitSignals(
            unit.key, when=unit.turn.occurred_at, nudge=_nudge_of_turns(settings)
        )
    return ranking.UnitSignals(unit.path, when=unit.changed)


def _signals_of_unread(
    keys: Iterable[str], settings: Settings
) -> dict[str, ranking.UnitSignals]:
    """Return the signals of turns and notes whose records were not read.

    All turns share one value without a key, and so do all notes.
    """
    of_turn = ranking.UnitSignals("", nudge=_nudge_of_turns(settings))
    of_note = ranking.UnitSignals("")
    return {key: of_turn if "#^" in key else of_note for key in keys}


def _nudge_of(fact: Fact, stage: str, policy: Policy) -> float:
    """Return the nudge of a fact; age never lowers one that was kept (`C28`)."""
    nudge = lifecycle.nudge(stage, fact.verification, policy)
    return max(nudge, 0.0) if _is_kept(fact) else nudge


def _nudge_of_turns(settings: Settings) -> float:
    """Return the nudge of a candidate: a turn does not outrank a new fact (`C28`)."""
    return lifecycle.nudge("candidate", "", settings.policy)


def _is_kept(fact: Fact) -> bool:
    """Return whether the user asked to keep a fact, or corrected another fact by it."""
    return (
        REMEMBER_TAG in fact.tags
        or fact.origin in {"user", "edited"}
        or category_of(fact.category).corrects
    )


def _share_of(fact: Fact, policy: RecallPolicy) -> float:
    """Return the share of its score that a fact keeps: less for an insight (`A16`).

    An insight that a user asked to keep, pinned or confirmed counts fully.
    """
    if fact.category != PLAIN or INSIGHT not in fact.tags:
        return 1.0
    theirs = fact.pinned or fact.verification == "user_confirmed" or _is_kept(fact)
    return 1.0 if theirs else policy.insight


def _names_test(
    question: ranking.Question, names: EntityNames
) -> Callable[[str], bool]:
    """Return a test for whether the question names an entity by any name (`A20`).

    A name that is also a stop word (Will) counts if the question uses it as a name.
    """
    asked = words(question.text)

    def named(name: str) -> bool:
        entity = names.one(name)
        known_as = (name, entity.name, *entity.aliases) if entity else (name,)
        return names_subject(asked, known_as) or any(
            question.names.issuperset(words(one)) for one in known_as
        )

    return cache(named)


def _with_usage(
    signals: Mapping[str, ranking.UnitSignals],
    units: Mapping[str, Unit],
    sources: RecallSources,
) -> dict[str, ranking.UnitSignals]:
    """Add usage and the frequency of subjects among the candidates (`A15`, `E7`)."""
    about = {
        name: set(unit.about) for name, unit in units.items() if isinstance(unit, Fact)
    }
    counts = Counter(subject for subjects in about.values() for subject in subjects)
    most = max(counts.values(), default=1)

    result = dict(signals)
    for name, subjects in about.items():
        usage = sources.usage(name)
        shares = [counts[subject] / most for subject in subjects]
        result[name] = result[name]._replace(
            used=usage.last_access,
            stability=usage.stability,
            frequency=sum(shares) / len(shares) if shares else 0.0,
        )
    return result


def _without_stale(
    search: RecallSearch,
    units: Mapping[str, Unit],
    stages: Mapping[str, str],
    filtered: Counter[str],
) -> dict[str, Unit]:
    """Return the units without unprotected stale and archived memories (`C28`)."""
    remaining = dict(units)
    for key, unit in units.items():
        stale = stages.get(key) if stages.get(key) in {"stale", "archived"} else ""
        if not stale or not isinstance(unit, Fact):
            continue
        if not lifecycle.protection(unit, search.sources.kept(unit)):
            filtered[stale] += 1
            del remaining[key]
    return remaining
