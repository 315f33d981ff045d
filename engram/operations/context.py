"""The text that an assistant reads before it answers (rows C21, E16, E18).

The text has parts (foundation, promises, threads …) and fits a budget of tokens.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any

from engram.core import todos, trust
from engram.core.actions import GUIDELINES_FILE, clear_guidelines
from engram.core.excerpts import count_tokens
from engram.core.forgetting import Utterance
from engram.core.markdown import unescape
from engram.core.personas import display_persona
from engram.core.reading import reading_of
from engram.core.records import Fact, SearchHit
from engram.core.sessions import STATE_FILE, curation_state, last_message, read_state
from engram.index.catalog import FactValues
from engram.ingest import requests
from engram.operations.signature import (
    ANY_CALLER,
    Asking,
    Between,
    Persona,
    Record,
    operation,
)
from engram.recall import formatting, search
from engram.recall.current import CurrentFacts, may_show
from engram.recall.formatting import UNSURE, fence, happened
from engram.recall.request import question_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from engram.core.policy import TodoPolicy
    from engram.core.trust import Provenance
    from engram.core.user_facts import Slot
    from engram.index.conversations import SessionReader
    from engram.operations.questions import Questions
    from engram.operations.retrieval import Retriever

DROP_ORDER = (
    "summary",
    "threads",
    "frictions",
    "wins",
    "habits",
    "rolling",
    "named",
    "promises",
    "foundation",
    "user",
)
"""The parts in the order in which they are cut to fit the budget."""
STAGES = ("open", "fulfilled", "expired", *todos.LOOPS, "all")


class ContextBuilder:
    """The operations `context` and `todos`. May be called from any thread."""

    def __init__(
        self, sessions: SessionReader, retriever: Retriever, questions: Questions
    ) -> None:
        self.sessions = sessions
        self.retriever = retriever
        self.questions = questions
        self.index = retriever.index
        self.settings = retriever.settings
        self.handed_out = retriever.handed_out
        self.clock = retriever.clock
        self._read: tuple[object, Sequence[Fact], Mapping[str, Sequence[Slot]]]
        self._read = (None, (), {})
        self._told = FactValues(self.index.catalog, self._with_slots)

    @operation("Todos", callers=ANY_CALLER)
    def todos(
        self,
        *,
        stage: Annotated[str, "which to list; open if absent", STAGES] = "open",
        asks: str | None = None,
    ) -> dict[str, Any]:
        """List promises, habits, open threads and frictions. Shows one line for each,
        with its stage, its date and its id.

        (Row E16.)
        Times are local.
        """
        now = self.clock()
        promises = self._promises(asks, self.index.catalog.promises())
        chosen = [
            fact
            for fact in self._visible(promises)
            if stage in {"all", todos.stage_at(fact, now, self.settings.zone)}
        ]
        sources = formatting.provenance(self.index, chosen, self.settings.policy.trust)
        return {
            "todos": [
                _row(fact, now, self.settings.zone)
                | formatting.attributed(sources[fact.id])
                for fact in chosen
            ]
        }

    @operation("Context", "POST /v1/context", callers=ANY_CALLER)
    def context(
        self,
        query: Annotated[str | None, "the user's latest message"] = None,
        *,
        session: Asking = None,
        persona: Persona = None,
        budget: Annotated[
            int | None, "maximum number of tokens of the text", Between(50, 100000)
        ] = None,
        with_question: Annotated[
            bool, "add one review question for the user, at most once a day"
        ] = False,
        record: Record = True,
    ) -> dict[str, Any]:
        """Show what a chatbot should know before its next answer. Prints who the user
        is, pinned memories, what is known of those whom QUERY names, the last
        conversation, open promises (overdue ones first), and the memories that match
        QUERY, in one text of limited length.

        (Row E18.)
        To fit, the hits for the question are left out first, then the parts in the
        order of `DROP_ORDER`. With `with_question` one review question is added if it
        fits, at most once a day (`X9`). The advice from the action log (`C21`) is
        outside the text: it is for the operator of the memory, not for the assistant.
        """
        policy = self.settings.policy
        budget = policy.recall.budget if budget is None else budget
        query = question_of(self.settings, query) if query else None
        name = requests.name_from(persona, self.settings) if persona else None
        thread = requests.name_from(session, self.settings) if session else None

        budget -= self._cost([fenced({name: ["-"] for name in TITLES}, "0" * 8)])
        now, facts = self.clock(), self._facts()
        running = self.sessions.running(thread, name, now)
        current = CurrentFacts(
            self.index, self.settings, self.retriever.entity_writer.names, name, now
        )
        parts = self._parts(current, facts, running)
        parts["named"] = self._cards(current, query, facts)
        budget -= self._cut_to(parts, budget)
        if with_question:
            parts["question"] = self._question(name, budget)
            budget -= self._cost(parts["question"])
        if query and budget >= policy.recall.least_tokens:
            quotas = {
                "fact": policy.recall.context_facts,
                "episode": policy.recall.context_episodes,
            }
            answer, *_ = self.retriever.answer(
                query, thread, name, budget=budget, quotas=quotas, record=record
            )
            hits = _not_in(parts, answer.hits)
            cards = current.cards_of_hits(hits, facts)
            fits = search.NOTHING_FITS_WELL not in answer.note
            self._add_hits(parts, hits, cards, budget, fits=fits)

        page = self.sessions.read(GUIDELINES_FILE).decode(errors="replace")
        parts["guidance"] = clear_guidelines(page, policy.actions)
        text = fenced(parts, secrets.token_hex(4))
        if thread:
            self.handed_out.note(thread, text)
        return {
            "text": text,
            "tokens": self._cost([text]),
            "parts": {part: lines for part, lines in parts.items() if lines},
            "state": self._state(name, facts, running),
        }

    def _question(self, persona: str | None, budget: int) -> list[str]:
        """Return a review question that fits as a list of one line, or []."""
        line = self.questions.hand_out(
            persona, lambda line: self._cost([line]) <= budget
        )
        return [line] if line else []

    def _add_hits(
        self,
        parts: dict[str, list[str]],
        hits: Iterable[SearchHit],
        cards: Mapping[str, AbstractSet[str]],
        budget: int,
        *,
        fits: bool,
    ) -> None:
        """Add the hits of a question: cards of entities, then the other hits.

        `cards` maps the line of each card to the keys of the hits in it. Unless a hit
        `fits` the question, a line says so.
        """
        head = [] if fits else [search.NOTHING_FITS_WELL]
        share = self.settings.policy.recall.card_share
        parts["cards"] = self._fitting(list(cards), int(share * budget))
        in_cards = frozenset[str]().union(*(cards[line] for line in parts["cards"]))
        others = [hit for hit in hits if hit.key not in in_cards]
        budget -= self._cost(parts["cards"])
        while others and self._cost(head + formatting.reading_lines(others)) > budget:
            others.pop()  # the weakest
        parts["relevant"] = head + formatting.reading_lines(others) if others else []

    def _facts(self) -> Sequence[Fact]:
        """Return the facts of the vault by path; only changed ones are read again."""
        mark = self.index.mark
        if self._read[0] != mark:
            told = self._told.read()
            facts = sorted((fact for fact, _ in told.values()), key=attrgetter("path"))
            slots = {key: slots for key, (_, slots) in told.items()}
            self._read = mark, facts, slots
        return self._read[1]

    def _with_slots(
        self, facts: Sequence[Fact]
    ) -> dict[str, tuple[Fact, Sequence[Slot]]]:
        """Return facts with their slots, by id."""
        slots = self.index.catalog.slots([fact.id for fact in facts])
        return {fact.id: (fact, slots.get(fact.id, ())) for fact in facts}

    def _cut_to(self, parts: dict[str, list[str]], budget: int) -> int:
        """Cut the parts in place until they fit; return their cost in tokens."""
        costs = {part: self._cost(lines) for part, lines in parts.items()}
        for part in DROP_ORDER:
            excess = sum(costs.values()) - budget
            if excess > 0:
                parts[part] = self._fitting(parts[part], costs[part] - excess)
                costs[part] = self._cost(parts[part])
        return sum(costs.values())

    def _state(
        self, persona: str | None, facts: Sequence[Fact], running: AbstractSet[str]
    ) -> dict[str, Any]:
        """Return the stored state of the persona with the counts of each turn (`E9`).

        The rolling text is included only in the session that it belongs to.
        """
        stored = read_state(self.sessions.read(STATE_FILE), "personas").get(
            persona or "", {}
        )
        if stored.pop("rollingFile", "") not in running:
            stored.pop("rollingSummary", None)
        at, last = self.sessions.last_message(persona)
        if at:
            stored["lastInteraction"] = at.astimezone(UTC).isoformat(timespec="seconds")
        if last:
            shown = reading_of(last, self.settings.zone).shown
            stored["lastUserMessage"] = last_message(
                shown, self.settings.policy.sessions
            )
        state = {
            key: self._cut(value) if isinstance(value, str) else value
            for key, value in stored.items()
        }
        state["messageCount"] = self.sessions.messages().get(persona or "", 0)
        return state | self._curator(persona, facts)

    def _parts(
        self, current: CurrentFacts, facts: Sequence[Fact], running: AbstractSet[str]
    ) -> dict[str, list[str]]:
        """Return the lines of each part, uncut, without the hits for the question.

        `running` are the stems of the session in which the question is asked.
        """
        persona, now = current.persona, current.now
        policy = self.settings.policy
        known = self._promises(persona, self.index.catalog.promises())
        promises = list(self._visible(known))
        pinned = [
            fact for fact in facts if fact.pinned and may_show(fact, persona, now)
        ]
        foundation = list(self._visible(_latest(pinned, policy.recall.foundation)))
        listed = {fact.id for fact in foundation}
        chosen = _by_stage(promises, now, self.settings.zone, policy.todos)
        chosen["foundation"] = foundation
        chosen["user"] = current.about_user(
            (fact for fact in facts if fact.id not in listed),
            self._read[2],
            self._short_cost,
        )
        parts = self._lines(chosen, current)

        keys, ended = self.sessions.last_over(persona, running) or ({}, now)
        open_loops = self._open_loops(keys, promises)
        parts["threads"] += [
            f"- [{trust.SUMMARY_LABEL}, open] {loop}" for loop in open_loops
        ]
        parts["threads"] = parts["threads"][: policy.todos.threads]
        parts["summary"] = self._last_session(keys, ended)
        rolling = self._cut(self.sessions.rolling(persona, running))
        so_far = f"- [{trust.SUMMARY_LABEL}, this conversation so far] {rolling}"
        parts["rolling"] = [so_far] if rolling else []
        return parts

    def _lines(
        self, parts: Mapping[str, Sequence[Fact]], current: CurrentFacts
    ) -> dict[str, list[str]]:
        """Return the facts of each part as lines with their sources."""
        zone, policy = self.settings.zone, self.settings.policy.trust
        sources = formatting.provenance(
            self.index, (fact for facts in parts.values() for fact in facts), policy
        )
        lines: dict[str, list[str]] = {}
        for name, facts in parts.items():
            if name == "user":
                lines[name] = [short_line(one, sources[one.id]) for one in facts]
            elif name == "promises":
                lines[name] = [
                    promise_line(one, sources[one.id], current.now, zone)
                    for one in facts
                ]
            else:
                lines[name] = [line(one, sources[one.id], zone) for one in facts]
        return lines

    def _cards(
        self, current: CurrentFacts, query: str | None, facts: Sequence[Fact]
    ) -> list[str]:
        """Return facts about the entities that the question names, with headings."""
        cards = current.cards(query, facts) if query else {}
        sources = formatting.provenance(
            self.index,
            (fact for some in cards.values() for fact in some),
            self.settings.policy.trust,
        )
        zone = self.settings.zone
        lines: list[str] = []
        for name, some in cards.items():
            lines.append(f"{name}:")
            lines += [line(fact, sources[fact.id], zone) for fact in some]
        return lines

    def _last_session(self, keys: Mapping[str, Any], ended: datetime) -> list[str]:
        """Return the summary of the last session, without sentences that were cut."""
        texts = self._visible_texts(keys.get("one_liner"))
        texts += self._visible_texts(keys.get("what_mattered"))
        zone = self.settings.zone
        label = f"{trust.SUMMARY_LABEL}, last conversation, {day(ended, zone)}"
        return [f"- [{label}] {text}" for text in texts if not text.endswith("…")]

    def _short_cost(self, fact: Fact) -> int:
        return self._cost([f"- {fact.text}"])

    def _open_loops(
        self, latest: Mapping[str, Any], promises: Iterable[Fact]
    ) -> list[str]:
        """Return the open loops of the latest session that are not yet facts."""
        loops = self._visible_texts(latest.get("open_loops"))
        listed = {todos.loop_key(fact.text) for fact in promises if loops}
        return [loop for loop in loops if todos.loop_key(loop) not in listed]

    def _visible(self, facts: Iterable[Fact]) -> Iterator[Fact]:
        return (
            fact for fact in map(self.index.visible, facts) if isinstance(fact, Fact)
        )

    def _cut(self, text: str) -> str:
        return self.index.tombstones.forgotten.visible(text, Utterance())

    def _visible_texts(self, value: object) -> list[str]:
        """Return the texts of a session file's key, without forgotten text."""
        return list(filter(None, map(self._cut, _texts(value))))

    def _curator(self, persona: str | None, facts: Sequence[Fact]) -> dict[str, Any]:
        """Return time and count of the latest conclusions (`E9`); {} before the first."""
        last, count, _ = curation_state(facts, persona)
        if not last:
            return {}
        return {
            "curator": {"lastRunAt": last.isoformat(), "lastMemoryCountAtRun": count}
        }

    def _promises(self, persona: str | None, facts: Iterable[Fact]) -> list[Fact]:
        """Return the promises and loops among the facts, those due first.

        A promise whose end has passed is included: it is late, but still open.
        """
        now = self.clock()
        promises = {
            fact.id: fact
            for fact in facts
            if todos.todo_stage(fact)
            and may_show(replace(fact, valid_until=None), persona, now)
        }
        return sorted(
            promises.values(),
            key=todos.by_due,
        )

    def _cost(self, lines: Iterable[str]) -> int:
        return sum(count_tokens(line, self.settings.policy.recall) for line in lines)

    def _fitting(self, lines: list[str], budget: int) -> list[str]:
        """Return the first lines that fit into `budget` tokens."""
        fitting: list[str] = []
        for one in lines:
            budget -= self._cost([one])
            if budget < 0:
                break
            fitting.append(one)
        return fitting


def _latest(facts: Sequence[Fact], most: int) -> list[Fact]:
    """Return the latest `most` facts in chronological order (`E4`)."""

    def made(fact: Fact) -> tuple[float, str]:
        return fact.created.timestamp() if fact.created else 0.0, fact.id

    latest = {fact.id for fact in sorted(facts, key=made, reverse=True)[:most]}
    return [fact for fact in facts if fact.id in latest]


def _by_stage(
    promises: Sequence[Fact], now: datetime, zone: tzinfo, policy: TodoPolicy
) -> dict[str, list[Fact]]:
    """Return the promises of each part, up to the limit of the policy."""
    since = now - timedelta(hours=policy.win_hours)

    def first(stage: str, most: int) -> list[Fact]:
        some = [fact for fact in promises if todos.stage_at(fact, now, zone) == stage]
        return _next(some, now, policy.past_days, most)

    wins = [
        fact
        for fact in promises
        if todos.todo_stage(fact) == todos.FULFILLED
        and fact.done
        and since <= fact.done <= now
    ]
    return {
        "promises": first("open", policy.commitments),
        "habits": first(todos.HABIT, policy.habits),
        "wins": wins,
        "threads": first(todos.THREAD, policy.threads),
        "frictions": first(todos.FRICTION, policy.frictions),
    }


def _next(
    promises: Sequence[Fact], now: datetime, past_days: float, most: int
) -> list[Fact]:
    """Return at most `most` promises: dated ones first, then others, latest first.

    Those due nearest to today come first; none is overdue by more than `past_days`.
    """
    ahead = [fact for fact in promises if not todos.is_past(fact, now, past_days)]
    due = {fact.id: at for fact in ahead if (at := todos.due_at(fact))}
    nearest = sorted(due, key=lambda name: (abs(due[name] - now), name))[:most]
    dated = [fact for fact in ahead if fact.id in nearest]
    dated.sort(key=lambda fact: (due[fact.id], fact.id))
    undated = [fact for fact in reversed(ahead) if fact.id not in due]
    return [*dated, *undated][:most]


def _not_in(
    parts: Mapping[str, Sequence[str]], hits: Iterable[SearchHit]
) -> list[SearchHit]:
    listed = {
        one.partition("] ")[2] or one.removeprefix("- ")
        for lines in parts.values()
        for one in lines
    }
    return [hit for hit in hits if one_line(hit.text) not in listed]


def _texts(value: object) -> list[str]:
    texts = value if isinstance(value, list) else [value] if value else []
    return [unescape(str(text)) for text in texts]


def _row(fact: Fact, now: datetime, zone: tzinfo) -> dict[str, Any]:
    times = {"due": fact.valid_from, "due_until": fact.event_end, "done": fact.done}
    row = {
        "id": fact.id,
        "stage": todos.stage_at(fact, now, zone),
        "when": todos.due_words(fact, now, zone),
        "text": fact.text,
        "path": fact.path,
        "persona": display_persona(fact.persona),
    }
    row["key"] = todos.loop_key(fact.text)
    return row | {
        name: when.astimezone(zone).isoformat() if when else None
        for name, when in times.items()
    }


TITLES = {
    "user": "About the user",
    "foundation": "Always true",
    "named": "Named entities",
    "rolling": "So far",
    "summary": "Last time",
    "promises": "Open promises",
    "habits": "Habits",
    "wins": "Done lately",
    "threads": "Left open",
    "frictions": "Going wrong",
    "cards": "Entities in the hits",
    "relevant": "On the question",
    "question": "To ask the user, if it fits",
}
"""The parts of a context in order, with their titles."""


def fenced(parts: Mapping[str, list[str]], mark: str) -> str:
    """Return the parts as one text, fenced by `mark` as data; '' without lines."""
    lines = [
        line
        for name, title in TITLES.items()
        if parts.get(name)
        for line in (f"{title}:", *parts[name])
    ]
    return fence("\n".join(lines), mark) if lines else ""


def short_line(fact: Fact, provenance: Provenance) -> str:
    """Return a fact with its source as a short line (rows D6, E18)."""
    return f"- [{provenance.label}] {one_line(fact.text)}"


def line(fact: Fact, provenance: Provenance, zone: tzinfo) -> str:
    """Return a fact as a line with its source and its day (rows D6, E18)."""
    head = [provenance.label, day(happened(fact), zone)]
    if fact.confidence < UNSURE:
        head.append("unsure")
    return f"- [{', '.join(head)}] {one_line(fact.text)}"


def promise_line(
    fact: Fact, provenance: Provenance, now: datetime, zone: tzinfo
) -> str:
    """Return a promise as a line with its due date, or the words that it is overdue."""
    due = todos.due_words(fact, now, zone) or day(fact.created, zone)
    return f"- [{provenance.label}, {due}] {one_line(fact.text)}"


def one_line(text: str) -> str:
    """Return the text on one line, with its blanks collapsed."""
    return " ".join(text.split())


def day(moment: datetime | None, zone: tzinfo) -> str:
    """Return the local day of a moment, or `undated`."""
    return f"{moment.astimezone(zone):%Y-%m-%d}" if moment else "undated"
