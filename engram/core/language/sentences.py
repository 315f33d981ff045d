"""Sentences and clauses of a turn, and which of them the speaker asserts (row X2).

Text of other people, questions, doubts and jokes are removed before a rule parses a
clause. Patterns are in section `[sentences]` of the language files, most of them
English. Positions always refer to the original text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from engram.core.language import languages
from engram.core.language.languages import LazyPattern
from engram.core.language.quotations import is_title, parts
from engram.core.language.words import VERB_FORMS

if TYPE_CHECKING:
    from collections.abc import Iterator

MASK = "\x00"
"""Replaces one character that no rule may parse."""

_LINES = LazyPattern(r"^[ \t]*(?:>|[-*+•|#]|\d{1,2}[.)][ \t])[^\n]*", re.MULTILINE)
_SCRIPT = LazyPattern(r"^[ \t]*[A-Z][\w ]{0,20}:[ \t][^\n]*", re.MULTILINE)
_INLINE = LazyPattern(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\[(?:shares|redacted)[^\]\n]*\]|https?://\S+|<[a-z/][^<>\n]*>",
    re.DOTALL,
)


_EMOTICON = LazyPattern(r"(?<!\S)[:;=]['-]?[()DPp/|3](?!\S)")
"""Smileys such as `:)`, whose colon does not end a sentence."""


def plain(text: str) -> str:
    """Return `text` of the same length with code, lists, links and quotations masked.

    A short quoted title (`"Charlotte's Web"`) is not speech and stays; typographic
    apostrophes become `'`.
    """
    text = text.replace("’", "'")
    for pattern in (_INLINE, _LINES):
        text = pattern.sub(_blank, text)
    text = _EMOTICON.sub(lambda found: " " * len(found.group()), text)
    if len(_SCRIPT.findall(text)) > 1:
        text = _SCRIPT.sub(_blank, text)
    own, place = [], 0
    for start, end in parts(text):
        part = text[start:end]
        own += [
            text[place:start],
            part if is_title(part) else _NOT_BREAK.sub(MASK, part),
        ]
        place = end
    return "".join([*own, text[place:]])


_NOT_BREAK = LazyPattern(r"[^\n]")


def _blank(match: re.Match[str]) -> str:
    return _NOT_BREAK.sub(MASK, match.group())


_END = LazyPattern(r"[.!?]+[\"')\]]*(?=[\s\x00]|$)|[。！？…]+|\n+")
_KEY = "sentences"
_ABBREVIATIONS = languages.all_words(_KEY, "abbreviations")
_NUMBERED = languages.all_words(_KEY, "numbered_abbreviations")
"""Words that are abbreviations only before a number, such as `no`."""
_NUMBERED_ENDS = tuple(languages.all_words(_KEY, "numbered_ends"))
"""Ends of such abbreviations: `Hauptstr. 5`."""
_DAY_MONTH = LazyPattern(
    rf"\s(?:[a-zäöü]|{languages.any_pattern(_KEY, 'short_months')})"
)


@lru_cache(maxsize=1 << 6)
def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Return the sentences of `text` as spans, each with its closing signs.

    A full stop after an abbreviation, an initial or a day number does not end one; a
    line break does.
    """
    return tuple(_sentences(text))


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _END.finditer(text):
        if match.group() == "." and _is_abbreviation(text, match.start(), match.end()):
            continue
        yield from _trimmed(text, start, match.end())
        start = match.end()
    yield from _trimmed(text, start, len(text))


def _is_abbreviation(text: str, stop: int, after: int) -> bool:
    before = text[max(0, stop - 12) : stop].rpartition(" ")[2].rpartition("\n")[2]
    if before.isdigit():
        return len(before) <= 2 and _DAY_MONTH.match(text, after) is not None
    initial = len(before) == 1 and before.isupper() and before != "I"
    word = before.casefold().lstrip("(")
    if word in _NUMBERED or word.endswith(_NUMBERED_ENDS):
        return text[after : after + 2].strip().isdigit()
    return after < len(text) and (initial or word in _ABBREVIATIONS)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start] in _BLANK:
        start += 1
    while end > start and text[end - 1] in _BLANK:
        end -= 1
    if start < end:
        yield start, end


_BLANK = " \t\r\n" + MASK


def _compiled(key: str) -> re.Pattern[str]:
    """Return the patterns of a key as alternatives, without regard to case."""
    return re.compile(languages.any_pattern(_KEY, key), re.IGNORECASE)


def _boundary() -> re.Pattern[str]:
    """Return the words and signs between two clauses."""
    pattern = languages.any_pattern(_KEY, "clause_boundary")
    for hole, key in _PARTS.items():
        pattern = pattern.replace(hole, languages.any_pattern(_KEY, key))
    return re.compile(pattern, re.IGNORECASE)


_PARTS = {
    "<SUBJECT>": "clause_subject",
    "<CONJUNCTION>": "conjunction",
    "<SPLICE>": "comma_splice",  # a new main clause after a mere comma
}
_CUT = _boundary()
_JOINING = languages.all_words(_KEY, "joining")
_DOUBLE_SUBJECT = _compiled("double_subject")
"""The first half of `my sister and I`, which is one subject."""


def clauses(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the clauses of `text[start:end]`, without separators."""
    for match in _CUT.finditer(text, start, end):
        if match.group().strip().casefold() in _JOINING and _DOUBLE_SUBJECT.fullmatch(
            text, start, match.start()
        ):
            continue
        if match.start() > start:
            yield from _trimmed(text, start, match.start())
        start = match.end()
    yield from _trimmed(text, start, end)


_DOUBT = rf"\b(?:{languages.any_pattern(_KEY, 'doubt')})\b"
_DOUBTS = languages.Screen([("doubt", languages.LazyPattern(_DOUBT, re.IGNORECASE))])
_NO_BLOOD_GROUP = "".join(rf"(?-i:(?<!\b{one}))" for one in ("A", "B", "AB", "O", "0"))
_REFUSALS = languages.Screen(
    (reason, languages.LazyPattern(words, re.IGNORECASE))
    for reason, words in (
        ("mockery", languages.any_pattern(_KEY, "mockery")),
        ("mockery", "[🙄😒🙃😏]"),
        ("unfinished", rf"(?:\.\.+|…|[–—,:]|{_NO_BLOOD_GROUP}-)[\"')]*{MASK}*$"),
        ("unfinished", rf"\b(?:{languages.any_pattern(_KEY, 'unfinished')}){MASK}*$"),
        ("not asserted", rf"\b(?:{languages.any_pattern(_KEY, 'not_asserted')})\b"),
        (
            "not asserted",
            rf",\s*(?:{languages.any_pattern(_KEY, 'afterthought')})[.!]*$",
        ),
    )
)


def refusal(sentence: str) -> str:
    """Return why no rule may parse `sentence`, or ''.

    The reasons are question, mockery, unfinished and not asserted.
    """
    if "?" in sentence or "？" in sentence:
        return "question"
    return next(_REFUSALS.found(sentence), "")


_WISH = LazyPattern(
    rf"(?:(?:{languages.any_pattern(_KEY, 'before_wish')})[,!]? ){{0,2}}"
    rf"(?:{languages.any_pattern(_KEY, 'wish')})",
    re.IGNORECASE,
)
_ASKS = rf"(?:{languages.any_pattern('questions', 'begins')})(?!\w)"
_QUESTION_AT_END = LazyPattern(
    rf"(?:(?:[,;]|\s[–—-])\s+(?:(?:{languages.any_pattern(_KEY, 'conjunction')})\s+)?(?={_ASKS})\S+"
    rf"|(?:{languages.any_pattern(_KEY, 'question_at_end')})\b)(?P<rest>[^?]*)[?？]+\s*\Z",
    re.IGNORECASE,
)
_QUESTION_START = LazyPattern(
    rf"\W*(?:{languages.any_pattern(_KEY, 'question_start')}|{_ASKS})", re.IGNORECASE
)


def before_question(text: str, start: int, end: int) -> int:
    """Return where a sentence ends that asks only after it has stated something.

    The sentence is `text[start:end]`: `I fly on Monday, can you wake me?` ends before
    `can`. For any other sentence it is `end`, so that a question remains one.
    """
    if not text[start:end].endswith(("?", "？")) or _QUESTION_START.match(
        text, start, end
    ):
        return end
    match = _QUESTION_AT_END.search(text, start, end)
    if match and len(match["rest"].split()) >= _QUESTION:
        return match.start()
    return end


def asserted(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of a sentence that asserts something before it asks.

    The sentence is `text[start:end]`. `Could you always use metric units?` is an order,
    and `Can you remind me to call Anna?` a wish.
    """
    if match := _WISH.match(text, start, end):
        return match.end(), start + len(text[start:end].rstrip("? "))

    return start, before_question(text, start, end)


_QUESTION = 2
"""Words after `can you` that make a question; `don't you?` only asks for assent."""
_TAKES_BACK = LazyPattern(
    rf"(?:{languages.any_pattern(_KEY, 'interjection')})?"
    rf"(?:{languages.any_pattern(_KEY, 'takes_back')}"
    rf"|(?:{languages.any_pattern(_KEY, 'no')})[:,] ?"
    rf"(?!{languages.any_pattern(_KEY, 'not_after_no')})"
    r"\S+(?: \S+){0,2}[.!]?\Z)",
    re.IGNORECASE,
)


def is_taken_back(sentence: str) -> bool:
    """Return whether `sentence` retracts the preceding one: `No, I meant Thursday.`"""
    return _TAKES_BACK.match(sentence) is not None


def is_doubtful(clause: str) -> bool:
    """Return whether a clause is hedged; `I promised Ben I'd come` is not."""
    return any(_DOUBTS.found(_PROMISED.sub(" ", clause)))


_PROMISED = _compiled("promised")
_GAMES = languages.Screen(
    (key, languages.LazyPattern(languages.any_pattern(_KEY, key), re.IGNORECASE))
    for key in ("not_in_earnest", "task")
)


def is_game(text: str) -> bool:
    """Return whether a turn is a joke, role-play or a text to edit.

    Such a turn asserts nothing.
    """
    for key, pattern in _GAMES.of(text):
        found = pattern.search(text)
        if found and (
            key != "task"
            or "\n" in text.strip()
            or ":" in text[found.start() :]
            or len(text) > 600
        ):
            return True
    return False


def is_task(text: str) -> bool:
    """Return whether a turn asks for a text, in which people may be invented."""
    return "task" in _GAMES.found(text)


_PRONOUNS = languages.section("sentences.third_person")["en"]
_FIRST = _compiled("first_person")


def third_person(words: str) -> str:
    """Return first-person words in the third person, without gender.

    `my dog and I` becomes `their dog and they`.
    """

    def turn(match: re.Match[str]) -> str:
        if match[1]:
            return "they are" if match[2].casefold() == "am" else "they were"
        is_title = match[3][0].isupper() and match[3][0] != "I"
        return (
            match[3] if is_title else str(_PRONOUNS.get(match[3].casefold(), match[3]))
        )

    return _FIRST.sub(turn, words)


def third_person_clause(clause: str, subject: str, possessive: str) -> str:
    """Return an English clause of a speaker as a statement about them.

    >>> third_person_clause("I'm late and my dog barks", "Ada", "Ada's")
    'Ada is late and their dog barks'
    >>> third_person_clause("my boss fired me", "the user", "the user's")
    "the user's boss fired the user"
    """
    own = _SPEAKER.match(clause)
    if _PARENT.match(clause):
        clause = f"my {clause[:1].lower()}{clause[1:]}"
    if own is None:
        if mine := _MINE.match(clause):
            rest = _AND_I.sub(f" and {subject}", clause[mine.end() :])
            return f"{possessive} {third_person(rest)}"
        return _MINE_LATER.sub(possessive, _ME_LATER.sub(subject, clause))
    verb, rest = own["verb"].strip(), own["rest"]
    if own["who"].casefold() == "we":
        subject = f"{subject} and others"
        verb = _OF_SEVERAL.get(verb.casefold(), verb)
    else:
        verb = _present(verb)
    told = " ".join(filter(None, (subject, own["adverbs"].strip(), verb)))
    return f"{told}{third_person(rest)}"


def _present(verb: str) -> str:
    """Return the third person of a verb, unless it is a past form or an auxiliary."""
    plain = verb.casefold()
    if plain in _SAID_OTHERWISE:
        return _SAID_OTHERWISE[plain]
    if denied := _DENIED.fullmatch(plain):
        return f"{_present(denied[1])} not"
    is_past = plain.endswith("ed") and plain not in _VERBS_IN_ED
    return verb if is_past or plain in _PAST_FORMS else conjugated(plain)


_SPEAKER = LazyPattern(
    r"(?P<who>i|we)"
    r"(?: (?:just|really|actually|also|still|even|now|already|finally|recently|totally"
    r"|definitely|absolutely|genuinely|personally|honestly|basically|currently))*"
    r"(?P<adverbs>(?: (?:never|always|often|only|once|both|all|soon|no longer"
    r"|(?!(?:fly|rely|apply|reply|supply|comply|imply)\b)\w+ly))*)"
    r"(?P<verb>'m|'re|'ve|'ll|'d| [\w'’]+)"
    r"(?: (?:just|really|actually|also|still|already|finally|recently|totally|now))*"
    r"(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_PARENT = LazyPattern(r"(?:mum|mom|mummy|mommy|dad|daddy)\b", re.IGNORECASE)
_MINE = LazyPattern(r"(?:my|our) ", re.IGNORECASE)
_AND_I = LazyPattern(r" and (?:I|me)\b", re.IGNORECASE)
_MINE_LATER = LazyPattern(r"\b(?:my|our)\b", re.IGNORECASE)
_ME_LATER = LazyPattern(r"\b(?:me|us|I|we)\b")
_DENIED = LazyPattern(
    r"(do|does|did|is|are|was|were|have|has|had|would|could|should|must)n['’]?t"
)
_OF_SEVERAL = {"'re": "are", "'ve": "have", "'ll": "will", "'d": "would"}
_SAID_OTHERWISE = {
    "'m": "is", "am": "is", "'ve": "has", "'ll": "will", "'d": "would", "were": "was",
    "don't": "does not", "can't": "cannot", "won't": "will not", "haven't": "has not",
    "cannot": "cannot", "didn't": "did not",
}  # fmt: skip
_VERBS_IN_ED = frozenset({"need", "feed", "bleed", "succeed", "speed", "breed"})
_PAST_FORMS = VERB_FORMS["en"].union(
    [
        "can",
        "could",
        "will",
        "would",
        "must",
        "should",
        "may",
        "might",
        "shall",
        "had",
        "was",
        "got",
        "quit",
        "split",
    ]
)
"""The auxiliaries and the irregular past forms, which have no ending."""

_VERBS = languages.section("sentences.third_person_verbs")["en"]


def conjugated(verb: str) -> str:
    """Return the third-person form of a present verb.

    `study` → `studies`, `'ve` → `has`, `get up` → `gets up`.
    """
    verb, blank, rest = verb.casefold().partition(" ")
    if blank:
        return f"{conjugated(verb)} {rest}"
    if verb in _VERBS:
        return str(_VERBS[verb])
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"
