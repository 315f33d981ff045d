"""Answer a question from memory: candidates, ranking, verified hits, token budget.

Rows X1, X4, X5, X19, X24. `recall` is the entry::

    query ─ parse_question ─ _with_relatives ─▶ Question
        candidates.find_candidates    ranked slots: by words, vectors and relations
        _with_states                  past states ranked below their successors
        _with_agenda                  open promises first, if the question asks for them
        limits                        weak candidates out; outside sources limited
        verification.verified_hits    hits, read again from their files
        selection.select ─▶ RecallResult
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from engram.core import ranking, todos
from engram.core.entities import OWNER, entity_ref
from engram.core.excerpts import count_tokens
from engram.core.language.promises import agenda, says_duty
from engram.core.language.words import words
from engram.core.records import (
    ALL_PERSONAS,
    Fact,
    FiledTurn,
    RecallResult,
)
from engram.index.states import StateSearch
from engram.recall import formatting
from engram.recall.candidates import RankedCandidates, find_candidates
from engram.recall.event_time import with_event_time
from engram.recall.limits import (
    with_caps,
    with_external_limits,
    with_quotas,
    without_context_alone,
    without_weak,
)
from engram.recall.request import (
    RecallRequest,
    RecallSearch,
    RecallSources,
    TimeLimit,
    search_filter,
)
from engram.recall.selection import max_hits, select
from engram.recall.states import PastState, StateQuery
from engram.recall.verification import verified_hits
from engram.recall.visibility import is_hidden

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Iterable,
        Mapping,
        Sequence,
    )
    from datetime import datetime

    from engram.config import Settings
    from engram.core.graph import WeightedEdge
    from engram.core.records import SearchHit
    from engram.index.database import Unit
    from engram.index.search import Index


def recall(
    index: Index,
    settings: Settings,
    request: RecallRequest,
    *,
    mark: str,
    complete: bool,
    embed: Callable[[str, float], Callable[[], bytes]] | None = None,
    sources: RecallSources | None = None,
) -> RecallResult:
    """Answer a question from facts, turns and notes (`X1`).

    Turns that wait in the journal are searched too (`X18`).

    `mark` is an unguessable word that fences the text for a model. `complete` is true
    if the vault has been read since the start. `embed` starts to embed a question and
    returns a function that waits for the vector; without it, or if it raises ModelError
    or ConfigError, words alone decide (`A14`). Archived facts are searched if other
    units are too few, or on request (`C23`). When the time is up, the remaining steps
    are skipped, and the note names them.
    """
    policy, sources = settings.policy.recall, sources or RecallSources()
    sources = replace(sources, usage=cache(sources.usage))
    limit = TimeLimit(sources.seconds_left)
    question = ranking.parse_question(
        request.query, request.now.astimezone(settings.zone), sources.names.one
    )
    question = _with_relatives(question, sources, request.now)
    question, time_told = with_event_time(
        index, request, search_filter(request), question, settings.zone
    )
    embed_once = (
        cache(lambda text: embed(text, sources.seconds_left())) if embed else None
    )
    search = RecallSearch(
        index, settings, request, question, sources, embed_once, limit
    )

    limit.end("question")
    candidates = _with_archive(search, find_candidates(search))
    weak = policy.weak * (policy.several_share if question.wants_several else 1.0)
    least = weak * candidates.slots[0].score if candidates.slots else 0.0
    candidates, past = _with_states(search, candidates, least)
    candidates = _with_agenda(search, candidates)
    limit.end("states")
    candidates = without_context_alone(without_weak(candidates, least, weak))
    candidates = with_caps(search, with_quotas(candidates, policy))
    candidates = with_external_limits(index, candidates, settings)
    limit.end("limits")
    filtered = candidates.filtered
    others = filtered.total()
    hits = verified_hits(search, candidates, past)
    selection = select(hits, question, policy, request.k, request.budget)
    chosen, repeated = selection.hits, selection.repeated
    limit.end("files and tokens")

    missing = filtered.total() - others
    wanted = min(len(candidates.slots) - repeated, request.k)
    if (left := wanted - len(chosen) - missing) > 0:
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
        time=time_told,
    )


def _with_archive(
    search: RecallSearch, candidates: RankedCandidates
) -> RankedCandidates:
    """Search archived memories too if there are too few others (`C23`)."""
    request, few = search.request, search.settings.policy.recall.few
    if len(candidates.slots) >= min(request.k, few) or request.archive:
        return candidates
    if not candidates.filtered["status"] or search.limit.out_of_time_for("the archive"):
        return candidates
    return find_candidates(replace(search, request=replace(request, archive=True)))


def _with_relatives(
    question: ranking.Question, sources: RecallSources, now: datetime
) -> ranking.Question:
    """Return the question with names for relations: `my boss` also finds Karin (`B1`)."""
    owner = entity_ref("person", OWNER)
    people: dict[str, tuple[str, ...]] = {}
    for edge in sources.edges({owner}):
        is_current = edge.type == "relation" and edge.holds(now)
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


def _with_states(
    search: RecallSearch, candidates: RankedCandidates, least: float
) -> tuple[RankedCandidates, Mapping[str, PastState]]:
    """Arrange the candidates by their states; return the past states (law 7).

    It reads the candidates that may be returned and score `least` or more, and a few
    more. For an earlier day nothing is arranged: a state that ended later was current
    then.
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
        search_filter(request),
        states.name_words(),
        lambda unit: not is_hidden(unit, request, buried, Counter()),
        search.settings.policy.recall.answers,
        request.now,
    )
    places = max_hits(request.k, request.budget, search.settings.policy.recall)
    strong = sum(slot.score >= least for slot in candidates.slots)
    arranged = query.arrange(
        candidates.slots, candidates.units, min(2 * request.k, places, strong)
    )
    units = candidates.units | dict(arranged.units)
    past = dict(arranged.past) | _settled_just_now(search, units.values())
    return replace(candidates, slots=arranged.slots, units=units), past


def _settled_just_now(
    search: RecallSearch, units: Iterable[Unit]
) -> dict[str, PastState]:
    """Return the promises settled by turns that wait for their file (`E16`)."""
    facts = [unit for unit in units if isinstance(unit, Fact)]
    promises = [fact for fact in facts if todos.is_open(fact)]
    return {
        fact.id: PastState(turn.turn.occurred_at, turn.key)
        for turn in (_waiting_of_owner(search) if promises else ())
        for one in todos.settlements(turn.turn.text, promises)
        if not one.asks
        for fact in one.promises
    }


def _open_promises(search: RecallSearch) -> list[Fact]:
    """Return the promises that the request may see and that no waiting turn settles."""
    buried = search.index.tombstones.keys
    promises = [
        fact
        for fact in search.index.catalog.promises()
        if not is_hidden(fact, search.request, buried, Counter())
        and search.index.visible(fact) is not None
    ]
    settled = _settled_just_now(search, promises)
    return [fact for fact in promises if fact.id not in settled]


def _with_agenda(
    search: RecallSearch, candidates: RankedCandidates
) -> RankedCandidates:
    """Put open promises first if the question asks for things to do (`E16`)."""
    request, settings = search.request, search.settings
    span = agenda(request.query)
    if span is None or request.as_of or "fact" not in request.kinds:
        return candidates

    past_days = settings.policy.todos.past_days
    due = todos.agenda_of(
        _open_promises(search), span, request.now, settings.zone, past_days
    )
    waiting = () if span else _waiting_of_owner(search)
    duties = [turn for turn in waiting if says_duty(turn.turn.text)]
    chosen: dict[str, Unit] = {turn.key: turn for turn in duties}
    chosen |= {fact.id: fact for fact in due}
    chosen = dict(islice(chosen.items(), request.k))
    best = max((slot.score for slot in candidates.slots), default=0.0)
    first = [
        ranking.RankedSlot(key, score, {"agenda": score})
        for place, key in enumerate(chosen)
        if (score := best + (len(chosen) - place) * _AGENDA_STEP)
    ]
    rest = [slot for slot in candidates.slots if slot.key not in chosen]
    return replace(candidates, slots=[*first, *rest], units=candidates.units | chosen)


def _waiting_of_owner(search: RecallSearch) -> list[FiledTurn]:
    """Return the owner's turns from which no fact was extracted yet."""
    buried = search.index.tombstones.keys
    return [
        turn
        for turn in search.index.waiting()
        if turn.turn.role == "user"
        and not turn.turn.group
        and not is_hidden(turn, search.request, buried, Counter())
        and search.index.visible(turn) is not None
    ]


_AGENDA_STEP = 0.001
"""Difference of the scores of two promises that follow each other."""


def edges_of(
    index: Index,
    request: RecallRequest,
    sources: RecallSources,
    hits: Sequence[SearchHit],
) -> dict[str, list[WeightedEdge]]:
    """Return the edges that lead to each hit, the most certain first (rows C34, X4).

    Only hits whose score has a part for edges are included.
    """
    led = [hit.key for hit in hits if hit.parts.get("ties")]
    edges = (
        index.edges(led, sources.edges, search_filter(request), request.now)
        if led
        else []
    )
    edges.sort(key=lambda edge: (-edge[3], edge))
    return {key: [edge for edge in edges if key in edge[:2]] for key in led}


def private_to_others(index: Index, settings: Settings, request: RecallRequest) -> int:
    """Return the number of units of other personas that match as well as the hits.

    For the owner only (`X4`): a persona must not learn that such units exist.
    """
    if request.persona == ALL_PERSONAS:
        return 0
    question = ranking.parse_question(
        request.query, request.now.astimezone(settings.zone)
    )
    everything = replace(search_filter(request), persona=None)
    found = index.lexical.search(question, everything, request.k).hits
    keys = [one.key for one in found]
    return len(set(keys) - index.lexical.allowed(keys, search_filter(request)))


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
