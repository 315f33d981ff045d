"""The review queue and what people say of memories: cases, decisions, corrections (rows
X8, X9).

The notes are the queue: a case is open as long as its note waits. A decision is carried
out so that its last step closes the case; cut short before, the tick still stands and
it is carried out again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from engram.core import dedup
from engram.core.classify import kind_of
from engram.core.language.secrets import redact
from engram.core.records import Edit, Fact, FiledTurn, Move
from engram.core.text import content_hash, ulid
from engram.errors import BadRequestError, ConflictError, EngramError, NotFoundError
from engram.pipeline.forgetting import DROPPED
from engram.pipeline.write import KNOWN, deed
from engram.recall import formatting
from engram.vault import disk, facts, frontmatter, reviews
from engram.vault.formats import time_text, unused

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from engram.config import Settings
    from engram.core import trust
    from engram.core.records import Change
    from engram.index.search import Index
    from engram.maintenance.run import Maintenance
    from engram.pipeline.write import NoteWriter
    from engram.vault.frontmatter import Note
    from engram.vault.store import Vault

YOU = "you said so"
SUPERSEDED = "superseded: you said so"
CORRECTED = "corrected"
BELIEVED = {"active", "archived", "review"}
_TICK = re.compile(rb"\[[xX]\]")


@dataclass(frozen=True, slots=True)
class ReviewCase:
    """A note that waits: a doubtful memory, a conflict of two (the newer first), a held
    run, or a file to be mended.

    `choices` are the answers it takes, `decision` the one that is ticked, `fault` why
    the ticks say nothing. `holds` is the pass that is held. `evidence` holds the words
    in question, one for each memory, as far as known.
    """

    id: str
    path: str
    sha: str
    why: str
    choices: tuple[str, ...] = ()
    memories: tuple[Fact, ...] = ()
    evidence: tuple[str, ...] = ()
    decision: str | None = None
    fault: str = ""
    text: str = ""
    holds: str = ""


class ReviewQueue:
    """What waits for a person, and the carrying out of their word. Changes belong to
    the one writer.
    """

    def __init__(
        self,
        vault: Vault,
        index: Index,
        note_writer: NoteWriter,
        settings: Settings,
        maintenance: Maintenance,
    ) -> None:
        self.vault = vault
        self.index = index
        self.note_writer = note_writer
        self.settings = settings
        self.maintenance = maintenance

    # -- the queue ---------------------------------------------------------------------

    def open_cases(
        self, paths: Collection[Path | str] | None = None, *, ticked: bool = False
    ) -> list[ReviewCase]:
        """Every note that waits, or those at and below `paths`, with `ticked` only such
        with a ticked box; by path.
        """
        cases = []
        for path in self._waiting(paths):
            try:
                case = (
                    self._case(path)
                    if not ticked or _TICK.search(self.vault.read(path))
                    else None
                )
            except EngramError:  # gone, or no file any more: the next scan tells
                continue
            cases += [case] if case else []
        return cases

    def ticked(self, paths: Collection[Path | str] | None = None) -> list[ReviewCase]:
        """The cases at and below `paths` in which a person ticked an answer."""
        return [case for case in self.open_cases(paths, ticked=True) if case.decision]

    def obey(
        self, paths: Collection[Path | str] | None, now: datetime
    ) -> dict[str, str]:
        """Carry out what is ticked; what could not be, by path, holds nothing else up."""
        faults = {}
        for case in self.ticked(paths):
            assert case.decision is not None
            try:
                self.decide(case, case.decision, now)
            except EngramError as fault:
                faults[case.path] = str(fault)
        return faults

    def find(self, name: str) -> ReviewCase:
        """The case with this id or path, or the only one whose id begins so;
        NotFoundError, ConflictError.
        """
        cases = self.open_cases()
        exact = [case for case in cases if name in {case.id, case.path}]
        found = exact or [
            case for case in cases if name and case.id.startswith(name.upper())
        ]
        if not found:
            raise NotFoundError(
                "there is no such case",
                where=name,
                fix="`engram review` lists what waits.",
            )
        if len(found) > 1:
            ids = ", ".join(case.id for case in found)
            raise ConflictError(
                "several cases begin like this",
                where=name,
                fix=f"Give more of the id: {ids}.",
            )
        return found[0]

    def listed(self, name: str | None = None) -> dict[str, Any]:
        """The cases, or one of them, as JSON."""
        cases = [self.find(name)] if name else self.open_cases()
        memories = (fact for case in cases for fact in case.memories)
        came = formatting.provenance(self.index, memories, self.settings.policy.trust)
        return {"cases": [_plain(case, came) for case in cases]}

    # -- decisions ---------------------------------------------------------------------

    def answer(self, name: str, decision: str, now: datetime) -> dict[str, Any]:
        """Decide the case `name`; `approve` and `reject` are its first and its last
        answer.
        """
        case = self.find(name)
        if case.choices:
            decision = {"approve": case.choices[0], "reject": case.choices[-1]}.get(
                decision, decision
            )
        self.decide(case, decision, now)
        return {
            "id": case.id,
            "decision": decision,
            "memories": [fact.id for fact in case.memories],
        }

    def decide(
        self, case: ReviewCase, decision: str, now: datetime, by: str = "user"
    ) -> None:
        """Carry out a decision; one that is carried out already changes nothing.

        Raises BadRequestError (no answer to this case), ConflictError (a person was
        faster; nothing is lost).
        """
        if not case.choices:
            raise BadRequestError(
                "this is settled by hand",
                where=case.path,
                fix="Mend or delete one of the files.",
            )
        if decision not in case.choices:
            fix = f"Use one of: {', '.join(case.choices)}."
            raise BadRequestError(
                f"{decision!r} is no answer to this case", where=case.id, fix=fix
            )
        fresh = self._case(case.path) if self.vault.exists(case.path) else None
        if fresh is None or fresh.id != case.id:
            return
        if fresh.holds:
            self._settle(fresh, decision, now, by)
        elif fresh.choices == reviews.CONFLICT:
            self._choose(fresh, decision, now, by)
        elif decision == "keep":
            self._keep(fresh.memories[0], now, by)
        else:
            self._drop(fresh, now, by)
        self.note_writer.seed()

    def _keep(self, fact: Fact, now: datetime, by: str) -> None:
        """It is a memory like others from now on, also where it had been removed
        before.
        """
        fact = self.joined(fact, now, by) or fact
        self._lift([fact], now)
        row = deed(now, "keep", fact.id, "kept in review") | {"by": by}
        self.note_writer.write([self._believed(fact, {}, now)], [row])

    def joined(self, fact: Fact, now: datetime, by: str = "user") -> Fact | None:
        """Of what is to be believed again, and was said anew meanwhile, no second
        memory is made (`C5`).

        The one that states the same takes its place and gains its evidence; None where
        there is none, or where its note cannot be changed, as when a person broke its
        front matter: it holds the other one up no longer.
        """
        known = self.note_writer.twin(fact.text, fact.persona, now)
        if known is None:
            return None
        self._lift([fact], now)
        also = dedup.united(known, fact).also
        keys = _above(known, fact)
        if also != known.also:
            keys["source"] = facts.fact_keys(
                replace(known, also=also), self.settings.zone
            )["source"]
        changes = [
            Edit(known.path, known.sha, keys, KNOWN),
            self._ended(fact, known, KNOWN, now),
        ]
        try:
            self.note_writer.write(
                changes,
                [deed(now, "supersede", fact.id, KNOWN) | {"met": known.id, "by": by}],
            )
        except ConflictError:
            return None
        return self.index.catalog.fact(known.id)

    def _drop(self, case: ReviewCase, now: datetime, by: str) -> None:
        """It does not come back; its turn is buried with it only if it says so (`X8`)."""
        (fact,) = case.memories
        why = DROPPED
        self._bury([fact], now, why, turns=any(case.evidence))
        self.note_writer.write(
            [self._trashed(case, now, why)],
            [deed(now, "drop", fact.id, why) | {"by": by}],
        )

    def _settle(self, case: ReviewCase, decision: str, now: datetime, by: str) -> None:
        """A held run is carried out or let be; only then the note goes, so that a run
        cut short is made again.
        """
        self.maintenance.settle(case.holds, apply=decision == "apply")
        row = deed(now, "decide", case.id, f"{case.holds}: {decision}") | {"by": by}
        self.note_writer.write([self._trashed(case, now, "decided")], [row])

    def _choose(self, case: ReviewCase, decision: str, now: datetime, by: str) -> None:
        """One of two memories ends, or neither; the note that asked goes last, so that
        all is done by then.

        The row of the action log that names the case is why nobody asks about this pair
        again.
        """
        changes: list[Change] = []
        rows = [deed(now, "decide", case.id, decision) | {"by": by}]
        if decision == "both" or len(case.memories) < 2:
            waiting = [
                self.joined(fact, now, by) or fact
                for fact in case.memories
                if fact.status == "review"
            ]
            changes = [self._believed(fact, {}, now) for fact in waiting]
            self._lift(waiting, now)
        else:
            winner, loser = (
                case.memories if decision == "newer" else reversed(case.memories)
            )
            if winner.status != "active":
                winner = self.joined(winner, now, by) or winner
            self._lift([winner], now)
            if decision == "older":
                self._bury([loser], now, YOU)
            changes = [self._believed(winner, _above(winner, loser), now)]
            if loser.status != "forgotten":
                changes.append(
                    self._ended(
                        loser, winner, SUPERSEDED, now, over=decision == "newer"
                    )
                )
            rows.append(
                deed(now, "supersede", loser.id, YOU) | {"met": winner.id, "by": by}
            )
        known = any(
            row.get("action") == "decide" and row.get("reason") == decision
            for row in self.vault.actions_of(case.id)
        )
        self.note_writer.write(changes, [] if known else rows)
        self.note_writer.write([self._trashed(case, now, "decided")], [])

    # -- corrections -------------------------------------------------------------------

    def correct(
        self, fact: Fact, text: str, now: datetime, source: str = ""
    ) -> dict[str, Any]:
        """Replace what `fact` says: the old statement ends and does not come back, the
        new one takes its place (`X8`).

        `source` is the key of the turn in which the person said so. Confidence is at
        least `review.corrected`; category, names, tags, importance, pin and persona
        stay.
        """
        text = redact(text.strip(), self.settings.redact).text
        digest = content_hash(text)
        if not text or digest == content_hash(fact.text):
            raise BadRequestError(
                "the text corrects nothing",
                where=fact.id,
                fix="Say what is true instead.",
            )
        twin = self.index.catalog.duplicate(digest, fact.persona, now)
        if fact.status not in BELIEVED and not (twin and twin.id in fact.superseded_by):
            raise ConflictError(
                f"the memory is {fact.status}",
                where=fact.id,
                fix="Restore it first, or remember anew.",
            )
        self._bury([fact], now, CORRECTED)
        new = self._correction(fact, text, now, source)
        if twin:
            new_id = twin.id
        else:
            self._lift([new], now)
            self.note_writer.keep(
                new, deed(now, "store", new.id, f"corrects {fact.id}")
            )
            new_id = new.id
        if fact.status in BELIEVED:
            try:
                winner = self._known(new_id) or new
            except NotFoundError:  # a person moved it and nobody has looked yet; its name is what is linked to
                winner = self.index.catalog.fact(new_id) or new
            row = deed(now, "correct", fact.id, CORRECTED) | {"met": new_id}
            self.note_writer.write([self._ended(fact, winner, CORRECTED, now)], [row])
        self.note_writer.seed()
        return {"id": new_id, "corrects": fact.id, "text": text}

    def confirm(self, fact: Fact, now: datetime) -> dict[str, Any]:
        """A person says that it is so; a speculation no longer ends by itself (`C17`)."""
        keys: dict[str, object] = {"verification": "user_confirmed"}
        return self._verify(
            fact, "confirm", keys | self.note_writer.confirmed(fact), now
        )

    def dispute(self, fact: Fact, now: datetime) -> dict[str, Any]:
        """A person doubts it; it stays, and ranks lower."""
        return self._verify(fact, "dispute", {"verification": "disputed"}, now)

    def _verify(
        self, fact: Fact, action: str, keys: Mapping[str, object], now: datetime
    ) -> dict[str, Any]:
        if fact.status == "review":
            raise ConflictError(
                "the memory waits in review",
                where=fact.id,
                fix="Decide it with `engram review`.",
            )
        self.note_writer.write(
            [Edit(fact.path, fact.sha, keys, action)], [deed(now, action, fact.id, YOU)]
        )
        return {"id": fact.id, "path": fact.path, "verification": keys["verification"]}

    def _correction(self, fact: Fact, text: str, now: datetime, source: str) -> Fact:
        return Fact(
            id=ulid(now, f"correct\n{fact.id}\n{content_hash(text)}"),
            text=text,
            category=fact.category,
            kind=kind_of(text, fact.category, fact.tags)[0],
            created=now,
            confidence=max(fact.confidence, self.settings.policy.review.corrected),
            importance=fact.importance,
            about=fact.about,
            tags=fact.tags,
            source=source,
            origin="user",
            pinned=fact.pinned,
            supersedes=(fact.id,),
            persona=fact.persona,
            verification="user_confirmed",
        )

    # -- changes -----------------------------------------------------------------------

    def _believed(
        self, fact: Fact, keys: Mapping[str, object], now: datetime
    ) -> Change:
        """The change that makes a memory an active one that a person vouches for, in
        `facts/`.
        """
        ended: dict[str, object] = {
            "status": "active",
            "end_reason": None,
            "verification": "user_confirmed",
        }
        if fact.status == "superseded":
            ended["valid_until"] = None
        return self._patched(fact, {**ended, **keys}, self._home(fact, now), YOU)

    def _ended(
        self, fact: Fact, winner: Fact, why: str, now: datetime, *, over: bool = False
    ) -> Change:
        """The change that makes `winner` the successor of a memory, which was true
        until then if it is `over`.
        """
        keys: dict[str, object] = {
            "status": "superseded",
            "superseded_by": [*_others(fact.superseded_by, winner), winner.id],
            "supersedes": _others(fact.supersedes, winner) or None,
            "end_reason": why,
        }
        until = winner.valid_from or winner.created or now
        if over and (fact.valid_until is None or fact.valid_until > until):
            keys["valid_until"] = time_text(until, self.settings.zone)
        waits = fact.path.startswith(f"{reviews.FOLDER}/")
        return self._patched(
            fact, keys, self._home(fact, now) if waits else fact.path, why
        )

    def _patched(
        self, fact: Fact, keys: Mapping[str, object], to: str, why: str
    ) -> Change:
        """The keys and, where the note asked something, the body without it."""
        body = self._read(fact.path)[0].body
        left = reviews.settled(body) if reviews.asks(body) else None
        if to == fact.path:
            return Edit(fact.path, fact.sha, keys, why, left)
        return Move(fact.path, fact.sha, to, keys, why, left)

    def _trashed(self, case: ReviewCase, now: datetime, why: str) -> Move:
        """The note put aside with every byte."""
        day = f"{now.astimezone(self.settings.zone):%Y-%m-%d}"
        return Move(
            case.path, case.sha, self._free(f".trash/{day}", case.path), {}, why
        )

    def _home(self, fact: Fact, now: datetime) -> str:
        """Where an active memory belongs: where it is, or in the folder of its day
        under its old name.
        """
        if fact.path.startswith("facts/"):
            return fact.path
        return self._free(
            f"facts/{(fact.created or now).astimezone(self.settings.zone):%Y-%m-%d}",
            fact.path,
        )

    def _free(self, folder: str, path: str) -> str:
        stem = f"{folder}/{PurePosixPath(path).stem}"
        return unused(stem, lambda name: self.vault.exists(f"{name}.md")) + ".md"

    def _bury(
        self, gone: Sequence[Fact], now: datetime, why: str, *, turns: bool = True
    ) -> None:
        """Tombstones for statements, and for the turns that say them (`X8`)."""
        stones = [
            _stone(fact, now, why) | ({} if turns else {"turn": ""}) for fact in gone
        ]
        self.index.tombstones.add(stones)

    def _lift(self, back: Sequence[Fact], now: datetime) -> None:
        """Take tombstones back, where there are any."""
        buried = [
            fact
            for fact in back
            if {content_hash(fact.text), fact.source} & self.index.tombstones.keys
        ]
        if buried:
            self.index.tombstones.add(
                [_stone(fact, now, YOU) | {"restored": True} for fact in buried]
            )

    # -- notes -------------------------------------------------------------------------

    def _waiting(self, paths: Collection[Path | str] | None) -> Iterator[str]:
        """The paths of notes that may wait: those in `review/`, and facts that a cut
        move left elsewhere.
        """
        waiting = self.vault.notes(reviews.FOLDER)
        if paths is None:
            yield from sorted({*waiting, *self.index.catalog.review_paths()})
            return
        root = f"{self.settings.vault}/"
        asked = sorted({str(path).removeprefix(root) for path in paths})
        yield from [
            path
            for path in waiting
            if any(path == one or path.startswith(f"{one}/") for one in asked)
        ]
        yield from [
            one for one in asked if one.startswith("facts/") and one.endswith(".md")
        ]

    def _case(self, path: str) -> ReviewCase | None:
        """The case in the note at `path`; None if it waits for nobody."""
        read, sha = self._read(path)
        fact, faults = facts.fact_from(read, path, sha, self.settings.zone)
        if fact is None:
            # whose words they are is not known
            return ReviewCase(path, path, sha, faults[0].message)
        if fact.status != "review":
            return None
        ticks = "; ".join(
            fault.message for fault in faults if fault.code == "two-ticks"
        )
        memories: tuple[Fact, ...] = (fact,)
        words: tuple[str, ...] = (
            reviews.quoted(read.body) if reviews.asks(read.body) else self._words(fact),
        )
        choices: tuple[str, ...] = reviews.DOUBT
        holds = str(read.keys.get("holds") or "") if fact.kind == reviews.KIND else ""
        if holds:
            decision = None if ticks else reviews.decision(read.body)
            decision = decision if decision in reviews.HOLD else None
            why = fact.end_reason
            return ReviewCase(
                fact.id,
                path,
                sha,
                why,
                reviews.HOLD,
                (),
                (),
                decision,
                ticks,
                read.body,
                holds,
            )
        if fact.kind == reviews.KIND:
            choices = reviews.CONFLICT
            pair = read.keys.get("pair")
            named = [str(one) for one in (pair if isinstance(pair, list) else [])]
            memories = tuple(one for one in map(self._known, named) if one)
            words = tuple(map(self._words, memories))
            if any(
                self._is_to_come(one)
                for one in {*named} - {fact.id for fact in memories}
            ):
                ticks = ticks or "one of the two is not written yet"
        elif not self._is_memory(fact, read):
            return ReviewCase(
                fact.id,
                path,
                sha,
                fact.end_reason or "a copy of another note",
                text=fact.text,
            )
        decision = reviews.decision(read.body)
        decision = decision if decision in choices and not ticks else None
        return ReviewCase(
            fact.id,
            path,
            sha,
            fact.end_reason,
            choices,
            memories,
            words,
            decision,
            ticks,
        )

    def _is_memory(self, fact: Fact, read: Note) -> bool:
        """Whether a note is a memory that waits, and no question about two files nor a
        copy of another note.
        """
        holder = self.index.catalog.fact(fact.id)
        if holder and holder.path != fact.path and self.vault.exists(holder.path):
            return False
        return reviews.asks(read.body) or not PurePosixPath(fact.path).name.startswith(
            reviews.CONFLICT_PREFIX
        )

    def _known(self, fact_id: str) -> Fact | None:
        """The memory as its note says now; None if it was deleted, NotFoundError while
        it may only have moved.
        """
        known = self.index.catalog.fact(fact_id)
        if known is None:
            return None
        read, sha = self._read(known.path)
        return facts.fact_from(read, known.path, sha, self.settings.zone)[0]

    def _is_to_come(self, memory: str) -> bool:
        """Whether a memory that is not there is still to be written, and not one that a
        person removed.
        """
        return not any(
            row.get("action") == "forget" for row in self.vault.actions_of(memory)
        )

    def _words(self, fact: Fact) -> str:
        """What was said, from which a memory came."""
        source = self.index.unit(fact.source) if fact.source else None
        source = self.index.visible(source) if source else None
        return source.turn.text if isinstance(source, FiledTurn) else ""

    def _read(self, path: str) -> tuple[Note, str]:
        raw = self.vault.read(path)
        return frontmatter.read(raw, self.settings.policy.files), disk.sha256(raw)


def _above(winner: Fact, loser: Fact) -> dict[str, object]:
    """The keys by which `winner` stands above `loser`."""
    return {
        "supersedes": [*_others(winner.supersedes, loser), loser.id],
        "superseded_by": _others(winner.superseded_by, loser) or None,
    }


def _others(names: Sequence[str], fact: Fact) -> list[str]:
    """The ids or links that do not mean `fact`."""
    return [
        name for name in names if name not in {fact.id, PurePosixPath(fact.path).stem}
    ]


def _stone(fact: Fact, now: datetime, why: str) -> dict[str, object]:
    at = now.isoformat(timespec="seconds")
    return {
        "at": at,
        "hash": content_hash(fact.text),
        "turn": fact.source,
        "memory": fact.id,
        "reason": why,
    }


def _plain(case: ReviewCase, came: Mapping[str, trust.Provenance]) -> dict[str, Any]:
    """A case as JSON; `came` says who said its memories."""
    statements = [
        {
            "id": fact.id,
            "text": fact.text,
            "status": fact.status,
            "when": fact.created.isoformat() if fact.created else None,
            "path": fact.path,
            "evidence": words,
            **formatting.attributed(came[fact.id]),
        }
        for fact, words in zip(case.memories, case.evidence, strict=True)
    ]
    return {
        "id": case.id,
        "path": case.path,
        "why": case.why,
        "choices": list(case.choices),
        "ticked": case.decision,
        "problem": case.fault,
        "statements": statements,
        "text": case.text,
    }
