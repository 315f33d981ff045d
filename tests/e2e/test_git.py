"""Commits of our own files in a person's repository, with the real git and its manners."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from engram.errors import StorageError
from engram.vault.git import BUSY, Git
from tests.fakes.keeping import Keeping
from tests.fakes.odd_names import ODD, facts_of
from tests.fakes.repository import Repository

FADING = {"importance": 0.2, "confidence": 0.9}

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None, reason="git is not installed"
)


@pytest.fixture
def repository(settings):
    return Repository(settings.vault)


@pytest.fixture
def git(repository, tmp_path):
    return Git.open(repository.root, tmp_path / "state" / "waiting.json")


def test_a_folder_that_is_no_repository_has_no_git(tmp_path, repository):
    """Nor has one inside a larger repository: that is somebody else's."""
    below = repository.root / "below"
    below.mkdir()
    assert Git.open(below, tmp_path / "waiting") is None
    (below / ".git").mkdir()
    assert Git.open(below, tmp_path / "waiting") is None


def test_one_operation_is_one_commit_of_its_own_paths(repository, git):
    """New, changed and removed; by engram, with trailers; what the person has staged or
    changed stays theirs.
    """
    repository.write("facts/a.md", "a\n")
    repository.write("facts/b.md", "b\n")
    assert git.commit(["facts/a.md", "facts/b.md"], "two", "extract")
    repository.write("notes/staged.md", "mine\n")
    repository("add", "notes/staged.md")
    repository.write("Home.md", "changed\n")
    repository.write("notes/untracked.md", "mine\n")
    (repository.root / "facts/a.md").unlink()
    repository.write("facts/b.md", "b2\n")
    repository.write("facts/Ünïcode [x]* name.md", "c\n")
    paths = ["facts/a.md", "facts/b.md", "facts/Ünïcode [x]* name.md", "facts/never.md"]
    commit = git.commit(paths, "nightly,\nstage 2", "consolidate", "01RUN")
    assert repository("rev-parse", "HEAD").strip() == commit
    assert repository.subjects()[0] == "engram: engram: nightly, stage 2"
    assert (
        repository("log", "-1", "--format=%(trailers:key=Engram-Op,valueonly)").strip()
        == "consolidate"
    )
    assert (
        repository("log", "-1", "--format=%(trailers:key=Engram-Run,valueonly)").strip()
        == "01RUN"
    )
    assert (
        len(repository("show", "--format=", "--name-status", "HEAD").splitlines()) == 3
    )
    assert repository.status() == [
        " M Home.md",
        "A  notes/staged.md",
        "?? notes/untracked.md",
    ]


def test_nothing_new_is_no_commit(repository, git):
    """Nor is what the person has git ignore."""
    repository.write(".trash/2026-11-20/a.md", "a\n")
    assert (
        git.commit(["Home.md", ".trash/2026-11-20/a.md"], "nothing", "consolidate")
        == ""
    )
    assert git.commit([], "nothing", "consolidate") == ""
    assert repository.subjects() == ["ann@x: mine"]


def test_the_first_commit_of_a_repository_may_be_ours(tmp_path):
    root = tmp_path / "fresh"
    root.mkdir()
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    (root / "a.md").write_text("a\n")
    assert Git.open(root, tmp_path / "waiting").commit(["a.md"], "first", "extract")


def test_what_waits_goes_along_with_the_next_commit(repository, git):
    repository.write("sessions/a.md", "words\n")
    repository.write("facts/a.md", "a\n")
    git.add_pending(["sessions/a.md"])
    git.commit(["facts/a.md"], "nightly", "consolidate", "01RUN")
    assert repository.status() == []
    assert not git.has_pending()


def test_a_merge_in_progress_is_not_touched(repository, git):
    """Not a byte of the index; it can be aborted as if nothing had been, and then what
    waited is committed.
    """
    repository.merging()
    index = (repository.root / ".git/index").read_bytes()
    repository.write("facts/a.md", "a\n")
    assert git.commit(["facts/a.md"], "one", "extract") == ""
    assert (repository.root / ".git/index").read_bytes() == index
    repository("merge", "--abort")
    repository.write("facts/b.md", "b\n")
    assert git.commit(["facts/b.md"], "two", "extract")
    assert sorted(repository("show", "--format=", "--name-only", "HEAD").split()) == [
        "facts/a.md",
        "facts/b.md",
    ]
    assert repository.status() == []


@pytest.mark.parametrize("mark", BUSY)
def test_whatever_the_person_is_in_the_middle_of_is_not_touched(repository, git, mark):
    before = repository.subjects()
    repository.write("facts/a.md", "a\n")
    (repository.root / ".git" / mark).write_text("x")
    assert git.commit(["facts/a.md"], "one", "extract") == ""
    (repository.root / ".git" / mark).unlink()
    assert repository.subjects() == before


def test_no_hook_and_no_surroundings_have_a_say(repository, git, monkeypatch):
    """Neither the person's hooks, which may ask or fail, nor variables of a git that
    started us.
    """
    hook = repository.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hooked\nexit 1\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody")
    repository.write("facts/a.md", "a\n")
    assert git.commit(["facts/a.md"], "one", "extract")
    assert not (repository.root / "hooked").exists()
    assert repository.subjects()[0] == "engram: engram: one"


def test_what_git_refuses_is_told_and_waits(repository, git):
    """A repository that is broken breaks nothing else."""
    repository.write("facts/a.md", "a\n")
    head = repository.root / ".git/HEAD"
    good = head.read_text()
    head.write_text("nonsense\n")
    with pytest.raises(StorageError, match="git refused"):
        git.commit(["facts/a.md"], "one", "extract")
    head.write_text(good)
    assert git.commit([], "late", "extract")


# row: X6
def test_each_run_is_a_commit_and_so_is_taking_it_back(repository, memory):
    """The bytes in the working tree and in the last commit are those of before."""
    keeping = Keeping(memory, git=True)
    keeping.fact("Anna saw a red car.", days=100, **FADING)
    keeping.fact("Anna bought a piano.", days=40)
    repository("add", "--all")
    repository("commit", "--quiet", "-m", "all of it")
    mine = repository("rev-parse", "HEAD").strip()
    before, tree = (
        keeping.tree(),
        repository("ls-tree", "-r", "HEAD", "facts", "archive"),
    )
    report = keeping.run()
    assert report.failures == {}
    assert (
        repository("log", "-1", "--format=%(trailers:key=Engram-Run,valueonly)").strip()
        == report.run
    )
    assert repository.status() == []
    undone = keeping.order.undo(report.run)
    assert undone.failures == {}
    assert keeping.tree() == before
    assert repository("ls-tree", "-r", "HEAD", "facts", "archive") == tree
    assert repository.status() == []
    assert len(repository("log", "--format=%s", f"{mine}..").splitlines()) == 2


def test_changes_under_odd_names_are_committed(opened, settings, repository):
    """Each with the file that was changed, and nothing is left over."""
    paths = facts_of(settings, ODD)
    repository("add", ".")
    repository("commit", "-q", "-m", "two")
    memory = opened(git="commit")
    for number, path in enumerate(paths):
        memory.call(
            "update", {"id": f"01KBH2Q0M6T4W2Y0B7C5D9{number:04}", "pinned": True}
        )
        memory.between_operations()
        memory.commits.defer_commit()
        names = repository("log", "-20", "--name-only", "-z", "--format=").split("\0")
        assert path in [name.removeprefix("\n") for name in names]
    assert repository("status", "--porcelain", "-z", "--", "facts") == ""
