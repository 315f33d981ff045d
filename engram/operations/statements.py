"""The operations `remember` and `correct`: statements that the user asks to keep.

The words become a turn of the session `remembered`, which is the evidence of the fact
(rows A1, A12, C5, X8).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any

from engram.core import classify, trust
from engram.core.categories import CATEGORIES, PLAIN, category_named, category_of
from engram.core.entities import subjects
from engram.core.forgetting import Utterance
from engram.core.language.echo import own_words
from engram.core.language.keep_requests import REMEMBER_TAG
from engram.core.language.secrets import DOOR_CODE, redact
from engram.core.language.states import states
from engram.core.records import (
    NO_PERSONA,
    REMEMBERED,
    UNKNOWN_PERSONA,
    Candidate,
    Extraction,
    Fact,
    FiledTurn,
    Turn,
)
from engram.core.text import content_hash, ulid
from engram.errors import (
    BadRequestError,
    ConflictError,
    EngramError,
    ForbiddenError,
    NotFoundError,
)
from engram.extraction.rules import engine
from engram.ingest import intake as ingest_intake
from engram.ingest import requests
from engram.operations.cases import current_fact
from engram.operations.notes import NoteChanges
from engram.operations.signature import ANY_CALLER, TIME, Between, Id, Run, operation
from engram.operations.table import checked
from engram.pipeline.forgetting import FORGOTTEN
from engram.pipeline.imports import AGAIN
from engram.pipeline.reconcile import AskedFact, KeptFact, Reconciler
from engram.pipeline.write import KNOWN, action_row, reversed_row
from engram.vault.facts import change

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.operations.file_sync import NoteEditor
    from engram.operations.memories import MemoryOperations

SAID_AGAIN = "you had it forgotten before; it is shown again"
USER_ASKED = "the user asked"
CORRECTED = "corrected"
IMPORTED = "imported before"
CORRECTABLE = frozenset(("active", "archived", "review"))
"""The statuses of memories that can be corrected."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement that a caller asks to keep: the arguments of `remember`."""

    text: str
    category: str | None = None
    about: list[str] | None = None
    tags: list[str] | None = None
    importance: float | None = None
    confidence: float | None = None
    persona: str | None = None
    private: bool = False
    pinned: bool = False
    expires: str | None = None
    source_id: str | None = None
    occurred_at: str | None = None
    agent: bool = False


@dataclass(frozen=True, slots=True)
class _Checked:
    """A statement that may be stored, its turn, and until when it is true."""

    asked: Asked
    turn: Turn
    until: datetime | None


class StatementOperations:
    """The operations `remember` and `correct`. For the writer thread."""

    def __init__(
        self,
        editor: NoteEditor,
        reconciler: Reconciler,
        intake: ingest_intake.Intake,
        memories: MemoryOperations,
    ) -> None:
        self.editor = editor
        self.reconciler = reconciler
        self.intake = intake
        self.memories = memories
        self.note_writer = editor.note_writer
        self.index = editor.index
        self.settings = editor.settings
        self.clock = editor.clock
        self._changes = NoteChanges(self.note_writer)

    # -- remember ----------------------------------------------------------------------

    @operation(
        "Remembered", "POST /v1/memories", callers=ANY_CALLER, writes=True, decides=True
    )
    def remember(
        self,
        text: Annotated[str, "the statement, in one sentence"],
        *,
        category: Annotated[
            str | None, "one of the categories; guessed from the text if absent"
        ] = None,
        about: Annotated[
            list[str] | None,
            "name of a person, place or thing that it is about; may be repeated",
        ] = None,
        tags: Annotated[list[str] | None, "tag of the note; may be repeated"] = None,
        importance: Annotated[
            float | None, "importance; estimated if absent", Between(0, 1)
        ] = None,
        confidence: Annotated[
            float | None, "confidence; limited by the source", Between(0, 1)
        ] = None,
        persona: Annotated[str | None, "persona to which the memory is private"] = None,
        private: Annotated[
            bool, "without a persona: recall it only for questions without a persona"
        ] = False,
        pinned: Annotated[bool, "never let the memory fade"] = False,
        expires: Annotated[
            str | None, "time from which it is no longer true", TIME
        ] = None,
        source_id: Annotated[
            str | None,
            "its id in the program from which it is imported; stored once for each id, with the trust of an import",
        ] = None,
        occurred_at: Annotated[str | None, "time at which it was said", TIME] = None,
        agent: Annotated[
            bool,
            "an agent says it, and the user did not ask for it: stored with the trust of an assistant",
        ] = False,
        run: Run = None,
        standing: str = "chat",
    ) -> dict[str, Any]:
        """Store a statement as a memory. Shows its id, its note, its category, and
        whether it was new or already known.

        With `source_id`, its id in another program, it is an import. A statement that
        was imported before is not stored again: the verdict is `known`, or `restored`
        after an undo. `run` is the import.

        The verdict is `created`, `confirmed` (a memory states the same already) or
        `waits in review`; `why` is the reason. `category`, `about`, `tags` and
        `importance` (0–1) are guessed if absent. With a persona the memory is private
        to it; with `private` and without a persona it is recalled only for questions
        without a persona. `confidence` can only lower that of the source. With `agent`
        the statement is an assistant's own, not the user's. `case` is a conflict that
        waits for the user.

        Raises BadRequestError for an invalid argument, ForbiddenError if `standing`
        (chat, import or tool) does not allow it.
        """
        asked = Asked(
            text,
            category,
            about,
            tags,
            importance,
            confidence,
            persona,
            private,
            pinned,
            expires,
            source_id,
            occurred_at,
            agent,
        )
        (result,) = self._remember([asked], run, standing)
        if isinstance(result, EngramError):
            raise result
        return result

    @operation(
        "RememberedAll",
        "POST /v1/memories/batch",
        callers=ANY_CALLER,
        writes=True,
        decides=True,
        own_command=True,
    )
    def remember_all(
        self,
        *,
        memories: Annotated[
            list[dict[str, Any]], "objects with the arguments of `remember`"
        ],
        run: Run = None,
        standing: str = "chat",
    ) -> dict[str, Any]:
        """Store statements as memories, in their order. Shows for each what `remember`
        shows.

        The verdict on a statement that is not stored is `refused`.
        """
        results = self._remember(map(_asked, memories), run, standing)
        refused = {"id": "", "verdict": "refused"}
        return {
            "memories": [
                refused | {"why": str(one)} if isinstance(one, EngramError) else one
                for one in results
            ]
        }

    def _remember(
        self,
        statements: Iterable[Asked | EngramError],
        run: str | None,
        standing: str,
    ) -> list[dict[str, Any] | EngramError]:
        """Store statements; return for each its result, or why it is not stored.

        They are written together. One whose id or whose words are known is read after
        the ones before it are written.
        """
        now = self.clock()
        results: list[dict[str, Any] | EngramError] = []
        waiting: dict[int, _Checked] = {}
        names: set[str] = set()

        def store() -> None:
            kept = self._store([*waiting.values()], run, now)
            for place, result in zip(waiting, kept, strict=True):
                results[place] = result
            waiting.clear()
            names.clear()

        for asked in statements:
            found: dict[str, Any] | EngramError | _Checked
            try:
                if isinstance(asked, EngramError):
                    raise asked
                turn = self._turn(asked, now, standing)
                own = {turn.id, content_hash(turn.text)}
                if waiting and (not names.isdisjoint(own) or self._equal(turn, now)):
                    store()
                    turn = self._turn(asked, now, standing)  # its id may be taken now
                found = self._checked(asked, turn, run, now)
                names |= own
            except (BadRequestError, ConflictError, ForbiddenError) as fault:
                found = fault
            if isinstance(found, _Checked):
                waiting[len(results)] = found
                found = {}
            results.append(found)
        if waiting:
            store()
        return results

    def _checked(
        self, asked: Asked, turn: Turn, run: str | None, now: datetime
    ) -> dict[str, Any] | _Checked:
        """Return a statement that has to be stored, or the result of a known one."""
        if asked.category is not None:
            category, tags = _category(asked.category, asked.tags)
            asked = replace(asked, category=category, tags=tags)
        if asked.source_id is not None:
            is_restored = self._show_again(run, asked.source_id, now)
            if known := self._imported(asked, now):
                verdict, why = (
                    ("restored", AGAIN) if is_restored else ("known", IMPORTED)
                )
                return {"id": known, "verdict": verdict, "why": why}
        self._check_source(asked, turn, now)
        until = self._end(asked.expires, now) if asked.expires is not None else None
        if equal := self._equal(turn, now):
            self._confirm(equal, now)
            return self._confirmed(equal.id, KNOWN, turn, pinned=asked.pinned)
        return _Checked(asked, turn, until)

    def _store(
        self, statements: Sequence[_Checked], run: str | None, now: datetime
    ) -> list[dict[str, Any]]:
        """Write the turns of statements, then their memories; return the results."""
        policy = self.settings.policy.extraction
        found = [engine.extract([one.turn], policy) for one in statements]
        if run:
            names = [(one.turn.session, one.turn.id) for one in statements]
            self.reconciler.imports.note(run, names)
        with self.intake.places([one.turn for one in statements]) as places:
            filed = self.note_writer.file_turns(places)
        lift = self.reconciler.forgetting.lift_restated
        again = [
            f"; {SAID_AGAIN}" if lift([evidence], now, asked=True) else ""
            for evidence in filed
        ]
        facts = (
            AskedFact(self._fact(one, evidence, extraction, now), one.turn, extraction)
            for one, evidence, extraction in zip(statements, filed, found, strict=True)
        )
        kept = self.reconciler.remember(facts, now)
        return list(map(self._result, statements, kept, again))

    def _result(
        self, statement: _Checked, kept: KeptFact, again: str
    ) -> dict[str, Any]:
        fact, decision, turn = kept.fact, kept.decision, statement.turn
        if decision.met:
            pinned = statement.asked.pinned
            return self._confirmed(decision.met, decision.why, turn, pinned=pinned)
        in_review = decision.action == "review"
        result: dict[str, Any] = {
            "id": fact.id,
            "path": self.index.catalog.find_fact(fact.id).path,
            "verdict": "waits in review" if in_review else "created",
            "why": f"{decision.why}{again}",
            "category": fact.category,
        }
        if kept.cases:
            case_id, path = kept.cases[0]
            result["case"] = {"id": case_id, "path": path}
        return result

    def _end(self, expires: str, now: datetime) -> datetime:
        """Return the end of the time `expires`, which must be in the future."""
        zone = self.settings.zone
        return requests.moment(expires, zone, "expires", end=True, now=now, ahead=True)

    def _equal(self, turn: Turn, now: datetime) -> Fact | None:
        return self.note_writer.duplicate(turn.text, turn.private_to, now)

    def _confirm(self, fact: Fact, now: datetime) -> None:
        confirmed = self.note_writer.confirmed(fact)
        row = action_row(now, "confirm", fact.id, "same statement")
        changes = [change(fact, confirmed, self.settings.zone, "confirmed")]
        self.note_writer.write(changes if confirmed != fact else [], [row])

    def _show_again(self, run: str | None, source_id: str, now: datetime) -> bool:
        """Restore a memory that is imported again after an undo; return whether it was."""
        imports = self.reconciler.imports
        if not run or not (hidden := imports.hidden([(REMEMBERED, source_id)])):
            return False
        imports.note(run, hidden)
        imports.show_again(hidden, now)
        return True

    def _imported(self, asked: Asked, now: datetime) -> str:
        """Return the id of the memory of a statement imported before, or ''.

        After an interrupted import its turn may exist without a memory.
        """
        filed = self.index.catalog.turn(REMEMBERED, asked.source_id or "")
        if filed is None:
            return ""
        if equal := self.note_writer.duplicate(asked.text, asked.persona, now):
            return equal.id
        facts = self.index.catalog.facts(filed.key)
        return next((one.id for one in facts if filed.key in one.turns), "")

    def _check_source(self, asked: Asked, turn: Turn, now: datetime) -> None:
        """Raise ForbiddenError if the source of a statement may not store it (`X27`).

        Only the user pins, sets some categories, and restores a statement that the user
        forgot.
        """
        source, category = trust.source_class(turn), asked.category
        why = trust.restriction("pin", source) if asked.pinned else None
        if why is None and category and category_of(category).not_from_outside:
            why = trust.restriction(category, source)
        if why is None and source != "user":
            hidden = self.index.tombstones.forgotten.hides(turn.text, Utterance(now))
            why = FORGOTTEN if hidden else None
        if why:
            raise ForbiddenError(why, fix="The user has to state it.")

    def _fact(
        self,
        statement: _Checked,
        evidence: FiledTurn,
        found: Extraction,
        now: datetime,
    ) -> Fact:
        """Return the fact of a new statement, with linked names and redacted secrets.

        What the caller does not say is that of the first candidate of the rules.
        """
        policy, secrets = self.settings.policy.importance, self.settings.redact
        asked, turn = statement.asked, statement.turn
        writer = self.reconciler.entity_writer
        guess = next(iter(found.candidates), None)
        category = asked.category or _guessed(guess, turn)
        tags, importance = _not_blank(asked.tags), asked.importance
        about = _not_blank(asked.about) or (list(guess.about) if guess else [])
        if importance is None:
            importance = classify.importance_of(turn.text, category, tags, policy)[0]
        fact = Fact(
            id=ulid(now, evidence.key),
            text=turn.text,
            category=category,
            kind=classify.kind_of(turn.text, category, tags)[0],
            created=turn.occurred_at,
            importance=importance,
            about=writer.link_names(
                redact(name, secrets).text
                for name in subjects(turn.text, about, turn, writer.names)
            ),
            tags=tuple(redact(tag, secrets).text for tag in tags),
            source=evidence.key,
            origin="user",
            pinned=asked.pinned,
            expires=statement.until,
            persona=turn.private_to,
        )
        return _completed(fact, guess, asked.confidence)

    def _confirmed(
        self, name: str, why: str, turn: Turn, *, pinned: bool
    ) -> dict[str, Any]:
        """Return the result if a memory states the same already.

        The tag `remember` in its note records that the user asked to keep it. If the
        note cannot be changed, `why` contains the error.
        """
        fact = self.editor.find(name)
        was_extracted = bool(fact.source) and fact.origin != "user"
        asked = trust.source_class(turn) == "user" and was_extracted
        if asked and REMEMBER_TAG not in fact.tags:
            tags = [*fact.tags, REMEMBER_TAG]
            error = self.editor.try_patch(fact, {"tags": tags}, "keep", USER_ASKED)
            if error:
                why = f"{why}; {fact.path} was not changed: {error}"
        if pinned:
            self.memories.update(name, pinned=True)
        return {"id": name, "verdict": "confirmed", "why": why}

    # -- correct -----------------------------------------------------------------------

    @operation("CorrectedMemory", writes=True, decides=True, retracts=True)
    def correct(
        self,
        id: Id,
        text: Annotated[str, "the statement that is true instead"],
    ) -> dict[str, Any]:
        """Replace the statement of a memory. The old one is superseded and does not
        come back; shows the id and the note of the new one.

        (Row X8.)
        Of a statement with several values only those that `text` gives are replaced.
        """
        fact, now = self.editor.find(id), self.clock()
        turn = self._turn(Asked(text, persona=fact.persona), now)
        with self.intake.places([turn]) as places:
            (evidence,) = self.note_writer.file_turns(places)
        names = self.reconciler.entity_writer.names.owner_words()
        whole = _with_values(fact.text, turn.text, names)
        return self._replace(fact, whole, evidence.key, now)

    def _replace(
        self, fact: Fact, text: str, source: str, now: datetime
    ) -> dict[str, Any]:
        """End the old statement with a tombstone, and store `text` as its successor.

        `source` is the key of the turn with the correction. The successor keeps
        category, names, tags, importance, pin, persona, sensitivity and time, unless
        its words name another time.
        """
        text = redact(text.strip(), self.settings.redact, allowed={DOOR_CODE}).text
        digest = content_hash(text)
        if not text or digest == content_hash(fact.text):
            raise BadRequestError(
                "the memory states this already",
                where=fact.id,
                fix="Give the statement that is true instead.",
            )
        equal = self.index.catalog.duplicate(digest, fact.persona, now)
        corrected_before = equal is not None and equal.id in fact.superseded_by
        if fact.status not in CORRECTABLE and not corrected_before:
            raise ConflictError(
                f"the memory is {fact.status}",
                where=fact.id,
                fix="Restore it first, or use `remember`.",
            )

        self.reconciler.forgetting.keep_out([fact], now, CORRECTED)
        successor = self._successor(fact, text, source, now)
        if equal is None:
            self.reconciler.forgetting.allow_again([successor], now)
            row = action_row(now, "store", successor.id, f"corrects {fact.id}")
            self.note_writer.write_new(successor, row)
        new_id = equal.id if equal else successor.id
        if fact.status in CORRECTABLE:
            winner = self._winner(new_id) or successor
            ended = self._changes.supersede(fact, winner, CORRECTED, now)
            row = action_row(now, "correct", fact.id, CORRECTED) | {"met": new_id}
            wrong = reversed_row(now, "store", fact.id, CORRECTED)
            self.note_writer.write([ended], [row, wrong])
        return {"id": new_id, "corrects": fact.id, "text": text}

    def _winner(self, name: str) -> Fact | None:
        """Return the memory as it is now in its note, or as indexed if the note moved."""
        try:
            return current_fact(name, self.index, self.note_writer.vault, self.settings)
        except NotFoundError:  # links name the memory, not its path
            return self.index.catalog.fact(name)

    def _successor(self, fact: Fact, text: str, source: str, now: datetime) -> Fact:
        least = self.settings.policy.review.corrected
        successor = Fact(
            id=ulid(now, f"correct\n{fact.id}\n{content_hash(text)}"),
            text=text,
            category=fact.category,
            kind=classify.kind_of(text, fact.category, fact.tags)[0],
            created=now,
            confidence=max(fact.confidence, least),
            importance=fact.importance,
            about=fact.about,
            tags=fact.tags,
            source=source,
            origin="user",
            pinned=fact.pinned,
            supersedes=(fact.id,),
            persona=fact.persona,
            sensitivity=fact.sensitivity,
            verification="user_confirmed",
        )
        return classify.with_time_of(
            successor, fact, now.astimezone(self.settings.zone)
        )

    # -- the turn that states it -------------------------------------------------------

    def _turn(self, asked: Asked, now: datetime, standing: str = "chat") -> Turn:
        """Return the turn for a statement.

        Its id is that of an import, or new; equal histories give equal ids (`X25`). A
        statement to a persona is private to it (`E14`). What was recalled is no part of
        it (`X7`).
        """
        text, persona = own_words(asked.text), asked.persona
        occurred_at = asked.occurred_at
        if occurred_at is not None:
            occurred_at = requests.moment(
                occurred_at, self.settings.zone, "occurred_at", now=now
            ).isoformat()
        raw = {
            "text": text,
            "role": "assistant" if asked.agent else "user",
            "session": REMEMBERED,
            "persona": None if persona in {NO_PERSONA, UNKNOWN_PERSONA} else persona,
            "private": persona is not None or asked.private,
            "id": asked.source_id,
            "occurred_at": occurred_at,
        }
        ids = (ulid(now, f"{one}\n{self.intake.device}\n{text}") for one in count())
        free = asked.source_id or next(
            name for name in ids if self.index.catalog.turn(REMEMBERED, name) is None
        )
        standing = "import" if asked.source_id is not None else standing
        return requests.turn_from(raw, now, self.settings, free, standing, keep=True)


def _asked(arguments: Mapping[str, Any]) -> Asked | EngramError:
    """Return a statement of a batch, or why it is none."""
    try:
        found = checked("remember", dict(arguments))
    except BadRequestError as fault:
        return fault
    del found["run"]
    return Asked(**found)


def _category(name: str, tags: list[str] | None) -> tuple[str, list[str]]:
    """Return the category for a name, and the tags with the implied one (`A31`)."""
    known = category_named(name)
    if known is None:
        raise BadRequestError(
            f"there is no category {name!r}",
            fix=f"Use one of: {', '.join(CATEGORIES)}.",
        )
    category, tag = known
    return category, [*filter(None, (tag,)), *(tags or ())]


def _guessed(guess: Candidate | None, turn: Turn) -> str:
    """Return the category of a statement by its words, as far as its source allows."""
    name = guess.category if guess else PLAIN
    return trust.permitted_category(name, trust.source_class(turn))


def _completed(fact: Fact, guess: Candidate | None, confidence: float | None) -> Fact:
    """Return a new fact with its confidence, and a promise with its day."""
    if confidence is not None:
        fact = replace(fact, confidence=min(confidence, fact.confidence))
    when = guess.when if guess and guess.category == fact.category else None
    if when and category_of(fact.category).promise:
        fact = replace(fact, valid_from=when.start, event_end=when.end)
    return fact


def _not_blank(names: list[str] | None) -> list[str]:
    return [name for name in names or () if name.strip()]


def _with_values(old: str, new: str, names: Collection[str]) -> str:
    """Return `old` with the values of `new` in their places, else `new`.

    It is `new` unless `old` has all its attributes and others too, after the same
    words.
    """
    known = {(one.subject, one.attribute): one for one in states(old, names)}
    given = {(one.subject, one.attribute): one for one in states(new, names)}
    if not given or not given.keys() < known.keys():
        return new
    for slot, state in given.items():
        before, value, after = old.partition(known[slot].written)
        leads = before.split()[-1:], new.partition(state.written)[0].split()[-1:]
        if not value or leads[0] != leads[1]:
            return new
        old = f"{before}{state.written}{after}"
    return old
