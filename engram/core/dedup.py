"""Decide the effect of a new statement on the known facts, with the reason.

`check` decides the cases without a comparison. The other candidates are compared with
their neighbours by `verdict_by_similarity`, and `decide` returns the changes. All three
are pure functions: the caller searches, writes, and asks a model if the verdict is
`judge`.

    verdict = check(...)
    if verdict.action == "create":
        verdict = verdict_by_similarity(neighbours, cuts, model=…)
        judgement = ask(…, verdict.neighbours) if verdict.action == "judge" else None
        decision = decide(verdict, evidence, policy, judgement)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engram.core.categories import category_of
from engram.core.text import content_hash, is_ulid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.core.policy import DedupPolicy, SimilarityPolicy
    from engram.core.records import Fact

Action = Literal["create", "confirm", "skip", "review", "reinforce", "judge"]
JUDGEMENTS_FILE = "state/compared.json"
"""The file of a model's judgements on pairs of statements.

They stay true, so undoing a run does not remove them.
"""

SAME_WORDS = "same statement"
ALREADY_FILED = "already filed"
REMOVED_BEFORE = "a person removed this before"
NEWER_KNOWN = "something younger is known"
SAYS_MORE = "says more than a protected memory"

SAYS_THE_SAME = "says the same as another"
JUDGED_THE_SAME = "judged the same as another"
"""The reason of maintenance for superseding a memory with another one (`A22`)."""

RelationKind = Literal["same", "contradicts", "independent"]
EffectAction = Literal[
    "confirm",
    "reinforce",
    "rewrite",
    "weaken",
    "invalidate",
    "supersede",
    "settle",
    "ask",
]
Destination = Literal["active", "review", "superseded", ""]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An active fact near a candidate, with their nominal similarity, 0–1.

    `conflict` is the reason, from the words alone, why both cannot be true; `distinct`
    is the reason why they are two facts at any similarity (`similarity.compared`).
    Either is '' if it does not apply.
    """

    fact: Fact
    similarity: float
    same_slot: bool = False
    conflict: str = ""
    distinct: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The action on a candidate, with the reason.

    `match` is the id of the fact that it matches, or ''; `neighbours` are the facts to
    judge, nearest first.
    """

    action: Action
    why: str
    match: str = ""
    neighbours: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer of a model about a candidate and its numbered neighbours.

    `index` is 1 for the first neighbour, 0 for none. `warning` is the reason why an
    answer with another relation is treated as independent.
    """

    relation: RelationKind
    index: int = 0
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for a candidate, and the limits on its effects.

    `source` is the key of its turn; `from_user` is true if the user made the statement,
    `correction` if it corrects a fact (by its category or the words of the turn).
    `barred` maps the id of a fact to the reason why the candidate may not replace it
    (`trust.supersede_refusal`). `newer` are the ids of facts with later evidence.
    `remaining` is the number of facts that the batch may still retire. `protected` are
    the ids of facts whose words stay, and `exceeded` those of them that contain less
    information than the candidate (law 12).
    """

    source: str
    from_user: bool
    correction: bool = False
    barred: Mapping[str, str] | None = None
    newer: frozenset[str] = frozenset()
    remaining: int = 0
    protected: frozenset[str] = frozenset()
    exceeded: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Effect:
    """A change of a known fact.

    confirm: logged, no file changes. reinforce: new `confidence`, evidence added.
    rewrite: the text in the newer words (`merge`), the old ones under History. weaken:
    new `confidence`, linked both ways. invalidate, supersede: that status and
    `valid_until`, linked both ways; with `add_tombstone` the old statement gets a
    tombstone. settle: a promise gets the tag `settled`. ask: a review case.
    """

    action: EffectAction
    fact: Fact
    why: str
    confidence: float | None = None
    add_tombstone: bool = False
    settled: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The destination of the candidate, and the changes of known facts.

    `destination` is active, review or superseded; '' means that the candidate gets no
    file. `superseded_by` is the id of the fact that supersedes it, or ''.
    """

    destination: Destination
    why: str
    effects: tuple[Effect, ...] = ()
    superseded_by: str = ""


def check(
    *,
    trivial: bool,
    grounded: bool,
    filed: bool,
    duplicate: str | None,
) -> Verdict:
    """Return the first verdict that needs no comparison, else `create`.

    In this order: `filed`, the same candidate was filed before a crash; `trivial`;
    `duplicate`, the id of an active fact with the same content hash (`C5`), which is
    confirmed without a new file; not `grounded`, its quote is not in the turn (`X17`).
    """
    if filed:
        return Verdict("skip", ALREADY_FILED)
    if trivial:
        return Verdict("skip", "trivial")
    if duplicate:
        return Verdict("confirm", SAME_WORDS, duplicate)
    if not grounded:
        return Verdict("review", "no evidence in the turn")
    return Verdict("create", "new")


def _is_near(neighbour: Neighbour, cuts: SimilarityPolicy) -> bool:
    """Return whether a neighbour is similar enough to be judged.

    Facts of the same slot need less similarity.
    """
    least = cuts.link if neighbour.same_slot else cuts.grey
    return neighbour.similarity >= least


def verdict_by_similarity(
    neighbours: Sequence[Neighbour], cuts: SimilarityPolicy, *, model: bool
) -> Verdict:
    """Return the verdict on a candidate and its nearest active facts (`A7`, `E5`).

    Above .85 the best neighbour is reinforced, unless the words make the two distinct.
    All neighbours from .70 to .85, the distinct ones above that, and those of the same
    slot from .40 are judged together if there is a model. Without a model, a conflict
    of words gives `review`.
    """
    active = sorted(
        (neighbour for neighbour in neighbours if neighbour.fact.status == "active"),
        key=lambda neighbour: (-neighbour.similarity, neighbour.fact.id),
    )
    same = [
        neighbour
        for neighbour in active
        if neighbour.similarity > cuts.same and not neighbour.distinct
    ]
    if same:
        why = f"says the same ({same[0].similarity:.2f})"
        return Verdict("reinforce", why, same[0].fact.id, (same[0],))

    near = tuple(neighbour for neighbour in active if _is_near(neighbour, cuts))
    if not near:
        return Verdict("create", "new")
    if model:
        why = f"near {len(near)} known ({near[0].similarity:.2f})"
        return Verdict("judge", why, near[0].fact.id, near)

    for neighbour in near:
        if neighbour.conflict:
            return Verdict(
                "review", neighbour.conflict, neighbour.fact.id, (neighbour,)
            )
    return Verdict("create", "near others, and no model to compare")


def decide(
    verdict: Verdict,
    evidence: Evidence,
    policy: DedupPolicy,
    judgement: Judgement | None = None,
) -> Decision:
    """Return the decision for a verdict and, if there is one, a model's judgement.

    A missing judgement, or one that names no neighbour, is treated as independent.
    Without a model a conflict of words retires the old fact if the user corrects it
    explicitly; otherwise the user is asked (rows `A8`–`A11`, `C33`, `X8`, `X9`).
    """
    if verdict.action == "reinforce":
        return _repeat(verdict.neighbours[0], evidence, policy, verdict.why)

    if verdict.action == "review" and verdict.neighbours:
        known = verdict.neighbours[0]
        if evidence.correction and evidence.from_user:
            return _contradict(known, evidence, policy)
        return _ask(known, evidence)

    judged = (
        judgement is not None
        and judgement.relation != "independent"
        and 1 <= judgement.index <= len(verdict.neighbours)
    )
    if judgement is None or not judged:
        is_judged = verdict.action == "judge"
        return Decision(
            "active", "independent of what is near" if is_judged else verdict.why
        )

    known = verdict.neighbours[judgement.index - 1]
    if judgement.relation == "contradicts":
        return _contradict(known, evidence, policy)
    return _repeat(known, evidence, policy, "judged the same", newer=True)


def _repeat(
    known: Neighbour,
    evidence: Evidence,
    policy: DedupPolicy,
    why: str,
    *,
    newer: bool = False,
) -> Decision:
    """Decide on a candidate with the same meaning as a known fact.

    The candidate becomes evidence of that fact. If the fact is protected and contains
    less information, the candidate becomes a separate fact: its addition would be lost
    (law 12).
    """
    if known.fact.id in evidence.exceeded:
        return Decision("active", SAYS_MORE)
    return Decision("", why, (_confirm(known, evidence, policy, why, newer=newer),))


def _confirm(
    known: Neighbour,
    evidence: Evidence,
    policy: DedupPolicy,
    why: str,
    *,
    newer: bool = False,
) -> Effect:
    """Return the effect that confirms, reinforces or rewrites `known` (`A8`, `X23`).

    A turn counts once. A fact of the user and a protected one keep their words.
    """
    fact = known.fact
    if is_user_backed(fact) or evidence.source in (fact.source, *fact.also):
        return Effect("confirm", fact, why)
    raised = reinforced_confidence(fact.confidence, policy)
    may_rewrite = newer and evidence.from_user and not is_event(fact)
    may_rewrite = may_rewrite and fact.id not in evidence.protected
    if may_rewrite and not _replacement_bar(fact, evidence):
        return Effect("rewrite", fact, why, raised)
    return Effect("reinforce", fact, why, raised)


def repeated(
    fact: Fact, source: str, policy: DedupPolicy, why: str = SAME_WORDS
) -> Effect:
    """Return the effect of a literal repetition in the turn `source` on a fact (`A8`).

    The turn becomes one more source of the fact, unless a person vouches for the fact,
    the turn is already a source, or the note has the largest number of sources: then
    the repetition is only logged.
    """
    known = tuple(key for key in (fact.source, *fact.also) if key)
    if is_user_backed(fact) or source in known or len(known) >= policy.sources:
        return Effect("confirm", fact, why)
    raised = reinforced_confidence(fact.confidence, policy)
    return Effect("reinforce", fact, why, raised)


def _contradict(known: Neighbour, evidence: Evidence, policy: DedupPolicy) -> Decision:
    """Decide on a contradiction; the first rule that applies counts.

    An event stays, because it did happen (`C33`); older evidence changes no newer fact;
    a source of lower trust waits in review (`X27`); for a fact of the user, and beyond
    the limit of the batch, the user is asked (`X23`); a correction supersedes the old
    fact and adds a tombstone (`X8`); a fact from three sessions is weakened (`A10`);
    any other is invalidated (`A11`).
    """
    fact, why = known.fact, known.conflict or "judged a contradiction"
    ask = Effect("ask", fact, why)
    if is_event(fact) and not evidence.correction:
        return Decision("active", "what happened stays")
    if fact.id in evidence.newer:
        return Decision("superseded", NEWER_KNOWN, superseded_by=fact.id)
    if barred := (evidence.barred or {}).get(fact.id):
        return Decision("review", barred, (ask,))
    if is_user_backed(fact):
        return Decision("active", "a person stands by the old one", (ask,))

    if not evidence.correction and session_count(fact) >= policy.episodes:
        weakened = weakened_confidence(fact.confidence, policy)
        return Decision("active", why, (Effect("weaken", fact, why, weakened),))

    if evidence.remaining <= 0:
        return Decision("active", "too many changes at once", (ask,))
    if evidence.correction:
        effect = Effect("supersede", fact, "corrected", add_tombstone=True)
        return Decision("active", "corrected", (effect,))
    return Decision("active", why, (Effect("invalidate", fact, why),))


def _ask(known: Neighbour, evidence: Evidence) -> Decision:
    """Decide on a conflict that only the words show: file the candidate, ask the user.

    An older statement is superseded; one of lower trust waits in review.
    """
    fact = known.fact
    if fact.id in evidence.newer:
        return Decision("superseded", NEWER_KNOWN, superseded_by=fact.id)
    barred = _replacement_bar(fact, evidence)
    destination: Destination = (
        "active" if evidence.from_user and not barred else "review"
    )
    effect = Effect("ask", fact, known.conflict)
    return Decision(destination, barred or known.conflict, (effect,))


def _replacement_bar(fact: Fact, evidence: Evidence) -> str:
    """Return why the candidate may not replace `fact`, or ''."""
    if fact.id in evidence.newer:
        return NEWER_KNOWN
    return (evidence.barred or {}).get(fact.id, "")


def is_user_backed(fact: Fact) -> bool:
    """Return whether the user wrote, confirmed or pinned a fact (`X23`).

    No statement changes such a fact.
    """
    return (
        fact.verification == "user_confirmed"
        or fact.origin in {"user", "edited"}
        or fact.pinned
    )


def is_merged(loser: Fact, winner: Fact) -> bool:
    """Return whether a memory was superseded because `winner` says the same (`A22`)."""
    merged = loser.end_reason in {SAYS_THE_SAME, JUDGED_THE_SAME}
    equal = content_hash(loser.text) == content_hash(winner.text)
    return loser.status == "superseded" and (merged or equal)


def is_event(fact: Fact) -> bool:
    """Return whether a fact is an event, which no later fact invalidates (`C33`).

    An event is an episode with a time, or a fact of a momentary category.
    """
    return fact.kind == "episode" and (
        fact.valid_from is not None or category_of(fact.category).momentary
    )


def session_count(fact: Fact) -> int:
    """Return the number of conversations with evidence of a fact (`A10`)."""
    return len({key.partition("#")[0] for key in (fact.source, *fact.also) if key})


def reinforced_confidence(confidence: float, policy: DedupPolicy) -> float:
    """Return the confidence after one more statement: `min(1, c + .1)` (`A8`)."""
    return min(1.0, round(confidence + policy.gain, 4))


def weakened_confidence(confidence: float, policy: DedupPolicy) -> float:
    """Return the confidence after a contradiction (`A10`).

    It is `max(.1, c − .2)`, at most c.
    """
    return min(confidence, max(policy.least, round(confidence - policy.loss, 4)))


def is_own_change(before: Fact, after: Fact) -> bool:
    """Return whether a change of a note can only be engram's own (`X23`).

    Such a change adds the key of a turn to the evidence, or the id of a memory that it
    supersedes or that supersedes it; a user would write a link there. All other changed
    fields must be ones that engram writes together with these.
    """
    evidence = _added(_evidence_keys(before), _evidence_keys(after))
    supersedes = _added(before.supersedes, after.supersedes)
    superseded_by = _added(before.superseded_by, after.superseded_by)
    if evidence is None or supersedes is None or superseded_by is None:
        return False
    if not (evidence or supersedes or superseded_by):
        return False
    if not all(map(is_ulid, (*supersedes, *superseded_by))):
        return False

    unchanged = {name: getattr(before, name) for name in _WRITTEN_ALONG}
    return replace(after, **unchanged) == before


_WRITTEN_ALONG = (
    *("source", "also", "supersedes", "superseded_by"),
    *("status", "confidence", "expires", "valid_until", "end_reason", "path", "sha"),
)


def _evidence_keys(fact: Fact) -> tuple[str, ...]:
    return tuple(filter(None, (fact.source, *fact.also)))


def _added(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...] | None:
    """Return the items of `after` that `before` lacks; None if `after` lacks one."""
    if not {*before} <= {*after}:
        return None
    return tuple(item for item in after if item not in before)


def merge(old: Fact, new: Fact) -> Fact:
    """Return `old` in the words of `new`.

    The result has the evidence, names and tags of both and the higher importance.
    """
    evidence = dict.fromkeys(
        key for key in (*old.also, new.source, *new.also) if key and key != old.source
    )
    return replace(
        old,
        text=new.text,
        importance=max(old.importance, new.importance),
        about=tuple(dict.fromkeys((*old.about, *new.about))),
        tags=tuple(dict.fromkeys((*old.tags, *new.tags))),
        also=tuple(evidence),
    )
