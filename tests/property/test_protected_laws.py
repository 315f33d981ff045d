"""No nightly pass ends or rewrites a protected memory because of what is like it
(law 12), whatever a model answers.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from engram.core import lifecycle
from engram.core.decide import Known
from engram.core.policy import Policy
from engram.core.records import Edit, Fact, Move, Usage
from engram.core.text import content_hash
from engram.maintenance.passes import insight, merge
from engram.maintenance.passes.view import (
    ChangeGroup,
    MemoryState,
    ModelQuestion,
    NewMemory,
    PassView,
    VaultReader,
)
from tests.size import examples

NOW = datetime(2027, 3, 1, 3, 0, tzinfo=UTC)
ROOT = "/srv/code"
TEXTS = [
    "Mia is allergic to walnuts.",
    "Mia is allergic to all nuts.",
    "mia is  allergic to walnuts",
    "Mia's birthday is on 3 May.",
    "Mia saw a heron.",
    "Mia saw a grey heron.",
    f"The build script is {ROOT}/build.sh.",
]
PASSES = (
    merge.merge,
    merge.compare,
    insight.cluster,
    insight.fold,
    insight.principles,
    insight.integrate,
    insight.probe,
    insight.drift,
)


@st.composite
def memories(draw):
    number = draw(st.integers(3, 12))
    states = []
    for place in range(number):
        fact = Fact(
            f"F{place:02}",
            draw(st.sampled_from(TEXTS)),
            kind=draw(st.sampled_from(["note", "episode"])),
            category=draw(
                st.sampled_from(
                    ["fact", "fact", "moment", "preference", "decision", "correction"]
                )
            ),
            created=NOW - timedelta(days=draw(st.integers(20, 200))),
            about=("Mia",),
            origin=draw(st.sampled_from(["rules", "rules", "user"])),
            tags=draw(st.sampled_from([(), (), ("remember",)])),
            pinned=draw(st.integers(0, 9)) == 0,
            confidence=draw(st.sampled_from([0.3, 0.6, 0.9])),
            importance=draw(st.sampled_from([0.2, 0.5, 0.9])),
            source=f"2026-11-{place + 1:02}-talk#^t{place}",
            path=f"facts/2026-11-20/f{place:02}.md",
            sha=f"{place}",
        )
        states.append(MemoryState(fact, Usage(access=draw(st.integers(0, 3)))))
    return {one.fact.id: one for one in states}


class Alike(VaultReader):
    """Every two memories are near each other."""

    def __init__(self, states, similarity):
        super().__init__()
        self.states, self.similarity = states, similarity

    def near(self, fact):
        return [
            Known(one.fact, self.similarity)
            for one in self.states.values()
            if one.fact != fact
        ]

    def disk(self, path):  # noqa: ARG002
        return None


def answer(question):
    """What a model says that finds everything the same, or worth folding."""
    numbers = list(range(1, 1 + question.material.count('"text"')))
    return {
        "compare": {
            "verdicts": {str(n): ("same", 1.0) for n in range(1, 60)},
        },
        "fold": {"text": "Mia is Mia.", "from": numbers},
        "principle": {"text": "Mia is always Mia.", "from": numbers},
        "insights": {"insights": [{"text": "Mia lives.", "from": numbers}]},
        "probe": {"invalid": numbers},
    }[question.task] | {"dropped": {}}


def steps_of(one, view):
    steps = one(view, NOW)
    asked = [step for step in steps if isinstance(step, ModelQuestion)]
    if not asked:
        return steps
    return one(replace(view, answers={q.key: answer(q) for q in asked}), NOW)


def ends(step):
    return [
        change
        for change in getattr(step, "steps", (step,))
        if isinstance(change, Edit | Move)
        and change.keys.get("status", "active") != "active"
    ]


# row: A22
# row: D9
# row: D10
# row: E17
@given(memories(), st.sampled_from([0.82, 0.9]))
@examples(400, 30)
def test_what_is_protected_leaves_without_a_question_only_for_an_equal_statement(
    states, similarity
):
    view = PassView(
        Policy(),
        UTC,
        states,
        reader=Alike(states, similarity),
        roots=(ROOT,),
        model=True,
    )
    kept = {
        one.fact.path: one.fact
        for one in states.values()
        if lifecycle.protection(one.fact, one.kept)
    }
    statements = [content_hash(one.fact.text) for one in states.values()]
    for one in PASSES:
        for step in steps_of(one, view):
            if isinstance(step, ChangeGroup) and step.ask:
                assert ends(step)
                continue
            for end in ends(step):
                if end.path in kept:
                    assert one in {merge.merge, merge.compare}
                    assert statements.count(content_hash(kept[end.path].text)) > 1
            changes = getattr(step, "steps", (step,))
            for change in changes:
                if isinstance(change, Edit) and change.path in kept:
                    assert change.body is None
                    if change.keys.get("status", "active") == "active":
                        assert not change.keys.keys() & {
                            "category",
                            "kind",
                            "pinned",
                            "expires",
                            "valid_until",
                        }
                        assert (
                            change.keys.get("importance", 1)
                            >= kept[change.path].importance
                        )


# row: D9
def test_the_passes_do_act_on_these_memories():
    """So the property above says something."""
    states = {
        f"F{n}": MemoryState(
            Fact(
                f"F{n}",
                f"Mia is allergic to nut {n}.",
                created=NOW - timedelta(days=90),
                about=("Mia",),
                origin="rules",
                importance=0.4,
                source=f"2026-11-0{n}-talk#^t{n}",
                path=f"facts/{n}.md",
            )
        )
        for n in range(1, 7)
    }
    view = PassView(Policy(), UTC, states, reader=Alike(states, 0.82), model=True)
    for one in (insight.cluster, insight.fold):
        (group,) = [
            step for step in steps_of(one, view) if isinstance(step, ChangeGroup)
        ]
        assert group.ask
        assert len(ends(group)) == 6
        assert isinstance(group.steps[0], NewMemory)
    near = PassView(Policy(), UTC, states, reader=Alike(states, 0.95))
    assert {step.ask for step in merge.merge(near, NOW)} == {True}
