"""Why a statement waits for a person although it is new: whose words it rests on, and
what they ask for (row X27).

A model that was taken in states plainly what it was told to store, so the words around
the evidence are looked at too: the whole of a quoted or pasted part, and what stands
near in a tool's output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.core import trust
from engram.core.categories import category_of
from engram.core.language.injection import instruction
from engram.core.language.quotations import is_title, quoted

if TYPE_CHECKING:
    from engram.core.policy import TrustPolicy
    from engram.core.records import Fact, Turn


def containment_reason(fact: Fact, turn: Turn, quote: str, policy: TrustPolicy) -> str:
    """Why `fact`, which rests on the words `quote` of `turn`, waits in review, or ''
    (`X27`).

    It does if it did not come from the user and reads like an instruction, or the words
    around its evidence do; and if it says what the user wants or has decided and rests
    on words that the user only quotes or passes on.
    """
    said_by = trust.source_class(turn)
    part = quoted(turn.text, quote)
    if said_by == "user" and not part:
        return ""
    around = part or (
        _near(turn.text, quote, policy.around) if turn.role == "tool" else quote
    )
    if shape := instruction(fact.text) or instruction(around):
        return f"reads like an instruction: {shape}"
    if (
        said_by == "user"
        and category_of(fact.category).only_user
        and not is_title(part)
    ):
        return "somebody else's words about what the user wants"
    return ""


def _near(text: str, quote: str, reach: int) -> str:
    """`quote` with as many characters of `text` on either side."""
    place = max(0, text.find(quote))
    return text[max(0, place - reach) : place + len(quote) + reach]
