"""The offline extractor's patterns for German, French and Spanish, in the form of `rule_table` (rows X2, X13).

A small set that needs no rewriting: the object is taken as it stands, and refused if it holds a word of the
first or second person, a negation or a doubt. Where the speaker has no name, a neutral noun stands for them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from engram.llm.rule_table import Rule, read_rules


@dataclass(frozen=True, slots=True)
class Tongue:
    """A language whose objects are taken as they stand: a neutral subject, its genitive, what refuses an object."""

    name: str
    subject: str
    whose: str
    refused: re.Pattern[str]
    rules: tuple[Rule, ...]

    def of(self, name: str) -> str:
        """Whose, after a noun: `von Anna`, `d'Anna`, `de la persona`."""
        preposition = "von" if self.name == "de" else "de"
        if self.name == "fr" and name[:1].casefold() in set("aeiouyhéè"):
            return f"d'{name}"
        return f"{preposition} {name}" if name else self.whose


_GERMAN = r"""
de name: fact sure name
    ich heiße|mein name ist
    = {s} heißt {o}
de lives: fact sure foreign
    ich (?:wohne|lebe) (?:jetzt |zurzeit |seit \w+ )?(?P<w>in|bei)
    = {s} wohnt {w} {o}
de from: fact sure foreign
    ich komme aus
    = {s} kommt aus {o}
de works: fact sure foreign
    ich arbeite (?P<w>als|bei|in|für)
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
de likes: preference probable foreign tag:preference
    ich (?P<v>liebe|hasse|mag|bevorzuge)(?: (?:am liebsten|sehr|wirklich))?
    = {s} {v} {o}
de his name: relationship sure person tag:relationship
    (?:mein|unser) (?P<w>(?:Vater|Bruder|Sohn|Mann|Ehemann|Freund|Onkel|Opa|Großvater|Cousin|Neffe|Schwager|Chef|Kollege
    |Nachbar|Vermieter|Mitbewohner|Lehrer|Arzt|Zahnarzt|Hund|Kater)) (?:heißt|ist(?= (?:Frau|Herr|Dr)\b))(?= <CAP>)
    = Der {w} {p} heißt {o}
de her name: relationship sure person tag:relationship
    (?:meine|unsere) (?P<w>(?:Mutter|Schwester|Tochter|Frau|Ehefrau|Freundin|Tante|Oma|Großmutter|Cousine|Nichte
    |Schwägerin|Chefin|Kollegin|Nachbarin|Vermieterin|Mitbewohnerin|Lehrerin|Ärztin|Zahnärztin|Katze|Hündin))
     (?:heißt|ist(?= (?:Frau|Herr|Dr)\b))(?= <CAP>)
    = Die {w} {p} heißt {o}
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
    ich (?P<v>trinke|esse|rauche) (?P<w>keine?n?)
    = {s} {v} {w} {o}
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
fr his name: relationship sure person tag:relationship
    mon (?P<w>(?:père|frère|fils|mari|copain|cousin|chef|patron|collègue|voisin|chien|chat))
     s'appelle(?= <CAP>)
    = Le {w} {p} s'appelle {o}
fr her name: relationship sure person tag:relationship
    ma (?P<w>(?:mère|sœur|soeur|fille|femme|copine|tante|cousine|cheffe|patronne|collègue|voisine|chienne|chatte))
     s'appelle(?= <CAP>)
    = La {w} {p} s'appelle {o}
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
es his name: relationship sure person tag:relationship
    mi (?P<w>(?:padre|hermano|hijo|marido|esposo|novio|amigo|tío|primo|jefe|vecino|profesor|perro|gato))
     se llama(?= <CAP>)
    = El {w} {p} se llama {o}
es her name: relationship sure person tag:relationship
    mi (?P<w>(?:madre|hermana|hija|mujer|esposa|novia|amiga|tía|prima|jefa|vecina|profesora|perra|gata))
     se llama(?= <CAP>)
    = La {w} {p} se llama {o}
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


@cache
def tongues() -> tuple[Tongue, ...]:
    """German, French and Spanish; the patterns are compiled when first asked for."""
    return (
        Tongue(
            "de",
            "Die Person",
            "der Person",
            re.compile(
                r"\b(?:ich|mein\w*|mir|mich|du|dein\w*|dir|dich|Sie|Ihr\w*|wir|uns\w*|nicht|kein\w*|vielleicht"
                r"|würde|es|das(?! (?-i:[A-ZÄÖÜ]))"
                r"|wenn|wie eine?n?)\b",
                re.IGNORECASE,
            ),
            read_rules(_GERMAN),
        ),
        Tongue(
            "fr",
            "La personne",
            "de la personne",
            re.compile(
                r"\b(?:je|j'|mon|ma|mes|me|m'|moi|tu|ton|ta|tes|te|vous|votre|nous|notre|pas|peut-être|ça|cela|que|quand|si"
                r"|comme une?)\b",
                re.IGNORECASE,
            ),
            read_rules(_FRENCH),
        ),
        Tongue(
            "es",
            "La persona",
            "de la persona",
            re.compile(
                r"\b(?:yo|mi|mis|me|mí|tú|tu|tus|te|usted|nos|nuestro|no|quizás|tal vez|eso|esto|que|cuando|si"
                r"|como una?)\b",
                re.IGNORECASE,
            ),
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
}
"""First person to third."""
