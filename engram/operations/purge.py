"""The operation `purge`: deletes memories and their turns from every store (X12, X26).

`PurgePlanner` finds the content to delete, which is then cut from every file. Finally
all files, the database and git are searched for remaining traces (X26). Notes are
deleted last, so that an interrupted purge can be repeated.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from engram.core import purge
from engram.core.records import Entity, Fact, FiledTurn
from engram.core.text import note_name
from engram.errors import BadRequestError, EngramError, ForbiddenError, NotFoundError
from engram.operations.signature import operation
from engram.pipeline.forgetting import EVERY_STATUS, naming
from engram.pipeline.write import action_row, empty_trash
from engram.vault import disk, sessions, template
from engram.vault.boxes import OPEN
from engram.vault.store import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from engram.config import Settings
    from engram.core.purge import Traces
    from engram.index.database import Unit
    from engram.index.protocol import IndexStore
    from engram.ingest.intake import Intake
    from engram.maintenance.run import Maintenance
    from engram.operations.file_sync import FileSync
    from engram.pipeline.commits import CommitLog
    from engram.pipeline.reconcile import Reconciler
    from engram.vault.git import Git

SAMPLE = 50
"""Number of notes of each folder that are read for words of the format."""


@dataclass(slots=True)
class PurgePlan:
    """The content to delete: `facts`, and the new text of `turns` by key or None.

    None stands for a turn that is deleted as a whole. `words` are the deleted texts,
    `kept` the memories that lose a turn as evidence, `entity_notes` the deleted notes
    of people and things, `boxes` the names of boxes. `similar` are statements that stay
    although they resemble a deleted one.
    """

    facts: list[Fact] = field(default_factory=list)
    turns: dict[str, str | None] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    kept: list[Fact] = field(default_factory=list)
    entity_notes: set[str] = field(default_factory=set)
    boxes: set[str] = field(default_factory=set)
    similar: list[dict[str, str]] = field(default_factory=list)
    traces: Traces = field(default_factory=purge.Traces)

    def shown(self, most: int) -> dict[str, Any]:
        """Return the plan as JSON; at most `most` memories and turns with their words."""
        facts = [{"id": one.id, "text": one.text} for one in self.facts[:most]]
        turns = [
            {"id": key, "left": text or ""}
            for key, text in list(self.turns.items())[:most]
        ]
        return {
            "memories": facts,
            "turns": turns,
            "memory_count": len(self.facts),
            "turn_count": len(self.turns),
            "stay": [{"id": one.id, "text": one.text} for one in self.kept[:most]],
            "similar": self.similar,
        }


class PurgePlanner:
    """Plans a purge; changes nothing."""

    def __init__(self, reconciler: Reconciler, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.forgetting = reconciler.forgetting
        self.entity_writer = reconciler.entity_writer
        self.index = reconciler.index
        self.vault = reconciler.vault

    def plan(
        self, ids: Iterable[str], session: str | None, about: str | None
    ) -> PurgePlan:
        """Return the plan for these memories and turns, a session and an entity.

        Raises NotFoundError if one of them does not exist.
        """
        units = [self.index.find(name) for name in ids]
        units += self._of_session(session) if session else []
        entity = self._entity(about) if about else None
        passages: list[tuple[FiledTurn, str]] = []
        if entity:
            facts, passages = self._about(entity)
            units += facts
        now = self.clock()
        hidden = self.forgetting.plan(units, now, EVERY_STATUS, passages)
        plan = PurgePlan(facts=list(hidden.facts.values()))
        for key, turn in hidden.turns.items():
            plan.turns[key] = None
            plan.words.append(turn.turn.text)
        for turn, texts in hidden.cut.values():
            self._cut_turn(plan, turn, texts)
        keys = set(plan.turns)
        sharing = self.forgetting.sharing(keys, without="")
        plan.kept = [one for one in sharing if one.id not in hidden.facts]
        plan.similar = self.forgetting.similar(
            [one.text for one in plan.facts], now, hidden.facts.keys() | keys
        )
        self._add_traces(plan, entity)
        return plan

    # -- named content -----------------------------------------------------------------

    def _of_session(self, session: str) -> list[FiledTurn]:
        turns = [one for one in self._turns() if one.turn.session == session]
        if not turns:
            raise NotFoundError(
                "there is no such conversation",
                where=session,
                fix="`engram sessions` lists them.",
            )
        return turns

    def _entity(self, name: str) -> Entity:
        entity = self.entity_writer.names.one(name)
        if entity is None or self.entity_writer.names.is_owner(name):
            raise NotFoundError(
                "no person, place or thing has this name",
                where=name,
                fix="`engram entities` lists them.",
            )
        return entity

    def _about(self, entity: Entity) -> tuple[list[Fact], list[tuple[FiledTurn, str]]]:
        """Return the facts about an entity, and the sentences of turns that name it."""
        is_person, named = entity.type == "person", partial(_names, entity)
        own = {purge.normal(name) for name in (entity.name, *entity.aliases)}
        facts = [
            one
            for one in self._facts()
            if named(one.text) or not own.isdisjoint(map(purge.normal, one.about))
        ]
        passages = [
            (turn, text)
            for turn in self._turns()
            for text in naming(turn, named, is_person=is_person)
        ]
        return facts, passages

    def _cut_turn(self, plan: PurgePlan, turn: FiledTurn, texts: set[str]) -> None:
        remaining = turn.turn.text
        for text in sorted(texts, key=len, reverse=True):
            remaining = remaining.replace(text, "")
        remaining = "\n".join(
            " ".join(line.split()) for line in remaining.splitlines()
        ).strip()
        plan.turns[turn.key] = remaining or None
        plan.words += [turn.turn.text] if not remaining else sorted(texts)

    # -- traces ------------------------------------------------------------------------

    def _add_traces(self, plan: PurgePlan, entity: Entity | None) -> None:
        remaining, linked = self._remaining_texts(plan)
        entities = self._unnamed_entities(plan, entity, remaining, linked)
        plan.entity_notes = {one.path for one in entities}
        names = {name for one in entities for name in (one.name, *one.aliases)}
        stems = {note_name(one.path) for one in plan.facts}
        ids = {one.id for one in plan.facts}
        ids |= {key for key, text in plan.turns.items() if text is None}
        texts = [one.text for one in plan.facts] + plan.words
        remaining += self._vocabulary()
        plan.traces = purge.traces(texts, stems, ids, names, remaining)
        boxes = self._boxes_with(plan.traces)
        plan.boxes = set(boxes.values())
        ids = {*plan.traces.ids, *boxes, *boxes.values()}
        plan.traces = replace(plan.traces, ids=frozenset(ids))

    def _remaining_texts(self, plan: PurgePlan) -> tuple[list[str], set[str]]:
        """Return the remaining texts, and the names that remaining memories are about."""
        deleted = {one.id for one in plan.facts}
        texts: list[str] = []
        linked: set[str] = set()
        for unit in self._units():
            if isinstance(unit, FiledTurn):
                texts.append(plan.turns.get(unit.key, unit.turn.text) or "")
            elif not isinstance(unit, Fact):
                texts.append(unit.text)
            elif unit.id not in deleted:
                texts.append(unit.text)
                linked |= set(unit.about)
        return texts, linked

    def _unnamed_entities(
        self,
        plan: PurgePlan,
        entity: Entity | None,
        remaining: list[str],
        linked: set[str],
    ) -> list[Entity]:
        """Return people, places and things of purged texts that no other text names."""
        names = self.entity_writer.names
        deleted = [one.text for one in plan.facts] + plan.words
        deleted += [link for one in plan.facts for link in one.about]
        return [
            one
            for one in names.all()
            if (one == entity or not (one.has_user_text or one.name in linked))
            and one != names.owner()
            and any(_names(one, text) for text in deleted)
            and not any(_names(one, text) for text in remaining)
        ]

    def _boxes_with(self, found: Traces) -> dict[str, str]:
        """Return the id and name of boxes that list a purged memory, or have a trace.

        The title and the topics of such a box may be words of that memory.
        """
        boxes: dict[str, str] = {}
        # `Vault.notes` leaves out what is not indexed
        for file in sorted((self.vault.root / "boxes").rglob("*.md")):
            path, stem = file.relative_to(self.vault.root).as_posix(), file.stem
            text = self.vault.read(path).decode("utf-8", "replace")
            links = [one for one in text.split("\n") if one.startswith("- [[")]
            lists_it = any(found.in_text(one) for one in links)
            if lists_it or found.is_gone(stem) or found.in_text(stem):
                line = next((one for one in text.split("\n") if one[:4] == "id: "), "")
                boxes[line.removeprefix("id: ") or stem] = stem
        return boxes

    def _vocabulary(self) -> list[str]:
        """Return the words of the format and of the template, which are not traces."""
        template_files = sorted(template.shipped("vault_template").rglob("*"))
        # the title of a box is a word of its memories
        logs = sorted(
            log
            for log in (self.vault.root / "state").glob("*.jsonl")
            if not OPEN.endswith(log.name)
        )
        found = [
            file.read_text("utf-8", "replace")
            for file in template_files
            if file.is_file()
        ]
        found += [purge.vocabulary(file.name, file.read_bytes()) for file in logs]
        notes = (
            path
            for folder in ("facts", "entities", "sessions")
            for path in self.vault.notes(folder)[:SAMPLE]
        )
        found += [purge.vocabulary(path, self.vault.read(path)) for path in notes]
        return found

    def _units(self) -> Iterator[Unit]:
        yield from self.index.catalog.all_units()
        yield from self.index.waiting()

    def _facts(self) -> Iterator[Fact]:
        return (one for one in self._units() if isinstance(one, Fact))

    def _turns(self) -> Iterator[FiledTurn]:
        return (one for one in self._units() if isinstance(one, FiledTurn))


def _names(entity: Entity, text: str) -> bool:
    """Return whether a text has a whole name of an entity."""
    words = f" {purge.normal(text)} "
    names = (purge.normal(one) for one in (entity.name, *entity.aliases))
    return any(name and f" {name} " in words for name in names)


ELSEWHERE = "it still contains purged words"
PLACES = {
    "vault": "you wrote some of its words there; delete them yourself",
    "cache": "the index repeats words of the notes named above",
}
DATABASE = "database"
_TABLES = (
    "SELECT table_name FROM information_schema.columns WHERE table_schema = 'engram' "
    "AND column_name = 'vault' AND table_name <> 'embedding' ORDER BY table_name"
)
"""The tables with rows of vaults; vectors have no words."""
IN_HISTORY = (
    "Older commits cannot be changed by engram. To give up all history: `git -C {vault} "
    "checkout --orphan fresh && git -C {vault} commit -qm 'Start anew' && git -C {vault} "
    "branch -D {branch} && git -C {vault} branch -m {branch} && git -C {vault} reflog "
    "expire --expire=now --all && git -C {vault} gc --prune=now`. To keep it, remove the "
    "words with git-filter-repo (--replace-text). Copies on other machines and remotes "
    "keep theirs."
)


@dataclass(slots=True)
class Residue:
    """The result of a search: the places of hits with reasons, and the counts.

    `counts` has the files, or the rows, and bytes of each store; `traces` is the number
    of sentences, names and words that were searched for.
    """

    hits: dict[str, str] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    traces: int = 0


def search_stores(
    stores: Mapping[str, Path], found: Traces, settings: Settings
) -> Residue:
    """Search every file of the stores, and its name, for the traces of a purge.

    `search_history` searches the objects of git.
    """
    result = Residue(traces=len(found.phrases) + len(found.names))
    for store, folder in stores.items():
        files = size = 0
        for top, folders, names in os.walk(folder):
            folders[:] = [one for one in folders if one != ".git"]
            for name in names:
                path = Path(top, name)
                try:
                    raw = path.read_bytes() if path.is_file() else b""
                except OSError as fault:
                    result.hits[str(path)] = f"it cannot be read: {fault.strerror}"
                    continue
                files, size = files + 1, size + len(raw)
                if found.in_text(str(path.relative_to(folder))) or found.in_bytes(raw):
                    inside = store == "vault"
                    label = path.relative_to(settings.vault) if inside else path
                    result.hits[str(label)] = PLACES.get(store, ELSEWHERE)
        result.counts[store] = {"files": files, "bytes": size}
    return result


def search_rows(store: IndexStore, found: Traces, result: Residue) -> None:
    """Search every row of the vault in the database, and add to `result`."""
    rows = size = 0
    for (table,) in store.query(_TABLES):
        hits = 0
        for (text,) in store.query(f"SELECT one::text FROM {table} AS one"):  # noqa: S608
            raw = str(text).encode()
            rows, size = rows + 1, size + len(raw)
            hits += found.in_bytes(raw)
        if hits:
            result.hits[f"engram.{table}"] = f"{PLACES['cache']}: {hits} rows"
    result.counts[DATABASE] = {"files": 0, "rows": rows, "bytes": size}


def search_history(git: Git | None, found: Traces) -> dict[str, Any]:
    """Return the number of commits that still have a trace, and the fix.

    `complete` is false if the time limit ended the search.
    """
    if git is None:
        return {}
    try:
        commits, branch = git.history()
    except EngramError as fault:
        return {"commits": 0, "complete": False, "fix": str(fault)}
    hits = sum(found.in_text(one) for one in commits)
    fix = IN_HISTORY.format(vault=git.root, branch=branch) if hits else ""
    return {"commits": hits, "complete": True, "fix": fix}


OWNER_ONLY = "only the owner may purge, because it cannot be undone"
DELETED_FOLDERS = ("review/", ".trash/", "boxes/", "traces/")
"""Folders whose notes are deleted as a whole if their name has a trace."""
OWN_FOLDERS = (
    "archive/",
    "artifacts/",
    "boxes/",
    "entities/",
    "episodes/",
    "facts/",
    "macros/",
    "review/",
    "state/",
    "traces/",
    ".trash/",
)
OWN_FILES = ("profile.md", "spine.md", "IDENTITY.md", ACTIONS)
WHY = "the user had it purged"
SHOWN = 200
"""Maximum number of memories and turns listed with their words in a result."""


class PurgeOperations:
    """The operation `purge`. For the writer thread."""

    def __init__(
        self,
        reconciler: Reconciler,
        intake: Intake,
        maintenance: Maintenance,
        files: FileSync,
        commits: CommitLog,
    ) -> None:
        self.reconciler = reconciler
        self.intake = intake
        self.maintenance = maintenance
        self.files = files
        self.commits = commits
        self.note_writer = reconciler.note_writer
        self.vault = self.note_writer.vault
        self.index = self.note_writer.index
        self.settings = self.note_writer.settings
        self.clock = files.clock
        self.forgetting = reconciler.forgetting
        self.planner = PurgePlanner(reconciler, self.clock)

    @operation("Purged", writes=True)
    def purge(
        self,
        ids: Annotated[
            list[str] | None, "ids of memories and of turns, or unambiguous prefixes"
        ] = None,
        *,
        session: Annotated[str | None, "every turn of this conversation"] = None,
        about: Annotated[
            str | None, "everything about the person, place or thing with this name"
        ] = None,
        trash: Annotated[bool, "only empty `.trash/`"] = False,
        yes: Annotated[bool, "delete; without it nothing changes"] = False,
        dry_run: Annotated[
            bool, "list what would be deleted and change nothing"
        ] = False,
        owner: bool = False,
    ) -> dict[str, Any]:
        """Delete memories and turns for good, from every store. Shows what would be
        deleted; with --yes deletes it and searches all files for remaining words. It
        cannot be undone, and older git commits still contain it.

        Without `yes` returns what would be deleted. Raises BadRequestError if nothing
        is named, ForbiddenError for callers other than the owner, NotFoundError,
        ConflictError.
        """
        named = bool(ids or session or about)
        if trash and not named:
            return empty_trash(self.note_writer, self.clock(), dry_run=dry_run)
        if not named or trash:
            raise BadRequestError(
                "name what is to be purged, or the trash, and not both",
                fix="Give ids, --session, --about, or --trash.",
            )
        if not owner:
            raise ForbiddenError(OWNER_ONLY, fix="Use the command line of the owner.")
        plan = self.planner.plan(ids or [], session, about)
        report = plan.shown(SHOWN)
        if dry_run or not yes:
            return {**report, "dry_run": True}
        failed = self._carry_out(plan)
        proof = search_stores(self._stores(), plan.traces, self.settings)
        if self.settings.postgres:
            search_rows(self.index.catalog.database, plan.traces, proof)
        history = search_history(self.commits.repository, plan.traces)
        return {
            **report,
            "dry_run": False,
            "clean": not proof.hits,
            "left": [
                {"path": path, "why": failed.get(path) or why}
                for path, why in {**failed, **proof.hits}.items()
            ],
            "searched": proof.counts,
            "traces": proof.traces,
            "history": history,
        }

    def _stores(self) -> dict[str, Path]:
        settings = self.settings
        stores = {
            "vault": settings.vault,
            "state": settings.state,
            "cache": settings.cache,
            "runtime": settings.runtime,
        }
        if settings.model and settings.model.record:
            stores["recorded calls"] = settings.model.record
        return stores

    # -- deletion ----------------------------------------------------------------------

    def _carry_out(self, plan: PurgePlan) -> dict[str, str]:
        """Cut the plan from every store; return the errors by path."""
        now, found = self.clock(), plan.traces
        usage, boxes = self.reconciler.usage_tracker, self.reconciler.box_writer
        self.intake.purge(set(plan.turns), found.in_bytes)
        usage.flush()
        boxes.save()
        self._cut_outside(found)
        failed = self._cut_vault(plan)

        usage.usage_log.drop(found.ids)
        usage.refresh(now)
        boxes.reload()
        self.index.tombstones.keep_anew()
        self.reconciler.entity_writer.refresh()
        self.note_writer.log_actions(
            [action_row(now, "purge", fact.id, WHY) for fact in plan.facts]
        )
        self.note_writer.forget_logged()
        self._rebuild()
        with suppress(EngramError):
            self.maintenance.run("nightly", only="cleanup")
        self.commits.done("purge", "purge", always=True)
        self.commits.commit_if_due()
        return failed

    def _rebuild(self) -> None:
        """Rebuild the derived stores: SQLite keeps deleted rows in its free pages."""
        self.index.rebuild()
        self.note_writer.update_hashes()
        if self.index.semantic:
            self.index.semantic.tidy(self.index.lexical)
        self.index.save()

    def _cut_outside(self, found: Traces) -> None:
        """Cut the state folder, the cache and the recorded calls."""
        history = self.maintenance.history
        for run in history.runs():
            history.remove_where(run, found.in_bytes)
        answers = self.maintenance.snapshot.answers
        answers.drop_where(lambda key, answer: found.in_text(f"{key} {answer}"))
        for name in [*self.vault.own_writes]:
            if found.in_text(name):
                del self.vault.own_writes[name]
        settings = self.settings
        for path in (settings.cache / "own-writes.json", settings.state / "daemon.log"):
            _rewrite_outside(path, found)
        if settings.model and settings.model.record:
            _rewrite_outside(settings.model.record / "calls.jsonl", found)

    # -- the files of the vault --------------------------------------------------------

    def _cut_vault(self, plan: PurgePlan) -> dict[str, str]:
        failed: dict[str, str] = {}
        deleted = {fact.path for fact in plan.facts}
        written: dict[str, bytes] = {}
        for path in self._paths(plan):
            try:
                new = self._cut_file(path, plan, remove=path in deleted)
            except EngramError as fault:
                failed[path] = fault.what
                continue
            if new is not None:
                written[path] = new
        self.index.wrote(written)
        return failed

    def _paths(self, plan: PurgePlan) -> Iterator[str]:
        """Yield every file of the vault; the notes of purged memories are last."""
        root, last = self.settings.vault, []
        deleted = {fact.path for fact in plan.facts}
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if name.startswith(".git/") or path.is_symlink() or not path.is_file():
                continue
            if name in deleted or name.startswith("sessions/"):
                last.append(name)
            else:
                yield name
        yield from sorted(last, key=lambda name: name in deleted)

    def _cut_file(self, path: str, plan: PurgePlan, *, remove: bool) -> bytes | None:
        """Cut one file; return its new bytes, b'' if deleted, None if unchanged."""
        name, found = path.rpartition("/")[2], plan.traces
        stem = name.removesuffix(".md")
        if remove or path in plan.entity_notes:
            return self._remove(path)
        if path.startswith("sessions/"):
            return self._cut_session(path, stem, plan)
        if not path.startswith(OWN_FOLDERS) and path not in OWN_FILES:
            return None
        raw = self.vault.read(path)
        named = found.in_text(stem) or found.is_gone(stem) or stem in plan.boxes
        whole = name.startswith(".engram-") or path.startswith((".trash/", "review/"))
        if (named and path.startswith(DELETED_FOLDERS)) or (
            whole and found.in_bytes(raw)
        ):
            return self._remove(path)
        return self._rewrite(path, raw, lambda raw: purge.cut_file(path, raw, found))

    def _cut_session(self, path: str, stem: str, plan: PurgePlan) -> bytes | None:
        """Cut turns and summaries; a file without any turn is deleted."""
        texts = {
            key.rpartition("#^")[2]: text
            for key, text in plan.turns.items()
            if key.startswith(f"{stem}#^")
        }
        if plan.traces.in_bytes(self.vault.read(path)):
            self.forgetting.summaries.drop([f"{stem}#^t0"])
        raw = self.vault.read(path)
        if not texts:
            return None
        if not sessions.rewrite_turns(raw, texts):
            return self._remove(path)
        return self._rewrite(path, raw, lambda raw: sessions.rewrite_turns(raw, texts))

    def _remove(self, path: str) -> bytes:
        target = disk.safe_join(self.settings.vault, path)
        self.vault.before_write(path)
        disk.remove(target)
        disk.remove_empty_folder(target.parent)
        return b""

    def _rewrite(
        self, path: str, raw: bytes, cut: Callable[[bytes], bytes]
    ) -> bytes | None:
        if cut(raw) == raw:
            return None
        new = self.vault.rewrite(path, cut)
        with suppress(EngramError):
            for hidden in disk.leftovers(self.settings.vault / path):
                disk.remove(hidden)
        return new


def _rewrite_outside(path: Path, found: Traces) -> None:
    """Cut a file outside the vault in place, because a log may be open."""
    try:
        raw = path.read_bytes()
    except OSError:
        return
    if not found.in_bytes(raw):
        return
    new = purge.cut_file(path.name, raw, found)
    disk.overwrite(path, new)
