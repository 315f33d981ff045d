"""When to look at once: a table of phrases matched in one linear pass (row C1).

A signal decides only *when* a conversation is distilled, never *what* is true (row
E19): nothing here reaches a memory. The English classes are the seed's; the other
languages say the same things (row X13).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import re2

from engram.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.policy import SignalPolicy
    from engram.core.records import Level

# A blank stands for any blanks and `~` for at most one word between. A row in a Latin
# script does not begin or end inside a word.
HIGH: dict[str, dict[str, str]] = {
    "contradiction": {
        "en": r"actually,? (?:i|i'm|i've|i'd|my|we|we're|we've|our)",
        "de": r"(?:eigentlich|tats[äa]chlich) ~(?:ich|mein|meine|wir|unser|unsere)",
        "fr": r"en (?:fait|réalité),? (?:je|j'\w+|mon|ma|mes|nous|notre)",
        "es": r"(?:en realidad|de hecho),? (?:yo|mi|mis|me|no me|nosotros|soy|tengo|vivo|trabajo)",
        "it": r"(?:in realtà|veramente),? (?:io|mi|il mio|la mia|noi|sono|ho|vivo|lavoro)",
        "pt": r"na (?:verdade|realidade),? (?:eu|meu|minha|nós|nosso|nossa|a gente)",
        "nl": r"(?:eigenlijk|in feite),? ~(?:ik|mijn|wij|we|ons|onze)",
        "ja": r"(?:実は|じつは)、?(?:私|僕|俺|うち|わたし)",
        "zh": r"(?:其实|其實|实际上|實際上)[，,]?(?:我|咱)",
    },
    "denial": {
        "en": r"no[,.!;]* (?:that's|thats|that is|it's|it is|this is|you're|you are) "
        r"~(?:wrong|incorrect|false|mistaken|right|correct|true)",
        "de": r"nein[,.!]* (?:das|es) (?:ist|war|stimmt) ~(?:nicht|falsch)",
        "fr": r"non[,.!]* (?:c'est|ce n'est|cela n'est|tu as|vous avez) ~(?:faux|pas|tort|incorrect)",
        "es": r"no[,.!]* (?:eso|esto|est[áa]s) ~(?:no|mal|incorrecto|equivocado|equivocada)",
        "it": r"no[,.!]* (?:questo|quello|non|è|ti) ~(?:sbagliato|sbagli|vero|corretto|giusto|falso)",
        "pt": r"não[,.!]* (?:isso|isto|você|está) ~(?:errado|errada|certo|verdade|correto)",
        "nl": r"nee[,.!]* (?:dat|dit|het) (?:is|klopt) ~(?:niet|fout|onjuist|verkeerd)",
        "ja": r"(?:いいえ|いや)[、,。]*(?:それは)?(?:違|ちが|間違)",
        "zh": r"不[，,。!！]*(?:那|这|這)(?:不对|不對|是错|是錯|不是真)",
    },
    "challenge": {
        "en": r"(?:are you sure|why (?:did|do|would) you (?:say|think|claim|assume|suggest)"
        r"|you(?:'re| are) (?:wrong|mistaken|confused)|you misunderstood|you got (?:it|that|this) wrong"
        r"|(?:that's|that is|that was) not what i (?:said|asked|meant|wanted)"
        r"|i (?:never|didn't|did not) (?:say|said|ask|asked) (?:that|for that))",
        "de": r"(?:bist du (?:dir )?sicher|sind sie (?:sich )?sicher|du irrst dich|sie irren sich"
        r"|warum (?:sagst|behauptest|denkst|glaubst) du|das hab(?:e)? ich (?:so )?nicht (?:gesagt|gemeint))",
        "fr": r"(?:(?:es-tu|tu es|êtes-vous|vous êtes) s[ûu]re?|pourquoi (?:dis-tu|tu dis|dites-vous)"
        r"|(?:tu te trompes|vous vous trompez)|ce n'est pas ce que j'ai (?:dit|demand))",
        "es": r"(?:est[áa]s? segur[oa]|por qué (?:dices|dice|crees|piensas)|te equivocas|se equivoca"
        r"|eso no es lo que (?:dije|quise|ped))",
        "it": r"(?:(?:ne )?sei sicur[oa]|perché (?:dici|pensi|credi)|ti sbagli"
        r"|non è quello che (?:ho detto|intendevo|ho chiesto))",
        "pt": r"(?:tem certeza|por que (?:você )?(?:diz|disse|acha)|você est[áa] enganad[oa]"
        r"|não foi isso que eu (?:disse|pedi|quis))",
        "nl": r"(?:weet je (?:het )?zeker|ben je (?:er )?zeker|waarom (?:zeg|denk|beweer) je|je vergist je"
        r"|dat (?:heb ik niet gezegd|bedoelde ik niet))",
        "ja": r"(?:本当(?:に(?:そう)?)?です?か|そんなこと(?:は)?言って(?:い)?(?:ない|ません)|誤解して)",
        "zh": r"你(?:确定|確定|说错|說錯|搞错|搞錯|弄错|弄錯|误解|誤解|为什么这么说|為什麼這麼說)",
    },
    "strong-verb": {
        "en": r"i(?:'d|'ve|'ll)? (?:(?:really|absolutely|truly|also|do|would|have|still) )?"
        r"(?:always|never|prefer|hate|love|want|need)",
        "de": r"ich ~(?:immer|nie|niemals|bevorzuge|hasse|liebe|will|m[öo]chte|brauche)",
        "fr": r"(?:je (?:ne )?~(?:toujours|jamais|préf[èe]re|déteste|veux|dois)"
        r"|j'(?:adore|aime|ai besoin)|je préf[èe]re)",
        "es": r"(?:yo )?(?:siempre|nunca) (?:me )?\w+o|prefiero|odio|amo|necesito"
        r"|(?:yo )?quiero|me encanta",
        "it": r"(?:(?:io )?(?:preferisco|odio|adoro|amo|voglio)|ho bisogno|non \w+o mai|\w+o sempre)",
        "pt": r"(?:eu ~(?:sempre|nunca|prefiro|odeio|amo|adoro|quero|preciso))",
        "nl": r"ik ~(?:altijd|nooit|haat|wil)|ik ~(?:verkies|prefereer)|ik hou van|ik heb ~nodig",
        "ja": r"(?:私|僕|俺|わたし)(?:は|が|も)?[^。！？\n]{0,24}(?:いつも|決して|絶対|大好き|大嫌い|必要|欲しい)",
        "zh": r"我(?:总是|總是|从不|從不|从来不|從來不|更喜欢|更喜歡|讨厌|討厭|热爱|熱愛|爱|愛|想要|需要)",
    },
    "prohibition": {
        "en": r"(?:don't|do not|dont) (?:ever )?(?:use|do|call|say|make)",
        "de": r"(?:benutze?|verwende|nimm|sage?|mache?|nenne?) ~~(?:nicht|nie|niemals|kein|keine|keinen)",
        "fr": r"n(?:e |')~(?:utilise|utilisez|fais|faites|dis|dites|appelle|appelez|emploie) "
        r"(?:pas|jamais|plus)",
        "es": r"(?:no|nunca) (?:me )?(?:uses|utilices|hagas|digas|llames|use|utilice|haga|diga|llame)",
        "it": r"non (?:usare|fare|dire|chiamarmi|chiamare|utilizzare)",
        "pt": r"(?:não|nunca) (?:me )?(?:use|uses|faça|diga|chame|utilize)",
        "nl": r"(?:gebruik|doe|zeg|maak|noem) ~~(?:niet|nooit|geen)",
        "ja": r"(?:使わ|言わ|呼ば|作ら|し)ないで",
        "zh": r"(?:不要|别|別|请勿|請勿)(?:再)?(?:用|使用|做|叫|说|說)",
    },
    "request": {
        "en": r"please,? (?:do )?(?:always|never|remember|note)|(?:can|could|will) you remember"
        r"|(?m:^)remember (?:that|this|my|to)",
        "de": r"bitte ~(?:immer|nie|niemals|merk|merke|notiere|notier|denk daran|erinnere)|merk dir",
        "fr": r"(?:souviens-toi|rappelle-toi|souvenez-vous|n'oublie(?:z)? (?:pas|jamais)|retiens|notez? que"
        r"|s'il (?:te|vous) pla[îi]t,? ~(?:toujours|jamais|retiens|retenez|note|notez))",
        "es": r"(?:por favor,? ~(?:siempre|nunca|recuerda|recuerde|anota|anote)|recuerda que|recuerde que|no olvides)",
        "it": r"(?:per favore,? ~(?:sempre|mai|ricorda|ricordati|annota)|ricordati|ricorda che|non dimenticare)",
        "pt": r"(?:por favor,? ~(?:sempre|nunca|lembre|lembra|anote|anota)|lembre-se|lembra que|não (?:se )?esqueça)",
        "nl": r"(?:(?:alsjeblieft|alstublieft|graag),? ~(?:altijd|nooit|onthoud|onthouden|noteer)|onthoud dat)",
        "ja": r"(?:覚えて|記憶して|メモして)(?:おいて)?(?:ください|下さい|ね|くれ|ほしい)",
        "zh": r"(?:请|請|麻烦|麻煩)(?:你|您)?(?:总是|總是|一定|永远不要|永遠不要|记住|記住|记得|記得|记下|記下|注意)",
    },
    "marker": {
        "en": r"fyi|for the record|(?m:^)(?:correction|important)|(?:correction|important) ?[:!—-]"
        r"|(?:this|it|that)(?:'s| is) (?:very |really |so )?important",
        "de": r"zur info|nur zur information|f[üu]rs protokoll|(?:korrektur|wichtig) ?[:!—-]|das ist (?:sehr )?wichtig",
        "fr": r"pour (?:info|information|mémoire)|(?:correction|rectification|important) ?[:!—-]"
        r"|c'est (?:très )?important",
        "es": r"para que conste|(?:correcci[óo]n|importante) ?[:!—-]|(?:eso|esto) es (?:muy )?importante",
        "it": r"per (?:la cronaca|informazione)|(?:correzione|importante) ?[:!—-]|è (?:molto )?importante che",
        "pt": r"para (?:que conste|sua informação|constar)|(?:correção|importante) ?[:!—-]"
        r"|isso é (?:muito )?importante",
        "nl": r"ter info|voor de (?:goede orde|duidelijkheid)|(?:correctie|belangrijk) ?[:!—-]"
        r"|dit is (?:heel )?belangrijk",
        "ja": r"(?:訂正|重要|補足|参考まで)(?:[:：、]|です|に)",
        "zh": r"(?:更正|纠正|糾正|重要|声明|聲明)[:：！!，,]|(?:这|這)(?:很|非常)重要",
    },
    "identity": {
        "en": r"my ~(?:name|e-?mail|e-?mail address|company|role|title|job title|preference) is"
        r"|i (?:work|live) (?:at|in|from|for|as|with|near)|i(?: am|'m) (?:at|in|from|a|an)|i (?:come|am coming) from",
        "de": r"mein(?:e)? ~(?:name|e-?mail|e-?mail-?adresse|firma|rolle|titel|beruf|vorliebe) (?:ist|lautet)"
        r"|ich hei(?:ß|ss)e|ich (?:arbeite|wohne|lebe|bin) (?:bei|in|aus|als|ein|eine|im|am|f[üu]r)|ich komme aus",
        "fr": r"je m'appelle|mon (?:nom|e-?mail|adresse|entreprise|rôle|titre) ~est|ma (?:société|préférence) est"
        r"|(?:je (?:travaille|suis|viens|vis)|j'habite) (?:chez|à|au|en|dans|de|d'|un|une|comme|pour)\b",
        "es": r"me llamo|mi ~(?:nombre|correo|e-?mail|empresa|puesto|cargo|rol|preferencia) es"
        r"|(?:trabajo|vivo|soy|vengo) (?:en|de|un|una|como|para|con)",
        "it": r"mi chiamo|(?:il mio|la mia) ~(?:nome|e-?mail|azienda|ruolo|titolo|preferenza) ~è\s"
        r"|(?:lavoro|vivo|abito|sono|vengo) (?:a|in|da|di|per|presso|come|un|una|uno)",
        "pt": r"(?:eu )?me chamo|(?:meu|minha) ~(?:nome|e-?mail|empresa|cargo|função|preferência) ~é\s"
        r"|(?:trabalho|moro|vivo|sou|venho) (?:em|no|na|de|do|da|um|uma|como|para)",
        "nl": r"ik heet|mijn ~(?:naam|e-?mail|e-?mailadres|bedrijf|rol|functie|titel|voorkeur) is"
        r"|ik (?:werk|woon|ben|kom) (?:bij|in|uit|een|als|voor|op)",
        "ja": r"(?:私|僕|俺|わたし)の(?:名前|メール|会社|役職|職業)は"
        r"|(?:に住んで|で働いて|に勤めて)(?:い)?(?:ます|る)|と申します",
        "zh": r"我(?:叫|住在|来自|來自)|我在[^。！？，,\n]{1,16}(?:工作|上班)"
        r"|我的(?:名字|邮箱|郵箱|公司|职位|職位|头衔|頭銜|偏好)(?:是|叫)|我是(?:一名|一个|一個|一位)",
    },
    "decision": {
        "en": r"we(?:'ve| have| all)? (?:finally |just )?(?:decided|agreed|chose|chosen|picked)"
        r"|the decision (?:is|was)"
        r"|(?:the )?(?:team|group) (?:has )?(?:decided|agreed|chose|picked)",
        "de": r"wir haben (?:uns )?~~~(?:entschieden|beschlossen|geeinigt|ausgesucht)"
        r"|die entscheidung (?:ist|war|lautet)",
        "fr": r"(?:nous avons|on a) (?:décid|convenu|choisi|opté)|nous (?:nous )?sommes (?:mis d'accord|décid)"
        r"|la décision (?:est|était)",
        "es": r"(?:hemos )?(?:decidimos|acordamos|elegimos|escogimos)|hemos (?:decidido|acordado|elegido)"
        r"|la decisi[óo]n (?:es|fue)",
        "it": r"abbiamo (?:deciso|concordato|scelto|stabilito)|la decisione (?:è\s|era)",
        "pt": r"(?:nós )?(?:decidimos|combinamos|concordamos|escolhemos)|a decisão (?:é\s|foi)",
        "nl": r"we hebben ~~(?:besloten|afgesproken|gekozen)|wij hebben ~~(?:besloten|afgesproken|gekozen)"
        r"|(?:de beslissing|het besluit) (?:is|was)",
        "ja": r"(?:に|と|を)(?:決め|決定し|合意し|選び)(?:ました|た)|ことにし(?:ました|た)",
        "zh": r"(?:我们|我們|大家)(?:已经|已經)?(?:决定|決定|同意|选择了|選擇了|商定|选了|選了)",
    },
    "standing-order": {
        "en": r"going forward|moving forward|from now on|from here on",
        "de": r"ab (?:jetzt|sofort|heute)|von nun an|von jetzt an|in zukunft",
        "fr": r"dorénavant|désormais|à partir de maintenant|à l'avenir",
        "es": r"de ahora en adelante|a partir de (?:ahora|hoy)|en adelante",
        "it": r"d'ora in (?:poi|avanti)|da (?:ora|adesso|oggi) in (?:poi|avanti)",
        "pt": r"de agora em diante|a partir de (?:agora|hoje)|daqui (?:em|para|pra) (?:diante|frente)",
        "nl": r"vanaf (?:nu|vandaag)|voortaan|in het vervolg",
        "ja": r"(?:今後|これから|これからは)は",
        "zh": r"(?:从|從)(?:现在|現在|今天|今)(?:开始|開始|起)|今后|今後都|以后(?:都|请|別|别)|以後(?:都|請|別)",
    },
}
"""Classes of which one hit makes the level high, by language."""

MEDIUM: dict[str, dict[str, str]] = {
    "opinion": {
        "en": r"i (?:think|believe|feel)",
        "de": r"ich (?:denke|glaube|finde|meine)",
        "fr": r"je (?:pense|crois|trouve)",
        "es": r"(?:yo )?(?:pienso|creo|opino|siento) que",
        "it": r"(?:io )?(?:penso|credo|ritengo) (?:che|di)",
        "pt": r"(?:eu )?(?:acho|penso|acredito|creio) que",
        "nl": r"ik (?:denk|geloof|vind)",
        "ja": r"と思(?:う|います|って)",
        "zh": r"我(?:觉得|覺得|认为|認為|相信|感觉|感覺)",
    },
    "usually": {
        "en": r"usually",
        "de": r"normalerweise|meistens|f[üu]r gew[öo]hnlich|gew[öo]hnlich",
        "fr": r"d'habitude|habituellement|généralement",
        "es": r"normalmente|usualmente|por lo general|suelo \w+r",
        "it": r"di solito|normalmente|solitamente",
        "pt": r"normalmente|geralmente|costumo",
        "nl": r"meestal|gewoonlijk|normaal gesproken",
        "ja": r"普段|たいてい|通常は",
        "zh": r"通常|一般来说|一般來說|平时|平時",
    },
    "typically": {
        "en": r"typically",
        "de": r"typischerweise|in der regel",
        "fr": r"typiquement|en règle générale",
        "es": r"t[íi]picamente|por regla general",
        "it": r"tipicamente|in genere",
        "pt": r"tipicamente|via de regra",
        "nl": r"typisch|in de regel",
        "ja": r"典型的に",
        "zh": r"典型地|往往",
    },
    "taste": {
        "en": r"i(?:'d)? (?:(?:really|also|do|don't|do not|would) )?(?:like|dislike)",
        "de": r"ich mag|gef[äa]llt mir",
        "fr": r"j'aime (?:bien|pas|beaucoup)|je n'aime pas|(?:ça )?me pla[îi]t",
        "es": r"(?:no )?me (?:gusta|gustan|disgusta)",
        "it": r"(?:non )?mi (?:piace|piacciono)",
        "pt": r"(?:eu )?(?:não )?(?:gosto|curto) de",
        "nl": r"ik ~~(?:leuk|lekker|fijn|lust)|vind ik (?:leuk|lekker|fijn)",
        "ja": r"(?:が|は)(?:好き|嫌い|苦手)",
        "zh": r"我(?:很|也|不|挺|不太)?(?:喜欢|喜歡)",
    },
    "setting": {
        "en": r"my ~(?:team|project|stack|setup)",
        "de": r"mein(?:e|em|en|er|es)? ~(?:team|projekt|stack|setup|projekts)",
        "fr": r"(?:mon|notre) (?:équipe|projet|stack|installation)",
        "es": r"mi (?:equipo|proyecto|stack|configuraci)",
        "it": r"(?:il mio|la mia) (?:team|squadra|progetto|stack|configurazione)",
        "pt": r"(?:meu|minha) (?:time|equipe|equipa|projeto|projecto|stack|configura)",
        "nl": r"mijn ~(?:team|project|stack|opstelling|setup)",
        "ja": r"(?:私|僕|俺|うち)の(?:チーム|プロジェクト|環境)",
        "zh": r"我(?:的|们的|們的)?(?:团队|團隊|项目|項目|专案|專案|技术栈|配置)",
    },
}
"""Classes of which several together make the level medium, one alone low, by language.
"""

OWN = "own:"
"""Begins the class name of a person's own pattern; the pattern follows."""

_UNSPACED = frozenset({"ja", "zh"})
_APOSTROPHES = str.maketrans("’ʼ＇", "'''")
# The whole table shares one automaton; the matcher's own default of 8 MiB would make it
# start over often.
_MEMORY = 64 << 20


@dataclass(frozen=True, slots=True)
class Signal:
    """How urgently to look, and the names of the classes that say so, high ones first."""

    level: Level
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SignalTable:
    """The compiled table: `names[i]` and `high[i]` belong to the i-th pattern of
    `patterns`.
    """

    patterns: Any
    names: tuple[str, ...]
    high: tuple[bool, ...]


def table(extra: Sequence[str] = ()) -> SignalTable:
    """The built-in classes and a person's own patterns, which count as high (`C1`).

    Own patterns have RE2's syntax, ignore case and may match anywhere. ConfigError
    names every one that is not valid or would match an empty text.
    """
    rows = [
        (name, True, spelled(rows[tongue], tongue))
        for name, rows in HIGH.items()
        for tongue in rows
    ]
    rows += [
        (name, False, spelled(rows[tongue], tongue))
        for name, rows in MEDIUM.items()
        for tongue in rows
    ]
    faults = [f"{pattern!r} {fault}" for pattern in extra if (fault := _fault(pattern))]
    if faults:
        raise ConfigError(
            f"these signal patterns cannot be used: {'; '.join(faults)}",
            where="signals.patterns",
            fix="Write them in RE2 syntax, without look-around or back-references.",
        )
    rows += [(OWN + pattern, True, pattern) for pattern in extra]
    patterns = compiled(tuple(pattern for _, _, pattern in rows))
    return SignalTable(
        patterns, tuple(name for name, _, _ in rows), tuple(high for _, high, _ in rows)
    )


def scan(text: str, table: SignalTable, policy: SignalPolicy) -> Signal:
    """One hit of a high class → high; `medium_hits` medium classes → medium; one → low;
    else none (`C1`).

    A text longer than `scan_chars` is looked at by its head and its tail, half each:
    people address the reader before or after what they paste, not in the middle of it.
    Linear in what is looked at.
    """
    if len(text) > policy.scan_chars:
        half = policy.scan_chars // 2
        text = f"{text[:half]}\n{text[-half:]}"
    plain = unicodedata.normalize("NFC", text).translate(_APOSTROPHES)
    found = sorted(table.patterns.Match(plain.encode("utf-8", "replace")) or ())
    high = dict.fromkeys(table.names[i] for i in found if table.high[i])
    medium = dict.fromkeys(table.names[i] for i in found if not table.high[i])
    return Signal(_level(len(high), len(medium), policy), (*high, *medium))


def _level(high: int, medium: int, policy: SignalPolicy) -> Level:
    if high:
        return "high"
    if medium >= policy.medium_hits:
        return "medium"
    return "low" if medium else "none"


def spelled(pattern: str, tongue: str) -> str:
    """A row of a table as the matcher takes it: ` ` is any blanks, `~` at most one word
    between, borders of words.
    """
    row = (
        pattern.replace(r"~", r"(?:\S+ )?")
        .replace(" ", r"\s+")
        .replace(r"\s+?", r"\s*")
    )
    return row if tongue in _UNSPACED else rf"(?:^|\b|\W)(?:{row})(?:\b|\W|$)"


@cache
def compiled(patterns: tuple[str, ...]) -> Any:
    """One automaton of all patterns, case ignored: `Match(bytes)` gives the places of
    those that match anywhere.

    Made once in a process, for that takes milliseconds; threads may share it.
    """
    automaton = re2.Set.SearchSet(_options())
    for pattern in patterns:
        automaton.Add(pattern)
    automaton.Compile()
    return automaton


def _options() -> re2.Options:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _MEMORY
    return options


def _fault(pattern: str) -> str:
    """Why a person's pattern cannot be used, or ''."""
    try:
        empty = re2.compile(pattern, _options()).search("")
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        return f"is no valid pattern ({reason.decode() if isinstance(reason, bytes) else reason})"
    return "matches an empty text, so it would match everything" if empty else ""
