"""The form in which the offline extractor's patterns are written, and the groups of
words they share (rows X2, C3).

A rule stands on three lines or more: its name with category, strength, the test that
its object must pass and what else holds (`tag:`, `to-bot` for words spoken to an
assistant, `as-of` for what is true at a date); its pattern, continued on lines of the
same depth; and after `=` the statement. A pattern is matched at the beginning of a
clause, without regard to case; `<KIN>` is a group of words below. What follows the
match is the object `{o}`, which a rule whose test is `none` leaves out with the time it
names; `{s}` is the subject's name, `{p}` the speaker's possessive, `{v}` the present
verb matched by the group `v`, conjugated, `{w}` and `{x}` the words matched by `w` and
`x`. The first rule that matches a clause and whose object passes decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern; `strength` is sure, probable or weak; `wants` names the test of the
    object (`rules`).
    """

    name: str
    category: str
    strength: str
    wants: str
    head: re.Pattern[str]
    says: str
    tags: tuple[str, ...] = ()
    to_bot: bool = False
    as_of: bool = False


_GROUPS = r"""
CAP
    (?-i:[A-Z])
ADVERB
    (?:(?:really|absolutely|also|just|still|always|particularly|especially|truly|definitely|generally|personally
    |actually|currently|usually|mostly|often|totally|do|now|already|simply|both|have always|recently|finally
    |officially|even|very much|genuinely|always have|only)\s+){0,2}
I
    i\s+<ADVERB>
AM
    i(?:'?m|\s+am)\s+<ADVERB>
HAVE
    i(?:'ve|\s+have)\s+<ADVERB>
KIN
    (?:(?:older|younger|little|big|twin|eldest|oldest|youngest|best|step|late|new|old|former|first|second|middle
    |half|dear|good|close|upstairs|downstairs|next-door|\d{1,2}[- ]year[- ]old)[ -]?)?(?:wife
    |husband|spouse|partner|girlfriend|boyfriend|fiancée?|fiance|mother|father|mom|mum|dad|parents|son|daughter|sister|brother|sons|daughters|sisters|brothers|kids|children|child
    |baby|grandmother|grandfather|grandma|grandpa|gran|nan|aunt|uncle|cousin|cousins|nephew|niece|siblings|twins
    |friend|friends|roommate|flatmate|housemate|neighbou?r|boss|manager|coworker|co-worker|colleague|mentor
    |therapist|doctor|dentist|teacher|coach|mother-in-law|father-in-law|sister-in-law|brother-in-law|stepmother
    |stepfather|godson|goddaughter|ex-wife|ex-husband|ex)
PET
    (?:dogs?|cats?|pupp(?:y|ies)|kittens?|rabbits?|hamsters?|parrots?|birds?|fish|goldfish|turtles?|tortoises?
    |horses?|pon(?:y|ies)|guinea pigs?|snakes?|lizards?|geckos?|chickens?|ferrets?|retrievers?|labradors?
    |poodles?|beagles?|pets?)
CLOSE
    (?:(?:small|little|young|grown-up|adult|teenage|\d{1,2}[- ](?:year|month)s?[- ]old)[ -])?(?:kids?
    |children|sons?|daughters?|twins|baby)
ILLNESS
    (?:(?:type [12] )?diabetes|asthma|(?:celiac|coeliac)(?: disease)?|epilepsy|adhd|migraines?|arthritis
    |high blood pressure|hypertension|(?:chronic )?depression|anxiety|eczema|psoriasis|ibs|endometriosis|lupus|dyslexia
    |insomnia|hay fever|tinnitus|cancer|crohn's(?: disease)?|multiple sclerosis|a (?:bad|weak) (?:back|knee|heart))
NUMBER
    (?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen
    |eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)
IS
    (?:is|'s)
COUNT
    (?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}|twin)
JOB
    (?:teacher|engineer|nurse|doctor|developer|programmer|designer|architect|lawyer|attorney|accountant|chef
    |cook|baker|barista|writer|author|journalist|editor|translator|artist|painter|photographer|musician|singer
    |dancer|actor|actress|director|producer|student|professor|researcher|scientist|physicist|chemist|biologist
    |mathematician|economist|therapist|psychologist|counsel+or|social worker|pharmacist|dentist|vet|veterinarian
    |paramedic|firefighter|police officer|soldier|veteran|pilot|flight attendant|driver|mechanic|electrician
    |plumber|carpenter|farmer|gardener|manager|consultant|analyst|administrator|receptionist|secretary
    |librarian|salesperson|marketer|recruiter|entrepreneur|freelancer|founder|banker|trader|broker|realtor|coach
    |trainer|instructor|waiter|waitress|bartender|hairdresser|barber|tailor|technician|surveyor|geologist
    |astronomer|historian|midwife|physiotherapist|optician|surgeon|radiologist|intern|apprentice|technologist
    |mother|father|mom|mum|dad|widow|widower|vegetarian|vegan|pescatarian|christian|muslim|buddhist|atheist
    |diabetic|celiac|coeliac|[a-z]{2,}(?:ologist|ographer|ician)
    |(?:film|dress|watch|shoe)maker|(?:bee|shop|zoo)keeper|inspector|pastry chef)
THING
    (?:(?:native|first) language|mother tongue|home ?town|hometown|birthday|wedding anniversary|anniversary
    |middle name|last name|surname|nickname|nationality|pronouns|blood type|star sign|zodiac sign|emergency contact
    |(?:shoe|glove|ring|hat|shirt|dress|jacket|coat|trouser) size
    |time ?zone|major|degree|employer|company|job title|current job|day job|daily commute|commute|car|diet
    |salary|rent|hobby|hobbies|main hobb(?:y|ies)|passion|dream job|main goal|goal|sleep schedule|bedtime
    |work hours|email|e-mail|phone|laptop)
PAST
    (?:adopted|attended|became|began|bought|baked|booked|brought|built|broke|camped|celebrated|chose|climbed
    |completed|cooked|created|designed|donated|dropped|dyed|ended|enrolled|explored|filmed|finished|flew|founded
    |gave|got|graduated|had|helped|hiked|hired|hosted|injured|installed|interviewed|invited|joined|launched
    |learned|left|lost|made|married|met|moved|opened|ordered|organi[sz]ed|participated|passed|painted|performed
    |picked|planted|played|presented|printed|published|quit|ran|received|registered|released|rented|repaired
    |retired|returned|sang|saw|scored|sent|set up|signed|sold|spent|spoke|sprained|started|stayed|stopped
    |submitted|switched|taught|took|travel+ed|tried|upgraded|visited|volunteered|walked|watched|welcomed|went
    |witnessed|won|worked|wrote|accepted|applied|resigned|planned|was diagnosed|was born|was promoted|was hired
    |managed|danced|inspected|pulled|fixed|parked|drove|rode|swam|sailed|recorded|tested|delivered|defended|caught
    |sprained|tore|was laid off|was accepted|was (?:in|at)(?= (?:<CAP>|the |my ))|called|phoned|emailed|had to)
PET_OR_HOME
    (?:new |second |first |used |little |cute |beautiful )?(?:house|home|flat|apartment|condo|car|bike
    |motorcycle|boat|piano|guitar|violin|laptop|camera|<PET>)
MILESTONE
    (?:adopted (?:a|an|two|our|my)|graduated|got (?:married|engaged|divorced|promoted|laid off|fired|hired
    |accepted|my degree|my master's|my phd|a new job|a promotion)|lost my job|quit my job|retired from|retired
    |enrolled in|signed up for|moved (?:in with|into|back to|to <CAP>|from <CAP>)|bought (?:a|an|my
    |our) <PET_OR_HOME>|got (?:a|an|two|my) <PET_OR_HOME>|(?:was|got) diagnosed with|gave birth|(?:opened
    |launched|started) my (?:own|first)|started (?:taking|learning|working|playing|training|volunteering
    |a new job)|became (?:a|an) |published (?:a|an|my)|won (?:a|an|the|my)|ran (?:a
    |my first) (?:\w+ )?(?:half[- ])?marathon|passed (?:my|the)|pulled a muscle|(?:sprained|tore|fractured) my
    |started (?:[\w-]+ )?(?:lessons|classes|therapy)|finished (?:reading|writing|my)|was born (?:in
    |on)|grew up (?:in|on)|studied (?:at|in)?|majored in|served in|broke my|joined (?:a|an|the)
    |stopped (?:eating|drinking|smoking)|gave up)
ASKED
    (?:(?:from now on|going forward|in future|in the future),? )?(?:please,? )?
TO_BOT_VERB
    (?:use|answer|reply|write|call|include|add|ask|give(?! up| in)|keep(?! going)|format|explain|cite|avoid|respond
    |speak|address|show|send|remind|suggest|mention|recommend|assume|translate|refer|share|provide|check)
DOING
    (?:reading|learning|studying|training for|training to|working as|working at|working for
    |working on my|writing a|writing my|taking (?:a|an|online|guitar|piano|dance|violin|singing|swimming)
    |building (?:a|an|my)|recovering from|saving (?:up )?for|renovating|majoring in|pursuing|doing (?:a|an
    |my) (?:phd|master's|internship|degree)|living (?:in|with)|staying (?:in|with)|renting)
BUSY
    (?:painting|playing|learning|studying|working|teaching|living|dating|running|training
    |practi[cs]ing(?! for| since)
    |collecting|using|taking|volunteering|writing|writing for|reading|listening to|watching|cooking|baking
    |gardening|cycling|swimming|attending|growing|following|doing|going to|making|seeing a|sharing|driving
    |coding|knitting|hiking|climbing)
FUTURE_DOING
    (?:going (?:to(?= <CAP>)|to (?:an?|the|my)|on (?:a|an|my)|camping|hiking|skiing)|coming (?:to|back|home)
    |flying|travel+ing|moving|starting|meeting|visiting|leaving|hosting|running|attending|having (?:a|an|my)
    |getting married|taking|launching|opening|performing|joining|presenting|competing|giving (?:a|my)
    |seeing (?:a|my|the)|participating|throwing (?:a|my))
TO_DO
    (?:call|phone|ring|email|text|write to|send|mail|post|book|reserve|buy|order|pick up|drop off|collect|bring back
    |return|pay|renew|cancel|apply for|register|sign|submit|hand in|file|schedule|arrange|make an appointment|clean|wash
    |repair|fix|replace|print|pack|visit|talk to|prepare)
OCCASION
    (?:appointment|meeting|interview|exam|test|flight|deadline|party|wedding|concert|audition|competition
    |tournament|surgery|operation|presentation|conference|date|class|lesson|race|marathon|trip|holiday|vacation
    |reservation|recital|talk|lecture|hearing|course|rehearsal|show|game|match|check-?up|gig|performance|workshop)
GOES
    (?:starts|moves|comes|arrives|leaves|returns|flies|travels|visits)
GOING
    (?:coming|moving|leaving|visiting|flying|starting|arriving|returning|getting married|having (?:a baby|surgery))
DEPARTURE
    (?:train|night train|ferry|flight|bus|plane|ship|boat)
TONGUE
    (?:English|Spanish|French|German|Italian|Portuguese|Dutch|Swedish|Norwegian|Danish|Finnish|Polish|Czech
    |Russian|Ukrainian|Greek|Turkish|Arabic|Hebrew|Persian|Farsi|Hindi|Urdu|Bengali|Tamil|Mandarin|Cantonese
    |Chinese|Japanese|Korean|Vietnamese|Thai|Indonesian|Tagalog|Swahili|Romanian|Hungarian|Catalan|Irish|Welsh
    |Latin)
SEIN
    (?:Vater|Bruder|Sohn|Mann|Ehemann|Freund|Onkel|Opa|Großvater|Cousin|Neffe|Schwager|Chef|Kollege|Nachbar|Vermieter
    |Mitbewohner|Lehrer|Arzt|Zahnarzt|Hund|Kater)
IHRE
    (?:Mutter|Schwester|Tochter|Frau|Ehefrau|Freundin|Tante|Oma|Großmutter|Cousine|Nichte|Schwägerin|Chefin|Kollegin
    |Nachbarin|Vermieterin|Mitbewohnerin|Lehrerin|Ärztin|Zahnärztin|Katze|Hündin)
SON
    (?:père|frère|fils|mari|copain|cousin|chef|patron|collègue|voisin|chien|chat)
SA
    (?:mère|sœur|soeur|fille|femme|copine|tante|cousine|cheffe|patronne|collègue|voisine|chienne|chatte)
SUYO
    (?:padre|hermano|hijo|marido|esposo|novio|amigo|tío|primo|jefe|vecino|profesor|perro|gato)
SUYA
    (?:madre|hermana|hija|mujer|esposa|novia|amiga|tía|prima|jefa|vecina|profesora|perra|gata)
TUT
    (?:ist|hat|war|wohnt|lebt|arbeitet|studiert|kommt|spielt|mag|liebt|hasst|wird|macht|geht|fährt|heiratet|besucht|isst
    |zieht|feiert)
TRAIT
    (?:vegan|vegetarian|pescatarian|lactose[- ]intolerant|gluten[- ]intolerant|gluten-free|diabetic|celiac
    |coeliac|left-handed|right-handed|colou?r-?blind|deaf|blind|dyslexic|autistic|married|single|engaged
    |divorced|widowed|separated|pregnant|retired|unemployed|self-employed|bilingual|transgender|trans|gay
    |lesbian|bisexual|queer|non-?binary|asexual|jewish|catholic|christian|muslim|hindu|buddhist|asthmatic
    |an only child|sober)
PLAYED
    (?:guitar|piano|violin|cello|drums|flute|clarinet|saxophone|trumpet|ukulele|bass|harp|banjo|viola|oboe)
"""


def _blocks(text: str) -> list[tuple[str, list[str]]]:
    """Each unindented line with the lines indented below it."""
    blocks: list[tuple[str, list[str]]] = []
    for line in text.strip().split("\n"):
        if line.startswith(" "):
            blocks[-1][1].append(line[4:])
        else:
            blocks.append((line, []))
    return blocks


def _expanded(pattern: str, groups: dict[str, str]) -> str:
    return re.sub(r"<([A-Z_]+)>", lambda found: groups[found[1]], pattern)


def _read_groups(text: str) -> dict[str, str]:
    groups: dict[str, str] = {}
    for name, lines in _blocks(text):
        groups[name] = _expanded("".join(lines), groups)
    return groups


GROUPS = _read_groups(_GROUPS)


def read_rules(text: str) -> tuple[Rule, ...]:
    """The rules of a table in the form above."""
    rules = []
    for title, lines in _blocks(text):
        name, _, rest = title.partition(": ")
        category, strength, wants, *more = rest.split()
        pattern = _expanded("".join(lines[:-1]), GROUPS)
        rules.append(
            Rule(
                name,
                category,
                strength,
                wants,
                re.compile(rf"(?:{pattern})(?!\w)\s*", re.IGNORECASE),
                lines[-1].removeprefix("= "),
                tuple(
                    word.removeprefix("tag:")
                    for word in more
                    if word.startswith("tag:")
                ),
                to_bot="to-bot" in more,
                as_of="as-of" in more,
            )
        )
    return tuple(rules)


REMEMBER = re.compile(
    r"(?:please |and |also |so )*(?:remember|keep in mind|don't forget|do not forget|note|make a note|for the record"
    r"|fyi|just so you know|for future reference)(?: that\b|:|,)\s*",
    re.IGNORECASE,
)
"""A request to remember what follows."""
