"""The whole path for the batteries: a real memory, driven in one thread as the daemon
drives it.

Every recovery begins with another cache: kept, wiped, half written, that of an earlier
day, or a catalogue of an earlier day under the present snapshot. The second recovery of
a case never has an older cache, for what changed since then looks like a person's
doing.
"""

from __future__ import annotations

import errno
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain, cycle
from typing import TYPE_CHECKING, Any

import rooms
from batteries import failures
from harness import Bench, BrokenPromiseError, Counting, Failing, Seam, installed

from engram import config
from engram.core.forgetting import removed_keys
from engram.core.policy import ExtractionPolicy
from engram.core.records import FiledTurn, Turn
from engram.core.text import content_hash
from engram.errors import EngramError, ModelError
from engram.extraction.rules import engine
from engram.memory import VaultMemory
from engram.vault import reviews, syscalls
from engram.vault.journal import Journal
from engram.vault.store import HASHES, Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from rooms import Kept

    from engram.config import Settings
    from engram.core.records import Extraction, Fact
    from engram.ingest.queue import Batch

SAID = datetime(2026, 11, 20, 21, 14, tzinfo=UTC)
LATE = datetime(2041, 1, 1, 12, 0, tzinfo=UTC)
"""Where the clock stands: later than the time of any file on the disk."""

TOML = 'id = "01KBH2Q0M6T4W2Y0B7C5D9E1FX"\nzone = "Europe/Berlin"\n'
THINGS = (
    "nuts",
    "cats",
    "pollen",
    "mould",
    "lupins",
    "wasps",
    "latex",
    "figs",
    "soy",
    "shrimps",
    "celery",
    "milk",
)

KILLS, ERRORS, HEALED = 130, 125, 45
"""Of how many points of a life a full run takes; the defects that are put in are found
by these.
"""

OLDER = ("kept", "old", "wiped", "mixed", "half")
FRESH = ("kept", "wiped", "half")
AGES = (*OLDER, "snapshot of an earlier day")
"""Of the whole cache, or of the snapshot beside the present catalogue."""


SAYINGS = {
    "l0": "I live in Berlin.",
    "l1": "My sister Anna works at Siemens.",
    "l2": "I am very allergic to wool.",
    "l3": "My sister Anna works at Bosch now.",
    "l4": "I am allergic to wool.",
    "l50": "Actually, I live in Munich.",
    "l51": "I live in Berlin.",
    "m1": "Anna works at Siemens.",
    "m2": "Anna is very afraid of spiders.",
    "m3": "Anna usually drinks coffee every morning.",
    "m4": "Anna is afraid of spiders.",
    "m5": "Anna is really afraid of spiders.",
    "m6": "Anna drinks coffee every morning.",
    "m7": "Anna works at Bosch.",
    "m8": "Anna decided to sell the boat.",
    "m9": "Anna is not afraid of spiders.",
    "m52": "Anna lives in Porto.",
}
"""What turns say where statements meet: the number is the minute."""


def text_of(name: str) -> str:
    """What the turn with that id says: a saying, or an allergy that its number chooses;
    after twelve they repeat.
    """
    return (
        SAYINGS.get(name) or f"I am allergic to {THINGS[int(name[1:]) % len(THINGS)]}."
    )


EVERYTHING = [text_of(f"t{number}") for number in range(len(THINGS))]
NEVER = 1 << 40
AGED = "aged"
"""This file beside the vault tells that a cache was not kept in one recovery or
another.
"""


def said(session: str, *names: str) -> list[dict[str, Any]]:
    """Turns for a request, a minute apart."""
    times = [SAID + timedelta(minutes=int(name[1:])) for name in names]
    return [
        {
            "id": name,
            "session": session,
            "text": text_of(name),
            "occurred_at": time.isoformat(),
        }
        for name, time in zip(names, times, strict=True)
    ]


def removed(acked: Iterable[str]) -> set[str]:
    """The statements that a person forgot or deleted, or was about to: what says them
    is hidden.
    """
    return {
        word.split(" ", 2)[2]
        for word in acked
        if word.split(" ")[1] in {"forgotten", "gone"}
    }


def said_again(acked: Iterable[str]) -> set[str]:
    """The statements of turns that were stored after a person deleted a note of theirs.

    They may stand: the user said so later, even if the deletion is recorded later yet.
    """
    deleted: set[str] = set()
    again: set[str] = set()
    for word in acked:
        if word.startswith("trying gone "):
            deleted.add(word.removeprefix("trying gone "))
        elif word.startswith("turn "):
            again |= deleted.intersection(
                statements(text_of(word.removeprefix("turn ")))
            )
    return again


def statements(text: str) -> list[str]:
    """What the offline rules make of a turn."""
    found = engine.extract([Turn("x", "x", "user", text, SAID)], ExtractionPolicy())
    return [candidate.text for candidate in found.candidates]


@cache
def settings_at(root: Path) -> Settings:
    """Settings with short segments and no waiting for a person's rest."""
    loaded = config.load(
        root / "vault", {"ENGRAM_HOME": str(root / "home"), "HOME": str(root)}
    )
    policy = loaded.policy
    return replace(
        loaded,
        policy=replace(
            policy,
            files=replace(policy.files, quiet_seconds=0, settle_most_seconds=0),
            boxes=replace(policy.boxes, least=1),
            journal=replace(policy.journal, segment_bytes=1500),
            model=replace(policy.model, attempts=3),
        ),
    )


def tried(step: Callable[[], object]) -> bool:
    """Whether the step was done; a refusal is no end of the world."""
    try:
        step()
    except EngramError:
        return False
    return True


AWAY, NO = (
    ModelError("the model is away"),
    ModelError("the model refuses", retryable=False),
)


class Life:
    """One life of a memory. `script` holds what the model answers instead of the rules,
    first things first.
    """

    def __init__(self, root: Path, script: Sequence[ModelError] = ()) -> None:
        self.now = LATE
        self.memory = VaultMemory(
            settings_at(root), clock=lambda: self.now, steady=self.steady
        )
        self.memory.executor.attended = True
        self.script = list(script)
        self.held: list[tuple[Batch, Extraction | ModelError]] = []

    def steady(self) -> float:
        return self.now.timestamp()

    def begin(self) -> None:
        self.memory.start()
        self.memory.catch_up()

    def observe(
        self, turns: list[dict[str, Any]], ack: Callable[[str], object]
    ) -> bool:
        """Send turns, and once more if they were refused."""
        call = {"turns": turns}
        if tried(lambda: self.memory.call("observe", call)) or tried(
            lambda: self.memory.call("observe", call)
        ):
            for turn in turns:
                ack(f"turn {turn['id']}")
            return True
        return False

    def look(self, **later: float) -> None:
        """What the daemon's writer does when it looks: distil and file what is due;
        what fails is kept.

        A catalogue that began anew is read first.
        """
        self.now += timedelta(**later)
        if not self.memory.ready:
            tried(self.memory.catch_up)
        self.held += [
            (batch, self.outcome(batch)) for batch in self.memory.pipeline.due(self.now)
        ]
        held, self.held = self.held, []
        failed = [
            item
            for item in held
            if not tried(lambda item=item: self.memory.pipeline.file(*item))
        ]
        self.held += [(batch.as_tried(), outcome) for batch, outcome in failed]

    def outcome(self, batch: Batch) -> Extraction | ModelError:
        return self.script.pop(0) if self.script else self.memory.pipeline.distil(batch)

    def rescan(self) -> None:
        """Twice, since a file must be missed twice before it is believed gone."""
        self.memory.files.rescan(None)
        self.memory.files.rescan(None)

    def tick(self, stem: str, answer: str) -> bool:
        """A person ticks an answer in the open question about that statement; whether
        there was one.
        """
        for path in sorted((self.memory.settings.vault / reviews.FOLDER).glob("*.md")):
            raw, box = path.read_text(), f"- [ ] {answer}"
            if stem in raw and box in raw:
                path.write_text(raw.replace(box, f"- [x] {answer}"))
                syscalls.SYS.by_hand(path)
                return True
        return False

    def rest(self) -> None:
        """Until nothing waits, dead letters too."""
        self.script.clear()
        for _ in range(3):
            self.memory.call("flush", {"background": True})
            self.look(days=1)
        self.rescan()
        left = {
            name: number
            for name, number in self.memory.queue.counts().items()
            if number
        }
        assert not left, f"still there: {left}; {self.memory.health.problems()}"

    def end(self) -> None:
        self.memory.close()

    def drop(self) -> None:
        """The process is gone; what it had open of the database goes with it."""
        if hasattr(self.memory, "index"):
            self.memory.index.catalog.close()

    def known(self, texts: Sequence[str]) -> set[str]:
        """The ids of the turns that recall would give on these texts."""
        wishes = {"kinds": ["turn"], "k": 50, "budget": 5000}
        answers = [
            self.memory.call("recall", {"query": text, **wishes}) for text in texts
        ]
        units = [
            self.memory.index.unit(hit["key"])
            for answer in answers
            for hit in answer["hits"]
        ]
        return {
            unit.turn.id
            for unit in units
            if isinstance(unit, FiledTurn) and unit.turn.session != "remembered"
        }

    def recalled(self, texts: Sequence[str]) -> set[tuple[str, str]]:
        """The hits on these texts, as (kind, text); a fact brings the turn it is quoted
        from. A fact stands for a turn that says the same, so turns are asked for too.
        """
        answers = [
            self.memory.call("recall", {"query": text, "k": 20} | kinds)
            for text in texts
            for kinds in ({}, {"kinds": ["turn"]})
        ]
        hits = [hit for answer in answers for hit in answer["hits"]]
        return {(hit["kind"], hit["text"]) for hit in hits} | {
            ("turn", hit["quote"]) for hit in hits
        }


class MemoryWork:
    """A scenario of the whole path. `work` acknowledges `turn <id>`, and of facts what
    is tried and what holds.
    """

    name = ""
    kept = "vault"
    script: Sequence[ModelError] = ()
    taken_away: tuple[str, ...] = ()
    """Turns whose file a person took away: what they said has no evidence any more."""
    removes = False
    """Whether a person takes files away."""
    texts: Sequence[str] = EVERYTHING
    """What recall is asked about."""

    def __init__(self, rounds: int = 1, caches: Sequence[str] = OLDER) -> None:
        self.rounds = rounds
        self.checked = False
        self.caches = {False: cycle(caches), True: cycle(FRESH)}
        self.cache = "kept"
        self.found: set[tuple[str, str]] = set()

    # -- what a scenario says of itself ------------------------------------------------

    def before(self, life: Life) -> None:
        """What is there already."""
        life.observe(said("talk", "t0"), lambda _: None)
        life.look(hours=1)

    def work(self, life: Life, ack: Callable[[str], object]) -> None:
        raise NotImplementedError

    def life(self, root: Path, script: Sequence[ModelError] = ()) -> Life:
        return Life(root, script)

    def statements(self, text: str) -> list[str]:
        """What a turn that says this leads to."""
        return statements(text)

    # -- the protocol of the harness ---------------------------------------------------

    def setup(self, root: Path) -> None:
        (root / "vault/notes").mkdir(parents=True, mode=0o700)
        (root / "vault/engram.toml").write_text(TOML)
        (root / "vault/notes/mine.md").write_text(rooms.MINE)
        life = self.life(root)
        life.begin()
        self.before(life)
        life.end()
        shutil.copytree(settings_at(root).cache, root / "old")
        self.checked = False

    def run(self, root: Path, ack: Callable[[str], object]) -> None:
        self.checked = False
        life = self.life(root, self.script)
        try:
            life.begin()
            self.work(life, ack)
            life.end()
        finally:
            life.drop()

    def recover(self, root: Path) -> None:
        self.cache = next(self.caches[self.checked])
        age(settings_at(root).cache, root / "old", self.cache)
        if self.cache != "kept":
            (root / AGED).touch()
        life = self.life(root)
        try:
            life.begin()
            life.rest()
            self.found = set() if self.checked else life.recalled(self.texts)
            life.end()
        finally:
            life.drop()
        self.checked = False

    def check(self, root: Path, acked: Sequence[str]) -> None:
        self.checked = True
        settings = settings_at(root)
        kept = rooms.read_vault(root, settings)
        queue = Journal(settings.state / "journal", settings.policy.journal).replay()
        assert not queue.turns, "the journal still holds turns"
        assert not queue.dead, "a dead letter was not settled"
        self.check_turns(kept, acked)
        self.check_facts(kept, acked)
        self.check_promises(root, kept, acked)
        sure = {
            word.removeprefix("holds active ")
            for word in acked
            if word.startswith("holds active ")
        }
        again = said_again(acked)
        rooms.check(root, kept, settings, sure, again, removes=self.removes)
        hashes = (root / "vault" / HASHES).read_text().splitlines()[1:]
        assert set(hashes) == {
            content_hash(fact.text) for fact in kept.facts if fact.status == "active"
        }

    def check_turns(self, kept: Kept, acked: Sequence[str]) -> None:
        """Each once, in its words; the promised ones are there, and recalled unless
        what they say was removed.
        """
        names = [(filed.turn.session, filed.turn.id) for filed in kept.turns]
        assert len(names) == len(set(names)), f"a turn stands twice: {sorted(names)}"
        assert len({filed.key for filed in kept.turns}) == len(names), (
            "a block id stands twice"
        )
        there = {}
        for filed in kept.turns:
            if filed.turn.session != "remembered":
                assert filed.turn.text == text_of(filed.turn.id), (
                    f"turn {filed.turn.id} is not whole"
                )
                there[filed.turn.id] = filed.turn.text
        for name in [
            word.removeprefix("turn ") for word in acked if word.startswith("turn ")
        ]:
            assert name in there, f"turn {name} is lost"
            if not removed(acked).intersection(statements(text_of(name))):
                assert is_shown(text_of(name), self.found), (
                    f"turn {name} is not recalled ({self.cache} cache)"
                )

    def check_facts(self, kept: Kept, acked: Sequence[str]) -> None:
        """One for a candidate, with evidence that stands; what a filed turn says has
        one.
        """
        words = {filed.key: filed.turn.text for filed in kept.turns}
        ids = [fact.id for fact in kept.facts]
        assert len(ids) == len(set(ids)), "an id stands in two facts"
        pairs = [(fact.source, fact.text) for fact in kept.facts]
        assert len(pairs) == len(set(pairs)), (
            f"a candidate became two facts: {sorted(pairs)}"
        )
        active = [fact.text for fact in kept.facts if fact.status == "active"]
        assert len(active) == len(set(active)), (
            f"a statement is active twice: {sorted(active)}"
        )
        orphans = {
            text for name in self.taken_away for text in statements(text_of(name))
        }
        for fact in kept.facts:
            if fact.source not in words and fact.text in orphans:
                continue
            assert fact.source in words, f"the evidence of {fact.text!r} is gone"
            said = [words[key] for key in (fact.source, *fact.also)]
            assert len(said) == len({fact.source, *fact.also}), (
                f"{fact.text!r} rests on one turn twice"
            )
            assert fact.text in {
                *said,
                *chain.from_iterable(map(self.statements, said)),
            }
        known = {fact.text for fact in kept.facts} | {
            word.split(" ", 2)[2] for word in acked if word.startswith("trying gone")
        }
        known |= set(chain.from_iterable(map(rooms.HISTORY.findall, kept.raw.values())))
        merged = {key for fact in kept.facts for key in fact.also}
        for filed in kept.turns:
            if filed.turn.session != "remembered" and filed.key not in merged:
                missing = set(self.statements(filed.turn.text)) - known
                assert not missing, f"turn {filed.turn.id} was filed without {missing}"

    def check_promises(self, root: Path, kept: Kept, acked: Sequence[str]) -> None:
        """What was said of a fact last holds; while something was being tried, either."""
        allowed: dict[str, set[str]] = {}
        for word in acked:
            what, _, rest = word.partition(" ")
            state, _, text = rest.partition(" ")
            if what == "holds":
                allowed[text] = {state}
            elif what == "trying":
                allowed.setdefault(text, {"gone"}).add(state)
        buried = removed_keys(Vault(root / "vault").tombstone_rows())
        for text, states in allowed.items():
            now = {
                _state(fact)
                for fact in kept.facts
                if fact.text == text and fact.status != "review"
            } or {"gone"}
            assert now <= states, f"{text!r} is {now}, promised was {states}"
            if states in ({"gone"}, {"forgotten"}):
                assert content_hash(text) in buried, f"{text!r} has no tombstone"
            if (
                now == {"gone"}
                and f"trying gone {text}" in acked
                and not (root / AGED).exists()
            ):
                assert content_hash(text) in buried, (
                    f"{text!r} was deleted and may come back"
                )
            recalled = ("fact", text) in self.found
            # such a one answers where the active ones do not fill the places
            if now == {"archived"}:
                continue
            assert recalled is bool(now & {"active", "pinned"}), (
                f"{text!r} is {now}, recalled: {recalled}"
            )


def is_shown(said: str, found: set[tuple[str, str]]) -> bool:
    """Whether a turn is among the hits, itself or as the evidence of a fact."""
    return any(kind == "turn" and words and words in said for kind, words in found)


def _state(fact: Fact) -> str:
    return "pinned" if fact.pinned else fact.status


def age(cache: Path, old: Path, how: str) -> None:
    """Make the cache what it may be at a start."""
    cache.mkdir(parents=True, exist_ok=True)
    names = [path for path in cache.glob("*") if path.is_file()]
    if how == "wiped":
        shutil.rmtree(cache)
    elif how == "half":
        for path in names:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif how == "snapshot of an earlier day":
        shutil.copy(old / "lexical.bin", cache)
    elif how in {"old", "mixed"}:
        for path in names:
            if how == "old" or path.name.startswith("catalogue"):
                path.unlink()
        for path in old.glob("catalogue*" if how == "mixed" else "*"):
            shutil.copy(path, cache)


# ---------------------------------------------------------------------------- batteries of their own


def heal_everywhere(bench: Bench, most: int | None = None) -> int:
    """Each errno at the calls of the work, once and for good, in one life, or `most` of
    these cases; their number.

    While it lasts recall answers, and nothing unacknowledged is claimed to be stored.
    When it is over, the same life brings everything to rest.
    """
    counted = _calls_of_work(bench)
    cases = failures(counted, most)
    for point, code, sticky in cases:
        kind = counted.kinds[point]
        where = f"{errno.errorcode[code]} {'from' if sticky else 'at'} call {point} of the work ({kind})"
        _heal(bench, bench.seam(Failing, NEVER, code, sticky=sticky), point, where)
    return len(cases)


def _calls_of_work(bench: Bench) -> Counting:
    seam: Counting = bench.seam(Counting)
    life = bench.scenario.life(bench.fresh(), bench.scenario.script)
    try:
        with installed(seam):
            life.begin()
            seam.kinds.clear()
            seam.sites.clear()
            bench.scenario.work(life, lambda _: None)
    finally:
        life.drop()
        seam.bury()
    return seam


def _heal(bench: Bench, seam: Failing, point: int, where: str) -> None:
    acked: list[str] = []
    texts = bench.scenario.texts
    life = bench.scenario.life(bench.fresh(), bench.scenario.script)
    try:
        with installed(seam):
            life.begin()
            before = life.known(texts)
            seam.left = point
            bench.scenario.work(life, acked.append)
            stored = {
                word.removeprefix("turn ") for word in acked if word.startswith("turn ")
            }
            claimed = life.known(texts) - before - stored
            assert not claimed, f"claimed to be stored: {claimed}"
            recalled = life.recalled(texts)
            wanted = {
                name
                for name in stored
                if not removed(acked).intersection(statements(text_of(name)))
            }
            lost = {name for name in wanted if not is_shown(text_of(name), recalled)}
            assert not lost, f"not recalled while the disk refuses: {lost}"
            seam.left = NEVER
            seam.sticky = False
            life.rest()
            life.end()
    except (AssertionError, OSError, KeyError, ValueError, EngramError) as error:
        raise BrokenPromiseError(
            f"{bench.scenario.name}, {where}: {type(error).__name__}: {error}"
        ) from error
    finally:
        life.drop()
        seam.bury()
    bench.judge(bench.work, acked, f"{where}, healed")


def any_cache(bench: Bench, ages: Sequence[str] = AGES) -> int:
    """After a good end a cache of each of these ages; their number."""
    caches = bench.scenario.caches
    for how in ages:
        acked: list[str] = []
        root = bench.fresh()
        assert bench.attempt(bench.seam(Seam), root, acked)
        bench.scenario.caches = {**caches, False: iter([how])}
        bench.judge(root, acked, f"with a cache that is {how}")
    bench.scenario.caches = caches  # other batteries strike the same scenario
    return len(ages)


def holds_nothing_up(root: Path, path: str) -> None:
    """A folder stands in the place of a state file: facts are filed all the same, and
    status tells until it is gone.
    """
    there = root / "vault" / path
    there.unlink()
    there.mkdir()
    life = Life(root)
    try:
        life.begin()
        life.observe(said("talk", "t1"), lambda _: None)
        life.look(hours=1)
        assert not life.held, f"a batch is held up by {path}"
        assert path in life.memory.call("status", {})["faults"]
        assert ("fact", statements(text_of("t1"))[0]) in life.recalled([text_of("t1")])
        there.rmdir()
        life.observe(said("talk", "t2"), lambda _: None)
        life.look(hours=1)
        assert path not in life.memory.call("status", {})["faults"]
        life.end()
    finally:
        life.drop()
