"""What lasts about people: a table of cues per language for standing attributes, and
requests to remember (model §0.1).

A standing attribute is something about the user, or a person or an animal close to
them, that holds until something replaces it: name, home, work, study, family, health,
diet, birthday, contact, possession, account, how-to. The table recognises it by its
words alone and prefers to recognise too much: a moment that is kept costs a line in a
ranking, an allergy that is lost cannot be brought back. The tables are data: one
language and one attribute a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from engram.core.language.attributes import attribute
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ATTRIBUTES = (
    *(
        "name",
        "home",
        "work",
        "study",
        "family",
        "health",
        "diet",
        "birthday",
        "contact",
        "possession",
        "account",
    ),
    "how-to",
)
"""The standing attributes of law 1."""

_GROUPS = """
en kin    wife, husband, spouse, partner, girlfriend, boyfriend, fiance, fiancée, mother, father, mom, mum, dad
en kin    parents
en kin    son, sons, daughter, daughters, sister, sisters, brother, brothers, siblings, kid, kids, child, children
en kin    baby
en kin    twins, grandmother, grandfather, grandma, grandpa, aunt, uncle, cousin, cousins, nephew, niece, grandson
en kin    granddaughter, stepson, stepdaughter, godson, goddaughter, friend, neighbour, neighbor, boss, doctor
en kin    dentist
en kin    landlord, landlady, therapist, teacher, vet, mother-in-law, father-in-law, ex-husband, ex-wife, flatmate
en pet    dog, dogs, cat, cats, puppy, kitten, rabbit, hamster, parrot, bird, fish, turtle, tortoise, horse, pony
en pet    guinea pig, snake, budgie, canary, pet
en thing  car, house, flat, apartment, bike, bicycle, motorbike, motorcycle, boat, van, piano, guitar, violin, garden
en thing  caravan, cottage, laptop, camera, safe
en job    nurse, teacher, doctor, engineer, developer, programmer, designer, architect, lawyer, accountant, chef, cook
en job    baker, writer, author, journalist, translator, artist, painter, photographer, musician, student, professor
en job    researcher, scientist, psychologist, pharmacist, dentist, vet, paramedic, firefighter, police officer
en job    soldier
en job    pilot, driver, mechanic, electrician, plumber, carpenter, farmer, gardener, manager, consultant, librarian
en job    midwife, physiotherapist, surgeon, freelancer, social worker, waiter, waitress, hairdresser, economist
de kin    frau, mann, ehefrau, ehemann, partner, partnerin, freund, freundin, verlobte, verlobter, mutter, vater
de kin    eltern
de kin    mama, papa, sohn, söhne, tochter, töchter, schwester, schwestern, bruder, brüder, geschwister, kind, kinder
de kin    baby, oma, opa, grossmutter, grossvater, tante, onkel, cousin, cousine, neffe, nichte, enkel, enkelin
de kin    schwager, schwägerin, chef, chefin, nachbar, nachbarin, arzt, ärztin, hausarzt, hausärztin, zahnarzt
de kin    vermieter, vermieterin, lehrer, lehrerin, therapeut, therapeutin, ex-mann, ex-frau
de pet    hund, hündin, katze, katzen, kater, kaninchen, hamster, papagei, vogel, pferd, pony, schildkröte
de pet    meerschweinchen
fr kin    femme, mari, épouse, époux, compagne, compagnon, copine, copain, mère, père, maman, papa, parents, fils
fr kin    fille
fr kin    filles, soeur, soeurs, sœur, sœurs, frère, frères, enfant, enfants, bébé, grand-mère, grand-père, tante
fr kin    oncle
fr kin    cousin, cousine, neveu, nièce, ami, amie, voisin, voisine, chef, cheffe, patron, médecin, dentiste
fr pet    chien, chienne, chat, chatte, lapin, hamster, perroquet, oiseau, cheval, poney, tortue
es kin    mujer, esposa, marido, esposo, novia, novio, pareja, madre, padre, mamá, papá, padres, hijo, hijos, hija
es kin    hijas
es kin    hermana, hermanas, hermano, hermanos, niño, niña, bebé, abuela, abuelo, tía, tío, prima, primo, sobrino
es kin    sobrina
es kin    amigo, amiga, vecino, vecina, jefe, jefa, médico, médica, dentista
es pet    perro, perra, gato, gata, conejo, hámster, loro, pájaro, caballo, poni, tortuga
"""
"""Words that stand in one place of a cue: language, group, words."""

_TABLE = """
en name       name is, names are, is called, are called, is named, are named, goes by, nickname*, surname*, last name
en name       first name, middle name, maiden name, full name, pronouns, <pet> called, <pet> named, <kin> called
en name       <kin> named, wants to be called, prefers to be called
en home       lives, live in, live at, lived in, lived at, living in, living with, resides, residing, is based in
en home       moved to
en home       moved into, moved in with, moved back to, moved out, moved from, relocated, hometown*, home town
en home       home is
en home       comes from, is from, are from, grew up, native of, nationality, citizen*, landlord is, landlady is
en home       rents a
en work       works at, works for, works as, works in, works with, works from, work at, work for, worked at
en work       worked for
en work       worked as, working at, working for, working as, employ*, job is, new job, job title, job as, profession*
en work       occupation*, salary, retired, self-employed, unemployed, got hired, was hired, was promoted, quit
en work       resigned
en work       laid off, was fired, runs a company, company is, is a <job>, is an <job>, as a <job>, became a
en work       became an
en study      studies, studied, studying, learns, is learning, degree, graduated, student*, university, attends
en study      majors in
en study      majored in, phd, enrolled, apprentice*, thesis, goes to school, school is, speaks, mother tongue
en study      native language, first language
en family     <kin> is, <kin> are, <kin> was, <kin> has, <kin> died, has a <kin>, has an <kin>, has one <kin>
en family     has two <kin>, has three <kin>, has four <kin>, has five <kin>, has no <kin>, is the user's, married*
en family     marriage, is engaged, got engaged, divorce*, widow*, separated from, is dating, in a relationship
en family     gave birth
en family     expecting a baby, adopted, was born, were born, passed away, is dead, has died, godmother, godfather
en health     allerg*, intoleran*, diabet*, asthma*, epilep*, migraine*, blood type, blood group, blood pressure
en health     diagnos*
en health     medication*, medicine*, mg, insulin, inhaler, pacemaker, wheelchair, disab*, pregnan*, chronic*
en health     disease*
en health     syndrome, cancer, hiv, depress*, anxiety, adhd, autis*, dyslexi*, celiac*, coeliac*, epipen, vaccin*
en health     wears glasses, contact lenses, hearing aid, is blind, is deaf, colour-blind, color-blind, colourblind
en health     colorblind, surgery, therap*, sober, smoker, quit smoking, stopped smoking, stopped drinking, weighs
en health     tall
en health     arthritis, hypertension, eczema, insomnia, tinnitus, hay fever, panic attack*, penicillin, medically
en diet       vegan*, vegetarian*, pescatarian*, halal, kosher, gluten*, lactose*, does not eat, doesn't eat
en diet       do not eat
en diet       don't eat, cannot eat, can't eat, can not eat, never eats, does not drink, doesn't drink, never drinks
en diet       diet
en diet       diets, eats no, teetotal*, no longer eats, stopped eating
en birthday   birthday*, date of birth, birth date, birthdate, born in, born on, years old, year old, anniversary
en birthday   anniversaries, star sign
en contact    phone is, phone number*, mobile number*, mobile is, telephone*, landline, cell number, number is
en contact    e-mail is
en contact    e-mail address*, email is, email address*, address is, addresses are, emergency contact*, postcode
en contact    zip code
en contact    can be reached
en possession drives a, drives an, drives the, owns, own a, own the, has a <pet>, has an <pet>, has two <pet>
en possession <pet> is
en possession has three <pet>, has a <thing>, has an <thing>, bought a <thing>, bought the <thing>
en possession bought a new <thing>
en possession sold the <thing>, licence plate*, license plate*, number plate*, serial number*, moored, spare key*
en possession key is
en possession keys are, is kept, are kept, is stored, are stored, shoe size, ring size, wears size, size is, <pet> was
en account    wifi*, wi-fi*, ssid, router, password*, passcode*, passphrase*, pin is, pin code, gate code*, door code*
en account    code is, code for, username*, user name*, account*, login*, handle is, iban, policy number
en account    member number
en account    membership number, customer number, insurance number, tax number, tax id, social security, passport*
en how-to     how to, the way to, works by, step by step, steps are, recipe*, instruction*, procedure*
de name       name ist, name lautet, heisst, heissen, spitzname*, vorname*, nachname*, geburtsname*, mädchenname*
de name       namens
de home       wohnt, wohnen, wohnte, lebt in, lebt bei, lebt mit, leben in, lebte in, umgezogen, zog nach, gezogen
de home       kommt aus, stammt aus, aufgewachsen, heimatstadt, wohnort*, zuhause ist, staatsangehörigkeit
de home       nationalität
de work       arbeitet bei, arbeitet als, arbeitet für, arbeitet in, arbeitet an, arbeite bei, arbeite als, arbeitete
de work       angestellt*, arbeitgeber*, beruf*, ist von beruf, jobbt, gehalt, im ruhestand, rentner*, pensioniert
de work       selbstständig, selbständig, arbeitslos, gekündigt, befördert, neue stelle, neuen job
de study      studiert*, studium, lernt, ausbildung, lehre als, abschluss*, universität, uni, promotion, schülerin
de study      schüler
de study      geht in die schule, spricht, muttersprache, studentin, student, abitur
de family     <kin> ist, <kin> sind, <kin> heisst, <kin> hat, <kin> war, <kin> der person, <kin> des nutzers
de family     hat eine <kin>
de family     hat einen <kin>, hat ein <kin>, hat zwei <kin>, hat drei <kin>, hat vier <kin>, hat keine <kin>
de family     verheiratet
de family     geheiratet, hochzeitstag, verlobt, geschieden, scheidung, verwitwet, witwe*, getrennt von, ist gestorben
de family     verstorben, ist tot, geboren, adoptiert, schwanger
de health     allerg*, *allergie*, *unverträglich*, *intoleran*, diabet*, asthma*, epilep*, migräne*, blutgruppe*
de health     blutdruck*
de health     diagnos*, medikament*, tablette*, mg, insulin, rollstuhl*, behinder*, schwanger*, chronisch*, krankheit*
de health     erkrank*, syndrom*, krebs, depress*, angststörung*, adhs, autis*, legasthen*, zöliakie, geimpft
de health     impfung*
de health     brille, kontaktlinsen, hörgerät*, ist blind, ist taub, farbenblind, operation*, operiert, therap*
de health     raucher*
de health     wiegt, heuschnupfen, rheuma, bluthochdruck, herzschrittmacher, panikattacke*
de diet       vegan*, vegetari*, halal, koscher, gluten*, laktose*, isst kein*, isst nicht, isst nie, trinkt kein*
de diet       trinkt nicht, trinkt nie, diät*, verträgt kein*, mag kein fleisch
de birthday   geburtstag*, geburtsdatum, geboren, jahre alt, jahrestag*, sternzeichen
de contact    telefon*, handynummer*, nummer ist, e-mail*, email*, mailadresse*, adresse*, anschrift*, notfallkontakt*
de contact    postleitzahl, erreichbar unter
de possession fährt einen, fährt eine, fährt ein, besitzt, hat einen <pet>, hat eine <pet>, hat ein <pet>
de possession hat zwei <pet>
de possession <pet> der person, <pet> des nutzers, <pet> heisst, <pet> ist, hat ein auto, hat ein haus
de possession hat eine wohnung
de possession hat einen garten, hat ein boot, kennzeichen, seriennummer, schuhgrösse, konfektionsgrösse
de possession *schlüssel liegt
de possession *schlüssel ist, *schlüssel hängt, liegt unter, liegt in
de account    wlan*, wifi*, passwort*, kennwort*, pin ist, geheimzahl, türcode*, torcode*, code ist, code für
de account    benutzername*
de account    nutzername*, konto*, kontonummer, iban, versicherungsnummer, kundennummer, mitgliedsnummer, steuernummer
de account    steuer-id, reisepass*, personalausweis*
de how-to     anleitung*, rezept*, so geht, wie man, schritt für schritt, funktioniert so
fr name       s'appelle, s'appellent, nom est, prénom*, surnom*, nom de famille, nom de jeune fille, nommé, nommée
fr home       habite*, vit à, vit en, vit au, vit avec, vivent à, déménag*, vient de, originaire de, a grandi, née à
fr home       né à
fr home       adresse*, nationalité, loge à, s'est installé*
fr work       travaille*, métier*, profession*, emploi*, employeur*, poste de, salaire, retraité*, à la retraite
fr work       chômage
fr work       indépendant*, embauché*, licencié*, démissionné, est infirmier, est infirmière, est professeur
fr work       est médecin
fr study      étudie*, étudiant*, apprend, université, école, diplôme*, licence, master, doctorat, thèse, parle
fr study      langue
fr study      maternelle, apprenti*, lycée
fr family     <kin> est, <kin> sont, <kin> s'appelle, <kin> a, a une <kin>, a un <kin>, a deux <kin>, a trois <kin>
fr family     <kin> de la personne, <kin> de l'utilisateur, marié*, mariage, fiancé*, divorc*, veuf, veuve, séparé*
fr family     décédé*
fr family     est mort, est morte, enceinte, adopté*, est né, est née, anniversaire de mariage
fr health     allerg*, intoléran*, diabét*, diabète, asthm*, épilep*, migraine*, groupe sanguin, tension, diagnost*
fr health     médicament*, comprimé*, mg, insuline, fauteuil roulant, handicap*, enceinte, chronique*, maladie*
fr health     syndrome
fr health     cancer, dépress*, anxiété, tdah, autis*, dyslexi*, coeliaque, cœliaque, vaccin*, lunettes, lentilles
fr health     opéré*
fr health     aveugle, sourd*, opération*, thérap*, fumeur, fumeuse, pèse, mesure, rhume des foins, pénicilline
fr diet       végan*, végétalien*, végétarien*, halal, casher, kasher, gluten*, lactose*, ne mange pas, ne mange plus
fr diet       ne mange jamais, ne boit pas, ne boit plus, régime*
fr birthday   anniversaire*, date de naissance, née le, né le, née en, né en, ans
fr contact    téléphone*, numéro*, portable est, e-mail*, email*, courriel*, code postal, joignable
fr possession possède*, conduit une, a un <pet>, a une <pet>, a deux <pet>, <pet> s'appelle, <pet> de la personne
fr possession <pet> est
fr possession a une voiture, a une maison, a un appartement, a un jardin, a un bateau, plaque d'immatriculation
fr possession numéro de série, pointure, clé est, clés sont, clé se trouve, la clé, les clés, est rangé*
fr account    wifi*, wi-fi*, mot de passe, mots de passe, code pin, code est, code de, code du, digicode, identifiant*
fr account    nom d'utilisateur, compte*, iban, numéro d'assuré, passeport*, box internet
fr how-to     comment faire, mode d'emploi, recette*, étape par étape, instructions, pour réinitialiser
es name       se llama, se llaman, nombre es, apellido*, apodo*, llamado, llamada, nombre completo
es home       vive en, vive con, vivo en, viven en, vivía en, reside*, se mudó, mudado, mudanza, es de, viene de
es home       creció
es home       nacid*, nació, dirección*, nacionalidad, ciudad natal
es work       trabaja*, profesión, oficio, empleo*, empleador*, puesto de, sueldo, salario, jubilad*, autónom*
es work       despedid*
es work       en paro, contratad*, renunció, es enfermera, es enfermero, es médico, es médica, es profesor*
es study      estudia*, estudió, aprende, universidad, carrera, título*, grado en, doctorado, tesis, alumn*, habla
es study      lengua materna, instituto, escuela
es family     <kin> es, <kin> son, <kin> se llama, <kin> tiene, <kin> de la persona, <kin> del usuario
es family     tiene una <kin>
es family     tiene un <kin>, tiene dos <kin>, tiene tres <kin>, casad*, se casó, boda, prometid*, divorci*, viud*
es family     separad*, murió, fallec*, embarazad*, adoptó, adoptad*, aniversario*
es health     alérgi*, alergia*, intoleran*, diabet*, diabétic*, asma*, asmátic*, epilep*, migraña*, grupo sanguíneo
es health     tipo de sangre, tensión arterial, presión arterial, diagnostic*, medicament*, medicación, pastilla*, mg
es health     insulina, silla de ruedas, discapaci*, embaraz*, crónic*, enfermedad*, síndrome, cáncer, depres*
es health     ansiedad
es health     tdah, autis*, dislexi*, celíac*, celiac*, vacun*, gafas, lentillas, audífono*, es ciego, es ciega, sord*
es health     operación*, operad*, terap*, fumador*, pesa, mide, penicilina
es diet       vegan*, vegetarian*, halal, kosher, gluten*, lactosa*, no come, ya no come, nunca come, no bebe, dieta*
es birthday   cumpleaños, fecha de nacimiento, nació el, nacid*, años, aniversario*
es contact    teléfono*, móvil es, número*, correo*, e-mail*, email*, código postal, contacto de emergencia
es possession tiene un <pet>, tiene una <pet>, tiene dos <pet>, <pet> se llama, <pet> de la persona, <pet> es, posee
es possession conduce un, conduce una, tiene coche, tiene un coche, tiene una casa, tiene un piso, tiene un barco
es possession matrícula, número de serie, talla, llave está, llaves están, la llave, las llaves, guarda*
es account    wifi*, contraseña*, clave*, pin es, código de, código es, código del, usuario es, nombre de usuario
es account    cuenta*, iban, número de socio, número de cliente, pasaporte*, dni
es how-to     cómo se, cómo hacer, instrucciones, receta*, paso a paso, para reiniciar
it name       si chiama, si chiamano, nome è, cognome*, soprannome*
it home       vive a, vive in, abita*, si è trasferit*, viene da, è cresciut*, indirizzo*, nato a, nata a
it work       lavora*, professione*, mestiere*, impiegat*, datore di lavoro, stipendio, pensionat*, in pensione
it study      studia*, università, laurea*, laureat*, impara, parla, madrelingua, scuola
it family     moglie, marito, fidanzat*, sposat*, divorziat*, vedov*, madre, padre, figlio, figlia, figli, sorella
it family     fratello
it health     allerg*, intolleran*, diabet*, asma, epiless*, emicrania, gruppo sanguigno, diagnos*, farmac*, medicin*
it health     mg
it health     malattia*, cronic*, incinta, tumore, cancro, depress*, celiac*, vaccin*, occhiali, operazion*, terapi*
it diet       vegan*, vegetarian*, glutine, lattosio, non mangia, non beve, dieta*
it birthday   compleann*, data di nascita, nato il, nata il, anni, anniversario*
it contact    telefono*, numero*, e-mail*, email*, indirizzo*
it possession possiede, guida una, cane, gatto, gatta, targa, ha una macchina, ha un'auto, ha una casa, chiave, chiavi
it account    wifi*, password*, pin, codice*, nome utente, conto*, account*, iban, passaporto*
pt name       se chama, chama-se, nome é, apelido*, sobrenome*
pt home       mora*, vive em, vive com, reside*, mudou*, é de, vem de, cresceu, endereço*, nasceu
pt work       trabalha*, profissão, emprego*, empregador*, salário, aposentad*, reformad*, desempregad*
pt study      estuda*, universidade, curso de, aprende, fala, língua materna, escola, formou*
pt family     esposa, marido, namorad*, casad*, divorciad*, viúv*, mãe, pai, filho, filhos, filha, irmã, irmão
pt family     grávida
pt health     alérgic*, alergia*, intoleran*, diabet*, asma, epilep*, enxaqueca, tipo sanguíneo, diagnos*, medicament*
pt health     remédio*, mg, doença*, crônic*, cancro, câncer, depress*, celíac*, vacin*, óculos, operação, terapi*
pt diet       vegan*, vegetarian*, glúten, lactose, não come, não bebe, dieta*
pt birthday   aniversário*, data de nascimento, nasceu em, anos
pt contact    telefone*, telemóvel, celular, número*, e-mail*, email*, endereço*
pt possession possui, tem um carro, tem uma casa, cachorro, cão, gato, gata, matrícula, placa, chave*
pt account    wifi*, senha*, palavra-passe, pin, código*, utilizador, usuário, conta*, iban, passaporte*
nl name       heet, heten, naam is, achternaam*, voornaam*, bijnaam*
nl home       woont*, woonde, verhuis*, komt uit, opgegroeid, adres*, geboren
nl work       werkt*, beroep*, baan*, werkgever*, salaris, gepensioneerd, zelfstandig*, ontslagen, werkloos
nl study      studeert, studie*, leert, universiteit, school, diploma*, spreekt, moedertaal
nl family     vrouw, haar man, mijn man, man van, partner, vriend, vriendin, moeder, vader, ouders, zoon, dochter, zus
nl family     broer, kind is, kind heet, een kind, kinderen
nl family     getrouwd, gescheiden, verloofd, weduw*, overleden, zwanger
nl health     allerg*, intoleran*, diabet*, astma, epilep*, migraine, bloedgroep*, bloeddruk, diagnos*, medicijn*, mg
nl health     ziekte*, chronisch*, kanker, depress*, coeliakie, bril, operatie*, therap*, insuline
nl diet       vegan*, veganist*, vegetari*, gluten*, lactose*, eet geen, drinkt geen, dieet*
nl birthday   verjaardag*, jarig, geboortedatum, jaar oud
nl contact    telefoon*, nummer*, e-mail*, email*, adres*, postcode
nl possession rijdt een, rijdt in, bezit, hond, kat, poes, kenteken*, sleutel*, heeft een auto, heeft een huis
nl account    wifi*, wachtwoord*, pincode*, code*, gebruikersnaam*, rekening*, iban, paspoort*
ru name       зовут, имя, фамилия, отчество, прозвище
ru home       живёт, живет, живу, переехал*, родом из, вырос*, адрес*, родился, родилась
ru work       работает, работаю, профессия, работодатель, зарплата, пенсии, пенсионер*, уволил*
ru study      учится, учусь, изучает, университет*, диплом*, студент*, школ*, говорит по*, родной язык
ru family     жена, муж, мать, мама, отец, папа, родители, сын, дочь, сестра, брат, дети, бабушка, дедушка, женат
ru family     замужем
ru family     развед*, вдов*, беременна, умер, умерла
ru health     аллерг*, непереносим*, диабет*, астм*, эпилеп*, мигрен*, группа крови, давлени*, диагноз*, лекарств*, мг
ru health     таблет*, болезн*, хроническ*, рак, депресс*, прививк*, очки, операци*, терап*
ru diet       веган*, вегетариан*, глютен*, лактоз*, не ест, не пьёт, не пьет, диет*
ru birthday   день рождения, дата рождения, лет, годовщин*
ru contact    телефон*, номер*, почта, email*, адрес*
ru possession собака, пёс, кот, кошка, машина, ездит на, владеет, ключ*, размер*
ru account    wifi*, вайфай, пароль, пин-код, код, логин, аккаунт*, счёт*, паспорт*
zh name       叫, 名字, 姓名, 姓, 昵称, 外号
zh home       住在, 住址, 居住, 搬到, 搬去, 搬家, 来自, 老家, 家乡, 长大, 国籍, 家在
zh work       工作, 上班, 职业, 公司, 就职, 雇主, 退休, 失业, 辞职, 工资, 老板
zh study      学习, 大学, 专业, 毕业, 学生, 学校, 学位, 母语, 会说, 在学
zh family     妻子, 老婆, 丈夫, 老公, 爸爸, 父亲, 妈妈, 母亲, 父母, 儿子, 女儿, 孩子, 姐姐, 妹妹, 哥哥, 弟弟, 结婚
zh family     离婚, 爷爷
zh family     奶奶, 外婆, 外公, 怀孕, 去世, 男朋友, 女朋友, 未婚
zh health     过敏, 不耐受, 糖尿病, 哮喘, 癫痫, 偏头痛, 血型, 血压, 诊断, 药, 胰岛素, 疾病, 慢性, 综合征, 癌, 抑郁
zh health     焦虑, 疫苗
zh health     眼镜, 手术, 残疾, 治疗, 身高, 体重, 得了, 患有, 色盲
zh diet       素食, 吃素, 清真, 麸质, 乳糖, 不吃, 不喝, 忌口, 戒酒, 戒烟
zh birthday   生日, 出生, 岁, 纪念日
zh contact    电话, 手机号, 号码, 邮箱, 地址, 微信, 联系方式, 邮编, 紧急联系人
zh possession 养了, 养着, 开的车, 车牌, 有一辆, 有一只, 有一条, 有一套, 钥匙, 尺码, 鞋码, 狗, 猫
zh account    密码, 无线网, wifi, 账号, 帐号, 用户名, 门禁, 验证, 卡号, 护照, 身份证, 会员号
zh how-to     步骤, 方法, 怎么做, 做法, 食谱, 说明书, 如何
ja name       名前, 苗字, 名字, 呼ばれ, と呼んで, といいます, と申します, という名, あだ名
ja home       住んで, 住まい, 住所, 引っ越し, 引越し, 出身, 実家, 育ち, 育った, 国籍
ja work       働いて, 勤めて, 勤務, 仕事, 職業, 会社, 退職, 転職, 無職, 上司, 給料
ja study      勉強して, 学んで, 大学, 専攻, 卒業, 学生, 学校, 母国語, 話せ
ja family     夫, 妻, 主人, 奥さん, 父, 母, 両親, 息子, 娘, 子供, 子ども, 姉, 妹, 兄, 弟, 結婚, 離婚, 祖父, 祖母, 妊娠
ja family     亡くな
ja family     彼氏, 彼女は, 婚約
ja health     アレルギー, 不耐症, 糖尿病, 喘息, ぜんそく, てんかん, 片頭痛, 血液型, 血圧, 診断, 薬, インスリン, 病気
ja health     持病, 慢性
ja health     症候群, 癌, がん, うつ, 不安症, ワクチン, 眼鏡, メガネ, 手術, 障害, 治療, 身長, 体重
ja diet       ベジタリアン, ヴィーガン, ビーガン, 菜食, ハラル, グルテン, 乳糖, 食べられ, 食べません, 食べない
ja diet       飲めない, 飲みません
ja birthday   誕生日, 生まれ, 歳, 記念日
ja contact    電話, 携帯, 番号, メール, アドレス, 郵便番号, 連絡先
ja possession 飼って, 飼い, 犬, 猫, 車を, 持っています, 鍵, サイズ, ナンバー
ja account    パスワード, 暗証, wifi, ワイファイ, アカウント, ユーザー名, 口座, パスポート, 会員番号
ja how-to     やり方, 方法, 手順, レシピ, 作り方, 使い方
ko name       이름, 성함, 별명
ko home       살아, 살고, 삽니다, 이사, 주소, 출신, 고향, 국적
ko work       일하, 직장, 직업, 회사, 은퇴, 월급
ko study      공부, 대학, 전공, 졸업, 학생, 학교
ko family     아내, 남편, 아버지, 어머니, 엄마, 아빠, 부모, 아들, 딸, 아이, 언니, 누나, 오빠, 형, 동생, 결혼, 이혼
ko family     임신
ko health     알레르기, 알러지, 당뇨, 천식, 혈액형, 혈압, 진단, 약을, 병, 만성, 암, 우울, 백신, 안경, 수술, 장애
ko diet       채식, 비건, 할랄, 글루텐, 유당, 안 먹, 못 먹, 먹지 않
ko birthday   생일, 태어, 살이, 기념일
ko contact    전화, 번호, 이메일, 주소, 연락처
ko possession 키우, 강아지, 고양이, 열쇠, 사이즈, 차를
ko account    비밀번호, 와이파이, 계정, 아이디, 계좌, 여권
"""
"""Language, attribute, cues. A cue is words of the statement in its normal form; `*`
lets a word begin or go on otherwise, `<kin>` is each word of a group, and where no
blank divides words a cue may stand anywhere.
"""

_UNSPACED = frozenset({"zh", "ja", "ko"})
_MAIL = re.compile(r"\S@\S+\.\w")


def _groups() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in _GROUPS.strip().splitlines():
        language, name, listing = line.split(None, 2)
        found.setdefault(f"{language} <{name}>", []).extend(listing.split(", "))
    return found


@dataclass(frozen=True, slots=True)
class _Cues:
    """The cues with their attribute: those that begin a word by their first `_KEY`
    signs, those that stand anywhere.

    `signs` are for scripts without blanks, `inside` for parts of compound words.
    """

    words: Mapping[str, Sequence[tuple[str, str]]]
    inside: Sequence[tuple[str, str]]
    signs: Sequence[tuple[str, str]]


_KEY = 4


@cache
def _cues() -> _Cues:
    groups = _groups()
    words: dict[str, list[tuple[str, str]]] = {}
    inside: list[tuple[str, str]] = []
    signs: list[tuple[str, str]] = []
    for line in _TABLE.strip().splitlines():
        language, name, listing = line.split(None, 2)
        for cue in listing.split(", "):
            group = _GROUP.search(cue)
            for word in groups[f"{language} {group[0]}"] if group else [""]:
                plain = normalise(
                    (cue.replace(group[0], word) if group else cue).strip("*")
                )
                end = "" if cue.endswith("*") else " "
                if language in _UNSPACED:
                    signs.append((plain, name))
                elif cue.startswith("*"):
                    inside.append((f"{plain}{end}", name))
                else:
                    whole = f" {plain}{end}"
                    words.setdefault(whole[:_KEY], []).append((whole, name))
    return _Cues(words, inside, signs)


_GROUP = re.compile(r"<\w+>")


@lru_cache(maxsize=1 << 14)
def standing(text: str) -> str | None:
    """The standing attribute that a statement tells, one of `ATTRIBUTES`, or None
    (model §0.1).

    It does not ask whose attribute it is, or in which tense it is told: "The user was
    diagnosed with asthma in 2025" is health, "Die Person wohnt in Berlin" is home,
    `我对花生过敏` is health.
    """
    cues, said = _cues(), f" {normalise(text)} "
    starts = (place.start() for place in _BLANK.finditer(said))
    near = chain.from_iterable(
        cues.words.get(said[start : start + _KEY], ()) for start in starts
    )
    anywhere = cues.inside if said.isascii() else chain(cues.inside, cues.signs)
    if found := next(
        (name for cue, name in chain(near, anywhere) if cue in said), None
    ):
        return found
    if _MAIL.search(text):
        return "contact"
    known = attribute(text)
    return _NAMED.get(known.name.partition(" ")[0]) if known else None


_BLANK = re.compile(" ")
_NAMED = {
    **dict.fromkeys(("home", "birthplace", "address"), "home"),
    **dict.fromkeys(("employer", "job"), "work"),
    **dict.fromkeys(("name", "nickname"), "name"),
    **dict.fromkeys(("birthday", "birth_year", "age"), "birthday"),
    **dict.fromkeys(("phone", "email"), "contact"),
    "spouse": "family",
    "car": "possession",
}
"""The attribute of law 1 by that of the table of one-valued attributes; a favourite or
a price is none.
"""


# -- what somebody asks to keep --------------------------------------------------------

REMEMBER_TAG = "remember"
"""The tag of what the user asked to keep in a conversation."""

_POLITE = """
en please, pls, and, also, so, but, oh, hey, ok, okay, can you, could you, would you, will you, you should
de bitte, und, auch, kannst du, könntest du
fr s'il te plaît, s'il vous plaît, et, peux-tu, tu peux
es por favor, y, puedes
it per favore, e, puoi
pt por favor, e, pode
nl alstublieft, alsjeblieft, en, kun je
ru пожалуйста, и
"""
"""What may stand before the request, by language."""

_ASKS = r"""
en (?:always )?remember(?:,|:| that\b| this\b| my\b| our\b| i\b| i'm\b| we\b)
en (?:keep|bear)(?: it)? in mind|make a (?:mental )?note|note(?:,|:| that\b)|take note|for the record|fyi
en (?:don't|do not|never) forget(?:,|:| that\b| my\b| our\b| i\b| i'm\b| we\b)|just so you know|for future reference
de merke? dir|merken sie sich|behalte(?: bitte)? im kopf|denke?(?: bitte)? daran, dass|vergiss(?: bitte)? nicht, dass
de notiere?(?: dir)?|zur info
fr souviens-toi|rappelle-toi|retiens|notez? (?:bien )?que|n'oublie pas que|garde en tête|pour info
es recuerda(?:,|:| que\b)|acuérdate(?: de)? que|ten en cuenta|no olvides que|apunta(?:,|:| que\b)|anota(?:,|:| que\b)
it ricorda(?:ti)?(?:,|:| che\b)|tieni presente|non dimenticare che
pt lembra(?:-te)?(?:,|:| que\b)|lembre-se|não esqueça que
nl onthoud|vergeet niet dat
ru запомни(?:те)?|не забудь(?:те)?, что|имей в виду
"""
"""The request itself, a pattern by language."""


def _listed(table: str) -> list[str]:
    return [line.split(None, 1)[1] for line in table.strip().splitlines()]


_BEFORE = "|".join(", ".join(_listed(_POLITE)).split(", "))
_ASKED = re.compile(
    rf"\W*(?:(?:{_BEFORE})[, ]+)*(?:{'|'.join(_listed(_ASKS))})", re.IGNORECASE
)
_ASKED_SIGNS = re.compile(
    r"记住|记得|記住|別忘了|别忘了|覚えて|忘れないで|メモして|기억해|잊지 ?마"
)
_SENTENCE_ENDS = re.compile(r"[.!?](?=\s)|[\n。！？]")


def asked_to_keep(text: str, quote: str) -> bool:
    """Whether the sentence of `text` in which `quote` stands asks to remember it (model
    §0.1).

    "Please remember that the key is under the pot" does, "Do you remember the film?"
    and "Remember to call" do not.
    """
    place = text.find(quote) if quote else -1
    if place < 0:
        return False
    begun = max(
        (end.end() for end in _SENTENCE_ENDS.finditer(text, 0, place)), default=0
    )
    stops = _SENTENCE_ENDS.search(text, place + len(quote))
    sentence = text[begun : stops.start() if stops else len(text)]
    return bool(_ASKED.match(sentence) or _ASKED_SIGNS.search(sentence))
