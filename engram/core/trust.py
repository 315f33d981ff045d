"""Who said it, and what follows: how far it is believed and what it may do (rows D6,
X17, X27).

A *source class* comes from the caller's standing and the role of the turn, never from
text. `import` and `tool` are outside: anybody may have written what they bring. What
they say is filed and found like everything else, but it begins unsure, waits in review
when it reads like an instruction, and cannot take the place of what a person said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from engram.core.language.quotations import quoted
from engram.core.language.words import fold
from engram.core.records import REMEMBERED, ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.core.policy import TrustPolicy
    from engram.core.records import Fact, Turn

OWNER = "owner"
"""The standing of the owner's command line: a chat's, and it is shown what nobody knows
the persona of.
"""

SOURCE_CLASSES = ("user", "assistant", "interaction", "import", "tool", "dream")
"""The source classes, the most trusted first (row D6)."""

EXTERNAL = frozenset(("import", "tool"))
"""Classes whose words anybody may have written."""

SYNTHESIZED = "synthesized"
"""The origin of what consolidation concluded."""

DERIVED_ORIGINS = frozenset(("dream", SYNTHESIZED))
"""Origins of what consolidation concluded from other memories."""

RESTRICTED = {
    "pin": "pinned",
    "core": "core",
    "principle": "a principle",
    "profile": "part of the profile",
}
"""What nothing from outside may become: kept for ever, foundation, a rule, the picture
of the user.
"""

OWN_NOTE_LABEL = "your note"
"""The label of what a person wrote into the vault by hand."""

SUMMARY_LABEL = "engram (summary)"
"""The label of what engram told of conversations."""

_CONCLUDED = "engram (concluded)"
_UNKNOWN = "unknown (its source is missing)"
_SHOWN = {"interaction": "system"}
_RESERVED = frozenset(
    (
        *ROLES,
        *SOURCE_CLASSES,
        "engram",
        "owner",
        "you",
        "me",
        "chat",
        "remembered",
        "confirmed",
        "unknown",
    )
)
_NAME_CHARS = 40


class TurnSource(NamedTuple):
    """How a turn came in: the role it was said in, the caller's standing, and the
    speaker that the caller names.
    """

    role: str
    origin: str = "chat"
    speaker: str = ""

    @property
    def source_class(self) -> str:
        """Its source class (`D6`)."""
        return class_of_source(self.role, self.origin)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who said something, as it is shown with every line that is handed out (rows D6,
    X27).

    `best_source_class` is the source class; `label` names it in words, the class always first:
    `user`, `user (Caroline)`, `user (remembered)`, `assistant`, `system`, `tool`,
    `import (user)`, `import (assistant: Melanie)`, `your note`, `engram (concluded)`,
    `user (remembered; also tool)`. `trust` is 0–1.
    """

    said_by: str
    label: str
    trust: float


def of_turn(turn: Turn, policy: TrustPolicy) -> Provenance:
    """The provenance of a turn: from the caller's standing, never from its words or
    from a name it claims.
    """
    said = TurnSource(turn.role, turn.origin, turn.speaker)
    details = ["remembered"] if turn.session == REMEMBERED else []
    return Provenance(
        said.source_class, _label(said, details), trust(said.source_class, policy)
    )


def of_fact(
    fact: Fact, voices: Sequence[TurnSource], policy: TrustPolicy
) -> Provenance:
    """The provenance of a fact whose evidence was said in these voices.

    The class is that of the best source (`best_source_class`); the classes of further sources are
    named behind it.
    """
    said_by_class = best_source_class(fact, (one.source_class for one in voices))
    return Provenance(
        said_by_class, _fact_label(fact, voices), trust(said_by_class, policy)
    )


def of_note(*, own: bool, policy: TrustPolicy) -> Provenance:
    """The provenance of a note that is no memory: a person's `own`, or a summary that
    engram wrote.
    """
    source = "user" if own else "dream"
    return Provenance(
        source, OWN_NOTE_LABEL if own else SUMMARY_LABEL, trust(source, policy)
    )


def with_source_label(text: str, source: str) -> str:
    """`text` with the source class behind it, unless it is the user's: for lines in
    generated text.

    `marked("Ben likes tea.", "tool") == "Ben likes tea. (tool)"`
    """
    return text if source == "user" else f"{text} ({_SHOWN.get(source, source)})"


def _fact_label(fact: Fact, voices: Sequence[TurnSource]) -> str:
    if fact.origin in DERIVED_ORIGINS:
        return _CONCLUDED
    if not fact.source:
        return OWN_NOTE_LABEL
    confirmed = fact.verification == "user_confirmed"
    if not voices:
        return (
            f"user (confirmed; {_UNKNOWN.partition('(')[2]}" if confirmed else _UNKNOWN
        )
    best = min(voices, key=lambda one: SOURCE_CLASSES.index(one.source_class))
    others = sorted(
        {one.source_class for one in voices} - {best.source_class},
        key=SOURCE_CLASSES.index,
    )
    also = (
        [f"also {' and '.join(_SHOWN.get(one, one) for one in others)}"]
        if others
        else []
    )
    if confirmed and best.source_class != "user":
        return f"user (confirmed; from {_label(best, also)})"
    return _label(
        best, [*(["remembered"] if fact.origin in SOURCE_CLASSES else []), *also]
    )


def _label(said: TurnSource, details: Sequence[str]) -> str:
    """The class in words, then in brackets the role and the name that an import claims,
    or the name in a chat.
    """
    source, name = said.source_class, _plain_name(said.speaker)
    claimed = (
        ": ".join(filter(None, [said.role, name]))
        if source == "import"
        else name
        if source != "tool"
        else ""
    )
    inside = "; ".join(filter(None, [claimed, *details]))
    return _SHOWN.get(source, source) + (f" ({inside})" if inside else "")


def _plain_name(speaker: str) -> str:
    """A speaker's name that can neither close the bracket around it nor be taken for a
    source class.
    """
    name = " ".join(
        "".join(
            sign if sign.isalnum() or sign in "-'’." else " " for sign in speaker
        ).split()
    )
    reserved = not _RESERVED.isdisjoint(fold(name).split())
    return "" if reserved else name[:_NAME_CHARS].rstrip()


def caller_standing(caller: str, claimed: str = "") -> str:
    """The standing in which a caller hands in turns (`X17`): a chat may claim a lesser
    one, nobody a higher one.

    `standing("chat", "import") == "import"`; `standing("tool", "chat") == "tool"`.
    """
    return claimed if caller == "chat" and claimed in EXTERNAL else caller


def source_class(turn: Turn) -> str:
    """Who said a turn (`D6`): its standing where that is outside, else its role; a
    tool's output is a tool's.

    A system turn is a program's word about the conversation: interaction.
    """
    return class_of_source(turn.role, turn.origin)


def class_of_source(role: str, origin: str) -> str:
    """The source class of a turn that was said in this role and handed in like that
    (`D6`).
    """
    if origin != "chat":
        return origin if origin in EXTERNAL else "tool"
    return role if role in {"user", "assistant", "tool"} else "interaction"


def turn_as_evidence(turn: Turn, words: str) -> Turn:
    """The turn as it counts for what rests on its `words` (`X27`): what the user only
    passes on is interaction.

    `My name is Ben` in `Tom wrote: "My name is Ben"` is no word of the user's.
    """
    passed_on = source_class(turn) == "user" and quoted(turn.text, words)
    return replace(turn, role="system") if passed_on else turn


def fact_class(fact: Fact, evidence: Iterable[Turn]) -> str:
    """Who says a fact (`D6`): the most trusted of the turns that are its evidence.

    What consolidation made is a dream; what a person wrote, edited or confirmed is the
    user's; a fact whose evidence is not to be found is an import's.
    """
    return best_source_class(fact, map(source_class, evidence))


def best_source_class(fact: Fact, voices: Iterable[str]) -> str:
    """Who says a fact whose evidence has these source classes (`D6`)."""
    if fact.origin in DERIVED_ORIGINS:
        return "dream"
    if fact.verification == "user_confirmed" or not fact.source:
        return "user"
    return min(voices, key=SOURCE_CLASSES.index, default="import")


def trust(source: str, policy: TrustPolicy) -> float:
    """How far a source class is believed, 0–1 (`D6`)."""
    return {
        "user": policy.user,
        "assistant": policy.assistant,
        "interaction": policy.interaction,
        "import": policy.ingest,
        "tool": policy.tool,
        "dream": policy.dream,
    }[source]


def cap_confidence(confidence: float, source: str, policy: TrustPolicy) -> float:
    """`min(confidence, trust)`, 0–1: at the start and after each reinforcement nobody
    is believed beyond their trust.

    (`D6`, `X27`) `cap(0.95, "import", policy) == 0.5`: inferred, not speculative, so it
    does not expire.
    """
    return min(confidence, trust(source, policy))


def supersede_refusal(new: str, old: str, policy: TrustPolicy) -> str | None:
    """Why a fact of class `new` may not take the place of one of class `old`, or None
    (`X27`).
    """
    if trust(new, policy) >= trust(old, policy):
        return None
    return f"what {_NAMES[new]} says does not replace what {_NAMES[old]} said"


def restriction(deed: str, source: str) -> str | None:
    """Why something of this class may not be pinned, core, a principle or profile
    (`RESTRICTED`), or None (`X27`).
    """
    return (
        f"what {_NAMES[source]} says cannot be {RESTRICTED[deed]}"
        if source in EXTERNAL
        else None
    )


def independent_sources(turns: Iterable[Turn]) -> int:
    """How many sources say it (`X27`): each turn of the user is one, all of a session's
    turns of another class one.

    A turn that is handed in again counts once.
    """
    sources = set()
    for turn in turns:
        best_source_class = source_class(turn)
        sources.add(
            (
                best_source_class,
                turn.session,
                turn.id if best_source_class == "user" else "",
            )
        )
    return len(sources)


_NAMES = {
    "user": "the user",
    "assistant": "the assistant",
    "interaction": "a program",
    "import": "an import",
    "tool": "a tool",
    "dream": "consolidation",
}
