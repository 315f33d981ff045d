"""What the passes of consolidation are shown of the vault (row X23; design of the model §5)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engram.beside import Beside
from engram.conversations import Conversations
from engram.core import todos, trust
from engram.core.records import FiledTurn
from engram.core.talks import SPINE, over
from engram.errors import EngramError, NotFoundError
from engram.llm.answers import Answers
from engram.passes import TRASH, Living, View, nobody
from engram.vault import files, note
from engram.vault.pages import page_from
from engram.vault.store import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from engram.agenda import Cadence
    from engram.core.dedup import Neighbour
    from engram.core.records import Fact, Page
    from engram.entering import Entering
    from engram.filing import Filing
    from engram.using import Using

RUNS = "state/runs.jsonl"
ANSWERS = "answers.jsonl"
_CHUNK = 1000
_LINKED = frozenset({"archive", "facts", "entities", "review"})


class Sight:
    """Looks at one vault for the passes. Belongs to the one writer; `answers` are what a model said before."""

    def __init__(self, filing: Filing, using: Using, entering: Entering) -> None:
        self.filing = filing
        self.beside = Beside(filing.index, filing.settings)
        self._found: tuple[object, Callable[[Fact], Sequence[Neighbour]]] = (None, nobody)
        self.vault, self.index, self.settings = filing.vault, filing.index, filing.settings
        self.using = using
        self.entering = entering
        self.edges = entering.edges
        self.talks = Conversations(self.vault, self.index, self.settings)
        self.failed: dict[str, str] = {}
        self.answers = Answers(self.settings.cache / ANSWERS, self.settings.policy.consolidation.answers)

    def view(self, now: datetime, cadence: Cadence | None = None) -> View:
        """What the passes see at `now`: by day and night without what only fading asks for, whose source a memory has.

        A talk that goes on needs no memories but promises.
        """
        whole = cadence not in {"light", "talk"}
        telling = cadence in {"talk", "nightly"}
        talks = self.talks.view(now) if telling else ()
        gap = self.settings.policy.buffer.session_gap_minutes
        few = cadence == "talk" and not any(over(talk.stand, now, gap) for talk in talks)
        few = few and SPINE not in self.talks.due(now)
        facts = self.index.catalog.facts(*(todos.PROMISING if few else ()))
        self.edges.refresh()
        memories = {one.fact.id: one for one in self._living(facts, whole=whole)}
        return View(
            self.settings.policy,
            self.settings.zone,
            memories,
            edges=self.edges.all(),
            trash=self.trash(),
            logs=(ACTIONS, RUNS),
            answers=self.answers,
            read=self.read,
            stored=self.index.stored() if whole else {},
            near=self._near(now),
            whole=whole,
            believed=self.believed,
            buried=self.index.tombstones,
            feedback=self.using.feedback(self.read(ACTIONS), now) if whole else {},
            roots=self.settings.drift_roots,
            disk=self.disk,
            talks=talks,
            messages=self.talks.messages() if telling else {},
            summaries=self.talks.latest(None) if telling else (),
            model=self.talks.model,
            failed=self.failed,
            entities=self.entering.known(),
            page=self.page,
            pages=self.pages,
            linking=self.linking,
            outside=self.outside,
        )

    def _near(self, now: datetime) -> Callable[[Fact], Sequence[Neighbour]]:
        """What is near a memory; asked again of an index that has not changed, it is known."""
        mark = (self.index.mark, now)
        if self._found[0] != mark:
            self._found = (mark, cache(lambda fact: self.beside.near(fact, now, ("active",))))
        return self._found[1]

    def believed(self, fact: Fact) -> float:
        """How far the source of a memory is believed, 0–1 (`D6`)."""
        turns = self.index.units([key for key in (fact.source, *fact.also) if key])
        said = [filed.turn for filed in turns.values() if isinstance(filed, FiledTurn)]
        return trust.trust(trust.fact_class(fact, said), self.settings.policy.trust)

    def disk(self, path: str) -> bytes | None:
        """What stands at `path` below one of the roots that the user named; None where nothing does (`D10`).

        b'' for a folder, for what may not or cannot be read, and for what no root that is there covers.
        """
        for root in map(Path, self.settings.drift_roots):
            if not path.startswith(f"{root}/") or not root.is_dir():
                continue
            try:
                there = files.safe_join(root, path.removeprefix(f"{root}/"))
                return files.read(there, self.settings.policy.insight.drift_bytes)
            except NotFoundError:
                return None
            except EngramError:
                return b""
        return b""

    def _living(self, facts: Sequence[Fact], *, whole: bool) -> Iterator[Living]:
        for start in range(0, len(facts), _CHUNK):
            some = facts[start : start + _CHUNK]
            keys = [key for fact in some for key in (fact.source, *fact.also) if key] if whole else []
            turns = self.index.units(keys)
            for fact in some:
                said = [turn for key in (fact.source, *fact.also) if isinstance(turn := turns.get(key), FiledTurn)]
                source = trust.fact_class(fact, [filed.turn for filed in said])
                yield Living(
                    fact,
                    self.using.of(fact.id),
                    trust.trust(source, self.settings.policy.trust),
                    trust.bars("core", source),
                    self.kept(fact),
                )

    def kept(self, fact: Fact) -> str | None:
        """Why a memory is a person's, whom no pass contradicts, or None (`X23`)."""
        if fact.verification == "user_confirmed":
            return "a person confirmed it"
        if self.filing.told("restore", fact.id):
            return "a person brought it back"
        return "a person edited it" if self.filing.told("edit", fact.id) else None

    def quiet(self, now: datetime) -> Callable[[str], str | None]:
        """Whether somebody else wrote in a note a moment ago; a time in the future is a wrong clock."""
        rest = self.settings.policy.files.quiet_seconds

        def touched(path: str) -> str | None:
            edited = self.index.edited_at(path)
            near = edited is not None and abs(now.timestamp() - edited) < rest and not self.entering.wrote_last(path)
            return "somebody is at it" if near else None

        return touched

    def trash(self) -> list[str]:
        """The paths of what lies in the trash."""
        folder = self.settings.vault / TRASH
        found = folder.glob("????-??-??/*.md") if folder.is_dir() and not folder.is_symlink() else ()
        return sorted(path.relative_to(self.settings.vault).as_posix() for path in found if path.is_file())

    def read(self, path: str) -> bytes:
        """What stands in a file of the vault, b'' where there is none."""
        return self.vault.read(path) if self.vault.exists(path) else b""

    # -- notes that are no memories -----------------------------------------------------------------

    def page(self, path: str) -> Page | None:
        """The note at `path` as passes know it; None where there is none, or one that cannot be read."""
        try:
            held = note.read(self.read(path), self.settings.policy.files)
        except EngramError:
            return None
        return page_from(held) if held.front is not None or held.body else None

    def pages(self, folder: str) -> list[str]:
        """The paths of the notes in a folder of the vault."""
        found = (self.settings.vault / folder).glob("[!.]*.md")
        return sorted(path.relative_to(self.settings.vault).as_posix() for path in found if path.is_file())

    def linking(self, name: str) -> list[str]:
        """The paths of the notes, other than memories and entities, that link to the note of this name.

        It looks into every file, which is asked for only where a note is to go.
        """
        link = re.compile(rf"\[\[(?:[^\]|#\n]*/)?{re.escape(name)}(?:\.md)?[ \t]*[\]|#]", re.IGNORECASE)
        found = []
        for path in sorted(self.settings.vault.rglob("*.md")):
            below = path.relative_to(self.settings.vault).as_posix()
            parts = below.split("/")
            if parts[0] in _LINKED or any(part.startswith(".") for part in parts) or not path.is_file():
                continue
            if link.search(self.read(below).decode(errors="replace")):
                found.append(below)
        return found

    def outside(self, fact: Fact) -> bool:
        """Whether a memory rests on nothing but what came from outside (`X27`)."""
        turns = self.index.units([key for key in (fact.source, *fact.also) if key])
        said = [turn.turn for turn in turns.values() if isinstance(turn, FiledTurn)]
        return trust.fact_class(fact, said) in trust.OUTSIDE
