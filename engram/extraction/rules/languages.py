"""The offline extractor's patterns for German, French and Spanish, in the form of
`rule_table` (rows X2, X13).

A small set that needs little rewriting: the object is taken as it stands but for the
few words of `mine`, and refused if it then holds a word of the first or second person,
a negation or a doubt. Where the speaker has no name, a neutral noun stands for them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from engram.extraction.rules.table import Rule, read_rules

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """A language: how its clauses begin, a neutral subject, its genitive, what refuses
    an object, what `mine` becomes.

    `mine` turns words of the first person that have one form in the third. German has
    none (`seine` or `ihre`), so an article stands for them, and only in what is ahead:
    whose the aunt is that they will call goes without saying.
    """

    name: str
    begins: re.Pattern[str]
    subject: str
    whose: str
    refused: re.Pattern[str]
    mine: Mapping[str, str]
    rules: tuple[Rule, ...]

    def turned(self, raw: str, wants: str) -> str:
        """`raw` in the third person as far as that is plain; a reflexive only where it
        begins (`me lever`).
        """
        if self.name == "de" and wants not in AHEAD:
            return raw
        raw = (
            _REFLEXIVE.sub("sich " if self.name == "de" else r"s\1", raw)
            if wants in AHEAD
            else raw
        )
        return _WORD.sub(lambda found: self.mine.get(found.group(), found.group()), raw)

    def of(self, name: str) -> str:
        """Whose, after a noun: `von Anna`, `d'Anna`, `de la persona`."""
        preposition = "von" if self.name == "de" else "de"
        if self.name == "fr" and name[:1].casefold() in set("aeiouyhéè"):
            return f"d'{name}"
        return f"{preposition} {name}" if name else self.whose


AHEAD = frozenset({"ahead", "task"})
"""Tests of an object that is still to be done."""
_REFLEXIVE = re.compile(r"^(?:m(?:ich|ir) |m(e |'))")
_WORD = re.compile(r"[^\W\d_]+")

_GERMAN = r"""
de name: fact sure name
    ich heiße|mein name ist
    = {s} heißt {o}
de lives: fact sure foreign
    (?:ich )?(?:wohne|lebe) (?:jetzt |zurzeit |seit (?:\w+ ){1,2})?(?P<w>in|bei)
    = {s} wohnt {w} {o}
de from: fact sure foreign
    (?:ich )?komme aus
    = {s} kommt aus {o}
de works: fact sure foreign
    (?:ich )?arbeite (?:jetzt |zurzeit |seit (?:\w+ ){1,2})?(?P<w>als|bei|in|für)
    = {s} arbeitet {w} {o}
de no longer works: fact sure name
    ich arbeite nicht mehr (?P<w>bei|für)
    = {s} arbeitet nicht mehr {w} {o}
de no longer lives: fact sure name
    ich (?:wohne|lebe) nicht mehr in
    = {s} wohnt nicht mehr in {o}
de no longer boss: correction sure any tag:relationship
    (?P<w><CAP>[\w-]+) ist nicht mehr (?:meine?|unsere?) (?P<v>Chef(?:in)?)(?=[.!]?$)
    = {w} ist nicht mehr {v} {p}
de broke up: moment sure any
    ich habe mich (?:\w+ ){0,2}?von (?P<w><CAP>[\w-]+) getrennt(?=[.!]?$)
    = {s} hat sich von {w} getrennt
de trait: fact sure any
    ich bin (?:übrigens |jetzt |auch )?(?P<w>(?:vegan|vegetarisch|vegetarier(?:in)?|veganer(?:in)?|verheiratet
    |geschieden|schwanger|linkshänder(?:in)?|allergisch gegen))
    = {s} ist {w} {o}
de job: fact probable any
    ich bin (?:übrigens |jetzt |auch |von Beruf )?(?P<w>(?!Erst|Zweit|Dritt|Letzt)<CAP>[\w-]{3,}
    (?:er|erin|ist|istin|ent|entin|eur|eurin|ologe|ologin|arzt|ärztin|mann|frau))
    (?=[.,!]*$| (?:in|an|bei|aus|im|am|von Beruf)\b)
    = {s} ist {w} {o}
de likes: preference probable foreign tag:preference
    ich (?P<v>liebe|hasse|mag|bevorzuge)(?: (?:am liebsten|sehr|wirklich))?(?! kein)
    = {s} {v} {o}
de dislikes: preference probable foreign tag:preference
    ich (?P<v>mag) (?P<w>keine?n?)
    = {s} {v} {w} {o}
de his name: relationship sure person tag:relationship
    (?:mein|unser) (?P<w><SEIN>) (?:heißt|ist(?= (?:Frau|Herr|Dr)\b))(?= <CAP>)
    = Der {w} {p} heißt {o}
de him named: relationship sure none tag:relationship
    (?:mein|unser) (?P<w><SEIN>) (?P<v><CAP>[\w-]+)(?= <TUT> \w)
    = Der {w} {p} heißt {v}
de her name: relationship sure person tag:relationship
    (?:meine|unsere) (?P<w><IHRE>) (?:heißt|ist(?= (?:Frau|Herr|Dr)\b))(?= <CAP>)
    = Die {w} {p} heißt {o}
de her named: relationship sure none tag:relationship
    (?:meine|unsere) (?P<w><IHRE>) (?P<v><CAP>[\w-]+)(?= <TUT> \w)
    = Die {w} {p} heißt {v}
de favourite: preference sure foreign tag:preference
    meine? (?P<w>lieblings\w+ (?:ist|sind))(?: (?:übrigens|ja|natürlich|eigentlich|halt|immer noch|nach wie vor))*
    = {s}: {w} {o}
de has: relationship sure any
    ich habe (?P<w>(?:einen?|zwei|drei|vier) (?:\w+ )?(?:hund|katzen?|kater|hunde|bruder|schwestern?|brüder
    |kind|kinder|sohn|tochter|söhne|töchter))
    = {s} hat {w} {o}
de has named: relationship sure name tag:pet
    ich habe (?P<w>(?:einen?|zwei) (?:\w+ )?(?:hund|katzen?|kater|hunde)),? (?:namens|(?:der|die) heißt|die heißen)
    = {s} hat {w} namens {o}
de none: fact sure foreign
    ich (?P<v>trinke|esse|rauche|vertrage) (?P<w>keine?n?)
    = {s} {v} {w} {o}
de habit: fact probable foreign
    ich (?P<v>spiele|gehe|laufe|trainiere|schwimme|singe|koche|arbeite) (?P<w>jede[nsr]?)
    = {s} {v} {w} {o}
de promise: commitment sure task
    ich verspreche(?: dir| euch| Ihnen)?,?(?=.*(?: zu |\wzu\w))
    = {s} verspricht, {o}
de remind: commitment sure task to-bot
    (?:(?:bitte )?erinner[en]? mich (?:\w+ ){0,4}?daran(?: bitte)?|mich (?:\w+ ){0,4}?daran erinnern),?
    (?=.*(?: zu |\wzu\w))
    = {s} will daran erinnert werden, {o}
de remind of: commitment sure ahead to-bot
    (?:bitte )?erinner[en]? mich(?: bitte)?(?= .*\ban )(?!.*daran)
    = {s} will {o} erinnert werden
de still must: commitment weak task
    ich muss (?P<w>(?:heute |auch |unbedingt |dringend )?noch)
    (?! (?:viel|mehr|etwas|einiges|ein (?:bisschen|wenig|paar)|immer|nie|warten|mal))
    = {s} muss {w} {o}
de must: commitment probable ahead
    ich (?P<v>muss|werde|will)
    = {s} {v} {o}
de occasion: commitment probable ahead
    ich (?P<v>habe)(?= .*(?:termin|prüfung|klausur|gespräch|besprechung|meeting|interview|urlaub|operation)\b)
    = {s} {v} {o}
de does: commitment probable ahead
    ich (?P<v>rufe|treffe|besuche|fahre|fliege|gehe|reise|kaufe|hole|bringe|schicke|ziehe|beginne)
    = {s} {v} {o}
de learns: fact probable any
    ich lerne (?:gerade |jetzt |seit [\w ]{2,20}? )?(?P<w>Deutsch|Englisch|Französisch|Spanisch|Italienisch
    |Portugiesisch|Japanisch|Klavier|Gitarre|Geige)
    = {s} lernt {w}
de speaks: skill sure foreign
    ich spreche
    = {s} spricht {o}
"""

_FRENCH = r"""
fr name: fact sure name
    je m'appelle|mon nom est
    = {s} s'appelle {o}
fr lives: fact sure foreign
    j'habite|je vis(?= (?:à|en|au|dans))
    = {s} habite {o}
fr works: fact sure foreign
    je travaille (?P<w>comme|chez|pour|à|dans)
    = {s} travaille {w} {o}
fr trait: fact sure any
    je suis (?P<w>(?:végétarien(?:ne)?|végane?|allergique (?:à|au|aux)|marié(?:e)?|divorcé(?:e)?|enceinte
    |gauch(?:er|ère)))
    = {s} est {w} {o}
fr must: commitment probable ahead
    je (?P<v>dois(?= (?:me |m')?\w{2,}(?:er|ir|re)\b)|vais(?= (?:(?:me |m')?\w{2,}(?:er|ir|re)|à|en|au|chez)\b))
    = {s} {v} {o}
fr promise: commitment sure task
    je promets(?= (?:de |d'))
    = {s} promet {o}
fr remind: commitment sure task to-bot
    (?:rappelle(?:z)?-moi|me rappeler)(?= (?:de |d'))
    = {s} veut qu'on lui rappelle {o}
fr his name: relationship sure person tag:relationship
    mon (?P<w><SON>) s'appelle(?= <CAP>)
    = Le {w} {p} s'appelle {o}
fr him named: relationship sure none tag:relationship
    mon (?P<w><SON>) (?P<v><CAP>[\w-]+)(?= [a-zéêà])
    = Le {w} {p} s'appelle {v}
fr her name: relationship sure person tag:relationship
    ma (?P<w><SA>) s'appelle(?= <CAP>)
    = La {w} {p} s'appelle {o}
fr her named: relationship sure none tag:relationship
    ma (?P<w><SA>) (?P<v><CAP>[\w-]+)(?= [a-zéêà])
    = La {w} {p} s'appelle {v}
fr likes: preference probable foreign tag:preference
    (?:j'|je )(?P<v>adore|aime|déteste|préfère)(?: (?:beaucoup|vraiment))?
    = {s} {v} {o}
fr has named: relationship sure name tag:pet
    j'ai (?P<w>une? (?:\w+ )?(?:chien|chienne|chat|chatte)) (?:qui s'appelle|nommée?|appelée?)
    = {s} a {w} qui s'appelle {o}
fr has: relationship sure any
    j'ai (?P<w>(?:une?|deux|trois|quatre) (?:chiens?|chats?|chatte|frères?|sœurs?|soeurs?|enfants?|fils
    |filles?))
    = {s} a {w} {o}
fr speaks: skill sure foreign
    je parle(?= (?:le |l'|couramment )?(?:français|anglais|allemand|espagnol|italien|portugais|japonais
    |chinois|arabe|russe))
    = {s} parle {o}
"""

_SPANISH = r"""
es name: fact sure name
    (?:yo )?me llamo|mi nombre es
    = {s} se llama {o}
es lives: fact sure foreign
    (?:yo )?vivo (?P<w>en|con)
    = {s} vive {w} {o}
es from: fact sure foreign
    (?:yo )?soy de
    = {s} es de {o}
es works: fact sure foreign
    (?:yo )?trabajo (?P<w>como|en|para|de)
    = {s} trabaja {w} {o}
es trait: fact sure any
    (?:yo )?soy (?P<w>vegetarian[oa]|vegan[oa]|alérgic[oa] (?:a|al)|diabétic[oa]|zurd[oa]|celíac[oa])
    = {s} es {w} {o}
es must: commitment probable ahead
    (?:yo )?(?P<v>tengo que|debo|voy a)(?! \w+r(?:l[aeo]s?)\b)
    = {s} {v} {o}
es promise: commitment sure task
    (?:yo )?prometo
    = {s} promete {o}
es remind: commitment sure task to-bot
    (?:por favor,? )?(?:recu[ée]rdame|recordarme|recordar)(?= \w+[aei]r\b)
    = {s} quiere un recordatorio: {o}
es his name: relationship sure person tag:relationship
    mi (?P<w><SUYO>) se llama(?= <CAP>)
    = El {w} {p} se llama {o}
es him named: relationship sure none tag:relationship
    mi (?P<w><SUYO>) (?P<v><CAP>[\w-]+)(?= [a-zé])
    = El {w} {p} se llama {v}
es her name: relationship sure person tag:relationship
    mi (?P<w><SUYA>) se llama(?= <CAP>)
    = La {w} {p} se llama {o}
es her named: relationship sure none tag:relationship
    mi (?P<w><SUYA>) (?P<v><CAP>[\w-]+)(?= [a-zé])
    = La {w} {p} se llama {v}
es no longer: fact sure foreign
    ya no (?P<v>como|bebo|fumo)
    = {s} ya no {v} {o}
es learns: fact probable any
    (?:yo )?(?:aprendo|estudio) (?P<w>español|inglés|francés|alemán|italiano|portugués|japonés|chino|árabe|ruso|piano
    |guitarra|violín)
    = {s} aprende {w}
es likes: preference probable foreign tag:preference
    (?:a mí )?me (?P<v>gusta|gustan|encanta|encantan)(?: mucho)?
    = {s}: le {v} {o}
es hates: preference probable foreign tag:preference
    (?:yo )?(?P<v>odio|prefiero)
    = {s} {v} {o}
es has named: relationship sure name tag:pet
    (?:yo )?tengo (?P<w>una? (?:\w+ )?(?:perr[oa]|gat[oa])) (?:que se llama|llamad[oa])
    = {s} tiene {w} que se llama {o}
es has: relationship sure any
    (?:yo )?tengo (?P<w>(?:una?|dos|tres|cuatro) (?:perros?|perras?|gatos?|gatas?|hermanos?|hermanas?|hijos?
    |hijas?))
    = {s} tiene {w} {o}
es speaks: skill sure foreign
    (?:yo )?hablo(?= (?:español|inglés|francés|alemán|italiano|portugués|japonés|chino|árabe|ruso))
    = {s} habla {o}
"""


def _begins(words: str) -> re.Pattern[str]:
    """How the clauses begin that the rules of a language may read: all others are
    spared them.
    """
    return re.compile(f"(?:{words})", re.IGNORECASE)


def _mine(listing: str) -> dict[str, str]:
    """Words of the first person and what they become, one after the other."""
    words = listing.split()
    return dict(zip(words[::2], words[1::2], strict=True))


@cache
def tongues() -> tuple[LanguageRules, ...]:
    """German, French and Spanish; the patterns are compiled when first asked for."""
    return (
        LanguageRules(
            "de",
            _begins(
                "ich|mich|meine?|unsere?|bitte|erinner|wohne|lebe|arbeite|komme|[^ ]+ ist nicht mehr"
            ),
            "Die Person",
            "der Person",
            re.compile(
                r"\b(?:ich|mein\w*|mir|mich|du|dein\w*|dir|dich|Sie|Ihr\w*|wir|uns\w*|nicht|kein\w*|vielleicht"
                r"|würde|es|ihn|ihm|ihnen|ob|was|wer|wohl|wahrscheinlich|vermutlich|eventuell|evtl|hoffentlich"
                r"|das(?! (?-i:[A-ZÄÖÜ]))|wenn|wie eine?n?)\b",
                re.IGNORECASE,
            ),
            _mine("mein das meine die meinen den meinem dem meiner der meines des"),
            read_rules(_GERMAN),
        ),
        LanguageRules(
            "fr",
            _begins("je |j'|m(?:on|a) |me |rappelle"),
            "La personne",
            "de la personne",
            re.compile(
                r"\b(?:je|j'|mon|ma|mes|me|m'|moi|tu|ton|ta|tes|te|vous|votre|nous|notre|pas|peut-être|probablement|ça|cela|que|qui|où|quand|si"
                r"|comme une?)\b",
                re.IGNORECASE,
            ),
            _mine("mon son ma sa mes ses"),
            read_rules(_FRENCH),
        ),
        LanguageRules(
            "es",
            _begins(
                "yo|m[ei] |a mí|ya no|vivo|soy|trabajo|aprendo|estudio|odio|prefiero|tengo|hablo|debo|voy a|prometo"
                "|por favor|rec"
            ),
            "La persona",
            "de la persona",
            re.compile(
                r"\b(?:yo|mi|mis|me|mí|tú|tu|tus|te|usted|nos|nuestro|no|quizás|tal vez|probablemente|eso|esto"
                r"|qu[eé]|quién|cómo|cuando|si"
                r"|como una?)\b",
                re.IGNORECASE,
            ),
            _mine("mi su mis sus"),
            read_rules(_SPANISH),
        ),
    )


FOREIGN_VERBS = {
    "liebe": "liebt",
    "hasse": "hasst",
    "mag": "mag",
    "bevorzuge": "bevorzugt",
    "trinke": "trinkt",
    "esse": "isst",
    "rauche": "raucht",
    "adore": "adore",
    "aime": "aime",
    "déteste": "déteste",
    "préfère": "préfère",
    "gusta": "gusta",
    "gustan": "gustan",
    "encanta": "encanta",
    "encantan": "encantan",
    "odio": "odia",
    "prefiero": "prefiere",
    "como": "come",
    "bebo": "bebe",
    "fumo": "fuma",
    "vertrage": "verträgt",
    "spiele": "spielt",
    "gehe": "geht",
    "laufe": "läuft",
    "trainiere": "trainiert",
    "schwimme": "schwimmt",
    "singe": "singt",
    "koche": "kocht",
    "arbeite": "arbeitet",
    "werde": "wird",
    "habe": "hat",
    "rufe": "ruft",
    "treffe": "trifft",
    "besuche": "besucht",
    "fahre": "fährt",
    "fliege": "fliegt",
    "reise": "reist",
    "kaufe": "kauft",
    "hole": "holt",
    "bringe": "bringt",
    "schicke": "schickt",
    "ziehe": "zieht",
    "beginne": "beginnt",
    "dois": "doit",
    "vais": "va",
    "tengo que": "tiene que",
    "debo": "debe",
    "voy a": "va a",
}
"""First person to third."""
