"""The table of secrets: a pattern for each class, and a check (row X11).

A row is a pattern for RE2, which is matched in linear time, and a check that yields the
secret spans of a match. Randomness alone is no evidence, because hashes and ids are
random too; it counts only next to a word such as `token`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING, Any

import re2

from engram.core.language import secret_words as words
from engram.core.language.languages import LazyPattern, compiled, options
from engram.core.language.secret_keys import NAMED_PREFIX, PREFIXED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Check = Callable[[Any], Iterator[tuple[int, int]]]

DOOR_CODE = "door code"
"""The class of codes of doors and gates, which a person may ask to remember."""


# --- what a value is -------------------------------------------------------------------

_SHORTEST_PASSWORD = 3
_SHORTEST_NUMBER = 4
_SHORTEST_MIXED = 6
_NUMBER_OF_NETWORK = 8
_ENTROPY = 2.8
"""Bits per character of a random value; ordinary words reach it too."""
_ENTROPY_OF_KEY = 3.8
_SWITCHES = 3
_QUOTES = "\"'“”«»„`"

_WORD = LazyPattern(r"[^\W\d_]+(?:[-'’/._][^\W\d_]+)*")
_NAME = LazyPattern(r"pass|pwd|secret|token|contrase|kennwort|senha", re.IGNORECASE)
_NO_VALUE = LazyPattern(
    # a mask or the place of a value
    r"[*•xX.…_#?-]+|\[[A-Za-z _-]+\]?|\{\{.*|\{\w*\}|\$[{(].*|\$[A-Za-z_]+|%[sd]|%\(.*|%[A-Za-z_]+%|--?[A-Za-z][\w-]*"
    # code
    r"|[a-z_]\w*(?:[(\[]|\(.*\)|\[.*\])[;:,]*|[a-z_]\w*(?:\.[a-z_]\w*)+[(\[].*"
    r"|(?:os|self|this|process|config|settings|request|req|env|args|form|secrets)\..*"
    # a measure, a path, a date or a version, an algorithm
    r"|\d+[-‐ ]?(?:char|zeichen|caract|carat|tekens|digit|day|tage|jour|d[ií]as|bit|letter|min|h$|x$).*"
    r"|(?:~|\.{1,2})?/[^/]*/.*|\d{4}[-/.]\d\d[-/.]\d\d.*|v?\d+(?:\.\d+)+"
    r"|(?:sha|md|base|aes|rsa|utf|oauth|bcrypt|argon|scrypt|pbkdf|wpa|ipv|ascii)[-_]?\d+\w*",
    re.IGNORECASE,
)
_NO_WORD_OF_ONES_OWN = LazyPattern(
    # an ordinal number, an address, a UUID
    r"\d{1,4}(?:st|nd|rd|th|er|ème|e|º|ª|[-‐][a-zà-ÿ]+|[a-z]{1,2})|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?|ftp)://.*"
    r"|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    re.IGNORECASE,
)
_QUERY = LazyPattern(r"&\w+=")
_CLAUSE_END = LazyPattern(r"[\"'”’*_`]*(?:[.,;!?)&。，]|\s*(?:$|\n))")

# Words that may occur in the place of a password, in the languages of the table.
_ORDINARY = """
    a above again all already also always an and any as ask at available be because been below best better blank
    broken by can cannot change_me changeit changeme case-sensitive changed compromised correct could does encrypted enough empty enforced
    expired false field for forgot forgotten from generated getting given gone good hard hashed hidden how if
    important in incorrect input insecure invalid is it just kept key known leaked locked long longer lost
    mandatory maybe missing more must my n/a needed never new nil no nobody none not null obvious of ok old on
    only optional our out outdated over passphrase password passwords pending policy protected public random
    refused rejected required reset right safe salted same saved secret secure see set shared short should shown
    simple so something sort still stored str string strong stuck supposed temporary text that the there this to
    token too true type unchanged undefined unknown unsafe updated used valid value varchar very visible was weak
    what when where which who why will with working wrong you your abgelaufen bekannt das dein der die ein eine
    erforderlich falsch gespeichert geheim geändert gültig kein korrekt leer lang mein neu nicht noch richtig
    schwach schon sehr sicher siehe stark unbekannt ungültig vergessen zu bon bonne ce correcte dans différent
    elle en expiré faible faux fort forte il incorrecte invalide le la les mauvais mon nouveau oublié pas perdu
    requis sécurisé sûr toujours trop très un une vide voir votre con correcta correcto débil el es esta están
    expirada expirado fuerte incorrecta incorrecto inválida inválido mi muy necesaria necesario no nueva nuevo
    obligatoria obligatorio olvidada requerida requerido segura seguro su una vacía ver che corretta corta debole
    errata errato forte il la lunga mia molto nuova non richiesta sbagliata sbagliato scaduta sicura troppo tua
    vuota a curta errada errado esquecida expirada fraca fraco inválida longa minha muito não necessária nova o
    obrigatória segura sua vazia de een fout geen goed het kort leeg lang mijn niet nieuw onjuist onveilig sterk
    te veilig vereist vergeten verlopen verplicht zwak zie неверный неправильный был слишком не на в это
"""
_NO_PASSWORD = frozenset(_ORDINARY.split())


def _start(found: Any) -> int:
    """Return the start of the value of a match."""
    return int(found.start(found.re.groupindex["value"]))


def _whole(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the value of a match, else its last group, else all of it."""
    yield found.span(found.re.groupindex.get("value", found.re.groups))


def _url_password(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the password of a URL, unless it is a mask."""
    if not _NO_VALUE.fullmatch(found[1]):
        yield found.span(1)


def _whole_key(found: Any) -> Iterator[tuple[int, int]]:
    """Yield a key that ends with the match, unlike the beginning of a longer hash."""
    end = found.end(1)
    if not found.string[end : end + 1].isalnum() or not found.string[end].isascii():
        yield found.span(1)


def _mixed_key(found: Any) -> Iterator[tuple[int, int]]:
    """Yield a whole key that contains letters and digits."""
    if _is_mixed(found[1]):
        yield from _whole_key(found)


def _named_prefix(found: Any) -> Iterator[tuple[int, int]]:
    """Yield a key with a known prefix, if the rest is random letters and digits."""
    value = found["value"]
    if (
        value.lower() != value != value.upper()
        and _is_mixed(value)
        and _is_random(value, 2 * _SWITCHES, _ENTROPY_OF_KEY)
    ):
        yield found.span(1)


def _random(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the value if it looks random.

    It must mix letters with digits, or be long and of both cases. Without a `:` or `=`
    in front, it must also change often between small letters, capitals and digits,
    which `oauth-2-login` does not.
    """
    value = found["value"].rstrip(".")
    is_signed = bool(re.search(r"[:=：＝]", found[0][: -len(found["value"])]))
    is_long = len(value) >= _LONG and value.lower() != value != value.upper()
    bits = _ENTROPY if any(map(str.isdigit, value)) else _ENTROPY_OF_KEY
    if (
        value
        and (_is_mixed(value) or is_long)
        and _is_random(value, 0 if is_signed else _SWITCHES, bits)
        and not _NO_VALUE.fullmatch(value)
    ):
        yield _start(found), _start(found) + len(value)


_LONG = 20


def _signed(found: Any) -> Iterator[tuple[int, int]]:
    """Yield a value that is long and random; the id of a thing, as a UUID, is not."""
    value = found["value"].rstrip(".")
    if (
        _is_mixed(value)
        and _is_random(value, _SWITCHES, _ENTROPY)
        and "://" not in value
        and not _is_no_value(value)
    ):
        yield _start(found), _start(found) + len(value)


def _setting(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the value of a setting for a secret, unless it is the place of one."""
    if not _SETTING.search(found["name"]):
        yield from _random(found)


_SETTING = LazyPattern(
    r"(?:NAME|FILE|PATH|DIR|URL|URI|HOST|TYPE|ID|TTL|EXPIRES?|EXPIRY|HEADER|FIELD|COUNT|LIMIT|VERSION|ENDPOINT|PREFIX"
    r"|LENGTH|SIZE|ALGORITHM|PROVIDER|ARN|PUBLIC)(?:_[A-Z0-9]+)*\s*$"
)


def _is_mixed(value: str) -> bool:
    """Return whether a value has both letters and digits."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _is_no_value(value: str) -> bool:
    """Return whether a value is a mask, code, a measure, an address or the like."""
    return bool(_NO_VALUE.fullmatch(value) or _NO_WORD_OF_ONES_OWN.fullmatch(value))


def _is_random(value: str, switches: int, bits: float) -> bool:
    """Return whether a value changes often between kinds of signs, and repeats few.

    `bits` is the least entropy in bits per character, −Σ p·log₂ p.
    """
    shares = [count / len(value) for count in Counter(value).values()]
    return (
        _switches(value) >= switches
        and -sum(share * log2(share) for share in shares) >= bits
    )


def _switches(value: str) -> int:
    """Count the neighbours of different kind: digit, small letter, capital."""
    kinds = [(sign.isdigit(), sign.islower()) for sign in value if sign.isalnum()]
    return sum(one != other for one, other in pairwise(kinds))


# --- passwords --------------------------------------------------------------------------


def _password(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the value after a password word, unless it is an ordinary word.

    After `:` or `=` every value can be one, except a name of a secret and a capitalised
    word that continues a sentence. After `is` a value of letters alone can only at the
    end of a clause: "the password is stored hashed" is prose, "the password is
    swordfish." is not. After `to` a value of letters alone never can.
    """
    given = found["value"]
    is_quoted = given[0] in _QUOTES
    value = given.strip(_QUOTES) if is_quoted else given.rstrip(".,;)")
    if query := _QUERY.search(value):
        value = value[: query.start()]
    if (
        len(value) < _SHORTEST_PASSWORD
        or value.endswith(":")
        or value.lower().split()[0] in _NO_PASSWORD
        or _NO_VALUE.fullmatch(value)
    ):
        return
    start = _start(found) + given.index(value)
    after = found.string[start + len(value) : start + len(value) + 4]
    is_last = _CLAUSE_END.match(after) is not None
    is_word = _WORD.fullmatch(value) is not None
    if found["strong"] or is_quoted:
        is_name = _NAME.search(value) or (value.istitle() and not is_last)
        is_password = not (is_word and is_name)
    elif value.isdigit():
        is_password = len(value) >= _SHORTEST_NUMBER
    else:
        is_linked = found["weak"] or found["joined"]
        is_password = not is_word or bool(is_linked and is_last and value.isascii())
    if is_password:
        yield start, start + len(value)


def _option(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the value of an option of a command, without its quotation marks."""
    given = found["value"]
    value = given.strip(_QUOTES)
    if len(value) >= _SHORTEST_PASSWORD and not _NO_VALUE.fullmatch(value):
        start = _start(found) + given.index(value)
        yield start, start + len(value)


def _short_name(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the value after `pass` or `pw` and a sign, if it mixes kinds of signs."""
    value = found["value"].strip(_QUOTES)
    if len(value) >= _SHORTEST_MIXED and _is_mixed(value):
        yield from _password(found)


def _password_elsewhere(found: Any) -> Iterator[tuple[int, int]]:
    """Yield a value that no sentence contains, near a word for a password.

    A sign or a verb such as "is" may link them, whatever the password is for: "hasło do
    poczty to …". Else the value changes often between kinds of signs and ends a clause.
    """
    given = found["value"]
    value = given.strip(_QUOTES).rstrip(".,;:)")
    between = found["between"].lower().replace("'", " ").replace("’", " ").split()
    is_linked = bool(found["sign"] or found["copula"] or not between)
    is_named = _NAMED_AS.search(found.string[: found.start()][-_CLAUSE:]) is not None
    is_number = is_linked and len(value) >= _NUMBER_OF_NETWORK and value.isdigit()
    is_own = _is_mixed(value) and len(value) >= _SHORTEST_MIXED
    ends = _CLAUSE_END.match(found.string[found.end() : found.end() + 4]) is not None
    is_odd = ends and _switches(value) >= _SWITCHES and not _HEX.fullmatch(value)
    if (
        (is_number or is_own)
        and (is_linked or is_named or is_odd)
        and _ABOUT.isdisjoint(between)
        and not _is_no_value(value)
    ):
        start = _start(found) + given.index(value)
        yield start, start + len(value)


_HEX = LazyPattern(r"[0-9a-fA-F]+")
_NAMED_AS = LazyPattern(
    r"(?:^|\s)(?:as|als|comme|como|come)(?:\s[^\W\d]+){0,2}\s*$", re.IGNORECASE
)
"""Words before "password": what is chosen as one follows."""
_PROPERTIES = """
    hash digest checksum hint id file policy format field manager app rule length
"""
_ABOUT = frozenset(_PROPERTIES.split())
"""Words for a property of a password, whose value is not the password."""


_QUOTED_LAST = LazyPattern(r"(?:\"[^\"\n]+\"|'[^'\n]+'|“[^”\n]+”|„[^“\n]+“|«[^»\n]+»)$")
_WORD_LAST = LazyPattern(r"[^\s\"'“”„«»(),]+$")
_KEY = LazyPattern(words.KEY, re.IGNORECASE)


def _password_before(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the value before a match such as "is my password".

    Before "my password" it is any word of six signs, else a value that mixes letters
    with digits; the value of a key is long too.
    """
    first = max(0, found.start() - _CLAUSE)
    before = found.string[first : found.start()].rstrip(" ,")
    is_quoted = before[-1:] in set(_QUOTES)
    if not (is_quoted or found["mine"] or any(map(str.isdigit, before))):
        return
    given = (_QUOTED_LAST if is_quoted else _WORD_LAST).search(before)
    value = given[0].strip(_QUOTES) if given else ""
    if is_quoted:
        is_password = len(value) >= _SHORTEST_PASSWORD
    else:
        is_password = _is_named_password(value, found)
    if given and is_password:
        start = first + given.start() + given[0].index(value)
        yield start, start + len(value)


def _is_named_password(value: str, found: Any) -> bool:
    """Return whether a value may be what a match such as "is my password" names."""
    if len(value) < _SHORTEST_MIXED or not (found["mine"] or _is_mixed(value)):
        return False
    if _KEY.search(found[0]) and not (_is_mixed(value) and len(value) >= _LONG):
        return False
    after = _WORD.match(found.string[found.end() : found.end() + _CLAUSE])
    return not (
        (after and after[0].lower() in _ABOUT)
        or value.lower() in _NO_PASSWORD
        or _NAME.search(value)
        or _is_no_value(value)
    )


_CLAUSE = 200
"""Characters within which a value belongs to a word."""


def _changed_password(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the old and the new password of a change "from … to …"."""
    pair = [found[name].strip(_QUOTES + ".,;:!)") for name in ("value", "new")]
    if any(map(_is_mixed, pair)) and not any(
        one.lower() in _NO_PASSWORD or _is_no_value(one) for one in pair
    ):
        for name, one in zip(("value", "new"), pair, strict=True):
            start = found.start(found.re.groupindex[name]) + found[name].index(one)
            yield start, start + len(one)


def _beside_account(found: Any) -> Iterator[tuple[int, int]]:
    """Yield a value with letters and digits, or groups of digits, beside an account."""
    value = found["value"].rstrip(".,;:)")
    is_number = value.replace(" ", "").replace("-", "").isdigit()
    is_key = is_number and len(value) > _NUMBER_OF_NETWORK
    is_own = len(value) >= _SHORTEST_MIXED and _is_mixed(value)
    if len(found[0]) < _CLAUSE and (is_key or (is_own and not _is_no_value(value))):
        yield _start(found), _start(found) + len(value)


_LOGIN_CELL = LazyPattern(
    rf"\W*(?:{words.LOGIN}|secret|token|api[ _-]?key|pin)\W*", re.IGNORECASE
)


def _column(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the cells of a column with the head "password".

    The cells are separated by `|`, `,`, `;` or tabs.
    """
    head = found["head"]
    mark = next((one for one in "|\t;," if one in head), "")
    if not mark:
        return
    cells = head.split(mark)
    wanted = [place for place, cell in enumerate(cells) if _LOGIN_CELL.fullmatch(cell)]
    place = found.start(found.re.groupindex["rows"])
    for row in found["rows"].split("\n"):
        parts = row.split(mark)
        for one in wanted if len(parts) == len(cells) else []:
            value = parts[one].strip().strip("\"'*`")
            is_rule = set(value) <= set("-:= ")
            if len(value) >= _SHORTEST_NUMBER and not (
                is_rule or _NO_VALUE.fullmatch(value)
            ):
                before = sum(len(part) + 1 for part in parts[:one])
                start = place + before + parts[one].index(value)
                yield start, start + len(value)
        place += len(row) + 1


# --- numbers and lists ------------------------------------------------------------------

# The usual groups of a card number, at the start of a group and with no digit after
# them.
_CARD_SHAPE = LazyPattern(
    r"(?<![0-9])(?=((?:[2-6][0-9]{13,15}|[2-6][0-9]{3}[ \xa0.-]{1,2}[0-9]{4}[ \xa0.-]{1,2}[0-9]{4}[ \xa0.-]{1,2}[0-9]{4}"
    r"|3[0-9]{3}[ \xa0.-]{1,2}[0-9]{6}[ \xa0.-]{1,2}[0-9]{4,5})(?![0-9])))"
)
_ISSUER = LazyPattern(
    r"4[0-9]{15}|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}|35(?:2[89]|[3-8][0-9])[0-9]{12}|62[0-9]{14}"
)
_DOUBLED = str.maketrans("0123456789", "0246813579")


def _card(found: Any) -> Iterator[tuple[int, int]]:
    """Yield a card number: valid groups, an issuer's prefix and a Luhn check digit.

    Every second digit is doubled, and the sum of all digits is a multiple of ten.
    """
    for shape in _CARD_SHAPE.finditer(found[1]):
        number = re.sub(r"[^0-9]", "", shape[1])
        digits = number[-1::-2] + number[-2::-2].translate(_DOUBLED)
        if _ISSUER.fullmatch(number) and sum(map(int, digits)) % 10 == 0:
            yield found.start(1) + shape.start(1), found.start(1) + shape.end(1)


_IBANS = """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24
    FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20
    LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24
    SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
"""
_IBAN_LENGTH = {entry[:2]: int(entry[2:]) for entry in _IBANS.split()}


def _iban(found: Any) -> Iterator[tuple[int, int]]:
    """Yield an IBAN: the length of its country, and 1 modulo 97.

    Its first four characters are moved to the end, and letters count 10 to 35.
    """
    start = found.start(1)
    length = _IBAN_LENGTH[found[1][:2].upper()]
    window = found.string[start : start + 2 * length]
    ends = [at for at, sign in enumerate(window, start=1) if sign not in " -"]
    if len(ends) < length or window[ends[length - 1] :][:1].isalnum():
        return
    number = "".join(window[at - 1] for at in ends[:length])
    if number.isascii() and number.isalnum():
        moved = number[4:] + number[:4]
        if int("".join(str(int(sign, 36)) for sign in moved)) % 97 == 1:
            yield start, start + ends[length - 1]


def _bitlocker(found: Any) -> Iterator[tuple[int, int]]:
    """Yield a key of eight groups of six digits, each a multiple of 11."""
    if all(int(group) % 11 == 0 for group in found["value"].split("-")):
        yield from _whole(found)


_SPARE = LazyPattern(
    r"[0-9A-Za-z]{4,8}(?:-[0-9A-Za-z]{4,8}){1,7}|[0-9]{4,5} [0-9]{4,5}|[0-9A-Za-z]{6,16}"
)
_LIST_MARK = LazyPattern(
    r"[\s,;|/*•`\"']*(?:(?:and|und|et|y|e|en|и|и|и|和|と|or|oder|ou|o) )?(?:[0-9]{1,2}[.)]\s)?[\s,;|*•`\"'-]*"
)


def _spare_codes(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the codes of a list, up to the first word that is none."""
    text, place = found["value"], 0
    while True:
        place = _LIST_MARK.match(text, place).end()  # type: ignore[union-attr]
        code = _SPARE.match(text, place)
        if not code or not any(map(str.isdigit, code[0])):
            return
        start = _start(found) + place
        yield start, start + len(code[0])
        place = code.end()


_SEED_WORDS = 12
_SENTENCE = """
    and are but can for from has have not that the then they this was were when which who will with you your
"""
_PROSE = frozenset(_SENTENCE.split())


def _seed_words(found: Any) -> Iterator[tuple[int, int]]:
    """Yield twelve words or more that do not form a sentence."""
    listed = re.findall(r"[a-z]+", found["value"])
    if len(listed) >= _SEED_WORDS and _PROSE.isdisjoint(listed):
        yield from _whole(found)


_DOCUMENT_DIGITS = 4
_DOCUMENT_CHARS = 6


def _document(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the number of a document.

    It has six signs or more, four of them digits, and is not a date.
    """
    value = found["value"].rstrip(" .-")
    digits = sum(map(str.isdigit, value))
    is_long = digits >= _DOCUMENT_DIGITS and len(value) >= _DOCUMENT_CHARS
    if is_long and not _NO_VALUE.fullmatch(value):
        yield _start(found), _start(found) + len(value)


def _setup_key(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the key of an authenticator; four words of four letters are not a key."""
    value = found["value"]
    is_long = len(re.sub(r"[ -]", "", value)) >= _SETUP
    if any(map(str.isdigit, value)) or (is_long and (found["sign"] or value.isupper())):
        yield from _whole(found)


_SETUP = 16


# --- the table ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """A class of secrets; `check` yields the secret spans of a match of `pattern`."""

    name: str
    pattern: str
    check: Check = _whole


def _key(name: str, pattern: str, check: Check = _whole) -> _Row:
    """Return the row of a key with a prefix, which must not begin inside a word."""
    return _Row(name, rf"(?:^|[^A-Za-z0-9])({pattern})", check)


# The text between a word and its value: the purpose, and a verb or a sign.
_OF = (
    r"(?:\s+(?:for|to|of|on|at|für|fürs|zum|zur|der|des|von|vom|mein\pL*|dein\pL*|unser\pL*|pour|du|de|del|della|di|da|do"
    r"|per|para|voor|van|від|от|для|к|mo\pL{2,3})(?:\s+[^\s:=\[\]]+){1,4}?)?"
)
_IS = r"(?:is|was|ist|war|lautet|est|es|è|é|jest|är|er|on|это)"
_LINK = rf"(?:\s*(?:(?:{words.COPULA}|[-–—])\s+(?:(?:le|la|el|der|die|das|the|il)\s+)?|[:=：]|{{be}})\s*)+"
_BE = r"(?:は|是|为|為|는|은)"
_LINK = _LINK.replace("{be}", _BE)
_CLOSE = r"[\"'*_`”)]*"
_SIGN = r"(?P<strong>[:=：＝]+>?|->|→)[*_]*[ \t]*\n?[ \t]*"
_VALUE = (
    r"(?P<value>\"[^\"\n]+\"|'[^'\n]+'|“[^”\n]+[”“]|„[^“”\n]+[“”]|«[^»\n]+»|`[^`\n]+`|"
    r"[^\s\"'`“”„«»<>，。、；！？」』）]{3,})"
)

ROWS = (
    _Row(
        "private key",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
    ),
    _Row(
        "private key",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{40,})+",
    ),
    *(
        _key(name, form, _mixed_key if mixed else _whole_key)
        for name, form, mixed in PREFIXED
    ),
    _key("token", NAMED_PREFIX, _named_prefix),
    _Row(
        "card",
        r"(?:^|[^A-Za-z0-9._+])([0-9]{4,}(?:[ \x{a0}.-]{0,2}[0-9]{4,}){2,}|[0-9]{14,})",
        _card,
    ),
    _key("recovery code", r"(?P<value>[0-9]{6}(?:-[0-9]{6}){7})", _bitlocker),
    _key("iban", rf"(?i:{'|'.join(_IBAN_LENGTH)})[0-9]{{2}}", _iban),
    _Row(
        "url password",
        r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@\"'<>]*:([^\s/\"'<>]+)@[A-Za-z0-9\[_.-]",
        _url_password,
    ),
    _Row(
        DOOR_CODE,
        rf"(?i)(?:^|\b|\W)(?:{words.DOOR}){_OF}(?:\s*(?:{_IS}\s|[:=：]|{_BE})\s*)+(?P<value>[0-9]{{4,8}}|(?-i:[0-9]{{1,5}}[A-Z][0-9A-Z]{{1,4}}))"
        r"(?:$|[^0-9A-Za-z./-]|[.,;!?](?:$|\s))",
    ),
    _Row(
        "pin",
        rf"(?i)(?:^|\b|\W)(?:{words.CODE})(?:{_OF}{_LINK}|\s)[\"'`*(]*"
        r"(?P<value>[0-9]{4,8}|[0-9]{3}[ -][0-9]{3,4}|[A-Z]-[0-9]{6})"
        r"(?:$|[^0-9A-Za-z./-]|[.,;!?](?:$|\s))",
    ),
    _Row(
        "pin",
        r"(?i)(?:^|[^0-9A-Za-z-])(?P<value>[0-9]{4,8}|[0-9]{3}[ -][0-9]{3,4}|[A-Z]-[0-9]{6})\s+(?:is (?:your|the)"
        r"|ist (?:Ihr|dein|der)|est votre|es (?:tu|su)|è il tuo|é o seu|is (?:je|uw))"
        rf"(?:\s+[^\s.!?]+){{0,3}}?\s+(?:{words.CODE}|code|código|codice)(?:$|\PL)",
    ),
    _Row(
        "recovery code",
        rf"(?i)(?:{words.SPARE_CODES})(?:\s*\([^)\n]{{0,40}}\)|\s+[^\s:\n0-9]+){{0,6}}?\s*"
        rf"(?:[:：=\n]|{_BE}|\s{_IS}\s|\s(?:are|sind|sont|son|sono|são)[\s:])(?P<value>[^:：]+)",
        _spare_codes,
    ),
    _Row(
        "recovery code",
        rf"(?i)(?:{words.SPARE_CODES})\s+(?P<value>[0-9][0-9A-Za-z-]{{3,}}[^:：]*)",
        _spare_codes,
    ),
    _Row(
        "seed phrase",
        rf"(?i)(?:{words.SEED})(?:\s+[^\s:\n]+){{0,5}}?\s*(?:[:：=\n]|{_BE}|\s{_IS}\s)[\s\"'`“„«>|*-]*"
        r"(?P<value>(?:(?:[0-9]{1,2}[.):]?\s*)?(?-i:[a-z]{3,8})[\s,;-]+){11,23}(?:[0-9]{1,2}[.):]?\s*)?(?-i:[a-z]{3,8}))",
        _seed_words,
    ),
    _Row(
        "document number",
        rf"(?i)(?:^|\b|\PL)(?:{words.DOCUMENT}){_OF}(?:{_LINK}|\s)[\"'`*(]*"
        r"(?P<value>[A-Z0-9]{1,4}(?:[ .-]?[A-Z0-9]{1,12}){0,7}?)(?:$|[^0-9A-Za-z. -]|[.](?:$|\s)|\s+[a-z]{2,}\b|\s*$)",
        _document,
    ),
    _Row(
        "card code",
        rf"(?i)\b(?:cvv2?|cvc2?|card security code)(?:\s*(?:{_IS}\s|[:=]))*\s*(?P<value>[0-9]{{3,4}})"
        r"(?:$|[^0-9A-Za-z])",
    ),
    _Row(
        "password",
        rf"(?i)(?:{words.LOGIN}){_CLOSE}{_OF}"
        rf"(?:(?:\s+|['’])(?P<weak>{_IS}|s)\s+(?:(?:now|still|jetzt)\s+)?|\s*(?P<joined>{_BE})\s*"
        rf"|\s+(?:to|auf|à|a|en|naar|para)\s+|\s*(?:{_IS}\s*)?{_CLOSE}(?:\s*value\s*)?{_SIGN}){_VALUE}",
        _password,
    ),
    _Row(
        "password",
        rf"(?i)[\s,](?:(?:(?:that|this|das|dies|ça|questa|esta|essa|dat)['’]?\s*)?{_IS}|that['’]?s|c['’]est|as|als|comme|como|come)\s+"
        rf"(?P<mine>{words.MINE}\s+)?(?:(?:\pL+['’]?\s*){{0,3}}?(?:{words.LOGIN_ELSEWHERE})|(?:\pL+['’]?\s*){{0,2}}?(?:{words.KEY}))"
        r"(?:$|[^\pL]+)",
        _password_before,
    ),
    _Row(
        "password",
        rf"(?i)(?:{words.LOGIN_ELSEWHERE}){_OF}(?:\s+\pL+){{0,2}}?\s+(?:from|von|vom|de|da|van)\s+(?P<value>\S{{3,}})\s+(?:to|auf|zu|à|a|per|para|naar)"
        r"\s+(?P<new>\S{3,})",
        _changed_password,
    ),
    _Row(
        "password",
        rf"(?i)(?:{words.ACCOUNT})[^\n]*?(?:[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:[:=]|\s{_IS}\s)\s*[^\s/|]+)\s*(?:[/|:,;]|\s(?:and|und|et|y|e|en|with|mit))"
        r"\s*(?P<value>[^\s@]{6,})(?:$|\s)",
        _beside_account,
    ),
    _Row(
        "password",
        rf"(?i)(?:{words.NETWORK}|{words.USER})\b[^\n]*?[\s,;/|(](?:key|code|pass\pL*|pw|schlüssel|cl[ée]f?|clave|chiave|chave|sleutel)"
        r"\s*[:=]?\s*(?P<value>[0-9]{4}(?:[ -][0-9]{4}){2,}|[^\s\"'`“”„«»()]*[0-9][^\s\"'`“”„«»()]*)",
        _beside_account,
    ),
    _Row(
        "password",
        r"(?i)\b(?:machine\s+\S+|default)\s+login\s+\S+\s+password\s+(?P<value>\S{3,})",
        _option,
    ),
    _Row(
        "password",
        rf"(?:^|\s)--pass(?:word|wd|phrase)?(?P<strong>[= ])\s*(?P<weak>)(?P<joined>){_VALUE}",
        _password,
    ),
    _Row(
        "password",
        rf"(?i)(?:^|[^A-Za-z0-9])(?:[A-Za-z0-9]+_)*(?:pw|pass|psw)\s*(?P<strong>[:=])\s*(?P<weak>)(?P<joined>){_VALUE}",
        _short_name,
    ),
    _Row(
        "password",
        rf"(?i)(?:{words.LOGIN_ELSEWHERE})\pL{{0,4}}{_CLOSE}(?P<between>(?:\s+[^\s0-9:=.,;!?()\[\]–—-]+){{0,6}}?)"
        rf"(?P<copula>\s+{words.COPULA}\s)?\s*"
        r"(?P<sign>[:=：＝–—-]?)[\s\"'`“„«「*]*"
        r"(?P<value>[^\s\"'`“”„«»<>，。、；！？「」』）0-9:=]*[0-9][^\s\"'`“”„«»<>，。、；！？「」』）]*)",
        _password_elsewhere,
    ),
    _Row(
        "password",
        r"(?i)<(?:[\w:.-]*(?:password|passwd|pwd|secret|token|api-?key))(?P<strong>(?:\s[^<>]{0,80})?>)\s*"
        rf"(?P<weak>)(?P<joined>){_VALUE}</",
        _password,
    ),
    _Row(
        "password",
        rf"(?i)(?:^|\n)(?P<head>(?:[^\n]*[|,;\t])?[\s\"'*_`]*(?:{words.LOGIN}|secret|token|api[ _-]?key|pin)[ \"'*_`]*"
        r"(?:[|,;\t][^\n]*)?)\n(?P<rows>[^\n]*[|,;\t][^\n]*(?:\n[^\n]*[|,;\t][^\n]*)*)",
        _column,
    ),
    _Row(
        "password",
        r"(?:^|[^A-Za-z0-9])(?:[\w.@-]+):(\$(?:1|2[abxy]|5|6|7|y|gy|apr1|sha1|scrypt|argon2[a-z]*)\$[^\s:\"']{20,})",
    ),
    _Row(
        "password",
        r"\b(?:curl|wget|httpie?|smbclient|ldap\w+|rclone|svn|mongo\w*)\b[^\n]{0,300}?\s"
        r"(?:-u|--user|--proxy-user|-U)[ =]?[\"']?[^\s:\"'@/]+[:%](?P<value>[^\s\"']{3,})",
        _option,
    ),
    _Row(
        "password",
        r"\b(?:mysql\w*|mariadb\w*|sshpass|7z[arz]?|rar|unrar)\b(?:[^\n]{0,300}?\s)-p"
        r"(?P<value>\"[^\"\n]+\"|'[^'\n]+'|[^\s\"'-][^\s\"']{2,})",
        _option,
    ),
    _Row(
        "password",
        r"\b(?:sshpass|(?:docker|podman|registry|az) login|twine upload|unzip|zip|mongo\w*|htpasswd|plink|pscp|sqlcmd|redis-cli)\b"
        r"(?:[^\n]{0,300}?\s)-[pPwa]w? "
        r"(?P<value>\"[^\"\n]+\"|'[^'\n]+'|[^\s\"'-][^\s\"']{2,})",
        _option,
    ),
    _Row(
        "token",
        r"(?i)[?&#;](?:amp;)?(?:sig|signature|x-(?:amz|goog)-(?:signature|security-token)|(?:access|refresh|id|auth|oauth"
        r"|reset|invite|session|bearer)?[_-]?token|api_?key|key|code|secret|session_?id|session|sid|jwt|ticket|hmac"
        r"|password|pwd|pass|auth)=(?P<value>[A-Za-z0-9._~+/%:=-]{16,})",
        _signed,
    ),
    _Row(
        "cookie",
        r"(?i)(?:^|[\s;\"'])[\w.-]*(?:sess|sid|auth|token|jwt|csrf|xsrf|remember)[\w.-]*="
        r"(?P<value>[A-Za-z0-9._~+/%:|=-]{16,})",
        _signed,
    ),
    _Row(
        "token",
        r"(?:^|[^A-Za-z0-9_])(?P<name>[A-Z0-9_]*(?:TOKEN|SECRET|PASSW(?:OR)?D|CREDENTIALS?)(?:_[A-Z0-9]+)*\s*)[=:]\s*[\"']?"
        r"(?:[A-Z][A-Za-z0-9]{2,8} )?(?P<value>[A-Za-z0-9+/=_.~!#$%^*,&@()-]{10,})",
        _setting,
    ),
    _Row(
        "token",
        r"(?i)(?:set-?up|authenticator|totp|2fa|mfa|manual(?: entry)?|recovery|restore)[ -]?(?:key|secret|code)(?:\s+[^\s:]+){0,4}?"
        rf"(?:\s*(?P<sign>[:=])\s*|\s{_IS}\s|\s)(?P<value>(?:[a-z0-9]{{4}}[ -]?){{3,15}}[a-z0-9]{{4}})",
        _setup_key,
    ),
    _Row(
        "token",
        r"(?i)\b(?:bearer|authorization:\s*basic)\s+(?P<value>[A-Za-z0-9._~+/=-]{10,})",
        _random,
    ),
    _Row(
        "token",
        rf"(?i)(?:{words.KEY}){_CLOSE}{_OF}(?:[\s:=：＝>\"'`“(*]|\s-\s|{_IS}\s|{_BE}|\svalue)+"
        r"(?P<value>[A-Za-z0-9+/=_.~!#$%^*-]{10,})",
        _random,
    ),
)
"""The classes of secrets; a span that two rows match has the class of the earlier one.
"""


@cache
def first_look() -> Any:
    """Return one automaton of all rows for the first pass."""
    return compiled(tuple(row.pattern for row in ROWS), ignore_case=False)


@cache
def pattern(row: int) -> Any:
    """Return the pattern of a row."""
    return re2.compile(ROWS[row].pattern, options(ignore_case=False))
