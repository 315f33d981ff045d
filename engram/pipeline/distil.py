"""Extraction from a batch of turns, with a model's verdicts on uncertain candidates.

The extractor returns candidates. A candidate that is neither clearly new nor clearly
known is shown to the model with its nearest known facts (`A9`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engram.core import decide
from engram.core.decide import Statement
from engram.core.personas import fact_persona
from engram.core.records import Fact, FiledTurn
from engram.core.todos import with_loop_tag
from engram.errors import ModelError
from engram.extraction.rules import engine
from engram.index.hiding import is_sensitive
from engram.pipeline.known import KnownFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

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

        if extraction.extractor == engine.EXTRACTOR:
            return extraction
        return self._with_verdicts(batch, extraction, known)

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
        number = int(first.block[1:])
        context = self.extractor.settings.policy.extraction.rules_before
        earliest = max(1, number - context)
        keys = [
            replace(first, block=f"t{block}").key for block in range(earliest, number)
        ]
        units = self.comparison.index.units(keys) if keys else {}
        before = (units.get(key) for key in keys)
        zone = self.extractor.settings.zone
        return [
            replace(unit.turn, occurred_at=unit.turn.occurred_at.astimezone(zone))
            for unit in before
            if isinstance(unit, FiledTurn) and not is_sensitive(unit)
        ]

    def _with_verdicts(
        self, batch: Batch, extraction: Extraction, presented: Sequence[Fact]
    ) -> Extraction:
        """Add the model's verdicts on candidates near known facts (`A9`).

        The model is not asked about facts that were `presented` to it during the
        extraction and that it linked to the candidate, nor about pairs that it has
        judged to be different. If the model fails, the remaining candidates have no
        verdict.
        """
        from engram.llm.judge import judge

        policy = self.extractor.settings.policy.dedup
        turns = {turn.id: turn for turn in batch.turns}
        opinions: dict[str, tuple[str, str]] = {}
        distinct: dict[str, tuple[str, ...]] = {}
        warnings = dict(extraction.warnings)

        answered = {fact.id for fact in presented}
        for candidate in extraction.candidates:
            links = candidate.links
            if links and (links.replaces or links.ends or links.same):
                continue  # the model has already reported its changes
            near = self._doubtful(candidate, turns[candidate.turn_id])
            if links:
                near = [fact for fact in near if fact.id not in answered]
            texts = [fact.text for fact in near]
            try:
                verdict = judge(self.extractor.model(), candidate.text, texts, policy)
            except ModelError:
                break
            if verdict.index:
                known = near[verdict.index - 1]
                opinions[candidate.text] = (verdict.relation, known.id)
            elif verdict.warning:
                warnings[candidate.text] = verdict.warning
            else:
                distinct[candidate.text] = tuple(fact.id for fact in near)

        return replace(extraction, opinions=opinions, apart=distinct, warnings=warnings)

    def _doubtful(self, candidate: Candidate, turn: Turn) -> list[Fact]:
        """Return the known facts that may or may not make the same statement."""
        fact = Fact(
            "",
            candidate.text,
            candidate.category,
            about=candidate.about,
            tags=candidate.tags,
            persona=fact_persona(candidate.category, turn),
        )
        near = self.comparison.near(fact, turn.occurred_at)
        new = Statement(fact, turn.occurred_at)
        to_judge = decide.to_judge(new, near, self.extractor.settings.policy)
        unjudged = self.comparison.unjudged(fact.text, to_judge)
        return [one.fact for one in unjudged if not is_sensitive(one.fact)]
