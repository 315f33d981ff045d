"""Statements from clauses: what the rule table reads, told in the third person.

A clause gives one statement, with its dates, its evidence and the relation that it
shows (rows X2, B1, X14). It is refused if it addresses the listener, points to
something outside it, or lacks the day that its rule needs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engram.core.attributes import Attribute, attribute
from engram.core.categories import category_of
from engram.core.entities import ALIAS, OWNER, relation_label
from engram.core.language.date_display import in_figures
from engram.core.language.dates import day_in_words
from engram.core.language.entity_names import animals
from engram.core.language.keep_requests import after_request
from engram.core.language.sentences import (
    MASK,
    clauses,
    is_doubtful,
    sentences,
    third_person,
)
from engram.core.language.states import USER, in_third_person, of_clause, states
from engram.core.language.wishes import wish_statement
from engram.core.records import Candidate, Relation
from engram.extraction.rules.introductions import introduction, more_about_speaker
from engram.extraction.rules.objects import (
    bare,
    is_pointing,
    is_shown,
    is_untied,
    is_whole,
)
from engram.extraction.rules.people import (
    NamedSubject,
    RelationHint,
    has_open_pronoun,
    kinship_hint,
    leading_person,
    names,
    people_mentioned,
    person_meant,
    relation_shown,
)
from engram.extraction.rules.table import NAME, SPEAKERS, pattern_of, pattern_with_case
from engram.extraction.rules.wording import tidy, with_dates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from engram.core.language.states import State
    from engram.core.policy import ExtractionPolicy
    from engram.core.records import Interval
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
    if clause.speaker.to_bot:
        start = after_request(clause.text, clause.start, clause.end)
        clause = replace(clause, start=clause.start if start is None else start)
    if MASK in clause.words:
        return
    if is_doubtful(clause.words):
        yield from _wish(clause, policy)  # "I'd like you to …"
        return

    if introduced := _introduced(clause, policy):
        yield from introduced
        return

    found = [
        statement
        for part, person in _parts(clause)
        for statement in _of_part(part, person, policy)
    ]
    yield from found or _wish(clause, policy)

    if not clause.is_task:
        for person in people_mentioned(clause.text, clause.start, clause.end):
            yield _kinship(clause, person, policy)


def _introduced(clause: Clause, policy: ExtractionPolicy) -> list[RuleStatement]:
    """Return the speaker's name and what follows it: `I'm Priya, 41, from Leeds`."""
    state = None if clause.is_task else introduction(clause)
    if state is None or (state.attribute == "nickname" and not clause.speaker.to_bot):
        return []
    named: list[RuleStatement] = []
    if not is_speaker_name(state.written, clause.speaker):
        label, of_language = clause.speaker.name, SPEAKERS[state.language]
        name = state.written.title() if state.written.islower() else state.written
        is_wish = state.attribute == "nickname"
        told = (of_language.nicknamed if is_wish else of_language.named).format(
            s=label or of_language.subject, p=clause.speaker.possessive, v=name
        )
        row = attribute(state.attribute)
        place = clause.text.find(state.written, clause.start) + len(state.written)
        named = [
            built(
                _cut(clause, clause.start, place),
                row if not state.needs else replace(row, sure=False),
                told,
                policy,
                hint=RelationHint(label, ALIAS, name, ()),
            )
        ]
    return named + _more(clause, state, policy)


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
        part = replace(_cut(clause, one.start, one.end), lead=None)
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
    if category.relates_people and hint is None:
        about += names(clause.words)
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
        return RuleStatement(candidate, types=of_animals)
    relation = _relation(candidate, hint, clause.when(), clause.turn.occurred_at)
    return RuleStatement(candidate, relation, {**dict(hint.kinds), **of_animals})


# -- what a clause says ----------------------------------------------------------------


def _parts(clause: Clause) -> Iterator[tuple[Clause, NamedSubject | None]]:
    """Yield the clause with the person whom it is about, split at `and` with a verb.

    `Anna is a dentist and lives in Porto` has two parts.
    """
    person = leading_person(clause.text, clause.start, clause.end) or _pronoun(clause)
    if person is None or (not person.kin and _is_of_speaker(clause)):
        yield from _joined_statements(clause)
        return
    is_ours = person.kin or _is_known(person, clause)
    if clause.is_task or not (
        is_ours or _SPEAKS_OF_SELF.search(clause.text + clause.earlier)
    ):
        return
    start = clause.start
    for match in _AND_VERB.finditer(clause.text, person.end, clause.end):
        after = clause.text[match.end() : clause.end]
        if any(state.elided for state in of_clause(after, (USER,))):
            yield _cut(clause, start, match.start()), person
            start = match.end()
    yield _cut(clause, start, clause.end), person


def _joined_statements(
    clause: Clause,
) -> Iterator[tuple[Clause, NamedSubject | None]]:
    """Yield the clause cut at words such as `and` where both sides say something.

    The later part of `my boss is called Ben and lives in Ulm` is about Ben.
    """
    start = clause.start
    person: NamedSubject | None = None
    for match in _AND.finditer(clause.text, clause.start, clause.end):
        before = clause.text[start : match.start()]
        after = clause.text[match.end() : clause.end]
        said = of_clause(before, (USER,))
        if said and of_clause(after, (USER,)):
            yield _cut(clause, start, match.start()), person
            start = match.end()
            name = _person_of(before, said[0])
            if name and not person:
                person = NamedSubject(name, "", start, is_known=True)
    yield _cut(clause, start, clause.end), person


def _person_of(words: str, state: State) -> str | None:
    """Return the name of the relative that a part of a clause is about, or None."""
    if not _OF_THEIRS.match(words):
        return None
    if relative := _relative_named(words, state):
        return relative["name"]
    return state.written if attribute(state.attribute).person else None


_OF_THEIRS = re.compile(r"(?:my|our|meine?|unsere?)\b", re.IGNORECASE)
_AND_VERB = re.compile(r"\s(?:and|und)\s(?=\w+[st]\b)")
"""The words before another verb of the third person."""
_AND = re.compile(r"\s(?:and|und)\s", re.IGNORECASE)


def _is_of_speaker(clause: Clause) -> bool:
    """Return whether a clause that begins with a capital is about the speaker."""
    given = of_clause(clause.words, opens=_opens_sentence(clause))
    return any(state.subject == (USER,) for state in given)


def _is_known(person: NamedSubject, clause: Clause) -> bool:
    return person.is_known or person.name in clause.speaker.known


def _cut(clause: Clause, start: int, end: int) -> Clause:
    dates = tuple(
        date for date in clause.dates if start <= date.start and date.end <= end
    )
    return replace(clause, start=start, end=end, dates=dates)


def _of_part(
    clause: Clause, person: NamedSubject | None, policy: ExtractionPolicy
) -> Iterator[RuleStatement]:
    """Yield the statement of a clause, after the kinship of the person it names."""
    if clause.is_task or len(clause.words) >= LONGEST:
        return
    if person and person.kin and clause.start <= person.end:
        yield _kinship(clause, person, policy)

    whole = clause
    if aside := _ASIDE.search(clause.text, clause.start, clause.end):
        clause = _cut(clause, clause.start, aside.start())
    start = max(person.end if person else 0, clause.start)
    raw = bare(clause.text, start, clause.end)
    state = _state_of(clause, person, start, raw)
    if state is None:
        return
    if cut := _end_of_value(state, raw):
        raw, clause = raw[:cut], _cut(clause, clause.start, start + cut)
    words = _after_name(person, raw)
    if relative := _relative_named(words, state):
        yield _kinship_in_language(clause, relative, state, policy)
        person = NamedSubject(relative["name"], "", start, is_known=True)
        words = words[relative.start("name") :]
    text = _told(words, raw, start, state, clause, person)
    name = person.name if person else ""
    if text and len(text) < LONGEST:
        hint = relation_shown(state, name or clause.speaker.name, words)
        yield built(clause, _row_of(state, clause), text, policy, name, hint)
        if state.attribute == "age" and not person:
            yield from _more(whole, state, policy)


def _state_of(
    clause: Clause, person: NamedSubject | None, start: int, raw: str
) -> State | None:
    """Return what a clause says, `raw` after the name of a person, or None."""
    elided = (USER,) if not person and _continues(clause, raw) else ()
    opens = _opens_sentence(clause)
    given = of_clause(_after_name(person, raw), elided, opens=opens)
    if person and not (person.kin or _is_known(person, clause)):  # it may be a brand
        given = tuple(one for one in given if attribute(one.attribute).sure)
    return next((one for one in given if _is_usable(one, raw, start, clause)), None)


def _end_of_value(state: State, raw: str) -> int:
    """Return where a name ends in "I live in Ulm and laugh at the stairs", or 0."""
    if state.attribute == "age" and "," in raw:
        return raw.index(",")
    is_one = attribute(state.attribute).named and not state.listed
    cut = _AFTER_NAME.search(raw) if is_one else None
    return cut.start() if cut else 0


def _continues(clause: Clause, raw: str) -> bool:
    """Return whether a clause without a subject goes on about the speaker.

    That is after `and`, if the words before it say something of them too.
    """
    joined = _AND_BEFORE.search(clause.text, 0, clause.start)
    if joined is None or _FINITE.search(raw):
        return False
    begun = [at for at, end in sentences(clause.text) if at <= clause.start < end]
    before = clause.text[begun[0] if begun else 0 : joined.start()]
    last = [before[first:end] for first, end in clauses(before, 0, len(before))][-1:]
    said = of_clause(last[0], opens=True, introduces=True) if last else ()
    return any(one.subject == (USER,) and attribute(one.attribute).slot for one in said)


_AND_BEFORE = re.compile(
    r"(?:\s(?:and|but|und|aber)|,)\s(?:just |now )?$", re.IGNORECASE
)


def _is_usable(state: State, raw: str, start: int, clause: Clause) -> bool:
    """Return whether the words are whole, and have the day that their rule needs."""
    row = attribute(state.attribute)
    if state.attribute in {"name", "nickname"} and state.subject == (USER,):
        return False  # no introduction
    if state.attribute == "reminder" and not clause.speaker.to_bot:
        return False
    if row.person and state.written and is_speaker_name(state.written, clause.speaker):
        return False
    if category_of(row.category).taste and (
        is_pointing(state.written) or is_shown(raw, state.written)
    ):
        return False
    return (
        is_whole(raw, state.language)
        and _has_its_day(state, row, clause)
        and not (row.name == "duty" and _HABITUAL.search(raw))
        and not _is_untied(row, raw, start, clause)
    )


def _has_its_day(state: State, row: Attribute, clause: Clause) -> bool:
    """Return whether a clause names the day that its rule needs, and no past promise."""
    when, said_at = clause.when(), clause.turn.occurred_at
    if state.needs == "ahead":
        return when is not None and when.end > said_at
    if state.needs == "past":
        return when is not None and when.start <= said_at
    is_over = when is not None and when.end <= said_at
    return not (is_over and category_of(row.category).promise)


def _is_untied(row: Attribute, raw: str, start: int, clause: Clause) -> bool:
    """Return whether the words after the subject refer to something outside them."""
    subject = _SPEAKER.match(raw)
    after = subject.end() if subject else 0
    rest = raw[after:]
    if category_of(row.category).promise and clause.when():  # "I'll send it by Monday"
        rest = _DOES_IT.sub(lambda found: "x" * len(found.group()), rest)
    is_annual = row.name == "birthday"
    return is_untied(rest, start + after, clause.dates, is_annual=is_annual)


def _row_of(state: State, clause: Clause) -> Attribute:
    """Return the row of a state; an event with a day ahead is planned for it."""
    row = attribute(state.attribute)
    when = clause.when()
    is_ahead = when is not None and when.end > clause.turn.occurred_at
    if row.name == "date" and state.value and is_ahead:
        return replace(row, category="commitment")
    if category_of(row.category).promise and state.subject != (USER,):
        return replace(row, category="moment")  # what others plan is no promise
    return row


def _told(
    words: str,
    raw: str,
    start: int,
    state: State,
    clause: Clause,
    person: NamedSubject | None,
) -> str:
    """Return a clause in the third person with its dates, or ''."""
    if state.language == "en":
        return _told_in_english(raw, start, state, clause, person)
    of_language, name = SPEAKERS[state.language], clause.speaker.name
    subject = name or of_language.subject
    if state.attribute == "reminder":
        told = of_language.reminded.format(s=subject, v=_to_remind_of(raw).strip(" ,"))
    elif person:
        told = words
    else:
        told = in_third_person(words, state, subject, of_language.possessive(name))
    when = clause.when()
    is_promise = category_of(attribute(state.attribute).category).promise
    return f"{told} ({in_figures(when)})" if told and when and is_promise else told


def _told_in_english(
    raw: str, start: int, state: State, clause: Clause, person: NamedSubject | None
) -> str:
    """Return an English clause in the third person, with dates and pronouns resolved."""
    of_language, name = SPEAKERS["en"], clause.speaker.name
    subject = name or of_language.subject
    if has_open_pronoun(raw, person.name if person else ""):
        return ""
    dated = with_dates(raw, start, clause.dates)
    if state.attribute == "reminder":
        wish = third_person(_to_remind_of(dated)).strip(" ,")
        told = of_language.reminded.format(s=subject, v=wish)
    else:
        if attribute(state.attribute).slot:  # "we live in Graz" is about the user too
            dated = _WE.sub("I", dated)
        told = in_third_person(
            _after_name(person, dated), state, subject, of_language.possessive(name)
        )
    if told and clause.lead and not clause.dates:
        told = f"{told} {clause.lead.words}"
    if told and state.attribute in _CHANGING and clause.when() is None:
        told = f"{told} (as of {day_in_words(clause.turn.occurred_at)})"
    return told


def _to_remind_of(words: str) -> str:
    """Return what follows the request for a reminder."""
    asked = _ASKS_REMINDER.search(words)
    return words[asked.end() :] if asked else words


_ASKS_REMINDER = re.compile(
    r"\b(?:me forget|(?:me )?a reminder|me|mich(?: bitte)?(?: da?ran)?(?: erinnern)?)\b",
    re.IGNORECASE,
)
_CHANGING = frozenset({"age", "weight"})
"""Attributes that are true at a date only."""


def _after_name(person: NamedSubject | None, rest: str) -> str:
    """Return the rest of a clause after the name of its person, if it has one."""
    if person is None:
        return rest
    rest = _IS.sub(" is ", rest)
    return person.name + (rest if rest.startswith("'") else " " + rest.lstrip(" ,"))


_WE = re.compile(r"^we\b", re.IGNORECASE)
_IS = re.compile(r"^'s (?=(?:an?|the|not|in|at|from|called|allergic|\d+)\b)")


def _relative_named(words: str, state: State) -> re.Match[str] | None:
    """Return the relative and the name of a subject such as `meine Schwester Clara`."""
    is_relative = len(state.subject) == _RELATIVE and state.subject[0] == USER
    found = _RELATIVE_NAMED.match(words) if is_relative else None
    return found if state.language != "en" else None


_RELATIVE = 3
_RELATIVE_NAMED = re.compile(rf"(?P<whose>\S+) (?P<kin>\S+) (?P<name>{NAME})")


def _kinship_in_language(
    clause: Clause, relative: re.Match[str], state: State, policy: ExtractionPolicy
) -> RuleStatement:
    """Return the name of a relative: `die Schwester der Person heißt Clara`."""
    of_language, label = SPEAKERS[state.language], clause.speaker.name
    named = (
        f"{relative['whose']} {relative['kin']} {of_language.called} {relative['name']}"
    )
    text = in_third_person(
        named, state, label or of_language.subject, of_language.possessive(label)
    )
    hint = kinship_hint(label, relative["kin"], relative["name"])
    timeless = replace(clause, dates=(), lead=None)
    statement = built(timeless, _KINSHIP, text, policy, relative["name"], hint)
    return replace(statement, is_mention=True)


def _opens_sentence(clause: Clause) -> bool:
    """Return whether only fillers precede a clause in its sentence.

    "My boss was ill, quit her job" is about the boss.
    """
    starts = (
        start for start, end in sentences(clause.text) if start <= clause.start < end
    )
    first = next(clauses(clause.text, next(starts, clause.start), clause.end), None)
    return first is not None and clause.start < first[1]


def _pronoun(clause: Clause) -> NamedSubject | None:
    """Return the person of a leading `he` or `she`, if it is certain."""
    match = _HE_OR_SHE.match(clause.text, clause.start, clause.end)
    name = match and person_meant(
        match.group(), clause.text[clause.before : clause.start], clause.earlier
    )
    if match is None or not name:
        return None
    return NamedSubject(name, "", match.end(), is_known=True)


def _wish(clause: Clause, policy: ExtractionPolicy) -> list[RuleStatement]:
    """Return the request for a lasting behaviour of the assistant, if any (`C19`)."""
    rest = len(clause.text.strip()) - len(clause.words)
    if not clause.speaker.to_bot or (clause.is_task and rest > _FEW_CHARS):
        return []
    starts = [at for at, end in sentences(clause.text) if at <= clause.start < end]
    before = clause.text[starts[0] : clause.start] if starts else ""
    if wish_statement(before.rstrip(" ,")):
        return []  # "Never …, please"
    whole = before + clause.words
    text = wish_statement(clause.words) or wish_statement(whole)  # "From now on, …"
    return [built(clause, _WISH, text, policy)] if text else []


def _kinship(
    clause: Clause, person: NamedSubject, policy: ExtractionPolicy
) -> RuleStatement:
    """Return the statement of a person's relation to the speaker: `my sister Anna`."""
    dead = any(one.attribute == "alive" and one.over for one in states(clause.words))
    be = "was" if dead else "is"
    text = f"{person.name} {be} {clause.speaker.possessive} {person.kin.lower()}"
    hint = kinship_hint(clause.speaker.name, person.kin, person.name)
    # `My sister Anna has lived here since 2019`: a time of the life, not of the kinship
    timeless = replace(clause, dates=(), lead=None)
    statement = built(timeless, _KINSHIP, text, policy, person.name, hint)
    about = dict.fromkeys(filter(None, (person.name, clause.speaker.name)))
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


_AFTER_NAME = pattern_with_case("after_name")
_ASIDE = pattern_of("aside")
_HABITUAL = pattern_of("habitual")
_DOES_IT = re.compile(r"\s*\w+ (?:it|this|that)(?= \w)", re.IGNORECASE)
_FINITE = re.compile(r"\b(?:is|was|are|has|ist|war|hat)\b", re.IGNORECASE)
_HE_OR_SHE = pattern_of("he_or_she")
_SPEAKS_OF_SELF = pattern_of("speaks_of_self")
_SPEAKER = re.compile(r"\s*(?:i|we)(?:['’]\w+)?\b", re.IGNORECASE)
_FEW_CHARS = 3
"""The most words besides a wish in a task that is only the wish."""
_WISH = Attribute(category="preference", tags=("instruction",), sure=False)
_KINSHIP = attribute("family")
