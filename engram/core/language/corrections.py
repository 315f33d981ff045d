"""Corrections of an earlier value: "it's Tuesday, not Wednesday" (A10, X8).

The rule table has the forms (`corrects` in section `[rules]`). One has to match the
whole sentence, and both values have to be of one kind, so a contrast of taste ("I like
tea, not coffee"), a doubt, a question, a quotation or a statement of another person
corrects nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engram.core.language import languages
from engram.core.language.dates import has_time_expression
from engram.core.language.sentences import MASK, is_doubtful, plain, sentences
from engram.core.language.states import KEY, grammar
from engram.core.language.topics import content, is_question

_MOST_CHARS = 200
_MOST_WORDS = 5
_MOST_NAMES = 3
_END = re.compile(r"[\s.!。！…]+$")
_BREAK = re.compile("[,;:()]")
_FIGURE = re.compile(r"\d")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction of `wrong` to `right` in the sentence `start` to `end` of a turn.

    `wrong` is '' if the text has only the right name ("No wait, she's called Pippa").
    `subject` are the words for the thing with the value, '' if only a pronoun refers to
    it. `bare` is true if the sentence has no verb.
    """

    right: str
    wrong: str
    subject: str
    start: int
    end: int
    language: str
    bare: bool = False


def corrections(text: str) -> tuple[Correction, ...]:
    """Return the corrections in a turn, in order.

    >>> one = corrections("No, Mira's recital is on the 14th, not the 12th.")[0]
    >>> one.right, one.wrong, one.subject
    ('14th', '12th', "Mira's recital")
    >>> corrections("Is it Tuesday, not Wednesday?")
    ()
    """
    masked = plain(text)
    found = (_of_sentence(masked, *place) for place in sentences(masked))
    return tuple(correction for correction in found if correction)


def corrected(sentence: str, correction: Correction) -> str:
    """Return an earlier sentence with the right value, or '' if that is not certain.

    The sentence has to contain the wrong value exactly once, and both values have to be
    of one kind: times or numbers, names, or predicates.
    """
    wrong = correction.wrong
    value = _value(wrong) if wrong else grammar(correction.language).naming
    places = list(value.finditer(sentence))
    if len(places) != 1 or is_question(sentence):
        return ""
    (place,) = places
    if not wrong:
        start, end = place.span("name")
        is_same = place["name"].casefold() == correction.right.casefold()
        return "" if is_same else sentence[:start] + correction.right + sentence[end:]
    if not (_is_of_one_kind(correction) or _is_predicate(sentence, place, correction)):
        return ""
    return sentence[: place.start()] + correction.right + sentence[place.end() :]


def is_about(correction: Correction, *texts: str) -> bool:
    """Return whether these texts have all words of the subject of a correction."""
    subject_words = content(correction.subject, correction.language)
    text_words = frozenset[str]().union(*(content(text) for text in texts))
    return subject_words <= text_words


def names_subject(correction: Correction) -> bool:
    """Return whether a correction names its subject."""
    return bool(content(correction.subject, correction.language))


def _of_sentence(text: str, start: int, end: int) -> Correction | None:
    sentence = text[start:end]
    told = _BLANKS.sub(" ", _END.sub("", sentence)).strip()
    if len(told) > _MOST_CHARS or MASK in told:
        return None
    if is_question(sentence) or is_doubtful(sentence):
        return None
    for code in languages.section(KEY):
        rules = grammar(code)
        words = rules.in_usual_form(told)
        for match in filter(None, (form.fullmatch(words) for form in rules.corrects)):
            parts = match.groupdict(default="")
            subject, right, wrong = parts.get("s", ""), parts["r"], parts.get("w", "")
            is_said = _are_values(right, wrong) if wrong else _is_name(right)
            if not is_said or any(map(rules.linking.search, (right, wrong))):
                continue
            if rules.reported.search(f"{subject} {right} {wrong}"):
                continue
            is_bare = not parts.get("link")
            return Correction(right, wrong, subject, start, end, code, bare=is_bare)
    return None


def _are_values(*values: str) -> bool:
    return values[0] != values[1] and all(
        len(value.split()) <= _MOST_WORDS and not _BREAK.search(value)
        for value in values
    )


def _is_name(value: str) -> bool:
    return len(value.split()) <= _MOST_NAMES and all(
        word[:1].isupper() for word in value.split()
    )


def _value(words: str) -> re.Pattern[str]:
    """Return a pattern of a value in a sentence: whole words, in any case."""
    return re.compile(rf"(?<![\w-]){re.escape(words)}(?![\w-])", re.IGNORECASE)


def _is_of_one_kind(correction: Correction) -> bool:
    """Return whether both values are times or numbers, or both names."""
    right, wrong = correction.right, correction.wrong
    timed = [
        bool(_FIGURE.search(one) or has_time_expression(one)) for one in (right, wrong)
    ]
    if any(timed):
        return all(timed)
    return all(word[:1].isupper() for word in f"{right} {wrong}".split())


def _is_predicate(sentence: str, place: re.Match[str], correction: Correction) -> bool:
    """Return whether the value is the predicate at the end of the sentence."""
    if correction.bare:
        return False
    is_last = not _END.sub("", sentence[place.end() :])
    before = sentence[: place.start()].rstrip()
    return is_last and any(
        match.end() == len(before)
        for match in grammar(correction.language).linking.finditer(before)
    )
