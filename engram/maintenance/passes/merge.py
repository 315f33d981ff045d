"""Duplicates and contradictions (rows A21, A22, A28, C12, X22, X23).

Without a model only very similar statements are merged. The verdict of a model is
applied if it is certain and the memory that would end does not belong to a user;
otherwise a user is asked. No file is deleted, no memory is created.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from engram.core import decay, decide
from engram.core.decide import (
    JUDGED_THE_SAME,
    SAYS_THE_SAME,
    Effect,
    Known,
    RelationKind,
    Statement,
)
from engram.core.records import Edit, Fact
from engram.core.text import content_hash
from engram.core.todos import EXPIRED, FULFILLED, HABIT
from engram.maintenance.passes.generated_text import numbered
from engram.maintenance.passes.groups import (
    Pair,
    belongs_to_user,
    digest_of,
    link_list,
    neighbours_of,
    pairs,
    proposal_on,
    seeds,
)
from engram.maintenance.passes.view import (
    FOREIGN,
    ChangeGroup,
    FileWrite,
    Finding,
    MemoryState,
    NewCase,
    PassView,
    Step,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

_SETTLED = frozenset({FULFILLED, EXPIRED, HABIT})


# -- duplicates ------------------------------------------------------------------------


def merge(view: PassView, now: datetime) -> list[Step]:
    """Supersede memories by another memory with the same statement (`A22`).

    The remaining memory gets the evidence of all. A user has to approve the end of a
    note that engram did not write, and of a protected memory whose statement is not
    equal (law 12); each of these is a step of its own.
    """
    room = view.policy.insight.merges - view.ended_by_status.get("superseded", 0)
    steps: list[Step] = []
    for winner, losers in _doubles(view, now):
        asked = [one for one in losers if one.foreign or not _is_free(winner, one)]
        own = [one for one in losers if one not in asked][: max(0, room)]
        if own:
            steps.append(merged_memories(view, winner, own, SAYS_THE_SAME))
            room -= len(own)
        steps += [
            ChangeGroup(
                (_superseded(view, one, winner.fact, SAYS_THE_SAME),),
                ask=not one.foreign,
            )
            for one in asked
        ]
    return steps


def _is_free(winner: MemoryState, loser: MemoryState) -> bool:
    """Return whether a memory may be merged without a question (law 12)."""
    equal = content_hash(winner.fact.text) == content_hash(loser.fact.text)
    return equal or not loser.protected


def reflect(view: PassView, now: datetime) -> list[Step]:
    """Report duplicate and stale memories without a change (`A21`)."""
    findings: list[Step] = [
        Finding(one.fact.id, one.fact.path, f"says the same as {winner.fact.path}")
        for winner, losers in _doubles(view, now)
        for one in losers
    ]
    least = view.policy.lifecycle.stale_confidence
    for one in view.active():
        confidence = view.vitals(one, now).confidence
        if confidence < least and not one.fact.pinned:
            why = f"stale: its confidence has faded to {confidence:.2f}"
            findings.append(Finding(one.fact.id, one.fact.path, why))
    return findings


def _doubles(
    view: PassView, now: datetime
) -> Iterator[tuple[MemoryState, list[MemoryState]]]:
    """Yield each memory with those of the same statement that it may supersede.

    Memories of a user come first, then the most confident. A note that engram did not
    write may be superseded only by an equal statement, and only with a user's approval.
    """
    memories = seeds(view)
    statements = _by_statement(view, memories)
    compared = _ids_to_compare(view, memories)
    candidates = [
        one
        for one in memories
        if one.fact.id in compared or len(statements[one.fact.id]) > 1
    ]
    candidates.sort(key=lambda one: _merge_rank(view, one, now))

    used = set(view.closed.get("merge", ()))
    for winner in candidates:
        if winner.fact.id in used:
            continue
        equal = statements[winner.fact.id]
        similar = dict(equal)
        if winner.fact.id in compared:
            similar |= _near_doubles(view, winner)
        losers = [
            one
            for name, one in sorted(similar.items())
            if name not in used and _may_supersede(winner, one, equal=name in equal)
        ]
        if losers:
            used |= {winner.fact.id, *(one.fact.id for one in losers)}
            yield winner, losers


def _by_statement(
    view: PassView, memories: Iterable[MemoryState]
) -> dict[str, dict[str, MemoryState]]:
    """Return the memories with the same persona and statement, by id, for each id.

    A memory is in its own group. Statements are compared by content hash.
    """
    hashes = view.reader.statements()
    groups: defaultdict[tuple[str | None, str], dict[str, MemoryState]]
    groups = defaultdict(dict)
    for one in memories:
        digest = hashes.get(one.fact.id) or content_hash(one.fact.text)
        groups[one.fact.persona, digest][one.fact.id] = one
    return {name: group for group in groups.values() for name in group}


def _ids_to_compare(view: PassView, memories: Sequence[MemoryState]) -> set[str]:
    """Return the ids of the latest memories, whose neighbours are compared.

    In a run that a user approved, the approved memories and their neighbours.
    """
    policy = view.policy.insight
    if view.approved is not None:
        approved = [one for one in memories if one.fact.id in view.approved]
        limit = view.policy.similarity.same
        near = (
            other for one in approved for other, _ in neighbours_of(view, one, limit)
        )
        return {one.fact.id for one in (*approved, *near)}
    return {one.fact.id for one in memories[: policy.reflected]}


def _merge_rank(
    view: PassView, one: MemoryState, now: datetime
) -> tuple[bool, bool, float, float, str]:
    """Return the sort key of winners: the first of equal statements remains.

    The strongest protection comes first (law 12), and last the memories whose end a
    user approved.
    """
    confidence = decay.effective_confidence(one.fact, one.usage, now, view.policy)
    approved = one.fact.id in (view.approved or ())
    may_end = not belongs_to_user(one) or (one.proposable and approved)
    weak = approved or not one.protected
    return (may_end, weak, -confidence, _created(one), one.fact.id)


def _near_doubles(view: PassView, winner: MemoryState) -> dict[str, MemoryState]:
    """Return the memories so similar to one that the statement is the same, by id."""
    limit = view.policy.similarity.same
    return {
        other.fact.id: other
        for other, near in neighbours_of(view, winner, limit)
        if near.similarity > limit and not near.distinct
    }


def _may_supersede(winner: MemoryState, loser: MemoryState, *, equal: bool) -> bool:
    if loser.fact.id == winner.fact.id or _differ_in_time(winner.fact, loser.fact):
        return False
    return not belongs_to_user(loser) or (equal and _is_open(winner, loser))


def _is_open(winner: MemoryState, loser: MemoryState) -> bool:
    """Return whether a user may be asked to end the loser.

    They are not asked if they changed one of the two before, as by an undo.
    """
    return loser.proposable and winner.kept in {None, FOREIGN}


def _differ_in_time(one: Fact, other: Fact) -> bool:
    return one.valid_from != other.valid_from and bool(
        one.valid_from and other.valid_from
    )


def merged_memories(
    view: PassView, winner: MemoryState, losers: Sequence[MemoryState], why: str
) -> ChangeGroup:
    """Return the changes that supersede `losers` and reinforce `winner` (`A8`, `A22`).

    The winner gets the evidence of the losers. A note that belongs to a user is not
    changed: only the losers link to it.
    """
    ends = [_superseded(view, one, winner.fact, why) for one in losers]
    if winner.kept:
        return ChangeGroup(tuple(ends))
    merged = _merged(view, winner.fact, [one.fact for one in losers])
    count = f"{len(losers)} say the same"
    edit = _edit(view, winner.fact, merged, count)
    return ChangeGroup((edit, *ends))


def _merged(view: PassView, fact: Fact, losers: Sequence[Fact]) -> Fact:
    """Return a memory that absorbs the `losers`, but for the ends of their promises."""
    merged = fact
    for one in losers:
        tags = tuple(tag for tag in one.tags if tag not in _SETTLED)
        merged = decide.merge(merged, replace(one, tags=tags))
    raised = min(
        decide.reinforced_confidence(fact.confidence, view.policy.dedup),
        max(fact.confidence, view.reader.trust_of(fact)),
    )
    lasts = not all(one.expires for one in losers)
    return replace(
        merged,
        text=fact.text,
        confidence=raised,
        importance=fact.importance if fact.pinned else merged.importance,
        expires=None if lasts else fact.expires,
        supersedes=_extended(fact.supersedes, *(one.id for one in losers)),
    )


def _superseded(view: PassView, loser: MemoryState, winner: Fact, why: str) -> Edit:
    """Return the end of a memory that says the same as another."""
    old, names = loser.fact, _extended(loser.fact.superseded_by, winner.id)
    ended = replace(old, status="superseded", superseded_by=names, end_reason=why)
    return _edit(view, old, ended, f"{why}: {winner.path}")


def _edit(view: PassView, old: Fact, new: Fact, why: str) -> Edit:
    """Return the edit by which the note of `old` becomes that of `new`."""
    before, after = _keys(old, view.zone), _keys(new, view.zone)
    keys = {name: value for name, value in after.items() if value != before[name]}
    return Edit(old.path, old.sha, keys, why)


def _keys(fact: Fact, zone: tzinfo) -> dict[str, object]:
    """Return the keys of a note that a merge or a verdict may change."""
    sources = [f"[[{key}]]" for key in fact.turns]
    times = {"expires": fact.expires, "valid_until": fact.valid_until}
    return {
        "status": fact.status,
        "confidence": fact.confidence,
        "importance": fact.importance,
        "about": link_list(fact.about),
        "tags": ["-".join(tag.split()) for tag in fact.tags],
        "source": sources if len(sources) > 1 else "".join(sources),
        "supersedes": list(fact.supersedes),
        "superseded_by": list(fact.superseded_by),
        "end_reason": fact.end_reason,
        **{
            name: time and f"{time.astimezone(zone):%Y-%m-%dT%H:%M:%S}"
            for name, time in times.items()
        },
    }


def _extended(names: Sequence[str], *more: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*names, *more]))


# -- verdicts of a model on pairs ------------------------------------------------------


def compare(view: PassView, now: datetime) -> list[Step]:
    """Ask a model whether memories repeat or contradict each other (`C12`, `A28`).

    They are the newest ones with others, and the most similar ones, in one question.
    """
    policy, similarity = view.policy.insight, view.policy.similarity
    memories = seeds(view)
    if len(memories) < policy.least_memories:
        return []
    latest = _approved(view, memories)
    newest = sorted(latest, key=lambda one: (-_created(one), one.fact.id))
    searches = (
        (newest[: policy.newest], 1.0, policy.compared),
        (latest[: policy.reflected], similarity.same, policy.scanned),
    )
    alike = {
        (newer.fact.id, older.fact.id): (newer, older)
        for some, high, most in searches
        for newer, older in pairs(view, some, similarity.link, high, most)
    }
    return _act_on_verdicts(view, list(alike.values()), now)


def _approved(view: PassView, memories: Sequence[MemoryState]) -> list[MemoryState]:
    """Return the memories that a run may end: the approved ones, or all (law 6)."""
    approved = view.approved
    return [one for one in memories if approved is None or one.fact.id in approved]


def _created(one: MemoryState) -> float:
    return one.fact.created.timestamp() if one.fact.created else 0.0


def _act_on_verdicts(
    view: PassView, alike: Sequence[Pair], now: datetime
) -> list[Step]:
    """Ask one question about the pairs without a verdict, and act on all verdicts.

    A verdict is valid as long as both texts are unchanged. A memory is in one step at
    most.
    """
    verdicts = _verdicts(view)
    steps = _ask_verdicts(view, alike, verdicts)
    used: set[str] = set()
    ended = view.ended_by_status.get("invalidated", 0)
    room = view.policy.insight.contradictions - ended
    for newer, older in alike:
        relation, sure = _verdict(verdicts, (newer, older)) or ("independent", 0.0)
        names = {newer.fact.id, older.fact.id}
        if relation == "independent" or names & used:
            continue
        if relation == "same":
            more = _same(view, newer, older, sure, now)
        else:
            more = _contradicted(view, newer, older, sure, room, now)
            room -= sum(isinstance(step, ChangeGroup) for step in more)
        if more:
            used |= names
        steps += more
    return steps


def _ask_verdicts(
    view: PassView, alike: Sequence[Pair], known: dict[str, tuple[str, str, float]]
) -> list[Step]:
    """Ask about the pairs without a verdict; add the answer to `known`.

    Two statements that a model extracted from one conversation count as different: it
    was shown the first with the second.
    """
    new = [
        (newer, older)
        for newer, older in alike
        if _verdict(known, (newer, older)) is None
        and not (
            _talk(newer) == _talk(older)
            and newer.fact.origin == older.fact.origin == "model"
        )
    ]
    if not new:
        return []
    new.sort(key=_pair_key)  # their likeness changes with other texts
    pairs_shown = [_shown(view, number, pair) for number, pair in enumerate(new, 1)]
    material = {"pairs": pairs_shown}
    reply = view.ask("compare", material, f"{len(new)} pairs are similar")
    verdicts = (reply.answer or {}).get("verdicts", {})
    judged = {
        _pair_key(pair): (_texts_digest(pair), *verdicts[str(n)])
        for n, pair in enumerate(new, 1)
        if str(n) in verdicts
    }
    known |= judged
    files = [_verdict_file(view, known, len(judged))] if judged else []
    return [*reply.steps, *files]


def _verdicts(view: PassView) -> dict[str, tuple[str, str, float]]:
    """Return the stored verdicts by the ids of both memories.

    A verdict is the digest of the texts, the relation, and the certainty (0–1). Another
    program may have written the file, so invalid rows are skipped.
    """
    try:
        rows = json.loads(view.read(decide.JUDGEMENTS_FILE)).items()
        verdicts = {
            str(names): (str(digest), str(relation), float(sure))
            for names, (digest, relation, sure) in rows
        }
    except (ValueError, TypeError, AttributeError):
        return {}
    relations = get_args(RelationKind)
    return {
        names: verdict
        for names, verdict in verdicts.items()
        if verdict[1] in relations and 0 <= verdict[2] <= 1
    }


def _verdict(
    known: Mapping[str, tuple[str, str, float]], pair: Pair
) -> tuple[str, float] | None:
    """Return the relation and its certainty; None if a text has changed."""
    digest, relation, sure = known.get(_pair_key(pair), ("", "", 0.0))
    return (relation, sure) if digest == _texts_digest(pair) else None


def _verdict_file(
    view: PassView, known: Mapping[str, tuple[str, str, float]], new: int
) -> FileWrite:
    """Return the file with the verdicts on active pairs of the latest memories."""
    active = {one.fact.id for one in view.active()}
    rows = [
        (names, verdict)
        for names, verdict in sorted(known.items())
        if active.issuperset(names.split())
    ]
    lines = [
        f"{json.dumps(names)}: {json.dumps(verdict)}"
        for names, verdict in rows[-view.policy.insight.verdicts :]
    ]
    content = "{" + ",\n".join(lines) + "}\n"
    return FileWrite(decide.JUDGEMENTS_FILE, content.encode(), f"{new} pairs judged")


def _talk(one: MemoryState) -> str:
    return one.fact.source.partition("#")[0]


def _pair_key(pair: Pair) -> str:
    return " ".join(one.fact.id for one in pair)


def _texts_digest(pair: Pair) -> str:
    return digest_of(*(one.fact.text for one in pair))


def _shown(view: PassView, number: int, pair: Pair) -> dict[str, object]:
    newer, older = numbered(view, [one.fact for one in pair])
    return {"pair": number, "newer": newer | {"n": 1}, "older": older | {"n": 2}}


def _same(
    view: PassView, newer: MemoryState, older: MemoryState, sure: float, now: datetime
) -> list[Step]:
    """Return the merge of two memories that a model judged the same.

    The protected one remains, else the more confident one. In doubt nothing changes,
    since a duplicate does no harm; if both are protected, a user is asked (law 12).
    """
    if sure < view.policy.insight.sure or _differ_in_time(newer.fact, older.fact):
        return []

    def rank(one: MemoryState) -> tuple[bool, bool, float, str]:
        approved = one.fact.id in (view.approved or ())
        return (
            belongs_to_user(one),
            bool(one.protected) and not approved,
            decay.effective_confidence(one.fact, one.usage, now, view.policy),
            one.fact.id,
        )

    loser, winner = sorted((newer, older), key=rank)
    if belongs_to_user(loser):
        return []
    ready = proposal_on(view, "update_note", winner.fact, view.stage(winner, now))
    if ready.ruling != "allow":
        why = f"it is judged the same as {loser.fact.path}, and both stay: {ready.why}"
        return [Finding(winner.fact.id, winner.fact.path, why, ready)]
    why = JUDGED_THE_SAME
    if not _is_free(winner, loser):
        return [ChangeGroup((_superseded(view, loser, winner.fact, why),), ask=True)]
    return [merged_memories(view, winner, [loser], why)]


def _contradicted(
    view: PassView,
    newer: MemoryState,
    older: MemoryState,
    sure: float,
    remaining: int,
    now: datetime,
) -> list[Step]:
    """Return the steps for two memories that a model judged contradictory.

    The rules of filing decide if the model is certain; otherwise a user is
    asked. `remaining` is the number of memories that this run may still invalidate.
    """
    new, old, policy = newer.fact, older.fact, view.policy
    if new.id in old.superseded_by:
        return []  # weakened by this memory before
    case = NewCase(new, old, "a model finds that both cannot be true")
    if sure < policy.insight.sure or older.foreign:
        return [case]

    update = proposal_on(view, "update_note", new)
    if update.ruling != "allow":
        why = f"it contradicts {old.path} and has to wait: {update.why}"
        return [Finding(new.id, new.path, why, update)]
    discard = proposal_on(view, "discard", old, view.stage(older, now))
    if discard.ruling != "allow":
        why = f"{new.path} contradicts it, and a user is asked: {discard.why}"
        return [case, Finding(old.id, old.path, why, discard)]

    effects = _ladder_effects(view, new, old, remaining, now)
    return [
        step for effect in effects for step in _effect(view, newer, older, effect, now)
    ]


def _ladder_effects(
    view: PassView, new: Fact, old: Fact, capacity: int, now: datetime
) -> Sequence[Effect]:
    """Return what a judged contradiction changes, decided as for a new statement."""
    lower = view.reader.trust_of(new) < view.reader.trust_of(old)
    why = "a less trusted statement does not replace a more trusted one"
    known = Known(old, relation="replaces", barred=why if lower else "")
    statement = Statement(
        new, new.created or now, by_user=not lower, remaining=capacity
    )
    return decide.decide(statement, [known], view.policy).effects


def _effect(
    view: PassView,
    newer: MemoryState,
    older: MemoryState,
    effect: Effect,
    now: datetime,
) -> list[Step]:
    """Return the change of both notes for one effect."""
    new, old = newer.fact, older.fact
    if effect.action == "ask":
        return [NewCase(new, old, effect.why)]
    ended = decide.changed_by(effect, old, new, new.created or now)
    steps = [_edit(view, old, ended, f"{effect.why}: {new.path}")]
    if not newer.kept:
        linked = replace(new, supersedes=_extended(new.supersedes, old.id))
        steps.insert(0, _edit(view, new, linked, f"it replaces {old.path}"))
    return [ChangeGroup(tuple(steps))]
