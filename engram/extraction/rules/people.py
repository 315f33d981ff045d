"""Of whom a clause speaks: the names in it, what they are to each other, whom a pronoun
can stand for (rows X2, B1).

A pronoun is kept where the statement itself says whom it means, replaced where the
words just before name exactly one fitting person or place, and otherwise refuses the
statement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.core.language.dates import MONTHS
from engram.extraction.rules.table import GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KIN, PET, TONGUE = GROUPS["KIN"], GROUPS["PET"], GROUPS["TONGUE"]

NAME = r"(?-i:[^\W\d_a-z][\w'-]*[a-z][\w-]*(?: [^\W\d_a-z][\w-]*[a-z][\w-]*)?)"
TITLE = r"(?-i:Dr|Prof|Mrs?|Ms|Frau|Herr|Señora?|Madame|Monsieur)\.?"

_TITLED = rf"(?:{TITLE} )?{NAME}"
_NAMED = re.compile(
    r"(?:\b(?:named|called|names? (?:is|are)|(?:is|are) now|married to|engaged to|dating)"
    r"|^[Mm]y (?:[a-z-]+ ){0,2}[a-z-]+,?)"
    rf" ({_TITLED}(?:(?:, and |, | and ){_TITLED}){{0,4}})"
)


def names(words: str) -> tuple[str, ...]:
    """The names that a clause gives to people and animals."""
    return tuple(
        name
        for found in _NAMED.finditer(words)
        for name in re.findall(_TITLED, found[1])
    )


_NO_NAME = re.compile(
    rf"(?:{'|'.join(MONTHS)}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|{TONGUE}|The|A|An|This|That|These|Those|My|Our"
    r"|Your|His|Her|Its|Their|It|He|She|They|Let|We|You|I|I'\w+|Who|What|When|Where|Why|How|If|And|But|So|Or|As|At|In|On|Of"
    r"|To|For|From|With|No|Not|Yes|Yeah|Oh|Ok|Okay|Ah|Hi|Hey|Hello|Wow|Well|Also|Please|Thanks|Today|Tomorrow|Yesterday"
    r"|Now|Then|There|Here|Last|Next|Everyone|Everybody|Nobody|Somebody|Someone|Anyone|One|Some|Most|Many|All|Both|Each"
    r"|Every|None|Nothing|Something|Everything|Life|God|Jesus|Mom|Mum|Dad|Grandma|Grandpa|Which|Maybe|Just|Only|Work"
    r"|Music|Food|Love|People|Ha|Actually|Small|Update|By|Because|After|Before|While|Since|Once|Another|Other)\Z",
    re.IGNORECASE,
)
_A_NAME = re.compile(NAME)
_POSSESSED = re.compile(r"'s$")


@dataclass(frozen=True, slots=True)
class NamedSubject:
    """A named person or animal that a clause is about, up to `end`; `kin` says what it
    is to the speaker, or ''.
    """

    name: str
    kin: str
    end: int
    is_known: bool = False


_KIN_NAMED = re.compile(
    rf"\b(?:my|our) (?P<kin>{KIN}|{PET}),? (?P<name>{_TITLED}),?(?=[\s.!;:)]|'s\b|$)(?! and i\b)",
    re.IGNORECASE,
)
_KIN_CALLED = re.compile(
    rf"\b(?:my|our) (?:{KIN}|{PET})(?:'s name is|,| is(?: called| named)?) (?P<name>{_TITLED})(?=[.,!]|$)",
    re.IGNORECASE,
)
_IS_KIN = re.compile(
    rf"(?:^|[.!?,] ?)(?P<name>{NAME})(?= is (?:my|our) (?:{KIN}|{PET})\b)",
    re.IGNORECASE,
)
_OPENING = re.compile(rf"(?P<name>{NAME})(?=\s|'s\b)")
_ONE_OF = re.compile(
    rf"(?:one of )?(?:the|my|our) (?:[a-z-]+ )?[a-z-]+, (?P<name>{NAME}),(?=\s)",
    re.IGNORECASE,
)


def other(text: str, start: int, end: int) -> NamedSubject | None:
    """The person whom `text[start:end]` begins with: `My sister Anna …`, `Anna …`."""
    found = _KIN_NAMED.match(text, start, end)
    kin = found["kin"] if found else ""
    found = found or _ONE_OF.match(text, start, end) or _OPENING.match(text, start, end)
    if found is None or _is_many(kin):
        return None
    name = _POSSESSED.sub("", found["name"])
    if any(_NO_NAME.match(word) for word in name.split()):
        return None
    return NamedSubject(name, kin, found.start("name") + len(name))


_GIVEN = re.compile(
    r"\b(?:gave|giv(?:e|en|ing)|got|get|getting|buy|buying|bought|sen[dt]|sending|show\w*|tell|told|asked|ask|made|make"
    r"|making|teach|teaching|taught|read|owe|lend|lent|offer\w*|cook\w*|call\w*|named?|wish\w*) $",
    re.IGNORECASE,
)
"""A verb after which a capital may begin a thing: `I bought my mother Swiss chocolate`.
"""
_FURTHER = re.compile(r" (?!I\b)[^\W\d_a-z]")


def mentioned(text: str, start: int, end: int) -> Iterator[NamedSubject]:
    """The relatives, friends and animals whom `text[start:end]` names further on: `I
    went with my sister Anna`.
    """
    for found in _KIN_NAMED.finditer(text, start + 1, end):
        name = _POSSESSED.sub("", found["name"])
        is_name = not _is_many(found["kin"]) and not any(
            _NO_NAME.match(word) for word in name.split()
        )
        is_longer = _FURTHER.match(text, found.end()) is not None
        if is_name and not is_longer and not _GIVEN.search(text, start, found.start()):
            yield NamedSubject(name, found["kin"], found.end())


def relatives(texts: Iterable[str]) -> frozenset[str]:
    """The names that `texts` introduce as somebody of the speaker's: `my sister Anna`,
    `Anna is my sister`.
    """
    found = (
        one
        for text in texts
        for pattern in (_KIN_NAMED, _KIN_CALLED, _IS_KIN)
        for one in pattern.finditer(text)
    )
    return frozenset(_POSSESSED.sub("", one["name"]) for one in found)


def _is_many(kin: str) -> bool:
    return kin.casefold() in {"children", "kids", "fish"} or (
        kin.endswith("s") and not kin.endswith("boss")
    )


_TOLD = re.compile(
    rf"(?:(?:he|she|it)(?:'s| is) (?:called|named)|(?:his|her|its) name(?:'s| is)) (?P<name>{NAME})[.! ]*\Z",
    re.IGNORECASE,
)
_HAD = re.compile(
    r"\b(?:(?:i|we)(?: have|'ve got| got| adopted| bought| own)(?: just| also)? an? (?:[a-z-]+ ){0,3}?|my )"
    rf"(?P<kin>{PET}|{KIN})\b",
    re.IGNORECASE,
)

_KIN_OR_PET = re.compile(rf"\b(?:{PET}|{KIN})\b", re.IGNORECASE)


def name_told(text: str, before: int, start: int, end: int) -> str:
    """`dog is called Rex` of `We got a dog. He's called Rex.`, where one animal or
    relative is spoken of; else ''.
    """
    told = _TOLD.match(text[start:end])
    had = _HAD.search(text, before, start) if told else None
    if (
        told is None
        or had is None
        or _is_many(had["kin"])
        or _A_NAME.search(amid(text[before:start]))
    ):
        return ""
    several = len(_KIN_OR_PET.findall(text, before, start)) > 1
    return "" if several else f"{had['kin'].lower()} is called {told['name']}"


# What they are to each other.


@dataclass(frozen=True, slots=True)
class RelationHint:
    """What a statement ties together: the `subject`'s `type` is `object`; `kinds` are
    the types of named entities.

    It is `ended` where the statement says that it holds no longer.
    """

    subject: str
    type: str
    object: str
    kinds: tuple[tuple[str, str], ...]
    ended: bool = False


_LED = re.compile(rf"{NAME}(?: {NAME})?(?!\w)")
_ANOTHER = re.compile(r"\s*,?\s*(?:and|or|und|oder|y|o)\b", re.IGNORECASE)
_KIN_OF = re.compile(
    rf"(?P<kin>{KIN})(?: is| is called| is named|'s name)?", re.IGNORECASE
)
_AGE = re.compile(
    r"(?:\d{1,2}[- ]year[- ]old|new|late|dear|good|close|upstairs|downstairs|next-door)[ -]",
    re.IGNORECASE,
)
_HELD = {
    ("lives", ""): ("lives_in", "place"),
    ("other lives", "lives in"): ("lives_in", "place"),
    ("de lives", "in"): ("lives_in", "place"),
    ("es lives", "en"): ("lives_in", "place"),
    ("works", "at"): ("works_at", "org"),
    ("works", "for"): ("works_at", "org"),
    ("other works at", "works at"): ("works_at", "org"),
    ("other works at", "works for"): ("works_at", "org"),
    ("de works", "bei"): ("works_at", "org"),
    ("de works", "für"): ("works_at", "org"),
    ("fr works", "chez"): ("works_at", "org"),
    ("fr works", "pour"): ("works_at", "org"),
    ("es works", "para"): ("works_at", "org"),
    ("married to", "married to"): ("spouse", "person"),
    ("married to", "engaged to"): ("fiance", "person"),
    ("married to", "dating"): ("partner", "person"),
}
"""By rule and the words it took: the type of relation, and what its object is."""


_OVER = {
    "no longer works": "works_at",
    "other no longer works": "works_at",
    "left": "works_at",
    "other left": "works_at",
    "no longer lives": "lives_in",
    "other no longer lives": "lives_in",
    "broke up": "partner",
    "other broke up": "partner",
    "broke up together": "partner",
    "de no longer works": "works_at",
    "de no longer lives": "lives_in",
    "de no longer boss": "boss",
    "de broke up": "partner",
}
"""By rule: the type of relation that it says is over. What did not hold is not ended by
that.
"""


def bond(
    rule: str, subject: str, speaker: str, words: str, raw: str
) -> RelationHint | None:
    """What the statement of `rule` ties together, where it names both sides; None else
    (`B1`).

    `subject` is whom it speaks of, `speaker` the one who speaks, `words` what the rule
    took, `raw` the object. `my boss is called Ben` gives Bond(speaker, "boss", "Ben",
    …).
    """
    if rule in {"kinship", "other kin"}:
        return _kin(speaker, words, subject)
    if rule in {"kin", "kin is", "kin name"}:
        return _kin(speaker, words, raw)
    if rule == "not any more":
        was = _kin(speaker, words, subject)
        return was and replace(was, ended=True)
    if rule in _OVER:
        name = raw or words
        return (
            RelationHint(subject, _OVER[rule], name, (), ended=True)
            if _is_name(name)
            else None
        )
    held = _HELD.get((rule, words.casefold()))
    led = _LED.match(raw)
    if (
        held is None
        or led is None
        or not _is_name(led[0])
        or _ANOTHER.match(raw, led.end())
    ):
        return None
    kinds = ((led[0], held[1]), (subject, "person"))
    return RelationHint(subject, held[0], led[0], kinds if subject else kinds[:1])


def _kin(speaker: str, words: str, name: str) -> RelationHint | None:
    """A relative or another person of the speaker's; no animal, and nobody where there
    are several.
    """
    found = _KIN_OF.fullmatch(words)
    if found is None or _is_many(found["kin"]) or not _is_name(name):
        return None
    return RelationHint(
        speaker, _AGE.sub("", found["kin"].casefold()), name, ((name, "person"),)
    )


def _is_name(name: str) -> bool:
    return _LED.fullmatch(name) is not None and not any(
        _NO_NAME.match(word) for word in name.split()
    )


# Whom a pronoun means.

_PRONOUN = re.compile(
    r"\b(?:(?P<one>him|her|he|she|his|hers|himself|herself)|(?P<many>they|them|their|theirs)|(?P<thing>its)"
    r"|(?P<place>there))\b(?!')",
    re.IGNORECASE,
)
_ANYBODY = re.compile(
    rf"\b(?:{KIN}|{PET}|woman|man|girl|boy|guy|lady|person|author|artist|singer|actor|actress|director)\b"
    r"|(?-i:(?<=\w )[^\W\d_a-z][\w-]*[a-z])",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\w{2,}s\b|\b(?:people|children|family|and|team|band|company|group)\b",
    re.IGNORECASE,
)
_OBJECT = re.compile(
    r"\b(?:him|her)(?=\s*$|\s*[,.!]| (?:on|in|at|for|to|from|with|by|about|again|soon|next|this|tomorrow|today|tonight"
    r"|every|once|more|before|after|every|last|later|some)\b)",
    re.IGNORECASE,
)
_PERSON = re.compile(
    rf"\b(?:my|our) (?P<kin>{KIN})(?:(?: is| is called| is named|'s name is|,)? (?P<known>{NAME}))?\b"
    rf"|\b(?:with|met|meet|visit|visited|called|named|about|and|see|saw|call|name is) (?P<name>{NAME})"
    rf"|(?:^|[.!?,]\s+)(?P<doer>{NAME})(?= (?:is|was|has|had|lives|works|loves|likes|moved|came|comes|got|will|and"
    r"|studies|plays|wants)\b|'s\b)",
    re.IGNORECASE,
)
_SITE = re.compile(rf"\b(?:in|to|from|near|at) (?P<name>{NAME})")
_SHE = re.compile(
    r"(?:sister|mother|mom|mum|wife|daughter|aunt|niece|girlfriend|gran|nan|grandma)",
    re.IGNORECASE,
)
_HE = re.compile(
    r"(?:brother|father|dad|husband|son|uncle|nephew|boyfriend|grandpa)", re.IGNORECASE
)
_GOING = re.compile(
    r"\b(?:go|going|went|travel\w*|fly|flying|flew|drive|driving|move|moving|moved|return\w*|get)\s*$"
)


def bindings(raw: str, head: str, before: str) -> dict[str, str] | None:
    """What the pronouns of `raw` stand for, as replacements; None where one means
    nobody that was named.

    `head` is the clause up to `raw`; `before` the sentence and clauses just before it.
    `I will visit her` after `Anna lives in Porto.` gives `{"her": "Anna"}`.
    """
    out: dict[str, str] = {}
    for found in _PRONOUN.finditer(raw):
        ahead = f"{head} {raw[: found.start()]}"
        if (found["one"] and _ANYBODY.search(ahead)) or (
            found["many"] and _SEVERAL.search(raw[: found.start()])
        ):
            continue
        if found["thing"] and found.start() > 0:
            continue
        meant = _meant(raw, found, before)
        if not meant:
            return None
        out[found.group()] = meant
    return out


def _meant(raw: str, found: re.Match[str], before: str) -> str:
    """The one person or place named in `before` that the pronoun can mean, or ''."""
    if found["place"]:
        sites = set(_SITE.findall(before))
        to = "to" if _GOING.search(raw[: found.start()]) else "in"
        return f"{to} {sites.pop()}" if len(sites) == 1 else ""
    if not _OBJECT.match(raw, found.start()):
        return ""
    people = _people(before)
    if len(people) != 1:
        return ""
    ((name, kin),) = people.items()
    unfit = _SHE if found.group().casefold() == "him" else _HE
    return "" if unfit.search(kin) or _is_many(kin) else name


_SENTENCE = re.compile(r"(?:^|[.!?…]\s+|\n\s*)[^\W\d_][\w'-]*")
_OF_KIN = re.compile(rf" is (?:my|our|{NAME}'s) (?P<kin>{KIN})\b", re.IGNORECASE)


def amid(text: str) -> str:
    """`text` without the words that its sentences begin with, whose capitals tell
    nothing.
    """
    return _SENTENCE.sub(" ", text)


def meant_by(pronoun: str, before: str, earlier: str) -> str:
    """The name of the one person that `he` or `she` can mean: of those in `before`, or
    in `earlier` if none is there.

    `meant_by("She", "My boss is called Ingrid.", "") == "Ingrid"`.
    """
    people = _people(before)
    if not people and not _A_NAME.search(amid(before)):
        people = _people(earlier)
    if len(people) != 1:
        return ""
    ((name, kin),) = people.items()
    unfit = _SHE if pronoun.casefold() == "he" else _HE
    return (
        "" if name.startswith("their ") or unfit.search(kin) or _is_many(kin) else name
    )


def _people(before: str) -> dict[str, str]:
    """The people named in `before`, each with what they are to the speaker; none where
    a name may be a further one.
    """
    out: dict[str, str] = {}
    read = 0
    for found in _PERSON.finditer(before):
        if found["kin"]:
            if found.start() >= read:
                out[found["known"] or f"their {found['kin']}"] = found["kin"]
            continue
        name = _POSSESSED.sub("", found["name"] or found["doer"])
        if not any(_NO_NAME.match(word) for word in name.split()):
            of_kin = _OF_KIN.match(before, found.end())
            out[name] = of_kin["kin"] if of_kin else out.get(name, "")
            read = of_kin.end() if of_kin else read
    before = re.sub(rf"{NAME}'s (?=(?-i:[a-z ]*?){KIN}\b)", "", before)
    told = set(" ".join((*out, *_SITE.findall(before))).split())
    named = {
        _POSSESSED.sub("", word)
        for name in _A_NAME.findall(before)
        for word in name.split()
    }
    return (
        {}
        if any(word not in told and not _NO_NAME.match(word) for word in named)
        else out
    )
