"""The operation `purge`: deletes memories and their turns from every store (X12, X26).

`PurgePlanner` finds the content to delete, which is then cut from every file. Finally
all files are searched for remaining traces (`operations/purge_search.py`). Notes are
deleted last, so that an interrupted purge can be repeated.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from engram.core import purge
from engram.core.sessions import STATE_FILE, drop_summaries
from engram.errors import BadRequestError, EngramError, ForbiddenError
from engram.operations.purge_plan import PurgePlan, PurgePlanner
from engram.operations.purge_search import search_history, search_rows, search_stores
from engram.pipeline.write import action_row, empty_trash
from engram.vault import disk, frontmatter, sessions
from engram.vault.store import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from engram.core.purge import Traces
    from engram.ingest.intake import Intake
    from engram.maintenance.run import Maintenance
    from engram.operations.file_sync import FileSync
    from engram.pipeline.commits import CommitLog
    from engram.pipeline.reconcile import Reconciler

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
OWN_FILES = ("profile.md", "spine.md", "IDENTITY.md")
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
        self.planner = PurgePlanner(reconciler, self.clock)

    def purge(
        self,
        *,
        ids: list[str] | None = None,
        session: str | None = None,
        about: str | None = None,
        trash: bool = False,
        yes: bool = False,
        dry_run: bool = False,
        owner: bool = False,
    ) -> dict[str, Any]:
        """Delete memories and turns from every store, or empty the trash.

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
        self.index.tombstones.reload()
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
        stem = path.rpartition("/")[2].removesuffix(".md")
        if remove or path in plan.entity_notes:
            return self._remove(path)
        if path.startswith("sessions/"):
            return self._cut_session(path, stem, plan)
        own = path.startswith(OWN_FOLDERS) or path in OWN_FILES
        raw = self.vault.read(path)
        found = plan.traces
        if not own or path == ACTIONS:
            return self._cut_log(found) if path == ACTIONS else None
        hidden = path.rpartition("/")[2].startswith(".engram-")
        named = found.in_text(stem) or found.is_gone(stem)
        whole = path.startswith(DELETED_FOLDERS) and (named or stem in plan.boxes)
        if whole or (hidden and found.in_bytes(raw)):
            return self._remove(path)
        if path.startswith((".trash/", "review/")) and found.in_bytes(raw):
            return self._remove(path)
        return self._rewrite(path, raw, lambda raw: _cut(path, raw, found))

    def _cut_log(self, found: Traces) -> bytes | None:
        raw = self.vault.read(ACTIONS)
        return self._rewrite(ACTIONS, raw, lambda raw: purge.cut_rows(raw, found))

    def _cut_session(self, path: str, stem: str, plan: PurgePlan) -> bytes | None:
        """Cut turns and summaries; a file without any turn is deleted."""
        texts = {
            key.rpartition("#^")[2]: text
            for key, text in plan.turns.items()
            if key.startswith(f"{stem}#^")
        }
        raw = self.vault.read(path)
        if texts and not sessions.rewrite_turns(raw, texts):
            return self._remove(path)
        state = self.vault.read(STATE_FILE) if self.vault.exists(STATE_FILE) else b"{}"
        states = [state]

        def cut(raw: bytes) -> bytes:
            new = sessions.rewrite_turns(raw, texts) if texts else raw
            new, states[0] = self._without_summaries(stem, new, state, plan.traces)
            return new

        written = self._rewrite(path, raw, cut)
        if states[0] != state:
            self.vault.rewrite(STATE_FILE, lambda _: states[0])
        return written

    def _without_summaries(
        self, stem: str, raw: bytes, state: bytes, found: Traces
    ) -> tuple[bytes, bytes]:
        """Return a session file and the state without traces in their summaries."""
        if not found.in_bytes(raw) and not found.in_bytes(state):
            return raw, state
        note = frontmatter.read(raw, self.settings.policy.files)
        cut = drop_summaries(stem, note.keys, note.body, state)
        return frontmatter.edit(raw, cut.keys, cut.body), cut.state

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


def _cut(path: str, raw: bytes, found: Traces) -> bytes:
    """Return the bytes of one of engram's own files without traces."""
    if path.endswith(".jsonl"):
        return purge.cut_rows(raw, found)
    if path.endswith(".json"):
        return purge.cut_document(raw, found)
    text = raw.decode("utf-8", "surrogateescape")
    return purge.cut_lines(text, found).encode("utf-8", "surrogateescape")


def _rewrite_outside(path: Path, found: Traces) -> None:
    """Cut a file outside the vault in place, because a log may be open."""
    try:
        raw = path.read_bytes()
    except OSError:
        return
    if not found.in_bytes(raw):
        return
    new = _cut(path.name, raw, found)
    disk.overwrite(path, new)
