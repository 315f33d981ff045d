"""Decide whether a new statement waits for review because of its source (row X27).

A model that followed an injected instruction states plainly what it was told to store.
So the text around the evidence is checked too: the whole quoted or pasted part, and the
surroundings in a tool's output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.categories import category_of
from engram.core.language.injection import instruction
from engram.core.language.quotations import is_title, quoted
from engram.core.language.wishes import is_standing_wish

if TYPE_CHECKING:
    from engram.core.policy import TrustPolicy
    from engram.core.records import Fact, Turn


def containment_reason(fact: Fact, turn: Turn, quote: str, policy: TrustPolicy) -> str:
    """Return why `fact`, based on the words `quote` of `turn`, waits in review, or ''.

    It waits if it did not come from the user and it, or the text around its evidence,
    reads like an instruction; and if it states a wish or a decision of the user but is
    based on words that the user only quotes or passes on (`X27`). "I'm opening a
    bakery!", which Paul wrote, is a plan of Paul's.
    """
    said_by = trust.source_class(turn)
    part = quoted(turn.text, quote)
    if said_by == "user" and not part:
        return ""
    around = part or (
        _near(turn.text, quote, policy.around) if turn.role == "tool" else quote
    )
    shape = instruction(fact.text) or instruction(around)
    if shape and not (turn.role == "user" and _only_style(fact, around)):
        return f"reads like an instruction: {shape}"
    if (
        said_by == "user"
        and category_of(fact.category).only_user
        and not fact.about  # news of a friend are about the friend
        and not is_title(part)
    ):
        return "words of another author about what the user wants"
    return ""


def _only_style(fact: Fact, around: str) -> bool:
    """Whether a statement only says in what style the assistant is to answer.

    "Answer in short sentences", imported from an earlier conversation, is a wish of the
    user, although it gives the assistant an order (`C19`).
    """
    shapes = {instruction(fact.text), instruction(around)} - {"", None}
    harmless = shapes <= _STYLE_SHAPES and "://" not in around
    return harmless and is_standing_wish(fact.text)


_STYLE_SHAPES = frozenset({"gives the assistant an order", "speaks to the reader"})


def _near(text: str, quote: str, reach: int) -> str:
    """Return `quote` with up to `reach` characters of `text` on either side."""
    place = max(0, text.find(quote))
    return text[max(0, place - reach) : place + len(quote) + reach]
