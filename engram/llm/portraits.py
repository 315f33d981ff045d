"""What a model tells from memories: who somebody is, how a story went, what two share
(rows A33, B11, C15, D9).

Each sentence has to name the statements it rests on. One that names none, or brings a
name or a number that stands in none of them, is dropped and counted; what is left is
all that is ever written.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from engram.core.entities import is_owner
from engram.core.entities import name_key as key_of
from engram.core.language.words import words
from engram.errors import ModelError
from engram.llm.answers import TASKS, Task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Answer = Mapping[str, Any]

_TEXT = {"type": "string"}
_NUMBERS = {"type": "array", "items": {"type": "integer"}}


def _closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _closed(**properties)}


SENTENCES = _closed(sentences=_list(facts=_NUMBERS, text=_TEXT))
"""The evidence stands before the sentence: a model that has named it says what it
names.
"""
RELATED = _closed(
    sentences=_list(relation={"type": "integer"}, facts=_NUMBERS, text=_TEXT)
)
SUBJECTS = _closed(
    facts=_list(n={"type": "integer"}, names={"type": "array", "items": _TEXT})
)
BRIDGE = _closed(connected={"type": "boolean"}, facts=_NUMBERS, how=_TEXT)

_CHARS = 300
_LONG = 200
_STEM = 4
_TOKEN = re.compile(r"[^\W_]+")


def read_sentences(
    most: int, said: Mapping[str, Any], material: Mapping[str, Any]
) -> Answer:
    """At most `most` sentences with the numbers of their statements; `dropped` counts
    the rest by reason.

    {} where none is left. Raises ModelError where there is no list of sentences.
    """
    told = _items(said, "sentences")
    statements = {one["n"]: f"{one['date']} {one['text']}" for one in material["facts"]}
    known = f"{material.get('name', '')} "  # nobody has to say whom it is about
    dropped: Counter[str] = Counter()
    kept: list[dict[str, Any]] = []
    for item in told:
        text, numbers = _line(item.get("text")), _numbers(item.get("facts"), statements)
        why = (
            _flaw(text, known + " ".join(statements[n] for n in numbers))
            if numbers
            else "no source"
        )
        if why or len(kept) == most:
            dropped[why or "too many"] += 1
        else:
            kept.append({"text": text, "facts": numbers})
    return {"sentences": kept, "dropped": dict(sorted(dropped.items()))} if kept else {}


def read_related(said: Mapping[str, Any], material: Mapping[str, Any]) -> Answer:
    """One sentence for each relation, in their order, each read as in `read_sentences`
    (`B11`).
    """
    told = _items(said, "sentences")
    to = {one["r"]: one["to"] for one in material["relations"]}
    found: dict[int, Mapping[str, Any]] = {}
    dropped: Counter[str] = Counter()
    for item in told:
        (number, *_) = (*_numbers([item.get("relation")], to), 0)
        one = read_sentences(
            1,
            {"sentences": [item]},
            {**material, "name": f"{material['name']} {to.get(number, '')}"},
        )
        if number and number not in found and one:
            found[number] = one["sentences"][0]
        else:
            dropped["no relation that was shown" if one else "without ground"] += 1
    kept = [found[number] for number in sorted(found)]
    return {"sentences": kept, "dropped": dict(sorted(dropped.items()))} if kept else {}


def read_subjects(said: Mapping[str, Any], material: Mapping[str, Any]) -> Answer:
    """Names by the number of the statement, each standing in it letter for letter; {}
    where there is none (`A33`).
    """
    statements = {one["n"]: one["text"] for one in material["facts"]}
    found: dict[str, list[str]] = {}
    dropped = 0
    for item in _items(said, "facts"):
        (number, *_) = (*_numbers([item.get("n")], statements), None)
        names = item.get("names")
        for name in (
            names[:_LONG] if isinstance(names, list) and number is not None else ()
        ):
            if (
                isinstance(name, str)
                and not is_owner(name)
                and _stands(name, statements[number])
            ):
                found.setdefault(str(number), []).append(" ".join(name.split()))
            else:
                dropped += 1
    return (
        {"names": found, "dropped": {"not named": dropped} if dropped else {}}
        if found
        else {}
    )


def read_bridge(said: Mapping[str, Any], material: Mapping[str, Any]) -> Answer:
    """How two are connected, on the evidence of a statement about either; {} where they
    are not (`D9`).
    """
    if not isinstance(said.get("connected"), bool):
        raise ModelError("`connected` must be true or false")
    sides = [
        {one["n"]: one["text"] for one in material[side]["facts"]}
        for side in ("a", "b")
    ]
    numbers = _numbers(said.get("facts"), sides[0] | sides[1])
    how = _line(said.get("how"))
    named = [material[side]["name"] for side in ("a", "b")]
    grounds = " ".join([*named, *((sides[0] | sides[1])[n] for n in numbers)])
    both = all(any(n in side for n in numbers) for side in sides)
    return (
        {"how": how, "facts": numbers}
        if said["connected"] and both and not _flaw(how, grounds)
        else {}
    )


def _items(said: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    listed = said.get(name)
    if not isinstance(listed, list):
        raise ModelError(f"`{name}` must be a list")
    return [item if isinstance(item, dict) else {} for item in listed[:_LONG]]


def _line(value: object) -> str:
    return " ".join(value.split()).lstrip("-*#> ") if isinstance(value, str) else ""


def _numbers(value: object, known: Mapping[int, object]) -> list[int]:
    """The whole numbers in `value` that were shown, each once."""
    listed = value[:_LONG] if isinstance(value, list) else []
    return list(dict.fromkeys(n for n in listed if type(n) is int and n in known))


def _flaw(text: str, grounds: str) -> str:
    """Why a sentence is not to be believed, or ''.

    A number, and a name inside of the sentence, stands in the statements that it rests
    on: whole, or by its first letters, for names are inflected.
    """
    if not text or len(text) > _CHARS:
        return "no sentence"
    held = set(words(grounds))
    stems = {word[:_STEM] for word in held}
    for place, token in enumerate(_TOKEN.findall(text)):
        numeral = any(map(str.isdigit, token))
        if not numeral and (place == 0 or not token[0].isupper() or len(token) == 1):
            continue
        if not any(
            word in held or (not numeral and word[:_STEM] in stems)
            for word in words(token)
        ):
            return "an invented name or number"
    return ""


def _stands(name: str, text: str) -> bool:
    """Whether a name stands in a text, as whole words."""
    return (
        bool(key_of(name))
        and f"_{key_of(name)}_" in f"_{key_of(text.replace(chr(39) + 's', ' '))}_"
    )


TASKS.update(
    describe=Task(SENTENCES, partial(read_sentences, 4), small="few"),
    relate=Task(RELATED, read_related, small="few"),
    profile=Task(SENTENCES, partial(read_sentences, 50), small="never"),
    patterns=Task(SENTENCES, partial(read_sentences, 40), small="never"),
    story=Task(SENTENCES, partial(read_sentences, 3)),
    macro=Task(SENTENCES, partial(read_sentences, 4), small="never"),
    subjects=Task(SUBJECTS, read_subjects),
    bridge=Task(BRIDGE, read_bridge, small="never"),
)
