"""Artifacts: the exact words of a decision, correction, principle or commitment (C9)."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engram.core.records import Create
from engram.core.text import ulid
from engram.vault.formats import escape, plain_text, time_text

if TYPE_CHECKING:
    from datetime import tzinfo

    from engram.core.records import Fact

FOLDER = "artifacts"


def artifact(fact: Fact, kind: str, words: str, zone: tzinfo) -> Create:
    """The note `artifacts/<day>/artifact-<name of the memory>.md` with these `words`.

    `fact` has its path already; `kind` becomes the key `artifact_type`.
    """
    stem = PurePosixPath(fact.path).stem
    keys: dict[str, object] = {
        "id": ulid(fact.created, f"artifact\n{fact.id}") if fact.created else "",
        "kind": "artifact",
        "artifact_type": kind,
        "created": time_text(fact.created, zone) if fact.created else "",
        "memory": f"[[{stem}]]",
        "source": f"[[{fact.source}]]" if fact.source else "",
    }
    path = f"{FOLDER}/{PurePosixPath(fact.path).parent.name}/artifact-{stem}.md"
    body = escape(plain_text(words).strip())
    return Create(
        path,
        {key: value for key, value in keys.items() if value},
        f"{body}\n",
        "verbatim words",
    )
