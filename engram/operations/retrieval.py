"""The operation `recall`: from arguments to a query, and the count of its hits as used.

(Rows X1, X4, X5, X18, X19, X24.)
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Annotated, Any

from engram.core.ranking import PRESETS
from engram.core.records import ALL_PERSONAS, UNKNOWN_PERSONA, RecallResult, SearchHit
from engram.errors import ForbiddenError
from engram.ingest import requests
from engram.operations.signature import (
    ANY_CALLER,
    TIME,
    Asking,
    Between,
    Record,
    operation,
)
from engram.pipeline.usage import UsageTracker, not_counted_reason
from engram.recall import formatting, search
from engram.recall.request import (
    KINDS,
    RecallRequest,
    RecallSources,
    request_for,
    time_limit,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.language.echo import HandedOut
    from engram.index.conversations import SessionReader
    from engram.index.search import Index
    from engram.pipeline.embed import EmbeddingWorker
    from engram.pipeline.entities import EntityWriter
    from engram.pipeline.write import NoteWriter


def asking(
    persona: str | None, settings: Settings, *, owner: bool, everyone: bool
) -> str | None:
    """Return the persona of a question, which sees its private and all public memories.

    Raises ForbiddenError if a caller other than the owner asks for `everyone`.
    """
    if everyone:
        if not owner:
            raise ForbiddenError(
                "only the owner's command line sees the memories of all personas",
                fix="Name the persona that asks.",
            )
        return ALL_PERSONAS
    if persona:
        return requests.name_from(persona, settings)
    return UNKNOWN_PERSONA if owner else None


class Retriever:
    """The operation `recall`. May be called from any thread."""

    def __init__(
        self,
        index: Index,
        settings: Settings,
        clock: Callable[[], datetime],
        entity_writer: EntityWriter,
        usage_tracker: UsageTracker,
        handed_out: HandedOut,
        embedding: EmbeddingWorker | None,
        note_writer: NoteWriter,
        sessions: SessionReader,
    ) -> None:
        self.index = index
        self.settings = settings
        self.clock = clock
        self.entity_writer = entity_writer
        self.usage_tracker = usage_tracker
        self.handed_out = handed_out
        self.embedding = embedding
        self.note_writer = note_writer
        self.sessions = sessions

    @operation("Recalled", "POST /v1/recall", callers=ANY_CALLER)
    def recall(
        self,
        query: Annotated[str, "the question, or the words to search for"],
        *,
        k: Annotated[int | None, "maximum number of hits", Between(1, 1000)] = None,
        budget: Annotated[
            int | None, "maximum number of tokens of the hits", Between(1, 100000)
        ] = None,
        milliseconds: Annotated[
            int | None,
            "time limit; the answer has the hits found by then",
            Between(1, 60000),
        ] = None,
        preset: Annotated[
            str | None,
            "how hits are ranked; belief adds importance and use, entity recency and frequency",
            tuple(PRESETS),
        ] = None,
        session: Asking = None,
        as_of: Annotated[
            str | None, "answer from the memories of this time", TIME
        ] = None,
        now: Annotated[
            str | None,
            "time of the question, from which words like 'last week' are counted; now if absent",
            TIME,
        ] = None,
        kinds: Annotated[
            list[str] | None,
            "return only this kind; may be repeated",
            KINDS,
        ] = None,
        archive: Annotated[
            bool,
            "always search archived memories too, not only if there are too few others",
        ] = False,
        without_stale: Annotated[
            bool,
            "leave out memories that are stale or archived, unless they are protected",
        ] = False,
        record: Record = True,
        explain: Annotated[
            bool, "show how each hit was scored, and how many were filtered out and why"
        ] = False,
        asks: str | None = None,
        owner: bool = False,
        ready: bool = True,
    ) -> dict[str, Any]:
        """Find the memories that answer a question. Lists the best hits first, each
        with its category, its source, its time, its id and its evidence.

        Without a persona the owner also gets notes with broken front matter, whose
        persona is unknown. Raises BadRequestError for a time or name that cannot be
        read.
        """
        if session:
            session = requests.name_from(session, self.settings)
        answer, request, sources = self.answer(
            query,
            session,
            asks,
            as_of=as_of,
            now=now,
            milliseconds=milliseconds,
            explain=explain,
            record=record,
            ready=ready,
            k=k,
            budget=budget,
            preset=preset,
            kinds=kinds,
            archive=archive,
            without_stale=without_stale,
        )
        if session:
            self.handed_out.note(session, answer.text)
        row = formatting.as_json(answer, request.now, explain=explain)
        if explain:
            self._explain(row, request, sources, answer.hits, owner=owner)
        return row

    def answer(
        self,
        query: str,
        session: str | None,
        persona: str | None,
        *,
        as_of: str | None = None,
        now: str | None = None,
        milliseconds: int | None = None,
        explain: bool = False,
        record: bool = True,
        ready: bool = True,
        **limits: Any,
    ) -> tuple[RecallResult, RecallRequest, RecallSources]:
        """Answer a question; also return its request and the sources of its search.

        `session` and `persona` are validated names. Statements of the running session
        are left out. Without `record` the hits do not count as used.
        """
        deadline = time.monotonic() + time_limit(self.settings, milliseconds)
        asked_at = self._time(now) or self.clock()
        request = request_for(
            self.settings,
            asked_at,
            query,
            as_of=self._time(as_of, end=True),
            running=self.sessions.running(session, persona, asked_at),
            persona=persona,
            **limits,
        )
        sources = RecallSources(
            self.entity_writer.names,
            self.entity_writer.edges.at,
            self.usage_tracker.usage_log.usage_of,
            lambda: deadline - time.monotonic(),
            self.note_writer.user_claim,
        )
        answer = search.recall(
            self.index,
            self.settings,
            request,
            mark=secrets.token_hex(4),
            complete=ready,
            embed=self.embedding.question if self.embedding else None,
            sources=sources,
        )
        if record and not_counted_reason(request.as_of, explain=explain) is None:
            self.usage_tracker.record_recall(answer.hits, self.clock(), session or "")
        return answer, request, sources

    def _explain(
        self,
        row: dict[str, Any],
        request: RecallRequest,
        sources: RecallSources,
        hits: Sequence[SearchHit],
        *,
        owner: bool,
    ) -> None:
        """Add the edges that lead to hits, and the number of private ones (C34, X4).

        Only the owner learns that other personas have private memories about it.
        """
        edges = search.edges_of(self.index, request, sources, hits)
        for hit in row["hits"]:
            if led := edges.get(hit["key"]):
                hit["edges"] = [formatting.edge_row(one, hit["key"]) for one in led]
        if not owner:
            return
        if others := search.private_to_others(self.index, self.settings, request):
            row["filtered"]["private to another persona"] = others

    def _time(self, text: str | None, *, end: bool = False) -> datetime | None:
        """Return the moment that `text` names, or with `end` the end of its day.

        None for no text.
        """
        if text is None:
            return None
        return requests.moment(text, self.settings.zone, end=end, now=self.clock())
