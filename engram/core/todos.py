"""Decide which promises and loops are open, fulfilled or repeated (rows E15, E16).

The patterns prefer precision: a question, a plan, a condition or a negation fulfils no
promise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from engram.core.categories import CATEGORIES, PLAIN, category_of
from engram.core.language.dates import resolve
from engram.core.language.echo import own_words
from engram.core.language.languages import LazyPattern
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
from engram.core.language.words import fold, terms_of, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engram.core.records import Candidate, Fact

FULFILLED, EXPIRED, HABIT, THREAD, FRICTION = (
    "fulfilled",
    "expired",
    "habit",
    "thread",
    "friction",
)
LOOPS = (HABIT, THREAD, FRICTION)
"""The kinds of loops: recurring topics of a user without a promise (row E15).

A habit is repeated, a thread is an open question, a friction is a recurring trouble.
"""

KEPT, CANCELLED, MOVED = "kept", "cancelled", "moved to another time"
"""The reason for a promise that words of the user settle."""

TIME_OVER = "its time is over"
"""The reason for a promise that is given up after its end."""

LONG_OVER = "its day was long over when it was read"
"""The reason for a promise that is given up because its conversation is old."""

PROMISE_MARKERS = tuple(
    f'"{word}"'
    for word in (*(row.name for row in CATEGORIES.values() if row.promise), *LOOPS)
)
"""The record of every fact with a todo stage contains at least one of these strings."""

_NO_LONGER = LazyPattern(
    r"\b(?:no longer|not anymore|used to|stopped|nicht mehr|ne plus|ya no|non più|niet meer)\b"
)
_AGAIN = LazyPattern(
    r"\b(?:(?:every|each) (?:\w+ )?(?:day|morning|evening|night|week|month|year|weekend|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday)|daily|weekly|monthly|(?:once|twice|three times) a (?:day|week|month)|regularly"
    r"|(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)days|jeden (?:\w+ )?(?:tag|morgen|abend|monat|montag|dienstag"
    r"|mittwoch|donnerstag|freitag|samstag|sonntag)|jede woche|täglich|wöchentlich|chaque (?:jour|semaine|mois)"
    r"|tous les jours|cada (?:día|semana|mes)|todos los días|ogni (?:giorno|settimana)|todos os dias|elke (?:dag|week)"
    r"|каждый день|каждую неделю)\b|每天|每周|毎日|毎週",
)
_NO_MORE = LazyPattern(
    r"\b(?:not|never|no longer|stopped|used to|nicht|nie|jamais|nunca|mai|niet|не)\b|n't\b"
)
_HEDGED = LazyPattern(
    r"\b(?:maybe|perhaps|might|may|probably|possibly|some ?day|sometime|eventually|one of these days"
    r"|thinking (?:of|about)|not sure (?:if|whether)|vielleicht|irgendwann|eventuell"
    r"|peut-être|un jour|quizás|quizá|tal vez|algún día|forse"
    r"|talvez|misschien|ooit|может быть|когда-нибудь)\b|也许|可能|たぶん|いつか",
)
_FRICTION = LazyPattern(
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


def still_holds(fact: Fact) -> bool:
    """Return whether a fact is active, and not settled if it is a promise or loop."""
    return fact.status == "active" and not is_settled(fact)


def ran_out(fact: Fact) -> bool:
    """Return whether a promise was given up because its time was over.

    Such a promise may still be fulfilled late.
    """
    return (
        category_of(fact.category).promise
        and fact.status == "active"
        and EXPIRED in fact.tags
        and fact.end_reason in {TIME_OVER, LONG_OVER}
    )


def outcome(words: str, why: str) -> tuple[str, str]:
    """Return the tag of a promise that these words of the user settle, and the reason.

    `why` is the reason if the words do not distinguish fulfilled from cancelled.
    """
    outcomes = {report.outcome for report in reports(words)}
    if outcomes == {"kept"}:
        return FULFILLED, f"{KEPT} (read by a model)"
    return EXPIRED, f"{CANCELLED} (read by a model)" if "dropped" in outcomes else why


def deed_at(words: str, said_at: datetime) -> datetime:
    """Return when the deed of a report was done: the one past day it names.

    Otherwise it is the time of the report, which is in the zone of the user.
    """
    days = [
        one.start
        for one in resolve(words, said_at)
        if one.end <= said_at and one.granularity in {"day", "hour", "minute"}
    ]
    return days[0] if len(days) == 1 else said_at


def settled_keys(fact: Fact, tag: str, settled_at: str, why: str) -> dict[str, object]:
    """Return the keys of the note of a promise that was settled at `done`."""
    tags = [*settled_tags(fact, tag)]
    return {"tags": tags, "done": settled_at, "end_reason": why}


def settled_tags(fact: Fact, tag: str) -> tuple[str, ...]:
    """Return the tags of a promise that was settled as `tag`."""
    return (*(other for other in fact.tags if other not in SETTLED), tag)


def reopened_keys(fact: Fact) -> dict[str, object]:
    """Return the keys of the note of a promise that is open again."""
    tags = [tag for tag in fact.tags if tag not in SETTLED]
    return {"tags": tags or None, "done": None, "end_reason": None}


def due_at(fact: Fact) -> datetime | None:
    """Return the time at which a promise is due: the end of the time in its words."""
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
    """Return a promise, given up if it was extracted long after its day (`E16`).

    The duties of an old conversation that is imported are thus not due today. "Long" is
    more than `days` days, both after the due day and after the statement.
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
    """Return the stage of a promise on a day; a plan whose day is over is past."""
    return EXPIRED if is_past_plan(fact, now, zone) else todo_stage(fact)


def due_words(fact: Fact, now: datetime, zone: tzinfo) -> str:
    """Return in words when a promise is due, or how it was settled; '' for no promise.

    Examples are `overdue since 2027-03-02` and `was planned for 2027-03-02`.
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
    """Return the sort key of promises: by due time, those without a day last."""
    due = due_at(fact)
    at = due or fact.created
    return due is None, at.timestamp() if at else 0.0, fact.id


def agenda_of(
    promises: Iterable[Fact], span: str, now: datetime, zone: tzinfo, past_days: float
) -> list[Fact]:
    """Return the open promises that answer a question about `span` (`E16`).

    Those overdue for at most `past_days` days come first, then those due, then those
    without a day. For tomorrow only the promises due on that day are returned.
    """
    today = now.astimezone(zone).date()
    last = today + timedelta(days=_DAYS.get(span, 0))
    chosen = []
    for promise in promises:
        if stage_at(promise, now, zone) != "open" or is_past(promise, now, past_days):
            continue
        due = due_at(promise)
        day = due.astimezone(zone).date() if due else None
        if span == "tomorrow":
            if day == last:
                chosen.append(promise)
        elif day is None or not span or _begins(promise, zone, day) <= last:
            chosen.append(promise)
    return sorted(chosen, key=by_due)


_DAYS = {"today": 0, "tomorrow": 1, "week": 6}


def _begins(fact: Fact, zone: tzinfo, day: date) -> date:
    """Return the first day on which a promise can be fulfilled, else `day`."""
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
        return replace(
            candidate, category=PLAIN, tags=_with_tag(candidate.tags, THREAD)
        )
    trouble = category_of(candidate.category).troubles and _FRICTION.search(quote)
    if trouble and not _NO_LONGER.search(quote):
        return replace(candidate, tags=_with_tag(candidate.tags, FRICTION))
    return candidate


def loop_key(text: str) -> str:
    """Return the subject of a loop in snake_case, the same for the same words (`E15`).

    >>> loop_key("The printer in the office keeps jamming.")
    'printer_office_keeps_jamming'
    """
    return "_".join(dict.fromkeys(terms_of(text)[:_KEY_TERMS]))


@dataclass(frozen=True, slots=True)
class Settlement:
    """The promises that a text settles; `tag` is `fulfilled` or `expired`.

    `why` is the reason. `promises` are one promise, or several with the same words. If
    `asks` is true, the text may refer to any one of them, and only the user can decide.
    """

    promises: tuple[Fact, ...]
    tag: str
    why: str
    asks: bool = False


def settlements(
    text: str, promises: Sequence[Fact], context: str = "", when: datetime | None = None
) -> list[Settlement]:
    """Return the settlements of a user's text among the open `promises` (`E16`).

    A single report must match both the verb and the object of a promise. `context` are
    the preceding words, for a pronoun ("I rang them") and for a bare "Done!", which
    counts only if that context names a single promise. Of promises with the same words,
    those not due after the day of the text are settled, or else the one due first.
    """
    found: list[Settlement] = []
    settled: set[str] = set()
    for report in reports(text):
        fitting = [promise for promise in promises if promise.id not in settled]
        settlement = _settlement(report, fitting, context, when)
        if settlement:
            found.append(settlement)
            settled |= {promise.id for promise in settlement.promises}
    if not found and context and only_says_done(text):
        named_in_context = [
            promise for promise in promises if names_task(context, promise.text)
        ]
        if len(named_in_context) == 1:
            found.append(Settlement((named_in_context[0],), FULFILLED, KEPT))
    return found


def _is_trouble(fact: Fact) -> bool:
    return FRICTION in fact.tags and not category_of(fact.category).promise


def _settlement(
    report: PromiseReport, promises: Sequence[Fact], context: str, when: datetime | None
) -> Settlement | None:
    """Return the settlement of one report, of the promises that best match it."""
    scores = [
        (fits(report, promise.text, context, named=_is_trouble(promise)), promise)
        for promise in promises
    ]
    most = max((score for score, _ in scores), default=0)
    if not most:
        return None
    best = [promise for score, promise in scores if score == most]
    tag, why = _OUTCOMES[report.outcome]
    if all(same_task(best[0].text, promise.text, report.language) for promise in best):
        return Settlement(_due_first(best, when), tag, why)
    return Settlement(tuple(best), tag, why, asks=True)


_OUTCOMES = {
    "kept": (FULFILLED, KEPT),
    "dropped": (EXPIRED, CANCELLED),
    "moved": (EXPIRED, MOVED),
}


def _due_first(promises: Sequence[Fact], when: datetime | None) -> tuple[Fact, ...]:
    """Return the promises not due after `when`, or else the one due first.

    The promises have the same words.
    """
    due = {promise.id: due_at(promise) for promise in promises}
    last = when + _ONE_DAY if when else None
    now = [
        promise
        for promise in promises
        if (at := due[promise.id]) is None or last is None or at <= last
    ]
    if now:
        return tuple(now)
    return (min(promises, key=lambda promise: (due[promise.id], promise.id)),)


_ONE_DAY = timedelta(days=1)


def is_repeated(text: str, promise: Fact, overlap: float) -> bool:
    """Return whether `text` states that the user does `promise` regularly (`E16`)."""
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
    promise_words = {word for word in terms_of(promise.text) if word not in names}
    if not promise_words:
        return 0.0
    terms = set(terms_of(text))
    matched = sum(any(_alike(word, other) for other in terms) for word in promise_words)
    return matched / len(promise_words)


def _asserted(text: str, unless: LazyPattern) -> Iterator[str]:
    """Yield the folded statements that do not match `unless`.

    Very long sentences are skipped.
    """
    own = own_words(text)
    for start, end in sentences(own):
        sentence = fold(own[start:end]).strip() if end - start <= _LONGEST else ""
        question = sentence.endswith(("?", "？"))
        if sentence and not question and not unless.search(sentence):
            yield sentence


def _with_tag(tags: Sequence[str], tag: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*tags, tag)))


def _alike(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    return first == second or (len(short) >= _PREFIX and long.startswith(short))
