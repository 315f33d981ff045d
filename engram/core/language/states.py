"""States that words give, change or end: home, job, partner, liking, price (A7, X13).

`states` parses the states of a text in the first or the third person by the table in
section `[states]` of the language files, and `state_asked_for` parses the state that a
question asks for; `state_telling` converts a clause to the third person. A statement
without a matching row gives no state, so a single word never ends anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.dates import (
    YEAR,
    has_time_expression,
    spans,
    written_dates_blanked,
)
from engram.core.language.keep_requests import words_to_keep
from engram.core.language.schedules import schedule_of
from engram.core.language.sentences import (
    clauses,
    is_doubtful,
    plain,
    refusal,
    sentences,
)
from engram.core.language.state_cues import attributes_named
from engram.core.language.state_subjects import USER, of_owner
from engram.core.language.state_table import (
    DATE_MARK,
    KEY,
    NAMED,
    PEOPLE,
    StateRow,
    questions,
    rows,
)
from engram.core.language.state_words import SOME_DAY, ReadClause, reading_of
from engram.core.language.topics import is_denied
from engram.core.language.words import stop_words_by_language
from engram.core.language.words import words as words_of
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

_MOST_CHARS = 600
_SEVERAL = 2

_WHOLE = ("a", "a2", "a3")
_VALUES = (*_WHOLE, "v", "w", "x", "v2", "v3")
_SUBJECTS = ("s", "s2", "s3", "s4", "p")
"""Groups of a value and a subject; a row with alternatives has several."""

_DAILY = frozenset({"allergy", "diet", "eats", "habit", "like"})
"""Attributes whose denial may be for a day only."""

_UNDATED = frozenset({"age", "date", "figure", "phone", "return", "schedule", "weight"})
"""Attributes with numbers or dates as values; these do not date a change."""


@dataclass(frozen=True, slots=True)
class State:
    """One state: its `subject`, its `attribute` and its `value`.

    `subject` is ("user",) for the user, ("user", "dog") for the user's dog, ("eva",)
    for Eva; `value` are folded words, () for an end without a value. `over` is true if
    the words end the state, `change` if they report it as new ("moved", "now"),
    `planned` if it begins on a future day, which `dated` names, and `listed` if the
    words name further values: "nuts" of "allergic to nuts and eggs". `start` and `end`
    are the span of its clause in the text.
    """

    language: str
    subject: tuple[str, ...]
    attribute: str
    value: tuple[str, ...]
    over: bool = False
    change: bool = False
    addition: bool = False
    planned: bool = False
    listed: bool = False
    dated: str = ""
    start: int = 0
    end: int = 0


# -- reading ---------------------------------------------------------------------------


def states(text: str, names: Collection[str] = ()) -> tuple[State, ...]:
    """Return the states that `text` gives, changes or ends, in their order (`A7`).

    `names` are the folded words of the user's names: "Jonas lives in Munich" is then
    about the user. Questions, doubts, quotations and other sentences that assert
    nothing give no states.
    """
    found = _states(text)
    if not names:
        return found
    return tuple(
        replace(state, subject=of_owner(state.subject, names)) for state in found
    )


@lru_cache(maxsize=1 << 15)
def _states(text: str) -> tuple[State, ...]:
    if len(text) > _MOST_CHARS:
        return ()
    if not attributes_named(text):
        return ()
    words = plain(written_dates_blanked(text))
    found: list[State] = []
    for first, last in sentences(words):
        named = attributes_named(words[first:last])
        if not named or refusal(words[first:last]):
            continue
        for start, end in clauses(words, first, last):
            if is_doubtful(words[start:end]):
                continue
            found += [
                replace(
                    _dated(state, words[start:end], words[first:last]),
                    start=start,
                    end=end,
                )
                for state in _of_clause(
                    with_subject(words[start:end])
                    if start == first
                    else words[start:end],
                    named,
                    is_first=not start,
                )
                if _is_lasting(state, words[first:last], words[end:], words[start:end])
            ]
    return tuple(found)


def with_subject(clause: str) -> str:
    """Return an elliptic sentence such as "Sold the car" with "I" before it.

    Only some languages list such beginnings; any other clause is returned unchanged.
    """
    for code in _ELIDING:
        if (whole := reading_of(code).with_subject(clause)) != clause:
            return whole
    return clause


_ELIDING = tuple(languages.texts(KEY, "elided"))


def in_context(found: Sequence[State], text: str, quote: str) -> tuple[State, ...]:
    """Return the states of a statement that still hold in the context of its `quote`.

    "The user moved to Berlin" gives no state if "but moved back" follows in the turn or
    "when I was six" precedes it; a date next to the quote counts too.
    """
    place = text.find(quote) if quote else -1
    if place < 0 or not any(state.change or state.over for state in found):
        return tuple(found)
    words = plain(text)
    after = words[place + len(quote) :]
    spans = [*words_to_keep(words), *sentences(words)]
    around = (words[first:last] for first, last in spans if first <= place < last)
    sentence = next(around, quote)  # without "never forget that" after it
    return tuple(
        state if state.dated else _dated(state, quote, sentence)
        for state in found
        if _is_lasting(state, sentence, after)
    )


def _is_lasting(state: State, sentence: str, after: str, clause: str = "") -> bool:
    """Return whether a change still holds: it is not undone, nor one of childhood.

    `after` are the following words; those of the sentence and of the next one count. A
    `clause` with "now" is about the present despite a mere "formerly".
    """
    if not (state.change or state.over):
        return True
    reading = reading_of(state.language)
    is_new = clause != "" and reading.words(clause).is_new
    if reading.is_long_ago(sentence, and_now=is_new):
        return False
    spans = list(islice(sentences(after), 2))
    resolved = not (state.over and state.attribute == "diet")
    return not reading.is_undone(
        after[: spans[-1][1]] if spans else "", resolved=resolved
    )


def _dated(state: State, clause: str, sentence: str) -> State:
    """Return the state with the words that may date it, if they report a change."""
    if not (state.change or state.over) or state.attribute.split()[0] in _UNDATED:
        return state
    if state.planned:
        return state
    if reading_of(state.language).words(clause).is_new:
        return state
    words = clause if _may_date(clause) else sentence
    return replace(state, dated=words) if _may_date(words) else state


def _may_date(text: str) -> bool:
    return YEAR.search(text) is not None or has_time_expression(text)


def _of_clause(
    clause: str, named: Mapping[str, AbstractSet[str]], *, is_first: bool
) -> list[State]:
    """Return the states of the first row that matches the clause, one per attribute.

    `named` are the possible attributes of the text by language. `is_first` is true if
    the text begins with the clause, so that one without a subject is about the user.
    """
    for words in _up_to_aside(clause, named):
        for code in _likeliest(words, [code for code in rows() if code in named]):
            spaced = code not in languages.unspaced()
            elided = (USER,) if spaced or is_first else ()
            if found := _in_language(words, code, named[code], elided):
                return found
    return []


def _up_to_aside(clause: str, codes: Iterable[str]) -> Iterator[str]:
    """Yield a clause, and the part before an aside: "I quit my job, so relieved!".

    An aside that may limit or revoke the preceding words is not separated.
    """
    yield clause
    words, comma, aside = clause.partition(", ")
    if not comma or len(words.split()) < _SEVERAL or is_denied(aside):
        return
    plain = normalise(aside)
    if not any(reading_of(code).limits(plain) for code in codes):
        yield words


def _likeliest(clause: str, codes: list[str]) -> list[str]:
    """Return the possible languages of a clause, by the number of stop words in it.

    A verb of one language is a small word of another: Spanish `come`, Italian `come`.
    """
    if len(codes) < _SEVERAL:
        return codes
    counts = stop_words_by_language(words_of(clause))
    most = max(counts.values(), default=0)
    likely = [code for code in codes if counts[code] or most < _SEVERAL]
    return sorted(likely, key=lambda code: -counts[code])


def _in_language(
    clause: str, code: str, named: AbstractSet[str], elided: tuple[str, ...]
) -> list[State]:
    """Return the states of the first row of a language that matches the clause.

    `elided` is the subject of words without one; later it is that of the part before.
    """
    reading = reading_of(code)
    found: list[State] = []
    if not reading.unspaced and code not in attributes_named(clause):
        return found
    for part in reading.parts(clause):
        read = reading.words(part)
        found += _scheduled(reading.normal(part), code, read)
        if not read.words:
            continue
        given = _planned(part, code, named, elided)
        given = given or [
            replace(state, change=True, planned=True, dated=part)
            if reading.begins(part)
            else state
            for state in _of_first_row(part, code, named, elided, read)
        ]
        given = given or _ended_on_day(part, code, named, elided)
        if given:
            found += given
            elided = given[0].subject
        elif reading.unspaced:
            elided = reading.topic(read.words)
    return found


def _scheduled(words: str, code: str, parsed: ReadClause) -> list[State]:
    """Return the state of a weekly event in a part of a clause, if there is one."""
    found = schedule_of(words, code)
    if found is None:
        return []
    return [
        State(
            code,
            found.subject,
            "schedule",
            found.days,
            change=found.change,
            addition=parsed.is_addition or not found.change,
        )
    ]


def _of_first_row(
    part: str,
    code: str,
    named: AbstractSet[str],
    elided: tuple[str, ...],
    parsed: ReadClause,
    *,
    planned: bool = False,
) -> list[State]:
    """Return the states of the first row that matches a part of a clause."""
    has_digit = any(sign.isdigit() for sign in parsed.words)
    for row in rows()[code]:
        if row.planned is not planned or named.isdisjoint(row.attributes):
            continue
        if row.needs_digit and not has_digit:
            continue
        match = row.pattern.fullmatch(parsed.words)
        found = match and _read(row, match.groupdict(), part, elided, parsed)
        if found:
            return found
    return []


def _ended_on_day(
    part: str, code: str, named: AbstractSet[str], elided: tuple[str, ...]
) -> list[State]:
    """Return the changes and ends in a part of a clause with a past day.

    `I gave up coffee on Friday` is read without the day, which dates the state. A whole
    year may be long ago.
    """
    if not has_time_expression(part):
        return []
    bare = part
    for date in reversed(spans(part, SOME_DAY)):
        time = date.interval
        is_ahead = time.end > SOME_DAY and not YEAR.search(time.words)
        if is_ahead or time.granularity in {"month", "season", "year"}:
            return []
        bare = f"{bare[: date.start].rstrip()} {bare[date.end :].lstrip()}"
    if bare == part:
        return []
    parsed = reading_of(code).words(bare)
    found = _of_first_row(bare, code, named, elided, parsed)
    return [state for state in found if state.change or state.over]


def _planned(
    part: str, code: str, named: AbstractSet[str], elided: tuple[str, ...]
) -> list[State]:
    """Return the planned states in a part of a clause: "From May I live in Ulm"."""
    attributes = (row.attributes for row in rows()[code] if row.planned)
    if all(map(named.isdisjoint, attributes)) or not has_time_expression(part):
        return []
    marked = part
    for date in reversed(spans(part, SOME_DAY)):
        marked = f"{marked[: date.start]}{DATE_MARK}{marked[date.end :]}"
    if marked.count(DATE_MARK) != 1:
        return []
    read = reading_of(code).words_of_plan(marked)
    found = _of_first_row(marked, code, named, elided, read, planned=True)
    return [replace(state, planned=True, dated=part) for state in found]


def _read(
    row: StateRow,
    parts: Mapping[str, str | None],
    clause: str,
    elided: tuple[str, ...],
    parsed: ReadClause,
) -> list[State]:
    """Return the states of a matched row, none if a part of it is not definite."""
    subject = _subject(row, parts, clause, elided, parsed)
    if not subject:
        return []
    values = _values(row, parts, clause)
    if values is None:
        return []
    reading = reading_of(row.language)
    is_regular = parsed.is_regular and not row.change
    is_change = row.change or (parsed.is_new and row.may_change)
    state = State(
        row.language,
        subject,
        "",
        (),
        row.over,
        change=is_change,
        addition=parsed.is_addition or is_regular or (row.shared and not is_change),
    )
    found = [
        replace(
            state,
            attribute=_attribute(name, parts),
            value=value,
            listed=reading.lists_more(_value_words(name, parts)),
        )
        for name, value in values.items()
    ]
    if gone := reading.value(parts.get("gone") or ""):
        found.append(replace(state, attribute=row.attributes[0], value=gone, over=True))
    valued = [found_state for found_state in found if found_state.value]
    return valued if row.over and valued else found


def _values(
    row: StateRow, parts: Mapping[str, str | None], clause: str
) -> dict[str, tuple[str, ...]] | None:
    """Return the values of a row by attribute, or None if one is not definite."""
    reading = reading_of(row.language)
    found: dict[str, tuple[str, ...]] = {}
    for name in row.attributes:
        words = _value_words(name, parts)
        value = reading.value(words)
        if words and not value:
            return None
        if not value or _is_fit(row, name, words, value, clause):
            found[name] = value
        elif row.over and name in parts:
            return None
    return found


def _subject(
    row: StateRow,
    parts: Mapping[str, str | None],
    clause: str,
    elided: tuple[str, ...],
    parsed: ReadClause,
) -> tuple[str, ...]:
    """Return the subject of a matched row, () if it or the value is not definite."""
    reading = reading_of(row.language)
    subject_words, owner = _only_group(parts, _SUBJECTS), parts.get("o")
    subject = (
        reading.subject(subject_words, owner) if subject_words or owner else elided
    )
    whole, name = _only_group(parts, _WHOLE), parts.get("p")
    if row.over and row.attributes[0] not in _DAILY and not is_denied(clause):
        parsed = replace(parsed, dropped="")  # "sold today" does not limit the sale
    if whole and reading.is_limited(whole, parsed):
        return ()
    if subject and name and not reading.is_named(name, subject, clause, ""):
        return ()
    return subject


def _is_fit(
    row: StateRow, name: str, words: str, value: tuple[str, ...], clause: str
) -> bool:
    """Return whether a value is a proper name, if its attribute needs one.

    The end of a relationship needs none ("I broke up with her"), nor does one of
    several values that ends nothing ("I live in the dorms"). An employer may also be "a
    bakery", except at its end: one may leave a bakery as a guest.
    """
    if name not in NAMED or (row.over and name in PEOPLE):
        return True
    reading = reading_of(row.language)
    if row.shared and name not in PEOPLE:
        return name not in {"home", "employer"} or reading.is_place(value, name)
    is_guest = row.over and "job" not in row.attributes  # "left the bakery"
    if name == "employer" and not is_guest and reading.is_workplace(value):
        return True
    return reading.is_named(words, value, clause, name)


def _value_words(name: str, parts: Mapping[str, str | None]) -> str:
    """Return the words of an attribute's value, '' if the row has none."""
    return (parts[name] if name in parts else _only_group(parts, _VALUES)) or ""


def _attribute(name: str, parts: Mapping[str, str | None]) -> str:
    """Return the attribute with its kind, if it has one: `favourite colour`."""
    return name if name == "medication" else f"{name} {parts.get('k') or ''}".rstrip()


def _only_group(parts: Mapping[str, str | None], names: Collection[str]) -> str | None:
    return next((parts[name] for name in names if parts.get(name)), None)


# -- questions -------------------------------------------------------------------------


def state_asked_for(question: str, names: Collection[str] = ()) -> State | None:
    """Return the state that a question asks for, without its value, or None.

    `state_asked_for("Where do I live?")` has the subject user and the attribute home;
    it is `over` if the question asks for an earlier value.
    """
    found = _state_asked_for(question)
    return found and replace(found, subject=of_owner(found.subject, names))


@lru_cache(maxsize=1 << 10)
def _state_asked_for(question: str) -> State | None:
    if len(question) > _MOST_CHARS:
        return None
    written = languages.written_in(question)
    codes = [code for code in languages.section(KEY) if code in written]
    for code in _likeliest(question, codes):
        reading = reading_of(code)
        read = reading.words(question.replace("’", "'").strip(" ?？.!。¿¡"))
        for row in questions(code):
            match = row.pattern.fullmatch(read.words)
            if match:
                parts = match.groupdict()
                subject = reading.subject(_only_group(parts, _SUBJECTS), parts.get("o"))
                if subject:
                    attribute = _attribute(row.attribute, parts)
                    return State(code, subject, attribute, (), over=row.is_past)
    return None
