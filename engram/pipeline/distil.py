"""Extraction from a batch of turns, with the known facts that a model is shown (`A9`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engram.core.todos import with_loop_tag
from engram.index.hiding import is_sensitive
from engram.pipeline.known import KnownFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.records import Extraction, Fact, Turn
    from engram.extraction.extract import Extractor
    from engram.ingest.queue import Batch
    from engram.pipeline.compare import Comparison
    from engram.pipeline.embed import EmbeddingWorker


class Distiller:
    """Distils batches. May be called from any thread."""

    def __init__(
        self,
        extractor: Extractor,
        comparison: Comparison,
        embedding: EmbeddingWorker | None,
    ) -> None:
        self.extractor = extractor
        self.comparison = comparison
        self.embedding = embedding
        self.known_facts = KnownFacts(comparison, extractor.names)

    def distil(self, batch: Batch) -> Extraction:
        """Return the extraction of a batch. Raises ModelError.

        A model is never given highly sensitive turns, nor the rest of their batch
        (`B17`).
        """
        if self._is_sensitive(batch):
            return self.distil_by_rules(batch)
        before = self._before(batch)
        known: tuple[Fact, ...] = ()
        owner: tuple[str, ...] = ()
        names: tuple[str, ...] = ()
        if self.extractor.settings.model is not None:
            known = self._known(batch, before)
            owner, names = self.known_facts.names(known, [*before, *batch.turns])
        extraction = self.extractor.extract(batch, before, known, owner, names)
        candidates = tuple(
            with_loop_tag(candidate) for candidate in extraction.candidates
        )
        extraction = replace(extraction, candidates=candidates)

        if self.embedding:
            texts = [candidate.text for candidate in candidates]
            self.comparison.embed_new(texts, self.embedding.vectors)

        return extraction

    def distil_by_rules(self, batch: Batch) -> Extraction:
        """Return the extraction of a batch by the offline rules."""
        return self.extractor.extract_by_rules(batch, self._before(batch))

    def _is_sensitive(self, batch: Batch) -> bool:
        """Whether a turn of the batch, or its conversation, is highly sensitive."""
        catalog = self.comparison.index.catalog
        if any(
            is_sensitive(catalog.with_sensitivity(item.filed)) for item in batch.waiting
        ):
            return True
        return any(
            file.sensitive and PurePosixPath(file.path).stem == item.filed.note
            for item in batch.waiting
            for file in catalog.sessions(
                item.filed.turn.session, item.filed.turn.persona
            )
        )

    def _known(self, batch: Batch, before: Sequence[Turn]) -> tuple[Fact, ...]:
        """Return the known facts that a model is given with the batch (`A9`)."""
        embed = self.embedding.vectors if self.embedding else None
        earlier = before[-self.extractor.settings.policy.extraction.before :]
        return self.known_facts.near(batch.turns, earlier, embed)

    def _before(self, batch: Batch) -> list[Turn]:
        """Return the last turns in the session file before those of the batch.

        Highly sensitive turns are left out.
        """
        first = min(
            (item.filed for item in batch.waiting),
            key=lambda filed: int(filed.block[1:]),
        )
        settings = self.extractor.settings
        most = settings.policy.extraction.rules_before
        return [
            replace(
                one.turn, occurred_at=one.turn.occurred_at.astimezone(settings.zone)
            )
            for one in self.comparison.index.turns_above(first, most)
            if not is_sensitive(one)
        ]
