"""The new vault's git files, as git itself reads them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).parents[2] / "vault_template"


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_git_leaves_out_what_is_of_the_moment(tmp_path):
    """Half-written files and window layouts never enter a history; notes and state do."""
    shutil.copy(TEMPLATE / ".gitignore", tmp_path)
    shutil.copy(TEMPLATE / ".gitattributes", tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    names = [
        ".engram-1a.tmp",
        "a.md~",
        ".a.md.swp",
        "#a.md#",
        ".obsidian/workspace.json",
        "facts/a.md",
        "state/x.jsonl",
    ]
    ignored = subprocess.run(
        ["git", "-C", str(tmp_path), "check-ignore", *names],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    assert ignored == names[:5]
    merge = subprocess.run(
        [
            "git",
            "-C",
            str(tmp_path),
            "check-attr",
            "merge",
            "state/x.jsonl",
            "state/usage/pc.jsonl",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert merge.count("merge: union") == 2
