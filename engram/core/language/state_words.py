"""How the words of one language are read: subjects, values, fillers and news.

`reading_of` gives the `StateReading` of a language, made of the word lists in section
`[states]` of its file. For `states`, which gives it the parts of a matched clause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.dates import resolve
from engram.core.language.languages import LazyPattern
from engram.core.language.state_subjects import USER
from engram.core.language.state_table import DATE_MARK, KEY, PEOPLE
from engram.core.language.words import language, words
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""Dates are only found in a clause, so any day serves to read them."""

_WORD = re.compile(r"\w+")
_COMMA = re.compile("(?<![はもが])[，,、；;]")
_TOPIC = re.compile("(.+?)[はがも]")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_MOST_SUBJECT_WORDS = 5
_MOST_SIGNS = 16
_FEW_NAMES = 2
_NUMBERED = re.compile(r"\d|^\w$")
"""A word that no place ends with: `Phase 2`, `Plan B`."""

_LETTERS = re.compile(r"[^\W\d_][\w'-]*")
_SMALL = {"am", "de", "del", "der", "des", "di", "du", "la", "las", "le", "les", "of"}
"""Small words inside the name of a place, as in `Frankfurt am Main`."""

_BETWEEN_WORDS = re.compile(r"[\s,/]+")


def _words_of(name: str, key: str) -> frozenset[str]:
    """The single words of a key in all languages."""
    listed = " ".join(languages.texts(name, key).values())
    return frozenset(_BETWEEN_WORDS.split(normalise(listed)))


_TIMES = _words_of("dates", "weekdays") | _words_of("dates", "months")
_NOT_EMPLOYERS = _TIMES | _words_of(KEY, "not_employers")
"""Words of a value that is no employer, in any language, as in `Chapter 3`."""
_NOT_HOMES = _NOT_EMPLOYERS | _words_of(KEY, "not_places")
"""Words of a value that is no home either: an app, a department, a language."""


@dataclass(frozen=True, slots=True)
class ReadClause:
    """The words of a clause that a row of the table reads.

    `dropped` are the fillers that were taken out. `is_new` says that it has a word like
    "now", `is_addition` one like "also", `is_regular` one like "on weekends".
    """

    words: str
    dropped: str
    is_new: bool
    is_addition: bool
    is_regular: bool


class StateReading:
    """How the words of one language are read: its subjects, values and adverbs."""

    def __init__(self, code: str) -> None:
        section = languages.section(KEY)[code]
        self.unspaced = code in languages.unspaced()
        self.capitalises_nouns = bool(section.get("capitalises_nouns"))
        self._first = frozenset(section.get("first_person", "").split())
        self._own = frozenset(section.get("own", "").split())
        self._no_value = frozenset(section.get("no_value", "").split())
        self._no_value_signs = section.get("no_value_signs", "")
        self._not_place_signs = section.get("not_place_signs", "")
        self._not_names = frozenset(section.get("not_names", "").split())
        self._workplaces = frozenset(section.get("workplaces", "").split())
        self._meat = tuple(section.get("meat", "").split())
        self._meatless = frozenset(section.get("meatless", "").split())
        self._naming = _pattern(section.get("naming", ""))
        self._possessive = frozenset(section.get("possessive", "").split())
        self._user = frozenset(section.get("user", "").split())
        self._no_subject = frozenset(section.get("no_subject", "").split())
        self._no_subject_signs = section.get("no_subject_signs", "")
        self._articles = frozenset(section.get("articles", "").split())
        self._indefinite = frozenset(section.get("indefinite", "").split())
        self._after_value = frozenset(section.get("after_value", "").split())
        sentence_words = languages.section("sentences").get(code, {})
        self._joining = frozenset(sentence_words.get("joining", "").split())
        self._lead = _prefix(section.get("leads", ""))
        self._fillers = _fillers(section.get("leads", ""), section.get("adverbs", ""))
        self._adverbs = self._phrase(section, "adverbs")
        self._news = self._phrase(section, "news")
        self._additions = self._phrase(section, "additions")
        self._regularly = self._phrase(section, "regularly")
        self._limits = self._phrase(section, "limits")
        self._exceptions = self._phrase(section, "exceptions")
        self._long_ago = self._phrase(section, "long_ago")
        dates = languages.section("dates").get(code, {})
        self._starting = self._phrase(_phrases_of(dates), "starting")
        self._undone = self._phrase(section, "undone")
        self._gave_in = self._phrase(section, "gave_in")
        written = [
            (before.replace("ß", "ss"), after.replace("ß", "ss"))
            for before, after in languages.replacements(section.get("written", ""))
        ]
        self._written = [(LazyPattern(before), after) for before, after in written]
        # most clauses have none of them, and one search is faster than each
        self._is_written = _pattern("|".join(f"(?:{before})" for before, _ in written))
        self._elided = [
            (re.compile(pattern, re.IGNORECASE), words)
            for pattern, words in languages.replacements(section.get("elided", ""))
        ]
        own = "|".join(sorted(self._first | self._user, key=len, reverse=True))
        possessive = "".join(self._possessive)
        self._unspaced_user = LazyPattern(f"(?:{own})[{possessive}]?") if own else None

    def _phrase(self, section: Mapping[str, str], key: str) -> LazyPattern | None:
        """The phrases of a key as a pattern of whole words; None where it has none."""
        listed = languages.pattern(section.get(key, ""))
        whole = listed if self.unspaced else rf"(?<!\S)(?:{listed})(?!\S)"
        return _pattern(whole if listed else "")

    def parts(self, clause: str) -> list[str]:
        """The clause, in a script without blanks its parts between commas."""
        return _COMMA.split(clause) if self.unspaced else [clause]

    def words(self, clause: str) -> ReadClause:
        """The clause in its normal form without fillers, and what they tell."""
        plain = self._normal(normalise(clause))
        if self._lead:
            lead = self._lead.match(plain)
            plain = plain[lead.end() :] if lead else plain
        is_new = _has(self._news, plain)
        is_addition = _has(self._additions, plain)
        is_regular = _has(self._regularly, plain)
        dropped: list[str] = []
        fillers = (self._news, self._additions, self._regularly, self._adverbs)
        for phrase in filter(None, fillers):
            dropped += (found.group() for found in phrase.finditer(plain))
            plain = phrase.sub("" if self.unspaced else " ", plain)
        words = self._normal(" ".join(plain.split()))
        return ReadClause(words, " ".join(dropped), is_new, is_addition, is_regular)

    def words_of_plan(self, clause: str) -> ReadClause:
        """The words of a clause with `DATE_MARK` in the place of its date."""
        halves = [self.words(half.strip(" .!")) for half in clause.split(DATE_MARK)]
        before, after = (half.words for half in halves)
        words = f"{before} {DATE_MARK} {after}".strip()
        return replace(halves[0], words=words)

    def normal(self, clause: str) -> str:
        """The clause in its normal form, with its fillers."""
        return self._normal(normalise(clause))

    def is_limited(self, value: str, clause: ReadClause) -> bool:
        """Whether more than the value is said: "coffee at night", "no meat today"."""
        if clause.is_addition or clause.is_regular:
            return True
        if _has(self._limits, f"{clause.dropped} {value}"):
            return True
        return not self.unspaced and not _TIMES.isdisjoint(value.split())

    def limits(self, aside: str) -> bool:
        """Whether an aside begins with an exception, or what precedes it did not last."""
        found = self._exceptions.match(aside) if self._exceptions else None
        return found is not None or self.is_undone(aside, resolved=True)

    def begins(self, clause: str) -> bool:
        """Whether a clause names the day from which on it holds: "from May on"."""
        if not _has(self._starting, normalise(clause)):
            return False
        return any(one.role == "since" for one in resolve(clause, SOME_DAY))

    def is_long_ago(self, sentence: str, *, and_now: bool) -> bool:
        """Whether a sentence tells of a time that it does not date, as childhood.

        Of a sentence that says "now" too, a single word like "formerly" makes it none;
        a film or a dream does.
        """
        if not and_now or self._long_ago is None:
            return _has(self._long_ago, normalise(sentence))
        found = self._long_ago.finditer(normalise(sentence))
        return any(self.unspaced or " " in one.group().strip() for one in found)

    def is_undone(self, text: str, *, resolved: bool) -> bool:
        """Whether a text says that what was told before it did not last.

        Who gave in went back on what they had `resolved`; beside the end of a diet it
        only says why: "Not vegan any more, I caved".
        """
        if not text:
            return False
        words = normalise(text)
        return _has(self._undone, words) or (resolved and _has(self._gave_in, words))

    def without_lead(self, clause: str) -> str:
        """A clause as it was said, without the fillers before it."""
        if self._fillers and (found := self._fillers.match(clause)):
            return clause[found.end() :] or clause
        return clause

    def with_subject(self, clause: str) -> str:
        """A clause with the speaker before it, where it begins without a subject."""
        rest = self.without_lead(clause)
        for pattern, before in self._elided:
            if pattern.match(rest):
                whole = f"{before} {rest[:1].lower()}{rest[1:]}"
                return whole.lower() if rest == rest.lower() else whole
        return clause

    def _normal(self, plain: str) -> str:
        """The words with contractions written out and in the usual order."""
        if self.unspaced:
            plain = "".join(plain.split())
        if _has(self._is_written, plain):
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
        return self._spaced_subject(f"{owner or ''} {said or ''}")

    def _spaced_subject(self, said: str) -> tuple[str, ...]:
        """The subject in a script with blanks; () where it is long or not definite."""
        words = [
            word.removesuffix("'s").removesuffix("'")
            for word in said.split()
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

    def value(self, said: str) -> tuple[str, ...]:
        """The head of a value, up to a word that begins something else."""
        if not said or said in self._no_value:
            return ()
        if self.unspaced:
            return self._unspaced_value(said)
        head = self._head(said)
        if head and head[0] in self._after_value:
            return ()
        if not self._first.isdisjoint(head):
            return ()
        return tuple(word for word in head if word not in self._indefinite)

    def lists_more(self, said: str) -> bool:
        """Whether another value follows the first one: "nuts and eggs"."""
        is_begun = False
        for word in said.split():
            if is_begun and word in self._after_value:
                return word in self._joining
            is_begun = is_begun or word not in self._articles
        return False

    def _unspaced_value(self, said: str) -> tuple[str, ...]:
        """The value in a script without blanks; () where it is long or none."""
        if len(said) > _MOST_SIGNS:
            return ()
        refused = self._no_value_signs and re.search(self._no_value_signs, said)
        return () if refused else (said,)

    def _head(self, said: str) -> list[str]:
        """The words of a value without articles, up to one that begins another part."""
        head: list[str] = []
        for word in said.split():
            if word in self._after_value and head:
                break
            if word not in self._articles:
                head.append(word)
        return head

    def is_place(self, value: tuple[str, ...], name: str) -> bool:
        """Whether a value may be a home or an employer: no weekday, app or `Phase 2`."""
        if _NUMBERED.search(value[-1]) and not self.unspaced:
            return False
        if name == "employer":
            return _NOT_EMPLOYERS.isdisjoint(value)
        sign = self._not_place_signs
        return _NOT_HOMES.isdisjoint(value) and not (sign and re.search(sign, value[0]))

    def is_workplace(self, value: tuple[str, ...]) -> bool:
        """Whether a value is a sort of employer and no name, as in "a bakery"."""
        return value[-1] in self._workplaces

    def not_eaten(self, diet: tuple[str, ...]) -> tuple[str, ...]:
        """Return the foods that a diet excludes, () if they are not known."""
        return () if self._meatless.isdisjoint(diet) else self._meat

    def is_named(
        self, said: str, value: tuple[str, ...], clause: str, name: str
    ) -> bool:
        """Whether a value is a proper name, as far as the script tells."""
        if name in {"home", "employer"} and not self.is_place(value, name):
            return False
        if self.unspaced or value[0][0].isdigit():
            return self.unspaced
        if self._is_common_noun(said, value, name):
            return False
        if clause == clause.casefold():
            return self._may_be_name(said, value, clause, name)
        return self._is_capitalised(value, clause, name)

    def _is_common_noun(self, said: str, value: tuple[str, ...], name: str) -> bool:
        """Whether a value is a trade, or a noun that its language capitalises."""
        first = said.split(maxsplit=1)[0]
        if name in PEOPLE and not self._not_names.isdisjoint(value):
            return True
        if not self.capitalises_nouns:
            return False
        is_home = name == "home" and first in self._articles
        return is_home or first in self._indefinite

    def _may_be_name(
        self, said: str, value: tuple[str, ...], clause: str, name: str
    ) -> bool:
        """Whether a short value may be a name in a text without capitals."""
        first = said.split(maxsplit=1)[0]
        has_article = first in self._articles | self._indefinite
        fits = {"home": not has_article, "thing": has_article, "car": False}
        is_known = name not in PEOPLE or _has(self._naming, clause)
        return len(value) <= _FEW_NAMES and is_known and fits.get(name, True)

    def _is_capitalised(self, value: tuple[str, ...], clause: str, name: str) -> bool:
        """Whether a value has a capital; a home in each word but small ones."""
        capitals = {
            self._normal(normalise(word))
            for word in _LETTERS.findall(clause)
            if word[:1].isupper()
        }
        if name != "home":
            return any(word.startswith(value) for word in capitals)
        small = {one for one in value if not _is_capital(one, capitals)}
        return value[0] not in small and small <= self._after_value | _SMALL


def _phrases_of(section: Mapping[str, str]) -> dict[str, str]:
    """The phrases of `starting` as a pattern, without those that may mean "since"."""
    since = tuple(languages.phrases(section.get("since", "-")))
    listed = languages.phrases(section.get("starting", ""))
    ahead = (phrase for phrase in listed if not phrase.startswith(since))
    return {"starting": "|".join(map(re.escape, ahead))}


def _is_capital(word: str, capitals: Collection[str]) -> bool:
    return any(one.startswith(word) for one in capitals)


@cache
def reading_of(code: str) -> StateReading:
    """How the words of a language are read."""
    return StateReading(code)


def is_beside(sentence: str) -> bool:
    """Return whether a sentence says that an older state goes on: "I also work at …"."""
    codes = [language(words(sentence)) or "en"]
    if _UNSPACED.search(sentence):
        codes = sorted(languages.unspaced())
    known = languages.section(KEY)
    read = [reading_of(code).words(sentence) for code in codes if code in known]
    return any(one.is_addition or one.is_regular for one in read)


def _prefix(listed: str) -> LazyPattern | None:
    return LazyPattern(rf"(?:(?:{languages.pattern(listed)}) )*") if listed else None


def _fillers(leads: str, adverbs: str) -> LazyPattern | None:
    """Leading words and adverbs as they are said, with the signs after them."""
    listed = "|".join(languages.pattern(one) for one in (leads, adverbs) if one)
    return LazyPattern(rf"(?i)(?:(?:{listed})[,!.:]* )+") if listed else None


def _pattern(listed: str) -> LazyPattern | None:
    return LazyPattern(languages.pattern(listed)) if listed else None


def _has(phrase: LazyPattern | None, text: str) -> bool:
    return phrase is not None and phrase.search(text) is not None
