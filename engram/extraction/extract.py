"""From a batch to candidates: by the model where there is one, by the offline rules
where not (rows C3, X2, X24).
"""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core.language.echo import masked, unfenced
from engram.core.language.role_play import played
from engram.core.records import Fact, FiledTurn
from engram.core.todos import looped
from engram.errors import BudgetSpentError, ModelError
from engram.extraction.rules import engine
from engram.llm.budget import ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.language.echo import HandedOut
    from engram.core.records import Extraction, Turn
    from engram.ingest.queue import Batch
    from engram.llm.budget import Budget
    from engram.llm.client import Model
    from engram.pipeline.compare import Comparison

LEDGER = "spend.json"


class Extractor:
    """Distils batches, from any thread. The model and its library are loaded when the
    first batch needs them.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], datetime],
        ladder: Comparison,
        handed_out: HandedOut,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.ladder = ladder
        self.embed: Callable[[Sequence[str]], list[bytes]] | None = None
        self.handed_out = handed_out
        self.failures = 0  # of the model, since the start
        self._lock = threading.Lock()
        self._models: dict[str, Model] = {}
        self._spend: Budget | None = None

    @property
    def spend(self) -> Budget:
        """What models cost today; shared by all that ask one."""
        with self._lock:
            if self._spend is None:
                self._spend = ledger(self.settings.state / LEDGER)
            return self._spend

    @property
    def name(self) -> str:
        """The model's name, or the rules' where there is none."""
        return self.settings.model.name if self.settings.model else engine.EXTRACTOR

    @property
    def most(self) -> int:
        """How many turns are distilled at once (`C2`): a model's prompt is short, rules
        read on.
        """
        policy = self.settings.policy.buffer
        return policy.batch_turns if self.settings.model else policy.rules_turns

    def distil(self, batch: Batch) -> Extraction:
        """What the batch says, with a model's opinion where it is near what is known.
        Raises ModelError.
        """
        found = self._found(batch)
        found = replace(found, candidates=tuple(map(looped, found.candidates)))
        if self.embed:
            self.ladder.learn(
                [candidate.text for candidate in found.candidates], self.embed
            )
        return (
            found if found.extractor == engine.EXTRACTOR else self._judged(batch, found)
        )

    def _found(self, batch: Batch) -> Extraction:
        """What the batch says: by the rules without a model, or if it is too short for
        one.

        Raises ModelError, also for a batch whose tries ended with the process: the
        model is not asked again.
        """
        policy = self.settings.policy
        if self.settings.model is None:
            return self.by_rules(batch)
        if batch.attempts >= policy.model.attempts:
            raise ModelError(
                f"the process ended while this was read, in {batch.attempts} tries",
                retryable=False,
            )
        from engram.llm import tasks

        found = tasks.extract(
            self._shown(batch),
            self.model(),
            policy.extraction,
            policy.model,
            policy.importance,
        )
        return self.by_rules(batch) if "too short" in found.dropped else found

    def by_rules(self, batch: Batch) -> Extraction:
        """What the offline rules find in the batch: in each few turns, read with what
        was said just before them.
        """
        policy, before = self.settings.policy, self._own_words(self._before(batch))
        found = []
        for turns in map(self._own_words, batch.stretches(policy.buffer.batch_turns)):
            found.append(engine.extract(turns, policy.extraction, before))
            said = [*before, *turns]
            before = said[max(0, len(said) - policy.extraction.rules_before) :]
        return engine.united(found)

    def _shown(self, batch: Batch) -> list[Turn]:
        """The batch for a model, which sees nothing else: without the rest of a game
        that began before.
        """
        turns, before = (
            self._own_words(some) for some in (batch.turns, self._before(batch))
        )
        marks = zip(
            turns, played([*before, *turns])[len(before) :], played(turns), strict=True
        )
        return [turn for turn, in_play, by_itself in marks if by_itself or not in_play]

    def _before(self, batch: Batch) -> list[Turn]:
        """The last turns in the session file above those of the batch."""
        first = min(
            (item.filed for item in batch.waiting),
            key=lambda filed: int(filed.block[1:]),
        )
        number = int(first.block[1:])
        earliest = max(1, number - self.settings.policy.extraction.rules_before)
        keys = [
            replace(first, block=f"t{block}").key for block in range(earliest, number)
        ]
        units = self.ladder.index.units(keys) if keys else {}
        return [
            unit.turn for key in keys if isinstance(unit := units.get(key), FiledTurn)
        ]

    def _own_words(self, said: Sequence[Turn]) -> list[Turn]:
        """The turns without what recall handed out: memory does not learn from itself
        (`X7`).
        """
        turns = []
        for turn in said:
            known = self.handed_out.of(turn.session)
            text = masked(
                unfenced(turn.text),
                known,
                self.settings.policy.echo,
                own=turn.role == "user",
            )
            turns.append(turn if text == turn.text else replace(turn, text=text))
        return [turn for turn in turns if turn.text.strip()]

    def _judged(self, batch: Batch, found: Extraction) -> Extraction:
        """With what the model says of statements near known facts (`A9`); without,
        where it cannot be asked.

        Of a pair that it has told apart before it is not asked again.
        """
        from engram.llm.judge import judge

        said = {turn.id: turn for turn in batch.turns}
        opinions: dict[str, tuple[str, str]] = {}
        apart: dict[str, tuple[str, ...]] = {}
        for candidate in found.candidates:
            turn = said[candidate.turn_id]
            fact = Fact(
                "",
                candidate.text,
                candidate.category,
                about=candidate.about,
                tags=candidate.tags,
                persona=turn.persona,
            )
            weighed = self.ladder.weigh(fact, turn.occurred_at, model=True).verdict
            grey = (
                self.ladder.unjudged(fact.text, weighed.grey)
                if weighed.action == "judge"
                else []
            )
            try:
                verdict = judge(
                    self.model(),
                    candidate.text,
                    [near.fact.text for near in grey],
                    self.settings.policy.ladder,
                )
            except ModelError:
                break  # the facts are kept without a verdict rather than not at all
            if verdict.index:
                opinions[candidate.text] = (
                    verdict.relation,
                    grey[verdict.index - 1].fact.id,
                )
            elif not verdict.warning:
                apart[candidate.text] = tuple(near.fact.id for near in grey)
        return replace(found, opinions=opinions, apart=apart)

    def again(
        self, batch: Batch, fault: ModelError, now: datetime
    ) -> tuple[Batch, datetime] | None:
        """Count a failure; return the batch with one more try and when to try it, or
        None after the last try.

        The wait is retry_seconds · 2^tries, or what the server asks for, at most
        retry_most_seconds. A spent budget is no try: the batch waits for the next local
        day.
        """
        policy = self.settings.policy.model
        self.failures += 1
        if isinstance(fault, BudgetSpentError):
            local = now.astimezone(self.settings.zone)
            return batch, (local + timedelta(days=1)).replace(
                hour=0, minute=1, second=0, microsecond=0
            )
        tries = batch.attempts + 1
        if not fault.retryable or tries >= policy.attempts:
            return None
        wait = max(
            policy.retry_seconds * 2**batch.attempts,
            getattr(fault, "retry_after", None) or 0,
        )
        return replace(batch, attempts=tries), now + timedelta(
            seconds=min(wait, policy.retry_most_seconds)
        )

    def model(self, *, small: bool = False) -> Model:
        """The model, or the one for `small` jobs (`B14`), made when it is first needed;
        only where one is configured.

        Both have one budget.
        """
        spend, told = self.spend, self.settings.model
        assert told
        name = (told.small if small else "") or told.name
        with self._lock:
            if name not in self._models:
                from engram.llm.client import Model

                self._models[name] = Model(
                    replace(told, name=name),
                    self.settings.policy.model,
                    spend,
                    self.clock,
                )
            return self._models[name]
