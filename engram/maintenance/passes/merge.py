"""Duplicates and contradictions (rows A21, A22, A28, C12, X22, X23).

Without a model only very similar statements are merged. The verdict of a model is
applied where it is sure and the memory that would end does not belong to a person; else
a person is asked. No file is deleted, no memory is created.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, get_args

from engram.core import actions, decay, dedup
from engram.core.actions import Eligibility
from engram.core.categories import category_of
from engram.core.dedup import Evidence, Judgement, Neighbour, RelationKind, Verdict
from engram.core.records import Edit
from engram.core.text import content_hash
from engram.core.todos import EXPIRED, FULFILLED, HABIT
from engram.maintenance.passes import FOREIGN, ChangeGroup, FileWrite, Finding, NewCase
from engram.maintenance.passes.groups import (
    Pair,
    belongs_to_user,
    digest_of,
    dropped,
    link_list,
    model_question,
    neighbours_of,
    numbered,
    pairs,
    seeds,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from engram.core.dedup import Effect
    from engram.core.records import Fact
    from engram.maintenance.passes import MemoryState, PassView, Step

_SETTLED = frozenset({FULFILLED, EXPIRED, HABIT})
SAYS_THE_SAME = "says the same as another"


# -- what says the same ----------------------------------------------------------------


def merge(view: PassView, now: datetime) -> list[Step]:
    """Of memories that say the same one stays, with the evidence of all; the others are
    superseded by it (`A22`).

    The end of a note that engram did not write is a step of its own, for a person has
    to approve it.
    """
    left = view.policy.insight.merges - view.ended_by_status.get("superseded", 0)
    found: list[Step] = []
    for winner, losers in _doubles(view, now):
        if own := [one for one in losers if not one.foreign][: max(0, left)]:
            found.append(_merged(view, winner, own, SAYS_THE_SAME))
            left -= len(own)
        found += [
            ChangeGroup((_superseded(one, winner.fact, SAYS_THE_SAME),))
            for one in losers
            if one.foreign
        ]
    return found


def reflect(view: PassView, now: datetime) -> list[Step]:
    """Say which memories say the same, and which nobody could rely on any more; nothing
    is changed (`A21`).
    """
    found: list[Step] = [
        Finding(one.fact.id, one.fact.path, f"says the same as {winner.fact.path}")
        for winner, losers in _doubles(view, now)
        for one in losers
    ]
    least = view.policy.lifecycle.stale_confidence
    return found + [
        Finding(
            one.fact.id,
            one.fact.path,
            f"stale: its confidence has faded to {worth:.2f}",
        )
        for one in view.active()
        if (worth := view.vitals(one, now).confidence) < least and not one.fact.pinned
    ]


def _doubles(
    view: PassView, now: datetime
) -> Iterator[tuple[MemoryState, list[MemoryState]]]:
    """Yield each memory with those that say the same and may give way to it.

    Memories of a person come first, then the most confident. A note that engram did not
    write may give way only to an equal statement, and only with a person's approval.
    """
    memories = seeds(view)
    groups = _by_statement(view, memories)
    compared = (
        view.policy.insight.reflected if view.whole else view.policy.insight.newest
    )
    near = {one.fact.id: one for one in memories[:compared]}
    chosen = dict(near)
    statement: dict[str, tuple[str | None, str]] = {}
    for key, group in groups.items():
        for one in group:
            statement[one.fact.id] = key
            if len(group) > 1:
                chosen[one.fact.id] = one

    used = set(view.closed.get("merge", ()))
    for winner in sorted(chosen.values(), key=lambda one: _merge_rank(view, one, now)):
        if winner.fact.id in used:
            continue
        own = statement[winner.fact.id]
        similar = {one.fact.id: one for one in groups[own]}
        if winner.fact.id in near:
            similar |= _near_doubles(view, winner)
        losers: list[MemoryState] = []
        for name, one in sorted(similar.items()):
            free = name not in used and name != winner.fact.id
            if free and _gives_way(winner, one, equal=statement.get(name) == own):
                losers.append(one)
        if losers:
            used |= {winner.fact.id, *(one.fact.id for one in losers)}
            yield winner, losers


def _by_statement(
    view: PassView, memories: Iterable[MemoryState]
) -> dict[tuple[str | None, str], list[MemoryState]]:
    """Group memories by persona and content hash."""
    hashes = view.reader.statements()
    groups: dict[tuple[str | None, str], list[MemoryState]] = defaultdict(list)
    for one in memories:
        digest = hashes.get(one.fact.id) or content_hash(one.fact.text)
        groups[one.fact.persona, digest].append(one)
    return groups


def _merge_rank(
    view: PassView, one: MemoryState, now: datetime
) -> tuple[bool, float, float, str]:
    """Return the sort key of winners: the first of equal statements stays."""
    confidence = decay.effective_confidence(one.fact, one.usage, now, view.policy)
    approved = one.proposable and one.fact.id in (view.approved or ())
    may_end = not belongs_to_user(one) or approved
    return (may_end, -confidence, _created(one), one.fact.id)


def _near_doubles(view: PassView, winner: MemoryState) -> dict[str, MemoryState]:
    """Return by id the memories so similar to one that they say the same."""
    limit = view.policy.similarity.same
    return {
        other.fact.id: other
        for other, near in neighbours_of(view, winner, limit)
        if near.similarity > limit and not near.apart and not near.conflict
    }


def _gives_way(winner: MemoryState, loser: MemoryState, *, equal: bool) -> bool:
    """Return whether a memory may be superseded by one that says the same."""
    if _differ_in_time(winner.fact, loser.fact):
        return False
    return not belongs_to_user(loser) or (equal and _is_open(winner, loser))


def _is_open(winner: MemoryState, loser: MemoryState) -> bool:
    """Whether a person may be asked to end the loser: not where they had a hand in one
    of the two, as by an undo.
    """
    return loser.proposable and winner.kept in {None, FOREIGN}


def _differ_in_time(one: Fact, other: Fact) -> bool:
    return one.valid_from != other.valid_from and bool(
        one.valid_from and other.valid_from
    )


def _merged(
    view: PassView, winner: MemoryState, losers: Sequence[MemoryState], why: str
) -> ChangeGroup:
    """The winner gains what the losers rest on and is reinforced; they are superseded
    by it (`A8`, `A22`).
    """
    fact = winner.fact
    ends = [_superseded(one, fact, why) for one in losers]
    if winner.kept:
        # a person's note keeps every byte; the losers name it
        return ChangeGroup(tuple(ends))
    keys = _evidence(fact, [one.fact for one in losers])
    keys["supersedes"] = _extended(fact.supersedes, *(one.fact.id for one in losers))
    keys |= _united_keys(fact, [one.fact for one in losers])
    raised = min(
        dedup.reinforced_confidence(fact.confidence, view.policy.ladder),
        max(fact.confidence, view.reader.believed(fact)),
    )
    if raised != fact.confidence:
        keys["confidence"] = raised
    if (
        most := max(one.fact.importance for one in losers)
    ) > fact.importance and not fact.pinned:
        keys["importance"] = most
    if fact.expires and not all(one.fact.expires for one in losers):
        keys["expires"] = None
    return ChangeGroup(
        (Edit(fact.path, fact.sha, keys, f"{len(losers)} say the same"), *ends)
    )


def _superseded(loser: MemoryState, winner: Fact, why: str) -> Edit:
    keys = {
        "status": "superseded",
        "superseded_by": _extended(loser.fact.superseded_by, winner.id),
        "end_reason": why,
    }
    return Edit(loser.fact.path, loser.fact.sha, keys, f"{why}: {winner.path}")


def _evidence(fact: Fact, others: Sequence[Fact]) -> dict[str, object]:
    """The key `source` with the turns of all, where that is more than there is."""
    own = [key for key in (fact.source, *fact.also) if key]
    every = list(
        dict.fromkeys(
            [*own, *(key for one in others for key in (one.source, *one.also) if key)]
        )
    )
    links = [f"[[{key}]]" for key in every]
    return (
        {"source": links if len(links) > 1 else links[0]}
        if len(every) > len(own)
        else {}
    )


def _united_keys(fact: Fact, others: Sequence[Fact]) -> dict[str, object]:
    """The keys `about` and `tags` with those of all, where that is more; what became of
    a promise is each one's own.
    """
    about = tuple(
        dict.fromkeys((*fact.about, *(name for one in others for name in one.about)))
    )
    fresh = (tag for one in others for tag in one.tags if tag not in _SETTLED)
    tags = tuple(dict.fromkeys((*fact.tags, *fresh)))
    keys: dict[str, object] = {"about": link_list(about)} if about != fact.about else {}
    return keys | (
        {"tags": ["-".join(tag.split()) for tag in tags]} if tags != fact.tags else {}
    )


def _extended(names: Sequence[str], *more: str) -> list[str]:
    return list(dict.fromkeys([*names, *more]))


# -- what a model says of pairs --------------------------------------------------------


def compare(view: PassView, now: datetime) -> list[Step]:
    """The newest memories beside the rest: a model says which are the same and which
    contradict (`C12`).
    """
    policy = view.policy.insight
    some = seeds(view)
    if len(some) < policy.least_memories:
        return []
    newest = sorted(some, key=lambda one: (-_created(one), one.fact.id))[
        : policy.newest
    ]
    return _act_on_verdicts(
        view,
        pairs(view, newest, view.policy.similarity.link, 1.0, policy.compared),
        now,
    )


def contradict(view: PassView, now: datetime) -> list[Step]:
    """The most alike pairs that are not the same, for contradictions nobody has
    noticed: one question (`A28`).
    """
    policy, cuts = view.policy.insight, view.policy.similarity
    return _act_on_verdicts(
        view,
        pairs(
            view, seeds(view)[: policy.reflected], cuts.link, cuts.same, policy.scanned
        ),
        now,
    )


def _created(one: MemoryState) -> float:
    return one.fact.created.timestamp() if one.fact.created else 0.0


def _act_on_verdicts(view: PassView, some: Sequence[Pair], now: datetime) -> list[Step]:
    """Ask one question about the pairs without a verdict, and act on all verdicts.

    A verdict holds while both memories say what they said. A memory is in one step at
    most.
    """
    known = _verdicts(view)
    found = _ask_verdicts(view, some, known)
    used: set[str] = set()
    left = view.policy.insight.contradictions - view.ended_by_status.get(
        "invalidated", 0
    )
    for newer, older in some:
        relation, sure = _verdict(known, (newer, older)) or ("independent", 0.0)
        names = {newer.fact.id, older.fact.id}
        if relation == "independent" or names & used:
            continue
        if relation == "same":
            steps = _same(view, newer, older, sure, now)
        else:
            steps = _contradicted(view, newer, older, sure, left, now)
            left -= sum(isinstance(step, ChangeGroup) for step in steps)
        if steps:
            used |= names
        found += steps
    return found


def _ask_verdicts(
    view: PassView, some: Sequence[Pair], known: dict[str, tuple[str, str, float]]
) -> list[Step]:
    """Ask about the pairs without a verdict; an answer is added to `known`."""
    new = [pair for pair in some if _verdict(known, pair) is None]
    if not new:
        return []
    pairs_shown = [_shown(view, number, pair) for number, pair in enumerate(new, 1)]
    material = {"pairs": pairs_shown}
    question, answer = model_question(
        view, "compare", material, f"{len(new)} pairs are alike"
    )
    if answer is None:
        return [question]
    verdicts = answer.get("verdicts", {})
    judged = {
        _pair_key(pair): (_texts_digest(pair), *verdicts[str(n)])
        for n, pair in enumerate(new, 1)
        if str(n) in verdicts
    }
    known |= judged
    steps: list[Step] = [*dropped("compare", answer)]
    if judged:
        steps.append(_verdict_file(view, known, len(judged)))
    return steps


def _verdicts(view: PassView) -> dict[str, tuple[str, str, float]]:
    """What was said of pairs, by the ids of both: what they said then, how they relate,
    and how sure that is.

    The file may come from anywhere: what is no verdict is none.
    """
    try:
        held = json.loads(view.read(dedup.JUDGEMENTS_FILE)).items()
        found = {
            str(names): (str(says), str(relation), float(sure))
            for names, (says, relation, sure) in held
        }
    except (ValueError, TypeError, AttributeError):
        return {}
    known = get_args(RelationKind)
    return {
        names: answer
        for names, answer in found.items()
        if answer[1] in known and 0 <= answer[2] <= 1
    }


def _verdict(
    known: Mapping[str, tuple[str, str, float]], pair: Pair
) -> tuple[str, float] | None:
    says, relation, sure = known.get(_pair_key(pair), ("", "", 0.0))
    return (relation, sure) if says == _texts_digest(pair) else None


def _verdict_file(
    view: PassView, known: Mapping[str, tuple[str, str, float]], new: int
) -> FileWrite:
    """The verdicts on pairs that are both active, those on the latest memories."""
    active = {one.fact.id for one in view.active()}
    held = [
        (names, answer)
        for names, answer in sorted(known.items())
        if active.issuperset(names.split())
    ]
    lines = [
        f"{json.dumps(names)}: {json.dumps(answer)}"
        for names, answer in held[-view.policy.insight.verdicts :]
    ]
    return FileWrite(
        dedup.JUDGEMENTS_FILE,
        ("{" + ",\n".join(lines) + "}\n").encode(),
        f"{new} pairs judged",
    )


def _pair_key(pair: Pair) -> str:
    return " ".join(one.fact.id for one in pair)


def _texts_digest(pair: Pair) -> str:
    return digest_of(*(one.fact.text for one in pair))


def _shown(view: PassView, number: int, pair: Pair) -> dict[str, object]:
    newer, older = numbered(view, pair)
    return {"pair": number, "newer": newer | {"n": 1}, "older": older | {"n": 2}}


def _same(
    view: PassView, newer: MemoryState, older: MemoryState, sure: float, now: datetime
) -> list[Step]:
    """Judged the same: the surer one stays. In doubt both do, for a double does no
    harm.
    """
    if sure < view.policy.insight.sure or _differ_in_time(newer.fact, older.fact):
        return []

    def rank(one: MemoryState) -> tuple[bool, float, str]:
        return (
            belongs_to_user(one),
            decay.effective_confidence(one.fact, one.usage, now, view.policy),
            one.fact.id,
        )

    loser, winner = sorted((newer, older), key=rank)
    if belongs_to_user(loser):
        return []
    ready = actions.propose(
        "update_note", _known(winner, view.stage(winner, now)), view.policy.actions
    )
    if ready.ruling != "allow":
        told = f"it is judged the same as {loser.fact.path}, and both stay: {ready.why}"
        return [Finding(winner.fact.id, winner.fact.path, told, ready)]
    return [_merged(view, winner, [loser], "judged the same as another")]


def _contradicted(
    view: PassView,
    newer: MemoryState,
    older: MemoryState,
    sure: float,
    left: int,
    now: datetime,
) -> list[Step]:
    """Judged a contradiction: the rule of the write ladder where the model is sure,
    else a person is asked.
    """
    new, old, policy = newer.fact, older.fact, view.policy
    if new.id in old.superseded_by:
        return []  # it was weakened on this word before
    case = NewCase(new, old, "a model finds that both cannot be true")
    if sure < policy.insight.sure or older.foreign:
        return [case]
    gone = actions.propose(
        "discard", _known(older, view.stage(older, now)), policy.actions
    )
    ready = actions.propose(
        "update_note", _known(newer, stage="candidate"), policy.actions
    )
    if ready.ruling != "allow":
        return [
            Finding(
                new.id,
                new.path,
                f"it contradicts {old.path}, and waits: {ready.why}",
                ready,
            )
        ]
    if gone.ruling != "allow":
        return [
            case,
            Finding(
                old.id,
                old.path,
                f"{new.path} contradicts it, and a person is asked: {gone.why}",
                gone,
            ),
        ]
    lower = view.reader.believed(new) < view.reader.believed(old)
    barred = (
        {old.id: "what is believed less does not replace what is believed more"}
        if lower
        else None
    )
    claim = Evidence(
        new.source,
        own=not lower,
        correction=category_of(new.category).corrects,
        barred=barred,
        left=left,
    )
    verdict = Verdict(
        "judge",
        "judged a contradiction",
        old.id,
        (Neighbour(old, policy.similarity.grey),),
    )
    decision = dedup.decide(verdict, claim, policy.ladder, Judgement("contradicts", 1))
    return [
        step
        for effect in decision.effects
        for step in _effect(view, newer, older, effect, now)
    ]


def _effect(
    view: PassView,
    newer: MemoryState,
    older: MemoryState,
    effect: Effect,
    now: datetime,
) -> list[Step]:
    new, old = newer.fact, older.fact
    if effect.deed == "ask":
        return [NewCase(new, old, effect.why)]
    keys: dict[str, object] = {"superseded_by": _extended(old.superseded_by, new.id)}
    if effect.deed == "weaken":
        keys["confidence"] = effect.confidence
    else:
        status = "invalidated" if effect.deed == "invalidate" else "superseded"
        until = _local(new.valid_from or new.created or now, view.zone)
        keys |= {"status": status, "end_reason": effect.why, "valid_until": until}
    steps = [Edit(old.path, old.sha, keys, f"{effect.why}: {new.path}")]
    if not newer.kept:
        link_list = {"supersedes": _extended(new.supersedes, old.id)}
        steps.insert(
            0, Edit(new.path, new.sha, link_list, f"it takes the place of {old.path}")
        )
    return [ChangeGroup(tuple(steps))]


def _known(one: MemoryState, stage: str) -> Eligibility:
    return Eligibility(one.fact.confidence, stage, one.fact.importance, "consolidation")


def _local(when: datetime, zone: tzinfo) -> str:
    return f"{when.astimezone(zone):%Y-%m-%dT%H:%M:%S}"
