"""Answer a question from memory: candidates, ranking, verified hits, token budget.

Rows X1, X4, X5, X19, X24. `recall` is the entry::

    query ─ parse_question ─ _with_relatives ─▶ Question
        candidates.find_candidates    ranked slots: by words, vectors and relations
        topics.with_newest_first      the newest of the leading candidates first
        _with_agenda                  open promises first, if the question asks for them
        limits                        weak candidates out; outside sources limited
        hits.verified_hits            hits, read again from their files
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
from engram.core.records import ALL_PERSONAS, Fact, FiledTurn, RecallResult, SearchHit
from engram.index.filters import STATES_NOTHING
from engram.recall import formatting
from engram.recall.candidates import find_candidates
from engram.recall.hits import is_hidden, recallable, verified_hits
from engram.recall.limits import (
    MISFIT,
    with_caps,
    with_external_limits,
    with_quotas,
    without_misfits,
    without_weak,
)
from engram.recall.request import (
    RankedCandidates,
    RecallRequest,
    RecallSearch,
    RecallSources,
    TimeLimit,
    search_filter,
)
from engram.recall.selection import select
from engram.recall.slots import with_slot
from engram.recall.topics import PastState, past_states, with_newest_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.graph import WeightedEdge
    from engram.index.database import Unit
    from engram.index.search import Index
    from engram.recall.selection import Selection


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
    embed_once = (
        cache(lambda text: embed(text, sources.seconds_left())) if embed else None
    )
    search = RecallSearch(
        index, settings, request, question, sources, embed_once, limit
    )

    limit.end("question")
    candidates = _with_archive(search, find_candidates(search))
    weak = policy.weak * (policy.several_share if question.wants_several else 1.0)
    if not request.as_of:
        candidates = without_misfits(with_slot(search, candidates), policy)
    candidates = without_weak(candidates, weak)
    earlier: frozenset[str] = frozenset()
    past: dict[str, PastState] = {}
    if not request.as_of:
        candidates, earlier = with_newest_first(search, candidates)
        first = [slot.key for slot in candidates.slots[: 2 * request.k]]
        past = past_states(index, first, request.now, question.words)
    candidates = _above_what_they_replaced(search, candidates, past)
    past |= _settled_just_now(search, candidates.units.values())
    candidates = _with_agenda(search, candidates)
    limit.end("order")
    candidates = with_caps(search, with_quotas(candidates, policy))
    candidates = with_external_limits(search, candidates)
    limit.end("limits")
    filtered = candidates.filtered
    others = filtered.total()
    hits = verified_hits(search, candidates, past, earlier)
    fits = any(slot.fit >= policy.fits for slot in candidates.slots)
    note = candidates.absence or ("" if fits else NOTHING_FITS_WELL)
    budget = request.budget - count_tokens(note and f"{note}\n", policy)
    selection = select(hits, question, policy, request.k, budget)
    chosen = selection.hits
    limit.end("files and tokens")

    missing = filtered.total() - others
    filtered.update(_left_out(candidates, selection, request.k, missing))
    why = note if chosen else _why_empty(index, filtered, complete=complete)
    text = formatting.fenced(chosen, mark, note)
    return RecallResult(
        query=request.query,
        hits=chosen,
        text=text,
        tokens=count_tokens(text, policy),
        filtered=dict(filtered),
        note="; ".join(filter(None, [why, candidates.unused_reason, limit.note()])),
        complete=complete,
        mode="meaning" if candidates.by_meaning else "words",
        steps=limit.steps,
    )


def _left_out(
    candidates: RankedCandidates, selection: Selection, k: int, missing: int
) -> Counter[str]:
    """Count the candidates of the `k` best that are not in the selection, by reason.

    Those that are `missing` have reasons of their own.
    """
    wanted = min(len(candidates.slots) - selection.repeated, k)
    turns = {hit.source or hit.key for hit in selection.hits}
    return +Counter(
        {
            "over the token budget": wanted - len(selection.hits) - missing,
            "of one turn with a hit": selection.repeated
            + sum(candidates.merged[key] for key in turns),
        }
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
    known = sorted(frozenset().union(*people.values()))
    return replace(
        question,
        words=tuple(dict.fromkeys((*question.words, *known))),
        akin={**question.akin, **akin},
        names=question.names.union(known),
    )


def _above_what_they_replaced(
    search: RecallSearch, candidates: RankedCandidates, past: Mapping[str, PastState]
) -> RankedCandidates:
    """Put each memory that replaced another one directly above it (law 7)."""
    wanted = {one.successor for one in past.values() if one.successor}
    if not wanted:
        return candidates
    known = {slot.key for slot in candidates.slots}
    read = recallable(search.index, sorted(wanted - known), search.request, Counter())
    placed = set[str]()
    slots = list[ranking.RankedSlot]()
    by_key = {slot.key: slot for slot in candidates.slots}
    for slot in candidates.slots:
        new = past[slot.key].successor if slot.key in past else ""
        if new and new not in placed and (new in known or new in read):
            placed.add(new)
            moved = by_key.get(new) or ranking.RankedSlot(new, 0.0, {})
            gain = slot.score - moved.score
            parts = {**dict(moved.parts), "replaces": gain}
            fit = max(moved.fit, slot.fit)
            slots.append(ranking.RankedSlot(new, slot.score, parts, fit=fit))
        if slot.key not in placed:
            placed.add(slot.key)
            slots.append(slot)
    return replace(candidates, slots=slots, units=candidates.units | read)


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
        ranking.RankedSlot(key, score, {"agenda": score}, fit=1)
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
    reasons = sorted(filtered.keys() - {MISFIT, STATES_NOTHING})
    if reasons:
        return "filtered: " + ", ".join(f"{why} ({filtered[why]})" for why in reasons)
    return "nothing in memory fits the question"


NOTHING_FITS_WELL = "nothing of this fits the question well"
"""The note of an answer whose best hit covers less of the question than `fits`."""
