"""Held runs: what a run would do beyond its bounds waits for a person's word in
`review/` (law 6 of the model).

Each held pass has one note with one box to tick, and `state/held.json` says which
memories it is about: only what is planned for them again is done after a tick. A hold
without an answer never applies; one that was rejected is not planned again. The ends of
notes that engram did not write are proposed in the same notes, however few; while such
a note waits, its pass proposes no more.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engram.core import holds
from engram.core.records import Create, Edit
from engram.core.text import ulid
from engram.errors import EngramError
from engram.maintenance.passes import FileWrite
from engram.maintenance.plan import Action, RunPlan
from engram.vault import disk, frontmatter, reviews
from engram.vault.formats import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import tzinfo

    from engram.maintenance.passes import Pass
    from engram.vault.store import Vault

STATE = "state/held.json"
LISTED = 200
"""Memories that a note lists."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Holds:
    """Keeps the runs of one vault within their bounds. Belongs to the one writer."""

    def __init__(self, vault: Vault, zone: tzinfo, *, ask: bool) -> None:
        self.vault = vault
        self.zone = zone
        self.ask = ask

    # -- what waits --------------------------------------------------------------------

    def waiting(self) -> dict[str, list[str]]:
        """The ids of the memories that each held pass would end or rewrite."""
        return self._state("waiting")

    def rejected(self) -> dict[str, list[str]]:
        """The ids of the memories that a person let no pass of this name touch."""
        return self._state("rejected")

    def status(self) -> dict[str, str]:
        """What is held, in words, by pass."""
        held = {
            name: f"a run about {_counted(len(ids), 'memory', 'memories')} waits for your word in {path_of(name)}"
            for name, ids in self.waiting().items()
        }
        later = self._state("later").items()
        return held | {
            name: f"{len(ids)} memories are put away in the next nights"
            for name, ids in later
        }

    def _state(self, part: str) -> dict[str, list[str]]:
        try:
            held = json.loads(self.vault.read(STATE)).get(part, {})
            return {str(name): [str(one) for one in ids] for name, ids in held.items()}
        except (EngramError, ValueError, TypeError, AttributeError):
            return {}

    # -- a run within its bounds -------------------------------------------------------

    def closed(self) -> dict[str, frozenset[str]]:
        """The memories that a pass of this name leaves alone: those of which a person
        is asked, or said no.
        """
        waiting, rejected = self.waiting(), self.rejected()
        names = waiting.keys() | rejected.keys()
        return {
            name: frozenset((*waiting.get(name, ()), *rejected.get(name, ())))
            for name in names
        }

    def bounded(
        self, plan: Callable[[RunPlan], None], draft: RunPlan, passes: Sequence[Pass]
    ) -> RunPlan:
        """The run as `plan` makes it, without what is beyond its bounds, and with the
        notes that ask for that.

        `draft` is empty; `plan` fills it, and others like it.
        """
        plan(draft)
        if not self.ask:
            return draft
        held, proposed = (
            dict[str, tuple[str, tuple[Action, ...]]](),
            dict[str, dict[str, Action]](),
        )
        limit = holds.bounds(draft.active, draft.notes, draft.view.policy.consolidation)
        for _ in passes:
            proposed |= draft.proposed
            ended, rewritten = (
                Counter(draft.ended.values()),
                Counter(draft.rewritten.values()),
            )
            reasons = holds.held(ended, rewritten, limit)
            for name, why in reasons.items():
                held[name] = (
                    why,
                    tuple(
                        one for one in draft.deeds if one.name == name and one.memory
                    ),
                )
                ended.pop(name, None)
            portion = holds.portion(ended, limit)
            if not reasons and portion in {None, draft.portion}:
                break
            draft = draft.anew()
            draft.skip, draft.portion = frozenset(held), portion
            plan(draft)
        asked, (waiting, _) = {one.__name__ for one in passes}, self._unanswered()
        draft.held = {
            name: f"{name} waits for a word in {path_of(name)}"
            for name in sorted(asked & waiting.keys())
        }
        held |= _with_proposed(
            held,
            {
                name: one
                for name, one in proposed.items()
                if one and name not in waiting
            },
        )
        draft.held |= {name: why for name, (why, _) in held.items()}
        draft.holding = [deed for _, deeds in held.values() for deed in deeds]
        self._asked(draft, held, asked)
        return draft

    def _asked(
        self,
        draft: RunPlan,
        held: Mapping[str, tuple[str, tuple[Action, ...]]],
        asked: set[str],
    ) -> None:
        """Plan the notes that ask, one for a pass: what is held besides what one asks
        already is added to it.
        """
        (waiting, rejected), later = self._unanswered(), self._state("later")
        for name, (why, deeds) in held.items():
            if change := self._note(name, why, deeds, draft.now):
                draft.add("hold", change)
                waiting[name] = sorted(
                    {*waiting.get(name, ()), *(one.memory for one in deeds)}
                )
        for name in asked & (holds.PORTIONED | later.keys()):
            later[name] = sorted(draft.later.get(name, ()))
        later = {name: ids for name, ids in later.items() if ids}
        if raw := _state(
            {"waiting": waiting, "rejected": rejected, "later": later}, self.vault
        ):
            draft.add("hold", FileWrite(STATE, raw, "what is held"))

    def _unanswered(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """What waits and what was rejected, by pass; a question whose note a person
        deleted is rejected.
        """
        waiting, rejected = self.waiting(), self.rejected()
        for name in [one for one in waiting if not self.vault.exists(path_of(one))]:
            rejected[name] = sorted({*rejected.get(name, ()), *waiting.pop(name)})
        return waiting, rejected

    def _note(
        self, name: str, why: str, deeds: Sequence[Action], now: datetime
    ) -> Create | Edit | None:
        """The note about a held pass, or its new words; None where a person ticked a
        box in it.
        """
        path, lines = path_of(name), [_line(one) for one in deeds]
        if not self.vault.exists(path):
            return Create(
                path, _keys(name, why, now, self.zone), _body(name, why, lines), why
            )
        raw = self.vault.read(path)
        body = frontmatter.read(raw).body
        if reviews.ticked(body):
            return None
        before = [line for line in body.splitlines() if line.startswith("- [[")]
        lines = list(dict.fromkeys([*before, *lines]))
        return Edit(
            path, disk.sha256(raw), {"end_reason": why}, why, _body(name, why, lines)
        )

    # -- a person's word ---------------------------------------------------------------

    def answered(self, name: str, *, rejected: bool) -> None:
        """A hold is answered; where it was `rejected`, the pass never touches these
        memories again.
        """
        waiting, refused = self.waiting(), self.rejected()
        ids = waiting.pop(name, [])
        if rejected:
            refused[name] = sorted({*refused.get(name, ()), *ids})
        state = {"waiting": waiting, "rejected": refused, "later": self._state("later")}
        if raw := _state(state, self.vault):
            if self.vault.exists(STATE):
                self.vault.rewrite(STATE, lambda _: raw)
            else:
                self.vault.create(STATE, raw)


def path_of(name: str) -> str:
    """Where the note about a held pass stands."""
    return f"{reviews.FOLDER}/held-{name}.md"


def _with_proposed(
    held: Mapping[str, tuple[str, tuple[Action, ...]]],
    proposed: Mapping[str, Mapping[str, Action]],
) -> dict[str, tuple[str, tuple[Action, ...]]]:
    """What to ask about each pass of `proposed`: why, and what it would do, with what
    is `held` of it besides.
    """
    found = {}
    for name, deeds in proposed.items():
        why = f"{name} would end {_counted(len(deeds), 'note', 'notes')} that engram did not write"
        before, also = held.get(name, ("", ()))
        found[name] = f"{before}; {why}" if before else why, (*also, *deeds.values())
    return found


def _counted(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def _keys(name: str, why: str, now: datetime, zone: tzinfo) -> dict[str, object]:
    return {
        "id": ulid(_EPOCH, f"hold\n{name}"),
        "kind": reviews.KIND,
        "status": "review",
        "created": time_text(now, zone),
        "holds": name,
        "end_reason": why,
    }


def _line(one: Action) -> str:
    return f"- [[{one.path.rpartition('/')[2].removesuffix('.md')}]]: {one.why}"


def _body(name: str, why: str, lines: Sequence[str]) -> str:
    """What would be done to which memories, and the boxes."""
    listed = list(lines[:LISTED])
    if len(lines) > LISTED:
        listed.append(f"- and {len(lines) - LISTED} more")
    said = f"{why[0].upper()}{why[1:]}. Nothing of it is done before you say so, and it can be taken back afterwards."
    return (
        f"# Held: {name}\n\n{said}\n\n"
        + "\n".join(listed)
        + "\n\n"
        + reviews.section(why, answers=reviews.HOLD)
    )


def _state(state: Mapping[str, Mapping[str, Sequence[str]]], vault: Vault) -> bytes:
    """The bytes of the state, b'' where they stand already or say nothing at all."""
    raw = (json.dumps(state, indent=1, sort_keys=True) + "\n").encode()
    if vault.exists(STATE):
        return raw if vault.read(STATE) != raw else b""
    return raw if any(state.values()) else b""
