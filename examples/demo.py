"""Play a conversation through the real daemon and show the vault that results.

    python examples/demo.py [FILE]

FILE is any format that `engram import` reads. The default is `three-weeks.jsonl` beside
this script. The vault is temporary.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from demo_vault import ENGRAM, heading, wait_for

from engram import Memory

OWN = Path(__file__).with_name("three-weeks.jsonl")
QUESTIONS = (
    "What is Mira allergic to?",
    "Who is Mira's boss now?",
    "When will Mira visit Anna?",
)
SHOWN = 12
REFUSED = 65
"""Exit code of `observe` and `import` if a turn was refused; the others are stored."""


def main() -> int:
    """Run the demonstration and return the exit code of the daemon."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else OWN
    with tempfile.TemporaryDirectory(prefix="engram-demo-") as folder:
        vault = Path(folder, "vault")
        os.environ |= {
            "ENGRAM_HOME": str(Path(folder, "home")),
            "ENGRAM_VAULT": str(vault),
        }
        run("init", str(vault))
        daemon = subprocess.Popen(  # noqa: S603
            [*ENGRAM, "daemon", "--foreground"], stderr=subprocess.PIPE, text=True
        )
        try:
            wait_for(daemon)
            heading(f"1. {source.name} is sent through the daemon's socket")
            # our own file is a live conversation, any other file an import
            if source == OWN:
                run("observe", fed=source.read_text(encoding="utf-8"))
                run("flush")
            else:
                run("import", str(source))
            with Memory(vault) as memory:
                facts = memory.call("list", limit=1000)["memories"]
                print_facts(memory, facts)
                print_tree(vault)
                edit_note(memory, vault, facts)
                ask(memory, QUESTIONS if source == OWN else questions(facts))
        finally:
            daemon.terminate()
            _, said = daemon.communicate(timeout=30)
    heading("6. The daemon stops")
    print(f"   exit code {daemon.returncode}")
    if daemon.returncode:
        print(said, file=sys.stderr)
    return daemon.returncode


def run(*words: str, fed: str = "") -> None:
    """Run one `engram` command and print its output indented.

    Raises SystemExit with the error message if the command did nothing.
    """
    done = subprocess.run(  # noqa: S603
        [*ENGRAM, *words], check=False, capture_output=True, text=True, input=fed
    )
    print(
        "".join(f"   {line}\n" for line in done.stdout.splitlines()), end="", flush=True
    )
    stored_some = (
        done.returncode == REFUSED
        and done.stdout
        and not done.stdout.startswith("stored: 0")
    )
    if done.returncode and not stored_some:
        raise SystemExit(done.stderr.strip() or "no turn was stored")


def print_facts(memory: Memory, facts: list[dict[str, Any]]) -> None:
    """Print the latest facts by category."""
    heading("2. Extracted facts")
    for fact in facts[:SHOWN]:
        print(f"   {fact['category']:<12} {fact['text']}")
    counts = memory.call("stats")
    print(
        f"   {counts['facts']} facts from {counts['turns']} turns in {counts['sessions']} sessions"
    )


def print_tree(vault: Path) -> None:
    """Print the folders of the vault and some of their files."""
    heading("3. The vault on disk")
    for folder in sorted(
        path for path in vault.iterdir() if not path.name.startswith(".")
    ):
        inside = (
            sorted(path for path in folder.rglob("*") if path.is_file())
            if folder.is_dir()
            else []
        )
        print(
            f"   {folder.name}{'/' if folder.is_dir() else ''}"
            + (f"  ({len(inside)} files)" if inside else "")
        )
        for path in inside[:3]:
            print(f"      {path.relative_to(folder)}")


def edit_note(memory: Memory, vault: Path, facts: list[dict[str, Any]]) -> None:
    """Edit a note by hand and wait until recall returns the new text."""
    heading("4. An edit by hand")
    if not facts:
        print("   there is no note to edit")
        return
    note, old = vault / facts[0]["path"], facts[0]["text"]
    new = f"{old} The lighthouse is violet."
    note.write_text(note.read_text().replace(f"\n{old}\n", f"\n{new}\n"))
    print(f"   {note.relative_to(vault)}\n   - {old}\n   + {new}")
    began = time.monotonic()
    while time.monotonic() - began < 10:
        hits = memory.recall("what colour is the lighthouse", kinds=["fact"]).hits
        if hits and "violet" in hits[0].text:
            print(f"   found by recall after {time.monotonic() - began:.2f} s")
            return
        time.sleep(0.02)
    raise SystemExit("the edit was not found")


def questions(facts: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return questions for an unknown conversation: the first words of three facts."""
    others = facts[1:]  # the first one was edited
    chosen = [others[place] for place in (0, len(others) // 2, -1)] if others else []
    asked = (" ".join(fact["text"].rstrip(".").split()[:4]) for fact in chosen)
    return tuple(dict.fromkeys(asked)) or ("last week",)


def ask(memory: Memory, asked: tuple[str, ...]) -> None:
    """Ask questions and print the hits with their sources."""
    heading("5. Recall")
    for question in asked:
        print(f"   {question}")
        hits = memory.recall(question, k=3).hits
        for hit in hits:
            print(
                f"      {hit.score:.2f}  {hit.text.splitlines()[0][:90]}  [{hit.source or hit.id}]"
            )
        if not hits:
            print("      nothing recalled")


if __name__ == "__main__":
    sys.exit(main())
