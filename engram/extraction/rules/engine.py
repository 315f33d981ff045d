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

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.core.categories import category_of
from engram.core.entities import name_key
from engram.core.language.dates import spans
from engram.core.language.promises import as_ahead
from engram.core.language.retraction import withdrawals
from engram.core.language.role_play import played
from engram.core.language.sentences import (
    MASK,
    asserted,
    is_game,
    is_taken_back,
    is_task,
    plain,
    refusal,
    sentences,
)
from engram.core.language.states import in_context, states
from engram.core.records import Candidate, Extraction, Relation
from engram.extraction.rules.assertions import from_clause
from engram.extraction.rules.clauses import Clause, ClauseSpeaker, clauses_of
from engram.extraction.rules.kept_words import kept_as_asked
from engram.extraction.rules.own_names import introduced_name
from engram.extraction.rules.people import (
    amid,
    relatives,
)
from engram.extraction.rules.statements import LONGEST, RuleStatement
from engram.extraction.rules.table import (
    pattern_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from engram.core.language.retraction import Withdrawal
    from engram.core.policy import ExtractionPolicy
    from engram.core.records import Turn


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
            earlier = plain(turn.text) if len(turn.text) <= LONGEST else ""
        else:
            earlier = earlier and f"{earlier}\n{amid(turn.text)}"


def _asked(turn: Turn) -> str:
    """What an assistant said, which the next turn may answer."""
    return turn.text if turn.role == "assistant" and len(turn.text) < LONGEST else ""


def _count(dropped: dict[str, int], reason: str) -> None:
    dropped[reason] = dropped.get(reason, 0) + 1


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


def _from_turn(
    turn: Turn,
    policy: ExtractionPolicy,
    dropped: dict[str, int],
    speaker: ClauseSpeaker,
    earlier: str,
    asked: str,
) -> Iterator[RuleStatement]:
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
    pending: list[RuleStatement] = []
    made: list[RuleStatement] = []
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
        yield from kept_as_asked(whole, made, policy)


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
) -> list[RuleStatement]:
    """Return the statements of a sentence, first the name of the speaker.

    A sentence with a `reason` of refusal gives at most that name, and only a question
    gives it.
    """
    introduced: list[RuleStatement] = []
    if reason in {"", "question"}:
        introduced += introduced_name(sentence, asked, policy, is_question=bool(reason))
    if reason:
        return introduced

    quotes = {one.candidate.quote for one in introduced}
    return introduced + [
        one
        for clause in clauses_of(sentence)
        for one in from_clause(clause, policy)
        if not (is_mocking and category_of(one.candidate.category).taste)
        and one.candidate.quote not in quotes
    ]


def _in_earnest(text: str, taken_back: Iterable[Withdrawal]) -> str:
    """The text without the sentences that take something back."""
    for one in taken_back:
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text
