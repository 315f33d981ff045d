"""States that words give, change or end: home, job, partner, liking, price (A7, X13).

`states` reads the states out of a text in the first or the third person by the table
in section `[states]` of the language files, `asked` the one that a question asks for;
the ways to tell them are in `state_telling`. A statement that the table does not know
gives no state, so a word alone never ends anything.
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
from engram.core.language.paraphrase import is_denied
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
"""Groups of a value and a subject; a row with alternatives has more than one."""

_DAILY = frozenset({"allergy", "diet", "eats", "habit", "like"})
"""Attributes of which one may do without for a day."""

_UNDATED = frozenset({"age", "date", "figure", "phone", "return", "schedule", "weight"})
"""Attributes with numbers, or dates, as their values: these do not date a change."""


@dataclass(frozen=True, slots=True)
class State:
    """One state: whose it is (`subject`), which (`attribute`) and its `value`.

    `subject` is ("user",) for the user, ("user", "dog") for the user's dog, ("eva",)
    for Eva; `value` are folded words, none where an end names no value. `over` says
    that the words end the state, `change` that they tell it as new ("moved", "now").
    It is `planned` if it begins on a day to come, which `dated` names. `listed` says
    that its words name further values: "nuts" of "allergic to nuts and eggs". `start`
    and `end` are the place of its clause in the text.
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
    """The states that `text` gives, changes or ends, in their order (`A7`).

    `names` are the folded words of the user's names: "Jonas lives in Munich" is then
    about the user. Questions, doubts, quotations and what is not asserted give none.
    """
    found = _states(text)
    if not names:
        return found
    return tuple(replace(one, subject=of_owner(one.subject, names)) for one in found)


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
                    _dated(one, words[start:end], words[first:last]),
                    start=start,
                    end=end,
                )
                for one in _of_clause(
                    with_subject(words[start:end])
                    if start == first
                    else words[start:end],
                    named,
                    is_first=not start,
                )
                if _is_lasting(one, words[first:last], words[end:], words[start:end])
            ]
    return tuple(found)


def with_subject(clause: str) -> str:
    """A clause that begins a sentence with "I", if it leaves that out: "Sold the car".

    For the languages that list such beginnings; any other clause stays as it is.
    """
    for code in _ELIDING:
        if (whole := reading_of(code).with_subject(clause)) != clause:
            return whole
    return clause


_ELIDING = tuple(languages.texts(KEY, "elided"))


def in_context(found: Sequence[State], text: str, quote: str) -> tuple[State, ...]:
    """The states of a statement that the words around its `quote` in `text` leave.

    "The user moved to Berlin" gives no state where "but moved back" follows in the turn
    or "when I was six" precedes it; a date beside the quote counts too.
    """
    place = text.find(quote) if quote else -1
    if place < 0 or not any(one.change or one.over for one in found):
        return tuple(found)
    words = plain(text)
    after = words[place + len(quote) :]
    around = (
        words[first:last] for first, last in sentences(words) if first <= place < last
    )
    sentence = next(around, quote)
    return tuple(
        one if one.dated else _dated(one, quote, sentence)
        for one in found
        if _is_lasting(one, sentence, after)
    )


def _is_lasting(state: State, sentence: str, after: str, clause: str = "") -> bool:
    """Whether a change still counts: not one of childhood, nor one that was undone.

    `after` are the words that follow; those of the sentence and of the next one count.
    A `clause` with "now" is of today beside a mere "formerly".
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
    """The state with the words that may date it, where they tell a change."""
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
    """The states of the first row that reads the clause; one for each attribute.

    `named` are the attributes by language that the text may tell. `is_first` says that
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
    """A clause, and what precedes an aside: "I quit my job, so relieved!".

    An aside that may limit or take back what precedes it stays with it.
    """
    yield clause
    words, comma, aside = clause.partition(", ")
    if not comma or len(words.split()) < _SEVERAL or is_denied(aside):
        return
    plain = normalise(aside)
    if not any(reading_of(code).limits(plain) for code in codes):
        yield words


def _likeliest(clause: str, codes: list[str]) -> list[str]:
    """The languages that a clause may be in, those with most stop words in it first.

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
    """The states of the first row of a language that reads the clause.

    `elided` is the subject of words without one; later that of the part before.
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
            replace(one, change=True, planned=True, dated=part)
            if reading.begins(part)
            else one
            for one in _of_first_row(part, code, named, elided, read)
        ]
        if given:
            found += given
            elided = given[0].subject
        elif reading.unspaced:
            elided = reading.topic(read.words)
    return found


def _scheduled(words: str, code: str, read: ReadClause) -> list[State]:
    """The state of what takes place each week, if a part of a clause tells one."""
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
            addition=read.is_addition or not found.change,
        )
    ]


def _of_first_row(
    part: str,
    code: str,
    named: AbstractSet[str],
    elided: tuple[str, ...],
    read: ReadClause,
    *,
    planned: bool = False,
) -> list[State]:
    """The states of the first row that reads a part of a clause."""
    has_digit = any(sign.isdigit() for sign in read.words)
    for row in rows()[code]:
        if row.planned is not planned or named.isdisjoint(row.attributes):
            continue
        if row.needs_digit and not has_digit:
            continue
        match = row.pattern.fullmatch(read.words)
        found = match and _read(row, match.groupdict(), part, elided, read)
        if found:
            return found
    return []


def _planned(
    part: str, code: str, named: AbstractSet[str], elided: tuple[str, ...]
) -> list[State]:
    """The states that a part of a clause plans for a day: "From May I live in Ulm"."""
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
    return [replace(one, planned=True, dated=part) for one in found]


def _read(
    row: StateRow,
    parts: Mapping[str, str | None],
    clause: str,
    elided: tuple[str, ...],
    read: ReadClause,
) -> list[State]:
    """The states of a row that matched, none where a part of it is not definite."""
    subject = _subject(row, parts, clause, elided, read)
    if not subject:
        return []
    values = _values(row, parts, clause)
    if values is None:
        return []
    reading = reading_of(row.language)
    is_regular = read.is_regular and not row.change
    is_change = row.change or (read.is_new and row.may_change)
    state = State(
        row.language,
        subject,
        "",
        (),
        row.over,
        change=is_change,
        addition=read.is_addition or is_regular or (row.shared and not is_change),
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
    valued = [one for one in found if one.value]
    return valued if row.over and valued else found


def _values(
    row: StateRow, parts: Mapping[str, str | None], clause: str
) -> dict[str, tuple[str, ...]] | None:
    """The value of each attribute that has a fit one, None where it is not definite."""
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
    read: ReadClause,
) -> tuple[str, ...]:
    """The subject of a matched row, () where it or the whole value is not definite."""
    reading = reading_of(row.language)
    said, owner = _one(parts, _SUBJECTS), parts.get("o")
    subject = reading.subject(said, owner) if said or owner else elided
    whole, name = _one(parts, _WHOLE), parts.get("p")
    if row.over and row.attributes[0] not in _DAILY and not is_denied(clause):
        read = replace(read, dropped="")  # what is sold today is sold
    if whole and reading.is_limited(whole, read):
        return ()
    if subject and name and not reading.is_named(name, subject, clause, ""):
        return ()
    return subject


def _is_fit(
    row: StateRow, name: str, words: str, value: tuple[str, ...], clause: str
) -> bool:
    """Whether a value is a proper name where its attribute needs one.

    The end of a state of people needs none: "I broke up with her", nor does one of
    several that ends nothing: "I live in the dorms". An employer may be
    "a bakery" too, except at its end: one may leave a bakery as a guest.
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
    """The words of an attribute's value, '' where the row has none."""
    return (parts[name] if name in parts else _one(parts, _VALUES)) or ""


def _attribute(name: str, parts: Mapping[str, str | None]) -> str:
    """The attribute with its kind, if it has one: `favourite colour`."""
    return name if name == "medication" else f"{name} {parts.get('k') or ''}".rstrip()


def _one(parts: Mapping[str, str | None], names: Collection[str]) -> str | None:
    return next((parts[name] for name in names if parts.get(name)), None)


def person_named(state: State, subject: Sequence[str]) -> tuple[str, ...]:
    """The name that a state gives to a `subject` like `my sister`, or ()."""
    relation, _, kind = state.attribute.partition(" ")
    is_named = relation in {"kin", "role"} and not state.over
    return state.value if is_named and (*state.subject, kind) == tuple(subject) else ()


# -- questions -------------------------------------------------------------------------


def asked(question: str, names: Collection[str] = ()) -> State | None:
    """The state that a question asks for, with no value; None where it asks for none.

    `asked("Where do I live?")` has the subject user and the attribute home; it is
    `over` where the question asks for an earlier one.
    """
    found = _asked(question)
    return found and replace(found, subject=of_owner(found.subject, names))


@lru_cache(maxsize=1 << 10)
def _asked(question: str) -> State | None:
    if len(question) > _MOST_CHARS:
        return None
    written = languages.written_in(question)
    codes = [code for code in languages.section(KEY) if code in written]
    for code in _likeliest(question, codes):
        reading = reading_of(code)
        read = reading.words(question.replace("’", "'").strip(" ?？.!。¿¡"))
        for row in questions(code):
            found = row.pattern.fullmatch(read.words)
            if found:
                parts = found.groupdict()
                subject = reading.subject(_one(parts, _SUBJECTS), parts.get("o"))
                if subject:
                    attribute = _attribute(row.attribute, parts)
                    return State(code, subject, attribute, (), over=row.is_past)
    return None
