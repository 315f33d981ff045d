"""Italian: states, questions, facts, requests for privacy, and what is taken back (X13)."""

from __future__ import annotations

import pytest

from engram.core.language.privacy import reference
from engram.core.language.retraction import withdrawals
from engram.core.language.states import state_asked_for, states
from tests.unit.language_tables import facts, line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Ciao, mi chiamo Lucia e vivo a Bologna.",
            "user name: lucia, user home: bologna",
        ),
        ("Mia sorella Anna vive a Lecce.", "user sorella anna home: lecce"),
        (
            "Mia sorella Anna vive a Lecce con due gatti.",
            "user sorella anna home: lecce",
        ),
        ("Mi sono trasferita a Torino la settimana scorsa.", "+user home: torino"),
        ("Ci siamo trasferiti da Milano a Genova.", "+user home: genova"),
        (
            "Lavoro come infermiera all'ospedale Niguarda.",
            "user job: infermiera, user employer: ospedale niguarda",
        ),
        ("Lavoro per Enel.", "user employer: enel"),
        ("Mi sono licenziata.", "-user employer, -user job"),
        ("Non lavoro più per la Fiat.", "-user employer: fiat"),
        ("Paolo e io ci siamo lasciati.", "-user partner: paolo"),
        ("Io e Paolo ci siamo lasciati.", "-user partner: paolo"),
        ("Ho rotto con Paolo.", "-user partner: paolo"),
        ("Marco mi ha lasciata.", "-user partner: marco"),
        ("Il mio ragazzo mi ha lasciata.", "-user partner"),
        ("È morto il nostro cane Fido.", "-user cane fido alive"),
        ("Il nostro cane è morto ieri.", "-user cane alive"),
        ("Non mi piace più il jazz.", "-user like: jazz"),
        ("Il caffè non mi piace più.", "-user like: caffè"),
        ("Non mangio più carne.", "-user eats: carne"),
        ("Ho smesso di fumare.", "-user habit: fumare"),
        ("Ricordati che vivo a Pisa.", "user home: pisa"),
        ("Il mio colore preferito è il verde.", "user favourite colore: verde"),
        ("Ora il mio numero è 333 1234567.", "+user phone: 333 1234567"),
        ("L'affitto è salito a 950 euro.", "+affitto figure: 950 euro"),
        ("Sono allergica alle noci.", "user allergy: noci"),
        ("Mi piace la pizza.", "user like: pizza"),
        ("Ho un cane che si chiama Birillo.", "user pet: cane birillo"),
        ("Mio marito si chiama Sandro.", "user partner: sandro"),
        ("Ho 34 anni.", "user age: 34"),
        ("Io abito a Trieste.", "user home: trieste"),
        ("Ora abitiamo in Svizzera.", "+user home: svizzera"),
        ("Viviamo a Monza con i miei suoceri.", "user home: monza"),
        ("Mio fratello si è trasferito a Berlino.", "+user fratello home: berlino"),
        ("Siamo andati a vivere a Cuneo.", "+user home: cuneo"),
        ("Ieri abbiamo traslocato a Padova.", "+user home: padova"),
        ("Ho iniziato a lavorare per Ferrari.", "+user employer: ferrari"),
        ("Mi hanno assunta alla Barilla.", "+user employer: barilla"),
        ("Ho trovato lavoro alla Lavazza.", "+user employer: lavazza"),
        ("Sono stata licenziata.", "-user employer, -user job"),
        ("Mia madre è andata in pensione.", "-user madre employer, -user madre job"),
        ("Ho dato le dimissioni.", "-user employer, -user job"),
        ("Faccio il falegname.", "user job: falegname"),
        ("Sono insegnante.", "user job: insegnante"),
        ("Mio padre è morto.", "-user padre alive"),
        ("È mancata mia nonna.", "-user nonna alive"),
        ("Abbiamo dovuto sopprimere il nostro gatto.", "-user gatto alive"),
        ("Mi sono fidanzata con Luca.", "+user partner: luca"),
        ("Marta e io ci siamo sposati.", "+user partner: marta"),
        ("Sono sposato con Chiara.", "user partner: chiara"),
        ("Sono single.", "-user partner"),
        ("Luca non è più il mio ragazzo.", "-user partner: luca"),
        ("Il mio nuovo capo si chiama Ferri.", "+user role capo: ferri"),
        ("La mia ragazza si chiama Giulia.", "user partner: giulia"),
        ("Mio figlio si chiama Pietro.", "user kin figlio: pietro"),
        ("Non sopporto più il rumore.", "-user like: rumore"),
        ("Mia moglie non beve più caffè.", "-user moglie eats: caffè"),
        ("Sono diventata vegana.", "+user diet: vegana"),
        ("Sono vegetariano.", "user diet: vegetariano"),
        ("Ho compiuto 40 anni.", "+user age: 40"),
        ("Il mio compleanno è il 3 maggio.", "user birthday: 3 maggio"),
        ("La riunione è stata spostata a giovedì.", "+riunione date: giovedì"),
        ("Il concerto è stato annullato.", "-concerto date"),
        ("L'abbonamento costa 39 euro.", "abbonamento figure: 39 euro"),
        ("Abbiamo adottato un gatto di nome Pepe.", "+user pet: gatto pepe"),
        ("Ho venduto la macchina.", "-user car"),
        ("Non sono più allergico alle fragole.", "-user allergy: fragole"),
        ("Il mio cantante preferito è Battisti.", "user favourite cantante: battisti"),
        ("Finalmente mi sono trasferita a Lucca!", "+user home: lucca"),
        ("Da ieri abito a Brescia", "+user home: brescia"),
        ("Sto di casa a Sondrio.", "user home: sondrio"),
        ("Con Davide è finita.", "-user partner: davide"),
        ("Davide ed io ci siamo lasciati due giorni fa.", "-user partner: davide"),
        ("La nostra gatta Mimì è morta stanotte.", "-user gatta mimì alive"),
        ("Purtroppo mio nonno è venuto a mancare.", "-user nonno alive"),
        ("Mi hanno licenziato dalla Candy.", "-user employer: candy"),
        ("Da lunedì lavoro alla Barilla.", "+user employer: barilla"),
        ("Mi sono dimessa.", "-user employer, -user job"),
        ("Il calcio non mi piace più.", "-user like: calcio"),
        ("Ho smesso di mangiare latticini.", "-user eats: latticini"),
        ("Non fumo più da gennaio.", "-user habit: fumo"),
        ("Ho un nuovo numero: 348 5566778", "+user phone: 348 5566778"),
        ("Il mutuo è sceso a 640 euro.", "+mutuo figure: 640 euro"),
    ],
)
def test_a_statement_in_italian_gives_its_state(text: str, expected: str) -> None:
    assert ", ".join(map(line, states(text))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Vorrei trasferirmi a Torino.",
        "Se mi trasferisco a Roma, ti avviso.",
        "Forse mi trasferisco a Milano.",
        "Mi sono trasferita a Milano nel 2012.",
        "Da piccola mi sono trasferita a Bari.",
        "L'anno scorso mi sono trasferito a Parma per tre mesi.",
        "Ci siamo trasferiti in ufficio.",
        "Mi sono trasferito su Slack.",
        "Vive a Roma.",
        "Lui abita a Roma.",
        "Dove abiti adesso?",
        "Il mio collega dice che vive a Como.",
        "Ho sognato che vivevo a Parigi.",
        "Abitavo a Pescara.",
        "Non mi sono trasferito a Roma.",
        "Mi sono quasi trasferito a Roma.",
        "Vivo in affitto.",
        "Vivo di rendita.",
        "Vivo in centro.",
        "Lavoro da casa.",
        "Lavoro in banca.",
        "Lavoro troppo.",
        "Mi licenzio!",
        "Voglio licenziarmi.",
        "Ho perso il treno.",
        "Ho lasciato il lavoro a metà.",
        "Ho lasciato il cane da mia madre.",
        "Marco mi ha lasciato un messaggio.",
        "Il tram mi ha lasciata a piedi.",
        "Ci siamo lasciati alle spalle il peggio.",
        "Mi sono separata dal gruppo.",
        "Il mio telefono è morto.",
        "Sono morta dal ridere.",
        "La batteria è morta.",
        "Mia nonna è morta quando ero bambina.",
        "Abbiamo perso il cane al parco, poi è tornato.",
        "Non mangio carne il venerdì.",
        "Oggi non bevo vino.",
        "Non mi piace quando piove.",
        "Non mi piace più come prima.",
        "Ho smesso di piangere.",
        "Ho smesso di lavorare alle sei.",
        "Ho preso il raffreddore.",
        "La febbre è salita.",
        "È passato a trovarmi Luca.",
        "Il mio numero fortunato non te lo dico.",
        "Anna è passata da Enel.",
        "Il mio capo è contento.",
        "Mia sorella è simpatica.",
        "Credo di vivere a un passo dal mare.",
        "Immagina che io viva a Tokyo.",
        "Mio fratello vorrebbe vivere a Londra.",
        "Chi vive a Roma?",
        "Quasi quasi mi compro un cane.",
        "Andiamo a vivere insieme?",
        "Nel film lei si trasferisce a Parigi.",
        "Ti sei trasferito a Lucca?",
        "Mia cugina voleva trasferirsi a Lucca.",
        "Nel 1998 mi sono trasferito a Lucca.",
        "Dicono che mi trasferisco a Lucca.",
        "Il mio computer è morto.",
        "Non mangio pesce a Natale.",
        "Ho smesso di lavorare presto ieri.",
        "Ho perso la voce.",
        "Ci siamo lasciati il mare alle spalle.",
        "Davide mi ha lasciato le chiavi.",
        "Stasera non bevo birra.",
        "Se perdo il lavoro mi trasferisco.",
        "Lavoravo alla Fiat.",
        "Non so dove abito, che confusione!",
    ],
)
def test_what_italian_does_not_assert_gives_no_state(text: str) -> None:
    assert states(text) == ()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Dove abito?", "user home"),
        ("Dove vivo adesso?", "user home"),
        ("In che città vivo?", "user home"),
        ("Dove vive mia sorella?", "user sorella home"),
        ("Come mi chiamo?", "user name"),
        ("Chi sono?", "user name"),
        ("Come si chiama mio marito?", "user partner"),
        ("Chi è il mio dentista?", "user role dentista"),
        ("Quanti anni ho?", "user age"),
        ("Che lavoro faccio?", "user job"),
        ("Per chi lavoro?", "user employer"),
        ("Qual è il mio numero di telefono?", "user phone"),
        ("Quando è il mio compleanno?", "user birthday"),
        ("Qual è il mio colore preferito?", "user favourite colore"),
        ("A cosa sono allergica?", "user allergy"),
        ("Di dove sono?", "user origin"),
        ("Ti ricordi dove vivo?", "user home"),
        ("Come si chiama il mio cane?", "user pet"),
        ("Quanto è l'affitto?", "affitto figure"),
    ],
)
def test_a_question_in_italian_asks_for_a_state(question: str, expected: str) -> None:
    found = state_asked_for(question)
    assert found
    assert line(found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Ciao, mi chiamo Lucia e vivo a Bologna.",
            "La persona si chiama Lucia. / La persona vive a Bologna.",
        ),
        (
            "Mia sorella Anna vive a Lecce.",
            "La sorella della persona, Anna, vive a Lecce.",
        ),
        (
            "Mia sorella Anna vive a Lecce con due gatti.",
            "La sorella della persona, Anna, vive a Lecce con due gatti.",
        ),
        (
            "Mi sono trasferita a Torino la settimana scorsa.",
            "La persona si è trasferita a Torino la settimana scorsa (2026-11-09/2026-11-15).",
        ),
        (
            "Ci siamo trasferiti da Milano a Genova.",
            "La persona si è trasferita da Milano a Genova.",
        ),
        (
            "Lavoro come infermiera all'ospedale Niguarda.",
            "La persona lavora come infermiera all'ospedale Niguarda.",
        ),
        ("Lavoro per Enel.", "La persona lavora per Enel."),
        ("Mi sono licenziata.", "La persona si è licenziata."),
        ("Non lavoro più per la Fiat.", "La persona non lavora più per la Fiat."),
        ("Paolo e io ci siamo lasciati.", "La persona e Paolo si sono lasciati."),
        ("Io e Paolo ci siamo lasciati.", "La persona e Paolo si sono lasciati."),
        ("Ho rotto con Paolo.", "La persona ha rotto con Paolo."),
        ("Marco mi ha lasciata.", "Marco ha lasciato la persona."),
        (
            "Il mio ragazzo mi ha lasciata.",
            "Il ragazzo della persona ha lasciato la persona.",
        ),
        ("È morto il nostro cane Fido.", "Il cane della persona, Fido, è morto."),
        (
            "Il nostro cane è morto ieri.",
            "Il cane della persona è morto ieri (2026-11-20).",
        ),
        ("Non mi piace più il jazz.", "La persona: non le piace più il jazz."),
        ("Il caffè non mi piace più.", "La persona: non le piace più il caffè."),
        ("Non mangio più carne.", "La persona non mangia più carne."),
        ("Non mangio carne il venerdì.", "La persona non mangia carne il venerdì."),
        ("Ho smesso di fumare.", "La persona ha smesso di fumare."),
        ("Ricordati che la chiave è sotto il vaso.", "La chiave è sotto il vaso."),
        ("Ricordati che vivo a Pisa.", "La persona vive a Pisa."),
        (
            "Ricordati che parto lunedì per Roma.",
            "La persona chiede di ricordare: parto lunedì per Roma.",
        ),
        (
            "Il mio colore preferito è il verde.",
            "Il colore preferito della persona è il verde.",
        ),
        (
            "Ora il mio numero è 333 1234567.",
            "Il numero della persona è 333 1234567 ora.",
        ),
        ("L'affitto è salito a 950 euro.", "L'affitto è salito a 950 euro."),
        ("Sono allergica alle noci.", "La persona è allergica alle noci."),
        ("Mi piace la pizza.", "La persona: le piace la pizza."),
        (
            "Ho un cane che si chiama Birillo.",
            "La persona ha un cane che si chiama Birillo.",
        ),
        ("Mio marito si chiama Sandro.", "Il marito della persona si chiama Sandro."),
        (
            "Devo chiamare il dentista domani.",
            "La persona deve chiamare il dentista domani (2026-11-22).",
        ),
        (
            "Ti prometto di portarti il libro venerdì.",
            "La persona promette di portarti il libro venerdì.",
        ),
        (
            "Ricordami di pagare la bolletta domani.",
            "La persona vuole che le venga ricordato di pagare la bolletta domani (2026-11-22).",
        ),
        ("Sono di Napoli.", "La persona è di Napoli."),
        ("Ho 34 anni.", "La persona ha 34 anni."),
    ],
)
def test_italian_gives_facts_about_the_user(text: str, expected: str) -> None:
    assert " / ".join(facts(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Resta tra noi: Marta è incinta.", "itself"),
        ("Che resti tra noi, ma mi licenzio.", "itself"),
        ("Non dirlo a nessuno, ho vinto alla lotteria.", "itself"),
        ("Detto tra noi, il capo non mi piace.", "itself"),
        ("Posso confidarti un segreto?", "after"),
        ("Non dire niente a Marco della festa.", "itself"),
        ("Acqua in bocca: domani è la sorpresa.", "itself"),
        ("Tra noi c'è stato un malinteso.", ""),
        ("È un segreto?", "before"),
        ("La distanza tra noi e il mare è poca.", ""),
        ("Il segreto della carbonara è il guanciale.", ""),
        ("Non dirmi che piove!", ""),
        ("Non ho segreti.", ""),
    ],
)
def test_a_request_for_privacy_in_italian(text: str, expected: str) -> None:
    assert reference(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Scherzavo!", "untrue"),
        ("Stavo scherzando, dai.", "untrue"),
        ("Era solo uno scherzo.", "untrue"),
        ("Non è vero, ti prendo in giro.", "untrue"),
        ("Dimentica quello che ho detto.", "forget"),
        ("Dimentica quello che ti ho detto su Marco.", "forget Marco"),
        ("Per favore dimentica il mio vecchio indirizzo.", "forget mio indirizzo"),
        ("Puoi dimenticare il mio numero di telefono?", "forget mio numero telefono"),
        ("Cancella tutto quello che sai di Giulia.", "forget Giulia"),
        ("Marco scherza sempre.", ""),
        ("Non scherzo.", ""),
        ("Non dimenticare il latte!", ""),
        ("Ho dimenticato le chiavi.", ""),
        ("Stai scherzando?", ""),
        ("Il film era uno scherzo di cattivo gusto.", ""),
        ("Non è uno scherzo.", ""),
    ],
)
def test_what_is_taken_back_in_italian(text: str, expected: str) -> None:
    found = [f"{one.kind} {one.named}".strip() for one in withdrawals(text)]
    assert ", ".join(found) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Io e Paolo ci siamo lasciati, ma siamo tornati insieme.",
        "Mi sono trasferita a Torino, poi ho cambiato idea.",
    ],
)
def test_what_did_not_last_in_italian_gives_no_fact(text: str) -> None:
    assert facts(text) == []
