"""The offline extractor: what it takes from a turn, and above all what it leaves."""

from __future__ import annotations

import time
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.categories import CATEGORIES
from engram.core.policy import ExtractionPolicy
from engram.core.records import Candidate, Turn
from engram.extraction.rules.engine import EXTRACTOR, extract, is_person
from tests.size import examples

POLICY = ExtractionPolicy()
NOW = datetime(2026, 11, 21, 21, 14, tzinfo=ZoneInfo("Europe/Berlin"))  # a Saturday


def turn(text, *, name="t1", role="user", speaker="", persona=None, when=NOW):
    return Turn(name, "s1", role, text, when, speaker, persona)


def facts(text, **about):
    return extract([turn(text, **about)], POLICY).candidates


TAKEN = [
    # who somebody is
    ("My name is Anna Müller.", "fact", "The user's name is Anna Müller."),
    ("Hi! My name's Tom.", "fact", "The user's name is Tom."),
    ("Please call me Bob.", "preference", "The user wants to be called Bob."),
    ("I'm 34 years old.", "fact", "The user is 34 years old (as of 21 November 2026)."),
    (
        "I turned 30 last week.",
        "fact",
        "The user turned 30 last week (the week of 9 November 2026).",
    ),
    ("I'm vegetarian.", "fact", "The user is vegetarian."),
    ("By the way, I'm lactose intolerant.", "fact", "The user is lactose intolerant."),
    (
        "I'm allergic to peanuts and shellfish.",
        "fact",
        "The user is allergic to peanuts and shellfish.",
    ),
    ("I have a severe nut allergy.", "fact", "The user has a severe nut allergy."),
    ("I can't eat gluten.", "fact", "The user cannot eat gluten."),
    ("I don't drink coffee.", "fact", "The user does not drink coffee."),
    (
        "I'm a software engineer at Siemens.",
        "fact",
        "The user is a software engineer at Siemens.",
    ),
    ("I work as a teacher.", "fact", "The user works as a teacher."),
    (
        "I work at a small bakery in Lyon.",
        "fact",
        "The user works at a small bakery in Lyon.",
    ),
    # where
    ("I live in Lisbon.", "fact", "The user lives in Lisbon."),
    ("Actually, I live in Porto.", "correction", "The user lives in Porto."),
    ("No, I live in Porto now.", "correction", "The user lives in Porto."),
    ("I'm originally from Brazil.", "fact", "The user is originally from Brazil."),
    (
        "I grew up in a small town near Turin.",
        "fact",
        "The user grew up in a small town near Turin.",
    ),
    (
        "I moved to Lisbon last month.",
        "fact",
        "The user moved to Lisbon last month (October 2026).",
    ),
    (
        "I live in Gothenburg and laugh at the stairs.",
        "fact",
        "The user lives in Gothenburg and laugh at the stairs.",
    ),
    (
        "I live in Oslo, can you recommend a good café?",
        "fact",
        "The user lives in Oslo.",
    ),
    (
        "My boat is called Selkie, what paint suits it?",
        "fact",
        "The user's boat is called Selkie.",
    ),
    (
        "Since May I work at Siemens.",
        "fact",
        "The user works at Siemens since May 2026.",
    ),
    (
        "Starting 1 February I work at Siemens.",
        "fact",
        "The user works at Siemens starting 1 February 2027.",
    ),
    ("Our new flat is in Porto.", "fact", "The user's new flat is in Porto."),
    ("I'm not vegetarian any more.", "fact", "The user is not vegetarian any more."),
    (
        "I'm allergic to shellfish, otherwise I eat everything.",
        "fact",
        "The user is allergic to shellfish.",
    ),
    ("I can't swim.", "skill", "The user cannot swim."),
    ("We're engaged!", "relationship", "The user is engaged."),
    # people and animals
    (
        "From December my boss is Ben Young.",
        "relationship",
        "The user's boss is Ben Young from December 2026.",
    ),
    (
        "My dentist is Dr. Weber in Bonn.",
        "relationship",
        "The user's dentist is Dr. Weber in Bonn.",
    ),
    (
        "My upstairs neighbour is called Ann.",
        "relationship",
        "The user's upstairs neighbour is called Ann.",
    ),
    (
        "Dad's birthday is next Monday.",
        "fact",
        "The user's dad's birthday is next Monday (23 November 2026).",
    ),
    (
        "My sister's name is Clara.",
        "relationship",
        "The user's sister's name is Clara.",
    ),
    ("I have two brothers.", "relationship", "The user has two brothers."),
    ("I have a dog named Rex.", "relationship", "The user has a dog named Rex."),
    (
        "We talked a lot and I have three cats.",
        "relationship",
        "The user has three cats.",
    ),
    ("My brother lives in Oslo.", "fact", "The user's brother lives in Oslo."),
    ("Paul is my brother.", "relationship", "Paul is the user's brother."),
    (
        "My boss is called Tomás Ferreira.",
        "relationship",
        "The user's boss is called Tomás Ferreira.",
    ),
    (
        "Actually, my boss is now Inês Duarte.",
        "correction",
        "The user's boss is now Inês Duarte.",
    ),
    (
        "Small update: Tomás is not my boss any more, he left.",
        "correction",
        "Tomás is not the user's boss any more.",
    ),
    (
        "Anna's birthday is on 4 May and I still have no present.",
        "fact",
        "Anna's birthday is on 4 May.",
    ),
    ("I met Anna, Anna lives in Porto.", "fact", "Anna lives in Porto."),
    ("Anna is allergic to cats, so I vacuum.", "fact", "Anna is allergic to cats."),
    ("Tomás works as a diver, I like that.", "fact", "Tomás works as a diver."),
    (
        "My mother is a retired teacher.",
        "fact",
        "The user's mother is a retired teacher.",
    ),
    ("My wife is pregnant.", "fact", "The user's wife is pregnant."),
    ("My son hates broccoli.", "preference", "The user's son hates broccoli."),
    ("I'm married to Jens.", "relationship", "The user is married to Jens."),
    # tastes
    ("I love hiking.", "preference", "The user loves hiking."),
    (
        "I really enjoy reading crime novels in winter.",
        "preference",
        "The user enjoys reading crime novels in winter.",
    ),
    ("I prefer tea over coffee.", "preference", "The user prefers tea over coffee."),
    ("I hate cilantro!", "preference", "The user hates cilantro."),
    (
        "I don't like horror films.",
        "preference",
        "The user does not like horror films.",
    ),
    ("I no longer eat meat.", "preference", "The user no longer eats meat."),
    ("I can't stand loud music.", "preference", "The user cannot stand loud music."),
    ("I've always loved trains.", "preference", "The user has always loved trains."),
    (
        "I'm a big fan of Nick Cave.",
        "preference",
        "The user is a big fan of Nick Cave.",
    ),
    (
        "I'm not a big fan of long drives.",
        "preference",
        "The user is not a big fan of long drives.",
    ),
    ("I'm really into board games.", "preference", "The user is into board games."),
    (
        "My favourite colour is green.",
        "preference",
        "The user's favourite colour is green.",
    ),
    (
        'My favorite book is "Charlotte\'s Web".',
        "preference",
        "The user's favorite book is \"Charlotte's Web\".",
    ),
    ("I love the Beatles.", "preference", "The user loves the Beatles."),
    # habits and abilities
    ("I usually wake up at 6 am.", "fact", "The user usually wakes up at 6 am."),
    (
        "I love learning about art, and Chinese painting is fascinating.",
        "preference",
        "The user loves learning about art.",
    ),
    ("I decided to treat myself.", "decision", "The user decided to treat themselves."),
    ("I never drink alcohol.", "fact", "The user never drinks alcohol."),
    ("I go to yoga every Tuesday.", "fact", "The user goes to yoga every Tuesday."),
    (
        "I speak Portuguese and a little Greek.",
        "skill",
        "The user speaks Portuguese and a little Greek.",
    ),
    ("I'm fluent in Spanish.", "skill", "The user is fluent in Spanish."),
    ("I play the piano.", "skill", "The user plays the piano."),
    ("I know how to sail.", "skill", "The user knows how to sail."),
    (
        "I'm learning Japanese.",
        "skill",
        "The user is learning Japanese.",
    ),
    (
        "My son is 5 years old.",
        "fact",
        "The user's son is 5 years old (as of 21 November 2026).",
    ),
    (
        "Python is my favourite language.",
        "preference",
        "Python is the user's favourite language.",
    ),
    (
        "Note: the meeting is on Friday.",
        "commitment",
        "The meeting is on Friday (27 November 2026).",
    ),
    # decisions, plans
    (
        "I've decided to sell the car.",
        "decision",
        "The user has decided to sell the car.",
    ),
    (
        "We decided to go with PostgreSQL.",
        "decision",
        "The user and others decided to go with PostgreSQL.",
    ),
    (
        "I'll send the report by Friday.",
        "commitment",
        "The user will send the report by Friday (27 November 2026).",
    ),
    (
        "I'm going to visit my parents next week.",
        "commitment",
        "The user is going to visit their parents next week (the week of 23 November 2026).",
    ),
    (
        "I have to renew my passport by December 2026.",
        "commitment",
        "The user has to renew their passport by December 2026.",
    ),
    (
        "I promise to call my mother more often.",
        "commitment",
        "The user promises to call their mother more often.",
    ),
    ("My goal is to run a marathon.", "fact", "The user's goal is to run a marathon."),
    (
        "I decided to sell my car, the tram is enough.",
        "decision",
        "The user decided to sell their car.",
    ),
    (
        "I called the shelter on Friday.",
        "moment",
        "The user called the shelter on Friday (20 November 2026).",
    ),
    (
        "I was in Porto with Anna yesterday.",
        "moment",
        "The user was in Porto with Anna yesterday (20 November 2026).",
    ),
    ("My birthday is on 4 May.", "fact", "The user's birthday is on 4 May."),
    ("My commute takes 45 minutes.", "fact", "The user's commute takes 45 minutes."),
    (
        "I'm going to Vienna tomorrow.",
        "commitment",
        "The user is going to Vienna tomorrow (22 November 2026).",
    ),
    (
        "Ben and I are going to Rome next week.",
        "commitment",
        "Ben and the user are going to Rome next week (the week of 23 November 2026).",
    ),
    (
        "We'll marry in September.",
        "commitment",
        "The user and others will marry in September (September 2027).",
    ),
    (
        "I stay at the Ritz until Thursday.",
        "commitment",
        "The user stays at the Ritz until Thursday (26 November 2026).",
    ),
    (
        "The conference starts next Wednesday.",
        "commitment",
        "The conference starts next Wednesday (25 November 2026).",
    ),
    (
        "Our meeting is next Friday.",
        "commitment",
        "The user's meeting is next Friday (27 November 2026).",
    ),
    # what happened
    (
        "My bike was stolen last night.",
        "moment",
        "The user's bike was stolen last night (the night of 20 November 2026).",
    ),
    (
        "I adopted a dog yesterday.",
        "relationship",
        "The user adopted a dog yesterday (20 November 2026).",
    ),
    (
        "Yesterday, I ran my first half marathon.",
        "moment",
        "The user ran their first half marathon on 20 November 2026.",
    ),
    (
        "Last week I signed up for a pottery class.",
        "moment",
        "The user signed up for a pottery class in the week of 9 November 2026.",
    ),
    ("I got married in 2019.", "moment", "The user got married in 2019."),
    ("I just lost my job.", "fact", "The user lost their job."),
    (
        "My sister and I went to Rome in May 2024.",
        "moment",
        "The user's sister and the user went to Rome in May 2024.",
    ),
    # words to the assistant
    (
        "Please always answer in English.",
        "preference",
        "The user asks the assistant: Please always answer in English.",
    ),
    (
        "Always use metric units please.",
        "preference",
        "The user asks the assistant: Always use metric units please.",
    ),
    (
        "Never use emojis.",
        "preference",
        "The user asks the assistant: Never use emojis.",
    ),
    (
        "Please don't use bullet points.",
        "preference",
        "The user asks the assistant: Please don't use bullet points.",
    ),
    (
        "Yes, remember that the secret is a spoon of miso at the end.",
        "fact",
        "The secret is a spoon of miso at the end.",
    ),
    ("Remember that I'm allergic to nuts.", "fact", "The user is allergic to nuts."),
    (
        "Please remember that the gate code changes on Mondays.",
        "fact",
        "The gate code changes on Mondays.",
    ),
    (
        "Remember that my bin is emptied on Mondays.",
        "fact",
        "The user's bin is emptied on Mondays.",
    ),
    (
        "Remember that I park on level 3.",
        "fact",
        "The user asks to remember that they park on level 3.",
    ),
    ("I hate champagne, note that down.", "preference", "The user hates champagne."),
    # three more languages
    ("Ich heiße Jonas.", "fact", "Die Person heißt Jonas."),
    ("Ich wohne in Leipzig.", "fact", "Die Person wohnt in Leipzig."),
    (
        "Ich bin allergisch gegen Nüsse.",
        "fact",
        "Die Person ist allergisch gegen Nüsse.",
    ),
    ("Ich mag das Meer.", "preference", "Die Person mag das Meer."),
    (
        "Ich lerne seit Januar Deutsch.",
        "skill",
        "Die Person lernt seit Januar Deutsch.",
    ),
    ("Ich hasse Koriander.", "preference", "Die Person hasst Koriander."),
    (
        "Ich trinke keinen Alkohol, seit ich hier wohne.",
        "fact",
        "Die Person trinkt keinen Alkohol.",
    ),
    (
        "Meine Lieblingsfarbe ist übrigens Blau.",
        "preference",
        "Die Lieblingsfarbe der Person ist übrigens Blau.",
    ),
    (
        "Mein Vater heißt Göran und war Lotse.",
        "relationship",
        "Der Vater der Person heißt Göran und war Lotse.",
    ),
    (
        "Meine Chefin heißt Frau Weber.",
        "relationship",
        "Die Chefin der Person heißt Frau Weber.",
    ),
    (
        "Ich habe eine Katze namens Mia.",
        "relationship",
        "Die Person hat eine Katze namens Mia.",
    ),
]

LEFT = [
    # questions
    "Do I live in Lisbon?",
    "I love hiking, don't you?",
    "Should I say I live in Rome?",
    "What if I moved to Lisbon?",
    # hypotheticals and hedges
    "If I were rich, I would live in Paris.",
    "If it rains, I'll stay at home on Friday.",
    "I might move to Berlin next month.",
    "Maybe I'll adopt a dog tomorrow.",
    "I think I prefer tea.",
    "I'd love to learn Japanese.",
    "I wish I lived in Rome.",
    "I'm thinking of moving to Oslo next year.",
    "I could be a teacher.",
    "I almost bought a car yesterday.",
    "I guess I like jazz.",
    "Hopefully I'll finish the report by Friday.",
    "I used to love coffee.",
    # mockery and jokes
    "Oh great, I love being stuck in traffic.",
    "Yeah right, I love Mondays.",
    "I love doing taxes 🙄",
    "I'm a vegetarian. Just kidding!",
    "I hate puppies /s",
    # other people's words
    "She said she hates cats.",
    "My sister said I love drama.",
    'He told me "I live in Madrid".',
    "Anna was like, I hate Mondays.",
    '"I love you," he whispered.',
    "> I live in Boston and I love sushi.",
    "```\nI live in Boston.\n```",
    "- I live in Boston\n- I love sushi",
    "She loves hiking.",
    "They live in Paris.",
    "He thinks I am a doctor.",
    # pointing at what is not in the clause
    "I love it!",
    "I love that idea.",
    "I like how you said that.",
    "I love your dog.",
    "I love the painting.",
    "I bought it yesterday.",
    "I made this last week.",
    "I like the sound of that recipe.",
    "Remember that my code is [redacted: secret].",
    "I promise to call her more often.",
    "I'm going to meet him on 28 March 2027.",
    "I will visit them next weekend.",
    "I will go there tomorrow.",
    "They have a two-year-old dog named Figo.",
    "I talked with Anna and Mia. I will visit her tomorrow.",
    "Anna told me about Ben. I will call her tomorrow.",
    "Tomás is not my boss.",
    "My boss is German.",
    # of others, without a person
    "Netflix loves cancelling my shows.",
    "Google works for me.",
    "Write me a story. Anna lives in Porto.",
    "Anna lives in Porto.",
    "Include personal anecdotes.",
    "Please don't include the scores.",
    "I took a similar trip last month.",
    "I bought a laptop on 12 December.",
    "I promised to stop by soon.",
    "I'll try to check the shop next week.",
    "No, it's real life, not a game.",
    # unfinished
    "I live in...",
    "I work at the",
    "I prefer tea and",
    # games and texts to work on
    "Let's role-play: I am a doctor and I live in Paris.",
    "Pretend that I am a pilot. I live in Paris.",
    "Write a story.\nI live in a castle. I love dragons.",
    "Translate: I live in Berlin.",
    "Act as a chef. I love cooking pasta.",
    "I'm married to my work.",
    "I'm allergic to Mondays.",
    "I'll never go there tomorrow.",
    "My favourite food is sushi, I think.",
    "I won't be there on Friday.",
    "I did not buy a car yesterday.",
    "I've never been to Japan.",
    "This is my favourite song.",
    "My favorite is the red one.",
    "I'm dating myself with that reference.",
    "I'm engaged in a big project.",
    "I have a bug in my code.",
    "I can come tomorrow.",
    "I'm working on a bug.",
    "Always be yourself.",
    "I watched a film that won an Oscar last year.",
    # taken back, or said in another tone
    "I moved to Oslo. No wait, I meant Bergen.",
    "Ich liebe Niete. Nein: Nieten.",
    "I love tea. No, coffee.",
    "Je parle français comme une vache espagnole.",
    "Ich spreche Deutsch wie ein Wasserfall.",
    # somebody else's text
    "Here is what the hotel sent:\nI live in Rome.",
    "Look. Forwarded message:\nI live in Rome.",
    '"I was born in Riga.\n\nI live in Rome," she says.',
    # a thing, not a name
    "I bought my mother Swiss chocolate.",
    "I like the sound of the lentil soup.",
    "The meeting is later today.",
    "Mein Chef ist Deutscher.",
    # small talk
    "Hello!",
    "Thanks so much, you're the best!",
    "I'm fine, thanks.",
    "I'm so tired today.",
    "I'm sorry.",
    "I see.",
    "I love you.",
    "I'm here for you.",
    "Good morning, I hope you slept well.",
    "I'll do it.",
    "I'll try that tomorrow.",
    "Never mind.",
    "Never give up!",
    "Remember when we were kids.",
    "I want pizza.",
    "I have a question.",
    "I have an idea.",
    "I need help with my homework.",
    "I had a dream that I lived in Rome.",
    "Ich mag das nicht.",
    "Vielleicht wohne ich in Berlin.",
    "Je ne vis pas à Paris.",
    "No vivo en Madrid.",
    "Ich liebe dich.",
    "Je t'aime.",
]


# row: X2
@pytest.mark.parametrize(
    ("text", "category", "statement"), TAKEN, ids=[case[0] for case in TAKEN]
)
def test_a_plain_assertion_becomes_one_statement(text, category, statement):
    """Each of these sentences gives exactly the one fact, in the third person."""
    assert [(one.category, one.text) for one in facts(text)] == [(category, statement)]


# row: X2
@pytest.mark.parametrize("text", LEFT)
def test_what_is_not_asserted_of_oneself_gives_nothing(text):
    """Questions, hedges, mockery, quotations, games and small talk are left alone."""
    assert facts(text) == ()


# row: X17
@pytest.mark.parametrize("text", [case[0] for case in TAKEN])
def test_a_quote_stands_in_its_turn(text):
    """Every quote is a literal piece of the turn it names."""
    for one in facts(text):
        assert one.quote
        assert one.quote in text
        assert one.turn_id == "t1"


WORDS = st.sampled_from(
    [word for case in TAKEN for word in case[0].split()]
    + [word for text in LEFT for word in text.split()]
    + ["\n", "“", "😀"]
)


# row: X17
@examples(300)
@given(st.lists(WORDS, max_size=30))
def test_any_words_give_lawful_candidates(words):
    """Whatever is said: literal quote, known category, confidence within the limit, and
    the same again.
    """
    text = " ".join(words)
    first = facts(text)
    assert first == facts(text)
    for one in first:
        assert one.quote in text
        assert one.category in CATEGORIES
        assert 0 < one.confidence <= POLICY.rules_confidence
        assert "\x00" not in one.text


@examples(150)
@given(st.sampled_from([case[0] for case in TAKEN if "?" not in case[0]]))
def test_a_question_is_never_a_fact(text):
    """The same words as a question give nothing."""
    assert facts(text.rstrip(".!") + "?") == ()


# row: C3
def test_a_named_speaker_is_the_subject():
    """A speaker's name stands in the statement and first among the entities."""
    (one,) = facts("I have a dog named Rex.", speaker="Caroline")
    assert one.text == "Caroline has a dog named Rex."
    assert one.about == ("Caroline", "Rex")


def test_an_unnamed_user_is_left_out_of_about():
    """An empty `about` means the owner; others are still named."""
    assert facts("I love hiking.")[0].about == ()
    assert facts("I have a dog named Rex.")[0].about == ("Rex",)


def test_the_assistant_says_nothing_about_itself_or_the_user():
    """What an assistant claims is no evidence."""
    assert facts("I live in Paris. You love tea.", role="assistant") == ()
    assert facts("I live in Paris.", role="assistant", speaker="GPT-5") == ()
    assert facts("I live in Paris.", role="system", speaker="Anna") == ()


def test_a_persona_with_a_name_is_still_a_bot():
    """A speaker that is the persona of the turn is no person."""
    assert facts("I love tea.", role="assistant", speaker="Luna", persona="luna") == ()


def test_a_second_person_is_believed_about_themselves_a_little_less():
    """In a talk between two named people both speak for themselves."""
    (mine,) = facts("I love hiking.", speaker="Anna")
    (theirs,) = facts("I love hiking.", role="assistant", speaker="Ben")
    assert theirs.text == "Ben loves hiking."
    assert theirs.confidence < mine.confidence


def test_orders_are_read_only_where_an_assistant_listens():
    """Between two people `never use emojis` is no standing instruction."""
    order = turn("Never use emojis.", speaker="Anna")
    assert [one.text for one in extract([order], POLICY).candidates] == [
        "The user asks the assistant: Never use emojis."
    ]
    assert (
        extract(
            [order, turn("Hi!", name="t2", role="assistant", speaker="Ben")], POLICY
        ).candidates
        == ()
    )


@pytest.mark.parametrize(
    "label", ["Caroline", "Jean-Luc", "José", "李雷", "Anna Müller"]
)
def test_a_name_is_a_person(label):
    """Names in any script are people."""
    assert is_person(label)


@pytest.mark.parametrize(
    "label",
    ["", " ", "assistant", "User", "gpt-4o", "Claude", "bot_7", "unknown", "a/b"],
)
def test_a_label_is_no_person(label):
    """Roles and model names are not."""
    assert not is_person(label)


# row: X14
def test_dates_are_resolved_and_kept():
    """The statement holds the date, the quote the original words, `when` the interval."""
    (one,) = facts("I moved to Lisbon last month.")
    assert one.when is not None
    assert one.when.start == datetime(2026, 10, 1, tzinfo=NOW.tzinfo)
    assert one.when.words == "last month"
    assert "last month" in one.quote


def test_a_plan_in_the_past_is_no_plan():
    """`will` needs a time ahead, an event a time behind."""
    assert facts("I will send it to Anna yesterday.") == ()
    assert facts("I visited Rome tomorrow.") == ()


# row: C3
def test_a_batch_gives_each_statement_once():
    """The same statement in two turns is one fact, counted as repeated."""
    found = extract([turn("I love hiking."), turn("I love hiking!", name="t2")], POLICY)
    assert [one.turn_id for one in found.candidates] == ["t1"]
    assert found.dropped["repeated"] == 1


# row: C3
# row: E15
def test_a_batch_is_capped_and_keeps_the_surest():
    """Over the cap the weaker go; the order of the turns stays."""
    turns = [
        turn(f"I love {word}.", name=f"a{word}") for word in ("tea", "rain", "chess")
    ]
    turns.append(turn("My name is Anna.", name="z"))
    found = extract(turns, ExtractionPolicy(max_facts=2))
    assert [one.turn_id for one in found.candidates] == ["atea", "z"]
    assert found.dropped["too many"] == 2
    assert found.extractor == EXTRACTOR


def test_an_empty_batch_is_a_valid_answer():
    """Nothing in, nothing out."""
    assert extract([], POLICY).candidates == ()


def test_what_was_refused_is_counted():
    """`dropped` names the reason."""
    assert extract([turn("Do I love tea? I live in...")], POLICY).dropped == {
        "question": 1,
        "unfinished": 1,
    }


def test_long_pasted_text_is_not_read():
    """A very long turn is somebody's text."""
    assert extract([turn("I love hiking. " * 200)], POLICY).dropped == {"pasted": 1}


def test_two_facts_of_one_sentence_are_two():
    """Clauses are read one by one."""
    found = facts("I live in Lisbon and I love hiking, but I hate crowds.")
    assert [one.text for one in found] == [
        "The user lives in Lisbon.",
        "The user loves hiking.",
        "The user hates crowds.",
    ]


def test_a_candidate_is_a_record():
    """Importance is left to the local rule."""
    (one,) = facts("I love hiking.")
    assert isinstance(one, Candidate)
    assert one.importance is None
    assert one.tags == ("preference",)


@pytest.mark.parametrize(
    "pump",
    [
        "I love ",
        "and I ",
        "my sister and I ",
        "a" * 50 + " ",
        '"',
        "(",
        "I have a ",
        "very ",
    ],
)
def test_reading_is_linear(pump):
    """Twice the text takes about twice the time at most (with room for noise)."""

    def seconds(text):
        best = 60.0
        for _ in range(5):
            began = time.process_time()
            extract(
                [turn(text)], ExtractionPolicy(rules_turn=100000, rules_sentence=4000)
            )
            best = min(best, time.process_time() - began)
        return best

    seconds(pump * 10)
    once, twice = pump * (1900 // len(pump)), pump * (3800 // len(pump))
    assert seconds(twice) < 4 * seconds(once) + 0.02


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            ["Let's play: you are the innkeeper, I am Sir Roderick."],
            ["OK, back to real life."],
        ),
        (
            ["You interview me as a chef, I'm Madame Rose."],
            ["Thanks, end of interview!"],
        ),
        (
            ["Spielen wir Taverne: du bist der Wirt, ich bin Ritter Kunz."],
            ["Genug gespielt."],
        ),
        (
            ["Hello there.", "*draws a sword* Stand back!"],
            ["Out of character: thanks."],
        ),
    ],
)
def test_nothing_is_read_while_a_role_is_played(before, after):
    """From the first line of a game to its end nobody speaks for themselves; afterwards
    they do again.
    """
    texts = [*before, "I live in Bruges.", *after, "I live in Oslo."]
    found = extract(
        [turn(text, name=f"t{place}") for place, text in enumerate(texts)], POLICY
    )
    assert [one.text for one in found.candidates] == ["The user lives in Oslo."]
    assert found.dropped["played"] == len(texts) - 1


def test_mockery_spoils_tastes_and_not_facts():
    """Who mocks in one sentence may state a plain fact in the next."""
    found = facts("Oh great, rain. I just love Tuesdays. I'm allergic to nuts.")
    assert [one.text for one in found] == ["The user is allergic to nuts."]


def test_only_the_sentence_before_is_taken_back():
    """A slip of the tongue does not undo the rest of the turn."""
    found = extract([turn("I live in Oslo. I love tea. No, coffee.")], POLICY)
    assert [one.text for one in found.candidates] == ["The user lives in Oslo."]
    assert found.dropped == {"taken back": 1}


# row: X14
def test_a_time_before_the_clause_is_its_time():
    """`From December` is when it begins to hold, in the speaker's words."""
    (one,) = facts("From December my boss is Ben Young.")
    assert one.when is not None
    assert (one.when.start, one.when.words) == (
        datetime(2026, 12, 1, tzinfo=NOW.tzinfo),
        "December",
    )
