"""Search for facts by their slot, such as a person's home, not by similarity (A7, E5).

"I've moved to Augsburg" and "The user lives in Munich" share no word, so a search by
words or vectors does not relate them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core.attributes import attribute
from engram.core.language.states import (
    USER,
    State,
    bare_subject,
    names_same,
    of_owner,
    states,
)
from engram.core.language.words import root
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from engram.config import Settings
    from engram.core.records import Fact, Turn
    from engram.index.search import Index


class StateSearch:
    """A search for facts by their states. Thread-safe.

    `owner_names` returns the names of the owner, which count as the user.
    """

    def __init__(
        self,
        index: Index,
        settings: Settings,
        owner_names: Callable[[], tuple[str, ...]],
    ) -> None:
        self.index = index
        self.settings = settings
        self.owner_names = owner_names

    def states_of(self, *texts: str) -> tuple[State, ...]:
        """Return the states in the texts of one statement, each once."""
        names = self.name_words()
        found = (
            state for text in dict.fromkeys(texts) for state in states(text, names)
        )
        return tuple(dict.fromkeys(found))

    def name_words(self) -> frozenset[str]:
        """Return the folded words of the owner's names."""
        return frozenset(
            word for name in self.owner_names() for word in normalise(name).split()
        )

    def is_of_owner(self, turn: Turn) -> bool:
        """Return whether `I` in a turn is the owner; in a group the label decides."""
        if turn.role != "user":
            return False
        if not turn.group or not turn.speaker.strip():
            return True
        return self.name_words().issuperset(normalise(turn.speaker).split())

    def near(
        self,
        states: Iterable[State],
        statuses: Collection[str],
        persona: str | None,
        *,
        every: bool = False,
    ) -> list[Fact]:
        """Return the facts of these statuses in the slots of `states`, newest first.

        There are at most `policy.dedup.pool` for each state. With a persona only those
        that it sees; with `every` all values of an attribute that may have several.
        """
        keys: dict[str, None] = {}
        for state in states:
            latest = sorted(self._keys(state, every=every), reverse=True)
            keys |= dict.fromkeys(latest[: self.settings.policy.dedup.pool])
        return self._facts(keys, statuses, persona)

    def standing(self, attribute: str, persona: str | None) -> list[Fact]:
        """Return the active facts that give an attribute of anybody, the user's first."""
        own = self.name_words()
        slots = self.index.catalog.in_slot(attribute)
        keys = {
            key: of_owner(tuple(subject.split()), own) != (USER,)
            for key, subject, _ in reversed(slots)
        }
        ordered = sorted(keys, key=keys.__getitem__)[: self.settings.policy.dedup.pool]
        return self._facts(ordered, ("active",), persona)

    def _facts(
        self, keys: Iterable[str], statuses: Collection[str], persona: str | None
    ) -> list[Fact]:
        return [
            unit
            for unit in self.index.facts(keys)
            if unit.status in statuses
            and (persona is None or unit.persona in {None, persona})
        ]

    def _keys(self, state: State, *, every: bool) -> Iterator[str]:
        """Yield the ids of the facts that a state may replace or end."""
        if state.attribute == "alive":
            words = bare_subject(state.subject)
            for key, _, _ in self.index.catalog.slots_naming(words[-1]):
                yield key
            return
        own, row = self.name_words(), attribute(state.attribute)
        new = _roots(state.value, state)
        for key, subject, value in self.index.catalog.in_slot(state.attribute):
            told = of_owner(tuple(subject.split()), own)
            same = names_same(told, state.subject) or (
                row.thing
                and bool({*bare_subject(told)} & {*bare_subject(state.subject)})
            )
            # of many values only the same one counts: "no coffee", "likes coffee"
            is_same_value = not new or new & _roots(value.split(), state)
            if same and (every or row.single or is_same_value):
                yield key


def _roots(words: Iterable[str], state: State) -> set[str]:
    return {root(word, state.language) for word in words}
