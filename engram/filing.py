"""The back half of the path: a distilled batch → session file → ladder → fact files → action log.

Order of commit: the session file, then the facts, then their folders; only then may the journal let go.
Filing the same batch twice, as after a crash, changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from difflib import unified_diff
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeGuard

from engram.core import dedup
from engram.core.classify import importance_of, is_trivial, kind_of, tier_of
from engram.core.records import CATEGORIES, Create, Edit, Fact
from engram.core.redact import redact
from engram.core.text import content_hash, slug, ulid
from engram.errors import ConflictError, EngramError
from engram.vault import facts, note, sessions
from engram.vault.store import ACTIONS, HASHES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.config import Settings
    from engram.core.dedup import Verdict
    from engram.core.records import Candidate, Change, Extraction, FiledTurn
    from engram.index.diff import Conflict
    from engram.index.index import Index
    from engram.ingest import Batch
    from engram.vault.store import Vault

DIFF_LINES = 200


@dataclass(frozen=True, slots=True)
class Filed:
    """What a batch became: ids of new facts, of confirmed ones, of those in review; skips by reason."""

    created: tuple[str, ...] = ()
    confirmed: tuple[str, ...] = ()
    review: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


class Filing:
    """Turns batches into files. Belongs to the one writer; what is degraded stands in `faults`."""

    def __init__(self, vault: Vault, index: Index, settings: Settings, faults: dict[str, str]) -> None:
        self.vault = vault
        self.index = index
        self.settings = settings
        self.faults = faults
        self._unasked: list[Conflict] = []

    def quiet_until(self, batch: Batch, now: datetime) -> datetime | None:
        """When the batch's session file will have rested after a person's edit; None if it may be written."""
        path = sessions.path(batch.waiting[0].filed.note)
        rest = self.settings.policy.files.quiet_seconds
        edited = self.index.edited_at(path)
        if edited is None or abs(now.timestamp() - edited) >= rest:  # a time in the future is a wrong clock
            return None
        return now + timedelta(seconds=rest)

    def file(self, batch: Batch, extraction: Extraction, now: datetime) -> Filed:
        """Write what was distilled from the batch, whose turns are filed already (rows A1, C5, C7, X8, X17)."""
        filed = {item.filed.turn.id: item.filed for item in batch.waiting}
        rows: list[dict[str, object]] = []
        changes: list[Change] = []
        results: dict[dedup.Action, list[str]] = {"create": [], "confirm": [], "review": [], "skip": []}
        skipped: Counter[str] = Counter(extraction.dropped)
        ordinals: Counter[str] = Counter()
        planned: dict[str, str] = {}
        for candidate in extraction.candidates:
            evidence = filed[candidate.turn_id]
            seed = "\n".join((extraction.extractor, evidence.key, str(ordinals[candidate.turn_id])))
            ordinals[candidate.turn_id] += 1
            fact_id = ulid(evidence.turn.occurred_at, seed)
            verdict = self._judge(candidate, fact_id, planned, batch, now)
            results[verdict.action].append(verdict.met or fact_id)
            if verdict.action == "skip":
                skipped[verdict.why] += 1
                continue
            if verdict.action == "confirm":
                changes += self.confirmation(verdict.met)
            else:
                fact = self._fact(candidate, evidence, fact_id, extraction.extractor, verdict, now)
                changes.append(self._creation(fact, verdict.why, changes))
                planned[content_hash(fact.text)] = fact_id
            rows.append(_row(now, fact_id, candidate, evidence, verdict, extraction.extractor))
        self.write(changes, rows)
        return Filed(tuple(results["create"]), tuple(results["confirm"]), tuple(results["review"]), skipped)

    def file_turns(self, turns: Sequence[FiledTurn]) -> tuple[FiledTurn, ...]:
        """Append the turns to their session file, those that stand there already left out; where they stand now.

        (`X1`, `B18`.)
        """
        zone, path = self.settings.zone, sessions.path(turns[0].note)
        if self.index.holds(path):
            raw = self.vault.rewrite(path, lambda raw: sessions.append_turns(raw, turns, zone))
        else:
            raw = sessions.new_session(turns, zone)
            self.vault.create(path, raw)
        self.index.wrote({path: raw})
        self.index.filed(turns)
        return sessions.placed(raw, turns, zone)

    def keep(self, fact: Fact, row: Mapping[str, object]) -> str:
        """Write one new fact; its path."""
        change = self._creation(fact, str(row["reason"]), ())
        self.write([change], [row])
        return change.path

    def write(self, changes: Sequence[Change], rows: Sequence[Mapping[str, object]]) -> None:
        """Carry out a plan, log it, and let the index see it before anybody asks (`X18`, `C11`)."""
        try:
            held = self.vault.apply(changes)
        except EngramError as fault:  # what stands already must be known, or the next try makes it twice
            theirs = isinstance(fault, ConflictError)  # a person's edit is for a rescan to tell
            made = [change.path for change in changes if isinstance(change, Create) or not theirs]
            self._unasked += self.index.refresh(made).conflicts
            raise
        self.index.wrote(held)
        new = [content_hash(facts.text_of(change.body)) for change in changes if _is_new_fact(change)]
        if new and HASHES not in self.faults:
            self._besides(HASHES, partial(self.vault.add_hashes, new))
        elif new:
            self.seed()
        self.explain(rows)

    def explain(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Add to the action log."""
        if rows:
            self._besides(ACTIONS, partial(self.vault.log, rows))

    def seed(self) -> None:
        """Bring the list of hashes to what the index knows (`C5`)."""
        self._besides(HASHES, lambda: self.vault.seed_hashes(self.index.active_hashes()))

    def _besides(self, path: str, write: Callable[[], object]) -> None:
        """Write what explains or can be made again: a refusal is reported and holds nothing up."""
        try:
            write()
        except EngramError as fault:
            self.faults[path] = str(fault)
        else:
            self.faults.pop(path, None)

    def ask_about(self, conflicts: Sequence[Conflict], now: datetime) -> None:
        """A review note for each file that would have become a second memory, with the difference (`X9`)."""
        self._unasked += conflicts
        while self._unasked:  # the catalogue tells of each only once, and the disk may refuse the note
            conflict = self._unasked[0]
            digest = content_hash(f"{conflict.path} {conflict.other} {conflict.why}")[:8]
            path = f"review/conflict-{slug(conflict.path.rpartition('/')[2].removesuffix('.md'), 60)}-{digest}.md"
            if not self.vault.exists(path) and self.vault.exists(conflict.path):
                keys = {
                    "id": ulid(now, path),
                    "category": "fact",
                    "kind": "note",
                    "created": f"{now.astimezone(self.settings.zone):%Y-%m-%dT%H:%M:%S}",
                    "status": "review",
                    "confidence": 0.0,
                    "importance": 0.5,
                    "end_reason": conflict.why,
                }
                body = self._difference(conflict)
                self.index.wrote(self.vault.apply([Create(path, keys, body, conflict.why)]))
            del self._unasked[0]

    def _difference(self, conflict: Conflict) -> str:
        """What a person needs to see to choose between two files."""
        words = f"`{conflict.path}` was not taken in: {conflict.why}."
        other = conflict.other or self._original(conflict.path)
        if not other:
            return f"{words} Mend the file, or delete it.\n"
        held = self.vault.read(other).decode(errors="replace").splitlines()
        theirs = self.vault.read(conflict.path).decode(errors="replace").splitlines()
        lines = islice(unified_diff(held, theirs, other, conflict.path, lineterm=""), DIFF_LINES)
        return f"{words} Keep one of the two and delete the other.\n\n~~~diff\n" + "\n".join(lines) + "\n~~~\n"

    def _original(self, copy: str) -> str:
        """The path of the memory that a sync tool's copy is a copy of, or ''."""
        fact = self.index.fact(str(note.read(self.vault.read(copy), self.settings.policy.files).keys.get("id")))
        return fact.path if fact and fact.path != copy else ""

    def _judge(
        self, candidate: Candidate, fact_id: str, planned: Mapping[str, str], batch: Batch, now: datetime
    ) -> Verdict:
        digest = content_hash(candidate.text)
        twin = planned.get(digest) or self.index.active_twin(digest, batch.turns[0].persona, now)
        already = self.index.unit(fact_id) is not None
        if twin and batch.attempts and not already:  # the batch may have been filed, and confirmed this, before
            already = bool(self.vault.actions(fact_id))
        return dedup.judge(
            trivial=is_trivial(candidate.text, self.settings.policy.importance),
            grounded=bool(candidate.quote),
            already=already,
            twin=twin,
            buried=digest in self.index.tombstones,
        )

    def _fact(
        self, candidate: Candidate, evidence: FiledTurn, fact_id: str, extractor: str, verdict: Verdict, now: datetime
    ) -> Fact:
        """The record of a new fact (rows A12, C4, C6, C10, C17, X14)."""
        policy = self.settings.policy
        category = candidate.category if candidate.category in CATEGORIES else "fact"
        importance = candidate.importance
        if importance is None:
            importance, _ = importance_of(candidate.text, category, candidate.tags, policy.importance)
        speculative = tier_of(candidate.confidence, policy.extraction) == "speculative"
        return Fact(
            id=fact_id,
            text=candidate.text,
            category=category,
            kind=kind_of(candidate.text, category, candidate.tags)[0],
            created=evidence.turn.occurred_at,
            status="review" if verdict.action == "review" else "active",
            confidence=round(candidate.confidence, 2),
            importance=round(importance, 2),
            about=candidate.about,
            tags=candidate.tags,
            source=evidence.key,
            origin=extractor.partition("/")[0],
            expires=now + timedelta(days=policy.extraction.speculative_days) if speculative else None,
            valid_from=candidate.when.start if candidate.when else None,
            persona=evidence.turn.persona,
            end_reason=verdict.why if verdict.action == "review" else "",
        )

    def _creation(self, fact: Fact, why: str, planned: Sequence[Change]) -> Create:
        taken = {change.path.casefold() for change in planned if isinstance(change, Create)}
        folder = "review" if fact.status == "review" else "facts"
        path = facts.fact_path(
            fact,
            self.settings.zone,
            folder=folder,
            pattern=self.settings.file_name,
            taken=lambda name: name.casefold() in taken or self._holds_another(name, fact),
        )
        return Create(path, facts.fact_keys(fact, self.settings.zone), facts.fact_body(fact.text, fact.source), why)

    def _holds_another(self, path: str, fact: Fact) -> bool:
        """Whether something else than `fact` stands there; it stands itself if the index failed to learn of it."""
        if not self.index.holds(path):
            return False
        return note.read(self.vault.read(path), self.settings.policy.files).keys.get("id") != fact.id

    def confirmation(self, fact_id: str) -> list[Change]:
        """A fact seen again loses its speculative expiry; its file is otherwise left alone (`C17`)."""
        known = self.index.fact(fact_id)
        if known is None or known.expires is None or known.pinned:
            return []
        if tier_of(known.confidence, self.settings.policy.extraction) != "speculative":
            return []
        return [Edit(known.path, known.sha, {"expires": None}, "confirmed by a later extraction")]


def _is_new_fact(change: Change) -> TypeGuard[Create]:
    return isinstance(change, Create) and change.keys.get("status") == "active"


def _row(
    now: datetime, fact_id: str, candidate: Candidate, evidence: FiledTurn, verdict: Verdict, extractor: str
) -> dict[str, object]:
    """A line of the action log (rows A32, C22): what was decided, why, on which evidence."""
    action = {"create": "store", "confirm": "confirm", "review": "review", "skip": "discard"}[verdict.action]
    row: dict[str, object] = {
        "at": now.isoformat(timespec="seconds"),
        "action": action,
        "outcome": "applied",
        "memory": fact_id,
    }
    if verdict.met:
        row["met"] = verdict.met
    return row | {"reason": verdict.why, "turn": evidence.key, "quote": candidate.quote, "by": extractor}


def deed(now: datetime, action: str, memory: str, why: str) -> dict[str, object]:
    """A line of the action log for what a person did."""
    return {
        "at": now.isoformat(timespec="seconds"),
        "action": action,
        "outcome": "applied",
        "memory": memory,
        "reason": redact(why).text,
        "by": "user",
    }
