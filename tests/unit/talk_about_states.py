"""What people say of themselves: a life, talk that ends nothing of it, and changes.

`KNOWN` are facts of one user by language, `TALK` sentences with the verbs and cue words
of the states table that end none of them, `CHANGES` pairs of a sentence and a fact that
it ends. One sentence a line.
"""

from __future__ import annotations

KNOWN = {
    "en": """
Pottery class is on Tuesdays.
The user plays bowls at the club on Wednesday mornings.
Harry has footy training on Tuesdays and Thursdays.
The user is on citalopram, 20 mg.
The user has a rabbit called Biscuit.
The user drives an old Ford Fiesta.
The user is learning Portuguese.
The user is majoring in biology.
The user goes bouldering.
Lucy does ballet.
The user lives in Munich.
The user works at Bosch.
The user works as a nurse.
The user's wife is called Anna.
The user has a dog.
The user has a cat.
The user's dog is called Rex.
The user loves jazz.
The user likes coffee.
The user drinks four cups of coffee a day.
The user eats meat.
The user smokes.
The user runs every morning.
The user goes to the gym.
The user plays tennis.
The user is vegetarian.
The user's phone number is 0170 123.
The user's boss is Tom.
The user's neighbour is Tom.
The user's favourite band is Radiohead.
The user's favourite colour is blue.
The user's flat is 60 square metres.
The user's rent is 1,250 euros.
The user studies medicine.
The user's son is 5.
The user is 34 years old.
The user drives a Golf.
The user's laptop is a ThinkPad.
The user's mother lives in Kiel.
The user's bank is Sparkasse.
The meeting is on Tuesday.
The user's daughter likes horses.
The user does not eat meat.
Malik is a pastry chef at a hotel in Mitte.
The user has an appointment at the dentist on 14 January.
The user is pregnant.
The user owes Carl 300 pounds.
Fabi owes the user 80 euros.
The user runs a bakery in Bristol.
The user takes ramipril.
The user is allergic to nuts.
The user's boyfriend is Tom.
The user's GP is Dr Whitlock.
""".strip().splitlines(),
    "de": """
Die Person ist schwanger.
Die Person schuldet Fabi 80 Euro.
Fabi schuldet der Person 80 Euro.
Die Person ist allergisch gegen Nüsse.
Die Person studiert Maschinenbau.
Die Person fährt einen VW Passat.
Die Person nimmt Ramipril.
Uwe arbeitet bei Siemens.
Dienstags gehe ich kegeln.
Die Person wohnt in München.
Die Person arbeitet bei Bosch.
Die Person arbeitet als Krankenschwester.
Die Frau der Person heißt Anna.
Die Person hat einen Hund.
Die Person hat eine Katze.
Die Person mag Jazz.
Die Person mag Kaffee.
Die Person trinkt Kaffee.
Die Person isst Fleisch.
Die Person isst Brot.
Die Person raucht.
Die Person spielt Tennis.
Die Person ist vegetarisch.
Die Telefonnummer der Person ist 0170 123.
Der Mann der Person heißt Jens.
Die Chefin der Person heißt Karin.
Der Nachbar der Person heißt Tom.
Die Lieblingsband der Person ist Rammstein.
Die Lieblingsserie der Person ist Dark.
Die Person fährt einen Golf.
Die Mutter der Person wohnt in Kiel.
Die Person ist 34 Jahre alt.
Die Wohnung der Person ist 60 Quadratmeter.
""".strip().splitlines(),
    "fr": """
La personne est enceinte.
La personne doit 300 euros à Marc.
Marc doit 300 euros à la personne.
La personne est allergique aux noix.
La personne est serveuse dans un restaurant.
La personne roule en Clio.
La personne prend de la cortisone.
Gaël travaille chez Orange.
Le jeudi je fais de l'escalade.
La copine de la personne s'appelle Inès.
La personne habite à Nantes.
La personne travaille chez Airbus.
La personne travaille comme infirmière.
Le mari de la personne s'appelle Paul.
La personne a un chien.
La personne a un chat.
La personne aime le jazz.
La personne aime le café.
La personne boit du café.
La personne mange de la viande.
La personne fume.
La personne joue au tennis.
La personne est végétarienne.
La cheffe de la personne s'appelle Karine.
La série préférée de la personne est Lupin.
La mère de la personne habite à Brest.
La personne a 34 ans.
""".strip().splitlines(),
    "es": """
La persona está embarazada.
La persona le debe 300 euros a Carlos.
Carlos le debe 300 euros a la persona.
La persona es alérgica al marisco.
La persona conduce un Seat Ibiza.
La persona toma omeprazol.
El hermano de la persona, Raúl, trabaja en Correos.
Raúl es cartero.
El novio de la persona se llama Pablo.
Los jueves juego al pádel.
La madre de la persona vive en Teruel.
La persona vive en Valencia.
La persona trabaja en Seat.
La persona trabaja como enfermera.
El marido de la persona se llama Paco.
La persona tiene un perro.
La persona tiene un gato.
A la persona le gusta el jazz.
A la persona le gusta el café.
La persona bebe café.
La persona come carne.
La persona fuma.
La persona juega tenis.
La persona es vegetariana.
La jefa de la persona se llama Karin.
La persona tiene 34 años.
La madre de la persona vive en Lugo.
Estoy casada con Paco.
""".strip().splitlines(),
    "zh": """
用户开一辆比亚迪。
每周六打羽毛球。
用户每天吃一片降压药。
用户住在上海。
用户在腾讯工作。
用户的职业是护士。
用户的丈夫叫健太。
用户的老婆叫小丽。
用户有一只狗。
用户喜欢爵士乐。
用户喜欢喝咖啡。
用户吃肉。
用户吃鱼。
用户喝咖啡。
用户的手机号是13900001111。
我35岁。
妈妈住在北京。
""".strip().splitlines(),
    "ja": """
毎週水曜日にヨガに通っています。
ユーザーの車はプリウスです。
ユーザーは花粉症の薬を飲んでいます。
ユーザーは大阪に住んでいます。
ユーザーはトヨタで働いています。
ユーザーの職業は看護師です。
ユーザーの夫は健太です。
ユーザーは犬を飼っています。
ユーザーは猫を飼っています。
ユーザーはジャズが好きです。
ユーザーはコーヒーが好きです。
ユーザーの電話番号は090-1234です。
私は35歳です。
""".strip().splitlines(),
    "it": """
La persona è incinta.
Marco deve 300 euro alla persona.
La persona deve 300 euro a Marco.
La persona è allergica alle noci.
Il ragazzo della persona si chiama Matteo.
La persona guida una Panda.
La persona prende la cortisone.
Davide fa il cuoco.
Il mercoledì faccio pilates.
""".strip().splitlines(),
    "pt": """
A pessoa está grávida.
A pessoa deve 900 reais a Beto.
Beto deve 900 reais à pessoa.
A pessoa tem um Peugeot.
Às terças jogo futsal.
A mulher da pessoa se chama Teresa.
""".strip().splitlines(),
    "nl": """
De gebruiker is zwanger.
De gebruiker is Anouk 500 euro schuldig.
Anouk is de gebruiker 500 euro schuldig.
De gebruiker eet geen vlees.
De gebruiker is allergisch voor noten.
Op maandag ga ik hardlopen.
Bas is loodgieter.
De vriend van de gebruiker heet Joris.
""".strip().splitlines(),
    "ru": """
Пользователь: беременна.
Пользователь должен Марине 15000 рублей.
Марина должна пользователю 100 рублей.
Пользователь работает бухгалтером в строительной фирме.
По вторникам хожу в бассейн.
Саша работает учителем.
""".strip().splitlines(),
}

TALK = {
    "en": """
I switched from coffee to tea.
The doctor switched me to a later slot.
My sister switched from citalopram to sertraline.
Has the doctor switched me to sertraline?
If they swapped my citalopram for sertraline I'd be glad.
They stopped my train.
Anna and I are splitting up the chores.
The divorce papers of my sister came through.
My fav thing is off.
The doctor stopped my sister.
I might switch from citalopram to sertraline.
We moved the meeting to the big room.
They put the meeting back to front in the minutes.
They moved the meeting table to the 2nd floor.
If they moved the meeting to Friday I could come.
The shop's been put to good use.
She delayed the meeting by ten minutes.
My neighbour's meeting is now on Friday.
The meeting is on hold music.
My brother and I moved our mum to a home in Hull.
My husband and his brother moved to York.
Me and the team moved to the new office.
They took me off the mailing list.
I quit my job, almost.
I don't eat meat, except on Sundays.
We lost our dog, but found him.
I left Bosch, then went back.
They took me off the ward round.
We closed the bakery early today.
We closed the bakery at six.
I sold the bakery a new oven.
I paid Carl back half of it.
I paid Carl back 50 pounds.
I paid Carl a visit.
I paid Carl.
I'm paying Carl back in May.
Fabi paid me back 20 euros.
Fabi paid me a visit.
Fabi paid me back in kind.
I had a baby shower on Sunday.
We had the baby photos printed.
My sister had her baby christened.
My sister had her baby.
The dog had a baby gate.
I'm expecting a parcel.
We had the baby monitor repaired.
I'm not with Tom today.
It's over with the rain.
I left my boyfriend a note.
I left my boyfriend at the station.
I left my boyfriend's keys at home.
I had to put Mia down on the sofa.
We moved into first place.
I moved into the fast lane.
I moved into Marketing.
I read the Whitlock novel, my doctor is away again.
Where do I live again?
Again, I live in Munich.
I'm vegetarian again on Mondays.
I'm tired again.
I'm not allergic to nuts in small amounts.
Mum lives in Kiel with dad.
My dad lives in Ulm.
I'm off work again.
I got rid of the old car seat.
I bought a hook to replace the old one.
I'm not working at Bosch today.
I'm not with Anna today.
I don't eat meat today.
I left the bakery today.
I drive for Anna on Sundays.
I sold the Fiesta wheels today.
I sold the Fiesta shares yesterday.
My neighbour sold her Fiesta today.
I sold the poster of a Fiesta today.
I've been seeing Dr. Hall since May.
I've been seeing a therapist since May.
I've been dating Anna since 2015.
We're in Porto now.
I'm in Leeds now, on a trip.
In the game I sold the Fiesta, now I drive a tank.
I quit smoking. I caved after a week though.
My vet put my dog on citalopram.
Dr. Patel's citalopram lecture moved to 4 pm.
The nurse brought my citalopram at 40 minutes past nine.
The doctor took me off the list.
I'm all settled in my seat in the cinema.
I've got a room of my own in the hostel.
I got made captain of the pub team.
I take the bus on Sundays.
I get the tram now.
Gone fishing with a veggie burger.
I moved the pottery to the shelf.
The pottery is on the table on Thursdays.
Pottery class is also on Thursdays.
Bowls is on the telly now.
Footy was on Saturday.
The pottery sale moved to Thursdays.
My neighbour's pottery class moved to Thursdays.
Is pottery on Thursdays now?
I wish pottery moved to Thursdays.
If bowls moved to Fridays I could come.
They may move pottery to Thursdays.
I moved the footy boots to the garage.
Swimming moved to Fridays.
Fridays are for footy with the lads.
Every Thursday I think about pottery.
I'm off work today.
I'm off citalopram jokes for a while.
Off to bed.
Off the record, the boss is leaving.
I came off my bike on Sunday.
Came off the motorway at Exeter.
My brother came off citalopram.
My mum's doctor took her off citalopram.
I don't take citalopram with coffee.
I stopped taking the bus.
I stopped taking sugar in my tea.
The doctor wants to raise my citalopram to 40 mg.
My dad's doctor doubled his citalopram to 40 mg.
The price of citalopram went up to 40 euros.
I forgot my citalopram this morning.
I took 40 mg of citalopram by mistake.
Should I come off the citalopram?
I'd love to come off the citalopram.
We let Biscuit go outside for an hour.
I had to let Biscuit go to the garden.
We had to let Tom go.
Biscuit died laughing.
I made a biscuit cake.
I ate a biscuit.
My brother sold his Fiesta.
I sold my bike and got a Vespa.
I almost sold the Fiesta.
My sister traded her Fiesta in for a Polo.
I've sold the Fiesta story to the paper.
I washed the Fiesta and the Golf.
I swapped the Golf for a Polo for the weekend.
Someone drove into the Fiesta.
I dropped Anna at the station.
I dropped the guitar on my foot.
I dropped out of the Portuguese webinar after ten minutes.
I dropped Portuguese coins into the box.
We stopped the Italian lesson early.
I quit the Portuguese app for a moment.
My class switched to Portuguese wine.
I switched my course to Wednesday.
I changed the subject to football.
I switched my minor to psychology.
My roommate switched her major to psychology.
Lucy's friend dropped ballet.
Lucy dropped her ballet shoes.
Lucy dropped by.
We packed in the bags at six.
I gave up on the crossword after an hour.
I gave up my seat on the tram.
Anna and I are done with the dishes.
Me and Anna are done, see you at the pub.
Me and Anna are finished for today.
Anna called it off, too much rain for a picnic.
I'm with Tom now, call you later.
I met someone from Peckham yesterday.
I'm seeing a client in Leeds on Friday.
I'm seeing someone about the boiler.
I've got a new room in the hotel, on the fourth floor.
Our room is in Cairo for two nights.
We rented a house in Tuscany last summer.
We're renting a cottage in Wales for the week.
We have a flat in Spain that we let.
We own a house in Portugal now.
I moved in with the guitar section.
I live on coffee now.
I live at the gym now.
I'm staying with my mum in Croydon for the weekend.
Got my own place in the queue.
I found my own place in the sun.
I'm designated driver tonight.
I'm goalkeeper now.
I've been made late by the tram.
I joined the choir as secretary.
Sold the last ticket.
Left Bosch early today.
Left Munich at nine.
Quit playing around, Tom.
Not vegetarian, but close.
Not at Bosch today.
Single malt tonight.
Broke up a fight at the bar.
Moved the plants to Berlin.
Got fired up about the match.
Dropped the kids at school.
Changed my name tag.
My boss was ill, quit her job and moved to Rome.
My sister is tired, sold her Golf and works at Siemens.
Tom was unhappy, stopped smoking and left Anna.
I ate vegetarian since the canteen had nothing else.
The curry is vegetarian since they left out the bacon.
My sister is vegetarian since yesterday.
I'm vegetarian for lunch.
I'm not pescatarian.
We cook meat for my dad at Christmas.
The wifi is off.
The half marathon is off to a good start.
They say you should drink no more than one coffee a day.
I could drink ten coffees a day.
My boss is away from Monday.
From Monday my boss is in Rome.
My boss is on holiday from December.
I start at the beginning on Monday.
I'm starting with Duolingo tomorrow.
Malik starts at nine on Monday.
From Munich to Hamburg it's six hours on Monday.
I'm moving to the window seat on Monday.
We're moving the sofa to Hamburg on Monday.
I have an appointment at the dentist on Friday.
My hairdresser's appointment moved to Friday.
From Friday the rent of the hall is 200 euros.
Malik is a nurse at heart.
I moved to the window seat.
We moved to Jira last month.
We moved to Zulip.
I've moved to Signal.
I moved to management.
I moved to Team B.
I moved to Plan B.
I moved to the guest room.
i moved to the couch
i moved to bed early
I moved on to dessert.
We moved to dismiss the motion.
I was moved to tears.
I moved to Berlin as a child.
When I was six we moved to Hamburg.
I moved to Paris once, for a boy.
I first moved to Leeds, before all this.
I moved back then to Rome.
We moved to Lisbon for the summer.
I'm living in Berlin for a month.
I've lived in Paris, Rome and Oslo.
I've lived in Rome.
I live in Berlin on weekends.
I live in denial.
I don't live in Munich city centre yet.
I moved to Berlin but moved back after a week.
I moved out of the way.
My flight moved to Gate 4.
Our standup moved to Wednesday.
The company moved to Dublin.
I don't work at Bosch on Fridays.
I work at home now.
i work at night now
I joined the gym.
I joined Netflix.
I joined a book club at the library.
I started at Level 2.
I left Bosch at noon today.
I left Bosch early.
I left the party.
I left Anna a message.
I quit at five today.
I quit Facebook.
I quit the game.
I resigned from the board.
I resigned myself to it.
I retired to my room.
I was fired up.
I quit my job at the café.
I switched to Linux.
I switched to decaf.
I started seeing a therapist.
I'm seeing Paul for lunch.
I'm not with Anna today.
I'm not with Anna at the moment.
I'm not seeing Paul tonight.
Anna and I split the bill.
Tom and I split up to look for the dog.
Tom and I broke the record.
Anna and I separated the eggs.
We got separated in the crowd.
I got separated from Anna.
Anna left me at the airport.
Anna left me a note.
Anna left me alone.
We got married in Rome.
My wife is pregnant now.
my wife is tired now
My husband is now Head of Sales.
My husband is German now.
My boss is on holiday now.
my boss is angry now
My doctor is away now.
My phone is dead.
My laptop died.
My battery died.
The conversation died.
The fire died down.
My mum died laughing.
My dad died of embarrassment.
My grandpa passed me the salt.
My daughter passed out.
My character died again.
My dog died in the game.
We lost our dog at the beach but found him.
We lost our cat for a day. He came back.
I lost my dad in the supermarket.
I lost my dog's leash.
I put my cat to bed.
I had to put Mia down for a nap.
I had to put the baby to sleep.
Our dog was put on a diet.
The kids had to be put to bed.
I don't just like jazz, I love it.
I don't like jazz in the morning.
I don't like coffee with milk.
I don't like coffee that much today.
I don't eat meat today.
I don't eat meat during Lent.
I'm not drinking coffee today.
I don't drink coffee after four.
I don't drink much coffee.
I never drink coffee at night.
I can't stand jazz clubs.
I hate it when jazz is too loud.
I'm tired of waiting for jazz concerts.
I'm sick of this.
I don't like it.
I don't smoke in the house.
I don't run in winter.
I don't play on Sundays.
I don't go to the gym on Mondays.
I stopped running when I saw the bus.
I stopped smoking for a week.
I stopped at the bakery.
I stopped the car.
I gave up looking for it.
I gave up my seat to her.
I gave my dog a bath.
I gave our cat her medicine.
I sold my old phone case.
I dropped out of the race.
I'm vegan this week.
I'm also a part-time barista.
I also work at Aldi.
I work at Aldi on Saturdays now.
I started at Aldi as a cashier on the side.
I work as a tutor in the evenings.
My other phone number is 0170 999.
My second job is at Lidl.
My favourite band is playing tonight.
My favourite restaurant is closed now.
My favourite show is back.
My favourite mug is broken.
My flat is 5 minutes from the station.
My email is broken now.
My address is wrong now.
My number is up.
The meeting is on Zoom.
The pressure is on Anna.
My son is 3.
I'm 5 minutes late.
My bike is in Berlin.
My laptop is a mess now.
My bank is annoying now.
I drive my kids to school now.
My neighbour is also called Tom.
I thought I'd quit, but they talked me out of it.
I quit! Just kidding.
I quit smoking once.
I quit my job years ago.
I almost broke up with Paula.
Paula and I are not together today.
We broke up the pallets.
I'm over the moon.
I'm done with Siemens for today.
I have left Anna the keys.
I have left the house.
I'm single-minded.
I am divorced from reality.
I changed to Bosch tools.
I moved to Bosch power tools.
I lost interest in the film.
I don't take the bus to work any more this week.
I had to have my tooth put right.
I quit while I was ahead.
I quit worrying about it.
I quit the group chat.
I quit my diet.
I quit my second job.
I quit my part-time job.
I quit the job hunt.
My sister quit.
I was let go with a warning.
I got fired up about it.
I lost my job offer.
I left my job early today.
I left my job at the office.
I handed in my notice of absence.
I gave notice on my flat.
I retired my old laptop.
We split up the chores.
We split up for the treasure hunt.
Tom and Anna broke up.
My parents divorced.
My parents are divorced.
My sister is single.
My friend Tom is divorced.
My sister and her boyfriend split up.
Anna and I have separate rooms.
I separated the laundry.
Anna dumped me at the station.
Anna left me the car.
Anna broke up with me in a dream.
I'm single-handedly doing this.
I graduated to harder levels.
My brother graduated.
I sold my car insurance.
I sold my car to nobody yet.
My neighbour sold his car.
Our neighbour's dog died.
The dog in the film died.
Tom's dog died.
My dog died down to sleep.
My sister's cat passed away.
My boss's mother died.
The neighbour's cat was put to sleep.
My wife's grandmother passed away.
I moved to Germany's south for work.
I moved my account to Ireland.
My brother moved to Berlin.
Anna's parents moved to Spain.
My office moved to Berlin.
My team moved to Stuttgart now.
I moved to a new desk.
We moved to Terminal 2.
We moved to daylight saving time.
I moved to the next level.
I moved to Tokyo in the game.
I live in Berlin in my dreams.
My character lives in Rome now.
I live with Anna in Munich now.
I live in the moment now.
I live in Munich now with a cat.
I'm living in a nightmare now.
I work in Berlin now.
I work from home now.
I work for free now.
I work at it now.
I work at the office now.
I work with Tom at Bosch now.
I'm now working for myself on this.
My boss is now in Berlin.
My boss Tom is angry now.
My new boss is great.
My new boss is on leave.
My new boss is French.
My new boss starts on Monday.
my new boss is nice
My new laptop is great.
My new laptop is on its way.
my laptop is dead now
my new laptop is slow
My laptop is a disaster now.
My new car is a nightmare.
I drive an hour to work now.
I drive to Berlin now.
i drive a lot now
My new number is great.
My favourite colour is missing now.
My favourite colour is always changing.
My favourite band is on tour now.
My favourite band is called off.
My favourite band is in Berlin.
I'm 35 minutes late.
I'm 100 percent sure.
I'm 20 now on the list.
I'm 40 pages in.
My rent is due on the 3rd.
My rent is 3 days late.
My rent is 20 percent of my income.
My flat is 3 floors up.
I'm vegan at work.
I'm vegan-curious.
I'm vegetarian except for bacon.
I don't eat meat with cheese.
I don't eat that.
I don't eat meat-free sausages.
I don't smoke weed.
I don't smoke inside.
I don't run fast.
I don't play tennis on clay.
I don't play tennis well.
I don't love jazz as much as soul.
I don't like the jazz Tom plays.
I don't like jazz radio.
I hate jazz hands.
I'm tired of jazz being called boring.
I'm sick of people mocking jazz.
I'm over jazz night.
I'm not into jazz fusion.
I can't stand the taste of coffee in cakes.
I hate coffee breath.
I stopped drinking coffee at work.
I gave up coffee for Lent.
I gave up coffee last year for a month.
I've stopped eating meat at lunch.
I quit coffee, then relapsed.
We lost our dog walker.
We lost our dog's ball.
We lost our cat sitter.
I lost my wife at the mall.
We gave the dog away to be groomed.
We gave up the dog park.
Anna is not my wife's sister.
I'm not with Bosch today.
I have left Bosch a voicemail.
I've left Munich for the weekend.
I left Munich yesterday.
I moved away from the window.
I moved out of Tom's way.
I moved out of the fast lane.
I no longer live in fear.
I don't live in Munich proper.
I'm not living in luxury.
I married off my daughter.
I got married last year.
Tom and I are together on this.
Tom and I are a team.
I got a new partner at work called Tom.
I got a new number plate 1234.
I became a regular at the café.
I became a father.
I became the user's guide.
I started as a joke.
I started as the goalkeeper.
""".strip().splitlines(),
    "de": """
Sie haben das Meeting auf Zoom verlegt.
Wir haben den Schrank auf den Balkon verschoben.
Ich habe das Kind vom Kindergarten abgeholt.
Wir haben das Baby gewickelt.
Meine Tochter ist in der Schule.
Mein Sohn hat ein Baby gesehen.
Meine Schwester hat entbunden.
Die Hebamme hat eine Frau entbunden.
Ich habe Fabi die Bohrmaschine zurückgegeben und die Hälfte bezahlt.
Fabi hat mir das Buch zurückgegeben.
Fabi hat mir einen Teil zurückgezahlt.
Fabi hat mir 20 Euro zurückgezahlt.
Ich habe Fabi 20 Euro zurückgezahlt.
Ich bin nicht allergisch gegen Katzen.
Ich esse wieder zu viel.
Das Studium ist anstrengend.
Mama wohnt in Kiel.
Papa ist müde.
Mit der Farbe ist Schluss.
Bin ich froh.
Bin gerade in Berlin.
Bin in Berlin gelandet und warte auf den Koffer.
Im Spiel war ich Bauer, jetzt wohne ich in Ulm.
Nächsten Dienstag fällt Kegeln aus.
Kegeln ist ein schöner Sport.
Donnerstags gehe ich auch kegeln.
Der Bus ist Schrott.
Mein Passat ist verkratzt.
Der Nachbar fährt jetzt einen Skoda.
Ich würde gern einen Skoda fahren.
Der Arzt hat mir Ibuprofen verschrieben.
Ich nehme das Ramipril immer morgens.
Der Arzt hat Waldi untersucht.
Uwe hat mit dem Rauchen aufgehört.
Uwe ist nicht mehr der Jüngste.
Ich habe jetzt bei Kapitel drei angefangen.
Mit dem Regen ist Schluss.
Die Wohnung unter uns ist verkauft.
Anna ist bei uns ausgezogen.
Ab Montag ist meine Chefin in Rom.
Ab morgen arbeite ich von zu Hause.
Wir ziehen am Samstag nach Hause.
Am Montag ziehen wir den Schrank nach oben.
Ich fange am Montag mit Yoga an.
Wir sind auf Slack umgezogen.
Ich bin zu Vodafone gewechselt.
Ich bin zu Linux gewechselt.
Ich habe bei Kapitel 3 angefangen.
Ich habe bei Null angefangen.
Ich habe bei Anna angefangen zu putzen.
Ich bin 2010 nach Berlin gezogen.
Ich bin vor zehn Jahren nach Berlin gezogen.
Als Kind bin ich nach Ulm gezogen.
Damals sind wir nach Kiel gezogen.
Ich bin nach hinten gezogen.
Wir sind in den Süden gezogen.
Ich bin für den Sommer nach Rom gezogen.
Ich habe meinen Hund verloren, aber er kam zurück.
Wir haben unsere Katze verloren. Zum Glück haben wir sie wiedergefunden.
Ich habe meinen Sohn im Getümmel verloren.
Mein Handy ist tot.
Der Akku ist tot.
Ich bin fast gestorben vor Lachen.
Meine Mutter ist vor Lachen gestorben.
Ich mag keinen Kaffee nach dem Essen.
Ich mag keinen Kaffee mit Milch.
Ich esse freitags kein Fleisch.
Ich esse heute kein Fleisch.
Ich esse abends kein Brot.
Ich trinke nach vier keinen Kaffee.
Ich trinke keinen Kaffee auf leeren Magen.
Ich mag Jazz nicht so.
Ich mag Jazz morgens nicht.
Ich rauche nicht im Haus.
Ich rauche heute nicht mehr.
Ich spiele heute nicht mehr.
Ich gehe heute nicht mehr ins Fitnessstudio.
Ich kann Jazz heute nicht hören.
Ich arbeite nebenbei bei Aldi.
Ich arbeite auch als Barista.
Ich arbeite am Wochenende bei Lidl.
Ich arbeite samstags jetzt bei Lidl.
Ich arbeite freitags nicht mehr bei Bosch.
Ich habe Bosch heute früh verlassen.
Ich habe den Raum verlassen.
Anna hat mich am Bahnhof verlassen.
Anna und ich haben uns die Rechnung geteilt.
Anna und ich haben uns am Bahnhof getrennt.
Ich habe mich von dem Sofa getrennt.
Mein Mann ist jetzt Rentner.
Mein Mann ist jetzt krank.
mein mann ist jetzt müde
Meine Chefin ist jetzt im Urlaub.
Mein Nachbar ist jetzt Vater.
Meine Lieblingsband ist jetzt kaputt.
Meine Lieblingsserie ist jetzt vorbei.
Mein Handy ist jetzt kaputt.
Meine E-Mail ist jetzt kaputt.
Ich habe mit dem Essen aufgehört.
Ich bin diese Woche vegan.
Ich bin müde geworden.
Meine Wohnung ist 5 Minuten vom Bahnhof.
Das Treffen ist am besten online.
Ich habe die Wohnung gekündigt.
Ich habe den Handyvertrag gekündigt.
Ich bin aus dem Krankenhaus entlassen worden.
Ich lebe in Angst.
Ich wohne nicht mehr in der Innenstadt.
Ich habe früher bei Bosch angefangen.
Ich bin in Rom geboren, aber nach Ulm gezogen und wieder zurück.
Ich bin Vater geworden.
Ich bin Vegetarier geworden beim Lesen.
Toms Hund ist gestorben.
Der Hund vom Nachbarn ist gestorben.
Die Katze meiner Schwester ist gestorben.
Meine Chefin ist jetzt in Berlin.
Ich arbeite jetzt im Homeoffice.
Ich arbeite jetzt an der Steuer.
Ich arbeite jetzt bei Tageslicht.
Ich wohne jetzt bei Anna.
Ich lebe jetzt in Frieden.
Ich wohne jetzt in der Nähe.
Ich bin nach Hause gezogen.
Ich bin mit Anna ins Kino gezogen.
Wir sind nach Berlin gefahren.
Meine Schwester ist nach Berlin gezogen.
Meine Firma ist nach Berlin gezogen.
Ich habe meinen Nebenjob gekündigt.
Ich habe mein Abo gekündigt.
Mir wurde die Wohnung gekündigt.
Meine Schwester hat gekündigt.
Wir haben uns getrennt auf den Weg gemacht.
Meine Eltern haben sich getrennt.
Meine Eltern sind geschieden.
Mein Bruder ist single.
Ich mag keine Jazzkonzerte.
Ich mag Jazz nicht besonders.
Ich mag Jazz nicht immer.
Ich mag nicht jeden Jazz.
Ich esse kein Fleisch vom Discounter.
Ich esse nie wieder hier.
Ich trinke keinen Kaffee ohne Zucker.
Ich habe aufgehört zu warten.
Ich habe mit dem Lesen aufgehört.
Ich spiele nicht mehr mit Tom Tennis.
Ich habe mein Auto noch nicht verkauft.
Mein Nachbar hat sein Auto verkauft.
Ich bin jetzt 5 Minuten zu spät.
Meine Lieblingsfarbe ist jetzt im Angebot.
Meine Nummer ist jetzt besetzt.
Ich bin in Rente meiner Mutter eingesprungen.
Ich fahre jetzt nach Hause.
""".strip().splitlines(),
    "fr": """
Elle a déplacé la table au salon.
Ma sœur a accouché.
J'ai eu le bébé au téléphone.
J'ai remboursé la moitié à Marc.
J'ai remboursé 50 euros.
Marc m'a remboursé la moitié.
Marc m'a rendu mon livre.
J'ai rendu le livre à Marc.
Je ne suis pas allergique aux chats.
J'ai quitté la réunion.
J'ai quitté le bureau à six heures.
Je mange de nouveau trop.
Avec la pluie c'est fini.
Maman habite à Brest.
Jeudi prochain il n'y a pas escalade.
Le dimanche je fais aussi de l'escalade.
L'escalade est passée à la télé.
J'ai revendu mes skis.
Mon voisin a revendu sa Clio.
J'ai pensé à revendre la Clio.
J'en ai fini avec le ménage.
Je suis passé chez Orange récupérer la box.
Je suis passée chez ma sœur.
Je sors avec des amis ce soir.
Je vois quelqu'un pour mon dos.
Gaël a quitté la table.
Gaël a arrêté la voiture devant la maison.
Maman est morte de rire.
Je me suis installé dans le canapé.
Je commence le yoga lundi.
À partir de lundi mon patron est à Rome.
J'ai rejoint Anna au café.
J'ai rejoint Facebook.
J'ai rejoint le club de lecture.
J'ai déménagé à Paris en 2010.
Il y a dix ans, nous avons déménagé à Lyon.
Enfant, j'ai déménagé à Nice.
Quand j'étais petite, nous avons déménagé à Brest.
J'ai déménagé à Rome pour l'été.
J'ai emménagé dans une petite maison.
On a déménagé au troisième étage.
Je suis passé à Linux.
J'ai commencé au chapitre 3.
J'ai commencé à lire.
Je suis avec Anna au cinéma.
Je suis avec Paul ce soir.
Je ne suis pas avec Anna aujourd'hui.
Je ne mange pas de viande le vendredi.
Je ne mange pas de viande aujourd'hui.
Je ne bois pas de café après 16 heures.
Je ne bois jamais de café le soir.
Je n'aime pas le café sans sucre.
Je n'aime pas le jazz le matin.
Je ne fume pas dans la maison.
Je ne joue plus ce soir.
Mon chien est mort de faim.
Ma mère est morte de rire.
Mon téléphone est mort.
J'ai perdu mon chien, mais il est revenu.
On a perdu notre chat. On l'a retrouvé hier.
J'ai perdu mon fils dans la foule.
J'ai perdu ma fille au supermarché.
J'ai quitté Airbus à cinq heures.
J'ai quitté la pièce.
Paul m'a quittée à la gare.
Je suis séparée de mes amis par un mur.
Paul et moi, on est plus ensemble ce soir.
Je travaille aussi chez Lidl.
Je travaille chez Lidl le week-end.
Je travaille maintenant le samedi chez Lidl.
Mon mari est maintenant retraité.
mon mari est malade maintenant
Ma cheffe est maintenant en vacances.
Ma série préférée est finie maintenant.
Mon mail est cassé maintenant.
Je suis végétarienne cette semaine.
J'ai arrêté de fumer dans la voiture.
J'ai arrêté la voiture.
Je ne travaille plus le vendredi.
Je ne travaille plus chez Airbus le lundi.
Avant, j'ai déménagé à Metz.
Je suis devenu père.
Le chien de Tom est mort.
Le chien du voisin est mort.
Le chat de ma sœur est mort.
Ma cheffe est maintenant à Berlin.
Je travaille maintenant à la maison.
Je travaille maintenant sur un projet.
Je vis maintenant dans la peur.
J'habite maintenant avec Anna.
Ma sœur a déménagé à Rome.
Mon entreprise a déménagé à Lyon.
J'ai quitté mon deuxième travail.
J'ai quitté le travail à six heures.
J'ai quitté Paris ce matin.
Ma sœur a démissionné.
Mes parents se sont séparés.
Mes parents sont divorcés.
Mon frère est célibataire.
Je n'aime pas les concerts de jazz.
Je n'aime pas trop le jazz.
Je n'aime pas le jazz quand il pleut.
Je ne mange pas de viande chez Paul.
Je ne bois plus de café aujourd'hui.
J'ai arrêté de boire du café au bureau.
J'ai arrêté de chercher.
Je ne joue plus avec Tom.
J'ai vendu ma place de concert.
J'ai perdu la laisse de mon chien.
Je suis mariée avec mon travail maintenant.
Je suis à Paris maintenant.
Je conduis maintenant à Lyon.
J'ai 5 minutes de retard.
Je travaille maintenant à Lyon.
""".strip().splitlines(),
    "es": """
Me han cambiado la mesa a la ventana.
Mi hermana ha dado a luz.
Ya nació la idea.
Le he pagado la cena a Carlos.
Le pagué 20 euros a Carlos.
Carlos me ha devuelto el libro.
Carlos me ha devuelto la mitad.
He dejado a Ana en el aeropuerto.
No soy alérgica a los gatos.
He vuelto a casa.
Vuelvo a trabajar el lunes.
Me han quitado una muela.
La doctora me subió el sueldo a 1000 euros.
Este miércoles no juego al pádel.
El pádel es un deporte muy bonito.
El jueves que viene el pádel es a las ocho.
También juego al pádel los sábados.
He vendido la bici.
Mi vecino ha vendido su Ibiza.
Quiero vender el Ibiza.
Casi vendo el Ibiza.
Mi madre ha vendido un Ibiza y me ha comprado una moto.
Lo he dejado todo hecho.
Lo hemos dejado para mañana.
Me lo he dejado en casa de Pablo.
Raúl ha dejado a su novia.
Raúl ha dejado las llaves en Correos.
Raúl se ha ido de vacaciones.
Raúl se ha ido de cena con los de Correos.
El médico me ha quitado un lunar.
El médico me ha quitado los puntos.
He dejado de tomar el sol.
He dejado el omeprazol en la mesilla.
Se me ha muerto el móvil.
Se ha muerto el actor de la serie.
Mi madre se muere de risa.
Estoy con un chico del trabajo haciendo un informe.
El yoga ha pasado de moda.
Vengo de Jerez a vivir la feria.
Me he instalado el WhatsApp en la tableta.
Empiezo en casa el lunes.
Desde el lunes mi jefe es insoportable.
Me uní a Anna en el café.
Me uní a Facebook.
Me cambié a Linux.
Nos mudamos a Slack.
Me mudé a Madrid en 2010.
Hace diez años me mudé a Sevilla.
De niña nos mudamos a Vigo.
Cuando era pequeña nos mudamos a Lugo.
Me mudé a Roma para el verano.
Nos mudamos a otra casa.
Me mudé al sofá.
He empezado en el capítulo 3.
He empezado en Inglés.
Estoy con Ana en el cine.
Estoy con Ana ahora mismo.
No como carne los viernes.
No como carne hoy.
No bebo café después de cenar.
No bebo café por la noche.
Nunca bebo vino con la comida.
No me gusta el café con leche.
No me gusta el jazz por la mañana.
Ya no juego hoy.
Mi móvil se ha muerto.
Mi madre se murió de risa.
Perdí a mi hijo en el supermercado.
Perdimos a nuestro perro, pero volvió.
Hemos perdido a mi gata. La encontramos ayer.
He dejado a mi hijo en el colegio.
He dejado Seat a las cinco.
Paco me ha dejado un mensaje.
Me he separado de mis amigos en el concierto.
He roto con la rutina.
He roto el vaso.
Nos hemos separado en el museo.
También trabajo en Lidl.
Trabajo en Lidl los fines de semana.
Ahora trabajo los sábados en Lidl.
Mi marido es ahora director.
mi marido está cansado ahora
Mi jefa está de vacaciones ahora.
Soy vegana esta semana.
He dejado de fumar en casa.
He dejado el coche en casa.
Ya no trabajo los viernes.
Ya no trabajo en Seat los lunes.
He vendido la idea.
Mi correo es malo ahora.
Antes me mudé a Lugo.
Me mudé a Roma una vez.
El perro de Tom ha muerto.
El perro del vecino murió.
El gato de mi hermana ha muerto.
Mi jefa está ahora en Berlín.
Ahora trabajo en casa.
Ahora trabajo en un proyecto.
Ahora vivo en paz.
Ahora vivo con Ana.
Mi hermana se mudó a Roma.
Mi empresa se mudó a Madrid.
He dejado el trabajo hecho.
He dejado mi segundo trabajo.
He dejado el trabajo a las seis.
Mi hermana renunció.
Mis padres se separaron.
Mis padres están divorciados.
Mi hermano está soltero.
No me gustan los conciertos de jazz.
No me gusta mucho el jazz.
No me gusta el jazz cuando llueve.
No como carne en casa de Paco.
Ya no bebo café hoy.
He dejado de beber café en la oficina.
He dejado de buscar.
He vendido mi entrada.
Perdí la correa de mi perro.
Estoy casada con mi trabajo ahora.
Estoy en Madrid ahora.
Ahora conduzco a Madrid.
Soy padre ahora.
Ahora trabajo en Madrid.
""".strip().splitlines(),
    "zh": """
这周六不打羽毛球。
周日也打羽毛球。
羽毛球拍卖了。
朋友的比亚迪卖了。
我想把比亚迪卖了。
手机停了。
会议改到周日了。
我2010年搬到北京。
我十年前搬到上海。
我小时候搬到广州。
我搬到新家了。
我搬到二楼了。
我搬到Slack了。
我们搬到隔壁了。
我把桌子搬到窗边了。
我离开北京了。
我加入了读书会。
我加入了健身房。
我去公司上班了。
我到家工作了。
我换到五班了。
我被老师开除了。
我周末在星巴克上班。
我也在腾讯工作。
我跟安娜在一起看电影。
我和妈妈在一起了。
我和小丽在车站分开了。
我换了手机。
我的手机死机了。
我的手机死了。
我累死了。
妈妈笑死了。
妈妈走了。
我今天不吃鱼。
我晚上不喝咖啡。
我周五不吃肉。
我不喜欢饭后喝咖啡。
我不吃了。
我的狗丢了。
我老公现在是经理。
我老公现在出差。
我不在家工作。
我今天不在公司上班。
他搬到上海了。
汤姆的狗死了。
邻居的狗去世了。
我妹妹的猫死了。
我妹妹搬到上海了。
我公司搬到北京了。
我现在在家工作。
我现在住在酒店。
我现在在上海。
我妹妹辞职了。
我父母离婚了。
我妹妹和小丽分手了。
我不喜欢爵士音乐会。
我不太喜欢爵士乐。
我不吃太多肉。
我不吃肉只吃菜。
我不想辞职了。
我差点辞职了。
我没辞职。
我快35岁了。
我的快递号是12345。
我现在在上海工作。
""".strip().splitlines(),
    "ja": """
今週の水曜日はヨガを休みます。
木曜日にもヨガに通っています。
自転車を売って、靴を買いました。
友達がプリウスを売りました。
プリウスを売りたいです。
頭痛の薬はもう飲んでいません。
会議は木曜日に変わりました。
弟が東京に行きました。
2010年に東京に引っ越しました。
十年前に大阪に引っ越しました。
子供の頃、京都に引っ越しました。
新しいアパートに引っ越しました。
次の章に移りました。
窓側の席に移りました。
実家に引っ越しました。
バンドを辞めました。
ジムを辞めました。
ゲームをやめました。
スマホが死んだ。
バッテリーが死にました。
駅で友達と別れました。
友達と駅で別れました。
アンナと一緒に映画を見ました。
夫は今出張中です。
夫は今部長です。
今日は肉を食べません。
金曜日は肉を食べません。
夜はコーヒーを飲みません。
食後のコーヒーは飲みません。
コーヒーはあまり好きじゃない。
週末はスタバで働いています。
副業でスタバで働いています。
犬が死んだと思ったけど、生きていました。
猫がいなくなりましたが、戻ってきました。
昔、札幌に引っ越しました。
スラックに移行しました。
課長になりたい。
家では働いていません。
トムの犬が死にました。
隣の犬が死にました。
妹の猫が死にました。
妹は東京に引っ越しました。
会社が東京に引っ越しました。
今は家で働いています。
今はホテルに住んでいます。
今は東京にいます。
妹は仕事を辞めました。
両親は離婚しました。
妹は健太と別れました。
ジャズのライブは好きじゃない。
ジャズはそんなに好きじゃない。
会社を辞めたくなりました。
会社を辞めそうになりました。
副業を辞めました。
父は退職しました。
仕事を辞めませんでした。
犬が死にそうでした。
今は大阪で働いています。
""".strip().splitlines(),
    "it": """
Mia sorella ha partorito.
Ho reso il libro a Marco.
Ho restituito 50 euro a Marco.
Marco mi ha restituito il libro.
Marco mi ha restituito la metà.
Sono tornata a casa.
Sono tornata a lavorare.
Non sono allergica ai gatti.
Ho lasciato Matteo alla stazione.
Ho lasciato la borsa in ufficio.
Ho lasciato tutto.
È nata una bella amicizia.
Mercoledì prossimo niente pilates.
Il venerdì faccio anche pilates.
Pilates è faticoso.
Ho venduto la bici.
Vorrei vendere la Panda.
Ho smesso di prendere il sole.
Il medico mi ha tolto i punti.
Davide si è licenziato dalla chat.
Io e Luca ci siamo visti.
""".strip().splitlines(),
    "pt": """
Minha irmã deu à luz.
O sol nasceu.
Paguei o jantar ao Beto.
Paguei o aluguel.
Beto me devolveu o livro.
Beto me pagou um café.
Voltei a trabalhar.
Voltei para casa.
Terça que vem não há futsal.
Às sextas também jogo futsal.
Vendi a bicicleta.
Queria vender o Peugeot.
Deixei de tomar café à noite.
Terminei com a leitura.
A Teresa separou-se do grupo no museu.
""".strip().splitlines(),
    "nl": """
Mijn zus is bevallen.
De baby is ziek.
Anouk heeft me het boek teruggegeven.
Ik heb Anouk de helft terugbetaald.
Ik heb Anouk 50 euro terugbetaald.
Ik eet weer te veel.
Ik eet geen vis vandaag.
Ik ben niet allergisch voor katten.
Ik ben gestopt bij het stoplicht.
Onze dochter is op school.
Volgende maandag ga ik niet hardlopen.
Op zaterdag ga ik ook hardlopen.
Het is uit met de pret.
De film is uit.
Bas is gestopt met roken.
Bas is gestopt bij het stoplicht.
""".strip().splitlines(),
    "ru": """
Сестра родила.
Вернула Марине книгу.
Марина вернула мне книгу.
Я вышла из школы в шесть.
Я снова устала.
Мама живёт в Твери.
В следующий вторник бассейн закрыт.
По субботам я тоже хожу в бассейн.
Саша ушёл гулять.
Саша ушёл в отпуск.
Бассейн теперь открыт до девяти.
""".strip().splitlines(),
}

CHANGES = [
    tuple(line.split(" | "))
    for line in """
They took me off the ramipril yesterday. | The user takes ramipril.
My husband and I moved to York. | The user lives in Leeds.
Mark and I moved to York. | The user lives in Leeds.
Me and my husband moved to York. | The user lives in Leeds with their husband.
My dad and I both stopped smoking. | The user smokes.
I came off ramipril yesterday. | The user takes ramipril.
My new GP is Dr Osei. | The user's GP is Dr Whitlock.
I've moved into Rosewood Lodge, the care home in Kingston. | The user lives in Hobart with their cat.
I had to put Rex down on Tuesday. | Rex lives in Kiel.
I'm vegan again. | The user is not vegan anymore.
I eat meat again. | The user is vegetarian.
I've started eating meat again. | The user is vegetarian.
We're back living in Berlin. | The user lives in Munich.
It's over with Tom. | The user's boyfriend is Tom.
I left my boyfriend. | The user's boyfriend is Tom.
I gave birth on Friday. | The user is pregnant.
We had the baby. | The user is pregnant.
I had a little girl on Sunday. | The user is pregnant.
The baby was born on Friday. | The user is pregnant.
Our daughter Mia was born last week. | The user is pregnant.
I had a miscarriage. | The user is pregnant.
I'm not pregnant any more. | The user is pregnant.
Helen had the baby. | Helen is expecting a baby.
My sister had her baby. | The user's sister is pregnant.
Paid Carl back today. | The user owes Carl 300 pounds.
I've paid Carl back. | The user owes their brother Carl 300 pounds.
I've paid back my brother. | The user owes their brother 300 pounds.
I no longer owe Carl money. | The user owes Carl 300 pounds.
Fabi finally paid me back. | Fabi owes the user 80 euros.
Fabi gave me my money back. | Fabi owes the user 80 euros.
We sold the bakery. | The user runs a bakery in Bristol.
I've shut the shop down. | The user owns a shop.
I bought a Polo to replace the Golf. | The user drives a Golf.
I got rid of the car. | The user drives a Golf.
Mum's moved to Accra. | The user's mother lives in Kumasi.
Mum moved in with us. | The user's mother lives in Kumasi.
Dad moved to Ulm. | My father lives in Kiel.
Turns out I'm not allergic to nuts after all. | The user is allergic to nuts.
I'm not allergic to nuts, the test came back negative. | The user is allergic to nuts.
I quit my job at the bookstore today | The user works at the campus bookstore.
tyler and i broke up 😭 on valentine's day omg | The user is dating this guy named Tyler.
They moved the medical check to 27 April. | The medical check is on 20 April.
I changed company, now I drive for Girteka. | The user drives for the company Raben.
Oggi ho venduto la Panda. | La persona guida una Panda.
Mimì è morta stanotte, ho il cuore a pezzi. | La persona ha una gatta che si chiama Mimì.
Sold the Fiesta today. I'm getting around by bike. | The user drives an old Ford Fiesta.
I sold the Vespa last week. | The user rides a Vespa scooter.
Owen and I broke up last night. | The user has been dating a guy named Owen.
Vendí el Ibiza, ahora ando en metro. | La persona conduce un Seat Ibiza.
Früher wohnte ich in Bonn, jetzt wohne ich in Ulm. | Die Person wohnt in Bonn.
Antes vivía en Lugo, ahora vivo en Vigo. | La persona vive en Lugo.
Not vegan anymore, I caved. | The user is vegan.
El doctor me subió la metformina a 1000 mg. | La persona toma metformina, 850 mg.
Me mudé a Santiago el fin de semana pasado. | La persona vive en Lugo.
Unser Rex ist gestern gestorben, ich bin so traurig. | Die Person hat einen Hund namens Rex.
El yoga ha pasado a los martes. | Los lunes voy a yoga.
He vendido el Ibiza y me he comprado una moto. | La persona conduce un Seat Ibiza.
El médico me ha quitado el omeprazol. | La persona toma omeprazol.
Raúl ha dejado Correos, ahora es taxista. | Raúl es cartero.
Al final lo he dejado con Pablo. | El novio de la persona se llama Pablo.
Me vengo a vivir a Jerez con Marcos. | La persona vive en Sevilla.
Mi madre ha fallecido el domingo. | La madre de la persona vive en Teruel.
Kegeln ist jetzt immer donnerstags. | Dienstags gehe ich kegeln.
Der Passat ist Schrott, wir fahren jetzt einen Skoda. | Die Person fährt einen VW Passat.
J'ai revendu la Clio, je fais tout à vélo. | La personne roule en Clio.
J'en ai fini avec la cortisone. | La personne prend de la cortisone.
Je me suis installé à Rennes. | La personne habite à Nantes.
Pilates adesso è il venerdì. | Il mercoledì faccio pilates.
Davide si è licenziato, ora fa il tassista. | Davide fa il cuoco.
O futsal agora é às quintas. | Às terças jogo futsal.
Mudámo-nos para Gaia. | A pessoa mora no Porto.
Het is uit met Joris. | De vriend van de gebruiker heet Joris.
Hardlopen doe ik nu op woensdag. | Op maandag ga ik hardlopen.
Бассейн теперь по четвергам. | По вторникам хожу в бассейн.
Саша уволился, теперь он таксист. | Саша работает учителем.
羽毛球改到周日了。 | 每周六打羽毛球。
比亚迪卖了，换了辆特斯拉。 | 用户开一辆比亚迪。
ヨガは木曜日に変わりました。 | 毎週水曜日にヨガに通っています。
プリウスを売って、自転車にしました。 | ユーザーの車はプリウスです。
Dr. Patel bumped my citalopram up to 40 mg. | The user is on citalopram, 20 mg.
The doctor took me off citalopram, I'm on losartan now. | The user is on citalopram, 20 mg.
Got a flat of my own in Swinton, moved in last weekend. | The user lives in Salford.
I'm all settled in my new condo in Kettering. | The user lives in Dayton.
Sold the Fiesta, my eyes aren't good enough. | The user drives an old Ford Fiesta.
Pottery moved to Thursdays. | The user goes to a pottery class on Tuesdays.
Bowls has moved to Friday afternoons. | The user plays bowls at the club on Wednesday mornings.
Footy's been moved to Mondays and Wednesdays. | Harry has footy training Tuesdays and Thursdays.
lab got switched to Wednesdays | organic chem lab is on Mondays at 2
My class is on Thursdays now. | The user's class is on Tuesdays.
We moved choir to Fridays. | The user goes to choir on Mondays.
I've sold the Fiesta, I just cycle now. | The user drives an old Ford Fiesta.
Sold the Fiesta last week. | The user drives an old Ford Fiesta.
Sold the Fiesta, got a Mazda. | The user drives an old Ford Fiesta.
Traded the Fiesta in for a little Yaris. | The user drives an old Ford Fiesta.
Biscuit died this morning. | The user has a rabbit called Biscuit.
Biscuit passed away :( | The user has a rabbit called Biscuit.
We had to let Biscuit go on Monday. | The user has a rabbit called Biscuit.
Stopped the Portuguese, I'm doing Italian now instead. | The user is learning Portuguese on Duolingo.
I gave up on the ukulele. | The user is learning the ukulele.
Lucy dropped ballet. | Lucy does ballet on Saturday mornings.
switched my major to psychology!! | The user is majoring in biology.
The doctor doubled my citalopram to 40 mg. | The user is on citalopram, 20 mg.
My citalopram went up to 40 mg. | The user is on citalopram, 20 mg.
Finally off the citalopram, came off it last week. | The user is on citalopram, 20 mg.
I've come off the citalopram. | The user is on citalopram, 20 mg.
My doctor took me off citalopram. | The user is on citalopram, 20 mg.
Got my own flat now, in Brixton! | The user rents a room in Peckham.
I'm renting a flat in Brixton now. | The user rents a room in Peckham.
I moved into a flat in Brixton. | The user lives in the dorms.
quit starbucks, the manager was awful | The user works at Starbucks.
Kofi and I are back together. | The user broke up with Kofi.
The divorce came through. | The user's wife is called Anna.
We had to have Rex put down. | Rex lives in Kiel.
Bosch let me go. | The user works at Bosch.
I'm not vegetarian any more. | The user is vegetarian since yesterday.
I'm not vegetarian any more. | The user does not eat meat now, not even the goose.
I eat meat now. | The user is vegetarian.
I drink no more than one coffee a month. | The user does not drink coffee any more.
My dentist's appointment moved from the 14th to the 21st. | The user has an appointment at the dentist on 14 January.
I've gone vegan. | The user is vegetarian.
I handed in my notice. | The user works at Bosch.
I switched my number to 0170 555 333. | The user's phone number is 0170 123.
We've relocated to Leeds. | The user lives in Munich.
I moved back to Munich. | The user lives in Ulm.
I moved in with Tom in Graz. | The user lives in Munich.
I have a new job at Siemens. | The user works at Bosch.
I got a new job with Lidl. | The user works at Bosch.
I've been laid off. | The user works at Bosch.
I got the sack. | The user works at Bosch.
I lost my job. | The user works at Bosch.
I took early retirement. | The user works at Bosch.
I'm retired now. | The user works at Bosch.
I'm unemployed now. | The user works at Bosch.
I work for Lidl now. | The user works at Bosch.
I've left Bosch. | The user works at Bosch.
I left Bosch after ten years. | The user works at Bosch.
I left Bosch last month. | The user works at Bosch.
I'm no longer with Bosch. | The user works at Bosch.
Paula dumped me. | The user's girlfriend is called Paula.
Paula and I aren't together any more. | The user's girlfriend is called Paula.
I'm single again. | The user's wife is called Anna.
I split up with my boyfriend. | The user's wife is called Anna.
Tom and I called it quits. | The user is married to Tom.
It's over between Paula and me. | The user's girlfriend is called Paula.
I got engaged to Tom. | The user's wife is called Anna.
I married Tom in June. | The user's wife is called Anna.
I'm married to Tom now. | The user's wife is called Anna.
Our cat died yesterday. | The user has a cat.
Grandma passed away. | Grandma lives in Kiel.
My dad died of cancer. | The user's dad lives in Kiel.
We lost our dog to cancer. | The user has a dog.
We lost my grandmother last week. | The user's grandmother lives in Kiel.
Rex had to be put down. | Rex lives in Kiel.
Our hamster is no longer with us. | The user has a hamster.
I've gone off coffee. | The user likes coffee.
I don't eat meat any more. | The user eats meat.
I no longer eat meat. | The user eats meat.
I've given up alcohol. | The user drinks alcohol.
I've quit smoking. | The user smokes.
I stopped smoking. | The user smokes.
I don't smoke any more. | The user smokes.
I stopped going to the gym. | The user goes to the gym.
I cancelled my gym membership. | The user goes to the gym.
I sold my car. | The user drives a Golf.
I sold my bike. | The user's bike is a Brompton.
I dropped out of university. | The user studies medicine.
I graduated. | The user studies medicine.
We gave our dog away. | The user has a dog.
I turned 40 last week. | The user is 39 years old.
My new number is 0170 555. | The user's phone number is 0170 123.
My rent is now 1,310 euros. | The user's rent is 1,250 euros.
Rent went up to 1,310. | The user's rent is 1,250 euros.
My favourite colour is green now. | The user's favourite colour is blue.
I was promoted to team lead. | The user works as a nurse.
I've become a teacher. | The user works as a nurse.
I'm not a nurse any more. | The user works as a nurse.
I'm no longer vegetarian. | The user is vegetarian.
The meeting was moved to Friday. | The meeting is on Tuesday.
The meeting is now due on 14 May. | The meeting is due on 30 April.
I switched from sertraline to citalopram. | The user is on sertraline, 50 mg.
Switched from metformin to insulin last week, so far so good. | The user takes metformin.
They've stopped my warfarin and put me on apixaban. | The user is on warfarin.
The doctor swapped my ramipril for losartan. | The user takes ramipril.
My GP switched me from omeprazole to lansoprazole. | The user takes omeprazole.
The doctor stopped my warfarin. | The user is on warfarin.
I'm off prednisone completely since Monday! | The user is on prednisone.
Anna and I are splitting up. | The user's wife is called Anna.
Divorce came through today. | The user is married to Anna.
Lucy's moved to Leeds. | Lucy lives in York.
My new fav band is Muse. | The user's favourite band is Radiohead.
Ze hebben mijn metoprolol vervangen door bisoprolol. | De gebruiker slikt metoprolol.
Der Arzt hat mich von Ramipril auf Candesartan umgestellt. | Die Person nimmt Ramipril.
Il medico mi ha sostituito il ramipril con il losartan. | La persona prende il ramipril.
El médico me ha cambiado el ramipril por el losartán. | La persona toma ramipril.
Le médecin m'a remplacé le ramipril par du losartan. | La personne prend du ramipril.
The meeting's now on Friday the 27th. | The meeting is on Tuesday.
The meeting's been put off till the 20th because of the snow. | The meeting is on Tuesday.
The meeting has been postponed to June. | The meeting is on Tuesday.
They've pushed the meeting back to 6 April. | The meeting is on Tuesday.
Dr. Shah has moved the check-up to the 9th of June. | The check-up is on 2 June.
Sie haben die Besprechung auf den 3. März verschoben. | Die Besprechung ist am Dienstag.
Le chef a repoussé la réunion à lundi. | La réunion est le 3 mars.
Me han cambiado la cita al 17 de marzo. | La cita es el 3 de marzo.
Il dentista mi ha spostato la visita al 18 marzo. | La visita è il 4 marzo.
De tandarts heeft mijn afspraak verplaatst naar 17 maart. | De afspraak is op 4 maart.
A consulta passou para 9 de março. | A consulta é a 2 de março.
My new boss is Karin. | The user's boss is Tom.
I changed jobs and work at Lidl now. | The user works at Bosch.
I don't live in Munich any more. | The user lives in Munich.
Wir sind jetzt in Köln zu Hause. | Die Person wohnt in München.
Ich bin letzte Woche nach Ulm gezogen. | Die Person wohnt in München.
Bosch hat mir gekündigt. | Die Person arbeitet bei Bosch.
Ich habe die Kündigung eingereicht. | Die Person arbeitet bei Bosch.
Ich bin jetzt arbeitslos. | Die Person arbeitet bei Bosch.
Ich habe einen neuen Job bei Siemens. | Die Person arbeitet bei Bosch.
Ich habe als Ingenieur bei Siemens angefangen. | Die Person arbeitet bei Bosch.
Ich arbeite jetzt bei Lidl. | Die Person arbeitet bei Bosch.
Ich bin nicht mehr bei Bosch. | Die Person arbeitet bei Bosch.
Die Scheidung ist durch. | Die Frau der Person heißt Anna.
Paula hat sich von mir getrennt. | Die Freundin der Person heißt Paula.
Paula und ich haben Schluss gemacht. | Die Freundin der Person heißt Paula.
Ich bin wieder Single. | Die Frau der Person heißt Anna.
Oma ist gestern gestorben. | Oma wohnt in Kiel.
Unsere Katze Mia ist von uns gegangen. | Die Person hat eine Katze.
Wir haben unseren Hund an Krebs verloren. | Die Person hat einen Hund.
Ich habe mit dem Rauchen aufgehört. | Die Person raucht.
Ich rauche nicht mehr. | Die Person raucht.
Ich esse kein Fleisch mehr. | Die Person isst Fleisch.
Ich kann Jazz nicht mehr hören. | Die Person mag Jazz.
Ich bin vegan geworden. | Die Person ist vegetarisch.
Ich lebe nicht mehr vegan. | Die Person ist vegan.
Ich habe mein Auto verkauft. | Die Person fährt einen Golf.
Ich wohne nicht mehr in Erfurt. | Die Person wohnt in Erfurt.
Ich bin keine Lehrerin mehr. | Die Person arbeitet als Lehrerin.
Je suis au chômage maintenant. | La personne travaille chez Airbus.
J'ai posé ma démission. | La personne travaille chez Airbus.
J'ai quitté Airbus. | La personne travaille chez Airbus.
Je ne suis plus chez Airbus. | La personne travaille chez Airbus.
J'ai quitté mon mari. | Le mari de la personne s'appelle Paul.
Le divorce est prononcé. | Le mari de la personne s'appelle Paul.
C'est fini avec Paul. | Le mari de la personne s'appelle Paul.
Je suis célibataire. | Le mari de la personne s'appelle Paul.
On a dû faire piquer notre chat. | La personne a un chat.
J'ai arrêté l'alcool. | La personne boit de l'alcool.
J'ai arrêté la viande. | La personne mange de la viande.
Je ne mange plus de viande. | La personne mange de la viande.
Je ne suis plus végétarienne. | La personne est végétarienne.
Je suis devenue végane. | La personne est végétarienne.
J'ai vendu ma voiture. | La personne conduit une Clio.
J'ai déménagé à Metz le mois dernier. | La personne habite à Nantes.
Je travaille maintenant chez Lidl. | La personne travaille chez Airbus.
J'ai été embauchée chez Lidl. | La personne travaille chez Airbus.
J'ai commencé à travailler chez Lidl. | La personne travaille chez Airbus.
Je n'aime plus le jazz. | La personne aime le jazz.
Je ne fume plus. | La personne fume.
Estoy en paro. | La persona trabaja en Seat.
He presentado mi dimisión. | La persona trabaja en Seat.
Me quedé sin trabajo. | La persona trabaja en Seat.
Me han despedido de Seat. | La persona trabaja en Seat.
Ya no estoy en Seat. | La persona trabaja en Seat.
He dejado el trabajo. | La persona trabaja en Seat.
He empezado a trabajar en Lidl. | La persona trabaja en Seat.
Se nos ha muerto el perro. | La persona tiene un perro.
Perdimos a nuestro perro. | La persona tiene un perro.
Ya no estoy con Paco. | El marido de la persona se llama Paco.
He roto con Paco. | El marido de la persona se llama Paco.
Paco me ha dejado. | El marido de la persona se llama Paco.
Estoy soltera. | El marido de la persona se llama Paco.
Me he divorciado. | El marido de la persona se llama Paco.
He dejado de fumar. | La persona fuma.
Ya no como carne. | La persona come carne.
Me he hecho vegana. | La persona es vegetariana.
Ya no soy vegana. | La persona es vegana.
He vendido mi coche. | La persona conduce un Seat.
Nos mudamos a Vigo la semana pasada. | La persona vive en Valencia.
Ya no vivo en Vigo. | La persona vive en Vigo.
Odio el jazz. | A la persona le gusta el jazz.
我搬到杭州了。 | 用户住在上海。
我跳槽到阿里了。 | 用户在腾讯工作。
我被公司裁了。 | 用户在腾讯工作。
我被炒鱿鱼了。 | 用户在腾讯工作。
我辞职了。 | 用户在腾讯工作。
我离婚了。 | 用户的丈夫叫健太。
我和小丽分手了。 | 用户的老婆叫小丽。
我不吃肉了。 | 用户吃肉。
我不再喝酒。 | 用户喝酒。
我对爵士乐没兴趣了。 | 用户喜欢爵士乐。
外婆去世了。 | 外婆住在北京。
福岡に引っ越しました。 | ユーザーは大阪に住んでいます。
会社を辞めました。 | ユーザーはトヨタで働いています。
仕事をやめました。 | ユーザーはトヨタで働いています。
トヨタを退職しました。 | ユーザーはトヨタで働いています。
ソニーに転職しました。 | ユーザーはトヨタで働いています。
離婚しました。 | ユーザーの夫は健太です。
健太と別れました。 | ユーザーの夫は健太です。
祖母が亡くなりました。 | 祖母は京都に住んでいます。
辞表を出しました。 | ユーザーはトヨタで働いています。
ジャズは好きじゃなくなりました。 | ユーザーはジャズが好きです。
So, bin jetzt nach Gratkorn gezogen | Die Person wohnt in Graz.
Wir wohnen wieder in Köln | Die Person wohnt in Rom.
Ich esse wieder Fleisch | Die Person isst kein Fleisch.
Ich esse wieder Fleisch | Die Person ist vegetarisch.
Ich bin wieder vegan | Die Person ist nicht mehr vegan.
Sophie und ich haben uns getrennt | Die Freundin der Person heißt Sophie.
Mit Sophie ist Schluss | Die Freundin der Person heißt Sophie.
Ich habe mich von Sophie getrennt | Die Freundin der Person heißt Sophie.
Meine neue Freundin heißt Mirjam | Die Freundin der Person heißt Sophie.
Das Baby ist da | Die Person ist schwanger.
Unsere Tochter ist am Freitag geboren | Die Person ist schwanger.
Ich habe entbunden | Die Person ist schwanger.
Wir haben das Baby verloren | Die Person ist schwanger.
Meine Schwester hat ihr Kind bekommen | Die Schwester der Person ist schwanger.
Lena hat entbunden | Lena ist schwanger.
Ich hab Fabi das Geld zurückgezahlt | Die Person schuldet Fabi 80 Euro.
Der Fabi hat mir die 80 Euro endlich zurückgezahlt | Fabi schuldet der Person 80 Euro.
Fabi hat mir das Geld zurückgegeben | Fabi schuldet der Person 80 Euro.
Mama ist nach Bremen gezogen | Die Mutter der Person wohnt in Kiel.
Meine Mama ist nach Bremen gezogen | Die Mutter der Person wohnt in Kiel.
Papa ist zu uns gezogen | Der Vater der Person wohnt in Kiel.
Ich nehme kein Ramipril mehr | Die Person nimmt Ramipril.
Ramipril wurde abgesetzt | Die Person nimmt Ramipril.
Meine neue Hausärztin ist Dr. Klein | Die Hausärztin der Person ist Dr. Weber.
Studium fertig! | Die Person studiert Maschinenbau.
Ich habe mein Studium abgeschlossen | Die Person studiert Maschinenbau.
Der Zahnarzttermin ist auf Montag verschoben | Der Zahnarzttermin der Person ist am 18. Februar.
Ich bin doch nicht allergisch gegen Nüsse | Die Person ist allergisch gegen Nüsse.
Ich bin nicht mehr gegen Nüsse allergisch | Die Person ist gegen Nüsse allergisch.
Ich arbeite nicht mehr bei Bosch, sondern bei Siemens | Die Person arbeitet bei Bosch.
Bei Bosch hab ich gekündigt | Die Person arbeitet bei Bosch.
Unser Hund ist gestern gestorben | Die Person hat einen Hund.
Nos hemos mudado a Castellón | La persona vive en Valencia.
Vuelvo a vivir en Madrid | La persona vive en Valencia.
Vivo otra vez en Madrid | La persona vive en Valencia.
Ahora vivimos en Madrid | La persona vive en Valencia.
Ya no soy vegetariana | La persona es vegetariana.
He vuelto a comer carne | La persona es vegetariana.
Ya nació | La persona está embarazada.
Ya ha nacido la niña | La persona está embarazada.
He dado a luz | La persona está embarazada.
Nació mi hija | La persona está embarazada.
Perdimos el bebé | La persona está embarazada.
Léa ha tenido el bebé | Léa está embarazada.
Ya le he pagado a Carlos | La persona le debe 300 euros a Carlos.
Le devolví el dinero a Carlos | La persona debe 300 euros a Carlos.
Carlos me ha devuelto el dinero | Carlos le debe 300 euros a la persona.
Mamá se ha mudado a Zaragoza | La madre de la persona vive en Teruel.
Mi mamá se mudó a Zaragoza | La madre de la persona vive en Teruel.
Pablo y yo lo hemos dejado | El novio de la persona se llama Pablo.
He roto con Pablo | El novio de la persona se llama Pablo.
He dejado a Pablo | El novio de la persona se llama Pablo.
He dejado Seat | La persona trabaja en Seat.
Me han despedido | La persona trabaja en Seat.
Ya no trabajo de enfermera | La persona trabaja de enfermera.
Mi hermano ha dejado el bar, ahora trabaja de programador | El hermano de la persona trabaja de camarero.
Ya no tomo omeprazol | La persona toma omeprazol.
Me han quitado el omeprazol | La persona toma omeprazol.
Se nos murió el perro | La persona tiene un perro.
Al final no soy alérgica al marisco | La persona es alérgica al marisco.
On habite de nouveau à Paris | La personne habite à Nantes.
J'habite maintenant à Paris | La personne habite à Nantes.
En fait je ne suis plus végétarienne | La personne est végétarienne.
Je ne suis plus végétarienne, je remange du poisson | La personne est végétarienne.
Je remange de la viande | La personne est végétarienne.
J'ai recommencé à manger de la viande | La personne est végétarienne.
Je suis de nouveau végétarienne | La personne n'est plus végétarienne.
J'ai accouché hier | La personne est enceinte.
Le bébé est né | La personne est enceinte.
Notre fille est née lundi | La personne est enceinte.
J'ai fait une fausse couche | La personne est enceinte.
Léa a accouché d'un petit garçon | Léa est enceinte.
Ma sœur a accouché | La sœur de la personne est enceinte.
J'ai remboursé Marc | La personne doit 300 euros à Marc.
Marc m'a remboursé | Marc doit 300 euros à la personne.
Maman a déménagé à Rennes | La mère de la personne habite à Brest.
Ma maman a déménagé à Rennes | La mère de la personne habite à Brest.
Avec Yanis c'est fini, je l'ai quitté hier | Le copain de la personne s'appelle Yanis.
J'ai quitté Yanis | Le copain de la personne s'appelle Yanis.
Yanis et moi, on n'est plus ensemble | Le copain de la personne s'appelle Yanis.
Yanis et moi on s'est séparés | Le copain de la personne s'appelle Yanis.
J'ai démissionné du resto | La personne est serveuse dans un resto.
Du coup j'ai démissionné du resto | La personne est serveuse dans un resto.
Je ne suis plus serveuse | La personne est serveuse.
J'ai été prise chez Decathlon | La personne travaille chez Airbus.
J'ai un nouveau boulot chez Decathlon | La personne travaille chez Airbus.
J'ai quitté Airbus | La personne travaille chez Airbus.
Je ne prends plus de Doliprane | La personne prend du Doliprane.
Finalement je ne suis pas allergique aux noix | La personne est allergique aux noix.
Notre chien est mort hier | La personne a un chien.
Vivo di nuovo a Torino | La persona vive a Milano.
Sono tornata a vivere a Torino | La persona vive a Milano.
Sono tornata a vivere a Torino | La persona si è trasferita a Milano.
Non sono più vegetariana | La persona è vegetariana.
Mangio di nuovo carne | La persona è vegetariana.
Ho partorito ieri | La persona è incinta.
È nata la bambina | La persona è incinta.
È nato nostro figlio | La persona è incinta.
Lucia ha partorito | Lucia è incinta.
Ho ridato i soldi a Marco | La persona deve 300 euro a Marco.
Marco mi ha restituito i soldi | Marco deve 300 euro alla persona.
Mamma si è trasferita a Savona | La madre della persona vive a Cuneo.
Mia mamma si è trasferita a Savona | La madre della persona vive a Cuneo.
Matteo e io ci siamo lasciati | Il ragazzo della persona si chiama Matteo.
Ho lasciato Matteo | Il ragazzo della persona si chiama Matteo.
Con Matteo è finita | Il ragazzo della persona si chiama Matteo.
Mi sono licenziata | La persona lavora alla Fiat.
Non faccio più l'architetta | La persona fa l'architetta.
Non prendo più il ramipril | La persona prende il ramipril.
Alla fine non sono allergica alle noci | La persona è allergica alle noci.
Rex è morto | Il cane della persona si chiama Rex.
We wonen nu in Gent | De gebruiker woont in Utrecht.
Ik woon weer in Gent | De gebruiker woont in Utrecht.
Ik eet weer vlees | De gebruiker eet geen vlees.
Ik ben niet meer vegetarisch | De gebruiker is vegetarisch.
Ik ben bevallen | De gebruiker is zwanger.
De baby is geboren | De gebruiker is zwanger.
Onze dochter is geboren | De gebruiker is zwanger.
Lisa is bevallen | Lisa is zwanger.
Ik heb Anouk terugbetaald | De gebruiker is Anouk 500 euro schuldig.
Anouk heeft me terugbetaald | Anouk is de gebruiker 500 euro schuldig.
Mama is naar Assen verhuisd | De moeder van de gebruiker woont in Zwolle.
Mijn mam is naar Assen verhuisd | De moeder van de gebruiker woont in Zwolle.
Joris en ik zijn uit elkaar | De vriend van de gebruiker heet Joris.
Het is uit met Joris | De vriend van de gebruiker heet Joris.
Ik ben geen leraar meer | De gebruiker werkt als leraar.
Ik heb ontslag genomen | De gebruiker werkt bij ING.
Ik slik geen ramipril meer | De gebruiker slikt ramipril.
Ik blijk toch niet allergisch voor noten | De gebruiker is allergisch voor noten.
Voltei a morar em Olinda | A pessoa mora em Recife.
Moro de novo em Olinda | A pessoa mora em Recife.
Não sou mais vegetariana | A pessoa é vegetariana.
Voltei a comer carne | A pessoa é vegetariana.
O bebê nasceu | A pessoa está grávida.
Minha filha nasceu ontem | A pessoa está grávida.
A Tainá deu à luz | Tainá está grávida.
Paguei o Beto | A pessoa deve 900 reais a Beto.
Beto me pagou | Beto deve 900 reais à pessoa.
Mamãe se mudou pra Natal | A mãe da pessoa mora em Olinda.
Minha mãe se mudou pra Natal | A mãe da pessoa mora em Olinda.
João e eu terminamos | O namorado da pessoa se chama João.
Terminei com o João | O namorado da pessoa se chama João.
Não trabalho mais como motorista | A pessoa trabalha como motorista.
Pedi demissão da Vale | A pessoa trabalha na Vale.
Não tomo mais losartana | A pessoa toma losartana.
Мы снова живём в Москве | Пользователь живёт в Калининграде.
Я опять живу в Москве | Пользователь живёт в Калининграде.
Я больше не вегетарианец | Пользователь вегетарианец.
Я снова ем мясо | Пользователь не ест мясо.
Я родила | Пользователь беременна.
Марина родила | Марина беременна.
Я вернула Марине долг | Пользователь должен Марине 15000 рублей.
Вернула Марине долг | Пользователь должна Марине 15000 рублей.
Марина вернула мне долг | Марина должна пользователю 100 рублей.
Мама переехала в Тулу | Мать пользователя живёт в Твери.
Мама переехала в Тулу | Мама пользователя живёт в Твери.
Мы с Сергеем развелись | Мужа пользователя зовут Сергей.
Я уволилась | Пользователь работает бухгалтером.
Я уволилась из школы | Пользователь работает в школе.
Дима переехал в Москву | Дима живёт в Питере.
Я больше не принимаю эналаприл | Пользователь принимает эналаприл.
今は日産のノートに乗っています。 | 車はトヨタのヤリスに乗っています。
今は日産のノートに乗っています。 | ユーザーはヤリスに乗っています。
昨日、出産しました。 | ユーザーは妊娠しています。
赤ちゃんが生まれました。 | ユーザーは妊娠しています。
また東京に住んでいます。 | ユーザーは大阪に住んでいます。
今は神戸に住んでいます。 | ユーザーは大阪に住んでいます。
弟にお金を返しました。 | ユーザーは弟に3万円借りています。
もうベジタリアンではありません。 | ユーザーはベジタリアンです。
市役所を辞めました。 | ユーザーは市役所で働いています。
健二と離婚しました。 | ユーザーの夫は健二です。
犬が死にました。 | ユーザーは犬を飼っています。
""".strip().splitlines()
]
