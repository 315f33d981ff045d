"""Words that ask for privacy: "keep this between us" (row E14).

Only a request in the user's own words at the beginning of a clause counts: not a
question whether something is a secret, not the denial of one, not a quotation, and not
a request to tell nothing to a person of the user ("don't tell my landlord"), who is no
persona. A request covers its own sentence. If that states nothing else, the request
refers to the preceding sentence, or turn; an announcement ("can I tell you a secret?")
refers to the following one. The patterns are in section `[privacy]` of the language
files.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from engram.core.language import languages, quotations
from engram.core.language.sentences import sentences
from engram.core.records import REMEMBERED, Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

Reference = Literal["", "itself", "before", "after"]

_CLAUSE = r"(?:^|[\n.!?;:,(…—–¿¡]\s*|\s-\s+|(?<=[^\W\d_])\s+(?=(?:{words})\b))[¿¡(]?\s*"
_WORD = re.compile(r"[^\W\d_]+")
_LEAST_SIGNS = 2
"""The least number of other signs with which a request contains a statement.

For turns in a script without blanks.
"""
_LEADING = 4
"""Words and phrases, such as `please`, that may precede a request."""
_SCANNED = 2000
"""The number of characters that are searched at each end of a turn."""
_FIRST_SIGN = "\u3000"
_APOSTROPHES = str.maketrans("’ʼ", "''")


def asks_privacy(text: str) -> bool:
    """Return whether the user asks to keep a statement from all others (`E14`)."""
    return reference(text) != ""


def reference(text: str, persona: str = "") -> Reference:
    """Return the reference of a request for privacy in a turn, or ''.

    It is `itself` if the turn has other content. The request may address the `persona`
    by name.
    """
    if len(text) > 2 * _SCANNED:
        text = f"{text[:_SCANNED]}\n{text[-_SCANNED:]}"
    plain = text.translate(_APOSTROPHES).casefold()
    codes = [code for code, cues in _cues() if any(cue in plain for cue in cues)]
    if not codes:
        return ""
    asks = _request_spans(plain, "asks", codes)
    announced = _request_spans(plain, "announces", codes)
    if not asks and not announced:
        return ""
    names = _WORD.findall(persona.casefold())
    if _has_other_words(plain, [*asks, *announced], names):
        return "itself"
    return "before" if asks and not announced else "after"


def words_are_private(turn: Turn, words: str) -> bool:
    """Return whether a turn keeps these words of it private (`E14`).

    Of a confided turn only the sentences that a request covers are private.
    """
    if not turn.confided:
        return turn.private
    start = turn.text.find(words)
    return start < 0 or any(
        first < start + len(words) and start < last
        for first, last in private_parts(turn.text)
    )


def turn_of_words(turn: Turn, words: str) -> Turn:
    """Return the turn as the source of these words, private only if they are."""
    return replace(turn, private=words_are_private(turn, words))


def private_parts(text: str) -> list[tuple[int, int]]:
    """Return the spans of the sentences that requests for privacy cover (`E14`).

    >>> text = "I live in Bonn. Between us, I quit. I like tea."
    >>> [text[start:end] for start, end in private_parts(text)]
    ['Between us, I quit.']
    """
    listed = list(sentences(text))
    found: set[int] = set()
    for number, (start, end) in enumerate(listed):
        refers = reference(text[start:end])
        if not refers:
            continue
        found.add(number)
        if refers != "itself":
            before = refers == "before" and number > 0
            found.add(number - 1 if before else number + 1)
    return [listed[number] for number in sorted(found) if number < len(listed)]


def with_privacy(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns of one conversation, in order, with `private` set (`E14`).

    If a private turn of the user contains only a request for privacy, the preceding
    words of the user become private too. If there are none, or the turn announces a
    secret, the next words of the user do. In a conversation without a persona an answer
    to private words is private too.
    """
    own = [n for n, turn in enumerate(turns) if turn.role == "user"]
    asking = {n for n in own if turns[n].private}
    reached = {
        other
        for n in asking
        if turns[n].session != REMEMBERED
        for other in _referred(own, n, reference(turns[n].text, turns[n].persona or ""))
    }
    whole = reached | set(_private_answers(turns, asking | reached))
    return [
        replace(turn, private=True, confided=False) if n in whole else turn
        for n, turn in enumerate(turns)
    ]


def _referred(own: Sequence[int], at: int, refers: Reference) -> list[int]:
    """Return the turns of the user, of `own`, to which a request in one refers.

    Before it these are the latest ones without an answer between them.
    """
    if refers not in {"before", "after"}:
        return []
    run: list[int] = []
    for n in reversed([n for n in own if n < at] if refers == "before" else []):
        if run and n != run[-1] - 1:
            break
        run.append(n)
    return run or [n for n in own if n > at][:1]


def _private_answers(turns: Sequence[Turn], private: set[int]) -> Iterator[int]:
    """Yield the indices of answers to private words without a persona."""
    answering = False
    for n, turn in enumerate(turns):
        if turn.role == "user":
            answering = n in private and turn.persona is None
        elif answering:
            yield n


def _request_spans(text: str, key: str, codes: Sequence[str]) -> list[tuple[int, int]]:
    """Return the spans of the requests in `text`, without those in quotations."""
    found = [
        match.span() for code in codes for match in _pattern(key, code).finditer(text)
    ]
    if not found:
        return []
    quoted = quotations.parts(text)
    return [
        (start, end)
        for start, end in found
        if not any(first <= start and end <= last for first, last in quoted)
    ]


def _has_other_words(
    text: str, requests: Sequence[tuple[int, int]], names: Collection[str]
) -> bool:
    """Return whether a turn has words besides these requests."""
    rest = list(text)
    for start, end in requests:
        rest[start:end] = " " * (end - start)
    signs = 0
    for word in _WORD.findall("".join(rest)):
        if word[0] >= _FIRST_SIGN:
            signs += sum(sign not in _fillers() for sign in word)
        elif word not in _fillers() and word not in names:
            return True
    return signs >= _LEAST_SIGNS


@cache
def _cues() -> tuple[tuple[str, Sequence[str]], ...]:
    """Return, by language, the words without which a text has no request."""
    return tuple(
        (code, languages.phrases(values["cues"]))
        for code, values in languages.section("privacy").items()
    )


@cache
def _pattern(key: str, code: str) -> re.Pattern[str]:
    values = languages.section("privacy")[code]
    row = languages.pattern(values[key])
    if code not in languages.unspaced():
        clause = _CLAUSE.format(words=values.get("joins", "(?!)"))
        before = languages.pattern(values["before"])
        row = rf"{clause}(?:(?:{before}),?\s+){{0,{_LEADING}}}(?:{row})(?!\w)"
    return re.compile(row)


@cache
def _fillers() -> frozenset[str]:
    """Return words without meaning next to a request."""
    return languages.all_words("privacy", "filler") | languages.all_words(
        "words", "stop"
    )
