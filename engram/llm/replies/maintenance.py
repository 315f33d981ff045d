"""The replies of the judge and of the maintenance tasks."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field

from engram.core.dedup import RelationKind
from engram.llm.replies.base import (
    Items,
    Lines,
    Number,
    ReplyModel,
    Share,
    SoftText,
    Sources,
    Text,
    TextList,
    Whole,
    listed,
)

RELATIONS: tuple[RelationKind, ...] = get_args(RelationKind)
Relation = Annotated[SoftText, listed(RELATIONS)]


class JudgeReply(ReplyModel):
    """The relation of a new statement to the known one with this number."""

    relation: Relation = ""
    index: Number = None


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


class SpineReply(ReplyModel):
    """The parts of the persona summary."""

    profile: TextList = ()
    projects: TextList = ()
    people: TextList = ()
    open_loops: TextList = ()
