"""Extraction of candidates from a batch: by a model or by rules (rows C3, X2, X24).

The offline rules extract a batch that is too short for a model, or that it failed on.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engram.core.buffer import retry_wait
from engram.core.entities import EntityNames
from engram.core.language.echo import HandedOut, masked, unfenced
from engram.core.language.keep_requests import asked_to_keep, words_to_keep
from engram.core.language.role_play import played
from engram.errors import BudgetSpentError, ModelError
from engram.extraction.rules import engine
from engram.llm.budget import Budget, ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.config import Settings
    from engram.core.records import Extraction, Fact, Turn
    from engram.ingest.queue import Batch
    from engram.llm.client import AnyModel

LEDGER = "spend.json"
PROBE_SECONDS = 15.0
"""The longest wait, in seconds, for the answer to a probe."""
PROBE = {
    "type": "object",
    "properties": {},
    "required": [],
    "additionalProperties": False,
}


class Extractor:
    """An extractor for batches, thread-safe; models are loaded on first use.

    `names` are the known entities: a label that is the name of another person is not
    the user's.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], datetime],
        handed_out: HandedOut,
        names: EntityNames | None = None,
    ) -> None:
        self.settings = settings
        self.names = names or EntityNames(settings.owner)
        self.clock = clock
        self.handed_out = handed_out
        self.failures = 0  # of the model, since the start
        self._lock = threading.Lock()
        self._models: dict[str, AnyModel] = {}
        self._budget: Budget | None = None

    @property
    def spend(self) -> Budget:
        """The budget of models, shared by all callers."""
        with self._lock:
            if self._budget is None:
                self._budget = ledger(self.settings.state / LEDGER)
            return self._budget

    @property
    def name(self) -> str:
        """The name of the model, or of the rules if no model is set."""
        model = self.settings.model
        return model.name if model else engine.EXTRACTOR

    @property
    def most(self) -> int:
        """The most turns in one batch (`C2`); rules accept more than a prompt."""
        policy = self.settings.policy.buffer
        return policy.batch_turns if self.settings.model else policy.rules_turns

    # -- extraction --------------------------------------------------------------------

    def extract(
        self,
        batch: Batch,
        before: Sequence[Turn],
        facts: Sequence[Fact] = (),
        owner: Sequence[str] = (),
        names: Sequence[str] = (),
    ) -> Extraction:
        """Return the extraction of a batch; `before` are the preceding turns.

        The prompt of a model includes the known `facts`, the names of the `owner`, and
        the `names` of others (`A9`). Raises ModelError, also for a batch whose attempts
        all ended with the process; then the model is not called again.
        """
        if self.settings.model is None:
            return self.extract_by_rules(batch, before)

        policy = self.settings.policy
        if batch.attempts >= policy.model.attempts:
            raise ModelError(
                f"the process ended while this was read, in {batch.attempts} tries",
                retryable=False,
            )

        from engram.llm import tasks
        from engram.llm.links import KnownContext

        turns, context = self._for_model(batch, before)
        extraction = tasks.extract(
            turns,
            self.model(),
            policy.extraction,
            policy.model,
            policy.importance,
            KnownContext(facts, owner, names, context),
        )
        if "too short" in extraction.dropped:
            return self.extract_by_rules(batch, before)
        return self._with_requests(extraction, batch, before)

    def extract_by_rules(self, batch: Batch, before: Sequence[Turn]) -> Extraction:
        """Return the extraction by the offline rules, a few turns at a time.

        Each portion is parsed with the `rules_before` turns before it.
        """
        policy = self.settings.policy
        context = self._own_words(before)
        extractions = []
        for stretch in batch.stretches(policy.buffer.batch_turns):
            turns = self._own_words(stretch)
            beings = self.names.beings()
            extractions.append(
                engine.extract(turns, policy.extraction, context, beings)
            )
            read = [*context, *turns]
            context = read[max(0, len(read) - policy.extraction.rules_before) :]
        return engine.united(extractions)

    def _with_requests(
        self, extraction: Extraction, batch: Batch, before: Sequence[Turn]
    ) -> Extraction:
        """Return an extraction of a model with the words that the user asked to keep.

        If the model extracted nothing from such words, the statement of the rules is
        added (law 1).
        """
        texts = {
            turn.id: turn.text
            for turn in batch.turns
            if turn.role == "user" and words_to_keep(turn.text)
        }
        if not texts:
            return extraction
        extracted_turns = {
            candidate.turn_id
            for candidate in extraction.candidates
            if asked_to_keep(texts.get(candidate.turn_id, ""), candidate.quote)
        }
        missed = tuple(
            candidate
            for candidate in self.extract_by_rules(batch, before).candidates
            if candidate.turn_id not in extracted_turns
            and asked_to_keep(texts.get(candidate.turn_id, ""), candidate.quote)
        )
        return replace(extraction, candidates=(*extraction.candidates, *missed))

    def _for_model(
        self, batch: Batch, before: Sequence[Turn]
    ) -> tuple[list[Turn], list[Turn]]:
        """Return the turns for a model, and the preceding turns, without role play.

        The preceding turns do not include a role play that began before the batch.
        """
        turns = self._own_words(batch.turns)
        context = self._own_words(before)
        in_play = played([*context, *turns])
        in_play_alone = played(turns)
        place = len(context)
        own = [
            turn
            for turn, playing, alone in zip(
                turns, in_play[place:], in_play_alone, strict=True
            )
            if alone or not playing
        ]
        earlier = [
            turn
            for turn, playing in zip(context, in_play[:place], strict=True)
            if not playing and turn.role != "system"
        ]
        return own, earlier

    def _own_words(self, turns: Sequence[Turn]) -> list[Turn]:
        """Return the turns without recalled text, and without empty turns.

        Otherwise memories would confirm themselves (`X7`).
        """
        own = []
        for turn in turns:
            text = masked(
                unfenced(turn.text),
                self.handed_out.of(turn.session),
                self.settings.policy.echo,
                own=turn.role == "user",
            )
            label = self._label(turn)
            if text.strip():
                is_same = (text, label) == (turn.text, turn.speaker)
                own.append(turn if is_same else replace(turn, text=text, speaker=label))
        return own

    def _label(self, turn: Turn) -> str:
        """Return the label of a turn; '' if the owner's turn names another person."""
        if turn.role != "user" or turn.group or self.names.is_owner(turn.speaker):
            return turn.speaker
        return "" if self.names.called(turn.speaker) else turn.speaker

    # -- models ------------------------------------------------------------------------

    def probe(self) -> str:
        """Return a message of success. Raises ModelError and ConfigError."""
        settings, policy = self.settings.model, self.settings.policy.model
        assert settings
        if settings.replay:
            return f"Model calls are answered from {settings.replay}."
        from engram.llm.client import Model

        patience = min(policy.timeout_seconds, PROBE_SECONDS)
        quick = replace(policy, timeout_seconds=patience)
        model = Model(settings, quick, self.spend, self.clock)
        model.complete("doctor", "Answer {}.", "Are you there?", PROBE, 0.0)
        return f"The model {settings.name} at {model.host} answers ({model.form})."

    def again(
        self, batch: Batch, error: ModelError, now: datetime
    ) -> tuple[Batch, datetime] | None:
        """Count a failure; return the batch with one more attempt, and its time.

        None after the last attempt. The wait is retry_seconds · 2^tries, or the time
        that the server requests, at most retry_most_seconds. A spent budget does not
        count as an attempt: the batch waits for the next local day.
        """
        policy = self.settings.policy.model
        self.failures += 1
        if isinstance(error, BudgetSpentError):
            tomorrow = now.astimezone(self.settings.zone) + timedelta(days=1)
            return batch, tomorrow.replace(hour=0, minute=1, second=0, microsecond=0)

        tries = batch.attempts + 1
        if not error.retryable or tries >= policy.attempts:
            return None
        asked_for = getattr(error, "retry_after", None) or 0
        wait = max(retry_wait(tries, policy), timedelta(seconds=asked_for))
        wait = min(wait, timedelta(seconds=policy.retry_most_seconds))
        return replace(batch, attempts=tries), now + wait

    def model(self, *, small: bool = False) -> AnyModel:
        """Return the model, or the one for `small` jobs (`B14`) if it is configured.

        Both share one budget.
        """
        settings = self.settings.model
        assert settings
        budget = self.spend
        name = (settings.small if small else "") or settings.name
        with self._lock:
            if name not in self._models and settings.replay:
                from engram.llm.client import ReplayedModel

                self._models[name] = ReplayedModel(settings.replay, budget, self.clock)
            if name not in self._models:
                from engram.llm.client import Model

                self._models[name] = Model(
                    replace(settings, name=name),
                    self.settings.policy.model,
                    budget,
                    self.clock,
                )
            return self._models[name]
