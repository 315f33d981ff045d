"""The rungs of the write ladder: what a new statement does to what is known, with the
reason (model §3).

`check` gives the cheap rungs their word; what it lets pass is compared with its
neighbours by `compare`; `decide` says what follows. All three are pure: the shell
searches, asks a model where the verdict is `check`, and writes.

    verdict = judge(...)
    if verdict.action == "create":
        verdict = relate(neighbours, cuts, calibrated=…, model=…)
        asked = ask(…, verdict.grey) if verdict.action == "judge" else None
        decision = decide(verdict, claim, policy, asked)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engram.core.categories import category_of
from engram.core.text import is_ulid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.core.policy import DedupPolicy, SimilarityPolicy
    from engram.core.records import Fact

Action = Literal["create", "confirm", "skip", "review", "reinforce", "judge"]
JUDGEMENTS_FILE = "state/compared.json"
"""What a model said of pairs of statements: as true after a run is taken back as
before.
"""

RelationKind = Literal["same", "contradicts", "independent"]
EffectAction = Literal[
    "confirm", "reinforce", "rewrite", "weaken", "invalidate", "supersede", "ask"
]
Destination = Literal["active", "review", "superseded", ""]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An active fact beside a candidate, on the nominal scale 0–1.

    `conflict` says why words alone tell that both cannot hold, `apart` why they are two
    facts whatever the similarity (`similar.compared`); '' for neither.
    """

    fact: Fact
    similarity: float
    same_slot: bool = False
    conflict: str = ""
    apart: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happens to a candidate, why in words, the memory it met, if any, and those
    to be judged, nearest first.
    """

    action: Action
    why: str
    met: str = ""
    grey: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a model says of a candidate and the numbered facts beside it; `index` is 1
    for the first, 0 for none.

    `warning` says why an answer counts as independent though it said something else.
    """

    relation: RelationKind
    index: int = 0
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What stands behind a candidate.

    `source` is the key of its turn, `own` whether the user said it, `correction`
    whether it corrects (the category or the words of the turn). `barred` is why it may
    not take the place of a fact, by the fact's id (`trust.bars_superseding`). `older`
    are the ids of facts with younger evidence than its own. `left` is how many facts
    the batch may still retire.
    """

    source: str
    own: bool
    correction: bool = False
    barred: Mapping[str, str] | None = None
    older: frozenset[str] = frozenset()
    left: int = 0


@dataclass(frozen=True, slots=True)
class Effect:
    """What happens to a fact that is known already.

    confirm: logged, no file changes. reinforce: `confidence`, evidence added. rewrite:
    the same in newer words (`merge`), the old ones under History. weaken:
    `confidence`, linked both ways. invalidate, supersede: that status, `valid_until`,
    linked both ways; `bury` sets a tombstone on the old statement. ask: a review case.
    """

    action: EffectAction
    fact: Fact
    why: str
    confidence: float | None = None
    bury: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Where the candidate goes (active, review, superseded; '' for no file of its own)
    and what else changes.
    """

    place: Destination
    why: str
    effects: tuple[Effect, ...] = ()
    by: str = ""

    @property
    def retired(self) -> int:
        """How many facts it takes from the batch's limit."""
        return sum(
            effect.action in {"invalidate", "supersede"} for effect in self.effects
        )


def check(
    *, trivial: bool, grounded: bool, already: bool, twin: str | None, buried: bool
) -> Verdict:
    """The first rung that decides: already filed, trivial, ungrounded, hash twin,
    tombstone; else create.

    `already`: this very candidate was filed before a crash. `twin`: id of an active
    fact with the same content hash (`C5`); a hit confirms it and writes no file.
    `grounded`: its quote stands in the turn (`X17`). `buried`: a person forgot, deleted
    or corrected this statement (`X8`).
    """
    if already:
        return Verdict("skip", "already filed")
    if trivial:
        return Verdict("skip", "trivial")
    if twin:
        return Verdict("confirm", "same statement", twin)
    if buried:
        return Verdict("review", "a person removed this before")
    if not grounded:
        return Verdict("review", "no evidence in the turn")
    return Verdict("create", "new")


def _is_near(neighbour: Neighbour, cuts: SimilarityPolicy) -> bool:
    """Whether a neighbour is near enough to be judged; less is enough in one slot."""
    least = cuts.link if neighbour.same_slot else cuts.grey
    return neighbour.similarity >= least


def compare(
    neighbours: Sequence[Neighbour],
    cuts: SimilarityPolicy,
    *,
    calibrated: bool,
    model: bool,
) -> Verdict:
    """What the nearest active facts ask for (`A7`, `E5`): reinforce, judge or create.

    Above .85 the best one is reinforced, unless words tell the two apart. All from .70
    to .85, those above that are told apart, and those of the same slot from .40 are
    judged together, if there is a model. On numbers that are not calibrated nothing is
    reinforced or judged. Without a model a conflict that words show goes on as
    `review`.
    """
    active = sorted(
        (one for one in neighbours if one.fact.status == "active"),
        key=lambda one: (-one.similarity, one.fact.id),
    )
    if not calibrated:
        return Verdict("create", "similarity is not calibrated")
    same = next(
        (one for one in active if one.similarity > cuts.same and not one.apart), None
    )
    if same:
        return Verdict(
            "reinforce", f"says the same ({same.similarity:.2f})", same.fact.id, (same,)
        )
    grey = tuple(one for one in active if _is_near(one, cuts))
    if grey and model:
        return Verdict(
            "judge",
            f"near {len(grey)} known ({grey[0].similarity:.2f})",
            grey[0].fact.id,
            grey,
        )
    if clash := next((one for one in grey if one.conflict), None):
        return Verdict("review", clash.conflict, clash.fact.id, (clash,))
    return Verdict("create", "near others, and no model to compare" if grey else "new")


def decide(
    verdict: Verdict,
    claim: Evidence,
    policy: DedupPolicy,
    judgement: Judgement | None = None,
) -> Decision:
    """What follows from the verdict of `compare`, and from the model's where that was
    asked for (`A8`–`A11`, `C33`).

    A judgement that is missing, or names nothing that was shown, is independent.
    Without a model a conflict that words show retires the old fact where the user
    corrects it in so many words, else it asks (`X8`, `X9`).
    """
    if verdict.action == "reinforce":
        return Decision(
            "", verdict.why, (_agreed(verdict.grey[0], claim, policy, verdict.why),)
        )
    if verdict.action == "review" and verdict.grey:
        met = verdict.grey[0]
        corrects = claim.correction and claim.own
        return _contradicted(met, claim, policy) if corrects else _unjudged(met, claim)
    if (
        judgement is None
        or not 1 <= judgement.index <= len(verdict.grey)
        or judgement.relation == "independent"
    ):
        return Decision(
            "active",
            "independent of what is near" if verdict.action == "judge" else verdict.why,
        )
    met = verdict.grey[judgement.index - 1]
    if judgement.relation == "contradicts":
        return _contradicted(met, claim, policy)
    return Decision(
        "",
        "judged the same",
        (_agreed(met, claim, policy, "judged the same", newer=True),),
    )


def _agreed(
    met: Neighbour,
    claim: Evidence,
    policy: DedupPolicy,
    why: str,
    *,
    newer: bool = False,
) -> Effect:
    """Reinforce, or rewrite in newer words; a turn counts once, and a person's words
    stay as they are (`A8`, `X23`).
    """
    fact = met.fact
    if is_user_backed(fact) or claim.source in (fact.source, *fact.also):
        return Effect("confirm", fact, why)
    raised = reinforced_confidence(fact.confidence, policy)
    rewrite = newer and claim.own and not _may_not(fact, claim) and not is_event(fact)
    return Effect("rewrite" if rewrite else "reinforce", fact, why, raised)


def _contradicted(met: Neighbour, claim: Evidence, policy: DedupPolicy) -> Decision:
    """A contradiction: the first of these that holds decides.

    An event stays, for what happened has happened (`C33`); older evidence changes
    nothing younger; a lower source waits in review (`X27`); a person's own fact and a
    spent limit ask (`X23`); a correction supersedes and buries (`X8`); three sessions
    behind the old fact weaken it (`A10`); else it is invalidated (`A11`).
    """
    fact, why = met.fact, met.conflict or "judged a contradiction"
    if is_event(fact) and not claim.correction:
        return Decision("active", "what happened stays")
    if fact.id in claim.older:
        return Decision("superseded", "something younger is known", by=fact.id)
    if barred := (claim.barred or {}).get(fact.id):
        return Decision("review", barred, (Effect("ask", fact, why),))
    if is_user_backed(fact):
        return Decision(
            "active", "a person stands by the old one", (Effect("ask", fact, why),)
        )
    weakens = not claim.correction and session_count(fact) >= policy.episodes
    if weakens:
        return Decision(
            "active",
            why,
            (
                Effect(
                    "weaken", fact, why, weakened_confidence(fact.confidence, policy)
                ),
            ),
        )
    if claim.left <= 0:
        return Decision(
            "active", "too many changes at once", (Effect("ask", fact, why),)
        )
    if claim.correction:
        return Decision(
            "active", "corrected", (Effect("supersede", fact, "corrected", bury=True),)
        )
    return Decision("active", why, (Effect("invalidate", fact, why),))


def _unjudged(met: Neighbour, claim: Evidence) -> Decision:
    """A conflict that only words show: both stay, and a person is asked; older or lower
    words stand back.
    """
    if met.fact.id in claim.older:
        return Decision("superseded", "something younger is known", by=met.fact.id)
    barred = _may_not(met.fact, claim)
    asks = (Effect("ask", met.fact, met.conflict),)
    return Decision(
        "review" if barred or not claim.own else "active", barred or met.conflict, asks
    )


def _may_not(fact: Fact, claim: Evidence) -> str:
    return (
        "something younger is known"
        if fact.id in claim.older
        else (claim.barred or {}).get(fact.id, "")
    )


def is_user_backed(fact: Fact) -> bool:
    """Whether a person stands by a fact, so that the ladder never changes it (`X23`):
    written, confirmed or pinned.
    """
    return (
        fact.verification == "user_confirmed"
        or fact.origin in {"user", "edited"}
        or fact.pinned
    )


def is_event(fact: Fact) -> bool:
    """Whether a fact tells what happened, which no later fact undoes (`C33`): an
    episode with its time, a moment.
    """
    return fact.kind == "episode" and (
        fact.valid_from is not None or category_of(fact.category).momentary
    )


def session_count(fact: Fact) -> int:
    """How many conversations a fact rests on: the session files among its evidence
    (`A10`).
    """
    return len({key.partition("#")[0] for key in (fact.source, *fact.also) if key})


def reinforced_confidence(confidence: float, policy: DedupPolicy) -> float:
    """Confidence after hearing it again, `min(1, c + .1)` (`A8`)."""
    return min(1.0, round(confidence + policy.gain, 4))


def weakened_confidence(confidence: float, policy: DedupPolicy) -> float:
    """Confidence after a contradiction, `max(.1, c − .2)` (`A10`); never more than it
    was.
    """
    return min(confidence, max(policy.least, round(confidence - policy.loss, 4)))


def is_own_change(before: Fact, after: Fact) -> bool:
    """Whether a change of a note can only be ours: it brings what only we write, and
    nothing of a person's (`X23`).

    That is the key of a turn among its evidence, or the id of a memory that it succeeds
    or gives way to (a person writes a link). What we write along with it may differ
    too.
    """
    gained = [_gained(_keys(before), _keys(after))]
    gained += [
        _gained(before.supersedes, after.supersedes),
        _gained(before.superseded_by, after.superseded_by),
    ]
    if (
        None in gained
        or not any(gained)
        or not all(map(is_ulid, (*(gained[1] or ()), *(gained[2] or ()))))
    ):
        return False
    same = {name: getattr(before, name) for name in _WRITTEN_ALONG}
    return replace(after, **same) == before


_WRITTEN_ALONG = (
    *("source", "also", "supersedes", "superseded_by"),
    *("status", "confidence", "expires", "valid_until", "end_reason", "path", "sha"),
)


def _keys(fact: Fact) -> tuple[str, ...]:
    return tuple(filter(None, (fact.source, *fact.also)))


def _gained(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...] | None:
    """What stands in `after` besides all of `before`; None where something is missing."""
    return (
        tuple(one for one in after if one not in before)
        if {*before} <= {*after}
        else None
    )


def merge(old: Fact, new: Fact) -> Fact:
    """`old` in the words of `new`, with the evidence, names and tags of both and the
    higher importance (model §3).
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
