"""A model that tells from memories as it is asked to: each statement once more, in its
own words, with its number.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.fakes.openai_server import prompt_text

if TYPE_CHECKING:
    from tests.fakes.openai_server import Body


def task_of(body: Body) -> str:
    """What is asked: the name of the schema, which is that of the prompt."""
    described = body.get("response_format", {}).get("json_schema") or body.get(
        "text", {}
    ).get("format", {})
    return str(described.get("name", ""))


def material_of(body: Body) -> dict[str, Any]:
    """The material of the question."""
    asked = body["messages"][-1]["content"] if "messages" in body else body["input"]
    return json.loads(next(line for line in asked.splitlines() if line.startswith("{")))


def together(body: Body) -> list[tuple[int, str]]:
    """The numbered materials of a question that asks for several answers."""
    if '"answers"' not in json.dumps(body.get("response_format", body.get("text"))):
        return []
    asked = body["messages"][-1]["content"] if "messages" in body else body["input"]
    return [
        (int(number), material)
        for number, material in re.findall(r"^(\d+)\. (\{.*)$", asked, re.MULTILINE)
    ]


def asking_alone(body: Body, material: str) -> Body:
    """The same question about one material alone."""
    name = {"name": task_of(body)}
    system = {"role": "system", "content": ""}
    return {
        "messages": [system, {"role": "user", "content": material}],
        "response_format": {"json_schema": name},
    }


def scribe(body: Body) -> Body:
    """An answer that is grounded word for word."""
    listed = together(body)
    if listed:
        return {
            "answers": [
                {"number": number} | scribe(asking_alone(body, material))
                for number, material in listed
            ]
        }
    task, material = task_of(body), material_of(body)
    assert "{{" not in prompt_text(body)
    if task == "bridge":
        sides = [material[side] for side in "ab"]
        how = f"{sides[0]['name']} and {sides[1]['name']} have something in common."
        return {
            "connected": True,
            "facts": [side["facts"][0]["n"] for side in sides],
            "how": how,
        }
    facts = material["facts"]
    if task == "subjects":
        return {
            "facts": [
                {"n": one["n"], "names": [w.strip(".,") for w in one["text"].split()]}
                for one in facts
            ]
        }
    if task == "relate":
        bonds = [
            (one["r"], fact)
            for one in material["relations"]
            for fact in facts
            if one["to"] in fact["text"]
        ]
        return {
            "sentences": [
                {
                    "relation": r,
                    "facts": [one["n"]],
                    "text": f"So: {_small(one['text'])}",
                }
                for r, one in bonds
            ]
        }
    most = {"describe": 4, "story": 3, "macro": 4}.get(task, 50)
    return {
        "sentences": [
            {"facts": [one["n"]], "text": f"So it is said: {_small(one['text'])}"}
            for one in facts[:most]
        ]
    }


def _small(text: str) -> str:
    return " ".join(text.split())
