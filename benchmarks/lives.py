"""Play lives: months of what a person tells, edits, forgets and asks, and what they
expect to be answered.

    python benchmarks/lives.py                  tests/lives/*.jsonl, and those in ../shared/bench/lives and /talk
    python benchmarks/lives.py LIFE.jsonl … -v  these, with every answer
    python benchmarks/lives.py --meaning        with the model of engram[semantic]; else words alone
    python benchmarks/lives.py --accept         list the checks that pass now in tests/golden/lives.txt as well

A life is a file of JSON lines in the order of their `at`; `docs/testing.md` describes
the events. Each is played through `engram.testing.Simulation`, without a model. At the
end stand the sums of the questions, of those of ordinary talk also apart. The exit code
is 1 where a check fails that the list says passes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

# the script's own folder stands there, not the project
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engram.testing import Simulation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    Event = dict[str, Any]
    Hit = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]
OWN = ROOT / "tests" / "lives"
SHARED = Path(
    os.environ.get("ENGRAM_LIVES") or ROOT.parent / "shared" / "bench" / "lives"
)
TALK = ROOT.parent / "shared" / "bench" / "talk"
GOLDEN = ROOT / "tests" / "golden" / "lives.txt"
RAM_DISK = Path("/dev/shm")
BEFORE = timedelta(hours=2)
"""How long the daemon runs before the first event."""
ZONE = "Europe/Berlin"
ACTS = (
    "config", "say", "import", "remember", "forget", "correct", "settle", "edit", "delete", "write", "write_many",
    "night", "flush", "ask", "todos", "context", "check", "label",
)  # fmt: skip
"""The events, by the key that tells them apart; of two the first, for a check may name
a label.
"""
DEEDS = frozenset(
    {
        "import",
        "remember",
        "forget",
        "correct",
        "settle",
        "edit",
        "delete",
        "write",
        "write_many",
    }
)
"""Those that count as a check themselves: they are carried out."""
OVER = frozenset({"superseded", "archived", "invalidated", "forgotten", "pruned"})
PAST = (
    "was",
    "until",
    "formerly",
    "previously",
    "war",
    "bis",
    "früher",
    "était",
    "autrefois",
    "era",
    "hasta",
    "antes",
)
ENDED = (
    "no longer",
    "not anymore",
    "not any more",
    "nicht mehr",
    "ya no",
    "以前",
    "曾经",
    "不再",
    "もう",
)
PAST_WORDS = re.compile(
    rf"^\W*(?:(?:{'|'.join(PAST)})\b|jusqu\b)"
    r"|\((?:until|was|bis|war|jusqu|hasta|era)\b"
    rf"|(?<!\w)(?:{'|'.join(ENDED[:5])})\b|{'|'.join(ENDED[5:])}|\bne .{{1,30}} plus\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A check of a life: when, of what, what was expected, whether it held, what was
    there instead, and why.
    """

    at: str
    of: str
    expected: str
    passed: bool
    got: tuple[str, ...] = ()
    why: str = ""

    def line(self, life: str) -> str:
        """The check by a name that does not change while its event stays as it is."""
        return " ".join(f"{life} {self.at[:16]} {self.of}: {self.expected}".split())


@dataclass(slots=True)
class Played:
    """A life that is over."""

    life: str
    events: int
    seconds: float
    verdicts: list[Verdict]

    @property
    def passed(self) -> set[str]:
        """The checks that hold."""
        return {one.line(self.life) for one in self.verdicts} - self.failed

    @property
    def failed(self) -> set[str]:
        """The checks that do not."""
        return {one.line(self.life) for one in self.verdicts if not one.passed}

    def row(self) -> str:
        """A line of the table."""
        good = sum(one.passed for one in self.verdicts)
        bad = len(self.verdicts) - good
        return f"{self.life:34} {self.events:4} events {good:4} passed {bad:4} failed {self.seconds:6.1f} s"


@dataclass
class Life:
    """One person with one vault; `play` lets them live."""

    name: str
    events: list[Event]
    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)

    def play(self) -> None:
        """Every event at its time. What an event raises is a check of it that failed."""
        zone = (
            next(
                (
                    event["config"].get("zone")
                    for event in self.events
                    if "config" in event
                ),
                None,
            )
            or ZONE
        )
        self.vault = self.folder / "vault"
        self.vault.mkdir()
        (self.vault / "engram.toml").write_text(
            f'id = "life"\nzone = "{zone}"\n', "utf-8"
        )
        self._labels: dict[str, dict[str, str]] = {}
        self._faults: dict[str, str] = {}
        began = datetime.fromisoformat(self.events[0]["at"]) - BEFORE
        with Simulation(
            self.vault, at=began, home=self.folder / "home", env=self.env
        ) as self.sim:
            for event in self.events:
                self.event = event
                self.now = datetime.fromisoformat(self.event["at"])
                self.sim.advance(self.now)
                self._look_for_faults()
                act = next((key for key in ACTS if key in self.event), "nothing")
                try:
                    getattr(self, f"_{act}")(self.event[act])
                except Exception as fault:  # noqa: BLE001
                    self._judge(
                        "is carried out",
                        passed=False,
                        got=[f"{type(fault).__name__}: {fault}"],
                    )
                else:
                    if act in DEEDS:
                        self._judge("is carried out", passed=True, got=())
        self.event = {"at": self.events[-1]["at"]}
        self._judge(
            "no fault of the program",
            passed=not self._faults,
            got=self._faults.values(),
        )

    # -- what a person does ------------------------------------------------------------

    def _config(self, _settings: Event) -> None:
        """It was read before the vault was made."""

    def _say(self, text: str) -> None:
        turn = {
            "session": f"c-{self.now:%Y%m%d}",
            "role": "user",
            **self._given("session", "role", "speaker", "persona", "private"),
        }
        self._call("observe", turns=[{**turn, "text": text}])

    def _import(self, turns: list[Event]) -> None:
        self._call("observe", "import", turns=turns)

    def _remember(self, text: str) -> None:
        self._call("remember", text=text, **self._given("persona", "private", "pinned"))

    def _forget(self, query: str) -> None:
        if hit := self._pick(query, turns=True):
            self._call("forget", id=_id(hit))

    def _correct(self, wish: list[str]) -> None:
        query, text = wish
        if hit := self._pick(query):
            self._call("correct", id=_id(hit), text=text)
        else:  # a person would say it anew
            self._call("remember", text=text)

    def _settle(self, pattern: str) -> None:
        todos = self._call("todos", **self._given("persona"))["todos"]
        todo = next((todo for todo in todos if _says(pattern, todo["text"])), None)
        self._judge(
            f"an open promise /{pattern}/",
            passed=todo is not None,
            got=[todo["text"] for todo in todos],
        )
        if todo:
            self._call("settle", id=todo["id"], **self._given("stage"))

    def _edit(self, wish: list[str]) -> None:
        query, old, new = wish
        if not (hit := self._pick(query)):
            return
        path = self.vault / hit["path"]
        text = path.read_text("utf-8")
        self._judge(
            f"{old!r} stands in the note", passed=old in text, got=text.splitlines()
        )
        if old in text:
            self._written({path: text.replace(old, new)})

    def _delete(self, query: str) -> None:
        if hit := self._pick(query):
            (self.vault / hit["path"]).unlink()
            self.sim.files_changed()

    def _write(self, note: list[str]) -> None:
        self._write_many([note])

    def _write_many(self, notes: list[list[str]]) -> None:
        self._written({self.vault / name: text for name, text in notes})

    def _night(self, _anything: object) -> None:
        self._call("consolidate", cadence="nightly")

    def _flush(self, _anything: object) -> None:
        self._call("flush")
        self._call("consolidate", cadence="talk")

    def _label(self, name: str) -> None:
        self._labels[name] = self._hashes(self.event.get("glob", "**/*.md"))

    def _pick(self, query: str, *, turns: bool = False) -> Hit | None:
        """The memory that a person would choose: of ten the first that matches `match`.

        Where none does, an archived one is taken, which is a failure all the same; or
        with `turns` a turn.
        """
        pattern = self.event.get("match", "")
        shown = self._recall(query, kinds=["fact"])
        hit = next(_matching(pattern, shown, "fact"), None)
        archived = None
        if not hit:
            old = self._recall(query, kinds=["fact"], archive=True)
            archived = next(_matching(pattern, old, "fact"), None)
            if not archived and turns:
                shown = self._recall(query)
                hit = next(_matching(pattern, shown), None)
        self._judge(f"a memory /{pattern}/", passed=hit is not None, got=_rows(shown))
        return hit or archived

    def _written(self, files: dict[Path, str]) -> None:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            os.utime(path, (self.now.timestamp(), self.now.timestamp()))
        self.sim.files_changed()

    # -- what they expect --------------------------------------------------------------

    def _ask(self, query: str) -> None:
        most = self.event.get("k", 3)
        hits = self._recall(query, k=most, **self._given("session", "as_of"))[:most]
        pool = [
            hit for hit in hits if hit["kind"] == "fact" or not self.event.get("fact")
        ]
        current = [hit for hit in hits if not _over(hit)]
        got = _rows(hits)
        self._any([hit["text"] for hit in pool], got)
        if first := self.event.get("first"):
            self._judge(
                f"first /{first}/", passed=any(_matching(first, pool[:1])), got=got
            )
        for pattern in self.event.get("none", ()):
            bad = [hit for hit in _matching(pattern, current) if hit in pool]
            self._judge(f"none /{pattern}/", passed=not bad, got=got)
        for pattern in self.event.get("none_facts", ()):
            self._judge(
                f"no fact /{pattern}/",
                passed=not any(_matching(pattern, current, "fact")),
                got=got,
            )

    def _todos(self, stage: str) -> None:
        todos = self._call("todos", stage=stage, **self._given("persona"))["todos"]
        self._lines([todo["text"] for todo in todos])

    def _context(self, query: str) -> None:
        answer = self._call(
            "context", query=query, **self._given("session", "persona", "budget")
        )
        self._lines([answer.get("text", "")])

    def _check(self, what: str) -> None:
        getattr(self, f"_check_{what}")()

    def _check_count_active(self) -> None:
        """Of the statements that stand in the folder as active, how many match."""
        pattern = self.event.get("match", "")
        found = [text for text in self._statements() if _says(pattern, text)]
        for bound, holds in (("max", len(found).__le__), ("min", len(found).__ge__)):
            if bound in self.event:
                wanted = f"{bound} {self.event[bound]} active /{pattern}/"
                self._judge(
                    wanted,
                    passed=holds(self.event[bound]),
                    got=[f"{len(found)}:", *found],
                )

    def _check_file_contains(self) -> None:
        self._in_files(wanted=True)

    def _check_file_lacks(self) -> None:
        self._in_files(wanted=False)

    def _in_files(self, *, wanted: bool) -> None:
        glob, pattern = self.event["args"]
        paths = sorted(self.vault.glob(glob))
        held = [
            path
            for path in paths
            if re.search(pattern, path.read_text("utf-8"), re.IGNORECASE | re.MULTILINE)
        ]
        verb = "contains" if wanted else "lacks"
        got = [path.relative_to(self.vault).as_posix() for path in held or paths]
        self._judge(f"{glob} {verb} /{pattern}/", passed=bool(held) == wanted, got=got)

    def _check_vault_unchanged_since(self) -> None:
        label = self.event["label"]
        before, after = self._labels[label], self._hashes("**/*.md")
        other = [name for name, digest in before.items() if after.get(name) != digest]
        self._judge(
            f"no note changed or gone since {label}", passed=not other, got=other
        )

    def _check_surer(self) -> None:
        """The first memory has more confidence than the second, or lasts longer."""
        (sure, last), (sure_other, last_other) = map(
            self._strength, (self.event["of"], self.event["than"])
        )
        known = sure is not None and sure_other is not None
        got = [f"{sure}, until {last}", f"{sure_other}, until {last_other}"]
        self._judge(
            "surer", passed=known and (sure > sure_other or last > last_other), got=got
        )

    def _strength(self, which: list[str]) -> tuple[float | None, str]:
        query, pattern = which
        hit = next(_matching(pattern, self._recall(query, kinds=["fact"])), None)
        if hit is None:
            return None, "9999"
        coming = self._call("forecast", days=3650)["coming"]
        return hit["confidence"], max(
            (row["at"] for row in coming if row["id"] == _id(hit)), default="9999"
        )

    def _any(self, texts: Sequence[str], got: Collection[str]) -> None:
        for pattern in self.event.get("any", ()):
            self._judge(
                f"any /{pattern}/",
                passed=any(_says(pattern, text) for text in texts),
                got=got,
            )

    def _lines(self, texts: Sequence[str]) -> None:
        got = [line for text in texts for line in text.splitlines()]
        self._any(texts, got)
        for pattern in self.event.get("none", ()):
            self._judge(
                f"none /{pattern}/",
                passed=not any(_says(pattern, text) for text in texts),
                got=got,
            )
        if "max" in self.event:
            self._judge(
                f"max {self.event['max']}",
                passed=len(texts) <= self.event["max"],
                got=got,
            )

    def _judge(self, expected: str, *, passed: bool, got: Iterable[str]) -> None:
        """One more verdict on the event that is played."""
        self.verdicts.append(
            Verdict(
                self.event["at"],
                _named(self.event),
                expected,
                passed,
                tuple(got),
                self.event.get("why", ""),
            )
        )

    # -- the vault ---------------------------------------------------------------------

    def _call(self, operation: str, standing: str = "chat", /, **params: Any) -> Event:
        return self.sim.call(operation, standing, **params)

    def _recall(self, query: str, k: int = 10, **wishes: Any) -> list[Hit]:
        return self._call(
            "recall", query=query, k=k, **wishes, **self._given("persona")
        )["hits"]

    def _given(self, *keys: str) -> Event:
        """These keys of the event, those that it has."""
        return {key: self.event[key] for key in keys if self.event.get(key) is not None}

    def _look_for_faults(self) -> None:
        for name, words in self._call("status")["faults"].items():
            self._faults.setdefault(
                f"{name} {words}", f"{self.event['at']} {name}: {words}"
            )

    def _hashes(self, glob: str) -> dict[str, str]:
        """The notes that a person reads, with the hash of each."""
        paths = [
            (path, path.relative_to(self.vault))
            for path in sorted(self.vault.glob(glob))
            if path.is_file()
        ]
        return {
            str(name): hashlib.sha256(path.read_bytes()).hexdigest()
            for path, name in paths
            if name.parts[0] != "state"
        }

    def _statements(self) -> Iterator[str]:
        """What the active notes in the folder of facts state."""
        for path in sorted(self.vault.glob("facts/**/*.md")):
            text = path.read_text("utf-8")
            head, _, body = (
                text.removeprefix("---\n").partition("\n---\n")
                if text.startswith("---\n")
                else ("", "", text)
            )
            status = re.search(r"^status: *(\S+)", head, re.MULTILINE)
            if status is None or status[1].startswith("active"):
                yield re.sub(
                    r"!\[\[.*?\]\]",
                    "",
                    re.split(r"^## ", body, maxsplit=1, flags=re.MULTILINE)[0],
                ).strip()


def _named(event: Event) -> str:
    """An event in few words: what is done, and the first text that goes with it."""
    act = next((key for key in ACTS if key in event), "life")
    of = event.get(act, "")
    while isinstance(of, list) and of:
        of = of[0]
    who = [f"({event[key]})" for key in ("persona", "as_of") if key in event]
    return " ".join([act, *([of] if isinstance(of, str) else []), *who])


def _id(hit: Hit) -> str:
    return hit.get("id") or hit["key"]


def _says(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def _matching(pattern: str, hits: Iterable[Hit], kind: str = "") -> Iterator[Hit]:
    return (
        hit for hit in hits if kind in {"", hit["kind"]} and _says(pattern, hit["text"])
    )


def _over(hit: Hit) -> bool:
    """Whether a hit is marked as over: by its status, by an end, or in words."""
    words = f"{hit['text']} {hit.get('standing', '')}"
    return (
        bool(hit.get("ended"))
        or hit.get("status") in OVER
        or PAST_WORDS.search(words) is not None
    )


def _rows(hits: Iterable[Hit]) -> list[str]:
    marks = ("kind", "category", "role", "status", "when", "text")
    return [
        " ".join(str(hit[mark]) for mark in marks if hit.get(mark)) for hit in hits
    ] or ["nothing"]


def play(path: Path, *, meaning: bool = False) -> Played:
    """Play the life in this file, in a folder of its own that is gone afterwards."""
    env = {"ENGRAM_EMBEDDINGS_MODEL": ""} if meaning else {}
    events = [
        json.loads(line)
        for line in path.read_text("utf-8").splitlines()
        if line.strip()
    ]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(
        prefix="engram-life-", dir=RAM_DISK if os.access(RAM_DISK, os.W_OK) else None
    ) as folder:
        life = Life(path.stem, events, Path(folder), env)
        life.play()
    return Played(path.stem, len(events), time.monotonic() - began, life.verdicts)


def golden() -> set[str]:
    """The checks that are known to pass."""
    return set(GOLDEN.read_text("utf-8").splitlines()) if GOLDEN.exists() else set()


def accept(played: Iterable[Played]) -> int:
    """Write the list anew for these lives; return how many checks are new."""
    known = golden()
    passed = {line for one in played for line in one.passed}
    failed = {line for one in played for line in one.failed}
    listed = sorted((known | passed) - failed)
    GOLDEN.write_text("".join(f"{line}\n" for line in listed), "utf-8")
    return len(passed - known)


def files() -> tuple[list[Path], list[Path], list[Path]]:
    """Our own lives, those beside the project, and those of ordinary talk there."""
    own, shared, talk = (sorted(at.glob("*.jsonl")) for at in (OWN, SHARED, TALK))
    return own, shared, talk


def sums(played: Iterable[Played]) -> str:
    """How many of the expected answers were given, by kind of expectation."""
    held, told = Counter[str](), Counter[str]()
    for one in played:
        for verdict in one.verdicts:
            if verdict.of.startswith("ask "):
                kind = verdict.expected.partition(" /")[0]
                told[kind] += 1
                held[kind] += verdict.passed
    return ", ".join(f"{kind} {held[kind]} of {told[kind]}" for kind in sorted(told))


def show(played: Played, known: Collection[str]) -> None:
    """Say what failed, and of it what was known to pass."""
    for one in played.verdicts:
        if not one.passed:
            mark = "WORSE" if one.line(played.life) in known else "fails"
            print(
                f"  {mark} {one.line(played.life)}"
                + (f" – {one.why}" if one.why else "")
            )
            print(*(f"          {line[:200]}" for line in one.got[:12]), sep="\n")


def main() -> int:
    """Play, and say what became of it."""
    parser = argparse.ArgumentParser(description="lives of months")
    parser.add_argument(
        "lives",
        nargs="*",
        type=Path,
        metavar="LIFE",
        help="files to play; else all that there are",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="tell of each check that fails"
    )
    parser.add_argument(
        "--accept", action="store_true", help="add what passes to the list"
    )
    parser.add_argument(
        "--meaning", action="store_true", help="with the model of engram[semantic]"
    )
    wish = parser.parse_args()
    own, shared, talk = files()
    paths = wish.lives or [*own, *shared, *talk]
    known = golden()
    with ProcessPoolExecutor(min(len(paths), os.cpu_count() or 1)) as pool:
        played = list(pool.map(partial(play, meaning=wish.meaning), paths))
    for one in played:
        if wish.verbose:
            show(one, known)
    print("\n".join(one.row() for one in played))
    print(f"answers: {sums(played)}")
    of_talk = [one for path, one in zip(paths, played, strict=True) if path in talk]
    if of_talk:
        print(f"answers in talk: {sums(of_talk)}")
    if not wish.lives and not shared:
        print(f"skipped: no lives in {SHARED}")
    if wish.accept:
        print(f"{accept(played)} checks more in {GOLDEN.relative_to(ROOT)}")
    worse = sorted(known & {line for one in played for line in one.failed})
    print(
        "".join(f"WORSE {line}\n" for line in worse)
        + f"{len(worse)} checks fail that passed before"
    )
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
