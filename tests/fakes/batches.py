"""Statements on their way into a vault: batches as they are handed out, and what became
of them.
"""

from __future__ import annotations

import json

from engram.core.records import Candidate, Extraction
from engram.vault import disk, facts, frontmatter, reviews


def held_back(memory):
    """The memory as in a daemon: turns wait until somebody distils them."""
    memory.executor.attended = True
    return memory


def batch_of(memory, *texts, session="", standing="chat", **more):
    """A batch as it is handed out: its turns stand in their session file. `more` goes
    into each turn.
    """
    number = memory.index.counts()["turns"]
    session = session or f"talk {number}"
    raw = [
        {"id": f"m{number + n}", "session": session, "text": text, **more}
        for n, text in enumerate(texts)
    ]
    memory.call("observe", {"turns": raw}, standing)
    memory.queue.hurry()
    (batch,) = memory.pipeline.due(memory.clock())
    return batch


def said(batch, *statements, extractor="test/1", links=None, **more):
    """An extraction with these statements, all on the words of the batch's first turn;
    `links` by their texts, `more` for each of them.
    """
    first = batch.turns[0]
    given = {
        "category": "fact",
        "confidence": 0.5,
        "turn_id": first.id,
        "quote": first.text,
    } | more
    return Extraction(
        tuple(
            Candidate(text=text, links=(links or {}).get(text), **given)
            for text in statements
        ),
        extractor,
    )


def tell(memory, *statements, turn=None, **more):
    """Somebody says the first statement, or the words `turn`, in a conversation of its
    own: all of them are filed.

    What belongs to a candidate goes there, the rest into the turn.
    """
    about_turn = {
        key: more.pop(key)
        for key in (
            "session",
            "standing",
            "role",
            "persona",
            "private",
            "origin",
            "speaker",
            "occurred_at",
        )
        if key in more
    }
    batch = batch_of(memory, turn or statements[0], **about_turn)
    return memory.pipeline.file(batch, said(batch, *statements, **more))


def every(memory, *folders):
    """The memories as their files say now, by path."""
    found = []
    for folder in folders or ("facts", "review", "archive"):
        for path in memory.vault.notes(folder):
            raw = memory.vault.read(path)
            fact, problems = facts.fact_from(
                frontmatter.read(raw), path, disk.sha256(raw), memory.settings.zone
            )
            assert not problems
            found += [fact] if fact.kind != reviews.KIND else []
    return found


def by_text(memory, text):
    """The one memory that says so."""
    (found,) = [fact for fact in every(memory) if fact.text == text]
    return found


def texts(memory, status="active"):
    """What the memories of this status say."""
    return sorted(fact.text for fact in every(memory) if fact.status == status)


def cases(memory):
    """The notes that ask about two memories."""
    return sorted(memory.settings.vault.glob("review/conflict-*.md"))


def tick(path, answer):
    """A person ticks a box in an editor."""
    label = reviews.LABELS[answer]
    path.write_text(path.read_text().replace(f"[ ] {label}", f"[x] {label}"))


def recalled(memory, query, **wishes):
    """The statements that an answer holds."""
    return [
        hit["text"]
        for hit in memory.call("recall", {"query": query, "kinds": ["fact"], **wishes})[
            "hits"
        ]
    ]


def rows(memory, name="memory-actions.jsonl"):
    """The lines of a file of `state/`."""
    path = memory.settings.vault / "state" / name
    return (
        [json.loads(line) for line in path.read_text().splitlines()]
        if path.exists()
        else []
    )


def tree(memory):
    """Every file of the vault with its bytes."""
    root = memory.settings.vault
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }
