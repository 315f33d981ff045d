"""The reply of the extraction: facts, entities, relations, and ends of known facts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engram.core.categories import CATEGORIES
from engram.core.entities import LIFETIMES
from engram.core.records import ENTITY_TYPES, SORTS
from engram.llm.replies.base import (
    Flag,
    Items,
    Lines,
    Number,
    Numbers,
    OptionalItems,
    ReplyModel,
    Share,
    SoftText,
    Text,
    listed,
    word_of,
)

LINKS = ("replaces", "ends", "same", "supports")
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
    """The whole reply."""

    facts: Items[FactReply]
    entities: OptionalItems[EntityReply] = Field(default=[])
    relations: OptionalItems[RelationReply] = Field(default=[])
    ended: OptionalItems[EndReply] = Field(default=[])
