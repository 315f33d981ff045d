"""Statements from clauses: what the rule table reads, told in the third person.

A clause gives one statement, with its dates, its evidence and the relation that it
shows (rows X2, B1, X14). It is refused if it addresses the listener, points to
something outside it, or lacks the day that its rule needs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from engram.core.attributes import Attribute, attribute
from engram.core.categories import category_of
from engram.core.entities import ALIAS, OWNER, relation_label
from engram.core.language import languages
from engram.core.language.dates import day_in_words, in_figures
from engram.core.language.keep_requests import after_request
from engram.core.language.languages import LazyPattern
from engram.core.language.sentences import MASK, is_doubtful, third_person
from engram.core.language.states import (
    USER,
    State,
    grammar,
    in_third_person,
    of_clause,
    states,
)
from engram.core.language.wishes import wish_statement
from engram.core.records import Candidate, Interval, Relation
from engram.core.text import normalise
from engram.extraction.rules.introductions import introduction, more_about_speaker
from engram.extraction.rules.people import (
    RelationHint,
    Relative,
    animals,
    has_open_pronoun,
    is_name,
    kinship_hint,
    names,
    person_meant,
    relation_shown,
    relatives,
)
from engram.extraction.rules.table import NAME, SPEAKERS, pattern_of, tidy, with_dates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from engram.core.policy import ExtractionPolicy
    from engram.extraction.rules.clauses import Clause, ClauseSpeaker

LONGEST = 200
"""The most characters of a statement, which is also the title of a note."""


@dataclass(frozen=True, slots=True)
class RuleStatement:
    """A candidate with the relation it gives and the types of its entities.

    `is_mention` is true if it comes from a mention, such as `our cat Pixel`, and not
    from the assertion of the clause.
    """

    candidate: Candidate
    relation: Relation | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    is_mention: bool = False


def from_clause(clause: Clause, policy: ExtractionPolicy) -> Iterator[RuleStatement]:
    """Yield the statements of one clause."""
    start = after_request(clause.text, clause.start, clause.end)
    if clause.speaker.to_bot and start is not None:
        clause = replace(clause, start=start)
    if MASK in clause.words:
        return
    if is_doubtful(clause.words):
        yield from _wish(clause, policy)  # "I'd like you to …"
        return

    introduced = _introduced(clause, policy)
    meant = person_meant(clause.text, clause.before, clause.start, clause.end)
    given = _given(clause, meant, introduces=bool(introduced))
    named = [
        one
        for one in relatives(clause.text, clause.start, clause.end)
        if not clause.is_task and (one.language == "en" or _is_subject(one, given))
    ]
    yield from introduced
    for one in named:
        yield _kinship(clause, one, policy)
    whom = [*named, *([meant] if meant else [])]
    said = [*_of_states(clause, given, whom, policy)]
    yield from said or ([] if introduced else _wish(clause, policy))


def _given(
    clause: Clause, meant: Relative | None, *, introduces: bool
) -> Sequence[State]:
    """Return what the rules read, with a name in the place of a leading `he`."""
    if clause.is_task or len(clause.words) >= LONGEST:
        return ()
    words = own = bare(clause.words)
    if meant:
        words = meant.name + words[meant.end - clause.start :]
    longer = len(words) - len(own)
    return [
        replace(
            one,
            start=max(one.start - longer, 0),
            end=len(clause.words) if one.end == len(words) else one.end - longer,
        )
        for one in of_clause(words, opens=clause.opens, introduces=introduces)
    ]


def _is_subject(one: Relative, given: Sequence[State]) -> bool:
    """Return whether a statement is about a relative; else the name may be a noun."""
    last = normalise(one.name).split()[-1:]
    return any(state.subject[-1:] == tuple(last) for state in given)


def _introduced(clause: Clause, policy: ExtractionPolicy) -> list[RuleStatement]:
    """Return the speaker's name and what follows it: `I'm Priya, 41, from Leeds`."""
    state = None if clause.is_task else introduction(clause)
    if state is None or (state.attribute == "nickname" and not clause.speaker.to_bot):
        return []
    named: list[RuleStatement] = []
    if not is_speaker_name(state.written, clause.speaker):
        label, of_language = clause.speaker.name, SPEAKERS[state.language]
        name = state.written.title() if state.written.islower() else state.written
        row = attribute(state.attribute)
        place = clause.text.find(state.written, clause.start) + len(state.written)
        is_wish = state.attribute == "nickname"
        told = (of_language.nicknamed if is_wish else of_language.named).format(
            s=label or of_language.subject,
            p=clause.speaker.possessive,
            v=name
            + (_limit(clause.text[place : clause.end], state) if is_wish else ""),
        )
        named = [
            built(
                clause.cut(clause.start, place, clause.lead),
                row if not state.needs else replace(row, sure=False),
                told,
                policy,
                hint=RelationHint(label, ALIAS, name, ()),
            )
        ]
    return named + _more(clause, state, policy)


def _limit(after: str, state: State) -> str:
    """Return the words after a name that say where or when it is used, or ''."""
    rules, words = grammar(state.language), bare(after)
    is_limit = rules.limits.match(words.lstrip()) and not rules.news.search(words)
    return third_person(words) if is_limit else ""


def _more(
    clause: Clause, state: State, policy: ExtractionPolicy
) -> list[RuleStatement]:
    """Return the statements of what follows a name or an age."""
    label, of_language = clause.speaker.name, SPEAKERS[state.language]
    found = []
    for one in more_about_speaker(clause, state):
        text = in_third_person(
            one.words,
            one.state,
            label or of_language.subject,
            of_language.possessive(label),
        )
        if one.state.attribute in _CHANGING and state.language == "en":
            text += f" (as of {day_in_words(clause.turn.occurred_at)})"
        part = clause.cut(one.start, one.end)
        found.append(built(part, attribute(one.state.attribute), text, policy))
    return found


def is_speaker_name(name: str, speaker: ClauseSpeaker) -> bool:
    """Return whether the label of the speaker has each word of a name."""
    return set(name.casefold().split()) <= set(speaker.name.casefold().split())


def built(
    clause: Clause,
    row: Attribute,
    text: str,
    policy: ExtractionPolicy,
    name: str = "",
    hint: RelationHint | None = None,
) -> RuleStatement:
    """Return a statement with its evidence, dates, confidence and relation.

    `row` gives its category and tags, `name` the person it is about, if not the
    speaker.
    """
    category = category_of(row.category)
    is_correction = clause.corrects and category.correctable
    share = 1.0 if row.sure else policy.rules_probable
    text = tidy(text)
    of_animals = dict.fromkeys(animals(text), "animal")
    about = [name]
    if not name or clause.speaker.possessive in text:
        about.append(clause.speaker.name)
    people = [name] if name and row.lasts == "birthday" else []
    if category.relates_people and hint is None:
        people += names(clause.words)
        about += people
    elif hint and category.relates_people:
        about.append(hint.object)
    about += of_animals
    candidate = Candidate(
        text=text,
        category="correction" if is_correction else row.category,
        confidence=round(policy.rules_confidence * share * clause.speaker.share, 4),
        turn_id=clause.turn.id,
        quote=clause.turn.text[clause.start : clause.end].rstrip(" .!,;"),
        about=tuple(dict.fromkeys(filter(None, about)))[: policy.max_entities],
        tags=row.tags,
        when=clause.when(),
    )
    if hint is None:
        types = {**dict.fromkeys(people, "person"), **of_animals}
        return RuleStatement(candidate, types=types)
    relation = _relation(candidate, hint, clause.when(), clause.turn.occurred_at)
    return RuleStatement(candidate, relation, {**dict(hint.kinds), **of_animals})


# -- what a clause says ----------------------------------------------------------------


def _of_states(
    clause: Clause,
    given: Sequence[State],
    named: Sequence[Relative],
    policy: ExtractionPolicy,
) -> Iterator[RuleStatement]:
    """Yield a statement for each part of a clause in which the rules read something."""
    whom: Relative | None = None
    for (start, end), read in groupby(given, lambda one: (one.start, one.end)):
        part = clause.cut(clause.start + start, clause.start + end, clause.lead)
        state = next((one for one in read if _is_usable(one, part)), None)
        if state is None:
            continue
        if not state.elided:
            whom = _whom(part, state, named)
        if state.subject != (USER,) and not _may_tell(state, whom, part):
            continue
        text = _told(part, state, whom)
        if text and len(text) < LONGEST:
            name = whom.name if whom else ""
            hint = relation_shown(state, name or clause.speaker.name, part.words)
            yield built(part, _row_of(state, part), text, policy, name, hint)
        if state.attribute == "age" and not whom:
            yield from _more(clause, state, policy)


@lru_cache(maxsize=1 << 6)
def bare(words: str) -> str:
    """Return words without the signs and fillers at their end, such as `lol`."""
    return _TRAIL.sub("", words)


_TRAIL = LazyPattern(
    r"(?:[\s.!,;:~*)]|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]"
    rf"|\b(?:{languages.any_pattern('rules', 'fillers')})(?=[\s.!,;]*$))+$",
    re.IGNORECASE,
)


def _whom(part: Clause, state: State, named: Sequence[Relative]) -> Relative | None:
    """Return the named person or animal that a part is about, or None."""
    for one in named:
        if one.start == part.start:
            return None if _AND_I.match(part.text, one.end) else one
    if state.subject[0] == USER or attribute(state.attribute).thing:
        return None
    name = _A_NAME.match(part.text, part.start, part.end)
    if name is None or not is_name(name[0].removesuffix("'s")):
        return None
    bare_name = name[0].removesuffix("'s")
    return Relative(bare_name, "", part.start, part.start + len(bare_name))


_A_NAME = LazyPattern(NAME)
_AND_I = LazyPattern(r" and I\b")


def _may_tell(state: State, whom: Relative | None, part: Clause) -> bool:
    """Return whether the statement is about somebody of the speaker's, or a thing.

    A name that nobody introduced may be a brand or of a story, so it needs a sure
    attribute and a speaker who speaks of themselves.
    """
    if state.subject[0] == USER:
        return True
    if attribute(state.attribute).thing:
        return _A_THING.match(part.words) is not None
    if whom is None:
        return False
    is_sure = attribute(state.attribute).sure
    speaker = part.speaker
    return whom.name in speaker.known or (is_sure and speaker.speaks_of_self)


def _is_usable(state: State, part: Clause) -> bool:
    """Return whether the words are whole, and have the day that their rule needs."""
    row = attribute(state.attribute)
    if state.attribute in {"name", "nickname"} and state.subject == (USER,):
        return False  # no introduction
    if state.attribute == "reminder" and not part.speaker.to_bot:
        return False
    if row.person and state.written and is_speaker_name(state.written, part.speaker):
        return False
    words = _undated(part)
    is_shown = state.written.islower() and f"the {state.written}" in words
    if category_of(row.category).taste and (is_shown or is_pointing(state.written)):
        return False
    if state.attribute in {"promise", "duty"} and part.when():  # "I'll send it today"
        words = re.sub(r"\bit\b", "", words)
    if state.attribute == "duty" and _HABITUAL.search(words):
        return False
    return is_whole(words, state.language) and _has_its_day(state, row, part)


def _undated(part: Clause) -> str:
    """Return the words of a part with another word in the place of each date."""
    words = bare(part.words)
    for date in reversed(part.dates):
        first, last = date.start - part.start, date.end - part.start
        words = f"{words[:first]}x{words[last:]}"
    return words


def is_whole(words: str, code: str = "en") -> bool:
    """Return whether words are short, and refer to nothing outside them."""
    return not _OUTSIDE[code].search(words) and len(words.split()) <= _MOST_WORDS


def is_pointing(words: str) -> bool:
    """Return whether words begin with a reference to something outside them."""
    return _POINTING.match(words) is not None


def _has_its_day(state: State, row: Attribute, part: Clause) -> bool:
    """Return whether a part names the day that its rule needs, and no past promise."""
    when, said_at = part.when(), part.turn.occurred_at
    if state.needs and part.dates:  # "I saw a film that won an Oscar last year"
        before = part.text[part.start : part.dates[0].start]
        if _OWN_CLAUSE.search(before):
            return False
    if state.needs == "ahead":
        return part.is_ahead
    if state.needs == "past":
        return when is not None and when.start <= said_at
    is_over = when is not None and when.end <= said_at
    return not (is_over and category_of(row.category).promise)


def _row_of(state: State, part: Clause) -> Attribute:
    """Return the row of a state; an event with a day ahead is planned for it."""
    row = attribute(state.attribute)
    if row.name == "date" and state.value and part.is_ahead:
        return replace(row, category="commitment")
    if category_of(row.category).promise and state.subject != (USER,):
        return replace(row, category="moment")  # what others plan is no promise
    return row


# -- told in the third person ----------------------------------------------------------


def _told(part: Clause, state: State, whom: Relative | None) -> str:
    """Return a part in the third person with its dates, or ''."""
    of_language = SPEAKERS[state.language]
    subject = part.speaker.name or of_language.subject
    is_english = state.language == "en"
    start = max(whom.end if whom and not state.elided else 0, part.start)
    raw = bare(part.text[start : part.end])
    words = with_dates(raw, start, part.dates) if is_english else raw
    if state.attribute == "reminder":
        wish = _to_remind_of(words)
        wish = third_person(wish) if is_english else wish
        told = of_language.reminded.format(s=subject, v=wish)
    elif state.elided and state.subject != (USER,) and not whom:
        return ""
    else:
        if whom:
            words = _IS.sub(" is ", words)
            words = whom.name + (words if words[:1] in "'," else f" {words.lstrip()}")
            state = replace(state, elided=False)
        elif is_english and attribute(state.attribute).slot:
            words = _WE.sub("I", words)  # "we live in Graz" is about the user too
        possessive = of_language.possessive(part.speaker.name)
        told = in_third_person(words, state, subject, possessive)
    if not told or (
        is_english and has_open_pronoun(f"{whom.name if whom else ''} {raw}")
    ):
        return ""
    return f"{told}{_time_after(part, state)}"


def _time_after(part: Clause, state: State) -> str:
    """Return the time to show after a statement, in English in words."""
    when = part.when()
    is_promise = category_of(attribute(state.attribute).category).promise
    if state.language != "en":
        return f" ({in_figures(when)})" if when and is_promise else ""
    lead = f" {part.lead.words}" if part.lead and not part.dates else ""
    if state.attribute in _CHANGING and when is None:
        lead += f" (as of {day_in_words(part.turn.occurred_at)})"
    return lead


def _to_remind_of(words: str) -> str:
    """Return what follows the request for a reminder."""
    asked = _ASKS_REMINDER.search(words)
    return (words[asked.end() :] if asked else words).strip(" ,")


_ASKS_REMINDER = LazyPattern(
    r"\b(?:me forget|(?:me )?a reminder|me|mich(?: bitte)?(?: da?ran)?(?: erinnern)?)\b",
    re.IGNORECASE,
)
_CHANGING = frozenset({"age", "weight"})
"""Attributes that are true at a date only."""
_WE = LazyPattern(r"^we\b", re.IGNORECASE)
_IS = LazyPattern(r"^'s (?=(?:an?|the|not|in|at|from|called|allergic|\d+)\b)")


# -- wishes and kinship ----------------------------------------------------------------


def _wish(clause: Clause, policy: ExtractionPolicy) -> list[RuleStatement]:
    """Return the request for a lasting behaviour of the assistant, if any (`C19`)."""
    rest = len(clause.text.strip()) - len(clause.words)
    if not clause.speaker.to_bot or (clause.is_task and rest > _FEW_CHARS):
        return []
    before = clause.text[clause.sentence : clause.start]
    if wish_statement(before.rstrip(" ,")):
        return []  # "Never …, please"
    whole = before + clause.words
    text = wish_statement(clause.words) or wish_statement(whole)  # "From now on, …"
    return [built(clause, _WISH, text, policy)] if text else []


def _kinship(clause: Clause, one: Relative, policy: ExtractionPolicy) -> RuleStatement:
    """Return the statement of a person's relation to the speaker: `my sister Anna`."""
    of_language, label = SPEAKERS[one.language], clause.speaker.name
    if one.language == "en":
        said = states(clause.words)
        is_dead = any(state.attribute == "alive" and state.over for state in said)
        be = "was" if is_dead else "is"
        text = f"{one.name} {be} {clause.speaker.possessive} {one.kin.lower()}"
    else:
        mine = clause.text[one.start : one.end - len(one.name)]
        text = in_third_person(
            f"{mine}{of_language.called} {one.name}",
            State(one.language, (USER,), "kin", ()),
            label or of_language.subject,
            of_language.possessive(label),
        )
    hint = kinship_hint(label, one.kin, one.name)
    # `My sister Anna has lived here since 2019`: a time of the life, not of the kinship
    timeless = replace(clause, dates=(), lead=None)
    statement = built(timeless, attribute("kin"), text, policy, one.name, hint)
    about = dict.fromkeys(filter(None, (one.name, label)))
    candidate = replace(statement.candidate, about=tuple(about))
    return replace(statement, candidate=candidate, is_mention=True)


def _relation(
    candidate: Candidate, hint: RelationHint, when: Interval | None, said_at: datetime
) -> Relation:
    """Return the relation that a statement gives, with the time in which it holds.

    `when` is the time in the words of the statement, which was made at `said_at`.
    """
    begins = ends = None
    if when:
        is_ahead = when.start > said_at and not hint.ended
        begins = when if is_ahead or when.role == "since" else None
        ends = when if hint.ended or when.role == "until" else None
    return Relation(
        hint.subject or OWNER,
        relation_label(hint.type),
        hint.object,
        candidate.turn_id,
        candidate.quote,
        confidence=candidate.confidence,
        ended=hint.ended,
        begins=begins,
        ends=ends,
    )


_OUTSIDE = {code: pattern_of("outside", code) for code in SPEAKERS}
_POINTING = pattern_of("pointing")
_A_THING = pattern_of("thing")
_HABITUAL = pattern_of("habitual")
_OWN_CLAUSE = pattern_of("own_clause")
_FEW_CHARS = 3
"""The most characters besides a wish in a task that is only the wish."""
_MOST_WORDS = 26
_WISH = Attribute(category="preference", tags=("instruction",), sure=False)
