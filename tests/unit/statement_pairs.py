"""Pairs of statements and what they are to each other, for the lexical scale.

same: one of the two is enough. contradicts: both cannot hold now. related: two facts on
one thing. unrelated: nothing but the person, or not even that.
"""

from __future__ import annotations

SAME = """
Anna loves oat milk. | Anna really loves oat-milk
Anna lives in Berlin. | Anna now lives in Berlin
The user is allergic to peanuts. | The user is really allergic to peanuts!
Anna drinks coffee every morning. | Every morning Anna drinks coffee.
Ben has two cats. | Ben has 2 cats
Ben doesn't eat meat. | Ben does not eat meat
Anna's sister is a nurse | Anna’s sister is a nurse.
The user works at Siemens | The user currently works at Siemens.
Clara also plays the violin. | Clara plays the violin
Clara can't swim | Clara cannot swim
The user's favourite colour is blue. | The user's favourite colour is “blue”
On Sundays Ben visits his mother. | Ben visits his mother on Sundays
Anna trinkt Hafermilch. | Anna trinkt jetzt Hafermilch
Anna wohnt in Berlin. | Anna wohnt jetzt in Berlin!
Ben ist allergisch gegen Nüsse | Ben ist sehr allergisch gegen Nüsse.
Clara isst kein Fleisch. | Clara isst wirklich kein Fleisch
Clara hat zwei Katzen | Clara hat 2 Katzen.
"""

PARAPHRASED = """
A Ben le gusta el café | A Ben le gusta mucho el café
Anna loves oat milk. | Oat milk is Anna's favourite milk.
Ben is a vegetarian. | Ben does not eat meat.
The user works at Siemens. | Siemens is the user's employer.
Clara was born in 1990. | Clara's year of birth is 1990.
The user's dog is called Rex. | The user has a dog named Rex.
Anna likes oat milk. | Anna loves oat milk.
Ben moved to Lisbon. | Ben lives in Lisbon.
The user gets up at six. | The user wakes up at 6 o'clock.
Anna ist Lehrerin. | Anna arbeitet als Lehrerin.
Ben habite à Lyon | Ben vit à Lyon
Clara vive en Madrid | La casa de Clara está en Madrid
安娜喜欢喝绿茶 | 绿茶是安娜最爱的饮料
アンナはお茶が好き | アンナの好物はお茶
Анна любит чай | Анне нравится чай
"""

CONTRADICTS = """
Anna lives in Berlin | Anna lives in Munich
Anna lives in Berlin. | Anna moved to Lisbon last Friday.
The user lives in Berlin with Ben | The user now lives in Rome
The user works at Siemens | The user works at Bosch.
Anna's favourite colour is blue | Anna's favourite colour is green
Anna's favourite food is pizza | Anna's favourite food is sushi
Ben's birthday is 3 May | Ben's birthday is 4 May
Ben is 31 years old | Ben is 32 years old
Ben is married to Clara | Ben is married to Dora
The user's name is Kim | The user's name is Jo
The user drives a BMW | The user drives a Tesla
Clara's phone number is 555 1234 | Clara's phone number is 555 9876
Clara was born in 1990 | Clara was born in 1991
Anna drinks coffee | Anna doesn't drink coffee any more
Anna drinks coffee | Anna no longer drinks coffee
Anna smokes | Anna used to smoke
Ben eats meat | Ben never eats meat
Ben eats meat | Ben stopped eating meat
Clara loves olives | Clara hates olives
The rent is 900 euros | The rent is 950 euros
Clara can swim | Clara cannot swim
The user wants to be called Kim | The user wants to be called Jo
Anna wohnt in Berlin | Anna wohnt in München
Anna wohnt in Berlin | Anna ist nach Köln gezogen
Ben arbeitet bei Siemens | Ben arbeitet bei Bosch
Ben isst Fleisch | Ben isst kein Fleisch
Ben trinkt Kaffee | Ben trinkt nicht mehr Kaffee
Clara mag Oliven | Clara hasst Oliven
Claras Lieblingsfarbe ist Blau | Claras Lieblingsfarbe ist Grün
Clara ist 31 Jahre alt | Clara ist 32 Jahre alt
Clara ist mit Ben verheiratet | Clara ist mit Tom verheiratet
Clara mange de la viande | Clara ne mange plus de viande
Clara aime le fromage | Clara n'aime pas le fromage
Ben come carne | Ben no come carne
Ben bebe café | Ben ya no bebe café
Анна пьёт кофе | Анна больше не пьёт кофе
Бен ест мясо | Бен не ест мясо
安娜喝咖啡 | 安娜不喝咖啡
"""

RELATED = """
Anna likes tea | Anna likes coffee
Anna likes tea | Anna likes green tea
Anna has a dog | Anna has a cat
Anna has 2 cats | Anna has 3 cats
Anna's sister lives in Rome | Anna lives in Rome
Anna's brother is a nurse | Anna's brothers are nurses
Anna loves Ben | Ben loves Anna
Anna is older than Ben | Ben is older than Anna
Anna lives in Berlin | Anna lived in Munich
Anna lives in Berlin | Anna wants to live in Rome
Anna works at Siemens | Anna worked at Bosch
Anna works at Siemens | Anna worked at Siemens
Anna met Ben in Rome | Anna met Tom in Rome
Ben ran 5 km | Ben ran 10 km
Ben ran 5 km on Monday | Ben ran 5 km on Tuesday
Ben takes the train from Berlin to Munich | Ben takes the train from Munich to Berlin
Clara uses C++ | Clara uses C#
Clara uses C | Clara uses C++
Clara paid $1.50 | Clara paid $150
The build takes 1.2 minutes | The build takes 12 minutes
Clara drinks coffee with sugar | Clara drinks coffee without sugar
Clara runs before lunch | Clara runs after lunch
Clara's dog is called Rex | Clara's dog is called Bello
Clara's sister is called Mia | Clara's sister is called Lena
Clara always drinks tea | Clara sometimes drinks tea
Clara speaks French | Clara speaks Italian
Clara plays the violin | Clara plays the piano
Dora is a teacher | Dora has a teacher
Dora's mother is a nurse | Dora's mother is Turkish
Dora promised to call Ben | Dora promised to call Tom
Dora plans to visit Oslo in May | Dora plans to visit Oslo in June
The user prefers dark mode in the editor | The user prefers dark mode in the terminal
The user is allergic to peanuts | The user is allergic to penicillin
The user wants to learn Spanish | The user wants to learn Italian
Ben lives in Berlin | Clara lives in Berlin
Ben lives in Berlin | Ben lives in Berlin Kreuzberg
Ben's wife is a doctor | Ben's wife is a doctor in Bonn
Ben likes his boss | Ben likes her boss
The user has meetings at 9 | The user has meetings at 10
The user bought a red bike | The user bought a blue bike
Anna mag Tee | Anna mag Kaffee
Anna mag Katzen | Anna mag Hunde
Anna hat einen Hund | Anna hat eine Katze
Anna wohnt in Berlin | Annas Schwester wohnt in Berlin
Anna liebt Ben | Ben liebt Anna
Ben spricht Deutsch | Ben spricht Englisch
Ben fährt mit dem Zug nach Berlin | Ben fährt mit dem Bus nach Berlin
Ben hat zwei Katzen | Ben hat drei Katzen
Clara trinkt Kaffee mit Zucker | Clara trinkt Kaffee ohne Zucker
Anna aime le thé | Anna aime le café
Anna a un chat | Anna a un chien
Anna a un professeur | Anna est un professeur
Ben parle français | Ben parle italien
Ben a deux enfants | Ben a trois enfants
A Anna le gusta el té | A Anna le gusta el café
Anna tiene un perro | Anna tiene un gato
Ben habla francés | Ben habla inglés
Ben tiene dos hijos | Ben tiene tres hijos
Анна любит чай | Анна любит кофе
Бен говорит по-русски | Бен говорит по-немецки
У Анны есть кошка | У Анны есть собака
安娜喜欢茶 | 安娜喜欢咖啡
安娜有一只狗 | 安娜有一只猫
安娜有两个孩子 | 安娜有三个孩子
安娜会说法语 | 安娜会说德语
アンナはお茶が好きです | アンナはコーヒーが好きです
アンナは犬を飼っています | アンナは猫を飼っています
アンナはフランス語を話します | アンナはドイツ語を話します
"""

UNRELATED = """
Anna likes tea | Anna lives in Berlin
Anna likes tea | Ben was born in 1990
Anna has a dog | Anna works at Siemens
The user is allergic to peanuts | The user drives a Tesla
The user plays the piano | The user's sister moved to Vienna
Ben is married to Clara | Ben prefers dark chocolate
Ben ran 5 km | Ben's rent is 900 euros
Clara speaks French | Clara hates flying
Clara's birthday is 3 May | Clara is learning to sail
Dora promised to call Ben | Dora is a vegetarian
The user wants short answers | The user has two children
The deadline is on Friday | Anna's cat is called Minka
Anna trinkt Hafermilch | Anna arbeitet bei Siemens
Ben wohnt in Berlin | Ben hat zwei Katzen
Clara ist Lehrerin | Claras Bruder spielt Geige
Ben habla francés | Ben es alérgico a las nueces
Бен работает врачом | У Бена две кошки
用户对花生过敏 | 用户的妹妹是医生
"""


def pairs() -> list[tuple[str, str, str]]:
    """Label and two statements, in the order of the table."""
    listings = (
        ("same", SAME),
        ("paraphrased", PARAPHRASED),
        ("contradicts", CONTRADICTS),
        ("related", RELATED),
        ("unrelated", UNRELATED),
    )
    return [
        (label, *map(str.strip, line.split("|")))
        for label, listing in listings
        for line in listing.strip().splitlines()
    ]
