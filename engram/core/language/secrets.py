"""Remove secrets from a text before it reaches the disk or a model (row X11).

Each row of the table is a pattern and a check. One linear pass over the whole table
finds the rows that can match, and only those search for their spans, so a text without
secrets costs one pass. Randomness alone is no evidence, because hashes and ids are
random too; it counts only next to a word such as `token`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING, Any

import re2

from engram.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    Check = Callable[[Any], Iterator[tuple[int, int]]]

DOOR_CODE = "door code"
"""The class of codes of doors and gates, which a person may ask to keep."""

MODES = ("off", "redact", "drop")
"""What to do with a secret.

`off` keeps it, `redact` replaces it by a placeholder, `drop` replaces the whole text.
"""


@dataclass(frozen=True, slots=True)
class Redaction:
    """The redacted text, and the number of removed secrets of each class."""

    text: str
    found: Mapping[str, int] = field(default_factory=dict)


def redact(
    text: str, mode: str = "redact", *, allowed: Collection[str] = ()
) -> Redaction:
    """Replace each secret of `text` by a placeholder, `[redacted: card]` (`X11`).

    Secrets of the classes in `allowed` are kept.

    `drop` replaces the whole text if it contains a secret; `off` changes nothing; any
    other mode raises ConfigError. Redacting twice gives the same as redacting once. The
    time is linear in the length, so the text is never split or truncated, which could
    hide a secret.

    >>> redact("my PIN is 4821").text
    'my PIN is [redacted: pin]'
    """
    if mode not in MODES:
        raise ConfigError(
            f"unknown redaction mode {mode!r}",
            where="redact",
            fix=f"Use one of: {', '.join(MODES)}.",
        )
    found: Counter[str] = Counter()
    kept = text
    # A placeholder can expose a secret that was adjacent to another, hence the loop. It
    # ends because each round removes text that is not a placeholder; more than one
    # round is rare.
    while mode != "off" and (spans := _secrets(kept, allowed)):
        found.update(name for _, _, name in spans)
        kept = _replaced(kept, spans)
    if found and mode == "drop":
        kept = _placeholder(f"message with {', '.join(sorted(found))}")
    return Redaction(kept, dict(found))


def _placeholder(name: str) -> str:
    return f"[redacted: {name}]"


def _replaced(text: str, spans: list[tuple[int, int, str]]) -> str:
    pieces, end = [], 0
    for start, stop, name in spans:
        pieces += [text[end:start], _placeholder(name)]
        end = stop
    return "".join([*pieces, text[end:]])


def _secrets(text: str, allowed: Collection[str]) -> list[tuple[int, int, str]]:
    """Return the spans of secrets with their class, in order.

    Overlapping spans are merged and take the class of the earlier row. A span
    whose first row is of a class in `allowed` is left out, also if later rows match it.
    """
    probe = text.encode("utf-8", "replace")
    rows = sorted(_FIRST_LOOK.Match(probe) or ())
    if not rows:
        return []
    plain = probe.decode()
    spans = sorted(
        (start, stop, row)
        for row in rows
        for found in _PATTERNS[row].finditer(plain)
        for start, stop in _ROWS[row].check(found)
    )
    if allowed:
        kept = {span[:2] for span in spans if _ROWS[span[2]].name in allowed}
        spans = [span for span in spans if span[:2] not in kept]
    merged: list[tuple[int, int, int]] = []
    for start, stop, row in spans:
        if merged and start < merged[-1][1]:
            first, last, rank = merged.pop()
            merged.append((first, max(last, stop), min(rank, row)))
        else:
            merged.append((start, stop, row))
    return [
        (start, stop, _ROWS[row].name)
        for start, stop, row in _outside_placeholders(merged, plain)
    ]


def _outside_placeholders(
    spans: list[tuple[int, int, int]], text: str
) -> Iterator[tuple[int, int, int]]:
    """Yield the spans that do not touch a placeholder."""
    shields = _PLACEHOLDER.finditer(text)
    shield = next(shields, None)
    for span in spans:
        while shield and shield.end() <= span[0]:
            shield = next(shields, None)
        if not shield or span[1] <= shield.start():
            yield span


# --- checks: what of a match is secret -------------------------------------------------------------------------

# Bits per character. Words reach the first figure too, so a digit must be there, or
# length and both cases.
_ENTROPY = 2.8
_ENTROPY_WITHOUT_DIGIT = 3.8
_CHARS = 10
_CHARS_WITHOUT_DIGIT = 20
_SWITCHES = 3
_SHORTEST_PASSWORD = 3
_SHORTEST_NUMBER = 4

_WORD = re.compile(r"[^\W\d_]+(?:[-'’/._][^\W\d_]+)*")
_NAME = re.compile(r"pass|pwd|secret|token|contrase|kennwort|senha", re.IGNORECASE)
_MASK = re.compile(
    r"[*•xX.…_#?-]+|\[[A-Za-z _-]+\]?|\{\{.*|\{\w*\}|\$[{(].*|\$[A-Za-z_]+|%[sd]|%\(.*|%[A-Za-z_]+%|--?[A-Za-z][\w-]*"
)
_CODE = re.compile(
    r"[a-z_]\w*(?:[(\[]|\(.*\)|\[.*\])[;:,]*|[a-z_]\w*(?:\.[a-z_]\w*)+[(\[].*"
    r"|(?:os|self|this|process|config|settings|request|req|env|args|form|secrets)\..*",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"\d+[-‐ ]?(?:char|zeichen|caract|carat|tekens|digit|day|tage|jour|d[ií]as|bit|letter|min|h$|x$).*",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:~|\.{1,2})?/[^/]*/.*")
_DATE = re.compile(r"\d{4}[-/.]\d\d[-/.]\d\d.*|v?\d+(?:\.\d+)+")
_QUERY = re.compile(r"&\w+=")
_CLAUSE_END = re.compile(r"[\"'”’*_`]*(?:[.,;!?)&。，]|\s*(?:$|\n))")
_QUOTES = "\"'“”«»„`"

# Words that stand where a password could, in the languages of the table.
_ORDINARY = """
    a above again all already also always an and any as ask at available be because been below best better blank
    broken by can cannot case-sensitive changed compromised correct could does encrypted enough empty enforced
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


def _whole(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the last group, or the whole match if there is none."""
    yield found.span(found.re.groups)


def _url_password(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the password of a URL, unless it is a mask."""
    if not _MASK.fullmatch(found[1]):
        yield found.span(1)


def _mixed(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the first group if it contains letters and digits."""
    value = found[1]
    if any(map(str.isdigit, value)) and any(map(str.isalpha, value)):
        yield found.span(1)


def _random(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the value if it looks random; dates, versions, paths and addresses do not.

    It must mix letters with digits, or be long and of both cases. Without a `:` or `=`
    in front, it must also change often between small letters, capitals and digits,
    which `oauth-2-login` does not.
    """
    value = found["value"].rstrip(".")
    if any(pattern.fullmatch(value) for pattern in (_DATE, _CODE, _PATH)) or not value:
        return
    digit, small, capital = (
        any(map(kind, value)) for kind in (str.isdigit, str.islower, str.isupper)
    )
    least, bits = (
        (_CHARS, _ENTROPY) if digit else (_CHARS_WITHOUT_DIGIT, _ENTROPY_WITHOUT_DIGIT)
    )
    mixed = (small or capital) if digit else (small and capital)
    strong = bool(re.search(r"[:=：＝]", found[0][: -len(found["value"])]))
    if (
        mixed
        and len(value) >= least
        and _bits(value) >= bits
        and (strong or _switches(value) >= _SWITCHES)
    ):
        start = found.start(found.re.groups)
        yield start, start + len(value)


def _switches(value: str) -> int:
    """Count the neighbours of different kind: digit, small letter, capital."""
    kinds = [(sign.isdigit(), sign.islower()) for sign in value if sign.isalnum()]
    return sum(one != other for one, other in pairwise(kinds))


def _bits(value: str) -> float:
    """Return the entropy in bits per character, −Σ p·log₂ p."""
    return -sum(n / len(value) * log2(n / len(value)) for n in Counter(value).values())


def _password(found: Any) -> Iterator[tuple[int, int]]:
    """Yield the value after a password word, unless it is an ordinary word."""
    given = found["value"]
    quoted = given[0] in _QUOTES
    value = given.strip(_QUOTES) if quoted else given.rstrip(".,;)")
    if query := _QUERY.search(value):
        value = value[: query.start()]
    if len(value) < _SHORTEST_PASSWORD or value.endswith(":") or _ordinary(value):
        return
    start = found.start(found.re.groups) + given.index(value)
    after = found.string[start + len(value) : start + len(value) + 4]
    if _plausible(
        value,
        after,
        strong=bool(found["strong"] or quoted),
        weak=bool(found["weak"] or found["joined"]),
    ):
        yield start, start + len(value)


def _ordinary(value: str) -> bool:
    """Return whether `value` is a mask, a measure, code, a path or an ordinary word."""
    patterns = (_MASK, _MEASURE, _CODE, _PATH)
    return value.lower().split()[0] in _NO_PASSWORD or any(
        pattern.fullmatch(value) for pattern in patterns
    )


def _plausible(value: str, after: str, *, strong: bool, weak: bool) -> bool:
    """Return whether `value` can be a password after its separator.

    After `:` or `=` every value can, except a name of a secret and a capitalised word
    that continues a sentence. After `is` a value of letters alone can only at the end
    of a clause: "the password is stored hashed" is prose, "the password is swordfish."
    is not. After `to` a value of letters alone never can.
    """
    letters, last = (
        _WORD.fullmatch(value) is not None,
        _CLAUSE_END.match(after) is not None,
    )
    if strong:
        return not letters or not (
            _NAME.search(value) or (value.istitle() and not last)
        )
    if value.isdigit():
        return len(value) >= _SHORTEST_NUMBER
    return not letters or (weak and last and value.isascii())


# A card number's usual groups at the start of a group; behind them no further digit.
_CARD_SHAPE = re.compile(
    r"(?<![0-9])(?=((?:[2-6][0-9]{13,15}|[2-6][0-9]{3}([ \xa0-])[0-9]{4}\2[0-9]{4}\2[0-9]{4}"
    r"|3[0-9]{3}([ \xa0-])[0-9]{6}\3[0-9]{4,5})(?![0-9])))"
)
_ISSUER = re.compile(
    r"4[0-9]{15}|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}|35(?:2[89]|[3-8][0-9])[0-9]{12}|62[0-9]{14}"
)
_DOUBLED = str.maketrans("0123456789", "0246813579")


def _card(found: Any) -> Iterator[tuple[int, int]]:
    """Yield a card number: valid groups, an issuer's prefix and a Luhn check digit."""
    for shape in _CARD_SHAPE.finditer(found[1]):
        number = re.sub(r"[^0-9]", "", shape[1])
        if _ISSUER.fullmatch(number) and _luhn(number):
            yield found.start(1) + shape.start(1), found.start(1) + shape.end(1)


def _luhn(number: str) -> bool:
    """Return whether the number has a valid Luhn check digit.

    Every second digit is doubled, and the sum of all digits is a multiple of ten.
    """
    return sum(map(int, number[-1::-2] + number[-2::-2].translate(_DOUBLED))) % 10 == 0


_IBANS = """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24
    FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20
    LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24
    SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
"""
_IBAN_LENGTH = {entry[:2]: int(entry[2:]) for entry in _IBANS.split()}


def _iban(found: Any) -> Iterator[tuple[int, int]]:
    """Yield an IBAN: the length of its country, and 1 modulo 97."""
    start = found.start(1)
    length = _IBAN_LENGTH[found[1][:2].upper()]
    window = found.string[start : start + 2 * length]
    ends = [at for at, sign in enumerate(window, start=1) if sign not in " -"]
    if len(ends) < length or window[ends[length - 1] :][:1].isalnum():
        return
    number = "".join(window[at - 1] for at in ends[:length])
    if number.isascii() and number.isalnum() and _modulo_97(number) == 1:
        yield start, start + ends[length - 1]


def _modulo_97(number: str) -> int:
    """Return the IBAN modulo 97.

    Its first four characters are moved to the end, and letters count 10 to 35.
    """
    return int("".join(str(int(sign, 36)) for sign in number[4:] + number[:4])) % 97


# --- the table -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """A class of secrets; `check` yields the secret spans of a match of `pattern`."""

    name: str
    pattern: str
    check: Check = _whole


def _key(name: str, pattern: str, check: Check = _whole) -> _Row:
    """Return the row of a key with a prefix, which must not begin inside a word."""
    return _Row(name, rf"(?:^|[^A-Za-z0-9])({pattern})", check)


_LOGIN_WORDS = (
    r"pass(?:word|wd|phrase|code|wort|ord)|pwd|kennwort|mot de passe|contrase[ñn]a|parola d'ordine|senha|"
    r"palavra-passe|wachtwoord|has[łl]o|lösenord|adgangskode|kodeord|salasana|heslo|şifre|пароль|密码|密碼|口令|"
    r"パスワード|비밀번호|كلمة المرور|كلمة السر|पासवर्ड"
)
_KEY_WORDS = (
    r"(?:api|access|secret|private|auth|signing|encryption|licen[cs]e|account|client|shared|master|deploy)[ _-]?"
    r"(?:access[ _-]?)?(?:key|token|secret)|token|secret|credentials?|clé (?:d')?api|api-?schlüssel|chiave api|"
    r"clave (?:de )?api|chave (?:de )?api|api-?sleutel|密钥|密鑰|令牌|トークン|apiキー|токен|api-?ключ"
)
_CODE_WORDS = (
    r"pin|otp|tan|geheimzahl|código (?:pin|de seguridad)|code (?:pin|secret)|codice (?:pin|di sicurezza)|"
    r"(?:pin|security|verification|one-time|access|sms|2fa|mfa|alarm|unlock|sicherheits)[ -]?"
    r"(?:code|nummer|number)|暗証番号|验证码|驗證碼"
)
_DOOR_WORDS = (
    r"(?:door|gate|building|entry|entrance|garage|locker|parking|bike (?:shed|room|lock|rack))"
    r"[ -]?(?:code|pin)|"
    r"(?:tür|haustür|tor|garagen|fahrradkeller|schließfach)-?(?:code|pin)|"
    r"code (?:de la porte|d'entrée|du portail|du local à vélos)|"
    r"código (?:de la puerta|del portal)|"
    r"(?:駐輪場|駐車場|ロッカー|宅配ボックス|玄関|門|ゲート|オートロック|マンション)の?(?:暗証番号|番号|コード)|"
    r"(?:门禁|大门|楼门|单元门|车库|储物柜)的?(?:密码|代码)"
)
# What may stand between a word and its value: what it is for, and a verb or a sign.
_OF = r"(?:\s+(?:for|to|of|on|für|zum|pour|de|del|per|para|voor|van)(?:\s+[^\s:=\[\]]+){1,4}?)?"
_IS = r"(?:is|was|ist|war|lautet|est|es|è|é|jest|är|er|on|это)"
_BE = r"(?:は|是|为|為)"
_CLOSE = r"[\"'*_`”)]*"
_SIGN = r"(?P<strong>[:=：＝]+>?|->|→)[*_]*[ \t]*\n?[ \t]*"
_VALUE = (
    r"(?P<value>\"[^\"\n]+\"|'[^'\n]+'|“[^”\n]+[”“]|„[^“”\n]+[“”]|«[^»\n]+»|`[^`\n]+`|"
    r"[^\s\"'`“”„«»<>，。、；！？」』）]{3,})"
)

_ROWS = (
    _Row(
        "private key",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
    ),
    _Row(
        "private key",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{40,})+",
    ),
    _key("jwt", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}"),
    _key("anthropic key", r"sk-ant-[A-Za-z0-9_-]{20,}"),
    _key("stripe key", r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,}"),
    _key("openai key", r"sk-[A-Za-z0-9_-]{20,}", _mixed),
    _key("github token", r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}"),
    _key(
        "gitlab token",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas|ffct)-[A-Za-z0-9_-]{20,}",
    ),
    _key("slack token", r"xox[a-z]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}"),
    _key(
        "webhook",
        r"https://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)/[A-Za-z0-9/_-]{20,}",
    ),
    _key("aws key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    _key(
        "google key",
        r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,}",
    ),
    _key("hugging face token", r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    _key("npm token", r"npm_[A-Za-z0-9]{30,}"),
    _key("pypi token", r"pypi-[A-Za-z0-9_-]{50,}"),
    _key("sendgrid key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _key("twilio key", r"SK[0-9a-f]{32}"),
    _key("telegram token", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    _key("digitalocean token", r"do[opr]_v1_[0-9a-f]{64}"),
    _key("shopify token", r"shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}"),
    _key("databricks token", r"dapi[0-9a-f]{32}"),
    _key("docker token", r"dckr_pat_[A-Za-z0-9_-]{20,}"),
    _key("atlassian token", r"ATATT3[A-Za-z0-9_=-]{60,}"),
    _key(
        "model key", r"(?:gsk_|r8_|pplx-|xai-|nvapi-|tvly-)[A-Za-z0-9_-]{30,}", _mixed
    ),
    _key(
        "token",
        r"hvs\.[A-Za-z0-9_-]{24,}|lin_api_[A-Za-z0-9]{30,}|ntn_[A-Za-z0-9]{30,}|sbp_[0-9a-f]{40}"
        r"|AGE-SECRET-KEY-1[0-9A-Z]{58}",
    ),
    _Row(
        "card",
        r"(?:^|[^A-Za-z0-9._+])([0-9]{4,}(?:[ \x{a0}-]?[0-9]{4,}){2,}|[0-9]{14,})",
        _card,
    ),
    _key("iban", rf"(?i:{'|'.join(_IBAN_LENGTH)})[0-9]{{2}}", _iban),
    _Row(
        "url password",
        r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@\"'<>]*:([^\s/\"'<>]+)@[A-Za-z0-9\[_.-]",
        _url_password,
    ),
    _Row(
        DOOR_CODE,
        rf"(?i)(?:^|\b|\W)(?:{_DOOR_WORDS}){_OF}(?:\s*(?:{_IS}\s|[:=：]|{_BE})\s*)+(?P<value>[0-9]{{4,8}})"
        r"(?:$|[^0-9A-Za-z./-]|[.,;!?](?:$|\s))",
    ),
    _Row(
        "pin",
        rf"(?i)(?:^|\b|\W)(?:{_CODE_WORDS}){_OF}(?:\s*(?:{_IS}\s|[:=：]|{_BE})\s*)+(?P<value>[0-9]{{4,8}})"
        r"(?:$|[^0-9A-Za-z./-]|[.,;!?](?:$|\s))",
    ),
    _Row(
        "card code",
        rf"(?i)\b(?:cvv2?|cvc2?|card security code)(?:\s*(?:{_IS}\s|[:=]))*\s*(?P<value>[0-9]{{3,4}})"
        r"(?:$|[^0-9A-Za-z])",
    ),
    _Row(
        "password",
        rf"(?i)(?:{_LOGIN_WORDS}){_CLOSE}{_OF}"
        rf"(?:\s+(?P<weak>{_IS})\s+(?:(?:now|still|jetzt)\s+)?|\s*(?P<joined>{_BE})\s*"
        rf"|\s+(?:to|auf|à|a|en|naar|para)\s+|\s*(?:{_IS}\s*)?{_CLOSE}{_SIGN}){_VALUE}",
        _password,
    ),
    _Row(
        "password",
        rf"(?:^|\s)--pass(?:word|wd|phrase)?(?P<strong>[= ])\s*(?P<weak>)(?P<joined>){_VALUE}",
        _password,
    ),
    _Row("password", r"(?i)\b(?:pw|pass)\s*[:=]\s*([^\s\"'`,;]{6,})", _mixed),
    _Row(
        "token",
        r"(?i)\b(?:bearer|authorization:\s*basic)\s+(?P<value>[A-Za-z0-9._~+/=-]{10,})",
        _random,
    ),
    _Row(
        "token",
        rf"(?i)(?:{_KEY_WORDS}){_CLOSE}{_OF}(?:[\s:=：＝>\"'`“(*]|\s-\s|{_IS}\s|{_BE})+"
        r"(?P<value>[A-Za-z0-9+/=_.~!#$%^*-]{10,})",
        _random,
    ),
)
"""The classes of secrets; a span that two rows match takes the name of the earlier one.
"""


_NAMES = "|".join(re.escape(row.name) for row in _ROWS)
_PLACEHOLDER = re.compile(rf"\[redacted: (?:{_NAMES}|message with [a-z, ]+)\]")


def _compiled() -> tuple[Any, tuple[Any, ...]]:
    """Return one automaton of all rows for the first pass, and the single patterns."""
    options = re2.Options()
    options.max_mem = 64 << 20
    options.log_errors = False
    first_look = re2.Set.SearchSet(options)
    for row in _ROWS:
        first_look.Add(row.pattern)
    first_look.Compile()
    return first_look, tuple(re2.compile(row.pattern, options) for row in _ROWS)


_FIRST_LOOK, _PATTERNS = _compiled()
