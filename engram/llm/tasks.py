"""Extraction by a model: the prompt, the schema and the validation of the reply.

`extract` returns a validated `Extraction` or raises ModelError. An unreadable reply
never becomes a memory, other than in row A4: the model is asked again, and then the
batch waits.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from engram.core.categories import CATEGORIES, PLAIN, category_named, category_of
from engram.core.entities import LIFETIMES, OWNER, is_owner, name_key, relation_label
from engram.core.language.dates import resolve
from engram.core.language.sentences import sentences
from engram.core.policy import ImportancePolicy
from engram.core.records import (
    ENTITY_TYPES,
    Candidate,
    Extraction,
    Relation,
)
from engram.core.text import content_hash
from engram.errors import ModelError
from engram.llm.extraction_prompt import examples, extraction_prompt, one_line
from engram.llm.links import (
    END_FIELDS,
    LINK_FIELDS,
    NOTHING_KNOWN,
    read_ends,
    read_links,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.core.policy import ExtractionPolicy, ModelPolicy
    from engram.core.records import Fact, Interval, Turn
    from engram.llm.client import Model
    from engram.llm.links import KnownContext

EXTRACTOR = "model/1"

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_LEVEL = {"type": ["integer", "null"]}
_FACT = {
    "turn": _TEXT,
    "quote": _TEXT,
    "text": _TEXT,
    "category": {"type": "string", "enum": list(CATEGORIES)},
    "confidence": {"type": "number"},
    "importance": {"type": "number"},
    "about": _TEXTS,
    "tags": _TEXTS,
    "when_words": _TEXT,
    "lifetime": {"type": "string", "enum": list(LIFETIMES)},
    **LINK_FIELDS,
}
_ENTITY = {"name": _TEXT, "type": {"type": "string", "enum": list(ENTITY_TYPES)}}
_RELATION = {
    "turn": _TEXT,
    "quote": _TEXT,
    "subject": _TEXT,
    "relation": _TEXT,
    "object": _TEXT,
    "attitude": _LEVEL,
    "proximity": _LEVEL,
    "ended": {"type": "boolean"},
}


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object with exactly these properties, the only kind that strict servers take."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMA = _closed(
    {
        name: {"type": "array", "items": _closed(item)}
        for name, item in (
            ("facts", _FACT),
            ("entities", _ENTITY),
            ("relations", _RELATION),
            ("ended", END_FIELDS),
        )
    }
)
"""The quote comes before the statement, so that the model states what it quoted."""

_IMPORTANCE = ImportancePolicy()
_FIX = "It is tried again later; another model may keep to the form."
_PLAIN = str.maketrans("‘’‚‛“”„‟«»–—‐‑−", '\'\'\'\'""""""-----')


def extract(
    turns: Sequence[Turn],
    model: Model,
    policy: ExtractionPolicy,
    model_policy: ModelPolicy,
    importance: ImportancePolicy = _IMPORTANCE,
    known: KnownContext = NOTHING_KNOWN,
) -> Extraction:
    """Return the facts that a model finds in turns of one conversation (`C3`, `X17`).

    The model is shown what is `known`, to say which of it is over (`A9`).
    The model is not asked if the user turns have fewer than `policy.min_chars`
    characters; a CJK character counts as `importance.sign_width` (`X13`). After an
    unreadable answer the model is asked again, `model_policy.re_asks` times, with the
    reason. Raises ModelError; an empty Extraction means that there is nothing to keep.
    """
    shown = [turn for turn in turns if turn.role != "system"]
    width = sum(
        _width(turn.text.strip(), importance) for turn in shown if turn.role == "user"
    )
    if width < max(policy.min_chars, 1):
        return Extraction((), EXTRACTOR, {"too short": len(turns)})
    system, user, again = extraction_prompt(shown, policy, model_policy, known)
    question, re_asks = user, model_policy.re_asks
    while True:
        reply = model.complete(
            "extract", system, question, SCHEMA, model_policy.temperature
        )
        try:
            return read_facts(
                reply, shown, policy, model_policy, known.facts[: policy.known]
            )
        except ModelError as error:
            if re_asks == 0:
                error.where = f"{model.host}, extract"
                raise
            re_asks -= 1
            question = f"{user}\n\n{again.replace('{{error}}', error.what)}"


def _width(text: str, importance: ImportancePolicy) -> float:
    """Return the number of characters; one of a wide script counts several times."""
    signs = sum(sign.isalpha() and east_asian_width(sign) == "W" for sign in text)
    return len(text) + signs * (importance.sign_width - 1)


def read_facts(
    reply: str,
    turns: Sequence[Turn],
    policy: ExtractionPolicy,
    model_policy: ModelPolicy,
    known: Sequence[Fact] = (),
) -> Extraction:
    """Return the candidates and entities in a reply about `turns`, named t1, t2, ….

    `known` are the facts that the model was shown, numbered from 1.

    These facts are dropped and counted: of a wrong form, about a turn that does not
    exist, empty or too long, a repetition of another fact or of the prompt's example,
    and all after `policy.max_facts`. A fact whose quote is not in its turn has the quote
    '', which sends it to review (`X17`). Other fields, such as insights, are ignored
    (`A5`). Raises ModelError if the reply, or every fact in it, has a wrong form.
    """
    body = _body(reply)
    items = body["facts"]
    tenths = {name for name in ("confidence", "importance") if _in_tenths(items, name)}
    kept: list[Candidate] = []
    seen: set[str] = set()
    dropped: Counter[str] = Counter()
    warnings: dict[str, str] = {}
    for item in items:
        if len(kept) == policy.max_facts:
            dropped["over the limit"] += 1
            continue
        found = _candidate(item, turns, policy, model_policy, tenths)
        if isinstance(found, str):
            dropped[found] += 1
        elif content_hash(found.text) in seen:
            dropped["said twice"] += 1
        else:
            seen.add(content_hash(found.text))
            grounded = bool(found.quote)
            refused: Counter[str] = Counter()
            links = read_links(item, known, refused, grounded=grounded)
            kept.append(replace(found, links=links))
            if refused := +refused:
                warnings[found.text] = "; ".join(refused)
                dropped += refused
    if items and dropped["malformed"] == len(items):
        raise ModelError(
            "No fact of the answer has the form that was asked for", fix=_FIX
        )
    relations = _relations(body.get("relations"), turns, dropped, policy, model_policy)
    types = _types(body.get("entities"), dropped, model_policy)
    ended = read_ends(body.get("ended"), turns, known, dropped, policy, span)
    return Extraction(
        tuple(kept),
        EXTRACTOR,
        dict(+dropped),
        relations,
        types,
        warnings=warnings,
        ended=ended,
    )


def span(text: str, quote: str) -> str:
    """Return the part of `text` that `quote` repeats, exactly as in `text`, or '' (X17).

    Case, blanks, the kind of quotation mark or dash, and marks around the whole quote
    do not matter: `"i  LIKE tea…"` finds `I like tea` in `Well, I like tea`.
    """
    folded, places = _folded(text)
    wanted = _folded(quote)[0].strip()
    for needle in (wanted, wanted.strip(" \"'.…")):
        at = folded.find(needle) if any(map(str.isalnum, needle)) else -1
        if at >= 0:
            return text[places[at] : places[at + len(needle) - 1] + 1]
    return ""


def _body(reply: str) -> dict[str, Any]:
    try:
        body = json.loads(reply)
    except ValueError as error:
        raise ModelError(
            f"The answer is not JSON ({str(error)[:80]})", fix=_FIX
        ) from None
    except RecursionError:
        raise ModelError("The answer is not JSON (nested too deep)", fix=_FIX) from None
    if not isinstance(body, dict) or not isinstance(body.get("facts"), list):
        raise ModelError('The answer is not an object with a list "facts"', fix=_FIX)
    return body


def _candidate(
    item: Any,
    turns: Sequence[Turn],
    policy: ExtractionPolicy,
    model_policy: ModelPolicy,
    tenths: Collection[str],
) -> Candidate | str:
    """Return the candidate in one item of a reply, or the reason to drop it.

    `tenths` are the fields whose scale is 1–10 in this reply (`A3`).
    """
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        return "malformed"
    text = one_line(item["text"])
    if not text:
        return "empty"
    if len(text) > policy.fact_chars:
        return "too long"
    turn = _turn(item.get("turn"), turns)
    if turn is None:
        return "no such turn"
    shown = turn.text[: policy.turn_chars]
    quote = span(shown, one_line(item.get("quote")))
    if not quote and content_hash(text) in examples():
        return "the prompt's example"
    confidence = _share(item.get("confidence"), tenths="confidence" in tenths)
    category, tag = category_named(one_line(item.get("category"))) or (PLAIN, "")
    return Candidate(
        text=text,
        category=category,
        confidence=policy.default_confidence if confidence is None else confidence,
        turn_id=turn.id,
        quote=quote,
        importance=_share(item.get("importance"), tenths="importance" in tenths),
        about=_about(item.get("about"), model_policy.name_chars)[: policy.max_entities],
        tags=_tags(item.get("tags"), tag, model_policy.name_chars)[
            : model_policy.max_tags
        ],
        when=_when(one_line(item.get("when_words")), shown, turn, category),
        lifetime=_one_of(LIFETIMES, item.get("lifetime")),
    )


def _relations(
    items: object,
    turns: Sequence[Turn],
    dropped: Counter[str],
    policy: ExtractionPolicy,
    model_policy: ModelPolicy,
) -> tuple[Relation, ...]:
    """Return the relations in a reply, each once; count others in `dropped` (`B1`).

    Relations are not reviewed, so one without a quote in its turn is dropped (`X17`).
    """
    kept: dict[tuple[str, str, str, bool], Relation] = {}
    for item in items if isinstance(items, list) else ():
        found = _relation(item, turns, policy, model_policy)
        if isinstance(found, str):
            dropped[f"relation: {found}"] += 1
        elif len(kept) == policy.max_relations:
            dropped["relation: over the limit"] += 1
        else:
            kept.setdefault(
                (
                    name_key(found.subject),
                    found.type,
                    name_key(found.object),
                    found.ended,
                ),
                found,
            )
    return tuple(kept.values())


def _relation(
    item: Any,
    turns: Sequence[Turn],
    policy: ExtractionPolicy,
    model_policy: ModelPolicy,
) -> Relation | str:
    """Return the relation in one item, or the reason to drop it."""
    if not isinstance(item, dict):
        return "malformed"
    names = [one_line(item.get(name)) for name in ("subject", "relation", "object")]
    subject, kind, other = names
    if not subject or not other or not relation_label(kind):
        return "malformed"
    if max(map(len, names)) > model_policy.name_chars:
        return "malformed"
    if name_key(subject) == name_key(other) or (is_owner(subject) and is_owner(other)):
        return "to itself"
    turn = _turn(item.get("turn"), turns)
    if turn is None:
        return "no such turn"
    quote = span(turn.text[: policy.turn_chars], one_line(item.get("quote")))
    if not quote:
        return "no evidence in the turn"
    return Relation(
        OWNER if is_owner(subject) else subject,
        relation_label(kind),
        OWNER if is_owner(other) else other,
        turn.id,
        quote,
        confidence=policy.default_confidence,
        attitude=_level(item.get("attitude")),
        proximity=_level(item.get("proximity")),
        ended=item.get("ended") is True,
    )


def _types(
    items: object, dropped: Counter[str], model_policy: ModelPolicy
) -> dict[str, str]:
    """Return the types of entities by their names (`B1`).

    The first type of a name counts; an unknown type is dropped.
    """
    types: dict[str, str] = {}
    for item in items if isinstance(items, list) else ():
        names = _about(
            [item.get("name")] if isinstance(item, dict) else [],
            model_policy.name_chars,
        )
        kind = _one_of(ENTITY_TYPES, item.get("type")) if isinstance(item, dict) else ""
        if names and kind:
            types.setdefault(names[0], kind)
        elif names:
            dropped["unknown type"] += 1
    return types


def _turn(name: object, turns: Sequence[Turn]) -> Turn | None:
    """Return the turn that the model calls `name`; t1 is the first one."""
    number = re.fullmatch(r"\[?[tT]([0-9]{1,6})\]?", one_line(name))
    place = int(number[1]) - 1 if number else -1
    return turns[place] if 0 <= place < len(turns) else None


def _when(words: str, shown: str, turn: Turn, category: str) -> Interval | None:
    """Return the time that `words` mean, if the turn contains them (`X14`).

    The words around them, up to a comma, say whether "on Tuesday" is past or to come. A
    promise is to come: a past date for it is a wrong reading.
    """
    said = span(shown, words)
    at = shown.find(said)
    is_plan = category_of(category).promise
    for start, end in sentences(shown) if said else ():
        if start <= at < end:
            part = _between_commas(shown[start:end], at - start, len(said))
            for found in resolve(part, turn.occurred_at):
                is_past = found.end <= turn.occurred_at
                if found.words and found.words in said and not (is_plan and is_past):
                    return found
    alone = resolve(said, turn.occurred_at)
    return alone[0] if alone else None


def _between_commas(sentence: str, at: int, length: int) -> str:
    """The part of a sentence with the words at `at`; the whole if they stand alone."""
    before = sentence.rfind(",", 0, at) + 1
    after = sentence.find(",", at + length)
    part = sentence[before : after if after >= 0 else len(sentence)]
    return (
        part
        if len(part.split()) > len(sentence[at : at + length].split())
        else sentence
    )


def _in_tenths(items: Sequence[object], name: str) -> bool:
    """Return whether the numbers of a field of a reply are on the scale 1–10 (`A3`).

    A number above 1 shows that scale, unless a fraction stands beside it.
    """
    values = [item.get(name) for item in items if isinstance(item, dict)]
    numbers = [
        one
        for one in values
        if isinstance(one, (int, float)) and not isinstance(one, bool)
    ]
    mixed = any(0 < one < 1 for one in numbers)
    return not mixed and any(one > 1 for one in numbers)


def _share(value: object, *, tenths: bool) -> float | None:
    """Return a number on the scale 0–1, or None (`A3`).

    Numbers above 1 are read on the scale 1–10: 7 → 0.7, 15 → 1, −3 → 0. A 1 is the
    most on one scale and the least on the other: `tenths` tells which.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if value > 10:
        return 1.0
    if value < 0:
        return 0.0
    if math.isnan(value):
        return None
    return value / 10 if value > 1 or (tenths and value == 1) else float(value)


def _level(value: object) -> int | None:
    """Return a level from 1 to 5, or None."""
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 5
        else None
    )


def _one_of(known: Sequence[str], value: object) -> str:
    """Return the known word that `value` is, in any case, or ''."""
    word = one_line(value).casefold()
    return word if word in known else ""


def _about(value: object, most_chars: int) -> tuple[str, ...]:
    """Return the names in a list without those of the owner.

    An empty `about` means the owner.
    """
    return tuple(name for name in _names(value, most_chars) if not is_owner(name))


def _names(value: object, most_chars: int) -> tuple[str, ...]:
    """Return the names in a list, each once in any case, of at most `most_chars`."""
    kept: dict[str, str] = {}
    for name in map(one_line, value if isinstance(value, list) else ()):
        if 0 < len(name) <= most_chars:
            kept.setdefault(name.casefold(), name)
    return tuple(kept.values())


def _tags(value: object, first: str, most_chars: int) -> tuple[str, ...]:
    """Return a tag and those in a list as in notes: lower case, no `#`, no blanks."""
    tags = (
        "-".join(name.casefold().lstrip("#").split())
        for name in (first, *_names(value, most_chars))
    )
    return tuple(dict.fromkeys(filter(None, tags)))


def _folded(text: str) -> tuple[str, list[int]]:
    """Return `text` folded for comparison, and the place of each character in `text`."""
    out: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text.translate(_PLAIN)):
        for piece in char.casefold():
            blank = piece.isspace()
            if not (blank and out and out[-1] == " "):
                out.append(" " if blank else piece)
                places.append(place)
    return "".join(out), places
