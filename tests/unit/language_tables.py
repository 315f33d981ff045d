"""How the tables of one language read a sentence, as lines that a test can compare."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from engram.core.policy import ExtractionPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract

if TYPE_CHECKING:
    from engram.core.language.states import State

_SAID = datetime(2026, 11, 21, 21, 14, tzinfo=ZoneInfo("Europe/Berlin"))  # a Saturday


def line(state: State) -> str:
    """A state as one line: a minus ends it, a plus tells news."""
    sign = "-" if state.over else "+" if state.change else ""
    value = f": {' '.join(state.value)}" if state.value else ""
    return f"{sign}{' '.join(state.subject)} {state.attribute}{value}"


def facts(text: str) -> list[str]:
    """The facts that the offline extractor finds in one turn of the user."""
    turn = Turn("t1", "s1", "user", text, _SAID)
    return [one.text for one in extract([turn], ExtractionPolicy()).candidates]
