"""From text to words: the same for what is stored and for what is asked (row X13).

NFKC, then casefold; letters and digits of any script; scripts that are written without
blanks become overlapping pairs of characters. Stop words and irregular forms are tables
here; stemming is not, because it needs a library.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import chain, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# Vowel signs and points are no letters to `re`, yet they belong to the word around
# them.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963\u0980-\u09e3\u0a01-\u0df3"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ecd\u1000-\u1049\u1780-\u17d3\u3099\u309a"
)
# Han, kana, Hangul, Thai, Lao, Burmese, Khmer: no blank tells where a word ends.
_UNSPACED = (
    "\u3005\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u1049\u1780-\u17d3"
    "\U00020000-\U000323af"
)
_WORD = re.compile(
    rf"[{_UNSPACED}]+|(?:[^\W_{_UNSPACED}]+|[{_MARKS}]+)+(?:'(?:[^\W_]+|[{_MARKS}]+)+)*"
)
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_ASCII_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum()}
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")
# What one does for a living is no place to live in.
_TRADE = re.compile(
    r"\b(for|earn(?:s|ed|ing)?|mak(?:es?|ing)|made) a living\b(?! (?:being|creature|room|space|thing|wage|will)s?\b)"
)
_APOSTROPHES = str.maketrans("’‘ʼ＇`´", "''''''")
_CONTRACTED = frozenset(("s", "re", "ve", "ll", "d", "m"))

_STOP_WORDS = {
    "en": """
        a about above after again against all also am an and any are as at be because been before being below
        between both but by can could did do does doing done down during each else ever few for from further
        get gets getting got had has have having he her here hers herself hi him himself his how i if in into
        is it its itself just like let many me more most much my myself no nor not now of off oh ok okay on
        once only or other our ours ourselves out over please really same shall she should so some such
        than that the their theirs them themselves then there these they this those though through to too
        under until up upon us very was we well were what when where whether which while who whom whose why
        will with without would yeah yes you your yours yourself yourselves
        don't doesn't didn't isn't aren't wasn't weren't can't cannot couldn't won't wouldn't shouldn't
        haven't hasn't hadn't ain't gonna wanna""",
    "de": """
        aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf
        aus bei beim bin bis bist da damit dann das dass daß dein deine deinem deinen deiner dem den denn der
        des dessen deren dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem
        einen einer eines er es etwas euch euer eure für gegen gewesen hab habe haben hat hatte hatten hier
        hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder
        jedes jene jener kann kein keine keinem keinen keiner können könnte machen mag man manche mein meine
        meinem meinen meiner mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne sehr sein
        seine seinem seinen seiner selbst sich sie sind so solche soll sollte sondern sonst über um und uns
        unser unsere unter viel vom von vor wann war waren warst warum was weil welche welchem welchen welcher
        welches wem wen wenn wer werde werden wie wieder will wir wird wirst wo wollen wollte würde würden zu
        zum zur zwar zwischen""",
    "fr": """
        à afin ai ainsi alors as au aucun aucune aussi autre autres aux avaient avait avec avez avoir avons
        bien c ça car ce ceci cela celle celles celui ces cet cette ceux chaque chez ci comme comment d dans de
        depuis des dont donc du elle elles en encore entre es est et étaient étais était été êtes être eu eux
        fait faire il ils j je l la là le les leur leurs lui m ma mais me même mes moi moins mon n ne ni non
        nos notre nous on ont ou où par parce pas pendant peu peut plus pour pourquoi qu quand que quel quelle
        quelles quels qui quoi s sa sans se sera ses si son sont sous suis sur t ta te tes toi ton tous tout
        toute toutes très tu un une va vers voici voilà vos votre vous y""",
    "es": """
        a al algo algunas alguno algunos ante antes aquel aquella aquello así aún como cómo con contra cual
        cuál cuáles cuando cuándo cuánto cuántos de del desde donde dónde durante e el él ella ellas ellos en
        entre era eran es esa esas ese eso esos esta está están estar estas este esto estos estoy fue fueron ha
        haber había han has hasta hay he la las le les lo los más me mi mí mis mucho muchos muy nada ni no nos
        nosotros nuestra nuestro o os otra otras otro otros para pero poco por porque por qué que qué quien
        quién quiénes se sea ser será si sí sido sin sobre son soy su sus también tan tanto te tengo ti tiene
        tienen todo todos tu tú tus un una unas uno unos usted ustedes vosotros y ya yo""",
    "it": """
        a abbia abbiamo ad agli ai al alla alle allo anche ancora avere aveva c che chi ci ciò come con contro
        cosa così cui d da dagli dai dal dalla dalle dallo degli dei del della delle dello di dopo dove e è ed
        era erano essere fa fare fra già gli ha hai hanno ho i il in io l la là le lei li lo loro lui ma me mi
        mia mie miei mio molto ne negli nei nel nella nelle nello noi non nostra nostro o ogni per perché però
        più poi qual quale quali quando quanti quanto quella quelle quelli quello questa queste questi questo
        qui sarà se sei si sì sia siamo siete solo sono sta stata stati stato su sua sue sugli sui sul sulla
        sulle suo suoi te ti tra tu tua tue tuo tuoi tutti tutto un una uno va vi voi""",
    "pt": """
        a à ao aos aquela aquele aquilo as às até com como da das de dela dele deles depois do dos e é ela
        elas ele eles em entre era eram essa essas esse esses esta está estamos estão estar estas estava este
        estes estou eu foi foram há isso isto já lhe lhes mais mas me mesmo meu meus minha minhas muito na não
        nas nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque qual quais
        quando quanto quantos que quê quem se seja sem ser será seu seus só sua suas também te tem têm tenho
        ter teu teus tinha tu tua tudo um uma umas uns você vocês vos""",
    "nl": """
        aan al alles als altijd andere ben bij daar dan dat de deze die dit doch doen door dus een eens en er
        ge geen geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je jij jou
        jouw jullie kan kon kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat
        onder ons onze ook op over reeds te tegen toch toen tot u uit uw van veel voor waar waarom wanneer want
        waren was wat we wel welke wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou""",
    "ru": """
        а без бы был была были было быть в вам вас весь во вот все всё вы где да для до его ее её если есть
        еще ещё же за и из или им их к как какая какие какой ко когда кто ли мне мы на над не него нее нет ни
        них но о об он она они оно от по под почему при с со так такой там то тогда тоже только ты у уже что
        чтобы чье чьи чья эта эти это этот я меня мой моя мое мои""",
    "zh": "的 了 是 在 我 你 他 她 它 们 我们 你们 他们 什么 和 也 都 就 不 吗 呢 有",
    "ja": "の に は を た が で て と し れ さ も な です ます する した いる",
}
"""Hand-written, short on purpose: a word stands here when a question rarely turns on
it.
"""


def fold(text: str) -> str:
    """NFKC and casefold, again until stable, with one kind of apostrophe."""
    if text.isascii():
        return text.lower().replace("`", "'")
    folded = unicodedata.normalize(
        "NFKC", unicodedata.normalize("NFKC", text).casefold()
    )
    return folded.translate(_APOSTROPHES)


STOP: Mapping[str, frozenset[str]] = MappingProxyType(
    {code: frozenset(fold(listed).split()) for code, listed in _STOP_WORDS.items()}
)
"""Stop words by language code; forms as `words` gives them, contractions whole."""

ANY_STOP = frozenset().union(*STOP.values())
"""The stop words of all languages: many are a name in another one (Will, Ben, Una, Sue,
Den, Else).
"""

_TELLS_NOTHING = frozenset(
    """
    al car come dan die door ella era fare hat hem jan la las lo los man men met mia noi per pour sea sin
    son ten ton war
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)

_TELLS = {
    word: tuple(code for code, stop in STOP.items() if word in stop)
    for word in ANY_STOP - _TELLS_NOTHING
}
"""The languages that each stop word tells of; a bare dict, for every word of every text
is looked up in it.
"""

FIRST_PERSON = frozenset(
    """
    i my me mine we our us ich mein meine meinen meinem meiner mir mich wir unser unsere je mon ma mes moi nous
    yo mi mis me nosotros io mio mia miei mie noi eu meu minha meus minhas ik mijn wij я мой моя мое мои меня
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)
"""The words by which people mean themselves, in the form `words` gives them."""

MINE = frozenset(
    """
    my our mein meine meinen meinem meiner unser unsere mon ma mes mi mis meu minha meus minhas mijn мой моя мое мои
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)
"""Those of them that only say whose somebody is."""

_SOMEBODY_OF_MINE = re.compile(
    rf"\b(?:{'|'.join(sorted(MINE))}) (?:\w+ )?"
    r"(?:aunt|boss|boyfriend|brother|child|children|colleague|cousin|coworker|dad|daughter|doctor|father|flatmate|friend"
    r"|girlfriend|grandfather|grandma|grandmother|grandpa|husband|kid|manager|mom|mother|mum|neighbou?r|nephew|niece"
    r"|parent|partner|roommate|sister|son|teacher|uncle|wife"
    r"|bruder|chefin|eltern|frau|freund|freundin|kind|kinder|mann|mutter|oma|opa|schwester|sohn|tochter|vater"
    r"|amie?|enfant|femme|fille|fils|frère|mari|mère|père|sœur"
    r"|amig[oa]|espos[oa]|herman[oa]|hij[oa]|madre|marido|mujer|novi[oa]|padre"
    r"|брат|друг|жена|мама|мать|муж|отец|папа|подруга|сестра|сын|дочь)(?:e?n|s)?\b"
)
_LETTERS = re.compile(r"\w+")
_ASCII_CAPITALISED = re.compile(r"\b[A-Z][A-Za-z]*")
_CAPITALISED = re.compile(r"\b[A-ZÀ-ÖØ-ÞΑ-ΫА-ЯЁЀ-Я][^\W\d_]*")

RELATING = frozenset(
    """
    from with without before after against between since during until under above below
    aus mit ohne vor nach gegen zwischen seit während bis unter über bei
    avec sans avant après contre entre depuis pendant chez sous
    con sin antes después contra desde durante hasta sobre da senza prima dopo com sem antes depois
    van met zonder voor tegen tussen sinds из с без до после от под
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)
"""Stop words that a question of nothing but stop words may turn on: "Where am I from?".
"""

PHRASE = 4
"""From so many different words on, stop words alone are a phrase to be found as a
whole: "To be or not to be".
"""

_NO_NAMES = frozenset(
    """
    i ok okay oh no yes yeah sie ihr ihre ihrem ihnen ihren ihrer du dein deine deinem deinen deiner dich dir euch euer
    usted ustedes lei loro u
    """.split()  # a table of words reads better as lines  # noqa: SIM905
)
_RAW_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_BEFORE = 8
_STARTS = re.compile(r"(?:^|[.!?…:;\n])[\s\"'“”„«»(\[¿¡-]*$")
_IRREGULAR_FORMS = """
    arise arose arisen; awake awoke awoken; bear bore borne; beat beaten; become became; begin began begun;
    bend bent; bet betted; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken;
    breed bred; bring brought; build built; burn burnt; buy bought; catch caught; choose chose chosen;
    cling clung; come came; creep crept; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk;
    drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found;
    flee fled; fly flew flown; forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven;
    freeze froze frozen; give gave given; go went gone goes; grow grew grown; hang hung; hear heard;
    hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lay laid; lead led; lean leant;
    leap leapt; learn learnt; leave left; lend lent; light lit; lose lost; make made; mean meant; meet met;
    pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen;
    seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot; show shown;
    shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; smell smelt;
    speak spoke spoken; speed sped; spend spent; spill spilt; spin spun; spoil spoilt; spring sprang sprung;
    stand stood; steal stole stolen; stick stuck; sting stung; strike struck; strive strove striven;
    swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach taught; tear tore torn;
    tell told; think thought; throw threw thrown; tread trod trodden; understand understood; undo undid undone;
    wake woke woken; wear wore worn; weave wove woven; weep wept; win won; wind wound; withdraw withdrew
    withdrawn; write wrote written;
    child children kid; man men; woman women; person people; foot feet; tooth teeth; mouse mice; goose geese;
    wife wives; knife knives; half halves; shelf shelves; wolf wolves; thief thieves;
    loaf loaves; calf calves; datum data; criterion criteria; phenomenon phenomena; good better best;
    bad worse worst; mother mom mum mommy mama; father dad daddy papa; grandmother grandma granny;
    grandfather grandpa; photo photograph pic picture; tv television; bike bicycle; fridge refrigerator;
    phone telephone; vet veterinarian; movie film; pal buddy; gym gymnasium; exam examination; lab laboratory
"""

IRREGULAR: Mapping[str, str] = MappingProxyType(
    {
        form: group.split()[0]
        for group in _IRREGULAR_FORMS.split(";")
        for form in group.split()[1:]
    }
)
"""Frequent English forms no stemmer brings together, each with the word it stands for.
"""


def words(text: str, *, singles: bool = False) -> list[str]:
    """The words of `text`, in order, stop words included (row `X13`).

    Scripts without blanks give overlapping pairs; a lone character gives itself. With
    `singles` they give their characters too: what is stored then answers a question of
    one character as well. `words("Anna's naïve café, 绿茶好") == ["anna", "naïve", "café",
    "绿茶", "茶好"]` What somebody does "for a living" is their work.
    """
    folded = fold(text)
    if "a living" in folded:
        folded = _TRADE.sub(r"\1 work", folded)
    if folded.isascii() and "'" not in folded:
        return folded.translate(_ASCII_BLANKS).split()
    runs = (_ASCII_WORD if folded.isascii() else _WORD).findall(folded)
    found: list[str] = []
    for run in runs:
        if _UNSPACED_RUN.match(run):
            found += _pairs(run, singles=singles)
        elif "'" in run:
            found += _uncontracted(run)
        else:
            found.append(run)
    return found


def _pairs(run: str, *, singles: bool) -> list[str]:
    pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return pairs + list(run) if singles and len(run) > 1 else pairs


def _uncontracted(run: str) -> list[str]:
    """`anna's` → anna; `don't` stays whole, for it is a stop word; `l'amour` → l,
    amour.
    """
    if run in STOP["en"]:
        return [run]
    parts = run.split("'")
    if parts[-1] in _CONTRACTED:
        parts.pop()
    elif parts[-1] == "t" and parts[-2].endswith("n"):
        parts[-2:] = [parts[-2][:-1]]
    return [part for part in parts if part]


def capitalised(text: str) -> set[str]:
    """The words of `text` that begin with a capital letter somewhere in it, as `words`
    gives them.

    `capitalised("Will's art is for US") == {"will", "us"}`
    """
    return set(
        map(str.lower, _ASCII_CAPITALISED.findall(text))
        if text.isascii()
        else map(fold, _CAPITALISED.findall(text))
    )


def language(text_words: Sequence[str]) -> str:
    """The language of these words, by stop words alone: a code of `STOP`, or '' where
    nothing tells.

    The one with most of them, English first; words that are English too, or names, tell
    nothing.
    """
    counts = Counter(chain.from_iterable(filter(None, map(_TELLS.get, text_words))))
    most = max(counts.values(), default=0)
    return next((code for code in STOP if counts.get(code) == most), "")


def of_oneself(folded: str) -> bool:
    """Whether who says this speaks of themselves, not of somebody of theirs alone.

    `of_oneself("my car is old")`, not `of_oneself("my sister lives in porto")`
    """
    said = FIRST_PERSON.intersection(_LETTERS.findall(folded))
    if said and said <= MINE:
        said = FIRST_PERSON.intersection(
            _LETTERS.findall(_SOMEBODY_OF_MINE.sub(" ", folded))
        )
    return bool(said)


def named(
    text: str, found: Sequence[str], known: Callable[[str], object], *, alone: bool
) -> frozenset[str]:
    """The words of a question that are stop words in some language and name somebody in
    it.

    They are capitalised inside a sentence: "Who is Will?", "Was macht Else?". At its
    beginning the name must be `known`, and what follows must be no question of the verb
    ("Will Anna come?"). Where stop words stand `alone`, so do names that are known and
    written small.
    """
    ours = ANY_STOP.intersection(found) - _NO_NAMES
    if not ours:
        return frozenset()
    raw = [
        (one, one[0].split("'")[0].split("’")[0]) for one in _RAW_WORD.finditer(text)
    ]
    inside = [
        word
        for one, word in raw
        if not _STARTS.search(text[max(one.start() - _BEFORE, 0) : one.start()])
    ]
    titled = text.isupper() or (
        len(inside) >= PHRASE and all(word[0].isupper() for word in inside)
    )
    given = set() if titled else {fold(word) for word in inside if word[0].isupper()}
    given |= {word for word in ours if alone and known(word)}
    for (one, word), (_, following) in pairwise(raw):
        owns, tells = (
            one[0] != word,
            following[0].islower() and fold(following) not in ANY_STOP,
        )
        if word[0].isupper() and (owns or tells) and known(word):
            given.add(fold(word))
    return frozenset(given & ours)


def content(text_words: Sequence[str], code: str) -> list[str]:
    """The words that carry meaning in the language `code` ('': English); irregular
    English brought home.
    """
    stop = STOP.get(code, STOP["en"])
    if code not in {"", "en"}:
        return [word for word in text_words if word not in stop]
    return [IRREGULAR.get(word, word) for word in text_words if word not in stop]
