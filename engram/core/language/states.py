"""States that words give, change or end: home, job, partner, liking, price (A7, X13).

A closed table by language, in section `[states]` of the language files. `states` reads
the states out of a text in the first or the third person; `replacement` says why one
state takes the place of another: "I've moved to Augsburg" that of "The user lives in
Munich", "Our dog died" that of "The user has a dog". A statement that the table does
not know gives no state, so a word alone never ends anything.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.sentences import (
    clauses,
    is_doubtful,
    plain,
    refusal,
    sentences,
)
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

USER = "user"
"""The first word of a subject that is the user, or something of theirs."""

_KEY = "states"
_MOST_CHARS = 600
_MOST_SUBJECT_WORDS = 5


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


@dataclass(frozen=True, slots=True)
class _StateRow:
    """One row of the table: a pattern of a whole clause."""

    language: str
    attributes: tuple[str, ...]
    pattern: re.Pattern[str]
    cues: tuple[str, ...]
    over: bool
    change: bool


# -- the table -------------------------------------------------------------------------

_HOLES = {
    "{s}": r"(?P<s>.+?)",
    "{v}": r"(?P<v>.+?)",
    "{o}": r"(?P<o>.+?)",
    "{f}": r"(?P<v>[$€£]?\d.*)",
    "{n}": r"(?P<v>\d{1,2}|1[01]\d)",
    "{k}": r"(?P<k>\w.{0,29}?)",
}
"""Holes of a pattern: `{s}` the subject, `{v}` the value, `{o}` an owner that follows,
`{f}` a value that begins with a number, `{n}` an age in years, `{k}` the kind.
"""


@cache
def _rows() -> Mapping[str, tuple[_StateRow, ...]]:
    """The rows by language; those that end a state come first."""
    rows: dict[str, list[_StateRow]] = defaultdict(list)
    for code, section in languages.section(_KEY).items():
        cues = _cues_of(section)
        for key in ("ends", "changes", "holds"):
            for entry in languages.entries(section.get(key, "")):
                names, pattern = entry.split(None, 1)
                attributes = tuple(names.split("+"))
                row = _StateRow(
                    code,
                    attributes,
                    _compiled(pattern, code),
                    tuple(cue for name in attributes for cue in cues.get(name, ())),
                    over=key == "ends",
                    change=key != "holds",
                )
                rows[code].append(row)
    return {code: tuple(listed) for code, listed in rows.items()}


def _compiled(pattern: str, code: str) -> re.Pattern[str]:
    """A pattern with its groups (`<PET>`) and holes put in."""
    for section in (f"{_KEY}.groups", "extraction.groups"):
        for name, words in languages.section(section).get(code, {}).items():
            pattern = pattern.replace(f"<{name}>", f"(?:{languages.pattern(words)})")
    for hole, group in _HOLES.items():
        pattern = pattern.replace(hole, group)
    return re.compile(pattern.replace("ß", "ss"))  # as `normalise` writes it


def _cues_of(section: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The cue words of each attribute: a text without any of them has no such state."""
    cues = {}
    for entry in languages.entries(section.get("cues", "")):
        name, _, listed = entry.partition(" = ")
        cues[name] = tuple(normalise(cue) for cue in languages.phrases(listed))
    return cues


@cache
def cues(attribute: str) -> tuple[str, ...]:
    """The cue words of an attribute in all languages, to search its statements with.

    The kind of a favourite or a figure is a cue of its own: `cues("favourite colour")`
    has `colour`.
    """
    name, _, kind = attribute.partition(" ")
    found = [
        cue
        for section in languages.section(_KEY).values()
        for cue in _cues_of(section).get(name, ())
    ]
    return tuple(dict.fromkeys([*kind.split(), *found]))


# -- reading ---------------------------------------------------------------------------


def states(text: str, names: Collection[str] = ()) -> tuple[State, ...]:
    """The states that `text` gives, changes or ends, in their order (`A7`).

    `names` are the folded words of the user's names: "Jonas lives in Munich" is then
    about the user. Questions, doubts, quotations and what is not asserted give none.
    """
    found = _states(text)
    if not names:
        return found
    return tuple(replace(one, subject=_own(one.subject, names)) for one in found)


def _own(subject: tuple[str, ...], names: Collection[str]) -> tuple[str, ...]:
    """The subject with the user's own names at its beginning as the user."""
    rest = subject
    while rest and rest[0] in names:
        rest = rest[1:]
    return subject if rest == subject else (USER, *rest)


@lru_cache(maxsize=1 << 13)
def _states(text: str) -> tuple[State, ...]:
    if len(text) > _MOST_CHARS or not _may_tell(text):
        return ()
    words = plain(text)
    found: list[State] = []
    for first, last in sentences(words):
        if refusal(words[first:last]):
            continue
        for start, end in clauses(words, first, last):
            clause = words[start:end]
            if not is_doubtful(clause):
                found += [
                    replace(one, start=start, end=end) for one in _of_clause(clause)
                ]
    return tuple(found)


def _may_tell(text: str) -> bool:
    folded = text.casefold()
    return any(cue in folded for cue in _all_cues())


@cache
def _all_cues() -> tuple[str, ...]:
    """The shortest cues: one that contains another one is not needed."""
    found = {
        cue
        for section in languages.section(_KEY).values()
        for listed in _cues_of(section).values()
        for cue in listed
    }
    return tuple(
        cue for cue in found if not any(one in cue for one in found if one != cue)
    )


def _of_clause(clause: str) -> list[State]:
    """The states of the first row that reads the clause; one for each attribute."""
    for code, rows in _rows().items():
        reading = _reading(code)
        words, is_new = reading.words(clause)
        for row in rows:
            if row.cues and not any(cue in words for cue in row.cues):
                continue
            found = row.pattern.fullmatch(words)
            states = (
                _read(row, found.groupdict(), clause, is_new=is_new) if found else []
            )
            if states:
                return states
    return []


def _read(
    row: _StateRow, parts: Mapping[str, str | None], clause: str, *, is_new: bool
) -> list[State]:
    """The states of a row that matched, none where a part of it is not definite."""
    reading = _reading(row.language)
    subject = reading.subject(parts.get("s"), parts.get("o"))
    value = reading.value(parts.get("v"))
    if not subject or (parts.get("v") and not value):
        return []
    kind = parts.get("k") or ""
    found = []
    for name in row.attributes:
        named = name in _NAMED and not row.over
        if named and value and not reading.is_named(value, clause):
            continue
        attribute = f"{name} {kind}".rstrip()
        change = row.change or is_new
        found.append(State(row.language, subject, attribute, value, row.over, change))
    return found


_NAMED = {"home", "employer", "partner", "name", "nickname", "role"}
"""Attributes whose value is a proper name."""


class _Reading:
    """How the words of one language are read: its subjects, values and adverbs."""

    def __init__(self, code: str) -> None:
        section = languages.section(_KEY)[code]
        self.unspaced = code in languages.unspaced()
        self.capitalises_nouns = bool(section.get("capitalises_nouns"))
        self._first = frozenset(section.get("first_person", "").split())
        self._possessive = frozenset(section.get("possessive", "").split())
        self._user = frozenset(section.get("user", "").split())
        self._no_subject = frozenset(section.get("no_subject", "").split())
        self._no_subject_signs = section.get("no_subject_signs", "")
        self._articles = frozenset(section.get("articles", "").split())
        self._indefinite = frozenset(section.get("indefinite", "").split())
        self._after_value = frozenset(section.get("after_value", "").split())
        self._lead = _prefix(section.get("leads", ""))
        self._adverbs = _phrase(section.get("adverbs", ""), unspaced=self.unspaced)
        self._news = _phrase(section.get("news", ""), unspaced=self.unspaced)
        self._written = [
            (re.compile(before), after)
            for before, _, after in (
                entry.partition(" = ")
                for entry in languages.entries(section.get("written", ""))
            )
        ]

    def words(self, clause: str) -> tuple[str, bool]:
        """The clause in its normal form without fillers, and whether it tells news."""
        plain = normalise(clause)
        for pattern, written in self._written:
            plain = pattern.sub(written, plain)
        if self._lead:
            plain = plain[self._lead.match(plain).end() :]  # type: ignore[union-attr]
        is_new = bool(self._news and self._news.search(plain))
        for phrase in filter(None, (self._news, self._adverbs)):
            plain = phrase.sub("" if self.unspaced else " ", plain)
        return " ".join(plain.split()), is_new

    def subject(self, said: str | None, owner: str | None) -> tuple[str, ...]:
        """The subject; the user where a row has none, () where it is not definite."""
        if said is None and owner is None:
            return (USER,)
        if self._no_subject_signs and re.search(self._no_subject_signs, said or ""):
            return ()
        words = [
            word.removesuffix("'s").removesuffix("'")
            for word in f"{owner or ''} {said or ''}".split()
            if word not in self._articles
        ]
        if len(words) > _MOST_SUBJECT_WORDS or not self._no_subject.isdisjoint(words):
            return ()
        return self._with_user(words)

    def _with_user(self, words: list[str]) -> tuple[str, ...]:
        """The words of a subject, with those for the user as its first word."""
        if words and words[0] in self._possessive | self._user:
            return (USER, *words[1:])
        if len(words) == 1 and words[0] in self._first:
            return (USER,)
        return () if self._first.intersection(words) else tuple(words)

    def value(self, said: str | None) -> tuple[str, ...]:
        """The head of a value, up to a word that begins something else."""
        head: list[str] = []
        for word in (said or "").split():
            if word in self._after_value and head:
                break
            if word not in self._articles:
                head.append(word)
        return tuple(word for word in head if word not in self._indefinite)

    def is_named(self, value: tuple[str, ...], clause: str) -> bool:
        """Whether a value is a proper name, as far as the script tells."""
        if self.unspaced or value[0][0].isdigit():
            return self.unspaced
        if clause == clause.casefold():
            return len(value) <= _FEW_NAMES  # a text without capitals
        return any(
            word[:1].isupper() and normalise(word).startswith(value[0])
            for word in re.findall(r"[^\W\d_][\w'-]*", clause)
        )


_FEW_NAMES = 2


@cache
def _reading(code: str) -> _Reading:
    return _Reading(code)


def _prefix(listed: str) -> re.Pattern[str] | None:
    return re.compile(rf"(?:(?:{languages.pattern(listed)}) )*") if listed else None


def _phrase(listed: str, *, unspaced: bool) -> re.Pattern[str] | None:
    if not listed:
        return None
    words = languages.pattern(listed)
    return re.compile(words if unspaced else rf"(?<!\S)(?:{words})(?!\S)")


# -- replacing -------------------------------------------------------------------------

SINGLE = frozenset(
    """
    address age car date diet email employer favourite figure home job name nickname
    partner phone role thing weight
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)
"""Attributes with one value at a time."""

FIXED = frozenset({"birthday", "birthplace", "origin"})
"""Attributes that never change: another value is a contradiction, or a correction."""

ENDS_WITH_LIFE = frozenset(
    """
    address age car date diet eats email employer figure habit home job like partner
    pet phone study thing weight
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)
"""Attributes of a person or an animal that end with its death."""


def replacement(new: State, old: State) -> str:
    """Why `new`, said later, takes the place of `old`; '' where it does not (`A7`).

    Another value of an attribute that has one at a time, the end of the same state or
    its opposite, and the death of its subject.
    """
    if new.attribute == "alive":
        return _ended_by_death(new, old)
    if not _same_subject(new, old) or new.attribute != old.attribute:
        return ""
    name = new.attribute.replace("_", " ")
    if new.over != old.over:
        named = bool(new.value) and bool(old.value)
        if named and not _overlap(new.value, old.value):
            return ""
        return f"no longer holds: {name}" if new.over else f"holds again: {name}"
    if new.over or name.partition(" ")[0] not in SINGLE:
        return ""
    differ = not _contains(new.value, old.value)
    return f"another {name}" if differ and new.language == old.language else ""


def _same_subject(one: State, other: State) -> bool:
    """Whether two subjects are one; of a figure, whosever it is."""
    if one.attribute.partition(" ")[0] in {"figure", "date"}:
        return _bare(one.subject) == _bare(other.subject)
    return one.subject == other.subject


def _bare(subject: tuple[str, ...]) -> tuple[str, ...]:
    return subject[1:] if len(subject) > 1 and subject[0] == USER else subject


def _ended_by_death(new: State, old: State) -> str:
    """Whether `old` is a state of who died, or the possession of them."""
    if not new.over or old.over or new.subject == (USER,):
        return ""
    who = set(_bare(new.subject)) | set(new.value)
    own = set(_bare(old.subject))
    name = old.attribute.partition(" ")[0]
    if name in ENDS_WITH_LIFE and own == who:
        return "the death of its subject"
    if name in {"pet", "partner"} and who <= set(old.value):
        return "the death of its subject"
    return ""


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return not set(one).isdisjoint(other)


def _contains(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    first, second = set(one), set(other)
    return first <= second or second <= first


def is_fixed(state: State) -> bool:
    """Whether the attribute of a state never changes."""
    return state.attribute.partition(" ")[0] in FIXED


# -- questions -------------------------------------------------------------------------


def asked(question: str, names: Collection[str] = ()) -> State | None:
    """The state that a question asks for, with no value; None where it asks for none.

    `asked("Where do I live?")` has the subject user and the attribute home.
    """
    found = _asked(question)
    return found and replace(found, subject=_own(found.subject, names))


@lru_cache(maxsize=1 << 10)
def _asked(question: str) -> State | None:
    if len(question) > _MOST_CHARS:
        return None
    for code, section in languages.section(_KEY).items():
        reading = _reading(code)
        words, _ = reading.words(question.rstrip(" ?？.!。"))
        for name, pattern in _questions(code, section.get("questions", "")):
            found = pattern.fullmatch(words)
            if found:
                parts = found.groupdict()
                subject = reading.subject(parts.get("s"), parts.get("o"))
                attribute = f"{name} {parts.get('k') or ''}".rstrip()
                if subject:
                    return State(code, subject, attribute, ())
    return None


@cache
def _questions(code: str, listed: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(_question_rows(code, listed))


def _question_rows(code: str, listed: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    for entry in languages.entries(listed):
        name, pattern = entry.split(None, 1)
        yield name, _compiled(pattern, code)
