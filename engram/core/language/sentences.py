"""How people write: what in a turn is the speaker's own plain assertion, sentence by
sentence (row X2).

Everything that is someone else's text, a question, a doubt or a joke is taken out
before a rule may read it. English, with the stops of other scripts; positions always
refer to the original text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.core.language.quotations import is_title, parts

if TYPE_CHECKING:
    from collections.abc import Iterator

MASK = "\x00"
"""Stands for one character that no rule may read."""

_LINES = re.compile(r"^[ \t]*(?:>|[-*+•|#]|\d{1,2}[.)][ \t])[^\n]*", re.MULTILINE)
_SCRIPT = re.compile(r"^[ \t]*[A-Z][\w ]{0,20}:[ \t][^\n]*", re.MULTILINE)
_INLINE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\[(?:shares|redacted)[^\]\n]*\]|https?://\S+|<[a-z/][^<>\n]*>",
    re.DOTALL,
)


def plain(text: str) -> str:
    """`text` of the same length in which code, lists, links and what somebody else
    wrote are masked.

    A short quoted title (`"Charlotte's Web"`) is not speech and stays; typographic
    apostrophes become `'`.
    """
    text = text.replace("’", "'")
    for pattern in (_INLINE, _LINES):
        text = pattern.sub(_blank, text)
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


_NOT_BREAK = re.compile(r"[^\n]")


def _blank(found: re.Match[str]) -> str:
    return _NOT_BREAK.sub(MASK, found.group())


_END = re.compile(r"[.!?]+[\"')\]]*(?=[\s\x00]|$)|[。！？…]+|\n+")
_ABBREVIATIONS = frozenset(
    {
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "st",
        "vs",
        "etc",
        "e.g",
        "i.e",
        "approx",
        "jr",
        "sr",
        "inc",
        "ltd",
    }
    | {
        "u.s",
        "u.k",
        "a.m",
        "p.m",
        "z.b",
        "bzw",
        "ca",
        "sra",
        "mme",
        "dept",
        "ave",
        "mt",
    }
)
_NUMBERED = frozenset({"no", "nr"})
"""Abbreviations only before a number: `no` is a word."""
_DAY_MONTH = re.compile(
    r"\s(?:[a-zäöü]|Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)"
)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """The sentences of `text` as places, each with its closing signs.

    A full stop after an abbreviation, an initial or a day number does not end one; a
    line break does.
    """
    start = 0
    for found in _END.finditer(text):
        if found.group() == "." and _is_abbreviation(text, found.start(), found.end()):
            continue
        yield from _trimmed(text, start, found.end())
        start = found.end()
    yield from _trimmed(text, start, len(text))


def _is_abbreviation(text: str, stop: int, after: int) -> bool:
    before = text[max(0, stop - 12) : stop].rpartition(" ")[2].rpartition("\n")[2]
    if before.isdigit():
        return len(before) <= 2 and _DAY_MONTH.match(text, after) is not None
    initial = len(before) == 1 and before.isupper() and before != "I"
    word = before.casefold().lstrip("(")
    if word in _NUMBERED:
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

# Where a clause may begin: after a conjunction or a sign, if a subject follows.
_SUBJECT = (
    r"(?:i|i'(?:m|ve|ll|d)|we|we'(?:re|ve|ll)|my|our|he|she|it|they|you|this|there|his|her|their|your"
    r"|(?:he|she|it|that|there|who|what)'s|(?:they|you)'(?:re|ve|ll))\b"
)
_JOIN = r"(?:and|but|so|because|'?cause|plus|also|or|yet|then|though|although|while|whereas|since|as|especially|even)"
_SPLICE = (
    r"(?:(?:the|this|that|these|those|my|our|his|her|its|their|your)\s(?:[\w'-]+\s){1,3}?|(?-i:[A-Z])[a-z]+\s)"
    r"(?:is|isn't|are|aren't|was|were|has|have|had|will|can|can't|do|does|don't|doesn't|did|didn't|makes?|tastes?|gets?"
    r"|got|went|needs?|takes?|feels?|looks?|comes?|lives?|loves?|works?|made|said|says|told|wants?|thinks?|agreed"
    r"|gave|brought|knows?|hates?|hated|loved|turned|insisted)\b"
)
"""A new main clause after a mere comma."""
_CUT = re.compile(
    rf"(?:[,;:)]|\s[-–—]+|—)\s*(?:{_JOIN}\s+){{0,2}}(?={_SUBJECT})"
    rf"|\s{_JOIN}\s+(?={_SUBJECT})"
    r"|,?\s+and\s+(?=(?:so far|(?:i )?need help|(?:i )?could use|looking for|was wondering|am looking"
    r"|since then|everything|things)\b)|,\s+(?=(?:things|everything)\b)"
    r"|\sand\s(?=(?P<shared>live in|work (?:as|at|for|in|from|remotely|part|full)|study|have (?:an?|two|three|four))\b)"
    r"|;\s|\s[-–—]+\s|—|\s\(|\)|,?\s(?:but|because|although|though|whereas|unless)\s|,?\s'cause\s"
    r"|,\s(?=(?:which|who|where|when|maybe|perhaps|since|as|while|so|too|right|even"
    r"|especially|how|what|do|have|thanks|just|would you|can you|believe it)\b)"
    r"|,?\s(?:otherwise|apart from that|other than that|sonst|ansonsten|sinon|por lo demás)[\s,]"
    r"|(?<! now on)(?<!forward)(?<!future),\s(?=(?:please|always|never|don't|let's)\b)"
    rf"|,\s(?:(?:and|but|so)\s)?(?={_SPLICE})|,\sand\s(?=(?:[\w'-]+\s){{1,4}}(?:is|are|was|were)\b)"
    r"|,?\s(?:und|aber)\s(?=(?:ich|wir|meine?|wohne|lebe|arbeite|komme aus)\b)"
    r"|,\s(?=(?:seit|weil|obwohl|damit|denn|sondern|dabei|aber)\b)|,?\s(?:et|mais)\s(?=(?:je|mon|ma|mes)\b|j')"
    r"|,?\s(?:y|pero)\s(?=(?:yo|me|mi|mis|vivo|trabajo|soy|tengo|hablo)\b)",
    re.IGNORECASE,
)


_PAIR = re.compile(r"(?:my|our)(?: [\w-]+){1,2}|[A-Z]\w+", re.IGNORECASE)
"""The first half of `my sister and I`, which is one subject."""


_STATED = re.compile(
    r"(?:i(?:'?m| am| live| work| study| have|'ve got| come)|my name(?:'s| is))\b"
    r"(?:(?!\b(?:to|who|that|which|whose|they|people|if|not)\b)[^\n])+",
    re.IGNORECASE,
)
"""A plain statement of the speaker's, after which a bare verb is theirs as well: `I'm
34 and live in Leeds`.
"""


def clauses(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The clauses of the sentence `text[start:end]`, without the signs between them."""
    for found in _CUT.finditer(text, start, end):
        if found["shared"] and not _STATED.fullmatch(text, start, found.start()):
            continue
        if found.group().strip().casefold() == "and" and _PAIR.fullmatch(
            text, start, found.start()
        ):
            continue
        if found.start() > start:
            yield from _trimmed(text, start, found.start())
        start = found.end()
    yield from _trimmed(text, start, end)


_ALIEN = re.compile(
    r"\b(?:if|unless|whether|wish|imagine|pretend|suppose|hypothetically|said|says|saying|told|tells|asked|replied"
    r"|texted|wrote:|quote|lyrics?|sings?|claims?|thinks|believes|(?:was|were) like|goes like"
    r"|dream(?:ed|t)|in my dreams?"
    r"|nightmare|in the game|my character|would have|could have|as though|as if|supposedly|rumou?r)\b",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:maybe|perhaps|might|may not|could|couldn't|would|wouldn't|i'd|probably|possibly"
    r"|guess|i think|i suppose|kind of|kinda"
    r"|sort of|not sure|thinking (?:of|about)|considering|wonder\w*|hopefully|should|shouldn't|seems?|or something"
    r"|almost|nearly|used to|not sure|some ?day|eventually|supposed|apparently|dunno|nothing|anything|whatever"
    r"|just kidding|tempted|likely|feel like|felt like)\b",
    re.IGNORECASE,
)
_MOCKERY = re.compile(
    r"\byeah,? right\b|\boh,? (?:great|joy|wonderful)\b|\bjust what i needed\b|\bi (?:just "
    r"|so |really )?love (?:it when"
    r"|being (?:stuck|ignored|late|broke)|getting (?:stuck|ignored|lied|yelled|paged|woken)|having to|waiting|paying"
    r"|cleaning up after|doing (?:my )?taxes|taxes|mondays|traffic)"
    r"|\ballergic to (?:mondays?|work|people|mornings|exercise|nonsense|fun)\b"
    r"|[🙄😒🙃😏]|\bas if\b|\bnot!|(?:^|\s)/s\b",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(
    r"(?:\.\.+|…|[-–—,:])[\"')]*$|\b(?:and|or|but|the|a|to|of|with|because|my|in|at)$",
    re.IGNORECASE,
)


def refusal(sentence: str) -> str:
    """Why nothing may be read from `sentence`: question, mockery, unfinished or not the
    speaker's own; or ''.
    """
    if "?" in sentence or "？" in sentence:
        return "question"
    if _MOCKERY.search(sentence):
        return "mockery"
    if _UNFINISHED.search(sentence.rstrip(MASK)):
        return "unfinished"
    return (
        "not asserted"
        if _ALIEN.search(sentence) or _AFTERTHOUGHT.search(sentence)
        else ""
    )


_ASKED_FOR = re.compile(
    r"(?:(?:and|also|so|oh|ok(?:ay)?|hey|hi|hello|thanks|great)[,!]? ){0,2}(?:(?:could|can|would|will) you"
    r" (?:please |kindly |also )?(?=(?:always|never|keep your \w+s|set (?:me )?a reminder"
    r"|remind me(?! (?:again )?(?:what|how|who|why|where|which|when|of)))\b)"
    r"|(?:kannst|könntest|würdest) du (?=mich\b.* daran erinnern,)"
    r"|(?:peux-tu|pourrais-tu|tu peux) (?=me rappeler d)|¿?(?:me )?(?:puedes|podrías) (?=recordar))",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r",?\s(?:and |so |but )?(?:can|could|may|should|will|would|do|does|did|is|are|any|what|which|where|how|who)"
    r" (?:i|you|we|there|it|they|he|she|anyone|somebody|someone|anybody|would|do|can|should|is|are|else|much|many"
    r"|ideas?|tips|advice|suggestions?|recommendations?)\b(?P<rest>[^?]*)\?+\s*\Z",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:and |so |but |or |well,? |ok(?:ay)?,? )*(?:can|could|may|should|shall|will|would|do|does|did|don't|is|isn't"
    r"|are|am|was|were|has|have|had|what|which|where|when|how|who|why|any)\b",
    re.IGNORECASE,
)


def asserted(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of the sentence `text[start:end]` that asserts something before it asks,
    or asks for a thing to be kept.

    `I fly on Monday, can you wake me?` asserts its first half; `Could you always use
    metric units?` is an order, and `Can you remind me to call Anna?` a wish. Of any
    other sentence the whole, so that a question stays one.
    """
    if found := _ASKED_FOR.match(text, start, end):
        return found.end(), start + len(text[start:end].rstrip("? "))
    if "?" in text[start:end] and not _ASKING.match(text, start, end):
        found = _ASIDE.search(text, start, end)
        if found and len(found["rest"].split()) >= _QUESTION:
            return start, found.start()
    return start, end


_QUESTION = 2
"""Words after `can you` that make it a question of its own: `don't you?` asks for
assent.
"""
_TAKES_BACK = re.compile(
    r"(?:oh |ah |ach |oops,? |sorry,? )?(?:(?:wait|no)[, ]+(?:wait|no)\b|no,? (?:sorry|i mean)\b|i meant\b|scratch that"
    r"|strike that|correction:|sorry, i mean\b|(?:no|nein|non|nee)[:,] ?(?!not\b|never\b|really\b|even\b|nicht\b|ich\b)"
    r"\S+(?: \S+){0,2}[.!]?\Z|nein, (?:doch|ich meine|quatsch)|quatsch\b|(?:ach )?ich meinte\b"
    r"|non,? (?:attends|je veux dire)|je voulais dire|no, espera|perdón,|quise decir|digo,)",
    re.IGNORECASE,
)


def is_taken_back(sentence: str) -> bool:
    """Whether `sentence` takes back the one before it (`No wait, I meant Thursday.`)."""
    return _TAKES_BACK.match(sentence) is not None


_AFTERTHOUGHT = re.compile(
    r",\s*(?:i think|i guess|i suppose|i believe|maybe|perhaps|probably|possibly|or something|(?:i'm )?not sure)[.!]*$",
    re.IGNORECASE,
)


def is_doubtful(clause: str) -> bool:
    """Whether a clause hedges."""
    return _DOUBT.search(clause) is not None


_GAME = re.compile(
    r"\brole-?play|\bpretend (?:to be|you|that|i)|\bact as (?:a|an|my|the|if)\b"
    r"|\byou are now\b|\bin character\b|\bfictional\b"
    r"|\bjust kidding\b|\bkidding\b|\bjk\b|\bjust joking\b|\bi'm joking\b|\bsarcas|(?:^"
    r"|\s)/s\b|\blyrics\b|\bonce upon a time\b"
    r"|\bfirst-person perspective\b|\btongue twister\b|\btest message\b|\bfor example,? i\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"(?:^|[.!?\n]\s*|\bplease |\bcan you |\bcould you |\bhelp me )(?:re)?(?:write|draft"
    r"|compose|translate|proofread|paraphrase"
    r"|summari[sz]e|correct|edit|improve|rephrase|continue|generate|create|respond|reply"
    r"|answer|analy[sz]e|explain|turn)\b",
    re.IGNORECASE,
)


def is_game(text: str) -> bool:
    """Whether a turn is a joke, role-play or a text to work on, so that its sentences
    assert nothing.
    """
    if _GAME.search(text):
        return True
    task = _TASK.search(text)
    return task is not None and (
        "\n" in text.strip() or ":" in text[task.start() :] or len(text) > 600
    )


def is_task(text: str) -> bool:
    """Whether a turn asks for a text, so that the people in it may be invented."""
    return _TASK.search(text) is not None


_PERSON = {
    "i": "they",
    "i'm": "they are",
    "i've": "they have",
    "i'll": "they will",
    "i'd": "they would",
    "me": "them",
    "my": "their",
    "mine": "theirs",
    "myself": "themselves",
    "we": "they",
    "we're": "they are",
    "we've": "they have",
    "we'll": "they will",
    "we'd": "they would",
    "us": "them",
    "our": "their",
    "ours": "theirs",
    "ourselves": "themselves",
}
_FIRST = re.compile(
    r"\b(?:(i) (am|was)|((?:i|we)'(?:m|ve|ll|d|re)|myself|mine|my|me|ourselves|ours|our|we|us|i(?! (?-i:[A-Z0-9]))))\b",
    re.IGNORECASE,
)


def third_person(words: str) -> str:
    """First-person words as said of somebody else, without gender: `my dog and I` →
    `their dog and they`.
    """

    def turn(found: re.Match[str]) -> str:
        if found[1]:
            return "they are" if found[2].casefold() == "am" else "they were"
        is_title = found[3][0].isupper() and found[3][0] != "I"
        return found[3] if is_title else _PERSON.get(found[3].casefold(), found[3])

    return _FIRST.sub(turn, words)


_VERBS = {
    "have": "has",
    "be": "is",
    "do": "does",
    "go": "goes",
    "don't": "doesn't",
    "am": "is",
    "'m": "is",
    "'ve": "has",
}


def conjugated(verb: str) -> str:
    """A present verb for he, she or it: `study` → `studies`, `'ve` → `has`, `get up` →
    `gets up`.
    """
    verb, blank, rest = verb.casefold().partition(" ")
    if blank:
        return f"{conjugated(verb)} {rest}"
    if verb in _VERBS:
        return _VERBS[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    return (
        verb[:-1] + "ies"
        if verb.endswith("y") and verb[-2:-1] not in "aeiou"
        else verb + "s"
    )
