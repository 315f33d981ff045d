"""How the words of one language are read: subjects, values, fillers and news.

`reading_of` gives the `StateReading` of a language, made of the word lists in section
`[states]` of its file. For `states`, which gives it the parts of a matched clause.
"""

from __future__ import annotations

import re
from functools import cache

from engram.core.language import languages
from engram.core.language.state_subjects import USER
from engram.core.language.state_table import KEY
from engram.core.text import normalise

_WORD = re.compile(r"\w+")
_COMMA = re.compile("(?<![はもが])[，,、；;]")
_TOPIC = re.compile("(.+?)[はがも]")
_MOST_SUBJECT_WORDS = 5
_MOST_SIGNS = 16
_FEW_NAMES = 2


class StateReading:
    """How the words of one language are read: its subjects, values and adverbs."""

    def __init__(self, code: str) -> None:
        section = languages.section(KEY)[code]
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
        if not said:
            return ()
        if self.unspaced:
            return self._unspaced_value(said)
        head = self._head(said)
        if not self._first.isdisjoint(head):
            return ()
        return tuple(word for word in head if word not in self._indefinite)

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


@cache
def reading_of(code: str) -> StateReading:
    """How the words of a language are read."""
    return StateReading(code)


def _prefix(listed: str) -> re.Pattern[str] | None:
    return re.compile(rf"(?:(?:{languages.pattern(listed)}) )*") if listed else None


def _phrase(listed: str, *, unspaced: bool) -> re.Pattern[str] | None:
    if not listed:
        return None
    words = languages.pattern(listed)
    return re.compile(words if unspaced else rf"(?<!\S)(?:{words})(?!\S)")
