"""Extraction by a model: the prompt, the schema and the validation of the reply.

`extract` returns a validated `Extraction` or raises ModelError. An unreadable reply
never becomes a memory, unlike in row A4: the question is sent again, and then the batch
waits.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from engram.core.categories import PLAIN, category_named, category_of
from engram.core.classify import is_social
from engram.core.entities import OWNER, is_assistant, is_owner, name_key, relation_label
from engram.core.policy import ExtractionPolicy, ImportancePolicy, ModelPolicy
from engram.core.records import (
    ENTITY_TYPES,
    Candidate,
    Extraction,
    Fact,
    Relation,
    Turn,
)
from engram.core.text import content_hash
from engram.errors import ModelError
from engram.llm.answers import sections
from engram.llm.links import (
    NOTHING_KNOWN,
    KnownContext,
    known_text,
    local_time,
    read_ends,
    read_links,
)
from engram.llm.model_dates import date_of_relation, read_dates
from engram.llm.replies import (
    EntityReply,
    ExtractionReply,
    FactReply,
    RelationReply,
    one_line,
    parsed,
    read,
    schema,
    span,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from engram.llm.client import AnyModel


@cache
def examples() -> frozenset[str]:
    """Return the content hashes of the statements in the example of the prompt."""
    lines = [
        line
        for line in sections("extract")["system"].splitlines()
        if line.startswith("{")
    ]
    return frozenset(
        content_hash(fact["text"])
        for line in lines
        for fact in json.loads(line)["facts"]
    )


def extraction_prompt(
    turns: Sequence[Turn],
    policy: ExtractionPolicy,
    model_policy: ModelPolicy,
    known: KnownContext = NOTHING_KNOWN,
) -> tuple[str, str, str]:
    """Return the system text, the question, and the text for a repeated question.

    The conversation is inserted last, so that no text of it is replaced. The known
    facts and names precede it.
    """
    prompt = sections("extract")
    system = prompt["system"]
    limits = {
        "{{max_facts}}": policy.max_facts,
        "{{max_entities}}": policy.max_entities,
        "{{max_tags}}": model_policy.max_tags,
        "{{max_relations}}": policy.max_relations,
    }
    for name, limit in limits.items():
        system = system.replace(name, str(limit))
    conversation = "\n".join(
        _prompt_line(place, turn, policy, model_policy)
        for place, turn in enumerate(turns, 1)
    )
    mark = hashlib.sha256(conversation.encode("utf-8", "replace")).hexdigest()[:12]
    user = (
        prompt["user"]
        .replace("{{mark}}", mark)
        .replace("{{conversation}}", conversation)
    )
    before = known_text(known, policy)
    return system, f"{before}\n\n{user}" if before else user, prompt["again"]


def _prompt_line(
    place: int, turn: Turn, policy: ExtractionPolicy, model_policy: ModelPolicy
) -> str:
    """Return a turn in the form of the prompt, with further lines indented.

    No line of a text can then look like another turn. The mark around the conversation
    is a hash of it, so that no text can contain the closing mark.
    """
    when = local_time(turn.occurred_at)
    speaker = (one_line(turn.speaker) or turn.role)[: model_policy.name_chars]
    text = "\n    ".join(turn.text[: policy.turn_chars].strip().splitlines())
    return f"[t{place}] {when} {speaker} ({turn.role}): {text}"


EXTRACTOR = "model/1"

SCHEMA = schema(ExtractionReply)

_IMPORTANCE = ImportancePolicy()
_QUESTION = re.compile(r"[?？]\s*$")
_WORD = re.compile(r"\w")


def extract(
    turns: Sequence[Turn],
    model: AnyModel,
    policy: ExtractionPolicy,
    model_policy: ModelPolicy,
    importance: ImportancePolicy = _IMPORTANCE,
    known: KnownContext = NOTHING_KNOWN,
) -> Extraction:
    """Return the facts that a model finds in turns of one conversation (`C3`, `X17`).

    The prompt includes the `known` facts, which the model may report as over (`A9`).
    The model is not called if the user's turns, or all turns if none is the user's,
    have fewer than `policy.min_chars` characters, unless one answers a question ("On
    the 17th"), or may report on a known promise ("Done"); a CJK character counts as
    `importance.sign_width` (`X13`). After an unreadable answer the question is sent
    again, `model_policy.re_asks` times, with the reason. Raises ModelError; an empty
    Extraction means that there is nothing to store.
    """
    prompted = [turn for turn in turns if turn.role != "system"]
    own = [turn for turn in prompted if turn.role == "user"] or prompted
    width = sum(_width(turn.text.strip(), importance) for turn in own)
    if width < max(policy.min_chars, 1) and not _has_content(prompted, known):
        return Extraction((), EXTRACTOR, {"too short": len(turns)})
    system, user, again = extraction_prompt(prompted, policy, model_policy, known)
    question, re_asks = user, model_policy.re_asks
    while True:
        reply = model.complete(
            "extract", system, question, SCHEMA, model_policy.temperature
        )
        try:
            found = read_facts(reply, prompted, policy, model_policy, known.facts)
        except ModelError as error:
            if re_asks == 0:
                error.where = f"{model.host}, extract"
                raise
            why = error.what
        else:
            why = _unusable(found)
            if not why or re_asks == 0:
                return found
        re_asks -= 1
        question = f"{user}\n\n{again.replace('{{error}}', why)}"


def _has_content(prompted: Sequence[Turn], known: KnownContext) -> bool:
    """Return whether a short turn of the user may have content by its context."""
    promised = any(category_of(fact.category).promise for fact in known.facts)
    conversation = [
        turn for turn in (*known.before, *prompted) if turn.role != "system"
    ]
    for before, turn in pairwise([None, *conversation]):
        if turn is None or turn.role != "user" or turn not in prompted:
            continue
        is_answer = (
            before is not None
            and before.role == "assistant"
            and _QUESTION.search(before.text) is not None
        )
        may_report = promised and not is_social(turn.text)
        says = _WORD.search(turn.text) and not _QUESTION.search(turn.text)
        if (is_answer or may_report) and says:
            return True
    return False


def _unusable(found: Extraction) -> str:
    """Return why no fact of a reply can be used, or ''.

    A repetition of the example, or of another fact, is no reason to ask again.
    """
    if found.candidates and any(candidate.quote for candidate in found.candidates):
        return ""
    if found.candidates:
        return "No `quote` stands in its turn, letter by letter"
    reasons = [
        why for why in ("no such turn", "empty", "too long") if why in found.dropped
    ]
    return f"No fact can be used: {', '.join(reasons)}" if reasons else ""


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

    `known` are the known facts in the prompt, numbered from 1.

    These facts are dropped and counted: of a wrong form, about a turn that does not
    exist, empty or too long, a repetition of another fact or of the prompt's example,
    and all after `policy.max_facts`. A fact whose quote is not in its turn has the
    quote '', which sends it to review (`X17`). Other fields, such as insights, are
    ignored (`A5`). Raises ModelError if the reply, or every fact in it, has a wrong
    form.
    """
    body, dropped = read(ExtractionReply, parsed(reply))
    tenths = {name for name in ("confidence", "importance") if _in_tenths(body, name)}
    candidates: list[Candidate] = []
    seen: set[str] = set()
    warnings: dict[str, str] = {}
    texts: dict[str, str] = {}  # of accepted facts, by "=" and the place in the reply
    for place, item in enumerate(body.facts, 1):
        if len(candidates) == policy.max_facts:
            dropped["over the limit"] += 1
            continue
        found = _candidate(item, turns, policy, model_policy, tenths)
        if isinstance(found, str):
            dropped[found] += 1
        elif content_hash(found[0].text) in seen:
            dropped["said twice"] += 1
        else:
            candidate, doubt = found
            seen.add(content_hash(candidate.text))
            grounded = bool(candidate.quote)
            refused: Counter[str] = Counter()
            own = len(body.facts)
            links = read_links(item, known, refused, own, grounded=grounded)
            texts[f"={place}"] = f"={candidate.text}"
            candidates.append(replace(candidate, links=links))
            refused = +refused
            if doubts := [*filter(None, [doubt]), *refused]:
                warnings[candidate.text] = "; ".join(doubts)
            dropped += refused
    candidates = _grounds_first(_with_grounds(one, texts) for one in candidates)
    relations = _relations(body.relations, turns, dropped, policy, model_policy)
    types = _types(body.entities, dropped, model_policy)
    ended = read_ends(body.ended, turns, known, dropped, policy)
    return Extraction(
        tuple(candidates),
        EXTRACTOR,
        dict(+dropped),
        relations,
        types,
        warnings=warnings,
        ended=ended,
    )


def _with_grounds(candidate: Candidate, texts: Mapping[str, str]) -> Candidate:
    """Return a candidate that names facts of the same reply by their texts."""
    links = candidate.links
    if links is None or not links.because:
        return candidate
    named = (texts.get(one, one) for one in links.because)
    own = f"={candidate.text}"
    because = tuple(one for one in named if one != own)
    return replace(candidate, links=replace(links, because=because))


def _grounds_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Order candidates so that each follows those of the reply it rests on (`X29`).

    "I moved, because I got a job" tells the ground last. Filed in that order, the move
    would name a memory that does not exist yet.
    """
    waiting = {f"={one.text}": one for one in candidates}
    ordered: list[Candidate] = []

    def take(name: str) -> None:
        if one := waiting.pop(name, None):
            for ground in one.links.because if one.links else ():
                take(ground)
            ordered.append(one)

    for name in list(waiting):
        take(name)
    return ordered


def _candidate(
    item: FactReply,
    turns: Sequence[Turn],
    policy: ExtractionPolicy,
    model_policy: ModelPolicy,
    tenths: Collection[str],
) -> tuple[Candidate, str] | str:
    """Return the candidate in one item of a reply and a doubt about its date.

    Returns the reason instead if the item is dropped. `tenths` are the fields whose
    scale is 1–10 in this reply (`A3`).
    """
    if not item.text:
        return "empty"
    if len(item.text) > policy.fact_chars:
        return "too long"
    turn = _turn(item.turn, turns)
    if turn is None:
        return "no such turn"
    turn_text = turn.text[: policy.turn_chars]
    quote = span(turn_text, item.quote)
    if not quote and content_hash(item.text) in examples():
        return "the prompt's example"
    confidence = _share(item.confidence, tenths="confidence" in tenths)
    category, tag = category_named(item.category) or (PLAIN, "")
    dates = read_dates(item, turn_text, turn, category)
    candidate = Candidate(
        text=dates.text,
        category=category,
        confidence=policy.default_confidence if confidence is None else confidence,
        turn_id=turn.id,
        quote=quote,
        importance=_share(item.importance, tenths="importance" in tenths),
        about=_about(item.about, model_policy.name_chars)[: policy.max_entities],
        attribute=_slot(item.attribute, _ATTRIBUTE_CHARS).casefold(),
        value=_slot(item.value, model_policy.name_chars),
        tags=_tags(item.tags, tag, model_policy.name_chars)[: model_policy.max_tags],
        when=dates.when,
        lifetime=item.lifetime,
        sort=item.sort,
        dated_by=dates.by,
        until=dates.until,
    )
    return candidate, dates.doubt


def _relations(
    items: Sequence[RelationReply],
    turns: Sequence[Turn],
    dropped: Counter[str],
    policy: ExtractionPolicy,
    model_policy: ModelPolicy,
) -> tuple[Relation, ...]:
    """Return the relations in a reply, each once; count others in `dropped` (`B1`).

    Relations are not reviewed, so one without a quote in its turn is dropped (`X17`).
    """
    relations: dict[tuple[str, str, str, bool], Relation] = {}
    for item in items:
        found = _relation(item, turns, policy, model_policy)
        if isinstance(found, str):
            dropped[f"relation: {found}"] += 1
        elif len(relations) == policy.max_relations:
            dropped["relation: over the limit"] += 1
        else:
            relations.setdefault(
                (
                    name_key(found.subject),
                    found.type,
                    name_key(found.object),
                    found.ended,
                ),
                found,
            )
    return tuple(relations.values())


def _relation(
    item: RelationReply,
    turns: Sequence[Turn],
    policy: ExtractionPolicy,
    model_policy: ModelPolicy,
) -> Relation | str:
    """Return the relation in one item, or the reason to drop it."""
    names = (item.subject, item.relation, item.object)
    subject, kind, other = names
    if not subject or not other or not relation_label(kind):
        return "malformed"
    if max(map(len, names)) > model_policy.name_chars:
        return "malformed"
    if is_assistant(subject) or is_assistant(other):
        return "with the assistant"
    if name_key(subject) == name_key(other) or (is_owner(subject) and is_owner(other)):
        return "to itself"
    turn = _turn(item.turn, turns)
    if turn is None:
        return "no such turn"
    quote = span(turn.text[: policy.turn_chars], item.quote)
    if not quote:
        return "no evidence in the turn"
    return Relation(
        OWNER if is_owner(subject) else subject,
        relation_label(kind),
        OWNER if is_owner(other) else other,
        turn.id,
        quote,
        confidence=policy.default_confidence,
        attitude=_level(item.attitude),
        proximity=_level(item.proximity),
        ended=item.ended,
        begins=date_of_relation(item.since, turn),
        ends=date_of_relation(item.until, turn),
        beside=item.beside,
    )


def _types(
    items: Sequence[EntityReply], dropped: Counter[str], model_policy: ModelPolicy
) -> dict[str, str]:
    """Return the types of entities by their names (`B1`).

    The first type of a name counts; an unknown type is dropped.
    """
    types: dict[str, str] = {}
    for item in items:
        names = _about([item.name], model_policy.name_chars)
        kind = item.type.casefold()
        if names and kind in ENTITY_TYPES:
            types.setdefault(names[0], kind)
        elif names:
            dropped["unknown type"] += 1
    return types


def _turn(name: str, turns: Sequence[Turn]) -> Turn | None:
    """Return the turn with the name `name` in the prompt; t1 is the first one."""
    number = re.fullmatch(r"\[?[tT]([0-9]{1,6})\]?", name)
    place = int(number[1]) - 1 if number else -1
    return turns[place] if 0 <= place < len(turns) else None


def _in_tenths(body: ExtractionReply, name: str) -> bool:
    """Return whether the numbers of a field of a reply are on the scale 1–10 (`A3`).

    A number above 1 indicates that scale, unless there is also a fraction.
    """
    values = [getattr(item, name) for item in body.facts]
    numbers = [one for one in values if one is not None]
    mixed = any(0 < one < 1 for one in numbers)
    return not mixed and any(one > 1 for one in numbers)


def _share(value: float | None, *, tenths: bool) -> float | None:
    """Return a number on the scale 0–1, or None (`A3`).

    Numbers above 1 are converted from the scale 1–10: 7 → 0.7, 15 → 1, −3 → 0. A 1 is
    the maximum of one scale and the minimum of the other: `tenths` is true for the
    latter.
    """
    if value is None or 0 <= value < 1:
        return value
    if tenths or value > 1:
        value /= 10
    return min(max(value, 0.0), 1.0)


def _level(value: int | None) -> int | None:
    """Return a level from 1 to 5, or None."""
    return value if value is not None and 1 <= value <= 5 else None


_ATTRIBUTE_CHARS = 30


def _slot(text: str, most: int) -> str:
    """Return the attribute or the value of a fact as one line, '' if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= most else ""


def _about(value: Sequence[str], most_chars: int) -> tuple[str, ...]:
    """Return the names in a list without those of the owner and of the assistant.

    An empty `about` means the owner.
    """
    names = _names(value, most_chars)
    return tuple(name for name in names if not (is_owner(name) or is_assistant(name)))


def _names(value: Sequence[str], most_chars: int) -> tuple[str, ...]:
    """Return the names in a list, each once in any case, of at most `most_chars`."""
    names: dict[str, str] = {}
    for name in value:
        if 0 < len(name) <= most_chars:
            names.setdefault(name.casefold(), name)
    return tuple(names.values())


def _tags(value: Sequence[str], first: str, most_chars: int) -> tuple[str, ...]:
    """Return `first` and a list of tags: lower case, no `#`, no blanks."""
    tags = (
        "-".join(name.casefold().lstrip("#").split())
        for name in (first, *_names(value, most_chars))
    )
    return tuple(dict.fromkeys(filter(None, tags)))
