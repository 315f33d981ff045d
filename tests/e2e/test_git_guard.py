"""A repository whose configuration names a program wherever git allows one: none of
them is run by us.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from engram.errors import StorageError
from engram.vault import git as git_module
from engram.vault.git import Git
from tests.fakes.repository import Repository

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None, reason="git is not installed"
)

HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
    "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-auto-gc",
    "post-rewrite", "post-index-change", "reference-transaction", "fsmonitor-watchman", "sendemail-validate",
)  # fmt: skip
PROGRAMS = (
    "core.fsmonitor", "core.editor", "core.pager", "core.sshCommand", "core.askPass", "core.gitProxy",
    "core.alternateRefsCommand", "sequence.editor", "diff.external", "gpg.program", "gpg.ssh.program",
    "gpg.x509.program", "gpg.ssh.defaultKeyCommand", "credential.helper", "diff.evil.command", "diff.evil.textconv",
    "merge.evil.driver", "trailer.evil.command", "trailer.evil.cmd", "interactive.diffFilter", "gc.recentObjectsHook",
    "uploadpack.packObjectsHook", "pager.status", "pager.log", "alias.status", "alias.commit", "alias.add",
    "alias.config", "alias.rev-parse", "remote.origin.uploadpack", "remote.origin.receivepack", "hook.evil.command",
    "filter.evil.clean", "filter.evil.smudge", "filter.a=b.clean", "filter.with.dot.process", "filter.evil2.process",
    "filter.Üml äut.clean",
)  # fmt: skip


@pytest.fixture
def repository(settings):
    return Repository(settings.vault)


@pytest.fixture
def git(repository, tmp_path):
    return Git.open(repository.root, tmp_path / "state" / "waiting.json")


@pytest.fixture
def hostile(repository, tmp_path):
    """The repository, each of whose programs leaves its name in a folder, and that
    folder.
    """
    canaries = tmp_path / "canaries"
    canaries.mkdir()

    def canary(name):
        script = tmp_path / "programs" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"#!/bin/sh\ntouch '{canaries}/{name}'\nexit 1\n")
        script.chmod(0o755)
        return str(script)

    hooks = repository.root / ".git" / "my-hooks"
    hooks.mkdir()
    for hook in HOOKS:
        shutil.copy(canary(f"hook-{hook}"), hooks / hook)
        shutil.copy(canary(f"hook-{hook}"), repository.root / ".git/hooks" / hook)
    repository("config", "core.hooksPath", str(hooks))
    for number, name in enumerate(PROGRAMS):
        program = canary(f"program-{number}")
        repository(
            "config", name, f"!{program}" if name.startswith("alias.") else program
        )
    for name, value in (
        ("commit.gpgSign", "true"),
        ("log.showSignature", "true"),
        ("hook.evil.event", "pre-commit"),
        ("commit.verbose", "true"),
        ("status.submoduleSummary", "true"),
        ("submodule.recurse", "true"),
        ("remote.origin.url", f"ext::{canary('transport')}"),
        ("remote.origin.promisor", "true"),
        ("protocol.allow", "always"),
        ("protocol.ext.allow", "always"),
    ):
        repository("config", name, value)
    names = ("evil", "a=b", "with.dot", "evil2", '"Üml äut"')
    kinds = [
        f"*{number}.md filter={name} diff=evil merge=evil\n"
        for number, name in enumerate(names)
    ]
    (repository.root / ".git/info/attributes").write_text("".join(kinds))
    return repository, canaries


def test_no_program_that_the_configuration_names_is_run(hostile, git):
    """Hooks, filters of any name, monitor, signing, pager, editor, aliases, transports:
    for all that we ask of git.
    """
    repository, canaries = hostile
    paths = [f"facts/note{number}.md" for number in range(6)]
    for text in ("one\n", "two\n"):
        for path in paths:
            repository.write(path, text)
        assert git.commit(paths, "some", "extract", "01RUN" if text == "two\n" else "")
        assert git.checked_out(paths) == set(paths)
    repository.write(paths[0], "three\n")
    assert git.checked_out(paths) == set(paths[1:])
    assert git.busy() is None
    assert sorted(path.name for path in canaries.iterdir()) == []


def test_the_canaries_can_be_touched(hostile):
    """A git that is not held back runs them: else the test above could not fail."""
    repository, canaries = hostile
    repository.write("facts/note0.md", "one\n")
    repository("add", "facts", code=None)
    assert list(canaries.iterdir())


def test_a_submodules_own_programs_are_not_run(repository, git, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    Repository(other)
    repository(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(other),
        "sub",
    )
    repository("commit", "--quiet", "-m", "with a submodule")
    canary = tmp_path / "canary"
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {canary}\n")
    monitor.chmod(0o755)
    for name in ("core.fsmonitor", "filter.evil.clean"):
        repository("-C", "sub", "config", name, str(monitor))
    (repository.root / ".git/modules/sub/info").mkdir(exist_ok=True)
    (repository.root / ".git/modules/sub/info/attributes").write_text("* filter=evil\n")
    repository.write("sub/Home.md", "changed\n")
    repository.write("facts/a.md", "a\n")
    assert git.commit(["facts/a.md"], "one", "extract")
    assert git.checked_out(["facts/a.md"]) == {"facts/a.md"}
    assert not canary.exists()


def test_what_a_required_filter_hides_is_not_committed_in_plain_words(repository, git):
    """As with git-crypt: other notes are committed, and which are not is told."""
    repository("config", "filter.git-crypt.clean", "cat")
    repository("config", "filter.git-crypt.required", "true")
    (repository.root / ".gitattributes").write_text("facts/secret* filter=git-crypt\n")
    for name in ("secret", "plain"):
        repository.write(f"facts/{name}.md", "words\n")
    assert git.commit(["facts/secret.md", "facts/plain.md"], "two", "extract")
    assert repository("show", "--format=", "--name-only", "HEAD").split() == [
        "facts/plain.md"
    ]
    assert "git-crypt" in git.filtered
    assert "facts/secret.md" in git.filtered
    assert not git.has_pending()


def test_a_commit_is_synced_to_the_disk(repository):
    """The installed git understands what it is told."""
    if git_module.version() < (2, 36):
        pytest.skip("this git syncs loose objects alone")
    env = git_module.environment(
        repository.root, git_module.fixed(git_module.version())
    )
    done = subprocess.run(
        ["git", "config", "core.fsync"],
        cwd=repository.root,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("all\n", "")


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_objects_index_and_references_are_synced(repository, tmp_path):
    """Seen from outside, by the calls that git makes."""
    trace = tmp_path / "trace"
    repository.write("facts/a.md", "a\n")
    code = (
        "import sys; from pathlib import Path; from engram.vault.git import Git;"
        "assert Git.open(Path(sys.argv[1]), Path(sys.argv[2])).commit(['facts/a.md'], 'one', 'extract')"
    )
    command = [
        "strace",
        "-f",
        "-y",
        "-e",
        "trace=fsync,fdatasync",
        "-o",
        str(trace),
        sys.executable,
        "-c",
        code,
    ]
    subprocess.run([*command, str(repository.root), str(tmp_path / "w")], check=True)
    synced = trace.read_text()
    for what in ("objects/", "index", "refs/heads/"):
        assert what in synced


@pytest.mark.parametrize(
    ("known", "key"),
    [
        ((2, 35), "core.fsyncObjectFiles"),
        ((2, 36), "core.fsync"),
    ],
)
def test_an_old_git_is_told_in_its_own_words_to_sync(known, key):
    names = [name for name, _ in git_module.fixed(known)]
    assert [name for name in names if "fsync" in name] == [key]


def test_a_git_that_is_too_old_is_not_asked(repository, git, monkeypatch):
    """It would run what the configuration names."""
    monkeypatch.setattr(git_module, "version", lambda: (2, 30))
    repository.write("facts/a.md", "a\n")
    with pytest.raises(StorageError, match="too old"):
        git.commit(["facts/a.md"], "one", "extract")


def test_commits_wait_while_the_index_is_locked_and_status_names_the_lock(
    repository, opened
):
    """It is left alone; once it is gone, what waited is committed."""
    kept = opened()
    lock = repository.root / ".git/index.lock"
    lock.touch()
    path = kept.call("remember", {"text": "Anna prefers oat milk."})["path"]
    assert f"remove {lock}" in kept.call("status", {})["faults"]["git"]
    assert lock.exists()
    lock.unlink()
    kept.commits._next_try = 0.0
    kept.commits.commit_if_due()
    assert "git" not in kept.call("status", {})["faults"]
    assert path in repository("show", "--format=", "--name-only", "HEAD")
