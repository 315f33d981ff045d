"""What a sentence says, as a few words that any other sentence saying the same must
hold (rows A26, X8).

A closed comparison without a model. `gist` takes a statement apart into names and
numbers, words, and frames: a frame is one token for all the words by which people say
an attribute ("weigh", "weight", "wiegt", `@weight`). `says` compares a gist with a
sentence, in whatever person the sentence speaks. Words are kept only as hashes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING

from engram.core.language.sentences import sentences
from engram.core.language.words import IRREGULAR, STOP, fold, language

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

DIGITS = 12
"""Hexadecimal digits of a hashed word."""
OTHERS = 2 / 3
"""The share of a gist's further words that a sentence must hold beside all its names
and numbers.
"""
PART = 1 / 2
"""A sentence that says a part of a gist and nothing else says at least this share of
it.
"""
FEW = 2
"""A gist of fewer words tells too little to be looked for in longer sentences."""


def _listed(listing: str) -> frozenset[str]:
    return frozenset(listing.split())


_FRAMES = """
name called call named name names nicknamed heisse heisst heissen heiße heißt name nennt appelle appelles appellent
    nom prénom llama llamo llaman nombre chiama chiamo nome chama chamo heet heten naam зовут имя 叫 名叫 名字 名前
weight weigh weighs weighed weighing weight wiege wiegst wiegt wog gewicht pèse pèses poids peso pesa peser weeg weegt
    вешу весит вес 体重
home live lives lived living reside resides residing residence home address moved move moving relocated wohne wohnst
    wohnt wohnen lebe lebst lebt wohnung gezogen umgezogen habite habites habiter vis vit vivo vives vive viver
    déménagé emménagé domicile abito abita abiti moro mora woon woont wonen verhuisd живу живет живёт живешь
    переехал переехала 住 住在 搬到
work work works worked working job employed employer employee arbeite arbeitest arbeitet arbeiten beruf job
    travaille travailles travailler emploi métier trabajo trabaja trabajas trabalho trabalha lavoro lavora lavori werk
    werkt werken работаю работает работа 工作 上班 仕事
born born birthday birthdate geboren geburtstag geburtsdatum née anniversaire naissance nacido nacida cumpleaños
    nato nata compleanno nasci nascido aniversário verjaardag родился родилась 生日 誕生日
phone phone telephone mobile handy handynummer telefon telefonnummer téléphone teléfono telefono telefone telefoon
allergy allergic allergy allergies allergisch allergie allergien allergique alérgico alérgica alergia allergico
    allergica allergisch аллергия 过敏 過敏 アレルギ
favourite favourite favorite favourites favorites lieblings préféré préférée préférés préférées favorito favorita
    preferito preferita preferido preferida lievelings любимый любимая любимое
"""
_UNITS = """
kg kg kgs kilo kilos kilogram kilograms kilogramm kilogramme kilogrammes kilogramos chilo chili кг 公斤 キロ
pound pound pounds lb lbs pfund livres libras
cm cm centimeter centimeters centimetre centimetres zentimeter centimètres centímetros
euro euro euros eur €
dollar dollar dollars usd $
year year years old jahre jahr alt ans an años año anni anno anos jaar oud лет года 岁 歳
"""
_IMPLIED = (
    (
        "@weight",
        re.compile(
            r"\b(?:i'm|i am|you're|you are|user is|bin|bist|ist|suis|es|is) (?:at |now )?\d[\d.,]* ?k"
        ),
    ),
    (
        "@year",
        re.compile(
            r"\b(?:i'm|i am|you're|you are|user is|turned|bin|ist) (?:now )?\d{1,3}\b(?! ?[a-z])"
        ),
    ),
)
_WEAK = _listed(
    """
    see sees seeing saw seen get gets got go goes going went want wants tell told say said know knows think thinks
    remember forget note keep private secret please between us way actually really still now today yesterday lately
    since although while around shall maybe perhaps also though ever always often never again
    dr mr mrs ms prof herr frau monsieur madame señor señora signor mevrouw meneer hi hello hey well yes thanks
    sehe sieht gehe geht will sage sagt weiss weiß denke merke bitte hallo vais va veux dit sais pense bonjour merci
    """
)
"""Words that say little: left out of a gist that has two others."""
_SELF = _listed(
    """
    i i'm i've i'd i'll im me my mine myself you you're you've your yours yourself user user's owner owner's
    ich mich mir mein meine meinen meinem meiner du dich dir dein deine deinen deinem deiner sie ihr ihre ihren nutzer
    nutzerin benutzer je j j'ai moi mon ma mes tu toi ton ta tes vous votre vos utilisateur utilisatrice personne yo mi
    mis tú tu tus usted su sus usuario usuaria io mio mia tuo tua utente eu meu minha seu sua você usuário ik mij mijn
    je jij jou jouw u uw gebruiker я меня мне мой моя мое мои ты тебя твой твоя вы ваш ваша пользователь
    """
)
_NEUTRAL = _listed("person personne persona pessoa user nutzer nutzerin benutzer")
"""The nouns by which the offline extractor names a user without a name; in German they
are written with a capital.
"""
_SUBJECTS = _listed(
    """
    i i'm i've you you're user owner ich du sie nutzer nutzerin benutzer je j tu vous utilisateur personne yo tú usted
    usuario io utente eu você ik jij u gebruiker я ты вы пользователь
    """
)
_BEING = _listed(
    "am is are was were be being been a an the bin bist ist ein eine suis es est un une soy eres uma é"
)
_OTHERS = _listed(
    """
    he she they who his her their him them er ihn ihm il elle ils elles qui lui leur él ella ellos quien lei egli chi
    ele ela quem hij zij wie он она они кто
    aunt boss boyfriend brother child children colleague cousin coworker dad daughter doctor father flatmate friend
    girlfriend grandfather grandma grandmother grandpa husband kid kids manager mom mother mum neighbour neighbor
    nephew niece parent parents partner roommate sister son teacher uncle wife bruder chef chefin eltern freund
    freundin kind kinder mann mutter oma opa schwester sohn tochter vater ami amie enfant femme fille fils frère mari
    mère père soeur sœur amigo amiga esposo esposa hermano hermana hijo hija madre marido mujer novio novia padre
    fratello sorella figlio figlia moglie marito amico amica irmão irmã filho filha amigo broer zus zoon dochter vrouw
    vriend vriendin брат друг жена мама мать муж отец папа подруга сестра сын дочь
    """
)
_KANJI = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUN = re.compile(
    rf"[{_KANJI}]+|[\u30a1-\u30fa\u30fc-\u30ff]+|[\u3041-\u309f]+|[\uac00-\ud7a3]+|[€$]?\d+(?:[.,:/]\d+)*"
    rf"|[^\W\d_{_KANJI}\u3041-\u30ff\uac00-\ud7a3]+(?:'[^\W\d_]+)*"
)
_HAN = re.compile(rf"[{_KANJI}]+")
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_KANA = re.compile("[\u3041-\u309f]+")
_FUNCTION = re.compile(
    "用户|[的了是在我你您他她它们有也都就吗呢吧啊哦个和与跟对把被给从到很不没这那因为所以私僕君]+"
)
_SAID_IN = re.compile("(名叫|叫|居住在|住在|住|体重)")
_SELF_SIGN = re.compile("[我私僕俺]|用户|ユーザ")
_OTHER_SIGN = re.compile(
    "[妹姐姉哥兄弟妈媽爸父母夫妻儿兒娘她他彼]|女儿|息子|朋友|友達|老公|老婆|先生|同事"
)
_ELIDED = re.compile(r"\b([ldjnmtsc]|qu)'(?=\w)", re.IGNORECASE)
_POSSESSED = re.compile(r"'s?$")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed)$|(?<=\w{3})en$")
_SPLIT = re.compile(r"[:;]\s+|\s[–—-]\s|：|；")
_ROOT, _LEAST_ROOT = 6, 4
_DIGIT = re.compile(r"\d")
_POLITE = _listed("i i'm i've i'd i'll sie ihr ihre ihren ihnen")
"""Words that are written with a capital and are no name."""
_NEGATIONS = _listed(
    """
    not no never don't doesn't isn't aren't won't wasn't longer nicht kein keine keinen nie mehr pas plus jamais nunca
    non não niet geen не нет никогда
    """
)
_DENIED = re.compile("[不没沒]|ない|ません")


@lru_cache(32768)
def _root(word: str) -> str:
    """What the forms of a word have in common, in European languages, as far as their
    ends tell: at most 6 letters.
    """
    word = IRREGULAR.get(word, word)
    if len(word) >= _LEAST_ROOT and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    word = _ENDING.sub("", word)
    if len(word) >= _LEAST_ROOT and word.endswith("e"):
        word = word[:-1]
    if len(word) >= _LEAST_ROOT and word[-1] == word[-2]:
        word = word[:-1]
    return word[:_ROOT]


def _table(listing: str) -> dict[str, str]:
    found, here = dict[str, str](), ""
    for line in listing.strip().splitlines():
        named = not line.startswith(" ")
        forms = line.split()
        here = f"@{forms[0]}" if named else here
        found |= {fold(form): here for form in forms[named:]}
    return found


_NAME = "@name"
_UNIT = _table(_UNITS)
_FRAME = _table(_FRAMES)
_STOPS = frozenset(chain.from_iterable(STOP.values()))


@lru_cache(65536)
def hashed(word: str) -> str:
    """A word as it is written down in the vault: nobody reads it there, though who
    guesses it can tell.
    """
    return blake2b(
        f"engram 1 {word}".encode("utf-8", "surrogatepass"), digest_size=DIGITS // 2
    ).hexdigest()


@dataclass(frozen=True, slots=True)
class Gist:
    """What a statement says, made by `gist`; all words hashed (`hashed`).

    `names` are proper names and numbers, `words` the roots of the others, frames and
    pairs of signs too, `extra` what may go along (units); `own` whether it speaks of
    the user; `pairs` whether it is written without blanks; `denied` whether it is said
    not to be so.
    """

    names: frozenset[str]
    words: frozenset[str]
    extra: frozenset[str] = frozenset()
    own: bool = False
    pairs: bool = False
    denied: bool = False

    def row(self) -> dict[str, object]:
        """As a tombstone holds it."""
        lists = {
            "names": sorted(self.names),
            "words": sorted(self.words),
            "extra": sorted(self.extra),
        }
        marks = {"own": self.own, "pairs": self.pairs, "denied": self.denied}
        return {name: value for name, value in (lists | marks).items() if value}


def from_row(row: object) -> Gist | None:
    """The gist in a row of a tombstone; None where there is none or it says nothing."""
    if not isinstance(row, dict):
        return None
    lists = [row.get(name) for name in ("names", "words", "extra")]
    names, words, extra = (
        frozenset(map(str, one)) if isinstance(one, list) else frozenset()
        for one in lists
    )
    marks = (bool(row.get(name)) for name in ("own", "pairs", "denied"))
    return Gist(names, words, extra, *marks) if names or words else None


@dataclass(frozen=True, slots=True)
class _SentencePart:
    """A word or pair of signs in its order: as folded, its token (root, frame or
    itself), and how it was written.

    `capital` is a name's, `initial` may be that of a first word.
    """

    word: str
    token: str
    hashes: frozenset[str]
    capital: bool = False
    initial: bool = False
    pair: bool = False


@lru_cache(2048)
def _pieces(text: str) -> tuple[_SentencePart, ...]:
    return tuple(_read(text))


def _read(text: str) -> Iterator[_SentencePart]:
    plain = text.replace("’", "'")
    first = True
    for found in _RUN.finditer(_ELIDED.sub(r"\1e ", plain) if "'" in plain else plain):
        written = found.group()
        if _HAN.match(written) or _HANGUL.match(written):
            yield from _signs(fold(written))
        elif not _KANA.match(written):
            one = _word(written)
            capital = written[:1].isupper() and one.word not in _POLITE
            yield replace(one, capital=not first, initial=first) if capital else one
        first = False


@lru_cache(32768)
def _word(written: str) -> _SentencePart:
    folded = fold(written)
    word = _POSSESSED.sub("", folded) or folded
    token = (
        _UNIT.get(word)
        or _FRAME.get(word)
        or (word if word[-1].isdigit() else _root(word))
    )
    return _SentencePart(
        word, token, frozenset(map(hashed, {word, token, word.removesuffix("s")}))
    )


def _sign(pair: str) -> _SentencePart:
    token = _FRAME.get(pair) or _UNIT.get(pair) or pair
    return _SentencePart(
        pair, token, frozenset({hashed(pair), hashed(token)}), pair=True
    )


def _signs(run: str) -> Iterator[_SentencePart]:
    """The pairs of a run without blanks; words of the frames stand for themselves."""
    parts = (
        part
        for some in _FUNCTION.sub(" ", run).split()
        for part in _SAID_IN.split(some)
        if part
    )
    for part in parts:
        if part in _FRAME or part in _UNIT or len(part) == 1:
            yield _sign(part)
        else:
            yield from (_sign(part[at : at + 2]) for at in range(len(part) - 1))


def _language(pieces: Collection[_SentencePart]) -> str:
    return language([piece.word for piece in pieces]) or "en"


def _telling(
    pieces: Collection[_SentencePart], text: str, spoken: str = ""
) -> list[_SentencePart]:
    """The pieces that carry meaning: without function words of the language, and
    without the user as a subject.

    `spoken` is the language of a longer text that the pieces are a part of.
    """
    stop = STOP.get(spoken or _language(pieces), STOP["en"])
    told = [
        one
        for one in pieces
        if one.word not in _NEUTRAL
        and (
            one.capital
            or (
                one.word not in _SELF
                and (one.token.startswith("@") or one.word not in stop)
            )
        )
    ]
    return told + [_sign(name) for name in _implied(text)]


def _implied(text: str) -> list[str]:
    """The frames that a number alone tells of: I'm 34, you are 82 kg."""
    if not _DIGIT.search(text):
        return []
    folded = fold(text)
    return [name for name, said in _IMPLIED if said.search(folded)]


def gists(text: str) -> tuple[Gist, ...]:
    """What each sentence of `text` says; sentences that say nothing of their own give
    nothing.
    """
    found: list[Gist] = []
    for start, end in sentences(text):
        sentence = text[start:end]
        spoken = _language(_pieces(sentence))
        parts = [gist(part, spoken) for part in _SPLIT.split(sentence) if part.strip()]
        apart = len(parts) > 1 and all(
            one and len(one.names | one.words) >= FEW for one in parts
        )
        found += filter(None, parts if apart else [gist(sentence)])
    return tuple(dict.fromkeys(found))


def gist(sentence: str, spoken: str = "") -> Gist | None:
    """What one sentence says; None where it has no word of its own. `spoken` is its
    language, where that is known.

    `I weigh 82 kilos.`, `The user weighs 82 kg` and `weight: 82 kg` give `@weight`,
    `82`.
    """
    pieces = _pieces(sentence)
    told = _telling(pieces, sentence, spoken)
    strong = [one for one in told if one.word not in _WEAK and one.token != _NAME]
    if len({one.token for one in strong}) >= FEW:
        told = strong
    framed = any(one.token in _FRAMED for one in told)
    units = (
        {one.token for one in told if one.token in _UNITED} if framed else set[str]()
    )
    german = _is_german(pieces)
    names = {
        one.word
        for one in told
        if one.word[-1].isdigit()
        or (one.capital and not german and not one.token.startswith("@"))
    }
    words = {one.token for one in told if one.word not in names} - units
    if not names and not words:
        return None
    own = bool(_SELF_SIGN.search(sentence)) or not _SELF.isdisjoint(
        one.word for one in pieces if not one.capital
    )
    own = (
        own
        and not _OTHER_SIGN.search(sentence)
        and not any(one.word in _OTHERS for one in told)
    )
    return Gist(
        frozenset(map(hashed, names)),
        frozenset(map(hashed, words)),
        frozenset(map(hashed, units)),
        own,
        sum(one.pair for one in told) * 2 > len(told),
        is_denied(sentence),
    )


_FRAMED = frozenset(_FRAME.values()) - {_NAME}
_UNITED = frozenset(_UNIT.values())
_FRAME_HASHES = frozenset(map(hashed, _FRAMED))


def is_denied(sentence: str) -> bool:
    """Whether a sentence says that something is not, or no longer, so."""
    return not _NEGATIONS.isdisjoint(piece.word for piece in _pieces(sentence)) or bool(
        _DENIED.search(sentence)
    )


def is_question(sentence: str) -> bool:
    """Whether a sentence asks."""
    return sentence.rstrip("\"'”’») \n").endswith(("?", "？", "؟")) or sentence.rstrip(
        "。 \n"
    ).endswith(("吗", "呢"))


@lru_cache(8192)
def tokens(text: str) -> frozenset[str]:
    """The hashed words and tokens of a text: all that it can have in common with a
    gist.
    """
    plain = text.replace("’", "'")
    runs = set(_RUN.findall(_ELIDED.sub(r"\1e ", plain) if "'" in plain else plain))
    return frozenset(
        chain(chain.from_iterable(map(_hashes, runs)), map(hashed, _implied(text)))
    )


@lru_cache(32768)
def _hashes(written: str) -> frozenset[str]:
    if _HAN.match(written) or _HANGUL.match(written):
        return frozenset(
            chain.from_iterable(one.hashes for one in _signs(fold(written)))
        )
    return frozenset() if _KANA.match(written) else _word(written).hashes


def may(known: Gist, held: Collection[str]) -> bool:
    """Whether a text of these tokens may say it: the cheap look before `says`."""
    whole = len(known.names) + len(known.words)
    there = len(known.names.intersection(held)) + len(known.words.intersection(held))
    there += len(known.extra.intersection(held))
    return there >= min(whole, max(FEW, ceil(whole * PART)))


def _holds(known: Gist, held: Collection[str]) -> bool:
    there = known.words.intersection(held)
    if not known.names.issubset(held):
        return False
    share = OTHERS if known.names or known.pairs else 1.0
    return len(there) >= ceil(len(known.words) * share)


def says(known: Gist, sentence: str) -> bool:
    """Whether a sentence says what a gist says, in whatever person, or a part of it and
    nothing else.

    It holds all names and numbers and two thirds of the other words (without a name or
    number all of them, or another boat would do for the one that was forgotten), and
    speaks of nobody else. `My sister lives in Berlin` does not say `I live in Berlin`.
    """
    held = tokens(sentence)
    if not may(known, held):
        return False
    pieces, single = _pieces(sentence), len(known.names) + len(known.words) < FEW
    if _holds(known, held) and not (single and not _stated(known, pieces)):
        return not (known.own and _of_another(known, sentence, pieces))
    return not single and _is_part(known, sentence, pieces)


def _stated(known: Gist, pieces: tuple[_SentencePart, ...]) -> bool:
    """Whether the one word of a gist is said of the user (`you are vegetarian`) or is
    all that is said.
    """
    wanted = known.names | known.words
    telling = [
        one for one in pieces if one.word not in _SELF and one.word not in _STOPS
    ]
    if all(one.hashes & wanted for one in telling):
        return True
    for place, one in enumerate(pieces):
        if not one.hashes & wanted:
            continue
        before = [piece.word for piece in pieces[:place]]
        while before and before[-1] in _BEING:
            before.pop()
        if known.own and before and before[-1] in _SUBJECTS:
            return True
    return False


def _is_german(pieces: tuple[_SentencePart, ...]) -> bool:
    """Whether a capital says nothing here."""
    return language([one.word for one in pieces]) == "de"


def _of_another(known: Gist, sentence: str, pieces: tuple[_SentencePart, ...]) -> bool:
    """Whether what a gist says of the user is said of somebody else here: a name, a
    relative, he or she.
    """
    if known.pairs:
        return bool(_OTHER_SIGN.search(sentence))
    frame = next(
        (
            n
            for n, one in enumerate(pieces)
            if hashed(one.token) in known.words & _FRAME_HASHES
        ),
        None,
    )
    german = _is_german(pieces)
    others = [
        _is_other(known, one, pieces[n + 1 : n + 2], german=german)
        for n, one in enumerate(pieces)
    ]
    if frame is not None:
        for place in range(frame - 1, -1, -1):
            if others[place]:
                return True
            if pieces[place].word in _SUBJECTS:
                return False
    return any(others) and _SELF.isdisjoint(
        one.word for one in pieces if not one.capital
    )


def _is_other(
    known: Gist, one: _SentencePart, behind: tuple[_SentencePart, ...], *, german: bool
) -> bool:
    if one.hashes & (known.names | known.words) or one.token.startswith("@"):
        return False
    if one.word in _OTHERS:
        return True
    if one.word in _SELF | _WEAK or not (
        one.capital or (one.initial and one.word not in _STOPS)
    ):
        return False
    verb = behind and (
        behind[0].word in _BEING
        or behind[0].token in _FRAMED
        or behind[0].word.endswith("s")
    )
    return (one.capital and not german) or bool(verb)


def _is_part(known: Gist, sentence: str, pieces: tuple[_SentencePart, ...]) -> bool:
    """Whether all that is said here is in the gist, and enough of it (`PART`): a name
    or number, if it has any.
    """
    telling = _telling(pieces, sentence)
    more = (one for one in telling if one.word not in _WEAK and one.token != _NAME)
    told = {hashed(one.token) for one in more if hashed(one.word) not in known.names}
    named = {hashed(one.word) for one in telling} & known.names
    whole = known.names | known.words
    enough = len(told | named) >= max(FEW, ceil(len(whole) * PART))
    return (
        enough and told <= known.words | known.extra and bool(named or not known.names)
    )
