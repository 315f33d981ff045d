"""The offline extractor: candidates from a conversation without a model.

(Rows X2, C3, X17.) It prefers precision to recall. A turn is parsed sentence by
sentence and clause by clause. A clause that begins with a known assertion of speakers
about themselves, or about a named person, becomes a statement in the third person, with
its dates resolved and the clause as the quote. Questions, hedges, conditions, mockery,
quotations, role-play and pasted text give no candidates; the turns themselves remain
searchable.

The extractor uses turns of the user, and, with less confidence, those of an assistant
whose speaker label is a person's name (an imported conversation between two people). An
assistant's statement about the user is no evidence. `about` names the subject first;
empty means the owner of the vault.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.attributes import Attribute
from engram.core.categories import category_of
from engram.core.entities import name_key
from engram.core.language.dates import spans
from engram.core.language.keep_requests import (
    asks_reminder,
    language_of_request,
    requested_parts,
    words_to_keep,
)
from engram.core.language.promises import as_ahead
from engram.core.language.retraction import Withdrawal, withdrawals
from engram.core.language.role_play import played
from engram.core.language.sentences import (
    MASK,
    asserted,
    is_game,
    is_taken_back,
    is_task,
    plain,
    refusal,
    third_person,
)
from engram.core.language.states import asks_for_name, in_context, states
from engram.core.records import Candidate, Extraction, Relation, Turn
from engram.extraction.rules.clauses import (
    Clause,
    ClauseSpeaker,
    clauses_of,
    sentences_of,
    without_ages,
)
from engram.extraction.rules.introductions import introduction
from engram.extraction.rules.people import has_open_pronoun, known_relatives
from engram.extraction.rules.statements import (
    LONGEST,
    RuleStatement,
    bare,
    built,
    from_clause,
    is_pointing,
    is_whole,
)
from engram.extraction.rules.table import lowered, pattern_of, with_dates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from engram.core.policy import ExtractionPolicy

EXTRACTOR = "rules/1"


def extract(
    turns: Sequence[Turn],
    policy: ExtractionPolicy,
    before: Sequence[Turn] = (),
    beings: Collection[str] = (),
) -> Extraction:
    """Return the candidates of the rules in `turns`, in their order (`X2`, `C3`).

    `before` are the preceding turns. They are the context for role-play, names and
    pronouns, and give no candidates. `beings` are the names of known persons and
    animals, for whom a plain name is enough. The result has at most `policy.max_facts` candidates, those
    of the highest confidence (at most `policy.rules_confidence`), each statement once;
    at most `policy.max_relations` relations; the types of the named entities (`B1`);
    and the count of each reason of refusal in `dropped`.
    """
    dropped: dict[str, int] = {}
    found: list[Candidate] = []
    relations: dict[tuple[str, str, str, bool], Relation] = {}
    types: dict[str, str] = {}
    seen: set[str] = set()
    conversation = [*before, *turns]
    to_bot = not any(
        turn.role == "assistant" and _has_person_label(turn) for turn in conversation
    )
    own = [turn.text for turn in conversation if turn.role == "user"]
    listener = ClauseSpeaker(
        "",
        to_bot,
        1.0,
        known_relatives(own).union(beings),
        any(map(_SPEAKS_OF_SELF.search, own)),
    )
    asked_before = ["", *(_assistant_text(turn) for turn in conversation)][
        len(before) :
    ]
    in_plays = played(conversation)[len(before) :]
    for turn, in_play, asked in zip(turns, in_plays, asked_before, strict=False):
        if in_play:
            _count(dropped, "played")
            continue
        speaker = _speaker(turn, policy, listener)
        if speaker is None:
            continue
        if speaker.name:
            types[speaker.name] = "person"
        for statement in _from_turn(turn, policy, dropped, speaker, asked):
            candidate = statement.candidate
            if _is_undone(candidate, turn):
                _count(dropped, "undone")
                continue
            types = {**statement.types, **types, **_of_animals(statement.types)}
            if statement.relation:
                relations.setdefault(
                    _relation_key(statement.relation), statement.relation
                )
            if candidate.text.casefold() in seen:
                _count(dropped, "repeated")
                continue
            seen.add(candidate.text.casefold())
            found.append(_with_slot(candidate))
    if len(found) > policy.max_facts:
        dropped["too many"] = len(found) - policy.max_facts
    return Extraction(
        _surest(found, policy.max_facts),
        EXTRACTOR,
        dropped,
        tuple(relations.values())[: policy.max_relations],
        types,
    )


def _with_slot(candidate: Candidate) -> Candidate:
    """Return a candidate with the attribute and the value that its text gives."""
    given = [one for one in states(candidate.text) if not (one.over or one.planned)]
    is_wish = "instruction" in candidate.tags
    if is_wish or not given or not given[0].value:
        return candidate
    return replace(candidate, attribute=given[0].attribute, value=given[0].written)


def _is_undone(candidate: Candidate, turn: Turn) -> bool:
    """Return whether the turn states that a change did not last, or is long ago."""
    changes = states(candidate.text)
    return len(in_context(changes, turn.text, candidate.quote)) < len(changes)


def _of_animals(types: Mapping[str, str]) -> dict[str, str]:
    """Return the types of animals.

    They take precedence, because a sentence about the home of an animal resembles one
    about a person.
    """
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
    """Return extractions of successive turns as one.

    The first type of an entity counts.
    """
    dropped: Counter[str] = Counter()
    types: dict[str, str] = {}
    for extraction in found:
        dropped.update(extraction.dropped)
        types = {**extraction.types, **types, **_of_animals(extraction.types)}
    candidates = tuple(
        candidate for extraction in found for candidate in extraction.candidates
    )
    relations = tuple(
        relation for extraction in found for relation in extraction.relations
    )
    return Extraction(candidates, EXTRACTOR, dropped, relations, types)


def _assistant_text(turn: Turn) -> str:
    """Return the text of an assistant's turn, which the next turn may answer."""
    return turn.text if turn.role == "assistant" and len(turn.text) < LONGEST else ""


def _count(dropped: dict[str, int], reason: str) -> None:
    dropped[reason] = dropped.get(reason, 0) + 1


_NO_PERSON = pattern_of("no_person")
_SPEAKS_OF_SELF = pattern_of("speaks_of_self")


def is_person(speaker: str) -> bool:
    """Return whether a speaker label is a person's name.

    `Caroline` is, `assistant` and `gpt-5` are not.
    """
    return (
        bool(speaker.strip())
        and speaker.strip()[0].isalpha()
        and not _NO_PERSON.search(speaker)
    )


def _has_person_label(turn: Turn) -> bool:
    """Return whether the label of a turn is a person's name and no persona."""
    is_persona = (
        turn.persona is not None
        and turn.persona.casefold() == turn.speaker.strip().casefold()
    )
    return is_person(turn.speaker) and not is_persona


def _speaker(
    turn: Turn, policy: ExtractionPolicy, anybody: ClauseSpeaker
) -> ClauseSpeaker | None:
    """Return the speaker of a turn, or None for one who says nothing of themselves."""
    if turn.role == "user":
        is_named = turn.group or is_person(turn.speaker)
        return replace(anybody, name=turn.speaker.strip() if is_named else "")
    if turn.role == "assistant" and _has_person_label(turn):
        name = turn.speaker.strip()
        return replace(anybody, name=name, to_bot=False, share=policy.rules_other)
    return None


def _from_turn(
    turn: Turn,
    policy: ExtractionPolicy,
    dropped: dict[str, int],
    speaker: ClauseSpeaker,
    preceding: str,
) -> Iterator[RuleStatement]:
    """Yield the statements of a turn; `preceding` is the assistant's turn before it.

    A statement that the next sentence retracts is left out, and so are preferences
    after mockery.
    """
    if len(turn.text) > policy.rules_turn:
        _count(dropped, "pasted")
        return
    taken_back = {retraction.start: retraction for retraction in withdrawals(turn.text)}
    if is_game(_without_retracted(turn.text, taken_back.values())):
        _count(dropped, "not in earnest")
        return

    whole = replace(_whole(turn, speaker), is_asked=asks_for_name(preceding))
    kept = words_to_keep(whole.text)  # no rule reads ", remember that" after them
    pending: list[RuleStatement] = []
    statements: list[RuleStatement] = []
    is_mocking = False
    for first, last, before in sentences_of(whole):
        withdrawal = taken_back.get(first)
        refers_back = withdrawal and not withdrawal.named
        if pending and (refers_back or is_taken_back(whole.text[first:last])):
            _count(dropped, "taken back")
            pending = []
        statements += pending
        yield from pending

        start = first
        if withdrawal:
            start = withdrawal.after
            start += len(whole.text[start:last]) - len(whole.text[start:last].lstrip())
        start, end = asserted(whole.text, start, last)
        end = min([end, *(stop for begin, stop in kept if start <= begin < end)])
        is_long = last - first > policy.rules_sentence
        reason = "too long" if is_long else refusal(whole.text[start:end])
        if reason:
            _count(dropped, reason)
        is_mocking = is_mocking or reason == "mockery"
        pending = [
            statement
            for clause in clauses_of(whole, start, end, before)
            for statement in from_clause(clause, policy)
            if not reason
            and not (is_mocking and category_of(statement.candidate.category).taste)
        ]
    statements += pending
    yield from pending
    if not taken_back:
        yield from literal_statements(whole, statements, policy)


def _whole(turn: Turn, speaker: ClauseSpeaker) -> Clause:
    """Return the whole turn as one clause, from which its sentences are cut."""
    text = without_ages(plain(turn.text))
    dates = spans(as_ahead(text.replace(MASK, " ")), turn.occurred_at)
    return Clause(turn, speaker, text, dates=dates, is_task=is_task(text))


def introduced_names(turn: Turn) -> Iterator[str]:
    """Yield the names by which a turn introduces its speaker (`A20`)."""
    whole = _whole(turn, ClauseSpeaker("", to_bot=True, share=1.0))
    for start, end, before in sentences_of(whole):
        for clause in clauses_of(whole, start, end, before):
            if found := introduction(clause):
                yield found.written


def _without_retracted(text: str, taken_back: Iterable[Withdrawal]) -> str:
    """Return the text without the sentences that retract something."""
    for withdrawal in taken_back:
        text = (
            text[: withdrawal.start]
            + " " * (withdrawal.end - withdrawal.start)
            + text[withdrawal.end :]
        )
    return text


def literal_statements(
    whole: Clause, statements: Sequence[RuleStatement], policy: ExtractionPolicy
) -> Iterator[RuleStatement]:
    """Yield statements of the words to remember that no rule turned into one.

    Words that the user asks to remember are always stored, at least literally (law 1).
    """
    if whole.is_task or not whole.speaker.to_bot:
        return
    text = whole.turn.text
    read = [
        (text.find(statement.candidate.quote), statement.candidate.quote)
        for statement in statements
        if not (statement.is_mention and _has_statement(statement))
    ]
    for first, last in words_to_keep(text):
        for start, end in requested_parts(text, first, last):
            if any(at < end and start < at + len(quote) for at, quote in read):
                continue
            clause = whole.cut(start, end)
            if MASK not in clause.words:
                yield from _literal(clause, policy)


def _has_statement(mention: RuleStatement) -> bool:
    """Return whether a clause states something about the person whom it mentions."""
    candidate = mention.candidate
    return len(candidate.quote.split()) >= len(candidate.text.split()) - 1


def _literal(clause: Clause, policy: ExtractionPolicy) -> Iterator[RuleStatement]:
    """Yield a statement in the words of the clause.

    An English clause in the first person becomes `the user asks to remember that …`.
    """
    raw = bare(clause.words)
    if not raw or len(raw) > policy.rules_sentence:
        return
    if language_of_request(clause.text) == "en":
        raw = _in_english(clause, raw)
    when = clause.when()
    is_over = when is not None and when.end <= clause.turn.occurred_at
    is_due = asks_reminder(clause.text) and not is_over
    yield built(clause, _DUE if is_due else _KEEP, raw, policy)


def _in_english(clause: Clause, raw: str) -> str:
    """Return the words of an English clause as a statement."""
    mine = _FIRST_PERSON_START.match(raw)
    place = mine.end() if mine and mine["of"] else 0
    is_own = is_whole(raw) and not is_pointing(raw)
    if is_own and not has_open_pronoun(raw[place:]):
        dated = with_dates(raw[place:], clause.start + place, clause.dates)
        statement = third_person(dated)
        if place:
            return f"{clause.speaker.possessive} {statement}"
        if not mine:
            return statement
        raw = statement
    return f"{clause.speaker.name or 'the user'} asks to remember that {lowered(raw)}"


_FIRST_PERSON_START = re.compile(r"(?:(?P<of>my|our)\s+|(?:i|we)\b)", re.IGNORECASE)
_KEEP = Attribute(sure=False)
_DUE = Attribute(category="commitment", sure=False)
