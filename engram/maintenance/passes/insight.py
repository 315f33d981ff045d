"""Conclusions from memories, and checks of memories.

(Rows A23, B15, C21, D9, D10, E17, X22.) A conclusion has the origin `synthesized`: it
is not evidence, and nothing is concluded from it. At least one of its sources is
archived with it, so that the number of memories never rises.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import TYPE_CHECKING

from engram.core import actions, decay, entities, todos, trust
from engram.core import drift as drifting
from engram.core.categories import category_of
from engram.core.forgetting import Utterance
from engram.core.records import Edit, Fact, Usage
from engram.core.sessions import curation_state
from engram.core.text import content_hash, ulid
from engram.maintenance.passes.generated_text import (
    by_date,
    entity_names,
    is_about_owner,
    local_date,
    numbered,
)
from engram.maintenance.passes.groups import (
    belongs_to_user,
    clusters,
    digest_of,
    idle_days,
    neighbours_of,
    proposal_on,
    seeds,
)
from engram.maintenance.passes.lifecycle import archive_move
from engram.maintenance.passes.view import (
    ChangeGroup,
    FileWrite,
    Finding,
    MemoryState,
    NewMemory,
    Pass,
    PassView,
    Step,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from engram.core.drift import DriftFinding
    from engram.core.policy import InsightPolicy

PROBED = "state/probed.json"
ACTIONS = "state/memory-actions.jsonl"
_HEAD = "# Compression guidelines\n\nGenerated: "


# -- conclusions -----------------------------------------------------------------------

Memories = list["MemoryState"]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One kind of conclusion: a group of memories becomes one memory, by a model.

    `groups` selects the memories, `task` is the prompt, and `sources` the least number
    of memories that an answer has to name. `ends` selects from these the memories that
    are archived for the reason `why`. `keys` are fields of the new memory and `usage`
    its first usage.
    """

    name: str
    task: str
    why: str
    groups: Callable[[PassView, datetime], Iterable[Memories]]
    sources: Callable[[InsightPolicy], int]
    keys: Callable[[InsightPolicy, Sequence[Fact]], Mapping[str, object]]
    ends: Callable[[PassView, datetime, Memories], Memories] = (
        lambda _view, _now, some: some
    )
    usage: Callable[[InsightPolicy], Usage] = lambda _policy: Usage()


def conclude(kind: Conclusion) -> Pass:
    """Return the pass that draws conclusions of one kind.

    It concludes from as many groups as the run may, in an approved run from those with
    an approved memory. A memory supports one conclusion.
    """

    def run(view: PassView, now: datetime) -> list[Step]:
        policy, approved = view.policy.insight, view.approved
        groups = [
            group
            for group in kind.groups(view, now)
            if approved is None or any(one.fact.id in approved for one in group)
        ]
        found: list[Step] = []
        room = max(0, policy.runs - view.created_by_pass.get(kind.name, 0))
        for group in groups[:room]:
            rows = numbered(view, [one.fact for one in group])
            why = f"{len(group)} memories are similar"
            reply = view.ask(kind.task, {"memories": rows}, why)
            found += reply.steps
            answer, used = reply.answer or {}, set[int]()
            for item in answer.get("insights", [answer])[: policy.insights]:
                numbers = [n for n in item.get("from", ()) if n not in used]
                used.update(numbers)
                chosen = [group[number - 1] for number in numbers]
                if len(chosen) >= kind.sources(policy):
                    found += _concluded(view, now, kind, item["text"], chosen)
        return found

    run.__name__ = kind.name
    return run


def _concluded(
    view: PassView, now: datetime, kind: Conclusion, text: str, chosen: Memories
) -> list[Step]:
    """Return a new memory from `chosen`, and the archiving of some of them (`X22`).

    Returns no steps if a user removed this statement before (`X8`), if it is known, or
    if nothing would be archived.
    """
    archived = kind.ends(view, now, chosen)
    if not archived or is_known(view, text) or _is_removed(view, now, text):
        return []
    facts = [one.fact for one in chosen]
    if refusal := _refusal(view, facts):
        return [refusal]
    ended = tuple(one.fact.id for one in archived)
    fact = concluded_fact(now, kind.name, text, facts, supersedes=ended)
    fact = replace(fact, **kind.keys(view.policy.insight, facts))  # type: ignore[arg-type]
    ends = [
        archive_move(
            one.fact,
            kind.why,
            now,
            view.zone,
            {
                "superseded_by": [*one.fact.superseded_by, fact.id],
                "end_reason": f"absorbed: {kind.name}",
            },
        )
        for one in archived
    ]
    reason = f"concluded from {len(facts)} memories"
    new = NewMemory(fact, reason, kind.name, kind.usage(view.policy.insight))
    return [ChangeGroup((new, *ends), ask=not all(map(_may_go, archived)))]


def concluded_fact(
    now: datetime,
    by: str,
    text: str,
    facts: Sequence[Fact],
    supersedes: tuple[str, ...] = (),
) -> Fact:
    """Return a new memory with the turns, entities and tags of its sources."""
    turns = _distinct(key for fact in facts for key in fact.turns)
    names = tuple(fact.id for fact in facts)
    return Fact(
        ulid(now, "\n".join((by, *names, content_hash(text)))),
        text,
        created=now,
        about=_distinct(name for fact in facts for name in fact.about),
        tags=_distinct(tag for fact in facts for tag in fact.tags),
        source=turns[0] if turns else "",
        also=turns[1:],
        origin=trust.SYNTHESIZED,
        confidence=min(fact.confidence for fact in facts),
        persona=facts[0].persona,
        supersedes=supersedes,
        derived_from=names,
    )


def is_known(view: PassView, text: str) -> bool:
    """Return whether an active memory has this text."""
    digest = content_hash(text)
    return any(content_hash(one.fact.text) == digest for one in view.active())


def _is_removed(view: PassView, now: datetime, text: str) -> bool:
    """Return whether a user removed a statement before (`X8`)."""
    hidden = view.forgotten.hides(text, Utterance(now, fact=True))
    return hidden or content_hash(text) in view.tombstones


def _refusal(view: PassView, facts: Sequence[Fact]) -> Finding | None:
    """Return why nothing may be concluded from these memories, or None (`C22`)."""
    weakest = min(facts, key=lambda fact: fact.confidence)
    proposal = proposal_on(view, "summarize_node", weakest)
    if proposal.ruling == "allow":
        return None
    why = f"it may not support a conclusion: {proposal.why}"
    return Finding(weakest.id, weakest.path, why, proposal)


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _merged_keys(facts: Sequence[Fact], importance: float) -> dict[str, object]:
    """Return the most frequent category, and the greatest importance of the sources."""
    categories = Counter(fact.category for fact in facts)
    return {
        "category": min(categories, key=lambda name: (-categories[name], name)),
        "importance": max(importance, *(fact.importance for fact in facts)),
    }


def _similar(view: PassView, _now: datetime) -> list[Memories]:
    """Return groups of five similar memories or more (`D9`)."""
    policy = view.policy.insight
    some = seeds(view)[: policy.reflected]

    def close(fits: Callable[[MemoryState], bool]) -> list[Memories]:
        found = clusters(view, some, view.policy.similarity.close, fits, above=True)
        return [
            group[: policy.shown] for group in found if len(group) >= policy.cluster
        ]

    groups = close(_may_go)
    archived = {one.fact.id for group in groups for one in group}
    return groups + close(
        lambda one: one.fact.id not in archived and _may_ask(view, one, "cluster")
    )


def _forgotten(view: PassView, now: datetime) -> list[Memories]:
    """Return groups of three memories or more about an entity, unimportant and idle."""
    policy = view.policy.insight
    idle = [
        one
        for one in seeds(view)
        if one.fact.importance < policy.fold_importance
        and idle_days(one, now) >= policy.fold_days
        and _may_ask(view, one, "fold")
    ]

    def about_one(some: Iterable[MemoryState]) -> list[Memories]:
        return [
            group[: policy.shown]
            for group in _by_entity(view, some)
            if len(group) >= policy.fold
        ]

    groups = about_one(filter(_may_go, idle))
    archived = {one.fact.id for group in groups for one in group}
    groups += about_one(one for one in idle if one.fact.id not in archived)
    ready = {
        persona: _may_fold(view, persona, now)
        for persona in {group[0].fact.persona for group in groups}
    }
    return [group for group in groups if ready[group[0].fact.persona]]


def _may_fold(view: PassView, persona: str | None, now: datetime) -> bool:
    """Return whether a persona's memories may be folded (rows E9, E17).

    That is a day after the last time, or with 25 new memories.
    """
    policy = view.policy.insight
    if view.approved is not None:
        return True
    last, _, new = curation_state((one.fact for one in view.memories.values()), persona)
    rest = timedelta.max if last in {None, now} else now - last
    waits = rest < timedelta(seconds=policy.fold_seconds)
    return not waits and (
        rest >= timedelta(hours=policy.fold_hours) or new >= policy.fold_new
    )


def _related(view: PassView, _now: datetime) -> list[Memories]:
    """Return groups of related memories from which no principle was drawn (`A23`)."""
    policy = view.policy.insight
    known = {name for one in view.active() for name in one.fact.derived_from}

    def fits(one: MemoryState) -> bool:
        return not (one.fact.id in known or one.barred or one.fact.expires)

    some = [one for one in seeds(view)[: policy.reflected] if not one.barred]
    return [
        group[: policy.shown]
        for group in clusters(view, some, view.policy.similarity.related, fits)
        if len(group) >= policy.principle_sources and any(map(_may_go, group))
    ]


def _weakest(view: PassView, now: datetime, chosen: Memories) -> Memories:
    """Return the memory of the least heat that may be archived, in a list."""

    def heat(one: MemoryState) -> tuple[float, str]:
        return view.vitals(one, now).heat, one.fact.id

    return sorted(filter(_may_go, chosen), key=heat)[:1]


def _ready_episodes(
    view: PassView, now: datetime
) -> tuple[list[MemoryState], set[str]]:
    """Return the episodes that are old or faded, and the ids of those that faded."""
    faded: set[str] = set()
    ready: list[MemoryState] = []
    for one in seeds(view):
        if decay.layer_of(one.fact) != "episodic" or not _may_go(one):
            continue
        old = _is_old(view, one, now)
        if _is_faded(view, one, now, old=old):
            faded.add(one.fact.id)
        if old or one.fact.id in faded:
            ready.append(one)
    return ready, faded


def _ripe_groups(view: PassView, now: datetime) -> list[Memories]:
    """Return groups of episodes that are ready for an insight (`B15`)."""
    policy = view.policy.insight
    ready, faded = _ready_episodes(view, now)

    def ripe(some: Iterable[Memories]) -> Iterator[Memories]:
        for group in chain.from_iterable(_periods(view, one) for one in some):
            chosen = group
            if len(group) < policy.overlapping:
                chosen = [one for one in group if one.fact.id in faded]
            if len(chosen) >= policy.fold:
                yield chosen[: policy.shown]

    of_user = [one for one in ready if is_about_owner(view, one.fact)]
    own = {one.fact.id for one in of_user[: policy.reflected]}
    alike = clusters(
        view,
        of_user[: policy.reflected],
        view.policy.similarity.related,
        lambda one: one.fact.id in own,
    )
    by_likeness = (sorted(group, key=_by_time) for group in alike)
    return [*ripe(_by_entity(view, ready)), *ripe(by_likeness)]


def _periods(view: PassView, memories: Sequence[MemoryState]) -> Iterator[Memories]:
    """Yield the memories, which are in chronological order, split at long gaps."""
    silence = view.policy.insight.group_gap_days * 86400
    period: list[MemoryState] = []
    for one in memories:
        if period and _by_time(one)[0] - _by_time(period[-1])[0] > silence:
            yield period
            period = []
        period.append(one)
    if period:
        yield period


def _by_time(one: MemoryState) -> tuple[float, str]:
    return by_date(one.fact)


def _is_faded(view: PassView, one: MemoryState, now: datetime, *, old: bool) -> bool:
    """Return whether an old or often recalled memory has a low salience."""
    policy = view.policy.insight
    used_enough = old or one.usage.access >= policy.ripe_access
    return used_enough and view.vitals(one, now).salience < policy.ripe_salience


def _is_old(view: PassView, one: MemoryState, now: datetime) -> bool:
    begun = decay.fading_start(one.fact, one.usage) or now
    return now - begun > timedelta(days=view.policy.insight.ripe_days)


def _may_go(one: MemoryState) -> bool:
    """Return whether a memory may be archived in favour of a conclusion.

    Protected memories, promises and habits may not (rows X23, C27, E16; law 12).
    """
    protected = one.protected or category_of(one.fact.category).protected
    return not protected and _is_foldable(one)


def _may_ask(view: PassView, one: MemoryState, by: str) -> bool:
    """Return whether a memory may be archived with approval: free or protected ones.

    Memories that the user wrote, edited, confirmed or was asked about may not.
    """
    if one.fact.id in view.closed.get(by, ()) or not _is_foldable(one):
        return False
    return bool(one.protected) or _may_go(one)


def _is_foldable(one: MemoryState) -> bool:
    """Return whether a conclusion may replace a memory: no promise or habit."""
    fact = one.fact
    category = category_of(fact.category)
    loop = category.promise or todos.HABIT in fact.tags
    return not belongs_to_user(one) and not loop and not fact.expires


def _by_entity(
    view: PassView, memories: Iterable[MemoryState]
) -> Iterator[list[MemoryState]]:
    """Yield memories by persona and the first entity that they are about.

    Memories about the owner are left out.
    """
    is_owner = entity_names(view).is_owner
    groups: dict[tuple[str, str], list[MemoryState]] = defaultdict(list)
    for one in memories:
        if one.fact.about and not is_owner(one.fact.about[0]):
            key = one.fact.persona or "", entities.name_key(one.fact.about[0])
            groups[key].append(one)
    for _, group in sorted(groups.items()):
        yield sorted(group, key=_by_time)


cluster = conclude(
    Conclusion(
        "cluster",
        "fold",
        "is merged with similar memories",
        _similar,
        lambda policy: policy.cluster,
        lambda _policy, facts: _merged_keys(facts, 0.0),
    )
)
"""Conclude one memory from five or more similar ones, and archive these (`D9`).

Protected ones are archived only after approval (law 12).
"""
fold = conclude(
    Conclusion(
        "fold",
        "fold",
        "is merged with memories on the same subject",
        _forgotten,
        lambda policy: policy.fold,
        lambda policy, facts: _merged_keys(facts, policy.folded_importance),
    )
)
"""Conclude one memory from three or more about an entity; archive these (`E17`).

They are unimportant and have not been used for long. Protected ones are archived
only after approval (law 12).
"""
principles = conclude(
    Conclusion(
        "principles",
        "principle",
        "is replaced by a principle derived from it",
        _related,
        lambda policy: policy.principle_sources,
        lambda policy, _facts: {
            "category": "principle",
            "confidence": policy.principle_confidence,
        },
        _weakest,
        lambda policy: Usage(stability=policy.principle_stability),
    )
)
"""Conclude a principle from similar memories (rows A23, X22).

The weakest of them is archived.
"""
integrate = conclude(
    Conclusion(
        "integrate",
        "insights",
        "becomes part of a lasting insight",
        _ripe_groups,
        lambda _policy: 1,
        lambda _policy, _facts: {},
    )
)
"""Turn groups of old and faded episodes into lasting insights.

A large group need not be old. The episodes of a group are about one entity, or
about the user and similar, without a long gap between them. They are archived
(`B15`).
"""


# -- checks ----------------------------------------------------------------------------


def probe(view: PassView, now: datetime) -> list[Step]:
    """Ask a model whether lasting memories that were not used for long hold (`D9`).

    Those that no longer hold lose importance. The date selects the memories. Each day
    is done once, and a memory is not selected again while it and its neighbours are
    unchanged, because the answer would be the same.
    """
    policy, day = view.policy.insight, f"{now.astimezone(view.zone):%Y-%m-%d}"
    last_day, known = _probed(view)
    if last_day == day:
        return []
    near = _probe_neighbours(view, now, day)
    prints = {
        name: digest_of(view.memories[name].fact.text, *texts)
        for name, texts in near.items()
    }
    some = [view.memories[name] for name in near if known.get(name) != prints[name]]
    if not some:
        return []
    selected = [
        item | {"beside": near[one.fact.id]}
        for one, item in zip(
            some, numbered(view, [one.fact for one in some]), strict=True
        )
    ]
    why = f"{len(some)} were not used for {policy.probe_days:g} days"
    reply = view.ask("probe", {"memories": selected}, why)
    if reply.answer is None:
        return reply.steps

    found = reply.steps
    for number in reply.answer.get("invalid", ()):
        fact = some[number - 1].fact
        reduced = max(policy.probe_least, round(fact.importance * policy.probe_loss, 2))
        if reduced < fact.importance:
            why = "a model finds that it no longer holds"
            found.append(Edit(fact.path, fact.sha, {"importance": reduced}, why))
    seen = {
        name: digest
        for name, digest in sorted({**known, **prints}.items())
        if name in view.memories
    }
    text = json.dumps({"day": day, "seen": seen}, indent=1)
    found.append(FileWrite(PROBED, f"{text}\n".encode(), f"{len(some)} checked"))
    return found


def _probe_neighbours(view: PassView, now: datetime, day: str) -> dict[str, list[str]]:
    """Return the memories to probe on a day, by id, each with the texts near it."""
    policy = view.policy.insight

    def chance(one: MemoryState) -> str:
        return hashlib.sha256(f"{day}\n{one.fact.id}".encode()).hexdigest()

    lasting = [
        one
        for one in seeds(view)
        if decay.layer_of(one.fact) in {"semantic", "procedural"}
        and idle_days(one, now) >= policy.probe_days
        and not one.protected
        and (one.fact.valid_until is None or one.fact.valid_until > now)
    ]
    found: dict[str, list[str]] = {}
    for one in sorted(lasting, key=chance)[: policy.probes]:
        near = islice(neighbours_of(view, one, 0.0), policy.beside)
        found[one.fact.id] = [
            f"{local_date(view, other.fact.created)}: {other.fact.text}"
            for other, _ in near
        ]
    return found


def _probed(view: PassView) -> tuple[str, dict[str, str]]:
    """Return the day of the last probe, and the digests of its material by memory."""
    try:
        state = json.loads(view.read(PROBED))
        return str(state["day"]), {
            str(name): str(mark) for name, mark in state["seen"].items()
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        return "", {}


def drift(view: PassView, now: datetime) -> list[Step]:
    """Compare claims in memories with the configured folders (`D10`).

    A claim about a missing path invalidates its memory, a protected one only after
    approval (law 12). Other wrong claims, and memories that are active after their end,
    are reported with one score.
    """
    steps: list[Step] = []
    reported: list[DriftFinding] = []
    for one in view.active():
        fact = one.fact
        wrong = _wrong_claims(view, one, now) if view.roots else []
        wrong += _ended_but_active(view, one, now)
        dead = next((item for item in wrong if _is_dead_path(item)), None)
        if dead and (not belongs_to_user(one) or one.proposable):
            asks = bool(one.protected) and not one.foreign
            until = f"{now.astimezone(view.zone):%Y-%m-%dT%H:%M:%S}"
            keys = {
                "status": "invalidated",
                "end_reason": f"drift: {dead.why}",
                "valid_until": until,
            }
            edit = Edit(fact.path, fact.sha, keys, f"{dead.code}: {dead.why}")
            steps.append(ChangeGroup((edit,), ask=asks))
            if not one.foreign and not asks:
                wrong.remove(dead)
        for item in wrong:
            why = f"{item.level} {item.code}: {item.why}"
            steps.append(Finding(fact.id, fact.path, why))
        reported += wrong
    if reported:
        steps.append(Finding("", "drift", f"score {drifting.score(reported)} of 100"))
    return steps


def _wrong_claims(
    view: PassView, one: MemoryState, now: datetime
) -> list[DriftFinding]:
    """Return the wrong claims of a memory; [] for the codebase layer."""
    if decay.layer_of(one.fact) == "codebase":
        return []
    claims = drifting.find_claims(one.fact.text)
    if not claims:
        return []
    checked = (
        drifting.check_claim(claim, view.roots, view.reader.disk) for claim in claims
    )
    return [item for item in checked if item] + _stale_claims(view, one, now)


def _ended_but_active(
    view: PassView, one: MemoryState, now: datetime
) -> list[DriftFinding]:
    """Return a finding for an active memory whose note says that it ended."""
    until = one.fact.valid_until
    if until is None or until > now:
        return []
    why = f"it ended on {until.astimezone(view.zone):%Y-%m-%d} and is still active"
    return [drifting.DriftFinding("warning", "INVALIDATED_ACTIVE", why)]


def _is_dead_path(item: DriftFinding) -> bool:
    return (item.level, item.code) == ("error", "DEAD_PATH")


def _stale_claims(
    view: PassView, one: MemoryState, now: datetime
) -> list[DriftFinding]:
    """Return a finding for a memory with claims that has not been used for long."""
    policy, days = view.policy.insight, idle_days(one, now)
    if days < policy.drift_warning_days:
        return []
    level: drifting.Level = "error" if days >= policy.drift_error_days else "warning"
    why = f"untouched for {days:.0f} days"
    return [drifting.DriftFinding(level, "STALE_MEMORY", why)]


# -- guidelines from the action log ----------------------------------------------------


def guidelines(view: PassView, now: datetime) -> list[Step]:
    """Write `state/compression-guidelines.md` from the action log (`C21`).

    It counts the actions and their outcomes, with advice. It is written only when the
    text changes.
    """
    rows = actions.parse_log(view.read(ACTIONS), view.policy.actions.events)
    text = actions.guidelines(rows, view.policy.actions)
    before = view.read(actions.GUIDELINES_FILE).decode(errors="replace")
    if not text or before.partition("\n\n")[2].partition("\n")[2] == text:
        return []
    new = f"{_HEAD}{now.astimezone(UTC).isoformat(timespec='seconds')}\n{text}"
    return [FileWrite(actions.GUIDELINES_FILE, new.encode(), f"{len(rows)} events")]
