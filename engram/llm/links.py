"""The known facts in the prompt of an extraction, and the reply about them.

The known facts are numbered, so a reply refers to one by its number. An unknown number,
and an end without the user's words, are refused and counted (rows A9, A10, C12).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.core.language.sentences import MASK, is_doubtful, plain, refusal, sentences
from engram.core.records import Fact, FactEnd, FactLinks, Turn
from engram.llm.answers import sections
from engram.llm.replies import LINKS, NO_NUMBER, EndReply, FactReply, quoted, span

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from engram.core.policy import ExtractionPolicy

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_LEAST_SIGNS = 4
"""The least letters and digits of a quote that ends a fact: "no" is everywhere."""


@dataclass(frozen=True, slots=True)
class KnownContext:
    """The context that is known before a batch is extracted.

    `facts` are active facts that the batch may change, in the order of their numbers;
    `owner` are the names of the user, `names` those of others; `before` are the
    preceding turns.
    """

    facts: Sequence[Fact] = field(default=())
    owner: Sequence[str] = field(default=())
    names: Sequence[str] = field(default=())
    before: Sequence[Turn] = field(default=())


NOTHING_KNOWN = KnownContext()


def known_text(context: KnownContext, policy: ExtractionPolicy) -> str:
    """Return the part of the prompt with the known context, '' if it is empty.

    Each statement, name and turn is a JSON string on one line, so that no text can look
    like another part of the prompt.
    """
    parts = {
        "facts": "\n".join(
            f"{number}. {known_line(fact, policy)}"
            for number, fact in enumerate(context.facts, 1)
        ),
        "owner": ", ".join(map(quoted, context.owner[: policy.known_names])),
        "names": ", ".join(map(quoted, context.names[: policy.known_names])),
        "before": "\n".join(
            _earlier(turn, policy)
            for turn in context.before[max(0, len(context.before) - policy.before) :]
        ),
    }
    prompt = sections("extract")
    blocks = [
        f"{prompt[f'known_{name}']}\n{text}" for name, text in parts.items() if text
    ]
    return "\n".join(blocks)


def known_line(fact: Fact, policy: ExtractionPolicy) -> str:
    """Return a known fact in the prompt: its day, as `2026-10-17 `, and its words."""
    since = f"{fact.created:%Y-%m-%d} " if fact.created else ""
    return f"{since}{quoted(fact.text[: policy.known_chars])}"


def local_time(when: datetime) -> str:
    """Return a time with its weekday, as `Sat 2026-10-17 10:05`."""
    return f"{_WEEKDAYS[when.weekday()]} {when:%Y-%m-%d %H:%M}"


def _earlier(turn: Turn, policy: ExtractionPolicy) -> str:
    when = local_time(turn.occurred_at)
    text = turn.text[: policy.before_chars].strip()
    return f"- {when} {turn.role}: {quoted(text)}"


# -- the reply -------------------------------------------------------------------------


def read_links(
    item: FactReply,
    facts: Sequence[Fact],
    dropped: Counter[str],
    own: int = 0,
    *,
    grounded: bool,
) -> FactLinks | None:
    """Return the links of a new fact to known facts, None without such a field.

    `own` is the number of the answer's facts, to which negative numbers refer.

    Without a quote in the turn (`grounded`) the new fact changes nothing. A fact named
    as replaced is not also ended, the same, or supported.
    """
    if item.model_fields_set.isdisjoint(LINKS):
        return None

    taken: set[str] = set()
    links: dict[str, tuple[str, ...]] = {}
    rests = sorted(number for number in item.because if -own <= (number or 0) < 0)
    for name in LINKS:
        value = getattr(item, name)
        numbers = [value] if name == "same" else value
        if name == "because":
            numbers = [number for number in value if number not in rests]
        ids = _facts_by_number(numbers, facts, dropped)
        if ids and not grounded:
            dropped["known: no evidence in the turn"] += len(ids)
            ids = ()
        links[name] = tuple(fact_id for fact_id in ids if fact_id not in taken)
        taken.update(ids)
    return FactLinks(
        links["replaces"],
        links["ends"],
        next(iter(links["same"]), ""),
        links["supports"],
        (*links["because"], *(f"={-number}" for number in rests)),
    )


def read_ends(
    items: Iterable[EndReply],
    turns: Sequence[Turn],
    facts: Sequence[Fact],
    dropped: Counter[str],
    policy: ExtractionPolicy,
) -> tuple[FactEnd, ...]:
    """Return the known facts that the user's words end, each once.

    A quote ends nothing if it is not in a turn of the user, is part of a question or in
    doubt, or has fewer than `_LEAST_SIGNS` letters.
    """
    ends: dict[str, FactEnd] = {}
    for item in items:
        ids = _facts_by_number(item.n[:1], facts, dropped)
        if not ids:
            continue
        end = _end(ids[0], item.quote, turns, policy)
        if end is None:
            dropped["ended: no evidence in a turn of the user"] += 1
        elif len(ends) == policy.max_facts:
            dropped["ended: over the limit"] += 1
        else:
            ends.setdefault(end.fact_id, end)
    return tuple(ends.values())


def _end(
    fact_id: str,
    quote: str,
    turns: Sequence[Turn],
    policy: ExtractionPolicy,
) -> FactEnd | None:
    """Return the end of a fact, with the first turn of the user with the quote."""
    for turn in turns:
        if turn.role != "user" or turn.origin == "tool":
            continue
        text = turn.text[: policy.turn_chars]
        found = span(text, quote)
        if sum(map(str.isalnum, found)) >= _LEAST_SIGNS and _is_asserted(text, found):
            return FactEnd(fact_id, turn.id, found)
    return None


def _is_asserted(text: str, quote: str) -> bool:
    at, words = text.find(quote), plain(text)
    if MASK in words[at : at + len(quote)]:
        return False  # words of another person
    containing = (
        words[start:end]
        for start, end in sentences(words)
        if start < at + len(quote) and at < end
    )
    return not any(
        refusal(sentence) or is_doubtful(sentence) for sentence in containing
    )


def _facts_by_number(
    numbers: Iterable[int | None], facts: Sequence[Fact], dropped: Counter[str]
) -> tuple[str, ...]:
    """Return the ids of the facts with these numbers, each once; count others."""
    found: dict[str, None] = {}
    for number in numbers:
        # models write 0 and null for "none" if a number is required
        if number is None or number == 0:
            continue
        if number == NO_NUMBER:
            dropped["known: malformed"] += 1
        elif not 1 <= number <= len(facts):
            dropped["known: no such statement"] += 1
        else:
            found[facts[number - 1].id] = None
    return tuple(found)
