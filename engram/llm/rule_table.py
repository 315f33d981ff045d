"""The patterns of the offline extractor: what an assertion looks like and what it says (rows X2, C3).

A rule stands on three lines or more: its name with category, strength, the test that its object must pass
and what else holds (`tag:`, `to-bot` for words spoken to an assistant, `as-of` for what is true at a
date); its pattern, continued on lines of the same depth; and after `=` the statement. A pattern is matched
at the beginning of a clause, without regard to case; `<KIN>` is a group of words below. What follows the match
is the object `{o}`; `{s}` is the subject's name, `{p}` the speaker's possessive, `{v}` the present verb matched
by the group `v`, conjugated, `{w}` and `{x}` the words matched by `w` and `x`. The first
rule that matches a clause and whose object passes decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern; `strength` is sure, probable or weak; `wants` names the test of the object (`rules`)."""

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
    |officially|even|very much|genuinely|always have)\s+){0,2}
I
    i\s+<ADVERB>
AM
    i(?:'m|\s+am)\s+<ADVERB>
HAVE
    i(?:'ve|\s+have)\s+<ADVERB>
KIN
    (?:(?:older|younger|little|big|twin|eldest|oldest|youngest|best|step|late|new
    |\d{1,2}[- ]year[- ]old)[ -]?)?(?:wife|husband|spouse|partner|girlfriend|boyfriend|fiancée?|fiance|mother
    |father|mom|mum|dad|parents|son|daughter|sister|brother|sons|daughters|sisters|brothers|kids|children|child
    |baby|grandmother|grandfather|grandma|grandpa|gran|nan|aunt|uncle|cousin|cousins|nephew|niece|siblings|twins
    |friend|friends|roommate|flatmate|housemate|neighbou?r|boss|manager|coworker|co-worker|colleague|mentor
    |therapist|doctor|dentist|teacher|coach|mother-in-law|father-in-law|sister-in-law|brother-in-law|stepmother
    |stepfather|godson|goddaughter|ex-wife|ex-husband|ex)
PET
    (?:dogs?|cats?|pupp(?:y|ies)|kittens?|rabbits?|hamsters?|parrots?|birds?|fish|goldfish|turtles?|tortoises?
    |horses?|pon(?:y|ies)|guinea pigs?|snakes?|lizards?|geckos?|chickens?|ferrets?|retrievers?|labradors?
    |poodles?|beagles?|pets?)
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
    |diabetic|celiac|coeliac)
THING
    (?:(?:native|first) language|mother tongue|home ?town|hometown|birthday|wedding anniversary|anniversary
    |middle name|last name|surname|nickname|nationality|pronouns|blood type|shoe size|star sign|zodiac sign
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
    |was laid off|was accepted|was (?:in|at)(?= (?:<CAP>|the |my ))|called|phoned|emailed|had to)
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
    |my first) (?:\w+ )?(?:half[- ])?marathon|passed (?:my|the)|finished (?:reading|writing|my)|was born (?:in
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
    (?:going (?:to (?:a|an|the|my)|on (?:a|an|my)|camping|hiking|skiing)|flying|travel+ing|moving|starting
    |meeting|visiting|leaving|hosting|running|attending|having (?:a|an|my)|getting married|taking|launching
    |opening|performing|joining|presenting|competing|giving (?:a|my)|seeing (?:a|my|the)|participating
    |throwing (?:a|my))
OCCASION
    (?:appointment|meeting|interview|exam|test|flight|deadline|party|wedding|concert|audition|competition
    |tournament|surgery|operation|presentation|conference|date|class|lesson|race|marathon|trip|holiday|vacation
    |reservation|recital|show|game|match|check-?up|gig|performance|workshop)
TONGUE
    (?:English|Spanish|French|German|Italian|Portuguese|Dutch|Swedish|Norwegian|Danish|Finnish|Polish|Czech
    |Russian|Ukrainian|Greek|Turkish|Arabic|Hebrew|Persian|Farsi|Hindi|Urdu|Bengali|Tamil|Mandarin|Cantonese
    |Chinese|Japanese|Korean|Vietnamese|Thai|Indonesian|Tagalog|Swahili|Romanian|Hungarian|Catalan|Irish|Welsh
    |Latin)
TRAIT
    (?:vegan|vegetarian|pescatarian|lactose[- ]intolerant|gluten[- ]intolerant|gluten-free|diabetic|celiac
    |coeliac|left-handed|right-handed|colou?r-?blind|deaf|blind|dyslexic|autistic|married|single|engaged
    |divorced|widowed|separated|pregnant|retired|unemployed|self-employed|bilingual|transgender|trans|gay
    |lesbian|bisexual|queer|non-?binary|asexual|jewish|catholic|christian|muslim|hindu|buddhist|asthmatic
    |an only child|sober)
PLAYED
    (?:guitar|piano|violin|cello|drums|flute|clarinet|saxophone|trumpet|ukulele|bass|harp|banjo|viola|oboe)
"""

_ENGLISH = r"""
name: fact sure name
    my (?:full |first )?name(?:'s| is)|i'm called|i am called
    = {p} name is {o}
call me: preference probable name to-bot
    (?:please |you can |just )?call me
    = {s} wants to be called {o}
age: fact sure any as-of
    <AM>(?:now )?(?P<w>\d{1,3})(?: years old)?(?=[.!]?$)
    = {s} is {w} years old
turned: moment sure number as-of
    <I>(?:just )?turned(?= \d{1,3}\b)
    = {s} turned {o}
married to: relationship sure open tag:relationship
    <AM>(?P<w>married to(?! (?:my|the) )|engaged to|dating(?= (?:<CAP>|an? |someone))|in a relationship with)
    = {s} is {w} {o}
trait: fact sure trait
    <AM>(?P<w>(?:not )?<TRAIT>)(?!-)(?! (?:in|to|on) )
    = {s} is {w} {o}
allergy: fact sure thing tag:health
    <AM>(?P<w>(?:severely |highly |very |deathly |also )?(?:allergic|intolerant)) to
    = {s} is {w} to {o}
has allergy: fact sure trait tag:health
    i(?: have|'ve got) (?P<w>(?:an? )?(?:\w+ ){1,2}allergy)
    = {s} has {w} {o}
cannot eat: fact sure thing tag:diet
    i (?:can't|cannot|can not) (?P<w>eat|drink)
    = {s} cannot {w} {o}
does not eat: fact sure thing tag:diet
    i (?:don't|do not) (?P<w>eat|drink)
    = {s} does not {w} {o}
job: fact sure trait
    <AM>(?P<w>an? (?:[\w-]+ ){0,4}?<JOB>)
    = {s} is {w} {o}
as a: fact probable then-i
    as (?P<w>an? (?:[\w-]+ ){0,3}?<JOB>)$
    = {s} is {w}
works: fact sure open
    <I>(?P<v>work) (?P<w>as an?|as the|at|for|in|remotely|part[- ]time|full[- ]time|from home)
    = {s} works {w} {o}
my job: fact probable trait
    my (?:job|work|profession|occupation) is(?: as)?(?= an?\b)
    = {p} job is {o}
lives: fact sure place
    <I>(?:live|reside) in|<AM>(?:based|living) in
    = {s} lives in {o}
from: fact sure place
    <AM>(?:originally )?from|<I>come from
    = {s} is from {o}
grew up: fact sure place
    <I>(?P<w>grew up|was born|was raised|used to live|lived|studied) in
    = {s} {w} in {o}
moved: moment sure open
    (?:<I>|<HAVE>)(?P<w>moved|relocated)(?= (?:to|from|back to|out of) <CAP>)
    = {s} {w} {o}
kin name: relationship sure title tag:relationship
    my (?P<w>(?:<KIN>|<PET>)(?:'s|s') names?) (?:is|are)
    = {p} {w} is {o}
has kin: relationship sure trait tag:relationship
    i(?: have|'ve got) (?P<w><COUNT> (?:[\w-]+ ){0,2}?<KIN>s?)
    = {s} has {w} {o}
has pet: relationship sure trait tag:pet
    i(?: have|'ve got| own) (?P<w><COUNT> (?:[\w-]+ ){0,3}?<PET>)
    = {s} has {w} {o}
has named: fact probable title
    i(?: have|'ve got) (?P<w>an? (?:[\w-]+ ){1,3}(?:named|called))
    = {s} has {w} {o}
kin is: relationship sure name tag:relationship
    my (?P<w>(?:<KIN>|<PET>) is)(?: now)?(?= <CAP>[a-z])(?! (?:<TONGUE>|[\w-]*(?:ish|an|ese|ch|eek|ss|ic|im|i))\b)
    = {p} {w} {o}
kin age: relationship sure any tag:relationship as-of
    my (?P<w>(?:<KIN>|<PET>) (?:is|are) \d{1,3}(?: years old)?)(?=[.!]?$)
    = {p} {w} {o}
kin: relationship probable any tag:relationship
    my (?P<w>(?:<KIN>|<PET>) (?:lives? (?:in|near|with)|works? (?:as|at|for|in)|was born
    |passed away|died|(?:is|are) (?:an? (?:[\w-]+ ){0,2}?<JOB>|called|named|allergic to
    |from <CAP>|vegan|vegetarian|pregnant|married|divorced|retired|autistic|diabetic)
    |loves?|likes|hates?|studies|teaches|owns|got married|graduated|turned \d+|moved to|speaks|plays))
    = {p} {w} {o}
favourite: preference sure title tag:preference
    my (?P<w>(?:all[- ]time |absolute |current |two |three )?favou?rites? (?:[\w-]+ ){1,4}?(?:is|are))
    = {p} {w} {o}
is favourite: preference probable word tag:preference
    (?P<w>(?:[\w'-]+ ){1,4}(?:is|are)) my (?:all[- ]time |absolute )?favou?rite
    = {w} {p} favourite {o}
no longer: preference sure thing tag:preference
    i no longer (?P<v>like|love|enjoy|drink|eat|use)
    = {s} no longer {v} {o}
does not like: preference sure thing tag:preference
    i (?:really |just )?(?:don't|do not)(?: really| particularly)? (?P<w>like|love|enjoy)
    = {s} does not {w} {o}
has always: preference sure thing tag:preference
    i(?:'ve| have) always (?P<w>loved|liked|hated|enjoyed|preferred|disliked)
    = {s} has always {w} {o}
prefers: preference sure thing tag:preference
    <I>(?P<v>prefer)
    = {s} prefers {o}
likes: preference probable thing tag:preference
    <I>(?P<v>love|like|enjoy|adore|hate|dislike|despise|detest|loathe)
    = {s} {v} {o}
dislikes: preference sure thing tag:preference
    i (?:really |absolutely |just )?(?:can't stand|cannot stand|can't bear)
    = {s} cannot stand {o}
fan: preference sure thing tag:preference
    <AM>(?P<w>(?:not )?(?:an? )?(?:such an? )?(?:big|huge|massive|avid|lifelong|long-time)? ?fan) of
    = {s} is {w} of {o}
into: preference probable thing tag:preference
    <AM>(?:(?:so|pretty|super|big|heavily|deeply) )?(?P<w>into|fond of|obsessed with|passionate about
    |addicted to|crazy about|keen on)
    = {s} is {w} {o}
habit: fact probable open
    i (?P<w>always|never|usually|rarely|often|typically) (?P<v>eat|drink|wake|get up|run|work|take|use|drive
    |cook|walk|sleep|read|play|watch|listen|wear|buy|train|go to bed|skip|meditate|write)
    = {s} {w} {v} {o}
every: fact probable open
    i (?:also |usually |still |always |often |typically |generally )?(?P<v>go
    |run|work|take|cook|walk|read|play|watch|train|practi[cs]e|volunteer|meet|swim|cycle|bike
    |write|paint|drink|teach)(?= .*\b(?:every (?:other )?(?:day|week|weekend|month|year|morning|evening
    |night|\w+day)|(?:once|twice|three times|\d times) a (?:day|week|month)|on (?:\w+day)s))
    = {s} {v} {o}
speaks: skill sure open
    <I>(?P<v>speak|understand)(?= (?:\w+ )?(?:fluent |a little |some |a bit of |basic |both )?<TONGUE>)
    = {s} {v} {o}
fluent: skill sure thing
    <AM>(?P<w>fluent in|a native speaker of|proficient in|good at|skilled at|skilled in|certified in
    |certified as)
    = {s} is {w} {o}
plays: skill sure open
    <I>(?P<v>play)(?= (?:the |acoustic |electric |classical |bass )*<PLAYED>)
    = {s} plays {o}
can: skill probable trait
    i can (?P<w>speak|play|code|program|swim|juggle|knit|drive|cook|ski|skate)
    = {s} can {w} {o}
knows how: skill sure open
    i know how to
    = {s} knows how to {o}
is not: correction probable correction
    (?:it's|it is|that's)(?= (?:<CAP>|\d)[\w' -]{1,40},? not (?:<CAP>|\d))
    = {s} corrects: it is {o}
decided: decision sure open
    (?:<I>|<HAVE>)(?P<w>decided (?:to|on|against|not to)|chosen to|chose to|made up my mind to)
    = {s} {w} {o}
we decided: decision probable open
    we(?:'ve| have)? (?:just |finally |also )?(?P<w>decided (?:to|on|against|not to)|agreed (?:to|on)
    |settled on|chose to)
    = {s} and others {w} {o}
promise: commitment sure open
    i promise(?: to| that i will| that i'll| i'll| i will)
    = {s} promises to {o}
will: commitment probable ahead
    i(?:'ll| will| shall)(?! try)(?: definitely| also| just| finally| be sure to)?
    = {s} will {o}
going to: commitment probable ahead
    <AM>(?:going to|gonna|planning to)(?! (?:an?|the|my|our|see|<CAP>))
    = {s} plans to {o}
must: commitment probable ahead
    <I>(?:have to|need to|must|gotta)|<HAVE>got to
    = {s} has to {o}
plans: commitment probable ahead
    <I>(?:plan|intend|aim) to
    = {s} plans to {o}
will be doing: commitment weak ahead
    <AM>(?P<w><FUTURE_DOING>)
    = {s} is {w} {o}
occasion: commitment probable ahead
    <I>have (?P<w>an? (?:[\w-]+ ){0,3}?<OCCASION>)
    = {s} has {w} {o}
my occasion: commitment probable ahead
    my (?P<w>(?:[\w-]+ ){0,2}?<OCCASION> is)
    = {p} {w} {o}
goal: fact weak open tag:goal
    <I>want to (?P<w>become|learn|study|open my own|write a book|start my own|move to|run a marathon)
    = {s} wants to {w} {o}
dream: fact probable open tag:goal
    my (?P<w>(?:long-term |biggest |main |ultimate |big )?(?:goal|dream|plan) is) to
    = {p} {w} to {o}
my thing: fact sure title
    my (?P<w><THING> (?:is|are|takes))
    = {p} {w} {o}
milestone: moment probable any
    (?:<I>|<HAVE>)(?P<w><MILESTONE>)
    = {s} {w} {o}
happened: moment weak event
    <I>(?P<w><PAST>)
    = {s} {w} {o}
together: moment weak event
    (?P<x>my (?:[\w-]+ )?[\w-]+|<CAP>\w+) and i (?:both |also |just |finally |recently )?(?P<w><PAST>)
    = {s} and {x} {w} {o}
we did: moment weak event
    we (?:all |also |just |finally |recently )?(?P<w><PAST>)
    = {s} and others {w} {o}
just: moment weak open
    i(?:'ve| have)? (?:just|recently|finally) (?P<w>(?:got|bought|received|ordered|finished|started
    |completed|visited|attended|won|joined|signed up for)(?= (?:an?|my|the|some|two|three|reading|watching
    |with)\b))
    = {s} {w} {o}
doing: fact probable open as-of
    <AM>(?P<w><DOING>)
    = {s} is {w} {o}
busy: fact weak open as-of
    <HAVE>been (?P<w><BUSY>)(?= .*\b(?:for|since) (?!a while|it|me|so long|ages|some time|long|what))
    = {s} has been {w} {o}
always: preference sure order to-bot tag:instruction
    <ASKED>always (?P<w><TO_BOT_VERB>)
    = {s} wants the assistant always to {w} {o}
never: preference sure order to-bot tag:instruction
    <ASKED>(?:never|don't ever|do not ever) (?P<w><TO_BOT_VERB>)
    = {s} wants the assistant never to {w} {o}
please do not: preference probable order to-bot tag:instruction
    (?=please|from now|going forward|in (?:the )?future)<ASKED>(?:don't|do not) (?P<w>use|call
    |ask|recommend|suggest|remind|address|speak)
    = {s} wants the assistant not to {w} {o}
please stop: preference probable order to-bot tag:instruction
    <ASKED>stop (?P<w>using|calling|adding|suggesting|recommending|asking|writing|including|answering)
    = {s} wants the assistant to stop {w} {o}
from now on: preference sure order to-bot tag:instruction
    (?=from now|going forward|in (?:the )?future)<ASKED>(?P<w>(?:only )?<TO_BOT_VERB>)
    = {s} wants the assistant to {w} {o}
"""


_OTHERS = r"""
other lives: fact sure place
    (?:now |currently )?(?P<w>lives in|is from|comes from)
    = {s} {w} {o}
other works: fact sure open
    (?:now |currently )?(?P<w>works as)(?= an? )
    = {s} {w} {o}
other works at: fact probable open
    (?:now |currently )?(?P<w>works (?:at|for|in))
    = {s} {w} {o}
other job: fact sure trait
    is (?P<w>an? (?:[\w-]+ ){0,3}?<JOB>)
    = {s} is {w} {o}
other allergy: fact sure thing tag:health
    is (?P<w>(?:severely |very )?allergic) to
    = {s} is {w} to {o}
other trait: fact probable trait
    is (?P<w>(?:not )?<TRAIT>)(?!-)(?! (?:in|to|on) )
    = {s} is {w} {o}
other age: fact probable any as-of
    is (?P<w>\d{1,3}(?: years old)?)(?=[.!]?$)
    = {s} is {w}
other birthday: fact sure open tag:birthday
    's (?P<w>birthday is)
    = {s}'s {w} {o}
other has: relationship sure trait
    has (?P<w><COUNT> (?:[\w-]+ ){0,3}?(?:<PET>|<KIN>s?))
    = {s} has {w} {o}
other has named: relationship probable title tag:relationship
    has (?P<w>an? (?:[\w-]+ ){1,3}(?:named|called))
    = {s} has {w} {o}
other kin: relationship sure trait tag:relationship
    is my (?P<w><KIN>|<PET>)(?!'s)
    = {s} is {p} {w} {o}
not any more: correction sure any tag:relationship
    (?:(?:is not|isn't) my (?P<w><KIN>) (?:any ?more|any longer)|is no longer my (?P<x><KIN>))
    = {s} is no longer {p} {w}{x}
other likes: preference probable thing tag:preference
    (?:really |absolutely |just |also )?(?P<w>loves|likes|enjoys|adores|hates|dislikes|prefers)
    = {s} {w} {o}
other does: fact probable open
    (?P<w>lives (?:near|with)|was born|passed away|died|got married|graduated|moved to|speaks|plays|studies|teaches|owns
    |is married to|is engaged to|turned(?= \d))
    = {s} {w} {o}
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
                tuple(word.removeprefix("tag:") for word in more if word.startswith("tag:")),
                to_bot="to-bot" in more,
                as_of="as-of" in more,
            )
        )
    return tuple(rules)


@cache
def english() -> tuple[Rule, ...]:
    """What speakers say of themselves; the patterns are compiled when first asked for."""
    return read_rules(_ENGLISH)


@cache
def others() -> tuple[Rule, ...]:
    """What is said of somebody named, matched after the name."""
    return read_rules(_OTHERS)


REMEMBER = re.compile(
    r"(?:please |and |also |so )*(?:remember|keep in mind|don't forget|do not forget|note|make a note|for the record"
    r"|fyi|just so you know|for future reference)(?: that\b|:|,)\s*",
    re.IGNORECASE,
)
"""A request to remember what follows."""
