"""States and questions in German, French, Spanish, Chinese and Japanese (row X13)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core.language.state_changes import has_begun, replacement, state_time
from engram.core.language.state_telling import in_third_person
from engram.core.language.states import State, state_asked_for, states


def _line(state: State) -> str:
    sign = "-" if state.over else "+" if state.change else ""
    value = f": {' '.join(state.value)}" if state.value else ""
    return f"{sign}{' '.join(state.subject)} {state.attribute}{value}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ich wohne in Erfurt.", "user home: erfurt"),
        ("Wir sind letzte Woche nach Weimar gezogen.", "+user home: weimar"),
        ("Letzte Woche sind wir nach Weimar gezogen.", "+user home: weimar"),
        ("ich bin umgezogen nach Weimar", "+user home: weimar"),
        ("Ich bin nach Augsburg gezogen.", "+user home: augsburg"),
        ("Seit März wohne ich in Ulm.", "user home: ulm"),
        ("Jetzt wohne ich in Ulm.", "+user home: ulm"),
        ("Die Person wohnt in Erfurt.", "user home: erfurt"),
        ("Meine Schwester Sabine wohnt in Kiel.", "user schwester sabine home: kiel"),
        (
            "Ich arbeite als Lehrerin am Gutenberg-Gymnasium.",
            "user job: lehrerin, user employer: gutenberg-gymnasium",
        ),
        (
            "Ich arbeite jetzt an der Jenaplanschule, nicht mehr am Gutenberg-Gymnasium.",
            "+user employer: jenaplanschule",
        ),
        (
            "Die Person arbeitet als Lehrerin am Gutenberg-Gymnasium.",
            "user job: lehrerin, user employer: gutenberg-gymnasium",
        ),
        ("Ich bin von Beruf Tischler.", "user job: tischler"),
        ("Ich esse kein Fleisch mehr.", "-user eats: fleisch"),
        ("Ich mag keinen Jazz mehr.", "-user like: jazz"),
        ("Ich mag Jazz nicht mehr.", "-user like: jazz"),
        ("Ich kann Jazz nicht mehr hören.", "-user like: jazz"),
        ("Fiete ist gestern gestorben.", "-fiete alive"),
        ("Unser Hund ist gestorben.", "-user hund alive"),
        ("Wir mussten unseren Hund einschläfern lassen.", "-user hund alive"),
        ("Paula und ich haben uns getrennt.", "-user partner: paula"),
        ("Ich habe mich von Paula getrennt.", "-user partner: paula"),
        ("Wir haben uns getrennt.", "-user partner"),
        ("Ich habe gekündigt.", "-user employer, -user job"),
        (
            "Ich habe meinen Job bei Siemens gekündigt.",
            "-user employer: siemens",
        ),
        ("Ich bin in Rente.", "-user employer, -user job"),
        ("Ich rauche nicht mehr.", "-user habit: rauche"),
        ("Die Miete ist auf 1.310 gestiegen.", "+miete figure: 1.310"),
        ("Meine Nummer ist jetzt 0170 555.", "+user phone: 0170 555"),
        ("Meine Lieblingsfarbe ist jetzt Blau.", "+user favourite farbe: blau"),
        ("Ich bin gestern 35 geworden.", "+user age: 35"),
        ("Ich bin 34 Jahre alt.", "user age: 34"),
        ("Das Treffen wurde auf Mittwoch verschoben.", "+treffen date: mittwoch"),
        ("Das Konzert wurde abgesagt.", "-konzert date"),
        ("Karin ist nicht mehr meine Chefin.", "-user role chefin: karin"),
        ("Mein Mann heißt Jens.", "user partner: jens"),
        ("Meine Schwester heißt Sabine.", "user kin schwester: sabine"),
        ("Die Schwester der Person heißt Sabine.", "user kin schwester: sabine"),
        ("Die Katze der Person ist gestorben.", "-user katze alive"),
        ("Wir haben einen Hund.", "user pet: hund"),
        ("Ich habe bei Bosch angefangen.", "user employer: bosch"),
        ("Ich wurde zum Abteilungsleiter befördert.", "+user job: abteilungsleiter"),
        ("Ich bin vegan.", "user diet: vegan"),
        ("Ich habe am 24. Februar Geburtstag.", "user birthday: 24 februar"),
        ("Ich bin gegen Penicillin allergisch.", "user allergy: penicillin"),
        ("Ich heiße Katrin Vogel.", "user name: katrin vogel"),
        ("Ich wohne jetzt in der Schweiz.", "+user home: schweiz"),
        ("Ich habe einen neuen Freund namens Tim.", "+user partner: tim"),
    ],
)
def test_a_statement_in_german_gives_its_state(text: str, expected: str) -> None:
    assert ", ".join(_line(one) for one in states(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Ich würde gern nach Weimar ziehen.",
        "Ich will nach Weimar ziehen.",
        "Wenn ich nach Weimar ziehe, sage ich Bescheid.",
        "Vielleicht bin ich bald nach Ulm gezogen.",
        "Er ist nach Rom gezogen.",
        "Ich wohne in einer WG.",
        "Ich lebe in Ruhe.",
        "Ich habe das Spiel verloren.",
        "Ich habe die Wohnung gekündigt.",
        "Ich habe den Vertrag gekündigt.",
        "Ich bin krank geworden.",
        "Ich bin müde.",
        "Der Film ist am besten.",
        "Ich bin fast gestorben vor Lachen.",
        "Ich wurde aus dem Krankenhaus entlassen.",
        "Sie sagt, sie wohnt in Ulm.",
        "Ich bin auf den Balkon gezogen.",
        "Ich habe mich von dem Gedanken getrennt.",
        "Ich glaube, ich habe früher in Ulm gewohnt.",
        "Wir sind zu spät gekommen.",
        "Es ist 5 Uhr.",
    ],
)
def test_what_german_does_not_assert_gives_no_state(text: str) -> None:
    assert states(text) == ()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wo wohne ich jetzt?", "user home"),
        ("Wo wohne ich?", "user home"),
        ("Was bin ich von Beruf?", "user job"),
        ("Wie alt bin ich?", "user age"),
        ("Wie heiße ich?", "user name"),
        ("Wie heißt meine Schwester?", "user kin schwester"),
        ("Wie heißt mein Mann?", "user partner"),
        ("Wo wohnt meine Schwester?", "user schwester home"),
        ("Wogegen bin ich allergisch?", "user allergy"),
        ("Wo arbeite ich?", "user employer"),
        ("Esse ich Fleisch?", "user eats"),
        ("Wann habe ich Geburtstag?", "user birthday"),
        ("Haben wir einen Hund?", "user pet"),
        ("Wie hoch ist die Miete?", "miete figure"),
    ],
)
def test_a_question_in_german_asks_for_a_state(question: str, expected: str) -> None:
    found = state_asked_for(question)
    assert found
    assert _line(found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("J'habite à Nantes.", "user home: nantes"),
        ("J'ai déménagé à Bordeaux la semaine dernière.", "+user home: bordeaux"),
        ("Nous avons déménagé à Lyon.", "+user home: lyon"),
        ("On s'est installés à Marseille.", "+user home: marseille"),
        ("La personne habite à Nantes.", "user home: nantes"),
        ("Mon frère Luc habite à Lille.", "user frère luc home: lille"),
        ("J'habite maintenant à Paris.", "+user home: paris"),
        ("Je n'habite plus à Nantes.", "-user home: nantes"),
        (
            "Je travaille comme infirmière au CHU.",
            "user job: infirmière, user employer: chu",
        ),
        ("Je travaille chez Airbus.", "user employer: airbus"),
        ("Je ne travaille plus chez Airbus.", "-user employer: airbus"),
        ("J'ai démissionné.", "-user employer, -user job"),
        ("J'ai quitté mon travail.", "-user employer, -user job"),
        ("Je suis à la retraite.", "-user employer, -user job"),
        ("J'ai été licenciée.", "-user employer, -user job"),
        ("J'ai été embauché chez Renault.", "+user employer: renault"),
        ("J'ai trouvé un nouveau travail chez Renault.", "+user employer: renault"),
        ("Je suis infirmière.", "user job: infirmière"),
        ("Je suis devenue médecin.", "+user job: médecin"),
        ("Je ne mange plus de viande.", "-user eats: viande"),
        ("Je n'aime plus le jazz.", "-user like: jazz"),
        ("Je déteste le jazz maintenant.", "-user like: jazz"),
        ("J'adore le jazz.", "user like: jazz"),
        ("Filou est mort hier.", "-filou alive"),
        ("Notre chien est mort.", "-user chien alive"),
        ("J'ai perdu mon père.", "-user père alive"),
        ("Paul et moi, nous nous sommes séparés.", "-user partner: paul"),
        ("Nous nous sommes séparés.", "-user partner"),
        ("J'ai rompu avec Paul.", "-user partner: paul"),
        ("Paul m'a quittée.", "-user partner: paul"),
        ("J'ai divorcé.", "-user partner"),
        ("Je me suis mariée avec Paul.", "+user partner: paul"),
        ("Mon mari s'appelle Paul.", "user partner: paul"),
        ("Ma sœur s'appelle Léa.", "user kin sœur: léa"),
        ("La sœur de la personne s'appelle Léa.", "user kin sœur: léa"),
        ("Le chien de la personne s'appelle Filou.", "user pet: chien filou"),
        ("Mon chien s'appelle Filou.", "user pet: chien filou"),
        ("Je m'appelle Camille.", "user name: camille"),
        ("J'ai 34 ans.", "user age: 34"),
        ("J'ai fêté mes 35 ans.", "+user age: 35"),
        ("Mon numéro est maintenant le 06 12 34.", "+user phone: 06 12 34"),
        (
            "Ma couleur préférée est le bleu maintenant.",
            "+user favourite couleur: bleu",
        ),
        ("Le loyer est passé à 900 euros.", "+loyer figure: 900 euros"),
        ("La réunion a été reportée à mercredi.", "+réunion date: mercredi"),
        ("Le concert a été annulé.", "-concert date"),
        ("Karine n'est plus ma cheffe.", "-user role cheffe: karine"),
        ("Nous avons adopté un chat.", "+user pet: chat"),
        ("Je ne fume plus.", "-user habit: fume"),
        ("J'ai arrêté de fumer.", "-user habit: fumer"),
        ("J'ai vendu ma voiture.", "-user car"),
        ("Je suis végétarienne.", "user diet: végétarienne"),
        ("Mon anniversaire est le 6 juin.", "user birthday: 6 juin"),
        ("Je viens de Bretagne.", "user origin: bretagne"),
    ],
)
def test_a_statement_in_french_gives_its_state(text: str, expected: str) -> None:
    assert ", ".join(_line(one) for one in states(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "J'aimerais déménager à Bordeaux.",
        "Je veux habiter à Paris.",
        "Si je déménage à Bordeaux, je te le dis.",
        "Peut-être que j'ai déménagé trop vite.",
        "Elle a déménagé à Rome.",
        "J'habite dans une maison.",
        "J'ai perdu mes clés.",
        "J'ai perdu le match.",
        "J'ai quitté la salle.",
        "Je suis mort de rire.",
        "Je suis à la bibliothèque.",
        "Je suis fatiguée.",
        "Il est mort.",
        "J'ai 3 chats.",
        "J'ai commencé un livre.",
        "Le film est bien.",
        "J'ai arrêté de lire ce livre.",
        "J'ai failli déménager à Lyon.",
    ],
)
def test_what_french_does_not_assert_gives_no_state(text: str) -> None:
    assert states(text) == ()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("où est-ce que j'habite ?", "user home"),
        ("où habite mon frère ?", "user frère home"),
        ("comment je m'appelle ?", "user name"),
        ("quel est mon métier ?", "user job"),
        ("comment s'appelle mon chien ?", "user pet"),
        ("à quoi suis-je allergique ?", "user allergy"),
        ("est-ce que je mange de la viande ?", "user eats"),
        ("quand est mon anniversaire ?", "user birthday"),
        ("quel âge ai-je ?", "user age"),
        ("quel âge a ma sœur ?", "user sœur age"),
        ("comment s'appelle ma sœur ?", "user kin sœur"),
        ("où est-ce que je travaille ?", "user employer"),
        ("qui est mon mari ?", "user partner"),
        ("où habite Luc ?", "luc home"),
        ("où j'habite ?", "user home"),
    ],
)
def test_a_question_in_french_asks_for_a_state(question: str, expected: str) -> None:
    found = state_asked_for(question)
    assert found
    assert _line(found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Vivo en Valencia.", "user home: valencia"),
        ("Me he mudado a Sevilla.", "+user home: sevilla"),
        ("Nos mudamos a Bilbao el mes pasado.", "+user home: bilbao"),
        ("La semana pasada me mudé a Bilbao.", "+user home: bilbao"),
        ("La persona vive en Valencia.", "user home: valencia"),
        ("Mi hermana Ana vive en Cádiz.", "user hermana ana home: cádiz"),
        ("Ahora vivo en Madrid.", "+user home: madrid"),
        ("Ya no vivo en Valencia.", "-user home: valencia"),
        (
            "Trabajo como enfermera en el hospital La Fe.",
            "user job: enfermera, user employer: hospital fe",
        ),
        ("Trabajo en Seat.", "user employer: seat"),
        ("Ya no trabajo en Seat.", "-user employer: seat"),
        ("He dejado mi trabajo.", "-user employer, -user job"),
        ("Renuncié.", "-user employer, -user job"),
        ("Me han despedido.", "-user employer, -user job"),
        ("Me jubilé.", "-user employer, -user job"),
        ("He empezado en Telefónica.", "user employer: telefónica"),
        ("Tengo un nuevo trabajo en Telefónica.", "+user employer: telefónica"),
        ("Soy enfermera.", "user job: enfermera"),
        ("Ya no soy enfermera.", "-user job: enfermera"),
        ("Ya no como carne.", "-user eats: carne"),
        ("He dejado de comer carne.", "-user eats: carne"),
        ("Ya no me gusta el jazz.", "-user like: jazz"),
        ("Me gusta el jazz.", "user like: jazz"),
        ("Odio el jazz.", "-user like: jazz"),
        ("Mi perro murió ayer.", "-user perro alive"),
        ("Se nos ha muerto el perro.", "-perro alive"),
        ("Perdí a mi padre.", "-user padre alive"),
        ("Paco y yo nos hemos separado.", "-user partner: paco"),
        ("Nos hemos separado.", "-user partner"),
        ("He roto con Paco.", "-user partner: paco"),
        ("Rompí con Paco.", "-user partner: paco"),
        ("Paco me ha dejado.", "-user partner: paco"),
        ("Me he casado con Luis.", "+user partner: luis"),
        ("Mi marido se llama Luis.", "user partner: luis"),
        ("Mi hermana se llama Ana.", "user kin hermana: ana"),
        ("La hermana de la persona se llama Ana.", "user kin hermana: ana"),
        ("El perro de la persona se llama Rex.", "user pet: perro rex"),
        ("Me llamo Sofía.", "user name: sofía"),
        ("Tengo 34 años.", "user age: 34"),
        ("He cumplido 35 años.", "+user age: 35"),
        ("Mi número es ahora el 600 11 22.", "+user phone: 600 11 22"),
        ("Mi color favorito ahora es el azul.", "+user favourite color: azul"),
        ("El alquiler ha subido a 900 euros.", "+alquiler figure: 900 euros"),
        ("La reunión se ha aplazado al miércoles.", "+reunión date: miércoles"),
        ("El concierto se ha cancelado.", "-concierto date"),
        ("Karin ya no es mi jefa.", "-user role jefa: karin"),
        ("Hemos adoptado un gato.", "+user pet: gato"),
        ("Ya no fumo.", "-user habit: fumo"),
        ("He dejado de fumar.", "-user habit: fumar"),
        ("He vendido mi coche.", "-user car"),
        ("Soy vegetariana.", "user diet: vegetariana"),
        ("Mi cumpleaños es el 6 de junio.", "user birthday: 6 junio"),
        ("Soy de Burgos.", "user origin: burgos"),
    ],
)
def test_a_statement_in_spanish_gives_its_state(text: str, expected: str) -> None:
    assert ", ".join(_line(one) for one in states(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Quiero mudarme a Sevilla.",
        "Me gustaría vivir en Madrid.",
        "Si me mudo a Sevilla, te aviso.",
        "Quizás me he mudado demasiado pronto.",
        "Ella se mudó a Roma.",
        "Vivo en una casa.",
        "Perdí las llaves.",
        "He perdido el partido.",
        "He dejado el libro en casa.",
        "Me muero de risa.",
        "Estoy cansada.",
        "Tengo 3 gatos.",
        "He empezado un libro.",
        "La película es buena.",
        "Casi me mudo a Madrid.",
        "Mi móvil está muerto.",
        "He dejado de leer ese libro.",
        "Se ha muerto mi planta.",
        "Él murió.",
        "Voy a mudarme a Sevilla.",
    ],
)
def test_what_spanish_does_not_assert_gives_no_state(text: str) -> None:
    assert states(text) == ()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("¿dónde vivo?", "user home"),
        ("¿cómo me llamo?", "user name"),
        ("¿cuántos años tengo?", "user age"),
        ("¿dónde vive mi hermana?", "user hermana home"),
        ("¿cómo se llama mi hermana?", "user kin hermana"),
        ("¿cómo se llama mi marido?", "user partner"),
        ("¿en qué trabajo?", "user job"),
        ("¿cuál es mi trabajo?", "user job"),
        ("¿a qué soy alérgica?", "user allergy"),
        ("¿cuándo es mi cumpleaños?", "user birthday"),
        ("¿qué me gusta?", "user like"),
        ("¿dónde trabajo?", "user employer"),
        ("¿cómo se llama mi perro?", "user pet"),
    ],
)
def test_a_question_in_spanish_asks_for_a_state(question: str, expected: str) -> None:
    found = state_asked_for(question)
    assert found
    assert _line(found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我住在上海。", "user home: 上海"),
        ("我上周搬到东京了。", "+user home: 东京"),
        ("我妹妹住在北京。", "user 妹妹 home: 北京"),
        ("我已经不住在上海了。", "-user home: 上海"),
        ("我在一家银行工作。", "user employer: 一家银行"),
        ("我跳槽到腾讯了。", "+user employer: 腾讯"),
        ("我辞职了。", "-user employer, -user job"),
        ("我上个月辞职了，搬到杭州了。", "-user employer, -user job, +user home: 杭州"),
        ("我和小丽分手了。", "-user partner: 小丽"),
        ("我离婚了。", "-user partner"),
        ("我不喜欢爵士乐了。", "-user like: 爵士乐"),
        ("我喜欢爵士乐。", "user like: 爵士乐"),
        ("我不吃鱼了。", "-user eats: 鱼"),
        ("我戒烟了。", "-user habit: 戒烟"),
        ("我的手机号换成13900001111了。", "+user phone: 13900001111"),
        ("我今年35岁了。", "+user age: 35"),
        ("我们的狗去世了。", "-user 狗 alive"),
        ("我养了一只猫。", "+user pet: 猫"),
        ("我叫王梅。", "user name: 王梅"),
        ("我丈夫叫健太。", "user partner: 健太"),
        ("用户住在上海。", "user home: 上海"),
        ("妹妹搬到上海了。", "+user 妹妹 home: 上海"),
        ("私は東京に住んでいます。", "user home: 東京"),
        ("先月、大阪に引っ越しました。", "+user home: 大阪"),
        ("私は先月大阪に引っ越しました。", "+user home: 大阪"),
        ("もう東京には住んでいません。", "-user home: 東京"),
        ("私の夫は健太です。", "user partner: 健太"),
        ("夫は大阪で働いています。", "user 夫 employer: 大阪"),
        ("私はトヨタに転職しました。", "+user employer: トヨタ"),
        ("仕事を辞めました。", "-user employer, -user job"),
        ("健太と離婚しました。", "-user partner: 健太"),
        ("健太と別れました。", "-user partner: 健太"),
        ("私は猫が好きです。", "user like: 猫"),
        ("ジャズはもう好きではありません。", "-user like: ジャズ"),
        ("肉は食べなくなりました。", "-user eats: 肉"),
        ("タバコをやめました。", "-user habit: タバコ"),
        ("犬が死にました。", "-user 犬 alive"),
        ("うちの犬が亡くなりました。", "-user 犬 alive"),
        ("35歳になりました。", "+user age: 35"),
        ("電話番号は090-1234-5678に変わりました。", "+user phone: 090-1234-5678"),
        ("猫を飼い始めました。名前はモチです。", "+user pet: 猫"),
        ("私の名前は美咲です。", "user name: 美咲"),
        ("妹は京都に住んでいます。", "user 妹 home: 京都"),
    ],
)
def test_a_statement_in_chinese_and_japanese_gives_its_state(
    text: str, expected: str
) -> None:
    assert ", ".join(_line(one) for one in states(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "我想搬到东京。",
        "我把桌子搬到窗边了。",
        "如果我搬到东京，我会很开心。",
        "我可能搬到东京。",
        "她搬到东京了。",
        "我打算辞职。",
        "我要和他分手。",
        "我以前住在上海。",
        "我的手机死机了。",
        "他说我搬到东京了。",
        "東京に住みたいです。",
        "彼女は東京に引っ越しました。",
        "もし東京に引っ越したら、連絡します。",
        "来月引っ越す予定です。",
        "彼は死にました。",
        "大阪に引っ越すかもしれません。",
        "仕事を辞めたいです。",
        "机を窓際に移しました。",
    ],
)
def test_what_chinese_and_japanese_does_not_assert_gives_no_state(text: str) -> None:
    assert states(text) == ()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("我住在哪里？", "user home"),
        ("我现在住在哪里？", "user home"),
        ("我妹妹住在哪里？", "user 妹妹 home"),
        ("我叫什么名字？", "user name"),
        ("我在哪里工作？", "user employer"),
        ("我吃鱼吗？", "user eats"),
        ("我的手机号是多少？", "user phone"),
        ("我丈夫叫什么名字？", "user partner"),
        ("我几岁了？", "user age"),
        ("夫の名前は何ですか？", "user partner"),
        ("夫はどこで働いていますか？", "user 夫 employer"),
        ("私はどこに住んでいますか？", "user home"),
        ("私の名前は何ですか？", "user name"),
        ("何が好きですか？", "user like"),
        ("猫の名前は？", "user pet"),
        ("今どこに住んでいますか？", "user home"),
    ],
)
def test_a_question_in_chinese_and_japanese_asks_for_a_state(
    question: str, expected: str
) -> None:
    found = state_asked_for(question)
    assert found
    assert _line(found) == expected


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Ich bin nach Augsburg gezogen.", "I live in Munich."),
        ("J'ai déménagé à Bordeaux.", "The user lives in Nantes."),
        ("我搬到东京了。", "I live in Shanghai."),
        ("Me he mudado a Sevilla.", "La persona vive en Valencia."),
        ("Ich esse kein Sushi mehr.", "I eat sushi."),
        ("Unser Hund Fiete ist gestorben.", "Wir haben einen Hund."),
        ("I'm 35.", "Ich bin 34 Jahre alt."),
    ],
)
def test_a_change_replaces_the_state_told_in_another_language(
    new: str, old: str
) -> None:
    assert any(replacement(one, other) for one in states(new) for other in states(old))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Ich wohne in München.", "I live in Munich."),
        ("Meine Schwester ist nach Augsburg gezogen.", "I live in Munich."),
        ("我妹妹搬到东京了。", "我住在上海。"),
    ],
)
def test_one_place_by_two_names_replaces_nothing(new: str, old: str) -> None:
    assert not any(
        replacement(one, other) for one in states(new) for other in states(old)
    )


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("Our dog died", "the user's dog died"),
        ("We split up", "the user split up"),
        ("Paula left me", "Paula left the user"),
    ],
)
def test_a_clause_is_told_in_the_third_person(clause: str, expected: str) -> None:
    assert (
        in_third_person(clause, states(clause)[0], "the user", "the user's") == expected
    )


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("Wir sind nach Weimar gezogen", "die Person ist nach Weimar gezogen"),
        ("Unser Hund ist tot", "der Hund der Person ist tot"),
        ("Ich esse kein Fleisch mehr", "die Person isst kein Fleisch mehr"),
    ],
)
def test_a_german_clause_is_told_in_the_third_person(
    clause: str, expected: str
) -> None:
    assert (
        in_third_person(clause, states(clause)[0], "die Person", "der Person")
        == expected
    )


# row: A7
@pytest.mark.parametrize(
    ("text", "attribute", "value", "begins"),
    [
        ("I'm starting at Siemens on Monday.", "employer", "siemens", "2026-12-07"),
        ("From January I'm working for Bosch.", "employer", "bosch", "2027-01-01"),
        ("We're moving to Hamburg in March.", "home", "hamburg", "2027-04-01"),
        ("My rent goes up to 1310 in January.", "figure", "1310", "2027-02-01"),
        ("Ab Dezember ist meine Chefin Eva Sommer.", "role", "eva", "2026-12-01"),
        ("Am Montag fange ich bei Siemens an.", "employer", "siemens", "2026-12-07"),
        ("Wir ziehen am 1. Mai nach Bonn um.", "home", "bonn", "2027-05-01"),
        ("Je commence chez Renault lundi.", "employer", "renault", "2026-12-07"),
        ("Nous déménageons à Lyon en mars.", "home", "lyon", "2027-04-01"),
        ("Empiezo en Renfe el lunes.", "employer", "renfe", "2026-12-07"),
        ("A partir de enero mi jefe es Luis.", "role", "luis", "2027-01-01"),
    ],
)
def test_a_plan_begins_on_its_day(text, attribute, value, begins):
    (state,) = states(text)
    assert (state.attribute.split()[0], state.value[0]) == (attribute, value)
    told_at = datetime(2026, 11, 30, 20, tzinfo=UTC)
    assert f"{state_time(state, told_at):%Y-%m-%d}" == begins
    assert not has_begun(state, told_at, None, told_at)
    assert has_begun(state, told_at, None, state_time(state, told_at))


# row: A7
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "El doctor me subió la metformina a 1000 mg.",
            "+user dose metformina: 1000 mg, +user medication: metformina",
        ),
        (
            "Me bajaron la metformina a 500 mg.",
            "+user dose metformina: 500 mg, +user medication: metformina",
        ),
        (
            "Tomo metformina, 850 mg.",
            "user dose metformina: 850 mg, user medication: metformina",
        ),
        (
            "Ich nehme Metformin, 850 mg.",
            "user dose metformin: 850 mg, user medication: metformin",
        ),
        (
            "Je prends de la metformine, 850 mg.",
            "user dose metformine: 850 mg, user medication: metformine",
        ),
        (
            "Prendo la metformina, 850 mg.",
            "user dose metformina: 850 mg, user medication: metformina",
        ),
        (
            "Ik slik metformine, 850 mg.",
            "user dose metformine: 850 mg, user medication: metformine",
        ),
        ("La doctora me subió el sueldo a 1000 euros.", ""),
    ],
)
def test_a_dose_is_read_beside_its_medicine(text: str, expected: str) -> None:
    """Also in the simple past of Latin America."""
    assert ", ".join(map(_line, states(text))) == expected


# row: A7
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Me mudé a Santiago el fin de semana pasado.", "+user home: santiago"),
        ("J'ai déménagé à Lyon le week-end dernier.", "+user home: lyon"),
        ("Luna murió anoche, estoy muy triste.", "-luna alive"),
        ("Luna est morte hier soir, je suis très triste.", "-luna alive"),
        ("Luna ist gestern gestorben, ich bin so traurig.", "-luna alive"),
        ("A Luna morreu ontem à noite, estou muito triste.", "-luna alive"),
        ("Vendí el Suzuki, ahora ando en metro.", "-user car: suzuki"),
        ("Ho venduto la Panda, adesso vado in autobus.", "-user car: panda"),
        ("Ich habe den Golf verkauft, jetzt fahre ich Rad.", "-user car: golf"),
        ("Vendi o Clio, agora ando de metro.", "-user car: clio"),
        ("Ik heb de Golf verkocht, nu fiets ik.", "-user car: golf"),
        ("Früher wohnte ich in Bonn, jetzt wohne ich in Ulm.", "+user home: ulm"),
        ("Antes vivía en Lugo, ahora vivo en Vigo.", "+user home: vigo"),
        ("Avant j'habitais à Lille, maintenant j'habite à Metz.", "+user home: metz"),
        ("Vroeger woonde ik in Gent, nu woon ik in Brugge.", "+user home: brugge"),
        ("Als Kind wohnte ich in Bonn, im Spiel wohne ich jetzt in Ulm.", ""),
        ("A bateria morreu.", ""),
        ("Ik heb het huis verkocht.", ""),
    ],
)
def test_a_feeling_or_what_is_now_beside_a_change_hides_none(
    text: str, expected: str
) -> None:
    """A comma joins them in speech."""
    assert ", ".join(map(_line, states(text))) == expected


# row: A7
@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("A partir de junio vivo en Vigo.", "2027-06-01"),
        ("A partir de junio trabajo en Renfe.", "2027-06-01"),
        ("Vanaf juni woon ik in Gent.", "2027-06-01"),
        ("Ab Juni bin ich vegan.", "2027-06-01"),
        ("Starting in June I live in Ulm.", "2027-06-01"),
        ("Ab heute bin ich vegan.", "2027-02-08"),
        ("Desde junio trabajo en Renfe.", "2027-02-08"),
        ("Desde el lunes trabajo en Renfe.", "2027-02-08"),
        ("A partir de ahora vivo en Vigo.", "2027-02-08"),
        ("As of 2019 I live in Leeds.", "2020-01-01"),
    ],
)
def test_what_starts_on_a_day_to_come_begins_then(text: str, begins: str) -> None:
    """Said in the present tense, it is still a plan; "since" is not."""
    told_at = datetime(2027, 2, 8, 9, tzinfo=UTC)
    (state,) = states(text)
    assert state_time(state, told_at).date().isoformat() == begins
    assert has_begun(state, told_at, None, told_at) is (begins <= "2027-02-08")
