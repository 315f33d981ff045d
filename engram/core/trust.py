"""Source classes, and the trust in each (rows D6, X17, X27).

A *source class* follows from the caller's standing and the role of the turn, never from
text. `import` and `tool` are external: anyone may have written their text. Their
statements are stored and found like all others, but they begin with low confidence,
wait in review if they read like an instruction, and cannot replace a statement of the
user. Only the user makes promises, principles and standing wishes.

A model that followed an injected instruction returns a plain statement. Therefore the
text around the evidence is checked too (`containment_reason`): the whole quoted or
pasted part, and the surroundings in a tool's output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from engram.core.categories import PLAIN, category_of
from engram.core.language import languages
from engram.core.language.injection import instruction
from engram.core.language.quotations import is_title, quoted
from engram.core.language.wishes import is_standing_wish
from engram.core.language.words import FIRST_PERSON, fold, of_oneself, words
from engram.core.records import REMEMBERED, ROLES, Fact, Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from engram.core.policy import TrustPolicy


OWNER = "owner"
"""The standing of the owner's command line.

It equals that of a chat, but also sees notes of an unknown persona.
"""

SOURCE_CLASSES = ("user", "assistant", "interaction", "import", "tool", "dream")
"""The source classes, the most trusted first (row D6)."""

EXTERNAL = frozenset(("import", "tool"))
"""The classes whose text any author may have written."""

SYNTHESIZED = "synthesized"
"""The origin of a conclusion of consolidation."""

OTHERS = frozenset(("assistant", *EXTERNAL))
"""The classes that state nothing on behalf of the user."""

AGENT = "agent"
"""The origin of a memory that an agent stored without being asked by the user.

Its source class is `assistant`.
"""

DERIVED_ORIGINS = frozenset(("dream", SYNTHESIZED))
"""The origins of conclusions from other memories."""

RESTRICTED = {
    "pin": "pinned",
    "core": "core",
    "principle": "a principle",
    "commitment": "a promise of the user",
}
"""The uses that memories from other sources than the user are excluded from."""

OWN_NOTE_LABEL = "your note"
"""The label of a note that the user wrote by hand."""

SUMMARY_LABEL = "engram (summary)"
"""The label of a summary that engram wrote."""

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
    """The role of a turn, the caller's standing and the speaker that it names."""

    role: str
    origin: str = "chat"
    speaker: str = ""

    @property
    def source_class(self) -> str:
        """Return its source class (`D6`)."""
        return class_of_source(self.role, self.origin)


@dataclass(frozen=True, slots=True)
class Provenance:
    """The source of a statement, as shown with every recalled line (rows D6, X27).

    `said_by` is the source class; `label` names it in words, the class always first:
    `user`, `user (Caroline)`, `user (remembered)`, `assistant`, `system`, `tool`,
    `import (user)`, `import (assistant: Melanie)`, `your note`, `engram (concluded)`,
    `user (remembered; also tool)`. `trust` is 0–1.
    """

    said_by: str
    label: str
    trust: float


def of_turn(turn: Turn, policy: TrustPolicy) -> Provenance:
    """Return the provenance of a turn.

    It follows from the caller's standing, never from the text or a claimed name.
    """
    source = TurnSource(turn.role, turn.origin, turn.speaker)
    details = ("remembered",) if turn.session == REMEMBERED else ()
    return Provenance(
        source.source_class, _label(source, details), trust(source.source_class, policy)
    )


def of_fact(
    fact: Fact, voices: Sequence[TurnSource], policy: TrustPolicy
) -> Provenance:
    """Return the provenance of a fact from the sources of its evidence.

    The class is that of the best source (`best_source_class`); the label also names the
    classes of the others.
    """
    said_by_class = best_source_class(fact, (voice.source_class for voice in voices))
    return Provenance(
        said_by_class, _fact_label(fact, voices), trust(said_by_class, policy)
    )


def of_note(*, own: bool, policy: TrustPolicy) -> Provenance:
    """Return the provenance of a note that is not a memory.

    `own` is a note of the user; any other is a summary that engram wrote.
    """
    source = "user" if own else "dream"
    return Provenance(
        source, OWN_NOTE_LABEL if own else SUMMARY_LABEL, trust(source, policy)
    )


def with_source_label(text: str, source: str) -> str:
    """Return a line of generated text with its source class, unless that is the user.

    `with_source_label("Ben likes tea.", "tool") == "Ben likes tea. (tool)"`
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
    best = min(voices, key=lambda voice: SOURCE_CLASSES.index(voice.source_class))
    others = sorted(
        {voice.source_class for voice in voices} - {best.source_class},
        key=SOURCE_CLASSES.index,
    )
    also = (
        (f"also {' and '.join(_SHOWN.get(voice, voice) for voice in others)}",)
        if others
        else ()
    )
    if confirmed and best.source_class != "user":
        return f"user (confirmed; from {_label(best, also)})"
    return _label(
        best,
        (*(["remembered"] if fact.origin in {*SOURCE_CLASSES, AGENT} else []), *also),
    )


@lru_cache(maxsize=1 << 8)
def _label(turn_source: TurnSource, details: tuple[str, ...]) -> str:
    """Return the class in words with details in brackets.

    The details begin with the role and name that an import claims, or with the name of
    a speaker in a chat.
    """
    source, name = turn_source.source_class, plain_name(turn_source.speaker)
    claimed = (
        ": ".join(filter(None, [turn_source.role, name]))
        if source == "import"
        else name
        if source != "tool"
        else ""
    )
    inside = "; ".join(filter(None, [claimed, *details]))
    return _SHOWN.get(source, source) + (f" ({inside})" if inside else "")


@lru_cache(maxsize=1024)
def plain_name(speaker: str) -> str:
    """Return a speaker's name that is safe inside a label.

    It contains no bracket; a name that contains a source class becomes ''.
    """
    name = " ".join(
        "".join(
            sign if sign.isalnum() or sign in "-'’." else " " for sign in speaker
        ).split()
    )
    reserved = not _RESERVED.isdisjoint(fold(name).split())
    return "" if reserved else name[:_NAME_CHARS].rstrip()


def caller_standing(caller: str, claimed: str = "") -> str:
    """Return the standing of a caller's turns (`X17`).

    A chat may claim a lower standing; no caller gets a higher one.
    `caller_standing("chat", "import") == "import"`; `caller_standing("tool", "chat") ==
    "tool"`.
    """
    return claimed if caller == "chat" and claimed in EXTERNAL else caller


def source_class(turn: Turn) -> str:
    """Return the source class of a turn (`D6`).

    It is the standing if that is external, else the role. The output of a tool has the
    class tool; a system turn, a program's statement about the conversation, has the
    class interaction.
    """
    return class_of_source(turn.role, turn.origin)


def said_by_tool(turn: Turn) -> bool:
    """Return whether a tool wrote a turn, also one in the role of the user (`D6`)."""
    return source_class(turn) == "tool"


def said_by_user(turn: Turn) -> bool:
    """Return whether a turn is a user's, in a chat or an imported one (`D6`)."""
    return turn.role == "user" and not said_by_tool(turn)


def class_of_source(role: str, origin: str) -> str:
    """Return the source class of a role and a standing (`D6`)."""
    if origin != "chat":
        return origin if origin in EXTERNAL else "tool"
    return role if role in {"user", "assistant", "tool"} else "interaction"


def turn_as_evidence(turn: Turn, words: str) -> Turn:
    """Return the turn as evidence for a statement with these `words` (`X27`).

    Text that the user only passes on has the class interaction: `My name is Ben` in
    `Tom wrote: "My name is Ben"` is not a statement of the user.
    """
    passed_on = source_class(turn) == "user" and quoted(turn.text, words)
    return replace(turn, role="system") if passed_on else turn


def fact_class(fact: Fact, evidence: Iterable[Turn]) -> str:
    """Return the source class of a fact: the most trusted one of its evidence (`D6`).

    A conclusion is a dream; a fact that the user wrote, edited or confirmed is the
    user's; a fact without any known evidence is an import's.
    """
    return best_source_class(fact, map(source_class, evidence))


def best_source_class(fact: Fact, voices: Iterable[str]) -> str:
    """Return the source class of a fact from those of its evidence (`D6`)."""
    if fact.origin in DERIVED_ORIGINS:
        return "dream"
    if fact.verification == "user_confirmed" or not fact.source:
        return "user"
    return min(voices, key=SOURCE_CLASSES.index, default="import")


def trust(source: str, policy: TrustPolicy) -> float:
    """Return the trust in a source class, 0–1 (`D6`)."""
    return {
        "user": policy.user,
        "assistant": policy.assistant,
        "interaction": policy.interaction,
        "import": policy.ingest,
        "tool": policy.tool,
        "dream": policy.dream,
    }[source]


def cap_confidence(confidence: float, source: str, policy: TrustPolicy) -> float:
    """Return `min(confidence, trust)`, 0–1, at the start and after each reinforcement.

    (`D6`, `X27`) `cap_confidence(0.95, "import", policy) == 0.5`: inferred, not
    speculative, so it does not expire.
    """
    return min(confidence, trust(source, policy))


def supersede_refusal(new: str, old: str, policy: TrustPolicy) -> str | None:
    """Return why class `new` may not replace a fact of class `old`, or None (`X27`)."""
    if trust(new, policy) >= trust(old, policy):
        return None
    return f"what {_NAMES[new]} says does not replace what {_NAMES[old]} said"


def restriction(status: str, source: str) -> str | None:
    """Return why a memory of this class may not become `status`, or None (`X27`).

    `status` is a key of `RESTRICTED`.
    """
    return (
        f"what {_NAMES[source]} says cannot be {RESTRICTED[status]}"
        if source in OTHERS
        else None
    )


def permitted_category(name: str, source: str) -> str:
    """Return the category, or the plain one if this class may not state it (`X27`)."""
    category = category_of(name)
    barred = category.not_from_outside and restriction(category.name, source)
    return PLAIN if barred else category.name


def independent_sources(turns: Iterable[Turn]) -> int:
    """Return the number of independent sources of a statement (`X27`).

    Each turn of the user is one; all turns of another class in a session are one. A
    turn that is submitted again counts once.
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
    "dream": "maintenance",
}


def containment_reason(
    fact: Fact,
    turn: Turn,
    quote: str,
    policy: TrustPolicy,
    owner: Collection[str] = (),
) -> str:
    """Return why `fact`, based on the words `quote` of `turn`, waits in review, or ''.

    A fact from another source waits if it, or the text around its evidence, reads like
    an instruction, or if it is a standing wish to the assistant. A wish or a decision of the user waits if its evidence is text
    that the user only quotes or passes on (`X27`): "I'm opening a bakery!", written by
    Paul, is a plan of Paul's. A fact about the user also waits if its evidence is such
    text in the first person. `owner` are the names of the user.
    """
    said_by = source_class(turn)
    part = quoted(turn.text, quote)
    if said_by == "user" and not part:
        return ""
    around = part or (
        _near(turn.text, quote, policy.around) if turn.role == "tool" else quote
    )
    shape = instruction(fact.text) or instruction(around)
    if shape:
        return f"reads like an instruction: {shape}"
    if said_by != "user" and is_standing_wish(fact.text):
        return "only the user can give the assistant a standing instruction"
    if said_by != "user" or is_title(part):
        return ""
    on_user = _is_about_user(fact, owner)
    if category_of(fact.category).only_user and (on_user or not fact.about):
        return "words of another author about what the user wants"
    if on_user and _in_first_person(quote):
        return "another author says it of themselves"
    return ""


_SUBJECT_WORDS = 3


@cache
def _unspaced_pronouns() -> tuple[str, ...]:
    """Return the pronouns of the first person in languages without blanks."""
    listed = languages.texts("words", "first_person")
    return tuple(
        word
        for code, text in listed.items()
        if code in languages.unspaced()
        for word in text.split()
    )


def _in_first_person(quote: str) -> bool:
    """Return whether the author of a quote speaks of themselves."""
    return of_oneself(fold(quote)) or any(
        word in quote for word in _unspaced_pronouns()
    )


def _is_about_user(fact: Fact, owner: Collection[str]) -> bool:
    """Return whether a statement begins with the user: "The user …", "Nora …"."""
    names = {word for name in owner for word in words(name)}
    nouns = languages.all_words("topics", "user_nouns") | FIRST_PERSON
    return not (names | nouns).isdisjoint(words(fact.text)[:_SUBJECT_WORDS])


def _near(text: str, quote: str, reach: int) -> str:
    """Return `quote` with up to `reach` characters of `text` on either side."""
    place = max(0, text.find(quote))
    return text[max(0, place - reach) : place + len(quote) + reach]
