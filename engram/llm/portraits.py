"""Model tasks that describe entities, relations and stories (rows A33, B11, C15, D9).

Each sentence of a reply names the statements it rests on. A sentence that names none, or
that contains a name or number that is in none of them, is dropped and counted. Only the
other sentences are written.
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
"""The numbers come before the text: a model that names its sources first follows them."""
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
    most: int, reply: Mapping[str, Any], material: Mapping[str, Any]
) -> Answer:
    """Read at most `most` sentences with the numbers of their statements.

    `dropped` counts the others by reason; the answer is {} if no sentence is accepted.
    Raises ModelError if there is no list of sentences.
    """
    items = _items(reply, "sentences")
    statements = {one["n"]: f"{one['date']} {one['text']}" for one in material["facts"]}
    name = f"{material.get('name', '')} "  # needs no source
    dropped: Counter[str] = Counter()
    kept: list[dict[str, Any]] = []
    for item in items:
        text, numbers = _line(item.get("text")), _numbers(item.get("facts"), statements)
        why = "no source"
        if numbers:
            why = _flaw(text, name + " ".join(statements[n] for n in numbers))
        if why or len(kept) == most:
            dropped[why or "too many"] += 1
        else:
            kept.append({"text": text, "facts": numbers})
    return {"sentences": kept, "dropped": dict(sorted(dropped.items()))} if kept else {}


def read_related(reply: Mapping[str, Any], material: Mapping[str, Any]) -> Answer:
    """Read one sentence for each relation, as `read_sentences` does (`B11`)."""
    items = _items(reply, "sentences")
    to = {one["r"]: one["to"] for one in material["relations"]}
    found: dict[int, Mapping[str, Any]] = {}
    dropped: Counter[str] = Counter()
    for item in items:
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


def read_subjects(reply: Mapping[str, Any], material: Mapping[str, Any]) -> Answer:
    """Read names by the number of the statement that contains them (`A33`).

    The answer is {} without any name.
    """
    statements = {one["n"]: one["text"] for one in material["facts"]}
    found: dict[str, list[str]] = {}
    dropped = 0
    for item in _items(reply, "facts"):
        (number, *_) = (*_numbers([item.get("n")], statements), None)
        names = item.get("names")
        if number is None or not isinstance(names, list):
            continue
        for name in names[:_LONG]:
            if _is_subject(name, statements[number]):
                found.setdefault(str(number), []).append(" ".join(name.split()))
            else:
                dropped += 1
    if not found:
        return {}
    return {"names": found, "dropped": {"not named": dropped} if dropped else {}}


def _is_subject(name: object, text: str) -> bool:
    """Whether `name` is a name in the text that is not the owner's."""
    return isinstance(name, str) and not is_owner(name) and _contains(name, text)


def read_bridge(reply: Mapping[str, Any], material: Mapping[str, Any]) -> Answer:
    """Read how two entities are connected, {} if they are not (`D9`).

    The answer needs a statement about each of the two.
    """
    if not isinstance(reply.get("connected"), bool):
        raise ModelError("`connected` must be true or false")
    sides = [
        {one["n"]: one["text"] for one in material[side]["facts"]}
        for side in ("a", "b")
    ]
    numbers = _numbers(reply.get("facts"), sides[0] | sides[1])
    how = _line(reply.get("how"))
    named = [material[side]["name"] for side in ("a", "b")]
    grounds = " ".join([*named, *((sides[0] | sides[1])[n] for n in numbers)])
    both = all(any(n in side for n in numbers) for side in sides)
    if reply["connected"] and both and not _flaw(how, grounds):
        return {"how": how, "facts": numbers}
    return {}


def _items(reply: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    listed = reply.get(name)
    if not isinstance(listed, list):
        raise ModelError(f"`{name}` must be a list")
    return [item if isinstance(item, dict) else {} for item in listed[:_LONG]]


def _line(value: object) -> str:
    return " ".join(value.split()).lstrip("-*#> ") if isinstance(value, str) else ""


def _numbers(value: object, known: Mapping[int, object]) -> list[int]:
    """Return the whole numbers in `value` that are keys of `known`, each once."""
    listed = value[:_LONG] if isinstance(value, list) else []
    return list(dict.fromkeys(n for n in listed if type(n) is int and n in known))


def _flaw(text: str, grounds: str) -> str:
    """Return why a sentence is not accepted, or ''.

    Its numbers, and the capitalised words after the first one, have to be in `grounds`,
    the text of its statements. For words the first letters are enough, because names
    are inflected.
    """
    if not text or len(text) > _CHARS:
        return "no sentence"
    known = set(words(grounds))
    stems = {word[:_STEM] for word in known}
    for place, token in enumerate(_TOKEN.findall(text)):
        numeral = any(map(str.isdigit, token))
        if not numeral and (place == 0 or not token[0].isupper() or len(token) == 1):
            continue
        is_known = any(
            word in known or (not numeral and word[:_STEM] in stems)
            for word in words(token)
        )
        if not is_known:
            return "an invented name or number"
    return ""


def _contains(name: str, text: str) -> bool:
    """Whether a text contains a name as whole words."""
    key = key_of(name)
    text_key = key_of(text.replace("'s", " "))
    return bool(key) and f"_{key}_" in f"_{text_key}_"


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
