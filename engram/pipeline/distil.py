"""Extraction from a batch of turns, with a model's verdicts on uncertain candidates.

The extractor returns candidates. A candidate that is neither clearly new nor clearly
known is shown to the model with its nearest known facts (`A9`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.personas import fact_persona
from engram.core.records import Fact, FiledTurn
from engram.core.todos import with_loop_tag
from engram.errors import ModelError
from engram.extraction.rules import engine

if TYPE_CHECKING:
    from engram.core.records import Candidate, Extraction, Turn
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

    def distil(self, batch: Batch) -> Extraction:
        """Return the extraction of a batch. Raises ModelError."""
        extraction = self.extractor.extract(batch, self._before(batch))
        candidates = tuple(
            with_loop_tag(candidate) for candidate in extraction.candidates
        )
        extraction = replace(extraction, candidates=candidates)

        if self.embedding:
            texts = [candidate.text for candidate in candidates]
            self.comparison.embed_new(texts, self.embedding.vectors)

        if extraction.extractor == engine.EXTRACTOR:
            return extraction
        return self._with_verdicts(batch, extraction)

    def distil_by_rules(self, batch: Batch) -> Extraction:
        """Return the extraction of a batch by the offline rules."""
        return self.extractor.extract_by_rules(batch, self._before(batch))

    def _before(self, batch: Batch) -> list[Turn]:
        """Return the last turns in the session file above those of the batch."""
        first = min(
            (item.filed for item in batch.waiting),
            key=lambda filed: int(filed.block[1:]),
        )
        number = int(first.block[1:])
        context = self.extractor.settings.policy.extraction.rules_before
        earliest = max(1, number - context)
        keys = [
            replace(first, block=f"t{block}").key for block in range(earliest, number)
        ]
        units = self.comparison.index.units(keys) if keys else {}
        before = (units.get(key) for key in keys)
        return [unit.turn for unit in before if isinstance(unit, FiledTurn)]

    def _with_verdicts(self, batch: Batch, extraction: Extraction) -> Extraction:
        """Add the model's verdicts on candidates near known facts (`A9`).

        The model is not asked again about a pair that it judged to differ. If it fails,
        the remaining candidates have no verdict.
        """
        from engram.llm.judge import judge

        policy = self.extractor.settings.policy.ladder
        turns = {turn.id: turn for turn in batch.turns}
        opinions: dict[str, tuple[str, str]] = {}
        apart: dict[str, tuple[str, ...]] = {}

        for candidate in extraction.candidates:
            near = self._doubtful(candidate, turns[candidate.turn_id])
            texts = [fact.text for fact in near]
            try:
                verdict = judge(self.extractor.model(), candidate.text, texts, policy)
            except ModelError:
                break
            if verdict.index:
                known = near[verdict.index - 1]
                opinions[candidate.text] = (verdict.relation, known.id)
            elif not verdict.warning:
                apart[candidate.text] = tuple(fact.id for fact in near)

        return replace(extraction, opinions=opinions, apart=apart)

    def _doubtful(self, candidate: Candidate, turn: Turn) -> list[Fact]:
        """Return the known facts that may or may not state the same."""
        fact = Fact(
            "",
            candidate.text,
            candidate.category,
            about=candidate.about,
            tags=candidate.tags,
            persona=fact_persona(candidate.category, turn),
        )
        verdict = self.comparison.compare(fact, turn.occurred_at, model=True).verdict
        if verdict.action != "judge":
            return []
        near = self.comparison.unjudged(fact.text, verdict.neighbours)
        return [neighbour.fact for neighbour in near]
