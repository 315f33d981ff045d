"""The one way to hide facts, turns and sentences, and to show them again (A26, X2, X8).

A request to forget, a statement that is taken back, an edited or deleted message and a
purge are plans (`HidePlan`) that `Forgetting.hide` carries out with a reason; a purge
deletes the bytes instead. Every row of the tombstone file is made here. A statement
that was corrected, or dropped in review, is only prevented from being filed again
(`Forgetting.keep_out`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.core import decide, ranking, todos
from engram.core.forgetting import statements_of, time_of, tombstone_row
from engram.core.language import similarity
from engram.core.language.echo import own_words
from engram.core.language.equal_statements import are_equal
from engram.core.language.promises import only_says_done, reports
from engram.core.language.sentences import sentences
from engram.core.language.topics import content
from engram.core.records import Edit, Fact, FiledTurn
from engram.core.text import content_hash
from engram.core.turn_versions import turn_digest
from engram.errors import ConflictError, NotFoundError
from engram.extraction.rules.people import is_of_he_or_she
from engram.index import hiding
from engram.index.filters import SearchFilter
from engram.pipeline.summary_removal import SummaryRemoval
from engram.pipeline.write import NoteWriter, action_row
from engram.vault import reviews

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from datetime import datetime

FORGOTTEN = "the user had it forgotten"
REMOVED = "a person removed the turn"
DROPPED = "dropped in review"
ANEW = "the user said it again"
USER_DECIDED = "you said so"
RULE = "rule"
TAKEN_BACK = "the user took it back"
POOL = 100
"""Numbers of facts and of turns that are searched for equal or similar statements."""
FEW = 2
"""The least number of telling words of a sentence that is recognised elsewhere."""
SIMILAR = 0.5
"""The similarity from which a statement is listed as similar to a forgotten one."""
MOST_SIMILAR = 10
STATUSES = ("active", "archived", "superseded", "invalidated", "review")
EVERY_STATUS = (*STATUSES, "pruned", "forgotten")
_SUPPORTING = frozenset({"confirm", "reinforce", "rewrite"})
"""Actions of the log whose turn supports the memory."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """The keys of the turns that support a fact, and the words quoted from them."""

    turns: tuple[str, ...]
    quotes: tuple[str, ...]


@dataclass(slots=True)
class HidePlan:
    """What one request hides.

    `facts` are marked as forgotten, `turns` hidden as a whole, of `cut` turns the given
    sentences, all by id or key; `statements` are hidden wherever they are made.
    """

    facts: dict[str, Fact] = field(default_factory=dict)
    turns: dict[str, FiledTurn] = field(default_factory=dict)
    cut: dict[str, tuple[FiledTurn, set[str]]] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)

    def add(self, turn: FiledTurn, *texts: str) -> None:
        """Hide these sentences of a turn."""
        if texts and turn.key not in self.turns:
            self.cut.setdefault(turn.key, (turn, set()))[1].update(texts)

    @property
    def spoken(self) -> dict[str, tuple[FiledTurn, set[str]]]:
        """All turns, with their hidden sentences."""
        whole = {key: (one, {*sentences_of(one)}) for key, one in self.turns.items()}
        return self.cut | whole


def is_question(fact: Fact) -> bool:
    """Return whether a note in `review/` asks about other notes and states nothing."""
    if fact.status != "review":
        return False
    name = fact.path.rpartition("/")[2]
    return fact.kind == reviews.KIND or name.startswith(reviews.CONFLICT_PREFIX)


def sentences_of(turn: FiledTurn) -> list[str]:
    """Return the sentences of a turn, in order."""
    text = turn.turn.text
    return [text[start:end] for start, end in sentences(text)]


def naming(
    turn: FiledTurn, is_named: Callable[[str], bool], *, is_person: bool
) -> Iterator[str]:
    """Yield the sentences of a turn that name something.

    Those that go on with he or she after the name of a person belong to it.
    """
    goes_on = False
    for text in sentences_of(turn):
        goes_on = is_named(text) or (goes_on and is_person and is_of_he_or_she(text))
        if goes_on:
            yield text


class Forgetting:
    """Plans what is hidden, writes and lifts tombstones. For the writer thread."""

    def __init__(self, note_writer: NoteWriter) -> None:
        self.note_writer = note_writer
        self.vault = note_writer.vault
        self.index = note_writer.index
        self.summaries = SummaryRemoval(note_writer)

    # -- plan --------------------------------------------------------------------------

    def plan(
        self,
        units: Iterable[Fact | FiledTurn],
        now: datetime,
        statuses: tuple[str, ...] = STATUSES,
        passages: Iterable[tuple[FiledTurn, str]] = (),
    ) -> HidePlan:
        """Return the plan to hide units, sentences of turns, and what says the same.

        It has the facts of these statuses that state the same or rest on hidden ones
        alone, and the sentences of turns that state these facts.
        """
        plan, stated = HidePlan(), dict[str, set[str]]()
        for turn, text in passages:
            plan.add(turn, text)
        for unit in units:
            if isinstance(unit, Fact):
                plan.facts[unit.id] = unit
                plan.facts |= {
                    one.id: one
                    for one in self.near(unit.text, now, statuses)
                    if isinstance(one, Fact) and are_equal(one.text, unit.text)
                }
            else:
                plan.turns[unit.key] = unit
                text = own_words(unit.turn.text)
                stated[text] = {*statements_of(text)}
        self.add_resting(plan)
        for fact in plan.facts.values():
            self.add_evidence(plan, fact)
            stated[fact.text] = {fact.text, *self.wordings(fact)}
        for about, texts in stated.items():
            for unit in self.near(about, now, ()):
                if isinstance(unit, FiledTurn):
                    for one in sentences_of(unit):
                        if any(are_equal(text, one) for text in texts):
                            plan.add(unit, one)
        return plan

    def add_resting(
        self, plan: HidePlan, instead: str = "", *, claimed: bool = True
    ) -> HidePlan:
        """Add the facts that only the words or the facts of a plan support.

        A fact remains if the text `instead` contains its quotations too; without
        `claimed` also one that only the user may end.
        """
        resting = self._resting_on(plan.spoken, instead)
        if not claimed:
            is_users = self.note_writer.is_users
            resting = {key: one for key, one in resting.items() if not is_users(one)}
        plan.facts |= resting
        plan.facts |= self._derived_from(plan.facts)
        return plan

    def add_evidence(self, plan: HidePlan, fact: Fact) -> None:
        """Add the sentences that support a fact to a plan."""
        evidence = self.evidence(fact)
        for turn in self.index.turns(evidence.turns):
            plan.add(turn, *self.stating(fact, turn, evidence.quotes))

    def _resting_on(
        self, spoken: Mapping[str, tuple[FiledTurn, Collection[str]]], instead: str
    ) -> dict[str, Fact]:
        """Return the facts that only these sentences of turns support, by id."""
        found = self.index.catalog.facts(*spoken) if spoken else ()
        gone = self.index.tombstones.withdrawn
        return {
            fact.id: fact
            for fact in found
            if fact.status in STATUSES
            and (sources := {*fact.turns})
            and sources & spoken.keys()
            and sources - gone <= spoken.keys()
            and all(
                self.was_extracted(fact, *spoken[key])
                for key in sources & spoken.keys()
            )
            and not self._is_quoted(fact, spoken, instead)
        }

    def _derived_from(self, found: Mapping[str, Fact]) -> dict[str, Fact]:
        """Return the facts that are derived only from the found ones, by id."""
        return {
            fact.id: fact
            for name in found
            for fact in self.index.catalog.facts(name)
            if fact.derived_from
            and set(fact.derived_from) <= found.keys()
            and fact.status in STATUSES
        }

    def was_extracted(
        self, fact: Fact, turn: FiledTurn, texts: Collection[str]
    ) -> bool:
        """Return whether a fact was extracted from these sentences of a turn."""
        if len(texts) == len(sentences_of(turn)):
            return True
        if quotes := self._quotes(fact, {turn.key}):
            return any(_quoted(text, quotes) for text in texts)
        return any(are_equal(fact.text, text) for text in texts)

    def _is_quoted(self, fact: Fact, keys: Collection[str], text: str) -> bool:
        quotes = self._quotes(fact, keys)
        return bool(text and quotes) and all(quote in text for quote in quotes)

    def _quotes(self, fact: Fact, keys: Collection[str]) -> list[str]:
        rows = self.vault.actions_of(fact.id)
        return [
            str(row["quote"])
            for row in rows
            if row.get("quote") and row.get("turn") in keys
        ]

    # -- hide --------------------------------------------------------------------------

    def hide(
        self,
        name: str,
        plan: HidePlan,
        why: str,
        now: datetime,
        *,
        action: str,
        at: datetime | None = None,
        by: str = "user",
        turn: str = "",
        equal: bool = True,
        revive: bool = False,
    ) -> dict[str, str]:
        """Hide what a plan has; return the errors of notes that stay, by path.

        `name` identifies the units that are hidden, and restored, together; a fact of
        this name has to be marked, or nothing is hidden. `action` is the last row of
        the log; `at` the time of the request, `turn` the turn with it. With `equal`
        equal statements elsewhere are hidden too. With `revive` the words were not
        true: what they had ended or replaced holds again. A repeated call, as after a
        crash, changes nothing: the tombstones of whole turns are written last.
        """
        head = {"at": (at or now).isoformat(), "reason": why, "for": name}
        rows = self._of_parts(name, plan, equal=equal)
        self.index.tombstones.add([head | row for row in rows])
        if self.note_writer.decision:
            self.note_writer.decision.hidden += [name, *plan.facts]

        log: list[Mapping[str, object]] = []
        unchanged: dict[str, str] = {}
        told = {"turn": turn} if turn else {}
        keys = {"status": "forgotten", "end_reason": why}
        derived_first = reversed(plan.facts.values())
        for fact in sorted(derived_first, key=lambda fact: fact.id != name):
            if revive:
                log += self.revive(fact, turn, now)
            try:
                self._mark(fact, keys, why)
            except (ConflictError, NotFoundError) as error:
                if fact.id == name:
                    self.restore_all([name], now, why)
                    raise
                unchanged[fact.path] = str(error)
            else:
                log.append(action_row(now, "forget", fact.id, why, by) | told)
        if revive:
            log += self._unsettled(plan.spoken, now)
        turns = sorted({*plan.cut, *plan.turns} - {name})
        hides = {"memories": sorted({*plan.facts} - {name}), "turns": turns}
        log.append(action_row(now, action, name, why, by) | told | hides)
        self.note_writer.log_actions(log)
        rows = _of_turns(plan, equal=equal)
        self.index.tombstones.add([head | row for row in rows])
        sources = [key for one in plan.facts.values() for key in one.turns]
        self.summaries.drop([*plan.spoken, *sources])
        return unchanged

    def _mark(self, fact: Fact, keys: Mapping[str, object], why: str) -> None:
        """Set front-matter keys, also in a note that a user has just edited."""
        try:
            self.note_writer.write([Edit(fact.path, fact.sha, keys, why)], [])
        except ConflictError:
            self.note_writer.scan_all()
            fact = self.index.catalog.find_fact(fact.id)
            self.note_writer.write([Edit(fact.path, fact.sha, keys, why)], [])

    def _of_parts(
        self, name: str, plan: HidePlan, *, equal: bool
    ) -> Iterator[dict[str, object]]:
        """Yield the tombstones of facts, of statements, and of sentences of turns."""
        for fact in plan.facts.values():
            named: dict[str, object] = {"memory": fact.id}
            if not equal:
                yield named
                continue
            yield named | {"hash": content_hash(fact.text)} | tombstone_row(fact.text)
            for text in self.wordings(fact):
                row = {"hash": content_hash(text), "only": "turns"}
                yield named | row | tombstone_row(text)
        for text in plan.statements:
            yield {"memory": name, "hash": content_hash(text)} | tombstone_row(text)
        for key, (_, texts) in plan.cut.items():
            for digest in sorted(map(content_hash, texts)):
                yield {"hash": digest, "memory": name, "in": key, "cut": [digest]}

    def record_deletions(self, deleted: Collection[Fact], now: datetime) -> None:
        """Record that a user deleted notes: tombstones, and rows of the action log.

        Call it before the catalogue removes the facts, so that a crash cannot lose the
        deletion. Turns that say the same are hidden, other notes are not. The note of a
        question is not a statement and gets no tombstone. A memory that was dropped in
        review has a tombstone already; its note may have been removed by engram in a
        process that ended before it wrote the log (`X8`).
        """
        dropped, rows = self._dropped(), []
        for fact in deleted:
            if fact.status == "review" and fact.id in dropped:
                logged = {row.get("action") for row in self.vault.actions_of(fact.id)}
                if "drop" not in logged:
                    rows.append(action_row(now, "drop", fact.id, DROPPED))
                continue
            rows.append(action_row(now, "forget", fact.id, hiding.DELETED))
            if is_question(fact):
                continue
            self.record_forgotten(fact, now, hiding.DELETED, only="turns")
        self.note_writer.log_actions(rows)

    def record_forgotten(
        self, fact: Fact, now: datetime, why: str, **extra: str
    ) -> None:
        """Set the tombstones of a fact whose note a user marked or deleted by hand.

        With `only="turns"` no other note is hidden.
        """
        plan = HidePlan({fact.id: fact})
        self.add_evidence(plan, fact)
        head = {"at": now.isoformat(), "reason": why, **extra}
        stones = self._of_parts(fact.id, plan, equal=True)
        self.index.tombstones.add([stone | head for stone in stones])

    def renew(self) -> None:
        """Set the tombstones of older versions anew, with all that they hide today.

        Such a row has fingerprints of words in `says`, which no version reads any more.
        """
        rows = self.index.tombstones.rows
        older = frozenset(str(row.get("memory")) for row in rows if "says" in row)
        for row in self._active_rows(older) if older else ():
            found = self.index.facts([str(row.get("memory"))]) if "says" in row else []
            for fact in found:
                why = str(row.get("reason") or FORGOTTEN)
                self.record_forgotten(fact, time_of(row.get("at")), why)

    def record_deleted_turns(self, turns: Iterable[FiledTurn], now: datetime) -> None:
        """Record that a user removed turns from session files (`X9`).

        A client that sends the turns again does not restore them. The rows contain
        hashes and no words.
        """
        head = {"at": now.isoformat(timespec="seconds"), "reason": REMOVED}
        self.index.tombstones.add(
            [head | {"sent": turn_digest(one.turn), "was": one.key} for one in turns]
        )

    def _dropped(self) -> set[str]:
        """Return the ids of memories that were dropped in review and not restored."""
        dropped: set[str] = set()
        for row in self.index.tombstones.rows:
            memory = str(row.get("memory") or "")
            if row.get("restored"):
                dropped.discard(memory)
            elif row.get("reason") == DROPPED:
                dropped.add(memory)
        return dropped

    # -- what untrue words had ended ---------------------------------------------------

    def revive(
        self, hidden: Fact, key: str, now: datetime
    ) -> Iterator[Mapping[str, object]]:
        """Make the facts active again that only one fact had replaced; yield log rows."""
        for old in self.index.catalog.facts(hidden.id):
            ended = old.status in {"superseded", "invalidated"}
            if hidden.id not in old.superseded_by or not (
                ended or decide.is_scheduled(old)
            ):
                continue
            remaining = [name for name in old.superseded_by if name != hidden.id]
            keys: dict[str, object] = {"superseded_by": remaining or None}
            if not remaining:
                keys |= {"status": "active", "end_reason": None, "valid_until": None}
                self.allow_again([old], now)
            if self.patch(old, keys, TAKEN_BACK) and not remaining:
                why = "the statement that replaced it was taken back"
                yield action_row(now, "revive", old.id, why, RULE) | {"turn": key}

    def _unsettled(
        self, spoken: Mapping[str, tuple[FiledTurn, Collection[str]]], now: datetime
    ) -> Iterator[Mapping[str, object]]:
        """Reopen the promises and facts that these words had ended; yield log rows."""
        done = {
            key
            for key, (_, texts) in spoken.items()
            if any(reports(text) or only_says_done(text) for text in texts)
        }
        whole = {
            key
            for key, (turn, texts) in spoken.items()
            if len(texts) == len(sentences_of(turn))
        }
        active = {"status": "active", "end_reason": None, "valid_until": None}
        ended = [
            (fact, key, todos.reopened_keys(fact))
            for fact, key in self._changed_in(done | whole, "settle")
            if todos.is_settled(fact)
        ] + [
            (fact, key, active)
            for fact, key in self._changed_in(whole, "invalidate")
            if fact.status == "invalidated" and not fact.superseded_by
        ]
        why = "the statement that ended it was taken back"
        for fact, key, keys in ended:
            self.allow_again([fact], now)
            if self.patch(fact, keys, why):
                yield action_row(now, "revive", fact.id, why, RULE) | {"turn": key}

    def _changed_in(
        self, keys: Collection[str], action: str
    ) -> Iterator[tuple[Fact, str]]:
        """Yield facts that these turns, and no user, changed by `action`, with the key."""
        rows = {
            str(row.get("memory")): str(row.get("turn"))
            for row in self.vault.rows_with(action)
            if row.get("turn") in keys and row.get("by") != "user"
        }
        for fact in self.index.facts(rows):
            yield fact, rows[fact.id]

    def patch(self, fact: Fact, keys: Mapping[str, object], why: str) -> bool:
        """Set front-matter keys; return False for a note that a user broke or deleted."""
        try:
            self._mark(fact, keys, why)
        except (ConflictError, NotFoundError):
            return False
        return True

    # -- statements that are not filed again -------------------------------------------

    def keep_out(
        self, facts: Iterable[Fact], now: datetime, why: str, *, turns: bool = True
    ) -> None:
        """Set tombstones on the texts of facts; with `turns` also on turns (`X8`).

        They keep the same text from being filed again.
        """
        self.index.tombstones.add(
            [
                tombstone(fact, now, why, turn=fact.source if turns else "")
                for fact in facts
            ]
        )

    def allow_again(
        self, facts: Iterable[Fact], now: datetime, *, always: bool = False
    ) -> None:
        """Lift the tombstones on the texts of these facts and on their turns.

        With `always` it is recorded that ended facts are true again, also without a
        tombstone (rows X6, X8).
        """
        keys = self.index.tombstones.keys
        rows = [
            {**tombstone(fact, now, USER_DECIDED, turn=fact.source), "restored": True}
            for fact in facts
            if always or {content_hash(fact.text), fact.source} & keys
        ]
        if rows:
            self.index.tombstones.add(rows)

    # -- show again --------------------------------------------------------------------

    def restore(self, memory: str, now: datetime, why: str) -> list[str]:
        """Lift every tombstone of `memory`, and those set along with it.

        Returns the ids of the other memories that are restored.
        """
        memories = self.restore_all([memory], now, why)
        return [other for other in memories if other != memory]

    def restore_all(
        self, memories: Iterable[str], now: datetime, why: str
    ) -> list[str]:
        """Lift every tombstone of memories or turns, and those set along with them.

        Returns the names of all restored memories and turns.
        """
        at = now.isoformat()
        names = ("hash", "turn", "memory", "in")
        lifted = [
            {name: row[name] for name in names if name in row}
            for row in self._active_rows(frozenset(memories))
        ]
        self.index.tombstones.add(
            [{"at": at, **row, "reason": why, "restored": True} for row in lifted]
        )
        self.summaries.drop(
            str(row.get(name) or "")
            for row in lifted
            for name in ("memory", "turn", "in")
        )
        return list(dict.fromkeys(str(row["memory"]) for row in lifted))

    def _active_rows(self, memories: frozenset[str]) -> list[Mapping[str, object]]:
        """Return the tombstones of `memories`, and those set along, that are in force."""
        active: dict[tuple[str, ...], Mapping[str, object]] = {}
        for row in self.index.tombstones.rows:
            if memories.isdisjoint((row.get("memory"), row.get("for"))):
                continue
            identity = tuple(
                str(row.get(key) or "") for key in ("memory", "hash", "in", "turn")
            )
            if not row.get("restored") or row.get("lifted"):
                active[identity] = row
            else:
                active.pop(identity, None)
        return list(active.values())

    def lift_restated(
        self, turns: Iterable[FiledTurn], now: datetime, *, asked: bool = False
    ) -> bool:
        """Lift the tombstones on statements that the user makes again in these turns.

        Returns whether any was lifted. With `asked` a turn with exactly the time of the
        tombstone counts too.
        """
        said = [(turn, own_words(turn.turn.text)) for turn in turns]
        return self.lift_stated(said, now, asked=asked)

    def lift_stated(
        self,
        said: Iterable[tuple[FiledTurn, str]],
        now: datetime,
        *,
        asked: bool = False,
    ) -> bool:
        """Lift the tombstones on statements that were read in turns of the user."""
        rows: list[dict[str, object]] = []
        log: list[dict[str, object]] = []
        for turn, text in said:
            for stone in self.index.tombstones.forgotten.restated(
                text, hiding.utterance_of(turn), is_request=asked
            ):
                at = max(turn.turn.occurred_at, stone.at).isoformat()
                named = {
                    "hash": stone.hash,
                    "memory": stone.memory,
                    "in": stone.in_turn,
                }
                rows.append(
                    {
                        "at": at,
                        **named,
                        "reason": ANEW,
                        "restored": True,
                        "lifted": turn.key,
                    }
                )
                log.append(
                    action_row(now, "lift", stone.memory, ANEW) | {"turn": turn.key}
                )
        if rows:
            self.index.tombstones.add(rows)
            self.note_writer.log_actions(log)
        return bool(rows)

    # -- evidence ----------------------------------------------------------------------

    def evidence(self, fact: Fact) -> Grounds:
        """Return all turns that support a fact, and their quotes.

        These are the turns named in its note, the turns that confirmed it according to
        the action log, and the turns of memories that were merged into it.
        """
        older = self.index.facts(fact.supersedes)
        facts = [fact, *(one for one in older if decide.is_merged(one, fact))]
        rows = [row for one in facts for row in self.vault.actions_of(one.id)]
        keys = [key for one in facts for key in one.turns]
        keys += [
            str(row.get("turn") or "")
            for row in rows
            if row.get("action") in _SUPPORTING
        ]
        quotes = [str(row["quote"]) for row in rows if row.get("quote")]
        return Grounds(tuple(dict.fromkeys(filter(None, keys))), tuple(quotes))

    def sharing(self, turns: Collection[str], without: str) -> list[Fact]:
        """Return the other memories with one of these turns as evidence, by path."""
        some = self.index.catalog.facts(*turns) if turns else ()
        return [
            fact
            for fact in some
            if fact.id != without
            and fact.status not in {"forgotten", "superseded"}
            and {*fact.turns} & {*turns}
        ]

    # -- equal and similar statements --------------------------------------------------

    def is_forgotten(self, fact: Fact, source: FiledTurn) -> bool:
        """Return whether a tombstone hides a fact extracted from the turn `source`."""
        tombstones = self.index.tombstones
        if source.key in tombstones.keys and any(
            stone.memory == source.key for stone in tombstones.forgotten.stones
        ):
            return True
        return tombstones.forgotten.hides(fact.text, hiding.utterance_of(source))

    def near(
        self,
        text: str,
        now: datetime,
        statuses: tuple[str, ...],
        persona: str | None = None,
    ) -> list[Fact | FiledTurn]:
        """Return the facts of these statuses, and the turns, that share most words.

        With a persona, '' for none, those that it sees.
        """
        question = ranking.parse_question(text, now)
        filters = [SearchFilter(("turn",), persona=persona)]
        if statuses:
            filters.append(SearchFilter(("fact",), statuses, persona=persona))
        return [
            unit
            for where in filters
            for _, unit in self.index.by_words(question, where, POOL)
            if isinstance(unit, (Fact, FiledTurn))
        ]

    def similar(
        self, texts: Sequence[str], now: datetime, without: Collection[str]
    ) -> list[dict[str, str]]:
        """Return memories and sentences of turns that resemble forgotten statements.

        They have other words, so nothing is done to them (`A26`). Each has `id`, `text`
        and the reason `why`; of equal texts the first is listed. `without` are the ids
        and keys to leave out.
        """
        stems, hidden = self.index.lexical.stems, self.index.tombstones.keys
        found: dict[str, tuple[float, dict[str, str]]] = {}
        for text in texts:
            parsed = similarity.statement(text, stems)
            for unit in self.near(text, now, STATUSES):
                key = unit.id if isinstance(unit, Fact) else unit.key
                seen = hiding.without_forgotten(
                    unit, self.index.tombstones.forgotten, self.index.lexical.voices
                )
                if seen is None or key in without or key in hidden:
                    continue
                whole = seen.turn.text if isinstance(seen, FiledTurn) else seen.text
                for start, end in sentences(whole):
                    part = whole[start:end]
                    near = similarity.compared(
                        parsed, similarity.statement(part, stems)
                    )
                    best = found.get(key, (SIMILAR, {}))[0]
                    if near.similarity > best and not are_equal(text, part):
                        row = {"id": key, "text": part, "why": near.why}
                        found[key] = near.similarity, row
        ranked = sorted(found.values(), key=lambda one: (-one[0], one[1]["id"]))
        listed = list[dict[str, str]]()
        for _, row in ranked:
            if not any(are_equal(row["text"], other["text"]) for other in listed):
                listed.append(row)
        return listed[:MOST_SIMILAR]

    def wordings(self, fact: Fact) -> list[str]:
        """Return the sentences that a fact was drawn from, in other words than its own.

        A turn that repeats one of them states the fact. A short answer such as "Yes,
        please." occurs in other conversations and is none.
        """
        evidence = self.evidence(fact)
        return [
            sentence
            for turn in self.index.turns(evidence.turns)
            for sentence in self.stating(fact, turn, evidence.quotes)
            if len(content(sentence)) >= FEW and not are_equal(fact.text, sentence)
        ]

    def stating(self, fact: Fact, turn: FiledTurn, quotes: Sequence[str]) -> list[str]:
        """Return the sentences of a turn that a fact was drawn from, or its whole text.

        They are those that state the fact or have one of its `quotes`. If there are
        none, they are the sentences that support no other memory.
        """
        text = turn.turn.text
        plain = sentences_of(turn)
        for found in (
            [one for one in plain if are_equal(fact.text, one)]
            or [one for one in plain if any(quote in one for quote in quotes)],
            [one for one in plain if any(one in quote for quote in quotes)],
            [one for one in plain if not self._supports_other(one, fact, turn.key)],
        ):
            if found:
                all_equal = all(are_equal(fact.text, one) for one in found)
                return found if all_equal or len(found) < len(plain) else [text]
        return [text]

    def _supports_other(self, sentence: str, fact: Fact, key: str) -> bool:
        """Return whether a sentence of a turn supports a memory other than `fact`."""
        return any(
            are_equal(other.text, sentence)
            or _quoted(sentence, self.evidence(other).quotes)
            for other in self.sharing((key,), fact.id)
        )


def _quoted(sentence: str, quotes: Iterable[str]) -> bool:
    return any(quote in sentence or sentence in quote for quote in quotes)


def _of_turns(plan: HidePlan, *, equal: bool) -> Iterator[dict[str, object]]:
    """Yield the tombstones of whole turns."""
    for key, turn in plan.turns.items():
        row: dict[str, object] = {"turn": key, "memory": key}
        if equal:
            text = own_words(turn.turn.text)
            row |= {"hash": content_hash(text)} | tombstone_row(*statements_of(text))
        yield row


def tombstone(
    fact: Fact, now: datetime, why: str, turn: str | None = None
) -> dict[str, object]:
    """Return the row of a tombstone on the text of a fact and, if given, on a turn."""
    row: dict[str, object] = {
        "at": now.isoformat(timespec="seconds"),
        "hash": content_hash(fact.text),
    }
    if turn is not None:
        row["turn"] = turn
    return row | {"memory": fact.id, "reason": why}
