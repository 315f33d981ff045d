"""What git does to the files under the real daemon: nobody's deletion, nobody's edit,
and nothing written for it.
"""

from __future__ import annotations

import shutil
import sqlite3
import time

import pytest

from engram.core.policy import FilePolicy
from engram.index.database import DATABASE
from engram.vault.watcher import Watcher
from tests.fakes.repository import Repository
from tests.fakes.world import World, until

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None, reason="git is not installed"
)

MARKER = "notes/heron.md"
"""A note that git leaves alone."""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A vault with a history: told, used, forgotten, and all of it committed."""
    folder = tmp_path_factory.mktemp("source")
    world = World(folder)
    world.configure("[buffer]\nminutes = 0.02\n")
    made = Repository(world.vault)
    made.write(".git/info/exclude", f"{MARKER}\n")
    world.start()
    for number, text in enumerate(
        ("Anna prefers oat milk.", "Ben plays the violin.", "Carla grows dahlias.")
    ):
        world.call("remember", text=text)
        world.call(
            "observe",
            turns=[
                {
                    "id": f"t{number}",
                    "session": "s",
                    "text": f"My dentist is Dr. Vogel{number}.",
                }
            ],
        )
        world.call("flush")
        world.call("recall", query=text)
    known = world.call("recall", query="Carla dahlias", kinds=["fact"])["hits"][0][
        "key"
    ]
    world.call("forget", id=known)
    world.stop()
    commit_rest(made)
    return folder.rename(folder.with_name(f"{folder.name}-gone"))


@pytest.fixture
def world(tmp_path, source):
    made = World(tmp_path, source)
    yield made
    made.end()


@pytest.fixture
def repository(world):
    """The vault under its daemon, with nothing left to commit."""
    made = Repository(world.vault)
    world.start()
    assert made.status() == []
    return made


def commit_rest(repository):
    repository("add", "--all")
    repository("commit", "--quiet", "--allow-empty", "-m", "the rest")


def looked(world):
    """Wait until the daemon knows what is in the vault and what is absent: until its
    catalogue has a new note, and has it no longer.
    """
    marker = world.vault / MARKER
    catalogue = sqlite3.connect(world.cache / DATABASE)

    def is_known():
        return catalogue.execute(
            "SELECT count(*) FROM file WHERE path = ?", (MARKER,)
        ).fetchone()[0]

    marker.parent.mkdir(exist_ok=True)
    marker.write_text("A heron stands in the harbour.\n")
    until(is_known)
    marker.unlink()
    until(lambda: not is_known())
    catalogue.close()


def quiet(world, repository):
    """Nothing has changed but by git when the daemon knows all of it."""
    looked(world)
    assert repository.status() == []
    assert world.call("status")["ready"]


def found(world, query):
    return {
        hit["text"]
        for hit in world.call("recall", query=query, kinds=["fact"], k=50)["hits"]
    }


def everything(world):
    return {
        path: path.read_bytes()
        for path in world.vault.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def before_ben(repository):
    """The last commit in which nothing of Ben was known."""
    return (
        repository("log", "--format=%H", "--diff-filter=A", "--", "facts/*ben*").strip()
        + "~1"
    )


def test_an_older_commit_and_back_dirties_nothing_and_gives_the_same_vault(
    world, repository
):
    before = everything(world)
    repository("checkout", "--quiet", before_ben(repository))
    quiet(world, repository)
    assert "Ben plays the violin." not in found(world, "Ben violin")
    assert "Anna prefers oat milk." in found(world, "Anna oat milk")
    repository("checkout", "--quiet", "main")
    quiet(world, repository)
    assert everything(world) == before
    assert "Ben plays the violin." in found(world, "Ben violin")
    assert "Carla grows dahlias." not in found(world, "Carla dahlias")
    world.stop()
    assert all("state/usage/" in line for line in repository.status()), (
        "only that this test has asked"
    )


def test_the_first_commit_with_no_memory_at_all_and_back(world, repository):
    first = repository("rev-list", "--max-parents=0", "HEAD").strip()
    before = everything(world)
    repository("checkout", "--quiet", first)
    quiet(world, repository)
    assert found(world, "Anna oat milk") == set()
    assert "frozen" not in world.call("status")["faults"]
    repository("checkout", "--quiet", "main")
    quiet(world, repository)
    assert everything(world) == before
    assert "Anna prefers oat milk." in found(world, "Anna oat milk")


def test_a_stash_of_notes_that_are_not_committed_and_back(world, repository):
    note = world.vault / "notes" / "garden.md"
    repository.write("notes/garden.md", "The quince tree blossoms in April.\n")
    fact = next(world.vault.glob("facts/*/*anna*"))
    repository.write("facts/2026-11-20/mine.md", "Dora collects stamps.\n")
    until(lambda: world.call("recall", query="quince")["hits"])
    until(lambda: "Dora collects stamps." in found(world, "Dora stamps"))
    looked(world)
    text = fact.read_text()
    repository("stash", "push", "--quiet", "--include-untracked")
    quiet(world, repository)
    assert not note.exists()
    assert "Dora collects stamps." not in found(world, "Dora stamps")
    repository("stash", "pop", "--quiet")
    until(lambda: "Dora collects stamps." in found(world, "Dora stamps"))
    assert fact.read_text() == text
    assert "Dora" not in (world.vault / "state/tombstones.jsonl").read_text()
    assert repository.status() == ["?? facts/2026-11-20/mine.md", "?? notes/garden.md"]


@pytest.mark.parametrize("look", [False, True])
def test_a_note_deleted_by_hand_is_a_deletion_in_a_repository_too(
    world, repository, look
):
    """Also where the person then asks git what has changed, which writes its index."""
    fact = next(world.vault.glob("facts/*/*anna*"))
    stones = world.vault / "state/tombstones.jsonl"
    before = stones.read_text()
    fact.unlink()
    if look:
        repository("status")
    until(lambda: stones.read_text() != before)
    assert "a person deleted the note" in stones.read_text()


def test_a_note_edited_by_hand_is_an_edit_in_a_repository_too(world, repository):
    fact = next(world.vault.glob("facts/*/*anna*"))
    fact.write_text(fact.read_text().replace("oat milk", "soy milk"))
    repository("status")
    log = world.vault / "state/memory-actions.jsonl"
    until(lambda: "a person edited the note" in log.read_text())


STONES = "state/tombstones.jsonl"


def anna(world):
    """The path of Anna's note in the vault."""
    return next(world.vault.glob("facts/*/*anna*")).relative_to(world.vault).as_posix()


def buried(world):
    stones = world.vault / STONES
    return (
        stones.read_text().count("a person deleted the note") if stones.exists() else 0
    )


# row: X8
@pytest.mark.parametrize("running", [True, False])
def test_a_note_that_a_person_deletes_in_a_commit_is_deleted(
    world, repository, running
):
    """Also where the daemon does not run: the sentence behind the note is not told any
    more.
    """
    assert "Anna prefers oat milk." in turns(world, "Anna oat milk")
    path = anna(world)
    if not running:
        world.stop()
    repository("rm", "--quiet", path)
    repository("commit", "--quiet", "-m", "Anna is nobody's business")
    if not running:
        world.start()
    until(lambda: buried(world))
    assert "Anna prefers oat milk." not in found(world, "Anna oat milk")
    assert "Anna prefers oat milk." not in turns(world, "Anna oat milk")


# row: X8
def test_a_note_that_a_person_removes_from_the_index_is_deleted_before_the_commit_too(
    world, repository
):
    repository("rm", "--quiet", anna(world))
    until(lambda: buried(world))


# row: X8
def test_a_deletion_that_a_pull_brings_is_a_deletion(world, repository):
    """Fast-forward, from a clone in which a person deleted the note."""
    other = pulled(world, repository, "rm", "--quiet", anna(world))
    repository("pull", "--quiet", "--ff-only", str(other), "main")
    until(lambda: buried(world))
    assert "Anna prefers oat milk." not in turns(world, "Anna oat milk")


# row: X8
def test_what_engram_put_away_elsewhere_is_no_deletion(world, repository):
    """The same absence from a commit of engram's, which has its trailer."""
    path = anna(world)
    other = pulled(
        world,
        repository,
        "rm",
        "--quiet",
        path,
        said="engram: nightly\n\nEngram-Op: consolidate",
    )
    repository("pull", "--quiet", "--ff-only", str(other), "main")
    quiet(world, repository)
    assert "Anna prefers oat milk." not in found(world, "Anna oat milk")
    assert buried(world) == 0


# row: X8
def test_another_branch_in_which_a_note_is_deleted_is_no_deletion(world, repository):
    """It is ahead of this one, and going there and back brings the note back."""
    before, path = everything(world), anna(world)
    world.stop()
    repository("checkout", "--quiet", "-b", "side")
    repository("rm", "--quiet", path)
    repository("commit", "--quiet", "-m", "no Anna here")
    repository("checkout", "--quiet", "main")
    world.start()
    repository("checkout", "--quiet", "side")
    quiet(world, repository)
    assert "Anna prefers oat milk." not in found(world, "Anna oat milk")
    repository("checkout", "--quiet", "main")
    quiet(world, repository)
    assert everything(world) == before
    assert "Anna prefers oat milk." in found(world, "Anna oat milk")


# row: X8
def test_the_way_back_to_before_a_note_was_made_is_no_deletion(world, repository):
    """A reset to an older commit while no daemon runs."""
    world.stop()
    repository("reset", "--quiet", "--hard", before_ben(repository))
    world.start()
    looked(world)
    assert buried(world) == 0


def turns(world, query):
    return {
        hit["text"]
        for hit in world.call("recall", query=query, kinds=["turn"], k=50)["hits"]
    }


def pulled(world, repository, *words, said="theirs"):
    """A clone beside the vault in which a person did this and committed it; where it
    is.
    """
    there = world.vault.parent / "clone"
    repository("clone", "--quiet", str(world.vault), str(there))
    repository("-C", str(there), *words)
    repository("-C", str(there), "commit", "--quiet", "-m", said)
    return there


def test_a_changed_git_head_means_everything(tmp_path):
    """A checkout changes more files than the watcher is told of."""
    repository = Repository(tmp_path)
    policy = FilePolicy(
        settle_seconds=0.05, settle_most_seconds=0.25, watch_check_seconds=0.1
    )
    batches = []
    watcher = Watcher(tmp_path, batches.append, policy)
    watcher.start()
    try:
        time.sleep(policy.settle_most_seconds + 0.5)
        batches.clear()
        repository("checkout", "-q", "-b", "other")
        until(lambda: None in batches)
    finally:
        watcher.stop()
