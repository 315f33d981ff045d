"""The operations on one stored memory.

Pin, restore, promote, settle, confirm, dispute and forget change a note at a user's
request; each is a row of the action log (rows A26, C24, D7, D8, E16, X8).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from engram.core import lifecycle, todos
from engram.core.language.secrets import redact
from engram.core.records import HIGH, SENSITIVITIES, UNKNOWN_PERSONA, Fact, FiledTurn
from engram.errors import BadRequestError, ConflictError, ForbiddenError
from engram.operations.notes import ACTIVE, Keys
from engram.operations.signature import AnyId, Id, operation
from engram.pipeline.forgetting import USER_DECIDED, Forgetting
from engram.pipeline.write import KNOWN, action_row
from engram.recall.topics import ENDED
from engram.vault import facts
from engram.vault.formats import time_text

if TYPE_CHECKING:
    from datetime import datetime

    from engram.operations.file_sync import NoteEditor
    from engram.operations.review import ReviewQueue
    from engram.pipeline.entity_removal import EntityRemoval
    from engram.pipeline.usage import UsageTracker

USER_ASKED = "the user asked"
VERIFIED = {"user_confirmed": "confirm", "disputed": "dispute"}
"""The action in the log by the verification that it gives a memory."""
SET_STATUS = "a user set the status"
LAYERS = {"up": lifecycle.promoted_layer, "down": lifecycle.demoted_layer}
SETTLED = {"done": todos.FULFILLED, "cancelled": todos.EXPIRED}
"""The stages of a promise that is no longer open, by their other names."""


class MemoryOperations:
    """The operations that change one stored memory. For the writer thread."""

    def __init__(
        self,
        editor: NoteEditor,
        forgetting: Forgetting,
        review_queue: ReviewQueue,
        usage_tracker: UsageTracker,
        entity_removal: EntityRemoval,
    ) -> None:
        self.editor = editor
        self.forgetting = forgetting
        self.review_queue = review_queue
        self.usage_tracker = usage_tracker
        self.entity_removal = entity_removal
        self.note_writer = editor.note_writer
        self.index = editor.index
        self.settings = editor.settings
        self.clock = editor.clock

    # -- confirm, dispute, settle ------------------------------------------------------

    @operation("Verified", writes=True, decides=True)
    def confirm(
        self,
        id: Id,
    ) -> dict[str, Any]:
        """Record that a memory is true. Shows its id, its note and how it is verified.

        (Rows A8, C17.)
        """
        fact = self.editor.find(id)
        return self._verify(self.note_writer.confirmed(fact), fact, "user_confirmed")

    @operation("Verified", writes=True, decides=True)
    def dispute(
        self,
        id: Id,
    ) -> dict[str, Any]:
        """Record that a memory is doubtful. It stays and ranks lower; shows its id,
        its note and how it is verified.

        (Row C24.)
        """
        fact = self.editor.find(id)
        return self._verify(fact, fact, "disputed")

    def _verify(self, new: Fact, fact: Fact, verification: str) -> dict[str, Any]:
        """Write `new`, the memory `fact` as a user judges it."""
        if fact.status == "review":
            raise ConflictError(
                "the memory waits in review",
                where=fact.id,
                fix="Decide it with `engram review`.",
            )
        action = VERIFIED[verification]
        row = action_row(self.clock(), action, fact.id, USER_DECIDED)
        new = replace(new, verification=verification)
        change = facts.change(fact, new, self.settings.zone, action)
        self.note_writer.write([change], [row])
        return {"id": fact.id, "path": fact.path, "verification": verification}

    @operation("Settled", "POST /v1/todos/{id}", writes=True, decides=True)
    def settle(
        self,
        id: Id,
        stage: Annotated[
            str,
            "its new stage; fulfilled if absent",
            ("open", *SETTLED.values(), *SETTLED),
        ] = todos.FULFILLED,
    ) -> dict[str, Any]:
        """Mark a promise as fulfilled, expired or open. Shows its id, its note and its
        new stage.

        (Row E16.)
        """
        fact = self.editor.find(id)
        stage = SETTLED.get(stage, stage)
        if todos.todo_stage(fact) in {"", todos.HABIT} or fact.status != "active":
            raise BadRequestError(
                "this is not an active promise",
                where=fact.path,
                fix="`engram todos --stage all` lists promises.",
            )
        now_in = "open" if todos.is_open(fact) else todos.todo_stage(fact)
        if now_in != stage:
            self._set_stage(fact, stage)
        return {"id": fact.id, "path": fact.path, "stage": stage}

    def _set_stage(self, fact: Fact, stage: str) -> None:
        keys: Keys = todos.reopened_keys(fact)
        if stage != "open":
            done = time_text(self.clock(), self.settings.zone)
            keys = todos.settled_keys(fact, stage, done, USER_ASKED)
        self.editor.patch(fact, keys, "edit", USER_ASKED)

    # -- update ------------------------------------------------------------------------

    @operation(
        "Updated",
        "PATCH /v1/memories/{id}",
        writes=True,
        decides=True,
        own_command=True,
    )
    def update(
        self,
        id: AnyId,
        *,
        pinned: Annotated[bool | None, "whether the memory never fades"] = None,
        status: Annotated[
            str | None,
            "active, to bring an archived or forgotten memory back",
            ("active",),
        ] = None,
        layer: Annotated[
            str | None,
            "up: keep it for long; down: let it fade like an episode",
            tuple(LAYERS),
        ] = None,
    ) -> dict[str, Any]:
        """Pin, unpin, restore, promote or demote a memory. Shows the front-matter keys
        that changed.

        (Rows D7, D8, E4, C23.) If another memory states the same as a restored one,
        that memory is updated and the verdict is `confirmed`.
        """
        if pinned is None and status is None and layer is None:
            raise BadRequestError(
                "nothing to change", fix="Give pinned, status or layer."
            )
        unit, now = self._find_unit(id), self.clock()
        if isinstance(unit, FiledTurn):
            if not status or pinned is not None or layer is not None:
                raise BadRequestError(
                    "a turn can only be restored",
                    where=unit.key,
                    fix="Give the id of a memory.",
                )
            result = self._restore_turn(unit.key, now)
            self.entity_removal.tidy(now)
            return result

        stones = self.index.tombstones.forgotten.of(unit.id)
        is_hidden = unit.status != "active" or any(one.elsewhere for one in stones)
        if status and is_hidden and (equal := self._restore_hidden(unit, now)):
            self.usage_tracker.record_evidence(equal.id, now)
            result = self.update(equal.id, pinned=pinned, status=status, layer=layer)
            return {**result, "verdict": "confirmed", "why": KNOWN}
        return self._update_note(unit, pinned, status, layer)

    @operation("Sensitivity", writes=True, decides=True, retracts=True)
    def sensitivity(
        self,
        id: Id,
        level: Annotated[str, "the new level", SENSITIVITIES],
        *,
        owner: bool = False,
    ) -> dict[str, Any]:
        """Set how sensitive a memory is. A memory of level high is given to no model;
        only the owner's command line and the persona that its note names may see it.
        Shows who may see it from now on.

        (Row B17.)
        Any chatbot may raise the level; only the owner's command line may lower it from
        high. `known_to` names who may see the memory from now on.
        """
        fact = self.editor.find(id)
        opens = fact.sensitivity == HIGH and level != HIGH
        if opens and not owner:
            raise ForbiddenError(
                "only the owner's command line may open a highly sensitive memory",
                fix=f"Run `engram sensitivity {fact.id} {level}`.",
            )
        keys: Keys = {"sensitivity": None if level == "normal" else level}
        if level != fact.sensitivity:
            self.editor.patch(fact, keys, "edit", f"{USER_ASKED}: sensitivity {level}")
        fact = self.index.catalog.find_fact(fact.id)
        return {
            "id": fact.id,
            "path": fact.path,
            "sensitivity": fact.sensitivity,
            "known_to": _known_to(fact),
        }

    def _update_note(
        self,
        fact: Fact,
        pinned: bool | None,  # noqa: FBT001
        status: str | None,
        layer: str | None,
    ) -> dict[str, Any]:
        """Set the front-matter keys of an update, unless the note has them already."""
        now = self.clock()
        keys: Keys = {}
        if pinned is not None and pinned != fact.pinned:
            keys["pinned"] = pinned or None
            self.usage_tracker.anchor_salience(fact, now)
        new_layer = LAYERS[layer](fact) if layer else None
        if new_layer is not None:
            keys["layer"] = new_layer or None
        if status and fact.status != "active":
            keys |= ACTIVE
        if keys:
            action = _action_name(pinned, status, layer)
            self.editor.patch(fact, keys, action, USER_ASKED, unarchive=bool(status))
            if fact.status == "forgotten":
                self.entity_removal.tidy(now)
            if status and fact.status in ENDED:
                self.forgetting.allow_again([fact], now, always=True)
            if status:
                self.usage_tracker.record_evidence(fact.id, now)
        return {
            "id": fact.id,
            "path": self.index.catalog.find_fact(fact.id).path,
            "changed": sorted(keys),
        }

    def _restore_hidden(self, fact: Fact, now: datetime) -> Fact | None:
        """Lift the tombstones of a memory, and restore the memories forgotten with it.

        Returns the active memory that states the same and replaces it, or None.
        """
        for name in self.forgetting.restore(fact.id, now, USER_ASKED):
            self._restore_along(name)
        if fact.status == "active":  # hidden by a tombstone of another branch
            return None
        return self.review_queue.merge_into_equal(fact, now)

    def _restore_turn(self, turn: str, now: datetime) -> dict[str, Any]:
        """Show a forgotten turn again, and restore the memories forgotten with it."""
        for name in self.forgetting.restore(turn, now, USER_ASKED):
            self._restore_along(name)
        self.note_writer.log_actions([action_row(now, "restore", turn, USER_ASKED)])
        return {"id": turn, "path": self._turn_path(turn), "changed": ["status"]}

    def _restore_along(self, name: str) -> None:
        fact = self.index.catalog.fact(name)
        if fact and fact.status == "forgotten":
            self.editor.try_patch(fact, ACTIVE, "restore", USER_ASKED, unarchive=True)

    # -- forget ------------------------------------------------------------------------

    @operation(
        "Forgotten",
        "DELETE /v1/memories/{id}",
        writes=True,
        decides=True,
        retracts=True,
    )
    def forget(
        self,
        id: AnyId,
        *,
        reason: Annotated[
            str | None, "reason, kept in the note and in the action log"
        ] = None,
        dry_run: Annotated[
            bool,
            "show the turns that support the memory and the other memories from them, and change nothing",
        ] = False,
    ) -> dict[str, Any]:
        """Stop recalling a memory or a turn. Hides every sentence that says the same,
        and shows the hidden memories and turns. No file is deleted; `engram restore`
        reverses this.

        (Rows A26, X8.)
        The note of a memory remains, marked as forgotten; so do the notes of other
        memories that say the same, or whose only evidence is a forgotten turn. Session
        files do not change: their forgotten sentences are hidden when they are read.

        `hides` has the other hidden memories and turns, `similar` the statements that
        resemble it and stay; `unchanged` the reasons, by
        path, why a note could not be marked. With `dry_run` nothing changes; `turns`
        are the turns that support the memory, `shared` the other memories from them.
        """
        now, unit = self.clock(), self._find_unit(id)
        if isinstance(unit, Fact) and unit.status == "forgotten":
            return {"id": unit.id, "path": unit.path, "status": "forgotten"}
        if dry_run:
            return self._would_forget(unit)
        why = redact(reason or USER_ASKED).text
        if isinstance(unit, Fact):
            name, path, text = unit.id, unit.path, unit.text
        else:
            name, path = unit.key, self._turn_path(unit.key)
            text = unit.turn.text
        plan = self.forgetting.plan([unit], now)
        unchanged = self.forgetting.hide(name, plan, why, now, action="hide")
        result: dict[str, Any] = {
            "id": name,
            "path": path,
            "status": "forgotten",
            "hides": {
                "memories": sorted({*plan.facts} - {name}),
                "turns": sorted({*plan.cut, *plan.turns} - {name}),
            },
            "similar": self.forgetting.similar([text], now, {name}),
        }
        return result | ({"unchanged": unchanged} if unchanged else {})

    def _would_forget(self, unit: Fact | FiledTurn) -> dict[str, Any]:
        """Return the units that a request to forget would hide, without a change."""
        if isinstance(unit, Fact):
            name, path = unit.id, unit.path
            turns = self.forgetting.evidence(unit).turns
        else:
            name, path, turns = unit.key, self._turn_path(unit.key), (unit.key,)
        shared = self.forgetting.sharing(turns, name)
        return {
            "id": name,
            "path": path,
            "dry_run": True,
            "turns": list(turns),
            "shared": [{"id": fact.id, "text": fact.text} for fact in shared],
        }

    def _find_unit(self, name: str) -> Fact | FiledTurn:
        """Return the turn with this name, or the memory as it is now in its note."""
        unit = self.index.find(name)
        return unit if isinstance(unit, FiledTurn) else self.editor.find(unit.id)

    def _turn_path(self, turn: str) -> str:
        placed = self.index.catalog.placed_units([turn]).get(turn)
        return placed[1].path if placed else ""


def _known_to(fact: Fact) -> str:
    """Return who may see a memory: `everybody`, `the owner alone` or a persona."""
    if fact.persona == UNKNOWN_PERSONA:
        return "the owner alone"
    return "everybody" if fact.persona is None else f"the persona {fact.persona}"


def _action_name(
    pinned: bool | None,  # noqa: FBT001
    status: str | None,
    layer: str | None,
) -> str:
    """Return the action in the log for an update: that of the first argument given."""
    if status:
        return "restore"
    if pinned is not None:
        return "pin" if pinned else "unpin"
    return "promote" if layer == "up" else "demote"
