"""A simulated year: real conversations at their own dates through the daemon, and what becomes of them.

    python benchmarks/bench_year.py            the conversations in ../shared/bench beside the project
    python benchmarks/bench_year.py --own      Mira's year, which ships with the project
    python benchmarks/bench_year.py --keep DIR leave the vault there to look at
    python benchmarks/bench_year.py --update   write docs/year.md, docs/year.svg and the golden listing anew

The clock is handed in, the model is a server that answers from its own words, so the same year makes the same vault,
byte for byte. Its tree is held against `tests/golden/year.txt`; the exit code is 1 where it differs, where a link
leads nowhere, or where `engram doctor` finds anything.
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the script's own folder stands there, not the project

from benchmarks import year_page
from benchmarks.year_model import YearModel
from benchmarks.year_played import YEAR, Played, Said, played
from tests.fakes.obsidian import broken_links, orphan_boxes

BENCH = ROOT.parent / "shared" / "bench"
GOLDEN = ROOT / "tests" / "golden" / "year.txt"
PAGE, PLOT = ROOT / "docs" / "year.md", ROOT / "docs" / "year.svg"
CONVERSATIONS = ("conv-26", "conv-30", "conv-41")
"""Those that were held within one year; the fourth is of the year before."""
OWN = (ROOT / "examples" / "three-weeks.jsonl", ROOT / "tests" / "golden" / "later.jsonl")
OWN_ZONE = "Europe/Berlin"
OWN_QUESTIONS = (
    "Who is my boss?",
    "What is Mira allergic to?",
    "What do you know about Figo?",
    "When is Anna's birthday?",
    "Where does Anna live?",
)
BETWEEN = timedelta(seconds=30)


def own() -> tuple[list[Said], tuple[str, ...], str]:
    """Three weeks with Mira and the eleven months that followed; what she asks in the evenings, and where she lives."""
    zone = ZoneInfo(OWN_ZONE)
    turns = [json.loads(line) for path in OWN for line in path.read_text("utf-8").splitlines()]
    return [Said(_moment(turn["occurred_at"], zone), turn) for turn in turns], OWN_QUESTIONS, OWN_ZONE


def real() -> tuple[list[Said], tuple[str, ...], str]:
    """The conversations beside the project with their questions, in the order in which they were held."""
    sys.path.insert(0, str(BENCH))
    import loader

    said: list[Said] = []
    questions: list[str] = []
    for case in loader.load_locomo():
        if case.id not in CONVERSATIONS:
            continue
        at = datetime.min.replace(tzinfo=UTC)
        for turn in case.turns:
            at = max(_moment(turn.when, UTC), at + BETWEEN)  # a session has one time for all its turns
            told = {"id": f"{case.id} {turn.id}", "session": case.id, "role": turn.role, "speaker": turn.speaker}
            said.append(Said(at, told | {"text": turn.text, "occurred_at": at.isoformat()}))
        questions += [question.text for question in case.questions]
    return sorted(said, key=lambda one: (one.at, one.turn["id"])), tuple(questions), "UTC"


def _moment(text: str, zone: ZoneInfo | type[UTC]) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone)


def year(folder: Path, *, ours: bool) -> Played:
    """The year played into `folder`."""
    said, questions, zone = own() if ours else real()
    return played(folder, YearModel(), said, questions, zone)


def problems(done: Played) -> list[str]:
    """What a person would find wrong with the vault."""
    return [*done.findings, *broken_links(done.vault), *orphan_boxes(done.vault)]


def page(done: Played) -> str:
    """docs/year.md."""
    asked = ", ".join(f"{task} {number}" for task, number in done.calls.most_common())
    return TEXT.format(
        turns=done.turns,
        first=f"{done.began:%-d %B %Y}",
        last=f"{done.ended:%-d %B %Y}",
        table=year_page.table(done.months),
        calls=f"{done.calls.total():,}",
        asked=asked,
    )


TEXT = """# A simulated year

Three conversations between friends, {turns:,} turns, played at their own dates through the daemon with a clock that is handed in: from {first} to {last}, every night and every week of it. Each evening somebody asks a question; on six days of a month a person pins, confirms, edits, corrects, forgets or disputes a memory. The model is a server on the same machine that answers from its own words, so that the same year makes the same vault, byte for byte; what it concludes is plain, and the figures tell of the program and not of a model.

```
make year                                      play it and hold its tree against tests/golden/year.txt
python benchmarks/bench_year.py --keep DIR     leave the vault to look at
python benchmarks/bench_year.py --update       write this page, the plot and the listing anew
```

The conversations stand in `../shared/bench` beside the project and are none of its files; without them the script says so. A smaller year, which ships with the project, is played by the tests and compared file by file (`tests/golden/year/`).

![Memories at the end of each month](year.svg)

Counts at the end of each month. *Active* memories are recalled; how far they are trusted is their stage, from *core* (recalled ten times) to *stale* (faded, or disputed). *Over* is what another memory replaced, and what a person or time ended. *Runs* are those of the month: talk + light + nightly + weekly, as far as they changed anything; *calls* are questions to the model.

{table}

What it shows: as long as people talk, memories grow with what they say, and about as many are put behind a conclusion; when they stop, what is left fades and is put in order, and a vault at rest is left alone: no night writes anything, and nobody is asked. There is one note for each name and each box, no link leads nowhere, and `engram doctor` finds nothing.

{calls} questions to the model in all: {asked}.
"""


def main() -> int:
    """Play the year and say what became of it."""
    parser = argparse.ArgumentParser(description="a simulated year")
    parser.add_argument("--own", action="store_true", help="Mira's year")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where to leave the vault")
    parser.add_argument("--update", action="store_true", help="write page, plot and listing anew")
    wish = parser.parse_args()
    if not wish.own and not (BENCH / "data" / "locomo-dev.json").is_file():
        print("skipped: no conversations in ../shared/bench")
        return 0
    with tempfile.TemporaryDirectory(prefix="engram-year-") as scratch:
        folder = wish.keep or Path(scratch)
        began = time.process_time()
        done = year(folder, ours=wish.own)
        spent = time.process_time() - began
        print(year_page.table(done.months))
        print(f"\n{done.turns} turns, {done.calls.total()} questions to the model, {spent:.0f} s of CPU")
        wrong = problems(done)
        tree = [*year_page.listing(done.vault), ""]
    if not wish.own and wish.update:
        GOLDEN.write_text("\n".join(tree), "utf-8")
        PAGE.write_text(page(done), "utf-8")
        PLOT.write_text(year_page.plot(done.months), "utf-8")
    if not wish.own:
        known = GOLDEN.read_text("utf-8").split("\n")
        wrong += [line for line in difflib.unified_diff(known, tree, "golden", "found", lineterm="", n=0)]
    print("\n".join(wrong) or "nothing is wrong with the vault, and its tree is the golden one")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
