"""Memory: the operations on one vault, in one process.

Reading operations and `observe` may be called from any thread; everything that writes notes belongs to one
thread at a time: the daemon's writer, or the caller where no daemon runs.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engram import filing, ingest, recall
from engram.core import classify
from engram.core.records import CATEGORIES, REMEMBERED, Edit, Extraction, Fact, FiledTurn
from engram.core.redact import redact
from engram.core.text import content_hash, ulid
from engram.errors import BadRequestError, ConflictError, EngramError, ModelError, NotFoundError, UnavailableError
from engram.extraction import Extractor
from engram.index.index import Index
from engram.llm import rules
from engram.operations import checked
from engram.vault import files
from engram.vault.journal import Journal
from engram.vault.store import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from engram.config import Settings
    from engram.index.diff import Edited
    from engram.ingest import Batch

FLUSH_SECONDS = 600.0
READ_SECONDS = 30.0
LOOK_SECONDS = 1.0


def utc_now() -> datetime:
    """The clock outside tests."""
    return datetime.now(UTC)


class Memory:
    """One vault with its journal and index. `start` before use, `close` after; `ready` once `warm` is done."""

    def __init__(self, settings: Settings, *, clock: Callable[[], datetime] = utc_now) -> None:
        self.settings = settings
        self.clock = clock
        self.ready = False
        self.on_turns: Callable[[], None] | None = None
        self.faults: dict[str, str] = {}
        self.deletions_frozen = False
        self._read = threading.Event()
        self._reading = False
        self._began = self._looked = time.monotonic()
        self._model_faults = 0
        self.extractor = Extractor(settings, clock)

    # -- life -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take the lock, replay the journal, open the index: recall works from here on, marked incomplete.

        Raises NotFoundError (no vault there), LockedError (another process owns it), StorageError.
        """
        settings = self.settings
        if not settings.vault.is_dir():
            raise NotFoundError("there is no vault", where=str(settings.vault), fix="Make one with `engram init`.")
        if not (settings.vault / "engram.toml").is_file():
            fix = "Make it one with `engram init`; what is in it stays as it is."
            raise NotFoundError("this folder is no vault", where=str(settings.vault), fix=fix)
        for folder in (settings.state, settings.cache):
            files.make_folders(folder)
        self._lock = files.lock(settings.state / "lock")
        try:
            self.vault = Vault(settings.vault)
            self.index = Index(settings, gone=self._gone, edited=self._edited)
            self.journal = Journal(settings.state / "journal", settings.policy.journal)
            self.intake = ingest.Intake(self.journal, self.index, settings, self.faults)
            self.filing = filing.Filing(self.vault, self.index, settings, self.faults)
            self.index.tombstones = self.vault.tombstones()
            for fault in self.intake.recover(self.clock()):
                self.faults["journal"] = fault
            self._reading = True  # the caller warms up next
            if self.index.catalog.complete:
                self._read.set()
        except BaseException:
            if hasattr(self, "index"):
                self.index.catalog.close()
            self._lock.release()
            raise

    def warm(self) -> None:
        """Compare the vault with the catalogue and take in what changed meanwhile."""
        try:
            unsure = self.rescan(None)
            self._read.set()
        finally:
            self._reading = False
        if self.on_turns is None:
            self._look_again(unsure)
        self.filing.seed()
        self.ready = True

    def _look_again(self, unsure: set[Path]) -> None:
        if unsure:
            time.sleep(self.settings.policy.files.settle_most_seconds)
            self.rescan(unsure)

    def save(self) -> None:
        """Write down what would be slow to make again after a crash."""
        self.index.save()

    def close(self) -> None:
        """Save the index and let go of the vault. What waits stays in the journal."""
        self.ready = False
        try:
            self.index.close()
        finally:
            self.journal.close()
            self._lock.release()

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Carry out the operation `name`; its result fits JSON. Raises EngramError."""
        arguments = checked(name, params)
        if self.on_turns is None and self.ready and time.monotonic() - self._looked > LOOK_SECONDS:
            self.rescan(None)  # without a daemon nobody watches the files
        result: dict[str, Any] = getattr(self, name)(**arguments)
        return result

    # -- turns ------------------------------------------------------------------------------------

    def observe(self, turns: list[dict[str, Any]]) -> dict[str, Any]:
        """Take turns of a conversation; when this returns they are on disk and recall finds them.

        A catalogue that is begun anew is waited for: only it knows which turns are in the vault already.
        """
        if not self._read.wait(READ_SECONDS if self._reading else 0):
            raise UnavailableError("the vault is still being read", fix="Nothing was stored; send the turns again.")
        now = self.clock()
        taken = [ingest.turn_from(raw, now, self.settings, self._fresh_id(now)) for raw in turns]
        accepted = self.intake.accept(taken, now)
        if self.on_turns:
            self.on_turns()
        else:
            self._drain()
        return asdict(accepted)

    def flush(self, session: str | None = None, *, background: bool = False) -> dict[str, Any]:
        """Distil everything that waits now, parked and dead batches too; answer when it is done, or at once."""
        session = session and ingest.name_from(session, self.settings)
        self.intake.revive(session)
        wanted = self.flush_waiting(session, background=background)
        return {"flushed": len(wanted), **self.intake.counts()}

    def flush_waiting(self, session: str | None = None, *, background: bool = False) -> set[int]:
        """As `flush`, but what is parked or dead stays so; the journal numbers of the turns."""
        wanted = self.intake.hurry(session)
        if self.on_turns is None:
            self._drain()
        else:
            self.on_turns()
            if not background and not self.intake.wait(wanted, FLUSH_SECONDS):
                raise UnavailableError(
                    "distilling takes longer than expected", fix="It goes on; look at `engram status`."
                )
        return wanted

    def due(self, now: datetime) -> list[Batch]:
        """The batches to distil now, their turns already in their session file, in the order they were said.

        One whose session file a person is editing waits until that rests, unless somebody asked for it.
        """
        ready: list[Batch] = []
        # Before the vault is compared, what stands in it already is not known and would be filed twice.
        for batch in self.intake.due(now) if self.ready else ():
            until = None if batch.filed or batch.why == ingest.ASKED else self.filing.quiet_until(batch, now)
            if until:
                self.intake.parked(batch, until, "a person edits the session file", durable=False)
                continue
            try:
                ready += self.intake.still_said(batch) if batch.filed else [self._filed(batch)]
            except EngramError as fault:
                self._put_off(batch, "session file", fault)
            else:
                self.faults.pop("session file", None)
        return ready

    def _filed(self, batch: Batch) -> Batch:
        """The batch as it stands in its session file from now on."""
        return self.intake.placed(batch, self.filing.file_turns([item.filed for item in batch.waiting]))

    def _put_off(self, batch: Batch, what: str, fault: EngramError) -> None:
        """Try the batch again soon: its turns are stored, only the disk or an editor refuses."""
        self.faults[what] = str(fault)
        until = self.clock() + timedelta(seconds=self.settings.policy.model.retry_seconds)
        self.intake.parked(batch, until, fault.what, durable=False)

    def next_due(self) -> datetime | None:
        """When the next batch becomes due by the clock."""
        return self.intake.next_due()

    def distil(self, batch: Batch) -> Extraction:
        """What the batch says; slow with a model, in any thread. Raises ModelError."""
        return self.extractor.distil(batch)

    def file(self, batch: Batch, outcome: Extraction | ModelError) -> filing.Filed:
        """Write the batch into the vault; after a model's failure park it, in the end use the rules (C3, X2)."""
        now = self.clock()
        if isinstance(outcome, ModelError):
            self._model_faults += 1
            self.faults["model"] = str(outcome)
            again = self.extractor.again(batch, outcome, now)
            if again is not None:
                self.intake.parked(*again, outcome.what)
                return filing.Filed()
            filed = self.filing.file(batch, self.extractor.by_rules(batch), now)
            self.intake.buried(batch, outcome.what)
            return filed
        if outcome.extractor != rules.EXTRACTOR:
            self.faults.pop("model", None)
        filed = self.filing.file(batch, outcome, now)
        self.intake.settled(batch)
        return filed

    def _drain(self) -> None:
        """Without a daemon: distil and file at once what waits."""
        self.intake.hurry()
        for batch in self.due(self.clock()):
            try:
                outcome: Extraction | ModelError = self.distil(batch)
            except ModelError as fault:
                outcome = fault
            try:
                self.file(batch, outcome)
            except EngramError as fault:
                self._put_off(batch, "filing", fault)
            else:
                self.faults.pop("filing", None)

    # -- files ------------------------------------------------------------------------------------

    def rescan(self, paths: Collection[Path] | None, *, accept_deletions: bool = False) -> set[Path]:
        """Take in what changed on disk, everywhere or only below `paths`; a person's deeds are obeyed (X3, X8, X9).

        The paths given back want another look after `settle_most_seconds`: gone, or still being written.
        """
        self._looked = time.monotonic()
        now = self.clock()
        self.vault.tidy(now, self.settings.policy.files.quiet_seconds)
        self.faults.pop("leftover", None)
        if self.vault.stuck:
            self.faults["leftover"] = "; ".join(self.vault.stuck.values())
        diff = self.index.refresh(paths, accept_deletions=accept_deletions)
        self.deletions_frozen = diff.frozen
        if paths is None:  # git and sync tools bring tombstones of another time or machine
            self.index.tombstones = self.vault.tombstones()
        if diff.added or diff.edited or diff.deleted:
            self.filing.seed()
        self.filing.ask_about(diff.conflicts, now)
        return {self.settings.vault / path for path in diff.pending}

    def _edited(self, edits: Sequence[Edited]) -> None:
        """A person edited these notes: told, like a deletion, before the catalogue believes it."""
        now = self.clock()
        for edit in edits:
            was, is_now = edit.before.status == "forgotten", edit.after.status == "forgotten"
            if was != is_now:
                self._entomb([edit.after], now, "a person set the status", restored=was)
        self.filing.explain([filing.deed(now, "edit", edit.after.id, "a person edited the note") for edit in edits])

    def _gone(self, gone: Collection[Fact]) -> None:
        """A person deleted these notes: told before the catalogue forgets them, or a crash would forget the deed."""
        now = self.clock()
        self._entomb(gone, now, "a person deleted the note")
        self.filing.explain([filing.deed(now, "forget", fact.id, "a person deleted the note") for fact in gone])

    def _entomb(self, gone: Collection[Fact], now: datetime, why: str, *, restored: bool = False) -> None:
        """Write tombstones, or take them back: for the statements, and for the turns that say them (X8)."""
        at = now.isoformat(timespec="seconds")
        stones = [
            {"at": at, "hash": content_hash(fact.text), "turn": fact.source, "memory": fact.id, "reason": why}
            for fact in gone
        ]
        self.vault.bury([stone | {"restored": True} for stone in stones] if restored else stones)
        self.index.tombstones = self.vault.tombstones()

    # -- operations on memories ---------------------------------------------------------------------

    def recall(self, **wishes: Any) -> dict[str, Any]:
        """Find the few memories that matter (rows X1, X4, X5, X18, X19, X24)."""
        now = self._time(wishes.pop("now")) or self.clock()
        wishes |= {
            name: ingest.name_from(wishes[name], self.settings) for name in ("session", "persona") if wishes[name]
        }
        explain, query = wishes.pop("explain"), wishes.pop("query")
        ask = recall.asked(self.settings, now, query, as_of=self._time(wishes.pop("as_of"), end=True), **wishes)
        answer = recall.recall(self.index, self.settings, ask, mark=secrets.token_hex(4), complete=self.ready)
        return recall.as_json(answer, ask, explain=explain)

    def remember(
        self,
        text: str,
        category: str | None,
        about: list[str] | None,
        tags: list[str] | None,
        importance: float | None,
        persona: str | None,
        *,
        pinned: bool,
        expires: str | None,
    ) -> dict[str, Any]:
        """Keep a statement of the user's: the words as a turn, the statement as a fact (rows A1, A12, C5)."""
        now = self.clock()
        if category is not None and category not in CATEGORIES:
            raise BadRequestError(f"there is no category {category!r}", fix=f"Use one of: {', '.join(CATEGORIES)}.")
        raw = {"text": text, "session": REMEMBERED, "persona": persona}
        turn = ingest.turn_from(raw, now, self.settings, self._fresh_id(now))
        if importance is not None and not 0 <= importance <= 1:
            raise BadRequestError("importance must be 0 to 1")
        twin = self.index.active_twin(content_hash(turn.text), turn.persona, now)
        if twin:
            self.filing.write(self.filing.confirmation(twin), [filing.deed(now, "confirm", twin, "same statement")])
            if pinned:
                self.update(twin, pinned=True, status=None)
            return {"id": twin, "verdict": "confirmed", "why": "the same statement is already known"}
        category = category or self._category(turn.text)
        policy = self.settings.policy.importance
        (evidence,) = self.filing.file_turns([self.intake.place(turn)])
        fact = Fact(
            id=ulid(now, evidence.key),
            text=turn.text,
            category=category,
            kind=classify.kind_of(turn.text, category, tags or ())[0],
            created=turn.occurred_at,
            importance=classify.importance_of(turn.text, category, tags or (), policy)[0]
            if importance is None
            else importance,
            about=tuple(redact(name, self.settings.redact).text for name in about or ()),
            tags=tuple(redact(tag, self.settings.redact).text for tag in tags or ()),
            source=evidence.key,
            origin="user",
            pinned=pinned,
            expires=self._time(expires, end=True),
            persona=turn.persona,
        )
        path = self.filing.keep(fact, filing.deed(now, "store", fact.id, "asked to remember"))
        return {"id": fact.id, "path": path, "verdict": "created", "category": category}

    def show(self, id: str) -> dict[str, Any]:  # noqa: A002  the operation's argument is called so everywhere
        """One memory with everything known of it."""
        fact = self.index.find(id)
        raw = self.vault.read(fact.path)
        problems = [asdict(problem) for problem in self.index.problems(fact.path)]
        return {"memory": recall.plain(fact), "markdown": raw.decode(errors="replace"), "problems": problems}

    def why(self, id: str) -> dict[str, Any]:  # noqa: A002  see show
        """The turns a memory came from and each decision on it (rows X4, X17)."""
        fact = self.index.find(id)
        source = self.index.unit(fact.source) if fact.source else None
        return {
            "memory": recall.plain(fact),
            "turns": [recall.plain_turn(source)] if isinstance(source, FiledTurn) else [],
            "decisions": self.vault.actions(fact.id),
        }

    def forget(self, id: str, reason: str | None) -> dict[str, Any]:  # noqa: A002  see show
        """Stop recalling a memory; the note stays, marked forgotten, and the statement does not return (A26, X8)."""
        fact = self._found(id)
        now = self.clock()
        if fact.status != "forgotten":
            why = redact(reason or "the user asked").text
            self._entomb([fact], now, why)
            self._change(fact, {"status": "forgotten", "end_reason": why}, "forget", why)
            self.filing.seed()
        return {"id": fact.id, "path": fact.path, "status": "forgotten"}

    def update(self, id: str, pinned: bool | None, status: str | None) -> dict[str, Any]:  # noqa: A002, FBT001  see show
        """Pin, unpin or restore a memory (rows D8, E4, C23)."""
        if status not in {None, "active"}:
            raise BadRequestError(f"a memory cannot be set to {status!r} here", fix="Use status active, or forget.")
        if pinned is None and status is None:
            raise BadRequestError("nothing to change", fix="Give pinned or status.")
        fact = self._found(id)
        keys: dict[str, object] = {}
        if pinned is not None and pinned != fact.pinned:
            keys["pinned"] = pinned or None
        if status and fact.status != "active":
            keys |= {"status": "active", "end_reason": None}
            self._entomb([fact], self.clock(), "the user asked", restored=True)
        if keys:
            self._change(fact, keys, "restore" if status else "pin" if pinned else "unpin", "the user asked")
            if status:
                self.filing.seed()
        return {"id": fact.id, "path": fact.path, "changed": sorted(keys)}

    def _found(self, name: str) -> Fact:
        """The fact as its note says now; a change that nobody has looked at yet is taken in first."""
        fact = self.index.find(name)
        if self.index.current(fact, (fact.path, fact.sha), {}) is not fact:
            self.rescan([self.settings.vault / fact.path])
        return self.index.find(name)

    def _change(self, fact: Fact, keys: dict[str, object], action: str, why: str) -> None:
        """Patch the note; where a person was faster, look at their version and patch that."""
        row = filing.deed(self.clock(), action, fact.id, why)
        try:
            self.filing.write([Edit(fact.path, fact.sha, keys, why)], [row])
        except ConflictError:
            fact = self._found(fact.id)
            self.filing.write([Edit(fact.path, fact.sha, keys, why)], [row])

    def _category(self, text: str) -> str:
        """What the offline rules would call the statement."""
        turn = ingest.turn_from({"text": text}, self.clock(), self.settings, "x")
        found = rules.extract([turn], self.settings.policy.extraction).candidates
        return found[0].category if found else "fact"

    # -- looking after it -----------------------------------------------------------------------------

    def reindex(self) -> dict[str, Any]:
        """Throw every derived store away and read the vault again (row X20).

        First what people did meanwhile is obeyed: with the catalogue goes the memory of how the files were.
        """
        began = time.monotonic()
        self._look_again(self.rescan(None))
        if self.deletions_frozen:
            raise ConflictError(FROZEN, fix="Then reindex.")
        self.ready, self._reading = False, True
        self._read.clear()
        try:
            self.index.rebuild()
            self._read.set()
        finally:
            self._reading = False
        self.ready = True
        self.filing.seed()
        return {"seconds": round(time.monotonic() - began, 3), **self.index.counts()}

    def doctor(self, *, accept_deletions: bool = False) -> dict[str, Any]:
        """What is wrong with vault, journal and index, and what to do about each."""
        if accept_deletions:
            self.rescan(None, accept_deletions=True)
        findings = [
            {
                "level": "warning",
                "code": problem.code,
                "where": problem.path,
                "line": problem.line,
                "what": problem.message,
            }
            for problem in self.index.problems()
        ]
        findings += [{"level": "error", "code": code, "what": what} for code, what in self.faults.items()]
        if self.deletions_frozen:
            findings.append({"level": "error", "code": "frozen", "what": FROZEN})
        mode = self.settings.vault.stat().st_mode & 0o077
        if mode:
            findings.append({"level": "warning", "code": "mode", "where": str(self.settings.vault), "what": LAX})
        findings += [
            {"level": "warning", "code": "dead-letter", "what": f"{len(batch.waiting)} turns: {why}", "fix": RETRY}
            for batch, why in self.intake.dead
        ]
        return {"healthy": not findings, "findings": findings}

    def stats(self) -> dict[str, Any]:
        """Counts and sizes."""
        return {"vault": str(self.settings.vault), **self.index.counts(), **self.intake.counts()}

    def status(self) -> dict[str, Any]:
        """What this process is doing, and what is degraded."""
        return {
            "vault": str(self.settings.vault),
            "pid": os.getpid(),
            "ready": self.ready,
            "uptime_seconds": round(time.monotonic() - self._began, 1),
            "extractor": self.extractor.name,
            "faults": dict(self.faults),
            "model_faults": self._model_faults,
            **self.index.counts(),
            **self.intake.counts(),
        }

    def _fresh_id(self, now: datetime) -> str:
        return ulid(now, secrets.token_hex(16))

    def _time(self, text: str | None, *, end: bool = False) -> datetime | None:
        return None if text is None else ingest.moment(text, self.settings.zone, end=end)


RETRY = "`engram flush` asks the model again"
FROZEN = "many notes vanished at once; nothing is believed deleted until you say `engram doctor --accept-deletions`"
LAX = "other users of this machine may read the vault; `chmod 700` closes it"
