"""What the words after a rule's head must be before the offline extractor believes them
(rows X2, C3).

An object is refused where it speaks to somebody, ends in mid-air, points at what only
the listener sees, or holds a date of another clause; each kind of object has a test of
its own, which a rule names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.language.dates import MONTHS
from engram.extraction.rules.people import NAME, TITLE
from engram.extraction.rules.table import GROUPS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engram.core.language.dates import Span
    from engram.core.records import Interval

_TRAIL = re.compile(
    r"(?:[\s.!,;:~*)]|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]|\b(?:too|as well|and all|lol|lmao|xd|haha+|hehe+|ha"
    r"|though|tho|so much|right now|now|actually|anyway|btw|by the way|you know|of course|for sure|these days"
    r"|at the moment|currently|lately|recently|please|pls|honestly|to be honest|tbh|thanks|thank you"
    r"|(?<=, )(?:(?:note|write|jot) (?:that|this|it) down|(?:remember|note) (?:that|this|it)|keep (?:that|this|it)"
    r" in mind)"
    r"|bitte|s'il (?:te|vous) pla[iî]t|por favor"
    r"|i must say|i have to say|i admit|for what it's worth|for the record|fyi|obviously|basically|still)"
    r"(?=[\s.!,;]*$))+$",
    re.IGNORECASE,
)


def bare(text: str, start: int, end: int) -> str:
    """`text[start:end]` without closing signs and fillers (`by the way`, `please`,
    `lol`).
    """
    return _TRAIL.sub("", text[start:end])


_AND_DOES = re.compile(r",? and (?=(?-i:[a-z]))", re.IGNORECASE)
_AFTER_NAME = re.compile(r",? (?:and|und|et|y) (?=[a-zäöü])")


def shortened(wants: str, raw: str) -> str:
    """`raw` without what a place or a name is joined to: `Gothenburg and laughs at me`
    is `Gothenburg`.
    """
    if wants == "place":
        return _AND_DOES.split(raw, maxsplit=1)[0]
    return _AFTER_NAME.split(raw, maxsplit=1)[0] if wants in {"name", "person"} else raw


_YOU = re.compile(r"\b(?:you|your|yours|y'all|yourself|u|ur)\b", re.IGNORECASE)
_DANGLING = re.compile(
    r"\b(?:and|or|but|the|an?|to|of|with|for|my|in|at|on|is|are|was|that|which|who|when|from|because|so|as|than|by"
    r"|about)$",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"(?:it|its|it's|that|that's|this|these|those|them|him|her|his|he|she|they|their|there|here|how|what|when|where"
    r"|why|who|everything|everyone|every|all|one|some|both|any|something|someone|stuff|things?|the way|the idea"
    r"|the thought|the fact|the sound of that|seeing|hearing"
    r"|being(?! (?:near|outdoors|outside|in nature|by the|on the water))|to see|to hear|to know|to be|to have|to help"
    r"|to chat|to talk|to say|to share|to go|to come|to try|to do|to get|to make|to think|to believe|to ask"
    r"|to imagine|getting|having|knowing|us|our|so|too|more|another|such|me|not|much)\b",
    re.IGNORECASE,
)
_SHOWN = re.compile(
    r"the (?!outdoors|ocean|sea|beach|mountains?|rain|snow|cold|heat|gym|theat|cinema|forest|woods|countryside|city"
    r"|piano|guitar|violin|smell of|taste of|feeling of|sounds? of (?=[a-z]+s\b)|color \w+$|colour \w+$|peace"
    r"|(?:[A-Z][\w']*(?: of| the|$)? ?){1,3}$|\"[A-Z])"
)
_EVAL = re.compile(
    r"(?:so|very|really|such|quite|pretty|great|amazing|awesome|happy|good|doing|coming|the best|also|always"
    r"|here|there)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"(?:the |a |an |downtown |south |north |east |west |central )*"
    r"(?:[A-Z]|(?:small|big|tiny|quiet) (?:town|city|village))"
)
_UNTIED = re.compile(
    r"\b(?:it|one|ones|another|this|that(?=\s*(?:$|x{3}|on\b|in\b|at\b|too|later|soon))|these|those|that stuff"
    r"|that one|here|on the \d{1,2}(?:st|nd|rd|th)|since then|since the \w+$|a ton|a lot$|a bunch(?! of)|a few more"
    r"|similar(?! to)"
    r"|some more|some(?=\s*(?:$|x{3})))\b(?!')",
    re.IGNORECASE,
)
_APART = re.compile(
    r"\b(?:that|which|who|where|when|(?:she|he|they|i)'\w+|(?:before|after) \w+ \w)",
    re.IGNORECASE,
)
_UNFINISHED_SPAN = re.compile(
    r"x{3},? (?:to|until|till|-|through) (?:the )?\d{1,2}(?:st|nd|rd|th)?\b|x{3},? (?:19|20)\d\d\b"
    r"|x{3},? (?:(?:on|in) )?x{3}|x{3},? and (?:on )?(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
)
_UNREAD = re.compile(
    rf"\b(?:{'|'.join(MONTHS)}) \d|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{'|'.join(MONTHS)})\b"
    r"|\b(?:last|this|next) (?:week|weekend|month|year|\w+day)\b|\b(?:yesterday|today|tomorrow|tonight)\b"
)


def is_apart(words: str) -> bool:
    """Whether `words` hold a clause of their own, to which a date behind them would
    seem to belong.
    """
    return _APART.search(words) is not None


def is_untied(raw: str, start: int, dates: Sequence[Span], *, is_annual: bool) -> bool:
    """Whether `raw`, at `start`, means something outside it, or a date of another
    clause or of no known year.

    `it` after `and` may be inside; a birthday, which `is_annual`, needs no year.
    """
    for date in dates:
        first, last = max(0, date.start - start), max(0, date.end - start)
        if _APART.search(raw[:first]):
            return True
        raw = raw[:first] + "x" * (last - first) + raw[last:]
    if (not is_annual and _UNREAD.search(raw)) or _UNFINISHED_SPAN.search(raw):
        return True
    found = _UNTIED.search(raw)
    return found is not None and not (
        found.group().casefold() == "it" and " and " in raw[: found.start()]
    )


def is_whole(raw: str) -> bool:
    """Whether `raw` is of a fitting length, speaks to nobody and does not end in
    mid-air.
    """
    return (
        not _YOU.search(raw)
        and not _DANGLING.search(raw)
        and len(raw.split()) <= _LONGEST
    )


def is_pointing(words: str) -> bool:
    """Whether `words` begin by pointing at something else."""
    return _POINTING.match(words) is not None


_LONGEST = 26
_TAIL = re.compile(
    r"(?:[,]|at|in|for|from|with|by|who|working|and|named|called|to|on|since|of|about|as|fluently|\(|that|which|very"
    r"|a bit|fluent|any ?more|any longer|[Ss]panish|[Ff]rench|[Gg]erman|[Ii]talian|the)\b|(?!I\b)[,A-Z\d(]"
)
_HOLLOW = re.compile(
    r"(?:a|an|such a|the) (?:\w+ )?(?:time|day|blast|experience|weekend|week)"
    r"(?: (?:last|this|yesterday|today)\b[\w ]*)?$"
    r"|subscribing\b(?! to)",
    re.IGNORECASE,
)
_REMINDER = re.compile(
    r"(?!.{0,40}\b(?:how|what|why|where|who|which|whether)\b)"
    r"(?:(?:again|later|please|also|tomorrow|today|tonight|(?:on|at|in|for|by|before|after|next|this|every) [\w:'.-]+"
    r"(?: [\w:'.-]+){0,3}?),? ){0,2}"
    r"(?:(?P<do>to (?!never\b|not\b|be\b|do (?:things|stuff|something)\b)\w{2})|about |of )",
    re.IGNORECASE,
)
"""What somebody wants to be reminded to do, or about where they name a time; a question
for what is known is none.
"""
_JOINED = re.compile(r"(?:and|or|but|like|as)\b")
NAME_ONLY = re.compile(rf"(?:{TITLE} )?{NAME}(?: [^\W\d_a-z][\w'-]+)?\Z")
_PERSON = re.compile(
    rf"(?:{TITLE} )?{NAME}(?: [^\W\d_a-z][\w'-]+)?(?:,? (?:on|in|at|from|near|by|of)\b[^,;]*)?\Z"
)
_FORMS = {
    "number": re.compile(rf"(?:\d{{1,3}}|{GROUPS['NUMBER']})\b", re.IGNORECASE),
    "name": NAME_ONLY,
    "greeted": NAME_ONLY,
    "person": _PERSON,
    "place": _PLACE,
}


def fits(wants: str, raw: str, when: Interval | None, spoken: datetime) -> bool:
    """Whether the object `raw` of a clause that names the time `when` passes the test
    `wants`.
    """
    if wants == "order":
        return bool(raw)
    if wants == "trait":
        return not raw or _TAIL.match(raw) is not None
    if wants == "reminder":
        found = _REMINDER.match(raw)
        return found is not None and (
            when.end > spoken if when else found["do"] is not None
        )
    if wants in _FORMS:
        return _FORMS[wants].match(raw) is not None
    if not raw:
        return wants == "any"
    return (
        not _JOINED.match(raw)
        and not is_pointing(raw)
        and _fits_open(wants, raw, when, spoken)
    )


def _fits_open(wants: str, raw: str, when: Interval | None, spoken: datetime) -> bool:
    """Whether open words name a thing to like, a title, what has happened by now or
    what is ahead.
    """
    long_enough = len(raw.split()) >= 2
    if wants == "thing":
        return not _SHOWN.match(raw) and len(raw.split()) <= 16
    if wants == "title":
        return not _EVAL.match(raw)
    if wants == "event":
        return (
            when is not None
            and when.start <= spoken
            and long_enough
            and not _HOLLOW.match(raw)
        )
    if wants == "ahead":
        return (
            when is not None
            and when.end > spoken
            and long_enough
            and not raw.startswith(("not ", "never "))
        )
    return True
