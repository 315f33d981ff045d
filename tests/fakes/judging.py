"""A model that answers questions of consolidation as a test wants it, by task."""

from __future__ import annotations

import json


def judging(fake, **answers):
    """Script `fake`: a task's answer is a reply, or a function of its material; every
    other task has nothing to say.
    """
    empty = {
        "compare": every("independent", 0.9),
        "fold": {"text": "", "from": []},
        "principle": {"text": "", "from": []},
        "insights": {"insights": []},
        "probe": {"invalid": []},
    }

    def step(body):
        task = body["response_format"]["json_schema"]["name"]
        said = answers.get(task, empty[task])
        return said(material(body)) if callable(said) else said

    fake.script(step)


def material(body):
    """What a question is about."""
    asked = body["messages"][-1]["content"]
    return json.loads(next(line for line in asked.splitlines() if line.startswith("{")))


def tasks(fake):
    """The questions that were asked, in order."""
    return [body["response_format"]["json_schema"]["name"] for body in fake.asked]


def every(relation, confidence):
    """The same verdict on every pair."""
    return lambda shown: {
        "verdicts": [
            {"pair": pair["pair"], "relation": relation, "confidence": confidence}
            for pair in shown["pairs"]
        ]
    }


def all_of(text):
    """One sentence that rests on all that was shown."""
    return lambda shown: {"text": text, "from": [one["n"] for one in shown["memories"]]}
