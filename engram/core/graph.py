"""Edges between memories, and activation that spreads over them (`A13`, `B1`, `C34`).

The confidence of an edge is stored with the time of its last observation;
`edge_confidence` computes the effective value. The stored value never decays.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from heapq import nlargest, nsmallest
from operator import mul
from typing import TYPE_CHECKING

from engram.core.records import REMEMBERED, Edge, Fact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from datetime import datetime

    from engram.core.policy import LinkPolicy

SESSION_PREFIX = "#^"
"""The prefix of the name of a conversation's strand; no link contains it."""

_DAY = 86400.0
_NOT_A_CONVERSATION = re.compile(rf"^[\d-]+{REMEMBERED}(?:_[0-9a-f]+)?(?:-\d+)?$")
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
"""A text without any of these words does not match `_CAUSE`.

Searching plain words is ten times as fast.
"""


def similarity_edges(
    memory: str,
    neighbours: Iterable[tuple[str, float]],
    now: datetime,
    policy: LinkPolicy,
) -> tuple[Edge, ...]:
    """Return the edges of a new memory to its most similar neighbours (`A13`).

    `neighbours` are ids with their calibrated similarity, 0–1; the top 3 with 0.40 ≤ s
    < 0.85 count. The edges are undirected, so the ends are in order. The similarity
    itself is not stored, because it belongs to the current embedder.
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
    """The position `at` of a memory on a strand.

    A strand is a sequence of memories: those about one entity, or those of one
    conversation. `name` is the entity's, or begins with `SESSION_PREFIX`; `cause` is
    true if the preceding memory is the cause of this one.
    """

    name: str
    at: float
    cause: bool = False


def positions(fact: Fact) -> tuple[Position, ...]:
    """Return the positions of a memory on its strands (`C34`).

    They are ordered by time for each entity, and by turn in a conversation. The edges
    that follow from positions are never stored. *entity*: to the latest 10 earlier
    memories about the same entity; *time*: to the preceding memory of the conversation,
    except for memories that the user asked to keep; *causal*: the same, from cause to
    effect, if the text names a cause.
    """
    when = fact.created.timestamp() if fact.created else 0.0
    about = tuple(Position(name, when) for name in dict.fromkeys(fact.about))
    note, turn, block = fact.source.partition("#^t")
    if not turn or _NOT_A_CONVERSATION.search(note):
        return about
    place = float(block) if block.isdecimal() else 0.0
    return (*about, Position(f"{SESSION_PREFIX}{note}", place, _tells_cause(fact.text)))


def _tells_cause(text: str) -> bool:
    """Return whether `text` names the preceding statement as its cause."""
    folded = text.lower()
    return (
        any(map(folded.__contains__, _CAUSE_WORDS))
        and _CAUSE.search(folded) is not None
    )


def lookback(name: str, policy: LinkPolicy) -> int:
    """Return how many earlier memories of a strand one memory is linked to (`C34`)."""
    return 1 if name.startswith(SESSION_PREFIX) else policy.siblings


def edge_type(strand: str, *, cause: bool) -> str:
    """Return the type of an edge along the strand `name` (`C34`).

    `cause` is true if the later memory names the earlier one as its cause.
    """
    if not strand.startswith(SESSION_PREFIX):
        return "entity"
    return "causal" if cause else "time"


def reinforce(
    edge: Edge, now: datetime, policy: LinkPolicy, delta: float | None = None
) -> Edge:
    """Return the edge after an observation at `now` (`C34`).

    The effective confidence rises by 0.05 or `delta`, to at most 1. A negative `delta`
    is ignored, and so is an observation older than the last one.
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
    """Return the effective confidence of an edge at `now`, 0–1 (`C34`).

    It is max(floor, c − 0.1·⌈(age − 90 d) / 90 d⌉) after the first 90 days. An edge
    below the floor is never raised to it; one without a time of observation does not
    fade. 1.0 last observed 91 days ago gives 0.9, after 181 days 0.8, after 1,000 days
    0.1.
    """
    if edge.reinforced is None or edge.confidence <= policy.floor:
        return edge.confidence
    window = policy.window_days * _DAY
    steps = math.ceil(((now - edge.reinforced).total_seconds() - window) / window)
    if steps <= 0:
        return edge.confidence
    return max(policy.floor, edge.confidence - policy.step * steps)


WeightedEdge = tuple[str, str, str, float]
"""Source, target, type and current confidence of an edge.

An edge is followed in both directions, unless it is causal.
"""


def weighted_edges(
    edges: Iterable[Edge], now: datetime, policy: LinkPolicy
) -> list[WeightedEdge]:
    """Return the edges that hold at `now`, with their effective confidence (`C34`)."""
    return [
        (edge.source, edge.target, edge.type, edge_confidence(edge, now, policy))
        for edge in edges
        if edge.holds(now)
    ]


def spread_activation(
    seeds: Mapping[str, float],
    around: Callable[[Collection[str]], Iterable[WeightedEdge]],
    policy: LinkPolicy,
) -> dict[str, float]:
    """Return the activation of memories at most 3 hops away from `seeds` (`C34`).

    `around` returns the edges of some memories; each hop requests those of the
    strongest memories just reached that can pass on at least `policy.enough`. Along a
    path the activation is the seed's (0–1) times weight · confidence · 0.7 for each
    hop; the best path counts. An edge whose weight times confidence is below 0.2 is not
    followed. Then follow 8 rounds of `refine`, which concentrate the activation and are
    therefore scaled back to the best path, and `inhibit`.
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
        wave = dict(
            nsmallest(policy.wave, strong, key=lambda memory: (-memory[1], memory[0]))
        )
    activation = {node: value for node, value in reached.items() if node not in seeds}
    refined = refine(activation, known, policy)
    strongest = max(refined.values(), default=0.0)
    scale = min(1.0, max(activation.values()) / strongest) if strongest else 1.0
    return inhibit({node: value * scale for node, value in refined.items()}, policy)


def refine(
    activation: Mapping[str, float],
    weighted_edges: Mapping[str, Mapping[str, float]],
    policy: LinkPolicy,
) -> dict[str, float]:
    """Return the activation after 8 rounds over edges between reached memories (`C34`).

    Each round is s'(v) = 0.15·s(v) + 0.85·Σ_u s(u)·w(u,v) / Σ_out(u), where
    `weighted_edges[u][v]` is w(u,v), confidence times weight. A node without such an
    edge keeps its 0.85, so the sum never changes.
    """
    place = {node: number for number, node in enumerate(activation)}
    retained, flows = [1.0] * len(place), []
    for node, number in place.items():
        ties = [
            (place[other], strength)
            for other, strength in weighted_edges.get(node, {}).items()
            if other in place
        ]
        if total := sum(strength for _, strength in ties):
            retained[number] = 1 - policy.damping
            shares = [
                (other, policy.damping * strength / total) for other, strength in ties
            ]
            flows.append((number, shares))
    scores = list(activation.values())
    for _ in range(policy.rounds):
        fresh = list(map(mul, scores, retained))
        for number, shares in flows:
            score = scores[number]
            for other, share in shares:
                fresh[other] += score * share
        scores = fresh
    return dict(zip(place, scores, strict=True))


def inhibit(activation: Mapping[str, float], policy: LinkPolicy) -> dict[str, float]:
    """Return each activation, lowered by those of the strongest 7 (`C34`).

    This lateral inhibition is a(v) − 0.15·Σ max(0, a(k) − a(v)), at least 0; it
    preserves the order.
    """
    top = nlargest(policy.rivals, activation.values())
    least, total = min(top, default=0.0), sum(top)

    def excess(value: float) -> float:
        if value <= least:
            return total - len(top) * value
        return sum(rival - value for rival in top if rival > value)

    return {
        node: max(0.0, value - policy.inhibition * excess(value))
        for node, value in activation.items()
    }


def _widen(
    known: dict[str, dict[str, float]],
    found: Iterable[WeightedEdge],
    policy: LinkPolicy,
) -> None:
    """Add the neighbours of each node with weight times confidence to `known`.

    Of parallel edges the strongest counts.
    """
    weights = {
        "similar": policy.similar_weight,
        "entity": policy.entity_weight,
        "time": policy.time_weight,
        "causal": policy.causal_weight,
        "relation": policy.relation_weight,
    }
    for start, end, kind_, confidence in found:
        strength = weights.get(kind_, 0.0) * confidence
        if strength < policy.prune or start == end:
            continue
        edges_of_start = known.setdefault(start, {})
        if strength > edges_of_start.get(end, 0.0):
            edges_of_start[end] = strength
        if kind_ != "causal":
            back = known.setdefault(end, {})
            if strength > back.get(start, 0.0):
                back[start] = strength
