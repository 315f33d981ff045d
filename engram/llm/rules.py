"""The offline extractor: memories from a conversation without a model (rows X2, C3, X17).

Precision before recall. A turn is read sentence by sentence and clause by clause; a clause that begins
with a known assertion of the speaker about themselves, or about somebody they name, becomes a statement in
the third person, with the dates it names put into words and the clause kept as the quote. Questions,
hedges, conditions, mockery, quotations, other people's words, role-play and pasted text give nothing; the
turns themselves stay searchable, so a fact that is missed here is not lost.

Who is asked: turns of the user, and of an assistant whose speaker is a person's name (an imported
conversation between two people), the latter with less confidence. What an assistant says about the user
is no evidence. `about` names the subject first; where the speaker is unnamed the owner is meant and left
out, so an empty `about` means the owner.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core.dates import Span, day_in_words, in_words, spans
from engram.core.grammar import (
    MASK,
    clauses,
    conjugated,
    is_doubtful,
    is_game,
    is_task,
    plain,
    refusal,
    sentences,
    third_person,
)
from engram.core.records import Candidate, Extraction
from engram.llm.rule_objects import NAME_ONLY, bare, fits, is_apart, is_pointing, is_untied, is_whole
from engram.llm.rule_people import Other, bindings, names, other, relatives
from engram.llm.rule_table import REMEMBER, Rule, english, others
from engram.llm.rule_tongues import FOREIGN_VERBS, tongues

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.core.policy import ExtractionPolicy
    from engram.core.records import Interval, Turn

EXTRACTOR = "rules/1"


def extract(turns: Sequence[Turn], policy: ExtractionPolicy) -> Extraction:
    """What the rules read from `turns`, in the order of the turns (`X2`, `C3`).

    At most `policy.max_facts`, the surest first when there are more; the same statement once; confidence
    at most `policy.rules_confidence`. `dropped` counts what was refused and why.
    """
    dropped: dict[str, int] = {}
    found: list[Candidate] = []
    seen: set[str] = set()
    to_bot = not any(turn.role == "assistant" and _is_somebody(turn) for turn in turns)
    known = relatives(turn.text for turn in turns if turn.role == "user")
    for turn in turns:
        for one in _from_turn(turn, policy, dropped, _speaker(turn, policy, to_bot=to_bot, known=known)):
            key = one.text.casefold()
            if key in seen:
                _count(dropped, "repeated")
                continue
            seen.add(key)
            found.append(one)
    surest = sorted(range(len(found)), key=lambda place: (-found[place].confidence, place))[: policy.max_facts]
    if len(found) > len(surest):
        dropped["too many"] = len(found) - len(surest)
    return Extraction(tuple(found[place] for place in sorted(surest)), EXTRACTOR, dropped)


def _count(dropped: dict[str, int], reason: str) -> None:
    dropped[reason] = dropped.get(reason, 0) + 1


# Who speaks.

_NO_PERSON = re.compile(
    r"\b(?:assistant|bot|ai|user|human|you|me|system|tool|model|gpt|chatgpt|claude|gemini|llama|mistral|copilot|bard"
    r"|qwen|deepseek|grok|agent|customer|unknown|anonymous|owner|speaker)\b|[\d_@/\\:]",
    re.IGNORECASE,
)


def is_person(speaker: str) -> bool:
    """Whether a speaker label is a person's name: `Caroline` is, `assistant` and `gpt-5` are not."""
    return bool(speaker.strip()) and speaker.strip()[0].isalpha() and not _NO_PERSON.search(speaker)


@dataclass(frozen=True, slots=True)
class _Speaker:
    """The subject of a turn's statements; `to_bot` where an assistant listens, `known` the names of relatives."""

    name: str
    to_bot: bool
    share: float
    known: frozenset[str]

    @property
    def possessive(self) -> str:
        """Whose, within a sentence."""
        name = self.name or "the user"
        return f"{name}'" if name.endswith("s") else f"{name}'s"


def _is_somebody(turn: Turn) -> bool:
    """Whether the label of a turn is a person's name and no persona."""
    is_persona = turn.persona is not None and turn.persona.casefold() == turn.speaker.strip().casefold()
    return is_person(turn.speaker) and not is_persona


def _speaker(turn: Turn, policy: ExtractionPolicy, *, to_bot: bool, known: frozenset[str]) -> _Speaker | None:
    if turn.role == "user":
        return _Speaker(turn.speaker.strip() if is_person(turn.speaker) else "", to_bot, 1.0, known)
    if turn.role == "assistant" and _is_somebody(turn):
        return _Speaker(turn.speaker.strip(), to_bot=False, share=policy.rules_other, known=known)
    return None


# From a turn to clauses.


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause with its surroundings: `text[start:end]` of the masked turn, and the sentence `before` it begins at."""

    turn: Turn
    speaker: _Speaker
    text: str
    start: int
    end: int
    before: int
    corrects: bool
    dates: tuple[Span, ...]
    lead: Span | None

    @property
    def words(self) -> str:
        """The clause itself."""
        return self.text[self.start : self.end]

    def when(self) -> Interval | None:
        """The one time it names, or None."""
        dates = self.dates or ((self.lead,) if self.lead else ())
        return dates[0].interval if len(dates) == 1 else None


def _from_turn(
    turn: Turn, policy: ExtractionPolicy, dropped: dict[str, int], speaker: _Speaker | None
) -> Iterator[Candidate]:
    if speaker is None:
        return
    if len(turn.text) > policy.rules_turn or is_game(turn.text):
        _count(dropped, "pasted" if len(turn.text) > policy.rules_turn else "not in earnest")
        return
    text = plain(turn.text)
    dates = spans(text.replace(MASK, " "), turn.occurred_at)
    before, begun = 0, 0
    for first, last in sentences(text):
        before, begun = begun, first
        sentence = text[first:last]
        reason = "too long" if last - first > policy.rules_sentence else refusal(sentence)
        if reason:
            _count(dropped, reason)
            continue
        corrects = _CORRECTS.match(sentence) is not None
        lead: Span | None = None
        for start, end in clauses(text, first, last):
            here = tuple(date for date in dates if start <= date.start and date.end <= end)
            clause = _begun(_Clause(turn, speaker, text, start, end, before, corrects, here, lead))
            lead = clause.lead if clause.start >= clause.end else None
            if lead is None:
                yield from _from_clause(clause, policy)


_CORRECTS = re.compile(r"(?:no|nope|actually|correction|sorry|i meant|(?:small |quick )?update)\b[,.: ]", re.IGNORECASE)
_LEAD = re.compile(
    r"(?:(?:and|but|so|because|'?cause|plus|also|well|oh|ah|yeah|yes|yep|yup|no(?=[,.!:])|nope|hi|hey"
    r"|hello|ok|okay|haha+|lol|wow"
    r"|hmm+|um|uh|ugh|ha|(?:(?:small|quick) )?update|btw|by the way"
    r"|actually|honestly|tbh|to be honest|personally|for me|fun fact|guess what|in fact"
    r"|anyways?|sure|thanks|thank you|right now|currently|lately|recently|these days|nowadays|unfortunately|luckily"
    r"|sadly|fortunately|finally|on a side note|sorry|correction|since|though|although|while"
    r"|as for me|especially|even|just|i mean|you know|it's true,?|for now|at the moment)[,.!: ]+)",
    re.IGNORECASE,
)


def _begun(clause: _Clause) -> _Clause:
    """The clause without fillers and a date before it (`Well, last week I …`), which is kept as its `lead`."""
    start, lead = clause.start, clause.lead
    for _ in range(6):
        if found := _LEAD.match(clause.text, start, clause.end):
            start = found.end()
            continue
        dated = next((date for date in clause.dates if date.start == start), None)
        if dated is None:
            break
        lead, start = dated, dated.end
        while start < clause.end and clause.text[start] in ", ":
            start += 1
    dates = tuple(date for date in clause.dates if date.start >= start)
    return replace(clause, start=start, dates=dates, lead=lead)


def _from_clause(clause: _Clause, policy: ExtractionPolicy) -> Iterator[Candidate]:
    """The statements of one clause: of the speaker, of a person they name, as asked to keep, in another language."""
    asked = REMEMBER.match(clause.text, clause.start, clause.end) if clause.speaker.to_bot else None
    if asked:
        clause = replace(clause, start=asked.end())
    if MASK in clause.words or is_doubtful(clause.words):
        return
    found = list(_first(clause, english(), clause.start, policy))
    person = None if found else other(clause.text, clause.start, clause.end)
    if person and _SPEAKS_OF_SELF.search(clause.text) and not is_task(clause.text):
        found = list(_of_other(clause, person, policy))
    if not found:
        found = list(_asked_to_keep(clause, policy) if asked else _foreign(clause, policy))
    yield from found


_SPEAKS_OF_SELF = re.compile(r"\b(?:i|i'm|i've|i'll|me|my|we|our)\b", re.IGNORECASE)


def _first(
    clause: _Clause, rules: Sequence[Rule], place: int, policy: ExtractionPolicy, subject: str = ""
) -> Iterator[Candidate]:
    """The statement of the first rule that reads the clause from `place` on."""
    for rule in rules:
        found = rule.head.match(clause.text, place, clause.end)
        if not found or (rule.to_bot and not clause.speaker.to_bot):
            continue
        if candidate := _candidate(clause, rule, found, policy, subject):
            yield candidate
            return


def _of_other(clause: _Clause, person: Other, policy: ExtractionPolicy) -> Iterator[Candidate]:
    """What is said of somebody with a name; of a name alone, which may be a brand, only what is sure."""
    if person.kin:
        yield _built(
            clause, _KINSHIP, f"{person.name} is {clause.speaker.possessive} {person.kin.lower()}", policy, person.name
        )
    place = person.end
    while place < clause.end and clause.text[place] in ", ":
        place += 1
    is_known = bool(person.kin) or person.name in clause.speaker.known
    rules = [rule for rule in others() if is_known or rule.strength == "sure"]
    yield from _first(clause, rules, place, policy, person.name)


# From a clause to a statement.


def _candidate(
    clause: _Clause, rule: Rule, found: re.Match[str], policy: ExtractionPolicy, other_name: str
) -> Candidate | None:
    place = found.end()
    raw, when = bare(clause.text, place, clause.end), clause.when()
    is_annual = _ANNUAL.search(clause.words) is not None
    if not is_whole(raw) or not _fits(rule, raw, when, clause):
        return None
    if is_untied(raw, place, clause.dates, is_annual=is_annual):
        return None
    meant = bindings(raw, clause.text[clause.start : place], clause.text[clause.before : clause.start])
    if meant is None or (other_name and _SPEAKS_OF_SELF.search(raw)):
        return None
    said = _reworded(raw, place, clause)
    for pronoun, name in meant.items():
        said = re.sub(rf"\b{pronoun}\b", name, said)
    if clause.lead and not clause.dates:
        date = " ".join(in_words(clause.lead.interval))
        said = f"{said} ({date})" if is_apart(said) else f"{said} {date}"
    words = {name: found.groupdict().get(name) or "" for name in "vwx"}
    text = rule.says.format(
        s=other_name or clause.speaker.name or "the user",
        p=clause.speaker.possessive,
        v=conjugated(words["v"]) if words["v"] else "",
        w=third_person(_lowered(words["w"])),
        x=third_person(_lowered(words["x"]) if words["x"].casefold().startswith("my ") else words["x"]),
        o=said,
    )
    if rule.as_of and when is None:
        text += f" (as of {day_in_words(clause.turn.occurred_at)})"
    return _built(clause, rule, text, policy, other_name) if len(text) < _LONGEST else None


_ANNUAL = re.compile(r"\b(?:birthday|anniversary)\b", re.IGNORECASE)
_LONGEST = 200
"""Characters of a statement, which is a note's title as well."""


def _built(clause: _Clause, rule: Rule, text: str, policy: ExtractionPolicy, other_name: str = "") -> Candidate:
    share = {"sure": 1.0, "probable": policy.rules_probable, "weak": policy.rules_weak}[rule.strength]
    first = (other_name, clause.speaker.name) if "{p}" in rule.says or not other_name else (other_name,)
    named = names(clause.words) if rule.category == "relationship" and rule is not _KINSHIP else ()
    return Candidate(
        text=_tidy(text),
        category="correction" if clause.corrects and rule.category in _CORRECTABLE else rule.category,
        confidence=round(policy.rules_confidence * share * clause.speaker.share, 4),
        turn_id=clause.turn.id,
        quote=clause.turn.text[clause.start : clause.end].rstrip(" .!,;"),
        about=tuple(dict.fromkeys(name for name in (*first, *named) if name))[: policy.max_entities],
        tags=rule.tags,
        when=clause.when(),
    )


_CORRECTABLE = frozenset({"fact", "preference", "relationship", "skill"})


def _reworded(raw: str, start: int, clause: _Clause) -> str:
    """`raw`, which stands at `start`, in the third person with its relative dates resolved."""
    out, place = [], 0
    for date in clause.dates:
        first, last = date.start - start, min(date.end - start, len(raw))
        if first < place or first >= last:
            continue
        before, words = raw[place:first], raw[first:last]
        out.append(third_person(before) + _dated(before, words, raw[last : last + 2], date.interval))
        place = last
    out.append(third_person(raw[place:]))
    said = _AND_VERB.sub(
        lambda found: found[1] + " ".join((conjugated(found[2].split()[0]), *found[2].split()[1:])), "".join(out)
    )
    return _VAGUE.sub(lambda found: f"{found[1]} before {day_in_words(clause.turn.occurred_at)}", said)


_GOVERNED = re.compile(
    r"\b(?:on|by|since|until|till|before|after|for|from|of|to|during|around|about|due"
    r"|through|the|a)\s+$",
    re.IGNORECASE,
)
_LIMIT = re.compile(r"\b(?:by|since|until|till|before|after|due)\s+$", re.IGNORECASE)
_BARE_DAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE)
_AND_VERB = re.compile(
    r"(\band (?:also |really |just |still |already |often |usually )?)(need|want|have|am|love|like|hope|plan|know|think"
    r"|go to bed|wake up|get up|enjoy|prefer|hate|feel)\b"
)
_VAGUE = re.compile(
    r"\b((?:a few|a couple of|a couple|several|some|many) (?:days|weeks|months|years)) (?:ago|back)\b", re.IGNORECASE
)


def _dated(before: str, words: str, after: str, interval: Interval) -> str:
    """A date as it stands in a sentence: after its own preposition, or behind the words where they are an adjective."""
    preposition, date = in_words(interval)
    if after == "'s" or (_BARE_DAY.match(words) and not _LIMIT.search(before)):
        return f"{words} ({date})"
    governed = _GOVERNED.search(before) and not re.match(r"(?:on|in|at)\b", words, re.IGNORECASE)
    return date if governed else f"{preposition} {date}"


def _lowered(words: str) -> str:
    return words[:1].lower() + words[1:] if words[:2].istitle() else words


def _tidy(text: str) -> str:
    text = re.sub(r"\s+([,.])", r"\1", re.sub(r"\s+", " ", text)).strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", '."', '!"')) else ".")


def _fits(rule: Rule, raw: str, when: Interval | None, clause: _Clause) -> bool:
    """Whether the object passes the test that its rule wants, some of which look at the clause around it."""
    if rule.wants == "then-i":
        return _THEN_I.match(clause.text, clause.end) is not None
    if rule.wants == "correction":
        return bool(raw) and clause.corrects
    if rule.wants == "word":
        return len(raw.split()) <= 4 and not is_pointing(clause.words)
    is_own_name = rule.wants == "name" and set(raw.casefold().split()) <= set(clause.speaker.name.casefold().split())
    return not is_own_name and fits(rule.wants, raw, when, clause.turn.occurred_at)


_THEN_I = re.compile(r",?\s*i\b", re.IGNORECASE)


def _asked_to_keep(clause: _Clause, policy: ExtractionPolicy) -> Iterator[Candidate]:
    """`Remember that …` with a clause no other rule reads: kept as it was asked."""
    raw = bare(clause.text, clause.start, clause.end)
    if is_task(clause.text) or is_pointing(raw) or not is_whole(raw) or len(raw.split()) < _FEWEST:
        return
    if bindings(raw, "", "") is not None:
        said = _lowered(_reworded(raw, clause.start, clause))
        yield _built(clause, _KEEP, f"{clause.speaker.name or 'the user'} asks to remember that {said}", policy)


_FEWEST = 3
"""Words worth keeping as they are."""
_KEEP = Rule("remember", "fact", "probable", "open", REMEMBER, "")
_KINSHIP = Rule("kinship", "relationship", "sure", "any", REMEMBER, "{s} is {p} {o}", ("relationship",))


def _foreign(clause: _Clause, policy: ExtractionPolicy) -> Iterator[Candidate]:
    """German, French, Spanish: the few patterns that need no rewriting of what follows."""
    for tongue in tongues():
        for rule in tongue.rules:
            found = rule.head.match(clause.text, clause.start, clause.end)
            if not found:
                continue
            raw = bare(clause.text, found.end(), clause.end)
            if not _fits_foreign(rule, raw) or tongue.refused.search(raw):
                return
            verb, words = found.groupdict().get("v") or "", found.groupdict().get("w") or ""
            text = rule.says.format(
                s=clause.speaker.name or tongue.subject, v=FOREIGN_VERBS.get(verb.casefold(), verb), w=words, o=raw
            )
            yield _built(clause, rule, text, policy)
            return


def _fits_foreign(rule: Rule, raw: str) -> bool:
    if rule.wants == "name":
        return NAME_ONLY.match(raw) is not None
    return (bool(raw) or rule.wants == "any") and len(raw.split()) <= 10 and is_whole(raw)
