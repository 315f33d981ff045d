"""A vault that is a git repository, with the real git and a person at it."""

from __future__ import annotations

import os
import subprocess


class Repository:
    """A vault that is a repository, made one if it is none, and a person in it."""

    def __init__(self, root):
        self.root = root
        if (root / ".git").exists():
            return
        self("init", "--quiet", "--initial-branch=main")
        self.write(".gitignore", ".trash/\n")
        self.write("Home.md", "home\n")
        self("add", "--all")
        self("commit", "--quiet", "-m", "mine")

    def __call__(self, *words, code=0):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.root.parent), "LC_ALL": "C"}
        env |= {
            f"GIT_{who}_{what}": "ann@x"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def subjects(self):
        return self("log", "--format=%an: %s").splitlines()

    def status(self):
        return self("status", "--porcelain", "--untracked-files=all").splitlines()

    def merging(self):
        """The person is in the middle of a merge with a conflict."""
        self("checkout", "--quiet", "-b", "side")
        self.write("Home.md", "side\n")
        self("commit", "--quiet", "-am", "side")
        self("checkout", "--quiet", "main")
        self.write("Home.md", "main\n")
        self("commit", "--quiet", "-am", "main")
        self("merge", "side", code=1)
