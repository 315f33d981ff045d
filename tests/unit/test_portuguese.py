"""Portuguese: states, questions, facts, requests for privacy, and what is taken back (X13)."""

from __future__ import annotations

import pytest

from engram.core.language.privacy import reference
from engram.core.language.retraction import withdrawals
from engram.core.language.states import state_asked_for, states
from tests.unit.language_tables import facts, line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Olá, chamo-me Inês e moro em Braga.", "user name: inês, user home: braga"),
        (
            "Oi, eu me chamo Thiago e moro no Recife.",
            "user name: thiago, user home: recife",
        ),
        ("A minha irmã Ana vive em Faro.", "user irmã ana home: faro"),
        ("Mudei-me para o Porto na semana passada.", "+user home: porto"),
        ("Me mudei para Curitiba.", "+user home: curitiba"),
        ("Mudei para São Paulo.", "+user home: são paulo"),
        ("A gente se mudou para Salvador.", "+user home: salvador"),
        ("Nos mudamos de Recife para Natal.", "+user home: natal"),
        (
            "Trabalho como enfermeira no Hospital de São João.",
            "user job: enfermeira, user employer: hospital são joão",
        ),
        ("Trabalho na Petrobras.", "user employer: petrobras"),
        ("Pedi demissão.", "-user employer, -user job"),
        ("Demiti-me.", "-user employer, -user job"),
        ("Já não trabalho na Galp.", "-user employer: galp"),
        ("Não trabalho mais na Vale.", "-user employer: vale"),
        ("O Pedro e eu terminámos.", "-user partner: pedro"),
        ("Eu e a Paula nos separamos.", "-user partner: paula"),
        ("Terminei com o Pedro.", "-user partner: pedro"),
        ("O Pedro deixou-me.", "-user partner: pedro"),
        ("Minha namorada me largou.", "-user partner"),
        ("Morreu o nosso cão Bolinha.", "-user cão bolinha alive"),
        ("Nosso cachorro morreu ontem.", "-user cachorro alive"),
        ("Já não gosto de jazz.", "-user like: jazz"),
        ("Não gosto mais de sushi.", "-user like: sushi"),
        ("Não como mais carne.", "-user eats: carne"),
        ("Deixei de fumar.", "-user habit: fumar"),
        ("Parei de fumar.", "-user habit: fumar"),
        ("A minha cor preferida é o verde.", "user favourite cor: verde"),
        ("Minha cor favorita agora é azul.", "+user favourite cor: azul"),
        ("Agora o meu número é 912 345 678.", "+user phone: 912 345 678"),
        ("Mudei de número, agora é 912 345 678.", "+user phone: 912 345 678"),
        ("A renda subiu para 950 euros.", "+renda figure: 950 euros"),
        ("O aluguel aumentou para 1.800.", "+aluguel figure: 1.800"),
        ("Sou alérgica a nozes.", "user allergy: nozes"),
        ("Gosto de pizza.", "user like: pizza"),
        ("Tenho um gato chamado Farrusco.", "user pet: gato farrusco"),
        ("O meu marido chama-se Rui.", "user partner: rui"),
        ("Tenho 34 anos.", "user age: 34"),
        ("Vivo em Coimbra.", "user home: coimbra"),
        ("Agora moramos em Florianópolis.", "+user home: florianópolis"),
        ("O meu irmão mudou-se para Berlim.", "+user irmão home: berlim"),
        ("Meu irmão se mudou pro Rio.", "+user irmão home: rio"),
        ("Fomos viver para Évora.", "+user home: évora"),
        ("Fui morar em Belo Horizonte.", "+user home: belo horizonte"),
        ("Comecei a trabalhar na Embraer.", "+user employer: embraer"),
        ("Fui contratada pela Sonae.", "+user employer: sonae"),
        ("Arranjei emprego na Bosch.", "+user employer: bosch"),
        ("Consegui um emprego no Nubank.", "+user employer: nubank"),
        ("Fui despedida.", "-user employer, -user job"),
        ("Fui demitido da Vale.", "-user employer: vale"),
        ("A minha mãe reformou-se.", "-user mãe employer, -user mãe job"),
        ("Me aposentei.", "-user employer, -user job"),
        ("Larguei o meu emprego.", "-user employer, -user job"),
        ("Sou professora.", "user job: professora"),
        ("Trabalho como motorista.", "user job: motorista"),
        ("O meu pai morreu.", "-user pai alive"),
        ("A minha avó faleceu na semana passada.", "-user avó alive"),
        ("Tivemos de abater o nosso gato.", "-user gato alive"),
        ("Comecei a namorar com o Tiago.", "+user partner: tiago"),
        ("A Joana e eu casámos.", "+user partner: joana"),
        ("Sou casado com a Rita.", "user partner: rita"),
        ("Estou solteira.", "-user partner"),
        ("O Tiago já não é meu namorado.", "-user partner: tiago"),
        ("A minha namorada chama-se Bia.", "user partner: bia"),
        ("O meu chefe se chama Duarte.", "user role chefe: duarte"),
        ("O meu filho chama-se Vasco.", "user kin filho: vasco"),
        ("Não aguento mais barulho.", "-user like: barulho"),
        ("A minha mulher já não bebe café.", "-user mulher eats: café"),
        ("Virei vegana.", "+user diet: vegana"),
        ("Sou vegetariano.", "user diet: vegetariano"),
        ("Fiz 40 anos.", "+user age: 40"),
        ("O meu aniversário é no dia 3 de maio.", "user birthday: 3 maio"),
        ("A reunião foi adiada para quinta.", "+reunião date: quinta"),
        ("O concerto foi cancelado.", "-concerto date"),
        ("Adotámos um gato chamado Pipoca.", "+user pet: gato pipoca"),
        ("Vendi o meu carro.", "-user car"),
        ("Já não sou alérgico a morangos.", "-user allergy: morangos"),
        ("Meu cantor preferido é o Caetano.", "user favourite cantor: caetano"),
        ("Deixei de comer açúcar.", "-user eats: açúcar"),
        ("Finalmente mudei-me para Setúbal!", "+user home: setúbal"),
        ("Tô morando em Manaus agora.", "+user home: manaus"),
        ("Acabei de me mudar pra Fortaleza.", "+user home: fortaleza"),
        ("Eu e o meu namorado acabámos.", "-user partner"),
        ("Terminei o namoro com a Renata.", "-user partner: renata"),
        ("A nossa gata Mimi morreu esta noite.", "-user gata mimi alive"),
        ("Infelizmente o meu avô faleceu.", "-user avô alive"),
        ("Fui mandado embora da Ambev.", "-user employer: ambev"),
        ("Desde segunda trabalho na Delta.", "+user employer: delta"),
        ("Pedi demissão do Itaú.", "-user employer: itaú"),
        ("Já não gosto de futebol.", "-user like: futebol"),
        ("Parei de comer glúten.", "-user eats: glúten"),
        ("Larguei o cigarro.", "-user habit: cigarro"),
        ("O meu novo número é 933 222 111.", "+user phone: 933 222 111"),
        ("Ontem fiz 30 anos.", "+user age: 30"),
        ("A prestação baixou para 640 euros.", "+prestação figure: 640 euros"),
    ],
)
def test_a_statement_in_portuguese_gives_its_state(text: str, expected: str) -> None:
    assert ", ".join(map(line, states(text))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Gostava de me mudar para o Porto.",
        "Queria morar em Curitiba.",
        "Se eu me mudar para Lisboa, aviso.",
        "Talvez me mude para Faro.",
        "Mudei-me para Lisboa em 2015.",
        "Me mudei para Recife há dez anos.",
        "Em criança mudei-me para Braga.",
        "Mudámos para o Slack.",
        "Mudei para o iPhone.",
        "Mudei de ideias.",
        "Mudei de roupa.",
        "Mora em Lisboa.",
        "Ele mora em Santos.",
        "Onde moras?",
        "O meu colega diz que vive em Aveiro.",
        "Sonhei que vivia em Paris.",
        "Morava em Olinda.",
        "Não me mudei para Roma.",
        "Quase me mudei para Roma.",
        "Moro em apartamento.",
        "Moro no centro.",
        "Vivo de rendas.",
        "Vivo em paz.",
        "Trabalho em casa.",
        "Trabalho num banco.",
        "Trabalho demais.",
        "Quero me demitir.",
        "Vou pedir demissão.",
        "Perdi o comboio.",
        "Perdi a cabeça.",
        "Deixei o trabalho a meio.",
        "Deixei o cão em casa da minha mãe.",
        "O Pedro deixou-me um recado.",
        "O autocarro deixou-me na rotunda.",
        "Terminei o livro.",
        "Terminei com dor de cabeça.",
        "Separei as roupas.",
        "O meu telemóvel morreu.",
        "Morri de rir.",
        "A bateria morreu.",
        "A minha avó morreu quando eu era pequena.",
        "Não como carne às sextas.",
        "Hoje não bebo vinho.",
        "Não gosto quando chove.",
        "Já não gosto tanto disso.",
        "Deixei de chorar.",
        "Parei de trabalhar às seis.",
        "Apanhei uma constipação.",
        "A febre subiu.",
        "O meu chefe é simpático.",
        "A minha irmã é linda.",
        "Acho que moro perto do mar.",
        "Imagina que eu moro em Tóquio.",
        "O meu irmão queria viver em Londres.",
        "Quem mora em Faro?",
        "A Ana passou para a Galp.",
        "No filme ela se muda para Paris.",
        "A gente mora junto?",
        "Mudaste-te para Setúbal?",
        "A minha prima queria mudar-se para Setúbal.",
        "Em 1998 mudei-me para Setúbal.",
        "Dizem que me mudo para Setúbal.",
        "O meu computador morreu.",
        "Não como peixe no Natal.",
        "Parei de trabalhar cedo ontem.",
        "Perdi a voz.",
        "Mudei para o modo escuro.",
        "O Davi me deixou as chaves.",
        "Hoje à noite não bebo cerveja.",
        "Se perder o emprego, mudo-me.",
        "Trabalhava na Galp.",
        "Não sei onde moro, que confusão!",
    ],
)
def test_what_portuguese_does_not_assert_gives_no_state(text: str) -> None:
    assert states(text) == ()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Onde moro?", "user home"),
        ("Onde é que eu vivo?", "user home"),
        ("Em que cidade moro?", "user home"),
        ("Onde mora a minha irmã?", "user irmã home"),
        ("Como me chamo?", "user name"),
        ("Quem sou eu?", "user name"),
        ("Qual é o meu nome?", "user name"),
        ("Como se chama o meu marido?", "user partner"),
        ("Qual o nome da minha irmã?", "user kin irmã"),
        ("Quem é o meu chefe?", "user role chefe"),
        ("Quantos anos tenho?", "user age"),
        ("Qual é a minha profissão?", "user job"),
        ("Onde trabalho?", "user employer"),
        ("Qual é o meu número de telefone?", "user phone"),
        ("Quando é o meu aniversário?", "user birthday"),
        ("Quando faço anos?", "user birthday"),
        ("Qual é a minha cor preferida?", "user favourite cor"),
        ("A que sou alérgica?", "user allergy"),
        ("De onde sou?", "user origin"),
        ("Você sabe onde eu moro?", "user home"),
        ("Como se chama o meu cão?", "user pet"),
        ("Quanto é a renda?", "renda figure"),
    ],
)
def test_a_question_in_portuguese_asks_for_a_state(
    question: str, expected: str
) -> None:
    found = state_asked_for(question)
    assert found
    assert line(found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Olá, chamo-me Inês e moro em Braga.",
            "A pessoa se chama Inês. / A pessoa mora em Braga.",
        ),
        (
            "Oi, eu me chamo Thiago e moro no Recife.",
            "A pessoa se chama Thiago. / A pessoa mora no Recife.",
        ),
        ("A minha irmã Ana vive em Faro.", "A irmã da pessoa, Ana, vive em Faro."),
        (
            "Mudei-me para o Porto na semana passada.",
            "A pessoa se mudou para o Porto na semana passada (2026-11-09/2026-11-15).",
        ),
        ("Me mudei para Curitiba.", "A pessoa se mudou para Curitiba."),
        ("Mudei para São Paulo.", "A pessoa se mudou para São Paulo."),
        ("A gente se mudou para Salvador.", "A pessoa se mudou para Salvador."),
        (
            "Nos mudamos de Recife para Natal.",
            "A pessoa se mudou de Recife para Natal.",
        ),
        (
            "Trabalho como enfermeira no Hospital de São João.",
            "A pessoa trabalha como enfermeira no Hospital de São João.",
        ),
        ("Trabalho na Petrobras.", "A pessoa trabalha na Petrobras."),
        ("Pedi demissão.", "A pessoa pediu demissão."),
        ("Demiti-me.", "A pessoa se demitiu."),
        ("Já não trabalho na Galp.", "A pessoa já não trabalha na Galp."),
        ("Não trabalho mais na Vale.", "A pessoa já não trabalha na Vale."),
        ("O Pedro e eu terminámos.", "A pessoa e Pedro terminaram."),
        ("Eu e a Paula nos separamos.", "A pessoa e Paula se separaram."),
        ("Terminei com o Pedro.", "A pessoa terminou com o Pedro."),
        ("O Pedro deixou-me.", "O Pedro deixou a pessoa."),
        ("Minha namorada me largou.", "A namorada da pessoa largou a pessoa."),
        ("Morreu o nosso cão Bolinha.", "O cão da pessoa, Bolinha, morreu."),
        (
            "Nosso cachorro morreu ontem.",
            "O cachorro da pessoa morreu ontem (2026-11-20).",
        ),
        ("Já não gosto de jazz.", "A pessoa já não gosta de jazz."),
        ("Não gosto mais de sushi.", "A pessoa já não gosta de sushi."),
        ("Não como mais carne.", "A pessoa não come mais carne."),
        ("Não como carne às sextas.", "A pessoa não come carne às sextas."),
        ("Deixei de fumar.", "A pessoa deixou de fumar."),
        ("Parei de fumar.", "A pessoa parou de fumar."),
        (
            "Lembra-te que a chave está debaixo do vaso.",
            "A chave está debaixo do vaso.",
        ),
        ("Lembre-se de que eu moro em Pisa.", "A pessoa mora em Pisa."),
        (
            "Lembra que viajo segunda para Roma.",
            "A pessoa pede para lembrar: viajo segunda para Roma.",
        ),
        ("A minha cor preferida é o verde.", "A cor preferida da pessoa é o verde."),
        ("Minha cor favorita agora é azul.", "A cor favorita da pessoa agora é azul."),
        (
            "Agora o meu número é 912 345 678.",
            "O número da pessoa é 912 345 678 agora.",
        ),
        (
            "Mudei de número, agora é 912 345 678.",
            "A pessoa mudou de número, agora é 912 345 678.",
        ),
        ("A renda subiu para 950 euros.", "A renda subiu para 950 euros."),
        ("O aluguel aumentou para 1.800.", "O aluguel aumentou para 1.800."),
        ("Sou alérgica a nozes.", "A pessoa é alérgica a nozes."),
        ("Gosto de pizza.", "A pessoa gosta de pizza."),
        (
            "Tenho um gato chamado Farrusco.",
            "A pessoa tem um gato que se chama Farrusco.",
        ),
        ("O meu marido chama-se Rui.", "O marido da pessoa se chama Rui."),
        (
            "Preciso ligar para o dentista amanhã.",
            "A pessoa precisa ligar para o dentista amanhã (2026-11-22).",
        ),
        (
            "Tenho de ligar ao dentista amanhã.",
            "A pessoa tem de ligar ao dentista amanhã (2026-11-22).",
        ),
        (
            "Lembra-me de pagar a conta amanhã.",
            "A pessoa quer que lhe lembrem de pagar a conta amanhã (2026-11-22).",
        ),
        ("Sou do Porto.", "A pessoa é do Porto."),
        ("Tenho 34 anos.", "A pessoa tem 34 anos."),
    ],
)
def test_portuguese_gives_facts_about_the_user(text: str, expected: str) -> None:
    assert " / ".join(facts(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fica entre nós: a Marta está grávida.", "itself"),
        ("Que isto fique só entre nós.", "before"),
        ("Não contes a ninguém, mas vou pedir demissão.", "itself"),
        ("Não conta pra ninguém, viu?", "before"),
        ("Posso te contar um segredo?", "after"),
        ("Cá entre nós, o chefe é chato.", "itself"),
        ("Não digas nada ao Pedro.", "before"),
        ("Entre nós há uma boa relação.", ""),
        ("O segredo do bolo é o limão.", ""),
        ("Não me digas que chove!", ""),
        ("Isto é segredo?", ""),
        ("Ele não conta nada a ninguém.", ""),
        ("Não guardo segredos.", ""),
    ],
)
def test_a_request_for_privacy_in_portuguese(text: str, expected: str) -> None:
    assert reference(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Brincadeira!", "untrue"),
        ("Estava a brincar.", "untrue"),
        ("Tô brincando com você.", "untrue"),
        ("Era só uma piada.", "untrue"),
        ("É mentira, inventei tudo.", "untrue"),
        ("Esquece o que eu disse.", "forget"),
        ("Esqueça o que te contei sobre o Pedro.", "forget Pedro"),
        ("Podes esquecer a minha morada antiga?", "forget minha morada"),
        ("Apaga tudo sobre a Joana.", "forget Joana"),
        ("O Pedro está brincando no parque.", ""),
        ("Não esqueças o leite!", ""),
        ("Esqueci as chaves.", ""),
        ("Estás a brincar?", ""),
        ("Não é brincadeira nenhuma.", ""),
        ("As crianças estão a brincar.", ""),
        ("Não estou a brincar.", ""),
    ],
)
def test_what_is_taken_back_in_portuguese(text: str, expected: str) -> None:
    found = [f"{one.kind} {one.named}".strip() for one in withdrawals(text)]
    assert ", ".join(found) == expected


@pytest.mark.parametrize(
    "text",
    [
        "O Pedro e eu terminámos, mas fizemos as pazes.",
        "Mudei-me para Faro, mas voltei.",
    ],
)
def test_what_did_not_last_in_portuguese_gives_no_fact(text: str) -> None:
    assert facts(text) == []
