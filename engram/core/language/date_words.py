"""The words for time, by language: a table for the date grammar (rows X13, X14).

Each word or short phrase has one class letter and a value. The letters:

    d  a day by offset            W  a unit by offset (先週)      P  part of a day: (offset, from, to hour)
    w  a number word              u  a unit                       p  part of a day: (from, to hour)
    m  last -1 / next +1          j  this                         k  weekday, Monday 0
    b  month                      s  season, winter 0             e  weekend
    h  ago, before the number     a  ago, after it                i  in, before the number or the year
    f  from now, after it         q  since                        r  by, until: never back
    c  on                         @  at                           v  every: what follows is a habit
    z  nearest -1 / +1            R  by the end of                B  "before last" -2, "after next" 2
    F  counted from another time  g  glue: the, of, a comma is ,   -  words that only look like time
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Value = int | str | tuple[int, ...] | tuple[str, int]


_CJK_SIGNS = "\u3005\u3040-\u30ff\u3400-\u9fff"
_NUMERIC = r"\d{4}(?P<ymd>[-/.])\d{1,2}(?P=ymd)\d{1,2}(?![\d/])|\d{1,2}(?P<dmy>[-/.])\d{1,2}(?P=dmy)\d{4}(?![\d/])"
_CLOCK = r"(?i:\d{1,2}(?::\d{2})?\s?[ap](?:m\b|\.m\.)|\d{1,2}:\d{2}(?!\d)|\d{1,2}\s?uhr\b|\d{1,2}h(?:\d{2})?\b)"
_COUNT = r"(?P<n>\d+)(?i:st|nd|rd|th|er|(?<!\d{3})\.(?=\ ?[A-Za-zäöü]))?"
_WORD = rf"[^\W\d_{_CJK_SIGNS}]+(?:-[^\W\d_{_CJK_SIGNS}]+)*['’]?"
_SINGLE = rf"[{_CJK_SIGNS}]|[^\w\ ]"
_NUMBER = (
    rf"(?P<D>{_NUMERIC})|(?P<t>{_CLOCK})|\d+(?:[.,:/]\d+)+|\d+['’]?(?i:s)\b|{_COUNT}"
)
TOKEN = re.compile(rf"{_WORD}|{_NUMBER}|{_SINGLE}")
"""A token: a numeric date, a clock time, a number, one CJK sign, a word (an elision
ends it), one other sign.
"""

# What `TOKEN` finds in ASCII of lower case, and where there are no digits.
_ASCII_WORD, _ASCII_SINGLE = "[a-z]+(?:-[a-z]+)*'?", r"[^\w ]"
_ASCII_TOKEN = re.compile(rf"{_ASCII_WORD}|{_NUMBER}|{_ASCII_SINGLE}")
_NO_NUMBER = re.compile(rf"{_WORD}|{_SINGLE}")
_NO_NUMBER_ASCII = re.compile(rf"{_ASCII_WORD}|{_ASCII_SINGLE}", re.ASCII)
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """One language: phrases with class and value, and the words that lean to the past
    or the future.

    A phrase is its tokens joined by blanks. `family` chooses the grammar, `reach` is
    the longest phrase in tokens. A text can hold an expression only if it has one of
    `anchors`, or one of `years` and a number.
    """

    name: str
    family: str
    phrases: dict[str, tuple[str, Value]]
    heads: frozenset[str]
    reach: int
    anchors: frozenset[str]
    years: frozenset[str]
    past: frozenset[str]
    future: frozenset[str]
    present: frozenset[str]


def tokens(text: str) -> Iterable[str]:
    """The tokens of `text`, casefolded, with the plain apostrophe."""
    if not _DIGIT.search(text):
        if text.isascii():
            return _NO_NUMBER_ASCII.findall(text.lower())
        return [
            found.casefold().replace("’", "'") for found in _NO_NUMBER.findall(text)
        ]
    if text.isascii():
        return (found[0] for found in _ASCII_TOKEN.finditer(text.lower()))
    return (found[0].casefold().replace("’", "'") for found in TOKEN.finditer(text))


def _table(**classes: str) -> dict[str, tuple[str, Value]]:
    """Read `class="phrase=value, phrase=value"`; a value is a number, `name`,
    `name:offset` or numbers by `:`.
    """
    return {
        words.strip(): (_LETTERS.get(letter, letter), _value(value))
        for letter, listing in classes.items()
        for words, _, value in (entry.partition("=") for entry in listing.split(", "))
    }


_LETTERS = {"at": "@", "stop": "-"}


def _value(text: str) -> Value:
    """One value of a table entry."""
    parts = text.split(":")
    if not _is_number(parts[0]):
        return (parts[0], int(parts[1])) if len(parts) == 2 else text
    return int(text) if len(parts) == 1 else tuple(int(part) for part in parts)


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdigit()


def _series(letter: str, listing: str, start: int = 0) -> dict[str, tuple[str, Value]]:
    """Consecutive values; `/` separates spellings of one value."""
    return {
        word: (letter, start + place)
        for place, names in enumerate(listing.split())
        for word in names.split("/")
    }


def _lexicon(
    name: str,
    family: str,
    *tables: dict[str, tuple[str, Value]],
    past: str,
    future: str,
    present: str = "",
) -> Lexicon:
    phrases: dict[str, tuple[str, Value]] = {",": (",", "")}
    for table in tables:
        phrases |= {" ".join(tokens(key)): value for key, value in table.items()}

    def first(letters: str) -> frozenset[str]:
        return frozenset(
            key.split()[0] for key, (letter, _) in phrases.items() if letter in letters
        )

    return Lexicon(
        name,
        family,
        phrases,
        heads=frozenset(key.split()[0] for key in phrases),
        reach=max(len(key.split()) for key in phrases),
        anchors=first("dWPukbsemzaBh" if family != "cjk" else "dWPuk"),
        years=first("iqr"),
        past=frozenset(past.split()),
        future=frozenset(future.split()),
        present=frozenset(present.split()),
    )


_EN_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_EN = _lexicon(
    "en",
    "germanic",
    _series("k", "monday tuesday/tues wednesday thursday/thurs friday saturday sunday"),
    _series(
        "b",
        "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug "
        "september/sep/sept october/oct november/nov december/dec",
        1,
    ),
    _series("s", "winter spring summer autumn/fall"),
    _series(
        "w", "a/an/one two three four five six seven eight nine ten eleven twelve", 1
    ),
    {
        f"{word} {day}": ("-", "")
        for word in ("a", "one", "any", "some", "most")
        for day in _EN_DAYS.split()
    },
    _table(
        d="today=0, yesterday=-1, tomorrow=1, day before yesterday=-2, day after tomorrow=2",
        P="tonight=0:18:24, last night=-1:18:30, this morning=0:5:12, this afternoon=0:12:18, this evening=0:18:24",
        p="morning=5:12, afternoon=12:18, evening=18:24, night=18:30",
        u="day=day, days=day, week=week, weeks=week, month=month, months=month, year=year, years=year, "
        "hour=hour, hours=hour",
        e="weekend=",
        m="last=-1, next=1",
        z="this past=-1, past=-1, this coming=1, coming=1",
        B="before last=-2, after next=2",
        F="from=, after=, following=",
        j="this=",
        a="ago=",
        i="in=",
        f="from now=, from today=",
        q="since=",
        r="by=, until=, till=, before=, due=, due on=, no later than=",
        R="by the end of=, by end of=, before the end of=, until the end of=, till the end of=",
        c="on=",
        at="at=",
        v="every=, each=",
        g="the=, of=",
        stop="last but not least=, like yesterday=, like just yesterday=, like it was yesterday=, "
        "past few=, these days=, one day=, some day=, day to day=, day by day=, "
        "at last=, next door=, next to=, next level=, week in=, week after week=, year round=, in days=",
    ),
    past="was were had did went got came saw met took made bought found felt gave ran won lost began told said "
    "thought left wrote read drove flew spent kept ate drank sold sent built caught chose broke grew knew taught "
    "paid sang swam slept wore woke held heard fell hit hurt led lent rode sat spoke stood forgot became brought "
    "didn' wasn' weren' hadn' died ago",
    future="will ll won' gonna shall plan plans planning upcoming tomorrow due deadline must should hope hoping "
    "let' soon going starting",
    present="is are am m re have has starts leaves begins arrives opens departs need promise remind reminder forget",
)

_DE_UNITS = (
    "tag=day, tage=day, tagen=day, woche=week, wochen=week, monat=month, monate=month, monaten=month, "
    "monats=month, jahr=year, jahre=year, jahren=year, jahres=year, stunde=hour, stunden=hour"
)
_DE = _lexicon(
    "de",
    "germanic",
    _series(
        "k", "montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag"
    ),
    _series(
        "b",
        "januar/jänner/jan februar/feber/feb märz april/apr mai juni/jun juli/jul august/aug september/sept "
        "oktober/okt november/nov dezember/dez",
        1,
    ),
    _series("s", "winter frühling/frühjahr sommer herbst"),
    _series(
        "w",
        "einem/einer/eins/ein/eine zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        1,
    ),
    _table(
        d="heute=0, gestern=-1, vorgestern=-2, morgen=1, übermorgen=2",
        P="heute morgen=0:5:12, heute früh=0:5:12, heute nachmittag=0:12:18, heute abend=0:18:24, "
        "heute nacht=0:18:30, gestern abend=-1:18:24, gestern nacht=-1:18:30",
        p="früh=5:12, vormittag=5:12, nachmittag=12:18, abend=18:24, nacht=18:30",
        u=_DE_UNITS,
        e="wochenende=",
        m="letzte=-1, letzten=-1, letzter=-1, letztes=-1, letztem=-1, vorige=-1, vorigen=-1, voriges=-1, "
        "nächste=1, nächsten=1, nächster=1, nächstes=1, "
        "nächstem=1",
        z="vergangene=-1, vergangenen=-1, vergangenes=-1, kommende=1, kommenden=1, kommendes=1",
        j="diese=, diesen=, dieser=, dieses=, diesem=",
        h="vor=",
        i="in=, im=, im jahr=, im jahre=",
        q="seit=",
        r="bis=, bis zum=, spätestens=, spätestens am=",
        R="bis ende=, bis zum ende=, bis spätestens ende=, vor ende=, vor dem ende=",
        c="am=",
        at="um=",
        v="jeden=, jede=, jedes=, jedem=",
        g="der=, den=, dem=, des=, die=, das=",
        stop="guten morgen=, am morgen=, der morgen=, schönen tag=, guten tag=, eines tages=, schönes wochenende=",
    ),
    past="war waren hatte hatten habe hat haben bin ging kam sah wurde gewesen",
    future="werde wird werden will muss soll plane möchte vorhabe",
    present="erinnere erinner erinnern verspreche rufe treffe besuche fahre fliege gehe kaufe hole bringe schicke",
)

_NL = _lexicon(
    "nl",
    "germanic",
    _series("k", "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"),
    _series(
        "b",
        "januari februari maart april mei juni juli augustus september oktober november december",
        1,
    ),
    _series("s", "winter lente/voorjaar zomer herfst/najaar"),
    _series("w", "een/één twee drie vier vijf zes zeven acht negen tien elf twaalf", 1),
    _table(
        d="vandaag=0, gisteren=-1, eergisteren=-2, morgen=1, overmorgen=2",
        P="vanmorgen=0:5:12, vanochtend=0:5:12, vanmiddag=0:12:18, vanavond=0:18:24, gisteravond=-1:18:24",
        p="ochtend=5:12, middag=12:18, avond=18:24, nacht=18:30",
        u="dag=day, dagen=day, week=week, weken=week, maand=month, maanden=month, jaar=year, jaren=year, uur=hour",
        e="weekend=, weekeinde=",
        m="vorige=-1, vorig=-1, volgende=1, volgend=1",
        z="afgelopen=-1, komende=1, komend=1",
        j="deze=, dit=",
        a="geleden=",
        i="over=, in=",
        q="sinds=",
        r="voor=, tot=, uiterlijk=",
        c="op=",
        at="om=",
        v="elke=, iedere=, elk=, ieder=",
        g="de=, het=, van=",
        stop="goede morgen=, fijne dag=",
    ),
    past="was waren had hadden heb heeft hebben ging kwam zag werd ben",
    future="zal zullen ga gaan gaat wil moet plan",
)

_FR_DAYS = "lundi mardi mercredi jeudi vendredi samedi dimanche"
_FR = _lexicon(
    "fr",
    "romance",
    _series("k", _FR_DAYS),
    _series(
        "b",
        "janvier février/fevrier mars avril mai juin juillet août/aout septembre octobre novembre décembre/decembre",
        1,
    ),
    _series("s", "hiver printemps été automne"),
    _series("w", "un/une deux trois quatre cinq six sept huit neuf dix onze douze", 1),
    {f"{word} {day}": ("-", "") for word in ("le", "un") for day in _FR_DAYS.split()},
    _table(
        d="aujourd'hui=0, hier=-1, avant-hier=-2, demain=1, après-demain=2",
        P="ce matin=0:5:12, cet après-midi=0:12:18, ce soir=0:18:24, cette nuit=0:18:30, hier soir=-1:18:24",
        p="matin=5:12, après-midi=12:18, soir=18:24",
        u="jour=day, jours=day, semaine=week, semaines=week, mois=month, an=year, ans=year, année=year, "
        "années=year, heure=hour, heures=hour",
        e="week-end=, weekend=",
        m="dernier=-1, dernière=-1, passé=-1, passée=-1, prochain=1, prochaine=1",
        j="ce=, cet=, cette=",
        h="il y a=",
        i="dans=, en=",
        q="depuis=",
        r="avant=, d'ici=, jusqu'à=, jusqu'au=",
        R="avant la fin du=, avant la fin de=, avant fin=, d'ici la fin du=, d'ici la fin de=, d'ici fin=, "
        "jusqu'à la fin du=, jusqu'à la fin de=",
        at="à=",
        v="chaque=, tous les=, toutes les=",
        g="le=, la=, l'=, les=, de=, du=",
        stop="bon week-end=, bonne journée=",
    ),
    past="étais était ai eu a avons suis allé allée",
    future="vais va allons dois veux prévois sera serai",
    present="rappelle-moi rappelez-moi rappeler promets",
)

_ES_DAYS = "lunes martes miércoles jueves viernes sábado domingo"
_ES = _lexicon(
    "es",
    "romance",
    _series(
        "k", "lunes martes miércoles/miercoles jueves viernes sábado/sabado domingo"
    ),
    _series(
        "b",
        "enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre",
        1,
    ),
    _series("s", "invierno primavera verano otoño"),
    _series(
        "w", "un/una/uno dos tres cuatro cinco seis siete ocho nueve diez once doce", 1
    ),
    {f"{word} {day}": ("-", "") for word in ("los", "un") for day in _ES_DAYS.split()},
    _table(
        d="hoy=0, ayer=-1, anteayer=-2, antier=-2, mañana=1, pasado mañana=2",
        P="esta mañana=0:5:12, esta tarde=0:12:18, esta noche=0:18:30, anoche=-1:18:30, mañana por la mañana=1:5:12",
        p="por la mañana=5:12, por la tarde=12:18, por la noche=18:30",
        u="día=day, días=day, dia=day, dias=day, semana=week, semanas=week, mes=month, meses=month, año=year, "
        "años=year, hora=hour, horas=hour",
        e="fin de semana=",
        m="pasado=-1, pasada=-1, próximo=1, próxima=1, proximo=1, proxima=1, que viene=1",
        j="este=, esta=",
        h="hace=",
        i="en=, dentro de=",
        q="desde=",
        r="antes del=, hasta el=",
        R="antes de fin de=, antes del fin de=, antes de finales de=, hasta fin de=, hasta finales de=, para fin de=, "
        "para finales de=",
        c="el=",
        at="a las=, a la=",
        v="cada=, todos los=, todas las=",
        g="la=, de=, del=, los=, las=",
        stop="hoy en día=, la mañana=, de la mañana=, buen día=, buen fin de semana=",
    ),
    past="fui fue era estaba tuve tenía hice vi había he",
    future="voy va vamos iré debo quiero será tengo",
    present="recuérdame recuerdame recordarme prometo",
)

_IT_DAYS = "lunedì martedì mercoledì giovedì venerdì sabato domenica"
_IT = _lexicon(
    "it",
    "romance",
    _series(
        "k",
        "lunedì/lunedi martedì/martedi mercoledì/mercoledi giovedì/giovedi venerdì/venerdi sabato domenica",
    ),
    _series(
        "b",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        1,
    ),
    _series("s", "inverno primavera estate autunno"),
    _series(
        "w",
        "un/una/uno due tre quattro cinque sei sette otto nove dieci undici dodici",
        1,
    ),
    {
        f"{word} {day}": ("-", "")
        for word in ("il", "la", "di", "un")
        for day in _IT_DAYS.split()
    },
    _table(
        d="oggi=0, ieri=-1, l'altro ieri=-2, avantieri=-2, domani=1, dopodomani=2",
        P="stamattina=0:5:12, questo pomeriggio=0:12:18, stasera=0:18:24, stanotte=0:18:30, ieri sera=-1:18:24",
        p="mattina=5:12, pomeriggio=12:18, sera=18:24",
        u="giorno=day, giorni=day, settimana=week, settimane=week, mese=month, mesi=month, anno=year, anni=year, "
        "ora=hour, ore=hour",
        e="fine settimana=, weekend=",
        m="scorso=-1, scorsa=-1, passato=-1, passata=-1, prossimo=1, prossima=1",
        j="questo=, questa=, quest'=",
        a="fa=",
        i="tra=, fra=, in=, nel=",
        q="dal=, da=",
        r="entro=, entro il=, fino a=",
        at="alle=",
        v="ogni=, tutti i=, tutte le=",
        g="il=, la=, l'=, lo=, di=, del=, dell'=",
        stop="d'oggi=, buon weekend=, buon fine settimana=",
    ),
    past="ero era avevo ho ha sono andato andata",
    future="andrò vado devo voglio sarà",
)

_PT = _lexicon(
    "pt",
    "romance",
    _series(
        "k",
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    ),
    _series(
        "b",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        1,
    ),
    _series("s", "inverno primavera verão outono"),
    _series(
        "w", "um/uma dois/duas três quatro cinco seis sete oito nove dez onze doze", 1
    ),
    _table(
        d="hoje=0, ontem=-1, anteontem=-2, amanhã=1, depois de amanhã=2",
        P="esta manhã=0:5:12, hoje de manhã=0:5:12, esta tarde=0:12:18, hoje à noite=0:18:30, "
        "esta noite=0:18:30, ontem à noite=-1:18:30",
        p="de manhã=5:12, à tarde=12:18, à noite=18:30",
        u="dia=day, dias=day, semana=week, semanas=week, mês=month, meses=month, ano=year, anos=year, "
        "hora=hour, horas=hour",
        e="fim de semana=",
        m="passado=-1, passada=-1, próximo=1, próxima=1, que vem=1",
        j="este=, esta=, neste=, nesta=",
        h="há=",
        a="atrás=",
        i="em=, daqui a=",
        q="desde=",
        r="até=, antes de=",
        c="na=, no=",
        at="às=",
        v="cada=, todo=, toda=, todos os=, todas as=",
        g="a=, o=, de=, do=, da=, os=, as=",
        stop="hoje em dia=, bom dia=, bom fim de semana=",
    ),
    past="fui foi era estava tive tinha fiz vi",
    future="vou vai vamos irei devo quero será",
)

_CJK = _lexicon(
    "cjk",
    "cjk",
    _series(
        "k",
        "周一/週一/星期一/礼拜一/月曜日/月曜 周二/週二/星期二/礼拜二/火曜日/火曜 周三/週三/星期三/礼拜三/水曜日/水曜 "
        "周四/週四/星期四/礼拜四/木曜日/木曜 周五/週五/星期五/礼拜五/金曜日/金曜 周六/週六/星期六/礼拜六/土曜日/土曜 "
        "周日/週日/星期日/星期天/周天/礼拜天/日曜日/日曜",
    ),
    _series("w", "一 二/两/兩 三 四 五 六 七 八 九 十 十一 十二", 1),
    _table(
        d="今天=0, 今日=0, 昨天=-1, 昨日=-1, きのう=-1, 前天=-2, 一昨日=-2, おととい=-2, 大前天=-3, "
        "明天=1, 明日=1, あした=1, 后天=2, 後天=2, 明後日=2, あさって=2",
        P="今早=0:5:12, 今天早上=0:5:12, 今朝=0:5:12, 今天下午=0:12:18, 今晚=0:18:30, 今夜=0:18:30, 今晩=0:18:30, "
        "昨晚=-1:18:30, 昨夜=-1:18:30, 昨晩=-1:18:30",
        W="上周=week:-1, 上週=week:-1, 上星期=week:-1, 上个星期=week:-1, 先週=week:-1, 这周=week:0, 這週=week:0, "
        "本周=week:0, 本週=week:0, 这个星期=week:0, 今週=week:0, 下周=week:1, 下週=week:1, 下星期=week:1, "
        "下个星期=week:1, 来週=week:1, 上个月=month:-1, 上個月=month:-1, 上月=month:-1, 先月=month:-1, 这个月=month:0, "
        "這個月=month:0, 本月=month:0, 今月=month:0, 下个月=month:1, 下個月=month:1, 下月=month:1, 来月=month:1, "
        "去年=year:-1, 昨年=year:-1, 前年=year:-2, 一昨年=year:-2, 今年=year:0, 明年=year:1, 来年=year:1, "
        "后年=year:2, 後年=year:2, 再来年=year:2, 先々週=week:-2, 再来週=week:2, 上上周=week:-2, 下下周=week:2",
        u="天=day, 日=day, 号=day, 號=day, 日間=day, 周=week, 週=week, 个星期=week, 個星期=week, 週間=week, "
        "个月=month, 個月=month, か月=month, ヶ月=month, カ月=month, ヵ月=month, 月=month, 年=year, 小时=hour, "
        "小時=hour, 時間=hour",
        a="前=, 以前=, 之前=",
        f="后=, 後=, 以后=, 以後=, 之后=, 之後=",
        g="の=",
        v="每=, 毎=",
        stop="每天=, 每周=, 每月=, 每年=, 毎日=, 毎週=, 毎月=, 毎年=, 目前=, 名前=, 前後=, 先生=, 明日香=",
    ),
    past="了 过 した ました",
    future="会 要 将 打算 予定 つもり",
)

LEXICONS = (_EN, _DE, _FR, _ES, _IT, _PT, _NL, _CJK)
"""English first: where two languages read one phrase, the earlier wins."""


def _words(listing: str) -> frozenset[str]:
    return frozenset(listing.split())


FALSE_PAST = _words(
    "need indeed married excited interested tired supposed scheduled planned promised speed breed exceed proceed "
    "succeed agreed booked engaged bored worried scared hundred"
)
"""English words in -ed that do not say that something is over."""

ANNUAL = _words(
    "birthday born anniversary geburtstag geboren anniversaire né née cumpleaños nací compleanno nato nata "
    "aniversário nasci verjaardag"
)
"""Words beside which a date without a year comes round every year."""

PLURALS = _words(
    "words calories steps dollars euros pounds people metres meters miles km kilometres kilometers feet square "
    "pieces characters lines items users points times bucks kg grams ml liters litres followers"
)
"""Nouns that make a number an amount, not a year or a day."""

SOUTH = (
    "Australia/",
    "Pacific/Auckland",
    "Africa/Johannesburg",
    "America/Argentina/",
    "America/Buenos_Aires",
    "America/Sao_Paulo",
    "America/Santiago",
    "America/Montevideo",
)
"""Zones whose summer begins in December."""

MONTH_FIRST = (
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Phoenix",
    "America/Detroit",
    "America/Anchorage",
    "America/Indiana/",
    "Pacific/Honolulu",
    "US/",
)
"""Zones where 03/04 is the fourth of March."""

DAY_FIRST = ("Europe/", "Australia/", "Pacific/Auckland", "Asia/Kolkata", "Africa/")
"""Zones where 03/04 is the third of April."""
