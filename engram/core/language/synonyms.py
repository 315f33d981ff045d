"""Words that tell of the same thing in everyday English, so that a question is met in
other words (row X13).

A few hundred groups of what people tell about their lives. Who asks for a word before
the colon may mean any other word of its group; what stands behind the colon is
narrower: an instrument may be a guitar, a guitar is no other instrument. Verbs and
adjectives that go with everything are left out, for they meet everything.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from engram.core.language.words import content

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORK = """
job work career profession occupation employment position : office company employer hired boss colleague coworker
    shift promotion interview ; employee staff colleague coworker teammate ; boss manager supervisor employer
company firm business startup : store shop founder brand ; business entrepreneur : startup own
salary pay income wage earnings : raise bonus paycheck ; retire retirement pension ; fired laid unemployed : quit
office building ; desk office workspace ; meeting appointment ; conference convention meetup summit
customer client clients ; investor funding ; ad advertising marketing campaign ; brand brands ; internship intern
project projects : build built ; invent design designer ; build built construct construction ; union strike
engineer engineering ; architect architecture ; lawyer attorney law legal court ; police officer cop
scientist research lab laboratory ; accountant accounting finance ; mechanic garage repair ; editor edit editing
military army veteran soldier navy ; war battle ; court trial jury ; prison jail ; theft thief stolen robbed burglary
"""
_LEARNING = """
study education degree school schooling college university : major course class graduate student campus exam
    lecture thesis ; teacher professor instructor tutor coach mentor ; teach taught teaching teacher
exam test quiz : grade score ; class course lesson workshop training seminar ; graduate graduation diploma degree
scholarship grant tuition funding ; subject subjects major field ; thesis dissertation paper research
certification certificate license diploma qualification ; homework assignment ; kindergarten preschool
skill skills talent talents ability ; learn learned learning : taught course lesson ; library librarian : books
science scientist : physics chemistry biology ; math mathematics ; history historical ; economics economy
space astronomy telescope : stars planets ; language languages speak : fluent spanish french german italian japanese
"""
_PEOPLE = """
child children kid kids son daughter baby toddler : newborn twins ; son boy ; daughter girl ; teenager teen adolescent
parent parents mother father mom mum dad mama papa : folks ; sibling siblings brother sister : twin
grandparent grandmother grandfather grandma grandpa granny nana ; grandchild grandchildren grandson granddaughter
cousin aunt uncle nephew niece relative relatives ; elderly elder seniors
family relatives : mother father mom dad parents brother sister son daughter kids cousin aunt uncle grandma grandpa
    wife husband niece nephew ; babysit babysitter nanny daycare childcare
wife husband spouse partner : fiance girlfriend boyfriend ; girlfriend boyfriend partner dating date relationship
marriage married marry husband wife wedding wed : ceremony bride groom honeymoon engaged proposal
wedding ceremony reception : bride groom vows aisle bridesmaid ; proposal propose proposed engaged engagement ring
divorce divorced separated breakup : ex split single ; romantic romance love : date candles ; single unmarried
pregnant pregnancy expecting : birth newborn ; adopt adoption adopted adoptive foster orphanage orphan
friend friends friendship buddy pal mate ; neighbor neighbour neighborhood ; roommate flatmate housemate
meet met encounter : introduced ; community group organization organisation association ; team club league
hero idol mentor inspiration : inspire admire ; celebrity famous idol ; personality character trait traits : kind shy
    outgoing funny thoughtful creative ; name named called nickname ; age old : birthday turned years
hometown born birthplace : grew ; childhood : grew younger kid ; ancestry heritage roots origin background : native
    grandparents immigrants ; immigrant immigrate immigration emigrate : moved ; passport citizenship
"""
_FEELING = """
sad upset depressed depression unhappy heartbroken : grief cry lonely ; happy glad joy thrilled excited delighted
angry mad furious annoyed frustrated irritated upset ; afraid fear scared scary terrified frightened phobia
stress stressed anxious anxiety worried overwhelmed pressure nervous ; tired exhausted fatigue sleepy burnout
relax unwind destress rest calm : stress peaceful meditation soothing ; proud pride accomplishment achievement
feel feeling feelings emotion emotions emotional ; support supportive encourage encouragement ; apologize sorry apology
argument fight conflict quarrel disagreement : argued ; honest honesty lie lied ; confess confession secret
goal goals dream dreams aim ambition aspiration : hope want someday ; plan plans planning intend intention : going
motivate motivated motivation inspire inspired inspiration ; decide decision decided choose chose choice
favorite favourite best love loved ; attitude outlook mindset perspective ; remember memory memories reminder
problem issue trouble challenge difficulty struggle obstacle setback ; success successful achieve achievement
    accomplish accomplishment ; fail failed failure lost setback ; impact effect influence
symbol symbolize represent meaning ; identity gender transgender trans lgbtq queer gay : coming
rights activism activist advocacy advocate ; equality inclusion diversity inclusive ; discrimination prejudice racism
    : judged ; bully bullying bullied harassment ; belief beliefs values faith
religion religious faith church : pray god temple mosque bible christian catholic jewish muslim buddhist hindu
spiritual spirituality meditation faith ; politics political election vote campaign : mayor council president
"""
_HEALTH = """
health healthy illness sick disease condition medical : doctor hospital diagnosed symptoms treatment
illness disease : cancer diabetes flu covid infection asthma arthritis ; cancer tumor chemo ; covid pandemic virus
doctor physician : clinic appointment checkup ; hospital clinic emergency surgery operation ; nurse doctor
surgery operation : hospital knee surgeon ; therapy therapist counseling counselor counselling psychologist
mental : anxiety depression therapy stress ; medicine medication pill prescription drug ; vaccine vaccination shot
pain hurt injury injured ache sore : broke sprained knee ankle ; accident crash collision
injury injured hurt broken : sprain fracture crash accident ; headache migraine ; dentist tooth teeth
glasses eyesight vision eye eyes ; sleep insomnia bed nap ; weight diet : calories pounds lose gained eating
allergy allergic allergies : peanut nuts pollen intolerance ; vegan vegetarian diet : meat plant tofu
calorie calories nutrition nutritionist ; protein supplement vitamin vitamins ; smoke smoking cigarette
died die death dead passed : funeral loss grief late ; heart cardiac ; fever cold flu
exercise workout fitness gym training : yoga running weights pilates jog cardio ; stretch stretching flexibility
wellness : yoga meditation massage spa journaling ; meditate meditation mindfulness : breathing calm ; massage spa
morning evening night routine : wake daily ; routine habit habits schedule : daily every morning
lifestyle : diet exercise habit
"""
_SPORT = """
sport sports : soccer football basketball tennis baseball hockey volleyball swimming running golf rugby skiing surfing
    boxing martial ; soccer football ; run running jog jogging marathon race ; swim swimming : pool lake
bike biking bicycle cycle cycling ; hike hiking trail trek trekking : mountain ; climb climbing : mountain boulder
ski skiing snowboard snowboarding ; surf surfing ; skate skating skateboard skateboarding ; golf golfing
boxing karate judo martial taekwondo ; gymnastics gymnast ; boat sailing sail sailboat yacht ; dive diving scuba
kayak kayaking canoe raft rowing ; fish fishing ; horse horses riding pony ; camp camping campfire tent
win won winner victory champion award prize trophy : medal tournament competition ; trophy medal award
competition contest tournament championship race match ; coach trainer ; player athlete ; score points goals
stadium arena ; basketball nba : lakers hoops court ; football nfl : quarterback touchdown ; baseball : pitcher bat
hockey : puck rink ; tennis : racket ; triathlon ironman marathon
"""
_ARTS = """
hobby hobbies pastime interest interests leisure : painting reading gardening hiking photography cooking knitting
    gaming pottery fishing cycling drawing ; activity activities : hiking camping swimming painting biking museum park
fun enjoy relax : blast ; craft crafts handmade diy : knitting sewing crochet woodworking ; antique antiques vintage
knit knitting crochet sew sewing ; woodworking carpentry carpenter : wood saw ; puzzle puzzles jigsaw crossword sudoku
collect collection collecting collector : stamps coins vinyl figurines cards ; vinyl record records
game games gaming : chess board video console xbox playstation nintendo monopoly catan scrabble ; cards poker
video console xbox playstation nintendo ; casino gambling bet ; magic magician trick ; trivia quiz
instrument instruments : guitar piano violin drums flute clarinet cello trumpet saxophone ukulele keyboard bass
music song songs tune melody : album band singer playlist concert listen track
band musician singer : album song concert ; concert gig show performance festival : band tickets stage
sing singing vocal choir : song karaoke ; compose composer composing ; guitarist pianist drummer violinist
classical : bach mozart beethoven vivaldi orchestra ; choir orchestra ; jazz blues ; rock metal punk ; rap hiphop
dance dancing dancer : salsa ballet tango studio ; opera ballet ; theater theatre play musical ; audition role cast
audience crowd ; fan fans ; tour touring ; headphones earbuds speaker ; lyrics lyric
book books novel read reading : author story series chapter fiction memoir ; author writer novelist
write writing wrote : poem blog journal novel article story ; journal diary ; poem poetry poet ; bookstore bookshop
biography autobiography memoir ; publish published publisher publishing ; audiobook audible
movie film films cinema : watch director actor netflix series ; filmmaking director producer : camera film shoot
series show episode : netflix watch ; actor actress star ; script screenplay screenwriting scriptwriter
comedy comedian funny joke humor ; horror scary thriller ; mystery detective crime ; anime manga cartoon animation
superhero marvel comic comics : batman spiderman ; fantasy : harry potter rings thrones ; romance romantic drama
art artwork artist : painting drawing sculpture gallery canvas exhibition ; sculpture statue ; mural graffiti
paint painting painter : canvas watercolor acrylic brush ; draw drawing sketch sketching illustration
pottery ceramic ceramics clay : bowl cup pot kiln ; calligraphy lettering ; portrait painting ; landscape scenery view
photo photograph photography picture image photographer : camera ; camera lens ; museum gallery exhibit exhibition
"""
_FOOD = """
food meal dish dishes cuisine recipe : cook dinner lunch eat pasta pizza salad soup curry sushi chicken
cook cooking bake baking chef kitchen : recipe dish cake bread ; bake baking cake cookies bread pastry bakery
breakfast brunch : eggs pancakes cereal oatmeal toast ; dinner supper lunch meal ; recipe ingredients
snack dessert sweet sweets : chocolate cake cookies ice cream candy pie ; chocolate candy ; honey syrup sugar
drink drinks beverage : coffee tea wine beer juice cocktail milk smoothie soda ; coffee espresso latte cappuccino cafe
alcohol wine beer cocktail whiskey : bar drunk ; tea chai matcha ; smoothie juice shake ; brewery beer
winery vineyard wine ; restaurant cafe diner eatery : dinner menu ; takeout delivery ; junk unhealthy : sugar soda
    candy fries ; fruit : apple banana orange mango strawberry berries grape peach
vegetable vegetables veggies : carrot tomato spinach broccoli potato ; salad greens ; garlic onion
dairy lactose milk cheese ; gluten wheat ; spicy hot ; spice spices herbs : basil cinnamon garlic ginger
pasta spaghetti lasagna noodles ; meat beef chicken pork steak ; seafood fish shrimp salmon ; soup stew ; egg omelette
grill barbecue bbq ; sandwich burger ; taco burrito mexican ; sushi japanese ramen ; curry indian ; dumplings chinese
grocery groceries supermarket market ; appliance : blender oven microwave fridge ; refrigerator fridge freezer
"""
_PLACES = """
travel trip trips vacation holiday journey visit getaway tour : flight flew hotel beach abroad passport itinerary road
vacation getaway cruise : relax beach resort ship ; flight fly plane airplane airport airline ; airport terminal
hotel hostel airbnb lodging stay ; luggage suitcase packing bag backpack ; souvenir souvenirs ; passport visa
country countries abroad : italy france spain japan germany england canada mexico ireland greece india brazil thailand
city town : london paris tokyo york boston chicago seattle ; suburb suburbs ; countryside rural village
neighborhood area district ; landmark landmarks monument statue : tower castle bridge ; castle palace ; zoo aquarium
    safari ; ruins ancient ; temple shrine ; cathedral church ; park playground ; road highway ; map route
move moved relocate relocated relocation : apartment house ; live lives living reside residence : home apartment
home house apartment flat place condo : rent mortgage bedroom neighborhood moved ; rent lease landlord mortgage
furniture : sofa couch table desk chair bed ; couch sofa ; mattress bed pillow blanket ; carpet rug ; curtain curtains
decoration decor decorate decorations interior : poster picture ; renovate renovation remodel : kitchen bathroom
kitchen : oven stove ; bathroom shower ; garage basement attic ; yard backyard lawn patio porch garden ; plumber pipe
clean cleaning tidy laundry chores ; dishwasher washer dryer ; lamp light ; tv television ; property realtor estate
nature outdoors outdoor : forest mountain lake hiking park camping ; tree trees forest woods ; jungle rainforest
beach sea ocean coast shore : waves sand ; mountain mountains hill peak ; lake river pond ; island islands
park national : yosemite yellowstone ; wildlife : animals deer bear ; sunset sunrise ; stars night sky meteor
garden gardening plant plants flower flowers : soil roses tomatoes seeds bloom ; farm farming farmer
flower flowers : rose sunflower tulip lily daisy bouquet ; weather : rain snow sunny storm cold hot
environment climate environmental nature : recycling conservation sustainability ; recycle recycling waste
storm hurricane flood earthquake tornado ; fire firefighter ; evacuate evacuation ; outage blackout power
season seasons : spring summer autumn winter fall ; autumn fall ; weekend : saturday sunday
"""
_ANIMALS = """
pet pets animal animals : dog cat puppy kitten rabbit hamster bird parrot fish turtle horse guinea pig snake lizard
dog puppy pup : retriever labrador terrier shepherd poodle beagle corgi ; cat kitten kitty ; bunny rabbit
bird birds : parrot owl eagle heron ; reptile : snake lizard turtle ; insect insects : butterfly bee ; butterfly
    butterflies ; cow cattle sheep goat chicken chickens ; shelter rescue rescued ; veterinarian vet ; leash collar walk
"""
_THINGS = """
car vehicle automobile : drove drive honda toyota ford tesla truck suv prius ; drive driving drove ; truck van
motorcycle motorbike scooter ; tire tires brake engine ; gas fuel ; electric hybrid ; train subway bus transit
    transport transportation ; commute commuting : drive train bus ; gift present presents gifts : gave birthday
buy bought purchase purchased shop shopping : store ordered ; sell sold sale ; store shop market mall
spend spent cost price paid expense budget : dollars money ; money cash savings finances financial : budget loan debt
    invest ; loan debt ; tax taxes ; invest investment stocks ; crypto bitcoin ; cheap discount sale coupon deal
insurance claim ; donate donation charity fundraiser fundraising ; auction charity ; nonprofit ngo charity foundation
volunteer volunteering charity : shelter donate fundraiser nonprofit community kitchen homeless
sponsor sponsorship endorsement : brand ; clothes clothing outfit wear wearing wardrobe : dress shirt jacket shoes
    jeans ; shoes boots sneakers ; hat cap ; scarf gloves ; sweater hoodie ; suit tie ; thrift secondhand
jewelry necklace ring bracelet earrings ; purse handbag wallet ; makeup cosmetics ; hair haircut barber salon
color colour colors : red blue green yellow purple pink orange black white ; toy toys doll lego
phone smartphone iphone android mobile ; computer laptop pc ; tablet ipad ; gadget gadgets device ; fitbit tracker
app software program ; code coding programming programmer developer ; internet online website web ; robot robotics
artificial ai intelligence ; virtual vr ; social media instagram facebook twitter followers ; blog vlog youtube channel
stream streaming twitch ; podcast radio ; news newspaper magazine article ; letter email message text mail
repair fix fixed broken ; lost misplaced ; tool tools drill hammer
birthday : party cake turned celebrate ; party celebration celebrate celebrated gathering : birthday
christmas holiday holidays thanksgiving easter halloween ; tradition traditions custom ritual ; parade march rally
    protest ; event events : festival conference parade meeting gathering party fair ; ticket tickets
"""


def akin(word: str) -> tuple[str, ...]:
    """The words that may stand for `word`, in the form that `content` gives; none where
    it is not in the table.

    >>> akin("jewelry")
    ('bracelet', 'earrings', 'necklace', 'ring')
    """
    groups = _groups()
    return groups.get(word) or groups.get(word.removesuffix("s"), ())


@cache
def _groups() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for theme in (
        _WORK,
        _LEARNING,
        _PEOPLE,
        _FEELING,
        _HEALTH,
        _SPORT,
        _ARTS,
        _FOOD,
        _PLACES,
        _ANIMALS,
        _THINGS,
    ):
        for line in theme.replace("\n    ", " ").splitlines():
            for group in line.split(";"):
                heads, _, narrower = group.partition(":")
                named = content(heads.split(), "en")
                for head in named:
                    found.setdefault(head, set()).update(
                        named, content(narrower.split(), "en")
                    )
    return MappingProxyType(
        {head: tuple(sorted(words - {head})) for head, words in found.items()}
    )
