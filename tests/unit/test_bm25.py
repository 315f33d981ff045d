"""The lexical index: what is found, what is not, and why."""

from __future__ import annotations

import math
import threading
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from rank_bm25 import BM25Okapi

from engram.core.policy import LexicalPolicy
from engram.core.ranking import PART_MEANINGS, parse_question
from engram.index.bm25 import Bm25Index, IndexedText
from engram.index.filters import SearchFilter

NOW = datetime(2026, 11, 21, 15, tzinfo=UTC)
ALL = SearchFilter(persona=None)


def at(*date):
    return datetime(*date, 12, tzinfo=UTC).timestamp()


def turn(key, text, position=0, thread="s", **more):
    return IndexedText(key, "turn", text, thread, position, **more)


def fact(key, text, **more):
    return IndexedText(key, "fact", text, **more)


def index(*docs, **policy):
    made = Bm25Index(LexicalPolicy(**policy))
    made.add(docs)
    return made


def keys(found):
    return [hit.key for hit in found.hits]


def search(lexical, text, where=ALL, k=10, now=NOW):
    return lexical.search(parse_question(text, now), where, k)


def parts(lexical, text, key):
    return next(
        hit.parts for hit in search(lexical, text, k=100).hits if hit.key == key
    )


# Few documents.


@pytest.mark.parametrize("count", [1, 2, 3])
def test_one_of_few_units_is_found_with_a_score_above_zero(count):
    """The parent's idf of a word in most of two documents is negative; a match is a
    match.
    """
    lexical = index(*[fact(f"f{n}", f"coffee number{n}") for n in range(count)])
    found = search(lexical, "coffee?")
    assert keys(found) == [f"f{n}" for n in range(count)]
    assert all(hit.score > 0 for hit in found.hits)


# What comes and goes.


# row: X18
def test_what_was_added_is_found_by_the_next_search():
    """And only with its new text, after it was replaced."""
    lexical = index(fact("a", "Anna drinks tea"))
    lexical.add([fact("a", "Anna drinks coffee")])
    assert keys(search(lexical, "coffee")) == ["a"]
    assert keys(search(lexical, "tea")) == []
    assert len(lexical) == 1


# row: X18
def test_what_was_removed_is_not_found_by_the_next_search():
    """Removing it again, or what never was, is no fault."""
    lexical = index(fact("a", "tea"), fact("b", "tea"))
    lexical.remove(["a", "a", "never"])
    assert keys(search(lexical, "tea")) == ["b"]
    assert "a" not in lexical
    assert "b" in lexical


def test_many_dead_rows_are_swept_out():
    """Editing one note for years does not grow the index, and changes no answer."""
    lexical = index(turn("t1", "coffee in Oslo", 1), turn("t2", "yes", 2))
    before = search(lexical, "coffee Oslo")
    for n in range(3000):
        lexical.add([turn("t1", f"draft {n}", 1)])
    lexical.add([turn("t1", "coffee in Oslo", 1)])
    assert lexical._rows.size < 2000
    assert search(lexical, "coffee Oslo") == before


def test_threads_may_add_and_search_at_once():
    """Every answer is one that the index could have given between two additions."""
    lexical = index(fact("a", "coffee"))
    faults = []

    def add(name):
        for n in range(100):
            lexical.add([turn(f"{name}{n}", "coffee beans", n, name)])

    def look():
        for _ in range(100):
            found = search(lexical, "coffee")
            if not found.hits or any(hit.score <= 0 for hit in found.hits):
                faults.append(found)

    threads = [threading.Thread(target=add, args=(name,)) for name in "xy"] + [
        threading.Thread(target=look)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not faults
    assert len(lexical) == 201


# What may be found.


def test_kinds_and_threads_are_kept_to():
    """What is not asked for is not there, and is not counted as left out."""
    lexical = index(
        fact("f", "tea"),
        turn("t", "tea"),
        turn("u", "tea", thread="other"),
        IndexedText("n", "note", "tea"),
    )
    assert keys(search(lexical, "tea", SearchFilter(kinds=("fact", "note")))) == [
        "f",
        "n",
    ]
    assert keys(
        search(lexical, "tea", SearchFilter(kinds=("turn",), threads=("s",)))
    ) == ["t"]
    assert search(lexical, "tea", SearchFilter(kinds=("fact",))).filtered == {}


# row: E14
def test_a_persona_sees_its_own_and_everybodys():
    """Another's is not found, not counted, and lends no score to a neighbour."""
    lexical = index(
        turn("mine", "quiet evening", 1, persona="ada"),
        turn("theirs", "secret swordfish", 2, persona="bob"),
        turn("all", "swordfish recipe", thread="t"),
    )
    assert keys(search(lexical, "swordfish", SearchFilter(persona="ada"))) == ["all"]
    assert set(keys(search(lexical, "swordfish", SearchFilter(persona="bob")))) == {
        "theirs",
        "all",
    }
    assert keys(search(lexical, "swordfish", SearchFilter())) == ["all"]
    assert search(lexical, "swordfish", SearchFilter(persona="ada")).filtered == {}


# row: X4
def test_units_left_out_are_counted_by_reason_where_they_would_have_been_shown():
    """A weaker one behind the last place is nobody's loss."""
    lexical = index(
        fact("old", "swordfish tea", status="superseded"),
        fact("late", "swordfish tea", created=at(2026, 5, 1)),
        fact("over", "swordfish tea", valid_until=at(2026, 1, 1)),
        fact("weak", "tea and much else besides " * 9, status="archived"),
        fact("now", "swordfish tea"),
    )
    found = search(lexical, "swordfish tea", SearchFilter(as_of=at(2026, 2, 1)), k=1)
    assert keys(found) == ["now"]
    assert found.filtered == {}
    found = search(lexical, "swordfish tea", SearchFilter(as_of=at(2026, 2, 1)), k=5)
    assert found.filtered == {"status": 2, "not known then": 1, "not valid then": 1}


# row: X5
def test_as_of_answers_from_what_was_known_and_valid_then():
    """From its first moment on, and not at its last any more."""
    lexical = index(
        fact(
            "tea",
            "drinks tea",
            status="superseded",
            created=at(2026, 1, 1),
            valid_until=at(2026, 6, 1),
        ),
        fact(
            "oat", "drinks oat milk", created=at(2026, 6, 1), valid_from=at(2026, 6, 1)
        ),
        turn("said", "drinks on the table", when=at(2026, 3, 1)),
    )
    both = ("active", "superseded")
    assert keys(
        search(lexical, "drinks", SearchFilter(statuses=both, as_of=at(2026, 2, 1)))
    ) == ["tea"]
    assert set(
        keys(
            search(lexical, "drinks", SearchFilter(statuses=both, as_of=at(2026, 6, 1)))
        )
    ) == {"oat", "said"}


# What a conversation adds.


# row: X4
def test_parts_sum_to_the_score():
    """Own words, date, neighbours, session, who says it, how and when: nothing is
    unexplained.
    """
    lexical = index(
        turn(
            "t1",
            "A fine lamp. Where did you buy the lamp, Anna?",
            1,
            speaker="Bob",
            role="user",
            when=at(2026, 11, 20),
        ),
        turn(
            "t2",
            "In Oslo, last May.",
            2,
            speaker="Anna",
            role="assistant",
            when=at(2026, 11, 20),
        ),
        turn(
            "t3",
            "My two lamps from Oslo!",
            3,
            speaker="Bob",
            role="user",
            when=at(2026, 11, 20),
        ),
        fact("f", "Anna has a dog"),
    )
    seen = set()
    for asked in (
        "When did you say that Anna bought the lamp, yesterday, on 20 November?",
        "How many lamps do I have from Oslo?",
        "Which puppy was it?",
    ):
        for hit in search(lexical, asked).hits:
            assert hit.score == pytest.approx(sum(hit.parts.values()), abs=1e-9)
            seen |= set(hit.parts)
    others = {
        "agenda",
        "newest",
        "answers",
        "replaces",
        "importance",
        "recency",
        "stability",
        "frequency",
        "vector",
        "subject",
        "ties",
        "chain",
        "nudge",
    }
    assert seen == set(PART_MEANINGS) - others


def test_an_answer_is_found_by_the_words_of_the_question_before_it():
    """A question just before weighs twice what a statement does."""
    asking = index(
        turn("q", "What did you name the puppy?", 1),
        turn("a", "Biscuit", 2),
        fact("x", "y"),
    )
    stating = index(
        turn("q", "I know you named the puppy.", 1),
        turn("a", "Biscuit", 2),
        fact("x", "y"),
    )
    assert keys(search(asking, "puppy name")) == ["a"]
    near = parts(asking, "puppy name", "a")["neighbours"]
    assert near > parts(stating, "puppy name", "a")["neighbours"] > 0


def test_a_nod_is_no_answer_and_does_not_stand_before_one():
    """What stands beside it would put it above a turn that holds a word of the
    question.
    """
    user, bot = {"role": "user"}, {"role": "assistant"}
    told = [
        turn("a1", "We want the kitchen in sage green.", 1, **user),
        turn("a2", "Noted.", 2, **bot),
    ]
    weak = turn(
        "b1",
        "The kitchen of the house by the mill has old tiles and a stove and a sink.",
        1,
        "other",
        **user,
    )
    lexical = index(*told, weak)
    assert keys(search(lexical, "kitchen green")) == ["a1", "b1"]
    assert "a2" not in keys(search(lexical, "noted"))


# row: X13
# row: X4
def test_a_question_is_met_in_other_words():
    """Behind its own words, and shown as such; what is narrower answers, and is not
    answered by its like.
    """
    lexical = index(
        fact("own", "Mira owns a musical instrument"),
        fact("guitar", "Mira plays the guitar"),
        fact("cello", "Mira sold her cello"),
        *(fact(f"other {n}", "Mira sleeps well") for n in range(5)),
        session=0.0,
    )
    found = search(lexical, "Which instrument?")
    assert keys(found) == ["own", "cello", "guitar"]
    assert [set(hit.parts) for hit in found.hits] == [{"text"}, {"akin"}, {"akin"}]
    assert keys(search(lexical, "Which guitar?")) == ["guitar"]
    assert (
        keys(
            search(
                index(fact("guitar", "Mira plays the guitar"), akin=0.0),
                "Which instrument?",
            )
        )
        == []
    )


# row: X13
def test_a_word_akin_says_little_in_a_long_text_and_nothing_where_a_speaker_is_meant():
    """A long text has a word of everything; who asks what Rose said means no other
    flower.
    """
    short, long = (
        fact(name, "a puppy " + "sleeps " * n)
        for name, n in (("short", 3), ("long", 90))
    )
    lexical = index(
        short, long, *(fact(f"other {n}", "so it goes") for n in range(5)), b=0.0
    )
    assert (
        parts(lexical, "Which dog?", "long")["akin"]
        < parts(lexical, "Which dog?", "short")["akin"] / 3
    )
    named = index(
        turn("t", "a tulip", speaker="Flower"),
        turn("u", "so it goes", thread="other"),
        speaker=0.0,
    )
    assert keys(search(named, "What did Flower say?")) == []


def test_the_date_of_a_turn_answers_for_its_words():
    """Its month, weekday, year and day, in the zone of the vault and in any language."""
    docs = [
        turn("may", "we met", thread="a", when=at(2023, 5, 8)),
        turn("june", "we met", thread="b", when=at(2023, 6, 9)),
    ]
    lexical = index(*docs)
    for words in (
        "met in May",
        "met on the 8",
        "met on Monday",
        "am Montag met",
        "met en mayo",
    ):
        assert keys(search(lexical, words))[0] == "may"
    assert {"may", "june"} == set(keys(search(lexical, "met 2023")))
    assert "date" in parts(lexical, "met 2023", "may")
    far = Bm25Index(zone=ZoneInfo("Pacific/Kiritimati"))
    far.add(docs)
    assert "date" in next(
        hit.parts for hit in search(far, "met on Tuesday").hits if hit.key == "may"
    )


def test_a_question_how_many_prefers_turns_that_hold_a_number():
    """In digits or in words; and only such a question."""
    docs = [
        turn(key, text, thread=key)
        for key, text in (("a", "a lamp"), ("b", "two lamps"), ("c", "12 lamps"))
    ]
    lexical = index(*docs)
    assert keys(search(lexical, "How many lamps?")) == ["b", "c", "a"]
    assert "counted" not in parts(lexical, "Which lamps?", "b")


def test_a_question_about_oneself_prefers_what_one_told_of_oneself():
    """A turn that only asks tells less; neither does what another role says of itself."""
    lexical = index(
        turn("asks", "Where would one put a lamp? Thanks", thread="a", role="user"),
        turn("tells", "My lamp is by the bed. Thanks", thread="b", role="user"),
        turn("other", "My lamp is by the bed. Thanks", thread="c", role="assistant"),
    )
    assert keys(search(lexical, "Where is my lamp?"))[0] == "tells"
    assert [
        key
        for key in keys(search(lexical, "my lamp"))
        if "telling" in parts(lexical, "my lamp", key)
    ] == ["tells"]
    assert "telling" not in parts(lexical, "Where is the lamp?", "tells")


def test_a_question_about_oneself_is_not_answered_by_what_one_tells_of_ones_sister():
    """And one about her is."""
    lexical = index(
        turn("hers", "My sister lives in Porto.", thread="a", role="user"),
        turn("own", "I live in Berlin.", thread="b", role="user"),
    )
    assert keys(search(lexical, "Where do I live?")) == ["own", "hers"]
    assert keys(search(lexical, "Where does my sister live?")) == ["hers", "own"]
    assert "telling" not in parts(lexical, "Where does my sister live?", "own")


# row: X14
def test_the_time_a_question_names_finds_what_was_said_then():
    """Even where no word matches; words come first."""
    lexical = index(
        turn("then", "a quiet day", 1, "a", when=at(2026, 11, 20)),
        turn("word", "I bought a lamp", 1, "b", when=at(2026, 10, 1)),
    )
    found = search(lexical, "What did I buy yesterday?")
    assert set(keys(found)) == {"then", "word"}
    assert "span" in parts(lexical, "What did I buy yesterday?", "then")


def test_common_words_do_not_make_candidates_beyond_the_budget():
    """Rare words choose the rows, common ones still count for their score."""
    docs = [fact(f"f{n:03}", "tea time") for n in range(300)] + [
        fact("z", "tea with swordfish")
    ]
    lexical = index(*docs, postings=100)
    found = search(lexical, "tea swordfish", k=500)
    assert keys(found) == ["z"]
    assert (
        found.hits[0].score == search(index(*docs), "tea swordfish", k=1).hits[0].score
    )
    assert len(keys(search(lexical, "tea", k=500))) == 301


# Languages.


# row: X13
@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            "Sie kaufte zwei Häuser und die Gärten mit dem Hund",
            "Wer hat ein Haus mit Garten?",
        ),
        ("Anna mag Katzen", "Katze"),
        ("je ne mangerai pas de fraises avec du lait", "Qui mange des fraises?"),
        ("我喜欢喝绿茶", "绿茶"),
        ("我喜欢喝绿茶", "茶"),
        ("Она любит большие собаки", "собака"),
        ("σπίτια στη θάλασσα", "σπίτι"),
        ("मुझे किताबें पसंद हैं", "किताब"),
        ("ＡＮＮＡ went to İzmir", "anna"),
        ("The children went swimming", "Which child goes to swim?"),
    ],
)
def test_a_word_is_found_in_another_form(text, question):
    """Stemming by language and script; a question too short to tell its language tries
    all there are.
    """
    lexical = index(
        fact("a", text),
        fact("b", "der Zug fährt nicht mit dem Wagen"),
        fact("c", "l'avion est dans le ciel"),
        fact("d", "unrelated English words about the weather"),
    )
    assert keys(search(lexical, question))[:1] == ["a"]


def test_terms_are_stems_without_stop_words():
    """What a caller counts with is what the index counts."""
    assert Bm25Index().terms("The children's toys were lost") == [
        "child",
        "toy",
        "lose",
    ]


# The snapshot.


def filled():
    return index(
        turn(
            "s#^t1",
            "You did buy the lamp then.",
            1,
            speaker="Bob",
            when=at(2026, 5, 1),
        ),
        turn(
            "s#^t2",
            "In Oslo. 绿茶",
            2,
            speaker="Anna",
            role="assistant",
            when=at(2026, 5, 1),
        ),
        fact(
            "F",
            "Anna bought a lamp in Oslo",
            persona="ada",
            status="archived",
            valid_from=at(2026, 1, 1),
        ),
        IndexedText("notes/lämp.md", "note", "lamp repair"),
    )


QUESTIONS = (
    "When did Anna buy the lamp?",
    "lamp Oslo in May",
    "绿茶",
    "what did you say yesterday",
)


# row: X20
def test_a_saved_index_answers_as_before(tmp_path):
    """Also with what is added and removed after it was loaded."""
    first, second = filled(), Bm25Index()
    first.save(tmp_path)
    assert second.load(tmp_path)
    for lexical in (first, second):
        lexical.add(
            [
                turn("s#^t3", "A lamp from Oslo?", 3, speaker="Bob"),
                fact("G", "lamp oil"),
            ]
        )
        lexical.remove(["notes/lämp.md"])
    where = SearchFilter(statuses=("active", "archived"), persona="ada")
    for text in QUESTIONS:
        assert search(first, text, where) == search(second, text, where)
    assert len(second) == len(first) == 5


def test_a_snapshot_that_cannot_be_used_gives_an_empty_index(tmp_path):
    """Absent, empty, cut anywhere, one bit flipped, not ours, another version, another
    zone: never a crash.
    """
    lexical = Bm25Index()
    assert not lexical.load(tmp_path)
    filled().save(tmp_path)
    file = tmp_path / "lexical.bin"
    whole = file.read_bytes()
    damaged = [
        b"",
        b"\n",
        b"not a snapshot\n" * 9,
        whole.replace(b"engram-lexical 1", b"engram-lexical 0", 1),
    ]
    damaged += [whole[:size] for size in range(0, len(whole), max(1, len(whole) // 40))]
    for place in range(0, len(whole), max(1, len(whole) // 40)):
        damaged.append(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
    for raw in damaged:
        file.write_bytes(raw)
        lexical.load(tmp_path)
        assert len(lexical) in {0, 4}
        search(lexical, "lamp")
    file.write_bytes(whole)
    assert not Bm25Index(zone=ZoneInfo("Asia/Tokyo")).load(tmp_path)
    assert lexical.load(tmp_path)
    assert keys(search(lexical, "lamp"))


def test_the_average_idf_is_that_of_the_living():
    """A word in more than half of the units is worth the parent's share of the average."""
    texts = ["tea cup", "tea pot", "tea leaf", "milk jug"]
    lexical = index(
        *[fact(str(n), text) for n, text in enumerate(texts)],
        fact("gone", "tea rare words"),
    )
    lexical.remove(["gone"])
    parent = BM25Okapi([sorted(lexical.terms(text)) for text in texts], k1=0.9, b=0.75)
    assert math.isfinite(parent.average_idf)
    assert (
        lexical.get_scores(["tea", "cup"]).tolist()
        == parent.get_scores(["tea", "cup"]).tolist()
    )


# row: X20
def test_many_at_once_are_found_like_one_after_another():
    """What makes a frozen segment of a cold start, and what joins the delta, give one
    answer.
    """
    docs = [
        fact(f"k{n:03}", " ".join(f"w{(n * step) % 700}" for step in range(1, 101)))
        for n in range(300)
    ]
    at_once, singly = index(*docs), Bm25Index()
    for doc in docs:
        singly.add([doc])
    for found in (at_once, singly):
        found.add([fact("k007", "w1 w1 changed")])
        found.remove(["k008"])
    for asked in ("w1", "w7 w90", "w350 w4 w4", "changed"):
        assert search(at_once, asked, k=400) == search(singly, asked, k=400)
        assert (
            at_once.get_scores(asked.split()).tolist()
            == singly.get_scores(asked.split()).tolist()
        )


# row: X13
@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            "J'ai prêté ma perceuse à mon voisin, et la scie aussi.",
            "Qui a ma perceuse ?",
        ),
        ("hey im zoe, im in 10th grade", "what grade am i in?"),
    ],
)
def test_a_question_that_looks_like_another_language_finds_the_word(text, question):
    """Few words tell little: `qui` and `ma` are Italian too, `im` is German."""
    lexical = index(
        fact("this", text), fact("other", "The weather was fine and we went out.")
    )
    assert keys(search(lexical, question)) == ["this"]
