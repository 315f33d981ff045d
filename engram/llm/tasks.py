"""What a model is asked to do: a prompt, a schema, and a reading of the reply that trusts nothing.

A task either gives a validated record or raises ModelError. The raw reply never becomes a memory: where row
A4 would keep an unreadable reply whole, we ask once more and then say that the model failed, so that the
batch waits and no chatter is filed as fact.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from unicodedata import category

from engram.core.dates import resolve
from engram.core.records import CATEGORIES, Candidate, Extraction
from engram.core.text import content_hash
from engram.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.core.policy import ExtractionPolicy, ModelPolicy
    from engram.core.records import Interval, Turn
    from engram.llm.client import Model

EXTRACTOR = "model/1"

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
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
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "items": {"type": "object", "properties": _FACT, "required": list(_FACT), "additionalProperties": False},
        }
    },
    "required": ["facts"],
    "additionalProperties": False,
}
"""Evidence stands before the statement: a model that has just quoted states what it quoted."""

_FIX = "It is tried again later; another model may keep to the form."
_PLAIN = str.maketrans("‘’‚‛“”„‟«»–—‐‑−", '\'\'\'\'""""""-----')


def extract(turns: Sequence[Turn], model: Model, policy: ExtractionPolicy, model_policy: ModelPolicy) -> Extraction:
    """The facts a model finds in a batch of turns of one conversation (`C3`, `X17`).

    A batch whose user turns hold fewer than `policy.min_chars` characters is not asked about. An answer that
    cannot be read is asked for again, `model_policy.re_asks` times, with the reason.
    Raises ModelError; an empty Extraction means that there was nothing worth remembering.
    """
    shown = [turn for turn in turns if turn.role != "system"]
    said = sum(len(turn.text.strip()) for turn in shown if turn.role == "user")
    if said < max(policy.min_chars, 1):
        return Extraction((), EXTRACTOR, {"too short": len(turns)})
    system, user, again = _extraction_prompt(shown, policy, model_policy)
    question, re_asks = user, model_policy.re_asks
    while True:
        reply = model.complete("extract", system, question, SCHEMA, model_policy.temperature)
        try:
            return read_facts(reply, shown, policy, model_policy)
        except ModelError as error:
            if re_asks == 0:
                error.where = f"{model.host}, extract"
                raise
            re_asks -= 1
            question = f"{user}\n\n{again.replace('{{error}}', error.what)}"


def read_facts(reply: str, turns: Sequence[Turn], policy: ExtractionPolicy, model_policy: ModelPolicy) -> Extraction:
    """The candidates in a reply about `turns`, which the model knows as t1, t2, …

    Dropped and counted: what has not the form, names a turn that is not there, is empty or too long, repeats
    another fact of the reply or the prompt's example, or comes after `policy.max_facts`. A fact whose quote is
    not in its turn is kept with the quote '': it must go to a person's review, never among the facts (`X17`).
    Any further field, such as an insight, is ignored (`A5`). Raises ModelError where the reply has not the
    form at all, or proposes facts of which none has it.
    """
    items = _items(reply)
    kept: list[Candidate] = []
    seen: set[str] = set()
    dropped: Counter[str] = Counter()
    for item in items:
        if len(kept) == policy.max_facts:
            dropped["over the limit"] += 1
            continue
        found = _candidate(item, turns, policy, model_policy)
        if isinstance(found, str):
            dropped[found] += 1
        elif content_hash(found.text) in seen:
            dropped["said twice"] += 1
        else:
            seen.add(content_hash(found.text))
            kept.append(found)
    if items and dropped["malformed"] == len(items):
        raise ModelError("No fact of the answer has the form that was asked for", fix=_FIX)
    return Extraction(tuple(kept), EXTRACTOR, dict(dropped))


def span(text: str, quote: str) -> str:
    """The stretch of `text` that `quote` repeats, letter by letter as it stands there, or '' (`X17`).

    Case, blanks and the kind of quotation mark or dash do not count, nor do marks around the whole quote:
    `"i  LIKE tea…"` finds `I like tea` in `Well, I like tea`.
    """
    folded, places = _folded(text)
    wanted = _folded(quote)[0].strip()
    for needle in (wanted, wanted.strip(" \"'.…")):
        at = folded.find(needle) if any(map(str.isalnum, needle)) else -1
        if at >= 0:
            return text[places[at] : places[at + len(needle) - 1] + 1]
    return ""


def _items(reply: str) -> list[Any]:
    try:
        body = json.loads(reply)
    except ValueError as error:
        raise ModelError(f"The answer is not JSON ({str(error)[:80]})", fix=_FIX) from None
    except RecursionError:
        raise ModelError("The answer is not JSON (nested too deep)", fix=_FIX) from None
    items = body.get("facts") if isinstance(body, dict) else None
    if not isinstance(items, list):
        raise ModelError('The answer is not an object with a list "facts"', fix=_FIX)
    return items


def _candidate(
    item: Any, turns: Sequence[Turn], policy: ExtractionPolicy, model_policy: ModelPolicy
) -> Candidate | str:
    """The fact in one item of a reply, or the reason why there is none."""
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        return "malformed"
    text = _line(item["text"])
    if not text:
        return "empty"
    if len(text) > policy.fact_chars:
        return "too long"
    turn = _turn(item.get("turn"), turns)
    if turn is None:
        return "no such turn"
    shown = turn.text[: policy.turn_chars]
    quote = span(shown, _line(item.get("quote")))
    if not quote and content_hash(text) in _examples():
        return "the prompt's example"
    kind = _line(item.get("category")).casefold()
    confidence = _share(item.get("confidence"))
    return Candidate(
        text=text,
        category=kind if kind in CATEGORIES else "fact",
        confidence=policy.default_confidence if confidence is None else confidence,
        turn_id=turn.id,
        quote=quote,
        importance=_share(item.get("importance")),
        about=_names(item.get("about"), model_policy.name_chars)[: policy.max_entities],
        tags=_tags(item.get("tags"), model_policy.name_chars)[: model_policy.max_tags],
        when=_when(_line(item.get("when_words")), shown, turn),
    )


def _turn(name: object, turns: Sequence[Turn]) -> Turn | None:
    """The turn that the model calls `name`: t1 is the first one shown."""
    number = re.fullmatch(r"\[?[tT]([0-9]{1,6})\]?", _line(name))
    place = int(number[1]) - 1 if number else -1
    return turns[place] if 0 <= place < len(turns) else None


def _when(words: str, shown: str, turn: Turn) -> Interval | None:
    """The time the words stand for, reckoned here and only where the turn really says them (`X14`)."""
    found = resolve(span(shown, words), turn.occurred_at)
    return found[0] if found else None


def _share(value: object) -> float | None:
    """A number on the scale 0–1, or None (`A3`); above 1 it is read as 1–10: 7 → 0.7, 15 → 1, −3 → 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if value > 10:
        return 1.0
    if value < 0:
        return 0.0
    return None if math.isnan(value) else value / 10 if value > 1 else float(value)


def _names(value: object, most_chars: int) -> tuple[str, ...]:
    """The names in a list, each once whatever its case; what is no name, or too long for one, is left out."""
    kept: dict[str, str] = {}
    for name in map(_line, value if isinstance(value, list) else ()):
        if 0 < len(name) <= most_chars:
            kept.setdefault(name.casefold(), name)
    return tuple(kept.values())


def _tags(value: object, most_chars: int) -> tuple[str, ...]:
    """The tags in a list, in the form of the vault: lower case, no `#`, hyphens for blanks."""
    tags = ("-".join(name.casefold().lstrip("#").split()) for name in _names(value, most_chars))
    return tuple(dict.fromkeys(filter(None, tags)))


def _line(value: object) -> str:
    """A text on one line, without control characters and lone surrogates; '' for anything else."""
    if not isinstance(value, str):
        return ""
    clean = value.encode("utf-8", "ignore").decode("utf-8")
    return " ".join("".join(" " if category(char) == "Cc" else char for char in clean).split())


def _folded(text: str) -> tuple[str, list[int]]:
    """`text` for comparison, and for each of its characters the place it came from."""
    out: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text.translate(_PLAIN)):
        for piece in char.casefold():
            blank = piece.isspace()
            if not (blank and out and out[-1] == " "):
                out.append(" " if blank else piece)
                places.append(place)
    return "".join(out), places


# The prompt


@cache
def _sections(name: str) -> Mapping[str, str]:
    """The parts of a prompt file, each under its heading `# name`."""
    raw = files("engram.llm").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
    parts = re.split(r"^# (\w+)\n", raw, flags=re.MULTILINE)
    return {heading: part.strip() for heading, part in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def _examples() -> frozenset[str]:
    """The hashes of the statements in the prompt's own example."""
    lines = [line for line in _sections("extract")["system"].splitlines() if line.startswith("{")]
    return frozenset(content_hash(fact["text"]) for line in lines for fact in json.loads(line)["facts"])


def _extraction_prompt(
    turns: Sequence[Turn], policy: ExtractionPolicy, model_policy: ModelPolicy
) -> tuple[str, str, str]:
    """System text, question, and the words of a second asking. The conversation is put in last."""
    sections = _sections("extract")
    system = sections["system"]
    limits = {
        "{{max_facts}}": policy.max_facts,
        "{{max_entities}}": policy.max_entities,
        "{{max_tags}}": model_policy.max_tags,
    }
    for name, limit in limits.items():
        system = system.replace(name, str(limit))
    talk = "\n".join(_shown(place, turn, policy, model_policy) for place, turn in enumerate(turns, 1))
    mark = hashlib.sha256(talk.encode("utf-8", "replace")).hexdigest()[:12]
    user = sections["user"].replace("{{mark}}", mark).replace("{{conversation}}", talk)
    return system, user, sections["again"]


def _shown(place: int, turn: Turn, policy: ExtractionPolicy, model_policy: ModelPolicy) -> str:
    """A turn as the model sees it; lines after the first are set in, so that none can pose as a turn.

    The mark around the conversation is a hash of it, so that no text can hold the mark that closes it.
    """
    when = turn.occurred_at.isoformat(sep=" ", timespec="minutes")
    speaker = (_line(turn.speaker) or turn.role)[: model_policy.name_chars]
    text = "\n    ".join(turn.text[: policy.turn_chars].strip().splitlines())
    return f"[t{place}] {when} {speaker} ({turn.role}): {text}"
