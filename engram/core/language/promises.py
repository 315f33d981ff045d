"""Reports of done or cancelled things, and the words of a promise (E16).

Section `[promises]` of the language files has the words: of a report in English and
German, of a duty and of a question for what is to be done in every language. A single
keyword is not enough: a report needs a completed verb and its object, and `fits`
compares both with the promise, word stem by word stem.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from engram.core.language import languages
from engram.core.language.dates import spans
from engram.core.language.echo import own_words
from engram.core.language.languages import LazyPattern
from engram.core.language.sentences import is_doubtful, is_game, plain, sentences
from engram.core.language.states import grammar
from engram.core.language.words import VERB_FORMS, content, fold, language, root, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Outcome = Literal["kept", "dropped", "moved"]

_KEY = "promises"
_LONGEST = 400
"""The most characters of a sentence that are parsed."""
_LONGEST_QUESTION = 120
_LEAST_STEM = 3
_PREFIX = 4
"""The most letters of a separable prefix."""
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""An arbitrary time: dates are only removed from a text, so their values do not matter.
"""
_BRACKETS = re.compile(r"[(（][^)）]*[)）]")
_DATE = "§"
_ENDS = " .!。！"


@dataclass(frozen=True, slots=True)
class PromiseReport:
    """The statement of a clause about something promised.

    `verb` is the stem of the completed action, '' if the clause only states that it is
    done. `things` are the stems of its other words; `heads` those of its direct object,
    empty for a pronoun. `is_own` is true if the object is the speaker's, `is_event` if
    an event was called off or moved, `is_whole` if the words name the whole object.
    """

    language: str
    outcome: Outcome
    verb: str
    things: frozenset[str]
    heads: frozenset[str]
    is_own: bool = False
    is_event: bool = False
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class PromiseWords:
    """The words of a promise in one language: possible verbs, and the other stems.

    `is_joined` is true if it promises several things, `of_other` if its object belongs
    to another person.
    """

    verbs: frozenset[str]
    words: frozenset[str]
    is_joined: bool = False
    of_other: bool = False


class _Rules:
    """The word lists and patterns of section `[promises]` of one language."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._section = languages.section(_KEY)[code]
        weekdays = languages.texts("dates", "weekdays").get(code, "").replace("/", " ")
        self.adverbs = self.listed("adverbs") | frozenset(words(weekdays))
        self.cut, self.own = self.listed("cut"), self.listed("own")
        self.subjects, self.be = self.listed("subjects"), self.listed("be")
        self.auxiliaries = self.listed("aux") | self.be
        self.speaker = self.listed("speaker")
        self.verb_last = "verb_last" in self._section
        self.alike: dict[str, frozenset[str]] = {}
        for group in languages.entries(self._section.get("alike", "")):
            stems = frozenset(root(word, code) for word in fold(group).split())
            for stem in stems:
                self.alike[stem] = self.alike.get(stem, frozenset()) | stems
        self.is_one_of = lru_cache(1 << 12)(self._is_one_of)
        self.one = cache(self._one)
        self.written = languages.Rewriting(
            (LazyPattern(before), after)
            for before, after in languages.replacements(
                self._section.get("written", "")
            )
        )

    def listed(self, key: str) -> frozenset[str]:
        """Return the words of a key."""
        return frozenset(fold(self._section.get(key, "")).split())

    def _is_one_of(self, verb: str, key: str) -> bool:
        listed = self.listed(key)
        return "*" in listed or verb in {root(word, self.code) for word in listed}

    def _one(self, key: str) -> LazyPattern:
        """Return the pattern of a key, one that matches nothing if it has none."""
        pattern = languages.pattern(self._section.get(key, "(?!)"))
        forms = "|".join(sorted(VERB_FORMS.get(self.code, ())))
        return LazyPattern(pattern.replace("<PAST>", forms))

    def due(self) -> Iterator[tuple[re.Pattern[str], frozenset[str]]]:
        """Yield the forms of a thing that is due, with the verbs that settle it."""
        for pattern, verbs in languages.replacements(self._section.get("due", "")):
            settling = frozenset(root(verb, self.code) for verb in verbs.split())
            yield re.compile(pattern), settling

    def stems(self, text: str) -> list[str]:
        """Return the stems of the meaningful words."""
        return [
            root(word, self.code)
            for word in dict.fromkeys(content(words(text), self.code))
            if word not in self.adverbs and not word.isdigit()
        ]

    def common(self, some: Iterable[str], others: frozenset[str]) -> frozenset[str]:
        """Return the words of `some` that `others` has, in German without prefix."""
        return frozenset(
            stem
            for stem in some
            if stem in others
            or (self.verb_last and any(_is_prefixed(stem, other) for other in others))
        )


def _is_prefixed(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    is_part = long.endswith(short) and len(short) >= _LEAST_STEM
    return is_part and len(long) - len(short) <= _PREFIX


_rules = cache(_Rules)


def _languages(text: str, key: str) -> list[_Rules]:
    """Return the rules of the possible languages of `text` that have a key."""
    codes = languages.written_in(text)
    return [_rules(code) for code in languages.texts(_KEY, key) if code in codes]


# -- reports ---------------------------------------------------------------------------


def reports(text: str) -> list[PromiseReport]:
    """Return the reports of `text` of done or cancelled things, in order.

    Questions, plans, doubts, conditions, attempts and quotations are no reports.
    """
    return [
        report
        for sentence in _sentences(text)
        for rules in _languages(sentence, "past")
        for report in _of_sentence(sentence, rules)
    ]


def only_says_done(text: str) -> bool:
    """Return whether a sentence of `text` states that an unnamed thing is done."""
    return any(
        rules.one("done").fullmatch(sentence.strip(_ENDS))
        for sentence in _sentences(text)
        for rules in _languages(sentence, "done")
    )


def says_duty(text: str) -> bool:
    """Return whether the speaker of `text` states that something is still to be done.

    `says_duty("I have to renew my passport by Friday")`. A cancelled duty is none.
    """
    return any(
        rules.one("duty").search(sentence) and not rules.one("dropped").search(sentence)
        for sentence in _sentences(text)
        for rules in _languages(sentence, "duty")
    )


@lru_cache(maxsize=1 << 5)
def _sentences(text: str) -> tuple[str, ...]:
    """Return the asserted sentences, folded, with a sign in the place of each date."""
    own = plain(own_words(text))
    if is_game(own):
        return ()
    found = []
    own = _without_dates(own, _DATE)
    for start, end in sentences(own):
        sentence = fold(own[start:end]) if end - start <= _LONGEST else ""
        sentence = " ".join(sentence.split())
        question = sentence.endswith(("?", "？"))
        if sentence and not question and not is_doubtful(sentence):
            found.append(sentence)
    return tuple(found)


def _without_dates(text: str, sign: str, lean: int = 0) -> str:
    for date in reversed(spans(text, _SOME_DAY, lean=lean)):
        text = f"{text[: date.start]} {sign} {text[date.end :]}"
    return text


def _of_sentence(sentence: str, rules: _Rules) -> Iterator[PromiseReport]:
    """Yield the reports of a sentence; of its parts first, then of the whole."""
    whole = sentence.rstrip(_ENDS)
    if rules.one("against").search(whole):
        return
    whole = grammar(rules.code).in_usual_form(whole)
    whole = rules.written.apply(whole)
    parts = [part for part in rules.one("join").split(whole) if part]
    for part in dict.fromkeys([*parts, whole]):
        yield from _of_part(part.strip(), rules)


def _of_part(part: str, rules: _Rules) -> Iterator[PromiseReport]:
    if rules.one("dropped").search(part):
        things = frozenset(rules.stems(part))
        yield PromiseReport(rules.code, "dropped", "", things, things)
        return
    found = _deed(part.replace(_DATE, " "), rules)
    if found is None:
        return
    verb, object_, is_whole = found
    if rules.is_one_of(verb, "cancels"):
        yield _report("", object_, "dropped", rules, is_event=True)
    if rules.is_one_of(verb, "moves"):
        yield _report("", object_, "moved", rules, is_event=True)
    if not rules.one("refused").search(part):
        is_named = not rules.is_one_of(verb, "settles")
        if is_named or rules.stems(object_):
            verb = verb if is_named else ""
            yield _report(verb, object_, "kept", rules, is_whole=is_whole)


def _deed(part: str, rules: _Rules) -> tuple[str, str, bool] | None:
    """Return the stem of what is said to be done and the words of its object, or None.

    The last value is true if the words name the whole object: "passport renewed".

    A deed is a past form or a participle. Words before it are its subject, which may be
    left out, or its object: with an auxiliary ("the bank is called", "I got it fixed"),
    or if the part ends with it ("passport renewed").
    """
    spoken = [word for word in part.split() if word not in rules.adverbs]
    has_auxiliary = not rules.auxiliaries.isdisjoint(spoken)
    places = _past_forms(spoken, rules, has_auxiliary=has_auxiliary)
    if not places:
        return None
    place = places[-1 if rules.verb_last else 0]
    before, after = spoken[:place], spoken[place + 1 :]
    named = [word for word in before if word not in rules.subjects | rules.auxiliaries]
    verb = root(spoken[place], rules.code)
    is_elided = rules.cut.issuperset(after) and rules.is_one_of(verb, "elides")
    if named and not is_elided and rules.auxiliaries.isdisjoint(before):
        return None
    is_of_speaker = spoken[0] in rules.speaker and not rules.be.isdisjoint(before)
    if is_of_speaker and not rules.is_one_of(verb, "completes"):
        return None  # "I'm interested in …"
    rest = [word for word in after if word not in rules.cut | rules.own]
    if rest and rules.is_one_of(verb, "completes"):  # "finished fixing her bike"
        inner = after.index(rest[0])
        if rest[0].endswith("ing") or after[inner - 1 : inner] == ["to"]:
            verb, after = root(rest[0], rules.code), after[inner + 1 :]
    return verb, " ".join(named + after), bool(named) and not has_auxiliary


def _past_forms(
    spoken: Sequence[str], rules: _Rules, *, has_auxiliary: bool
) -> list[int]:
    """Return the places of past forms, without the auxiliaries if there is another."""
    past = rules.one("past")
    found = [n for n, word in enumerate(spoken) if past.fullmatch(word)]
    if has_auxiliary and spoken and rules.one("participle").fullmatch(spoken[-1]):
        found.append(len(spoken) - 1)
    main = [n for n in found if spoken[n] not in rules.auxiliaries]
    return main or found


def _report(
    verb: str, object_: str, outcome: Outcome, rules: _Rules, **more: bool
) -> PromiseReport:
    return PromiseReport(
        rules.code,
        outcome,
        verb,
        frozenset(rules.stems(object_)),
        frozenset(_direct_object(object_, rules)),
        is_own=not rules.own.isdisjoint(object_.split()),
        **more,
    )


def _direct_object(object_: str, rules: _Rules) -> list[str]:
    """Return the stem of the head: the last before a preposition after a noun."""
    heads: list[str] = []
    for word in words(object_):
        if word in rules.cut and heads:
            break
        heads += [] if word in rules.cut else rules.stems(word)
    return heads[-1:]


# -- questions -------------------------------------------------------------------------

Span = Literal["today", "tomorrow", "week", ""]
"""The days that a question about promises names; '' for none."""
_SPANS: tuple[Span, ...] = ("today", "tomorrow", "week")


def agenda(question: str) -> Span | None:
    """Return the days that a question about open promises names; None for others."""
    folded = " ".join(fold(question).strip(" ?？!.。").split())
    if len(folded) > _LONGEST_QUESTION:
        return None
    for rules in _languages(folded, "agenda"):
        if match := rules.one("agenda").fullmatch(folded):
            named = {
                key.rstrip("2") for key, group in match.groupdict().items() if group
            }
            return next((span for span in _SPANS if span in named), "")
    return None


# -- promises --------------------------------------------------------------------------


def as_ahead(text: str) -> str:
    """Return a text of the same length with promises in the future tense.

    "I promised Ben to come on Saturday" refers to the coming Saturday.
    """
    for pattern, ahead in _ahead():
        for match in pattern.finditer(text):
            length = match.end() - match.start()
            words_ahead = ahead.ljust(length)[:length]
            text = f"{text[: match.start()]}{words_ahead}{text[match.end() :]}"
    return text


@cache
def _ahead() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple(
        (re.compile(pattern, re.IGNORECASE), words_ahead.strip())
        for text in languages.texts(_KEY, "ahead").values()
        for pattern, words_ahead in languages.replacements(text)
    )


@lru_cache(maxsize=1 << 12)
def task(text: str, code: str) -> PromiseWords:
    """Return the words of the promise `text`, parsed in the language `code`."""
    rules = _rules(code)
    plain_text = _BRACKETS.sub(" ", _without_dates(text, "", lean=1))
    folded = fold(plain_text).rstrip(_ENDS)
    for pattern, verbs_of_due in rules.due():
        if match := pattern.fullmatch(" ".join(folded.split())):
            return PromiseWords(verbs_of_due, frozenset(rules.stems(match["o"])))

    lead = rules.one("lead").match(folded)
    rest = folded[lead.end() :] if lead else folded
    found = rules.stems(rest)
    is_last = rules.verb_last or rules.one("causes").search(rest)
    verbs = found[:1] + (found[-1:] if is_last else [])
    if lead and lead.groupdict().get("noun"):
        verbs = []
    return PromiseWords(
        frozenset(verbs),
        frozenset(found),
        is_joined=rules.one("join").search(rest) is not None,
        of_other=rules.one("others").search(rest) is not None,
    )


def is_event(text: str) -> bool:
    """Return whether a plan is an event, such as a meeting, and not a duty."""
    folded = fold(text)
    code = language(words(folded)) or "en"
    for rules in (one for one in _languages(folded, "obliges") if one.code == code):
        if rules.one("lead").search(folded):
            verbs = task(text, code).verbs
            return any(rules.is_one_of(verb, "attends") for verb in verbs)
        stems = [root(word, code) for word in words(folded)]
        is_duty = rules.one("obliges").search(folded) is not None
        return not is_duty and any(rules.is_one_of(stem, "occurs") for stem in stems)
    return any(
        rules.one("event").search(folded) for rules in _languages(folded, "event")
    )


def fits(
    report: PromiseReport, text: str, context: str = "", *, named: bool = False
) -> int:
    """Return the number of words of the promise `text` in a report; 0 for no match.

    Verb and object must match. A report that omits words of the promise must not add
    any. An object that is a pronoun is resolved in `context`, the preceding words. With
    `named` the text names a trouble and has no verb.
    """
    promise, rules = task(text, report.language), _rules(report.language)
    verbs = _matching_verbs(report, promise, text, rules, named=named)
    if verbs is None:
        return 0
    things = promise.words - verbs
    if not report.heads and context:
        stems = frozenset(rules.stems(fold(context)))
        is_named = things and not things - rules.common(things, stems)
        return len(verbs) + len(things) if is_named else 0
    if things and not rules.common(_alike(report.heads, rules), things):
        return 0
    if report.is_own and promise.of_other:
        return 0
    met = rules.common(things, _alike(report.things, rules))
    added = report.things - rules.common(report.things, _alike(promise.words, rules))
    is_part = promise.is_joined or not verbs or not report.verb or report.is_whole
    if things - met and (added or (is_part and report.outcome == "kept")):
        return 0
    return len(met) + len(verbs)


def _alike(stems: frozenset[str], rules: _Rules) -> frozenset[str]:
    """Return stems with those of interchangeable words: `trip`, `flight`."""
    return stems.union(*(rules.alike.get(stem, stems) for stem in stems))


def _matching_verbs(
    report: PromiseReport,
    promise: PromiseWords,
    text: str,
    rules: _Rules,
    *,
    named: bool,
) -> frozenset[str] | None:
    """Return the verbs of the promise that match the report; None for no match."""
    promised = frozenset() if named else promise.verbs
    if report.is_event:
        return frozenset() if is_event(text) else None
    if report.outcome == "dropped":
        return rules.common(promised, report.things) or None
    if not report.verb:
        verbs = promised - report.things  # `Miete überweisen`: a thing and a verb
        return verbs if len(verbs) == 1 else frozenset()
    if not promised:
        return frozenset()
    return rules.common(promised, _alike(frozenset({report.verb}), rules)) or None


def names_task(text: str, promise: str) -> bool:
    """Return whether `text` names both the verb and the things of a promise."""
    for rules in _languages(promise, "past"):
        wanted = task(promise, rules.code).words
        stems = frozenset(rules.stems(fold(text)))
        if wanted and not wanted - rules.common(wanted, stems):
            return len(wanted) > 1
    return False


def same_task(first: str, second: str, code: str) -> bool:
    """Return whether two promises have the same words apart from dates."""
    return task(first, code).words == task(second, code).words
