"""From a batch to candidates: by the model where there is one, by the offline rules where not (rows C3, X2, X24)."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from engram.errors import BudgetSpentError, ModelError, NotFoundError
from engram.llm import rules
from engram.vault import files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from engram.config import Settings
    from engram.core.records import Extraction
    from engram.ingest import Batch
    from engram.llm.client import Model

LEDGER = "spend.json"


class Extractor:
    """Distils batches, from any thread. The model and its library are loaded when the first batch needs them."""

    def __init__(self, settings: Settings, clock: Callable[[], datetime]) -> None:
        self.settings = settings
        self.clock = clock
        self._lock = threading.Lock()
        self._model: Model | None = None

    @property
    def name(self) -> str:
        """The model's name, or the rules' where there is none."""
        return self.settings.model.name if self.settings.model else rules.EXTRACTOR

    def distil(self, batch: Batch) -> Extraction:
        """What the batch says: by the rules without a model, or if it is too short for one.

        Raises ModelError, also for a batch whose tries ended with the process: the model is not asked again.
        """
        policy = self.settings.policy
        if self.settings.model is None:
            return self.by_rules(batch)
        if batch.attempts >= policy.model.attempts:
            raise ModelError(f"the process ended while this was read, in {batch.attempts} tries", retryable=False)
        from engram.llm import tasks

        found = tasks.extract(batch.turns, self._asked(), policy.extraction, policy.model)
        return self.by_rules(batch) if "too short" in found.dropped else found

    def by_rules(self, batch: Batch) -> Extraction:
        """What the offline rules find in the batch."""
        return rules.extract(batch.turns, self.settings.policy.extraction)

    def again(self, batch: Batch, fault: ModelError, now: datetime) -> tuple[Batch, datetime] | None:
        """The batch with one more try counted and when to try it, or None after the last.

        The wait is retry_seconds · 2^tries, or what the server asks for, at most retry_most_seconds. A spent
        budget is no try: the batch waits for the next local day.
        """
        policy = self.settings.policy.model
        if isinstance(fault, BudgetSpentError):
            local = now.astimezone(self.settings.zone)
            return batch, (local + timedelta(days=1)).replace(hour=0, minute=1, second=0, microsecond=0)
        tries = batch.attempts + 1
        if not fault.retryable or tries >= policy.attempts:
            return None
        wait = max(policy.retry_seconds * 2**batch.attempts, getattr(fault, "retry_after", None) or 0)
        return replace(batch, attempts=tries), now + timedelta(seconds=min(wait, policy.retry_most_seconds))

    def _asked(self) -> Model:
        with self._lock:
            if self._model is None:
                from engram.llm.client import Model
                from engram.llm.spend import Spend

                assert self.settings.model
                spend = Spend(self._ledger, self._write_ledger)
                self._model = Model(self.settings.model, self.settings.policy.model, spend, self.clock)
            return self._model

    def _ledger(self) -> dict[str, Any]:
        """What the model cost today, as it was last written."""
        try:
            saved: dict[str, Any] = json.loads(files.read(self.settings.state / LEDGER))
        except (NotFoundError, ValueError):
            return {}
        return saved

    def _write_ledger(self, day: Mapping[str, Any]) -> None:
        files.write_derived(self.settings.state / LEDGER, json.dumps(day).encode())
