"""The offline extractor: memories from a conversation without a model (rows X2, C3, X17).

Precision before recall. A turn is read sentence by sentence and clause by clause; a clause that begins
with a known assertion of the speaker about themselves becomes a statement in the third person, with the
dates it names put into words and the clause kept as the quote. Questions, hedges, conditions, mockery,
quotations, other people's words, role-play and pasted text give nothing; the turns themselves stay
searchable, so a fact that is missed here is not lost.

Who is asked: turns of the user, and of an assistant whose speaker is a person's name (an imported
conversation between two people), the latter with less confidence. What an assistant says about the user
is no evidence. `about` names the subject first; where the speaker is unnamed the owner is meant and left
out, so an empty `about` means the owner.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core.dates import MONTHS, Span, day_in_words, in_words, spans
from engram.core.grammar import MASK, clauses, conjugated, is_doubtful, is_game, plain, refusal, sentences, third_person
from engram.core.records import Candidate, Extraction
from engram.llm.rule_table import ENGLISH, REMEMBER, Rule
from engram.llm.rule_tongues import FOREIGN_VERBS, TONGUES

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
    for turn in turns:
        for one in _from_turn(turn, policy, dropped):
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
    """The subject of a turn's statements."""

    name: str
    to_bot: bool
    share: float


def _speaker(turn: Turn, policy: ExtractionPolicy) -> _Speaker | None:
    named = is_person(turn.speaker)
    if turn.role == "user":
        return _Speaker(turn.speaker.strip() if named else "", to_bot=not named, share=1.0)
    is_persona = turn.persona is not None and turn.persona.casefold() == turn.speaker.strip().casefold()
    if turn.role == "assistant" and named and not is_persona:
        return _Speaker(turn.speaker.strip(), to_bot=False, share=policy.rules_other)
    return None


# From a turn to clauses.


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause with its surroundings: `text[start:end]` of the masked turn."""

    turn: Turn
    speaker: _Speaker
    text: str
    start: int
    end: int
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


def _from_turn(turn: Turn, policy: ExtractionPolicy, dropped: dict[str, int]) -> Iterator[Candidate]:
    speaker = _speaker(turn, policy)
    if speaker is None:
        return
    if len(turn.text) > policy.rules_turn or is_game(turn.text):
        _count(dropped, "pasted" if len(turn.text) > policy.rules_turn else "not in earnest")
        return
    text = plain(turn.text)
    dates = spans(text.replace(MASK, " "), turn.occurred_at)
    for first, last in sentences(text):
        sentence = text[first:last]
        reason = "too long" if last - first > policy.rules_sentence else refusal(sentence)
        if reason:
            _count(dropped, reason)
            continue
        corrects = _CORRECTS.match(sentence) is not None
        lead: Span | None = None
        for start, end in clauses(text, first, last):
            here = tuple(date for date in dates if start <= date.start and date.end <= end)
            clause = _begun(_Clause(turn, speaker, text, start, end, corrects, here, lead))
            lead = clause.lead if clause.start >= clause.end else None
            if lead is None and (candidate := _from_clause(clause, policy)):
                yield candidate


_CORRECTS = re.compile(r"(?:no|nope|actually|correction|sorry|i meant)\b[,.: ]", re.IGNORECASE)
_LEAD = re.compile(
    r"(?:(?:and|but|so|because|'?cause|plus|also|well|oh|ah|yeah|yes|yep|yup|no(?=[,.!:])|nope|hi|hey"
    r"|hello|ok|okay|haha+|lol|wow"
    r"|hmm+|um|uh|btw|by the way|actually|honestly|tbh|to be honest|personally|for me|fun fact|guess what|in fact"
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


def _from_clause(clause: _Clause, policy: ExtractionPolicy) -> Candidate | None:
    """The statement of one clause, if a rule reads it."""
    asked = REMEMBER.match(clause.text, clause.start, clause.end) if clause.speaker.to_bot else None
    if asked:
        clause = replace(clause, start=asked.end())
    words = clause.words
    if MASK in words or is_doubtful(words):
        return None
    for rule in ENGLISH:
        found = rule.head.match(words)
        if not found or (rule.to_bot and not clause.speaker.to_bot):
            continue
        if candidate := _candidate(clause, rule, found, policy):
            return candidate
    return _asked_to_keep(clause, policy) if asked else _foreign(clause, policy)


# From a clause to a statement.


def _candidate(clause: _Clause, rule: Rule, found: re.Match[str], policy: ExtractionPolicy) -> Candidate | None:
    place = clause.start + found.end()
    raw, when = _object(clause.text, place, clause.end), clause.when()
    if not _fits(rule, raw, when, clause) or _is_untied(raw, place, clause.dates):
        return None
    said = _reworded(raw, place, clause)
    if clause.lead and not clause.dates:
        said = f"{said} {' '.join(in_words(clause.lead.interval))}"
    subject = clause.speaker.name or ("The user" if rule.says.startswith("{") and rule.says[1] in "sp" else "the user")
    words = {name: found.groupdict().get(name) or "" for name in "vwx"}
    text = rule.says.format(
        s=subject,
        p=_possessive(subject),
        v=conjugated(words["v"]) if words["v"] else "",
        w=third_person(_lowered(words["w"])),
        x=third_person(_lowered(words["x"]) if words["x"].casefold().startswith("my ") else words["x"]),
        o=said,
    )
    return _built(
        clause,
        rule,
        text + (f" (as of {day_in_words(clause.turn.occurred_at)})" if rule.as_of and when is None else ""),
        policy,
    )


def _built(clause: _Clause, rule: Rule, text: str, policy: ExtractionPolicy) -> Candidate | None:
    text = _tidy(text)
    if len(text) > policy.fact_chars:
        return None
    share = {"sure": 1.0, "probable": policy.rules_probable, "weak": policy.rules_weak}[rule.strength]
    first = (clause.speaker.name,) if clause.speaker.name else ()
    names = _names(clause.words) if rule.category == "relationship" else ()
    return Candidate(
        text=text,
        category="correction" if clause.corrects and rule.category in _CORRECTABLE else rule.category,
        confidence=round(policy.rules_confidence * share * clause.speaker.share, 4),
        turn_id=clause.turn.id,
        quote=clause.turn.text[clause.start : clause.end].rstrip(" .!,;"),
        about=tuple(dict.fromkeys((*first, *names)))[: policy.max_entities],
        tags=rule.tags,
        when=clause.when(),
    )


_CORRECTABLE = frozenset({"fact", "preference", "relationship", "skill"})
_TRAIL = re.compile(
    r"(?:[\s.!,;:~*)]|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]|\b(?:too|as well|and all|lol"
    r"|haha+|though|tho|so much|right now|now"
    r"|actually|anyway|btw|you know|of course|for sure|these days|at the moment|currently"
    r"|lately|recently|myself)(?=[\s.!,;]*$))+$",
    re.IGNORECASE,
)


def _object(text: str, start: int, end: int) -> str:
    """What a rule's head leaves, without closing signs and fillers."""
    return _TRAIL.sub("", text[start:end])


def _reworded(raw: str, start: int, clause: _Clause) -> str:
    """`raw`, which stands at `start`, in the third person with its relative dates resolved."""
    out, place = [], 0
    for date in clause.dates:
        first, last = date.start - start, date.end - start
        if first < place or last > len(raw):
            continue
        before, words = raw[place:first], raw[first:last]
        out.append(third_person(before) + _dated(before, words, raw[last : last + 2], date.interval))
        place = last
    out.append(third_person(raw[place:]))
    said = _AND_VERB.sub(lambda found: found[1] + conjugated(found[2]), "".join(out))
    return _VAGUE.sub(lambda found: f"{found[1]} before {day_in_words(clause.turn.occurred_at)}", said)


_GOVERNED = re.compile(
    r"\b(?:by|since|until|till|before|after|for|from|of|to|during|around|about|due"
    r"|through|the|a)\s+$",
    re.IGNORECASE,
)
_LIMIT = re.compile(r"\b(?:by|since|until|till|before|after|due)\s+$", re.IGNORECASE)
_BARE_DAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE)
_AND_VERB = re.compile(
    r"(\band (?:also |really |just |still )?)(need|want|have|am|love|like|hope|plan|know|think"
    r"|enjoy|prefer|hate)\b"
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


def _possessive(name: str) -> str:
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _lowered(words: str) -> str:
    return words[:1].lower() + words[1:] if words[:2].istitle() else words


def _tidy(text: str) -> str:
    text = re.sub(r"\s+([,.])", r"\1", re.sub(r"\s+", " ", text)).strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!")) else ".")


_NAME = r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)?"
_NAMED = re.compile(
    r"(?:\b(?:named|called|names? (?:is|are)|married to|engaged to|dating)|^[Mm]y (?:[a-z-]+ ){0,2}[a-z-]+,?)"
    rf" ({_NAME}(?:(?:, and |, | and ){_NAME}){{0,4}})"
)


def _names(words: str) -> tuple[str, ...]:
    """The names that a clause gives to people and animals."""
    found = _NAMED.search(words)
    return tuple(re.findall(_NAME, found[1])) if found else ()


# What an object must be.

_YOU = re.compile(r"\b(?:you|your|yours|y'all|yourself|u|ur)\b", re.IGNORECASE)
_DANGLING = re.compile(
    r"\b(?:and|or|but|the|an?|to|of|with|for|my|in|at|on|is|are|was|that|which|who|when|from"
    r"|because|so|as|than|by|about)$",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"(?:it|its|it's|that|that's|this|these|those|them|him|her|his|he|she|they|their|there"
    r"|here|how|what|when|where|why"
    r"|who|everything|everyone|every|all|one|some|both|any|something|someone|stuff|things?"
    r"|the way|the idea|the thought"
    r"|the fact|the sound of that|seeing|hearing|being|to see|to hear|to know|to be|to have"
    r"|to help|to chat|to talk|to say"
    r"|to share|to go|to come|to try|to do|to get|to make|to think|to believe|to ask"
    r"|to imagine|getting|having|knowing|us"
    r"|our|so|too|more|another|such|me|not|much)\b",
    re.IGNORECASE,
)
_SHOWN = re.compile(
    r"the (?!outdoors|ocean|sea|beach|mountains?|rain|snow|cold|heat|gym"
    r"|theat|cinema|forest|woods|countryside|city|piano"
    r"|guitar|violin|smell of|taste of|feeling of|color \w+$|colour \w+$|peace"
    r"|(?:[A-Z][\w']*(?: of| the|$)? ?){1,3}$|\"[A-Z])"
)
_EVAL = re.compile(
    r"(?:so|very|really|such|quite|pretty|great|amazing|awesome|happy|good|doing|coming"
    r"|the best|also|always|here|there)\b",
    re.IGNORECASE,
)
_NAME_ONLY = re.compile(rf"{_NAME}(?: [A-Z][\w'-]+)?\Z")
_PLACE = re.compile(
    r"(?:the |a |an |downtown |south |north |east |west |central )*(?:[A-Z]|(?:small|big|tiny"
    r"|quiet) (?:town|city|village))"
)


_UNTIED = re.compile(
    r"\b(?:it|them|one|ones|another|this|that(?=\s*(?:$|x{3}|on\b|in\b|at\b|too|later|soon))|these|those|that stuff"
    r"|that one|here|there|on the \d{1,2}(?:st|nd|rd|th)|since then|since the \w+$|a ton|a lot$|a few more"
    r"|some more|some(?=\s*(?:$|x{3})))\b(?!')",
    re.IGNORECASE,
)


_APART = re.compile(r"\b(?:that|which|who|where|when|(?:she|he|they|i)'\w+|(?:before|after) \w+ \w)", re.IGNORECASE)
_UNREAD = re.compile(rf"\b(?:{'|'.join(MONTHS)}) \d")


def _is_untied(raw: str, start: int, dates: Sequence[Span]) -> bool:
    """Whether something outside the clause is meant, or a date of another clause; `it` after `and` may be inside."""
    for date in dates:
        first, last = max(0, date.start - start), max(0, date.end - start)
        if _APART.search(raw[:first]):
            return True
        raw = raw[:first] + "x" * (last - first) + raw[last:]
    if dates and _UNREAD.search(raw):
        return True
    found = _UNTIED.search(raw)
    return found is not None and not (found.group().casefold() in {"it", "them"} and " and " in raw[: found.start()])


def _fits(rule: Rule, raw: str, when: Interval | None, clause: _Clause) -> bool:
    """Whether the object passes the test that its rule wants."""
    if _YOU.search(raw) or _DANGLING.search(raw) or len(raw.split()) > _LONGEST:
        return False
    if rule.wants == "then-i":
        return _THEN_I.match(clause.text, clause.end) is not None
    if rule.wants in {"order", "correction"}:
        return bool(raw) and (clause.corrects or rule.wants == "order")
    if rule.wants == "trait":
        return not raw or _TAIL.match(raw) is not None
    if rule.wants == "word":
        return len(raw.split()) <= 4 and not _POINTING.match(clause.text, clause.start, clause.end)
    if rule.wants in _FORMS:
        return _FORMS[rule.wants].match(raw) is not None
    if not raw:
        return rule.wants == "any"
    return not _JOINED.match(raw) and not _POINTING.match(raw) and _fits_open(rule, raw, when, clause)


_LONGEST = 26
_TAIL = re.compile(
    r"(?:[,]|at|in|for|from|with|by|who|working|and|named|called|to|on|since|of|about|as|fluently|\(|that|which|very"
    r"|a bit|fluent|[Ss]panish|[Ff]rench|[Gg]erman|[Ii]talian|the)\b|(?!I\b)[,A-Z\d(]"
)
_THEN_I = re.compile(r",?\s*i\b", re.IGNORECASE)
_JOINED = re.compile(r"(?:and|or|but|like|as)\b")
_FORMS = {"number": re.compile(r"\d{1,3}\b"), "name": _NAME_ONLY, "place": _PLACE}


def _fits_open(rule: Rule, raw: str, when: Interval | None, clause: _Clause) -> bool:
    """Whether open words name a thing to like, a title, what has happened by now or what is ahead."""
    spoken = clause.turn.occurred_at
    if rule.wants == "thing":
        return not _SHOWN.match(raw) and len(raw.split()) <= 16
    if rule.wants == "title":
        return not _EVAL.match(raw)
    if rule.wants == "event":
        return when is not None and when.start <= spoken and len(raw.split()) >= 2
    if rule.wants == "ahead":
        return (
            when is not None and when.end > spoken and len(raw.split()) >= 2 and not raw.startswith(("not ", "never "))
        )
    return True


def _asked_to_keep(clause: _Clause, policy: ExtractionPolicy) -> Candidate | None:
    """`Remember that …` with a clause no other rule reads: kept as it was asked."""
    raw = _object(clause.text, clause.start, clause.end)
    if _YOU.search(raw) or _DANGLING.search(raw) or len(raw.split()) < 3 or _POINTING.match(raw):
        return None
    text = f"{clause.speaker.name or 'The user'} asks to remember that {_lowered(_reworded(raw, clause.start, clause))}"
    return _built(clause, _KEEP, text, policy)


_KEEP = Rule("remember", "fact", "probable", "open", REMEMBER, "")


def _foreign(clause: _Clause, policy: ExtractionPolicy) -> Candidate | None:
    """German, French, Spanish: the few patterns that need no rewriting of what follows."""
    for tongue in TONGUES:
        for rule in tongue.rules:
            found = rule.head.match(clause.words)
            if not found:
                continue
            raw = _object(clause.text, clause.start + found.end(), clause.end)
            if not _fits_foreign(rule, raw) or tongue.refused.search(raw):
                return None
            verb, words = found.groupdict().get("v") or "", found.groupdict().get("w") or ""
            text = rule.says.format(
                s=clause.speaker.name or tongue.subject, v=FOREIGN_VERBS.get(verb.casefold(), verb), w=words, o=raw
            )
            return _built(clause, rule, text, policy)
    return None


def _fits_foreign(rule: Rule, raw: str) -> bool:
    if rule.wants == "name":
        return _NAME_ONLY.match(raw) is not None
    return (bool(raw) or rule.wants == "any") and len(raw.split()) <= 10 and not _YOU.search(raw)
