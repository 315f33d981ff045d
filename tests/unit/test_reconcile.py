"""What a statement becomes in the running memory: confirmed, written, rewritten, asked
about, or what it ends.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from engram.config import ModelSettings
from engram.core.records import FactLinks
from engram.core.text import content_hash
from tests.fakes.batches import (
    batch_of,
    by_text,
    cases,
    every,
    held_back,
    recalled,
    said,
    tell,
    texts,
    tick,
    tree,
)
from tests.fakes.obsidian import broken_links
from tests.size import FULL

BERLIN, MUNICH = "Anna lives in Berlin.", "Anna lives in Munich."
SESSIONS = 50 if FULL else 6
"""How often recalled text comes back; 12 sessions try every way in which it does."""
EMPHASIS = (
    "really",
    "truly",
    "currently",
    "actually",
    "still",
    "indeed",
    "quite",
    "absolutely",
    "simply",
)
NEWER = "Anna lives in the city of Berlin."
HALL = "The choir sings in the market hall."
OLD_HALL = "The choir sings in the old market hall by the river."


@pytest.fixture
def held(memory):
    return held_back(memory)


@pytest.fixture
def judging(opened):
    """A memory with a model; what it says of two statements is handed in with the
    batch.
    """
    return held_back(opened(model=ModelSettings("x")))


def judged(memory, relation, old, text, **more):
    """A statement of which the model says that it is the `same` as an old one, or
    `replaces` it.
    """
    links = {text: link(relation, by_text(memory, old).id)}
    return tell(memory, text, links=links, **{"confidence": 0.9} | more)


def link(relation, old):
    return FactLinks(same=old) if relation == "same" else FactLinks(replaces=(old,))


def hashes(memory):
    return set(
        (memory.settings.vault / "state" / "fact-hashes.txt")
        .read_text()
        .splitlines()[1:]
    )


def deeds(memory, fact_id):
    return [row["action"] for row in memory.call("why", {"id": fact_id})["decisions"]]


def three_sessions(memory):
    """A fact that three conversations have told."""
    for text in (
        BERLIN,
        "Anna really lives in Berlin.",
        "Anna currently lives in Berlin.",
    ):
        tell(memory, text)
    return by_text(memory, BERLIN)


# -- said again ------------------------------------------------------------------------


# row: A8
# row: X23
@pytest.mark.parametrize("whose", ["edited", "written", "remembered"])
def test_a_persons_note_keeps_its_bytes_when_it_is_said_again(held, clock, whose):
    """Usage and the action log hold that it was heard again."""
    if whose == "edited":
        tell(held, "Anna loves green tea.")
        path = held.settings.vault / every(held)[0].path
        path.write_text(path.read_text().replace("green tea", "tea"))
    elif whose == "written":
        path = held.settings.vault / "facts" / "tea.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("Anna loves tea.\n")
    else:
        made = held.call("remember", {"text": "Anna loves tea."})
        path = held.settings.vault / made["path"]
    clock.advance(minutes=5)
    held.files.rescan_settled(None)
    (fact,) = held.index.catalog.facts("Anna")
    before = path.read_bytes()
    clock.advance(days=1)
    assert tell(held, "Anna loves tea.").confirmed == (fact.id,)
    assert path.read_bytes() == before
    assert held.usage_tracker.usage_of(fact.id).evidence_at == clock()
    assert deeds(held, fact.id)[-1] == "confirm"


# row: D6
# row: X27
def test_what_the_user_only_passes_on_is_believed_as_little_however_often(held):
    """A program's word about the conversation, until the user says so."""
    for words in ("Anna loves tea.", *(f"Anna {word} loves tea." for word in EMPHASIS)):
        tell(held, words, turn=f"Tom wrote:\n{words}", quote=words, confidence=0.95)
        assert by_text(held, "Anna loves tea.").confidence == 0.6
    tell(held, "Anna really loves tea.", confidence=0.95)
    assert by_text(held, "Anna loves tea.").confidence == 0.7


# row: X27
def test_what_is_said_beside_a_quotation_is_the_users_own(held):
    """Also where they say the same as it; and so is what is said again."""
    words = "Anna loves tea."
    tell(
        held,
        words,
        turn=f'Tom wrote "{words}" and he is right: {words}',
        quote=words,
        confidence=0.8,
    )
    assert by_text(held, words).confidence == 0.8
    tell(held, "Anna really loves tea.")
    assert by_text(held, words).confidence == 0.9


# row: A8
def test_words_replaced_twice_in_one_batch_are_both_history(judging):
    """The second meets the note as the first leaves it."""
    tell(judging, HALL)
    old = by_text(judging, HALL)
    newer = (OLD_HALL, "The big choir sings in the old green market hall by the river.")
    batch = batch_of(judging, *newer)
    first, second = (
        said(
            batch,
            text,
            turn_id=turn.id,
            quote=turn.text,
            links={text: link("same", old.id)},
        ).candidates[0]
        for text, turn in zip(newer, batch.turns, strict=True)
    )
    extraction = said(batch)
    judging.pipeline.file(batch, replace(extraction, candidates=(first, second)))
    (fact,) = every(judging)
    assert (fact.text, fact.confidence) == (newer[1], 0.7)
    told = judging.vault.read(fact.path).decode()
    assert told.endswith(
        f"- until 2026-11-20: {HALL}\n- until 2026-11-20: {newer[0]}\n"
    )


# -- contradicted ----------------------------------------------------------------------


# row: A7
def test_tea_then_coffee_then_tea(judging):
    """What a contradiction ended may be true again."""
    tea, coffee = "Anna's favourite drink is tea.", "Anna's favourite drink is coffee."
    tell(judging, tea)
    judged(judging, "replaces", tea, coffee)
    assert texts(judging) == [coffee]
    filed = judged(judging, "replaces", coffee, tea)
    assert (len(filed.created), texts(judging)) == (1, [tea])
    assert texts(judging, "superseded") == [coffee, tea]


def test_late_evidence_ends_nothing_younger(judging, clock):
    """An old conversation arrives: its statement was over when the younger one was
    said.
    """
    tell(judging, MUNICH)
    judged(judging, "replaces", MUNICH, BERLIN, occurred_at="2020-01-01T10:00:00Z")
    old, young = by_text(judging, BERLIN), by_text(judging, MUNICH)
    assert (young.status, old.status) == ("active", "superseded")
    assert (old.superseded_by, young.supersedes) == ((young.id,), (old.id,))
    assert old.valid_until == clock()
    assert recalled(judging, "Where did Anna live?", as_of="2021-01-01") == [BERLIN]


# row: X9
@pytest.mark.parametrize(
    ("answer", "stays", "ended"),
    [
        ("newer", [MUNICH], [BERLIN]),
        ("older", [BERLIN], [MUNICH]),
        ("both", [BERLIN, MUNICH], []),
    ],
)
def test_a_tick_in_any_editor_decides(judging, answer, stays, ended):
    """The next look at the vault carries it out, once."""
    held = judging
    (known,) = tell(held, BERLIN).created
    held.call("update", {"id": known, "pinned": True})
    judged(held, "replaces", BERLIN, MUNICH)
    (asks,) = cases(held)
    tick(asks, answer)
    held.files.rescan([asks])
    assert (texts(held), texts(held, "superseded")) == (stays, ended)
    assert not cases(held)
    assert sorted(recalled(held, "Where does Anna live?")) == stays
    for text in stays:
        tell(held, text)
    assert not cases(held)


# -- who says it -----------------------------------------------------------------------


# row: X27
@pytest.mark.parametrize("standing", ["tool", "import"])
@pytest.mark.parametrize("category", ["fact", "correction"])
def test_what_comes_from_outside_ends_nothing_the_user_said(
    judging, standing, category
):
    """It waits beside a note that asks; a tick takes it in."""
    tell(judging, BERLIN)
    filed = judged(
        judging, "replaces", BERLIN, MUNICH, standing=standing, category=category
    )
    assert (filed.created, len(filed.review), texts(judging)) == ((), 1, [BERLIN])
    (asks,) = cases(judging)
    assert recalled(judging, "Where does Anna live?") == [BERLIN]
    tick(asks, "newer")
    judging.files.rescan([asks])
    assert (texts(judging), texts(judging, "superseded")) == ([MUNICH], [BERLIN])


# row: E14
def test_a_persona_changes_nothing_that_others_know(judging):
    """It may confirm it; a contradiction stands beside it, for the persona alone, and
    asks.
    """
    tell(judging, BERLIN)
    before = judging.vault.read(by_text(judging, BERLIN).path)
    judged(judging, "same", BERLIN, NEWER, persona="Kapitän", private=True)
    judged(judging, "replaces", BERLIN, MUNICH, persona="Kapitän", private=True)
    assert judging.vault.read(by_text(judging, BERLIN).path) == before
    assert sorted(recalled(judging, "Anna lives", persona="Kapitän")) == [
        BERLIN,
        MUNICH,
    ]
    assert recalled(judging, "Anna lives", persona="Smutje") == [BERLIN]
    assert len(cases(judging)) == 1


# -- one batch -------------------------------------------------------------------------


# row: A11
@pytest.mark.parametrize("model", [None, ModelSettings("x")])
def test_a_batch_that_corrects_itself_keeps_the_last_word(opened, model):
    """Also with a model: nobody could ask it about what was not known yet."""
    memory = held_back(opened(model=model))
    batch = batch_of(memory, "I live in Berlin. No, wait, in Munich.")
    first, second = (
        said(batch, BERLIN).candidates
        + said(batch, MUNICH, category="correction").candidates
    )
    filed = memory.pipeline.file(
        batch, replace(said(batch), candidates=(first, second))
    )
    assert len(filed.created) == 2
    assert (texts(memory), texts(memory, "superseded")) == ([MUNICH], [BERLIN])
    assert hashes(memory) == {content_hash(MUNICH)}
    assert tell(memory, BERLIN).created == ()


# -- what is written -------------------------------------------------------------------


# row: C9
@pytest.mark.parametrize(
    "category", ["decision", "commitment", "principle", "correction"]
)
def test_the_very_words_of_a_decision_are_kept(held, category):
    """In the conversation, which the memory shows; no note only repeats them."""
    words = "OK, decided: we paint the boat red, on Sunday, with <b>two</b> coats."
    tell(
        held, "The boat is painted red.", turn=words, category=category, confidence=0.8
    )
    vault = held.settings.vault
    fact = by_text(held, "The boat is painted red.")
    note, _, block = fact.source.partition("#^")
    assert f"![[{note}#^{block}]]" in (vault / fact.path).read_text()
    (talk,) = vault.glob(f"sessions/*/{note}.md")
    assert words.replace("<", "&lt;") in talk.read_text().split(f"^{block}\n")[0]
    repeated = [
        path for path in vault.rglob("*.md") if "with &lt;b>two" in path.read_text()
    ]
    assert repeated == [talk]


# row: C9
# row: C31
def test_no_link_leads_to_a_note_that_a_person_deleted(held, clock):
    """The box keeps its name; what stands beside it keeps every byte. So do the words
    that an older version kept in a note.
    """
    vault = held.settings.vault
    tell(
        held,
        "The boat is painted red.",
        session="boat",
        category="decision",
        confidence=0.8,
    )
    tell(held, "Anna loves tea.", session="boat")
    tell(held, "Ben loves milk.", session="boat")
    held.reconciler.box_writer.flush(clock())
    (box,) = vault.glob("boxes/*/*.md")
    box.write_bytes(box.read_bytes() + b"Mine: [[elsewhere]]\r\n")
    before = box.read_bytes()
    path = by_text(held, "The boat is painted red.").path
    name = path.rpartition("/")[2].removesuffix(".md")
    words = vault / f"artifacts/2026-11-20/artifact-{name}.md"
    words.parent.mkdir(parents=True)
    words.write_text(
        f'---\nkind: artifact\nmemory: "[[{name}]]"\n---\nOK, decided: red.\n'
    )
    (vault / path).unlink()
    held.index.scanner.clock = lambda: clock().timestamp()
    held.files.rescan(None)
    assert box.read_bytes() == before
    clock.advance(seconds=10)
    held.files.rescan(None)
    shown = f"[[{name}|The boat is painted red.]]".encode()
    assert shown in before
    assert box.read_bytes() == before.replace(shown, b"gone")
    assert f"memory: {name}\n" in words.read_text()
    assert [link.rpartition(": ")[2] for link in broken_links(vault)] == [
        "[[elsewhere]] leads nowhere"
    ]


# row: X7
def test_sessions_of_injected_recall_teach_nothing(memory, clock):
    """A program puts what was recalled into the user's next turn, fenced or bare, and a
    model repeats it.

    Ben's words, read as the user's own, would make new memories each time.
    """
    told = [
        {
            "session": "first",
            "text": "My name is Mira. I live in Porto. I prefer oat milk. I work at Acme.",
        },
        {
            "session": "first",
            "text": "I live in Rome. I play the violin. I work at Initech.",
            "speaker": "Ben",
        },
    ]
    memory.call("observe", {"turns": told})
    memory.call("flush", {})
    known = every(memory)
    assert len(known) >= 6
    for number in range(SESSIONS):
        clock.advance(hours=1)
        session = f"later {number}"
        query = (
            "Where does Mira live and work?",
            "Where does Ben live, what does he play?",
        )[number % 2]
        kinds = [("turn", "fact"), ("turn",)][number % 3 == 0]
        answer = memory.call(
            "recall", {"query": query, "session": session, "kinds": list(kinds)}
        )
        assert answer["hits"]
        hits = "\n".join(hit["text"] for hit in answer["hits"])
        handed_out = answer["text"] if number % 4 < 2 else hits
        turns = [
            {"session": session, "text": f"{handed_out}\n\nWhat shall I cook tonight?"},
            {"session": session, "role": "assistant", "text": f"I remember:\n{hits}"},
        ]
        memory.call("observe", {"turns": turns})
    memory.call("flush", {})
    assert every(memory) == known


# row: X18
def test_the_catalogue_knows_every_note_as_it_stands_on_the_disk(judging):
    """After all kinds of changes; a look at the vault finds nothing new."""
    three_sessions(judging)
    tell(judging, HALL)
    judged(judging, "same", HALL, OLD_HALL)
    judged(judging, "replaces", BERLIN, MUNICH, about=("Anna",))
    tell(judging, "Anna is rich.", quote="")
    before = tree(judging)
    assert not judging.index.catalog.problems()
    assert [judging.index.catalog.fact(fact.id) for fact in every(judging)] == every(
        judging
    )
    judging.files.rescan(None)
    assert tree(judging) == before


# row: X27
def test_what_the_user_only_passes_on_does_not_replace_their_own_word(judging):
    """It waits, and a person is asked; what was passed on itself gives way to the user."""
    tell(judging, BERLIN)
    filed = judged(
        judging,
        "replaces",
        BERLIN,
        MUNICH,
        turn=f"Tom wrote:\n{MUNICH}",
        quote=MUNICH,
    )
    assert len(filed.review) == 1
    assert by_text(judging, BERLIN).status == "active"
    assert len(cases(judging)) == 1


# row: X27
def test_the_users_own_word_replaces_what_they_passed_on(judging):
    """What somebody else wrote stands below it."""
    tell(judging, BERLIN, turn=f"Tom wrote:\n{BERLIN}", quote=BERLIN)
    judged(judging, "replaces", BERLIN, MUNICH, role="assistant")
    assert texts(judging) == [MUNICH]
