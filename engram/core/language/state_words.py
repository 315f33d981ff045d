"""The parsing of words in one language: subjects, values, fillers and words of change.

`reading_of` returns the `StateReading` of a language, which is built from the word
lists in section `[states]` of its file. `states` passes it the parts of a matched
clause.
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
"""An arbitrary time: dates are only located in a clause, so their values do not matter.
"""

_WORD = re.compile(r"\w+")
_COMMA = re.compile("(?<![はもが])[，,、；;]")
_TOPIC = re.compile("(.+?)[はがも]")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_MOST_SUBJECT_WORDS = 5
_MOST_SIGNS = 16
_FEW_NAMES = 2
_NUMBERED = re.compile(r"\d|^\w$")
"""A word at the end of a name that is not a place: `Phase 2`, `Plan B`."""

_LETTERS = re.compile(r"[^\W\d_][\w'-]*")
_SMALL = {"am", "de", "del", "der", "des", "di", "du", "la", "las", "le", "les", "of"}
"""Small words inside the name of a place, as in `Frankfurt am Main`."""

_BETWEEN_WORDS = re.compile(r"[\s,/]+")


def _words_of(name: str, key: str) -> frozenset[str]:
    """Return the single words of a key in all languages."""
    listed = " ".join(languages.texts(name, key).values())
    return frozenset(_BETWEEN_WORDS.split(normalise(listed)))


_TIMES = _words_of("dates", "weekdays") | _words_of("dates", "months")
_NOT_EMPLOYERS = _TIMES | _words_of(KEY, "not_employers")
"""Words of a value that is no employer, in any language, as in `Chapter 3`."""
_NOT_HOMES = _NOT_EMPLOYERS | _words_of(KEY, "not_places")
"""Words of a value that is no home either: an app, a department, a language."""


@dataclass(frozen=True, slots=True)
class ReadClause:
    """The words of a clause for a row of the table.

    `dropped` are the omitted fillers. `is_new` is true if there is a word like "now",
    `is_addition` for one like "also", `is_regular` for one like "on weekends".
    """

    words: str
    dropped: str
    is_new: bool
    is_addition: bool
    is_regular: bool


class StateReading:
    """The words of one language by their role: subjects, values and adverbs."""

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
        # most clauses match none of them, and one search is faster than many
        self._is_written = _pattern("|".join(f"(?:{before})" for before, _ in written))
        self._elided = [
            (re.compile(pattern, re.IGNORECASE), words)
            for pattern, words in languages.replacements(section.get("elided", ""))
        ]
        own = "|".join(sorted(self._first | self._user, key=len, reverse=True))
        possessive = "".join(self._possessive)
        self._unspaced_user = LazyPattern(f"(?:{own})[{possessive}]?") if own else None

    def _phrase(self, section: Mapping[str, str], key: str) -> LazyPattern | None:
        """Return a pattern of the phrases of a key as whole words, or None."""
        listed = languages.pattern(section.get(key, ""))
        whole = listed if self.unspaced else rf"(?<!\S)(?:{listed})(?!\S)"
        return _pattern(whole if listed else "")

    def parts(self, clause: str) -> list[str]:
        """Return the clause or, in a script without blanks, its parts at commas."""
        return _COMMA.split(clause) if self.unspaced else [clause]

    def words(self, clause: str) -> ReadClause:
        """Return the clause in its normal form without fillers, and their meaning."""
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
            dropped += (match.group() for match in phrase.finditer(plain))
            plain = phrase.sub("" if self.unspaced else " ", plain)
        words = self._normal(" ".join(plain.split()))
        return ReadClause(words, " ".join(dropped), is_new, is_addition, is_regular)

    def words_of_plan(self, clause: str) -> ReadClause:
        """Return the words of a clause with `DATE_MARK` in the place of its date."""
        halves = [self.words(half.strip(" .!")) for half in clause.split(DATE_MARK)]
        before, after = (half.words for half in halves)
        words = f"{before} {DATE_MARK} {after}".strip()
        return replace(halves[0], words=words)

    def normal(self, clause: str) -> str:
        """Return the clause in its normal form, with its fillers."""
        return self._normal(normalise(clause))

    def is_limited(self, value: str, clause: ReadClause) -> bool:
        """Return whether a value is restricted: "coffee at night", "no meat today"."""
        if clause.is_addition or clause.is_regular:
            return True
        if _has(self._limits, f"{clause.dropped} {value}"):
            return True
        return not self.unspaced and not _TIMES.isdisjoint(value.split())

    def limits(self, aside: str) -> bool:
        """Return whether an aside states an exception, or the end of the state."""
        found = self._exceptions.match(aside) if self._exceptions else None
        return found is not None or self.is_undone(aside, resolved=True)

    def begins(self, clause: str) -> bool:
        """Return whether a clause names a first day: "from May on"."""
        if not _has(self._starting, normalise(clause)):
            return False
        return any(interval.role == "since" for interval in resolve(clause, SOME_DAY))

    def is_long_ago(self, sentence: str, *, and_now: bool) -> bool:
        """Return whether a sentence is about an undated past, such as childhood.

        If the sentence also has a word like "now" (`and_now`), a single word like
        "formerly" is not enough; a film or a dream is.
        """
        if not and_now or self._long_ago is None:
            return _has(self._long_ago, normalise(sentence))
        found = self._long_ago.finditer(normalise(sentence))
        return any(self.unspaced or " " in match.group().strip() for match in found)

    def is_undone(self, text: str, *, resolved: bool) -> bool:
        """Return whether a text states that the preceding state did not last.

        "I caved" revokes what the user `resolved`; next to the end of a diet it is only
        a reason: "Not vegan any more, I caved".
        """
        if not text:
            return False
        words = normalise(text)
        return _has(self._undone, words) or (resolved and _has(self._gave_in, words))

    def without_lead(self, clause: str) -> str:
        """Return the original clause without the fillers before it."""
        if self._fillers and (match := self._fillers.match(clause)):
            return clause[match.end() :] or clause
        return clause

    def with_subject(self, clause: str) -> str:
        """Return a clause with the speaker before it if it has no subject."""
        rest = self.without_lead(clause)
        for pattern, before in self._elided:
            if pattern.match(rest):
                whole = f"{before} {rest[:1].lower()}{rest[1:]}"
                return whole.lower() if rest == rest.lower() else whole
        return clause

    def _normal(self, plain: str) -> str:
        """Return the words with contractions expanded and in the usual order."""
        if self.unspaced:
            plain = "".join(plain.split())
        if _has(self._is_written, plain):
            for pattern, written in self._written:
                plain = pattern.sub(written, plain)
        return plain

    def speaks_of_self(self, text: str) -> bool:
        """Return whether a text has a word of the first person."""
        if self.unspaced:
            return any(word in text for word in self._first)
        found = _WORD.findall(text.casefold())
        return not (self._first | self._possessive).isdisjoint(found)

    def names_user(self, text: str) -> bool:
        """Return whether a text names the user; always true in scripts with blanks."""
        return not self.unspaced or any(word in text for word in self._user)

    def subject(self, text: str | None, owner: str | None) -> tuple[str, ...]:
        """Return the subject: the user if a row has none, () if it is indefinite."""
        if text is None and owner is None:
            return (USER,)
        if self._no_subject_signs and re.search(self._no_subject_signs, text or ""):
            return ()
        if self.unspaced:
            return self._unspaced_subject(text or owner or "")
        return self._spaced_subject(f"{owner or ''} {text or ''}")

    def _spaced_subject(self, text: str) -> tuple[str, ...]:
        """Return the subject in a script with blanks; () if long or indefinite."""
        words = [
            word.removesuffix("'s").removesuffix("'")
            for word in text.split()
            if word not in self._articles
        ]
        if len(words) > _MOST_SUBJECT_WORDS or not self._no_subject.isdisjoint(words):
            return ()
        return self._with_user(words)

    def _with_user(self, words: list[str]) -> tuple[str, ...]:
        """Return the words of a subject, with those for the user as its first word."""
        if words and words[0] in self._possessive | self._user:
            return (USER, *words[1:])
        if len(words) == 1 and words[0] in self._first:
            return (USER,)
        return () if self._first.intersection(words) else tuple(words)

    def _unspaced_subject(self, text: str) -> tuple[str, ...]:
        """Return the subject in a script without blanks: `我妹妹` is ("user", "妹妹")."""
        found = self._unspaced_user and self._unspaced_user.match(text)
        if found:
            rest = text[found.end() :]
            return (USER, rest) if rest else (USER,)
        if len(text) > _MOST_SIGNS:
            return ()
        return (USER, text) if text in self._own else (text,)

    def topic(self, words: str) -> tuple[str, ...]:
        """Return the topic of a part of a sentence in an unspaced script, or ()."""
        match = _TOPIC.fullmatch(words)
        return self._unspaced_subject(match[1]) if match else ()

    def value(self, text: str) -> tuple[str, ...]:
        """Return the head of a value, up to a word that begins another phrase."""
        if not text or text in self._no_value:
            return ()
        if self.unspaced:
            return self._unspaced_value(text)
        head = self._head(text)
        if head and head[0] in self._after_value:
            return ()
        if not self._first.isdisjoint(head):
            return ()
        return tuple(word for word in head if word not in self._indefinite)

    def lists_more(self, text: str) -> bool:
        """Return whether another value follows the first one: "nuts and eggs"."""
        is_begun = False
        for word in text.split():
            if is_begun and word in self._after_value:
                return word in self._joining
            is_begun = is_begun or word not in self._articles
        return False

    def _unspaced_value(self, text: str) -> tuple[str, ...]:
        """Return the value in a script without blanks; () if it is long or empty."""
        if len(text) > _MOST_SIGNS:
            return ()
        refused = self._no_value_signs and re.search(self._no_value_signs, text)
        return () if refused else (text,)

    def _head(self, text: str) -> list[str]:
        """Return the words of a value without articles, up to the next phrase."""
        head: list[str] = []
        for word in text.split():
            if word in self._after_value and head:
                break
            if word not in self._articles:
                head.append(word)
        return head

    def is_place(self, value: tuple[str, ...], name: str) -> bool:
        """Return whether a value may be a home or an employer, unlike `Phase 2`."""
        if _NUMBERED.search(value[-1]) and not self.unspaced:
            return False
        if name == "employer":
            return _NOT_EMPLOYERS.isdisjoint(value)
        sign = self._not_place_signs
        return _NOT_HOMES.isdisjoint(value) and not (sign and re.search(sign, value[0]))

    def is_workplace(self, value: tuple[str, ...]) -> bool:
        """Return whether a value is a kind of employer and no name: "a bakery"."""
        return value[-1] in self._workplaces

    def not_eaten(self, diet: tuple[str, ...]) -> tuple[str, ...]:
        """Return the foods that a diet excludes, () if they are not known."""
        return () if self._meatless.isdisjoint(diet) else self._meat

    def is_named(
        self, text: str, value: tuple[str, ...], clause: str, name: str
    ) -> bool:
        """Return whether a value is a proper name, as far as the script shows it."""
        if name in {"home", "employer"} and not self.is_place(value, name):
            return False
        if self.unspaced or value[0][0].isdigit():
            return self.unspaced
        if self._is_common_noun(text, value, name):
            return False
        if clause == clause.casefold():
            return self._may_be_name(text, value, clause, name)
        return self._is_capitalised(value, clause, name)

    def _is_common_noun(self, text: str, value: tuple[str, ...], name: str) -> bool:
        """Return whether a value is a trade or another capitalised common noun."""
        first = text.split(maxsplit=1)[0]
        if name in PEOPLE and not self._not_names.isdisjoint(value):
            return True
        if not self.capitalises_nouns:
            return False
        is_home = name == "home" and first in self._articles
        return is_home or first in self._indefinite

    def _may_be_name(
        self, text: str, value: tuple[str, ...], clause: str, name: str
    ) -> bool:
        """Return whether a short value may be a name in a text without capitals."""
        first = text.split(maxsplit=1)[0]
        has_article = first in self._articles | self._indefinite
        fits = {"home": not has_article, "thing": has_article, "car": False}
        is_known = name not in PEOPLE or _has(self._naming, clause)
        return len(value) <= _FEW_NAMES and is_known and fits.get(name, True)

    def _is_capitalised(self, value: tuple[str, ...], clause: str, name: str) -> bool:
        """Return whether a value is capitalised, for a home in all but small words."""
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
    """Return the phrases of `starting` as a pattern, without those for "since"."""
    since = tuple(languages.phrases(section.get("since", "-")))
    listed = languages.phrases(section.get("starting", ""))
    ahead = (phrase for phrase in listed if not phrase.startswith(since))
    return {"starting": "|".join(map(re.escape, ahead))}


def _is_capital(word: str, capitals: Collection[str]) -> bool:
    return any(capital.startswith(word) for capital in capitals)


@cache
def reading_of(code: str) -> StateReading:
    """Return the parser of the words of a language."""
    return StateReading(code)


def continues_older_state(sentence: str) -> bool:
    """Return whether an older state continues, as in "I also work at …"."""
    codes = [language(words(sentence)) or "en"]
    if _UNSPACED.search(sentence):
        codes = sorted(languages.unspaced())
    known = languages.section(KEY)
    read = [reading_of(code).words(sentence) for code in codes if code in known]
    return any(one.is_addition or one.is_regular for one in read)


def _prefix(listed: str) -> LazyPattern | None:
    return LazyPattern(rf"(?:(?:{languages.pattern(listed)}) )*") if listed else None


def _fillers(leads: str, adverbs: str) -> LazyPattern | None:
    """Return a pattern of leading words and adverbs, with the signs after them."""
    listed = "|".join(languages.pattern(one) for one in (leads, adverbs) if one)
    return LazyPattern(rf"(?i)(?:(?:{listed})[,!.:]* )+") if listed else None


def _pattern(listed: str) -> LazyPattern | None:
    return LazyPattern(languages.pattern(listed)) if listed else None


def _has(phrase: LazyPattern | None, text: str) -> bool:
    return phrase is not None and phrase.search(text) is not None
