"""The signal scan: every class in every language, levels, own patterns, cap and time."""

import statistics
from time import thread_time

import pytest

from engram.core.language import languages
from engram.core.language.signals import scan, table
from engram.core.policy import SignalPolicy
from engram.errors import ConfigError

POLICY = SignalPolicy()
TABLE = table()

# class → language → (a sentence that hits it, a near miss that does not)
CASES = {
    "contradiction": {
        "en": ("Actually, I moved to Bonn.", "What actually happened there?"),
        "de": (
            "Eigentlich trinkt niemand, eigentlich bin ich Veganer.",
            "Was ist da eigentlich los?",
        ),
        "fr": ("En fait, je suis végétarien.", "De ce fait tout est clair."),
        "es": ("En realidad, mi hermano vive allí.", "La realidad es otra."),
        "it": ("In realtà io non bevo vino.", "La realtà è diversa."),
        "pt": ("Na verdade, eu moro em Lisboa.", "A verdade dói."),
        "nl": ("Eigenlijk woon ik in Gent.", "Wat is dat eigenlijk?"),
        "ja": ("実は私は医者です。", "実は甘いです。"),
        "zh": ("其实我不喝酒。", "其实很简单。"),
        "ru": ("На самом деле я не пью кофе.", "На самом деле это просто."),
    },
    "denial": {
        "en": ("No, that's wrong.", "There is nothing wrong with it."),
        "de": ("Nein, das ist nicht so.", "Das ist nicht schlimm."),
        "fr": ("Non, c'est faux.", "C'est une fausse note."),
        "es": ("No, eso no es así.", "No sé."),
        "it": ("No, questo è sbagliato.", "Ho sbagliato strada."),
        "pt": ("Não, isso está errado.", "Deu errado ontem."),
        "nl": ("Nee, dat klopt niet.", "Het regent niet."),
        "ja": ("いいえ、違います。", "間違いが多い本。"),
        "zh": ("不，那不对。", "不客气。"),
        "ru": ("Нет, это не так.", "Это не так просто."),
    },
    "challenge": {
        "en": ("Are you sure about the date?", "She was sure about it."),
        "de": ("Bist du dir sicher?", "Das Schloss ist sicher."),
        "fr": ("Pourquoi dis-tu cela ?", "Pourquoi pas."),
        "es": ("¿Por qué dices eso?", "Por eso lo dices tú."),
        "it": ("Sei sicuro di questo?", "Un posto sicuro."),
        "pt": ("Tem certeza disso?", "A certeza veio depois."),
        "nl": ("Weet je het zeker?", "Dat is zeker waar."),
        "ja": ("本当ですか?", "本当の話。"),
        "zh": ("你确定吗?", "已经确定了。"),
    },
    "strong-verb": {
        "en": ("I always take the train.", "He always takes the train."),
        "de": ("Ich trinke nie Kaffee.", "Er trinkt nie Kaffee."),
        "fr": ("Je préfère le thé.", "Elle préfère le thé."),
        "es": ("Prefiero el té.", "Ella prefiere el té."),
        "it": ("Preferisco il tè.", "Lei preferisce il tè."),
        "pt": ("Eu odeio café.", "Ele odeia café."),
        "nl": ("Ik drink nooit koffie.", "Hij drinkt nooit koffie."),
        "ja": ("私はいつも電車で行きます。", "彼はいつも電車です。"),
        "zh": ("我讨厌咖啡。", "他讨厌咖啡。"),
        "ru": ("Я всегда езжу на поезде.", "Он всегда ездит на поезде."),
    },
    "prohibition": {
        "en": ("Don't call me before noon.", "They don't mind the rain."),
        "de": ("Nenn mich nicht Robert.", "Der Name ist nicht Robert."),
        "fr": ("N'utilise jamais ce mot.", "Il utilise ce mot."),
        "es": ("No me llames Paco.", "Él no llama mucho."),
        "it": ("Non usare quella parola.", "Usare la parola giusta."),
        "pt": ("Não use essa palavra.", "O uso da palavra."),
        "nl": ("Gebruik dat woord niet.", "Het gebruik van het woord."),
        "ja": ("その言葉を使わないで。", "その言葉を使った。"),
        "zh": ("不要叫小王。", "要不要茶?"),
    },
    "request": {
        "en": ("Please remember my seat.", "Pleased to be remembered."),
        "de": ("Bitte merk dir das.", "Das war bemerkenswert."),
        "fr": ("N'oublie pas ce détail.", "Elle oublie ce détail."),
        "es": ("Por favor, recuerda esto.", "Un recuerdo bonito."),
        "it": ("Ricordati di questo.", "Un ricordo lontano."),
        "pt": ("Por favor, anote isso.", "O favor foi grande."),
        "nl": ("Onthoud dat goed.", "Een onthouding."),
        "ja": ("覚えておいてください。", "覚えている人。"),
        "zh": ("请记住这个。", "记住他的人。"),
        "ru": ("Запомни это хорошо.", "Он запомнил её лицо."),
    },
    "marker": {
        "en": (
            "FYI the shop closes at six.",
            "An unimportant detail in a notify call.",
        ),
        "de": ("Wichtig: der Laden schließt um sechs.", "Ein wichtiger Laden."),
        "fr": ("Pour info le magasin ferme.", "Une information de plus."),
        "es": ("Importante: la tienda cierra.", "Una tienda importante."),
        "it": ("Correzione: chiude alle sei.", "Una correzione di bozze."),
        "pt": ("Importante: a loja fecha.", "Uma loja importante."),
        "nl": ("Ter info de winkel sluit.", "Een belangrijke winkel."),
        "ja": ("訂正:六時です。", "訂正した人。"),
        "zh": ("更正:六点。", "他更正了错误。"),
    },
    "identity": {
        "en": ("My name is Anna.", "His name is Paul."),
        "de": ("Ich heiße Anna.", "Er heißt Paul."),
        "fr": ("Je m'appelle Anna.", "Il s'appelle Paul."),
        "es": ("Me llamo Ana.", "Se llama Pablo."),
        "it": ("Mi chiamo Anna.", "Si chiama Paolo."),
        "pt": ("Moro em Lisboa.", "Ela mora em Lisboa."),
        "nl": ("Ik heet Anna.", "Hij heet Paul."),
        "ja": ("私の名前はアンナです。", "彼の名前は太郎です。"),
        "zh": ("我叫王明。", "他叫王明。"),
        "ru": ("Меня зовут Анна.", "Его зовут Павел."),
    },
    "decision": {
        "en": ("We decided on Postgres.", "They were decidedly late."),
        "de": (
            "Wir haben uns für Postgres entschieden.",
            "Sie haben uns entschieden geholfen.",
        ),
        "fr": ("Nous avons choisi Postgres.", "Vous avez choisi."),
        "es": ("Decidimos usar Postgres.", "Ellos deciden mañana."),
        "it": ("Abbiamo deciso per Postgres.", "Hanno deciso loro."),
        "pt": ("Decidimos usar Postgres.", "Eles decidem amanhã."),
        "nl": ("We hebben voor Postgres gekozen.", "Zij hebben gekozen."),
        "ja": ("これに決めました。", "これを決める会。"),
        "zh": ("我们决定用它。", "他们的决定。"),
        "ru": ("Мы решили взять Postgres.", "Они решили подождать."),
    },
    "standing-order": {
        "en": ("From now on use metric units.", "It came from nowhere."),
        "de": ("Ab jetzt nur noch Tee.", "Gib ab, jetzt gleich."),
        "fr": ("À partir de maintenant, du thé.", "Une partie de cartes."),
        "es": ("De ahora en adelante, té.", "Ahora llueve."),
        "it": ("D'ora in poi solo tè.", "Un'ora e poi via."),
        "pt": ("A partir de agora, chá.", "Agora chove."),
        "nl": ("Vanaf nu alleen thee.", "Het is nu laat."),
        "ja": ("今後は紅茶。", "今日は紅茶。"),
        "zh": ("从现在开始喝茶。", "现在喝茶。"),
        "ru": ("С этого момента только чай.", "В этот момент пошёл дождь."),
    },
    "retraction": {
        "en": ("I'm just kidding.", "No kidding, it rained."),
        "de": ("Das war nur Spaß.", "Das macht Spaß."),
        "fr": ("Je plaisante.", "Elle plaisante souvent."),
        "es": ("Era una broma.", "Me gusta la broma."),
        "it": ("Stavo scherzando.", "Mi piace lo scherzo."),
        "ja": ("冗談です。", "元気です。"),
        "zh": ("我开玩笑的。", "我开车去。"),
        "pt": ("Era só brincadeira.", "Um brinquedo novo."),
        "nl": ("Dat was maar een grapje.", "Een grappige film."),
        "ru": ("Забудь, что я сказал.", "Он забыл зонт."),
    },
    "opinion": {
        "en": ("I think it rains.", "She thinks it rains."),
        "de": ("Ich glaube, es regnet.", "Er glaubt es."),
    },
    "usually": {
        "en": ("The shop usually opens at nine.", "An unusual shop."),
        "de": ("Der Laden öffnet meistens um neun.", "Die meisten Läden."),
    },
    "typically": {
        "en": ("It typically rains.", "A typical day."),
        "de": ("Es regnet typischerweise.", "Ein Typ wie er."),
    },
    "taste": {
        "en": ("I like oat milk.", "It looks like oat milk."),
        "de": ("Ich mag Hafermilch.", "Er mag sie."),
    },
    "setting": {
        "en": ("My team meets at ten.", "Their team meets at ten."),
        "de": ("Mein Projekt läuft.", "Ihr Projekt läuft."),
    },
}
ROWS = [
    pytest.param(name, *sentences, id=f"{name}-{tongue}")
    for name, tongues in CASES.items()
    for tongue, sentences in tongues.items()
]


# row: C1
# row: X13
@pytest.mark.parametrize(("name", "hit", "miss"), ROWS)
def test_class_is_found_and_its_near_miss_is_not(name, hit, miss):
    """Each row of the table has a sentence that hits it and a similar one that does
    not.
    """
    assert name in scan(hit, TABLE, POLICY).classes
    assert name not in scan(miss, TABLE, POLICY).classes


# row: C1
def test_every_row_of_the_table_has_a_case():
    """No class or language is untested."""
    assert {
        (name, tongue) for name, tongues in CASES.items() for tongue in tongues
    } == {
        (name, tongue)
        for section in ("signals.high", "signals.medium")
        for name in languages.keys(section)
        for tongue in languages.texts(section, name)
    }


# row: C1
@pytest.mark.parametrize(
    "text",
    [
        "actually my sister lives there",
        "Actually we moved",
        "no, that's not right",
        "why did you say that?",
        "I never said that",
        "That's not what I asked.",
        "I've always wanted one",
        "I’d prefer tea",
        "I need a ladder",
        "do not use emojis",
        "don’t make it long",
        "please never do this",
        "Please note the change",
        "please always ask first",
        "Correction: it was Tuesday",
        "Important! The gate is open",
        "for the record, it rained",
        "my email is a@b.example",
        "my job title is baker",
        "I work at a bakery",
        "I'm from Ghana",
        "I live in Oslo",
        "I am a baker",
        "the decision was to wait",
        "We've agreed on Friday",
        "our team picked blue",
        "Going forward, use blue",
    ],
)
def test_one_high_class_makes_the_level_high(text):
    """Any phrase of the seed's high list is enough."""
    assert scan(text, TABLE, POLICY).level == "high"


# row: C1
def test_two_medium_classes_are_medium_and_one_is_low():
    """Classes count, not repetitions of one."""
    assert scan("I think so", TABLE, POLICY).level == "low"
    assert scan("I think so, I think, I believe", TABLE, POLICY).level == "low"
    assert scan("I think my team is late", TABLE, POLICY).level == "medium"
    assert (
        scan("I think my team usually meets", TABLE, SignalPolicy(medium_hits=4)).level
        == "low"
    )
    assert scan("Good morning!", TABLE, POLICY) == scan("", TABLE, POLICY)
    assert scan("", TABLE, POLICY).level == "none"


# row: C1
def test_own_patterns_are_high_and_named():
    """A person's pattern counts as high, whatever the case, and reports itself."""
    own = table([r"\bproject x\d+\b"])
    assert scan("About Project X12 then", own, POLICY).classes == (
        r"own:\bproject x\d+\b",
    )
    assert scan("About Project X12 then", own, POLICY).level == "high"
    assert scan("About project Y then", own, POLICY).level == "none"


# row: C1
def test_every_bad_own_pattern_is_named():
    """One error for all of them, before anything is scanned."""
    with pytest.raises(ConfigError) as caught:
        table(["fine", "(open", "a*", r"(?=look)"])
    assert all(part in str(caught.value) for part in ("'(open'", "'a*'", "'(?=look)'"))
    assert "'fine'" not in str(caught.value)


# row: C1
def test_head_and_tail_of_a_long_text_are_looked_at():
    """What a person says before or after a long paste counts, its middle does not."""
    paste = "lorem ipsum " * 5000
    assert scan(f"My name is Anna. {paste}", TABLE, POLICY).level == "high"
    assert scan(f"{paste} My name is Anna.", TABLE, POLICY).level == "high"
    assert scan(f"{paste} My name is Anna. {paste}", TABLE, POLICY).level == "none"


# row: C1
def test_spelling_variants_do_not_matter():
    """Case, curly apostrophes, decomposed letters, line breaks and broken text are read
    all the same.
    """
    assert "identity" in scan("MY\nNAME   IS Anna", TABLE, POLICY).classes
    assert (
        "strong-verb"
        in scan("je pre\u0301fe\u0300re le the\u0301", TABLE, POLICY).classes
    )
    assert "identity" in scan("\ud800 my name is Anna", TABLE, POLICY).classes


# row: C1
@pytest.mark.parametrize(
    "pump",
    ["i ", "wir haben uns ", "no no, ", "我", "please ", "私は", "x", "ich trinke "],
)
def test_any_turn_is_scanned_in_ten_milliseconds(pump):
    """The table is one automaton, so no text is slow."""
    text = pump * (POLICY.scan_chars * 2 // len(pump))
    scan(text, TABLE, POLICY)
    times = []
    for _ in range(5):
        start = thread_time()
        scan(text, TABLE, POLICY)
        times.append(thread_time() - start)
    assert statistics.median(times) < 0.010
