"""Dutch: states, questions, facts, requests for privacy, and what is taken back (X13)."""

from __future__ import annotations

import pytest

from engram.core.language.privacy import reference
from engram.core.language.retraction import withdrawals
from engram.core.language.states import state_asked_for, states
from tests.unit.language_tables import facts, line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hoi, ik ben Femke en ik woon in Utrecht.", "user home: utrecht"),
        ("Hallo, ik heet Bram en woon in Gent.", "user name: bram, user home: gent"),
        ("Mijn zus Eva woont in Zwolle.", "user zus eva home: zwolle"),
        ("Ik ben vorige week naar Haarlem verhuisd.", "+user home: haarlem"),
        ("Ik ben verhuisd naar Leiden.", "+user home: leiden"),
        ("We zijn van Breda naar Tilburg verhuisd.", "+user home: tilburg"),
        ("Vorige week zijn we naar Delft verhuisd.", "+user home: delft"),
        ("Nu woon ik in Assen.", "+user home: assen"),
        (
            "Ik werk als verpleegkundige bij het UMC.",
            "user job: verpleegkundige, user employer: umc",
        ),
        ("Ik werk bij Philips.", "user employer: philips"),
        ("Ik heb ontslag genomen.", "-user employer, -user job"),
        ("Ik ben ontslagen.", "-user employer, -user job"),
        ("Ik werk niet meer bij de Rabobank.", "-user employer: rabobank"),
        ("Tom en ik zijn uit elkaar.", "-user partner: tom"),
        ("Ik heb het uitgemaakt met Tom.", "-user partner: tom"),
        ("Het is uit tussen Tom en mij.", "-user partner: tom"),
        ("Tom heeft me verlaten.", "-user partner: tom"),
        ("Onze hond Bello is overleden.", "-user hond bello alive"),
        ("Onze hond is gisteren doodgegaan.", "-user hond alive"),
        ("We hebben onze kat moeten laten inslapen.", "-user kat alive"),
        ("Ik hou niet meer van jazz.", "-user like: jazz"),
        ("Ik lust geen koffie meer.", "-user like: koffie"),
        ("Ik eet geen vlees meer.", "-user eats: vlees"),
        ("Ik ben gestopt met roken.", "-user habit: roken"),
        ("Onthoud dat ik in Gent woon.", "user home: gent"),
        ("Mijn lievelingskleur is groen.", "user favourite kleur: groen"),
        ("Mijn nummer is nu 06 12345678.", "+user phone: 06 12345678"),
        ("De huur is gestegen naar 950 euro.", "+huur figure: 950 euro"),
        ("Ik ben allergisch voor noten.", "user allergy: noten"),
        ("Ik hou van pizza.", "user like: pizza"),
        ("Ik vind pizza lekker.", "user like: pizza"),
        ("Ik heb een kat die Minoes heet.", "user pet: kat minoes"),
        ("Mijn man heet Ruud.", "user partner: ruud"),
        ("Ik kom uit Groningen.", "user origin: groningen"),
        ("Ik ben 34 jaar.", "user age: 34"),
        ("Wij wonen in Mechelen.", "user home: mechelen"),
        ("Sinds maart woon ik in Arnhem.", "user home: arnhem"),
        ("Mijn broer is naar Berlijn verhuisd.", "+user broer home: berlijn"),
        ("We zijn in Haarlem gaan wonen.", "+user home: haarlem"),
        ("Ik woon met mijn vriendin in Nijmegen.", "user home: nijmegen"),
        ("Ik ben begonnen bij ASML.", "+user employer: asml"),
        ("Ik heb een nieuwe baan bij KLM.", "+user employer: klm"),
        ("Ik ben aangenomen bij de NS.", "+user employer: ns"),
        ("Ik heb mijn baan opgezegd.", "-user employer, -user job"),
        ("Ik heb ontslag genomen bij Shell.", "-user employer: shell"),
        (
            "Mijn moeder is met pensioen gegaan.",
            "-user moeder employer, -user moeder job",
        ),
        ("Ik ben leraar.", "user job: leraar"),
        ("Ik werk als timmerman.", "user job: timmerman"),
        ("Ik ben geen kok meer.", "-user job: kok"),
        ("Mijn vader is overleden.", "-user vader alive"),
        ("Mijn oma is vorige week overleden.", "-user oma alive"),
        ("Ik heb het met Sanne uitgemaakt.", "-user partner: sanne"),
        ("Ik ben van Sanne gescheiden.", "-user partner: sanne"),
        ("Sanne en ik zijn getrouwd.", "+user partner: sanne"),
        ("Ik ben getrouwd met Joost.", "user partner: joost"),
        ("Ik ben weer vrijgezel.", "-user partner"),
        ("Joost is niet meer mijn vriend.", "-user partner: joost"),
        ("Mijn nieuwe baas heet De Wit.", "+user role baas: wit"),
        ("Mijn vriendin heet Lotte.", "user partner: lotte"),
        ("Mijn zoon heet Sem.", "user kin zoon: sem"),
        ("Ik vind jazz niet meer leuk.", "-user like: jazz"),
        ("Mijn vrouw drinkt geen koffie meer.", "-user vrouw eats: koffie"),
        ("Ik ben veganist geworden.", "+user diet: veganist"),
        ("Ik ben vegetariër.", "user diet: vegetariër"),
        ("Ik ben gisteren 40 geworden.", "+user age: 40"),
        ("Ik ben op 3 mei jarig.", "user birthday: 3 mei"),
        (
            "De vergadering is verplaatst naar donderdag.",
            "+vergadering date: donderdag",
        ),
        ("Het concert is afgelast.", "-concert date"),
        ("Het abonnement kost 39 euro.", "abonnement figure: 39 euro"),
        ("We hebben een kat geadopteerd.", "+user pet: kat"),
        ("Ik heb mijn auto verkocht.", "-user car"),
        ("Ik ben niet meer allergisch voor aardbeien.", "-user allergy: aardbeien"),
        ("Mijn favoriete zanger is Boudewijn.", "user favourite zanger: boudewijn"),
        ("Ik rook niet meer.", "-user habit: rook"),
        ("Eindelijk ben ik naar Deventer verhuisd!", "+user home: deventer"),
        ("Sinds gisteren woon ik in Leuven.", "user home: leuven"),
        ("We wonen nu in Hoorn.", "+user home: hoorn"),
        ("Mijn vriend en ik zijn uit elkaar gegaan.", "-user partner"),
        ("Het is uit met Daan.", "-user partner: daan"),
        ("Onze poes Saar is vannacht gestorven.", "-user poes saar alive"),
        ("Helaas is mijn opa overleden.", "-user opa alive"),
        ("Ze hebben me ontslagen bij Albert Heijn.", "-user employer: albert heijn"),
        ("Ik werk sinds maandag bij Bol.", "+user employer: bol"),
        ("Ik heb bij ING ontslag genomen.", "-user employer: ing"),
        ("Ik vind voetbal niet meer leuk.", "-user like: voetbal"),
        ("Ik eet geen zuivel meer.", "-user eats: zuivel"),
        ("Ik ben gestopt met roken!", "-user habit: roken"),
        ("Mijn nieuwe nummer is 06 99887766.", "+user phone: 06 99887766"),
        ("Ik ben gisteren 30 geworden.", "+user age: 30"),
        ("De hypotheek is gedaald naar 640 euro.", "+hypotheek figure: 640 euro"),
    ],
)
def test_a_statement_in_dutch_gives_its_state(text: str, expected: str) -> None:
    assert ", ".join(map(line, states(text))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Ik wil naar Utrecht verhuizen.",
        "Ik zou graag in Gent wonen.",
        "Als ik naar Rome verhuis, laat ik het weten.",
        "Misschien verhuis ik naar Leiden.",
        "Ik ben in 2012 naar Amsterdam verhuisd.",
        "Als kind ben ik naar Zwolle verhuisd.",
        "Tien jaar geleden ben ik naar Breda verhuisd.",
        "We zijn verhuisd naar Slack.",
        "Ik ben naar boven verhuisd.",
        "Hij woont in Rome.",
        "Ze woont in Assen.",
        "Waar woon je nu?",
        "Mijn collega zegt dat hij in Delft woont.",
        "Ik heb gedroomd dat ik in Parijs woonde.",
        "Ik woonde in Almere.",
        "Ik ben niet naar Rome verhuisd.",
        "Ik ben bijna naar Rome verhuisd.",
        "Ik woon in een flat.",
        "Ik woon in het centrum.",
        "Ik woon samen.",
        "Ik werk thuis.",
        "Ik werk bij een bank.",
        "Ik werk te veel.",
        "Ik wil ontslag nemen.",
        "Ik ben ontslagen uit het ziekenhuis.",
        "Ik heb mijn huur opgezegd.",
        "Ik heb de trein gemist.",
        "Ik ben mijn sleutels verloren.",
        "Ik heb mijn werk laten liggen.",
        "Tom heeft me een bericht gestuurd.",
        "Tom heeft het huis verlaten.",
        "We zijn uit elkaar gegroeid.",
        "Het is uit de hand gelopen.",
        "Mijn telefoon is dood.",
        "Ik lag dood van het lachen.",
        "De batterij is dood.",
        "Mijn oma is overleden toen ik klein was.",
        "Ik eet op vrijdag geen vlees.",
        "Ik drink vandaag geen wijn.",
        "Ik hou er niet van als het regent.",
        "Ik hou niet meer van die manier van doen.",
        "Ik ben gestopt met huilen.",
        "Ik ben om zes uur gestopt met werken.",
        "Ik ben verkouden geworden.",
        "De koorts is gestegen.",
        "Mijn baas is aardig.",
        "Mijn zus is lief.",
        "Ik denk dat ik dicht bij zee woon.",
        "Stel dat ik in Tokio woon.",
        "Mijn broer wil in Londen wonen.",
        "Wie woont er in Gent?",
        "Anna is overgestapt naar ING.",
        "In de film verhuist ze naar Parijs.",
        "Ik ben moe.",
        "Ik ben klaar.",
        "Mijn vriend is ziek.",
        "Ik ben gek geworden.",
        "Ik ben naar huis gegaan.",
        "Ben je naar Deventer verhuisd?",
        "Mijn nicht wilde naar Deventer verhuizen.",
        "In 1998 verhuisde ik naar Deventer.",
        "Ze zeggen dat ik naar Deventer verhuis.",
        "Mijn laptop is dood.",
        "Met kerst eet ik geen vis.",
        "Ik ben gisteren vroeg gestopt met werken.",
        "Ik ben mijn stem kwijt.",
        "We zijn overgestapt op Teams.",
        "Daan heeft me de sleutels gegeven.",
        "Vanavond drink ik geen bier.",
        "Als ik mijn baan verlies, verhuis ik.",
        "Ik werkte bij Shell.",
        "Ik weet niet waar ik woon, wat een chaos!",
    ],
)
def test_what_dutch_does_not_assert_gives_no_state(text: str) -> None:
    assert states(text) == ()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Waar woon ik?", "user home"),
        ("Waar woon ik nu?", "user home"),
        ("In welke stad woon ik?", "user home"),
        ("Waar woont mijn zus?", "user zus home"),
        ("Hoe heet ik?", "user name"),
        ("Wie ben ik?", "user name"),
        ("Wat is mijn naam?", "user name"),
        ("Hoe heet mijn man?", "user partner"),
        ("Wie is mijn baas?", "user role baas"),
        ("Hoe oud ben ik?", "user age"),
        ("Wat doe ik voor werk?", "user job"),
        ("Waar werk ik?", "user employer"),
        ("Wat is mijn telefoonnummer?", "user phone"),
        ("Wanneer ben ik jarig?", "user birthday"),
        ("Wat is mijn lievelingskleur?", "user favourite kleur"),
        ("Waar ben ik allergisch voor?", "user allergy"),
        ("Waar kom ik vandaan?", "user origin"),
        ("Weet je nog waar ik woon?", "user home"),
        ("Hoe heet mijn hond?", "user pet"),
        ("Hoe hoog is de huur?", "huur figure"),
    ],
)
def test_a_question_in_dutch_asks_for_a_state(question: str, expected: str) -> None:
    found = state_asked_for(question)
    assert found
    assert line(found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Hoi, ik ben Femke en ik woon in Utrecht.",
            "De gebruiker heet Femke. / De gebruiker woont in Utrecht.",
        ),
        (
            "Hallo, ik heet Bram en woon in Gent.",
            "De gebruiker heet Bram. / De gebruiker woont in Gent.",
        ),
        (
            "Mijn zus Eva woont in Zwolle.",
            "De zus van de gebruiker, Eva, woont in Zwolle.",
        ),
        (
            "Ik ben vorige week naar Haarlem verhuisd.",
            "De gebruiker is vorige week naar Haarlem verhuisd (2026-11-09/2026-11-15).",
        ),
        ("Ik ben verhuisd naar Leiden.", "De gebruiker is verhuisd naar Leiden."),
        (
            "We zijn van Breda naar Tilburg verhuisd.",
            "De gebruiker is van Breda naar Tilburg verhuisd.",
        ),
        (
            "Vorige week zijn we naar Delft verhuisd.",
            "De gebruiker is naar Delft verhuisd (2026-11-09/2026-11-15).",
        ),
        ("Nu woon ik in Assen.", "De gebruiker woont nu in Assen."),
        (
            "Ik werk als verpleegkundige bij het UMC.",
            "De gebruiker werkt als verpleegkundige bij het UMC.",
        ),
        ("Ik werk bij Philips.", "De gebruiker werkt bij Philips."),
        ("Ik heb ontslag genomen.", "De gebruiker heeft ontslag genomen."),
        ("Ik ben ontslagen.", "De gebruiker is ontslagen."),
        (
            "Ik werk niet meer bij de Rabobank.",
            "De gebruiker werkt niet meer bij de Rabobank.",
        ),
        ("Tom en ik zijn uit elkaar.", "De gebruiker en Tom zijn uit elkaar."),
        (
            "Ik heb het uitgemaakt met Tom.",
            "De gebruiker heeft het uitgemaakt met Tom.",
        ),
        ("Het is uit tussen Tom en mij.", "Het is uit tussen Tom en de gebruiker."),
        ("Tom heeft me verlaten.", "Tom heeft de gebruiker verlaten."),
        (
            "Onze hond Bello is overleden.",
            "De hond van de gebruiker, Bello, is overleden.",
        ),
        (
            "Onze hond is gisteren doodgegaan.",
            "De hond van de gebruiker is gisteren doodgegaan (2026-11-20).",
        ),
        (
            "We hebben onze kat moeten laten inslapen.",
            "De gebruiker heeft de kat moeten laten inslapen.",
        ),
        ("Ik hou niet meer van jazz.", "De gebruiker houdt niet meer van jazz."),
        ("Ik lust geen koffie meer.", "De gebruiker lust geen koffie meer."),
        ("Ik eet geen vlees meer.", "De gebruiker eet geen vlees meer."),
        ("Ik ben gestopt met roken.", "De gebruiker is gestopt met roken."),
        (
            "Onthoud dat de sleutel onder de mat ligt.",
            "De gebruiker vraagt te onthouden dat de sleutel onder de mat ligt.",
        ),
        ("Onthoud dat ik in Gent woon.", "De gebruiker woont in Gent."),
        (
            "Onthoud: ik vertrek maandag naar Rome.",
            "De gebruiker vraagt te onthouden dat ik vertrek maandag naar Rome.",
        ),
        (
            "Mijn lievelingskleur is groen.",
            "De lievelingskleur van de gebruiker is groen.",
        ),
        (
            "Mijn nummer is nu 06 12345678.",
            "Het nummer van de gebruiker is nu 06 12345678.",
        ),
        ("De huur is gestegen naar 950 euro.", "De huur is gestegen naar 950 euro."),
        ("Vertel het aan niemand, maar ik ben zwanger.", "De gebruiker is zwanger."),
        ("Ik ben allergisch voor noten.", "De gebruiker is allergisch voor noten."),
        ("Ik hou van pizza.", "De gebruiker houdt van pizza."),
        ("Ik vind pizza lekker.", "De gebruiker vindt pizza lekker."),
        (
            "Ik heb een kat die Minoes heet.",
            "De gebruiker heeft een kat die Minoes heet.",
        ),
        ("Mijn man heet Ruud.", "De man van de gebruiker heet Ruud."),
        (
            "Ik moet morgen de tandarts bellen.",
            "De gebruiker moet morgen de tandarts bellen (2026-11-22).",
        ),
        (
            "Herinner me eraan om morgen de rekening te betalen.",
            "De gebruiker wil eraan herinnerd worden om morgen de rekening te betalen (2026-11-22).",
        ),
        ("Ik kom uit Groningen.", "De gebruiker komt uit Groningen."),
        ("Ik ben 34 jaar.", "De gebruiker is 34 jaar."),
    ],
)
def test_dutch_gives_facts_about_the_user(text: str, expected: str) -> None:
    assert " / ".join(facts(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dit blijft tussen ons: Marta is zwanger.", "itself"),
        ("Vertel het aan niemand, maar ik neem ontslag.", "itself"),
        ("Zeg het niet tegen Tom.", "before"),
        ("Vertel dit niet door.", "before"),
        ("Mag ik je een geheim vertellen?", "after"),
        ("Onder ons gezegd: mijn baas is vervelend.", "itself"),
        ("Hou dit voor je.", "before"),
        ("Niemand mag dit weten.", "before"),
        ("Tussen ons is niets gebeurd.", ""),
        ("Het geheim van de soep is ui.", ""),
        ("Is het een geheim?", ""),
        ("Zeg niet dat het regent!", ""),
        ("Niemand weet het zeker.", ""),
        ("Er zit een muur tussen ons en de buren.", ""),
    ],
)
def test_a_request_for_privacy_in_dutch(text: str, expected: str) -> None:
    assert reference(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Grapje!", "untrue"),
        ("Ik maakte maar een grapje.", "untrue"),
        ("Nee hoor, dat was maar een grap.", "untrue"),
        ("Ik hou je voor de gek.", "untrue"),
        ("Vergeet wat ik net zei.", "forget"),
        ("Vergeet wat ik over Pieter heb verteld.", "forget Pieter"),
        ("Kun je mijn oude adres vergeten?", "forget adres"),
        ("Wis alles over Joke.", "forget Joke"),
        ("Tom maakt altijd grapjes.", ""),
        ("Vergeet de melk niet!", ""),
        ("Ik ben mijn sleutels vergeten.", ""),
        ("Maak je een grapje?", ""),
        ("Dat is geen grap.", ""),
        ("Ik maak geen grapje.", ""),
    ],
)
def test_what_is_taken_back_in_dutch(text: str, expected: str) -> None:
    found = [f"{one.kind} {one.named}".strip() for one in withdrawals(text)]
    assert ", ".join(found) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Tom en ik zijn uit elkaar, maar we zijn weer samen.",
        "Ik ben naar Leiden verhuisd, maar ik ben teruggekomen.",
    ],
)
def test_what_did_not_last_in_dutch_gives_no_fact(text: str) -> None:
    assert facts(text) == []
