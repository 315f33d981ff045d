"""Review cases: the notes that wait for a user's decision, read from the vault (X9).

A note is a case as long as its status is `review`: a doubtful memory, a conflict of two
memories, a held maintenance run, or a file that cannot be read. The user answers with a
checkbox in the note or with `engram review`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from engram.core.records import Fact, FiledTurn
from engram.errors import ConflictError, EngramError, NotFoundError
from engram.recall import formatting
from engram.vault import disk, facts, frontmatter, reviews

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from engram.config import Settings
    from engram.core import trust
    from engram.index.search import Index
    from engram.vault.frontmatter import Note
    from engram.vault.store import Vault

_TICK = re.compile(rb"\[[xX]\]")


@dataclass(frozen=True, slots=True)
class ReviewCase:
    """A note that waits for a decision.

    `choices` are the possible answers, `decision` is the ticked one, `problem` the
    reason why the ticks are not valid. `memories` are the doubtful memory, or the two
    of a conflict, the newer first; `evidence` has the words of the turn behind each, or
    ''. `held_pass` names the maintenance pass of a held run. `asked` is the turn that
    may refer to one of the memories `offered`; for promises, `stage` is their new
    stage. `text` is the note of a case without memories.
    """

    id: str
    path: str
    sha: str
    why: str
    choices: tuple[str, ...] = ()
    memories: tuple[Fact, ...] = ()
    evidence: tuple[str, ...] = ()
    decision: str | None = None
    problem: str = ""
    text: str = ""
    held_pass: str = ""
    asked: str = ""
    offered: tuple[str, ...] = ()
    stage: str = ""

    @property
    def subject(self) -> str:
        """The subject of the memories; '' for the user and for other cases."""
        return next((name for fact in self.memories for name in fact.about), "")


class CaseReader:
    """Reads review cases from their notes."""

    def __init__(self, vault: Vault, index: Index, settings: Settings) -> None:
        self.vault = vault
        self.index = index
        self.settings = settings

    def open_cases(
        self, paths: Collection[Path | str] | None = None, *, ticked: bool = False
    ) -> list[ReviewCase]:
        """Return every case, or those at and below `paths`, sorted by path.

        With `ticked` only notes with a ticked box are read.
        """
        cases = []
        for path in self._candidates(paths):
            try:
                if ticked and not _TICK.search(self.vault.read(path)):
                    continue
                case = self.read(path)
            except EngramError:  # deleted, or not a file: the next scan reports it
                continue
            if case:
                cases.append(case)
        return cases

    def find(self, name: str) -> ReviewCase:
        """Return the case with this id, path or unambiguous beginning of an id.

        Raises NotFoundError, or ConflictError if several ids begin with `name`.
        """
        cases = self.open_cases()
        found = [case for case in cases if name in {case.id, case.path}]
        if not found and name:
            found = [case for case in cases if case.id.startswith(name.upper())]
        if not found:
            raise NotFoundError(
                "there is no such review case",
                where=name,
                fix="`engram review` lists the open cases.",
            )
        if len(found) > 1:
            ids = ", ".join(case.id for case in found)
            raise ConflictError(
                "several review cases begin with this id",
                where=name,
                fix=f"Give more letters of the id: {ids}.",
            )
        return found[0]

    def listed(self, id: str | None = None) -> dict[str, Any]:
        """Return all cases, or the case `id`, as JSON."""
        return self.as_json([self.find(id)] if id else self.open_cases())

    def as_json(self, cases: Sequence[ReviewCase]) -> dict[str, Any]:
        """Return these cases as JSON."""
        memories = (fact for case in cases for fact in case.memories)
        sources = formatting.provenance(
            self.index, memories, self.settings.policy.trust
        )
        return {"cases": [_as_json(case, sources) for case in cases]}

    def read(self, path: str) -> ReviewCase | None:
        """Return the case in the note at `path`; None if it is not open."""
        note, sha = self._note(path)
        fact, problems = facts.fact_from(note, path, sha, self.settings.zone)
        if fact is None:
            # the memory is not shown because its persona is unknown
            return ReviewCase(path, path, sha, problems[0].message)
        if fact.status != "review":
            return None

        two_ticks = [one.message for one in problems if one.code == "two-ticks"]
        case = ReviewCase(
            fact.id, path, sha, fact.end_reason, problem="; ".join(two_ticks)
        )
        if fact.kind != reviews.KIND:
            return self._doubt(case, fact, note)
        if note.keys.get("asked"):
            return _numbered(case, note)
        if held_pass := str(note.keys.get("holds") or ""):
            case = replace(
                case, choices=reviews.HOLD, held_pass=held_pass, text=note.body
            )
            return _with_decision(case, note)
        return self._conflict(case, note)

    def _doubt(self, case: ReviewCase, fact: Fact, note: Note) -> ReviewCase:
        """Return the case of a doubtful memory, or of a copy of another note."""
        asks = reviews.has_question(note.body)
        if not self._is_memory(fact, asks=asks):
            why = fact.end_reason or "a copy of another note"
            return replace(case, why=why, problem="", text=fact.text)

        words = reviews.quoted(note.body) if asks else self._evidence(fact)
        case = replace(case, choices=reviews.DOUBT, memories=(fact,), evidence=(words,))
        return _with_decision(case, note)

    def _conflict(self, case: ReviewCase, note: Note) -> ReviewCase:
        pair = note.keys.get("pair")
        ids = [str(name) for name in pair] if isinstance(pair, list) else []
        memories = tuple(fact for fact in map(self._memory, ids) if fact)
        missing = set(ids) - {fact.id for fact in memories}
        problem = case.problem
        if not problem and any(not self._was_forgotten(name) for name in missing):
            problem = "one of the two has not been written yet"
        case = replace(
            case,
            choices=reviews.CONFLICT,
            memories=memories,
            evidence=tuple(map(self._evidence, memories)),
            problem=problem,
        )
        return _with_decision(case, note)

    def _candidates(self, paths: Collection[Path | str] | None) -> Iterator[str]:
        """Yield the paths of notes that may be cases.

        They are in `review/`, or in `facts/` if a move was interrupted.
        """
        in_review = self.vault.notes(reviews.FOLDER)
        if paths is None:
            yield from sorted({*in_review, *self.index.catalog.review_paths()})
            return

        root = f"{self.settings.vault}/"
        wanted = sorted({str(path).removeprefix(root) for path in paths})
        for path in in_review:
            if any(path == one or path.startswith(f"{one}/") for one in wanted):
                yield path
        for path in wanted:
            if path.startswith("facts/") and path.endswith(".md"):
                yield path

    def _is_memory(self, fact: Fact, *, asks: bool) -> bool:
        """Return whether a note is a doubtful memory, and not a copy of another note.

        `asks` is true if the note asks for a decision.
        """
        holder = self.index.catalog.fact(fact.id)
        if holder and holder.path != fact.path and self.vault.exists(holder.path):
            return False
        name = PurePosixPath(fact.path).name
        return asks or not name.startswith(reviews.CONFLICT_PREFIX)

    def _memory(self, fact_id: str) -> Fact | None:
        return current_fact(fact_id, self.index, self.vault, self.settings)

    def _was_forgotten(self, memory: str) -> bool:
        """Return whether a user removed a memory; if not, its note is not yet written."""
        rows = self.vault.actions_of(memory)
        return any(row.get("action") == "forget" for row in rows)

    def _evidence(self, fact: Fact) -> str:
        turn = self.index.unit(fact.source) if fact.source else None
        turn = self.index.visible(turn) if turn else None
        return turn.turn.text if isinstance(turn, FiledTurn) else ""

    def _note(self, path: str) -> tuple[Note, str]:
        raw = self.vault.read(path)
        return frontmatter.read(raw, self.settings.policy.files), disk.sha256(raw)


def current_fact(
    fact_id: str, index: Index, vault: Vault, settings: Settings
) -> Fact | None:
    """Return the memory as it is now in its note; None if it is not in the index.

    Raises NotFoundError if there is no note at its path: it may have been moved.
    """
    known = index.catalog.fact(fact_id)
    if known is None:
        return None
    raw = vault.read(known.path)
    note = frontmatter.read(raw, settings.policy.files)
    return facts.fact_from(note, known.path, disk.sha256(raw), settings.zone)[0]


def _numbered(case: ReviewCase, note: Note) -> ReviewCase:
    """Return the case of a turn that may refer to several memories or promises.

    Its answer may be the ticked numbers.
    """
    stage = str(note.keys.get("stage") or "")
    listed = note.keys.get("settles" if stage else "forgets")
    offered = tuple(map(str, listed)) if isinstance(listed, list) else ()
    case = replace(
        case,
        choices=reviews.SETTLE if stage else reviews.forget_answers(offered),
        asked=str(note.keys.get("asked")),
        offered=offered,
        stage=stage,
        text=note.body,
    )
    if numbers := reviews.ticked_numbers(note.body):
        return replace(case, decision=",".join(numbers))
    return _with_decision(case, note)


def _with_decision(case: ReviewCase, note: Note) -> ReviewCase:
    decision = reviews.decision(note.body)
    if case.problem or decision not in case.choices:
        return case
    return replace(case, decision=decision)


def _as_json(
    case: ReviewCase, sources: Mapping[str, trust.Provenance]
) -> dict[str, Any]:
    """Return a case as JSON; `sources` is the provenance of each memory, by id."""
    statements = [
        {
            "id": fact.id,
            "text": fact.text,
            "status": fact.status,
            "when": fact.created.isoformat() if fact.created else None,
            "path": fact.path,
            "evidence": words,
            **formatting.attributed(sources[fact.id]),
        }
        for fact, words in zip(case.memories, case.evidence, strict=True)
    ]
    return {
        "id": case.id,
        "path": case.path,
        "subject": case.subject,
        "why": case.why,
        "choices": list(case.choices),
        "ticked": case.decision,
        "problem": case.problem,
        "statements": statements,
        "text": case.text,
    }
