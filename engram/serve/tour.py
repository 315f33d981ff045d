"""`engram demo`: tell, ask, edit, ask why, change and undo, in a temporary vault.

Each step uses the operations of the commands, on real files, without a model and
without a daemon. The folder is deleted at the end.
"""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.core.text import ulid
from engram.serve import connection, terminal
from engram.serve.output import put, shown
from engram.vault import disk, template

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.memory import VaultMemory

    Call = Callable[..., dict[str, Any]]

SAID = (
    "My name is Mira. I work as a marine biologist in Lisbon.",
    "My sister Anna is allergic to peanuts.",
    "I prefer oat milk in my coffee.",
)
EDIT = ("oat milk", "almond milk")
CHANGE = "I have moved to Porto."
HOME = "I live in Lisbon."


def tour() -> None:
    """Show the cycle of a memory in a vault that is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="engram-demo-") as folder:
        vault = Path(folder, "vault")
        template.create_vault(
            vault,
            ulid(datetime.now(UTC), secrets.token_hex(16)),
            template.shipped("vault_template"),
        )
        from engram import config

        own = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("ENGRAM_")
        }
        environment = own | {"ENGRAM_HOME": str(Path(folder, "home"))}
        memory = connection.embedded(config.load(vault, environment))
        try:
            _Guide(memory).show()
        finally:
            memory.close()
    _say("The temporary vault is deleted. Your own begins with `engram init`.")


class _Guide:
    """Shows one step after another; each returns when the reader continues."""

    def __init__(self, memory: VaultMemory) -> None:
        self.memory = memory
        self.vault = memory.settings.vault

    def show(self) -> None:
        """Show every step."""
        for number, step in enumerate(
            (self.tell, self.ask, self.edit, self.why, self.change, self.undo), 1
        ):
            name, _, rest = (step.__doc__ or "").partition("\n")
            _say(f"\n{number}. {name}", bold=True)
            _say(" ".join(rest.split()))
            step()
            _pause()

    def tell(self) -> None:
        """Tell

        A chatbot passes on each turn of a conversation. Lasting statements become notes:
        one statement, one Markdown file.
        """
        turns = [{"text": text, "session": "first"} for text in (*SAID, HOME)]
        self.memory.call("observe", {"turns": turns})
        self.memory.call("flush", {})
        for text in (*SAID, HOME):
            _say(f"   you say: {text}")
        for row in self.memory.call("list", {})["memories"]:
            _say(f"   noted:   {row['text']}")

    def ask(self) -> None:
        """Ask

        `engram recall` finds the few notes that answer a question, with their evidence. A
        chatbot gets the same before it answers.
        """
        self._command("recall", query="What is Anna allergic to?", k=1)

    def edit(self) -> None:
        """Edit

        The notes are yours. Any editor will do: here two words of a file are replaced.
        """
        row = self._about(EDIT[0])
        path = self.vault / row["path"]
        note = disk.read(path).decode().replace(*EDIT)
        disk.write_derived(path, note.encode())
        _say(f"   {row['path']}")
        _say(f"   - {row['text']}")
        self.memory.call("reindex", {})
        self._command("recall", query="What do I take in my coffee?", k=1)

    def why(self) -> None:
        """Ask why

        `engram why` shows where a memory comes from: the turn, word for word, and each
        decision about it.
        """
        self._command("why", id=self._about("Anna")["id"])

    def change(self) -> None:
        """Change

        A statement that is no longer true is not deleted. It is kept as past, and ranks lower.
        """
        _say(f"   you say: {CHANGE}")
        self.memory.call("observe", {"turns": [{"text": CHANGE, "session": "second"}]})
        self.memory.call("flush", {})
        self._command("recall", query="Where do I live?", k=1, kinds=["fact"])
        self._command("history", id=self._about("Porto")["id"])

    def undo(self) -> None:
        """Undo

        Each change that engram makes by itself is a run, and a run can be undone,
        byte for byte.
        """
        runs = self.memory.call("runs", {"last": 1})["runs"]
        if runs:
            self._command("undo", id=runs[0]["id"])
        self._command("recall", query="Where do I live?", k=2, kinds=["fact"])

    def _about(self, word: str) -> dict[str, Any]:
        rows = self.memory.call("list", {})["memories"]
        found: dict[str, Any] = next(row for row in rows if word in row["text"])
        return found

    def _command(self, name: str, **params: Any) -> None:
        """Carry out an operation and print what its command prints."""
        result = self.memory.call(name, params)
        word = str(params.get("query") or params.get("id"))
        _say(
            f'   $ engram {name} "{word}"'
            if " " in word
            else f"   $ engram {name} {word}"
        )
        for line in shown(name, result).splitlines():
            _say(f"   {line}")


def _say(text: str, *, bold: bool = False) -> None:
    if not terminal.is_attended():
        put(text)
        return
    width = terminal.width()
    for line in text.splitlines() or [""]:
        for part in terminal.wrapped(line, width):
            put(f"{terminal.BOLD}{part}{terminal.PLAIN}" if bold else part)


def _pause() -> None:
    """Wait for Enter on a terminal."""
    if terminal.is_attended() and sys.stdin.isatty():
        sys.stdout.write("\n   Enter continues, Ctrl-C ends. ")
        sys.stdout.flush()
        sys.stdin.readline()
