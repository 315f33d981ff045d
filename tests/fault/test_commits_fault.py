"""A process that ends at any call of an operation, in a vault that is a git repository."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from engram.memory import VaultMemory
from engram.vault.git import DUE
from engram.vault.usage import USAGE
from tests.fakes.repository import Repository
from tests.fault.harness import FULL, Killed, Killing, installed

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None, reason="git is not installed"
)

STRIDE = 1 if FULL else 7


@pytest.fixture
def begun(tmp_path, settings, clock):
    """A function that begins with a repository of its own in a folder, or goes on there
    after a kill.
    """

    def begin(name):
        here = replace(
            settings, vault=tmp_path / name / "vault", state=tmp_path / name / "state"
        )
        here = replace(here, cache=tmp_path / name / "cache")
        if not here.vault.exists():
            shutil.copytree(settings.vault, here.vault)
            Repository(here.vault)
        memory = VaultMemory(here, clock=clock, steady=clock.steady)
        memory.start()
        memory.catch_up()
        return memory

    return begin


def remember(memory, seam):
    """Whether the process came to the end of it."""
    try:
        with installed(seam):
            memory.call("remember", {"text": "Anna prefers oat milk in her coffee."})
    except Killed:
        return False
    finally:
        seam.bury()
        memory._lock.release()
    return True


def uncommitted(memory):
    """The paths in the vault whose content is not that of the last commit."""
    raw = memory.commits.git._run(
        "status", "--porcelain", "-z", "--untracked-files=all"
    )
    return {line[3:] for line in raw.decode().split("\0") if line}


@pytest.mark.parametrize("after", [False, True])
def test_a_process_that_ends_at_any_call_loses_no_commit(begun, clock, after):
    """What it wrote goes along with the next operation; nothing of ours is left over.

    What the end of a process writes down in passing, how memories were used, is noted
    for the next operation.
    """
    point, ended = 0, False
    while not ended:
        ended = remember(begun(str(point)), Killing(point, after=after))
        clock.advance(minutes=1)
        again = begun(str(point))
        again.call("remember", {"text": "Ben plays the violin on Tuesdays."})
        assert uncommitted(again) == set(), f"call {point}"
        again.close()
        assert uncommitted(again) == {
            f"{USAGE}/{again.usage_tracker.usage_log.device}.jsonl"
        }, f"call {point}"
        assert again.commits.git._pending_paths(DUE) == uncommitted(again), (
            f"call {point}"
        )
        point += STRIDE
    assert point > 20
