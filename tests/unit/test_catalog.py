"""The catalogue against a real vault on a real disk."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from engram.core.policy import FilePolicy
from engram.core.records import Fact, FiledTurn, Turn
from engram.core.text import content_hash, slug, ulid
from engram.errors import StorageError
from engram.index.catalog import Catalog
from engram.index.database import key_of, open_database
from engram.index.scan import Scanner
from engram.vault import facts, frontmatter, sessions, syscalls
from engram.vault.paths import FilePlace

ZONE = ZoneInfo("Europe/Berlin")
WHEN = datetime(2026, 11, 20, 21, 14, tzinfo=ZONE)
POLICY = FilePolicy(scan_batch=3)


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now += seconds


class World:
    """A vault, its catalogue and a clock; files written here are old enough to be
    trusted.
    """

    def __init__(self, folder, policy=POLICY):
        self.root, self.cache, self.policy, self.clock = (
            folder / "vault",
            folder / "cache",
            policy,
            Clock(),
        )
        self.root.mkdir()
        self.scanner = self.open()
        self.catalog = self.scanner.catalog
        self.written = 0

    def open(self, cache=None):
        database = open_database(self.root, cache or self.cache, ZONE, self.policy)
        catalog = Catalog(database, self.policy)
        return Scanner(catalog, self.root, ZONE, self.policy, self.clock)

    def put(self, path, content):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.written += 1
        stamp = 1_700_000_000 + self.written
        os.utime(target, (stamp, stamp))
        return target

    def fact(self, text, path=None, **keys):
        when = keys.pop("when", WHEN)
        fact = Fact(
            id=keys.pop("id", ulid(when, text)), text=text, created=when, **keys
        )
        path = (
            path
            or f"facts/{when:%Y-%m-%d}/{fact.category}-{slug(text)}-{content_hash(text)[:8]}.md"
        )
        self.put(
            path, frontmatter.emit(facts.fact_keys(fact, ZONE), facts.fact_body(text))
        )
        return replace(fact, path=path)

    def place(self, key):
        return self.catalog.placed_units([key])[key][1]

    def restart(self):
        self.catalog.close()
        self.scanner = self.open()
        self.catalog = self.scanner.catalog

    def second_look(self, paths=None):
        self.clock.advance(self.policy.settle_most_seconds + 0.1)
        return self.scanner.scan(paths)

    def gone(self):
        """Two looks: what is missing is believed gone."""
        self.scanner.scan()
        return self.second_look()


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.catalog.close()


def turns(count=3, when=WHEN, stem="2026-11-20-s1"):
    """The first turns of the conversation s1, in their places."""
    return [
        FiledTurn(
            Turn(
                f"u{n}",
                "s1",
                "assistant" if n % 2 else "user",
                f"words {n}",
                when + timedelta(minutes=n),
            ),
            stem,
            f"t{n + 1}",
        )
        for n in range(count)
    ]


def snapshot(catalog):
    """Everything that can be asked of a catalogue, without the numbers that its own
    history leaves.
    """
    units = sorted(catalog.since("").added, key=key_of)
    return (
        units,
        catalog.counts(),
        catalog.problems(),
        sorted(catalog.active_hashes().values()),
    )


def rebuilt(world):
    cache = world.cache.with_name("cold")
    shutil.rmtree(cache, ignore_errors=True)
    cold = world.open(cache)
    cold.scan()
    try:
        return snapshot(cold.catalog)
    finally:
        cold.catalog.close()


# ------------------------------------------------------------------------------------------- taking in


@pytest.mark.parametrize(
    "path",
    [
        "Home.md",
        "state/x.md",
        "views/x.md",
        "templates/x.md",
        ".obsidian/x.md",
        ".trash/2026-11-20/x.md",
        "facts/.hidden.md",
        "facts/~$x.md",
        "facts/#x.md#",
        "facts/x.md~",
        "facts/.engram-1.tmp",
        "notes/picture.png",
    ],
)
def test_what_is_no_memory_is_passed_over(world, path):
    """Our own state, hidden files and what editors leave for a moment are not indexed."""
    world.put(path, "words")
    assert world.scanner.scan().added == ()


def test_a_path_outside_the_vault_is_nothing_to_us(world, tmp_path):
    """A scan cannot be talked into reading elsewhere."""
    (tmp_path / "other.md").write_text("secret")
    world.scanner.scan()
    assert (
        world.scanner.scan(
            [tmp_path / "other.md", "../other.md", "notes/../../other.md"]
        ).added
        == ()
    )


# -------------------------------------------------------------------------------------- what people do


# row: X8
@pytest.mark.parametrize("change", ["delete", "edit"])
def test_a_user_change_is_returned_until_it_is_acknowledged(world, change):
    """Also after a crash between the scan and the record of it."""
    fact, _ = world.fact("Anna prefers tea."), world.fact("Rex is a dog.")
    world.scanner.scan()
    path = world.root / fact.path
    if change == "delete":
        path.unlink()
    else:
        path.write_text(path.read_text().replace("tea", "coffee"))
    first = world.gone()
    world.restart()
    again = world.scanner.scan()
    assert (again.deleted, again.edited) == (first.deleted, first.edited)
    assert len(again.deleted) + len(again.edited) == 1
    world.scanner.acknowledge(again)
    world.restart()
    last = world.scanner.scan()
    assert (last.deleted, last.edited) == ((), ())


# row: X3
def test_a_vanished_file_is_believed_gone_after_a_second_look(world):
    """An editor may delete and write again; only a file missed twice is gone."""
    fact = world.fact("Anna prefers tea.")
    world.fact("Ben likes bread.")
    world.scanner.scan()
    content = (world.root / fact.path).read_bytes()
    (world.root / fact.path).unlink()
    assert world.scanner.scan().pending == {fact.path}
    assert world.scanner.scan().removed == ()
    assert world.catalog.find_fact(fact.id)
    world.put(fact.path, content)
    assert world.second_look().removed == ()
    (world.root / fact.path).unlink()
    assert world.scanner.scan().pending == {fact.path}
    assert world.second_look([fact.path]).removed == (fact.path,)


def test_a_young_empty_file_is_pending(world):
    """An editor that truncates first is not believed to have emptied the note."""
    fact = world.fact("Anna prefers tea.")
    world.scanner.scan()
    (world.root / fact.path).write_bytes(b"")
    assert world.scanner.scan().pending == {fact.path}
    assert world.catalog.find_fact(fact.id).text == "Anna prefers tea."


def test_an_emptied_folder_freezes_deletions_until_a_person_accepts_them(world):
    """An unmounted disk looks like this; nothing is believed gone."""
    known = [world.fact(f"fact number {n}") for n in range(12)]
    world.scanner.scan()
    for fact in known[:6]:
        (world.root / fact.path).unlink()
    assert world.scanner.scan().frozen
    diff = world.second_look()
    assert (diff.frozen, diff.removed, diff.deleted) == (True, (), ())
    assert world.catalog.counts()["facts"] == 12
    accepted = world.scanner.scan(accept_deletions=True)
    assert (len(accepted.deleted), accepted.frozen) == (6, False)
    assert world.catalog.counts()["facts"] == 6


def test_more_than_fifty_notes_gone_freeze_deletions_in_a_large_vault(tmp_path):
    """The share is small, the number is not."""
    world = World(tmp_path, FilePolicy(vanished_notes=10))
    for n in range(100):
        world.put(f"notes/{n}.md", f"note {n}")
    world.scanner.scan()
    for n in range(11):
        (world.root / f"notes/{n}.md").unlink()
    assert world.gone().frozen
    world.put("notes/0.md", "back")
    assert len(world.scanner.scan().removed) == 10


def test_a_missing_root_removes_nothing(world):
    """A vault whose disk is not there is not an empty vault."""
    world.fact("Anna prefers tea.")
    world.scanner.scan()
    world.root.rename(world.root.with_name("elsewhere"))
    assert world.gone().removed == ()
    assert world.catalog.counts()["facts"] == 1


# -------------------------------------------------------------------------------------- what is refused


# row: X3
def test_a_symlink_out_of_the_vault_is_never_followed(world, tmp_path):
    """A link to a file or a folder outside is reported; what it leads to is not read."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("secret")
    (world.root / "notes").mkdir()
    (world.root / "notes" / "file.md").symlink_to(tmp_path / "outside" / "secret.md")
    (world.root / "notes" / "folder").symlink_to(tmp_path / "outside")
    diff = world.scanner.scan()
    assert {(problem.code, problem.path) for problem in diff.problems} == {
        ("symlink-out", "notes/file.md"),
        ("symlink-out", "notes/folder"),
    }
    assert world.scanner.scan(["notes/folder/secret.md", "notes/file.md"]).added == ()
    assert world.catalog.counts()["files"] == 0
    assert not world.scanner.is_unchanged(FilePlace("notes/file.md"))


def test_a_copy_of_a_conversation_is_not_heard_twice(world):
    """The same conversation under another name adds no turns, however the first one
    grows.
    """
    path = "sessions/2026-11-20/2026-11-20-s1.md"
    raw = sessions.new_session(turns(), ZONE)
    world.put(path, raw)
    world.put("sessions/2026-11-20/2026-11-20-s1 1.md", raw)
    world.scanner.scan()
    assert world.catalog.counts()["turns"] == 3
    world.put(path, sessions.append_turns(raw, turns(count=5)[3:], ZONE)[0])
    world.scanner.scan()
    assert world.catalog.counts()["turns"] == 5
    assert snapshot(world.catalog) == rebuilt(world)


# row: X3
@pytest.mark.parametrize(
    "name",
    [
        "x.sync-conflict-20261120-211405-ABCDEFG.md",
        "x (Anna's conflicted copy 2026-11-20).md",
        "x (Conflicted copy laptop 202611202114).md",
        "x (conflict 2026-11-20).md",
        "x_conflict-20261120-211405.md",
    ],
)
def test_a_sync_conflict_copy_goes_to_review_not_to_facts(world, name):
    """The copy is told as a conflict for the review, and never becomes a second fact."""
    fact = world.fact("Anna prefers tea.")
    world.scanner.scan()
    path = f"facts/2026-11-20/{name}"
    world.put(path, (world.root / fact.path).read_bytes().replace(b"tea", b"coffee"))
    diff = world.scanner.scan()
    assert [(conflict.path, conflict.why) for conflict in diff.conflicts] == [
        (path, "sync-conflict")
    ]
    assert world.catalog.counts()["facts"] == 1
    assert world.catalog.find_fact(fact.id).text == "Anna prefers tea."
    assert (world.root / path).exists()


# row: X3
def test_a_note_of_fifty_megabytes_is_a_problem_and_is_left_alone(world):
    """It is named, not read, and what was known of it stays."""
    fact = world.fact("Anna prefers tea.")
    world.scanner.scan()
    with (world.root / fact.path).open("r+b") as file:
        file.truncate(50 * 1024 * 1024)
    os.utime(world.root / fact.path, (1_600_000_000, 1_600_000_000))
    assert [problem.code for problem in world.scanner.scan().problems] == ["too-large"]
    assert world.catalog.find_fact(fact.id).text == "Anna prefers tea."
    assert (world.root / fact.path).stat().st_size == 50 * 1024 * 1024
    assert world.scanner.scan().problems == ()


def test_a_file_that_cannot_be_read_is_a_problem_until_it_can(world):
    """Another owner's file is named; a change of its mode alone brings it in."""
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    target = world.put("notes/a.md", "one")
    target.chmod(0)
    assert [problem.code for problem in world.scanner.scan().problems] == ["unreadable"]
    target.chmod(0o600)
    world.scanner.scan()
    assert world.catalog.unit("notes/a.md").text == "one"


def test_a_pipe_named_like_a_note_does_not_hang_the_scan(world):
    """Only regular files are opened."""
    (world.root / "notes").mkdir()
    os.mkfifo(world.root / "notes" / "pipe.md")
    assert world.scanner.scan().added == ()


# ------------------------------------------------------------------------------------------- disposable


# row: X20
@pytest.mark.parametrize("damage", ["cut", "garbage", "header", "empty", "foreign"])
def test_a_damaged_catalogue_is_rebuilt(world, damage):
    """Whatever became of the database file, the next start reads the vault again."""
    for n in range(40):
        world.fact(f"fact number {n}")
    world.scanner.scan()
    expected = snapshot(world.catalog)
    world.catalog.close()
    database = world.cache / "catalogue.db"
    raw = database.read_bytes()
    if damage == "foreign":
        database.unlink()
        sqlite3.connect(database).execute("CREATE TABLE meta (a)").connection.close()
    else:
        database.write_bytes(
            {
                "cut": raw[: len(raw) // 2],
                "garbage": raw[:4096] + random.Random(1).randbytes(len(raw) - 4096),
                "header": b"x" * 100 + raw[100:],
                "empty": b"",
            }[damage]
        )
    world.restart()
    world.scanner.scan()
    assert snapshot(world.catalog) == expected


# row: X20
def test_starting_over_that_is_refused_once_the_file_is_gone_begins_an_empty_one(
    world, monkeypatch
):
    """The fault is told, and questions have an answer."""

    class Failing(syscalls.Syscalls):
        gone = False

        def unlink(self, name, folder):
            super().unlink(name, folder)
            self.gone = self.gone or name.endswith(".db")

        def close(self, descriptor):
            super().close(descriptor)
            if self.gone:
                self.gone = False
                raise OSError(5, "Input/output error")

    world.fact("Anna prefers tea.")
    world.scanner.scan()
    expected = snapshot(world.catalog)
    with monkeypatch.context() as disk:
        disk.setattr(syscalls, "SYS", Failing())
        with pytest.raises(StorageError):
            world.scanner.start_over()
    assert world.catalog.counts()["files"] == 0
    world.scanner.scan()
    assert snapshot(world.catalog) == expected


def test_the_vault_is_never_written(world):
    """Scanning leaves every file, its times and the list of files as they were."""
    world.fact("Anna prefers tea.")
    world.put("facts/x.md", "---\nid: [\n---\n")
    before = {path: path.lstat().st_mtime_ns for path in world.root.rglob("*")}
    world.scanner.scan()
    assert {path: path.lstat().st_mtime_ns for path in world.root.rglob("*")} == before


def test_the_catalogue_is_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        World(tmp_path)
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in tmp_path.rglob("catalogue.db*")}
    assert modes == {0o600}
