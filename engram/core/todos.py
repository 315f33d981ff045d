"""Find out which promises and loops are open, fulfilled or repeated (rows E15, E16).

The patterns prefer precision: a question, a plan, a condition or a negation fulfils
nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core.categories import CATEGORIES, PLAIN, category_of
from engram.core.language.echo import own_words
from engram.core.language.sentences import sentences
from engram.core.language.words import content, fold, language, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime, tzinfo

    from engram.core.records import Candidate, Fact

FULFILLED, EXPIRED, HABIT, THREAD, FRICTION = (
    "fulfilled",
    "expired",
    "habit",
    "thread",
    "friction",
)
LOOPS = (HABIT, THREAD, FRICTION)
"""What a user repeats without a promise (row E15).

Habits are done again and again, threads are left open, frictions go wrong.
"""

PROMISE_MARKERS = tuple(
    f'"{word}"'
    for word in (*(row.name for row in CATEGORIES.values() if row.promise), *LOOPS)
)
"""Each record of a fact that has a todo stage contains one of these strings."""

_DONE = re.compile(
    r"\b(?:(?:it|that|this)(?:'s| is| has been)? (?:all |finally |now |already )?(?:done|finished|sorted|taken care of)"
    r"|all done|^done|(?:i|we)(?:'m| am|'ve| have| are)? (?:\w+ )?(?:did (?:it|that|this)|finished|completed|done)"
    r"|took care of|taken care of|got (?:it|that|this) (?:done|sorted)|crossed (?:it|that) off|mission accomplished"
    r"|erledigt|geschafft|c'est fait|j'ai (?:fini|terminé)|ya está(?: hecho)?|he terminado|lo hice|fatto|feito|gedaan"
    r"|готово|сделал[аи]?)\b|完成了|做完了|終わった|終わりました",
)
_PAST = re.compile(
    r"\b(?:i|we)(?:'ve| have)? (?:(?:just|already|finally|now|also|even|then) ){0,2}"
    r"(?:(?!wanted|needed|planned|hoped|promised|intended|tried|decided|started|liked|loved|asked|wished|missed|wondered"
    r"|considered|delayed|postponed|cancelled|canceled|skipped|stopped|failed|refused)\w{2,}ed|sent|paid"
    r"|bought|brought|wrote|written|did|made|got|gave|given|took|taken|told|met|went|built|found|put|set|read|sold|made)\b"
    r"|\b(?:habe|hab|haben) (?:\w+ ){1,8}(?:ge\w+t|ge\w+en|\w+ge\w+t|\w+ge\w+en|bezahlt|erledigt|besorgt)\b",
)
_NOT = re.compile(
    r"\b(?:not|never|haven't|hasn't|didn't|isn't|wasn't|won't|couldn't|yet to|will|'ll|going to|gonna|would|should"
    r"|if|when|once|until|unless|before|almost|nearly|half|partly|wish|hope|nicht|noch|nie|kein|keine|wenn|sobald|werde"
    r"|fast|pas|jamais|quand|si|nunca|cuando|non|mai|não|niet)\b|n't\b",
)
_NO_LONGER = re.compile(
    r"\b(?:no longer|not anymore|used to|stopped|nicht mehr|ne plus|ya no|non più|niet meer)\b"
)
_AGAIN = re.compile(
    r"\b(?:(?:every|each) (?:\w+ )?(?:day|morning|evening|night|week|month|year|weekend|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday)|daily|weekly|monthly|(?:once|twice|three times) a (?:day|week|month)|regularly"
    r"|(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)days|jeden (?:\w+ )?(?:tag|morgen|abend|monat|montag|dienstag"
    r"|mittwoch|donnerstag|freitag|samstag|sonntag)|jede woche|täglich|wöchentlich|chaque (?:jour|semaine|mois)"
    r"|tous les jours|cada (?:día|semana|mes)|todos los días|ogni (?:giorno|settimana)|todos os dias|elke (?:dag|week)"
    r"|каждый день|каждую неделю)\b|每天|每周|毎日|毎週",
)
_NO_MORE = re.compile(
    r"\b(?:not|never|no longer|stopped|used to|nicht|nie|jamais|nunca|mai|niet|не)\b|n't\b"
)
_HEDGED = re.compile(
    r"\b(?:maybe|perhaps|might|may|probably|possibly|some ?day|sometime|eventually|one of these days"
    r"|thinking (?:of|about)|not sure (?:if|whether)|vielleicht|irgendwann|eventuell"
    r"|peut-être|un jour|quizás|quizá|tal vez|algún día|forse"
    r"|talvez|misschien|ooit|может быть|когда-нибудь)\b|也许|可能|たぶん|いつか",
)
_FRICTION = re.compile(
    r"\b(?:i|we)(?:'m| am|'re| are)? (?:still |really |always |just )?(?:struggl(?:e|ing) (?:with|to)"
    r"|stuck (?:on|with|at)|fed up with|frustrated (?:with|by|about)|sick of)"
    r"|\bkeeps? (?:on )?(?:forgetting|failing|breaking|crashing|losing|running into|falling|jamming|freezing|dropping"
    r"|interrupting|getting (?:lost|stuck)|having (?:trouble|problems))"
    r"|\b(?:have|having|had) (?:\w+ )?(?:trouble|problems|a hard time|difficulty) (?:with|\w+ing)\b"
    r"|\b(?:drives|driving) me (?:crazy|mad|nuts)|\b(?:nervt|ärgert) mich|\b(?:habe|haben) (?:\w+ ){0,3}"
    r"(?:probleme|schwierigkeiten|ärger) mit\b|\bj'ai du mal à|\bme cuesta\b|\btengo problemas con\b"
    r"|\bfaccio fatica a\b",
)
_OPEN_LOOPS, _SETTLED = frozenset({THREAD, FRICTION}), frozenset({FULFILLED, EXPIRED})
_KEY_TERMS = 6
_PREFIX = 4
_LONGEST = 400


def is_open(fact: Fact) -> bool:
    """Return whether a fact is an open promise, thread or friction."""
    counts = category_of(fact.category).promise or not _OPEN_LOOPS.isdisjoint(fact.tags)
    return counts and fact.status == "active" and _SETTLED.isdisjoint(fact.tags)


def due_at(fact: Fact) -> datetime | None:
    """Return when a promise is due: the last moment of the time that its words give."""
    if fact.event_end and fact.event_end != fact.valid_from:
        return fact.event_end - timedelta(microseconds=1)
    return fact.valid_from


def is_overdue(fact: Fact, now: datetime, zone: tzinfo) -> bool:
    """Return whether the local day of a promise is over (`E16`)."""
    due = due_at(fact)
    return due is not None and due.astimezone(zone).date() < now.astimezone(zone).date()


def is_past(fact: Fact, now: datetime, days: float) -> bool:
    """Return whether the day of a promise is more than `days` days ago (`E16`).

    Such a promise stays open but is no longer shown as news.
    """
    due = due_at(fact)
    return due is not None and now - due > timedelta(days=days)


def todo_stage(fact: Fact) -> str:
    """Return `open`, `fulfilled`, `expired`, `habit`, `thread`, `friction` or ''."""
    if HABIT in fact.tags:
        return HABIT
    loop = next((tag for tag in (FRICTION, THREAD) if tag in fact.tags), "")
    if not category_of(fact.category).promise and not loop:
        return ""
    return next(
        (tag for tag in (FULFILLED, EXPIRED) if tag in fact.tags), loop or "open"
    )


def with_loop_tag(candidate: Candidate) -> Candidate:
    """Return the candidate with the tag of a loop if its quote shows one (`E15`).

    A hedged promise without a time is a thread; a trouble that recurs is a friction.
    """
    quote = fold(candidate.quote)
    timeless = category_of(candidate.category).promise and candidate.when is None
    if timeless and _HEDGED.search(quote):
        return replace(candidate, category=PLAIN, tags=_with(candidate.tags, THREAD))
    trouble = category_of(candidate.category).troubles and _FRICTION.search(quote)
    if trouble and not _NO_LONGER.search(quote):
        return replace(candidate, tags=_with(candidate.tags, FRICTION))
    return candidate


def loop_key(text: str) -> str:
    """Return the subject of a loop in snake_case, the same for the same words (`E15`).

    >>> loop_key("The printer in the office keeps jamming.")
    'printer_office_keeps_jamming'
    """
    return "_".join(dict.fromkeys(_terms(text)[:_KEY_TERMS]))


def fulfilled_promise(
    text: str, promises: Sequence[Fact], overlap: float
) -> Fact | None:
    """Return the open promise that `text` says is fulfilled, or None (`E16`).

    It is the promise with the largest overlap of words, at least `overlap`; of two
    equal ones neither. Where the text says explicitly that something is done, a single
    promise needs no overlap; a thread or a friction does.
    """
    single = [one for one in promises if category_of(one.category).promise]
    for sentence in _asserted(text, _NOT):
        done = bool(_DONE.search(sentence))
        if not done and not _PAST.search(sentence):
            continue
        if best := _best_match(sentence, promises, overlap):
            return best
        if done and len(single) == 1:
            return single[0]
    return None


def _best_match(text: str, promises: Sequence[Fact], overlap: float) -> Fact | None:
    """Return the promise with the largest overlap; None if it is too small or a tie."""
    shares = [(word_overlap(promise, text), promise) for promise in promises]
    matches = [(share, promise) for share, promise in shares if share >= overlap]
    largest = max((share for share, _ in matches), default=0.0)
    best = [promise for share, promise in matches if share == largest]
    return best[0] if len(best) == 1 else None


def is_repeated(text: str, promise: Fact, overlap: float) -> bool:
    """Return whether `text` says that the user does `promise` regularly (`E16`)."""
    return any(
        _AGAIN.search(sentence) and word_overlap(promise, sentence) >= overlap
        for sentence in _asserted(text, _NO_MORE)
    )


def word_overlap(promise: Fact, text: str) -> float:
    """Return the share, 0–1, of a promise's words without names that `text` contains.

    A word counts in any inflection.
    """
    names = {word for name in promise.about for word in words(name)} | {
        "user",
        "promised",
        "plans",
        "owner",
    }
    wanted = {word for word in _terms(promise.text) if word not in names}
    if not wanted:
        return 0.0
    terms = set(_terms(text))
    matched = sum(any(_alike(word, other) for other in terms) for word in wanted)
    return matched / len(wanted)


def _asserted(text: str, unless: re.Pattern[str]) -> Iterator[str]:
    """Yield the folded sentences that state something and do not match `unless`.

    Very long sentences are skipped.
    """
    own = own_words(text)
    for start, end in sentences(own):
        sentence = fold(own[start:end]).strip() if end - start <= _LONGEST else ""
        question = sentence.endswith(("?", "？"))
        if sentence and not question and not unless.search(sentence):
            yield sentence


def _with(tags: Sequence[str], tag: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*tags, tag)))


def _alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= _PREFIX and long.startswith(short))


def _terms(text: str) -> list[str]:
    found = words(text)
    return content(found, language(found))
