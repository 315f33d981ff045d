"""Search for units by a state, such as a person's home: by attribute, not similarity.

"I've moved to Augsburg" and "The user lives in Munich" share no word, so a search by
words or vectors does not relate them (A7).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.state_cues import cues
from engram.core.language.state_subjects import USER
from engram.core.language.states import states
from engram.core.language.words import content, words
from engram.core.ranking import Question
from engram.core.records import Fact
from engram.core.text import normalise
from engram.index.filters import SearchFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from engram.config import Settings
    from engram.core.language.states import State
    from engram.core.records import Turn
    from engram.index.database import Unit
    from engram.index.search import Index

_POOL = 4
"""Hits that are parsed for each unit, since many of them do not have the state."""
_USER_NOUNS = languages.all_words("similarity", "user_nouns")
"""The nouns that the offline extractor uses for the user."""


class StateSearch:
    """A search for facts and turns by their states. Thread-safe.

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
        self, states: Iterable[State], statuses: Collection[str], persona: str | None
    ) -> list[Fact]:
        """Return the facts of these statuses with possibly equal states, best first.

        With a persona only those that it sees.
        """
        where = SearchFilter(("fact",), statuses, persona)
        units = self.units(states, where, self.settings.policy.ladder.pool)
        return [unit for unit in units.values() if isinstance(unit, Fact)]

    def units(
        self, states: Iterable[State], where: SearchFilter, number: int
    ) -> dict[str, Unit]:
        """Return the best `number` units for each of the states, by key."""
        found: dict[str, Unit] = {}
        own = self.name_words()
        searches = (_question(state, own) for state in states)
        questions = {question.text: question for question in searches}
        for question in questions.values():
            hits = self.index.lexical.search(question, where, _POOL * number).hits
            keys = (hit.key for hit in hits if hit.parts.get("text"))
            found |= self.index.units(list(islice(keys, number)))
        return found


def _question(state: State, own: frozenset[str]) -> Question:
    """Return a search for the facts about an attribute of a subject."""
    if state.attribute == "alive":
        named: Sequence[str] = (*state.subject, *state.value)
        listed = [*named, *cues("pet"), *cues("partner")]
    else:
        listed = [*state.subject, *state.value, *cues(state.attribute)]
    if state.subject[0] == USER:
        listed += sorted(_USER_NOUNS | own)
    listed_words = [word for phrase in listed for word in words(phrase)]
    found = [*listed_words, *content(listed_words, "en")]
    return Question(text=" ".join(listed), words=tuple(dict.fromkeys(found)))
