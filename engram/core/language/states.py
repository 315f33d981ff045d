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
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

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
    """One row of the table: a pattern of a whole clause.

    `needs_digit` says that its value is a number.
    """

    language: str
    attributes: tuple[str, ...]
    pattern: re.Pattern[str]
    over: bool
    change: bool
    needs_digit: bool


# -- the table -------------------------------------------------------------------------

_NUMBER = re.compile(r"\{[nf]\}|\(\?P<v>\\d\{")
"""The hole of a value that begins with a number."""
_WORDS = r"\S+(?: \S+)*?"
_FEW_WORDS = r"\S+(?: \S+){0,6}?"
_HOLES = {
    "s": ("s", _FEW_WORDS),
    "v": ("v", _WORDS),
    "o": ("o", _WORDS),
    "f": ("v", r"[$€£]?\d.*?"),
    "n": ("v", r"\d{1,2}|1[01]\d"),
    "k": ("k", r"\w.{0,29}?"),
}
"""Holes of a pattern: `{s}` the subject, `{v}` the value, `{o}` an owner that follows,
`{f}` a value that begins with a number, `{n}` an age in years, `{k}` the kind.
"""


@cache
def _rows() -> Mapping[str, tuple[_StateRow, ...]]:
    """The rows by language; those that end a state come first."""
    rows: dict[str, list[_StateRow]] = defaultdict(list)
    for code, section in languages.section(_KEY).items():
        for key in ("ends", "changes", "holds"):
            for entry in languages.entries(section.get(key, "")):
                names, pattern = entry.split(None, 1)
                attributes = tuple(names.split("+"))
                row = _StateRow(
                    code,
                    attributes,
                    _compiled(pattern, code),
                    over=key == "ends",
                    change=key != "holds",
                    needs_digit=_NUMBER.search(pattern) is not None,
                )
                rows[code].append(row)
    return {code: tuple(listed) for code, listed in rows.items()}


def _compiled(pattern: str, code: str) -> re.Pattern[str]:
    """A pattern with its groups (`<PET>`) and holes put in."""
    pattern = _grouped(pattern, code)
    pattern = pattern.replace("ß", "ss")  # as `normalise` writes it
    pattern = _HOLE.sub(_filled, _numbered(pattern))
    if code in languages.unspaced():
        pattern = pattern.replace(_FEW_WORDS, ".+?").replace(_WORDS, ".+?")
    return re.compile(pattern)


def _grouped(pattern: str, code: str) -> str:
    """The pattern with its groups put in."""
    for section in (f"{_KEY}.groups", "extraction.groups"):
        for name, words in languages.section(section).get(code, {}).items():
            pattern = pattern.replace(f"<{name}>", f"(?:{languages.pattern(words)})")
    return pattern


_HOLE = re.compile(r"\{([svofnk])(\d?)\}")


def _numbered(pattern: str) -> str:
    """The pattern with a number in each hole that it has again."""
    for hole in _HOLES:
        first, *rest = pattern.split(f"{{{hole}}}")
        for number, part in enumerate(rest, 1):
            first += f"{{{hole}{number if number > 1 else ''}}}{part}"
        pattern = first
    return pattern


def _filled(hole: re.Match[str]) -> str:
    group, words = _HOLES[hole[1]]
    return f"(?P<{group}{hole[2]}>{words})"


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


@lru_cache(maxsize=1 << 15)
def _states(text: str) -> tuple[State, ...]:
    if len(text) > _MOST_CHARS:
        return ()
    if not _attributes_named(text):
        return ()
    words = plain(text)
    found: list[State] = []
    for first, last in sentences(words):
        named = _attributes_named(words[first:last])
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


_WORD = re.compile(r"\w+")
_HEAD = 3
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


def _attributes_named(text: str) -> dict[str, set[str]]:
    """The attributes by language of which a cue begins a word of the text."""
    found: dict[str, set[str]] = defaultdict(set)
    folded = text.casefold()
    has_digit = any(sign.isdigit() for sign in folded)
    heads = _cue_heads()
    for word in set(_WORD.findall(folded)):
        for cue in heads.get(word[:_HEAD], ()):
            if (
                word.startswith(cue.word)
                and (len(cue.word) >= _HEAD or word == cue.word)
                and (has_digit or not cue.needs_digit)
                and (not cue.phrase or cue.phrase in folded)
            ):
                found[cue.language].add(cue.attribute)
    if not text.isascii() and _UNSPACED.search(text):
        for phrase, code, name in _cues_unspaced():
            if phrase in folded:
                found[code].add(name)
    return found


@dataclass(frozen=True, slots=True)
class _Cue:
    """A cue of an attribute in a language: its first word, and the phrase if longer."""

    word: str
    phrase: str
    language: str
    attribute: str
    needs_digit: bool


@cache
def _cue_heads() -> Mapping[str, Sequence[_Cue]]:
    """The cues of the languages with blanks, by the first letters of their words."""
    found: dict[str, dict[_Cue, None]] = defaultdict(dict)
    for code, section in languages.section(_KEY).items():
        if code in languages.unspaced():
            continue
        for name, listed in _cues_of(section).items():
            rows = [row for row in _rows()[code] if name in row.attributes]
            needs_digit = all(row.needs_digit for row in rows)
            for phrase in listed:
                word = _WORD.findall(phrase)[0]
                longer = phrase if phrase != word else ""
                cue = _Cue(word, longer, code, name, needs_digit)
                found[word[:_HEAD]][cue] = None
    return {head: tuple(listed) for head, listed in found.items()}


@cache
def _cues_unspaced() -> Sequence[tuple[str, str, str]]:
    """The cues of the languages without blanks, each with language and attribute."""
    return tuple(
        (cue, code, name)
        for code, section in languages.section(_KEY).items()
        if code in languages.unspaced()
        for name, listed in _cues_of(section).items()
        for cue in listed
    )


def _of_clause(
    clause: str, named: Mapping[str, AbstractSet[str]], *, is_first: bool
) -> list[State]:
    """The states of the first row that reads the clause; one for each attribute.

    `named` are the attributes by language that the text may tell. `is_first` says that
    the text begins with the clause, so that one without a subject is about the user.
    """
    for code in _rows():
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
    reading = _reading(code)
    found: list[State] = []
    if not reading.unspaced and code not in _attributes_named(clause):
        return found
    for part in reading.parts(clause):
        words, is_new = reading.words(part)
        if not words:
            continue
        has_digit = any(sign.isdigit() for sign in words)
        for row in _rows()[code]:
            if (row.needs_digit and not has_digit) or named.isdisjoint(row.attributes):
                continue
            read = row.pattern.fullmatch(words)
            if read is None:
                continue
            states = _read(row, read.groupdict(), part, elided, is_new=is_new)
            if states:
                found += states
                elided = states[0].subject
                break
        else:
            elided = reading.topic(words) if reading.unspaced else elided
    return found


def _read(
    row: _StateRow,
    parts: Mapping[str, str | None],
    clause: str,
    elided: tuple[str, ...],
    *,
    is_new: bool,
) -> list[State]:
    """The states of a row that matched, none where a part of it is not definite."""
    reading = _reading(row.language)
    said, owner = _one(parts, _SUBJECTS), parts.get("o")
    subject = reading.subject(said, owner) if said or owner else elided
    found: list[State] = []
    for name in row.attributes:
        said = parts[name] if name in parts else _one(parts, _VALUES)
        value = reading.value(said)
        if not subject or (said and not value):
            return []
        named = name in _NAMED and not row.over
        if named and value and not reading.is_named(said or "", value, clause, name):
            continue
        attribute = f"{name} {parts.get('k') or ''}".rstrip()
        change = row.change or is_new
        found.append(State(row.language, subject, attribute, value, row.over, change))
    return found


_VALUES = ("v", "w", "x", "v2", "v3")
_SUBJECTS = ("s", "s2", "s3")
"""Groups of a value and a subject; a row with alternatives has more than one."""


def _one(parts: Mapping[str, str | None], names: Collection[str]) -> str | None:
    return next((parts[name] for name in names if parts.get(name)), None)


_NAMED = {"home", "employer", "partner", "name", "nickname", "role", "kin"}
"""Attributes whose value is a proper name."""


class _Reading:
    """How the words of one language are read: its subjects, values and adverbs."""

    def __init__(self, code: str) -> None:
        section = languages.section(_KEY)[code]
        self.unspaced = code in languages.unspaced()
        self.capitalises_nouns = bool(section.get("capitalises_nouns"))
        self._first = frozenset(section.get("first_person", "").split())
        self._own = frozenset(section.get("own", "").split())
        self._no_value_signs = section.get("no_value_signs", "")
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
            (re.compile(before.replace("ß", "ss")), after.replace("ß", "ss"))
            for before, after in languages.replacements(section.get("written", ""))
        ]
        own = "|".join(sorted(self._first | self._user, key=len, reverse=True))
        possessive = "".join(self._possessive)
        self._unspaced_user = re.compile(f"(?:{own})[{possessive}]?") if own else None

    def parts(self, clause: str) -> list[str]:
        """The clause, in a script without blanks its parts between commas."""
        return _COMMA.split(clause) if self.unspaced else [clause]

    def words(self, clause: str) -> tuple[str, bool]:
        """The clause in its normal form without fillers, and whether it tells news."""
        plain = self._normal(normalise(clause))
        if self._lead:
            plain = plain[self._lead.match(plain).end() :]  # type: ignore[union-attr]
        is_new = bool(self._news and self._news.search(plain))
        for phrase in filter(None, (self._news, self._adverbs)):
            plain = phrase.sub("" if self.unspaced else " ", plain)
        return self._normal(" ".join(plain.split())), is_new

    def _normal(self, plain: str) -> str:
        """The words with contractions written out and in the usual order."""
        if self.unspaced:
            plain = "".join(plain.split())
        for pattern, written in self._written:
            plain = pattern.sub(written, plain)
        return plain

    def speaks_of_self(self, text: str) -> bool:
        """Whether a text has a word of the first person."""
        if self.unspaced:
            return any(word in text for word in self._first)
        found = _WORD.findall(text.casefold())
        return not (self._first | self._possessive).isdisjoint(found)

    def names_user(self, text: str) -> bool:
        """Whether a text names the user, or its script shows a subject by a word."""
        return not self.unspaced or any(word in text for word in self._user)

    def subject(self, said: str | None, owner: str | None) -> tuple[str, ...]:
        """The subject; the user where a row has none, () where it is not definite."""
        if said is None and owner is None:
            return (USER,)
        if self._no_subject_signs and re.search(self._no_subject_signs, said or ""):
            return ()
        if self.unspaced:
            return self._unspaced_subject(said or owner or "")
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

    def _unspaced_subject(self, said: str) -> tuple[str, ...]:
        """The subject in a script without blanks: `我妹妹` is ("user", "妹妹")."""
        found = self._unspaced_user and self._unspaced_user.match(said)
        if found:
            rest = said[found.end() :]
            return (USER, rest) if rest else (USER,)
        if len(said) > _MOST_SIGNS:
            return ()
        return (USER, said) if said in self._own else (said,)

    def topic(self, words: str) -> tuple[str, ...]:
        """The subject that a part of a sentence without blanks only names, or ()."""
        found = _TOPIC.fullmatch(words)
        return self._unspaced_subject(found[1]) if found else ()

    def value(self, said: str | None) -> tuple[str, ...]:
        """The head of a value, up to a word that begins something else."""
        if self.unspaced:
            refused = self._no_value_signs and re.search(
                self._no_value_signs, said or ""
            )
            long = len(said or "") > _MOST_SIGNS
            return () if refused or long or not said else (said,)
        head: list[str] = []
        for word in (said or "").split():
            if word in self._after_value and head:
                break
            if word not in self._articles:
                head.append(word)
        if not self._first.isdisjoint(head):
            return ()
        return tuple(word for word in head if word not in self._indefinite)

    def is_named(
        self, said: str, value: tuple[str, ...], clause: str, name: str
    ) -> bool:
        """Whether a value is a proper name, as far as the script tells."""
        if self.unspaced or value[0][0].isdigit():
            return self.unspaced
        if self.capitalises_nouns:
            first = said.split(maxsplit=1)[0]
            if first in self._indefinite or (
                name == "home" and first in self._articles
            ):
                return False
        if clause == clause.casefold():
            return len(value) <= _FEW_NAMES  # a text without capitals
        heads = value[:1] if name == "home" else value
        return any(
            word[:1].isupper() and normalise(word).startswith(heads)
            for word in re.findall(r"[^\W\d_][\w'-]*", clause)
        )


_COMMA = re.compile("(?<![はもが])[，,、；;]")
_TOPIC = re.compile("(.+?)[はがも]")
_MOST_SIGNS = 16
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
        if named and not _is_same_value(new, old):
            return ""
        return f"no longer holds: {name}" if new.over else f"holds again: {name}"
    if new.over or name.partition(" ")[0] not in SINGLE:
        return ""
    if _contains(new.value, old.value):
        return ""
    # One place has two names in two languages: only words of change tell another.
    certain = new.language == old.language or new.change or new.value[0].isdigit()
    return f"another {name}" if certain else ""


def _same_subject(one: State, other: State) -> bool:
    """Whether two subjects are one; of a figure, whosever it is."""
    if one.attribute.partition(" ")[0] in {"figure", "date"}:
        return _bare(one.subject) == _bare(other.subject)
    return names_same(one.subject, other.subject)


def names_same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two subjects are surely one: `my sister Eva`, `my sister` and `Eva`."""
    short, long = sorted((tuple(one), tuple(other)), key=len)
    if short == long:
        return True
    if len(long) < _KIN_AND_NAME or long[0] != USER:
        return False
    return short in (long[:2], long[2:])


_KIN_AND_NAME = 3
"""Words of `my sister Eva`, at least."""


def person_named(state: State, subject: Sequence[str]) -> tuple[str, ...]:
    """The name that a state gives to a `subject` like `my sister`, or ()."""
    relation, _, kind = state.attribute.partition(" ")
    is_named = relation in {"kin", "role"} and not state.over
    return state.value if is_named and (*state.subject, kind) == tuple(subject) else ()


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
    is_named = _contains(tuple(who), old.value)
    if name in {"pet", "partner"} and old.value and is_named:
        return "the death of its subject"
    return ""


def _is_same_value(one: State, other: State) -> bool:
    """Whether two values are one: of a proper name all words of the shorter one.

    Daniel Okafor is not Daniel Brandt, but "four cups of coffee" is coffee.
    """
    if one.attribute.partition(" ")[0] in _NAMED:
        return _contains(one.value, other.value)
    return _overlap(one.value, other.value)


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
        words, _ = reading.words(question.replace("’", "'").strip(" ?？.!。¿¡"))
        for name, pattern in _questions(code, section.get("questions", "")):
            found = pattern.fullmatch(words)
            if found:
                parts = found.groupdict()
                subject = reading.subject(_one(parts, _SUBJECTS), parts.get("o"))
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


# -- the third person ------------------------------------------------------------------


def told(clause: str, state: State, subject: str, possessive: str) -> str:
    """A clause that tells a state, in the third person, or ''.

    `subject` and `possessive` are those of the speaker: "our dog died" becomes "the
    user's dog died". '' where it still has a word of the first person.
    """
    section = languages.section(_KEY)[state.language]
    reading = _reading(state.language)
    text = clause
    for pattern, words in _told(state.language):
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
    same = _bare(one.subject) == _bare(other.subject)
    return same and (one.attribute, one.over) == (other.attribute, other.over)


@cache
def _told(code: str) -> Sequence[tuple[re.Pattern[str], str]]:
    listed = languages.section(_KEY)[code].get("told", "")
    return tuple(
        (re.compile(_grouped(pattern, code), re.IGNORECASE), words)
        for pattern, words in languages.replacements(listed)
    )
