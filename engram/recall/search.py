"""Answer a question from memory: candidates, ranking, verified hits, token budget.

Rows X1, X4, X5, X19, X24. `recall` is the entry::

    query ─ parse_question ─ _with_relatives ─▶ Question
        index.lexical.search      candidates by words
        _with_vectors             and by vectors, mixed
        _read_units               records; what is hidden or too far is left out
        _with_related             and what the best facts lead to
        _signals, ranking.rank    ranked slots
        _with_states              what is over goes below what replaced it
        _with_agenda              open promises first, where the question asks for them
        _with_external_limits     fewer hits from outside sources
        _verified                 hits, read again from their files
        selection.select ─▶ RecallResult
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from engram.core import decay, lifecycle, personas, ranking, todos, trust
from engram.core.categories import INSIGHT, PLAIN, category_of
from engram.core.entities import OWNER, EntityNames, entity_ref, names_subject
from engram.core.excerpts import count_tokens
from engram.core.importance import after_mentions
from engram.core.language.permanent_attributes import REMEMBER_TAG
from engram.core.language.promises import agenda
from engram.core.language.words import words
from engram.core.records import (
    ALL_PERSONAS,
    UNKNOWN_PERSONA,
    Fact,
    FiledTurn,
    RecallResult,
    Usage,
)
from engram.core.sessions import EPISODES, word_coverage
from engram.core.text import content_hash
from engram.errors import BadRequestError, ConfigError, ModelError
from engram.index.database import OwnNote
from engram.index.filters import SearchFilter
from engram.index.states import StateSearch
from engram.recall import as_of as recall_as_of
from engram.recall import formatting
from engram.recall.selection import max_hits, select
from engram.recall.states import StateQuery

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from datetime import datetime, tzinfo

    from engram.config import Settings
    from engram.core.graph import WeightedEdge
    from engram.core.policy import Policy, RecallPolicy, SessionPolicy, TrustPolicy
    from engram.core.records import Edge, Hit
    from engram.index.database import Unit
    from engram.index.search import CurrentFile, Index
    from engram.recall.states import PastState

KINDS = ("fact", "turn", "note")
REMEMBERED_STATUSES = ("active", "archived", "superseded", "invalidated")


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A question and its limits.

    `running` are the stems of the session files in which the question is asked: what
    was said there is known already and not returned.
    `quotas` says how many facts and how many episodes, that is turns and notes on
    conversations, come first; others follow where places are left (`A29`).
    """

    query: str
    k: int
    budget: int
    running: Collection[str] = ()
    persona: str | None = None
    kinds: Sequence[str] = KINDS
    preset: str = "balanced"
    now: datetime = field(kw_only=True)
    as_of: datetime | None = field(default=None, kw_only=True)
    archive: bool = field(default=False, kw_only=True)
    without_stale: bool = field(default=False, kw_only=True)
    quotas: Mapping[str, int] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class RecallSources:
    """Sources of a search besides notes and turns.

    `names` holds the entities and their aliases, `edges` returns the edges of some keys
    (`C34`), `usage` returns how a memory was used, `seconds_left` returns how many
    seconds are left for the answer (`X24`), and `kept` why a memory belongs to a user.
    """

    names: EntityNames = field(default_factory=EntityNames)
    edges: Callable[[Collection[str]], Iterable[Edge]] = field(default=lambda _ends: ())
    usage: Callable[[str], Usage] = field(default=lambda _name: Usage())
    seconds_left: Callable[[], float] = field(default=lambda: math.inf)
    kept: Callable[[Fact], str | None] = field(default=lambda _fact: None)


def request_for(
    settings: Settings, now: datetime, query: str, **limits: Any
) -> RecallRequest:
    """Return the request with the defaults of the policy filled in.

    `limits` are further fields of `RecallRequest`; None means the default. Raises
    BadRequestError for a request that cannot be answered.
    """
    policy = settings.policy.recall
    if not query.strip():
        raise BadRequestError("the query is empty", fix="Say what to look for.")
    unknown = set(limits.get("kinds") or ()) - set(KINDS)
    if unknown:
        raise BadRequestError(
            f"there is no kind {min(unknown)!r}", fix=f"Use: {', '.join(KINDS)}."
        )
    if (preset := limits.get("preset")) and preset not in ranking.PRESETS:
        raise BadRequestError(
            f"there is no preset {preset!r}", fix=f"Use: {', '.join(ranking.PRESETS)}."
        )
    defaults: dict[str, Any] = {"k": policy.k, "budget": policy.budget, "kinds": KINDS}
    chosen = {name: value for name, value in limits.items() if value is not None}
    return RecallRequest(query, now=now, **(defaults | chosen))


def time_limit(settings: Settings, milliseconds: int | None) -> float:
    """Return how many seconds an answer may take (`X24`)."""
    return (milliseconds or settings.policy.recall.milliseconds) / 1000


def recall(
    index: Index,
    settings: Settings,
    request: RecallRequest,
    *,
    mark: str,
    complete: bool,
    embed: Callable[[str, float], bytes] | None = None,
    sources: RecallSources | None = None,
) -> RecallResult:
    """Answer a question from facts, turns and notes (`X1`).

    Turns that wait in the journal are searched too (`X18`).

    `mark` is an unguessable word that fences the text handed to a model. `complete`
    says whether the vault has been read since the start. `embed` makes the vector of a
    question; without it, or where it raises ModelError or ConfigError, words alone
    decide (`A14`). Archived facts answer where the rest does not fill the places, or on
    request (`C23`). When the time is up, the remaining steps are skipped, and the note
    names them.
    """
    policy, sources = settings.policy.recall, sources or RecallSources()
    limit = _TimeLimit(sources.seconds_left)
    question = ranking.parse_question(
        request.query, request.now.astimezone(settings.zone), sources.names.one
    )
    question = _with_relatives(question, sources)
    embed_once = (
        cache(lambda text: embed(text, sources.seconds_left())) if embed else None
    )
    search = _Search(index, settings, request, question, sources, embed_once, limit)

    limit.end("question")
    candidates = _with_archive(search, _candidates(search))
    weak = policy.weak * (policy.several_share if question.wants_several else 1.0)
    least = weak * candidates.slots[0].score if candidates.slots else 0.0
    candidates, past = _with_states(search, candidates, least)
    candidates = _with_agenda(search, candidates)
    limit.end("states")
    candidates = _without_context_alone(_without_weak(candidates, least, weak))
    candidates = _with_caps(search, _with_quotas(candidates, policy))
    candidates = _with_external_limits(index, candidates, settings)
    limit.end("limits")
    filtered = candidates.filtered
    others = filtered.total()
    hits = _verified(search, candidates, past)
    selection = select(hits, question, policy, request.k, request.budget)
    chosen, repeated = selection.hits, selection.repeated
    limit.end("files and tokens")

    gone = filtered.total() - others
    wanted = min(len(candidates.slots) - repeated, request.k)
    if (left := wanted - len(chosen) - gone) > 0:
        filtered["over the token budget"] += left
    if same := repeated + sum(
        candidates.merged[key] for key in {hit.source or hit.key for hit in chosen}
    ):
        filtered["of one turn with a hit"] += same
    why = "" if chosen else _why_empty(index, filtered, complete=complete)
    text = formatting.fenced(chosen, mark)
    return RecallResult(
        query=request.query,
        hits=chosen,
        text=text,
        tokens=count_tokens(text, policy),
        filtered=dict(filtered),
        note="; ".join(filter(None, [why, candidates.unused_reason, limit.note()])),
        complete=complete,
        steps=limit.steps,
    )


def _with_archive(search: _Search, candidates: _Candidates) -> _Candidates:
    """Search archived memories too where the others are too few (`C23`)."""
    request, few = search.request, search.settings.policy.recall.few
    if len(candidates.slots) >= min(request.k, few) or request.archive:
        return candidates
    if not candidates.filtered["status"] or search.limit.out_of_time_for("the archive"):
        return candidates
    return _candidates(replace(search, request=replace(request, archive=True)))


def _without_context_alone(candidates: _Candidates) -> _Candidates:
    """Leave all out where nothing itself matches the question.

    What stands in a conversation beside a match that may not be shown is no answer.
    """
    slots = candidates.slots
    if any(slot.parts.get(name) for slot in slots for name in ranking.OWN_PARTS):
        return candidates
    if slots:
        candidates.filtered["match no word themselves"] += len(slots)
    return replace(candidates, slots=())


def _without_weak(candidates: _Candidates, least: float, share: float) -> _Candidates:
    """Leave out what matches the question much less than the best does.

    That is less than `least`; after a memory that tells the state asked for, also less
    than `share` of its score. What the best memories lead to stays, though it matches
    no word (`A18`).
    """
    if candidates.slots and candidates.slots[0].parts.get("answers"):
        least = max(least, share * candidates.slots[0].score)
    strong = [
        slot
        for slot in candidates.slots
        if slot.score >= least or slot.key in candidates.related
    ]
    if weak := len(candidates.slots) - len(strong):
        candidates.filtered["much weaker than the best"] += weak
    return replace(candidates, slots=strong)


def _with_relatives(
    question: ranking.Question, sources: RecallSources
) -> ranking.Question:
    """Let a word for a relation find who that is: `my boss` finds Karin (`B1`)."""
    owner = entity_ref("person", OWNER)
    people: dict[str, tuple[str, ...]] = {}
    for edge in sources.edges({owner}):
        is_current = edge.type == "relation" and edge.valid_until is None
        if not is_current or edge.source != owner:
            continue
        name = words(edge.target.partition(":")[2].replace("_", " "))
        for word in set(edge.label.split("_")).intersection(question.words):
            people[word] = (*people.get(word, ()), *name)
    if not people:
        return question
    akin = {
        word: (*question.akin.get(word, ()), *some) for word, some in people.items()
    }
    names = frozenset(question.names).union(*people.values())
    return replace(question, akin={**question.akin, **akin}, names=names)


class _TimeLimit:
    """The time limit of an answer, and the steps that were skipped for it (`X24`).

    `steps` has the milliseconds of each step that was done (`X4`).
    """

    def __init__(self, seconds_left: Callable[[], float]) -> None:
        self._seconds_left = seconds_left
        self._skipped: list[str] = []
        self._last = time.perf_counter()
        self.steps: dict[str, float] = {}

    def end(self, step: str) -> None:
        """Record that a step has ended."""
        now = time.perf_counter()
        self.steps[step] = self.steps.get(step, 0.0) + 1000 * (now - self._last)
        self._last = now

    def out_of_time_for(self, step: str) -> bool:
        """Return whether time is up; if so, record that `step` is left out."""
        late = self._seconds_left() <= 0
        if late and step not in self._skipped:
            self._skipped.append(step)
        return late

    def note(self) -> str:
        """Return a sentence that names the steps left out, or ''."""
        if not self._skipped:
            return ""
        return f"time was up, left out: {', '.join(self._skipped)}"


@dataclass(frozen=True, slots=True)
class _Search:
    """The parts that the steps of one search read."""

    index: Index
    settings: Settings
    request: RecallRequest
    question: ranking.Question
    sources: RecallSources
    embed: Callable[[str], bytes] | None
    limit: _TimeLimit


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The result of one search: units by key, and slots, best first.

    `filtered` counts the units left out, by reason. `unused_reason` says why vectors
    were not used, or is ''. A turn or a note may be missing among the units: its record
    is read only if it is shown. `related` are the keys that ties to the best facts lead
    to. `merged` counts by turn the units without a slot: the
    turn itself, where one of its facts stands for it, or a fact beside another.
    """

    request: RecallRequest
    units: dict[str, Unit]
    slots: Sequence[ranking.RankedSlot]
    filtered: Counter[str]
    unused_reason: str
    merged: Counter[str]
    related: Collection[str] = ()


def _candidates(search: _Search) -> _Candidates:
    """Return the candidates, best first: by words, by vectors and by relations."""
    request, settings = search.request, search.settings
    preset = ranking.PRESETS[request.preset]
    where = _filter(request)

    words_only = search.index.lexical.search(
        search.question, where, max(settings.policy.recall.pool, request.k)
    )
    search.limit.end("words")
    filtered = Counter(words_only.filtered)
    best, unused_reason, close = _with_vectors(search, where, words_only.hits)
    search.limit.end("vectors")
    best = best[: preset.pool or None]

    units, unread = _read_units(search, [one.key for one in best], close, filtered)
    scored = [one for one in best if one.key in units or one.key in unread]
    if request.as_of and "fact" in request.kinds:
        scored, units, replaced = recall_as_of.at(
            search.index, search.question, where, scored, units, request.as_of
        )
        filtered.update(["replaced by then"] * replaced)

    search.limit.end("records")
    scored, units, activations = _with_related(search, where, scored, units)
    search.limit.end("related memories")
    stages = _stages(search.index, units, search.sources, settings, request.now)
    if request.without_stale:
        units = _without_stale(search, units, stages, filtered)
        scored = [one for one in scored if one.key in units or one.key in unread]
    signals = _signals(search, units, activations, stages)
    signals |= {key: _signals_of_unread(key, settings) for key in unread}
    if preset.from_use or preset.frequency:
        signals = _with_usage(signals, units, search.sources)

    slots = ranking.rank(scored, signals, request.now, preset)
    search.limit.end("ranking")
    shown = {slot.key for slot in slots}
    hidden = (one.key for one in scored if one.key not in shown)
    merged = Counter(signals[key].source or key for key in hidden)
    least = settings.policy.links.enough
    related = {key for key, activation in activations.items() if activation >= least}
    return _Candidates(request, units, slots, filtered, unused_reason, merged, related)


def edges_of(
    index: Index, request: RecallRequest, sources: RecallSources, hits: Sequence[Hit]
) -> dict[str, list[WeightedEdge]]:
    """Return the edges that lead to each hit, the surest first (rows C34, X4).

    Only for hits whose score has a part for them.
    """
    led = [hit.key for hit in hits if hit.parts.get("ties")]
    edges = (
        index.edges(led, sources.edges, _filter(request), request.now) if led else []
    )
    edges.sort(key=lambda edge: (-edge[3], edge))
    return {key: [edge for edge in edges if key in edge[:2]] for key in led}


def private_to_others(index: Index, settings: Settings, request: RecallRequest) -> int:
    """Return how many units that only other personas see match as well as the hits.

    For the owner alone (`X4`): a persona must not learn that there is something.
    """
    if request.persona == ALL_PERSONAS:
        return 0
    question = ranking.parse_question(
        request.query, request.now.astimezone(settings.zone)
    )
    everything = replace(_filter(request), persona=None)
    found = index.lexical.search(question, everything, request.k).hits
    keys = [one.key for one in found]
    return len(set(keys) - index.lexical.allowed(keys, _filter(request)))


def _with_states(
    search: _Search, candidates: _Candidates, least: float
) -> tuple[_Candidates, Mapping[str, PastState]]:
    """Arrange the candidates by the states that they tell; return what is past (law 7).

    It reads the candidates that may be shown and score `least` or more, and a few more.
    For an earlier day it arranges nothing: a state that ended later was current then.
    """
    request = candidates.request
    if request.as_of or search.limit.out_of_time_for("states"):
        return candidates, {}

    buried = search.index.tombstones.keys
    owner_names = search.sources.names.owner_names
    states = StateSearch(search.index, search.settings, owner_names)
    query = StateQuery(
        states,
        request.query,
        _filter(request),
        states.name_words(),
        lambda unit: not _is_hidden(unit, request, buried, Counter()),
        search.settings.policy.recall.answers,
        request.now,
    )
    places = max_hits(request.k, request.budget, search.settings.policy.recall)
    strong = sum(slot.score >= least for slot in candidates.slots)
    arranged = query.arrange(
        candidates.slots, candidates.units, min(2 * request.k, places, strong)
    )
    units = candidates.units | dict(arranged.units)
    return replace(candidates, slots=arranged.slots, units=units), arranged.past


def _with_agenda(search: _Search, candidates: _Candidates) -> _Candidates:
    """Put the open promises first where the question asks what is to be done (`E16`)."""
    request, settings = search.request, search.settings
    span = agenda(request.query)
    if span is None or request.as_of or "fact" not in request.kinds:
        return candidates

    buried = search.index.tombstones.keys
    promises = {
        fact.id: fact
        for fact in search.index.catalog.facts(*todos.PROMISE_MARKERS)
        if not _is_hidden(fact, request, buried, Counter())
        and search.index.visible(fact) is not None
    }
    past_days = settings.policy.todos.past_days
    chosen = todos.agenda_of(
        promises.values(), span, request.now, settings.zone, past_days
    )[: request.k]
    best = max((slot.score for slot in candidates.slots), default=0.0)
    first = [
        ranking.RankedSlot(fact.id, score, {"agenda": score})
        for place, fact in enumerate(chosen)
        if (score := best + (len(chosen) - place) * _AGENDA_STEP)
    ]
    listed = {fact.id for fact in chosen}
    rest = [slot for slot in candidates.slots if slot.key not in listed]
    units = candidates.units | {fact.id: fact for fact in chosen}
    return replace(candidates, slots=[*first, *rest], units=units)


_AGENDA_STEP = 0.001
"""How far a promise ranks above the next one that is due."""


def _with_due(hit: Hit, unit: Unit | None, search: _Search) -> Hit:
    """The hit with the words for when a promise is due, or was settled."""
    if not isinstance(unit, Fact):
        return hit
    words_ = todos.due_words(unit, search.request.now, search.settings.zone)
    return replace(hit, due=words_) if words_ else hit


def _with_end(hit: Hit, past: PastState | None, zone: tzinfo) -> Hit:
    """The hit with the day on which its state ended (law 7)."""
    if past is None or not past.until:
        return hit
    day = f"{past.until.astimezone(zone):%Y-%m-%d}"
    return replace(hit, ended=day, certain=past.certain)


def _filter(request: RecallRequest) -> SearchFilter:
    """Return the kinds, statuses, persona and day that the index filters by."""
    statuses: tuple[str, ...] = ("active",)
    if request.as_of:
        statuses = REMEMBERED_STATUSES
    elif request.archive:
        statuses = ("active", "archived")

    as_of = request.as_of.timestamp() if request.as_of else None
    persona = None if request.persona == ALL_PERSONAS else request.persona or ""
    return SearchFilter(request.kinds, statuses, persona, as_of)


def _read_units(
    search: _Search,
    keys: Sequence[str],
    close: Collection[str] | None,
    filtered: Counter[str],
) -> tuple[dict[str, Unit], set[str]]:
    """Return the records of the keys that may be recalled, and the keys left unread.

    A record is read where ranking needs it: of every unit if the time of a turn or a
    note counts. `close` is as `_with_vectors` returns it.
    """
    request = search.request
    needs_times = ranking.PRESETS[request.preset].recency or request.as_of
    unread = set() if needs_times else _keys_ranked_unread(search.index, keys)

    read = [key for key in keys if key not in unread]
    units = _recallable(search.index, read, request, filtered)
    policy = search.settings.policy.talks
    near = {
        key: unit
        for key, unit in units.items()
        if not _is_too_far(unit, search.question, close, policy, filtered)
    }
    return near, unread


def _with_related(
    search: _Search,
    where: SearchFilter,
    scored: list[ranking.Scored],
    units: dict[str, Unit],
) -> tuple[list[ranking.Scored], dict[str, Unit], dict[str, float]]:
    """Add the units that the best facts lead to; return the activations too (`C34`)."""
    if search.request.as_of or search.limit.out_of_time_for("related memories"):
        return scored, units, {}

    activations = _activations(search, where, scored, units)
    least = search.settings.policy.links.enough
    further = [
        key
        for key, activation in activations.items()
        if activation >= least and key not in units
    ]
    units = units | _recallable(search.index, further, search.request, Counter())
    added = [ranking.Scored(key, 0.0, {}) for key in further if key in units]
    return scored + added, units, activations


def _without_stale(
    search: _Search,
    units: Mapping[str, Unit],
    stages: Mapping[str, str],
    filtered: Counter[str],
) -> dict[str, Unit]:
    """Return the units without stale and archived memories, unless protected (`C28`)."""
    left = dict(units)
    for key, unit in units.items():
        stale = stages.get(key) if stages.get(key) in {"stale", "archived"} else ""
        if not stale or not isinstance(unit, Fact):
            continue
        if not lifecycle.protection(unit, search.sources.kept(unit)):
            filtered[stale] += 1
            del left[key]
    return left


def _signals(
    search: _Search,
    units: Mapping[str, Unit],
    activations: Mapping[str, float],
    stages: Mapping[str, str],
) -> dict[str, ranking.UnitSignals]:
    """Return what ranking needs to know of each unit that was read."""
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


def _keys_ranked_unread(index: Index, keys: Sequence[str]) -> set[str]:
    """Return the keys that are ranked without their records.

    These are turns that no user removed and notes that are not episodes.
    """
    facts = index.lexical.of_kind("fact", keys)
    return {
        key for key in keys if key not in facts and not key.startswith(EPISODES)
    } - index.tombstones.keys


def _recallable(
    index: Index, keys: Sequence[str], request: RecallRequest, filtered: Counter[str]
) -> dict[str, Unit]:
    units = index.units(keys)
    return {
        key: unit
        for key, unit in units.items()
        if not _is_hidden(unit, request, index.tombstones.keys, filtered)
    }


def _activations(
    search: _Search,
    where: SearchFilter,
    scored: Sequence[ranking.Scored],
    units: Mapping[str, Unit],
) -> dict[str, float]:
    """Return how strongly the best facts lead to others, 0-1 by key (`A18`, `C34`)."""
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


def _with_vectors(
    search: _Search, where: SearchFilter, by_words: Sequence[ranking.Scored]
) -> tuple[Sequence[ranking.Scored], str, Collection[str] | None]:
    """Return the hits mixed with those near by vector (`A14`, `A17`).

    Also returns the reason if vectors were not used, or '', and the keys of the units
    near enough for an episode (`A29`), None where words alone decide.
    """
    if not search.embed or search.limit.out_of_time_for("vectors"):
        return by_words, "", None

    index, policy = search.index, search.settings.policy
    if unused_reason := index.lacks_vectors():
        return by_words, f"vectors not used: {unused_reason}", None

    naming = index.lexical.naming(search.question)
    try:
        vector = search.embed(ranking.without_names(search.question.text, naming))
    except (ModelError, ConfigError) as fault:
        return by_words, f"vectors not used: {fault.what}", None

    pool = max(policy.recall.pool, len(by_words))
    near = index.near(vector, where, pool, [one.key for one in by_words])
    if not near:
        unused_reason = "vectors not used: those of this model are not made yet"
        return by_words, unused_reason, None

    floor = policy.similarity.episode
    close = {one.key for one in near if (one.similarity or 0.0) > floor}
    mixed = ranking.fuse(by_words, near, policy.vectors.weight, policy.similarity.floor)
    return mixed, "", close


def _is_too_far(
    unit: Unit,
    question: ranking.Question,
    close: Collection[str] | None,
    policy: SessionPolicy,
    filtered: Counter[str],
) -> bool:
    """Return whether an episode is too far from the question (`A29`).

    Decided by vectors where `close` is given, else by words.
    """
    if isinstance(unit, Fact | FiledTurn) or not unit.path.startswith(EPISODES):
        return False
    near = (
        word_coverage(question.words, unit.text) > policy.episode_cover
        if close is None
        else unit.path in close
    )
    if not near:
        filtered["episodes too far away"] += 1
    return not near


def _is_hidden(
    unit: Unit, request: RecallRequest, buried: Collection[str], filtered: Counter[str]
) -> bool:
    """Return whether a unit may not be recalled, and count the reason.

    A turn is removed with the fact that a user removed (`X8`).
    """
    why = None
    if isinstance(unit, Fact):
        if request.as_of:
            why = lifecycle.hidden_reason_as_of(unit, request.as_of)
        else:
            why = lifecycle.hidden_reason(unit, request.now, archive=request.archive)
    elif _is_forgotten(unit, buried):
        why = "forgotten"
    if why is None and _is_of(unit, request.running):
        why = "said in this conversation"
    private_to = unit.turn.private_to if isinstance(unit, FiledTurn) else unit.persona
    if why is None and not personas.sees(request.persona, private_to):
        why = "of another persona"
    if why is not None:
        filtered[why] += 1
    return why is not None


def _is_of(unit: Unit, running: Collection[str]) -> bool:
    """Return whether all that a unit rests on was said in the `running` session."""
    if not running or isinstance(unit, OwnNote):
        return False
    keys = [unit.key] if isinstance(unit, FiledTurn) else [unit.source, *unit.also]
    return all(key.partition("#")[0] in running for key in keys)


def _is_forgotten(unit: FiledTurn | OwnNote, buried: Collection[str]) -> bool:
    """Return whether a user removed the turn, or the statement of a broken note.

    The front matter of such a note cannot be read, so its status is not known.
    """
    if isinstance(unit, FiledTurn):
        return unit.key in buried
    return unit.persona == UNKNOWN_PERSONA and content_hash(unit.text) in buried


def _stages(
    index: Index,
    units: Mapping[str, Unit],
    sources: RecallSources,
    settings: Settings,
    now: datetime,
) -> dict[str, str]:
    """Return the lifecycle stage of each fact among the candidates at `now` (`C24`).

    Outcomes of similar facts (`C30`) are left out: they are in the action log.
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
        vitals = decay.vitals(fact, usage, now, level, policy)
        bars = trust.restriction("core", said_by)
        stages[fact.id] = lifecycle.stage(fact, usage, vitals, policy, bars)[0]
    return stages


def _signals_of(
    unit: Unit,
    settings: Settings,
    named: Callable[[Fact], bool],
    ties: float,
    stage: str,
) -> ranking.UnitSignals:
    """Return the signals of a unit; `named` says whether the question names whom it is
    about.
    """
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


def _nudge_of(fact: Fact, stage: str, policy: Policy) -> float:
    """Return the nudge of a fact (`C28`).

    What the user asked to keep, or corrected, ranks above the old words of a turn, and
    never lower because it is old.
    """
    nudge = lifecycle.nudge(stage, fact.verification, policy)
    return max(nudge, 0.0) + policy.recall.kept if _is_kept(fact) else nudge


def _is_kept(fact: Fact) -> bool:
    """Whether the user asked to keep a fact, or corrected something by it."""
    return (
        REMEMBER_TAG in fact.tags
        or fact.origin in {"user", "edited"}
        or category_of(fact.category).corrects
    )


def _share_of(fact: Fact, policy: RecallPolicy) -> float:
    """Return the share of its score that a fact keeps: half for an insight (`A16`).

    One that a person asked to keep, pinned or confirmed is more than that.
    """
    if fact.category != PLAIN or INSIGHT not in fact.tags:
        return 1.0
    theirs = fact.pinned or fact.verification == "user_confirmed" or _is_kept(fact)
    return 1.0 if theirs else policy.insight


def _signals_of_unread(key: str, settings: Settings) -> ranking.UnitSignals:
    """Return the signals of a turn or a note whose record was not read."""
    return ranking.UnitSignals(
        key, nudge=_nudge_of_turns(settings) if "#^" in key else 0.0
    )


def _nudge_of_turns(settings: Settings) -> float:
    """Return the nudge of a candidate: a turn does not outrank a new fact (`C28`)."""
    return lifecycle.nudge("candidate", "", settings.policy)


def _names_test(
    question: ranking.Question, names: EntityNames
) -> Callable[[str], bool]:
    """Return a test whether the question names an entity, by any of its names (`A20`).

    A name that is also a stop word (Will) counts where the question uses it as a name.
    """
    asked = words(question.text)

    def named(name: str) -> bool:
        entity = names.one(name)
        known_as = (name, entity.name, *entity.aliases) if entity else (name,)
        return names_subject(asked, known_as) or any(
            question.names.issuperset(words(one)) for one in known_as
        )

    return cache(named)


def _with_quotas(candidates: _Candidates, policy: RecallPolicy) -> _Candidates:
    """The candidates with each kind limited to its quota, where the request has any.

    What is worth less than the share `quota_rival` takes no place from another kind.
    """
    request = candidates.request
    if not request.quotas:
        return candidates
    kinds = {
        slot.key: _quota_kind(slot.key, candidates.units.get(slot.key))
        for slot in candidates.slots
    }
    slots = ranking.limit_classes(
        candidates.slots,
        kinds,
        request.quotas,
        sum(request.quotas.values()),
        dict.fromkeys(request.quotas, policy.quota_rival),
    )
    return replace(candidates, slots=slots)


def _with_caps(search: _Search, candidates: _Candidates) -> _Candidates:
    """The candidates, facts about each type of entity limited by the preset (`E7`)."""
    caps = ranking.PRESETS[search.request.preset].caps
    if not caps:
        return candidates
    counts: Counter[str] = Counter()
    slots = []
    for slot in candidates.slots:
        unit = candidates.units.get(slot.key)
        if isinstance(unit, Fact):
            its_type = _type_of(unit, search.sources.names)
            counts[its_type] += 1
            if counts[its_type] > caps[its_type]:
                candidates.filtered[f"over the cap of {its_type} facts"] += 1
                continue
        slots.append(slot)
    return replace(candidates, slots=slots)


def _type_of(fact: Fact, names: EntityNames) -> str:
    """Return `profile`, `people` or `project` for a fact, by whom it is first about."""
    first = next(iter(fact.about), "")
    if not first or names.is_owner(first):
        return "profile"
    entity = names.one(first)
    return "people" if entity and entity.type == "person" else "project"


def _quota_kind(key: str, unit: Unit | None) -> str:
    """Return `fact`, `episode`, or '' for a note of the user (`A29`)."""
    if isinstance(unit, Fact):
        return "fact"
    return "episode" if "#^" in key or key.startswith(EPISODES) else ""


def _with_external_limits(
    index: Index, candidates: _Candidates, settings: Settings
) -> _Candidates:
    """Limit each outside source to its share of the places (`X27`)."""
    policy, slots = settings.policy, candidates.slots
    classes = _external_classes(index, slots, candidates.units, policy.trust)
    if not classes:
        return candidates
    places = max_hits(candidates.request.k, candidates.request.budget, policy.recall)
    limited = ranking.limit_sources(slots, classes, places, policy.recall)
    return replace(candidates, slots=limited)


def _external_classes(
    index: Index,
    slots: Sequence[ranking.RankedSlot],
    units: Mapping[str, Unit],
    policy: TrustPolicy,
) -> dict[str, str]:
    """Return the source class of each slot from outside, by key (`X27`).

    Facts above the caps of outside sources are skipped: no such source made them.
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
        classes[fact.id] = trust.best_source_class(
            fact, (one.source_class for one in formatting.voices_of(fact, voices))
        )
    return {
        key: said_by for key, said_by in classes.items() if said_by in trust.EXTERNAL
    }


def _verified(
    search: _Search, candidates: _Candidates, past: Mapping[str, PastState]
) -> Iterator[Hit]:
    """Yield the slots as hits that agree with their files now, best first (`X19`).

    Yields at least one if there is one, and stops once time is up.
    """
    index, policy = search.index, search.settings.policy
    by_key = {slot.key: slot for slot in candidates.slots}
    seen: dict[str, CurrentFile] = {}
    label_of = cache(
        lambda name: _establishment_label(
            search.sources.usage(name).stability, policy.recall
        )
    )
    readable = _current(
        index,
        candidates.units,
        list(by_key),
        candidates.request,
        candidates.filtered,
        seen,
    )
    while page := list(islice(readable, min(_PAGE, candidates.request.k))):
        sources = sorted({unit.source for _, unit, _ in page if isinstance(unit, Fact)})
        turns = {
            key: unit
            for key, unit, _ in _current(
                index, {}, sources, candidates.request, Counter(), seen
            )
        }
        provenance = formatting.provenance(
            index, (unit for _, unit, _ in page), policy.trust
        )
        faults = index.faults(((unit, path) for _, unit, path in page), seen)
        for (key, unit, path), fault in zip(page, faults, strict=True):
            hit = formatting.as_hit(
                by_key[key],
                unit,
                path,
                turns,
                label_of(key),
                provenance[key],
                search.settings.zone,
                fault,
            )
            yield _with_due(
                _with_end(hit, past.get(key), search.settings.zone), unit, search
            )
            if search.limit.out_of_time_for("further hits"):
                return


_PAGE = 32
"""Slots whose records and files are read together."""


def _establishment_label(stability: float, policy: RecallPolicy) -> str:
    """Return the label of a memory of this stability, or '' (`A29`)."""
    if stability >= policy.well_established:
        return "well-established"
    return "established" if stability >= policy.established else ""


def _current(
    index: Index,
    units: Mapping[str, Unit],
    keys: Sequence[str],
    request: RecallRequest,
    filtered: Counter[str],
    seen: dict[str, CurrentFile],
) -> Iterator[tuple[str, Unit, str]]:
    """Yield the keys that may be recalled, each with its unit as the file has it now.

    The third part is the path of the file. `units` are read already, `seen` is as
    `Index.current` takes it.
    """
    size = min(_PAGE, request.k)
    for start in range(0, len(keys), size):
        page = keys[start : start + size]
        places = index.catalog.places(page)
        read = index.units([key for key in page if key not in units])
        for key in page:
            record = units.get(key) or read.get(key)
            place = places.get(key, ("", ""))
            unit = index.current(record, place, seen) if record else None
            if unit is None:
                filtered["gone from its file"] += 1
                continue
            if _is_hidden(unit, request, index.tombstones.keys, filtered):
                continue
            if visible := index.visible(unit):
                yield key, visible, place[0]
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
