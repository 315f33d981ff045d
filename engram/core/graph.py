"""What belongs together, for how long, and where a thought goes from there (rows A13,
B1, C34).

An edge's confidence is anchored: it is stored with the time it was last seen and read
through `edge_confidence`; nothing is ever decayed in place.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from heapq import nlargest, nsmallest
from operator import mul
from typing import TYPE_CHECKING

from engram.core.records import REMEMBERED, Edge

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.core.policy import LinkPolicy
    from engram.core.records import Fact

SESSION_PREFIX = "#^"
"""What the name of a conversation's strand begins with; no link holds it."""

_DAY = 86400.0
_NO_TALK = re.compile(rf"^[\d-]+{REMEMBERED}(?:-\d+)?$")
_CAUSE = re.compile(
    r"\b(?:because (?:of )?(?:this|that|it)|as a result|therefore|for (?:this|that) reason|that is why|which is why"
    r"|deshalb|deswegen|darum|c'est pourquoi|par conséquent|por eso|por lo tanto|per questo|por isso|daarom)\b"
    r"|因此|所以|そのため|だから"
)
_CAUSE_WORDS = (
    *(
        "because ",
        "as a result",
        "therefore",
        " reason",
        " is why",
        "deshalb",
        "deswegen",
        "darum",
        "c'est pourquoi",
    ),
    *(
        "par conséquent",
        "por eso",
        "por lo tanto",
        "per questo",
        "por isso",
        "daarom",
        "因此",
        "所以",
        "そのため",
        "だから",
    ),
)
"""A text without any of these holds no `_CAUSE`: to look for plain words is ten times
as fast.
"""


def similarity_edges(
    memory: str,
    neighbours: Iterable[tuple[str, float]],
    now: datetime,
    policy: LinkPolicy,
) -> tuple[Edge, ...]:
    """The ties of a new memory to its most similar neighbours (`A13`): the top 3 with
    0.40 ≤ s < 0.85.

    `neighbours` are ids with their similarity 0–1, the calibrated one. Without
    direction, so each stands once, its ends in order. The similarity itself is not
    kept: it belongs to the embedder of the day.
    """
    near = sorted(
        (-score, other)
        for other, score in neighbours
        if policy.similar <= score < policy.duplicate
    )
    others = dict.fromkeys(other for _, other in near if other != memory)
    pairs = [(min(memory, other), max(memory, other)) for other in others]
    return tuple(
        Edge(first, last, "similar", reinforced=now)
        for first, last in pairs[: policy.most]
    )


@dataclass(frozen=True, slots=True)
class Position:
    """A row of memories on which one has its place `at`: those about an entity, or
    those of a conversation.

    `name` is the entity's or begins with `SESSION_PREFIX`; `cause` says that the memory before
    it led to this one.
    """

    name: str
    at: float
    cause: bool = False


def positions(fact: Fact) -> tuple[Position, ...]:
    """The rows in which a memory stands (`C34`): by time for each entity, by turn in
    its conversation.

    From them follow ties that are never stored. *entity*: to the latest 10 earlier
    memories about the same; *time*: to the memory before it in the conversation, which
    what people ask to keep is none; *causal*: the same, from cause to effect, where the
    statement says so in words.
    """
    when = fact.created.timestamp() if fact.created else 0.0
    about = tuple(Position(name, when) for name in dict.fromkeys(fact.about))
    note, turn, block = fact.source.partition("#^t")
    if not turn or _NO_TALK.search(note):
        return about
    place = float(block) if block.isdecimal() else 0.0
    return (*about, Position(f"{SESSION_PREFIX}{note}", place, _tells_cause(fact.text)))


def _tells_cause(text: str) -> bool:
    """Whether `text` says in words that what was told before led to it."""
    folded = text.lower()
    return (
        any(map(folded.__contains__, _CAUSE_WORDS))
        and _CAUSE.search(folded) is not None
    )


def lookback(name: str, policy: LinkPolicy) -> int:
    """To how many before it a memory is tied on a strand of this name (`C34`)."""
    return 1 if name.startswith(SESSION_PREFIX) else policy.siblings


def edge_type(strand: str, *, cause: bool) -> str:
    """The type of a tie on a strand of this name to a memory that says so, or not, what
    led to it (`C34`).
    """
    return (
        ("causal" if cause else "time")
        if strand.startswith(SESSION_PREFIX)
        else "entity"
    )


def reinforce(
    edge: Edge, now: datetime, policy: LinkPolicy, delta: float | None = None
) -> Edge:
    """The edge seen again (`C34`): its effective confidence + 0.05, at most 1, anchored
    now.

    A negative `delta` is ignored, and so is an observation older than the anchor.
    """
    gain = policy.reinforce if delta is None else delta
    if gain < 0 or (edge.reinforced and now <= edge.reinforced):
        return edge
    return replace(
        edge,
        confidence=min(1.0, edge_confidence(edge, now, policy) + gain),
        reinforced=now,
    )


def edge_confidence(edge: Edge, now: datetime, policy: LinkPolicy) -> float:
    """What the confidence is worth at `now`, 0–1 (`C34`): max(floor, c − 0.1·⌈(age − 90
    d) / 90 d⌉) after the grace.

    An edge below the floor is never raised to it; one without an anchor does not fade.
    1.0 last seen 91 days ago is worth 0.9, after 181 days 0.8, after 1,000 days 0.1.
    """
    if edge.reinforced is None or edge.confidence <= policy.floor:
        return edge.confidence
    window = policy.window_days * _DAY
    steps = math.ceil(((now - edge.reinforced).total_seconds() - window) / window)
    return (
        max(policy.floor, edge.confidence - policy.step * steps)
        if steps > 0
        else edge.confidence
    )


def update_relations(
    edges: Sequence[Edge],
    seen: Edge,
    now: datetime,
    policy: LinkPolicy,
    *,
    single: bool,
) -> tuple[Edge, ...]:
    """What changes among the relations `edges` when `seen` is said to hold at `now`
    (`B1`); nothing if it is old news.

    All of one type: those of the same source where `single` says that it holds to one
    at a time. A relation that holds already is reinforced, also by the same evidence
    twice only once; else a new one is opened. With `single` that ends the one before
    it, and what was said earlier but learned later ends where the next began. What was
    said before the last word for a relation that held then is old news. The closed ones
    stay.
    """
    same = [edge for edge in edges if _ends(edge) == _ends(seen)]
    for edge in same:
        if edge.valid_until == now:  # what was said at the same instant ended it
            return ()
        if _holds(edge, now):
            again = reinforce(edge, now, policy)
            return () if again == edge else (again,)
    rivals = list(edges) if single else same
    holding = [edge for edge in rivals if _holds(edge, now)]
    if any(edge.reinforced and edge.reinforced > now for edge in holding):
        return ()
    later = [
        edge.valid_from for edge in rivals if edge.valid_from and edge.valid_from > now
    ]
    opened = replace(
        seen, reinforced=now, valid_from=now, valid_until=min(later, default=None)
    )
    closed = [
        replace(edge, valid_until=now) for edge in holding if edge.valid_until != now
    ]
    return (*closed, opened)


def ended_relations(
    edges: Iterable[Edge], seen: Edge, now: datetime
) -> tuple[Edge, ...]:
    """Those of `edges` that end when `seen` is said to be over at `now`, and nothing in
    their place (`B1`).

    That is what held then between its ends, unless it was heard later that it holds.
    """
    return tuple(
        replace(edge, valid_until=now)
        for edge in edges
        if _ends(edge) == _ends(seen)
        and _holds(edge, now)
        and not (edge.reinforced and edge.reinforced > now)
    )


WeightedEdge = tuple[str, str, str, float]
"""Where a thought may go: from, to, the type of the tie, its confidence now; back too,
unless that is causal.
"""


def weighted_edges(
    edges: Iterable[Edge], now: datetime, policy: LinkPolicy
) -> list[WeightedEdge]:
    """The edges that hold at `now`, with what is left of their confidence (`C34`)."""
    held = (
        edge for edge in edges if edge.valid_until is None or edge.valid_until > now
    )
    return [
        (edge.source, edge.target, edge.type, edge_confidence(edge, now, policy))
        for edge in held
    ]


def spread_activation(
    seeds: Mapping[str, float],
    around: Callable[[Collection[str]], Iterable[WeightedEdge]],
    policy: LinkPolicy,
) -> dict[str, float]:
    """The activation of what is tied to `seeds`, at most 3 hops away, without the seeds
    themselves (`C34`).

    `around` gives the ties of some memories; with each hop it is asked about the
    strongest just reached, as long as they can hand on `policy.enough`. Along a path
    activation is the seed's (0–1) times weight · confidence · 0.7 for each hop; the
    best path counts. A tie whose weight times confidence is below 0.2 is not followed.
    Then 8 refinements, which gather in few what belongs to many and so are scaled back
    to what the best path brought, and the lateral inhibition.
    """
    known: dict[str, dict[str, float]] = {}
    reached = dict(seeds)
    wave = {node: value for node, value in seeds.items() if value > 0}
    for _ in range(policy.hops):
        if not wave:
            break
        _widen(known, around(wave), policy)
        ahead: dict[str, float] = {}
        for node, value in wave.items():
            for other, strength in known.get(node, {}).items():
                arriving = value * strength * policy.hop
                if other not in seeds and arriving > ahead.get(
                    other, reached.get(other, 0.0)
                ):
                    ahead[other] = arriving
        reached |= ahead
        strong = [
            (node, value)
            for node, value in ahead.items()
            if value * policy.hop >= policy.enough
        ]
        wave = dict(nsmallest(policy.wave, strong, key=lambda one: (-one[1], one[0])))
    found = {node: value for node, value in reached.items() if node not in seeds}
    settled = refine(found, known, policy)
    most = max(settled.values(), default=0.0)
    scale = min(1.0, max(found.values()) / most) if most else 1.0
    return inhibit({node: value * scale for node, value in settled.items()}, policy)


def refine(
    activation: Mapping[str, float],
    weighted_edges: Mapping[str, Mapping[str, float]],
    policy: LinkPolicy,
) -> dict[str, float]:
    """8 rounds of s'(v) = 0.15·s(v) + 0.85·Σ_u s(u)·way(u,v) / Σ_out(u), over ties
    between what was reached (`C34`).

    `ways[u][v]` is confidence times weight. A node without such a tie keeps its 0.85:
    the sum never changes.
    """
    place = {node: number for number, node in enumerate(activation)}
    kept, flows = [1.0] * len(place), []
    for node, number in place.items():
        ties = [
            (place[other], strength)
            for other, strength in weighted_edges.get(node, {}).items()
            if other in place
        ]
        if total := sum(strength for _, strength in ties):
            kept[number] = 1 - policy.damping
            flows.append(
                (
                    number,
                    [
                        (other, policy.damping * strength / total)
                        for other, strength in ties
                    ],
                )
            )
    scores = list(activation.values())
    for _ in range(policy.rounds):
        fresh = list(map(mul, scores, kept))
        for number, shares in flows:
            score = scores[number]
            for other, share in shares:
                fresh[other] += score * share
        scores = fresh
    return dict(zip(place, scores, strict=True))


def inhibit(activation: Mapping[str, float], policy: LinkPolicy) -> dict[str, float]:
    """The strongest 7 hold the others down (`C34`): a(v) − 0.15·Σ max(0, a(k) − a(v)),
    not below 0; order is kept.
    """
    top = nlargest(policy.rivals, activation.values())
    least, total = min(top, default=0.0), sum(top)

    def above(value: float) -> float:
        return (
            total - len(top) * value
            if value <= least
            else sum(rival - value for rival in top if rival > value)
        )

    return {
        node: max(0.0, value - policy.inhibition * above(value))
        for node, value in activation.items()
    }


def _widen(
    known: dict[str, dict[str, float]],
    found: Iterable[WeightedEdge],
    policy: LinkPolicy,
) -> None:
    """Add where one can go from each node, with weight times confidence; of parallel
    ties the strongest.
    """
    weights = {
        "similar": policy.similar_weight,
        "entity": policy.entity_weight,
        "time": policy.time_weight,
        "causal": policy.causal_weight,
        "relation": policy.relation_weight,
    }
    for start, end, what, confidence in found:
        strength = weights.get(what, 0.0) * confidence
        if strength < policy.prune or start == end:
            continue
        there = known.setdefault(start, {})
        if strength > there.get(end, 0.0):
            there[end] = strength
        if what != "causal":
            back = known.setdefault(end, {})
            if strength > back.get(start, 0.0):
                back[start] = strength


def _ends(edge: Edge) -> tuple[str, str]:
    """The ends by their names alone: a type is a guess that a person may correct."""
    return edge.source.partition(":")[2], edge.target.partition(":")[2]


def _holds(edge: Edge, when: datetime) -> bool:
    """Whether it held then; the instant of its end is its successor's."""
    begun = edge.valid_from is None or edge.valid_from <= when
    return begun and (edge.valid_until is None or when < edge.valid_until)
