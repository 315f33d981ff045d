"""What happens in a life: the scenarios of the whole path."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from lives import (
    AWAY,
    EVERYTHING,
    NO,
    Life,
    MemoryWork,
    said,
    statements,
    text_of,
    tried,
)

from engram.core.text import content_hash
from engram.errors import EngramError
from engram.vault import disk

if TYPE_CHECKING:
    from collections.abc import Callable


class IngestWork(MemoryWork):
    """Two conversations come in, are distilled and filed; the last turns wait in the
    journal.
    """

    name = "ingest"
    texts = EVERYTHING[:6]

    def work(self, life: Life, ack: Callable[[str], object]) -> None:
        for number in range(1, 5 * self.rounds, 5):
            names = [f"{n}" for n in range(number, number + 5)]
            life.observe(said("talk", *(f"t{n}" for n in names[:3])), ack)
            life.observe(said("walk", f"w{number}", f"w{number + 3}"), ack)
            life.look(hours=1)
            life.observe(said("talk", *(f"t{n}" for n in names[3:])), ack)


def deed(
    ack: Callable[[str], object], state: str, text: str, call: Callable[[], object]
) -> None:
    """Say what is tried, and that it holds once it is done."""
    ack(f"trying {state} {text}")
    if tried(call):
        ack(f"holds {state} {text}")


def id_of(life: Life, text: str) -> str:
    found = life.memory.index.catalog.duplicate(content_hash(text), None, life.now)
    assert found, f"{text!r} is not known"
    return found.id


class DeedsWork(MemoryWork):
    """A person remembers, forgets, restores, pins and deletes; what is forgotten or
    deleted is said again.
    """

    name = "actions"
    texts = (*EVERYTHING[:4], EVERYTHING[7])
    removes = True

    def before(self, life: Life) -> None:
        life.observe(said("talk", "t0", "t1", "t2", "t3"), lambda _: None)
        life.look(hours=1)

    def work(self, life: Life, ack: Callable[[str], object]) -> None:
        texts = [statements(text_of(f"t{number}"))[0] for number in range(4)]
        ids = [id_of(life, text) for text in texts]
        for text in texts:
            ack(f"holds active {text}")
        call, new = life.memory.call, text_of("t7")
        deed(ack, "active", new, lambda: call("remember", {"text": new}))
        deed(ack, "forgotten", texts[0], lambda: call("forget", {"id": ids[0]}))
        deed(
            ack,
            "forgotten",
            texts[1],
            lambda: call("forget", {"id": ids[1], "reason": "no longer so"}),
        )
        deed(
            ack,
            "active",
            texts[1],
            lambda: call("update", {"id": ids[1], "status": "active"}),
        )
        deed(
            ack,
            "pinned",
            texts[2],
            lambda: call("update", {"id": ids[2], "pinned": True}),
        )
        deed(ack, "gone", texts[3], lambda: self.delete(life, ids[3]))
        life.observe(said("talk", "t12", "t15"), ack)
        life.look(hours=1)

    def delete(self, life: Life, fact_id: str) -> None:
        """A person takes the note away, and the daemon sees it."""
        disk.remove(
            life.memory.settings.vault
            / life.memory.index.catalog.find_fact(fact_id).path
        )
        life.rescan()


class BacklogWork(MemoryWork):
    """A start with turns in the journal: some in a file already, some in a file that a
    person took away.
    """

    name = "backlog"
    texts = EVERYTHING[:5]
    removes = True
    taken_away = ("g1",)

    def before(self, life: Life) -> None:
        super().before(life)
        life.observe(said("gone", "g1"), lambda _: None)
        life.look(hours=1)
        for number in range(2, 2 + 3 * self.rounds, 3):
            life.observe(said("talk", f"t{number}", f"t{number + 1}"), lambda _: None)
            life.observe(said("gone", f"g{number + 2}"), lambda _: None)
        life.memory.pipeline.flush(background=True)
        life.held = []
        for batch in life.memory.queue.due(life.now, life.memory.extractor.most)[:1]:
            life.memory.note_writer.file_turns([item.filed for item in batch.waiting])
        for path in (life.memory.settings.vault / "sessions").rglob("*gone.md"):
            path.rename(path.with_name("elsewhere.txt"))

    def work(self, life: Life, ack: Callable[[str], object]) -> None:
        for number in range(2, 2 + 3 * self.rounds, 3):
            for name in (f"t{number}", f"t{number + 1}", f"g{number + 2}"):
                ack(f"turn {name}")
        life.look()
        life.look(hours=1)


class ReindexWork(MemoryWork):
    """Derived stores are thrown away and made again between turns."""

    name = "reindex"
    texts = EVERYTHING[:3]

    def work(self, life: Life, ack: Callable[[str], object]) -> None:
        for number in range(1, 1 + 2 * self.rounds, 2):
            life.observe(said("talk", f"t{number}"), ack)
            tried(lambda: life.memory.call("reindex", {}))
            life.look(hours=1)
            tried(life.memory.index.save)
            life.observe(said("talk", f"t{number + 1}"), ack)


class ParkWork(MemoryWork):
    """The model fails: a batch is parked, tried again, buried, and asked for once more."""

    name = "park"
    texts = EVERYTHING[:4]
    script = (AWAY, NO, *[AWAY] * 3)

    def work(self, life: Life, ack: Callable[[str], object]) -> None:
        for number in range(1, 1 + 3 * self.rounds, 3):
            life.observe(said("talk", f"t{number}", f"t{number + 1}"), ack)
            life.observe(said("walk", f"w{number + 2}"), ack)
            for _ in range(3):
                life.look(days=1)
        with suppress(EngramError):
            life.memory.call("flush", {"background": True})
        life.look(days=1)
