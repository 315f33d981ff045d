"""Signals added to the relevance of a unit: stage, subject, use (rows A16, A20, C24)."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from engram.core import decay, lifecycle, ranking, trust
from engram.core.categories import INSIGHT, PLAIN, category_of
from engram.core.entities import EntityNames, names_subject
from engram.core.importance import after_mentions
from engram.core.language.keep_requests import REMEMBER_TAG
from engram.core.language.words import words
from engram.core.records import (
    Fact,
    FiledTurn,
)
from engram.recall import formatting

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Iterable,
        Mapping,
    )
    from datetime import datetime

    from engram.config import Settings
    from engram.core.policy import Policy, RecallPolicy
    from engram.index.database import Unit
    from engram.index.search import Index
    from engram.recall.request import RecallSearch, RecallSources


def stages_of(
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
    voices = index.voices(sorted(formatting.evidence(facts)))
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


def signals_of(
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
            after_mentions(unit.importance, len(unit.also), settings.policy.ladder),
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


def signals_of_unread(
    keys: Iterable[str], settings: Settings
) -> dict[str, ranking.UnitSignals]:
    """Return the signals of turns and notes whose records were not read."""
    of_turns = _nudge_of_turns(settings)
    return {
        key: ranking.UnitSignals(key, nudge=of_turns if "#^" in key else 0.0)
        for key in keys
    }


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


def with_usage(
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


def without_stale(
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
