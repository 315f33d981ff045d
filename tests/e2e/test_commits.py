"""A vault in git: each operation is a commit of its own, whatever the person is in the
middle of.
"""

from __future__ import annotations

import json
import shutil
from pathlib import PurePosixPath

import pytest

from engram.core.records import Create, Fact
from engram.vault import facts, reviews
from engram.vault.git import ADDED, Git
from tests.fakes.repository import Repository

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None, reason="git is not installed"
)

MILK = "Anna prefers oat milk in her coffee."


@pytest.fixture
def repository(settings):
    return Repository(settings.vault)


@pytest.fixture
def kept(repository, opened):
    """A memory on a vault that is a repository, with a repository's person."""
    return opened()


def op(repository):
    return repository(
        "log", "-1", "--format=%(trailers:key=Engram-Op,valueonly)"
    ).strip()


def changed(repository):
    return sorted(repository("show", "--format=", "--name-only", "HEAD").splitlines())


def say(memory, text, session="coffee", number=1):
    turn = {"id": f"{session}-{number}", "session": session, "text": text}
    memory.call("observe", {"turns": [turn]})
    memory.call("flush", {})


def test_each_deed_is_one_commit_with_its_trailer(repository, kept):
    """Only of our own files; what the person has changed and staged stays as it was."""
    repository.write("Home.md", "theirs\n")
    repository.write("notes/staged.md", "theirs\n")
    repository("add", "notes/staged.md")
    known = kept.call("remember", {"text": MILK})
    assert op(repository) == "remember"
    assert repository.subjects()[0].startswith("engram: engram: remember fact-")
    assert known["path"] in changed(repository)
    assert "state/memory-actions.jsonl" in changed(repository)
    for name, more in (
        ("update", {"pinned": True}),
        ("confirm", {}),
        ("dispute", {}),
        ("forget", {}),
        ("update", {"status": "active"}),
        ("correct", {"text": "Anna prefers soy milk in her coffee."}),
    ):
        before = len(repository.subjects())
        kept.call(name, {"id": known["id"], **more})
        assert (op(repository), len(repository.subjects())) == (name, before + 1)
        assert known["path"] in changed(repository)
        assert repository.status() == [" M Home.md", "A  notes/staged.md"]


def test_a_decision_is_a_commit(repository, kept):
    fact = Fact(
        "01KBH2Q0M6T4W2Y0B7C5D9E1FX",
        "Anna moved to Porto.",
        created=kept.clock(),
        status="review",
    )
    path = facts.fact_path(
        fact, kept.settings.zone, folder="review", taken=kept.vault.exists
    )
    body = facts.fact_body(
        fact.text, "", reviews.section("no evidence in the turn", "")
    )
    kept.note_writer.write(
        [Create(path, facts.fact_keys(fact, kept.settings.zone), body, "doubt")], []
    )
    kept.call("decide", {"id": fact.id, "decision": "keep"})
    assert op(repository) == "decide"
    assert f"facts/2026-11-20/{PurePosixPath(path).name}" in changed(repository)
    assert repository.status() == []


def test_a_batch_is_one_commit_with_its_session_file(repository, kept):
    """Many small writes: turns, facts, box, hashes and log."""
    before = len(repository.subjects())
    say(kept, "I am allergic to peanuts and I live in Berlin.")
    assert len(repository.subjects()) == before + 1 + (
        "close boxes" in repository.subjects()[0]
    )
    log = repository("log", "--format=%s", "--name-only", "-2")
    assert "engram: extract " in log
    assert "sessions/2026-11-20/" in log
    assert "facts/2026-11-20/" in log
    assert repository.status() == []


def test_what_a_person_does_by_hand_is_theirs_to_commit(repository, kept):
    """What follows from it in our own files is ours."""
    path = kept.call("remember", {"text": MILK})["path"]
    note = repository.root / path
    note.write_text(note.read_text().replace("oat", "almond"))
    repository.write("facts/2026-11-20/mine.md", "I like figs.\n")
    kept.files.rescan(None)
    assert op(repository) == "by hand"
    assert all(name.startswith("state/") for name in changed(repository))
    assert repository.status() == [f" M {path}", "?? facts/2026-11-20/mine.md"]


def test_during_a_rebase_everything_waits_and_then_is_committed(repository, kept):
    """Not a byte of the index changes, and no commit comes in between."""
    repository.write("a.md", "1\n")
    repository("add", "a.md")
    repository("commit", "--quiet", "-m", "one")
    repository("-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "-i", "HEAD~1")
    index, head = (
        (repository.root / ".git/index").read_bytes(),
        repository("rev-parse", "HEAD"),
    )
    known = kept.call("remember", {"text": MILK})
    kept.call("update", {"id": known["id"], "pinned": True})
    assert "rebase-merge" in kept.call("status", {})["faults"]["git"]
    assert (
        repository("rev-parse", "HEAD"),
        (repository.root / ".git/index").read_bytes(),
    ) == (head, index)
    repository("rebase", "--continue")
    kept.commits.commit_if_due()
    assert op(repository) == "", "it rests between two tries"
    kept.commits._next_try = 0.0
    kept.commits.commit_if_due()
    assert op(repository) == "late"
    assert known["path"] in changed(repository)
    assert repository.status() == []
    assert "git" not in kept.call("status", {})["faults"]


def test_what_waits_is_committed_with_the_next_operation_after_a_restart(
    repository, opened
):
    repository.merging()
    path = opened().call("remember", {"text": MILK})["path"]
    again = opened()
    repository("merge", "--abort")
    again.call("remember", {"text": "Ben plays the violin on Tuesdays."})
    assert path in changed(repository)
    assert repository.status() == []


def test_on_a_detached_head_nothing_is_committed(repository, kept):
    """The next checkout would take the notes away."""
    repository("checkout", "--quiet", "--detach")
    path = kept.call("remember", {"text": MILK})["path"]
    assert "detached" in kept.call("status", {})["faults"]["git"]
    repository("checkout", "--quiet", "main")
    assert (repository.root / path).exists()
    kept.call("update", {"id": path, "pinned": True})
    assert path in changed(repository)


def test_what_the_person_has_staged_of_ours_stays_staged(repository, kept):
    """A part of a note, or all of it: until they commit it, it waits."""
    path = kept.call("remember", {"text": MILK})["path"]
    note = repository.root / path
    whole = note.read_bytes()
    note.write_bytes(whole.replace(b"oat", b"almond"))
    repository("add", path)
    note.write_bytes(whole)
    kept.files.rescan(None)
    staged = repository("ls-files", "--stage", path)
    kept.call("update", {"id": path, "pinned": True})
    assert repository("ls-files", "--stage", path) == staged
    assert path not in changed(repository)
    assert repository.status() == [f"MM {path}"]
    repository("commit", "--quiet", "-m", "theirs")
    kept.call("confirm", {"id": path})
    assert path in changed(repository)
    assert repository.status() == []


def test_unmerged_files_of_a_stash_are_not_touched(repository, kept):
    """No merge is marked then, but the index holds the conflict."""
    repository.write("Home.md", "stashed\n")
    repository("stash", "--quiet")
    repository.write("Home.md", "main\n")
    repository("commit", "--quiet", "-am", "main")
    repository("stash", "pop", code=1)
    index = (repository.root / ".git/index").read_bytes()
    path = kept.call("remember", {"text": MILK})["path"]
    assert (repository.root / ".git/index").read_bytes() == index
    repository("checkout", "--quiet", "--theirs", "Home.md")
    repository("add", "Home.md")
    kept.call("update", {"id": path, "pinned": True})
    assert path in changed(repository)


def test_without_a_repository_or_when_switched_off_nothing_is_done(settings, opened):
    assert opened().commits.git is None
    repository = Repository(settings.vault)
    memory = opened(git=False)
    memory.call("remember", {"text": MILK})
    assert memory.commits.git is None
    assert repository.subjects() == ["ann@x: mine"]


def test_a_git_that_hangs_holds_nothing_up_for_long(
    repository, kept, monkeypatch, tmp_path
):
    """It is asked to end, and then left alone for a while; nothing is lost."""
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(
        f'#!/bin/sh\necho >> {tmp_path}/asked\ncase "$*" in *status*) exec sleep 600;; esac\nexec {shutil.which("git")} "$@"\n'
    )
    slow.chmod(0o755)
    kept.commits.git.seconds = 0.5
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{slow.parent}:/usr/bin:/bin")
        path = kept.call("remember", {"text": MILK})["path"]
        assert "too long" in kept.call("status", {})["faults"]["git"]
        asked = (tmp_path / "asked").read_text()
        kept.call("update", {"id": path, "pinned": True})
        assert (tmp_path / "asked").read_text() == asked
    kept.commits._next_try_of_done = 0.0
    kept.call("confirm", {"id": path})
    assert path in changed(repository)
    assert repository.status() == []
    assert "git" not in kept.call("status", {})["faults"]


def test_the_answer_does_not_wait_for_git(repository, opened):
    """The daemon's writer commits after the operation, before the next."""
    memory = opened()
    memory.executor.attended = True
    path = memory.call("remember", {"text": MILK})["path"]
    assert op(repository) == ""
    memory.between_operations()
    assert path in changed(repository)
    for name, params in (("update", {"pinned": True}), ("confirm", {})):
        memory.call(name, {"id": path, **params})
        memory.between_operations()
    ops = repository(
        "log", "-3", "--format=%(trailers:key=Engram-Op,valueonly)"
    ).split()
    assert ops == ["confirm", "update", "remember"]


def test_a_process_that_ends_between_add_and_commit_is_finished_by_the_next(
    repository, tmp_path
):
    """What we had put into the index is ours, though it is staged."""
    git = Git.open(repository.root, tmp_path / "waiting")
    repository.write("facts/a.md", "1\n")
    git.add_pending(["facts/a.md"])
    git.add_pending(["facts/a.md"], ADDED)
    repository("add", "facts/a.md")
    repository.write("facts/a.md", "2\n")
    assert git.commit((), "late", "extract")
    assert repository.status() == []
    repository.write("facts/b.md", "1\n")
    repository("add", "facts/b.md")
    assert git.commit(["facts/b.md"], "theirs", "extract") == ""
    assert repository.status() == ["A  facts/b.md"]
    assert [json.loads(line) for line in git.waiting.read_text().splitlines()] == [
        ["due", "facts/b.md"]
    ]


def test_a_waiting_list_of_any_content_is_understood(repository, tmp_path):
    git = Git.open(repository.root, tmp_path / "waiting")
    repository.write("facts/a.md", "1\n")
    git.waiting.write_text(
        '[]\n{}\n["due"]\n["due", 1]\n\0\n["due", "facts/a.md"]\n["due", "fac'
    )
    assert git.commit((), "late", "extract")
    assert repository.status() == []
    assert not git.has_pending()


def test_a_disk_that_refuses_the_note_refuses_no_operation(repository, kept):
    waiting = kept.commits.git.waiting
    waiting.unlink()
    waiting.mkdir()
    assert kept.call("remember", {"text": MILK})["verdict"] == "created"
    assert "git" in kept.call("status", {})["faults"]
    waiting.rmdir()
    kept.commits._next_try_of_done = 0.0
    kept.call("remember", {"text": "Ben plays the violin on Tuesdays."})
    assert repository.status() == []
    assert "git" not in kept.call("status", {})["faults"]


# row: X8
def test_what_is_forgotten_stays_so_on_a_branch_from_before(repository, kept):
    """Nothing is written for that, and a person may still restore it there."""
    known = kept.call("remember", {"text": MILK})
    repository("branch", "before")
    kept.call("forget", {"id": known["id"]})
    kept.save()

    def found():
        kept.files.rescan(None)
        hits = kept.call("recall", {"query": "oat milk coffee", "record": False})[
            "hits"
        ]
        return [one["text"] for one in hits]

    for branch in ("before", "-"):
        repository("checkout", "-q", branch)
        assert not found()
        assert not repository.status()
    repository("checkout", "-q", "before")
    assert not found()
    kept.call("update", {"id": known["id"], "status": "active"})
    assert MILK in found()
