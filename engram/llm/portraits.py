"""Model tasks that describe entities, relations and stories (rows A33, B11, C15, D9).

Each sentence of a reply names the statements it rests on. A sentence that names none,
or that contains a name or number that is in none of them, is dropped and counted. Only
the other sentences are written.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from engram.core.entities import is_owner
from engram.core.entities import name_key as key_of
from engram.core.language.words import words
from engram.llm.answers import TASKS, Task
from engram.llm.replies.maintenance import (
    BridgeReply,
    RelatedReply,
    SentencesReply,
    SubjectsReply,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from engram.llm.replies.maintenance import SentenceReply

    Answer = Mapping[str, Any]

_CHARS = 300
_LONG = 200
_STEM = 4
_TOKEN = re.compile(r"[^\W_]+")


def read_sentences(
    most: int, reply: SentencesReply, material: Mapping[str, Any], dropped: Counter[str]
) -> Answer:
    """Return at most `most` sentences with the numbers of their statements.

    `dropped` counts the others by reason; it is the only key if none is accepted.
    """
    statements = {
        statement["n"]: f"{statement['date']} {statement['text']}"
        for statement in material["facts"]
    }
    name = f"{material.get('name', '')} "  # needs no source
    accepted: list[dict[str, Any]] = []
    for item in reply.sentences[:_LONG]:
        found = _sentence(item, statements, name)
        if isinstance(found, str):
            dropped[found] += 1
        elif len(accepted) == most:
            dropped["too many"] += 1
        else:
            accepted.append(found)
    return _counted({"sentences": accepted} if accepted else {}, dropped)


def _sentence(
    item: SentenceReply, statements: Mapping[int, str], name: str
) -> dict[str, Any] | str:
    """Return a sentence with its statements, or why it is not accepted."""
    text = item.text.lstrip("-*#> ")
    numbers = _numbers(item.facts, statements)
    if not numbers:
        return "no source"
    grounds = name + " ".join(statements[n] for n in numbers)
    return _flaw(text, grounds) or {"text": text, "facts": numbers}


def _counted(found: Answer, dropped: Counter[str]) -> Answer:
    """Return an answer with the counts of dropped items; {} if both are empty."""
    counts = {"dropped": dict(sorted(dropped.items()))}
    return {**found, **counts} if found or dropped else {}


def read_related(
    reply: RelatedReply, material: Mapping[str, Any], dropped: Counter[str]
) -> Answer:
    """Return one sentence for each relation, as `read_sentences` does (`B11`)."""
    to = {row["r"]: row["to"] for row in material["relations"]}
    statements = {row["n"]: f"{row['date']} {row['text']}" for row in material["facts"]}
    accepted: dict[int, Mapping[str, Any]] = {}
    for item in reply.sentences[:_LONG]:
        number = item.relation
        if number is None or number not in to or number in accepted:
            dropped["no relation that was shown"] += 1
            continue
        found = _sentence(item, statements, f"{material['name']} {to[number]} ")
        if isinstance(found, str):
            dropped[found] += 1
        else:
            accepted[number] = found
    sentences = [accepted[number] for number in sorted(accepted)]
    return _counted({"sentences": sentences} if sentences else {}, dropped)


def read_subjects(
    reply: SubjectsReply, material: Mapping[str, Any], dropped: Counter[str]
) -> Answer:
    """Return names by the number of the statement that contains them (`A33`)."""
    statements = {statement["n"]: statement["text"] for statement in material["facts"]}
    found: dict[str, list[str]] = {}
    for item in reply.facts[:_LONG]:
        if item.n is None or item.n not in statements:
            continue
        for name in item.names[:_LONG]:
            if _is_subject(name, statements[item.n]):
                found.setdefault(str(item.n), []).append(name)
            else:
                dropped["not named"] += 1
    return _counted({"names": found} if found else {}, dropped)


def _is_subject(name: str, text: str) -> bool:
    """Return whether `name` is a name in the text that is not the owner's."""
    return not is_owner(name) and _contains(name, text)


def read_bridge(
    reply: BridgeReply, material: Mapping[str, Any], _dropped: Counter[str]
) -> Answer:
    """Return the connection of two entities, {} if there is none (`D9`).

    The answer needs a statement about each of the two.
    """
    sides = [
        {statement["n"]: statement["text"] for statement in material[side]["facts"]}
        for side in ("a", "b")
    ]
    numbers = _numbers(reply.facts, sides[0] | sides[1])
    how = reply.how.lstrip("-*#> ")
    named = [material[side]["name"] for side in ("a", "b")]
    grounds = " ".join([*named, *((sides[0] | sides[1])[n] for n in numbers)])
    both = all(any(n in side for n in numbers) for side in sides)
    if reply.connected and both and not _flaw(how, grounds):
        return {"how": how, "facts": numbers}
    return {}


def _numbers(value: Sequence[int], known: Mapping[int, object]) -> list[int]:
    """Return the numbers that are keys of `known`, each once."""
    return list(dict.fromkeys(n for n in value[:_LONG] if n in known))


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
    """Return whether a text contains a name as whole words."""
    key = key_of(name)
    text_key = key_of(text.replace("'s", " "))
    return bool(key) and f"_{key}_" in f"_{text_key}_"


TASKS.update(
    describe=Task(SentencesReply, partial(read_sentences, 4), "few", together=True),
    relate=Task(RelatedReply, read_related, "few", together=True),
    profile=Task(SentencesReply, partial(read_sentences, 50), "never"),
    patterns=Task(SentencesReply, partial(read_sentences, 40), "never"),
    story=Task(SentencesReply, partial(read_sentences, 3)),
    macro=Task(SentencesReply, partial(read_sentences, 4), "never"),
    subjects=Task(SubjectsReply, read_subjects, together=True),
    bridge=Task(BridgeReply, read_bridge, "never", together=True),
)
