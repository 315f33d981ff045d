"""The names of the owner, learned from the owner's words (rows A20, X17).

The names are aliases in the note of the owner, which also has the alias `the user`. A
user may add and remove names there.
"""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING

from engram.core.entities import (
    ALIAS,
    OWNER,
    entity_ref,
    is_of_owner,
    name_key,
    relation_label,
)
from engram.core.records import Extraction, FiledTurn, Relation, Turn
from engram.core.trust import source_class
from engram.extraction.rules.engine import EXTRACTOR, introduced_names, is_person
from engram.pipeline.write import action_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from engram.index.search import Index
    from engram.pipeline.entities import EntityWriter

OWNER_NAME = "owner-name"
"""The action in the log for a learned name of the owner."""

LEARNED = "the user has this name"


class OwnerNames:
    """Learns the names of the owner. For the writer thread."""

    def __init__(self, entity_writer: EntityWriter, index: Index) -> None:
        self.entity_writer = entity_writer
        self.vault = entity_writer.vault
        self.names = entity_writer.names
        self.index = index

    def learn(
        self, extraction: Extraction, turns: Sequence[Turn], now: datetime
    ) -> list[dict[str, object]]:
        """Learn the names that a batch gives the owner; return the rows for the log.

        Names come from introductions ("I'm Jonas") and from the labels of the user's
        turns. Names of other persons are left out, and so are names that were learned
        before, because a user may have removed them from the note.
        """
        self.entity_writer.refresh_if_stale()
        own = {
            turn.id: turn
            for turn in turns
            if is_of_owner(turn, self.names) and source_class(turn) == "user"
        }
        given = [*self._introduced(extraction.relations, own)]
        if extraction.extractor != EXTRACTOR:  # the rules report it as a relation
            given += chain.from_iterable(map(introduced_names, own.values()))
        given += _labels(own.values())
        unknown = [one for one in dict.fromkeys(given) if not self.names.is_owner(one)]
        if not unknown:
            return []

        logged = self.vault.logged_actions({OWNER_NAME})
        new = [
            name
            for name in unknown
            if (OWNER_NAME, name_key(name)) not in logged
            and not self._is_of_another(name)
        ]
        if not new:
            return []
        since = min(turn.occurred_at for turn in own.values())
        self.entity_writer.add_owner_names(new, since, now)
        by = extraction.extractor
        return [
            action_row(now, OWNER_NAME, name_key(name), LEARNED, by) | {"name": name}
            for name in new
        ]

    def _introduced(
        self, relations: Iterable[Relation], own: dict[str, Turn]
    ) -> Iterator[str]:
        """Yield the names by which the owner introduces themselves."""
        for relation in relations:
            turn = own.get(relation.turn_id)
            if turn is None or relation.ended:
                continue
            subject = relation.subject
            is_own = self.names.is_owner(subject) or subject == turn.speaker.strip()
            if is_own and relation_label(relation.type) == ALIAS:
                yield relation.object

    def _is_of_another(self, name: str) -> bool:
        """Return whether another person or thing has this name.

        That is an entity with a relation to the owner, one that is no person, or one
        that facts from other speakers are about.
        """
        entity = self.names.one(name)
        if entity is None:
            return bool(self.names.called(name))
        if entity == self.names.owner():
            return False
        ref, owner = entity_ref(entity.type, entity.name), entity_ref("person", OWNER)
        is_tied = any(
            {edge.source, edge.target} == {ref, owner}
            for edge in self.entity_writer.edges.at({ref})
        )
        is_no_person = entity.type not in {"person", "concept"}
        return is_tied or is_no_person or self._has_fact_from_others(name)

    def _has_fact_from_others(self, name: str) -> bool:
        """Return whether a fact about this name comes from a turn with another label."""
        key = name_key(name)
        quoted = json.dumps(name, ensure_ascii=False)
        facts = self.index.catalog.facts(quoted)
        keys = [one.source for one in facts if key in map(name_key, one.about)]
        units = self.index.units(keys)
        turns = (units.get(one) for one in keys)
        return not all(
            isinstance(unit, FiledTurn)
            and unit.turn.role == "user"
            and name_key(unit.turn.speaker) == key
            for unit in turns
        )


def _labels(turns: Iterable[Turn]) -> Iterator[str]:
    """Yield the labels of turns that are names of persons."""
    for turn in turns:
        if is_person(turn.speaker):
            yield turn.speaker.strip()
