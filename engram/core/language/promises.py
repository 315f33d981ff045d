"""Reports of done or cancelled things, and the words of a promise (E16).

Section `[promises]` of the language files has the patterns. A single keyword is not
enough: a report needs a completed verb and its object, and `fits` compares both with
the promise, word stem by word stem.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Literal

from engram.core.language import languages
from engram.core.language.dates import spans
from engram.core.language.echo import own_words
from engram.core.language.languages import LazyPattern
from engram.core.language.sentences import is_doubtful, is_game, plain, sentences
from engram.core.language.words import IRREGULAR, content, fold, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Outcome = Literal["kept", "dropped", "moved"]

_KEY = "promises"
_LONGEST = 400
"""The most characters of a sentence that are parsed."""
_LONGEST_QUESTION = 120
_LEAST_STEM = 3
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""An arbitrary time: dates are only removed from a text, so their values do not matter.
"""
_BRACKETS = re.compile(r"[(（][^)）]*[)）]")
_DATE = "§"
_SIGN = re.compile(r"[一-鿿々ァ-ヶー]")
"""A meaningful character in a script without blanks."""


@dataclass(frozen=True, slots=True)
class PromiseReport:
    """The statement of a clause about something promised.

    `verb` is the stem of the completed action, '' if the clause only states that it is
    done. `things` are the stems of its other words; `heads` those of its direct object,
    empty for a pronoun. `is_own` is true if the object is the speaker's.
    """

    language: str
    outcome: Outcome
    verb: str
    things: frozenset[str]
    heads: frozenset[str]
    is_own: bool = False
    is_event: bool = False


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


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns and word lists of section `[promises]` of one language."""

    code: str
    kept: tuple[LazyPattern, ...]
    dropped: tuple[LazyPattern, ...]
    called_off: tuple[LazyPattern, ...]
    moved: tuple[LazyPattern, ...]
    done: LazyPattern
    lead: LazyPattern
    refused: LazyPattern
    against: LazyPattern
    join: LazyPattern
    event: LazyPattern
    before: LazyPattern
    agenda: LazyPattern
    duty: LazyPattern
    cut: frozenset[str]
    adverbs: frozenset[str]
    own: frozenset[str]
    others: LazyPattern
    forms: Mapping[str, str]
    endings: tuple[str, ...]
    prefixes: LazyPattern
    alike: Mapping[str, frozenset[str]] = field(default_factory=dict)
    nouns: Mapping[str, frozenset[str]] = field(default_factory=dict)
    verb_last: bool = False
    due: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = ()

    @property
    def unspaced(self) -> bool:
        """Whether the language has no blanks between words."""
        return self.code in languages.unspaced()


# -- reports ---------------------------------------------------------------------------


def reports(text: str) -> list[PromiseReport]:
    """Return the reports of `text` of done or cancelled things, in order.

    Questions, plans, doubts, conditions, attempts and quotations are no reports.
    """
    return [
        report
        for sentence in _sentences(text)
        for rules in _languages(sentence)
        for report in _of_sentence(sentence, rules)
    ]


def only_says_done(text: str) -> bool:
    """Return whether a sentence of `text` states that an unnamed thing is done."""
    return any(
        rules.done.fullmatch(sentence.strip(" .!。！"))
        for sentence in _sentences(text)
        for rules in _languages(sentence)
    )


def _sentences(text: str) -> Iterator[str]:
    """Yield the asserted sentences, folded, with a sign in the place of each date."""
    own = plain(own_words(text))
    if is_game(own):
        return
    for date in reversed(spans(own, _SOME_DAY)):
        own = f"{own[: date.start]} {_DATE} {own[date.end :]}"
    for start, end in sentences(own):
        sentence = fold(own[start:end]) if end - start <= _LONGEST else ""
        sentence = " ".join(sentence.split())
        question = sentence.endswith(("?", "？"))
        if sentence and not question and not is_doubtful(sentence):
            yield sentence


def _of_sentence(sentence: str, rules: _Rules) -> Iterator[PromiseReport]:
    """Yield the reports of a sentence; of its parts first, then of the whole."""
    whole = sentence.rstrip(" .!。！")
    if rules.against.search(whole):
        return
    parts = [part for part in rules.join.split(whole) if part]
    for part in dict.fromkeys([*parts, whole]):
        yield from _of_part(part.strip(), rules)


def _of_part(part: str, rules: _Rules) -> Iterator[PromiseReport]:
    part = rules.before.sub("", part).strip()
    if any(pattern.search(part) for pattern in rules.dropped):
        yield _report(part, "", part, "dropped", rules)
        return
    for pattern in rules.called_off:
        if match := pattern.search(part):
            yield _report(part, "", match["o"], "dropped", rules, is_event=True)
    for pattern in rules.moved:
        if match := pattern.search(part):
            yield _report(part, "", match["o"], "moved", rules, is_event=True)
            return
    part = " ".join(rules.before.sub("", part.replace(_DATE, " ").strip()).split())
    if rules.refused.search(part):
        return
    for pattern in rules.kept:
        if match := pattern.fullmatch(part):
            groups = match.groupdict()
            object_ = f"{groups.get('o') or ''} {groups.get('r') or ''}"
            yield _report(part, groups.get("v") or "", object_, "kept", rules)


def _report(
    part: str,
    verb: str,
    object_: str,
    outcome: Outcome,
    rules: _Rules,
    *,
    is_event: bool = False,
) -> PromiseReport:
    if rules.unspaced:
        signs = _signs(part, rules)
        return PromiseReport(rules.code, outcome, "", signs, signs, is_event=is_event)
    things = _stems(object_, rules)
    own = not rules.own.isdisjoint(object_.split())
    is_whole = outcome == "dropped" and not is_event
    heads = things if is_whole else _direct_object(object_, rules)
    return PromiseReport(
        rules.code,
        outcome,
        _stem(verb, rules) if verb else "",
        frozenset(things),
        frozenset(heads),
        is_own=own,
        is_event=is_event,
    )


def _direct_object(object_: str, rules: _Rules) -> list[str]:
    """Return the stems up to a preposition after a meaningful word, the head last."""
    heads: list[str] = []
    for word in words(object_):
        if word in rules.cut:
            if heads:
                break
            continue
        heads += _stems(word, rules)
    return heads[:1] if rules.code in _HEAD_FIRST else heads[-1:]


_HEAD_FIRST = frozenset({"fr", "es", "it", "pt"})
"""Languages in which the head of a noun phrase comes first."""


Span = Literal["today", "tomorrow", "week", ""]
"""The days that a question about promises names; '' for none."""


_SPANS: tuple[Span, ...] = ("today", "tomorrow", "week")


def agenda(question: str) -> Span | None:
    """Return the days that a question about open promises names; None for others."""
    folded = " ".join(fold(question).strip(" ?？!.。").split())
    if len(folded) > _LONGEST_QUESTION:
        return None
    for rules in _languages(folded):
        if match := rules.agenda.fullmatch(folded):
            named = {
                key.rstrip("2") for key, group in match.groupdict().items() if group
            }
            return next((span for span in _SPANS if span in named), "")
    return None


def says_duty(text: str) -> bool:
    """Return whether the speaker of `text` states that something is still to be done.

    `says_duty("I have to renew my passport by Friday")`. A cancelled duty is none.
    """
    return any(
        rules.duty.search(sentence)
        and not any(pattern.search(sentence) for pattern in rules.dropped)
        for sentence in _sentences(text)
        for rules in _languages(sentence)
    )


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


# -- promises --------------------------------------------------------------------------


@cache
def task(text: str, code: str) -> PromiseWords:
    """Return the words of the promise `text`, parsed in the language `code`."""
    rules = _rules(code)
    for date in reversed(spans(as_ahead(text), _SOME_DAY)):
        text = f"{text[: date.start]} {text[date.end :]}"
    folded = fold(_BRACKETS.sub(" ", text)).rstrip(" .!。")
    if rules.unspaced:
        return PromiseWords(frozenset(), _signs(folded, rules))

    for pattern, verbs_of_due in rules.due:
        if match := pattern.fullmatch(" ".join(folded.split())):
            return PromiseWords(verbs_of_due, frozenset(_stems(match["o"], rules)))

    lead = rules.lead.match(folded)
    rest = folded[lead.end() :] if lead else folded
    found = _stems(rest, rules)
    verbs = found[:1] + (found[-1:] if rules.verb_last else [])
    if lead and lead.groupdict().get("noun"):
        verbs = []
    return PromiseWords(
        frozenset(verbs),
        frozenset(found),
        is_joined=rules.join.search(rest) is not None,
        of_other=rules.others.search(rest) is not None,
    )


def is_event(text: str) -> bool:
    """Return whether a plan is an event, such as a meeting, and not a duty."""
    folded = fold(text)
    return any(rules.event.search(folded) for rules in _languages(folded))


def fits(
    report: PromiseReport, text: str, context: str = "", *, named: bool = False
) -> int:
    """Return the number of words of the promise `text` in a report; 0 for no match.

    Verb and object must match. A report that omits words of the promise must not add
    any. An object that is a pronoun is resolved in `context`, the preceding words. With
    `named` the text names a trouble and has no verb.
    """
    promise = task(text, report.language)
    if named:
        promise = replace(promise, verbs=frozenset())
    rules = _rules(report.language)
    if report.is_event:
        report = _in_words_of_promise(report, promise, rules)
    if rules.unspaced:
        return _fits_signs(report, promise)

    verbs = _matching_verbs(report, promise, text, rules)
    if verbs is None:
        return 0
    things = promise.words - verbs
    if not report.heads and context:
        return _fits_context(verbs, things, context, rules)
    if things and not _common(report.heads, things, rules):
        return 0
    if report.is_own and promise.of_other:
        return 0
    met = _common(things, report.things, rules)
    if things - met and _is_partial(report, promise, verbs, rules):
        return 0
    return len(met) + len(verbs)


def _in_words_of_promise(
    report: PromiseReport, promise: PromiseWords, rules: _Rules
) -> PromiseReport:
    """Return the report of an event with the promise's word for the event.

    The verb of "I'm flying to Rome" then matches "the trip to Rome is off".
    """
    for head in report.heads - promise.words:
        if found := rules.nouns.get(head, frozenset()) & promise.words:
            things = report.things - {head} | found
            return replace(report, heads=found, things=things)
    return report


def _is_partial(
    report: PromiseReport, promise: PromiseWords, verbs: frozenset[str], rules: _Rules
) -> bool:
    """Return whether a report with fewer words concerns only a part of a promise.

    It adds other words, or has one of the several things of the promise.
    """
    is_part = promise.is_joined or not verbs or not report.verb
    if is_part and report.outcome == "kept":
        return True
    return bool(report.things - _common(report.things, promise.words, rules))


def _matching_verbs(
    report: PromiseReport, promise: PromiseWords, text: str, rules: _Rules
) -> frozenset[str] | None:
    """Return the verbs of the promise that match the report; None for no match."""
    if report.is_event:
        return (
            frozenset(_common(promise.words, rules.adverbs, rules))
            if is_event(text)
            else None
        )
    if report.outcome == "dropped":
        found = _common(promise.verbs, report.things, rules)
        return frozenset(found) or None
    if not report.verb:
        verbs = promise.verbs - report.things  # `Miete überweisen`: a thing and a verb
        return verbs if len(verbs) == 1 else frozenset()
    if not promise.verbs:
        return frozenset()
    alike = rules.alike.get(report.verb, frozenset()) | {report.verb}
    found = _common(promise.verbs, alike, rules)
    return frozenset(found) or None


def _fits_context(
    verbs: frozenset[str], things: frozenset[str], context: str, rules: _Rules
) -> int:
    """Return the number of matched stems if `context` names all `things`, else 0."""
    stems = frozenset(_stems(fold(context), rules))
    if not verbs or not things or things - _common(things, stems, rules):
        return 0
    return len(verbs) + len(things)


def names_task(text: str, promise: str) -> bool:
    """Return whether `text` names both the verb and the things of a promise."""
    for rules in _languages(promise):
        wanted = task(promise, rules.code)
        if rules.unspaced:
            signs = _signs(fold(text), rules)
            if wanted.words and wanted.words <= signs:
                return True
            continue
        stems = frozenset(_stems(fold(text), rules))
        if wanted.words and not wanted.words - _common(wanted.words, stems, rules):
            return len(wanted.words) > 1
    return False


def same_task(first: str, second: str, code: str) -> bool:
    """Return whether two promises have the same words apart from dates."""
    return task(first, code).words == task(second, code).words


def _fits_signs(report: PromiseReport, promise: PromiseWords) -> int:
    """Return the number of common signs in a script without blanks.

    It is 0 unless nearly all signs of the promise are in the report.
    """
    common = promise.words & report.things
    enough = len(common) >= _LEAST_SIGNS and len(common) >= _SHARE * len(promise.words)
    return len(common) if enough else 0


_LEAST_SIGNS = 2
_SHARE = 0.75


# -- words -----------------------------------------------------------------------------


def _stems(text: str, rules: _Rules) -> list[str]:
    meaning = content(words(text), rules.code)
    return [
        _stem(word, rules)
        for word in dict.fromkeys(meaning)
        if word not in rules.adverbs and not word.isdigit()
    ]


def _stem(word: str, rules: _Rules) -> str:
    """Return the common stem of the forms of a word.

    `called` and `calls` give `cal`, as `call` does; `angerufen` and `anzurufen` anruf.
    """
    base = rules.forms.get(word, word)
    if found := rules.prefixes.match(base) if base == word else None:
        before, rest = found[1] or "", word[found.end() :]
        inner = word[len(before) :]
        base = before + rules.forms.get(inner, rules.forms.get(rest, rest))
    for ending in rules.endings:
        if base.endswith(ending) and len(base) - len(ending) >= _LEAST_STEM:
            base = base[: -len(ending)]
            break
    if len(base) > _LEAST_STEM and base[-1] == base[-2]:
        base = base[:-1]
    return base


def _common(
    some: frozenset[str], others: frozenset[str], rules: _Rules
) -> frozenset[str]:
    """Return the words of `some` that `others` has, in German also without prefix."""
    if not rules.verb_last:
        return some & others
    return frozenset(
        stem
        for stem in some
        if stem in others
        or any(
            min(len(stem), len(other)) >= _LEAST_STEM
            and (stem.endswith(other) or other.endswith(stem))
            and abs(len(stem) - len(other)) <= _PREFIX
            for other in others
        )
    )


_PREFIX = 4
"""The most letters of a separable prefix."""


def _signs(text: str, rules: _Rules) -> frozenset[str]:
    """Return the meaningful characters of a text without blanks."""
    for word in sorted(rules.adverbs, key=len, reverse=True):
        text = text.replace(word, "")
    return frozenset(_SIGN.findall(text))


# -- data ------------------------------------------------------------------------------


def _languages(text: str) -> tuple[_Rules, ...]:
    """Return the rules of the possible languages of `text`."""
    return _of_languages(languages.written_in(text))


@cache
def _of_languages(codes: frozenset[str]) -> tuple[_Rules, ...]:
    return tuple(_rules(code) for code in languages.section(_KEY) if code in codes)


@cache
def _rules(code: str) -> _Rules:
    section = languages.section(_KEY)[code]
    forms = _forms(section.get("forms", ""))
    if code == "en":
        forms = {**IRREGULAR, **forms}
    weekdays = languages.texts("dates", "weekdays").get(code, "")
    adverbs = frozenset(fold(section.get("adverbs", "")).split())
    adverbs |= frozenset(words(weekdays.replace("/", " ")))
    groups = {
        "ADV": f"(?:(?:{'|'.join(sorted(adverbs)) or '(?!)'}) )*",
        "PAST": "|".join([section.get("past", r"\w+"), *sorted(forms)]),
    }

    def one(key: str) -> LazyPattern:
        text = languages.pattern(section.get(key, "(?!)"))
        return LazyPattern(_filled(text, groups))

    def some(key: str) -> tuple[LazyPattern, ...]:
        rows = languages.entries(section.get(key, ""))
        return tuple(LazyPattern(_filled(row, groups)) for row in rows if row)

    endings = section.get("endings", "").split()
    rules = _Rules(
        code,
        some("kept"),
        some("dropped"),
        some("called_off"),
        some("moved"),
        one("done"),
        one("lead"),
        one("refused"),
        one("against"),
        one("join"),
        one("event"),
        one("before"),
        one("agenda"),
        one("duty"),
        frozenset(section.get("cut", "").split()),
        adverbs,
        frozenset(section.get("own", "").split()),
        one("others"),
        forms,
        tuple(sorted(endings, key=len, reverse=True)),
        one("prefixes"),
        verb_last="verb_last" in section,
    )
    return replace(
        rules,
        due=tuple(
            (
                re.compile(pattern),
                frozenset(_stem(verb, rules) for verb in verbs.split()),
            )
            for pattern, verbs in languages.replacements(section.get("due", ""))
        ),
        alike=_interchangeable_stems(section.get("alike", ""), rules),
        nouns=_interchangeable_stems(section.get("nouns", ""), rules),
    )


def _interchangeable_stems(text: str, rules: _Rules) -> dict[str, frozenset[str]]:
    """Return the stems of interchangeable words, one group a line."""
    found: dict[str, frozenset[str]] = {}
    for group in languages.entries(text):
        stems = frozenset(_stem(word, rules) for word in fold(group).split())
        for stem in stems:
            found[stem] = found.get(stem, frozenset()) | stems
    return found


def _filled(text: str, groups: Mapping[str, str]) -> str:
    return re.sub(r"<([A-Z]+)>", lambda found: groups[found[1]], text)


def _forms(text: str) -> dict[str, str]:
    """Return lines `base form form` as `{form: base}`."""
    return {
        form: base
        for base, *forms in (fold(row).split() for row in languages.entries(text))
        for form in forms
    }
