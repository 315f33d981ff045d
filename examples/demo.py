"""Play a conversation through the real daemon in a temporary vault and show what it left on disk.

    python examples/demo.py [FILE]

FILE is anything `engram import` knows; without it, three weeks with Mira beside this script.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engram import Memory

OWN = Path(__file__).with_name("three-weeks.jsonl")
QUESTIONS = {
    OWN: ("What can't Mira eat?", "Who is Mira's boss now?", "What did we say about the dog called Figo?"),
}
ENGRAM = str(Path(sys.executable).with_name("engram"))
SHOWN = 12


def main() -> int:
    """Run the demonstration; 0 when every step did what it says."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else OWN
    with tempfile.TemporaryDirectory(prefix="engram-demo-") as folder:
        vault = Path(folder, "vault")
        os.environ |= {"ENGRAM_HOME": str(Path(folder, "home")), "ENGRAM_VAULT": str(vault)}
        run("init", str(vault))
        daemon = subprocess.Popen([ENGRAM, "daemon", "--foreground"], stderr=subprocess.PIPE, text=True)  # noqa: S603
        try:
            wait_for_daemon(daemon)
            headline(f"1. {source.name} goes in through the daemon's socket")
            run("import", str(source))
            with Memory(vault) as memory:
                learned(memory, vault)
                tree(vault)
                edit(memory, vault)
                ask(memory, QUESTIONS.get(source, ("What happened last week?", "What do they like?")))
        finally:
            daemon.terminate()
            _, said = daemon.communicate(timeout=30)
    headline("6. The daemon stops")
    print(f"   exit code {daemon.returncode}")
    if daemon.returncode:
        print(said, file=sys.stderr)
    return daemon.returncode


def run(*words: str) -> None:
    """One `engram` command, its output indented."""
    done = subprocess.run([ENGRAM, *words], check=True, capture_output=True, text=True)  # noqa: S603
    print("".join(f"   {line}\n" for line in done.stdout.splitlines()), end="")


def wait_for_daemon(daemon: subprocess.Popen[str]) -> None:
    """Until the daemon has read the vault; its own words if it ends instead."""
    for _ in range(200):
        if daemon.poll() is not None:
            raise SystemExit(daemon.communicate()[1])
        if subprocess.run([ENGRAM, "stats", "--json"], capture_output=True, check=False).returncode == 0:  # noqa: S603
            return
        time.sleep(0.05)
    raise SystemExit("the daemon does not answer")


def learned(memory: Memory, vault: Path) -> None:
    """The facts, by category."""
    headline("2. What it learned")
    notes = sorted((vault / "facts").rglob("*.md"))
    for path in notes[:SHOWN]:
        text = path.read_text().split("---\n", 2)[2].strip().splitlines()[0]
        print(f"   {path.name.partition('-')[0]:<12} {text}")
    counts = memory.call("stats")
    print(f"   … {counts['facts']} facts from {counts['turns']} turns in {counts['sessions']} sessions")


def tree(vault: Path) -> None:
    """What lies on disk."""
    headline("3. What it left on disk")
    for folder in sorted(path for path in vault.iterdir() if not path.name.startswith(".")):
        inside = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
        print(f"   {folder.name}{'/' if folder.is_dir() else ''}" + (f"  ({len(inside)} files)" if inside else ""))
        for path in inside[:3]:
            print(f"      {path.relative_to(folder)}")


def edit(memory: Memory, vault: Path) -> None:
    """Change a note as a person would, and find the new words."""
    headline("4. A person edits a note")
    notes = sorted((vault / "facts").rglob("*.md"))
    if not notes:
        print("   there is no note to edit")
        return
    note = notes[0]
    note.write_text(note.read_text().replace("\n---\n", "\n---\nWritten by hand: the lighthouse is violet. ", 1))
    began = time.monotonic()
    while time.monotonic() - began < 10:
        hits = memory.recall("what colour is the lighthouse", kinds=["fact"]).hits
        if hits and "violet" in hits[0]["text"]:
            print(f"   {note.name}: found by recall after {time.monotonic() - began:.2f} s")
            return
        time.sleep(0.02)
    raise SystemExit("the edit was not found")


def ask(memory: Memory, questions: tuple[str, ...]) -> None:
    """Recall with evidence."""
    headline("5. Recall")
    for question in questions:
        print(f"   {question}")
        for hit in memory.recall(question, k=3).hits:
            print(f"      {hit['score']:.2f}  {hit['text'].splitlines()[0][:90]}  [{hit['source'] or hit['key']}]")


def headline(words: str) -> None:
    """A line that begins a step."""
    print(f"\n{words}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
