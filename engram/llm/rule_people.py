"""Of whom a clause speaks: the names in it, and the one person or place that a pronoun can stand for (rows X2, C3).

A pronoun is kept where the statement itself says whom it means, replaced where the words just before name
exactly one fitting person or place, and otherwise refuses the statement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.core.dates import MONTHS
from engram.llm.rule_table import GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterable

KIN, PET, TONGUE = GROUPS["KIN"], GROUPS["PET"], GROUPS["TONGUE"]

NAME = r"(?-i:[^\W\d_a-z][\w'-]*[a-z][\w-]*(?: [^\W\d_a-z][\w-]*[a-z][\w-]*)?)"

_NAMED = re.compile(
    r"(?:\b(?:named|called|names? (?:is|are)|(?:is|are) now|married to|engaged to|dating)"
    r"|^[Mm]y (?:[a-z-]+ ){0,2}[a-z-]+,?)"
    rf" ({NAME}(?:(?:, and |, | and ){NAME}){{0,4}})"
)


def names(words: str) -> tuple[str, ...]:
    """The names that a clause gives to people and animals."""
    return tuple(name for found in _NAMED.finditer(words) for name in re.findall(NAME, found[1]))


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
class Other:
    """A named person or animal that a clause is about; `kin` says what it is to the speaker, '' where unsaid."""

    name: str
    kin: str
    end: int


_KIN_NAMED = re.compile(rf"my (?P<kin>{KIN}|{PET}),? (?P<name>{NAME}),?(?=\s|'s\b|$)(?! and i\b)", re.IGNORECASE)
_OPENING = re.compile(rf"(?P<name>{NAME})(?=\s|'s\b)")


def other(text: str, start: int, end: int) -> Other | None:
    """The person whom `text[start:end]` begins with: `My sister Anna …`, `Anna …`."""
    found = _KIN_NAMED.match(text, start, end)
    kin = found["kin"] if found else ""
    found = found or _OPENING.match(text, start, end)
    if found is None or _is_many(kin):
        return None
    name = _POSSESSED.sub("", found["name"])
    if any(_NO_NAME.match(word) for word in name.split()):
        return None
    return Other(name, kin, found.start("name") + len(name))


def relatives(texts: Iterable[str]) -> frozenset[str]:
    """The names that `texts` introduce as somebody of the speaker's: `my sister Anna`."""
    return frozenset(_POSSESSED.sub("", found["name"]) for text in texts for found in _KIN_NAMED.finditer(text))


def _is_many(kin: str) -> bool:
    return kin.casefold() in {"children", "kids", "fish"} or (kin.endswith("s") and not kin.endswith("boss"))


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
_SEVERAL = re.compile(r"\w{2,}s\b|\b(?:people|children|family|and|team|band|company|group)\b", re.IGNORECASE)
_OBJECT = re.compile(
    r"\b(?:him|her)(?=\s*$|\s*[,.!]| (?:on|in|at|for|to|from|with|by|about|again|soon|next|this|tomorrow|today|tonight"
    r"|every|once|more|before|after|every|last|later|some)\b)",
    re.IGNORECASE,
)
_PERSON = re.compile(
    rf"\bmy (?P<kin>{KIN})(?:,? (?P<known>{NAME}))?\b"
    rf"|\b(?:with|met|meet|visit|visited|called|named|about|and|see|saw|call|name is) (?P<name>{NAME})"
    rf"|(?:^|[.!?,]\s+)(?P<doer>{NAME})(?= (?:is|was|has|had|lives|works|loves|likes|moved|came|comes|got|will|and"
    r"|studies|plays|wants)\b|'s\b)",
    re.IGNORECASE,
)
_SITE = re.compile(rf"\b(?:in|to|from|near|at) (?P<name>{NAME})")
_SHE = re.compile(r"(?:sister|mother|mom|mum|wife|daughter|aunt|niece|girlfriend|gran|nan|grandma)", re.IGNORECASE)
_HE = re.compile(r"(?:brother|father|dad|husband|son|uncle|nephew|boyfriend|grandpa)", re.IGNORECASE)
_GOING = re.compile(r"\b(?:go|going|went|travel\w*|fly|flying|flew|drive|driving|move|moving|moved|return\w*|get)\s*$")


def bindings(raw: str, head: str, before: str) -> dict[str, str] | None:
    """What the pronouns of `raw` stand for, as replacements; None where one means nobody that was named.

    `head` is the clause up to `raw`; `before` the sentence and clauses just before it. `I will visit her` after
    `Anna lives in Porto.` gives `{"her": "Anna"}`.
    """
    out: dict[str, str] = {}
    for found in _PRONOUN.finditer(raw):
        ahead = f"{head} {raw[: found.start()]}"
        if (found["one"] and _ANYBODY.search(ahead)) or (found["many"] and _SEVERAL.search(raw[: found.start()])):
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


def _people(before: str) -> dict[str, str]:
    """The people named in `before`, each with what they are to the speaker; none where a name may be a further one."""
    out: dict[str, str] = {}
    for found in _PERSON.finditer(before):
        if found["kin"]:
            out[found["known"] or f"their {found['kin']}"] = found["kin"]
            continue
        name = _POSSESSED.sub("", found["name"] or found["doer"])
        if not any(_NO_NAME.match(word) for word in name.split()):
            out.setdefault(name, "")
    told = set(" ".join((*out, *_SITE.findall(before))).split())
    named = {_POSSESSED.sub("", word) for name in _A_NAME.findall(before) for word in name.split()}
    return {} if any(word not in told and not _NO_NAME.match(word) for word in named) else out
