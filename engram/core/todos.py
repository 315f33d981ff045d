"""Find out which promises and loops are open, fulfilled or repeated (rows E15, E16).

The patterns prefer precision: a question, a plan, a condition or a negation fulfils
nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engram.core.categories import CATEGORIES, PLAIN, category_of
from engram.core.language.echo import own_words
from engram.core.language.promises import (
    PromiseReport,
    fits,
    is_event,
    names_task,
    only_says_done,
    reports,
    same_task,
)
from engram.core.language.sentences import sentences
from engram.core.language.words import content, fold, language, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date, datetime, tzinfo

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

_STAGE_NAMES = {
    **dict.fromkeys(("done", "finished", "completed", "kept"), FULFILLED),
    **dict.fromkeys(("cancelled", "canceled", "dropped"), EXPIRED),
}
"""What people call the stages of a promise."""

KEPT, CANCELLED, MOVED = "kept", "cancelled", "moved to another time"
"""Why a promise is settled by words of the user."""

TIME_OVER = "its time is over"
"""Why a promise whose end has passed is given up."""

LONG_OVER = "its day was long over when it was read"
"""Why a promise of an old conversation is given up."""

PROMISE_MARKERS = tuple(
    f'"{word}"'
    for word in (*(row.name for row in CATEGORIES.values() if row.promise), *LOOPS)
)
"""Each record of a fact that has a todo stage contains one of these strings."""

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
_OPEN_LOOPS, SETTLED = frozenset({THREAD, FRICTION}), frozenset({FULFILLED, EXPIRED})
_KEY_TERMS = 6
_PREFIX = 4
_LONGEST = 400


def is_open(fact: Fact) -> bool:
    """Return whether a fact is an open promise, thread or friction."""
    counts = category_of(fact.category).promise or not _OPEN_LOOPS.isdisjoint(fact.tags)
    return counts and fact.status == "active" and SETTLED.isdisjoint(fact.tags)


def is_settled(fact: Fact) -> bool:
    """Return whether a promise or loop is marked as settled."""
    return not SETTLED.isdisjoint(fact.tags)


def ran_out(fact: Fact) -> bool:
    """Return whether a promise was given up because its time was over; it may be kept
    late.
    """
    return (
        category_of(fact.category).promise
        and fact.status == "active"
        and EXPIRED in fact.tags
        and fact.end_reason in {TIME_OVER, LONG_OVER}
    )


def outcome(words: str, why: str) -> tuple[str, str]:
    """Return the tag of a promise that is over by these words of the user, and why.

    `why` is the reason where the words do not say whether it was kept or called off.
    """
    said = {report.outcome for report in reports(words)}
    if said == {"kept"}:
        return FULFILLED, f"{KEPT} (read by a model)"
    return EXPIRED, f"{CANCELLED} (read by a model)" if "dropped" in said else why


def settled_keys(fact: Fact, tag: str, done: str, why: str) -> dict[str, object]:
    """Return the keys of the note of a promise that was settled at `done`."""
    tags = [one for one in fact.tags if one not in SETTLED]
    return {"tags": [*tags, tag], "done": done, "end_reason": why}


def reopened_keys(fact: Fact) -> dict[str, object]:
    """Return the keys of the note of a promise that is open again."""
    tags = [one for one in fact.tags if one not in SETTLED]
    return {"tags": tags or None, "done": None, "end_reason": None}


def stage_named(name: str) -> str:
    """Return the stage that a person means.

    >>> stage_named("Done"), stage_named("open")
    ('fulfilled', 'open')
    """
    plain = name.strip().casefold()
    return _STAGE_NAMES.get(plain, plain)


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


def lapsed(fact: Fact, now: datetime, days: float) -> Fact:
    """Return a promise given up if it was read long after its day (`E16`).

    So the duties of an old conversation that is imported are not to be done today. Long
    is more than `days` days, both after its day and after it was said.
    """
    was_said_long_ago = fact.created and now - fact.created > timedelta(days=days)
    if not (category_of(fact.category).promise and was_said_long_ago):
        return fact
    if not is_past(fact, now, days):
        return fact
    tags = (*fact.tags, EXPIRED)
    return replace(fact, tags=tags, done=due_at(fact), end_reason=LONG_OVER)


def is_past_plan(fact: Fact, now: datetime, zone: tzinfo) -> bool:
    """Return whether a fact is an event whose day is over, and not a duty."""
    return (
        category_of(fact.category).promise
        and is_open(fact)
        and is_overdue(fact, now, zone)
        and is_event(fact.text)
    )


def stage_at(fact: Fact, now: datetime, zone: tzinfo) -> str:
    """Return the stage of a promise on a day: an event whose day is over is past."""
    return EXPIRED if is_past_plan(fact, now, zone) else todo_stage(fact)


def due_words(fact: Fact, now: datetime, zone: tzinfo) -> str:
    """Return in words when a promise is due, or how it was settled; '' for no promise.

    For example `overdue since 2027-03-02` and `was planned for 2027-03-02`.
    """
    if not category_of(fact.category).promise:
        return ""
    due = due_at(fact)
    day = f"{due.astimezone(zone):%Y-%m-%d}" if due else ""
    if settled := next((tag for tag in (FULFILLED, EXPIRED) if tag in fact.tags), ""):
        done = f" {fact.done.astimezone(zone):%Y-%m-%d}" if fact.done else ""
        why = (CANCELLED, MOVED)
        word = next(filter(fact.end_reason.startswith, why), settled)
        return f"{KEPT if settled == FULFILLED else word}{done}"
    if not day:
        return ""
    if is_past_plan(fact, now, zone):
        return f"was planned for {day}"
    if is_overdue(fact, now, zone):
        return f"overdue since {day}"
    return (
        f"due today, {day}"
        if day == f"{now.astimezone(zone):%Y-%m-%d}"
        else f"due {day}"
    )


def by_due(fact: Fact) -> tuple[bool, float, str]:
    """Return the sort key of promises: overdue ones first, those without a day last."""
    due = due_at(fact)
    at = due or fact.created
    return due is None, at.timestamp() if at else 0.0, fact.id


def agenda_of(
    promises: Iterable[Fact], span: str, now: datetime, zone: tzinfo, past_days: float
) -> list[Fact]:
    """Return the open promises that a question for some days asks for (`E16`).

    Those overdue for at most `past_days` days come first, then those due, then those
    without a day. Of tomorrow only what is due on that day.
    """
    today = now.astimezone(zone).date()
    last = today + timedelta(days=_DAYS.get(span, 0))
    chosen = []
    for one in promises:
        if stage_at(one, now, zone) != "open" or is_past(one, now, past_days):
            continue
        due = due_at(one)
        day = due.astimezone(zone).date() if due else None
        if span == "tomorrow":
            if day == last:
                chosen.append(one)
        elif day is None or not span or _begins(one, zone, day) <= last:
            chosen.append(one)
    return sorted(chosen, key=by_due)


_DAYS = {"today": 0, "tomorrow": 1, "week": 6}


def _begins(fact: Fact, zone: tzinfo, day: date) -> date:
    """Return the first day on which a promise can be kept: of a week, its first one."""
    return fact.valid_from.astimezone(zone).date() if fact.valid_from else day


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


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a text settles: `tag` is `fulfilled` or `expired`, `why` the reason.

    `promises` are one promise, or several of the same words. If `asks`, the text may
    mean any one of them, and only the user can say which.
    """

    promises: tuple[Fact, ...]
    tag: str
    why: str
    asks: bool = False


def settlements(
    text: str, promises: Sequence[Fact], context: str = "", when: datetime | None = None
) -> list[Settlement]:
    """Return what a text of the user settles among the open `promises` (`E16`).

    Verb and object of a promise must be met by one report. `context` are the words
    just before, for a pronoun ("I rang them") and for a bare "Done!", which counts only
    where that context names a single promise. Of promises of the same words, said twice,
    those not due after the day of the text are settled, or else the one due first.
    """
    found: list[Settlement] = []
    settled: set[str] = set()
    for report in reports(text):
        fitting = [one for one in promises if one.id not in settled]
        settlement = _settlement(report, fitting, context, when)
        if settlement:
            found.append(settlement)
            settled |= {one.id for one in settlement.promises}
    if not found and context and only_says_done(text):
        meant = [one for one in promises if names_task(context, one.text)]
        if len(meant) == 1:
            found.append(Settlement((meant[0],), FULFILLED, KEPT))
    return found


def _is_trouble(fact: Fact) -> bool:
    return FRICTION in fact.tags and not category_of(fact.category).promise


def _settlement(
    report: PromiseReport, promises: Sequence[Fact], context: str, when: datetime | None
) -> Settlement | None:
    """Return what one report settles: the promises that share most words with it."""
    scores = [
        (fits(report, one.text, context, named=_is_trouble(one)), one)
        for one in promises
    ]
    most = max((score for score, _ in scores), default=0)
    if not most:
        return None
    best = [one for score, one in scores if score == most]
    tag, why = _OUTCOMES[report.outcome]
    if all(same_task(best[0].text, one.text, report.language) for one in best):
        return Settlement(_due_first(best, when), tag, why)
    return Settlement(tuple(best), tag, why, asks=True)


_OUTCOMES = {
    "kept": (FULFILLED, KEPT),
    "dropped": (EXPIRED, CANCELLED),
    "moved": (EXPIRED, MOVED),
}


def _due_first(promises: Sequence[Fact], when: datetime | None) -> tuple[Fact, ...]:
    """Of promises of the same words those not due after `when`, else the first due."""
    due = {one.id: due_at(one) for one in promises}
    last = when + _ONE_DAY if when else None
    now = [
        one
        for one in promises
        if (at := due[one.id]) is None or last is None or at <= last
    ]
    if now:
        return tuple(now)
    return (min(promises, key=lambda one: (due[one.id], one.id)),)


_ONE_DAY = timedelta(days=1)


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
