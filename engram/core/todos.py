"""Promises and loops: which are open, and what somebody says who has kept one or does
it again (rows E15, E16).

Words are read with more care than hope: a question, a plan, a condition or a denial
keeps nothing.
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
    from datetime import datetime

    from engram.core.records import Candidate, Fact

FULFILLED, EXPIRED, HABIT, THREAD, FRICTION = (
    "fulfilled",
    "expired",
    "habit",
    "thread",
    "friction",
)
LOOPS = (HABIT, THREAD, FRICTION)
"""What somebody comes back to without having promised it: done again and again, left
open, going wrong (row E15).
"""

PROMISE_MARKERS = tuple(
    f'"{word}"'
    for word in (*(row.name for row in CATEGORIES.values() if row.promise), *LOOPS)
)
"""One of these stands in the record of whatever has a stage."""

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
    """Whether it is a promise that nobody has kept or given up, or something left open
    or going wrong that still is.
    """
    counts = category_of(fact.category).promise or not _OPEN_LOOPS.isdisjoint(fact.tags)
    return counts and fact.status == "active" and _SETTLED.isdisjoint(fact.tags)


def is_past(fact: Fact, now: datetime, days: float) -> bool:
    """Whether the day that a promise named is more than so many days ago: it is still
    open, and no news (`E16`).
    """
    return fact.valid_from is not None and now - fact.valid_from > timedelta(days=days)


def todo_stage(fact: Fact) -> str:
    """`open`, `fulfilled`, `expired`, `habit`, `thread` or `friction`; '' for what is
    none of them.
    """
    if HABIT in fact.tags:
        return HABIT
    loop = next((tag for tag in (FRICTION, THREAD) if tag in fact.tags), "")
    if not category_of(fact.category).promise and not loop:
        return ""
    return next(
        (tag for tag in (FULFILLED, EXPIRED) if tag in fact.tags), loop or "open"
    )


def with_loop_tag(candidate: Candidate) -> Candidate:
    """The candidate as a loop where the words that prove it make it one (`E15`).

    A promise that is hedged and has no time is a thread, left open; what goes wrong
    again and again is a friction.
    """
    said = fold(candidate.quote)
    if (
        category_of(candidate.category).promise
        and candidate.when is None
        and _HEDGED.search(said)
    ):
        return replace(candidate, category=PLAIN, tags=_with(candidate.tags, THREAD))
    going_wrong = (
        category_of(candidate.category).troubles
        and _FRICTION.search(said)
        and not _NO_LONGER.search(said)
    )
    return (
        replace(candidate, tags=_with(candidate.tags, FRICTION))
        if going_wrong
        else candidate
    )


def loop_key(text: str) -> str:
    """What a loop is about in snake_case, the same however often it is told in these
    words (`E15`).

    >>> loop_key("The printer in the office keeps jamming.")
    'printer_office_keeps_jamming'
    """
    return "_".join(dict.fromkeys(_terms(text)[:_KEY_TERMS]))


def fulfilled_promise(
    text: str, promises: Sequence[Fact], overlap: float
) -> Fact | None:
    """The open promise of `promises` that somebody says they kept, or None (`E16`).

    The one whose words they repeat most, at least the share `overlap`; of two alike
    neither. A single promise needs no words of its own where somebody says outright
    that it is done; a thread or a friction does.
    """
    for said in _asserted(text, _NOT):
        done = bool(_DONE.search(said))
        if not done and not _PAST.search(said):
            continue
        shares = sorted(
            (
                (word_overlap(promise, said), promise.id, promise)
                for promise in promises
            ),
            reverse=True,
        )
        best = [one for one in shares if one[0] >= overlap]
        if best and (len(best) == 1 or best[0][0] > best[1][0]):
            return best[0][2]
        single = [one for one in promises if category_of(one.category).promise]
        if done and len(single) == 1:
            return single[0]
    return None


def is_repeated(text: str, promise: Fact, overlap: float) -> bool:
    """Whether somebody says that they do again and again what they promised (`E16`)."""
    return any(
        _AGAIN.search(said) and word_overlap(promise, said) >= overlap
        for said in _asserted(text, _NO_MORE)
    )


def word_overlap(promise: Fact, text: str) -> float:
    """The share of a promise's words, names aside, that `text` has in some form, 0–1."""
    names = {word for name in promise.about for word in words(name)} | {
        "user",
        "promised",
        "plans",
        "owner",
    }
    own = {word for word in _terms(promise.text) if word not in names}
    said = set(_terms(text))
    return (
        sum(any(_alike(word, other) for other in said) for word in own) / len(own)
        if own
        else 0.0
    )


def _asserted(text: str, unless: re.Pattern[str]) -> Iterator[str]:
    """The sentences that state something, folded; not those in which `unless` is found,
    nor endless ones.
    """
    own = own_words(text)
    for start, end in sentences(own):
        said = fold(own[start:end]).strip() if end - start <= _LONGEST else ""
        if said and not said.endswith(("?", "？")) and not unless.search(said):
            yield said


def _with(tags: Sequence[str], tag: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*tags, tag)))


def _alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= _PREFIX and long.startswith(short))


def _terms(text: str) -> list[str]:
    found = words(text)
    return content(found, language(found))
