"""The replies of an evaluation."""

from __future__ import annotations

from engram.llm.replies.base import ReplyModel, Text


class AnswerReply(ReplyModel):
    """An answer to a question."""

    answer: Text


class GradeReply(ReplyModel):
    """Whether an answer is right."""

    right: bool
