"""Prompts and replies: the texts of prompt files, closed schemas, and their readers.

A list of a reply drops its invalid items, and counts them. A quote is found in the text
that it repeats (row X17).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args
from unicodedata import category

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)

from engram.core.categories import CATEGORIES
from engram.core.decide import RelationKind
from engram.core.entities import LIFETIMES
from engram.core.records import ENTITY_TYPES, SORTS
from engram.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_BREAKS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}


def quoted(text: str) -> str:
    """Return `text` as a JSON string on one line, which its content cannot end."""
    return json.dumps(text, ensure_ascii=False).translate(_BREAKS)


def one_line(value: object) -> str:
    """Return a text on one line, without control characters and lone surrogates.

    '' for a value that is no text.
    """
    if not isinstance(value, str):
        return ""
    clean = value.encode("utf-8", "ignore").decode("utf-8")
    return " ".join(
        "".join(" " if category(char) == "Cc" else char for char in clean).split()
    )


MALFORMED = "malformed"
"""The reason for dropping an item of another form."""
_FIX = "It is tried again later; another model may keep to the form."
NO_NUMBER = -(10**9)
"""The value of an item that is no whole number."""
_LONGEST_LIST = 20_000
_STRING_OR_LAST_COMMA = re.compile(
    r'(?P<string>"(?:\\.|[^"\\])*"?)|,(?=\s*[\]}])', re.DOTALL
)


class ReplyModel(BaseModel):
    """An object in a reply. Unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


Form = TypeVar("Form", bound=ReplyModel)
Item = TypeVar("Item")


# -- fields ----------------------------------------------------------------------------


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text")  # noqa: TRY004
    return one_line(value)


def _lines(value: object) -> tuple[str, ...]:
    return tuple(map(one_line, value)) if isinstance(value, list) else ()


def _exact(value: object) -> int | None:
    return value if type(value) is int else None


def _text_list(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("must be a list")  # noqa: TRY004
    return _lines(value)


def _whole(value: object) -> int | None:
    """Return a whole number, also from `"3"` and `"[3]"`, or None."""
    if isinstance(value, str) and value.strip("[]. ").isdecimal():
        return int(value.strip("[]. ")[:6])
    return value if type(value) is int else None


def _sources(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise ValueError("must be a list of numbers")  # noqa: TRY004
    whole = map(_exact, value[:_LONGEST_LIST])
    return tuple(NO_NUMBER if number is None else number for number in whole)


def _numbers(value: object) -> tuple[int, ...]:
    """Return the whole numbers of a list, or of one number."""
    if value is None:
        return ()
    listed = value[:_LONGEST_LIST] if isinstance(value, list) else [value]
    whole = map(_whole, listed)
    return tuple(NO_NUMBER if number is None else number for number in whole)


def _number(value: object) -> float | None:
    """Return a number, or None for any other value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return None if math.isnan(found) else found


Text = Annotated[str, BeforeValidator(_text)]
"""A text on one line; other values are invalid."""
SoftText = Annotated[str, BeforeValidator(one_line)]
"""A text on one line, '' for other values."""
Whole = Annotated[
    int | None, BeforeValidator(_exact), WithJsonSchema({"type": "integer"})
]
"""The required number of an item of the prompt; None for other values."""
TextList = Annotated[tuple[str, ...], BeforeValidator(_text_list)]
"""The texts of a list; other values are invalid."""
Lines = Annotated[tuple[str, ...], BeforeValidator(_lines)]
"""The texts of a list, '' for items of another type."""
Numbers = Annotated[tuple[int, ...], BeforeValidator(_numbers)]
"""Numbers of items of the prompt; `NO_NUMBER` for other values in the list."""
Sources = Annotated[tuple[int, ...], BeforeValidator(_sources)]
"""Numbers of sources, which must be whole; `NO_NUMBER` for other items."""
Number = Annotated[int | None, BeforeValidator(_whole)]
"""The number of an item of the prompt, or None."""
Share = Annotated[
    float | None, BeforeValidator(_number), WithJsonSchema({"type": "number"})
]
"""A number on any scale, or None."""
Flag = Annotated[bool, BeforeValidator(lambda value: value is True)]
"""True, or False for other values."""


def _valid_items(
    value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
) -> Any:
    """Return the valid items of a list; count the others."""
    if not isinstance(value, list):
        raise ValueError("must be a list")  # noqa: TRY004
    found: list[Any] = []
    for item in value:
        try:
            found += handler([item])
        except ValidationError as error:
            context = info.context or {}
            context.setdefault("dropped", Counter())[MALFORMED] += 1
            context.setdefault("why", _why(error))
    return found


Items = Annotated[list[Item], WrapValidator(_valid_items)]
"""A list; invalid items are dropped and counted."""


def _optional(
    value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
) -> Any:
    return _valid_items(value, handler, info) if isinstance(value, list) else []


OptionalItems = Annotated[list[Item], WrapValidator(_optional)]
"""Like `Items`, but empty for a value that is no list."""


# -- parsing ---------------------------------------------------------------------------


def parsed(reply: str) -> dict[str, Any]:
    """Return the JSON object in a reply. Raises ModelError.

    Small models write a comma after the last item of a list or an object, as in Python;
    it is ignored.
    """
    try:
        try:
            body = json.loads(reply)
        except ValueError:
            body = json.loads(
                _STRING_OR_LAST_COMMA.sub(lambda match: match["string"] or "", reply)
            )
    except RecursionError:
        raise ModelError("The answer is not JSON (nested too deep)", fix=_FIX) from None
    except ValueError as error:
        why = str(error)[:80]
        raise ModelError(f"The answer is not JSON ({why})", fix=_FIX) from None
    if not isinstance(body, dict):
        raise ModelError("The answer is not a JSON object", fix=_FIX)
    return body


def read(form: type[Form], body: object) -> tuple[Form, Counter[str]]:
    """Return a reply in its form, and the number of dropped items by reason.

    Raises ModelError if the form is wrong, or if no item of a list is valid.
    """
    context: dict[str, Any] = {"dropped": Counter()}
    try:
        found = form.model_validate(body, context=context)
    except ValidationError as error:
        raise ModelError(_why(error), fix=_FIX) from None
    dropped: Counter[str] = context["dropped"]
    first = next(iter(form.model_fields))
    listed = getattr(found, first)
    if dropped and isinstance(listed, list) and not listed:
        items = body.get(first) if isinstance(body, dict) else None
        if items:
            why = f"no item of `{first}` has the form that was asked for"
            raise ModelError(f"{why}: {context['why']}", fix=_FIX)
    return found, dropped


def _why(error: ValidationError) -> str:
    """Return the fault of a reply, in words for the model."""
    first = error.errors(include_url=False, include_context=False)[0]
    names = [str(part) for part in first["loc"] if isinstance(part, str)]
    words = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "missing":
        words = "is missing"
    return f"`{'.'.join(names) or 'item'}` {words[:1].lower()}{words[1:120]}"


# -- schemas ---------------------------------------------------------------------------


@cache
def schema(form: type[ReplyModel]) -> Mapping[str, Any]:
    """Return the JSON schema of a form.

    It has only closed objects with all keys required, as strict servers demand.
    """
    raw = form.model_json_schema()
    closed: Mapping[str, Any] = _closed(raw, raw.get("$defs", {}))
    return closed


def together(single: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of one reply that contains several, each with its number."""
    item = {"number": {"type": "integer"}, **single["properties"]}
    listed = {"type": "array", "items": {"type": "object", "properties": item}}
    whole: dict[str, Any] = _closed(
        {"type": "object", "properties": {"answers": listed}}, {}
    )
    return whole


def _closed(part: Any, parts: Mapping[str, Any]) -> Any:
    if "$ref" in part:
        return _closed(parts[part["$ref"].rpartition("/")[2]], parts)
    if "anyOf" in part:
        return {"type": [one["type"] for one in part["anyOf"]]}
    if part.get("type") == "array":
        return {"type": "array", "items": _closed(part["items"], parts)}
    if part.get("type") == "object":
        properties = {
            name: _closed(one, parts) for name, one in part["properties"].items()
        }
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    return {name: part[name] for name in ("type", "enum") if name in part}


def word_of(known: Sequence[str]) -> BeforeValidator:
    """Return a validator that gives one of these words in any case, or ''."""

    def word(value: object) -> str:
        folded = one_line(value).casefold()
        return folded if folded in known else ""

    return BeforeValidator(word)


def listed(known: Sequence[str]) -> Any:
    """Return the part of a schema that lists these words."""
    return Field(json_schema_extra={"enum": list(known)})


LINKS = ("replaces", "ends", "same", "because", "supports")
"""The keys of a fact that name known facts."""

Category = Annotated[SoftText, listed(CATEGORIES)]
Lifetime = Annotated[str, word_of(LIFETIMES), listed(LIFETIMES)]
Sort = Annotated[str, word_of(SORTS), listed(SORTS)]
EntityType = Annotated[SoftText, listed(ENTITY_TYPES)]


class FactReply(ReplyModel):
    """One fact; its quote comes first, so that the model states what it quoted."""

    turn: SoftText = ""
    quote: SoftText = ""
    text: Text
    category: Category = ""
    sort: Sort = ""
    confidence: Share = None
    importance: Share = None
    about: Lines = ()
    attribute: SoftText = ""
    value: SoftText = ""
    tags: Lines = ()
    when_words: SoftText = ""
    when: SoftText = ""
    until: SoftText = ""
    lifetime: Lifetime = ""
    replaces: Numbers = ()
    ends: Numbers = ()
    same: Number = None
    supports: Numbers = ()
    because: Numbers = ()


class EndReply(ReplyModel):
    """A known fact that ended, without a new fact to replace it."""

    n: Numbers = ()
    quote: SoftText = ""


class EntityReply(ReplyModel):
    """A name with its type."""

    name: SoftText = ""
    type: EntityType = ""


class RelationReply(ReplyModel):
    """The relation of the object to the subject, present or former."""

    turn: SoftText = ""
    quote: SoftText = ""
    subject: SoftText = ""
    relation: SoftText = ""
    object: SoftText = ""
    since: SoftText = ""
    until: SoftText = ""
    beside: Flag = False
    attitude: Number = None
    proximity: Number = None
    ended: Flag = False


class ExtractionReply(ReplyModel):
    """The whole reply; `facts` may be missing beside another list."""

    facts: Items[FactReply]
    entities: OptionalItems[EntityReply] = Field(default=[])
    relations: OptionalItems[RelationReply] = Field(default=[])
    ended: OptionalItems[EndReply] = Field(default=[])

    @model_validator(mode="before")
    @classmethod
    def _with_facts(cls, body: Any) -> Any:
        has_others = isinstance(body, dict) and not cls.model_fields.keys().isdisjoint(
            name for name, items in body.items() if items
        )
        return {"facts": [], **body} if has_others else body


RELATIONS: tuple[RelationKind, ...] = get_args(RelationKind)
Relation = Annotated[SoftText, listed(RELATIONS)]


class PairVerdict(ReplyModel):
    """The relation of two statements, and its certainty, 0 to 1."""

    pair: Whole = None
    relation: Relation = ""
    confidence: Share = None


class VerdictsReply(ReplyModel):
    """A verdict on each pair."""

    verdicts: Items[PairVerdict]


class ConclusionReply(ReplyModel):
    """One sentence, and the numbers of the memories behind it."""

    text: Text
    sources: Sources = Field(alias="from")


class InsightsReply(ReplyModel):
    """Several conclusions."""

    insights: Items[ConclusionReply]


class OutdatedReply(ReplyModel):
    """A memory that no longer holds, and the words that are the evidence."""

    memory: Whole = None
    quote: SoftText = ""


class ProbeReply(ReplyModel):
    """The memories that no longer hold."""

    invalid: Items[OutdatedReply]


class SentenceReply(ReplyModel):
    """A sentence and the numbers of its statements.

    The numbers come first, so that a model writes only what those statements contain.
    """

    facts: Sources = ()
    text: SoftText = ""


class SentencesReply(ReplyModel):
    """Several sentences."""

    sentences: Items[SentenceReply]


class RelatedSentence(SentenceReply):
    """A sentence on the relation with this number."""

    relation: Number = None


class RelatedReply(ReplyModel):
    """A sentence for each relation."""

    sentences: Items[RelatedSentence]


class NamedReply(ReplyModel):
    """The names in the statement with this number."""

    n: Whole = None
    names: Lines = ()


class SubjectsReply(ReplyModel):
    """The names in several statements."""

    facts: Items[NamedReply]


class BridgeReply(ReplyModel):
    """The connection of two entities, and the statements that show it."""

    connected: bool
    facts: Sources = ()
    how: SoftText = ""


class SummaryReply(ReplyModel):
    """A summary in prose."""

    summary: Text


class SessionReply(ReplyModel):
    """The summary of a conversation that is over."""

    one_liner: Text = ""
    tone: Text = ""
    what_mattered: TextList = ()
    open_loops: TextList = ()
    commitments: TextList = ()
    people: TextList = ()
    episodes: TextList = ()


_PLAIN = str.maketrans("‘’‚‛“”„‟«»–—‐‑−", '\'\'\'\'""""""-----')


def span(text: str, quote: str) -> str:
    """Return the part of `text` that `quote` repeats, or '' (X17).

    Case, blanks, the kind of quotation mark or dash, and marks around the whole quote
    do not matter: `"i LIKE tea…"` finds `I like tea` in `Well, I like tea`.
    """
    folded, places = _folded(text)
    folded_quote = _folded(quote)[0].strip()
    for needle in (folded_quote, folded_quote.strip(" \"'.…")):
        at = folded.find(needle) if any(map(str.isalnum, needle)) else -1
        if at >= 0:
            return text[places[at] : places[at + len(needle) - 1] + 1]
    return ""


def _folded(text: str) -> tuple[str, list[int]]:
    """Return `text` folded for comparison, and each character's position in `text`."""
    out: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text.translate(_PLAIN)):
        for piece in char.casefold():
            blank = piece.isspace()
            if not (blank and out and out[-1] == " "):
                out.append(" " if blank else piece)
                places.append(place)
    return "".join(out), places
