"""A simulated year: real conversations at their own dates through the daemon, and what
becomes of them.

    python benchmarks/bench_year.py            the conversations in ../shared/bench beside the project
    python benchmarks/bench_year.py --own      Mira's year, which ships with the project
    python benchmarks/bench_year.py --keep DIR leave the vault there to look at
    python benchmarks/bench_year.py --update   write the golden listing anew, and docs/year.md and .svg

The clock is handed in, the model is a server that answers from its own words, so the
same year makes the same vault, byte for byte. Its tree is held against a listing in
`tests/golden/`; the exit code is 1 where it differs, where a link leads nowhere, or
where `engram doctor` finds anything.
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

# the script's own folder stands there, not the project
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import year_page
from benchmarks.year_model import YearModel
from benchmarks.year_played import YEAR, Played, Said, played
from tests.fakes.obsidian import broken_links, orphan_boxes

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT.parent / "shared" / "bench"
GOLDEN = {
    ours: ROOT / "tests" / "golden" / f"year-{name}.txt"
    for ours, name in ((False, "real"), (True, "own"))
}
PAGE, PLOT = ROOT / "docs" / "year.md", ROOT / "docs" / "year.svg"
CONVERSATIONS = ("conv-26", "conv-30", "conv-41")
"""Those that were held within one year; the fourth is of the year before."""
OWN = (
    ROOT / "examples" / "three-weeks.jsonl",
    ROOT / "tests" / "golden" / "later.jsonl",
)
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
    """Three weeks with Mira and the eleven months that followed; what she asks in the
    evenings, and where she lives.
    """
    zone = ZoneInfo(OWN_ZONE)
    turns = [
        json.loads(line)
        for path in OWN
        for line in path.read_text("utf-8").splitlines()
    ]
    return (
        [Said(_moment(turn["occurred_at"], zone), turn) for turn in turns],
        OWN_QUESTIONS,
        OWN_ZONE,
    )


def real() -> tuple[list[Said], tuple[str, ...], str]:
    """The conversations beside the project with their questions, in the order in which
    they were held.
    """
    sys.path.insert(0, str(BENCH))
    import loader

    said: list[Said] = []
    questions: list[str] = []
    for case in loader.load_locomo():
        if case.id not in CONVERSATIONS:
            continue
        at = datetime.min.replace(tzinfo=UTC)
        for turn in case.turns:
            # a session has one time for all its turns
            at = max(_moment(turn.when, UTC), at + BETWEEN)
            told = {
                "id": f"{case.id} {turn.id}",
                "session": case.id,
                "role": turn.role,
                "speaker": turn.speaker,
            }
            said.append(
                Said(at, told | {"text": turn.text, "occurred_at": at.isoformat()})
            )
        questions += [question.text for question in case.questions]
    return (
        sorted(said, key=lambda one: (one.at, one.turn["id"])),
        tuple(questions),
        "UTC",
    )


def _moment(text: str, zone: ZoneInfo | type[UTC]) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone)


def year(folder: Path, *, ours: bool, length: timedelta = YEAR) -> Played:
    """The year, or its beginning, played into `folder`."""
    said, questions, zone = own() if ours else real()
    return played(folder, YearModel(), said, questions, zone, length)


def problems(done: Played) -> list[str]:
    """What a person would find wrong with the vault."""
    return [*done.findings, *broken_links(done.vault), *orphan_boxes(done.vault)]


def page(done: Played, before: str) -> str:
    """docs/year.md with the calls of this year in place of those `before`."""
    asked = ", ".join(f"{task} {number}" for task, number in done.calls.most_common())
    told = f"{done.calls.total():,} model calls: {asked}."
    head, _, rest = before.partition("<!-- calls -->\n")
    return (
        f"{head}<!-- calls -->\n{told}\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    )


def main() -> int:
    """Play the year and say what became of it."""
    parser = argparse.ArgumentParser(description="a simulated year")
    parser.add_argument("--own", action="store_true", help="Mira's year")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="where to leave the vault"
    )
    parser.add_argument(
        "--update", action="store_true", help="write page, plot and listing anew"
    )
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
        print(
            f"\n{done.turns} turns, {done.calls.total()} model calls, {spent:.0f} s of CPU"
        )
        wrong = problems(done)
        tree = [*year_page.listing(done.vault), ""]
    if wish.update:
        GOLDEN[wish.own].write_text("\n".join(tree), "utf-8")
    if wish.update and not wish.own:
        PAGE.write_text(page(done, PAGE.read_text("utf-8")), "utf-8")
        PLOT.write_text(year_page.plot(done.months), "utf-8")
    known = GOLDEN[wish.own].read_text("utf-8").split("\n")
    wrong += difflib.unified_diff(known, tree, "golden", "found", lineterm="", n=0)
    print(
        "\n".join(wrong)
        or "nothing is wrong with the vault, and its tree is the golden one"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
