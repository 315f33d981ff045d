"""Play a conversation through the real daemon in a temporary vault and show what it
left on disk.

    python examples/demo.py [FILE]

FILE is anything `engram import` knows; without it, three weeks with Mira beside this
script.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engram import Memory

OWN = Path(__file__).with_name("three-weeks.jsonl")
QUESTIONS = (
    "What is Mira allergic to?",
    "Who is Mira's boss now?",
    "When will Mira visit Anna?",
)
ENGRAM = (sys.executable, "-m", "engram")
SHOWN = 12
REFUSED = 64
"""The exit code of an import that refused a line; the others may be in."""


def main() -> int:
    """Run the demonstration; 0 when every step did what it says."""
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
            wait_for_daemon(daemon)
            headline(f"1. {source.name} goes in through the daemon's socket")
            # a conversation as a chatbot hands it in; a file from elsewhere is an
            # import
            if source == OWN:
                run("observe", fed=source.read_text(encoding="utf-8"))
                run("flush")
            else:
                run("import", str(source))
            with Memory(vault) as memory:
                learned(memory, vault)
                tree(vault)
                edit(memory, vault)
                ask(memory, QUESTIONS if source == OWN else questions(vault))
        finally:
            daemon.terminate()
            _, said = daemon.communicate(timeout=30)
    headline("6. The daemon stops")
    print(f"   exit code {daemon.returncode}")
    if daemon.returncode:
        print(said, file=sys.stderr)
    return daemon.returncode


def run(*words: str, fed: str = "") -> None:
    """One `engram` command, its output indented; ends with engram's own words where it
    did nothing.
    """
    done = subprocess.run(  # noqa: S603
        [*ENGRAM, *words], check=False, capture_output=True, text=True, input=fed
    )
    print(
        "".join(f"   {line}\n" for line in done.stdout.splitlines()), end="", flush=True
    )
    went_in = (
        done.returncode == REFUSED
        and not done.stdout.startswith("stored: 0")
        and done.stdout
    )
    if done.returncode and not went_in:
        raise SystemExit(done.stderr.strip() or "nothing went in")


def wait_for_daemon(daemon: subprocess.Popen[str]) -> None:
    """Until the daemon has read the vault; its own words if it ends instead."""
    for _ in range(200):
        if daemon.poll() is not None:
            raise SystemExit(daemon.communicate()[1])
        asked = subprocess.run(  # noqa: S603
            [*ENGRAM, "status", "--json"], capture_output=True, check=False
        )
        if asked.returncode == 0 and json.loads(asked.stdout)["ready"]:
            return
        time.sleep(0.05)
    raise SystemExit("the daemon does not answer")


def notes_of(vault: Path) -> list[Path]:
    """The notes that hold a fact."""
    return sorted((vault / "facts").rglob("*.md"))


def statement(note: Path) -> str:
    """What a fact's note says, without its keys and its source."""
    return note.read_text().split("---\n", 2)[2].strip().splitlines()[0]


def learned(memory: Memory, vault: Path) -> None:
    """The facts, by category."""
    headline("2. What it learned")
    for path in notes_of(vault)[:SHOWN]:
        print(f"   {path.name.partition('-')[0]:<12} {statement(path)}")
    counts = memory.call("stats")
    print(
        f"   {counts['facts']} facts from {counts['turns']} turns in {counts['sessions']} sessions"
    )


def tree(vault: Path) -> None:
    """What lies on disk."""
    headline("3. What it left on disk")
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


def edit(memory: Memory, vault: Path) -> None:
    """Change a note as a person would, and find the new words."""
    headline("4. A person edits a note")
    if not notes_of(vault):
        print("   there is no note to edit")
        return
    note = notes_of(vault)[-1]
    old = statement(note)
    new = f"{old} The lighthouse is violet."
    note.write_text(note.read_text().replace(f"\n{old}\n", f"\n{new}\n"))
    print(f"   {note.relative_to(vault)}\n   - {old}\n   + {new}")
    began = time.monotonic()
    while time.monotonic() - began < 10:
        hits = memory.recall("what colour is the lighthouse", kinds=["fact"]).hits
        if hits and "violet" in hits[0]["text"]:
            print(f"   found by recall after {time.monotonic() - began:.2f} s")
            return
        time.sleep(0.02)
    raise SystemExit("the edit was not found")


def questions(vault: Path) -> tuple[str, ...]:
    """What to ask of a conversation nobody knows: the first words of the first, the
    middle and the last fact.
    """
    notes = notes_of(vault)[:-1]  # the last one was edited
    chosen = (
        dict.fromkeys(notes[place] for place in (0, len(notes) // 2, -1))
        if notes
        else ()
    )
    return tuple(
        " ".join(statement(note).rstrip(".").split()[:4]) for note in chosen
    ) or ("last week",)


def ask(memory: Memory, asked: tuple[str, ...]) -> None:
    """Recall with evidence."""
    headline("5. Recall")
    for question in asked:
        print(f"   {question}")
        hits = memory.recall(question, k=3).hits
        for hit in hits:
            print(
                f"      {hit['score']:.2f}  {hit['text'].splitlines()[0][:90]}  [{hit['source'] or hit['key']}]"
            )
        if not hits:
            print("      nothing recalled")


def headline(words: str) -> None:
    """A line that begins a step."""
    print(f"\n{words}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
