"""Held runs: changes beyond the limits of a run wait for approval in `review/` (law 6).

Each held pass has one note with a box to tick, and `state/held.json` lists the memories
concerned. After a tick, changes of these memories are made if they are planned again.
Without an answer nothing is changed; rejected changes are not planned again. The ends
of notes that engram did not write, and of protected memories (law 12), are always
proposed in these notes. A pass proposes nothing more while its note waits.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

from engram.core.records import Create, Edit
from engram.core.text import ulid
from engram.errors import EngramError
from engram.maintenance.passes.view import FileWrite, Pass
from engram.maintenance.schedule import PORTIONED_PASSES
from engram.vault import disk, frontmatter, reviews
from engram.vault.formats import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from engram.core.policy import ConsolidationPolicy
    from engram.maintenance.plan import RunPlan
    from engram.maintenance.report import Action
    from engram.vault.store import Vault


STATE = "state/held.json"
IdsByPass = dict[str, list[str]]
"""Ids of memories by the name of a pass."""
LISTED = 200
"""Maximum number of memories listed in a note."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Request:
    """A question about one pass: the reason, and its actions."""

    why: str
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class PlanWithHolds:
    """A plan, and by pass the reasons and actions that wait for approval."""

    plan: RunPlan
    held: Mapping[str, str] = field(default_factory=dict)
    held_actions: tuple[Action, ...] = ()


class Holds:
    """The limits and held passes of one vault. For the writer thread."""

    def __init__(self, vault: Vault, zone: tzinfo, *, ask: bool) -> None:
        self.vault = vault
        self.zone = zone
        self.ask = ask

    # -- state -------------------------------------------------------------------------

    def waiting(self) -> dict[str, list[str]]:
        """Return the ids of the memories that wait for approval, by pass."""
        return self._state()[0]

    def rejected(self) -> dict[str, list[str]]:
        """Return the ids of the memories whose change was rejected, by pass."""
        return self._state()[1]

    def status(self) -> dict[str, str]:
        """Return a description of the held changes, by pass."""
        waiting, _, later = self._state()
        reasons = {
            name: f"a run about {_counted(len(ids), 'memory', 'memories')} waits for "
            f"your decision in {path_of(name)}"
            for name, ids in waiting.items()
        }
        return reasons | {
            name: f"{len(ids)} memories will be archived in the next nights"
            for name, ids in later.items()
        }

    def _state(self) -> tuple[IdsByPass, IdsByPass, IdsByPass]:
        """Return, by pass, the ids that wait, were rejected, and are left for later."""
        try:
            stored = json.loads(self.vault.read(STATE))
        except (EngramError, ValueError):
            stored = {}
        waiting, rejected, later = (
            _ids_by_pass(stored, part) for part in ("waiting", "rejected", "later")
        )
        return waiting, rejected, later

    # -- limits of a run ---------------------------------------------------------------

    def closed(self) -> dict[str, frozenset[str]]:
        """Return, by pass, the memories that it must not change: waiting or rejected."""
        waiting, rejected, _ = self._state()
        names = waiting.keys() | rejected.keys()
        return {
            name: frozenset((*waiting.get(name, ()), *rejected.get(name, ())))
            for name in names
        }

    def apply_limits(
        self,
        make_plan: Callable[[RunPlan], None],
        empty: RunPlan,
        passes: Sequence[Pass],
    ) -> PlanWithHolds:
        """Return the plan within the limits of a run, with notes that ask for the rest.

        `make_plan` fills `empty`, and any plan that replaces it.
        """
        make_plan(empty)
        if not self.ask:
            return PlanWithHolds(empty)
        draft, requests = self._within_limits(make_plan, empty, passes)
        names = {one.__name__ for one in passes}
        waiting, _, _ = self._unanswered()
        reasons = {
            name: f"{name} waits for a decision in {path_of(name)}"
            for name in sorted(names & waiting.keys())
        }
        reasons |= {name: request.why for name, request in requests.items()}
        actions = [action for one in requests.values() for action in one.actions]
        self._ask(draft, requests, names)
        return PlanWithHolds(draft, reasons, tuple(actions))

    def _within_limits(
        self,
        make_plan: Callable[[RunPlan], None],
        draft: RunPlan,
        passes: Sequence[Pass],
    ) -> tuple[RunPlan, dict[str, Request]]:
        """Plan again without held passes until the plan is within the limits."""
        requests: dict[str, Request] = {}
        proposed: dict[str, dict[str, Action]] = {}
        protected: set[str] = set()
        policy = draft.view.policy.consolidation
        limit = run_limits(draft.active_count, draft.note_count, policy)
        for _ in passes:
            proposed |= draft.proposed
            protected |= draft.protected
            ended = Counter(draft.ended.values())
            reasons = hold_reasons(ended, Counter(draft.rewritten.values()), limit)
            for name, why in reasons.items():
                actions = [one for one in draft.actions if one.name == name]
                requests[name] = Request(
                    why, tuple(one for one in actions if one.memory)
                )
                ended.pop(name, None)
            portion = archive_quota(ended, limit)
            if not reasons and portion in {None, draft.portion}:
                break
            draft = draft.restarted(frozenset(requests), portion)
            make_plan(draft)
        waiting, _, _ = self._unanswered()
        for name, actions_by_memory in proposed.items():
            if actions_by_memory and name not in waiting:
                requests[name] = _with_proposals(
                    name,
                    requests.get(name),
                    tuple(actions_by_memory.values()),
                    protected,
                )
        return draft, requests

    def _ask(
        self, draft: RunPlan, requests: Mapping[str, Request], names: set[str]
    ) -> None:
        """Plan a note for each pass; an existing note gets further lines."""
        waiting, rejected, later = self._unanswered()
        for name, request in requests.items():
            if change := self._note(name, request, draft.now):
                draft.add("hold", change)
                ids = [action.memory for action in request.actions]
                waiting[name] = sorted({*waiting.get(name, ()), *ids})
        for name in names & (PORTIONED_PASSES | later.keys()):
            later[name] = sorted(draft.later.get(name, ()))
        later = {name: ids for name, ids in later.items() if ids}
        state = {"waiting": waiting, "rejected": rejected, "later": later}
        if raw := _state_bytes(state, self.vault):
            draft.add("hold", FileWrite(STATE, raw, "held changes"))

    def _unanswered(self) -> tuple[IdsByPass, IdsByPass, IdsByPass]:
        """Return the state; a question whose note was deleted counts as rejected."""
        waiting, rejected, later = self._state()
        for name in [one for one in waiting if not self.vault.exists(path_of(one))]:
            rejected[name] = sorted({*rejected.get(name, ()), *waiting.pop(name)})
        return waiting, rejected, later

    def _note(self, name: str, request: Request, now: datetime) -> Create | Edit | None:
        """Return the note about a held pass, or its new text.

        None if a user has ticked a box in it.
        """
        path, why = path_of(name), request.why
        lines = [
            f"- [[{action.path.rpartition('/')[2].removesuffix('.md')}]]: {action.why}"
            for action in request.actions
        ]
        if not self.vault.exists(path):
            keys = _keys(name, why, now, self.zone)
            return Create(path, keys, _body(name, why, lines), why)
        raw = self.vault.read(path)
        body = frontmatter.read(raw).body
        if reviews.ticked_answers(body):
            return None
        before = [line for line in body.splitlines() if line.startswith("- [[")]
        lines = list(dict.fromkeys([*before, *lines]))
        sha = disk.sha256(raw)
        return Edit(path, sha, {"end_reason": why}, why, _body(name, why, lines))

    # -- answers -----------------------------------------------------------------------

    def answered(self, name: str, *, rejected: bool) -> None:
        """Record an answer. A rejected pass never changes these memories."""
        waiting, refused, later = self._state()
        ids = waiting.pop(name, [])
        if rejected:
            refused[name] = sorted({*refused.get(name, ()), *ids})
        state = {"waiting": waiting, "rejected": refused, "later": later}
        if raw := _state_bytes(state, self.vault):
            self.vault.put(STATE, raw)


def _ids_by_pass(stored: Any, part: str) -> IdsByPass:
    """Return a part of the state, or {} if it is damaged."""
    try:
        rows = stored.get(part, {}).items()
        return {str(name): [str(one) for one in ids] for name, ids in rows}
    except (TypeError, AttributeError):
        return {}


def path_of(name: str) -> str:
    """Return the path of the note about a held pass."""
    return f"{reviews.FOLDER}/held-{name}.md"


def _with_proposals(
    name: str,
    request: Request | None,
    proposals: tuple[Action, ...],
    protected: Collection[str],
) -> Request:
    protected_count = sum(action.memory in protected for action in proposals)
    parts = []
    if foreign := len(proposals) - protected_count:
        notes = _counted(foreign, "note", "notes")
        parts.append(f"{name} would end {notes} that engram did not write")
    if protected_count:
        memories = _counted(protected_count, "protected memory", "protected memories")
        parts.append(f"{name} would end {memories}")
    why = "; ".join(parts)
    if request is None:
        return Request(why, proposals)
    return Request(f"{request.why}; {why}", (*request.actions, *proposals))


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


def _body(name: str, why: str, lines: Sequence[str]) -> str:
    """Return the text of the note: the reason, the memories, and the boxes."""
    listed = list(lines[:LISTED])
    if len(lines) > LISTED:
        listed.append(f"- and {len(lines) - LISTED} more")
    reason = f"{why[0].upper()}{why[1:]}. Nothing is changed before you approve it, and it can be undone afterwards."
    return (
        f"# Held: {name}\n\n{reason}\n\n"
        + "\n".join(listed)
        + "\n\n"
        + reviews.section(why, answers=reviews.HOLD)
    )


def _state_bytes(
    state: Mapping[str, Mapping[str, Sequence[str]]], vault: Vault
) -> bytes:
    """Return the bytes of the state, or b'' if it does not change."""
    raw = (json.dumps(state, indent=1, sort_keys=True) + "\n").encode()
    if vault.exists(STATE):
        return raw if vault.read(STATE) != raw else b""
    return raw if any(state.values()) else b""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The number of memories that a run may end or archive, and of notes to rewrite."""

    ended: int
    rewritten: int


def run_limits(active: int, notes: int, policy: ConsolidationPolicy) -> RunLimits:
    """Return the limits for a vault of this size, rounded down.

    They are `max(20, 2 %)` of the active memories and `max(50, 5 %)` of all notes.

    >>> from engram.core.policy import ConsolidationPolicy
    >>> run_limits(10_000, 2_000, ConsolidationPolicy())
    RunLimits(ended=200, rewritten=100)
    """
    return RunLimits(
        max(policy.hold_ended, int(policy.hold_ended_share * active)),
        max(policy.hold_rewritten, int(policy.hold_rewritten_share * notes)),
    )


def passes_over_limit(counts: Mapping[str, int], most: int) -> list[str]:
    """Return the passes to hold, largest first, so that the others stay within `most`.

    >>> passes_over_limit({"merge": 30, "drift": 4}, 20)
    ['merge']
    >>> passes_over_limit({"merge": 12, "drift": 4}, 20)
    []
    """
    left, found = sum(counts.values()), []
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        if left <= most:
            break
        found.append(name)
        left -= counts[name]
    return found


def hold_reasons(
    ended: Mapping[str, int], rewritten: Mapping[str, int], limit: RunLimits
) -> dict[str, str]:
    """Return the reason for each pass that a run holds, by the name of the pass.

    `ended` and `rewritten` count the planned changes by pass.
    """
    reasons = {
        name: f"{name} would end {ended[name]} memories, and a run may end {limit.ended} without asking"
        for name in passes_over_limit(
            {
                name: number
                for name, number in ended.items()
                if name not in PORTIONED_PASSES
            },
            limit.ended,
        )
    }
    for name in passes_over_limit(
        {name: number for name, number in rewritten.items() if name not in reasons},
        limit.rewritten,
    ):
        count, most = rewritten[name], limit.rewritten
        reasons[name] = (
            f"{name} would rewrite {count} notes, and a run may rewrite {most} without asking"
        )
    return reasons


def archive_quota(ended: Mapping[str, int], limit: RunLimits) -> int | None:
    """Return the number of memories a run may archive, or None if it plans no more.

    `ended` counts the planned changes by pass.
    """
    others = sum(
        number for name, number in ended.items() if name not in PORTIONED_PASSES
    )
    most = max(0, limit.ended - others)
    return most if sum(ended.values()) - others > most else None
