"""The patterns of the offline extractor for English, in the form of `rule_table` (rows
X2, C3).

What speakers say of themselves and theirs, of what is ahead, and, after a name, of
somebody else.
"""

from __future__ import annotations

from functools import cache

from engram.extraction.rules.table import Rule, read_rules

_ENGLISH = r"""
name: fact sure name
    my (?:full |first )?name(?:'s| is)|i'm called|i am called
    = {p} name is {o}
greeted: fact probable greeted
    i(?:'?m| am)(?= <CAP>[a-z])(?! (?:<TONGUE>|<TRAIT>|[\w-]*(?:ish|ese|ch|eek|ic|ian|can))\b)
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
has been: fact sure trait
    <HAVE>been (?P<w>(?:an? )?(?:<TRAIT>|(?:[\w-]+ ){0,2}?<JOB>))(?= (?:since|for)\b)
    = {s} has been {w} {o}
we are: relationship sure trait tag:relationship
    we(?:'re| are) (?P<w>engaged|married|getting married|divorced|getting divorced|expecting)
    = {s} is {w} {o}
allergy: fact sure thing tag:health
    <AM>(?P<w>(?:severely |highly |very |deathly |also )?(?:allergic|intolerant)) to
    = {s} is {w} to {o}
goes wrong: fact probable thing tag:friction
    <AM>(?P<w>struggling with|having (?:trouble|problems) with|fed up with|frustrated (?:with|by))
    = {s} is {w} {o}
has problems: fact probable thing tag:friction
    <I>have (?P<w>(?:trouble|problems) with)
    = {s} has {w} {o}
has illness: fact sure trait tag:health
    i(?:(?: (?:also|still))? have|'ve got| suffer from) (?P<w><ILLNESS>)(?! about)
    = {s} has {w} {o}
has allergy: fact sure trait tag:health
    i(?: have|'ve got) (?P<w>(?:an? )?(?:\w+ ){1,2}allergy)
    = {s} has {w} {o}
cannot eat: fact sure thing tag:diet
    i (?:can't|cannot|can not) (?P<w>eat|drink)
    = {s} cannot {w} {o}
cannot: fact sure trait
    i (?:can't|cannot|can not) (?P<w>swim|drive|cook|ski|skate|whistle|dance|ride a bike|ride a bicycle|read music)
    = {s} cannot {w} {o}
does not eat: fact sure thing tag:diet
    i (?:don'?t|do not) (?P<w>eat|drink)
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
studies: fact sure open
    <I>(?P<v>study|teach)(?= (?:[\w-]+ ){1,4}(?:at|in) (?:the )?<CAP>)
    = {s} {v} {o}
my job: fact probable trait
    my (?:job|work|profession|occupation) is(?: as)?(?= an?\b)
    = {p} job is {o}
lives: fact sure place
    <I>(?:live|reside) in|<AM>(?:based|living) in
    = {s} lives in {o}
no longer works: fact sure name
    i no longer work (?P<w>at|for)
    = {s} no longer works {w} {o}
no longer lives: fact sure place
    i no longer (?:live|reside) in
    = {s} no longer lives in {o}
left: moment weak name
    (?:<I>|<HAVE>)(?P<w>left|quit)(?= <CAP>)
    = {s} {w} {o}
broke up: moment sure name
    (?:<I>|<HAVE>)(?P<w>(?:broke|broken|split) up with|separated from|divorced(?= <CAP>))
    = {s} {w} {o}
broke up together: moment sure any
    (?P<x><CAP>[\w-]+) and i (?:have |just |recently |finally )*(?:broke|broken|split) up(?=[.!]?$)
    = {s} and {x} broke up
home is: fact sure place
    (?:my|our) (?P<w>(?:new |current )?(?:flat|apartment|house|home|place|office|studio) is in)
    = {p} {w} {o}
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
    (?:i(?: have|'ve got) (?P<w><COUNT> (?:[\w-]+ ){0,2}?<KIN>s?)|we(?: have|'ve got) (?P<x><COUNT> <CLOSE>))
    = {s} has {w}{x} {o}
has pet: relationship sure trait tag:pet
    (?:i|we)(?: have|'ve got| own) (?P<w><COUNT> (?:(?!with|about|of|for|in|on)[\w-]+ ){0,3}?<PET>)
    = {s} has {w} {o}
drives: fact probable open
    <I>(?P<v>own|drive|ride)(?= an? (?!lot|bit|little|while|hard))
    = {s} {v} {o}
has named: fact probable title
    (?:i|we)(?: have|'ve got) (?P<w>an? (?:[\w-]+ ){1,3}(?:named|called))
    = {s} has {w} {o}
kin is: relationship sure person tag:relationship
    my (?P<w>(?:<KIN>|<PET>) is)(?: now)?(?= <CAP>[a-z])(?! (?:<TONGUE>|[\w-]*(?:ish|an|ese|ch|eek|ss|ic|im|i))\b)
    = {p} {w} {o}
kin birthday: fact sure open tag:birthday
    (?:my )?(?P<w>(?:<KIN>)'s birthday is)
    = {p} {w} {o}
kin age: relationship sure any tag:relationship as-of
    my (?P<w>(?:<KIN>|<PET>) (?:is|are) \d{1,3}(?: years old)?)(?=[.!]?$)
    = {p} {w} {o}
kin: relationship probable any tag:relationship
    my (?P<w>(?:<KIN>|<PET>) (?:lives? (?:in|near|with)|works? (?:as|at|for|in)|was born
    |passed away|died|(?:is|are) (?:an? (?:[\w-]+ ){0,2}?<JOB>|called|named|allergic to
    |from <CAP>|vegan|vegetarian|pregnant|married|divorced|retired|autistic|diabetic)
    |loves?|likes|hates?|studies|teaches|owns|got married|graduated|turned \d+|moved to|speaks|plays
    |(?:was|got|has been) diagnosed with|has <ILLNESS>|is in (?:the )?hospital))
    = {p} {w} {o}
kin ahead: commitment probable ahead
    my (?P<w><KIN> (?:<GOES>|<IS> <GOING>))
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
    i (?:really |just )?(?:don'?t|do not)(?: really| particularly)? (?P<w>like|love|enjoy)
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
liked: preference weak title tag:preference
    i (?:really |also |absolutely )?(?P<w>liked|loved|enjoyed)(?= (?:the (?:book|film|movie|novel|series|show) )?
    (?:<CAP>|\"<CAP>))
    = {s} {w} {o}
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
    <I>(?P<v>speak|understand)(?!.* like an? )(?= (?:\w+ )?(?:fluent |a little |some |a bit of |basic |both )?<TONGUE>)
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
promised: commitment sure ahead
    (?:<I>|<HAVE>)(?P<w>promised)
    = {s} {w} {o}
will: commitment probable ahead
    i(?:'ll| will| shall)(?! try)(?: definitely| also| just| finally| be sure to)?
    = {s} will {o}
going to: commitment probable ahead
    <AM>(?:going to|gonna|planning to)(?! (?:an?|the|my|our|see|<CAP>))
    = {s} plans to {o}
remind: commitment sure reminder to-bot
    (?:please,? )?(?:remind me|(?:don't|do not) let me forget|set (?:me )?a reminder)
    = {s} wants to be reminded {o}
must not forget: commitment probable open
    i (?:mustn't|must not|can't|cannot|can not|better not) forget to(?= \w+ \w)
    = {s} must not forget to {o}
still must: commitment weak open
    i (?:also |really )?still (?:have to|need to|must|gotta)(?= <TO_DO> \w+)
    = {s} still has to {o}
must: commitment probable ahead
    <I>(?:have to|need to|must|gotta)|<HAVE>got to
    = {s} has to {o}
plans: commitment probable ahead
    <I>(?:plan|intend|aim) to
    = {s} plans to {o}
moves on: commitment probable ahead
    <I>(?P<v>fly|leave|return|travel|move|arrive|sail|stay|start|come(?= (?:back|home)))
    = {s} {v} {o}
we will: commitment weak ahead
    we(?:'ll| will| shall)(?: definitely| also| just| finally| all)?
    = {s} and others will {o}
we are going to: commitment weak ahead
    we(?:'re| are) (?:all |also )?(?:going to|gonna|planning to)(?! (?:an?|the|my|our|see|<CAP>))
    = {s} and others plan to {o}
we will be doing: commitment weak ahead
    we(?:'re| are) (?:all |also )?(?P<w><FUTURE_DOING>)
    = {s} and others are {w} {o}
together ahead: commitment weak ahead
    (?P<x>my (?:[\w-]+ )?[\w-]+|<CAP>\w+) and i are (?:also |both )?(?P<w><FUTURE_DOING>)
    = {s} and {x} are {w} {o}
will be doing: commitment weak ahead
    <AM>(?P<w><FUTURE_DOING>)
    = {s} is {w} {o}
occasion: commitment probable ahead
    <I>have (?P<w>an? (?:[\w-]+ ){0,3}?<OCCASION>)
    = {s} has {w} {o}
my occasion: commitment probable ahead
    (?:my|our) (?P<w>(?:[\w-]+ ){0,2}?(?:<OCCASION>|<DEPARTURE>) (?:is|starts|begins|leaves|departs))(?! later)
    = {p} {w} {o}
is due: commitment probable ahead
    (?:my|our) (?P<w>(?:[\w-]+ ){0,2}?[\w-]+ (?:is|are))(?= due\b(?! to\b))
    = {p} {w} {o}
that is due: commitment probable ahead
    (?P<x>the (?:[\w-]+ ){0,2}?[\w-]+) (?P<w>is|are)(?= due\b(?! to\b))
    = {x} {w} {o}
the occasion: commitment probable ahead
    (?P<x>the (?:[\w-]+ ){0,2}?(?:exam|conference|wedding|concert|workshop|tournament|surgery|<DEPARTURE>))
     (?P<w>is|starts|begins|takes place|leaves|departs|goes|arrives)(?! later)
    = {x} {w} {o}
goal: fact weak open tag:goal
    <I>want to (?P<w>become|learn|study|open my own|write a book|start my own|move to|run a marathon)
    = {s} wants to {w} {o}
dream: fact probable open tag:goal
    my (?P<w>(?:long-term |biggest |main |ultimate |big )?(?:goal|dream|plan) is) to
    = {p} {w} to {o}
my thing: fact sure title
    my (?P<w><THING> (?:is|are|takes))
    = {p} {w} {o}
is called: fact probable title
    (?:my|our) (?P<w>(?:[\w-]+ ){1,3}(?:is|are) (?:called|named))
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
stolen: moment probable any
    my (?P<w>(?:[\w-]+ ){0,2}?(?:bike|bicycle|car|phone|laptop|wallet|bag|passport|house|flat|suitcase|camera) was
     (?:stolen|damaged|broken into|repaired|sold|flooded|towed))
    = {p} {w} {o}
doing: fact probable open as-of
    <AM>(?P<w><DOING>)
    = {s} is {w} {o}
busy: fact weak open as-of
    <HAVE>been (?P<w><BUSY>)(?= .*\b(?:for|since) (?!a while|it|me|so long|ages|some time|long|what))
    = {s} has been {w} {o}
keep answers: preference sure order to-bot tag:instruction
    <ASKED>(?:keep|make) your (?P<w>answers|replies|responses|messages|explanations)
    (?= (?:short|brief|concise|simple|plain|long|detailed|formal|informal|casual|friendly)\w*(?! (?:for|in|on|here)\b))
    = {s} wants the assistant to keep its {w} {o}
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


_SHARED = r"""
also works: fact sure open
    (?P<v>work) (?P<w>as an?|as the|at|for|in|remotely|part[- ]time|full[- ]time|from home)(?!.* (?:is|was|are|has)\b)
    = {s} works {w} {o}
also lives: fact sure place
    live in
    = {s} lives in {o}
also studies: fact sure open
    (?P<v>study)(?= [\w-]+)
    = {s} {v} {o}
also has: relationship sure trait
    have (?P<w><COUNT> (?:[\w-]+ ){0,2}?(?:<KIN>s?|<PET>))
    = {s} has {w} {o}
"""


_OTHERS = r"""
other lives: fact sure place
    (?:now |currently )?(?P<w>lives in|is from|comes from)
    = {s} {w} {o}
other no longer works: fact sure name
    no longer works (?P<w>at|for)
    = {s} no longer works {w} {o}
other no longer lives: fact sure place
    no longer lives in
    = {s} no longer lives in {o}
other left: moment sure name
    (?:has |just |finally )*(?P<w>left|quit)(?= <CAP>)
    = {s} {w} {o}
other broke up: moment sure name
    (?:has |just |finally )*(?P<w>(?:broke|split) up with)
    = {s} {w} {o}
other works: fact sure open
    (?:now |currently )?(?P<w>works as)(?= an? )
    = {s} {w} {o}
other works at: fact probable open
    (?:now |currently )?(?P<w>works (?:at|for|in))
    = {s} {w} {o}
other job: fact sure trait
    <IS> (?P<w>an? (?:[\w-]+ ){0,3}?<JOB>)
    = {s} is {w} {o}
other allergy: fact sure thing tag:health
    <IS> (?:also )?(?P<w>(?:severely |very )?allergic) to
    = {s} is {w} to {o}
other trait: fact probable trait
    <IS> (?P<w>(?:not )?<TRAIT>)(?!-)(?! (?:in|to|on) )
    = {s} is {w} {o}
other age: fact probable any as-of
    <IS> (?P<w>(?:\d{1,3}|<NUMBER>)(?: years old)?)(?=[.!]?$)
    = {s} is {w}
other turned: moment sure number
    (?:just |recently )?turned
    = {s} turned {o}
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
    <IS> (?:my|our) (?P<w><KIN>|<PET>|<JOB>)(?!'s)
    = {s} is {p} {w} {o}
kin of other: relationship sure trait tag:relationship
    <IS> (?P<x><CAP>[\w-]+'s (?:<KIN>))(?!'s)
    = {s} is {x} {o}
not any more: correction sure any tag:relationship
    (?:(?:is not|isn't) my (?P<w><KIN>) (?:any ?more|any longer)|is no longer my (?P<x><KIN>))
    = {s} is no longer {p} {w}{x}
other likes: preference probable thing tag:preference
    (?:really |absolutely |just |also )?(?P<w>loves|likes|enjoys|adores|hates|dislikes|prefers)
    = {s} {w} {o}
other does: fact probable open
    (?P<w>lives (?:near|with)|was born|passed away|died|got married|graduated|moved to|speaks|plays|studies|teaches|owns
    |is married to|is engaged to)
    = {s} {w} {o}
other ahead: commitment probable ahead
    (?P<w><GOES>)
    = {s} {w} {o}
other is going: commitment probable ahead
    <IS> (?P<w><GOING>)
    = {s} is {w} {o}
"""


@cache
def english() -> tuple[Rule, ...]:
    """What speakers say of themselves; the patterns are compiled when first asked for."""
    return read_rules(_ENGLISH)


@cache
def shared() -> tuple[Rule, ...]:
    """What speakers go on to say of themselves without another `I`: `I'm 34 and work at
    Siemens`.
    """
    return read_rules(_SHARED)


@cache
def others() -> tuple[Rule, ...]:
    """What is said of somebody named, matched after the name."""
    return read_rules(_OTHERS)
