"""The offline extractor: candidates from a conversation without a model (rows X2, C3,
X17).

Precision before recall. A turn is read sentence by sentence and clause by clause. A
clause that begins with a known assertion of speakers about themselves, or about a named
person, becomes a statement in the third person, with its dates resolved and the clause
as the quote. Questions, hedges, conditions, mockery, quotations, role-play and pasted
text give nothing; the turns themselves stay searchable.

Turns of the user are read, and those of an assistant whose speaker label is a person's
name (an imported conversation between two people), the latter with less confidence.
What an assistant says about the user is no evidence. `about` names the subject first;
empty means the owner of the vault.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.entities import ALIAS, OWNER, name_key, relation_label
from engram.core.language import languages
from engram.core.language.date_display import in_figures
from engram.core.language.dates import day_in_words, spans
from engram.core.language.entity_names import animals
from engram.core.language.keep_requests import (
    after_request,
    language_of_request,
    words_to_keep,
)
from engram.core.language.promises import as_ahead
from engram.core.language.retraction import withdrawals
from engram.core.language.role_play import played
from engram.core.language.sentences import (
    MASK,
    asserted,
    clauses,
    conjugated,
    is_doubtful,
    is_game,
    is_taken_back,
    is_task,
    plain,
    refusal,
    sentences,
    third_person,
)
from engram.core.language.state_subjects import USER
from engram.core.language.state_telling import told
from engram.core.language.state_words import reading_of
from engram.core.language.states import in_context, states, with_subject
from engram.core.language.wishes import wish_statement
from engram.core.language.words import stop_words_by_language
from engram.core.language.words import words as words_of
from engram.core.records import Candidate, Extraction, Relation
from engram.extraction.rules.clauses import Clause, ClauseSpeaker, clauses_of
from engram.extraction.rules.introductions import introduction
from engram.extraction.rules.languages import AHEAD, other_languages
from engram.extraction.rules.objects import (
    NAME_ONLY,
    bare,
    fits,
    is_apart,
    is_pointing,
    is_untied,
    is_whole,
    shortened,
)
from engram.extraction.rules.people import (
    NamedSubject,
    RelationHint,
    amid,
    leading_person,
    name_given,
    names,
    people_mentioned,
    person_meant,
    relation_hint,
    relatives,
    resolved_pronouns,
)
from engram.extraction.rules.table import (
    REMEMBER,
    Rule,
    continued_rules,
    other_rules,
    pattern_of,
    speaker_rules,
)
from engram.extraction.rules.wording import lowered, reworded, tidy, with_dates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from engram.core.language.retraction import Withdrawal
    from engram.core.language.states import State
    from engram.core.policy import ExtractionPolicy
    from engram.core.records import Interval, Turn
    from engram.extraction.rules.introductions import Introduction
    from engram.extraction.rules.languages import LanguageRules

EXTRACTOR = "rules/1"


def extract(
    turns: Sequence[Turn],
    policy: ExtractionPolicy,
    before: Sequence[Turn] = (),
    people: Collection[str] = (),
) -> Extraction:
    """Return the candidates that the rules find in `turns`, in their order (`X2`, `C3`).

    `before` are the turns just before them. They show whether a role is played and whom
    a name or pronoun means, and give no candidates. `people` are the names of persons
    that are known, of whom a plain name is enough. The result has at most
    `policy.max_facts` candidates, those of the highest confidence (at most
    `policy.rules_confidence`), each statement once; at most `policy.max_relations`
    relations; the types of the named entities (`B1`); and the count of each reason of
    refusal in `dropped`.
    """
    dropped: dict[str, int] = {}
    found: list[Candidate] = []
    relations: dict[tuple[str, str, str, bool], Relation] = {}
    types: dict[str, str] = {}
    seen: set[str] = set()
    heard = [*before, *turns]
    to_bot = not any(
        turn.role == "assistant" and _has_person_label(turn) for turn in heard
    )
    known = relatives(turn.text for turn in heard if turn.role == "user").union(people)
    asked_before = ["", *(_asked(turn) for turn in heard)][len(before) :]
    read = tuple(_in_order(heard))[len(before) :]
    for (turn, in_play, earlier), asked in zip(read, asked_before, strict=False):
        if in_play:
            _count(dropped, "played")
            continue
        speaker = _speaker(turn, policy, to_bot=to_bot, known=known)
        if speaker is None:
            continue
        if speaker.name:
            types[speaker.name] = "person"
        for statement in _from_turn(turn, policy, dropped, speaker, earlier, asked):
            one = statement.candidate
            if _is_undone(one, turn):
                _count(dropped, "undone")
                continue
            types = {**statement.types, **types, **_of_animals(statement.types)}
            if statement.relation:
                relations.setdefault(
                    _relation_key(statement.relation), statement.relation
                )
            if one.text.casefold() in seen:
                _count(dropped, "repeated")
                continue
            seen.add(one.text.casefold())
            found.append(one)
    if len(found) > policy.max_facts:
        dropped["too many"] = len(found) - policy.max_facts
    return Extraction(
        _surest(found, policy.max_facts),
        EXTRACTOR,
        dropped,
        tuple(relations.values())[: policy.max_relations],
        types,
    )


def _is_undone(candidate: Candidate, turn: Turn) -> bool:
    """Whether other words of the turn say that a change did not last, or is long ago."""
    told = states(candidate.text)
    return len(in_context(told, turn.text, candidate.quote)) < len(told)


def _of_animals(types: Mapping[str, str]) -> dict[str, str]:
    """The types of animals, which a sentence about their home takes for persons."""
    return {name: kind for name, kind in types.items() if kind == "animal"}


def _relation_key(relation: Relation) -> tuple[str, str, str, bool]:
    return (
        name_key(relation.subject),
        relation.type,
        name_key(relation.object),
        relation.ended,
    )


def _surest(candidates: Sequence[Candidate], most: int) -> tuple[Candidate, ...]:
    """Return the `most` candidates of the highest confidence, in their order."""
    places = sorted(
        range(len(candidates)),
        key=lambda place: (-candidates[place].confidence, place),
    )
    return tuple(candidates[place] for place in sorted(places[:most]))


def united(found: Sequence[Extraction]) -> Extraction:
    """Return extractions of successive turns as one; the first type of an entity counts."""
    dropped: Counter[str] = Counter()
    types: dict[str, str] = {}
    for one in found:
        dropped.update(one.dropped)
        types = {**one.types, **types, **_of_animals(one.types)}
    candidates = tuple(candidate for one in found for candidate in one.candidates)
    relations = tuple(relation for one in found for relation in one.relations)
    return Extraction(candidates, EXTRACTOR, dropped, relations, types)


def _in_order(heard: Sequence[Turn]) -> Iterator[tuple[Turn, bool, str]]:
    """Each turn, whether a role is played in it, and the text before it.

    A name or a pronoun of the turn may refer to that text.
    """
    earlier = ""
    for turn, in_play in zip(heard, played(heard), strict=True):
        yield turn, in_play, earlier
        if in_play:
            earlier = ""
        elif turn.role == "user" or (
            turn.role == "assistant" and _has_person_label(turn)
        ):
            earlier = plain(turn.text) if len(turn.text) <= _LONGEST else ""
        else:
            earlier = earlier and f"{earlier}\n{amid(turn.text)}"


def _asked(turn: Turn) -> str:
    """What an assistant said, which the next turn may answer."""
    return turn.text if turn.role == "assistant" and len(turn.text) < _LONGEST else ""


def _count(dropped: dict[str, int], reason: str) -> None:
    dropped[reason] = dropped.get(reason, 0) + 1


# Speakers.

_NO_PERSON = pattern_of("no_person")


def is_person(speaker: str) -> bool:
    """Whether a speaker label is a person's name: `Caroline` is, `assistant` and
    `gpt-5` are not.
    """
    return (
        bool(speaker.strip())
        and speaker.strip()[0].isalpha()
        and not _NO_PERSON.search(speaker)
    )


def _has_person_label(turn: Turn) -> bool:
    """Whether the label of a turn is a person's name and no persona."""
    is_persona = (
        turn.persona is not None
        and turn.persona.casefold() == turn.speaker.strip().casefold()
    )
    return is_person(turn.speaker) and not is_persona


def _speaker(
    turn: Turn, policy: ExtractionPolicy, *, to_bot: bool, known: frozenset[str]
) -> ClauseSpeaker | None:
    if turn.role == "user":
        is_named = turn.group or is_person(turn.speaker)
        name = turn.speaker.strip() if is_named else ""
        return ClauseSpeaker(name, to_bot, 1.0, known)
    if turn.role == "assistant" and _has_person_label(turn):
        return ClauseSpeaker(
            turn.speaker.strip(), to_bot=False, share=policy.rules_other, known=known
        )
    return None


# From a turn to clauses.


@dataclass(frozen=True, slots=True)
class _Statement:
    """A candidate with the relation it gives and the types of its entities."""

    candidate: Candidate
    relation: Relation | None = None
    types: Mapping[str, str] = field(default_factory=dict)


def _from_turn(
    turn: Turn,
    policy: ExtractionPolicy,
    dropped: dict[str, int],
    speaker: ClauseSpeaker,
    earlier: str,
    asked: str,
) -> Iterator[_Statement]:
    """The statements of a turn; `asked` is what the assistant said just before it.

    A statement that the next sentence takes back is left out, and so are preferences
    after mockery.
    """
    if len(turn.text) > policy.rules_turn:
        _count(dropped, "pasted")
        return
    taken_back = {one.start: one for one in withdrawals(turn.text)}
    if is_game(_in_earnest(turn.text, taken_back.values())):
        _count(dropped, "not in earnest")
        return

    whole = _whole(turn, speaker, earlier)
    pending: list[_Statement] = []
    made: list[_Statement] = []
    before, is_mocking = 0, False
    for first, last in sentences(whole.text):
        withdrawal = taken_back.get(first)
        if pending and (withdrawal or is_taken_back(whole.text[first:last])):
            _count(dropped, "taken back")
            pending = []
        made += pending
        yield from pending

        start = first
        if withdrawal:
            start = withdrawal.cut if withdrawal.bare else withdrawal.after
            start += len(whole.text[start:last]) - len(whole.text[start:last].lstrip())
        start, end = asserted(whole.text, start, last)
        sentence = replace(whole, start=start, end=end, before=before)
        before = first

        reason = _sentence_refusal(sentence, last - first, policy)
        if reason:
            _count(dropped, reason)
        is_mocking = is_mocking or reason == "mockery"
        pending = _from_sentence(
            sentence, asked, policy, reason=reason, is_mocking=is_mocking
        )
    made += pending
    yield from pending
    if not taken_back:
        yield from _kept_as_asked(whole, made, policy)


def _whole(turn: Turn, speaker: ClauseSpeaker, earlier: str) -> Clause:
    """Return the whole turn as one clause, from which its sentences are cut."""
    text = plain(turn.text)
    dates = spans(as_ahead(text.replace(MASK, " ")), turn.occurred_at)
    return Clause(
        turn, speaker, text, dates=dates, earlier=earlier, is_task=is_task(text)
    )


def _sentence_refusal(sentence: Clause, length: int, policy: ExtractionPolicy) -> str:
    """Return why no clause of a sentence is read, or ''.

    `length` is that of the sentence with the parts that assert nothing.
    """
    return "too long" if length > policy.rules_sentence else refusal(sentence.words)


def _from_sentence(
    sentence: Clause,
    asked: str,
    policy: ExtractionPolicy,
    *,
    reason: str,
    is_mocking: bool,
) -> list[_Statement]:
    """Return the statements of a sentence, first the name of the speaker.

    A sentence with a `reason` of refusal gives at most that name, and only a question
    gives it.
    """
    introduced: list[_Statement] = []
    if reason in {"", "question"}:
        introduced += _introduced(sentence, asked, policy, is_question=bool(reason))
    if reason:
        return introduced

    quotes = {one.candidate.quote for one in introduced}
    return introduced + [
        one
        for clause in clauses_of(sentence)
        for one in _from_clause(clause, policy)
        if not (is_mocking and category_of(one.candidate.category).taste)
        and one.candidate.quote not in quotes
    ]


def _in_earnest(text: str, taken_back: Iterable[Withdrawal]) -> str:
    """The text without the sentences that take something back."""
    for one in taken_back:
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text


def _introduced(
    sentence: Clause, asked: str, policy: ExtractionPolicy, *, is_question: bool
) -> Iterator[_Statement]:
    """The name that the speaker gives themselves, with the relation that says so.

    A question may begin with it: `I'm Jonas, can you help me?`
    """
    if sentence.is_task:
        return
    starts = [clause.start for clause in clauses_of(sentence)]
    found = introduction(sentence.text, sentence.start, sentence.end, starts, asked)
    if found is None or not _is_news(found, sentence, is_question=is_question):
        return

    clause = replace(sentence, start=found.start, end=found.end)
    if MASK not in clause.words and not _is_read_otherwise(found, clause, policy):
        yield _naming(found, clause, policy)


def _is_news(found: Introduction, sentence: Clause, *, is_question: bool) -> bool:
    """Tell whether an introduction says something new to the one who listens.

    A wish is for an assistant, and a name in the speaker's label is known. In a
    question, a question of its own must follow.
    """
    if found.is_wish and not sentence.speaker.to_bot:
        return False

    rest = sentence.text[found.end : sentence.end]
    if is_question and not (rest[:1] in ",;" and len(rest.split()) > _QUESTION_WORDS):
        return False
    return not _is_own_name(found.name, sentence.speaker)


def _is_own_name(name: str, speaker: ClauseSpeaker) -> bool:
    """Tell whether the label of the speaker has each word of a name."""
    return set(name.casefold().split()) <= set(speaker.name.casefold().split())


def _is_read_otherwise(
    found: Introduction, clause: Clause, policy: ExtractionPolicy
) -> bool:
    """Tell whether a rule reads the words of an uncertain introduction."""
    is_likely = found.is_sure or found.is_backed
    return not is_likely and bool(_of_speaker(clause, policy))


def _naming(
    found: Introduction, clause: Clause, policy: ExtractionPolicy
) -> _Statement:
    """Return the statement of the speaker's name, with the relation that says so."""
    label = clause.speaker.name
    subject = languages.texts("extraction", "subject").get(found.code, "the user")
    text = found.template.format(
        s=label or subject, p=clause.speaker.possessive, o=found.name
    )

    rule = _CALLED if found.is_wish else _NAME
    if not found.is_sure:
        rule = replace(rule, strength="probable")
    hint = RelationHint(label, ALIAS, found.name, ())
    return _built(clause, rule, text, policy, hint=hint)


def _from_clause(clause: Clause, policy: ExtractionPolicy) -> Iterator[_Statement]:
    """The statements of one clause."""
    if clause.speaker.to_bot:
        start = after_request(clause.text, clause.start, clause.end)
        clause = replace(clause, start=clause.start if start is None else start)
    if MASK in clause.words or is_doubtful(clause.words):
        return

    found = _of_speaker(clause, policy) or _of_named(clause, policy)
    if not found:
        found = list(_in_other_language(clause, policy)) or _wish(clause, policy)
    yield from found or list(_change_of_state(clause, policy))

    if not clause.is_task:
        for person in people_mentioned(clause.text, clause.start, clause.end):
            yield _kinship(clause, person, policy)


def _wish(clause: Clause, policy: ExtractionPolicy) -> list[_Statement]:
    """Return the request for a lasting behaviour of the assistant in a clause (`C19`)."""
    rest = len(clause.text.strip()) - len(clause.words)
    if not clause.speaker.to_bot or (clause.is_task and rest > _FEW_CHARS):
        return []
    text = wish_statement(clause.words)
    return [_built(clause, _WISH, text, policy)] if text else []


def _of_speaker(clause: Clause, policy: ExtractionPolicy) -> list[_Statement]:
    """Return the statement of a speaker about themselves, also after `and` without `I`."""
    found = list(_by_first_rule(clause, speaker_rules(), clause.start, policy))
    if not found and clause.text.endswith("and ", 0, clause.start):
        found = list(_by_first_rule(clause, continued_rules(), clause.start, policy))
    return found


def _of_named(clause: Clause, policy: ExtractionPolicy) -> list[_Statement]:
    """Return the statement about a named person, or the name of the one before."""
    found: list[_Statement] = []
    person = leading_person(clause.text, clause.start, clause.end) or _pronoun_subject(
        clause
    )
    has_speaker = _SPEAKS_OF_SELF.search(clause.text + clause.earlier)
    is_known = person is not None and person.name in clause.speaker.known
    if person and (has_speaker or is_known) and not clause.is_task:
        found = list(_about_person(clause, person, policy))
    if found:
        return found

    whose = name_given(clause.text, clause.before, clause.start, clause.end)
    if whose:
        text = f"{clause.speaker.possessive} {whose}"
        return [_built(clause, _NAMED, text, policy)]
    return []


_SPEAKS_OF_SELF = pattern_of("speaks_of_self")


def _pronoun_subject(clause: Clause) -> NamedSubject | None:
    """The person meant by `he` or `she` at the beginning of the clause, if certain."""
    found = _HE_OR_SHE.match(clause.text, clause.start, clause.end)
    name = found and person_meant(
        found.group(), clause.text[clause.before : clause.start], clause.earlier
    )
    return (
        NamedSubject(name, "", found.end(), is_known=True) if found and name else None
    )


_HE_OR_SHE = pattern_of("he_or_she")


def _by_first_rule(
    clause: Clause,
    rules: Sequence[Rule],
    place: int,
    policy: ExtractionPolicy,
    subject: str = "",
) -> Iterator[_Statement]:
    """The statement of the first rule that reads the clause from `place` on."""
    for rule in rules:
        found = rule.pattern.match(clause.text, place, clause.end)
        if not found or (rule.to_bot and not clause.speaker.to_bot):
            continue
        if statement := _candidate(
            clause, rule, found, policy, subject
        ) or _up_to_aside(clause, rule, found, policy, subject):
            yield statement
            return


def _up_to_aside(
    clause: Clause,
    rule: Rule,
    found: re.Match[str],
    policy: ExtractionPolicy,
    subject: str,
) -> _Statement | None:
    """The statement up to an aside that cannot be read.

    `My favourite band is Muse, saw them live twice`.
    """
    aside = _ASIDE.search(clause.text, found.end(), clause.end)
    if aside is None:
        return None
    dates = tuple(date for date in clause.dates if date.end <= aside.start())
    return _candidate(
        replace(clause, end=aside.start(), dates=dates), rule, found, policy, subject
    )


_ASIDE = pattern_of("aside")
"""An aside after a comma that begins no list; a number may be another date."""


def _about_person(
    clause: Clause, person: NamedSubject, policy: ExtractionPolicy
) -> Iterator[_Statement]:
    """What is said of a named person.

    A name alone may be a brand, so without kinship only sure rules apply.
    """
    if person.kin:
        yield _kinship(clause, person, policy)
    place = person.end
    while place < clause.end and clause.text[place] in ", ":
        place += 1
    is_known = (
        person.is_known or bool(person.kin) or person.name in clause.speaker.known
    )
    rules = [rule for rule in other_rules() if is_known or rule.strength == "sure"]
    for start, end in _predicates(clause.text, place, clause.end):
        dates = tuple(
            date for date in clause.dates if start <= date.start and date.end <= end
        )
        part = replace(clause, end=end, dates=dates)
        if start > place:
            part = replace(part, start=start)
        yield from _by_first_rule(part, rules, start, policy, person.name)


def _predicates(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of `text[start:end]` that `and` with a verb divides.

    `is a dentist and lives in Porto` has two.
    """
    for found in _AND_ALSO.finditer(text, start, end):
        yield start, found.start()
        start = found.end()
    yield start, end


_AND_ALSO = pattern_of("and_also")


def _kinship(
    clause: Clause, person: NamedSubject, policy: ExtractionPolicy
) -> _Statement:
    """The statement of a person's relation to the speaker: `my sister Anna`."""
    text = f"{person.name} is {clause.speaker.possessive} {person.kin.lower()}"
    hint = relation_hint(_KINSHIP, person.name, clause.speaker.name, person.kin, "")
    return _built(clause, _KINSHIP, text, policy, person.name, hint)


# From a clause to a statement.


def _candidate(
    clause: Clause,
    rule: Rule,
    found: re.Match[str],
    policy: ExtractionPolicy,
    other_name: str,
) -> _Statement | None:
    place, when = found.end(), clause.when()
    raw = shortened(rule.object_kind, bare(clause.text, place, clause.end))
    if not _is_usable(clause, rule, raw, place, when):
        return None
    if other_name and _SPEAKS_OF_SELF.search(raw):
        return None
    object_ = _object(clause, raw, place)
    if object_ is None:
        return None

    words = {name: found.groupdict().get(name) or "" for name in "vwx"}
    text = _filled(rule, clause, words, object_, other_name)
    if rule.as_of and when is None:
        text += f" (as of {day_in_words(clause.turn.occurred_at)})"
    if len(text) >= _LONGEST:
        return None

    hint = relation_hint(
        rule,
        other_name or clause.speaker.name,
        clause.speaker.name,
        words["w"] or words["x"],
        raw,
    )
    return _built(clause, rule, text, policy, other_name, hint)


def _is_usable(
    clause: Clause, rule: Rule, raw: str, place: int, when: Interval | None
) -> bool:
    """Whether a rule's object is whole, fits it, and holds all dates of the clause.

    `place` is where the object begins.
    """
    if not is_whole(raw) or not _fits(rule, raw, when, clause):
        return False
    if when and category_of(rule.category).promise:
        raw = _DOES_IT.sub(lambda found: "x" * len(found.group()), raw)
    is_annual = _ANNUAL.search(clause.words) is not None
    return not is_untied(raw, place, clause.dates, is_annual=is_annual)


def _object(clause: Clause, raw: str, place: int) -> str | None:
    """The object in the third person with its dates and pronouns resolved.

    None if a pronoun in it refers to no named person.
    """
    names_meant = resolved_pronouns(
        raw,
        clause.text[clause.start : place],
        clause.text[clause.before : clause.start],
    )
    if names_meant is None:
        return None

    text = reworded(raw, place, clause.dates, clause.turn.occurred_at)
    for pronoun, name in names_meant.items():
        text = re.sub(rf"\b{pronoun}\b", name, text)
    if clause.lead is None or clause.dates:
        return text
    return (
        f"{text} ({clause.lead.words})"
        if is_apart(text)
        else f"{text} {clause.lead.words}"
    )


def _filled(
    rule: Rule, clause: Clause, words: Mapping[str, str], object_: str, other_name: str
) -> str:
    """The template of a rule with the subject, the matched words and the object."""
    x = words["x"]
    return rule.template.format(
        s=other_name or clause.speaker.name or "the user",
        p=clause.speaker.possessive,
        v=conjugated(words["v"]) if words["v"] else "",
        w=third_person(lowered(words["w"])),
        x=third_person(lowered(x) if x.casefold().startswith("my ") else x),
        o=object_,
    )


_ANNUAL = pattern_of("annual")
_DOES_IT = pattern_of("does_it")
_LONGEST = 200
"""Characters of a statement, which is a note's title as well."""


def _built(
    clause: Clause,
    rule: Rule,
    text: str,
    policy: ExtractionPolicy,
    other_name: str = "",
    hint: RelationHint | None = None,
) -> _Statement:
    share = {"sure": 1.0, "probable": policy.rules_probable, "weak": policy.rules_weak}[
        rule.strength
    ]
    first = (
        (other_name, clause.speaker.name)
        if "{p}" in rule.template or not other_name
        else (other_name,)
    )
    named = (
        names(clause.words)
        if category_of(rule.category).relates_people and rule is not _KINSHIP
        else ()
    )
    text = tidy(text)
    of_animals = dict.fromkeys(animals(text), "animal")
    one = Candidate(
        text=text,
        category="correction"
        if clause.corrects and category_of(rule.category).correctable
        else rule.category,
        confidence=round(policy.rules_confidence * share * clause.speaker.share, 4),
        turn_id=clause.turn.id,
        quote=clause.turn.text[clause.start : clause.end].rstrip(" .!,;"),
        about=tuple(
            dict.fromkeys(name for name in (*first, *named, *of_animals) if name)
        )[: policy.max_entities],
        tags=rule.tags,
        when=clause.when() if _is_dated(rule) else None,
    )
    if hint is None:
        return _Statement(one, types=of_animals)
    ends = (hint.subject or OWNER, relation_label(hint.type), hint.object)
    # `My sister Anna has lived here since 2019`: a time of the life, not of the kinship
    when = clause.when() if rule is not _KINSHIP else None
    is_start = when and not hint.ended and when.start > clause.turn.occurred_at
    relation = Relation(
        *ends,
        one.turn_id,
        one.quote,
        confidence=one.confidence,
        ended=hint.ended,
        begins=when if when and (is_start or when.role == "since") else None,
        ends=when if when and (hint.ended or when.role == "until") else None,
    )
    return _Statement(one, relation, {**dict(hint.kinds), **of_animals})


def _is_dated(rule: Rule) -> bool:
    """Whether the time in a clause is that of the statement of a rule."""
    return rule.object_kind != "none" or category_of(rule.category).promise


def _fits(rule: Rule, raw: str, when: Interval | None, clause: Clause) -> bool:
    """Whether the object, in its clause, is of the kind that the rule needs."""
    if rule.object_kind == "then-i":
        return _THEN_I.match(clause.text, clause.end) is not None
    if rule.object_kind == "correction":
        return bool(raw) and clause.corrects
    if rule.object_kind == "word":
        return len(raw.split()) <= 4 and not is_pointing(clause.words)
    is_own_name = rule.object_kind == "name" and _is_own_name(raw, clause.speaker)
    return not is_own_name and fits(
        rule.object_kind, raw, when, clause.turn.occurred_at
    )


_THEN_I = pattern_of("then_i")


def _kept_as_asked(
    whole: Clause, made: Sequence[_Statement], policy: ExtractionPolicy
) -> Iterator[_Statement]:
    """The words that the user asks to remember and of which no rule made a statement.

    Whatever the user asks to keep is kept, at least as it was said (law 1).
    """
    if whole.is_task or not whole.speaker.to_bot:
        return
    text = whole.turn.text
    read = [(text.find(one.candidate.quote), one.candidate.quote) for one in made]
    for first, last in words_to_keep(text):
        for begin, stop in sentences(text[first:last]):
            start, end = first + begin, first + stop
            if any(at < end and start < at + len(quote) for at, quote in read):
                continue
            dates = tuple(
                date for date in whole.dates if start <= date.start and date.end <= end
            )
            clause = replace(whole, start=start, end=end, dates=dates)
            if MASK not in clause.words:
                yield from _as_said(clause, policy)


def _as_said(clause: Clause, policy: ExtractionPolicy) -> Iterator[_Statement]:
    """A statement in the words of the clause.

    What is told in the first person says that the user asks to remember it.
    """
    raw = bare(clause.text, clause.start, clause.end)
    if not raw or len(raw) > policy.rules_sentence:
        return
    code = language_of_request(clause.text)
    language = next((one for one in other_languages() if one.code == code), None)
    if language is None:
        text = _in_english(clause, raw)
    elif language.plain_start.match(raw) and not (
        language.first_person.search(raw)
        or reading_of(language.code).speaks_of_self(raw)
    ):
        text = raw
    else:
        text = language.keeps.format(s=clause.speaker.name or language.subject, o=raw)
    yield _built(clause, _KEEP, text, policy)


def _in_english(clause: Clause, raw: str) -> str:
    """The words of an English clause as a statement."""
    mine = _FIRST_PERSON_START.match(raw)
    place = mine.end() if mine and mine["of"] else 0
    is_own = is_whole(raw) and not is_pointing(raw)
    if is_own and resolved_pronouns(raw[place:], "", "") is not None:
        statement = reworded(
            raw[place:], clause.start + place, clause.dates, clause.turn.occurred_at
        )
        if place:
            return f"{clause.speaker.possessive} {statement}"
        if not mine:
            return statement
        raw = statement
    return f"{clause.speaker.name or 'the user'} asks to remember that {lowered(raw)}"


_FIRST_PERSON_START = pattern_of("mine")


_QUESTION_WORDS = 2
"""More words than these after an introduction are a question of their own."""
_NAME = Rule("name", "fact", "sure", "none", REMEMBER, "")
_CALLED = Rule("call me", "preference", "sure", "none", REMEMBER, "")
_KEEP = Rule("remember", "fact", "probable", "open", REMEMBER, "")
_NAMED = Rule(
    "named", "relationship", "probable", "none", REMEMBER, "", ("relationship",)
)
_FEW_CHARS = 3
"""What a task has beside a wish, at most, so that it is no task but the wish."""
_WISH = Rule("wish", "preference", "probable", "none", REMEMBER, "", ("instruction",))
_KINSHIP = Rule(
    "kinship",
    "relationship",
    "sure",
    "none",
    REMEMBER,
    "{s} is {p} {o}",
    ("relationship",),
)


def _change_of_state(clause: Clause, policy: ExtractionPolicy) -> Iterator[_Statement]:
    """The clause in the third person where it tells that a state changed or is over.

    In a language without extraction rules also where it tells a state that holds.
    """
    if clause.is_task or len(clause.words) >= _LONGEST or len(clause.dates) > 1:
        return
    person = _pronoun_subject(clause)
    start = person.end if person else clause.start
    raw = bare(clause.text, start, clause.end).rstrip("。！")
    words = _with_subject(person, raw)
    if with_subject(words) != words and not _opens_sentence(clause):
        return  # "my boss was ill, quit her job": the boss did
    for state in states(words):
        if not _is_told(state):
            continue
        if state.language == "en" and not person:
            words = with_subject(with_dates(raw, start, clause.dates))

        subject, possessive = _speaker_in(state.language, clause.speaker)
        if text := told(words, state, subject, possessive):
            name = person.name if person else ""
            yield _of_state(clause, state, text, name, policy)
            return


def _opens_sentence(clause: Clause) -> bool:
    """Whether only fillers stand before a clause in its sentence."""
    starts = (
        start for start, end in sentences(clause.text) if start <= clause.start < end
    )
    first = next(clauses(clause.text, next(starts, clause.start), clause.end), None)
    return first is not None and clause.start < first[1]


def _with_subject(person: NamedSubject | None, raw: str) -> str:
    """Return a clause with the name of the person whom its pronoun means."""
    if person is None:
        return raw
    return f"{person.name}{raw if raw[:1] == ' ' else f' {raw}'}"


def _is_told(state: State) -> bool:
    """Tell whether a state changed, is over, or has no extraction rules to read it."""
    if state.change or state.over or state.language in _WITHOUT_RULES:
        return True
    name = state.attribute.split()[0]
    if state.subject[0] != USER or name in _OF_THE_DAY:
        return False
    if state.language in _TOLD_BY_STATES:
        return True
    listed = _ATTRIBUTES_TOLD.get(state.language, "").split()
    return bool(state.value) and name in listed


def _of_state(
    clause: Clause, state: State, text: str, name: str, policy: ExtractionPolicy
) -> _Statement:
    """Return the statement of a state; outside English its date stands at the end."""
    when = clause.when() if state.language != "en" else None
    dated = f"{text} ({in_figures(when)})" if when else text
    rule = _STATES[_CATEGORIES.get(state.attribute.split()[0], "fact")]
    return _built(clause, rule, dated, policy, name)


def _speaker_in(code: str, speaker: ClauseSpeaker) -> tuple[str, str]:
    """The words of a language for the speaker, and for what is theirs."""
    for language in other_languages():
        if language.code == code:
            return speaker.name or language.subject, language.possessive(speaker.name)
    if code in _WITHOUT_RULES:
        return speaker.name, speaker.name
    return speaker.name or "the user", speaker.possessive


_WITHOUT_RULES = languages.unspaced()
_TOLD_BY_STATES = frozenset(languages.texts("extraction", "by_states"))
"""The languages in which the table of states gives facts that hold, too."""
_ATTRIBUTES_TOLD = languages.texts("extraction", "states_told")
"""The attributes of which it does in a language with extraction rules of its own."""
_OF_THE_DAY = frozenset({"eats", "figure", "date"})
"""Attributes that may hold today only: `I eat a pizza`, `the ticket costs 30 euros`."""
_CATEGORIES = {
    "like": "preference",
    "eats": "preference",
    "favourite": "preference",
    "partner": "relationship",
    "pet": "relationship",
    "kin": "relationship",
    "role": "relationship",
}
_STATES = {
    name: Rule("state", name, "probable", "open", REMEMBER, "")
    for name in ("fact", "preference", "relationship")
}


def _in_other_language(
    clause: Clause, policy: ExtractionPolicy
) -> Iterator[_Statement]:
    """The statement of the first rule of another language that matches the clause."""
    counts = stop_words_by_language(words_of(clause.words))
    for language in sorted(other_languages(), key=lambda one: -counts[one.code]):
        if not language.clause_start.match(clause.text, clause.start, clause.end):
            continue
        for rule in language.rules:
            found = rule.pattern.match(clause.text, clause.start, clause.end)
            if found and (clause.speaker.to_bot or not rule.to_bot):
                yield from _from_language_rule(clause, language, rule, found, policy)
                return


def _from_language_rule(
    clause: Clause,
    language: LanguageRules,
    rule: Rule,
    found: re.Match[str],
    policy: ExtractionPolicy,
) -> Iterator[_Statement]:
    """The statement of a rule that matched, unless its object is refused."""
    when = clause.when()
    raw = ""
    if clause.lead and rule.object_kind == "foreign":
        return  # true of that time only: "today I drink no wine"
    if rule.object_kind != "none":
        rest = bare(clause.text, found.end(), clause.end)
        short = shortened(rule.object_kind, rest)
        raw = language.third_person(short, rule.object_kind)
    if not _fits_foreign(rule, raw, when, clause) or language.refused.search(raw):
        return

    groups = found.groupdict()
    verb, words = groups.get("v") or "", groups.get("w") or ""
    text = rule.template.format(
        s=clause.speaker.name or language.subject,
        p=language.possessive(clause.speaker.name),
        v=language.verbs.get(verb.casefold(), verb),
        w=words,
        o=raw,
    )
    if when and (rule.object_kind in AHEAD or category_of(rule.category).promise):
        text = f"{text} ({in_figures(when)})"
    hint = relation_hint(rule, clause.speaker.name, "", words, raw)
    yield _built(clause, rule, text, policy, hint=hint)


def _fits_foreign(rule: Rule, raw: str, when: Interval | None, clause: Clause) -> bool:
    is_over = when is not None and when.end <= clause.turn.occurred_at
    if is_over and category_of(rule.category).promise:
        return False
    if rule.object_kind in {"name", "person"}:
        return NAME_ONLY.match(raw) is not None
    if rule.object_kind in AHEAD:
        is_ahead = (
            when.end > clause.turn.occurred_at if when else rule.object_kind == "task"
        )
        is_day = when is not None and raw.casefold() == when.words.casefold()
        return is_ahead and (is_day or 2 <= len(raw.split()) <= _LONGEST_FOREIGN)
    return (
        (bool(raw) or rule.object_kind in {"any", "none"})
        and len(raw.split()) <= _LONGEST_FOREIGN
        and is_whole(raw)
    )


_LONGEST_FOREIGN = 10
"""The most words of an object that is used without rewriting."""
