"""States that words give, change or end: home, job, partner, liking, price (A7, X13).

`states` reads the states out of a text in the first or the third person by the table
in section `[states]` of the language files, `asked` the one that a question asks for;
`told` turns a clause into the third person. A statement that the table does not know
gives no state, so a word alone never ends anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.sentences import (
    clauses,
    is_doubtful,
    plain,
    refusal,
    sentences,
)
from engram.core.language.state_cues import attributes_named
from engram.core.language.state_subjects import USER, bare, of_owner
from engram.core.language.state_table import (
    KEY,
    NAMED,
    StateRow,
    questions,
    rows,
    third_person,
)
from engram.core.language.state_words import reading_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet

_MOST_CHARS = 600

_VALUES = ("v", "w", "x", "v2", "v3")
_SUBJECTS = ("s", "s2", "s3")
"""Groups of a value and a subject; a row with alternatives has more than one."""


@dataclass(frozen=True, slots=True)
class State:
    """One state: whose it is (`subject`), which (`attribute`) and its `value`.

    `subject` is ("user",) for the user, ("user", "dog") for the user's dog, ("eva",)
    for Eva; `value` are folded words, none where an end names no value. `over` says
    that the words end the state, `change` that they tell it as new ("moved", "now").
    `start` and `end` are the place of its clause in the text.
    """

    language: str
    subject: tuple[str, ...]
    attribute: str
    value: tuple[str, ...]
    over: bool = False
    change: bool = False
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
    words = plain(text)
    found: list[State] = []
    for first, last in sentences(words):
        named = attributes_named(words[first:last])
        if not named or refusal(words[first:last]):
            continue
        for start, end in clauses(words, first, last):
            if is_doubtful(words[start:end]):
                continue
            found += [
                replace(one, start=start, end=end)
                for one in _of_clause(words[start:end], named, is_first=not start)
            ]
    return tuple(found)


def _of_clause(
    clause: str, named: Mapping[str, AbstractSet[str]], *, is_first: bool
) -> list[State]:
    """The states of the first row that reads the clause; one for each attribute.

    `named` are the attributes by language that the text may tell. `is_first` says that
    the text begins with the clause, so that one without a subject is about the user.
    """
    for code in rows():
        if code in named:
            spaced = code not in languages.unspaced()
            elided = (USER,) if spaced or is_first else ()
            if found := _in_language(clause, code, named[code], elided):
                return found
    return []


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
        words, is_new = reading.words(part)
        if not words:
            continue
        has_digit = any(sign.isdigit() for sign in words)
        for row in rows()[code]:
            if (row.needs_digit and not has_digit) or named.isdisjoint(row.attributes):
                continue
            read = row.pattern.fullmatch(words)
            if read is None:
                continue
            given = _read(row, read.groupdict(), part, elided, is_new=is_new)
            if given:
                found += given
                elided = given[0].subject
                break
        else:
            elided = reading.topic(words) if reading.unspaced else elided
    return found


def _read(
    row: StateRow,
    parts: Mapping[str, str | None],
    clause: str,
    elided: tuple[str, ...],
    *,
    is_new: bool,
) -> list[State]:
    """The states of a row that matched, none where a part of it is not definite."""
    reading = reading_of(row.language)
    said, owner = _one(parts, _SUBJECTS), parts.get("o")
    subject = reading.subject(said, owner) if said or owner else elided
    if not subject:
        return []
    change = row.change or is_new
    found: list[State] = []
    for name in row.attributes:
        words = _value_words(name, parts)
        value = reading.value(words)
        if words and not value:
            return []
        named = name in NAMED and not row.over
        if named and value and not reading.is_named(words, value, clause, name):
            continue
        attribute = _attribute(name, parts)
        found.append(State(row.language, subject, attribute, value, row.over, change))
    return found


def _value_words(name: str, parts: Mapping[str, str | None]) -> str:
    """The words of an attribute's value, '' where the row has none."""
    return (parts[name] if name in parts else _one(parts, _VALUES)) or ""


def _attribute(name: str, parts: Mapping[str, str | None]) -> str:
    """The attribute with its kind, if it has one: `favourite colour`."""
    return f"{name} {parts.get('k') or ''}".rstrip()


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

    `asked("Where do I live?")` has the subject user and the attribute home.
    """
    found = _asked(question)
    return found and replace(found, subject=of_owner(found.subject, names))


@lru_cache(maxsize=1 << 10)
def _asked(question: str) -> State | None:
    if len(question) > _MOST_CHARS:
        return None
    for code in languages.section(KEY):
        reading = reading_of(code)
        words, _ = reading.words(question.replace("’", "'").strip(" ?？.!。¿¡"))
        for name, pattern in questions(code):
            found = pattern.fullmatch(words)
            if found:
                parts = found.groupdict()
                subject = reading.subject(_one(parts, _SUBJECTS), parts.get("o"))
                if subject:
                    return State(code, subject, _attribute(name, parts), ())
    return None


# -- the third person ------------------------------------------------------------------


def told(clause: str, state: State, subject: str, possessive: str) -> str:
    """A clause that tells a state, in the third person, or ''.

    `subject` and `possessive` are those of the speaker: "our dog died" becomes "the
    user's dog died". '' where it still has a word of the first person.
    """
    section = languages.section(KEY)[state.language]
    reading = reading_of(state.language)
    text = clause
    for pattern, words in third_person(state.language):
        text = pattern.sub(words, text)
    text = text.replace("{s}", subject).replace("{p}", possessive)
    if reading.speaks_of_self(text):
        return ""
    before = ["told_subject", "told_possessive"] if state.subject[0] == USER else []
    if not before or reading.names_user(text):
        before = ["", *before]
    for key in before:
        whole = f"{section.get(key, '')}{text}"
        if any(_is_same(one, state) for one in states(whole)):
            return whole
    return ""


def _is_same(one: State, other: State) -> bool:
    same = bare(one.subject) == bare(other.subject)
    return same and (one.attribute, one.over) == (other.attribute, other.over)
