"""Review notes: the question to the user, and the parsing of the answer (X8, X9).

The section `## Review` has a sentence, the quoted words in question, and one check box
for each answer. The statement above it is never parsed as an answer, and cannot contain
that heading.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from engram.core.markdown import escape, plain_text, unescape
from engram.core.records import Create, Fact, Problem
from engram.core.text import content_hash, is_ulid, note_name, slug, ulid, ulid_time
from engram.vault.formats import time_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

KIND = "review"
"""The `kind` of a note that asks about two memories and is not a memory itself."""

FOLDER = "review"

CONFLICT_PREFIX = "conflict-"
"""The prefix of the names of notes that ask about two memories or two files."""

LABELS: Mapping[str, str] = {
    "keep": "Keep it",
    "drop": "Drop it",
    "newer": "The newer one is true now",
    "both": "Both are true",
    "older": "The older one is true",
    "apply": "Do it",
    "leave": "Leave all of it as it is",
    "forget": "Forget all of them",
    "settle": "Settle all of them",
}
"""The answers and the labels of their boxes."""

DOUBT = ("keep", "drop")
"""The answers about a doubtful memory."""

CONFLICT = ("newer", "both", "older")
"""The answers about two memories of which one may be over."""

HOLD = ("apply", "leave")
"""The answers about a held run."""

FORGET = ("forget", "leave")
"""The answers about a wish to forget, besides the numbers of the statements."""

SETTLE = ("settle", "leave")
"""The answers about a report that may settle several promises, besides their numbers.
"""

UNCLEAR = "the user asked to forget this, but not plainly which"
EDITED = (
    "the message says something else now, and its old words tell of something to keep"
)

_SLUG_BYTES = 60
_HEADING = re.compile(r"^## Review[ \t\r]*$", re.MULTILINE)
_NEXT = re.compile(r"^#{1,2} ", re.MULTILINE)
_ASK = "This waits for you: "
_ASKED = re.compile(rf"^{_ASK}[^\n]*\n\s*(?:^>[^\n]*\n?)*", re.MULTILINE)
_BOX = re.compile(
    r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([^\]\n])\][ \t]+("
    + "|".join(LABELS.values())
    + r")\b[. \t]*([^\n]*)\n?",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBERED = re.compile(
    r"^[ \t]*[-*+][ \t]+\[[xX]\][ \t]+(?:Forget|Settle) (\d{1,3})\b",
    re.MULTILINE | re.IGNORECASE,
)
_ANSWERS = {label.casefold(): answer for answer, label in LABELS.items()}


def section(why: str, quote: str = "", answers: tuple[str, ...] = DOUBT) -> str:
    """Return the section with the question: reason, quoted words, answer boxes.

    >>> print(section("no evidence in the turn"), end="")
    ## Review
    <BLANKLINE>
    This waits for you: no evidence in the turn. Tick one box and save; it is done at once.
    <BLANKLINE>
    - [ ] Keep it
    - [ ] Drop it
    """
    reason = escape(" ".join(why.split())).rstrip(".")
    parts = ["## Review", f"{_ASK}{reason}. Tick one box and save; it is done at once."]
    parts += [_quoted(quote)] if quote.strip() else []
    return (
        "\n\n".join(
            [*parts, "\n".join(f"- [ ] {LABELS[answer]}" for answer in answers)]
        )
        + "\n"
    )


def conflict_note(
    new: Fact,
    old: Fact,
    why: str,
    now: datetime,
    zone: tzinfo,
    quotes: Mapping[str, str] | None = None,
) -> Create:
    """Return the note that asks which of two memories is true now.

    Both have their `path`. `quotes` are the words that they come from, by id. Name and
    id depend on the pair in any order, so that no question is asked twice.
    """
    path = f"{FOLDER}/{CONFLICT_PREFIX}{slug(new.text, _SLUG_BYTES)}-{content_hash(_pair(new.id, old.id))[:8]}.md"
    keys: dict[str, object] = {
        "id": case_id(new.id, old.id),
        "kind": KIND,
        "status": "review",
        "created": time_text(now, zone),
        "new": f"[[{note_name(new.path)}]]",
        "old": f"[[{note_name(old.path)}]]",
        "pair": [new.id, old.id],
        "end_reason": why,
    }
    sides = [
        _side(word, fact, zone, (quotes or {}).get(fact.id, ""))
        for word, fact in (("Newer", new), ("Older", old))
    ]
    return Create(path, keys, "\n".join([*sides, section(why, answers=CONFLICT)]), why)


def forget_answers(offered: Collection[str]) -> tuple[str, ...]:
    """Return the answers about a wish to forget these statements, perhaps none."""
    return FORGET if offered else FORGET[1:]


def forget_note(
    request: str,
    wish: str,
    units: Mapping[str, str],
    now: datetime,
    zone: tzinfo,
    why: str,
) -> Create:
    """Return the note that asks which of these statements to forget.

    `request` is the key of the turn with the wish, whose words are `wish`; `units` maps
    ids of memories and keys of turns to their texts. `why` is UNCLEAR or EDITED.
    Name and id depend on the turn, so that no question is asked twice.
    """
    texts = (
        "Which of these is to be forgotten?",
        "Tick what is to be forgotten and save; what is not ticked stays.",
    )
    if not units:
        texts = ("No memory matches this wish.", "Tick the box and save.")
    keys = {"forgets": list(units)}
    return _numbered_note("forget", request, wish, units, keys, why, texts, now, zone)


def settle_note(
    turn: str,
    words: str,
    promises: Mapping[str, str],
    stage: str,
    now: datetime,
    zone: tzinfo,
) -> Create:
    """Return the note that asks which of these promises the `words` of a turn settle.

    `promises` maps their ids to their texts; `stage` is fulfilled or expired.
    """
    outcome = "kept" if stage == "fulfilled" else "cancelled"
    why = f"the user said that a promise is {outcome}, but not plainly which"
    texts = (
        f"Which of these is {outcome}?",
        f"Tick what is {outcome} and save; what is not ticked stays open.",
    )
    keys = {"settles": list(promises), "stage": stage}
    return _numbered_note("settle", turn, words, promises, keys, why, texts, now, zone)


def fallen_note(
    turn: str,
    premise: str,
    resting: Mapping[str, str],
    now: datetime,
    zone: tzinfo,
) -> Create:
    """Return the note that asks what ends with a memory that the words of a turn ended.

    `resting` maps the ids of the memories that rest on it to their texts.
    """
    texts = (
        "Does this still hold?",
        "Tick what is over and save; what is not ticked stays.",
    )
    keys = {"settles": list(resting), "stage": "expired"}
    why = "what these rest on is over"
    return _numbered_note("settle", turn, premise, resting, keys, why, texts, now, zone)


def _numbered_note(
    kind: str,
    request: str,
    wish: str,
    units: Mapping[str, str],
    offered: Mapping[str, object],
    why: str,
    texts: tuple[str, str],
    now: datetime,
    zone: tzinfo,
) -> Create:
    """Return a note with a numbered box for each of `units`."""
    digest = content_hash(f"{request}\n{wish}")
    keys: dict[str, object] = {
        "id": ulid(now, f"{kind}\n{digest}"),
        "kind": KIND,
        "status": "review",
        "created": time_text(now, zone),
        "asked": request,
        **offered,
        "end_reason": why,
    }
    boxes = [
        f"- [ ] {kind.capitalize()} {number}: {escape(' '.join(text.split()))}"
        for number, text in enumerate(units.values(), 1)
    ]
    answers = forget_answers(units) if kind == "forget" else SETTLE
    body = [
        texts[0],
        "## Review",
        f"{_ASK}{why}. {texts[1]}",
        _quoted(wish),
        "\n".join([*boxes, *(f"- [ ] {LABELS[answer]}" for answer in answers)]),
    ]
    path = f"{FOLDER}/{kind}-{slug(wish, _SLUG_BYTES)}-{digest[:8]}.md"
    return Create(path, keys, "\n\n".join(body) + "\n", why)


def ticked_numbers(body: str) -> list[str]:
    """Return the numbers of the ticked boxes of a wish to forget."""
    place = _section(body)
    return _NUMBERED.findall(body, *place) if place else []


def case_id(first: str, second: str) -> str:
    """Return the id of the case about two memories, in either order.

    Its time is that of the younger id.
    """
    times = [ulid_time(memory) for memory in (first, second) if is_ulid(memory)]
    return ulid(
        max(times, default=datetime(1970, 1, 1, tzinfo=UTC)),
        f"conflict\n{_pair(first, second)}",
    )


def ticked_answers(body: str) -> list[str]:
    """Return the answers whose boxes are ticked, in order, each once."""
    section_of = _section(body)
    boxes = _BOX.finditer(body, *section_of) if section_of else ()
    return list(
        dict.fromkeys(_ANSWERS[box[2].casefold()] for box in boxes if box[1] in "xX")
    )


def decision(body: str) -> str | None:
    r"""Return the answer that a person ticked, one of `LABELS`; None unless it is one.

    >>> decision("Words.\n\n## Review\n\n  * [X] keep it\n  * [ ] Drop it\n")
    'keep'
    """
    answers = ticked_answers(body)
    return answers[0] if len(answers) == 1 else None


def has_question(body: str) -> bool:
    """Return whether the note has a part with boxes."""
    return _section(body) is not None


def problems(body: str, path: str, first: int) -> Iterator[Problem]:
    """Yield the problems of ticks; `first` is the line number of the body's start."""
    answers = ticked_answers(body)
    if len(answers) > 1:
        heading = _HEADING.search(body)
        assert heading is not None
        words = " and ".join(f"{LABELS[answer]!r}" for answer in answers)
        yield Problem(
            "two-ticks",
            f"{words} are ticked; untick all but one",
            path,
            first + body.count("\n", 0, heading.start()),
        )


def quoted(body: str) -> str:
    """Return the quoted words in question, or ''."""
    place = _section(body)
    found = _ASKED.search(body, *place) if place else None
    lines = (
        [
            line[1:].removeprefix(" ")
            for line in found[0].splitlines()
            if line.startswith(">")
        ]
        if found
        else []
    )
    return unescape("\n".join(lines))


def without_question(body: str) -> str:
    """Return `body` without the text of `section`; lines that the user added stay."""
    place = _section(body)
    if place is None:
        return body
    start, end = place
    rest = _BOX.sub(
        lambda box: f"{box[3]}\n" if box[3].strip() else "",
        _ASKED.sub("", body[start:end]),
    )
    theirs = rest.partition("\n")[2].strip("\n\r\t ")
    before, after = body[:start].rstrip("\n"), body[end:]
    user_section = f"\n\n## Review\n\n{theirs}" if theirs else ""
    return f"{before}{user_section}\n" + (f"\n{after}" if after else "")


def _section(body: str) -> tuple[int, int] | None:
    """Return the start and end of the section `## Review`, or None."""
    heading = _HEADING.search(body)
    if heading is None:
        return None
    after = _NEXT.search(body, heading.end())
    return heading.start(), after.start() if after else len(body)


def _side(word: str, fact: Fact, zone: tzinfo, quote: str) -> str:
    """Return one side of a conflict: link, date, statement and evidence."""
    when = f" of {fact.created.astimezone(zone):%Y-%m-%d}" if fact.created else ""
    parts = [f"**{word}**{when}: [[{note_name(fact.path)}]]", _quoted(fact.text)]
    parts += ["in the words", _quoted(quote)] if quote.strip() else []
    return "\n\n".join(parts) + "\n"


def _quoted(text: str) -> str:
    """Return `text` as a block quote without markup."""
    return "\n".join(
        f"> {line}".rstrip() for line in escape(plain_text(text).strip()).split("\n")
    )


def _pair(first: str, second: str) -> str:
    return "\n".join(sorted((first, second)))
