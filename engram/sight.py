"""What the passes of consolidation are shown of the vault (row X23; design of the model §5)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.records import FiledTurn
from engram.errors import EngramError
from engram.llm.answers import Answers
from engram.passes import TRASH, Living, View
from engram.vault import note
from engram.vault.pages import page_from
from engram.vault.store import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

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
        self.vault, self.index, self.settings = filing.vault, filing.index, filing.settings
        self.using = using
        self.entering = entering
        self.edges = entering.edges
        self.answers = Answers(self.settings.cache / ANSWERS, self.settings.policy.consolidation.answers)

    def view(self, *, whole: bool = True) -> View:
        """What the passes see; not `whole`: without what only fading asks for, whose source a memory has."""
        facts = self.index.catalog.facts()
        self.edges.refresh()
        return View(
            self.settings.policy,
            self.settings.zone,
            {one.fact.id: one for one in self._living(facts, whole=whole)},
            edges=self.edges.all(),
            trash=self.trash(),
            logs=(ACTIONS, RUNS),
            answers=self.answers,
            read=self.read,
            entities=self.entering.known(),
            page=self.page,
            pages=self.pages,
            linking=self.linking,
            outside=self.outside,
        )

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
