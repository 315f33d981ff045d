"""What every store of an index must do, stated once and run on each of them.

`world` is an empty vault with its index on one store; it writes notes as people do.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from engram.config import EmbeddingSettings
from engram.core import ranking
from engram.core.policy import LinkPolicy
from engram.core.records import Fact, FiledTurn, Turn
from engram.core.text import content_hash, ulid
from engram.errors import ConflictError, NotFoundError
from engram.index.filters import SearchFilter
from engram.index.search import Index
from engram.index.vectors import digest
from engram.vault import facts, frontmatter, sessions
from engram.vault.store import Vault

WHEN = datetime(2026, 11, 20, 20, 14, tzinfo=UTC)


class World:
    """A vault that people and engram write to, and its index on one store."""

    def __init__(self, settings):
        self.settings = settings
        self.now = 100.0
        self.index = self.open()

    def open(self):
        vault = Vault(self.settings.vault, lambda *_: None)
        index = Index(self.settings, vault, monotonic=lambda: self.now)
        self.zone = self.settings.zone
        return index

    def restart(self):
        self.index.close()
        self.index = self.open()

    def put(self, path, content, seconds=0):
        """Write a file as long ago as the scan needs to trust its time."""
        target = self.settings.vault / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        stamp = 1_700_000_000 + seconds
        os.utime(target, (stamp, stamp))

    def fact(self, text, path="", seconds=0, **keys):
        """Write a note with this fact and return the fact."""
        when = WHEN + timedelta(seconds=seconds)
        fact = Fact(**{"id": ulid(when, text), "text": text, "created": when} | keys)
        path = path or f"facts/2026-11-20/fact-{content_hash(text)[:8]}.md"
        note = frontmatter.emit(
            facts.fact_keys(fact, self.zone), facts.fact_body(fact.text)
        )
        self.put(path, note, seconds)
        return replace(fact, path=path)

    def session(self, *said, stem="2026-11-20-s1"):
        """Write the file of a conversation; user and assistant speak in turn."""
        turns = [
            FiledTurn(
                Turn(
                    f"u{number}",
                    "s1",
                    "assistant" if number % 2 else "user",
                    text,
                    WHEN + timedelta(minutes=number),
                ),
                stem,
                f"t{number + 1}",
            )
            for number, text in enumerate(said)
        ]
        note = sessions.new_session(turns, self.zone)
        self.put(sessions.path(stem), note)
        return turns

    def path(self, fact):
        return self.settings.vault / fact.path

    def second_look(self):
        """Scan, wait, and scan again: what is missing twice is gone."""
        self.index.scan(None)
        self.now += self.settings.policy.files.settle_most_seconds + 1
        return self.index.scan(None)

    def keys(self, words, **limits):
        question = ranking.parse_question(words, WHEN)
        where = SearchFilter(**limits)
        return [hit.key for hit in self.index.lexical.search(question, where, 10).hits]


@pytest.fixture(params=["embedded", "postgres"])
def world(request, settings):
    settings = replace(settings, embeddings=EmbeddingSettings("e"))
    if request.param == "postgres":
        dsn = request.getfixturevalue("postgres")
        settings = replace(
            settings, postgres=dsn, place=None, vault_id=secrets.token_hex(8)
        )
    world = World(settings)
    yield world
    world.index.close()


def snapshot(index):
    """What can be asked of a catalogue, without the numbers of its own history."""
    catalog = index.catalog
    units = sorted(catalog.all_units(), key=str)
    return units, index.counts(), catalog.problems(), catalog.all_sessions()


# -- look-ups --------------------------------------------------------------------------


def test_facts_turns_and_notes_are_found_by_key_path_and_the_beginning_of_an_id(world):
    fact = world.fact("Anna prefers oat milk.")
    turns = world.session("Anna prefers oat milk.", "Noted.")
    world.put("notes/garden.md", b"# Garden\n\nBeans need water.\n")
    diff = world.index.scan(None)
    assert len(diff.added) == 3
    assert world.index.find(fact.id[:12]).text == fact.text
    assert world.index.find(fact.path).id == fact.id
    keys = [turns[1].key, "notes/garden.md", "none", fact.id]
    assert list(world.index.units(keys)) == [keys[0], keys[1], keys[3]]
    assert world.index.catalog.turn("s1", "u1").block == "t2"
    assert world.index.placed([fact.id])[fact.id][1].path == fact.path
    assert world.index.lexical.voices([turns[1].key])[turns[1].key].role == "assistant"
    counts = world.index.counts()
    assert (counts["facts.active"], counts["turns"], counts["notes"]) == (1, 2, 1)


def test_an_unknown_and_an_ambiguous_id_are_told_apart(world):
    world.fact("one", id="01KBH2Q0M6T4W2Y0B7C5D9E1FX")
    world.fact("two", id="01KBH2Q0M6T4W2Y0B7C5D9E1FY")
    world.index.scan(None)
    with pytest.raises(ConflictError):
        world.index.find("01KBH2Q0M6")
    with pytest.raises(NotFoundError, match="Did you mean 01KBH2Q0M6T4W2Y0B7C5D9E1FX"):
        world.index.find("01KBH2Q0M6TTTTT0B7C5D9E1FX")


def test_equal_statements_are_found_by_their_hash_for_those_who_may_know(world):
    world.fact("I like tea.", persona="Nova")
    world.index.scan(None)
    equal = world.index.catalog.duplicate
    assert equal(content_hash("I like tea."), "Nova", WHEN)
    assert equal(content_hash("I like tea."), None, WHEN) is None


def test_any_character_that_a_file_may_have_comes_back(world):
    text = "Zoë says 你好, 🙂 and \\ \" ' % %s ? ?1 {x} -- ; DROP TABLE unit"
    fact = world.fact(text, path="facts/2026-11-20/o'clock ? %s 100% é.md")
    world.index.scan(None)
    assert world.index.find(fact.id).text == text
    assert world.index.find(fact.path).id == fact.id
    assert world.index.catalog.facts("DROP TABLE", "%s")[0].id == fact.id


# -- search ----------------------------------------------------------------------------


def test_words_find_facts_and_turns_best_first(world):
    keeper = world.fact("Porto has a new lighthouse keeper.")
    porto = world.fact("The tide is high in Porto.", seconds=1)
    turns = world.session("I saw the lighthouse keeper of Porto.", "Lovely.")
    world.index.scan(None)
    found = world.keys("lighthouse keeper", kinds=("fact", "turn"))
    assert set(found[:2]) == {keeper.id, turns[0].key}
    assert porto.id not in found
    assert porto.id in world.keys("Porto", kinds=("fact",))


def test_filters_keep_out_what_may_not_be_found(world):
    world.fact("Tea is hot.", status="archived")
    own = world.fact("Tea is green.", persona="Nova", seconds=1)
    old = world.fact(
        "Tea is cheap.", seconds=2, valid_from=WHEN, valid_until=WHEN + timedelta(1)
    )
    world.index.scan(None)
    later = (WHEN + timedelta(days=9)).timestamp()
    assert world.keys("tea", persona="") == [old.id]
    assert set(world.keys("tea", persona="Nova")) == {old.id, own.id}
    assert world.keys("tea", as_of=later) == []


def test_neighbours_on_a_strand_are_joined_by_edges(world):
    facts = [
        world.fact(f"Anna did thing {n}.", seconds=n, about=("Anna",)) for n in range(3)
    ]
    world.fact("A secret of Nova.", seconds=9, about=("Anna",), persona="Nova")
    world.index.scan(None)
    ends = {
        frozenset(edge[:2])
        for edge in world.index.catalog.edges([facts[1].id], "", LinkPolicy())
    }
    assert ends == {
        frozenset((facts[0].id, facts[1].id)),
        frozenset((facts[1].id, facts[2].id)),
    }


# -- vectors ---------------------------------------------------------------------------


def unit(*numbers):
    vector = np.array(numbers, np.float32)
    return (vector / np.linalg.norm(vector)).tobytes()


@pytest.fixture
def embedded(world):
    """Facts with vectors that turn away from the first, and one of a persona."""
    facts = [world.fact(f"Anna did thing {n}.", seconds=n) for n in range(40)]
    facts.append(world.fact("A secret of Nova.", persona="Nova", seconds=50))
    world.index.scan(None)
    angles = [n / 40 for n in range(40)] + [0.01]
    world.index.semantic.add(
        {
            digest(fact.text): unit(np.cos(angle), np.sin(angle), 0.1)
            for fact, angle in zip(facts, angles, strict=True)
        }
    )
    return facts


def near(world, vector, k=5, **limits):
    semantic = world.index.semantic
    where = SearchFilter(**limits)
    found = semantic.near(world.index.lexical, vector, where, k, ())
    ranked = sorted(found, key=lambda one: (-(one.score or 0), one.key))
    similar = semantic.similar(world.index.lexical, vector, where, k)
    assert [one.key for one in ranked[:k]] == [key for key, _ in similar]
    return similar


def test_the_nearest_vectors_are_found_for_those_who_may_see_them(world, embedded):
    asked = unit(1, 0, 0.1)
    found = near(world, asked)
    assert [key for key, _ in found] == [fact.id for fact in embedded[:5]]
    assert [value for _, value in found] == pytest.approx(
        [(np.cos(n / 40) + 0.01) / 1.01 for n in range(5)], abs=1e-6
    )
    longer = 1.3 * np.frombuffer(asked, np.float32)
    assert [value for _, value in near(world, longer.tobytes())] == pytest.approx(
        [1.3 * value for _, value in found], abs=1e-6
    )
    assert embedded[40].id in dict(near(world, asked, persona="Nova"))
    assert near(world, unit(1, 0), 5) == []  # another dimension finds nothing yet


def test_vectors_are_there_after_a_restart_and_go_with_their_texts(world, embedded):
    semantic = world.index.semantic
    assert semantic.coverage(world.index.lexical) == (41, 41)
    before = near(world, unit(0, 1, 0.1))
    kept = semantic.vector(embedded[3].text)
    world.restart()
    assert near(world, unit(0, 1, 0.1)) == before
    assert world.index.semantic.vector(embedded[3].text) == kept
    world.path(embedded[3]).unlink()
    world.index.scan(None, accept_deletions=True)
    world.index.semantic.tidy(world.index.lexical)
    assert world.index.semantic.vector(embedded[3].text) is None
    assert world.index.semantic.coverage(world.index.lexical) == (40, 40)
    assert world.index.unembedded(5) == []


def test_vectors_of_another_dimension_begin_anew(world, embedded):
    world.index.semantic.add({digest(embedded[0].text): unit(1, 0)})
    assert world.index.semantic.coverage(world.index.lexical) == (1, 41)
    assert [key for key, _ in near(world, unit(1, 1))] == [embedded[0].id]
    world.index.semantic.add(
        {digest(fact.text): unit(1, n) for n, fact in enumerate(embedded)}
    )
    world.index.semantic.tidy(world.index.lexical)
    world.restart()
    assert world.index.semantic.coverage(world.index.lexical) == (41, 41)
    assert near(world, unit(1, 0, 0.1)) == []


# -- changes ---------------------------------------------------------------------------


def test_an_edit_is_returned_until_it_is_acknowledged_and_across_a_restart(world):
    fact = world.fact("Anna drinks tea.")
    world.index.scan(None)
    world.fact("Anna drinks coffee.", path=fact.path, id=fact.id, seconds=5)
    world.index.scan(None)
    world.restart()
    diff = world.index.scan(None)
    assert [(one.before.text, one.after.text) for one in diff.edited] == [
        ("Anna drinks tea.", "Anna drinks coffee.")
    ]
    world.index.scanner.acknowledge(diff)
    assert not world.index.scan(None).edited
    assert world.keys("coffee") == [fact.id]
    assert world.keys("tea") == []


def test_a_file_missing_twice_is_deleted_and_a_moved_one_keeps_its_id(world):
    gone = world.fact("This goes away.")
    moved = world.fact("This moves.", seconds=1)
    stays = world.fact("This stays.", seconds=2)
    world.index.scan(None)
    world.path(gone).unlink()
    world.path(moved).rename(world.settings.vault / "facts/m.md")
    diff = world.second_look()
    assert [fact.id for fact in diff.deleted] == [gone.id]
    assert world.index.find(moved.id).path == "facts/m.md"
    assert world.index.unit(gone.id) is None
    assert world.index.catalog.fact_ids() == sorted((moved.id, stays.id))
    assert world.keys("goes away") == []


def test_two_files_with_one_id_are_one_memory_and_a_problem(world):
    fact = world.fact("Only one of us.", path="facts/2026-11-20/a.md")
    world.fact("Only one of us.", path="facts/2026-11-20/b.md", id=fact.id, seconds=1)
    diff = world.index.scan(None)
    assert [one.why for one in diff.conflicts] == ["duplicate-id"]
    assert world.index.counts()["facts"] == 1
    [problem] = world.index.catalog.problems()
    assert problem.code == "duplicate-id"
    world.path(world.index.find(fact.id)).unlink()
    world.second_look()
    assert world.index.find(fact.id).path != fact.path
    assert not world.index.catalog.problems()


def test_own_writes_are_found_at_once_and_are_no_edits(world):
    fact = world.fact("Anna drinks tea.")
    raw = (world.settings.vault / fact.path).read_bytes()
    world.index.wrote({fact.path: raw})
    assert world.keys("tea") == [fact.id]
    diff = world.index.scan(None)
    assert not diff.edited
    assert not diff.added


def test_changes_are_listed_since_a_mark(world):
    world.index.scan(None)
    catalog = world.index.catalog
    mark = catalog.mark
    fact = world.fact("Anna drinks tea.")
    world.index.scan(None)
    added = catalog.changes(mark, 10)
    assert [key for key, unit in added.units if unit] == [fact.id]
    world.path(fact).unlink()
    world.index.scan(None, accept_deletions=True)
    removed = catalog.changes(added.mark, 10)
    assert removed.units == ((fact.id, None),)
    assert catalog.changes("another:1", 10) is None


# -- conversations ---------------------------------------------------------------------


def test_conversations_are_counted_and_searched_in_their_order(world):
    turns = world.session("First we swim.", "Yes.", "Then we eat figs.")
    world.index.scan(None)
    [file] = world.index.catalog.all_sessions()
    assert (file.turns, file.users, file.last_block, file.sensitive) == (3, 2, 3, False)
    assert world.index.catalog.sessions("s1", None) == [file]
    assert world.index.catalog.latest_sessions(None, 5) == [file]
    assert world.index.catalog.unsummarised(2) == [file]
    assert world.index.catalog.turn_counts() == {"": 3}
    assert world.index.catalog.last_user_turn(file.path).key == turns[2].key


def test_the_turns_of_a_sensitive_memory_are_sensitive_too(world):
    [turn] = world.session("I have an illness.")
    world.index.scan(None)
    mark = world.index.catalog.mark
    world.fact("The user has an illness.", source=turn.key, sensitivity="high")
    world.index.scan(None)
    assert world.index.unit(turn.key).turn.sensitive_to is not None
    assert turn.key in dict(world.index.catalog.changes(mark, 10).units)


# -- life ------------------------------------------------------------------------------


# row: X20
def test_an_index_that_was_closed_or_emptied_answers_as_before(world):
    for number in range(30):
        world.fact(f"Anna did thing {number}.", seconds=number, about=("Anna",))
    world.session("What did Anna do?", "Much.")
    world.put("notes/a.md", b"# A\n\nAnna.\n")
    world.put("facts/broken.md", b"---\nid: [\n---\nBroken.\n")
    world.index.scan(None)
    before, hits = snapshot(world.index), world.keys("Anna thing 7")
    world.restart()
    assert not world.index.scan(None).added
    assert (snapshot(world.index), world.keys("Anna thing 7")) == (before, hits)
    world.index.rebuild()
    assert (snapshot(world.index), world.keys("Anna thing 7")) == (before, hits)


def test_a_failed_transaction_leaves_nothing(world):
    world.fact("Anna drinks tea.")
    world.index.scan(None)
    with (
        suppress(ZeroDivisionError),
        world.index.catalog.database.transaction() as db,
    ):
        db.execute("DELETE FROM unit", ())
        assert not db.execute("SELECT key FROM unit").fetchall()
        _ = 1 / 0
    assert world.index.counts()["facts"] == 1


def test_a_setting_is_kept(world):
    store = world.index.catalog.database
    assert store.setting("none") == ""
    store.set_setting("colour", "blue")
    store.set_setting("colour", "green")
    assert store.setting("colour") == "green"
