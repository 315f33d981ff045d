"""Attributes that have one value at a time: home, employer, age, a favourite (rows A7,
X13).

A closed table per language. It tells without a model that "Anna lives in Berlin" and
"Anna lives in Munich" cannot both hold; what is not in the table may have many values,
and then the two simply stand side by side.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from engram.core.text import normalise


@dataclass(frozen=True, slots=True)
class Attribute:
    """Whose (`subject`), what (`name`, e.g. home) and which (`value`), in words of one
    language.
    """

    language: str
    subject: tuple[str, ...]
    name: str
    value: tuple[str, ...]


_TABLE = r"""
en home       {s} {now}(?:lives?|is living|are living|resides|has lived|is based) in {v}
en home       {s} {now}(?:has )?(?:moved|relocated) (?:from .+? )?to {v}
en employer   {s} {now}(?:works?|is working|has worked) (?:at|for) {v}
en job        {s} {now}(?:works?|is working) as {v}
en job        {s} (?:job|job title|profession|occupation) is {v}
en role       {s} (?P<k>boss|manager|supervisor|wife|husband|fiancée?|landlord|landlady|dentist) is {called}{v}
de role       {s} (?P<k>chefin?|vorgesetzter?|frau|mann|vermieter(?:in)?|zahnarzt|zahnärztin) (?:ist|heißt) {v}
en name       {s} (?:is|are) (?:called|named) {v}
en name       {s} name is {v}
en nickname   {s} (?:wants|prefers) to be called {v}
en birthday   {s} birthday is (?:on )?{v}
en birthday   {s} was born on {v}
en birth_year {s} was born in {n}
en birthplace {s} was born in {v}
en age        {s} {now}(?:is|turned|just turned) {n}(?: years old)?
en spouse     {s} {now}(?:is|got) married to {v}
en car        {s} {now}drives (?:an?|the|his|her|their) {v}
en phone      {s} (?:phone|mobile|telephone)(?: number)? is {v}
en email      {s} e-?mail(?: address)? is {v}
en address    {s} address is {v}
en favourite  {s} favou?rite {k} (?:is|are) {v}
en favourite  {v} (?:is|are) {s} favou?rite {k}
en figure     {s} (?:is|are|costs?|weighs?|earns?|measures?) {now}(?:at |on |about )?{f}
de home       {s} (?:wohnt|lebt) {now}in {v}
de home       {s} ist {now}(?:von .+? )?nach {v} (?:gezogen|umgezogen)
de home       {s} zog {now}(?:von .+? )?nach {v}
de employer   {s} arbeitet {now}(?:bei|für) {v}
de job        {s} arbeitet {now}als {v}
de name       {s} heißt {v}
de name       {s} name ist {v}
de age        {s} ist {now}{n} jahre alt
de birthday   {s} hat am {v} geburtstag
de spouse     {s} ist {now}mit {v} verheiratet
de car        {s} fährt {now}(?:einen?|den|die|das) {v}
de phone      {s} telefonnummer ist {v}
de favourite  {s} lieblings{k} (?:ist|sind) {v}
fr home       {s} (?:habite|vit) {now}(?:à|en|au|aux|dans) {v}
fr home       {s} a déménagé {now}(?:de .+? )?(?:à|en|au|aux) {v}
fr employer   {s} travaille {now}(?:chez|pour) {v}
fr job        {s} travaille {now}comme {v}
fr name       {s} s'appelle {v}
fr age        {s} a {now}{n} ans
fr spouse     {s} est {now}mariée? (?:à|avec) {v}
fr favourite  {s} {k} préférée?s? (?:de {o} )?(?:est|sont) {v}
es home       {s} {now}(?:vive|reside) {now}en {v}
es home       {s} {now}se (?:mudó|ha mudado|trasladó) (?:de .+? )?a {v}
es employer   {s} {now}trabaja {now}(?:en|para) {v}
es job        {s} {now}trabaja {now}(?:como|de) {v}
es name       {s} se llama {v}
es age        {s} tiene {now}{n} años
es spouse     {s} está casad[oa] con {v}
es favourite  {s} {k} favorit[oa]s? (?:de {o} )?(?:es|son) {v}
it home       {s} (?:vive|abita) {now}a {v}
it home       {s} si è trasferit[oa] {now}(?:da .+? )?a {v}
it employer   {s} lavora {now}(?:per|alla|presso|in) {v}
it job        {s} (?:lavora come|fa il|fa la) {v}
it name       {s} si chiama {v}
it age        {s} ha {now}{n} anni
it spouse     {s} è sposat[oa] con {v}
it favourite  {s} {k} preferit[oa] (?:di {o} )?è {v}
pt home       {s} (?:mora|vive|reside) {now}(?:em|no|na) {v}
pt home       {s} (?:se )?mudou(?:-se)? {now}para {v}
pt employer   {s} trabalha {now}(?:na|no|para) {v}
pt job        {s} trabalha {now}como {v}
pt name       {s} (?:se chama|chama-se) {v}
pt age        {s} tem {now}{n} anos
pt spouse     {s} é casad[oa] com {v}
pt favourite  {s} {k} (?:favorit[oa]|preferid[oa]) (?:d[eoa] {o} )?é {v}
nl home       {s} woont {now}in {v}
nl home       {s} is {now}naar {v} verhuisd
nl employer   {s} werkt {now}(?:bij|voor) {v}
nl job        {s} werkt {now}als {v}
nl name       {s} heet {v}
nl age        {s} is {now}{n} jaar oud
nl spouse     {s} is getrouwd met {v}
nl favourite  {s} lievelings{k} is {v}
ru home       {s} {now}(?:живёт|живет) {now}(?:в|на) {v}
ru home       {s} {now}(?:переехала?|переезжает) {now}(?:из .+? )?(?:в|на) {v}
ru employer   {s} {now}работает {now}(?:в|на) {v}
ru job        {s} {now}работает {now}{v}
ru name       {s} зовут {v}
ru age        {s} {now}{n} (?:лет|года?)
ru favourite  {s} любим(?:ый|ая|ое|ые) {k} (?:- |— |это )?{v}
zh home       {s}{now}(?:住在|居住在|搬到了?|搬去了?){v}
zh employer   {s}{now}在{v}(?:工作|上班)
zh job        {s}(?:的职业是|的工作是){v}
zh name       {s}(?:叫|名叫|的名字是){v}
zh birthday   {s}的生日是{v}
zh age        {s}{now}(?:今年)?{n}岁了?
zh favourite  {s}最喜欢的{k}是{v}
ja home       {s}[はが]{now}{v}(?:に住んで.*|に引っ越.*)
ja employer   {s}[はが]{now}{v}(?:で働いて.*|に勤めて.*)
ja name       {s}の名前は{v}(?:です|だ)?
ja birthday   {s}の誕生日は{v}(?:です|だ)?
ja age        {s}[はが]{now}{n}歳.*
ja favourite  {s}[はが]?の?一番好きな{k}は{v}(?:です|だ)?
"""
"""Language, attribute, and the whole statement in its normal form: `{s}` whose, `{v}`
the value, `{n}` a number, `{f}` a value that begins with one, `{k}` which favourite,
`{o}` whose where it follows.
"""

_NOW = {
    "en": "now|currently|still|just|recently|really|already",
    "de": "jetzt|nun|zurzeit|derzeit|noch|kürzlich",
    "fr": "maintenant|actuellement|récemment",
    "es": "ahora|actualmente|recientemente",
    "it": "ora|adesso|attualmente",
    "pt": "agora|atualmente",
    "nl": "nu|tegenwoordig",
    "ru": "сейчас|теперь|недавно",
}
_UNSPACED = {"zh": "(?:现在|目前)?", "ja": "(?:今|今は|現在)?"}


def _listed(listing: str) -> frozenset[str]:
    return frozenset(listing.split())


_NO_SUBJECT = _listed(
    """
    to not never no if when where who whom that which says said thinks wants would might may could should will maybe
    perhaps and or but than because used nicht nie kein wenn dass und oder will möchte früher pas jamais si que qui et
    ou veut no nunca que si y o quiere non mai che se e o vuole não nunca se e ou quer niet nooit als dat en of wil
    не никогда если что и или хочет
    """
)
_NO_SUBJECT_SIGN = re.compile("[不没沒想要]|以前|曾|如果|ない|たい|前に")
_VALUE_ENDS = _listed(
    """
    with since because for near but after before last next on in at from to who which where until today yesterday
    again together named called mit seit weil bei nach am im vom aber wo avec depuis pour parce près chez mais où con
    desde porque cerca para pero donde da dal perché ma com desde perto mas met sinds omdat bij maar waar с со из
    потому но где уже now currently
    """
)
_MANY = frozenset(
    {"and", "or", "und", "oder", "et", "ou", "y", "e", "o", "en", "of", "и", "или"}
)
_MANY_SIGN = re.compile("[和与、]|以及|と")
_NO_VALUE = _listed(
    """
    a an his her their my our your its another one some many several home night nights day days weekends least work
    school himself herself themselves themself fear peace ein eine einem einer seine seiner ihre ihrer ihrem hause une
    un sa son ses una su sus um uma seu sua een zijn haar
    """
)
"""First words that make a value no name of one thing: "works for a bank" does not
contradict "for Barclays".
"""
_NAMED_ALONE = {"home", "employer"}
_MOST_WORDS = 5
_MOST_CHARS = 200
_ELISION = re.compile(r"\b([ld])'(?=\w)")

_COUNTED_KIN = re.compile(
    r"\b(?:sister|brother|son|daughter|child|kid|friend|cousin|aunt|uncle|nephew|niece|neighbou?r|colleague|dog|cat|pet"
    r"|puppy|kitten|horse|rabbit|bird|band|book|schwester|bruder|sohn|tochter|kind|freund|freundin|hund|katze|kater"
    r"|sœur|soeur|frère|fils|fille|ami|amie|chien|chat|hermana|hermano|hijo|hija|amigo|amiga|perro|perra|gato|gata)s?$"
    r"|[狗猫姐妹兄弟]$|犬$|友$"
)
"""Of these one may have several, and two names are then two of them."""


@cache
def _rows() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    parts = {
        "{s}": r"(?P<s>.+?)",
        "{v}": r"(?P<v>.+?)",
        "{n}": r"(?P<v>\d\S*)",
        "{f}": r"(?P<v>\d.*)",
        "{k}": r"(?P<k>\w.{0,29}?)",
        "{called}": r"(?:(?:called|named) )?",
    }
    rows = []
    # as `normalise` writes it
    for line in _TABLE.replace("ß", "ss").strip().splitlines():
        language, name, pattern = line.split(None, 2)
        now = _UNSPACED.get(language) or rf"(?:(?:{_NOW[language]}) )*"
        for hole, group in (parts | {"{now}": now, "{o}": r"(?P<o>.+?)"}).items():
            pattern = pattern.replace(hole, group)
        rows.append((language, name, re.compile(pattern)))
    return tuple(rows)


def attribute(text: str) -> Attribute | None:
    """The attribute a statement gives a value for, or None where the table knows none
    (`A7`).

    Past states ("lived in"), wishes, several values at once and indefinite ones ("works
    for a bank") give None. `attribute("Anna now lives in Berlin with Ben.")` is Anna's
    home, Berlin.
    """
    if len(text) > _MOST_CHARS:
        return None
    plain = _ELISION.sub(r"\1e ", normalise(text))
    for language, name, pattern in _rows():
        found = pattern.fullmatch(plain)
        if found and name == "role" and found["v"].split()[0].capitalize() not in text:
            continue  # a boss who is happy, not one who is Anna
        held = _read(language, name, found.groupdict()) if found else None
        if held:
            return held
    return None


def _read(language: str, name: str, parts: dict[str, str]) -> Attribute | None:
    subject = _subject(f"{parts['s']} {parts.get('o') or ''}")
    value = _value(
        parts["v"], named=name in _NAMED_ALONE, unspaced=language in _UNSPACED
    )
    if not subject or not value:
        return None
    if name == "name" and _COUNTED_KIN.search(subject[-1]):
        return None
    kind = parts.get("k") or ""
    return Attribute(
        language, subject, kind if name == "role" else f"{name} {kind}".rstrip(), value
    )


def _subject(said: str) -> tuple[str, ...]:
    words = tuple(
        word.removesuffix("'s").removesuffix("'")
        for word in said.split()
        if word not in _ARTICLES
    )
    if (
        len(words) > _MOST_WORDS
        or not _NO_SUBJECT.isdisjoint(words)
        or _NO_SUBJECT_SIGN.search(said)
    ):
        return ()
    return words


_ARTICLES = _listed("the der die das le la les el los las il lo o os de het")


def _value(said: str, *, named: bool, unspaced: bool) -> tuple[str, ...]:
    """The head of the value, up to the word that begins something else; () where it is
    not one definite thing.
    """
    words = said.split()
    head = tuple(
        takewhile(lambda word: word not in _VALUE_ENDS and word not in _MANY, words)
    )
    many = words[len(head) : len(head) + 1]
    if (many and many[0] in _MANY) or (unspaced and _MANY_SIGN.search(said)):
        return ()
    if named and head and (head[0] in _NO_VALUE or head[0][0].isdigit()):
        return ()
    return tuple(
        word for word in head if word not in _ARTICLES and word not in _NO_VALUE
    )


def conflict(one: Attribute | None, other: Attribute | None) -> str:
    """The name of the attribute for which two statements give two values, or ''.

    A value that only says more or less (Berlin, Berlin Kreuzberg) is none, nor is one
    in another language.
    """
    if one is None or other is None:
        return ""
    if (one.language, one.subject, one.name) != (
        other.language,
        other.subject,
        other.name,
    ):
        return ""
    first, second = set(one.value), set(other.value)
    return "" if first <= second or second <= first else one.name
