"""What a model is shown beside the turns to extract, and what it says about that.

The known facts are numbered, so a reply names one by its number. A number that was not
shown, and an end without the user's words, are refused and counted (rows A9, A10, C12).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.core.language.sentences import MASK, is_doubtful, plain, refusal, sentences
from engram.core.records import FactEnd, FactLinks
from engram.llm.prompt_files import quoted, sections
from engram.llm.replies.base import NO_NUMBER
from engram.llm.replies.extraction import LINKS
from engram.llm.spans import span

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from engram.core.policy import ExtractionPolicy
    from engram.core.records import Fact, Turn
    from engram.llm.replies.extraction import EndReply, FactReply

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_LEAST_SIGNS = 4
"""Letters and digits of a quote that ends a fact: "no" is in every conversation."""


@dataclass(frozen=True, slots=True)
class KnownContext:
    """What is known before a batch is extracted.

    `facts` are active facts that the batch may change, in the order of their numbers;
    `owner` are the names of the user, `names` those of others; `before` are the turns
    just before the batch.
    """

    facts: Sequence[Fact] = field(default=())
    owner: Sequence[str] = field(default=())
    names: Sequence[str] = field(default=())
    before: Sequence[Turn] = field(default=())


NOTHING_KNOWN = KnownContext()


def known_text(context: KnownContext, policy: ExtractionPolicy) -> str:
    """Return the part of the question that shows what is known, '' for nothing.

    Each statement, name and turn is a JSON string on one line, so that no text can look
    like another part of the question.
    """
    parts = {
        "facts": "\n".join(
            f"{number}. {_since(fact)}{quoted(fact.text[: policy.known_chars])}"
            for number, fact in enumerate(context.facts[: policy.known], 1)
        ),
        "owner": ", ".join(map(quoted, context.owner[: policy.known_names])),
        "names": ", ".join(map(quoted, context.names[: policy.known_names])),
        "before": "\n".join(
            _earlier(turn, policy)
            for turn in context.before[max(0, len(context.before) - policy.before) :]
        ),
    }
    prompt = sections("extract")
    shown = [
        f"{prompt[f'known_{name}']}\n{text}" for name, text in parts.items() if text
    ]
    return "\n".join(shown)


def _since(fact: Fact) -> str:
    """Return the day from which a fact is known, as `2026-10-17 `."""
    return f"{fact.created:%Y-%m-%d} " if fact.created else ""


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
    *,
    grounded: bool,
) -> FactLinks | None:
    """Return the known facts that one new fact names; None if it has no such field.

    Without a quote in the turn (`grounded`) it changes nothing. A fact that is named as
    replaced is neither ended besides, nor the same, nor supported.
    """
    if item.model_fields_set.isdisjoint(LINKS):
        return None

    taken: set[str] = set()
    links: dict[str, tuple[str, ...]] = {}
    for name in LINKS:
        value = getattr(item, name)
        numbers = [value] if name == "same" else value
        ids = _named(numbers, facts, dropped)
        if ids and not grounded:
            dropped["known: no evidence in the turn"] += len(ids)
            ids = ()
        links[name] = tuple(one for one in ids if one not in taken)
        taken.update(ids)
    return FactLinks(
        links["replaces"],
        links["ends"],
        next(iter(links["same"]), ""),
        links["supports"],
    )


def read_ends(
    items: Iterable[EndReply],
    turns: Sequence[Turn],
    facts: Sequence[Fact],
    dropped: Counter[str],
    policy: ExtractionPolicy,
) -> tuple[FactEnd, ...]:
    """Return the known facts that are over by the user's words, each once.

    A quote that is not in a turn of the user, that is a
    question or in doubt, or that has fewer than `_LEAST_SIGNS` letters ends nothing.
    """
    kept: dict[str, FactEnd] = {}
    for item in items:
        ids = _named(item.n[:1], facts, dropped)
        if not ids:
            continue
        end = _end(ids[0], item.quote, turns, policy)
        if end is None:
            dropped["ended: no evidence in a turn of the user"] += 1
        elif len(kept) == policy.max_facts:
            dropped["ended: over the limit"] += 1
        else:
            kept.setdefault(end.fact_id, end)
    return tuple(kept.values())


def _end(
    fact_id: str,
    quote: str,
    turns: Sequence[Turn],
    policy: ExtractionPolicy,
) -> FactEnd | None:
    """Return the end of a fact with the first turn of the user that says the quote."""
    for turn in turns:
        if turn.role != "user" or turn.origin == "tool":
            continue
        shown = turn.text[: policy.turn_chars]
        found = span(shown, quote)
        if sum(map(str.isalnum, found)) >= _LEAST_SIGNS and _is_said(shown, found):
            return FactEnd(fact_id, turn.id, found)
    return None


def _is_said(text: str, quote: str) -> bool:
    """Return whether the sentence around a quote states it: no question, no doubt."""
    at, words = text.find(quote), plain(text)
    if MASK in words[at : at + len(quote)]:
        return False  # the words of another
    around = (
        words[start:end]
        for start, end in sentences(words)
        if start < at + len(quote) and at < end
    )
    return not any(refusal(one) or is_doubtful(one) for one in around)


def _named(
    numbers: Iterable[int | None], facts: Sequence[Fact], dropped: Counter[str]
) -> tuple[str, ...]:
    """Return the ids of the facts with these numbers, each once; count others."""
    found: dict[str, None] = {}
    for number in numbers:
        # 0 and null are how models write "none" where a number is wanted
        if number is None or number == 0:
            continue
        if number == NO_NUMBER:
            dropped["known: malformed"] += 1
        elif not 1 <= number <= len(facts):
            dropped["known: no such statement"] += 1
        else:
            found[facts[number - 1].id] = None
    return tuple(found)
