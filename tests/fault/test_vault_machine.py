"""One vault under everything that may happen to it, in any order, beside a plain
account of what was promised.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis
import pytest
from harness import FULL, snapshot
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from ledger import facts_below, turns_filed

from engram import config
from engram.core.text import content_hash
from engram.core.turn_versions import version_id
from engram.errors import ConflictError, EngramError, NotFoundError
from engram.index.search import Index
from engram.memory import VaultMemory
from engram.recall import search
from engram.recall.request import request_for
from engram.vault.usage import DEVICE

SHARES, RUNS, STEPS = (4, 50, 50) if FULL else (1, 6, 25)
SEED = int(os.environ.get("ENGRAM_SEED", "20261120"))
NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
WORDS = [
    f"{first}{second}"
    for first in ("ama", "bel", "cor", "dun")
    for second in ("rill", "stone", "wick")
]
QUERIES = [
    *(f"which boat is the {word}?" for word in WORDS),
    "what was decided?",
    "what did the person write?",
]
PICK = st.integers(0, 10**6)
DONE: Counter[str] = Counter()


def said(word: str) -> str:
    """What a user says, of which the offline rules make a fact."""
    return f"I decided to buy the boat {word}."


@dataclass(frozen=True)
class Version:
    """The words of a turn at a time; `name` is the id under which they are stored."""

    name: str
    text: str
    at: datetime


@dataclass
class Account:
    """What was promised, and what a person did.

    `corrected` and `forgotten` name the statements that must not come back, by content
    hash. A corrected one waits for a person whenever it is said again. One that was
    forgotten, or whose note was deleted, may come back from what the user says in the
    chat after the time that `forgotten` gives. `unseen` holds deletions that the memory
    has not met yet.
    """

    turns: dict[str, str] = field(default_factory=dict)
    versions: dict[str, list[Version]] = field(default_factory=dict)
    lines: set[str] = field(default_factory=set)
    corrected: set[str] = field(default_factory=set)
    forgotten: dict[str, datetime] = field(default_factory=dict)
    unseen: dict[str, datetime] = field(default_factory=dict)
    broken: dict[str, bytes] = field(default_factory=dict)

    def wanted(self, digest: str) -> None:
        """A person asked for this statement: it may stand."""
        self.corrected.discard(digest)
        self.forgotten.pop(digest, None)

    def hear(self, turn_id: str, text: str, now: datetime, edit_hours: float) -> bool:
        """Whether these words of a turn are new: not those that it has already.

        Words that came back after others had replaced them are new, too.
        """
        versions = self.versions.setdefault(turn_id, [])
        same = [version for version in versions if version.text == text]
        if same:
            last = versions.index(same[-1])
            within = timedelta(hours=edit_hours)
            if all(other.at - same[-1].at > within for other in versions[last + 1 :]):
                return False
        name = turn_id
        if versions:
            edits = sum(version.name != turn_id for version in same)
            name = version_id(turn_id, text, edits + 1)
        versions.append(Version(name, text, now))
        self.turns[name] = text
        return True

    def may_return(self, digest: str, said: datetime) -> bool:
        """Whether the laws allow a new memory of this statement, said at that time.

        What the user says after the wish to forget lifts every tombstone of it.
        """
        if digest in self.forgotten:
            return said > self.forgotten[digest]
        return digest not in self.corrected


class Machine(RuleBasedStateMachine):
    """The vault, its memory, a person, and the account."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(
            tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        )
        self.vault = self.folder / "vault"
        self.vault.mkdir(mode=0o700)
        (self.vault / "engram.toml").write_text(
            'id = "01KBH2Q0M6T4W2Y0B7C5D9E1FX"\nzone = "Europe/Berlin"\n'
        )
        loaded = config.load(
            self.vault,
            {"ENGRAM_HOME": str(self.folder / "home"), "HOME": str(self.folder)},
        )
        at_once = replace(
            loaded.policy.files,
            quiet_seconds=0,
            settle_most_seconds=0,
            vanished_least=1000,
        )
        self.settings = replace(loaded, policy=replace(loaded.policy, files=at_once))
        # ids depend on it, and with them the order of notes: equal steps have equal names
        self.settings.state.mkdir(parents=True, mode=0o700)
        (self.settings.state / DEVICE).write_text("0123456789abcdef\n")
        self.now = NOW
        self.account = Account()
        self.commits: list[tuple[str, Account]] = []
        self.branch = 0
        self.marks = itertools.count()
        self.memory: VaultMemory | None = None

    @initialize()
    def begin(self) -> None:
        """A conversation is under way, and some of it is filed."""
        self.git("init", "-q")
        self.open()
        for number in range(6):
            self.observe(2 * number, 2, 0)
            if number == 3:
                self.flush()
                self.change(0, "forget")
                # what was forgotten is said again, and waits in review
                self.observe(12, 8, 0)
                self.flush()

    def teardown(self) -> None:
        if self.memory:
            try:
                self.everything_agrees()
                DONE["runs"] += 1
            finally:
                self.memory.close()
                shutil.rmtree(self.folder)

    # -- tools -------------------------------------------------------------------------

    def steady(self) -> float:
        return self.now.timestamp()

    def open(self) -> None:
        """A new process on the vault."""
        self.memory = VaultMemory(
            self.settings, clock=lambda: self.now, steady=self.steady
        )
        self.memory.executor.attended = True
        with self.extraction():
            self.memory.start()
            self.memory.catch_up()
        self.seen()

    def seen(self) -> None:
        """The memory looked at the whole vault: what a person deleted is known to it."""
        self.account.forgotten |= self.account.unseen
        self.account.unseen = {}

    def extraction(self):
        """Whatever happens in it must not bring back what a person removed."""
        return _NothingReturns(self)

    def git(self, *words: str) -> str:
        who = (
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@example.org",
            "-c",
            "advice.detachedHead=false",
        )
        command = ["git", "-C", str(self.vault), *who, "-c", "core.fsync=none", *words]
        return subprocess.run(
            command, check=True, capture_output=True, text=True
        ).stdout.strip()

    def notes(self, *folders: str) -> list[Path]:
        """Fact notes that can be read."""
        found = [
            path
            for folder in folders or ("facts",)
            for path in sorted((self.vault / folder).rglob("*.md"))
        ]
        return [path for path in found if str(path) not in self.account.broken]

    def mark(self) -> str:
        """Words that nobody wrote before."""
        mark = f"byhand{next(self.marks)}x"
        self.account.lines.add(mark)
        return mark

    def struck(self, raw: bytes) -> None:
        """A person removed these bytes."""
        self.account.lines -= {
            mark for mark in self.account.lines if mark.encode() in raw
        }

    def save(self, path: Path, raw: bytes, how: int) -> None:
        """As editors save: into the file, or beside it and over it."""
        if how % 2:
            path.write_bytes(raw)
        else:
            beside = path.with_name(f"{path.name}~")
            beside.write_bytes(raw)
            beside.replace(path)

    # -- callers -----------------------------------------------------------------------

    @rule(number=st.integers(0, 25), many=st.integers(1, 3), twist=st.integers(0, 5))
    def observe(self, number: int, many: int, twist: int) -> None:
        """New turns, known ones, and now and then other words for a known id."""
        texts = {
            f"{self.branch}-{n}": said(WORDS[(n + twist // 5) % 12])
            for n in range(number, number + many)
        }
        turns = [
            {"id": name, "session": f"talk {name[-1]}", "text": text}
            for name, text in texts.items()
        ]
        answer = self.memory.call("observe", {"turns": turns})
        edit_hours = self.settings.policy.buffer.edit_hours
        was = set(self.account.versions)
        new = [
            name
            for name, text in texts.items()
            if self.account.hear(name, text, self.now, edit_hours)
        ]
        assert answer["stored"] == len(new)
        DONE["turns"] += answer["stored"]
        DONE["duplicates"] += answer["duplicates"]
        DONE["turns edited"] += len(was & set(new))

    @rule()
    def flush(self) -> None:
        self.memory.executor.attended = False
        with self.extraction():
            self.memory.call("flush", {})
        self.memory.executor.attended = True
        DONE["flushes"] += 1

    @rule(minutes=st.sampled_from([1, 20, 60, 60 * 24, 60 * 24 * 40]))
    def time_passes(self, minutes: int) -> None:
        """The clock goes on, and what is due by it is done.

        A batch that changes a note which a person has just moved is tried again later,
        as in the daemon.
        """
        self.now += timedelta(minutes=minutes)
        pipeline = self.memory.pipeline
        with self.extraction():
            for batch in pipeline.due(self.now):
                outcome = pipeline.distil(batch)
                try:
                    pipeline.file(batch, outcome)
                except (ConflictError, NotFoundError) as error:
                    pipeline.postpone(batch.as_tried(), "filing", error)
                    DONE["filed later"] += 1

    @rule(word=st.sampled_from(WORDS))
    def remember(self, word: str) -> None:
        """A statement that was removed comes back, for the user says so."""
        text = f"The user decided to buy the boat {word}."
        answer = self.memory.call("remember", {"text": text})
        assert answer["verdict"] in {"created", "confirmed"}
        self.account.wanted(content_hash(text))

    @rule(pick=PICK, what=st.sampled_from(["forget", "restore", "pin", "unpin"]))
    def change(self, pick: int, what: str) -> None:
        """A wish about a memory; a note that a person has just broken or removed may
        refuse.
        """
        facts = sorted(self.memory.index.catalog.since("").added, key=str)
        known = [unit for unit in facts if hasattr(unit, "category")]
        if not known:
            return
        fact = known[pick % len(known)]
        wish = {
            "restore": {"status": "active"},
            "pin": {"pinned": True},
            "unpin": {"pinned": False},
        }.get(what, {})
        digest = content_hash(fact.text)
        try:
            self.memory.call(
                "forget" if what == "forget" else "update", {"id": fact.id, **wish}
            )
        except EngramError:
            assert (
                str(self.vault / fact.path) in self.account.broken
                or not (self.vault / fact.path).exists()
            )
            self.account.wanted(digest)
            return
        if what == "forget":
            self.account.forgotten[digest] = self.now
        if what == "restore":
            self.account.wanted(digest)
        DONE[what] += 1

    @rule(pick=PICK, word=st.sampled_from(WORDS))
    def correct(self, pick: int, word: str) -> None:
        """A memory says something else from now on; what it said does not come back."""
        known = [
            fact for fact in facts_below(self.vault, "facts") if fact.status == "active"
        ]
        if not known:
            return
        fact, text = (
            known[pick % len(known)],
            f"The user decided to buy the boat {word} instead.",
        )
        try:
            answer = self.memory.call("correct", {"id": fact.id, "text": text})
        except EngramError:
            assert fact.text == text or self.account.broken or self.account.unseen
            return
        assert self.memory.index.catalog.find_fact(answer["id"]).status == "active"
        self.account.corrected.add(content_hash(fact.text))
        self.account.wanted(content_hash(text))
        DONE["corrected"] += 1

    # -- a person ----------------------------------------------------------------------

    @precondition(lambda self: facts_below(self.vault, "review"))
    @rule(pick=PICK, answer=st.sampled_from(["Keep it", "Drop it"]))
    def person_ticks(self, pick: int, answer: str) -> None:
        """A tick in a note that asks is carried out when somebody looks, and the note
        asks no more.
        """
        asked = facts_below(self.vault, "review")
        fact = asked[pick % len(asked)]
        path = self.vault / fact.path
        raw = path.read_bytes()
        self.save(
            path,
            raw.replace(f"- [ ] {answer}".encode(), f"- [x] {answer}".encode()),
            pick,
        )
        if answer == "Keep it":
            self.account.wanted(content_hash(fact.text))
        self.rescan()
        assert raw == path.read_bytes() if b"- [ ] " not in raw else not path.exists()
        DONE["ticked"] += 1

    @precondition(lambda self: self.notes())
    @rule(pick=PICK)
    def person_edits_a_body(self, pick: int) -> None:
        path = self.notes()[pick % len(self.notes())]
        head, fence, body = path.read_bytes().partition(b"\n---\n")
        lines = body.split(b"\n")
        self.struck(lines[0])
        lines[0] = f"In my own words: {self.mark()} is what matters.".encode()
        self.save(path, head + fence + b"\n".join(lines), pick)
        DONE["hand edits"] += 1

    @precondition(lambda self: self.notes("facts", "archive"))
    @rule(pick=PICK)
    def person_adds_a_key(self, pick: int) -> None:
        notes = self.notes("facts", "archive")
        path = notes[pick % len(notes)]
        mark = self.mark()
        raw = path.read_bytes().replace(
            b"\n---\n", f"\n{mark}: of mine, # and a remark\n---\n".encode(), 1
        )
        self.save(path, raw, pick)
        DONE["hand edits"] += 1

    @precondition(lambda self: self.notes("facts", "archive"))
    @rule(pick=PICK)
    def person_deletes_a_fact(self, pick: int) -> None:
        """The statement is gone for good as soon as anybody looks."""
        notes = self.notes("facts", "archive")
        path = notes[pick % len(notes)]
        self.struck(path.read_bytes())
        known = [
            u
            for u in self.memory.index.catalog.since("").added
            if getattr(u, "path", "") == self.inside(path)
        ]
        self.account.unseen |= {
            content_hash(unit.text): self.now
            for unit in known
            if hasattr(unit, "category")
        }
        path.unlink()
        DONE["deleted"] += 1

    @precondition(lambda self: self.notes())
    @rule(pick=PICK)
    def person_archives_a_fact(self, pick: int) -> None:
        path = self.notes()[pick % len(self.notes())]
        target = self.vault / "archive" / path.parent.name / path.name
        # names are unique in both folders, so that nobody's move covers a note
        assert not target.exists()
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
        DONE["archived"] += 1

    @rule(pick=PICK)
    def person_writes_a_note(self, pick: int) -> None:
        path = self.vault / "notes" / f"mine-{pick % 4}.md"
        path.parent.mkdir(exist_ok=True)
        before = path.read_bytes() if path.exists() else b""
        self.save(path, before + f"A line of mine, {self.mark()}.\n".encode(), pick)
        DONE["hand edits"] += 1

    @precondition(lambda self: self.notes())
    @rule(pick=PICK)
    def person_breaks_a_note(self, pick: int) -> None:
        path = self.notes()[pick % len(self.notes())]
        raw = path.read_bytes()
        self.account.broken[str(path)] = raw
        path.write_bytes(raw.replace(b"\n---\n", b"\nodd: [one, {two\n---\n", 1))
        DONE["broken"] += 1

    @precondition(lambda self: self.account.broken)
    @rule()
    def person_mends_all(self) -> None:
        for name in list(self.account.broken):
            raw = Path(name).read_bytes().replace(b"\nodd: [one, {two\n", b"\n", 1)
            Path(name).write_bytes(raw)
        self.account.broken.clear()

    @precondition(lambda self: any(self.vault.glob("sessions/*/*.md")))
    @rule(pick=PICK)
    def person_writes_into_a_conversation(self, pick: int) -> None:
        """Before the turns, between two of them, or below."""
        files = sorted(self.vault.glob("sessions/*/*.md"))
        path = files[pick % len(files)]
        raw, line = path.read_bytes(), f"My remark {self.mark()}.\n".encode()
        if pick % 3 == 0:
            raw = raw.replace(b"## Conversation\n", line + b"\n## Conversation\n", 1)
        elif pick % 3 == 1:
            raw = raw.replace(b"\n^t1\n", b"\n^t1\n\n" + line, 1)
        else:
            raw = raw.rstrip(b"\n") + b"\n\n## Mine\n\n" + line
        if line not in raw:
            raw += b"\n" + line
        self.save(path, raw, pick)
        DONE["hand edits"] += 1

    @rule(pick=PICK)
    def person_travels_with_git(self, pick: int) -> None:
        """Commit everything, then check an earlier commit out: what it held holds
        again.
        """
        if self.account.broken:
            self.person_mends_all()
        self.rescan()
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        self.commits.append((self.git("rev-parse", "HEAD"), deepcopy(self.account)))
        commit, account = self.commits[pick % len(self.commits)]
        self.git("checkout", "-q", commit)
        waiting = {
            filed.turn.id: filed.turn.text
            for _, filed in self.memory.journal.unfiled().turns
        }
        self.account = deepcopy(account)
        there = turns_filed(self.vault)
        self.account.turns = {
            name: text for name, text in self.account.turns.items() if name in there
        } | waiting
        self.branch += 1
        self.rescan()
        DONE["checkouts"] += 1

    def inside(self, path: Path) -> str:
        return path.relative_to(self.vault).as_posix()

    # -- life --------------------------------------------------------------------------

    @rule()
    def rescan(self) -> None:
        with self.extraction():
            self.memory.files.rescan(None)
        self.seen()

    @rule(back=st.booleans())
    def night(self, back: bool) -> None:
        """The vault is put in order; now and then a person takes that back."""
        with self.extraction():
            report = self.memory.call("consolidate", {})
            assert not report["failures"], report["failures"]
            if back and report["run"]:
                self.memory.call("undo", {"id": report["run"]})
                DONE["undone"] += 1
        DONE["nights"] += 1

    @rule(how=st.sampled_from(["restart", "crash", "wipe"]))
    def begins_again(self, how: str) -> None:
        """Closed in good order, or dropped as it stands; the cache may go as well."""
        if how == "wipe":
            self.rescan()
        if how == "crash":
            self.memory.journal.close()
            self.memory.index.catalog.close()
            self.memory._lock.release()
        else:
            self.memory.close()
        if how == "wipe":
            shutil.rmtree(self.settings.cache)
            assert not self.account.unseen
        self.open()
        DONE[how] += 1

    # -- laws --------------------------------------------------------------------------

    @rule()
    def everything_agrees(self) -> None:
        """The index says what a cold one says, and a second look at the vault changes
        nothing on the disk.
        """
        if self.account.broken:
            self.person_mends_all()
        self.memory.catch_up()
        self.seen()
        before = snapshot(self.vault)
        self.memory.catch_up()
        assert snapshot(self.vault) == before
        cold = Index(
            replace(self.settings, cache=self.folder / "cold"), self.memory.vault
        )
        try:
            cold.scan(None)
            cold.add_turns([filed for _, filed in self.memory.journal.unfiled().turns])
            warm = self.memory.index
            assert warm.tombstones.keys == cold.tombstones.keys
            assert warm.counts() == cold.counts()
            for query in QUERIES[DONE["comparisons"] % 3 :: 3]:
                assert self.answer(warm, query) == self.answer(cold, query), query
        finally:
            cold.close()
            shutil.rmtree(self.folder / "cold")
        DONE["comparisons"] += 1

    def answer(self, index: Index, query: str) -> list[tuple[object, ...]]:
        ask = request_for(self.settings, self.now, query, k=20, budget=10_000)
        hits = search.recall(index, self.settings, ask, mark="m", complete=True).hits
        return sorted(
            (round(hit.score, 6), hit.key, hit.text, hit.path) for hit in hits
        )

    @invariant()
    def nothing_is_lost(self) -> None:
        """After each step no line of a person's is lost, and each turn stands once."""
        everything = b"\n".join(snapshot(self.vault).values())
        missing = {
            mark for mark in self.account.lines if mark.encode() not in everything
        }
        assert not missing, f"a person's lines are gone: {missing}"
        filed = turns_filed(self.vault)
        if self.memory:
            waiting = {
                filed.turn.id for _, filed in self.memory.journal.unfiled().turns
            }
            places = {
                name: filed[name] or int(name in waiting) for name in self.account.turns
            }
            assert {name: count for name, count in places.items() if count != 1} == {}
        DONE["steps"] += 1


class _NothingReturns:
    """No active note appears in it that states what a person removed before, unless the
    user said it afterwards.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def __enter__(self) -> None:
        self.before = {fact.id for fact in facts_below(self.machine.vault, "facts")}

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        account, zone = self.machine.account, self.machine.settings.zone
        returned = []
        for fact in facts_below(self.machine.vault, "facts"):
            if fact.id in self.before:
                continue
            said = fact.created.replace(tzinfo=zone)
            if account.may_return(content_hash(fact.text), said):
                account.corrected.discard(content_hash(fact.text))
            else:
                returned.append(fact.text)
        assert returned == []


# row: X3
# row: X8
# row: X19
# row: X20
@pytest.mark.parametrize("share", range(SHARES))
def test_whatever_happens_to_a_vault_nothing_promised_is_broken(share, covered):
    """Callers, a person, git, crashes and the clock in any order, against the account."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    DONE.clear()
    checks = hypothesis.settings(
        max_examples=RUNS,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        # a shorter example costs minutes; the steps of the failing one are printed
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    run_state_machine_as_test(hypothesis.seed(SEED + share)(Machine), settings=checks)
    for what, count in sorted(DONE.items()):
        covered(
            f"vault machine, {RUNS} x {STEPS} (ENGRAM_SEED={SEED + share})", what, count
        )
    assert DONE["comparisons"] >= RUNS
