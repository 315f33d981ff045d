"""What one batch will do to the vault, gathered before anything is written (rows A8,
A10, A11, A12, C9, X8, X9).

Facts are kept as they will stand, so that a later statement of the batch meets what an
earlier one did.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core import dedup
from engram.core.classify import artifact_of, is_artifact
from engram.core.language.permanent_attributes import REMEMBER_TAG
from engram.core.records import Create, Edit, Fact
from engram.core.text import content_hash
from engram.vault import artifacts, facts, reviews
from engram.vault.formats import time_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from engram.config import Settings
    from engram.core.dedup import Effect, Neighbour
    from engram.core.records import Change
    from engram.pipeline.write import NoteWriter

Case = tuple[str, str]
"""Id and path of a note that waits for a person."""

ENDED = {"invalidate": "invalidated", "supersede": "superseded"}


class WritePlan:
    """A batch's changes in the making; in which order they are written, their owner
    knows (`Climb`).

    `met` are the neighbours of its statements, by id: one search tells of surprise,
    doubles and ties.
    """

    def __init__(
        self, settings: Settings, now: datetime, note_writer: NoteWriter
    ) -> None:
        self.settings = settings
        self.now = now
        self.note_writer = note_writer
        self.rows: list[dict[str, object]] = []
        self.stones: list[dict[str, object]] = []
        self.retired = 0
        self.met: dict[str, Sequence[Neighbour]] = {}
        self._new: dict[str, tuple[Fact, str, str]] = {}
        self._known: dict[str, Fact] = {}
        self._keys: dict[str, dict[str, object]] = {}
        self._bodies: dict[str, str] = {}
        self._whys: dict[str, str] = {}
        self._cases: dict[str, Create] = {}
        self._artifacts: list[Create] = []

    # -- what stands, once it is written -----------------------------------------------

    def seen(self, fact: Fact) -> Fact:
        """`fact` as this plan leaves it."""
        return (
            self._new[fact.id][0]
            if fact.id in self._new
            else self._known.get(fact.id, fact)
        )

    def fact(self, fact_id: str) -> Fact | None:
        """The fact with this id, new or known, as this plan leaves it."""
        known = (
            self._new[fact_id][0]
            if fact_id in self._new
            else self.note_writer.index.catalog.fact(fact_id)
        )
        return known and self.seen(known)

    @property
    def new(self) -> tuple[Fact, ...]:
        """The facts that get a note."""
        return tuple(fact for fact, *_ in self._new.values())

    def is_new(self, fact: Fact) -> bool:
        """Whether it is one of these."""
        return fact.id in self._new

    def twin(self, digest: str, persona: str | None, when: datetime) -> str | None:
        """The id of a fact that states the same, and that this plan leaves active, for
        words said `when` (`C5`).
        """
        known = self.note_writer.index.catalog.duplicate(digest, persona, when)
        told = [*self.new, *filter(None, [self.fact(known.id) if known else None])]
        return next(
            (
                fact.id
                for fact in told
                if fact.status == "active" and content_hash(fact.text) == digest
            ),
            None,
        )

    def is_buried(self, digest: str) -> bool:
        """Whether a person removed or corrected this statement, before or in this batch
        (`X8`).
        """
        return digest in self.note_writer.index.tombstones.keys or any(
            stone["hash"] == digest for stone in self.stones
        )

    @property
    def asked(self) -> list[Case]:
        """The questions to the person, and the new facts that themselves ask (`X9`)."""
        doubtful = [
            (fact.id, fact.path) for fact, _, section in self._new.values() if section
        ]
        return [
            *((str(case.keys["id"]), case.path) for case in self._cases.values()),
            *doubtful,
        ]

    # -- planning ----------------------------------------------------------------------

    def placed(self, fact: Fact) -> Fact:
        """A new fact with the path its note will have."""
        return replace(
            fact,
            path=self.note_writer.path_of(fact, [known.path for known in self.new]),
        )

    def add(self, fact: Fact, why: str, quote: str, *, asking: bool) -> None:
        """A new fact, which has its path, gets its note; with `asking` the note itself
        asks whether to keep it.
        """
        self._new[fact.id] = (fact, why, reviews.section(why, quote) if asking else "")
        policy = self.settings.policy.ladder
        if (
            quote
            and fact.status == "active"
            and is_artifact(fact.category, fact.confidence, policy)
        ):
            self._artifacts.append(
                artifacts.artifact(
                    fact, artifact_of(fact.category), quote, self.settings.zone
                )
            )

    def confirm(self, fact: Fact, new: Fact | None = None) -> None:
        """A fact seen again loses its speculative expiry; its file is otherwise left
        alone (`C17`).

        Where the user asked to keep it this time, in the words of `new`, it takes the
        tag that says so (model §0.1).
        """
        seen = self.seen(fact)
        keys = self.note_writer.confirmed(seen)
        after = replace(seen, expires=None) if keys else seen
        if new and (tags := _asked(seen, new)) != seen.tags:
            keys, after = keys | {"tags": list(tags)}, replace(after, tags=tags)
        if keys:
            self._patch(after, keys, "confirmed by a later extraction")

    def carry_out(self, effect: Effect, new: Fact, quotes: Mapping[str, str]) -> Fact:
        """What `effect` does to a known fact beside the statement `new`; `new` as it
        will stand.
        """
        old = self.seen(effect.fact)
        if effect.deed == "confirm":
            self.confirm(old, new)
        elif effect.deed in {"reinforce", "rewrite"}:
            self._agree(effect, old, new)
        elif effect.deed == "ask":
            self._ask(old, new, effect.why, quotes)
        else:
            new = self._contradict(effect, old, new)
        return new

    def precede(self, young: Fact, old: Fact) -> None:
        """A known fact succeeds an older statement that is heard of only now."""
        names = tuple(dict.fromkeys((*young.supersedes, old.id)))
        self._patch(
            replace(young, supersedes=names),
            {"supersedes": list(names)},
            "something older was heard of",
        )

    def _agree(self, effect: Effect, old: Fact, new: Fact) -> None:
        """The known fact gains confidence and evidence; rewritten, it says it in the
        newer words (`A8`, `C17`).
        """
        united = dedup.merge(old, new)
        if effect.confidence is not None:
            united = replace(united, confidence=effect.confidence)
        body = self._rewritten(old, new) if effect.deed == "rewrite" else None
        if body is None and not (effect.deed == "rewrite" and old.id in self._new):
            united = replace(
                united,
                text=old.text,
                about=old.about,
                tags=_asked(old, new),
                importance=old.importance,
            )
        keys = facts.fact_keys(united, self.settings.zone)
        kept = ("confidence", "importance", "about", "tags", "source")
        had = facts.fact_keys(old, self.settings.zone)
        changed = {
            key: keys[key] for key in kept if key in keys and keys[key] != had.get(key)
        }
        if ended := self.note_writer.confirmed(old):
            changed |= ended
            united = replace(united, expires=None)
        self._patch(united, changed, effect.why, body)

    def _rewritten(self, old: Fact, new: Fact) -> str | None:
        """The body of a known fact in the words of the new one; None where a person put
        it otherwise, or it is new.
        """
        if old.id in self._new:
            return None
        body = self._bodies.get(old.id) or self.note_writer.body(old.path)
        said = (new.created or self.now).astimezone(self.settings.zone)
        return facts.with_statement(body, old.text, new.text, f"{said:%Y-%m-%d}")

    def _contradict(self, effect: Effect, old: Fact, new: Fact) -> Fact:
        """The known fact is weakened, or ends where the new one begins; both are linked
        (`A10`, `A11`, `X8`).
        """
        zone = self.settings.zone
        by = tuple(dict.fromkeys((*old.superseded_by, new.id)))
        keys: dict[str, object] = {"superseded_by": list(by)}
        ended = replace(old, superseded_by=by)
        if effect.deed == "weaken":
            confidence = (
                old.confidence if effect.confidence is None else effect.confidence
            )
            keys["confidence"] = float(confidence)
            ended = replace(ended, confidence=confidence)
        else:
            until = new.valid_from or new.created or self.now
            status = ENDED[effect.deed]
            keys |= {
                "status": status,
                "end_reason": effect.why,
                "valid_until": time_text(until, zone),
            }
            ended = replace(
                ended, status=status, end_reason=effect.why, valid_until=until
            )
            self.retired += 1
        if effect.bury and not self.is_buried(digest := content_hash(old.text)):
            at = self.now.isoformat(timespec="seconds")
            self.stones.append(
                {"at": at, "hash": digest, "memory": old.id, "reason": effect.why}
            )
        self._patch(ended, keys, effect.why)
        return replace(new, supersedes=tuple(dict.fromkeys((*new.supersedes, old.id))))

    def _ask(self, old: Fact, new: Fact, why: str, quotes: Mapping[str, str]) -> None:
        """A note that asks the person, once for a pair (`X9`)."""
        if self.note_writer.told("decide", reviews.case_id(new.id, old.id)):
            return
        case = reviews.conflict_note(
            new, old, why, self.now, self.settings.zone, quotes
        )
        # else it was written before the process ended
        if not self.note_writer.index.scanner.exists(case.path):
            self._cases.setdefault(case.path, case)

    def _patch(
        self, fact: Fact, keys: Mapping[str, object], why: str, body: str | None = None
    ) -> None:
        if fact.id in self._new:
            self._new[fact.id] = (fact, *self._new[fact.id][1:])
            return
        self._known[fact.id] = fact
        self._keys.setdefault(fact.id, {}).update(keys)
        self._whys[fact.id] = why
        if body is not None:
            self._bodies[fact.id] = body

    @property
    def reweighed(self) -> list[str]:
        """The ids of known facts whose confidence changes."""
        return [name for name, keys in self._keys.items() if "confidence" in keys]

    # -- the result --------------------------------------------------------------------

    @property
    def marks(self) -> list[Change]:
        """What happens to facts that are known, and the questions to the person."""
        edits = [
            Edit(
                fact.path,
                fact.sha,
                self._keys[fact.id],
                self._whys[fact.id],
                self._bodies.get(fact.id),
            )
            for fact in self._known.values()
            if self._keys[fact.id] or fact.id in self._bodies
        ]
        return [*edits, *self._cases.values()]

    @property
    def artifacts(self) -> list[Change]:
        """The very words that are kept (`C9`)."""
        return list(self._artifacts)

    @property
    def notes(self) -> list[Change]:
        """The new facts."""
        zone = self.settings.zone
        return [
            Create(
                fact.path,
                facts.fact_keys(fact, zone),
                facts.fact_body(fact.text, fact.source, section),
                why,
            )
            for fact, why, section in self._new.values()
        ]


def _asked(old: Fact, new: Fact) -> tuple[str, ...]:
    """The tags of a known fact, with the one that says that the user asked to keep it
    where the new words do.
    """
    return (*old.tags, *{REMEMBER_TAG}.intersection(new.tags).difference(old.tags))
